/* ranks.c - gives every node a layer, and long edges their dummies.
 *
 * Layers are the longest path from the top. Then nodes with more edges below
 * than above move down as far as they can, and so does what hangs from nothing
 * above (constants), so that edges get short. */
#include "layout/layered.h"

#include <stdlib.h>
#include <string.h>

/* Dummies of all edges together, per node and edge. What would need more is
 * drawn straight: a graph of a million nodes must not become a billion. */
enum { DUMMIES_PER_PART = 12, DUMMIES_ALWAYS = 4000, TIGHTEN_ROUNDS = 4 };

typedef struct edge_lists {
    uint32_t *in_first, *in, *out_first, *out; /* edges of a node */
    uint32_t *topo;                            /* nodes, makers first */
} edge_lists;

static bool edge_is_loop(const layered_edge *e)
{
    return e->from == e->to;
}

static bool lists_make(arena *a, const layered_graph *g, edge_lists *l)
{
    size_t n = (size_t)g->n + 2, m = (size_t)g->n_edges + 1;
    l->in_first = arena_zalloc(a, n * sizeof *l->in_first);
    l->out_first = arena_zalloc(a, n * sizeof *l->out_first);
    l->in = arena_array(a, m, sizeof *l->in);
    l->out = arena_array(a, m, sizeof *l->out);
    l->topo = arena_array(a, n, sizeof *l->topo);
    if (!l->in_first || !l->out_first || !l->in || !l->out || !l->topo)
        return false;
    for (uint32_t e = 0; e < g->n_edges; e++) {
        if (edge_is_loop(&g->edges[e]))
            continue;
        l->in_first[g->edges[e].to + 2]++;
        l->out_first[g->edges[e].from + 2]++;
    }
    for (uint32_t v = 1; v <= g->n; v++) {
        l->in_first[v + 1] += l->in_first[v];
        l->out_first[v + 1] += l->out_first[v];
    }
    for (uint32_t e = 0; e < g->n_edges; e++) {
        if (edge_is_loop(&g->edges[e]))
            continue;
        l->in[l->in_first[g->edges[e].to + 1]++] = e;
        l->out[l->out_first[g->edges[e].from + 1]++] = e;
    }
    return true;
}

/* Fills in l->topo and the longest path to each node. */
static bool rank_longest(arena *a, const layered_graph *g, edge_lists *l,
                         uint32_t *rank)
{
    uint32_t *left = arena_array(a, (size_t)g->n + 1, sizeof *left);
    uint32_t head = 0, tail = 0;
    if (!left)
        return false;
    for (uint32_t v = 0; v < g->n; v++) {
        rank[v] = 0;
        left[v] = l->in_first[v + 1] - l->in_first[v];
        if (left[v] == 0)
            l->topo[tail++] = v;
    }
    while (head < tail) {
        uint32_t v = l->topo[head++];
        for (uint32_t k = l->out_first[v]; k < l->out_first[v + 1]; k++) {
            uint32_t to = g->edges[l->out[k]].to;
            if (rank[to] < rank[v] + 1)
                rank[to] = rank[v] + 1;
            if (--left[to] == 0)
                l->topo[tail++] = to;
        }
    }
    return true;
}

static enum layered_pin pin_of(const layered_graph *g, uint32_t v)
{
    return g->pin ? (enum layered_pin)g->pin[v] : LAYERED_FREE;
}

/* Pinned nodes take the first or last layer; all others lie between. */
static void rank_pinned(const layered_graph *g, const edge_lists *l,
                        uint32_t *rank)
{
    uint32_t top = 0, last = 0;
    for (uint32_t v = 0; v < g->n; v++)
        top |= pin_of(g, v) == LAYERED_TOP;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = l->topo[i], r = pin_of(g, v) == LAYERED_TOP ? 0 : top;
        for (uint32_t k = l->in_first[v]; k < l->in_first[v + 1]; k++) {
            uint32_t above = rank[g->edges[l->in[k]].from] + 1;
            r = above > r ? above : r;
        }
        rank[v] = r;
        if (pin_of(g, v) != LAYERED_BOTTOM)
            last = r > last ? r : last;
    }
    for (uint32_t v = 0; v < g->n; v++)
        if (pin_of(g, v) == LAYERED_BOTTOM)
            rank[v] = last + 1;
}

/* Whether each node hangs from something that cannot move: a node pinned to the
 * top, or one on a longest path. `latest` receives the lowest layer that each
 * may have. All others depend on constants, and sink to where they are read. */
static void find_anchored(const layered_graph *g, const edge_lists *l,
                          const uint32_t *rank, uint32_t *latest,
                          bool *anchored)
{
    uint32_t last = 0;
    for (uint32_t v = 0; v < g->n; v++)
        last = rank[v] > last ? rank[v] : last;
    for (uint32_t i = g->n; i-- > 0;) {
        uint32_t v = l->topo[i];
        latest[v] = last;
        for (uint32_t k = l->out_first[v]; k < l->out_first[v + 1]; k++) {
            uint32_t below = latest[g->edges[l->out[k]].to];
            latest[v] = below - 1 < latest[v] ? below - 1 : latest[v];
        }
    }
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = l->topo[i];
        anchored[v] = rank[v] == latest[v] || pin_of(g, v) == LAYERED_TOP;
        for (uint32_t k = l->in_first[v]; k < l->in_first[v + 1]; k++)
            anchored[v] |= anchored[g->edges[l->in[k]].from];
    }
}

/* The lowest layer that v may take without moving what is below it. */
static uint32_t rank_lowest(const layered_graph *g, const edge_lists *l,
                            const uint32_t *rank, uint32_t v)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t k = l->out_first[v]; k < l->out_first[v + 1]; k++) {
        uint32_t below = rank[g->edges[l->out[k]].to];
        lowest = below - 1 < lowest ? below - 1 : lowest;
    }
    return lowest;
}

static uint32_t rank_highest(const layered_graph *g, const edge_lists *l,
                             const uint32_t *rank, uint32_t v)
{
    uint32_t highest = 0;
    for (uint32_t k = l->in_first[v]; k < l->in_first[v + 1]; k++) {
        uint32_t above = rank[g->edges[l->in[k]].from] + 1;
        highest = above > highest ? above : highest;
    }
    return highest;
}

/* Shortens edges: nodes move to the side on which they have more of them. */
static bool rank_tighten(arena *a, const layered_graph *g, const edge_lists *l,
                         uint32_t *rank)
{
    bool *anchored = arena_zalloc(a, (size_t)g->n + 1), moved = true;
    uint32_t *latest = arena_array(a, (size_t)g->n + 1, sizeof *latest);
    if (!anchored || !latest)
        return false;
    find_anchored(g, l, rank, latest, anchored);
    for (int round = 0; moved && round < TIGHTEN_ROUNDS; round++) {
        moved = false;
        for (uint32_t i = g->n; i-- > 0;) {
            uint32_t v = l->topo[i];
            uint32_t in = l->in_first[v + 1] - l->in_first[v];
            uint32_t out = l->out_first[v + 1] - l->out_first[v];
            uint32_t to = rank[v];
            if (pin_of(g, v) != LAYERED_FREE || out == 0)
                continue;
            if (!anchored[v] || out > in)
                to = rank_lowest(g, l, rank, v);
            else if (round > 0 && in > out)
                to = rank_highest(g, l, rank, v);
            moved |= to != rank[v];
            rank[v] = to;
        }
    }
    return true;
}

/* -- dummies --------------------------------------------------------------*/

/* Edges of one node that carry one value: the chain they share. */
typedef struct net_span {
    uint32_t from, net, reach; /* reach: the lowest layer it goes to */
    uint32_t dummy;            /* its first, or CLV_NONE */
    bool straight;
} net_span;

typedef struct nets {
    net_span *items;
    uint32_t n, *of_edge;
} nets;

static int by_net(const void *x, const void *y)
{
    const layered_edge *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1)
           : a->net != b->net ? (a->net < b->net ? -1 : 1)
                              : 0;
}

/* Groups the edges; `from` of a sorted copy is the key, `to` the edge. */
static bool nets_find(arena *a, const layered_graph *g, const uint32_t *rank,
                      nets *s)
{
    size_t m = (size_t)g->n_edges + 1;
    layered_edge *sorted = arena_array(a, m, sizeof *sorted);
    s->items = arena_array(a, m, sizeof *s->items);
    s->of_edge = arena_array(a, m, sizeof *s->of_edge);
    s->n = 0;
    if (!sorted || !s->items || !s->of_edge)
        return false;
    for (uint32_t e = 0; e < g->n_edges; e++)
        sorted[e] = (layered_edge){g->edges[e].from, e, g->edges[e].net};
    if (g->n_edges)
        qsort(sorted, g->n_edges, sizeof *sorted, by_net);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        uint32_t reach = rank[g->edges[sorted[i].to].to];
        if (i == 0 || by_net(&sorted[i - 1], &sorted[i]))
            s->items[s->n++] = (net_span){.from = sorted[i].from,
                                          .net = sorted[i].net,
                                          .dummy = CLV_NONE};
        net_span *last = &s->items[s->n - 1];
        last->reach = reach > last->reach ? reach : last->reach;
        s->of_edge[sorted[i].to] = s->n - 1;
    }
    return true;
}

static uint32_t net_dummies(const net_span *s, const uint32_t *rank)
{
    return s->reach > rank[s->from] + 1 ? s->reach - rank[s->from] - 1 : 0;
}

/* Nets with up to `most` dummies get them. */
static uint64_t dummies_up_to(const nets *s, const uint32_t *rank,
                              uint32_t most)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t d = net_dummies(&s->items[i], rank);
        n += d <= most ? d : 0;
    }
    return n;
}

/* The longest chain such that all up to it fit the budget. */
static uint32_t chain_limit(const layered_graph *g, const nets *s,
                            const uint32_t *rank)
{
    uint64_t budget = DUMMIES_ALWAYS + (uint64_t)DUMMIES_PER_PART *
                                           ((uint64_t)g->n + g->n_edges);
    uint32_t lo = 0, hi = g->n;
    while (lo < hi) {
        uint32_t mid = hi - (hi - lo) / 2;
        if (dummies_up_to(s, rank, mid) <= budget)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

static uint32_t number_dummies(const layered_graph *g, nets *s,
                               const uint32_t *rank)
{
    uint32_t most = chain_limit(g, s, rank), at = g->n;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t d = net_dummies(&s->items[i], rank);
        s->items[i].straight = d > most;
        if (d == 0 || d > most)
            continue;
        s->items[i].dummy = at;
        at += d;
    }
    return at;
}

/* -- the layered graph ----------------------------------------------------*/

static bool ranked_alloc(arena *a, const layered_graph *g, ranked *r)
{
    size_t n = (size_t)r->n + 2;
    size_t links = (size_t)g->n_edges + (r->n - g->n) + 1;
    r->width = arena_zalloc(a, n * sizeof *r->width);
    r->at = arena_array(a, n, sizeof *r->at);
    r->pos = arena_zalloc(a, n * sizeof *r->pos);
    r->first = arena_zalloc(a, ((size_t)r->n_ranks + 2) * sizeof *r->first);
    r->up_first = arena_zalloc(a, n * sizeof *r->up_first);
    r->down_first = arena_zalloc(a, n * sizeof *r->down_first);
    r->up = arena_array(a, links, sizeof *r->up);
    r->down = arena_array(a, links, sizeof *r->down);
    r->chain = arena_array(a, (size_t)g->n_edges + 1, sizeof *r->chain);
    return r->width && r->at && r->pos && r->first && r->up_first &&
           r->down_first && r->up && r->down && r->chain;
}

/* Calls once per line between neighbouring layers: counts it (fill false), or
 * stores it. */
static void link_pair(ranked *r, uint32_t above, uint32_t below, bool fill)
{
    if (fill) {
        r->down[r->down_first[above + 1]++] = below;
        r->up[r->up_first[below + 1]++] = above;
    } else {
        r->down_first[above + 2]++;
        r->up_first[below + 2]++;
    }
}

static void link_all(const layered_graph *g, const nets *s, ranked *r,
                     bool fill)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const net_span *t = &s->items[i];
        uint32_t last = t->from, d = net_dummies(t, r->rank);
        for (uint32_t k = 0; t->dummy != CLV_NONE && k < d; k++) {
            link_pair(r, last, t->dummy + k, fill);
            last = t->dummy + k;
        }
    }
    for (uint32_t e = 0; e < g->n_edges; e++) {
        const layered_edge *edge = &g->edges[e];
        const net_span *t = &s->items[s->of_edge[e]];
        uint32_t gap = r->rank[edge->to] - r->rank[edge->from];
        r->chain[e] = CLV_NONE;
        if (edge_is_loop(edge) || (t->straight && gap > 1))
            continue;
        if (gap > 1)
            r->chain[e] = t->dummy;
        link_pair(r, gap > 1 ? t->dummy + gap - 2 : edge->from, edge->to, fill);
    }
}

static void link_sums(ranked *r)
{
    for (uint32_t v = 1; v <= r->n; v++) {
        r->up_first[v + 1] += r->up_first[v];
        r->down_first[v + 1] += r->down_first[v];
    }
}

static void rank_dummies(const layered_graph *g, const nets *s, ranked *r)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const net_span *t = &s->items[i];
        uint32_t d = net_dummies(t, r->rank);
        for (uint32_t k = 0; t->dummy != CLV_NONE && k < d; k++)
            r->rank[t->dummy + k] = r->rank[t->from] + 1 + k;
    }
    memcpy(r->width, g->width, g->n * sizeof *r->width);
    for (uint32_t e = 0; e < g->n_edges; e++)
        r->n_straight +=
            s->items[s->of_edge[e]].straight &&
            r->rank[g->edges[e].to] - r->rank[g->edges[e].from] > 1;
}

/* Fills first, at and pos: vertices of a layer by their number. */
static void fill_layers(ranked *r)
{
    for (uint32_t v = 0; v < r->n; v++)
        r->first[r->rank[v] + 1]++;
    for (uint32_t i = 0; i < r->n_ranks; i++)
        r->first[i + 1] += r->first[i];
    for (uint32_t v = r->n; v-- > 0;) {
        uint32_t i = --r->first[r->rank[v] + 1];
        r->at[i] = v;
    }
    /* The pass above moved first[i + 1] back to the start of layer i. */
    for (uint32_t i = 0; i < r->n_ranks; i++)
        r->first[i] = r->first[i + 1];
    r->first[r->n_ranks] = r->n;
    for (uint32_t i = 0; i < r->n_ranks; i++)
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++)
            r->pos[r->at[k]] = k - r->first[i];
}

bool clv__ranked_make(arena *a, const layered_graph *g, ranked *r)
{
    edge_lists l;
    nets s;
    *r = (ranked){.n_nodes = g->n, .n = g->n};
    uint32_t *rank = arena_array(a, (size_t)g->n + 1, sizeof *rank);
    if (!rank || !lists_make(a, g, &l) || !rank_longest(a, g, &l, rank))
        return false;
    if (g->pin)
        rank_pinned(g, &l, rank);
    if (!rank_tighten(a, g, &l, rank) || !nets_find(a, g, rank, &s))
        return false;
    r->n = number_dummies(g, &s, rank);
    for (uint32_t v = 0; v < g->n; v++)
        if (rank[v] + 1 > r->n_ranks)
            r->n_ranks = rank[v] + 1;
    r->rank = arena_array(a, (size_t)r->n + 1, sizeof *r->rank);
    if (!r->rank || !ranked_alloc(a, g, r))
        return false;
    memcpy(r->rank, rank, g->n * sizeof *rank);
    rank_dummies(g, &s, r);
    link_all(g, &s, r, false);
    link_sums(r);
    link_all(g, &s, r, true);
    fill_layers(r);
    return true;
}

/* maxflow.c - finds a minimum s-t cut by highest-label push-relabel.
 *
 * Rule: every node has an excess (what flowed in and not yet out) and a height.
 * An active node, one with an excess, pushes it along arcs that lead exactly
 * one height down. If it has no such arc, it is lifted. The highest active node
 * goes first.
 *
 *     height 2   u --cap 3--> v   height 1     u pushes up to 3 of its excess
 * to v; if v is at 2 too, u is lifted.
 *
 * Invariant: the height of a node is never more than its distance to t in the
 * residual network. So a node that reaches height n cannot reach t any more.
 *
 * Reason for stopping there: only the minimum cut is wanted, not the flow. The
 * excess of such nodes would only go back to s (the second phase of the
 * algorithm), which changes no cut.
 *
 * Two shortcuts make it fast. Heights are recomputed now and then by a search
 * from t. And if no node is left at some height, all nodes above it are cut off
 * from t. */
#include "cut/maxflow.h"

#include <assert.h>
#include <string.h>

bool flow_init(flow *f, arena *a, uint32_t n, uint32_t max_arcs)
{
    *f = (flow){.a = a, .n = n, .max_m = max_arcs};
    f->edge = arena_array(a, (size_t)max_arcs + 1, sizeof *f->edge);
    f->source_side = arena_zalloc(a, (size_t)n + 1);
    return f->edge && f->source_side;
}

void flow_arc(flow *f, uint32_t u, uint32_t v, int64_t cap, int64_t back)
{
    assert(f->m < f->max_m);
    if (u != v)
        f->edge[f->m++] = (flow_edge){u, v, cap, back};
}

/* After lifting has done as much work as RELABEL_WORK per node and one per arc,
 * all heights are computed anew. A lift is one per arc and LIFT_WORK. (The
 * numbers of Cherkassky and Goldberg, who measured them.) */
enum { RELABEL_WORK = 6, LIFT_WORK = 12 };

typedef struct arc {
    uint32_t to, mate; /* mate: the same arc as seen from its other end */
    int64_t cap;       /* capacity that is left */
} arc;

typedef struct net {
    uint32_t n, s, t;
    uint32_t *first, *cur; /* per node: its first arc; the arc to try next */
    arc *arc;
    int64_t *excess;
    uint32_t *height;
    uint32_t
        *level; /* per height: its first node; the nodes form a double list */
    uint32_t *above, *below;
    uint32_t *active; /* per height: its first active node */
    uint32_t *next;   /* per node: the next active node of its height */
    uint32_t *queue;
    uint32_t top;     /* the greatest height with an active node, or more */
    uint32_t highest; /* the greatest height below n with a node, or more */
    uint64_t work, work_limit;
} net;

static bool maxflow_build(net *g, const flow *f, uint32_t s, uint32_t t)
{
    arena *a = f->a;
    size_t n = (size_t)f->n + 2;
    *g = (net){.n = f->n, .s = s, .t = t};
    g->work_limit = RELABEL_WORK * (uint64_t)f->n + f->m;
    g->first = arena_zalloc(a, n * sizeof *g->first);
    g->cur = arena_alloc(a, n * sizeof *g->cur);
    g->arc = arena_array(a, 2 * (size_t)f->m + 1, sizeof *g->arc);
    g->excess = arena_zalloc(a, n * sizeof *g->excess);
    g->height = arena_zalloc(a, n * sizeof *g->height);
    g->level = arena_alloc(a, n * sizeof *g->level);
    g->above = arena_alloc(a, n * sizeof *g->above);
    g->below = arena_alloc(a, n * sizeof *g->below);
    g->active = arena_alloc(a, n * sizeof *g->active);
    g->next = arena_alloc(a, n * sizeof *g->next);
    g->queue = arena_alloc(a, n * sizeof *g->queue);
    if (!g->first || !g->cur || !g->arc || !g->excess || !g->height ||
        !g->level || !g->above || !g->below || !g->active || !g->next ||
        !g->queue)
        return false;
    for (uint32_t k = 0; k < f->m; k++) {
        g->first[f->edge[k].from + 1]++;
        g->first[f->edge[k].to + 1]++;
    }
    for (uint32_t i = 0; i < f->n; i++)
        g->first[i + 1] += g->first[i];
    memcpy(g->cur, g->first, n * sizeof *g->cur);
    for (uint32_t k = 0; k < f->m; k++) {
        const flow_edge *e = &f->edge[k];
        uint32_t x = g->cur[e->from]++, y = g->cur[e->to]++;
        g->arc[x] = (arc){e->to, y, e->cap};
        g->arc[y] = (arc){e->from, x, e->back};
    }
    return true;
}

static void maxflow_activate(net *g, uint32_t i)
{
    uint32_t h = g->height[i];
    g->next[i] = g->active[h];
    g->active[h] = i;
    g->top = h > g->top ? h : g->top;
}

static void maxflow_enter(net *g, uint32_t i)
{
    uint32_t h = g->height[i], next = g->level[h];
    g->above[i] = CLV_NONE;
    g->below[i] = next;
    if (next != CLV_NONE)
        g->above[next] = i;
    g->level[h] = i;
    g->highest = h > g->highest ? h : g->highest;
}

static void maxflow_leave(net *g, uint32_t i)
{
    if (g->below[i] != CLV_NONE)
        g->above[g->below[i]] = g->above[i];
    if (g->above[i] != CLV_NONE)
        g->below[g->above[i]] = g->below[i];
    else
        g->level[g->height[i]] = g->below[i];
}

/* Recomputes all heights as distances to t. Nodes that cannot reach t are
 * done. */
static void relabel_all(net *g)
{
    uint32_t from = 0, to = 0;
    for (uint32_t h = 0; h <= g->n; h++)
        g->level[h] = g->active[h] = CLV_NONE;
    g->highest = 0;
    for (uint32_t i = 0; i < g->n; i++)
        g->height[i] = g->n;
    g->height[g->t] = 0;
    g->queue[to++] = g->t;
    while (from < to) {
        uint32_t i = g->queue[from++];
        maxflow_enter(g, i);
        g->cur[i] = g->first[i];
        for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++) {
            uint32_t u = g->arc[k].to;
            if (g->height[u] < g->n || u == g->s || !g->arc[g->arc[k].mate].cap)
                continue;
            g->height[u] = g->height[i] + 1;
            g->queue[to++] = u;
        }
    }
    g->top = 0;
    g->work = 0;
    for (uint32_t k = 1; k < to; k++)
        if (g->excess[g->queue[k]] > 0)
            maxflow_activate(g, g->queue[k]);
}

static void maxflow_push(net *g, uint32_t i, arc *a)
{
    int64_t d = g->excess[i] < a->cap ? g->excess[i] : a->cap;
    if (g->excess[a->to] == 0 && a->to != g->t && a->to != g->s)
        maxflow_activate(g, a->to);
    a->cap -= d;
    g->arc[a->mate].cap += d;
    g->excess[i] -= d;
    g->excess[a->to] += d;
}

/* Handles a gap: no node is left at height h, so all nodes above it are cut off
 * from t. */
static void close_gap(net *g, uint32_t h)
{
    for (uint32_t k = h + 1; k <= g->highest; k++) {
        for (uint32_t i = g->level[k]; i != CLV_NONE; i = g->below[i])
            g->height[i] = g->n;
        g->level[k] = g->active[k] = CLV_NONE;
    }
    g->highest = g->top = h;
}

static void maxflow_lift(net *g, uint32_t i)
{
    uint32_t old = g->height[i], least = g->n;
    for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
        if (g->arc[k].cap > 0 && g->height[g->arc[k].to] + 1 < least) {
            least = g->height[g->arc[k].to] + 1;
            g->cur[i] = k;
        }
    g->work += g->first[i + 1] - g->first[i] + LIFT_WORK;
    maxflow_leave(g, i);
    g->height[i] = least;
    if (least < g->n)
        maxflow_enter(g, i);
    if (g->level[old] == CLV_NONE)
        close_gap(g, old);
}

static void maxflow_discharge(net *g, uint32_t i)
{
    while (g->height[i] < g->n) {
        for (; g->cur[i] < g->first[i + 1]; g->cur[i]++) {
            arc *a = &g->arc[g->cur[i]];
            if (a->cap == 0 || g->height[i] != g->height[a->to] + 1)
                continue;
            maxflow_push(g, i, a);
            if (g->excess[i] == 0)
                return;
        }
        maxflow_lift(g, i);
    }
}

static void maxflow_saturate(net *g)
{
    for (uint32_t k = g->first[g->s]; k < g->first[g->s + 1]; k++) {
        arc *a = &g->arc[k];
        g->excess[a->to] += a->cap;
        g->arc[a->mate].cap += a->cap;
        a->cap = 0;
    }
}

int64_t flow_cut(flow *f, uint32_t s, uint32_t t)
{
    net g;
    if (!maxflow_build(&g, f, s, t))
        return -1;
    maxflow_saturate(&g);
    relabel_all(&g);
    for (;;) {
        while (g.top > 0 && g.active[g.top] == CLV_NONE)
            g.top--;
        uint32_t i = g.top > 0 ? g.active[g.top] : CLV_NONE;
        if (i == CLV_NONE)
            break;
        g.active[g.top] = g.next[i];
        maxflow_discharge(&g, i);
        if (g.work > g.work_limit)
            relabel_all(&g);
    }
    relabel_all(&g);
    for (uint32_t i = 0; i < g.n; i++)
        f->source_side[i] = g.height[i] == g.n;
    return g.excess[g.t];
}

/* cluster_exact.c - the best plan of a small cluster, by branch and bound.
 *
 * Stages are placed one after another: the next one is what a larger closed
 * set adds, on a sequence of devices that are free. A branch ends when what is
 * placed, or what the rest takes at least, is no better than the best plan so
 * far. Devices that hang on the same place by equal links, and are equal
 * themselves, are taken in the order of the file: to swap them changes
 * nothing. A search that ends is a proof. */
#include "plan/cluster_sets.h"

#include <math.h>
#include <string.h>

enum { EXACT_STEPS = 20000000 }; /* nodes looked at before it gives up */

/* A value within this of another is no better. */
#define EXACT_SAME (1 - 1e-12)

typedef struct exact {
    cluster_job *j;
    closed_sets sets;
    cluster_draft draft;
    cluster_route route[EXACT_DEVICES][EXACT_DEVICES];
    int32_t twin[EXACT_DEVICES];      /* an equal device before it; -1: none */
    double *loads[EXACT_DEVICES + 1]; /* per stage: links after it */
    int64_t bytes[EXACT_DEVICES][EXACT_DEVICES]; /* from stage to stage */
    double end[EXACT_DEVICES];  /* latency, per stage: when it ends, */
    double rest[EXACT_DEVICES]; /* and the longest path after it, at best */
    double *tail;    /* per node: the longest path from it, at best */
    uint32_t *nodes; /* of the stage that is placed */
    uint32_t *seen, stamp;
    uint32_t used; /* a bit per device */
    bool roomy;    /* the whole model fits every device */
    bool latency;
    uint64_t steps;
    bool ok;
} exact;

/* A branch: stages that are placed, and what is known of them. */
typedef struct exact_at {
    uint32_t set, left; /* the set they form; devices left */
    double worst;       /* of throughput or latency */
} exact_at;

static bool exact_better(const exact *x, double value)
{
    return value < x->j->value.score * EXACT_SAME;
}

/* -- what is the same all along -------------------------------------------*/

static bool exact_leaves_alike(const clv_cluster *c, uint32_t a, uint32_t b)
{
    if (c->n_stated || c->first[a + 1] - c->first[a] != 1 ||
        c->first[b + 1] - c->first[b] != 1)
        return false;
    uint32_t m = c->out[c->first[a]], n = c->out[c->first[b]];
    const clv_cluster_link *k = &c->links[m / 2], *l = &c->links[n / 2];
    return c->end[!(m & 1)][m / 2] == c->end[!(n & 1)][n / 2] &&
           k->bandwidth == l->bandwidth && k->latency == l->latency;
}

static void exact_twins(exact *x)
{
    const cluster_job *j = x->j;
    for (uint32_t d = 0; d < j->n_devices; d++) {
        x->twin[d] = -1;
        for (uint32_t e = 0; e < d; e++)
            if (x->sets.class_of[e] == x->sets.class_of[d] &&
                exact_leaves_alike(j->c, e, d))
                x->twin[d] = (int32_t)e;
    }
}

static void exact_tails(exact *x)
{
    const cluster_job *j = x->j;
    for (uint32_t i = j->d.n; i-- > 0;) {
        double least = INFINITY, rest = 0;
        for (uint32_t k = 0; k < j->n_kinds; k++)
            least = fmin(least, j->cost[k][i]);
        for (uint32_t k = j->d.succ_first[i]; k < j->d.succ_first[i + 1]; k++)
            rest = fmax(rest, x->tail[j->d.succ[k]]);
        x->tail[i] = least + rest;
    }
}

static bool exact_start(exact *x)
{
    cluster_job *j = x->j;
    arena *a = &x->sets.mem;
    size_t links = 2 * (size_t)j->c->info.n_links + 1;
    int64_t all = 0;
    x->latency = j->o.objective == CLV_CLUSTER_LATENCY;
    x->draft.of = arena_array(a, (size_t)j->d.n + 1, sizeof(uint32_t));
    x->draft.first = arena_zalloc(a, (EXACT_DEVICES + 2) * sizeof(uint32_t));
    x->draft.devices = arena_zalloc(a, (EXACT_DEVICES + 1) * sizeof(uint32_t));
    x->nodes = arena_array(a, (size_t)j->d.n + 1, sizeof *x->nodes);
    x->tail = arena_array(a, (size_t)j->d.n + 1, sizeof *x->tail);
    x->seen = arena_zalloc(a, ((size_t)j->g->n_values + 1) * sizeof *x->seen);
    for (uint32_t i = 0; i <= EXACT_DEVICES; i++)
        if (!(x->loads[i] = arena_zalloc(a, links * sizeof(double))))
            return false;
    if (!x->draft.of || !x->draft.first || !x->draft.devices || !x->nodes ||
        !x->tail || !x->seen)
        return false;
    memset(x->draft.of, 0xff, j->d.n * sizeof(uint32_t));
    for (uint32_t v = 0; v < j->g->n_values; v++)
        all = sat_add(all, j->bytes[v]);
    x->roomy = true;
    for (uint32_t d = 0; d < j->n_devices; d++) {
        x->roomy = x->roomy && all <= j->c->devices[d].memory;
        for (uint32_t e = 0; e < j->n_devices; e++)
            if (!clv__route(&j->router, d, e, &x->route[d][e]))
                return false;
    }
    exact_twins(x);
    exact_tails(x);
    return true;
}

/* -- one stage ------------------------------------------------------------*/

/* The longest path, at best, from a node to the end, outside of a set. */
static double exact_after(const exact *x, uint32_t node, uint32_t set)
{
    const dag *d = &x->j->d;
    double rest = 0;
    for (uint32_t k = d->succ_first[node]; k < d->succ_first[node + 1]; k++)
        if (!sets_has(&x->sets, set, d->succ[k]))
            rest = fmax(rest, x->tail[d->succ[k]]);
    return rest;
}

/* Nodes of the stage, and the bytes it reads from each stage before. Returns
 * how many nodes. */
static uint32_t exact_gather(exact *x, uint32_t from, uint32_t to)
{
    const clv_graph *g = x->j->g;
    uint32_t n = 0, s = x->draft.n_stages;
    x->stamp++;
    x->rest[s] = 0;
    memset(x->bytes[s], 0, sizeof x->bytes[s]);
    for (uint32_t i = 0; i < x->j->d.n; i++) {
        if (sets_has(&x->sets, from, i) || !sets_has(&x->sets, to, i))
            continue;
        const clv_node *node = &g->nodes[i];
        x->draft.of[i] = s;
        x->nodes[n++] = i;
        if (x->latency)
            x->rest[s] = fmax(x->rest[s], exact_after(x, i, to));
        for (uint32_t k = 0; k < node->n_in; k++) {
            uint32_t v = node_ins(g, node)[k];
            uint32_t maker = v == CLV_NONE ? CLV_NONE : g->values[v].producer;
            if (maker == CLV_NONE || x->draft.of[maker] == s ||
                x->seen[v] == x->stamp)
                continue;
            x->seen[v] = x->stamp;
            int64_t *sum = &x->bytes[s][x->draft.of[maker]];
            *sum = sat_add(*sum, x->j->bytes[v]);
        }
    }
    return n;
}

static void exact_undo(exact *x, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < x->j->d.n; i++)
        if (!sets_has(&x->sets, from, i) && sets_has(&x->sets, to, i))
            x->draft.of[i] = CLV_NONE;
}

static uint32_t exact_gcd(uint32_t a, uint32_t b)
{
    return b ? exact_gcd(b, a % b) : a;
}

/* Adds what the last stage reads to the links. Returns the busiest of them;
 * INFINITY where there is no way. */
static double exact_links(exact *x)
{
    uint32_t s = x->draft.n_stages, links = 2 * x->j->c->info.n_links;
    const uint32_t *first = x->draft.first;
    double *loads = x->loads[s + 1], busiest = 0;
    memcpy(loads, x->loads[s], links * sizeof *loads);
    for (uint32_t a = 0; a < s; a++) {
        if (!x->bytes[s][a])
            continue;
        uint32_t na = first[a + 1] - first[a], nb = first[s + 1] - first[s];
        uint32_t turns = na / exact_gcd(na, nb) * nb;
        for (uint32_t i = 0; i < turns; i++) {
            const cluster_route *r =
                &x->route[x->draft.devices[first[a] + i % na]]
                         [x->draft.devices[first[s] + i % nb]];
            if (!r->found)
                return INFINITY;
            for (uint32_t k = 0; k < r->n; k++)
                loads[r->hops[k]] += (double)x->bytes[s][a] / turns /
                                     x->j->c->links[r->hops[k] / 2].bandwidth;
        }
    }
    for (uint32_t i = 0; i < links; i++)
        busiest = loads[i] > busiest ? loads[i] : busiest;
    return busiest;
}

/* When the last stage, of one device, has ended; and at best all that reads
 * from it. */
static double exact_latency(exact *x, double own)
{
    uint32_t s = x->draft.n_stages, d = x->draft.devices[x->draft.first[s]];
    double start = 0;
    for (uint32_t a = 0; a < s; a++) {
        if (!x->bytes[s][a])
            continue;
        const cluster_route *r =
            &x->route[x->draft.devices[x->draft.first[a]]][d];
        if (!r->found)
            return INFINITY;
        start = fmax(start, x->end[a] + r->latency +
                                (double)x->bytes[s][a] / r->bandwidth);
    }
    x->end[s] = start + own;
    return x->end[s] + x->rest[s];
}

/* -- the search -----------------------------------------------------------*/

static void exact_walk(exact *x, const exact_at *at);

/* A stage that gets its devices. */
typedef struct exact_stage {
    uint32_t to;  /* the set it leads to */
    int64_t need; /* bytes */
    double own;   /* seconds, on the slowest device so far */
} exact_stage;

/* The last stage has its devices: goes on, if that can be better. */
static void exact_placed(exact *x, const exact_at *at, const exact_stage *st)
{
    uint32_t s = x->draft.n_stages;
    double part = st->own / (x->draft.first[s + 1] - x->draft.first[s]);
    double worst = x->latency ? exact_latency(x, st->own) : part;
    double rest = x->latency ? 0 : sets_least(&x->sets, st->to)[at->left];
    worst = fmax(at->worst, worst);
    if (!exact_better(x, fmax(worst, rest * EXACT_SAME)))
        return;
    if (!x->latency)
        worst = fmax(worst, exact_links(x));
    if (!exact_better(x, worst))
        return;
    const exact_at next = {.set = st->to, .left = at->left, .worst = worst};
    x->draft.n_stages++;
    exact_walk(x, &next);
    x->draft.n_stages--;
}

/* Of equal devices the first is taken first. */
static bool exact_free(const exact *x, uint32_t d)
{
    return !(x->used >> d & 1) && (x->twin[d] < 0 || x->used >> x->twin[d] & 1);
}

/* Gives the last stage one device more, each that is free in turn. */
static void exact_devices(exact *x, const exact_at *at, const exact_stage *st)
{
    const closed_sets *sets = &x->sets;
    uint32_t s = x->draft.n_stages, *end = &x->draft.first[s + 1];
    uint32_t limit = x->j->o.replicas ? x->j->o.replicas : EXACT_DEVICES;
    if (*end - x->draft.first[s] >= (x->latency ? 1 : limit))
        return;
    for (uint32_t d = 0; d < x->j->n_devices && x->ok; d++) {
        uint32_t c = sets->class_of[d];
        const double *done = sets->done[sets->kind_of[c]];
        exact_at next = *at;
        exact_stage more = *st;
        if (!exact_free(x, d) || st->need > x->j->c->devices[d].memory)
            continue;
        x->steps += EXACT_DEVICES;
        more.own = fmax(st->own, done[st->to] - done[at->set]);
        next.left -= sets->digit[c];
        x->used |= 1u << d;
        x->draft.devices[(*end)++] = d;
        exact_placed(x, &next, &more);
        exact_devices(x, &next, &more);
        (*end)--;
        x->used &= ~(1u << d);
    }
}

static void exact_walk(exact *x, const exact_at *at)
{
    const closed_sets *sets = &x->sets;
    const clv_cluster_opts *o = &x->j->o;
    uint32_t s = x->draft.n_stages;
    if (at->set + 1 == sets->n) {
        x->ok = x->ok && clv__cluster_offer(x->j, &x->draft);
        return;
    }
    if (s == x->j->n_devices || (o->stages && s == o->stages))
        return;
    x->draft.first[s + 1] = x->draft.first[s];
    for (uint32_t k = sets->first[at->set]; k < sets->first[at->set + 1]; k++) {
        exact_stage st = {.to = sets->out[k]};
        double rest = x->latency ? 0 : sets_least(sets, st.to)[at->left];
        if (++x->steps > EXACT_STEPS || !x->ok)
            return;
        if (!exact_better(x, rest * EXACT_SAME))
            continue;
        uint32_t n = exact_gather(x, at->set, st.to);
        x->steps += x->j->d.n;
        if (!x->roomy)
            st.need = clv__cluster_memory(x->j, x->nodes, n, x->draft.of);
        exact_devices(x, at, &st);
        exact_undo(x, at->set, st.to);
    }
}

/* All plans of a small cluster. */
static void exact_search(cluster_job *j, exact *x)
{
    const exact_at at = {.left = x->sets.digit[x->sets.n_classes] - 1};
    if (exact_start(x))
        exact_walk(x, &at);
    else
        x->ok = false;
    j->proven = x->ok && x->steps <= EXACT_STEPS;
}

bool clv__cluster_exact(cluster_job *j)
{
    exact x = {.j = j, .ok = true};
    exact_state st = clv__sets_make(j, &x.sets);
    bool latency = j->o.objective == CLV_CLUSTER_LATENCY;
    if (st == EXACT_READY && !latency) {
        double least =
            sets_least(&x.sets, 0)[x.sets.digit[x.sets.n_classes] - 1];
        if (isfinite(least))
            j->bound = fmax(j->bound, least * EXACT_SAME);
        x.ok = clv__sets_offer(j, &x.sets);
    }
    if (st == EXACT_READY && x.ok && j->n_devices <= EXACT_DEVICES)
        exact_search(j, &x);
    clv__sets_free(&x.sets);
    return st != EXACT_NO_MEMORY && x.ok;
}

/* cluster_slices.c - good plans for graphs and clusters of any size: slices of
 * a topological order, over a sequence of devices.
 *
 * For one order and one sequence, dynamic programming finds the slices: stage
 * j..i runs on the devices from t to u of the sequence, as replicas.
 *
 *     best[u][i] = min over t, j of join(best[t][j], time(j..i) on t..u)
 *
 * join is the larger of the two for throughput, the sum for latency. Several
 * orders and sequences are tried; each result is valued exactly. */
#include "plan/cluster.h"

#include <math.h>
#include <string.h>

enum {
    SLICE_PLACES = 400,
    SLICE_EACH = 1000, /* graphs so small are cut anywhere */
    PACK_NODES = 3000, /* graphs whose orders are packed, too */
    PACK_ORDERS = 24,
    SLICE_ORDERS = 3,
    SLICE_UNITS = 24,
    SLICE_TRIES = 24,    /* sequences of devices, */
    SLICE_LARGE = 20000, /* and for graphs with more nodes than this: */
    SLICE_FEW = 5
};

typedef struct slicer {
    cluster_job *j;
    arena mem;
    const uint32_t *seq; /* order of the nodes */
    uint32_t *at, n_at;
    double **done;   /* per kind, per place of at */
    int64_t *store;  /* weights before each place of at */
    int64_t *cross;  /* per place of at: bytes that pass it */
    int64_t *live;   /* per place of seq */
    uint32_t *units; /* devices in the order that is tried */
    uint32_t *begin; /* per unit and one more: its devices */
    uint32_t n_units;
    uint32_t places; /* where a stage may begin, at most */
    double squeeze;  /* share of the memory that the slices may take */
} slicer;

static bool slicer_measure(slicer *s)
{
    cluster_job *j = s->j;
    const clv_graph *g = j->g;
    uint32_t n = j->d.n, step = n / s->places + 1;
    uint32_t *place = arena_array(&s->mem, (size_t)n + 1, sizeof *place);
    s->live = arena_zalloc(&s->mem, ((size_t)n + 2) * sizeof *s->live);
    if (!place || !s->live)
        return false;
    for (uint32_t i = 0; i < n; i++)
        place[s->seq[i]] = i;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t maker = g->values[v].producer, last = 0;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            if (place[g->users[u]] > last)
                last = place[g->users[u]];
        if (maker == CLV_NONE || last <= place[maker])
            continue;
        s->live[place[maker] + 1] += j->bytes[v];
        s->live[last + 1] -= j->bytes[v];
    }
    for (uint32_t i = 1; i <= n; i++)
        s->live[i] += s->live[i - 1];
    s->n_at = 0;
    s->at[s->n_at++] = 0;
    for (uint32_t i = 1; i < n; i += step) {
        uint32_t best = i;
        for (uint32_t k = i; k < i + step && k < n; k++)
            if (s->live[k] < s->live[best])
                best = k;
        s->at[s->n_at++] = best;
    }
    s->at[s->n_at++] = n;
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        double sum = 0;
        for (uint32_t i = 0, a = 0; i <= n; i++) {
            if (i == s->at[a])
                s->done[k][a++] = sum;
            if (i < n)
                sum += j->cost[k][s->seq[i]];
        }
    }
    int64_t sum = 0;
    for (uint32_t i = 0, a = 0; i <= n; i++) {
        if (i == s->at[a]) {
            s->cross[a] = s->live[i];
            s->store[a++] = sum;
        }
        if (i < n)
            sum = sat_add(sum, j->p->layers[s->seq[i]].cost.bytes_weights);
    }
    return true;
}

/* Devices t..u of the sequence as one stage. */
typedef struct slice_group {
    uint8_t kinds[256];
    uint32_t n_kinds, devices;
    int64_t memory;
    double bandwidth, latency; /* of the way into it */
} slice_group;

static bool slice_join(slicer *s, slice_group *g, uint32_t unit, bool first)
{
    cluster_job *j = s->j;
    if (first)
        *g = (slice_group){.memory = INT64_MAX, .bandwidth = INFINITY};
    for (uint32_t i = s->begin[unit]; i < s->begin[unit + 1]; i++) {
        uint32_t d = s->units[i], k = 0;
        int64_t m = j->c->devices[d].memory;
        g->memory = m < g->memory ? m : g->memory;
        while (k < g->n_kinds && g->kinds[k] != j->kind[d])
            k++;
        if (k == g->n_kinds)
            g->kinds[g->n_kinds++] = (uint8_t)j->kind[d];
        g->devices++;
    }
    if (first && unit) {
        cluster_route r;
        if (!clv__route(&j->router, s->units[s->begin[unit] - 1],
                        s->units[s->begin[unit]], &r))
            return false;
        g->bandwidth = r.found ? r.bandwidth : 1e-300;
        g->latency = r.latency;
    }
    return true;
}

typedef struct slice_cell {
    double best;
    uint16_t unit, place; /* where the last stage begins */
    uint32_t stages;
} slice_cell;

static void slice_extend(slicer *s, slice_cell *cells, uint32_t t, uint32_t u,
                         const slice_group *g)
{
    const cluster_job *j = s->j;
    bool sum = j->o.objective == CLV_CLUSTER_LATENCY;
    uint32_t n = s->n_at, most = j->o.stages ? j->o.stages : UINT32_MAX;
    int64_t room = (int64_t)((double)g->memory * s->squeeze);
    for (uint32_t i = 1; i < n; i++) {
        slice_cell *c = &cells[(size_t)u * n + i];
        for (uint32_t b = i; b-- > 0;) {
            const slice_cell *before = &cells[(size_t)t * n + b];
            double own = 0;
            for (uint32_t k = 0; k < g->n_kinds; k++) {
                const double *done = s->done[g->kinds[k]];
                own = fmax(own, done[i] - done[b]);
            }
            own /= g->devices;
            if (own >= c->best)
                break; /* longer slices only cost more */
            if (isinf(before->best) || before->stages >= most)
                continue;
            int64_t need = s->store[i] - s->store[b];
            if (sat_add(need, sat_add(s->cross[b], s->cross[i])) > room)
                continue;
            double move = b ? (double)s->cross[b] / g->bandwidth : 0;
            double all = sum ? before->best + own + (b ? g->latency : 0) + move
                             : fmax(before->best, fmax(own, move));
            if (all < c->best)
                *c = (slice_cell){all, (uint16_t)t, (uint16_t)b,
                                  before->stages + 1};
        }
    }
}

static bool slice_offer(slicer *s, const slice_cell *cells, uint32_t u)
{
    cluster_job *j = s->j;
    uint32_t i = s->n_at - 1, n = cells[(size_t)u * s->n_at + i].stages;
    cluster_draft d = {.n_stages = n};
    d.of = arena_array(&s->mem, (size_t)j->d.n + 1, sizeof *d.of);
    d.first = arena_array(&s->mem, (size_t)n + 2, sizeof *d.first);
    d.devices = s->units;
    if (!d.of || !d.first)
        return false;
    d.first[n] = s->begin[u];
    for (uint32_t k = n; k-- > 0;) {
        const slice_cell *c = &cells[(size_t)u * s->n_at + i];
        for (uint32_t x = s->at[c->place]; x < s->at[i]; x++)
            d.of[s->seq[x]] = k;
        d.first[k] = s->begin[c->unit];
        i = c->place;
        u = c->unit;
    }
    return clv__cluster_offer(j, &d);
}

/* One order, one sequence of devices. */
static bool slice_try(slicer *s)
{
    cluster_job *j = s->j;
    arena_mark mark = arena_save(&s->mem);
    size_t cells_n = ((size_t)s->n_units + 1) * s->n_at;
    slice_cell *cells = arena_array(&s->mem, cells_n, sizeof *cells);
    uint32_t most = j->o.objective == CLV_CLUSTER_LATENCY ? 1
                    : j->o.replicas                       ? j->o.replicas
                                                          : UINT32_MAX;
    bool ok = cells != NULL;
    for (size_t i = 0; ok && i < cells_n; i++)
        cells[i] = (slice_cell){.best = INFINITY};
    if (ok)
        cells[0].best = 0;
    for (uint32_t t = 0; ok && t < s->n_units; t++) {
        slice_group g = {0};
        for (uint32_t u = t; ok && u < s->n_units; u++) {
            ok = slice_join(s, &g, u, u == t);
            if (ok && u > t && g.devices > most)
                break;
            if (ok)
                slice_extend(s, cells, t, u + 1, &g);
        }
    }
    uint32_t pick = 0;
    for (uint32_t u = 1; ok && u <= s->n_units; u++)
        if (cells[(size_t)u * s->n_at + s->n_at - 1].best <
            (pick ? cells[(size_t)pick * s->n_at + s->n_at - 1].best
                  : INFINITY))
            pick = u;
    if (ok && pick)
        ok = slice_offer(s, cells, pick);
    arena_rewind(&s->mem, mark);
    return ok;
}

/* -- sequences ------------------------------------------------------------*/

/* Begins with `from`, goes on with the device that is nearest. */
static bool sequence_near(slicer *s, uint32_t from)
{
    cluster_job *j = s->j;
    uint32_t n = j->n_devices;
    for (uint32_t i = 0; i < n; i++)
        s->units[i] = i;
    s->units[0] = from;
    s->units[from] = 0;
    for (uint32_t i = 1; i + 1 < n; i++) {
        double least = INFINITY;
        uint32_t pick = i;
        for (uint32_t k = i; k < n; k++) {
            cluster_route r;
            if (!clv__route(&j->router, s->units[i - 1], s->units[k], &r))
                return false;
            double far = r.found ? r.latency + 1e6 / r.bandwidth : 1e300;
            far *= 1 + 1e-9 * s->units[k];
            if (far < least) {
                least = far;
                pick = k;
            }
        }
        uint32_t x = s->units[i];
        s->units[i] = s->units[pick];
        s->units[pick] = x;
    }
    return true;
}

/* The i-th sequence: as in the file, turned round, then from each device along
 * the nearest ones. False when memory ran out. */
static bool sequence_at(slicer *s, uint32_t i)
{
    uint32_t n = s->j->n_devices, each = (n - 1) / SLICE_UNITS + 1;
    s->n_units = 0;
    for (uint32_t k = 0; k < n; k += each)
        s->begin[s->n_units++] = k;
    s->begin[s->n_units] = n;
    for (uint32_t k = 0; i < 2 && k < n; k++)
        s->units[k] = i ? n - 1 - k : k;
    return i < 2 || sequence_near(s, i - 2);
}

static uint32_t sequence_count(const slicer *s)
{
    uint32_t n = s->j->n_devices;
    uint32_t most = s->j->d.n > SLICE_LARGE ? SLICE_FEW : SLICE_TRIES;
    if (n > SLICE_UNITS)
        return 2;
    return n + 2 < most ? n + 2 : most;
}

static bool slicer_start(slicer *s)
{
    uint32_t n_kinds = s->j->n_kinds;
    size_t n, d = (size_t)s->j->n_devices + 2;
    s->places = s->j->d.n <= SLICE_EACH ? SLICE_EACH : SLICE_PLACES;
    n = (size_t)s->places + 4;
    s->at = arena_array(&s->mem, n, sizeof *s->at);
    s->store = arena_array(&s->mem, n, sizeof *s->store);
    s->cross = arena_array(&s->mem, n, sizeof *s->cross);
    s->units = arena_array(&s->mem, d, sizeof *s->units);
    s->begin = arena_array(&s->mem, d, sizeof *s->begin);
    s->done = arena_array(&s->mem, n_kinds, sizeof *s->done);
    for (uint32_t k = 0; s->done && k < n_kinds; k++)
        if (!(s->done[k] = arena_array(&s->mem, n, sizeof **s->done)))
            return false;
    return s->at && s->store && s->cross && s->units && s->begin && s->done;
}

/* -- orders ---------------------------------------------------------------*/

/* A topological order that fills one stage after another up to `room` seconds:
 * of the nodes that are ready, the longest that still fits is next, and when
 * none does a new stage begins. Wide graphs have many orders, and slices of
 * this one come out even. */
static bool order_packed(slicer *s, double room, uint32_t *seq)
{
    const dag *d = &s->j->d;
    const double *cost = s->j->cost[0];
    uint32_t n_ready = 0;
    double used = 0;
    uint32_t *ready = arena_array(&s->mem, (size_t)d->n + 1, sizeof *ready);
    uint32_t *left = arena_array(&s->mem, (size_t)d->n + 1, sizeof *left);
    if (!ready || !left)
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        if (!(left[i] = d->pred_first[i + 1] - d->pred_first[i]))
            ready[n_ready++] = i;
    for (uint32_t k = 0; k < d->n; k++) {
        uint32_t pick = CLV_NONE, first = 0;
        for (uint32_t i = 0; i < n_ready; i++) {
            if (ready[i] < ready[first])
                first = i;
            if (used + cost[ready[i]] <= room &&
                (pick == CLV_NONE || cost[ready[i]] > cost[ready[pick]]))
                pick = i;
        }
        used = pick == CLV_NONE ? 0 : used;
        pick = pick == CLV_NONE ? first : pick;
        uint32_t node = seq[k] = ready[pick];
        used += cost[node];
        ready[pick] = ready[--n_ready];
        for (uint32_t e = d->succ_first[node]; e < d->succ_first[node + 1]; e++)
            if (--left[d->succ[e]] == 0)
                ready[n_ready++] = d->succ[e];
    }
    return true;
}

/* The order number `way`: three of any graph, then packed ones with ever more
 * room over the bound. */
static bool order_at(slicer *s, int way, uint32_t *seq)
{
    if (way < SLICE_ORDERS)
        return clv__dag_order(&s->mem, &s->j->d, seq, (dag_way)way);
    double over = 0.0025 * (way - SLICE_ORDERS);
    return order_packed(s, s->j->bound * (1 + over), seq);
}

static int order_count(const slicer *s)
{
    const cluster_job *j = s->j;
    bool packed = j->n_kinds == 1 && j->d.n <= PACK_NODES &&
                  j->o.objective != CLV_CLUSTER_LATENCY;
    return SLICE_ORDERS + (packed ? PACK_ORDERS : 0);
}

/* Nothing better can be found. */
static bool slicer_done(const cluster_job *j)
{
    return j->value.score <= j->bound * (1 + 1e-12);
}

clv_status clv__cluster_slices(cluster_job *j, clv_err *e)
{
    slicer s = {.j = j};
    bool ok = slicer_start(&s);
    uint32_t *seq = arena_array(&s.mem, (size_t)j->d.n + 1, sizeof *seq);
    ok = ok && seq;
    for (int way = 0; ok && way < order_count(&s) && !slicer_done(j); way++) {
        arena_mark mark = arena_save(&s.mem);
        ok = order_at(&s, way, seq);
        s.seq = seq;
        ok = ok && slicer_measure(&s);
        for (uint32_t i = 0; ok && i < sequence_count(&s) && !slicer_done(j);
             i++) {
            s.squeeze = 1;
            ok = sequence_at(&s, i);
            for (int turn = 0; ok && turn < 6; turn++, s.squeeze *= 0.85) {
                ok = slice_try(&s);
                if (!isinf(j->value.score))
                    break; /* it fits */
            }
        }
        arena_rewind(&s.mem, mark);
    }
    arena_free(&s.mem);
    return ok ? CLV_OK : clv__nomem(e);
}

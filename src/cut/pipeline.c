/* pipeline.c - cuts a graph into k stages so that the slowest is as fast as
 * possible.
 *
 * Rule: a stage is a slice of a topological order. For one order, dynamic
 * programming finds the best slices. best[s][i] is the least time of the
 * slowest stage when the first i nodes form s stages:
 *
 *     best[s][i] = min over j < i of max(best[s-1][j], cost(j..i) + move(j))
 *
 *     order   n0 n1 | n2 n3 n4 | n5      stages begin at 0, 2 and 5; move(2)
 *             0       2          5       is the time to move all tensors that
 *                                        are made before n2 and read after
 *
 * Reason: the best first s - 1 stages do not depend on how the rest is cut.
 *
 * An order decides which slices exist, so several orders are tried. An order
 * with more than POSITIONS places to cut keeps those that move the least in
 * each stretch of equal work. So the answer need not be the best one: the
 * bound, max(total / k, heaviest operator), holds for every order and every
 * cut, and is reported beside it. */
#include "analysis/liveness.h"
#include "cleave/placement.h"
#include "core/limits.h"
#include "cut/blocks.h"
#include "cut/place.h"

#include <math.h>
#include <string.h>

enum { POSITIONS = 2000 };

typedef struct job {
    const clv_profile *p;
    const clv_graph *g;
    clv_pipeline_opts o;
    arena mem;
    dag d;
    double *cost;  /* per node */
    uint32_t *seq; /* the order tried now: node at each place */
    /* Per place 0 .. n of seq: */
    double *done;       /* cost of all nodes before it */
    int64_t *store;     /* weight bytes of all nodes before it */
    int64_t *cross;     /* activation bytes that pass it */
    uint32_t *at, n_at; /* places where a stage may begin, 0 and n included */
    double best_cost;
    uint32_t *best_of; /* stage of each node */
    clv_pipeline_info info;
} job;

/* -- orders ---------------------------------------------------------------*/

static const struct order {
    const char *name;
    dag_way way;
} orders[] = {
    {"as given", DAG_AS_GIVEN},
    {"depth first", DAG_DEPTH_FIRST},
    {"breadth first", DAG_BREADTH_FIRST},
};

/* -- what each place costs ------------------------------------------------*/

static int64_t bytes_of(const clv_graph *g, uint32_t v)
{
    return g->values[v].rank == CLV_NO_RANK ? 0
                                            : clv__held_bytes(&g->values[v]);
}

/* Adds each tensor to all places that it passes: from after its maker to its
 * last reader. */
static bool fill_cross(job *j)
{
    const clv_graph *g = j->g;
    uint32_t n = 0, places = j->d.n;
    liveness l;
    uint32_t *place = arena_array(&j->mem, (size_t)places + 1, sizeof *place);
    clv_buffer *b = arena_array(&j->mem, (size_t)g->n_values + 1, sizeof *b);
    if (!place || !b || !clv__live_start(&l, &j->mem, g->n_values, places))
        return false;
    for (uint32_t i = 0; i < places; i++)
        place[j->seq[i]] = i;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t maker = g->values[v].producer;
        if (maker == CLV_NONE || g->user_first[v] == g->user_first[v + 1])
            continue;
        clv__live_touch(&l, v, place[maker] + 1);
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            clv__live_touch(&l, v, place[g->users[u]]);
        b[n++] = clv__live_buffer(&l, v, bytes_of(g, v));
    }
    if (clv__live_bytes(b, n, 1, j->cross, places) == CLV_SAT)
        for (uint32_t i = 0; i < places; i++)
            j->cross[i] = CLV_SAT; /* no place is cheap */
    return true;
}

static bool pipeline_measure(job *j)
{
    j->done[0] = 0;
    j->store[0] = 0;
    for (uint32_t i = 0; i < j->d.n; i++) {
        uint32_t node = j->seq[i];
        j->done[i + 1] = j->done[i] + j->cost[node];
        j->store[i + 1] =
            sat_add(j->store[i], j->p->layers[node].cost.bytes_weights);
    }
    return fill_cross(j);
}

static void pick_places(job *j)
{
    uint32_t n = j->d.n, step = n / POSITIONS + 1;
    j->n_at = 0;
    j->at[j->n_at++] = 0;
    for (uint32_t i = 1; i < n; i += step) {
        uint32_t best = i;
        for (uint32_t k = i; k < i + step && k < n; k++)
            if (j->cross[k] < j->cross[best])
                best = k;
        j->at[j->n_at++] = best;
    }
    j->at[j->n_at++] = n;
}

static double pipeline_transfer(const job *j, uint32_t place)
{
    double link = j->o.link > 0 ? j->o.link : DEFAULT_LINK;
    return j->o.device ? (double)j->cross[place] / link : 0;
}

static int64_t stage_memory(const job *j, uint32_t from, uint32_t to)
{
    return sat_add(j->store[to] - j->store[from],
                   sat_add(j->cross[from], j->cross[to]));
}

/* -- slices ---------------------------------------------------------------*/

/* Fills best (one row of n_at per stage) and from (where the stage began). */
static double pipeline_slice(job *j, double *best, uint32_t *from, uint32_t k)
{
    uint32_t n = j->n_at;
    for (uint32_t i = 0; i < (k + 1) * n; i++)
        best[i] = INFINITY;
    best[0] = 0;
    for (uint32_t s = 1; s <= k; s++)
        for (uint32_t i = 1; i < n; i++)
            for (uint32_t b = i; b-- > 0;) {
                double before = best[(s - 1) * n + b];
                double own = j->done[j->at[i]] - j->done[j->at[b]];
                if (own >= best[s * n + i])
                    break; /* longer slices only cost more */
                own += b ? pipeline_transfer(j, j->at[b]) : 0;
                if (j->o.memory &&
                    stage_memory(j, j->at[b], j->at[i]) > j->o.memory)
                    continue;
                double worst = before > own ? before : own;
                if (worst < best[s * n + i]) {
                    best[s * n + i] = worst;
                    from[s * n + i] = b;
                }
            }
    return best[k * n + n - 1];
}

/* Returns the number of stages, up to k, with the least bottleneck; the fewest
 * where several are equal. */
static uint32_t pipeline_fewest(const job *j, const double *best, uint32_t k)
{
    uint32_t pick = 0;
    for (uint32_t s = 1; s <= k; s++) {
        double x = best[s * j->n_at + j->n_at - 1];
        if (isfinite(x) && (!pick || x < best[pick * j->n_at + j->n_at - 1]))
            pick = s;
    }
    return pick;
}

static void pipeline_keep(job *j, const uint32_t *from, uint32_t stages,
                          const char *order)
{
    uint32_t i = j->n_at - 1, s = stages;
    j->info.order = order;
    j->info.n_stages = stages;
    while (s > 0) {
        uint32_t b = from[s * j->n_at + i];
        for (uint32_t x = j->at[b]; x < j->at[i]; x++)
            j->best_of[j->seq[x]] = s - 1;
        i = b;
        s--;
    }
}

static clv_status try_orders(job *j, clv_err *e)
{
    uint32_t k = j->o.stages;
    j->best_cost = INFINITY;
    for (size_t t = 0; t < sizeof orders / sizeof *orders; t++) {
        CLV_TRY(clv__within(0, e));
        arena_mark mark = arena_save(&j->mem);
        if (!clv__dag_order(&j->mem, &j->d, j->seq, orders[t].way) ||
            !pipeline_measure(j))
            return clv__nomem(e);
        pick_places(j);
        size_t cells = (size_t)(k + 1) * j->n_at;
        double *best = arena_array(&j->mem, cells, sizeof *best);
        uint32_t *from = arena_array(&j->mem, cells, sizeof *from);
        if (!best || !from)
            return clv__nomem(e);
        pipeline_slice(j, best, from, k);
        uint32_t stages = pipeline_fewest(j, best, k);
        double cost = stages ? best[stages * j->n_at + j->n_at - 1] : INFINITY;
        if (cost < j->best_cost) {
            j->best_cost = cost;
            pipeline_keep(j, from, stages, orders[t].name);
        }
        arena_rewind(&j->mem, mark);
    }
    return CLV_OK;
}

/* -- the cut --------------------------------------------------------------*/

static bool pipeline_prepare(job *j)
{
    size_t n = (size_t)j->g->n_nodes + 2;
    j->cost = arena_array(&j->mem, n, sizeof *j->cost);
    j->seq = arena_array(&j->mem, n, sizeof *j->seq);
    j->done = arena_array(&j->mem, n, sizeof *j->done);
    j->store = arena_array(&j->mem, n, sizeof *j->store);
    j->cross = arena_array(&j->mem, n, sizeof *j->cross);
    j->at = arena_array(&j->mem, n, sizeof *j->at);
    j->best_of = arena_zalloc(&j->mem, n * sizeof *j->best_of);
    return j->cost && j->seq && j->done && j->store && j->cross && j->at &&
           j->best_of && clv__dag_make(&j->mem, j->g, &j->d) &&
           clv__dag_succ(&j->mem, &j->d);
}

static void fill_costs(job *j)
{
    double total = 0, heaviest = 0;
    for (uint32_t i = 0; i < j->d.n; i++) {
        const clv_layer *l = &j->p->layers[i];
        double x = (double)l->cost.flops;
        if (j->o.device && l->cost.trust == CLV_TRUST_FREE)
            x = 0;
        else if (j->o.device)
            x = clv_device_roofline(j->o.device, l->dtype, &l->cost,
                                    &l->parallel)
                    .seconds;
        j->cost[i] = x > 0 ? x : 0;
        total += j->cost[i];
        heaviest = j->cost[i] > heaviest ? j->cost[i] : heaviest;
    }
    j->info.bound =
        total / j->o.stages > heaviest ? total / j->o.stages : heaviest;
    j->info.unit = j->o.device ? "s" : "FLOP";
}

/* Describes the stages of the finished cut: what they cost, and what they read
 * from other stages. */
static bool fill_stages(job *j, clv_cut *c)
{
    clv_pipeline_stage *st =
        arena_zalloc(&c->mem, (c->n_subs + 1) * sizeof *st);
    double link = j->o.link > 0 ? j->o.link : DEFAULT_LINK;
    for (uint32_t k = 0; st && k < c->n_subs; k++) {
        clv_subgraph *s = &c->subs[k];
        s->device = arena_printf(&c->mem, "stage%u", k);
        s->reason = CLV_REASON_COMPUTE_LIMIT;
        if (!s->device)
            return false;
        for (uint32_t i = 0; i < s->n_nodes; i++) {
            st[k].cost += j->cost[s->nodes[i]];
            st[k].memory = sat_add(
                st[k].memory, j->p->layers[s->nodes[i]].cost.bytes_weights);
        }
        for (uint32_t i = 0; i < s->n_inputs; i++)
            if (j->g->values[s->inputs[i]].producer != CLV_NONE) {
                int64_t b = bytes_of(j->g, s->inputs[i]);
                st[k].transfer += j->o.device ? (double)b / link : 0;
                st[k].memory = sat_add(st[k].memory, b);
            }
        for (uint32_t i = 0; i < s->n_outputs; i++)
            st[k].memory = sat_add(st[k].memory, bytes_of(j->g, s->outputs[i]));
        st[k].total = st[k].cost + st[k].transfer;
        if (st[k].total > j->info.bottleneck)
            j->info.bottleneck = st[k].total;
    }
    j->info.stages = st;
    j->info.n_stages = c->n_subs;
    j->info.gap =
        j->info.bound > 0 ? j->info.bottleneck / j->info.bound - 1 : 0;
    return st != NULL;
}

static clv_status pipeline_run(job *j, clv_cut **out, clv_err *e)
{
    if (!pipeline_prepare(j))
        return clv__nomem(e);
    if (j->o.stages > j->d.n)
        j->o.stages = j->d.n ? j->d.n : 1;
    fill_costs(j);
    CLV_TRY(try_orders(j, e));
    if (!isfinite(j->best_cost) && j->d.n)
        return clv__fail(e, CLV_LIMIT,
                         "no cut into %u stages keeps each within %lld bytes",
                         j->o.stages, (long long)j->o.memory);
    const cut_labels l = {.of = j->best_of, .n = j->d.n ? j->info.n_stages : 0};
    CLV_TRY(clv__cut_make(j->p, "pipeline", &l, out, e));
    clv_pipeline_info *info = arena_alloc(&(*out)->mem, sizeof *info);
    if (!info || !fill_stages(j, *out))
        return clv__nomem(e);
    *info = j->info;
    (*out)->pipeline = info;
    return CLV_OK;
}

clv_status clv_cut_pipeline(const clv_profile *p, const clv_pipeline_opts *opts,
                            clv_cut **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    CLV_NEED(opts, err);
    job j = {.p = p, .g = p->g, .info.size = sizeof j.info};
    CLV_READ(clv_pipeline_opts, opts, &j.o, err);
    clv_status s = j.o.stages ? pipeline_run(&j, out, err)
                              : clv__fail(err, CLV_USAGE, "how many stages?");
    arena_free(&j.mem);
    if (s != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return s;
}

const clv_pipeline_info *clv_cut_pipeline_info(const clv_cut *c)
{
    return c->pipeline;
}

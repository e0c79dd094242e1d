/* concurrency.c - finds stages, slack and the critical path of a cut.
 *
 * Subgraphs are numbered in an order in which they can run, so two loops are
 * enough. A forward loop over dependencies finds the earliest stage of each, a
 * backward loop the latest.
 *
 *      a -> b -> d      stages {a} {b c} {d}: b and c may run together.
 *       \-> c -/        If b is heavier, a b d is critical and c has slack. */
#include "cut/concurrency.h"

#include <string.h>

/* The part of a cut that the loops need, packed densely: the full description
 * of a subgraph is far larger than a cache line. */
typedef struct packed {
    uint32_t n;
    uint32_t *first, *dep;    /* dependencies of k: dep[first[k] ... */
    double *weight, *behind;  /* the heaviest path after k */
    uint32_t *stage, *latest; /* earliest and latest stage */
    struct path {
        double weight;
        uint32_t length, from; /* from: the subgraph before it on the path, or
                                * CLV_NONE */
    } * best;                  /* the heaviest path that ends in k */
} packed;

typedef struct path path;

/* -- weights --------------------------------------------------------------*/

/* The weight of subgraph k. */
static clv_status concurrency_weigh(const clv_cut *c,
                                    const clv_concurrency_opts *o, uint32_t k,
                                    double *weight, clv_err *e)
{
    clv_dtype dtype = o->dtype == CLV_NODTYPE ? CLV_FLOAT32 : o->dtype;
    const clv_subgraph *s = &c->subs[k];
    if (o->weights)
        *weight = o->weights[k];
    else if (o->device)
        *weight = clv_device_roofline(o->device, dtype, &s->cost, &s->parallel)
                      .seconds;
    else
        *weight = (double)s->cost.flops;
    if (!(*weight < 0))
        return CLV_OK;
    return clv__about(e,
                      clv__fail(e, CLV_UNSUPPORTED, "%s has no rate for %s",
                                o->device ? o->device->name : "the caller",
                                clv_dtype_name(dtype)),
                      CLV_SUBJECT_DTYPE, clv_dtype_name(dtype));
}

/* Fills p. Two walks over the subgraphs are all that reads their descriptions
 * before the tasks are filled: they take most of the time. */
static clv_status concurrency_pack(packed *p, const clv_cut *c,
                                   const clv_concurrency_opts *o, arena *keep,
                                   arena *scratch, clv_err *e)
{
    size_t n = (size_t)c->n_subs + 1, edges = 1;
    p->n = c->n_subs;
    p->first = arena_array(scratch, n, sizeof *p->first);
    p->weight = arena_array(scratch, n, sizeof *p->weight);
    p->behind = arena_zalloc(keep, n * sizeof *p->behind);
    p->stage = arena_zalloc(scratch, n * sizeof *p->stage);
    p->latest = arena_array(scratch, n, sizeof *p->latest);
    p->best = arena_array(scratch, n, sizeof *p->best);
    if (!p->first || !p->weight || !p->behind || !p->stage || !p->latest ||
        !p->best)
        return clv__nomem(e);
    for (uint32_t k = 0; k < p->n; k++) {
        edges += c->subs[k].n_depends_on;
        CLV_TRY(concurrency_weigh(c, o, k, &p->weight[k], e));
    }
    p->dep = arena_array(scratch, edges, sizeof *p->dep);
    if (!p->dep)
        return clv__nomem(e);
    uint32_t at = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const clv_subgraph *s = &c->subs[k];
        p->first[k] = at;
        for (uint32_t i = 0; i < s->n_depends_on; i++)
            p->dep[at++] = s->depends_on[i];
    }
    p->first[p->n] = at;
    return CLV_OK;
}

/* -- the passes -----------------------------------------------------------*/

/* Returns true when path a is heavier than b, or as heavy with more
 * subgraphs. */
static bool concurrency_better(const path *a, const path *b)
{
    return a->weight > b->weight ||
           (a->weight == b->weight && a->length > b->length);
}

/* Finds the earliest stage of each subgraph, and the best path that ends
 * there. */
static void concurrency_forwards(packed *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        path best = {0, 0, CLV_NONE};
        uint32_t stage = 0;
        for (uint32_t i = p->first[k]; i < p->first[k + 1]; i++) {
            uint32_t d = p->dep[i];
            stage = p->stage[d] >= stage ? p->stage[d] + 1 : stage;
            if (best.from == CLV_NONE || concurrency_better(&p->best[d], &best))
                best = (path){p->best[d].weight, p->best[d].length, d};
        }
        p->stage[k] = stage;
        p->best[k] =
            (path){best.weight + p->weight[k], best.length + 1, best.from};
    }
}

/* Finds the latest stage of each subgraph, and the heaviest path from it to an
 * end. */
static void concurrency_backwards(packed *p, uint32_t last)
{
    for (uint32_t k = 0; k < p->n; k++)
        p->latest[k] = last;
    for (uint32_t k = p->n; k-- > 0;) {
        double with = p->weight[k] + p->behind[k];
        uint32_t before = p->latest[k] - 1;
        for (uint32_t i = p->first[k]; i < p->first[k + 1]; i++) {
            uint32_t d = p->dep[i];
            p->latest[d] = before < p->latest[d] ? before : p->latest[d];
            p->behind[d] = with > p->behind[d] ? with : p->behind[d];
        }
    }
}

static bool list_stages(clv_concurrency *a, const packed *p)
{
    clv_concurrency_info *t = &a->info;
    clv_stage *stages =
        arena_zalloc(&a->mem, ((size_t)t->n_stages + 1) * sizeof *stages);
    uint32_t *list = arena_array(&a->mem, (size_t)p->n + 1, sizeof *list);
    uint32_t *at =
        arena_zalloc(&a->mem, ((size_t)t->n_stages + 2) * sizeof *at);
    if (!stages || !list || !at)
        return false;
    for (uint32_t k = 0; k < p->n; k++)
        at[p->stage[k] + 1]++;
    for (uint32_t i = 0; i < t->n_stages; i++) {
        uint32_t n = at[i + 1];
        t->max_parallel = n > t->max_parallel ? n : t->max_parallel;
        *(n > 1 ? &t->independent : &t->sequential) += n;
        t->wide_stages += n > 1;
        at[i + 1] += at[i];
        stages[i].n = n;
        stages[i].subgraphs = list + at[i];
    }
    for (uint32_t k = 0; k < p->n; k++)
        list[at[p->stage[k]]++] = k;
    t->stages = stages;
    a->stages = stages;
    return true;
}

static bool list_critical(clv_concurrency *a, const packed *p)
{
    clv_concurrency_info *t = &a->info;
    uint32_t end = CLV_NONE;
    for (uint32_t k = 0; k < p->n; k++)
        if (end == CLV_NONE || concurrency_better(&p->best[k], &p->best[end]))
            end = k;
    if (end != CLV_NONE) {
        t->span = p->best[end].weight;
        t->n_critical = p->best[end].length;
    }
    uint32_t *list =
        arena_array(&a->mem, (size_t)t->n_critical + 1, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = t->n_critical; i-- > 0; end = p->best[end].from) {
        list[i] = end;
        a->tasks[end].critical = true;
        t->critical_flops += a->cut->subs[end].cost.flops;
    }
    t->critical = list;
    return true;
}

/* -- tasks ----------------------------------------------------------------*/

static int64_t units_of(int64_t threads, int64_t each)
{
    int64_t units = threads / each + (threads % each != 0);
    return units > 0 ? units : 1;
}

static void fill_task(clv_task *t, const packed *p, uint32_t k, double span)
{
    t->stage = p->stage[k];
    t->latest = p->latest[k];
    t->slack = t->latest - t->stage;
    t->weight = p->weight[k];
    t->start = p->best[k].weight - t->weight;
    double slack = span - p->best[k].weight - p->behind[k];
    t->slack_time = t->critical || slack < 0 ? 0 : slack;
}

/* Threads of one compute unit: at its best, and at least (a warp). */
enum { UNIT_THREADS = 256, WARP_THREADS = 32 };

static void fill_tasks(clv_concurrency *a, const packed *p)
{
    clv_concurrency_info *t = &a->info;
    double threads = 0;
    for (uint32_t k = 0; k < p->n; k++)
        t->work += p->weight[k];
    for (uint32_t k = 0; k < p->n; k++) {
        const clv_subgraph *s = &a->cut->subs[k];
        clv_task *task = &a->tasks[k];
        int64_t n = s->parallel.total_threads;
        fill_task(task, p, k, t->span);
        task->threads = n;
        task->min_units = 1;
        task->optimal_units = units_of(n, UNIT_THREADS);
        task->max_units = units_of(n, WARP_THREADS);
        if (n > 0 && (t->min_threads == 0 || n < t->min_threads))
            t->min_threads = n;
        t->max_threads = n > t->max_threads ? n : t->max_threads;
        threads += (double)n;
        t->flops += s->cost.flops;
        task->share = t->work > 0 ? task->weight / t->work : 0;
        a->stages[task->stage].flops += s->cost.flops;
    }
    t->avg_threads = p->n ? threads / p->n : 0;
    t->speedup = t->span > 0 ? t->work / t->span : 1;
}

/* -- batches --------------------------------------------------------------*/

static int64_t batch_of(const clv_graph *g)
{
    if (g->n_inputs == 0)
        return 1;
    const clv_value *x = &g->values[g->inputs[0]];
    bool known = x->rank != CLV_NO_RANK && x->rank > 0 && x->dims[0] > 0;
    return known ? x->dims[0] : 1;
}

clv_batch_row clv_concurrency_batch(const clv_concurrency_info *a,
                                    int64_t batch, int64_t units)
{
    clv_batch_row r = {.batch = batch,
                       .speedup = sat_mul(a->max_parallel, batch)};
    r.avg_threads = a->avg_threads / (double)a->batch * (double)batch;
    if (units > 0)
        r.units_filled =
            r.speedup < units ? (double)r.speedup / (double)units : 1;
    return r;
}

int64_t clv_concurrency_fill(const clv_concurrency_info *a, int64_t units,
                             double share)
{
    double wide = a->max_parallel ? a->max_parallel : 1;
    double batch = (double)units * share / wide;
    int64_t whole = (int64_t)batch;
    whole += (double)whole < batch;
    return whole > 0 ? whole : 1;
}

/* -- the analysis ---------------------------------------------------------*/

static clv_status concurrency_analyse(clv_concurrency *a,
                                      const clv_concurrency_opts *o,
                                      arena *scratch, clv_err *e)
{
    packed p;
    uint32_t n = a->cut->n_subs, last = 0;
    a->info.subgraphs = n;
    a->info.batch = batch_of(a->cut->p->g);
    a->tasks = arena_zalloc(&a->mem, ((size_t)n + 1) * sizeof *a->tasks);
    if (!a->tasks)
        return clv__nomem(e);
    a->info.unit = o->weights ? o->unit : o->device ? "s" : "FLOPs";
    CLV_TRY(concurrency_pack(&p, a->cut, o, &a->mem, scratch, e));
    concurrency_forwards(&p);
    for (uint32_t k = 0; k < n; k++)
        last = p.stage[k] > last ? p.stage[k] : last;
    concurrency_backwards(&p, last);
    a->info.n_stages = n ? last + 1 : 0;
    a->info.tasks = a->tasks;
    a->behind = p.behind;
    if (!list_stages(a, &p) || !list_critical(a, &p))
        return clv__nomem(e);
    fill_tasks(a, &p);
    return CLV_OK;
}

clv_status clv_concurrency_new(const clv_cut *c,
                               const clv_concurrency_opts *opts,
                               clv_concurrency **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    clv_concurrency_opts o;
    CLV_READ(clv_concurrency_opts, opts, &o, err);
    clv_concurrency *a = clv__zalloc(sizeof *a);
    if (!a)
        return clv__nomem(err);
    a->cut = c;
    a->info.size = sizeof a->info;
    arena scratch = {0};
    clv_status s = concurrency_analyse(a, &o, &scratch, err);
    arena_free(&scratch);
    if (s != CLV_OK) {
        clv_concurrency_free(a);
        return s;
    }
    *out = a;
    return CLV_OK;
}

void clv_concurrency_free(clv_concurrency *a)
{
    if (!a)
        return;
    arena_free(&a->mem);
    clv__free(a);
}

const clv_concurrency_info *clv_concurrency_get(const clv_concurrency *a)
{
    return &a->info;
}

const clv_cut *clv_concurrency_cut(const clv_concurrency *a)
{
    return a->cut;
}

/* concurrency.c - stages, slack and the critical path of a cut.
 *
 * Subgraphs are numbered in an order in which they can run, so each pass is one
 * loop: forwards over depends_on for what is earliest, backwards for what is
 * latest.
 *
 *      a -> b -> d      stages {a} {b c} {d}: b and c may run together.
 *       \-> c -/        If b is heavier, a b d is critical and c has slack. */
#include "cut/concurrency.h"

#include <string.h>

/* -- weights --------------------------------------------------------------*/

static clv_status weigh(clv_concurrency *a, const clv_concurrency_opts *o,
                        clv_err *e)
{
    clv_dtype dtype = o->dtype == CLV_NODTYPE ? CLV_FLOAT32 : o->dtype;
    a->info.unit = o->weights ? o->unit : o->device ? "s" : "FLOPs";
    for (uint32_t k = 0; k < a->cut->n_subs; k++) {
        const clv_subgraph *s = &a->cut->subs[k];
        clv_task *t = &a->tasks[k];
        if (o->weights)
            t->weight = o->weights[k];
        else if (o->device)
            t->weight =
                clv_roofline_of(o->device, dtype, &s->cost, &s->parallel)
                    .seconds;
        else
            t->weight = (double)s->cost.flops;
        if (t->weight < 0)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "%s has no rate for %s; choose another --dtype",
                             o->device ? o->device->name : "the caller",
                             clv_dtype_name(dtype));
    }
    return CLV_OK;
}

/* -- stages ---------------------------------------------------------------*/

static void find_stages(clv_concurrency *a)
{
    uint32_t n = a->cut->n_subs, last = 0;
    for (uint32_t k = 0; k < n; k++) {
        const clv_subgraph *s = &a->cut->subs[k];
        for (uint32_t i = 0; i < s->n_depends_on; i++) {
            uint32_t after = a->tasks[s->depends_on[i]].stage + 1;
            if (after > a->tasks[k].stage)
                a->tasks[k].stage = after;
        }
        last = a->tasks[k].stage > last ? a->tasks[k].stage : last;
    }
    a->info.n_stages = n ? last + 1 : 0;
    for (uint32_t k = 0; k < n; k++)
        a->tasks[k].latest = last;
    for (uint32_t k = n; k-- > 0;) {
        const clv_subgraph *s = &a->cut->subs[k];
        clv_task *t = &a->tasks[k];
        t->slack = t->latest - t->stage;
        for (uint32_t i = 0; i < s->n_depends_on; i++) {
            clv_task *d = &a->tasks[s->depends_on[i]];
            d->latest = t->latest - 1 < d->latest ? t->latest - 1 : d->latest;
        }
    }
}

static bool list_stages(clv_concurrency *a)
{
    clv_concurrency_info *t = &a->info;
    uint32_t n = a->cut->n_subs;
    clv_stage *stages =
        arena_zalloc(&a->mem, ((size_t)t->n_stages + 1) * sizeof *stages);
    uint32_t *list = arena_array(&a->mem, (size_t)n + 1, sizeof *list);
    uint32_t *at =
        arena_zalloc(&a->mem, ((size_t)t->n_stages + 2) * sizeof *at);
    if (!stages || !list || !at)
        return false;
    for (uint32_t k = 0; k < n; k++)
        at[a->tasks[k].stage + 1]++;
    for (uint32_t i = 0; i < t->n_stages; i++) {
        stages[i].n = at[i + 1];
        t->max_parallel =
            at[i + 1] > t->max_parallel ? at[i + 1] : t->max_parallel;
        *(at[i + 1] > 1 ? &t->independent : &t->sequential) += at[i + 1];
        at[i + 1] += at[i];
        stages[i].subgraphs = list + at[i];
    }
    for (uint32_t k = 0; k < n; k++) {
        list[at[a->tasks[k].stage]++] = k;
        stages[a->tasks[k].stage].flops += a->cut->subs[k].cost.flops;
    }
    t->stages = stages;
    return true;
}

/* -- the critical path ----------------------------------------------------*/

/* A path is better when it is heavier, or as heavy and has more subgraphs. */
typedef struct path {
    double weight;
    uint32_t length, from; /* the subgraph before, or CLV_NONE */
} path;

static bool better(const path *a, const path *b)
{
    return a->weight > b->weight ||
           (a->weight == b->weight && a->length > b->length);
}

/* The best path that ends before subgraph k. */
static path best_before(const clv_subgraph *s, const path *best)
{
    path p = {0, 0, CLV_NONE};
    for (uint32_t i = 0; i < s->n_depends_on; i++) {
        uint32_t d = s->depends_on[i];
        if (p.from == CLV_NONE || better(&best[d], &p))
            p = (path){best[d].weight, best[d].length, d};
    }
    return p;
}

static bool find_critical(clv_concurrency *a)
{
    uint32_t n = a->cut->n_subs, end = CLV_NONE;
    path *best = arena_array(&a->mem, (size_t)n + 1, sizeof *best);
    uint32_t *list = arena_array(&a->mem, (size_t)n + 1, sizeof *list);
    if (!best || !list)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        clv_task *t = &a->tasks[k];
        best[k] = best_before(&a->cut->subs[k], best);
        t->start = best[k].weight;
        best[k].weight += t->weight;
        best[k].length++;
        a->info.work += t->weight;
        if (end == CLV_NONE || better(&best[k], &best[end]))
            end = k;
    }
    if (end != CLV_NONE) {
        a->info.span = best[end].weight;
        a->info.n_critical = best[end].length;
    }
    for (uint32_t i = a->info.n_critical; i-- > 0; end = best[end].from) {
        list[i] = end;
        a->tasks[end].critical = true;
        a->info.critical_flops += a->cut->subs[end].cost.flops;
    }
    a->info.critical = list;
    a->info.speedup = a->info.span > 0 ? a->info.work / a->info.span : 1;
    return true;
}

static bool find_slack(clv_concurrency *a)
{
    uint32_t n = a->cut->n_subs;
    a->behind = arena_zalloc(&a->mem, ((size_t)n + 1) * sizeof *a->behind);
    if (!a->behind)
        return false;
    for (uint32_t k = n; k-- > 0;) {
        const clv_subgraph *s = &a->cut->subs[k];
        clv_task *t = &a->tasks[k];
        double with = t->weight + a->behind[k];
        for (uint32_t i = 0; i < s->n_depends_on; i++)
            if (with > a->behind[s->depends_on[i]])
                a->behind[s->depends_on[i]] = with;
        double slack = a->info.span - t->start - with;
        t->slack_time = t->critical || slack < 0 ? 0 : slack;
    }
    return true;
}

/* -- threads --------------------------------------------------------------*/

static int64_t units_of(int64_t threads, int64_t each)
{
    int64_t units = threads / each + (threads % each != 0);
    return units > 0 ? units : 1;
}

static void count_threads(clv_concurrency *a)
{
    clv_concurrency_info *t = &a->info;
    double sum = 0;
    for (uint32_t k = 0; k < t->subgraphs; k++) {
        clv_task *task = &a->tasks[k];
        int64_t n = a->cut->subs[k].parallel.total_threads;
        task->threads = n;
        task->min_units = 1;
        task->optimal_units = units_of(n, 256);
        task->max_units = units_of(n, 32);
        if (n > 0 && (t->min_threads == 0 || n < t->min_threads))
            t->min_threads = n;
        t->max_threads = n > t->max_threads ? n : t->max_threads;
        sum += (double)n;
        t->flops += a->cut->subs[k].cost.flops;
    }
    t->avg_threads = t->subgraphs ? sum / t->subgraphs : 0;
}

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

static clv_status analyse(clv_concurrency *a, const clv_concurrency_opts *o,
                          clv_err *e)
{
    a->info.subgraphs = a->cut->n_subs;
    a->info.batch = batch_of(a->cut->p->g);
    a->tasks =
        arena_zalloc(&a->mem, ((size_t)a->cut->n_subs + 1) * sizeof *a->tasks);
    if (!a->tasks)
        return clv__nomem(e);
    a->info.tasks = a->tasks;
    CLV_TRY(weigh(a, o, e));
    find_stages(a);
    count_threads(a);
    bool ok = list_stages(a) && find_critical(a) && find_slack(a);
    return ok ? CLV_OK : clv__nomem(e);
}

clv_status clv_concurrency_new(const clv_cut *c,
                               const clv_concurrency_opts *opts,
                               clv_concurrency **out, clv_err *err)
{
    static const clv_concurrency_opts defaults = {0};
    *out = NULL;
    clv__err_clear(err);
    clv_concurrency *a = clv__zalloc(sizeof *a);
    if (!a)
        return clv__nomem(err);
    a->cut = c;
    clv_status s = analyse(a, opts ? opts : &defaults, err);
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

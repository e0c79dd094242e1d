/* map.c - roofline times of the subgraphs of a cut on one device. */
#include "cleave/map.h"
#include "plan/memory.h"

#include <stdlib.h>

struct clv_map {
    arena mem;
    const clv_cut *c;
    const clv_device *d;
    clv_map_info totals;
    clv_roofline *times;
    uint32_t *ranking;
};

/* The type a subgraph computes in: that of its heaviest node. */
static clv_dtype compute_type(const clv_cut *c, const clv_subgraph *s)
{
    uint32_t heaviest = s->nodes[0];
    for (uint32_t i = 1; i < s->n_nodes; i++)
        if (c->p->layers[s->nodes[i]].cost.flops >
            c->p->layers[heaviest].cost.flops)
            heaviest = s->nodes[i];
    return c->p->layers[heaviest].dtype;
}

static void add_time(clv_map_info *t, const clv_roofline *r)
{
    t->bound[r->bound]++;
    if (r->seconds < 0) {
        t->cannot++;
        return;
    }
    t->seconds += r->seconds;
    t->launch += r->launch;
    t->bound_seconds[r->bound] += r->seconds;
}

/* The longest chain of dependent subgraphs; they come in executable order. */
static bool critical_path(clv_map *m)
{
    double *end = clv__alloc(((size_t)m->c->n_subs + 1) * sizeof *end);
    if (!end)
        return false;
    for (uint32_t k = 0; k < m->c->n_subs; k++) {
        const clv_subgraph *s = &m->c->subs[k];
        double start = 0, time = m->times[k].seconds;
        for (uint32_t i = 0; i < s->n_depends_on; i++)
            if (end[s->depends_on[i]] > start)
                start = end[s->depends_on[i]];
        end[k] = start + (time > 0 ? time : 0);
        if (end[k] > m->totals.critical_path)
            m->totals.critical_path = end[k];
    }
    clv__free(end);
    return true;
}

typedef struct ranked {
    double seconds;
    uint32_t id;
} ranked;

static int slower_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static bool map_rank(clv_map *m)
{
    uint32_t n = m->c->n_subs;
    ranked *r = clv__alloc(((size_t)n + 1) * sizeof *r);
    if (!r)
        return false;
    for (uint32_t k = 0; k < n; k++)
        r[k] = (ranked){m->times[k].seconds, k};
    qsort(r, n, sizeof *r, slower_first);
    for (uint32_t k = 0; k < n; k++)
        m->ranking[k] = r[k].id;
    clv__free(r);
    return true;
}

static clv_status memory_need(clv_map *m, clv_err *e)
{
    clv_memory *mem;
    CLV_TRY(clv_memory_new(m->c, NULL, &mem, e));
    const clv_memory_info *t = clv_memory_get(mem);
    m->totals.memory = t->total;
    double room = m->d->memory.value;
    m->totals.fits = room <= 0 || (double)m->totals.memory <= room;
    clv_memory_free(mem);
    return CLV_OK;
}

static clv_status map_fill(clv_map *m, clv_err *e)
{
    const clv_graph *g = m->c->p->g;
    uint32_t n = m->c->n_subs;
    clv_map_info *t = &m->totals;
    m->times = arena_array(&m->mem, (size_t)n + 1, sizeof *m->times);
    m->ranking = arena_array(&m->mem, (size_t)n + 1, sizeof *m->ranking);
    if (!m->times || !m->ranking)
        return clv__nomem(e);
    for (uint32_t k = 0; k < n; k++) {
        const clv_subgraph *s = &m->c->subs[k];
        m->times[k] = clv_device_roofline(m->d, compute_type(m->c, s), &s->cost,
                                          &s->parallel);
        add_time(t, &m->times[k]);
    }
    if (!critical_path(m) || !map_rank(m))
        return clv__nomem(e);

    const clv_value *x = g->n_inputs ? &g->values[g->inputs[0]] : NULL;
    clv_dtype dtype = x ? (clv_dtype)x->dtype : CLV_FLOAT32;
    double peak = clv_device_peak(m->d, dtype, &t->rate);
    t->peak = peak;
    t->batch = x && x->rank && x->rank != CLV_NO_RANK ? x->dims[0] : 1;
    t->ridge = clv_device_ridge(m->d, dtype);
    for (uint32_t k = 0; k < n && t->seconds > 0; k++)
        m->times[k].of_total = m->times[k].seconds / t->seconds;
    if (t->seconds > 0) {
        t->attained = (double)m->c->p->totals.flops / t->seconds;
        t->throughput = (double)t->batch / t->seconds;
        t->joules = t->seconds * m->d->tdp.value;
    }
    t->share = peak > 0 ? t->attained / peak : 0;
    return memory_need(m, e);
}

clv_status clv_map_new(const clv_cut *c, const clv_device *d, clv_map **out,
                       clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    CLV_NEED(d, err);
    clv_map *m = clv__zalloc(sizeof *m);
    if (!m)
        return clv__nomem(err);
    m->c = c;
    m->totals.size = sizeof m->totals;
    m->d = d;
    clv_status s = map_fill(m, err);
    if (s != CLV_OK) {
        clv_map_free(m);
        return s;
    }
    *out = m;
    return CLV_OK;
}

void clv_map_free(clv_map *m)
{
    if (!m)
        return;
    arena_free(&m->mem);
    clv__free(m);
}

const clv_cut *clv_map_cut(const clv_map *m)
{
    return m->c;
}

const clv_device *clv_map_device(const clv_map *m)
{
    return m->d;
}

const clv_map_info *clv_map_get(const clv_map *m)
{
    return &m->totals;
}

const clv_roofline *clv_map_times(const clv_map *m, uint32_t *count)
{
    clv__set_count(count, m->c->n_subs);
    return m->times;
}

const uint32_t *clv_map_ranking(const clv_map *m)
{
    return m->ranking;
}

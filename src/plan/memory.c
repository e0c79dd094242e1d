/* memory.c - what is alive while the subgraphs of a cut run, one per step.
 *
 *   1. each storage that leaves its subgraph is a buffer: alive from the step
 *      that makes it to the last step that reads it or a view of it
 *   2. an elementwise subgraph may write its result over an input that dies
 *      there and has the same size: then both are one buffer
 *   3. bytes alive per step, their peak, and a plan (analysis/liveness.h) */
#include "plan/memory.h"

#include <string.h>

enum {
    MAX_ALIGN = 1 << 20,
    AHEAD = 8 /* steps before it is looked at, a subgraph is asked for */
};

/* -- buffers --------------------------------------------------------------*/

/* True if s is one loop over `numel` elements: every operator works element by
 * element, and none of them broadcasts what another made. */
static bool one_loop(const clv_graph *g, const clv_subgraph *s, int64_t numel)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        if (clv__ops[n->op].fuse != CLV_FUSE_ELTWISE || n->n_out != 1 ||
            clv__numel(node_out(g, n, 0)) != numel)
            return false;
    }
    return true;
}

/* Who touches what: views share the storage of what they look at, outputs are
 * read after the end. */
static void memory_touch_all(const clv_cut *c, const uint32_t *step_of,
                             liveness *l)
{
    const clv_graph *g = c->p->g;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t maker = g->values[v].producer, end = 0;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t step = step_of[c->of[g->users[u]]];
            end = step > end ? step : end;
        }
        uint32_t made = maker == CLV_NONE ? 0 : step_of[c->of[maker]];
        if (maker != CLV_NONE || g->values[v].kind == CLV_VALUE_INPUT)
            clv__live_span(l, v, made, end > made ? end : made);
        if (g->values[v].view_of != CLV_NONE)
            clv__live_alias(l, v, g->values[v].view_of);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        clv__live_keep(l, g->outputs[i]);
}

/* What finding the buffers needs. */
typedef struct finder {
    clv_memory *m;
    liveness l;
    bool *is_output; /* per value: its storage leaves the graph */
} finder;

/* Storage r, made at this step, is needed after it; or by nobody, and is kept
 * for the step that makes it. */
static bool memory_leaves(const finder *f, uint32_t r, uint32_t step)
{
    const clv_graph *g = f->m->c->p->g;
    bool unread = g->user_first[r] == g->user_first[r + 1];
    return f->is_output[r] || unread || f->l.of[r].last > step;
}

/* Inputs of s kept in storage r: two, as in x + x.T, forbid overwriting it. */
static uint32_t readers_of(const finder *f, const clv_subgraph *s, uint32_t r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        n += clv__live_root(&f->l, s->inputs[i]) == r;
    return n;
}

/* The buffer of v holds so many bytes and dies at this step; it is neither an
 * input of the graph nor does it leave it. */
static bool memory_dies(const finder *f, uint32_t v, int64_t bytes,
                        uint32_t step)
{
    uint32_t b = f->m->buffer_of[v];
    return b != CLV_NONE && f->m->buffers[b].bytes == bytes &&
           f->m->c->p->g->values[v].kind == CLV_VALUE_ACTIVATION &&
           !f->is_output[v] && f->l.of[clv__live_root(&f->l, v)].last == step;
}

/* An input of s with as many bytes and elements as r that dies at this step and
 * may be overwritten: the whole tensor is read, element by element, in order.
 * Few steps have an input that dies, so that is asked first. */
static uint32_t memory_overwritten(const finder *f, const clv_subgraph *s,
                                   uint32_t r, int64_t bytes, uint32_t step)
{
    const clv_graph *g = f->m->c->p->g;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        uint32_t v = s->inputs[i];
        if (!memory_dies(f, v, bytes, step))
            continue;
        int64_t numel = clv__numel(&g->values[r]);
        if (!one_loop(g, s, numel))
            return CLV_NONE;
        if (clv__numel(&g->values[v]) == numel &&
            readers_of(f, s, clv__live_root(&f->l, v)) == 1)
            return v;
    }
    return CLV_NONE;
}

static void memory_add_buffer(finder *f, uint32_t r, int64_t bytes)
{
    clv_memory *m = f->m;
    if (bytes == 0 || bytes == CLV_SAT)
        return; /* empty, or a shape nobody knows */
    m->buffer_of[r] = m->n_buffers;
    m->buffers[m->n_buffers++] = clv__live_buffer(&f->l, r, bytes);
}

/* r is written over v, and lives on in the same buffer. */
static void share_buffer(finder *f, uint32_t r, uint32_t v)
{
    clv_buffer *b = &f->m->buffers[f->m->buffer_of[v]];
    clv__live_alias(&f->l, r, v);
    *b = clv__live_buffer(&f->l, v, b->bytes);
    f->m->buffer_of[r] = f->m->buffer_of[v];
}

/* The buffers that a step makes; one of its results may go into a buffer that
 * is there already. */
static void made_at(finder *f, uint32_t step, bool inplace)
{
    const clv_memory *m = f->m;
    const clv_graph *g = m->c->p->g;
    const clv_subgraph *s = &m->c->subs[m->order[step]];
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t r = node_outs(g, n)[o];
            if (g->values[r].view_of != CLV_NONE || !memory_leaves(f, r, step))
                continue;
            int64_t bytes = clv__held_bytes(&g->values[r]);
            uint32_t over =
                inplace ? memory_overwritten(f, s, r, bytes, step) : CLV_NONE;
            if (over == CLV_NONE) {
                memory_add_buffer(f, r, bytes);
                continue;
            }
            inplace = false;
            share_buffer(f, r, over);
        }
    }
}

static bool memory_prepare(finder *f, arena *scratch)
{
    clv_memory *m = f->m;
    const clv_graph *g = m->c->p->g;
    uint32_t n = m->c->n_subs;
    uint32_t *step_of = arena_array(scratch, (size_t)n + 1, sizeof *step_of);
    f->is_output = arena_zalloc(scratch, (size_t)g->n_values + 1);
    if (!step_of || !f->is_output ||
        !clv__live_start(&f->l, scratch, g->n_values, n))
        return false;
    for (uint32_t k = 0; k < n; k++)
        step_of[m->order[k]] = k;
    memory_touch_all(m->c, step_of, &f->l);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        f->is_output[clv__live_root(&f->l, g->outputs[i])] = true;
    return true;
}

/* Fills buffers and buffer_of for m->order. */
static bool memory_find_buffers(clv_memory *m, bool inplace)
{
    const clv_graph *g = m->c->p->g;
    arena scratch = {0};
    finder f = {.m = m};
    bool ok = memory_prepare(&f, &scratch);
    if (ok) {
        memset(m->buffer_of, 0xff, g->n_values * sizeof *m->buffer_of);
        m->n_buffers = 0;
        for (uint32_t i = 0; m->c->n_subs && i < g->n_inputs; i++)
            memory_add_buffer(&f, g->inputs[i],
                              clv__held_bytes(&g->values[g->inputs[i]]));
        for (uint32_t step = 0, n = m->c->n_subs; step < n; step++) {
            if (step + AHEAD < n) /* an order may jump about in memory */
                __builtin_prefetch(&m->c->subs[m->order[step + AHEAD]]);
            made_at(&f, step, inplace);
        }
    }
    arena_free(&scratch);
    return ok;
}

/* -- timeline -------------------------------------------------------------*/

static void find_peak(clv_memory *m)
{
    uint32_t n = m->c->n_subs, k = 0;
    m->totals.peak = clv__live_bytes(m->buffers, m->n_buffers, 1, m->live, n);
    while (k < n && m->totals.peak != CLV_SAT && m->live[k] < m->totals.peak)
        k++;
    m->totals.peak_step = k < n ? k : 0;
}

/* All storage there is, rounded up, and the weights: if that fits, so does
 * every sum made here. */
static clv_status check_sums(const clv_cut *c, clv_err *e)
{
    const clv_graph *g = c->p->g;
    int64_t sum = c->p->totals.weight_bytes;
    for (uint32_t v = 0; v < g->n_values; v++) {
        int64_t bytes = clv__held_bytes(&g->values[v]);
        if (g->values[v].view_of == CLV_NONE && bytes != CLV_SAT &&
            !value_is_weight(&g->values[v]))
            sum = sat_add(sum, sat_add(bytes, MAX_ALIGN));
    }
    return sum != CLV_SAT
               ? CLV_OK
               : clv__fail(e, CLV_OVERFLOW, "%s: live bytes do not fit 64 bits",
                           g->name);
}

/* What people estimate by hand: all weights and the largest single layer. */
static int64_t simple_estimate(const clv_cut *c, int64_t weights)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        int64_t io =
            sat_add(c->subs[k].cost.bytes_in, c->subs[k].cost.bytes_out);
        if (io > most)
            most = io;
    }
    return sat_add(weights, most);
}

/* -- the analysis ---------------------------------------------------------*/

static bool memory_allocate(clv_memory *m)
{
    const clv_graph *g = m->c->p->g;
    size_t n = m->c->n_subs, nv = g->n_values;
    m->order = arena_array(&m->mem, n + 1, sizeof *m->order);
    m->live = arena_array(&m->mem, n + 2, sizeof *m->live);
    m->buffers = arena_array(&m->mem, nv + 1, sizeof *m->buffers);
    m->buffer_of = arena_array(&m->mem, nv + 1, sizeof *m->buffer_of);
    return m->order && m->live && m->buffers && m->buffer_of;
}

int64_t clv__peak_of(const clv_cut *c, bool inplace, const uint32_t *order)
{
    clv_memory m = {.c = c};
    int64_t peak = CLV_SAT;
    if (memory_allocate(&m)) {
        memcpy(m.order, order, c->n_subs * sizeof *order);
        if (memory_find_buffers(&m, inplace)) {
            find_peak(&m);
            peak = m.totals.peak;
        }
    }
    arena_free(&m.mem);
    return peak;
}

static clv_status memory_analyse(clv_memory *m, const clv_memory_opts *opts,
                                 clv_err *e)
{
    bool inplace = !opts->no_inplace;
    int64_t align = opts->align ? opts->align : 64;
    if (align < 1 || align > MAX_ALIGN)
        return clv__fail(e, CLV_USAGE, "alignment of %lld bytes",
                         (long long)align);
    CLV_TRY(check_sums(m->c, e));
    if (!memory_allocate(m))
        return clv__nomem(e);
    for (uint32_t k = 0; k < m->c->n_subs; k++)
        m->order[k] = k;
    if (!memory_find_buffers(m, inplace))
        return clv__nomem(e);
    find_peak(m);
    m->totals.order_peak = m->totals.peak;
    if (opts->reorder) {
        if (!clv__reorder(m->c, inplace, m->order) ||
            !memory_find_buffers(m, inplace))
            return clv__nomem(e);
        find_peak(m);
    }
    clv_memory_info *t = &m->totals;
    t->steps = m->c->n_subs;
    t->weights = m->c->p->totals.weight_bytes;
    t->simple = simple_estimate(m->c, t->weights);
    t->total = t->weights + t->peak;
    t->budget = opts->budget;
    if (t->budget > 0 && t->total > t->budget)
        t->over_budget = t->total - t->budget;
    arena_layout plan;
    CLV_TRY(
        clv__arena_plan(m->buffers, m->n_buffers, align, t->steps, &plan, e));
    t->arena = plan.size;
    t->arena_bound = plan.bound;
    t->planned = m->c->p->g->planned;
    t->planner = plan.planner;
    return CLV_OK;
}

clv_status clv_memory_new(const clv_cut *c, const clv_memory_opts *opts,
                          clv_memory **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    clv_memory_opts o;
    CLV_READ(clv_memory_opts, opts, &o, err);
    clv_memory *m = clv__zalloc(sizeof *m);
    if (!m)
        return clv__nomem(err);
    m->c = c;
    m->totals.size = sizeof m->totals;
    clv_status s = memory_analyse(m, &o, err);
    if (s != CLV_OK) {
        clv_memory_free(m);
        return s;
    }
    *out = m;
    return CLV_OK;
}

void clv_memory_free(clv_memory *m)
{
    if (!m)
        return;
    arena_free(&m->mem);
    clv__free(m);
}

/* -- reading --------------------------------------------------------------*/

const clv_cut *clv_memory_cut(const clv_memory *m)
{
    return m->c;
}

const clv_memory_info *clv_memory_get(const clv_memory *m)
{
    return &m->totals;
}

const uint32_t *clv_memory_order(const clv_memory *m)
{
    return m->order;
}

const int64_t *clv_memory_timeline(const clv_memory *m)
{
    return m->live;
}

const clv_buffer *clv_memory_buffers(const clv_memory *m, uint32_t *count)
{
    clv__set_count(count, m->n_buffers);
    return m->buffers;
}

uint32_t clv_memory_buffer_of(const clv_memory *m, uint32_t value)
{
    const clv_graph *g = m->c->p->g;
    return value < g->n_values ? m->buffer_of[clv__storage(g, value)]
                               : CLV_NONE;
}

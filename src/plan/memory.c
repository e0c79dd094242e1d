/* memory.c - liveness of tensors over the subgraphs of a cut.
 *
 *   1. each storage that leaves its subgraph is a buffer: alive from the step
 *      that makes it to the last step that reads it or a view of it
 *   2. an elementwise subgraph may write its result over an input that dies
 *      there and has the same size: then both are one buffer
 *   3. bytes alive per step by a difference array; the peak is its maximum */
#include "plan/memory.h"

#include <string.h>

enum { MAX_ALIGN = 1 << 20 };

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

/* The last step at which each storage is read, through views as well; the end
 * for what leaves the graph. */
static void last_uses(const clv_cut *c, const uint32_t *step_of, uint32_t *last)
{
    const clv_graph *g = c->p->g;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t root = clv__storage(g, v);
        if (g->values[v].flags & CLV_V_OUTPUT)
            last[root] = c->n_subs ? c->n_subs - 1 : 0;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t step = step_of[c->of[g->users[u]]];
            if (last[root] < step)
                last[root] = step;
        }
    }
}

/* True if storage r, made in subgraph k, is needed after k has run. */
static bool leaves(const clv_graph *g, uint32_t r, uint32_t step,
                   const uint32_t *last, bool is_output)
{
    bool unread = g->user_first[r] == g->user_first[r + 1];
    return is_output || unread || last[r] > step;
}

/* Inputs of s kept in buffer b: two, as in x + x.T, forbid overwriting it. */
static uint32_t readers_of(const clv_memory *m, const clv_subgraph *s,
                           uint32_t b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        n += m->buffer_of[clv__storage(m->c->p->g, s->inputs[i])] == b;
    return n;
}

/* A buffer of as many bytes and elements that dies at this step and may be
 * overwritten: the whole tensor is read, element by element, in order. What
 * leaves the graph is never overwritten, nor are the graph's inputs. */
static uint32_t overwritten(const clv_memory *m, const clv_subgraph *s,
                            uint32_t r, uint32_t step, const bool *is_output)
{
    const clv_graph *g = m->c->p->g;
    int64_t numel = clv__numel(&g->values[r]);
    if (!one_loop(g, s, numel))
        return CLV_NONE;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        uint32_t v = s->inputs[i], b = m->buffer_of[v];
        if (b != CLV_NONE && g->values[v].kind == CLV_VALUE_ACTIVATION &&
            !is_output[v] && m->buffers[b].last == step &&
            clv__numel(&g->values[v]) == numel &&
            m->buffers[b].bytes == clv__held_bytes(&g->values[r]) &&
            readers_of(m, s, b) == 1)
            return b;
    }
    return CLV_NONE;
}

static void add_buffer(clv_memory *m, uint32_t r, uint32_t first, uint32_t last)
{
    int64_t bytes = clv__held_bytes(&m->c->p->g->values[r]);
    if (bytes == 0 || bytes == CLV_SAT)
        return; /* empty, or a shape nobody knows */
    m->buffer_of[r] = m->n_buffers;
    m->buffers[m->n_buffers++] = (clv_buffer){r, first, last, bytes, 0};
}

static void made_at(clv_memory *m, uint32_t step, const uint32_t *last,
                    const bool *is_output, bool inplace)
{
    const clv_graph *g = m->c->p->g;
    const clv_subgraph *s = &m->c->subs[m->order[step]];
    bool taken = false;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t r = node_outs(g, n)[o];
            if (g->values[r].view_of != CLV_NONE ||
                !leaves(g, r, step, last, is_output[r]))
                continue;
            uint32_t end = last[r] > step ? last[r] : step;
            uint32_t over = inplace && !taken
                                ? overwritten(m, s, r, step, is_output)
                                : CLV_NONE;
            if (over == CLV_NONE) {
                add_buffer(m, r, step, end);
                continue;
            }
            taken = true;
            m->buffers[over].last = end;
            m->buffer_of[r] = over;
        }
    }
}

/* Fills buffers and buffer_of for m->order. */
static bool find_buffers(clv_memory *m, bool inplace)
{
    const clv_graph *g = m->c->p->g;
    arena scratch = {0};
    uint32_t n = m->c->n_subs;
    uint32_t *last =
        arena_zalloc(&scratch, ((size_t)g->n_values + 1) * sizeof *last);
    uint32_t *step_of = arena_array(&scratch, (size_t)n + 1, sizeof *step_of);
    bool *is_output = arena_zalloc(&scratch, (size_t)g->n_values + 1);
    bool ok = last && step_of && is_output;
    if (ok) {
        for (uint32_t k = 0; k < n; k++)
            step_of[m->order[k]] = k;
        for (uint32_t i = 0; i < g->n_outputs; i++)
            is_output[clv__storage(g, g->outputs[i])] = true;
        last_uses(m->c, step_of, last);
        memset(m->buffer_of, 0xff, g->n_values * sizeof *m->buffer_of);
        m->n_buffers = 0;
        for (uint32_t i = 0; n && i < g->n_inputs; i++)
            add_buffer(m, g->inputs[i], 0, last[g->inputs[i]]);
        for (uint32_t step = 0; step < n; step++)
            made_at(m, step, last, is_output, inplace);
    }
    arena_free(&scratch);
    return ok;
}

/* -- timeline -------------------------------------------------------------*/

static void find_peak(clv_memory *m)
{
    uint32_t n = m->c->n_subs;
    memset(m->live, 0, ((size_t)n + 2) * sizeof *m->live);
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const clv_buffer *b = &m->buffers[i];
        m->live[b->first] += b->bytes;
        m->live[b->last + 1] -= b->bytes;
    }
    m->totals.peak = 0;
    m->totals.peak_step = 0;
    for (uint32_t k = 0; k < n; k++) {
        m->live[k] += k ? m->live[k - 1] : 0;
        if (m->live[k] > m->totals.peak) {
            m->totals.peak = m->live[k];
            m->totals.peak_step = k;
        }
    }
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

/* The lower bound on any plan: the peak with every buffer rounded up. */
static int64_t aligned_peak(const clv_memory *m, int64_t align)
{
    uint32_t n = m->c->n_subs;
    int64_t *live = clv__zalloc(((size_t)n + 2) * sizeof *live);
    if (!live)
        return CLV_SAT;
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const clv_buffer *b = &m->buffers[i];
        int64_t bytes = (b->bytes + align - 1) / align * align;
        live[b->first] += bytes;
        live[b->last + 1] -= bytes;
    }
    int64_t peak = 0, now = 0;
    for (uint32_t k = 0; k < n; k++)
        if ((now += live[k]) > peak)
            peak = now;
    clv__free(live);
    return peak;
}

/* -- the analysis ---------------------------------------------------------*/

static bool allocate(clv_memory *m)
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
    if (allocate(&m)) {
        memcpy(m.order, order, c->n_subs * sizeof *order);
        if (find_buffers(&m, inplace)) {
            find_peak(&m);
            peak = m.totals.peak;
        }
    }
    arena_free(&m.mem);
    return peak;
}

static clv_status analyse(clv_memory *m, const clv_memory_opts *opts,
                          clv_err *e)
{
    bool inplace = !opts->no_inplace;
    int64_t align = opts->align ? opts->align : 64;
    if (align < 1 || align > MAX_ALIGN)
        return clv__fail(e, CLV_USAGE, "alignment of %lld bytes",
                         (long long)align);
    CLV_TRY(check_sums(m->c, e));
    if (!allocate(m))
        return clv__nomem(e);
    for (uint32_t k = 0; k < m->c->n_subs; k++)
        m->order[k] = k;
    if (!find_buffers(m, inplace))
        return clv__nomem(e);
    find_peak(m);
    m->totals.order_peak = m->totals.peak;
    if (opts->reorder) {
        if (!clv__reorder(m->c, inplace, m->order) || !find_buffers(m, inplace))
            return clv__nomem(e);
        find_peak(m);
    }
    clv_memory_info *t = &m->totals;
    t->steps = m->c->n_subs;
    t->weights = m->c->p->totals.weight_bytes;
    t->simple = simple_estimate(m->c, t->weights);
    t->arena_bound = aligned_peak(m, align);
    t->arena = clv__arena_plan(m->buffers, m->n_buffers, align, t->arena_bound,
                               &t->planner);
    return t->arena == CLV_SAT || t->arena_bound == CLV_SAT ? clv__nomem(e)
                                                            : CLV_OK;
}

clv_status clv_memory_new(const clv_cut *c, const clv_memory_opts *opts,
                          clv_memory **out, clv_err *err)
{
    static const clv_memory_opts defaults = {0};
    *out = NULL;
    clv__err_clear(err);
    clv_memory *m = clv__zalloc(sizeof *m);
    if (!m)
        return clv__nomem(err);
    m->c = c;
    clv_status s = analyse(m, opts ? opts : &defaults, err);
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
    *count = m->n_buffers;
    return m->buffers;
}

uint32_t clv_memory_buffer_of(const clv_memory *m, uint32_t value)
{
    return m->buffer_of[clv__storage(m->c->p->g, value)];
}

/* plan.c - the steps of a model, and a place for every value.
 *
 *   1. parts become steps: a compiled subgraph is one, a kernel's node is one
 *   2. a value that a plain copy makes shares the storage of what it copies
 *   3. liveness over the steps gives every storage an offset in one block
 *      (analysis/liveness.h) */
#include "analysis/liveness.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

bool clv__run_needless(const clv_model *m, uint32_t node)
{
    const clv_graph *g = m->g;
    const clv_node *n = &g->nodes[node];
    for (uint32_t o = 0; o < n->n_out; o++) {
        uint32_t v = node_outs(g, n)[o];
        if (clv__is_read(g, v) && !m->tensor[v].data)
            return false;
    }
    return true;
}

/* -- steps ----------------------------------------------------------------*/

static bool unknown_shape(const clv_value *v)
{
    return v->flags & (CLV_V_BOUND | CLV_V_FORM) || v->rank == CLV_NO_RANK ||
           v->dtype == CLV_NODTYPE;
}

static bool is_dynamic(const clv_model *m, uint32_t id)
{
    const clv_graph *g = m->g;
    const clv_node *n = &g->nodes[id];
    if (clv__ops[n->op].category == CLV_CAT_CONTROL ||
        clv__kernel_makes((clv_op)n->op))
        return true;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v != CLV_NONE && unknown_shape(&g->values[v]))
            return true;
    }
    return false;
}

static bool is_copy(const clv_model *m, uint32_t id)
{
    const clv_graph *g = m->g;
    const clv_node *n = &g->nodes[id];
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    return clv__kernel_of((clv_op)n->op) == kernel_copy && x &&
           x->dtype == y->dtype && clv__bytes(x) == clv__bytes(y) &&
           (n->n_out == 1 || !clv__is_read(g, node_outs(g, n)[1]));
}

static void alias(clv_model *m, uint32_t id)
{
    const clv_node *n = &m->g->nodes[id];
    uint32_t x = node_ins(m->g, n)[0], y = node_outs(m->g, n)[0];
    m->root[y] = m->root[x];
    m->place[y] = PLACE_ALIAS;
}

static void made_by_step(clv_model *m, uint32_t v, bool dynamic)
{
    m->place[v] = dynamic ? PLACE_DYNAMIC : PLACE_ARENA;
}

static void add_node(clv_model *m, uint32_t id, uint32_t part)
{
    const clv_node *n = &m->g->nodes[id];
    bool dynamic = is_dynamic(m, id);
    if (clv__run_needless(m, id))
        return;
    if (!dynamic && is_copy(m, id) &&
        m->place[m->root[node_ins(m->g, n)[0]]] != PLACE_DYNAMIC) {
        alias(m, id);
        return;
    }
    m->steps[m->n_steps++] =
        (step){.node = id, .part = part, .dynamic = dynamic};
    for (uint32_t o = 0; o < n->n_out; o++)
        made_by_step(m, node_outs(m->g, n)[o], dynamic);
}

static bool make_steps(clv_model *m)
{
    const clv_graph *g = m->g;
    m->steps = arena_array(&m->mem, (size_t)g->n_nodes + 1, sizeof *m->steps);
    if (!m->steps)
        return false;
    for (uint32_t v = 0; v < g->n_values; v++) {
        m->root[v] = v;
        m->place[v] = m->tensor[v].data ? PLACE_WEIGHT : PLACE_NONE;
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        m->place[g->inputs[i]] = PLACE_INPUT;
    for (uint32_t k = 0; k < m->info.n_parts; k++) {
        const clv_part *p = &m->parts[k];
        const clv_subgraph *sub =
            m->cut ? &clv_cut_subgraphs(m->cut, &(uint32_t){0})[k] : NULL;
        for (uint32_t i = 0; i < p->n_nodes && !m->execs[k]; i++)
            add_node(m, p->nodes[i], k);
        if (!m->execs[k])
            continue;
        m->steps[m->n_steps++] = (step){.exec = m->execs[k], .part = k};
        for (uint32_t i = 0; i < sub->n_outputs; i++)
            if (!m->tensor[sub->outputs[i]].data)
                made_by_step(m, sub->outputs[i], false);
    }
    return true;
}

/* -- liveness -------------------------------------------------------------*/

static void touch_list(liveness *l, const uint32_t *values, uint32_t n,
                       uint32_t at)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != CLV_NONE)
            clv__live_touch(l, values[i], at);
}

/* The workspace of step i is value n_values + i. */
static void touch_all(const clv_model *m, liveness *l)
{
    const clv_graph *g = m->g;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (m->root[v] != v)
            clv__live_alias(l, v, m->root[v]);
    for (uint32_t at = 0; at < m->n_steps; at++) {
        const step *s = &m->steps[at];
        const clv_node *n = &g->nodes[s->node];
        clv__live_touch(l, g->n_values + at, at);
        if (!s->exec) {
            touch_list(l, node_ins(g, n), n->n_in + n->n_out, at);
            continue;
        }
        const clv_subgraph *sub =
            &clv_cut_subgraphs(m->cut, &(uint32_t){0})[s->part];
        touch_list(l, sub->inputs, sub->n_inputs, at);
        touch_list(l, sub->outputs, sub->n_outputs, at);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        clv__live_keep(l, g->outputs[i]);
}

/* What lies in the arena: activations, and workspaces of backends. */
static uint32_t find_buffers(const clv_model *m, const liveness *l,
                             clv_buffer *b)
{
    uint32_t n = 0, nv = m->g->n_values;
    for (uint32_t v = 0; v < nv; v++) {
        int64_t bytes = clv_tensor_bytes(&m->tensor[v]);
        if (m->place[v] == PLACE_ARENA && bytes > 0 &&
            l->of[v].first != CLV_NONE)
            b[n++] = clv__live_buffer(l, v, bytes);
    }
    for (uint32_t i = 0; i < m->n_steps; i++)
        if (m->steps[i].exec && m->steps[i].exec->workspace > 0)
            b[n++] = clv__live_buffer(l, nv + i, m->steps[i].exec->workspace);
    return n;
}

static clv_status too_large(const clv_model *m, int64_t have, clv_err *e)
{
    return clv__about(e,
                      clv__fail(e, CLV_UNSUPPORTED,
                                "%s needs %.1f MB for its activations, %.1f MB "
                                "of memory are free",
                                m->g->name, (double)m->info.arena_bytes * 1e-6,
                                (double)have * 1e-6),
                      CLV_SUBJECT_MEMORY, m->g->name);
}

/* What the system would still give; CLV_SAT when it does not say. */
static int64_t free_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long long kb;
    int64_t bytes = CLV_SAT;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kb) == 1)
            bytes = kb * 1024;
    if (f)
        fclose(f);
    return bytes;
}

static clv_status place_all(clv_model *m, arena *scratch, int64_t memory,
                            clv_err *e)
{
    uint32_t nv = m->g->n_values;
    size_t n = (size_t)nv + m->n_steps;
    liveness l;
    arena_layout plan;
    clv_buffer *b = arena_array(scratch, n + 1, sizeof *b);
    if (n > UINT32_MAX || !b ||
        !clv__live_start(&l, scratch, (uint32_t)n, m->n_steps))
        return clv__nomem(e);
    touch_all(m, &l);
    uint32_t count = find_buffers(m, &l, b);
    CLV_TRY(clv__arena_plan(b, count, 64, m->n_steps, &plan, e));
    for (uint32_t i = 0; i < count; i++)
        if (b[i].value < nv)
            m->offset[b[i].value] = b[i].offset;
        else
            m->steps[b[i].value - nv].offset = b[i].offset;
    m->info.arena_bytes = plan.size;
    int64_t have = memory ? memory : free_memory();
    return plan.size > have ? too_large(m, have, e) : CLV_OK;
}

/* A node may name more outputs than its operator has. */
static clv_status plan_check_outputs(const clv_model *m, clv_err *e)
{
    char name[128];
    for (uint32_t i = 0; i < m->g->n_outputs; i++) {
        uint32_t v = m->g->outputs[i];
        if (m->place[v] == PLACE_NONE)
            return clv__fail(e, CLV_FORMAT, "nothing computes output '%.200s'",
                             clv__value_name(m->g, v, name, sizeof name));
    }
    return CLV_OK;
}

clv_status clv__run_plan(clv_model *m, int64_t memory, clv_err *e)
{
    size_t nv = (size_t)m->g->n_values + 1;
    arena scratch = {0};
    m->place = arena_zalloc(&m->mem, nv);
    m->offset = arena_zalloc(&m->mem, nv * sizeof *m->offset);
    m->root = arena_array(&m->mem, nv, sizeof *m->root);
    if (!m->place || !m->offset || !m->root || !make_steps(m))
        return clv__nomem(e);
    CLV_TRY(plan_check_outputs(m, e));
    clv_status s = place_all(m, &scratch, memory, e);
    arena_free(&scratch);
    return s;
}

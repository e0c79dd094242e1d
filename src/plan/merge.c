/* merge.c - two models as one graph: all layers of the second, and those of the
 * first that it lacks, where they were.
 *
 *      A   a -> b -> c -> d             a -> b -> c -> d
 *      B   a ------> x -> d      =>      \_> x ________/
 *
 * A layer that was removed reads what it read, and what read it gets one more
 * input, so that a picture shows the way through it. Costs of such a graph mean
 * nothing: they are those of the layers in their own models. Where such an
 * input would close a circle (layers that changed places), none are added. */
#include "cleave/compare.h"
#include "graph/graph.h"
#include "ops/build.h"

#include <string.h>

struct clv_merged {
    clv_graph *g;
    uint32_t *before, *after; /* per node of g */
};

/* Nodes of both have one number: those of the second model come first. */
typedef struct merger {
    const clv_graph *a, *b;
    const uint32_t *from; /* partner in a of each node of b */
    uint32_t *to;         /* and the other way round */
    uint32_t *order, n;   /* of the numbers that are taken */
    uint8_t *state;       /* of each number: new, on the way, placed */
    uint32_t *stack, *next;
    uint32_t *value_a, *value_b; /* their numbers in the merged graph */
    uint32_t *ins;               /* of the node being made */
    bool joined;                 /* removed layers lead somewhere */
    clv_merged *out;
} merger;

static uint32_t merge_own(const merger *m, uint32_t id)
{
    return id < m->b->n_nodes ? m->from[id] : CLV_NONE;
}

/* How many inputs node id of both has; its partner's count too. */
static uint32_t merge_inputs(const merger *m, uint32_t id)
{
    uint32_t nb = m->b->n_nodes, own = merge_own(m, id);
    uint32_t n = id < nb ? m->b->nodes[id].n_in : m->a->nodes[id - nb].n_in;
    return n + (m->joined && own != CLV_NONE ? m->a->nodes[own].n_in : 0);
}

/* The node that makes value v of the first model, if it was removed. */
static uint32_t removed_maker(const merger *m, uint32_t v)
{
    uint32_t maker = v == CLV_NONE ? CLV_NONE : m->a->values[v].producer;
    return maker == CLV_NONE || m->to[maker] != CLV_NONE
               ? CLV_NONE
               : m->b->n_nodes + maker;
}

/* The node that makes input k of node id, or CLV_NONE. */
static uint32_t merge_before(const merger *m, uint32_t id, uint32_t k)
{
    uint32_t nb = m->b->n_nodes;
    if (id < nb && k < m->b->nodes[id].n_in) {
        const clv_value *v = node_in(m->b, &m->b->nodes[id], k);
        return v ? v->producer : CLV_NONE;
    }
    bool extra = id < nb;
    const clv_node *n = &m->a->nodes[extra ? m->from[id] : id - nb];
    uint32_t v = node_ins(m->a, n)[extra ? k - m->b->nodes[id].n_in : k];
    uint32_t removed = removed_maker(m, v);
    if (extra || removed != CLV_NONE || v == CLV_NONE)
        return removed;
    uint32_t maker = m->a->values[v].producer;
    return maker == CLV_NONE ? CLV_NONE : m->to[maker];
}

/* Places id after all that it reads. Returns false for a circle. */
static bool merge_place(merger *m, uint32_t id)
{
    enum { FRESH, ON_THE_WAY, PLACED };
    uint32_t top = 0;
    if (m->state[id] == PLACED)
        return true;
    m->state[id] = ON_THE_WAY;
    m->stack[top] = id;
    m->next[top++] = 0;
    while (top) {
        uint32_t at = m->stack[top - 1], k = m->next[top - 1]++;
        if (k == merge_inputs(m, at)) {
            m->state[at] = PLACED;
            m->order[m->n++] = at;
            top--;
            continue;
        }
        uint32_t before = merge_before(m, at, k);
        if (before == CLV_NONE || m->state[before] == PLACED)
            continue;
        if (m->state[before] == ON_THE_WAY)
            return false;
        m->state[before] = ON_THE_WAY;
        m->stack[top] = before;
        m->next[top++] = 0;
    }
    return true;
}

static bool merge_order(merger *m, bool joined)
{
    uint32_t na = m->a->n_nodes, nb = m->b->n_nodes;
    bool ok = true;
    m->joined = joined;
    m->n = 0;
    memset(m->state, 0, (size_t)na + nb);
    for (uint32_t i = 0; ok && i < nb; i++)
        ok = merge_place(m, i);
    for (uint32_t i = 0; ok && i < na; i++)
        if (m->to[i] == CLV_NONE)
            ok = merge_place(m, nb + i);
    return ok;
}

/* -- values ---------------------------------------------------------------*/

static uint32_t merge_value(merger *m, const clv_graph *g, uint32_t v,
                            uint32_t *map)
{
    clv_graph *to = m->out->g;
    const clv_value *x = &g->values[v];
    char buf[512];
    if (map[v] != CLV_NONE)
        return map[v];
    const char *name = clv__value_name(g, v, buf, sizeof buf);
    name = arena_strndup(&to->mem, name, strlen(name));
    uint32_t id = name ? clv__value_add(to, name, (clv_value_kind)x->kind,
                                        (clv_dtype)x->dtype)
                       : CLV_NONE;
    if (id == CLV_NONE)
        return CLV_NONE;
    if (x->rank == CLV_NO_RANK)
        to->values[id].rank = CLV_NO_RANK;
    else if (!clv__value_set_shape(to, id, x->rank, x->dims))
        return CLV_NONE;
    to->values[id].count = x->count;
    to->values[id].flags |= x->flags & (CLV_V_FORM | CLV_V_FIXED);
    return map[v] = id;
}

/* Inputs of both are the same in order; a value that a pair makes is the
 * second model's. */
static void merge_same_values(merger *m)
{
    uint32_t n =
        m->a->n_inputs < m->b->n_inputs ? m->a->n_inputs : m->b->n_inputs;
    for (uint32_t i = 0; i < n; i++)
        m->value_a[m->a->inputs[i]] = m->value_b[m->b->inputs[i]];
}

static void merge_outputs_of(merger *m, uint32_t id)
{
    uint32_t own = merge_own(m, id);
    if (own == CLV_NONE)
        return;
    const clv_node *x = &m->a->nodes[own], *y = &m->b->nodes[id];
    for (uint32_t k = 0; k < x->n_out && y->n_out; k++) {
        uint32_t v = node_outs(m->a, x)[k];
        uint32_t w = node_outs(m->b, y)[k < y->n_out ? k : 0];
        if (v != CLV_NONE && w != CLV_NONE)
            m->value_a[v] = m->value_b[w];
    }
}

/* -- nodes ----------------------------------------------------------------*/

/* Fills m->ins with the inputs of node n of g and, for a pair, with what its
 * partner read from removed layers. Returns their number, CLV_NONE when memory
 * ran out. */
static uint32_t merge_read(merger *m, const clv_graph *g, const clv_node *n,
                           uint32_t own, uint32_t *map)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < n->n_in; k++) {
        uint32_t v = node_ins(g, n)[k];
        bool lost = v != CLV_NONE && map[v] == CLV_NONE &&
                    g->values[v].producer != CLV_NONE; /* its pair has none */
        m->ins[count] =
            v == CLV_NONE || lost ? CLV_NONE : merge_value(m, g, v, map);
        if (v != CLV_NONE && !lost && m->ins[count] == CLV_NONE)
            return CLV_NONE;
        count++;
    }
    const clv_node *x = own == CLV_NONE ? NULL : &m->a->nodes[own];
    for (uint32_t k = 0; m->joined && x && k < x->n_in; k++) {
        uint32_t v = node_ins(m->a, x)[k];
        if (removed_maker(m, v) != CLV_NONE)
            m->ins[count++] = m->value_a[v];
    }
    return count;
}

static bool merge_node(merger *m, uint32_t id)
{
    uint32_t nb = m->b->n_nodes, own = merge_own(m, id);
    const clv_graph *g = id < nb ? m->b : m->a;
    const clv_node *n = &g->nodes[id < nb ? id : id - nb];
    uint32_t *map = id < nb ? m->value_b : m->value_a;
    clv_graph *to = m->out->g;
    const char *path = g->scopes[n->scope].path;
    uint32_t scope = *path ? clv__scope_path(to, path) : 0;
    uint32_t n_in = merge_read(m, g, n, own, map);
    char *name = arena_strndup(&to->mem, n->name, strlen(n->name));
    if (scope == CLV_NONE || n_in == CLV_NONE || !name)
        return false;
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t v = node_outs(g, n)[k];
        m->ins[n_in + k] = merge_value(m, g, v, map);
        if (m->ins[n_in + k] == CLV_NONE)
            return false;
    }
    uint32_t made = clv__node_add(to, (clv_op)n->op, name, scope, m->ins, n_in,
                                  m->ins + n_in, n->n_out);
    if (made == CLV_NONE)
        return false;
    to->nodes[made].attrs = n->attrs;
    to->nodes[made].n_attrs = n->n_attrs;
    clv__node_label(&to->nodes[made], n);
    m->out->before[made] = id < nb ? own : id - nb;
    m->out->after[made] = id < nb ? id : CLV_NONE;
    merge_outputs_of(m, id);
    return true;
}

static bool merge_fill(merger *m)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->b->n_inputs; i++)
        ok = merge_value(m, m->b, m->b->inputs[i], m->value_b) != CLV_NONE;
    if (ok)
        merge_same_values(m);
    for (uint32_t i = 0; ok && i < m->n; i++)
        ok = merge_node(m, m->order[i]);
    for (uint32_t i = 0; ok && i < m->b->n_outputs; i++) {
        uint32_t v = merge_value(m, m->b, m->b->outputs[i], m->value_b);
        ok = v != CLV_NONE && clv__graph_output(m->out->g, v);
    }
    for (uint32_t i = 0; ok && i < m->a->n_outputs; i++)
        if (removed_maker(m, m->a->outputs[i]) != CLV_NONE)
            ok = clv__graph_output(m->out->g, m->value_a[m->a->outputs[i]]);
    return ok;
}

static bool merge_alloc(merger *m, arena *mem)
{
    size_t na = m->a->n_nodes, nb = m->b->n_nodes, n = na + nb + 1, widest = 1;
    for (uint32_t i = 0; i < na; i++) {
        const clv_node *x = &m->a->nodes[i];
        size_t w = (size_t)x->n_in + x->n_out;
        widest = w > widest ? w : widest;
    }
    for (uint32_t i = 0; i < nb; i++) {
        const clv_node *x = &m->b->nodes[i];
        size_t w = (size_t)x->n_in + x->n_out +
                   (m->from[i] == CLV_NONE ? 0 : m->a->nodes[m->from[i]].n_in);
        widest = w > widest ? w : widest;
    }
    size_t va = m->a->n_values, vb = m->b->n_values;
    m->to = arena_array(mem, na + 1, sizeof *m->to);
    m->order = arena_array(mem, n, sizeof *m->order);
    m->state = arena_alloc(mem, n);
    m->stack = arena_array(mem, n, sizeof *m->stack);
    m->next = arena_array(mem, n, sizeof *m->next);
    m->value_a = arena_array(mem, va + 1, sizeof *m->value_a);
    m->value_b = arena_array(mem, vb + 1, sizeof *m->value_b);
    m->ins = arena_array(mem, widest, sizeof *m->ins);
    m->out->before = clv__alloc(n * sizeof *m->out->before);
    m->out->after = clv__alloc(n * sizeof *m->out->after);
    if (!m->to || !m->order || !m->state || !m->stack || !m->next ||
        !m->value_a || !m->value_b || !m->ins || !m->out->before ||
        !m->out->after)
        return false;
    memset(m->to, 0xff, (na + 1) * sizeof *m->to);
    memset(m->value_a, 0xff, (va + 1) * sizeof *m->value_a);
    memset(m->value_b, 0xff, (vb + 1) * sizeof *m->value_b);
    for (uint32_t i = 0; i < nb; i++)
        if (m->from[i] != CLV_NONE)
            m->to[m->from[i]] = i;
    return true;
}

static clv_status merge_make(merger *m, clv_err *e)
{
    arena mem = {0};
    clv_status s = clv__build_part(m->b, &m->out->g, e);
    if (s == CLV_OK && !merge_alloc(m, &mem))
        s = clv__nomem(e);
    /* Without inputs from removed layers there is always an order: they read
     * the second model, which reads itself alone. */
    if (s == CLV_OK && !merge_order(m, true) && !merge_order(m, false))
        s = clv__fail(e, CLV_INTERNAL, "the two models make a circle");
    if (s == CLV_OK)
        s = merge_fill(m) ? clv__build_finish(m->out->g, CLV_BUILT_COPIED, e)
                          : clv__nomem(e);
    arena_free(&mem);
    return s;
}

clv_status clv_merged_new(const clv_compare *c, clv_merged **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    const clv_compare_info *info = clv_compare_get(c);
    if (info->n != 2)
        return clv__fail(err, CLV_USAGE, "one graph shows two models, not %u",
                         info->n);
    clv_merged *made = clv__zalloc(sizeof *made);
    if (!made)
        return clv__nomem(err);
    merger m = {.a = clv_profile_graph(info->profiles[0]),
                .b = clv_profile_graph(info->profiles[1]),
                .from = info->partners,
                .out = made};
    clv_status s = merge_make(&m, err);
    if (s != CLV_OK) {
        clv_merged_free(made);
        return s;
    }
    *out = made;
    return CLV_OK;
}

void clv_merged_free(clv_merged *m)
{
    if (!m)
        return;
    clv_graph_free(m->g);
    clv__free(m->before);
    clv__free(m->after);
    clv__free(m);
}

const clv_graph *clv_merged_graph(const clv_merged *m)
{
    return m->g;
}

const uint32_t *clv_merged_before(const clv_merged *m)
{
    return m->before;
}

const uint32_t *clv_merged_after(const clv_merged *m)
{
    return m->after;
}

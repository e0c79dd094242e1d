/* extract.c - makes one subgraph of a cut a graph of its own.
 *
 * Names stay as they are in the whole graph, so a weight drawn from its name,
 * or a tensor handed from one part to the next, is the same in both. A value
 * from another part becomes an input, or a constant if inference knows its
 * contents. Attributes and contents are borrowed. */
#include "cut/cut.h"

#include "ops/build.h"

#include <string.h>

typedef struct copy {
    const clv_graph *from;
    clv_graph *to;
    uint32_t *of; /* per value of the whole: its number in the part */
} copy;

/* Returns the number of value v in the part, and adds it if it is not there
 * yet. Returns CLV_NONE when memory ran out. */
static uint32_t extract_put_value(copy *c, uint32_t v, clv_value_kind kind)
{
    const clv_value *x = &c->from->values[v];
    char buf[512];
    if (c->of[v] != CLV_NONE)
        return c->of[v];
    const char *name = clv__value_name(c->from, v, buf, sizeof buf);
    name = arena_strndup(&c->to->mem, name, strlen(name));
    uint32_t id = name ? clv__value_add(c->to, name, kind, (clv_dtype)x->dtype)
                       : CLV_NONE;
    if (id == CLV_NONE)
        return CLV_NONE;
    if (x->rank == CLV_NO_RANK)
        c->to->values[id].rank = CLV_NO_RANK;
    else if (!clv__value_set_shape(c->to, id, x->rank, x->dims))
        return CLV_NONE;
    c->to->values[id].data = x->data;
    c->to->values[id].count = x->count;
    c->to->values[id].flags |= x->flags & CLV_V_FORM;
    return c->of[v] = id;
}

static clv_value_kind kind_here(const clv_value *x)
{
    if (value_is_weight(x))
        return (clv_value_kind)x->kind;
    bool known = x->data && (x->data->ints || x->data->floats);
    return known && x->producer != CLV_NONE ? CLV_VALUE_CONST : CLV_VALUE_INPUT;
}

static bool extract_put_node(copy *c, uint32_t i, uint32_t *ids)
{
    const clv_graph *g = c->from;
    const clv_node *n = &g->nodes[i];
    for (uint32_t k = 0; k < n->n_in + n->n_out; k++) {
        uint32_t v = g->edges[n->first_edge + k];
        ids[k] = v == CLV_NONE
                     ? CLV_NONE
                     : extract_put_value(c, v,
                                         k < n->n_in ? kind_here(&g->values[v])
                                                     : CLV_VALUE_ACTIVATION);
        if (ids[k] == CLV_NONE && v != CLV_NONE)
            return false;
    }
    const char *path = g->scopes[n->scope].path;
    uint32_t scope = *path ? clv__scope_path(c->to, path) : 0;
    char *name = arena_strndup(&c->to->mem, n->name, strlen(n->name));
    if (scope == CLV_NONE || !name)
        return false;
    uint32_t id = clv__node_add(c->to, (clv_op)n->op, name, scope, ids, n->n_in,
                                ids + n->n_in, n->n_out);
    if (id == CLV_NONE)
        return false;
    clv_node *made = &c->to->nodes[id];
    made->attrs = n->attrs;
    made->n_attrs = n->n_attrs;
    clv__node_label(made, n);
    made->counted_only = n->counted_only;
    made->flags = n->flags;
    return true;
}

static bool extract_fill(copy *c, const clv_subgraph *s, uint32_t *ids)
{
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const clv_value *x = &c->from->values[s->inputs[i]];
        if (extract_put_value(c, s->inputs[i], kind_here(x)) == CLV_NONE)
            return false;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!extract_put_node(c, s->nodes[i], ids))
            return false;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        if (!clv__graph_output(c->to, c->of[s->outputs[i]]))
            return false;
    return true;
}

clv_status clv__cut_extract(const clv_cut *cut, uint32_t k, clv_graph **out,
                            clv_err *e)
{
    const clv_graph *g = cut->p->g;
    copy c = {.from = g};
    size_t widest = 1;
    *out = NULL;
    CLV_TRY(clv__build_part(g, &c.to, e));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        size_t n = (size_t)g->nodes[i].n_in + g->nodes[i].n_out;
        widest = n > widest ? n : widest;
    }
    c.of = clv__alloc(((size_t)g->n_values + 1) * sizeof *c.of);
    uint32_t *ids = clv__alloc(widest * sizeof *ids);
    if (c.of)
        memset(c.of, 0xff, ((size_t)g->n_values + 1) * sizeof *c.of);
    clv_status s = c.of && ids && extract_fill(&c, &cut->subs[k], ids)
                       ? clv__build_finish(c.to, CLV_BUILT_COPIED, e)
                       : clv__nomem(e);
    clv__free(c.of);
    clv__free(ids);
    if (s != CLV_OK) {
        clv_graph_free(c.to);
        return s;
    }
    *out = c.to;
    return CLV_OK;
}

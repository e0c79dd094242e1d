/* extract.c - makes some nodes of a graph a graph of their own.
 *
 * Names stay as they are in the whole graph, so a weight drawn from its name,
 * or a tensor handed from one part to the next, is the same in both. A value
 * from another part becomes an input, or a constant if inference, or the
 * caller, knows its contents. Attributes and contents are borrowed. */
#include "cut/cut.h"

#include "ops/build.h"

#include <string.h>

typedef struct copy {
    const clv_graph *from;
    clv_graph *to;
    const clv_extract *what;
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

bool clv__cut_fed(const clv_graph *g, uint32_t v)
{
    const clv_value *x = &g->values[v];
    bool known = x->data && (x->data->ints || x->data->floats);
    return !value_is_weight(x) && !(known && x->producer != CLV_NONE);
}

/* What value v is to a node that reads it in the part. */
static clv_value_kind kind_here(const copy *c, uint32_t v)
{
    const clv_value *x = &c->from->values[v];
    if (value_is_weight(x))
        return (clv_value_kind)x->kind;
    if (c->what->tensor && c->what->tensor[v].data)
        return CLV_VALUE_CONST;
    return clv__cut_fed(c->from, v) ? CLV_VALUE_INPUT : CLV_VALUE_CONST;
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
                                         k < n->n_in ? kind_here(c, v)
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

static bool extract_fill(copy *c, uint32_t *ids)
{
    const clv_extract *s = c->what;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (extract_put_value(c, s->inputs[i], kind_here(c, s->inputs[i])) ==
            CLV_NONE)
            return false;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!extract_put_node(c, s->nodes[i], ids))
            return false;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        if (!clv__graph_output(c->to, c->of[s->outputs[i]]))
            return false;
    return true;
}

clv_status clv__extract(const clv_graph *g, const clv_extract *what,
                        uint32_t *of, clv_graph **out, clv_err *e)
{
    copy c = {.from = g, .what = what, .of = of};
    size_t widest = 1;
    *out = NULL;
    CLV_TRY(clv__build_part(g, &c.to, e));
    c.to->format = g->format; /* some forms are those of ONNX alone */
    for (uint32_t i = 0; i < what->n_nodes; i++) {
        const clv_node *node = &g->nodes[what->nodes[i]];
        size_t n = (size_t)node->n_in + node->n_out;
        widest = n > widest ? n : widest;
    }
    memset(of, 0xff, g->n_values * sizeof *of);
    uint32_t *ids = clv__alloc(widest * sizeof *ids);
    clv_status s = ids && extract_fill(&c, ids)
                       ? clv__build_finish(c.to, CLV_BUILT_COPIED, e)
                       : clv__nomem(e);
    clv__free(ids);
    if (s != CLV_OK) {
        clv_graph_free(c.to);
        return s;
    }
    *out = c.to;
    return CLV_OK;
}

clv_status clv__cut_extract(const clv_cut *cut, uint32_t k, clv_graph **out,
                            clv_err *e)
{
    const clv_graph *g = cut->p->g;
    const clv_subgraph *s = &cut->subs[k];
    const clv_extract what = {.nodes = s->nodes,
                              .n_nodes = s->n_nodes,
                              .inputs = s->inputs,
                              .n_inputs = s->n_inputs,
                              .outputs = s->outputs,
                              .n_outputs = s->n_outputs};
    *out = NULL;
    uint32_t *of = clv__alloc(((size_t)g->n_values + 1) * sizeof *of);
    clv_status st = of ? clv__extract(g, &what, of, out, e) : clv__nomem(e);
    clv__free(of);
    return st;
}

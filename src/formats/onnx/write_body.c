/* write_body.c - If, Loop and Scan with their bodies.
 *
 * Here a body's inputs are all it takes, and what it captures comes after its
 * own. In ONNX it refers to the enclosing graph's values by their names, so a
 * captured input is written under the name that it has outside.
 *
 * Shapes are constants in a file that is written anew: a body whose carried
 * values change their shapes is refused. Of an If whose condition is known, the
 * branch that is taken stands for both. */
#include "formats/onnx/write.h"

#include <string.h>

bool writer_has_bodies(const clv_node *n)
{
    return clv__ops[n->op].category == CLV_CAT_CONTROL;
}

uint32_t writer_formal(const clv_node *n)
{
    int64_t formal = n->op == CLV_OP_IF     ? 1
                     : n->op == CLV_OP_LOOP ? attr_int(n, CLV_A_OWN_INPUTS)
                     : n->op == CLV_OP_SCAN
                         ? attr_int(n, CLV_A_STATES) + attr_int(n, CLV_A_SCANS)
                         : n->n_in;
    return formal < n->n_in ? (uint32_t)formal : n->n_in;
}

/* The body as attribute `name`; its inputs from `formal` on are the node's
 * from `first` on. */
static clv_status bodies_put(writer *w, const clv_node *n, onnx_out *o,
                             const char *name, const clv_graph *g,
                             uint32_t formal, uint32_t first, clv_err *e)
{
    writer in = {.g = g,
                 .opts = w->opts,
                 .opset = w->opset,
                 .root = w->root,
                 .outer = w,
                 .n_formal = formal,
                 .prefix = n->name};
    clv_buf graph = {0}, attr = {0};
    in.captured =
        arena_array(&in.mem, (size_t)g->n_values + 1, sizeof *in.captured);
    if (!in.captured)
        return clv__nomem(e);
    memset(in.captured, 0xff, g->n_values * sizeof *in.captured);
    for (uint32_t i = formal; i < g->n_inputs; i++)
        if (first + i - formal < n->n_in)
            in.captured[g->inputs[i]] = node_ins(w->g, n)[first + i - formal];
    clv_status s = writer_graph(&in, &graph, e);
    if (s != CLV_OK) {
        clv_buf_free(&graph);
        return s;
    }
    pb_text(&attr, PB_ATTR_NAME, name);
    pb_message(&attr, PB_ATTR_G, &graph);
    pb_uint(&attr, PB_ATTR_TYPE, PB_TYPE_GRAPH);
    pb_message(&o->b, PB_NODE_ATTRIBUTE, &attr);
    return attr.failed || o->b.failed ? clv__nomem(e) : CLV_OK;
}

/* The branches come in the order of the attributes, and so does what they
 * capture. */
static clv_status bodies_put_branches(writer *w, const clv_node *n, onnx_out *o,
                                      clv_err *e)
{
    const clv_graph *branch[2] = {NULL, NULL};
    uint32_t from[2] = {1, 1}, first = 1;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        bool then = n->attrs[i].key == CLV_A_THEN;
        if (n->attrs[i].type != CLV_ATTR_GRAPH ||
            (!then && n->attrs[i].key != CLV_A_ELSE))
            continue;
        branch[then] = n->attrs[i].u.body;
        from[then] = first;
        first += branch[then]->n_inputs;
    }
    for (int then = 1; then >= 0; then--) {
        int k = branch[then] && branch[then]->inferred ? then : !then;
        if (!branch[k] || !branch[k]->inferred)
            return writer_cannot(w, n, e);
        CLV_TRY(bodies_put(w, n, o, then ? "then_branch" : "else_branch",
                           branch[k], 0, from[k], e));
    }
    return CLV_OK;
}

/* Value `a` of the node and `b` of the body are of one type and shape. */
static bool bodies_alike(const clv_value *a, const clv_value *b)
{
    return a && a->dtype == b->dtype && a->rank == b->rank &&
           a->rank != CLV_NO_RANK && !((a->flags | b->flags) & CLV_V_FORM) &&
           (!a->rank || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims));
}

/* What a loop or scan carries keeps its shape. */
static bool bodies_steady(const clv_graph *g, const clv_node *n,
                          const clv_graph *inner)
{
    bool loop = n->op == CLV_OP_LOOP;
    uint32_t lead = loop ? 2 : 0, formal = writer_formal(n);
    uint32_t states = loop ? formal - 2 : (uint32_t)attr_int(n, CLV_A_STATES);
    if (formal < lead || (!loop && attr_int(n, CLV_A_BATCHED)))
        return false;
    for (uint32_t i = 0; i < states; i++) {
        uint32_t o = i + (loop ? 1 : 0);
        if (o >= inner->n_outputs || i + lead >= n->n_in ||
            !bodies_alike(node_in(g, n, i + lead),
                          &inner->values[inner->outputs[o]]))
            return false;
    }
    return true;
}

clv_status writer_bodies(writer *w, const clv_node *n, onnx_out *o, clv_err *e)
{
    if (n->op == CLV_OP_IF)
        return bodies_put_branches(w, n, o, e);
    const clv_attr *a = attr_get(n, CLV_A_BODY);
    const clv_graph *inner = a && a->type == CLV_ATTR_GRAPH ? a->u.body : NULL;
    uint32_t formal = writer_formal(n);
    if (!inner || !inner->inferred || inner->n_inputs < formal ||
        !bodies_steady(w->g, n, inner))
        return writer_cannot(w, n, e);
    if (n->op == CLV_OP_SCAN && strcmp(w->g->format, "onnx") != 0)
        out_int(o, "num_scan_inputs", attr_int(n, CLV_A_SCANS));
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].key == CLV_A_OTHER)
            out_attr(o, &n->attrs[i]);
    return bodies_put(w, n, o, "body", inner, formal, formal, e);
}

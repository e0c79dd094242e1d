/* training.c - what only training does: losses, gradients, updates of weights.
 */
#include "ops/ops.h"

/* scores (N,C,..), labels (N,..); output 1 repeats the (log) scores. */
clv_status infer_loss(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *labels = node_in(g, n, 1);
    bool each = attr_is(n, CLV_A_REDUCTION, "none");
    if (x->rank < 1 || labels->rank + 1u != x->rank)
        return clv__fail(e, CLV_SHAPE, "scores of rank %u, labels of rank %u",
                         x->rank, labels->rank);
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, each ? labels->rank : 0,
                      labels->dims, e));
    return out_like(g, n, 1, x, e);
}

/* Rate and step count, then groups of the same tensors: weights, gradients, one
 * moment, and of Adam a second one. The outputs are all groups but that of the
 * gradients. */
clv_status infer_optimizer(clv_graph *g, clv_node *n, clv_err *e)
{
    uint32_t groups = attr_is(n, CLV_A_RULE, "adam") ? 4 : 3;
    uint32_t each = (n->n_in - 2) / groups;
    for (uint32_t o = 0; o < n->n_out && each > 0; o++) {
        const clv_value *v = node_in(g, n, 2 + o % each);
        if (v)
            CLV_TRY(out_like(g, n, o, v, e));
    }
    return CLV_OK;
}

/* The derivative by each input has its shape. What it costs is not in the
 * file: it is that of the way back through the nodes before. */
clv_status infer_gradient(clv_graph *g, clv_node *n, clv_err *e)
{
    for (uint32_t o = 0; o < n->n_out && o < n->n_in; o++)
        if (node_in(g, n, o))
            CLV_TRY(out_like(g, n, o, node_in(g, n, o), e));
    return CLV_OK;
}

/* `unit` per element written. */
void cost_optimizer(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    for (uint32_t o = 0; o < n->n_out; o++)
        c->flops = sat_add(c->flops, sat_mul(clv__ops[n->op].unit,
                                             clv__numel(node_out(g, n, o))));
}

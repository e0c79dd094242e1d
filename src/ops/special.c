/* special.c - operators without a family: losses, updates of weights, n-grams,
 * determinants, casts to a target's type, crops to a target's size, products
 * with packed weights. */
#include "ops/ops.h"

#include <string.h>

/* -- losses ---------------------------------------------------------------*/

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

/* -- training -------------------------------------------------------------*/

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

/* -- text -----------------------------------------------------------------*/

/* x (..,T) -> (..,size): how often each n-gram occurs */
clv_status infer_tfidf(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t dims[2] = {0, 0}, size = attr_int(n, CLV_A_SIZE);
    if (x->rank < 1 || x->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    dims[0] = x->dims[0];
    dims[x->rank - 1] = size;
    return out_shape(g, n, 0, CLV_FLOAT32, x->rank, dims, e);
}

/* -- types and sizes of another tensor ------------------------------------*/

clv_status infer_cast_like(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    return out_shape(g, n, 0, (clv_dtype)node_in(g, n, 1)->dtype, x->rank,
                     x->dims, e);
}

/* The same bytes as another type, of as many bits. */
clv_status infer_bitcast(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    clv_dtype t = asked_type(n, CLV_NODTYPE);
    if (clv_dtype_bytes(t, 8) != clv_dtype_bytes((clv_dtype)x->dtype, 8))
        return clv__fail(e, CLV_SHAPE, "%s taken as %s",
                         clv_dtype_name((clv_dtype)x->dtype),
                         clv_dtype_name(t));
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* The axes listed get the sizes of input 1; without a list, all do. */
clv_status infer_center_crop_pad(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list size;
    uint32_t count;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 1, &size, e));
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &count);
    if (size.n != (axes ? count : x->rank))
        return clv__fail(e, CLV_SHAPE, "%u sizes for %u axes", size.n,
                         axes ? count : x->rank);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < size.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes ? axes[i] : (int64_t)i, x->rank, &a, e));
        dims[a] = size.v[i];
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* -- matrices -------------------------------------------------------------*/

/* x (..,M,M) -> (..) */
clv_status infer_det(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return clv__fail(e, CLV_SHAPE, "not a square matrix");
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank - 2u, x->dims, e);
}

/* By elimination: M^3 / 3 multiply-adds. */
void cost_det(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t m = x->dims[x->rank - 1];
    int64_t cube = sat_mul(m, sat_mul(m, m));
    cube = cube == CLV_SAT ? cube : cube / 3;
    c->flops = sat_mul(2, sat_mul(clv__numel(node_out(g, n, 0)), cube));
}

/* x (..,K), packed weight (N,K) of few bits, its rows padded to whole blocks,
 * scales, zero points, order, bias -> (..,N) */
clv_status infer_linear_nbits(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    int64_t depth = x->rank ? x->dims[x->rank - 1] : 0;
    if (x->rank < 1 || w->rank != 2 || depth > w->dims[1] ||
        w->dims[1] - depth >= attr_int(n, CLV_A_BLOCK))
        return clv__fail(e, CLV_SHAPE, "input and packed weight do not fit");
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = w->dims[0];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* The product, and a scale and shift of each weight to unpack it. */
void cost_linear_nbits(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    c->macs = sat_mul(clv__numel(x), w->dims[0]);
    c->flops = sat_add(sat_mul(2, c->macs), sat_mul(2, clv__numel(w)));
    if (node_in(g, n, 5))
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
}

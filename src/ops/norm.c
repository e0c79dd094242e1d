/* norm.c - normalisations: x, weight, bias, and running statistics.
 *
 * A norm reads its statistics from constants (batch norm in evaluation: an
 * affine map, 2 FLOPs per element) or computes them (sum, centre, square, sum,
 * scale: 5 per element), then applies weight and bias where they are. */
#include "ops/ops.h"

#include <string.h>

/* Weight, bias and statistics have one element per channel, axis 1. */
clv_status infer_channel_norm(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    bool grouped = n->op == CLV_OP_GROUP_NORM;
    int64_t channels = x->dims[1];
    int64_t groups = grouped ? attr_int(n, CLV_A_GROUPS) : 1;
    if (groups < 1 || channels % groups)
        return clv__fail(e, CLV_SHAPE, "%lld channels in %lld groups",
                         (long long)channels, (long long)groups);
    for (uint32_t i = 1; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v && clv__numel(v) != channels)
            return clv__fail(e, CLV_SHAPE,
                             "input %u has %lld elements for %lld channels", i,
                             (long long)clv__numel(v), (long long)channels);
        if (v) /* batch norm may return its running statistics */
            CLV_TRY(out_shape(g, n, i, (clv_dtype)v->dtype, 1, &channels, e));
    }
    return out_like(g, n, 0, x, e);
}

clv_status get_norm_axis(const clv_node *n, uint32_t rank, uint32_t *axis,
                         clv_err *e)
{
    uint32_t count;
    attr_ints(n, CLV_A_SHAPE, &count);
    int64_t last = count ? -(int64_t)count : -1;
    if (attr_get(n, CLV_A_AXIS))
        last = attr_int(n, CLV_A_AXIS);
    return norm_axis(last, rank, axis, e);
}

/* Over the axes from `axis` on, or over the last ones that `shape` lists.
 * Outputs 1 and 2: mean and 1/deviation, with those axes of size one. */
clv_status infer_layer_norm(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t count, axis;
    const int64_t *shape = attr_ints(n, CLV_A_SHAPE, &count);
    CLV_TRY(get_norm_axis(n, x->rank, &axis, e));
    for (uint32_t i = 0; i < count && count <= x->rank; i++)
        if (shape[i] != x->dims[x->rank - count + i])
            return clv__fail(e, CLV_SHAPE, "norm over %lld, axis has %lld",
                             (long long)shape[i],
                             (long long)x->dims[x->rank - count + i]);
    for (uint32_t i = 1; i < n->n_in; i++)
        if (node_in(g, n, i))
            CLV_TRY(fits(x, node_in(g, n, i), e));
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = i < axis ? x->dims[i] : 1;
    CLV_TRY(out_shape(g, n, 1, CLV_FLOAT32, x->rank, dims, e));
    CLV_TRY(out_shape(g, n, 2, CLV_FLOAT32, x->rank, dims, e));
    return out_shape(g, n, 0, asked_type(n, (clv_dtype)x->dtype), x->rank,
                     x->dims, e);
}

/* `unit` for the statistics and the normalisation, then a multiply for the
 * weight and an add for the bias where there is one. */
static void norm_units(const clv_graph *g, const clv_node *n, int64_t unit,
                       clv_cost *c)
{
    unit += node_in(g, n, 1) != NULL;
    unit += node_in(g, n, 2) != NULL;
    c->flops = sat_mul(unit, clv__numel(node_out(g, n, 0)));
}

/* In evaluation the statistics are constants: y = x*a + b, two per element. A
 * node without them, or in training, takes those of its input, as an instance
 * norm does. */
void cost_batch_norm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    if (node_in(g, n, 3) && !attr_int(n, CLV_A_TRAINING))
        cost_eltwise(g, n, c);
    else
        norm_units(g, n, clv__ops[CLV_OP_INSTANCE_NORM].unit, c);
}

void cost_norm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    norm_units(g, n, clv__ops[n->op].unit, c);
}

/* x / (k + alpha * mean of x^2 over `size` channels)^beta: a window of `size`
 * squares and `unit` more. */
void cost_lrn(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t size = attr_int(n, CLV_A_SIZE);
    int64_t unit = sat_add(clv__ops[n->op].unit, size > 0 ? size : 0);
    c->flops = sat_mul(unit, clv__numel(node_out(g, n, 0)));
}

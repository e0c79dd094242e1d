/* reduce.c - reductions over axes, and running ones along an axis.
 *
 * Axes come from attribute `axes` or input 1; none means all. keepdim keeps
 * them with size one. Attribute `dtype` is the type to compute and return. */
#include "ops/ops.h"

static clv_status reduced_axes(const clv_graph *g, const clv_node *n,
                               bool *gone, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list axes;
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 1, &axes, e));
    for (uint32_t i = 0; i < CLV_MAX_RANK; i++)
        gone[i] = axes.n == 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(claim_axis(axes.v[i], x->rank ? x->rank : 1, gone, &a, e));
    }
    return CLV_OK;
}

static clv_status out_reduced(clv_graph *g, clv_node *n, clv_dtype dtype,
                              const bool *gone, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    bool keep = attr_int(n, CLV_A_KEEPDIM) != 0;
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[i] || keep)
            dims[rank++] = gone[i] ? 1 : x->dims[i];
    CLV_TRY(out_shape(g, n, 0, dtype, rank, dims, e));
    return out_shape(g, n, 1, CLV_INT64, rank, dims, e); /* where it was */
}

static clv_status reduce_to(clv_graph *g, clv_node *n, clv_dtype dtype,
                            clv_err *e)
{
    bool gone[CLV_MAX_RANK];
    CLV_TRY(reduced_axes(g, n, gone, e));
    return out_reduced(g, n, kept_type(g, n, dtype), gone, e);
}

clv_status infer_reduce(clv_graph *g, clv_node *n, clv_err *e)
{
    return reduce_to(g, n, (clv_dtype)node_in(g, n, 0)->dtype, e);
}

/* Sums and products of integers are int64. */
clv_status infer_reduce_sum(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return reduce_to(g, n, dtype_is_integral(t) ? CLV_INT64 : t, e);
}

clv_status infer_reduce_float(clv_graph *g, clv_node *n, clv_err *e)
{
    return reduce_to(g, n, to_float((clv_dtype)node_in(g, n, 0)->dtype), e);
}

clv_status infer_reduce_bool(clv_graph *g, clv_node *n, clv_err *e)
{
    return reduce_to(g, n, CLV_BOOL, e);
}

clv_status infer_reduce_count(clv_graph *g, clv_node *n, clv_err *e)
{
    return reduce_to(g, n, CLV_INT64, e);
}

/* Over one `axis`; without it, over all elements. */
static clv_status reduce_axis(clv_graph *g, clv_node *n, clv_dtype dtype,
                              bool all, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    bool gone[CLV_MAX_RANK];
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    for (uint32_t i = 0; i < CLV_MAX_RANK; i++)
        gone[i] = all || i == axis;
    return out_reduced(g, n, dtype, gone, e);
}

clv_status infer_argmax(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    bool all = !attr_get(n, CLV_A_AXIS);
    if (all && clv__numel(x) == 0)
        return clv__fail(e, CLV_SHAPE, "no element is the greatest of none");
    return reduce_axis(g, n, CLV_INT64, all, e);
}

/* The k-th smallest along an axis, and where it was. */
clv_status infer_kthvalue(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    int64_t k = attr_int(n, CLV_A_K), size = x->rank ? x->dims[axis] : 1;
    if (k < 1 || k > size)
        return clv__fail(e, CLV_SHAPE, "value %lld of %lld", (long long)k,
                         (long long)size);
    return reduce_axis(g, n, (clv_dtype)x->dtype, false, e);
}

/* Over one axis with an index, or over all. */
clv_status infer_median(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return reduce_axis(g, n, t, !attr_get(n, CLV_A_AXIS), e);
}

/* `unit` FLOPs per input element. */
void cost_reduce(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(clv__ops[n->op].unit, clv__numel(node_in(g, n, 0)));
}

/* -- running --------------------------------------------------------------*/

static clv_status scan_to(clv_graph *g, clv_node *n, clv_dtype dtype,
                          clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t given;
    uint32_t axis;
    CLV_TRY(get_int(g, n, CLV_A_AXIS, 1, &given, e));
    CLV_TRY(norm_axis(given, x->rank ? x->rank : 1, &axis, e));
    CLV_TRY(out_shape(g, n, 1, CLV_INT64, x->rank, x->dims, e));
    return out_shape(g, n, 0, kept_type(g, n, dtype), x->rank, x->dims, e);
}

/* Largest or smallest so far, and where it was. */
clv_status infer_scan(clv_graph *g, clv_node *n, clv_err *e)
{
    return scan_to(g, n, (clv_dtype)node_in(g, n, 0)->dtype, e);
}

clv_status infer_scan_sum(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return scan_to(g, n, dtype_is_integral(t) ? CLV_INT64 : t, e);
}

/* reduce.c - reductions over axes. */
#include "ops/ops.h"

/* axes from an attribute or input 1; none means all. keepdim 0 by default. */
clv_status infer_reduce(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list axes;
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 1, &axes, e));
    bool gone[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank ? x->rank : 1, &a, e));
        gone[a] = true;
    }
    bool keep = attr_int(n, CLV_A_KEEPDIM, 0) != 0;
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = gone[i] || axes.n == 0;
        if (!reduced)
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = 1;
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* `unit` FLOPs per input element. */
void cost_reduce(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(clv__ops[n->op].unit, clv__numel(node_in(g, n, 0)));
}

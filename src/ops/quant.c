/* quant.c - to and from integers with a scale and a zero point: x, scale, zero.
 * The quantised products are with their floating kin in conv.c and matmul.c. */
#include "ops/ops.h"

/* Rounds x / scale + zero; the type is that of the zero point. */
clv_status infer_quantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *zero = node_in(g, n, 2);
    clv_dtype t = zero ? (clv_dtype)zero->dtype : attr_dtype(n, CLV_UINT8);
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* (x - zero) * scale; the type is that of the scale. */
clv_status infer_dequantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    clv_dtype t = attr_dtype(n, (clv_dtype)node_in(g, n, 1)->dtype);
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* Finds the range of x, then quantises: x as uint8, scale, zero point. */
clv_status infer_dynamic_quantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    CLV_TRY(out_shape(g, n, 1, CLV_FLOAT32, 0, NULL, e));
    CLV_TRY(out_shape(g, n, 2, CLV_UINT8, 0, NULL, e));
    return out_shape(g, n, 0, CLV_UINT8, x->rank, x->dims, e);
}

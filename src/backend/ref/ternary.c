/* ternary.c - elementwise over three inputs: choices, and products added. */
#include "backend/kernel.h"

/* where(condition, a, b) */
clv_status kernel_where(kernel *k)
{
    const clv_tensor *c = k->in[0], *a = k->in[1], *b = k->in[2];
    clv_tensor *y = &k->out[0];
    int64_t sc[CLV_MAX_RANK], sa[CLV_MAX_RANK], sb[CLV_MAX_RANK];
    int64_t idx[CLV_MAX_RANK] = {0};
    broadcast_strides(c, y->rank, sc);
    broadcast_strides(a, y->rank, sa);
    broadcast_strides(b, y->rank, sb);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        bool yes = get_i(c, offset_of(idx, sc, y->rank)) != 0;
        int64_t at = offset_of(idx, yes ? sa : sb, y->rank);
        copy_run(y, i, yes ? a : b, at, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* x where the mask is false, else a number or the element of input 2. */
clv_status kernel_masked_fill(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1], *value = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    int64_t sx[CLV_MAX_RANK], sm[CLV_MAX_RANK], sv[CLV_MAX_RANK] = {0};
    int64_t idx[CLV_MAX_RANK] = {0};
    scalar_arg v;
    (void)scalar_at(k, CLV_A_VALUE, 2, &v);
    broadcast_strides(x, y->rank, sx);
    broadcast_strides(mask, y->rank, sm);
    if (value)
        broadcast_strides(value, y->rank, sv);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        if (get_i(mask, offset_of(idx, sm, y->rank)))
            copy_run(y, i, value ? value : &v.t, offset_of(idx, sv, y->rank),
                     1);
        else
            copy_run(y, i, x, offset_of(idx, sx, y->rank), 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

static double ternary_combined(clv_op op, double a, double b, double c,
                               double v)
{
    switch (op) {
    case CLV_OP_ADDCMUL:
        return a + v * b * c;
    case CLV_OP_ADDCDIV:
        return a + v * b / c;
    default: /* CLV_OP_LERP */
        return a + c * (b - a);
    }
}

/* a, b, and c as a tensor or the attribute value; all broadcast. For addcmul
 * and addcdiv the attribute is the factor of the product. */
clv_status kernel_combine(kernel *k)
{
    const clv_tensor *in[3] = {k->in[0], k->in[1], input_of(k, 2)};
    clv_tensor *y = &k->out[0];
    int64_t s[3][CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    double x[3], v = attr_float(k->n, CLV_A_VALUE);
    bool integers = k->n->op == CLV_OP_ADDCMUL && dtype_is_integral(y->dtype);
    uint64_t by = (uint64_t)to_int64(v);
    for (int t = 0; t < 3; t++)
        if (in[t])
            broadcast_strides(in[t], y->rank, s[t]);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        uint64_t whole[3] = {0};
        for (int t = 0; t < 3; t++) {
            int64_t at = in[t] ? offset_of(idx, s[t], y->rank) : 0;
            x[t] = in[t] ? get_f(in[t], at) : v;
            whole[t] = integers ? (uint64_t)get_i(in[t], at) : 0;
        }
        if (integers)
            put_i(y, i, (int64_t)(whole[0] + by * whole[1] * whole[2]));
        else
            put_f(y, i,
                  ternary_combined((clv_op)k->n->op, x[0], x[1], x[2], v));
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* combine.c - products and sums of three tensors, gates, distances, and norms
 * along one axis. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

/* -- elementwise over three -----------------------------------------------*/

static double combined(clv_op op, double a, double b, double c, double v)
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
    uint64_t by = (uint64_t)(int64_t)v;
    for (int t = 0; t < 3; t++)
        if (in[t])
            broadcast_strides(in[t], y->rank, s[t]);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        uint64_t whole[3] = {0};
        for (int t = 0; t < 3; t++) {
            int64_t at = in[t] ? offset_of(idx, s[t], y->rank) : 0;
            x[t] = in[t] ? get_f(in[t], at) : v;
            whole[t] = integers ? (uint64_t)get_i(in[t], at) : 0;
        }
        if (integers)
            put_i(y, i, (int64_t)(whole[0] + by * whole[1] * whole[2]));
        else
            put_f(y, i, combined((clv_op)k->n->op, x[0], x[1], x[2], v));
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
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        if (get_i(mask, offset_of(idx, sm, y->rank)))
            copy_run(y, i, value ? value : &v.t, offset_of(idx, sv, y->rank),
                     1);
        else
            copy_run(y, i, x, offset_of(idx, sx, y->rank), 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* -- along one axis -------------------------------------------------------*/

/* The rows of the axis; `rows` is how many there are. */
static clv_status lane_of(const kernel *k, lane *l)
{
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    *l = lanes(k->in[0], axis);
    l->rows *= l->step;
    return CLV_OK;
}

/* The first half times the sigmoid of the second. */
clv_status kernel_glu(kernel *k)
{
    lane l;
    CLV_TRY(lane_of(k, &l));
    int64_t half = l.n / 2;
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t i = 0; i < half; i++) {
            int64_t at = lane_first(&l, r) + i * l.step;
            double gate = get_f(k->in[0], at + half * l.step);
            int64_t to = (r / l.step * half + i) * l.step + r % l.step;
            put_f(&k->out[0], to, get_f(k->in[0], at) / (1 + exp(-gate)));
        }
    return CLV_OK;
}

/* softmax(-x) */
clv_status kernel_softmin(kernel *k)
{
    lane l;
    CLV_TRY(lane_of(k, &l));
    for (int64_t r = 0; r < l.rows; r++) {
        int64_t first = lane_first(&l, r);
        double least = INFINITY, sum = 0;
        for (int64_t i = 0; i < l.n; i++)
            least = fmin(least, get_f(k->in[0], first + i * l.step));
        for (int64_t i = 0; i < l.n; i++)
            sum += exp(least - get_f(k->in[0], first + i * l.step));
        for (int64_t i = 0; i < l.n; i++)
            put_f(&k->out[0], first + i * l.step,
                  exp(least - get_f(k->in[0], first + i * l.step)) / sum);
    }
    return CLV_OK;
}

/* x over its p-norm, which is kept at `epsilon` or above. */
clv_status kernel_lp_norm(kernel *k)
{
    lane l;
    double p = attr_float(k->n, CLV_A_P);
    double least = attr_float(k->n, CLV_A_EPSILON);
    CLV_TRY(lane_of(k, &l));
    for (int64_t r = 0; r < l.rows; r++) {
        int64_t first = lane_first(&l, r);
        double sum = 0;
        for (int64_t i = 0; i < l.n; i++)
            sum += pow(fabs(get_f(k->in[0], first + i * l.step)), p);
        double norm = pow(sum, 1 / p);
        if (norm < least)
            norm = least;
        for (int64_t i = 0; i < l.n; i++)
            put_f(&k->out[0], first + i * l.step,
                  get_f(k->in[0], first + i * l.step) / norm);
    }
    return CLV_OK;
}

/* -- products -------------------------------------------------------------*/

/* beta * c + alpha * a b, a (..,M,K), b (..,K,N), c broadcast. */
clv_status kernel_addmm(kernel *k)
{
    const clv_tensor *c = k->in[0], *a = k->in[1], *b = k->in[2];
    clv_tensor *y = &k->out[0];
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    int64_t m = a->dims[a->rank - 2], depth = a->dims[a->rank - 1];
    int64_t cols = b->dims[b->rank - 1];
    int64_t sc[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    const double scales[2] = {alpha, beta};
    broadcast_strides(c, y->rank, sc);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t batch = i / (m * cols), row = i / cols, col = i % cols;
        put_affine(y, i,
                   dot((strip){a, row * depth, 1},
                       (strip){b, batch * depth * cols + col, cols}, depth),
                   scales, (element){c, offset_of(idx, sc, y->rank)});
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* a (..,P,M), b (..,R,M) -> (..,P,R): the p-norm of the difference */
clv_status kernel_cdist(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1];
    clv_tensor *y = &k->out[0], ba = *a, bb = *b;
    double power = attr_float(k->n, CLV_A_P);
    int64_t m = a->dims[a->rank - 1], sa[CLV_MAX_RANK], sb[CLV_MAX_RANK];
    int64_t idx[CLV_MAX_RANK] = {0};
    uint32_t r = y->rank;
    ba.rank--;
    bb.rank--;
    int64_t rows = a->dims[a->rank - 2], cols = b->dims[b->rank - 2];
    bb.dims[bb.rank - 1] = 1; /* batches only; rows are added below */
    ba.dims[ba.rank - 1] = 1;
    broadcast_strides(&ba, r - 1, sa);
    broadcast_strides(&bb, r - 1, sb);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t ia = offset_of(idx, sa, r - 2) * rows + idx[r - 2];
        int64_t ib = offset_of(idx, sb, r - 2) * cols + idx[r - 1];
        double sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum +=
                pow(fabs(get_f(a, ia * m + j) - get_f(b, ib * m + j)), power);
        put_f(y, i, pow(sum, 1 / power));
        next_index(idx, y->dims, r);
    }
    return CLV_OK;
}

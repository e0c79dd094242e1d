/* more.c - elementwise and matrix kernels with inputs that may be absent:
 * clamps, sums of many tensors, general products. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

static clv_status clamp_integers(const kernel *k)
{
    const clv_tensor *x = k->in[0];
    scalar_arg low, high;
    bool has_low = scalar_at(k, CLV_A_MIN, 1, &low);
    bool has_high = scalar_at(k, CLV_A_MAX, 2, &high);
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        element v = {x, i};
        if (has_low && less_than(v, (element){&low.t, 0}))
            v = (element){&low.t, 0};
        if (has_high && less_than((element){&high.t, 0}, v))
            v = (element){&high.t, 0};
        copy_run(&k->out[0], i, v.t, v.i, 1);
    }
    return CLV_OK;
}

/* Limits as attributes or inputs 1 and 2. */
clv_status kernel_clamp(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *lo = input_of(k, 1), *hi = input_of(k, 2);
    bool has_lo = lo || attr_get(k->n, CLV_A_MIN);
    bool has_hi = hi || attr_get(k->n, CLV_A_MAX);
    double low = number_of(k, CLV_A_MIN, 1);
    double high = number_of(k, CLV_A_MAX, 2);
    if (dtype_is_integral(x->dtype) && dtype_is_integral(k->out[0].dtype))
        return clamp_integers(k);
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        double v = get_f(x, i);
        if (has_lo && v < low)
            v = low;
        if (has_hi && v > high)
            v = high;
        put_f(&k->out[0], i, v);
    }
    return CLV_OK;
}

/* A slope per channel, broadcast as ONNX does or along axis 1 as torch does. */
clv_status kernel_prelu(kernel *k)
{
    const clv_tensor *x = k->in[0], *slope = k->in[1];
    int64_t strides[CLV_MAX_RANK] = {0}, idx[CLV_MAX_RANK] = {0};
    bool channel = slope->rank == 1 && x->rank > 1 && numel(slope) > 1 &&
                   slope->dims[0] == x->dims[1] &&
                   slope->dims[0] != x->dims[x->rank - 1];
    if (channel)
        strides[1] = 1;
    else
        broadcast_strides(slope, x->rank, strides);
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        element v = {x, i};
        element a = {slope, offset_of(idx, strides, x->rank)};
        if (get_f(x, i) < 0)
            put_arith(clv__arith(CLV_OP_MUL), &k->out[0], i, a, v);
        else
            copy_run(&k->out[0], i, x, i, 1);
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

/* Sum or mean of any number of tensors, broadcast together. */
clv_status kernel_add_n(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t idx[CLV_MAX_RANK] = {0}, strides[CLV_MAX_RANK];
    bool mean = k->n->op == CLV_OP_MEAN_N;
    bool real = mean || !dtype_is_integral(y->dtype);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        double sum = 0;
        uint64_t whole = 0;
        for (uint32_t t = 0; t < k->n->n_in; t++) {
            broadcast_strides(k->in[t], y->rank, strides);
            int64_t at = offset_of(idx, strides, y->rank);
            if (real)
                sum += get_f(k->in[t], at);
            else
                whole += (uint64_t)get_i(k->in[t], at);
        }
        if (real)
            put_f(y, i, mean ? sum / k->n->n_in : sum);
        else
            put_i(y, i, (int64_t)whole);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* 1 at the first largest of each row, 0 elsewhere. */
clv_status kernel_hardmax(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    int64_t step = 1;
    CLV_TRY(axis_of(k, &axis));
    for (uint32_t i = axis + 1; i < x->rank; i++)
        step *= x->dims[i];
    int64_t n = x->dims[axis], rows = n ? numel(x) / n : 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t first = r / step * n * step + r % step, best = 0;
        for (int64_t i = 1; i < n; i++)
            if (search_key(x, first + i * step, false) >
                search_key(x, first + best * step, false))
                best = i;
        for (int64_t i = 0; i < n; i++)
            put_f(&k->out[0], first + i * step, i == best);
    }
    return CLV_OK;
}

clv_status kernel_isinf(kernel *k)
{
    bool plus = attr_int(k->n, CLV_A_DETECT_POSITIVE) != 0;
    bool minus = attr_int(k->n, CLV_A_DETECT_NEGATIVE) != 0;
    for (int64_t i = 0, n = numel(k->in[0]); i < n; i++) {
        double v = get_f(k->in[0], i);
        put_i(&k->out[0], i, isinf(v) && (v > 0 ? plus : minus));
    }
    return CLV_OK;
}

/* -- made from attributes -------------------------------------------------*/

clv_status kernel_range(kernel *k)
{
    double start = number_of(k, CLV_A_START, 0);
    double step = number_of(k, CLV_A_STEP, 2);
    scalar_arg first, by;
    bool whole = dtype_is_integral(k->out[0].dtype);
    (void)scalar_at(k, CLV_A_START, 0, &first);
    (void)scalar_at(k, CLV_A_STEP, 2, &by);
    uint64_t from = (uint64_t)get_i(&first.t, 0);
    uint64_t each = (uint64_t)get_i(&by.t, 0);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n; i++)
        if (whole)
            put_i(&k->out[0], i, (int64_t)(from + each * (uint64_t)i));
        else
            put_f(&k->out[0], i, start + step * (double)i);
    return CLV_OK;
}

clv_status kernel_linspace(kernel *k)
{
    double start = attr_float(k->n, CLV_A_START);
    double end = attr_float(k->n, CLV_A_END);
    int64_t n = numel(&k->out[0]);
    for (int64_t i = 0; i < n; i++)
        put_f(&k->out[0], i,
              n == 1 ? start
                     : start + (end - start) * (double)i / (double)(n - 1));
    return CLV_OK;
}

/* The number of attribute value (a tensor's first element), or input 1. */
clv_status kernel_fill(kernel *k)
{
    scalar_arg v;
    if (!scalar_at(k, CLV_A_VALUE, 1, &v))
        put_f(&v.t, 0, k->n->op == CLV_OP_ONES);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n; i++)
        copy_run(&k->out[0], i, &v.t, 0, 1);
    return CLV_OK;
}

/* Ones on one diagonal. */
clv_status kernel_eye(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t diagonal = attr_int(k->n, CLV_A_DIAGONAL), cols = y->dims[1];
    for (int64_t i = 0, n = y->rank == 2 ? numel(y) : 0; i < n; i++)
        put_f(y, i, i % cols - i / cols == diagonal);
    return CLV_OK;
}

/* -- general products -----------------------------------------------------*/

/* alpha * a' b' + beta * c */
clv_status kernel_gemm(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *c = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    bool ta = attr_int(k->n, CLV_A_TRANS_A) != 0;
    bool tb = attr_int(k->n, CLV_A_TRANS_B) != 0;
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    int64_t m = y->dims[0], n = y->dims[1], depth = a->dims[ta ? 0 : 1];
    int64_t sc[2] = {0, 0};
    if (c)
        broadcast_strides(c, 2, sc);
    const double scales[2] = {alpha, beta};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            strip row = {a, ta ? i : i * depth, ta ? m : 1};
            strip col = {b, tb ? j * depth : j, tb ? 1 : n};
            put_affine(y, i * n + j, dot(row, col, depth), scales,
                       (element){c, i * sc[0] + j * sc[1]});
        }
    return CLV_OK;
}

/* -- blocks of channels and pixels ----------------------------------------*/

/* (..,C*b*b,H,W) <-> (..,C,H*b,W*b); mode CRD, as in pixel_shuffle, has the
 * block inside C. */
clv_status kernel_blocks(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool pixels =
        k->n->op == CLV_OP_PIXEL_SHUFFLE || k->n->op == CLV_OP_PIXEL_UNSHUFFLE;
    bool to_space =
        k->n->op == CLV_OP_DEPTH_TO_SPACE || k->n->op == CLV_OP_PIXEL_SHUFFLE;
    int64_t b = attr_int(k->n, CLV_A_BLOCK);
    bool crd = pixels || attr_is(k->n, CLV_A_MODE, "CRD");
    const clv_tensor *wide = to_space ? y : x, *deep = to_space ? x : y;
    uint32_t r = wide->rank;
    int64_t channels = wide->dims[r - 3], h = deep->dims[r - 2];
    int64_t w = deep->dims[r - 1], idx[4] = {0};
    int64_t dims[4] = {INT64_MAX, channels, wide->dims[r - 2],
                       wide->dims[r - 1]};
    for (int64_t i = 0, n = numel(wide); i < n; i++) {
        int64_t by = idx[2] % b, bx = idx[3] % b;
        int64_t c = crd ? idx[1] * b * b + by * b + bx
                        : (by * b + bx) * channels + idx[1];
        int64_t at =
            ((idx[0] * channels * b * b + c) * h + idx[2] / b) * w + idx[3] / b;
        copy_run(y, to_space ? i : at, x, to_space ? at : i, 1);
        next_index(idx, dims, 4);
    }
    return CLV_OK;
}

/* x / (k + alpha * mean of squares over `size` channels)^beta */
clv_status kernel_lrn(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t size = attr_int(k->n, CLV_A_SIZE), c = x->dims[1];
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    double bias = attr_float(k->n, CLV_A_K);
    int64_t plane = c && x->dims[0] ? numel(x) / (c * x->dims[0]) : 0;
    if (x->rank < 2)
        return clv__fail(k->e, CLV_SHAPE, "no channels in rank %u", x->rank);
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        int64_t ch = i / plane % c, base = i - ch * plane;
        int64_t from = ch - (size - 1) / 2, to = from + size;
        double sum = 0;
        for (int64_t j = from < 0 ? 0 : from; j < to && j < c; j++)
            sum += get_f(x, base + j * plane) * get_f(x, base + j * plane);
        put_f(&k->out[0], i,
              get_f(x, i) / pow(bias + alpha / (double)size * sum, beta));
    }
    return CLV_OK;
}

/* signal.c - windows, Fourier transforms, mel weights. */
#include "ops/ops.h"
#include "tensor/dtype.h"

#include <string.h>

/* Of the length that input 0 holds. */
clv_status infer_window(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t size;
    CLV_TRY(get_int(g, n, CLV_A_SIZE, 0, &size, e));
    return out_shape(g, n, 0, asked_type(n, CLV_FLOAT32), 1, &size, e);
}

/* bins, dft_length, ... -> (dft_length/2 + 1, bins) */
clv_status infer_mel(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t bins, length;
    CLV_TRY(get_int(g, n, CLV_A_BINS, 0, &bins, e));
    CLV_TRY(get_int(g, n, CLV_A_SIZE, 1, &length, e));
    if (length < 0)
        return clv__fail(e, CLV_SHAPE, "a length of %lld", (long long)length);
    int64_t dims[2] = {length / 2 + 1, bins};
    return out_shape(g, n, 0, asked_type(n, CLV_FLOAT32), 2, dims, e);
}

/* x (..,1 or 2) over `axis`; input 1 is the length, input 2 the axis. Real
 * and imaginary parts are the last axis of the result. One side is half of a
 * real signal's spectrum; back from it the result is real. */
clv_status infer_dft(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    int_list length, given;
    if (x->rank < 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    CLV_TRY(get_ints(g, n, CLV_A_SIZE, 1, &length, e));
    CLV_TRY(get_ints(g, n, CLV_A_AXIS, 2, &given, e));
    CLV_TRY(norm_axis(given.n ? given.v[0] : 1, x->rank, &axis, e));
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    bool one_side = attr_int(n, CLV_A_ONESIDED) != 0;
    bool to_real = one_side && attr_int(n, CLV_A_INVERSE);
    if (length.n)
        dims[axis] = length.v[0];
    else if (to_real)
        dims[axis] = sat_mul(2, dims[axis] > 0 ? dims[axis] - 1 : 0);
    if (one_side && !to_real)
        dims[axis] = dims[axis] / 2 + 1;
    dims[x->rank - 1] = to_real ? 1 : 2;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* A fast transform of length L: 5 L log2 L. */
static int64_t fft_flops(int64_t length)
{
    return sat_mul(5, sat_mul(length, log2_ceil(length)));
}

void cost_dft(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t axis = attr_int(n, CLV_A_AXIS);
    int64_t length = x->dims[axis < 0 || axis >= x->rank ? 1 : axis];
    int64_t parts = x->dims[x->rank - 1];
    int64_t rows = length && parts ? clv__numel(x) / length / parts : 0;
    c->flops = sat_mul(rows, fft_flops(length));
}

/* A transform of complex elements, or from or to real ones, over several axes;
 * `shape` is the result's, of which a real signal's spectrum has half an axis.
 */
clv_status infer_fft(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list shape, axes;
    uint32_t axis;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 1, &shape, e));
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 1, &axes, e));
    if (shape.n != x->rank)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, result of rank %u",
                         x->rank, shape.n);
    for (uint32_t i = 0; i < axes.n; i++)
        CLV_TRY(norm_axis(axes.v[i], x->rank, &axis, e));
    return out_shape(g, n, 0, (clv_dtype)x->dtype, shape.n, shape.v, e);
}

/* A fast transform of L elements, the product of the axes' lengths; half of it
 * where one side is real. The longer side of an axis is its length. */
void cost_fft(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    uint32_t n_axes = 0, a;
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &n_axes);
    int64_t length = 1, all = 1;
    for (uint32_t i = 0; i < y->rank; i++)
        all = sat_mul(all, x->dims[i] > y->dims[i] ? x->dims[i] : y->dims[i]);
    for (uint32_t i = 0; i < n_axes; i++)
        if (norm_axis(axes[i], y->rank, &a, NULL) == CLV_OK)
            length = sat_mul(length,
                             x->dims[a] > y->dims[a] ? x->dims[a] : y->dims[a]);
    bool real = dtype_class_of((clv_dtype)x->dtype) != CLASS_COMPLEX ||
                dtype_class_of((clv_dtype)y->dtype) != CLASS_COMPLEX;
    int64_t rows = length ? all / length : 0;
    c->flops = sat_mul(rows, fft_flops(length)) / (real ? 2 : 1);
}

/* x (N,L,1 or 2), step, window, frame length -> (N, frames, bins, 2) */
clv_status infer_stft(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *taper = node_in(g, n, 2);
    int64_t step, length = taper && taper->rank == 1 ? taper->dims[0] : 0;
    int_list given;
    CLV_TRY(get_int(g, n, CLV_A_STEP, 1, &step, e));
    CLV_TRY(get_ints(g, n, CLV_A_SIZE, 3, &given, e));
    if (given.n)
        length = given.v[0];
    if (x->rank < 2 || step < 1 || length < 1 || length > x->dims[1])
        return clv__fail(e, CLV_SHAPE, "frames of %lld every %lld",
                         (long long)length, (long long)step);
    int64_t dims[4] = {x->dims[0], (x->dims[1] - length) / step + 1,
                       attr_int(n, CLV_A_ONESIDED) ? length / 2 + 1 : length,
                       2};
    return out_shape(g, n, 0, (clv_dtype)x->dtype, 4, dims, e);
}

void cost_stft(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *y = node_out(g, n, 0);
    c->flops = sat_mul(sat_mul(y->dims[0], y->dims[1]),
                       fft_flops(sat_mul(2, y->dims[2])));
}

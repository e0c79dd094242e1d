/* copy.c - the same elements in another order or number: repeat, pad, unfold,
 * shuffles. Data is read and written; only fold computes, by adding. */
#include "ops/ops.h"

#include <string.h>

/* `repeats` per axis, aligned on the right, as attribute or input 1. */
clv_status infer_repeat(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list times;
    CLV_TRY(get_ints(g, n, CLV_A_REPEATS, 1, &times, e));
    if (times.n < x->rank || times.n > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "%u repeats for a rank-%u tensor",
                         times.n, x->rank);
    int64_t dims[CLV_MAX_RANK];
    uint32_t lead = times.n - x->rank;
    for (uint32_t i = 0; i < times.n; i++) {
        if (times.v[i] < 0)
            return clv__fail(e, CLV_SHAPE, "repeat %lld times",
                             (long long)times.v[i]);
        dims[i] = sat_mul(times.v[i], i < lead ? 1 : x->dims[i - lead]);
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, times.n, dims, e);
}

/* Each element of an axis `repeats` times, or as often as a list says; without
 * an axis, of the flattened tensor. */
clv_status infer_repeat_interleave(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list times;
    CLV_TRY(get_ints(g, n, CLV_A_REPEATS, 1, &times, e));
    int64_t dims[CLV_MAX_RANK] = {clv__numel(x)}, sum = 0;
    uint32_t rank = 1, axis = 0;
    if (attr_get(n, CLV_A_AXIS) && x->rank) {
        CLV_TRY(get_axis(n, x->rank, &axis, e));
        memcpy(dims, x->dims, x->rank * sizeof *dims);
        rank = x->rank;
    }
    for (uint32_t i = 0; i < times.n; i++) {
        if (times.v[i] < 0)
            return clv__fail(e, CLV_SHAPE, "repeat %lld times",
                             (long long)times.v[i]);
        sum = sat_add(sum, times.v[i]);
    }
    if (times.n == 0 || (times.n > 1 && times.n != dims[axis]))
        return clv__fail(e, CLV_SHAPE, "%u repeats for an axis of %lld",
                         times.n, (long long)dims[axis]);
    dims[axis] = times.n == 1 ? sat_mul(sum, dims[axis]) : sum;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* -- padding --------------------------------------------------------------*/

static clv_status pad_axis(const char *mode, int64_t before, int64_t after,
                           int64_t *dim, clv_err *e)
{
    const int64_t limit = INT64_C(1) << 60;
    int64_t most = before > after ? before : after;
    bool reflect = !strcmp(mode, "reflect");
    bool wrap = !strcmp(mode, "circular") || !strcmp(mode, "wrap");
    if (before > limit || after > limit || before < -limit || after < -limit ||
        *dim > limit)
        return clv__fail(e, CLV_OVERFLOW, "padding %lld and %lld",
                         (long long)before, (long long)after);
    if ((reflect && most >= *dim && most > 0) || (wrap && most > *dim))
        return clv__fail(e, CLV_SHAPE, "%s padding of %lld around %lld", mode,
                         (long long)most, (long long)*dim);
    *dim += before + after;
    return CLV_OK;
}

/* `padding` (or input 1): begins, then ends, of all axes or of those in `axes`
 * (or input 3). Negative entries crop. Input 2 is the value. */
clv_status infer_pad(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list pads, axes;
    CLV_TRY(get_ints(g, n, CLV_A_PADDING, 1, &pads, e));
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 3, &axes, e));
    uint32_t count = axes.found ? axes.n : x->rank;
    if (count > CLV_MAX_RANK || pads.n != 2 * count)
        return clv__fail(e, CLV_SHAPE, "%u paddings for %u axes", pads.n,
                         count);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    const char *mode = attr_str(n, CLV_A_MODE);
    bool seen[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a;
        CLV_TRY(claim_axis(axes.found ? axes.v[i] : (int64_t)i, x->rank, seen,
                           &a, e));
        CLV_TRY(pad_axis(mode, pads.v[i], pads.v[count + i], &dims[a], e));
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
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
    bool seen[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < size.n; i++) {
        uint32_t a;
        CLV_TRY(claim_axis(axes ? axes[i] : (int64_t)i, x->rank, seen, &a, e));
        dims[a] = size.v[i];
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* -- windows as columns ---------------------------------------------------*/

/* Positions of the window over an image of nd axes, and the taps of one. */
static clv_status count_windows(const clv_graph *g, const clv_node *n,
                                const int64_t *image, uint32_t nd,
                                int64_t *places, int64_t *taps, clv_err *e)
{
    int_list kernel;
    CLV_TRY(get_ints(g, n, CLV_A_KERNEL, 2, &kernel, e));
    if (kernel.n == 0)
        return clv__fail(e, CLV_SHAPE, "no kernel");
    *places = *taps = 1;
    for (uint32_t i = 0; i < nd; i++) {
        window w;
        int64_t k = list_at(kernel.v, kernel.n, i), out;
        CLV_TRY(get_window(n, i, nd, image[i], k, &w, e));
        CLV_TRY(window_out(&w, image[i], false, &out, e));
        *places = sat_mul(*places, out);
        *taps = sat_mul(*taps, k);
    }
    return CLV_OK;
}

/* x (N,C,H,W) -> (N, C*kh*kw, places); N may be absent */
clv_status infer_unfold(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 3 || x->rank > 4)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    uint32_t r = x->rank;
    int64_t dims[3] = {x->dims[0]}, taps;
    CLV_TRY(count_windows(g, n, x->dims + r - 2, 2, &dims[2], &taps, e));
    dims[1] = sat_mul(x->dims[r - 3], taps);
    return out_shape(g, n, 0, (clv_dtype)x->dtype, r - 1u, dims + (4 - r), e);
}

/* x (N, C*kh*kw, places) -> (N,C,H,W) of `output_size`, or of more or fewer
 * axes; overlaps are added */
clv_status infer_fold(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t nd, r = x->rank;
    int_list size;
    CLV_TRY(get_ints(g, n, CLV_A_OUTPUT_SIZE, 1, &size, e));
    nd = size.n;
    if (r < 2 || r > 3 || nd == 0 || nd + 2 > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, %u output sizes", r,
                         nd);
    int64_t dims[CLV_MAX_RANK] = {x->dims[0]}, places, taps;
    for (uint32_t i = 0; i < nd; i++) {
        dims[2 + i] = size.v[i];
        if (size.v[i] < 0)
            return clv__fail(e, CLV_SHAPE, "fold to a negative size");
    }
    CLV_TRY(count_windows(g, n, dims + 2, nd, &places, &taps, e));
    if (x->dims[r - 1] != places || taps == 0 || x->dims[r - 2] % taps)
        return clv__fail(e, CLV_SHAPE,
                         "%lld columns of %lld for %lld windows of %lld",
                         (long long)x->dims[r - 1], (long long)x->dims[r - 2],
                         (long long)places, (long long)taps);
    dims[1] = x->dims[r - 2] / taps;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, r - 1u + nd, dims + (3 - r),
                     e);
}

/* -- shuffles -------------------------------------------------------------*/

static clv_status get_block(const clv_node *n, const clv_value *x,
                            int64_t *block, clv_err *e)
{
    *block = attr_int(n, CLV_A_BLOCK);
    if (x->rank < 3 || *block < 1)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, block %lld", x->rank,
                         (long long)*block);
    return CLV_OK;
}

/* (.., C*b*b, H, W) -> (.., C, H*b, W*b) */
clv_status infer_pixel_shuffle(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t b, dims[CLV_MAX_RANK];
    CLV_TRY(get_block(n, x, &b, e));
    uint32_t c = x->rank - 3u;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (dims[c] % sat_mul(b, b))
        return clv__fail(e, CLV_SHAPE, "%lld channels in blocks of %lld^2",
                         (long long)dims[c], (long long)b);
    dims[c] /= sat_mul(b, b);
    dims[c + 1] = sat_mul(dims[c + 1], b);
    dims[c + 2] = sat_mul(dims[c + 2], b);
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* (.., C, H*b, W*b) -> (.., C*b*b, H, W) */
clv_status infer_pixel_unshuffle(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t b, dims[CLV_MAX_RANK];
    CLV_TRY(get_block(n, x, &b, e));
    uint32_t c = x->rank - 3u;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (dims[c + 1] % b || dims[c + 2] % b)
        return clv__fail(e, CLV_SHAPE, "%lld by %lld in blocks of %lld",
                         (long long)dims[c + 1], (long long)dims[c + 2],
                         (long long)b);
    dims[c] = sat_mul(dims[c], sat_mul(b, b));
    dims[c + 1] /= b;
    dims[c + 2] /= b;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

clv_status infer_channel_shuffle(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t groups = attr_int(n, CLV_A_GROUPS);
    if (x->rank < 3 || groups < 1 || x->dims[1] % groups)
        return clv__fail(e, CLV_SHAPE, "input of rank %u in %lld groups",
                         x->rank, (long long)groups);
    return out_like(g, n, 0, x, e);
}

/* -- whole tensors --------------------------------------------------------*/

/* Shifts or flips along axes that must exist; a shift has one number for
 * each. */
clv_status infer_axes_same(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t count, a, shifts;
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &count);
    if (n->op == CLV_OP_ROLL && attr_ints(n, CLV_A_SHIFTS, &shifts) &&
        shifts != (axes ? count : 1))
        return clv__fail(e, CLV_SHAPE, "%u shifts for %u axes", shifts, count);
    for (uint32_t i = 0; i < count; i++)
        CLV_TRY(norm_axis(axes[i], x->rank ? x->rank : 1, &a, e));
    return out_like(g, n, 0, x, e);
}

/* Vectors of sizes a, b, .. -> one (a, b, ..) each; mode "xy" swaps a, b. */
clv_status infer_meshgrid(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    if (n->n_in > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "grid of %u axes", n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || v->rank > 1)
            return clv__fail(e, CLV_SHAPE, "input %u is not a vector", i);
        dims[i] = clv__numel(v);
    }
    if (n->n_in > 1 && attr_is(n, CLV_A_MODE, "xy")) {
        int64_t first = dims[0];
        dims[0] = dims[1];
        dims[1] = first;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_value *v = node_in(g, n, i < n->n_in ? i : 0);
        CLV_TRY(out_shape(g, n, i, (clv_dtype)v->dtype, n->n_in, dims, e));
    }
    return CLV_OK;
}

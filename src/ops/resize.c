/* resize.c - sampling between elements: interpolate, grids, regions.
 *
 * A sample between k elements costs k multiplications and k-1 additions: 3 in
 * one dimension, 7 in two, 15 in three, 31 for a bicubic one (16 elements).
 * Coordinates are not counted: they are shared by all channels. */
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* FLOPs of one sample over nd axes. */
static int64_t sample_cost(const char *mode, uint32_t nd)
{
    if (strstr(mode, "cubic"))
        return nd == 1 ? 7 : nd == 2 ? 31 : 127;
    if (!strstr(mode, "linear"))
        return 0; /* nearest: a copy */
    return (INT64_C(2) << nd) - 1;
}

/* -- interpolate ----------------------------------------------------------*/

static clv_status resize_scaled(int64_t size, double scale, int64_t *out,
                                clv_err *e)
{
    double d = floor((double)size * scale);
    if (!(d >= 0 && d < 9e18))
        return clv__fail(e, CLV_SHAPE, "%lld scaled by %g", (long long)size,
                         scale);
    *out = (int64_t)d;
    return CLV_OK;
}

/* Finds the axis that the i-th of `count` sizes is for. Sizes may be for all
 * axes, for those in `axes`, or for the spatial ones; one size is for all of
 * these. */
static clv_status sized_axis(const clv_node *n, const clv_value *x, uint32_t i,
                             uint32_t count, uint32_t *axis, clv_err *e)
{
    uint32_t named;
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &named);
    if (named && named == count)
        return norm_axis(axes[i], x->rank, axis, e);
    if (named)
        return clv__fail(e, CLV_SHAPE, "%u sizes for %u axes", count, named);
    if (count != x->rank && count != x->rank - 2u)
        return clv__fail(e, CLV_SHAPE, "%u sizes for a rank-%u tensor", count,
                         x->rank);
    *axis = count == x->rank ? i : i + 2;
    return CLV_OK;
}

double clv__aspect_scale(const clv_node *n, const clv_value *x,
                         const int64_t *size, uint32_t count)
{
    const char *mode = attr_str(n, CLV_A_ASPECT);
    bool least = !strcmp(mode, "not_larger");
    double best = 0;
    if (!least && strcmp(mode, "not_smaller"))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        if (sized_axis(n, x, i, count, &axis, NULL) != CLV_OK)
            return 0;
        double s = (double)size[i] / (double)x->dims[axis];
        if (i == 0 || (least ? s < best : s > best))
            best = s;
    }
    return best;
}

/* x (N,C,..); `size` (or input 1) or `scales` (or input 2). With `aspect` one
 * scale is taken for all sizes, the results rounded. */
clv_status infer_interpolate(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list size;
    double scale[CLV_MAX_RANK];
    uint32_t n_scale = 0;
    CLV_TRY(get_ints(g, n, CLV_A_SIZE, 1, &size, e));
    if (size.n == 0)
        CLV_TRY(get_floats(g, n, CLV_A_SCALES, 2, scale, CLV_MAX_RANK, &n_scale,
                           e));
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    uint32_t given = size.n ? size.n : n_scale, count = given;
    bool named = attr_get(n, CLV_A_AXES) != NULL;
    if (x->rank < 3 && !named && given != x->rank)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    if (given == 1 && !named && x->rank > 2)
        count = x->rank - 2u; /* one for every spatial axis */
    double aspect = clv__aspect_scale(n, x, size.v, size.n);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis, k = given == 1 ? 0 : i;
        CLV_TRY(sized_axis(n, x, i, count, &axis, e));
        if (aspect > 0)
            CLV_TRY(resize_scaled(1, (double)x->dims[axis] * aspect + 0.5,
                                  &dims[axis], e));
        else if (size.n)
            dims[axis] = size.v[k];
        else
            CLV_TRY(resize_scaled(x->dims[axis], scale[k], &dims[axis], e));
        if (axis > 1 && (x->dims[axis] < 1 || dims[axis] < 1))
            return clv__fail(e, CLV_SHAPE, "an axis of %lld resized to %lld",
                             (long long)x->dims[axis], (long long)dims[axis]);
    }
    if (count == 0)
        return clv__fail(e, CLV_SHAPE, "neither size nor scales");
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Per output a sample over the axes that are resized; the mean over an area
 * reads every input once. */
void cost_interpolate(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    const char *mode = attr_str(n, CLV_A_MODE);
    if (!strcmp(mode, "area"))
        c->flops = clv__numel(x);
    else
        c->flops =
            sat_mul(sample_cost(mode, x->rank > 2 ? x->rank - 2u : x->rank),
                    clv__numel(y));
}

/* -- grids ----------------------------------------------------------------*/

/* x (N,C,H,W), grid (N,P,Q,2) -> (N,C,P,Q); likewise with three axes */
clv_status infer_grid_sample(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *grid = node_in(g, n, 1);
    uint32_t r = x->rank;
    if (r < 3 || grid->rank != r)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, grid of rank %u", r,
                         grid->rank);
    if (grid->dims[0] != x->dims[0] || grid->dims[r - 1] != r - 2)
        return clv__fail(e, CLV_SHAPE,
                         "a grid of %lld times %lld coordinates for a batch of "
                         "%lld",
                         (long long)grid->dims[0], (long long)grid->dims[r - 1],
                         (long long)x->dims[0]);
    int64_t dims[CLV_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (uint32_t i = 2; i < r; i++)
        dims[i] = grid->dims[i - 1];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, r, dims, e);
}

void cost_grid_sample(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    const char *mode = attr_str(n, CLV_A_MODE);
    c->flops =
        sat_mul(sample_cost(mode, x->rank - 2u), clv__numel(node_out(g, n, 0)));
}

/* theta (N,2,3) and size (N,C,H,W) -> (N,H,W,2); likewise (N,3,4) */
clv_status infer_affine_grid(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *theta = node_in(g, n, 0);
    int_list size;
    CLV_TRY(get_ints(g, n, CLV_A_SIZE, 1, &size, e));
    uint32_t nd = size.n > 2 ? size.n - 2 : 0;
    if (theta->rank != 3 || nd < 1 || nd > 3 || theta->dims[1] != nd ||
        theta->dims[2] != nd + 1 || theta->dims[0] != size.v[0])
        return clv__fail(e, CLV_SHAPE, "theta of rank %u for %u sizes",
                         theta->rank, size.n);
    int64_t dims[CLV_MAX_RANK] = {size.v[0]};
    for (uint32_t i = 0; i < nd; i++)
        dims[1 + i] = size.v[2 + i];
    dims[nd + 1] = nd;
    return out_shape(g, n, 0, (clv_dtype)theta->dtype, nd + 2, dims, e);
}

/* A product with theta for every point. */
void cost_affine_grid(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *theta = node_in(g, n, 0);
    c->macs = sat_mul(clv__numel(node_out(g, n, 0)), theta->dims[2]);
    c->flops = sat_mul(2, c->macs);
}

/* -- regions --------------------------------------------------------------*/

/* x (N,C,H,W), boxes (K,4 or 5) -> (K,C,P,Q) of `output_size` */
clv_status infer_roi(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *boxes = node_in(g, n, 1);
    uint32_t count;
    const int64_t *size = attr_ints(n, CLV_A_OUTPUT_SIZE, &count);
    if (x->rank != 4 || boxes->rank != 2 || boxes->dims[1] < 4 ||
        boxes->dims[1] > 5)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, boxes of rank %u",
                         x->rank, boxes->rank);
    int64_t dims[4] = {boxes->dims[0], x->dims[1], list_at(size, count, 0),
                       list_at(size, count, 1)};
    return out_shape(g, n, 0, (clv_dtype)x->dtype, 4, dims, e);
}

/* The mean of sampling^2 samples between 4 elements: 8 FLOPs each. Without a
 * sampling ratio it depends on the boxes; 2 is taken then. */
void cost_roi_align(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t ratio = attr_int(n, CLV_A_SAMPLING);
    if (ratio < 1) {
        ratio = 2;
        c->trust = CLV_TRUST_ESTIMATED;
    }
    c->flops = sat_mul(sat_mul(8, sat_mul(ratio, ratio)),
                       clv__numel(node_out(g, n, 0)));
}

/* At most the whole image is compared for each box. */
void cost_max_roi_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *boxes = node_in(g, n, 1);
    c->trust = CLV_TRUST_ESTIMATED;
    c->flops = sat_mul(boxes->dims[0], dims_product(x->dims, 1, 4));
}

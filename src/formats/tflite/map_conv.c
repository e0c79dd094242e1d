/* map_conv.c - convolutions, pools, products and what resizes images.
 *
 *   Conv        x (N,H,W,C)  w (M,H,W,C/g)  -> conv2d of (N,C,H,W), (M,C/g,H,W)
 *   Depthwise   w (1,H,W,M)                 -> groups of C, w (M,1,H,W)
 *   Transposed  w (M,H,W,C), the result's shape as input 0
 *   Fully connected  w (M,C): a linear layer of x as (.., C) */
#include "formats/tflite/tflite.h"

#include <string.h>

/* Conv2DOptions, Pool2DOptions, DepthwiseConv2DOptions, .. by number. */
enum {
    OPT_PADDING = 0,
    OPT_STRIDE_W = 1,
    OPT_STRIDE_H = 2,
    CONV_ACT = 3,
    CONV_DILATION_W = 4,
    CONV_DILATION_H = 5,
    POOL_WIDTH = 3,
    POOL_HEIGHT = 4,
    POOL_ACT = 5,
    DEPTHWISE_ACT = 4,
    DEPTHWISE_DILATION_W = 5,
    DEPTHWISE_DILATION_H = 6,
    PADDING_VALID = 1
};

static int64_t conv_opt(tfl_call *c, uint32_t field, int64_t otherwise)
{
    return flat_i32(&c->m->f, c->opts, field, otherwise);
}

static const char *conv_padding(tfl_call *c)
{
    return flat_i8(&c->m->f, c->opts, OPT_PADDING, 0) == PADDING_VALID ? "valid"
                                                                       : "same";
}

/* A weight with its axes in our order, in real numbers. */
static uint32_t conv_weight(tfl_call *c, uint32_t i, const int64_t *perm,
                            uint32_t rank)
{
    uint32_t at = tfl_at(c, i), v = tfl_codes(c, i);
    if (tfl_failed(c->m))
        return CLV_NONE;
    int64_t axis = tfl_scale_axis(c->s, at);
    if (tfl_rank(c, v) != rank) {
        flat_fail(&c->m->f, c->is.at, "%s: a weight of %u axes, needs %u",
                  c->origin, tfl_rank(c, v), rank);
        return CLV_NONE;
    }
    v = tfl_permute(c, v, perm, rank);
    for (uint32_t k = 0; axis >= 0 && k < rank; k++)
        if (perm[k] == axis) {
            axis = k;
            break;
        }
    return tfl_dequantise(c->s, at, v, axis);
}

static uint32_t conv_add(tfl_call *c, uint32_t w, int64_t groups, uint32_t act,
                         uint32_t dilation_w)
{
    uint32_t ins[3] = {tfl_in_first(c, 0), w,
                       tfl_has(c, 2) ? tfl_in(c, 2) : CLV_NONE};
    int64_t stride[2] = {conv_opt(c, OPT_STRIDE_H, 1),
                         conv_opt(c, OPT_STRIDE_W, 1)};
    int64_t dilation[2] = {conv_opt(c, dilation_w + 1, 1),
                           conv_opt(c, dilation_w, 1)};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_STRIDE, stride, 2);
    tfl_ints(&a, CLV_A_DILATION, dilation, 2);
    tfl_str(&a, CLV_A_AUTO_PAD, conv_padding(c));
    tfl_int(&a, CLV_A_GROUPS, groups);
    uint32_t y =
        tfl_node(c, CLV_OP_CONV2D, ins, ins[2] == CLV_NONE ? 2 : 3, 1, &a);
    tfl_give_act(c, 0, y, true, flat_i8(&c->m->f, c->opts, act, 0));
    return y;
}

void lite_conv(tfl_call *c)
{
    static const int64_t perm[] = {0, 3, 1, 2};
    uint32_t w = conv_weight(c, 1, perm, 4), x = tfl_codes_first(c, 0);
    int64_t of = tfl_dim(c, w, 1), in = tfl_dim(c, x, 1);
    conv_add(c, w, of > 0 && in % of == 0 ? in / of : 1, CONV_ACT,
             CONV_DILATION_W);
}

void lite_depthwise(tfl_call *c)
{
    static const int64_t perm[] = {3, 0, 1, 2};
    uint32_t w = conv_weight(c, 1, perm, 4), x = tfl_codes_first(c, 0);
    int64_t groups = tfl_dim(c, x, 1);
    conv_add(c, w, groups > 0 ? groups : 1, DEPTHWISE_ACT,
             DEPTHWISE_DILATION_W);
}

/* The padding of a transposed convolution: that of the convolution from the
 * result's size to x's size, before and after each axis. */
static void conv_back_padding(tfl_call *c, const int64_t *size,
                              const int64_t *in, const int64_t *kernel,
                              const int64_t *stride, uint32_t nd, int64_t *pad,
                              int64_t *extra)
{
    bool valid = !strcmp(conv_padding(c), "valid");
    for (uint32_t i = 0; i < nd; i++) {
        int64_t full = (in[i] - 1) * stride[i] + kernel[i];
        int64_t cut = valid || full < size[i] ? 0 : full - size[i];
        pad[i] = cut / 2;
        pad[nd + i] = cut - cut / 2;
        extra[i] = size[i] > full ? size[i] - full : 0;
    }
}

static void conv_back(tfl_call *c, clv_op op, const int64_t *perm, uint32_t nd,
                      const int64_t *stride, uint32_t act, bool to_first)
{
    int64_t shape[CLV_MAX_RANK], in[3], kernel[3], pad[6], extra[3];
    uint32_t n;
    bool known = tfl_list(c, 0, shape, &n, CLV_MAX_RANK);
    uint32_t at = tfl_out(c, 0), last = nd + 1;
    if (!known && at < c->s->n_tensors && c->s->tensors[at].rank == nd + 2) {
        memcpy(shape, c->s->tensors[at].dims, (nd + 2) * sizeof *shape);
        n = nd + 2;
    }
    static const int64_t turn3[] = {0, 4, 1, 2, 3}, back3[] = {0, 2, 3, 4, 1};
    uint32_t w = conv_weight(c, 1, perm, nd + 2);
    uint32_t x =
        to_first ? tfl_in_first(c, 2) : tfl_permute(c, tfl_in(c, 2), turn3, 5);
    if (tfl_failed(c->m))
        return;
    if (n != last + 1) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < nd; i++) {
        in[i] = tfl_dim(c, x, 2 + i);
        kernel[i] = tfl_dim(c, w, 2 + i);
    }
    conv_back_padding(c, shape + 1, in, kernel, stride, nd, pad, extra);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_STRIDE, stride, nd);
    tfl_ints(&a, CLV_A_PADDING, pad, 2 * nd);
    tfl_ints(&a, CLV_A_OUTPUT_PADDING, extra, nd);
    uint32_t ins[3] = {x, w, tfl_has(c, 3) ? tfl_in(c, 3) : CLV_NONE};
    uint32_t y = tfl_node(c, op, ins, ins[2] == CLV_NONE ? 2 : 3, 1, &a);
    if (!to_first)
        y = tfl_permute(c, y, back3, 5);
    tfl_give_act(c, 0, y, to_first, flat_i8(&c->m->f, c->opts, act, 0));
}

void lite_conv_transpose(tfl_call *c)
{
    static const int64_t perm[] = {3, 0, 1, 2};
    int64_t stride[2] = {conv_opt(c, OPT_STRIDE_H, 1),
                         conv_opt(c, OPT_STRIDE_W, 1)};
    conv_back(c, CLV_OP_CONVT2D, perm, 2, stride, 3, true);
}

/* -- three axes -----------------------------------------------------------*/

/* Conv3DOptions: padding, strides of depth, width and height, activation,
 * dilations. Weights are (D,H,W,C,M). */
enum {
    CONV3_STRIDE_D = 1,
    CONV3_STRIDE_W = 2,
    CONV3_STRIDE_H = 3,
    CONV3_ACT = 4,
    CONV3_DILATION_D = 5,
    CONV3_DILATION_W = 6,
    CONV3_DILATION_H = 7
};

void lite_conv3d(tfl_call *c)
{
    static const int64_t perm[] = {4, 3, 0, 1, 2}, turn[] = {0, 4, 1, 2, 3},
                         back[] = {0, 2, 3, 4, 1};
    int64_t stride[3] = {conv_opt(c, CONV3_STRIDE_D, 1),
                         conv_opt(c, CONV3_STRIDE_H, 1),
                         conv_opt(c, CONV3_STRIDE_W, 1)};
    int64_t dilation[3] = {conv_opt(c, CONV3_DILATION_D, 1),
                           conv_opt(c, CONV3_DILATION_H, 1),
                           conv_opt(c, CONV3_DILATION_W, 1)};
    uint32_t ins[3] = {tfl_permute(c, tfl_in(c, 0), turn, 5),
                       conv_weight(c, 1, perm, 5),
                       tfl_has(c, 2) ? tfl_in(c, 2) : CLV_NONE};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_STRIDE, stride, 3);
    tfl_ints(&a, CLV_A_DILATION, dilation, 3);
    tfl_str(&a, CLV_A_AUTO_PAD, conv_padding(c));
    uint32_t y =
        tfl_node(c, CLV_OP_CONV3D, ins, ins[2] == CLV_NONE ? 2 : 3, 1, &a);
    y = tfl_permute(c, y, back, 5);
    tfl_give_act(c, 0, y, false, flat_i8(&c->m->f, c->opts, CONV3_ACT, 0));
}

void lite_conv3d_transpose(tfl_call *c)
{
    static const int64_t perm[] = {4, 3, 0, 1, 2}; /* (D,H,W,M,C) */
    int64_t stride[3] = {conv_opt(c, CONV3_STRIDE_D, 1),
                         conv_opt(c, CONV3_STRIDE_H, 1),
                         conv_opt(c, CONV3_STRIDE_W, 1)};
    conv_back(c, CLV_OP_CONVT3D, perm, 3, stride, CONV3_ACT, false);
}

/* -- pools ----------------------------------------------------------------*/

/* arg 0: mean; 1: maximum, which codes have as numbers do; 2: root of the mean
 * square. */
void lite_pool(tfl_call *c)
{
    bool max = c->row->arg == 1, codes = max && tfl_same_codes(c, 0, 0);
    uint32_t x = codes ? tfl_codes_first(c, 0) : tfl_in_first(c, 0);
    int64_t kernel[2] = {conv_opt(c, POOL_HEIGHT, 1),
                         conv_opt(c, POOL_WIDTH, 1)};
    int64_t stride[2] = {conv_opt(c, OPT_STRIDE_H, 1),
                         conv_opt(c, OPT_STRIDE_W, 1)};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_KERNEL, kernel, 2);
    tfl_ints(&a, CLV_A_STRIDE, stride, 2);
    tfl_str(&a, CLV_A_AUTO_PAD, conv_padding(c));
    if (!max)
        tfl_int(&a, CLV_A_COUNT_INCLUDE_PAD, 0);
    if (c->row->arg == 2)
        x = tfl_1(c, CLV_OP_SQUARE, x, NULL);
    x = tfl_1(c, c->row->op, x, &a);
    if (c->row->arg == 2)
        x = tfl_1(c, CLV_OP_SQRT, x, NULL);
    int64_t act = flat_i8(&c->m->f, c->opts, POOL_ACT, 0);
    if (codes && !act)
        tfl_give_codes(c, 0, x, true);
    else if (codes)
        tfl_give_act(c, 0, tfl_dequantise(c->s, tfl_at(c, 0), x, -1), true,
                     act);
    else
        tfl_give_act(c, 0, x, true, act);
}

/* -- products -------------------------------------------------------------*/

enum { LINEAR_ACT = 0, LINEAR_FORMAT = 1, LINEAR_KEEP_DIMS = 2 };

/* (.., K) as rows of the weight's width. */
static uint32_t linear_rows(tfl_call *c, uint32_t x, int64_t width, bool keep)
{
    uint32_t rank = tfl_rank(c, x);
    int64_t dims[2] = {-1, width};
    bool fits = rank >= 1 && tfl_dim(c, x, -1) == width;
    if (!rank || width < 1 || (fits && (keep || rank == 2)))
        return x;
    int64_t n = clv__numel(&c->g->values[x]);
    dims[0] = n % width == 0 ? n / width : -1;
    return tfl_reshape(c, x, dims, 2);
}

void lite_linear(tfl_call *c)
{
    bool keep = flat_i8(&c->m->f, c->opts, LINEAR_KEEP_DIMS, 0) != 0;
    uint32_t w = tfl_in(c, 1);
    uint32_t x = linear_rows(c, tfl_codes(c, 0), tfl_dim(c, w, 1), keep);
    if (tfl_failed(c->m))
        return;
    x = tfl_dequantise(c->s, tfl_at(c, 0), x, -1);
    if (flat_i8(&c->m->f, c->opts, LINEAR_FORMAT, 0))
        c->why = "its weights are shuffled";
    uint32_t ins[3] = {x, w, tfl_has(c, 2) ? tfl_in(c, 2) : CLV_NONE};
    uint32_t y =
        tfl_node(c, CLV_OP_LINEAR, ins, ins[2] == CLV_NONE ? 2 : 3, 1, NULL);
    tfl_give_act(c, 0, y, false, flat_i8(&c->m->f, c->opts, LINEAR_ACT, 0));
}

/* An operand of a product, its last two axes exchanged where `adjoint`. */
static uint32_t matmul_side(tfl_call *c, uint32_t i, bool adjoint)
{
    uint32_t at = tfl_at(c, i), v = tfl_codes(c, i), rank = tfl_rank(c, v);
    int64_t pair[2] = {-2, -1};
    if (tfl_failed(c->m))
        return CLV_NONE;
    int64_t axis = tfl_scale_axis(c->s, at);
    if (adjoint && rank >= 2) {
        tfl_attrs a = {0};
        tfl_ints(&a, CLV_A_AXES, pair, 2);
        v = tfl_1(c, CLV_OP_TRANSPOSE, v, &a);
        if (axis >= 0 && axis + 2 >= (int64_t)rank)
            axis = 2 * (int64_t)rank - 3 - axis;
    }
    return tfl_dequantise(c->s, at, v, axis);
}

void lite_matmul(tfl_call *c)
{
    flat *f = &c->m->f;
    uint32_t x = matmul_side(c, 0, flat_i8(f, c->opts, 0, 0) != 0);
    uint32_t y = matmul_side(c, 1, flat_i8(f, c->opts, 1, 0) != 0);
    tfl_give(c, 0, tfl_2(c, CLV_OP_MATMUL, x, y), false);
}

void lite_embedding(tfl_call *c)
{
    uint32_t ins[2] = {tfl_in(c, 1), tfl_codes(c, 0)};
    tfl_give(c, 0, tfl_node(c, CLV_OP_EMBEDDING, ins, 2, 1, NULL), false);
}

/* -- images ---------------------------------------------------------------*/

void lite_blocks(tfl_call *c)
{
    bool codes = tfl_same_codes(c, 0, 0);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_BLOCK, conv_opt(c, 0, 1));
    uint32_t y = tfl_1(c, c->row->op,
                       codes ? tfl_codes_first(c, 0) : tfl_in_first(c, 0), &a);
    if (codes)
        tfl_give_codes(c, 0, y, true);
    else
        tfl_give(c, 0, y, true);
}

/* arg 1: bilinear, whose options follow two that are no longer used. */
void lite_resize(tfl_call *c)
{
    bool linear = c->row->arg == 1;
    uint32_t field = linear ? 2 : 0, n;
    int64_t size[2] = {0};
    flat *f = &c->m->f;
    bool corners = flat_i8(f, c->opts, field, 0) != 0;
    bool centers = flat_i8(f, c->opts, field + 1, 0) != 0;
    if (!tfl_list(c, 1, size, &n, 2) || n != 2) {
        tfl_unknown(c);
        return;
    }
    bool codes = !linear && tfl_same_codes(c, 0, 0);
    static const int64_t axes[2] = {2, 3};
    tfl_attrs a = {0};
    tfl_str(&a, CLV_A_MODE, linear ? "linear" : "nearest");
    tfl_ints(&a, CLV_A_SIZE, size, 2);
    tfl_ints(&a, CLV_A_AXES, axes, 2);
    tfl_str(&a, CLV_A_COORDINATES,
            corners              ? "align_corners"
            : centers && !linear ? "tf_half_pixel_for_nn"
            : centers            ? "half_pixel"
                                 : "asymmetric");
    if (!linear && corners)
        tfl_str(&a, CLV_A_ROUNDING, "round_prefer_ceil");
    uint32_t y = tfl_1(c, CLV_OP_INTERPOLATE,
                       codes ? tfl_codes_first(c, 0) : tfl_in_first(c, 0), &a);
    if (codes)
        tfl_give_codes(c, 0, y, true);
    else
        tfl_give(c, 0, y, true);
}

/* x * (bias + alpha * sum of squares over 2r+1 channels) ^ -beta */
void lite_lrn(tfl_call *c)
{
    flat *f = &c->m->f;
    int64_t radius = conv_opt(c, 0, 0), size = 2 * radius + 1;
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_SIZE, size);
    tfl_float(&a, CLV_A_ALPHA, flat_f32(f, c->opts, 2, 0) * (double)size);
    tfl_float(&a, CLV_A_BETA, flat_f32(f, c->opts, 3, 0));
    tfl_float(&a, CLV_A_K, flat_f32(f, c->opts, 1, 0));
    tfl_give(c, 0, tfl_1(c, c->row->op, tfl_in_first(c, 0), &a), true);
}

/* raft.c - RAFT: Recurrent All-Pairs Field Transforms for Optical Flow (Teed &
 * Deng, 2020).
 *
 * Features of both images, an eighth of their size; the product of every place
 * of one with every place of the other, pooled to four levels; then 12 times:
 * look up the products around where each place seems to have gone, and let a
 * recurrent unit correct that. Each of the 12 flows is an output. */
#include "zoo/zoo.h"

#include <math.h>

enum { RAFT_LEVELS = 4, RAFT_UPDATES = 12, RAFT_FACTOR = 8 };

typedef struct raft {
    int64_t width[4], features, context; /* of the encoders */
    int64_t radius, hidden;
    int64_t corr[2], flow[2], motion; /* of the motion encoder; corr[1] may 0 */
    int64_t head;
    bool large;
} raft;

/* -- encoders -------------------------------------------------------------*/

/* What follows a convolution in an encoder: CLV_OP_IDENTITY for nothing. */
static tensor raft_norm(builder *b, clv_op norm, tensor x)
{
    if (norm == CLV_OP_BATCH_NORM)
        return batch_norm(b, "1", x);
    return zoo_module(b, norm, "1", x, NO_ATTRS);
}

static tensor raft_conv(builder *b, const char *name, tensor x, clv_op norm,
                        bool act, conv_args a)
{
    bool bare = norm == CLV_OP_IDENTITY;
    a.padding = a.kernel / 2;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "0", x, a);
    if (!bare)
        x = raft_norm(b, norm, x);
    if (act)
        x = relu(b, bare ? "1" : "2", x);
    leave(b);
    return x;
}

#define RAFT_CONV(b, name, x, norm, ...) \
    raft_conv(b, name, x, norm, true, (conv_args){.out = __VA_ARGS__})

/* Two 3x3 convolutions, or 1x1, 3x3 and 1x1. */
static tensor raft_block(builder *b, const raft *v, clv_op norm, tensor x,
                         int64_t out, int64_t stride)
{
    tensor y;
    if (v->large) {
        y = RAFT_CONV(b, "convnormrelu1", x, norm, out, .kernel = 3,
                      .stride = stride);
        y = RAFT_CONV(b, "convnormrelu2", y, norm, out, .kernel = 3);
    } else {
        y = RAFT_CONV(b, "convnormrelu1", x, norm, out / 4, .kernel = 1);
        y = RAFT_CONV(b, "convnormrelu2", y, norm, out / 4, .kernel = 3,
                      .stride = stride);
        y = RAFT_CONV(b, "convnormrelu3", y, norm, out, .kernel = 1);
    }
    if (stride > 1)
        x = raft_conv(b, "downsample", x, norm, false,
                      (conv_args){.out = out, .kernel = 1, .stride = stride});
    else
        x = zoo_module(b, CLV_OP_IDENTITY, "downsample", x, NO_ATTRS);
    return relu(b, "relu", add(b, x, y));
}

static tensor raft_encoder(builder *b, const raft *v, const char *name,
                           clv_op norm, tensor x, int64_t out)
{
    enter(b, "%s", name);
    x = RAFT_CONV(b, "convnormrelu", x, norm, v->width[0], .kernel = 7,
                  .stride = 2);
    for (int i = 1; i < 4; i++) {
        enter(b, "layer%d", i);
        enter(b, "0");
        x = raft_block(b, v, norm, x, v->width[i], i > 1 ? 2 : 1);
        leave(b);
        enter(b, "1");
        x = raft_block(b, v, norm, x, v->width[i], 1);
        leave(b);
        leave(b);
    }
    x = conv2d(b, "conv", x, out);
    leave(b);
    return x;
}

/* -- correlation ----------------------------------------------------------*/

/* Level 0 is (N*h*w,1,h,w): one image of products for each place. */
static void raft_correlate(builder *b, tensor features, tensor *pyramid)
{
    tensor half[2];
    int64_t h = dim(b, features, 2), w = dim(b, features, 3),
            c = dim(b, features, 1);
    chunk(b, features, 2, 0, half);
    for (int i = 0; i < 2; i++)
        half[i] = flatten(b, half[i], 2);
    tensor all = matmul(b, transpose(b, half[0], 1, 2), half[1]);
    all = scale(b, all, 1 / sqrt((double)c));
    pyramid[0] = reshape(b, all, dim(b, all, 0) * h * w, 1, h, w);
    for (int i = 1; i < RAFT_LEVELS; i++)
        pyramid[i] = avg_pool2d(b, NULL, pyramid[i - 1], .kernel = 2);
}

/* (1,side,side,2): steps from -radius to radius in both directions. */
static tensor raft_window(builder *b, int64_t radius)
{
    int64_t side = 2 * radius + 1, dims[] = {1, side, side, 2};
    tensor t = weight(b, "delta", CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, t, (uint32_t)(2 * side * side));
    for (int64_t i = 0; at && i < 2 * side * side; i++)
        at[i] = (double)((i % 2 ? i / 2 % side : i / 2 / side) - radius);
    return t;
}

/* grid_sample wants -1 .. 1 for 0 .. size - 1. */
static tensor raft_normalised(builder *b, tensor at, tensor of)
{
    int64_t two = 2;
    tensor by = weight(b, "per_pixel", CLV_VALUE_CONST, 1, &two);
    double *v = constant_floats(b, by, 2);
    for (int i = 0; v && i < 2; i++)
        v[i] = 2 / (double)(dim(b, of, 3 - i) - 1);
    return shift(b, mul(b, at, by), -1);
}

/* The products around each place: (N,levels * side^2,h,w). */
static tensor raft_look_up(builder *b, const raft *v, const tensor *pyramid,
                           tensor around, tensor at)
{
    int64_t n = dim(b, at, 0), h = dim(b, at, 2), w = dim(b, at, 3);
    int64_t side = 2 * v->radius + 1;
    tensor level[RAFT_LEVELS];
    enter(b, "corr_block");
    at = reshape(b, permute(b, NULL, at, 0, 2, 3, 1), n * h * w, 1, 1, 2);
    for (int i = 0; i < RAFT_LEVELS; i++) {
        tensor grid = raft_normalised(b, add(b, at, around), pyramid[i]);
        level[i] =
            zoo_call(b, CLV_OP_GRID_SAMPLE, "grid_sample",
                     TENSORS(pyramid[i], grid), ATTRS(INT(ALIGN_CORNERS, 1)));
        level[i] = reshape(b, level[i], n, h, w, side * side);
        if (i + 1 < RAFT_LEVELS)
            at = scale(b, at, 0.5);
    }
    tensor all = cat(b, level, RAFT_LEVELS, -1);
    all = unary(b, CLV_OP_CONTIGUOUS, permute(b, NULL, all, 0, 3, 1, 2));
    leave(b);
    return all;
}

/* -- one update -----------------------------------------------------------*/

static tensor raft_motion(builder *b, const raft *v, tensor flow, tensor corr)
{
    const clv_op NONE = CLV_OP_IDENTITY;
    enter(b, "motion_encoder");
    corr = RAFT_CONV(b, "convcorr1", corr, NONE, v->corr[0], .kernel = 1);
    if (v->corr[1])
        corr = RAFT_CONV(b, "convcorr2", corr, NONE, v->corr[1], .kernel = 3);
    else
        corr = zoo_module(b, CLV_OP_IDENTITY, "convcorr2", corr, NO_ATTRS);
    tensor y = RAFT_CONV(b, "convflow1", flow, NONE, v->flow[0], .kernel = 7);
    y = RAFT_CONV(b, "convflow2", y, NONE, v->flow[1], .kernel = 3);
    y = cat_of(b, 1, corr, y);
    y = RAFT_CONV(b, "conv", y, NONE, v->motion - 2, .kernel = 3);
    y = cat_of(b, 1, y, flow);
    leave(b);
    return y;
}

/* A gated recurrent unit of convolutions of kernel kh x kw. */
static tensor raft_gru(builder *b, const char *name, tensor h, tensor x,
                       const int64_t k[2])
{
    conv_args a = {.out = dim(b, h, 1),
                   .kernel_hw = {k[0], k[1]},
                   .padding_hw = {k[0] / 2, k[1] / 2}};
    enter(b, "%s", name);
    tensor both = cat_of(b, 1, h, x);
    tensor z = sigmoid(b, NULL, zoo_conv(b, CLV_OP_CONV2D, "convz", both, a));
    tensor r = sigmoid(b, NULL, zoo_conv(b, CLV_OP_CONV2D, "convr", both, a));
    tensor q = cat_of(b, 1, mul(b, r, h), x);
    q = unary(b, CLV_OP_TANH, zoo_conv(b, CLV_OP_CONV2D, "convq", q, a));
    tensor keep = shift(b, unary(b, CLV_OP_NEG, z), 1);
    h = add(b, mul(b, keep, h), mul(b, z, q));
    leave(b);
    return h;
}

static tensor raft_recur(builder *b, const raft *v, tensor h, tensor x)
{
    static const int64_t square[] = {3, 3}, wide[] = {1, 5}, high[] = {5, 1};
    enter(b, "recurrent_block");
    h = raft_gru(b, "convgru1", h, x, v->large ? wide : square);
    if (v->large)
        h = raft_gru(b, "convgru2", h, x, high);
    leave(b);
    return h;
}

static tensor raft_flow_head(builder *b, const raft *v, tensor h)
{
    enter(b, "flow_head");
    h = conv2d(b, "conv1", h, v->head, .kernel = 3, .padding = 1);
    h = conv2d(b, "conv2", relu(b, "relu", h), 2, .kernel = 3, .padding = 1);
    leave(b);
    return h;
}

/* -- full size ------------------------------------------------------------*/

/* Each fine place is a mean of the 9 coarse ones around it, with weights that
 * the network predicts. */
static tensor raft_upsample(builder *b, tensor h, tensor flow)
{
    enum { F = RAFT_FACTOR };
    int64_t n = dim(b, flow, 0), rows = dim(b, flow, 2), cols = dim(b, flow, 3);
    enter(b, "mask_predictor");
    h = RAFT_CONV(b, "convrelu", h, CLV_OP_IDENTITY, 256, .kernel = 3);
    h = scale(b, conv2d(b, "conv", h, F * F * 9), 0.25);
    leave(b);
    h = reshape(b, h, n, 1, 9, F, F, rows, cols);
    h = zoo_call(b, CLV_OP_SOFTMAX, "softmax", TENSORS(h), ATTRS(INT(AXIS, 2)));
    flow = zoo_call(b, CLV_OP_UNFOLD, "unfold", TENSORS(scale(b, flow, F)),
                    ATTRS(INTS(KERNEL, 3, 3), INTS(PADDING, 1, 1)));
    flow = mul(b, h, reshape(b, flow, n, 2, 9, 1, 1, rows, cols));
    flow = zoo_call(b, CLV_OP_SUM, "sum", TENSORS(flow),
                    ATTRS(INTS(AXES, 2), INT(KEEPDIM, 0)));
    flow = permute(b, NULL, flow, 0, 1, 4, 2, 5, 3);
    return reshape(b, flow, n, 2, F * rows, F * cols);
}

static tensor raft_enlarge(builder *b, tensor flow)
{
    flow = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(flow),
                    ATTRS(INTS(SIZE, RAFT_FACTOR * dim(b, flow, 2),
                               RAFT_FACTOR * dim(b, flow, 3)),
                          STRING(MODE, "bilinear"),
                          STRING(COORDINATES, "align_corners")));
    return scale(b, flow, RAFT_FACTOR);
}

/* -- the network ----------------------------------------------------------*/

/* (1,2,h,w): column and row of each place. */
static tensor raft_places(builder *b, int64_t h, int64_t w)
{
    int64_t dims[] = {1, 2, h, w};
    tensor t = weight(b, "coords0", CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, t, (uint32_t)(2 * h * w));
    for (int64_t i = 0; at && i < 2 * h * w; i++)
        at[i] = (double)(i < h * w ? i % w : i / w % h);
    return t;
}

static void raft_updates(builder *b, const raft *v, const tensor *pyramid,
                         tensor hidden, tensor context)
{
    int64_t n = dim(b, hidden, 0), h = dim(b, hidden, 2), w = dim(b, hidden, 3);
    tensor start = raft_places(b, h, w), around = raft_window(b, v->radius);
    start = zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(start),
                     ATTRS(INTS(SHAPE, n, 2, h, w)));
    tensor at = start;
    b->shared = true;
    for (int i = 0; i < RAFT_UPDATES; i++) {
        tensor corr = raft_look_up(b, v, pyramid, around, at);
        tensor flow = sub(b, at, start);
        enter(b, "update_block");
        tensor x = cat_of(b, 1, context, raft_motion(b, v, flow, corr));
        hidden = raft_recur(b, v, hidden, x);
        at = add(b, at, raft_flow_head(b, v, hidden));
        leave(b);
        flow = sub(b, at, start);
        output(b, v->large ? raft_upsample(b, hidden, flow)
                           : raft_enlarge(b, flow));
    }
    b->shared = false;
}

static void raft_check(builder *b, tensor x)
{
    int64_t h = dim(b, x, 2), w = dim(b, x, 3);
    int64_t least = 2 * RAFT_FACTOR << (RAFT_LEVELS - 1);
    if (h % RAFT_FACTOR || w % RAFT_FACTOR || h < least || w < least)
        refuse(b,
               "images of %lldx%lld: both sides are multiples of %d and at "
               "least %lld",
               (long long)h, (long long)w, RAFT_FACTOR, (long long)least);
}

static void raft_build(builder *b, const zoo_input *in, const void *variant)
{
    const raft *v = variant;
    tensor one = input(b, "image1", in), two = input(b, "image2", in);
    tensor pyramid[RAFT_LEVELS];
    raft_check(b, one);
    tensor x = raft_encoder(b, v, "feature_encoder", CLV_OP_INSTANCE_NORM,
                            cat_of(b, 0, one, two), v->features);
    enter(b, "corr_block");
    raft_correlate(b, x, pyramid);
    leave(b);
    x = raft_encoder(b, v, "context_encoder",
                     v->large ? CLV_OP_BATCH_NORM : CLV_OP_IDENTITY, one,
                     v->context);
    tensor hidden = slice(b, x, 1, 0, v->hidden);
    tensor context = slice(b, x, 1, v->hidden, v->context);
    raft_updates(b, v, pyramid, unary(b, CLV_OP_TANH, hidden),
                 relu(b, NULL, context));
}

#define RAFT(name, ...) \
    { \
        {name, "raft", IMAGE(512), TORCHVISION("optical_flow", 2020), \
         .input_name = "image1"}, \
            raft_build, &(const raft) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_raft[] = {
    RAFT("raft_large", {64, 64, 96, 128}, 256, 256, 4, 128, {256, 192},
         {128, 64}, 128, 256, true),
    RAFT("raft_small", {32, 32, 64, 96}, 128, 160, 3, 96, {96, 0}, {64, 32}, 82,
         128, false),
    ZOO_END,
};

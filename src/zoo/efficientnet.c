/* efficientnet.c - EfficientNet (Tan & Le, 2019) and EfficientNetV2 (2021).
 *
 * Stages of inverted residuals: expand 1x1, depthwise, squeeze-and-excite,
 * project 1x1. V1 scales the width and depth of one table by the variant's
 * factors; V2 has a table for each size, and its early stages fuse expansion
 * and depthwise into one full convolution. */
#include "zoo/zoo.h"

#include <math.h>

typedef struct stage {
    bool fused;
    int64_t expand, kernel, stride, out;
    int depth;
} stage;

typedef struct efficientnet {
    const stage *stages; /* up to the one of depth 0 */
    double width, depth;
    int64_t first, last; /* channels of the stem and before the classifier */
    double eps;          /* of batch norms; 0: 1e-5 */
} efficientnet;

static const stage v1[] = {
    {false, 1, 3, 1, 16, 1},  {false, 6, 3, 2, 24, 2},
    {false, 6, 5, 2, 40, 2},  {false, 6, 3, 2, 80, 3},
    {false, 6, 5, 1, 112, 3}, {false, 6, 5, 2, 192, 4},
    {false, 6, 3, 1, 320, 1}, {0},
};
static const stage v2_s[] = {
    {true, 1, 3, 1, 24, 2},
    {true, 4, 3, 2, 48, 4},
    {true, 4, 3, 2, 64, 4},
    {false, 4, 3, 2, 128, 6},
    {false, 6, 3, 1, 160, 9},
    {false, 6, 3, 2, 256, 15},
    {0},
};
static const stage v2_m[] = {
    {true, 1, 3, 1, 24, 3},    {true, 4, 3, 2, 48, 5},
    {true, 4, 3, 2, 80, 5},    {false, 4, 3, 2, 160, 7},
    {false, 6, 3, 1, 176, 14}, {false, 6, 3, 2, 304, 18},
    {false, 6, 3, 1, 512, 5},  {0},
};
static const stage v2_l[] = {
    {true, 1, 3, 1, 32, 4},    {true, 4, 3, 2, 64, 7},
    {true, 4, 3, 2, 96, 7},    {false, 4, 3, 2, 192, 10},
    {false, 6, 3, 1, 224, 19}, {false, 6, 3, 2, 384, 25},
    {false, 6, 3, 1, 640, 7},  {0},
};

static tensor efficientnet_mbconv(builder *b, tensor x, const stage *s,
                                  int64_t out, int64_t stride)
{
    int i = 0;
    int64_t in = dim(b, x, 1),
            wide = make_divisible((double)(in * s->expand), 8);
    if (wide != in)
        x = conv_norm_act(b, nth(i++), x, CLV_OP_SILU, wide);
    x = conv_norm_act(b, nth(i++), x, CLV_OP_SILU, wide, .kernel = s->kernel,
                      .stride = stride, .groups = wide);
    x = squeeze_excite(b, nth(i++), x, in > 4 ? in / 4 : 1, CLV_OP_SILU,
                       CLV_OP_SIGMOID);
    return conv_norm_act(b, nth(i), x, CLV_OP_IDENTITY, out);
}

static tensor efficientnet_fused_mbconv(builder *b, tensor x, const stage *s,
                                        int64_t out, int64_t stride)
{
    int64_t in = dim(b, x, 1),
            wide = make_divisible((double)(in * s->expand), 8);
    if (wide == in)
        return conv_norm_act(b, "0", x, CLV_OP_SILU, out, .kernel = s->kernel,
                             .stride = stride);
    x = conv_norm_act(b, "0", x, CLV_OP_SILU, wide, .kernel = s->kernel,
                      .stride = stride);
    return conv_norm_act(b, "1", x, CLV_OP_IDENTITY, out);
}

static tensor efficientnet_block(builder *b, tensor x, const stage *s,
                                 int64_t out, int64_t stride)
{
    bool residual = stride == 1 && dim(b, x, 1) == out;
    enter(b, "block");
    tensor y = s->fused ? efficientnet_fused_mbconv(b, x, s, out, stride)
                        : efficientnet_mbconv(b, x, s, out, stride);
    leave(b);
    if (residual)
        return add(b, stochastic_depth(b, "stochastic_depth", y), x);
    enter(b, "stochastic_depth"); /* a module that is never called */
    leave(b);
    return y;
}

static void efficientnet_build(builder *b, const zoo_input *in,
                               const void *variant)
{
    const efficientnet *v = variant;
    int i = 0;
    b->norm_eps = v->eps;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = conv_norm_act(b, nth(i++), x, CLV_OP_SILU,
                      make_divisible((double)v->first * v->width, 8),
                      .kernel = 3, .stride = 2);
    for (const stage *s = v->stages; s->depth; s++, i++) {
        int64_t out = make_divisible((double)s->out * v->width, 8);
        int depth = (int)ceil(s->depth * v->depth);
        enter(b, "%d", i);
        for (int k = 0; k < depth; k++) {
            enter(b, "%d", k);
            x = efficientnet_block(b, x, s, out, k ? 1 : s->stride);
            leave(b);
        }
        leave(b);
    }
    x = conv_norm_act(b, nth(i), x, CLV_OP_SILU,
                      v->last ? v->last : 4 * dim(b, x, 1));
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = flatten(b, x, 1);
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = linear(b, "1", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_efficientnet =
    ZOO_KNOBS(efficientnet_build, efficientnet,
              KNOB("width", ZOO_DOUBLE, efficientnet, width, 0.05, 20),
              KNOB("depth", ZOO_DOUBLE, efficientnet, depth, 0.05, 20));

#define EFFICIENTNET(name, ...) \
    { \
        {name, "efficientnet", IMAGE(224), \
         TORCHVISION("classification", 2019)}, \
            efficientnet_build, &(const efficientnet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_efficientnet[] = {
    EFFICIENTNET("efficientnet_b0", v1, 1.0, 1.0, 32, 0, 0),
    EFFICIENTNET("efficientnet_b1", v1, 1.0, 1.1, 32, 0, 0),
    EFFICIENTNET("efficientnet_b2", v1, 1.1, 1.2, 32, 0, 0),
    EFFICIENTNET("efficientnet_b3", v1, 1.2, 1.4, 32, 0, 0),
    EFFICIENTNET("efficientnet_b4", v1, 1.4, 1.8, 32, 0, 0),
    EFFICIENTNET("efficientnet_b5", v1, 1.6, 2.2, 32, 0, 1e-3),
    EFFICIENTNET("efficientnet_b6", v1, 1.8, 2.6, 32, 0, 1e-3),
    EFFICIENTNET("efficientnet_b7", v1, 2.0, 3.1, 32, 0, 1e-3),
    EFFICIENTNET("efficientnet_v2_s", v2_s, 1.0, 1.0, 24, 1280, 1e-3),
    EFFICIENTNET("efficientnet_v2_m", v2_m, 1.0, 1.0, 24, 1280, 1e-3),
    EFFICIENTNET("efficientnet_v2_l", v2_l, 1.0, 1.0, 32, 1280, 1e-3),
    ZOO_END,
};

/* efficientnet_lite.c - EfficientNet-Lite (2020), as timm has it.
 *
 * EfficientNet for devices that compute with small integers: no
 * squeeze-and-excitation, ReLU6 for activation, and stem and head of one width
 * in all sizes. */
#include "zoo/zoo.h"

#include <math.h>

typedef struct lite_stage {
    int64_t kernel, stride, expand, out;
    int depth;
} lite_stage;

static const lite_stage lite_stages[] = {
    {3, 1, 1, 16, 1},  {3, 2, 6, 24, 2},  {5, 2, 6, 40, 2},  {3, 2, 6, 80, 3},
    {5, 1, 6, 112, 3}, {5, 2, 6, 192, 4}, {3, 1, 6, 320, 1},
};

enum { LITE_STAGES = sizeof lite_stages / sizeof *lite_stages };

typedef struct efficientnet_lite {
    double width, depth;
} efficientnet_lite;

static tensor lite_block(builder *b, const lite_stage *s, tensor x, int64_t out,
                         int64_t stride)
{
    int64_t in = dim(b, x, 1), wide = in * s->expand;
    bool expands = s->expand > 1;
    tensor y = x;
    if (expands)
        y = norm_act(b, "bn1", conv2d(b, "conv_pw", y, wide, .no_bias = true),
                     CLV_OP_RELU6);
    y = conv2d(b, "conv_dw", y, wide, .kernel = s->kernel, .stride = stride,
               .padding = s->kernel / 2, .groups = wide, .no_bias = true);
    y = norm_act(b, expands ? "bn2" : "bn1", y, CLV_OP_RELU6);
    y = conv2d(b, expands ? "conv_pwl" : "conv_pw", y, out, .no_bias = true);
    y = batch_norm(b, expands ? "bn3" : "bn2", y);
    return stride == 1 && in == out ? add(b, y, x) : y;
}

/* The first and the last stage have one block in all sizes. */
static tensor lite_stage_of(builder *b, const efficientnet_lite *v, int i,
                            tensor x)
{
    const lite_stage *s = &lite_stages[i];
    bool fixed = i == 0 || i == LITE_STAGES - 1;
    int depth = fixed ? s->depth : (int)ceil(s->depth * v->depth);
    int64_t out = make_divisible((double)s->out * v->width, 8);
    enter(b, "%d", i);
    for (int k = 0; k < depth; k++) {
        enter(b, "%d", k);
        x = lite_block(b, s, x, out, k ? 1 : s->stride);
        leave(b);
    }
    leave(b);
    return x;
}

static void lite_build(builder *b, const zoo_input *in, const void *variant)
{
    tensor x = conv2d(b, "conv_stem", input(b, "x", in), 32, .kernel = 3,
                      .stride = 2, .padding = 1, .no_bias = true);
    x = norm_act(b, "bn1", x, CLV_OP_RELU6);
    enter(b, "blocks");
    for (int i = 0; i < LITE_STAGES; i++)
        x = lite_stage_of(b, variant, i, x);
    leave(b);
    x = conv2d(b, "conv_head", x, 1280, .no_bias = true);
    x = norm_act(b, "bn2", x, CLV_OP_RELU6);
    x = flatten(b, timm_pool(b, x), 1);
    output(b, linear(b, "classifier", x, 1000));
}

const zoo_knobs clv__knobs_efficientnet_lite =
    ZOO_KNOBS(lite_build, efficientnet_lite,
              KNOB("width", ZOO_DOUBLE, efficientnet_lite, width, 0.05, 20),
              KNOB("depth", ZOO_DOUBLE, efficientnet_lite, depth, 0.05, 20));

#define EFFICIENTNET_LITE(name, size, ...) \
    { \
        {name, "efficientnet", IMAGE(size), TIMM("classification", 2020)}, \
            lite_build, &(const efficientnet_lite) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_efficientnet_lite[] = {
    EFFICIENTNET_LITE("efficientnet_lite0", 224, 1.0, 1.0),
    EFFICIENTNET_LITE("efficientnet_lite1", 240, 1.0, 1.1),
    EFFICIENTNET_LITE("efficientnet_lite2", 260, 1.1, 1.2),
    EFFICIENTNET_LITE("efficientnet_lite3", 300, 1.2, 1.4),
    EFFICIENTNET_LITE("efficientnet_lite4", 380, 1.4, 1.8),
    ZOO_END,
};

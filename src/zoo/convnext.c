/* convnext.c - A ConvNet for the 2020s (Liu et al., 2022).
 *
 * Patches of 4x4, then four stages of blocks: depthwise 7x7, layer norm, and a
 * two-layer perceptron four times as wide, scaled per channel and added to the
 * input. Between stages a layer norm and a 2x2 convolution of stride 2. The
 * perceptron sees channels last; the rest channels first. */
#include "zoo/zoo.h"

typedef struct convnext {
    int64_t width[4];
    int depth[4];
} convnext;

static tensor convnext_block(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "block");
    tensor y = conv2d(b, "0", x, c, .kernel = 7, .padding = 3, .groups = c);
    y = permute(b, "1", y, 0, 2, 3, 1);
    y = layer_norm(b, "2", y);
    y = linear(b, "3", y, 4 * c);
    y = gelu(b, "4", y);
    y = linear(b, "5", y, c);
    y = permute(b, "6", y, 0, 3, 1, 2);
    leave(b);
    y = mul(b, parameter(b, "layer_scale", c, 1, 1), y);
    return add(b, stochastic_depth(b, "stochastic_depth", y), x);
}

static void convnext_build(builder *b, const zoo_input *in, const void *variant)
{
    const convnext *v = variant;
    int at = 0;
    b->norm_eps = 1e-6;
    tensor x = input(b, "x", in);
    enter(b, "features");
    for (int stage = 0; stage < 4; stage++) {
        int64_t step = stage ? 2 : 4;
        enter(b, "%d", at++);
        if (stage)
            x = layer_norm_2d(b, "0", x);
        x = conv2d(b, stage ? "1" : "0", x, v->width[stage], .kernel = step,
                   .stride = step);
        if (!stage)
            x = layer_norm_2d(b, "1", x);
        leave(b);
        enter(b, "%d", at++);
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            x = convnext_block(b, x);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    enter(b, "classifier");
    x = layer_norm_2d(b, "0", x);
    x = zoo_module(b, CLV_OP_FLATTEN, "1", x, ATTRS(INT(START, 1)));
    x = linear(b, "2", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_convnext =
    ZOO_KNOBS(convnext_build, convnext,
              KNOB("dim1", ZOO_INT64, convnext, width[0], 1, 16384),
              KNOB("dim2", ZOO_INT64, convnext, width[1], 1, 16384),
              KNOB("dim3", ZOO_INT64, convnext, width[2], 1, 16384),
              KNOB("dim4", ZOO_INT64, convnext, width[3], 1, 16384),
              KNOB("stage1", ZOO_INT, convnext, depth[0], 1, 200),
              KNOB("stage2", ZOO_INT, convnext, depth[1], 1, 200),
              KNOB("stage3", ZOO_INT, convnext, depth[2], 1, 200),
              KNOB("stage4", ZOO_INT, convnext, depth[3], 1, 200));

#define CONVNEXT(name, ...) \
    { \
        {name, "convnext", IMAGE(224), TORCHVISION("classification", 2022)}, \
            convnext_build, &(const convnext) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_convnext[] = {
    CONVNEXT("convnext_tiny", {96, 192, 384, 768}, {3, 3, 9, 3}),
    CONVNEXT("convnext_small", {96, 192, 384, 768}, {3, 3, 27, 3}),
    CONVNEXT("convnext_base", {128, 256, 512, 1024}, {3, 3, 27, 3}),
    CONVNEXT("convnext_large", {192, 384, 768, 1536}, {3, 3, 27, 3}),
    ZOO_END,
};

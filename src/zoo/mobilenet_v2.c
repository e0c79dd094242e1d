/* mobilenet_v2.c - Inverted Residuals and Linear Bottlenecks (Sandler et al.,
 * 2018): a block widens, filters each channel alone, and narrows again without
 * an activation; the shortcut joins the narrow ends. */
#include "zoo/zoo.h"

#include <math.h>

/* Rows of table 2 of the paper. */
static const struct {
    int64_t expand, out;
    int depth;
    int64_t stride;
} stages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
};

typedef struct mobilenet_v2 {
    double width;
} mobilenet_v2;

static tensor mobilenet_v2_bottleneck(builder *b, tensor x, int64_t expand,
                                      int64_t out, int64_t stride)
{
    int64_t in = dim(b, x, 1), width = in * expand;
    int at = 0;
    tensor y = x;
    enter(b, "conv");
    if (expand != 1)
        y = conv_norm_act(b, nth(at++), y, CLV_OP_RELU6, width);
    y = conv_norm_act(b, nth(at++), y, CLV_OP_RELU6, width, .kernel = 3,
                      .stride = stride, .groups = width);
    y = conv2d(b, nth(at), y, out, .no_bias = true);
    y = batch_norm(b, nth(at + 1), y);
    leave(b);
    if (stride == 1 && in == out)
        return add_as(b, "skip_add", x, y);
    idle(b, "skip_add");
    return y;
}

static void mobilenet_v2_build(builder *b, const zoo_input *in,
                               const void *variant)
{
    double width = ((const mobilenet_v2 *)variant)->width;
    tensor x = input(b, "x", in);
    int at = 0;
    enter(b, "features");
    x = conv_norm_act(b, nth(at++), x, CLV_OP_RELU6,
                      make_divisible(32 * width, 8), .kernel = 3, .stride = 2);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (int i = 0; i < stages[s].depth; i++) {
            enter(b, "%d", at++);
            x = mobilenet_v2_bottleneck(
                b, x, stages[s].expand,
                make_divisible((double)stages[s].out * width, 8),
                i ? 1 : stages[s].stride);
            leave(b);
        }
    x = conv_norm_act(b, nth(at), x, CLV_OP_RELU6,
                      make_divisible(1280 * fmax(width, 1), 8));
    leave(b);
    x = adaptive_avg_pool2d(b, NULL, x, 1);
    x = flatten(b, x, 1);
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = linear(b, "1", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_mobilenet_v2 =
    ZOO_KNOBS(mobilenet_v2_build, mobilenet_v2,
              KNOB("width", ZOO_DOUBLE, mobilenet_v2, width, 0.05, 20));

const zoo_model clv__zoo_mobilenet_v2[] = {
    {{"mobilenet_v2", "mobilenet", IMAGE(224),
      TORCHVISION("classification", 2018)},
     mobilenet_v2_build,
     &(const mobilenet_v2){1}},
    ZOO_END,
};

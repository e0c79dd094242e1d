/* regnet.c - Designing Network Design Spaces (Radosavovic et al., 2020).
 *
 * The widths of all blocks follow from three numbers: a line w_0 + w_a * i,
 * rounded to a power w_m^k of w_0, then to a multiple of 8. Blocks of one width
 * make a stage. A block is a bottleneck whose 3x3 has groups of fixed width; Y
 * adds squeeze-and-excite. */
#include "zoo/zoo.h"

#include <math.h>

typedef struct regnet {
    int depth;
    int64_t w_0;
    double w_a, w_m;
    int64_t group;
    bool squeeze;
} regnet;

static int64_t regnet_width_of(const regnet *r, int i)
{
    double w_0 = (double)r->w_0, line = w_0 + r->w_a * i;
    double power = rint(log(line / w_0) / log(r->w_m));
    int64_t width = (int64_t)rint(w_0 * pow(r->w_m, power) / 8) * 8;
    int64_t group = r->group < width ? r->group : width;
    return make_divisible((double)width, group);
}

static tensor regnet_bottleneck(builder *b, const regnet *r, tensor x,
                                int64_t width, int64_t stride)
{
    int64_t in = dim(b, x, 1);
    int64_t group = r->group < width ? r->group : width;
    enter(b, "f");
    x = conv_norm_act(b, "a", x, CLV_OP_RELU, width);
    x = conv_norm_act(b, "b", x, CLV_OP_RELU, width, .kernel = 3,
                      .stride = stride, .groups = width / group);
    if (r->squeeze)
        x = squeeze_excite(b, "se", x, (int64_t)rint((double)in / 4),
                           CLV_OP_RELU, CLV_OP_SIGMOID);
    x = conv_norm_act(b, "c", x, CLV_OP_IDENTITY, width);
    leave(b);
    return x;
}

static tensor regnet_block(builder *b, const regnet *r, tensor x, int64_t width,
                           int64_t stride)
{
    tensor shortcut = x;
    if (stride != 1 || dim(b, x, 1) != width)
        shortcut = conv_norm_act(b, "proj", x, CLV_OP_IDENTITY, width,
                                 .stride = stride);
    x = add(b, shortcut, regnet_bottleneck(b, r, x, width, stride));
    return relu(b, "activation", x);
}

static void regnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const regnet *r = variant;
    tensor x = input(b, "x", in);
    x = conv_norm_act(b, "stem", x, CLV_OP_RELU, 32, .kernel = 3, .stride = 2);
    enter(b, "trunk_output");
    for (int at = 0, stage = 1; at < r->depth; stage++) {
        int64_t width = regnet_width_of(r, at);
        enter(b, "block%d", stage);
        for (int i = 0; at < r->depth && regnet_width_of(r, at) == width;
             i++, at++) {
            enter(b, "block%d-%d", stage, i);
            x = regnet_block(b, r, x, width, i ? 1 : 2);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = flatten(b, x, 1);
    output(b, linear(b, "fc", x, 1000));
}

#define REGNET(name, ...) \
    { \
        {name, "regnet", IMAGE(224), TORCHVISION("classification", 2020)}, \
            regnet_build, &(const regnet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_regnet[] = {
    REGNET("regnet_x_400mf", 22, 24, 24.48, 2.54, 16, false),
    REGNET("regnet_x_800mf", 16, 56, 35.73, 2.28, 16, false),
    REGNET("regnet_x_1_6gf", 18, 80, 34.01, 2.25, 24, false),
    REGNET("regnet_x_3_2gf", 25, 88, 26.31, 2.25, 48, false),
    REGNET("regnet_x_8gf", 23, 80, 49.56, 2.88, 120, false),
    REGNET("regnet_x_16gf", 22, 216, 55.59, 2.1, 128, false),
    REGNET("regnet_x_32gf", 23, 320, 69.86, 2.0, 168, false),
    REGNET("regnet_y_400mf", 16, 48, 27.89, 2.09, 8, true),
    REGNET("regnet_y_800mf", 14, 56, 38.84, 2.4, 16, true),
    REGNET("regnet_y_1_6gf", 27, 48, 20.71, 2.65, 24, true),
    REGNET("regnet_y_3_2gf", 21, 80, 42.63, 2.66, 24, true),
    REGNET("regnet_y_8gf", 17, 192, 76.82, 2.19, 56, true),
    REGNET("regnet_y_16gf", 18, 200, 106.23, 2.48, 112, true),
    REGNET("regnet_y_32gf", 20, 232, 115.89, 2.53, 232, true),
    REGNET("regnet_y_128gf", 27, 456, 160.83, 2.52, 264, true),
    ZOO_END,
};

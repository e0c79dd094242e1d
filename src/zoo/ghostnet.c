/* ghostnet.c - GhostNet: More Features from Cheap Operations (Han et al.,
 * 2020), as timm has it.
 *
 * Half of the channels come from a 1x1 convolution, the other half from a
 * depthwise one of the first half. Each row below is a row of its table. */
#include "zoo/zoo.h"

#include <math.h>

typedef struct ghost_row {
    int stage;
    int64_t kernel, expand, out;
    bool squeeze;
    int64_t stride;
} ghost_row;

static const ghost_row ghost_rows[] = {
    {0, 3, 16, 16, false, 1},   {1, 3, 48, 24, false, 2},
    {2, 3, 72, 24, false, 1},   {3, 5, 72, 40, true, 2},
    {4, 5, 120, 40, true, 1},   {5, 3, 240, 80, false, 2},
    {6, 3, 200, 80, false, 1},  {6, 3, 184, 80, false, 1},
    {6, 3, 184, 80, false, 1},  {6, 3, 480, 112, true, 1},
    {6, 3, 672, 112, true, 1},  {7, 5, 672, 160, true, 2},
    {8, 5, 960, 160, false, 1}, {8, 5, 960, 160, true, 1},
    {8, 5, 960, 160, false, 1}, {8, 5, 960, 160, true, 1},
};

enum { GHOST_ROWS = sizeof ghost_rows / sizeof *ghost_rows };

typedef struct ghostnet {
    double width;
} ghostnet;

static tensor ghost_part(builder *b, const char *name, tensor x, bool act,
                         conv_args a)
{
    a.no_bias = true;
    a.padding = a.kernel / 2;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "0", x, a);
    x = batch_norm(b, "1", x);
    x = zoo_module(b, act ? CLV_OP_RELU : CLV_OP_IDENTITY, "2", x, NO_ATTRS);
    leave(b);
    return x;
}

static tensor ghost_module(builder *b, const char *name, tensor x, int64_t out,
                           bool act)
{
    int64_t half = (out + 1) / 2;
    enter(b, "%s", name);
    tensor first = ghost_part(b, "primary_conv", x, act,
                              (conv_args){.out = half, .kernel = 1});
    tensor second =
        ghost_part(b, "cheap_operation", first, act,
                   (conv_args){.out = half, .kernel = 3, .groups = half});
    x = slice(b, cat_of(b, 1, first, second), 1, 0, out);
    leave(b);
    return x;
}

static tensor ghost_shortcut(builder *b, const ghost_row *r, tensor x,
                             int64_t out)
{
    int64_t in = dim(b, x, 1);
    if (in == out && r->stride == 1)
        return x;
    enter(b, "shortcut");
    x = conv2d(b, "0", x, in, .kernel = r->kernel, .stride = r->stride,
               .padding = r->kernel / 2, .groups = in, .no_bias = true);
    x = conv2d(b, "2", batch_norm(b, "1", x), out, .no_bias = true);
    x = batch_norm(b, "3", x);
    leave(b);
    return x;
}

static tensor ghost_block(builder *b, const ghost_row *r, double width,
                          tensor x)
{
    int64_t wide = make_divisible((double)r->expand * width, 4),
            out = make_divisible((double)r->out * width, 4);
    timm_se se = {
        "conv_reduce", "conv_expand",      make_divisible((double)wide / 4, 4),
        CLV_OP_RELU,   CLV_OP_HARDSIGMOID, "act1"};
    tensor y = ghost_module(b, "ghost1", x, wide, true);
    if (r->stride > 1) {
        y = conv2d(b, "conv_dw", y, wide, .kernel = r->kernel,
                   .stride = r->stride, .padding = r->kernel / 2,
                   .groups = wide, .no_bias = true);
        y = batch_norm(b, "bn_dw", y);
    }
    if (r->squeeze)
        y = timm_excite(b, "se", y, &se);
    y = ghost_module(b, "ghost2", y, out, false);
    return add(b, y, ghost_shortcut(b, r, x, out));
}

static tensor ghost_blocks(builder *b, double width, tensor x)
{
    int at = 0;
    enter(b, "blocks");
    for (int i = 0; i < GHOST_ROWS; i++) {
        const ghost_row *r = &ghost_rows[i];
        at = i && r->stage == r[-1].stage ? at + 1 : 0;
        enter(b, "%d", r->stage);
        enter(b, "%d", at);
        x = ghost_block(b, r, width, x);
        leave(b);
        leave(b);
    }
    enter(b, "9");
    enter(b, "0");
    x = conv2d(b, "conv", x, make_divisible(960 * width, 4), .no_bias = true);
    x = norm_act(b, "bn1", x, CLV_OP_RELU);
    leave(b);
    leave(b);
    leave(b);
    return x;
}

static void ghostnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const ghostnet *v = variant;
    tensor x = input(b, "x", in);
    x = conv2d(b, "conv_stem", x, make_divisible(16 * v->width, 4), .kernel = 3,
               .stride = 2, .padding = 1, .no_bias = true);
    x = relu(b, "act1", batch_norm(b, "bn1", x));
    x = ghost_blocks(b, v->width, x);
    x = timm_pool(b, x);
    x = relu(b, "act2", conv2d(b, "conv_head", x, 1280));
    x = zoo_module(b, CLV_OP_FLATTEN, "flatten", x, ATTRS(INT(START, 1)));
    output(b, linear(b, "classifier", x, 1000));
}

const zoo_knobs clv__knobs_ghostnet =
    ZOO_KNOBS(ghostnet_build, ghostnet,
              KNOB("width", ZOO_DOUBLE, ghostnet, width, 0.05, 20));

#define GHOSTNET(name, width) \
    { \
        {name, "ghostnet", IMAGE(224), TIMM("classification", 2020)}, \
            ghostnet_build, &(const ghostnet) \
        { \
            width \
        } \
    }

const zoo_model clv__zoo_ghostnet[] = {
    GHOSTNET("ghostnet_050", 0.5),
    GHOSTNET("ghostnet_100", 1),
    GHOSTNET("ghostnet_130", 1.3),
    ZOO_END,
};

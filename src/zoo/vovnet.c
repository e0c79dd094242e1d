/* vovnet.c - VoVNet (Lee et al., 2019) and its second version (Lee & Park,
 * 2020), as timm has them.
 *
 * A block keeps the outputs of a chain of convolutions and joins them once, at
 * its end. The second version ("ese_") adds the input of a block, and weighs
 * the channels of the last block of each stage. */
#include "zoo/zoo.h"

typedef struct vovnet {
    int64_t stem, mid[4], out[4];
    int layers, depth[4];
    bool v2, depthwise;
} vovnet;

/* A 3x3 convolution; depthwise, a 1x1 follows. */
static tensor vov_conv(builder *b, const vovnet *v, int i, tensor x,
                       int64_t out, int64_t stride)
{
    int64_t in = dim(b, x, 1);
    if (!v->depthwise)
        return timm_conv(b, nth(i), x, CLV_OP_RELU, out, .kernel = 3,
                         .stride = stride);
    enter(b, "%d", i);
    x = conv2d(b, "conv_dw", x, in, .kernel = 3, .stride = stride, .padding = 1,
               .groups = in, .no_bias = true);
    x = conv2d(b, "conv_pw", x, out, .no_bias = true);
    x = norm_act(b, "bn", x, CLV_OP_RELU);
    leave(b);
    return x;
}

static tensor vov_block(builder *b, const vovnet *v, int stage, int i, tensor x)
{
    enum { MAX_LAYERS = 5 };
    static const timm_se se = {NULL, "fc", 0, CLV_OP_RELU, CLV_OP_HARDSIGMOID,
                               NULL};
    int64_t mid = v->mid[stage];
    bool last = i == v->depth[stage] - 1;
    tensor all[1 + MAX_LAYERS] = {x}, y = x;
    if (v->depthwise && dim(b, x, 1) != mid)
        y = timm_conv(b, "conv_reduction", x, CLV_OP_RELU, mid);
    enter(b, "conv_mid");
    for (int k = 0; k < v->layers; k++)
        y = all[k + 1] = vov_conv(b, v, k, y, mid, 1);
    y = cat(b, all, (uint32_t)v->layers + 1, 1);
    leave(b);
    y = timm_conv(b, "conv_concat", y, CLV_OP_RELU, v->out[stage]);
    if (v->v2 && last)
        y = timm_excite(b, "attn", y, &se);
    return v->v2 && i ? add(b, y, x) : y;
}

static tensor vov_stem(builder *b, const vovnet *v, tensor x)
{
    enter(b, "stem");
    x = timm_conv(b, "0", x, CLV_OP_RELU, 64, .kernel = 3, .stride = 2);
    x = vov_conv(b, v, 1, x, 64, 1);
    x = vov_conv(b, v, 2, x, v->stem, 2);
    leave(b);
    return x;
}

static void vovnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const vovnet *v = variant;
    tensor x = vov_stem(b, v, input(b, "x", in));
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        if (stage)
            x = max_pool2d(b, "pool", x, .kernel = 3, .stride = 2,
                           .ceil = true);
        enter(b, "blocks");
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            x = vov_block(b, v, stage, i, x);
            leave(b);
        }
        leave(b);
        leave(b);
    }
    leave(b);
    output(b, timm_head(b, x));
}

#define VOV_WIDE \
    {128, 160, 192, 224}, \
    { \
        256, 512, 768, 1024 \
    }
#define VOV_SLIM \
    {64, 80, 96, 112}, \
    { \
        112, 256, 384, 512 \
    }
#define VOVNET(name, size, year, ...) \
    { \
        {name, "vovnet", IMAGE(size), TIMM("classification", year)}, \
            vovnet_build, &(const vovnet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_vovnet[] = {
    VOVNET("vovnet39a", 224, 2019, 128, VOV_WIDE, 5, {1, 1, 2, 2}, false,
           false),
    VOVNET("vovnet57a", 224, 2019, 128, VOV_WIDE, 5, {1, 1, 4, 3}, false,
           false),
    VOVNET("ese_vovnet19b_slim_dw", 224, 2020, 64, VOV_SLIM, 3, {1, 1, 1, 1},
           true, true),
    VOVNET("ese_vovnet19b_dw", 224, 2020, 64, VOV_WIDE, 3, {1, 1, 1, 1}, true,
           true),
    VOVNET("ese_vovnet19b_slim", 224, 2020, 128, VOV_SLIM, 3, {1, 1, 1, 1},
           true, false),
    VOVNET("ese_vovnet39b", 224, 2020, 128, VOV_WIDE, 5, {1, 1, 2, 2}, true,
           false),
    VOVNET("ese_vovnet57b", 256, 2020, 128, VOV_WIDE, 5, {1, 1, 4, 3}, true,
           false),
    VOVNET("ese_vovnet99b", 224, 2020, 128, VOV_WIDE, 5, {1, 3, 9, 3}, true,
           false),
    ZOO_END,
};

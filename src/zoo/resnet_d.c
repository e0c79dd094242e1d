/* resnet_d.c - ResNet-D (He et al., 2019: Bag of Tricks) and ResNet-RS (Bello
 * et al., 2021), as timm has them.
 *
 * ResNet with three 3x3 convolutions for a stem and an average pool before a
 * shortcut's projection. RS also weighs the channels of each block, and halves
 * the image with a convolution where ResNet pools. */
#include "zoo/zoo.h"

typedef struct resnet_d {
    int depth[4];
    bool bottleneck, rs;
} resnet_d;

static tensor resnet_d_conv(builder *b, const char *name, tensor x, int64_t out,
                            int64_t kernel, int64_t stride)
{
    return conv2d(b, name, x, out, .kernel = kernel, .stride = stride,
                  .padding = kernel / 2, .no_bias = true);
}

static tensor resnet_d_stem(builder *b, const resnet_d *v, tensor x)
{
    enter(b, "conv1");
    x = resnet_d_conv(b, "0", x, 32, 3, 2);
    x = relu(b, "2", batch_norm(b, "1", x));
    x = resnet_d_conv(b, "3", x, 32, 3, 1);
    x = relu(b, "5", batch_norm(b, "4", x));
    x = resnet_d_conv(b, "6", x, 64, 3, 1);
    leave(b);
    x = relu(b, "act1", batch_norm(b, "bn1", x));
    if (!v->rs)
        return max_pool2d(b, "maxpool", x, .kernel = 3, .stride = 2,
                          .padding = 1);
    enter(b, "maxpool");
    x = resnet_d_conv(b, "0", x, 64, 3, 2);
    x = relu(b, "2", batch_norm(b, "1", x));
    leave(b);
    return x;
}

static tensor resnet_d_shortcut(builder *b, tensor x, int64_t out,
                                int64_t stride)
{
    if (stride == 1 && dim(b, x, 1) == out)
        return x;
    enter(b, "downsample");
    if (stride > 1)
        x = avg_pool2d(b, "0", x, .kernel = 2, .ceil = true,
                       .no_count_pad = true);
    else
        x = zoo_module(b, CLV_OP_IDENTITY, "0", x, NO_ATTRS);
    x = resnet_d_conv(b, "1", x, out, 1, 1);
    x = batch_norm(b, "2", x);
    leave(b);
    return x;
}

/* Two 3x3 convolutions, or 1x1, 3x3 and a 1x1 that widens by 4. */
static tensor resnet_d_block(builder *b, const resnet_d *v, tensor x,
                             int64_t planes, int64_t stride)
{
    int64_t out = v->bottleneck ? 4 * planes : planes;
    timm_se se = {"fc1", "fc2", out / 4, CLV_OP_RELU, CLV_OP_SIGMOID, NULL};
    bool wide = v->bottleneck;
    tensor y =
        resnet_d_conv(b, "conv1", x, planes, wide ? 1 : 3, wide ? 1 : stride);
    y = relu(b, "act1", batch_norm(b, "bn1", y));
    y = resnet_d_conv(b, "conv2", y, planes, 3, wide ? stride : 1);
    y = batch_norm(b, "bn2", y);
    if (wide) {
        y = resnet_d_conv(b, "conv3", relu(b, "act2", y), out, 1, 1);
        y = batch_norm(b, "bn3", y);
    }
    if (v->rs)
        y = timm_excite(b, "se", y, &se);
    y = add(b, y, resnet_d_shortcut(b, x, out, stride));
    return relu(b, wide ? "act3" : "act2", y);
}

static void resnet_d_build(builder *b, const zoo_input *in, const void *variant)
{
    const resnet_d *v = variant;
    tensor x = resnet_d_stem(b, v, input(b, "x", in));
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "layer%d", stage + 1);
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            x = resnet_d_block(b, v, x, INT64_C(64) << stage,
                               stage && i == 0 ? 2 : 1);
            leave(b);
        }
        leave(b);
    }
    x = flatten(b, timm_pool(b, x), 1);
    output(b, linear(b, "fc", x, 1000));
}

#define RESNET_D(name, size, year, ...) \
    { \
        {name, "resnet", IMAGE(size), TIMM("classification", year)}, \
            resnet_d_build, &(const resnet_d) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_resnet_d[] = {
    RESNET_D("resnet18d", 224, 2019, {2, 2, 2, 2}, false, false),
    RESNET_D("resnet26d", 224, 2019, {2, 2, 2, 2}, true, false),
    RESNET_D("resnet34d", 224, 2019, {3, 4, 6, 3}, false, false),
    RESNET_D("resnet50d", 224, 2019, {3, 4, 6, 3}, true, false),
    RESNET_D("resnet101d", 256, 2019, {3, 4, 23, 3}, true, false),
    RESNET_D("resnet152d", 256, 2019, {3, 8, 36, 3}, true, false),
    RESNET_D("resnet200d", 256, 2019, {3, 24, 36, 3}, true, false),
    RESNET_D("resnetrs50", 160, 2021, {3, 4, 6, 3}, true, true),
    RESNET_D("resnetrs101", 192, 2021, {3, 4, 23, 3}, true, true),
    RESNET_D("resnetrs152", 256, 2021, {3, 8, 36, 3}, true, true),
    RESNET_D("resnetrs200", 256, 2021, {3, 24, 36, 3}, true, true),
    RESNET_D("resnetrs270", 256, 2021, {4, 29, 53, 4}, true, true),
    RESNET_D("resnetrs350", 288, 2021, {4, 36, 72, 4}, true, true),
    RESNET_D("resnetrs420", 320, 2021, {4, 44, 87, 4}, true, true),
    ZOO_END,
};

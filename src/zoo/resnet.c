/* resnet.c - Deep Residual Learning (He et al., 2015), with the wider
 * (Zagoruyko & Komodakis, 2016) and the grouped (Xie et al., 2017) variants.
 *
 * Four stages; the first block of each may halve the image and widen the
 * channels, and then projects its shortcut. A basic block is two 3x3
 * convolutions; a bottleneck is 1x1, 3x3 (grouped, strided), 1x1 x4. */
#include "zoo/zoo.h"

typedef struct resnet {
    int depth[4];
    bool bottleneck;
    int64_t groups, width; /* channels of a group at 64 planes */
    bool timm;             /* activations are called as timm does */
} resnet;

/* The i-th activation of a block or of the stem. */
static tensor resnet_relu(builder *b, const resnet *r, int i, tensor x)
{
    static const char *const numbered[] = {"act1", "act2", "act3"};
    return relu(b, r->timm ? numbered[i] : "relu", x);
}

static tensor resnet_shortcut(builder *b, tensor x, int64_t out, int64_t stride)
{
    if (stride == 1 && dim(b, x, 1) == out)
        return x;
    enter(b, "downsample");
    x = conv2d(b, "0", x, out, .stride = stride, .no_bias = true);
    x = batch_norm(b, "1", x);
    leave(b);
    return x;
}

static tensor resnet_basic(builder *b, tensor x, int64_t planes, int64_t stride)
{
    tensor y = conv2d(b, "conv1", x, planes, .kernel = 3, .stride = stride,
                      .padding = 1, .no_bias = true);
    y = batch_norm(b, "bn1", y);
    y = relu(b, "relu", y);
    y = conv2d(b, "conv2", y, planes, .kernel = 3, .padding = 1,
               .no_bias = true);
    y = batch_norm(b, "bn2", y);
    y = add_as(b, "add_relu", y, resnet_shortcut(b, x, planes, stride));
    return relu(b, "relu", y);
}

static tensor resnet_bottleneck(builder *b, const resnet *r, tensor x,
                                int64_t planes, int64_t stride,
                                int64_t dilation)
{
    int64_t width = planes * r->width / 64 * r->groups;
    tensor y = conv2d(b, "conv1", x, width, .no_bias = true);
    y = batch_norm(b, "bn1", y);
    y = resnet_relu(b, r, 0, y);
    y = conv2d(b, "conv2", y, width, .kernel = 3, .stride = stride,
               .padding = dilation, .dilation = dilation, .groups = r->groups,
               .no_bias = true);
    y = batch_norm(b, "bn2", y);
    y = resnet_relu(b, r, 1, y);
    y = conv2d(b, "conv3", y, planes * 4, .no_bias = true);
    y = batch_norm(b, "bn3", y);
    y = add_as(b, "skip_add_relu", y,
               resnet_shortcut(b, x, planes * 4, stride));
    return resnet_relu(b, r, 2, y);
}

/* If `stages` is not NULL, it receives the output of each stage.
 * Stages with `dilated` set keep the size of the image: instead of halving it,
 * they double the dilation, from their second block on. */
static tensor resnet_features(builder *b, const resnet *r, tensor x,
                              const bool dilated[4], tensor *stages)
{
    int64_t dilation = 1;
    x = conv2d(b, "conv1", x, 64, .kernel = 7, .stride = 2, .padding = 3,
               .no_bias = true);
    x = batch_norm(b, "bn1", x);
    x = resnet_relu(b, r, 0, x);
    x = max_pool2d(b, "maxpool", x, .kernel = 3, .stride = 2, .padding = 1);
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "layer%d", stage + 1);
        for (int i = 0; i < r->depth[stage]; i++) {
            int64_t planes = INT64_C(64) << stage;
            int64_t stride = stage && i == 0 && !dilated[stage] ? 2 : 1;
            enter(b, "%d", i);
            x = r->bottleneck
                    ? resnet_bottleneck(b, r, x, planes, stride, dilation)
                    : resnet_basic(b, x, planes, stride);
            if (i == 0 && dilated[stage])
                dilation *= 2;
            leave(b);
        }
        leave(b);
        if (stages)
            stages[stage] = x;
    }
    return x;
}

static const bool never_dilated[4] = {false};

static void resnet_build(builder *b, const zoo_input *in, const void *variant)
{
    tensor x =
        resnet_features(b, variant, input(b, "x", in), never_dilated, NULL);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = flatten(b, x, 1);
    output(b, linear(b, "fc", x, 1000));
}

tensor resnet_backbone(builder *b, int third, tensor x)
{
    static const bool last_two[4] = {false, false, true, true};
    const resnet r = {{3, 4, third, 3}, true, 1, 64, false};
    return resnet_features(b, &r, x, last_two, NULL);
}

void resnet_pyramid(builder *b, tensor x, tensor stages[4])
{
    const resnet r = {{3, 4, 6, 3}, true, 1, 64, false};
    resnet_features(b, &r, x, never_dilated, stages);
}

void timm_resnet(builder *b, int third, bool dilated, tensor x,
                 tensor stages[4])
{
    const bool last[4] = {false, false, false, dilated};
    const resnet r = {{3, 4, third, 3}, true, 1, 64, true};
    resnet_features(b, &r, x, last, stages);
}

const zoo_knobs clv__knobs_resnet = ZOO_KNOBS(
    resnet_build, resnet, KNOB("stage1", ZOO_INT, resnet, depth[0], 1, 200),
    KNOB("stage2", ZOO_INT, resnet, depth[1], 1, 200),
    KNOB("stage3", ZOO_INT, resnet, depth[2], 1, 200),
    KNOB("stage4", ZOO_INT, resnet, depth[3], 1, 200),
    KNOB("groups", ZOO_INT64, resnet, groups, 1, 1024),
    KNOB("width", ZOO_INT64, resnet, width, 1, 4096));

#define RESNET(name, ...) \
    { \
        {name, "resnet", IMAGE(224), TORCHVISION("classification", 2015)}, \
            resnet_build, &(const resnet) \
        { \
            __VA_ARGS__, false \
        } \
    }

const zoo_model clv__zoo_resnet[] = {
    RESNET("resnet18", {2, 2, 2, 2}, false, 1, 64),
    RESNET("resnet34", {3, 4, 6, 3}, false, 1, 64),
    RESNET("resnet50", {3, 4, 6, 3}, true, 1, 64),
    RESNET("resnet101", {3, 4, 23, 3}, true, 1, 64),
    RESNET("resnet152", {3, 8, 36, 3}, true, 1, 64),
    RESNET("resnext50_32x4d", {3, 4, 6, 3}, true, 32, 4),
    RESNET("resnext101_32x8d", {3, 4, 23, 3}, true, 32, 8),
    RESNET("resnext101_64x4d", {3, 4, 23, 3}, true, 64, 4),
    RESNET("wide_resnet50_2", {3, 4, 6, 3}, true, 1, 128),
    RESNET("wide_resnet101_2", {3, 4, 23, 3}, true, 1, 128),
    ZOO_END,
};

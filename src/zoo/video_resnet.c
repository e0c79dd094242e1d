/* video_resnet.c - A Closer Look at Spatiotemporal Convolutions (Tran et al.,
 * 2018): ResNet-18 over clips (N,3,T,H,W).
 *
 * Three kinds of 3x3x3 convolution: as it is (R3D), without the temporal
 * axis (MC3, after the first stage), or factored into 1x3x3 and 3x1x1 with so
 * many channels between them that the number of weights stays (R(2+1)D). */
#include "zoo/zoo.h"

typedef enum kind { FULL, SPATIAL, FACTORED } kind;

typedef struct video_resnet {
    kind stem, stage[4];
} video_resnet;

static tensor video_conv_full(builder *b, const char *name, tensor x,
                              int64_t out, int64_t stride)
{
    return conv3d(b, name, x, out, .kernel = 3, .stride = stride, .padding = 1,
                  .no_bias = true);
}

static tensor video_conv_spatial(builder *b, const char *name, tensor x,
                                 int64_t out, int64_t stride)
{
    return conv3d(b, name, x, out, .kernel_hw = {1, 3, 3},
                  .stride_hw = {1, stride, stride}, .padding_hw = {0, 1, 1},
                  .no_bias = true);
}

static tensor video_conv_factored(builder *b, tensor x, int64_t out,
                                  int64_t mid, int64_t stride)
{
    enter(b, "0");
    x = video_conv_spatial(b, "0", x, mid, stride);
    x = batch_norm(b, "1", x);
    x = relu(b, "2", x);
    x = conv3d(b, "3", x, out, .kernel_hw = {3, 1, 1},
               .stride_hw = {stride, 1, 1}, .padding_hw = {1, 0, 0},
               .no_bias = true);
    leave(b);
    return x;
}

static tensor video_conv_norm(builder *b, kind k, tensor x, int64_t out,
                              int64_t mid, int64_t stride)
{
    x = k == FULL      ? video_conv_full(b, "0", x, out, stride)
        : k == SPATIAL ? video_conv_spatial(b, "0", x, out, stride)
                       : video_conv_factored(b, x, out, mid, stride);
    return batch_norm(b, "1", x);
}

static tensor video_shortcut(builder *b, kind k, tensor x, int64_t out,
                             int64_t stride)
{
    if (stride == 1 && dim(b, x, 1) == out)
        return x;
    enter(b, "downsample");
    x = conv3d(b, "0", x, out,
               .stride_hw = {k == SPATIAL ? 1 : stride, stride, stride},
               .no_bias = true);
    x = batch_norm(b, "1", x);
    leave(b);
    return x;
}

static tensor video_block(builder *b, kind k, tensor x, int64_t out,
                          int64_t stride)
{
    int64_t in = dim(b, x, 1);
    int64_t mid = in * out * 27 / (in * 9 + 3 * out);
    enter(b, "conv1");
    tensor y = video_conv_norm(b, k, x, out, mid, stride);
    y = relu(b, "2", y);
    leave(b);
    enter(b, "conv2");
    y = video_conv_norm(b, k, y, out, mid, 1);
    leave(b);
    y = add(b, y, video_shortcut(b, k, x, out, stride));
    return relu(b, "relu", y);
}

static tensor video_stem(builder *b, kind k, tensor x)
{
    bool factored = k == FACTORED;
    enter(b, "stem");
    x = conv3d(b, "0", x, factored ? 45 : 64,
               .kernel_hw = {factored ? 1 : 3, 7, 7}, .stride_hw = {1, 2, 2},
               .padding_hw = {factored ? 0 : 1, 3, 3}, .no_bias = true);
    x = batch_norm(b, "1", x);
    x = relu(b, "2", x);
    if (factored) {
        x = conv3d(b, "3", x, 64, .kernel_hw = {3, 1, 1},
                   .padding_hw = {1, 0, 0}, .no_bias = true);
        x = batch_norm(b, "4", x);
        x = relu(b, "5", x);
    }
    leave(b);
    return x;
}

static void video_build(builder *b, const zoo_input *in, const void *variant)
{
    const video_resnet *v = variant;
    tensor x = video_stem(b, v->stem, input(b, "x", in));
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "layer%d", stage + 1);
        for (int i = 0; i < 2; i++) {
            enter(b, "%d", i);
            x = video_block(b, v->stage[stage], x, INT64_C(64) << stage,
                            stage && i == 0 ? 2 : 1);
            leave(b);
        }
        leave(b);
    }
    x = zoo_module(b, CLV_OP_ADAPTIVE_AVG_POOL3D, "avgpool", x,
                   ATTRS(INT(OUTPUT_SIZE, 1)));
    x = flatten(b, x, 1);
    output(b, linear(b, "fc", x, 400));
}

#define VIDEO_RESNET(name, ...) \
    { \
        {name, "video_resnet", CLIP(16, 112), TORCHVISION("video", 2017)}, \
            video_build, &(const video_resnet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_video_resnet[] = {
    VIDEO_RESNET("r3d_18", FULL, {FULL, FULL, FULL, FULL}),
    VIDEO_RESNET("mc3_18", FULL, {FULL, SPATIAL, SPATIAL, SPATIAL}),
    VIDEO_RESNET("r2plus1d_18", FACTORED,
                 {FACTORED, FACTORED, FACTORED, FACTORED}),
    ZOO_END,
};

/* vgg.c - Very Deep Convolutional Networks (Simonyan & Zisserman, 2014).
 *
 * Five stages of 3x3 convolutions, each ended by a pool that halves the image;
 * the channels double from 64 up to 512. */
#include "zoo/zoo.h"

typedef struct vgg {
    int depth[5];
    bool norm;
} vgg;

static tensor vgg_features(builder *b, const vgg *v, tensor x)
{
    int at = 0;
    for (int stage = 0; stage < 5; stage++) {
        int64_t width = stage < 3 ? INT64_C(64) << stage : 512;
        for (int i = 0; i < v->depth[stage]; i++) {
            x = conv2d(b, nth(at++), x, width, .kernel = 3, .padding = 1);
            if (v->norm)
                x = batch_norm(b, nth(at++), x);
            x = relu(b, nth(at++), x);
        }
        x = max_pool2d(b, nth(at++), x, .kernel = 2);
    }
    return x;
}

static void vgg_build(builder *b, const zoo_input *in, const void *variant)
{
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = vgg_features(b, variant, x);
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 7);
    x = flatten(b, x, 1);
    enter(b, "classifier");
    x = linear(b, "0", x, 4096);
    x = relu(b, "1", x);
    x = dropout(b, "2", x);
    x = linear(b, "3", x, 4096);
    x = relu(b, "4", x);
    x = dropout(b, "5", x);
    x = linear(b, "6", x, 1000);
    leave(b);
    output(b, x);
}

#define VGG(name, ...) \
    { \
        {name, "vgg", IMAGE(224), TORCHVISION("classification", 2014)}, \
            vgg_build, &(const vgg) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_vgg[] = {
    VGG("vgg11", {1, 1, 2, 2, 2}, false),
    VGG("vgg11_bn", {1, 1, 2, 2, 2}, true),
    VGG("vgg13", {2, 2, 2, 2, 2}, false),
    VGG("vgg13_bn", {2, 2, 2, 2, 2}, true),
    VGG("vgg16", {2, 2, 3, 3, 3}, false),
    VGG("vgg16_bn", {2, 2, 3, 3, 3}, true),
    VGG("vgg19", {2, 2, 4, 4, 4}, false),
    VGG("vgg19_bn", {2, 2, 4, 4, 4}, true),
    ZOO_END,
};

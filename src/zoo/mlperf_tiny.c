/* mlperf_tiny.c - the four networks of MLPerf Tiny (Banbury et al., 2021).
 *
 *   kws  DS-CNN (Zhang et al., 2017): twelve words in a second of speech
 *   vww  MobileNetV1 (Howard et al., 2017), a quarter as wide: is somebody in
 *        the picture
 *   ic   ResNet-8: the ten classes of CIFAR-10
 *   ad   an autoencoder of linear layers: does this machine sound as usual
 *
 * Structure, biases and epsilon are those of the benchmark's Keras models.
 * Their padding "same" puts the odd row and column at the end. */
#include "zoo/zoo.h"

enum { TINY_STEP = 2 }; /* of every convolution that halves its image */

/* How much Keras adds before and after n pixels. */
static void tiny_margin(int64_t n, int64_t kernel, int64_t stride,
                        int64_t margin[2])
{
    int64_t out = (n + stride - 1) / stride;
    int64_t all = (out - 1) * stride + kernel - n;
    all = all > 0 ? all : 0;
    margin[0] = all / 2;
    margin[1] = all - all / 2;
}

/* A convolution with padding "same": kernel_hw[0] x kernel_hw[1]. */
static tensor tiny_conv(builder *b, const char *name, tensor x, conv_args a)
{
    int64_t h[2], w[2];
    tiny_margin(dim(b, x, 2), a.kernel_hw[0], a.stride, h);
    tiny_margin(dim(b, x, 3), a.kernel_hw[1], a.stride, w);
    if (h[0] == h[1] && w[0] == w[1]) {
        a.padding_hw[0] = h[0];
        a.padding_hw[1] = w[0];
    } else {
        x = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                     ATTRS(INTS(PADDING, 0, 0, h[0], w[0], 0, 0, h[1], w[1])));
    }
    return zoo_conv(b, CLV_OP_CONV2D, name, x, a);
}

#define SQUARE(k) .kernel_hw = {k, k}

/* "conv", "bn" and "relu" */
static tensor tiny_unit(builder *b, const char *name, tensor x, conv_args a)
{
    enter(b, "%s", name);
    x = tiny_conv(b, "conv", x, a);
    x = relu(b, "relu", batch_norm(b, "bn", x));
    leave(b);
    return x;
}

/* Units 2i and 2i + 1 of "blocks": each channel by itself, then all. */
static tensor tiny_separable(builder *b, int i, tensor x, int64_t out,
                             int64_t stride)
{
    int64_t c = dim(b, x, 1);
    x = tiny_unit(
        b, nth(2 * i), x,
        (conv_args){.out = c, SQUARE(3), .stride = stride, .groups = c});
    return tiny_unit(b, nth(2 * i + 1), x,
                     (conv_args){.out = out, SQUARE(1), .stride = 1});
}

/* The mean over h x w, which must leave one pixel, and classes. */
static tensor tiny_classify(builder *b, tensor x, int64_t h, int64_t w,
                            int64_t classes)
{
    x = zoo_module(b, CLV_OP_AVG_POOL2D, "pool", x,
                   ATTRS(INTS(KERNEL, h, w), INTS(STRIDE, h, w)));
    if (dim(b, x, 2) * dim(b, x, 3) != 1)
        refuse(b, "its last pool leaves %lldx%lld, not 1x1",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3));
    x = linear(b, "fc", flatten(b, x, 1), classes);
    return zoo_module(b, CLV_OP_SOFTMAX, "softmax", x, ATTRS(INT(AXIS, -1)));
}

/* -- networks -------------------------------------------------------------*/

static void tiny_build_kws(builder *b, const zoo_input *in, const void *variant)
{
    enum { WIDTH = 64, BLOCKS = 4, WORDS = 12 };
    (void)variant;
    b->norm_eps = 1e-3;
    tensor x = input(b, "x", in);
    x = tiny_unit(
        b, "stem", x,
        (conv_args){.out = WIDTH, .kernel_hw = {10, 4}, .stride = TINY_STEP});
    x = dropout(b, "dropout", x);
    enter(b, "blocks");
    for (int i = 0; i < BLOCKS; i++)
        x = tiny_separable(b, i, x, WIDTH, 1);
    leave(b);
    x = dropout(b, "dropout_out", x);
    output(b, tiny_classify(b, x, 24, 5, WORDS));
}

static void tiny_build_vww(builder *b, const zoo_input *in, const void *variant)
{
    static const int64_t width[] = {16,  32,  32,  64,  64,  128, 128,
                                    128, 128, 128, 128, 256, 256};
    (void)variant;
    b->norm_eps = 1e-3;
    tensor x = input(b, "x", in);
    x = tiny_unit(b, "stem", x,
                  (conv_args){.out = 8, SQUARE(3), .stride = TINY_STEP});
    enter(b, "blocks");
    for (int i = 0; i < 13; i++) {
        bool smaller = i && width[i] != width[i - 1];
        x = tiny_separable(b, i, x, width[i], smaller ? TINY_STEP : 1);
    }
    leave(b);
    output(b, tiny_classify(b, x, 3, 3, 2));
}

static tensor tiny_residual(builder *b, const char *name, tensor x, int64_t out)
{
    int64_t stride = dim(b, x, 1) == out ? 1 : TINY_STEP;
    enter(b, "%s", name);
    tensor y = tiny_unit(b, "unit", x,
                         (conv_args){.out = out, SQUARE(3), .stride = stride});
    y = tiny_conv(b, "conv", y,
                  (conv_args){.out = out, SQUARE(3), .stride = 1});
    y = batch_norm(b, "bn", y);
    if (stride > 1)
        x = tiny_conv(b, "shortcut", x,
                      (conv_args){.out = out, SQUARE(1), .stride = stride});
    x = relu(b, "relu", add(b, x, y));
    leave(b);
    return x;
}

static void tiny_build_ic(builder *b, const zoo_input *in, const void *variant)
{
    (void)variant;
    b->norm_eps = 1e-3;
    tensor x = input(b, "x", in);
    x = tiny_unit(b, "stem", x, (conv_args){.out = 16, SQUARE(3), .stride = 1});
    x = tiny_residual(b, "layer1", x, 16);
    x = tiny_residual(b, "layer2", x, 32);
    x = tiny_residual(b, "layer3", x, 64);
    output(b, tiny_classify(b, x, 8, 8, 10));
}

static void tiny_build_ad(builder *b, const zoo_input *in, const void *variant)
{
    enum { FEATURES = 640, LAYERS = 9 };
    static const int64_t width[LAYERS] = {128, 128, 128, 128, 8,
                                          128, 128, 128, 128};
    (void)variant;
    b->norm_eps = 1e-3;
    if (in->dims[1] != FEATURES)
        refuse(b, "%lld features: it takes %d", (long long)in->dims[1],
               FEATURES);
    tensor x = input(b, "x", in);
    enter(b, "layers");
    for (int i = 0; i < LAYERS; i++) {
        enter(b, "%d", i);
        x = batch_norm(b, "bn", linear(b, "fc", x, width[i]));
        x = relu(b, "relu", x);
        leave(b);
    }
    leave(b);
    output(b, linear(b, "out", x, FEATURES));
}

#define TINY(name, task, build, ...) \
    { \
        {name, "mlperf-tiny", __VA_ARGS__, HOME(task, "mlperf-tiny", 2021)}, \
            build, NULL \
    }

const zoo_model clv__zoo_mlperf_tiny[] = {
    TINY("mlperf-tiny-kws", "speech", tiny_build_kws, .rank = 4,
         .input = {1, 1, 49, 10}),
    TINY("mlperf-tiny-vww", "classification", tiny_build_vww, IMAGE(96)),
    TINY("mlperf-tiny-ic", "classification", tiny_build_ic, IMAGE(32)),
    TINY("mlperf-tiny-ad", "anomaly-detection", tiny_build_ad, .rank = 2,
         .input = {1, 640}),
    ZOO_END,
};

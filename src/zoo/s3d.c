/* s3d.c - Rethinking Spatiotemporal Feature Learning (Xie et al., 2018).
 *
 * Inception over clips (N,3,T,H,W), with each kxkxk convolution separated into
 * 1xkxk and kx1x1. */
#include "zoo/zoo.h"

static tensor s3d_conv_norm_relu(builder *b, const char *name, tensor x,
                                 conv_args a)
{
    a.no_bias = true;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV3D, "0", x, a);
    x = batch_norm(b, "1", x);
    x = relu(b, "2", x);
    leave(b);
    return x;
}

static tensor s3d_pointwise(builder *b, const char *name, tensor x, int64_t out)
{
    return s3d_conv_norm_relu(b, name, x, (conv_args){.out = out});
}

static tensor s3d_separable(builder *b, const char *name, tensor x, int64_t out,
                            int64_t k, int64_t stride)
{
    int64_t pad = k / 2;
    enter(b, "%s", name);
    x = s3d_conv_norm_relu(b, "0", x,
                           (conv_args){.out = out,
                                       .kernel_hw = {1, k, k},
                                       .stride_hw = {1, stride, stride},
                                       .padding_hw = {0, pad, pad}});
    x = s3d_conv_norm_relu(b, "1", x,
                           (conv_args){.out = out,
                                       .kernel_hw = {k, 1, 1},
                                       .stride_hw = {stride, 1, 1},
                                       .padding_hw = {pad, 0, 0}});
    leave(b);
    return x;
}

/* A max pool of kt x k x k with these strides, padded to centre its windows. */
static tensor s3d_max_pool(builder *b, const char *name, tensor x, int64_t kt,
                           int64_t k, int64_t stride_t, int64_t stride)
{
    int64_t pt = kt == 3, p = k == 3;
    return zoo_module(b, CLV_OP_MAX_POOL3D, name, x,
                      ATTRS(INTS(KERNEL, kt, k, k),
                            INTS(STRIDE, stride_t, stride, stride),
                            INTS(PADDING, pt, p, p)));
}

static tensor s3d_reduced(builder *b, const char *name, tensor x, int64_t mid,
                          int64_t out)
{
    enter(b, "%s", name);
    x = s3d_pointwise(b, "0", x, mid);
    x = s3d_separable(b, "1", x, out, 3, 1);
    leave(b);
    return x;
}

/* Channels of the branches: 1x1; 1x1 then 3x3x3, twice; pool then 1x1. */
typedef struct mix {
    int64_t b0, b1_mid, b1, b2_mid, b2, b3;
} mix;

static tensor s3d_mixed(builder *b, int at, tensor x, mix m)
{
    enter(b, "%d", at);
    tensor b0 = s3d_pointwise(b, "branch0", x, m.b0);
    tensor b1 = s3d_reduced(b, "branch1", x, m.b1_mid, m.b1);
    tensor b2 = s3d_reduced(b, "branch2", x, m.b2_mid, m.b2);
    enter(b, "branch3");
    tensor b3 = s3d_max_pool(b, "0", x, 3, 3, 1, 1);
    b3 = s3d_pointwise(b, "1", b3, m.b3);
    leave(b);
    x = cat_of(b, 1, b0, b1, b2, b3);
    leave(b);
    return x;
}

static tensor s3d_features(builder *b, tensor x)
{
    x = s3d_separable(b, "0", x, 64, 7, 2);
    x = s3d_max_pool(b, "1", x, 1, 3, 1, 2);
    x = s3d_pointwise(b, "2", x, 64);
    x = s3d_separable(b, "3", x, 192, 3, 1);
    x = s3d_max_pool(b, "4", x, 1, 3, 1, 2);
    x = s3d_mixed(b, 5, x, (mix){64, 96, 128, 16, 32, 32});
    x = s3d_mixed(b, 6, x, (mix){128, 128, 192, 32, 96, 64});
    x = s3d_max_pool(b, "7", x, 3, 3, 2, 2);
    x = s3d_mixed(b, 8, x, (mix){192, 96, 208, 16, 48, 64});
    x = s3d_mixed(b, 9, x, (mix){160, 112, 224, 24, 64, 64});
    x = s3d_mixed(b, 10, x, (mix){128, 128, 256, 24, 64, 64});
    x = s3d_mixed(b, 11, x, (mix){112, 144, 288, 32, 64, 64});
    x = s3d_mixed(b, 12, x, (mix){256, 160, 320, 32, 128, 128});
    x = s3d_max_pool(b, "13", x, 2, 2, 2, 2);
    x = s3d_mixed(b, 14, x, (mix){256, 160, 320, 32, 128, 128});
    return s3d_mixed(b, 15, x, (mix){384, 192, 384, 48, 128, 128});
}

static void s3d_build(builder *b, const zoo_input *in, const void *variant)
{
    (void)variant;
    b->norm_eps = 1e-3;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = s3d_features(b, x);
    leave(b);
    x = zoo_module(b, CLV_OP_AVG_POOL3D, "avgpool", x,
                   ATTRS(INTS(KERNEL, 2, 7, 7), INT(STRIDE, 1)));
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = conv3d(b, "1", x, 400);
    leave(b);
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 2, 3, 4), INT(KEEPDIM, 0)));
    output(b, x);
}

const zoo_model clv__zoo_s3d[] = {
    {{"s3d", "s3d", CLIP(16, 224), TORCHVISION("video", 2017)},
     s3d_build,
     NULL},
    ZOO_END,
};

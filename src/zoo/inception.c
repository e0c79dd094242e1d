/* inception.c - Rethinking the Inception Architecture (Szegedy et al., 2015).
 *
 * Modules A, C and E keep the image and widen it by branches of small and
 * factored (1x7, 7x1) convolutions; B and D halve it. Module names are those
 * of the original TensorFlow model. The auxiliary head counts as parameters,
 * as published, but evaluation never runs it. */
#include "zoo/zoo.h"

/* A kernel of h x w that keeps the size of the image. */
#define FACTORED(h, w) .kernel_hw = {h, w}, .padding_hw = {(h) / 2, (w) / 2}

static tensor inception_pool_branch(builder *b, tensor x, int64_t out)
{
    x = avg_pool2d(b, NULL, x, .kernel = 3, .stride = 1, .padding = 1);
    return basic_conv(b, "branch_pool", x, out);
}

static tensor inception_module_a(builder *b, tensor x, int64_t pool)
{
    tensor one = basic_conv(b, "branch1x1", x, 64);
    tensor five = basic_conv(b, "branch5x5_1", x, 48);
    five = basic_conv(b, "branch5x5_2", five, 64, .kernel = 5, .padding = 2);
    tensor dbl = basic_conv(b, "branch3x3dbl_1", x, 64);
    dbl = basic_conv(b, "branch3x3dbl_2", dbl, 96, .kernel = 3, .padding = 1);
    dbl = basic_conv(b, "branch3x3dbl_3", dbl, 96, .kernel = 3, .padding = 1);
    return cat_as(b, "myop",
                  TENSORS(one, five, dbl, inception_pool_branch(b, x, pool)),
                  1);
}

static tensor inception_module_b(builder *b, tensor x, int64_t unused_width)
{
    (void)unused_width;
    tensor three = basic_conv(b, "branch3x3", x, 384, .kernel = 3, .stride = 2);
    tensor dbl = basic_conv(b, "branch3x3dbl_1", x, 64);
    dbl = basic_conv(b, "branch3x3dbl_2", dbl, 96, .kernel = 3, .padding = 1);
    dbl = basic_conv(b, "branch3x3dbl_3", dbl, 96, .kernel = 3, .stride = 2);
    tensor pool = max_pool2d(b, NULL, x, .kernel = 3, .stride = 2);
    return cat_as(b, "myop", TENSORS(three, dbl, pool), 1);
}

static tensor inception_module_c(builder *b, tensor x, int64_t width)
{
    tensor one = basic_conv(b, "branch1x1", x, 192);
    tensor sep = basic_conv(b, "branch7x7_1", x, width);
    sep = basic_conv(b, "branch7x7_2", sep, width, FACTORED(1, 7));
    sep = basic_conv(b, "branch7x7_3", sep, 192, FACTORED(7, 1));
    tensor dbl = basic_conv(b, "branch7x7dbl_1", x, width);
    dbl = basic_conv(b, "branch7x7dbl_2", dbl, width, FACTORED(7, 1));
    dbl = basic_conv(b, "branch7x7dbl_3", dbl, width, FACTORED(1, 7));
    dbl = basic_conv(b, "branch7x7dbl_4", dbl, width, FACTORED(7, 1));
    dbl = basic_conv(b, "branch7x7dbl_5", dbl, 192, FACTORED(1, 7));
    return cat_as(b, "myop",
                  TENSORS(one, sep, dbl, inception_pool_branch(b, x, 192)), 1);
}

static tensor inception_module_d(builder *b, tensor x, int64_t unused_width)
{
    (void)unused_width;
    tensor three = basic_conv(b, "branch3x3_1", x, 192);
    three = basic_conv(b, "branch3x3_2", three, 320, .kernel = 3, .stride = 2);
    tensor sep = basic_conv(b, "branch7x7x3_1", x, 192);
    sep = basic_conv(b, "branch7x7x3_2", sep, 192, FACTORED(1, 7));
    sep = basic_conv(b, "branch7x7x3_3", sep, 192, FACTORED(7, 1));
    sep = basic_conv(b, "branch7x7x3_4", sep, 192, .kernel = 3, .stride = 2);
    tensor pool = max_pool2d(b, NULL, x, .kernel = 3, .stride = 2);
    return cat_as(b, "myop", TENSORS(three, sep, pool), 1);
}

static tensor inception_module_e(builder *b, tensor x, int64_t unused_width)
{
    (void)unused_width;
    tensor one = basic_conv(b, "branch1x1", x, 320);
    tensor three = basic_conv(b, "branch3x3_1", x, 384);
    tensor wide = basic_conv(b, "branch3x3_2a", three, 384, FACTORED(1, 3));
    tensor high = basic_conv(b, "branch3x3_2b", three, 384, FACTORED(3, 1));
    three = cat_as(b, "myop1", TENSORS(wide, high), 1);
    tensor dbl = basic_conv(b, "branch3x3dbl_1", x, 448);
    dbl = basic_conv(b, "branch3x3dbl_2", dbl, 384, .kernel = 3, .padding = 1);
    wide = basic_conv(b, "branch3x3dbl_3a", dbl, 384, FACTORED(1, 3));
    high = basic_conv(b, "branch3x3dbl_3b", dbl, 384, FACTORED(3, 1));
    dbl = cat_as(b, "myop2", TENSORS(wide, high), 1);
    return cat_as(b, "myop3",
                  TENSORS(one, three, dbl, inception_pool_branch(b, x, 192)),
                  1);
}

static const struct {
    const char *name;
    tensor (*build)(builder *b, tensor x, int64_t width);
    int64_t width;
} modules[] = {
    {"Mixed_5b", inception_module_a, 32},
    {"Mixed_5c", inception_module_a, 64},
    {"Mixed_5d", inception_module_a, 64},
    {"Mixed_6a", inception_module_b, 0},
    {"Mixed_6b", inception_module_c, 128},
    {"Mixed_6c", inception_module_c, 160},
    {"Mixed_6d", inception_module_c, 160},
    {"Mixed_6e", inception_module_c, 192},
    {"Mixed_7a", inception_module_d, 0},
    {"Mixed_7b", inception_module_e, 0},
    {"Mixed_7c", inception_module_e, 0},
};

/* The weights of a convolution of the auxiliary head. */
static void inception_aux_conv(builder *b, const char *name, int64_t in,
                               int64_t out, int64_t kernel)
{
    enter(b, "%s", name);
    enter(b, "conv");
    unused(b, "weight", out, in, kernel, kernel);
    leave(b);
    enter(b, "bn");
    unused(b, "weight", out);
    unused(b, "bias", out);
    weight(b, "running_mean", CLV_VALUE_BUFFER, 1, &out);
    weight(b, "running_var", CLV_VALUE_BUFFER, 1, &out);
    leave(b);
    leave(b);
}

static void inception_aux_head(builder *b)
{
    enter(b, "AuxLogits");
    inception_aux_conv(b, "conv0", 768, 128, 1);
    inception_aux_conv(b, "conv1", 128, 768, 5);
    enter(b, "fc");
    unused(b, "weight", 1000, 768);
    unused(b, "bias", 1000);
    leave(b);
    leave(b);
}

static void inception_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    (void)variant;
    b->norm_eps = 0.001;
    tensor x = input(b, "x", in);
    x = basic_conv(b, "Conv2d_1a_3x3", x, 32, .kernel = 3, .stride = 2);
    x = basic_conv(b, "Conv2d_2a_3x3", x, 32, .kernel = 3);
    x = basic_conv(b, "Conv2d_2b_3x3", x, 64, .kernel = 3, .padding = 1);
    x = max_pool2d(b, "maxpool1", x, .kernel = 3, .stride = 2);
    x = basic_conv(b, "Conv2d_3b_1x1", x, 80);
    x = basic_conv(b, "Conv2d_4a_3x3", x, 192, .kernel = 3);
    x = max_pool2d(b, "maxpool2", x, .kernel = 3, .stride = 2);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        enter(b, "%s", modules[i].name);
        x = modules[i].build(b, x, modules[i].width);
        leave(b);
    }
    if (!b->bytes) /* quantised, it has none */
        inception_aux_head(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = dropout(b, "dropout", x);
    x = flatten(b, x, 1);
    output(b, linear(b, "fc", x, 1000));
}

const zoo_model clv__zoo_inception[] = {
    {{"inception_v3", "inception", IMAGE(299),
      TORCHVISION("classification", 2015)},
     inception_build,
     NULL},
    ZOO_END,
};

/* convnextv2.c - ConvNeXt V2 (Woo et al., 2023) as transformers has it.
 *
 * A block is a depthwise 7x7 convolution, then a perceptron over channels at
 * each place. Between its two linears, global response normalization scales
 * each channel by how strong it is in the whole image, beside the others. */
#include "zoo/transformer.h"

typedef struct convnextv2 {
    int64_t width;
    int depth[4];
} convnextv2;

/* A norm over the channels of (N,C,H,W). */
static tensor convnextv2_norm(builder *b, const char *name, tensor x)
{
    x = layer_norm(b, name, permute(b, NULL, x, 0, 2, 3, 1));
    return permute(b, NULL, x, 0, 3, 1, 2);
}

/* x (N,H,W,C): w (x r) + bias + x, r a channel's norm over their mean. */
static tensor convnextv2_response(builder *b, tensor x)
{
    int64_t c = dim(b, x, -1);
    enter(b, "grn");
    tensor w = parameter(b, "weight", 1, 1, 1, c);
    tensor bias = parameter(b, "bias", 1, 1, 1, c);
    tensor norm = zoo_call(b, CLV_OP_NORM, "norm", TENSORS(x),
                           ATTRS(INTS(AXES, 1, 2), INT(KEEPDIM, 1)));
    tensor mean = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(norm),
                           ATTRS(INTS(AXES, -1), INT(KEEPDIM, 1)));
    tensor r = divide(b, norm, shift(b, mean, 1e-6));
    x = add(b, add(b, mul(b, w, mul(b, x, r)), bias), x);
    leave(b);
    return x;
}

static tensor convnextv2_block(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    tensor y =
        conv2d(b, "dwconv", x, c, .kernel = 7, .padding = 3, .groups = c);
    y = layer_norm(b, "layernorm", permute(b, NULL, y, 0, 2, 3, 1));
    y = gelu(b, "act", linear(b, "pwconv1", y, 4 * c));
    y = linear(b, "pwconv2", convnextv2_response(b, y), c);
    return add(b, x, permute(b, NULL, y, 0, 3, 1, 2));
}

static tensor convnextv2_stage(builder *b, const convnextv2 *v, int i, tensor x)
{
    enter(b, "%d", i);
    if (i) {
        enter(b, "downsampling_layer");
        x = convnextv2_norm(b, "0", x);
        x = conv2d(b, "1", x, v->width << i, .kernel = 2, .stride = 2);
        leave(b);
    }
    enter(b, "layers");
    for (int k = 0; k < v->depth[i]; k++) {
        enter(b, "%d", k);
        x = convnextv2_block(b, x);
        leave(b);
    }
    leave(b);
    leave(b);
    return x;
}

static void convnextv2_build(builder *b, const zoo_input *in,
                             const void *variant)
{
    const convnextv2 *v = variant;
    b->norm_eps = 1e-6;
    tensor x = input(b, "pixel_values", in);
    enter(b, "convnextv2");
    enter(b, "embeddings");
    x = conv2d(b, "patch_embeddings", x, v->width, .kernel = 4, .stride = 4);
    x = convnextv2_norm(b, "layernorm", x);
    leave(b);
    enter_path(b, "encoder.stages");
    for (int i = 0; i < 4; i++)
        x = convnextv2_stage(b, v, i, x);
    leave_path(b, "encoder.stages");
    b->norm_eps = 1e-12;
    x = layer_norm(b, "layernorm", spatial_mean(b, x));
    leave(b);
    output(b, linear(b, "classifier", x, 1000));
}

#define CONVNEXTV2(name, ...) \
    { \
        {"convnextv2-" name "-1k-224", "convnextv2", IMAGE(224), \
         HOME("classification", "transformers", 2023), \
         .input_name = "pixel_values"}, \
            convnextv2_build, &(const convnextv2) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_convnextv2[] = {
    CONVNEXTV2("atto", 40, {2, 2, 6, 2}),
    CONVNEXTV2("femto", 48, {2, 2, 6, 2}),
    CONVNEXTV2("pico", 64, {2, 2, 6, 2}),
    CONVNEXTV2("nano", 80, {2, 2, 8, 2}),
    CONVNEXTV2("tiny", 96, {3, 3, 9, 3}),
    CONVNEXTV2("base", 128, {3, 3, 27, 3}),
    CONVNEXTV2("large", 192, {3, 3, 27, 3}),
    CONVNEXTV2("huge", 352, {3, 3, 27, 3}),
    ZOO_END,
};

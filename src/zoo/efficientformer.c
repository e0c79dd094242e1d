/* efficientformer.c - EfficientFormer: Vision Transformers at MobileNet Speed
 * (Li et al., 2022), as timm has it.
 *
 * Blocks that mix neighbours by a 3x3 mean; the last ones of the last stage
 * attend, with a learned bias for each distance. Two heads are trained, their
 * mean is the result. */
#include "zoo/zoo.h"

#include <math.h>

enum {
    EFORMER_SIZE = 224,
    EFORMER_SIDE = EFORMER_SIZE / 32, /* of the last stage */
    EFORMER_HEADS = 8,
    EFORMER_KEY = 32, /* channels of a head */
    EFORMER_VALUE = 4 * EFORMER_KEY
};

typedef struct efficientformer {
    int depth[4];
    int64_t width[4];
    int attends; /* the last blocks with attention */
} efficientformer;

static tensor eformer_scaled(builder *b, const char *name, tensor x, bool image)
{
    int64_t c = dim(b, x, image ? 1 : -1);
    enter(b, "%s", name);
    tensor gamma = parameter(b, "gamma", c);
    x = mul(b, x, image ? reshape(b, gamma, 1, c, 1, 1) : gamma);
    leave(b);
    return x;
}

/* -- blocks on images (N,C,H,W) -------------------------------------------*/

static tensor eformer_image_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "mlp");
    x = batch_norm(b, "norm1", conv2d(b, "fc1", x, 4 * c));
    x = conv2d(b, "fc2", gelu(b, "act", x), c);
    x = batch_norm(b, "norm2", x);
    leave(b);
    return x;
}

static tensor eformer_image_block(builder *b, tensor x)
{
    enter(b, "token_mixer");
    tensor y = avg_pool2d(b, "pool", x, .kernel = 3, .stride = 1, .padding = 1,
                          .no_count_pad = true);
    y = sub(b, y, x);
    leave(b);
    x = add(b, x, eformer_scaled(b, "ls1", y, true));
    return add(b, x, eformer_scaled(b, "ls2", eformer_image_mlp(b, x), true));
}

/* -- blocks on tokens (N,n,C) ---------------------------------------------*/

static tensor eformer_attention(builder *b, const distances *d, tensor x)
{
    int64_t n = dim(b, x, 0), t = dim(b, x, 1), c = dim(b, x, 2);
    int64_t each = 2 * EFORMER_KEY + EFORMER_VALUE;
    enter(b, "token_mixer");
    tensor all = linear(b, "qkv", x, EFORMER_HEADS * each);
    all = reshape(b, all, n, t, EFORMER_HEADS, each);
    all = permute(b, NULL, all, 0, 2, 1, 3);
    tensor q = slice(b, all, 3, 0, EFORMER_KEY);
    tensor k = slice(b, all, 3, EFORMER_KEY, 2 * EFORMER_KEY);
    tensor v = slice(b, all, 3, 2 * EFORMER_KEY, each);
    x = scale(b, matmul(b, q, transpose(b, k, -2, -1)),
              1 / sqrt((double)EFORMER_KEY));
    x = softmax(b, add(b, x, distance_bias(b, d, EFORMER_HEADS, true)));
    x = transpose(b, matmul(b, x, v), 1, 2);
    x = linear(b, "proj", reshape(b, x, n, t, EFORMER_HEADS * EFORMER_VALUE),
               c);
    leave(b);
    return x;
}

static tensor eformer_token_block(builder *b, const distances *d, tensor x)
{
    int64_t c = dim(b, x, 2);
    tensor y = eformer_attention(b, d, layer_norm(b, "norm1", x));
    x = add(b, x, eformer_scaled(b, "ls1", y, false));
    y = layer_norm(b, "norm2", x);
    enter(b, "mlp");
    y = linear(b, "fc2", gelu(b, "act", linear(b, "fc1", y, 4 * c)), c);
    leave(b);
    return add(b, x, eformer_scaled(b, "ls2", y, false));
}

/* -- the network ----------------------------------------------------------*/

static tensor eformer_stem(builder *b, const efficientformer *v, tensor x)
{
    int64_t c = v->width[0];
    enter(b, "stem");
    x = conv2d(b, "conv1", x, c / 2, .kernel = 3, .stride = 2, .padding = 1);
    x = relu(b, "act1", batch_norm(b, "norm1", x));
    x = conv2d(b, "conv2", x, c, .kernel = 3, .stride = 2, .padding = 1);
    x = relu(b, "act2", batch_norm(b, "norm2", x));
    leave(b);
    return x;
}

/* Where images become tokens stands a module of its own. */
static tensor eformer_flat(builder *b, tensor x, int at)
{
    need_map(b, x, EFORMER_SIDE);
    enter(b, "%d", at);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    leave(b);
    return x;
}

static tensor eformer_blocks(builder *b, const efficientformer *v, int stage,
                             tensor x)
{
    distances d = {0};
    int images = v->depth[stage] - (stage == 3 ? v->attends : 0);
    if (images < v->depth[stage])
        d = distances_of(b, EFORMER_SIDE, 1);
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        if (i == images)
            x = eformer_flat(b, x, i);
        enter(b, "%d", i < images ? i : i + 1);
        x = i < images ? eformer_image_block(b, x)
                       : eformer_token_block(b, &d, x);
        leave(b);
    }
    leave(b);
    return x;
}

static tensor eformer_stage(builder *b, const efficientformer *v, int stage,
                            tensor x)
{
    if (stage) {
        enter(b, "downsample");
        x = conv2d(b, "conv", x, v->width[stage], .kernel = 3, .stride = 2,
                   .padding = 1);
        x = batch_norm(b, "norm", x);
        leave(b);
    }
    return eformer_blocks(b, v, stage, x);
}

static void efficientformer_build(builder *b, const zoo_input *in,
                                  const void *variant)
{
    const efficientformer *v = variant;
    tensor x = input(b, "x", in);
    x = eformer_stem(b, v, x);
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        x = eformer_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(layer_norm(b, "norm", x)),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    x = add(b, linear(b, "head", x, 1000), linear(b, "head_dist", x, 1000));
    output(b, scale(b, x, 0.5));
}

#define EFFICIENTFORMER(name, ...) \
    { \
        {name, "efficientformer", IMAGE(EFORMER_SIZE), \
         TIMM("classification", 2022)}, \
            efficientformer_build, &(const efficientformer) \
        { \
            __VA_ARGS__ \
        } \
    }

/* depths, widths, blocks with attention */
const zoo_model clv__zoo_efficientformer[] = {
    EFFICIENTFORMER("efficientformer_l1", {3, 2, 6, 4}, {48, 96, 224, 448}, 1),
    EFFICIENTFORMER("efficientformer_l3", {4, 4, 12, 6}, {64, 128, 320, 512},
                    4),
    EFFICIENTFORMER("efficientformer_l7", {6, 6, 18, 8}, {96, 192, 384, 768},
                    8),
    ZOO_END,
};

/* poolformer.c - MetaFormer Is Actually What You Need for Vision (Yu et al.,
 * 2022), as timm has it.
 *
 * A transformer whose attention is replaced by a 3x3 mean minus the token
 * itself. Tokens keep their place in an image (N,C,H,W); perceptrons are 1x1
 * convolutions; both branches are scaled per channel. */
#include "zoo/zoo.h"

typedef struct poolformer {
    int depth[4];
    int64_t width[4];
} poolformer;

/* A norm over all of an image's channels and places. */
static tensor poolformer_norm(builder *b, const char *name, tensor x)
{
    int64_t c = dim(b, x, 1);
    b->whole = true;
    enter(b, "%s", name);
    x = zoo_call(b, CLV_OP_GROUP_NORM, "group_norm",
                 TENSORS(x, parameter(b, "weight", c), parameter(b, "bias", c)),
                 ATTRS(INT(GROUPS, 1)));
    leave(b);
    b->whole = false;
    return x;
}

static tensor poolformer_scaled(builder *b, const char *name, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "%s", name);
    tensor s = parameter(b, "scale", c);
    x = mul(b, x, reshape(b, s, c, 1, 1));
    leave(b);
    return x;
}

static tensor poolformer_mix(builder *b, tensor x)
{
    enter(b, "token_mixer");
    tensor mean = avg_pool2d(b, "pool", x, .kernel = 3, .stride = 1,
                             .padding = 1, .no_count_pad = true);
    x = zoo_call(b, CLV_OP_SUB, "sub", TENSORS(mean, x), NO_ATTRS);
    leave(b);
    return x;
}

static tensor poolformer_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "mlp");
    x = conv2d(b, "fc1", x, 4 * c);
    x = gelu(b, "act", x);
    x = conv2d(b, "fc2", x, c);
    leave(b);
    return x;
}

static tensor poolformer_block(builder *b, tensor x)
{
    tensor y = poolformer_mix(b, poolformer_norm(b, "norm1", x));
    x = add(b, x, poolformer_scaled(b, "layer_scale1", y));
    y = poolformer_mlp(b, poolformer_norm(b, "norm2", x));
    return add(b, x, poolformer_scaled(b, "layer_scale2", y));
}

static tensor poolformer_stage(builder *b, const poolformer *v, int stage,
                               tensor x)
{
    enter(b, "%d", stage);
    if (stage) {
        enter(b, "downsample");
        x = conv2d(b, "conv", x, v->width[stage], .kernel = 3, .stride = 2,
                   .padding = 1);
        leave(b);
    }
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        enter(b, "%d", i);
        x = poolformer_block(b, x);
        leave(b);
    }
    leave(b);
    leave(b);
    return x;
}

static void poolformer_build(builder *b, const zoo_input *in,
                             const void *variant)
{
    const poolformer *v = variant;
    tensor x = input(b, "x", in);
    enter(b, "stem");
    x = conv2d(b, "conv", x, v->width[0], .kernel = 7, .stride = 4,
               .padding = 2);
    leave(b);
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++)
        x = poolformer_stage(b, v, stage, x);
    leave(b);
    enter(b, "head");
    x = flatten(b, timm_pool(b, x), 1);
    b->norm_eps = 1e-6;
    x = layer_norm(b, "norm", x);
    x = linear(b, "fc", x, 1000);
    leave(b);
    output(b, x);
}

#define POOLFORMER(name, ...) \
    { \
        {name, "poolformer", IMAGE(224), TIMM("classification", 2022)}, \
            poolformer_build, &(const poolformer) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_poolformer[] = {
    POOLFORMER("poolformer_s12", {2, 2, 6, 2}, {64, 128, 320, 512}),
    POOLFORMER("poolformer_s24", {4, 4, 12, 4}, {64, 128, 320, 512}),
    POOLFORMER("poolformer_s36", {6, 6, 18, 6}, {64, 128, 320, 512}),
    POOLFORMER("poolformer_m36", {6, 6, 18, 6}, {96, 192, 384, 768}),
    POOLFORMER("poolformer_m48", {8, 8, 24, 8}, {96, 192, 384, 768}),
    ZOO_END,
};

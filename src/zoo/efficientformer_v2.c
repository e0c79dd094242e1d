/* efficientformer_v2.c - Rethinking Vision Transformers for MobileNet Size and
 * Speed (Li et al., 2022), as timm has it.
 *
 * All is convolutions on images but the last blocks of the last two stages,
 * which attend before their perceptron: heads talk to each other, values also
 * see their neighbours, and in stage 2 half the resolution is enough. The last
 * downsampling attends too. Two heads are trained, their mean is the result. */
#include "zoo/zoo.h"

#include <math.h>

enum {
    EF2_SIZE = 224,
    EF2_SIDE = EF2_SIZE / 16, /* of stage 2 */
    EF2_HEADS = 8,
    EF2_KEY = 32,
    EF2_DOWN_KEY = 16
};

/* Of the blocks of a stage, `narrow` from `first` on expand 3 times, all
 * others 4 times. */
typedef struct ef2_expansion {
    int first, narrow;
} ef2_expansion;

typedef struct efficientformer_v2 {
    int depth[4];
    int64_t width[4];
    ef2_expansion expansion[4];
    int attends; /* blocks of each of the last two stages */
} efficientformer_v2;

/* A convolution with bias, and a batch norm with its activation. */
static tensor ef2_conv(builder *b, const char *name, tensor x, clv_op act,
                       conv_args a)
{
    a.padding = a.kernel / 2;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "conv", x, a);
    x = norm_act(b, "bn", x, act);
    leave(b);
    return x;
}
#define ef2_linear(b, name, x, ...) \
    ef2_conv(b, name, x, CLV_OP_IDENTITY, (conv_args){.out = __VA_ARGS__})

static tensor ef2_scaled(builder *b, const char *name, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "%s", name);
    x = mul(b, x, reshape(b, parameter(b, "gamma", c), 1, c, 1, 1));
    leave(b);
    return x;
}

/* -- attention ------------------------------------------------------------*/

/* (N,heads*d,h,w) -> (N,heads,d,h*w) */
static tensor ef2_heads(builder *b, tensor x)
{
    return reshape(b, x, dim(b, x, 0), EF2_HEADS, dim(b, x, 1) / EF2_HEADS,
                   dim(b, x, 2) * dim(b, x, 3));
}

/* Scores of queries (N,heads,d,m) and keys (N,heads,d,n), with their bias. */
static tensor ef2_scores(builder *b, const distances *d, tensor q, tensor k)
{
    double by = 1 / sqrt((double)dim(b, q, 2));
    q = permute(b, NULL, q, 0, 1, 3, 2);
    tensor scores = scale(b, matmul(b, q, k), by);
    return add(b, scores, distance_bias(b, d, EF2_HEADS, false));
}

/* Weighs values v (N,C,h,w) by scores (N,heads,m,n), and adds `local`. */
static tensor ef2_weigh(builder *b, tensor scores, tensor v, tensor local)
{
    tensor x = permute(b, NULL, ef2_heads(b, v), 0, 1, 3, 2);
    x = transpose(b, matmul(b, scores, x), 2, 3);
    x = reshape(b, x, dim(b, local, 0), dim(b, local, 1), dim(b, local, 2),
                dim(b, local, 3));
    return add(b, x, local);
}

static tensor ef2_attention(builder *b, const distances *d, tensor x,
                            bool halve)
{
    int64_t c = dim(b, x, 1), keys = EF2_HEADS * EF2_KEY, values = 4 * keys;
    int64_t h = dim(b, x, 2), w = dim(b, x, 3);
    enter(b, "token_mixer");
    if (halve)
        x = ef2_linear(b, "stride_conv", x, c, .kernel = 3, .stride = 2,
                       .groups = c);
    tensor q = ef2_heads(b, ef2_linear(b, "q", x, keys));
    tensor k = ef2_heads(b, ef2_linear(b, "k", x, keys));
    tensor v = ef2_linear(b, "v", x, values);
    tensor local =
        ef2_linear(b, "v_local", v, values, .kernel = 3, .groups = values);
    tensor scores = ef2_scores(b, d, q, k);
    scores = softmax(b, conv2d(b, "talking_head1", scores, EF2_HEADS));
    scores = conv2d(b, "talking_head2", scores, EF2_HEADS);
    x = ef2_weigh(b, scores, v, local);
    if (halve)
        x = zoo_module(b, CLV_OP_INTERPOLATE, "upsample", x,
                       ATTRS(INTS(SIZE, h, w), STRING(MODE, "bilinear")));
    x = ef2_linear(b, "proj", gelu(b, "act", x), c);
    leave(b);
    return x;
}

/* Every second token asks, with what is around it. */
static tensor ef2_attention_down(builder *b, const distances *d, tensor x,
                                 int64_t out)
{
    int64_t c = dim(b, x, 1), keys = EF2_HEADS * EF2_DOWN_KEY;
    int64_t values = 4 * keys;
    enter(b, "attn");
    enter(b, "q");
    tensor q = conv2d(b, "local", x, c, .kernel = 3, .stride = 2, .padding = 1,
                      .groups = c);
    q = add(b, q, avg_pool2d(b, "pool", x, .kernel = 1, .stride = 2));
    q = ef2_linear(b, "proj", q, keys);
    leave(b);
    tensor k = ef2_heads(b, ef2_linear(b, "k", x, keys));
    tensor v = ef2_linear(b, "v", x, values);
    tensor local = ef2_linear(b, "v_local", v, values, .kernel = 3, .stride = 2,
                              .groups = values);
    tensor scores = softmax(b, ef2_scores(b, d, ef2_heads(b, q), k));
    x = ef2_weigh(b, scores, v, local);
    x = ef2_linear(b, "proj", gelu(b, "act", x), out);
    leave(b);
    return x;
}

/* -- the network ----------------------------------------------------------*/

static tensor ef2_mlp(builder *b, tensor x, int64_t expand)
{
    int64_t c = dim(b, x, 1), wide = expand * c;
    enter(b, "mlp");
    x = ef2_conv(b, "fc1", x, CLV_OP_GELU, (conv_args){.out = wide});
    x = ef2_conv(b, "mid", x, CLV_OP_GELU,
                 (conv_args){.out = wide, .kernel = 3, .groups = wide});
    x = ef2_linear(b, "fc2", x, c);
    leave(b);
    return x;
}

static tensor ef2_down(builder *b, tensor x, int64_t out, bool attends)
{
    enter(b, "downsample");
    tensor y = ef2_linear(b, "conv", x, out, .kernel = 3, .stride = 2);
    if (attends) {
        distances d = distances_of(b, EF2_SIDE, 2);
        y = add(b, ef2_attention_down(b, &d, x, out), y);
    }
    leave(b);
    return y;
}

static tensor ef2_stage(builder *b, const efficientformer_v2 *v, int stage,
                        tensor x)
{
    if (stage)
        x = ef2_down(b, x, v->width[stage], stage == 3);
    distances d = {0};
    if (stage >= 2) {
        need_map(b, x, stage == 2 ? EF2_SIDE : EF2_SIDE / 2);
        d = distances_of(b, EF2_SIDE / 2, 1);
    }
    const ef2_expansion *e = &v->expansion[stage];
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        bool narrow = i >= e->first && i < e->first + e->narrow;
        enter(b, "%d", i);
        if (stage >= 2 && i >= v->depth[stage] - v->attends)
            x = add(b, x,
                    ef2_scaled(b, "ls1", ef2_attention(b, &d, x, stage == 2)));
        x = add(b, x, ef2_scaled(b, "ls2", ef2_mlp(b, x, narrow ? 3 : 4)));
        leave(b);
    }
    leave(b);
    return x;
}

static void efficientformer_v2_build(builder *b, const zoo_input *in,
                                     const void *variant)
{
    const efficientformer_v2 *v = variant;
    tensor x = input(b, "x", in);
    enter(b, "stem");
    x = ef2_conv(b, "conv1", x, CLV_OP_GELU,
                 (conv_args){.out = v->width[0] / 2, .kernel = 3, .stride = 2});
    x = ef2_conv(b, "conv2", x, CLV_OP_GELU,
                 (conv_args){.out = v->width[0], .kernel = 3, .stride = 2});
    leave(b);
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        x = ef2_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    x = spatial_mean(b, batch_norm(b, "norm", x));
    x = add(b, linear(b, "head", x, 1000), linear(b, "head_dist", x, 1000));
    output(b, scale(b, x, 0.5));
}

#define EFFICIENTFORMER_V2(name, ...) \
    { \
        {name, "efficientformer", IMAGE(EF2_SIZE), \
         TIMM("classification", 2022)}, \
            efficientformer_v2_build, &(const efficientformer_v2) \
        { \
            __VA_ARGS__ \
        } \
    }

/* depths, widths, blocks that expand less, blocks with attention */
const zoo_model clv__zoo_efficientformer_v2[] = {
    EFFICIENTFORMER_V2("efficientformerv2_s0", {2, 2, 6, 4}, {32, 48, 96, 176},
                       {{0, 0}, {0, 0}, {1, 3}, {1, 2}}, 2),
    EFFICIENTFORMER_V2("efficientformerv2_s1", {3, 3, 9, 6}, {32, 48, 120, 224},
                       {{0, 0}, {0, 0}, {2, 4}, {2, 2}}, 2),
    EFFICIENTFORMER_V2("efficientformerv2_s2", {4, 4, 12, 8},
                       {32, 64, 144, 288}, {{0, 0}, {0, 0}, {2, 6}, {2, 4}}, 4),
    EFFICIENTFORMER_V2("efficientformerv2_l", {5, 5, 15, 10},
                       {40, 80, 192, 384}, {{0, 0}, {0, 0}, {4, 7}, {3, 4}}, 6),
    ZOO_END,
};

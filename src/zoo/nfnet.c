/* nfnet.c - networks without normalization (Brock et al., 2021), as timm has
 * them: NFNet-F and its light variants, NF-ResNet and NF-RegNet.
 *
 * What a batch norm would do to activations is done to weights instead: each
 * filter is brought to mean 0 and variance 1 and scaled by a learned gain. A
 * block divides its input by the deviation that the sums before it must have.
 */
#include "zoo/zoo.h"

#include <math.h>

enum { NF_STAGES = 4, NF_DIVISOR = 8 };

typedef enum { NF_STEM_QUAD, NF_STEM_7X7, NF_STEM_3X3 } nf_stem;
typedef enum { NF_PLAIN, NF_EXCITE, NF_ECA } nf_attention;

/* A kind of block; a model adds depths and widths. */
typedef struct nf_kind {
    nf_stem stem;
    int64_t stem_width; /* 0: that of the first stage */
    int64_t group;      /* channels of a group; 0: all */
    double bottle, widen;
    clv_op act;
    nf_attention attention;
    double squeeze;
    bool reg;      /* bottlenecks are a multiple of what comes in */
    bool extra;    /* a second 3x3 */
    bool deepmind; /* gains of activations apart, padding as TensorFlow */
} nf_kind;

typedef struct nfnet {
    const nf_kind *kind;
    int depth[NF_STAGES];
    int64_t width[NF_STAGES];
    int64_t features; /* of the last convolution; 0: none */
} nfnet;

/* A block divides by sqrt(variance); each adds to it by its branch. */
static const double nf_alpha = 0.2, nf_gain = 2;

/* What brings the variance behind an activation back to 1. */
static double nf_gamma(clv_op act)
{
    return act == CLV_OP_GELU   ? 1.7015043497085571
           : act == CLV_OP_SILU ? 1.7881293296813965
                                : 1.7139588594436646;
}

static tensor nf_act(builder *b, const nf_kind *k, const char *name, tensor x)
{
    if (!k->deepmind)
        return zoo_module(b, k->act, name, x, NO_ATTRS);
    enter(b, "%s", name);
    x = scale(b, zoo_module(b, k->act, NULL, x, NO_ATTRS), nf_gamma(k->act));
    leave(b);
    return x;
}

/* -- convolutions ---------------------------------------------------------*/

/* Filters (out,fan) with mean 0 and variance 1, times gain and scale. */
static tensor nf_filters(builder *b, tensor w, const int64_t *dims, double by)
{
    int64_t fan = dims[1] * dims[2] * dims[3];
    tensor gain = parameter(b, "gain", dims[0], 1, 1, 1);
    gain = reshape(b, scale(b, gain, by / sqrt((double)fan)), dims[0], 1);
    w = zoo_call(b, CLV_OP_LAYER_NORM, "layer_norm",
                 TENSORS(reshape(b, w, dims[0], fan)), ATTRS(INT(AXIS, -1)));
    return reshape(b, mul(b, w, gain), dims[0], dims[1], dims[2], dims[3]);
}

/* TensorFlow pads an even image on the right alone. */
static tensor nf_pad(builder *b, tensor x, const conv_args *a)
{
    int64_t pad[2];
    for (int i = 0; i < 2; i++) {
        int64_t size = dim(b, x, 2 + i);
        pad[i] = ((size + a->stride - 1) / a->stride - 1) * a->stride +
                 a->kernel - size;
        pad[i] = pad[i] > 0 ? pad[i] : 0;
    }
    return zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                    ATTRS(INTS(PADDING, 0, 0, pad[0] / 2, pad[1] / 2, 0, 0,
                               pad[0] - pad[0] / 2, pad[1] - pad[1] / 2)));
}

static tensor nf_conv(builder *b, const nf_kind *k, const char *name, tensor x,
                      conv_args a)
{
    int64_t groups = a.groups ? a.groups : 1, kernel = a.kernel ? a.kernel : 1;
    int64_t dims[] = {a.out, dim(b, x, 1) / groups, kernel, kernel};
    a.kernel = kernel;
    a.stride = a.stride ? a.stride : 1;
    b->whole = true;
    enter(b, "%s", name);
    bool apart = k->deepmind && a.stride > 1;
    if (apart)
        x = nf_pad(b, x, &a);
    tensor w = weight(b, "weight", CLV_VALUE_PARAM, 4, dims);
    tensor bias = parameter(b, "bias", a.out);
    w = nf_filters(b, w, dims, k->deepmind ? 1 : nf_gamma(k->act));
    int64_t padding = apart ? 0 : kernel / 2;
    x = zoo_call(b, CLV_OP_CONV2D, "conv2d", TENSORS(x, w, bias),
                 ATTRS(INTS(STRIDE, a.stride, a.stride),
                       INTS(PADDING, padding, padding), INT(GROUPS, groups)));
    leave(b);
    b->whole = false;
    return x;
}

/* -- attention over channels ----------------------------------------------*/

/* A convolution over the means of neighbouring channels. */
static tensor nf_eca(builder *b, const char *name, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1);
    int64_t taps = (int64_t)((log2((double)c) + 1) / 2) | 1;
    taps = taps > 3 ? taps : 3;
    enter(b, "%s", name);
    tensor y = reshape(b, spatial_mean(b, x), n, 1, c);
    y = conv1d(b, "conv", y, 1, .kernel = taps, .padding = taps / 2,
               .no_bias = true);
    y = reshape(b, sigmoid(b, "gate", y), n, c, 1, 1);
    x = mul(b, x, y);
    leave(b);
    return x;
}

static tensor nf_attend(builder *b, const nf_kind *k, const char *name,
                        tensor x)
{
    double squeeze = (double)dim(b, x, 1) * k->squeeze;
    int64_t near = (int64_t)(squeeze + NF_DIVISOR / 2) / NF_DIVISOR;
    timm_se se = {
        "fc1",       "fc2",          near > 0 ? near * NF_DIVISOR : NF_DIVISOR,
        CLV_OP_RELU, CLV_OP_SIGMOID, NULL};
    x = k->attention == NF_ECA ? nf_eca(b, name, x)
                               : timm_excite(b, name, x, &se);
    return scale(b, x, nf_gain);
}

/* -- blocks ---------------------------------------------------------------*/

static tensor nf_shortcut(builder *b, const nf_kind *k, tensor x, int64_t out,
                          int64_t stride)
{
    enter(b, "downsample");
    if (stride > 1)
        x = avg_pool2d(b, "pool", x, .kernel = 2, .stride = stride,
                       .ceil = true, .no_count_pad = true);
    x = nf_conv(b, k, "conv", x, (conv_args){.out = out});
    leave(b);
    return x;
}

static tensor nf_branch(builder *b, const nf_kind *k, tensor x, int64_t out,
                        int64_t mid, int64_t stride)
{
    int64_t groups = k->group ? mid / k->group : 1;
    if (k->group)
        mid = groups * k->group;
    x = nf_conv(b, k, "conv1", x, (conv_args){.out = mid});
    x = nf_conv(
        b, k, "conv2", nf_act(b, k, "act2", x),
        (conv_args){
            .out = mid, .kernel = 3, .stride = stride, .groups = groups});
    if (k->extra)
        x = nf_conv(b, k, "conv2b", nf_act(b, k, "act2b", x),
                    (conv_args){.out = mid, .kernel = 3, .groups = groups});
    if (k->reg && k->attention)
        x = nf_attend(b, k, "attn", x);
    x = nf_act(b, k, "act3", x);
    x = nf_conv(b, k, "conv3", x, (conv_args){.out = out});
    if (!k->reg && k->attention)
        x = nf_attend(b, k, "attn_last", x);
    if (k->deepmind)
        x = mul(b, x, weight(b, "skipinit_gain", CLV_VALUE_PARAM, 0, NULL));
    return scale(b, x, nf_alpha);
}

static tensor nf_block(builder *b, const nf_kind *k, tensor x, int64_t out,
                       int64_t mid, int64_t stride, double variance)
{
    tensor y = scale(b, nf_act(b, k, "act1", x), 1 / sqrt(variance));
    bool same = dim(b, x, 1) == out && stride == 1;
    tensor shortcut = same ? x : nf_shortcut(b, k, y, out, stride);
    return add(b, nf_branch(b, k, y, out, mid, stride), shortcut);
}

/* -- the network ----------------------------------------------------------*/

static int64_t nf_width(const nf_kind *k, int64_t width)
{
    return make_divisible((double)width * k->widen, NF_DIVISOR);
}

static tensor nf_quad_stem(builder *b, const nf_kind *k, tensor x, int64_t out)
{
    for (int i = 1; i <= 4; i++) {
        char name[] = "conv ", act[] = "act ";
        name[4] = (char)('0' + i);
        act[3] = (char)('1' + i);
        x = nf_conv(b, k, name, x,
                    (conv_args){.out = out >> (4 - i),
                                .kernel = 3,
                                .stride = i == 1 || i == 4 ? 2 : 1});
        if (i < 4)
            x = nf_act(b, k, act, x);
    }
    return x;
}

static tensor nf_stem_of(builder *b, const nfnet *v, tensor x)
{
    const nf_kind *k = v->kind;
    int64_t out = nf_width(k, k->stem_width ? k->stem_width : v->width[0]);
    int64_t kernel = k->stem == NF_STEM_7X7 ? 7 : 3;
    enter(b, "stem");
    if (k->stem == NF_STEM_QUAD)
        x = nf_quad_stem(b, k, x, out);
    else
        x = nf_conv(b, k, "conv", x,
                    (conv_args){.out = out, .kernel = kernel, .stride = 2});
    if (k->stem == NF_STEM_7X7)
        x = max_pool2d(b, "pool", x, .kernel = 3, .stride = 2, .padding = 1);
    leave(b);
    return x;
}

static tensor nf_stage(builder *b, const nfnet *v, int stage, tensor x,
                       double *variance)
{
    const nf_kind *k = v->kind;
    int64_t out = nf_width(k, v->width[stage]);
    for (int i = 0; i < v->depth[stage]; i++) {
        bool halve = !i && (stage || k->stem == NF_STEM_3X3);
        double bottle = k->reg && !stage && !i ? 1 : k->bottle;
        double of = (double)(k->reg ? dim(b, x, 1) : out);
        enter(b, "%d", i);
        x = nf_block(b, k, x, out, make_divisible(of * bottle, NF_DIVISOR),
                     halve ? 2 : 1, *variance);
        leave(b);
        *variance = (i ? *variance : 1) + nf_alpha * nf_alpha;
    }
    return x;
}

static void nfnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const nfnet *v = variant;
    double variance = 1;
    tensor x = nf_stem_of(b, v, input(b, "x", in));
    enter(b, "stages");
    for (int stage = 0; stage < NF_STAGES; stage++) {
        enter(b, "%d", stage);
        x = nf_stage(b, v, stage, x, &variance);
        leave(b);
    }
    leave(b);
    if (v->features)
        x = nf_conv(b, v->kind, "final_conv", x,
                    (conv_args){.out = nf_width(v->kind, v->features)});
    output(b, timm_head(b, nf_act(b, v->kind, "final_act", x)));
}

/* -- models ---------------------------------------------------------------*/

#define NF_BIG(...) \
    { \
        .stem_width = 128, .extra = true, .widen = 1, __VA_ARGS__ \
    }
#define NF_RES(...) \
    { \
        .stem = NF_STEM_7X7, .stem_width = 64, .bottle = 0.25, .widen = 1, \
        .act = CLV_OP_RELU, __VA_ARGS__ \
    }

static const nf_kind nf_f =
    NF_BIG(.group = 128, .bottle = 0.5, .act = CLV_OP_GELU,
           .attention = NF_EXCITE, .squeeze = 0.5);
static const nf_kind nf_deepmind =
    NF_BIG(.group = 128, .bottle = 0.5, .act = CLV_OP_GELU,
           .attention = NF_EXCITE, .squeeze = 0.5, .deepmind = true);
static const nf_kind nf_light =
    NF_BIG(.group = 64, .bottle = 0.25, .act = CLV_OP_SILU,
           .attention = NF_EXCITE, .squeeze = 0.25);
static const nf_kind nf_light_eca =
    NF_BIG(.group = 64, .bottle = 0.25, .act = CLV_OP_SILU,
           .attention = NF_ECA);
static const nf_kind nf_res = NF_RES(.attention = NF_PLAIN);
static const nf_kind nf_seres =
    NF_RES(.attention = NF_EXCITE, .squeeze = 1.0 / 16);
static const nf_kind nf_ecares = NF_RES(.attention = NF_ECA);
static const nf_kind nf_reg = {.stem = NF_STEM_3X3,
                               .group = 8,
                               .bottle = 2.25,
                               .widen = 0.75,
                               .act = CLV_OP_SILU,
                               .attention = NF_EXCITE,
                               .squeeze = 0.5,
                               .reg = true};

const zoo_knobs clv__knobs_nfnet = ZOO_KNOBS(
    nfnet_build, nfnet, KNOB("stage1", ZOO_INT, nfnet, depth[0], 1, 200),
    KNOB("stage2", ZOO_INT, nfnet, depth[1], 1, 200),
    KNOB("stage3", ZOO_INT, nfnet, depth[2], 1, 200),
    KNOB("stage4", ZOO_INT, nfnet, depth[3], 1, 200));

#define NFNET(name, size, ...) \
    { \
        {name, "nfnet", IMAGE(size), TIMM("classification", 2021)}, \
            nfnet_build, &(const nfnet) \
        { \
            __VA_ARGS__ \
        } \
    }
/* n times as deep as the smallest. */
#define NFNET_F(name, size, kind, n, features) \
    NFNET(name, size, kind, {n, 2 * n, 6 * n, 3 * n}, {256, 512, 1536, 1536}, \
          features)
#define NF_RESNET(name, size, kind, ...) \
    NFNET(name, size, kind, {__VA_ARGS__}, {256, 512, 1024, 2048}, 0)

const zoo_model clv__zoo_nfnet[] = {
    NFNET_F("dm_nfnet_f0", 192, &nf_deepmind, 1, 3072),
    NFNET_F("dm_nfnet_f1", 224, &nf_deepmind, 2, 3072),
    NFNET_F("dm_nfnet_f2", 256, &nf_deepmind, 3, 3072),
    NFNET_F("dm_nfnet_f3", 320, &nf_deepmind, 4, 3072),
    NFNET_F("dm_nfnet_f4", 384, &nf_deepmind, 5, 3072),
    NFNET_F("dm_nfnet_f5", 416, &nf_deepmind, 6, 3072),
    NFNET_F("dm_nfnet_f6", 448, &nf_deepmind, 7, 3072),
    NFNET_F("nfnet_f0", 192, &nf_f, 1, 3072),
    NFNET_F("nfnet_f1", 224, &nf_f, 2, 3072),
    NFNET_F("nfnet_f2", 256, &nf_f, 3, 3072),
    NFNET_F("nfnet_f3", 320, &nf_f, 4, 3072),
    NFNET_F("nfnet_f4", 384, &nf_f, 5, 3072),
    NFNET_F("nfnet_f5", 416, &nf_f, 6, 3072),
    NFNET_F("nfnet_f6", 448, &nf_f, 7, 3072),
    NFNET_F("nfnet_f7", 480, &nf_f, 8, 3072),
    NFNET_F("nfnet_l0", 224, &nf_light, 1, 2304),
    NFNET_F("eca_nfnet_l0", 224, &nf_light_eca, 1, 2304),
    NFNET_F("eca_nfnet_l1", 256, &nf_light_eca, 2, 3072),
    NFNET_F("eca_nfnet_l2", 320, &nf_light_eca, 3, 3072),
    NFNET_F("eca_nfnet_l3", 352, &nf_light_eca, 4, 3072),
    NFNET("nf_regnet_b0", 192, &nf_reg, {1, 3, 6, 6}, {48, 104, 208, 440},
          1280),
    NFNET("nf_regnet_b1", 256, &nf_reg, {2, 4, 7, 7}, {48, 104, 208, 440},
          1280),
    NFNET("nf_regnet_b2", 240, &nf_reg, {2, 4, 8, 8}, {56, 112, 232, 488},
          1419),
    NFNET("nf_regnet_b3", 288, &nf_reg, {2, 5, 9, 9}, {56, 128, 248, 528},
          1536),
    NFNET("nf_regnet_b4", 320, &nf_reg, {2, 6, 11, 11}, {64, 144, 288, 616},
          1792),
    NFNET("nf_regnet_b5", 384, &nf_reg, {3, 7, 14, 14}, {80, 168, 336, 704},
          2048),
    NF_RESNET("nf_resnet26", 224, &nf_res, 2, 2, 2, 2),
    NF_RESNET("nf_resnet50", 256, &nf_res, 3, 4, 6, 3),
    NF_RESNET("nf_resnet101", 224, &nf_res, 3, 4, 23, 3),
    NF_RESNET("nf_seresnet26", 224, &nf_seres, 2, 2, 2, 2),
    NF_RESNET("nf_seresnet50", 224, &nf_seres, 3, 4, 6, 3),
    NF_RESNET("nf_seresnet101", 224, &nf_seres, 3, 4, 23, 3),
    NF_RESNET("nf_ecaresnet26", 224, &nf_ecares, 2, 2, 2, 2),
    NF_RESNET("nf_ecaresnet50", 224, &nf_ecares, 3, 4, 6, 3),
    NF_RESNET("nf_ecaresnet101", 224, &nf_ecares, 3, 4, 23, 3),
    ZOO_END,
};

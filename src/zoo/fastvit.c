/* fastvit.c - FastViT (Vasu et al., 2023) and the image towers of MobileCLIP,
 * as timm trains them.
 *
 * Blocks mix neighbours by a depthwise convolution minus a batch norm of its
 * input (both become one convolution for use), and channels by a perceptron
 * behind a 7x7 depthwise convolution. In the last stages of the larger ones
 * attention mixes the places. */
#include "zoo/zoo.h"

enum { FASTVIT_STAGES = 5, FASTVIT_HEAD = 32 };

typedef struct fastvit {
    int64_t width; /* of stage 0; doubles with each stage */
    int depth[FASTVIT_STAGES];
    int64_t expand;
    int attends;     /* the first stage with attention */
    bool downs_act;  /* an activation inside what makes the image smaller */
    bool downs_se;   /* squeeze-and-excitation in stages 2 and 3 there */
    bool large;      /* no 1x1 in the stem; layer norms */
    int64_t classes; /* of MobileCLIP: the channels of its space */
} fastvit;

/* -- what is trained apart and used as one --------------------------------*/

static tensor fastvit_one(builder *b, tensor x, const one_layer *l,
                          const char *name)
{
    enter(b, "%s", name);
    x = one_block(b, x, l);
    leave(b);
    return x;
}

static tensor fastvit_stem(builder *b, const fastvit *v, tensor x)
{
    conv_args convs[] = {
        {.out = v->width, .kernel = 3, .stride = 2},
        {.out = v->width, .kernel = 3, .stride = 2, .groups = v->width},
        {.out = v->width, .kernel = 1, .stride = 1}};
    enter(b, "stem");
    for (int i = 0; i < 3; i++) {
        one_layer layer = {.conv = convs[i],
                           .branches = 1,
                           .no_scale = v->large,
                           .act = CLV_OP_GELU};
        x = fastvit_one(b, x, &layer, nth(i));
    }
    leave(b);
    return x;
}

/* Half the size and twice the channels: 7x7 and 3x3, then 1x1. */
static tensor fastvit_down(builder *b, const fastvit *v, tensor x, bool excite)
{
    int64_t c = dim(b, x, 1), out = 2 * c;
    timm_se se = {
        "fc1",       "fc2",          make_divisible((double)out / 4, 8),
        CLV_OP_RELU, CLV_OP_SIGMOID, NULL};
    one_layer point = {.conv = {.out = out, .kernel = 1, .stride = 1},
                       .branches = 1,
                       .act = CLV_OP_GELU};
    enter(b, "downsample");
    enter(b, "proj");
    enter(b, "0");
    tensor y = timm_conv(b, "large_conv", x, CLV_OP_IDENTITY, out, .kernel = 7,
                         .stride = 2, .groups = c);
    y = add(b, y,
            timm_conv(b, "small_conv", x, CLV_OP_IDENTITY, out, .kernel = 3,
                      .stride = 2, .groups = c));
    if (excite)
        y = timm_excite(b, "se", y, &se);
    if (v->downs_act)
        y = gelu(b, "act", y);
    leave(b);
    y = fastvit_one(b, y, &point, "1");
    leave(b);
    leave(b);
    return y;
}

/* -- blocks ---------------------------------------------------------------*/

static tensor fastvit_scaled(builder *b, const char *name, tensor x)
{
    enter(b, "%s", name);
    x = mul(b, x, parameter(b, "gamma", dim(b, x, 1), 1, 1));
    leave(b);
    return x;
}

static tensor fastvit_mlp(builder *b, const fastvit *v, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "mlp");
    x = timm_conv(b, "conv", x, CLV_OP_IDENTITY, c, .kernel = 7, .groups = c);
    x = gelu(b, "act", conv2d(b, "fc1", x, v->expand * c));
    x = conv2d(b, "fc2", x, c);
    leave(b);
    return x;
}

static tensor fastvit_mix(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    one_layer mixer = {
        .conv = {.out = c, .kernel = 3, .stride = 1, .groups = c},
        .branches = 1,
        .act = CLV_OP_IDENTITY};
    one_layer norm = mixer;
    norm.branches = 0;
    norm.no_scale = true;
    enter(b, "token_mixer");
    tensor y = fastvit_one(b, x, &mixer, "mixer");
    y = sub(b, y, fastvit_one(b, x, &norm, "norm"));
    x = add(b, x, fastvit_scaled(b, "layer_scale", y));
    leave(b);
    return x;
}

static tensor fastvit_attention(builder *b, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1), h = dim(b, x, 2);
    int64_t w = dim(b, x, 3), heads = c / FASTVIT_HEAD;
    tensor part[3];
    enter(b, "token_mixer");
    x = transpose(b, flatten(b, x, 2), -2, -1);
    x = linear_no_bias(b, "qkv", x, 3 * c);
    x = reshape(b, x, n, h * w, 3, heads, FASTVIT_HEAD);
    x = permute(b, NULL, x, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, x, 0, i);
    x = zoo_call(b, CLV_OP_SDPA, "attention", part, 3, NO_ATTRS);
    x = linear(b, "proj", reshape(b, transpose(b, x, 1, 2), n, h * w, c), c);
    x = reshape(b, transpose(b, x, -2, -1), n, c, h, w);
    leave(b);
    return x;
}

static tensor fastvit_block(builder *b, const fastvit *v, tensor x,
                            bool attends)
{
    if (!attends) {
        x = fastvit_mix(b, x);
        return add(b, x,
                   fastvit_scaled(b, "layer_scale", fastvit_mlp(b, v, x)));
    }
    tensor y =
        v->large ? layer_norm_2d(b, "norm", x) : batch_norm(b, "norm", x);
    y = fastvit_scaled(b, "layer_scale_1", fastvit_attention(b, y));
    x = add(b, x, y);
    return add(b, x, fastvit_scaled(b, "layer_scale_2", fastvit_mlp(b, v, x)));
}

/* -- the network ----------------------------------------------------------*/

static tensor fastvit_stage(builder *b, const fastvit *v, int stage, tensor x)
{
    bool attends = stage >= v->attends;
    if (stage)
        x = fastvit_down(b, v, x, v->downs_se && stage >= 2);
    if (attends) {
        int64_t c = dim(b, x, 1);
        enter(b, "pos_emb");
        x = add(
            b,
            conv2d(b, "pos_enc", x, c, .kernel = 7, .padding = 3, .groups = c),
            x);
        leave(b);
    }
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        enter(b, "%d", i);
        x = fastvit_block(b, v, x, attends);
        leave(b);
    }
    leave(b);
    return x;
}

static tensor fastvit_last(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    timm_se se = {"fc1",       "fc2",          make_divisible((double)c / 8, 1),
                  CLV_OP_RELU, CLV_OP_SIGMOID, NULL};
    one_layer layer = {
        .conv = {.out = 2 * c, .kernel = 3, .stride = 1, .groups = c},
        .branches = 1,
        .act = CLV_OP_GELU,
        .se_name = "se",
        .se = &se};
    return fastvit_one(b, x, &layer, "final_conv");
}

static void fastvit_build(builder *b, const zoo_input *in, const void *variant)
{
    const fastvit *v = variant;
    tensor x = fastvit_stem(b, v, input(b, "x", in));
    enter(b, "stages");
    for (int stage = 0; stage < FASTVIT_STAGES && v->depth[stage]; stage++) {
        enter(b, "%d", stage);
        x = fastvit_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    output(b, timm_head_of(b, fastvit_last(b, x), v->classes));
}

#define FASTVIT_ROW(name, task, year, ...) \
    { \
        {name, "fastvit", IMAGE(256), TIMM(task, year)}, fastvit_build, \
            &(const fastvit) \
        { \
            __VA_ARGS__ \
        } \
    }
#define FASTVIT(name, ...) \
    FASTVIT_ROW(name, "classification", 2023, __VA_ARGS__, .classes = 1000)
#define FASTVIT_CLIP(name, ...) \
    FASTVIT_ROW(name, "features", 2024, __VA_ARGS__, .downs_act = true)

/* width, depths, expansion, the first stage with attention */
const zoo_model clv__zoo_fastvit[] = {
    FASTVIT("fastvit_t8", 48, {2, 2, 4, 2}, 3, 4),
    FASTVIT("fastvit_t12", 64, {2, 2, 6, 2}, 3, 4),
    FASTVIT("fastvit_s12", 64, {2, 2, 6, 2}, 4, 4),
    FASTVIT("fastvit_sa12", 64, {2, 2, 6, 2}, 4, 3),
    FASTVIT("fastvit_sa24", 64, {4, 4, 12, 4}, 4, 3),
    FASTVIT("fastvit_sa36", 64, {6, 6, 18, 6}, 4, 3),
    FASTVIT("fastvit_ma36", 76, {6, 6, 18, 6}, 4, 3),
    FASTVIT_CLIP("fastvit_mci0", 64, {2, 6, 10, 2}, 3, 3, .downs_se = true,
                 .classes = 512),
    FASTVIT_CLIP("fastvit_mci1", 64, {4, 12, 20, 4}, 3, 3, .downs_se = true,
                 .classes = 512),
    FASTVIT_CLIP("fastvit_mci2", 80, {4, 12, 24, 4}, 3, 3, .downs_se = true,
                 .classes = 512),
    FASTVIT_CLIP("fastvit_mci3", 96, {2, 12, 24, 4, 2}, 4, 3, .large = true,
                 .classes = 768),
    FASTVIT_CLIP("fastvit_mci4", 128, {2, 12, 24, 4, 4}, 4, 3, .large = true,
                 .classes = 768),
    ZOO_END,
};

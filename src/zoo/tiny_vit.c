/* tiny_vit.c - TinyViT: Fast Pretraining Distillation for Small Vision
 * Transformers (Wu et al., 2022), as timm has it.
 *
 * A stage of inverted residuals, then three whose tokens attend inside windows,
 * with a learned bias for each distance; a depthwise convolution stands between
 * attention and perceptron. An image that windows do not divide is padded. */
#include "zoo/zoo.h"

enum { TINY_STAGES = 4, TINY_HEAD = 32, TINY_EXPAND = 4 };

typedef struct tiny_vit {
    int64_t width[TINY_STAGES];
    int64_t window; /* side; that of stage 2 is twice as long */
    int64_t classes;
} tiny_vit;

/* -- convolutions ---------------------------------------------------------*/

static tensor tiny_embed(builder *b, tensor x, int64_t out)
{
    enter(b, "patch_embed");
    x = timm_conv(b, "conv1", x, CLV_OP_IDENTITY, out / 2, .kernel = 3,
                  .stride = 2);
    x = timm_conv(b, "conv2", gelu(b, "act", x), CLV_OP_IDENTITY, out,
                  .kernel = 3, .stride = 2);
    leave(b);
    return x;
}

/* 1x1 to `mid`, 3x3 of each channel, 1x1 to `out`. */
static tensor tiny_three(builder *b, tensor x, int64_t mid, int64_t out,
                         int64_t stride)
{
    x = timm_conv(b, "conv1", x, CLV_OP_IDENTITY, mid);
    x = timm_conv(b, "conv2", gelu(b, "act1", x), CLV_OP_IDENTITY, mid,
                  .kernel = 3, .stride = stride, .groups = mid);
    return timm_conv(b, "conv3", gelu(b, "act2", x), CLV_OP_IDENTITY, out);
}

static tensor tiny_vit_residual(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    tensor y = tiny_three(b, x, TINY_EXPAND * c, c, 1);
    return gelu(b, "act3", add(b, y, x));
}

/* -- attention ------------------------------------------------------------*/

/* x (windows,n,C) */
static tensor tiny_attention(builder *b, const distances *d, tensor x)
{
    int64_t n = dim(b, x, 0), t = dim(b, x, 1), c = dim(b, x, 2);
    tensor part[4];
    enter(b, "attn");
    tensor bias = distance_bias(b, d, c / TINY_HEAD, false);
    x = linear(b, "qkv", layer_norm(b, "norm", x), 3 * c);
    x = reshape(b, x, n, t, c / TINY_HEAD, 3 * TINY_HEAD);
    for (int i = 0; i < 3; i++) {
        part[i] = slice(b, x, 3, i * TINY_HEAD, (i + 1) * TINY_HEAD);
        part[i] = permute(b, NULL, part[i], 0, 2, 1, 3);
    }
    part[3] = bias;
    x = zoo_call(b, CLV_OP_SDPA, "attention", part, 4, NO_ATTRS);
    x = linear(b, "proj", reshape(b, transpose(b, x, 1, 2), n, t, c), c);
    leave(b);
    return x;
}

/* x (N,H,W,C): tokens attend inside windows of s x s. */
static tensor tiny_windows(builder *b, const distances *d, tensor x)
{
    int64_t n = dim(b, x, 0), h = dim(b, x, 1), w = dim(b, x, 2);
    int64_t c = dim(b, x, 3), s = d->side;
    int64_t down = (h + s - 1) / s, across = (w + s - 1) / s;
    bool padded = down * s > h || across * s > w;
    if (h == s && w == s)
        return reshape(b, tiny_attention(b, d, reshape(b, x, n, h * w, c)), n,
                       h, w, c);
    if (padded)
        x = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                     ATTRS(INTS(PADDING, 0, 0, 0, 0, 0, down * s - h,
                                across * s - w, 0)));
    x = transpose(b, reshape(b, x, n, down, s, across, s, c), 2, 3);
    x = tiny_attention(b, d, reshape(b, x, n * down * across, s * s, c));
    x = transpose(b, reshape(b, x, n, down, across, s, s, c), 2, 3);
    x = reshape(b, x, n, down * s, across * s, c);
    return padded ? slice(b, slice(b, x, 1, 0, h), 2, 0, w) : x;
}

static tensor tiny_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, 2);
    enter(b, "mlp");
    x = linear(b, "fc1", layer_norm(b, "norm", x), TINY_EXPAND * c);
    x = linear(b, "fc2", gelu(b, "act", x), c);
    leave(b);
    return x;
}

static tensor tiny_block(builder *b, const distances *d, tensor x)
{
    int64_t n = dim(b, x, 0), h = dim(b, x, 1), w = dim(b, x, 2);
    int64_t c = dim(b, x, 3);
    x = add(b, x, tiny_windows(b, d, x));
    x = timm_conv(b, "local_conv", permute(b, NULL, x, 0, 3, 1, 2),
                  CLV_OP_IDENTITY, c, .kernel = 3, .groups = c);
    x = transpose(b, reshape(b, x, n, c, h * w), 1, 2);
    x = add(b, x, tiny_mlp(b, x));
    return reshape(b, x, n, h, w, c);
}

/* -- the network ----------------------------------------------------------*/

static tensor tiny_stage(builder *b, const tiny_vit *v, int stage, tensor x)
{
    static const int depth[TINY_STAGES] = {2, 2, 6, 2};
    distances d = {0};
    if (stage) {
        enter(b, "downsample");
        x = tiny_three(b, x, v->width[stage], v->width[stage], 2);
        leave(b);
        x = permute(b, NULL, x, 0, 2, 3, 1);
        d = distances_of(b, v->window * (stage == 2 ? 2 : 1), 1);
    }
    enter(b, "blocks");
    for (int i = 0; i < depth[stage]; i++) {
        enter(b, "%d", i);
        x = stage ? tiny_block(b, &d, x) : tiny_vit_residual(b, x);
        leave(b);
    }
    leave(b);
    return stage ? permute(b, NULL, x, 0, 3, 1, 2) : x;
}

static void tiny_vit_build(builder *b, const zoo_input *in, const void *variant)
{
    const tiny_vit *v = variant;
    tensor x = tiny_embed(b, input(b, "x", in), v->width[0]);
    enter(b, "stages");
    for (int stage = 0; stage < TINY_STAGES; stage++) {
        enter(b, "%d", stage);
        x = tiny_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    output(b, timm_norm_head(b, x, v->classes));
}

#define TINY_VIT(name, size, ...) \
    { \
        {name, "tiny_vit", IMAGE(size), TIMM("classification", 2022)}, \
            tiny_vit_build, &(const tiny_vit) \
        { \
            __VA_ARGS__ \
        } \
    }

/* widths, window, classes: 21841 where timm's first weights know as many */
const zoo_model clv__zoo_tiny_vit[] = {
    TINY_VIT("tiny_vit_5m_224", 224, {64, 128, 160, 320}, 7, 21841),
    TINY_VIT("tiny_vit_11m_224", 224, {64, 128, 256, 448}, 7, 21841),
    TINY_VIT("tiny_vit_21m_224", 224, {96, 192, 384, 576}, 7, 21841),
    TINY_VIT("tiny_vit_21m_384", 384, {96, 192, 384, 576}, 12, 1000),
    TINY_VIT("tiny_vit_21m_512", 512, {96, 192, 384, 576}, 16, 1000),
    ZOO_END,
};

/* xcit.c - XCiT: Cross-Covariance Image Transformers (El-Nouby et al., 2021),
 * as timm has it.
 *
 * Channels attend to channels: scores are the covariance of a head's channels
 * over all patches, so that their number does not grow with the image. Between
 * attention and perceptron neighbours talk by depthwise convolutions. Two
 * layers at the end gather all in a class token. */
#include "zoo/transformer.h"

#include <math.h>

enum { XCIT_WAVES = 32, XCIT_TOKEN_LAYERS = 2 };

typedef struct xcit {
    int64_t patch;
    block_sizes sizes;
    bool first_alone; /* at the end the class token alone is normed */
} xcit;

/* -- patches and where they are -------------------------------------------*/

/* Batch norms have an epsilon of their own. */
static tensor xcit_batch_norm(builder *b, const char *name, tensor x)
{
    double eps = b->norm_eps;
    b->norm_eps = 0;
    x = batch_norm(b, name, x);
    b->norm_eps = eps;
    return x;
}

static tensor xcit_embed(builder *b, const xcit *v, tensor x)
{
    int layers = v->patch == 16 ? 4 : 3;
    enter(b, "patch_embed");
    enter(b, "proj");
    for (int i = 0; i < layers; i++) {
        enter(b, "%d", 2 * i);
        x = conv2d(b, "0", x, v->sizes.width >> (layers - 1 - i), .kernel = 3,
                   .stride = 2, .padding = 1, .no_bias = true);
        x = xcit_batch_norm(b, "1", x);
        leave(b);
        if (i < layers - 1)
            x = gelu(b, nth(2 * i + 1), x);
    }
    leave(b);
    leave(b);
    return x;
}

/* Wave i of place `at` of n: sines and cosines by turns, ever longer. */
static double xcit_wave(int64_t at, int64_t n, int64_t i)
{
    double turn = (double)(at + 1) / ((double)n + 1e-6) * 2 * acos(-1);
    turn /= pow(10000, (double)(i / 2 * 2) / XCIT_WAVES);
    return i % 2 ? cos(turn) : sin(turn);
}

/* Waves of the row, then waves of the column, (1,64,h,w); learned is only what
 * becomes of them. */
static tensor xcit_positions(builder *b, const xcit *v, int64_t h, int64_t w)
{
    int64_t dims[] = {1, 2 * XCIT_WAVES, h, w}, area = h * w;
    enter(b, "pos_embed");
    tensor waves = weight(b, "waves", CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, waves, (uint32_t)(dims[1] * area));
    for (int64_t i = 0; at && i < XCIT_WAVES; i++) {
        double *rows = at + i * area, *columns = at + (XCIT_WAVES + i) * area;
        for (int64_t y = 0; y < h; y++)
            for (int64_t x = 0; x < w; x++) {
                rows[y * w + x] = x ? rows[y * w] : xcit_wave(y, h, i);
                columns[y * w + x] = y ? columns[x] : xcit_wave(x, w, i);
            }
    }
    tensor x = conv2d(b, "token_projection", waves, v->sizes.width);
    leave(b);
    x = reshape(b, x, 1, v->sizes.width, area);
    return permute(b, NULL, x, 0, 2, 1);
}

/* -- blocks ---------------------------------------------------------------*/

static tensor xcit_scaled(builder *b, const char *name, tensor x)
{
    return mul(b, parameter(b, name, dim(b, x, 2)), x);
}

static tensor xcit_unit(builder *b, tensor x)
{
    return zoo_call(b, CLV_OP_LP_NORM, "normalize", TENSORS(x),
                    ATTRS(INT(AXIS, -1)));
}

/* Scores are between channels: (N,heads,d,d). */
static tensor xcit_attention(builder *b, const xcit *v, tensor x)
{
    int64_t n = dim(b, x, 0), t = dim(b, x, 1), c = v->sizes.width;
    int64_t heads = v->sizes.heads;
    tensor part[3];
    enter(b, "attn");
    x = reshape(b, linear(b, "qkv", x, 3 * c), n, t, 3, heads, c / heads);
    x = permute(b, NULL, x, 2, 0, 3, 4, 1);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, x, 0, i);
    tensor q = xcit_unit(b, part[0]), k = xcit_unit(b, part[1]);
    x = matmul(b, q, transpose(b, k, -2, -1));
    x = softmax(b, mul(b, x, parameter(b, "temperature", heads, 1, 1)));
    x = permute(b, NULL, matmul(b, x, part[2]), 0, 3, 1, 2);
    x = linear(b, "proj", reshape(b, x, n, t, c), c);
    leave(b);
    return x;
}

/* Two 3x3 convolutions of each channel. */
static tensor xcit_talk(builder *b, tensor x, int64_t h, int64_t w)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2);
    enter(b, "local_mp");
    x = reshape(b, permute(b, NULL, x, 0, 2, 1), n, c, h, w);
    x = conv2d(b, "conv1", x, c, .kernel = 3, .padding = 1, .groups = c);
    x = xcit_batch_norm(b, "bn", gelu(b, "act", x));
    x = conv2d(b, "conv2", x, c, .kernel = 3, .padding = 1, .groups = c);
    x = permute(b, NULL, reshape(b, x, n, c, h * w), 0, 2, 1);
    leave(b);
    return x;
}

static tensor xcit_mlp(builder *b, const xcit *v, tensor x)
{
    enter(b, "mlp");
    x = gelu(b, "act", linear(b, "fc1", x, v->sizes.hidden));
    x = linear(b, "fc2", x, v->sizes.width);
    leave(b);
    return x;
}

static tensor xcit_block(builder *b, const xcit *v, tensor x, int64_t h,
                         int64_t w)
{
    tensor y = xcit_attention(b, v, layer_norm(b, "norm1", x));
    x = add(b, x, xcit_scaled(b, "gamma1", y));
    y = xcit_talk(b, layer_norm(b, "norm3", x), h, w);
    x = add(b, x, xcit_scaled(b, "gamma3", y));
    y = xcit_mlp(b, v, layer_norm(b, "norm2", x));
    return add(b, x, xcit_scaled(b, "gamma2", y));
}

/* -- the class token ------------------------------------------------------*/

/* Only the first token asks: (N,1,C). */
static tensor xcit_class_attention(builder *b, const xcit *v, tensor x)
{
    int64_t n = dim(b, x, 0), c = v->sizes.width;
    enter(b, "attn");
    tensor q = linear(b, "q", select_at(b, x, 1, 0), c);
    tensor k = linear(b, "k", x, c), values = linear(b, "v", x, c);
    x = attend(b, reshape(b, q, n, 1, c), k, values, .heads = v->sizes.heads);
    x = linear(b, "proj", x, c);
    leave(b);
    return x;
}

static tensor xcit_token_block(builder *b, const xcit *v, tensor x)
{
    int64_t t = dim(b, x, 1);
    tensor y = layer_norm(b, "norm1", x);
    y = cat_of(b, 1, xcit_class_attention(b, v, y), slice(b, y, 1, 1, t));
    x = add(b, x, xcit_scaled(b, "gamma1", y));
    if (v->first_alone)
        x = cat_of(b, 1, layer_norm(b, "norm2", slice(b, x, 1, 0, 1)),
                   slice(b, x, 1, 1, t));
    else
        x = layer_norm(b, "norm2", x);
    y = xcit_scaled(b, "gamma2", xcit_mlp(b, v, slice(b, x, 1, 0, 1)));
    return add(b, x, cat_of(b, 1, y, slice(b, x, 1, 1, t)));
}

static void xcit_build(builder *b, const zoo_input *in, const void *variant)
{
    const xcit *v = variant;
    int64_t c = v->sizes.width;
    check_heads(b, c, v->sizes.heads);
    b->norm_eps = 1e-6;
    tensor x = xcit_embed(b, v, input(b, "x", in));
    int64_t n = dim(b, x, 0), h = dim(b, x, 2), w = dim(b, x, 3);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    x = add(b, x, xcit_positions(b, v, h, w));
    enter(b, "blocks");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = xcit_block(b, v, x, h, w);
        leave(b);
    }
    leave(b);
    tensor first = expand(b, parameter(b, "cls_token", 1, 1, c), n, -1, -1);
    x = cat_of(b, 1, first, x);
    enter(b, "cls_attn_blocks");
    for (int i = 0; i < XCIT_TOKEN_LAYERS; i++) {
        enter(b, "%d", i);
        x = xcit_token_block(b, v, x);
        leave(b);
    }
    leave(b);
    x = select_at(b, layer_norm(b, "norm", x), 1, 0);
    output(b, linear(b, "head", x, 1000));
}

const zoo_knobs clv__knobs_xcit = ZOO_KNOBS(
    xcit_build, xcit, KNOB("dim", ZOO_INT64, xcit, sizes.width, 8, 65536),
    KNOB("depth", ZOO_INT, xcit, sizes.layers, 1, 1000),
    KNOB("heads", ZOO_INT64, xcit, sizes.heads, 1, 1024),
    KNOB_WITH("mlp", ZOO_INT64, xcit, sizes.hidden, 1, 262144, "dim"));

#define XCIT_ROW(name, size, patch, first_alone, ...) \
    { \
        {name, "xcit", IMAGE(size), TIMM("classification", 2021)}, xcit_build, \
            &(const xcit) \
        { \
            patch, {__VA_ARGS__}, first_alone \
        } \
    }
/* Patches of 16 and 8 pixels, images of 224 and 384. */
#define XCIT(name, ...) \
    XCIT_ROW(name "_p16_224", 224, 16, __VA_ARGS__), \
        XCIT_ROW(name "_p16_384", 384, 16, __VA_ARGS__), \
        XCIT_ROW(name "_p8_224", 224, 8, __VA_ARGS__), \
        XCIT_ROW(name "_p8_384", 384, 8, __VA_ARGS__)

/* class token normed alone; layers, heads, width, hidden */
const zoo_model clv__zoo_xcit[] = {
    XCIT("xcit_nano_12", true, 12, 4, 128, 512),
    XCIT("xcit_tiny_12", false, 12, 4, 192, 768),
    XCIT("xcit_small_12", false, 12, 8, 384, 1536),
    XCIT("xcit_tiny_24", false, 24, 4, 192, 768),
    XCIT("xcit_small_24", false, 24, 8, 384, 1536),
    XCIT("xcit_medium_24", false, 24, 8, 512, 2048),
    XCIT("xcit_large_24", false, 24, 16, 768, 3072),
    ZOO_END,
};

/* eva.c - EVA (Fang et al., 2022), EVA-02 and EVA-CLIP (2023), as timm has
 * them.
 *
 * Vision transformers for large-scale training. EVA-02 turns the queries and
 * keys of each patch by angles that grow with its row and column, and its
 * perceptrons are gated; its larger sizes have one more norm inside the
 * perceptron, and with CLIP inside attention. */
#include "zoo/transformer.h"

#include <math.h>

/* How queries, keys and values are made. */
typedef enum {
    EVA_JOINT, /* one matrix, with a bias of queries and one of values */
    EVA_APART, /* three matrices, the same biases */
    EVA_PLAIN  /* one matrix and one bias */
} eva_projections;
typedef enum { EVA_MLP, EVA_GATED, EVA_GATED_APART } eva_mlp_kind;

typedef struct eva_kind {
    eva_projections projections;
    eva_mlp_kind mlp;
    bool turned;     /* positions as angles */
    bool inner_norm; /* inside attention */
    bool post_norm;  /* norms behind the branches */
    bool token; /* the class token is the result, not the mean of patches */
} eva_kind;

typedef struct eva {
    const eva_kind *kind;
    int64_t size, patch, classes; /* 0 classes: features are the result */
    block_sizes sizes;
} eva;

/* Sines and cosines of all patches, (patches,head). */
typedef struct eva_angles {
    tensor sine, cosine;
} eva_angles;

/* -- positions ------------------------------------------------------------*/

/* A grid of another size than the first training's is scaled to that. */
enum { EVA_GRID = 16 };

/* Half of a head's channels turn by the row, half by the column; pairs of
 * neighbours by the same angle. */
static double eva_angle(const eva *v, int64_t place, int64_t channel)
{
    int64_t bands = v->sizes.width / v->sizes.heads / 4;
    double turns = (double)(channel / 2 % bands) / (double)bands;
    return (double)(place * EVA_GRID) / (double)(v->size / v->patch) *
           pow(10000, -turns);
}

/* The patches of a row have the row's angles of the first in it, those of a
 * column the column's. */
static void eva_fill(const eva *v, int64_t head, double *sine, double *cosine)
{
    int64_t side = v->size / v->patch;
    for (int64_t i = 0; i < side * side * head; i++) {
        int64_t patch = i / head, channel = i % head;
        bool by_row = channel < head / 2;
        int64_t first = by_row ? patch / side * side : patch % side;
        int64_t place = by_row ? patch / side : patch % side;
        bool known = first != patch;
        double angle = known ? 0 : eva_angle(v, place, channel);
        sine[i] = known ? sine[first * head + channel] : sin(angle);
        cosine[i] = known ? cosine[first * head + channel] : cos(angle);
    }
}

static eva_angles eva_turns(builder *b, const eva *v)
{
    int64_t side = v->size / v->patch, head = v->sizes.width / v->sizes.heads;
    int64_t dims[] = {side * side, head};
    uint32_t n = (uint32_t)(dims[0] * head);
    enter(b, "rope");
    tensor sine = weight(b, "sin", CLV_VALUE_CONST, 2, dims);
    tensor cosine = weight(b, "cos", CLV_VALUE_CONST, 2, dims);
    leave(b);
    double *s = constant_floats(b, sine, n), *c = constant_floats(b, cosine, n);
    if (s && c)
        eva_fill(v, head, s, c);
    return (eva_angles){sine, cosine};
}

/* x (N,heads,1+patches,head): turns all but the class token. */
static tensor eva_turn(builder *b, const eva_angles *a, tensor x)
{
    int64_t n = dim(b, x, 0), heads = dim(b, x, 1), head = dim(b, x, 3);
    int64_t patches = dim(b, x, 2) - 1;
    tensor first = slice(b, x, 2, 0, 1);
    x = slice(b, x, 2, 1, patches + 1);
    tensor pairs = reshape(b, x, n, heads, patches, head / 2, 2);
    tensor across = cat_of(b, 4, unary(b, CLV_OP_NEG, slice(b, pairs, 4, 1, 2)),
                           slice(b, pairs, 4, 0, 1));
    across = reshape(b, across, n, heads, patches, head);
    x = add(b, mul(b, x, a->cosine), mul(b, across, a->sine));
    return cat_of(b, 2, first, x);
}

/* -- attention ------------------------------------------------------------*/

/* The bias of keys is zero. */
static tensor eva_joint_bias(builder *b, int64_t width)
{
    tensor none = weight(b, "k_bias", CLV_VALUE_CONST, 1, &width);
    double *zero = constant_floats(b, none, (uint32_t)width);
    for (int64_t i = 0; zero && i < width; i++)
        zero[i] = 0;
    return cat_of(b, 0, parameter(b, "q_bias", width), none,
                  parameter(b, "v_bias", width));
}

/* q, k and v, each (N,heads,tokens,head). */
static void eva_project(builder *b, const eva *v, tensor x, tensor part[3])
{
    int64_t n = dim(b, x, 0), t = dim(b, x, 1), e = v->sizes.width;
    int64_t heads = v->sizes.heads;
    if (v->kind->projections == EVA_APART) {
        part[0] = split_heads(b, linear(b, "q_proj", x, e), heads);
        part[1] = split_heads(b, linear_no_bias(b, "k_proj", x, e), heads);
        part[2] = split_heads(b, linear(b, "v_proj", x, e), heads);
        return;
    }
    if (v->kind->projections == EVA_JOINT) {
        tensor bias = eva_joint_bias(b, e);
        enter(b, "qkv");
        tensor w = parameter(b, "weight", 3 * e, e);
        leave(b);
        x = linear_of(b, "linear", x, w, bias);
    } else {
        x = linear(b, "qkv", x, 3 * e);
    }
    x = reshape(b, x, n, t, 3, heads, e / heads);
    x = permute(b, NULL, x, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, x, 0, i);
}

static tensor eva_attention(builder *b, const eva *v, const eva_angles *a,
                            tensor x)
{
    tensor part[3];
    enter(b, "attn");
    eva_project(b, v, x, part);
    for (int i = 0; v->kind->turned && i < 2; i++)
        part[i] = eva_turn(b, a, part[i]);
    x = zoo_call(b, CLV_OP_SDPA, "attention", part, 3, NO_ATTRS);
    x = join_heads(b, x);
    if (v->kind->inner_norm)
        x = layer_norm(b, "norm", x);
    x = linear(b, "proj", x, v->sizes.width);
    leave(b);
    return x;
}

/* -- blocks ---------------------------------------------------------------*/

static tensor eva_mlp(builder *b, const eva *v, tensor x)
{
    int64_t hidden = v->sizes.hidden;
    enter(b, "mlp");
    if (v->kind->mlp == EVA_MLP) {
        x = gelu(b, "act", linear(b, "fc1", x, hidden));
    } else if (v->kind->mlp == EVA_GATED) {
        tensor half[2];
        chunk(b, linear(b, "fc1", x, 2 * hidden), 2, -1, half);
        x = mul(b, silu(b, "act", half[0]), half[1]);
    } else {
        tensor gate = linear(b, "fc1_g", x, hidden);
        x = linear(b, "fc1_x", x, hidden);
        x = layer_norm(b, "norm", mul(b, silu(b, "act", gate), x));
    }
    x = linear(b, "fc2", x, v->sizes.width);
    leave(b);
    return x;
}

static tensor eva_block(builder *b, const eva *v, const eva_angles *a, tensor x)
{
    if (v->kind->post_norm) {
        x = add(b, x, layer_norm(b, "norm1", eva_attention(b, v, a, x)));
        return add(b, x, layer_norm(b, "norm2", eva_mlp(b, v, x)));
    }
    x = add(b, x, eva_attention(b, v, a, layer_norm(b, "norm1", x)));
    return add(b, x, eva_mlp(b, v, layer_norm(b, "norm2", x)));
}

static tensor eva_embed(builder *b, const eva *v, tensor x)
{
    int64_t e = v->sizes.width, n = dim(b, x, 0);
    enter(b, "patch_embed");
    x = patch_tokens(b, "proj", x, e, v->patch);
    leave(b);
    tensor first = expand(b, parameter(b, "cls_token", 1, 1, e), n, -1, -1);
    x = cat_of(b, 1, first, x);
    return add(b, x, parameter(b, "pos_embed", 1, dim(b, x, 1), e));
}

static tensor eva_pool(builder *b, const eva *v, tensor x)
{
    if (v->kind->token)
        return select_at(b, layer_norm(b, "norm", x), 1, 0);
    x = slice(b, x, 1, 1, dim(b, x, 1));
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    return layer_norm(b, "fc_norm", x);
}

static void eva_build(builder *b, const zoo_input *in, const void *variant)
{
    const eva *v = variant;
    eva_angles angles = {CLV_NONE, CLV_NONE};
    tensor x = input(b, "x", in);
    need_size(b, x, v->size, v->size);
    b->norm_eps = 1e-6;
    x = eva_embed(b, v, x);
    if (v->kind->turned)
        angles = eva_turns(b, v);
    enter(b, "blocks");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = eva_block(b, v, &angles, x);
        leave(b);
    }
    leave(b);
    x = eva_pool(b, v, x);
    output(b, v->classes ? linear(b, "head", x, v->classes) : x);
}

/* -- models ---------------------------------------------------------------*/

static const eva_kind eva_large = {.projections = EVA_PLAIN};
static const eva_kind eva_giant = {.projections = EVA_JOINT};
static const eva_kind eva_giant_clip = {.token = true};
static const eva_kind eva_enormous_clip = {.post_norm = true, .token = true};
static const eva_kind eva02_small = {.mlp = EVA_GATED, .turned = true};
static const eva_kind eva02_large = {
    .projections = EVA_APART, .mlp = EVA_GATED_APART, .turned = true};
static const eva_kind eva02_clip = {.projections = EVA_APART,
                                    .mlp = EVA_GATED_APART,
                                    .turned = true,
                                    .inner_norm = true,
                                    .token = true};

#define EVA(name, year, kind, size, patch, classes, ...) \
    { \
        {name, "eva", IMAGE(size), TIMM("classification", year)}, eva_build, \
            &(const eva) \
        { \
            kind, size, patch, classes, \
            { \
                __VA_ARGS__ \
            } \
        } \
    }
#define EVA_FEATURES(name, year, kind, size, patch, classes, ...) \
    { \
        {name, "eva", IMAGE(size), TIMM("features", year)}, eva_build, \
            &(const eva) \
        { \
            kind, size, patch, classes, \
            { \
                __VA_ARGS__ \
            } \
        } \
    }

/* size, patch, classes; layers, heads, width, hidden */
const zoo_model clv__zoo_eva[] = {
    EVA("eva_large_patch14_196", 2022, &eva_large, 196, 14, 1000, 24, 16, 1024,
        4096),
    EVA("eva_large_patch14_336", 2022, &eva_large, 336, 14, 1000, 24, 16, 1024,
        4096),
    EVA("eva_giant_patch14_224", 2022, &eva_giant, 224, 14, 1000, 40, 16, 1408,
        6144),
    EVA("eva_giant_patch14_336", 2022, &eva_giant, 336, 14, 1000, 40, 16, 1408,
        6144),
    EVA("eva_giant_patch14_560", 2022, &eva_giant, 560, 14, 1000, 40, 16, 1408,
        6144),
    EVA_FEATURES("eva_giant_patch14_clip_224", 2022, &eva_giant_clip, 224, 14,
                 1024, 40, 16, 1408, 6144),
    EVA_FEATURES("eva02_tiny_patch14_224", 2023, &eva02_small, 224, 14, 0, 12,
                 3, 192, 512),
    EVA("eva02_tiny_patch14_336", 2023, &eva02_small, 336, 14, 1000, 12, 3, 192,
        512),
    EVA_FEATURES("eva02_small_patch14_224", 2023, &eva02_small, 224, 14, 0, 12,
                 6, 384, 1024),
    EVA("eva02_small_patch14_336", 2023, &eva02_small, 336, 14, 1000, 12, 6,
        384, 1024),
    EVA_FEATURES("eva02_base_patch14_224", 2023, &eva02_large, 224, 14, 0, 12,
                 12, 768, 2048),
    EVA("eva02_base_patch14_448", 2023, &eva02_large, 448, 14, 1000, 12, 12,
        768, 2048),
    EVA_FEATURES("eva02_large_patch14_224", 2023, &eva02_large, 224, 14, 0, 24,
                 16, 1024, 2730),
    EVA("eva02_large_patch14_448", 2023, &eva02_large, 448, 14, 1000, 24, 16,
        1024, 2730),
    EVA_FEATURES("eva02_base_patch16_clip_224", 2023, &eva02_clip, 224, 16, 512,
                 12, 12, 768, 2048),
    EVA_FEATURES("eva02_large_patch14_clip_224", 2023, &eva02_clip, 224, 14,
                 768, 24, 16, 1024, 2730),
    EVA_FEATURES("eva02_large_patch14_clip_336", 2023, &eva02_clip, 336, 14,
                 768, 24, 16, 1024, 2730),
    EVA_FEATURES("eva02_enormous_patch14_clip_224", 2023, &eva_enormous_clip,
                 224, 14, 1024, 64, 16, 1792, 15360),
    ZOO_END,
};

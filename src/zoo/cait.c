/* cait.c - Going Deeper with Image Transformers (Touvron et al., 2021), as timm
 * has it.
 *
 * Patches alone go through the deep part, whose heads talk to each other before
 * and after their softmax; then two layers in which only the class token asks.
 * Both branches of a layer are scaled per channel. */
#include "zoo/transformer.h"

#include <math.h>

enum { CAIT_PATCH = 16, CAIT_TOKEN_LAYERS = 2 };

typedef struct cait {
    int64_t size, width;
    int depth;
    int64_t heads;
} cait;

/* (N,n,C) -> (N,heads,n,C/heads) */
static tensor cait_heads(builder *b, const cait *v, tensor x)
{
    x = reshape(b, x, dim(b, x, 0), dim(b, x, 1), v->heads,
                v->width / v->heads);
    return permute(b, NULL, x, 0, 2, 1, 3);
}

/* Each score becomes a mix of the scores of all heads. */
static tensor cait_talk(builder *b, const cait *v, const char *name, tensor x)
{
    x = linear(b, name, permute(b, NULL, x, 0, 2, 3, 1), v->heads);
    return permute(b, NULL, x, 0, 3, 1, 2);
}

static tensor cait_attention(builder *b, const cait *v, tensor x)
{
    int64_t n = dim(b, x, 0), tokens = dim(b, x, 1), c = v->width;
    tensor part[3];
    enter(b, "attn");
    x = linear(b, "qkv", x, 3 * c);
    x = reshape(b, x, n, tokens, 3, v->heads, c / v->heads);
    x = permute(b, NULL, x, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, x, 0, i);
    tensor q = scale(b, part[0], 1 / sqrt((double)(c / v->heads)));
    x = matmul(b, q, transpose(b, part[1], -2, -1));
    x = softmax(b, cait_talk(b, v, "proj_l", x));
    x = matmul(b, cait_talk(b, v, "proj_w", x), part[2]);
    x = reshape(b, transpose(b, x, 1, 2), n, tokens, c);
    x = linear(b, "proj", x, c);
    leave(b);
    return x;
}

/* Only the first token asks: (N,1,C). */
static tensor cait_class_attention(builder *b, const cait *v, tensor x)
{
    int64_t n = dim(b, x, 0), c = v->width;
    enter(b, "attn");
    tensor q = linear(b, "q", select_at(b, x, 1, 0), c);
    q = cait_heads(b, v, reshape(b, q, n, 1, c));
    tensor k = cait_heads(b, v, linear(b, "k", x, c));
    tensor values = cait_heads(b, v, linear(b, "v", x, c));
    q = scale(b, q, 1 / sqrt((double)(c / v->heads)));
    x = softmax(b, matmul(b, q, transpose(b, k, -2, -1)));
    x = transpose(b, matmul(b, x, values), 1, 2);
    x = linear(b, "proj", reshape(b, x, n, 1, c), c);
    leave(b);
    return x;
}

static tensor cait_mlp(builder *b, const cait *v, tensor x)
{
    enter(b, "mlp");
    x = gelu(b, "act", linear(b, "fc1", x, 4 * v->width));
    x = linear(b, "fc2", x, v->width);
    leave(b);
    return x;
}

static tensor cait_scaled(builder *b, const cait *v, const char *name, tensor x)
{
    return mul(b, parameter(b, name, v->width), x);
}

static tensor cait_block(builder *b, const cait *v, tensor x)
{
    tensor y = cait_attention(b, v, layer_norm(b, "norm1", x));
    x = add(b, x, cait_scaled(b, v, "gamma_1", y));
    y = cait_mlp(b, v, layer_norm(b, "norm2", x));
    return add(b, x, cait_scaled(b, v, "gamma_2", y));
}

static tensor cait_token_block(builder *b, const cait *v, tensor x,
                               tensor token)
{
    tensor all = layer_norm(b, "norm1", cat_of(b, 1, token, x));
    tensor y = cait_class_attention(b, v, all);
    token = add(b, token, cait_scaled(b, v, "gamma_1", y));
    y = cait_mlp(b, v, layer_norm(b, "norm2", token));
    return add(b, token, cait_scaled(b, v, "gamma_2", y));
}

static tensor cait_embed(builder *b, const cait *v, tensor x)
{
    enter(b, "patch_embed");
    x = conv2d(b, "proj", x, v->width, .kernel = CAIT_PATCH,
               .stride = CAIT_PATCH);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    leave(b);
    return add(b, x, parameter(b, "pos_embed", 1, dim(b, x, 1), v->width));
}

static void cait_build(builder *b, const zoo_input *in, const void *variant)
{
    const cait *v = variant;
    check_heads(b, v->width, v->heads);
    tensor x = input(b, "x", in);
    need_size(b, x, v->size, v->size);
    b->norm_eps = 1e-6;
    x = cait_embed(b, v, x);
    enter(b, "blocks");
    for (int i = 0; i < v->depth; i++) {
        enter(b, "%d", i);
        x = cait_block(b, v, x);
        leave(b);
    }
    leave(b);
    tensor token = parameter(b, "cls_token", 1, 1, v->width);
    token = zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(token),
                     ATTRS(INTS(SHAPE, dim(b, x, 0), 1, v->width)));
    enter(b, "blocks_token_only");
    for (int i = 0; i < CAIT_TOKEN_LAYERS; i++) {
        enter(b, "%d", i);
        token = cait_token_block(b, v, x, token);
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "norm", cat_of(b, 1, token, x));
    output(b, linear(b, "head", select_at(b, x, 1, 0), 1000));
}

const zoo_knobs clv__knobs_cait =
    ZOO_KNOBS(cait_build, cait, KNOB("dim", ZOO_INT64, cait, width, 1, 65536),
              KNOB("depth", ZOO_INT, cait, depth, 1, 1000),
              KNOB("heads", ZOO_INT64, cait, heads, 1, 1024));

#define CAIT(name, size, ...) \
    { \
        {name, "cait", IMAGE(size), TIMM("classification", 2021)}, cait_build, \
            &(const cait) \
        { \
            size, __VA_ARGS__ \
        } \
    }

/* size of the image, width, layers, heads */
const zoo_model clv__zoo_cait[] = {
    CAIT("cait_xxs24_224", 224, 192, 24, 4),
    CAIT("cait_xxs24_384", 384, 192, 24, 4),
    CAIT("cait_xxs36_224", 224, 192, 36, 4),
    CAIT("cait_xxs36_384", 384, 192, 36, 4),
    CAIT("cait_xs24_384", 384, 288, 24, 6),
    CAIT("cait_s24_224", 224, 384, 24, 8),
    CAIT("cait_s24_384", 384, 384, 24, 8),
    CAIT("cait_s36_384", 384, 384, 36, 8),
    CAIT("cait_m36_384", 384, 768, 36, 16),
    CAIT("cait_m48_448", 448, 768, 48, 16),
    ZOO_END,
};

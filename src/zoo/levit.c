/* levit.c - LeViT: a Vision Transformer in ConvNet's Clothing (Graham et al.,
 * 2021), as timm has it.
 *
 * Convolutions make 14x14 tokens; attention with a learned bias for each
 * distance, between batch norms; between stages an attention whose queries are
 * every second token. Two heads are trained, their mean is the result. */
#include "zoo/zoo.h"

#include <math.h>

enum { LEVIT_STAGES = 3, LEVIT_SIZE = 224 };

typedef struct levit {
    int64_t width[LEVIT_STAGES], key, heads[LEVIT_STAGES];
    int depth[LEVIT_STAGES];
    bool newer; /* SiLU instead of hard-swish */
    bool fine;  /* tokens of 8x8 pixels, not 16x16 */
} levit;

/* One attention: heads of `key` and `value` channels over side x side tokens,
 * every `step`th of each axis a query. */
typedef struct levit_heads {
    int64_t heads, key, value, side, step;
    clv_op act;
    distances away; /* of each query and key */
} levit_heads;

static tensor levit_conv(builder *b, const char *name, tensor x, int64_t out)
{
    enter(b, "%s", name);
    x = conv2d(b, "linear", x, out, .kernel = 3, .stride = 2, .padding = 1,
               .no_bias = true);
    x = batch_norm(b, "bn", x);
    leave(b);
    return x;
}

/* Tokens (N,n,C): a batch norm sees them as one long list. */
static tensor levit_linear(builder *b, const char *name, tensor x, int64_t out)
{
    int64_t n = dim(b, x, 0), tokens = dim(b, x, 1);
    enter(b, "%s", name);
    x = linear_no_bias(b, "linear", x, out);
    x = batch_norm(b, "bn", reshape(b, x, n * tokens, out));
    x = reshape(b, x, n, tokens, out);
    leave(b);
    return x;
}

static tensor levit_stem(builder *b, const levit *v, clv_op act, tensor x)
{
    int layers = v->fine ? 3 : 4;
    enter(b, "stem");
    for (int i = 1; i <= layers; i++) {
        char name[16] = "conv ", after[16] = "act ";
        name[4] = after[3] = (char)('0' + i);
        x = levit_conv(b, name, x, v->width[0] >> (layers - i));
        if (i < layers)
            x = zoo_module(b, act, after, x, NO_ATTRS);
    }
    leave(b);
    return transpose(b, flatten(b, x, 2), 1, 2);
}

/* -- attention ------------------------------------------------------------*/

/* q (N,heads,m,key), k (N,heads,key,n), v (N,heads,n,value) -> (N,m,C) */
static tensor levit_mix(builder *b, const levit_heads *h, tensor q, tensor k,
                        tensor v, int64_t out)
{
    int64_t n = dim(b, q, 0), m = dim(b, q, 2);
    tensor scores = scale(b, matmul(b, q, k), 1 / sqrt((double)h->key));
    scores =
        softmax(b, add(b, scores, distance_bias(b, &h->away, h->heads, false)));
    tensor x = transpose(b, matmul(b, scores, v), 1, 2);
    x = reshape(b, x, n, m, h->heads * h->value);
    enter(b, "proj");
    x = levit_linear(b, "ln", zoo_module(b, h->act, "act", x, NO_ATTRS), out);
    leave(b);
    return x;
}

static tensor levit_attention(builder *b, const levit_heads *h, tensor x)
{
    int64_t n = dim(b, x, 0), tokens = dim(b, x, 1), c = dim(b, x, 2);
    int64_t each = 2 * h->key + h->value;
    enter(b, "attn");
    tensor all = levit_linear(b, "qkv", x, each * h->heads);
    all = reshape(b, all, n, tokens, h->heads, each);
    tensor q = slice(b, all, 3, 0, h->key);
    tensor k = slice(b, all, 3, h->key, 2 * h->key);
    tensor v = slice(b, all, 3, 2 * h->key, each);
    x = levit_mix(b, h, permute(b, NULL, q, 0, 2, 1, 3),
                  permute(b, NULL, k, 0, 2, 3, 1),
                  permute(b, NULL, v, 0, 2, 1, 3), c);
    leave(b);
    return x;
}

/* Every second token of every second row. */
static tensor levit_subsample(builder *b, const levit_heads *h, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2), s = h->side;
    enter(b, "down");
    x = zoo_call(b, CLV_OP_SLICE, "slice", TENSORS(reshape(b, x, n, s, s, c)),
                 ATTRS(INTS(START, 0, 0), INTS(END, s, s), INTS(AXES, 1, 2),
                       INTS(STEP, h->step, h->step)));
    x = reshape(b, x, n, dim(b, x, 1) * dim(b, x, 2), c);
    leave(b);
    return x;
}

static tensor levit_attention_down(builder *b, const levit_heads *h, tensor x,
                                   int64_t out)
{
    int64_t n = dim(b, x, 0), tokens = dim(b, x, 1), each = h->key + h->value;
    enter(b, "attn_downsample");
    tensor both = levit_linear(b, "kv", x, each * h->heads);
    both = reshape(b, both, n, tokens, h->heads, each);
    tensor k = slice(b, both, 3, 0, h->key);
    tensor v = slice(b, both, 3, h->key, each);
    enter(b, "q");
    tensor q =
        levit_linear(b, "ln", levit_subsample(b, h, x), h->key * h->heads);
    leave(b);
    q = reshape(b, q, n, dim(b, q, 1), h->heads, h->key);
    x = levit_mix(b, h, permute(b, NULL, q, 0, 2, 1, 3),
                  permute(b, NULL, k, 0, 2, 3, 1),
                  permute(b, NULL, v, 0, 2, 1, 3), out);
    leave(b);
    return x;
}

/* -- the network ----------------------------------------------------------*/

static tensor levit_mlp(builder *b, clv_op act, tensor x)
{
    int64_t c = dim(b, x, 2);
    enter(b, "mlp");
    x = levit_linear(b, "ln1", x, 2 * c);
    x = zoo_module(b, act, "act", x, NO_ATTRS);
    x = levit_linear(b, "ln2", dropout(b, "drop", x), c);
    leave(b);
    return x;
}

static tensor levit_stage(builder *b, const levit *v, int stage, tensor x,
                          int64_t *side)
{
    clv_op act = v->newer ? CLV_OP_SILU : CLV_OP_HARDSWISH;
    levit_heads h = {.heads = v->heads[stage],
                     .key = v->key,
                     .value = 2 * v->key,
                     .side = *side,
                     .step = 1,
                     .act = act};
    if (stage) {
        levit_heads down = {.heads = v->width[stage - 1] / v->key,
                            .key = v->key,
                            .value = 4 * v->key,
                            .side = *side,
                            .step = 2,
                            .act = act};
        down.away = distances_of(b, down.side, down.step);
        enter(b, "downsample");
        x = levit_attention_down(b, &down, x, v->width[stage]);
        x = add(b, x, levit_mlp(b, act, x));
        leave(b);
        h.side = *side = (*side + 1) / 2;
    }
    h.away = distances_of(b, h.side, h.step);
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        enter(b, "%d", i);
        x = add(b, x, levit_attention(b, &h, x));
        x = add(b, x, levit_mlp(b, act, x));
        leave(b);
    }
    leave(b);
    return x;
}

static tensor levit_head(builder *b, const char *name, tensor x)
{
    enter(b, "%s", name);
    x = dropout(b, "drop", batch_norm(b, "bn", x));
    x = linear(b, "linear", x, 1000);
    leave(b);
    return x;
}

static void levit_build(builder *b, const zoo_input *in, const void *variant)
{
    const levit *v = variant;
    int64_t side = LEVIT_SIZE / (v->fine ? 8 : 16);
    tensor x = input(b, "x", in);
    need_size(b, x, LEVIT_SIZE, LEVIT_SIZE);
    x = levit_stem(b, v, v->newer ? CLV_OP_SILU : CLV_OP_HARDSWISH, x);
    enter(b, "stages");
    for (int i = 0; i < LEVIT_STAGES; i++) {
        enter(b, "%d", i);
        x = levit_stage(b, v, i, x, &side);
        leave(b);
    }
    leave(b);
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    x = add(b, levit_head(b, "head", x), levit_head(b, "head_dist", x));
    output(b, scale(b, x, 0.5));
}

#define LEVIT(name, ...) \
    { \
        {name, "levit", IMAGE(LEVIT_SIZE), TIMM("classification", 2021)}, \
            levit_build, &(const levit) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_levit[] = {
    LEVIT("levit_128s", {128, 256, 384}, 16, {4, 6, 8}, {2, 3, 4}, false,
          false),
    LEVIT("levit_128", {128, 256, 384}, 16, {4, 8, 12}, {4, 4, 4}, false,
          false),
    LEVIT("levit_192", {192, 288, 384}, 32, {3, 5, 6}, {4, 4, 4}, false, false),
    LEVIT("levit_256", {256, 384, 512}, 32, {4, 6, 8}, {4, 4, 4}, false, false),
    LEVIT("levit_384", {384, 512, 768}, 32, {6, 9, 12}, {4, 4, 4}, false,
          false),
    ZOO_END,
};

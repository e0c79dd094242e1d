/* transformer.c - see transformer.h. */
#include "zoo/transformer.h"

#include <math.h>
#include <string.h>

/* -- paths ----------------------------------------------------------------*/

void enter_path(builder *b, const char *path)
{
    for (const char *at = path; *at;) {
        int n = (int)strcspn(at, ".");
        enter(b, "%.*s", n, at);
        at += n + (at[n] == '.');
    }
}

void leave_path(builder *b, const char *path)
{
    if (!*path)
        return;
    leave(b);
    for (; *path; path++)
        if (*path == '.')
            leave(b);
}

/* What stands before the last part of a path; the last part. */
static const char *transformer_path_split(const char *path, char before[96])
{
    const char *dot = strrchr(path, '.');
    size_t n = dot ? (size_t)(dot - path) : 0;
    memcpy(before, path, n);
    before[n] = '\0';
    return dot ? dot + 1 : path;
}

tensor linear_at(builder *b, const char *path, tensor x, int64_t out, bool bias)
{
    char before[96];
    const char *last = transformer_path_split(path, before);
    enter_path(b, before);
    x = bias ? linear(b, last, x, out) : linear_no_bias(b, last, x, out);
    leave_path(b, before);
    return x;
}

tensor layer_norm_at(builder *b, const char *path, tensor x)
{
    char before[96];
    const char *last = transformer_path_split(path, before);
    enter_path(b, before);
    x = layer_norm(b, last, x);
    leave_path(b, before);
    return x;
}

/* A vector that scales channels; its name is the end of the path. */
static tensor transformer_scale_at(builder *b, const char *path, tensor x)
{
    char before[96];
    const char *last = transformer_path_split(path, before);
    enter_path(b, before);
    x = mul(b, x, parameter(b, last, dim(b, x, -1)));
    leave_path(b, before);
    return x;
}

/* -- tables ---------------------------------------------------------------*/

tensor embedding(builder *b, const char *path, tensor ids, int64_t rows,
                 int64_t width)
{
    enter_path(b, path);
    tensor x = embedding_of(b, "", parameter(b, "weight", rows, width), ids);
    leave_path(b, path);
    return x;
}

tensor embedding_of(builder *b, const char *path, tensor table, tensor ids)
{
    enter_path(b, path);
    tensor x = zoo_call(b, CLV_OP_EMBEDDING, "embedding", TENSORS(table, ids),
                        NO_ATTRS);
    leave_path(b, path);
    return x;
}

/* Of a constant that is kept. */
enum { MOST_NUMBERS = 1 << 24 };

tensor whole_table(builder *b, const char *name, uint32_t rank,
                   const int64_t *dims, int64_t **fill)
{
    int64_t n = 1;
    *fill = NULL;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] > MOST_NUMBERS || (n *= dims[i]) > MOST_NUMBERS) {
            refuse(b, "'%s' of more than %d numbers", name, MOST_NUMBERS);
            break;
        }
    tensor w = weight(b, name, CLV_VALUE_CONST, rank, dims);
    if (b->status != CLV_OK)
        return CLV_NONE;
    *fill = arena_array(&b->g->mem, (size_t)n, sizeof **fill);
    if (*fill)
        constant_ints(b, w, *fill, (uint32_t)n);
    else
        zoo_nomem(b);
    return w;
}

tensor positions(builder *b, const char *name, int64_t rows, int64_t width,
                 int64_t first, int64_t n)
{
    int64_t *all;
    check_length(b, n, rows - first);
    tensor ids =
        whole_table(b, "position_ids", 2, (const int64_t[]){1, n}, &all);
    for (int64_t i = 0; all && i < n; i++)
        all[i] = first + i;
    return embedding(b, name, ids, rows, width);
}

void check_length(builder *b, int64_t n, int64_t most)
{
    if (n > most)
        refuse(b, "a sequence of %lld tokens: it has positions for %lld",
               (long long)n, (long long)most);
}

void check_heads(builder *b, int64_t width, int64_t heads)
{
    if (width % heads)
        refuse(b, "a width of %lld is no multiple of %lld heads",
               (long long)width, (long long)heads);
}

tensor patch_tokens(builder *b, const char *name, tensor x, int64_t width,
                    int64_t patch)
{
    int64_t h = dim(b, x, 2), w = dim(b, x, 3);
    if (h % patch || w % patch)
        refuse(b,
               "an image of %lldx%lld cannot be cut into patches of %lldx%lld",
               (long long)h, (long long)w, (long long)patch, (long long)patch);
    x = conv2d(b, name, x, width, .kernel = patch, .stride = patch);
    return transpose(b, flatten(b, x, 2), 1, 2);
}

/* The table of one axis of a sine map: (1,size,1,half) or (1,1,size,half). */
static tensor transformer_sines(builder *b, const char *name, int64_t size,
                                int64_t half, bool across, double centre)
{
    int64_t dims[] = {1, across ? 1 : size, across ? size : 1, half};
    tensor t = weight(b, name, CLV_VALUE_CONST, 4, dims);
    float *at = constant_bytes(b, t, CLV_FLOAT32);
    for (int64_t i = 0; at && i < size; i++)
        for (int64_t k = 0; k < half; k++) {
            double turn = ((double)(i + 1) - centre) / ((double)size + 1e-6);
            double x = turn * 2 * acos(-1) /
                       pow(1e4, (double)(k / 2 * 2) / (double)half);
            *at++ = (float)(k % 2 ? cos(x) : sin(x));
        }
    return t;
}

tensor sine_map(builder *b, int64_t h, int64_t w, int64_t width, double centre)
{
    tensor y = transformer_sines(b, "pos_y", h, width / 2, false, centre);
    tensor x = transformer_sines(b, "pos_x", w, width / 2, true, centre);
    return cat_of(b, 3, expand(b, y, 1, h, w, width / 2),
                  expand(b, x, 1, h, w, width / 2));
}

/* -- blocks ---------------------------------------------------------------*/

tensor split_heads(builder *b, tensor x, int64_t heads)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 1), e = dim(b, x, 2);
    return transpose(b, reshape(b, x, n, s, heads, e / heads), 1, 2);
}

tensor join_heads(builder *b, tensor x)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 2);
    int64_t e = dim(b, x, 1) * dim(b, x, 3);
    return reshape(b, transpose(b, x, 1, 2), n, s, e);
}

tensor zoo_attend(builder *b, tensor q, tensor k, tensor v, attend_args a)
{
    q = split_heads(b, q, a.heads);
    k = split_heads(b, k, a.heads);
    v = split_heads(b, v, a.heads);
    clv_attr attrs[] = {INT(CAUSAL, a.causal), FLOAT(SCALE, a.scale)};
    return join_heads(b, zoo_call(b, CLV_OP_SDPA, "attention",
                                  (tensor[]){q, k, v, a.mask}, a.mask ? 4 : 3,
                                  attrs, a.scale != 0 ? 2 : 1));
}

tensor transformer_activation(builder *b, const block_words *w, tensor x)
{
    clv_attr tanh_of = STRING(APPROXIMATE, "tanh");
    clv_attr steep = FLOAT(ALPHA, w->act_alpha);
    bool alpha = w->act_alpha > 0;
    return zoo_module(b, w->act, NULL, x, alpha ? &steep : &tanh_of,
                      alpha || w->act_tanh);
}

static tensor transformer_attention(builder *b, const block_words *w,
                                    const block_sizes *z, tensor x,
                                    attend_args a)
{
    tensor q = linear_at(b, w->q, x, z->width, true);
    tensor k = linear_at(b, w->k, x, z->width, !w->key_no_bias);
    tensor v = linear_at(b, w->v, x, z->width, true);
    a.heads = z->heads;
    tensor y = zoo_attend(b, q, k, v, a);
    return linear_at(b, w->o, y, z->width, true);
}

static tensor transformer_cross(builder *b, const block_words *w,
                                const block_sizes *z, tensor x, tensor other)
{
    tensor q = linear_at(b, w->cross_q, x, z->width, true);
    tensor k = linear_at(b, w->cross_k, other, z->width, !w->key_no_bias);
    tensor v = linear_at(b, w->cross_v, other, z->width, true);
    tensor y = attend(b, q, k, v, .heads = z->heads);
    return linear_at(b, w->cross_o, y, z->width, true);
}

tensor transformer_mlp(builder *b, const block_words *w, const block_sizes *z,
                       tensor x)
{
    x = linear_at(b, w->up, x, z->hidden, true);
    x = transformer_activation(b, w, x);
    return linear_at(b, w->down, x, z->width, true);
}

tensor perceptron(builder *b, const char *path, tensor x, int layers,
                  int64_t hidden, int64_t out)
{
    enter_path(b, path);
    enter(b, "layers");
    for (int i = 0; i < layers; i++) {
        x = linear(b, nth(i), x, i + 1 < layers ? hidden : out);
        if (i + 1 < layers)
            x = relu(b, NULL, x);
    }
    leave(b);
    leave_path(b, path);
    return x;
}

/* Attention with what is around it: norm, scale, sum. */
static tensor transformer_attends(builder *b, const block_words *w,
                                  const block_sizes *z, tensor x, attend_args a)
{
    tensor y = w->pre_norm ? layer_norm_at(b, w->norm1, x) : x;
    y = transformer_attention(b, w, z, y, a);
    if (w->scale1)
        y = transformer_scale_at(b, w->scale1, y);
    x = add(b, y, x);
    return w->pre_norm ? x : layer_norm_at(b, w->norm1, x);
}

static tensor transformer_thinks(builder *b, const block_words *w,
                                 const block_sizes *z, tensor x)
{
    tensor y = w->pre_norm ? layer_norm_at(b, w->norm2, x) : x;
    y = transformer_mlp(b, w, z, y);
    if (w->scale2)
        y = transformer_scale_at(b, w->scale2, y);
    x = add(b, y, x);
    return w->pre_norm ? x : layer_norm_at(b, w->norm2, x);
}

tensor transformer_block(builder *b, const block_words *w, const block_sizes *z,
                         tensor x, tensor other, bool causal)
{
    x = transformer_attends(b, w, z, x, (attend_args){.causal = causal});
    if (other != CLV_NONE) {
        tensor y = w->pre_norm ? layer_norm_at(b, w->cross_norm, x) : x;
        x = add(b, transformer_cross(b, w, z, y, other), x);
        if (!w->pre_norm)
            x = layer_norm_at(b, w->cross_norm, x);
    }
    return transformer_thinks(b, w, z, x);
}

tensor transformer_block_biased(builder *b, const block_words *w,
                                const block_sizes *z, tensor x, tensor bias)
{
    x = transformer_attends(b, w, z, x, (attend_args){.mask = bias});
    return transformer_thinks(b, w, z, x);
}

tensor transformer_stack(builder *b, const char *path, const block_words *w,
                         const block_sizes *z, tensor x)
{
    return transformer_layers(b, path, w, z, x, CLV_NONE, false);
}

tensor transformer_layers(builder *b, const char *path, const block_words *w,
                          const block_sizes *z, tensor x, tensor other,
                          bool causal)
{
    enter_path(b, path);
    for (int i = 0; i < z->layers; i++) {
        enter(b, "%d", i);
        x = transformer_block(b, w, z, x, other, causal);
        leave(b);
    }
    leave_path(b, path);
    return x;
}

/* transformer.c - see transformer.h. */
#include "zoo/transformer.h"

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
    tensor table = parameter(b, "weight", rows, width);
    tensor x = zoo_call(b, CLV_OP_EMBEDDING, "embedding", TENSORS(table, ids),
                        NO_ATTRS);
    leave_path(b, path);
    return x;
}

tensor positions(builder *b, const char *name, int64_t rows, int64_t width,
                 int64_t first, int64_t n)
{
    const int64_t dims[2] = {1, n};
    tensor ids = weight(b, "position_ids", CLV_VALUE_CONST, 2, dims);
    int64_t *all = n > 0 && n <= rows
                       ? arena_array(&b->g->mem, (size_t)n, sizeof *all)
                       : NULL;
    check_length(b, n, rows - first);
    if (all) {
        for (int64_t i = 0; i < n; i++)
            all[i] = first + i;
        constant_ints(b, ids, all, (uint32_t)n);
    } else if (b->status == CLV_OK) {
        zoo_nomem(b);
    }
    return embedding(b, name, ids, rows, width);
}

void check_length(builder *b, int64_t n, int64_t most)
{
    if (n > most)
        refuse(b, "a sequence of %lld tokens: it has positions for %lld",
               (long long)n, (long long)most);
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

/* -- blocks ---------------------------------------------------------------*/

/* (N,S,E) -> (N,heads,S,E/heads) */
static tensor transformer_split_heads(builder *b, tensor x, int64_t heads)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 1), e = dim(b, x, 2);
    return transpose(b, reshape(b, x, n, s, heads, e / heads), 1, 2);
}

tensor attend(builder *b, tensor q, tensor k, tensor v, int64_t heads,
              bool causal)
{
    int64_t n = dim(b, q, 0), s = dim(b, q, 1), e = dim(b, q, 2);
    q = transformer_split_heads(b, q, heads);
    k = transformer_split_heads(b, k, heads);
    v = transformer_split_heads(b, v, heads);
    tensor y = zoo_call(b, CLV_OP_SDPA, "attention", TENSORS(q, k, v),
                        ATTRS(INT(CAUSAL, causal)));
    return reshape(b, transpose(b, y, 1, 2), n, s, e);
}

static tensor transformer_activation(builder *b, const block_words *w, tensor x)
{
    clv_attr tanh_of = STRING(APPROXIMATE, "tanh");
    return zoo_module(b, w->act, NULL, x, &tanh_of, w->act_tanh);
}

static tensor transformer_attention(builder *b, const block_words *w,
                                    const block_sizes *z, tensor x, bool causal)
{
    tensor q = linear_at(b, w->q, x, z->width, true);
    tensor k = linear_at(b, w->k, x, z->width, !w->key_no_bias);
    tensor v = linear_at(b, w->v, x, z->width, true);
    tensor y = attend(b, q, k, v, z->heads, causal);
    return linear_at(b, w->o, y, z->width, true);
}

static tensor transformer_cross(builder *b, const block_words *w,
                                const block_sizes *z, tensor x, tensor other)
{
    tensor q = linear_at(b, w->cross_q, x, z->width, true);
    tensor k = linear_at(b, w->cross_k, other, z->width, !w->key_no_bias);
    tensor v = linear_at(b, w->cross_v, other, z->width, true);
    tensor y = attend(b, q, k, v, z->heads, false);
    return linear_at(b, w->cross_o, y, z->width, true);
}

static tensor transformer_mlp(builder *b, const block_words *w,
                              const block_sizes *z, tensor x)
{
    x = linear_at(b, w->up, x, z->hidden, true);
    x = transformer_activation(b, w, x);
    return linear_at(b, w->down, x, z->width, true);
}

tensor transformer_block(builder *b, const block_words *w, const block_sizes *z,
                         tensor x, tensor other, bool causal)
{
    tensor y = w->pre_norm ? layer_norm_at(b, w->norm1, x) : x;
    y = transformer_attention(b, w, z, y, causal);
    if (w->scale1)
        y = transformer_scale_at(b, w->scale1, y);
    x = add(b, y, x);
    if (!w->pre_norm)
        x = layer_norm_at(b, w->norm1, x);
    if (other != CLV_NONE) {
        y = w->pre_norm ? layer_norm_at(b, w->cross_norm, x) : x;
        x = add(b, transformer_cross(b, w, z, y, other), x);
        if (!w->pre_norm)
            x = layer_norm_at(b, w->cross_norm, x);
    }
    y = w->pre_norm ? layer_norm_at(b, w->norm2, x) : x;
    y = transformer_mlp(b, w, z, y);
    if (w->scale2)
        y = transformer_scale_at(b, w->scale2, y);
    x = add(b, y, x);
    return w->pre_norm ? x : layer_norm_at(b, w->norm2, x);
}

tensor transformer_stack(builder *b, const char *path, const block_words *w,
                         const block_sizes *z, tensor x)
{
    enter_path(b, path);
    for (int i = 0; i < z->layers; i++) {
        enter(b, "%d", i);
        x = transformer_block(b, w, z, x, CLV_NONE, false);
        leave(b);
    }
    leave_path(b, path);
    return x;
}

/* mvit.c - Multiscale Vision Transformers (Fan et al., 2021) and V2 (Li et al.,
 * 2022), over clips of 16 frames of 224x224 pixels.
 *
 * Queries, keys and values are pooled by strided convolutions per head, so that
 * tokens become fewer from stage to stage while their width grows. V2 adds
 * learned biases for the distance along each axis, and the pooled queries. The
 * class token is never pooled. */
#include "zoo/zoo.h"

#include <math.h>

enum { MVIT_BLOCKS = 16, MVIT_HEAD = 96 };

typedef struct mvit_row {
    int64_t heads, in, out;
    int64_t stride_q, stride_kv; /* of rows and columns; 0: no pool */
} mvit_row;

typedef struct mvit {
    const mvit_row *rows;
    bool v2;
} mvit;

static const mvit_row mvit_v1[MVIT_BLOCKS] = {
    {1, 96, 192, 0, 8},  {2, 192, 192, 2, 4}, {2, 192, 384, 0, 4},
    {4, 384, 384, 2, 2}, {4, 384, 384, 0, 2}, {4, 384, 384, 0, 2},
    {4, 384, 384, 0, 2}, {4, 384, 384, 0, 2}, {4, 384, 384, 0, 2},
    {4, 384, 384, 0, 2}, {4, 384, 384, 0, 2}, {4, 384, 384, 0, 2},
    {4, 384, 384, 0, 2}, {4, 384, 768, 0, 2}, {8, 768, 768, 2, 1},
    {8, 768, 768, 0, 1},
};

static const mvit_row mvit_v2[MVIT_BLOCKS] = {
    {1, 96, 96, 1, 8},   {2, 96, 192, 2, 4},  {2, 192, 192, 1, 4},
    {4, 192, 384, 2, 2}, {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2},
    {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2},
    {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2},
    {4, 384, 384, 1, 2}, {4, 384, 384, 1, 2}, {8, 384, 768, 2, 1},
    {8, 768, 768, 1, 1},
};

/* Frames, rows and columns of tokens. */
typedef struct mvit_size {
    int64_t t, h, w;
} mvit_size;

/* -- pools ----------------------------------------------------------------*/

/* Tokens (B,heads,1 + thw,C) -> the class token apart, the others as clips
 * (B*heads,C,t,h,w), and back. */
static tensor mvit_clips(builder *b, tensor x, mvit_size s)
{
    int64_t n = dim(b, x, 0) * dim(b, x, 1), c = dim(b, x, 3);
    x = transpose(b, slice(b, x, 2, 1, dim(b, x, 2)), 2, 3);
    return reshape(b, x, n, c, s.t, s.h, s.w);
}

static tensor mvit_tokens(builder *b, tensor token, tensor x, mvit_size *s)
{
    int64_t n = dim(b, token, 0), heads = dim(b, token, 1);
    *s = (mvit_size){dim(b, x, 2), dim(b, x, 3), dim(b, x, 4)};
    x = reshape(b, x, n, heads, dim(b, x, 1), s->t * s->h * s->w);
    return cat_of(b, 2, token, transpose(b, x, 2, 3));
}

static tensor mvit_pool(builder *b, const char *name, tensor x, int64_t stride,
                        mvit_size *s)
{
    if (!stride)
        return x;
    enter(b, "%s", name);
    tensor token = slice(b, x, 2, 0, 1);
    x = conv3d(b, "pool", mvit_clips(b, x, *s), MVIT_HEAD, .kernel = 3,
               .stride_hw = {1, stride, stride}, .padding = 1,
               .groups = MVIT_HEAD, .no_bias = true);
    x = mvit_tokens(b, token, x, s);
    enter(b, "norm_act");
    x = layer_norm(b, "0", x);
    leave(b);
    leave(b);
    return x;
}

/* Of what goes around attention: a maximum. */
static tensor mvit_pool_skip(builder *b, tensor x, int64_t stride, mvit_size s)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2);
    if (stride < 2)
        return x;
    enter(b, "pool_skip");
    x = reshape(b, x, n, 1, dim(b, x, 1), c);
    tensor token = slice(b, x, 2, 0, 1);
    x = zoo_module(b, CLV_OP_MAX_POOL3D, "pool", mvit_clips(b, x, s),
                   ATTRS(INTS(KERNEL, 1, stride + 1, stride + 1),
                         INTS(STRIDE, 1, stride, stride),
                         INTS(PADDING, 0, stride / 2, stride / 2)));
    x = mvit_tokens(b, token, x, &s);
    x = reshape(b, x, n, dim(b, x, 2), c);
    leave(b);
    return x;
}

/* -- distances ------------------------------------------------------------*/

/* (q,k,C): for each pair of places of an axis the row of its distance. */
static tensor mvit_distance(builder *b, const char *name, int64_t q, int64_t k)
{
    int64_t dims[] = {q, k}, most = q > k ? q : k;
    tensor table = parameter(b, name, 2 * most - 1, MVIT_HEAD);
    tensor index = weight(b, "distance", CLV_VALUE_CONST, 2, dims);
    int64_t *at = arena_array(&b->g->mem, (size_t)(q * k), sizeof *at);
    if (!at) {
        zoo_nomem(b);
        return CLV_NONE;
    }
    double by_q = fmax((double)k / (double)q, 1),
           by_k = fmax((double)q / (double)k, 1);
    for (int64_t i = 0; i < q * k; i++)
        at[i] =
            (int64_t)((double)(i / k) * by_q - (double)(i % k + 1 - k) * by_k);
    constant_ints(b, index, at, (uint32_t)(q * k));
    return zoo_call(b, CLV_OP_INDEX_SELECT, "index", TENSORS(table, index),
                    ATTRS(INT(AXIS, 0)));
}

/* Frames first: (t,B*heads*h*w,C) times (t,C,k), with the axes of q again. */
static tensor mvit_frame_bias(builder *b, tensor q, tensor table)
{
    int64_t n = dim(b, q, 0), heads = dim(b, q, 1), t = dim(b, q, 2),
            h = dim(b, q, 3), w = dim(b, q, 4);
    q = permute(b, NULL, q, 2, 0, 1, 3, 4, 5);
    q = reshape(b, q, t, n * heads * h * w, MVIT_HEAD);
    q = transpose(b, matmul(b, q, transpose(b, table, 1, 2)), 0, 1);
    q = reshape(b, q, n, heads, h, w, t, dim(b, table, 1));
    return permute(b, NULL, q, 0, 1, 4, 2, 3, 5);
}

/* One axis's part of the scores, with axes of 1 for the other two of k. */
static tensor mvit_bias_of(builder *b, tensor q, tensor table, int axis)
{
    static const char *const rule[] = {"", "bythwc,hkc->bythwk",
                                       "bythwc,wkc->bythwk"};
    tensor y = axis ? zoo_call(b, CLV_OP_EINSUM, "einsum", TENSORS(q, table),
                               ATTRS(STRING(EQUATION, rule[axis])))
                    : mvit_frame_bias(b, q, table);
    int64_t k[3] = {1, 1, 1};
    k[axis] = dim(b, y, 5);
    return reshape(b, y, dim(b, y, 0), dim(b, y, 1), dim(b, y, 2), dim(b, y, 3),
                   dim(b, y, 4), k[0], k[1], k[2]);
}

static tensor mvit_add_distances(builder *b, tensor scores, tensor q,
                                 mvit_size s, mvit_size k)
{
    int64_t n = dim(b, q, 0), heads = dim(b, q, 1);
    tensor table[] = {mvit_distance(b, "rel_pos_t", s.t, k.t),
                      mvit_distance(b, "rel_pos_h", s.h, k.h),
                      mvit_distance(b, "rel_pos_w", s.w, k.w)};
    q = slice(b, q, 2, 1, dim(b, q, 2));
    q = reshape(b, q, n, heads, s.t, s.h, s.w, MVIT_HEAD);
    tensor y = add(b, mvit_bias_of(b, q, table[1], 1),
                   mvit_bias_of(b, q, table[2], 2));
    y = add(b, y, mvit_bias_of(b, q, table[0], 0));
    y = reshape(b, y, n, heads, s.t * s.h * s.w, k.t * k.h * k.w);
    y = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(y),
                 ATTRS(INTS(PADDING, 0, 0, 1, 1, 0, 0, 0, 0)));
    return add(b, scores, y);
}

/* -- blocks ---------------------------------------------------------------*/

/* V2: all but the class token get their pooled query. */
static tensor mvit_add_query(builder *b, tensor x, tensor q)
{
    int64_t n = dim(b, x, 2);
    tensor rest = add(b, slice(b, x, 2, 1, n), slice(b, q, 2, 1, n));
    return cat_of(b, 2, slice(b, x, 2, 0, 1), rest);
}

static tensor mvit_attention(builder *b, const mvit *v, const mvit_row *r,
                             tensor x, mvit_size *s)
{
    int64_t n = dim(b, x, 0), tokens = dim(b, x, 1);
    int64_t out = r->heads * MVIT_HEAD;
    mvit_size k = *s, other = *s;
    enter(b, "attn");
    tensor qkv = linear(b, "qkv", x, 3 * out), part[3];
    qkv = reshape(b, qkv, n, tokens, 3, r->heads, MVIT_HEAD);
    qkv = transpose(b, qkv, 1, 3);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, qkv, 2, i);
    part[1] = mvit_pool(b, "pool_k", part[1], r->stride_kv, &k);
    part[2] = mvit_pool(b, "pool_v", part[2], r->stride_kv, &other);
    tensor q = mvit_pool(b, "pool_q", part[0], r->stride_q, s);
    tensor scores = matmul(b, scale(b, q, 1 / sqrt(MVIT_HEAD)),
                           transpose(b, part[1], 2, 3));
    if (v->v2)
        scores = mvit_add_distances(b, scores, q, *s, k);
    x = matmul(b, softmax(b, scores), part[2]);
    if (v->v2)
        x = mvit_add_query(b, x, q);
    x = reshape(b, transpose(b, x, 1, 2), n, dim(b, x, 2), out);
    enter(b, "project");
    x = linear(b, "0", x, out);
    leave(b);
    leave(b);
    return x;
}

static tensor mvit_mlp(builder *b, tensor x, int64_t out)
{
    enter(b, "mlp");
    x = gelu(b, "1", linear(b, "0", x, 4 * dim(b, x, -1)));
    x = dropout(b, "2", x);
    x = dropout(b, "4", linear(b, "3", x, out));
    leave(b);
    return x;
}

/* V2 widens before attention, V1 in its perceptron. */
static tensor mvit_block(builder *b, const mvit *v, const mvit_row *r, tensor x,
                         mvit_size *s)
{
    mvit_size old = *s;
    bool widens = r->in != r->out;
    tensor normed = layer_norm(b, "norm1", x);
    tensor y = mvit_attention(b, v, r, normed, s);
    if (v->v2 && widens)
        x = linear(b, "project", normed, r->out);
    x = mvit_pool_skip(b, x, r->stride_q, old);
    x = add(b, x, stochastic_depth(b, "stochastic_depth", y));
    normed = layer_norm(b, "norm2", x);
    y = mvit_mlp(b, normed, r->out);
    if (!v->v2 && widens)
        x = linear(b, "project", normed, r->out);
    return add(b, x, stochastic_depth(b, "stochastic_depth", y));
}

/* -- the network ----------------------------------------------------------*/

/* V1: a position is the sum of those of its frame and of its place. */
static tensor mvit_positions(builder *b, mvit_size s, int64_t c)
{
    tensor place = parameter(b, "spatial_pos", s.h * s.w, c);
    tensor frame = parameter(b, "temporal_pos", s.t, c);
    tensor token = reshape(b, parameter(b, "class_pos", c), 1, c);
    tensor all = add(b, reshape(b, frame, s.t, 1, c), place);
    all = reshape(b, all, s.t * s.h * s.w, c);
    return cat_of(b, 0, token, all);
}

static tensor mvit_encode(builder *b, const mvit *v, tensor x, mvit_size s)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2);
    enter(b, "pos_encoding");
    tensor token = reshape(b, parameter(b, "class_token", c), 1, 1, c);
    token = zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(token),
                     ATTRS(INTS(SHAPE, n, 1, c)));
    x = cat_of(b, 1, token, x);
    if (!v->v2)
        x = add(b, x, mvit_positions(b, s, c));
    leave(b);
    return x;
}

static void mvit_build(builder *b, const zoo_input *in, const void *variant)
{
    const mvit *v = variant;
    tensor x = input(b, "x", in);
    if (dim(b, x, 2) != 16 || dim(b, x, 3) != 224 || dim(b, x, 4) != 224)
        refuse(b,
               "a clip of %lldx%lldx%lld: positions are learned for 16 frames "
               "of 224x224",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3),
               (long long)dim(b, x, 4));
    b->norm_eps = 1e-6;
    x = conv3d(b, "conv_proj", x, v->rows[0].in, .kernel_hw = {3, 7, 7},
               .stride_hw = {2, 4, 4}, .padding_hw = {1, 3, 3});
    mvit_size s = {dim(b, x, 2), dim(b, x, 3), dim(b, x, 4)};
    x = mvit_encode(b, v, transpose(b, flatten(b, x, 2), 1, 2), s);
    enter(b, "blocks");
    for (int i = 0; i < MVIT_BLOCKS; i++) {
        enter(b, "%d", i);
        x = mvit_block(b, v, &v->rows[i], x, &s);
        leave(b);
    }
    leave(b);
    x = select_at(b, layer_norm(b, "norm", x), 1, 0);
    enter(b, "head");
    x = linear(b, "1", dropout(b, "0", x), 400);
    leave(b);
    output(b, x);
}

#define MVIT(name, year, rows, is_v2) \
    { \
        {name, "mvit", CLIP(16, 224), TORCHVISION("video", year)}, mvit_build, \
            &(const mvit) \
        { \
            rows, is_v2 \
        } \
    }

const zoo_model clv__zoo_mvit[] = {
    MVIT("mvit_v1_b", 2021, mvit_v1, false),
    MVIT("mvit_v2_s", 2022, mvit_v2, true),
    ZOO_END,
};

/* attention.c - attention without a past: two products with a softmax between,
 * a block of queries at a time, so that scores never leave the cache.
 *
 * Queries, keys and values are read where they lie, by heads (B,H,S,D) or in
 * rows of all heads (B,S,H*D), and the result is written the same way: nothing
 * is transposed. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/vmath.h"

#include <string.h>

/* Queries that are worked on together: so many that their scores stay in the
 * second cache, as keys and values are packed anew for each block. */
enum { QUERIES_LEAST = 64, SCORES = 1 << 16 };

/* Where head h of batch entry b begins, and how far apart its rows are. */
typedef struct head_layout {
    float *p;
    int64_t batch, head, row;
} head_layout;

typedef struct attention_job {
    head_layout q, k, v, y;
    const clv_tensor *mask;
    int64_t strides[4]; /* of the mask: batch, head, query, key */
    float *room, scale, empty;
    int64_t heads, kv_heads, queries, keys, d, dv;
    int64_t items, blocks, block, parts, room_each;
    bool causal;
} attention_job;

/* x (B,H,S,D), or (B,S,H*D) with `heads` of them */
static head_layout layout_of(const clv_tensor *x, int64_t heads)
{
    int64_t d = x->rank == 4 ? x->dims[3] : x->dims[2] / heads;
    int64_t rows = x->dims[x->rank == 4 ? 2 : 1];
    if (x->rank == 4)
        return (head_layout){x->data, heads * rows * d, rows * d, d};
    return (head_layout){x->data, rows * heads * d, d, heads * d};
}

static float *layout_at(const head_layout *l, int64_t batch, int64_t head,
                        int64_t row)
{
    return l->p + batch * l->batch + head * l->head + row * l->row;
}

/* Scales the scores of query i, and adds the mask. */
static void attention_mask_row(const attention_job *j, int64_t batch,
                               int64_t head, int64_t i, float *s)
{
    int64_t step = j->strides[3], n = j->keys;
    int64_t at =
        batch * j->strides[0] + head * j->strides[1] + i * j->strides[2];
    const float scale = j->scale;
    if (j->mask && j->mask->dtype != CLV_BOOL && step) {
        const float *m = (const float *)j->mask->data + at;
        for (int64_t c = 0; c < n; c++)
            s[c] = s[c] * scale + m[c];
    } else {
        bool one = j->mask && j->mask->dtype != CLV_BOOL;
        float same = one ? ((const float *)j->mask->data)[at] : 0;
        for (int64_t c = 0; c < n; c++)
            s[c] = s[c] * scale + same;
    }
    for (int64_t c = i + 1; j->causal && c < n; c++)
        s[c] = -INFINITY;
    if (!j->mask || j->mask->dtype != CLV_BOOL)
        return;
    const uint8_t *m = (const uint8_t *)j->mask->data + at;
    for (int64_t c = 0; c < n; c++)
        s[c] = m[c * step] ? s[c] : -INFINITY;
}

/* Sums and maxima are of as many numbers side by side as the widest vectors
 * have: one after the other they would wait for each other. */
enum { LANES = 16, SUMMED = 4096 };

static float attention_most(const float *s, int64_t n)
{
    float most[LANES];
    int64_t i = 0;
    for (int l = 0; l < LANES; l++)
        most[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            most[l] = s[i + l] > most[l] ? s[i + l] : most[l];
    for (int l = 0; i < n; i++, l++)
        most[l] = s[i] > most[l] ? s[i] : most[l];
    for (int w = LANES / 2; w; w /= 2)
        for (int l = 0; l < w; l++)
            most[l] = most[l + w] > most[l] ? most[l + w] : most[l];
    return most[0];
}

static double attention_sum(const float *s, int64_t n)
{
    double total = 0;
    for (int64_t at = 0; at < n; at += SUMMED) {
        int64_t m = n - at < SUMMED ? n - at : SUMMED, i = 0;
        float sum[LANES] = {0};
        for (; i + LANES <= m; i += LANES)
            for (int l = 0; l < LANES; l++)
                sum[l] += s[at + i + l];
        for (int l = 0; i < m; i++, l++)
            sum[l] += s[at + i];
        for (int w = LANES / 2; w; w /= 2)
            for (int l = 0; l < w; l++)
                sum[l] += sum[l + w];
        total += (double)sum[0];
    }
    return total;
}

/* exp(s - most), and returns what the sum of products is to be multiplied by:
 * 1 over the sum of these, or `empty` where no key counts. */
static float attention_exp_row(float *s, int64_t n, float empty)
{
    float most = attention_most(s, n);
    bool none = most == -INFINITY;
    if (none)
        most = 0;
    for (int64_t i = 0; i < n; i++)
        s[i] = v_exp(s[i] - most);
    double total = attention_sum(s, n);
    if (none && !(total != total))
        return empty;
    return total > 0 || total != total ? (float)(1 / total) : 0;
}

/* A block of queries of one head. */
static void attention_block(const attention_job *j, int64_t item, float *room)
{
    int64_t lead = item / j->blocks, first = item % j->blocks * j->block;
    int64_t rows = j->queries - first;
    rows = rows < j->block ? rows : j->block;
    int64_t batch = lead / j->heads, head = lead % j->heads;
    int64_t kv = head * j->kv_heads / j->heads;
    float *scores = room, *by = room + j->block * j->keys;
    float *rest = by + j->block;
    CPU_NAME(clv__gemm)
    (rows, j->keys, j->d,
     (cpu_matrix){layout_at(&j->q, batch, head, first), j->q.row, 1},
     (cpu_matrix){layout_at(&j->k, batch, kv, 0), 1, j->k.row}, scores, j->keys,
     false, rest);
    for (int64_t i = 0; i < rows; i++) {
        float *s = scores + i * j->keys;
        attention_mask_row(j, batch, head, first + i, s);
        by[i] = attention_exp_row(s, j->keys, j->empty);
    }
    CPU_NAME(clv__gemm)
    (rows, j->dv, j->keys, (cpu_matrix){scores, j->keys, 1},
     (cpu_matrix){layout_at(&j->v, batch, kv, 0), j->v.row, 1},
     layout_at(&j->y, batch, head, first), j->y.row, false, rest);
    for (int64_t i = 0; i < rows; i++) {
        float *y = layout_at(&j->y, batch, head, first + i);
        for (int64_t c = 0; c < j->dv; c++)
            y[c] *= by[i];
    }
}

static void attention_parts(void *ctx, int64_t from, int64_t to)
{
    const attention_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts; i++)
            attention_block(j, i, j->room + p * j->room_each);
}

static bool attention_takes_mask(attention_job *j, const clv_tensor *mask,
                                 int64_t batch)
{
    clv_tensor scores = {.rank = 4,
                         .dims = {batch, j->heads, j->queries, j->keys}};
    cpu_walk fits;
    j->mask = mask;
    if (!mask)
        return true;
    if ((mask->dtype != CLV_BOOL && mask->dtype != CLV_FLOAT32) ||
        !clv__cpu_broadcast(&scores, (const clv_tensor *const[]){mask}, 1,
                            &fits))
        return false;
    broadcast_strides(mask, 4, j->strides);
    return true;
}

/* Nothing that only the plain kernel knows: a past, lengths, angles, windows,
 * caps, more outputs. */
static bool attention_is_plain(const kernel *k)
{
    const clv_node *n = k->n;
    for (uint32_t i = 4; i < n->n_in; i++)
        if (k->in[i])
            return false;
    for (uint32_t o = 1; o < n->n_out; o++)
        if (k->out[o].data)
            return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!input_of(k, i) || k->in[i]->dtype != CLV_FLOAT32 ||
            k->in[i]->rank != k->in[0]->rank || k->in[i]->rank < 3 ||
            k->in[i]->rank > 4)
            return false;
    return k->out[0].dtype == CLV_FLOAT32 && k->out[0].rank == k->in[0]->rank &&
           attr_float(n, CLV_A_SOFTCAP) == 0 &&
           !attr_int(n, CLV_A_SMOOTH_SOFTMAX) &&
           !attr_int(n, CLV_A_LOCAL_WINDOW) &&
           attr_int(n, CLV_A_LEFT_WINDOW) < 0 &&
           attr_int(n, CLV_A_RIGHT_WINDOW) < 0 && !attr_int(n, CLV_A_CACHE) &&
           attr_int(n, CLV_A_SIZE) <= 0;
}

static bool attention_fill(kernel *k, attention_job *j)
{
    const clv_tensor *q = k->in[0], *key = k->in[1], *v = k->in[2];
    const clv_node *n = k->n;
    bool by_head = q->rank == 4;
    int64_t batch = q->dims[0];
    j->heads = by_head ? q->dims[1] : attr_int(n, CLV_A_HEADS);
    j->kv_heads = by_head ? key->dims[1] : attr_int(n, CLV_A_KV_HEADS);
    if (j->heads < 1 || j->kv_heads < 1 || j->heads % j->kv_heads)
        return false;
    j->queries = q->dims[by_head ? 2 : 1];
    j->keys = key->dims[by_head ? 2 : 1];
    j->d = by_head ? q->dims[3] : q->dims[2] / j->heads;
    j->dv = by_head ? v->dims[3] : v->dims[2] / j->kv_heads;
    if (numel(q) != batch * j->heads * j->queries * j->d ||
        numel(key) != batch * j->kv_heads * j->keys * j->d ||
        numel(v) != batch * j->kv_heads * j->keys * j->dv ||
        numel(&k->out[0]) != batch * j->heads * j->queries * j->dv)
        return false;
    double scale = attr_get(n, CLV_A_SCALE) ? attr_float(n, CLV_A_SCALE) : 0;
    j->scale = (float)(scale != 0 ? scale : 1 / sqrt((double)j->d));
    j->causal = attr_int(n, CLV_A_CAUSAL) != 0;
    j->empty = attr_int(n, CLV_A_EMPTY_NAN) ? NAN : 0;
    j->q = layout_of(q, j->heads);
    j->k = layout_of(key, j->kv_heads);
    j->v = layout_of(v, j->kv_heads);
    j->y = layout_of(&k->out[0], j->heads);
    return attention_takes_mask(j, input_of(k, 3), batch);
}

/* As many queries as may be, but enough blocks for all threads. */
static int64_t attention_block_size(const kernel *k, const attention_job *j)
{
    int64_t heads = k->in[0]->dims[0] * j->heads;
    int64_t most = SCORES / (j->keys > 0 ? j->keys : 1);
    int64_t even = j->queries * heads / (2 * (int64_t)k->threads);
    int64_t block = most < even ? most : even;
    block = block > QUERIES_LEAST ? block : QUERIES_LEAST;
    return block < j->queries ? block : j->queries;
}

bool CPU_NAME(cpu_attention)(kernel *k)
{
    attention_job j = {0};
    if (input_of(k, 4))
        return CPU_NAME(cpu_attention_past)(k);
    if (!attention_is_plain(k) || !attention_fill(k, &j))
        return false;
    j.block = attention_block_size(k, &j);
    j.blocks = (j.queries + j.block - 1) / j.block;
    j.items = k->in[0]->dims[0] * j.heads * j.blocks;
    j.parts =
        4 * (int64_t)k->threads < j.items ? 4 * (int64_t)k->threads : j.items;
    if (numel(&k->out[0]) * j.keys < 50000)
        j.parts = 1;
    int64_t one = CPU_NAME(clv__gemm_room)(j.block, j.keys, j.d);
    int64_t two = CPU_NAME(clv__gemm_room)(j.block, j.dv, j.keys);
    j.room_each = j.block * (j.keys + 1) + (one > two ? one : two);
    j.room =
        arena_array(k->scratch, (size_t)(j.parts * j.room_each), sizeof(float));
    if (!j.room)
        return false;
    clv__parallel(k->threads, j.parts, 1, attention_parts, &j);
    return true;
}

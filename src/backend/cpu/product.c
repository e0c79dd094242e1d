/* product.c - products of float matrices, and attention, which is two of them
 * with a softmax between. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/product_typed.h"
#include "backend/cpu/vmath.h"
#include "backend/einsum.h"

#include <string.h>

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)
#define gemm_all  CPU_NAME(clv__gemm_all)

#define gemm_pack  CPU_NAME(clv__gemm_pack)
#define gemm_ready CPU_NAME(clv__gemm_ready)

/* -- weights that are packed once -----------------------------------------*/

static const void *pack_weight(kernel *k, arena *mem, int64_t n, int64_t depth,
                               cpu_matrix b)
{
    cpu_packed *p = arena_alloc(mem, sizeof *p);
    return p && gemm_pack(k, mem, n, depth, b, p) ? p : NULL;
}

/* Input 1 if it is a weight, a matrix of floats. */
static const clv_tensor *packable(const kernel *k)
{
    const clv_tensor *w = input_of(k, 1);
    return w && w->data && w->rank >= 2 && w->dtype == CLV_FLOAT32 &&
                   numel(w) == w->dims[w->rank - 2] * w->dims[w->rank - 1]
               ? w
               : NULL;
}

const void *CPU_NAME(cpu_ready_linear)(kernel *k, arena *mem)
{
    const clv_tensor *w = packable(k);
    return w && w->rank == 2 ? pack_weight(k, mem, w->dims[0], w->dims[1],
                                           (cpu_matrix){w->data, 1, w->dims[1]})
                             : NULL;
}

const void *CPU_NAME(cpu_ready_matmul)(kernel *k, arena *mem)
{
    const clv_tensor *w = packable(k);
    if (!w)
        return NULL;
    int64_t depth = w->dims[w->rank - 2], n = w->dims[w->rank - 1];
    return pack_weight(k, mem, n, depth, (cpu_matrix){w->data, n, 1});
}

const void *CPU_NAME(cpu_ready_gemm)(kernel *k, arena *mem)
{
    return attr_int(k->n, CLV_A_TRANS_B) ? CPU_NAME(cpu_ready_linear)(k, mem)
                                         : CPU_NAME(cpu_ready_matmul)(k, mem);
}

/* The product with b, packed or as it lies. What was packed is not read. */
static bool product(kernel *k, int64_t m, int64_t n, int64_t depth,
                    cpu_matrix a, cpu_matrix b, const float *bias, float *y)
{
    const cpu_packed *p = k->ready;
    if (!p)
        return gemm_all(k, m, n, depth, a, b, bias, y, n);
    return p->n == n && p->k == depth && gemm_ready(k, m, a, p, bias, y, n);
}

/* All inputs and the output are of one type, not float32. */
static bool product_is_typed(const kernel *k)
{
    clv_dtype t = k->out[0].dtype;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && k->in[i]->dtype != t)
            return false;
    return t != CLV_FLOAT32 && !k->ready;
}

/* y = alpha y + beta c, of one type */
#define BLEND(name, T) \
    static void name(clv_tensor *y, const clv_tensor *c, int64_t cols, \
                     T alpha, T beta) \
    { \
        T *v = y->data; \
        const T *add = c ? c->data : NULL; \
        int64_t s[2] = {0, 0}, n = numel(y); \
        if (c) \
            broadcast_strides(c, 2, s); \
        for (int64_t i = 0; i < n; i++) \
            v[i] = alpha * v[i] + \
                   (c ? beta * add[i / cols * s[0] + i % cols * s[1]] : 0); \
    }
BLEND(blend, float)
BLEND(typed_blend, double)
#undef BLEND

/* x (..,K), w (M,K), bias (M) -> (..,M) */
bool CPU_NAME(cpu_linear)(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = input_of(k, 1), *b = input_of(k, 2);
    bool typed = product_is_typed(k) && w && (!b || w->dtype == CLV_FLOAT64);
    if ((!typed && !all_float32(k)) || !w || !x->rank || w->rank != 2)
        return false;
    int64_t depth = x->dims[x->rank - 1], cols = w->dims[0];
    int64_t rows = numel(x) / depth;
    if (w->dims[1] != depth || (b && numel(b) != cols) ||
        numel(&k->out[0]) != rows * cols)
        return false;
    if (typed) {
        clv_tensor y = {.dims = {rows, cols},
                        .rank = 2,
                        .dtype = x->dtype,
                        .data = k->out[0].data};
        clv_tensor line = {.dims = {cols},
                           .rank = 1,
                           .dtype = x->dtype,
                           .data = b ? b->data : NULL};
        typed_product p = {rows,  cols, depth, x->data, w->data,
                           depth, 1,    1,     depth,   y.data};
        if (!CPU_NAME(clv__typed_product)(k, x->dtype, &p))
            return false;
        if (b)
            typed_blend(&y, &line, cols, 1, 1);
        return true;
    }
    return product(k, rows, cols, depth, (cpu_matrix){x->data, depth, 1},
                   (cpu_matrix){w->data, 1, depth}, b ? b->data : NULL,
                   k->out[0].data);
}

/* -- batches --------------------------------------------------------------*/

typedef struct batch_job {
    int64_t m, n, k, batches, parts, room_each;
    const float *a, *b; /* or of another type, all of which is `type` */
    float *y, *room;
    clv_dtype type;
    uint32_t lead;
    int64_t dims[CLV_MAX_RANK], sa[CLV_MAX_RANK], sb[CLV_MAX_RANK];
} batch_job;

/* Part p is a range of batches, with room of its own. */
static void batch_part(void *ctx, int64_t from, int64_t to)
{
    const batch_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t t = j->batches * p / j->parts;
             t < j->batches * (p + 1) / j->parts && clv__in_time(j->k); t++) {
            int64_t rest = t, ia = 0, ib = 0;
            for (uint32_t i = j->lead; i-- > 0; rest /= j->dims[i]) {
                ia += rest % j->dims[i] * j->sa[i];
                ib += rest % j->dims[i] * j->sb[i];
            }
            gemm(j->m, j->n, j->k,
                 (cpu_matrix){j->a + ia * j->m * j->k, j->k, 1},
                 (cpu_matrix){j->b + ib * j->k * j->n, j->n, 1},
                 j->y + t * j->m * j->n, j->n, false,
                 j->room + p * j->room_each);
        }
}

/* The same for other types: the threads work on one product after another. */
static bool batch_typed(kernel *k, const batch_job *j)
{
    int64_t size = clv_dtype_bytes(j->type, 1);
    for (int64_t t = 0; t < j->batches && clv__in_time(j->k); t++) {
        int64_t rest = t, ia = 0, ib = 0;
        for (uint32_t i = j->lead; i-- > 0; rest /= j->dims[i]) {
            ia += rest % j->dims[i] * j->sa[i];
            ib += rest % j->dims[i] * j->sb[i];
        }
        typed_product p = {
            .m = j->m,
            .n = j->n,
            .k = j->k,
            .a = (const char *)j->a + ia * j->m * j->k * size,
            .b = (const char *)j->b + ib * j->k * j->n * size,
            .a_row = j->k,
            .a_col = 1,
            .b_row = j->n,
            .b_col = 1,
            .y = (char *)j->y + t * j->m * j->n * size,
        };
        if (!CPU_NAME(clv__typed_product)(k, j->type, &p))
            return false;
    }
    return true;
}

static bool batch_run(kernel *k, batch_job *j)
{
    if (j->type != CLV_FLOAT32)
        return batch_typed(k, j);
    if (j->batches == 1)
        return gemm_all(k, j->m, j->n, j->k, (cpu_matrix){j->a, j->k, 1},
                        (cpu_matrix){j->b, j->n, 1}, NULL, j->y, j->n);
    j->parts = 4 * (int64_t)k->threads < j->batches ? 4 * (int64_t)k->threads
                                                    : j->batches;
    if (j->batches * j->m * j->n * j->k < 100000)
        j->parts = 1;
    j->room_each = gemm_room(j->m, j->n, j->k);
    j->room = arena_array(k->scratch, (size_t)(j->parts * j->room_each),
                          sizeof(float));
    if (!j->room)
        return false;
    clv__parallel(k->threads, j->parts, 1, batch_part, j);
    return true;
}

/* a (..,M,K) @ b (..,K,N) */
bool CPU_NAME(cpu_matmul)(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    bool typed = product_is_typed(k);
    if ((!typed && !all_float32(k)) || !b || !a->rank || !b->rank)
        return false;
    batch_job j = {.type = y->dtype,
                   .m = a->rank > 1 ? a->dims[a->rank - 2] : 1,
                   .k = a->dims[a->rank - 1],
                   .n = b->rank > 1 ? b->dims[b->rank - 1] : 1,
                   .a = a->data,
                   .b = b->data,
                   .y = y->data};
    if (b->dims[b->rank > 1 ? b->rank - 2 : 0] != j.k)
        return false;
    clv_tensor ba = *a, bb = *b, by = *y;
    ba.rank = a->rank > 2 ? a->rank - 2 : 0;
    bb.rank = b->rank > 2 ? b->rank - 2 : 0;
    j.lead = ba.rank > bb.rank ? ba.rank : bb.rank;
    by.rank = j.lead;
    cpu_walk fits;
    if (numel(&by) * j.m * j.n != numel(y) ||
        !clv__cpu_broadcast(&by, (const clv_tensor *const[]){&ba, &bb}, 2,
                            &fits))
        return false;
    j.batches = numel(&by);
    if (numel(&bb) == 1 && numel(&ba) == j.batches && typed) {
        j.m *= j.batches;
        j.batches = 1;
    } else if (numel(&bb) == 1 && numel(&ba) == j.batches)
        return product(k, j.batches * j.m, j.n, j.k, (cpu_matrix){j.a, j.k, 1},
                       (cpu_matrix){j.b, j.n, 1}, NULL, j.y);
    memcpy(j.dims, y->dims, j.lead * sizeof *j.dims);
    broadcast_strides(&ba, j.lead, j.sa);
    broadcast_strides(&bb, j.lead, j.sb);
    return !k->ready && batch_run(k, &j);
}

/* -- einsum ---------------------------------------------------------------*/

/* Names of one kind of a product: those of batches, rows, columns, or sums. */
typedef struct name_group {
    uint32_t at[CLV_MAX_RANK], n;
    int64_t size;
} name_group;

static void group_add(name_group *g, uint32_t name, int64_t dim)
{
    g->at[g->n++] = name;
    g->size *= dim;
}

/* Copies an operand so that its groups follow one another. */
static bool group_copy(kernel *k, const einsum_names *c, const clv_tensor *x,
                       const int64_t *strides, const name_group *const *groups,
                       clv_tensor *to)
{
    int64_t by[CLV_MAX_RANK];
    *to = (clv_tensor){.dtype = x->dtype};
    for (int g = 0; g < 3; g++)
        for (uint32_t i = 0; i < groups[g]->n; i++) {
            if (to->rank == CLV_MAX_RANK)
                return false;
            by[to->rank] = strides[c->name[groups[g]->at[i]]];
            to->dims[to->rank++] = c->dims[groups[g]->at[i]];
        }
    to->data = arena_array(k->scratch, (size_t)numel(to) + 1, sizeof(float));
    return to->data && CPU_NAME(clv__cpu_move)(k, to, x, 0, by);
}

/* Copies what was made, whose groups follow one another, to where the result
 * has its names. */
static bool group_back(kernel *k, const einsum_names *c, const int64_t *result,
                       const name_group *const *groups, const clv_tensor *made)
{
    uint32_t order[CLV_MAX_RANK];
    int64_t own[CLV_MAX_RANK], by[CLV_MAX_RANK], at = 1;
    clv_tensor view = {.dtype = made->dtype, .data = k->out[0].data};
    for (int g = 3; g-- > 0;)
        for (uint32_t i = groups[g]->n; i-- > 0;) {
            own[groups[g]->at[i]] = at;
            at *= c->dims[groups[g]->at[i]];
        }
    for (uint32_t i = 0; i < c->n_result; i++) { /* the outermost axis first */
        uint32_t to = view.rank++;
        for (; to > 0 && result[c->name[order[to - 1]]] < result[c->name[i]];
             to--)
            order[to] = order[to - 1];
        order[to] = i;
    }
    for (uint32_t i = 0; i < view.rank; i++) {
        view.dims[i] = c->dims[order[i]];
        by[i] = own[order[i]];
    }
    return CPU_NAME(clv__cpu_move)(k, &view, made, 0, by);
}

/* Two operands whose shared names are summed or kept: a product of matrices,
 * once both lie as (batch, row, sum) and (batch, sum, column). */
bool CPU_NAME(cpu_einsum)(kernel *k)
{
    einsum_names c;
    int64_t result[EINSUM_AXES], *strides;
    clv_tensor a, b, *y = &k->out[0];
    name_group batch = {.size = 1}, row = batch, col = batch, sum = batch;
    if (!all_float32(k) || k->n->n_in != 2 || !k->in[1] ||
        clv__einsum_read(k, &c, &strides, result) != CLV_OK ||
        c.n > CLV_MAX_RANK)
        return false;
    const int64_t *sa = strides, *sb = strides + EINSUM_AXES;
    for (uint32_t i = 0; i < c.n; i++) {
        bool in_a = sa[c.name[i]] != 0, in_b = sb[c.name[i]] != 0;
        bool kept = i < c.n_result;
        if (c.dims[i] < 1 || (!kept && !(in_a && in_b)) || (!in_a && !in_b))
            return false;
        group_add(!kept          ? &sum
                  : in_a && in_b ? &batch
                  : in_a         ? &row
                                 : &col,
                  i, c.dims[i]);
    }
    if (batch.size * row.size * col.size != numel(y) ||
        !group_copy(k, &c, k->in[0], sa,
                    (const name_group *const[]){&batch, &row, &sum}, &a) ||
        !group_copy(k, &c, k->in[1], sb,
                    (const name_group *const[]){&batch, &sum, &col}, &b))
        return false;
    clv_tensor made = {
        .dtype = CLV_FLOAT32,
        .rank = 1,
        .dims = {numel(y)},
        .data = arena_array(k->scratch, (size_t)numel(y), sizeof(float))};
    batch_job j = {.m = row.size,
                   .n = col.size,
                   .k = sum.size,
                   .batches = batch.size,
                   .a = a.data,
                   .b = b.data,
                   .y = made.data,
                   .type = CLV_FLOAT32,
                   .lead = 1,
                   .dims = {batch.size},
                   .sa = {1},
                   .sb = {1}};
    if (!made.data || !batch_run(k, &j))
        return false;
    return group_back(k, &c, result,
                      (const name_group *const[]){&batch, &row, &col}, &made);
}

/* -- with a tensor added --------------------------------------------------*/

/* alpha * a' b' + beta * c */
bool CPU_NAME(cpu_gemm)(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = input_of(k, 1), *c = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    bool ta = attr_int(k->n, CLV_A_TRANS_A) != 0;
    bool tb = attr_int(k->n, CLV_A_TRANS_B) != 0;
    float alpha = (float)attr_float(k->n, CLV_A_ALPHA);
    float beta = (float)attr_float(k->n, CLV_A_BETA);
    bool typed = product_is_typed(k) && a->dtype == CLV_FLOAT64;
    if ((!typed && !all_float32(k)) || !b || a->rank != 2 || b->rank != 2 ||
        y->rank != 2)
        return false;
    int64_t m = a->dims[ta], depth = a->dims[!ta], n = b->dims[!tb];
    cpu_walk fits;
    if (b->dims[tb] != depth || y->dims[0] != m || y->dims[1] != n ||
        (c && !clv__cpu_broadcast(y, (const clv_tensor *const[]){c}, 1, &fits)))
        return false;
    if (typed) {
        typed_product p = {m,          n,          depth,
                           a->data,    b->data,    ta ? 1 : depth,
                           ta ? m : 1, tb ? 1 : n, tb ? depth : 1,
                           y->data};
        if (!CPU_NAME(clv__typed_product)(k, CLV_FLOAT64, &p))
            return false;
        typed_blend(y, c, n, attr_float(k->n, CLV_A_ALPHA),
                    attr_float(k->n, CLV_A_BETA));
        return true;
    }
    bool plain = alpha == 1 && (!c || (beta == 1 && numel(c) == n && c->rank &&
                                       c->dims[c->rank - 1] == n));
    if (!product(k, m, n, depth,
                 (cpu_matrix){a->data, ta ? 1 : depth, ta ? m : 1},
                 (cpu_matrix){b->data, tb ? 1 : n, tb ? depth : 1},
                 plain && c ? c->data : NULL, y->data))
        return false;
    if (!plain)
        blend(y, c, n, alpha, beta);
    return true;
}

/* -- attention ------------------------------------------------------------*/

enum { QUERIES = 64 }; /* worked on together */

typedef struct attention_job {
    const float *q, *k, *v;
    const clv_tensor *mask;
    int64_t strides[4]; /* of the mask: batch, head, query, key */
    float *y, *room, scale;
    int64_t q_heads, kv_heads, queries, keys, d, dv;
    int64_t items, blocks, parts, room_each;
    bool causal;
} attention_job;

/* Adds the mask to the scores of one query. */
static void add_mask(const attention_job *j, int64_t lead, int64_t i, float *s)
{
    if (j->causal)
        for (int64_t c = i + 1; c < j->keys; c++)
            s[c] = -INFINITY;
    if (!j->mask)
        return;
    int64_t at = lead / j->q_heads * j->strides[0] +
                 lead % j->q_heads * j->strides[1] + i * j->strides[2];
    int64_t step = j->strides[3];
    if (j->mask->dtype == CLV_BOOL) {
        const uint8_t *m = (const uint8_t *)j->mask->data + at;
        for (int64_t c = 0; c < j->keys; c++)
            s[c] = m[c * step] ? s[c] : -INFINITY;
        return;
    }
    const float *m = (const float *)j->mask->data + at;
    if (step == 1)
        for (int64_t c = 0; c < j->keys; c++)
            s[c] += m[c];
    else
        for (int64_t c = 0; c < j->keys; c++)
            s[c] += m[0];
}

/* exp(s - most) over its sum; zeros where no key counts. */
static void softmax_scores(float *s, int64_t n)
{
    float most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = s[i] > most ? s[i] : most;
    if (most == -INFINITY)
        most = 0;
    for (int64_t i = 0; i < n; i++)
        s[i] = v_exp(s[i] - most);
    double total = 0;
    for (int64_t i = 0; i < n; i += 256) {
        sum = 0;
        for (int64_t c = i; c < n && c < i + 256; c++)
            sum += s[c];
        total += (double)sum;
    }
    float by = total > 0 || total != total ? (float)(1 / total) : 0;
    for (int64_t i = 0; i < n; i++)
        s[i] *= by;
}

/* A block of queries of one head. */
static void attend_block(const attention_job *j, int64_t item, float *room)
{
    int64_t lead = item / j->blocks, first = item % j->blocks * QUERIES;
    int64_t rows = j->queries - first < QUERIES ? j->queries - first : QUERIES;
    int64_t kv = lead / j->q_heads * j->kv_heads +
                 lead % j->q_heads * j->kv_heads / j->q_heads;
    const float *q = j->q + (lead * j->queries + first) * j->d;
    float *scores = room, *rest = room + QUERIES * j->keys;
    gemm(rows, j->keys, j->d, (cpu_matrix){q, j->d, 1},
         (cpu_matrix){j->k + kv * j->keys * j->d, 1, j->d}, scores, j->keys,
         false, rest);
    for (int64_t i = 0; i < rows; i++) {
        float *s = scores + i * j->keys;
        for (int64_t c = 0; c < j->keys; c++)
            s[c] *= j->scale;
        add_mask(j, lead, first + i, s);
        softmax_scores(s, j->keys);
    }
    gemm(rows, j->dv, j->keys, (cpu_matrix){scores, j->keys, 1},
         (cpu_matrix){j->v + kv * j->keys * j->dv, j->dv, 1},
         j->y + (lead * j->queries + first) * j->dv, j->dv, false, rest);
}

static void attention_part(void *ctx, int64_t from, int64_t to)
{
    const attention_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts && !clv__late(); i++)
            attend_block(j, i, j->room + p * j->room_each);
}

static bool attention_mask(attention_job *j, const clv_tensor *mask,
                           int64_t batch)
{
    clv_tensor scores = {.rank = 4,
                         .dims = {batch, j->q_heads, j->queries, j->keys}};
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

/* q (..,S,D), k (..,T,D), v (..,T,E), mask broadcast to (..,S,T) */
bool CPU_NAME(cpu_sdpa)(kernel *k)
{
    const clv_tensor *q = k->in[0], *key = input_of(k, 1), *v = input_of(k, 2);
    uint32_t r = q->rank;
    if (q->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_FLOAT32 || !key ||
        !v || key->dtype != CLV_FLOAT32 || v->dtype != CLV_FLOAT32 || r < 2 ||
        r > 4 || key->rank != r || v->rank != r || k->n->n_out > 1)
        return false;
    attention_job j = {.q = q->data,
                       .k = key->data,
                       .v = v->data,
                       .y = k->out[0].data,
                       .q_heads = r > 2 ? q->dims[r - 3] : 1,
                       .kv_heads = r > 2 ? key->dims[r - 3] : 1,
                       .queries = q->dims[r - 2],
                       .keys = key->dims[r - 2],
                       .d = q->dims[r - 1],
                       .dv = v->dims[r - 1],
                       .causal = attr_int(k->n, CLV_A_CAUSAL) != 0};
    int64_t batch = r > 3 ? q->dims[0] : 1;
    double scale =
        attr_get(k->n, CLV_A_SCALE) ? attr_float(k->n, CLV_A_SCALE) : 0;
    j.scale = (float)(scale != 0 ? scale : 1 / sqrt((double)j.d));
    if (numel(key) != batch * j.kv_heads * j.keys * j.d ||
        numel(v) != batch * j.kv_heads * j.keys * j.dv ||
        numel(&k->out[0]) != batch * j.q_heads * j.queries * j.dv ||
        j.q_heads % j.kv_heads || !attention_mask(&j, input_of(k, 3), batch))
        return false;
    j.blocks = (j.queries + QUERIES - 1) / QUERIES;
    j.items = batch * j.q_heads * j.blocks;
    j.parts =
        4 * (int64_t)k->threads < j.items ? 4 * (int64_t)k->threads : j.items;
    if (batch * j.q_heads * j.queries * j.keys * j.d < 50000)
        j.parts = 1;
    int64_t one = gemm_room(QUERIES, j.keys, j.d);
    int64_t two = gemm_room(QUERIES, j.dv, j.keys);
    j.room_each = QUERIES * j.keys + (one > two ? one : two);
    j.room =
        arena_array(k->scratch, (size_t)(j.parts * j.room_each), sizeof(float));
    if (!j.room)
        return false;
    clv__parallel(k->threads, j.parts, 1, attention_part, &j);
    return true;
}

/* attention.c - scaled dot product attention, as its definition says:
 * softmax(q k^T * scale + mask) v, one query at a time; and with projections.
 */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

typedef struct heads {
    const clv_tensor *q, *k, *v, *mask;
    int64_t queries, keys, d, dv;
    int64_t q_heads, kv_heads; /* of one batch entry; groups share a kv head */
    double scale, cap;         /* of scores; 0: none */
    bool causal;
} heads;

/* Added to a score: 0 or -infinity for a bool mask, its number otherwise. The
 * mask's last axes are those of (batch, head, query, key), each as long or 1.
 */
static double mask_at(const heads *h, int64_t lead, int64_t i, int64_t j)
{
    const int64_t idx[4] = {lead / h->q_heads, lead % h->q_heads, i, j};
    int64_t strides[CLV_MAX_RANK];
    if (h->causal && j > i)
        return -INFINITY;
    if (!h->mask)
        return 0;
    uint32_t rank = h->mask->rank;
    broadcast_strides(h->mask, rank, strides);
    int64_t at = offset_of(idx + (4 - rank), strides, rank);
    if (h->mask->dtype == CLV_BOOL)
        return get_i(h->mask, at) ? 0 : -INFINITY;
    return get_f(h->mask, at);
}

static clv_status check_mask(const kernel *k, const heads *h)
{
    if (h->mask && h->mask->rank > 4)
        return clv__fail(k->e, CLV_UNSUPPORTED, "a mask of rank %u",
                         h->mask->rank);
    return CLV_OK;
}

/* One query of head `lead`; row has room for a score per key, and holds them
 * after, as parts of the sum returned. */
static double attend(const heads *h, int64_t lead, int64_t i, double *row,
                     clv_tensor *y)
{
    int64_t batch = lead / h->q_heads, head = lead % h->q_heads;
    int64_t kv = batch * h->kv_heads + head * h->kv_heads / h->q_heads;
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < h->keys; j++) {
        double s = 0;
        for (int64_t c = 0; c < h->d; c++)
            s += get_f(h->q, (lead * h->queries + i) * h->d + c) *
                 get_f(h->k, (kv * h->keys + j) * h->d + c);
        s *= h->scale;
        if (h->cap > 0)
            s = h->cap * tanh(s / h->cap);
        row[j] = s + mask_at(h, lead, i, j);
        most = row[j] > most ? row[j] : most;
    }
    for (int64_t j = 0; j < h->keys; j++) {
        row[j] = isinf(most) ? 0 : exp(row[j] - most);
        sum += row[j];
    }
    for (int64_t c = 0; c < h->dv; c++) {
        double out = 0;
        for (int64_t j = 0; j < h->keys; j++)
            out += row[j] * get_f(h->v, (kv * h->keys + j) * h->dv + c);
        put_f(y, (lead * h->queries + i) * h->dv + c, sum > 0 ? out / sum : 0);
    }
    return sum;
}

/* q (..,S,D), k (..,T,D), v (..,T,E), mask broadcast to (..,S,T) */
clv_status kernel_sdpa(kernel *k)
{
    const clv_tensor *q = k->in[0], *key = k->in[1], *v = k->in[2];
    uint32_t r = q->rank;
    heads h = {.q = q,
               .k = key,
               .v = v,
               .mask = k->n->n_in > 3 ? k->in[3] : NULL,
               .queries = q->dims[r - 2],
               .keys = key->dims[r - 2],
               .d = q->dims[r - 1],
               .dv = v->dims[r - 1],
               .q_heads = r > 2 ? q->dims[r - 3] : 1,
               .kv_heads = r > 2 ? key->dims[r - 3] : 1,
               .causal = attr_int(k->n, CLV_A_CAUSAL, 0) != 0};
    h.scale = attr_float(k->n, CLV_A_SCALE, 1 / sqrt((double)h.d));
    CLV_TRY(check_mask(k, &h));
    double *row = arena_array(k->scratch, (size_t)h.keys + 1, sizeof *row);
    if (!row)
        return clv__nomem(k->e);
    int64_t leads = 1;
    for (uint32_t i = 0; i + 2 < r; i++) {
        leads *= q->dims[i];
        if (i + 3 < r && q->dims[i] != key->dims[i])
            return clv__fail(k->e, CLV_UNSUPPORTED,
                             "attention that broadcasts batches");
    }
    for (int64_t lead = 0; lead < leads; lead++)
        for (int64_t i = 0; i < h.queries; i++)
            attend(&h, lead, i, row, &k->out[0]);
    return CLV_OK;
}

/* -- with a past ----------------------------------------------------------*/

/* x as (B,H,S,D), of (B,S,H*D) or as it is, behind `past` (B,H,P,D). */
static clv_status with_past(kernel *k, const clv_tensor *past,
                            const clv_tensor *x, int64_t n_heads,
                            clv_tensor *out)
{
    bool flat = x->rank == 3;
    int64_t batch = x->dims[0], h = flat ? n_heads : x->dims[1];
    int64_t d = flat ? x->dims[2] / h : x->dims[3];
    int64_t before = past ? past->dims[2] : 0, s = x->dims[flat ? 1 : 2];
    int64_t total = before + s;
    *out = (clv_tensor){
        .dtype = x->dtype, .rank = 4, .dims = {batch, h, total, d}};
    out->data = arena_alloc(k->scratch, (size_t)clv_tensor_bytes(out) + 1);
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < batch * h; i++) {
        if (past)
            copy_run(out, i * total * d, past, i * before * d, before * d);
        for (int64_t j = 0; j < s; j++)
            copy_run(out, (i * total + before + j) * d, x,
                     flat ? ((i / h * s + j) * h + i % h) * d : (i * s + j) * d,
                     d);
    }
    return CLV_OK;
}

/* y (B,H,S,E) into an output that may be (B,S,H*E). */
static void merge_heads(const clv_tensor *y, clv_tensor *out)
{
    int64_t h = y->dims[1], s = y->dims[2], e = y->dims[3];
    for (int64_t i = 0, n = numel(y) / e; i < n; i++) {
        int64_t b = i / (h * s), head = i / s % h, j = i % s;
        int64_t to = out->rank == 3 ? (b * s + j) * h + head : i;
        copy_run(out, to * e, y, i * e, e);
    }
}

/* q, k, v, mask, past key, past value -> y, key and value with the past */
clv_status kernel_attention(kernel *k)
{
    int64_t n_heads = attr_int(k->n, CLV_A_HEADS, 0);
    int64_t kv_heads = attr_int(k->n, CLV_A_KV_HEADS, n_heads);
    clv_tensor q, key, v, y;
    if (output_of(k, 3))
        return clv__fail(k->e, CLV_UNSUPPORTED, "attention that shows scores");
    CLV_TRY(with_past(k, NULL, k->in[0], n_heads, &q));
    CLV_TRY(with_past(k, input_of(k, 4), k->in[1], kv_heads, &key));
    CLV_TRY(with_past(k, input_of(k, 5), k->in[2], kv_heads, &v));
    heads h = {.q = &q,
               .k = &key,
               .v = &v,
               .mask = input_of(k, 3),
               .queries = q.dims[2],
               .keys = key.dims[2],
               .d = q.dims[3],
               .dv = v.dims[3],
               .q_heads = q.dims[1],
               .kv_heads = key.dims[1],
               .cap = other_float(k->n, "softcap", 0),
               .causal = attr_int(k->n, CLV_A_CAUSAL, 0) != 0};
    h.scale = attr_float(k->n, CLV_A_SCALE, 1 / sqrt((double)h.d));
    CLV_TRY(check_mask(k, &h));
    y = q;
    y.dims[3] = h.dv;
    y.data = arena_alloc(k->scratch, (size_t)clv_tensor_bytes(&y) + 1);
    double *row = arena_array(k->scratch, (size_t)h.keys + 1, sizeof *row);
    if (!row || !y.data)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < q.dims[0] * q.dims[1] * h.queries; i++)
        attend(&h, i / h.queries, i % h.queries, row, &y);
    merge_heads(&y, &k->out[0]);
    for (uint32_t o = 1; o < 3; o++)
        if (output_of(k, o))
            copy_run(output_of(k, o), 0, o == 1 ? &key : &v, 0,
                     numel(o == 1 ? &key : &v));
    return CLV_OK;
}

/* -- with projections -----------------------------------------------------*/

/* Rows of an input: sequences of batches, either first. */
typedef struct rows {
    const clv_tensor *x;
    int64_t batch, length, width;
    bool batch_first;
} rows;

static rows rows_of(const kernel *k, const clv_tensor *x)
{
    bool first =
        x->rank == 3 && !strcmp(attr_str(k->n, CLV_A_LAYOUT, ""), "batch");
    return (rows){x, x->rank == 2 ? 1 : x->dims[first ? 0 : 1],
                  x->dims[first ? 1 : 0], x->dims[x->rank - 1], first};
}

static int64_t row_at(const rows *r, int64_t batch, int64_t i)
{
    return r->batch_first ? batch * r->length + i : i * r->batch + batch;
}

/* x W^T + b by heads: (batch, heads, length, size). Part 0 to 2 of the common
 * weight, or the part's own. */
static clv_status project(kernel *k, const rows *r, uint32_t part,
                          int64_t count, int64_t embed, clv_tensor *out)
{
    const clv_tensor *common = input_of(k, 3), *b = input_of(k, 4);
    const clv_tensor *w = common ? common : input_of(k, 8 + part);
    int64_t size = embed / count, skip = common ? part * embed : 0;
    if (!w || w->dims[1] != r->width)
        return clv__fail(k->e, CLV_SHAPE, "no projection of %lld features",
                         (long long)r->width);
    *out = (clv_tensor){.dtype = CLV_FLOAT64,
                        .rank = 4,
                        .dims = {r->batch, count, r->length, size}};
    out->data = arena_array(k->scratch, (size_t)numel(out) + 1, sizeof(double));
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t n = 0; n < r->batch; n++)
        for (int64_t i = 0; i < r->length; i++)
            for (int64_t o = 0; o < embed; o++) {
                int64_t from = row_at(r, n, i) * r->width;
                double sum = b ? get_f(b, part * embed + o) : 0;
                for (int64_t c = 0; c < r->width; c++)
                    sum += get_f(r->x, from + c) *
                           get_f(w, (skip + o) * r->width + c);
                put_f(out,
                      ((n * count + o / size) * r->length + i) * size +
                          o % size,
                      sum);
            }
    return CLV_OK;
}

/* A mask of bools says here what is left out: it becomes -infinity. */
static clv_status additive(kernel *k, const clv_tensor *mask, clv_tensor *out)
{
    *out = *mask;
    out->dtype = CLV_FLOAT64;
    out->data =
        arena_array(k->scratch, (size_t)numel(mask) + 1, sizeof(double));
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t i = 0, n = numel(mask); i < n; i++)
        put_f(out, i,
              mask->dtype != CLV_BOOL ? get_f(mask, i)
              : get_i(mask, i)        ? -INFINITY
                                      : 0);
    return CLV_OK;
}

/* y = the heads of one row side by side, times the output's weight. */
static void merge(kernel *k, const rows *r, const clv_tensor *mixed, int64_t n,
                  int64_t i)
{
    const clv_tensor *w = input_of(k, 5), *b = input_of(k, 6);
    int64_t count = mixed->dims[1], size = mixed->dims[3], e = count * size;
    for (int64_t o = 0; o < e; o++) {
        double sum = b ? get_f(b, o) : 0;
        for (int64_t c = 0; c < e; c++) {
            int64_t from =
                ((n * count + c / size) * r->length + i) * size + c % size;
            double f = w ? get_f(w, o * e + c) : (double)(o == c);
            sum += f * get_f(mixed, from);
        }
        put_f(&k->out[0], row_at(r, n, i) * e + o, sum);
    }
}

/* q, k, v; in_proj weight and bias; out_proj weight and bias; mask; own
 * weights of q, k, v. Output 1: the scores, averaged over heads. */
clv_status kernel_mha(kernel *k)
{
    rows q = rows_of(k, k->in[0]), key = rows_of(k, k->in[1]),
         v = rows_of(k, k->in[2]);
    int64_t count = attr_int(k->n, CLV_A_HEADS, 1), embed = q.width;
    clv_tensor pq, pk, pv, mixed, mask, *scores = output_of(k, 1);
    CLV_TRY(project(k, &q, 0, count, embed, &pq));
    CLV_TRY(project(k, &key, 1, count, embed, &pk));
    CLV_TRY(project(k, &v, 2, count, embed, &pv));
    heads h = {.q = &pq,
               .k = &pk,
               .v = &pv,
               .queries = q.length,
               .keys = key.length,
               .d = embed / count,
               .dv = embed / count,
               .q_heads = count,
               .kv_heads = count,
               .causal = attr_int(k->n, CLV_A_CAUSAL, 0) != 0};
    h.scale = 1 / sqrt((double)h.d);
    if (input_of(k, 7)) {
        CLV_TRY(additive(k, k->in[7], &mask));
        h.mask = &mask;
    }
    double *row = arena_array(k->scratch, (size_t)h.keys + 1, sizeof *row);
    mixed = pq;
    mixed.data =
        arena_array(k->scratch, (size_t)numel(&pq) + 1, sizeof(double));
    if (!row || !mixed.data)
        return clv__nomem(k->e);
    if (scores)
        memset(scores->data, 0, (size_t)clv_tensor_bytes(scores));
    for (int64_t lead = 0; lead < q.batch * count; lead++)
        for (int64_t i = 0; i < q.length; i++) {
            double sum = attend(&h, lead, i, row, &mixed);
            int64_t to = (lead / count * q.length + i) * h.keys;
            for (int64_t j = 0; scores && j < h.keys; j++)
                put_f(scores, to + j,
                      get_f(scores, to + j) +
                          (sum > 0 ? row[j] / sum / (double)count : 0));
        }
    for (int64_t n = 0; n < q.batch; n++)
        for (int64_t i = 0; i < q.length; i++)
            merge(k, &q, &mixed, n, i);
    return CLV_OK;
}

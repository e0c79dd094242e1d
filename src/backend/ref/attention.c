/* attention.c - scaled dot product attention, as its definition says:
 * softmax(q k^T * scale + mask) v, one query at a time; and with projections.
 */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

typedef enum score_stage { PRODUCT, CAPPED, MASKED, SOFTMAX } score_stage;

typedef struct heads {
    const clv_tensor *q, *k, *v, *mask;
    int64_t queries, keys, d, dv;
    int64_t q_heads, kv_heads; /* of one batch entry; groups share a kv head */
    double scale, cap;         /* of scores; 0: none */
    bool causal;
    const int64_t *before;  /* per batch entry: keys before the first query */
    const clv_tensor *keep; /* which keys count; see keeps() */
    bool last;              /* it holds the last key's index of each entry */
    double dropped;         /* added to the score of a key that does not */
    int64_t window;         /* keys that a causal query sees; 0: all */
    int64_t left, right;    /* keys on either side of a query; -1: all */
    bool empty_nan;         /* a query without keys gives NaN, not 0 */
    bool smooth;            /* one more key of score 0, without a value */
    clv_tensor *scores;     /* (B,H,S,T), or NULL */
    score_stage stage;      /* that they are shown at */
} heads;

/* Whether key j of `batch` counts for query i, by integers: lengths (B), or
 * lengths, then begins (2B); or not 0 at (B,T), (B,S,T), (B,1,P,P). */
static bool attention_keeps(const heads *h, int64_t batch, int64_t i, int64_t j)
{
    const clv_tensor *m = h->keep;
    int64_t n = h->q->dims[0], before = h->before ? h->before[batch] : 0;
    if (h->last)
        return j <= get_i(m, batch);
    if (m->rank == 1)
        return j < get_i(m, batch) &&
               (numel(m) != 2 * n || j >= get_i(m, n + batch));
    if (m->rank == 2)
        return get_i(m, batch * m->dims[1] + j) != 0;
    int64_t row = m->rank == 3 ? i : before + i;
    return get_i(m,
                 (batch * m->dims[m->rank - 2] + row) * m->dims[m->rank - 1] +
                     j) != 0;
}

/* Whether key j lies where the query at place p looks. */
static bool attention_sees(const heads *h, int64_t p, int64_t j)
{
    if (h->causal && (j > p || (h->window && j <= p - h->window)))
        return false;
    return (h->left < 0 || p - j <= h->left) &&
           (h->right < 0 || j - p <= h->right);
}

/* Added to a score: 0 or -infinity for a bool mask, its number otherwise. The
 * mask's last axes are those of (batch, head, query, key), each as long or 1;
 * of keys it may have fewer, and those beyond do not count. */
static double mask_at(const heads *h, int64_t lead, int64_t i, int64_t j)
{
    const int64_t idx[4] = {lead / h->q_heads, lead % h->q_heads, i, j};
    int64_t strides[CLV_MAX_RANK];
    if (!attention_sees(h, i + (h->before ? h->before[idx[0]] : 0), j))
        return -INFINITY;
    double dropped =
        h->keep && !attention_keeps(h, idx[0], i, j) ? h->dropped : 0;
    if (!h->mask)
        return dropped;
    uint32_t rank = h->mask->rank;
    int64_t wide = rank ? h->mask->dims[rank - 1] : 1;
    if (wide != 1 && j >= wide)
        return -INFINITY;
    broadcast_strides(h->mask, rank, strides);
    int64_t at = offset_of(idx + (4 - rank), strides, rank);
    if (h->mask->dtype == CLV_BOOL)
        return get_i(h->mask, at) ? dropped : -INFINITY;
    return dropped + get_f(h->mask, at);
}

/* Every axis of the mask is as long as that of the scores, or 1; the last may
 * be shorter. */
static clv_status check_mask(const kernel *k, const heads *h, int64_t batch)
{
    const int64_t dims[4] = {batch, h->q_heads, h->queries, h->keys};
    const clv_tensor *m = h->mask;
    bool fits = !m || m->rank <= 4;
    for (uint32_t i = 0; m && fits && i < m->rank; i++)
        fits = m->dims[i] == 1 || m->dims[i] == dims[4 - m->rank + i] ||
               (i + 1 == m->rank && m->dims[i] < h->keys);
    return fits ? CLV_OK
                : clv__fail(k->e, CLV_SHAPE, "a mask of rank %u does not fit",
                            m->rank);
}

/* A score at a stage, where it is an output. */
static void attention_show(const heads *h, int stage, int64_t lead, int64_t i,
                           int64_t j, double score)
{
    if (h->scores && (int)h->stage == stage)
        put_f(h->scores, (lead * h->queries + i) * h->keys + j, score);
}

/* One query of head `lead`; row has room for a score per key, and holds them
 * after, as parts of the sum returned. */
static double attention_attend(const heads *h, int64_t lead, int64_t i,
                               double *row, clv_tensor *y)
{
    int64_t batch = lead / h->q_heads, head = lead % h->q_heads;
    int64_t kv = batch * h->kv_heads + head * h->kv_heads / h->q_heads;
    double most = h->smooth ? 0 : -INFINITY, sum = 0;
    for (int64_t j = 0; j < h->keys && clv__in_time(h->d + h->dv); j++) {
        double s = 0;
        for (int64_t c = 0; c < h->d; c++)
            s += get_f(h->q, (lead * h->queries + i) * h->d + c) *
                 get_f(h->k, (kv * h->keys + j) * h->d + c);
        s *= h->scale;
        attention_show(h, PRODUCT, lead, i, j, s);
        if (h->cap > 0)
            s = h->cap * tanh(s / h->cap);
        attention_show(h, CAPPED, lead, i, j, s);
        row[j] = s + mask_at(h, lead, i, j);
        attention_show(h, MASKED, lead, i, j, row[j]);
        most = row[j] > most ? row[j] : most;
    }
    for (int64_t j = 0; j < h->keys; j++) {
        row[j] = isinf(most) ? 0 : exp(row[j] - most);
        sum += row[j];
    }
    if (h->smooth)
        sum += exp(-most);
    for (int64_t j = 0; j < h->keys; j++)
        attention_show(h, SOFTMAX, lead, i, j, sum > 0 ? row[j] / sum : 0);
    for (int64_t c = 0; c < h->dv; c++) {
        double out = 0;
        for (int64_t j = 0; j < h->keys; j++)
            out += row[j] * get_f(h->v, (kv * h->keys + j) * h->dv + c);
        put_f(y, (lead * h->queries + i) * h->dv + c,
              sum > 0        ? out / sum
              : h->empty_nan ? (double)NAN
                             : 0);
    }
    return sum;
}

/* Scores of heads of size d are divided by its root, unless the node says. */
static double attention_scale_of(const clv_node *n, int64_t d)
{
    double scale = attr_get(n, CLV_A_SCALE) ? attr_float(n, CLV_A_SCALE) : 0;
    return scale != 0 ? scale : 1 / sqrt((double)d);
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
               .left = -1,
               .right = -1,
               .causal = attr_int(k->n, CLV_A_CAUSAL) != 0};
    h.scale = attention_scale_of(k->n, h.d);
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
    CLV_TRY(check_mask(k, &h, h.q_heads ? leads / h.q_heads : 0));
    for (int64_t lead = 0; lead < leads; lead++)
        for (int64_t i = 0; i < h.queries && clv__in_time(h.keys); i++)
            attention_attend(&h, lead, i, row, &k->out[0]);
    return CLV_OK;
}

/* -- with a past ----------------------------------------------------------*/

/* Where new keys go: behind `before` of each batch entry's past. */
typedef struct cache {
    int64_t *before;
    int64_t room;
    rotation turn; /* cos is NULL: none */
} cache;

/* x as (B,H,S,D), of (B,S,H*D) or as it is; turned. */
static clv_status by_heads(kernel *k, const clv_tensor *x, int64_t n_heads,
                           const cache *c, bool turn, clv_tensor *out)
{
    bool flat = x->rank == 3;
    int64_t batch = x->dims[0], h = flat ? n_heads : x->dims[1];
    int64_t d = flat ? x->dims[2] / h : x->dims[3], s = x->dims[flat ? 1 : 2];
    const rotation *r = &c->turn;
    int64_t rows = r->half ? numel(r->cos) / r->half : 0, row;
    *out = (clv_tensor){.dtype = x->dtype, .rank = 4, .dims = {batch, h, s, d}};
    out->data = arena_alloc(k->scratch, (size_t)clv_tensor_bytes(out) + 1);
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < batch * h * s; i++) {
        int64_t b = i / (h * s), head = i / s % h, j = i % s;
        int64_t from = (flat ? (b * s + j) * h + head : i) * d;
        copy_run(out, i * d, x, from, d);
        if (!turn || !r->cos)
            continue;
        CLV_TRY(checked(k, c->before[b] + j, rows, &row));
        for (int64_t e = 0; e < r->turned && e < d; e++)
            put_f(out, i * d + e, rotated(r, x, from, e, row));
    }
    return CLV_OK;
}

/* What counts of past (B,H,P,D), and x (B,H,S,D) behind it; then zeros. */
static clv_status attention_with_past(kernel *k, const clv_tensor *past,
                                      const clv_tensor *x, const cache *c,
                                      clv_tensor *out)
{
    int64_t h = x->dims[1], s = x->dims[2], d = x->dims[3];
    *out = *x;
    out->dims[2] = c->room;
    out->data = arena_zalloc(k->scratch, (size_t)clv_tensor_bytes(out) + 1);
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < x->dims[0] * h; i++) {
        int64_t before = c->before[i / h];
        if (past)
            copy_run(out, i * c->room * d, past, i * past->dims[2] * d,
                     before * d);
        copy_run(out, (i * c->room + before) * d, x, i * s * d, s * d);
    }
    return CLV_OK;
}

/* y (B,H,S,E) into an output that may be (B,S,H*E). */
static void merge_heads(const clv_tensor *y, clv_tensor *out)
{
    int64_t h = y->dims[1], s = y->dims[2], e = y->dims[3];
    for (int64_t i = 0, n = e ? numel(y) / e : 0; i < n && clv__in_time(1);
         i++) {
        int64_t b = i / (h * s), head = i / s % h, j = i % s;
        int64_t to = out->rank == 3 ? (b * s + j) * h + head : i;
        copy_run(out, to * e, y, i * e, e);
    }
}

static bool is_cache(const kernel *k)
{
    return attr_int(k->n, CLV_A_CACHE);
}

/* How many keys come before the first query of each batch entry: the whole
 * past, or, where the last key's index is given, all but the new ones. */
static clv_status find_cache(kernel *k, cache *c)
{
    const clv_tensor *key = k->in[1], *past = input_of(k, 4);
    const clv_tensor *last = is_cache(k) ? input_of(k, 6) : NULL;
    int64_t batch = key->dims[0], s = key->dims[key->rank == 3 ? 1 : 2];
    int64_t room = attr_int(k->n, CLV_A_SIZE);
    int64_t length = past ? past->dims[2] : 0;
    c->room = room <= 0 ? length + s : room > length ? room : length;
    c->before = arena_array(k->scratch, (size_t)batch + 1, sizeof *c->before);
    if (!c->before)
        return clv__nomem(k->e);
    if (last && numel(last) < batch)
        return clv__fail(k->e, CLV_SHAPE, "too few lengths of sequences");
    for (int64_t b = 0; b < batch; b++) {
        int64_t before = last && length ? get_i(last, b) + 1 - s : length;
        c->before[b] = before < 0 ? 0 : before;
        if (c->before[b] > c->room - s || c->before[b] > length)
            return clv__fail(k->e, CLV_SHAPE, "%lld keys in a cache of %lld",
                             (long long)(c->before[b] + s), (long long)c->room);
    }
    if (input_of(k, 7) && input_of(k, 8)) {
        c->turn = (rotation){.cos = k->in[7], .sin = k->in[8]};
        c->turn.half = c->turn.cos->rank == 2 ? c->turn.cos->dims[1] : 0;
        c->turn.turned = 2 * c->turn.half;
        c->turn.pairs = attr_int(k->n, CLV_A_INTERLEAVED) != 0;
        if (numel(c->turn.cos) != numel(c->turn.sin))
            return clv__fail(k->e, CLV_SHAPE, "cos and sin differ in size");
    }
    return CLV_OK;
}

/* Integers that say which keys count, of a shape that covers all of them. */
static clv_status check_keep(const kernel *k, const heads *h)
{
    const clv_tensor *m = h->keep;
    int64_t n = h->q->dims[0];
    if (!m || h->last || (m->rank == 1 && numel(m) >= n))
        return CLV_OK;
    bool fits = m->rank > 1 && m->rank < 5 && m->dims[0] == n &&
                m->dims[m->rank - 1] >= h->keys;
    if (m->rank == 3)
        fits = fits && m->dims[1] >= h->queries;
    if (m->rank == 4)
        fits = fits && m->dims[1] == 1 && m->dims[2] >= h->keys;
    return fits ? CLV_OK
                : clv__fail(k->e, CLV_SHAPE, "a mask of rank %u", m->rank);
}

/* Where queries stand: behind the past, or, where they are the last of the keys
 * that count, so many before the end of these. */
static clv_status attention_places(kernel *k, const cache *c, heads *h)
{
    const clv_tensor *lengths = h->keep;
    h->before = c->before;
    if (!attr_int(k->n, CLV_A_ALIGNED) || !lengths)
        return CLV_OK;
    int64_t n = h->q->dims[0];
    int64_t *places = arena_array(k->scratch, (size_t)n + 1, sizeof *places);
    if (!places)
        return clv__nomem(k->e);
    if (lengths->rank != 1 || numel(lengths) != n)
        return clv__fail(k->e, CLV_SHAPE, "no length for each batch entry");
    for (int64_t b = 0; b < n; b++)
        places[b] = get_i(lengths, b) - h->queries;
    h->before = places;
    return CLV_OK;
}

static score_stage attention_stage(const clv_node *n)
{
    static const char *const stages[] = {"product", "capped", "masked"};
    for (int i = 0; i < 3; i++)
        if (attr_is(n, CLV_A_STAGE, stages[i]))
            return (score_stage)i;
    return SOFTMAX;
}

/* q, k, v, mask, past key, past value, which keys count, cos, sin -> y, key and
 * value with the past, scores */
clv_status kernel_attention(kernel *k)
{
    int64_t n_heads = attr_int(k->n, CLV_A_HEADS);
    int64_t kv_heads = attr_int(k->n, CLV_A_KV_HEADS);
    cache c = {0};
    clv_tensor q, new_key, new_v, key, v, y;
    CLV_TRY(find_cache(k, &c));
    CLV_TRY(by_heads(k, k->in[0], n_heads, &c, true, &q));
    CLV_TRY(by_heads(k, k->in[1], kv_heads, &c, true, &new_key));
    CLV_TRY(by_heads(k, k->in[2], kv_heads, &c, false, &new_v));
    CLV_TRY(attention_with_past(k, input_of(k, 4), &new_key, &c, &key));
    CLV_TRY(attention_with_past(k, input_of(k, 5), &new_v, &c, &v));
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
               .cap = attr_float(k->n, CLV_A_SOFTCAP),
               .causal = attr_int(k->n, CLV_A_CAUSAL) != 0,
               .left = attr_int(k->n, CLV_A_LEFT_WINDOW),
               .right = attr_int(k->n, CLV_A_RIGHT_WINDOW),
               .scores = output_of(k, 3),
               .keep = input_of(k, 6),
               .dropped = attr_float(k->n, CLV_A_MASK_VALUE),
               .last = is_cache(k),
               .empty_nan = attr_int(k->n, CLV_A_EMPTY_NAN) != 0,
               .smooth = attr_int(k->n, CLV_A_SMOOTH_SOFTMAX) == 1};
    h.scale = attention_scale_of(k->n, h.d);
    h.window = attr_int(k->n, CLV_A_LOCAL_WINDOW);
    h.window = h.window > 0 ? h.window : 0;
    h.stage = attention_stage(k->n);
    CLV_TRY(attention_places(k, &c, &h));
    CLV_TRY(check_mask(k, &h, q.dims[0]));
    CLV_TRY(check_keep(k, &h));
    y = q;
    y.dims[3] = h.dv;
    y.data = arena_alloc(k->scratch, (size_t)clv_tensor_bytes(&y) + 1);
    double *row = arena_array(k->scratch, (size_t)h.keys + 1, sizeof *row);
    if (!row || !y.data)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < q.dims[0] * q.dims[1] * h.queries; i++)
        attention_attend(&h, i / h.queries, i % h.queries, row, &y);
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

static rows attention_rows_of(const kernel *k, const clv_tensor *x)
{
    bool first = x->rank == 3 && attr_is(k->n, CLV_A_LAYOUT, "batch");
    return (rows){x, x->rank == 2 ? 1 : x->dims[first ? 0 : 1],
                  x->dims[first ? 1 : 0], x->dims[x->rank - 1], first};
}

static int64_t row_at(const rows *r, int64_t batch, int64_t i)
{
    return r->batch_first ? batch * r->length + i : i * r->batch + batch;
}

/* x W^T + b by heads: (batch, heads, length, size). Part 0 to 2 of the common
 * weight, or the part's own. */
static clv_status attention_project(kernel *k, const rows *r, uint32_t part,
                                    int64_t count, int64_t embed,
                                    clv_tensor *out)
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
            for (int64_t o = 0; o < embed && clv__in_time(r->width); o++) {
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
static clv_status attention_additive(kernel *k, const clv_tensor *mask,
                                     clv_tensor *out)
{
    *out = *mask;
    out->dtype = CLV_FLOAT64;
    out->data =
        arena_array(k->scratch, (size_t)numel(mask) + 1, sizeof(double));
    if (!out->data)
        return clv__nomem(k->e);
    for (int64_t i = 0, n = numel(mask); i < n && clv__in_time(1); i++)
        put_f(out, i,
              mask->dtype != CLV_BOOL ? get_f(mask, i)
              : get_i(mask, i)        ? -INFINITY
                                      : 0);
    return CLV_OK;
}

/* y = the heads of one row side by side, times the output's weight. */
static void attention_merge(kernel *k, const rows *r, const clv_tensor *mixed,
                            int64_t n, int64_t i)
{
    const clv_tensor *w = input_of(k, 5), *b = input_of(k, 6);
    int64_t count = mixed->dims[1], size = mixed->dims[3], e = count * size;
    for (int64_t o = 0; o < e && clv__in_time(e); o++) {
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
    rows q = attention_rows_of(k, k->in[0]),
         key = attention_rows_of(k, k->in[1]),
         v = attention_rows_of(k, k->in[2]);
    int64_t count = attr_int(k->n, CLV_A_HEADS), embed = q.width;
    clv_tensor pq, pk, pv, mixed, mask, *scores = output_of(k, 1);
    CLV_TRY(attention_project(k, &q, 0, count, embed, &pq));
    CLV_TRY(attention_project(k, &key, 1, count, embed, &pk));
    CLV_TRY(attention_project(k, &v, 2, count, embed, &pv));
    heads h = {.q = &pq,
               .k = &pk,
               .v = &pv,
               .queries = q.length,
               .keys = key.length,
               .d = embed / count,
               .dv = embed / count,
               .q_heads = count,
               .kv_heads = count,
               .left = -1,
               .right = -1,
               .causal = attr_int(k->n, CLV_A_CAUSAL) != 0};
    h.scale = 1 / sqrt((double)h.d);
    if (input_of(k, 7)) {
        CLV_TRY(attention_additive(k, k->in[7], &mask));
        if (mask.rank == 3 && mask.dims[0] == q.batch * count) {
            const int64_t by_head[4] = {q.batch, count, mask.dims[1],
                                        mask.dims[2]};
            memcpy(mask.dims, by_head, sizeof by_head);
            mask.rank = 4;
        }
        h.mask = &mask;
    }
    CLV_TRY(check_mask(k, &h, q.batch));
    double *row = arena_array(k->scratch, (size_t)h.keys + 1, sizeof *row);
    mixed = pq;
    mixed.data =
        arena_array(k->scratch, (size_t)numel(&pq) + 1, sizeof(double));
    if (!row || !mixed.data)
        return clv__nomem(k->e);
    if (scores)
        memset(scores->data, 0, (size_t)clv_tensor_bytes(scores));
    for (int64_t lead = 0; lead < q.batch * count; lead++)
        for (int64_t i = 0; i < q.length && clv__in_time(h.keys); i++) {
            double sum = attention_attend(&h, lead, i, row, &mixed);
            int64_t to = (lead / count * q.length + i) * h.keys;
            for (int64_t j = 0; scores && j < h.keys; j++)
                put_f(scores, to + j,
                      get_f(scores, to + j) +
                          (sum > 0 ? row[j] / sum / (double)count : 0));
        }
    for (int64_t n = 0; n < q.batch; n++)
        for (int64_t i = 0; i < q.length; i++)
            attention_merge(k, &q, &mixed, n, i);
    return CLV_OK;
}

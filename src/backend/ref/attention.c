/* attention.c - scaled dot product attention, as its definition says:
 * softmax(q k^T * scale + mask) v, one query at a time. */
#include "backend/kernel.h"

#include <math.h>

typedef struct heads {
    const clv_tensor *q, *k, *v, *mask;
    int64_t queries, keys, d, dv;
    int64_t q_heads, kv_heads; /* of one batch entry; groups share a kv head */
    double scale;
    bool causal;
} heads;

/* Added to a score: 0 or -infinity for a bool mask, its number otherwise. */
static double mask_at(const heads *h, int64_t lead, int64_t i, int64_t j)
{
    if (h->causal && j > i)
        return -INFINITY;
    if (!h->mask)
        return 0;
    int64_t plane = h->mask->rank > 1 ? h->queries * h->keys : h->keys;
    int64_t planes = plane ? numel(h->mask) / plane : 0;
    int64_t row = h->mask->rank > 1 && h->mask->dims[h->mask->rank - 2] > 1
                      ? i * h->keys
                      : 0;
    int64_t at = (planes > 1 ? lead % planes * plane : 0) + row + j;
    if (h->mask->dtype == CLV_BOOL)
        return get_i(h->mask, at) ? 0 : -INFINITY;
    return get_f(h->mask, at);
}

/* One query of head `lead`; row has room for a score per key. */
static void attend(const heads *h, int64_t lead, int64_t i, double *row,
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
        row[j] = s * h->scale + mask_at(h, lead, i, j);
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

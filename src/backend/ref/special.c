/* special.c - operators without a family: determinants, reversed sequences,
 * pooling undone, n-grams. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

/* -- determinants ---------------------------------------------------------*/

static void swap_rows(double *a, int64_t m, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < m; j++) {
        double t = a[p * m + j];
        a[p * m + j] = a[q * m + j];
        a[q * m + j] = t;
    }
}

/* By elimination with row pivots; a (m,m) is destroyed. */
static double determinant(double *a, int64_t m)
{
    double det = 1;
    for (int64_t c = 0; c < m; c++) {
        int64_t best = c;
        for (int64_t r = c + 1; r < m; r++)
            if (fabs(a[r * m + c]) > fabs(a[best * m + c]))
                best = r;
        if (a[best * m + c] == 0)
            return 0;
        if (best != c) {
            swap_rows(a, m, best, c);
            det = -det;
        }
        det *= a[c * m + c];
        for (int64_t r = c + 1; r < m; r++) {
            double f = a[r * m + c] / a[c * m + c];
            for (int64_t j = c; j < m; j++)
                a[r * m + j] -= f * a[c * m + j];
        }
    }
    return det;
}

clv_status kernel_det(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t m = x->dims[x->rank - 1];
    double *a = arena_array(k->scratch, (size_t)(m * m) + 1, sizeof *a);
    if (!a)
        return clv__nomem(k->e);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n; i++) {
        for (int64_t j = 0; j < m * m; j++)
            a[j] = get_f(x, i * m * m + j);
        put_f(&k->out[0], i, determinant(a, m));
    }
    return CLV_OK;
}

/* -- order ----------------------------------------------------------------*/

/* The first length[b] steps of batch b backwards, the rest as they are. */
clv_status kernel_reverse_sequence(kernel *k)
{
    const clv_tensor *x = k->in[0], *length = k->in[1];
    uint32_t time, batch;
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_TIME_AXIS), x->rank, &time, k->e));
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_BATCH_AXIS), x->rank, &batch, k->e));
    strides_of(x, own);
    if (numel(length) < x->dims[batch])
        return clv__fail(k->e, CLV_SHAPE, "%lld lengths for %lld sequences",
                         (long long)numel(length), (long long)x->dims[batch]);
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        int64_t len = get_i(length, idx[batch]), t = idx[time], from = i;
        if (len > x->dims[time])
            return clv__fail(k->e, CLV_SHAPE, "a length of %lld of %lld",
                             (long long)len, (long long)x->dims[time]);
        if (t < len)
            from += (len - 1 - 2 * t) * own[time];
        copy_run(&k->out[0], i, x, from, 1);
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

/* -- max_unpool -----------------------------------------------------------*/

/* The shape that indices count in: where they count in the whole tensor, what
 * the windows give, whatever size is asked for; else the result's. */
static clv_status indexed_shape(const kernel *k, bool whole, clv_tensor *t)
{
    const clv_tensor *x = k->in[0];
    uint32_t nk, nd = x->rank - 2;
    const int64_t *size = attr_ints(k->n, CLV_A_KERNEL, &nk);
    *t = k->out[0];
    for (uint32_t i = 0; whole && i < nd; i++) {
        window w;
        CLV_TRY(get_window(k->n, i, nd, x->dims[2 + i], list_at(size, nk, i),
                           &w, k->e));
        t->dims[2 + i] =
            (x->dims[2 + i] - 1) * w.stride + w.kernel - w.before - w.after;
    }
    return CLV_OK;
}

/* Where place `at` of a plane of `shape` lies in y's; -1: outside. */
static int64_t replaced(const clv_tensor *shape, const clv_tensor *y,
                        int64_t at)
{
    int64_t own[CLV_MAX_RANK], to = 0;
    strides_of(y, own);
    for (uint32_t a = y->rank; a-- > 2; at /= shape->dims[a]) {
        if (at % shape->dims[a] >= y->dims[a])
            return -1;
        to += at % shape->dims[a] * own[a];
    }
    return to;
}

clv_status kernel_max_unpool(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    clv_tensor *y = &k->out[0], shape;
    bool whole = attr_is(k->n, CLV_A_INDICES, "tensor");
    int64_t in_plane = 1, plane = 1, out_plane = 1;
    CLV_TRY(indexed_shape(k, whole, &shape));
    for (uint32_t a = 2; a < x->rank; a++) {
        in_plane *= x->dims[a];
        plane *= shape.dims[a];
        out_plane *= y->dims[a];
    }
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        int64_t lead = i / in_plane;
        int64_t at = get_i(index, i) - (whole ? lead * plane : 0);
        if (at < 0 || at >= plane)
            return clv__fail(k->e, CLV_SHAPE, "index %lld of a plane of %lld",
                             (long long)at, (long long)plane);
        int64_t to = replaced(&shape, y, at);
        if (to >= 0)
            copy_run(y, lead * out_plane + to, x, i, 1);
    }
    return CLV_OK;
}

/* -- n-grams --------------------------------------------------------------*/

typedef struct grams {
    const int64_t *pool, *first, *slot; /* first: where each length begins */
    uint32_t n_pool, n_first, n_slot, n_weight;
    int64_t shortest, longest, skips;
    const double *weight;
} grams;

static clv_status read_grams(const kernel *k, grams *g)
{
    const clv_attr *w = attr_get(k->n, CLV_A_GRAM_WEIGHTS);
    *g = (grams){.shortest = attr_int(k->n, CLV_A_MIN_GRAM),
                 .longest = attr_int(k->n, CLV_A_MAX_GRAM),
                 .skips = attr_int(k->n, CLV_A_MAX_SKIP)};
    g->pool = attr_ints(k->n, CLV_A_GRAM_POOL, &g->n_pool);
    g->first = attr_ints(k->n, CLV_A_GRAM_STARTS, &g->n_first);
    g->slot = attr_ints(k->n, CLV_A_GRAM_PLACES, &g->n_slot);
    if (w && w->type == CLV_ATTR_FLOATS) {
        g->weight = w->u.floats;
        g->n_weight = w->n;
    }
    if (!g->pool || !g->first || !g->slot || g->shortest < 1 || g->skips < 0)
        return clv__fail(k->e, CLV_UNSUPPORTED, "no n-grams of numbers");
    for (uint32_t i = 0; i < g->n_first; i++)
        if (g->first[i] < 0 || g->first[i] > g->n_pool ||
            (i && g->first[i] < g->first[i - 1]))
            return clv__fail(k->e, CLV_FORMAT, "gram_starts out of order");
    return CLV_OK;
}

/* The number of the n-gram at x[at], elements `gap` apart; -1: none. */
static int64_t gram_at(const grams *g, const clv_tensor *x, int64_t at,
                       int64_t gap, uint32_t n)
{
    int64_t id = 0;
    for (uint32_t len = 1; len <= n; len++) {
        int64_t end = len < g->n_first ? g->first[len] : g->n_pool;
        int64_t from = g->first[len - 1], count = (end - from) / len;
        for (int64_t i = 0; len == n && i < count; i++) {
            uint32_t j = 0;
            while (j < n &&
                   g->pool[from + i * n + j] == get_i(x, at + (int64_t)j * gap))
                j++;
            if (j == n)
                return id + i;
        }
        id += count;
    }
    return -1;
}

/* A single element has no gap: it is counted once. */
static void count_row(const grams *g, const clv_tensor *x, int64_t first,
                      int64_t length, clv_tensor *y, int64_t to)
{
    int64_t size = y->dims[y->rank - 1];
    int64_t skips = g->skips < length ? g->skips : length;
    for (int64_t n = g->shortest; n <= g->longest && n <= g->n_first; n++)
        for (int64_t skip = 0; skip <= (n > 1 ? skips : 0); skip++)
            for (int64_t i = 0; i + (n - 1) * (skip + 1) < length; i++) {
                int64_t id = gram_at(g, x, first + i, skip + 1, (uint32_t)n);
                int64_t slot = id >= 0 && id < g->n_slot ? g->slot[id] : -1;
                if (slot >= 0 && slot < size)
                    put_f(y, to + slot, get_f(y, to + slot) + 1);
            }
}

/* Counts become weights (IDF) or are weighted (TFIDF). */
static void weigh_row(const grams *g, bool counted, clv_tensor *y, int64_t to)
{
    int64_t size = y->dims[y->rank - 1];
    for (uint32_t i = 0; i < g->n_slot && i < g->n_weight; i++) {
        int64_t slot = g->slot[i];
        if (slot < 0 || slot >= size)
            continue;
        double n = get_f(y, to + slot);
        put_f(y, to + slot, g->weight[i] * (counted ? n : (double)(n > 0)));
    }
}

/* x (..,T) -> (..,size) */
clv_status kernel_tfidf(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    const char *mode = attr_str(k->n, CLV_A_MODE);
    grams g;
    CLV_TRY(read_grams(k, &g));
    int64_t length = x->dims[x->rank - 1], size = y->dims[y->rank - 1];
    int64_t rows = x->rank > 1 ? x->dims[0] : 1;
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t r = 0; r < rows; r++) {
        count_row(&g, x, r * length, length, y, r * size);
        if (strcmp(mode, "TF"))
            weigh_row(&g, !strcmp(mode, "TFIDF"), y, r * size);
    }
    return CLV_OK;
}

/* tfidf.c - counts of n-grams, weighted. */
#include "backend/kernel.h"

#include <string.h>

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

/* Counts become weights (IDF) or are weighted (TFIDF); those left out are 1. */
static void weigh_row(const grams *g, bool counted, clv_tensor *y, int64_t to)
{
    int64_t size = y->dims[y->rank - 1];
    for (uint32_t i = 0; i < g->n_slot; i++) {
        int64_t slot = g->slot[i];
        double weight = i < g->n_weight ? g->weight[i] : 1;
        if (slot < 0 || slot >= size)
            continue;
        double n = get_f(y, to + slot);
        put_f(y, to + slot, weight * (counted ? n : (double)(n > 0)));
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

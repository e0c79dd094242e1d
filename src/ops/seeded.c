/* seeded.c - weights drawn from a seed. */
#include "ops/seeded.h"

#include "tensor/random.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

/* -- numbers --------------------------------------------------------------*/

static uint64_t key_of(const char *name, uint64_t seed)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ clv__mix(seed);
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return clv__mix(h);
}

/* -- scale ----------------------------------------------------------------*/

typedef struct range {
    float middle, spread; /* middle +- spread */
} range;

/* Returns a uniform range of variance 1/fan: sums of fan products keep their
 * size. */
static range by_fan(int64_t fan)
{
    return (range){0, (float)sqrt(3.0 / (double)(fan > 0 ? fan : 1))};
}

/* Chooses the range by what the weight is to the first operator that reads
 * it. */
static range range_of(const clv_graph *g, uint32_t v)
{
    const clv_value *w = &g->values[v];
    const range small = {0, 0.1f}, near_one = {1, 0.1f}, table = {0, 1};
    if (g->user_first[v] == g->user_first[v + 1])
        return small;
    const clv_node *n = &g->nodes[g->users[g->user_first[v]]];
    uint32_t at = 0;
    while (node_ins(g, n)[at] != v)
        at++;
    switch (clv__ops[n->op].category) {
    case CLV_CAT_NORM: /* weight, bias, mean, variance */
        return at == 1 || at == 4 ? near_one : small;
    case CLV_CAT_CONV:
        return w->rank < 2 ? small : by_fan(dims_product(w->dims, 1, w->rank));
    case CLV_CAT_MATMUL:
    case CLV_CAT_ATTENTION:
    case CLV_CAT_RNN:
        return w->rank < 2 ? small : by_fan(w->dims[w->rank - 1]);
    case CLV_CAT_INDEX:
        return table;
    default:
        return w->rank < 2 ? small : by_fan(w->dims[w->rank - 1]);
    }
}

/* -- filling --------------------------------------------------------------*/

/* Writes contents that the graph knows: a list of numbers, or one for all. */
static void fill_known(const clv_payload *known, int64_t first, clv_tensor *out)
{
    for (int64_t i = 0; i < out->dims[0]; i++) {
        if (known->fill)
            put_f(out, i, *known->fill);
        else if (first + i < known->n && known->ints)
            put_i(out, i, known->ints[first + i]);
        else if (first + i < known->n)
            put_f(out, i, known->floats[first + i]);
    }
}

static void fill_drawn(const clv_graph *g, uint32_t v, uint64_t seed,
                       int64_t first, clv_tensor *out)
{
    char buf[128];
    uint64_t key = key_of(clv__value_name(g, v, buf, sizeof buf), seed);
    range r = range_of(g, v);
    float *floats = out->dtype == CLV_FLOAT32 ? out->data : NULL;
    for (int64_t i = 0; i < out->dims[0]; i++) {
        float x = r.middle + r.spread * (float)clv__uniform(key, first + i);
        if (floats)
            floats[i] = x;
        else
            put_f(out, i, (double)(is_signed(out->dtype) ? x : fabsf(x)));
    }
}

void clv__weight_fill(const clv_graph *g, uint32_t v, uint64_t seed,
                      int64_t first, int64_t n, void *out)
{
    const clv_value *w = &g->values[v];
    const clv_payload *known = w->data;
    clv_tensor t = {
        .dtype = (clv_dtype)w->dtype, .rank = 1, .dims = {n}, .data = out};
    size_t size = (size_t)clv_dtype_bytes(t.dtype, n);
    size_t skip = (size_t)clv_dtype_bytes(t.dtype, first);
    memset(out, 0, size);
    if (known && known->bytes && skip + size <= known->size)
        memcpy(out, (const char *)known->bytes + skip, size);
    else if (known && (known->ints || known->floats || known->fill))
        fill_known(known, first, &t);
    else if (is_float(t.dtype))
        fill_drawn(g, v, seed, first, &t);
}

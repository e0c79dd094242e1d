/* seeded.c - seeded weights; see weights.h. */
#include "ops/seeded.h"

#include <math.h>
#include <string.h>

/* -- numbers --------------------------------------------------------------*/

/* A bijection of 64-bit numbers that leaves no pattern (splitmix64). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t key_of(const char *name, uint64_t seed)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ mix(seed);
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return mix(h);
}

/* Uniform in [-1, 1): 24 bits, exact in float32. */
static float uniform(uint64_t key, int64_t i)
{
    uint64_t bits = mix(key + (uint64_t)i) >> 40;
    return (float)((double)bits * 0x1p-23 - 1.0);
}

uint16_t clv__to_bfloat16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* stays a NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

uint16_t clv__to_half(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    if (mag > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (mag >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (mag < 0x38800000) { /* subnormal: in units of 2^-24 */
        float scaled;
        memcpy(&scaled, &mag, sizeof scaled);
        return (uint16_t)(sign | (uint32_t)nearbyintf(scaled * 0x1p24f));
    }
    uint32_t rounded = mag + 0xfff + (mag >> 13 & 1);
    return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

float clv__from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31;
    uint32_t frac = h & 0x3ff, u;
    float x;
    if (exp == 0) {
        x = (float)frac * 0x1p-24f;
        return sign ? -x : x;
    }
    u = sign | (exp == 31 ? 0x7f800000u : (exp + 112) << 23) | frac << 13;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* -- scale ----------------------------------------------------------------*/

typedef struct range {
    float middle, spread; /* middle +- spread */
} range;

/* Uniform of variance 1/fan: sums of fan products keep their size. */
static range by_fan(int64_t fan)
{
    return (range){0, (float)sqrt(3.0 / (double)(fan > 0 ? fan : 1))};
}

/* What the weight is to the first operator that reads it. */
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

static void put(clv_dtype dtype, void *out, int64_t i, double x)
{
    switch (dtype) {
    case CLV_FLOAT32:
        ((float *)out)[i] = (float)x;
        break;
    case CLV_FLOAT64:
        ((double *)out)[i] = x;
        break;
    case CLV_FLOAT16:
        ((uint16_t *)out)[i] = clv__to_half((float)x);
        break;
    case CLV_BFLOAT16:
        ((uint16_t *)out)[i] = clv__to_bfloat16((float)x);
        break;
    case CLV_INT64:
    case CLV_UINT64:
        ((int64_t *)out)[i] = (int64_t)x;
        break;
    case CLV_INT32:
    case CLV_UINT32:
        ((int32_t *)out)[i] = (int32_t)x;
        break;
    default: /* the rest is zero already */
        if (clv_dtype_bytes(dtype, 1) == 1)
            ((int8_t *)out)[i] = (int8_t)x;
    }
}

void clv__weight_fill(const clv_graph *g, uint32_t v, uint64_t seed,
                      int64_t first, int64_t n, void *out)
{
    const clv_value *w = &g->values[v];
    clv_dtype dtype = (clv_dtype)w->dtype;
    const clv_payload *known = w->data;
    size_t size = (size_t)clv_dtype_bytes(dtype, n);
    size_t skip = (size_t)clv_dtype_bytes(dtype, first);
    memset(out, 0, size);
    if (known && known->bytes && skip + size <= known->size) {
        memcpy(out, (const char *)known->bytes + skip, size);
        return;
    }
    if (known && (known->ints || known->floats)) {
        for (int64_t i = 0; i < n && first + i < known->n; i++)
            put(dtype, out, i,
                known->ints ? (double)known->ints[first + i]
                            : known->floats[first + i]);
        return;
    }
    for (int64_t i = 0; known && known->fill && i < n; i++)
        put(dtype, out, i, *known->fill);
    if (known && known->fill)
        return;
    if (dtype != CLV_FLOAT32 && dtype != CLV_FLOAT64 && dtype != CLV_FLOAT16 &&
        dtype != CLV_BFLOAT16)
        return;
    char buf[128];
    uint64_t key = key_of(clv__value_name(g, v, buf, sizeof buf), seed);
    range r = range_of(g, v);
    for (int64_t i = 0; i < n; i++)
        put(dtype, out, i, r.middle + r.spread * uniform(key, first + i));
}

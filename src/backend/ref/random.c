/* random.c - numbers drawn while running: the same for the same seed.
 *
 * Element i of a node depends on its seed (the attribute, else the node's name)
 * and i alone; what other tools draw from the same seed is another matter. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

static uint64_t seed_of(const kernel *k)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    double seed = attr_float(k->n, CLV_A_SEED);
    if (attr_get(k->n, CLV_A_SEED)) {
        memcpy(&h, &seed, sizeof h);
        return h;
    }
    for (const char *s = k->n->name; *s; s++)
        h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
    return h;
}

/* Uniform in (0, 1). */
static double random_uniform(uint64_t seed, int64_t i)
{
    uint64_t x = seed + ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return ((double)(x >> 12) + 0.5) * 0x1p-52;
}

/* Two uniform numbers make a normal one (Box and Muller). */
static double random_normal(uint64_t seed, int64_t i)
{
    double pi = acos(-1);
    return sqrt(-2 * log(random_uniform(seed, 2 * i))) *
           cos(2 * pi * random_uniform(seed, 2 * i + 1));
}

clv_status kernel_random(kernel *k)
{
    bool bell = attr_is(k->n, CLV_A_DISTRIBUTION, "normal");
    double low = attr_float(k->n, CLV_A_LOW);
    double high = attr_float(k->n, CLV_A_HIGH);
    double mean = attr_float(k->n, CLV_A_MEAN);
    double scale = attr_float(k->n, CLV_A_SCALE);
    uint64_t seed = seed_of(k);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++)
        put_f(&k->out[0], i,
              bell ? mean + scale * random_normal(seed, i)
                   : low + (high - low) * random_uniform(seed, i));
    return CLV_OK;
}

/* 1 with the probability given by each element. */
clv_status kernel_bernoulli(kernel *k)
{
    uint64_t seed = seed_of(k);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++)
        put_f(&k->out[0], i, random_uniform(seed, i) < get_f(k->in[0], i));
    return CLV_OK;
}

/* A class by its weight: a probability, or its logarithm. */
static double random_weight_of(const kernel *k, int64_t i)
{
    double w = get_f(k->in[0], i);
    return attr_int(k->n, CLV_A_LOGITS) ? exp(w) : w;
}

clv_status kernel_multinomial(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t classes = x->dims[x->rank - 1], draws = y->dims[y->rank - 1];
    uint64_t seed = seed_of(k);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t row = i / draws * classes, c = 0;
        double sum = 0;
        for (int64_t j = 0; j < classes; j++)
            sum += random_weight_of(k, row + j);
        for (double at = random_uniform(seed, i) * sum; c + 1 < classes; c++)
            if ((at -= random_weight_of(k, row + c)) < 0)
                break;
        put_i(y, i, c);
    }
    return CLV_OK;
}

/* In evaluation a copy and a mask of ones; in training, input 2, a share `p` of
 * the elements becomes 0 and the rest grows to make up for it. */
clv_status kernel_dropout(kernel *k)
{
    const clv_tensor *x = k->in[0], *train = input_of(k, 2);
    clv_tensor *y = output_of(k, 0), *mask = output_of(k, 1);
    double p = number_of(k, CLV_A_P, 1);
    uint64_t seed = seed_of(k);
    if (!train || !numel(train) || !get_i(train, 0))
        p = 0;
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        bool kept = p == 0 || random_uniform(seed, i) >= p;
        if (y)
            put_f(y, i, kept ? get_f(x, i) / (1 - p) : 0);
        if (mask)
            put_i(mask, i, kept);
    }
    return CLV_OK;
}

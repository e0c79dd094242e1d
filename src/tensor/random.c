/* random.c - seeded numbers, and tensors filled with them. */
#include "tensor/random.h"

#include "tensor/tensor.h"

#include <math.h>

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

uint64_t clv__mix(uint64_t x)
{
    x += golden;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double clv__uniform(uint64_t key, int64_t i)
{
    return (double)(clv__mix(key + (uint64_t)i) >> 40) * 0x1p-23 - 1;
}

void clv_tensor_random(clv_tensor *t, uint64_t seed)
{
    uint64_t key = seed * golden, mask = t->dtype == CLV_BOOL ? 1 : 7;
    bool real = is_float(t->dtype), negative = is_signed(t->dtype);
    for (int64_t i = 0, n = clv_tensor_numel(t); i < n; i++) {
        double x = real ? clv__uniform(key, i) : 0;
        if (real)
            put_f(t, i, negative ? x : fabs(x));
        else
            put_i(t, i, (int64_t)(clv__mix(key + (uint64_t)i) >> 60 & mask));
    }
}

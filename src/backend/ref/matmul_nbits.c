/* matmul_nbits.c - products with weights of 2, 4 or 8 bits in blocks, each with
 * a scale. */
#include "backend/kernel.h"

/* Point q of a block: packed like the weights, rows of blocks padded to bytes;
 * or given as numbers; or half the range. */
static double zero_point(const clv_tensor *z, int64_t row, int64_t block,
                         int64_t blocks, int64_t bits)
{
    if (!z)
        return (double)(1 << (bits - 1));
    if (is_float(z->dtype))
        return get_f(z, row * blocks + block);
    int64_t per = 8 / bits, width = (blocks + per - 1) / per;
    int64_t byte = get_i(z, row * width + block / per);
    return (double)(byte >> block % per * bits & ((1 << bits) - 1));
}

/* x (..,K), w (N,K) of 2, 4 or 8 bits, scales (N,K/B), zero points, groups,
 * bias: x (scale * (w - zero))' */
static clv_status matmul_blocks(kernel *k, int64_t bits, int64_t size)
{
    const clv_tensor *x = k->in[0], *w = k->in[1], *scale = k->in[2];
    const clv_tensor *zero = input_of(k, 3), *bias = input_of(k, 5);
    int64_t n = w->dims[0], depth = x->dims[x->rank - 1];
    int64_t blocks = (w->dims[1] + size - 1) / size;
    int64_t points = is_float(zero ? zero->dtype : CLV_FLOAT32)
                         ? blocks
                         : (blocks * bits + 7) / 8;
    if (input_of(k, 4))
        return clv__fail(k->e, CLV_UNSUPPORTED, "weights in groups");
    if (numel(scale) < n * blocks || (zero && numel(zero) < n * points))
        return clv__fail(k->e, CLV_SHAPE, "too few scales or zero points");
    for (int64_t i = 0, count = numel(&k->out[0]);
         i < count && clv__in_time(depth); i++) {
        int64_t row = i / n, o = i % n;
        double sum = bias ? get_f(bias, o) : 0;
        for (int64_t p = 0; p < depth; p++) {
            int64_t b = p / size;
            double q = get_f(w, o * w->dims[1] + p) -
                       zero_point(zero, o, b, blocks, bits);
            sum += get_f(x, row * depth + p) * q * get_f(scale, o * blocks + b);
        }
        put_f(&k->out[0], i, sum);
    }
    return CLV_OK;
}

/* What the 16 codes of bitsandbytes stand for: floats of 4 bits, or quantiles
 * of the normal distribution. */
static const double bnb4[2][16] = {
    {0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, -0.0,
     -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25},
    {-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
     -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
     0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
     0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
     0.7229568362236023, 1}};

/* x (..,K), codes of w (N,K), the high half of a byte first, and the largest
 * magnitude of each block of them */
static clv_status matmul_bnb4(kernel *k, int64_t size)
{
    const clv_tensor *x = k->in[0], *w = k->in[1], *most = k->in[2];
    const uint8_t *bytes = w->data;
    const double *table = bnb4[attr_is(k->n, CLV_A_CODES, "nf4")];
    int64_t n = w->dims[0], depth = w->dims[1];
    if (numel(most) < (n * depth + size - 1) / size)
        return clv__fail(k->e, CLV_SHAPE, "too few magnitudes");
    for (int64_t i = 0, count = numel(&k->out[0]);
         i < count && clv__in_time(depth); i++) {
        double sum = 0;
        for (int64_t p = 0; p < depth; p++) {
            int64_t at = i % n * depth + p;
            int code = bytes[at / 2] >> (at % 2 ? 0 : 4) & 15;
            sum += get_f(x, i / n * depth + p) * table[code] *
                   get_f(most, at / size);
        }
        put_f(&k->out[0], i, sum);
    }
    return CLV_OK;
}

clv_status kernel_matmul_nbits(kernel *k)
{
    int64_t bits = attr_int(k->n, CLV_A_BITS);
    int64_t size = attr_int(k->n, CLV_A_BLOCK);
    if (size < 1 || (bits != 2 && bits != 4 && bits != 8))
        return clv__fail(k->e, CLV_UNSUPPORTED, "blocks of %lld, %lld bits",
                         (long long)size, (long long)bits);
    if (!attr_is(k->n, CLV_A_CODES, "integers"))
        return matmul_bnb4(k, size);
    return matmul_blocks(k, bits, size);
}

/* forms.c - products of an unusual form: bilinear, weights of few bits, rotary
 * positions. */
#include "backend/kernel.h"

#include <string.h>

/* x (..,I), y (..,J), w (O,I,J), bias (O) -> (..,O) */
clv_status kernel_bilinear(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *w = k->in[2];
    const clv_tensor *bias = input_of(k, 3);
    int64_t o = w->dims[0], n = w->dims[1], m = w->dims[2];
    for (int64_t i = 0, count = numel(&k->out[0]); i < count; i++) {
        int64_t row = i / o, at = i % o;
        double sum = bias ? get_f(bias, at) : 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = 0; q < m; q++)
                sum += get_f(a, row * n + p) * get_f(w, (at * n + p) * m + q) *
                       get_f(b, row * m + q);
        put_f(&k->out[0], i, sum);
    }
    return CLV_OK;
}

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
    for (int64_t i = 0, count = numel(&k->out[0]); i < count; i++) {
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
    for (int64_t i = 0, count = numel(&k->out[0]); i < count; i++) {
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

/* -- rotary positions -----------------------------------------------------*/

double rotated(const rotation *r, const clv_tensor *x, int64_t at, int64_t c,
               int64_t row)
{
    int64_t h = r->turned / 2, angle = r->pairs ? c / 2 : c % h;
    bool first = r->pairs ? c % 2 == 0 : c < h;
    int64_t mate = c + (first ? 1 : -1) * (r->pairs ? 1 : h);
    double turn = get_f(r->sin, row * r->half + angle) * get_f(x, at + mate);
    return get_f(r->cos, row * r->half + angle) * get_f(x, at + c) +
           (first ? -turn : turn);
}

/* The row of the tables for token s of batch entry b. */
static int64_t table_row(const clv_tensor *position, int64_t length, int64_t b,
                         int64_t s)
{
    if (!position)
        return b * length + s;
    if (numel(position) == 1 && length > 1)
        return get_i(position, 0) + s;
    return get_i(position, b * length + s);
}

/* x (B,H,S,D) or (B,S,H*D), cos and sin (P,D/2) by position (B,S) */
clv_status kernel_rotary(kernel *k)
{
    const clv_tensor *x = k->in[0], *position = input_of(k, 3);
    clv_tensor *y = &k->out[0];
    bool flat = x->rank == 3;
    rotation r = {.cos = k->in[1], .sin = k->in[2]};
    r.half = r.cos->rank ? r.cos->dims[r.cos->rank - 1] : 1;
    r.turned = attr_int(k->n, CLV_A_ROTARY_DIM);
    r.turned = r.turned ? r.turned : 2 * r.half;
    r.pairs = attr_int(k->n, CLV_A_INTERLEAVED) != 0;
    if (r.turned < 2 || x->rank < 3 || x->rank > 4)
        return clv__fail(k->e, CLV_SHAPE, "tables of %lld for rank %u",
                         (long long)r.half, x->rank);
    int64_t given = attr_int(k->n, CLV_A_HEADS);
    int64_t heads = !flat ? x->dims[1] : given ? given : x->dims[2] / r.turned;
    int64_t length = x->dims[flat ? 1 : 2];
    int64_t width =
        flat && heads > 0 ? x->dims[2] / heads : x->dims[x->rank - 1];
    int64_t rows = r.half ? numel(r.cos) / r.half : 0;
    if (heads < 1 || r.turned > width || r.turned > 2 * r.half || r.turned % 2)
        return clv__fail(k->e, CLV_SHAPE, "tables of %lld for heads of %lld",
                         (long long)r.half, (long long)width);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t c = i % width, token = i / width, at = 0;
        int64_t s = flat ? token / heads % length : token % length;
        int64_t b = token / (heads * length);
        if (c >= r.turned) {
            copy_run(y, i, x, i, 1);
            continue;
        }
        CLV_TRY(checked(k, table_row(position, length, b, s), rows, &at));
        put_f(y, i, rotated(&r, x, i - c, c, at));
    }
    return CLV_OK;
}

/* forms.c - products of an unusual form: bilinear, weights of few bits, rotary
 * positions. */
#include "backend/kernel.h"

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
clv_status kernel_matmul_nbits(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = k->in[1], *scale = k->in[2];
    const clv_tensor *zero = input_of(k, 3), *bias = input_of(k, 5);
    int64_t bits = attr_int(k->n, CLV_A_BITS, 4), depth = w->dims[1];
    int64_t size = other_int(k->n, "block_size", 32), n = w->dims[0];
    size = attr_int(k->n, CLV_A_BLOCK, size);
    int64_t blocks = size > 0 ? depth / size : 0;
    if (size < 1 || depth % size || input_of(k, 4) || numel(scale) < n * blocks)
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "weights with groups, or blocks of %lld in rows of "
                         "%lld",
                         (long long)size, (long long)depth);
    for (int64_t i = 0, count = numel(&k->out[0]); i < count; i++) {
        int64_t row = i / n, o = i % n;
        double sum = bias ? get_f(bias, o) : 0;
        for (int64_t b = 0; b < blocks; b++) {
            double part = 0, z = zero_point(zero, o, b, blocks, bits);
            for (int64_t p = b * size; p < (b + 1) * size; p++)
                part +=
                    get_f(x, row * depth + p) * (get_f(w, o * depth + p) - z);
            sum += part * get_f(scale, o * blocks + b);
        }
        put_f(&k->out[0], i, sum);
    }
    return CLV_OK;
}

/* -- rotary positions -----------------------------------------------------*/

typedef struct rotary {
    const clv_tensor *cos, *sin, *position;
    int64_t length, heads, width, turned; /* turned: leading part of a head */
    bool pairs;                           /* neighbours turn, not halves */
} rotary;

/* The row of the tables for token s of batch entry b. */
static int64_t table_row(const rotary *r, int64_t b, int64_t s)
{
    if (!r->position)
        return b * r->length + s;
    if (numel(r->position) == 1 && r->length > 1)
        return get_i(r->position, 0) + s;
    return get_i(r->position, b * r->length + s);
}

/* x (B,H,S,D) or (B,S,H*D), cos and sin (P,D/2) by position (B,S) */
clv_status kernel_rotary(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool flat = x->rank == 3;
    rotary r = {.cos = k->in[1], .sin = k->in[2], .position = input_of(k, 3)};
    int64_t half = r.cos->dims[r.cos->rank - 1];
    int64_t heads = attr_int(k->n, CLV_A_HEADS, 0);
    r.turned = other_int(k->n, "rotary_embedding_dim", 0);
    r.turned = r.turned ? r.turned : 2 * half;
    r.heads = !flat ? x->dims[1] : heads ? heads : x->dims[2] / r.turned;
    r.length = x->dims[flat ? 1 : 2];
    r.width = flat && r.heads > 0 ? x->dims[2] / r.heads : x->dims[x->rank - 1];
    r.pairs = other_int(k->n, "interleaved", 0) != 0;
    int64_t rows = half ? numel(r.cos) / half : 0;
    if (r.heads < 1 || r.turned > r.width || r.turned > 2 * half ||
        r.turned % 2)
        return clv__fail(k->e, CLV_SHAPE, "tables of %lld for heads of %lld",
                         (long long)half, (long long)r.width);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t c = i % r.width, token = i / r.width;
        int64_t s = flat ? token / r.heads % r.length : token % r.length;
        int64_t at = 0, b = token / (r.heads * r.length), h = r.turned / 2;
        if (c >= r.turned) {
            copy_run(y, i, x, i, 1);
            continue;
        }
        CLV_TRY(checked(k, table_row(&r, b, s), rows, &at));
        int64_t angle = r.pairs ? c / 2 : c % h;
        bool first = r.pairs ? c % 2 == 0 : c < h;
        int64_t mate = i + (first ? 1 : -1) * (r.pairs ? 1 : h);
        double turn = get_f(r.sin, at * half + angle) * get_f(x, mate);
        put_f(y, i,
              get_f(r.cos, at * half + angle) * get_f(x, i) +
                  (first ? -turn : turn));
    }
    return CLV_OK;
}

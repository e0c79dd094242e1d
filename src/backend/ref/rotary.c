/* rotary.c - positions as rotations of pairs of numbers. */
#include "backend/kernel.h"

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
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
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

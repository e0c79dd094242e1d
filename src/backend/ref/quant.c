/* quant.c - quantised numbers: to and from them, and products of them.
 *
 * A product takes the zero points off, multiplies exactly (in double, whose 53
 * bits hold any sum of products of bytes), then scales, rounds and shifts. */
#include "backend/kernel.h"

#include <math.h>

static double quant_saturate(clv_dtype t, double v)
{
    int bits = (int)clv_dtype_bytes(t, 8);
    double lo = is_signed(t) ? -ldexp(1, bits - 1) : 0;
    double hi = is_signed(t) ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
    return v < lo ? lo : v > hi ? hi : v;
}

/* Which scale an element has: one for all, one per slice of an axis, or one per
 * block of `size` along it. */
typedef struct scaling {
    const clv_tensor *scale, *zero;
    int64_t length, run, size; /* of the axis; elements after it; of a block */
} scaling;

static clv_status find_scaling(const kernel *k, scaling *s)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    *s = (scaling){.scale = k->in[1], .zero = input_of(k, 2), .run = 1};
    int64_t many = numel(s->scale), want = 1;
    if (many != 1) {
        CLV_TRY(axis_of(k, &axis));
        s->length = want = x->dims[axis];
        s->size = attr_int(k->n, CLV_A_BLOCK);
        for (uint32_t a = axis + 1; a < x->rank; a++)
            s->run *= x->dims[a];
    }
    if (s->size > 0 && s->length > 0)
        want = numel(x) / s->length * ((s->length + s->size - 1) / s->size);
    if (many != want || (s->zero && numel(s->zero) != many))
        return clv__fail(k->e, CLV_SHAPE, "%lld scales, not %lld",
                         (long long)many, (long long)want);
    return CLV_OK;
}

static int64_t scale_index(const scaling *s, int64_t i)
{
    if (!s->length)
        return 0;
    int64_t at = i / s->run % s->length;
    if (s->size <= 0)
        return at;
    int64_t outer = i / (s->run * s->length);
    int64_t blocks = (s->length + s->size - 1) / s->size;
    return (outer * blocks + at / s->size) * s->run + i % s->run;
}

/* x over scale in float32, as every runtime divides; halves to even. */
static float quant_steps(double x, double scale)
{
    return nearbyintf((float)x / (float)scale);
}

/* Quantises one number to the type of output 0: to an integer of its range, or
 * to the nearest float of few bits. */
static void put_quantised(const kernel *k, int64_t i, double x, double scale,
                          double zero)
{
    clv_tensor *y = &k->out[0];
    double quotient = (double)((float)x / (float)scale);
    if (is_float8(y->dtype))
        put_float8(y, i, quotient, attr_int(k->n, CLV_A_SATURATE) != 0);
    else if (is_float(y->dtype))
        put_f(y, i, quotient);
    else
        put_f(y, i,
              quant_saturate(y->dtype, (double)quant_steps(x, scale) + zero));
}

clv_status kernel_quantize(kernel *k)
{
    const clv_tensor *x = k->in[0];
    scaling s;
    CLV_TRY(find_scaling(k, &s));
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t at = scale_index(&s, i);
        double z = s.zero ? get_f(s.zero, at) : 0;
        put_quantised(k, i, get_f(x, i), get_f(s.scale, at), z);
    }
    return CLV_OK;
}

clv_status kernel_dequantize(kernel *k)
{
    const clv_tensor *x = k->in[0];
    scaling s;
    CLV_TRY(find_scaling(k, &s));
    double offset = attr_float(k->n, CLV_A_OFFSET);
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t at = scale_index(&s, i);
        double z = s.zero ? get_f(s.zero, at) : offset;
        put_f(&k->out[0], i, (get_f(x, i) - z) * get_f(s.scale, at));
    }
    return CLV_OK;
}

/* There and back, within `min` and `max`; scale and zero point are inputs, or
 * attributes `scale` and `zero_point`. */
clv_status kernel_fake_quantize(kernel *k)
{
    const clv_tensor *x = k->in[0];
    double lo = attr_float(k->n, CLV_A_MIN);
    double hi = attr_float(k->n, CLV_A_MAX);
    scaling s = {.scale = NULL};
    if (input_of(k, 1))
        CLV_TRY(find_scaling(k, &s));
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t at = scale_index(&s, i);
        double scale =
            s.scale ? get_f(s.scale, at) : attr_float(k->n, CLV_A_SCALE);
        double z =
            s.zero ? get_f(s.zero, at) : attr_float(k->n, CLV_A_ZERO_POINT);
        double v = (double)quant_steps(get_f(x, i), scale) + z;
        v = v < lo ? lo : v > hi ? hi : v;
        put_f(&k->out[0], i, (v - z) * scale);
    }
    return CLV_OK;
}

/* The range of x, with 0 in it, over 255 steps. */
clv_status kernel_dynamic_quantize(kernel *k)
{
    const clv_tensor *x = k->in[0];
    double lo = 0, hi = 0;
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        lo = fmin(lo, get_f(x, i));
        hi = fmax(hi, get_f(x, i));
    }
    float scale = (float)((hi - lo) / 255);
    double zero =
        scale > 0
            ? quant_saturate(CLV_UINT8, (double)quant_steps(-lo, (double)scale))
            : 0;
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        double v =
            scale > 0 ? (double)quant_steps(get_f(x, i), (double)scale) : 0;
        put_f(&k->out[0], i, quant_saturate(CLV_UINT8, v + zero));
    }
    if (k->n->n_out > 1 && k->out[1].data)
        put_f(&k->out[1], 0, (double)scale);
    if (k->n->n_out > 2 && k->out[2].data)
        put_f(&k->out[2], 0, zero);
    return CLV_OK;
}

/* -- products -------------------------------------------------------------*/

/* t less its zero point: one for all, or one per slice of `axis`. */
static clv_status quant_centred(const kernel *k, const clv_tensor *t,
                                const clv_tensor *zero, uint32_t axis,
                                clv_tensor *out)
{
    int64_t n = numel(t), run = 1, many = zero ? numel(zero) : 0;
    *out = *t;
    out->dtype = CLV_FLOAT64;
    out->data = arena_array(k->scratch, (size_t)n + 1, sizeof(double));
    if (!out->data)
        return clv__nomem(k->e);
    if (many > 1 && (axis >= t->rank || t->dims[axis] != many))
        return clv__fail(k->e, CLV_SHAPE, "%lld zero points", (long long)many);
    for (uint32_t a = axis + 1; a < t->rank; a++)
        run *= t->dims[a];
    for (int64_t i = 0; i < n; i++) {
        int64_t z = many > 1 ? i / run % many : 0;
        put_f(out, i, get_f(t, i) - (many ? get_f(zero, z) : 0));
    }
    return CLV_OK;
}

/* An operand of a quantised product. */
typedef struct operand {
    const clv_tensor *t, *zero;
    uint32_t axis; /* of which each slice may have its own zero */
} operand;

/* Runs fn over x and w less their zero points; y in double. */
static clv_status quant_exact(kernel *k, clv_kernel_fn *fn, operand x,
                              operand w, clv_tensor *y)
{
    clv_tensor cx, cw;
    CLV_TRY(quant_centred(k, x.t, x.zero, x.axis, &cx));
    CLV_TRY(quant_centred(k, w.t, w.zero, w.axis, &cw));
    *y = k->out[0];
    y->dtype = CLV_FLOAT64;
    y->data = arena_array(k->scratch, (size_t)numel(y) + 1, sizeof(double));
    if (!y->data)
        return clv__nomem(k->e);
    const clv_tensor *in[3] = {&cx, &cw, NULL};
    kernel sub = *k;
    sub.in = in;
    sub.out = y;
    return fn(&sub);
}

static uint32_t from_end(const clv_tensor *t, uint32_t i)
{
    return t->rank >= i ? t->rank - i : 0;
}

/* x, w, zero of x, zero of w */
clv_status kernel_conv_integer(kernel *k)
{
    clv_tensor y;
    operand x = {k->in[0], input_of(k, 2), 1},
            w = {k->in[1], input_of(k, 3), 0};
    CLV_TRY(quant_exact(k, kernel_conv, x, w, &y));
    for (int64_t i = 0, n = numel(&y); i < n && clv__in_time(1); i++)
        put_f(&k->out[0], i, get_f(&y, i));
    return CLV_OK;
}

clv_status kernel_matmul_integer(kernel *k)
{
    clv_tensor y;
    operand a = {k->in[0], input_of(k, 2), from_end(k->in[0], 2)};
    operand b = {k->in[1], input_of(k, 3), from_end(k->in[1], 1)};
    CLV_TRY(quant_exact(k, kernel_matmul, a, b, &y));
    for (int64_t i = 0, n = numel(&y); i < n && clv__in_time(1); i++)
        put_f(&k->out[0], i, get_f(&y, i));
    return CLV_OK;
}

/* Sums to the type of the result, scaled by those of both operands; the second
 * may have one per column. */
static void quant_requantize(kernel *k, const clv_tensor *sums, int64_t i,
                             int64_t column, double add)
{
    int64_t many = numel(k->in[4]);
    double s =
        get_f(k->in[1], 0) * get_f(k->in[4], many > 1 ? column % many : 0);
    double v = nearbyint((get_f(sums, i) + add) * s / get_f(k->in[6], 0));
    v += get_f(k->in[7], 0);
    put_f(&k->out[0], i, quant_saturate(k->out[0].dtype, v));
}

/* x, scale, zero; w, scale, zero; scale and zero of y; bias */
clv_status kernel_qlinear_conv(kernel *k)
{
    const clv_tensor *bias = input_of(k, 8);
    clv_tensor y;
    operand x = {k->in[0], k->in[2], 1}, w = {k->in[3], k->in[5], 0};
    CLV_TRY(quant_exact(k, kernel_conv, x, w, &y));
    int64_t plane = 1;
    for (uint32_t a = 2; a < y.rank; a++)
        plane *= y.dims[a];
    for (int64_t i = 0, n = numel(&y); i < n && clv__in_time(1); i++) {
        int64_t c = i / plane % y.dims[1];
        quant_requantize(k, &y, i, c, bias ? get_f(bias, c) : 0);
    }
    return CLV_OK;
}

clv_status kernel_qlinear_matmul(kernel *k)
{
    clv_tensor y;
    operand a = {k->in[0], k->in[2], from_end(k->in[0], 2)};
    operand b = {k->in[3], k->in[5], from_end(k->in[3], 1)};
    CLV_TRY(quant_exact(k, kernel_matmul, a, b, &y));
    int64_t cols = y.rank ? y.dims[y.rank - 1] : 1;
    const clv_tensor *bias = input_of(k, 8);
    if (bias && numel(bias) != cols)
        return clv__fail(k->e, CLV_SHAPE, "%lld biases, not %lld",
                         (long long)numel(bias), (long long)cols);
    for (int64_t i = 0, n = numel(&y); i < n && clv__in_time(1); i++)
        quant_requantize(k, &y, i, i % cols, bias ? get_f(bias, i % cols) : 0);
    return CLV_OK;
}

/* -- elements -------------------------------------------------------------*/

/* a, scale, zero; b, scale, zero; scale and zero of y */
clv_status kernel_qlinear_two(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[3];
    clv_tensor *y = &k->out[0];
    int64_t sa[CLV_MAX_RANK], sb[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    for (uint32_t i = 0; i < 8; i++)
        if (i % 3 && numel(k->in[i]) != 1)
            return clv__fail(k->e, CLV_SHAPE, "one scale and zero point each");
    broadcast_strides(a, y->rank, sa);
    broadcast_strides(b, y->rank, sb);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        double u = get_f(a, offset_of(idx, sa, y->rank)) - get_f(k->in[2], 0);
        double v = get_f(b, offset_of(idx, sb, y->rank)) - get_f(k->in[5], 0);
        u *= get_f(k->in[1], 0);
        v *= get_f(k->in[4], 0);
        put_quantised(k, i, k->n->op == CLV_OP_QLINEAR_ADD ? u + v : u * v,
                      get_f(k->in[6], 0), get_f(k->in[7], 0));
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* One table, or one for each index of axis 1. */
clv_status kernel_byte_table(kernel *k)
{
    enum { CODES = 256 };
    const clv_tensor *x = k->in[0];
    int64_t least = x->dtype == CLV_INT8 ? INT8_MIN : 0;
    int64_t tables = k->in[1]->rank > 1 ? k->in[1]->dims[0] : 1;
    int64_t plane = tables > 1 ? dims_product(x->dims, 2, x->rank) : 1;
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++)
        copy_run(&k->out[0], i, k->in[1],
                 i / plane % tables * CODES + get_i(x, i) - least, 1);
    return CLV_OK;
}

/* unary.c - one output element per input element.
 *
 * A function of one number is a row of `unary`, and of `whole_rows` where it
 * also has a version for integers. Attributes of activations (slopes, limits)
 * reach the function as two parameters. */
#include "backend/kernel.h"

#include <math.h>

typedef struct params {
    double a, b;
} params;

typedef double unary_fn(double x, params p);

/* Attributes that become a and b. */
typedef struct unary_row {
    clv_op op;
    unary_fn *fn;
    clv_attr_key key_a, key_b; /* CLV_A_OTHER: none */
} unary_row;

/* The x whose erf is y: a first guess by Winitzki's formula, then Newton. */
static double unary_erfinv(double y)
{
    const double a = 0.147, half_root_pi = 0.88622692545275801365;
    if (!(fabs(y) < 1))
        return fabs(y) > 1 || isnan(y) ? NAN : copysign(INFINITY, y);
    double w = log1p(-y * y), t = 2 / (3.14159265358979323846 * a) + w / 2;
    double x = copysign(sqrt(sqrt(t * t - w / a) - t), y);
    for (int i = 0; i < 4; i++) {
        double off = y > 0.5    ? (1 - y) - erfc(x)
                     : y < -0.5 ? erfc(-x) - (1 + y)
                                : erf(x) - y;
        x -= off * half_root_pi * exp(x * x);
    }
    return x;
}

/* The derivative of lgamma: reflected below 0, stepped up to where its series
 * holds. */
static double unary_digamma(double x)
{
    const double pi = 3.14159265358979323846;
    enum { SERIES = 10 };
    double sum = 0;
    if (x <= 0) {
        if (x == floor(x))
            return x == 0 ? copysign(INFINITY, -x) : NAN;
        return unary_digamma(1 - x) - pi / tan(pi * x);
    }
    for (; x < SERIES; x++)
        sum -= 1 / x;
    double q = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           q * (1. / 12 - q * (1. / 120 - q * (1. / 252 - q / 240)));
}

#define FN(name, expr) \
    static double name(double x, params p) \
    { \
        (void)p; \
        return expr; \
    }

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus_of(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

static double unary_erf_gelu(double x)
{
    return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}

static double unary_clip(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x; /* a NaN stays */
}

/* To nearest, halves to even: the rounding of every format here. */
static double round_even(double x)
{
    return nearbyint(x);
}

FN(fn_relu, x > 0 || isnan(x) ? x : 0)
FN(fn_relu6, unary_clip(x, 0, 6))
FN(fn_leaky, x >= 0 ? x : p.a * x)
FN(fn_rrelu, x >= 0 ? x : (p.a + p.b) / 2 * x) /* as in evaluation */
FN(fn_elu, x > 0 ? x : p.a * expm1(x))
FN(fn_selu, p.b *(x > 0 ? x : p.a * expm1(x)))
FN(fn_celu, x > 0 ? x : p.a * expm1(x / p.a))
FN(fn_gelu, unary_erf_gelu(x))
FN(fn_silu, x *sigmoid_of(p.a *x))
FN(fn_mish, x *tanh(softplus_of(x)))
FN(fn_sigmoid, sigmoid_of(x))
FN(fn_logsigmoid, -softplus_of(-x))
FN(fn_tanh, tanh(x))
FN(fn_hardtanh, unary_clip(x, p.a, p.b))
FN(fn_hardsigmoid, unary_clip(p.a *x + p.b, 0, 1))
FN(fn_hardswish, x *unary_clip(x / 6 + 0.5, 0, 1))
FN(fn_softplus, p.a *x > p.b ? x : log1p(exp(p.a * x)) / p.a)
FN(fn_softsign, x / (1 + fabs(x)))
FN(fn_threshold, x > p.a ? x : p.b)
FN(fn_hardshrink, fabs(x) > p.a ? x : 0)
FN(fn_softshrink, x > p.a ? x - p.a : x < -p.a ? x + p.a : 0)
FN(fn_tanhshrink, x - tanh(x))
FN(fn_shrink, x<-p.a ? x + p.b : x> p.a ? x - p.b : 0)
FN(fn_neg, -x)
FN(fn_abs, fabs(x))
FN(fn_sign, isnan(x) ? x : (double)((x > 0) - (x < 0)))
FN(fn_floor, floor(x))
FN(fn_ceil, ceil(x))
FN(fn_round, round_even(x))
FN(fn_trunc, trunc(x))
FN(fn_square, x *x)
FN(fn_reciprocal, 1 / x)
FN(fn_sqrt, sqrt(x))
FN(fn_rsqrt, 1 / sqrt(x))
FN(fn_exp, exp(x))
FN(fn_exp2, exp2(x))
FN(fn_expm1, expm1(x))
FN(fn_log, log(x))
FN(fn_log2, log2(x))
FN(fn_log10, log10(x))
FN(fn_log1p, log1p(x))
FN(fn_sin, sin(x))
FN(fn_cos, cos(x))
FN(fn_tan, tan(x))
FN(fn_asin, asin(x))
FN(fn_acos, acos(x))
FN(fn_atan, atan(x))
FN(fn_sinh, sinh(x))
FN(fn_cosh, cosh(x))
FN(fn_asinh, asinh(x))
FN(fn_acosh, acosh(x))
FN(fn_atanh, atanh(x))
FN(fn_erf, erf(x))
FN(fn_erfc, erfc(x))
FN(fn_erfinv, unary_erfinv(x))
FN(fn_lgamma, lgamma(x))
FN(fn_digamma, unary_digamma(x))
FN(fn_not, x == 0)
FN(fn_isnan, isnan(x))
FN(fn_isfinite, isfinite(x))

#define PLAIN(op, fn) \
    { \
        CLV_OP_##op, fn, CLV_A_OTHER, CLV_A_OTHER \
    }
#define WITH(op, fn, a, b) \
    { \
        CLV_OP_##op, fn, CLV_A_##a, CLV_A_##b \
    }

static const unary_row unary[] = {
    PLAIN(RELU, fn_relu),
    PLAIN(RELU6, fn_relu6),
    WITH(LEAKY_RELU, fn_leaky, ALPHA, OTHER),
    WITH(RRELU, fn_rrelu, MIN, MAX),
    WITH(ELU, fn_elu, ALPHA, OTHER),
    WITH(SELU, fn_selu, ALPHA, GAMMA),
    WITH(CELU, fn_celu, ALPHA, OTHER),
    PLAIN(GELU, fn_gelu),
    WITH(SILU, fn_silu, ALPHA, OTHER),
    PLAIN(MISH, fn_mish),
    PLAIN(SIGMOID, fn_sigmoid),
    PLAIN(LOGSIGMOID, fn_logsigmoid),
    PLAIN(TANH, fn_tanh),
    WITH(HARDTANH, fn_hardtanh, MIN, MAX),
    WITH(HARDSIGMOID, fn_hardsigmoid, ALPHA, BETA),
    PLAIN(HARDSWISH, fn_hardswish),
    WITH(SOFTPLUS, fn_softplus, BETA, THRESHOLD),
    PLAIN(SOFTSIGN, fn_softsign),
    WITH(THRESHOLD, fn_threshold, THRESHOLD, VALUE),
    WITH(HARDSHRINK, fn_hardshrink, LAMBD, OTHER),
    WITH(SOFTSHRINK, fn_softshrink, LAMBD, OTHER),
    PLAIN(TANHSHRINK, fn_tanhshrink),
    WITH(SHRINK, fn_shrink, LAMBD, SHIFT),
    PLAIN(NEG, fn_neg),
    PLAIN(ABS, fn_abs),
    PLAIN(SIGN, fn_sign),
    PLAIN(FLOOR, fn_floor),
    PLAIN(CEIL, fn_ceil),
    PLAIN(ROUND, fn_round),
    PLAIN(TRUNC, fn_trunc),
    PLAIN(SQUARE, fn_square),
    PLAIN(RECIPROCAL, fn_reciprocal),
    PLAIN(SQRT, fn_sqrt),
    PLAIN(RSQRT, fn_rsqrt),
    PLAIN(EXP, fn_exp),
    PLAIN(EXP2, fn_exp2),
    PLAIN(EXPM1, fn_expm1),
    PLAIN(LOG, fn_log),
    PLAIN(LOG2, fn_log2),
    PLAIN(LOG10, fn_log10),
    PLAIN(LOG1P, fn_log1p),
    PLAIN(SIN, fn_sin),
    PLAIN(COS, fn_cos),
    PLAIN(TAN, fn_tan),
    PLAIN(ASIN, fn_asin),
    PLAIN(ACOS, fn_acos),
    PLAIN(ATAN, fn_atan),
    PLAIN(SINH, fn_sinh),
    PLAIN(COSH, fn_cosh),
    PLAIN(ASINH, fn_asinh),
    PLAIN(ACOSH, fn_acosh),
    PLAIN(ATANH, fn_atanh),
    PLAIN(ERF, fn_erf),
    PLAIN(ERFINV, fn_erfinv),
    PLAIN(LGAMMA, fn_lgamma),
    PLAIN(DIGAMMA, fn_digamma),
    PLAIN(ERFC, fn_erfc),
    PLAIN(LOGICAL_NOT, fn_not),
    PLAIN(ISNAN, fn_isnan),
    PLAIN(ISFINITE, fn_isfinite),
};

/* -- integers -------------------------------------------------------------*/

typedef int64_t whole_fn(int64_t x);

#define WHOLE(name, expr) \
    static int64_t name(int64_t x) \
    { \
        return expr; \
    }

WHOLE(whole_same, x)
WHOLE(whole_neg, (int64_t)(0 - (uint64_t)x))
WHOLE(whole_abs, x < 0 ? whole_neg(x) : x)
WHOLE(whole_sign, (x > 0) - (x < 0))
WHOLE(whole_true, x != 0)
WHOLE(whole_not, x == 0)
WHOLE(whole_relu, x > 0 ? x : 0)
WHOLE(whole_relu6, x<0 ? 0 : x> 6 ? 6 : x)
WHOLE(whole_least6, (uint64_t)x > 6 ? 6 : x)
WHOLE(whole_square, (int64_t)((uint64_t)x *(uint64_t)x))

/* What integers become, and the bits of uint64 numbers. */
static const struct whole_row {
    clv_op op;
    whole_fn *i, *u;
} whole_rows[] = {
    {CLV_OP_NEG, whole_neg, whole_neg},
    {CLV_OP_ABS, whole_abs, whole_same},
    {CLV_OP_SIGN, whole_sign, whole_true},
    {CLV_OP_RELU, whole_relu, whole_same},
    {CLV_OP_RELU6, whole_relu6, whole_least6},
    {CLV_OP_SQUARE, whole_square, whole_square},
    {CLV_OP_FLOOR, whole_same, whole_same},
    {CLV_OP_CEIL, whole_same, whole_same},
    {CLV_OP_ROUND, whole_same, whole_same},
    {CLV_OP_TRUNC, whole_same, whole_same},
    {CLV_OP_LOGICAL_NOT, whole_not, whole_not},
};

/* The function of integers that a node applies; NULL: none, or not to them. */
static whole_fn *whole_version(const kernel *k)
{
    clv_dtype t = k->in[0]->dtype;
    if (!dtype_is_integral(t) || !dtype_is_integral(k->out[0].dtype))
        return NULL;
    for (size_t i = 0; i < sizeof whole_rows / sizeof *whole_rows; i++)
        if (whole_rows[i].op == k->n->op)
            return t == CLV_UINT64 ? whole_rows[i].u : whole_rows[i].i;
    return NULL;
}

/* -- kernels --------------------------------------------------------------*/

static double unary_tanh_gelu(double x, params p)
{
    (void)p;
    return 0.5 * x *
           (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static double unary_param(const clv_node *n, clv_attr_key key)
{
    return key == CLV_A_OTHER ? 0 : attr_float(n, key);
}

/* y[i] = v. What a function left as it was is copied, as an integer may be more
 * than a double holds. */
static void put_result(const kernel *k, int64_t i, double v)
{
    const clv_tensor *x = k->in[0];
    if (!is_float(x->dtype) && v == get_f(x, i))
        copy_run(&k->out[0], i, x, i, 1);
    else
        put_f(&k->out[0], i, v);
}

clv_status kernel_unary(kernel *k)
{
    const unary_row *row = unary;
    while (row->op != k->n->op)
        row++;
    unary_fn *fn = row->fn;
    if (row->op == CLV_OP_GELU && attr_is(k->n, CLV_A_APPROXIMATE, "tanh"))
        fn = unary_tanh_gelu;
    params p = {unary_param(k->n, row->key_a), unary_param(k->n, row->key_b)};
    int64_t n = numel(&k->out[0]);
    whole_fn *whole = whole_version(k);
    for (int64_t i = 0; i < n; i++)
        if (whole)
            put_i(&k->out[0], i, whole(get_i(k->in[0], i)));
        else
            put_result(k, i, fn(get_f(k->in[0], i), p));
    return CLV_OK;
}

clv_status kernel_bitwise_not(kernel *k)
{
    bool truth = k->in[0]->dtype == CLV_BOOL;
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++) {
        int64_t v = get_i(k->in[0], i);
        put_i(&k->out[0], i, truth ? !v : ~v);
    }
    return CLV_OK;
}

/* A positive number as the power of two that `how` names: the next one up or
 * down. "nearest" leaves it to the type. */
static double power_of_two(double x, const char *how)
{
    int e;
    if (!(x > 0) || isinf(x) || *how == 'n')
        return x;
    bool is_power = frexp(x, &e) == 0.5;
    return is_power ? x : ldexp(1, *how == 'u' ? e : e - 1);
}

/* To a float of 8 bits: what lies beyond its range may become NaN. */
static clv_status cast_float8(const kernel *k)
{
    clv_tensor *y = &k->out[0];
    bool saturate = attr_int(k->n, CLV_A_SATURATE) != 0;
    bool powers = y->dtype == CLV_FLOAT8E8M0;
    const char *how = powers ? attr_str(k->n, CLV_A_ROUNDING) : "nearest";
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++)
        put_float8(y, i, power_of_two(get_f(k->in[0], i), how), saturate);
    return CLV_OK;
}

clv_status kernel_cast(kernel *k)
{
    if (is_float8(k->out[0].dtype) && k->in[0]->dtype != k->out[0].dtype)
        return cast_float8(k);
    copy_run(&k->out[0], 0, k->in[0], 0, numel(&k->out[0]));
    return CLV_OK;
}

clv_status kernel_isinf(kernel *k)
{
    bool plus = attr_int(k->n, CLV_A_DETECT_POSITIVE) != 0;
    bool minus = attr_int(k->n, CLV_A_DETECT_NEGATIVE) != 0;
    for (int64_t i = 0, n = numel(k->in[0]); i < n && clv__in_time(1); i++) {
        double v = get_f(k->in[0], i);
        put_i(&k->out[0], i, isinf(v) && (v > 0 ? plus : minus));
    }
    return CLV_OK;
}

/* Whether a bound replaces v: it lies beyond it, or is a NaN. */
static bool clamp_takes(element v, element bound, bool low)
{
    bool beyond = low ? less_than(v, bound) : less_than(bound, v);
    return beyond || (is_float(bound.t->dtype) && !isnan(get_f(v.t, v.i)) &&
                      isnan(get_f(bound.t, bound.i)));
}

/* Limits as attributes or inputs 1 and 2; x and both are broadcast. */
clv_status kernel_clamp(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t sx[CLV_MAX_RANK], sl[CLV_MAX_RANK], sh[CLV_MAX_RANK];
    int64_t idx[CLV_MAX_RANK] = {0};
    scalar_arg low, high;
    bool has_low = scalar_at(k, CLV_A_MIN, 1, &low);
    bool has_high = scalar_at(k, CLV_A_MAX, 2, &high);
    broadcast_strides(x, y->rank, sx);
    broadcast_strides(&low.t, y->rank, sl);
    broadcast_strides(&high.t, y->rank, sh);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        element v = {x, offset_of(idx, sx, y->rank)};
        element l = {&low.t, offset_of(idx, sl, y->rank)};
        element h = {&high.t, offset_of(idx, sh, y->rank)};
        if (has_low && clamp_takes(v, l, true))
            v = l;
        if (has_high && clamp_takes(v, h, false))
            v = h;
        copy_run(y, i, v.t, v.i, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* A slope for each index of an axis, or slopes that are broadcast. */
clv_status kernel_prelu(kernel *k)
{
    const clv_tensor *x = k->in[0], *slope = k->in[1];
    int64_t strides[CLV_MAX_RANK] = {0}, idx[CLV_MAX_RANK] = {0};
    if (attr_get(k->n, CLV_A_AXIS) && numel(slope) != 1) {
        uint32_t axis;
        CLV_TRY(axis_of(k, &axis));
        strides[axis] = 1;
    } else {
        broadcast_strides(slope, x->rank, strides);
    }
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        element v = {x, i};
        element a = {slope, offset_of(idx, strides, x->rank)};
        if (get_f(x, i) < 0)
            put_arith(clv__arith(CLV_OP_MUL), &k->out[0], i, a, v);
        else
            copy_run(&k->out[0], i, x, i, 1);
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

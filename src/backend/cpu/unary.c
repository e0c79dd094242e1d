/* unary.c - functions of one number, a row each. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

#include <string.h>

typedef void unary_loop(const float *x, float *y, int64_t n, float a, float b);

#define LOOP(name, expr) \
    static void loop_##name(const float *restrict in, float *restrict out, \
                            int64_t n, float a, float b) \
    { \
        (void)a; \
        (void)b; \
        for (int64_t i = 0; i < n; i++) { \
            float x = in[i]; \
            out[i] = expr; \
        } \
    }

static inline float cpu_clip(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static inline float unary_softplus(float x)
{
    return (x > 0 ? x : 0) + v_log1p(v_exp(-fabsf(x)));
}

LOOP(relu, x < 0 ? 0 : x)
LOOP(relu6, cpu_clip(x, 0, 6))
LOOP(leaky, x >= 0 ? x : a * x)
LOOP(elu, x > 0 ? x : a * v_expm1(x))
LOOP(celu, x > 0 ? x : a * v_expm1(x / a))
LOOP(selu, b *(x > 0 ? x : a * v_expm1(x)))
LOOP(gelu, 0.5f * x * (1 + v_erf(x * 0.707106781f)))
LOOP(gelu_tanh,
     0.5f * x * (1 + v_tanh(0.797884561f * (x + 0.044715f * x * x * x))))
LOOP(silu, x *v_sigmoid(a *x))
LOOP(mish, x *v_tanh(unary_softplus(x)))
LOOP(sigmoid, v_sigmoid(x))
LOOP(tanh, v_tanh(x))
LOOP(hardtanh, cpu_clip(x, a, b))
LOOP(hardsigmoid, cpu_clip(a *x + b, 0, 1))
LOOP(hardswish, x *cpu_clip(x / 6 + 0.5f, 0, 1))
LOOP(softplus, a *x > b ? x : unary_softplus(a * x) / a)
LOOP(softsign, x / (1 + fabsf(x)))
LOOP(neg, -x)
LOOP(abs, fabsf(x))
LOOP(floor, floorf(x))
LOOP(ceil, ceilf(x))
LOOP(round, nearbyintf(x))
LOOP(trunc, truncf(x))
LOOP(square, x *x)
LOOP(reciprocal, 1 / x)
LOOP(sqrt, sqrtf(x))
LOOP(rsqrt, 1 / sqrtf(x))
LOOP(exp, v_exp(x))
LOOP(log, v_log(x))
LOOP(log1p, v_log1p(x))
LOOP(sin_small, v_sine(x, 0))
LOOP(cos_small, v_sine(x, 1))
LOOP(sin_any, sinf(x))
LOOP(cos_any, cosf(x))
LOOP(atan, v_atan(x))
LOOP(erf, v_erf(x))
LOOP(erfc, erfcf(x))
LOOP(exp2, exp2f(x))
LOOP(expm1, v_expm1(x))
LOOP(log2, log2f(x))
LOOP(log10, log10f(x))
LOOP(tan, tanf(x))
LOOP(sinh, sinhf(x))
LOOP(cosh, coshf(x))
LOOP(asin, asinf(x))
LOOP(acos, acosf(x))
LOOP(asinh, asinhf(x))
LOOP(acosh, acoshf(x))
LOOP(atanh, atanhf(x))
LOOP(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)

enum { TURNS = 256 }; /* angles that are looked at together */

/* Angles go by `small` where none of a block is too large for it. */
static void loop_turns(unary_loop *small, unary_loop *any, const float *x,
                       float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += TURNS) {
        int64_t w = n - i < TURNS ? n - i : TURNS;
        int fit = 1;
        for (int64_t c = 0; c < w; c++)
            fit &= v_turns(x[i + c]);
        (fit ? small : any)(x + i, y + i, w, 0, 0);
    }
}

static void loop_sin(const float *x, float *y, int64_t n, float a, float b)
{
    (void)a;
    (void)b;
    loop_turns(loop_sin_small, loop_sin_any, x, y, n);
}

static void loop_cos(const float *x, float *y, int64_t n, float a, float b)
{
    (void)a;
    (void)b;
    loop_turns(loop_cos_small, loop_cos_any, x, y, n);
}

static const struct unary_row {
    clv_op op;
    unary_loop *loop;
    clv_attr_key key_a, key_b; /* CLV_A_OTHER: none */
} unary_rows[] = {
#define ROW(op, name, a, b) \
    { \
        CLV_OP_##op, loop_##name, CLV_A_##a, CLV_A_##b \
    }
    ROW(RELU, relu, OTHER, OTHER),
    ROW(RELU6, relu6, OTHER, OTHER),
    ROW(LEAKY_RELU, leaky, ALPHA, OTHER),
    ROW(ELU, elu, ALPHA, OTHER),
    ROW(CELU, celu, ALPHA, OTHER),
    ROW(SELU, selu, ALPHA, GAMMA),
    ROW(GELU, gelu, OTHER, OTHER),
    ROW(SILU, silu, ALPHA, OTHER),
    ROW(MISH, mish, OTHER, OTHER),
    ROW(SIGMOID, sigmoid, OTHER, OTHER),
    ROW(TANH, tanh, OTHER, OTHER),
    ROW(HARDTANH, hardtanh, MIN, MAX),
    ROW(HARDSIGMOID, hardsigmoid, ALPHA, BETA),
    ROW(HARDSWISH, hardswish, OTHER, OTHER),
    ROW(SOFTPLUS, softplus, BETA, THRESHOLD),
    ROW(SOFTSIGN, softsign, OTHER, OTHER),
    ROW(NEG, neg, OTHER, OTHER),
    ROW(ABS, abs, OTHER, OTHER),
    ROW(FLOOR, floor, OTHER, OTHER),
    ROW(CEIL, ceil, OTHER, OTHER),
    ROW(ROUND, round, OTHER, OTHER),
    ROW(TRUNC, trunc, OTHER, OTHER),
    ROW(SQUARE, square, OTHER, OTHER),
    ROW(RECIPROCAL, reciprocal, OTHER, OTHER),
    ROW(SQRT, sqrt, OTHER, OTHER),
    ROW(RSQRT, rsqrt, OTHER, OTHER),
    ROW(EXP, exp, OTHER, OTHER),
    ROW(LOG, log, OTHER, OTHER),
    ROW(LOG1P, log1p, OTHER, OTHER),
    ROW(SIN, sin, OTHER, OTHER),
    ROW(COS, cos, OTHER, OTHER),
    ROW(ATAN, atan, OTHER, OTHER),
    ROW(ERF, erf, OTHER, OTHER),
    ROW(ERFC, erfc, OTHER, OTHER),
    ROW(EXP2, exp2, OTHER, OTHER),
    ROW(EXPM1, expm1, OTHER, OTHER),
    ROW(LOG2, log2, OTHER, OTHER),
    ROW(LOG10, log10, OTHER, OTHER),
    ROW(TAN, tan, OTHER, OTHER),
    ROW(SINH, sinh, OTHER, OTHER),
    ROW(COSH, cosh, OTHER, OTHER),
    ROW(ASIN, asin, OTHER, OTHER),
    ROW(ACOS, acos, OTHER, OTHER),
    ROW(ASINH, asinh, OTHER, OTHER),
    ROW(ACOSH, acosh, OTHER, OTHER),
    ROW(ATANH, atanh, OTHER, OTHER),
    ROW(SIGN, sign, OTHER, OTHER),
#undef ROW
};

typedef struct unary_job {
    unary_loop *loop;
    const float *x;
    float *y, a, b;
} unary_job;

static void unary_part(void *ctx, int64_t from, int64_t to)
{
    const unary_job *j = ctx;
    j->loop(j->x + from, j->y + from, to - from, j->a, j->b);
}

static float unary_number(const clv_node *n, clv_attr_key key)
{
    return key == CLV_A_OTHER ? 0 : (float)attr_float(n, key);
}

/* -- of other types -------------------------------------------------------*/

typedef void typed_loop(const void *x, void *y, int64_t n, double a, double b);

#define TYPED(name, T, expr) \
    static void typed_##name(const void *in, void *out, int64_t n, double a, \
                             double b) \
    { \
        const T *restrict from = in; \
        T *restrict to = out; \
        (void)a; \
        (void)b; \
        for (int64_t i = 0; i < n; i++) { \
            T x = from[i]; \
            to[i] = (T)(expr); \
        } \
    }

TYPED(f64_relu, double, x < 0 ? 0 : x)
TYPED(f64_leaky, double, x >= 0 ? x : a * x)
TYPED(f64_elu, double, x > 0 ? x : a * expm1(x))
TYPED(f64_sigmoid, double, 1 / (1 + exp(-x)))
TYPED(f64_tanh, double, tanh(x))
TYPED(f64_neg, double, -x)
TYPED(f64_abs, double, fabs(x))
TYPED(f64_sign, double, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
TYPED(f64_floor, double, floor(x))
TYPED(f64_ceil, double, ceil(x))
TYPED(f64_round, double, nearbyint(x))
TYPED(f64_square, double, x *x)
TYPED(f64_reciprocal, double, 1 / x)
TYPED(f64_sqrt, double, sqrt(x))
TYPED(f64_exp, double, exp(x))
TYPED(f64_log, double, log(x))
TYPED(f64_sin, double, sin(x))
TYPED(f64_cos, double, cos(x))
TYPED(f64_erf, double, erf(x))

/* Integers wrap, so they are negated without a sign. */
#define WHOLES(suffix, T, U) \
    TYPED(suffix##_relu, T, x < 0 ? 0 : x) \
    TYPED(suffix##_neg, T, (U)0 - (U)x) \
    TYPED(suffix##_abs, T, x < 0 ? (U)0 - (U)x : (U)x) \
    TYPED(suffix##_sign, T, (x > 0) - (x < 0))
WHOLES(i64, int64_t, uint64_t)
WHOLES(i32, int32_t, uint32_t)
WHOLES(i8, int8_t, uint32_t)

static const struct typed_row {
    clv_op op;
    clv_dtype type;
    typed_loop *loop;
} typed_rows[] = {
#define ROW(op, type, name) \
    { \
        CLV_OP_##op, CLV_##type, typed_##name \
    }
#define WHOLE_ROWS(type, suffix) \
    ROW(RELU, type, suffix##_relu), ROW(NEG, type, suffix##_neg), \
        ROW(ABS, type, suffix##_abs), ROW(SIGN, type, suffix##_sign)
    WHOLE_ROWS(FLOAT64, f64),
    ROW(LEAKY_RELU, FLOAT64, f64_leaky),
    ROW(ELU, FLOAT64, f64_elu),
    ROW(SIGMOID, FLOAT64, f64_sigmoid),
    ROW(TANH, FLOAT64, f64_tanh),
    ROW(FLOOR, FLOAT64, f64_floor),
    ROW(CEIL, FLOAT64, f64_ceil),
    ROW(ROUND, FLOAT64, f64_round),
    ROW(SQUARE, FLOAT64, f64_square),
    ROW(RECIPROCAL, FLOAT64, f64_reciprocal),
    ROW(SQRT, FLOAT64, f64_sqrt),
    ROW(EXP, FLOAT64, f64_exp),
    ROW(LOG, FLOAT64, f64_log),
    ROW(SIN, FLOAT64, f64_sin),
    ROW(COS, FLOAT64, f64_cos),
    ROW(ERF, FLOAT64, f64_erf),
    WHOLE_ROWS(INT64, i64),
    WHOLE_ROWS(INT32, i32),
    WHOLE_ROWS(INT8, i8),
#undef ROW
};

typedef struct typed_job {
    typed_loop *loop;
    const char *x;
    char *y;
    int64_t size;
    double a, b;
} typed_job;

static void typed_part(void *ctx, int64_t from, int64_t to)
{
    const typed_job *j = ctx;
    j->loop(j->x + from * j->size, j->y + from * j->size, to - from, j->a,
            j->b);
}

static double unary_exact(const clv_node *n, clv_attr_key key)
{
    return key == CLV_A_OTHER ? 0 : attr_float(n, key);
}

static bool unary_typed(kernel *k, const struct unary_row *row)
{
    const clv_tensor *x = k->in[0];
    typed_job j = {.x = x->data,
                   .y = k->out[0].data,
                   .size = (int64_t)clv__element_bytes(x),
                   .a = unary_exact(k->n, row->key_a),
                   .b = unary_exact(k->n, row->key_b)};
    for (size_t i = 0; i < sizeof typed_rows / sizeof *typed_rows; i++)
        if (typed_rows[i].op == row->op && typed_rows[i].type == x->dtype)
            j.loop = typed_rows[i].loop;
    if (!j.loop || k->out[0].dtype != x->dtype || numel(&k->out[0]) != numel(x))
        return false;
    clv__parallel(k->threads, numel(x), CPU_GRAIN, typed_part, &j);
    return true;
}

bool CPU_NAME(cpu_unary)(kernel *k)
{
    const struct unary_row *row = unary_rows;
    while (row->op != k->n->op)
        row++;
    if (!all_float32(k))
        return unary_typed(k, row);
    unary_job j = {row->loop, k->in[0]->data, k->out[0].data,
                   unary_number(k->n, row->key_a),
                   unary_number(k->n, row->key_b)};
    if (row->op == CLV_OP_GELU && attr_is(k->n, CLV_A_APPROXIMATE, "tanh"))
        j.loop = loop_gelu_tanh;
    clv__parallel(k->threads, numel(&k->out[0]), CPU_GRAIN, unary_part, &j);
    return true;
}

/* -- questions ------------------------------------------------------------*/

typedef struct ask_job {
    const void *x;
    uint8_t *y;
} ask_job;

#define ASK(name, T, expr) \
    static void ask_##name(void *ctx, int64_t from, int64_t to) \
    { \
        const ask_job *j = ctx; \
        for (int64_t i = from; i < to; i++) { \
            T x = ((const T *)j->x)[i]; \
            j->y[i] = expr; \
        } \
    }
ASK(nan, float, x != x)
ASK(finite, float, x - x == 0)
ASK(not, uint8_t, !x)

/* isnan, isfinite, logical_not */
bool CPU_NAME(cpu_ask)(kernel *k)
{
    clv_op op = (clv_op)k->n->op;
    ask_job j = {k->in[0]->data, k->out[0].data};
    if (k->in[0]->dtype !=
            (op == CLV_OP_LOGICAL_NOT ? CLV_BOOL : CLV_FLOAT32) ||
        k->out[0].dtype != CLV_BOOL || numel(k->in[0]) != numel(&k->out[0]))
        return false;
    clv__parallel(k->threads, numel(k->in[0]), CPU_GRAIN,
                  op == CLV_OP_LOGICAL_NOT ? ask_not
                  : op == CLV_OP_ISNAN     ? ask_nan
                                           : ask_finite,
                  &j);
    return true;
}

/* -- limits ---------------------------------------------------------------*/

/* Of float64 and integers, whose limits are of the same type. */
#define CLAMP(name, T) \
    static void clamp_##name(const void *in, void *out, int64_t n, \
                             const void *low, const void *high) \
    { \
        const T *restrict from = in; \
        T *restrict to = out, lo, hi; \
        memcpy(&lo, low, sizeof lo); \
        memcpy(&hi, high, sizeof hi); \
        for (int64_t i = 0; i < n; i++) { \
            T x = from[i]; \
            x = x < lo ? lo : x; \
            to[i] = x > hi ? hi : x; \
        } \
    }
CLAMP(f64, double)
CLAMP(i64, int64_t)
CLAMP(i32, int32_t)
CLAMP(i8, int8_t)
CLAMP(u8, uint8_t)

typedef void clamp_loop(const void *x, void *y, int64_t n, const void *low,
                        const void *high);

typedef struct clamp_job {
    clamp_loop *loop;
    const char *x, *low, *high;
    char *y;
    int64_t size;
} clamp_job;

static void clamp_part(void *ctx, int64_t from, int64_t to)
{
    const clamp_job *j = ctx;
    j->loop(j->x + from * j->size, j->y + from * j->size, to - from, j->low,
            j->high);
}

static bool clamp_typed(kernel *k, const clv_tensor *low,
                        const clv_tensor *high)
{
    const clv_tensor *x = k->in[0];
    clv_dtype t = x->dtype;
    clamp_job j = {.loop = t == CLV_FLOAT64 ? clamp_f64
                           : t == CLV_INT64 ? clamp_i64
                           : t == CLV_INT32 ? clamp_i32
                           : t == CLV_INT8  ? clamp_i8
                           : t == CLV_UINT8 ? clamp_u8
                                            : NULL,
                   .x = x->data,
                   .low = low->data,
                   .high = high->data,
                   .y = k->out[0].data,
                   .size = (int64_t)clv__element_bytes(x)};
    if (!j.loop || k->out[0].dtype != t || low->dtype != t ||
        high->dtype != t || numel(x) != numel(&k->out[0]) || numel(low) != 1 ||
        numel(high) != 1 || get_f(low, 0) != get_f(low, 0) ||
        get_f(high, 0) != get_f(high, 0))
        return false;
    clv__parallel(k->threads, numel(x), CPU_GRAIN, clamp_part, &j);
    return true;
}

bool CPU_NAME(cpu_clamp)(kernel *k)
{
    scalar_arg low, high;
    bool has_low = scalar_at(k, CLV_A_MIN, 1, &low);
    bool has_high = scalar_at(k, CLV_A_MAX, 2, &high);
    const clv_tensor *x = k->in[0];
    if (has_low && has_high && clamp_typed(k, &low.t, &high.t))
        return true;
    unary_job j = {loop_hardtanh, x->data, k->out[0].data, -INFINITY, INFINITY};
    if (has_low)
        j.a = (float)get_f(&low.t, 0);
    if (has_high)
        j.b = (float)get_f(&high.t, 0);
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_FLOAT32 ||
        numel(x) != numel(&k->out[0]) || numel(&low.t) != 1 ||
        numel(&high.t) != 1 || j.a != j.a || j.b != j.b)
        return false;
    clv__parallel(k->threads, numel(x), CPU_GRAIN, unary_part, &j);
    return true;
}

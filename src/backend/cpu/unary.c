/* unary.c - functions of one float, a row each. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

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

bool CPU_NAME(cpu_unary)(kernel *k)
{
    const struct unary_row *row = unary_rows;
    if (!all_float32(k))
        return false;
    while (row->op != k->n->op)
        row++;
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

bool CPU_NAME(cpu_clamp)(kernel *k)
{
    scalar_arg low, high;
    bool has_low = scalar_at(k, CLV_A_MIN, 1, &low);
    bool has_high = scalar_at(k, CLV_A_MAX, 2, &high);
    const clv_tensor *x = k->in[0];
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

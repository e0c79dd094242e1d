/* arith.c - functions of two numbers, for folding and for the kernels: one row
 * with a version for floating types, one for integers, and one for uint64 where
 * that differs. */
#include "ops/arith.h"

#include <math.h>

#define F2(name, expr) \
    static double name(double a, double b) \
    { \
        return expr; \
    }
#define U2(name, expr) \
    static int64_t name(int64_t x, int64_t y) \
    { \
        uint64_t a = (uint64_t)x, b = (uint64_t)y; \
        return (int64_t)(expr); \
    }
#define I2(name, expr) \
    static int64_t name(int64_t a, int64_t b) \
    { \
        return expr; \
    }

/* Integer arithmetic wraps; division by zero gives zero. */
static int64_t arith_negated(int64_t a)
{
    return (int64_t)(0 - (uint64_t)a);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return arith_negated(a);
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t trunc_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? arith_negated(a) : a / b;
}

static int64_t trunc_mod(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* a to the b-th, whose bits are those of an unsigned number. */
static int64_t u_pow(int64_t a, int64_t b)
{
    uint64_t r = 1, x = (uint64_t)a;
    for (uint64_t n = (uint64_t)b; n; n >>= 1, x *= x)
        if (n & 1)
            r *= x;
    return (int64_t)r;
}

static int64_t int_pow(int64_t a, int64_t b)
{
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    return u_pow(a, b);
}

static double floor_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double arith_larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double arith_smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

F2(f_add, a + b)
F2(f_sub, a - b)
F2(f_mul, a *b)
F2(f_div, a / b)
F2(f_floor_div, floor(a / b))
F2(f_pow, pow(a, b))
F2(f_eq, a == b)
F2(f_ne, a != b)
F2(f_lt, a < b)
F2(f_le, a <= b)
F2(f_gt, a > b)
F2(f_ge, a >= b)
F2(f_and, a != 0 && b != 0)
F2(f_or, a != 0 || b != 0)
F2(f_xor, (a != 0) != (b != 0))
I2(i_add, (int64_t)((uint64_t)a + (uint64_t)b))
I2(i_sub, (int64_t)((uint64_t)a - (uint64_t)b))
I2(i_mul, (int64_t)((uint64_t)a *(uint64_t)b))
I2(i_mod, (int64_t)((uint64_t)a - (uint64_t)floor_div(a, b) * (uint64_t)b))
I2(i_max, a > b ? a : b)
I2(i_min, a < b ? a : b)
I2(i_eq, a == b)
I2(i_ne, a != b)
I2(i_lt, a < b)
I2(i_le, a <= b)
I2(i_gt, a > b)
I2(i_ge, a >= b)
I2(i_and, a &b)
I2(i_or, a | b)
I2(i_xor, a ^ b)
I2(i_land, a &&b)
I2(i_lor, a || b)
I2(i_lxor, !a != !b)
I2(i_shl, b<0 || b> 63 ? 0 : (int64_t)((uint64_t)a << b))
I2(i_shr, a >> (b < 0 || b > 63 ? 63 : b))
U2(u_div, b ? a / b : 0)
U2(u_mod, b ? a % b : 0)
U2(u_max, a > b ? a : b)
U2(u_min, a < b ? a : b)
U2(u_lt, a < b)
U2(u_le, a <= b)
U2(u_gt, a > b)
U2(u_ge, a >= b)
U2(u_shr, b > 63 ? 0 : a >> b)

static const clv_arith table[CLV_OP_COUNT] = {
    [CLV_OP_ADD] = {f_add, i_add, NULL},
    [CLV_OP_SUB] = {f_sub, i_sub, NULL},
    [CLV_OP_MUL] = {f_mul, i_mul, NULL},
    [CLV_OP_DIV] = {f_div, trunc_div, u_div},
    [CLV_OP_FLOOR_DIVIDE] = {f_floor_div, floor_div, u_div},
    [CLV_OP_REMAINDER] = {floor_mod, i_mod, u_mod},
    [CLV_OP_FMOD] = {fmod, trunc_mod, u_mod},
    [CLV_OP_POW] = {f_pow, int_pow, u_pow},
    [CLV_OP_ATAN2] = {atan2, NULL, NULL},
    [CLV_OP_MAXIMUM] = {arith_larger, i_max, u_max},
    [CLV_OP_MINIMUM] = {arith_smaller, i_min, u_min},
    [CLV_OP_EQ] = {f_eq, i_eq, NULL},
    [CLV_OP_NE] = {f_ne, i_ne, NULL},
    [CLV_OP_LT] = {f_lt, i_lt, u_lt},
    [CLV_OP_LE] = {f_le, i_le, u_le},
    [CLV_OP_GT] = {f_gt, i_gt, u_gt},
    [CLV_OP_GE] = {f_ge, i_ge, u_ge},
    [CLV_OP_LOGICAL_AND] = {f_and, i_land, NULL},
    [CLV_OP_LOGICAL_OR] = {f_or, i_lor, NULL},
    [CLV_OP_LOGICAL_XOR] = {f_xor, i_lxor, NULL},
    [CLV_OP_BITWISE_AND] = {NULL, i_and, NULL},
    [CLV_OP_BITWISE_OR] = {NULL, i_or, NULL},
    [CLV_OP_BITWISE_XOR] = {NULL, i_xor, NULL},
    [CLV_OP_SHIFT_LEFT] = {NULL, i_shl, NULL},
    [CLV_OP_SHIFT_RIGHT] = {NULL, i_shr, u_shr},
};

const clv_arith *clv__arith(clv_op op)
{
    return table[op].f || table[op].i ? &table[op] : NULL;
}

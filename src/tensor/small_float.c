/* small_float.c - floating types of 16, 8 and 4 bits, to and from double.
 *
 * A code is a sign bit, an exponent e and a fraction f of `fraction` bits:
 *
 *     e > 0   (-1)^sign * 2^(e - bias)  * (1 + f / 2^fraction)
 *     e = 0   (-1)^sign * 2^(1 - bias) * f / 2^fraction
 *
 * so that codes without their sign count upwards with the values they stand
 * for, and rounding may carry from the fraction into the exponent. The types
 * differ in what their largest codes mean, which is a column of the table.
 * float8e8m0 is apart: all of its bits are an exponent. */
#include "tensor/small_float.h"

#include <math.h>
#include <string.h>

typedef enum specials {
    IEEE, /* the largest exponent: infinity where the fraction is 0, else NaN */
    LAST, /* the largest code is NaN; no infinity */
    NO_MINUS_ZERO, /* the code of -0 is the only NaN; no infinity */
    FINITE         /* neither */
} specials;

typedef struct small_float {
    uint8_t bits, fraction;
    int16_t bias;
    specials specials;
} small_float;

static const small_float formats[CLV_DTYPE_COUNT] = {
    [CLV_FLOAT16] = {16, 10, 15, IEEE},
    [CLV_BFLOAT16] = {16, 7, 127, IEEE},
    [CLV_FLOAT8E4M3] = {8, 3, 7, LAST},
    [CLV_FLOAT8E4M3UZ] = {8, 3, 8, NO_MINUS_ZERO},
    [CLV_FLOAT8E5M2] = {8, 2, 15, IEEE},
    [CLV_FLOAT8E5M2UZ] = {8, 2, 16, NO_MINUS_ZERO},
    [CLV_FLOAT4E2M1] = {4, 1, 1, FINITE},
};

enum { E8M0_BIAS = 127, E8M0_NAN = 255 };
enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static uint64_t double_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t sign_bit(const small_float *f)
{
    return 1u << (f->bits - 1);
}

/* The code of +infinity, or the one after the largest finite value. */
static uint32_t beyond(const small_float *f)
{
    uint32_t most = sign_bit(f) - 1;
    return f->specials == IEEE   ? most >> f->fraction << f->fraction
           : f->specials == LAST ? most
                                 : most + 1;
}

/* -- from codes -----------------------------------------------------------*/

static double e8m0_decode(uint32_t code)
{
    uint64_t exponent = code + DOUBLE_BIAS - E8M0_BIAS;
    return code == E8M0_NAN ? (double)NAN
                            : double_of(exponent << DOUBLE_FRACTION);
}

static double special_value(const small_float *f, uint32_t code)
{
    return f->specials == IEEE && code == beyond(f) ? (double)INFINITY
                                                    : (double)NAN;
}

double clv__small_decode(clv_dtype t, uint32_t code)
{
    if (t == CLV_FLOAT8E8M0)
        return e8m0_decode(code);
    const small_float *f = &formats[t];
    if (!f->bits)
        return 0;
    uint32_t sign = code & sign_bit(f), plain = code & (sign_bit(f) - 1);
    double x;
    if (f->specials == NO_MINUS_ZERO && sign && !plain)
        return (double)NAN;
    if (plain >= beyond(f)) {
        x = special_value(f, plain);
    } else if (plain >> f->fraction) { /* the same exponent and fraction */
        uint64_t shift = (uint64_t)(DOUBLE_FRACTION - f->fraction);
        uint64_t rebias = (uint64_t)(DOUBLE_BIAS - f->bias) << DOUBLE_FRACTION;
        x = double_of(((uint64_t)plain << shift) + rebias);
    } else {
        int exponent = DOUBLE_BIAS + 1 - f->bias - f->fraction;
        x = plain * double_of((uint64_t)exponent << DOUBLE_FRACTION);
    }
    return sign ? -x : x;
}

/* -- to codes -------------------------------------------------------------*/

/* `x` >> `shift`, rounded to nearest, halves to even. */
static uint64_t round_shift(uint64_t x, int shift)
{
    if (shift > 63)
        return 0;
    uint64_t q = x >> shift, rest = x - (q << shift);
    uint64_t half = UINT64_C(1) << (shift - 1);
    return q + (rest > half || (rest == half && (q & 1)));
}

/* The nearest power of two, the larger of two as near. A negative number has
 * none; zero has one only by saturation. */
static uint32_t e8m0_encode(double x, bool saturate)
{
    uint64_t u = double_bits(x) & (UINT64_MAX >> 1);
    if (isnan(x) || x < 0 || (!saturate && (x == 0 || isinf(x))))
        return E8M0_NAN;
    uint64_t half = UINT64_C(1) << (DOUBLE_FRACTION - 1);
    int64_t e = (int64_t)((u + half) >> DOUBLE_FRACTION);
    e += E8M0_BIAS - DOUBLE_BIAS;
    if (e >= E8M0_NAN)
        return saturate ? E8M0_NAN - 1 : E8M0_NAN;
    return e < 0 ? 0 : (uint32_t)e;
}

static uint32_t nan_code(const small_float *f, uint32_t sign)
{
    switch (f->specials) {
    case IEEE: /* a quiet one */
        return sign | beyond(f) | 1u << (f->fraction - 1);
    case LAST:
        return sign | beyond(f);
    default:
        return sign_bit(f);
    }
}

/* The code of a magnitude, whose bits are u; may be `beyond` or more. */
static uint64_t magnitude_code(const small_float *f, uint64_t u)
{
    uint64_t one = UINT64_C(1) << DOUBLE_FRACTION;
    int e = (int)(u >> DOUBLE_FRACTION) - DOUBLE_BIAS;
    int least = 1 - f->bias; /* exponent of the smallest normal number */
    int shift = DOUBLE_FRACTION - f->fraction + (e < least ? least - e : 0);
    uint64_t q = round_shift((u & (one - 1)) | one, shift);
    return e > least ? q + ((uint64_t)(e - least) << f->fraction) : q;
}

uint32_t clv__small_encode(clv_dtype t, double x, bool saturate)
{
    if (t == CLV_FLOAT8E8M0)
        return e8m0_encode(x, saturate);
    const small_float *f = &formats[t];
    if (!f->bits)
        return 0;
    uint64_t u = double_bits(x);
    uint32_t sign = u >> 63 ? sign_bit(f) : 0;
    if (isnan(x))
        return nan_code(f, sign);
    uint64_t code = magnitude_code(f, u & (UINT64_MAX >> 1));
    if (code >= beyond(f)) {
        if (saturate || f->specials == FINITE)
            return sign | (beyond(f) - 1);
        return f->specials == IEEE ? sign | beyond(f) : nan_code(f, sign);
    }
    bool minus_zero = code == 0 && f->specials == NO_MINUS_ZERO;
    return minus_zero ? 0 : sign | (uint32_t)code;
}

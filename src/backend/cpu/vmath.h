/* vmath.h - functions of one float that the compiler can vectorise: no calls,
 * no branches but choices between two results. Errors are below 3 units in the
 * last place of the result, or of 1 where the result is a probability. NaN and
 * infinities come out as the C library's do. */
#ifndef CLV_VMATH_H
#define CLV_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float v_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t v_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2 to the n-th, n from -126 to 127. */
static inline float v_power(int32_t n)
{
    return v_from_bits((uint32_t)(n + 127) << 23);
}

/* e^x: x = n ln 2 + r, a polynomial of r, and 2^n in two steps so that results
 * may be subnormal or infinite. */
static inline float v_exp(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c;
    float t = c * 1.44269504f + shift;
    float n = t - shift;
    int32_t whole = (int32_t)(v_bits(t) - v_bits(shift));
    whole = whole < -200 ? -200 : whole > 200 ? 200 : whole; /* NaN */
    float r = c - n * 0.693145752f;
    r -= n * 1.42860677e-6f;
    float p = 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    int32_t half = whole >> 1;
    return p * v_power(half) * v_power(whole - half);
}

/* e^x - 1: near zero the polynomial of v_exp without its 1. */
static inline float v_expm1(float x)
{
    float p = 1.9841270e-4f, e = v_exp(x) - 1.0f;
    p = p * x + 1.3888889e-3f;
    p = p * x + 8.3333333e-3f;
    p = p * x + 4.1666667e-2f;
    p = p * x + 1.6666667e-1f;
    p = p * x + 0.5f;
    p = p * x * x + x;
    return fabsf(x) < 0.35f ? p : e;
}

/* The integer nearest to x, the even one of two, within bounds that are whole
 * and below 2^22. NaN is the lower bound. */
static inline int32_t v_nearest(float x, float low, float high)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 */
    float c = x > low ? x : low;
    c = c < high ? c : high;
    return (int32_t)(v_bits(c + shift) - v_bits(shift));
}

static inline float v_sigmoid(float x)
{
    return 1.0f / (1.0f + v_exp(-x));
}

/* Near zero an odd polynomial, elsewhere by e^2x. */
static inline float v_tanh(float x)
{
    float a = fabsf(x), s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    float near = p * s * x + x;
    float far = 1.0f - 2.0f / (v_exp(2.0f * a) + 1.0f);
    far = copysignf(far, x);
    float y = a < 0.625f ? near : far;
    return x != x ? x : y;
}

/* Below 1 an odd polynomial; above, 1 - e^(-x^2) q(1/x) / x. */
static inline float v_erf(float x)
{
    float a = fabsf(x), s = x * x;
    float p = 7.853861353153693e-5f;
    p = p * s - 8.010193625184903e-4f;
    p = p * s + 5.188327685732524e-3f;
    p = p * s - 2.685381193529856e-2f;
    p = p * s + 1.128358514861418e-1f;
    p = p * s - 3.761262582423300e-1f;
    p = p * s + 1.128379165726710f;
    float near = p * x;
    float b = a < 1.0f ? 1.0f : a;
    float q = 1.0f / b, z = q * q;
    float m = 2.326819970068386e-2f;
    m = m * z - 1.387039388740657e-1f;
    m = m * z + 3.687424674597105e-1f;
    m = m * z - 5.824733027278666e-1f;
    m = m * z + 6.210004621745983e-1f;
    m = m * z - 4.944515323274145e-1f;
    m = m * z + 3.404879937665872e-1f;
    m = m * z - 2.741127028184656e-1f;
    m = m * z + 5.638259427386472e-1f;
    float h = -1.047766399936249e+1f;
    h = h * z + 1.297719955372516e+1f;
    h = h * z - 7.495518717768503f;
    h = h * z + 2.921019019210786f;
    h = h * z - 1.015265279202700f;
    h = h * z + 4.218463358204948e-1f;
    h = h * z - 2.820767439740514e-1f;
    h = h * z + 5.641895067754075e-1f;
    float tail = v_exp(-b * b) * q * (b < 2.0f ? m : h);
    float y = a < 1.0f ? near : copysignf(1.0f - tail, x);
    return x != x ? x : y;
}

/* Whether v_sin and v_cos take x: larger numbers lose too much of their angle.
 */
static inline int v_turns(float x)
{
    return fabsf(x) <= 8192.0f;
}

/* The sine of x + `quarter` right angles: x less the nearest multiple of a
 * right angle, in three parts, then a polynomial of the sine or the cosine. */
static inline float v_sine(float x, int32_t quarter)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
    float t = x * 0.636619772f + shift;
    float n = t - shift;
    int32_t q = (int32_t)(v_bits(t) & 3u) + quarter;
    float r = x - n * 1.5703125f;
    r -= n * 4.837512969970703e-4f;
    r -= n * 7.54978995489188e-8f;
    float s = r * r;
    float p = -1.9515295891e-4f;
    p = p * s + 8.3321608736e-3f;
    p = p * s - 1.6666654611e-1f;
    float sine = p * s * r + r;
    float c = 2.443315711809948e-5f;
    c = c * s - 1.388731625493765e-3f;
    c = c * s + 4.166664568298827e-2f;
    float cosine = c * s * s - 0.5f * s + 1.0f;
    float y = q & 1 ? cosine : sine;
    return q & 2 ? -y : y;
}

/* A polynomial below tan(pi/8), of (a - 1) / (a + 1) below its inverse, of
 * -1 / a above. */
static inline float v_atan(float x)
{
    float a = fabsf(x);
    int far = a > 2.414213562f, mid = a > 0.414213562f;
    float over = far ? -1.0f : mid ? a - 1.0f : a;
    float under = far ? a : mid ? a + 1.0f : 1.0f;
    float base = far ? 1.570796327f : mid ? 0.785398163f : 0.0f;
    float t = over / under, s = t * t;
    float p = 8.05374449538e-2f;
    p = p * s - 1.38776856032e-1f;
    p = p * s + 1.99777106478e-1f;
    p = p * s - 3.33329491539e-1f;
    float y = base + (p * s * t + t);
    return copysignf(y, x);
}

/* ln x: x = 2^n m, m around 1, and a polynomial of m - 1. */
static inline float v_log(float x)
{
    int32_t tiny = x < 1.17549435e-38f;
    uint32_t bits = v_bits(x * (tiny ? 8388608.0f : 1.0f));
    int32_t n = (int32_t)(bits >> 23) - 126;
    float m = v_from_bits((bits & 0x007fffffu) | 0x3f000000u);
    int32_t low = m < 0.707106781f;
    n -= low + 23 * tiny;
    float f = m * (low ? 2.0f : 1.0f) - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float e = (float)n;
    float y = p * f * z + e * -2.12194440e-4f - 0.5f * z + f + e * 0.693359375f;
    y = x == INFINITY ? x : y;
    y = x == 0.0f ? -INFINITY : y;
    return x >= 0.0f ? y : NAN;
}

/* ln (1 + x), by what is lost of x in the sum. */
static inline float v_log1p(float x)
{
    float u = 1.0f + x, d = u - 1.0f;
    float y = v_log(u) * (x / (d == 0.0f ? 1.0f : d));
    y = d == 0.0f ? x : y;
    return u == INFINITY ? u : y;
}

#endif

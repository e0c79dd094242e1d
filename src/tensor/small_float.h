/* small_float.h - floating types of 16, 8 and 4 bits, to and from double. */
#ifndef CLV_SMALL_FLOAT_H
#define CLV_SMALL_FLOAT_H

#include "cleave/base.h"

/* The value of `code`, which is exact in double. t is float16, bfloat16, or a
 * float of 8 or 4 bits; the value is 0 for any other type. */
double clv__small_decode(clv_dtype t, uint32_t code);

/* The code of the value nearest to x; of two as near, the even code (float8e8m0
 * takes the larger). Beyond the largest finite value, `saturate` gives that
 * value; otherwise the result is infinite, or NaN where t has no infinity.
 * A float4e2m1, which has neither, always saturates, and its NaN is -0. */
uint32_t clv__small_encode(clv_dtype t, double x, bool saturate);

#endif

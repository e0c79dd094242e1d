/* element.c - one element of a tensor, of any type, as a number.
 *
 * Every type has a lane that holds it exactly: floats are doubles, integers
 * are int64_t (uint64 keeps its 64 bits). Reading a number in the other lane
 * converts it, as a cast does. */
#include "tensor/small_float.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

/* The bits of an element narrower than a byte; the first element of a byte
 * lies in its low bits. */
static int packed_bits(const clv_tensor *t, int64_t i, int bits)
{
    int per = 8 / bits, shift = (int)(i % per) * bits, mask = (1 << bits) - 1;
    return ((const uint8_t *)t->data)[i / per] >> shift & mask;
}

static int64_t get_packed(const clv_tensor *t, int64_t i, int bits)
{
    int x = packed_bits(t, i, bits);
    bool negative = is_signed(t->dtype) && x >> (bits - 1);
    return negative ? x - (1 << bits) : x;
}

static void put_packed(clv_tensor *t, int64_t i, int bits, int64_t x)
{
    int per = 8 / bits, shift = (int)(i % per) * bits, mask = (1 << bits) - 1;
    uint8_t *b = &((uint8_t *)t->data)[i / per];
    *b = (uint8_t)((*b & ~(mask << shift)) | ((int)x & mask) << shift);
}

/* A kernel that reads by sizes no shape rule has compared asks for elements
 * that a tensor does not have. */
static bool outside(const clv_tensor *t, int64_t i)
{
    uint64_t n = 1;
    for (uint32_t a = 0; a < t->rank; a++)
        n *= (uint64_t)t->dims[a];
    return (uint64_t)i >= n;
}

/* Element i, which a file may hold at any address. */
#define LOAD(type) \
    static type load_##type(const clv_tensor *t, int64_t i) \
    { \
        type x; \
        memcpy(&x, (const char *)t->data + (size_t)i * sizeof x, sizeof x); \
        return x; \
    }
LOAD(float)
LOAD(double)
LOAD(int16_t)
LOAD(int32_t)
LOAD(int64_t)
LOAD(uint16_t)
LOAD(uint32_t)
LOAD(uint64_t)
#undef LOAD

int64_t get_i(const clv_tensor *t, int64_t i)
{
    const void *p = t->data;
    if (outside(t, i))
        return 0;
    switch (t->dtype) {
    case CLV_INT64:
    case CLV_UINT64:
        return load_int64_t(t, i);
    case CLV_INT32:
        return load_int32_t(t, i);
    case CLV_UINT32:
        return load_uint32_t(t, i);
    case CLV_INT16:
        return load_int16_t(t, i);
    case CLV_UINT16:
        return load_uint16_t(t, i);
    case CLV_INT8:
        return ((const int8_t *)p)[i];
    case CLV_UINT8:
    case CLV_BOOL:
        return ((const uint8_t *)p)[i];
    case CLV_INT4:
    case CLV_UINT4:
        return get_packed(t, i, 4);
    case CLV_INT2:
    case CLV_UINT2:
        return get_packed(t, i, 2);
    default: {
        double x = get_f(t, i);
        if (!(x > -0x1p63))
            return INT64_MIN;
        return x >= 0x1p63 ? INT64_MAX : (int64_t)x;
    }
    }
}

double get_f(const clv_tensor *t, int64_t i)
{
    if (outside(t, i))
        return 0;
    switch (t->dtype) {
    case CLV_FLOAT32:
        return (double)load_float(t, i);
    case CLV_FLOAT64:
        return load_double(t, i);
    case CLV_FLOAT16:
    case CLV_BFLOAT16:
        return clv__small_decode(t->dtype, load_uint16_t(t, i));
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
    case CLV_FLOAT8E8M0:
        return clv__small_decode(t->dtype, ((const uint8_t *)t->data)[i]);
    case CLV_FLOAT4E2M1:
        return clv__small_decode(t->dtype, (uint32_t)packed_bits(t, i, 4));
    case CLV_UINT64:
        return (double)load_uint64_t(t, i);
    default:
        return dtype_is_integral(t->dtype) ? (double)get_i(t, i) : 0;
    }
}

void put_i(clv_tensor *t, int64_t i, int64_t x)
{
    void *p = t->data;
    if (outside(t, i))
        return;
    switch (t->dtype) {
    case CLV_INT64:
    case CLV_UINT64:
        ((int64_t *)p)[i] = x;
        break;
    case CLV_INT32:
    case CLV_UINT32:
        ((uint32_t *)p)[i] = (uint32_t)x;
        break;
    case CLV_INT16:
    case CLV_UINT16:
        ((uint16_t *)p)[i] = (uint16_t)x;
        break;
    case CLV_INT8:
    case CLV_UINT8:
        ((uint8_t *)p)[i] = (uint8_t)x;
        break;
    case CLV_BOOL:
        ((uint8_t *)p)[i] = x != 0;
        break;
    case CLV_INT4:
    case CLV_UINT4:
        put_packed(t, i, 4, x);
        break;
    case CLV_INT2:
    case CLV_UINT2:
        put_packed(t, i, 2, x);
        break;
    default:
        put_f(t, i, (double)x);
    }
}

int64_t to_int64(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static uint64_t to_uint64(double x)
{
    return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

void put_float8(clv_tensor *t, int64_t i, double x, bool saturate)
{
    if (!outside(t, i))
        ((uint8_t *)t->data)[i] =
            (uint8_t)clv__small_encode(t->dtype, x, saturate);
}

void put_f(clv_tensor *t, int64_t i, double x)
{
    if (outside(t, i))
        return;
    switch (t->dtype) {
    case CLV_FLOAT32:
        ((float *)t->data)[i] = (float)x;
        break;
    case CLV_FLOAT64:
        ((double *)t->data)[i] = x;
        break;
    case CLV_FLOAT16:
    case CLV_BFLOAT16:
        ((uint16_t *)t->data)[i] =
            (uint16_t)clv__small_encode(t->dtype, x, false);
        break;
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
    case CLV_FLOAT8E8M0:
        put_float8(t, i, x, true);
        break;
    case CLV_FLOAT4E2M1:
        put_packed(t, i, 4, clv__small_encode(t->dtype, x, true));
        break;
    case CLV_BOOL:
        ((uint8_t *)t->data)[i] = x != 0;
        break;
    case CLV_UINT64:
        ((uint64_t *)t->data)[i] = to_uint64(x);
        break;
    default:
        if (dtype_is_integral(t->dtype))
            put_i(t, i, to_int64(x));
    }
}

static void copy_element(clv_tensor *y, int64_t to, const clv_tensor *x,
                         int64_t from)
{
    if (is_float(x->dtype) || is_float(y->dtype))
        put_f(y, to, get_f(x, from));
    else
        put_i(y, to, get_i(x, from));
}

void copy_run(clv_tensor *y, int64_t to, const clv_tensor *x, int64_t from,
              int64_t n)
{
    size_t size = clv__element_bytes(y);
    if (n < 0 || to < 0 || to > numel(y) - n || from < 0 || from > numel(x) - n)
        return;
    if (size == 0 || x->dtype != y->dtype) { /* packed, or another type */
        for (int64_t i = 0; i < n; i++)
            copy_element(y, to + i, x, from + i);
        return;
    }
    memcpy((char *)y->data + (size_t)to * size,
           (const char *)x->data + (size_t)from * size, (size_t)n * size);
}

/* -- order ----------------------------------------------------------------*/

enum { SIGN_SHIFT = 63 };

int64_t order_key(const clv_tensor *t, int64_t i)
{
    if (t->dtype == CLV_UINT64)
        return (int64_t)((uint64_t)get_i(t, i) ^ UINT64_C(1) << SIGN_SHIFT);
    if (!is_float(t->dtype))
        return get_i(t, i);
    double x = get_f(t, i);
    int64_t bits; /* those of positive doubles rise with them */
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return INT64_MAX;
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

int64_t search_key(const clv_tensor *t, int64_t i, bool least)
{
    int64_t key = order_key(t, i);
    bool nan = key == INT64_MAX && is_float(t->dtype);
    return least && !nan ? ~key : key;
}

bool less_than(element a, element b)
{
    if (is_float(a.t->dtype) || is_float(b.t->dtype))
        return get_f(a.t, a.i) < get_f(b.t, b.i);
    int64_t x = get_i(a.t, a.i), y = get_i(b.t, b.i);
    bool huge_x = a.t->dtype == CLV_UINT64 && x < 0; /* 2^63 or more */
    bool huge_y = b.t->dtype == CLV_UINT64 && y < 0;
    return huge_x == huge_y ? x < y : huge_y;
}

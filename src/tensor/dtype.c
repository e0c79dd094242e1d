/* dtype.c - the classes of element types, from the table of base.h. */
#include "tensor/dtype.h"

dtype_class dtype_class_of(clv_dtype t)
{
    static const uint8_t table[CLV_DTYPE_COUNT] = {
#define CLV_X(code, name, alias, bits, cls) [CLV_##code] = CLASS_##cls,
        CLV_DTYPE_TABLE(CLV_X)
#undef CLV_X
    };
    return t < CLV_DTYPE_COUNT ? (dtype_class)table[t] : CLASS_NONE;
}

bool dtype_is_integral(clv_dtype t)
{
    dtype_class c = dtype_class_of(t);
    return c == CLASS_BOOL || c == CLASS_UINT || c == CLASS_INT;
}

bool is_float(clv_dtype t)
{
    return dtype_class_of(t) == CLASS_FLOAT;
}

bool is_float8(clv_dtype t)
{
    return is_float(t) && clv_dtype_bytes(t, 8) == 8;
}

bool is_signed(clv_dtype t)
{
    return dtype_class_of(t) == CLASS_INT ||
           (is_float(t) && t != CLV_FLOAT8E8M0);
}

/* types.c - see types.h. */
#include "formats/onnx/types.h"

#include <limits.h>

enum { TYPES_FLOAT8 = 19, TYPES_4BIT = 21, TYPES_FLOAT4 = 23 };
enum { TYPES_SCALE8 = 24, TYPES_2BIT = 25 };

/* By ONNX's number. */
static const struct {
    uint8_t dtype;
    uint8_t since; /* opset; 0: older than any that we write */
} types_rows[] = {
    [1] = {CLV_FLOAT32, 0},
    [2] = {CLV_UINT8, 0},
    [3] = {CLV_INT8, 0},
    [4] = {CLV_UINT16, 0},
    [5] = {CLV_INT16, 0},
    [6] = {CLV_INT32, 0},
    [7] = {CLV_INT64, 0},
    [8] = {CLV_STRING, 0},
    [9] = {CLV_BOOL, 0},
    [10] = {CLV_FLOAT16, 0},
    [11] = {CLV_FLOAT64, 0},
    [12] = {CLV_UINT32, 0},
    [13] = {CLV_UINT64, 0},
    [14] = {CLV_COMPLEX64, 0},
    [15] = {CLV_COMPLEX128, 0},
    [16] = {CLV_BFLOAT16, 0},
    [17] = {CLV_FLOAT8E4M3, TYPES_FLOAT8},
    [18] = {CLV_FLOAT8E4M3UZ, TYPES_FLOAT8},
    [19] = {CLV_FLOAT8E5M2, TYPES_FLOAT8},
    [20] = {CLV_FLOAT8E5M2UZ, TYPES_FLOAT8},
    [21] = {CLV_UINT4, TYPES_4BIT},
    [22] = {CLV_INT4, TYPES_4BIT},
    [23] = {CLV_FLOAT4E2M1, TYPES_FLOAT4},
    [24] = {CLV_FLOAT8E8M0, TYPES_SCALE8},
    [25] = {CLV_UINT2, TYPES_2BIT},
    [26] = {CLV_INT2, TYPES_2BIT},
};
enum { TYPES = sizeof types_rows / sizeof *types_rows };

clv_dtype onnx_dtype(uint64_t number)
{
    return number > 0 && number < TYPES ? (clv_dtype)types_rows[number].dtype
                                        : CLV_NODTYPE;
}

int onnx_dtype_number(clv_dtype t)
{
    for (int i = 1; i < TYPES; i++)
        if (types_rows[i].dtype == t)
            return i;
    return 0;
}

int onnx_dtype_since(clv_dtype t)
{
    int number = onnx_dtype_number(t);
    return number ? types_rows[number].since : INT_MAX;
}

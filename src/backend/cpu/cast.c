/* cast.c - numbers of one type as those of another, as element.c converts. */
#include "backend/cpu/half.h"

typedef void cast_loop(const void *x, void *y, int64_t n);

/* Towards zero; what is out of range sticks, and NaN is 0. */
static inline int64_t cast_whole(double x)
{
    return x >= 9223372036854775808.0    ? INT64_MAX
           : x <= -9223372036854775808.0 ? INT64_MIN
           : x != x                      ? 0
                                         : (int64_t)x;
}

#define LOOP(name, T, R, expr) \
    static void cast_##name(const void *px, void *py, int64_t n) \
    { \
        const T *v = px; \
        R *y = py; \
        for (int64_t i = 0; i < n; i++) { \
            T x = v[i]; \
            y[i] = (R)(expr); \
        } \
    }

LOOP(f32_f64, float, double, x)
LOOP(f64_f32, double, float, x)
LOOP(i64_f32, int64_t, float, x)
LOOP(i32_f32, int32_t, float, x)
LOOP(u8_f32, uint8_t, float, x)
LOOP(i8_f32, int8_t, float, x)
LOOP(bool_f32, uint8_t, float, x != 0)
LOOP(f32_i64, float, int64_t, cast_whole((double)x))
LOOP(f32_i32, float, int32_t, cast_whole((double)x))
LOOP(f32_bool, float, uint8_t, x != 0)
LOOP(i64_i32, int64_t, int32_t, x)
LOOP(i32_i64, int32_t, int64_t, x)
LOOP(i64_bool, int64_t, uint8_t, x != 0)
LOOP(i32_bool, int32_t, uint8_t, x != 0)
LOOP(bool_i64, uint8_t, int64_t, x != 0)
LOOP(bool_i32, uint8_t, int32_t, x != 0)
LOOP(u8_i64, uint8_t, int64_t, x)
LOOP(u8_i32, uint8_t, int32_t, x)
LOOP(i8_i32, int8_t, int32_t, x)

#define HALF(name, type) \
    static void cast_##name##_f32(const void *x, void *y, int64_t n) \
    { \
        CPU_NAME(clv__half_decode)(type, x, y, n); \
    } \
    static void cast_f32_##name(const void *x, void *y, int64_t n) \
    { \
        CPU_NAME(clv__half_encode)(type, x, y, n); \
    }
HALF(f16, CLV_FLOAT16)
HALF(bf16, CLV_BFLOAT16)

static const struct {
    clv_dtype from, to;
    cast_loop *loop;
} cast_rows[] = {
    {CLV_FLOAT16, CLV_FLOAT32, cast_f16_f32},
    {CLV_FLOAT32, CLV_FLOAT16, cast_f32_f16},
    {CLV_BFLOAT16, CLV_FLOAT32, cast_bf16_f32},
    {CLV_FLOAT32, CLV_BFLOAT16, cast_f32_bf16},
    {CLV_FLOAT32, CLV_FLOAT64, cast_f32_f64},
    {CLV_FLOAT64, CLV_FLOAT32, cast_f64_f32},
    {CLV_INT64, CLV_FLOAT32, cast_i64_f32},
    {CLV_INT32, CLV_FLOAT32, cast_i32_f32},
    {CLV_UINT8, CLV_FLOAT32, cast_u8_f32},
    {CLV_INT8, CLV_FLOAT32, cast_i8_f32},
    {CLV_BOOL, CLV_FLOAT32, cast_bool_f32},
    {CLV_FLOAT32, CLV_INT64, cast_f32_i64},
    {CLV_FLOAT32, CLV_INT32, cast_f32_i32},
    {CLV_FLOAT32, CLV_BOOL, cast_f32_bool},
    {CLV_INT64, CLV_INT32, cast_i64_i32},
    {CLV_INT32, CLV_INT64, cast_i32_i64},
    {CLV_INT64, CLV_BOOL, cast_i64_bool},
    {CLV_INT32, CLV_BOOL, cast_i32_bool},
    {CLV_BOOL, CLV_INT64, cast_bool_i64},
    {CLV_BOOL, CLV_INT32, cast_bool_i32},
    {CLV_UINT8, CLV_INT64, cast_u8_i64},
    {CLV_UINT8, CLV_INT32, cast_u8_i32},
    {CLV_INT8, CLV_INT32, cast_i8_i32},
};

typedef struct cast_job {
    cast_loop *loop;
    const char *x;
    char *y;
    int64_t in_size, out_size;
} cast_job;

static void cast_part(void *ctx, int64_t from, int64_t to)
{
    const cast_job *j = ctx;
    j->loop(j->x + from * j->in_size, j->y + from * j->out_size, to - from);
}

bool CPU_NAME(cpu_cast)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    cast_job j = {.x = x->data,
                  .y = y->data,
                  .in_size = (int64_t)clv__element_bytes(x),
                  .out_size = (int64_t)clv__element_bytes(y)};
    for (size_t i = 0; i < sizeof cast_rows / sizeof *cast_rows; i++)
        if (cast_rows[i].from == x->dtype && cast_rows[i].to == y->dtype)
            j.loop = cast_rows[i].loop;
    if (!j.loop)
        return false;
    clv__parallel(k->threads, numel(y), CPU_GRAIN, cast_part, &j);
    return true;
}

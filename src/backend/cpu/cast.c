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

/* From one type to all others; `whole` is x as an integer. */
#define FROM(name, T, number, whole) \
    LOOP(name##_f32, T, float, number) \
    LOOP(name##_f64, T, double, number) \
    LOOP(name##_i64, T, int64_t, whole) \
    LOOP(name##_i32, T, int32_t, whole) \
    LOOP(name##_i8, T, int8_t, whole) \
    LOOP(name##_u8, T, uint8_t, whole) \
    LOOP(name##_bool, T, uint8_t, x != 0)
FROM(f32, float, x, cast_whole((double)x))
FROM(f64, double, x, cast_whole(x))
FROM(i64, int64_t, x, x)
FROM(i32, int32_t, x, x)
FROM(i8, int8_t, x, x)
FROM(u8, uint8_t, x, x)
FROM(bool, uint8_t, x != 0, x != 0)

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
#define ROWS(name, type) \
    {type, CLV_FLOAT32, cast_##name##_f32}, \
        {type, CLV_FLOAT64, cast_##name##_f64}, \
        {type, CLV_INT64, cast_##name##_i64}, \
        {type, CLV_INT32, cast_##name##_i32}, \
        {type, CLV_INT8, cast_##name##_i8}, \
        {type, CLV_UINT8, cast_##name##_u8}, \
    { \
        type, CLV_BOOL, cast_##name##_bool \
    }
    ROWS(f32, CLV_FLOAT32),
    ROWS(f64, CLV_FLOAT64),
    ROWS(i64, CLV_INT64),
    ROWS(i32, CLV_INT32),
    ROWS(i8, CLV_INT8),
    ROWS(u8, CLV_UINT8),
    ROWS(bool, CLV_BOOL),
#undef ROWS
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

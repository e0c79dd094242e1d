/* quant.c - floats to integers of 8 and 16 bits and back. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

#include <stdatomic.h>

/* Runs of `run` elements share a scale; `many` scales take turns. */
typedef struct quant_job {
    const clv_tensor *x, *scale, *zero;
    clv_tensor *y;
    int64_t run, many;
    float low, high, offset;
    atomic_bool nan; /* some element was not a number */
} quant_job;

/* As find_scaling of the plain C kernel, without blocks. */
static bool quant_scales(const kernel *k, quant_job *j)
{
    uint32_t axis;
    j->x = k->in[0];
    j->scale = input_of(k, 1);
    j->zero = input_of(k, 2);
    j->y = &k->out[0];
    if (!j->scale || j->scale->dtype != CLV_FLOAT32)
        return false;
    j->many = numel(j->scale);
    j->run = 1;
    if (j->many > 1) {
        if (axis_of(k, &axis) != CLV_OK || attr_int(k->n, CLV_A_BLOCK) > 0 ||
            j->x->dims[axis] != j->many)
            return false;
        j->run = dims_product(j->x->dims, axis + 1, j->x->rank);
    }
    return !j->zero || numel(j->zero) == j->many;
}

/* The scale and zero point of element i, and where they end. */
static int64_t quant_end(const quant_job *j, int64_t i, int64_t to, float *s,
                         float *z)
{
    int64_t which = j->many > 1 ? i / j->run % j->many : 0;
    int64_t end = j->many > 1 ? (i / j->run + 1) * j->run : to;
    *s = ((const float *)j->scale->data)[which];
    *z = j->zero ? (float)get_f(j->zero, which) : j->offset;
    return end < to ? end : to;
}

/* Bounds are whole numbers, so that it does not matter whether a quotient is
 * cut off before or after it is rounded. */
#define TO(name, T) \
    static void to_##name(void *ctx, int64_t from, int64_t to) \
    { \
        quant_job *j = ctx; \
        const float *x = j->x->data; \
        T *y = j->y->data; \
        int32_t nan = 0; \
        while (from < to) { \
            float s, z; \
            int64_t end = quant_end(j, from, to, &s, &z); \
            const float low = j->low - z, high = j->high - z; \
            const int32_t zero = (int32_t)z; \
            for (; from < end; from++) { \
                float v = x[from] / s; \
                nan |= v != v; \
                y[from] = (T)(v_nearest(v, low, high) + zero); \
            } \
        } \
        if (nan) \
            atomic_store(&j->nan, true); \
    }
TO(u8, uint8_t)
TO(i8, int8_t)
TO(u16, uint16_t)
TO(i16, int16_t)

#define BACK(name, T) \
    static void back_##name(void *ctx, int64_t from, int64_t to) \
    { \
        const quant_job *j = ctx; \
        const T *x = j->x->data; \
        float *y = j->y->data; \
        while (from < to) { \
            float s, z; \
            int64_t end = quant_end(j, from, to, &s, &z); \
            for (; from < end; from++) \
                y[from] = ((float)x[from] - z) * s; \
        } \
    }
BACK(u8, uint8_t)
BACK(i8, int8_t)
BACK(u16, uint16_t)
BACK(i16, int16_t)
BACK(i32, int32_t)

static const struct quant_row {
    clv_dtype type;
    parallel_fn *to, *back; /* to: NULL where there is none */
    float low, high;
} quant_rows[] = {
    {CLV_UINT8, to_u8, back_u8, 0, UINT8_MAX},
    {CLV_INT8, to_i8, back_i8, INT8_MIN, INT8_MAX},
    {CLV_UINT16, to_u16, back_u16, 0, UINT16_MAX},
    {CLV_INT16, to_i16, back_i16, INT16_MIN, INT16_MAX},
    {CLV_INT32, NULL, back_i32, 0, 0},
};

static const struct quant_row *quant_row(clv_dtype t)
{
    for (size_t i = 0; i < sizeof quant_rows / sizeof *quant_rows; i++)
        if (quant_rows[i].type == t)
            return &quant_rows[i];
    return NULL;
}

bool CPU_NAME(cpu_quantize)(kernel *k)
{
    const struct quant_row *row = quant_row(k->out[0].dtype);
    quant_job j = {.low = row ? row->low : 0, .high = row ? row->high : 0};
    if (!row || !row->to || k->in[0]->dtype != CLV_FLOAT32 ||
        !quant_scales(k, &j))
        return false;
    clv__parallel(k->threads, numel(j.x), CPU_GRAIN, row->to, &j);
    return !j.nan; /* what a NaN becomes, the plain kernel says */
}

bool CPU_NAME(cpu_dequantize)(kernel *k)
{
    const struct quant_row *row = quant_row(k->in[0]->dtype);
    quant_job j = {.offset = (float)attr_float(k->n, CLV_A_OFFSET)};
    if (!row || k->out[0].dtype != CLV_FLOAT32 || !quant_scales(k, &j))
        return false;
    clv__parallel(k->threads, numel(j.x), CPU_GRAIN, row->back, &j);
    return true;
}

/* The least and the largest of n numbers and 0, taken in lanes. */
static void quant_range(const float *x, int64_t n, float *least, float *most)
{
    enum { LANES = 64 };
    float lo[LANES] = {0}, hi[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float v = x[i + l];
            lo[l] = v < lo[l] ? v : lo[l];
            hi[l] = v > hi[l] ? v : hi[l];
        }
    for (; i < n; i++) {
        lo[0] = x[i] < lo[0] ? x[i] : lo[0];
        hi[0] = x[i] > hi[0] ? x[i] : hi[0];
    }
    for (int l = 0; l < LANES; l++) {
        *least = lo[l] < *least ? lo[l] : *least;
        *most = hi[l] > *most ? hi[l] : *most;
    }
}

/* The range of x, with 0 in it, over 255 steps. */
bool CPU_NAME(cpu_dynamic_quantize)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const float *v = x->data;
    float lo = 0, hi = 0, zero = 0;
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_UINT8 ||
        !k->out[0].data)
        return false;
    quant_range(v, numel(x), &lo, &hi);
    float scale = (float)(((double)hi - (double)lo) / 255);
    if (!(scale > 0) || scale == INFINITY)
        return false;
    zero = nearbyintf(-lo / scale);
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    uint8_t point = (uint8_t)zero;
    clv_tensor s = {.dtype = CLV_FLOAT32, .data = &scale};
    clv_tensor z = {.dtype = CLV_UINT8, .data = &point};
    quant_job j = {.x = x,
                   .scale = &s,
                   .zero = &z,
                   .y = &k->out[0],
                   .run = 1,
                   .many = 1,
                   .high = 255};
    clv__parallel(k->threads, numel(x), CPU_GRAIN, to_u8, &j);
    if (j.nan)
        return false;
    if (output_of(k, 1))
        put_f(&k->out[1], 0, (double)scale);
    if (output_of(k, 2))
        put_f(&k->out[2], 0, (double)zero);
    return true;
}

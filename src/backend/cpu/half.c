/* half.c - numbers of 16 bits, which are computed with as floats.
 *
 * A kernel that does not take float16 or bfloat16 runs on copies of its inputs
 * and outputs as floats; each result is rounded once, at the end. */
#include "backend/cpu/half.h"
#include "tensor/small_float.h"

#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { LANES = 8 };

static inline float bf16_float(uint16_t code)
{
    uint32_t bits = (uint32_t)code << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest code, the even one of two; a NaN stays one. */
static inline uint16_t float_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40
                                                       : near);
}

void CPU_NAME(clv__half_decode)(clv_dtype t, const uint16_t *x, float *y,
                                int64_t n)
{
    int64_t i = 0;
    if (t == CLV_BFLOAT16) {
        for (; i < n; i++)
            y[i] = bf16_float(x[i]);
        return;
    }
#ifdef __F16C__
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(
            y + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + i))));
#endif
    for (; i < n; i++)
        y[i] = (float)clv__small_decode(t, x[i]);
}

void CPU_NAME(clv__half_encode)(clv_dtype t, const float *x, uint16_t *y,
                                int64_t n)
{
    int64_t i = 0;
    if (t == CLV_BFLOAT16) {
        for (; i < n; i++)
            y[i] = float_bf16(x[i]);
        return;
    }
#ifdef __F16C__
    for (; i + LANES <= n; i += LANES)
        _mm_storeu_si128(
            (void *)(y + i),
            _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        y[i] = (uint16_t)clv__small_encode(t, (double)x[i], false);
}

/* -- whole kernels --------------------------------------------------------*/

static bool is_half(const clv_tensor *t)
{
    return t && (t->dtype == CLV_FLOAT16 || t->dtype == CLV_BFLOAT16);
}

typedef struct half_job {
    clv_dtype type;
    uint16_t *code;
    float *number;
} half_job;

static void half_decode_part(void *ctx, int64_t from, int64_t to)
{
    const half_job *j = ctx;
    CPU_NAME(clv__half_decode)
    (j->type, j->code + from, j->number + from, to - from);
}

static void half_encode_part(void *ctx, int64_t from, int64_t to)
{
    const half_job *j = ctx;
    CPU_NAME(clv__half_encode)
    (j->type, j->number + from, j->code + from, to - from);
}

/* t as floats, in scratch; the numbers of t are not read if `fresh`. */
static bool half_copy(const kernel *k, const clv_tensor *t, bool fresh,
                      clv_tensor *to)
{
    half_job j = {.type = t->dtype, .code = t->data};
    *to = *t;
    to->dtype = CLV_FLOAT32;
    if (!t->data)
        return true;
    j.number = arena_array(k->scratch, (size_t)numel(t) + 1, sizeof(float));
    if (!j.number)
        return false;
    to->data = j.number;
    if (!fresh)
        clv__parallel(k->threads, numel(t), CPU_GRAIN, half_decode_part, &j);
    return true;
}

/* Inputs of k as floats; true: some were not. */
static bool half_inputs(const kernel *k, const clv_tensor **in,
                        clv_tensor *copies, bool *failed)
{
    bool any = false;
    for (uint32_t i = 0; i < k->n->n_in; i++) {
        in[i] = k->in[i];
        if (!is_half(k->in[i]))
            continue;
        any = true;
        /* a matrix that is packed already is not read */
        bool packed =
            k->ready && clv__cpu_any_address((clv_op)k->n->op, i, true);
        *failed |= !half_copy(k, k->in[i], packed, &copies[i]);
        in[i] = &copies[i];
    }
    return any;
}

/* A cast that would be rounded twice. */
static bool half_twice(const kernel *k)
{
    clv_dtype from = k->in[0]->dtype, to = k->out[0].dtype;
    return (k->n->op == CLV_OP_CAST || k->n->op == CLV_OP_CAST_LIKE) &&
           (from == CLV_FLOAT64 ||
            (to == CLV_BFLOAT16 && dtype_is_integral(from)));
}

bool CPU_NAME(clv__half_run)(kernel *k, cpu_fn *fn)
{
    uint32_t n_in = k->n->n_in, n_out = k->n->n_out;
    const clv_tensor **in = arena_array(k->scratch, n_in + 1u, sizeof *in);
    clv_tensor *copies =
        arena_array(k->scratch, (size_t)n_in + n_out + 1, sizeof *copies);
    bool failed = false;
    if (!in || !copies || half_twice(k))
        return false;
    bool any = half_inputs(k, in, copies, &failed);
    kernel own = *k;
    own.in = in;
    own.out = copies + n_in;
    for (uint32_t o = 0; o < n_out; o++) {
        own.out[o] = k->out[o];
        if (!is_half(&k->out[o]))
            continue;
        any = true;
        failed |= !half_copy(k, &k->out[o], true, &own.out[o]);
    }
    if (!any || failed || !fn(&own))
        return false;
    for (uint32_t o = 0; o < n_out; o++) {
        half_job j = {k->out[o].dtype, k->out[o].data, own.out[o].data};
        if (is_half(&k->out[o]) && j.code)
            clv__parallel(k->threads, numel(&k->out[o]), CPU_GRAIN,
                          half_encode_part, &j);
    }
    return true;
}

const void *CPU_NAME(clv__half_ready)(kernel *k, cpu_ready_fn *fn, arena *mem)
{
    uint32_t n_in = k->n->n_in;
    const clv_tensor **in = arena_array(k->scratch, n_in + 1u, sizeof *in);
    clv_tensor *copies = arena_array(k->scratch, n_in + 1u, sizeof *copies);
    bool failed = false;
    if (!in || !copies || !half_inputs(k, in, copies, &failed) || failed)
        return NULL;
    kernel own = *k;
    own.in = in;
    return fn(&own, mem);
}

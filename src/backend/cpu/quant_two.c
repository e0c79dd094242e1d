/* quant_two.c - elementwise on bytes: sums and products of two operands with
 * scales and zero points, and tables. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/features.h"
#include "backend/cpu/vmath.h"

#if defined(__AVX512BW__) && defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CODES = 256, BLOCK = 512 }; /* elements that are floats at a time */

typedef struct two_job {
    cpu_walk walk;
    const clv_tensor *a, *b;
    clv_tensor *y;
    float a_scale, b_scale, y_scale, a_zero, b_zero, y_zero, low, high;
    bool add;
} two_job;

/* n elements of t from `at`, `step` apart (0 or 1), as numbers. */
static void two_read(const clv_tensor *t, int64_t at, int64_t step, float scale,
                     float zero, float *to, int64_t n)
{
    const uint8_t *u = (const uint8_t *)t->data + at;
    const int8_t *s = (const int8_t *)t->data + at;
    bool plain = t->dtype == CLV_UINT8;
    if (step == 0) {
        float v = ((plain ? (float)*u : (float)*s) - zero) * scale;
        for (int64_t i = 0; i < n; i++)
            to[i] = v;
    } else if (step > 1) {
        for (int64_t i = 0; i < n; i++)
            to[i] = ((plain ? (float)u[i * step] : (float)s[i * step]) - zero) *
                    scale;
    } else if (plain) {
        for (int64_t i = 0; i < n; i++)
            to[i] = ((float)u[i] - zero) * scale;
    } else {
        for (int64_t i = 0; i < n; i++)
            to[i] = ((float)s[i] - zero) * scale;
    }
}

static void two_block(const two_job *j, const float *a, const float *b,
                      uint8_t *y, int64_t n)
{
    const float low = j->low - j->y_zero, high = j->high - j->y_zero;
    const float scale = j->y_scale;
    const int32_t zero = (int32_t)j->y_zero;
    if (j->add)
        for (int64_t i = 0; i < n; i++)
            y[i] =
                (uint8_t)(v_nearest((a[i] + b[i]) / scale, low, high) + zero);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = (uint8_t)(v_nearest(a[i] * b[i] / scale, low, high) + zero);
}

static void two_part(void *ctx, int64_t from, int64_t to)
{
    const two_job *j = ctx;
    const cpu_walk *w = &j->walk;
    int64_t idx[CLV_MAX_RANK], at[CPU_OPERANDS];
    uint32_t last = w->rank - 1;
    float a[BLOCK], b[BLOCK];
    clv__cpu_seek(w, from, idx, at);
    while (from < to) {
        int64_t run = w->dims[last] - idx[last];
        run = run < to - from ? run : to - from;
        run = run < BLOCK ? run : BLOCK;
        two_read(j->a, at[0], w->strides[0][last], j->a_scale, j->a_zero, a,
                 run);
        two_read(j->b, at[1], w->strides[1][last], j->b_scale, j->b_zero, b,
                 run);
        two_block(j, a, b, (uint8_t *)j->y->data + from, run);
        from += run;
        clv__cpu_step(w, run, idx, at);
    }
}

static bool two_is_bytes(const clv_tensor *t)
{
    return t->dtype == CLV_UINT8 || t->dtype == CLV_INT8;
}

bool CPU_NAME(cpu_qlinear_two)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    for (uint32_t i = 0; i < 8; i++)
        if (!input_of(k, i) || (i % 3 && numel(k->in[i]) != 1))
            return false;
    two_job j = {.a = k->in[0],
                 .b = k->in[3],
                 .y = y,
                 .a_scale = (float)get_f(k->in[1], 0),
                 .a_zero = (float)get_f(k->in[2], 0),
                 .b_scale = (float)get_f(k->in[4], 0),
                 .b_zero = (float)get_f(k->in[5], 0),
                 .y_scale = (float)get_f(k->in[6], 0),
                 .y_zero = (float)get_f(k->in[7], 0),
                 .low = y->dtype == CLV_INT8 ? INT8_MIN : 0,
                 .high = y->dtype == CLV_INT8 ? INT8_MAX : UINT8_MAX,
                 .add = k->n->op == CLV_OP_QLINEAR_ADD};
    const clv_tensor *in[2] = {j.a, j.b};
    if (!two_is_bytes(j.a) || !two_is_bytes(j.b) || !two_is_bytes(y) ||
        !clv__cpu_broadcast(y, in, 2, &j.walk) || !j.walk.rank)
        return false;
    clv__parallel(k->threads, numel(y), CPU_GRAIN, two_part, &j);
    return true;
}

/* -- tables ---------------------------------------------------------------*/

typedef struct table_job {
    const uint8_t *x, *table;
    uint8_t *y;
    uint8_t flip;          /* the first number of the table is the least */
    size_t size;           /* of an element of the table */
    int64_t tables, plane; /* bytes of x that one of several tables is for */
} table_job;

#if defined(__AVX512BW__) && defined(__x86_64__)
/* 64 bytes at a time; returns how many are done. */
static __attribute__((target("avx512vbmi"))) int64_t
table_wide(const table_job *j, int64_t from, int64_t to)
{
    enum { LANES = 64 };
    if (!CPU_HAS(AVX512_VBMI, "avx512vbmi"))
        return from;
    const __m512i flip = _mm512_set1_epi8((char)j->flip);
    __m512i t[CODES / LANES];
    for (int i = 0; i < CODES / LANES; i++)
        t[i] = _mm512_loadu_si512(j->table + i * LANES);
    for (; from + LANES <= to; from += LANES) {
        __m512i x = _mm512_xor_si512(_mm512_loadu_si512(j->x + from), flip);
        __m512i low = _mm512_permutex2var_epi8(t[0], x, t[1]);
        __m512i high = _mm512_permutex2var_epi8(t[2], x, t[3]);
        __mmask64 upper = _mm512_movepi8_mask(x);
        _mm512_storeu_si512(j->y + from,
                            _mm512_mask_blend_epi8(upper, low, high));
    }
    return from;
}
#else
static int64_t table_wide(const table_job *j, int64_t from, int64_t to)
{
    (void)j, (void)to;
    return from;
}
#endif

static void table_bytes(void *ctx, int64_t from, int64_t to)
{
    const table_job *j = ctx;
    from = table_wide(j, from, to);
    for (int64_t i = from; i < to; i++)
        j->y[i] = j->table[j->x[i] ^ j->flip];
}

static void table_words(void *ctx, int64_t from, int64_t to)
{
    const table_job *j = ctx;
    const uint32_t *table = (const uint32_t *)(const void *)j->table;
    uint32_t *y = (uint32_t *)(void *)j->y;
    for (int64_t i = from; i < to; i++)
        y[i] = table[j->x[i] ^ j->flip];
}

/* Items are planes, each with a table of its own. */
static void table_planes(void *ctx, int64_t from, int64_t to)
{
    const table_job *j = ctx;
    for (int64_t p = from; p < to; p++) {
        table_job one = *j;
        one.table += p % j->tables * CODES;
        table_bytes(&one, p * j->plane, (p + 1) * j->plane);
    }
}

bool CPU_NAME(cpu_byte_table)(kernel *k)
{
    const clv_tensor *x = k->in[0], *table = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    if (!two_is_bytes(x) || !table || table->dtype != y->dtype)
        return false;
    table_job j = {.x = x->data,
                   .table = table->data,
                   .y = y->data,
                   .flip = x->dtype == CLV_INT8 ? 0x80 : 0,
                   .size = clv__element_bytes(table),
                   .tables = numel(table) / CODES};
    if (j.tables > 1) {
        j.plane = dims_product(x->dims, 2, x->rank);
        if (j.size == 1)
            clv__parallel(k->threads, numel(x) / j.plane,
                          1 + CPU_GRAIN / j.plane, table_planes, &j);
        return j.size == 1;
    }
    if (j.size != 1 && j.size != 4)
        return false;
    clv__parallel(k->threads, numel(x), CPU_GRAIN,
                  j.size == 1 ? table_bytes : table_words, &j);
    return true;
}

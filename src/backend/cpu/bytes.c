/* bytes.c - products of bytes, summed in 32 bits.
 *
 * The instruction multiplies four unsigned bytes with four signed ones and adds
 * the products to a sum, so rows of one operand are read four bytes at a time
 * and the other is packed in panels: the bytes of four depths of WIDE columns,
 * column by column. Signed numbers that must be unsigned get 128 more, as their
 * zero point does, and the other way round. Sums are of the bytes as they are;
 * zero points a and b are taken off at the end:
 *
 *     sum (x - a)(w - b) = sum x w  -  a sum w  -  b (sum x - K a)        */
#include "backend/cpu/bytes.h"
#include "backend/cpu/features.h"
#include "backend/cpu/vmath.h"

#include <string.h>

#if defined(__AVX512BW__) && defined(__x86_64__)
#include <immintrin.h>

#define VNNI __attribute__((target("avx512vnni")))

enum {
    HIGH = 12,
    WIDE = BYTES_WIDE,
    STEP = BYTES_STEP, /* depths of one instruction */
    ROWS = 48,         /* of a product at a time */
    PANELS = 8,
    LINE = 64
};

bool CPU_NAME(clv__bytes_fast)(void)
{
    return CPU_HAS(AVX512_VNNI, "avx512vnni");
}

void *CPU_NAME(clv__bytes_array)(arena *mem, int64_t n)
{
    char *p = arena_array(mem, (size_t)n + LINE, 1);
    return p ? p + (LINE - (uintptr_t)p % LINE) : NULL;
}

/* -- packing --------------------------------------------------------------*/

/* 16 columns of four rows, each byte changed by `flip`. */
static void pack_sixteen(const uint8_t *const *row, int64_t at, __m128i flip,
                         uint8_t *to)
{
    __m128i r[STEP];
    for (int i = 0; i < STEP; i++)
        r[i] =
            _mm_xor_si128(_mm_loadu_si128((const void *)(row[i] + at)), flip);
    __m128i a = _mm_unpacklo_epi8(r[0], r[1]),
            b = _mm_unpackhi_epi8(r[0], r[1]);
    __m128i c = _mm_unpacklo_epi8(r[2], r[3]),
            d = _mm_unpackhi_epi8(r[2], r[3]);
    __m128i *p = (void *)to;
    _mm_storeu_si128(p, _mm_unpacklo_epi16(a, c));
    _mm_storeu_si128(p + 1, _mm_unpackhi_epi16(a, c));
    _mm_storeu_si128(p + 2, _mm_unpacklo_epi16(b, d));
    _mm_storeu_si128(p + 3, _mm_unpackhi_epi16(b, d));
}

void CPU_NAME(clv__bytes_panels)(const uint8_t *b, int64_t apart, int64_t n,
                                 int64_t k, uint8_t flip, uint8_t *to)
{
    const __m128i by = _mm_set1_epi8((char)flip);
    for (int64_t j = 0; j < n; j += WIDE)
        for (int64_t d = 0; d < k; d += STEP, to += WIDE * STEP) {
            int64_t wide = n - j < WIDE ? n - j : WIDE;
            int64_t high = k - d < STEP ? k - d : STEP;
            if (wide == WIDE && high == STEP) {
                const uint8_t *row[STEP];
                for (int i = 0; i < STEP; i++)
                    row[i] = b + (d + i) * apart + j;
                pack_sixteen(row, 0, by, to);
                pack_sixteen(row, WIDE / 2, by, to + WIDE / 2 * STEP);
                continue;
            }
            memset(to, 0, WIDE * STEP);
            for (int64_t i = 0; i < high; i++)
                for (int64_t c = 0; c < wide; c++)
                    to[c * STEP + i] = b[(d + i) * apart + j + c] ^ flip;
        }
}

void CPU_NAME(clv__bytes_rows)(const uint8_t *x, int64_t rows, int64_t k,
                               int64_t wide, uint8_t flip, uint8_t *to)
{
    for (int64_t r = 0; r < rows; r++, x += k, to += wide) {
        for (int64_t i = 0; i < k; i++)
            to[i] = x[i] ^ flip;
        memset(to + k, 0, (size_t)(wide - k));
    }
}

/* -- tiles ----------------------------------------------------------------*/

/* `high` rows by WIDE columns of sums over `steps` times STEP depths. Either
 * the rows are the signed operand or the panel is. */
CPU_INLINE VNNI void bytes_tile(const int high, const bool rows_signed,
                                const uint8_t *a, int64_t a_row,
                                const uint8_t *b, int64_t steps, int32_t *c,
                                int64_t ldc)
{
    __m512i sum[HIGH][2];
    for (int r = 0; r < high; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    for (int64_t d = 0; d < steps; d++, a += STEP, b += WIDE * STEP) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + LINE);
        for (int r = 0; r < high; r++) {
            int32_t four;
            memcpy(&four, a + r * a_row, sizeof four);
            __m512i v = _mm512_set1_epi32(four);
            if (rows_signed) {
                sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], b0, v);
                sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], b1, v);
            } else {
                sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], v, b0);
                sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], v, b1);
            }
        }
    }
    for (int r = 0; r < high; r++) {
        _mm512_storeu_si512(c + r * ldc, sum[r][0]);
        _mm512_storeu_si512(c + r * ldc + WIDE / 2, sum[r][1]);
    }
}

/* `rows` rows by panels, of which there are `n`. c has whole panels. */
#define BLOCK(name, rows_signed) \
    static VNNI void name(int64_t rows, const uint8_t *a, int64_t a_row, \
                          const uint8_t *b, int64_t n, int64_t steps, \
                          int32_t *c, int64_t ldc) \
    { \
        for (int64_t j = 0; j < n; j++, b += steps * WIDE * STEP, c += WIDE) { \
            int64_t i = 0; \
            for (; i + HIGH <= rows; i += HIGH) \
                bytes_tile(HIGH, rows_signed, a + i * a_row, a_row, b, steps, \
                           c + i * ldc, ldc); \
            for (; i + 4 <= rows; i += 4) \
                bytes_tile(4, rows_signed, a + i * a_row, a_row, b, steps, \
                           c + i * ldc, ldc); \
            for (; i < rows; i++) \
                bytes_tile(1, rows_signed, a + i * a_row, a_row, b, steps, \
                           c + i * ldc, ldc); \
        } \
    }
BLOCK(signed_rows, true)
BLOCK(unsigned_rows, false)

void CPU_NAME(clv__bytes_signed)(int64_t rows, const uint8_t *a, int64_t a_row,
                                 const uint8_t *b, int64_t n, int64_t steps,
                                 int32_t *c, int64_t ldc)
{
    signed_rows(rows, a, a_row, b, n, steps, c, ldc);
}

/* -- products -------------------------------------------------------------*/

typedef struct bytes_product {
    int64_t m, n, k, deep, tall, wide; /* blocks of rows, ranges of panels */
    int64_t batch;                     /* matrices b; m is of one */
    const uint8_t *a;                  /* (batch, m, deep), unsigned */
    const bytes_packed *b;             /* one, or `batch` of them */
    const clv_tensor *whole;           /* that they are packed of */
    int32_t a_zero;
    const int32_t *b_zero, *a_sum; /* per column; per row, or NULL */
    const requant *q;
} bytes_product;

/* Packs b (K,N) into p, whose memory is there. */
static void matrix_pack(const void *b, uint8_t flip, bytes_packed *p)
{
    int32_t *sums = (int32_t *)(uintptr_t)p->sums;
    CPU_NAME(clv__bytes_panels)
    (b, p->n, p->n, p->k, flip, (uint8_t *)(uintptr_t)p->panels);
    memset(sums, 0, (size_t)p->n * sizeof *sums);
    for (int64_t d = 0; d < p->k; d++) {
        const uint8_t *row = (const uint8_t *)b + d * p->n;
        for (int64_t i = 0; i < p->n; i++)
            sums[i] += (int8_t)(row[i] ^ flip);
    }
}

static bool matrix_room(bytes_packed *p, int64_t k, int64_t n, arena *mem)
{
    int64_t deep = bytes_up(k, STEP);
    *p = (bytes_packed){
        .n = n,
        .k = k,
        .deep = deep,
        .panels = CPU_NAME(clv__bytes_array)(mem, bytes_up(n, WIDE) * deep),
        .sums = arena_array(mem, (size_t)n + 1, sizeof *p->sums)};
    return p->panels && p->sums;
}

const bytes_packed *CPU_NAME(clv__bytes_pack)(const void *b, clv_dtype type,
                                              int64_t k, int64_t n, arena *mem)
{
    if (!CPU_NAME(clv__bytes_fast)())
        return NULL;
    bytes_packed *p = arena_alloc(mem, sizeof *p);
    if (!p || !matrix_room(p, k, n, mem))
        return NULL;
    matrix_pack(b, type == CLV_INT8 ? 0 : 0x80, p);
    return p;
}

static const bytes_packed *bytes_matrix(const clv_tensor *b, arena *mem)
{
    return CPU_NAME(clv__bytes_pack)(b->data, b->dtype, b->dims[0], b->dims[1],
                                     mem);
}

int64_t CPU_NAME(clv__bytes_columns)(int64_t n)
{
    return bytes_up(n, WIDE);
}

void CPU_NAME(clv__bytes_sums)(int64_t m, const uint8_t *a,
                               const bytes_packed *b, int32_t *sum, int64_t ldc)
{
    unsigned_rows(m, a, b->deep, b->panels, (b->n + WIDE - 1) / WIDE,
                  b->deep / STEP, sum, ldc);
}

const void *CPU_NAME(clv__bytes_ready)(kernel *k, const clv_tensor *b,
                                       arena *mem)
{
    (void)k;
    return b && b->data && b->rank == 2 && bytes_are(b) && numel(b) &&
                   CPU_NAME(clv__bytes_fast)()
               ? bytes_matrix(b, mem)
               : NULL;
}

/* Row r of a block: sums less the zero points, to y. */
static void product_put(const bytes_product *p, const bytes_packed *b,
                        int64_t r, int64_t first, int64_t n, int32_t *sum)
{
    const int32_t *of = b->sums + first, *z = p->b_zero + first;
    const requant *q = p->q;
    int64_t at = r * p->n + first;
    if (p->a_sum) {
        int32_t a_sum = p->a_sum[r] - (int32_t)p->k * p->a_zero;
        for (int64_t i = 0; i < n; i++)
            sum[i] -= p->a_zero * of[i] + z[i] * a_sum;
    } else if (p->a_zero) {
        for (int64_t i = 0; i < n; i++)
            sum[i] -= p->a_zero * of[i];
    }
    if (!q->factor) {
        memcpy((int32_t *)q->y->data + at, sum, (size_t)n * sizeof *sum);
        return;
    }
    const int32_t *add =
        q->bias ? (const int32_t *)q->bias->data + first : NULL;
    for (int64_t i = 0; add && i < n; i++)
        sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)add[i]);
    const float *factor = q->factor + first;
    if (q->y->dtype == CLV_FLOAT32) {
        float *y = (float *)q->y->data + at;
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)sum[i] * factor[i];
        return;
    }
    uint8_t *y = (uint8_t *)q->y->data + at;
    const float low = q->low - q->zero, high = q->high - q->zero;
    const int32_t zero = (int32_t)q->zero;
    for (int64_t i = 0; i < n; i++)
        y[i] =
            (uint8_t)(v_nearest((float)sum[i] * factor[i], low, high) + zero);
}

/* Items are blocks of rows by ranges of panels, of each matrix. */
static void product_part(void *ctx, int64_t from, int64_t to)
{
    const bytes_product *p = ctx;
    int32_t sum[ROWS * PANELS * WIDE];
    for (int64_t item = from; item < to; item++) {
        int64_t in = item % (p->tall * p->wide),
                of = item / (p->tall * p->wide);
        int64_t i = in % p->tall * ROWS, first = in / p->tall * PANELS * WIDE;
        int64_t rows = p->m - i < ROWS ? p->m - i : ROWS;
        int64_t n = p->n - first < PANELS * WIDE ? p->n - first : PANELS * WIDE;
        const bytes_packed *b = &p->b[of];
        i += of * p->m;
        unsigned_rows(rows, p->a + i * p->deep, p->deep,
                      b->panels + first * p->deep, (n + WIDE - 1) / WIDE,
                      p->deep / STEP, sum, PANELS * WIDE);
        for (int64_t r = 0; r < rows; r++)
            product_put(p, b, i + r, first, n, sum + r * PANELS * WIDE);
    }
}

/* Items are matrices b. */
static void product_pack(void *ctx, int64_t from, int64_t to)
{
    const bytes_product *p = ctx;
    uint8_t flip = bytes_flip(p->whole, true);
    for (int64_t i = from; i < to; i++) {
        bytes_packed one = p->b[i];
        matrix_pack((const uint8_t *)p->whole->data + i * p->k * p->n, flip,
                    &one);
    }
}

/* Packs all matrices b of a product that has no weight. */
static bool product_matrices(kernel *k, bytes_product *p)
{
    bytes_packed *all = arena_array(k->scratch, (size_t)p->batch, sizeof *all);
    for (int64_t i = 0; all && i < p->batch; i++)
        if (!matrix_room(&all[i], p->k, p->n, k->scratch))
            return false;
    p->b = all;
    if (all)
        clv__parallel(k->threads, p->batch, 1 + CPU_GRAIN / (p->k * p->n),
                      product_pack, p);
    return all;
}

/* Zero points of the columns, and sums of rows if one of them is not 0. */
static bool product_zeros(kernel *k, bytes_product *p, const clv_tensor *b,
                          const clv_tensor *zero)
{
    int64_t rows = p->batch * p->m;
    int32_t *z = arena_array(k->scratch, (size_t)(p->n + rows), sizeof *z);
    bool any = false;
    if (!z)
        return false;
    for (int64_t i = 0; i < p->n; i++) {
        z[i] = bytes_zero(b, zero, i, true);
        any |= z[i] != 0;
    }
    p->b_zero = z;
    for (int64_t r = 0; any && r < rows; r++) {
        int32_t sum = 0;
        for (int64_t i = 0; i < p->deep; i++)
            sum += p->a[r * p->deep + i];
        z[p->n + r] = sum;
    }
    p->a_sum = any ? z + p->n : NULL;
    return true;
}

/* The shape of a product; false: it has none that is done here. */
static bool product_shape(const clv_tensor *a, const clv_tensor *b,
                          const requant *q, bytes_product *p)
{
    if (a->rank < 2 || b->rank < 2 || (b->rank > 2 && a->rank != b->rank))
        return false;
    p->k = a->dims[a->rank - 1];
    p->n = b->dims[b->rank - 1];
    p->batch = 1;
    for (uint32_t i = 0; i + 2 < b->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
        p->batch *= b->dims[i];
    }
    if (!p->k || !p->n || !p->batch || b->dims[b->rank - 2] != p->k)
        return false;
    p->m = numel(a) / p->k / p->batch;
    p->deep = bytes_up(p->k, STEP);
    p->tall = (p->m + ROWS - 1) / ROWS;
    p->wide = (p->n + PANELS * WIDE - 1) / (PANELS * WIDE);
    return numel(q->y) == p->batch * p->m * p->n;
}

bool CPU_NAME(clv__bytes_matmul)(kernel *k, const clv_tensor *a,
                                 const clv_tensor *a_zero, const clv_tensor *b,
                                 const clv_tensor *b_zero, const requant *q)
{
    bytes_product p = {.q = q, .whole = b, .b = k->ready};
    if (!CPU_NAME(clv__bytes_fast)() || !bytes_are(a) || !bytes_are(b) ||
        !product_shape(a, b, q, &p) || !bytes_zeros_fit(a, a_zero, 1) ||
        !bytes_zeros_fit(b, b_zero, p.n) || (!p.b && !product_matrices(k, &p)))
        return false;
    p.a_zero = bytes_zero(a, a_zero, 0, false);
    uint8_t flip = bytes_flip(a, false);
    p.a = a->data;
    if (flip || p.deep != p.k) {
        int64_t rows = p.batch * p.m;
        uint8_t *own = CPU_NAME(clv__bytes_array)(k->scratch, rows * p.deep);
        if (!own)
            return false;
        CPU_NAME(clv__bytes_rows)(a->data, rows, p.k, p.deep, flip, own);
        p.a = own;
    }
    if (!product_zeros(k, &p, b, b_zero))
        return false;
    int64_t work = p.batch * p.m * p.n * p.k;
    clv__parallel(work < CPU_GRAIN * 16 ? 1 : k->threads,
                  p.batch * p.tall * p.wide, 1, product_part, &p);
    return true;
}

#else

bool CPU_NAME(clv__bytes_fast)(void)
{
    return false;
}

bool CPU_NAME(clv__bytes_matmul)(kernel *k, const clv_tensor *a,
                                 const clv_tensor *a_zero, const clv_tensor *b,
                                 const clv_tensor *b_zero, const requant *q)
{
    (void)k, (void)a, (void)a_zero, (void)b, (void)b_zero, (void)q;
    return false;
}

const void *CPU_NAME(clv__bytes_ready)(kernel *k, const clv_tensor *b,
                                       arena *mem)
{
    (void)k, (void)b, (void)mem;
    return NULL;
}

const bytes_packed *CPU_NAME(clv__bytes_pack)(const void *b, clv_dtype type,
                                              int64_t k, int64_t n, arena *mem)
{
    (void)b, (void)type, (void)k, (void)n, (void)mem;
    return NULL;
}

int64_t CPU_NAME(clv__bytes_columns)(int64_t n)
{
    return n;
}

void CPU_NAME(clv__bytes_sums)(int64_t m, const uint8_t *a,
                               const bytes_packed *b, int32_t *sum, int64_t ldc)
{
    (void)m, (void)a, (void)b, (void)sum, (void)ldc;
}
#endif

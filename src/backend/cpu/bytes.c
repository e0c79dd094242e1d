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

#include <string.h>

#if defined(__AVX512BW__) && defined(__x86_64__)
#include <immintrin.h>

#define VNNI __attribute__((target("avx512vnni")))

enum {
    HIGH = 12,
    WIDE = 32,
    STEP = 4,     /* depths of one instruction */
    POINTS = 128, /* of a convolution at a time */
    ROWS = 48,    /* of a product at a time */
    PANELS = 8,
    LINE = 64
};

bool CPU_NAME(clv__bytes_fast)(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static int64_t bytes_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by * by;
}

/* `n` bytes of a cache line's alignment. */
static void *bytes_array(arena *mem, int64_t n)
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

/* Panels of `n` columns and `k` rows, which lie `apart` bytes apart. What is
 * missing is 0. */
static void bytes_pack(const uint8_t *b, int64_t apart, int64_t n, int64_t k,
                       uint8_t flip, uint8_t *to)
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

/* Rows of k bytes as rows of `wide`, which are zero behind. */
static void bytes_rows(const uint8_t *x, int64_t rows, int64_t k, int64_t wide,
                       uint8_t flip, uint8_t *to)
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

/* -- zero points ----------------------------------------------------------*/

static bool is_bytes(const clv_tensor *t)
{
    return t->dtype == CLV_UINT8 || t->dtype == CLV_INT8;
}

/* Zero point i of t, whose numbers are held as signed ones, or not. */
static int32_t bytes_zero(const clv_tensor *t, const clv_tensor *zero,
                          int64_t i, bool as_signed)
{
    int32_t z = zero ? (int32_t)get_i(zero, numel(zero) > 1 ? i : 0) : 0;
    return z + (t->dtype == CLV_UINT8 && as_signed   ? -128
                : t->dtype == CLV_INT8 && !as_signed ? 128
                                                     : 0);
}

static uint8_t bytes_flip(const clv_tensor *t, bool as_signed)
{
    return (t->dtype == CLV_INT8) == as_signed ? 0 : 0x80;
}

static bool zeros_fit(const clv_tensor *t, const clv_tensor *zero, int64_t n)
{
    return !zero ||
           (zero->dtype == t->dtype && (numel(zero) == 1 || numel(zero) == n));
}

/* -- convolutions ---------------------------------------------------------*/

typedef struct bytes_conv {
    const conv_job *j;
    const uint8_t *x;
    uint8_t *w; /* (groups * cout, deep), signed */
    uint8_t flip, fill;
    int64_t deep, blocks, items, parts, room_each;
    int32_t x_zero, *w_zero, *w_sum; /* per output channel */
    bool w_zeros;                    /* some w_zero is not 0 */
    uint8_t *room;
    const requant *q;
} bytes_conv;

/* Row (a, b, l) of the columns: n points from `first` on, of one channel. */
static void bytes_tap(const bytes_conv *v, const uint8_t *x, const int64_t *tap,
                      int64_t first, int64_t n, uint8_t *to)
{
    const conv_job *j = v->j;
    while (n > 0) {
        int64_t ow = first % j->out[2], oh = first / j->out[2] % j->out[1];
        int64_t od = first / (j->out[1] * j->out[2]);
        int64_t run = j->out[2] - ow < n ? j->out[2] - ow : n;
        int64_t id = od * j->stride[0] - j->pad[0] + tap[0] * j->dilation[0];
        int64_t ih = oh * j->stride[1] - j->pad[1] + tap[1] * j->dilation[1];
        int64_t iw = ow * j->stride[2] - j->pad[2] + tap[2] * j->dilation[2];
        if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1]) {
            memset(to, v->fill, (size_t)run);
        } else {
            const uint8_t *row = x + (id * j->in[1] + ih) * j->in[2];
            int64_t step = j->stride[2];
            if (step == 1 && iw >= 0 && iw + run <= j->in[2])
                memcpy(to, row + iw, (size_t)run);
            else
                for (int64_t i = 0; i < run; i++, iw += step)
                    to[i] = iw >= 0 && iw < j->in[2] ? row[iw] : v->fill;
        }
        to += run;
        first += run;
        n -= run;
    }
}

static void bytes_columns(const bytes_conv *v, const uint8_t *x, int64_t first,
                          int64_t n, uint8_t *to)
{
    const conv_job *j = v->j;
    for (int64_t ch = 0; ch < j->cin; ch++, x += j->in_plane)
        for (int64_t t = 0; t < j->taps; t++, to += POINTS) {
            const int64_t tap[CONV_AXES] = {t / (j->kernel[2] * j->kernel[1]),
                                            t / j->kernel[2] % j->kernel[1],
                                            t % j->kernel[2]};
            bytes_tap(v, x, tap, first, n, to);
        }
}

/* Takes zero points off the sums of one channel; x_sum is per point. */
static void conv_centre(const bytes_conv *v, int64_t channel,
                        const int32_t *x_sum, int32_t *sum, int64_t n)
{
    int32_t less = v->x_zero * v->w_sum[channel], z = v->w_zero[channel];
    int32_t depth = (int32_t)v->j->depth * v->x_zero;
    if (!z)
        for (int64_t i = 0; i < n; i++)
            sum[i] -= less;
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] -= less + z * (x_sum[i] - depth);
}

/* A block of points of one image and group. */
static void bytes_conv_block(const bytes_conv *v, int64_t item, uint8_t *room)
{
    const conv_job *j = v->j;
    int64_t ng = item / v->blocks, first = item % v->blocks * POINTS;
    int64_t n = j->out_plane - first < POINTS ? j->out_plane - first : POINTS;
    int64_t group = ng % j->groups, panels = (n + WIDE - 1) / WIDE;
    const uint8_t *x = v->x + ng * j->cin * j->in_plane;
    uint8_t *packed = room, *rest = room + v->deep * POINTS;
    int32_t *x_sum = (int32_t *)(void *)rest, *sum = x_sum + POINTS;
    uint8_t *rows = (uint8_t *)(sum + j->cout * POINTS);
    if (j->point) {
        bytes_pack(x + first, j->in_plane, n, j->depth, v->flip, packed);
    } else {
        bytes_columns(v, x, first, n, rows);
        bytes_pack(rows, POINTS, n, j->depth, v->flip, packed);
    }
    const uint8_t *w = v->w + group * j->cout * v->deep;
    signed_rows(j->cout, w, v->deep, packed, panels, v->deep / STEP, sum,
                POINTS);
    if (v->w_zeros)
        signed_rows(1, v->w + j->groups * j->cout * v->deep, v->deep, packed,
                    panels, v->deep / STEP, x_sum, POINTS);
    for (int64_t c = 0; c < j->cout; c++) {
        int64_t channel = group * j->cout + c;
        conv_centre(v, channel, x_sum, sum + c * POINTS, n);
        CPU_NAME(clv__bytes_put)
        (v->q, channel, (ng * j->cout + c) * j->out_plane + first,
         sum + c * POINTS, n);
    }
}

static void bytes_conv_part(void *ctx, int64_t from, int64_t to)
{
    const bytes_conv *v = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = v->items * p / v->parts;
             i < v->items * (p + 1) / v->parts; i++)
            bytes_conv_block(v, i, v->room + p * v->room_each);
}

/* The weights as signed rows, a row of ones behind them, and their sums. */
static bool bytes_weights(kernel *k, bytes_conv *v, const clv_tensor *w,
                          const clv_tensor *zero)
{
    const conv_job *j = v->j;
    int64_t rows = j->groups * j->cout;
    v->w = bytes_array(k->scratch, (rows + 1) * v->deep);
    v->w_zero = arena_array(k->scratch, (size_t)(2 * rows), sizeof(int32_t));
    if (!v->w || !v->w_zero)
        return false;
    v->w_sum = v->w_zero + rows;
    bytes_rows(w->data, rows, j->depth, v->deep, bytes_flip(w, true), v->w);
    memset(v->w + rows * v->deep, 1, (size_t)v->deep);
    for (int64_t r = 0; r < rows; r++) {
        const int8_t *row = (const int8_t *)v->w + r * v->deep;
        int32_t sum = 0;
        for (int64_t i = 0; i < v->deep; i++)
            sum += row[i];
        v->w_sum[r] = sum;
        v->w_zero[r] = bytes_zero(w, zero, r, true);
        v->w_zeros |= v->w_zero[r] != 0;
    }
    return true;
}

bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q)
{
    bytes_conv v = {.j = j, .x = x->data, .q = q};
    if (!CPU_NAME(clv__bytes_fast)() || !is_bytes(x) || !is_bytes(w) ||
        !zeros_fit(x, x_zero, 1) || !zeros_fit(w, w_zero, j->groups * j->cout))
        return false;
    v.deep = bytes_up(j->depth, STEP);
    v.flip = bytes_flip(x, false);
    v.x_zero = bytes_zero(x, x_zero, 0, false);
    v.fill = (uint8_t)(x_zero ? get_i(x_zero, 0) : 0);
    v.blocks = (j->out_plane + POINTS - 1) / POINTS;
    v.items = j->batch * j->groups * v.blocks;
    v.parts =
        4 * (int64_t)k->threads < v.items ? 4 * (int64_t)k->threads : v.items;
    v.room_each = bytes_up(v.deep * POINTS * (j->point ? 1 : 2) +
                               (j->cout + 1) * POINTS * 4,
                           LINE);
    v.room = bytes_array(k->scratch, v.parts * v.room_each);
    if (!v.room || !bytes_weights(k, &v, w, w_zero))
        return false;
    clv__parallel(k->threads, v.parts, 1, bytes_conv_part, &v);
    return true;
}

/* -- products -------------------------------------------------------------*/

typedef struct bytes_product {
    int64_t m, n, k, deep, tall, wide; /* blocks of rows, ranges of panels */
    const uint8_t *a;                  /* (m, deep), unsigned */
    const bytes_packed *b;
    int32_t a_zero;
    const int32_t *b_zero, *a_sum; /* per column; per row, or NULL */
    const requant *q;
} bytes_product;

const bytes_packed *CPU_NAME(clv__bytes_pack)(const void *b, clv_dtype type,
                                              int64_t k, int64_t n, arena *mem)
{
    int64_t deep = bytes_up(k, STEP);
    if (!CPU_NAME(clv__bytes_fast)())
        return NULL;
    bytes_packed *p = arena_alloc(mem, sizeof *p);
    uint8_t *panels = bytes_array(mem, bytes_up(n, WIDE) * deep);
    int32_t *sums = arena_zalloc(mem, (size_t)n * sizeof *sums + 1);
    if (!p || !panels || !sums)
        return NULL;
    uint8_t flip = type == CLV_INT8 ? 0 : 0x80;
    bytes_pack(b, n, n, k, flip, panels);
    for (int64_t d = 0; d < k; d++) {
        const uint8_t *row = (const uint8_t *)b + d * n;
        for (int64_t i = 0; i < n; i++)
            sums[i] += (int8_t)(row[i] ^ flip);
    }
    *p = (bytes_packed){n, k, deep, panels, sums};
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
    return b && b->data && b->rank == 2 && is_bytes(b) && numel(b) &&
                   CPU_NAME(clv__bytes_fast)()
               ? bytes_matrix(b, mem)
               : NULL;
}

/* Row r of a block: sums less the zero points, to y. */
static void product_put(const bytes_product *p, int64_t r, int64_t first,
                        int64_t n, int32_t *sum)
{
    const int32_t *of = p->b->sums + first, *z = p->b_zero + first;
    int32_t a_sum = p->a_sum ? p->a_sum[r] - (int32_t)p->k * p->a_zero : 0;
    for (int64_t i = 0; i < n; i++)
        sum[i] -= p->a_zero * of[i] + z[i] * a_sum;
    if (!p->q->factor) {
        memcpy((int32_t *)p->q->y->data + r * p->n + first, sum,
               (size_t)n * sizeof *sum);
        return;
    }
    uint8_t *y = (uint8_t *)p->q->y->data + r * p->n + first;
    const double *factor = p->q->factor + first;
    for (int64_t i = 0; i < n; i++) {
        double v = __builtin_nearbyint((double)sum[i] * factor[i]) + p->q->zero;
        v = v < p->q->low ? p->q->low : v;
        v = v > p->q->high ? p->q->high : v;
        y[i] = (uint8_t)(int32_t)v;
    }
}

/* Items are blocks of rows by ranges of panels. */
static void product_part(void *ctx, int64_t from, int64_t to)
{
    const bytes_product *p = ctx;
    int32_t sum[ROWS * PANELS * WIDE];
    for (int64_t item = from; item < to; item++) {
        int64_t i = item % p->tall * ROWS,
                first = item / p->tall * PANELS * WIDE;
        int64_t rows = p->m - i < ROWS ? p->m - i : ROWS;
        int64_t n = p->n - first < PANELS * WIDE ? p->n - first : PANELS * WIDE;
        unsigned_rows(rows, p->a + i * p->deep, p->deep,
                      p->b->panels + first * p->deep, (n + WIDE - 1) / WIDE,
                      p->deep / STEP, sum, PANELS * WIDE);
        for (int64_t r = 0; r < rows; r++)
            product_put(p, i + r, first, n, sum + r * PANELS * WIDE);
    }
}

/* Zero points of the columns, and sums of rows if one of them is not 0. */
static bool product_zeros(kernel *k, bytes_product *p, const clv_tensor *b,
                          const clv_tensor *zero)
{
    int32_t *z = arena_array(k->scratch, (size_t)(p->n + p->m), sizeof *z);
    bool any = false;
    if (!z)
        return false;
    for (int64_t i = 0; i < p->n; i++) {
        z[i] = bytes_zero(b, zero, i, true);
        any |= z[i] != 0;
    }
    p->b_zero = z;
    for (int64_t r = 0; any && r < p->m; r++) {
        int32_t sum = 0;
        for (int64_t i = 0; i < p->deep; i++)
            sum += p->a[r * p->deep + i];
        z[p->n + r] = sum;
    }
    p->a_sum = any ? z + p->n : NULL;
    return true;
}

bool CPU_NAME(clv__bytes_matmul)(kernel *k, const clv_tensor *a,
                                 const clv_tensor *a_zero, const clv_tensor *b,
                                 const clv_tensor *b_zero, const requant *q)
{
    bytes_product p = {.q = q};
    if (!CPU_NAME(clv__bytes_fast)() || !is_bytes(a) || !is_bytes(b) ||
        a->rank < 2 || b->rank != 2 || !zeros_fit(a, a_zero, 1) ||
        !zeros_fit(b, b_zero, b->dims[1]))
        return false;
    p.k = a->dims[a->rank - 1];
    p.m = numel(a) / p.k;
    p.n = b->dims[1];
    if (b->dims[0] != p.k || numel(q->y) != p.m * p.n)
        return false;
    p.deep = bytes_up(p.k, STEP);
    p.b = k->ready ? k->ready : bytes_matrix(b, k->scratch);
    p.a_zero = bytes_zero(a, a_zero, 0, false);
    uint8_t flip = bytes_flip(a, false);
    uint8_t *rows = NULL;
    if (flip || p.deep != p.k) {
        rows = bytes_array(k->scratch, p.m * p.deep);
        if (!rows)
            return false;
        bytes_rows(a->data, p.m, p.k, p.deep, flip, rows);
    }
    p.a = rows ? rows : a->data;
    if (!p.b || !product_zeros(k, &p, b, b_zero))
        return false;
    p.tall = (p.m + ROWS - 1) / ROWS;
    p.wide = (p.n + PANELS * WIDE - 1) / (PANELS * WIDE);
    clv__parallel(p.m * p.n * p.k < CPU_GRAIN * 16 ? 1 : k->threads,
                  p.tall * p.wide, 1, product_part, &p);
    return true;
}

#else

bool CPU_NAME(clv__bytes_fast)(void)
{
    return false;
}

bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q)
{
    (void)k, (void)j, (void)x, (void)x_zero, (void)w, (void)w_zero, (void)q;
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

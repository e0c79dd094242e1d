/* nbits.c - products with weights of 4 or 8 bits in blocks, each with a scale.
 *
 * The whole matrix never exists as floats. With few rows of x, codes become
 * floats in registers and are multiplied there: a block adds
 * scale (sum of x code - zero sum of x). With many, columns of the weights
 * become floats a few at a time, on each thread, and are multiplied at once: a
 * tile of rows and columns in registers, both as they lie, or, where the rows
 * are worth packing them, by the common product.
 *
 * A byte holds two codes, those of neighbours. x is parted into its even and
 * odd places first, and so are columns: low halves, then high ones. */
#include "backend/cpu/gemm.h"

#include <string.h>

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)

#if defined(__AVX512F__)
enum { VECTOR = 16, HIGH = 6, WIDE = 4 };
#elif defined(__AVX__)
enum { VECTOR = 8, HIGH = 4, WIDE = 2 };
#else
enum { VECTOR = 4, HIGH = 4, WIDE = 2 };
#endif
enum {
    COLUMNS = 32,  /* that are made at a time */
    FEW_ROWS = 2,  /* for which they are not made */
    MANY_ROWS = 48 /* for which they are packed */
};

typedef float vec __attribute__((vector_size(VECTOR * 4), aligned(4)));
typedef int32_t vec_ints __attribute__((vector_size(VECTOR * 4)));
typedef uint8_t vec_codes __attribute__((vector_size(VECTOR), aligned(1)));

/* By way of integers: gcc takes the elements one by one otherwise. */
static vec vec_of(vec_codes c)
{
    return __builtin_convertvector(__builtin_convertvector(c, vec_ints), vec);
}

typedef struct nbits_job {
    int64_t m, n, k, bits, size, blocks, stride; /* stride: of a row of w */
    int64_t wide; /* of a row of x and of a column: k and zeros behind it */
    int64_t items, parts, room_each;
    const float *x, *scale, *bias;
    const uint8_t *w;
    const clv_tensor *zero;
    const uint8_t *zeros; /* the bytes of zero, if it is bytes */
    const float *codes;   /* what 16 codes stand for; NULL: themselves */
    const float *sums;    /* of x, by row and block; NULL: not needed */
    float *y, *room;
} nbits_job;

/* What the codes of bitsandbytes stand for: floats of 4 bits, or quantiles of
 * the normal distribution. */
static const float bnb_codes[2][16] = {
    {0, 5.208333333e-03f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f,
     -0.0f, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f,
     -0.16666667f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
     0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
     0.7229568362236023f, 1}};

/* Zero point of a block: packed like the weights, rows padded to bytes; or
 * given as a number; or half the range. */
CPU_INLINE float nbits_zero(const nbits_job *j, int64_t row, int64_t block)
{
    if (!j->zero)
        return (float)(1 << (j->bits - 1));
    if (is_float(j->zero->dtype))
        return (float)get_f(j->zero, row * j->blocks + block);
    int64_t per = 8 / j->bits, width = (j->blocks + per - 1) / per;
    int64_t at = row * width + block / per;
    int64_t byte = j->zeros ? j->zeros[at] : get_i(j->zero, at);
    return (float)(byte >> block % per * j->bits & ((1 << j->bits) - 1));
}

/* n codes of 4 bits: those of low halves to `low`, the others to `high`. */
CPU_INLINE void nbits_fours(const uint8_t *restrict w, float *restrict low,
                            float *restrict high, int64_t n, float zero,
                            float scale)
{
    int64_t i = 0;
    for (; i + VECTOR <= n / 2; i += VECTOR) {
        vec_codes c = *(const vec_codes *)(const void *)(w + i);
        *(vec *)(void *)(low + i) = (vec_of(c & 15) - zero) * scale;
        *(vec *)(void *)(high + i) = (vec_of(c >> 4) - zero) * scale;
    }
    for (; i < (n + 1) / 2; i++) {
        low[i] = ((float)(w[i] & 15) - zero) * scale;
        if (i < n / 2)
            high[i] = ((float)(w[i] >> 4) - zero) * scale;
    }
}

/* Even places of a row of x, then odd ones. */
static void nbits_part_row(const float *restrict x, float *restrict to,
                           int64_t k)
{
    int64_t half = (k + 1) / 2;
    for (int64_t i = 0; i < half; i++)
        to[i] = x[2 * i];
    for (int64_t i = 0; i < k / 2; i++)
        to[half + i] = x[2 * i + 1];
}

/* Column o of the weights as floats. */
static void nbits_column(const nbits_job *j, int64_t o, float *to)
{
    for (int64_t p = j->k; p < j->wide; p++)
        to[p] = 0;
    if (j->codes) { /* the high half of a byte comes first; blocks run on */
        for (int64_t p = 0; p < j->k; p++) {
            int64_t at = o * j->stride + p;
            int code = j->w[at / 2] >> (at % 2 ? 0 : 4) & 15;
            to[p] = j->codes[code] * j->scale[at / j->size];
        }
        return;
    }
    for (int64_t b = 0; b * j->size < j->k; b++) {
        int64_t p = b * j->size, n = j->k - p < j->size ? j->k - p : j->size;
        int64_t at = o * j->stride + p;
        float zero = nbits_zero(j, o, b), scale = j->scale[o * j->blocks + b];
        if (j->bits == 4)
            nbits_fours(j->w + at / 2, to + p / 2, to + (j->k + 1) / 2 + p / 2,
                        n, zero, scale);
        else
            for (int64_t i = 0; i < n; i++)
                to[p + i] = ((float)j->w[at + i] - zero) * scale;
    }
}

/* -- few rows -------------------------------------------------------------*/

/* Sums of each block of x, parted. */
static void nbits_sum(const nbits_job *j, float *sums)
{
    int64_t half = j->k / 2, each = j->size / 2;
    for (int64_t r = 0; r < j->m; r++)
        for (int64_t b = 0; b < j->blocks; b++) {
            const float *even = j->x + r * j->wide + b * each,
                        *odd = even + half;
            double sum = 0;
            for (int64_t i = 0; i < each; i++)
                sum += (double)even[i] + (double)odd[i];
            sums[r * j->blocks + b] = (float)sum;
        }
}

/* Output o of `rows` rows of x from r. */
CPU_INLINE void nbits_dots(const nbits_job *j, int64_t o, int64_t r,
                           const int rows)
{
    const int64_t half = j->k / 2, each = j->size / 2;
    const uint8_t *w = j->w + o * j->stride / 2;
    const float *x = j->x + r * j->wide, *sums = j->sums + r * j->blocks;
    vec total[FEW_ROWS] = {{0}};
    float shift[FEW_ROWS] = {0};
    for (int64_t b = 0; b < j->blocks; b++) {
        vec part[FEW_ROWS] = {{0}};
        for (int64_t i = b * each; i < (b + 1) * each; i += VECTOR) {
            vec_codes c = *(const vec_codes *)(const void *)(w + i);
            vec low = vec_of(c & 15);
            vec high = vec_of(c >> 4);
            for (int q = 0; q < rows; q++) {
                const float *at = x + q * j->wide + i;
                part[q] += low * *(const vec *)(const void *)at;
                part[q] += high * *(const vec *)(const void *)(at + half);
            }
        }
        float scale = j->scale[o * j->blocks + b];
        float zero = scale * nbits_zero(j, o, b);
        for (int q = 0; q < rows; q++) {
            total[q] += part[q] * scale;
            shift[q] += zero * sums[q * j->blocks + b];
        }
    }
    for (int q = 0; q < rows; q++) {
        float sum = 0;
        for (int i = 0; i < VECTOR; i++)
            sum += total[q][i];
        j->y[(r + q) * j->n + o] = sum - shift[q] + (j->bias ? j->bias[o] : 0);
    }
}

static void nbits_few(const nbits_job *j, int64_t item)
{
    int64_t first = item * COLUMNS;
    int64_t last = first + COLUMNS < j->n ? first + COLUMNS : j->n;
    for (int64_t o = first; o < last; o++)
        if (j->m == 1)
            nbits_dots(j, o, 0, 1);
        else
            nbits_dots(j, o, 0, 2);
}

/* -- many rows ------------------------------------------------------------*/

/* Outputs (rows,cols) from row r of x and column o, whose floats lie at w. */
CPU_INLINE void nbits_tile(const nbits_job *j, int64_t r, int64_t o,
                           const float *w, const int rows, const int cols)
{
    const float *x = j->x + r * j->wide;
    vec sums[HIGH][WIDE] = {{{0}}};
    for (int64_t i = 0; i < j->wide; i += VECTOR)
        for (int c = 0; c < cols; c++) {
            vec column = *(const vec *)(const void *)(w + c * j->wide + i);
            for (int q = 0; q < rows; q++)
                sums[q][c] +=
                    column * *(const vec *)(const void *)(x + q * j->wide + i);
        }
    for (int q = 0; q < rows; q++)
        for (int c = 0; c < cols; c++) {
            float sum = j->bias ? j->bias[o + c] : 0;
            for (int i = 0; i < VECTOR; i++)
                sum += sums[q][c][i];
            j->y[(r + q) * j->n + o + c] = sum;
        }
}

/* `rows` rows of x from r by n columns from `first`. */
CPU_INLINE void nbits_rows(const nbits_job *j, int64_t r, int64_t first,
                           int64_t n, const float *w, const int rows)
{
    int64_t c = 0;
    for (; c + WIDE <= n; c += WIDE)
        nbits_tile(j, r, first + c, w + c * j->wide, rows, WIDE);
    for (; c < n; c++)
        nbits_tile(j, r, first + c, w + c * j->wide, rows, 1);
}

static void nbits_product(const nbits_job *j, int64_t first, int64_t n,
                          float *room)
{
    float *y = j->y + first;
    for (int64_t r = 0; j->bias && r < j->m; r++)
        for (int64_t c = 0; c < n; c++)
            y[r * j->n + c] = j->bias[first + c];
    gemm(j->m, n, j->k, (cpu_matrix){j->x, j->wide, 1},
         (cpu_matrix){room, 1, j->wide}, y, j->n, j->bias != NULL,
         room + COLUMNS * j->wide);
}

static void nbits_item(const nbits_job *j, int64_t item, float *room)
{
    int64_t first = item * COLUMNS, r = 0;
    int64_t n = j->n - first < COLUMNS ? j->n - first : COLUMNS;
    for (int64_t i = 0; i < n; i++)
        nbits_column(j, first + i, room + i * j->wide);
    if (j->m >= MANY_ROWS) {
        nbits_product(j, first, n, room);
        return;
    }
    for (; r + HIGH <= j->m; r += HIGH)
        nbits_rows(j, r, first, n, room, HIGH);
    for (; r + 2 <= j->m; r += 2)
        nbits_rows(j, r, first, n, room, 2);
    if (r < j->m)
        nbits_rows(j, r, first, n, room, 1);
}

static void nbits_part(void *ctx, int64_t from, int64_t to)
{
    const nbits_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts; i++)
            if (j->sums)
                nbits_few(j, i);
            else
                nbits_item(j, i, j->room + p * j->room_each);
}

/* Scales, zero points and biases are there, and as many as there must be. */
static bool nbits_fits(const kernel *k, const nbits_job *j)
{
    const clv_tensor *w = k->in[1], *scale = k->in[2], *bias = input_of(k, 5);
    bool sizes =
        j->codes ? numel(scale) >= (j->n * j->stride + j->size - 1) / j->size
                 : numel(scale) >= j->n * j->blocks;
    if (j->zero) {
        bool real = is_float(j->zero->dtype);
        int64_t per = 8 / j->bits;
        sizes = sizes &&
                numel(j->zero) >=
                    j->n * (real ? j->blocks : (j->blocks + per - 1) / per);
    }
    return sizes && scale->dtype == CLV_FLOAT32 && w->rank == 2 &&
           j->stride >= j->k && (j->bits == 8 || j->stride % 2 == 0) &&
           (j->bits == 8 || j->size % 2 == 0) &&
           (!bias || (bias->dtype == CLV_FLOAT32 && numel(bias) == j->n)) &&
           numel(&k->out[0]) == j->m * j->n;
}

/* Copies x, parted if columns are, and sums its blocks where few rows pass;
 * false: no memory. */
static bool nbits_prepare(kernel *k, nbits_job *j)
{
    bool parted = j->bits == 4 && !j->codes;
    bool few = parted && j->m <= FEW_ROWS && j->k == j->stride &&
               j->k % j->size == 0 && j->size % (2 * VECTOR) == 0;
    j->wide = (j->k + VECTOR - 1) / VECTOR * VECTOR;
    float *x = arena_array(k->scratch, (size_t)(j->m * j->wide), sizeof *x);
    float *sums =
        few ? arena_array(k->scratch, (size_t)(j->m * j->blocks), sizeof *sums)
            : NULL;
    if (!x || (few && !sums))
        return false;
    for (int64_t r = 0; r < j->m; r++) {
        float *to = x + r * j->wide;
        if (parted)
            nbits_part_row(j->x + r * j->k, to, j->k);
        else
            memcpy(to, j->x + r * j->k, (size_t)j->k * sizeof *to);
        for (int64_t i = j->k; i < j->wide; i++)
            to[i] = 0;
    }
    j->x = x;
    if (few)
        nbits_sum(j, sums);
    j->sums = sums;
    return true;
}

/* x (..,K), w (N,K) in codes, scales, zero points, groups, bias */
bool CPU_NAME(cpu_matmul_nbits)(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = input_of(k, 1), *bias = input_of(k, 5);
    nbits_job j = {.bits = attr_int(k->n, CLV_A_BITS),
                   .size = attr_int(k->n, CLV_A_BLOCK),
                   .x = x->data,
                   .y = k->out[0].data};
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_FLOAT32 || !x->rank ||
        !w || !input_of(k, 2) || input_of(k, 4) || j.size < 1 ||
        (j.bits != 4 && j.bits != 8) || w->rank != 2 ||
        w->dtype != (j.bits == 4 ? CLV_UINT4 : CLV_UINT8))
        return false;
    if (!attr_is(k->n, CLV_A_CODES, "integers"))
        j.codes = bnb_codes[attr_is(k->n, CLV_A_CODES, "nf4")];
    j.k = x->dims[x->rank - 1];
    j.m = numel(x) / j.k;
    j.n = w->dims[0];
    j.stride = w->dims[1];
    j.blocks = (j.stride + j.size - 1) / j.size;
    j.w = w->data;
    j.scale = k->in[2]->data;
    j.zero = j.codes ? NULL : input_of(k, 3);
    j.zeros = j.zero && j.zero->dtype == CLV_UINT8 ? j.zero->data : NULL;
    j.bias = bias ? bias->data : NULL;
    if (!nbits_fits(k, &j) || !nbits_prepare(k, &j))
        return false;
    j.items = (j.n + COLUMNS - 1) / COLUMNS;
    j.parts =
        4 * (int64_t)k->threads < j.items ? 4 * (int64_t)k->threads : j.items;
    j.room_each =
        COLUMNS * j.wide + (j.m < MANY_ROWS ? 0 : gemm_room(j.m, COLUMNS, j.k));
    if (!j.sums)
        j.room = arena_array(k->scratch, (size_t)(j.parts * j.room_each),
                             sizeof *j.room);
    if (!j.sums && !j.room)
        return false;
    clv__parallel(j.n * j.k < CPU_GRAIN ? 1 : k->threads, j.parts, 1,
                  nbits_part, &j);
    return true;
}

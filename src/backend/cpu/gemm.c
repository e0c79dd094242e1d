/* gemm.c - the product of two float matrices.
 *
 * As every fast product: c is made in tiles of HIGH rows by WIDE columns that
 * stay in registers while rows of a and a panel of b (WIDE columns, packed so
 * that it is read in order) pass by. Rows of a are read where they lie, or are
 * packed too where many columns read them. A constant b is packed once, when
 * the model is made; any other is packed DEPTH rows at a time. Few rows are not
 * worth packing b: each is a sum of rows of b, or its products with b's
 * columns.
 */
#include "backend/cpu/gemm.h"

#include <string.h>

#if defined(__AVX512F__)
enum { VECTOR = 16, HIGH = 12 };
#elif defined(__AVX__)
enum { VECTOR = 8, HIGH = 6 };
#else
enum { VECTOR = 4, HIGH = 4 };
#endif
enum {
    WIDE = 2 * VECTOR,
    DEPTH = 256,
    BLOCK = HIGH * 12,
    FEW = 3,            /* rows for which b is not packed */
    MANY_COLUMNS = 512, /* for which rows of a are packed */
    LINE = 16           /* floats of a cache line */
};

typedef float vec __attribute__((vector_size(VECTOR * 4), aligned(4)));

static vec vec_load(const float *p)
{
    return *(const vec *)(const void *)p;
}

/* -- packing --------------------------------------------------------------*/

/* Rows of a from i, HIGH at a time; missing ones are 0. */
static void pack_a(cpu_matrix a, int64_t rows, int64_t depth, float *to)
{
    for (int64_t i = 0; i < rows; i += HIGH) {
        int64_t high = rows - i < HIGH ? rows - i : HIGH;
        const float *p = a.p + i * a.row;
        for (int64_t d = 0; d < depth; d++, to += HIGH)
            for (int64_t r = 0; r < HIGH; r++)
                to[r] = r < high ? p[r * a.row + d * a.col] : 0;
    }
}

/* One panel of WIDE columns of b; missing ones are 0. */
static void gemm_pack_panel(cpu_matrix b, int64_t cols, int64_t depth,
                            float *to)
{
    for (int64_t d = 0; d < depth; d++, to += WIDE) {
        const float *p = b.p + d * b.row;
        if (cols >= WIDE && b.col == 1) {
            memcpy(to, p, WIDE * sizeof *to);
            continue;
        }
        for (int64_t c = 0; c < WIDE; c++)
            to[c] = c < cols ? p[c * b.col] : 0;
    }
}

/* The same of a matrix whose columns are contiguous: STRETCH elements of each
 * column at a time, a cache line. */
static void pack_columns(cpu_matrix b, int64_t cols, int64_t depth, float *to)
{
    enum { STRETCH = 16 };
    int64_t wide = cols < WIDE ? cols : WIDE;
    if (cols < WIDE)
        memset(to, 0, (size_t)(depth * WIDE) * sizeof *to);
    for (int64_t d = 0; d < depth; d += STRETCH) {
        int64_t end = depth - d < STRETCH ? depth : d + STRETCH;
        for (int64_t c = 0; c + 4 <= wide; c += 4) {
            const float *p = b.p + c * b.col;
            float *q = to + c;
            for (int64_t i = d; i < end; i++) {
                q[i * WIDE] = p[i];
                q[i * WIDE + 1] = p[b.col + i];
                q[i * WIDE + 2] = p[2 * b.col + i];
                q[i * WIDE + 3] = p[3 * b.col + i];
            }
        }
        for (int64_t c = wide / 4 * 4; c < wide; c++)
            for (int64_t i = d; i < end; i++)
                to[i * WIDE + c] = b.p[c * b.col + i];
    }
}

static void pack_b(cpu_matrix b, int64_t cols, int64_t depth, float *to)
{
    for (int64_t j = 0; j < cols; j += WIDE, to += depth * WIDE) {
        cpu_matrix at = {b.p + j * b.col, b.row, b.col};
        if (b.row == 1 && b.col != 1)
            pack_columns(at, cols - j, depth, to);
        else
            gemm_pack_panel(at, cols - j, depth, to);
    }
}

/* -- a tile ---------------------------------------------------------------*/

/* Where a tile of c goes, and what is added to it: a row of biases (NULL: none)
 * and what c holds. */
typedef struct gemm_to {
    float *c;
    const float *bias;
    int64_t ldc, high, wide; /* rows and columns that are kept */
    bool add;
} gemm_to;

static void tile_edge(const float *sums, const gemm_to *t)
{
    for (int64_t r = 0; r < t->high; r++) {
        float *c = t->c + r * t->ldc;
        const float *s = sums + r * WIDE;
        if (t->bias)
            for (int64_t w = 0; w < t->wide; w++)
                c[w] = s[w] + t->bias[w] + (t->add ? c[w] : 0);
        else
            for (int64_t w = 0; w < t->wide; w++)
                c[w] = s[w] + (t->add ? c[w] : 0);
    }
}

/* `high` rows by `vecs` vectors of sums over `depth`. The first three are
 * constants at every call, so that the sums stay in registers. */
CPU_INLINE void tile_sums(const int high, const int vecs, const int64_t a_col,
                          const float *a, int64_t a_row, const float *b,
                          int64_t depth, const gemm_to *t)
{
    vec sum[HIGH][2];
    for (int r = 0; r < high; r++)
        sum[r][0] = sum[r][1] = (vec){0};
    for (int64_t d = 0; d < depth; d++, a += a_col, b += WIDE) {
        vec b0 = vec_load(b), b1 = b0;
        if (vecs > 1)
            b1 = vec_load(b + VECTOR);
        for (int r = 0; r < high; r++) {
            sum[r][0] += a[r * a_row] * b0;
            if (vecs > 1)
                sum[r][1] += a[r * a_row] * b1;
        }
    }
    if (vecs == 1 || t->wide < WIDE || t->high < high) {
        float room[HIGH * WIDE];
        for (int r = 0; r < high; r++) {
            memcpy(room + r * WIDE, &sum[r][0], sizeof(vec));
            memcpy(room + r * WIDE + VECTOR, &sum[r][1], sizeof(vec));
        }
        tile_edge(room, t);
        return;
    }
    vec add0 = {0}, add1 = {0};
    if (t->bias) {
        add0 = vec_load(t->bias);
        add1 = vec_load(t->bias + VECTOR);
    }
    for (int r = 0; r < high; r++) {
        vec *p = (vec *)(void *)(t->c + r * t->ldc);
        vec *q = (vec *)(void *)(t->c + r * t->ldc + VECTOR);
        *p = t->add ? *p + sum[r][0] + add0 : sum[r][0] + add0;
        *q = t->add ? *q + sum[r][1] + add1 : sum[r][1] + add1;
    }
}

/* Packed rows of a: HIGH of them side by side. */
static void tile_packed(const float *a, const float *b, int64_t depth,
                        const gemm_to *t)
{
    if (t->wide <= VECTOR)
        tile_sums(HIGH, 1, HIGH, a, 1, b, depth, t);
    else
        tile_sums(HIGH, 2, HIGH, a, 1, b, depth, t);
}

/* Rows of a as they lie. */
#define TILE_ROWS(high) \
    static void tile_rows_##high(const float *a, int64_t a_row, \
                                 const float *b, int64_t depth, \
                                 const gemm_to *t) \
    { \
        if (t->wide <= VECTOR) \
            tile_sums(high, 1, 1, a, a_row, b, depth, t); \
        else \
            tile_sums(high, 2, 1, a, a_row, b, depth, t); \
    }
TILE_ROWS(2)
TILE_ROWS(4)
#if defined(__AVX512F__)
TILE_ROWS(8)
TILE_ROWS(12)
#elif defined(__AVX__)
TILE_ROWS(6)
#endif

/* One row: four sums side by side, as one would wait for itself. */
static void tile_row(const float *a, int64_t a_row, const float *b,
                     int64_t depth, const gemm_to *t)
{
    (void)a_row;
    vec sum[4][2] = {{{0}}};
    float room[WIDE];
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4, b += 4 * WIDE)
        for (int i = 0; i < 4; i++) {
            sum[i][0] += a[d + i] * vec_load(b + i * WIDE);
            sum[i][1] += a[d + i] * vec_load(b + i * WIDE + VECTOR);
        }
    for (; d < depth; d++, b += WIDE) {
        sum[0][0] += a[d] * vec_load(b);
        sum[0][1] += a[d] * vec_load(b + VECTOR);
    }
    vec low = sum[0][0] + sum[1][0] + (sum[2][0] + sum[3][0]);
    vec high = sum[0][1] + sum[1][1] + (sum[2][1] + sum[3][1]);
    memcpy(room, &low, sizeof low);
    memcpy(room + VECTOR, &high, sizeof high);
    tile_edge(room, t);
}

typedef void tile_fn(const float *a, int64_t a_row, const float *b,
                     int64_t depth, const gemm_to *t);

static const struct {
    int64_t high;
    tile_fn *fn;
} tile_table[] = {
#if defined(__AVX512F__)
    {12, tile_rows_12}, {8, tile_rows_8},
#elif defined(__AVX__)
    {6, tile_rows_6},
#endif
    {4, tile_rows_4},   {2, tile_rows_2}, {1, tile_row},
};

/* The tiles of rows of a by one panel; `packed` says how the rows lie. */
static void gemm_down(int64_t rows, cpu_matrix a, bool packed, const float *b,
                      int64_t depth, gemm_to t)
{
    for (int64_t i = 0; packed && i < rows; i += HIGH) {
        t.high = rows - i < HIGH ? rows - i : HIGH;
        tile_packed(a.p + i * depth, b, depth, &t);
        t.c += HIGH * t.ldc;
    }
    for (int of = 0; !packed && rows > 0; of++)
        for (t.high = tile_table[of].high; rows >= t.high; rows -= t.high) {
            tile_table[of].fn(a.p, a.row, b, depth, &t);
            a.p += t.high * a.row;
            t.c += t.high * t.ldc;
        }
}

/* A block of c over packed panels of b, which lie `apart` floats apart. */
static void gemm_block(int64_t rows, int64_t n, int64_t depth, cpu_matrix a,
                       bool packed, const float *b, int64_t apart, gemm_to t)
{
    float *c = t.c;
    const float *bias = t.bias;
    for (int64_t j = 0; j < n; j += WIDE, b += apart) {
        t.c = c + j;
        t.bias = bias ? bias + j : NULL;
        t.wide = n - j < WIDE ? n - j : WIDE;
        gemm_down(rows, a, packed, b, depth, t);
    }
}

/* Whether rows of a are worth packing: many columns read them, or they lie so
 * that they push each other out of the cache. */
static bool packs_rows(int64_t m, int64_t n, cpu_matrix a)
{
    return a.col != 1 || (m >= 2 * HIGH && n >= MANY_COLUMNS) ||
           (m > FEW && n > 2 * WIDE && a.row % 1024 == 0);
}

/* -- few rows -------------------------------------------------------------*/

/* c = a b for one row, b by rows. */
static void row_by_rows(int64_t n, int64_t k, const float *a, int64_t a_col,
                        const float *b, int64_t ldb, float *restrict c)
{
    int64_t d = 0;
    for (; d + 4 <= k; d += 4) {
        const float *b0 = b + d * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb,
                    *b3 = b2 + ldb;
        float a0 = a[d * a_col], a1 = a[(d + 1) * a_col],
              a2 = a[(d + 2) * a_col], a3 = a[(d + 3) * a_col];
        for (int64_t j = 0; j < n; j++)
            c[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
    for (; d < k; d++)
        for (int64_t j = 0; j < n; j++)
            c[j] += a[d * a_col] * b[d * ldb + j];
}

static float vec_sum(vec v)
{
    float s = 0;
    for (int i = 0; i < VECTOR; i++)
        s += v[i];
    return s;
}

/* c[j] += a . column j of b, four columns at a time. */
static void row_by_columns(int64_t n, int64_t k, const float *a, const float *b,
                           int64_t ldb, float *restrict c)
{
    for (int64_t j = 0; j < n; j += 4) {
        int64_t left = n - j;
        const float *b0 = b + j * ldb, *b1 = left > 1 ? b0 + ldb : b0,
                    *b2 = left > 2 ? b1 + ldb : b0,
                    *b3 = left > 3 ? b2 + ldb : b0;
        vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        int64_t d = 0;
        for (; d + VECTOR <= k; d += VECTOR) {
            vec v = vec_load(a + d);
            s0 += v * vec_load(b0 + d);
            s1 += v * vec_load(b1 + d);
            s2 += v * vec_load(b2 + d);
            s3 += v * vec_load(b3 + d);
        }
        float t[4] = {vec_sum(s0), vec_sum(s1), vec_sum(s2), vec_sum(s3)};
        for (; d < k; d++) {
            t[0] += a[d] * b0[d];
            t[1] += a[d] * b1[d];
            t[2] += a[d] * b2[d];
            t[3] += a[d] * b3[d];
        }
        for (int64_t i = 0; i < 4 && i < left; i++)
            c[j + i] += t[i];
    }
}

static bool few_rows(int64_t m, cpu_matrix a, cpu_matrix b)
{
    return m <= FEW && (b.col == 1 || (b.row == 1 && a.col == 1));
}

static void gemm_few(int64_t m, int64_t n, int64_t k, cpu_matrix a,
                     cpu_matrix b, float *c, int64_t ldc)
{
    for (int64_t i = 0; i < m && clv__in_time(n * k); i++)
        if (b.col == 1)
            row_by_rows(n, k, a.p + i * a.row, a.col, b.p, b.row, c + i * ldc);
        else
            row_by_columns(n, k, a.p + i * a.row, b.p, b.col, c + i * ldc);
}

/* Whether c is one column without gaps. It is then a row, that of b' a', and a
 * is read once as it lies. */
static bool one_column(int64_t m, int64_t n, cpu_matrix a, cpu_matrix b,
                       int64_t ldc)
{
    return n == 1 && ldc == 1 && m > 1 &&
           (a.row == 1 || (a.col == 1 && b.row == 1));
}

static cpu_matrix gemm_turned(cpu_matrix a)
{
    return (cpu_matrix){a.p, a.col, a.row};
}

static void clear_rows(int64_t m, int64_t n, const float *bias, float *c,
                       int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * ldc + j] = bias ? bias[j] : 0;
}

/* -- all of it ------------------------------------------------------------*/

static int64_t round_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by * by;
}

static float *gemm_line(float *p)
{
    uintptr_t at = (uintptr_t)p, line = LINE * sizeof *p;
    return p + ((at + line - 1) / line * line - at) / sizeof *p;
}

int64_t CPU_NAME(clv__gemm_room)(int64_t m, int64_t n, int64_t k)
{
    int64_t depth = k < DEPTH ? k : DEPTH;
    int64_t rows = m < BLOCK ? round_up(m, HIGH) : BLOCK;
    return depth * (rows + round_up(n, WIDE)) + LINE;
}

void CPU_NAME(clv__gemm)(int64_t m, int64_t n, int64_t k, cpu_matrix a,
                         cpu_matrix b, float *c, int64_t ldc, bool add,
                         float *room)
{
    if (one_column(m, n, a, b, ldc)) {
        CPU_NAME(clv__gemm)
        (1, m, k, gemm_turned(b), gemm_turned(a), c, m, add, room);
        return;
    }
    if (few_rows(m, a, b) || k == 0) {
        if (!add)
            clear_rows(m, n, NULL, c, ldc);
        gemm_few(m, n, k, a, b, c, ldc);
        return;
    }
    bool packs = packs_rows(m, n, a);
    for (int64_t d = 0; d < k; d += DEPTH) {
        int64_t depth = k - d < DEPTH ? k - d : DEPTH;
        float *panels = gemm_line(room);
        float *block = panels + depth * round_up(n, WIDE);
        pack_b((cpu_matrix){b.p + d * b.row, b.row, b.col}, n, depth, panels);
        for (int64_t i = 0; i < m && clv__in_time(BLOCK * n); i += BLOCK) {
            int64_t rows = m - i < BLOCK ? m - i : BLOCK;
            cpu_matrix part = {a.p + i * a.row + d * a.col, a.row, a.col};
            if (packs) {
                pack_a(part, rows, depth, block);
                part.p = block;
            }
            gemm_block(
                rows, n, depth, part, packs, panels, depth * WIDE,
                (gemm_to){.c = c + i * ldc, .ldc = ldc, .add = add || d > 0});
        }
    }
}

/* -- on several threads ---------------------------------------------------*/

/* A product is cut into `tall` blocks of rows and `wide` ranges of panels. */
typedef struct gemm_job {
    int64_t m, n, k, ldc, at, depth, apart;
    cpu_matrix a, b;
    const float *bias, *ready;      /* b's panels, if they are k deep */
    float *c, *panels, *blocks;     /* of b; of a, one per block of rows */
    int64_t block_rows, tall, wide; /* rows of a block; blocks down, across */
    bool packs;
} gemm_job;

static void job_pack_b(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    int64_t first = from * WIDE, last = to * WIDE < j->n ? to * WIDE : j->n;
    pack_b((cpu_matrix){j->b.p + j->at * j->b.row + first * j->b.col, j->b.row,
                        j->b.col},
           last - first, j->depth, j->panels + first * j->depth);
}

static cpu_matrix job_rows(const gemm_job *j, int64_t i)
{
    return (cpu_matrix){j->a.p + i * j->a.row + j->at * j->a.col, j->a.row,
                        j->a.col};
}

static void job_pack_a(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    for (int64_t t = from; t < to; t++) {
        int64_t i = t * j->block_rows;
        int64_t rows = j->m - i < j->block_rows ? j->m - i : j->block_rows;
        pack_a(job_rows(j, i), rows, j->depth, j->blocks + i * j->depth);
    }
}

static void job_blocks(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    int64_t panels = (j->n + WIDE - 1) / WIDE;
    for (int64_t item = from; item < to && !clv__late(); item++) {
        int64_t t = item % j->tall, s = item / j->tall;
        int64_t i = t * j->block_rows, first = panels * s / j->wide * WIDE;
        int64_t last = panels * (s + 1) / j->wide * WIDE;
        int64_t rows = j->m - i < j->block_rows ? j->m - i : j->block_rows;
        cpu_matrix a = job_rows(j, i);
        last = last < j->n ? last : j->n;
        if (j->packs)
            a.p = j->blocks + i * j->depth;
        gemm_block(rows, last - first, j->depth, a, j->packs,
                   j->panels + first / WIDE * j->apart, j->apart,
                   (gemm_to){.c = j->c + i * j->ldc + first,
                             .ldc = j->ldc,
                             .bias = j->bias && !j->at ? j->bias + first : NULL,
                             .add = j->at > 0});
    }
}

/* Columns of a product of few rows. */
static void job_few(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    cpu_matrix b = {j->b.p + from * j->b.col, j->b.row, j->b.col};
    clear_rows(j->m, to - from, j->bias ? j->bias + from : NULL, j->c + from,
               j->ldc);
    gemm_few(j->m, to - from, j->k, j->a, b, j->c + from, j->ldc);
}

static float *gemm_array(arena *mem, int64_t n)
{
    float *p = arena_array(mem, (size_t)n + LINE, sizeof *p);
    return p ? gemm_line(p) : NULL;
}

/* Multiplies by depths of b: DEPTH rows of it that are packed each time, or,
 * where they are ready, as many as the cache holds. */
static bool gemm_run(kernel *kn, gemm_job *j)
{
    int64_t panels = (j->n + WIDE - 1) / WIDE;
    int64_t most = j->ready ? (j->m > HIGH ? 4 * DEPTH : j->k) : DEPTH;
    int64_t depth = j->k < most ? j->k : most;
    j->packs = packs_rows(j->m, j->n, j->a);
    if (!j->ready &&
        !(j->panels = gemm_array(kn->scratch, panels * WIDE * depth)))
        return false;
    if (j->packs &&
        !(j->blocks = gemm_array(kn->scratch, round_up(j->m, HIGH) * depth)))
        return false;
    j->block_rows = j->m < BLOCK ? round_up(j->m, HIGH) : BLOCK;
    j->tall = (j->m + j->block_rows - 1) / j->block_rows;
    int64_t want = (int64_t)kn->threads * 4;
    j->wide = j->tall >= want ? 1 : (want + j->tall - 1) / j->tall;
    j->wide = j->wide < panels ? j->wide : panels;
    int64_t grain = j->m * j->n * j->k < 100000 ? j->tall * j->wide : 1;
    for (j->at = 0; j->at < j->k; j->at += depth) {
        j->depth = j->k - j->at < depth ? j->k - j->at : depth;
        if (j->ready) {
            j->panels = (float *)(uintptr_t)(j->ready + j->at * WIDE);
            j->apart = j->k * WIDE;
        } else {
            j->apart = j->depth * WIDE;
            clv__parallel(kn->threads, panels, 1 + CPU_GRAIN / j->apart,
                          job_pack_b, j);
        }
        if (j->packs)
            clv__parallel(kn->threads, j->tall,
                          1 + CPU_GRAIN / (j->block_rows * j->depth),
                          job_pack_a, j);
        clv__parallel(kn->threads, j->tall * j->wide, grain, job_blocks, j);
    }
    return true;
}

bool CPU_NAME(clv__gemm_all)(kernel *kn, int64_t m, int64_t n, int64_t k,
                             cpu_matrix a, cpu_matrix b, const float *bias,
                             float *c, int64_t ldc)
{
    if (!bias && one_column(m, n, a, b, ldc))
        return CPU_NAME(clv__gemm_all)(kn, 1, m, k, gemm_turned(b),
                                       gemm_turned(a), NULL, c, m);
    gemm_job j = {.m = m,
                  .n = n,
                  .k = k,
                  .ldc = ldc,
                  .a = a,
                  .b = b,
                  .bias = bias,
                  .c = c};
    if (few_rows(m, a, b) || k == 0) {
        clv__parallel(kn->threads, n, 4 + CPU_GRAIN / (k + 1), job_few, &j);
        return true;
    }
    return gemm_run(kn, &j);
}

/* -- b packed once --------------------------------------------------------*/

bool CPU_NAME(clv__gemm_pack)(kernel *kn, arena *mem, int64_t n, int64_t k,
                              cpu_matrix b, cpu_packed *to)
{
    int64_t panels = (n + WIDE - 1) / WIDE;
    gemm_job j = {.n = n, .k = k, .depth = k, .b = b};
    if (n < 1 || k < 1 || panels > INT64_MAX / WIDE / k / 8 ||
        !(j.panels = gemm_array(mem, panels * WIDE * k)))
        return false;
    clv__parallel(kn->threads, panels, 1 + CPU_GRAIN / (WIDE * k), job_pack_b,
                  &j);
    *to = (cpu_packed){.n = n, .k = k, .wide = WIDE, .panels = j.panels};
    return true;
}

bool CPU_NAME(clv__gemm_ready)(kernel *kn, int64_t m, cpu_matrix a,
                               const cpu_packed *b, const float *bias, float *c,
                               int64_t ldc)
{
    gemm_job j = {.m = m,
                  .n = b->n,
                  .k = b->k,
                  .ldc = ldc,
                  .a = a,
                  .bias = bias,
                  .c = c,
                  .ready = b->panels};
    return gemm_run(kn, &j);
}

void CPU_NAME(clv__gemm_onto)(int64_t m, cpu_matrix a, const cpu_packed *b,
                              int64_t first, int64_t n, float *c, int64_t ldc)
{
    gemm_block(m, n, b->k, a, false, b->panels + first / WIDE * b->k * WIDE,
               b->k * WIDE, (gemm_to){.c = c + first, .ldc = ldc, .add = true});
}

/* gemm.c - the product of two float matrices.
 *
 * As every fast product: c is made in tiles of HIGH rows by WIDE columns that
 * stay in registers while a panel of a (HIGH rows) and a panel of b (WIDE
 * columns), both packed so that they are read in order, pass by. Panels are
 * DEPTH long so that those of b stay in the first cache, and a block of BLOCK
 * rows of a in the second. Few rows are not worth packing b: each is a sum of
 * rows of b, or its products with b's columns. */
#include "backend/cpu/gemm.h"

#include <string.h>

#if defined(__AVX512F__)
enum { VECTOR = 16, HIGH = 12 };
#elif defined(__AVX__)
enum { VECTOR = 8, HIGH = 6 };
#else
enum { VECTOR = 4, HIGH = 4 };
#endif
enum { WIDE = 2 * VECTOR, DEPTH = 256, BLOCK = HIGH * 12, FEW = 3 };

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

/* HIGH by WIDE sums over `depth`; high and wide are what is kept of them. */
static void gemm_tile(const float *a, const float *b, int64_t depth, float *c,
                      int64_t ldc, int64_t high, int64_t wide, bool add)
{
    vec sum[HIGH][2];
    for (int r = 0; r < HIGH; r++)
        sum[r][0] = sum[r][1] = (vec){0};
    for (int64_t d = 0; d < depth; d++, a += HIGH, b += WIDE) {
        vec b0 = vec_load(b), b1 = vec_load(b + VECTOR);
        for (int r = 0; r < HIGH; r++) {
            sum[r][0] += a[r] * b0;
            sum[r][1] += a[r] * b1;
        }
    }
    if (high == HIGH && wide == WIDE) {
        for (int r = 0; r < HIGH; r++) {
            vec *p = (vec *)(void *)(c + r * ldc);
            vec *q = (vec *)(void *)(c + r * ldc + VECTOR);
            *p = add ? *p + sum[r][0] : sum[r][0];
            *q = add ? *q + sum[r][1] : sum[r][1];
        }
        return;
    }
    float room[HIGH][WIDE];
    memcpy(room, sum, sizeof room);
    for (int64_t r = 0; r < high; r++)
        for (int64_t w = 0; w < wide; w++)
            c[r * ldc + w] = room[r][w] + (add ? c[r * ldc + w] : 0);
}

/* A block of c over packed panels of b. */
static void gemm_block(int64_t rows, int64_t n, int64_t depth, const float *a,
                       const float *b, float *c, int64_t ldc, bool add)
{
    for (int64_t j = 0; j < n; j += WIDE)
        for (int64_t i = 0; i < rows; i += HIGH)
            gemm_tile(a + i * depth, b + j * depth, depth, c + i * ldc + j, ldc,
                      rows - i < HIGH ? rows - i : HIGH,
                      n - j < WIDE ? n - j : WIDE, add);
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

int64_t CPU_NAME(clv__gemm_room)(int64_t m, int64_t n, int64_t k)
{
    int64_t depth = k < DEPTH ? k : DEPTH;
    int64_t rows = m < BLOCK ? round_up(m, HIGH) : BLOCK;
    return depth * (rows + round_up(n, WIDE));
}

void CPU_NAME(clv__gemm)(int64_t m, int64_t n, int64_t k, cpu_matrix a,
                         cpu_matrix b, float *c, int64_t ldc, bool add,
                         float *room)
{
    if (few_rows(m, a, b) || k == 0) {
        if (!add)
            clear_rows(m, n, NULL, c, ldc);
        gemm_few(m, n, k, a, b, c, ldc);
        return;
    }
    for (int64_t d = 0; d < k; d += DEPTH) {
        int64_t depth = k - d < DEPTH ? k - d : DEPTH;
        float *panels = room, *block = room + depth * round_up(n, WIDE);
        pack_b((cpu_matrix){b.p + d * b.row, b.row, b.col}, n, depth, panels);
        for (int64_t i = 0; i < m && clv__in_time(BLOCK * n); i += BLOCK) {
            int64_t rows = m - i < BLOCK ? m - i : BLOCK;
            pack_a((cpu_matrix){a.p + i * a.row + d * a.col, a.row, a.col},
                   rows, depth, block);
            gemm_block(rows, n, depth, block, panels, c + i * ldc, ldc,
                       add || d > 0);
        }
    }
}

/* -- on several threads ---------------------------------------------------*/

typedef struct gemm_job {
    int64_t m, n, k, ldc, depth, at;
    cpu_matrix a, b;
    const float *bias;
    float *c, *panels, *blocks;     /* of b; of a, one per block of rows */
    int64_t block_rows, tall, wide; /* rows of a block; blocks down, across */
    bool add;
} gemm_job;

static void job_pack_b(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    int64_t first = from * WIDE, last = to * WIDE < j->n ? to * WIDE : j->n;
    pack_b((cpu_matrix){j->b.p + j->at * j->b.row + first * j->b.col, j->b.row,
                        j->b.col},
           last - first, j->depth, j->panels + first * j->depth);
}

static void job_pack_a(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    for (int64_t t = from; t < to; t++) {
        int64_t i = t * j->block_rows;
        int64_t rows = j->m - i < j->block_rows ? j->m - i : j->block_rows;
        pack_a((cpu_matrix){j->a.p + i * j->a.row + j->at * j->a.col, j->a.row,
                            j->a.col},
               rows, j->depth, j->blocks + i * j->depth);
    }
}

static void job_blocks(void *ctx, int64_t from, int64_t to)
{
    const gemm_job *j = ctx;
    int64_t panels = (j->n + WIDE - 1) / WIDE;
    for (int64_t item = from; item < to && !clv__late(); item++) {
        int64_t t = item / j->wide, s = item % j->wide;
        int64_t i = t * j->block_rows, first = panels * s / j->wide * WIDE;
        int64_t last = panels * (s + 1) / j->wide * WIDE;
        int64_t rows = j->m - i < j->block_rows ? j->m - i : j->block_rows;
        last = last < j->n ? last : j->n;
        float *c = j->c + i * j->ldc + first;
        if (!j->add && j->bias)
            clear_rows(rows, last - first, j->bias + first, c, j->ldc);
        gemm_block(rows, last - first, j->depth, j->blocks + i * j->depth,
                   j->panels + first * j->depth, c, j->ldc, j->add || j->bias);
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

bool CPU_NAME(clv__gemm_all)(kernel *kn, int64_t m, int64_t n, int64_t k,
                             cpu_matrix a, cpu_matrix b, const float *bias,
                             float *c, int64_t ldc)
{
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
    int64_t depth = k < DEPTH ? k : DEPTH, panels = (n + WIDE - 1) / WIDE;
    j.panels = arena_array(kn->scratch, (size_t)(panels * WIDE * depth),
                           sizeof(float));
    j.blocks = arena_array(kn->scratch, (size_t)(round_up(m, HIGH) * depth),
                           sizeof(float));
    if (!j.panels || !j.blocks)
        return false;
    j.block_rows = m < BLOCK ? round_up(m, HIGH) : BLOCK;
    j.tall = (m + j.block_rows - 1) / j.block_rows;
    int64_t want = (int64_t)kn->threads * 4;
    j.wide = j.tall >= want ? 1 : (want + j.tall - 1) / j.tall;
    j.wide = j.wide < panels ? j.wide : panels;
    int64_t grain = m * n * k < 100000 ? j.tall * j.wide : 1;
    for (j.at = 0; j.at < k; j.at += DEPTH) {
        j.depth = k - j.at < DEPTH ? k - j.at : DEPTH;
        clv__parallel(kn->threads, panels, 1 + CPU_GRAIN / (WIDE * j.depth),
                      job_pack_b, &j);
        clv__parallel(kn->threads, j.tall,
                      1 + CPU_GRAIN / (j.block_rows * j.depth), job_pack_a, &j);
        clv__parallel(kn->threads, j.tall * j.wide, grain, job_blocks, &j);
        j.add = true;
    }
    return true;
}

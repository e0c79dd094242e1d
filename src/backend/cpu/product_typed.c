/* product_typed.c - products of float64 and of integers, which wrap.
 *
 * Tiles of HIGH rows by two vectors of columns stay in registers while a panel
 * of b passes by; b is packed into panels each time. One loop is made for each
 * type. */
#include "backend/cpu/product_typed.h"

#include <string.h>

enum { HIGH = 6, VECS = 2, BLOCK = 48 };

typedef struct typed_job {
    const typed_product *p;
    char *panels;
} typed_job;

static int64_t panels_of(int64_t n, int64_t wide)
{
    return (n + wide - 1) / wide;
}

/* name##_pack: items are panels. name##_blocks: items are blocks of rows.
 * name##_row: one row of a, by rows of b as they lie; items are blocks of
 * columns. */
#define TYPED(name, T) \
    typedef T name##_vec \
        __attribute__((vector_size(CPU_VECTOR), aligned(sizeof(T)))); \
    enum { \
        name##_LANES = CPU_VECTOR / sizeof(T), \
        name##_WIDE = VECS * name##_LANES \
    }; \
    static void name##_pack(void *ctx, int64_t from, int64_t to) \
    { \
        const typed_job *j = ctx; \
        const typed_product *p = j->p; \
        for (int64_t s = from; s < to; s++) { \
            const T *b = (const T *)p->b + s * name##_WIDE * p->b_col; \
            T *out = (T *)(void *)j->panels + s * name##_WIDE * p->k; \
            int64_t n = p->n - s * name##_WIDE; \
            n = n < name##_WIDE ? n : name##_WIDE; \
            for (int64_t r = 0; r < p->k; r++, out += name##_WIDE) \
                for (int64_t c = 0; c < name##_WIDE; c++) \
                    out[c] = c < n ? b[r * p->b_row + c * p->b_col] : 0; \
        } \
    } \
    static inline __attribute__((always_inline)) void name##_tile( \
        const typed_product *p, const T *a, const T *b, int high, T *y, \
        int64_t n) \
    { \
        name##_vec sum[HIGH][VECS]; \
        for (int r = 0; r < high; r++) \
            for (int v = 0; v < VECS; v++) \
                sum[r][v] = (name##_vec){0}; \
        for (int64_t i = 0; i < p->k; i++, b += name##_WIDE) { \
            for (int r = 0; r < high; r++) \
                for (int v = 0; v < VECS; v++) \
                    sum[r][v] += a[r * p->a_row + i * p->a_col] * \
                                 ((const name##_vec *)(const void *)b)[v]; \
        } \
        for (int r = 0; r < high; r++) { \
            T tail[name##_WIDE], *to = n < name##_WIDE ? tail : y + r * p->n; \
            for (int v = 0; v < VECS; v++) \
                ((name##_vec *)(void *)to)[v] = sum[r][v]; \
            if (n < name##_WIDE) \
                memcpy(y + r * p->n, tail, (size_t)n * sizeof(T)); \
        } \
    } \
    static void name##_blocks(void *ctx, int64_t from, int64_t to) \
    { \
        const typed_job *j = ctx; \
        const typed_product *p = j->p; \
        int64_t end = to * BLOCK < p->m ? to * BLOCK : p->m; \
        for (int64_t s = 0; s < panels_of(p->n, name##_WIDE); s++) { \
            const T *b = \
                (const T *)(void *)j->panels + s * name##_WIDE * p->k; \
            int64_t n = p->n - s * name##_WIDE, i = from * BLOCK; \
            n = n < name##_WIDE ? n : name##_WIDE; \
            T *y = (T *)p->y + s * name##_WIDE; \
            for (; i + HIGH <= end && clv__in_time(p->k); i += HIGH) \
                name##_tile(p, (const T *)p->a + i * p->a_row, b, HIGH, \
                            y + i * p->n, n); \
            for (; i < end; i++) \
                name##_tile(p, (const T *)p->a + i * p->a_row, b, 1, \
                            y + i * p->n, n); \
        } \
    } \
    static void name##_row(void *ctx, int64_t from, int64_t to) \
    { \
        const typed_product *p = ((const typed_job *)ctx)->p; \
        const T *a = p->a; \
        T *y = p->y; \
        memset(y + from, 0, (size_t)(to - from) * sizeof(T)); \
        for (int64_t i = 0; i < p->k && clv__in_time(to - from); i++) { \
            const T *restrict b = (const T *)p->b + i * p->b_row; \
            T by = a[i * p->a_col]; \
            for (int64_t c = from; c < to; c++) \
                y[c] += by * b[c]; \
        } \
    }
TYPED(f64, double)
TYPED(w64, uint64_t)
TYPED(w32, uint32_t)

static const struct typed_row {
    clv_dtype type;
    int64_t size, wide;
    parallel_fn *pack, *blocks, *row;
} typed_rows[] = {
#define ROW(dtype, name, T) \
    { \
        CLV_##dtype, sizeof(T), name##_WIDE, name##_pack, name##_blocks, \
            name##_row \
    }
    ROW(FLOAT64, f64, double),  ROW(INT64, w64, uint64_t),
    ROW(UINT64, w64, uint64_t), ROW(INT32, w32, uint32_t),
    ROW(UINT32, w32, uint32_t),
#undef ROW
};

bool CPU_NAME(clv__typed_product)(kernel *k, clv_dtype type,
                                  const typed_product *p)
{
    const struct typed_row *row = NULL;
    typed_job j = {.p = p};
    for (size_t i = 0; i < sizeof typed_rows / sizeof *typed_rows; i++)
        if (typed_rows[i].type == type)
            row = &typed_rows[i];
    if (!row)
        return false;
    if (p->m == 1 && p->b_col == 1) {
        clv__parallel(k->threads, p->n, 4 + CPU_GRAIN / (p->k + 1), row->row,
                      &j);
        return true;
    }
    int64_t panels = panels_of(p->n, row->wide),
            blocks = panels_of(p->m, BLOCK);
    arena_mark mark = arena_save(k->scratch);
    j.panels = arena_array(k->scratch, (size_t)(panels * row->wide * p->k + 1),
                           (size_t)row->size);
    if (!j.panels)
        return false;
    clv__parallel(k->threads, panels, 1 + CPU_GRAIN / (row->wide * (p->k + 1)),
                  row->pack, &j);
    clv__parallel(k->threads, blocks,
                  1 + CPU_GRAIN / (BLOCK * p->n * (p->k + 1)), row->blocks, &j);
    arena_rewind(k->scratch, mark);
    return true;
}

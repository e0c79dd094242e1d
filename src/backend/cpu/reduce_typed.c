/* reduce_typed.c - sums, products, means and extremes of float64 and integers,
 * and what reduce.c has no float32 loop for.
 *
 * x is (outer, gone, inner) elements. A result is kept in a number of type S:
 * a row of the innermost axis is taken in lanes, else whole rows of `inner` are
 * joined to the results. Sums of integers wrap. */
#include "backend/cpu/reduce_typed.h"

#include <math.h>

enum { LANES = 16, COLUMNS = 256 };

/* name: joins `v` (of T) to `s` (of S), which begins as `start`. */
#define JOINS(name, T, S, start, expr) \
    static void name##_rows(void *ctx, int64_t from, int64_t to) \
    { \
        const reduce_typed *j = ctx; \
        for (int64_t r = from; r < to && clv__in_time(j->gone); r++) { \
            const T *x = (const T *)j->x + r * j->gone; \
            S some[LANES]; \
            int64_t i = 0; \
            for (int l = 0; l < LANES; l++) \
                some[l] = (S)(start); \
            for (; i + LANES <= j->gone; i += LANES) \
                for (int l = 0; l < LANES; l++) { \
                    S s = some[l], v = (S)x[i + l]; \
                    some[l] = (S)(expr); \
                } \
            for (; i < j->gone; i++) { \
                S s = some[0], v = (S)x[i]; \
                some[0] = (S)(expr); \
            } \
            name##_end(j, some, (T *)j->y + r); \
        } \
    } \
    static void name##_columns(void *ctx, int64_t from, int64_t to) \
    { \
        const reduce_typed *j = ctx; \
        int64_t blocks = (j->inner + COLUMNS - 1) / COLUMNS; \
        for (int64_t item = from; item < to; item++) { \
            int64_t first = item % blocks * COLUMNS, outer = item / blocks; \
            int64_t n = \
                j->inner - first < COLUMNS ? j->inner - first : COLUMNS; \
            const T *x = (const T *)j->x + outer * j->gone * j->inner + first; \
            T *y = (T *)j->y + outer * j->inner + first; \
            S some[COLUMNS]; \
            for (int64_t c = 0; c < n; c++) \
                some[c] = (S)(start); \
            for (int64_t g = 0; g < j->gone && clv__in_time(n); \
                 g++, x += j->inner) \
                for (int64_t c = 0; c < n; c++) { \
                    S s = some[c], v = (S)x[c]; \
                    some[c] = (S)(expr); \
                } \
            for (int64_t c = 0; c < n; c++) \
                name##_put(j, some[c], y + c); \
        } \
    }

/* The lanes of a row joined, as one result. */
#define ENDS(name, T, S, expr, result) \
    static inline void name##_put(const reduce_typed *j, S s, T *y) \
    { \
        (void)j; \
        *y = (T)(result); \
    } \
    static void name##_end(const reduce_typed *j, const S *some, T *y) \
    { \
        S s = some[0]; \
        for (int l = 1; l < LANES; l++) { \
            S v = some[l]; \
            s = (S)(expr); \
        } \
        name##_put(j, s, y); \
    }

#define REDUCE(name, T, S, start, expr, join, result) \
    ENDS(name, T, S, join, result) \
    JOINS(name, T, S, start, expr)

/* `start` of an extreme is the worst number there is; a NaN stays. */
#define REALS(suffix, T) \
    REDUCE(sum_##suffix, T, double, 0, s + v, s + v, s) \
    REDUCE(mean_##suffix, T, double, 0, s + v, s + v, s / (double)j->gone) \
    REDUCE(prod_##suffix, T, double, 1, s *v, s *v, s) \
    REDUCE(square_##suffix, T, double, 0, s + v * v, s + v, s) \
    REDUCE(length_##suffix, T, double, 0, s + v * v, s + v, sqrt(s)) \
    REDUCE(one_##suffix, T, double, 0, s + fabs(v), s + v, s) \
    REDUCE(log_##suffix, T, double, 0, s + v, s + v, log(s)) \
    REDUCE(most_##suffix, T, T, -INFINITY, v > s || v != v ? v : s, \
           v > s || v != v ? v : s, s) \
    REDUCE(least_##suffix, T, T, INFINITY, v < s || v != v ? v : s, \
           v < s || v != v ? v : s, s)

#define EXTREMES(suffix, T, low, high) \
    REDUCE(most_##suffix, T, T, low, v > s ? v : s, v > s ? v : s, s) \
    REDUCE(least_##suffix, T, T, high, v < s ? v : s, v < s ? v : s, s)

#define WHOLES(suffix, T, U, low, high) \
    REDUCE(sum_##suffix, T, U, 0, s + v, s + v, s) \
    REDUCE(prod_##suffix, T, U, 1, s *v, s *v, s) \
    REDUCE(square_##suffix, T, U, 0, s + v * v, s + v, s) \
    EXTREMES(suffix, T, low, high)

REALS(f64, double)
REDUCE(prod_f32, float, double, 1, s *v, s *v, s)
REDUCE(one_f32, float, double, 0, s + fabs(v), s + v, s)
REDUCE(log_f32, float, double, 0, s + v, s + v, log(s))
WHOLES(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
WHOLES(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
EXTREMES(i8, int8_t, INT8_MIN, INT8_MAX)
EXTREMES(u8, uint8_t, 0, UINT8_MAX)

static const struct typed_row {
    clv_op op;
    clv_dtype type;
    int power; /* of a norm; 0: no norm */
    parallel_fn *rows, *columns;
} typed_rows[] = {
#define ROW(op, type, power, name) \
    { \
        CLV_OP_##op, CLV_##type, power, name##_rows, name##_columns \
    }
#define EXTREME_ROWS(type, suffix) \
    ROW(MAX, type, 0, most_##suffix), ROW(MIN, type, 0, least_##suffix)
#define WHOLE_ROWS(type, suffix) \
    ROW(SUM, type, 0, sum_##suffix), ROW(PROD, type, 0, prod_##suffix), \
        ROW(SUM_SQUARE, type, 0, square_##suffix), EXTREME_ROWS(type, suffix)
    WHOLE_ROWS(FLOAT64, f64),
    ROW(MEAN, FLOAT64, 0, mean_f64),
    ROW(NORM, FLOAT64, 1, one_f64),
    ROW(NORM, FLOAT64, 2, length_f64),
    ROW(LOG_SUM, FLOAT64, 0, log_f64),
    ROW(PROD, FLOAT32, 0, prod_f32),
    ROW(NORM, FLOAT32, 1, one_f32),
    ROW(LOG_SUM, FLOAT32, 0, log_f32),
    WHOLE_ROWS(INT64, i64),
    WHOLE_ROWS(INT32, i32),
    EXTREME_ROWS(INT8, i8),
    EXTREME_ROWS(UINT8, u8),
#undef ROW
};

bool CPU_NAME(clv__reduce_typed)(kernel *k, const reduce_typed *j,
                                 int64_t outer)
{
    clv_op op = (clv_op)k->n->op;
    clv_dtype type = k->in[0]->dtype;
    double power = op == CLV_OP_NORM ? attr_float(k->n, CLV_A_P) : 0;
    for (size_t i = 0; i < sizeof typed_rows / sizeof *typed_rows; i++) {
        const struct typed_row *r = &typed_rows[i];
        if (r->op != op || r->type != type || (double)r->power != power)
            continue;
        if (j->inner == 1)
            clv__parallel(k->threads, outer, 1 + CPU_GRAIN / j->gone, r->rows,
                          (void *)(uintptr_t)j);
        else
            clv__parallel(k->threads,
                          outer * ((j->inner + COLUMNS - 1) / COLUMNS),
                          1 + CPU_GRAIN / (j->gone * COLUMNS), r->columns,
                          (void *)(uintptr_t)j);
        return true;
    }
    return false;
}

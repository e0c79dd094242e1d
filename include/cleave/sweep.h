/* sweep.h - how cost grows with batch, input size or a symbolic dimension: the
 * totals at given points, the exponent they grow with, and exact formulas.
 *
 * A formula is recovered, not derived: the model is opened and counted at a
 * grid of points, the polynomial through them is found in whole numbers, and
 * it must then predict points it has not seen. What is no polynomial (a peak
 * that moves to another layer, a shape that rounds) is refused, with the point
 * at which it differs.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_SWEEP_H
#define CLEAVE_SWEEP_H

#include "cleave/graph.h"

/* The totals: code, key in JSON, name. */
#define CLV_METRIC_TABLE(X) \
    X(PARAMS, "total_params", "Params") \
    X(MACS, "total_macs", "MACs") \
    X(FLOPS, "total_flops", "FLOPs") \
    X(MEMORY, "total_memory", "Bytes moved") \
    X(PEAK, "peak_bytes", "Peak bytes")

typedef enum clv_metric {
#define CLV_X(code, key, name) CLV_METRIC_##code,
    CLV_METRIC_TABLE(CLV_X)
#undef CLV_X
        CLV_METRIC_COUNT
} clv_metric;

CLV_API const char *clv_metric_key(clv_metric m);
CLV_API const char *clv_metric_name(clv_metric m);

typedef enum clv_vary_kind {
    CLV_VARY_BATCH, /* the first axis of every input */
    CLV_VARY_DIM,   /* the symbolic dimension called `name` */
    CLV_VARY_SHAPE  /* axes of one of the given input shapes */
} clv_vary_kind;

/* A variable and the values it takes. */
typedef struct clv_vary {
    clv_vary_kind kind;
    const char *name;      /* "batch", "seq", "side" */
    uint32_t shape;        /* CLV_VARY_SHAPE: which of the shapes, */
    uint32_t axes;         /* and a bit for each of its axes */
    const int64_t *values; /* ascending */
    uint32_t n;
} clv_vary;

enum { CLV_VARY_MAX = 2, CLV_DEGREE_MAX = 4, CLV_TERMS_MAX = 25 };

typedef struct clv_sweep_row {
    int64_t at[CLV_VARY_MAX];
    int64_t total[CLV_METRIC_COUNT];
    double intensity;
} clv_sweep_row;

/* num/den times the first variable to the power of exponent[0], and so on; in
 * lowest terms, den > 0. */
typedef struct clv_term {
    int64_t num, den;
    uint8_t exponent[CLV_VARY_MAX];
} clv_term;

typedef struct clv_formula {
    bool exact; /* else `why` says what is in the way */
    uint32_t n; /* terms, highest power first; 0: the total is 0 */
    clv_term terms[CLV_TERMS_MAX];
    char why[160];
} clv_formula;

typedef struct clv_sweep_info {
    size_t size; /* sizeof(clv_sweep_info) */
    const char *model;
    const clv_vary *vary;
    uint32_t n_vary;
    const clv_sweep_row *rows;
    uint32_t n_rows;
    /* total ~ value^exponent, by least squares on logarithms; with one variable
     * and two values or more, else NaN. */
    double exponent[CLV_METRIC_COUNT];
    const clv_formula *formulas; /* one per metric, NULL: not asked for */
    uint32_t checked;            /* points at which formulas were verified */
    /* Formulas hold for first, first + step, first + 2 * step, ... */
    int64_t first[CLV_VARY_MAX], step[CLV_VARY_MAX];
} clv_sweep_info;

typedef struct clv_sweep clv_sweep;

/* Opens `model` at every point (with two variables, at all pairs). `base` sets
 * all other options. Borrows all arguments, which must outlive the result.
 * Returns a sweep (caller frees with clv_sweep_free); fails as clv_graph_open
 * does, naming the point. */
CLV_API CLV_MUST clv_status clv_sweep_new(const char *model,
                                          const clv_open_opts *base,
                                          const clv_vary *vary, uint32_t n_vary,
                                          bool formula, clv_sweep **out,
                                          clv_err *err);
CLV_API void clv_sweep_free(clv_sweep *s);
CLV_API const clv_sweep_info *clv_sweep_get(const clv_sweep *s);

/* The value of a formula, if it is whole and fits; false otherwise. */
CLV_API bool clv_formula_at(const clv_formula *f, const int64_t *at,
                            uint32_t n_vary, int64_t *out);

#endif

/* check.h - does a model suit a device, and does it stay within its budgets?
 *
 * Two lists of checks over one cut. Suitability: it fits into memory, it can
 * keep half of the compute units busy, its intensity reaches half of the ridge
 * point (so that half of the peak is in reach). Budgets: totals that must not
 * be exceeded, for CI.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_CHECK_H
#define CLEAVE_CHECK_H

#include "cleave/cut.h"
#include "cleave/hardware.h"

typedef enum clv_unit {
    CLV_UNIT_COUNTED,
    CLV_UNIT_BYTES,
    CLV_UNIT_SECONDS,
    CLV_UNIT_RATIO
} clv_unit;

/* Everything that can have a budget: code, key, unit, what it is. */
#define CLV_BUDGET_TABLE(X) \
    X(PARAMS, "params", COUNTED, "parameters") \
    X(MACS, "macs", COUNTED, "multiply-accumulates") \
    X(FLOPS, "flops", COUNTED, "floating-point operations") \
    X(OPERATORS, "operators", COUNTED, "operators") \
    X(SUBGRAPHS, "subgraphs", COUNTED, "subgraphs of the cut") \
    X(UNKNOWN, "unknown", COUNTED, "operators not known") \
    X(WEIGHTS, "weights", BYTES, "stored weights") \
    X(PEAK, "peak", BYTES, "most live activations") \
    X(MEMORY, "memory", BYTES, "weights and peak") \
    X(ARENA, "arena", BYTES, "planned block of activations") \
    X(TRAFFIC, "traffic", BYTES, "bytes moved by the subgraphs") \
    X(LATENCY, "latency", SECONDS, "estimated time on the device")

typedef enum clv_budget_key {
#define CLV_X(code, key, unit, what) CLV_BUDGET_##code,
    CLV_BUDGET_TABLE(CLV_X)
#undef CLV_X
        CLV_BUDGET_COUNT
} clv_budget_key;

typedef struct clv_budget_info {
    size_t size; /* sizeof(clv_budget_info) */
    const char *key;
    clv_unit unit;
    const char *what;
} clv_budget_info;

/* NULL past the last. */
CLV_API const clv_budget_info *clv_budget_at(uint32_t key);

typedef struct clv_budget {
    clv_budget_key key;
    double limit;
} clv_budget;

/* A figure given here wins over the device's; zero: not checked. */
typedef struct clv_check_opts {
    size_t size;              /* sizeof(clv_check_opts) */
    const clv_device *device; /* may be NULL */
    double compute_units;
    double memory; /* bytes */
    double min_intensity;
    const clv_budget *budgets;
    uint32_t n_budgets;
} clv_check_opts;

typedef struct clv_check_item {
    const char *key;  /* "memory_fits", or the key of a budget */
    const char *what; /* in words */
    clv_unit unit;
    double actual, limit;
    bool at_least; /* the limit is a minimum */
    bool passed;
    bool is_budget; /* else a matter of suitability */
    char note[96];  /* what lies behind the number, or "" */
} clv_check_item;

typedef struct clv_check clv_check;

/* Runs the checks that opts asks for. Borrows c; returns (caller frees with
 * clv_check_free). Fails with CLV_USAGE if there is nothing to check, or a
 * budget of time has no device. */
CLV_API CLV_MUST clv_status clv_check_new(const clv_cut *c,
                                          const clv_check_opts *opts,
                                          clv_check **out, clv_err *err);
CLV_API void clv_check_free(clv_check *k);

CLV_API const clv_check_item *clv_check_items(const clv_check *k,
                                              uint32_t *count);
/* Checks that failed. */
CLV_API uint32_t clv_check_failed(const clv_check *k);
CLV_API const clv_cut *clv_check_cut(const clv_check *k);
CLV_API const clv_device *clv_check_device(const clv_check *k); /* or NULL */

#endif

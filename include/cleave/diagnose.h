/* diagnose.h - why a count is not what was expected.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_DIAGNOSE_H
#define CLEAVE_DIAGNOSE_H

#include "cleave/profile.h"

/* Operators of one type that count nothing. */
typedef struct clv_zero_type {
    const char *type;
    uint32_t count;
    const char *why; /* "view", "moves data only", "unknown operator" */
} clv_zero_type;

/* A reading of the graph that comes close to the expected figure. */
typedef struct clv_explanation {
    int64_t flops;    /* the figure under that reading */
    double percent;   /* how far it is from the expected one, signed */
    const char *text; /* "these are MACs: a multiply-add is two FLOPs" */
} clv_explanation;

typedef struct clv_diagnosis_info {
    size_t size;                   /* sizeof(clv_diagnosis_info) */
    int64_t flops, macs, expected; /* expected in FLOPs; 0: none was given */
    double percent;                /* ours against expected, signed */
    bool low;                      /* below 80 % of what was expected */
    bool as_expected;              /* within 2 % of it */
    uint32_t operators, convs, matmuls;
    const clv_zero_type *zeros; /* by type, most operators first */
    uint32_t n_zeros, zero_operators;
    const clv_zero_type *unknowns; /* by original name */
    uint32_t n_unknowns, unknown_operators;
    const clv_explanation *explanations; /* closest first; within 5 % */
    uint32_t n_explanations;
} clv_diagnosis_info;

typedef struct clv_diagnosis clv_diagnosis;

/* Looks for what counts nothing in g and, when `expected_flops` is not 0, for
 * what would explain that figure: another convention, MACs, another batch.
 * Borrows g, which must be inferred and outlive the result. Returns a diagnosis
 * (caller frees with clv_diagnosis_free). */
CLV_API CLV_MUST clv_status clv_diagnosis_new(const clv_graph *g,
                                              int64_t expected_flops,
                                              clv_diagnosis **out,
                                              clv_err *err);
CLV_API void clv_diagnosis_free(clv_diagnosis *d);
CLV_API const clv_diagnosis_info *clv_diagnosis_get(const clv_diagnosis *d);

#endif

/* validate.h - our count beside every other tool's, and why they differ.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_VALIDATE_H
#define CLEAVE_VALIDATE_H

#include "cleave/profile.h"

/* What one operator type adds to the difference between two counts. */
typedef struct clv_difference {
    const char *type;                 /* operator, as in clv_type_total */
    uint32_t count;                   /* operators of that type */
    int64_t ours, theirs, difference; /* FLOPs; ours - theirs */
    const char *reason; /* "max_pool2d: fvcore does not count it" */
} clv_difference;

/* One convention's count. Tools that count a multiply-add once are put on our
 * scale by doubling their multiply-adds; what they count per element (norms,
 * pools) stays as it is. */
typedef struct clv_verdict {
    clv_convention convention;
    const char *tool;   /* "fvcore", "torch FlopCounterMode", ... */
    const char *unit;   /* of total: "MAC" or "FLOP" */
    int64_t total;      /* what the tool prints */
    int64_t flops;      /* the same, multiply-adds as two FLOPs */
    int64_t difference; /* our FLOPs - flops */
    double percent;     /* difference in % of flops; 0 when both are 0 */
    double accuracy;    /* 100 - |percent|, not below 0 */
    const clv_difference *differences; /* largest first, none that is 0 */
    uint32_t n_differences;
} clv_verdict;

typedef struct clv_validation clv_validation;

/* Counts g, which must be inferred, under every convention. Borrows g. Returns
 * a validation (caller frees with clv_validation_free). Fails with CLV_OVERFLOW
 * when a total does not fit 64 bits. */
CLV_API CLV_MUST clv_status clv_validation_new(const clv_graph *g,
                                               clv_validation **out,
                                               clv_err *err);
CLV_API void clv_validation_free(clv_validation *v);

/* Our own count: MACs and FLOPs. */
CLV_API const clv_totals *clv_validation_ours(const clv_validation *v);
/* One per convention, in the order of clv_convention; the first is `full`,
 * which differs from itself in nothing. */
CLV_API const clv_verdict *clv_validation_verdicts(const clv_validation *v,
                                                   uint32_t *count);

#endif

/* count.h - one operator under another tool's rules. */
#ifndef CLV_COUNT_H
#define CLV_COUNT_H

#include "ops/ops.h"

/* How a convention treats an operator. */
typedef enum clv_heed {
    CLV_HEED_COUNTED,
    CLV_HEED_SILENT, /* known to it, and free */
    CLV_HEED_NONE    /* it has no rule and counts zero */
} clv_heed;

typedef struct clv_count {
    const char *kind; /* the tool's name for it; NULL: not counted */
    int64_t total;    /* in the tool's unit */
    int64_t flops;    /* a multiply-add as two FLOPs, the rest as it is */
    clv_heed heed;
} clv_count;

/* The name under which a convention other than `full` counts operator op; ""
 * when it has no rule, or one that is always zero. */
const char *clv__counted_as(clv_op op, clv_convention convention);
/* Whether the convention has rules for convolutions and products alone. */
bool clv__counts_products_only(clv_convention convention);
/* Counts node n under a convention other than `full`. cost is our own count of
 * it. */
clv_count clv__count(const clv_graph *g, const clv_node *n,
                     const clv_cost *cost, clv_convention convention);

#endif

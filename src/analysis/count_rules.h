/* count_rules.h - what a counting rule sees. */
#ifndef CLV_COUNT_RULES_H
#define CLV_COUNT_RULES_H

#include "ops/ops.h"

typedef struct subject {
    const clv_graph *g;
    const clv_node *n;
    const clv_value *x, *y; /* first input, first output */
    const clv_cost *ours;
    const char *kind; /* from the table; a rule may rename it, or set it to
                       * NULL where the tool knows no rule after all */
} subject;

typedef int64_t count_fn(subject *s);

count_fn fvcore_einsum, thop_einsum; /* count_einsum.c */

#endif

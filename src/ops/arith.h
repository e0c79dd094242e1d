/* arith.h - what operators on two numbers compute. */
#ifndef CLV_ARITH_H
#define CLV_ARITH_H

#include "ops/ops.h"

/* Either is NULL where the operator has no such version. Integers wrap, and
 * what is divided by zero is zero. */
typedef struct clv_arith {
    double (*f)(double a, double b);
    int64_t (*i)(int64_t a, int64_t b);
} clv_arith;

/* The row of an operator; NULL when it is none of these. */
const clv_arith *clv__arith(clv_op op);

#endif

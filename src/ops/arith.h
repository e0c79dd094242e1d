/* arith.h - what operators on two numbers compute. */
#ifndef CLV_ARITH_H
#define CLV_ARITH_H

#include "ops/ops.h"

/* f or i is NULL where the operator has no such version. Integers wrap, and
 * what is divided by zero is zero. u is for the bits of uint64 numbers, NULL
 * where they are treated as those of int64 numbers are. */
typedef struct clv_arith {
    double (*f)(double a, double b);
    int64_t (*i)(int64_t a, int64_t b);
    int64_t (*u)(int64_t a, int64_t b);
} clv_arith;

typedef int64_t clv_arith_int_fn(int64_t a, int64_t b);

/* The version of a row for operands of integer type t. */
static inline clv_arith_int_fn *clv__arith_int(const clv_arith *row,
                                               clv_dtype t)
{
    return row->u && t == CLV_UINT64 ? row->u : row->i;
}

/* Returns the row of an operator, or NULL when it has none. */
const clv_arith *clv__arith(clv_op op);

#endif

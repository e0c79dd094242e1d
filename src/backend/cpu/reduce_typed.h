/* reduce_typed.h - reductions of types and kinds that reduce.c has no loop for.
 */
#ifndef CLV_REDUCE_TYPED_H
#define CLV_REDUCE_TYPED_H

#include "backend/cpu/cpu.h"

/* x (outer, gone, inner) -> y (outer, inner), of one type. */
typedef struct reduce_typed {
    const void *x;
    void *y;
    int64_t gone, inner;
} reduce_typed;

#ifdef CPU_LEVEL
/* Reduces by the operator of k; false: there is no loop for it. */
bool CPU_NAME(clv__reduce_typed)(kernel *k, const reduce_typed *j,
                                 int64_t outer);
#endif

#endif

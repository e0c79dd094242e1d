/* half.h - numbers of 16 bits to floats and back, and kernels run on floats in
 * their stead. */
#ifndef CLV_HALF_H
#define CLV_HALF_H

#include "backend/cpu/cpu.h"

#ifdef CPU_LEVEL
/* n numbers of type t, float16 or bfloat16. */
void CPU_NAME(clv__half_decode)(clv_dtype t, const uint16_t *x, float *y,
                                int64_t n);
void CPU_NAME(clv__half_encode)(clv_dtype t, const float *x, uint16_t *y,
                                int64_t n);

/* Runs fn, or packs weights, with floats for all halves; false, or NULL: there
 * are none, or fn would not. */
bool CPU_NAME(clv__half_run)(kernel *k, cpu_fn *fn);
const void *CPU_NAME(clv__half_ready)(kernel *k, cpu_ready_fn *fn, arena *mem);
#endif

#endif

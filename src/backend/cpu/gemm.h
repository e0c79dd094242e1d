/* gemm.h - the product of two float matrices, on one thread or several. */
#ifndef CLV_GEMM_H
#define CLV_GEMM_H

#include "backend/cpu/cpu.h"

/* Element (i, j) lies at p[i * row + j * col]. */
typedef struct cpu_matrix {
    const float *p;
    int64_t row, col;
} cpu_matrix;

#ifdef CPU_LEVEL
/* c (m,n), rows `ldc` apart, = a (m,k) b (k,n), added to what c holds if `add`.
 * `room` holds clv__gemm_room floats. */
void CPU_NAME(clv__gemm)(int64_t m, int64_t n, int64_t k, cpu_matrix a,
                         cpu_matrix b, float *c, int64_t ldc, bool add,
                         float *room);
int64_t CPU_NAME(clv__gemm_room)(int64_t m, int64_t n, int64_t k);

/* The same over the threads of a kernel, with room of its own from scratch;
 * false: no memory. Begins every row of c with `bias`, unless NULL. */
bool CPU_NAME(clv__gemm_all)(kernel *kn, int64_t m, int64_t n, int64_t k,
                             cpu_matrix a, cpu_matrix b, const float *bias,
                             float *c, int64_t ldc);
#endif

#endif

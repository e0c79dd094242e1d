/* gemm.h - the product of two float matrices, on one thread or several. */
#ifndef CLV_GEMM_H
#define CLV_GEMM_H

#include "backend/cpu/cpu.h"

/* Made part of its caller, where its sizes are constants. */
#define CPU_INLINE static inline __attribute__((always_inline))

/* Element (i, j) lies at p[i * row + j * col]. */
typedef struct cpu_matrix {
    const float *p;
    int64_t row, col;
} cpu_matrix;

/* A matrix (k,n) that products read in order: panels of columns, k deep. */
typedef struct cpu_packed {
    int64_t n, k, wide; /* columns of a panel */
    const float *panels;
} cpu_packed;

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

/* Packs b (k,n) in mem; false: no memory. */
bool CPU_NAME(clv__gemm_pack)(kernel *kn, arena *mem, int64_t n, int64_t k,
                              cpu_matrix b, cpu_packed *to);
/* As clv__gemm_all with a packed b. */
bool CPU_NAME(clv__gemm_ready)(kernel *kn, int64_t m, cpu_matrix a,
                               const cpu_packed *b, const float *bias, float *c,
                               int64_t ldc);
/* Adds a (m,k) b to c on one thread: columns first to first + n, which begin a
 * panel. Rows of a are contiguous. */
void CPU_NAME(clv__gemm_onto)(int64_t m, cpu_matrix a, const cpu_packed *b,
                              int64_t first, int64_t n, float *c, int64_t ldc);
#endif

#endif

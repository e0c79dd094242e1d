/* bytes.h - products of bytes with sums of 32 bits, where the processor has
 * instructions for them. */
#ifndef CLV_BYTES_H
#define CLV_BYTES_H

#include "backend/cpu/conv.h"

/* What integer sums become. */
typedef struct requant {
    const clv_tensor *bias; /* int32, or NULL */
    const double *factor;   /* per output channel; NULL: the sums themselves */
    double zero, low, high;
    clv_tensor *y;
} requant;

#ifdef CPU_LEVEL
/* Whether this processor, and this level, multiply bytes. */
bool CPU_NAME(clv__bytes_fast)(void);

/* sum[c] less the products of zero points is what these give to y; see conv.c.
 */
void CPU_NAME(clv__bytes_put)(const requant *q, int64_t channel, int64_t at,
                              const int32_t *sum, int64_t n);

/* The convolution of j with bytes x and w, which have these zero points (NULL:
 * 0); false: it is not done. */
bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q);
/* The product a (..,M,K) b (K,N) with these zero points; `ready` is what
 * clv__bytes_ready made of b, or NULL. */
bool CPU_NAME(clv__bytes_matmul)(kernel *k, const clv_tensor *a,
                                 const clv_tensor *a_zero, const clv_tensor *b,
                                 const clv_tensor *b_zero, const requant *q);
/* Packs b (K,N), a weight. */
const void *CPU_NAME(clv__bytes_ready)(kernel *k, const clv_tensor *b,
                                       arena *mem);
#endif

#endif

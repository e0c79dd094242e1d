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

/* A matrix (K,N) of signed bytes in panels, and the sums of its columns. */
typedef struct bytes_packed {
    int64_t n, k, deep; /* deep: k rounded up to what panels hold */
    const uint8_t *panels;
    const int32_t *sums;
} bytes_packed;

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

/* Packs a matrix b (K,N) of `type`, int8 or uint8; NULL: no memory, or this
 * processor does not multiply bytes. Unsigned numbers become signed, 128 less.
 */
const bytes_packed *CPU_NAME(clv__bytes_pack)(const void *b, clv_dtype type,
                                              int64_t k, int64_t n, arena *mem);
/* sum (m, ldc) = a (m, deep) b on one thread. a is unsigned, zero behind k. ldc
 * is at least clv__bytes_columns(n). */
void CPU_NAME(clv__bytes_sums)(int64_t m, const uint8_t *a,
                               const bytes_packed *b, int32_t *sum,
                               int64_t ldc);
int64_t CPU_NAME(clv__bytes_columns)(int64_t n);
#endif

#endif

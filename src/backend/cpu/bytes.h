/* bytes.h - products of bytes with sums of 32 bits, where the processor has
 * instructions for them. */
#ifndef CLV_BYTES_H
#define CLV_BYTES_H

#include "backend/cpu/conv.h"

/* What integer sums become. */
typedef struct requant {
    const clv_tensor *bias; /* int32, or NULL */
    const float *factor;    /* per output channel; NULL: the sums themselves */
    float zero, low, high;  /* of bytes */
    clv_tensor *y;          /* bytes; floats; or int32 without a factor */
} requant;

/* A matrix (K,N) of signed bytes in panels, and the sums of its columns. */
typedef struct bytes_packed {
    int64_t n, k, deep; /* deep: k rounded up to what panels hold */
    const uint8_t *panels;
    const int32_t *sums;
} bytes_packed;

static inline bool bytes_are(const clv_tensor *t)
{
    return t->dtype == CLV_UINT8 || t->dtype == CLV_INT8;
}

/* Zero point i of t, whose numbers are held as signed ones, or not. */
static inline int32_t bytes_zero(const clv_tensor *t, const clv_tensor *zero,
                                 int64_t i, bool as_signed)
{
    int32_t z = zero ? (int32_t)get_i(zero, numel(zero) > 1 ? i : 0) : 0;
    return z + (t->dtype == CLV_UINT8 && as_signed   ? -128
                : t->dtype == CLV_INT8 && !as_signed ? 128
                                                     : 0);
}

static inline uint8_t bytes_flip(const clv_tensor *t, bool as_signed)
{
    return (t->dtype == CLV_INT8) == as_signed ? 0 : 0x80;
}

static inline bool bytes_zeros_fit(const clv_tensor *t, const clv_tensor *zero,
                                   int64_t n)
{
    return !zero ||
           (zero->dtype == t->dtype && (numel(zero) == 1 || numel(zero) == n));
}

static inline int64_t bytes_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by * by;
}

enum {
    BYTES_WIDE = 32, /* columns of a panel */
    BYTES_STEP = 4   /* depths of one instruction */
};

#ifdef CPU_LEVEL
/* Whether this processor, and this level, multiply bytes. */
bool CPU_NAME(clv__bytes_fast)(void);

/* Gives y, from element `at`, what n sums of one channel become. */
void CPU_NAME(clv__bytes_put)(const requant *q, int64_t channel, int64_t at,
                              const int32_t *sum, int64_t n);

/* -- what products and convolutions are made of (bytes.c) -----------------*/

/* `n` bytes of a cache line's alignment. */
void *CPU_NAME(clv__bytes_array)(arena *mem, int64_t n);
/* Panels of `n` columns and `k` rows, which lie `apart` bytes apart. What is
 * missing is 0; each byte is changed by `flip`. */
void CPU_NAME(clv__bytes_panels)(const uint8_t *b, int64_t apart, int64_t n,
                                 int64_t k, uint8_t flip, uint8_t *to);
/* Rows of k bytes as rows of `wide`, which are zero behind. */
void CPU_NAME(clv__bytes_rows)(const uint8_t *x, int64_t rows, int64_t k,
                               int64_t wide, uint8_t flip, uint8_t *to);
/* Signed rows a by `n` panels of unsigned columns. */
void CPU_NAME(clv__bytes_signed)(int64_t rows, const uint8_t *a, int64_t a_row,
                                 const uint8_t *b, int64_t n, int64_t steps,
                                 int32_t *c, int64_t ldc);

/* -- all of it ------------------------------------------------------------*/

/* The convolution of j with bytes x and w, which have these zero points (NULL:
 * 0); false: it is not done. k->ready is what clv__bytes_conv_ready made of w.
 */
bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q);
/* Packs w (M,C,..), a weight of a convolution. */
const void *CPU_NAME(clv__bytes_conv_ready)(const clv_tensor *w,
                                            const clv_tensor *zero, arena *mem);
/* The product a (..,M,K) b (K,N) with these zero points, or of as many matrices
 * b as a has; k->ready is what clv__bytes_ready made of b, or NULL. */
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

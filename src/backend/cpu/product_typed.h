/* product_typed.h - products of float64 and of integers. */
#ifndef CLV_PRODUCT_TYPED_H
#define CLV_PRODUCT_TYPED_H

#include "backend/cpu/cpu.h"

/* y (m,n), dense, = a (m,k) b (k,n); rows and columns of a and b lie so many
 * elements apart. Nothing is empty but perhaps k. */
typedef struct typed_product {
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    void *y;
} typed_product;

#ifdef CPU_LEVEL
/* Computes p over the threads of k; false: the type has no loop here, or there
 * is no memory. */
bool CPU_NAME(clv__typed_product)(kernel *k, clv_dtype type,
                                  const typed_product *p);
#endif

#endif

/* tensor.h - elements of tensors, and walking over them. */
#ifndef CLV_TENSOR_H
#define CLV_TENSOR_H

#include "cleave/tensor.h"
#include "core/core.h"
#include "tensor/dtype.h"

/* -- elements (element.c) -------------------------------------------------*/

/* Element i as a double, or as an int64_t (whose bits are those of a uint64);
 * a number of the other kind is converted as a cast does, and integers wrap.
 * Beyond the last element there are zeros, and nothing is written. */
double get_f(const clv_tensor *t, int64_t i);
void put_f(clv_tensor *t, int64_t i, double x);
int64_t get_i(const clv_tensor *t, int64_t i);
void put_i(clv_tensor *t, int64_t i, int64_t x);

/* As a cast does: towards zero; what is out of range sticks, and NaN is 0. */
int64_t to_int64(double x);
/* As put_f into a float of 8 bits, but what lies beyond its range becomes
 * infinite or NaN unless `saturate`. */
void put_float8(clv_tensor *t, int64_t i, double x, bool saturate);

/* Copies n elements of x from `from` to y at `to`, converted to y's type. Does
 * nothing unless all of them lie in both. */
void copy_run(clv_tensor *y, int64_t to, const clv_tensor *x, int64_t from,
              int64_t n);

/* An element, by its place. */
typedef struct element {
    const clv_tensor *t;
    int64_t i;
} element;

/* A number that orders the elements of t as their values do, exactly for every
 * type; NaN is the largest. Keys of different types cannot be compared. */
int64_t order_key(const clv_tensor *t, int64_t i);
/* The same for a search: larger means closer to what is sought, which is the
 * smallest element if `least`, else the largest. A NaN is found first. */
int64_t search_key(const clv_tensor *t, int64_t i, bool least);
/* Whether a < b. Integers are compared exactly, whatever their types. */
bool less_than(element a, element b);

/* -- walking (strides.c) --------------------------------------------------*/

int64_t numel(const clv_tensor *t);
/* Row-major strides, in elements. */
void strides_of(const clv_tensor *t, int64_t *strides);
/* Strides with which t is read when broadcast to `rank` axes: 0 along axes it
 * lacks or has once. */
void broadcast_strides(const clv_tensor *t, uint32_t rank, int64_t *strides);
/* Advances idx, the last axis fastest; false after the last. */
bool next_index(int64_t *idx, const int64_t *dims, uint32_t rank);
/* Sum of idx[i] * strides[i]. */
int64_t offset_of(const int64_t *idx, const int64_t *strides, uint32_t rank);
/* Copies elements: out[j] = in[base + idx . strides] over out's shape. */
void copy_strided(clv_tensor *out, const clv_tensor *in, int64_t base,
                  const int64_t *strides);

/* An axis as rows of n elements, `step` apart: element i of row (r, s) is at
 * (r * n + i) * step + s. A scalar is one row of one. */
typedef struct lane {
    int64_t n, step, rows;
} lane;
lane lanes(const clv_tensor *x, uint32_t axis);
/* Where row `row` of rows * step begins. */
int64_t lane_first(const lane *l, int64_t row);

/* -- memory (tensor.c) ----------------------------------------------------*/

/* Bytes of an element of t, of whatever form; 0 where several share one. */
size_t clv__element_bytes(const clv_tensor *t);
bool clv__text_equal(clv_text a, clv_text b);

/* A copy of t's elements into fresh memory; texts and listed tensors stay where
 * they are. */
CLV_MUST clv_status clv__tensor_copy(const clv_tensor *t, clv_tensor *out,
                                     clv_err *e);
/* A copy of t with all its texts and tensors in one fresh block, out->data. */
CLV_MUST clv_status clv__tensor_pack(const clv_tensor *t, clv_tensor *out,
                                     clv_err *e);

#endif

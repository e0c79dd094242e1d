/* kernel.h - what the plain C kernels are built from.
 *
 * A kernel computes one node: it reads dense inputs and writes dense outputs
 * whose shapes are already inferred. Kernels favour plain loops over speed:
 * they are the oracle for every other backend. Elements are read and written
 * through get_f/put_f (any type as double) or get_i/put_i (any type as int64),
 * so one loop serves all types; products have a float32 loop of their own.
 *
 * Integers never pass through double, which holds only 53 bits of them: what is
 * moved goes through copy_run, what is compared through search_key or
 * less_than, what is computed through put_arith or an int64_t lane. */
#ifndef CLV_KERNEL_H
#define CLV_KERNEL_H

#include "core/limits.h"
#include "ops/arith.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

typedef struct kernel {
    const clv_graph *g;
    const clv_node *n;
    const clv_tensor *const *in; /* n->n_in of them; NULL where left out */
    clv_tensor *out;             /* n->n_out; data is NULL if nobody reads it */
    arena *scratch;              /* rewound after the node */
    clv_err *e;
    arena *kept; /* texts, and tensors of lists, that outputs refer to: there
                  * until the next run */
    uint32_t threads;  /* that it may use */
    const void *ready; /* what a fast kernel made of the node's weights when the
                        * model was made; or NULL */
} kernel;

typedef clv_status clv_kernel_fn(kernel *k);

/* The kernel of an operator, NULL when there is none. */
clv_kernel_fn *clv__kernel_of(clv_op op);
/* Whether it takes texts, and whether it makes its outputs and takes lists:
 * MOVES and MAKES of kernels.def. */
bool clv__kernel_moves(clv_op op);
bool clv__kernel_makes(clv_op op);

/* The kernels, declared from their table. */
#define KERNEL(op, fn) clv_kernel_fn fn;
#include "backend/kernels.def"
clv_kernel_fn kernel_binary, kernel_cast; /* of numbers */

/* -- arguments (arguments.c) ----------------------------------------------*/

/* An index of `size`, negative ones from the end; out of range is an error. */
CLV_MUST clv_status checked(const kernel *k, int64_t i, int64_t size,
                            int64_t *out);
/* Fails unless input i, where there is one, has these dimensions: what a shape
 * rule does not look at, a kernel that reads by it must. */
CLV_MUST clv_status sized(const kernel *k, uint32_t i, uint32_t rank,
                          const int64_t *dims);
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
/* The axis attribute, made non-negative for input 0. */
CLV_MUST clv_status axis_of(const kernel *k, uint32_t *axis);
/* The rows of that axis; `rows` is how many there are. */
CLV_MUST clv_status lane_of(const kernel *k, lane *l);
/* A list from attribute `key`, or from the elements of input i. Contents of an
 * input are copied to scratch. Where neither is there, found is false and the
 * list is the schema's default. */
CLV_MUST clv_status list_of(kernel *k, clv_attr_key key, uint32_t i,
                            int_list *list);
/* A number from attribute `key`, or from input i, or the schema's default. */
double number_of(const kernel *k, clv_attr_key key, uint32_t i);

/* A number that keeps its type: a tensor of one element. */
typedef struct scalar_arg {
    clv_tensor t; /* whose data may be `i` or `f` below: do not copy it */
    int64_t i;
    double f;
} scalar_arg;
/* Sets *out to attribute `key`, or to the first element of input i. Returns
 * false, and sets it to the schema's default, where there is neither. */
bool scalar_at(const kernel *k, clv_attr_key key, uint32_t i, scalar_arg *out);
/* The same as an integer. */
int64_t whole_of(const kernel *k, clv_attr_key key, uint32_t i);

/* Makes output o of a kernel that makes its own: type and shape of `like`,
 * zeroed. The caller of the kernel frees its data, also after a failure. */
CLV_MUST clv_status make_output(kernel *k, uint32_t o, const clv_tensor *like);

/* Input i; NULL when it is left out. */
const clv_tensor *input_of(const kernel *k, uint32_t i);
/* Output i; NULL when there is none, or nobody reads it. */
clv_tensor *output_of(const kernel *k, uint32_t i);

/* -- shared by kernels ----------------------------------------------------*/

/* y[at] = a (row) b, exact where all three are integers. `row` must have a
 * version for these types. */
void put_arith(const clv_arith *row, clv_tensor *y, int64_t at, element a,
               element b);

/* Elements `step` apart, the first at `at`. */
typedef struct strip {
    const clv_tensor *t;
    int64_t at, step;
} strip;
/* A sum of products, in double unless all are integers, which wrap. */
typedef struct dot_sum {
    double real;
    uint64_t whole;
} dot_sum;
dot_sum dot(strip a, strip b, int64_t n);
/* Adds a b to a sum, in double if `real`. */
void add_product(dot_sum *sum, bool real, element a, element b);
/* y[at] = alpha * sum + beta * c; no c: c.t is NULL. */
void put_affine(clv_tensor *y, int64_t at, dot_sum sum, const double *scales,
                element c);
/* y[at] = sum + c */
void put_sum(clv_tensor *y, int64_t at, dot_sum sum, element c);
/* y[at] = sum / n; where y and the summands, those of x, are integers, the
 * quotient is cut towards zero. */
void put_mean(clv_tensor *y, int64_t at, const clv_tensor *x, dot_sum sum,
              int64_t n);

/* Fails unless all inputs are tensors of texts. */
CLV_MUST clv_status need_texts(const kernel *k);
/* All inputs and the output are float32. */
bool all_float32(const kernel *k);
/* Copies whole slices of x to output 0: the axes of index stand where `axis` of
 * x was. */
CLV_MUST clv_status take_slices(kernel *k, const clv_tensor *x,
                                const clv_tensor *index, uint32_t axis);
/* The offset in x that the coordinates index[at..at+depth) name, after the
 * first `batch` axes. */
CLV_MUST clv_status nd_offset(const kernel *k, const clv_tensor *x,
                              const clv_tensor *index, int64_t at,
                              int64_t depth, uint32_t batch, int64_t *out);
/* How the first `turned` numbers of a head are turned by an angle per pair:
 * rows of `half` cosines and sines; neighbours are a pair, or halves are. */
typedef struct rotation {
    const clv_tensor *cos, *sin;
    int64_t half, turned;
    bool pairs;
} rotation;
/* Number c of the head that begins at x[at], turned by row `row`. */
double rotated(const rotation *r, const clv_tensor *x, int64_t at, int64_t c,
               int64_t row);

#endif

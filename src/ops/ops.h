/* ops.h - the operator table and what its rules are built from.
 *
 * A shape rule reads a node's inputs and sets its outputs; a cost rule fills
 * MACs, FLOPs and trust (the driver has already filled bytes and params from
 * the values; a rule corrects them where an operator reads less than all). A
 * rule's error says only what is wrong: the driver adds node and operator. */
#ifndef CLV_OPS_H
#define CLV_OPS_H

#include "cleave/profile.h"
#include "graph/graph.h"
#include "tensor/dtype.h"

typedef enum clv_category {
    CLV_CAT_CONV,
    CLV_CAT_MATMUL,
    CLV_CAT_ATTENTION,
    CLV_CAT_NORM,
    CLV_CAT_ACT,
    CLV_CAT_ELTWISE,
    CLV_CAT_POOL,
    CLV_CAT_REDUCE,
    CLV_CAT_LAYOUT,
    CLV_CAT_INDEX,
    CLV_CAT_RESIZE,
    CLV_CAT_RNN,
    CLV_CAT_SORT,
    CLV_CAT_QUANT,
    CLV_CAT_CONTROL,
    CLV_CAT_SEQUENCE,
    CLV_CAT_OTHER
} clv_category;

typedef enum clv_op_class {
    CLV_CLASS_VIEW,
    CLV_CLASS_MOVE,
    CLV_CLASS_COMPUTE,
    CLV_CLASS_DRAW
} clv_op_class;

typedef enum clv_fuse {
    CLV_FUSE_ANCHOR,
    CLV_FUSE_ELTWISE,
    CLV_FUSE_INJECTIVE,
    CLV_FUSE_REDUCE,
    CLV_FUSE_OPAQUE
} clv_fuse;

typedef clv_status clv_infer_fn(clv_graph *g, clv_node *n, clv_err *e);
typedef void clv_cost_fn(const clv_graph *g, const clv_node *n, clv_cost *c);
typedef void clv_par_fn(const clv_graph *g, const clv_node *n, clv_parallel *p);
typedef clv_status clv_fold_fn(clv_graph *g, clv_node *n, clv_err *e);

typedef struct clv_op_info {
    const char *name;
    clv_category category;
    clv_op_class cls;
    clv_fuse fuse;
    uint8_t unit; /* FLOPs per element */
    clv_infer_fn *infer;
    clv_cost_fn *cost;
    clv_par_fn *parallel;
    clv_fold_fn *fold;
} clv_op_info;

extern const clv_op_info clv__ops[CLV_OP_COUNT];

/* The rules, declared from the table itself: a row cannot name a rule that
 * does not exist, and a rule's type cannot drift. */
#define OP(kind, name, cat, cls, fuse, schema, unit, infer, cost, par, fold) \
    clv_infer_fn infer; \
    clv_cost_fn cost; \
    clv_par_fn par;
#include "ops/ops.def"
#undef OP
clv_fold_fn fold_eltwise, fold_where, fold_clamp, fold_shape, fold_size,
    fold_full, fold_range, fold_reduce, fold_same, fold_permute, fold_expand,
    fold_slice, fold_select, fold_split, fold_cat, fold_index_select,
    fold_gather_nd, fold_scatter_nd, fold_repeat, fold_nonzero, fold_compress,
    fold_if, fold_sequence_length;

/* -- drivers --------------------------------------------------------------*/

/* Runs the shape rule of node id. */
CLV_MUST clv_status clv__infer_node(clv_graph *g, uint32_t id, clv_err *e);
/* Gives each weight to the one node that counts it: fills g->params, and the
 * types that weights are stored in (owner.c). */
CLV_MUST clv_status clv__own_weights(clv_graph *g, clv_err *e);
/* True for a node that works on weights alone: it runs once, at load. */
bool clv__node_is_fixed(const clv_graph *g, const clv_node *n);
/* Returns the type that a node computes in: the type its first input has in
 * memory. */
clv_dtype clv__compute_type(const clv_graph *g, const clv_node *n);
/* Cost of one node under our own convention. Fails with CLV_OVERFLOW. */
CLV_MUST clv_status clv__cost_node(const clv_graph *g, uint32_t id, clv_cost *c,
                                   clv_err *e);

/* -- what shape rules are built from --------------------------------------*/

/* Sets dtype and shape of the i-th output. */
CLV_MUST clv_status out_shape(clv_graph *g, clv_node *n, uint32_t i,
                              clv_dtype dtype, uint32_t rank,
                              const int64_t *dims, clv_err *e);
/* Gives output i the type and shape of v. */
CLV_MUST clv_status out_like(clv_graph *g, clv_node *n, uint32_t i,
                             const clv_value *v, clv_err *e);
/* Broadcasts two shapes into dims as numpy does, aligned on the right. */
CLV_MUST clv_status broadcast(const clv_value *a, const clv_value *b,
                              int64_t *dims, uint32_t *rank, clv_err *e);
/* Turns an axis in [-rank, rank) into a non-negative one. */
CLV_MUST clv_status norm_axis(int64_t axis, uint32_t rank, uint32_t *out,
                              clv_err *e);
/* The same for a list of axes, each of which may come once: marks it as seen.
 */
CLV_MUST clv_status claim_axis(int64_t axis, uint32_t rank, bool *seen,
                               uint32_t *out, clv_err *e);
/* Where a slice of `size` elements begins. It always begins at an element where
 * there is one, as ONNX says: Python takes nothing when a backward slice begins
 * before the first. */
int64_t slice_start(int64_t size, int64_t start, int64_t step);
/* Reads a list of ints from attribute `key`, or else from the known contents of
 * input `i`. found is false when neither is there. Fails with CLV_UNSUPPORTED
 * when the input is there but its contents are not known. */
typedef struct int_list {
    const int64_t *v;
    uint32_t n;
    bool found;
} int_list;
CLV_MUST clv_status get_ints(const clv_graph *g, const clv_node *n,
                             clv_attr_key key, uint32_t i, int_list *list,
                             clv_err *e);
/* Returns the i-th entry of a list. A list may have one entry for all axes, or
 * be empty. */
int64_t list_at(const int64_t *list, uint32_t n, uint32_t i);
/* A window along spatial axis i of nd, with its padding before and after. */
typedef struct window {
    int64_t kernel, stride, dilation, before, after;
} window;
CLV_MUST clv_status get_window(const clv_node *n, uint32_t i, uint32_t nd,
                               int64_t in, int64_t kernel, window *w,
                               clv_err *e);
/* What a node says of the windows of all its axes. Read once, it serves every
 * axis: get_window is both steps. */
typedef struct window_attrs {
    const int64_t *stride, *dilation, *pad;
    uint32_t n_stride, n_dilation, n_pad;
    bool same, lower; /* auto_pad is "same" or "same_lower"; the latter */
} window_attrs;
void get_window_attrs(const clv_node *n, window_attrs *a);
CLV_MUST clv_status window_at(const window_attrs *a, uint32_t i, uint32_t nd,
                              int64_t in, int64_t kernel, window *w,
                              clv_err *e);
/* Computes how many positions the window has along an axis of size `in`. */
CLV_MUST clv_status window_out(const window *w, int64_t in, bool ceil,
                               int64_t *out, clv_err *e);

/* Returns how many of the last axes a pool works on: x is (N,C,..) or
 * (C,..). */
uint32_t pooled_axes(const clv_node *n);

/* Product of dims[from..to), saturating. */
int64_t dims_product(const int64_t *dims, uint32_t from, uint32_t to);
/* Returns the steps of a binary search among n: ceil(log2 n), 0 for n < 2. */
int64_t log2_ceil(int64_t n);
/* Broadcasts the inputs of n from number `from` on; absent ones are left
 * out. */
CLV_MUST clv_status broadcast_from(const clv_graph *g, const clv_node *n,
                                   uint32_t from, int64_t *dims, uint32_t *rank,
                                   clv_err *e);
/* Checks that b broadcasts to exactly the shape of a. */
CLV_MUST clv_status fits(const clv_value *a, const clv_value *b, clv_err *e);
/* The first axis that a layer norm or its like is over. */
CLV_MUST clv_status get_norm_axis(const clv_node *n, uint32_t rank,
                                  uint32_t *axis, clv_err *e);
/* Attribute `axis` of a tensor; a scalar has one axis. */
CLV_MUST clv_status get_axis(const clv_node *n, uint32_t rank, uint32_t *out,
                             clv_err *e);
/* Reads one int from attribute `key` or from the contents of input i; see
 * get_ints. */
CLV_MUST clv_status get_int(const clv_graph *g, const clv_node *n,
                            clv_attr_key key, uint32_t i, int64_t *out,
                            clv_err *e);
/* Reads numbers of any type from attribute `key` or from the contents of input
 * i. Fails as get_ints does. Writes at most `max` of them to out. */
CLV_MUST clv_status get_floats(const clv_graph *g, const clv_node *n,
                               clv_attr_key key, uint32_t i, double *out,
                               uint32_t max, uint32_t *count, clv_err *e);
/* Gives output i a type that holds both a and b: a sequence of `count` tensors
 * if b is one, with the smallest shape that holds both. */
CLV_MUST clv_status out_either(clv_graph *g, clv_node *n, uint32_t i,
                               const clv_value *a, const clv_value *b,
                               uint32_t count, clv_err *e);
/* Returns the one scale by which a resize to `size` keeps the ratio of the
 * axes, or 0 when its attribute `aspect` does not ask for that. */
double clv__aspect_scale(const clv_node *n, const clv_value *x,
                         const int64_t *size, uint32_t count);
/* Marks the i-th output as an upper bound: its size depends on data. */
void out_bound(clv_graph *g, const clv_node *n, uint32_t i);
/* Returns the bytes that reading all of v moves. A weight counts in the type it
 * is stored in. */
int64_t clv__stored_bytes(const clv_graph *g, const clv_value *v);
/* Corrects the cost of a node that reads at most `bytes` of input i, not all of
 * it. */
void reads_only(const clv_graph *g, const clv_node *n, uint32_t i,
                int64_t bytes, clv_cost *c);

/* -- quantised models (quant.c) --------------------------------------------*/

/* Marks the nodes that run on integers between dequantize and quantize. */
CLV_MUST clv_status clv__join_quantised(clv_graph *g, clv_err *e);
/* Returns true for a quantize or dequantize that is part of such a node's
 * work. */
bool clv__in_quantised(const clv_node *n);
/* Adds the cost of rounding the results of a product back to integers. */
void clv__cost_rounding(const clv_graph *g, const clv_node *n, clv_cost *c);

/* -- types (types.c) ------------------------------------------------------*/

clv_dtype promote(clv_dtype a, clv_dtype b);
/* Returns the type that values have in common: a tensor of no axes counts only
 * if it is of a higher kind. Ids that are CLV_NONE do not count. */
clv_dtype common_type(const clv_graph *g, const uint32_t *ins, uint32_t n);
/* Returns the type of an elementwise result over the inputs from number `from`
 * on and the scalar attributes. */
clv_dtype result_type(const clv_graph *g, const clv_node *n, uint32_t from);
clv_dtype to_float(clv_dtype t); /* float32 for bool and integers */
/* The type that attribute `dtype` asks for, or else `natural`. */
clv_dtype asked_type(const clv_node *n, clv_dtype natural);
/* The same where "own" stands for the type of input 0. */
clv_dtype kept_type(const clv_graph *g, const clv_node *n, clv_dtype natural);

#endif

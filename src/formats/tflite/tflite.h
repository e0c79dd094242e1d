/* tflite.h - TFLite (LiteRT) models: what the files of this folder share.
 *
 *   flat.c       the FlatBuffer, bounded
 *   read.c       the model: subgraphs, inputs, outputs, operators; the way in
 *   tensor.c     tensors become values: layout, weights in place, quantisation
 *   words.c      words that the maps below are written in
 *   map_*.c      what each builtin operator means, by rows of tflite.def
 *   control.c    operators that run subgraphs, and variables
 *   arena.c      the memory that the interpreter plans
 *
 * Images have their channels last here and second in our operators. A tensor
 * of four axes is therefore known in up to two orders, and the step from one to
 * the other (a permute, which moves nothing) is made when somebody needs it.
 * What works on each element alone works on whichever order is there, so a
 * network of convolutions is turned once, at its input.
 *
 * A quantised tensor is known as its codes and as the real numbers that they
 * stand for:
 *
 *     x8 -> dequantize -> conv -> quantize -> y8
 *
 * which the core counts and holds as one convolution of integers (quant.c). */
#ifndef CLV_TFLITE_H
#define CLV_TFLITE_H

#include "formats/formats.h"
#include "formats/tflite/flat.h"
#include "ops/build.h"

enum {
    TFL_MAX_DEPTH = 16,   /* subgraphs in subgraphs */
    TFL_MAX_LIST = 4096,  /* numbers of a list that shapes depend on */
    TFL_CHANNELS_LAST = 4 /* axes of a tensor that is known in two orders */
};

/* A tensor of a subgraph and the values that it is known as; CLV_NONE: not
 * (yet). */
typedef struct tfl_tensor {
    flat_table is;
    const char *name;
    uint32_t value;      /* as the file has it */
    uint32_t first;      /* with its channels second */
    uint32_t real;       /* as value, in real numbers */
    uint32_t real_first; /* as first, in real numbers */
    uint32_t rank;       /* in the file; CLV_NO_RANK: not told */
    int64_t dims[CLV_MAX_RANK];
    clv_dtype dtype;
    bool variable, stored; /* keeps state between runs; has bytes in the file */
    uint32_t handle;       /* of the variable that it names, plus 1; 0: none */
} tfl_tensor;

/* A variable: what was last assigned to it. */
typedef struct tfl_variable {
    const char *name;
    const clv_graph *g; /* the graph that `value` is of; NULL: none */
    uint32_t value;
    tfl_tensor start; /* the stored tensor that it starts as, if `starts` */
    bool starts;
} tfl_variable;

typedef struct tfl_model {
    flat f;
    clv_graph *g;
    const clv_open_opts *opts;
    arena mem;
    flat_vector codes, subgraphs, buffers, external, groups;
    struct tfl_variable *variables;
    uint32_t n_variables;
    size_t cap_variables;
    strmap known; /* stored bytes: the value they are, by graph */
    bool resized; /* inputs have other sizes than in the file */
    bool sparse;  /* said that weights are stored without their zeros */
    bool misfit;  /* some operator refuses the sizes */
    bool picture; /* open sizes are a height and a width */
    uint32_t n_open;
    int64_t open; /* what sizes that the file leaves open are taken as; 0: as
                   * the file has them */
} tfl_model;

/* A subgraph while it is read into g. */
typedef struct tfl_scope {
    tfl_model *m;
    clv_graph *g;
    flat_table is;
    tfl_tensor *tensors;
    uint32_t n_tensors;
    int depth;
} tfl_scope;

struct tfl_row;

/* An operator while it is mapped. */
typedef struct tfl_call {
    tfl_scope *s;
    tfl_model *m;
    clv_graph *g;
    const struct tfl_row *row;
    flat_table is, opts; /* the operator; its options */
    flat_vector ins, outs;
    const char *name, *origin;
    uint32_t scope;  /* module */
    const char *why; /* its nodes are counted but cannot run; NULL: they can */
} tfl_call;

typedef void tfl_map_fn(tfl_call *c);

typedef enum tfl_share {
    TFL_SHARE_NONE,
    TFL_SHARE_SAME,
    TFL_SHARE_FIRST,
    TFL_SHARE_BOTH
} tfl_share;

/* One builtin operator. `op` is what it mainly is here. */
typedef struct tfl_row {
    const char *name;
    clv_op op;
    tfl_map_fn *map;
    int arg; /* what tells rows of one map apart */
    tfl_share share;
} tfl_row;

const tfl_row *tfl_row_of(int64_t code);

/* -- signature.c ----------------------------------------------------------*/

/* The subgraph that is the model. Warns where the file has several. */
CLV_MUST clv_status tfl_signature(tfl_model *m, int64_t *subgraph);

/* -- read.c ---------------------------------------------------------------*/

/* Opens subgraph `index` for reading into g. */
CLV_MUST clv_status tfl_open(tfl_scope *s, tfl_model *m, clv_graph *g,
                             int64_t index, int depth);
/* Reads its operators. */
CLV_MUST clv_status tfl_operators(tfl_scope *s);
/* Input or output i of a subgraph: a place in `tensors`; CLV_NONE where there
 * is none. */
uint32_t tfl_port(tfl_scope *s, bool output, uint32_t i);
uint32_t tfl_ports(tfl_scope *s, bool output);
/* Whether the failure at hand ends the load. */
bool tfl_failed(const tfl_model *m);
clv_status tfl_fail(tfl_model *m, clv_status s, const char *fmt, ...)
    CLV_PRINTF(3, 4);
bool tfl_nomem(tfl_model *m); /* false */

/* -- tensor.c -------------------------------------------------------------*/

/* Reads what the file says of each tensor. */
CLV_MUST clv_status tfl_tensors(tfl_scope *s);
clv_dtype tfl_dtype(int64_t code);
/* The value of tensor i as the file has it, or with its channels second. Adds
 * weights when they are first asked for. CLV_NONE after a failure. */
uint32_t tfl_value(tfl_scope *s, uint32_t i);
uint32_t tfl_first(tfl_scope *s, uint32_t i);
/* The same in real numbers. */
uint32_t tfl_real(tfl_scope *s, uint32_t i);
uint32_t tfl_real_first(tfl_scope *s, uint32_t i);
/* The real numbers of v, a value with the quantisation of tensor i whose axis
 * (where it has one) is `axis`. v itself where the tensor is not quantised. */
uint32_t tfl_dequantise(tfl_scope *s, uint32_t i, uint32_t v, int64_t axis);
/* v in the codes of tensor i. */
uint32_t tfl_quantise(tfl_scope *s, uint32_t i, uint32_t v);
bool tfl_quantised(tfl_scope *s, uint32_t i);
/* Scale and zero point of a tensor that has one of each; false: it has not. */
bool tfl_scale(tfl_scope *s, uint32_t i, double *scale, int64_t *zero);
/* The axis of a quantisation by axis; -1: one scale for all. */
int64_t tfl_scale_axis(tfl_scope *s, uint32_t i);
/* A constant of a graph: n numbers of type t, from ints or from floats. */
uint32_t tfl_const(tfl_model *m, clv_graph *g, const char *name, clv_dtype t,
                   uint32_t rank, const int64_t *dims, const int64_t *ints,
                   const double *floats);

/* -- words.c --------------------------------------------------------------*/

enum { TFL_MAX_ATTRS = 12 };

typedef struct tfl_attrs {
    clv_attr a[TFL_MAX_ATTRS];
    uint32_t n;
} tfl_attrs;

/* Lists are borrowed until the node is added; texts are static. */
void tfl_int(tfl_attrs *a, clv_attr_key key, int64_t i);
void tfl_float(tfl_attrs *a, clv_attr_key key, double x);
void tfl_str(tfl_attrs *a, clv_attr_key key, const char *text);
void tfl_ints(tfl_attrs *a, clv_attr_key key, const int64_t *list, uint32_t n);
void tfl_strs(tfl_attrs *a, clv_attr_key key, const char *const *list,
              uint32_t n);
void tfl_body(tfl_attrs *a, clv_attr_key key, clv_graph *body);

/* Adds a node and infers it; its first output, the others follow it. a may be
 * NULL. CLV_NONE after a failure. */
uint32_t tfl_node(tfl_call *c, clv_op op, const uint32_t *ins, uint32_t n_in,
                  uint32_t n_out, const tfl_attrs *a);
uint32_t tfl_1(tfl_call *c, clv_op op, uint32_t x, const tfl_attrs *a);
uint32_t tfl_2(tfl_call *c, clv_op op, uint32_t x, uint32_t y);
uint32_t tfl_permute(tfl_call *c, uint32_t x, const int64_t *perm, uint32_t n);
uint32_t tfl_reshape(tfl_call *c, uint32_t x, const int64_t *dims, uint32_t n);
uint32_t tfl_cast(tfl_call *c, uint32_t x, clv_dtype t);
/* x[from:to:step] along one axis. */
uint32_t tfl_slice(tfl_call *c, uint32_t x, int64_t axis, int64_t from,
                   int64_t to, int64_t step);
uint32_t tfl_scalar(tfl_call *c, clv_dtype t, double x);
/* The function of an `ActivationFunctionType`. */
uint32_t tfl_activate(tfl_call *c, uint32_t x, int64_t act);

/* Operand i: as it is stored; in real numbers; in real numbers with its
 * channels second. CLV_NONE where it is left out. */
bool tfl_has(const tfl_call *c, uint32_t i);
uint32_t tfl_at(tfl_call *c, uint32_t i);
uint32_t tfl_codes(tfl_call *c, uint32_t i);
uint32_t tfl_codes_first(tfl_call *c, uint32_t i);
uint32_t tfl_in(tfl_call *c, uint32_t i);
uint32_t tfl_in_first(tfl_call *c, uint32_t i);
/* Whether operand i is known with its channels second. */
bool tfl_is_first(tfl_call *c, uint32_t i);
/* The numbers that operand i holds, where they are known: at most `max`. */
bool tfl_list(tfl_call *c, uint32_t i, int64_t *out, uint32_t *n, uint32_t max);
bool tfl_number(tfl_call *c, uint32_t i, double *out);
/* Rank and sizes of a value; 0 where they are not known. */
uint32_t tfl_rank(const tfl_call *c, uint32_t v);
int64_t tfl_dim(const tfl_call *c, uint32_t v, int64_t axis);
clv_dtype tfl_type(const tfl_call *c, uint32_t v);
/* The tensor that result i is; CLV_NONE for one that is left out. */
uint32_t tfl_out(tfl_call *c, uint32_t i);

/* Result i is v: quantised, and cast to the type that the file tells.
 * `first`: v has its channels second. */
void tfl_give(tfl_call *c, uint32_t i, uint32_t v, bool first);
/* The same through a fused activation. */
void tfl_give_act(tfl_call *c, uint32_t i, uint32_t v, bool first, int64_t act);
/* Result i is v, which holds what the file says it does: codes, no cast. */
void tfl_give_codes(tfl_call *c, uint32_t i, uint32_t v, bool first);
/* Whether operand i and result o have the same codes for the same number. */
bool tfl_same_codes(tfl_call *c, uint32_t i, uint32_t o);
/* The node of an operator that cannot be said here, by its name. */
void tfl_unknown(tfl_call *c);
/* An axis of an operand in our order of axes. */
int64_t tfl_axis_first(int64_t axis);

/* -- control.c ------------------------------------------------------------*/

/* Runs subgraph `index` in place on the operands from `from` on. */
void tfl_inline(tfl_call *c, int64_t index, uint32_t from);

/* -- arena.c --------------------------------------------------------------*/

/* The bytes that the interpreter's planner needs for the tensors of the main
 * subgraph, which has been read. */
CLV_MUST clv_status tfl_arena(tfl_scope *s, int64_t *bytes);

/* The maps, declared from the table: a row cannot name one that is not there.
 */
#define BUILTIN(code, name, op, map, arg, share) tfl_map_fn map;
#include "formats/tflite/tflite.def"
#undef BUILTIN

#endif

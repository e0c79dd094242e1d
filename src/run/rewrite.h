/* rewrite.h - a graph made faster before it is compiled.
 *
 * Exporters take operators apart (a layer norm becomes nine nodes) and leave
 * behind what computes nothing. A rewriter works on a copy of the user's graph:
 * values keep their numbers, new ones follow them. Each rule looks at one node
 * and backwards from it, and gives the node another operator or other inputs;
 * what nobody reads any more is dropped.
 *
 *      x -> mean -> sub -> square -> mean -> add -> sqrt -> div -> y
 *      x -> layer_norm -> y            `div` became layer_norm, the rest died
 *
 * Invariant: a value that is still computed has the type, the shape and the
 * numbers that it has in the user's graph, up to rounding. So a value in the
 * middle of a pattern may have other readers: it is then computed as before. */
#ifndef CLV_REWRITE_H
#define CLV_REWRITE_H

#include "run/run.h"

typedef enum rewrite_row {
#define REWRITE(id, phase, op, fn, pattern) REWRITE_##id,
#include "run/rewrite.def"
    REWRITE_COUNT
} rewrite_row;

/* What was cut out of a weight for one of the products that share it. */
typedef struct rw_cut {
    uint32_t from, made; /* values */
    bool by_rows;
    int64_t first, run, every, outer; /* features, as take_weight reads them */
} rw_cut;

typedef struct rewriter {
    clv_graph *g; /* the copy */
    const clv_graph *from;
    weight_store *weights;
    bool backend;       /* a backend will compile parts of it */
    clv_tensor *tensor; /* per value: type, shape, data where it is known */
    uint32_t *uses;     /* per value: inputs that it is, 1 more for a result */
    uint32_t *instead; /* per value: the value that took its place, or itself */
    uint32_t *stands_for; /* per node: the node of `from` that it stands for */
    bool *dead;           /* per node */
    uint32_t *home; /* per node of `from`: the node that does its work now;
                     * CLV_NONE: none has to */
    uint32_t at;    /* the node that is being looked at */
    uint32_t counts[REWRITE_COUNT];
    uint32_t *unread; /* nodes that nobody needs, about to be dropped */
    uint32_t *seen;   /* nodes of this sweep, by what they compute */
    rw_cut *cuts;     /* so that no weight is cut twice in one way */
    size_t n_unread, cap_unread, n_seen, n_cuts, cap_cuts;
    size_t cap_tensor, cap_uses, cap_instead, cap_stands_for, cap_dead;
    run_memory mem; /* to compute constants */
    bool failed;    /* memory ran out */
    clv_err *e;
} rewriter;

/* Tries one rule on a node; true: the graph changed. */
typedef bool rewrite_fn(rewriter *r, uint32_t id);
#define REWRITE(id, phase, op, fn, pattern) rewrite_fn fn;
#include "run/rewrite.def"

/* -- looking --------------------------------------------------------------*/

/* Input i of node id, CLV_NONE where it is left out. */
uint32_t rw_in(const rewriter *r, uint32_t id, uint32_t i);
/* The node that makes v if its operator is op, else CLV_NONE. */
uint32_t rw_made_by(const rewriter *r, uint32_t v, clv_op op);
/* The node that makes v, CLV_NONE for inputs and weights. */
uint32_t rw_maker(const rewriter *r, uint32_t v);
/* Only one input reads v, and it is no result of the graph. */
bool rw_once(const rewriter *r, uint32_t v);
/* The contents of v where they are known, else NULL. */
const clv_tensor *rw_known(const rewriter *r, uint32_t v);
/* v is one known number. */
bool rw_number(const rewriter *r, uint32_t v, double *x);
/* All elements of v are known and are x. */
bool rw_all(const rewriter *r, uint32_t v, double x);
/* Equal but for rounding to float32. */
bool rw_near(double a, double b);
/* v has a known shape and is a plain tensor of floats of 32 bits. */
bool rw_is_float(const rewriter *r, uint32_t v);
/* The shape of v is known before it runs. */
bool rw_is_static(const rewriter *r, uint32_t v);
bool rw_same_shape(const rewriter *r, uint32_t a, uint32_t b);
bool rw_same_type(const rewriter *r, uint32_t a, uint32_t b);
/* Along an axis, -1 is the last; -1 is returned where that is not known. */
int64_t rw_dim(const rewriter *r, uint32_t v, int axis);
uint32_t rw_rank(const rewriter *r, uint32_t v);
uint32_t rw_out(const rewriter *r, uint32_t id);
const clv_node *rw_node(const rewriter *r, uint32_t id);
/* Its operator; of a node that is counted only, which no rule may touch,
 * CLV_OP_UNKNOWN. */
clv_op rw_op(const rewriter *r, uint32_t id);

/* Node id is x (op) c with one number c: as an operand or as `value`. Commuted
 * forms count where op allows it. x has the shape of the result. */
bool rw_with_number(const rewriter *r, uint32_t id, uint32_t *x, double *c);
/* The same for the node that makes v, which must be of `op`. */
bool rw_made_with(const rewriter *r, uint32_t v, clv_op op, uint32_t *x,
                  double *c);
/* v is x times a number; v itself is 1 times v. Goes through mul, div and neg
 * as far as they go. */
double rw_scaled(const rewriter *r, uint32_t v, uint32_t *x);
/* Node id squares *x: x * x, x^2 or square. */
bool rw_is_square(const rewriter *r, uint32_t id, uint32_t *x);
/* The permutation that node id makes; false: it makes none. */
bool rw_perm(const rewriter *r, uint32_t id, uint32_t *perm);
/* v is a view of x with the same elements in the same order. Returns what it is
 * a view of in the end, v itself where it is none. */
uint32_t rw_flat_root(const rewriter *r, uint32_t v);

/* -- changing -------------------------------------------------------------*/

enum { RW_INPUTS = 64, RW_ATTRS = 12 };

/* What a node becomes: operator, inputs, attributes. */
typedef struct rw_form {
    clv_op op;
    uint32_t in[RW_INPUTS], n_in;
    clv_attr attr[RW_ATTRS];
    uint8_t n_attr;
} rw_form;

void rw_form_input(rw_form *f, uint32_t v);
void rw_form_int(rw_form *f, clv_attr_key key, int64_t x);
void rw_form_float(rw_form *f, clv_attr_key key, double x);
void rw_form_str(rw_form *f, clv_attr_key key, const char *text);
/* Copies the list into the graph. */
void rw_form_ints(rewriter *r, rw_form *f, clv_attr_key key, const int64_t *x,
                  uint32_t n);
/* Takes over an attribute of node id where it has one. */
void rw_form_attr(const rewriter *r, rw_form *f, uint32_t id, clv_attr_key key);

/* Node id computes f from now on. False, and nothing changed, where type or
 * shape of its result would be others. */
bool rw_become(rewriter *r, uint32_t id, const rw_form *f);
/* Node id reads the inputs of f from now on; all else stays as it is, and the
 * caller knows that its results do. */
bool rw_reads(rewriter *r, uint32_t id, const rw_form *f);
/* A new node for f; returns its result, CLV_NONE where there is none. */
uint32_t rw_add(rewriter *r, const rw_form *f);
/* All readers of node id's result read v instead; false where it leaves the
 * graph. */
bool rw_forward(rewriter *r, uint32_t id, uint32_t v);
/* The same for one value, which its maker may have among others and which is
 * no result of the graph. */
void rw_forward_value(rewriter *r, uint32_t y, uint32_t v);
/* Drops node id, and what only it needed. */
void rw_kill(rewriter *r, uint32_t id);
/* A constant that shares the elements of constant v in another shape. */
uint32_t rw_const_view(rewriter *r, uint32_t v, uint32_t rank,
                       const int64_t *dims);
/* A new constant, zeroed; *t is its tensor. CLV_NONE: no memory. */
uint32_t rw_const(rewriter *r, clv_dtype dtype, uint32_t rank,
                  const int64_t *dims, clv_tensor *t);
/* Computes node id, whose inputs are all known, and makes its results
 * constants; false: it cannot be computed. */
bool rw_fold(rewriter *r, uint32_t id);
/* Makes v, which node id computes, a constant with the contents of t. */
void rw_settle(rewriter *r, uint32_t id, uint32_t o, void *data);

/* Bounds of a clamp, relu, relu6 or hardtanh; infinite where there is none. */
bool rw_bounds(const rewriter *r, uint32_t id, double *lo, double *hi);

/* -- all of it ------------------------------------------------------------*/

typedef struct rewritten rewritten;

/* What a model is made of after rewriting. */
struct rewritten {
    clv_graph *g;         /* caller frees with clv_graph_free */
    clv_tensor *tensor;   /* per value of g; in `mem` as are the others */
    uint32_t *stands_for; /* per node of g: a node of the user's graph */
    uint32_t *home;       /* per node of the user's graph: a node of g */
    uint32_t counts[REWRITE_COUNT];
    arena mem;
};

/* The id of a rule and its pattern. */
const char *clv__rewrite_name(uint32_t row);
const char *clv__rewrite_pattern(uint32_t row);

/* Rewrites g, whose weights are found. */
CLV_MUST clv_status clv__rewrite(const clv_graph *g, weight_store *w,
                                 bool backend, uint32_t threads, rewritten *out,
                                 clv_err *e);

#endif

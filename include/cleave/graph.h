/* graph.h - open a model, or build a graph by hand, and walk it.
 *
 * Nodes, values and modules are numbers that index flat arrays; they stay
 * valid until the graph is freed. Nodes are numbered in execution order.
 *
 * Threads: a graph that is being built belongs to one thread. Once it is
 * inferred (clv_graph_open does that) it is read-only, and any number of
 * threads may read it. */
#ifndef CLEAVE_GRAPH_H
#define CLEAVE_GRAPH_H

#include "cleave/base.h"

typedef struct clv_graph clv_graph;

/* -- opening a model ------------------------------------------------------*/

/* `dims` for the input called `name` (NULL: the first input). */
typedef struct clv_shape_arg {
    const char *name;
    const int64_t *dims;
    uint32_t rank;
} clv_shape_arg;

/* A value for the symbolic dimension called `name`, such as "batch". */
typedef struct clv_dim_arg {
    const char *name;
    int64_t value;
} clv_dim_arg;

/* The shape of data for the input called `name` (NULL: input `place`). */
typedef struct clv_data_arg {
    const char *name;
    const int64_t *dims;
    uint32_t rank, place;
} clv_data_arg;

/* An operator that a program describes. Both functions get the graph and the
 * node, which clv_graph_node and clv_graph_value read; either may be NULL. A
 * status other than CLV_OK leaves the operator unknown (cost) or stops the
 * load (shape). */
typedef struct clv_custom_op {
    size_t size;    /* sizeof(clv_custom_op) */
    const char *op; /* its name at the source, with or without a domain */
    void *ctx;
    clv_status (*shape)(void *ctx, const clv_graph *g, uint32_t node,
                        uint32_t output, clv_dtype *dtype, uint32_t *rank,
                        int64_t *dims);
    clv_status (*cost)(void *ctx, const clv_graph *g, uint32_t node,
                       int64_t *macs, int64_t *flops);
} clv_custom_op;

/* All else zero means: as the model says. */
typedef struct clv_open_opts {
    size_t size; /* sizeof(clv_open_opts) */
    const clv_shape_arg *shapes;
    size_t n_shapes;
    const clv_dim_arg *dims;
    size_t n_dims;
    int64_t batch;   /* first axis of every input */
    clv_dtype dtype; /* floating-point type to count with */
    int64_t loop;    /* trips of loops whose count is not constant */
    const clv_custom_op *custom; /* borrowed as long as the graph lives */
    size_t n_custom;
    const char *ops_file;     /* costs of custom operators (JSON) */
    const clv_data_arg *data; /* shapes of the data that will be fed. They set
                               * the sizes that the model leaves open, and no
                               * others. It is an error if they give one
                               * symbolic dimension two sizes */
    size_t n_data;
    const char *params; /* which arguments of a StableHLO function are weights:
                         * "3" (so many come first), "all", "none", or patterns
                         * of their names ("params.*,w?"). NULL: found out */
    const char *const *args; /* numbers of a parametric built-in model that
                              * differ: "width=0.75" (clv_zoo_knob) */
    size_t n_args;
    const char *signature; /* which signature of a TFLite file is the model;
                            * NULL: its first subgraph */
} clv_open_opts;

/* Opens `model`: a name of the zoo, or the path of a model file. opts may be
 * NULL. Shapes are inferred; returns a read-only graph (caller frees with
 * clv_graph_free). */
CLV_API CLV_MUST clv_status clv_graph_open(const char *model,
                                           const clv_open_opts *opts,
                                           clv_graph **out, clv_err *err);
CLV_API void clv_graph_free(clv_graph *g);
/* Lays operators with bodies (if, loop, scan) open: returns a graph in which
 * the nodes of their bodies stand in their place, each with the number of times
 * it runs (caller frees with clv_graph_free). It is for analyses and cannot be
 * run or written. A graph without such operators is returned itself, with one
 * holder more. g must be inferred, and is kept as long as the result lives. */
CLV_API CLV_MUST clv_status clv_graph_unfold(clv_graph *g, clv_graph **out,
                                             clv_err *err);

/* -- building a graph -----------------------------------------------------*/

typedef enum clv_value_kind {
    CLV_VALUE_ACTIVATION, /* made by a node */
    CLV_VALUE_INPUT,
    CLV_VALUE_PARAM,  /* learned: counts as a parameter */
    CLV_VALUE_BUFFER, /* stored, not learned: running statistics, tables */
    CLV_VALUE_CONST
} clv_value_kind;

typedef enum clv_attr_type {
    CLV_ATTR_INT,
    CLV_ATTR_FLOAT,
    CLV_ATTR_STRING,
    CLV_ATTR_INTS,
    CLV_ATTR_FLOATS,
    CLV_ATTR_STRINGS,
    CLV_ATTR_TENSOR, /* a value id */
    CLV_ATTR_GRAPH
} clv_attr_type;

/* What an attribute is; its type says which of these. */
typedef union clv_attr_value {
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    uint32_t value;  /* CLV_ATTR_TENSOR: clv_graph_constant reads it */
    clv_graph *body; /* CLV_ATTR_GRAPH; belongs to the graph of the node */
} clv_attr_value;

/* An attribute as the caller gives it: all types but the last two. Everything
 * is copied. */
typedef struct clv_attr_arg {
    const char *name; /* "stride", see docs/operators.md; an unknown operator
                         takes any name */
    clv_attr_type type;
    uint32_t n; /* of ints, floats, strings */
    clv_attr_value u;
} clv_attr_arg;

typedef struct clv_value_arg {
    size_t size;      /* sizeof(clv_value_arg) */
    const char *name; /* NULL: named after its maker */
    clv_value_kind kind;
    clv_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
} clv_value_arg;

typedef struct clv_node_arg {
    size_t size;        /* sizeof(clv_node_arg) */
    const char *op;     /* canonical name ("conv2d"), or any other: unknown */
    const char *name;   /* NULL: named after the operator */
    const char *module; /* "layer1.0", NULL for the root */
    const char *origin; /* the operator's name at its source, or NULL */
    const char *source; /* "file.py:12", or NULL */
    const uint32_t *inputs; /* values; CLV_NONE for an input left out */
    uint32_t n_inputs;
    uint32_t n_outputs; /* 0 means 1 */
    const clv_attr_arg *attrs;
    uint32_t n_attrs;
    bool stateful; /* it reads or writes something other than its values.
                      Stateful nodes keep their order. Random operators are
                      stateful by themselves */
} clv_node_arg;

/* Returns an empty graph (caller frees with clv_graph_free). */
CLV_API CLV_MUST clv_status clv_graph_new(const char *name, clv_graph **out,
                                          clv_err *err);
CLV_API CLV_MUST clv_status clv_graph_add_value(clv_graph *g,
                                                const clv_value_arg *arg,
                                                uint32_t *value, clv_err *err);
/* Adds a node and its output values; `outputs` receives n_outputs ids. */
CLV_API CLV_MUST clv_status clv_graph_add_node(clv_graph *g,
                                               const clv_node_arg *arg,
                                               uint32_t *outputs, clv_err *err);
CLV_API CLV_MUST clv_status clv_graph_add_output(clv_graph *g, uint32_t value,
                                                 clv_err *err);
/* Verifies, orders, and infers every shape; the graph is read-only after. */
CLV_API CLV_MUST clv_status clv_graph_infer(clv_graph *g, clv_err *err);
/* Checks every invariant of the structure; the message names the culprit. */
CLV_API CLV_MUST clv_status clv_graph_verify(const clv_graph *g, clv_err *err);

/* -- walking a graph ------------------------------------------------------*/

typedef struct clv_value_info {
    size_t size;      /* sizeof(clv_value_info) */
    const char *name; /* may be "" for values that have none */
    clv_value_kind kind;
    clv_dtype dtype;
    uint32_t rank;                /* CLV_NONE: not even the rank is known */
    const int64_t *dims;          /* borrowed from the graph */
    const char *const *dim_names; /* of each axis, NULL: none; or NULL */
    uint32_t producer;            /* node, or CLV_NONE */
    bool optional;                /* the value may be absent */
    bool sequence;  /* a list of tensors; dtype and dims are those of each one,
                       or an upper bound */
    uint32_t count; /* of a sequence: how many; CLV_NONE: not known */
} clv_value_info;

typedef struct clv_node_info {
    size_t size; /* sizeof(clv_node_info) */
    const char *name, *op, *module, *origin, *source; /* never NULL */
    const uint32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    uint32_t n_attrs;
    int64_t times; /* it runs when the model does; 1 but in a graph that was
                    * unfolded */
} clv_node_info;

/* An attribute of a node. Everything is borrowed from the graph. */
typedef struct clv_attr_info {
    size_t size; /* sizeof(clv_attr_info) */
    const char *name;
    clv_attr_type type;
    uint32_t n; /* of ints, floats, strings */
    clv_attr_value u;
} clv_attr_info;

/* What is known of a value's contents before anything runs. Each is NULL where
 * it is not known; all are borrowed from the graph. */
typedef struct clv_constant_info {
    size_t size;          /* sizeof(clv_constant_info) */
    clv_dtype dtype;      /* of bytes */
    uint32_t n;           /* elements of ints or floats */
    const int64_t *ints;  /* of a small value of an integer type or bool, */
    const double *floats; /* or of a floating-point type */
    const double *fill;   /* the number that every element is */
    const void *bytes;    /* all elements, dense, in dtype, little-endian; */
    uint64_t n_bytes;     /* those of a file may not be aligned */
} clv_constant_info;

CLV_API const char *clv_graph_name(const clv_graph *g);
CLV_API const char *clv_graph_source(const clv_graph *g); /* "zoo", "onnx" */
CLV_API uint32_t clv_graph_num_nodes(const clv_graph *g);
CLV_API uint32_t clv_graph_num_values(const clv_graph *g);
/* Values, in order. */
CLV_API const uint32_t *clv_graph_inputs(const clv_graph *g, uint32_t *count);
CLV_API const uint32_t *clv_graph_outputs(const clv_graph *g, uint32_t *count);
/* Fill *out, whose size the caller has set. Fail with CLV_USAGE for a node or
 * value that is not there; *out is empty then. */
CLV_API clv_status clv_graph_get_node(const clv_graph *g, uint32_t node,
                                      clv_node_info *out, clv_err *err);
CLV_API clv_status clv_graph_get_value(const clv_graph *g, uint32_t value,
                                       clv_value_info *out, clv_err *err);
/* Fills *out, whose size the caller has set. clv_graph_attr finds an attribute
 * by its name; if the node leaves it out, *out is its default, and without a
 * default the call fails with CLV_NOT_FOUND. clv_graph_attr_at takes the i-th
 * attribute that the node has (clv_node_info.n_attrs). */
CLV_API CLV_MUST clv_status clv_graph_attr(const clv_graph *g, uint32_t node,
                                           const char *name, clv_attr_info *out,
                                           clv_err *err);
CLV_API CLV_MUST clv_status clv_graph_attr_at(const clv_graph *g, uint32_t node,
                                              uint32_t i, clv_attr_info *out,
                                              clv_err *err);
/* Fills *out with what is known of the contents of a value: a weight, a
 * constant, or a shape that inference computed. Fails with CLV_NOT_FOUND when
 * nothing is known. */
CLV_API CLV_MUST clv_status clv_graph_constant(const clv_graph *g,
                                               uint32_t value,
                                               clv_constant_info *out,
                                               clv_err *err);

/* The same by value, as large as this header has them. */
static inline clv_node_info clv_graph_node(const clv_graph *g, uint32_t node)
{
    clv_node_info n;
    n.size = sizeof n;
    clv_graph_get_node(g, node, &n, NULL);
    return n;
}

static inline clv_value_info clv_graph_value(const clv_graph *g, uint32_t value)
{
    clv_value_info v;
    v.size = sizeof v;
    clv_graph_get_value(g, value, &v, NULL);
    return v;
}

/* Returns the i-th warning about the model, NULL past the last. */
CLV_API const char *clv_graph_warning(const clv_graph *g, uint32_t i);
/* What the i-th warning is about; *subject (may be NULL) is its name, or "". */
CLV_API clv_subject_kind clv_graph_warning_about(const clv_graph *g, uint32_t i,
                                                 const char **subject);

/* -- the zoo --------------------------------------------------------------*/

typedef struct clv_zoo_model {
    const char *name, *family;
    uint32_t rank;
    int64_t input[CLV_MAX_RANK];
    const char *task; /* "classification", "detection", .. */
    const char
        *source;   /* where weights of this name come from: "torchvision" */
    uint32_t year; /* of the architecture's publication */
    const char *input_name; /* NULL: "x" */
} clv_zoo_model;

/* The i-th built-in model, NULL past the last. */
CLV_API const clv_zoo_model *clv_zoo_at(uint32_t i);

/* A number of a model that clv_open_opts.args may set; `otherwise` is what the
 * model has without. */
typedef struct clv_zoo_number {
    const char *name;
    double low, high, otherwise;
    bool whole;
} clv_zoo_number;
/* Describes the i-th such number of a model that clv_zoo_at returned. Returns
 * how many it has; *out (may be NULL) is set when i is one of them. */
CLV_API uint32_t clv_zoo_knob(const clv_zoo_model *model, uint32_t i,
                              clv_zoo_number *out);

#endif

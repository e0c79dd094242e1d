/* graph.h - the graph: flat arrays of nodes and values, edges in CSR form.
 *
 *   nodes[i]   operator, attributes, module scope; its inputs and outputs
 *              are edges[first_edge ...]: n_in inputs, then n_out outputs
 *   values[j]  type, shape, kind, producer; users[user_first[j] ...] are the
 *              nodes that read it, in order (after clv__graph_order)
 *   scopes[k]  the module tree; 0 is the root
 *
 * Invariants after clv__graph_order: nodes are in topological order; a value
 * has at most one producer; a producer lists it among its outputs; absent
 * optional inputs are CLV_NONE. Names, shapes and attributes live in one arena.
 */
#ifndef CLV_GRAPH_H
#define CLV_GRAPH_H

#include "cleave/graph.h"
#include "core/core.h"

#include <stdatomic.h>

typedef enum {
#define OP(kind, ...) CLV_OP_##kind,
#include "ops/ops.def"
#undef OP
    CLV_OP_COUNT
} clv_op;

typedef enum {
#define ATTR(key, name) CLV_A_##key,
#include "graph/attrs.def"
#undef ATTR
    CLV_A_OTHER /* a foreign attribute, known by name only */
} clv_attr_key;

typedef struct clv_attr {
    const char *name;
    uint8_t key, type; /* clv_attr_key, clv_attr_type */
    uint32_t n;
    clv_attr_value u;
} clv_attr;

/* The contents of a value, as far as they are known; most values have none. */
typedef struct clv_payload {
    const void *bytes; /* contents in the value's dtype, borrowed */
    uint64_t size;
    const char *file; /* file with the contents (external data) */
    uint64_t offset;
    const void *proto; /* or a TensorProto of proto_size bytes that lists the
                        * contents */
    uint64_t proto_size;
    bool sparse;          /* `proto` is a SparseTensorProto */
    const int64_t *ints;  /* contents of an integer or bool type, if small; */
    const double *floats; /* contents of a floating type: only one of the two is
                           * set */
    uint32_t n;           /* elements of ints or floats */
    const double *fill;   /* or the number that all elements are */
    const char *const *dim_names; /* per axis, NULL where it has none */
    uint8_t held; /* the type it has in memory, if not the dtype; else 0 */
} clv_payload;

enum { CLV_NO_RANK = 255 };

enum clv_value_flags {
    CLV_V_OUTPUT = 1,    /* a graph output */
    CLV_V_BOUND = 2,     /* the shape is an upper bound: depends on data */
    CLV_V_FIXED = 4,     /* computed from weights alone: once, at load */
    CLV_V_SEQUENCE = 8,  /* `count` tensors; each has this dtype and shape */
    CLV_V_OPTIONAL = 16, /* a tensor that may be absent */
    CLV_V_FORM = CLV_V_SEQUENCE | CLV_V_OPTIONAL, /* not a plain tensor */
};

typedef struct clv_value {
    const char *name;    /* NULL: named after the producer */
    const int64_t *dims; /* rank of them */
    clv_payload *data;   /* NULL: nothing known of the contents */
    uint32_t producer;   /* CLV_NONE for inputs and weights */
    uint32_t view_of;    /* the value whose storage it shares, or CLV_NONE */
    uint8_t dtype, kind, rank, flags;
    uint32_t count; /* tensors of a sequence; CLV_NONE: not known */
} clv_value;

enum clv_node_flags {
    CLV_N_STATEFUL = 1, /* random, in-place or stateful: keeps its place in the
                         * order */
    CLV_N_UNSHAPED =
        2, /* its shape rule could not tell, so its cost is unknown */
    CLV_N_FUNCTION = 4, /* called as a function, not as a module (zoo) */
    CLV_N_INTEGER = 8,  /* computes on the quantised integers around it
                         * (quant.c) */
    CLV_N_GUESSED = 16, /* how often it runs depends on data (unfold.c) */
};

typedef struct clv_node {
    const char *name;
    const char *origin;       /* NULL: same as the operator */
    const char *source;       /* NULL: unknown */
    const char *counted_only; /* why it is counted but must not be run or
                                 written: it came with arguments that no
                                 attribute says. NULL for all others */
    const clv_attr *attrs;
    uint32_t first_edge, n_in, n_out;
    uint32_t scope;
    uint16_t op;
    uint16_t custom; /* row of graph->custom that describes it, plus 1; or 0 */
    uint16_t times;  /* row of graph->times that says how often it runs, plus 1;
                      * 0: once */
    uint8_t n_attrs, flags;
} clv_node;

typedef struct clv_scope {
    const char *name; /* last part of the path */
    const char *path; /* "layer1.0.conv1"; "" for the root */
    uint32_t parent;  /* CLV_NONE for the root */
} clv_scope;

typedef struct clv_warning {
    const char *text, *subject;
    clv_subject_kind about;
} clv_warning;

/* What the user says one node costs, instead of our rules. */
typedef struct clv_given {
    const char *kind; /* what it is counted as; NULL: nothing is given */
    int64_t macs, flops;
} clv_given;

struct clv_graph {
    arena mem;
    const char *name, *format; /* format: "zoo", "onnx", "api", ... */
    const char *folder;        /* where external data lies, or NULL */
    clv_node *nodes;
    clv_value *values;
    clv_scope *scopes;
    uint32_t *edges;
    uint32_t n_nodes, n_values, n_scopes, n_edges;
    uint32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    uint32_t *user_first, *users; /* CSR of readers, by clv__graph_order */
    uint8_t *repeats; /* a bit per edge, see input_repeats; NULL: none do */
    int64_t *params; /* per node: elements of the weights it counts (owner.c) */
    uint8_t *stored_as; /* a type per value (ops/owner.c); NULL: their own */
    clv_warning *warnings;
    uint32_t n_warnings;
    uint32_t n_unsaid; /* warnings left out; the last one says how many */
    strmap node_names, scope_paths, op_names;
    clv_graph **bodies; /* graphs held by attributes */
    uint32_t n_bodies;
    int64_t unused_params; /* weights that evaluation never reads */
    int64_t *times;        /* of nodes that do not run once (ops/unfold.c) */
    uint32_t n_times;
    const struct clv_custom_ops *custom; /* user-given operators, or NULL */
    clv_given *given;             /* per node (ops/custom.c); NULL: none */
    void (*release)(void *owner); /* what the graph borrows its bytes from */
    void *owner;
    const void *file; /* the mapped file that weights lie in, or NULL */
    size_t file_size;
    int64_t planned; /* bytes that the runtime of the file's format plans for
                      * activations; 0: it is not known */
    bool inferred;
    bool has_fixed;      /* some value is computed from weights alone */
    bool holds_weights;  /* a weight without data is an error, never drawn */
    bool renamed;        /* some node got another name than it asked for */
    atomic_uint holders; /* elements of ints or floats */
    size_t cap_nodes, cap_values, cap_scopes, cap_edges, cap_inputs,
        cap_outputs, cap_warnings, cap_bodies;
};

/* -- building; all return CLV_NONE, NULL or false when memory ran out ------*/

/* Makes room for that many nodes and values in all, so that arrays need not
 * move. */
bool clv__graph_reserve(clv_graph *g, size_t nodes, size_t values);
/* name is borrowed: static or in g->mem. */
uint32_t clv__value_add(clv_graph *g, const char *name, clv_value_kind kind,
                        clv_dtype dtype);
/* Copies dims. */
bool clv__value_set_shape(clv_graph *g, uint32_t v, uint32_t rank,
                          const int64_t *dims);
/* Returns the payload of v, and makes one if it has none. */
clv_payload *clv__value_data(clv_graph *g, uint32_t v);
/* Appends a node and its edges. Copies the inputs. The outputs are new
 * activations, or the existing values `outs` if that is not NULL. Adds a suffix
 * to the name if it is taken. Borrows attrs and origin (static or in
 * g->mem). */
uint32_t clv__node_add(clv_graph *g, clv_op op, const char *name,
                       uint32_t scope, const uint32_t *ins, uint32_t n_in,
                       const uint32_t *outs, uint32_t n_out);
/* Returns the scope called `name` under parent, and makes it if it is new. */
uint32_t clv__scope_add(clv_graph *g, uint32_t parent, const char *name,
                        size_t len);
/* Returns the scope with this dotted path from the root, and makes it if it is
 * new. */
uint32_t clv__scope_path(clv_graph *g, const char *path);
bool clv__graph_output(clv_graph *g, uint32_t value);
bool clv__graph_warn(clv_graph *g, const char *fmt, ...) CLV_PRINTF(2, 3);
/* The same, with what it is about; subject is copied. */
bool clv__graph_warn_about(clv_graph *g, clv_subject_kind about,
                           const char *subject, const char *fmt, ...)
    CLV_PRINTF(4, 5);
bool clv__graph_own_body(clv_graph *g, clv_graph *body);

/* Adds a holder: the graph lives until each holder has called
 * clv_graph_free. */
clv_graph *clv__graph_hold(clv_graph *g);

/* Orders nodes, fills the CSR of users, verifies. */
CLV_MUST clv_status clv__graph_order(clv_graph *g, clv_err *e);

/* Fails with CLV_USAGE, naming the public function `who`, when the shapes of g
 * were not inferred. */
CLV_MUST clv_status clv__need_inferred(const clv_graph *g, const char *who,
                                       clv_err *e);

/* -- reading --------------------------------------------------------------*/

static inline const uint32_t *node_ins(const clv_graph *g, const clv_node *n)
{
    return g->edges + n->first_edge;
}

/* How often the node runs when the model runs once. */
static inline int64_t clv__node_times(const clv_graph *g, const clv_node *n)
{
    return n->times ? g->times[n->times - 1] : 1;
}

static inline const uint32_t *node_outs(const clv_graph *g, const clv_node *n)
{
    return g->edges + n->first_edge + n->n_in;
}

/* The i-th input, NULL when it is absent. */
static inline clv_value *node_in(const clv_graph *g, const clv_node *n,
                                 uint32_t i)
{
    if (i >= n->n_in || node_ins(g, n)[i] == CLV_NONE)
        return NULL;
    return &g->values[node_ins(g, n)[i]];
}

static inline clv_value *node_out(const clv_graph *g, const clv_node *n,
                                  uint32_t i)
{
    return &g->values[node_outs(g, n)[i]];
}

/* True when an earlier input of n is the same value as its i-th. */
static inline bool input_repeats(const clv_graph *g, const clv_node *n,
                                 uint32_t i)
{
    uint32_t edge = n->first_edge + i;
    return g->repeats && g->repeats[edge / 8] >> edge % 8 & 1;
}

static inline bool value_is_weight(const clv_value *v)
{
    return v->kind == CLV_VALUE_PARAM || v->kind == CLV_VALUE_BUFFER ||
           v->kind == CLV_VALUE_CONST;
}

/* Returns true for a weight, and for a value computed from weights alone. */
static inline bool value_is_fixed(const clv_value *v)
{
    return value_is_weight(v) || v->flags & CLV_V_FIXED;
}

/* Gives v the type of `as`: element type, shape, and form (sequence or
 * optional). */
static inline void value_like(clv_value *v, const clv_value *as)
{
    v->dtype = as->dtype;
    v->rank = as->rank;
    v->dims = as->dims;
    v->count = as->count;
    v->flags = (uint8_t)((v->flags & ~CLV_V_FORM) | (as->flags & CLV_V_FORM));
}

/* Elements and bytes of a value; CLV_SAT on overflow or unknown rank. For a
 * sequence they are those of all its tensors, or of one tensor if their number
 * is not known. */
int64_t clv__numel(const clv_value *v);
int64_t clv__bytes(const clv_value *v);
/* Bytes of a value in the type it has in memory. */
int64_t clv__held_bytes(const clv_value *v);

static inline clv_dtype value_held(const clv_value *v)
{
    return (clv_dtype)(v->data && v->data->held ? v->data->held : v->dtype);
}

/* Writes "[1, 3, 224, 224]" to buf and returns buf. */
const char *clv__shape_text(const clv_value *v, char *buf, size_t size);
/* The name of a value; unnamed ones are called after their producer. */
const char *clv__value_name(const clv_graph *g, uint32_t v, char *buf,
                            size_t size);

/* Does a glob pattern mean node n, or a module that it lies in? */
bool clv__node_matches(const clv_graph *g, const clv_node *n,
                       const char *pattern);

/* What people call the operator of n: its name at the source where we do not
 * know it, else ours. For messages and lists, never to decide by. */
const char *clv__op_shown(const clv_node *n);
/* Its name at the source, or ours where it has none there. */
const char *clv__op_at_source(const clv_node *n);
/* The same, but "" where it has none there. */
const char *clv__op_origin(const clv_node *n);
/* `to` is shown as `from` is. */
void clv__node_label(clv_node *to, const clv_node *from);
const char *clv__op_name(clv_op op);
clv_op clv__op_find(const char *name); /* CLV_OP_UNKNOWN if none */
const char *clv__attr_name(clv_attr_key key);
clv_attr_key clv__attr_find(const char *name); /* CLV_A_OTHER if none */
/* An attribute that the node states itself; NULL where it leaves it out. */
const clv_attr *attr_get(const clv_node *n, clv_attr_key key);
/* What an attribute is: the node's own value, or else the schema's default
 * (0, "", no list where leaving it out has a meaning of its own). */
int64_t attr_int(const clv_node *n, clv_attr_key key);
double attr_float(const clv_node *n, clv_attr_key key);
const char *attr_str(const clv_node *n, clv_attr_key key);
bool attr_is(const clv_node *n, clv_attr_key key, const char *text);
/* A single int is a list of one. NULL and *count = 0 when there is none. */
const int64_t *attr_ints(const clv_node *n, clv_attr_key key, uint32_t *count);
/* Whether the operator of n has an attribute of that name at all. */
bool attr_exists(const clv_node *n, clv_attr_key key);
/* CLV_NODTYPE where it is left out. */
clv_dtype attr_dtype(const clv_node *n, clv_attr_key key);
/* The attribute says "own": a type is kept, whatever it is. */
bool attr_is_own(const clv_attr *a);
/* How often a reader asked an operator for what its schema does not have: a
 * bug, which tests look for. */
extern _Atomic uint32_t clv__schema_misses;

#endif

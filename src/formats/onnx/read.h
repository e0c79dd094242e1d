/* read.h - the ONNX reader: how a model is read, and its own structures.
 *
 * A file is mapped and its messages are walked where they lie (wire.h). The
 * reader makes a graph of it in these steps:
 *
 *   model       versions, functions and the graph are found (read_model.c)
 *   names       every graph, body and inlined function has names of its own, a
 *               frame. A name that a body does not define is looked for in the
 *               graph around it, and becomes one more input of the body, which
 *               its node reads too (read_graph.c)
 *   functions   a call is replaced by the function's nodes, whose inputs,
 *               outputs and attributes are bound to the call's (read_model.c)
 *   constants   a stored tensor, or a Constant node, is a value and no node.
 * Its bytes are pointed at and not read, and the head of a large one is peeked
 * at by copying it from the file (read_peek.c). Only small ones that shapes may
 * follow from are decoded (read_const.c) types       the inputs get their
 * shapes from the file and the options. The shapes that the file declares of
 * other values stand until they are inferred, and are compared with that
 * (read_types.c) nodes       a node is decoded, its edges are looked up and its
 * attributes get our names. This draft goes to the mapping function of its row
 * in onnx.def, which changes its operator, inputs and attributes, or adds
 * several nodes in its place (read_node.c, map.h). Its shape rule runs at once,
 * so that later mapping functions know the shapes before them; from the first
 * node on that comes before its inputs, all rules wait for the end roles each
 * reader of a stored tensor says what it is: a parameter, a buffer, a constant
 * (the letters of onnx.def) finish      as every graph is finished
 * (ops/build.h); then nodes without a module get one by the names of their
 * weights (read_modules.c)
 *
 * The structures, from the outside in:
 *
 *   reader   one load: the file, options, functions, name tables, budgets
 *   unit     one graph being built: the model's, or the body of a loop or
 *            branch; what the file declares of its values
 *   frame    one scope of names in a unit: the graph itself, or a function
 *            being inlined into it
 *   proto    one NodeProto, decoded but for its attributes
 *   draft    the node it becomes, handed to the operator's mapping function
 *
 * Text is borrowed from the mapped file; what the graph keeps is copied. */
#ifndef CLV_ONNX_READ_H
#define CLV_ONNX_READ_H

#include "core/mapping.h"
#include "formats/formats.h"
#include "formats/onnx/fields.h"
#include "formats/onnx/types.h"
#include "formats/onnx/wire.h"
#include "ops/build.h"
#include "ops/ops.h"

#include <string.h>

typedef struct text {
    const char *s;
    size_t n;
} text;

static inline text text_of(wire w)
{
    return (text){(const char *)w.cur, wire_left(&w)};
}

static inline bool text_is(text t, const char *word)
{
    return t.n == strlen(word) && !memcmp(t.s, word, t.n);
}

/* A copy fit to be shown: control characters become '?'. */
char *onnx_name(arena *mem, text t);
/* For "%.*s": texts come from the file and may be long. */
#define TEXT(t) (int)((t).n < 200 ? (t).n : 200), (t).s ? (t).s : ""

/* A model beyond one of the first four is refused, with a message. */
enum {
    ONNX_MAX_DEPTH = 64,    /* nested bodies, and inlined functions */
    ONNX_MAX_TYPE = 8,      /* nested types: a sequence of optionals of ... */
    ONNX_MAX_EDGES = 65536, /* inputs of a node, and outputs */
    ONNX_MAX_ATTRS = 112,   /* attributes of a node */
    ONNX_MORE_ATTRS = 64,   /* room for those that reading and mapping add */
    ONNX_MORE_INS = 8, /* absent inputs that it may ask for, or fill, at the end
                        */
    ONNX_MAX_LISTS = 4096,   /* elements read of a small constant */
    ONNX_MAX_VIEWS = 64,     /* views or Concats between a weight and its
                              * reader; a warning says that there are more */
    ONNX_RESERVED = 1 << 15, /* names that tables are made for at once */
    ONNX_RECENT = 64,        /* rows of operators and attributes at hand */
    ONNX_PEEK = 2 * 4096,    /* bytes copied at once, at most */
    ONNX_NEWEST_IR = 14,
    ONNX_NEWEST_OPSET = 28,
};

/* Inlining functions may make this many nodes, and one more for so many bytes
 * of the file: then it expands without measure. */
enum { ONNX_BUDGET = 200000, ONNX_BUDGET_BYTES = 8 };

/* Attributes that fit into a draft. */
enum { ONNX_ATTR_ROOM = ONNX_MAX_ATTRS + ONNX_MORE_ATTRS };

/* A flag of nodes that go before the graph is finished. */
#define ONNX_DEAD 0x80

/* The role of a tensor that a Constant node holds, until a reader names one. */
#define ONNX_IN_NODE 'n'

/* In a frame's names: an input that the call of a function leaves out. */
#define ONNX_ABSENT (CLV_NONE - 1)

/* Domains with operators of ours; the rest are told apart by name only. */
typedef enum onnx_domain {
    ONNX_AI, /* "" and "ai.onnx" */
    ONNX_ML,
    ONNX_MICROSOFT,
    ONNX_NCHWC,   /* com.microsoft.nchwc: blocked layouts */
    ONNX_PREVIEW, /* ai.onnx.preview, ai.onnx.preview.training */
    ONNX_CLEAVE,  /* our own operators, written by clv_export_onnx */
    ONNX_OTHER,
    ONNX_DOMAINS
} onnx_domain;

/* AttributeProto: lists are read from `all` when asked for. */
typedef struct onnx_attr {
    text name, ref;
    uint32_t type; /* AttributeProto.AttributeType, 0 when the file has none */
    int64_t i;
    double f;
    text s;
    wire tensor, graph, all;
    size_t n_floats, n_ints, n_strings;
} onnx_attr;

typedef struct onnx_function {
    text name, domain, overload;
    wire body;
    int32_t opset[ONNX_DOMAINS];
    uint32_t next; /* another one of the same name, or CLV_NONE */
    bool active;   /* being inlined: a second time is recursion */
} onnx_function;

enum { ONNX_FEW = 4 };
typedef struct proto {
    text name, op, domain, overload, module, namespace;
    text *ins, *outs; /* the few below, or more of them in r->mem */
    wire *attrs;
    uint32_t n_in, n_out, n_attrs;
    size_t offset; /* of the NodeProto in the file */
    wire all;
    text few_ins[ONNX_FEW], few_outs[ONNX_FEW];
    wire few_attrs[ONNX_FEW];
} proto;

typedef struct declared {
    uint32_t value;
    uint8_t dtype, rank; /* CLV_NO_RANK: only the type */
    const int64_t *dims; /* -1 where the file names no number */
} declared;

typedef struct unit {
    clv_graph *g;
    declared *declared;
    size_t n_declared, cap_declared;
    uint8_t *roles; /* per value, what its readers said of it */
    size_t n_roles;
    uint32_t *captured; /* values of the enclosing frame, in order of input */
    size_t n_captured, cap_captured;
    bool unordered; /* nodes are not inferred as they come: some comes
                     * before its inputs, or their shapes are the node's
                     * that has this body */
    bool branch;    /* of an If, which may never be taken */
    bool deep;      /* warned that there are more than ONNX_MAX_VIEWS */
    bool each;      /* done for each tensor of a sequence: sizes differ */
    bool typed;     /* the shapes that a body declares for its inputs count */
    bool loop;      /* the first two inputs are a loop's number and condition */
    bool stores;    /* weights are initializers here, not Constant nodes */
    uint32_t n_formal; /* inputs the body declares; captured ones follow */
} unit;

typedef struct frame {
    unit *unit;
    struct frame *outer;    /* the enclosing graph's frame, or NULL */
    strmap names;           /* value names to ids of unit->g */
    strmap results;         /* of a function: its outputs, the call's values */
    onnx_function *fn;      /* NULL: a graph */
    const onnx_attr *bound; /* attributes of the call; NULL: none */
    uint32_t n_bound;
    const struct frame *caller; /* whose attributes `bound` refers to */
    const int32_t *opset;
    uint32_t scope; /* module the frame's nodes lie in */
    text last_path; /* of the last node: most have the one before's module */
    uint32_t last_scope;
    text prefix; /* of node names: the call's name */
    int depth;
    bool shuffled; /* some node stands before one whose output it reads */
} frame;

/* The number of a named dimension. */
typedef struct onnx_symbol {
    int64_t value;
    bool used; /* some shape of the file has the name */
} onnx_symbol;

/* A copy of a few bytes of the file, for heads of fields between weights. */
typedef struct peek {
    size_t at, n; /* where they lie in the file */
    uint8_t bytes[ONNX_PEEK];
} peek;

/* A size that the file leaves open, and what it is taken as (read_sizes.c). */
typedef struct open_size {
    text symbol; /* its name, or of no length: */
    text input;  /* the axis of this input; where a name stands first */
    uint32_t axis;
    int64_t value;
    enum {
        SIZE_ONE,
        SIZE_STATED,  /* by the file's metadata */
        SIZE_GUESSED, /* by names and shapes */
        SIZE_SUM,     /* of other sizes: "past + 1" */
        SIZE_SMALLEST /* that the graph accepts */
    } how;
    bool picture; /* guessed to be a height or width */
} open_size;

typedef struct open_sizes {
    arena mem;
    open_size *of;
    size_t n, cap;
    int64_t image[2]; /* height and width that the metadata state, or 0 */
    uint32_t differ;  /* shapes which the file declares otherwise */
} open_sizes;

typedef struct reader {
    clv_mapping map;
    peek peek;
    size_t near; /* where the last head lies that was read in place */
    const clv_open_opts *opts;
    arena mem;      /* freed when the load ends */
    strmap symbols; /* dimension names to indices of bound */
    struct onnx_symbol *bound;
    size_t n_symbols, cap_symbols;
    onnx_function *functions;
    size_t n_functions, cap_functions;
    strmap function_names; /* to the last one of that name */
    int32_t opset[ONNX_DOMAINS];
    int64_t ir_version;
    uint64_t budget; /* nodes that may still be made by inlining */
    open_sizes *sizes;
    wire graph; /* the model's, whole */
    const struct onnx_op
        *recent[ONNX_RECENT]; /* rows of ai.onnx that nodes had */
    const struct onnx_attr_row *recent_attrs[ONNX_RECENT];
} reader;

typedef struct draft {
    reader *r;
    frame *f;
    const proto *p;
    const struct onnx_op *row;
    clv_graph *g;
    const char *name;
    uint32_t scope;
    int32_t opset; /* of the operator's domain */
    clv_op op;
    uint32_t *ins, *outs;
    uint32_t n_in, n_out;
    clv_attr *attrs; /* ONNX_ATTR_ROOM of room */
    uint32_t n_attrs;
    const char *counted_only; /* of the nodes added from now on, or NULL */
    bool done; /* the mapping function has added the nodes itself */
} draft;

/* -- read_attrs.c ---------------------------------------------------------*/

CLV_MUST clv_status onnx_attr_read(wire w, onnx_attr *a, clv_err *e);
/* All attributes of a node, in the canonical names; binds references. */
CLV_MUST clv_status onnx_attrs_read(draft *d, clv_err *e);

/* Whether what a says has been translated, or changes nothing; a node with
 * another attribute is counted only. */
bool onnx_attr_understood(reader *r, const clv_attr *a);
/* What ONNX calls an attribute that only some operators have, or that only
 * ONNX knows; NULL for all others. */
const char *onnx_attr_name(const clv_attr *a);

clv_attr *draft_attr(const draft *d, clv_attr_key key);
clv_attr *draft_other(const draft *d, const char *name); /* by ONNX name */
clv_attr *draft_named(const draft *d, const char *name); /* by either name */
int64_t draft_int(const draft *d, clv_attr_key key, int64_t otherwise);
int64_t draft_other_int(const draft *d, const char *name, int64_t otherwise);
void draft_drop(draft *d, clv_attr_key key);
void draft_set_int(draft *d, clv_attr_key key, int64_t i);
void draft_set_float(draft *d, clv_attr_key key, double x);
void draft_set_str(draft *d, clv_attr_key key, const char *s);
/* Copies the list. */
CLV_MUST clv_status draft_set_ints(draft *d, clv_attr_key key, const int64_t *v,
                                   uint32_t n, clv_err *e);

/* -- read_peek.c ----------------------------------------------------------*/

/* The next bytes of w are read in place, and those that follow closely. */
void onnx_near(reader *r, const wire *w);
/* A copy of w's first bytes, valid until the next peek: all of them, or some
 * hundreds. Of none when they are to be read in place. */
wire onnx_peek(reader *r, wire w);
/* wire_next, without touching the page of a field that lies far behind. */
CLV_MUST clv_status onnx_next(reader *r, wire *w, wire_field *f, clv_err *e);

/* -- read_const.c ---------------------------------------------------------*/

/* The type a value is counted with: --dtype replaces floating types. */
clv_dtype onnx_counted(const reader *r, clv_dtype t);
/* Reads a StringStringEntryProto. */
CLV_MUST clv_status onnx_entry(wire w, text *key, text *value, clv_err *e);
/* Adds the value a TensorProto describes; its bytes are only pointed at.
 * `name` NULL: the tensor's own name. */
CLV_MUST clv_status onnx_tensor(reader *r, unit *u, wire w, text *name,
                                bool initializer, uint32_t *value, clv_err *e);
CLV_MUST clv_status onnx_sparse(reader *r, unit *u, wire w, text *name,
                                uint32_t *value, clv_err *e);
/* Whether the bytes of v lie in the file and all its elements are the same. */
bool onnx_is_even(const clv_value *v);
/* Decodes the contents of a small constant whose bytes lie in the file. */
CLV_MUST clv_status onnx_contents(clv_graph *g, uint32_t v, clv_err *e);
/* The value of a Constant given as value_int, value_floats, ...; CLV_NONE
 * when no attribute is one. */
CLV_MUST clv_status onnx_const_attr(clv_graph *g, const clv_attr *attrs,
                                    uint32_t n, uint32_t *value, clv_err *e);
/* Makes v a constant of ints. */
CLV_MUST clv_status onnx_const_ints(clv_graph *g, uint32_t v, uint32_t rank,
                                    const int64_t *ints, uint32_t n,
                                    clv_err *e);

/* -- read_types.c ---------------------------------------------------------*/

/* A ValueInfoProto's type. dims has CLV_MAX_RANK of room. */
typedef struct onnx_type {
    clv_dtype dtype;
    uint8_t rank;               /* CLV_NO_RANK: unknown, or not a tensor */
    int64_t dims[CLV_MAX_RANK]; /* -1: not a number */
    text symbols[CLV_MAX_RANK];
    uint8_t form; /* CLV_V_SEQUENCE, CLV_V_OPTIONAL: of such tensors */
    bool tensor;
} onnx_type;
CLV_MUST clv_status onnx_value_info(wire w, text *name, onnx_type *t,
                                    clv_err *e);
/* A TypeProto. */
CLV_MUST clv_status onnx_type_read(wire w, onnx_type *t, clv_err *e);
/* The shape a graph input gets, from the file and the options. */
CLV_MUST clv_status onnx_bind_input(reader *r, clv_graph *g, uint32_t v,
                                    const onnx_type *t, clv_err *e);
/* Learns the symbols that the options give, then those that the data of inputs
 * tell; w holds the inputs, f knows the initializers. */
CLV_MUST clv_status onnx_learn_symbols(reader *r, const frame *f, wire w,
                                       clv_err *e);
/* Fails for a --dim whose name no shape of the file has. */
CLV_MUST clv_status onnx_check_dims(const reader *r, const clv_graph *g,
                                    clv_err *e);
CLV_MUST clv_status onnx_declare(reader *r, unit *u, uint32_t v,
                                 const onnx_type *t, clv_err *e);
/* Compares what the file declares with what was inferred, and counts the
 * shapes that differ. */
CLV_MUST clv_status onnx_compare(unit *u, uint32_t *differ, clv_err *e);

/* -- read_sizes.c ---------------------------------------------------------*/

/* What axis `axis` of an input, whose size nobody gives, is taken as. */
CLV_MUST clv_status onnx_open_size(reader *r, const onnx_type *t, text input,
                                   uint32_t axis, const open_size **out,
                                   clv_err *e);
/* Learns what one entry of the model's metadata says of sizes. */
CLV_MUST clv_status onnx_size_metadata(reader *r, wire w, clv_err *e);
/* Reads the file with the sizes as they are. Sets how many nodes were added
 * before it failed. A success replaces what an earlier one left. */
typedef clv_status onnx_attempt_fn(void *ctx, uint32_t *reached, clv_err *e);
/* Attempts it with sizes that make sense, then with others until one fits. */
CLV_MUST clv_status onnx_find_sizes(open_sizes *o, onnx_attempt_fn *attempt,
                                    void *ctx, clv_err *e);

/* -- read_scope.c, read_node.c ---------------------------------------------*/

/* Modules from the names of weights, where no node names its own. */
CLV_MUST clv_status onnx_modules(clv_graph *g, clv_err *e);
/* Marks stored tensors as what the graph's metadata, which lie in w, call them
 * (read_signature.c). */
CLV_MUST clv_status onnx_signature(const frame *f, wire w, clv_err *e);
/* Notes what value v is taken for; false when memory ran out. */
bool onnx_set_role(unit *u, uint32_t v, char role);
/* The module of a node, CLV_NONE when memory ran out. */
uint32_t onnx_scope(frame *f, const proto *p);
CLV_MUST clv_status onnx_node_read(reader *r, wire w, proto *p, clv_err *e);
CLV_MUST clv_status onnx_node_add(reader *r, frame *f, const proto *p,
                                  clv_err *e);

/* -- read_model.c ---------------------------------------------------------*/

/* The function of the model that p calls, or NULL. */
onnx_function *onnx_function_find(reader *r, const proto *p);
CLV_MUST clv_status onnx_inline(reader *r, frame *f, const proto *p,
                                onnx_function *fn, clv_err *e);

/* -- read_graph.c ---------------------------------------------------------*/

/* The value called `name`, captured from an enclosing graph if need be;
 * CLV_NONE when there is none. */
CLV_MUST clv_status onnx_lookup(frame *f, text name, uint32_t *value,
                                clv_err *e);
/* All nodes of a message, where they are field `number`. */
CLV_MUST clv_status onnx_nodes(reader *r, frame *f, wire w, uint32_t number,
                               clv_err *e);

/* Reads a GraphProto into u->g. */
CLV_MUST clv_status onnx_graph(reader *r, frame *f, wire w, clv_err *e);
/* A body as a graph of its own; captured values are appended to d's inputs. */
CLV_MUST clv_status onnx_body(draft *d, wire w, clv_graph **body, clv_err *e);
/* Adds the nodes of the graph that attribute `name` holds, which takes one
 * value and makes one: *value is the one, and then the other. Nothing happens
 * where the node has no such attribute. */
CLV_MUST clv_status draft_inline(draft *d, const char *name, uint32_t *value,
                                 clv_err *e);
void onnx_unit_free(unit *u);
/* Orders and verifies the graph, and infers what was put off. */
CLV_MUST clv_status onnx_finish(unit *u, clv_err *e);

/* -- ops.c -----------------------------------------------------------*/

typedef clv_status onnx_map_fn(draft *d, clv_err *e);

/* What ONNX calls an attribute of ours. */
typedef struct onnx_rename {
    const char *name;
    uint8_t key;
} onnx_rename;

/* One operator of a domain: a row of onnx.def, which says what each is. */
typedef struct onnx_op {
    const char *name;
    uint16_t op;
    uint8_t domain, since;
    const char *roles;
    onnx_map_fn *map; /* NULL: the attributes' names are all that changes */
    const onnx_rename
        *kept; /* up to one without a name; NULL: not written so */
} onnx_op;

onnx_domain onnx_domain_of(text name);
/* NULL when there is none. */
const onnx_op *onnx_op_find(text domain, text name);
/* Row i in the order of domains and names; NULL behind the last. */
const onnx_op *onnx_op_row(size_t i);
/* onnx_op_find for a node: models have few operators, many nodes of each. */
const onnx_op *onnx_op_of(reader *r, const proto *p);
/* The letter of input i. */
char onnx_role(const onnx_op *row, uint32_t i);

/* Adds a node made of d's name and scope; used by mapping functions that
 * need more than one. outs NULL: one new value, returned in *out. */
CLV_MUST clv_status draft_emit(draft *d, clv_op op, const char *suffix,
                               const uint32_t *ins, uint32_t n_in,
                               const clv_attr *attrs, uint32_t n_attrs,
                               const uint32_t *outs, uint32_t n_out,
                               uint32_t *out, clv_err *e);

#endif

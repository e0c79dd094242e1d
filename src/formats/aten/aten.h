/* aten.h - calls of PyTorch become nodes of a graph.
 *
 * Whoever walks a torch program (the live bridge in python/, a reader of
 * exported files) adds the inputs and weights to the graph, turns the arguments
 * of every call into aten_arg, and hands over one call after the other:
 *
 *     aten_builder b = {.g = g};
 *     for each call:
 *         clv__aten_call(&b, &call, &err);   b.made: the ids of its results
 *     clv__aten_finish(&b, &err);            shapes are compared with torch's
 *     clv__aten_free(&b);
 *
 * aten.def says what each call is here and what its arguments are. A call
 * without a row becomes an `unknown` node. A call with arguments that our
 * attributes cannot say is counted but never run, and the node says why. */
#ifndef CLV_ATEN_H
#define CLV_ATEN_H

#include "graph/graph.h"

typedef enum aten_kind {
    ATEN_NONE,
    ATEN_BOOL,
    ATEN_INT,
    ATEN_FLOAT,
    ATEN_STRING,
    ATEN_TENSOR,
    ATEN_LIST,
    ATEN_SLICE,    /* a:b:c of an index: the items start, stop and step */
    ATEN_ELLIPSIS, /* ... of an index */
    ATEN_DTYPE,    /* u.i is a clv_dtype */
    ATEN_OTHER     /* a type, a device: no attribute can say it */
} aten_kind;

/* One argument. Strings and items are borrowed during the call. Sizes that
 * torch knows as symbols are given as the integers they stand for. */
typedef struct aten_arg {
    aten_kind kind;
    uint32_t n; /* items of a list or a slice */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        uint32_t value; /* of a tensor: its id in the graph */
        const struct aten_arg *items;
    } u;
} aten_arg;

typedef struct aten_named {
    const char *name;
    aten_arg value;
} aten_named;

/* What torch knows of a result; rank is CLV_NO_RANK when it is no tensor. */
typedef struct aten_type {
    clv_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
} aten_type;

enum { ATEN_MAX_MEMBERS = 16 }; /* that the row of a leaf module reads */

/* A call of a function, of a tensor's method, or of a leaf module. All of it is
 * borrowed. The index of `getitem` and `setitem` is a list, one item per
 * index: x[[0, 1]] has the list of one list. */
typedef struct aten_call {
    const char *target; /* "aten.conv2d.default", "relu"; a module's class */
    const char *name;   /* torch's own name of the call: "conv2d_1" */
    const char *path;   /* of the module that calls it, "": none; may be NULL */
    const char *cls;    /* that module's class, with its package; may be NULL */
    const char *source; /* "model.py:12", or NULL */
    const aten_arg *args;
    const aten_named *named;
    const aten_named *members; /* of a leaf module, in the order of its row */
    const aten_type *results;
    uint32_t n_args, n_named, n_members, n_results;
    bool method;      /* of a tensor: its arguments are those of ATen */
    bool module;      /* a leaf module, at `path` */
    bool others_used; /* somebody reads another result than the first */
} aten_call;

/* The walk over a program. Starts as {.g = graph}. With `infer`, nobody has
 * seen the results: calls come without types of them (n_results may say how
 * many there are), and shapes are inferred call by call. */
typedef struct aten_builder {
    clv_graph *g;
    bool infer;
    uint32_t node;  /* of the last call, CLV_NONE if it made none */
    uint32_t *made; /* results of the last call, as values of the graph */
    uint32_t n_made;
    size_t cap_made;
    struct aten_write {
        uint32_t node, value;
    } * writes; /* calls that work in place, and what they write to */
    uint32_t n_writes;
    size_t cap_writes;
    uint32_t *latest; /* by value: the value that took its place */
    uint32_t n_latest;
    size_t cap_latest;
    struct aten_rows *rows; /* that calls had so far: row.c */
} aten_builder;

/* Adds the node of a call, and sets b->node and b->made. x[1] of a list of
 * results makes no node: b->made is one of that list. Fails when memory runs
 * out, and with CLV_FORMAT on an id that the graph does not have. */
CLV_MUST clv_status clv__aten_call(aten_builder *b, const aten_call *call,
                                   clv_err *e);
/* The value to read where a program names v: operators in place replace it. */
uint32_t clv__aten_latest(aten_builder *b, uint32_t v);
/* Orders the graph and infers it. Where a shape rule differs from what torch
 * saw, torch's shape stays and the node says so. */
CLV_MUST clv_status clv__aten_finish(aten_builder *b, clv_err *e);
/* Frees what the builder holds; the graph stays. */
void clv__aten_free(aten_builder *b);

/* Names of the members of leaf module `cls` that its row reads, such as
 * "out_proj.weight", in order; *n is 0 for a class without a row. They live as
 * long as the builder. Returns false when memory ran out. */
bool clv__aten_members(aten_builder *b, const char *cls,
                       const char *names[ATEN_MAX_MEMBERS], uint32_t *n);
/* "L['self']._modules['layer1'][0].conv", as torch spells the path of a
 * module, becomes "layer1.0.conv", in place. */
void clv__aten_path(char *path);
/* The line of the program that made a call, as "model.py:12", from the stack
 * trace that torch kept: that of the innermost frame outside of torch. False
 * when the trace has no frame. */
bool clv__aten_source(const char *trace, char *buf, size_t size);
/* The i-th row of the table: its name and the operator it leads to. False past
 * the last. */
bool clv__aten_row(size_t i, const char **name, clv_op *op);

#endif

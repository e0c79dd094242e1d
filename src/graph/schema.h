/* schema.h - what each operator takes, as ops/schema.def states it.
 *
 * Everybody who reads an attribute goes through here, so a default has one
 * home: attr_int(n, key) is the node's own value, or else the schema's. */
#ifndef CLV_SCHEMA_H
#define CLV_SCHEMA_H

#include "graph/graph.h"

typedef enum clv_input_need {
    CLV_NEED_IN,   /* must be there */
    CLV_NEED_OPT,  /* may be left out */
    CLV_NEED_OR,   /* must be there unless attribute `value` is */
    CLV_NEED_REST, /* any number more */
    CLV_NEED_MORE  /* any number more, none of them left out */
} clv_input_need;

typedef struct clv_input_spec {
    const char *name; /* NULL ends the list */
    clv_input_need need;
} clv_input_spec;

typedef enum clv_attr_kind {
    CLV_KIND_INT,
    CLV_KIND_BOOL,
    CLV_KIND_FLOAT,
    CLV_KIND_NUMBER,
    CLV_KIND_STR,
    CLV_KIND_INTS,
    CLV_KIND_FLOATS,
    CLV_KIND_STRS,
    CLV_KIND_DTYPE,
    CLV_KIND_BODY
} clv_attr_kind;

typedef enum clv_attr_presence {
    CLV_PRESENCE_REQUIRED,
    CLV_PRESENCE_DEFAULT, /* `whole`, `real` or `text` when it is left out */
    CLV_PRESENCE_SAME_AS, /* what attribute `other` is */
    CLV_PRESENCE_NONE     /* leaving it out has a meaning, which `text` tells */
} clv_attr_presence;

/* How many numbers a list has. */
typedef enum clv_attr_length {
    CLV_LENGTH_ANY,
    CLV_LENGTH_AXIS, /* one, or one per axis of the window */
    CLV_LENGTH_SIDE, /* the same, or two per axis */
    CLV_LENGTH_PAIR
} clv_attr_length;

typedef struct clv_attr_spec {
    uint8_t key, kind, presence, other, length;
    int64_t whole;
    double real;
    const char *text;
    bool bounded; /* a number must lie in [lo, hi] */
    int64_t lo, hi;
    const char *choices; /* of a string: "a|b|c"; NULL: any */
} clv_attr_spec;

typedef struct clv_schema {
    const clv_input_spec *inputs;
    const clv_attr_spec *attrs;
    const uint8_t *keys;    /* of the attributes, in their order */
    uint8_t min_in, max_in; /* max_in 255: any number */
    uint8_t max_out;        /* 255: any number */
    uint8_t either;         /* the input that `value` may stand for; 0: none */
    uint8_t n_attrs, n_required;
} clv_schema;

const clv_schema *clv__schema_of(clv_op op);
/* How operator op takes attribute `key`; NULL when it has none of that name. */
const clv_attr_spec *clv__attr_spec(clv_op op, clv_attr_key key);
/* Axes of the window of an operator whose name tells them, else 0. */
uint32_t clv__named_axes(clv_op op);
/* Axes of the window that n slides (ops/axes.def); 0 for a node without one,
 * or when they are not known yet. */
uint32_t clv__window_axes(const clv_graph *g, const clv_node *n);
/* What attribute `key` of n is although n does not have it: the schema's
 * default, or the attribute that it follows. False when the schema says none.
 */
bool clv__attr_default(const clv_node *n, clv_attr_key key, clv_attr *out);
/* "an integer", "a list of integers": for messages and documents. */
const char *clv__attr_kind_text(clv_attr_kind kind);
/* The default as text ("1", "mean", "as kernel"), into buf; "" for none. */
const char *clv__attr_default_text(const clv_attr_spec *a, char *buf,
                                   size_t size);

/* Checks the inputs, the attributes and the number of outputs of a node. The
 * message says what is wrong and both values, not where. */
CLV_MUST clv_status clv__schema_check(const clv_graph *g, const clv_node *n,
                                      clv_err *e);

#endif

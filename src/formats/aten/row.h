/* row.h - what the files that read a call share.
 *
 *   row.c     finds the row of a call and takes its words apart
 *   args.c    maps arguments and members to inputs and attributes
 *   index.c   x[...] of a tensor
 *   promote.c operands of one type
 *   call.c    builds the node
 *   several.c calls that are several nodes
 *   untold.c  what arguments say of results that nobody saw
 *   finish.c  compares shapes with those torch saw */
#ifndef CLV_ATEN_ROW_H
#define CLV_ATEN_ROW_H

#include "formats/aten/aten.h"
#include "graph/schema.h"
#include "ops/ops.h"

typedef enum aten_word_kind {
    WORD_TENSOR,
    WORD_ATTR,
    WORD_IGNORED,
    WORD_MUST,    /* the call runs with this value alone */
    WORD_LITERAL, /* an attribute whose value the row gives */
    WORD_RESULT,  /* an attribute whose value the result gives */
    WORD_COUNTED,
    WORD_FIRST_ONLY,
    WORD_COMMON
} aten_word_kind;

/* One word of a row's arguments; aten.def says how they are written. */
typedef struct aten_word {
    aten_word_kind kind;
    char torch[48], ours[48]; /* torch's names and ours */
    clv_attr_key key;         /* of our name */
    char value[48];           /* what must be, a literal, or a list of names */
    char otherwise[32];       /* the value when it is left out */
    bool list, rest, first;   /* of tensors */
    bool needed, names, has_default;
    int at; /* input number from 1, or 0: the next */
} aten_word;

/* One row of aten.def with its words. */
typedef struct aten_row {
    const char *name;
    clv_op op;
    const aten_word *words;
    uint32_t n_words;
    bool asks_result; /* some word is a WORD_RESULT */
} aten_row;

enum { ATEN_MAX_ATTRS = 16 };

/* A call being read: its tensors and attributes so far. */
typedef struct aten_reading {
    aten_builder *b;
    const aten_call *call;
    const aten_row *row; /* NULL: the call has none */
    clv_op op;
    uint32_t *ins;
    uint32_t n_ins;
    size_t cap_ins;
    clv_attr attrs[ATEN_MAX_ATTRS];
    uint32_t n_attrs;
    bool writes;     /* to its first tensor, in place */
    bool first_only; /* kernels make the first result alone */
    bool common;     /* operands take their common type first */
    bool no_memory;  /* some allocation failed */
    char why[120];   /* why the node is counted only; "": it may run */
} aten_reading;

/* -- row.c ----------------------------------------------------------------*/

/* The name of a target without namespace, overload, and the underscore of
 * operators in place. */
void clv__aten_plain(const char *target, char *buf, size_t size);
/* The row of a call in *out, NULL when it has none. It lives as long as the
 * builder. Returns false when memory ran out. */
bool clv__aten_find(aten_builder *b, const aten_call *call, const char *plain,
                    const aten_row **out);
/* Frees the rows that were found. */
void clv__aten_rows_free(struct aten_rows *rows);
/* Whether the word stands for an argument of torch's. */
bool clv__aten_takes(const aten_word *w);
/* Whether `key` is one of the names in "dim/axis". */
bool clv__aten_among(const char *names, const char *key);

/* -- args.c ---------------------------------------------------------------*/

void clv__aten_put_input(aten_reading *r, uint32_t v);
void clv__aten_put_int(aten_reading *r, clv_attr_key key, int64_t v);
void clv__aten_put_ints(aten_reading *r, clv_attr_key key, const int64_t *v,
                        uint32_t n);
/* Adds every tensor in `arg`, however deep, as an input. */
void clv__aten_put_tensors(aten_reading *r, const aten_arg *arg);
/* Says why a call can be counted but not run. The first reason stays. */
void clv__aten_counted(aten_reading *r, const char *fmt, ...) CLV_PRINTF(2, 3);
/* Reads the arguments of a function, or the members of a module, by the row. */
void clv__aten_read(aten_reading *r);

/* The argument at place i, or by one of its names; NULL when left out. */
const aten_arg *clv__aten_arg(const aten_call *c, uint32_t i,
                              const char *names);

/* -- untold.c -------------------------------------------------------------*/

/* For a row that reads attributes off the result: the type of result i as the
 * arguments say it, its rank CLV_NO_RANK where they do not. dims has room. */
aten_type clv__aten_untold(const aten_reading *r, const char *plain, uint32_t i,
                           int64_t *dims);
/* How many results a call has by its attributes; 0 when it is not one whose
 * arguments tell. */
uint32_t clv__aten_count(const aten_reading *r);
/* The type that a call asks for by an argument; CLV_NODTYPE for none. */
clv_dtype clv__aten_asked(const aten_call *c);

/* -- index.c --------------------------------------------------------------*/

/* x[index]: sets r->op to a slice, a selection, new axes or a gather. An index
 * that is several of these at once stays a slice that is counted only. */
void clv__aten_read_index(aten_reading *r);

/* -- promote.c ------------------------------------------------------------*/

/* Gives plain numbers their type, and casts operands of a row that says so to
 * their common type where that changes them. */
void clv__aten_promote(aten_reading *r);

/* -- several.c ------------------------------------------------------------*/

/* Reads a call that is several nodes, or another call. Sets *done when it was
 * one; b->node and b->made are then those of the last node. */
CLV_MUST clv_status clv__aten_several(aten_builder *b, const aten_call *call,
                                      bool *done, clv_err *e);

/* -- finish.c -------------------------------------------------------------*/

/* Gives a node its attributes, and the reason why it is counted only ("": it
 * may run). False when memory ran out. */
bool clv__aten_set_attrs(clv_graph *g, clv_node *n, const clv_attr *from,
                         uint32_t count, const char *why);

#endif

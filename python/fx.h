/* fx.h - what the files of the torch.fx walker share.
 *
 *   fx_value.c  Python objects, shapes and types, the values of a graph
 *   fx_index.c  x[...] of a tensor
 *   fx_args.c   arguments of a call and members of a module, by their row
 *   fx.c        nodes, one after the other */
#ifndef CLEAVE_FX_H
#define CLEAVE_FX_H

#include "bridge.h"

#include "graph/graph.h"
#include "ops/ops.h"

/* What torch calls an operator, what we call it, its arguments (fx.def). */
typedef struct row {
    const char *name;
    clv_op op;
    const char *args;
} row;

typedef struct walk {
    clv_graph *g;
    PyObject *root;   /* the GraphModule */
    PyObject *values; /* dict: node -> list of value ids */
    PyObject *owned;  /* dict: id(tensor) -> value id, so ties stay ties */
    PyObject *lifted; /* dict: placeholder -> (path, tensor) of a weight */
    PyObject *names;  /* list: torch's name of each of our nodes */
    PyObject *keep;   /* list: tensors whose bytes the graph borrows */
    struct write {
        uint32_t node, value;
    } * writes; /* in-place operators and what they wrote to */
    uint32_t n_writes;
    size_t cap_writes;
    clv_err err;
} walk;

enum { MAX_ATTRS = 16 };

/* A call being read: its tensors and attributes so far. */
typedef struct call {
    uint32_t *ins;
    uint32_t n_ins;
    size_t cap_ins;
    clv_attr attrs[MAX_ATTRS];
    uint32_t n_attrs;
    bool writes;     /* to its first tensor, in place */
    bool first_only; /* kernels make the first result alone */
    char why[120];   /* why it is counted only; "": it may run */
} call;

typedef enum word_kind {
    WORD_TENSOR,
    WORD_ATTR,
    WORD_IGNORED,
    WORD_MUST,    /* runs with this value alone */
    WORD_LITERAL, /* an attribute of its own */
    WORD_RESULT,  /* an attribute that the result says */
    WORD_COUNTED,
    WORD_FIRST_ONLY
} word_kind;

/* One word of a row's arguments; fx.def says how they are written. */
typedef struct word {
    word_kind kind;
    char py[48], ours[48];  /* torch's names and ours */
    char value[48];         /* what must be, a literal, or a list of names */
    char otherwise[32];     /* when it is left out */
    bool list, rest, first; /* of tensors */
    bool needed, names, has_default;
    int at; /* input number, -1: the next */
} word;

/* -- fx_value.c; none of these raise --------------------------------------*/

PyObject *fx_attr(PyObject *o, const char *name);
void fx_text_of(PyObject *o, char *buf, size_t size);
bool fx_int_of(PyObject *o, int64_t *out);
bool fx_set_type(walk *w, uint32_t v, PyObject *tensor);
PyObject *fx_result_of(PyObject *node);
bool fx_is_tensor(PyObject *o);
uint32_t fx_add_value(walk *w, const char *name, clv_value_kind kind);
uint32_t fx_weight_of(walk *w, PyObject *tensor, const char *name);
void fx_remember(walk *w, PyObject *node, const uint32_t *ids, uint32_t n);
uint32_t fx_value_of(walk *w, PyObject *node, Py_ssize_t i);
PyObject *fx_resolve(PyObject *o);
uint32_t fx_number_value(walk *w, PyObject *o);

/* -- fx_args.c ------------------------------------------------------------*/

bool fx_next_word(const char **args, word *out);
bool fx_all_tensors(walk *w, call *c, PyObject *o);
bool fx_put_list(walk *w, call *c, PyObject *o);
bool fx_put_input(call *c, uint32_t v);
/* Says why a call can be counted but not run. */
void fx_counted_only(call *c, const char *fmt, ...) CLV_PRINTF(2, 3);
bool fx_read_arguments(walk *w, const row *r, PyObject *args, PyObject *kwargs,
                       call *c);
PyObject *fx_member(PyObject *o, const char *path);
bool fx_read_members(walk *w, const row *r, PyObject *module, const char *path,
                     call *c);
/* What a module is called with besides tensors must matter to nobody. */
void fx_check_call(const row *r, PyObject *args, PyObject *kwargs, call *c);

/* -- fx_index.c -----------------------------------------------------------*/

/* x[index] of a tensor: a slice, a selection, new axes or a gather; `op` is
 * which, and stays a slice that is counted only where it is several at once. */
bool fx_read_index(walk *w, PyObject *source, PyObject *index, call *c,
                   clv_op *op);

#endif

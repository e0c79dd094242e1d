/* fx.h - what the files of the torch.fx walker share.
 *
 *   fx_value.c  reads Python objects; adds the values of a graph
 *   fx_args.c   turns arguments into those of formats/aten
 *   fx_call.c   hands over calls of functions and modules
 *   fx.c        walks a GraphModule, node by node */
#ifndef CLEAVE_FX_H
#define CLEAVE_FX_H

#include "bridge.h"

#include "formats/aten/aten.h"
#include "ops/build.h"

typedef struct fx_walk {
    aten_builder b;
    PyObject *root;   /* the GraphModule */
    PyObject *values; /* dict: node -> value id, or a list of them */
    PyObject *owned;  /* dict: id(tensor) -> value id, so ties stay ties */
    PyObject *lifted; /* dict: placeholder -> (path, tensor) of a weight */
    PyObject *names;  /* list: torch's name of each of our nodes */
    PyObject *keep;   /* list: tensors whose bytes the graph borrows */
    arena scratch;    /* of one call */
    clv_err err;
} fx_walk;

/* -- fx_value.c; none of these raise --------------------------------------*/

/* The attribute of an object, or NULL. */
PyObject *fx_attr(PyObject *o, const char *name);
/* The member with this dotted path, or NULL. */
PyObject *fx_member(PyObject *o, const char *path);
/* Copies the text of a str-able object; "" if it has none. */
void fx_text_of(PyObject *o, char *buf, size_t size);
bool fx_int_of(PyObject *o, int64_t *out);
bool fx_is_list(PyObject *o);
bool fx_is_tensor(PyObject *o);
/* What torch knows of a node's result: a tensor, a sequence of them, a number.
 * NULL when it knows nothing. */
PyObject *fx_result_of(PyObject *node);
/* The type and shape of a tensor-like object. dims has room for CLV_MAX_RANK;
 * the rank is CLV_NO_RANK when it has no shape that fits. */
aten_type fx_type_of(PyObject *tensor, int64_t *dims);
/* Gives value v the type and shape of a tensor-like object. */
bool fx_set_type(fx_walk *w, uint32_t v, PyObject *tensor);
uint32_t fx_add_value(fx_walk *w, const char *name, clv_value_kind kind);
/* The weight that is this tensor, made on first sight. */
uint32_t fx_weight_of(fx_walk *w, PyObject *tensor, const char *name);
/* Notes the values that a node stands for: one tensor, or a list of them. */
bool fx_remember(fx_walk *w, PyObject *node, const uint32_t *ids, uint32_t n,
                 bool list);

/* -- fx_args.c; none of these raise ---------------------------------------*/

/* Turns an argument into that of formats/aten, in w->scratch. False when memory
 * ran out. */
bool fx_arg(fx_walk *w, PyObject *o, aten_arg *out);
/* The arguments of a node into a call. */
bool fx_args(fx_walk *w, PyObject *node, aten_call *call);

/* -- fx_call.c ------------------------------------------------------------*/

bool fx_call_function(fx_walk *w, PyObject *node, const char *name,
                      PyObject *target, bool method);
bool fx_call_module(fx_walk *w, PyObject *node, PyObject *target);

#endif

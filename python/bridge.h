/* bridge.h - what the files of the extension share. */
#ifndef CLEAVE_BRIDGE_H
#define CLEAVE_BRIDGE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cleave.h"
#include "core/json.h"

#include <stdio.h>

/* -- convert.c ------------------------------------------------------------*/

/* A parsed document as dicts, lists and scalars (new reference). */
PyObject *py_from_json(const json *v);
/* A report in JSON as Python objects; frees the buffer. */
PyObject *py_from_report(clv_buf *report);
/* A report as str; frees the buffer. */
PyObject *py_from_text(clv_buf *report);
/* Raises what fits the status: ValueError, FileNotFoundError, MemoryError,
 * cleave.Error. Returns NULL. */
PyObject *py_raise(const clv_err *err);
extern PyObject *py_error; /* cleave.Error */
/* The type a torch.dtype names; CLV_NODTYPE if we have none. */
clv_dtype py_dtype(PyObject *o);

/* Names from a Python list, tuple or set. */
typedef struct texts {
    PyObject *held;
    const char **items;
    size_t n;
} texts;

bool texts_read(PyObject *o, texts *out);
void texts_free(texts *t);

/* -- verbs.c --------------------------------------------------------------*/

enum { N_VERBS = 12 };
extern const PyMethodDef verb_methods[N_VERBS]; /* of a Graph */
PyObject *verb_verify(PyObject *self, PyObject *args, PyObject *kw);
PyObject *verb_hardware(PyObject *self, PyObject *args, PyObject *kw);

/* -- result.c -------------------------------------------------------------*/

/* A dict as a cleave.Result; takes the reference, NULL passes through. */
PyObject *result_new(PyObject *dict);
/* Calls a function of cleave.notebook with self and the arguments. */
PyObject *notebook_call(const char *name, PyObject *self, PyObject *args,
                        PyObject *kw);
/* Makes the type; NULL and an exception on failure. */
PyObject *result_type_new(void);

/* -- tensor.c -------------------------------------------------------------*/

/* A tensor of somebody else's, as long as we hold it. */
typedef struct lent {
    clv_tensor t;
    Py_buffer view;
    PyObject *held; /* a DLPack capsule */
    bool has_view;
} lent;

/* Borrows the memory of an object with a buffer or __dlpack__; false, with an
 * exception set, when it is no dense tensor of ours. Return it in any case. */
bool tensor_borrow(PyObject *o, lent *out);
void tensor_return(lent *l);
/* A cleave.Tensor of this type and shape, its memory not set. */
PyObject *tensor_new(const clv_tensor *like);
clv_tensor *tensor_of(PyObject *o);
/* close(a, b, tolerance): clv_tensor_close of two arrays. */
PyObject *tensors_close(PyObject *self, PyObject *args);
extern PyType_Spec tensor_spec;
extern PyObject *tensor_type;

/* -- run.c ----------------------------------------------------------------*/

/* Compiles a graph into a cleave.Model that keeps `graph` alive. */
PyObject *model_new(PyObject *graph, const clv_graph *g, const char *backend,
                    unsigned threads);
extern PyType_Spec model_spec;
extern PyObject *model_type;

/* -- tally.c --------------------------------------------------------------*/

PyObject *graph_tally(const clv_graph *g, PyObject *args);
PyObject *graph_find(const clv_graph *g, PyObject *args);
PyObject *graph_operands(const clv_graph *g, PyObject *args);
PyObject *graph_give(clv_graph *g, PyObject *args);
/* module_costs(calls): what torchinfo counts of calls of modules. */
PyObject *module_costs(PyObject *self, PyObject *args);

/* -- split.c --------------------------------------------------------------*/

/* Graph.split of a graph whose nodes torch calls `names` (NULL: not captured).
 */
PyObject *graph_split_nodes(const clv_graph *g, PyObject *names, PyObject *args,
                            PyObject *kw);

/* -- command.c ------------------------------------------------------------*/

/* main(argv, capture=None): the cleave command in this process. */
PyObject *command_main(PyObject *self, PyObject *args, PyObject *kw);

/* -- _cleave.c ------------------------------------------------------------*/

/* The graph of a cleave.Graph; NULL and an exception when it is none, or was
 * taken out by graph_take. */
clv_graph *graph_peek(PyObject *o);
clv_graph *graph_take(PyObject *o);
/* The name or path it was opened by; NULL when it was captured. */
const char *graph_opened_by(PyObject *o);

/* -- fx.c -----------------------------------------------------------------*/

/* Builds a graph from a torch.fx.GraphModule whose nodes carry shapes, or from
 * a list of them (the partitions of a broken graph). `weights` (may be NULL)
 * maps placeholders that stand for weights to (path, tensor). `total` is how
 * many parameters the model has, read or not; 0: not known. `names` receives
 * the torch name of each of our nodes, `keep` the tensors whose bytes the graph
 * borrows (new references). Returns NULL with an exception set on failure. */
clv_graph *graph_from_fx(PyObject *module, const char *name, PyObject *weights,
                         int64_t total, PyObject **names, PyObject **keep);

#endif

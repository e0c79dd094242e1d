/* bridge.h - what the files of the extension share. */
#ifndef CLEAVE_BRIDGE_H
#define CLEAVE_BRIDGE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cleave.h"
#include "core/json.h"

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

/* -- fx.c -----------------------------------------------------------------*/

/* Builds a graph from a torch.fx.GraphModule whose nodes carry shapes. Returns
 * NULL with an exception set on failure. */
clv_graph *graph_from_fx(PyObject *module, const char *name);

#endif

/* command.c - the cleave command inside Python, with live models.
 *
 * The command's own main runs; only how it opens a model is replaced: a Python
 * function is asked first and may hand over a captured graph. */
#include "bridge.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

static PyObject *shapes_of(const clv_open_opts *o)
{
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && i < o->n_shapes; i++) {
        const clv_shape_arg *s = &o->shapes[i];
        PyObject *dims = PyTuple_New((Py_ssize_t)s->rank);
        for (uint32_t d = 0; dims && d < s->rank; d++)
            PyTuple_SetItem(dims, (Py_ssize_t)d,
                            PyLong_FromLongLong(s->dims[d]));
        PyObject *pair = Py_BuildValue("(zN)", s->name, dims);
        if (!pair || PyList_Append(all, pair) < 0)
            Py_CLEAR(all);
        Py_XDECREF(pair);
    }
    return all;
}

/* The message of the exception that is set, which is cleared. */
static clv_status python_failed(clv_err *err)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *s = bytes ? PyBytes_AsString(bytes) : "failed";
    clv_status code =
        type && PyErr_GivenExceptionMatches(type, PyExc_LookupError)
            ? CLV_NOT_FOUND
            : CLV_UNSUPPORTED;
    fail(err, code, "%s", s);
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(trace);
    Py_XDECREF(value);
    Py_XDECREF(type);
    return code;
}

/* Asks capture(name, shapes, batch) for a Graph, or None. */
static clv_status open_live(void *ask, const char *model,
                            const clv_open_opts *opts, clv_graph **out,
                            clv_err *err)
{
    *out = NULL;
    PyObject *shapes = shapes_of(opts);
    PyObject *o = shapes ? PyObject_CallFunction(ask, "sOL", model, shapes,
                                                 (long long)opts->batch)
                         : NULL;
    clv_status s = CLV_OK;
    if (!o)
        s = python_failed(err);
    else if (o == Py_None)
        s = clv_graph_open(model, opts, out, err);
    else if (!(*out = graph_take(o)))
        s = python_failed(err);
    Py_XDECREF(o);
    Py_XDECREF(shapes);
    return s;
}

PyObject *command_main(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"argv", "capture", NULL};
    PyObject *words, *capture = NULL;
    texts argv = {0};
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|O", names, &words, &capture))
        return NULL;
    PyObject *result = NULL;
    if (texts_read(words, &argv)) {
        cli_session s = {.user = capture};
        if (capture && capture != Py_None)
            s.open = open_live;
        int code = cli_main((int)argv.n, (char **)argv.items, &s);
        fflush(stdout);
        result = PyLong_FromLong(code);
    }
    texts_free(&argv);
    return result;
}

/* convert.c - results as Python objects, statuses as exceptions. */
#include "bridge.h"

PyObject *py_error;

static PyObject *list_from(const json *v)
{
    PyObject *list = PyList_New((Py_ssize_t)v->n);
    Py_ssize_t i = 0;
    for (const json *m = v->child; list && m; m = m->next) {
        PyObject *item = py_from_json(m);
        if (!item || PyList_SetItem(list, i++, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *dict_from(const json *v)
{
    PyObject *dict = PyDict_New();
    for (const json *m = v->child; dict && m; m = m->next) {
        PyObject *item = py_from_json(m);
        if (!item || PyDict_SetItemString(dict, m->key, item) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    return dict;
}

PyObject *py_from_json(const json *v)
{
    switch (v->type) {
    case JSON_BOOL:
        return PyBool_FromLong(v->u.b);
    case JSON_INT:
        return PyLong_FromLongLong(v->u.i);
    case JSON_NUMBER:
        return PyFloat_FromDouble(v->u.d);
    case JSON_STRING:
        return PyUnicode_FromStringAndSize(v->u.s, (Py_ssize_t)v->n);
    case JSON_ARRAY:
        return list_from(v);
    case JSON_OBJECT:
        return dict_from(v);
    default:
        Py_RETURN_NONE;
    }
}

PyObject *py_from_report(clv_buf *report)
{
    arena a = {0};
    const json *root;
    clv_err err = {0};
    PyObject *result = NULL;
    if (report->failed)
        PyErr_NoMemory();
    else if (json_parse(&a, report->text, report->len, &root, &err) != CLV_OK)
        py_raise(&err);
    else
        result = py_from_json(root);
    arena_free(&a);
    clv_buf_free(report);
    return result;
}

PyObject *py_from_text(clv_buf *report)
{
    PyObject *text = NULL;
    if (report->failed)
        PyErr_NoMemory();
    else
        text = PyUnicode_FromStringAndSize(report->text ? report->text : "",
                                           (Py_ssize_t)report->len);
    clv_buf_free(report);
    return text;
}

PyObject *py_raise(const clv_err *err)
{
    switch (err->code) {
    case CLV_NOMEM:
        return PyErr_NoMemory();
    case CLV_USAGE:
    case CLV_LIMIT:
        PyErr_SetString(PyExc_ValueError, err->msg);
        return NULL;
    case CLV_NOT_FOUND:
        PyErr_SetString(PyExc_LookupError, err->msg);
        return NULL;
    case CLV_IO:
        PyErr_SetString(PyExc_OSError, err->msg);
        return NULL;
    default:
        PyErr_SetString(py_error, err->msg);
        return NULL;
    }
}

/* -- lists of names -------------------------------------------------------*/

bool texts_read(PyObject *o, texts *out)
{
    *out = (texts){0};
    if (!o || o == Py_None)
        return true;
    if (PyUnicode_Check(o)) {
        PyErr_SetString(PyExc_TypeError, "a list of names, not one string");
        return false;
    }
    out->held = PySequence_List(o); /* sets too */
    if (!out->held)
        return false;
    if (PyAnySet_Check(o)) /* the same set, the same order */
        PyList_Sort(out->held);
    Py_ssize_t n = PyList_Size(out->held);
    out->items = PyMem_Calloc((size_t)n + 1, sizeof *out->items);
    for (Py_ssize_t i = 0; out->items && i < n; i++) {
        PyObject *bytes = PyUnicode_AsUTF8String(PyList_GetItem(out->held, i));
        if (!bytes || PyList_SetItem(out->held, i, bytes) < 0)
            break;
        out->items[out->n++] = PyBytes_AsString(bytes);
    }
    if (!out->items)
        PyErr_NoMemory();
    return !PyErr_Occurred();
}

void texts_free(texts *t)
{
    Py_XDECREF(t->held);
    PyMem_Free(t->items);
}

/* strategy.c - how to cut, as Python names it: read the words with the
 * interpreter lock held, cut without it. */
#include "bridge.h"

#include <string.h>

static const char *const names[] = {"op", "fusion", "capability"};

bool strategy_named(const char *name, strategy *out)
{
    *out = (strategy){.name = name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    PyErr_Format(PyExc_ValueError,
                 "no strategy '%s'; there are op, fusion and capability", name);
    return false;
}

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

clv_status strategy_ask(const strategy *how, const clv_graph *g,
                        clv_support **out, clv_err *err)
{
    clv_backend *b = NULL;
    clv_status s = clv_backend_open(how->backend, NULL, &b, err);
    *out = NULL;
    if (s == CLV_OK)
        s = clv_support_new(b, g, out, err);
    for (size_t i = 0; s == CLV_OK && i < how->cpu_ops.n; i++)
        s = clv_support_force_op(*out, how->cpu_ops.items[i], CLV_SIDE_CPU,
                                 err);
    for (size_t i = 0; s == CLV_OK && i < how->cpu_nodes.n; i++)
        s = clv_support_force_nodes(*out, how->cpu_nodes.items[i], CLV_SIDE_CPU,
                                    err);
    clv_backend_free(b);
    return s;
}

clv_status strategy_cut(const strategy *how, const clv_profile *p,
                        clv_cut **out, clv_err *err)
{
    clv_support *support = NULL;
    if (!strcmp(how->name, "op"))
        return clv_cut_op(p, out, err);
    if (!strcmp(how->name, "fusion"))
        return clv_cut_fusion(p, NULL, out, err);
    clv_status s = strategy_ask(how, clv_profile_graph(p), &support, err);
    if (s == CLV_OK)
        s = clv_cut_capability(p, clv_support_get(support), &how->limits, out,
                               err);
    clv_support_free(support);
    return s;
}

/* fx_args.c - arguments of Python become those of formats/aten.
 *
 * A node of torch.fx stands for the tensors it made, or for the number it
 * computed (x.size(0)). What no attribute can say, such as a type or a device,
 * becomes ATEN_OTHER. */
#include "fx.h"

#include <string.h>

enum { FX_MAX_DEPTH = 16 }; /* lists in lists */

static bool fx_arg_at(fx_walk *w, PyObject *o, aten_arg *out, int depth);

static bool fx_arg_items(fx_walk *w, PyObject *o, aten_arg *out, int depth)
{
    Py_ssize_t n = PySequence_Size(o);
    aten_arg *items = arena_zalloc(&w->scratch, ((size_t)n + 1) * sizeof *out);
    *out = (aten_arg){.kind = ATEN_LIST, .n = (uint32_t)n, .u.items = items};
    bool ok = items != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        ok = !item || fx_arg_at(w, item, &items[i], depth + 1);
        Py_XDECREF(item);
    }
    PyErr_Clear();
    return ok;
}

static bool fx_arg_slice(fx_walk *w, PyObject *o, aten_arg *out, int depth)
{
    static const char *const names[] = {"start", "stop", "step"};
    aten_arg *items = arena_zalloc(&w->scratch, 3 * sizeof *items);
    *out = (aten_arg){.kind = ATEN_SLICE, .n = 3, .u.items = items};
    bool ok = items != NULL;
    for (int i = 0; ok && i < 3; i++) {
        PyObject *item = fx_attr(o, names[i]);
        ok = !item || fx_arg_at(w, item, &items[i], depth + 1);
        Py_XDECREF(item);
    }
    return ok;
}

static bool fx_arg_text(fx_walk *w, PyObject *o, aten_arg *out)
{
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(o, &size);
    PyErr_Clear();
    if (!text)
        return true;
    *out = (aten_arg){.kind = ATEN_STRING};
    out->u.s = arena_strndup(&w->scratch, text, (size_t)size);
    return out->u.s != NULL;
}

/* A symbol of torch that has a hint, or what Python can take as an index;
 * anything else stays ATEN_OTHER. */
static void fx_arg_number(PyObject *o, aten_arg *out)
{
    char type[32];
    PyObject *cls = fx_attr((PyObject *)Py_TYPE(o), "__name__");
    fx_text_of(cls, type, sizeof type);
    Py_XDECREF(cls);
    PyObject *f = !strcmp(type, "SymFloat") ? PyNumber_Float(o) : NULL;
    PyErr_Clear();
    if (f)
        *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = PyFloat_AsDouble(f)};
    else if (fx_int_of(o, &out->u.i))
        out->kind = ATEN_INT;
    Py_XDECREF(f);
}

/* The tensors that a node made, in the order it made them. */
static bool fx_arg_values(fx_walk *w, PyObject *known, aten_arg *out)
{
    if (!PyList_Check(known)) {
        *out = (aten_arg){.kind = ATEN_TENSOR,
                          .u.value = (uint32_t)PyLong_AsUnsignedLong(known)};
        return true;
    }
    Py_ssize_t n = PyList_Size(known);
    aten_arg *items = arena_zalloc(&w->scratch, ((size_t)n + 1) * sizeof *out);
    *out = (aten_arg){.kind = ATEN_LIST, .n = (uint32_t)n, .u.items = items};
    for (Py_ssize_t i = 0; items && i < n; i++)
        fx_arg_values(w, PyList_GetItem(known, i), &items[i]);
    return items != NULL;
}

/* A node without tensors: what it computed. */
static bool fx_arg_result(fx_walk *w, PyObject *node, aten_arg *out, int depth)
{
    PyObject *result = fx_result_of(node);
    bool ok =
        !result || fx_is_tensor(result) || fx_arg_at(w, result, out, depth + 1);
    Py_XDECREF(result);
    return ok;
}

static bool fx_arg_at(fx_walk *w, PyObject *o, aten_arg *out, int depth)
{
    *out = (aten_arg){.kind = ATEN_OTHER};
    if (depth > FX_MAX_DEPTH)
        return true;
    if (o == Py_None) {
        out->kind = ATEN_NONE;
    } else if (PyBool_Check(o)) {
        *out = (aten_arg){.kind = ATEN_BOOL, .u.b = o == Py_True};
    } else if (PyFloat_Check(o)) {
        *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = PyFloat_AsDouble(o)};
    } else if (PyComplex_Check(o)) { /* of which only counts are known */
        *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = Py_NAN};
    } else if (PyLong_Check(o)) {
        if (fx_int_of(o, &out->u.i))
            out->kind = ATEN_INT;
    } else if (PyUnicode_Check(o)) {
        return fx_arg_text(w, o, out);
    } else if (fx_is_list(o)) {
        return fx_arg_items(w, o, out, depth);
    } else if (PySlice_Check(o)) {
        return fx_arg_slice(w, o, out, depth);
    } else if (o == Py_Ellipsis) {
        out->kind = ATEN_ELLIPSIS;
    } else {
        PyObject *known = PyDict_GetItemWithError(w->values, o);
        PyErr_Clear();
        if (known)
            return fx_arg_values(w, known, out);
        if (PyObject_HasAttrString(o, "users")) /* a node */
            return fx_arg_result(w, o, out, depth);
        if (!fx_is_tensor(o)) /* which may be taken for the number in it */
            fx_arg_number(o, out);
    }
    return true;
}

bool fx_arg(fx_walk *w, PyObject *o, aten_arg *out)
{
    return fx_arg_at(w, o, out, 0);
}

static bool fx_named_args(fx_walk *w, PyObject *kwargs, aten_call *call)
{
    Py_ssize_t n = PyDict_Size(kwargs), at = 0;
    PyObject *key, *value;
    aten_named *named =
        arena_zalloc(&w->scratch, ((size_t)n + 1) * sizeof *named);
    bool ok = named != NULL;
    while (ok && PyDict_Next(kwargs, &at, &key, &value)) {
        char name[64];
        fx_text_of(key, name, sizeof name);
        aten_named *one = &named[call->n_named++];
        one->name = arena_strndup(&w->scratch, name, strlen(name));
        ok = one->name && fx_arg(w, value, &one->value);
    }
    call->named = named;
    return ok;
}

bool fx_args(fx_walk *w, PyObject *node, aten_call *call)
{
    PyObject *args = fx_attr(node, "args"), *kwargs = fx_attr(node, "kwargs");
    aten_arg list = {.kind = ATEN_LIST};
    bool ok = (!args || fx_arg_items(w, args, &list, 0)) &&
              (!kwargs || !PyDict_Check(kwargs) || PyDict_Size(kwargs) == 0 ||
               fx_named_args(w, kwargs, call));
    call->args = list.u.items;
    call->n_args = list.n;
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    return ok;
}

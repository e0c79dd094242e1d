/* fx_value.c - Python objects read without raising: attributes, texts, numbers,
 * shapes and types; and the values of a graph they become. */
#include "fx.h"

#include <string.h>

/* -- reading objects; none of these raise ---------------------------------*/

PyObject *fx_attr(PyObject *o, const char *name)
{
    PyObject *v = o ? PyObject_GetAttrString(o, name) : NULL;
    if (!v)
        PyErr_Clear();
    return v;
}

/* Copies the text of a str-able object; "" if it has none. */
void fx_text_of(PyObject *o, char *buf, size_t size)
{
    PyObject *s = o ? PyObject_Str(o) : NULL;
    PyObject *bytes = s ? PyUnicode_AsUTF8String(s) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    snprintf(buf, size, "%s", text ? text : "");
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(s);
}

bool fx_int_of(PyObject *o, int64_t *out)
{
    PyObject *i = o ? PyNumber_Index(o) : NULL;
    if (!i) {
        PyErr_Clear();
        i = o ? PyNumber_Long(o) : NULL; /* a SymInt with a hint */
    }
    *out = i ? PyLong_AsLongLong(i) : 0;
    bool ok = i && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(i);
    return ok;
}

clv_dtype py_dtype(PyObject *o)
{
    char text[64];
    fx_text_of(o, text, sizeof text); /* "torch.float32" */
    const char *name = strrchr(text, '.');
    clv_dtype t = clv_dtype_find(name ? name + 1 : text);
    return t;
}

/* -- shapes ---------------------------------------------------------------*/

/* Gives value v the type and shape of a tensor-like object. */
bool fx_set_type(walk *w, uint32_t v, PyObject *tensor)
{
    PyObject *shape = fx_attr(tensor, "shape"),
             *dtype = fx_attr(tensor, "dtype");
    Py_ssize_t rank = shape ? PySequence_Size(shape) : -1;
    int64_t dims[CLV_MAX_RANK];
    bool ok = rank >= 0 && rank <= CLV_MAX_RANK;
    for (Py_ssize_t i = 0; ok && i < rank; i++) {
        PyObject *d = PySequence_GetItem(shape, i);
        ok = fx_int_of(d, &dims[i]) && dims[i] >= 0;
        Py_XDECREF(d);
    }
    PyErr_Clear();
    if (ok) {
        w->g->values[v].dtype = (uint8_t)py_dtype(dtype);
        ok = clv__value_set_shape(w->g, v, (uint32_t)rank, dims);
    }
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    return ok;
}

/* What torch knows of a node's result: a tensor, or a sequence of them. */
PyObject *fx_result_of(PyObject *node)
{
    static const char *const keys[] = {"val", "example_value", "tensor_meta"};
    PyObject *meta = fx_attr(node, "meta"), *found = NULL;
    for (int i = 0; meta && !found && i < 3; i++) {
        found = PyMapping_GetItemString(meta, keys[i]);
        PyErr_Clear();
    }
    Py_XDECREF(meta);
    return found;
}

bool fx_is_tensor(PyObject *o)
{
    PyObject *shape = fx_attr(o, "shape"), *dtype = fx_attr(o, "dtype");
    bool yes = shape && dtype;
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return yes;
}

/* -- values ---------------------------------------------------------------*/

uint32_t fx_add_value(walk *w, const char *name, clv_value_kind kind)
{
    char *own = arena_strndup(&w->g->mem, name, strlen(name));
    return own ? clv__value_add(w->g, own, kind, CLV_NODTYPE) : CLV_NONE;
}

/* Lets the graph read the tensor's memory, or that of a dense copy, where it
 * has any: models then run with the weights they have. */
static bool lend_bytes(walk *w, uint32_t v, PyObject *tensor)
{
    PyObject *cpu = fx_attr(tensor, "is_cpu");
    PyObject *fake = fx_attr(tensor, "fake_mode");
    PyObject *dense = NULL, *at = NULL, *size = NULL;
    if (!fake && cpu && PyObject_IsTrue(cpu) > 0)
        dense = PyObject_CallMethod(tensor, "contiguous", NULL);
    if (dense)
        at = PyObject_CallMethod(dense, "data_ptr", NULL);
    if (at)
        size = fx_attr(dense, "nbytes");
    const void *bytes = at ? PyLong_AsVoidPtr(at) : NULL;
    int64_t n = 0;
    bool ok = true;
    if (bytes && size && fx_int_of(size, &n) && n > 0) {
        clv_payload *data = clv__value_data(w->g, v);
        ok = data && PyList_Append(w->keep, dense) == 0;
        if (ok) {
            data->bytes = bytes;
            data->size = (uint64_t)n;
        }
    }
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(at);
    Py_XDECREF(dense);
    Py_XDECREF(fake);
    Py_XDECREF(cpu);
    return ok;
}

/* The weight that is this tensor, made on first sight. */
uint32_t fx_weight_of(walk *w, PyObject *tensor, const char *name)
{
    PyObject *key = PyLong_FromVoidPtr(tensor);
    PyObject *known = key ? PyDict_GetItemWithError(w->owned, key) : NULL;
    uint32_t v = known ? (uint32_t)PyLong_AsUnsignedLong(known) : CLV_NONE;
    if (v == CLV_NONE && key) {
        PyObject *grad = fx_attr(tensor, "requires_grad");
        char type[64];
        PyObject *cls = fx_attr((PyObject *)Py_TYPE(tensor), "__name__");
        fx_text_of(cls, type, sizeof type);
        bool param =
            !strcmp(type, "Parameter") || (grad && PyObject_IsTrue(grad) > 0);
        v = fx_add_value(w, name, param ? CLV_VALUE_PARAM : CLV_VALUE_BUFFER);
        PyObject *id = v != CLV_NONE ? PyLong_FromUnsignedLong(v) : NULL;
        if (v != CLV_NONE &&
            (!fx_set_type(w, v, tensor) || !lend_bytes(w, v, tensor) || !id ||
             PyDict_SetItem(w->owned, key, id) < 0))
            v = CLV_NONE;
        Py_XDECREF(id);
        Py_XDECREF(cls);
        Py_XDECREF(grad);
    }
    Py_XDECREF(key);
    PyErr_Clear();
    return v;
}

void fx_remember(walk *w, PyObject *node, const uint32_t *ids, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (uint32_t i = 0; list && i < n; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLong(ids[i]));
    if (list)
        PyDict_SetItem(w->values, node, list);
    Py_XDECREF(list);
}

/* The i-th value of a node; CLV_NONE when it is not a node or has fewer. */
uint32_t fx_value_of(walk *w, PyObject *node, Py_ssize_t i)
{
    PyObject *list = PyDict_GetItemWithError(w->values, node);
    PyErr_Clear();
    PyObject *id = list ? PyList_GetItem(list, i) : NULL;
    uint32_t v = id ? (uint32_t)PyLong_AsUnsignedLong(id) : CLV_NONE;
    PyErr_Clear();
    return v;
}

/* What an argument stands for: the number a node computes (x.size(0)), or the
 * argument itself. Returns a new reference. */
PyObject *fx_resolve(PyObject *o)
{
    PyObject *found = NULL;
    if (PyObject_HasAttrString(o, "users")) /* a node */
        found = fx_result_of(o);
    if (!found || fx_is_tensor(found)) {
        Py_XDECREF(found);
        Py_INCREF(o);
        return o;
    }
    return found;
}

/* A number among tensors, as in x + 1: a constant of no axes. */
uint32_t fx_number_value(walk *w, PyObject *o)
{
    if (!PyLong_Check(o) && !PyFloat_Check(o))
        return CLV_NONE;
    uint32_t v = clv__value_add(w->g, NULL, CLV_VALUE_CONST,
                                PyFloat_Check(o) ? CLV_FLOAT32 : CLV_INT64);
    if (v == CLV_NONE || !clv__value_set_shape(w->g, v, 0, NULL))
        return CLV_NONE;
    clv_payload *data = clv__value_data(w->g, v);
    double *f = arena_alloc(&w->g->mem, sizeof *f);
    int64_t *i = arena_alloc(&w->g->mem, sizeof *i);
    if (!data || !f || !i)
        return CLV_NONE;
    *f = PyFloat_AsDouble(o);
    fx_int_of(o, i);
    data->n = 1;
    if (PyFloat_Check(o))
        data->floats = f;
    else
        data->ints = i;
    PyErr_Clear();
    return v;
}

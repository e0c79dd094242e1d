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

PyObject *fx_member(PyObject *o, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "%s", path);
    Py_XINCREF(o);
    for (char *save, *part = strtok_r(text, ".", &save); part && o;
         part = strtok_r(NULL, ".", &save)) {
        PyObject *next = fx_attr(o, part);
        Py_DECREF(o);
        o = next;
    }
    return o;
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

aten_type fx_type_of(PyObject *tensor, int64_t *dims)
{
    PyObject *shape = fx_attr(tensor, "shape"),
             *dtype = fx_attr(tensor, "dtype");
    Py_ssize_t rank = shape ? PySequence_Size(shape) : -1;
    bool ok = rank >= 0 && rank <= CLV_MAX_RANK;
    for (Py_ssize_t i = 0; ok && i < rank; i++) {
        PyObject *d = PySequence_GetItem(shape, i);
        ok = fx_int_of(d, &dims[i]) && dims[i] >= 0;
        Py_XDECREF(d);
    }
    PyErr_Clear();
    aten_type t = {.dtype = ok ? py_dtype(dtype) : CLV_NODTYPE,
                   .rank = ok ? (uint32_t)rank : CLV_NO_RANK,
                   .dims = dims};
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    return t;
}

bool fx_set_type(fx_walk *w, uint32_t v, PyObject *tensor)
{
    int64_t dims[CLV_MAX_RANK];
    aten_type t = fx_type_of(tensor, dims);
    if (t.rank == CLV_NO_RANK)
        return false;
    w->b.g->values[v].dtype = (uint8_t)t.dtype;
    return clv__value_set_shape(w->b.g, v, t.rank, t.dims);
}

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

bool fx_is_list(PyObject *o)
{
    return PyTuple_Check(o) || PyList_Check(o);
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

uint32_t fx_add_value(fx_walk *w, const char *name, clv_value_kind kind)
{
    char *own = arena_strndup(&w->b.g->mem, name, strlen(name));
    return own ? clv__value_add(w->b.g, own, kind, CLV_NODTYPE) : CLV_NONE;
}

/* Lets the graph read the tensor's memory, or that of a dense copy, where it
 * has any: models then run with the weights they have. */
static bool fx_lend_bytes(fx_walk *w, uint32_t v, PyObject *tensor)
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
        clv_payload *data = clv__value_data(w->b.g, v);
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

uint32_t fx_weight_of(fx_walk *w, PyObject *tensor, const char *name)
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
            (!fx_set_type(w, v, tensor) || !fx_lend_bytes(w, v, tensor) ||
             !id || PyDict_SetItem(w->owned, key, id) < 0))
            v = CLV_NONE;
        Py_XDECREF(id);
        Py_XDECREF(cls);
        Py_XDECREF(grad);
    }
    Py_XDECREF(key);
    PyErr_Clear();
    return v;
}

bool fx_remember(fx_walk *w, PyObject *node, const uint32_t *ids, uint32_t n,
                 bool list)
{
    PyObject *known = list ? PyList_New((Py_ssize_t)n)
                           : PyLong_FromUnsignedLong(n ? ids[0] : CLV_NONE);
    for (uint32_t i = 0; list && known && i < n; i++)
        PyList_SetItem(known, (Py_ssize_t)i, PyLong_FromUnsignedLong(ids[i]));
    bool ok = known && PyDict_SetItem(w->values, node, known) == 0;
    Py_XDECREF(known);
    return ok;
}

/* run.c - cleave.Model: a graph compiled to run, fed with torch tensors.
 *
 * Tensors are read and written where they are; nothing is converted. A model
 * has one context, so runs of one Model take turns. */
#include "bridge.h"

#include <string.h>

typedef struct model_object {
    PyObject ob_base;
    PyObject *graph; /* owns the graph and the weights the model borrows */
    clv_backend *backend;
    clv_model *model;
    clv_context *context;
    bool busy;
} model_object;

PyObject *model_type;

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    model_object *m = (model_object *)self;
    clv_context_free(m->context);
    clv_model_free(m->model);
    clv_backend_free(m->backend);
    Py_XDECREF(m->graph);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *model_new(PyObject *graph, const clv_graph *g, const char *backend)
{
    model_object *m = PyObject_New(model_object, (PyTypeObject *)model_type);
    if (!m)
        return NULL;
    m->backend = NULL, m->model = NULL, m->context = NULL, m->busy = false;
    m->graph = graph;
    Py_INCREF(graph);
    clv_err err = {CLV_OK, ""};
    clv_status s = CLV_OK;
    Py_BEGIN_ALLOW_THREADS if (backend) s =
        clv_backend_open(backend, NULL, &m->backend, &err);
    clv_model_opts opts = {.backend = m->backend};
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m->model, &err);
    if (s == CLV_OK)
        s = clv_context_new(m->model, &m->context, &err);
    Py_END_ALLOW_THREADS if (s == CLV_OK) return (PyObject *)m;
    Py_DECREF((PyObject *)m);
    return py_raise(&err);
}

/* -- tensors --------------------------------------------------------------*/

static bool shape_read(PyObject *o, clv_tensor *t)
{
    PyObject *shape = PyObject_GetAttrString(o, "shape");
    Py_ssize_t rank = shape ? PySequence_Size(shape) : -1;
    if (rank > CLV_MAX_RANK)
        PyErr_SetString(PyExc_ValueError, "a tensor has up to 16 dimensions");
    for (Py_ssize_t d = 0; d < rank && !PyErr_Occurred(); d++) {
        PyObject *n = PySequence_GetItem(shape, d);
        t->dims[d] = n ? PyLong_AsLongLong(n) : -1;
        Py_XDECREF(n);
    }
    Py_XDECREF(shape);
    t->rank = (uint32_t)rank;
    return !PyErr_Occurred();
}

/* Borrows the memory of a contiguous torch tensor on the CPU. */
static bool tensor_read(PyObject *o, clv_tensor *t)
{
    PyObject *whole = PyObject_CallMethod(o, "is_contiguous", NULL);
    PyObject *at = whole ? PyObject_CallMethod(o, "data_ptr", NULL) : NULL;
    PyObject *dtype = at ? PyObject_GetAttrString(o, "dtype") : NULL;
    PyObject *cpu = dtype ? PyObject_GetAttrString(o, "is_cpu") : NULL;
    bool ok = cpu && shape_read(o, t);
    if (ok && (PyObject_IsTrue(whole) != 1 || PyObject_IsTrue(cpu) != 1)) {
        PyErr_SetString(PyExc_ValueError,
                        "tensors are contiguous and on the CPU");
        ok = false;
    }
    if (ok) {
        t->data = PyLong_AsVoidPtr(at);
        t->dtype = py_dtype(dtype);
        ok = !PyErr_Occurred();
    }
    Py_XDECREF(cpu);
    Py_XDECREF(dtype);
    Py_XDECREF(at);
    Py_XDECREF(whole);
    return ok;
}

static PyObject *set_inputs(model_object *m, PyObject *list)
{
    clv_err err = {CLV_OK, ""};
    for (Py_ssize_t i = 0, n = PySequence_Size(list); i < n; i++) {
        PyObject *o = PySequence_GetItem(list, i);
        clv_tensor t = {0};
        bool ok = o && tensor_read(o, &t);
        Py_XDECREF(o); /* the caller's list holds it while we run */
        if (!ok)
            return NULL;
        if (clv_context_set(m->context, (uint32_t)i, &t, &err) != CLV_OK)
            return py_raise(&err);
    }
    Py_RETURN_NONE;
}

static PyObject *copy_outputs(model_object *m, PyObject *list)
{
    for (Py_ssize_t i = 0, n = PySequence_Size(list); i < n; i++) {
        const clv_tensor *from = clv_context_output(m->context, (uint32_t)i);
        PyObject *o = PySequence_GetItem(list, i);
        clv_tensor to = {0};
        bool ok = o && tensor_read(o, &to);
        Py_XDECREF(o);
        if (!ok)
            return NULL;
        if (!from || from->dtype != to.dtype || from->rank != to.rank ||
            memcmp(from->dims, to.dims, to.rank * sizeof *to.dims)) {
            PyErr_Format(PyExc_ValueError, "output %zd is of another shape", i);
            return NULL;
        }
        memcpy(to.data, from->data, (size_t)clv_tensor_bytes(from));
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(run_doc, "run(inputs, outputs)\n--\n\n"
                      "Run on a list of tensors; results are written into the "
                      "tensors of `outputs`.");

static PyObject *model_run(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    PyObject *inputs, *outputs, *done;
    if (!PyArg_ParseTuple(args, "OO", &inputs, &outputs))
        return NULL;
    if (m->busy) {
        PyErr_SetString(PyExc_RuntimeError, "this Model is running already");
        return NULL;
    }
    m->busy = true;
    done = set_inputs(m, inputs);
    if (done) {
        Py_DECREF(done);
        clv_err err = {CLV_OK, ""};
        clv_status s;
        Py_BEGIN_ALLOW_THREADS s = clv_context_run(m->context, &err);
        Py_END_ALLOW_THREADS done =
            s == CLV_OK ? copy_outputs(m, outputs) : py_raise(&err);
    }
    m->busy = false;
    return done;
}

PyDoc_STRVAR(parts_doc, "parts()\n--\n\nDevice and number of operators of each "
                        "part, in the order they run.");

static PyObject *model_parts(PyObject *self, PyObject *unused)
{
    const clv_run_info *info =
        clv_model_run_info(((model_object *)self)->model);
    PyObject *list = PyList_New((Py_ssize_t)info->n_parts);
    (void)unused;
    for (uint32_t i = 0; list && i < info->n_parts; i++) {
        PyObject *part = Py_BuildValue("(sI)", info->parts[i].device,
                                       info->parts[i].n_nodes);
        if (!part || PyList_SetItem(list, (Py_ssize_t)i, part) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"run", model_run, METH_VARARGS, run_doc},
    {"parts", model_parts, METH_NOARGS, parts_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)model_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A graph compiled to run; Graph.compile() makes one."},
    {0, NULL},
};

PyType_Spec model_spec = {
    .name = "cleave.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

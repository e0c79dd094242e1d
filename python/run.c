/* run.c - cleave.Model: a graph compiled to run.
 *
 * Inputs are read and outputs written where they are: each output gets memory
 * of its own before the run, which the kernels fill. What is no result of a
 * kernel (an input or weight handed on, a size found while running) is copied.
 * Contexts are kept for the next call; calls from several threads each take
 * one. */
#include "bridge.h"

#include <string.h>

enum { SPARE = 8 }; /* contexts kept */

typedef struct model_object {
    PyObject ob_base;
    PyObject *graph; /* owns the graph and the weights the model borrows */
    clv_backend *backend;
    clv_model *model;
    clv_context *spare[SPARE];
    uint32_t n_spare;
    uint32_t n_in, n_out;
} model_object;

PyObject *model_type;

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    model_object *m = (model_object *)self;
    while (m->n_spare)
        clv_context_free(m->spare[--m->n_spare]);
    clv_model_free(m->model);
    clv_backend_free(m->backend);
    Py_XDECREF(m->graph);
    PyObject_Free(self);
    Py_DECREF(type);
}

static clv_status make(model_object *m, const clv_graph *g, const char *backend,
                       unsigned threads, clv_err *e)
{
    clv_status s = clv_backend_open(backend ? backend : clv_model_usual(g),
                                    NULL, &m->backend, e);
    clv_model_opts opts = {
        .size = sizeof opts, .backend = m->backend, .threads = threads};
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m->model, e);
    if (s == CLV_OK)
        s = clv_context_new(m->model, &m->spare[0], e);
    m->n_spare = s == CLV_OK;
    return s;
}

PyObject *model_new(PyObject *graph, const clv_graph *g, const char *backend,
                    unsigned threads)
{
    model_object *m = PyObject_New(model_object, (PyTypeObject *)model_type);
    clv_err err = {0};
    clv_status s;
    if (!m)
        return NULL;
    m->backend = NULL, m->model = NULL, m->n_spare = 0;
    m->graph = graph;
    Py_INCREF(graph);
    clv_graph_inputs(g, &m->n_in);
    clv_graph_outputs(g, &m->n_out);
    Py_BEGIN_ALLOW_THREADS s = make(m, g, backend, threads, &err);
    Py_END_ALLOW_THREADS if (s == CLV_OK) return (PyObject *)m;
    Py_DECREF((PyObject *)m);
    return py_raise(&err);
}

/* -- running --------------------------------------------------------------*/

/* One call: a context, what it reads and what it makes. */
typedef struct turn {
    clv_context *c;
    lent *in;
    PyObject *out; /* list of cleave.Tensor */
    bool *placed;  /* the kernels wrote to its memory */
} turn;

static clv_context *take_context(model_object *m)
{
    clv_context *c = NULL;
    clv_err err = {0};
    if (m->n_spare)
        return m->spare[--m->n_spare];
    if (clv_context_new(m->model, &c, &err) != CLV_OK)
        py_raise(&err);
    return c;
}

static void give_back(model_object *m, clv_context *c)
{
    for (uint32_t i = 0; c && i < m->n_out; i++)
        clv_context_place(c, i, NULL);
    if (c && m->n_spare < SPARE)
        m->spare[m->n_spare++] = c;
    else
        clv_context_free(c);
}

static bool set_inputs(const model_object *m, turn *t, PyObject *list)
{
    clv_err err = {0};
    for (uint32_t i = 0; i < m->n_in; i++) {
        PyObject *o = PySequence_GetItem(list, (Py_ssize_t)i);
        bool ok = o && tensor_borrow(o, &t->in[i]);
        Py_XDECREF(o); /* the buffer or the capsule holds it */
        if (!ok)
            return false;
        if (clv_context_set(t->c, i, &t->in[i].t, &err) != CLV_OK) {
            py_raise(&err);
            return false;
        }
    }
    return true;
}

/* Memory for each output, of the shape that is planned. */
static bool make_outputs(const model_object *m, turn *t)
{
    t->out = PyList_New((Py_ssize_t)m->n_out);
    for (uint32_t i = 0; t->out && i < m->n_out; i++) {
        PyObject *o = tensor_new(clv_context_output(t->c, i));
        if (!o) {
            Py_CLEAR(t->out);
            break;
        }
        t->placed[i] = clv_context_place(t->c, i, tensor_of(o)->data);
        PyList_SetItem(t->out, (Py_ssize_t)i, o);
    }
    return t->out != NULL;
}

/* What no kernel wrote to its place is fetched. */
static bool fetch_outputs(const model_object *m, turn *t)
{
    for (uint32_t i = 0; i < m->n_out; i++) {
        const clv_tensor *from = clv_context_output(t->c, i);
        if (t->placed[i])
            continue;
        PyObject *o = tensor_new(from);
        if (!o)
            return false;
        memcpy(tensor_of(o)->data, from->data, (size_t)clv_tensor_bytes(from));
        PyList_SetItem(t->out, (Py_ssize_t)i, o);
    }
    return true;
}

static PyObject *run(model_object *m, turn *t, PyObject *inputs)
{
    clv_err err = {0};
    clv_status s;
    t->c = take_context(m);
    if (!t->c || !set_inputs(m, t, inputs) || !make_outputs(m, t))
        return NULL;
    Py_BEGIN_ALLOW_THREADS s = clv_context_run(t->c, &err);
    Py_END_ALLOW_THREADS if (s != CLV_OK) return py_raise(&err);
    if (!fetch_outputs(m, t))
        return NULL;
    PyObject *out = t->out;
    t->out = NULL;
    return out;
}

PyDoc_STRVAR(run_doc, "run($self, inputs)\n--\n\n"
                      "Run on a list of arrays or tensors (buffer protocol or "
                      "__dlpack__), read where\nthey are; returns a list of "
                      "cleave.Tensor.");

static PyObject *model_run(PyObject *self, PyObject *inputs)
{
    model_object *m = (model_object *)self;
    bool list = PyTuple_Check(inputs) || PyList_Check(inputs);
    Py_ssize_t n = list ? PySequence_Size(inputs) : -1;
    if (n != (Py_ssize_t)m->n_in)
        return list ? PyErr_Format(PyExc_ValueError,
                                   "the model has %u inputs, not %zd", m->n_in,
                                   n)
                    : PyErr_Format(PyExc_TypeError,
                                   "inputs are a list or a tuple");
    turn t = {.in = PyMem_Calloc(m->n_in + 1u, sizeof *t.in),
              .placed = PyMem_Calloc(m->n_out + 1u, sizeof *t.placed)};
    PyObject *out = t.in && t.placed ? run(m, &t, inputs) : PyErr_NoMemory();
    give_back(m, t.c);
    for (uint32_t i = 0; t.in && i < m->n_in; i++)
        tensor_return(&t.in[i]);
    Py_XDECREF(t.out);
    PyMem_Free(t.in);
    PyMem_Free(t.placed);
    return out;
}

/* model(x, y) */
static PyObject *model_call(PyObject *self, PyObject *args, PyObject *kw)
{
    if (kw && PyDict_Size(kw)) {
        PyErr_SetString(PyExc_TypeError, "inputs go by their place");
        return NULL;
    }
    return model_run(self, args);
}

PyDoc_STRVAR(parts_doc,
             "parts($self)\n--\n\nDevice and number of operators of each "
             "part, in the order they run.");

static PyObject *model_parts(PyObject *self, PyObject *unused)
{
    const clv_model_info *info = clv_model_get(((model_object *)self)->model);
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
    {"run", model_run, METH_O, run_doc},
    {"parts", model_parts, METH_NOARGS, parts_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)model_dealloc},
    {Py_tp_call, (void *)model_call},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A graph compiled to run; Graph.compile() makes one. Call it "
                "with its inputs."},
    {0, NULL},
};

PyType_Spec model_spec = {
    .name = "cleave.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

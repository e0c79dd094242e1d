/* tensor.c - numbers that cross the border without a copy.
 *
 * Inputs are anything with the buffer protocol (NumPy) or __dlpack__ (torch):
 * their memory is read where it is. Outputs are cleave.Tensor, which owns its
 * memory and lends it by both protocols; whoever borrows it holds a reference
 * to the Tensor, so it lives as long as the last borrower. */
#include "bridge.h"

#include <stdlib.h>
#include <string.h>

/* -- DLPack, as its header declares it ------------------------------------*/

enum { DL_CPU = 1 };

typedef struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    dl_type dtype;
    int64_t *shape, *strides; /* in elements; NULL: dense */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor t;
    void *owner;
    void (*release)(struct dl_managed *self);
} dl_managed;

/* Our types in the words of both protocols; "" where buffers have none. */
static const struct kind {
    clv_dtype dtype;
    uint8_t code, bits;
    const char *format;
} kinds[] = {
    {CLV_FLOAT32, 2, 32, "f"}, {CLV_FLOAT64, 2, 64, "d"},
    {CLV_FLOAT16, 2, 16, "e"}, {CLV_BFLOAT16, 4, 16, ""},
    {CLV_INT8, 0, 8, "b"},     {CLV_INT16, 0, 16, "h"},
    {CLV_INT32, 0, 32, "i"},   {CLV_INT64, 0, 64, "q"},
    {CLV_UINT8, 1, 8, "B"},    {CLV_UINT16, 1, 16, "H"},
    {CLV_UINT32, 1, 32, "I"},  {CLV_UINT64, 1, 64, "Q"},
    {CLV_BOOL, 6, 8, "?"},     {CLV_COMPLEX64, 5, 64, "Zf"},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *kind_of(clv_dtype t)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].dtype == t)
            return &kinds[i];
    return NULL;
}

/* -- inputs ---------------------------------------------------------------*/

static bool refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

static bool set_dims(clv_tensor *t, int64_t rank, const int64_t *dims)
{
    if (rank < 0 || rank > CLV_MAX_RANK)
        return refuse("a tensor has up to 16 dimensions");
    t->rank = (uint32_t)rank;
    if (rank)
        memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    return true;
}

/* Row-major without gaps; axes of one element, and those of a tensor of no
 * elements, may have any stride. */
static bool is_dense(const clv_tensor *t, const int64_t *strides)
{
    int64_t step = 1;
    if (clv_tensor_numel(t) == 0)
        return true;
    for (uint32_t i = t->rank; strides && i-- > 0;) {
        if (t->dims[i] > 1 && strides[i] != step)
            return false;
        step *= t->dims[i];
    }
    return true;
}

/* A format character of the native order, whatever its name for a size. */
static clv_dtype dtype_of_format(const char *format, Py_ssize_t size)
{
    const char *f = format ? format : "B";
    f += *f == '@' || *f == '=' || *f == '<';
    if (*f == 'l')
        f = size == 8 ? "q" : "i";
    if (*f == 'L')
        f = size == 8 ? "Q" : "I";
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].format[0] && !strcmp(kinds[i].format, f) &&
            kinds[i].bits == 8 * size)
            return kinds[i].dtype;
    return CLV_NODTYPE;
}

static bool from_buffer(PyObject *o, lent *out)
{
    Py_buffer *b = &out->view;
    if (PyObject_GetBuffer(o, b, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        return refuse("arrays are contiguous, row by row");
    }
    out->has_view = true;
    int64_t dims[CLV_MAX_RANK];
    for (int i = 0; i < b->ndim && i < CLV_MAX_RANK; i++)
        dims[i] = b->shape[i];
    out->t = (clv_tensor){.dtype = dtype_of_format(b->format, b->itemsize),
                          .data = b->buf};
    return set_dims(&out->t, b->ndim, dims);
}

/* The capsule is held, not consumed: it frees what it manages. */
static bool from_dlpack(PyObject *o, lent *out)
{
    out->held = PyObject_CallMethod(o, "__dlpack__", NULL);
    const dl_managed *m =
        out->held ? PyCapsule_GetPointer(out->held, "dltensor") : NULL;
    if (!m)
        return false;
    if (m->t.device.type != DL_CPU)
        return refuse("tensors are in this machine's memory");
    out->t = (clv_tensor){.data = (char *)m->t.data + m->t.byte_offset};
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].code == m->t.dtype.code &&
            kinds[i].bits == m->t.dtype.bits && m->t.dtype.lanes == 1)
            out->t.dtype = kinds[i].dtype;
    if (!set_dims(&out->t, m->t.ndim, m->t.shape))
        return false;
    return is_dense(&out->t, m->t.strides) ||
           refuse("tensors are contiguous, row by row");
}

bool tensor_borrow(PyObject *o, lent *out)
{
    static char nothing; /* what an empty array points at */
    *out = (lent){0};
    if (!(PyObject_CheckBuffer(o)                   ? from_buffer(o, out)
          : PyObject_HasAttrString(o, "__dlpack__") ? from_dlpack(o, out)
                                                    : false)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError,
                         "%R is no tensor: it has neither a buffer nor "
                         "__dlpack__",
                         (PyObject *)Py_TYPE(o));
        return false;
    }
    if (out->t.dtype == CLV_NODTYPE)
        return refuse("numbers of a type that cleave has not");
    if (!out->t.data)
        out->t.data = &nothing;
    return true;
}

void tensor_return(lent *l)
{
    if (l->has_view)
        PyBuffer_Release(&l->view);
    Py_XDECREF(l->held);
    *l = (lent){0};
}

PyObject *tensors_close(PyObject *self, PyObject *args)
{
    PyObject *a, *b, *result = NULL;
    double tolerance;
    lent x = {0}, y = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOd", &a, &b, &tolerance))
        return NULL;
    if (tensor_borrow(a, &x) && tensor_borrow(b, &y)) {
        bool same;
        Py_BEGIN_ALLOW_THREADS same = clv_tensor_close(&x.t, &y.t, tolerance);
        Py_END_ALLOW_THREADS result = PyBool_FromLong(same);
    }
    tensor_return(&x);
    tensor_return(&y);
    return result;
}

/* -- cleave.Tensor --------------------------------------------------------*/

typedef struct tensor_object {
    PyObject ob_base;
    clv_tensor t; /* data is ours, from aligned_alloc */
    Py_ssize_t shape[CLV_MAX_RANK], strides[CLV_MAX_RANK];
} tensor_object;

PyObject *tensor_type;

PyObject *tensor_new(const clv_tensor *like)
{
    tensor_object *o = PyObject_New(tensor_object, (PyTypeObject *)tensor_type);
    if (!o)
        return NULL;
    int64_t bytes = clv_tensor_bytes(like);
    o->t = *like;
    o->t.data = NULL;
    if (bytes >= 0 && bytes < INT64_MAX - 64)
        o->t.data = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
    if (!o->t.data) {
        Py_DECREF((PyObject *)o);
        return PyErr_NoMemory();
    }
    Py_ssize_t step = (Py_ssize_t)(clv_dtype_bytes(like->dtype, 8) / 8);
    for (uint32_t i = like->rank; i-- > 0; step *= o->shape[i]) {
        o->shape[i] = (Py_ssize_t)like->dims[i];
        o->strides[i] = step;
    }
    return (PyObject *)o;
}

clv_tensor *tensor_of(PyObject *o)
{
    return &((tensor_object *)o)->t;
}

static void tensor_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((tensor_object *)self)->t.data);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int tensor_buffer(PyObject *self, Py_buffer *b, int flags)
{
    tensor_object *o = (tensor_object *)self;
    const struct kind *k = kind_of(o->t.dtype);
    if (!k || !k->format[0]) {
        PyErr_Format(PyExc_BufferError, "buffers have no %s; __dlpack__ has",
                     clv_dtype_name(o->t.dtype));
        return -1;
    }
    (void)flags; /* dense and writable, so every request is met */
    b->buf = o->t.data;
    b->obj = self;
    Py_INCREF(self);
    b->len = (Py_ssize_t)clv_tensor_bytes(&o->t);
    b->itemsize = k->bits / 8;
    b->readonly = 0;
    b->ndim = (int)o->t.rank;
    b->format = (char *)(uintptr_t)k->format;
    b->shape = o->shape;
    b->strides = o->strides;
    b->suboffsets = NULL;
    b->internal = NULL;
    return 0;
}

/* A managed tensor and its shape in one block. */
typedef struct lending {
    dl_managed m;
    int64_t shape[CLV_MAX_RANK];
} lending;

static void lending_release(dl_managed *m)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)m->owner);
    PyGILState_Release(gil);
    free(m);
}

/* A capsule nobody took is renamed by nobody. */
static void capsule_free(PyObject *capsule)
{
    dl_managed *m = PyCapsule_IsValid(capsule, "dltensor")
                        ? PyCapsule_GetPointer(capsule, "dltensor")
                        : NULL;
    if (m)
        m->release(m);
}

PyDoc_STRVAR(dlpack_doc, "__dlpack__($self, **kwargs)\n--\n\n"
                         "The memory as a DLPack capsule, shared.");

static PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kw)
{
    tensor_object *o = (tensor_object *)self;
    const struct kind *k = kind_of(o->t.dtype);
    (void)args, (void)kw; /* stream, max_version, ...: all one on a CPU */
    if (!k)
        return PyErr_Format(PyExc_BufferError, "DLPack has no %s",
                            clv_dtype_name(o->t.dtype));
    lending *l = calloc(1, sizeof *l);
    if (!l)
        return PyErr_NoMemory();
    memcpy(l->shape, o->t.dims, o->t.rank * sizeof *l->shape);
    l->m = (dl_managed){.t = {.data = o->t.data,
                              .device = {DL_CPU, 0},
                              .ndim = (int32_t)o->t.rank,
                              .dtype = {k->code, k->bits, 1},
                              .shape = l->shape},
                        .owner = self,
                        .release = lending_release};
    PyObject *capsule = PyCapsule_New(l, "dltensor", capsule_free);
    if (capsule)
        Py_INCREF(self);
    else
        free(l);
    return capsule;
}

static PyObject *tensor_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyObject *tensor_shape(PyObject *self, void *unused)
{
    const clv_tensor *t = tensor_of(self);
    PyObject *shape = PyTuple_New((Py_ssize_t)t->rank);
    (void)unused;
    for (uint32_t i = 0; shape && i < t->rank; i++)
        PyTuple_SetItem(shape, (Py_ssize_t)i, PyLong_FromLongLong(t->dims[i]));
    return shape;
}

static PyObject *tensor_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(clv_dtype_name(tensor_of(self)->dtype));
}

static PyObject *tensor_repr(PyObject *self)
{
    PyObject *shape = tensor_shape(self, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat(
                                 "<cleave.Tensor %s %R>",
                                 clv_dtype_name(tensor_of(self)->dtype), shape)
                           : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack,
     METH_VARARGS | METH_KEYWORDS, dlpack_doc},
    {"__dlpack_device__", tensor_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nThe CPU, as DLPack numbers it."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"shape", tensor_shape, NULL, "The sizes, a tuple.", NULL},
    {"dtype", tensor_dtype, NULL, "The type of its numbers, a name.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)tensor_dealloc},
    {Py_tp_repr, (void *)tensor_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_bf_getbuffer, (void *)tensor_buffer},
    {Py_tp_doc, "What a Model computed. numpy.asarray and torch.from_dlpack "
                "share its memory."},
    {0, NULL},
};

PyType_Spec tensor_spec = {
    .name = "cleave.Tensor",
    .basicsize = sizeof(tensor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

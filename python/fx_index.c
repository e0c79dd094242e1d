/* fx_index.c - x[...] of a tensor, as one operator.
 *
 *   x[1:, ::2]        slice     every item a slice
 *   x[:, 3]           select    one number, the rest whole
 *   x[:, None]        unsqueeze new axes alone
 *   x[:, i, mask]     index     tensors, the rest whole
 *
 * Anything else is several of these at once: it counts as the slice it is, and
 * torch runs it. */
#include "fx.h"

#include <string.h>

typedef struct items {
    int64_t start[CLV_MAX_RANK], end[CLV_MAX_RANK], step[CLV_MAX_RANK];
    int64_t axes[CLV_MAX_RANK], fresh[CLV_MAX_RANK];
    uint32_t n_slices, n_fresh;
    uint32_t tensors[CLV_MAX_RANK]; /* by axis, CLV_NONE where there is none */
    uint32_t n_numbers, n_tensors, axis, made;
    int64_t number, number_axis;
    bool odd; /* nothing we know */
} items;

static bool int_or(PyObject *slice, const char *name, int64_t otherwise,
                   int64_t *out)
{
    PyObject *o = fx_attr(slice, name);
    PyObject *value = o ? fx_resolve(o) : NULL;
    bool ok = true;
    *out = otherwise;
    if (value && value != Py_None)
        ok = fx_int_of(value, out);
    Py_XDECREF(value);
    Py_XDECREF(o);
    return ok;
}

static void add_slice(items *it, PyObject *slice)
{
    uint32_t i = it->n_slices;
    if (!int_or(slice, "start", 0, &it->start[i]) ||
        !int_or(slice, "stop", INT64_MAX, &it->end[i]) ||
        !int_or(slice, "step", 1, &it->step[i]) || it->step[i] < 1)
        it->odd = true;
    it->axes[i] = it->axis++;
    it->made++;
    if (it->start[i] != 0 || it->end[i] != INT64_MAX || it->step[i] != 1)
        it->n_slices++;
}

/* One item of the index; rank is that of the tensor. */
static void add_item(walk *w, items *it, PyObject *o, uint32_t rank)
{
    uint32_t v = fx_value_of(w, o, 0);
    if (it->axis > rank || it->made >= CLV_MAX_RANK || PyBool_Check(o)) {
        it->odd = true;
    } else if (o == Py_None) {
        it->fresh[it->n_fresh++] = it->made++;
    } else if (v != CLV_NONE) {
        bool mask = w->g->values[v].dtype == CLV_BOOL;
        uint32_t takes = mask ? w->g->values[v].rank : 1;
        if (it->axis >= rank || takes > rank - it->axis || !takes) {
            it->odd = true;
            return;
        }
        it->tensors[it->axis] = v;
        it->n_tensors++;
        it->axis += takes;
        it->made++;
    } else if (it->axis == rank) {
        it->odd = true;
    } else if (PySlice_Check(o)) {
        add_slice(it, o);
    } else {
        PyObject *value = fx_resolve(o);
        it->odd |= PyTuple_Check(o) || PyList_Check(o) ||
                   !fx_int_of(value, &it->number);
        it->number_axis = it->axis++;
        it->n_numbers++;
        Py_DECREF(value);
    }
}

/* Axes that the items take; None and ... take none. */
static uint32_t width_of(walk *w, PyObject *index)
{
    uint32_t n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(index); i++) {
        PyObject *o = PyTuple_GetItem(index, i);
        uint32_t v = fx_value_of(w, o, 0);
        if (o == Py_None || o == Py_Ellipsis)
            continue;
        bool mask = v != CLV_NONE && w->g->values[v].dtype == CLV_BOOL;
        n += mask ? w->g->values[v].rank : 1;
    }
    return n;
}

static void read_items(walk *w, PyObject *index, uint32_t rank, items *it)
{
    uint32_t width = width_of(w, index);
    memset(it->tensors, 0xff, sizeof it->tensors);
    for (Py_ssize_t i = 0; i < PyTuple_Size(index) && !it->odd; i++) {
        PyObject *o = PyTuple_GetItem(index, i);
        if (o == Py_Ellipsis && width <= rank) {
            it->axis += rank - width;
            it->made += rank - width;
        } else {
            add_item(w, it, o, rank);
        }
    }
}

static void ints(walk *w, call *c, clv_attr_key key, const int64_t *v,
                 uint32_t n)
{
    int64_t *own = arena_array(&w->g->mem, n + 1u, sizeof *own);
    if (!own) {
        fx_counted_only(c, "no memory");
        return;
    }
    memcpy(own, v, n * sizeof *own);
    c->attrs[c->n_attrs++] = (clv_attr){.name = clv__attr_name(key),
                                        .key = (uint8_t)key,
                                        .type = CLV_ATTR_INTS,
                                        .n = n,
                                        .u.ints = own};
}

static void number(call *c, clv_attr_key key, int64_t v)
{
    c->attrs[c->n_attrs++] = (clv_attr){.name = clv__attr_name(key),
                                        .key = (uint8_t)key,
                                        .type = CLV_ATTR_INT,
                                        .u.i = v};
}

static bool put_tensors(call *c, const items *it)
{
    uint32_t last = 0;
    for (uint32_t a = 0; a < CLV_MAX_RANK; a++)
        if (it->tensors[a] != CLV_NONE)
            last = a;
    for (uint32_t a = 0; a <= last; a++)
        if (!fx_put_input(c, it->tensors[a]))
            return false;
    return true;
}

static bool put_items(walk *w, call *c, const items *it, clv_op *op)
{
    int kinds = (it->n_slices > 0) + (it->n_numbers > 0) + (it->n_fresh > 0) +
                (it->n_tensors > 0);
    *op = CLV_OP_SLICE;
    if (it->odd || kinds > 1 || it->n_numbers > 1) {
        fx_counted_only(c, "several ways to index at once");
    } else if (it->n_tensors) {
        *op = CLV_OP_INDEX;
        return put_tensors(c, it);
    } else if (it->n_numbers) {
        *op = CLV_OP_SELECT;
        number(c, CLV_A_AXIS, it->number_axis);
        number(c, CLV_A_INDEX, it->number);
    } else if (it->n_fresh) {
        *op = CLV_OP_UNSQUEEZE;
        ints(w, c, CLV_A_AXES, it->fresh, it->n_fresh);
    } else if (it->n_slices) {
        ints(w, c, CLV_A_START, it->start, it->n_slices);
        ints(w, c, CLV_A_END, it->end, it->n_slices);
        ints(w, c, CLV_A_STEP, it->step, it->n_slices);
        ints(w, c, CLV_A_AXES, it->axes, it->n_slices);
    } else {
        *op = CLV_OP_IDENTITY; /* x[:] */
    }
    return true;
}

bool fx_read_index(walk *w, PyObject *source, PyObject *index, call *c,
                   clv_op *op)
{
    uint32_t v = fx_value_of(w, source, 0);
    uint32_t rank = v == CLV_NONE ? CLV_NO_RANK : w->g->values[v].rank;
    PyObject *tuple = PyTuple_Check(index) ? index : PyTuple_Pack(1, index);
    items it = {.odd = rank > CLV_MAX_RANK};
    if (!tuple || !fx_put_input(c, v))
        return false;
    read_items(w, tuple, rank, &it);
    if (tuple == index)
        Py_INCREF(tuple);
    Py_DECREF(tuple);
    return put_items(w, c, &it, op);
}

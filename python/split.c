/* split.c - Graph.split: the subgraph of every node of the torch graph that a
 * Graph was captured from.
 *
 * The cut is the library's. Torch's graph may ask for more than ours: a node
 * that reads a tensor for its shape alone has no such input here, yet torch
 * hands it the tensor. So each read becomes a pair of nodes that the cut keeps
 * in order (clv_capability_opts.order), and no subgraph has to be added later.
 *
 * Nodes of torch without an operator here (one of several results, a size) are
 * looked through: what reads them waits for what they read, and they go to the
 * last subgraph that they read from. */
#include "bridge.h"

#include <string.h>

/* The torch graph: nodes are numbered in its order. */
typedef struct torch_graph {
    uint32_t n;
    uint32_t *own;               /* its operator here, or CLV_NONE */
    uint32_t *read_first, *read; /* of i: read[read_first[i] ... [i+1]) */
    uint32_t *place;             /* its subgraph */
    uint32_t *stack, *seen;      /* for walks */
} torch_graph;

typedef struct split_job {
    torch_graph t;
    clv_order *order;
    uint32_t n_order, room;
    clv_capability_opts opts;
    const char *backend, *device;
    texts cpu_ops;
    clv_cut *cut;
    clv_profile *profile;
} split_job;

/* -- the torch graph ------------------------------------------------------*/

/* {torch's name: number of our node}; of several nodes the last. */
static PyObject *numbers_of(PyObject *names)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyList_Size(names); i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        if (!number ||
            PyDict_SetItem(dict, PyList_GetItem(names, i), number) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(number);
    }
    return dict;
}

static bool torch_alloc(torch_graph *t, size_t n, size_t reads)
{
    uint32_t **arrays[] = {&t->own, &t->read_first, &t->place, &t->stack,
                           &t->seen};
    bool ok = n < CLV_NONE && reads < CLV_NONE;
    for (size_t i = 0; ok && i < sizeof arrays / sizeof *arrays; i++)
        ok = (*arrays[i] = PyMem_Calloc(n + 1, sizeof(uint32_t))) != NULL;
    ok = ok && (t->read = PyMem_Calloc(reads + 1, sizeof *t->read)) != NULL;
    if (!ok)
        PyErr_NoMemory();
    t->n = (uint32_t)n;
    return ok;
}

static void torch_free(torch_graph *t)
{
    uint32_t *arrays[] = {t->own,   t->read_first, t->read,
                          t->place, t->stack,      t->seen};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        PyMem_Free(arrays[i]);
}

/* How many reads the list of (name, [numbers]) has; -1 with an exception. */
static Py_ssize_t count_reads(PyObject *list)
{
    Py_ssize_t sum = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *pair = PyList_GetItem(list, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 ||
            !PyList_Check(PyTuple_GetItem(pair, 1))) {
            PyErr_SetString(PyExc_TypeError,
                            "reads are a list of (name, [numbers])");
            return -1;
        }
        sum += PyList_Size(PyTuple_GetItem(pair, 1));
    }
    return sum;
}

/* Reads node i; a node reads only those before it. */
static bool read_node(torch_graph *t, uint32_t i, PyObject *pair,
                      PyObject *numbers)
{
    PyObject *reads = PyTuple_GetItem(pair, 1);
    PyObject *own = PyDict_GetItemWithError(numbers, PyTuple_GetItem(pair, 0));
    uint32_t at = t->read_first[i];
    for (Py_ssize_t k = 0; k < PyList_Size(reads); k++) {
        unsigned long a = PyLong_AsUnsignedLong(PyList_GetItem(reads, k));
        if (!PyErr_Occurred() && a >= i)
            PyErr_SetString(PyExc_ValueError,
                            "a node reads only nodes before it");
        t->read[at++] = (uint32_t)a;
    }
    t->read_first[i + 1] = at;
    t->own[i] = own ? (uint32_t)PyLong_AsUnsignedLong(own) : CLV_NONE;
    return !PyErr_Occurred();
}

static bool torch_read(torch_graph *t, PyObject *list, PyObject *names)
{
    Py_ssize_t reads = count_reads(list);
    PyObject *numbers = reads >= 0 ? numbers_of(names) : NULL;
    bool ok =
        numbers && torch_alloc(t, (size_t)PyList_Size(list), (size_t)reads);
    for (uint32_t i = 0; ok && i < t->n; i++)
        ok = read_node(t, i, PyList_GetItem(list, (Py_ssize_t)i), numbers);
    Py_XDECREF(numbers);
    return ok;
}

/* -- what the cut keeps in order ------------------------------------------*/

static bool order_add(split_job *j, uint32_t before, uint32_t after)
{
    if (before == after)
        return true;
    if (j->n_order == j->room) {
        size_t room = j->room ? 2 * (size_t)j->room : 64;
        clv_order *more = room < CLV_NONE
                              ? PyMem_Realloc(j->order, room * sizeof *more)
                              : NULL;
        if (!more)
            return false;
        j->order = more;
        j->room = (uint32_t)room;
    }
    j->order[j->n_order++] = (clv_order){before, after};
    return true;
}

/* Pairs each operator that node i reads, through nodes without one, with i. */
static bool order_node(split_job *j, uint32_t i)
{
    torch_graph *t = &j->t;
    uint32_t top = 0;
    t->stack[top++] = i;
    while (top) {
        uint32_t x = t->stack[--top];
        for (uint32_t k = t->read_first[x]; k < t->read_first[x + 1]; k++) {
            uint32_t a = t->read[k];
            if (t->seen[a] == i + 1)
                continue;
            t->seen[a] = i + 1;
            if (t->own[a] == CLV_NONE)
                t->stack[top++] = a;
            else if (!order_add(j, t->own[a], t->own[i]))
                return false;
        }
    }
    return true;
}

static bool order_all(split_job *j)
{
    for (uint32_t i = 0; i < j->t.n; i++)
        if (j->t.own[i] != CLV_NONE && !order_node(j, i)) {
            PyErr_NoMemory();
            return false;
        }
    j->opts.order = j->order;
    j->opts.n_order = j->n_order;
    return true;
}

/* -- the cut --------------------------------------------------------------*/

static clv_status split_ask(const split_job *j, const clv_graph *g,
                            clv_support **out, clv_err *err)
{
    clv_backend *b = NULL;
    clv_status s = clv_backend_open(j->backend, NULL, &b, err);
    if (s == CLV_OK)
        s = clv_support_new(b, g, out, err);
    clv_backend_free(b);
    for (size_t i = 0; s == CLV_OK && i < j->cpu_ops.n; i++)
        s = clv_support_force_op(*out, j->cpu_ops.items[i], CLV_SIDE_CPU, err);
    return s;
}

static clv_status split_cut(split_job *j, const clv_graph *g, clv_err *err)
{
    clv_support *support = NULL;
    clv_status s = clv_profile_new(g, NULL, &j->profile, err);
    if (s == CLV_OK)
        s = split_ask(j, g, &support, err);
    if (s == CLV_OK) {
        clv_support_info info = *clv_support_get(support);
        if (j->device)
            info.device = j->device;
        s = clv_cut_capability(j->profile, &info, &j->opts, &j->cut, err);
    }
    clv_support_free(support);
    return s;
}

static void place_all(split_job *j)
{
    torch_graph *t = &j->t;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t last = 0;
        for (uint32_t k = t->read_first[i]; k < t->read_first[i + 1]; k++) {
            uint32_t p = t->place[t->read[k]];
            last = p > last ? p : last;
        }
        t->place[i] = t->own[i] == CLV_NONE
                          ? last
                          : clv_cut_subgraph_of(j->cut, t->own[i]);
    }
}

/* ([device of each subgraph], [subgraph of each torch node]) */
static PyObject *split_result(const split_job *j)
{
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(j->cut, &n);
    PyObject *devices = PyList_New((Py_ssize_t)n);
    PyObject *places = PyList_New((Py_ssize_t)j->t.n);
    for (uint32_t k = 0; devices && k < n; k++) {
        PyObject *name = PyUnicode_FromString(subs[k].device);
        if (!name || PyList_SetItem(devices, (Py_ssize_t)k, name) < 0)
            Py_CLEAR(devices);
    }
    for (uint32_t i = 0; places && i < j->t.n; i++) {
        PyObject *k = PyLong_FromUnsignedLong(j->t.place[i]);
        if (!k || PyList_SetItem(places, (Py_ssize_t)i, k) < 0)
            Py_CLEAR(places);
    }
    if (devices && places)
        return Py_BuildValue("(NN)", devices, places);
    Py_XDECREF(devices);
    Py_XDECREF(places);
    return NULL;
}

/* -- the call -------------------------------------------------------------*/

static bool read_limit(const char *name, Py_ssize_t n, uint32_t *out)
{
    if (n < 0 || (uint64_t)n > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s is 0 (no limit) or more, not %zd",
                     name, n);
        return false;
    }
    *out = (uint32_t)n;
    return true;
}

static bool split_read(split_job *j, PyObject *names, PyObject *args,
                       PyObject *kw)
{
    static char *keys[] = {"reads",
                           "backend",
                           "device",
                           "cpu_ops",
                           "min_support",
                           "min_subgraph_size",
                           "max_subgraph_count",
                           "some_support",
                           NULL};
    PyObject *reads, *ops = NULL;
    Py_ssize_t size = 0, count = 0;
    int some = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kw, "Os|zOdnnp", keys, &reads, &j->backend, &j->device, &ops,
            &j->opts.min_support, &size, &count, &some))
        return false;
    j->opts.some_support = some != 0;
    j->opts.no_what_if = true;
    if (!names || !PyList_Check(reads)) {
        PyErr_SetString(PyExc_TypeError,
                        "split takes a captured graph and a list of reads");
        return false;
    }
    return read_limit("min_subgraph_size", size, &j->opts.min_subgraph_size) &&
           read_limit("max_subgraph_count", count,
                      &j->opts.max_subgraph_count) &&
           texts_read(ops, &j->cpu_ops) && torch_read(&j->t, reads, names) &&
           order_all(j);
}

PyObject *graph_split_nodes(const clv_graph *g, PyObject *names, PyObject *args,
                            PyObject *kw)
{
    split_job j = {.opts.size = sizeof j.opts};
    clv_err err = {0};
    PyObject *result = NULL;
    if (split_read(&j, names, args, kw)) {
        clv_status s;
        Py_BEGIN_ALLOW_THREADS s = split_cut(&j, g, &err);
        if (s == CLV_OK)
            place_all(&j);
        Py_END_ALLOW_THREADS result =
            s == CLV_OK ? split_result(&j) : py_raise(&err);
    }
    clv_cut_free(j.cut);
    clv_profile_free(j.profile);
    PyMem_Free(j.order);
    texts_free(&j.cpu_ops);
    torch_free(&j.t);
    return result;
}

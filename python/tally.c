/* tally.c - counts as other tools' objects hold them: of every module, by
 * operator, with what the tool has no rule for; and costs that the caller gives
 * to single operators.
 *
 * fvcore adds an operator to its module and to all modules above. torchinfo
 * looks at no operator: what a module costs follows from its class, its
 * parameters and the size of its output (module_costs). */
#include "bridge.h"

#include "analysis/count.h"
#include "backend/backend.h"
#include "ops/custom.h"

#include <string.h>

/* -- sums of modules ------------------------------------------------------*/

/* dict[key] += n; false with an exception. */
static bool add_to(PyObject *dict, const char *key, int64_t n)
{
    PyObject *name =
        PyUnicode_DecodeUTF8(key, (Py_ssize_t)strlen(key), "replace");
    PyObject *was = name ? PyDict_GetItemWithError(dict, name) : NULL;
    long long before = was ? PyLong_AsLongLong(was) : 0;
    PyObject *sum = PyLong_FromLongLong(sat_add(before, n));
    bool ok = name && sum && PyDict_SetItem(dict, name, sum) == 0;
    Py_XDECREF(name);
    Py_XDECREF(sum);
    return ok;
}

/* The same in the dict of a module and of each above it. */
static bool add_upwards(PyObject *dicts, const clv_module_total *modules,
                        uint32_t m, const char *key, int64_t n)
{
    for (; m != CLV_NONE; m = modules[m].parent) {
        PyObject *dict = PyDict_GetItemString(dicts, modules[m].path);
        if (!dict || !add_to(dict, key, n))
            return false;
    }
    return true;
}

static PyObject *dict_per_module(const clv_module_total *modules, uint32_t n)
{
    PyObject *dicts = PyDict_New();
    for (uint32_t i = 0; dicts && i < n; i++) {
        PyObject *dict = PyDict_New();
        if (!dict || PyDict_SetItemString(dicts, modules[i].path, dict) < 0)
            Py_CLEAR(dicts);
        Py_XDECREF(dict);
    }
    return dicts;
}

/* What fvcore's other analysis counts: the elements that products and
 * convolutions give. */
static clv_count count_activations(const clv_graph *g, const clv_node *n,
                                   clv_count flops, int64_t macs)
{
    if (clv__given(g, n) || flops.heed != CLV_HEED_COUNTED)
        return flops;
    if (macs > 0)
        flops.total = clv__numel(node_out(g, n, 0));
    else
        flops.heed = CLV_HEED_NONE;
    return flops;
}

static bool tally_layers(const clv_profile *p, bool activations,
                         PyObject *counted, PyObject *unsupported)
{
    uint32_t n, n_modules;
    const clv_graph *g = clv_profile_graph(p);
    const clv_layer *layers = clv_profile_layers(p, &n);
    const clv_module_total *modules = clv_profile_modules(p, &n_modules);
    for (uint32_t i = 0; i < n; i++) {
        const clv_node *node = &g->nodes[i];
        clv_count c =
            clv__count(g, node, &layers[i].cost, CLV_CONVENTION_FVCORE);
        if (activations)
            c = count_activations(g, node, c, layers[i].cost.macs);
        uint32_t m = layers[i].module;
        if (c.heed == CLV_HEED_COUNTED &&
            !add_upwards(counted, modules, m, c.kind, c.total))
            return false;
        bool known = c.kind && node->op != CLV_OP_UNKNOWN;
        const char *name = known ? c.kind : clv__op_shown(node);
        if (c.heed == CLV_HEED_NONE &&
            !add_upwards(unsupported, modules, m, name, 1))
            return false;
    }
    return true;
}

static PyObject *tally_of(const clv_profile *p, bool activations)
{
    uint32_t n;
    const clv_module_total *modules = clv_profile_modules(p, &n);
    PyObject *counted = dict_per_module(modules, n);
    PyObject *unsupported = dict_per_module(modules, n);
    if (counted && unsupported &&
        tally_layers(p, activations, counted, unsupported))
        return Py_BuildValue("{sNsN}", "counts", counted, "unsupported",
                             unsupported);
    Py_XDECREF(counted);
    Py_XDECREF(unsupported);
    return NULL;
}

PyObject *graph_tally(const clv_graph *g, PyObject *args)
{
    int activations = 0;
    clv_profile *p = NULL;
    clv_err err = {0};
    if (!PyArg_ParseTuple(args, "|p", &activations))
        return NULL;
    clv_status s;
    Py_BEGIN_ALLOW_THREADS s = clv_profile_new(g, NULL, &p, &err);
    Py_END_ALLOW_THREADS if (s != CLV_OK) return py_raise(&err);
    PyObject *result = tally_of(p, activations != 0);
    clv_profile_free(p);
    return result;
}

/* -- costs that are given -------------------------------------------------*/

PyObject *graph_find(const clv_graph *g, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < g->n_nodes; i++) {
        if (!clv__names_node(name, &g->nodes[i]))
            continue;
        PyObject *at = PyLong_FromUnsignedLong(i);
        if (!at || PyList_Append(list, at) < 0)
            Py_CLEAR(list);
        Py_XDECREF(at);
    }
    return list;
}

/* (shape, name of the type); None for an operand that is not there. */
static PyObject *operand(const clv_graph *g, uint32_t v)
{
    if (v == CLV_NONE)
        Py_RETURN_NONE;
    clv_value_info info = clv_graph_value(g, v);
    PyObject *shape = PyList_New(0);
    for (uint32_t d = 0; shape && d < info.rank; d++) {
        PyObject *n = PyLong_FromLongLong(info.dims[d]);
        if (!n || PyList_Append(shape, n) < 0)
            Py_CLEAR(shape);
        Py_XDECREF(n);
    }
    return shape ? Py_BuildValue("(Ns)", shape, clv_dtype_name(info.dtype))
                 : NULL;
}

static PyObject *operands(const clv_graph *g, const uint32_t *ids, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *o = operand(g, ids[i]);
        if (!o || PyList_SetItem(list, (Py_ssize_t)i, o) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static const clv_node *node_at(const clv_graph *g, unsigned id)
{
    if (id < g->n_nodes)
        return &g->nodes[id];
    PyErr_Format(PyExc_IndexError, "there is no operator %u", id);
    return NULL;
}

PyObject *graph_operands(const clv_graph *g, PyObject *args)
{
    unsigned id;
    const clv_node *n =
        PyArg_ParseTuple(args, "I", &id) ? node_at(g, id) : NULL;
    if (!n)
        return NULL;
    PyObject *ins = operands(g, node_ins(g, n), n->n_in);
    PyObject *outs = operands(g, node_ins(g, n) + n->n_in, n->n_out);
    if (ins && outs)
        return Py_BuildValue("(NN)", ins, outs);
    Py_XDECREF(ins);
    Py_XDECREF(outs);
    return NULL;
}

PyObject *graph_give(clv_graph *g, PyObject *args)
{
    unsigned id;
    const char *kind;
    long long flops, macs = 0;
    if (!PyArg_ParseTuple(args, "IsL|L", &id, &kind, &flops, &macs) ||
        !node_at(g, id))
        return NULL;
    if (flops < 0 || macs < 0) {
        PyErr_SetString(PyExc_ValueError, "a cost is 0 or more");
        return NULL;
    }
    if (!clv__give_cost(g, id, kind, macs, flops))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* -- torchinfo ------------------------------------------------------------*/

/* One call of a module as torchinfo sees it. */
typedef struct module_call {
    const char *cls;
    PyObject *output; /* sizes */
    int64_t itemsize;
    PyObject *params; /* (name, elements, bytes, whether it is trained) */
} module_call;

typedef struct module_cost {
    long long macs, output_bytes, params, trainable, param_bytes;
} module_cost;

/* The product of the sizes from axis `from` to before `to`; -1 with an
 * exception. */
static int64_t product(PyObject *sizes, Py_ssize_t from, Py_ssize_t to)
{
    int64_t all = 1;
    Py_ssize_t n = PyList_Size(sizes);
    for (Py_ssize_t i = from; i < to && i < n; i++)
        all = sat_mul(all, PyLong_AsLongLong(PyList_GetItem(sizes, i)));
    return PyErr_Occurred() ? -1 : all;
}

/* How often torchinfo counts each element of a parameter: once per position of
 * a convolution's output, per sample of any other module's "weight" and "bias",
 * per sample and step of what is called weight_ih_l0 and the like. */
static int64_t times_counted(const module_call *c, const char *param)
{
    bool plain = !strcmp(param, "weight") || !strcmp(param, "bias");
    if (plain && strstr(c->cls, "Conv"))
        return sat_mul(product(c->output, 0, 1),
                       product(c->output, 2, PY_SSIZE_T_MAX));
    if (plain)
        return product(c->output, 0, 1);
    if (strstr(param, "weight") || strstr(param, "bias"))
        return product(c->output, 0, 2);
    return 0;
}

static bool add_params(const module_call *c, module_cost *cost)
{
    for (Py_ssize_t i = 0; i < PyList_Size(c->params); i++) {
        const char *name;
        long long n, bytes;
        int trained;
        if (!PyArg_ParseTuple(PyList_GetItem(c->params, i), "sLLp", &name, &n,
                              &bytes, &trained))
            return false;
        cost->params += n;
        cost->param_bytes += bytes;
        cost->trainable += trained ? n : 0;
        if (PyList_Size(c->output) > 0)
            cost->macs =
                sat_add(cost->macs, sat_mul(n, times_counted(c, name)));
    }
    return !PyErr_Occurred();
}

PyObject *module_costs(PyObject *self, PyObject *args)
{
    PyObject *calls, *rows = PyList_New(0);
    (void)self;
    if (!rows || !PyArg_ParseTuple(args, "O!", &PyList_Type, &calls))
        Py_CLEAR(rows);
    for (Py_ssize_t i = 0; rows && i < PyList_Size(calls); i++) {
        module_call c;
        module_cost cost = {0};
        long long itemsize;
        PyObject *row = NULL;
        if (PyArg_ParseTuple(PyList_GetItem(calls, i), "sO!LO!", &c.cls,
                             &PyList_Type, &c.output, &itemsize, &PyList_Type,
                             &c.params) &&
            add_params(&c, &cost)) {
            cost.output_bytes =
                sat_mul(itemsize, product(c.output, 0, PY_SSIZE_T_MAX));
        }
        if (!PyErr_Occurred()) {
            row = Py_BuildValue("(LLLLL)", cost.macs, cost.output_bytes,
                                cost.params, cost.trainable, cost.param_bytes);
        }
        if (!row || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

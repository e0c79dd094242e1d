/* fx.c - a captured torch.fx graph becomes a clv_graph, in one call.
 *
 * The nodes of a GraphModule are walked once. Placeholders become inputs,
 * get_attr nodes and members of modules become weights, calls go to
 * formats/aten. Shapes and types of every result come from the metadata torch
 * left on the node, so nothing after an unknown operator is lost.
 *
 * Python objects are only read. A missing attribute of an object is treated as
 * absent; errors are for graphs that have no shapes at all. */
#include "fx.h"

#include <string.h>

/* A weight that torch passes as an input: its path and the tensor. */
static bool fx_lifted(fx_walk *w, PyObject *node, PyObject *pair)
{
    char path[512];
    PyObject *tensor = PyTuple_GetItem(pair, 1);
    fx_text_of(PyTuple_GetItem(pair, 0), path, sizeof path);
    uint32_t v = tensor && fx_is_tensor(tensor) ? fx_weight_of(w, tensor, path)
                                                : CLV_NONE;
    return v != CLV_NONE && fx_remember(w, node, &v, 1, false);
}

/* The names of an input's axes, where capture noted them on the node. */
static bool fx_name_axes(fx_walk *w, PyObject *node, uint32_t v)
{
    clv_graph *g = w->b.g;
    PyObject *meta = fx_attr(node, "meta");
    PyObject *list = meta ? PyMapping_GetItemString(meta, "dim_names") : NULL;
    PyErr_Clear();
    Py_ssize_t rank = g->values[v].rank;
    bool ok = true;
    if (list && PyList_Check(list) && PyList_Size(list) == rank) {
        const char **names =
            arena_zalloc(&g->mem, ((size_t)rank + 1) * sizeof *names);
        clv_payload *data = clv__value_data(g, v);
        ok = names && data;
        for (Py_ssize_t i = 0; ok && i < rank; i++) {
            char text[128];
            PyObject *name = PyList_GetItem(list, i);
            fx_text_of(name, text, sizeof text);
            if (name != Py_None)
                names[i] = arena_strndup(&g->mem, text, strlen(text));
        }
        if (ok)
            data->dim_names = names;
    }
    Py_XDECREF(list);
    Py_XDECREF(meta);
    return ok;
}

static bool fx_placeholder(fx_walk *w, PyObject *node, const char *name)
{
    PyObject *pair =
        w->lifted ? PyDict_GetItemWithError(w->lifted, node) : NULL;
    if (pair)
        return fx_lifted(w, node, pair);
    PyObject *result = fx_result_of(node);
    if (result && !fx_is_tensor(result)) { /* a number or None: not a tensor */
        Py_DECREF(result);
        return true;
    }
    uint32_t v = fx_add_value(w, name, CLV_VALUE_INPUT);
    if (v != CLV_NONE && result)
        fx_set_type(w, v, result);
    Py_XDECREF(result);
    return v != CLV_NONE && fx_remember(w, node, &v, 1, false) &&
           fx_name_axes(w, node, v);
}

/* A weight by its dotted path from the root. */
static bool fx_get_attr(fx_walk *w, PyObject *node, PyObject *target)
{
    char path[512];
    fx_text_of(target, path, sizeof path);
    PyObject *o = fx_member(w->root, path);
    uint32_t v = o && fx_is_tensor(o) ? fx_weight_of(w, o, path) : CLV_NONE;
    Py_XDECREF(o);
    return v == CLV_NONE || fx_remember(w, node, &v, 1, false);
}

/* Makes every tensor in `arg` an output, however deep. */
static bool fx_output_arg(fx_walk *w, const aten_arg *arg)
{
    if (arg->kind == ATEN_TENSOR)
        return clv__graph_output(w->b.g, clv__aten_latest(&w->b, arg->u.value));
    for (uint32_t i = 0; arg->kind == ATEN_LIST && i < arg->n; i++)
        if (!fx_output_arg(w, &arg->u.items[i]))
            return false;
    return true;
}

/* What the graph returns: tensors in tuples, lists and dicts. */
static bool fx_output(fx_walk *w, PyObject *o)
{
    aten_arg arg;
    PyObject *items = PyDict_Check(o) ? PyDict_Values(o) : NULL;
    PyObject *list = items ? items : o;
    bool ok = true;
    if (!fx_is_list(list))
        ok = fx_arg(w, list, &arg) && fx_output_arg(w, &arg);
    for (Py_ssize_t i = 0; ok && fx_is_list(list) && i < PySequence_Size(list);
         i++) {
        PyObject *item = PySequence_GetItem(list, i);
        ok = !item || fx_output(w, item);
        Py_XDECREF(item);
    }
    Py_XDECREF(items);
    return ok;
}

static bool fx_visit(fx_walk *w, PyObject *node)
{
    char op[32], name[256];
    PyObject *o = fx_attr(node, "op"), *n = fx_attr(node, "name");
    PyObject *target = fx_attr(node, "target"), *args = fx_attr(node, "args");
    fx_text_of(o, op, sizeof op);
    fx_text_of(n, name, sizeof name);
    bool ok = true;
    if (!strcmp(op, "placeholder"))
        ok = fx_placeholder(w, node, name);
    else if (!strcmp(op, "get_attr"))
        ok = fx_get_attr(w, node, target);
    else if (!strcmp(op, "call_module"))
        ok = fx_call_module(w, node, target);
    else if (!strcmp(op, "output"))
        ok = fx_output(w, args);
    else
        ok =
            fx_call_function(w, node, name, target, !strcmp(op, "call_method"));
    Py_XDECREF(args);
    Py_XDECREF(target);
    Py_XDECREF(n);
    Py_XDECREF(o);
    return ok;
}

static bool fx_walk_module(fx_walk *w, PyObject *module)
{
    PyObject *graph = fx_attr(module, "graph"),
             *nodes = fx_attr(graph, "nodes");
    PyObject *it = nodes ? PyObject_GetIter(nodes) : NULL, *node;
    bool ok = it != NULL;
    if (!it)
        PyErr_SetString(py_error, "not a torch.fx.GraphModule");
    w->root = module;
    while (ok && (node = PyIter_Next(it))) {
        ok = fx_visit(w, node);
        Py_DECREF(node);
    }
    Py_XDECREF(it);
    Py_XDECREF(nodes);
    Py_XDECREF(graph);
    return ok;
}

/* Parameters that no operator reads belong to the model all the same. */
static void fx_count_unused(clv_graph *g, int64_t total)
{
    int64_t used = 0;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].kind == CLV_VALUE_PARAM &&
            g->user_first[v] < g->user_first[v + 1])
            used = sat_add(used, clv__numel(&g->values[v]));
    if (total > used)
        g->unused_params = total - used;
}

static bool fx_walk_all(fx_walk *w, PyObject *o)
{
    if (!PyList_Check(o))
        return fx_walk_module(w, o);
    for (Py_ssize_t i = 0; i < PyList_Size(o); i++)
        if (!fx_walk_module(w, PyList_GetItem(o, i)))
            return false;
    return true;
}

clv_graph *graph_from_fx(PyObject *module, const char *name, PyObject *weights,
                         int64_t total, PyObject **names, PyObject **keep)
{
    fx_walk w = {.values = PyDict_New(),
                 .owned = PyDict_New(),
                 .names = PyList_New(0),
                 .keep = PyList_New(0),
                 .lifted = weights && PyDict_Check(weights) ? weights : NULL};
    bool ok = w.values && w.owned && w.names && w.keep &&
              clv__build_new(name, "torch", NULL, &w.b.g, &w.err) == CLV_OK;
    if (ok)
        w.b.g->holds_weights = true;
    ok = ok && fx_walk_all(&w, module) &&
         clv__aten_finish(&w.b, &w.err) == CLV_OK;
    if (ok)
        fx_count_unused(w.b.g, total);
    clv__aten_free(&w.b);
    arena_free(&w.scratch);
    Py_XDECREF(w.values);
    Py_XDECREF(w.owned);
    *names = w.names;
    *keep = w.keep;
    if (ok)
        return w.b.g;
    clv_graph_free(w.b.g);
    if (!PyErr_Occurred() && w.err.code)
        py_raise(&w.err);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    return NULL;
}

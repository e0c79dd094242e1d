/* _cleave.c - the extension module: models, graphs and what is found of them.
 *
 * Everything is computed by the C library with the interpreter lock released;
 * results come back as dicts, the same as the command's JSON. A Graph holds a
 * clv_graph and nothing else, so it may be analysed from several threads. */
#include "bridge.h"

#include "formats/aten/aten.h"
#include "graph/graph.h"

#include <string.h>

typedef struct graph_object {
    PyObject ob_base;
    clv_graph *g;    /* NULL once it was handed over */
    PyObject *names; /* of a captured graph: torch's, by our node */
    PyObject *model; /* what it was opened by, bytes; NULL: captured */
} graph_object;

static PyObject *graph_type;

static PyObject *new_graph(clv_graph *g)
{
    graph_object *o = PyObject_New(graph_object, (PyTypeObject *)graph_type);
    if (!o) {
        clv_graph_free(g);
        return NULL;
    }
    o->g = g;
    o->names = o->model = NULL;
    return (PyObject *)o;
}

static void graph_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    graph_object *o = (graph_object *)self;
    clv_graph_free(o->g);
    Py_XDECREF(o->names);
    Py_XDECREF(o->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

clv_graph *graph_peek(PyObject *o)
{
    if (!PyObject_TypeCheck(o, (PyTypeObject *)graph_type)) {
        PyErr_SetString(PyExc_TypeError, "not a cleave.Graph");
        return NULL;
    }
    if (!((graph_object *)o)->g)
        PyErr_SetString(PyExc_ValueError, "this Graph was handed over");
    return ((graph_object *)o)->g;
}

const char *graph_opened_by(PyObject *o)
{
    PyObject *model = ((graph_object *)o)->model;
    return model ? PyBytes_AsString(model) : NULL;
}

clv_graph *graph_take(PyObject *o)
{
    clv_graph *g = graph_peek(o);
    if (g)
        ((graph_object *)o)->g = NULL;
    return g;
}

/* Lets go of the tensors a graph borrowed its bytes from. */
static void release_tensors(void *owner)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)owner);
    PyGILState_Release(gil);
}

/* -- opening --------------------------------------------------------------*/

enum { MAX_SHAPES = 64 };

typedef struct open_args {
    clv_open_opts opts;
    clv_shape_arg shapes[MAX_SHAPES];
    clv_dim_arg dims[MAX_SHAPES];
    int64_t sizes[MAX_SHAPES][CLV_MAX_RANK];
    PyObject *held[2 * MAX_SHAPES]; /* names, as bytes */
    int n_held;
} open_args;

/* The UTF-8 text of a str, kept until the call ends. */
static const char *hold_text(open_args *a, PyObject *o)
{
    PyObject *bytes = PyUnicode_AsUTF8String(o);
    if (bytes)
        a->held[a->n_held++] = bytes;
    return bytes ? PyBytes_AsString(bytes) : NULL;
}

static bool read_shape(open_args *a, const char *name, PyObject *shape)
{
    size_t i = a->opts.n_shapes;
    Py_ssize_t rank = PySequence_Size(shape);
    if (rank < 0 || rank > CLV_MAX_RANK || i == MAX_SHAPES) {
        PyErr_SetString(PyExc_ValueError, "a shape has up to 16 dimensions");
        return false;
    }
    for (Py_ssize_t d = 0; d < rank; d++) {
        PyObject *n = PySequence_GetItem(shape, d);
        a->sizes[i][d] = n ? PyLong_AsLongLong(n) : -1;
        Py_XDECREF(n);
        if (PyErr_Occurred())
            return false;
        if (a->sizes[i][d] < 1) {
            PyErr_SetString(PyExc_ValueError, "dimensions are 1 or more");
            return false;
        }
    }
    a->shapes[i] = (clv_shape_arg){name, a->sizes[i], (uint32_t)rank};
    a->opts.n_shapes++;
    return true;
}

/* A shape, or a dict of shapes by input name. */
static bool read_shapes(open_args *a, PyObject *o)
{
    PyObject *name, *shape;
    Py_ssize_t at = 0;
    if (!o || o == Py_None)
        return true;
    if (!PyDict_Check(o))
        return read_shape(a, NULL, o);
    while (PyDict_Next(o, &at, &name, &shape)) {
        const char *text = hold_text(a, name);
        if (!text || !read_shape(a, text, shape))
            return false;
    }
    return true;
}

static bool read_dims(open_args *a, PyObject *o)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (!o || o == Py_None)
        return true;
    while (PyDict_Check(o) && PyDict_Next(o, &at, &name, &value)) {
        const char *text = hold_text(a, name);
        if (!text || a->opts.n_dims == MAX_SHAPES)
            return false;
        a->dims[a->opts.n_dims++] =
            (clv_dim_arg){text, PyLong_AsLongLong(value)};
    }
    return !PyErr_Occurred();
}

PyDoc_STRVAR(open_doc,
             "open(model, input_shape=None, batch=0, dtype=None, dims=None,\n"
             "     loop=0, ops=None)\n--\n\n"
             "Open a built-in model by name, or a model file by path.");

static PyObject *py_open(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"model", "input_shape", "batch", "dtype",
                            "dims",  "loop",        "ops",   NULL};
    const char *model, *dtype = NULL, *ops = NULL;
    PyObject *shape = NULL, *dims = NULL;
    long long batch = 0, loop = 0;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "s|OLzOLz", names, &model,
                                     &shape, &batch, &dtype, &dims, &loop,
                                     &ops))
        return NULL;
    open_args *a = PyMem_Calloc(1, sizeof *a);
    if (!a)
        return PyErr_NoMemory();
    a->opts = (clv_open_opts){.size = sizeof(clv_open_opts),
                              .shapes = a->shapes,
                              .dims = a->dims,
                              .batch = batch,
                              .loop = loop,
                              .ops_file = ops};
    clv_err err = {0};
    clv_graph *g = NULL;
    PyObject *result = NULL;
    if (dtype && !(a->opts.dtype = clv_dtype_find(dtype))) {
        PyErr_Format(PyExc_ValueError, "no data type '%s'", dtype);
    } else if (read_shapes(a, shape) && read_dims(a, dims)) {
        clv_status s;
        Py_BEGIN_ALLOW_THREADS s = clv_graph_open(model, &a->opts, &g, &err);
        Py_END_ALLOW_THREADS result =
            s == CLV_OK ? new_graph(g) : py_raise(&err);
        if (result)
            ((graph_object *)result)->model = PyBytes_FromString(model);
    }
    for (int i = 0; i < a->n_held; i++)
        Py_DECREF(a->held[i]);
    PyMem_Free(a);
    return result;
}

PyDoc_STRVAR(fx_doc,
             "from_fx(module, name, weights=None, parameters=0)\n--\n\n"
             "A graph from a torch.fx.GraphModule with shapes, or a list of "
             "them. `weights`\nmaps placeholder nodes that are weights to "
             "(path, tensor).");

static PyObject *py_from_fx(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"module", "name", "weights", "parameters", NULL};
    PyObject *module, *weights = NULL, *torch_names = NULL, *keep = NULL;
    const char *name;
    long long total = 0;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "Os|OL", names, &module, &name,
                                     &weights, &total))
        return NULL;
    clv_graph *g =
        graph_from_fx(module, name, weights, total, &torch_names, &keep);
    if (g) {
        g->owner = keep;
        g->release = release_tensors;
    } else {
        Py_XDECREF(keep);
    }
    PyObject *o = g ? new_graph(g) : NULL;
    if (o)
        ((graph_object *)o)->names = torch_names;
    else
        Py_XDECREF(torch_names);
    return o;
}

/* -- profile --------------------------------------------------------------*/

static PyObject *give(clv_status s, const clv_err *err, clv_buf *out, bool text)
{
    if (s == CLV_OK)
        return text ? py_from_text(out) : result_new(py_from_report(out));
    clv_buf_free(out);
    return py_raise(err);
}

static bool known_count(const char *name)
{
    if (clv_convention_find(name) != CLV_CONVENTION_COUNT)
        return true;
    PyErr_Format(PyExc_ValueError, "no convention '%s'", name);
    return false;
}

PyDoc_STRVAR(profile_doc,
             "profile($self, count='full', text=False, verbose=False,\n"
             "        shapes=False)\n--\n\n"
             "Costs of every operator, as a dict (the command's JSON) or, "
             "with text, as the\ncommand prints them.");

static PyObject *graph_profile(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"count", "text", "verbose", "shapes", NULL};
    const char *count = "full";
    int text = 0, verbose = 0, shapes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|sppp", names, &count, &text,
                                     &verbose, &shapes) ||
        !known_count(count))
        return NULL;
    const clv_graph *g = graph_peek(self);
    if (!g)
        return NULL;
    clv_report_opts opts = {.size = sizeof opts,
                            .format = text ? CLV_REPORT_TEXT : CLV_REPORT_JSON,
                            .verbose = verbose != 0,
                            .shapes = shapes != 0};
    clv_profile_opts how = {.size = sizeof how,
                            .convention = clv_convention_find(count)};
    clv_buf out = {0};
    clv_profile *p = NULL;
    clv_err err = {0};
    clv_status s;
    Py_BEGIN_ALLOW_THREADS s = clv_profile_new(g, &how, &p, &err);
    if (s == CLV_OK)
        clv_report_profile(p, &opts, &out);
    clv_profile_free(p);
    Py_END_ALLOW_THREADS return give(s, &err, &out, text);
}

/* dict[name] = n; false with an exception. */
static bool add_count(PyObject *dict, const char *name, int64_t n)
{
    PyObject *key =
        PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
    PyObject *value = PyLong_FromLongLong(n);
    bool ok = key && value && PyDict_SetItem(dict, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return ok;
}

/* By the convention's own names where it has some. */
static PyObject *counts_by_operator(const clv_profile *p)
{
    uint32_t n;
    PyObject *dict = PyDict_New();
    const clv_kind_total *kinds = clv_profile_kinds(p, &n);
    if (clv_profile_convention(p) != CLV_CONVENTION_FULL) {
        for (uint32_t i = 0; dict && i < n; i++)
            if (!add_count(dict, kinds[i].kind, kinds[i].total))
                Py_CLEAR(dict);
        return dict;
    }
    const clv_type_total *types = clv_profile_types(p, &n);
    for (uint32_t i = 0; dict && i < n; i++)
        if (!add_count(dict, types[i].type, types[i].flops))
            Py_CLEAR(dict);
    return dict;
}

static PyObject *counts_by_module(const clv_profile *p)
{
    uint32_t n;
    PyObject *dict = PyDict_New();
    const clv_module_total *m = clv_profile_modules(p, &n);
    for (uint32_t i = 0; dict && i < n; i++)
        if (!add_count(dict, m[i].path, m[i].flops))
            Py_CLEAR(dict);
    return dict;
}

static PyObject *counts_by_node(const clv_profile *p)
{
    uint32_t n;
    PyObject *dict = PyDict_New();
    const clv_layer *l = clv_profile_layers(p, &n);
    const clv_graph *g = clv_profile_graph(p);
    for (uint32_t i = 0; dict && i < n; i++)
        if (!add_count(dict, clv_graph_node(g, i).name, l[i].cost.flops))
            Py_CLEAR(dict);
    return dict;
}

PyDoc_STRVAR(counts_doc,
             "counts($self, count='full')\n--\n\n"
             "FLOPs as numbers alone: 'total', and dicts 'by_operator', "
             "'by_module' and\n'by_node'. Under another tool's convention, "
             "what that tool counts and its names\nof operators.");

static PyObject *graph_counts(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"count", NULL};
    const char *count = "full";
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|s", names, &count) ||
        !known_count(count))
        return NULL;
    const clv_graph *g = graph_peek(self);
    if (!g)
        return NULL;
    clv_profile_opts how = {.size = sizeof how,
                            .convention = clv_convention_find(count)};
    clv_profile *p = NULL;
    clv_err err = {0};
    clv_status s;
    Py_BEGIN_ALLOW_THREADS s = clv_profile_new(g, &how, &p, &err);
    Py_END_ALLOW_THREADS if (s != CLV_OK) return py_raise(&err);
    PyObject *result = Py_BuildValue(
        "{sLsNsNsN}", "total", (long long)clv_profile_totals(p)->flops,
        "by_operator", counts_by_operator(p), "by_module", counts_by_module(p),
        "by_node", counts_by_node(p));
    clv_profile_free(p);
    return result;
}

PyDoc_STRVAR(nodes_doc,
             "nodes($self)\n--\n\n"
             "Every operator: name, op, origin, source, module, and the name "
             "torch gave it\n(\"\" if the graph was not captured).");

static PyObject *graph_nodes(PyObject *self, PyObject *unused)
{
    const graph_object *o = (const graph_object *)self;
    if (!graph_peek(self))
        return NULL;
    uint32_t n = clv_graph_num_nodes(o->g);
    PyObject *list = PyList_New((Py_ssize_t)n);
    (void)unused;
    for (uint32_t i = 0; list && i < n; i++) {
        clv_node_info f = clv_graph_node(o->g, i);
        PyObject *name =
            o->names ? PyList_GetItem(o->names, (Py_ssize_t)i) : NULL;
        PyErr_Clear();
        PyObject *d =
            Py_BuildValue("{sssssssssssO}", "name", f.name, "op", f.op,
                          "origin", f.origin, "source", f.source, "module",
                          f.module, "torch", name ? name : Py_None);
        if (!d || PyList_SetItem(list, (Py_ssize_t)i, d) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyDoc_STRVAR(compile_doc,
             "compile($self, backend=None, threads=0)\n--\n\n"
             "A Model that runs this graph: what the backend supports there, "
             "the rest by our own\nkernels. Without a name, the backend that "
             "is fastest here is taken.");

static PyObject *graph_compile(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"backend", "threads", NULL};
    const char *backend = NULL;
    unsigned threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|zI", names, &backend,
                                     &threads))
        return NULL;
    const clv_graph *g = graph_peek(self);
    return g ? model_new(self, g, backend, threads) : NULL;
}

PyDoc_STRVAR(
    split_doc,
    "split($self, reads, backend, device=None, cpu_ops=(), min_support=0,\n"
    "      min_subgraph_size=0, max_subgraph_count=0, some_support=False)\n"
    "--\n\n"
    "Cuts a captured graph by what a backend supports, within limits (0: "
    "none).\n`reads` is the torch graph: (name, [numbers of the nodes it "
    "reads]) of each node.\nReturns the device of each subgraph and the "
    "subgraph of each torch node.");

static PyObject *graph_split(PyObject *self, PyObject *args, PyObject *kw)
{
    const clv_graph *g = graph_peek(self);
    return g ? graph_split_nodes(g, ((graph_object *)self)->names, args, kw)
             : NULL;
}

PyDoc_STRVAR(warnings_doc, "warnings($self)\n--\n\n"
                           "Things worth saying about the model as read.");

static PyObject *graph_warnings(PyObject *self, PyObject *unused)
{
    const clv_graph *g = graph_peek(self);
    PyObject *list = g ? PyList_New(0) : NULL;
    const char *text;
    (void)unused;
    for (uint32_t i = 0; list && (text = clv_graph_warning(g, i)); i++) {
        PyObject *s = PyUnicode_FromString(text);
        if (!s || PyList_Append(list, s) < 0)
            Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

#define TALLY(name) \
    static PyObject *graph_##name##_method(PyObject *self, PyObject *args) \
    { \
        clv_graph *g = graph_peek(self); \
        return g ? graph_##name(g, args) : NULL; \
    }

TALLY(tally)
TALLY(find)
TALLY(operands)
TALLY(give)

PyDoc_STRVAR(tally_doc,
             "tally($self, activations=False)\n--\n\n"
             "What fvcore counts: 'counts' and 'unsupported', each a dict of "
             "modules (by path)\nof dicts of operators. FLOPs as fvcore has "
             "them, or the elements that products\nand convolutions give.");
PyDoc_STRVAR(find_doc, "find($self, name)\n--\n\n"
                       "Numbers of the operators that a name means: "
                       "\"aten::relu\", \"relu\", \"ReLU\".");
PyDoc_STRVAR(operands_doc, "operands($self, node)\n--\n\n"
                           "Inputs and outputs of an operator, as (shape, "
                           "type) or None.");
PyDoc_STRVAR(give_doc,
             "give($self, node, kind, flops, macs=0)\n--\n\n"
             "Says what an operator costs, instead of our rules and those of "
             "every convention.\nNot while another thread reads the graph.");

PyDoc_STRVAR(html_doc, "_repr_html_($self)\n--\n\n"
                       "What profile() found, as HTML.");

static PyObject *graph_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return graph_peek(self) ? notebook_call("graph_html", self, NULL, NULL)
                            : NULL;
}

PyDoc_STRVAR(to_dataframe_doc,
             "to_dataframe($self, count='full')\n--\n\n"
             "Every operator with its costs, as a pandas DataFrame.");

static PyObject *graph_to_dataframe(PyObject *self, PyObject *args,
                                    PyObject *kw)
{
    return graph_peek(self) ? notebook_call("graph_frame", self, args, kw)
                            : NULL;
}

PyDoc_STRVAR(show_doc,
             "show($self, *models, height=640, **flags)\n--\n\n"
             "The page of `cleave report` in a notebook: of this graph, or "
             "with another\nmodel of both and their difference.");

static PyObject *graph_show(PyObject *self, PyObject *args, PyObject *kw)
{
    return graph_peek(self) ? notebook_call("graph_show", self, args, kw)
                            : NULL;
}

static PyObject *graph_repr(PyObject *self)
{
    const clv_graph *g = ((graph_object *)self)->g;
    if (!g)
        return PyUnicode_FromString("<cleave.Graph, handed over>");
    return PyUnicode_FromFormat("<cleave.Graph '%s' from %s, %u operators>",
                                clv_graph_name(g), clv_graph_source(g),
                                clv_graph_num_nodes(g));
}

#define METHOD(name) \
    { \
#name, (PyCFunction)(void (*)(void))graph_##name, \
            METH_VARARGS | METH_KEYWORDS, name##_doc \
    }

/* The verbs of verbs.c are put behind these. */
enum { N_OWN = 13 };
static PyMethodDef graph_methods[N_OWN + N_VERBS + 1] = {
    METHOD(profile),
    METHOD(counts),
    METHOD(compile),
    METHOD(split),
    METHOD(to_dataframe),
    METHOD(show),
    {"_repr_html_", graph_html, METH_NOARGS, html_doc},
    {"nodes", graph_nodes, METH_NOARGS, nodes_doc},
    {"warnings", graph_warnings, METH_NOARGS, warnings_doc},
    {"tally", graph_tally_method, METH_VARARGS, tally_doc},
    {"find", graph_find_method, METH_VARARGS, find_doc},
    {"operands", graph_operands_method, METH_VARARGS, operands_doc},
    {"give", graph_give_method, METH_VARARGS, give_doc},
};

static PyType_Slot graph_slots[] = {
    {Py_tp_dealloc, (void *)graph_dealloc},
    {Py_tp_repr, (void *)graph_repr},
    {Py_tp_methods, graph_methods},
    {Py_tp_doc, "A model's graph; open() and capture() make one."},
    {0, NULL},
};

static PyType_Spec graph_spec = {
    .name = "cleave.Graph",
    .basicsize = sizeof(graph_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = graph_slots,
};

/* -- the module -----------------------------------------------------------*/

PyDoc_STRVAR(module_costs_doc,
             "module_costs(calls)\n--\n\n"
             "What torchinfo counts of calls of modules, each (class, output "
             "sizes, bytes of\nan element, [(parameter, elements, bytes, "
             "trained)]): rows of multiply-adds, bytes\nof the output, "
             "parameters, trained ones, their bytes.");

PyDoc_STRVAR(models_doc, "models()\n--\n\nNames of the built-in models.");

static PyObject *py_models(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const clv_zoo_model *m;
    (void)self, (void)unused;
    for (uint32_t i = 0; list && (m = clv_zoo_at(i)); i++) {
        PyObject *name = PyUnicode_FromString(m->name);
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

PyDoc_STRVAR(backends_doc, "backends()\n--\n\nNames of the backends and "
                           "profiles there are.");

static PyObject *py_backends(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const char *name;
    (void)self, (void)unused;
    for (uint32_t i = 0; list && (name = clv_backend_at(i)); i++) {
        PyObject *s = PyUnicode_FromString(name);
        if (!s || PyList_Append(list, s) < 0)
            Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

PyDoc_STRVAR(has_backend_doc, "has_backend(name)\n--\n\n"
                              "Whether this machine can open a backend.");

static PyObject *py_has_backend(PyObject *self, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    clv_backend *b = NULL;
    (void)self;
    if (!bytes)
        return NULL;
    bool opens =
        clv_backend_open(PyBytes_AsString(bytes), NULL, &b, NULL) == CLV_OK;
    clv_backend_free(b);
    Py_DECREF(bytes);
    return PyBool_FromLong(opens);
}

PyDoc_STRVAR(torch_names_doc,
             "torch_names()\n--\n\n"
             "Functions and operators of torch that are known, as aten.def "
             "names them.");

static PyObject *py_torch_names(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);
    const char *name;
    clv_op op;
    (void)self;
    (void)args;
    for (size_t i = 0; list && clv__aten_row(i, &name, &op); i++) {
        PyObject *s = PyUnicode_FromString(name);
        if (!s || PyList_Append(list, s) < 0)
            Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

PyDoc_STRVAR(close_doc,
             "close(a, b, tolerance, /)\n--\n\n"
             "Whether two arrays have one type and shape and the same numbers; "
             "floats may be\noff by the tolerance times the largest in b, or "
             "times one where that is less.");

PyDoc_STRVAR(main_doc,
             "main(argv, capture=None)\n--\n\n"
             "Run the cleave command; returns its exit code. capture(name, "
             "shape, batch) may\nreturn a Graph for a model, or None to let "
             "the command open it.");

PyDoc_STRVAR(verify_doc, "verify(folder)\n--\n\n"
                         "Checks a folder that partition(output=folder) "
                         "wrote; raises when it is wrong.");

PyDoc_STRVAR(hardware_doc,
             "hardware(*names, text=False, measure=False, **flags)\n--\n\n"
             "The devices known, all or those named (patterns). measure=True "
             "measures this\nmachine and keeps it as the device 'host'.");

static PyMethodDef functions[] = {
    {"open", (PyCFunction)(void (*)(void))py_open, METH_VARARGS | METH_KEYWORDS,
     open_doc},
    {"from_fx", (PyCFunction)(void (*)(void))py_from_fx,
     METH_VARARGS | METH_KEYWORDS, fx_doc},
    {"main", (PyCFunction)(void (*)(void))command_main,
     METH_VARARGS | METH_KEYWORDS, main_doc},
    {"verify", (PyCFunction)(void (*)(void))verb_verify,
     METH_VARARGS | METH_KEYWORDS, verify_doc},
    {"hardware", (PyCFunction)(void (*)(void))verb_hardware,
     METH_VARARGS | METH_KEYWORDS, hardware_doc},
    {"models", py_models, METH_NOARGS, models_doc},
    {"backends", py_backends, METH_NOARGS, backends_doc},
    {"has_backend", py_has_backend, METH_O, has_backend_doc},
    {"torch_names", py_torch_names, METH_NOARGS, torch_names_doc},
    {"close", tensors_close, METH_VARARGS, close_doc},
    {"module_costs", module_costs, METH_VARARGS, module_costs_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,          .m_name = "_cleave",
    .m_doc = "cleave's C library.", .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__cleave(void)
{
    PyObject *m = PyModule_Create(&definition);
    memcpy(&graph_methods[N_OWN], verb_methods, sizeof verb_methods);
    graph_type = PyType_FromSpec(&graph_spec);
    model_type = PyType_FromSpec(&model_spec);
    tensor_type = PyType_FromSpec(&tensor_spec);
    PyObject *result_type = result_type_new();
    py_error = PyErr_NewException("cleave.Error", NULL, NULL);
    if (!m || !graph_type || !model_type || !tensor_type || !result_type ||
        !py_error || PyModule_AddObjectRef(m, "Graph", graph_type) < 0 ||
        PyModule_AddObjectRef(m, "Model", model_type) < 0 ||
        PyModule_AddObjectRef(m, "Tensor", tensor_type) < 0 ||
        PyModule_AddObjectRef(m, "Result", result_type) < 0 ||
        PyModule_AddObjectRef(m, "Error", py_error) < 0 ||
        PyModule_AddStringConstant(m, "__version__", clv_version()) < 0)
        return NULL;
    return m;
}

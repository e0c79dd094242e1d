/* fx.c - a captured torch.fx graph becomes a clv_graph, in one call.
 *
 * The nodes of a GraphModule are walked once. Placeholders are inputs, get_attr
 * nodes and module members are weights, calls are operators: what torch calls
 * them and how their arguments map is a row of fx.def. An operator without a
 * row stays unknown and keeps its name; shapes and types of every result come
 * from the metadata torch left on the node, so nothing after it is lost.
 *
 * Python objects are only read. Any missing attribute of an object is treated
 * as absent; errors are for graphs that have no shapes at all. */
#include "bridge.h"

#include "graph/graph.h"
#include "ops/ops.h"

#include <string.h>

typedef struct row {
    const char *name;
    clv_op op;
    const char *args;
} row;

static const row functions[] = {
#define FN(name, op, args) {name, CLV_OP_##op, args},
#define MODULE(name, op, args)
#include "fx.def"
#undef FN
#undef MODULE
};

static const row modules[] = {
#define FN(name, op, args)
#define MODULE(name, op, args) {name, CLV_OP_##op, args},
#include "fx.def"
#undef FN
#undef MODULE
};

typedef struct walk {
    clv_graph *g;
    PyObject *root;   /* the GraphModule */
    PyObject *values; /* dict: node -> list of value ids */
    PyObject *owned;  /* dict: id(tensor) -> value id, so ties stay ties */
    PyObject *lifted; /* dict: placeholder -> (path, tensor) of a weight */
    PyObject *names;  /* list: torch's name of each of our nodes */
    PyObject *keep;   /* list: tensors whose bytes the graph borrows */
    clv_err err;
} walk;

/* -- reading objects; none of these raise ---------------------------------*/

static PyObject *attr(PyObject *o, const char *name)
{
    PyObject *v = o ? PyObject_GetAttrString(o, name) : NULL;
    if (!v)
        PyErr_Clear();
    return v;
}

/* Copies the text of a str-able object; "" if it has none. */
static void text_of(PyObject *o, char *buf, size_t size)
{
    PyObject *s = o ? PyObject_Str(o) : NULL;
    PyObject *bytes = s ? PyUnicode_AsUTF8String(s) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    snprintf(buf, size, "%s", text ? text : "");
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(s);
}

static bool int_of(PyObject *o, int64_t *out)
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
    text_of(o, text, sizeof text); /* "torch.float32" */
    const char *name = strrchr(text, '.');
    clv_dtype t = clv_dtype_find(name ? name + 1 : text);
    return t;
}

/* -- shapes ---------------------------------------------------------------*/

/* Gives value v the type and shape of a tensor-like object. */
static bool set_type(walk *w, uint32_t v, PyObject *tensor)
{
    PyObject *shape = attr(tensor, "shape"), *dtype = attr(tensor, "dtype");
    Py_ssize_t rank = shape ? PySequence_Size(shape) : -1;
    int64_t dims[CLV_MAX_RANK];
    bool ok = rank >= 0 && rank <= CLV_MAX_RANK;
    for (Py_ssize_t i = 0; ok && i < rank; i++) {
        PyObject *d = PySequence_GetItem(shape, i);
        ok = int_of(d, &dims[i]) && dims[i] >= 0;
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
static PyObject *result_of(PyObject *node)
{
    static const char *const keys[] = {"val", "example_value", "tensor_meta"};
    PyObject *meta = attr(node, "meta"), *found = NULL;
    for (int i = 0; meta && !found && i < 3; i++) {
        found = PyMapping_GetItemString(meta, keys[i]);
        PyErr_Clear();
    }
    Py_XDECREF(meta);
    return found;
}

static bool is_tensor(PyObject *o)
{
    PyObject *shape = attr(o, "shape"), *dtype = attr(o, "dtype");
    bool yes = shape && dtype;
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return yes;
}

/* -- values ---------------------------------------------------------------*/

static uint32_t add_value(walk *w, const char *name, clv_value_kind kind)
{
    char *own = arena_strndup(&w->g->mem, name, strlen(name));
    return own ? clv__value_add(w->g, own, kind, CLV_NODTYPE) : CLV_NONE;
}

/* Lets the graph read the tensor's own memory, where it has any: models then
 * run with the weights they have. */
static bool lend_bytes(walk *w, uint32_t v, PyObject *tensor)
{
    PyObject *cpu = attr(tensor, "is_cpu");
    PyObject *whole = PyObject_CallMethod(tensor, "is_contiguous", NULL);
    PyObject *fake = attr(tensor, "fake_mode");
    PyObject *at = NULL;
    if (!fake && cpu && whole && PyObject_IsTrue(cpu) > 0 &&
        PyObject_IsTrue(whole) > 0)
        at = PyObject_CallMethod(tensor, "data_ptr", NULL);
    PyObject *size = at ? attr(tensor, "nbytes") : NULL;
    const void *bytes = at ? PyLong_AsVoidPtr(at) : NULL;
    int64_t n = 0;
    bool ok = true;
    if (bytes && size && int_of(size, &n) && n > 0) {
        clv_payload *data = clv__value_data(w->g, v);
        ok = data && PyList_Append(w->keep, tensor) == 0;
        if (ok) {
            data->bytes = bytes;
            data->size = (uint64_t)n;
        }
    }
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(at);
    Py_XDECREF(fake);
    Py_XDECREF(whole);
    Py_XDECREF(cpu);
    return ok;
}

/* The weight that is this tensor, made on first sight. */
static uint32_t weight_of(walk *w, PyObject *tensor, const char *name)
{
    PyObject *key = PyLong_FromVoidPtr(tensor);
    PyObject *known = key ? PyDict_GetItemWithError(w->owned, key) : NULL;
    uint32_t v = known ? (uint32_t)PyLong_AsUnsignedLong(known) : CLV_NONE;
    if (v == CLV_NONE && key) {
        PyObject *grad = attr(tensor, "requires_grad");
        char type[64];
        PyObject *cls = attr((PyObject *)Py_TYPE(tensor), "__name__");
        text_of(cls, type, sizeof type);
        bool param =
            !strcmp(type, "Parameter") || (grad && PyObject_IsTrue(grad) > 0);
        v = add_value(w, name, param ? CLV_PARAM : CLV_BUFFER);
        PyObject *id = v != CLV_NONE ? PyLong_FromUnsignedLong(v) : NULL;
        if (v != CLV_NONE &&
            (!set_type(w, v, tensor) || !lend_bytes(w, v, tensor) || !id ||
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

static void remember(walk *w, PyObject *node, const uint32_t *ids, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (uint32_t i = 0; list && i < n; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLong(ids[i]));
    if (list)
        PyDict_SetItem(w->values, node, list);
    Py_XDECREF(list);
}

/* The i-th value of a node; CLV_NONE when it is not a node or has fewer. */
static uint32_t value_of(walk *w, PyObject *node, Py_ssize_t i)
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
static PyObject *resolve(PyObject *o)
{
    PyObject *found = NULL;
    if (PyObject_HasAttrString(o, "users")) /* a node */
        found = result_of(o);
    if (!found || is_tensor(found)) {
        Py_XDECREF(found);
        Py_INCREF(o);
        return o;
    }
    return found;
}

/* A number among tensors, as in x + 1: a constant of no axes. */
static uint32_t number_value(walk *w, PyObject *o)
{
    if (!PyLong_Check(o) && !PyFloat_Check(o))
        return CLV_NONE;
    uint32_t v = clv__value_add(w->g, NULL, CLV_CONST,
                                PyFloat_Check(o) ? CLV_FLOAT32 : CLV_INT64);
    if (v == CLV_NONE || !clv__value_set_shape(w->g, v, 0, NULL))
        return CLV_NONE;
    clv_payload *data = clv__value_data(w->g, v);
    double *f = arena_alloc(&w->g->mem, sizeof *f);
    int64_t *i = arena_alloc(&w->g->mem, sizeof *i);
    if (!data || !f || !i)
        return CLV_NONE;
    *f = PyFloat_AsDouble(o);
    int_of(o, i);
    data->n = 1;
    if (PyFloat_Check(o))
        data->floats = f;
    else
        data->ints = i;
    PyErr_Clear();
    return v;
}

/* -- arguments ------------------------------------------------------------*/

enum { MAX_ATTRS = 16 };

/* A call being read: its tensors and attributes so far. */
typedef struct call {
    uint32_t *ins;
    uint32_t n_ins;
    size_t cap_ins;
    clv_attr attrs[MAX_ATTRS];
    uint32_t n_attrs;
} call;

static bool put_input(call *c, uint32_t at, uint32_t v)
{
    while (c->n_ins <= at) {
        if (!CLV_GROW(c->ins, c->n_ins, c->cap_ins))
            return false;
        c->ins[c->n_ins++] = CLV_NONE;
    }
    c->ins[at] = v;
    return true;
}

/* int, float, bool, str, or a list of ints, under one of our names. */
static void put_attr(walk *w, call *c, const char *name, PyObject *o)
{
    clv_attr a = {.key = (uint8_t)clv__attr_find(name)};
    if (c->n_attrs == MAX_ATTRS || a.key == CLV_A_OTHER || o == Py_None)
        return;
    a.name = clv__attr_name((clv_attr_key)a.key);
    if (a.key == CLV_A_LAYOUT) { /* batch_first */
        a.type = CLV_STRING_ATTR;
        a.u.s = PyObject_IsTrue(o) > 0 ? "batch" : "seq";
    } else if (PyFloat_Check(o)) {
        a.type = CLV_FLOAT_ATTR;
        a.u.f = PyFloat_AsDouble(o);
    } else if (PyUnicode_Check(o)) {
        char text[256];
        text_of(o, text, sizeof text);
        a.type = CLV_STRING_ATTR;
        a.u.s = arena_strndup(&w->g->mem, text, strlen(text));
        if (!a.u.s)
            return;
        /* padding="same" is a way to pad, not a number */
        if (a.key == CLV_A_PADDING) {
            a.key = CLV_A_AUTO_PAD;
            a.name = clv__attr_name(CLV_A_AUTO_PAD);
        }
    } else if (PyTuple_Check(o) || PyList_Check(o)) {
        Py_ssize_t n = PySequence_Size(o);
        int64_t *ints = arena_array(&w->g->mem, (size_t)n + 1, sizeof *ints);
        a.type = CLV_INTS_ATTR;
        a.n = (uint32_t)n;
        for (Py_ssize_t i = 0; ints && i < n; i++) {
            PyObject *item = PySequence_GetItem(o, i);
            PyObject *number = item ? resolve(item) : NULL;
            bool ok = number && number != Py_None && int_of(number, &ints[i]);
            Py_XDECREF(number);
            Py_XDECREF(item);
            if (!ok)
                return;
        }
        a.u.ints = ints;
        if (!ints)
            return;
    } else if (int_of(o, &a.u.i)) {
        a.type = CLV_INT_ATTR;
    } else {
        return;
    }
    c->attrs[c->n_attrs++] = a;
}

/* One word of a row's arguments. */
typedef struct word {
    char py[48], ours[48]; /* torch's name and ours */
    bool tensor, list, ignored, rest, first;
    bool literal, result; /* py is the value; the result says the value */
    int at;               /* input number, -1: the next */
} word;

static bool next_word(const char **args, word *out)
{
    while (**args == ' ')
        (*args)++;
    size_t n = strcspn(*args, " ");
    if (n == 0)
        return false;
    char text[96];
    snprintf(text, sizeof text, "%.*s", (int)n, *args);
    *args += n;
    *out = (word){.at = -1};
    char *p = text;
    out->ignored = *p == '-';
    out->result = *p == '>';
    p += out->ignored || out->result;
    char *colon = strchr(p, ':');
    if (colon) { /* ours:value */
        *colon = '\0';
        out->literal = true;
        snprintf(out->ours, sizeof out->ours, "%s", p);
        snprintf(out->py, sizeof out->py, "%s", colon + 1);
        return true;
    }
    char *dollar = strchr(p, '$'), *equals = strchr(p, '=');
    char *dots = strstr(p, "...");
    if (dots) {
        out->rest = true;
        *dots = '\0';
    }
    if (dollar) {
        out->tensor = true;
        out->list = dollar[1] == '*';
        out->first = dollar[1] == '<';
        if (dollar[1] >= '0' && dollar[1] <= '9')
            out->at = dollar[1] - '0';
        *dollar = '\0';
    }
    if (equals)
        *equals = '\0';
    snprintf(out->py, sizeof out->py, "%s", p);
    snprintf(out->ours, sizeof out->ours, "%s", equals ? equals + 1 : p);
    return true;
}

/* Tensor arguments, wherever they stand, of an operator without a row. */
static bool all_tensors(walk *w, call *c, PyObject *o)
{
    uint32_t v = value_of(w, o, 0);
    if (v != CLV_NONE)
        return put_input(c, c->n_ins, v);
    if (!PyTuple_Check(o) && !PyList_Check(o))
        return true;
    for (Py_ssize_t i = 0, n = PySequence_Size(o); i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        bool ok = !item || all_tensors(w, c, item);
        Py_XDECREF(item);
        if (!ok)
            return false;
    }
    return true;
}

static bool put_tensor(walk *w, call *c, const word *wd, PyObject *o)
{
    if (wd->list)
        return all_tensors(w, c, o);
    uint32_t v = o == Py_None ? CLV_NONE : value_of(w, o, 0);
    if (v == CLV_NONE && o != Py_None) {
        PyObject *number = resolve(o);
        v = number_value(w, number);
        Py_DECREF(number);
    }
    uint32_t at = wd->at >= 0 ? (uint32_t)wd->at - 1 : c->n_ins;
    return put_input(c, at, v);
}

static void put_literal(walk *w, call *c, const word *wd)
{
    PyObject *text = PyUnicode_FromString(wd->py);
    if (text)
        put_attr(w, c, wd->ours, text);
    Py_XDECREF(text);
    PyErr_Clear();
}

static void put_resolved(walk *w, call *c, const char *name, PyObject *o)
{
    PyObject *value = resolve(o);
    put_attr(w, c, name, value);
    Py_DECREF(value);
}

/* Positional and named arguments of a function, by its row. */
static bool read_arguments(walk *w, const row *r, PyObject *args,
                           PyObject *kwargs, call *c)
{
    const char *words = r->args;
    word wd;
    for (Py_ssize_t i = 0; next_word(&words, &wd); i++) {
        PyObject *o = NULL;
        if (wd.result || wd.literal) {
            i--; /* no argument of torch's */
            if (wd.literal)
                put_literal(w, c, &wd);
            continue;
        }
        if (i < PyTuple_Size(args)) {
            o = PyTuple_GetItem(args, i);
            Py_XINCREF(o);
        } else if (kwargs) {
            o = PyMapping_GetItemString(kwargs, wd.py);
            PyErr_Clear();
        }
        if (o && wd.rest && !PyTuple_Check(o) && !PyList_Check(o)) {
            Py_DECREF(o); /* permute(x, 0, 2, 1) or transpose(x, 1, 2) */
            o = PyTuple_GetSlice(args, i, PyTuple_Size(args));
        }
        bool ok = true;
        if (o && wd.tensor)
            ok = put_tensor(w, c, &wd, o);
        else if (o && !wd.ignored)
            put_resolved(w, c, wd.ours, o);
        Py_XDECREF(o);
        if (!ok)
            return false;
    }
    return true;
}

/* A member by its dotted path: out_proj.weight. */
static PyObject *member(PyObject *o, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "%s", path);
    Py_XINCREF(o);
    for (char *save, *part = strtok_r(text, ".", &save); part && o;
         part = strtok_r(NULL, ".", &save)) {
        PyObject *next = attr(o, part);
        Py_DECREF(o);
        o = next;
    }
    return o;
}

/* Members of a leaf module, after its tensor inputs. */
static bool read_members(walk *w, const row *r, PyObject *module,
                         const char *path, call *c)
{
    const char *words = r->args;
    word wd;
    while (next_word(&words, &wd)) {
        if (wd.literal || wd.result) {
            if (wd.literal)
                put_literal(w, c, &wd);
            continue;
        }
        PyObject *o = member(module, wd.py);
        if (!o)
            continue;
        bool ok = true;
        if (wd.tensor && o == Py_None) {
            ok = put_input(c, c->n_ins, CLV_NONE);
        } else if (wd.tensor) {
            char name[640];
            snprintf(name, sizeof name, "%s.%s", path, wd.py);
            uint32_t v = weight_of(w, o, name);
            ok = v != CLV_NONE && put_input(c, c->n_ins, v);
            if (ok && wd.first) { /* before the inputs: an embedding's table */
                c->ins[c->n_ins - 1] = c->ins[0];
                c->ins[0] = v;
            }
        } else {
            put_attr(w, c, wd.ours, o);
        }
        Py_DECREF(o);
        if (!ok)
            return false;
    }
    while (c->n_ins && c->ins[c->n_ins - 1] == CLV_NONE)
        c->n_ins--;
    return true;
}

/* -- nodes ----------------------------------------------------------------*/

static const row *find_row(const row *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

#define FIND(rows, name) find_row(rows, sizeof rows / sizeof *rows, name)

/* "aten.conv2d.default", a function's __name__ or a method's name, without
 * namespace, overload and the underscore of in-place forms. */
static void plain_name(PyObject *target, char *full, char *buf, size_t size)
{
    PyObject *name = attr(target, "__name__");
    text_of(target, full, size);
    if (strncmp(full, "aten.", 5) && name)
        text_of(name, full, size);
    Py_XDECREF(name);
    const char *start = !strncmp(full, "aten.", 5) ? full + 5 : full;
    size_t len = strcspn(start, ".");
    snprintf(buf, size, "%.*s", (int)len, start);
    len = strlen(buf);
    if (len > 1 && buf[len - 1] == '_' && buf[0] != '_')
        buf[len - 1] = '\0';
}

/* Dynamo spells a path as Python would: L['self']._modules['layer1'][0].conv;
 * ours is layer1.0.conv. In place. */
static void plain_path(char *path)
{
    char *to = path;
    const char *p = path;
    if (!strncmp(p, "L['self']", 9) || !strncmp(p, "L['fn']", 7))
        p = strchr(p, ']') + 1;
    while (*p) {
        if (!strncmp(p, "._modules[", 10))
            p += 9;
        if (*p == '[' || *p == '.') {
            if (to > path)
                *to++ = '.';
            p++;
        } else if (*p == ']' || *p == '\'' || *p == '"') {
            p++;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
}

/* Where a call stands: the dotted path of its module, and that class. */
typedef struct place {
    char path[512], cls[256];
} place;

static void place_of(PyObject *node, place *at)
{
    PyObject *meta = attr(node, "meta"), *stack = NULL, *values = NULL;
    *at = (place){0};
    if (meta)
        stack = PyMapping_GetItemString(meta, "nn_module_stack");
    PyErr_Clear();
    if (stack)
        values = PyMapping_Values(stack);
    Py_ssize_t n = values ? PySequence_Size(values) : 0;
    if (n > 0) {
        PyObject *last = PySequence_GetItem(values, n - 1);
        PyObject *path = last ? PySequence_GetItem(last, 0) : NULL;
        PyObject *cls = last ? PySequence_GetItem(last, 1) : NULL;
        text_of(path, at->path, sizeof at->path);
        text_of(cls, at->cls, sizeof at->cls);
        plain_path(at->path);
        Py_XDECREF(cls);
        Py_XDECREF(path);
        Py_XDECREF(last);
    }
    PyErr_Clear();
    Py_XDECREF(values);
    Py_XDECREF(stack);
    Py_XDECREF(meta);
}

/* A call from a layer of torch.nn goes by the layer's path, any other inside a
 * module by path and operator, the rest by torch's own name. */
static void name_call(const place *at, const char *torch_name,
                      const char *plain, char *buf, size_t size)
{
    if (!at->path[0])
        snprintf(buf, size, "%s", torch_name);
    else if (strstr(at->cls, "torch.nn.modules."))
        snprintf(buf, size, "%s", at->path);
    else
        snprintf(buf, size, "%s.%s", at->path, plain);
}

/* The source line, from the stack trace torch kept: "model.py:12". */
static const char *source_of(walk *w, PyObject *node)
{
    PyObject *trace = attr(node, "stack_trace");
    char text[4096];
    text_of(trace && trace != Py_None ? trace : NULL, text, sizeof text);
    Py_XDECREF(trace);
    char *at = NULL;
    for (char *p = text; (p = strstr(p, "File \"")); p += 6)
        at = p + 6; /* the innermost frame */
    char *quote = at ? strchr(at, '"') : NULL;
    if (!quote)
        return NULL;
    *quote = '\0';
    const char *base = strrchr(at, '/');
    int line = 0;
    sscanf(quote + 1, ", line %d", &line);
    return arena_printf(&w->g->mem, "%s:%d", base ? base + 1 : at, line);
}

/* Attributes that the result says best: the shape of x.view(x.size(0), -1),
 * the type of x.to(y). `size` is the shape without batch and channels. */
static void result_attrs(walk *w, const clv_value *y, const char *args, call *c)
{
    word wd;
    while (next_word(&args, &wd)) {
        if (!wd.result || y->rank == CLV_NO_RANK || c->n_attrs == MAX_ATTRS)
            continue;
        clv_attr a = {.key = (uint8_t)clv__attr_find(wd.ours)};
        uint8_t skip = a.key == CLV_A_SIZE && y->rank > 2 ? 2 : 0;
        a.name = clv__attr_name((clv_attr_key)a.key);
        if (a.key == CLV_A_DTYPE) {
            a.type = CLV_INT_ATTR;
            a.u.i = y->dtype;
        } else {
            a.type = CLV_INTS_ATTR;
            a.n = (uint32_t)(y->rank - skip);
            a.u.ints = y->dims + skip;
        }
        c->attrs[c->n_attrs++] = a;
    }
    (void)w;
}

static bool copy_attrs(walk *w, clv_node *n, const call *c)
{
    clv_attr *attrs = arena_array(&w->g->mem, c->n_attrs + 1u, sizeof *attrs);
    if (!attrs)
        return false;
    if (c->n_attrs)
        memcpy(attrs, c->attrs, c->n_attrs * sizeof *attrs);
    n->attrs = attrs;
    n->n_attrs = (uint8_t)c->n_attrs;
    return true;
}

/* Adds the node of a finished call, with outputs as torch described them. */
static bool add_call(walk *w, PyObject *node, const row *r, const char *name,
                     const char *scope, const char *origin, call *c)
{
    clv_op op = r ? r->op : CLV_OP_UNKNOWN;
    PyObject *result = result_of(node);
    bool many = result && !is_tensor(result) &&
                (PyTuple_Check(result) || PyList_Check(result));
    uint32_t n_out = many ? (uint32_t)PySequence_Size(result) : 1;
    uint32_t path = clv__scope_path(w->g, scope);
    uint32_t id = path == CLV_NONE
                      ? CLV_NONE
                      : clv__node_add(w->g, op, name, path, c->ins, c->n_ins,
                                      NULL, n_out ? n_out : 1);
    if (id == CLV_NONE) {
        Py_XDECREF(result);
        return false;
    }
    clv_node *n = &w->g->nodes[id];
    n->origin = arena_strndup(&w->g->mem, origin, strlen(origin));
    n->source = source_of(w, node);
    for (uint32_t i = 0; i < n->n_out; i++) {
        PyObject *one =
            many ? PySequence_GetItem(result, (Py_ssize_t)i) : result;
        if (one)
            set_type(w, node_outs(w->g, n)[i], one);
        if (many)
            Py_XDECREF(one);
    }
    PyErr_Clear();
    if (r)
        result_attrs(w, node_out(w->g, n, 0), r->args, c);
    PyObject *own = attr(node, "name");
    bool named = own && PyList_Append(w->names, own) == 0;
    Py_XDECREF(own);
    remember(w, node, node_outs(w->g, n), n->n_out);
    Py_XDECREF(result);
    return named && copy_attrs(w, n, c);
}

/* x[0] of several results is one of them; of a tensor it is a slice. */
static bool getitem(walk *w, PyObject *node, PyObject *args)
{
    PyObject *source = PyTuple_GetItem(args, 0), *at = PyTuple_GetItem(args, 1);
    int64_t i;
    PyObject *result = source ? result_of(source) : NULL;
    bool many = result && !is_tensor(result);
    Py_XDECREF(result);
    if (!many || !int_of(at, &i))
        return false;
    uint32_t v = value_of(w, source, (Py_ssize_t)i);
    if (v == CLV_NONE)
        return false;
    remember(w, node, &v, 1);
    return true;
}

/* False for what is known to be a number, a shape or nothing. */
static bool makes_tensors(PyObject *node)
{
    PyObject *result = result_of(node), *users = attr(node, "users");
    PyObject *meta = attr(node, "meta");
    /* ShapeProp leaves `type` alone on what has no tensor; nobody reads an
     * assertion. */
    PyObject *type = meta ? PyMapping_GetItemString(meta, "type") : NULL;
    PyErr_Clear();
    bool yes = result ? is_tensor(result)
                      : !type && (!users || PyObject_IsTrue(users) != 0);
    Py_XDECREF(type);
    Py_XDECREF(meta);
    Py_XDECREF(users);
    if (result && (PyTuple_Check(result) || PyList_Check(result)))
        for (Py_ssize_t i = 0; !yes && i < PySequence_Size(result); i++) {
            PyObject *item = PySequence_GetItem(result, i);
            yes = item && is_tensor(item);
            Py_XDECREF(item);
        }
    PyErr_Clear();
    Py_XDECREF(result);
    return yes;
}

/* A row for the number of arguments ("arange.1"), or for any. */
static const row *row_of(const char *plain, PyObject *args)
{
    char exact[300];
    snprintf(exact, sizeof exact, "%s.%d", plain, (int)PyTuple_Size(args));
    const row *r = FIND(functions, exact);
    return r ? r : FIND(functions, plain);
}

static bool call_function(walk *w, PyObject *node, const char *name,
                          PyObject *target)
{
    char full[256], plain[256], own[800];
    place at;
    PyObject *args = attr(node, "args"), *kwargs = attr(node, "kwargs");
    plain_name(target, full, plain, sizeof full);
    place_of(node, &at);
    name_call(&at, name, plain, own, sizeof own);
    bool ok = true;
    if (!strcmp(plain, "getitem") && getitem(w, node, args)) {
        ok = true;
    } else if (!makes_tensors(node)) {
        ok = true; /* a size, an assertion: nothing to run */
    } else {
        call c = {0};
        const row *r = row_of(plain, args);
        ok = r ? read_arguments(w, r, args, kwargs, &c)
               : all_tensors(w, &c, args);
        ok = ok && add_call(w, node, r, own, at.path, full, &c);
        clv__free(c.ins);
    }
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    return ok;
}

static bool call_module(walk *w, PyObject *node, const char *name,
                        PyObject *target)
{
    char path[512], cls[128];
    text_of(target, path, sizeof path);
    PyObject *module = PyObject_CallMethod(w->root, "get_submodule", "s", path);
    PyErr_Clear();
    PyObject *type =
        module ? attr((PyObject *)Py_TYPE(module), "__name__") : NULL;
    PyObject *args = attr(node, "args");
    text_of(type, cls, sizeof cls);
    const row *r = FIND(modules, cls);
    call c = {0};
    bool ok = all_tensors(w, &c, args) &&
              (!r || read_members(w, r, module, path, &c));
    (void)name;
    ok = ok && add_call(w, node, r, path, path, cls, &c);
    clv__free(c.ins);
    Py_XDECREF(args);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return ok;
}

/* A weight that torch passes as an input: its path and the tensor. */
static bool lifted(walk *w, PyObject *node, PyObject *pair)
{
    char path[512];
    PyObject *tensor = PyTuple_GetItem(pair, 1);
    text_of(PyTuple_GetItem(pair, 0), path, sizeof path);
    uint32_t v =
        tensor && is_tensor(tensor) ? weight_of(w, tensor, path) : CLV_NONE;
    if (v != CLV_NONE)
        remember(w, node, &v, 1);
    return v != CLV_NONE;
}

static bool placeholder(walk *w, PyObject *node, const char *name)
{
    PyObject *pair =
        w->lifted ? PyDict_GetItemWithError(w->lifted, node) : NULL;
    if (pair)
        return lifted(w, node, pair);
    PyObject *result = result_of(node);
    if (result && !is_tensor(result)) { /* a number or None: not a tensor */
        Py_DECREF(result);
        return true;
    }
    uint32_t v = add_value(w, name, CLV_INPUT);
    if (v != CLV_NONE && result && is_tensor(result))
        set_type(w, v, result);
    Py_XDECREF(result);
    if (v != CLV_NONE)
        remember(w, node, &v, 1);
    return v != CLV_NONE;
}

/* A weight by its dotted path from the root. */
static bool get_attr(walk *w, PyObject *node, PyObject *target)
{
    char path[512];
    text_of(target, path, sizeof path);
    PyObject *o = member(w->root, path);
    uint32_t v = o && is_tensor(o) ? weight_of(w, o, path) : CLV_NONE;
    Py_XDECREF(o);
    if (v != CLV_NONE)
        remember(w, node, &v, 1);
    return true;
}

static bool output(walk *w, PyObject *o)
{
    uint32_t v = value_of(w, o, 0);
    if (v != CLV_NONE)
        return clv__graph_output(w->g, v);
    PyObject *items = PyDict_Check(o) ? PyDict_Values(o) : NULL;
    PyObject *list = items ? items : o;
    bool ok = true;
    if (PyTuple_Check(list) || PyList_Check(list))
        for (Py_ssize_t i = 0, n = PySequence_Size(list); ok && i < n; i++) {
            PyObject *item = PySequence_GetItem(list, i);
            ok = !item || output(w, item);
            Py_XDECREF(item);
        }
    Py_XDECREF(items);
    return ok;
}

static bool visit(walk *w, PyObject *node)
{
    char op[32], name[256];
    PyObject *o = attr(node, "op"), *n = attr(node, "name");
    PyObject *target = attr(node, "target"), *args = attr(node, "args");
    text_of(o, op, sizeof op);
    text_of(n, name, sizeof name);
    bool ok = true;
    if (!strcmp(op, "placeholder"))
        ok = placeholder(w, node, name);
    else if (!strcmp(op, "get_attr"))
        ok = get_attr(w, node, target);
    else if (!strcmp(op, "call_module"))
        ok = call_module(w, node, name, target);
    else if (!strcmp(op, "output"))
        ok = output(w, args);
    else
        ok = call_function(w, node, name, target);
    Py_XDECREF(args);
    Py_XDECREF(target);
    Py_XDECREF(n);
    Py_XDECREF(o);
    return ok;
}

/* -- shapes, settled ------------------------------------------------------*/

static bool same_shape(const clv_value *v, uint8_t rank, const int64_t *dims)
{
    return v->rank == rank && !memcmp(v->dims, dims, rank * sizeof *dims);
}

/* Our rule for the node is run and compared with what torch saw. Where the
 * rule cannot follow (an argument it does not know), views and moves keep
 * torch's shape; anything else becomes unknown, and says so. */
static bool settle_node(clv_graph *g, uint32_t id)
{
    clv_node *n = &g->nodes[id];
    clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    clv_value told = y ? *y : (clv_value){0};
    clv_err err = {CLV_OK, ""};
    if (clv__infer_node(g, id, &err) == CLV_NOMEM)
        return false;
    if (!y || told.rank == CLV_NO_RANK)
        return true;
    bool differs = err.code == CLV_OK && !same_shape(y, told.rank, told.dims);
    y->rank = told.rank;
    y->dims = told.dims;
    y->dtype = told.dtype;
    if (err.code == CLV_OK && !differs)
        return true;
    n->flags &= (uint8_t)~CLV_N_UNSHAPED;
    if (clv__ops[n->op].cls == CLV_CLASS_VIEW && node_in(g, n, 0)) {
        uint32_t src = node_ins(g, n)[0], root = g->values[src].view_of;
        y->view_of = root == CLV_NONE ? src : root;
        return true;
    }
    if (clv__ops[n->op].cls == CLV_CLASS_MOVE)
        return true; /* costs what the shapes say */
    n->op = CLV_OP_UNKNOWN;
    return clv__graph_warn(g, "%s", err.code ? err.msg : n->name);
}

static bool settle(walk *w)
{
    if (clv__graph_finish(w->g, &w->err) != CLV_OK)
        return false;
    for (uint32_t id = 0; id < w->g->n_nodes; id++)
        if (!settle_node(w->g, id))
            return false;
    w->g->inferred = true;
    return true;
}

static bool walk_module(walk *w, PyObject *module)
{
    PyObject *graph = attr(module, "graph"), *nodes = attr(graph, "nodes");
    PyObject *it = nodes ? PyObject_GetIter(nodes) : NULL, *node;
    bool ok = it != NULL;
    if (!it)
        PyErr_SetString(py_error, "not a torch.fx.GraphModule");
    w->root = module;
    while (ok && (node = PyIter_Next(it))) {
        ok = visit(w, node);
        Py_DECREF(node);
    }
    Py_XDECREF(it);
    Py_XDECREF(nodes);
    Py_XDECREF(graph);
    return ok;
}

/* Parameters that no operator reads belong to the model all the same. */
static void count_unused(clv_graph *g, int64_t total)
{
    int64_t used = 0;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].kind == CLV_PARAM)
            used = sat_add(used, clv__numel(&g->values[v]));
    if (total > used)
        g->unused_params = total - used;
}

static bool walk_all(walk *w, PyObject *o)
{
    if (!PyList_Check(o))
        return walk_module(w, o);
    for (Py_ssize_t i = 0; i < PyList_Size(o); i++)
        if (!walk_module(w, PyList_GetItem(o, i)))
            return false;
    return true;
}

clv_graph *graph_from_fx(PyObject *module, const char *name, PyObject *weights,
                         int64_t total, PyObject **names, PyObject **keep)
{
    walk w = {.values = PyDict_New(),
              .owned = PyDict_New(),
              .names = PyList_New(0),
              .keep = PyList_New(0),
              .lifted = weights && PyDict_Check(weights) ? weights : NULL};
    bool ok = w.values && w.owned && w.names && w.keep &&
              clv_graph_new(name, &w.g, &w.err) == CLV_OK;
    if (ok)
        w.g->format = "torch";
    ok = ok && walk_all(&w, module) && settle(&w);
    if (ok)
        count_unused(w.g, total);
    Py_XDECREF(w.values);
    Py_XDECREF(w.owned);
    *names = w.names;
    *keep = w.keep;
    if (ok)
        return w.g;
    clv_graph_free(w.g);
    if (!PyErr_Occurred() && w.err.code)
        py_raise(&w.err);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    return NULL;
}

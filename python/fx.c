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
#include "fx.h"

#include <string.h>

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

/* -- nodes ----------------------------------------------------------------*/

static const row *find_row(const row *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

#define FIND(rows, name) find_row(rows, sizeof rows / sizeof *rows, name)

/* Calls that write to their first tensor: torch's names end in _, Python's
 * operators begin with i. Others say so by an argument. */
static bool in_place(const char *full)
{
    static const char *const names[] = {"iadd", "isub", "imul",    "itruediv",
                                        "iand", "ior",  "imatmul", "setitem"};
    const char *name = strncmp(full, "aten.", 5) ? full : full + 5;
    size_t n = strcspn(name, ".");
    bool yes = n > 1 && name[n - 1] == '_' && name[0] != '_' &&
               strcmp(name, "and_") && strcmp(name, "or_");
    for (size_t i = 0; !yes && i < sizeof names / sizeof *names; i++)
        yes = !strcmp(names[i], name);
    return yes;
}

/* Whoever reads the tensor later reads what was written. */
static bool note_write(walk *w, PyObject *args, uint32_t node)
{
    PyObject *target = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    uint32_t v = target ? fx_value_of(w, target, 0) : CLV_NONE;
    if (v == CLV_NONE)
        return true;
    if (!CLV_GROW(w->writes, w->n_writes, w->cap_writes))
        return false;
    w->writes[w->n_writes++] = (struct write){node, v};
    fx_remember(w, target, node_outs(w->g, &w->g->nodes[node]), 1);
    return true;
}

/* "aten.conv2d.default", a function's __name__ or a method's name, without
 * namespace, overload and the underscore of in-place forms. */
static void plain_name(PyObject *target, char *full, char *buf, size_t size)
{
    PyObject *name = fx_attr(target, "__name__");
    fx_text_of(target, full, size);
    if (strncmp(full, "aten.", 5) && name)
        fx_text_of(name, full, size);
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
    PyObject *meta = fx_attr(node, "meta"), *stack = NULL, *values = NULL;
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
        fx_text_of(path, at->path, sizeof at->path);
        fx_text_of(cls, at->cls, sizeof at->cls);
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
    PyObject *trace = fx_attr(node, "stack_trace");
    char text[4096];
    fx_text_of(trace && trace != Py_None ? trace : NULL, text, sizeof text);
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
 * the type of x.to(y). `size` is the shape without batch and channels, `hidden`
 * the width of a recurrent layer's last state. */
static void result_attrs(const clv_graph *g, const clv_node *n,
                         const char *args, call *c)
{
    const clv_value *y = node_out(g, n, 0);
    const clv_value *state = node_out(g, n, n->n_out - 1u);
    word wd;
    bool scaled = false; /* says more exactly what the size rounds */
    for (uint32_t i = 0; i < c->n_attrs; i++)
        scaled |= c->attrs[i].key == CLV_A_SCALES;
    while (fx_next_word(&args, &wd)) {
        if (wd.kind != WORD_RESULT || y->rank == CLV_NO_RANK ||
            c->n_attrs == MAX_ATTRS)
            continue;
        clv_attr a = {.key = (uint8_t)clv__attr_find(wd.ours)};
        if (a.key == CLV_A_SIZE && scaled)
            continue;
        uint8_t skip = a.key == CLV_A_SIZE && y->rank > 2 ? 2 : 0;
        a.name = clv__attr_name((clv_attr_key)a.key);
        if (a.key == CLV_A_DTYPE) {
            a.type = CLV_ATTR_INT;
            a.u.i = y->dtype;
        } else if (a.key == CLV_A_HIDDEN) {
            a.type = CLV_ATTR_INT;
            a.u.i = state->rank && state->rank != CLV_NO_RANK
                        ? state->dims[state->rank - 1]
                        : 0;
        } else {
            a.type = CLV_ATTR_INTS;
            a.n = (uint32_t)(y->rank - skip);
            a.u.ints = y->dims + skip;
        }
        c->attrs[c->n_attrs++] = a;
    }
}

/* Gives a node its attributes, and the reason why it is counted only. */
static bool set_attrs(clv_graph *g, clv_node *n, const clv_attr *from,
                      uint32_t count, const char *why)
{
    clv_attr *attrs = arena_array(&g->mem, count + 1u, sizeof *attrs);
    const char *own = arena_strndup(&g->mem, why, strlen(why));
    if (!attrs || !own)
        return false;
    if (count)
        memcpy(attrs, from, count * sizeof *attrs);
    if (*own)
        attrs[count++] = (clv_attr){.name = CLV_COUNTED_ONLY,
                                    .key = CLV_A_OTHER,
                                    .type = CLV_ATTR_STRING,
                                    .u.s = own};
    n->attrs = attrs;
    n->n_attrs = (uint8_t)count;
    return true;
}

static bool count_only(clv_graph *g, clv_node *n, const char *why)
{
    return clv__counted_only(n) || set_attrs(g, n, n->attrs, n->n_attrs, why);
}

/* Whether anybody takes another of several results than the first. */
static bool others_used(PyObject *node)
{
    PyObject *users = fx_attr(node, "users");
    PyObject *it = users ? PyObject_GetIter(users) : NULL, *user;
    bool yes = false;
    while (it && (user = PyIter_Next(it))) {
        PyObject *args = fx_attr(user, "args");
        PyObject *at =
            args && PyTuple_Size(args) == 2 ? PyTuple_GetItem(args, 1) : NULL;
        int64_t i;
        yes = yes || !at || !fx_int_of(at, &i) || i != 0;
        Py_XDECREF(args);
        Py_DECREF(user);
    }
    PyErr_Clear();
    Py_XDECREF(it);
    Py_XDECREF(users);
    return yes;
}

/* Adds the node of a finished call, with outputs as torch described them. */
static bool add_call(walk *w, PyObject *node, const row *r, const char *name,
                     const char *scope, const char *origin, call *c)
{
    clv_op op = r ? r->op : CLV_OP_UNKNOWN;
    PyObject *result = fx_result_of(node);
    bool many = result && !fx_is_tensor(result) &&
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
            fx_set_type(w, node_outs(w->g, n)[i], one);
        if (many)
            Py_XDECREF(one);
    }
    PyErr_Clear();
    if (r)
        result_attrs(w->g, n, r->args, c);
    if (c->first_only && many && others_used(node))
        fx_counted_only(c, "only its first result can be made");
    PyObject *own = fx_attr(node, "name");
    bool named = own && PyList_Append(w->names, own) == 0;
    Py_XDECREF(own);
    fx_remember(w, node, node_outs(w->g, n), n->n_out);
    Py_XDECREF(result);
    return named && set_attrs(w->g, n, c->attrs, c->n_attrs, c->why);
}

/* x[0] of several results is one of them; of a tensor it is a slice. */
static bool getitem(walk *w, PyObject *node, PyObject *args)
{
    PyObject *source = PyTuple_GetItem(args, 0), *at = PyTuple_GetItem(args, 1);
    int64_t i;
    PyObject *result = source ? fx_result_of(source) : NULL;
    bool many = result && !fx_is_tensor(result);
    Py_XDECREF(result);
    if (!many || !fx_int_of(at, &i))
        return false;
    uint32_t v = fx_value_of(w, source, (Py_ssize_t)i);
    if (v == CLV_NONE)
        return false;
    fx_remember(w, node, &v, 1);
    return true;
}

/* False for what is known to be a number, a shape or nothing. */
static bool makes_tensors(PyObject *node)
{
    PyObject *result = fx_result_of(node), *users = fx_attr(node, "users");
    PyObject *meta = fx_attr(node, "meta");
    /* ShapeProp leaves `type` alone on what has no tensor; nobody reads an
     * assertion. */
    PyObject *type = meta ? PyMapping_GetItemString(meta, "type") : NULL;
    PyErr_Clear();
    bool yes = result ? fx_is_tensor(result)
                      : !type && (!users || PyObject_IsTrue(users) != 0);
    Py_XDECREF(type);
    Py_XDECREF(meta);
    Py_XDECREF(users);
    if (result && (PyTuple_Check(result) || PyList_Check(result)))
        for (Py_ssize_t i = 0; !yes && i < PySequence_Size(result); i++) {
            PyObject *item = PySequence_GetItem(result, i);
            yes = item && fx_is_tensor(item);
            Py_XDECREF(item);
        }
    PyErr_Clear();
    Py_XDECREF(result);
    return yes;
}

/* x[i] = y returns nothing; what it makes is another x. */
static bool set_result(walk *w, PyObject *args)
{
    clv_graph *g = w->g;
    uint32_t v = fx_value_of(w, PyTuple_GetItem(args, 0), 0);
    clv_value *y = node_out(g, &g->nodes[g->n_nodes - 1], 0);
    if (v == CLV_NONE)
        return true;
    const clv_value *x = &g->values[v];
    y->dtype = x->dtype;
    y->rank = x->rank;
    y->dims = x->dims;
    return true;
}

/* The most telling row: of this overload of ATen's ("aten.max.dim"), of its
 * operator ("aten.embedding"), of the number of arguments ("arange.1"), of the
 * name alone. Methods of tensors are as ATen's. */
static const row *row_of(const char *full, const char *plain, bool aten,
                         PyObject *args)
{
    char text[300];
    const row *r = strchr(full, '.') ? FIND(functions, full) : NULL;
    snprintf(text, sizeof text, "aten.%s", plain);
    if (!r && aten)
        r = FIND(functions, text);
    snprintf(text, sizeof text, "%s.%d", plain, (int)PyTuple_Size(args));
    if (!r)
        r = FIND(functions, text);
    return r ? r : FIND(functions, plain);
}

/* A call of several ways to read it: x[...] is told apart by its index. */
static bool read_call(walk *w, const row **r, row *as, PyObject *args,
                      PyObject *kwargs, call *c)
{
    if (!*r)
        return fx_all_tensors(w, c, args);
    if (strcmp((*r)->name, "getitem"))
        return fx_read_arguments(w, *r, args, kwargs, c);
    *as = **r;
    *r = as;
    return fx_read_index(w, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1),
                         c, &as->op);
}

/* A tensor that went into no attribute is still waited for: what is counted
 * only keeps it as one more input, where its operator has room. */
static bool keep_edges(walk *w, const row *r, PyObject *args, call *c)
{
    call all = {0};
    bool ok = !r || !c->why[0] || fx_all_tensors(w, &all, args);
    for (uint32_t i = 0; ok && i < all.n_ins; i++) {
        bool seen = c->n_ins >= clv__ops[r->op].max_in;
        for (uint32_t k = 0; !seen && k < c->n_ins; k++)
            seen = c->ins[k] == all.ins[i];
        ok = seen || fx_put_input(c, all.ins[i]);
    }
    clv__free(all.ins);
    return ok;
}

static bool call_function(walk *w, PyObject *node, const char *name,
                          PyObject *target, bool method)
{
    char full[256], plain[256], own[800];
    place at;
    PyObject *args = fx_attr(node, "args"), *kwargs = fx_attr(node, "kwargs");
    plain_name(target, full, plain, sizeof full);
    place_of(node, &at);
    name_call(&at, name, plain, own, sizeof own);
    bool ok = true, set = !strcmp(plain, "setitem");
    if (!strcmp(plain, "getitem") && getitem(w, node, args)) {
        ok = true;
    } else if (!set && !makes_tensors(node)) {
        ok = true; /* a size, an assertion: nothing to run */
    } else {
        call c = {0};
        row as;
        bool aten = method || !strncmp(full, "aten.", 5);
        const row *r = row_of(full, plain, aten, args);
        ok = read_call(w, &r, &as, args, kwargs, &c) &&
             keep_edges(w, r, args, &c) &&
             add_call(w, node, r, own, at.path, full, &c);
        if (ok && set)
            ok = set_result(w, args);
        if (ok && (c.writes || in_place(full)))
            ok = note_write(w, args, w->g->n_nodes - 1);
        clv__free(c.ins);
    }
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    return ok;
}

static bool call_module(walk *w, PyObject *node, PyObject *target)
{
    char path[512], cls[128];
    fx_text_of(target, path, sizeof path);
    PyObject *module = PyObject_CallMethod(w->root, "get_submodule", "s", path);
    PyErr_Clear();
    PyObject *type =
        module ? fx_attr((PyObject *)Py_TYPE(module), "__name__") : NULL;
    PyObject *args = fx_attr(node, "args"), *kwargs = fx_attr(node, "kwargs");
    fx_text_of(type, cls, sizeof cls);
    const row *r = FIND(modules, cls);
    call c = {0};
    bool ok = fx_all_tensors(w, &c, args) &&
              (!r || fx_read_members(w, r, module, path, &c));
    if (ok && r)
        fx_check_call(r, args, kwargs, &c);
    ok = ok && add_call(w, node, r, path, path, cls, &c);
    if (ok && c.writes)
        ok = note_write(w, args, w->g->n_nodes - 1);
    clv__free(c.ins);
    Py_XDECREF(kwargs);
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
    fx_text_of(PyTuple_GetItem(pair, 0), path, sizeof path);
    uint32_t v = tensor && fx_is_tensor(tensor) ? fx_weight_of(w, tensor, path)
                                                : CLV_NONE;
    if (v != CLV_NONE)
        fx_remember(w, node, &v, 1);
    return v != CLV_NONE;
}

/* The names of an input's axes, where capture noted them on the node. */
static bool name_axes(walk *w, PyObject *node, uint32_t v)
{
    PyObject *meta = fx_attr(node, "meta");
    PyObject *list = meta ? PyMapping_GetItemString(meta, "dim_names") : NULL;
    PyErr_Clear();
    Py_ssize_t rank = w->g->values[v].rank;
    bool ok = true;
    if (list && PyList_Check(list) && PyList_Size(list) == rank) {
        const char **names =
            arena_zalloc(&w->g->mem, ((size_t)rank + 1) * sizeof *names);
        clv_payload *data = clv__value_data(w->g, v);
        ok = names && data;
        for (Py_ssize_t i = 0; ok && i < rank; i++) {
            char text[128];
            PyObject *name = PyList_GetItem(list, i);
            fx_text_of(name, text, sizeof text);
            if (name != Py_None)
                names[i] = arena_strndup(&w->g->mem, text, strlen(text));
        }
        if (ok)
            data->dim_names = names;
    }
    Py_XDECREF(list);
    Py_XDECREF(meta);
    return ok;
}

static bool placeholder(walk *w, PyObject *node, const char *name)
{
    PyObject *pair =
        w->lifted ? PyDict_GetItemWithError(w->lifted, node) : NULL;
    if (pair)
        return lifted(w, node, pair);
    PyObject *result = fx_result_of(node);
    if (result && !fx_is_tensor(result)) { /* a number or None: not a tensor */
        Py_DECREF(result);
        return true;
    }
    uint32_t v = fx_add_value(w, name, CLV_VALUE_INPUT);
    if (v != CLV_NONE && result && fx_is_tensor(result))
        fx_set_type(w, v, result);
    Py_XDECREF(result);
    if (v != CLV_NONE)
        fx_remember(w, node, &v, 1);
    return v != CLV_NONE && name_axes(w, node, v);
}

/* A weight by its dotted path from the root. */
static bool get_attr(walk *w, PyObject *node, PyObject *target)
{
    char path[512];
    fx_text_of(target, path, sizeof path);
    PyObject *o = fx_member(w->root, path);
    uint32_t v = o && fx_is_tensor(o) ? fx_weight_of(w, o, path) : CLV_NONE;
    Py_XDECREF(o);
    if (v != CLV_NONE)
        fx_remember(w, node, &v, 1);
    return true;
}

static bool output(walk *w, PyObject *o)
{
    uint32_t v = fx_value_of(w, o, 0);
    for (Py_ssize_t i = 1; v != CLV_NONE; v = fx_value_of(w, o, i++))
        if (!clv__graph_output(w->g, v))
            return false;
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
    PyObject *o = fx_attr(node, "op"), *n = fx_attr(node, "name");
    PyObject *target = fx_attr(node, "target"), *args = fx_attr(node, "args");
    fx_text_of(o, op, sizeof op);
    fx_text_of(n, name, sizeof name);
    bool ok = true;
    if (!strcmp(op, "placeholder"))
        ok = placeholder(w, node, name);
    else if (!strcmp(op, "get_attr"))
        ok = get_attr(w, node, target);
    else if (!strcmp(op, "call_module"))
        ok = call_module(w, node, target);
    else if (!strcmp(op, "output"))
        ok = output(w, args);
    else
        ok = call_function(w, node, name, target, !strcmp(op, "call_method"));
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

/* Contents that inference found for a node it knows only half of. */
static void forget_contents(clv_graph *g, const clv_node *n)
{
    for (uint32_t i = 0; clv__counted_only(n) && i < n->n_out; i++)
        node_out(g, n, i)->data = NULL;
}

/* Our rule for the node is run and compared with what torch saw. Where the
 * rule cannot follow (an argument it does not know), views and moves keep
 * torch's shape but do not run; anything else becomes unknown, and says so. */
static bool settle_node(clv_graph *g, uint32_t id)
{
    clv_node *n = &g->nodes[id];
    clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    clv_value told = y ? *y : (clv_value){0};
    clv_err err = {CLV_OK, ""};
    bool view = clv__ops[n->op].cls == CLV_CLASS_VIEW;
    if (clv__infer_node(g, id, &err) == CLV_NOMEM)
        return false;
    forget_contents(g, n);
    if (!y || told.rank == CLV_NO_RANK)
        return true;
    bool differs = err.code == CLV_OK && !same_shape(y, told.rank, told.dims);
    bool retyped = view && told.dtype != y->dtype;
    y->rank = told.rank;
    y->dims = told.dims;
    y->dtype = told.dtype;
    if (err.code == CLV_OK && !differs && !retyped)
        return true;
    n->flags &= (uint8_t)~CLV_N_UNSHAPED;
    if (view && node_in(g, n, 0)) {
        uint32_t src = node_ins(g, n)[0], root = g->values[src].view_of;
        y->view_of = root == CLV_NONE ? src : root;
    } else if (clv__ops[n->op].cls != CLV_CLASS_MOVE) {
        n->op = CLV_OP_UNKNOWN;
        return clv__graph_warn(g, "%s", err.code ? err.msg : n->name);
    }
    y->data = NULL;
    return count_only(g, n, err.code ? err.msg : "torch makes another shape");
}

static uint32_t root_of(const clv_graph *g, uint32_t v)
{
    return g->values[v].view_of == CLV_NONE ? v : g->values[v].view_of;
}

/* An operator in place is one that makes a new tensor, as long as nobody reads
 * the old one afterwards: a view of it would show what was written. */
static bool settle_writes(walk *w)
{
    clv_graph *g = w->g;
    uint32_t *last =
        w->n_writes ? clv__zalloc((g->n_values + 1u) * sizeof *last) : NULL;
    bool ok = last || !w->n_writes;
    for (uint32_t id = 0; last && id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++)
            if (node_in(g, &g->nodes[id], i))
                last[root_of(g, node_ins(g, &g->nodes[id])[i])] = id;
    for (uint32_t i = 0; ok && last && i < w->n_writes; i++)
        if (last[root_of(g, w->writes[i].value)] > w->writes[i].node)
            ok = count_only(g, &g->nodes[w->writes[i].node],
                            "it writes to memory that is read again");
    clv__free(last);
    return ok;
}

static bool settle(walk *w)
{
    if (clv__graph_finish(w->g, &w->err) != CLV_OK)
        return false;
    for (uint32_t id = 0; id < w->g->n_nodes; id++)
        if (!settle_node(w->g, id))
            return false;
    w->g->inferred = true;
    return settle_writes(w);
}

static bool walk_module(walk *w, PyObject *module)
{
    PyObject *graph = fx_attr(module, "graph"),
             *nodes = fx_attr(graph, "nodes");
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
        if (g->values[v].kind == CLV_VALUE_PARAM)
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
    clv__free(w.writes);
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

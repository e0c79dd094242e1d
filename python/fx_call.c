/* fx_call.c - calls of functions, methods and leaf modules, handed over to
 * formats/aten with all that torch noted about them. */
#include "fx.h"

#include <string.h>

/* -- where a call stands --------------------------------------------------*/

/* The dotted path of the module that makes a call, and that module's class. */
typedef struct fx_place {
    char path[512], cls[256];
} fx_place;

static void fx_place_of(PyObject *node, fx_place *at)
{
    PyObject *meta = fx_attr(node, "meta"), *stack = NULL, *values = NULL;
    at->path[0] = at->cls[0] = '\0';
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
        clv__aten_path(at->path);
        Py_XDECREF(cls);
        Py_XDECREF(path);
        Py_XDECREF(last);
    }
    PyErr_Clear();
    Py_XDECREF(values);
    Py_XDECREF(stack);
    Py_XDECREF(meta);
}

/* The source line, from the stack trace torch kept: "model.py:12". NULL when
 * it kept none. */
static const char *fx_source_of(fx_walk *w, PyObject *node)
{
    PyObject *trace = fx_attr(node, "stack_trace");
    char text[4096];
    fx_text_of(trace && trace != Py_None ? trace : NULL, text, sizeof text);
    Py_XDECREF(trace);
    char line[256];
    return clv__aten_source(text, line, sizeof line)
               ? arena_strndup(&w->scratch, line, strlen(line))
               : NULL;
}

/* -- what a call makes ----------------------------------------------------*/

/* Whether a result is several: torch keeps what it knows of one tensor in a
 * tuple too. */
static bool fx_is_many(PyObject *result)
{
    return result && fx_is_list(result) && !fx_is_tensor(result);
}

/* Whether anybody takes another of several results than the first. */
static bool fx_others_used(PyObject *node)
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

/* False for what is known to be a number, a shape or nothing. */
static bool fx_makes_tensors(PyObject *node, PyObject *result)
{
    if (result && !fx_is_many(result))
        return fx_is_tensor(result);
    bool yes = false;
    for (Py_ssize_t i = 0; result && !yes && i < PySequence_Size(result); i++) {
        PyObject *item = PySequence_GetItem(result, i);
        yes = item && fx_is_tensor(item);
        Py_XDECREF(item);
    }
    if (result)
        return yes;
    /* ShapeProp leaves `type` alone on what has no tensor; nobody reads an
     * assertion. */
    PyObject *users = fx_attr(node, "users"), *meta = fx_attr(node, "meta");
    PyObject *type = meta ? PyMapping_GetItemString(meta, "type") : NULL;
    PyErr_Clear();
    yes = !type && (!users || PyObject_IsTrue(users) != 0);
    Py_XDECREF(type);
    Py_XDECREF(meta);
    Py_XDECREF(users);
    return yes;
}

/* The types of the results into a call. False when memory ran out. */
static bool fx_results(fx_walk *w, PyObject *result, aten_call *call)
{
    bool many = fx_is_many(result);
    Py_ssize_t n = many ? PySequence_Size(result) : result ? 1 : 0;
    aten_type *types =
        arena_zalloc(&w->scratch, ((size_t)n + 1) * sizeof *types);
    for (Py_ssize_t i = 0; types && i < n; i++) {
        int64_t *dims = arena_array(&w->scratch, CLV_MAX_RANK, sizeof *dims);
        PyObject *one = many ? PySequence_GetItem(result, i) : result;
        if (!dims)
            types = NULL;
        else
            types[i] = fx_type_of(one, dims);
        if (many)
            Py_XDECREF(one);
    }
    PyErr_Clear();
    call->results = types;
    call->n_results = (uint32_t)n;
    return types != NULL;
}

/* Hands a call over and notes what it made. */
static bool fx_hand_over(fx_walk *w, PyObject *node, PyObject *result,
                         aten_call *call)
{
    bool many = fx_is_many(result);
    call->source = fx_source_of(w, node);
    call->others_used = many && fx_others_used(node);
    if (!fx_results(w, result, call) ||
        clv__aten_call(&w->b, call, &w->err) != CLV_OK)
        return false;
    bool ok =
        fx_remember(w, node, w->b.made, w->b.n_made, many || w->b.n_made != 1);
    if (w->b.node != CLV_NONE) {
        PyObject *own = fx_attr(node, "name");
        ok = ok && own && PyList_Append(w->names, own) == 0;
        Py_XDECREF(own);
    }
    return ok;
}

/* -- functions ------------------------------------------------------------*/

/* "aten.conv2d.default", a function's __name__, or a method's name. */
static void fx_target_text(PyObject *target, char *buf, size_t size)
{
    PyObject *name = NULL;
    fx_text_of(target, buf, size);
    if (strncmp(buf, "aten.", 5))
        name = fx_attr(target, "__name__");
    if (name)
        fx_text_of(name, buf, size);
    Py_XDECREF(name);
}

/* x[i] is x[(i,)]: the index of a call as a list of one. A tuple is one
 * already. */
static bool fx_wrap_index(fx_walk *w, PyObject *node, aten_call *call)
{
    PyObject *args = fx_attr(node, "args");
    PyObject *index = args ? PyTuple_GetItem(args, 1) : NULL;
    bool tuple = index && PyTuple_Check(index);
    PyErr_Clear();
    Py_XDECREF(args);
    if (tuple || call->n_args < 2)
        return true;
    aten_arg *own = arena_array(&w->scratch, call->n_args, sizeof *own);
    aten_arg *item = arena_alloc(&w->scratch, sizeof *item);
    if (!own || !item)
        return false;
    memcpy(own, call->args, call->n_args * sizeof *own);
    *item = own[1];
    own[1] = (aten_arg){.kind = ATEN_LIST, .n = 1, .u.items = item};
    call->args = own;
    return true;
}

bool fx_call_function(fx_walk *w, PyObject *node, const char *name,
                      PyObject *target, bool method)
{
    char text[256];
    fx_place at;
    arena_mark mark = arena_save(&w->scratch);
    PyObject *result = fx_result_of(node);
    fx_target_text(target, text, sizeof text);
    bool set = !strcmp(text, "setitem"), ok = true;
    if (set || fx_makes_tensors(node, result)) {
        fx_place_of(node, &at);
        aten_call call = {.target = text,
                          .name = name,
                          .path = at.path,
                          .cls = at.cls,
                          .method = method};
        ok = fx_args(w, node, &call);
        if (ok && (set || !strcmp(text, "getitem")))
            ok = fx_wrap_index(w, node, &call);
        ok = ok && fx_hand_over(w, node, result, &call);
    } /* else a size or an assertion: nothing to run */
    Py_XDECREF(result);
    arena_rewind(&w->scratch, mark);
    return ok;
}

/* -- modules --------------------------------------------------------------*/

/* A member as an argument: most are plain, which is quick to tell; the rest are
 * weights. */
static bool fx_member_arg(fx_walk *w, PyObject *o, const char *path,
                          aten_arg *out)
{
    bool plain = o == Py_None || PyLong_Check(o) || PyFloat_Check(o) ||
                 PyUnicode_Check(o) || fx_is_list(o);
    if (plain || !fx_is_tensor(o))
        return fx_arg(w, o, out);
    uint32_t v = fx_weight_of(w, o, path);
    *out = (aten_arg){.kind = ATEN_TENSOR, .u.value = v};
    return v != CLV_NONE;
}

/* The members that the module's row reads, into a call. */
static bool fx_members(fx_walk *w, PyObject *module, aten_call *call)
{
    char path[640];
    const char *names[ATEN_MAX_MEMBERS];
    uint32_t n;
    aten_named *list =
        arena_zalloc(&w->scratch, ATEN_MAX_MEMBERS * sizeof *list);
    bool ok = clv__aten_members(&w->b, call->target, names, &n) && list;
    for (uint32_t i = 0; ok && i < n; i++) {
        PyObject *o = fx_member(module, names[i]);
        if (!o)
            continue;
        aten_named *one = &list[call->n_members++];
        one->name = names[i];
        snprintf(path, sizeof path, "%s.%s", call->path, names[i]);
        ok = fx_member_arg(w, o, path, &one->value);
        Py_DECREF(o);
    }
    call->members = list;
    return ok;
}

bool fx_call_module(fx_walk *w, PyObject *node, PyObject *target)
{
    char path[512], cls[128];
    arena_mark mark = arena_save(&w->scratch);
    fx_text_of(target, path, sizeof path);
    PyObject *module = PyObject_CallMethod(w->root, "get_submodule", "s", path);
    PyErr_Clear();
    PyObject *type =
        module ? fx_attr((PyObject *)Py_TYPE(module), "__name__") : NULL;
    PyObject *result = fx_result_of(node);
    fx_text_of(type, cls, sizeof cls);
    aten_call call = {
        .target = cls, .name = path, .path = path, .module = true};
    bool ok = fx_args(w, node, &call) && fx_members(w, module, &call) &&
              fx_hand_over(w, node, result, &call);
    Py_XDECREF(result);
    Py_XDECREF(type);
    Py_XDECREF(module);
    arena_rewind(&w->scratch, mark);
    return ok;
}

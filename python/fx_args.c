/* fx_args.c - the arguments of a call, and the members of a leaf module, as a
 * row of fx.def maps them to inputs and attributes. */
#include "fx.h"

#include <string.h>

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
        fx_text_of(o, text, sizeof text);
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
            PyObject *number = item ? fx_resolve(item) : NULL;
            bool ok =
                number && number != Py_None && fx_int_of(number, &ints[i]);
            Py_XDECREF(number);
            Py_XDECREF(item);
            if (!ok)
                return;
        }
        a.u.ints = ints;
        if (!ints)
            return;
    } else if (fx_int_of(o, &a.u.i)) {
        a.type = CLV_INT_ATTR;
    } else {
        return;
    }
    c->attrs[c->n_attrs++] = a;
}

bool fx_next_word(const char **args, word *out)
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
bool fx_all_tensors(walk *w, call *c, PyObject *o)
{
    uint32_t v = fx_value_of(w, o, 0);
    if (v != CLV_NONE)
        return put_input(c, c->n_ins, v);
    if (!PyTuple_Check(o) && !PyList_Check(o))
        return true;
    for (Py_ssize_t i = 0, n = PySequence_Size(o); i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        bool ok = !item || fx_all_tensors(w, c, item);
        Py_XDECREF(item);
        if (!ok)
            return false;
    }
    return true;
}

static bool put_tensor(walk *w, call *c, const word *wd, PyObject *o)
{
    if (wd->list)
        return fx_all_tensors(w, c, o);
    uint32_t v = o == Py_None ? CLV_NONE : fx_value_of(w, o, 0);
    if (v == CLV_NONE && o != Py_None) {
        PyObject *number = fx_resolve(o);
        v = fx_number_value(w, number);
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
    PyObject *value = fx_resolve(o);
    put_attr(w, c, name, value);
    Py_DECREF(value);
}

/* Positional and named arguments of a function, by its row. */
bool fx_read_arguments(walk *w, const row *r, PyObject *args, PyObject *kwargs,
                       call *c)
{
    const char *words = r->args;
    word wd;
    for (Py_ssize_t i = 0; fx_next_word(&words, &wd); i++) {
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
PyObject *fx_member(PyObject *o, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "%s", path);
    Py_XINCREF(o);
    for (char *save, *part = strtok_r(text, ".", &save); part && o;
         part = strtok_r(NULL, ".", &save)) {
        PyObject *next = fx_attr(o, part);
        Py_DECREF(o);
        o = next;
    }
    return o;
}

/* Members of a leaf module, after its tensor inputs. */
bool fx_read_members(walk *w, const row *r, PyObject *module, const char *path,
                     call *c)
{
    const char *words = r->args;
    word wd;
    while (fx_next_word(&words, &wd)) {
        if (wd.literal || wd.result) {
            if (wd.literal)
                put_literal(w, c, &wd);
            continue;
        }
        PyObject *o = fx_member(module, wd.py);
        if (!o)
            continue;
        bool ok = true;
        if (wd.tensor && o == Py_None) {
            ok = put_input(c, c->n_ins, CLV_NONE);
        } else if (wd.tensor) {
            char name[640];
            snprintf(name, sizeof name, "%s.%s", path, wd.py);
            uint32_t v = fx_weight_of(w, o, name);
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

/* fx_args.c - the arguments of a call, and the members of a leaf module, as a
 * row of fx.def maps them to inputs and attributes.
 *
 * Nothing is dropped in silence: an argument that the row does not name, or
 * whose value has no attribute of ours, leaves the call counted only. */
#include "fx.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Keywords that never change the numbers: types are read off the result. */
static const char *const harmless[] = {
    "dtype",         "layout",       "device",  "pin_memory", "requires_grad",
    "memory_format", "non_blocking", "inplace", "_stacklevel"};

void fx_counted_only(call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->why[0]) /* the first reason is kept */
        vsnprintf(c->why, sizeof c->why, fmt, ap);
    va_end(ap);
}

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

bool fx_put_input(call *c, uint32_t v)
{
    return put_input(c, c->n_ins, v);
}

/* -- attributes -----------------------------------------------------------*/

static bool is_list(PyObject *o)
{
    return PyTuple_Check(o) || PyList_Check(o);
}

/* A list of ints, or of floats where any of them is one. */
static bool list_attr(walk *w, PyObject *o, clv_attr *a)
{
    Py_ssize_t n = PySequence_Size(o);
    int64_t *ints = arena_array(&w->g->mem, (size_t)n + 1, sizeof *ints);
    double *floats = arena_array(&w->g->mem, (size_t)n + 1, sizeof *floats);
    bool ok = ints && floats, real = false;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        PyObject *number = item ? fx_resolve(item) : NULL;
        bool is_float = number && PyFloat_Check(number);
        real |= is_float;
        ok = number && number != Py_None &&
             (is_float || fx_int_of(number, &ints[i]));
        if (ok)
            floats[i] = is_float ? PyFloat_AsDouble(number) : (double)ints[i];
        Py_XDECREF(number);
        Py_XDECREF(item);
    }
    a->type = real ? CLV_ATTR_FLOATS : CLV_ATTR_INTS;
    a->n = (uint32_t)n;
    if (real)
        a->u.floats = floats;
    else
        a->u.ints = ints;
    return ok && (!real || a->key == CLV_A_SCALES);
}

static bool text_attr(walk *w, PyObject *o, clv_attr *a)
{
    char text[256];
    fx_text_of(o, text, sizeof text);
    if (a->key == CLV_A_P) { /* the order of a norm */
        a->type = CLV_ATTR_FLOAT;
        a->u.f = 2;
        return !strcmp(text, "fro");
    }
    /* padding="same" is a way to pad, not a number */
    if (a->key == CLV_A_PADDING) {
        a->key = CLV_A_AUTO_PAD;
        a->name = clv__attr_name(CLV_A_AUTO_PAD);
    }
    a->type = CLV_ATTR_STRING;
    a->u.s = arena_strndup(&w->g->mem, text, strlen(text));
    return a->u.s != NULL;
}

/* False when there is no saying it: a tensor, an order of a norm that kernels
 * do not have, a fill of many values. */
static bool read_attr(walk *w, PyObject *o, clv_attr *a)
{
    bool list = is_list(o);
    if (a->key == CLV_A_LAYOUT) { /* batch_first */
        a->type = CLV_ATTR_STRING;
        a->u.s = PyObject_IsTrue(o) > 0 ? "batch" : "seq";
        return true;
    }
    if (PyUnicode_Check(o))
        return text_attr(w, o, a);
    if (list)
        return a->key != CLV_A_VALUE && list_attr(w, o, a);
    if (PyFloat_Check(o)) {
        a->type = CLV_ATTR_FLOAT;
        a->u.f = PyFloat_AsDouble(o);
        return a->key != CLV_A_P || (a->u.f > 0 && a->u.f < 1e9);
    }
    a->type = CLV_ATTR_INT;
    return (a->key != CLV_A_AXES || !PyBool_Check(o)) &&
           fx_int_of(o, &a->u.i) && (a->key != CLV_A_P || a->u.i > 0);
}

/* int, float, bool, str or a list of numbers, under our name or, for kernels
 * that know it, a foreign one. None says nothing, as does an empty list. */
static void put_attr(walk *w, call *c, const char *name, PyObject *o)
{
    clv_attr a = {.key = (uint8_t)clv__attr_find(name)};
    bool empty = is_list(o) && PySequence_Size(o) == 0;
    if (o == Py_None || (empty && a.key != CLV_A_PERM))
        return;
    a.name = a.key == CLV_A_OTHER
                 ? arena_strndup(&w->g->mem, name, strlen(name))
                 : clv__attr_name((clv_attr_key)a.key);
    if (c->n_attrs < MAX_ATTRS && a.name && read_attr(w, o, &a))
        c->attrs[c->n_attrs++] = a;
    else
        fx_counted_only(c, "argument '%s' is not carried over", name);
}

/* torch pads the last axis first, begin and end in turn; we list the begins of
 * all axes, then the ends. */
static void turn_padding(walk *w, call *c)
{
    const clv_value *x =
        c->n_ins && c->ins[0] != CLV_NONE ? &w->g->values[c->ins[0]] : NULL;
    for (uint32_t i = 0; x && x->rank != CLV_NO_RANK && i < c->n_attrs; i++) {
        clv_attr *a = &c->attrs[i];
        if (a->key != CLV_A_PADDING || a->type != CLV_ATTR_INTS)
            continue;
        uint32_t r = x->rank;
        int64_t *pads = arena_zalloc(&w->g->mem, (2u * r + 1) * sizeof *pads);
        if (!pads || a->n > 2u * r || a->n % 2) {
            fx_counted_only(c, "padding of %u numbers", a->n);
            continue;
        }
        for (uint32_t k = 0; k < a->n / 2; k++) {
            pads[r - 1 - k] = a->u.ints[2 * k];
            pads[2 * r - 1 - k] = a->u.ints[2 * k + 1];
        }
        a->u.ints = pads;
        a->n = 2 * r;
    }
}

/* -- words ----------------------------------------------------------------*/

/* Cuts text at the first `mark`; what follows it, or NULL. */
static char *cut(char *text, char mark)
{
    char *at = text ? strchr(text, mark) : NULL;
    if (at)
        *at++ = '\0';
    return at;
}

static void keep(char *buf, size_t size, const char *text)
{
    snprintf(buf, size, "%.*s", (int)size - 1, text ? text : "");
}

/* x=ours$..., with what may stand around it. */
static void read_named(char *p, word *out)
{
    char *otherwise = cut(p, '|'), *must = cut(p, '!'), *list = cut(p, '[');
    char *dots = strstr(p, "..."), *ours = cut(p, '='), *dollar = cut(p, '$');
    if (dots)
        *dots = '\0';
    out->kind = dollar ? WORD_TENSOR : must ? WORD_MUST : WORD_ATTR;
    out->rest = dots != NULL;
    out->list = dollar && *dollar == '*';
    out->first = dollar && *dollar == '<';
    if (dollar && *dollar >= '0' && *dollar <= '9')
        out->at = *dollar - '0';
    out->needed = ours && ours[strlen(ours) - 1] == '+';
    if (out->needed)
        ours[strlen(ours) - 1] = '\0';
    keep(out->py, sizeof out->py, p);
    keep(out->ours, sizeof out->ours, ours ? ours : dollar ? "" : p);
    keep(out->value, sizeof out->value, must ? must : list);
    keep(out->otherwise, sizeof out->otherwise, otherwise);
    if (list) /* without the bracket that closes it */
        cut(out->value, ']');
    out->names = list != NULL;
    out->has_default = otherwise != NULL;
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
    if (!strcmp(text, "~") || !strcmp(text, "^")) {
        out->kind = *text == '~' ? WORD_COUNTED : WORD_FIRST_ONLY;
    } else if (*text == '-') {
        read_named(text + 1, out);
        out->kind = WORD_IGNORED;
    } else if (*text == '>') {
        out->kind = WORD_RESULT;
        keep(out->ours, sizeof out->ours, text + 1);
    } else if (strchr(text, ':')) {
        out->kind = WORD_LITERAL;
        keep(out->value, sizeof out->value, cut(text, ':'));
        keep(out->ours, sizeof out->ours, text);
    } else {
        read_named(text, out);
    }
    return true;
}

/* Words that stand for an argument of torch's. */
static bool takes_argument(const word *wd)
{
    return wd->kind == WORD_TENSOR || wd->kind == WORD_ATTR ||
           wd->kind == WORD_MUST || wd->kind == WORD_IGNORED;
}

/* Whether `key` is one of the names in "dim/axis". */
static bool among(const char *names, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = names; *p; p += strcspn(p, "/,"), p += *p != '\0')
        if (!strncmp(p, key, n) && strchr("/,", p[n]))
            return true;
    return false;
}

/* What a default or a literal says: None, a number, numbers, or text. */
static PyObject *object_of(const char *text)
{
    char *end, *stop;
    if (!strcmp(text, "None"))
        Py_RETURN_NONE;
    long long i = strtoll(text, &end, 10);
    if (!*end && end != text)
        return PyLong_FromLongLong(i);
    if (*end == ',') {
        long long second = strtoll(end + 1, &stop, 10);
        if (!*stop)
            return Py_BuildValue("(LL)", i, second);
    }
    double f = strtod(text, &end);
    return *end || end == text ? PyUnicode_FromString(text)
                               : PyFloat_FromDouble(f);
}

/* Whether o is one of the values in "0/None". */
static bool holds(PyObject *o, const char *values)
{
    char text[64];
    if (o == Py_None)
        return among(values, "None");
    if (PyUnicode_Check(o)) {
        fx_text_of(o, text, sizeof text);
        return among(values, text);
    }
    double got = PyFloat_AsDouble(o);
    bool number = !PyErr_Occurred();
    PyErr_Clear();
    for (const char *p = values; number && *p;
         p += strcspn(p, "/"), p += *p != '\0') {
        char *end;
        double want = strtod(p, &end);
        if (end != p && !(got < want) && !(got > want))
            return true;
    }
    return false;
}

/* -- tensors --------------------------------------------------------------*/

/* Tensor arguments, wherever they stand. */
bool fx_all_tensors(walk *w, call *c, PyObject *o)
{
    uint32_t v = fx_value_of(w, o, 0);
    if (v != CLV_NONE)
        return put_input(c, c->n_ins, v);
    if (!is_list(o))
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

/* A list of tensors; None keeps its place. */
bool fx_put_list(walk *w, call *c, PyObject *o)
{
    for (Py_ssize_t i = 0, n = is_list(o) ? PySequence_Size(o) : 0; i < n;
         i++) {
        PyObject *item = PySequence_GetItem(o, i);
        uint32_t v =
            item && item != Py_None ? fx_value_of(w, item, 0) : CLV_NONE;
        if (v == CLV_NONE && item != Py_None)
            fx_counted_only(c, "a list of more than tensors");
        bool ok = put_input(c, c->n_ins, v);
        Py_XDECREF(item);
        if (!ok)
            return false;
    }
    return true;
}

static bool put_tensor(walk *w, call *c, const word *wd, PyObject *o)
{
    if (wd->list)
        return is_list(o) ? fx_put_list(w, c, o) : fx_all_tensors(w, c, o);
    uint32_t v = o == Py_None ? CLV_NONE : fx_value_of(w, o, 0);
    if (v == CLV_NONE && o != Py_None) {
        PyObject *number = fx_resolve(o);
        if (wd->ours[0])
            put_attr(w, c, wd->ours, number);
        else if ((v = fx_number_value(w, number)) == CLV_NONE)
            fx_counted_only(c, "argument '%s' is no tensor", wd->py);
        Py_DECREF(number);
        if (wd->ours[0])
            return true;
    }
    uint32_t at = wd->at >= 0 ? (uint32_t)wd->at - 1 : c->n_ins;
    return put_input(c, at, v);
}

/* -- calls ----------------------------------------------------------------*/

/* A number that stands for one of the names in "bilinear,nearest". */
static void put_name(walk *w, call *c, const word *wd, PyObject *o)
{
    char names[sizeof wd->value];
    int64_t n;
    keep(names, sizeof names, wd->value);
    bool ok = fx_int_of(o, &n) && n >= 0;
    char *p = names, *next = cut(p, ',');
    for (; ok && n > 0 && p; n--) {
        p = next;
        next = cut(p, ',');
    }
    PyObject *text = ok && p ? PyUnicode_FromString(p) : NULL;
    if (text)
        put_attr(w, c, wd->ours, text);
    else
        fx_counted_only(c, "argument '%s' is out of range", wd->py);
    Py_XDECREF(text);
}

static void see_inplace(call *c, const char *name, PyObject *o)
{
    if (o && !strcmp(name, "inplace") && PyObject_IsTrue(o) > 0)
        c->writes = true;
}

/* One argument as its word says; o is NULL when it is left out. */
static bool put_word(walk *w, call *c, const word *wd, PyObject *o)
{
    see_inplace(c, wd->py, o);
    if (wd->kind == WORD_IGNORED || (!o && !wd->needed))
        return true;
    if (wd->kind == WORD_TENSOR)
        return put_tensor(w, c, wd, o);
    PyObject *value = o ? fx_resolve(o) : NULL;
    if (wd->needed && (!value || value == Py_None))
        fx_counted_only(c, "argument '%s' is left to torch", wd->py);
    else if (wd->kind == WORD_MUST && !holds(value, wd->value))
        fx_counted_only(c, "argument '%s' is not %s", wd->py, wd->value);
    else if (wd->kind == WORD_ATTR && wd->names)
        put_name(w, c, wd, value);
    else if (wd->kind == WORD_ATTR)
        put_attr(w, c, wd->ours, value);
    Py_XDECREF(value);
    return true;
}

/* Words that say something by themselves. */
static void put_saying(walk *w, call *c, const word *wd)
{
    if (wd->kind == WORD_COUNTED)
        fx_counted_only(c, "it has no kernel that takes its arguments");
    if (wd->kind == WORD_FIRST_ONLY)
        c->first_only = true;
    if (wd->kind != WORD_LITERAL)
        return;
    PyObject *value = object_of(wd->value);
    if (value)
        put_attr(w, c, wd->ours, value);
    Py_XDECREF(value);
    PyErr_Clear();
}

/* The argument at place i, or by one of its names; NULL when left out. */
static PyObject *argument(PyObject *args, PyObject *kwargs, Py_ssize_t i,
                          const char *names)
{
    if (i < PyTuple_Size(args)) {
        PyObject *o = PyTuple_GetItem(args, i);
        Py_XINCREF(o);
        return o;
    }
    PyObject *found = NULL;
    char buf[64];
    keep(buf, sizeof buf, names);
    for (char *p = buf, *next; p && kwargs && !found; p = next) {
        next = cut(p, '/');
        found = PyMapping_GetItemString(kwargs, p);
        PyErr_Clear();
    }
    return found;
}

/* "dim0,dim1": several arguments as one list; NULL unless all are there. */
static PyObject *gathered(PyObject *args, PyObject *kwargs, Py_ssize_t *i,
                          const char *names)
{
    PyObject *list = PyList_New(0);
    char buf[64];
    bool whole = list != NULL;
    keep(buf, sizeof buf, names);
    for (char *p = buf, *next; p && list; p = next, ++*i) {
        next = cut(p, ',');
        PyObject *o = argument(args, kwargs, *i, p);
        whole = whole && o && PyList_Append(list, o) == 0;
        Py_XDECREF(o);
    }
    --*i; /* the caller's loop counts the last */
    if (!whole)
        Py_CLEAR(list);
    return list;
}

/* Keywords that no word names and that matter. */
static void check_keywords(const row *r, PyObject *kwargs, call *c)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (kwargs && PyDict_Check(kwargs) &&
           PyDict_Next(kwargs, &at, &key, &value)) {
        char name[64];
        const char *words = r->args;
        word wd;
        fx_text_of(key, name, sizeof name);
        see_inplace(c, name, value);
        bool known = value == Py_None;
        for (size_t i = 0; !known && i < sizeof harmless / sizeof *harmless;
             i++)
            known = !strcmp(harmless[i], name);
        while (!known && fx_next_word(&words, &wd))
            known = takes_argument(&wd) && among(wd.py, name);
        if (!known)
            fx_counted_only(c, "argument '%s' is not carried over", name);
    }
}

/* Arguments beyond those the words name. */
static void check_rest(PyObject *args, Py_ssize_t from, call *c)
{
    for (Py_ssize_t i = from; i < PyTuple_Size(args); i++)
        if (PyTuple_GetItem(args, i) != Py_None)
            fx_counted_only(c, "argument %zd is not carried over", i + 1);
}

/* Positional and named arguments of a function, by its row. */
bool fx_read_arguments(walk *w, const row *r, PyObject *args, PyObject *kwargs,
                       call *c)
{
    const char *words = r->args;
    word wd;
    Py_ssize_t i = 0;
    for (; fx_next_word(&words, &wd); i++) {
        if (!takes_argument(&wd)) {
            i--; /* no argument of torch's */
            put_saying(w, c, &wd);
            continue;
        }
        PyObject *o = strchr(wd.py, ',') ? gathered(args, kwargs, &i, wd.py)
                                         : argument(args, kwargs, i, wd.py);
        if (o && wd.rest && i < PyTuple_Size(args)) {
            if (!is_list(o)) { /* permute(x, 0, 2, 1) or permute(x, dims) */
                Py_DECREF(o);
                o = PyTuple_GetSlice(args, i, PyTuple_Size(args));
                i = PyTuple_Size(args) - 1;
            }
        }
        if (wd.has_default && (!o || o == Py_None)) {
            Py_XDECREF(o);
            o = object_of(wd.otherwise);
        }
        bool ok = put_word(w, c, &wd, o);
        Py_XDECREF(o);
        if (!ok)
            return false;
    }
    check_rest(args, i, c);
    check_keywords(r, kwargs, c);
    if (r->op == CLV_OP_PAD)
        turn_padding(w, c);
    return true;
}

/* -- modules --------------------------------------------------------------*/

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

static bool put_weight(walk *w, call *c, const word *wd, PyObject *o,
                       const char *path)
{
    char name[640];
    if (!fx_is_tensor(o)) /* None; a method, where the layer is quantised */
        return put_input(c, c->n_ins, CLV_NONE);
    snprintf(name, sizeof name, "%s.%s", path, wd->py);
    uint32_t v = fx_weight_of(w, o, name);
    if (v == CLV_NONE || !put_input(c, c->n_ins, v))
        return false;
    if (wd->first) { /* before the inputs: an embedding's table */
        c->ins[c->n_ins - 1] = c->ins[0];
        c->ins[0] = v;
    }
    return true;
}

/* Members of a leaf module, after its tensor inputs. */
bool fx_read_members(walk *w, const row *r, PyObject *module, const char *path,
                     call *c)
{
    const char *words = r->args;
    word wd;
    while (fx_next_word(&words, &wd)) {
        if (!takes_argument(&wd)) {
            put_saying(w, c, &wd);
            continue;
        }
        PyObject *o = fx_member(module, wd.py);
        bool ok = !o || (wd.kind == WORD_TENSOR ? put_weight(w, c, &wd, o, path)
                                                : put_word(w, c, &wd, o));
        Py_XDECREF(o);
        if (!ok)
            return false;
    }
    while (c->n_ins && c->ins[c->n_ins - 1] == CLV_NONE)
        c->n_ins--;
    if (r->op == CLV_OP_PAD)
        turn_padding(w, c);
    return true;
}

/* What a module is called with, besides tensors. */
void fx_check_call(const row *r, PyObject *args, PyObject *kwargs, call *c)
{
    for (Py_ssize_t i = 0, n = PyTuple_Size(args); i < n; i++) {
        PyObject *o = PyTuple_GetItem(args, i);
        if (o != Py_None && !PyObject_HasAttrString(o, "users"))
            fx_counted_only(c, "argument %zd is not carried over", i + 1);
    }
    check_keywords(r, kwargs, c);
}

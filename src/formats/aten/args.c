/* args.c - the arguments of a call, and the members of a leaf module, become
 * inputs and attributes as the row of the call says.
 *
 * Nothing is dropped in silence: an argument that the row does not name, or
 * whose value no attribute of ours can say, leaves the call counted only. */
#include "core/decimal.h"
#include "formats/aten/row.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keywords that never change the numbers: types are read off the result. */
static const char *const args_harmless[] = {
    "dtype",         "layout",       "device",  "pin_memory", "requires_grad",
    "memory_format", "non_blocking", "inplace", "_stacklevel"};

enum { ARGS_MAX_GATHERED = 4 }; /* arguments that one word makes a list of */

void clv__aten_counted(aten_reading *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!r->why[0])
        clv_vformat(r->why, sizeof r->why, fmt, ap);
    va_end(ap);
}

static void args_put_input(aten_reading *r, uint32_t at, uint32_t v)
{
    while (r->n_ins <= at) {
        if (!CLV_GROW(r->ins, r->n_ins, r->cap_ins)) {
            r->no_memory = true;
            return;
        }
        r->ins[r->n_ins++] = CLV_NONE;
    }
    r->ins[at] = v;
}

void clv__aten_put_input(aten_reading *r, uint32_t v)
{
    args_put_input(r, r->n_ins, v);
}

/* Whether a bool or a number is true. */
static bool args_is_true(const aten_arg *a)
{
    return (a->kind == ATEN_BOOL && a->u.b) ||
           (a->kind == ATEN_INT && a->u.i != 0);
}

/* The integer that an argument is; a bool is 0 or 1. */
static bool args_int(const aten_arg *a, int64_t *out)
{
    *out = a->kind == ATEN_BOOL ? a->u.b : a->u.i;
    return a->kind == ATEN_BOOL || a->kind == ATEN_INT;
}

static bool args_number(const aten_arg *a, double *out)
{
    int64_t i = 0;
    bool whole = args_int(a, &i);
    *out = a->kind == ATEN_FLOAT ? a->u.f : (double)i;
    return whole || a->kind == ATEN_FLOAT;
}

/* -- attributes -----------------------------------------------------------*/

/* Reads a list of ints, or of floats where any of them is one. */
static bool args_list_attr(aten_reading *r, const aten_arg *arg, clv_attr *a)
{
    arena *mem = &r->b->g->mem;
    int64_t *ints = arena_array(mem, arg->n + 1u, sizeof *ints);
    double *floats = arena_array(mem, arg->n + 1u, sizeof *floats);
    bool ok = ints && floats, real = false;
    r->no_memory |= !ok;
    for (uint32_t i = 0; ok && i < arg->n; i++) {
        const aten_arg *item = &arg->u.items[i];
        real |= item->kind == ATEN_FLOAT;
        ok = args_number(item, &floats[i]) &&
             (args_int(item, &ints[i]) || item->kind == ATEN_FLOAT);
    }
    a->type = real ? CLV_ATTR_FLOATS : CLV_ATTR_INTS;
    a->n = arg->n;
    if (real)
        a->u.floats = floats;
    else
        a->u.ints = ints;
    return ok && (!real || a->key == CLV_A_SCALES);
}

static bool args_text_attr(aten_reading *r, const char *text, clv_attr *a)
{
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
    a->u.s = arena_strndup(&r->b->g->mem, text, strlen(text));
    r->no_memory |= !a->u.s;
    return a->u.s != NULL;
}

/* False when an attribute cannot say it: a tensor, an order of a norm that
 * kernels do not have, a fill of many values. */
static bool args_read_attr(aten_reading *r, const aten_arg *arg, clv_attr *a)
{
    if (a->key == CLV_A_LAYOUT && arg->kind != ATEN_STRING) { /* batch_first */
        a->type = CLV_ATTR_STRING;
        a->u.s = args_is_true(arg) ? "batch" : "seq";
        return true;
    }
    if (arg->kind == ATEN_STRING)
        return args_text_attr(r, arg->u.s, a);
    if (arg->kind == ATEN_LIST)
        return a->key != CLV_A_VALUE && args_list_attr(r, arg, a);
    if (arg->kind == ATEN_FLOAT) {
        a->type = CLV_ATTR_FLOAT;
        a->u.f = arg->u.f;
        return a->key != CLV_A_P || (a->u.f > 0 && a->u.f < 1e9);
    }
    a->type = CLV_ATTR_INT;
    return (a->key != CLV_A_AXES || arg->kind != ATEN_BOOL) &&
           args_int(arg, &a->u.i) && (a->key != CLV_A_P || a->u.i > 0);
}

/* Puts a number, a text or a list of numbers under our name, or, for kernels
 * that know it, under a foreign one. None says nothing, nor does an empty
 * list. */
static void args_put_attr(aten_reading *r, clv_attr_key key, const char *name,
                          const aten_arg *arg)
{
    clv_attr a = {.key = (uint8_t)key};
    bool empty = arg->kind == ATEN_LIST && arg->n == 0;
    if (arg->kind == ATEN_NONE || (empty && a.key != CLV_A_PERM))
        return;
    a.name = a.key == CLV_A_OTHER
                 ? arena_strndup(&r->b->g->mem, name, strlen(name))
                 : clv__attr_name((clv_attr_key)a.key);
    r->no_memory |= !a.name;
    if (r->n_attrs < ATEN_MAX_ATTRS && a.name && args_read_attr(r, arg, &a))
        r->attrs[r->n_attrs++] = a;
    else
        clv__aten_counted(r, "argument '%s' is not carried over", name);
}

void clv__aten_put_int(aten_reading *r, clv_attr_key key, int64_t v)
{
    aten_arg arg = {.kind = ATEN_INT, .u.i = v};
    args_put_attr(r, key, clv__attr_name(key), &arg);
}

void clv__aten_put_ints(aten_reading *r, clv_attr_key key, const int64_t *v,
                        uint32_t n)
{
    aten_arg items[CLV_MAX_RANK];
    for (uint32_t i = 0; i < n && i < CLV_MAX_RANK; i++)
        items[i] = (aten_arg){.kind = ATEN_INT, .u.i = v[i]};
    aten_arg list = {.kind = ATEN_LIST, .n = n, .u.items = items};
    args_put_attr(r, key, clv__attr_name(key), &list);
}

/* torch pads the last axis first, begin and end in turn; we list the begins of
 * all axes, then the ends. */
static void args_turn_padding(aten_reading *r)
{
    clv_graph *g = r->b->g;
    const clv_value *x =
        r->n_ins && r->ins[0] != CLV_NONE ? &g->values[r->ins[0]] : NULL;
    for (uint32_t i = 0; x && x->rank != CLV_NO_RANK && i < r->n_attrs; i++) {
        clv_attr *a = &r->attrs[i];
        if (a->key != CLV_A_PADDING || a->type != CLV_ATTR_INTS)
            continue;
        uint32_t rank = x->rank;
        int64_t *pads = arena_zalloc(&g->mem, (2u * rank + 1) * sizeof *pads);
        r->no_memory |= !pads;
        if (!pads || a->n > 2u * rank || a->n % 2) {
            clv__aten_counted(r, "padding of %u numbers", a->n);
            continue;
        }
        for (uint32_t k = 0; k < a->n / 2; k++) {
            pads[rank - 1 - k] = a->u.ints[2 * k];
            pads[2 * rank - 1 - k] = a->u.ints[2 * k + 1];
        }
        a->u.ints = pads;
        a->n = 2 * rank;
    }
}

/* -- values that rows write down ------------------------------------------*/

/* What a default or a literal says: None, a number, two numbers (which go to
 * `pair`), or text. */
static aten_arg args_literal(const char *text, aten_arg pair[2])
{
    char *end, *stop;
    if (!strcmp(text, "None"))
        return (aten_arg){.kind = ATEN_NONE};
    long long i = strtoll(text, &end, 10);
    if (!*end && end != text)
        return (aten_arg){.kind = ATEN_INT, .u.i = i};
    if (*end == ',') {
        long long second = strtoll(end + 1, &stop, 10);
        pair[0] = (aten_arg){.kind = ATEN_INT, .u.i = i};
        pair[1] = (aten_arg){.kind = ATEN_INT, .u.i = second};
        if (!*stop)
            return (aten_arg){.kind = ATEN_LIST, .n = 2, .u.items = pair};
    }
    double f = clv_text_double(text, &end);
    if (*end || end == text)
        return (aten_arg){.kind = ATEN_STRING, .u.s = text};
    return (aten_arg){.kind = ATEN_FLOAT, .u.f = f};
}

/* Whether the argument is one of the values in "0/None". */
static bool args_holds(const aten_arg *arg, const char *values)
{
    double got;
    if (arg->kind == ATEN_NONE)
        return clv__aten_among(values, "None");
    if (arg->kind == ATEN_STRING)
        return clv__aten_among(values, arg->u.s);
    bool number = args_number(arg, &got);
    for (const char *p = values; number && *p;
         p += strcspn(p, "/"), p += *p != '\0') {
        char *end;
        double want = clv_text_double(p, &end);
        if (end != p && !(got < want) && !(got > want))
            return true;
    }
    return false;
}

/* -- tensors --------------------------------------------------------------*/

static uint32_t args_value(aten_reading *r, const aten_arg *arg)
{
    return arg->kind == ATEN_TENSOR ? clv__aten_latest(r->b, arg->u.value)
                                    : CLV_NONE;
}

void clv__aten_put_tensors(aten_reading *r, const aten_arg *arg)
{
    if (arg->kind == ATEN_TENSOR)
        clv__aten_put_input(r, args_value(r, arg));
    for (uint32_t i = 0; arg->kind == ATEN_LIST && i < arg->n; i++)
        clv__aten_put_tensors(r, &arg->u.items[i]);
}

/* Puts a list of tensors; None keeps its place. */
static void args_put_list(aten_reading *r, const aten_arg *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const aten_arg *item = &list->u.items[i];
        if (item->kind != ATEN_TENSOR && item->kind != ATEN_NONE)
            clv__aten_counted(r, "a list of more than tensors");
        clv__aten_put_input(r, args_value(r, item));
    }
}

/* A number among tensors, as in x + 1, is a constant of no axes. CLV_NONE when
 * the argument is no number. */
static uint32_t args_constant(aten_reading *r, const aten_arg *arg)
{
    clv_graph *g = r->b->g;
    int64_t i = 0;
    bool real = arg->kind == ATEN_FLOAT;
    if (!args_int(arg, &i) && !real)
        return CLV_NONE;
    uint32_t v = clv__value_add(g, NULL, CLV_VALUE_CONST,
                                real ? CLV_FLOAT32 : CLV_INT64);
    bool ok = v != CLV_NONE && clv__value_set_shape(g, v, 0, NULL);
    clv_payload *data = ok ? clv__value_data(g, v) : NULL;
    double *f = arena_alloc(&g->mem, sizeof *f);
    int64_t *own = arena_alloc(&g->mem, sizeof *own);
    if (!data || !f || !own) {
        r->no_memory = true;
        return CLV_NONE;
    }
    data->n = 1;
    if (real) {
        *f = arg->u.f;
        data->floats = f;
    } else {
        *own = i;
        data->ints = own;
    }
    return v;
}

static void args_put_tensor(aten_reading *r, const aten_word *w,
                            const aten_arg *arg)
{
    if (w->list && arg->kind == ATEN_LIST) {
        args_put_list(r, arg);
        return;
    }
    if (w->list) {
        clv__aten_put_tensors(r, arg);
        return;
    }
    uint32_t v = args_value(r, arg);
    if (arg->kind != ATEN_TENSOR && arg->kind != ATEN_NONE) {
        if (w->ours[0]) { /* a tensor, or else a number for the attribute */
            args_put_attr(r, w->key, w->ours, arg);
            return;
        }
        v = args_constant(r, arg);
        if (v == CLV_NONE)
            clv__aten_counted(r, "argument '%s' is no tensor", w->torch);
    }
    args_put_input(r, w->at ? (uint32_t)w->at - 1 : r->n_ins, v);
}

/* -- words ----------------------------------------------------------------*/

/* A number that stands for one of the names in "bilinear,nearest". */
static void args_put_name(aten_reading *r, const aten_word *w,
                          const aten_arg *arg)
{
    int64_t n = 0;
    const char *p = w->value;
    if (arg->kind == ATEN_NONE)
        return;
    bool ok = args_int(arg, &n) && n >= 0;
    for (; ok && n > 0; n--) {
        p = strchr(p, ',');
        ok = p != NULL;
        p += ok;
    }
    if (!ok) {
        clv__aten_counted(r, "argument '%s' is out of range", w->torch);
        return;
    }
    char name[sizeof w->value];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
    aten_arg text = {.kind = ATEN_STRING, .u.s = name};
    args_put_attr(r, w->key, w->ours, &text);
}

static void args_see_inplace(aten_reading *r, const char *name,
                             const aten_arg *arg)
{
    if (!strcmp(name, "inplace") && args_is_true(arg))
        r->writes = true;
}

/* Puts one argument as its word says; arg is NULL when it is left out. */
static void args_put_word(aten_reading *r, const aten_word *w,
                          const aten_arg *arg)
{
    if (arg)
        args_see_inplace(r, w->torch, arg);
    bool none = !arg || arg->kind == ATEN_NONE;
    if (w->kind == WORD_IGNORED || (!arg && !w->needed))
        return;
    if (w->kind == WORD_TENSOR)
        args_put_tensor(r, w, arg);
    else if (w->needed && none)
        clv__aten_counted(r, "argument '%s' is left to torch", w->torch);
    else if (w->kind == WORD_MUST && !args_holds(arg, w->value))
        clv__aten_counted(r, "argument '%s' is not %s", w->torch, w->value);
    else if (w->kind == WORD_ATTR && w->names)
        args_put_name(r, w, arg);
    else if (w->kind == WORD_ATTR)
        args_put_attr(r, w->key, w->ours, arg);
}

/* Words that say something by themselves. */
static void args_put_saying(aten_reading *r, const aten_word *w)
{
    aten_arg pair[2];
    if (w->kind == WORD_COUNTED)
        clv__aten_counted(r, "it has no kernel that takes its arguments");
    if (w->kind == WORD_FIRST_ONLY)
        r->first_only = true;
    if (w->kind == WORD_COMMON)
        r->common = true;
    if (w->kind == WORD_LITERAL) {
        aten_arg value = args_literal(w->value, pair);
        args_put_attr(r, w->key, w->ours, &value);
    }
}

/* -- functions ------------------------------------------------------------*/

static const aten_arg *args_named(const aten_named *list, uint32_t n,
                                  const char *names)
{
    for (uint32_t i = 0; i < n; i++)
        if (clv__aten_among(names, list[i].name))
            return &list[i].value;
    return NULL;
}

const aten_arg *clv__aten_arg(const aten_call *c, uint32_t i, const char *names)
{
    return i < c->n_args ? &c->args[i]
                         : args_named(c->named, c->n_named, names);
}

/* "dim0,dim1": copies several arguments, from place *i on, to items, and leaves
 * *i at the last of them. Returns how many there are, 0 unless all are. */
static uint32_t args_gather(const aten_call *c, uint32_t *i, const char *names,
                            aten_arg items[ARGS_MAX_GATHERED])
{
    uint32_t n = 0;
    bool whole = true;
    for (const char *p = names; p; ++*i) {
        char name[48];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        const aten_arg *arg = clv__aten_arg(c, *i, name);
        whole = whole && arg && n < ARGS_MAX_GATHERED;
        if (whole)
            items[n++] = *arg;
        p = strchr(p, ',');
        p += p != NULL;
    }
    --*i;
    return whole ? n : 0;
}

/* A keyword that no word names must not matter. */
static void args_check_keyword(aten_reading *r, const aten_named *k)
{
    args_see_inplace(r, k->name, &k->value);
    bool known = k->value.kind == ATEN_NONE;
    for (size_t i = 0;
         !known && i < sizeof args_harmless / sizeof *args_harmless; i++)
        known = !strcmp(args_harmless[i], k->name);
    for (uint32_t i = 0; !known && i < r->row->n_words; i++) {
        const aten_word *w = &r->row->words[i];
        known = clv__aten_takes(w) && clv__aten_among(w->torch, k->name);
    }
    if (!known)
        clv__aten_counted(r, "argument '%s' is not carried over", k->name);
}

/* Arguments that no word stands for. */
static void args_check_rest(aten_reading *r, uint32_t from)
{
    for (uint32_t i = from; i < r->call->n_args; i++)
        if (r->call->args[i].kind != ATEN_NONE)
            clv__aten_counted(r, "argument %u is not carried over", i + 1);
    for (uint32_t i = 0; i < r->call->n_named; i++)
        args_check_keyword(r, &r->call->named[i]);
}

/* Reads the argument of one word. *i is its place among the positional ones,
 * and is left at the last that the word took. */
static void args_read_word(aten_reading *r, const aten_word *w, uint32_t *i)
{
    const aten_call *c = r->call;
    aten_arg items[ARGS_MAX_GATHERED], pair[2], made = {.kind = ATEN_LIST};
    const aten_arg *arg;
    if (strchr(w->torch, ',')) {
        made.n = args_gather(c, i, w->torch, items);
        made.u.items = items;
        arg = made.n ? &made : NULL;
    } else {
        arg = clv__aten_arg(c, *i, w->torch);
    }
    /* permute(x, 0, 2, 1) or permute(x, dims) */
    if (arg && w->rest && *i < c->n_args && arg->kind != ATEN_LIST) {
        made.n = c->n_args - *i;
        made.u.items = &c->args[*i];
        arg = &made;
        *i = c->n_args - 1;
    }
    if (w->has_default && (!arg || arg->kind == ATEN_NONE)) {
        made = args_literal(w->otherwise, pair);
        arg = &made;
    }
    args_put_word(r, w, arg);
}

static void args_read_function(aten_reading *r)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < r->row->n_words; k++) {
        const aten_word *w = &r->row->words[k];
        if (!clv__aten_takes(w)) {
            args_put_saying(r, w);
            continue;
        }
        args_read_word(r, w, &i);
        i++;
    }
    args_check_rest(r, i);
}

/* -- modules --------------------------------------------------------------*/

/* Puts a weight after the module's inputs, or before them. A member that is no
 * tensor (None; a method, where the layer is quantised) is an absent input. */
static void args_put_weight(aten_reading *r, const aten_word *w,
                            const aten_arg *arg)
{
    uint32_t v = args_value(r, arg);
    clv__aten_put_input(r, v);
    if (w->first && v != CLV_NONE && !r->no_memory) { /* an embedding's table */
        memmove(r->ins + 1, r->ins, (r->n_ins - 1u) * sizeof *r->ins);
        r->ins[0] = v;
    }
}

/* Reads the tensors that a module is called with, then its members. */
static void args_read_module(aten_reading *r)
{
    const aten_call *c = r->call;
    for (uint32_t i = 0; i < c->n_args; i++) {
        if (c->args[i].kind == ATEN_TENSOR && r->n_ins < i)
            clv__aten_counted(r, "argument %u is absent", r->n_ins + 1);
        clv__aten_put_tensors(r, &c->args[i]);
    }
    for (uint32_t i = 0, k = 0; i < r->row->n_words; i++) {
        const aten_word *w = &r->row->words[i];
        bool given =
            k < c->n_members && (c->members[k].name == w->torch ||
                                 clv__aten_among(w->torch, c->members[k].name));
        const aten_arg *arg = given ? &c->members[k++].value : NULL;
        if (!clv__aten_takes(w))
            args_put_saying(r, w);
        else if (arg && w->kind == WORD_TENSOR)
            args_put_weight(r, w, arg);
        else if (arg)
            args_put_word(r, w, arg);
    }
    while (r->n_ins && r->ins[r->n_ins - 1] == CLV_NONE)
        r->n_ins--;
    for (uint32_t i = 0; i < c->n_args; i++)
        if (c->args[i].kind != ATEN_NONE && c->args[i].kind != ATEN_TENSOR)
            clv__aten_counted(r, "argument %u is not carried over", i + 1);
    for (uint32_t i = 0; i < c->n_named; i++)
        args_check_keyword(r, &c->named[i]);
}

void clv__aten_read(aten_reading *r)
{
    if (r->call->module)
        args_read_module(r);
    else
        args_read_function(r);
    if (r->op == CLV_OP_PAD)
        args_turn_padding(r);
}

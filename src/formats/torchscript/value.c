/* value.c - values of the interpreter. */
#include "formats/torchscript/script.h"
#include "tensor/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ts_val ts_none(void)
{
    return (ts_val){.kind = TS_V_NONE};
}

ts_val ts_int(int64_t i)
{
    return (ts_val){.kind = TS_V_INT, .u.i = i};
}

ts_val ts_float(double f)
{
    return (ts_val){.kind = TS_V_FLOAT, .u.f = f};
}

ts_val ts_bool(bool b)
{
    return (ts_val){.kind = TS_V_BOOL, .u.b = b};
}

ts_val ts_str(const char *s)
{
    return (ts_val){.kind = TS_V_STR, .u.s = s};
}

ts_val ts_tensor(uint32_t v)
{
    return (ts_val){.kind = TS_V_TENSOR, .u.value = v};
}

clv_status ts_fail(const ts_machine *m, clv_status s, clv_err *e,
                   const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    clv_vformat(text, sizeof text, fmt, ap);
    va_end(ap);
    return clv__fail(e, s, "%s, line %u: %s", m->where ? m->where : "code",
                     m->line, text);
}

/* -- lists ----------------------------------------------------------------*/

clv_status ts_new_items(ts_machine *m, ts_val_kind kind, ts_val *out,
                        clv_err *e)
{
    ts_items *items = arena_zalloc(&m->mem, sizeof *items);
    *out = (ts_val){.kind = kind, .u.items = items};
    return items ? CLV_OK : clv__nomem(e);
}

clv_status ts_append(ts_machine *m, ts_items *to, ts_val v, clv_err *e)
{
    if (to->n == to->cap) {
        size_t cap = to->cap ? 2 * to->cap : 4;
        ts_val *all = arena_array(&m->mem, cap, sizeof *all);
        if (!all)
            return clv__nomem(e);
        if (to->n)
            memcpy(all, to->v, to->n * sizeof *all);
        to->v = all;
        to->cap = cap;
    }
    to->v[to->n++] = v;
    return CLV_OK;
}

/* -- numbers --------------------------------------------------------------*/

bool ts_as_int(const ts_val *v, int64_t *out)
{
    *out = v->kind == TS_V_BOOL ? v->u.b : v->kind == TS_V_INT ? v->u.i : 0;
    return v->kind == TS_V_BOOL || v->kind == TS_V_INT;
}

bool ts_as_number(const ts_val *v, double *out)
{
    int64_t i;
    bool whole = ts_as_int(v, &i);
    *out = v->kind == TS_V_FLOAT ? v->u.f : (double)i;
    return whole || v->kind == TS_V_FLOAT;
}

/* What inference knows of a tensor of one element, or the file says. */
static bool value_known(const ts_machine *m, uint32_t v, double *out)
{
    const clv_value *x = &m->b.g->values[v];
    const clv_payload *d = x->data;
    if (d && d->n == 1 && (d->ints || d->floats)) {
        *out = d->ints ? (double)d->ints[0] : d->floats[0];
        return true;
    }
    if (!d || !d->bytes || x->kind != CLV_VALUE_CONST || x->rank != 0)
        return false;
    clv_tensor t = {.dtype = (clv_dtype)x->dtype, .data = (void *)d->bytes};
    *out = clv_tensor_get(&t, 0);
    return true;
}

bool ts_to_number(const ts_machine *m, ts_val *v)
{
    double x;
    if (v->kind != TS_V_TENSOR)
        return ts_as_number(v, &x);
    const clv_value *t = &m->b.g->values[v->u.value];
    if (t->rank != 0 || !value_known(m, v->u.value, &x))
        return false;
    *v = is_float((clv_dtype)t->dtype) ? ts_float(x) : ts_int((int64_t)x);
    v->number = true;
    return true;
}

bool ts_truth(const ts_machine *m, const ts_val *v, bool *known)
{
    double x = 0;
    *known = true;
    switch (v->kind) {
    case TS_V_NONE:
        return false;
    case TS_V_STR:
        return v->u.s[0] != '\0';
    case TS_V_LIST:
    case TS_V_TUPLE:
    case TS_V_DICT:
        return v->u.items->n != 0;
    case TS_V_TENSOR:
        *known = value_known(m, v->u.value, &x);
        return x < 0 || x > 0;
    default:
        return !ts_as_number(v, &x) || x < 0 || x > 0;
    }
}

bool ts_same(const ts_val *a, const ts_val *b)
{
    double x, y;
    if (ts_as_number(a, &x) && ts_as_number(b, &y))
        return !(x < y) && !(x > y);
    if (a->kind != b->kind)
        return false;
    if (a->kind == TS_V_STR)
        return !strcmp(a->u.s, b->u.s);
    bool list = a->kind == TS_V_LIST || a->kind == TS_V_TUPLE;
    if (!list)
        return a->kind == TS_V_NONE ||
               (a->kind == TS_V_TENSOR && a->u.value == b->u.value);
    bool same = a->u.items->n == b->u.items->n;
    for (uint32_t i = 0; same && i < a->u.items->n; i++)
        same = ts_same(&a->u.items->v[i], &b->u.items->v[i]);
    return same;
}

/* -- what the pickle holds ------------------------------------------------*/

/* A list, a tuple, or a dict: its keys and values in turn. */
static clv_status value_list(ts_machine *m, const pickle_node *n,
                             const char *path, const char *folder, ts_val *out,
                             clv_err *e)
{
    uint32_t count;
    bool dict = n->kind == PICKLE_DICT;
    pickle_node *const *items =
        dict ? pickle_pairs(n, &count) : pickle_items(n, &count);
    count *= dict ? 2 : 1;
    CLV_TRY(ts_new_items(m,
                         dict                      ? TS_V_DICT
                         : n->kind == PICKLE_TUPLE ? TS_V_TUPLE
                                                   : TS_V_LIST,
                         out, e));
    for (uint32_t i = 0; i < count; i++) {
        ts_val v;
        if (m->steps == 0 || m->depth > 100)
            return ts_fail(m, CLV_FORMAT, e, "lists without end");
        m->steps--;
        m->depth++;
        CLV_TRY(ts_of_pickle(m, items[i], path, folder, false, &v, e));
        m->depth--;
        CLV_TRY(ts_append(m, out->u.items, v, e));
    }
    return CLV_OK;
}

/* A dict is made once, so that what was written to it stays. */
static clv_status value_dict(ts_machine *m, const pickle_node *n,
                             const char *path, const char *folder, ts_val *out,
                             clv_err *e)
{
    for (uint32_t i = 0; i < m->n_dicts; i++) {
        *out = m->dicts[i].value;
        if (m->dicts[i].node == n)
            return CLV_OK;
        m->steps -= m->steps > 0;
    }
    CLV_TRY(value_list(m, n, path, folder, out, e));
    if (!CLV_GROW(m->dicts, m->n_dicts, m->cap_dicts))
        return clv__nomem(e);
    m->dicts[m->n_dicts++] = (ts_dict){n, *out};
    return CLV_OK;
}

/* "__torch__.a.b Class" and "__torch__.a.b.Class" are one name. */
static const char *value_class(ts_machine *m, const pickle_node *n)
{
    const char *path = pickle_class_path(n);
    char *own = arena_strndup(&m->mem, path, strlen(path));
    for (char *p = own; p && *p; p++)
        if (*p == ' ')
            *p = '.';
    return own;
}

static clv_status value_tensor(ts_machine *m, const char *path, bool param,
                               const torch_tensor *t, ts_val *out, clv_err *e)
{
    uint32_t v;
    int64_t n, i;
    CLV_TRY(clv__torch_numel(t, &n, e));
    if (!param && t->rank == 0 && clv__torch_int_at(t, 0, &i)) {
        *out = t->dtype == CLV_BOOL ? ts_bool(i != 0) : ts_int(i);
        out->number = true;
        return CLV_OK;
    }
    CLV_TRY(clv__torch_weight(&m->weights, path,
                              param ? CLV_VALUE_PARAM : CLV_VALUE_BUFFER, t, &v,
                              e));
    *out = ts_tensor(v);
    return CLV_OK;
}

clv_status ts_of_pickle(ts_machine *m, const pickle_node *n, const char *path,
                        const char *folder, bool param, ts_val *out, clv_err *e)
{
    torch_tensor t;
    *out = ts_none();
    switch (n->kind) {
    case PICKLE_NONE:
        return CLV_OK;
    case PICKLE_BOOL:
        *out = ts_bool(n->u.b);
        return CLV_OK;
    case PICKLE_INT:
        *out = ts_int(n->u.i);
        return CLV_OK;
    case PICKLE_FLOAT:
        *out = ts_float(n->u.f);
        return CLV_OK;
    case PICKLE_STRING:
        *out = ts_str(n->u.s);
        return CLV_OK;
    case PICKLE_LIST:
    case PICKLE_TUPLE:
        return value_list(m, n, path, folder, out, e);
    case PICKLE_DICT:
        return value_dict(m, n, path, folder, out, e);
    default:
        break;
    }
    if (pickle_tensor_in(&m->file, folder, n, &t))
        return value_tensor(m, path, param, &t, out, e);
    out->kind = TS_V_OTHER;
    if (n->kind != PICKLE_OBJECT)
        return CLV_OK;
    ts_object *o = arena_zalloc(&m->mem, sizeof *o);
    if (!o)
        return clv__nomem(e);
    *o = (ts_object){.node = n, .path = path, .cls = value_class(m, n)};
    *out = (ts_val){.kind = TS_V_OBJECT, .u.object = o};
    return o->cls ? CLV_OK : clv__nomem(e);
}

/* -- attributes -----------------------------------------------------------*/

/* Whether a class lists an attribute under "__parameters__". */
static bool value_is_param(const ts_node *cls, const char *name)
{
    const ts_node *body = cls && cls->n ? cls->kids[0] : NULL;
    for (uint32_t i = 0; body && i < body->n; i++) {
        const ts_node *line = body->kids[i];
        if (line->kind != TS_ASSIGN || line->n != 2 || !line->kids[0]->text ||
            strcmp(line->kids[0]->text, "__parameters__"))
            continue;
        for (uint32_t k = 0; k < line->kids[1]->n; k++)
            if (line->kids[1]->kids[k]->text &&
                !strcmp(line->kids[1]->kids[k]->text, name))
                return true;
    }
    return false;
}

/* A constant that the class declares with its value. */
static const ts_node *value_declared(const ts_node *cls, const char *name)
{
    const ts_node *body = cls && cls->n ? cls->kids[0] : NULL;
    for (uint32_t i = 0; body && i < body->n; i++) {
        const ts_node *line = body->kids[i];
        if (line->kind == TS_DECLARE && line->n == 2 && line->text &&
            !strcmp(line->text, name))
            return line->kids[1];
    }
    return NULL;
}

/* A literal: what a declaration may have. */
static clv_status value_literal(ts_machine *m, const ts_node *n, int depth,
                                ts_val *out, clv_err *e)
{
    bool list = n->kind == TS_LIST || n->kind == TS_TUPLE;
    *out = ts_none();
    if (n->kind == TS_NUMBER)
        *out = ts_int(n->i);
    else if (n->kind == TS_REAL)
        *out = ts_float(n->f);
    else if (n->kind == TS_TEXT)
        *out = ts_str(n->text);
    else if (n->kind == TS_ID && !strcmp(n->text, "True"))
        *out = ts_bool(true);
    else if (n->kind == TS_ID && !strcmp(n->text, "False"))
        *out = ts_bool(false);
    else if (n->kind == TS_NEGATE && n->n) {
        CLV_TRY(value_literal(m, n->kids[0], depth + 1, out, e));
        if (out->kind == TS_V_INT)
            out->u.i = -out->u.i;
        else if (out->kind == TS_V_FLOAT)
            out->u.f = -out->u.f;
    } else if (list && depth < 32) {
        CLV_TRY(ts_new_items(m, n->kind == TS_LIST ? TS_V_LIST : TS_V_TUPLE,
                             out, e));
        for (uint32_t i = 0; i < n->n; i++) {
            ts_val v;
            CLV_TRY(value_literal(m, n->kids[i], depth + 1, &v, e));
            CLV_TRY(ts_append(m, out->u.items, v, e));
        }
    }
    return CLV_OK;
}

clv_status ts_attribute(ts_machine *m, const ts_object *o, const char *name,
                        ts_val *out, clv_err *e)
{
    ts_node *cls;
    const pickle_node *n = pickle_get(o->node, name);
    CLV_TRY(ts_find(m, o->cls, &cls, e));
    if (!strcmp(name, "training")) {
        *out = ts_bool(false);
        return CLV_OK;
    }
    if (!n) {
        const ts_node *given = value_declared(cls, name);
        *out = ts_none();
        if (given)
            return value_literal(m, given, 0, out, e);
        return cls ? ts_fail(m, CLV_FORMAT, e, "'%s' has no attribute '%s'",
                             o->cls, name)
                   : CLV_OK;
    }
    char *path =
        arena_printf(&m->mem, "%s%s%s", o->path, *o->path ? "." : "", name);
    if (!path)
        return clv__nomem(e);
    return ts_of_pickle(m, n, path, "data/", value_is_param(cls, name), out, e);
}

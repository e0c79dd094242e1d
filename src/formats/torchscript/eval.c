/* eval.c - the interpreter. */
#include "formats/torchscript/script.h"

#include "core/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVAL_MAX_DEPTH = 128, EVAL_MAX_ARGS = 64, EVAL_MAX_NAME = 512 };

typedef enum eval_flow {
    FLOW_ON,
    FLOW_RETURN,
    FLOW_BREAK,
    FLOW_CONTINUE
} eval_flow;

typedef struct eval_frame {
    ts_machine *m;
    strmap names;
    ts_val *vals;
    uint32_t n;
    size_t cap;
    ts_val result;
    eval_flow flow;
} eval_frame;

static clv_status eval(eval_frame *f, const ts_node *n, uint32_t results,
                       ts_val *out, clv_err *e);

/* -- names ----------------------------------------------------------------*/

static clv_status eval_set(eval_frame *f, const char *name, ts_val v,
                           clv_err *e)
{
    uint32_t i = strmap_get(&f->names, name, strlen(name));
    if (i == CLV_NONE) {
        if (!CLV_GROW(f->vals, f->n, f->cap) ||
            !strmap_put(&f->names, name, strlen(name), f->n))
            return clv__nomem(e);
        i = f->n++;
    }
    f->vals[i] = v;
    return CLV_OK;
}

static clv_status eval_load(ts_machine *m, const char *module, ts_node **root,
                            clv_err *e)
{
    const uint8_t *text;
    size_t len;
    uint32_t i = strmap_get(&m->file_names, module, strlen(module));
    *root = i == CLV_NONE ? NULL : m->files[i].root;
    if (i != CLV_NONE)
        return CLV_OK;
    char *own = arena_strndup(&m->mem, module, strlen(module));
    char *path = arena_printf(&m->mem, "code/%s.py", module);
    if (!own || !path || !CLV_GROW(m->files, m->n_files, m->cap_files))
        return clv__nomem(e);
    for (char *p = path + 5; p[3]; p++)
        if (*p == '.')
            *p = '/';
    const zip_entry *x = clv__archive_find(&m->file.zip, path);
    if (x) {
        CLV_TRY(clv__archive_read(&m->file.zip, x, &m->mem, &text, &len, e));
        CLV_TRY(ts_parse(&m->mem, path, (const char *)text, len, root, e));
    }
    m->files[m->n_files] = (ts_file){.module = own, .root = *root};
    return strmap_put(&m->file_names, own, strlen(own), m->n_files++)
               ? CLV_OK
               : clv__nomem(e);
}

clv_status ts_find(ts_machine *m, const char *name, ts_node **out, clv_err *e)
{
    char module[EVAL_MAX_NAME];
    const char *dot = strrchr(name, '.');
    ts_node *root;
    *out = NULL;
    if (!dot || (size_t)(dot - name) >= sizeof module)
        return CLV_OK;
    memcpy(module, name, (size_t)(dot - name));
    module[dot - name] = '\0';
    CLV_TRY(eval_load(m, module, &root, e));
    for (uint32_t i = 0; root && i < root->n; i++)
        if (root->kids[i]->text && !strcmp(root->kids[i]->text, dot + 1) &&
            (root->kids[i]->kind == TS_CLASS || root->kids[i]->kind == TS_DEF))
            *out = root->kids[i];
    return CLV_OK;
}

const ts_node *ts_method(const ts_node *cls, const char *name)
{
    const ts_node *body =
        cls && cls->kind == TS_CLASS && cls->n ? cls->kids[0] : NULL;
    for (uint32_t i = 0; body && i < body->n; i++)
        if (body->kids[i]->kind == TS_DEF && body->kids[i]->text &&
            !strcmp(body->kids[i]->text, name))
            return body->kids[i];
    return NULL;
}

/* -- calls ----------------------------------------------------------------*/

typedef struct eval_args {
    ts_val v[EVAL_MAX_ARGS];
    const char *names[EVAL_MAX_ARGS];
    uint32_t n;
} eval_args;

static clv_status eval_arguments(eval_frame *f, const ts_node *call,
                                 eval_args *a, clv_err *e)
{
    for (uint32_t i = 1; i < call->n; i++) {
        const ts_node *kid = call->kids[i];
        bool named = kid->kind == TS_NAMED;
        if (a->n == EVAL_MAX_ARGS)
            return ts_fail(f->m, CLV_UNSUPPORTED, e,
                           "a call with more than %d arguments", EVAL_MAX_ARGS);
        a->names[a->n] = named ? kid->text : NULL;
        CLV_TRY(eval(f, named ? kid->kids[0] : kid, 0, &a->v[a->n], e));
        a->n++;
    }
    return CLV_OK;
}

/* A method of a module: its path and class stand for what it calls. */
static clv_status eval_method(eval_frame *f, const ts_object *o,
                              const char *name, eval_args *a, ts_val *out,
                              clv_err *e)
{
    ts_machine *m = f->m;
    ts_node *cls;
    CLV_TRY(ts_find(m, o->cls, &cls, e));
    const ts_node *def = ts_method(cls, name);
    if (!def)
        return ts_fail(m, CLV_FORMAT, e, "'%s' has no method '%s'", o->cls,
                       name);
    if (a->n == EVAL_MAX_ARGS)
        return ts_fail(m, CLV_UNSUPPORTED, e, "too many arguments");
    memmove(a->v + 1, a->v, a->n * sizeof *a->v);
    memmove(a->names + 1, a->names, a->n * sizeof *a->names);
    a->v[0] = (ts_val){.kind = TS_V_OBJECT, .u.object = o};
    a->names[0] = NULL;
    const char *path = m->path, *was = m->cls, *where = m->where;
    m->path = o->path;
    m->cls = o->cls;
    m->where = o->cls;
    clv_status s = ts_run(m, def, a->v, a->n + 1, a->names, out, e);
    m->path = path;
    m->cls = was;
    m->where = where;
    return s;
}

/* int(x), annotate(T, x), getattr(x, "0") and the like. */
static clv_status eval_plain(eval_frame *f, const char *name,
                             const ts_node *call, bool *known, ts_val *out,
                             clv_err *e)
{
    ts_machine *m = f->m;
    ts_val of;
    *known = true;
    bool typed = !strcmp(name, "annotate") || !strcmp(name, "unchecked_cast");
    if (typed && call->n == 3)
        return eval(f, call->kids[2], 0, out, e);
    if (!strcmp(name, "uninitialized")) {
        *out = ts_none();
        return CLV_OK;
    }
    if (!strcmp(name, "getattr") && call->n == 3 && call->kids[2]->text) {
        CLV_TRY(eval(f, call->kids[1], 0, &of, e));
        if (of.kind != TS_V_OBJECT)
            return ts_fail(m, CLV_UNSUPPORTED, e, "getattr of no module");
        return ts_attribute(m, of.u.object, call->kids[2]->text, out, e);
    }
    if (!strcmp(name, "isinstance") && call->n >= 3) {
        CLV_TRY(eval(f, call->kids[1], 0, &of, e));
        const char *type = call->kids[2]->text ? call->kids[2]->text : "";
        *out = ts_bool((!strcmp(type, "Tensor") && of.kind == TS_V_TENSOR) ||
                       (!strcmp(type, "int") && of.kind == TS_V_INT) ||
                       (!strcmp(type, "float") && of.kind == TS_V_FLOAT));
        return CLV_OK;
    }
    *known = false;
    return CLV_OK;
}

/* __torch__.module.Name(..): a function, or a named tuple. */
static clv_status eval_named(eval_frame *f, const char *name, eval_args *a,
                             ts_val *out, clv_err *e)
{
    ts_node *def;
    CLV_TRY(ts_find(f->m, name, &def, e));
    if (!def)
        return ts_fail(f->m, CLV_FORMAT, e, "'%s' is not in the file", name);
    if (def->kind == TS_DEF) {
        const char *where = f->m->where;
        f->m->where = name;
        clv_status s = ts_run(f->m, def, a->v, a->n, a->names, out, e);
        f->m->where = where;
        return s;
    }
    if (!def->flag)
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "it makes objects of '%s'",
                       name);
    CLV_TRY(ts_new_items(f->m, TS_V_TUPLE, out, e));
    for (uint32_t i = 0; i < a->n; i++)
        CLV_TRY(ts_append(f->m, out->u.items, a->v[i], e));
    return CLV_OK;
}

static clv_status eval_call(eval_frame *f, const ts_node *n, uint32_t results,
                            ts_val *out, clv_err *e)
{
    const ts_node *fn = n->kids[0];
    eval_args a = {.n = 0};
    ts_val of;
    bool known = false;
    f->m->line = n->line;
    if (fn->kind == TS_ID &&
        strmap_get(&f->names, fn->text, strlen(fn->text)) == CLV_NONE) {
        CLV_TRY(eval_plain(f, fn->text, n, &known, out, e));
        if (known)
            return CLV_OK;
        CLV_TRY(eval_arguments(f, n, &a, e));
        return ts_builtin(f->m, fn->text, a.v, a.n, a.names, results, out, e);
    }
    if (fn->kind == TS_ATTR) {
        CLV_TRY(eval(f, fn->kids[0], 0, &of, e));
        if (of.kind == TS_V_OBJECT) {
            CLV_TRY(eval_arguments(f, n, &a, e));
            f->m->line = n->line;
            return eval_method(f, of.u.object, fn->text, &a, out, e);
        }
    }
    CLV_TRY(eval(f, fn, 0, &of, e));
    if (of.kind != TS_V_NAME)
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "a call of no function");
    CLV_TRY(eval_arguments(f, n, &a, e));
    f->m->line = n->line;
    if (!strncmp(of.u.s, "__torch__.", 10))
        return eval_named(f, of.u.s, &a, out, e);
    return ts_builtin(f->m, of.u.s, a.v, a.n, a.names, results, out, e);
}

/* -- expressions ----------------------------------------------------------*/

static clv_status eval_id(eval_frame *f, const ts_node *n, ts_val *out,
                          clv_err *e)
{
    uint32_t i = strmap_get(&f->names, n->text, strlen(n->text));
    (void)e;
    if (i != CLV_NONE)
        *out = f->vals[i];
    else if (!strcmp(n->text, "None"))
        *out = ts_none();
    else if (!strcmp(n->text, "True") || !strcmp(n->text, "False"))
        *out = ts_bool(n->text[0] == 'T');
    else if (!strcmp(n->text, "inf"))
        *out = ts_float(INFINITY);
    else if (!strcmp(n->text, "nan"))
        *out = ts_float(NAN);
    else
        *out = (ts_val){.kind = TS_V_NAME, .u.s = n->text};
    return CLV_OK;
}

/* CONSTANTS.c3: the third of the tuple of constants. */
static clv_status eval_constant(eval_frame *f, const char *name, ts_val *out,
                                clv_err *e)
{
    ts_machine *m = f->m;
    uint32_t n, i = 0;
    pickle_node *const *items = pickle_items(m->constants, &n);
    if (sscanf(name, "c%u", &i) != 1 || i >= n)
        return ts_fail(m, CLV_FORMAT, e, "constant '%s' of %u", name, n);
    char *path = arena_printf(&m->mem, "CONSTANTS.%s", name);
    if (!path)
        return clv__nomem(e);
    torch_tensor t;
    bool weight = pickle_tensor_in(&m->file, "constants/", items[i], &t) &&
                  t.rank > 0 && t.dtype != CLV_INT64 && t.dtype != CLV_BOOL;
    return ts_of_pickle(m, items[i], path, "constants/", weight && m->frozen,
                        out, e);
}

static clv_status eval_attr(eval_frame *f, const ts_node *n, ts_val *out,
                            clv_err *e)
{
    ts_val of;
    CLV_TRY(eval(f, n->kids[0], 0, &of, e));
    f->m->line = n->line;
    if (of.kind == TS_V_OBJECT)
        return ts_attribute(f->m, of.u.object, n->text, out, e);
    if (of.kind != TS_V_NAME)
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "member '%s' of no module",
                       n->text);
    if (!strcmp(of.u.s, "CONSTANTS"))
        return eval_constant(f, n->text, out, e);
    char *name = arena_printf(&f->m->mem, "%s.%s", of.u.s, n->text);
    *out = (ts_val){.kind = TS_V_NAME, .u.s = name};
    return name ? CLV_OK : clv__nomem(e);
}

static clv_status eval_index(eval_frame *f, const ts_node *n, ts_val *out,
                             clv_err *e)
{
    ts_val of, at;
    int64_t i;
    if (n->n != 2)
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "an index of several");
    CLV_TRY(eval(f, n->kids[0], 0, &of, e));
    CLV_TRY(eval(f, n->kids[1], 0, &at, e));
    if (of.kind == TS_V_DICT) {
        for (uint32_t k = 0; k + 1 < of.u.items->n; k += 2)
            if (ts_same(&of.u.items->v[k], &at)) {
                *out = of.u.items->v[k + 1];
                return CLV_OK;
            }
        return ts_fail(f->m, CLV_FORMAT, e, "a key that is not there");
    }
    bool list = of.kind == TS_V_LIST || of.kind == TS_V_TUPLE;
    if (!list || !ts_as_int(&at, &i))
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "an index of no list");
    int64_t count = of.u.items->n;
    i += i < 0 ? count : 0;
    if (i < 0 || i >= count)
        return ts_fail(f->m, CLV_SHAPE, e, "item %lld of a list of %lld",
                       (long long)i, (long long)count);
    *out = of.u.items->v[i];
    return CLV_OK;
}

static clv_status eval_items(eval_frame *f, const ts_node *n, ts_val *out,
                             clv_err *e)
{
    ts_val_kind kind = n->kind == TS_LIST    ? TS_V_LIST
                       : n->kind == TS_TUPLE ? TS_V_TUPLE
                                             : TS_V_DICT;
    CLV_TRY(ts_new_items(f->m, kind, out, e));
    for (uint32_t i = 0; i < n->n; i++) {
        ts_val v;
        CLV_TRY(eval(f, n->kids[i], 0, &v, e));
        CLV_TRY(ts_append(f->m, out->u.items, v, e));
    }
    return CLV_OK;
}

static clv_status eval_negate(eval_frame *f, const ts_node *n, ts_val *out,
                              clv_err *e)
{
    CLV_TRY(eval(f, n->kids[0], 0, out, e));
    if (out->kind == TS_V_INT && out->u.i != INT64_MIN)
        out->u.i = -out->u.i;
    else if (out->kind == TS_V_FLOAT)
        out->u.f = -out->u.f;
    else
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "minus of no number");
    return CLV_OK;
}

static clv_status eval(eval_frame *f, const ts_node *n, uint32_t results,
                       ts_val *out, clv_err *e)
{
    ts_machine *m = f->m;
    *out = ts_none();
    if (m->steps == 0)
        return ts_fail(m, CLV_UNSUPPORTED, e, "it runs too long");
    m->steps--;
    switch (n->kind) {
    case TS_NUMBER:
        *out = ts_int(n->i);
        return CLV_OK;
    case TS_REAL:
        *out = ts_float(n->f);
        return CLV_OK;
    case TS_TEXT:
        *out = ts_str(n->text);
        return CLV_OK;
    case TS_ID:
        return eval_id(f, n, out, e);
    case TS_ATTR:
        return eval_attr(f, n, out, e);
    case TS_CALL:
        return eval_call(f, n, results, out, e);
    case TS_INDEX:
        return eval_index(f, n, out, e);
    case TS_NEGATE:
        return eval_negate(f, n, out, e);
    case TS_LIST:
    case TS_TUPLE:
    case TS_DICT:
        return eval_items(f, n, out, e);
    default:
        return CLV_OK;
    }
}

/* -- statements -----------------------------------------------------------*/

static clv_status eval_block(eval_frame *f, const ts_node *block, clv_err *e);

static clv_status eval_target(eval_frame *f, const ts_node *to, ts_val v,
                              clv_err *e)
{
    if (to->kind == TS_ID)
        return eval_set(f, to->text, v, e);
    if (to->kind == TS_ATTR) /* a module keeps a count: not for reading */
        return CLV_OK;
    return ts_fail(f->m, CLV_UNSUPPORTED, e, "an assignment to no name");
}

static clv_status eval_assign(eval_frame *f, const ts_node *n, clv_err *e)
{
    ts_val v;
    uint32_t targets = n->n - 1;
    CLV_TRY(eval(f, n->kids[targets], n->flag ? targets : 0, &v, e));
    if (!n->flag)
        return eval_target(f, n->kids[0], v, e);
    bool list = v.kind == TS_V_LIST || v.kind == TS_V_TUPLE;
    f->m->line = n->line;
    if (!list || v.u.items->n != targets)
        return ts_fail(f->m, CLV_SHAPE, e, "%u names for %u values", targets,
                       list ? v.u.items->n : 1);
    for (uint32_t i = 0; i < targets; i++)
        CLV_TRY(eval_target(f, n->kids[i], v.u.items->v[i], e));
    return CLV_OK;
}

/* Whether a condition holds; one that only data tells is refused. */
static clv_status eval_condition(eval_frame *f, const ts_node *n, bool *yes,
                                 clv_err *e)
{
    ts_val v;
    bool known;
    CLV_TRY(eval(f, n, 0, &v, e));
    *yes = ts_truth(f->m, &v, &known);
    f->m->line = n->line;
    return known ? CLV_OK
                 : ts_fail(f->m, CLV_UNSUPPORTED, e,
                           "a condition that depends on the data; "
                           "torch.export.export keeps both branches");
}

static clv_status eval_if(eval_frame *f, const ts_node *n, clv_err *e)
{
    bool yes;
    CLV_TRY(eval_condition(f, n->kids[0], &yes, e));
    if (yes)
        return eval_block(f, n->kids[1], e);
    return n->n > 2 ? eval_block(f, n->kids[2], e) : CLV_OK;
}

/* Ends a trip: true when the loop goes on. */
static bool eval_trip_ends(eval_frame *f)
{
    bool on = f->flow == FLOW_ON || f->flow == FLOW_CONTINUE;
    if (f->flow != FLOW_RETURN)
        f->flow = FLOW_ON;
    return on;
}

static clv_status eval_for(eval_frame *f, const ts_node *n, clv_err *e)
{
    ts_val list;
    int64_t count;
    CLV_TRY(eval(f, n->kids[0], 0, &list, e));
    bool items = list.kind == TS_V_LIST || list.kind == TS_V_TUPLE;
    count = items ? list.u.items->n : 0;
    f->m->line = n->line;
    if (!items && !ts_as_int(&list, &count))
        return ts_fail(f->m, CLV_UNSUPPORTED, e, "a loop over no list");
    for (int64_t i = 0; i < count; i++) {
        CLV_TRY(
            eval_set(f, n->text, items ? list.u.items->v[i] : ts_int(i), e));
        CLV_TRY(eval_block(f, n->kids[1], e));
        if (!eval_trip_ends(f))
            break;
    }
    return CLV_OK;
}

static clv_status eval_while(eval_frame *f, const ts_node *n, clv_err *e)
{
    for (;;) {
        bool yes;
        CLV_TRY(eval_condition(f, n->kids[0], &yes, e));
        if (!yes)
            return CLV_OK;
        CLV_TRY(eval_block(f, n->kids[1], e));
        if (!eval_trip_ends(f))
            return CLV_OK;
    }
}

static clv_status eval_line(eval_frame *f, const ts_node *n, clv_err *e)
{
    ts_val v;
    f->m->line = n->line;
    switch (n->kind) {
    case TS_ASSIGN:
        return eval_assign(f, n, e);
    case TS_IF:
        return eval_if(f, n, e);
    case TS_FOR:
        return eval_for(f, n, e);
    case TS_WHILE:
        return eval_while(f, n, e);
    case TS_EXPR:
        return eval(f, n->kids[0], 0, &v, e);
    case TS_BREAK:
        f->flow = FLOW_BREAK;
        return CLV_OK;
    case TS_CONTINUE:
        f->flow = FLOW_CONTINUE;
        return CLV_OK;
    case TS_RETURN:
        if (n->n)
            CLV_TRY(eval(f, n->kids[0], 0, &f->result, e));
        f->flow = FLOW_RETURN;
        return CLV_OK;
    default:
        return CLV_OK;
    }
}

static clv_status eval_block(eval_frame *f, const ts_node *block, clv_err *e)
{
    for (uint32_t i = 0; i < block->n && f->flow == FLOW_ON; i++) {
        if (f->m->steps == 0)
            return ts_fail(f->m, CLV_UNSUPPORTED, e, "it runs too long");
        f->m->steps--;
        CLV_TRY(clv__within(f->m->b.g->n_nodes, e));
        CLV_TRY(eval_line(f, block->kids[i], e));
    }
    return CLV_OK;
}

/* -- functions ------------------------------------------------------------*/

static clv_status eval_bind(eval_frame *f, const ts_node *params,
                            const ts_val *args, uint32_t n_args,
                            const char *const *names, clv_err *e)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < params->n; i++) {
        const ts_node *p = params->kids[i];
        ts_val v;
        bool given = place < n_args && !(names && names[place]);
        if (given)
            v = args[place++];
        for (uint32_t k = 0; !given && names && k < n_args; k++)
            if (names[k] && !strcmp(names[k], p->text)) {
                v = args[k];
                given = true;
            }
        if (!given && p->n < 2)
            return ts_fail(f->m, CLV_FORMAT, e, "argument '%s' is missing",
                           p->text);
        if (!given)
            CLV_TRY(eval(f, p->kids[1], 0, &v, e));
        CLV_TRY(eval_set(f, p->text, v, e));
    }
    return CLV_OK;
}

clv_status ts_run(ts_machine *m, const ts_node *def, const ts_val *args,
                  uint32_t n_args, const char *const *names, ts_val *out,
                  clv_err *e)
{
    eval_frame f = {.m = m};
    uint32_t line = m->line;
    *out = ts_none();
    if (m->depth >= EVAL_MAX_DEPTH)
        return ts_fail(m, CLV_UNSUPPORTED, e, "calls nested deeper than %d",
                       EVAL_MAX_DEPTH);
    m->depth++;
    clv_status s = eval_bind(&f, def->kids[0], args, n_args, names, e);
    if (s == CLV_OK)
        s = eval_block(&f, def->kids[def->n - 1], e);
    *out = f.result;
    m->depth--;
    m->line = line;
    strmap_free(&f.names);
    clv__free(f.vals);
    return s;
}

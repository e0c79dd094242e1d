/* meta.c - what the document says of tensors, arguments and nodes. */
#include "formats/pt2/pt2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const json *pt2_union(const json *u)
{
    const json *m = u && u->type == JSON_OBJECT ? u->child : NULL;
    while (m && m->type == JSON_NULL)
        m = m->next;
    return m;
}

/* -- scopes ---------------------------------------------------------------*/

bool pt2_index(arena *mem, const json *object, strmap *names,
               const json ***list)
{
    uint32_t n = 0, count = object ? object->n : 0;
    *list = arena_array(mem, count + 1u, sizeof **list);
    if (!*list || !strmap_reserve(names, count))
        return false;
    for (const json *m = object ? object->child : NULL; m; m = m->next) {
        if (!m->key)
            continue;
        (*list)[n] = m;
        if (!strmap_put(names, m->key, strlen(m->key), n++))
            return false;
    }
    return true;
}

static const json *scope_object(const json *graph, const char *key)
{
    const json *o = json_get(graph, key);
    return o && o->type == JSON_OBJECT ? o : NULL;
}

clv_status pt2_scope_open(pt2_scope *s, pt2_reader *r, aten_builder *b,
                          const json *graph, int depth, clv_err *e)
{
    *s = (pt2_scope){.r = r, .b = b, .graph = graph, .depth = depth};
    if (depth > PT2_MAX_DEPTH)
        return clv__fail(e, CLV_FORMAT, "graphs nested deeper than %d",
                         PT2_MAX_DEPTH);
    if (!graph || graph->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT, "a graph is missing");
    static const char *const computed[PT2_KINDS] = {
        "sym_int_values", "sym_bool_values", "sym_float_values"};
    bool ok = pt2_index(&r->mem, scope_object(graph, "tensor_values"),
                        &s->metas, &s->meta_list);
    for (int k = 0; k < PT2_KINDS; k++)
        ok = ok && pt2_index(&r->mem, scope_object(graph, computed[k]),
                             &s->syms[k], &s->sym_list[k]);
    return ok ? CLV_OK : clv__nomem(e);
}

void pt2_scope_close(pt2_scope *s)
{
    strmap_free(&s->metas);
    for (int k = 0; k < PT2_KINDS; k++)
        strmap_free(&s->syms[k]);
    strmap_free(&s->values);
}

/* -- sizes and types ------------------------------------------------------*/

bool pt2_size(pt2_reader *r, const json *size, int64_t *out)
{
    const json *m = size && size->type == JSON_INT ? size : pt2_union(size);
    *out = 0;
    if (m && m->type == JSON_INT) {
        *out = m->u.i;
        return true;
    }
    const char *expr = json_string(m, "expr_str", NULL);
    const json *hint = pt2_union(json_get(m, "hint"));
    bool hinted = hint && hint->type == JSON_INT;
    if (hinted && !r->symbols.moved) {
        *out = hint->u.i;
        return true;
    }
    return expr && pt2_symbol_eval(&r->symbols, expr, out);
}

/* Numbers that the schema gives to types; they are not torch's own. */
static clv_dtype meta_dtype(int64_t code)
{
    static const uint8_t types[] = {
        [1] = CLV_UINT8,         [2] = CLV_INT8,          [3] = CLV_INT16,
        [4] = CLV_INT32,         [5] = CLV_INT64,         [6] = CLV_FLOAT16,
        [7] = CLV_FLOAT32,       [8] = CLV_FLOAT64,       [10] = CLV_COMPLEX64,
        [11] = CLV_COMPLEX128,   [12] = CLV_BOOL,         [13] = CLV_BFLOAT16,
        [28] = CLV_UINT16,       [29] = CLV_FLOAT8E4M3,   [30] = CLV_FLOAT8E5M2,
        [31] = CLV_FLOAT8E4M3UZ, [32] = CLV_FLOAT8E5M2UZ, [33] = CLV_FLOAT8E8M0,
        [34] = CLV_UINT32,       [35] = CLV_UINT64};
    return code >= 0 && code < (int64_t)sizeof types ? (clv_dtype)types[code]
                                                     : CLV_NODTYPE;
}

/* Sizes or strides. A size that nothing tells is one; the reader says so. */
static clv_status meta_sizes(pt2_reader *r, const json *list, const char *name,
                             int64_t *out, uint32_t *n, clv_err *e)
{
    *n = 0;
    for (const json *m = list ? list->child : NULL; m; m = m->next) {
        if (*n == CLV_MAX_RANK)
            return clv__fail(e, CLV_FORMAT, "line %u: '%s' has over %d axes",
                             m->line, name, CLV_MAX_RANK);
        if (!pt2_size(r, m, &out[*n])) {
            out[*n] = 1;
            r->unbacked = true;
        }
        if (out[*n] < 0)
            return clv__fail(e, CLV_FORMAT, "line %u: '%s' has a size of %lld",
                             m->line, name, (long long)out[*n]);
        ++*n;
    }
    return CLV_OK;
}

clv_status pt2_type(pt2_reader *r, const json *meta, const char *name,
                    torch_tensor *out, clv_err *e)
{
    uint32_t n;
    *out = (torch_tensor){.dtype = meta_dtype(json_int(meta, "dtype", 0))};
    CLV_TRY(
        meta_sizes(r, json_get(meta, "sizes"), name, out->dims, &out->rank, e));
    CLV_TRY(
        meta_sizes(r, json_get(meta, "strides"), name, out->strides, &n, e));
    if (n != out->rank)
        clv__torch_dense(out);
    pt2_size(r, json_get(meta, "storage_offset"), &out->offset);
    return CLV_OK;
}

clv_status pt2_result(pt2_scope *s, const char *name, aten_type *out,
                      clv_err *e)
{
    uint32_t i = strmap_get(&s->metas, name, strlen(name));
    *out = (aten_type){.rank = CLV_NO_RANK};
    if (i == CLV_NONE)
        return CLV_OK;
    torch_tensor t;
    CLV_TRY(pt2_type(s->r, s->meta_list[i], name, &t, e));
    int64_t *dims = arena_array(&s->r->mem, t.rank + 1u, sizeof *dims);
    if (!dims)
        return clv__nomem(e);
    memcpy(dims, t.dims, t.rank * sizeof *dims);
    const clv_open_opts *opts = s->r->opts;
    *out = (aten_type){
        .dtype = clv__build_dtype(opts, t.dtype), .rank = t.rank, .dims = dims};
    return CLV_OK;
}

/* -- arguments ------------------------------------------------------------*/

clv_status pt2_value(pt2_scope *s, const char *name, uint32_t *v, clv_err *e)
{
    *v = strmap_get(&s->values, name, strlen(name));
    return *v == CLV_NONE && s->top ? pt2_weight_of(s->r, name, v, e) : CLV_OK;
}

static clv_status arg_tensor(pt2_scope *s, const json *t, aten_arg *out,
                             clv_err *e)
{
    uint32_t v;
    const char *name = json_string(t, "name", NULL);
    if (!name)
        return clv__fail(e, CLV_FORMAT, "line %u: a tensor without a name",
                         t ? t->line : 0);
    CLV_TRY(pt2_value(s, name, &v, e));
    if (v == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "line %u: tensor '%s' is not defined",
                         t->line, name);
    *out = (aten_arg){.kind = ATEN_TENSOR, .u.value = v};
    return CLV_OK;
}

/* Infinity and NaN are written as texts. */
static void arg_float(const json *m, aten_arg *out)
{
    double x = m->type == JSON_NUMBER ? m->u.d : NAN;
    if (m->type == JSON_INT)
        x = (double)m->u.i;
    else if (m->type == JSON_STRING && strstr(m->u.s, "Inf"))
        x = m->u.s[0] == '-' ? -INFINITY : INFINITY;
    *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = x};
}

/* A truth or a number that the program computes, by its expression. */
static void arg_computed(pt2_scope *s, const json *value, pt2_kind kind,
                         aten_arg *out)
{
    const json *m = pt2_union(value);
    double x = 0;
    const char *expr = json_string(m, "expr_str", NULL);
    bool told = expr && pt2_symbol_number(&s->r->symbols, expr, &x);
    if (m && m->type == JSON_BOOL)
        *out = (aten_arg){.kind = ATEN_BOOL, .u.b = m->u.b};
    else if (m && (m->type == JSON_NUMBER || m->type == JSON_INT))
        arg_float(m, out);
    else if (told && kind == PT2_BOOL)
        *out = (aten_arg){.kind = ATEN_BOOL, .u.b = x > 0};
    else if (told)
        *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = x};
}

/* The value of what the program computes, by its name; it stays ATEN_OTHER
 * where nothing tells it. */
static void arg_symbol(pt2_scope *s, const json *m, pt2_kind kind,
                       aten_arg *out)
{
    const char *name = json_string(m, "as_name", NULL);
    uint32_t i =
        name ? strmap_get(&s->syms[kind], name, strlen(name)) : CLV_NONE;
    const json *value = i == CLV_NONE ? m : s->sym_list[kind][i];
    if (kind != PT2_INT)
        arg_computed(s, value, kind, out);
    else if (pt2_size(s->r, value, &out->u.i))
        out->kind = ATEN_INT;
}

static void arg_text(const json *m, aten_arg *out)
{
    if (m->type == JSON_STRING)
        *out = (aten_arg){.kind = ATEN_STRING, .u.s = m->u.s};
}

/* One item: a bare number or text, a named tensor, or a union again. */
static clv_status arg_item(pt2_scope *s, const json *m, aten_arg *out,
                           clv_err *e)
{
    *out = (aten_arg){.kind = ATEN_OTHER};
    switch (m->type) {
    case JSON_NULL:
        out->kind = ATEN_NONE;
        return CLV_OK;
    case JSON_BOOL:
        *out = (aten_arg){.kind = ATEN_BOOL, .u.b = m->u.b};
        break;
    case JSON_INT:
        *out = (aten_arg){.kind = ATEN_INT, .u.i = m->u.i};
        break;
    case JSON_NUMBER:
        arg_float(m, out);
        break;
    case JSON_STRING:
        arg_text(m, out);
        break;
    case JSON_OBJECT:
        return json_get(m, "name") ? arg_tensor(s, m, out, e)
                                   : pt2_arg(s, m, out, e);
    case JSON_ARRAY:
        break;
    }
    return CLV_OK;
}

static clv_status arg_list(pt2_scope *s, const json *list, int depth,
                           aten_arg *out, clv_err *e)
{
    enum { LISTS_IN_LISTS = 4 };
    uint32_t n = 0;
    aten_arg *items = arena_array(&s->r->mem, list->n + 1u, sizeof *items);
    if (!items)
        return clv__nomem(e);
    for (const json *m = list->child; m; m = m->next, n++)
        if (m->type == JSON_ARRAY && depth < LISTS_IN_LISTS)
            CLV_TRY(arg_list(s, m, depth + 1, &items[n], e));
        else
            CLV_TRY(arg_item(s, m, &items[n], e));
    *out = (aten_arg){.kind = ATEN_LIST, .n = n, .u.items = items};
    return CLV_OK;
}

/* A list of numbers, some of which the program computes. */
static clv_status arg_symbols(pt2_scope *s, const json *list, aten_arg *out,
                              clv_err *e)
{
    uint32_t n = 0;
    aten_arg *items = arena_array(&s->r->mem, list->n + 1u, sizeof *items);
    if (!items)
        return clv__nomem(e);
    for (const json *m = list->child; m; m = m->next, n++) {
        items[n] = (aten_arg){.kind = ATEN_OTHER};
        arg_symbol(s, m, PT2_INT, &items[n]);
    }
    *out = (aten_arg){.kind = ATEN_LIST, .n = n, .u.items = items};
    return CLV_OK;
}

static bool arg_is(const json *m, const char *key)
{
    return !strcmp(m->key, key);
}

clv_status pt2_arg(pt2_scope *s, const json *arg, aten_arg *out, clv_err *e)
{
    const json *m = pt2_union(arg);
    *out = (aten_arg){.kind = ATEN_OTHER};
    if (!m || arg_is(m, "as_none")) {
        out->kind = ATEN_NONE;
    } else if (arg_is(m, "as_tensor")) {
        return arg_tensor(s, m, out, e);
    } else if (arg_is(m, "as_optional_tensor")) {
        return pt2_arg(s, m, out, e);
    } else if (arg_is(m, "as_float")) {
        arg_float(m, out);
    } else if (arg_is(m, "as_complex")) { /* of which only counts are known */
        *out = (aten_arg){.kind = ATEN_FLOAT, .u.f = NAN};
    } else if (arg_is(m, "as_sym_int")) {
        arg_symbol(s, m, PT2_INT, out);
    } else if (arg_is(m, "as_sym_float")) {
        arg_symbol(s, m, PT2_FLOAT, out);
    } else if (arg_is(m, "as_sym_bool")) {
        arg_symbol(s, m, PT2_BOOL, out);
    } else if (arg_is(m, "as_sym_ints") && m->type == JSON_ARRAY) {
        return arg_symbols(s, m, out, e);
    } else if (arg_is(m, "as_scalar_type") || arg_is(m, "as_memory_format") ||
               arg_is(m, "as_layout") || arg_is(m, "as_device") ||
               arg_is(m, "as_operator") || arg_is(m, "as_graph")) {
        return CLV_OK;
    } else if (m->type == JSON_ARRAY) {
        return arg_list(s, m, 0, out, e);
    } else if (m->type != JSON_OBJECT) {
        return arg_item(s, m, out, e);
    }
    return CLV_OK;
}

/* -- places ---------------------------------------------------------------*/

/* The last "key,path,class" of "..;..;..": commas within brackets are part of
 * a word. */
static void place_split(const char *stack, const char *word[3], size_t len[3])
{
    int part = 0, open = 0;
    const char *from = stack;
    memset(len, 0, 3 * sizeof *len);
    for (const char *p = stack;; p++) {
        open += *p == '[' || *p == '(' ? 1 : *p == ']' || *p == ')' ? -1 : 0;
        bool end = !*p || (*p == ';' && open <= 0);
        if (!end && (*p != ',' || open > 0))
            continue;
        if (part < 3) {
            word[part] = from;
            len[part++] = (size_t)(p - from);
        }
        from = p + 1;
        if (!*p)
            return;
        if (end)
            part = 0;
    }
}

/* A module that is called again has "@1" behind its path. */
static void place_drop_call(char *path)
{
    char *at = strrchr(path, '@');
    if (at && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1))
        *at = '\0';
}

clv_status pt2_place(pt2_reader *r, const json *node, aten_call *call,
                     clv_err *e)
{
    const json *meta = json_get(node, "metadata");
    const char *stack = json_string(meta, "nn_module_stack", "");
    const char *trace = json_string(meta, "stack_trace", NULL);
    const char *word[3] = {"", "", ""};
    size_t len[3];
    place_split(stack, word, len);
    if (!strncmp(stack, "_empty_nn_module_stack", 22))
        len[1] = len[2] = 0;
    char *path = arena_strndup(&r->mem, word[1], len[1]);
    char *cls = arena_strndup(&r->mem, word[2], len[2]);
    if (!path || !cls)
        return clv__nomem(e);
    clv__aten_path(path);
    place_drop_call(path);
    call->path = path;
    call->cls = cls;
    char source[256];
    if (trace && clv__aten_source(trace, source, sizeof source)) {
        call->source = arena_strndup(&r->mem, source, strlen(source));
        if (!call->source)
            return clv__nomem(e);
    }
    return CLV_OK;
}

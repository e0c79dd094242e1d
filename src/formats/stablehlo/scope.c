/* scope.c - names of values, and places of operations.
 *
 * A region sees the names around it. Where it becomes the body of a node, what
 * it takes from outside becomes an input of the body, and of the node behind
 * its own: found when a name is first looked up.
 *
 * jax says where an operation comes from as "jit(f)/MLP/Dense_0/add": the path
 * of the module and the operation's name. In a function that is called, names
 * start at the call. */
#include "formats/stablehlo/hlo.h"

#include "formats/formats.h"

#include <string.h>

clv_status hlo_fail(const hlo_scope *s, clv_err *e, const char *fmt, ...)
{
    char why[384], place[96];
    va_list ap;
    va_start(ap, fmt);
    clv_vformat(why, sizeof why, fmt, ap);
    va_end(ap);
    if (!s->op)
        return clv__fail(e, CLV_FORMAT, "%s", why);
    return clv__fail(
        e, CLV_FORMAT, "%s: %s",
        mlir_place(s->r->text, s->r->size, s->op->at, place, sizeof place),
        why);
}

/* -- names ----------------------------------------------------------------*/

void hlo_scope_open(hlo_scope *s, hlo_reader *r, clv_graph *g,
                    hlo_scope *parent, const hlo_scope *caller)
{
    *s = (hlo_scope){.r = r, .g = g, .parent = parent, .path = "", .name = ""};
    if (caller) {
        s->depth = caller->depth + 1;
        s->path = caller->path;
        s->lifted = caller->lifted;
        s->op = caller->op;
    }
}

void hlo_scope_close(hlo_scope *s)
{
    strmap_free(&s->names);
    clv__free(s->entries);
    clv__free(s->values);
    clv__free(s->captured);
    clv__free(s->captured_as);
}

clv_status hlo_bind(hlo_scope *s, mlir_text name, const uint32_t *values,
                    uint32_t n, clv_err *e)
{
    if (!CLV_GROW(s->entries, s->n_entries, s->cap_entries) ||
        !CLV_RESERVE(s->values, (size_t)s->n_values + n, s->cap_values))
        return clv__nomem(e);
    bool added;
    uint32_t *at = strmap_add(&s->names, name.s, name.n, s->n_entries, &added);
    if (!at)
        return clv__nomem(e);
    if (!added)
        return hlo_fail(s, e, "%%%.*s is defined twice", (int)name.n, name.s);
    s->entries[s->n_entries++] = (struct hlo_entry){s->n_values, n};
    if (n)
        memcpy(s->values + s->n_values, values, n * sizeof *values);
    s->n_values += n;
    return CLV_OK;
}

/* Makes v of the parent's graph an input of this body. */
static clv_status scope_capture(hlo_scope *s, uint32_t v, uint32_t *as,
                                clv_err *e)
{
    *as = CLV_NONE;
    if (v == CLV_NONE)
        return CLV_OK;
    for (uint32_t i = s->n_captured; i-- > 0;)
        if (s->captured[i] == v) {
            *as = s->captured_as[i];
            return CLV_OK;
        }
    const clv_value *from = &s->parent->g->values[v];
    if (!CLV_GROW(s->captured, s->n_captured, s->cap_captured) ||
        !CLV_GROW(s->captured_as, s->n_captured, s->cap_captured_as))
        return clv__nomem(e);
    char buf[128];
    const char *name = clv__value_name(s->parent->g, v, buf, sizeof buf);
    name = arena_strndup(&s->g->mem, name, strlen(name));
    *as = name ? clv__value_add(s->g, name, CLV_VALUE_INPUT,
                                (clv_dtype)from->dtype)
               : CLV_NONE;
    if (*as == CLV_NONE ||
        (from->rank != CLV_NO_RANK &&
         !clv__value_set_shape(s->g, *as, from->rank, from->dims)))
        return clv__nomem(e);
    s->g->values[*as].data = from->data;
    s->g->values[*as].flags |= from->flags & CLV_V_BOUND;
    s->captured[s->n_captured] = v;
    s->captured_as[s->n_captured++] = *as;
    return CLV_OK;
}

/* The scope that knows the name, CLV_NONE in *at when none does. */
static hlo_scope *scope_of(hlo_scope *s, mlir_text name, uint32_t *at)
{
    for (; s; s = s->parent) {
        *at = strmap_get(&s->names, name.s, name.n);
        if (*at != CLV_NONE)
            return s;
    }
    return NULL;
}

/* Hands v of scope `home` on, graph by graph, to scope s inside it. */
static clv_status scope_hand_in(hlo_scope *s, hlo_scope *home, uint32_t *v,
                                clv_err *e)
{
    if (s == home)
        return CLV_OK;
    CLV_TRY(scope_hand_in(s->parent, home, v, e));
    return s->g == s->parent->g ? CLV_OK : scope_capture(s, *v, v, e);
}

clv_status hlo_find_all(hlo_scope *s, const mlir_use *use,
                        const uint32_t **values, uint32_t *n, clv_err *e)
{
    uint32_t at = CLV_NONE;
    hlo_scope *home = scope_of(s, use->name, &at);
    if (!home || home->g != s->g)
        return hlo_fail(s, e, "%%%.*s is not defined", (int)use->name.n,
                        use->name.s);
    *values = home->values + home->entries[at].first;
    *n = home->entries[at].n;
    return CLV_OK;
}

clv_status hlo_find(hlo_scope *s, const mlir_use *use, uint32_t *v, clv_err *e)
{
    uint32_t at = CLV_NONE;
    hlo_scope *home = scope_of(s, use->name, &at);
    if (!home)
        return hlo_fail(s, e, "%%%.*s is not defined", (int)use->name.n,
                        use->name.s);
    if (use->index >= home->entries[at].n)
        return hlo_fail(s, e, "%%%.*s#%u, of %u values", (int)use->name.n,
                        use->name.s, use->index, home->entries[at].n);
    *v = home->values[home->entries[at].first + use->index];
    return scope_hand_in(s, home, v, e);
}

clv_status hlo_in(hlo_scope *s, uint32_t i, uint32_t *v, clv_err *e)
{
    *v = CLV_NONE;
    if (i >= s->op->n_ins)
        return hlo_fail(s, e, "%u operands, needs %u", s->op->n_ins, i + 1);
    CLV_TRY(hlo_find(s, &s->op->ins[i], v, e));
    return *v != CLV_NONE ? CLV_OK
                          : hlo_fail(s, e, "operand %u is no tensor", i);
}

/* -- places ---------------------------------------------------------------*/

enum { LOC_DEPTH = 32 };

static const mlir_loc *loc_behind(const mlir_module *m, const mlir_loc *loc)
{
    for (int i = 0; loc && loc->alias.n && i < LOC_DEPTH; i++) {
        const mlir_named *named = mlir_alias(m, loc->alias);
        loc = named ? named->loc : NULL;
    }
    return loc;
}

static mlir_text loc_name(const mlir_module *m, const mlir_loc *loc, int depth)
{
    loc = loc_behind(m, loc);
    if (!loc || loc->name.n || depth == 0)
        return loc ? loc->name : (mlir_text){"", 0};
    mlir_text inner = loc_name(m, loc->inner, depth - 1);
    return inner.n ? inner : loc_name(m, loc->outer, depth - 1);
}

mlir_text hlo_loc_name(const mlir_module *m, const mlir_loc *loc)
{
    return loc_name(m, loc, LOC_DEPTH / 4);
}

static bool loc_is_library(mlir_text file)
{
    static const char mark[] = "site-packages";
    for (uint32_t i = 0; i + sizeof mark - 1 <= file.n; i++)
        if (!memcmp(file.s + i, mark, sizeof mark - 1))
            return true;
    return false;
}

/* The innermost line that is not in a library, else the innermost one. */
static const mlir_loc *loc_line(const mlir_module *m, const mlir_loc *loc,
                                int depth)
{
    loc = loc_behind(m, loc);
    if (!loc || loc->file.n || depth == 0)
        return loc && loc->file.n ? loc : NULL;
    const mlir_loc *inner = loc_line(m, loc->inner, depth - 1);
    if (inner && !loc_is_library(inner->file))
        return inner;
    const mlir_loc *outer = loc_line(m, loc->outer, depth - 1);
    return outer ? outer : inner;
}

/* A part of the path: "jit(relu)" is relu; loops and calls say nothing. */
static mlir_text place_part(mlir_text t, bool first)
{
    static const char *const silent[] = {
        "while", "body", "cond", "main", "closed_call", "checkpoint", "None"};
    bool wrapped = false;
    while (t.n && t.s[t.n - 1] == ')') {
        const char *open = memchr(t.s, '(', t.n);
        if (!open)
            break;
        uint32_t skip = (uint32_t)(open - t.s) + 1;
        wrapped |= mlir_starts(t, "jit(") || mlir_starts(t, "pjit(");
        t = (mlir_text){open + 1, t.n - skip - 1};
    }
    if (wrapped && first)
        t.n = 0;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (mlir_is(t, silent[i]))
            t.n = 0;
    return t;
}

/* Parts of the name but the last, as a dotted path behind the caller's. */
static bool place_path(const hlo_scope *s, mlir_text name, bool whole,
                       clv_buf *path, mlir_text *last)
{
    bool absolute = mlir_starts(name, "jit(") || mlir_starts(name, "pjit(");
    if (!absolute)
        clv_buf_add(path, s->path, strlen(s->path));
    uint32_t from = 0;
    *last = (mlir_text){"", 0};
    for (uint32_t i = 0; i <= name.n; i++) {
        if (i < name.n && name.s[i] != '/')
            continue;
        mlir_text part =
            place_part((mlir_text){name.s + from, i - from}, from == 0);
        if (i == name.n)
            *last = part;
        if (part.n && (i < name.n || whole)) {
            if (path->len)
                clv_buf_add(path, ".", 1);
            clv_buf_add(path, part.s, part.n);
        }
        from = i + 1;
    }
    clv_buf_add(path, "", 0);
    return !path->failed;
}

static clv_status place_source(hlo_scope *s, const mlir_op *op, clv_err *e)
{
    const mlir_loc *line = loc_line(&s->r->module, op->loc, LOC_DEPTH / 4);
    s->source = NULL;
    if (!line)
        return CLV_OK;
    mlir_text f = line->file;
    for (uint32_t i = f.n; i-- > 0;)
        if (f.s[i] == '/') {
            f = (mlir_text){f.s + i + 1, f.n - i - 1};
            break;
        }
    char *text = arena_printf(&s->g->mem, "%.*s:%u", (int)f.n, f.s, line->line);
    if (!text)
        return clv__nomem(e);
    clv__import_scrub(text, strlen(text));
    s->source = text;
    return CLV_OK;
}

/* "stablehlo.add" is called add. */
static mlir_text place_short(mlir_text name)
{
    for (uint32_t i = 0; i < name.n; i++)
        if (name.s[i] == '.')
            return (mlir_text){name.s + i + 1, name.n - i - 1};
    return name;
}

clv_status hlo_place(hlo_scope *s, const mlir_op *op, clv_err *e)
{
    s->op = op;
    clv_buf path = {0};
    mlir_text last, name = hlo_loc_name(&s->r->module, op->loc);
    bool call = mlir_is(op->name, "call") || mlir_is(op->name, "func.call");
    bool ok = place_path(s, name, call, &path, &last);
    if (ok && call && !name.n) {
        mlir_text part = place_part(op->callee, false);
        if (part.n && path.len)
            clv_buf_add(&path, ".", 1);
        clv_buf_add(&path, part.s, part.n);
        ok = !path.failed;
    }
    if (!last.n)
        last = place_short(op->name);
    char *own = ok ? arena_strndup(&s->g->mem, last.s, last.n) : NULL;
    if (own)
        clv__import_scrub(own, last.n);
    if (own && path.len)
        clv__import_scrub(path.text, path.len);
    if (own)
        s->at = path.len ? clv__scope_path(s->g, path.text) : 0;
    bool done = own && s->at != CLV_NONE;
    s->name = own;
    clv_buf_free(&path);
    return done ? place_source(s, op, e) : clv__nomem(e);
}

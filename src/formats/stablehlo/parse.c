/* parse.c - operations, blocks and functions of MLIR text.
 *
 *   %a, %b:2 = "dialect.op"(%x, %y#1) <{..}> ({ region }) {..} : (..) -> ..
 *   %a = dialect.op ...                                  pretty.c
 *
 * A module holds functions, and aliases around them; it may stand in a
 * `module` operation or not. Other operations at its level (meshes of
 * shardings) are gone past. */
#include "formats/stablehlo/mlir.h"

#include <stdlib.h>
#include <string.h>

static clv_status parse_ops(mlir_parser *x, mlir_op **first);

/* -- operands -------------------------------------------------------------*/

clv_status mlir_read_use(mlir_parser *x, mlir_use *out)
{
    if (x->tok.kind != MLIR_T_VALUE)
        return mlir_bad(x, "a value was expected");
    *out = (mlir_use){x->tok.text, 0};
    if (x->p < x->end && *x->p == '#') {
        const char *p = x->p + 1;
        uint32_t n = 0;
        while (p < x->end && clv__is_digit(*p) && n < 1u << 24)
            n = n * 10 + (uint32_t)(*p++ - '0');
        out->index = n;
        x->p = p;
    }
    return mlir_next(x);
}

clv_status mlir_uses_add(mlir_parser *x, mlir_uses *u, const mlir_use *use)
{
    struct mlir_use_item *item = arena_zalloc(x->mem, sizeof *item);
    if (!item)
        return clv__nomem(x->e);
    item->use = *use;
    if (!u->last)
        u->last = &u->first;
    *u->last = item;
    u->last = &item->next;
    u->n++;
    return CLV_OK;
}

clv_status mlir_uses_set(mlir_parser *x, const mlir_uses *u, mlir_op *op)
{
    uint32_t n = 0;
    op->ins = arena_array(x->mem, u->n + 1u, sizeof *op->ins);
    if (!op->ins)
        return clv__nomem(x->e);
    for (struct mlir_use_item *i = u->first; i; i = i->next)
        op->ins[n++] = i->use;
    op->n_ins = n;
    return CLV_OK;
}

/* -- regions --------------------------------------------------------------*/

/* %name: type {attributes} loc(..) */
static clv_status parse_arg(mlir_parser *x, mlir_arg **out)
{
    mlir_arg *a = arena_zalloc(x->mem, sizeof *a);
    mlir_use name;
    mlir_type *type;
    mlir_attr *attrs = NULL;
    bool found;
    if (!a)
        return clv__nomem(x->e);
    CLV_TRY(mlir_read_use(x, &name));
    a->name = name.name;
    CLV_TRY(mlir_expect(x, ':'));
    CLV_TRY(mlir_read_type(x, &type));
    a->type = type;
    CLV_TRY(mlir_accept(x, '{', &found));
    if (found)
        CLV_TRY(mlir_read_members(x, '}', &attrs));
    a->attrs = attrs;
    if (mlir_at_word(x, "loc"))
        CLV_TRY(mlir_read_loc(x, &a->loc));
    *out = a;
    return CLV_OK;
}

/* ( arguments ) */
static clv_status parse_args(mlir_parser *x, mlir_region *r)
{
    mlir_arg **last = &r->args;
    while (*last)
        last = &(*last)->next;
    CLV_TRY(mlir_expect(x, '('));
    bool more = !mlir_at(x, ')');
    while (more) {
        CLV_TRY(parse_arg(x, last));
        last = &(*last)->next;
        r->n_args++;
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, ')');
}

clv_status mlir_read_region(mlir_parser *x, mlir_region *r)
{
    CLV_TRY(mlir_enter(x));
    CLV_TRY(mlir_expect(x, '{'));
    if (x->tok.kind == MLIR_T_BLOCK) {
        CLV_TRY(mlir_next(x));
        if (mlir_at(x, '('))
            CLV_TRY(parse_args(x, r));
        CLV_TRY(mlir_expect(x, ':'));
    }
    CLV_TRY(parse_ops(x, &r->ops));
    if (x->tok.kind == MLIR_T_BLOCK)
        return mlir_bad(x, "a region of several blocks is not read");
    mlir_leave(x);
    return mlir_expect(x, '}');
}

static clv_status parse_regions(mlir_parser *x, mlir_op *op)
{
    mlir_region **last = &op->regions;
    bool more = true;
    CLV_TRY(mlir_expect(x, '('));
    while (more) {
        *last = arena_zalloc(x->mem, sizeof **last);
        if (!*last)
            return clv__nomem(x->e);
        CLV_TRY(mlir_read_region(x, *last));
        last = &(*last)->next;
        op->n_regions++;
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, ')');
}

/* -- one operation --------------------------------------------------------*/

/* "dialect.op"(operands) ..., behind the name. */
static clv_status parse_generic(mlir_parser *x, mlir_op *op)
{
    mlir_uses uses = {0};
    mlir_attr *attrs = NULL;
    mlir_type *types;
    bool more, found;
    CLV_TRY(mlir_expect(x, '('));
    more = !mlir_at(x, ')');
    while (more) {
        mlir_use use;
        CLV_TRY(mlir_read_use(x, &use));
        CLV_TRY(mlir_uses_add(x, &uses, &use));
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    CLV_TRY(mlir_expect(x, ')'));
    CLV_TRY(mlir_uses_set(x, &uses, op));
    CLV_TRY(mlir_accept(x, '<', &found));
    if (found) {
        CLV_TRY(mlir_expect(x, '{'));
        CLV_TRY(mlir_read_members(x, '}', &attrs));
        CLV_TRY(mlir_expect(x, '>'));
    }
    if (mlir_at(x, '('))
        CLV_TRY(parse_regions(x, op));
    CLV_TRY(mlir_accept(x, '{', &found));
    if (found)
        CLV_TRY(mlir_read_members(x, '}', &attrs));
    op->attrs = attrs;
    const mlir_attr *callee = mlir_attr_of(attrs, "callee", NULL);
    callee = callee ? callee : mlir_attr_of(attrs, "call_target_name", NULL);
    callee = callee ? callee : mlir_attr_of(attrs, "decomposition", NULL);
    if (callee)
        op->callee = callee->text;
    CLV_TRY(mlir_expect(x, ':'));
    CLV_TRY(mlir_skip(x)); /* types of operands are those of their makers */
    if (!mlir_at_arrow(x))
        return mlir_bad(x, "'->' was expected");
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_read_types(x, &types));
    op->types = types;
    return CLV_OK;
}

/* %a, %b:2 = */
static clv_status parse_results(mlir_parser *x, mlir_op *op)
{
    mlir_arg **last = &op->outs;
    bool more = true, counted;
    while (more) {
        mlir_use name;
        mlir_arg *a = arena_zalloc(x->mem, sizeof *a);
        if (!a)
            return clv__nomem(x->e);
        CLV_TRY(mlir_read_use(x, &name));
        a->name = name.name;
        *last = a;
        last = &a->next;
        uint32_t n = 1;
        CLV_TRY(mlir_accept(x, ':', &counted));
        if (counted && (x->tok.kind != MLIR_T_NUMBER || x->tok.text.n > 6))
            return mlir_bad(x, "a number of results was expected");
        if (counted) {
            n = (uint32_t)strtoul(x->tok.text.s, NULL, 10);
            CLV_TRY(mlir_next(x));
        }
        uint32_t *counts = arena_array(x->mem, op->n_outs + 1u, sizeof *counts);
        if (!counts)
            return clv__nomem(x->e);
        if (op->n_outs)
            memcpy(counts, op->n_of, op->n_outs * sizeof *counts);
        counts[op->n_outs++] = n;
        op->n_of = counts;
        op->n_results += n;
        if (op->n_outs > 4096 || op->n_results > 1u << 20)
            return mlir_bad(x, "more results than any operation has");
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, '=');
}

/* Types and names of results must be as many. */
static clv_status parse_check_results(mlir_parser *x, mlir_op *op)
{
    uint32_t n = 0;
    for (const mlir_type *t = op->types; t; t = t->next)
        n++;
    if (n < op->n_results) {
        x->at = x->text + op->at;
        return mlir_bad(x, "%u results, but %u types", op->n_results, n);
    }
    return CLV_OK;
}

static clv_status parse_op(mlir_parser *x, mlir_op **out)
{
    mlir_op *op = arena_zalloc(x->mem, sizeof *op);
    if (!op)
        return clv__nomem(x->e);
    *out = op;
    if (x->tok.kind == MLIR_T_VALUE)
        CLV_TRY(parse_results(x, op));
    op->name = x->tok.text;
    op->at = (uint32_t)(x->at - x->text);
    bool generic = x->tok.kind == MLIR_T_STRING;
    if (!generic && x->tok.kind != MLIR_T_WORD)
        return mlir_bad(x, "an operation was expected");
    CLV_TRY(mlir_next(x));
    CLV_TRY(generic ? parse_generic(x, op) : mlir_read_pretty(x, op));
    CLV_TRY(parse_check_results(x, op));
    if (mlir_at_word(x, "loc"))
        CLV_TRY(mlir_read_loc(x, &op->loc));
    x->module->n_ops++;
    return CLV_OK;
}

static clv_status parse_ops(mlir_parser *x, mlir_op **first)
{
    mlir_op **last = first;
    while (!mlir_at(x, '}') && x->tok.kind != MLIR_T_BLOCK) {
        if (x->tok.kind == MLIR_T_END)
            return mlir_bad(x, "a region without an end");
        CLV_TRY(parse_op(x, last));
        last = &(*last)->next;
    }
    return CLV_OK;
}

/* -- functions ------------------------------------------------------------*/

/* Arguments of a function that is only declared have no names. */
static clv_status parse_signature(mlir_parser *x, mlir_func *f)
{
    if (!mlir_at(x, '('))
        return mlir_bad(x, "'(' was expected");
    const char *p = x->p;
    while (p < x->end && (*p == ' ' || *p == '\n'))
        p++;
    f->declared = p < x->end && *p != '%' && *p != ')';
    if (f->declared)
        CLV_TRY(mlir_skip(x));
    else
        CLV_TRY(parse_args(x, &f->body));
    if (!mlir_at_arrow(x))
        return CLV_OK;
    mlir_type *results;
    CLV_TRY(mlir_next(x));
    return mlir_read_types(x, &results);
}

/* func.func public @main(..) -> (..) attributes {..} { body }, behind
 * func.func. */
static clv_status parse_func(mlir_parser *x, mlir_func *f)
{
    mlir_attr *attrs = NULL;
    const mlir_loc *loc;
    while (x->tok.kind == MLIR_T_WORD) {
        f->is_private |= mlir_is(x->tok.text, "private");
        CLV_TRY(mlir_next(x));
    }
    if (x->tok.kind != MLIR_T_SYMBOL)
        return mlir_bad(x, "the name of a function was expected");
    f->name = x->tok.text;
    f->at = (uint32_t)(x->at - x->text);
    CLV_TRY(mlir_next(x));
    CLV_TRY(parse_signature(x, f));
    if (mlir_at_word(x, "attributes")) {
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_expect(x, '{'));
        CLV_TRY(mlir_read_members(x, '}', &attrs));
    }
    f->attrs = attrs;
    f->declared = !mlir_at(x, '{');
    if (!f->declared)
        CLV_TRY(mlir_read_region(x, &f->body));
    return mlir_at_word(x, "loc") ? mlir_read_loc(x, &loc) : CLV_OK;
}

/* "func.func"() <{sym_name = "main", ..}> ({ body }) : () -> () */
static clv_status parse_generic_func(mlir_parser *x, mlir_func *f)
{
    mlir_op op = {0};
    f->at = (uint32_t)(x->at - x->text);
    CLV_TRY(mlir_next(x));
    CLV_TRY(parse_generic(x, &op));
    const mlir_attr *name = mlir_attr_of(op.attrs, "sym_name", NULL);
    const mlir_attr *hidden = mlir_attr_of(op.attrs, "sym_visibility", NULL);
    if (!name || name->kind != MLIR_STRING)
        return mlir_bad(x, "a function without a name");
    f->name = name->text;
    f->attrs = op.attrs;
    f->is_private = hidden && mlir_is(hidden->text, "private");
    f->declared = !op.regions || !op.regions->ops;
    if (op.regions)
        f->body = *op.regions;
    return mlir_at_word(x, "loc") ? mlir_read_loc(x, &op.loc) : CLV_OK;
}

/* -- the module -----------------------------------------------------------*/

/* #name = attribute, #name = loc(..), !name = type */
static clv_status parse_alias(mlir_parser *x, mlir_named **last)
{
    mlir_named *n = arena_zalloc(x->mem, sizeof *n);
    mlir_attr *attr = NULL;
    bool type = x->tok.kind == MLIR_T_TYPE;
    if (!n)
        return clv__nomem(x->e);
    n->name = x->tok.text;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_expect(x, '='));
    if (mlir_at_word(x, "loc"))
        CLV_TRY(mlir_read_loc(x, &n->loc));
    else if (type)
        return mlir_bad(x, "aliases of types are not read");
    else
        CLV_TRY(mlir_read_attr(x, &attr));
    n->attr = attr;
    *last = n;
    return CLV_OK;
}

/* {-# dialect_resources: { builtin: { name: "0x..", .. } } #-} */
static clv_status parse_meta(mlir_parser *x, mlir_named **last)
{
    CLV_TRY(mlir_next(x));
    while (x->tok.kind != MLIR_T_META_END) {
        if (x->tok.kind == MLIR_T_END)
            return mlir_bad(x, "resources without an end");
        mlir_text name = x->tok.text;
        bool named = x->tok.kind == MLIR_T_WORD || x->tok.kind == MLIR_T_STRING;
        CLV_TRY(mlir_next(x));
        if (!named || !mlir_at(x, ':'))
            continue;
        CLV_TRY(mlir_next(x));
        if (x->tok.kind != MLIR_T_STRING)
            continue;
        mlir_named *n = arena_zalloc(x->mem, sizeof *n);
        mlir_attr *a = arena_zalloc(x->mem, sizeof *a);
        if (!n || !a)
            return clv__nomem(x->e);
        a->kind = MLIR_STRING;
        a->text = x->tok.text;
        *n = (mlir_named){.name = name, .attr = a};
        *last = n;
        last = &n->next;
        CLV_TRY(mlir_next(x));
    }
    return mlir_next(x);
}

/* An operation at the level of the module that is no function: all up to the
 * next that is one, or to the end. */
static clv_status parse_other(mlir_parser *x)
{
    do {
        bool open = x->tok.kind == MLIR_T_PUNCT && x->tok.text.n == 1 &&
                    strchr("([{<", x->tok.c);
        CLV_TRY(open ? mlir_skip(x) : mlir_next(x));
    } while (x->tok.kind != MLIR_T_END && !mlir_at(x, '}') &&
             !mlir_at_line(x)); /* operations start on lines of their own */
    return CLV_OK;
}

typedef struct parse_lists {
    mlir_func **func;
    mlir_named **alias, **resource;
} parse_lists;

/* What stands in a module, or in a file without one. */
static clv_status parse_members(mlir_parser *x, parse_lists *to)
{
    mlir_module *m = x->module;
    while (!mlir_at(x, '}') && x->tok.kind != MLIR_T_END) {
        bool generic =
            x->tok.kind == MLIR_T_STRING && mlir_is(x->tok.text, "func.func");
        if (mlir_at_word(x, "func.func") || mlir_at_word(x, "func") ||
            generic) {
            *to->func = arena_zalloc(x->mem, sizeof **to->func);
            if (!*to->func)
                return clv__nomem(x->e);
            if (!generic)
                CLV_TRY(mlir_next(x));
            CLV_TRY(generic ? parse_generic_func(x, *to->func)
                            : parse_func(x, *to->func));
            to->func = &(*to->func)->next;
            m->n_funcs++;
        } else if (x->tok.kind == MLIR_T_HASH || x->tok.kind == MLIR_T_TYPE) {
            CLV_TRY(parse_alias(x, to->alias));
            to->alias = &(*to->alias)->next;
        } else if (x->tok.kind == MLIR_T_META) {
            CLV_TRY(parse_meta(x, to->resource));
            while (*to->resource)
                to->resource = &(*to->resource)->next;
        } else if (mlir_at_word(x, "module") ||
                   mlir_at_word(x, "builtin.module") ||
                   (x->tok.kind == MLIR_T_STRING &&
                    mlir_is(x->tok.text, "builtin.module"))) {
            return CLV_OK;
        } else {
            CLV_TRY(parse_other(x));
        }
    }
    return CLV_OK;
}

/* module @name attributes {..} { ... }, or its generic spelling. */
static clv_status parse_module(mlir_parser *x, parse_lists *to)
{
    bool generic = x->tok.kind == MLIR_T_STRING;
    const mlir_loc *loc;
    CLV_TRY(mlir_next(x));
    if (generic) {
        CLV_TRY(mlir_skip(x)); /* () */
        if (mlir_at(x, '<'))
            CLV_TRY(mlir_skip(x));
        CLV_TRY(mlir_expect(x, '('));
    }
    if (x->tok.kind == MLIR_T_SYMBOL) {
        x->module->name = x->tok.text;
        CLV_TRY(mlir_next(x));
    }
    if (mlir_at_word(x, "attributes")) {
        CLV_TRY(mlir_next(x));
        if (!mlir_at(x, '{'))
            return mlir_bad(x, "'{' was expected");
        CLV_TRY(mlir_skip(x));
    }
    CLV_TRY(mlir_enter(x));
    CLV_TRY(mlir_expect(x, '{'));
    if (x->tok.kind == MLIR_T_BLOCK) {
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_expect(x, ':'));
    }
    CLV_TRY(parse_members(x, to));
    if (mlir_at_word(x, "module"))
        return mlir_bad(x, "a module in a module is not read");
    mlir_leave(x);
    CLV_TRY(mlir_expect(x, '}'));
    if (generic) {
        CLV_TRY(mlir_expect(x, ')'));
        if (mlir_at(x, '{'))
            CLV_TRY(mlir_skip(x));
        CLV_TRY(mlir_expect(x, ':'));
        CLV_TRY(mlir_skip(x));
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_skip(x));
    }
    return mlir_at_word(x, "loc") ? mlir_read_loc(x, &loc) : CLV_OK;
}

/* Makes a list findable by name. */
static bool parse_index(arena *mem, mlir_named *list, strmap *places,
                        mlir_named ***out)
{
    uint32_t n = 0;
    for (mlir_named *a = list; a; a = a->next)
        n++;
    *out = arena_array(mem, n + 1u, sizeof **out);
    if (!*out)
        return false;
    n = 0;
    for (mlir_named *a = list; a; a = a->next) {
        if (!strmap_put(places, a->name.s, a->name.n, n))
            return false;
        (*out)[n++] = a;
    }
    return true;
}

const mlir_named *mlir_alias(const mlir_module *m, mlir_text name)
{
    uint32_t i = strmap_get(&m->alias_places, name.s, name.n);
    return i == CLV_NONE ? NULL : m->alias_list[i];
}

void mlir_free(mlir_module *m)
{
    strmap_free(&m->alias_places);
    strmap_free(&m->resource_places);
}

clv_status mlir_parse(arena *mem, const char *text, size_t size,
                      mlir_module *out, clv_err *e)
{
    *out = (mlir_module){.name = {"", 0}};
    if (size >= UINT32_MAX)
        return clv__fail(e, CLV_FORMAT, "a text of more than 4 GB");
    mlir_parser x = {.mem = mem,
                     .text = text,
                     .end = text + size,
                     .p = text,
                     .at = text,
                     .module = out,
                     .e = e};
    parse_lists to = {&out->funcs, &out->aliases, &out->resources};
    CLV_TRY(mlir_next(&x));
    CLV_TRY(parse_members(&x, &to));
    if (x.tok.kind != MLIR_T_END && !mlir_at(&x, '}')) {
        CLV_TRY(parse_module(&x, &to));
        CLV_TRY(parse_members(&x, &to));
    }
    if (x.tok.kind != MLIR_T_END)
        return mlir_bad(&x, "the end of the text was expected");
    if (!parse_index(mem, out->aliases, &out->alias_places, &out->alias_list) ||
        !parse_index(mem, out->resources, &out->resource_places,
                     &out->resource_list))
        return clv__nomem(e);
    return CLV_OK;
}

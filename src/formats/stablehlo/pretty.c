/* pretty.c - operations in the spelling of their dialect.
 *
 * Most of them are a sequence of the same few things, in any order:
 *
 *   %x, %y#1      operands            @f              what is called
 *   name = value  an attribute        LT              a word
 *   {..}, <{..}>  attributes          [0:4, 1:9:2]    a slice
 *   : types, or : types -> types      the end
 *
 * A constant, a reduction and a loop have grammars of their own. Where an
 * operation has no types, the end of its line ends it. */
#include "formats/stablehlo/mlir.h"

#include <string.h>

typedef struct pretty {
    mlir_parser *x;
    mlir_op *op;
    mlir_uses uses;
    mlir_attr *attrs, **last;
    uint32_t open; /* round brackets */
} pretty;

static clv_status pretty_append(pretty *p, mlir_attr *a, mlir_text name)
{
    a->name = name;
    while (*p->last)
        p->last = &(*p->last)->next;
    *p->last = a;
    return CLV_OK;
}

static clv_status pretty_word_attr(pretty *p, const char *name)
{
    mlir_attr *a = arena_zalloc(p->x->mem, sizeof *a);
    if (!a)
        return clv__nomem(p->x->e);
    a->kind = MLIR_WORD;
    a->text = p->x->tok.text;
    CLV_TRY(pretty_append(p, a, (mlir_text){name, (uint32_t)strlen(name)}));
    return mlir_next(p->x);
}

/* -- types ----------------------------------------------------------------*/

static uint32_t pretty_count(const mlir_type *t)
{
    uint32_t n = 0;
    for (; t; t = t->next)
        n++;
    return n;
}

/* Behind the colon. One type may stand for operands and result alike; where
 * several do, the last ones are those of the results. */
static clv_status pretty_types(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_type *first, *more;
    bool next;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_read_types(x, &first));
    CLV_TRY(mlir_accept(x, ',', &next));
    mlir_type **last = &first;
    while (next) {
        while (*last)
            last = &(*last)->next;
        CLV_TRY(mlir_read_type(x, &more));
        *last = more;
        CLV_TRY(mlir_accept(x, ',', &next));
    }
    if (mlir_at_arrow(x)) {
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_read_types(x, &first));
    }
    const mlir_type *t = first;
    for (uint32_t n = pretty_count(t); n > p->op->n_results && t; n--)
        t = t->next;
    p->op->types = t;
    return CLV_OK;
}

/* -- parts ----------------------------------------------------------------*/

static clv_status pretty_list(pretty *p, const char *name, mlir_attr *items,
                              uint32_t n)
{
    mlir_attr *a = arena_zalloc(p->x->mem, sizeof *a);
    if (!a)
        return clv__nomem(p->x->e);
    a->kind = MLIR_LIST;
    a->items = items;
    a->n = n;
    return pretty_append(p, a, (mlir_text){name, (uint32_t)strlen(name)});
}

static clv_status pretty_number(pretty *p, mlir_attr **last)
{
    if (p->x->tok.kind != MLIR_T_NUMBER)
        return mlir_bad(p->x, "a number was expected");
    mlir_token tok = p->x->tok;
    mlir_attr *a = arena_zalloc(p->x->mem, sizeof *a);
    if (!a)
        return clv__nomem(p->x->e);
    a->kind = MLIR_INT;
    for (uint32_t i = 0; i < tok.text.n; i++)
        if (clv__is_digit(tok.text.s[i]))
            a->i = sat_add(sat_mul(a->i, 10), tok.text.s[i] - '0');
    *last = a;
    return mlir_next(p->x);
}

/* [0:4, 1:9:2] are starts, limits and strides; [1] is an index. */
static clv_status pretty_slice(pretty *p)
{
    static const char *const names[] = {"start_indices", "limit_indices",
                                        "strides"};
    mlir_attr *parts[3] = {0}, **last[3] = {parts, parts + 1, parts + 2};
    uint32_t n = 0, widest = 0;
    bool more = true;
    CLV_TRY(mlir_next(p->x));
    more = !mlir_at(p->x, ']');
    while (more) {
        uint32_t k = 0;
        bool colon = true;
        for (; k < 3 && colon; k++) {
            CLV_TRY(pretty_number(p, last[k]));
            last[k] = &(*last[k])->next;
            CLV_TRY(mlir_accept(p->x, ':', &colon));
        }
        widest = k > widest ? k : widest;
        for (; k < 3; k++) { /* a stride that is left out */
            mlir_attr *one = arena_zalloc(p->x->mem, sizeof *one);
            if (!one)
                return clv__nomem(p->x->e);
            one->kind = MLIR_INT;
            one->i = 1;
            *last[k] = one;
            last[k] = &one->next;
        }
        n++;
        CLV_TRY(mlir_accept(p->x, ',', &more));
    }
    CLV_TRY(mlir_expect(p->x, ']'));
    if (widest == 1)
        return pretty_append(p, parts[0], (mlir_text){"index", 5});
    for (uint32_t k = 0; k < 3; k++)
        CLV_TRY(pretty_list(p, names[k], parts[k], n));
    return CLV_OK;
}

/* name = value; two lists with an x between them are a list of two. */
static clv_status pretty_member(pretty *p, mlir_text name)
{
    mlir_parser *x = p->x;
    mlir_attr *a, *b;
    CLV_TRY(mlir_expect(x, '='));
    if (mlir_is(name, "dim_numbers")) {
        CLV_TRY(mlir_read_axes(x, &a));
        return pretty_append(p, a, name);
    }
    CLV_TRY(mlir_read_untyped(x, &a));
    if (!mlir_at_word(x, "x"))
        return pretty_append(p, a, name);
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_read_untyped(x, &b));
    mlir_attr *both = arena_zalloc(x->mem, sizeof *both);
    if (!both)
        return clv__nomem(x->e);
    both->kind = MLIR_LIST;
    both->items = a;
    a->next = b;
    both->n = 2;
    return pretty_append(p, both, name);
}

static clv_status pretty_word(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_text name = x->tok.text;
    const char *at = x->p;
    while (at < x->end && *at == ' ')
        at++;
    if (at < x->end && *at == '=') {
        CLV_TRY(mlir_next(x));
        return pretty_member(p, name);
    }
    return pretty_word_attr(p, "");
}

static clv_status pretty_punct(pretty *p)
{
    mlir_parser *x = p->x;
    if (mlir_at(x, '['))
        return pretty_slice(p);
    if (mlir_at(x, '{')) {
        CLV_TRY(mlir_next(x));
        return mlir_read_members(x, '}', &p->attrs);
    }
    if (mlir_at(x, '<') && x->p < x->end && *x->p == '{') {
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_read_members(x, '}', &p->attrs));
        return mlir_expect(x, '>');
    }
    if (mlir_at(x, '<'))
        return mlir_skip(x);
    if (mlir_at(x, '('))
        p->open++;
    else if (mlir_at(x, ')') && p->open)
        p->open--;
    else if (!mlir_at(x, ','))
        return mlir_bad(x, "'%.*s' was not expected", (int)x->tok.text.n,
                        x->tok.text.s);
    return mlir_next(x);
}

static clv_status pretty_part(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_use use;
    switch (x->tok.kind) {
    case MLIR_T_VALUE:
        CLV_TRY(mlir_read_use(x, &use));
        return mlir_uses_add(x, &p->uses, &use);
    case MLIR_T_SYMBOL:
        p->op->callee = x->tok.text;
        return mlir_next(x);
    case MLIR_T_STRING:
        return pretty_word_attr(p, "name");
    case MLIR_T_WORD:
        return pretty_word(p);
    case MLIR_T_PUNCT:
        return pretty_punct(p);
    case MLIR_T_HASH: {
        mlir_attr *a;
        CLV_TRY(mlir_read_attr(x, &a));
        return pretty_append(p, a, (mlir_text){"", 0});
    }
    default:
        return mlir_bad(x, "'%.*s' was not expected",
                        (int)(x->tok.text.n < 40 ? x->tok.text.n : 40),
                        x->tok.text.s);
    }
}

/* Parts up to the types, or to the end of the line. */
static clv_status pretty_parts(pretty *p)
{
    mlir_parser *x = p->x;
    while (x->tok.kind != MLIR_T_END && x->tok.kind != MLIR_T_BLOCK &&
           !mlir_at(x, '}')) {
        if (p->open == 0 && (mlir_at_line(x) || mlir_at_word(x, "loc")))
            return CLV_OK;
        if (mlir_at(x, ':'))
            return pretty_types(p);
        CLV_TRY(pretty_part(p));
    }
    return CLV_OK;
}

/* -- with grammars of their own -------------------------------------------*/

static clv_status pretty_constant(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_attr *value;
    bool dict;
    CLV_TRY(mlir_accept(x, '{', &dict));
    if (dict)
        CLV_TRY(mlir_read_members(x, '}', &p->attrs));
    CLV_TRY(mlir_read_attr(x, &value));
    p->op->types = value->type;
    return pretty_append(p, value, (mlir_text){"value", 5});
}

static clv_status pretty_region(pretty *p, mlir_arg *args, uint32_t n)
{
    mlir_region *r = arena_zalloc(p->x->mem, sizeof *r);
    mlir_region **last = &p->op->regions;
    if (!r)
        return clv__nomem(p->x->e);
    r->args = args;
    r->n_args = n;
    while (*last)
        last = &(*last)->next;
    *last = r;
    p->op->n_regions++;
    return mlir_read_region(p->x, r);
}

/* while(%i = %0, ..) : types cond { .. } do { .. } */
static clv_status pretty_while(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_arg *args = NULL, **last = &args;
    uint32_t n = 0;
    CLV_TRY(mlir_expect(x, '('));
    bool more = !mlir_at(x, ')');
    while (more) {
        mlir_use use;
        mlir_arg *a = arena_zalloc(x->mem, sizeof *a);
        if (!a)
            return clv__nomem(x->e);
        CLV_TRY(mlir_read_use(x, &use));
        a->name = use.name;
        *last = a;
        last = &a->next;
        n++;
        CLV_TRY(mlir_expect(x, '='));
        CLV_TRY(mlir_read_use(x, &use));
        CLV_TRY(mlir_uses_add(x, &p->uses, &use));
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    CLV_TRY(mlir_expect(x, ')'));
    if (mlir_at(x, ':')) {
        uint32_t results = p->op->n_results;
        p->op->n_results = n; /* all its types are those of results */
        CLV_TRY(pretty_types(p));
        p->op->n_results = results;
    }
    const mlir_type *t = p->op->types;
    for (mlir_arg *a = args; a && t; a = a->next, t = t->next)
        a->type = t;
    if (mlir_at_word(x, "attributes")) {
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_expect(x, '{'));
        CLV_TRY(mlir_read_members(x, '}', &p->attrs));
    }
    CLV_TRY(mlir_expect_word(x, "cond"));
    CLV_TRY(pretty_region(p, args, n));
    CLV_TRY(mlir_expect_word(x, "do"));
    return pretty_region(p, args, n);
}

/* reducer(%a: t, %b: t) (%c: t, %d: t) { .. }: first and second of each pair;
 * a block has all first ones before all second ones. */
static clv_status pretty_reducer(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_arg *sides[2] = {0}, **last[2] = {sides, sides + 1};
    uint32_t n = 0;
    CLV_TRY(mlir_next(x));
    while (mlir_at(x, '(')) {
        CLV_TRY(mlir_next(x));
        for (uint32_t k = 0; k < 2; k++) {
            mlir_arg *a = arena_zalloc(x->mem, sizeof *a);
            mlir_use use;
            mlir_type *type;
            if (!a)
                return clv__nomem(x->e);
            CLV_TRY(mlir_read_use(x, &use));
            CLV_TRY(mlir_expect(x, ':'));
            CLV_TRY(mlir_read_type(x, &type));
            if (mlir_at_word(x, "loc"))
                CLV_TRY(mlir_read_loc(x, &a->loc));
            a->name = use.name;
            a->type = type;
            *last[k] = a;
            last[k] = &a->next;
            n++;
            CLV_TRY(mlir_expect(x, k ? ')' : ','));
        }
    }
    *last[0] = sides[1];
    return pretty_region(p, sides[0], n);
}

/* reduce(%x init: %i), (%y init: %j) applies stablehlo.add across
 * dimensions = [1] : ..; or with a reducer behind the types. */
static clv_status pretty_reduce(pretty *p)
{
    mlir_parser *x = p->x;
    mlir_uses inits = {0};
    bool more = true;
    while (more) {
        mlir_use use;
        CLV_TRY(mlir_expect(x, '('));
        CLV_TRY(mlir_read_use(x, &use));
        CLV_TRY(mlir_uses_add(x, &p->uses, &use));
        CLV_TRY(mlir_expect_word(x, "init"));
        CLV_TRY(mlir_expect(x, ':'));
        CLV_TRY(mlir_read_use(x, &use));
        CLV_TRY(mlir_uses_add(x, &inits, &use));
        CLV_TRY(mlir_expect(x, ')'));
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    for (struct mlir_use_item *i = inits.first; i; i = i->next)
        CLV_TRY(mlir_uses_add(x, &p->uses, &i->use));
    if (mlir_at_word(x, "applies")) {
        CLV_TRY(mlir_next(x));
        if (x->tok.kind != MLIR_T_WORD)
            return mlir_bad(x, "an operation was expected");
        CLV_TRY(pretty_word_attr(p, "applies"));
    }
    CLV_TRY(mlir_expect_word(x, "across"));
    CLV_TRY(pretty_parts(p));
    return mlir_at_word(x, "reducer") ? pretty_reducer(p) : CLV_OK;
}

clv_status mlir_read_pretty(mlir_parser *x, mlir_op *op)
{
    pretty p = {.x = x, .op = op};
    p.last = &p.attrs;
    mlir_text n = op->name;
    if (mlir_is(n, "stablehlo.constant") || mlir_is(n, "mhlo.constant") ||
        mlir_is(n, "arith.constant"))
        CLV_TRY(pretty_constant(&p));
    else if (mlir_is(n, "stablehlo.while") || mlir_is(n, "mhlo.while"))
        CLV_TRY(pretty_while(&p));
    else if ((mlir_is(n, "stablehlo.reduce") || mlir_is(n, "mhlo.reduce")) &&
             mlir_at(x, '('))
        CLV_TRY(pretty_reduce(&p));
    else
        CLV_TRY(pretty_parts(&p));
    op->attrs = p.attrs;
    return mlir_uses_set(x, &p.uses, op);
}

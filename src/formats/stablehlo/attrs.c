/* attrs.c - types, attributes and locations of MLIR text.
 *
 * Attributes of dialects have grammars of their own. Those of StableHLO are
 * members (`#stablehlo.gather<offset_dims = [1], ...>`), words
 * (`#stablehlo<precision HIGH>`) or the axes of a convolution
 * (`[b, 0, f]x[0, i, o]->[b, 0, f]`, a list of three lists); what has another
 * form is gone past and kept as opaque. */
#include "formats/stablehlo/mlir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- types ----------------------------------------------------------------*/

static clv_dtype type_element(mlir_text t)
{
    static const struct {
        const char *name;
        clv_dtype is;
    } names[] = {
        {"f32", CLV_FLOAT32},
        {"f16", CLV_FLOAT16},
        {"bf16", CLV_BFLOAT16},
        {"f64", CLV_FLOAT64},
        {"tf32", CLV_FLOAT32},
        {"i1", CLV_BOOL},
        {"i2", CLV_INT2},
        {"si2", CLV_INT2},
        {"ui2", CLV_UINT2},
        {"i4", CLV_INT4},
        {"si4", CLV_INT4},
        {"ui4", CLV_UINT4},
        {"i8", CLV_INT8},
        {"si8", CLV_INT8},
        {"ui8", CLV_UINT8},
        {"i16", CLV_INT16},
        {"si16", CLV_INT16},
        {"ui16", CLV_UINT16},
        {"i32", CLV_INT32},
        {"si32", CLV_INT32},
        {"ui32", CLV_UINT32},
        {"i64", CLV_INT64},
        {"si64", CLV_INT64},
        {"ui64", CLV_UINT64},
        {"index", CLV_INT64},
        {"f8E4M3FN", CLV_FLOAT8E4M3},
        {"f8E4M3FNUZ", CLV_FLOAT8E4M3UZ},
        {"f8E5M2", CLV_FLOAT8E5M2},
        {"f8E5M2FNUZ", CLV_FLOAT8E5M2UZ},
        {"f8E8M0FNU", CLV_FLOAT8E8M0},
        {"f4E2M1FN", CLV_FLOAT4E2M1},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mlir_is(t, names[i].name))
            return names[i].is;
    return CLV_NODTYPE;
}

static bool type_is_element(mlir_text t)
{
    uint32_t i = t.n > 1 && (t.s[0] == 's' || t.s[0] == 'u') ? 1 : 0;
    bool width = t.n > i + 1 && clv__is_digit(t.s[i + 1]);
    return type_element(t) != CLV_NODTYPE || (width && t.s[i] == 'i') ||
           (t.n > 2 && t.s[0] == 'f' && clv__is_digit(t.s[1])) ||
           mlir_is(t, "none");
}

static clv_status type_new(mlir_parser *x, mlir_type **out)
{
    *out = arena_zalloc(x->mem, sizeof **out);
    return *out ? CLV_OK : clv__nomem(x->e);
}

/* complex<f32>: the current token is `complex`. */
static clv_status type_complex(mlir_parser *x, clv_dtype *out)
{
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_expect(x, '<'));
    *out = mlir_at_word(x, "f32")   ? CLV_COMPLEX64
           : mlir_at_word(x, "f64") ? CLV_COMPLEX128
                                    : CLV_NODTYPE;
    CLV_TRY(mlir_next(x));
    return mlir_expect(x, '>');
}

/* !quant.uniform<i8<-127:127>:f32, 0.1:3>: counted in what it is stored in. */
static clv_status type_quantised(mlir_parser *x, mlir_type *t)
{
    mlir_text name = x->tok.text;
    CLV_TRY(mlir_next(x));
    if (!mlir_at(x, '<'))
        return CLV_OK;
    t->quantised = mlir_starts(name, "quant.");
    const char *at = x->p;
    uint32_t n = 0;
    while (at + n < x->end && (clv__is_alnum(at[n])))
        n++;
    if (t->quantised)
        t->dtype = type_element((mlir_text){at, n});
    return mlir_skip(x);
}

/* What the elements of a tensor are; the current token starts it. */
static clv_status type_elements(mlir_parser *x, mlir_type *t)
{
    if (mlir_at_word(x, "complex"))
        return type_complex(x, &t->dtype);
    if (x->tok.kind == MLIR_T_TYPE)
        return type_quantised(x, t);
    if (x->tok.kind != MLIR_T_WORD)
        return mlir_bad(x, "an element type was expected");
    t->dtype = type_element(x->tok.text);
    CLV_TRY(mlir_next(x));
    return mlir_at(x, '<') ? mlir_skip(x) : CLV_OK;
}

/* `2x?x` before the element type. They are no tokens (x3xf32 would be a word),
 * so characters are read. */
static clv_status type_dims(mlir_parser *x, mlir_type *t)
{
    int64_t dims[CLV_MAX_RANK];
    for (;;) {
        const char *p = x->p;
        int64_t d = 0;
        x->at = p;
        while (p < x->end && *p == ' ')
            p++;
        const char *from = p;
        if (p < x->end && *p == '?') {
            d = -1;
            p++;
        } else {
            while (p < x->end && clv__is_digit(*p))
                d = sat_add(sat_mul(d, 10), *p++ - '0');
        }
        if (p == from || p >= x->end || *p != 'x')
            break;
        if (t->rank == CLV_MAX_RANK)
            return mlir_bad(x, "a tensor of more than %d axes", CLV_MAX_RANK);
        if (d == CLV_SAT)
            return mlir_bad(x, "a size of more than 63 bits");
        dims[t->rank++] = d;
        x->p = p + 1;
    }
    t->dims = arena_array(x->mem, t->rank + 1u, sizeof *t->dims);
    if (!t->dims)
        return clv__nomem(x->e);
    memcpy(t->dims, dims, t->rank * sizeof *dims);
    return mlir_next(x);
}

/* #stablehlo.bounds<?, 8>, or #stablehlo.type_extensions<bounds = [?, 8]>. */
static clv_status type_bounds(mlir_parser *x, mlir_type *t)
{
    bool bounds = x->tok.kind == MLIR_T_HASH &&
                  (mlir_is(x->tok.text, "stablehlo.bounds") ||
                   mlir_is(x->tok.text, "stablehlo.type_extensions") ||
                   mlir_is(x->tok.text, "mhlo.type_extensions"));
    if (!bounds) {
        mlir_attr *other;
        return mlir_read_attr(x, &other);
    }
    CLV_TRY(mlir_next(x));
    t->bounds = arena_array(x->mem, t->rank + 1u, sizeof *t->bounds);
    if (!t->bounds)
        return clv__nomem(x->e);
    for (uint32_t i = 0; i <= t->rank; i++)
        t->bounds[i] = -1;
    uint32_t n = 0;
    CLV_TRY(mlir_expect(x, '<'));
    while (!mlir_at(x, '>') && x->tok.kind != MLIR_T_END) {
        bool number = x->tok.kind == MLIR_T_NUMBER;
        if ((number || mlir_at(x, '?')) && n < t->rank)
            t->bounds[n++] = number ? strtoll(x->tok.text.s, NULL, 10) : -1;
        CLV_TRY(mlir_next(x));
    }
    return mlir_expect(x, '>');
}

static clv_status type_of_tensor(mlir_parser *x, mlir_type *t)
{
    if (x->p >= x->end || *x->p != '<')
        return mlir_bad(x, "'<' was expected");
    x->p++;
    if (x->p < x->end && *x->p == '*') {
        t->kind = MLIR_OTHER;
        x->p--;
        CLV_TRY(mlir_next(x));
        return mlir_skip(x);
    }
    CLV_TRY(type_dims(x, t));
    CLV_TRY(type_elements(x, t));
    bool more;
    CLV_TRY(mlir_accept(x, ',', &more));
    if (more)
        CLV_TRY(type_bounds(x, t));
    return mlir_expect(x, '>');
}

static clv_status type_dialect(mlir_parser *x, mlir_type *t)
{
    t->kind = mlir_is(x->tok.text, "stablehlo.token") ||
                      mlir_is(x->tok.text, "mhlo.token")
                  ? MLIR_TOKEN
                  : MLIR_OTHER;
    CLV_TRY(mlir_next(x));
    return mlir_at(x, '<') ? mlir_skip(x) : CLV_OK;
}

clv_status mlir_read_type(mlir_parser *x, mlir_type **out)
{
    CLV_TRY(type_new(x, out));
    mlir_type *t = *out;
    if (mlir_at_word(x, "tensor"))
        return type_of_tensor(x, t);
    if (x->tok.kind == MLIR_T_TYPE)
        return type_dialect(x, t);
    if (mlir_at_word(x, "complex"))
        return type_complex(x, &t->dtype);
    if (mlir_at(x, '(')) { /* of a function */
        t->kind = MLIR_OTHER;
        CLV_TRY(mlir_skip(x));
        if (!mlir_at_arrow(x))
            return CLV_OK;
        CLV_TRY(mlir_next(x));
        mlir_type *result;
        CLV_TRY(mlir_enter(x));
        CLV_TRY(mlir_read_type(x, &result));
        mlir_leave(x);
        return CLV_OK;
    }
    if (x->tok.kind != MLIR_T_WORD)
        return mlir_bad(x, "a type was expected");
    t->dtype = type_element(x->tok.text);
    t->kind = mlir_is(x->tok.text, "tuple") ? MLIR_TUPLE
              : t->dtype != CLV_NODTYPE     ? MLIR_TENSOR
                                            : MLIR_OTHER;
    CLV_TRY(mlir_next(x));
    return mlir_at(x, '<') ? mlir_skip(x) : CLV_OK;
}

clv_status mlir_read_types(mlir_parser *x, mlir_type **out)
{
    mlir_type **last = out;
    bool list;
    *out = NULL;
    CLV_TRY(mlir_accept(x, '(', &list));
    bool more = !list || !mlir_at(x, ')');
    while (more) {
        CLV_TRY(mlir_read_type(x, last));
        last = &(*last)->next;
        more = false;
        if (list && mlir_at(x, '{')) /* attributes of a result */
            CLV_TRY(mlir_skip(x));
        if (list)
            CLV_TRY(mlir_accept(x, ',', &more));
    }
    return list ? mlir_expect(x, ')') : CLV_OK;
}

/* -- attributes -----------------------------------------------------------*/

const mlir_attr *mlir_attr_of(const mlir_attr *attrs, const char *name,
                              const char *pretty)
{
    for (const mlir_attr *a = attrs; a; a = a->next)
        if (mlir_is(a->name, name) || (pretty && mlir_is(a->name, pretty)))
            return a;
    return NULL;
}

static clv_status attr_number(mlir_parser *x, mlir_attr *a, bool minus)
{
    char text[64];
    mlir_text t = x->tok.text;
    bool hex = t.n > 2 && t.s[1] == 'x', real = false;
    if (t.n >= sizeof text - 1)
        return mlir_bad(x, "a number of %u digits", t.n);
    for (uint32_t i = 0; i < t.n && !hex; i++)
        real |= t.s[i] == '.' || clv__lower(t.s[i]) == 'e';
    text[0] = '-';
    memcpy(text + 1, t.s, t.n);
    text[t.n + 1] = '\0';
    char *end;
    errno = 0;
    if (hex)
        a->i = (int64_t)strtoull(text + 1, &end, 16);
    else if (minus)
        a->i = strtoll(text, &end, 10);
    else
        a->i = (int64_t)strtoull(text + 1, &end, 10);
    if (!real && errno)
        return mlir_bad(x, "an integer of more than 64 bits");
    a->kind = real ? MLIR_FLOAT : MLIR_INT;
    a->f = real ? clv_text_double(minus ? text : text + 1, &end) : (double)a->i;
    return mlir_next(x);
}

/* [ items ], or array<i64: items>. */
static clv_status attr_items(mlir_parser *x, mlir_attr *a, char close)
{
    mlir_attr **last = &a->items;
    a->kind = MLIR_LIST;
    bool more = !mlir_at(x, close);
    while (more) {
        CLV_TRY(mlir_read_attr(x, last));
        last = &(*last)->next;
        a->n++;
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, close);
}

static clv_status attr_array(mlir_parser *x, mlir_attr *a)
{
    mlir_type *of;
    bool items;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_expect(x, '<'));
    CLV_TRY(mlir_read_type(x, &of));
    CLV_TRY(mlir_accept(x, ':', &items));
    if (items)
        return attr_items(x, a, '>');
    a->kind = MLIR_LIST;
    return mlir_expect(x, '>');
}

/* dense<...> : type. What is between the brackets may be large and is gone past
 * without making tokens of it. */
static clv_status attr_dense(mlir_parser *x, mlir_attr *a)
{
    bool named = mlir_at_word(x, "dense_resource");
    if (x->p >= x->end || *x->p != '<')
        return mlir_bad(x, "'<' was expected");
    const char *from = ++x->p;
    while (x->p < x->end && *x->p != '>') {
        if (*x->p == '"') {
            const char *end =
                memchr(x->p + 1, '"', (size_t)(x->end - x->p - 1));
            if (!end)
                break;
            x->p = end;
        }
        x->p++;
    }
    if (x->p >= x->end || *x->p != '>')
        return mlir_bad(x, "contents without an end");
    a->kind = named ? MLIR_RESOURCE : MLIR_DENSE;
    a->text = (mlir_text){from, (uint32_t)(x->p - from)};
    x->p++;
    CLV_TRY(mlir_next(x));
    bool typed;
    CLV_TRY(mlir_accept(x, ':', &typed));
    mlir_type *type = NULL;
    if (typed)
        CLV_TRY(mlir_read_type(x, &type));
    a->type = type;
    return CLV_OK;
}

/* [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] as three lists. */
static clv_status attr_axes(mlir_parser *x, mlir_attr *a)
{
    a->kind = MLIR_LIST;
    mlir_attr **last = &a->items;
    for (uint32_t k = 0; k < 3; k++) {
        *last = arena_zalloc(x->mem, sizeof **last);
        if (!*last)
            return clv__nomem(x->e);
        if (k == 1)
            CLV_TRY(mlir_expect_word(x, "x"));
        if (k == 2 && !mlir_at_arrow(x))
            return mlir_bad(x, "'->' was expected");
        if (k == 2)
            CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_expect(x, '['));
        CLV_TRY(attr_items(x, *last, ']'));
        last = &(*last)->next;
        a->n++;
    }
    return CLV_OK;
}

clv_status mlir_read_axes(mlir_parser *x, mlir_attr **out)
{
    *out = arena_zalloc(x->mem, sizeof **out);
    return *out ? attr_axes(x, *out) : clv__nomem(x->e);
}

/* Whether `word =` stands behind the current token, a word. */
static bool attr_at_member(const mlir_parser *x)
{
    const char *p = x->p;
    while (p < x->end && *p == ' ')
        p++;
    return x->tok.kind == MLIR_T_WORD && p < x->end && *p == '=';
}

/* #dialect.name<...>, or #dialect<name ...>, behind the name. */
static clv_status attr_dialect(mlir_parser *x, mlir_attr *a)
{
    const char *p = x->p, *at = x->at;
    mlir_token tok = x->tok;
    CLV_TRY(mlir_next(x));
    if (mlir_at(x, '['))
        CLV_TRY(attr_axes(x, a));
    else if (attr_at_member(x)) {
        a->kind = MLIR_DICT;
        return mlir_read_members(x, '>', &a->items);
    } else
        while (x->tok.kind == MLIR_T_WORD) { /* the last word says it */
            a->kind = MLIR_WORD;
            a->text = x->tok.text;
            CLV_TRY(mlir_next(x));
        }
    if (a->kind != MLIR_OPAQUE && mlir_at(x, '>'))
        return mlir_next(x);
    x->p = p; /* some other grammar */
    x->at = at;
    x->tok = tok;
    a->kind = MLIR_OPAQUE;
    return mlir_skip(x);
}

static clv_status attr_hash(mlir_parser *x, mlir_attr *a)
{
    a->text = x->tok.text;
    a->kind = MLIR_ALIAS;
    bool open = x->p < x->end && *x->p == '<';
    CLV_TRY(mlir_next(x));
    if (!open)
        return CLV_OK;
    a->kind = MLIR_OPAQUE;
    return attr_dialect(x, a);
}

static clv_status attr_type(mlir_parser *x, mlir_attr *a)
{
    mlir_type *type;
    a->kind = MLIR_TYPE;
    CLV_TRY(mlir_read_type(x, &type));
    a->type = type;
    return CLV_OK;
}

static clv_status attr_word(mlir_parser *x, mlir_attr *a)
{
    mlir_text w = x->tok.text;
    a->text = w;
    if (mlir_is(w, "true") || mlir_is(w, "false")) {
        a->kind = MLIR_BOOL;
        a->i = mlir_is(w, "true");
        return mlir_next(x);
    }
    if (mlir_is(w, "unit"))
        return mlir_next(x);
    if (mlir_is(w, "array"))
        return attr_array(x, a);
    if (mlir_is(w, "dense") || mlir_is(w, "dense_resource"))
        return attr_dense(x, a);
    if (mlir_is(w, "loc")) {
        const mlir_loc *loc;
        a->kind = MLIR_OPAQUE;
        return mlir_read_loc(x, &loc);
    }
    if (mlir_is(w, "tensor") || mlir_is(w, "complex") || mlir_is(w, "tuple") ||
        type_is_element(w))
        return attr_type(x, a);
    a->kind = MLIR_WORD;
    CLV_TRY(mlir_next(x));
    if (!mlir_at(x, '<')) /* affine_map<..>, sparse<..>: of no use here */
        return CLV_OK;
    a->kind = MLIR_OPAQUE;
    return mlir_skip(x);
}

static clv_status attr_symbol(mlir_parser *x, mlir_attr *a)
{
    a->kind = MLIR_SYMBOL;
    a->text = x->tok.text;
    CLV_TRY(mlir_next(x));
    while (x->end - x->at > 1 && mlir_at(x, ':') && *x->p == ':') { /* @a::@b */
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_next(x));
        if (x->tok.kind != MLIR_T_SYMBOL)
            return mlir_bad(x, "a symbol was expected");
        CLV_TRY(mlir_next(x));
    }
    return CLV_OK;
}

static clv_status attr_one(mlir_parser *x, mlir_attr *a)
{
    bool minus;
    switch (x->tok.kind) {
    case MLIR_T_STRING:
        a->kind = MLIR_STRING;
        a->text = x->tok.text;
        return mlir_next(x);
    case MLIR_T_SYMBOL:
        return attr_symbol(x, a);
    case MLIR_T_HASH:
        return attr_hash(x, a);
    case MLIR_T_TYPE:
        return attr_type(x, a);
    case MLIR_T_WORD:
        return attr_word(x, a);
    default:
        break;
    }
    if (mlir_at(x, '[')) {
        CLV_TRY(mlir_next(x));
        return attr_items(x, a, ']');
    }
    if (mlir_at(x, '{')) {
        a->kind = MLIR_DICT;
        CLV_TRY(mlir_next(x));
        return mlir_read_members(x, '}', &a->items);
    }
    if (mlir_at(x, '('))
        return attr_type(x, a);
    if (mlir_at(x, '?')) {
        a->kind = MLIR_INT;
        a->i = -1;
        return mlir_next(x);
    }
    CLV_TRY(mlir_accept(x, '-', &minus));
    if (x->tok.kind != MLIR_T_NUMBER)
        return mlir_bad(x, "an attribute was expected");
    return attr_number(x, a, minus);
}

clv_status mlir_read_untyped(mlir_parser *x, mlir_attr **out)
{
    mlir_attr *a = arena_zalloc(x->mem, sizeof *a);
    if (!a)
        return clv__nomem(x->e);
    *out = a;
    CLV_TRY(mlir_enter(x));
    CLV_TRY(attr_one(x, a));
    mlir_leave(x);
    return CLV_OK;
}

clv_status mlir_read_attr(mlir_parser *x, mlir_attr **out)
{
    CLV_TRY(mlir_read_untyped(x, out));
    mlir_attr *a = *out;
    bool scalar =
        a->kind == MLIR_INT || a->kind == MLIR_FLOAT || a->kind == MLIR_STRING;
    if (!scalar || !mlir_at(x, ':'))
        return CLV_OK;
    mlir_type *type;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_read_type(x, &type));
    a->type = type;
    return CLV_OK;
}

clv_status mlir_read_members(mlir_parser *x, char close, mlir_attr **list)
{
    mlir_attr **last = list;
    bool more = !mlir_at(x, close), valued;
    while (*last)
        last = &(*last)->next;
    while (more) {
        mlir_text name = x->tok.text;
        if (x->tok.kind != MLIR_T_WORD && x->tok.kind != MLIR_T_STRING)
            return mlir_bad(x, "the name of an attribute was expected");
        CLV_TRY(mlir_next(x));
        CLV_TRY(mlir_accept(x, '=', &valued));
        if (valued)
            CLV_TRY(mlir_read_attr(x, last));
        else
            *last = arena_zalloc(x->mem, sizeof **last);
        if (!*last)
            return clv__nomem(x->e);
        (*last)->name = name;
        last = &(*last)->next;
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, close);
}

/* -- locations ------------------------------------------------------------*/

static clv_status loc_body(mlir_parser *x, mlir_loc **out);

/* "file":12:3, "file":12:3 to :9, "name", "name"(inner) */
static clv_status loc_text(mlir_parser *x, mlir_loc *l)
{
    mlir_text text = x->tok.text;
    bool found;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_accept(x, ':', &found));
    if (found) {
        l->file = text;
        if (x->tok.kind == MLIR_T_NUMBER && x->tok.text.n < 9)
            l->line = (uint32_t)strtoul(x->tok.text.s, NULL, 10);
        while (x->tok.kind == MLIR_T_NUMBER || mlir_at(x, ':') ||
               mlir_at_word(x, "to"))
            CLV_TRY(mlir_next(x));
        return CLV_OK;
    }
    l->name = text;
    CLV_TRY(mlir_accept(x, '(', &found));
    if (!found)
        return CLV_OK;
    mlir_loc *inner;
    CLV_TRY(loc_body(x, &inner));
    l->inner = inner;
    return mlir_expect(x, ')');
}

static clv_status loc_callsite(mlir_parser *x, mlir_loc *l)
{
    mlir_loc *inner, *outer;
    CLV_TRY(mlir_next(x));
    CLV_TRY(mlir_expect(x, '('));
    CLV_TRY(loc_body(x, &inner));
    CLV_TRY(mlir_expect_word(x, "at"));
    CLV_TRY(loc_body(x, &outer));
    l->inner = inner;
    l->outer = outer;
    return mlir_expect(x, ')');
}

/* fused<attribute>[a, b]: the first one counts. */
static clv_status loc_fused(mlir_parser *x, mlir_loc *l)
{
    bool more = true;
    CLV_TRY(mlir_next(x));
    if (mlir_at(x, '<'))
        CLV_TRY(mlir_skip(x));
    CLV_TRY(mlir_expect(x, '['));
    while (more && !mlir_at(x, ']')) {
        mlir_loc *part;
        CLV_TRY(loc_body(x, &part));
        if (!l->inner)
            l->inner = part;
        CLV_TRY(mlir_accept(x, ',', &more));
    }
    return mlir_expect(x, ']');
}

static clv_status loc_body(mlir_parser *x, mlir_loc **out)
{
    mlir_loc *l = arena_zalloc(x->mem, sizeof *l);
    if (!l)
        return clv__nomem(x->e);
    *out = l;
    CLV_TRY(mlir_enter(x));
    if (x->tok.kind == MLIR_T_STRING)
        CLV_TRY(loc_text(x, l));
    else if (x->tok.kind == MLIR_T_HASH) {
        l->alias = x->tok.text;
        CLV_TRY(mlir_next(x));
    } else if (mlir_at_word(x, "callsite"))
        CLV_TRY(loc_callsite(x, l));
    else if (mlir_at_word(x, "fused"))
        CLV_TRY(loc_fused(x, l));
    else
        CLV_TRY(mlir_expect_word(x, "unknown"));
    mlir_leave(x);
    return CLV_OK;
}

clv_status mlir_read_loc(mlir_parser *x, const mlir_loc **out)
{
    mlir_loc *l;
    CLV_TRY(mlir_expect_word(x, "loc"));
    CLV_TRY(mlir_expect(x, '('));
    CLV_TRY(loc_body(x, &l));
    *out = l;
    return mlir_expect(x, ')');
}

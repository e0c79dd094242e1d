/* parser.c - the grammar of serialised code, by recursive descent.
 *
 *   file   (class | def)*
 *   class  'class' NAME '(' NAME ')' ':' block of declarations and defs
 *   def    'def' NAME '(' parameters ')' '->' type ':' block
 *   line   targets '=' value | name ':' type ['=' value] | if | for | while
 *          | return | pass | break | continue | value
 *   value  '-' value | atom ('.' NAME | '(' arguments ')' | '[' values ']')*
 *
 * Types are values: List[int] is an index. */
#include "formats/torchscript/script.h"

#include <math.h>
#include <string.h>

enum { PARSER_MAX_DEPTH = 200 };

typedef struct parser {
    ts_lexer x;
    ts_token t; /* the next one */
    arena *mem;
    clv_err *e;
    int depth;
} parser;

static clv_status parser_bad(const parser *s, const char *what)
{
    return clv__fail(s->e, CLV_FORMAT, "%s, line %u: %s", s->x.file, s->t.line,
                     what);
}

static clv_status parser_step(parser *s)
{
    return ts_next(&s->x, &s->t, s->e);
}

static bool parser_is(const parser *s, const char *text)
{
    size_t n = strlen(text);
    return (s->t.kind == TS_MARK || s->t.kind == TS_NAME) && s->t.len == n &&
           !memcmp(s->t.text, text, n);
}

static clv_status parser_expect(parser *s, const char *text)
{
    if (!parser_is(s, text))
        return clv__fail(s->e, CLV_FORMAT, "%s, line %u: expected '%s'",
                         s->x.file, s->t.line, text);
    return parser_step(s);
}

/* -- nodes ----------------------------------------------------------------*/

static clv_status parser_new(parser *s, ts_kind kind, ts_node **out)
{
    *out = arena_zalloc(s->mem, sizeof **out);
    if (!*out)
        return clv__nomem(s->e);
    (*out)->kind = kind;
    (*out)->line = s->t.line;
    return CLV_OK;
}

static clv_status parser_add(parser *s, ts_node *to, ts_node *kid)
{
    if (to->n == to->cap) {
        uint32_t cap = to->cap ? 2 * to->cap : 4;
        ts_node **kids = arena_array(s->mem, cap, sizeof *kids);
        if (!kids)
            return clv__nomem(s->e);
        if (to->n)
            memcpy(kids, to->kids, to->n * sizeof *kids);
        to->kids = kids;
        to->cap = cap;
    }
    to->kids[to->n++] = kid;
    return CLV_OK;
}

static clv_status parser_text(parser *s, ts_node *n)
{
    if (s->t.kind != TS_NAME)
        return parser_bad(s, "expected a name");
    n->text = arena_strndup(s->mem, s->t.text, s->t.len);
    return n->text ? parser_step(s) : clv__nomem(s->e);
}

/* -- values ---------------------------------------------------------------*/

static clv_status parser_value(parser *s, ts_node **out);

/* Values with commas between them up to the mark that closes. */
static clv_status parser_values(parser *s, ts_node *to, const char *close)
{
    while (!parser_is(s, close)) {
        ts_node *kid;
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, to, kid));
        if (to->kind == TS_DICT) {
            CLV_TRY(parser_expect(s, ":"));
            CLV_TRY(parser_value(s, &kid));
            CLV_TRY(parser_add(s, to, kid));
        }
        if (parser_is(s, ","))
            to->flag = true;
        else if (!parser_is(s, close))
            return parser_bad(s, "expected ',' or a bracket");
        if (parser_is(s, ","))
            CLV_TRY(parser_step(s));
    }
    return parser_step(s);
}

static clv_status parser_arguments(parser *s, ts_node *call)
{
    while (!parser_is(s, ")")) {
        ts_node *kid, *named;
        CLV_TRY(parser_value(s, &kid));
        if (parser_is(s, "=") && kid->kind == TS_ID) {
            CLV_TRY(parser_new(s, TS_NAMED, &named));
            CLV_TRY(parser_step(s));
            named->text = kid->text;
            CLV_TRY(parser_value(s, &kid));
            CLV_TRY(parser_add(s, named, kid));
            kid = named;
        }
        CLV_TRY(parser_add(s, call, kid));
        if (parser_is(s, ","))
            CLV_TRY(parser_step(s));
        else if (!parser_is(s, ")"))
            return parser_bad(s, "expected ',' or ')'");
    }
    return parser_step(s);
}

/* (a) is a; (a,) and (a, b) are tuples. */
static clv_status parser_parens(parser *s, ts_node **out)
{
    CLV_TRY(parser_new(s, TS_TUPLE, out));
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_values(s, *out, ")"));
    if ((*out)->n == 1 && !(*out)->flag)
        *out = (*out)->kids[0];
    return CLV_OK;
}

static clv_status parser_atom(parser *s, ts_node **out)
{
    if (parser_is(s, "("))
        return parser_parens(s, out);
    if (parser_is(s, "[") || parser_is(s, "{")) {
        bool list = parser_is(s, "[");
        CLV_TRY(parser_new(s, list ? TS_LIST : TS_DICT, out));
        CLV_TRY(parser_step(s));
        return parser_values(s, *out, list ? "]" : "}");
    }
    CLV_TRY(parser_new(s, TS_ID, out));
    (*out)->i = s->t.i;
    (*out)->f = s->t.f;
    switch (s->t.kind) {
    case TS_INT:
        (*out)->kind = TS_NUMBER;
        return parser_step(s);
    case TS_FLOAT:
        (*out)->kind = TS_REAL;
        return parser_step(s);
    case TS_STRING:
        (*out)->kind = TS_TEXT;
        (*out)->text = s->t.text;
        return parser_step(s);
    case TS_NAME:
        return parser_text(s, *out);
    default:
        return parser_bad(s, "expected a value");
    }
}

/* What may stand behind an atom, any number of times. */
static clv_status parser_trailers(parser *s, ts_node **out)
{
    for (;;) {
        ts_node *n;
        if (parser_is(s, ".")) {
            CLV_TRY(parser_new(s, TS_ATTR, &n));
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_add(s, n, *out));
            CLV_TRY(parser_text(s, n));
        } else if (parser_is(s, "(")) {
            CLV_TRY(parser_new(s, TS_CALL, &n));
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_add(s, n, *out));
            CLV_TRY(parser_arguments(s, n));
        } else if (parser_is(s, "[")) {
            CLV_TRY(parser_new(s, TS_INDEX, &n));
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_add(s, n, *out));
            CLV_TRY(parser_values(s, n, "]"));
        } else {
            return CLV_OK;
        }
        *out = n;
    }
}

static clv_status parser_value(parser *s, ts_node **out)
{
    if (++s->depth > PARSER_MAX_DEPTH)
        return parser_bad(s, "nested too deeply");
    if (parser_is(s, "-")) {
        ts_node *kid;
        CLV_TRY(parser_new(s, TS_NEGATE, out));
        CLV_TRY(parser_step(s));
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, *out, kid));
    } else {
        CLV_TRY(parser_atom(s, out));
        CLV_TRY(parser_trailers(s, out));
    }
    s->depth--;
    return CLV_OK;
}

/* -- lines ----------------------------------------------------------------*/

static clv_status parser_line(parser *s, ts_node **out);

static clv_status parser_end_line(parser *s)
{
    if (s->t.kind == TS_END)
        return CLV_OK;
    if (s->t.kind != TS_NEWLINE)
        return parser_bad(s, "expected the end of the line");
    return parser_step(s);
}

static clv_status parser_block(parser *s, ts_node **out)
{
    CLV_TRY(parser_expect(s, ":"));
    CLV_TRY(parser_end_line(s));
    CLV_TRY(parser_new(s, TS_BLOCK, out));
    if (s->t.kind != TS_INDENT) /* a class without members */
        return CLV_OK;
    CLV_TRY(parser_step(s));
    while (s->t.kind != TS_DEDENT && s->t.kind != TS_END) {
        ts_node *line;
        CLV_TRY(parser_line(s, &line));
        CLV_TRY(parser_add(s, *out, line));
    }
    return s->t.kind == TS_DEDENT ? parser_step(s) : CLV_OK;
}

static clv_status parser_parameters(parser *s, ts_node *to)
{
    CLV_TRY(parser_expect(s, "("));
    while (!parser_is(s, ")")) {
        ts_node *p, *kid;
        CLV_TRY(parser_new(s, TS_PARAM, &p));
        CLV_TRY(parser_text(s, p));
        CLV_TRY(parser_new(s, TS_NOTHING, &kid));
        if (parser_is(s, ":")) {
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_value(s, &kid));
        }
        CLV_TRY(parser_add(s, p, kid));
        if (parser_is(s, "=")) {
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_value(s, &kid));
            CLV_TRY(parser_add(s, p, kid));
        }
        CLV_TRY(parser_add(s, to, p));
        if (parser_is(s, ","))
            CLV_TRY(parser_step(s));
        else if (!parser_is(s, ")"))
            return parser_bad(s, "expected ',' or ')'");
    }
    return parser_step(s);
}

static clv_status parser_def(parser *s, ts_node **out)
{
    ts_node *kid;
    CLV_TRY(parser_new(s, TS_DEF, out));
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_text(s, *out));
    CLV_TRY(parser_new(s, TS_PARAMS, &kid));
    CLV_TRY(parser_add(s, *out, kid));
    CLV_TRY(parser_parameters(s, kid));
    if (parser_is(s, "->")) {
        CLV_TRY(parser_step(s));
        CLV_TRY(parser_value(s, &kid));
    }
    CLV_TRY(parser_block(s, &kid));
    return parser_add(s, *out, kid);
}

static clv_status parser_class(parser *s, ts_node **out)
{
    ts_node *kid, *base;
    CLV_TRY(parser_new(s, TS_CLASS, out));
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_text(s, *out));
    if (parser_is(s, "(")) {
        CLV_TRY(parser_step(s));
        CLV_TRY(parser_value(s, &base));
        (*out)->flag = base->text && !strcmp(base->text, "NamedTuple");
        CLV_TRY(parser_expect(s, ")"));
    }
    CLV_TRY(parser_block(s, &kid));
    return parser_add(s, *out, kid);
}

static clv_status parser_if(parser *s, ts_node **out)
{
    ts_node *kid;
    CLV_TRY(parser_new(s, TS_IF, out));
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_value(s, &kid));
    CLV_TRY(parser_add(s, *out, kid));
    CLV_TRY(parser_block(s, &kid));
    CLV_TRY(parser_add(s, *out, kid));
    if (!parser_is(s, "else"))
        return CLV_OK;
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_block(s, &kid));
    return parser_add(s, *out, kid);
}

static clv_status parser_loop(parser *s, ts_node **out)
{
    ts_node *kid;
    bool counted = parser_is(s, "for");
    CLV_TRY(parser_new(s, counted ? TS_FOR : TS_WHILE, out));
    CLV_TRY(parser_step(s));
    if (counted) {
        CLV_TRY(parser_text(s, *out));
        CLV_TRY(parser_expect(s, "in"));
    }
    CLV_TRY(parser_value(s, &kid));
    CLV_TRY(parser_add(s, *out, kid));
    CLV_TRY(parser_block(s, &kid));
    return parser_add(s, *out, kid);
}

static clv_status parser_return(parser *s, ts_node **out)
{
    ts_node *kid;
    CLV_TRY(parser_new(s, TS_RETURN, out));
    CLV_TRY(parser_step(s));
    if (s->t.kind != TS_NEWLINE && s->t.kind != TS_END) {
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, *out, kid));
    }
    return parser_end_line(s);
}

/* Targets and a value, a declaration, or a value alone. */
static clv_status parser_assignment(parser *s, ts_node **out)
{
    ts_node *kid, *tuple = NULL;
    CLV_TRY(parser_new(s, TS_ASSIGN, out));
    CLV_TRY(parser_value(s, &kid));
    if (parser_is(s, ":")) {
        (*out)->kind = TS_DECLARE;
        (*out)->text = kid->text;
        CLV_TRY(parser_step(s));
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, *out, kid));
        if (parser_is(s, "=")) {
            CLV_TRY(parser_step(s));
            CLV_TRY(parser_value(s, &kid));
            CLV_TRY(parser_add(s, *out, kid));
        }
        return parser_end_line(s);
    }
    CLV_TRY(parser_add(s, *out, kid));
    while (parser_is(s, ",")) {
        (*out)->flag = true;
        CLV_TRY(parser_step(s));
        if (parser_is(s, "="))
            break;
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, *out, kid));
    }
    if (!parser_is(s, "=")) {
        (*out)->kind = TS_EXPR;
        return parser_end_line(s);
    }
    CLV_TRY(parser_step(s));
    CLV_TRY(parser_value(s, &kid));
    while (parser_is(s, ",")) { /* a, b = c, d */
        if (!tuple) {
            CLV_TRY(parser_new(s, TS_TUPLE, &tuple));
            CLV_TRY(parser_add(s, tuple, kid));
        }
        CLV_TRY(parser_step(s));
        if (s->t.kind == TS_NEWLINE || s->t.kind == TS_END)
            break;
        CLV_TRY(parser_value(s, &kid));
        CLV_TRY(parser_add(s, tuple, kid));
    }
    CLV_TRY(parser_add(s, *out, tuple ? tuple : kid));
    return parser_end_line(s);
}

static clv_status parser_line_kind(parser *s, ts_node **out)
{
    static const struct {
        const char *word;
        ts_kind kind;
    } words[] = {
        {"pass", TS_PASS}, {"break", TS_BREAK}, {"continue", TS_CONTINUE}};
    if (s->t.kind == TS_NAME) {
        if (parser_is(s, "def"))
            return parser_def(s, out);
        if (parser_is(s, "class"))
            return parser_class(s, out);
        if (parser_is(s, "if"))
            return parser_if(s, out);
        if (parser_is(s, "for") || parser_is(s, "while"))
            return parser_loop(s, out);
        if (parser_is(s, "return"))
            return parser_return(s, out);
        for (size_t i = 0; i < 3; i++)
            if (parser_is(s, words[i].word)) {
                CLV_TRY(parser_new(s, words[i].kind, out));
                CLV_TRY(parser_step(s));
                return parser_end_line(s);
            }
    }
    return parser_assignment(s, out);
}

static clv_status parser_line(parser *s, ts_node **out)
{
    if (++s->depth > PARSER_MAX_DEPTH)
        return parser_bad(s, "nested too deeply");
    CLV_TRY(parser_line_kind(s, out));
    s->depth--;
    return CLV_OK;
}

clv_status ts_parse(arena *mem, const char *file, const char *text, size_t len,
                    ts_node **root, clv_err *e)
{
    parser s = {.x = {.mem = mem,
                      .p = text,
                      .end = text + len,
                      .file = file,
                      .line = 1},
                .mem = mem,
                .e = e};
    CLV_TRY(parser_step(&s));
    CLV_TRY(parser_new(&s, TS_BLOCK, root));
    while (s.t.kind != TS_END) {
        ts_node *line;
        if (s.t.kind == TS_NEWLINE || s.t.kind == TS_DEDENT) {
            CLV_TRY(parser_step(&s));
            continue;
        }
        CLV_TRY(parser_line(&s, &line));
        CLV_TRY(parser_add(&s, *root, line));
    }
    return CLV_OK;
}

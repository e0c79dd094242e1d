/* lexer.c - the text of serialised code as tokens. */
#include "formats/torchscript/script.h"

#include "core/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static clv_status lexer_bad(const ts_lexer *x, clv_err *e, const char *what)
{
    return clv__fail(e, CLV_FORMAT, "%s, line %u: %s", x->file, x->line, what);
}

static bool lexer_is_letter(char c)
{
    return clv__is_alnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* -- lines ----------------------------------------------------------------*/

/* At the start of a line: its indent becomes tokens. Lines without code are
 * skipped. True when a token was made. */
static bool lexer_indent(ts_lexer *x, ts_token *t, bool *deep)
{
    uint32_t width = 0;
    const char *p = x->p;
    for (;;) {
        while (p < x->end && *p == ' ') {
            p++;
            width++;
        }
        if (p < x->end && *p == '#')
            while (p < x->end && *p != '\n')
                p++;
        if (p >= x->end || *p != '\n')
            break;
        p++;
        x->line++;
        width = 0;
    }
    x->p = p;
    x->begun = true;
    uint32_t now = x->depth ? x->indents[x->depth - 1] : 0;
    if (p >= x->end)
        width = 0;
    if (width > now) {
        *deep = x->depth == TS_MAX_INDENT;
        if (!*deep)
            x->indents[x->depth++] = width;
        t->kind = TS_INDENT;
        return true;
    }
    while (x->depth && x->indents[x->depth - 1] > width) {
        x->depth--;
        x->owed++;
    }
    return false;
}

/* -- words ----------------------------------------------------------------*/

static clv_status lexer_number(ts_lexer *x, ts_token *t, clv_err *e)
{
    char text[64];
    size_t n = 0;
    bool real = false;
    while (x->p + n < x->end && n < sizeof text - 1) {
        char c = x->p[n];
        bool sign = (c == '-' || c == '+') && n && (x->p[n - 1] | 32) == 'e';
        if (!clv__is_digit(c) && c != '.' && (c | 32) != 'e' && !sign)
            break;
        real |= !clv__is_digit(c);
        text[n++] = c;
    }
    text[n] = '\0';
    char *end;
    errno = 0;
    t->kind = real ? TS_FLOAT : TS_INT;
    t->f = clv_text_double(text, &end);
    if (!real)
        t->i = strtoll(text, NULL, 10);
    if (*end || (!real && errno))
        return lexer_bad(x, e, "not a number");
    x->p += n;
    return CLV_OK;
}

static clv_status lexer_string(ts_lexer *x, ts_token *t, clv_err *e)
{
    char quote = *x->p++;
    const char *q = x->p;
    while (q < x->end && *q != quote && *q != '\n')
        q += *q == '\\' ? 2 : 1;
    if (q >= x->end || *q != quote)
        return lexer_bad(x, e, "a string that does not end");
    char *out = arena_alloc(x->mem, (size_t)(q - x->p) + 1);
    if (!out)
        return clv__nomem(e);
    *t = (ts_token){.kind = TS_STRING, .text = out, .line = x->line};
    while (x->p < q) {
        if (*x->p == '\\' && x->p + 1 < q)
            x->p++; /* escapes stand in messages alone */
        *out++ = *x->p++;
    }
    *out = '\0';
    x->p = q + 1;
    return CLV_OK;
}

static void lexer_mark(ts_lexer *x, ts_token *t)
{
    static const char *const two[] = {"->", "==", "!=", "<=", ">=", "//", "**"};
    *t = (ts_token){.kind = TS_MARK, .text = x->p, .len = 1, .line = x->line};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (x->end - x->p >= 2 && !memcmp(x->p, two[i], 2))
            t->len = 2;
    if (strchr("([{", *x->p))
        x->nesting++;
    if (strchr(")]}", *x->p) && x->nesting)
        x->nesting--;
    x->p += t->len;
}

static void lexer_name(ts_lexer *x, ts_token *t)
{
    *t = (ts_token){.kind = TS_NAME, .text = x->p, .line = x->line};
    while (x->p < x->end && lexer_is_letter(*x->p))
        x->p++;
    t->len = (uint32_t)(x->p - t->text);
}

clv_status ts_next(ts_lexer *x, ts_token *t, clv_err *e)
{
    bool deep = false;
    *t = (ts_token){.kind = TS_END, .text = "", .line = x->line};
    if (!x->begun && !x->nesting && lexer_indent(x, t, &deep))
        return deep ? lexer_bad(x, e, "indented too deeply") : CLV_OK;
    if (x->owed) {
        x->owed--;
        t->kind = TS_DEDENT;
        return CLV_OK;
    }
    while (x->p < x->end && (*x->p == ' ' || *x->p == '\r' || *x->p == '\t' ||
                             (*x->p == '\n' && x->nesting))) {
        x->line += *x->p == '\n';
        x->p++;
    }
    t->line = x->line;
    if (x->p >= x->end)
        return CLV_OK;
    if (*x->p == '#') {
        while (x->p < x->end && *x->p != '\n')
            x->p++;
        return ts_next(x, t, e);
    }
    if (*x->p == '\n') {
        x->p++;
        x->line++;
        x->begun = false;
        t->kind = TS_NEWLINE;
        return CLV_OK;
    }
    if (clv__is_digit(*x->p) ||
        (*x->p == '.' && x->end - x->p > 1 && clv__is_digit(x->p[1])))
        return lexer_number(x, t, e);
    if (*x->p == '"' || *x->p == '\'')
        return lexer_string(x, t, e);
    if (lexer_is_letter(*x->p))
        lexer_name(x, t);
    else
        lexer_mark(x, t);
    return CLV_OK;
}

/* lexer.c - MLIR text as tokens, one at a time. */
#include "formats/stablehlo/mlir.h"

#include <string.h>

bool mlir_is(mlir_text t, const char *word)
{
    return strlen(word) == t.n && !memcmp(t.s, word, t.n);
}

bool mlir_starts(mlir_text t, const char *word)
{
    size_t n = strlen(word);
    return n <= t.n && !memcmp(t.s, word, n);
}

bool mlir_same(mlir_text a, mlir_text b)
{
    return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

/* -- errors ---------------------------------------------------------------*/

const char *mlir_place(const char *text, size_t size, size_t at, char *buf,
                       size_t n)
{
    size_t line = 1, start = 0;
    at = at < size ? at : size;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    clv_format(buf, n, "line %zu, column %zu (byte %zu)", line, at - start + 1,
               at);
    return buf;
}

clv_status mlir_bad(const mlir_parser *x, const char *fmt, ...)
{
    char why[256], place[96];
    va_list ap;
    va_start(ap, fmt);
    clv_vformat(why, sizeof why, fmt, ap);
    va_end(ap);
    return clv__fail(x->e, CLV_FORMAT, "%s: %s",
                     mlir_place(x->text, (size_t)(x->end - x->text),
                                (size_t)(x->at - x->text), place, sizeof place),
                     why);
}

clv_status mlir_enter(mlir_parser *x)
{
    if (x->depth == MLIR_MAX_DEPTH)
        return mlir_bad(x, "more than %d brackets in each other",
                        MLIR_MAX_DEPTH);
    x->depth++;
    return CLV_OK;
}

void mlir_leave(mlir_parser *x)
{
    x->depth--;
}

/* -- tokens ---------------------------------------------------------------*/

static bool lexer_is_name(char c)
{
    return clv__is_alnum(c) || c == '_' || c == '$' || c == '.';
}

static void lexer_space(mlir_parser *x)
{
    while (x->p < x->end) {
        char c = *x->p;
        if (c == '/' && x->p + 1 < x->end && x->p[1] == '/')
            while (x->p < x->end && *x->p != '\n')
                x->p++;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            x->p++;
        else
            return;
    }
}

static clv_status lexer_quoted(mlir_parser *x)
{
    const char *from = ++x->p;
    while (x->p < x->end && *x->p != '"' && *x->p != '\n')
        x->p += *x->p == '\\' && x->p + 1 < x->end ? 2 : 1;
    if (x->p >= x->end || *x->p != '"')
        return mlir_bad(x, "a string without an end");
    x->tok.text = (mlir_text){from, (uint32_t)(x->p - from)};
    x->tok.kind = MLIR_T_STRING;
    x->p++;
    return CLV_OK;
}

/* %name, @name, #name ...; @ may have a string. */
static clv_status lexer_sigil(mlir_parser *x, mlir_token_kind kind)
{
    const char *from = ++x->p;
    if (kind == MLIR_T_SYMBOL && x->p < x->end && *x->p == '"') {
        CLV_TRY(lexer_quoted(x));
        x->tok.kind = kind;
        return CLV_OK;
    }
    while (x->p < x->end && (lexer_is_name(*x->p) || *x->p == '-')) {
        if (*x->p == '-' && (x->p + 1 == x->end || x->p[1] == '>'))
            break;
        x->p++;
    }
    if (x->p == from)
        return mlir_bad(x, "'%c' without a name", from[-1]);
    x->tok.kind = kind;
    x->tok.text = (mlir_text){from, (uint32_t)(x->p - from)};
    return CLV_OK;
}

static void lexer_digits(mlir_parser *x)
{
    const char *from = x->p;
    bool hex = x->p + 2 < x->end && x->p[0] == '0' && x->p[1] == 'x' &&
               (clv__is_digit(x->p[2]) ||
                (clv__lower(x->p[2]) >= 'a' && clv__lower(x->p[2]) <= 'f'));
    x->p += hex ? 2 : 0;
    while (x->p < x->end) {
        char c = clv__lower(*x->p);
        bool sign =
            (c == '-' || c == '+') && !hex && clv__lower(x->p[-1]) == 'e';
        bool digit = clv__is_digit(c) || (hex && c >= 'a' && c <= 'f');
        bool point = !hex && (c == '.' || (c == 'e' && x->p + 1 < x->end &&
                                           (clv__is_digit(x->p[1]) ||
                                            x->p[1] == '+' || x->p[1] == '-')));
        if (!digit && !point && !sign)
            break;
        x->p++;
    }
    x->tok.kind = MLIR_T_NUMBER;
    x->tok.text = (mlir_text){from, (uint32_t)(x->p - from)};
}

static void lexer_punct(mlir_parser *x)
{
    size_t left = (size_t)(x->end - x->p), n = 1;
    x->tok.kind = MLIR_T_PUNCT;
    x->tok.c = *x->p;
    if (left >= 2 && x->p[0] == '-' && x->p[1] == '>') {
        n = 2;
        x->tok.c = '>';
    } else if (left >= 3 && !memcmp(x->p, "{-#", 3)) {
        n = 3;
        x->tok.kind = MLIR_T_META;
    }
    x->tok.text = (mlir_text){x->p, (uint32_t)n};
    x->p += n;
}

clv_status mlir_next(mlir_parser *x)
{
    x->last = x->p;
    lexer_space(x);
    x->at = x->p;
    x->tok = (mlir_token){MLIR_T_END, {x->p, 0}, '\0'};
    if (x->p >= x->end)
        return CLV_OK;
    char c = *x->p;
    if (c == '"')
        return lexer_quoted(x);
    if (c == '%')
        return lexer_sigil(x, MLIR_T_VALUE);
    if (c == '@')
        return lexer_sigil(x, MLIR_T_SYMBOL);
    if (c == '!')
        return lexer_sigil(x, MLIR_T_TYPE);
    if (c == '^')
        return lexer_sigil(x, MLIR_T_BLOCK);
    if (c == '#' && x->end - x->p >= 3 && !memcmp(x->p, "#-}", 3)) {
        x->tok = (mlir_token){MLIR_T_META_END, {x->p, 3}, '\0'};
        x->p += 3;
        return CLV_OK;
    }
    if (c == '#')
        return lexer_sigil(x, MLIR_T_HASH);
    if (clv__is_digit(c)) {
        lexer_digits(x);
        return CLV_OK;
    }
    if (lexer_is_name(c) && c != '.') {
        while (x->p < x->end && lexer_is_name(*x->p))
            x->p++;
        x->tok.kind = MLIR_T_WORD;
        x->tok.text = (mlir_text){x->at, (uint32_t)(x->p - x->at)};
        return CLV_OK;
    }
    lexer_punct(x);
    return CLV_OK;
}

/* -- what is there --------------------------------------------------------*/

bool mlir_at(const mlir_parser *x, char c)
{
    return x->tok.kind == MLIR_T_PUNCT && x->tok.c == c && x->tok.text.n == 1;
}

bool mlir_at_line(const mlir_parser *x)
{
    return x->last && memchr(x->last, '\n', (size_t)(x->at - x->last));
}

bool mlir_at_arrow(const mlir_parser *x)
{
    return x->tok.kind == MLIR_T_PUNCT && x->tok.text.n == 2;
}

bool mlir_at_word(const mlir_parser *x, const char *word)
{
    return x->tok.kind == MLIR_T_WORD && mlir_is(x->tok.text, word);
}

clv_status mlir_expect(mlir_parser *x, char c)
{
    if (!mlir_at(x, c))
        return mlir_bad(x, "'%c' was expected", c);
    return mlir_next(x);
}

clv_status mlir_accept(mlir_parser *x, char c, bool *found)
{
    *found = mlir_at(x, c);
    return *found ? mlir_next(x) : CLV_OK;
}

clv_status mlir_expect_word(mlir_parser *x, const char *word)
{
    if (!mlir_at_word(x, word))
        return mlir_bad(x, "'%s' was expected", word);
    return mlir_next(x);
}

static char lexer_closing(const mlir_parser *x)
{
    static const char open[] = "([{<", close[] = ")]}>";
    const char *at =
        x->tok.kind == MLIR_T_PUNCT && x->tok.text.n == 1 && x->tok.c
            ? strchr(open, x->tok.c)
            : NULL;
    return at ? close[at - open] : '\0';
}

clv_status mlir_skip(mlir_parser *x)
{
    char ends[MLIR_MAX_DEPTH];
    uint32_t n = 0;
    do {
        char close = lexer_closing(x);
        if (x->tok.kind == MLIR_T_END)
            return mlir_bad(x, "a bracket without an end");
        if (close && n == MLIR_MAX_DEPTH)
            return mlir_bad(x, "more than %d brackets in each other",
                            MLIR_MAX_DEPTH);
        if (close)
            ends[n++] = close;
        else if (n && mlir_at(x, ends[n - 1]))
            n--;
        CLV_TRY(mlir_next(x));
    } while (n);
    return CLV_OK;
}

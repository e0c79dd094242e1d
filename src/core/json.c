/* json.c - parses JSON by recursive descent. The depth has a limit, so that
 * hostile text cannot overflow the stack. */
#include "core/json.h"
#include "core/decimal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

typedef struct parser {
    arena *a;
    const char *p, *end, *line_start;
    uint32_t line;
    clv_err *e;
} parser;

static clv_status json_bad(const parser *s, const char *what)
{
    return clv__fail(s->e, CLV_FORMAT, "line %u, column %u: %s", s->line,
                     (unsigned)(s->p - s->line_start) + 1, what);
}

static void skip_space(parser *s)
{
    for (; s->p < s->end; s->p++) {
        if (*s->p == '\n') {
            s->line++;
            s->line_start = s->p + 1;
        } else if (*s->p != ' ' && *s->p != '\t' && *s->p != '\r') {
            return;
        }
    }
}

static bool json_eat(parser *s, char c)
{
    skip_space(s);
    if (s->p >= s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* -- strings --------------------------------------------------------------*/

static bool json_hex4(parser *s, uint32_t *code)
{
    if (s->end - s->p < 4)
        return false;
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = *s->p++;
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                            : 16;
        if (d == 16)
            return false;
        *code = *code << 4 | d;
    }
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Reads the rest of an escape, after its backslash. A lone surrogate becomes
 * the replacement character. */
static clv_status json_escape(parser *s, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = s->p < s->end ? *s->p++ : '\0';
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        *(*out)++ = to[known - from];
        return CLV_OK;
    }
    uint32_t code, low;
    if (c != 'u' || !json_hex4(s, &code))
        return json_bad(s, "bad escape in a string");
    if (code >= 0xd800 && code < 0xdc00 && s->end - s->p >= 6 &&
        s->p[0] == '\\' && s->p[1] == 'u') {
        s->p += 2;
        if (!json_hex4(s, &low))
            return json_bad(s, "bad escape in a string");
        code = low >= 0xdc00 && low < 0xe000
                   ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                   : 0xfffd;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    *out = put_utf8(*out, code);
    return CLV_OK;
}

/* Reads a string after its opening quote. Unescaping never makes text
 * longer. */
static clv_status json_read_string(parser *s, const char **text, uint32_t *len)
{
    const char *q = s->p;
    while (q < s->end && *q != '"')
        q += *q == '\\' ? 2 : 1;
    if (q >= s->end || (uint64_t)(q - s->p) > UINT32_MAX - 1)
        return json_bad(s, "a string that does not end");
    char *out = arena_alloc(s->a, (size_t)(q - s->p) + 1);
    if (!out)
        return clv__nomem(s->e);
    *text = out;
    while (s->p < q) {
        unsigned char c = (unsigned char)*s->p++;
        if (c == '\\')
            CLV_TRY(json_escape(s, &out));
        else if (c < 0x20)
            return json_bad(s, "a control character in a string");
        else
            *out++ = (char)c;
    }
    *out = '\0';
    *len = (uint32_t)(out - *text);
    s->p++;
    return CLV_OK;
}

/* -- values ---------------------------------------------------------------*/

static size_t json_digits(const char *t)
{
    return strspn(t, "0123456789");
}

/* Returns true when t is exactly
 * -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool json_is_number(const char *t)
{
    t += *t == '-';
    size_t n = json_digits(t);
    if (n == 0 || (n > 1 && *t == '0'))
        return false;
    t += n;
    if (*t == '.') {
        n = json_digits(++t);
        if (n == 0)
            return false;
        t += n;
    }
    if (*t == 'e' || *t == 'E') {
        t++;
        t += *t == '+' || *t == '-';
        n = json_digits(t);
        if (n == 0)
            return false;
        t += n;
    }
    return *t == '\0';
}

static clv_status json_read_number(parser *s, json *v)
{
    char text[64];
    size_t n = 0;
    bool whole = true;
    while (s->p + n < s->end && n < sizeof text - 1 && s->p[n] &&
           strchr("+-0123456789.eE", s->p[n])) {
        whole = whole && !strchr(".eE", s->p[n]);
        text[n] = s->p[n];
        n++;
    }
    text[n] = '\0';
    if (!json_is_number(text))
        return json_bad(s, "neither a value nor a number");
    errno = 0;
    v->type = JSON_INT;
    v->u.i = strtoll(text, NULL, 10);
    if (!whole || errno) {
        v->type = JSON_NUMBER;
        v->u.d = clv_text_double(text, NULL);
    }
    s->p += n;
    return CLV_OK;
}

static bool json_word(parser *s, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n))
        return false;
    s->p += n;
    return true;
}

static clv_status json_value(parser *s, json *v, int depth);

/* Reads the members of an array (close is ']') or of an object (close is
 * '}'). */
static clv_status json_members(parser *s, json *v, char close, int depth)
{
    json **link = &v->child;
    if (depth >= DEPTH_MAX)
        return json_bad(s, "nested too deeply");
    if (json_eat(s, close))
        return CLV_OK;
    do {
        json *m = arena_zalloc(s->a, sizeof *m);
        if (!m)
            return clv__nomem(s->e);
        if (close == '}') {
            uint32_t len;
            if (!json_eat(s, '"'))
                return json_bad(s, "expected a member's name in quotes");
            CLV_TRY(json_read_string(s, &m->key, &len));
            if (!json_eat(s, ':'))
                return json_bad(s, "expected ':'");
        }
        CLV_TRY(json_value(s, m, depth + 1));
        *link = m;
        link = &m->next;
        v->n++;
    } while (json_eat(s, ','));
    if (!json_eat(s, close))
        return json_bad(s, close == '}' ? "expected ',' or '}'"
                                        : "expected ',' or ']'");
    return CLV_OK;
}

static clv_status json_value(parser *s, json *v, int depth)
{
    skip_space(s);
    v->line = s->line;
    if (s->p >= s->end)
        return json_bad(s, "the text ends where a value should be");
    if (json_eat(s, '{')) {
        v->type = JSON_OBJECT;
        return json_members(s, v, '}', depth);
    }
    if (json_eat(s, '[')) {
        v->type = JSON_ARRAY;
        return json_members(s, v, ']', depth);
    }
    if (json_eat(s, '"')) {
        v->type = JSON_STRING;
        return json_read_string(s, &v->u.s, &v->n);
    }
    if (json_word(s, "null"))
        return CLV_OK;
    v->type = JSON_BOOL;
    if ((v->u.b = json_word(s, "true")) || json_word(s, "false"))
        return CLV_OK;
    return json_read_number(s, v);
}

clv_status json_parse(arena *a, const char *text, size_t len, const json **root,
                      clv_err *e)
{
    parser s = {a, text, text + len, text, 1, e};
    json *v = arena_zalloc(a, sizeof *v);
    *root = NULL;
    if (!v)
        return clv__nomem(e);
    CLV_TRY(json_value(&s, v, 0));
    skip_space(&s);
    if (s.p < s.end)
        return json_bad(&s, "text after the end of the document");
    *root = v;
    return CLV_OK;
}

/* -- reading --------------------------------------------------------------*/

const json *json_get(const json *obj, const char *key)
{
    if (!obj || obj->type != JSON_OBJECT)
        return NULL;
    for (const json *m = obj->child; m; m = m->next)
        if (!strcmp(m->key, key))
            return m->type == JSON_NULL ? NULL : m;
    return NULL;
}

int64_t json_int(const json *obj, const char *key, int64_t otherwise)
{
    const json *m = json_get(obj, key);
    return m && m->type == JSON_INT ? m->u.i : otherwise;
}

double json_number(const json *obj, const char *key, double otherwise)
{
    const json *m = json_get(obj, key);
    if (m && m->type == JSON_INT)
        return (double)m->u.i;
    return m && m->type == JSON_NUMBER ? m->u.d : otherwise;
}

const char *json_string(const json *obj, const char *key, const char *otherwise)
{
    const json *m = json_get(obj, key);
    return m && m->type == JSON_STRING ? m->u.s : otherwise;
}

bool json_bool(const json *obj, const char *key, bool otherwise)
{
    const json *m = json_get(obj, key);
    return m && m->type == JSON_BOOL ? m->u.b : otherwise;
}

const char *json_type_name(json_type t)
{
    static const char *const names[] = {"null",   "bool",  "integer", "number",
                                        "string", "array", "object"};
    return names[t];
}

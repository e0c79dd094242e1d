/* jsonw.c - the JSON writer: commas, line breaks, escapes, numbers.
 *
 * A level knows its closing bracket and whether it has a member; that decides
 * every comma. Line breaks are a matter of style only and come from one place,
 * `place`. */
#include "core/jsonw.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends text; inline, because a report is made of tens of thousands of
 * pieces of a few characters. */
static inline void put(jsonw *w, const char *text, size_t len)
{
    clv_buf *out = w->out;
    if (out->failed || out->cap - out->len <= len) {
        clv_buf_add(out, text, len);
        return;
    }
    memcpy(out->text + out->len, text, len);
    out->len += len;
    out->text[out->len] = '\0';
}

static bool breaks(const jsonw *w)
{
    return w->style != JSONW_COMPACT && !(w->flat && w->depth >= w->flat);
}

static void new_line(jsonw *w)
{
    static const char spaces[2 * JSONW_DEPTH + 2] =
        "\n                                                                ";
    put(w, spaces, 1 + 2 * (size_t)w->depth);
}

/* -- text -----------------------------------------------------------------*/

static void escape(jsonw *w, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = c ? strchr(from, (int)c) : NULL;
    char text[8];
    if (known)
        put(w, (char[]){'\\', to[known - from]}, 2);
    else
        put(w, text,
            (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned)c));
}

/* A character of ASCII that stands for itself: most of them. */
static inline bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quote(jsonw *w, const char *text)
{
    const char *s = text, *plain = text;
    uint32_t code;
    put(w, "\"", 1);
    for (;;) {
        while (is_plain(*s))
            s++;
        if (!*s)
            break;
        size_t n = clv__utf8(s, &code);
        if (n && code >= 0x20 && code != '"' && code != '\\' && code != 0x7f) {
            s += n;
            continue;
        }
        put(w, plain, (size_t)(s - plain));
        if (n)
            escape(w, code);
        else
            put(w, "\xef\xbf\xbd", 3);
        plain = ++s;
    }
    put(w, plain, (size_t)(s - plain));
    put(w, "\"", 1);
}

/* -- nesting --------------------------------------------------------------*/

/* Everything before a value: the comma, the line break, the key. */
static void place(jsonw *w, const char *key)
{
    if (w->depth == 0) {
        assert(!key);
        return;
    }
    char close = w->level[w->depth - 1].close;
    assert((close == '}') == (key != NULL));
    bool any = w->level[w->depth - 1].any;
    w->level[w->depth - 1].any = true;
    if (any)
        put(w, ",", 1);
    if (breaks(w))
        new_line(w);
    else if (any && w->style != JSONW_COMPACT)
        put(w, " ", 1);
    if (!key)
        return;
    quote(w, key);
    put(w, ": ", w->style == JSONW_COMPACT ? 1 : 2);
}

static void begin(jsonw *w, const char *key, char open, char close, bool flat)
{
    bool in_array = w->depth && w->level[w->depth - 1].close == ']';
    place(w, key);
    assert(w->depth < JSONW_DEPTH);
    put(w, &open, 1);
    w->level[w->depth].close = close;
    w->level[w->depth].any = false;
    w->depth++;
    flat = flat || (w->style == JSONW_LINES && in_array);
    if (flat && !w->flat)
        w->flat = w->depth;
}

void jsonw_object(jsonw *w, const char *key)
{
    begin(w, key, '{', '}', false);
}

void jsonw_array(jsonw *w, const char *key)
{
    begin(w, key, '[', ']', false);
}

void jsonw_object_flat(jsonw *w, const char *key)
{
    begin(w, key, '{', '}', true);
}

void jsonw_array_flat(jsonw *w, const char *key)
{
    begin(w, key, '[', ']', true);
}

void jsonw_end(jsonw *w)
{
    assert(w->depth > 0);
    bool broken = breaks(w) && w->level[w->depth - 1].any;
    if (w->flat == w->depth)
        w->flat = 0;
    w->depth--;
    if (broken)
        new_line(w);
    put(w, &w->level[w->depth].close, 1);
}

void jsonw_start(jsonw *w, clv_buf *out, jsonw_style style)
{
    *w = (jsonw){.out = out, .style = style};
}

void jsonw_finish(jsonw *w)
{
    assert(w->depth == 0);
    put(w, "\n", 1);
}

/* -- values ---------------------------------------------------------------*/

size_t clv__int_text(int64_t value, char *buf)
{
    char digits[20];
    size_t n = 0, len = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        buf[len++] = '-';
    while (n)
        buf[len++] = digits[--n];
    buf[len] = '\0';
    return len;
}

size_t clv__double_text(double value, char *buf, size_t size)
{
    if (value == trunc(value) && fabs(value) < 1e15)
        return clv__int_text((int64_t)value, buf);
    /* Most need 16 or 17 digits; what 15 can say, 16 can say too. */
    int len = snprintf(buf, size, "%.16g", value);
    if (strtod(buf, NULL) != value)
        return (size_t)snprintf(buf, size, "%.17g", value);
    char shorter[32];
    int n = snprintf(shorter, sizeof shorter, "%.15g", value);
    if (strtod(shorter, NULL) == value) {
        memcpy(buf, shorter, (size_t)n + 1);
        return (size_t)n;
    }
    return (size_t)len;
}

void jsonw_int(jsonw *w, const char *key, int64_t value)
{
    char text[24];
    place(w, key);
    put(w, text, clv__int_text(value, text));
}

void jsonw_num(jsonw *w, const char *key, double value)
{
    char text[32];
    if (!isfinite(value)) {
        jsonw_null(w, key);
        return;
    }
    place(w, key);
    put(w, text, clv__double_text(value, text, sizeof text));
}

void jsonw_bool(jsonw *w, const char *key, bool value)
{
    place(w, key);
    put(w, value ? "true" : "false", value ? 4 : 5);
}

void jsonw_null(jsonw *w, const char *key)
{
    place(w, key);
    put(w, "null", 4);
}

void jsonw_str(jsonw *w, const char *key, const char *value)
{
    if (!value) {
        jsonw_null(w, key);
        return;
    }
    place(w, key);
    quote(w, value);
}

void jsonw_ints(jsonw *w, const char *key, const int64_t *values, uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        jsonw_int(w, NULL, values[i]);
    jsonw_end(w);
}

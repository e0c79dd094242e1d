/* jsonw.c - the JSON writer: commas, line breaks, escapes, numbers.
 *
 * A level knows its closing bracket and whether it has a member; that decides
 * every comma. Line breaks are a matter of style only and come from one place,
 * `place`. */
#include "core/jsonw.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns where to write n more characters, or NULL when memory ran out;
 * jsonw_wrote ends them. This is fast because a report is tens of thousands of
 * short pieces. */
static inline char *jsonw_room(jsonw *w, size_t n)
{
    clv_buf *out = w->out;
    bool there = !out->failed && out->cap - out->len > n;
    return there || clv__buf_room(out, n) ? out->text + out->len : NULL;
}

static inline void jsonw_wrote(jsonw *w, const char *end)
{
    w->out->len = (size_t)(end - w->out->text);
    w->out->text[w->out->len] = '\0';
}

static inline void jsonw_put(jsonw *w, const char *text, size_t len)
{
    char *at = jsonw_room(w, len);
    if (!at)
        return;
    memcpy(at, text, len);
    jsonw_wrote(w, at + len);
}

static bool jsonw_breaks(const jsonw *w)
{
    return w->style != JSONW_COMPACT && !(w->flat && w->depth >= w->flat);
}

static char *new_line(char *at, int depth)
{
    *at++ = '\n';
    memset(at, ' ', 2 * (size_t)depth);
    return at + 2 * depth;
}

/* -- text -----------------------------------------------------------------*/

static void jsonw_escape(jsonw *w, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = c ? strchr(from, (int)c) : NULL;
    char text[8];
    if (known)
        jsonw_put(w, (char[]){'\\', to[known - from]}, 2);
    else
        jsonw_put(w, text,
                  (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned)c));
}

/* Returns true for an ASCII character that needs no escape, as most need
 * none. */
static inline bool jsonw_is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Returns false when one of eight characters may need an escape: a byte below
 * 0x20 or above 0x7e, a quote or a backslash sets the top bit of its sum (and
 * may set that of the byte above it). */
static inline bool are_plain(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t odd = w | (w + ones) | (w - 0x20 * ones) |
                   ((w ^ 0x22 * ones) - ones) | ((w ^ 0x5c * ones) - ones);
    return !(odd & 0x80 * ones);
}

/* Copies eight characters, and tells whether they are plain. */
static inline bool copy_eight(char *to, const char *from)
{
    uint64_t w;
    memcpy(&w, from, 8);
    memcpy(to, &w, 8);
    return are_plain(w);
}

/* Copies n characters, four to seven: the first four and the last four. */
static inline bool copy_few(char *to, const char *from, size_t n)
{
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + n - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + n - 4, &last, 4);
    return are_plain((uint64_t)first << 32 | last);
}

/* Copies n characters. Returns false when one of them may need an escape. */
static inline bool copy_plain(char *to, const char *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        if (!copy_eight(to + i, from + i))
            return false;
    if (i > 0) /* copies the last eight; some of them are copied twice */
        return copy_eight(to + n - 8, from + n - 8);
    if (n >= 4)
        return copy_few(to, from, n);
    for (; i < n && jsonw_is_plain(from[i]); i++)
        to[i] = from[i];
    return i == n;
}

static void quote_odd(jsonw *w, const char *s)
{
    const char *plain = s;
    uint32_t code;
    jsonw_put(w, "\"", 1);
    for (;;) {
        while (jsonw_is_plain(*s))
            s++;
        if (!*s)
            break;
        size_t n = clv__utf8(s, &code);
        if (n && code >= 0x20 && code != '"' && code != '\\' && code != 0x7f) {
            s += n;
            continue;
        }
        jsonw_put(w, plain, (size_t)(s - plain));
        if (n)
            jsonw_escape(w, code);
        else
            jsonw_put(w, "\xef\xbf\xbd", 3);
        plain = ++s;
    }
    jsonw_put(w, plain, (size_t)(s - plain));
    jsonw_put(w, "\"", 1);
}

/* Writes text of `len` characters in quotes at `at`, where there is room for it
 * as it is and two more characters. Returns the end of what was written, or
 * NULL when memory for escapes ran out. */
static inline char *jsonw_quote(jsonw *w, char *at, const char *text,
                                size_t len)
{
    if (copy_plain(at + 1, text, len)) {
        at[0] = at[len + 1] = '"';
        return at + len + 2;
    }
    jsonw_wrote(w, at);
    quote_odd(w, text);
    return jsonw_room(w, 2);
}

/* -- nesting --------------------------------------------------------------*/

/* Writes what comes before a value: the comma, the line break, the key. */
static void jsonw_place(jsonw *w, const char *key)
{
    if (w->depth == 0) {
        assert(!key);
        return;
    }
    char close = w->level[w->depth - 1].close;
    assert((close == '}') == (key != NULL));
    bool any = w->level[w->depth - 1].any;
    w->level[w->depth - 1].any = true;
    size_t len = key ? strlen(key) : 0;
    char *at = jsonw_room(w, 2 + 2 * JSONW_DEPTH + len + 4);
    if (!at)
        return;
    if (any)
        *at++ = ',';
    if (jsonw_breaks(w))
        at = new_line(at, w->depth);
    else if (any && w->style != JSONW_COMPACT)
        *at++ = ' ';
    if (key) {
        at = jsonw_quote(w, at, key, len);
        if (!at)
            return;
        *at++ = ':';
        if (w->style != JSONW_COMPACT)
            *at++ = ' ';
    }
    jsonw_wrote(w, at);
}

static void jsonw_begin(jsonw *w, const char *key, char open, char close,
                        bool flat)
{
    bool in_array = w->depth && w->level[w->depth - 1].close == ']';
    jsonw_place(w, key);
    assert(w->depth < JSONW_DEPTH);
    jsonw_put(w, &open, 1);
    w->level[w->depth].close = close;
    w->level[w->depth].any = false;
    w->depth++;
    flat = flat || (w->style == JSONW_LINES && in_array);
    if (flat && !w->flat)
        w->flat = w->depth;
}

void jsonw_object(jsonw *w, const char *key)
{
    jsonw_begin(w, key, '{', '}', false);
}

void jsonw_array(jsonw *w, const char *key)
{
    jsonw_begin(w, key, '[', ']', false);
}

void jsonw_object_flat(jsonw *w, const char *key)
{
    jsonw_begin(w, key, '{', '}', true);
}

void jsonw_array_flat(jsonw *w, const char *key)
{
    jsonw_begin(w, key, '[', ']', true);
}

void jsonw_end(jsonw *w)
{
    assert(w->depth > 0);
    bool broken = jsonw_breaks(w) && w->level[w->depth - 1].any;
    if (w->flat == w->depth)
        w->flat = 0;
    w->depth--;
    char *at = jsonw_room(w, 2 + 2 * JSONW_DEPTH);
    if (!at)
        return;
    if (broken)
        at = new_line(at, w->depth);
    *at++ = w->level[w->depth].close;
    jsonw_wrote(w, at);
}

void jsonw_start(jsonw *w, clv_buf *out, jsonw_style style)
{
    *w = (jsonw){.out = out, .style = style};
}

void jsonw_finish(jsonw *w)
{
    assert(w->depth == 0);
    jsonw_put(w, "\n", 1);
}

/* -- values ---------------------------------------------------------------*/

void jsonw_int(jsonw *w, const char *key, int64_t value)
{
    jsonw_place(w, key);
    char *at = jsonw_room(w, 24);
    if (at)
        jsonw_wrote(w, at + clv__int_text(value, at));
}

void jsonw_num(jsonw *w, const char *key, double value)
{
    char text[32];
    if (!isfinite(value)) {
        jsonw_null(w, key);
        return;
    }
    jsonw_place(w, key);
    jsonw_put(w, text, clv__double_text(value, text, sizeof text));
}

void jsonw_bool(jsonw *w, const char *key, bool value)
{
    jsonw_place(w, key);
    jsonw_put(w, value ? "true" : "false", value ? 4 : 5);
}

void jsonw_null(jsonw *w, const char *key)
{
    jsonw_place(w, key);
    jsonw_put(w, "null", 4);
}

void jsonw_str(jsonw *w, const char *key, const char *value)
{
    if (!value) {
        jsonw_null(w, key);
        return;
    }
    jsonw_place(w, key);
    size_t len = strlen(value);
    char *at = jsonw_room(w, len + 2);
    at = at ? jsonw_quote(w, at, value, len) : NULL;
    if (at)
        jsonw_wrote(w, at);
}

void jsonw_ints(jsonw *w, const char *key, const int64_t *values, uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        jsonw_int(w, NULL, values[i]);
    jsonw_end(w);
}

void jsonw_strs(jsonw *w, const char *key, const char *const *values,
                uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        jsonw_str(w, NULL, values[i]);
    jsonw_end(w);
}

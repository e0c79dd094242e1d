/* text.c - operators on texts, and what others do where elements are texts.
 *
 * A text is a span of bytes in UTF-8 (clv_text); new ones lie in the memory
 * that a run keeps. Case is changed and ignored for ASCII only: other letters
 * are refused where it would matter. */
#include "backend/kernel.h"
#include "core/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static clv_text *texts_of(clv_tensor *t)
{
    return t->data;
}

/* Room for n bytes of text that stay. */
static clv_status text_room(kernel *k, size_t n, char **s)
{
    *s = arena_alloc(k->kept, n + 1);
    if (!*s)
        return clv__nomem(k->e);
    (*s)[n] = '\0';
    return CLV_OK;
}

static clv_status text_keep(kernel *k, clv_text from, clv_text *out)
{
    char *s;
    CLV_TRY(text_room(k, from.n, &s));
    if (from.n)
        memcpy(s, from.s, from.n);
    *out = (clv_text){s, from.n};
    return CLV_OK;
}

static clv_text text_from(const char *s)
{
    return (clv_text){s, strlen(s)};
}

/* -- concat and equal -----------------------------------------------------*/

/* Calls fn for each element of y with those of both inputs, broadcast. */
typedef clv_status pair_fn(kernel *k, int64_t at, clv_text a, clv_text b);

static clv_status each_pair(kernel *k, pair_fn *fn)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *y = &k->out[0];
    int64_t sa[CLV_MAX_RANK], sb[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    broadcast_strides(a, y->rank, sa);
    broadcast_strides(b, y->rank, sb);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        CLV_TRY(fn(k, i, clv_tensor_text(a, offset_of(idx, sa, y->rank)),
                   clv_tensor_text(b, offset_of(idx, sb, y->rank))));
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

static clv_status concat_pair(kernel *k, int64_t at, clv_text a, clv_text b)
{
    char *s;
    CLV_TRY(text_room(k, a.n + b.n, &s));
    if (a.n)
        memcpy(s, a.s, a.n);
    if (b.n)
        memcpy(s + a.n, b.s, b.n);
    texts_of(&k->out[0])[at] = (clv_text){s, a.n + b.n};
    return CLV_OK;
}

clv_status need_texts(const kernel *k)
{
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && (k->in[i]->dtype != CLV_STRING ||
                         k->in[i]->form != CLV_FORM_TENSOR))
            return clv__fail(k->e, CLV_SHAPE, "input %u holds no texts", i);
    return CLV_OK;
}

clv_status kernel_string_concat(kernel *k)
{
    CLV_TRY(need_texts(k));
    return each_pair(k, concat_pair);
}

static clv_status equal_pair(kernel *k, int64_t at, clv_text a, clv_text b)
{
    put_i(&k->out[0], at, clv__text_equal(a, b));
    return CLV_OK;
}

clv_status kernel_equal(kernel *k)
{
    return k->in[0]->dtype == CLV_STRING ? each_pair(k, equal_pair)
                                         : kernel_binary(k);
}

/* -- look up --------------------------------------------------------------*/

/* Element i of x is element `at` of keys; a NaN is a NaN. */
static bool is_key(const clv_tensor *x, int64_t i, const clv_tensor *keys,
                   int64_t at)
{
    if (x->dtype == CLV_STRING)
        return clv__text_equal(clv_tensor_text(x, i),
                               clv_tensor_text(keys, at));
    return order_key(x, i) == order_key(keys, at);
}

/* The first key that fits decides. */
clv_status kernel_lookup(kernel *k)
{
    const clv_tensor *x = k->in[0], *keys = k->in[1], *values = k->in[2];
    const clv_tensor *otherwise = input_of(k, 3);
    int64_t n_keys = numel(keys);
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(n_keys); i++) {
        int64_t at = 0;
        while (at < n_keys && !is_key(x, i, keys, at))
            at++;
        if (at == n_keys && !otherwise)
            return clv__fail(k->e, CLV_FORMAT, "element %lld has no key",
                             (long long)i);
        copy_run(&k->out[0], i, at < n_keys ? values : otherwise,
                 at < n_keys ? at : 0, 1);
    }
    return CLV_OK;
}

/* -- normalize ------------------------------------------------------------*/

static char changed_case(char c, bool upper)
{
    if (upper)
        return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static clv_status check_ascii(const kernel *k, clv_text t)
{
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.s[i] >= 0x80)
            return clv__fail(k->e, CLV_UNSUPPORTED,
                             "the case of letters beyond ASCII");
    return CLV_OK;
}

static bool same_word(clv_text a, clv_text b, bool sensitive)
{
    bool same = a.n == b.n;
    for (size_t i = 0; i < a.n && same; i++)
        same = sensitive
                   ? a.s[i] == b.s[i]
                   : changed_case(a.s[i], false) == changed_case(b.s[i], false);
    return same;
}

static clv_status is_stopword(const kernel *k, clv_text t, bool sensitive,
                              bool *found)
{
    const clv_attr *words = attr_get(k->n, CLV_A_STOPWORDS);
    *found = false;
    for (uint32_t i = 0; words && i < words->n && !*found; i++) {
        clv_text word = text_from(words->u.strings[i]);
        if (!sensitive) {
            CLV_TRY(check_ascii(k, t));
            CLV_TRY(check_ascii(k, word));
        }
        *found = same_word(t, word, sensitive);
    }
    return CLV_OK;
}

/* A text in the case that is asked for. */
static clv_status text_in_case(kernel *k, clv_text t, clv_text *out)
{
    const char *to = attr_str(k->n, CLV_A_CASE);
    char *s;
    if (!strcmp(to, "NONE")) {
        *out = t;
        return CLV_OK;
    }
    CLV_TRY(check_ascii(k, t));
    CLV_TRY(text_room(k, t.n, &s));
    for (size_t i = 0; i < t.n; i++)
        s[i] = changed_case(t.s[i], !strcmp(to, "UPPER"));
    *out = (clv_text){s, t.n};
    return CLV_OK;
}

/* x (C) or (1,C) -> the words that are no stopwords; one empty one if there is
 * none. */
clv_status kernel_string_normalize(kernel *k)
{
    const clv_tensor *x = k->in[0];
    bool sensitive = attr_int(k->n, CLV_A_CASE_SENSITIVE) != 0, stop;
    int64_t n = numel(x), left = 0;
    CLV_TRY(need_texts(k));
    if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
        return clv__fail(k->e, CLV_SHAPE, "x is not of shape (C) or (1,C)");
    clv_tensor shape = *x;
    shape.dtype = CLV_STRING; /* of x it may be known only now */
    shape.dims[x->rank - 1] = n > 0 ? n : 1;
    CLV_TRY(make_output(k, 0, &shape));
    for (int64_t i = 0; i < n; i++) {
        CLV_TRY(is_stopword(k, clv_tensor_text(x, i), sensitive, &stop));
        if (!stop)
            CLV_TRY(text_in_case(k, clv_tensor_text(x, i),
                                 &texts_of(&k->out[0])[left++]));
    }
    k->out[0].dims[x->rank - 1] = left ? left : 1;
    return CLV_OK;
}

/* -- split ----------------------------------------------------------------*/

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The delimiter at the beginning of t, or nothing; blanks if there is none. */
static size_t delimiter_at(clv_text t, clv_text by)
{
    size_t n = 0;
    if (by.n)
        return t.n >= by.n && !memcmp(t.s, by.s, by.n) ? by.n : 0;
    while (n < t.n && is_space(t.s[n]))
        n++;
    return n;
}

/* Cuts the next part off *t; false when there is none. `last` takes the rest.
 */
static bool next_part(clv_text *t, clv_text by, bool last, clv_text *part)
{
    size_t n = 0;
    if (!t->s)
        return false;
    if (!by.n) {
        size_t skip = delimiter_at(*t, by);
        *t = (clv_text){t->s + skip, t->n - skip};
        if (!t->n)
            return false;
    }
    while (n < t->n &&
           (last || !delimiter_at((clv_text){t->s + n, t->n - n}, by)))
        n++;
    *part = (clv_text){t->s, n};
    size_t skip =
        n < t->n ? delimiter_at((clv_text){t->s + n, t->n - n}, by) : 0;
    bool more = n + skip < t->n || (skip && by.n);
    *t = more ? (clv_text){t->s + n + skip, t->n - n - skip}
              : (clv_text){NULL, 0};
    return true;
}

/* Splits x[i]; parts go to `out` where it is not NULL. Returns how many. */
static int64_t split_text(const kernel *k, int64_t i, clv_text *out)
{
    clv_text rest = clv_tensor_text(k->in[0], i), part;
    clv_text by = text_from(attr_str(k->n, CLV_A_DELIMITER));
    int64_t most = attr_int(k->n, CLV_A_MAX_SPLITS), n = 0;
    if (!rest.s)
        rest.s = "";
    while (next_part(&rest, by, most >= 0 && n >= most, &part)) {
        if (out)
            out[n] = part;
        n++;
    }
    return n;
}

/* x (..) -> parts (.., most of any text), and how many each has (..). */
clv_status kernel_string_split(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t n = numel(x), most = 0;
    CLV_TRY(need_texts(k));
    for (int64_t i = 0; i < n; i++) {
        int64_t parts = split_text(k, i, NULL);
        most = parts > most ? parts : most;
    }
    if (x->rank == CLV_MAX_RANK)
        return clv__fail(k->e, CLV_SHAPE, "more than %d axes", CLV_MAX_RANK);
    clv_tensor parts = *x, counts = *x;
    parts.dtype = CLV_STRING;
    parts.dims[parts.rank++] = most;
    counts.dtype = CLV_INT64;
    CLV_TRY(make_output(k, 0, &parts));
    if (k->n->n_out > 1)
        CLV_TRY(make_output(k, 1, &counts));
    for (int64_t i = 0; i < n; i++) {
        int64_t count = split_text(k, i, texts_of(&k->out[0]) + i * most);
        if (k->n->n_out > 1)
            put_i(&k->out[1], i, count);
    }
    return CLV_OK;
}

/* -- casts ----------------------------------------------------------------*/

/* The fewest digits that give the number again. */
static int shortest(double x, bool is_double, char *s, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        clv_format(s, size, "%.*g", digits, x);
        double back = clv_text_double(s, NULL);
        if (is_double ? back == x : (float)back == (float)x)
            return digits;
    }
    return 17;
}

/* As numpy writes it: without an exponent from 1e-4 to 1e16. */
static void write_real(double x, bool is_double, char *s, size_t size)
{
    if (isnan(x) || isinf(x)) {
        snprintf(s, size, "%s", isnan(x) ? "NaN" : x > 0 ? "INF" : "-INF");
        return;
    }
    int digits = shortest(x, is_double, s, size);
    double magnitude = fabs(x);
    if (x != 0 && (magnitude < 1e-4 || magnitude >= 1e16))
        return;
    int before = magnitude >= 1 ? (int)floor(log10(magnitude)) + 1 : 1;
    int after = magnitude >= 1 || x == 0
                    ? digits - before
                    : digits - 1 - (int)floor(log10(magnitude));
    clv_format(s, size, "%.*f", after > 1 ? after : 1, x);
}

static clv_status cast_to_text(kernel *k)
{
    const clv_tensor *x = k->in[0];
    char s[64];
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        if (x->dtype == CLV_BOOL)
            snprintf(s, sizeof s, "%s", get_i(x, i) ? "True" : "False");
        else if (is_float(x->dtype))
            write_real(get_f(x, i), x->dtype == CLV_FLOAT64, s, sizeof s);
        else if (x->dtype == CLV_UINT64)
            snprintf(s, sizeof s, "%llu", (unsigned long long)get_i(x, i));
        else
            snprintf(s, sizeof s, "%lld", (long long)get_i(x, i));
        CLV_TRY(text_keep(k, text_from(s), &texts_of(&k->out[0])[i]));
    }
    return CLV_OK;
}

static clv_status cast_from_text(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    enum { LONGEST = 100 };
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        clv_text t = clv_tensor_text(x, i);
        char s[LONGEST + 1], *end;
        size_t len = t.n < LONGEST ? t.n : LONGEST;
        if (len)
            memcpy(s, t.s, len);
        s[len] = '\0';
        errno = 0;
        if (is_float(y->dtype))
            put_f(y, i, clv_text_double(s, &end));
        else if (y->dtype == CLV_UINT64)
            put_i(y, i, (int64_t)strtoull(s, &end, 10));
        else
            put_i(y, i, strtoll(s, &end, 10));
        if (len == 0 || *end || t.n > LONGEST)
            return clv__fail(k->e, CLV_FORMAT, "'%.40s' is no number", s);
    }
    return CLV_OK;
}

clv_status kernel_cast_any(kernel *k)
{
    bool from = k->in[0]->dtype == CLV_STRING;
    bool to = k->out[0].dtype == CLV_STRING;
    if (from == to)
        return kernel_cast(k);
    return from ? cast_from_text(k) : cast_to_text(k);
}

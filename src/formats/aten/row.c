/* row.c - the rows of aten.def: which one a call has, and its words. */
#include "formats/aten/row.h"

#include <stdio.h>
#include <string.h>

static const aten_row aten_functions[] = {
#define FN(name, op, args) {name, CLV_OP_##op, args, sizeof(name) - 1},
#define MODULE(name, op, args)
#include "aten.def"
#undef FN
#undef MODULE
};

static const aten_row aten_modules[] = {
#define FN(name, op, args)
#define MODULE(name, op, args) {name, CLV_OP_##op, args, sizeof(name) - 1},
#include "aten.def"
#undef FN
#undef MODULE
};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* -- the row of a call ----------------------------------------------------*/

static const aten_row *row_named(const aten_row *rows, size_t n,
                                 const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (rows[i].len == len && !memcmp(rows[i].name, name, len))
            return &rows[i];
    return NULL;
}

static const aten_row *row_of_function(const char *name)
{
    return row_named(aten_functions, COUNT(aten_functions), name);
}

/* Copies n bytes, as far as they fit. Words are read for every call of a
 * program, which is too often for snprintf. */
static void word_copy(char *buf, size_t size, const char *text, size_t n)
{
    n = n < size ? n : size - 1;
    memcpy(buf, text, n);
    buf[n] = '\0';
}

void clv__aten_plain(const char *target, char *buf, size_t size)
{
    const char *start = strncmp(target, "aten.", 5) ? target : target + 5;
    word_copy(buf, size, start, strcspn(start, "."));
    size_t len = strlen(buf);
    if (len > 1 && buf[len - 1] == '_' && buf[0] != '_')
        buf[len - 1] = '\0';
}

/* Whether a call reduces over the one dim it gives: torch.max(x, 1). ATen says
 * so in the name of the overload. */
static bool row_gives_dim(const aten_call *c)
{
    bool yes = c->n_args > 1 && c->args[1].kind == ATEN_INT;
    for (uint32_t i = 0; !yes && i < c->n_named; i++)
        yes = !strcmp(c->named[i].name, "dim");
    return yes;
}

/* "aten.convolution" is one of six operators: the axes of its weight and an
 * argument tell which. Writes "convolution.2d", or "_convolution_mode.2d" where
 * the padding has a name; false for any other call. */
static bool row_of_convolution(const aten_builder *b, const aten_call *c,
                               const char *plain, char *buf, size_t size)
{
    enum { WEIGHT = 1, TRANSPOSED = 6 };
    bool named = !strcmp(plain, "_convolution_mode"); /* padding="same" */
    if (!named && strcmp(plain, "convolution") && strcmp(plain, "_convolution"))
        return false;
    if (c->n_args <= (named ? WEIGHT : TRANSPOSED) ||
        c->args[WEIGHT].kind != ATEN_TENSOR)
        return false;
    uint32_t rank = b->g->values[c->args[WEIGHT].u.value].rank;
    if (named) {
        snprintf(buf, size, "%s.%ud", plain, rank - 2u);
        return true;
    }
    bool turned =
        c->args[TRANSPOSED].kind == ATEN_BOOL && c->args[TRANSPOSED].u.b;
    snprintf(buf, size, "convolution.%s%ud", turned ? "transposed" : "",
             rank - 2u);
    return true;
}

/* The most telling row of a function: that of the overload
 * ("aten.var.default"), of ATen's operator ("aten.embedding"), of a call with
 * one dim ("max.dim"), of the number of arguments ("arange.1"), or of the name
 * alone. */
const aten_row *clv__aten_find(const aten_builder *b, const aten_call *call,
                               const char *plain)
{
    char text[300];
    const char *target = call->target;
    if (call->module)
        return row_named(aten_modules, COUNT(aten_modules), target);
    if (row_of_convolution(b, call, plain, text, sizeof text))
        return row_of_function(text);
    const aten_row *r = strchr(target, '.') ? row_of_function(target) : NULL;
    if (!r && (call->method || !strncmp(target, "aten.", 5))) {
        snprintf(text, sizeof text, "aten.%s", plain);
        r = row_of_function(text);
    }
    if (!r && row_gives_dim(call)) {
        snprintf(text, sizeof text, "%s.dim", plain);
        r = row_of_function(text);
    }
    if (!r) {
        snprintf(text, sizeof text, "%s.%u", plain, call->n_args);
        r = row_of_function(text);
    }
    return r ? r : row_of_function(plain);
}

bool clv__aten_row(size_t i, const char **name, clv_op *op)
{
    size_t n = COUNT(aten_functions);
    const aten_row *row = i < n ? &aten_functions[i] : NULL;
    if (!row && i - n < COUNT(aten_modules))
        row = &aten_modules[i - n];
    if (!row)
        return false;
    *name = row->name;
    *op = row->op;
    return true;
}

/* -- words ----------------------------------------------------------------*/

/* Cuts text at the first `mark`. Returns what follows it, or NULL. */
static char *word_cut(char *text, char mark)
{
    char *at = text ? strchr(text, mark) : NULL;
    if (at)
        *at++ = '\0';
    return at;
}

static void word_keep(char *buf, size_t size, const char *text)
{
    word_copy(buf, size, text ? text : "", text ? strlen(text) : 0);
}

/* Reads x=ours$... with the marks that may stand around it. */
static void word_read_named(char *p, aten_word *out)
{
    char *otherwise = word_cut(p, '|'), *must = word_cut(p, '!');
    char *list = word_cut(p, '['), *dots = strstr(p, "...");
    char *ours = word_cut(p, '='), *dollar = word_cut(p, '$');
    if (dots)
        *dots = '\0';
    out->kind = dollar ? WORD_TENSOR : must ? WORD_MUST : WORD_ATTR;
    out->rest = dots != NULL;
    out->list = dollar && *dollar == '*';
    out->first = dollar && *dollar == '<';
    if (dollar && *dollar >= '1' && *dollar <= '9')
        out->at = *dollar - '0';
    out->needed = ours && ours[strlen(ours) - 1] == '+';
    if (out->needed)
        ours[strlen(ours) - 1] = '\0';
    word_keep(out->torch, sizeof out->torch, p);
    word_keep(out->ours, sizeof out->ours, ours ? ours : dollar ? "" : p);
    word_keep(out->value, sizeof out->value, must ? must : list);
    word_keep(out->otherwise, sizeof out->otherwise, otherwise);
    if (list) /* without the bracket that closes it */
        word_cut(out->value, ']');
    out->names = list != NULL;
    out->has_default = otherwise != NULL;
}

/* Most words are "x", "x$" or "x=ours": reads those of n characters without
 * looking for other marks. Returns false for any other. */
static bool word_read_simple(const char *text, size_t n, aten_word *out)
{
    size_t dollar = n, equals = n;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '$' && dollar == n && equals == n)
            dollar = i;
        else if (c == '=' && equals == n)
            equals = i;
        else if (strchr("~^&->:|![.=$+*<", c) || (c <= '9' && dollar < n))
            return false;
    }
    bool tensor = dollar < n;
    size_t len = dollar < equals ? dollar : equals;
    out->kind = tensor ? WORD_TENSOR : WORD_ATTR;
    word_copy(out->torch, sizeof out->torch, text, len);
    if (equals < n)
        word_copy(out->ours, sizeof out->ours, text + equals + 1,
                  n - equals - 1);
    else
        word_copy(out->ours, sizeof out->ours, text, tensor ? 0 : len);
    return true;
}

bool clv__aten_word(const char **args, aten_word *out)
{
    while (**args == ' ')
        (*args)++;
    size_t n = 0;
    while ((*args)[n] && (*args)[n] != ' ')
        n++;
    if (n == 0)
        return false;
    *out = (aten_word){0};
    if (word_read_simple(*args, n, out)) {
        *args += n;
        return true;
    }
    char text[96];
    word_copy(text, sizeof text, *args, n);
    *args += n;
    if (!strcmp(text, "~") || !strcmp(text, "^")) {
        out->kind = *text == '~' ? WORD_COUNTED : WORD_FIRST_ONLY;
    } else if (!strcmp(text, "&")) {
        out->kind = WORD_COMMON;
    } else if (*text == '-') {
        word_read_named(text + 1, out);
        out->kind = WORD_IGNORED;
    } else if (*text == '>') {
        out->kind = WORD_RESULT;
        word_keep(out->ours, sizeof out->ours, text + 1);
    } else if (strchr(text, ':')) {
        out->kind = WORD_LITERAL;
        word_keep(out->value, sizeof out->value, word_cut(text, ':'));
        word_keep(out->ours, sizeof out->ours, text);
    } else {
        word_read_named(text, out);
    }
    return true;
}

bool clv__aten_takes(const aten_word *w)
{
    return w->kind == WORD_TENSOR || w->kind == WORD_ATTR ||
           w->kind == WORD_MUST || w->kind == WORD_IGNORED;
}

bool clv__aten_among(const char *names, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = names; *p; p += strcspn(p, "/,"), p += *p != '\0')
        if (*p == *key && !strncmp(p, key, n) && strchr("/,", p[n]))
            return true;
    return false;
}

bool clv__aten_member(const char *cls, const char **at, char *name, size_t size)
{
    aten_word w;
    if (!*at) {
        const aten_row *r = row_named(aten_modules, COUNT(aten_modules), cls);
        *at = r ? r->args : "";
    }
    while (clv__aten_word(at, &w))
        if (clv__aten_takes(&w)) {
            word_copy(name, size, w.torch, strlen(w.torch));
            return true;
        }
    return false;
}

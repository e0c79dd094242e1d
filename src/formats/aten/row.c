/* row.c - the rows of aten.def: which one a call has, and its words. */
#include "formats/aten/row.h"

#include <stdio.h>
#include <string.h>

/* One row as it is written. */
typedef struct row_text {
    const char *name;
    clv_op op;
    const char *args;
    size_t len; /* of the name */
} row_text;

static const row_text aten_functions[] = {
#define FN(name, op, args) {name, CLV_OP_##op, args, sizeof(name) - 1},
#define MODULE(name, op, args)
#include "aten.def"
#undef FN
#undef MODULE
};

static const row_text aten_modules[] = {
#define FN(name, op, args)
#define MODULE(name, op, args) {name, CLV_OP_##op, args, sizeof(name) - 1},
#include "aten.def"
#undef FN
#undef MODULE
};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* -- words ----------------------------------------------------------------*/

/* Copies n bytes, as far as they fit. */
static void word_copy(char *buf, size_t size, const char *text, size_t n)
{
    n = n < size ? n : size - 1;
    memcpy(buf, text, n);
    buf[n] = '\0';
}

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

/* Takes the next word off *args; false when there is none. */
static bool row_word(const char **args, aten_word *out)
{
    while (**args == ' ')
        (*args)++;
    size_t n = 0;
    while ((*args)[n] && (*args)[n] != ' ')
        n++;
    if (n == 0)
        return false;
    *out = (aten_word){0};
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

/* -- rows that a program's calls had --------------------------------------*/

enum { ROWS_FUNCTIONS, ROWS_MODULES };

/* A program calls few operators often: a name is looked for once, and the
 * words of a row are read once. */
struct aten_rows {
    arena mem;
    strmap names[2];        /* of functions and of modules: place in `found` */
    const aten_row **found; /* NULL: no row has that name */
    uint32_t n;
    size_t cap;
};

void clv__aten_rows_free(struct aten_rows *rows)
{
    if (!rows)
        return;
    strmap_free(&rows->names[ROWS_FUNCTIONS]);
    strmap_free(&rows->names[ROWS_MODULES]);
    clv__free(rows->found);
    arena_free(&rows->mem);
    clv__free(rows);
}

static const row_text *row_written(const row_text *rows, size_t n,
                                   const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].len == len && !memcmp(rows[i].name, name, len))
            return &rows[i];
    return NULL;
}

/* The row with its words, NULL when memory ran out. */
static const aten_row *row_read(arena *mem, const row_text *text)
{
    const char *at = text->args;
    uint32_t n = 0;
    for (aten_word w; row_word(&at, &w);)
        n++;
    aten_row *row = arena_alloc(mem, sizeof *row);
    aten_word *words = arena_array(mem, n + 1u, sizeof *words);
    if (!row || !words)
        return NULL;
    *row = (aten_row){text->name, text->op, words, n, false};
    at = text->args;
    for (uint32_t i = 0; row_word(&at, &words[i]); i++) {
        words[i].key = clv__attr_find(words[i].ours);
        row->asks_result |= words[i].kind == WORD_RESULT;
    }
    return row;
}

/* Looks for a name that was not looked for before. */
static bool row_learn(struct aten_rows *k, int kind, const char *name,
                      size_t len)
{
    const row_text *text =
        kind == ROWS_MODULES
            ? row_written(aten_modules, COUNT(aten_modules), name, len)
            : row_written(aten_functions, COUNT(aten_functions), name, len);
    const aten_row *row = text ? row_read(&k->mem, text) : NULL;
    const char *own = arena_strndup(&k->mem, name, len);
    if ((text && !row) || !own || !CLV_GROW(k->found, k->n, k->cap))
        return false;
    k->found[k->n] = row;
    return strmap_put(&k->names[kind], own, len, k->n++);
}

/* The row called `name` in *out, or NULL; false when memory ran out. */
static bool row_named(aten_builder *b, int kind, const char *name,
                      const aten_row **out)
{
    size_t len = strlen(name);
    *out = NULL;
    if (!b->rows && !(b->rows = clv__zalloc(sizeof *b->rows)))
        return false;
    uint32_t at = strmap_get(&b->rows->names[kind], name, len);
    if (at == CLV_NONE && !row_learn(b->rows, kind, name, len))
        return false;
    *out = b->rows->found[at == CLV_NONE ? b->rows->n - 1 : at];
    return true;
}

/* -- the row of a call ----------------------------------------------------*/

void clv__aten_plain(const char *target, char *buf, size_t size)
{
    const char *start = strncmp(target, "aten.", 5) ? target : target + 5;
    const char *dot = strchr(start, '.');
    word_copy(buf, size, start, dot ? (size_t)(dot - start) : strlen(start));
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

/* Puts a before b; what does not fit is left out. */
static const char *row_join(char *buf, size_t size, const char *a,
                            const char *b)
{
    word_keep(buf, size, a);
    size_t n = strlen(buf);
    word_keep(buf + n, size - n, b);
    return buf;
}

/* The most telling row of a function: that of the overload
 * ("aten.var.default"), of ATen's operator ("aten.embedding"), of a call with
 * one dim ("max.dim"), of the number of arguments ("arange.1"), or of the name
 * alone. */
static bool row_of_function(aten_builder *b, const aten_call *call,
                            const char *plain, const aten_row **out)
{
    char text[300];
    const char *target = call->target;
    bool aten = !strncmp(target, "aten.", 5), ok = true;
    *out = NULL;
    if (strchr(target, '.'))
        ok = row_named(b, ROWS_FUNCTIONS, target, out);
    row_join(text, sizeof text, "aten.", plain);
    if (ok && !*out && (call->method || aten) && strcmp(text, target) != 0)
        ok = row_named(b, ROWS_FUNCTIONS, text, out);
    if (ok && !*out && row_gives_dim(call))
        ok = row_named(b, ROWS_FUNCTIONS,
                       row_join(text, sizeof text, plain, ".dim"), out);
    if (ok && !*out && call->n_args < 10) {
        const char count[] = {'.', (char)('0' + call->n_args), '\0'};
        ok = row_named(b, ROWS_FUNCTIONS,
                       row_join(text, sizeof text, plain, count), out);
    }
    return ok && (*out || row_named(b, ROWS_FUNCTIONS, plain, out));
}

bool clv__aten_find(aten_builder *b, const aten_call *call, const char *plain,
                    const aten_row **out)
{
    char text[300];
    if (call->module)
        return row_named(b, ROWS_MODULES, call->target, out);
    if (row_of_convolution(b, call, plain, text, sizeof text))
        return row_named(b, ROWS_FUNCTIONS, text, out);
    return row_of_function(b, call, plain, out);
}

bool clv__aten_row(size_t i, const char **name, clv_op *op)
{
    size_t n = COUNT(aten_functions);
    const row_text *row = i < n ? &aten_functions[i] : NULL;
    if (!row && i - n < COUNT(aten_modules))
        row = &aten_modules[i - n];
    if (!row)
        return false;
    *name = row->name;
    *op = row->op;
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

bool clv__aten_members(aten_builder *b, const char *cls,
                       const char *names[ATEN_MAX_MEMBERS], uint32_t *n)
{
    const aten_row *row;
    *n = 0;
    if (!row_named(b, ROWS_MODULES, cls, &row))
        return false;
    for (uint32_t i = 0; row && i < row->n_words && *n < ATEN_MAX_MEMBERS; i++)
        if (clv__aten_takes(&row->words[i]))
            names[(*n)++] = row->words[i].torch;
    return true;
}

/* options.c - the arguments of a command, by the rows of flags.def.
 *
 * `--flag value` and `--flag=value` mean the same; `--` ends the flags; `-` is
 * an argument. A shape may also be given as words, `--input-shape 1 3 224 224`:
 * numbers are taken for as long as numbers follow. Lists live in blocks that
 * are freed with the options. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct args {
    int argc, at;
    char **argv;
} args;

/* -- memory ---------------------------------------------------------------*/

struct cli_block {
    struct cli_block *next;
    max_align_t data[];
};

void *options_alloc(options *o, size_t n, size_t size)
{
    struct cli_block *b = calloc(1, sizeof *b + n * size);
    if (!b)
        return NULL;
    b->next = o->memory;
    o->memory = b;
    return b->data;
}

void options_free(options *o)
{
    for (struct cli_block *b = o->memory, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    o->memory = NULL;
}

static size_t options_room(size_t n)
{
    size_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* Returns the list with room for `more` elements after its n: itself, or a
 * copy. A list made here has room for a power of two. */
static void *options_extend(options *o, void *items, size_t n, size_t more,
                            size_t size)
{
    size_t room = options_room(n + more);
    if (n && room == options_room(n))
        return items;
    char *copy = options_alloc(o, room, size);
    if (copy && n)
        memcpy(copy, items, n * size);
    return copy;
}

/* -- values ---------------------------------------------------------------*/

/* Reads a whole number of at least 1 at *text and moves *text behind it.
 * Reports a number that is too large. */
static bool parse_count(const flag *f, const char **text, int64_t *out,
                        clv_err *err)
{
    const char *start = *text;
    char *end;
    if (*start < '0' || *start > '9')
        return false;
    errno = 0;
    *out = strtoll(start, &end, 10);
    *text = end;
    if (errno == 0)
        return *out >= 1;
    fail(err, CLV_OVERFLOW, "%s: %.*s does not fit 64 bits", f->name,
         (int)(end - start), start);
    return false;
}

static clv_status set_count(const flag *f, const char *text, int64_t *out,
                            clv_err *err)
{
    const char *end = text;
    if (!parse_count(f, &end, out, err) || *end)
        return fail(err, CLV_USAGE,
                    "%s takes a whole number of 1 or more, not '%s'", f->name,
                    text);
    return CLV_OK;
}

static clv_status set_counts(options *o, const flag *f, const char *text,
                             cli_counts *out, clv_err *err)
{
    size_t n = 1;
    for (const char *s = text; *s; s++)
        n += *s == ',';
    out->items = options_alloc(o, n, sizeof *out->items);
    if (!out->items)
        return fail(err, CLV_NOMEM, "out of memory");
    out->n = 0;
    for (const char *s = text;; s++) {
        if (!parse_count(f, &s, &out->items[out->n++], err) ||
            (*s && *s != ','))
            return fail(err, CLV_USAGE,
                        "%s takes whole numbers of 1 or more, not '%s'",
                        f->name, text);
        if (!*s)
            return CLV_OK;
    }
}

static clv_status set_number(const flag *f, const char *text, double *out,
                             clv_err *err)
{
    char *end;
    *out = clv_text_double(text, &end);
    if (end == text || *end || !isfinite(*out) || *out <= 0)
        return fail(err, CLV_USAGE, "%s takes a number above 0, not '%s'",
                    f->name, text);
    return CLV_OK;
}

static clv_status add_texts(options *o, const char *text, cli_texts *out,
                            clv_err *err)
{
    size_t more = 1;
    for (const char *s = text; *s; s++)
        more += *s == ',';
    out->items =
        options_extend(o, out->items, out->n, more, sizeof *out->items);
    char *copy = options_alloc(o, strlen(text) + 1, 1);
    if (!out->items || !copy)
        return fail(err, CLV_NOMEM, "out of memory");
    strcpy(copy, text);
    for (char *s = copy; s;) {
        char *comma = strchr(s, ',');
        if (comma)
            *comma++ = '\0';
        if (*s)
            out->items[out->n++] = s;
        s = comma;
    }
    return CLV_OK;
}

static clv_status set_choice(const flag *f, const char *text, const char **out,
                             clv_err *err)
{
    size_t n = strlen(text);
    for (const char *s = f->arg; s; s = strchr(s, '|')) {
        s += *s == '|';
        if (n && !strncmp(s, text, n) && (s[n] == '|' || !s[n])) {
            *out = text;
            return CLV_OK;
        }
    }
    return fail(err, CLV_USAGE, "%s takes %s, not '%s'", f->name, f->arg, text);
}

static clv_status set_dtype(const flag *f, const char *text, clv_dtype *out,
                            clv_err *err)
{
    *out = clv_dtype_find(text);
    if (*out == CLV_NODTYPE)
        return fail(err, CLV_USAGE, "%s takes %s, not '%s'", f->name, f->arg,
                    text);
    return CLV_OK;
}

/* Returns a copy of the name before the last '=', or NULL when there is
 * none. */
static const char *split_name(options *o, const char **text)
{
    const char *equals = strrchr(*text, '=');
    if (!equals)
        return NULL;
    size_t n = (size_t)(equals - *text);
    char *name = options_alloc(o, n + 1, 1);
    if (name)
        memcpy(name, *text, n);
    *text = equals + 1;
    return name;
}

static clv_status bad_shape(const flag *f, const char *text, clv_err *err)
{
    if (*text == '0' || *text == '-')
        return fail(err, CLV_USAGE, "%s: dimensions are 1 or more, not '%.*s'",
                    f->name, (int)strcspn(text, ", x"), text);
    return fail(err, CLV_USAGE,
                "%s takes dimensions such as 1,3,224,224, not '%s'", f->name,
                text);
}

static bool options_is_number(const char *text)
{
    return text && *text && !text[strspn(text, "0123456789")];
}

/* "1,3,224,224", "1x3x224x224" or the words that follow. */
static clv_status add_shape(options *o, const flag *f, const char *text,
                            args *a, cli_shapes *out, clv_err *err)
{
    int64_t *dims = options_alloc(o, CLV_MAX_RANK, sizeof *dims);
    out->items = options_extend(o, out->items, out->n, 1, sizeof *out->items);
    clv_shape_arg shape = {split_name(o, &text), dims, 0};
    if (!dims || !out->items)
        return fail(err, CLV_NOMEM, "out of memory");
    bool words = options_is_number(text);
    for (const char *s = text;;) {
        if (shape.rank == CLV_MAX_RANK)
            return fail(err, CLV_USAGE, "%s: more than %d dimensions", f->name,
                        CLV_MAX_RANK);
        const char *start = s;
        if (!parse_count(f, &s, &dims[shape.rank++], err))
            return bad_shape(f, start, err);
        if (!*s && words && a->at < a->argc &&
            options_is_number(a->argv[a->at])) {
            s = a->argv[a->at++];
            continue;
        }
        if (!*s)
            break;
        if (!strchr(", x", *s++))
            return bad_shape(f, text, err);
        s += strspn(s, " ");
    }
    out->items[out->n++] = shape;
    return CLV_OK;
}

/* "seq=128"; several values, "seq=64,128", are several dimensions of a name. */
static clv_status add_dim(options *o, const flag *f, const char *text,
                          cli_dims *out, clv_err *err)
{
    const char *value = text;
    const char *name = split_name(o, &value);
    for (bool more = true; more; value += more) {
        clv_dim_arg dim = {name, 0};
        if (!name || !*name || !parse_count(f, &value, &dim.value, err) ||
            (*value && *value != ','))
            return fail(err, CLV_USAGE,
                        "%s takes NAME=N with N of 1 or more, not '%s'",
                        f->name, text);
        out->items =
            options_extend(o, out->items, out->n, 1, sizeof *out->items);
        if (!out->items)
            return fail(err, CLV_NOMEM, "out of memory");
        out->items[out->n++] = dim;
        more = *value == ',';
    }
    return CLV_OK;
}

static clv_status set_flag(options *o, const flag *f, const char *text, args *a,
                           clv_err *err)
{
    void *field = (char *)o + f->offset;
    switch (f->kind) {
    case KIND_SWITCH:
        *(bool *)field = true;
        return CLV_OK;
    case KIND_COUNT:
        return set_count(f, text, field, err);
    case KIND_COUNTS:
        return set_counts(o, f, text, field, err);
    case KIND_NUMBER:
        return set_number(f, text, field, err);
    case KIND_TEXT:
        *(const char **)field = text;
        return CLV_OK;
    case KIND_OPTION:
        *(const char **)field = text ? text : "";
        return CLV_OK;
    case KIND_TEXTS:
        return add_texts(o, text, field, err);
    case KIND_CHOICE:
        return set_choice(f, text, field, err);
    case KIND_DTYPE:
        return set_dtype(f, text, field, err);
    case KIND_SHAPES:
        return add_shape(o, f, text, a, field, err);
    case KIND_DIMS:
        return add_dim(o, f, text, field, err);
    }
    return fail(err, CLV_INTERNAL, "%s: unknown kind of flag", f->name);
}

bool flag_given(const options *o, uint8_t id)
{
    const void *field = (const char *)o + cli_flags[id].offset;
    switch (cli_flags[id].kind) {
    case KIND_SWITCH:
        return *(const bool *)field;
    case KIND_COUNT:
        return *(const int64_t *)field != 0;
    case KIND_COUNTS:
        return ((const cli_counts *)field)->n != 0;
    case KIND_NUMBER:
        return *(const double *)field > 0;
    case KIND_TEXT:
    case KIND_CHOICE:
    case KIND_OPTION:
        return *(const char *const *)field != NULL;
    case KIND_TEXTS:
        return ((const cli_texts *)field)->n != 0;
    case KIND_DTYPE:
        return *(const clv_dtype *)field != CLV_NODTYPE;
    case KIND_SHAPES:
        return ((const cli_shapes *)field)->n != 0;
    case KIND_DIMS:
        return ((const cli_dims *)field)->n != 0;
    }
    return false;
}

/* -- flags ----------------------------------------------------------------*/

static clv_status unknown_flag(const command *cmd, const char *text, size_t len,
                               clv_err *err)
{
    const char *names[FLAG_COUNT];
    char word[64], near[160];
    size_t n = 0;
    for (const uint8_t *f = cmd->flags; *f != NO_FLAG; f++)
        names[n++] = cli_flags[*f].name;
    snprintf(word, sizeof word, "%.*s", (int)(len < 63 ? len : 63), text);
    if (clv_suggest(word, names, n, near, sizeof near))
        return fail(err, CLV_USAGE, "%s has no flag '%s'; did you mean %s?",
                    cmd->verb, word, near);
    return fail(err, CLV_USAGE,
                "%s has no flag '%s'; 'cleave help %s' lists them", cmd->verb,
                word, cmd->verb);
}

static const flag *find_flag(const command *cmd, const char *text, size_t len)
{
    bool is_short = len == 2 && text[1] != '-';
    for (const uint8_t *id = cmd->flags; *id != NO_FLAG; id++) {
        const flag *f = &cli_flags[*id];
        if (is_short ? f->letter == text[1]
                     : strlen(f->name) == len && !memcmp(f->name, text, len))
            return f;
    }
    return NULL;
}

static clv_status parse_flag(options *o, args *a, clv_err *err)
{
    const char *text = a->argv[a->at++];
    size_t len = strcspn(text, "=");
    const flag *f = find_flag(o->cmd, text, len);
    if (!f)
        return unknown_flag(o->cmd, text, len, err);
    const char *value = text[len] ? text + len + 1 : NULL;
    if (f->kind == KIND_SWITCH && value)
        return fail(err, CLV_USAGE, "%s takes no value", f->name);
    if (f->kind != KIND_SWITCH && f->kind != KIND_OPTION && !value) {
        if (a->at == a->argc)
            return fail(err, CLV_USAGE, "%s needs a value: %s %s", f->name,
                        f->name, f->arg);
        value = a->argv[a->at++];
    }
    return set_flag(o, f, value, a, err);
}

static clv_status check_args(options *o, clv_err *err)
{
    const command *c = o->cmd;
    if (o->args.n < c->min_args)
        return fail(err, CLV_USAGE, "%s needs %s; 'cleave help %s' shows how",
                    c->verb, c->args, c->verb);
    if (!o->json_lines && (o->jobs || o->resume || o->shard))
        return fail(err, CLV_USAGE, "%s goes with --json-lines",
                    o->jobs     ? "--jobs"
                    : o->resume ? "--resume"
                                : "--shard");
    if (o->args.n > c->max_args && !o->json_lines)
        return fail(err, CLV_USAGE, "%s: one argument too many: '%s'", c->verb,
                    o->args.items[c->max_args]);
    return CLV_OK;
}

/* Adds an argument. If a command takes several, commas separate them too,
 * unless the text is a file. */
static clv_status add_arg(options *o, const char *text, clv_err *err)
{
    if (!strcmp(text, "-")) {
        clv_status s = stdin_as_file(&text, err);
        if (s != CLV_OK)
            return s;
    }
    if (o->cmd->max_args > 1 && strchr(text, ',') && access(text, F_OK) != 0)
        return add_texts(o, text, &o->args, err);
    o->args.items =
        options_extend(o, o->args.items, o->args.n, 1, sizeof *o->args.items);
    if (!o->args.items)
        return fail(err, CLV_NOMEM, "out of memory");
    o->args.items[o->args.n++] = text;
    return CLV_OK;
}

clv_status options_parse(const command *cmd, int argc, char **argv, options *o,
                         clv_err *err)
{
    args a = {argc, 0, argv};
    bool flags = true;
    *o = (options){.cmd = cmd};
    while (a.at < argc) {
        const char *text = argv[a.at];
        clv_status s = CLV_OK;
        if (flags && !strcmp(text, "--")) {
            flags = false;
            a.at++;
        } else if (flags && text[0] == '-' && text[1]) {
            s = parse_flag(o, &a, err);
        } else {
            s = add_arg(o, text, err);
            a.at++;
        }
        if (s != CLV_OK)
            return s;
    }
    clv_status s = o->model ? add_arg(o, o->model, err) : CLV_OK;
    for (size_t i = 0; s == CLV_OK && i < o->models.n; i++)
        s = add_arg(o, o->models.items[i], err);
    if (s != CLV_OK || o->help)
        return s;
    return check_args(o, err);
}

/* backend.c - the table of backends, and how a name becomes one.
 *
 * `spec` is a row's name, NAME:ARGUMENT for rows that take one, the name of a
 * built-in rules profile, or else the path of a rules file. */
#include "backend/plugin.h"
#include "core/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* -- null: everything -----------------------------------------------------*/

static clv_answer always(clv_backend *b, const clv_graph *g, uint32_t node,
                         clv_why *why)
{
    (void)b, (void)g, (void)node, (void)why;
    return CLV_YES;
}

/* -- all-but:sort,topk ----------------------------------------------------*/

typedef struct name_list {
    char **name;
    uint32_t n;
} name_list;

static clv_status open_all_but(clv_backend *b, const char *argument, clv_err *e)
{
    size_t len = strlen(argument);
    name_list *list = arena_zalloc(&b->mem, sizeof *list);
    char *text = arena_strndup(&b->mem, argument, len);
    if (!list || !text ||
        !(list->name = arena_array(&b->mem, len + 1, sizeof *list->name)))
        return clv__nomem(e);
    for (char *save, *word = strtok_r(text, ",", &save); word;
         word = strtok_r(NULL, ",", &save))
        list->name[list->n++] = word;
    if (!list->n)
        return clv__fail(e, CLV_USAGE,
                         "all-but: needs operators, as in all-but:sort,topk");
    b->state = list;
    return CLV_OK;
}

static clv_answer all_but(clv_backend *b, const clv_graph *g, uint32_t node,
                          clv_why *why)
{
    const name_list *list = b->state;
    for (uint32_t i = 0; i < list->n; i++)
        if (clv__names_node(list->name[i], &g->nodes[node])) {
            snprintf(why->text, sizeof why->text, "left out by name");
            return CLV_NO;
        }
    return CLV_YES;
}

/* -- the table ------------------------------------------------------------*/

static const clv_backend_type null_type = {
    .name = "null",
    .about = "supports everything; for tests",
    .supports = always,
};

static const clv_backend_type all_but_type = {
    .name = "all-but",
    .about = "everything except the operators listed: all-but:sort,topk",
    .argument = CLV_ARGUMENT_MUST,
    .open = open_all_but,
    .supports = all_but,
};

static const clv_backend_type *const types[] = {
    &null_type,     &all_but_type,     &clv__command_type, &clv__ref_type,
    &clv__cpu_type, &clv__onednn_type, &clv__ort_type,
};

enum { N_TYPES = sizeof types / sizeof *types };

const char *clv_backend_at(uint32_t i)
{
    if (i < N_TYPES)
        return types[i]->name;
    for (uint32_t k = 0; k < i - N_TYPES; k++)
        if (!clv__backend_profiles[k].name)
            return NULL;
    return clv__backend_profiles[i - N_TYPES].name;
}

/* -- opening --------------------------------------------------------------*/

clv_status clv__read_text(arena *a, const char *path, const char **text,
                          size_t *len, clv_err *e)
{
    const size_t most = 16 << 20;
    clv_mapping map;
    CLV_TRY(clv__mapping_open(path, &map, e));
    bool large = map.size > most;
    *len = map.size;
    *text = large ? NULL : arena_strndup(a, (const char *)map.data, map.size);
    clv__mapping_close(&map);
    if (large)
        return clv__fail(e, CLV_FORMAT, "%s: larger than 16 MB", path);
    return *text ? CLV_OK : clv__nomem(e);
}

static const char *name_at(const void *ctx, uint32_t i)
{
    (void)ctx;
    return clv_backend_at(i);
}

static clv_status unknown(const char *spec, clv_err *e)
{
    uint32_t n = 0;
    while (clv_backend_at(n))
        n++;
    uint32_t near = clv__closest(spec, n, name_at, NULL);
    if (near != CLV_NONE)
        return clv__fail(e, CLV_NOT_FOUND,
                         "no backend is called '%.200s'; did you mean '%s'?",
                         spec, clv_backend_at(near));
    return clv__about(e,
                      clv__fail(e, CLV_NOT_FOUND,
                                "no backend is called '%.200s' (a rules file "
                                "ends in .json)",
                                spec),
                      CLV_SUBJECT_BACKEND, spec);
}

clv_status clv__backend_start(clv_backend *b, const char *rest, clv_err *e)
{
    const clv_backend_type *t = b->type;
    bool given = *rest == ':';
    if (given != (t->argument == CLV_ARGUMENT_MUST) &&
        t->argument != CLV_ARGUMENT_MAY)
        return clv__fail(e, CLV_USAGE,
                         given ? "backend '%s' takes no argument"
                               : "backend '%s' needs an argument after a ':'",
                         t->name);
    return t->open ? t->open(b, rest + given, e) : CLV_OK;
}

static clv_status open_type(clv_backend *b, const char *spec, clv_err *e)
{
    size_t name_len = strcspn(spec, ":");
    for (uint32_t i = 0; i < N_TYPES; i++) {
        const clv_backend_type *t = types[i];
        if (strlen(t->name) != name_len || memcmp(t->name, spec, name_len))
            continue;
        b->type = t;
        b->name = t->name;
        b->about = t->about;
        return clv__backend_start(b, spec + name_len, e);
    }
    return CLV_OK;
}

static bool is_path(const char *spec)
{
    size_t n = strlen(spec);
    return strchr(spec, '/') || (n > 5 && !strcmp(spec + n - 5, ".json"));
}

/* A plugin of that name, if there is one. */
static clv_status open_other(clv_backend *b, const char *spec, clv_err *e)
{
    enum { NAME_MAX_LEN = 64 };
    char name[NAME_MAX_LEN + 1];
    size_t len = strspn(spec, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (len && len <= NAME_MAX_LEN && (!spec[len] || spec[len] == ':')) {
        snprintf(name, sizeof name, "%.*s", (int)len, spec);
        CLV_TRY(clv__plugin_open(b, name, spec + len, e));
    }
    return b->type ? CLV_OK : unknown(spec, e);
}

static clv_status open_rules(clv_backend *b, const char *spec, clv_err *e)
{
    const char *text;
    size_t len;
    for (const clv_profile_file *f = clv__backend_profiles; f->name; f++)
        if (strcmp(f->name, spec) == 0)
            return clv__rules_open(b, f->name, f->text, f->size, e);
    if (!is_path(spec) || spec[strcspn(spec, ":/")] == ':')
        return open_other(b, spec, e);
    CLV_TRY(clv__read_text(&b->mem, spec, &text, &len, e));
    return clv__rules_open(b, spec, text, len, e);
}

clv_status clv_backend_open(const char *spec, const clv_backend_opts *opts,
                            clv_backend **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(spec, err);
    clv_backend_opts o;
    CLV_READ(clv_backend_opts, opts, &o, err);
    clv_backend *b = clv__zalloc(sizeof *b);
    if (!b)
        return clv__nomem(err);
    b->timeout = o.timeout > 0 ? o.timeout : 10;
    clv_status s = open_type(b, spec, err);
    if (s == CLV_OK && !b->type)
        s = open_rules(b, spec, err);
    if (s != CLV_OK) {
        clv_backend_free(b);
        return s;
    }
    *out = b;
    return CLV_OK;
}

void clv_backend_free(clv_backend *b)
{
    if (!b)
        return;
    if (b->type && b->type->close)
        b->type->close(b);
    arena_free(&b->mem);
    clv__free(b);
}

const char *clv_backend_name(const clv_backend *b)
{
    return b->name;
}

const char *clv_backend_about(const clv_backend *b)
{
    return b->about;
}

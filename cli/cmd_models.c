/* cmd_models.c - the zoo, each model with what it costs. */
#include "cli.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
    clv_model_cost *items;
    uint32_t n;
} listing;

static void models_report(const void *result, const clv_report_opts *o,
                          clv_buf *out)
{
    const listing *l = result;
    clv_report_models(l->items, l->n, o, out);
}

/* -- which models ---------------------------------------------------------*/

static bool models_named(const cli_texts *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->items[i], word))
            return true;
    return list->n == 0;
}

static bool models_selected(const options *o, const clv_zoo_model *m)
{
    bool named = o->args.n == 0;
    for (size_t i = 0; i < o->args.n && !named; i++)
        named = fnmatch(o->args.items[i], m->name, 0) == 0;
    return named && models_named(&o->task, m->task) &&
           models_named(&o->family, m->family) &&
           models_named(&o->source, m->source);
}

/* What --task, --family and --source choose from. */
typedef const char *models_column(const clv_zoo_model *m);

static const char *models_task(const clv_zoo_model *m)
{
    return m->task;
}

static const char *models_family(const clv_zoo_model *m)
{
    return m->family;
}

static const char *models_source(const clv_zoo_model *m)
{
    return m->source;
}

/* Refuses a word that no model has in that column, and says which there are. */
static clv_status models_check(const char *name, const cli_texts *list,
                               models_column *column, clv_err *err)
{
    enum { MOST = 256 };
    const char *words[MOST];
    uint32_t n = 0;
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++) {
        uint32_t k = 0;
        while (k < n && strcmp(words[k], column(m)))
            k++;
        if (k == n && n < MOST)
            words[n++] = column(m);
    }
    for (size_t i = 0; i < list->n; i++) {
        char near[160], all[1024] = "";
        uint32_t k = 0;
        while (k < n && strcmp(words[k], list->items[i]))
            k++;
        if (k < n)
            continue;
        if (clv_suggest(list->items[i], words, n, near, sizeof near))
            return fail(err, CLV_USAGE, "%s has no '%s'; did you mean %s?",
                        name, list->items[i], near);
        for (k = 0; k < n && strlen(all) + strlen(words[k]) + 3 < sizeof all;
             k++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                     k ? ", " : "", words[k]);
        return fail(err, CLV_USAGE, "%s has no '%s'; it takes %s", name,
                    list->items[i], all);
    }
    return CLV_OK;
}

static clv_status models_check_words(const options *o, clv_err *err)
{
    clv_status s = models_check("--task", &o->task, models_task, err);
    if (s == CLV_OK)
        s = models_check("--family", &o->family, models_family, err);
    if (s == CLV_OK)
        s = models_check("--source", &o->source, models_source, err);
    return s;
}

/* Drops models that are too large. */
static clv_status models_limit(const options *o, listing *l, clv_err *err)
{
    int64_t params = INT64_MAX;
    uint32_t n = 0;
    if (o->max_params && !parse_quantity(o->max_params, &params))
        return fail(err, CLV_USAGE,
                    "--max-params takes a number such as 10M, not '%s'",
                    o->max_params);
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].params <= params &&
            (o->max_gmacs == 0 ||
             (double)l->items[i].macs <= o->max_gmacs * 1e9))
            l->items[n++] = l->items[i];
    l->n = n;
    return CLV_OK;
}

/* -- in which order -------------------------------------------------------*/

static int models_by_name(const void *x, const void *y)
{
    const clv_model_cost *a = x, *b = y;
    return strcmp(a->info->name, b->info->name);
}

static int models_by(int64_t a, int64_t b, const void *x, const void *y)
{
    return a != b ? (a > b) - (a < b) : models_by_name(x, y);
}

static int models_by_params(const void *x, const void *y)
{
    const clv_model_cost *a = x, *b = y;
    return models_by(a->params, b->params, x, y);
}

static int models_by_gmacs(const void *x, const void *y)
{
    const clv_model_cost *a = x, *b = y;
    return models_by(a->macs, b->macs, x, y);
}

static int models_by_year(const void *x, const void *y)
{
    const clv_model_cost *a = x, *b = y;
    return models_by(a->info->year, b->info->year, x, y);
}

static void models_sort(const char *by, listing *l)
{
    static const struct {
        const char *by;
        int (*order)(const void *, const void *);
    } orders[] = {{"name", models_by_name},
                  {"params", models_by_params},
                  {"gmacs", models_by_gmacs},
                  {"year", models_by_year}};
    for (size_t i = 0; by && i < sizeof orders / sizeof *orders; i++)
        if (!strcmp(by, orders[i].by))
            qsort(l->items, l->n, sizeof *l->items, orders[i].order);
}

/* -- what they cost -------------------------------------------------------*/

static clv_status cost_model(clv_model_cost *m, clv_err *err)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_status s = clv_graph_open(m->info->name, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK) {
        m->params = clv_profile_totals(p)->params;
        m->macs = clv_profile_totals(p)->macs;
    }
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

static clv_status none_match(const char *word, uint32_t n, clv_err *err)
{
    const char **names = malloc(n * sizeof *names);
    char near[160];
    if (!names)
        return fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        names[i] = clv_zoo_at(i)->name;
    bool any = clv_suggest(word, names, n, near, sizeof near);
    free(names);
    if (any)
        return fail(err, CLV_NOT_FOUND,
                    "no model matches '%s'; did you mean %s?", word, near);
    return fail(err, CLV_NOT_FOUND,
                "no model matches '%s'; 'cleave models' lists them all", word);
}

static clv_status print_names(const options *o, const listing *l, clv_err *err)
{
    clv_buf text = {0};
    for (uint32_t i = 0; i < l->n; i++)
        clv_buf_printf(&text, "%s\n", l->items[i].info->name);
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}

/* Whether names alone do not tell what to list, nor in which order. */
static bool models_need_costs(const options *o)
{
    return !o->names || o->max_params || o->max_gmacs > 0 || o->sort;
}

static clv_status models_list(const options *o, listing *l, uint32_t n,
                              clv_err *err)
{
    clv_status s = models_check_words(o, err);
    for (uint32_t i = 0; s == CLV_OK && i < n; i++)
        if (models_selected(o, clv_zoo_at(i)))
            l->items[l->n++] = (clv_model_cost){clv_zoo_at(i), 0, 0};
    if (s == CLV_OK && l->n == 0 && o->args.n)
        return none_match(o->args.items[0], n, err);
    for (uint32_t i = 0; s == CLV_OK && models_need_costs(o) && i < l->n; i++)
        s = cost_model(&l->items[i], err);
    if (s == CLV_OK)
        s = models_limit(o, l, err);
    models_sort(o->sort, l);
    return s;
}

clv_status cmd_models(const options *o, clv_err *err)
{
    uint32_t n = 0;
    while (clv_zoo_at(n))
        n++;
    listing l = {malloc((n + 1) * sizeof *l.items), 0};
    if (!l.items)
        return fail(err, CLV_NOMEM, "out of memory");
    clv_status s = models_list(o, &l, n, err);
    if (s == CLV_OK)
        s = o->names ? print_names(o, &l, err)
                     : emit(o, models_report, &l, err);
    free(l.items);
    return s;
}

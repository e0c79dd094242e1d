/* cmd_models.c - the zoo, each model with what it costs. */
#include "cli.h"

#include <fnmatch.h>
#include <stdlib.h>

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

static bool models_selected(const options *o, const char *name)
{
    for (size_t i = 0; i < o->args.n; i++)
        if (fnmatch(o->args.items[i], name, 0) == 0)
            return true;
    return o->args.n == 0;
}

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

clv_status cmd_models(const options *o, clv_err *err)
{
    uint32_t n = 0;
    while (clv_zoo_at(n))
        n++;
    listing l = {malloc((n + 1) * sizeof *l.items), 0};
    if (!l.items)
        return fail(err, CLV_NOMEM, "out of memory");
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < n; i++)
        if (models_selected(o, clv_zoo_at(i)->name))
            l.items[l.n++] = (clv_model_cost){clv_zoo_at(i), 0, 0};
    if (l.n == 0)
        s = none_match(o->args.items[0], n, err);
    for (uint32_t i = 0; s == CLV_OK && !o->names && i < l.n; i++)
        s = cost_model(&l.items[i], err);
    if (s == CLV_OK)
        s = o->names ? print_names(o, &l, err)
                     : emit(o, models_report, &l, err);
    free(l.items);
    return s;
}

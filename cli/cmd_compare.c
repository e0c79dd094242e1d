/* cmd_compare.c - models side by side. */
#include "cli.h"

#include <string.h>

typedef struct models {
    clv_graph **g;
    clv_profile **p;
    uint32_t n;
} models;

static void compare_report(const void *c, const clv_report_opts *o,
                           clv_buf *out)
{
    clv_report_compare(c, o, out);
}

static clv_status open_all(const options *o, models *m, clv_err *err)
{
    clv_status s = CLV_OK;
    clv_profile_opts opts = {.size = sizeof opts};
    if (o->count)
        opts.convention = clv_convention_find(o->count);
    for (uint32_t i = 0; s == CLV_OK && i < m->n; i++) {
        s = open_model(o, o->args.items[i], &m->g[i], err);
        if (s == CLV_OK)
            s = clv_profile_new(m->g[i], &opts, &m->p[i], err);
    }
    return s;
}

/* --output x.html: the page of `cleave report`, which opens on the comparison.
 */
static bool compare_as_page(const options *o)
{
    const char *end = o->output ? strrchr(o->output, '.') : NULL;
    return end && same_word(end, ".html");
}

static clv_status compare_page(const options *o, clv_err *err)
{
    options own = *o;
    if (o->args.n > 2)
        return fail(err, CLV_USAGE,
                    "a page shows the difference of two models, not %zu",
                    o->args.n);
    own.page = o->output;
    return cmd_report(&own, err);
}

clv_status cmd_compare(const options *o, clv_err *err)
{
    options plain;
    options memory = {0}; /* lists that live as long as this call */
    clv_compare *c = NULL;
    models m = {.n = (uint32_t)o->args.n};
    if (m.n < 2)
        return fail(err, CLV_USAGE,
                    "compare needs two models or more, not only '%s'",
                    o->args.items[0]);
    if (compare_as_page(o)) {
        clv_status page = compare_page(o, err);
        if (page != CLV_OK || !o->json)
            return page;
        plain = *o;
        plain.output = NULL;
        o = &plain;
    }
    m.g = options_alloc(&memory, m.n, sizeof *m.g);
    m.p = options_alloc(&memory, m.n, sizeof *m.p);
    clv_status s = m.g && m.p ? open_all(o, &m, err)
                              : fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = clv_compare_new((const clv_profile *const *)m.p, m.n, &c, err);
    if (s == CLV_OK)
        s = emit(o, compare_report, c, err);
    clv_compare_free(c);
    for (uint32_t i = 0; m.g && m.p && i < m.n; i++) {
        clv_profile_free(m.p[i]);
        clv_graph_free(m.g[i]);
    }
    options_free(&memory);
    return s;
}

/* model.c - failures and notes, and a model as the options describe it. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

clv_status fail(clv_err *err, clv_status code, const char *fmt, ...)
{
    if (err->code != CLV_OK)
        return err->code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    clv_vformat(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return code;
}

void say(const char *kind, const char *text)
{
    char line[800];
    snprintf(line, sizeof line, "cleave: %s%s", kind, text);
    clv_clean_text(line);
    fprintf(stderr, "%s\n", line);
}

/* A --dim before the i-th gives its name another value. */
static bool has_other_value(const options *o, size_t i)
{
    const clv_dim_arg *d = o->dim.items;
    for (size_t k = 0; k < i; k++)
        if (!strcmp(d[k].name, d[i].name) && d[k].value != d[i].value)
            return true;
    return false;
}

/* Lays operators with bodies open, unless the command runs or writes them. */
static clv_status open_bodies(const options *o, clv_graph **g, clv_err *err)
{
    clv_graph *whole = *g;
    if (!o->quiet)
        say_warnings(whole);
    if (o->folded)
        return CLV_OK;
    clv_status s = clv_graph_unfold(whole, g, err);
    if (s == CLV_OK && *g != whole && !o->quiet)
        say_warnings(*g);
    clv_graph_free(whole);
    return s;
}

clv_status open_model(const options *o, const char *model, clv_graph **out,
                      clv_err *err)
{
    *out = NULL;
    if (o->batch.n > 1)
        return fail(err, CLV_USAGE, "%s takes one --batch, not %zu",
                    o->cmd->verb, o->batch.n);
    for (size_t i = 1; i < o->dim.n; i++)
        if (has_other_value(o, i))
            return fail(err, CLV_USAGE, "%s takes one value of --dim %s",
                        o->cmd->verb, o->dim.items[i].name);
    clv_open_opts opts = {
        .size = sizeof opts,
        .shapes = o->input_shape.items,
        .n_shapes = o->input_shape.n,
        .dims = o->dim.items,
        .n_dims = o->dim.n,
        .batch = o->batch.n ? o->batch.items[0] : 0,
        .dtype = o->dtype,
        .loop = o->loop,
        .params = o->params,
        .signature = o->signature,
        .ops_file = o->ops,
        .args = o->arg.items,
        .n_args = o->arg.n,
        .data = o->data,
        .n_data = o->n_data,
    };
    const cli_session *own = o->session;
    clv_status s = own->open ? own->open(own->user, model, &opts, out, err)
                             : clv_graph_open(model, &opts, out, err);
    return s == CLV_OK ? open_bodies(o, out, err) : s;
}

clv_status open_profile(const options *o, clv_graph **g, clv_profile **p,
                        clv_err *err)
{
    clv_profile_opts opts = {.size = sizeof opts,
                             .ai_threshold = o->ai_threshold};
    *p = NULL;
    if (o->count)
        opts.convention = clv_convention_find(o->count);
    clv_status s = open_model(o, o->args.items[0], g, err);
    return s == CLV_OK ? clv_profile_new(*g, &opts, p, err) : s;
}

clv_status check_strict(const options *o, const clv_profile *p, clv_err *err)
{
    uint32_t n = clv_profile_totals(p)->trust[CLV_TRUST_UNKNOWN];
    if (!o->strict || n == 0)
        return CLV_OK;
    return fail(err, CLV_LIMIT,
                "%u operator%s unknown (--strict); "
                "'--ops FILE' can give their costs",
                n, n == 1 ? " is" : "s are");
}

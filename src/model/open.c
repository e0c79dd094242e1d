/* open.c - a model by what the user typed: a name of the zoo or a path. */
#include "formats/formats.h"
#include "zoo/zoo.h"

#include <string.h>

static const char *model_name(const void *ctx, uint32_t i)
{
    (void)ctx;
    return clv_zoo_at(i)->name;
}

static clv_status not_found(const char *model, clv_err *err)
{
    uint32_t n = 0;
    while (clv_zoo_at(n))
        n++;
    char near[160];
    if (clv__suggest(model, n, model_name, NULL, near, sizeof near))
        return clv__fail(err, CLV_NOT_FOUND,
                         "no model or file '%s'; did you mean %s?", model,
                         near);
    return clv__fail(err, CLV_NOT_FOUND,
                     "no model or file '%s'; 'cleave models' lists the models",
                     model);
}

clv_status clv_graph_open(const char *model, const clv_open_opts *opts,
                          clv_graph **out, clv_err *err)
{
    clv__err_clear(err);
    *out = NULL;
    const zoo_model *m = clv__zoo_find(model);
    if (m && opts && opts->n_dims)
        return clv__fail(err, CLV_USAGE,
                         "--dim %s: '%s' has no named dimensions; --batch and "
                         "--input-shape set its sizes",
                         opts->dims[0].name, model);
    if (m)
        return clv__zoo_build(m, opts, out, err);
    clv_status s = clv__import(model, opts, out, err);
    if (s != CLV_NOT_FOUND)
        return s;
    clv__err_clear(err);
    return not_found(model, err);
}

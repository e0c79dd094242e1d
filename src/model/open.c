/* open.c - the front door: what the user typed, a name of the zoo or a path,
 * becomes an inferred graph.
 *
 * What holds for every model is checked here: that the options agree with each
 * other, and that they speak of inputs which the model has. Builders begin and
 * finish graphs in one way (ops/build.h). */
#include "core/guard.h"
#include "formats/formats.h"
#include "ops/build.h"
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
    return clv__about(
        err, clv__fail(err, CLV_NOT_FOUND, "no model or file '%s'", model),
        CLV_SUBJECT_MODEL, model);
}

/* No name of the zoo looks like this, and looking through all of them takes as
 * long as reading a small model. */
static bool open_is_path(const char *model)
{
    const char *dot = strrchr(model, '.');
    return strchr(model, '/') || (dot && !strcmp(dot, ".onnx"));
}

static clv_status open_any(const char *model, const clv_open_opts *opts,
                           clv_graph **out, clv_err *e)
{
    const char *knobs;
    const zoo_model *m =
        open_is_path(model) ? NULL : clv__zoo_find(model, &knobs);
    if (m && opts->n_dims)
        return clv__about(e,
                          clv__fail(e, CLV_USAGE,
                                    "dimension '%s': '%s' has no named ones",
                                    opts->dims[0].name, model),
                          CLV_SUBJECT_DIM, opts->dims[0].name);
    if (m && opts->signature)
        return clv__fail(e, CLV_USAGE,
                         "'%s': only TFLite files have signatures", model);
    if (m)
        return clv__zoo_build(m, model, opts, out, e);
    if (opts->n_args)
        return clv__fail(e, CLV_USAGE,
                         "'%s' is no built-in model: it has no numbers that "
                         "can be set",
                         model);
    clv_status s = clv__import(model, opts, out, e);
    if (s != CLV_NOT_FOUND)
        return s;
    clv__err_clear(e);
    return not_found(model, e);
}

static bool open_has_input(const clv_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!strcmp(g->values[g->inputs[i]].name, name))
            return true;
    return false;
}

/* Every shape that has a name is that of an input. */
static clv_status open_check_names(const clv_graph *g, const char *model,
                                   const clv_open_opts *opts, clv_err *e)
{
    for (size_t i = 0; opts && i < opts->n_shapes; i++) {
        const char *name = opts->shapes[i].name;
        if (!name || open_has_input(g, name))
            continue;
        if (g->n_inputs == 0)
            return clv__fail(e, CLV_USAGE, "%s has no input '%s', nor any",
                             model, name);
        return clv__fail(e, CLV_USAGE, "%s has no input '%s'; it has '%s'",
                         model, name, g->values[g->inputs[0]].name);
    }
    return CLV_OK;
}

clv_status clv_graph_open(const char *model, const clv_open_opts *opts,
                          clv_graph **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(model, err);
    clv_open_opts own;
    CLV_READ(clv_open_opts, opts, &own, err);
    opts = &own;
    CLV_TRY(clv__build_check(opts, err));
    CLV_TRY(open_any(model, opts, out, err));
    clv_status s = open_check_names(*out, model, opts, err);
    if (s == CLV_OK)
        s = clv__guard_check((*out)->file, err);
    if (s != CLV_OK) {
        clv_graph_free(*out);
        *out = NULL;
    }
    return s;
}

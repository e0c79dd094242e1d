/* registry.c - every built-in model: find one, build it. */
#include "ops/custom.h"
#include "zoo/zoo.h"

#include <string.h>

#define X(family) clv__zoo_##family,
static const zoo_model *const families[] = {ZOO_FAMILIES(X)};
#undef X

enum { N_FAMILIES = sizeof families / sizeof *families };

static const zoo_model *model_at(uint32_t i)
{
    for (uint32_t f = 0; f < N_FAMILIES; f++)
        for (const zoo_model *m = families[f]; m->build; m++)
            if (i-- == 0)
                return m;
    return NULL;
}

const clv_zoo_info *clv_zoo_at(uint32_t i)
{
    const zoo_model *m = model_at(i);
    return m ? &m->info : NULL;
}

const zoo_model *clv__zoo_find(const char *name)
{
    for (uint32_t f = 0; f < N_FAMILIES; f++)
        for (const zoo_model *m = families[f]; m->build; m++)
            if (!strcmp(m->info.name, name))
                return m;
    return NULL;
}

/* The default input, then --input-shape, then --batch. */
static clv_status input_dims(const zoo_model *m, const clv_open_opts *opts,
                             int64_t *dims, clv_err *e)
{
    memcpy(dims, m->info.input, m->info.rank * sizeof *dims);
    for (size_t i = 0; opts && i < opts->n_shapes; i++) {
        const clv_shape_arg *s = &opts->shapes[i];
        if (s->name && strcmp(s->name, "x"))
            return clv__fail(e, CLV_USAGE, "%s has no input '%s'; it has 'x'",
                             m->info.name, s->name);
        if (s->rank != m->info.rank)
            return clv__fail(e, CLV_USAGE,
                             "%s takes an input of rank %u, not %u",
                             m->info.name, m->info.rank, s->rank);
        memcpy(dims, s->dims, s->rank * sizeof *dims);
    }
    if (opts && opts->batch)
        dims[0] = opts->batch;
    for (uint32_t i = 0; i < m->info.rank; i++)
        if (dims[i] < 1)
            return clv__fail(e, CLV_USAGE, "input dimension %u is %lld", i,
                             (long long)dims[i]);
    if (m->info.rank == 4 && dims[1] != m->info.input[1])
        return clv__fail(
            e, CLV_SHAPE, "%s: its first layer takes %lld channels, not %lld",
            m->info.name, (long long)m->info.input[1], (long long)dims[1]);
    return CLV_OK;
}

clv_status clv__zoo_build(const zoo_model *m, const clv_open_opts *opts,
                          clv_graph **out, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    *out = NULL;
    CLV_TRY(input_dims(m, opts, dims, e));
    clv_graph *g;
    CLV_TRY(clv_graph_new(m->info.name, &g, e));
    g->format = "zoo";
    clv_status s = clv__custom_load(g, opts, e);
    if (s != CLV_OK) {
        clv_graph_free(g);
        return s;
    }
    builder b = {.g = g, .e = e, .dtype = CLV_FLOAT32};
    if (opts && opts->dtype != CLV_NODTYPE)
        b.dtype = opts->dtype;
    m->build(&b, &(zoo_input){dims, m->info.rank}, m->variant);
    if (b.status == CLV_OK)
        b.status = clv__graph_finish(g, e);
    if (b.status == CLV_OK) /* its nodes were inferred as they were added */
        b.status = clv__graph_inferred(g, e);
    if (b.status != CLV_OK) {
        clv_graph_free(g);
        return b.status;
    }
    *out = g;
    return CLV_OK;
}

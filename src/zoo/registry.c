/* registry.c - every built-in model: find one, build it. */
#include "ops/build.h"
#include "zoo/zoo.h"

#include <string.h>

/* A browser opens files: one family stands for all there, which would be a
 * sixth of the engine. */
#ifdef __wasi__
#undef ZOO_FAMILIES
#undef ZOO_TURNED
#define ZOO_FAMILIES(X) X(convmixer)
#define ZOO_TURNED(X)   X(convmixer)
#endif

#define X(family) clv__zoo_##family,
static const zoo_model *const families[] = {ZOO_FAMILIES(X)};
#undef X

#define X(family) &clv__knobs_##family,
static const zoo_knobs *const turned[] = {ZOO_TURNED(X)};
#undef X

const zoo_knobs *clv__zoo_knobs(const zoo_model *m)
{
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++)
        if (turned[i]->build == m->build)
            return turned[i];
    return NULL;
}

enum { N_FAMILIES = sizeof families / sizeof *families };

static const zoo_model *registry_model_at(uint32_t i)
{
    for (uint32_t f = 0; f < N_FAMILIES; f++)
        for (const zoo_model *m = families[f]; m->build; m++)
            if (i-- == 0)
                return m;
    return NULL;
}

const clv_zoo_model *clv_zoo_at(uint32_t i)
{
    const zoo_model *m = registry_model_at(i);
    return m ? &m->info : NULL;
}

/* The row whose name, or the first row with knobs whose family, is the n
 * characters of `name`. */
static const zoo_model *registry_find(const char *name, size_t n, bool family)
{
    for (uint32_t f = 0; f < N_FAMILIES; f++)
        for (const zoo_model *m = families[f]; m->build; m++) {
            const char *own = family ? m->info.family : m->info.name;
            if (!strncmp(own, name, n) && !own[n] &&
                (!family || clv__zoo_knobs(m)))
                return m;
        }
    return NULL;
}

const zoo_model *clv__zoo_find(const char *name, const char **knobs)
{
    const char *colon = strchr(name, ':');
    size_t n = colon ? (size_t)(colon - name) : strlen(name);
    const zoo_model *m = n ? registry_find(name, n, false) : NULL;
    *knobs = colon ? colon + 1 : NULL;
    return m || !colon || !n ? m : registry_find(name, n, true);
}

/* The default input, as the options change it. */
static clv_status registry_input_dims(const zoo_model *m,
                                      const clv_open_opts *opts,
                                      clv_build_input *in, clv_err *e)
{
    memcpy(in->dims, m->info.input, m->info.rank * sizeof *in->dims);
    clv_status s = clv__build_shape(opts, in, e);
    if (s != CLV_OK) {
        clv__err_prefix(e, "%s", m->info.name);
        return s;
    }
    const int64_t *dims = in->dims;
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

enum { ZOO_NODES = 1024, ZOO_VALUES = 2560 }; /* that most models have */

clv_status clv__zoo_build(const zoo_model *m, const char *typed,
                          const clv_open_opts *opts, clv_graph **out,
                          clv_err *e)
{
    const char *colon = strchr(typed, ':');
    max_align_t variant[ZOO_MAX_VARIANT / sizeof(max_align_t)];
    const char *name = m->info.input_name ? m->info.input_name : "x";
    clv_build_input in = {name, strlen(name), true, m->info.rank, {0}};
    clv_graph *g;
    *out = NULL;
    CLV_TRY(clv__zoo_turn(m, colon ? colon + 1 : NULL, opts, variant, e));
    CLV_TRY(registry_input_dims(m, opts, &in, e));
    CLV_TRY(clv__build_new(typed, "zoo", opts, &g, e));
    if (!clv__graph_reserve(g, ZOO_NODES, ZOO_VALUES)) {
        clv_graph_free(g);
        return clv__nomem(e);
    }
    builder b = {.g = g,
                 .e = e,
                 .opts = opts,
                 .dtype = clv__build_dtype(opts, CLV_FLOAT32)};
    m->build(&b, &(zoo_input){in.dims, in.rank},
             clv__zoo_knobs(m) ? variant : m->variant);
    if (b.status == CLV_OK)
        b.status = clv__build_finish(g, CLV_BUILT_INFERRED, e);
    if (b.status == CLV_OK)
        *out = g;
    else
        clv_graph_free(g);
    return b.status;
}

/* build.c - see build.h.
 *
 * A graph is finished in one way, whoever built it:
 *
 *   1. order    every edge names a value and every value has one producer;
 *               nodes are put in topological order and indexed (order.c)
 *   2. settle   the shape rule of each node, unless it ran before
 *   3. join     nodes between dequantize and quantize run on integers
 *   4. close    each weight is given to the node that counts it (owner.c); the
 *               graph is read-only from then on
 *
 * A copy of a part skips 2 and 3: what its nodes and values are was decided by
 * the whole, and the part may not see why. */
#include "ops/build.h"

#include "ops/custom.h"

#include <string.h>

/* -- begin ----------------------------------------------------------------*/

clv_status clv__build_new(const char *name, const char *format,
                          const clv_open_opts *opts, clv_graph **out,
                          clv_err *e)
{
    clv_graph *g;
    *out = NULL;
    CLV_TRY(clv_graph_new(name, &g, e));
    g->format = format;
    clv_status s = clv__custom_load(g, opts, e);
    if (s == CLV_OK)
        *out = g;
    else
        clv_graph_free(g);
    return s;
}

clv_status clv__build_body(clv_graph *g, const char *name, clv_graph **body,
                           clv_err *e)
{
    CLV_TRY(clv_graph_new(name, body, e));
    if (!clv__graph_own_body(g, *body)) {
        clv_graph_free(*body);
        *body = NULL;
        return clv__nomem(e);
    }
    (*body)->format = g->format;
    (*body)->custom = g->custom;
    (*body)->holds_weights = g->holds_weights;
    return CLV_OK;
}

clv_status clv__build_part(const clv_graph *g, clv_graph **part, clv_err *e)
{
    CLV_TRY(clv_graph_new(g->name, part, e));
    (*part)->custom = g->custom;
    (*part)->folder = g->folder;
    (*part)->holds_weights = g->holds_weights;
    return CLV_OK;
}

/* -- options --------------------------------------------------------------*/

static bool build_same_name(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static clv_status build_check_dim(const clv_open_opts *opts, size_t i,
                                  clv_err *e)
{
    const clv_dim_arg *d = &opts->dims[i];
    CLV_NEED(d->name, e);
    if (d->value < 0)
        return clv__fail(e, CLV_USAGE, "dimension '%s' is given as %lld",
                         d->name, (long long)d->value);
    for (size_t k = 0; k < i; k++)
        if (build_same_name(opts->dims[k].name, d->name) &&
            opts->dims[k].value != d->value)
            return clv__fail(
                e, CLV_USAGE, "dimension '%s' is given as %lld and as %lld",
                d->name, (long long)opts->dims[k].value, (long long)d->value);
    return CLV_OK;
}

static clv_status build_check_shape(const clv_open_opts *opts, size_t i,
                                    clv_err *e)
{
    const clv_shape_arg *b = &opts->shapes[i];
    for (size_t k = 0; k < i; k++) {
        const clv_shape_arg *a = &opts->shapes[k];
        if (!build_same_name(a->name, b->name) ||
            (a->rank == b->rank &&
             !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims)))
            continue;
        clv_value x = {.dims = a->dims, .rank = (uint8_t)a->rank};
        clv_value y = {.dims = b->dims, .rank = (uint8_t)b->rank};
        char as[256], and[256];
        return clv__fail(
            e, CLV_USAGE, "the shape of %s%s%s is given as %s and as %s",
            b->name ? "input '" : "the first input", b->name ? b->name : "",
            b->name ? "'" : "", clv__shape_text(&x, as, sizeof as),
            clv__shape_text(&y, and, sizeof and));
    }
    return CLV_OK;
}

clv_status clv__build_check(const clv_open_opts *opts, clv_err *e)
{
    if (!opts)
        return CLV_OK;
    if ((opts->n_shapes && !opts->shapes) || (opts->n_dims && !opts->dims) ||
        (opts->n_custom && !opts->custom) || (opts->n_data && !opts->data))
        return clv__fail(e, CLV_USAGE, "clv_open_opts: a list is NULL");
    if (opts->batch < 0 || opts->loop < 0)
        return clv__fail(
            e, CLV_USAGE, "a %s of %lld", opts->batch < 0 ? "batch" : "loop",
            (long long)(opts->batch < 0 ? opts->batch : opts->loop));
    if ((unsigned)opts->dtype >= CLV_DTYPE_COUNT)
        return clv__fail(e, CLV_USAGE, "there is no data type %u",
                         (unsigned)opts->dtype);
    for (size_t i = 0; i < opts->n_shapes; i++)
        if (opts->shapes[i].rank > CLV_MAX_RANK)
            return clv__fail(e, CLV_SHAPE, "a shape of %u axes, at most %d",
                             opts->shapes[i].rank, CLV_MAX_RANK);
    for (size_t i = 0; i < opts->n_data; i++)
        if (opts->data[i].rank > CLV_MAX_RANK)
            return clv__fail(e, CLV_SHAPE, "data of %u axes, at most %d",
                             opts->data[i].rank, CLV_MAX_RANK);
    for (size_t i = 0; i < opts->n_dims; i++)
        CLV_TRY(build_check_dim(opts, i, e));
    for (size_t i = 0; i < opts->n_shapes; i++)
        CLV_TRY(build_check_shape(opts, i, e));
    return CLV_OK;
}

clv_dtype clv__build_dtype(const clv_open_opts *opts, clv_dtype t)
{
    bool common = t == CLV_FLOAT32 || t == CLV_FLOAT16 || t == CLV_BFLOAT16 ||
                  t == CLV_FLOAT64;
    return common && opts && opts->dtype != CLV_NODTYPE ? opts->dtype : t;
}

static const clv_shape_arg *build_shape_for(const clv_open_opts *opts,
                                            const clv_build_input *in)
{
    const clv_shape_arg *unnamed = NULL;
    for (size_t i = 0; i < opts->n_shapes; i++) {
        const clv_shape_arg *s = &opts->shapes[i];
        if (s->name && strlen(s->name) == in->name_len &&
            !memcmp(s->name, in->name, in->name_len))
            return s;
        if (!s->name && in->first)
            unnamed = s;
    }
    return unnamed;
}

clv_status clv__build_shape(const clv_open_opts *opts, clv_build_input *in,
                            clv_err *e)
{
    if (!opts)
        return CLV_OK;
    const clv_shape_arg *given = build_shape_for(opts, in);
    if (given && in->rank != CLV_NO_RANK && in->rank != given->rank)
        return clv__fail(e, CLV_SHAPE,
                         "input '%.*s' has %u axes, the given shape has %u",
                         (int)in->name_len, in->name, in->rank, given->rank);
    if (given) {
        in->rank = given->rank;
        memcpy(in->dims, given->dims, given->rank * sizeof *in->dims);
    }
    if (opts->batch > 0 && in->rank != CLV_NO_RANK && in->rank > 0)
        in->dims[0] = opts->batch;
    return CLV_OK;
}

/* -- finish ---------------------------------------------------------------*/

static clv_status build_infer(clv_graph *g, uint32_t id, void *ctx, clv_err *e)
{
    (void)ctx;
    return clv__infer_node(g, id, e);
}

/* Notes what costs are computed from, and makes g read-only. */
static clv_status build_close(clv_graph *g, clv_err *e)
{
    CLV_TRY(clv__own_weights(g, e));
    if (g->n_unsaid &&
        !clv__graph_warn(g, "%u more warnings are not shown", g->n_unsaid))
        return clv__nomem(e);
    g->inferred = true;
    return CLV_OK;
}

clv_status clv__build_finish_by(clv_graph *g, clv_settle_fn *settle, void *ctx,
                                clv_err *e)
{
    CLV_TRY(clv__graph_order(g, e));
    for (uint32_t id = 0; settle && id < g->n_nodes; id++)
        CLV_TRY(settle(g, id, ctx, e));
    CLV_TRY(clv__join_quantised(g, e));
    return build_close(g, e);
}

clv_status clv__build_finish(clv_graph *g, clv_built how, clv_err *e)
{
    if (how != CLV_BUILT_COPIED)
        return clv__build_finish_by(
            g, how == CLV_BUILT_BARE ? build_infer : NULL, NULL, e);
    CLV_TRY(clv__graph_order(g, e));
    return build_close(g, e);
}

clv_status clv_graph_infer(clv_graph *g, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(g, err);
    return g->inferred ? CLV_OK : clv__build_finish(g, CLV_BUILT_BARE, err);
}

/* cmd_whatif.c - what another batch, type or device would change, and what
 * would if some operators computed in int8, on the CPU, or not at all. */
#include "cli.h"

typedef struct whatif_side {
    clv_graph *g;
    clv_profile *p;
} whatif_side;

/* The model as it is, as it is asked for, and the latter in int8. */
typedef struct whatif {
    whatif_side before, after, int8;
    uint8_t *fates;
    clv_whatif_opts opts;
} whatif;

static void whatif_report(const void *result, const clv_report_opts *o,
                          clv_buf *out)
{
    clv_report_whatif(result, o, out);
}

static clv_status whatif_devices(const options *o, whatif *w, clv_err *err)
{
    clv_status s = CLV_OK;
    if (o->hardware.n > 1)
        return fail(err, CLV_USAGE, "whatif takes one --hardware, not %zu",
                    o->hardware.n);
    if (o->hardware.n == 0)
        return CLV_OK;
    s = find_device(o, o->hardware.items[0], &w->opts.device, err);
    return s == CLV_OK ? find_device(o, o->host ? o->host : USUAL_HOST,
                                     &w->opts.host, err)
                       : s;
}

/* Opens it up to three times; warnings are said once. */
static clv_status whatif_open(const options *o, whatif *w, clv_err *err)
{
    options own = *o;
    own.dtype = CLV_NODTYPE;
    own.batch.n = 0;
    clv_status s = open_profile(&own, &w->before.g, &w->before.p, err);
    own = *o;
    own.quiet = true;
    if (s == CLV_OK)
        s = open_profile(&own, &w->after.g, &w->after.p, err);
    own.dtype = CLV_INT8;
    if (s == CLV_OK && o->int8.n)
        s = open_profile(&own, &w->int8.g, &w->int8.p, err);
    return s;
}

static clv_status whatif_give(const cli_texts *patterns, clv_fate fate,
                              whatif *w, clv_err *err)
{
    clv_status s = CLV_OK;
    for (size_t i = 0; s == CLV_OK && i < patterns->n; i++)
        s = clv_fate_give(w->after.g, patterns->items[i], fate, w->fates, err);
    return s;
}

int64_t batch_of(const clv_graph *g)
{
    uint32_t n;
    const uint32_t *in = clv_graph_inputs(g, &n);
    clv_value_info v = {.size = sizeof v};
    if (n == 0 || clv_graph_get_value(g, in[0], &v, NULL) != CLV_OK ||
        v.rank == CLV_NONE || v.rank == 0)
        return 1;
    return v.dims[0];
}

static clv_status whatif_answer(const options *o, whatif *w, clv_err *err)
{
    clv_whatif before = {.size = sizeof before}, after = {.size = sizeof after};
    clv_whatif_opts as_is = w->opts;
    as_is.profile = w->before.p;
    w->opts.profile = w->after.p;
    w->opts.int8 = w->int8.p;
    w->opts.fates = w->fates;
    clv_status s = clv_whatif_find(&as_is, &before, err);
    if (s == CLV_OK)
        s = clv_whatif_find(&w->opts, &after, err);
    const clv_whatif_report r = {
        .graph = w->after.g,
        .before = &before,
        .after = &after,
        .batch_before = batch_of(w->before.g),
        .batch_after = batch_of(w->after.g),
        .dtype = o->dtype == CLV_NODTYPE ? "" : clv_dtype_name(o->dtype),
        .device = w->opts.device,
        .host = w->opts.host,
    };
    return s == CLV_OK ? emit(o, whatif_report, &r, err) : s;
}

clv_status cmd_whatif(const options *o, clv_err *err)
{
    options memory = {0}; /* lists that live as long as this call */
    whatif w = {.opts = {.size = sizeof w.opts,
                         .link = o->link * 1e9,
                         .latency = o->latency * 1e-6}};
    clv_status s = whatif_devices(o, &w, err);
    if (s == CLV_OK)
        s = whatif_open(o, &w, err);
    if (s == CLV_OK)
        w.fates = options_alloc(&memory, clv_graph_num_nodes(w.after.g) + 1, 1);
    if (s == CLV_OK && !w.fates)
        s = fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = whatif_give(&o->int8, CLV_FATE_INT8, &w, err);
    if (s == CLV_OK)
        s = whatif_give(&o->cpu_nodes, CLV_FATE_CPU, &w, err);
    if (s == CLV_OK)
        s = whatif_give(&o->remove, CLV_FATE_REMOVED, &w, err);
    if (s == CLV_OK)
        s = whatif_answer(o, &w, err);
    const whatif_side *sides[] = {&w.before, &w.after, &w.int8};
    for (int i = 0; i < 3; i++) {
        clv_profile_free(sides[i]->p);
        clv_graph_free(sides[i]->g);
    }
    options_free(&memory);
    return s;
}

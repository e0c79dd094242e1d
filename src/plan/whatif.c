/* whatif.c - sums of a model of which some operators meet another fate. */
#include "cleave/whatif.h"

#include "analysis/profile.h"
#include "cut/place.h"

#include <stdlib.h>

static const char *const fate_names[] = {
#define CLV_X(code, name) name,
    CLV_FATE_TABLE(CLV_X)
#undef CLV_X
};

const char *clv_fate_name(clv_fate f)
{
    return CLV_NAME(fate_names, f);
}

/* "#7" or "#7-12" */
static bool fate_range(const char *text, uint64_t *first, uint64_t *last)
{
    char *end;
    if (*text++ != '#' || !clv__is_digit(*text))
        return false;
    *first = *last = strtoull(text, &end, 10);
    if (*end == '-' && clv__is_digit(end[1]))
        *last = strtoull(end + 1, &end, 10);
    return *end == '\0';
}

clv_status clv_fate_give(const clv_graph *g, const char *pattern, clv_fate fate,
                         uint8_t *fates, clv_err *err)
{
    uint64_t first, last;
    bool any = false;
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(pattern, err);
    CLV_NEED(fates, err);
    bool numbers = fate_range(pattern, &first, &last);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (numbers ? i >= first && i <= last
                    : clv__node_matches(g, &g->nodes[i], pattern)) {
            fates[i] = (uint8_t)fate;
            any = true;
        }
    return any ? CLV_OK
               : clv__fail(err, CLV_NOT_FOUND,
                           "no node or module matches '%.200s'", pattern);
}

static clv_fate fate_of(const clv_whatif_opts *o, uint32_t node)
{
    return o->fates ? (clv_fate)o->fates[node] : CLV_FATE_STAYS;
}

static void whatif_time(const clv_whatif_opts *o, const clv_layer *l,
                        clv_fate fate, clv_whatif *w)
{
    const clv_device *d = fate == CLV_FATE_CPU ? o->host : o->device;
    if (!o->device)
        return;
    clv_roofline r = clv_device_roofline(d, l->dtype, &l->cost, &l->parallel);
    if (r.seconds < 0)
        w->cannot++;
    else if (fate == CLV_FATE_CPU)
        w->host_seconds += r.seconds;
    else
        w->device_seconds += r.seconds;
}

static void whatif_add(const clv_whatif_opts *o, uint32_t node, clv_whatif *w)
{
    clv_fate fate = fate_of(o, node);
    const clv_profile *p = fate == CLV_FATE_INT8 ? o->int8 : o->profile;
    const clv_layer *l = &p->layers[node];
    w->operators[fate]++;
    if (fate == CLV_FATE_REMOVED)
        return;
    w->params = sat_add(w->params, l->cost.params);
    w->macs = sat_add(w->macs, l->cost.macs);
    w->flops = sat_add(w->flops, l->cost.flops);
    w->bytes_in = sat_add(w->bytes_in, l->cost.bytes_in);
    w->bytes_weights = sat_add(w->bytes_weights, l->cost.bytes_weights);
    w->bytes_out = sat_add(w->bytes_out, l->cost.bytes_out);
    whatif_time(o, l, fate, w);
}

/* Does an operator that stays read v on the other side? */
static bool whatif_crosses(const clv_whatif_opts *o, uint32_t v)
{
    const clv_graph *g = o->profile->g;
    uint32_t maker = g->values[v].producer;
    bool here = maker != CLV_NONE && fate_of(o, maker) == CLV_FATE_CPU;
    for (uint32_t i = g->user_first[v]; i < g->user_first[v + 1]; i++) {
        clv_fate fate = fate_of(o, g->users[i]);
        if (fate != CLV_FATE_REMOVED && (fate == CLV_FATE_CPU) != here)
            return true;
    }
    return false;
}

static void whatif_cross(const clv_whatif_opts *o, clv_whatif *w)
{
    const clv_graph *g = o->profile->g;
    for (uint32_t v = 0; v < g->n_values; v++) {
        int64_t bytes = clv__bytes(&g->values[v]);
        if (value_is_fixed(&g->values[v]) || bytes == CLV_SAT ||
            !whatif_crosses(o, v))
            continue; /* of unknown size: not counted, as in a profile */
        w->crossing_tensors++;
        w->crossing_bytes = sat_add(w->crossing_bytes, bytes);
        w->transfer_seconds += o->latency + (double)bytes / o->link;
    }
}

static clv_status whatif_check(const clv_whatif_opts *o, clv_err *e)
{
    const clv_graph *g = o->profile->g;
    for (uint32_t i = 0; o->fates && i < g->n_nodes; i++) {
        if (o->fates[i] >= CLV_FATE_COUNT)
            return clv__fail(e, CLV_USAGE, "node %u: there is no fate %u", i,
                             o->fates[i]);
        if (o->fates[i] == CLV_FATE_INT8 && !o->int8)
            return clv__fail(e, CLV_USAGE,
                             "an operator goes to int8 without its profile");
        if (o->fates[i] == CLV_FATE_CPU && o->device && !o->host)
            return clv__fail(e, CLV_USAGE,
                             "an operator moves to the CPU, which is missing");
    }
    if (o->int8 && o->int8->g->n_nodes != g->n_nodes)
        return clv__fail(e, CLV_USAGE,
                         "the model has %u operators, and %u in int8",
                         g->n_nodes, o->int8->g->n_nodes);
    return CLV_OK;
}

clv_status clv_whatif_find(const clv_whatif_opts *opts, clv_whatif *out,
                           clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(opts, err);
    CLV_NEED(out, err);
    clv_whatif_opts o;
    CLV_READ(clv_whatif_opts, opts, &o, err);
    CLV_NEED(o.profile, err);
    CLV_TRY(whatif_check(&o, err));
    o.link = o.link > 0 ? o.link : DEFAULT_LINK;
    o.latency = o.latency > 0 ? o.latency : DEFAULT_LATENCY;
    clv_whatif w = {.size = sizeof w,
                    .params = o.profile->totals.unused_params};
    for (uint32_t i = 0; i < o.profile->g->n_nodes; i++)
        whatif_add(&o, i, &w);
    if (w.operators[CLV_FATE_CPU])
        whatif_cross(&o, &w);
    w.memory = sat_add(sat_add(w.bytes_in, w.bytes_weights), w.bytes_out);
    if (!o.device)
        w.transfer_seconds = 0;
    w.seconds = w.device_seconds + w.host_seconds + w.transfer_seconds;
    if (w.memory == CLV_SAT || w.flops == CLV_SAT)
        return clv__fail(err, CLV_OVERFLOW, "the sums do not fit in 64 bits");
    return clv__fill_sized(out, &w, sizeof w, "clv_whatif", err);
}

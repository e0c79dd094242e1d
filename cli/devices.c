/* devices.c - the strategies that put operators on devices. */
#include "strategy.h"

#include <string.h>

static uint32_t devices_clamp(int64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Applies what the user forces: first the overrides file, then the flags over
 * it. */
clv_status force_sides(const options *o, clv_support *s, clv_err *err)
{
    clv_status st = CLV_OK;
    if (o->overrides)
        st = clv_support_overrides(s, o->overrides, err);
    for (size_t i = 0; i < o->cpu_ops.n && st == CLV_OK; i++)
        st = clv_support_force_op(s, o->cpu_ops.items[i], CLV_SIDE_CPU, err);
    for (size_t i = 0; i < o->cpu_nodes.n && st == CLV_OK; i++)
        st = clv_support_force_nodes(s, o->cpu_nodes.items[i], CLV_SIDE_CPU,
                                     err);
    return st;
}

/* Asks --backend about the graph of p, unless `*known` has the answers; they
 * are then in *known. Caller frees *out with clv_support_free. */
static clv_status devices_ask(const options *o, const clv_profile *p,
                              const clv_support **known, clv_support **out,
                              clv_err *err)
{
    const clv_backend_opts opts = {.size = sizeof opts, .timeout = o->timeout};
    clv_backend *b;
    *out = NULL;
    if (*known)
        return CLV_OK;
    clv_status st = clv_backend_open(o->backend, &opts, &b, err);
    if (st == CLV_OK)
        st = clv_support_new(b, clv_profile_graph(p), out, err);
    clv_backend_free(b);
    *known = *out;
    return st == CLV_OK ? force_sides(o, *out, err) : st;
}

clv_capability_opts capability_options(const options *o)
{
    return (clv_capability_opts){
        .size = sizeof(clv_capability_opts),
        .min_support = o->min_support,
        .min_subgraph_size = devices_clamp(o->min_subgraph_size),
        .max_subgraph_count = devices_clamp(o->max_subgraph_count),
        .objective = o->objective && o->objective[0] == 'a'
                         ? CLV_OBJECTIVE_ACCELERATOR
                         : CLV_OBJECTIVE_TOTAL,
        .connected = o->connected,
        .demote = o->demote,
    };
}

clv_status cut_capability(const options *o, const clv_profile *p,
                          const clv_support *support, clv_cut **out,
                          clv_err *err)
{
    const clv_capability_opts opts = capability_options(o);
    clv_support *asked = NULL;
    if (o->objective && strcmp(o->objective, "total") &&
        strcmp(o->objective, "accelerator"))
        return fail(err, CLV_USAGE,
                    "--strategy capability takes --objective total or "
                    "accelerator");
    if (!o->backend)
        return fail(err, CLV_USAGE,
                    "--strategy capability needs --backend; 'cleave backends' "
                    "lists them");
    if (o->min_support > 1)
        return fail(err, CLV_USAGE, "--min-support is a share: 0 to 1");
    clv_status st = devices_ask(o, p, &support, &asked, err);
    if (st == CLV_OK)
        st = clv_cut_capability(p, clv_support_get(support), &opts, out, err);
    clv_support_free(asked);
    return st;
}

/* -- placement ------------------------------------------------------------*/

static clv_status find_devices(const options *o, clv_placement_opts *opts,
                               clv_err *err)
{
    clv_status st = CLV_OK;
    if (o->costs && o->hardware.n == 0)
        return CLV_OK; /* the file holds all costs */
    if (o->hardware.n != 1)
        return fail(err, CLV_USAGE,
                    "--strategy placement needs one --hardware NAME (and "
                    "--host NAME), or --costs FILE");
    st = find_device(o, o->hardware.items[0], &opts->accelerator, err);
    if (st == CLV_OK)
        st = find_device(o, o->host ? o->host : USUAL_HOST, &opts->host, err);
    return st;
}

clv_status cut_placement(const options *o, const clv_profile *p,
                         const clv_support *support, clv_cut **out,
                         clv_err *err)
{
    clv_placement_opts opts = {
        .size = sizeof opts,
        .costs = o->costs,
        .link = o->link * 1e9,
        .latency = o->latency * 1e-6,
        .max_subgraph_count = devices_clamp(o->max_subgraph_count),
        .curve = devices_clamp(o->curve),
    };
    clv_support *asked = NULL;
    clv_status st = find_devices(o, &opts, err);
    if (st == CLV_OK && o->backend)
        st = devices_ask(o, p, &support, &asked, err);
    if (st == CLV_OK && support)
        opts.support = clv_support_get(support);
    if (st == CLV_OK)
        st = clv_cut_placement(p, &opts, out, err);
    clv_support_free(asked);
    return st;
}

/* -- pipeline -------------------------------------------------------------*/

static clv_status cut_cluster(const options *o, const clv_profile *p,
                              clv_cut **out, clv_err *err)
{
    const clv_cluster *c;
    if (o->hardware.n || o->link > 0 || o->stage_memory)
        return fail(err, CLV_USAGE,
                    "--cluster says what --hardware, --link and "
                    "--stage-memory would");
    clv_status st = known_cluster(o->session, o->cluster, &c, err);
    if (st != CLV_OK)
        return st;
    const clv_cluster_opts opts = {.size = sizeof opts,
                                   .cluster = c,
                                   .objective =
                                       o->objective && o->objective[0] == 'l'
                                           ? CLV_CLUSTER_LATENCY
                                           : CLV_CLUSTER_THROUGHPUT,
                                   .stages = devices_clamp(o->stages),
                                   .replicas = devices_clamp(o->replicas)};
    return clv_cut_cluster(p, &opts, out, err);
}

clv_status cut_pipeline(const options *o, const clv_profile *p,
                        const clv_support *support, clv_cut **out, clv_err *err)
{
    clv_pipeline_opts opts = {.size = sizeof opts,
                              .stages = devices_clamp(o->stages),
                              .link = o->link * 1e9};
    clv_status st = CLV_OK;
    (void)support;
    bool counts = o->objective && strchr("ta", o->objective[0]) &&
                  strcmp(o->objective, "throughput");
    if (counts || (!o->cluster && (o->objective || o->replicas)))
        return fail(err, CLV_USAGE,
                    "--objective throughput or latency, and --replicas, are "
                    "for --strategy pipeline --cluster FILE");
    if (o->cluster)
        return cut_cluster(o, p, out, err);
    if (!opts.stages)
        return fail(err, CLV_USAGE,
                    "--strategy pipeline needs --stages N or --cluster FILE");
    if (o->stage_memory && !parse_quantity(o->stage_memory, &opts.memory))
        return fail(err, CLV_USAGE,
                    "--stage-memory takes a size such as 100MB, not '%s'",
                    o->stage_memory);
    if (o->hardware.n)
        st = find_device(o, o->hardware.items[0], &opts.device, err);
    return st == CLV_OK ? clv_cut_pipeline(p, &opts, out, err) : st;
}

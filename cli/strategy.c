/* strategy.c - the ways to cut a graph: name, function, the flags it takes.
 *
 * A row is all a strategy needs, besides its word in the list of --strategy
 * (flags.def) and its flags at the commands that take them (commands.def). */
#include "strategy.h"

#include <string.h>

static clv_status cut_op(const options *o, const clv_profile *p,
                         const clv_support *support, clv_cut **out,
                         clv_err *err)
{
    (void)o;
    (void)support;
    return clv_cut_op(p, out, err);
}

static clv_status cut_fusion(const options *o, const clv_profile *p,
                             const clv_support *support, clv_cut **out,
                             clv_err *err)
{
    (void)support;
    int64_t ops = o->max_fusion_ops;
    const clv_fusion_opts opts = {
        .size = sizeof opts,
        .max_ops = ops > UINT32_MAX ? UINT32_MAX : (uint32_t)ops,
        .max_bytes = o->max_fusion_bytes,
        .max_flops = o->max_fusion_flops,
    };
    return clv_cut_fusion(p, &opts, out, err);
}

enum { STRATEGY_FLAGS = 16 };

static const struct strategy {
    const char *name;
    strategy_fn *make;
    uint8_t flags[STRATEGY_FLAGS]; /* only for this one, up to NO_FLAG */
} strategies[] = {
    {"op", cut_op, {NO_FLAG}},
    {"fusion",
     cut_fusion,
     {FLAG_max_fusion_ops, FLAG_max_fusion_bytes, FLAG_max_fusion_flops}},
    {"capability",
     cut_capability,
     {FLAG_backend, FLAG_timeout, FLAG_min_support, FLAG_min_subgraph_size,
      FLAG_max_subgraph_count, FLAG_demote, FLAG_cpu_ops, FLAG_cpu_nodes,
      FLAG_overrides, FLAG_objective, FLAG_connected}},
    {"placement",
     cut_placement,
     {FLAG_backend, FLAG_timeout, FLAG_max_subgraph_count, FLAG_cpu_ops,
      FLAG_cpu_nodes, FLAG_overrides, FLAG_host, FLAG_costs, FLAG_link,
      FLAG_latency, FLAG_curve}},
    {"pipeline",
     cut_pipeline,
     {FLAG_stages, FLAG_link, FLAG_stage_memory, FLAG_cluster, FLAG_replicas,
      FLAG_objective}},
};

enum { N_STRATEGIES = sizeof strategies / sizeof *strategies };

static bool strategy_lists(const struct strategy *s, uint8_t id)
{
    for (int i = 0; i < STRATEGY_FLAGS && s->flags[i] != NO_FLAG; i++)
        if (s->flags[i] == id)
            return true;
    return false;
}

/* Refuses flags of another strategy, which would otherwise be ignored in
 * silence. */
static clv_status check_flags(const options *o, const struct strategy *mine,
                              clv_err *err)
{
    for (size_t i = 0; i < N_STRATEGIES; i++)
        for (const uint8_t *f = strategies[i].flags; *f != NO_FLAG; f++)
            if (!strategy_lists(mine, *f) && flag_given(o, *f))
                return fail(err, CLV_USAGE,
                            "%s is for --strategy %s, not for %s",
                            cli_flags[*f].name, strategies[i].name, mine->name);
    return CLV_OK;
}

static clv_status strategy_find(const options *o, const char *otherwise,
                                const struct strategy **out, clv_err *err)
{
    const char *name = o->strategy ? o->strategy : otherwise;
    for (size_t i = 0; i < N_STRATEGIES; i++)
        if (!strcmp(name, strategies[i].name)) {
            *out = &strategies[i];
            return check_flags(o, *out, err);
        }
    return fail(err, CLV_USAGE, "no strategy '%s'", name);
}

clv_status check_strategy(const options *o, const char *otherwise, clv_err *err)
{
    const struct strategy *found;
    return strategy_find(o, otherwise, &found, err);
}

clv_status make_cut_with(const options *o, const char *otherwise,
                         const clv_profile *p, const clv_support *support,
                         clv_cut **out, clv_err *err)
{
    const struct strategy *found;
    *out = NULL;
    clv_status s = strategy_find(o, otherwise, &found, err);
    return s == CLV_OK ? found->make(o, p, support, out, err) : s;
}

clv_status make_cut(const options *o, const char *otherwise,
                    const clv_profile *p, clv_cut **out, clv_err *err)
{
    return make_cut_with(o, otherwise, p, NULL, out, err);
}

/* cut_simulate.c - the schedule of a pipeline's stages, links and devices. */
#include "plan/cluster.h"

#include "cleave/placement.h"

#include <string.h>

enum { CUT_SIM_MICRO_BATCHES = 8 };

static void cut_sim_cluster(const clv_cluster_plan *p, clv_sim_stage *stages,
                            clv_sim_link *links, clv_sim_opts *o)
{
    for (uint32_t k = 0; k < p->n_stages; k++) {
        stages[k] = (clv_sim_stage){.seconds = p->stages[k].seconds,
                                    .device = o->n_devices,
                                    .replicas = p->stages[k].n_devices};
        o->n_devices += p->stages[k].n_devices;
    }
    for (uint32_t i = 0; i < p->n_messages; i++) {
        const clv_cluster_message *m = &p->messages[i];
        links[o->n_links++] = (clv_sim_link){.from = m->from,
                                             .to = m->to,
                                             .seconds = m->seconds,
                                             .occupied = m->occupied,
                                             .wire = 2 * m->link + m->back + 1};
    }
}

/* The time of all that a stage reads is known, not the share of each stage it
 * reads from: each sends as long as that. */
static void cut_sim_pipeline(const clv_cut *c, clv_sim_stage *stages,
                             clv_sim_link *links, clv_sim_opts *o)
{
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_pipeline_stage *s = &c->pipeline->stages[k];
        stages[k] = (clv_sim_stage){.seconds = s->cost, .device = k};
        for (uint32_t i = 0; i < c->subs[k].n_depends_on; i++)
            links[o->n_links++] =
                (clv_sim_link){.from = c->subs[k].depends_on[i],
                               .to = k,
                               .seconds = s->transfer,
                               .occupied = s->transfer};
    }
    o->n_devices = c->n_subs;
}

clv_status clv_cut_simulate(const clv_cut *c, const clv_cut_sim_opts *opts,
                            clv_sim **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    clv_cut_sim_opts own;
    CLV_READ(clv_cut_sim_opts, opts, &own, err);
    bool timed = c->pipeline && !strcmp(c->pipeline->unit, "s");
    if (!c->cluster && !timed)
        return clv__fail(err, CLV_USAGE,
                         "a cut without times has no schedule: cut into a "
                         "pipeline for a device or a cluster");
    size_t most = c->cluster ? c->cluster->n_messages : 0;
    for (uint32_t k = 0; k < c->n_subs; k++)
        most += c->subs[k].n_depends_on;
    arena mem = {0};
    clv_sim_stage *stages =
        arena_array(&mem, (size_t)c->n_subs + 1, sizeof *stages);
    clv_sim_link *links = arena_array(&mem, most + 1, sizeof *links);
    clv_sim_opts o = {.size = sizeof o,
                      .stages = stages,
                      .links = links,
                      .n_stages = c->n_subs,
                      .micro_batches = own.micro_batches
                                           ? own.micro_batches
                                           : CUT_SIM_MICRO_BATCHES,
                      .window = own.window,
                      .spans = true};
    if (stages && links && c->cluster)
        cut_sim_cluster(c->cluster, stages, links, &o);
    else if (stages && links)
        cut_sim_pipeline(c, stages, links, &o);
    clv_status s =
        stages && links ? clv_sim_new(&o, out, err) : clv__nomem(err);
    arena_free(&mem);
    return s;
}

const char *clv_cut_sim_device(const clv_cut *c, uint32_t k)
{
    const clv_cluster_plan *p = c->cluster;
    for (uint32_t s = 0; p && s < p->n_stages; s++) {
        if (k < p->stages[s].n_devices)
            return clv_cluster_get(p->cluster)
                ->devices[p->stages[s].devices[k]]
                .name;
        k -= p->stages[s].n_devices;
    }
    return !p && k < c->n_subs && c->subs[k].device ? c->subs[k].device : "";
}

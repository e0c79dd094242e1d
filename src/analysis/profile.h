/* profile.h - the profile as the library sees it. */
#ifndef CLV_PROFILE_H
#define CLV_PROFILE_H

#include "ops/ops.h"

struct clv_profile {
    arena mem;
    const clv_graph *g;
    clv_convention convention;
    double ai_threshold;
    clv_layer *layers; /* one per node */
    clv_totals totals;
    clv_type_total *types;
    clv_module_total *modules;
    uint32_t n_types, n_modules;
};

/* Classes of FLOPs per byte. */
clv_bottleneck clv__bottleneck_of(double intensity);

/* FLOPs of a node under another convention; cost is ours. */
int64_t clv__count(const clv_graph *g, const clv_node *n, const clv_cost *cost,
                   clv_convention convention);

#endif

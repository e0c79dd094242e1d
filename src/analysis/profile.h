/* profile.h - the profile as the library sees it. */
#ifndef CLV_PROFILE_H
#define CLV_PROFILE_H

#include "analysis/count.h"

struct clv_profile {
    arena mem;
    const clv_graph *g;
    clv_convention convention;
    double ai_threshold;
    clv_layer *layers; /* one per node */
    clv_totals totals;
    clv_type_total *types;
    clv_module_total *modules;
    clv_kind_total *kinds;
    clv_unsupported *unsupported;
    strmap unsupported_names;
    size_t cap_unsupported;
    uint32_t n_types, n_modules, n_kinds, n_unsupported;
};

/* Classes of FLOPs per byte. */
clv_bottleneck clv__bottleneck_of(double intensity);

/* The `top` layers with the most FLOPs, the most first; top is at most their
 * number. Returns a list (caller frees with clv__free); NULL: no memory. */
const clv_layer **clv__profile_top(const clv_profile *p, uint32_t top);
/* All types of operators, those with the most FLOPs first. Returns a list
 * (caller frees with clv__free); NULL: no memory. */
const clv_type_total **clv__profile_top_types(const clv_profile *p,
                                              uint32_t *n);

#endif

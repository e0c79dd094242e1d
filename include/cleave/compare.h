/* compare.h - models side by side: totals, per operator type, per module, and
 * layer by layer for two versions of one model.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_COMPARE_H
#define CLEAVE_COMPARE_H

#include "cleave/profile.h"

/* What is different in a layer that both models have. */
enum clv_changed {
    CLV_CHANGED_TYPE = 1,
    CLV_CHANGED_SHAPE = 2, /* of its first output, or its data type */
    CLV_CHANGED_PARAMS = 4,
    CLV_CHANGED_MACS = 8,
    CLV_CHANGED_FLOPS = 16,
    CLV_CHANGED_MEMORY = 32,
    CLV_CHANGED_ATTRIBUTES = 64 /* of one type: a stride, an axis, a bound */
};

/* A layer that is not the same in both. */
typedef struct clv_change {
    const char *name;
    uint32_t before, after; /* nodes; CLV_NONE: added, removed */
    unsigned what;          /* clv_changed, when both have it */
    int64_t params, flops;  /* those after, less those before */
} clv_change;

/* All operators of one type, or one module, in every model. */
typedef struct clv_compared {
    const char *name;
    uint32_t depth;                       /* of a module; 0 for types */
    const bool *has;                      /* one per model, as all below */
    const int64_t *count;                 /* operators */
    const int64_t *params, *macs, *flops; /* params: of modules only */
    bool counted;                         /* some model has FLOPs here */
    int64_t
        difference; /* FLOPs of the second of two models, less the first's */
} clv_compared;

/* How many times as much as the first model another one takes; NaN where the
 * first takes nothing. */
typedef struct clv_ratios {
    double params, macs, flops, memory, weights, peak;
} clv_ratios;

typedef struct clv_compare_info {
    size_t size; /* sizeof(clv_compare_info) */
    uint32_t n;  /* models */
    const clv_profile *const *profiles;
    const int64_t *peaks;     /* of live activations, operator by operator */
    const clv_ratios *ratios; /* one per model */
    const clv_compared *types, *modules;
    uint32_t n_types, n_modules;
    /* Two models only: layers of both are paired by telling names and by what
     * is around them, so that two exports of one network align although no
     * name is the same; the changes come in the order in which they run. */
    bool aligned; /* at least half of the smaller model is surely paired */
    uint32_t same, changed, added, removed;
    const clv_change *changes;
    uint32_t n_changes;
    /* Of each node of the second model, the node of the first that it is the
     * same as; CLV_NONE: it was added. */
    const uint32_t *partners;
} clv_compare_info;

typedef struct clv_compare clv_compare;

/* Borrows the profiles, which must outlive the result; n is 1 or more. Returns
 * a comparison (caller frees with clv_compare_free). Takes time
 * near linear in their sizes. */
CLV_API CLV_MUST clv_status clv_compare_new(const clv_profile *const *profiles,
                                            uint32_t n, clv_compare **out,
                                            clv_err *err);
CLV_API void clv_compare_free(clv_compare *c);
CLV_API const clv_compare_info *clv_compare_get(const clv_compare *c);

/* Two models as one graph to look at: every layer of the second, and those of
 * the first that it lacks, in their places. Borrows from the comparison, which
 * must outlive it. Returns a merged graph (caller frees with clv_merged_free).
 */
typedef struct clv_merged clv_merged;
CLV_API CLV_MUST clv_status clv_merged_new(const clv_compare *c,
                                           clv_merged **out, clv_err *err);
CLV_API void clv_merged_free(clv_merged *m);
/* For its nodes, names, shapes and links; what a layer costs is in the profile
 * of its own model. */
CLV_API const clv_graph *clv_merged_graph(const clv_merged *m);
/* Which node of the first and of the second model each of its nodes is;
 * CLV_NONE: of none. */
CLV_API const uint32_t *clv_merged_before(const clv_merged *m);
CLV_API const uint32_t *clv_merged_after(const clv_merged *m);

#endif

/* cut.h - a cut gives every node its subgraph, and says what each costs.
 *
 * However a cut was made (per operator, fused, by what a backend supports, by
 * where it is cheapest), the result is the same type, and every analysis takes
 * it. Subgraphs come in an order in which they can run. */
#ifndef CLEAVE_CUT_H
#define CLEAVE_CUT_H

#include "cleave/profile.h"

/* Why a subgraph ends where it does. */
#define CLV_REASON_TABLE(X) \
    X(BOUNDARY, "operation_boundary") \
    X(FUSION, "fusion_opportunity") \
    X(CONSUMERS, "multiple_consumers") \
    X(MEMORY_LIMIT, "memory_limit") \
    X(COMPUTE_LIMIT, "compute_limit") \
    X(INCOMPATIBLE, "incompatible") \
    X(UNSUPPORTED, "unsupported") \
    X(DEVICE, "device_change")

typedef enum clv_reason {
#define CLV_X(code, name) CLV_REASON_##code,
    CLV_REASON_TABLE(CLV_X)
#undef CLV_X
        CLV_REASON_COUNT
} clv_reason;

CLV_API const char *clv_reason_name(clv_reason r);

typedef struct clv_subgraph {
    const uint32_t *nodes; /* in execution order */
    uint32_t n_nodes;
    const uint32_t *depends_on; /* subgraphs, ascending */
    uint32_t n_depends_on;
    const uint32_t *inputs;  /* values that come from outside, weights too */
    const uint32_t *outputs; /* values read outside, and graph outputs */
    uint32_t n_inputs, n_outputs;
    /* Sums over its nodes, except bytes: those count what crosses its border.
     * A tensor made and read inside is not traffic. */
    clv_cost cost;
    int64_t bytes_internal; /* traffic of its nodes run one by one, less the
                             * above: what keeping them together saves */
    double intensity;
    clv_bottleneck bottleneck;
    clv_parallel parallel; /* of its heaviest node */
    const char *pattern;   /* "Conv_BatchNorm_Relu"; the type if one node */
    const char *device;    /* "" when the cut is not about devices */
    clv_reason reason;
    const char *detail; /* the reason in words, "" if the code says it all */
} clv_subgraph;

typedef struct clv_cut clv_cut;

CLV_API void clv_cut_free(clv_cut *c);
CLV_API const clv_profile *clv_cut_profile(const clv_cut *c);
CLV_API const char *clv_cut_strategy(const clv_cut *c);
CLV_API const clv_subgraph *clv_cut_subgraphs(const clv_cut *c,
                                              uint32_t *count);
/* The subgraph of a node. */
CLV_API uint32_t clv_cut_of(const clv_cut *c, uint32_t node);
/* Checks, independently of how it was made, that the cut covers each node
 * once, that its quotient has no cycle and runs in the given order, and that
 * inputs, outputs and bytes are exact. */
CLV_API CLV_MUST clv_status clv_cut_verify(const clv_cut *c, clv_err *err);

/* Every operator its own subgraph. Borrows p (which must outlive the cut);
 * returns a cut (caller frees with clv_cut_free). */
CLV_API CLV_MUST clv_status clv_cut_op(const clv_profile *p, clv_cut **out,
                                       clv_err *err);

#endif

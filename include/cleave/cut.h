/* cut.h - a cut gives every node its subgraph, and says what each costs.
 *
 * However a cut was made (per operator, fused, by what a backend supports, by
 * where it is cheapest), the result is the same type, and every analysis takes
 * it. Subgraphs come in an order in which they can run.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
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
    const uint32_t *nodes;      /* in execution order */
    const uint32_t *depends_on; /* subgraphs, ascending */
    const uint32_t *inputs;     /* values from outside, weights too */
    const uint32_t *outputs;    /* values read outside, and graph outputs */
    uint32_t n_nodes, n_depends_on, n_inputs, n_outputs;
    /* Sums over its nodes, except bytes: those count what crosses its border.
     * A tensor made and read inside is not traffic. */
    clv_cost cost;
    int64_t bytes_external; /* what it moves: inputs, weights and outputs */
    int64_t bytes_internal; /* what running its nodes together saves: the bytes
                             * that they move one by one, minus the above */
    double intensity;
    clv_bottleneck bottleneck;
    clv_reason reason;
    const char *detail;    /* the reason in words, "" if the code says it all */
    clv_parallel parallel; /* of its heaviest node */
    const char *pattern;   /* "Conv_BatchNorm_Relu"; the type if one node */
    const char *device;    /* "" when the cut is not about devices */
} clv_subgraph;

/* Two nodes that must run in this order although no tensor connects them. The
 * subgraph of `before` runs before that of `after`, or is the same. `before` is
 * the lower node number. */
typedef struct clv_order {
    uint32_t before, after;
} clv_order;

typedef struct clv_cut clv_cut;

CLV_API void clv_cut_free(clv_cut *c);
CLV_API const clv_profile *clv_cut_profile(const clv_cut *c);
CLV_API const char *clv_cut_strategy(const clv_cut *c);
CLV_API const clv_subgraph *clv_cut_subgraphs(const clv_cut *c,
                                              uint32_t *count);
/* The subgraph of a node. */
CLV_API uint32_t clv_cut_subgraph_of(const clv_cut *c, uint32_t node);
/* Checks, independently of how it was made, that the cut covers each node
 * once, that its quotient has no cycle and runs in the given order, and that
 * inputs, outputs and bytes are exact. */
CLV_API CLV_MUST clv_status clv_cut_verify(const clv_cut *c, clv_err *err);

/* Makes every operator a subgraph of its own. Borrows p (which must outlive the
 * cut); returns a cut (caller frees with clv_cut_free). */
CLV_API CLV_MUST clv_status clv_cut_op(const clv_profile *p, clv_cut **out,
                                       clv_err *err);
/* Makes one subgraph of each run of operators that belong to the same module.
 * Modules are taken `depth` levels below the root (1: its children). `detail`
 * is the path of the module. Borrows p (which must outlive the cut); returns a
 * cut (caller frees with clv_cut_free). */
CLV_API CLV_MUST clv_status clv_cut_modules(const clv_profile *p,
                                            uint32_t depth, clv_cut **out,
                                            clv_err *err);

/* -- a cut in figures -----------------------------------------------------*/

/* How many threads a subgraph can keep busy, in powers of ten. */
#define CLV_THREADS_TABLE(X) \
    X(1K, "<1K", 1000) \
    X(10K, "1K-10K", 10000) \
    X(100K, "10K-100K", 100000) \
    X(1M, "100K-1M", 1000000) \
    X(MORE, ">1M", INT64_MAX)

typedef enum clv_threads_bin {
#define CLV_X(code, name, below) CLV_THREADS_##code,
    CLV_THREADS_TABLE(CLV_X)
#undef CLV_X
        CLV_THREADS_COUNT
} clv_threads_bin;

CLV_API const char *clv_threads_name(clv_threads_bin b);

/* All subgraphs of one pattern. */
typedef struct clv_pattern_total {
    const char *pattern;
    uint32_t count, operators;
    int64_t flops;
    int64_t bytes_external; /* moved across their borders */
    int64_t bytes_internal; /* what fusing them saved */
    int64_t bytes_unfused;  /* both together */
} clv_pattern_total;

typedef struct clv_summary_info {
    size_t size; /* sizeof(clv_summary_info) */
    uint32_t subgraphs, operators;
    int64_t flops, macs;
    int64_t bytes_external, bytes_internal;
    int64_t bytes_unfused; /* of the operators one by one: both together */
    double reduction;      /* of data movement, 0 to 1 */
    double avg_size;       /* operators per subgraph, views included */
    uint32_t max_size;
    /* FLOPs per byte of the subgraphs that move any; and of all together. */
    double min_intensity, avg_intensity, max_intensity, intensity;
    uint32_t bottleneck[CLV_BOTTLENECK_COUNT];
    uint32_t reason[CLV_REASON_COUNT];
    uint32_t threads[CLV_THREADS_COUNT];
    const clv_type_total *types; /* operators by type */
    uint32_t n_types;
    const clv_pattern_total *patterns; /* most bytes saved first */
    uint32_t n_patterns;
} clv_summary_info;

typedef struct clv_summary clv_summary;

/* Computes the figures of a cut. Borrows c, which must outlive the result;
 * returns a summary (caller frees with clv_summary_free). */
CLV_API CLV_MUST clv_status clv_summary_new(const clv_cut *c, clv_summary **out,
                                            clv_err *err);
CLV_API void clv_summary_free(clv_summary *s);
CLV_API const clv_summary_info *clv_summary_get(const clv_summary *s);

#endif

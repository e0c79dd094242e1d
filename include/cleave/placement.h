/* placement.h - places operators on devices by cost: the least time on two
 * devices, exactly, or balanced stages on several.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_PLACEMENT_H
#define CLEAVE_PLACEMENT_H

#include "cleave/backend.h"
#include "cleave/cut.h"
#include "cleave/hardware.h"

typedef struct clv_placement_opts {
    size_t size;                          /* sizeof(clv_placement_opts) */
    const clv_device *host, *accelerator; /* whose roofline gives the costs */
    const clv_support_info *support;      /* NULL: the accelerator runs all */
    const char *costs; /* file of measured seconds, over the roofline's */
    double link;       /* bytes per second between the two; 0: 16 GB/s */
    double latency;    /* seconds per tensor moved; 0: 10 us */
    uint32_t max_subgraph_count; /* 0: no limit */
    uint32_t curve;              /* also the optimum for 1 .. curve subgraphs,
                                    as far as there are nodes */
} clv_placement_opts;

/* What one placement costs, in seconds. */
typedef struct clv_plan {
    double cpu, accelerator, transfer, total;
    double ratio;       /* of the total to the optimum's */
    int64_t bytes;      /* moved between devices */
    uint32_t subgraphs; /* the fewest for these sides */
    uint32_t nodes;     /* on the accelerator */
} clv_plan;

typedef struct clv_curve_point {
    uint32_t limit;     /* subgraphs allowed */
    uint32_t subgraphs; /* used */
    double total;       /* seconds */
    bool proven;        /* the least there is; else the least that was found */
} clv_curve_point;

typedef struct clv_placement_info {
    size_t size; /* sizeof(clv_placement_info) */
    const char *host, *device;
    clv_plan all_cpu, greedy, optimum; /* greedy: all that is supported */
    clv_plan chosen; /* the optimum, or the best within the limit */
    const clv_curve_point *curve;
    uint32_t n_curve;
} clv_placement_info;

/* Places each node on one of two devices, so that the time to compute and to
 * transfer is the least. A tensor that the other device needs moves once;
 * inputs come from the host and outputs go back. Exact to one part in 2^40 of
 * the sum of all costs. Borrows p (must outlive the cut) and what opts points
 * to. */
CLV_API CLV_MUST clv_status clv_cut_placement(const clv_profile *p,
                                              const clv_placement_opts *opts,
                                              clv_cut **out, clv_err *err);
/* Returns NULL for cuts of another strategy. */
CLV_API const clv_placement_info *clv_cut_placement_info(const clv_cut *c);

typedef struct clv_pipeline_opts {
    size_t size; /* sizeof(clv_pipeline_opts) */
    uint32_t stages;
    const clv_device *device; /* of every stage; NULL: costs are FLOPs */
    double link;              /* bytes per second between stages; 0: 16 GB/s */
    int64_t memory; /* bytes of weights and border tensors per stage; 0: any */
} clv_pipeline_opts;

typedef struct clv_pipeline_stage {
    double cost, transfer; /* of its operators; of what it reads from others */
    double total;          /* both */
    int64_t memory;
} clv_pipeline_stage;

typedef struct clv_pipeline_info {
    size_t size;                      /* sizeof(clv_pipeline_info) */
    const clv_pipeline_stage *stages; /* one per subgraph */
    uint32_t n_stages;
    const char *unit;  /* "s" or "FLOP" */
    const char *order; /* which order of operators won */
    double bottleneck; /* the slowest stage, transfer included */
    double bound;      /* no cut has a faster bottleneck: the larger of total/k
                        * and the heaviest operator */
    double gap;        /* bottleneck / bound - 1 */
} clv_pipeline_info;

/* Cuts into at most opts->stages stages. Tries several topological orders and
 * takes the cut whose slowest stage is the fastest. Fails
 * with CLV_LIMIT when the memory is too small. */
CLV_API CLV_MUST clv_status clv_cut_pipeline(const clv_profile *p,
                                             const clv_pipeline_opts *opts,
                                             clv_cut **out, clv_err *err);
CLV_API const clv_pipeline_info *clv_cut_pipeline_info(const clv_cut *c);

#endif

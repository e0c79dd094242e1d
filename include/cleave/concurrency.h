/* concurrency.h - what can run at the same time: stages, the critical path,
 * slack, and schedules on k streams.
 *
 * Everything is about the subgraphs of a cut and their dependencies. A weight
 * per subgraph says how long it takes: its FLOPs, or seconds on a device.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_CONCURRENCY_H
#define CLEAVE_CONCURRENCY_H

#include "cleave/cut.h"
#include "cleave/hardware.h"

/* All else zero means: weights are FLOPs. */
typedef struct clv_concurrency_opts {
    size_t size;              /* sizeof(clv_concurrency_opts) */
    const clv_device *device; /* weights are roofline seconds on it */
    clv_dtype dtype;          /* it computes in; CLV_NODTYPE: float32 */
    const double *weights;    /* one per subgraph; wins over the device */
    const char *unit;         /* of these weights */
} clv_concurrency_opts;

/* Subgraphs that may run at the same time. */
typedef struct clv_stage {
    const uint32_t *subgraphs; /* ascending */
    uint32_t n;
    int64_t flops;
} clv_stage;

/* One subgraph. Stages count from 0. Times are sums of weights, as if there
 * were a stream for every subgraph. */
typedef struct clv_task {
    uint32_t stage;  /* as soon as possible: after all it depends on */
    uint32_t latest; /* as late as possible without one more stage */
    uint32_t slack;  /* stages between the two */
    bool critical;   /* on the critical path */
    double weight, start;
    double share;      /* of all weights */
    double slack_time; /* it may start this much later and delay nothing */
    /* Independent threads, and how many compute units they can use: at least
     * one, best with 256 threads each, at most with 32 (a warp) each. */
    int64_t threads, min_units, optimal_units, max_units;
} clv_task;

typedef struct clv_concurrency_info {
    size_t size;      /* sizeof(clv_concurrency_info) */
    const char *unit; /* of weights: "FLOPs", "s" */
    uint32_t subgraphs, n_stages;
    uint32_t max_parallel; /* subgraphs in the widest stage */
    uint32_t wide_stages;  /* those with more than one subgraph */
    const clv_stage *stages;
    const clv_task *tasks;
    const uint32_t *critical; /* the heaviest path, in order */
    uint32_t n_critical;
    double work, span;      /* all weights; those of the critical path */
    double speedup;         /* work / span: no number of streams beats it */
    int64_t flops;          /* of all */
    int64_t critical_flops; /* of the critical path */
    uint32_t independent;   /* subgraphs that share their stage */
    uint32_t sequential;    /* those alone in theirs */
    int64_t min_threads, max_threads; /* of those that have any */
    double avg_threads;
    int64_t batch; /* of the first input; 1 when it has none */
} clv_concurrency_info;

typedef struct clv_concurrency clv_concurrency;

/* Analyses the subgraphs of c. Borrows c, which must outlive the result.
 * Returns an analysis (caller frees with clv_concurrency_free). Fails with
 * CLV_UNSUPPORTED if the device has no rate for the type. Takes O(nodes +
 * edges). */
CLV_API CLV_MUST clv_status
clv_concurrency_new(const clv_cut *c, const clv_concurrency_opts *opts,
                    clv_concurrency **out, clv_err *err);
CLV_API void clv_concurrency_free(clv_concurrency *a);
CLV_API const clv_concurrency_info *
clv_concurrency_get(const clv_concurrency *a);
CLV_API const clv_cut *clv_concurrency_cut(const clv_concurrency *a);

/* What a batch does to parallelism when every sample is independent. */
typedef struct clv_batch_row {
    int64_t batch;
    int64_t speedup; /* widest stage times batch */
    double avg_threads;
    double units_filled; /* of `units`, 0 to 1 */
} clv_batch_row;

CLV_API clv_batch_row clv_concurrency_batch(const clv_concurrency_info *a,
                                            int64_t batch, int64_t units);
/* Returns the smallest batch that fills `share` (0 to 1) of `units` compute
 * units, when each unit runs one subgraph of one sample. */
CLV_API int64_t clv_concurrency_fill(const clv_concurrency_info *a,
                                     int64_t units, double share);

/* -- schedules ------------------------------------------------------------*/

typedef struct clv_slot {
    uint32_t stream;
    double start, finish;
} clv_slot;

typedef struct clv_schedule_info {
    size_t size; /* sizeof(clv_schedule_info) */
    uint32_t streams;
    const clv_slot *slots; /* one per subgraph */
    double makespan;
    double lower_bound; /* no schedule on so many streams is shorter */
    double utilisation; /* busy share of all streams, 0 to 1 */
    double speedup;     /* over one stream */
} clv_schedule_info;

typedef struct clv_schedule clv_schedule;

/* Schedules the subgraphs on k streams. A stream that is free takes the ready
 * subgraph that begins the heaviest path (list scheduling). The result takes at
 * most 2 - 1/k times as long as the best schedule. Borrows a. Returns a
 * schedule (caller frees with clv_schedule_free). Takes O(n log n). */
CLV_API CLV_MUST clv_status clv_schedule_new(const clv_concurrency *a,
                                             uint32_t streams,
                                             clv_schedule **out, clv_err *err);
CLV_API void clv_schedule_free(clv_schedule *s);
CLV_API const clv_schedule_info *clv_schedule_get(const clv_schedule *s);

#endif

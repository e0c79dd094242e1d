/* simulate.h - runs the schedule of a pipeline as discrete events: when each
 * micro-batch passes each stage, what waits, and how long a batch takes.
 *
 * Threads: a result never changes after it is made. */
#ifndef CLEAVE_SIMULATE_H
#define CLEAVE_SIMULATE_H

#include "cleave/base.h"

/* Micro-batch i of a stage runs on device `device + i % replicas`. */
typedef struct clv_sim_stage {
    double seconds;            /* of one micro-batch */
    uint32_t device, replicas; /* replicas 0: 1 */
} clv_sim_stage;

/* What a stage sends to a later one for each micro-batch. */
typedef struct clv_sim_link {
    uint32_t from, to; /* from < to */
    double seconds;    /* until it has arrived */
    double occupied;   /* of these, the seconds in which nothing else can be
                        * sent; 0: it never waits */
    uint32_t wire;     /* links of one wire wait for each other; 0: alone */
} clv_sim_link;

typedef struct clv_sim_opts {
    size_t size; /* sizeof(clv_sim_opts) */
    const clv_sim_stage *stages;
    const clv_sim_link *links;
    uint32_t n_stages, n_links, n_devices;
    uint32_t micro_batches;
    uint32_t window; /* micro-batches under way at one time, at most; 0: any
                      * number (GPipe). As many as stages: the order of 1F1B */
    bool spans;      /* keep who ran when */
} clv_sim_opts;

typedef struct clv_sim_span {
    uint32_t stage, micro_batch, device;
    double start, end;
} clv_sim_span;

typedef struct clv_sim_info {
    size_t size;        /* sizeof(clv_sim_info) */
    double makespan;    /* seconds of the whole batch */
    double bound;       /* no order of the same work is faster: the busiest
                         * device, and the longest way of one micro-batch */
    double bubble;      /* share of all devices' time in which they wait */
    const double *busy; /* seconds per device */
    uint32_t n_devices;
    uint32_t alive;            /* most micro-batches under way at one time */
    const clv_sim_span *spans; /* by the time they begin; NULL: not kept */
    uint64_t n_spans;
} clv_sim_info;

typedef struct clv_sim clv_sim;

/* Runs it: a device takes, of what is ready, the earliest micro-batch, and of
 * that the latest stage. Returns the result (caller frees with clv_sim_free).
 * Fails with CLV_USAGE for links that do not lead forward, devices that are not
 * there, and times that are negative or no numbers. */
CLV_API CLV_MUST clv_status clv_sim_new(const clv_sim_opts *opts, clv_sim **out,
                                        clv_err *err);
CLV_API void clv_sim_free(clv_sim *s);
CLV_API const clv_sim_info *clv_sim_get(const clv_sim *s);

#endif

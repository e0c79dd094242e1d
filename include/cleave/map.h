/* map.h - estimates the time that every subgraph of a cut takes on a device.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_MAP_H
#define CLEAVE_MAP_H

#include "cleave/cut.h"
#include "cleave/hardware.h"

typedef struct clv_map_info {
    size_t size;          /* sizeof(clv_map_info) */
    double seconds;       /* subgraphs one after the other */
    double critical_path; /* the longest chain: no schedule is faster */
    double launch;        /* part of seconds spent on launches */
    double attained;      /* operations per second over the whole */
    double peak;          /* operations per second at that rate */
    double share;         /* of the peak */
    double joules;        /* at full power all along; 0: power unknown */
    int64_t batch;        /* first axis of the first input */
    double throughput;    /* inputs per second: batch / seconds */
    double ridge;         /* operations per byte */
    const char *rate;     /* the device's rate that was used: "bf16" */
    int64_t memory;       /* weights and the peak of live tensors */
    bool fits;            /* in the device's memory; true when unknown */
    uint32_t cannot;      /* subgraphs in a type the device has no rate for */
    uint32_t bound[4];    /* subgraphs by clv_bound */
    double bound_seconds[4];
} clv_map_info;

typedef struct clv_map clv_map;

/* Estimates every subgraph of c on d. Borrows both; returns a map (caller
 * frees with clv_map_free). */
CLV_API CLV_MUST clv_status clv_map_new(const clv_cut *c, const clv_device *d,
                                        clv_map **out, clv_err *err);
CLV_API void clv_map_free(clv_map *m);

CLV_API const clv_cut *clv_map_cut(const clv_map *m);
CLV_API const clv_device *clv_map_device(const clv_map *m);
CLV_API const clv_map_info *clv_map_get(const clv_map *m);
/* One per subgraph. */
CLV_API const clv_roofline *clv_map_times(const clv_map *m, uint32_t *count);
/* Subgraphs by time, slowest first: what to fix first. */
CLV_API const uint32_t *clv_map_ranking(const clv_map *m);

#endif

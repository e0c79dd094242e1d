/* load.h - what a schedule keeps busy and alive over time: bytes of live
 * tensors, FLOPs and bytes moved per unit of its time.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_LOAD_H
#define CLEAVE_LOAD_H

#include "cleave/concurrency.h"
#include "cleave/memory.h"

/* From this time to that of the next point. */
typedef struct clv_load_point {
    double at;           /* in the schedule's unit */
    int64_t live;        /* bytes of tensors between subgraphs */
    double flops, bytes; /* per unit of time, of the subgraphs that run */
} clv_load_point;

typedef struct clv_load clv_load;

/* Follows a schedule of the analysis a. A tensor is alive from the start of the
 * subgraph that makes it to the finish of the last that reads it; graph inputs
 * from 0, outputs to the end. m is a plan of the same cut (CLV_USAGE
 * otherwise), which says which tensors share storage: with several streams,
 * make it with no_inplace. Borrows all three; returns a load (caller frees with
 * clv_load_free). Takes O(n log n). */
CLV_API CLV_MUST clv_status clv_load_new(const clv_concurrency *a,
                                         const clv_schedule *s,
                                         const clv_memory *m, clv_load **out,
                                         clv_err *err);
CLV_API void clv_load_free(clv_load *l);
/* In order of time, each time once; the last is the end of the schedule. */
CLV_API const clv_load_point *clv_load_points(const clv_load *l,
                                              uint32_t *count);

#endif

/* trips.h - how often the body of a loop, scan or sequence map runs. */
#ifndef CLV_TRIPS_H
#define CLV_TRIPS_H

#include "ops/ops.h"

typedef struct loop_trips {
    int64_t n;
    bool told;  /* by the model; else it is a guess, or the user's word */
    bool exact; /* not just a bound */
} loop_trips;

/* The body must have been inferred. */
loop_trips clv__loop_trips(const clv_graph *g, const clv_node *n);

#endif

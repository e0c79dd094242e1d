/* trips.h - how often the body of a loop, scan or sequence map runs. */
#ifndef CLV_TRIPS_H
#define CLV_TRIPS_H

#include "ops/ops.h"

typedef struct loop_trips {
    int64_t n;
    bool told;  /* the model says so; else it is a guess, or the user said it */
    bool exact; /* not only an upper bound */
} loop_trips;

/* The body must have been inferred. */
loop_trips clv__loop_trips(const clv_graph *g, const clv_node *n);

#endif

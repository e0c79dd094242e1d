/* resize.h - which inputs an output of interpolate lies between, per axis. */
#ifndef CLV_RESIZE_H
#define CLV_RESIZE_H

#include "backend/kernel.h"

/* The inputs that one place along an axis reads, and their weights. */
typedef struct taps {
    int64_t *at;
    double *weight;
    int64_t n;
    bool outside; /* the place lies beyond the edge */
} taps;

/* Makes the tables of all axes in scratch. `nearest`: one input each. */
CLV_MUST clv_status clv__resize_tables(kernel *k, taps **table, bool *nearest);

#endif

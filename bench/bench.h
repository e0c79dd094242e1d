/* bench.h - what benchmarks in C share: a clock, and an end on failure. */
#ifndef CLEAVE_BENCH_H
#define CLEAVE_BENCH_H

#include "cleave.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Time of the processor, so that other work on the machine does not count. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the benchmark called `name` when a call failed. */
static inline void must_of(const char *name, clv_status s, const clv_err *e)
{
    if (s == CLV_OK)
        return;
    printf("%s: %s\n", name, e->msg);
    exit(1);
}

#endif

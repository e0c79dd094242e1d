/* trace.h - the load of a schedule, for traces with counters. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli.h"

typedef struct trace_load {
    clv_memory *memory;
    clv_load *load; /* NULL: sizes are not known */
} trace_load;

/* Follows a schedule. Where the memory of the model cannot be told, says so on
 * stderr unless --quiet, and there is no load. */
CLV_MUST clv_status trace_load_new(const options *o, const clv_concurrency *a,
                                   const clv_schedule *s, trace_load *out,
                                   clv_err *err);
void trace_load_free(trace_load *t);
/* A model's subgraphs on --streams (1) streams, on the device of --hardware or
 * by FLOPs, as a Chrome trace with counters. */
CLV_MUST clv_status trace_write(const options *o, const clv_graph *g,
                                clv_buf *out, clv_err *err);

#endif

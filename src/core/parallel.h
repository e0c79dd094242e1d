/* parallel.h - a loop over several threads. */
#ifndef CLV_PARALLEL_H
#define CLV_PARALLEL_H

#include <stdint.h>

/* Works on the items from `from` to `to`, exclusive. */
typedef void parallel_fn(void *ctx, int64_t from, int64_t to);

/* Calls fn for ranges that cover 0 to n, each of at least `grain` items but the
 * last, on up to `threads` threads; returns when all are done. The process has
 * one set of threads: while another loop uses them, or inside of one, the
 * caller does all the work itself. Once the time of the caller's limits is up
 * (clv__late) the ranges that are left are not worked on, and what they would
 * have computed is undefined: the caller fails. */
void clv__parallel(uint32_t threads, int64_t n, int64_t grain, parallel_fn *fn,
                   void *ctx);

/* How many threads the process may use at once: its processors, less those that
 * affinity or a quota of its control group takes away. */
uint32_t clv__processors(void);

#endif

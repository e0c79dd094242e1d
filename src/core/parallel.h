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

/* Calls work(ctx) on up to `threads` threads at once, the caller's among them,
 * and returns when all calls have. */
typedef void parallel_team(uint32_t threads, void (*work)(void *ctx),
                           void *ctx);
/* Loops run on the threads of another library of this process from now on, as
 * two sets of threads would keep each other from the processors. NULL: our own.
 */
void clv__parallel_use(parallel_team *team);

/* How many threads the process may use at once: its processors, less those that
 * affinity or a quota of its control group takes away. */
uint32_t clv__processors(void);

#endif

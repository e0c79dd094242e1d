/* strategy.h - the ways to cut, one row each (strategy.c). */
#ifndef CLI_STRATEGY_H
#define CLI_STRATEGY_H

#include "cli.h"

/* Cuts as --strategy and the flags of that strategy say; `otherwise` when it is
 * not given. A flag that belongs to another strategy is an error. Borrows p,
 * which must outlive the cut (caller frees with clv_cut_free). */
CLV_MUST clv_status make_cut(const options *o, const char *otherwise,
                             const clv_profile *p, clv_cut **out, clv_err *err);

/* The same with the answers of --backend, which is then not asked again. */
CLV_MUST clv_status make_cut_with(const options *o, const char *otherwise,
                                  const clv_profile *p,
                                  const clv_support *support, clv_cut **out,
                                  clv_err *err);

/* Only the check of the flags. */
CLV_MUST clv_status check_strategy(const options *o, const char *otherwise,
                                   clv_err *err);

/* What the user forces, and the limits of a cut by support. */
CLV_MUST clv_status force_sides(const options *o, clv_support *s, clv_err *err);
clv_capability_opts capability_options(const options *o);

/* A row of the table: cuts the graph of p. `support` holds the answers of
 * --backend; NULL: the strategy asks, if it wants to know. */
typedef clv_status strategy_fn(const options *o, const clv_profile *p,
                               const clv_support *support, clv_cut **out,
                               clv_err *err);

/* Rows that live in devices.c. */
strategy_fn cut_capability, cut_placement, cut_pipeline;

#endif

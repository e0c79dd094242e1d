/* cleave.h - the public API, in reading order.
 *
 * Read a neural network's graph, say what it costs, cut it, run it:
 *
 *     clv_graph *g; clv_profile *p; clv_err err;
 *     if (clv_graph_open("resnet50", NULL, &g, &err) ||
 *         clv_profile_new(g, NULL, &p, &err))
 *         return fprintf(stderr, "%s\n", err.msg), 1;
 *     printf("%lld MACs\n", (long long)clv_profile_totals(p)->macs);
 *     clv_profile_free(p);
 *     clv_graph_free(g);
 *
 * Words used in contracts: a function *borrows* what it only reads, *takes*
 * what it will free, and *returns* what the caller frees (with the function
 * named there). Nothing here prints, exits or aborts. */
#ifndef CLEAVE_H
#define CLEAVE_H

/* In reading order. */
/* clang-format off */
#include "cleave/base.h"
#include "cleave/graph.h"
#include "cleave/profile.h"
#include "cleave/operators.h"
#include "cleave/validate.h"
#include "cleave/diagnose.h"
#include "cleave/cut.h"
#include "cleave/fusion.h"
#include "cleave/concurrency.h"
#include "cleave/memory.h"
#include "cleave/hardware.h"
#include "cleave/tensor.h"
#include "cleave/map.h"
#include "cleave/check.h"
#include "cleave/compare.h"
#include "cleave/sweep.h"
#include "cleave/backend.h"
#include "cleave/capability.h"
#include "cleave/placement.h"
#include "cleave/bundle.h"
#include "cleave/run.h"
#include "cleave/export.h"
#include "cleave/report.h"
/* clang-format on */

#endif

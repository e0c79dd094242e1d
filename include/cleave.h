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
 * Structs grow. Options, arguments and infos begin with their size, so that a
 * program and a library of different versions understand each other. Whoever
 * declares such a struct sets it:
 *
 *     clv_open_opts opts = {.size = sizeof opts, .batch = 8};
 *
 * Fields that are left out are zero, which means the default; NULL means all
 * defaults. An older program's struct is shorter: the library takes what it
 * lacks as zero. A newer program's is longer: the library refuses it with
 * CLV_USAGE if a field that it does not know is set, and ignores it otherwise.
 * A size of 0 is refused. The library fills a caller's info (clv_node_info) as
 * far as its size reaches; infos that it hands out by pointer carry the size
 * that they have. Rows of lists (clv_layer, clv_subgraph, clv_shape_arg, ...)
 * have no size: they change only with the library's soname, as clv_err, clv_buf
 * and clv_tensor do, and as enums that are the length of an array in a struct
 * (clv_trust, clv_convention, clv_metric, ...). What the library comes with
 * (clv_device, clv_zoo_model) it alone makes: that grows at its end.
 *
 * Getters have one form. clv_<noun>_get(x) is all of x's clv_<noun>_info;
 * clv_<noun>_<field>(x) is one thing; clv_<noun>_<fields>(x, &count) is a list
 * (count may be NULL); clv_<noun>_at(i) is one of what the library comes with,
 * NULL past the last. Objects handed to a getter must not be NULL; functions
 * that return a status refuse NULL and ids out of range with CLV_USAGE. Every
 * clv_<noun>_free takes NULL.
 *
 * Each header says what threads may do. Two calls may always run at the same
 * time when neither writes what the other reads.
 *
 * Words used in contracts: a function *borrows* what it only reads, *takes*
 * what it will free, and *returns* what the caller frees (with the function
 * named there). Nothing here prints, exits or aborts. */
#ifndef CLEAVE_H
#define CLEAVE_H

/* In reading order. */
/* clang-format off */
#include "cleave/base.h"
#include "cleave/service.h"
#include "cleave/graph.h"
#include "cleave/files.h"
#include "cleave/profile.h"
#include "cleave/operators.h"
#include "cleave/validate.h"
#include "cleave/diagnose.h"
#include "cleave/cut.h"
#include "cleave/fusion.h"
#include "cleave/concurrency.h"
#include "cleave/memory.h"
#include "cleave/load.h"
#include "cleave/layout.h"
#include "cleave/hardware.h"
#include "cleave/tensor.h"
#include "cleave/map.h"
#include "cleave/check.h"
#include "cleave/compare.h"
#include "cleave/sweep.h"
#include "cleave/whatif.h"
#include "cleave/backend.h"
#include "cleave/capability.h"
#include "cleave/placement.h"
#include "cleave/bundle.h"
#include "cleave/simulate.h"
#include "cleave/cluster.h"
#include "cleave/run.h"
#include "cleave/export.h"
#include "cleave/report.h"
/* clang-format on */

#endif

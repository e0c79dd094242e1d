/* fusion.h - a cut that runs operators together when that saves traffic.
 *
 * Anchors (convolutions, matrix products) take in what can run in their
 * epilogue; elementwise chains run as one, into a reduction where they end in
 * one; attention and squeeze-and-excite become one subgraph each. Rules and
 * pictures: docs/fusion.md.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_FUSION_H
#define CLEAVE_FUSION_H

#include "cleave/cut.h"

/* Limits of one fused subgraph; 0 means none. A single operator beyond a limit
 * stays a subgraph by itself. Views are free and do not count. */
typedef struct clv_fusion_opts {
    size_t size; /* sizeof(clv_fusion_opts) */
    uint32_t max_ops;
    int64_t max_bytes; /* moved across its border */
    int64_t max_flops;
} clv_fusion_opts;

/* Fuses operators; opts may be NULL. No node is duplicated, the quotient has no
 * cycle, and the subgraphs move no more bytes than their operators one by one.
 * Borrows p (which must outlive the
 * cut); returns a cut (caller frees with clv_cut_free). Takes linear time. */
CLV_API CLV_MUST clv_status clv_cut_fusion(const clv_profile *p,
                                           const clv_fusion_opts *opts,
                                           clv_cut **out, clv_err *err);

#endif

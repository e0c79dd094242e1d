/* capability.h - cuts by what an accelerator supports: the fewest subgraphs,
 * with the proof, and what it would take to need fewer.
 *
 * Threads: a result is read-only once made; any number of threads may
 * read it, and make others of the same input. */
#ifndef CLEAVE_CAPABILITY_H
#define CLEAVE_CAPABILITY_H

#include "cleave/backend.h"
#include "cleave/cut.h"

typedef enum clv_objective {
    CLV_OBJECTIVE_TOTAL,      /* subgraphs of both devices */
    CLV_OBJECTIVE_ACCELERATOR /* the accelerator's first, then all */
} clv_objective;

/* All else zero means: no limits. Limits are about arithmetic operators: views,
 * shape arithmetic and constants, which run on either device, do not count.
 * The command's --min-subgraph-size and Python's min_subgraph_size are these
 * fields. */
typedef struct clv_capability_opts {
    size_t size;                 /* sizeof(clv_capability_opts) */
    double min_support;          /* 0 to 1: share that must be supported */
    bool some_support;           /* and more than CLV_HARDLY_SUPPORTED */
    uint32_t min_subgraph_size;  /* in every subgraph, of either device */
    uint32_t max_subgraph_count; /* of both devices */
    clv_objective objective;
    bool connected; /* every subgraph hangs together by its own edges */
    bool demote;    /* meet the limits by moving work to the CPU */
    bool no_what_if;
    /* Pairs of nodes to keep in order, for a caller whose runtime needs more
     * than the tensors say. Borrowed while the cut is made. Subgraphs are
     * numbered accordingly; their depends_on lists tensors' makers only. */
    const clv_order *order;
    uint32_t n_order;
} clv_capability_opts;

/* A share of supported operators so low that a cut is not worth it. */
#define CLV_HARDLY_SUPPORTED 0.02

/* What supporting one more kind of operator would do. */
typedef struct clv_what_if {
    const char *op;         /* its name at the source, if it is unknown */
    uint32_t nodes;         /* that are unsupported now */
    uint32_t subgraphs;     /* there would be */
    int64_t crossing_bytes; /* there would be */
    int64_t fewer_subgraphs, fewer_bytes; /* than there are now */
    const char *reason;                   /* of the first such node */
} clv_what_if;

/* Operators of one kind with one answer. */
typedef struct clv_support_row {
    const char *op, *origin; /* ours; at its source, "" if the same */
    bool supported;          /* by the backend, whatever was forced */
    uint32_t count, node;    /* of nodes; the first of them */
    const char *reason;      /* why not; "" */
} clv_support_row;

typedef struct clv_capability_info {
    size_t size;               /* sizeof(clv_capability_info) */
    const char *device;        /* the accelerator's name */
    uint32_t supported, total; /* as in clv_support_info */
    double percentage;
    const clv_support_row *rows; /* arithmetic operators, by first node */
    uint32_t n_rows;
    const uint8_t *sides;      /* clv_side of each node, forced ones included */
    uint32_t accelerator;      /* subgraphs there */
    uint32_t minimum;          /* of the objective: no cut has fewer */
    int64_t crossing_bytes;    /* of activations between subgraphs */
    const int64_t *peak_bytes; /* per subgraph: most activations alive */
    /* Nodes each of which reaches the next, devices alternating. One path of
     * `minimum` nodes, or two of minimum-1 that begin with different devices:
     * whichever device comes first, one of them needs `minimum` subgraphs. */
    const uint32_t *certificate[2];
    uint32_t n_certificate[2];
    const clv_what_if *what_if; /* largest gain first */
    uint32_t n_what_if;
    uint32_t what_if_untried; /* more kinds, for which there was no time */
    const uint32_t *demoted;  /* supported nodes that limits sent to the CPU */
    uint32_t n_demoted;
    int64_t demoted_flops;
    bool demotion_unproven; /* fewer might do: the graph is too wide to tell */
} clv_capability_info;

/* Cuts the graph of p into subgraphs of two devices, "cpu" and the support's.
 * Borrows p, which must outlive the cut, and s while it runs. Fails with
 * CLV_LIMIT when the cut does not keep a limit of opts (may be NULL). By
 * default no cut has fewer subgraphs, so one that exceeds max_subgraph_count
 * proves that all do; a cut of other sizes may exist where min_subgraph_size is
 * refused. Fails with CLV_USAGE when min_support is no share, or when `order`
 * contradicts the graph. */
CLV_API CLV_MUST clv_status clv_cut_capability(const clv_profile *p,
                                               const clv_support_info *s,
                                               const clv_capability_opts *opts,
                                               clv_cut **out, clv_err *err);
/* What only such a cut knows; NULL for others. */
CLV_API const clv_capability_info *clv_cut_capability_info(const clv_cut *c);

#endif

/* capability.h - cuts a graph by what an accelerator supports, into the fewest
 * subgraphs. Proves that there cannot be fewer, and says which operators to
 * support so that there are.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_CAPABILITY_H
#define CLEAVE_CAPABILITY_H

#include "cleave/backend.h"
#include "cleave/cut.h"

typedef enum clv_objective {
    CLV_OBJECTIVE_TOTAL,      /* fewest subgraphs on both devices together */
    CLV_OBJECTIVE_ACCELERATOR /* fewest on the accelerator, then in all */
} clv_objective;

/* All else zero means: no limits. Limits are about arithmetic operators: views,
 * shape arithmetic and constants, which run on either device, do not count.
 * The command's --min-subgraph-size and Python's min_subgraph_size are these
 * fields. */
typedef struct clv_capability_opts {
    size_t size;                 /* sizeof(clv_capability_opts) */
    double min_support;          /* 0 to 1: share that must be supported */
    bool some_support;           /* refuse CLV_HARDLY_SUPPORTED and less */
    uint32_t min_subgraph_size;  /* in every subgraph, of either device */
    uint32_t max_subgraph_count; /* of both devices */
    clv_objective objective;
    bool connected; /* every subgraph hangs together by its own edges */
    bool demote;    /* meet the limits by moving work to the CPU */
    bool no_what_if;
    /* Pairs of nodes to keep in order, for a caller whose runtime needs an
     * order that no tensor enforces. Borrowed for the call. The subgraphs are
     * numbered in such an order, but depends_on lists only those whose tensors
     * a subgraph reads. */
    const clv_order *order;
    uint32_t n_order;
} clv_capability_opts;

/* A share of supported operators so low that a cut is not worth it. */
#define CLV_HARDLY_SUPPORTED 0.02

/* What supporting one more kind of operator would do. */
typedef struct clv_what_if {
    const char *op;         /* its name at the source, if it is unknown */
    uint32_t nodes;         /* how many nodes are unsupported now */
    uint32_t subgraphs;     /* how many subgraphs there would be */
    int64_t crossing_bytes; /* how many bytes would cross */
    int64_t fewer_subgraphs, fewer_bytes; /* the difference to now */
    const char *reason; /* why the first such node is unsupported */
} clv_what_if;

/* Operators of one kind with one answer. */
typedef struct clv_support_row {
    const char *op, *origin; /* our name; the name at its source, "" if equal */
    bool supported;          /* the backend's answer, whatever was forced */
    uint32_t count, node;    /* how many nodes; the first of them */
    const char *reason;      /* why it is not supported; "" if it is */
} clv_support_row;

typedef struct clv_capability_info {
    size_t size;               /* sizeof(clv_capability_info) */
    const char *device;        /* the accelerator's name */
    uint32_t supported, total; /* as in clv_support_info */
    double percentage;
    const clv_support_row *rows; /* arithmetic operators, by first node */
    uint32_t n_rows;
    const uint8_t *sides;      /* clv_side of each node, forced ones included */
    uint32_t accelerator;      /* how many subgraphs run on the accelerator */
    uint32_t minimum;          /* no cut has fewer subgraphs, as the objective
                                * counts them */
    int64_t crossing_bytes;    /* activations that cross between subgraphs */
    const int64_t *peak_bytes; /* per subgraph: most bytes alive at one time */
    /* The proof of the minimum: paths of nodes, each of which reaches the next
     * one and runs on the other device. Either one path of `minimum` nodes, or
     * two paths of minimum-1 nodes that begin on different devices: whichever
     * device comes first, one of the two needs `minimum` subgraphs. */
    const uint32_t *certificate[2];
    uint32_t n_certificate[2];
    const clv_what_if *what_if; /* largest gain first */
    uint32_t n_what_if;
    uint32_t what_if_untried; /* kinds that were not tried, to save time */
    const uint32_t *demoted;  /* supported nodes that limits sent to the CPU */
    uint32_t n_demoted;
    int64_t demoted_flops;
    bool demotion_unproven; /* demoting fewer nodes might do: the graph is too
                             * wide to tell */
} clv_capability_info;

/* Cuts the graph of p into subgraphs for two devices, "cpu" and the device of
 * s. Borrows p, which must outlive the cut, and s for the call; opts may be
 * NULL. Fails with CLV_LIMIT when the cut exceeds a limit of opts. If
 * max_subgraph_count is exceeded, every cut exceeds it. If min_subgraph_size is
 * not met, another cut might meet it. Fails with CLV_USAGE when min_support is
 * no share, or when `order` contradicts the graph. */
CLV_API CLV_MUST clv_status clv_cut_capability(const clv_profile *p,
                                               const clv_support_info *s,
                                               const clv_capability_opts *opts,
                                               clv_cut **out, clv_err *err);
/* Returns what clv_cut_capability found out, NULL for cuts of other kinds. */
CLV_API const clv_capability_info *clv_cut_capability_info(const clv_cut *c);

#endif

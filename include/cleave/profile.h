/* profile.h - what a graph costs: per operator, per module, in all.
 *
 * Threads: a result is read-only once made; any number of threads may
 * read it, and make others of the same input. */
#ifndef CLEAVE_PROFILE_H
#define CLEAVE_PROFILE_H

#include "cleave/graph.h"

/* How far a number can be believed. */
typedef enum clv_trust {
    CLV_TRUST_EXACT,     /* follows from the shapes */
    CLV_TRUST_ESTIMATED, /* depends on data; an upper bound or a given value */
    CLV_TRUST_FREE,      /* a view: no work, no traffic */
    CLV_TRUST_GIVEN,     /* described by the user (--ops, callbacks) */
    CLV_TRUST_UNKNOWN, /* operator not known: counted as nothing, and said so */
    CLV_TRUST_COUNT
} clv_trust;

typedef enum clv_bottleneck {
    CLV_BOTTLENECK_COMPUTE,   /* more than 50 FLOPs per byte */
    CLV_BOTTLENECK_BALANCED,  /* more than 10 */
    CLV_BOTTLENECK_MEMORY,    /* more than 1 */
    CLV_BOTTLENECK_BANDWIDTH, /* the rest */
    CLV_BOTTLENECK_COUNT
} clv_bottleneck;

/* How an operator's work splits. */
typedef struct clv_parallel {
    int64_t batch, channels, spatial;
    int64_t total_threads; /* independent outputs: batch*channels*spatial */
    int64_t num_groups;
    bool is_depthwise, is_grouped;
    bool can_split_batch, can_split_spatial, can_split_channels;
    const char *vectorizable_dim; /* "channels", "spatial", ... */
} clv_parallel;

typedef struct clv_cost {
    int64_t macs, flops;
    int64_t params;        /* of weights first read here; ties count once */
    int64_t bytes_in;      /* activations read */
    int64_t bytes_weights; /* parameters, buffers and constants read */
    int64_t bytes_out;     /* activations written */
    clv_trust trust;
} clv_cost;

/* How FLOPs are counted: ours (a multiply-add is two, everything counts), or
 * another tool's exact rules. A row is a convention: code, name, unit of its
 * total, the tool, its column of src/analysis/count.def, and what is special:
 * WARNS     the tool warns of an operator that it has no rule for
 * MODULES   it sees modules; of functions, the matrix products only */
#define CLV_CONVENTION_TABLE(X) \
    X(FULL, "full", "FLOP", "cleave", OURS, NOTHING) \
    X(FVCORE, "fvcore", "MAC", "fvcore", FVCORE, WARNS) \
    X(TORCH, "torch", "FLOP", "torch FlopCounterMode", ATEN, NOTHING) \
    X(TORCHVISION, "torchvision", "MAC", "torchvision", ATEN, NOTHING) \
    X(THOP, "thop", "MAC", "ultralytics-thop", THOP, MODULES)

typedef enum clv_convention {
#define CLV_X(code, name, unit, tool, column, special) CLV_CONVENTION_##code,
    CLV_CONVENTION_TABLE(CLV_X)
#undef CLV_X
        CLV_CONVENTION_COUNT
} clv_convention;

CLV_API const char *clv_convention_name(clv_convention c);
/* By name; CLV_CONVENTION_COUNT when there is none. */
CLV_API clv_convention clv_convention_find(const char *name);
/* What a convention's total counts: "FLOP" or "MAC". */
CLV_API const char *clv_convention_unit(clv_convention c);
/* Whose rules they are: "torch FlopCounterMode". */
CLV_API const char *clv_convention_tool(clv_convention c);
/* Whether the tool warns of operators that it has no rule for, which
 * clv_profile_unsupported lists. */
CLV_API bool clv_convention_warns(clv_convention c);

/* All else zero means: the defaults. */
typedef struct clv_profile_opts {
    size_t size; /* sizeof(clv_profile_opts) */
    clv_convention convention;
    double ai_threshold; /* of the two-way split; 0: 10 FLOPs per byte */
} clv_profile_opts;

/* One operator. `flops` follows the convention; the rest does not. */
typedef struct clv_layer {
    uint32_t node;
    uint32_t module; /* index in clv_profile_modules */
    clv_cost cost;
    clv_parallel parallel;
    clv_dtype dtype;  /* what it computes in */
    int64_t memory;   /* bytes moved: in, weights and out */
    double intensity; /* FLOPs per byte moved; 0 when none are */
    clv_bottleneck bottleneck;
} clv_layer;

typedef struct clv_totals {
    size_t size;          /* sizeof(clv_totals) */
    uint32_t operators;   /* nodes */
    uint32_t graph_nodes; /* as torch.fx counts: inputs and output included */
    int64_t params, unused_params; /* unused ones are part of params */
    int64_t macs, flops;
    int64_t integer_macs; /* those of macs that are done on integers */
    int64_t bytes_in, bytes_weights, bytes_out;
    int64_t memory;       /* bytes moved: the three above */
    int64_t weight_bytes; /* stored; tied weights once */
    double intensity;
    uint32_t trust[CLV_TRUST_COUNT]; /* operators of each */
    uint32_t bottleneck[CLV_BOTTLENECK_COUNT];
    int64_t bottleneck_flops[CLV_BOTTLENECK_COUNT];
    uint32_t above_threshold; /* operators over ai_threshold */
    int64_t above_threshold_flops;
    uint32_t below_threshold; /* all others */
    int64_t below_threshold_flops;
} clv_totals;

/* All operators of one type, in order of first appearance. */
typedef struct clv_type_total {
    const char *type;
    uint32_t count;
    int64_t flops, macs;
} clv_type_total;

/* What a convention reports under one of its own names ("conv", "bmm"), in its
 * own unit. */
typedef struct clv_kind_total {
    const char *kind;
    uint32_t count;
    int64_t total;
} clv_kind_total;

/* An operator that a convention has no rule for: it counts nothing, and fvcore
 * warns of it. */
typedef struct clv_unsupported {
    const char *op; /* "max_pool2d"; unknown operators by their origin */
    uint32_t count;
} clv_unsupported;

/* One module: itself and everything below it. Modules come in the order of
 * the tree, parents first; the root (path "") is the first. */
typedef struct clv_module_total {
    const char *path, *name;
    uint32_t depth;
    uint32_t parent; /* index here; CLV_NONE for the root */
    uint32_t operators;
    uint32_t last_node; /* its output is this node's; CLV_NONE: none */
    int64_t params, macs, flops, memory;
} clv_module_total;

typedef struct clv_profile clv_profile;

/* Costs every node of an inferred graph. Borrows g, which must outlive the
 * profile. Returns a profile (caller frees with clv_profile_free). Fails with
 * CLV_OVERFLOW when a total does not fit 64 bits. */
CLV_API CLV_MUST clv_status clv_profile_new(const clv_graph *g,
                                            const clv_profile_opts *opts,
                                            clv_profile **out, clv_err *err);
CLV_API void clv_profile_free(clv_profile *p);

CLV_API const clv_graph *clv_profile_graph(const clv_profile *p);
CLV_API clv_convention clv_profile_convention(const clv_profile *p);
CLV_API const clv_totals *clv_profile_totals(const clv_profile *p);
/* One per node, in execution order. */
CLV_API const clv_layer *clv_profile_layers(const clv_profile *p,
                                            uint32_t *count);
CLV_API const clv_type_total *clv_profile_types(const clv_profile *p,
                                                uint32_t *count);
/* By the convention's own names, in order of first appearance; none for
 * `full`. They add up to the total FLOPs of the profile. */
CLV_API const clv_kind_total *clv_profile_kinds(const clv_profile *p,
                                                uint32_t *count);
/* What the tool would warn of (clv_convention_warns); none under others. */
CLV_API const clv_unsupported *clv_profile_unsupported(const clv_profile *p,
                                                       uint32_t *count);
CLV_API const clv_module_total *clv_profile_modules(const clv_profile *p,
                                                    uint32_t *count);

CLV_API const char *clv_trust_name(clv_trust t);
CLV_API const char *clv_bottleneck_name(clv_bottleneck b);

#endif

/* cluster.h - machines, their devices and the links between them, and the
 * pipeline that a model becomes on them: which stage runs on which devices.
 *
 * Threads: a cluster and a cut never change after they are made. */
#ifndef CLEAVE_CLUSTER_H
#define CLEAVE_CLUSTER_H

#include "cleave/cut.h"
#include "cleave/hardware.h"
#include "cleave/simulate.h"

typedef struct clv_cluster_device {
    const char *name; /* "HOST/DEVICE" */
    const char *host;
    const clv_device *hardware; /* whose roofline gives the times */
    int64_t memory;             /* bytes */
} clv_cluster_device;

/* Between two devices, hosts or switches; each direction on its own. */
typedef struct clv_cluster_link {
    const char *from, *to;
    double bandwidth; /* bytes per second */
    double latency;   /* seconds */
} clv_cluster_link;

typedef struct clv_cluster_info {
    size_t size; /* sizeof(clv_cluster_info) */
    const clv_cluster_device *devices;
    const clv_cluster_link *links;
    uint32_t n_devices, n_links;
} clv_cluster_info;

typedef struct clv_cluster clv_cluster;

/* Reads a cluster from JSON (docs/cluster.md). Returns it (caller frees with
 * clv_cluster_free). Fails with CLV_NOT_FOUND, CLV_IO or CLV_FORMAT, naming
 * the file and the line. */
CLV_API CLV_MUST clv_status clv_cluster_load(const char *path,
                                             clv_cluster **out, clv_err *err);
/* The same from text; it is not kept. */
CLV_API CLV_MUST clv_status clv_cluster_parse(const char *text, size_t len,
                                              clv_cluster **out, clv_err *err);
CLV_API void clv_cluster_free(clv_cluster *c);
CLV_API const clv_cluster_info *clv_cluster_get(const clv_cluster *c);

typedef enum clv_cluster_objective {
    CLV_CLUSTER_THROUGHPUT, /* the least time between two micro-batches */
    CLV_CLUSTER_LATENCY     /* the least time of one micro-batch */
} clv_cluster_objective;

typedef struct clv_cluster_opts {
    size_t size;                /* sizeof(clv_cluster_opts) */
    const clv_cluster *cluster; /* must outlive the cut */
    clv_cluster_objective objective;
    uint32_t stages;   /* at most; 0: as many as there are devices */
    uint32_t replicas; /* of a stage, at most; 0: any number */
} clv_cluster_opts;

/* A stage of the plan, which is subgraph k of the cut. */
typedef struct clv_cluster_stage {
    const uint32_t *devices; /* replicas take micro-batches in turn */
    uint32_t n_devices;
    double seconds; /* of a micro-batch on its slowest device */
    double period;  /* seconds / n_devices */
    int64_t memory; /* on each of its devices: weights, tensors that come and
                     * go, and the most that is alive between its operators */
} clv_cluster_stage;

/* What one stage sends to another for each micro-batch. */
typedef struct clv_cluster_message {
    uint32_t from, to; /* stages */
    int64_t bytes;
    double seconds;  /* on its slowest route */
    double occupied; /* of the link it keeps busy longest, per micro-batch, */
    uint32_t link;   /* which is this one, */
    bool back;       /* from `to` to `from` */
} clv_cluster_message;

typedef struct clv_cluster_load_row {
    uint32_t link;  /* of the cluster */
    bool back;      /* from `to` to `from` */
    double seconds; /* in which it is busy, per micro-batch */
} clv_cluster_load_row;

typedef struct clv_cluster_plan {
    size_t size; /* sizeof(clv_cluster_plan) */
    const clv_cluster *cluster;
    clv_cluster_objective objective;
    const clv_cluster_stage *stages;
    uint32_t n_stages;
    const clv_cluster_message *messages;
    uint32_t n_messages;
    const clv_cluster_load_row *loads; /* links that carry something */
    uint32_t n_loads;
    double bottleneck; /* the busiest stage or link: time per micro-batch */
    double latency;    /* of one micro-batch, links included */
    double bound;      /* no plan is below, of the objective */
    double gap;        /* value / bound - 1 */
    bool proven;       /* no plan is better: it meets the bound */
    uint32_t used;     /* devices */
} clv_cluster_plan;

/* Cuts into stages and gives each its devices, so that the objective is the
 * least; every stage fits the memory of its devices. A device has one stage at
 * most. Borrows p and the cluster, which must outlive the cut. Fails with
 * CLV_LIMIT when no plan fits. */
CLV_API CLV_MUST clv_status clv_cut_cluster(const clv_profile *p,
                                            const clv_cluster_opts *opts,
                                            clv_cut **out, clv_err *err);
/* Returns NULL for other cuts. */
CLV_API const clv_cluster_plan *clv_cut_cluster_plan(const clv_cut *c);

typedef struct clv_cut_sim_opts {
    size_t size;            /* sizeof(clv_cut_sim_opts) */
    uint32_t micro_batches; /* 0: 8 */
    uint32_t window;        /* as in clv_sim_opts */
} clv_cut_sim_opts;

/* Runs the schedule of a pipeline, of clv_cut_cluster or of clv_cut_pipeline
 * with a device, and keeps who ran when. Device k of the result is the k-th of
 * all devices of the stages, in their order (clv_cut_sim_device). A message
 * waits for the link that it keeps busy longest. Fails with CLV_USAGE for cuts
 * without times. */
CLV_API CLV_MUST clv_status clv_cut_simulate(const clv_cut *c,
                                             const clv_cut_sim_opts *opts,
                                             clv_sim **out, clv_err *err);
/* The name of device k of the simulation of a cut; borrows c. Returns "" where
 * there is none. */
CLV_API const char *clv_cut_sim_device(const clv_cut *c, uint32_t k);

#endif

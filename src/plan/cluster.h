/* cluster.h - a cluster as a graph of devices, hosts and switches, and its
 * routes. Device i is place i; hosts and switches follow. */
#ifndef CLV_PLAN_CLUSTER_H
#define CLV_PLAN_CLUSTER_H

#include "cleave/cluster.h"
#include "cut/cut.h"
#include "cut/dag.h"

enum {
    CLUSTER_DEVICES = 16384, /* at most */
    CLUSTER_PLACES = 65536,  /* devices, hosts and switches */
    CLUSTER_LINKS = 262144,
    CLUSTER_HOPS = 64 /* links of a route */
};

/* One direction of a link: 2 * link, or 2 * link + 1 on the way back. */
typedef struct cluster_route {
    uint32_t hops[CLUSTER_HOPS];
    uint32_t n;
    double bandwidth, latency; /* of the narrowest link; of all */
    bool found;
} cluster_route;

typedef struct cluster_stated {
    uint32_t from, to;
    const uint32_t *hops;
    uint32_t n;
} cluster_stated;

struct clv_cluster {
    arena mem;
    clv_cluster_info info;
    clv_cluster_device *devices;
    clv_cluster_link *links;
    clv_device **own; /* devices read from files */
    size_t n_own, cap_own;
    uint32_t *end[2]; /* per link: its two places */
    uint32_t n_places;
    uint32_t *first, *out; /* directed links by the place they leave */
    cluster_stated *stated;
    uint32_t n_stated;
};

/* Finds routes and remembers, per place, where the shortest ways lead. */
typedef struct cluster_router {
    const clv_cluster *c;
    arena mem;
    uint32_t **into; /* per place: NULL, or per place the last hop to it */
} cluster_router;

CLV_MUST bool clv__router_start(cluster_router *r, const clv_cluster *c);
void clv__router_end(cluster_router *r);
/* False when memory ran out. */
CLV_MUST bool clv__route(cluster_router *r, uint32_t from, uint32_t to,
                         cluster_route *out);

/* -- plans ----------------------------------------------------------------*/

/* Stages of nodes, and devices of stages. */
typedef struct cluster_draft {
    uint32_t *of;    /* per node: its stage */
    uint32_t *first; /* per stage and one more: its devices begin here */
    uint32_t *devices;
    uint32_t n_stages;
} cluster_draft;

/* What a draft costs. */
typedef struct cluster_value {
    double bottleneck, latency;
    double score;     /* of the objective; INFINITY: impossible */
    int64_t missing;  /* bytes that the worst stage lacks; 0: it fits */
    uint32_t no_room; /* its device, if missing */
} cluster_value;

typedef struct cluster_job {
    const clv_profile *p;
    const clv_graph *g;
    const clv_cluster *c;
    clv_cluster_opts o;
    arena mem;
    dag d;
    cluster_router router;
    uint32_t n_devices, n_kinds;
    uint32_t *kind; /* per device: equal hardware is one kind */
    double **cost;  /* per kind and node */
    int64_t *bytes; /* per value: that moves when it is read elsewhere */
    /* Scratch of clv__cluster_memory: */
    uint32_t *seen, *last, stamp;
    double *loads; /* per directed link */
    /* The best so far: */
    cluster_draft best;
    cluster_value value;
    double bound; /* no score is below */
    bool proven;  /* all plans were searched */
} cluster_job;

/* Bytes that a stage needs on a device; nodes are in order. */
int64_t clv__cluster_memory(cluster_job *j, const uint32_t *nodes, uint32_t n,
                            const uint32_t *of);
/* False when memory ran out. */
CLV_MUST bool clv__cluster_value(cluster_job *j, const cluster_draft *d,
                                 cluster_value *out);
/* Keeps a draft that is better than the best. */
CLV_MUST bool clv__cluster_offer(cluster_job *j, const cluster_draft *d);
/* Fills per pair of stages the bytes that pass: sums[from * n_stages + to]. */
void clv__cluster_messages(const cluster_job *j, const cluster_draft *d,
                           int64_t *sums, uint32_t *mark);

/* Adds a message between two stages to j->loads. Returns the time of the
 * slowest route; INFINITY where there is none; a negative one when memory ran
 * out. */
double clv__cluster_send(cluster_job *j, const cluster_draft *d, uint32_t a,
                         uint32_t b, int64_t bytes);

/* Slices of orders over sequences of devices (cluster_slices.c). */
CLV_MUST clv_status clv__cluster_slices(cluster_job *j, clv_err *e);

/* For graphs that are not too wide (cluster_exact.c): raises the bound, and on
 * at most 8 devices finds the best plan and says if all were searched. False
 * when memory ran out. */
CLV_MUST bool clv__cluster_exact(cluster_job *j);

#endif

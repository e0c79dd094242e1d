/* place.h - the cheapest placement on two devices: exact, by minimum cut. */
#ifndef CLV_PLACE_H
#define CLV_PLACE_H

#include "analysis/profile.h"
#include "cut/label.h"

/* The link between two devices unless the caller gives one: bytes per second,
 * and seconds per tensor. */
#define DEFAULT_LINK    16e9
#define DEFAULT_LATENCY 10e-6

/* Costs, all in one unit. INFINITY means that a node cannot run there. The CPU
 * can run every node. */
typedef struct placement_costs {
    double *cpu, *accelerator; /* of each node */
    double *move;              /* of each value, from one device to the other */
} placement_costs;

/* Allocates zeroed arrays of the right size. Returns false when memory ran
 * out. */
bool clv__place_costs(arena *a, const clv_graph *g, placement_costs *c);

/* Sets costs that keep FLOPs off the CPU: a node costs its FLOPs on the CPU (at
 * least one), nothing on the accelerator, and each byte that moves costs
 * one. */
bool clv__place_flops(arena *a, const clv_profile *p, const uint8_t *side,
                      placement_costs *c);

/* Finds the side of each node (CLV_SIDE_CPU or CLV_SIDE_ACCELERATOR) that makes
 * compute plus transfer the least. A tensor needed on the other device is paid
 * once, however many nodes read it there. */
CLV_MUST clv_status clv__place(arena *a, const clv_graph *g,
                               const placement_costs *c, uint8_t *side,
                               clv_err *e);

/* The best placement with at most k blocks. */
typedef struct block_placement {
    labels l;
    double cost; /* compute + transfer, as in clv__place */
    bool proven; /* no placement is cheaper; if false, none was found */
} block_placement;

/* Finds the best placement with at most k blocks. That is the optimum itself if
 * it has few blocks. Otherwise it is the better of two minimum cuts over
 * labels, in which a tensor pays at every border it passes; a search improves
 * and proves it where the graph is narrow (frontier.c). */
CLV_MUST clv_status clv__place_k(arena *a, const clv_graph *g, const dag *d,
                                 const placement_costs *c, uint32_t k,
                                 block_placement *out, clv_err *e);

/* The cost of a placement: compute on each device, and transfer as in
 * clv__place. */
typedef struct placement_sum {
    double cpu, accelerator, transfer;
    int64_t bytes;           /* that move */
    uint32_t on_accelerator; /* nodes */
} placement_sum;

placement_sum clv__place_sum(const clv_graph *g, const placement_costs *c,
                             const uint8_t *side);

#endif

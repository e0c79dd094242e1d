/* place.h - two devices, the least cost: exact, by minimum cut. */
#ifndef CLV_PLACE_H
#define CLV_PLACE_H

#include "analysis/profile.h"
#include "cut/label.h"

/* In any one unit. INFINITY: not possible there; the CPU can run all. */
typedef struct placement_costs {
    double *cpu, *accelerator; /* of each node */
    double *move;              /* of each value, from one device to the other */
} placement_costs;

/* Arrays of the right size, zeroed. False: no memory. */
bool clv__place_costs(arena *a, const clv_graph *g, placement_costs *c);

/* Costs that make a placement keep FLOPs off the CPU: FLOPs (at least one per
 * operator) there, nothing on the accelerator, a unit per byte that moves. */
bool clv__place_flops(arena *a, const clv_profile *p, const uint8_t *side,
                      placement_costs *c);

/* The side of each node (CLV_SIDE_CPU or CLV_SIDE_ACCELERATOR) that makes
 * compute + transfer least; a tensor needed on the other device is paid once,
 * however many read it there. */
CLV_MUST clv_status clv__place(arena *a, const clv_graph *g,
                               const placement_costs *c, uint8_t *side,
                               clv_err *e);

/* The best placement with at most k blocks. */
typedef struct block_placement {
    labels l;
    double cost; /* compute + transfer, as in clv__place */
    bool proven; /* none is cheaper; else none was found */
} block_placement;

/* Finds it: the optimum itself if it has few blocks; else the better of two
 * minimum cuts over labels, in which a tensor pays at every border it passes,
 * improved and proven by a search where the graph is narrow (frontier.c). */
CLV_MUST clv_status clv__place_k(arena *a, const clv_graph *g, const dag *d,
                                 const placement_costs *c, uint32_t k,
                                 block_placement *out, clv_err *e);

/* What a placement costs: compute on each device, and transfer as in
 * clv__place. */
typedef struct placement_sum {
    double cpu, accelerator, transfer;
    int64_t bytes;           /* that move */
    uint32_t on_accelerator; /* nodes */
} placement_sum;

placement_sum clv__place_sum(const clv_graph *g, const placement_costs *c,
                             const uint8_t *side);

#endif

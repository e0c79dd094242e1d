/* frontier.h - the best placement with at most k blocks, by search. */
#ifndef CLV_FRONTIER_H
#define CLV_FRONTIER_H

#include "cut/place.h"

typedef enum frontier_end {
    FRONTIER_DONE,
    FRONTIER_TOO_WIDE, /* gave up; what it found may not be the best */
    FRONTIER_NOMEM
} frontier_end;

/* Improves a placement `side` of at most k blocks that costs *cost. The cost is
 * the compute, and the move of each tensor that is read on the other device,
 * once. Replaces side and *cost if it finds a cheaper placement. FRONTIER_DONE
 * means that no cheaper one exists. */
frontier_end clv__place_frontier(arena *a, const clv_graph *g, const dag *d,
                                 const placement_costs *c, uint32_t k,
                                 uint8_t *side, double *cost);

#endif

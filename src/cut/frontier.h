/* frontier.h - the best placement with at most k blocks, by search. */
#ifndef CLV_FRONTIER_H
#define CLV_FRONTIER_H

#include "cut/place.h"

typedef enum frontier_end {
    FRONTIER_DONE,
    FRONTIER_TOO_WIDE, /* gave up; what it found may not be the best */
    FRONTIER_NOMEM
} frontier_end;

/* `side` is a placement of at most k blocks that costs *cost (compute, and
 * each tensor's move once if it is read on the other device). Replaces both by
 * a cheaper one where there is one; when it ends with FRONTIER_DONE there is
 * none cheaper left. */
frontier_end clv__place_frontier(arena *a, const clv_graph *g, const dag *d,
                                 const placement_costs *c, uint32_t k,
                                 uint8_t *side, double *cost);

#endif

/* maxflow.h - the least s-t cut of a network: highest-label push-relabel.
 *
 *     flow f;
 *     flow_init(&f, &arena, n, m);
 *     flow_arc(&f, u, v, 5, 0);       at most m of them
 *     int64_t value = flow_cut(&f, s, t);
 *     if (f.source_side[v]) ... */
#ifndef CLV_MAXFLOW_H
#define CLV_MAXFLOW_H

#include "core/core.h"

/* Finite capacities must add up to less than this; an arc of FLOW_INF is then
 * never cut, and excesses of up to 2^20 of them fit 63 bits. */
#define FLOW_INF ((int64_t)1 << 41)

typedef struct flow_edge {
    uint32_t from, to;
    int64_t cap, back;
} flow_edge;

typedef struct flow {
    arena *a;
    uint32_t n, m, max_m;
    flow_edge *edge;
    bool *source_side; /* after flow_cut: the side of each node */
} flow;

bool flow_init(flow *f, arena *a, uint32_t n, uint32_t max_arcs);
/* From u to v with capacity cap, and `back` the other way. */
void flow_arc(flow *f, uint32_t u, uint32_t v, int64_t cap, int64_t back);
/* Returns the value of the minimum cut between s and t and fills source_side
 * with its source side, the largest one if there are several. Returns -1 when
 * memory ran out. */
int64_t flow_cut(flow *f, uint32_t s, uint32_t t);

#endif

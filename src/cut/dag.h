/* dag.h - which node depends on which, for passes that need nothing else.
 *
 * Nodes are numbered in topological order. Besides the edges of the data there
 * is an edge from each stateful node to the next one, so that no cut swaps
 * them. */
#ifndef CLV_DAG_H
#define CLV_DAG_H

#include "cleave/cut.h"
#include "graph/graph.h"

typedef struct dag {
    uint32_t n;
    uint32_t *pred_first, *pred; /* of i: pred[pred_first[i] ... [i+1]) */
    uint32_t *succ_first, *succ; /* NULL until clv__dag_succ */
} dag;

/* The DAG of a graph, in a. False when memory ran out. */
bool clv__dag_make(arena *a, const clv_graph *g, dag *d);
/* Adds an edge for each pair: `before` has a lower number than `after`, which
 * is below d->n. Call it before clv__dag_succ. False when memory ran out. */
bool clv__dag_add(arena *a, dag *d, const clv_order *order, uint32_t n);
/* Fills in succ and succ_first. */
bool clv__dag_succ(arena *a, dag *d);

/* Topological orders: that of the graph, or the newest or oldest ready node
 * first. */
typedef enum dag_way {
    DAG_AS_GIVEN,
    DAG_DEPTH_FIRST,
    DAG_BREADTH_FIRST
} dag_way;
/* Writes the node at each place to seq; needs succ. False when memory ran
 * out. */
bool clv__dag_order(arena *a, const dag *d, uint32_t *seq, dag_way way);

#endif

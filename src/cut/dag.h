/* dag.h - who depends on whom, for passes that care for nothing else.
 *
 * Nodes are numbered in topological order. Besides the edges of the data there
 * is one from each stateful node to the next, so that no cut swaps them. */
#ifndef CLV_DAG_H
#define CLV_DAG_H

#include "graph/graph.h"

typedef struct dag {
    uint32_t n;
    uint32_t *pred_first, *pred; /* of i: pred[pred_first[i] ... [i+1]) */
    uint32_t *succ_first, *succ; /* NULL until clv__dag_succ */
} dag;

/* The DAG of a graph, in a. False when memory ran out. */
bool clv__dag_make(arena *a, const clv_graph *g, dag *d);
/* Fills in succ and succ_first. */
bool clv__dag_succ(arena *a, dag *d);

#endif

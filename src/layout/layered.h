/* layered.h - draws a graph without cycles in layers, edges pointing down.
 *
 * Four steps, each linear or nearly so: ranks.c gives every node its layer and
 * cuts long edges into chains of dummies; order.c orders each layer so that few
 * edges cross; coords.c places the layers so that long edges are straight.
 *
 *          a            a            Edges that leave a node with the same
 *         / \          / \           `net` share one chain of dummies (o), so
 *        b   |   =>   b   o          a tensor read in a thousand places is one
 *         \ /          \ /           line with branches.
 *          c            c
 *
 * The same graph always gives the same drawing. */
#ifndef CLV_LAYERED_H
#define CLV_LAYERED_H

#include "core/core.h"

typedef struct layered_edge {
    uint32_t from, to; /* nodes; an edge from a node to itself is ignored */
    uint32_t net;      /* which of the values of `from` it carries */
} layered_edge;

/* Where a node must lie. */
enum layered_pin { LAYERED_FREE, LAYERED_TOP, LAYERED_BOTTOM };

typedef struct layered_graph {
    uint32_t n;
    const int32_t *width, *height; /* per node */
    const uint8_t *pin;            /* layered_pin per node; NULL: all free */
    const layered_edge *edges;
    uint32_t n_edges;
} layered_graph;

typedef struct layered_point {
    int32_t x, y;
} layered_point;

/* Everything lies in the arena it was made with. Coordinates start at 0. */
typedef struct layered {
    uint32_t n_ranks;
    uint32_t *rank;        /* per node */
    layered_point *center; /* per node */
    uint32_t *bend_first;  /* bends of edge e: bends[bend_first[e] ... [e+1]) */
    layered_point *bends;
    uint32_t n_straight; /* edges so long that they are drawn without bends */
    int64_t crossings;   /* of the lines between layers */
    int32_t width, height;
} layered;

/* Lays out g, whose edges must make no cycle. Returns false when memory ran
 * out. `out` receives the result, `scratch` is rewound. */
bool clv__layered_make(arena *out, arena *scratch, const layered_graph *g,
                       layered *r);

/* -- between the steps ----------------------------------------------------*/

/* Nodes and dummies in layers. Dummies come after the nodes. */
typedef struct ranked {
    uint32_t n_nodes, n; /* n: with dummies */
    uint32_t *rank;
    int32_t *width;
    uint32_t n_ranks;
    uint32_t *first, *at; /* layer r: at[first[r] ... first[r+1]) */
    uint32_t *pos;        /* place of a vertex in its layer */
    /* Neighbours in the layer above and below, in the order of that layer. */
    uint32_t *up_first, *up, *down_first, *down;
    uint32_t *chain; /* per edge of the input: its first dummy, or CLV_NONE */
    uint32_t n_straight;
} ranked;

bool clv__ranked_make(arena *a, const layered_graph *g, ranked *r);
/* Orders every layer; returns how many lines cross, -1 when memory ran out. */
int64_t clv__ranked_order(arena *a, ranked *r);
/* Moves whole lines to where they cross least, as long as *work, which it
 * lessens, is above 0. Sets r->at alone. Returns false when memory ran out. */
bool clv__ranked_sift(arena *a, ranked *r, int64_t *work);
/* Sorts the lists of neighbours by the places of these. */
void clv__ranked_sort_up(const ranked *r, uint32_t layer, uint32_t *fill);
void clv__ranked_sort_down(const ranked *r, uint32_t layer, uint32_t *fill);
/* The middle of every vertex, from 0 on. NULL when memory ran out. */
double *clv__ranked_place(arena *a, const ranked *r, const int32_t *gap);

#endif

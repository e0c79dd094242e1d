/* layout.h - where the nodes of a graph are drawn.
 *
 * Modules are boxes, and a box has a drawing of its own, in which the boxes
 * inside it are closed. A page that opens one stretches the drawing around it:
 *
 *      +--------+         +----------+
 *      | conv1  |         |  conv1   |
 *      | layer1 |   =>    | +layer1+ |     items keep their order, so nothing
 *      | layer2 |         | | 0  1 | |     overlaps
 *      +--------+         | +------+ |
 *                         |  layer2  |
 *                         +----------+
 *
 * A module whose operators run in several parts is as many boxes. Three or more
 * equal modules in a row are put in a box that says how often. The same graph
 * always gives the same layout.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_LAYOUT_H
#define CLEAVE_LAYOUT_H

#include "cleave/graph.h"

typedef enum clv_item_kind {
    CLV_ITEM_NODE,
    CLV_ITEM_BOX,
    CLV_ITEM_INPUT, /* where a value enters the box */
    CLV_ITEM_OUTPUT /* where it leaves */
} clv_item_kind;

/* Something drawn in a box. x and y are its middle, in pixels. */
typedef struct clv_item {
    clv_item_kind kind;
    uint32_t id; /* of the node, box or value */
    uint32_t rank;
    int32_t x, y, w, h;
} clv_item;

typedef struct clv_point {
    int32_t x, y;
} clv_point;

/* A value on its way from one item of a box to another. */
typedef struct clv_wire {
    uint32_t from, to; /* items of the box */
    uint32_t value;
    const clv_point *bends;
    uint32_t n_bends;
} clv_wire;

typedef struct clv_box {
    const char *module;    /* path; of repeated modules, of the first */
    uint32_t parent;       /* box; CLV_NONE for the root, which is box 0 */
    uint32_t part, parts;  /* of a module in several parts: which, from 0 */
    uint32_t repeats;      /* of a box of equal modules: how many; else 0 */
    uint32_t form;         /* boxes with the same form hold the same operators
                              with the same shapes, connected the same way */
    uint32_t nodes;        /* inside, at any depth */
    int32_t width, height; /* of its drawing */
    const clv_item *items;
    const clv_wire *wires;
    uint32_t n_items, n_wires;
    bool folded; /* of repeats: the first is drawn, and stands for all */
    bool shut;   /* one node of each operator is drawn, and no wires */
} clv_box;

typedef struct clv_layout_info {
    size_t size; /* sizeof(clv_layout_info) */
    const clv_box *boxes;
    uint32_t n_boxes;
    uint32_t n_straight; /* wires too long to be led around nodes */
    int64_t crossings;   /* of wires, in all boxes */
    /* Of a folded layout. A row is the nodes that one that is drawn stands for;
     * rows are in the order of the nodes drawn, each the first of its row or
     * equal to it. */
    uint32_t n_rows;           /* 0: nothing is folded */
    const uint32_t *row;       /* of every node */
    const uint32_t *row_node;  /* the node of a row that is drawn */
    const uint32_t *row_count; /* nodes of a row */
    uint32_t n_hidden;         /* wires left out where too many meet */
} clv_layout_info;

typedef struct clv_layout clv_layout;

/* Lays out an inferred graph, in nearly linear time. Borrows g, which must
 * outlive the result; returns a layout (caller frees with clv_layout_free). */
CLV_API CLV_MUST clv_status clv_layout_new(const clv_graph *g, clv_layout **out,
                                           clv_err *err);
/* The same for a graph too large to be drawn node by node. What repeats
 * (modules of the same form, and sequences of the same operators with the same
 * shapes) is drawn once, as a box that says how often; what is still too much
 * is put in boxes by the order of execution, and of some of them only the kinds
 * of operators are drawn. About `most` nodes are drawn, rarely more. */
CLV_API CLV_MUST clv_status clv_layout_folded(const clv_graph *g, uint32_t most,
                                              clv_layout **out, clv_err *err);
CLV_API void clv_layout_free(clv_layout *l);
CLV_API const clv_layout_info *clv_layout_get(const clv_layout *l);

#endif

/* boxes.h - the boxes of a layout on their way to being drawn. */
#ifndef CLV_LAYOUT_BOXES_H
#define CLV_LAYOUT_BOXES_H

#include "cleave/layout.h"
#include "graph/graph.h"

/* A part of the graph and the module it belongs to. */
typedef struct box_part {
    uint32_t *nodes; /* ascending */
    uint32_t n;
    uint32_t scope; /* CLV_NONE: one node by itself */
    uint32_t part, parts;
    uint32_t repeats; /* a row of equal modules, which are inside */
    uint64_t hash;    /* of what it computes */
} box_part;

typedef struct box_maker {
    const clv_graph *g;
    arena *mem, *scratch;
    uint32_t *scope; /* per scope: itself, or its ancestor that is not too
                        deep to be a box */
    uint32_t *item;  /* per node: item of the box at work */
    uint32_t *stamp; /* per node: the box that `item` is of, plus 1 */
    uint32_t *scope_mark, *scope_item; /* per scope, likewise */
    uint32_t *value_mark, *value_item; /* per value, likewise */
    uint32_t *index; /* per node: place in the part that is hashed */
    uint32_t *index_mark;
    uint32_t marks; /* the last mark given */
} box_maker;

/* Splits the nodes of a box into its items, in the order of their first nodes,
 * and sets m->item. The items lie in the scratch arena, their nodes in mem.
 * box->scope becomes the innermost module that holds all of it. Returns false
 * when memory ran out. */
bool clv__box_split(box_maker *m, box_part *box, box_part **items, uint32_t *n);

/* The box `b` with these items: ports, wires and coordinates. `first_box` is
 * the number of the first box among the items. */
bool clv__box_draw(box_maker *m, const box_part *box, const box_part *items,
                   uint32_t n, uint32_t first_box, clv_box *b,
                   clv_layout_info *total);

#endif

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
    uint32_t total;   /* nodes it stands for; 0: n. More when it is folded:
                         `nodes` are those of the first of its repeats */
    bool folded;
    uint32_t plan; /* its number among the boxes of the fold plan */
} box_part;

typedef struct box_maker {
    const clv_graph *g;
    arena *mem, *scratch;
    uint32_t *home;  /* per node: the module it is drawn in */
    uint32_t *item;  /* per node: item of the box at work */
    uint32_t *stamp; /* per node: the box that `item` is of, plus 1 */
    uint32_t *scope_mark, *scope_item; /* per scope, likewise */
    uint32_t *value_mark, *value_item; /* per value, likewise */
    uint32_t *index; /* per node: place in the part that is hashed */
    uint32_t *index_mark;
    uint32_t marks; /* the last mark given */
    uint32_t *like; /* per node: the one drawn for it. NULL: none is folded */
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

/* The number of a node that computes the same on the same shapes. */
uint64_t clv__box_node_hash(const clv_graph *g, uint32_t node);
/* Marks the items that lie on cycles or between them in *on. Returns how many,
 * CLV_NONE when memory ran out. */
uint32_t clv__box_cycles(box_maker *m, const box_part *box, uint32_t n,
                         bool **on);

/* -- folding (fold.c) -----------------------------------------------------*/

/* Puts what repeats among the items in boxes of which the first is drawn, and
 * what is still too much for one drawing in spans of the order. Sets m->like
 * of the nodes that are not drawn. */
bool clv__box_fold(box_maker *m, const box_part *box, box_part **items,
                   uint32_t *n);
/* The box with one node of each operator, and no wires. */
bool clv__box_shut(box_maker *m, const box_part *box, clv_box *b);
/* Which boxes to shut so that about `most` nodes are drawn. Box i has
 * `items[i]` items, of which boxes `first[i]` on are its own, before
 * first[i + 1]. */
bool clv__boxes_to_shut(arena *a, const uint32_t *items, const uint32_t *first,
                        uint32_t n, uint32_t most, bool *shut);
/* Numbers the rows: out->row and the like, from m->like. */
bool clv__fold_rows(const box_maker *m, arena *mem, clv_layout_info *out);

#endif

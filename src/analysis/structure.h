/* structure.h - a graph as something to be compared with another one.
 *
 * A structure lists nodes of a graph in an order that follows from what reads
 * what, whatever their names are and however a file lists them, with the links
 * between them. It may leave out what exporters do differently: nodes that only
 * move data or compute shapes are then skipped, and links go past them.
 *
 * A label is a number for a node: equal labels say that two nodes are alike as
 * far as the grain (how much of a node) and the context (how much around it)
 * reach. */
#ifndef CLV_STRUCTURE_H
#define CLV_STRUCTURE_H

#include "graph/graph.h"

typedef struct structure_link {
    uint32_t place; /* of the other end; CLV_NONE: a value that is given */
    uint32_t slot;  /* which input of the reader it is */
} structure_link;

typedef struct structure {
    const clv_graph *g;
    uint32_t n;
    uint32_t *node;  /* by place; what makes a value comes before its readers */
    uint32_t *place; /* by node; CLV_NONE: left out */
    uint32_t *in_first, *out_first; /* n + 1 of each: links of a place */
    structure_link *in, *out;
} structure;

typedef enum structure_grain {
    STRUCTURE_EXACT, /* operator, attributes, shapes and types */
    STRUCTURE_FORM,  /* operator and attributes */
    STRUCTURE_KIND,  /* what kind of operator */
} structure_grain;

typedef enum structure_context {
    STRUCTURE_NEAR, /* up to `radius` links away */
    STRUCTURE_UP,   /* everything that it depends on */
    STRUCTURE_DOWN, /* everything that depends on it */
    STRUCTURE_BOTH,
} structure_context;

/* Everything is taken from `mem`. False: out of memory. */
bool clv__structure_new(arena *mem, const clv_graph *g, bool arithmetic_only,
                        structure *out);
/* The labels of all places; NULL: out of memory. */
uint64_t *clv__structure_labels(arena *mem, const structure *s,
                                structure_grain grain,
                                structure_context context, uint32_t radius);
/* Do two nodes have the same attributes and the same numbers as operands? */
bool clv__same_attributes(const clv_graph *a, uint32_t i, const clv_graph *b,
                          uint32_t j);

#endif

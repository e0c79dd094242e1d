/* align.h - which nodes of two graphs are the same. */
#ifndef CLV_ALIGN_H
#define CLV_ALIGN_H

#include "graph/graph.h"

typedef struct alignment {
    arena mem;
    uint32_t *to; /* of each node of the first graph, its partner or CLV_NONE */
    uint32_t *from; /* the same of the second */
    uint32_t pairs;
    uint32_t sure; /* of them, by name or by all that is around them */
} alignment;

/* Pairs the nodes of two graphs by their structure; with `names`, telling names
 * come first. Starts `out` from nothing (caller frees with clv__align_free).
 * Takes time near linear in their sizes. */
CLV_MUST clv_status clv__align(const clv_graph *a, const clv_graph *b,
                               bool names, alignment *out, clv_err *e);
void clv__align_free(alignment *x);

#endif

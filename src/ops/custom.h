/* custom.h - operators that the user describes: shape and cost.
 *
 * A file (--ops my_ops.json) gives an operator we do not know its output shape
 * and its cost as small expressions (docs/custom-ops.md); a program gives
 * functions (clv_open_opts.custom). Either way its cost is marked as given. */
#ifndef CLV_CUSTOM_H
#define CLV_CUSTOM_H

#include "ops/ops.h"

/* Takes both from opts into g, whose arena holds them. Fails with CLV_FORMAT,
 * naming file and line. */
CLV_MUST clv_status clv__custom_load(clv_graph *g, const clv_open_opts *opts,
                                     clv_err *e);

/* The row that describes the operator called `name`, with or without its
 * domain, for clv_node.custom; 0 when there is none. Importers ask this of what
 * they do not know. */
uint16_t clv__custom_row(const clv_graph *g, const char *name);
/* Sets the shapes of an unknown operator's outputs. Does nothing when nobody
 * described it. */
CLV_MUST clv_status clv__custom_infer(clv_graph *g, clv_node *n, clv_err *e);
/* Computes the cost. Returns false when nobody described the operator. */
bool clv__custom_cost(const clv_graph *g, const clv_node *n, clv_cost *c);

/* Gives node `id` of an inferred graph a cost, which replaces our own under
 * every convention; it is marked as given. Copies kind, which is what
 * by-operator sums call it. Returns false when memory ran out. */
bool clv__give_cost(clv_graph *g, uint32_t id, const char *kind, int64_t macs,
                    int64_t flops);
/* What was given for the node; NULL when nothing was. */
static inline const clv_given *clv__given(const clv_graph *g, const clv_node *n)
{
    const clv_given *given = g->given ? &g->given[n - g->nodes] : NULL;
    return given && given->kind ? given : NULL;
}

#endif

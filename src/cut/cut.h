/* cut.h - from a label per node to a finished cut. */
#ifndef CLV_CUT_H
#define CLV_CUT_H

#include "analysis/profile.h"
#include "cleave/backend.h"
#include "cleave/cut.h"
#include "cleave/tensor.h"

struct clv_cut {
    arena mem;
    const clv_profile *p;
    const char *strategy;
    uint32_t *of; /* subgraph of each node */
    clv_subgraph *subs;
    uint32_t n_subs;
    /* What only some strategies know; NULL for the others. */
    const struct clv_capability_info *capability;
    const struct clv_placement_info *placement;
    const struct clv_pipeline_info *pipeline;
    const struct clv_cluster_plan *cluster;
};

/* The label of each node; nodes with one label form one subgraph. */
typedef struct cut_labels {
    const uint32_t *of; /* per node: its label, 0 .. n-1, each used */
    uint32_t n;
    uint32_t *number; /* if not NULL, receives the subgraph of each label */
    const clv_order *order; /* pairs of nodes that keep their order */
    uint32_t n_order;
} cut_labels;

/* Makes a cut in which nodes with the same label are one subgraph. Subgraphs
 * are renumbered into an executable order, nodes with lower ids first where
 * there is a choice; stateful nodes keep their order among each other. Fails
 * with CLV_INTERNAL, naming a node, if the quotient has a cycle. Strategies
 * then set pattern, device, reason and detail. Takes O(nodes + edges). */
CLV_MUST clv_status clv__cut_make(const clv_profile *p, const char *strategy,
                                  const cut_labels *l, clv_cut **out,
                                  clv_err *e);

/* Fails with CLV_USAGE when s is not about the nodes of g. */
CLV_MUST clv_status clv__check_support(const clv_graph *g,
                                       const clv_support_info *s, clv_err *e);

/* Returns, for each stateful node, the stateful node before it, which must run
 * first; CLV_NONE for all other nodes. Returns NULL when memory ran out. */
uint32_t *clv__stateful_before(const clv_graph *g, arena *a);

/* Says, for each subgraph of a cut into single operators, why it ends there:
 * what it could be fused with, or why it cannot be. */
CLV_MUST clv_status clv__cut_suggest(clv_cut *c, clv_err *e);

/* Nodes of a graph, in execution order, and the values that others read of
 * them. `inputs` come first among those of the new graph. tensor[v], if there
 * are any, has data where the contents of value v are known. */
typedef struct clv_extract {
    const uint32_t *nodes, *inputs, *outputs;
    uint32_t n_nodes, n_inputs, n_outputs;
    const clv_tensor *tensor;
} clv_extract;

/* Makes them a graph of its own, inferred, with the names that values have in g
 * and of[v] for value v, or CLV_NONE. Borrows attributes and contents: g must
 * outlive it. Returns a graph (caller frees with clv_graph_free). */
CLV_MUST clv_status clv__extract(const clv_graph *g, const clv_extract *what,
                                 uint32_t *of, clv_graph **out, clv_err *e);
/* Makes subgraph k a graph of its own, inferred, with the names it has in the
 * whole. Borrows attributes and contents: the cut's graph must outlive it.
 * Returns a graph (caller frees with clv_graph_free). */
CLV_MUST clv_status clv__cut_extract(const clv_cut *c, uint32_t k,
                                     clv_graph **out, clv_err *e);

/* Does a part that reads value v take it as an input? Weights and values whose
 * contents are known are in the part itself. */
bool clv__cut_fed(const clv_graph *g, uint32_t v);

/* The types of operators in subgraph k, in order of first appearance, with how
 * many there are and what they cost. Returns a list (caller frees with
 * clv__free); NULL: no memory. */
clv_type_total *clv__cut_types(const clv_cut *c, uint32_t k, uint32_t *n);

/* All subgraphs, those with the most FLOPs first. Returns a list (caller frees
 * with clv__free); NULL: no memory. */
const clv_subgraph **clv__cut_by_flops(const clv_cut *c);

/* Subgraph k, which is not the first, does the same as the one before it (equal
 * operators on equal shapes) and reads it. */
bool clv__cut_repeats(const clv_cut *c, uint32_t k);

/* Fills bytes[i] with the bytes that node n reads of its i-th input, according
 * to its cost c. That is the whole input, unless the operator reads only a part
 * (a gather); then the inputs share what it reads. They add up to the
 * activations and weights that c counts. A value that occurs twice counts at
 * its first place. */
void clv__node_reads(const clv_graph *g, const clv_node *n, const clv_cost *c,
                     int64_t *bytes);

/* The value whose storage v uses: v itself unless it is a view. */
static inline uint32_t clv__storage(const clv_graph *g, uint32_t v)
{
    return g->values[v].view_of == CLV_NONE ? v : g->values[v].view_of;
}

#endif

/* fusion.h - what the files of the fusion pass share. */
#ifndef CLV_FUSION_H
#define CLV_FUSION_H

#include "cleave/fusion.h"
#include "cut/cut.h"

/* -- chains (chain.c) -----------------------------------------------------*/

enum { CHAIN_MAX = 32 };

/* A run of nodes that fuse as a whole although the rules for pairs would keep
 * them apart: attention, squeeze-and-excite. */
typedef struct chain {
    const char *name;
    uint32_t node[CHAIN_MAX], n;
} chain;

/* The chain that begins at node id; false when none does. Looks ahead at most
 * CHAIN_MAX nodes. */
bool clv__chain_match(const clv_profile *p, uint32_t id, chain *out);

static inline bool node_is_view(const clv_node *n)
{
    return clv__ops[n->op].cls == CLV_CLASS_VIEW;
}

/* -- names (pattern.c) ----------------------------------------------------*/

/* Names of patterns, each text once, in the memory of a cut. */
typedef struct pattern_names {
    arena *mem;
    strmap map;
    const char **text;
    size_t n, cap;
} pattern_names;

/* "Conv_BN_ReLU" for nodes run in this order, views left out; the operator's
 * own name when one is left. `head`, when not NULL, stands for the first `skip`
 * operators. NULL when memory ran out. */
const char *clv__pattern(pattern_names *names, const clv_graph *g,
                         const uint32_t *nodes, uint32_t n, const char *head,
                         uint32_t skip);
void clv__patterns_free(pattern_names *names);

#endif

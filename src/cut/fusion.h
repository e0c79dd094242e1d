/* fusion.h - what the files of the fusion pass share. */
#ifndef CLV_FUSION_H
#define CLV_FUSION_H

#include "cleave/fusion.h"
#include "cut/cut.h"

/* -- chains (chain.c) -----------------------------------------------------*/

enum { CHAIN_MAX = 32 };

/* A run of nodes that fuse as a whole, although the rules for pairs would keep
 * them apart: attention, squeeze-and-excite. */
typedef struct chain {
    const char *name;
    uint32_t node[CHAIN_MAX], n;
} chain;

/* Finds the chain that begins at node id. Returns false when there is none.
 * Looks ahead at most CHAIN_MAX nodes. */
bool clv__chain_match(const clv_profile *p, uint32_t id, chain *out);

/* Returns true for a view. A quantize or dequantize around a node that works on
 * integers counts as one. */
static inline bool node_is_view(const clv_node *n)
{
    return clv__ops[n->op].cls == CLV_CLASS_VIEW || clv__in_quantised(n);
}

/* -- the pass (fusion.c) --------------------------------------------------*/

/* A subgraph in the making. */
typedef struct fuse_group {
    uint32_t level;      /* above the levels of all groups it reads from */
    uint32_t next_level; /* the lowest level of the groups that read from it */
    uint32_t ops;        /* views left out */
    uint32_t open;       /* reads of its tensors by nodes that are not in it
                          * (yet) */
    int64_t bytes;       /* an upper bound of the bytes that cross its border */
    int64_t flops;
    int64_t size, rows; /* elements it works on; elements that it reduces them
                         * to */
    const char *chain;  /* the chain it began as, and how many operators of */
    uint32_t chain_ops; /* that are in */
    uint32_t refused;   /* the first node that did not join */
    uint8_t kind, why;  /* which rules apply; why `refused` did not join
                         * (clv_reason) */
    bool plain, widens; /* it is elementwise only; its first node widens its
                         * input */
} fuse_group;

typedef struct fusion {
    const clv_profile *p;
    const clv_graph *g;
    clv_fusion_opts limit;
    fuse_group *groups;
    uint32_t n_groups;
    uint32_t *of;       /* group of each node; CLV_NONE: not yet */
    uint32_t *chain_of; /* group that claimed a node, or CLV_NONE */
    uint32_t *pending;  /* per storage: reads by nodes outside its group */
    int64_t *reads;     /* per input of the node at hand */
    uint32_t stateful;  /* group of the last stateful node, or CLV_NONE */
} fusion;

/* Fills f->of and f->groups, in a. f holds the profile, the graph and the
 * limits. */
CLV_MUST clv_status clv__fuse(fusion *f, arena *a, clv_err *e);

/* Names the pattern of each subgraph of a cut made from these groups, and says
 * why each subgraph ends where it does (reason.c). of_group[i] is the subgraph
 * that group i became. */
CLV_MUST clv_status clv__fusion_describe(clv_cut *c, const fusion *f,
                                         const uint32_t *of_group, clv_err *e);

/* -- names (pattern.c) ----------------------------------------------------*/

/* What operator op is called in the name of a pattern, "Conv" or "ReLU";
 * returns how long the text is. */
size_t clv__pattern_part(clv_op op, char *to, size_t size);

/* Names of patterns, each text once, in the memory of a cut. */
typedef struct pattern_names {
    arena *mem;
    strmap map;
    const char **text;
    size_t n, cap;
} pattern_names;

/* Returns a name such as "Conv_BN_ReLU" for nodes that run in this order,
 * without views; the operator's own name for a single node. If `head` is not
 * NULL, it stands for the first `skip` operators. Returns NULL when memory ran
 * out. */
const char *clv__pattern(pattern_names *names, const clv_graph *g,
                         const uint32_t *nodes, uint32_t n, const char *head,
                         uint32_t skip);
void clv__patterns_free(pattern_names *names);

#endif

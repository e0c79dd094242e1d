/* cluster_sets.h - the sets of nodes that are closed under predecessors, for
 * the exact search: stages that run one after another are the steps of a chain
 * of such sets. */
#ifndef CLV_PLAN_CLUSTER_SETS_H
#define CLV_PLAN_CLUSTER_SETS_H

#include "plan/cluster.h"

enum {
    EXACT_DEVICES = 8,     /* of clusters that are searched exactly */
    SETS_DEVICES = 64,     /* of clusters that are bounded by closed sets, */
    SETS_CLASSES = 8,      /* and their classes */
    EXACT_SETS = 3000,     /* closed sets, at most */
    EXACT_PAIRS = 3000000, /* of a set and one that holds it */
    EXACT_WORK = 300000000 /* pairs times ways to split the devices */
};

/* Devices of equal hardware and memory are a class; how many of each class are
 * left is one number, a digit per class. */
typedef struct closed_sets {
    arena mem;
    uint32_t n, words;
    uint64_t *bits;        /* per set: a bit per node */
    uint32_t *size;        /* per set: its nodes; sets are in this order */
    double **done;         /* per kind and set: seconds of its nodes */
    uint32_t *first, *out; /* of set i: the larger sets that hold it */
    uint32_t n_classes, class_of[SETS_DEVICES];
    uint32_t kind_of[SETS_CLASSES]; /* per class: hardware */
    uint32_t digit[SETS_CLASSES + 1];
    double *least; /* per set and devices left: no way to run the rest has a
                    * busiest stage below this */
} closed_sets;

typedef enum exact_state {
    EXACT_NO_MEMORY,
    EXACT_TOO_LARGE,
    EXACT_READY
} exact_state;

/* Finds the sets, and for throughput what the rest takes at least. The caller
 * frees with clv__sets_free, whatever is returned. */
CLV_MUST exact_state clv__sets_make(const cluster_job *j, closed_sets *s);
void clv__sets_free(closed_sets *s);
/* Offers the plan that reaches the least, devices in the order of the file; for
 * throughput only. False when memory ran out. */
CLV_MUST bool clv__sets_offer(cluster_job *j, const closed_sets *s);

static inline bool sets_has(const closed_sets *s, uint32_t set, uint32_t node)
{
    return s->bits[(size_t)set * s->words + node / 64] >> node % 64 & 1;
}

static inline double *sets_least(const closed_sets *s, uint32_t set)
{
    return &s->least[(size_t)set * s->digit[s->n_classes]];
}

#endif

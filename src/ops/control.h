/* control.h - what operators with bodies run, and how often. */
#ifndef CLV_CONTROL_H
#define CLV_CONTROL_H

#include "ops/trips.h"

/* A branch of an if. */
typedef struct control_branch {
    const clv_graph *body;
    const char *name; /* "then" or "else" */
    uint32_t first;   /* the input of the node that the branch's first one is */
    bool decided;     /* the condition is known before the model runs */
} control_branch;

/* Sets `taken` to the branch whose cost the node has: the one that a constant
 * condition takes, else the dearer one. Bodies that were not inferred are
 * never taken. */
void clv__if_branches(const clv_graph *g, const clv_node *n,
                      control_branch *taken, control_branch *other);
/* How often the body of a loop, a scan or a sequence map runs. */
loop_trips clv__body_trips(const clv_graph *g, const clv_node *n);

#endif

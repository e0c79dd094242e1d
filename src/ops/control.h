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

/* Gives input i of a body type, shape and contents of an outer value. */
void clv__body_bind(clv_graph *body, uint32_t i, const clv_value *v);
/* Infers the body of node n, unless it is done; its warnings become g's. */
CLV_MUST clv_status clv__body_infer(clv_graph *g, const clv_node *n,
                                    clv_graph *body, clv_err *e);
/* Sets c to the cost of so many runs of a body. */
void clv__body_cost(const clv_graph *body, int64_t trips, clv_cost *c);

/* The inputs of a beam search (search.c); what its bodies capture follows. A
 * decoder takes SEARCH_PAST inputs before the pasts. */
enum {
    SEARCH_PAST = 3,
    SEARCH_MAX_LENGTH = 1,
    SEARCH_MIN_LENGTH,
    SEARCH_BEAMS,
    SEARCH_RETURNED,
    SEARCH_LENGTH_PENALTY,
    SEARCH_REPETITION_PENALTY,
    SEARCH_VOCABULARY,
    SEARCH_FIRST_VOCABULARY,
    SEARCH_MASK,
    SEARCH_INPUTS
};

/* A body of a search: what it takes, and where in the inputs of the node the
 * values that it captures begin. */
typedef struct search_body {
    clv_graph *g; /* NULL: there is none */
    uint32_t formal, captured;
} search_body;

typedef struct search_form {
    search_body body, first, encoder;
    uint32_t n_past; /* that the body gives back */
    bool hidden;     /* behind an encoder: the body takes its states too */
    bool whole;      /* and all tokens so far, not the last alone */
} search_form;

/* Finds the bodies of a search. CLV_FORMAT when they do not fit. */
CLV_MUST clv_status clv__search_form(const clv_node *n, search_form *f,
                                     clv_err *e);

#endif

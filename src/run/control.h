/* control.h - bodies of operators, run while a model runs. */
#ifndef CLV_RUN_CONTROL_H
#define CLV_RUN_CONTROL_H

#include "run/run.h"

/* What one run of a body made. */
typedef struct body_frame {
    const clv_graph *g;
    clv_tensor *t; /* per value */
    bool *owned;   /* its data is ours to free */
} body_frame;

/* Computes all of the body from in[i] for its inputs (NULL: left out). The
 * frame is to be freed, whatever is returned. */
CLV_MUST clv_status clv__body_run(body_frame *f, const clv_graph *body,
                                  const clv_tensor *const *in, uint32_t n_in,
                                  const weight_store *w, run_memory *mem,
                                  clv_err *e);
/* Output i of the body; data that is the frame's changes hands. */
CLV_MUST clv_status clv__body_take(body_frame *f, uint32_t i, clv_tensor *out,
                                   clv_err *e);
void clv__body_free(body_frame *f);

/* Runs a beam or greedy search (search.c). `given` are the inputs of node n;
 * the data of its results is the caller's, also if it fails. */
CLV_MUST clv_status clv__run_search(const clv_node *n,
                                    const clv_tensor *const *given,
                                    clv_tensor *result, const weight_store *w,
                                    run_memory *mem, clv_err *e);

#endif

/* random_inputs.h - gives a context seeded inputs of the shapes its graph
 * states. */
#ifndef RANDOM_INPUTS_H
#define RANDOM_INPUTS_H

#include "cleave.h"

#include <string.h>

/* Room for the inputs of one context; starts as {0}. */
enum { RANDOM_INPUTS = 64 };
typedef struct random_inputs {
    clv_tensor t[RANDOM_INPUTS];
} random_inputs;

CLV_MUST static inline clv_status
random_inputs_give(random_inputs *r, const clv_graph *g, clv_context *c)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        clv_value_info v = clv_graph_value(g, ids[i]);
        if (v.rank > CLV_MAX_RANK || i >= RANDOM_INPUTS)
            return CLV_UNSUPPORTED;
        clv_tensor *t = &r->t[i];
        *t = (clv_tensor){.dtype = v.dtype, .rank = v.rank};
        if (v.rank)
            memcpy(t->dims, v.dims, v.rank * sizeof *t->dims);
        clv_status s = clv_tensor_alloc(t, NULL);
        if (s != CLV_OK)
            return s;
        clv_tensor_random(t, i);
        s = clv_context_set(c, i, t, NULL);
        if (s != CLV_OK)
            return s;
    }
    return CLV_OK;
}

static inline void random_inputs_free(random_inputs *r)
{
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++)
        clv_tensor_free(&r->t[i]);
}

#endif

/* einsum.h - the named axes of an einsum, with their strides. */
#ifndef CLV_BACKEND_EINSUM_H
#define CLV_BACKEND_EINSUM_H

#include "backend/kernel.h"
#include "ops/einsum.h"

/* Names that matter: first those of the result, then those summed. */
typedef struct einsum_names {
    int name[EINSUM_AXES];
    int64_t dims[EINSUM_AXES];
    uint32_t n, n_result;
} einsum_names;

/* Reads the equation of k: its names; EINSUM_AXES strides by name for each
 * operand, one after the other (in scratch), and for the result. */
CLV_MUST clv_status clv__einsum_read(kernel *k, einsum_names *c,
                                     int64_t **strides, int64_t *result);

#endif

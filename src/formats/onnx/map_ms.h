/* map_ms.h - what mapping functions that make several nodes are written
 * in: those of com.microsoft (map_ms*.c), of ai.onnx.ml (map_ml.c)
 * and the newer ones of ai.onnx (map_fused.c). */
#ifndef CLV_ONNX_MAP_MS_H
#define CLV_ONNX_MAP_MS_H

#include "formats/onnx/map.h"

#define INT(k, v) \
    { \
        .name = #k, .key = CLV_A_##k, .type = CLV_ATTR_INT, .u.i = (v) \
    }
#define FLOAT(k, v) \
    { \
        .name = #k, .key = CLV_A_##k, .type = CLV_ATTR_FLOAT, .u.f = (v) \
    }
/* A list of inputs and its length; CLV_NONE is one that is left out. */
#define IN(...) (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

/* One more node with one output. Attribute lists are literals of INT and
 * FLOAT; inputs left out at the end are dropped. */
CLV_MUST clv_status ms_emit(draft *d, clv_op op, const char *suffix,
                            const uint32_t *ins, uint32_t n_in, clv_attr *attrs,
                            uint32_t n_attrs, uint32_t *out, clv_err *e);
/* The last node: it makes the first output under the node's own name and has
 * the draft's attributes. */
CLV_MUST clv_status ms_finish(draft *d, clv_op op, const uint32_t *ins,
                              uint32_t n_in, clv_err *e);
/* a + b; a itself where b is left out. */
CLV_MUST clv_status ms_add(draft *d, const char *suffix, uint32_t a, uint32_t b,
                           uint32_t *out, clv_err *e);
/* An attribute that is a list, of which the graph keeps a copy. */
CLV_MUST clv_status ms_ints(draft *d, clv_attr_key key, const int64_t *v,
                            uint32_t n, clv_attr *a, clv_err *e);
/* Channels from the last axis of four to the second, and back. */
extern const int64_t ms_to_nchw[4], ms_to_nhwc[4];
/* x with its axes in the order `perm`, n of them. */
CLV_MUST clv_status ms_permute(draft *d, const char *suffix, uint32_t x,
                               const int64_t *perm, uint32_t n, uint32_t *out,
                               clv_err *e);
/* A node of n outputs, which are new values. */
CLV_MUST clv_status ms_emit_many(draft *d, clv_op op, const char *suffix,
                                 uint32_t x, clv_attr *attrs, uint32_t n_attrs,
                                 uint32_t *outs, uint32_t n, clv_err *e);

uint32_t ms_input(const draft *d, uint32_t i); /* CLV_NONE: left out */
bool ms_wanted(const draft *d, uint32_t out);  /* the output has a name */
double ms_float(const draft *d, const char *name, double otherwise);
void ms_count_only(draft *d, const char *reason); /* it cannot be run */

#endif

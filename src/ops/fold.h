/* fold.h - small tensors whose contents are known while shapes are inferred.
 *
 * A fold rule runs after a node's shape rule. When all its inputs are known
 * and the result is small (FOLD_MAX elements), it computes the result's
 * contents in int64 or double; otherwise it does nothing. This is what carries
 * the shape arithmetic of exporters (Shape, Gather, Concat, Reshape, ...). */
#ifndef CLV_FOLD_H
#define CLV_FOLD_H

#include "ops/ops.h"

/* Shapes and indices are integers; floating numbers that shapes depend on are
 * scales, steps and limits, and few. */
enum { FOLD_MAX = 4096, FOLD_MAX_FLOATS = 256 };

/* The known contents of a value: one of the two lists. */
typedef struct known {
    const clv_value *v;
    const int64_t *ints;
    const double *floats;
    uint32_t n;
} known;

/* Gets the contents of input i. Returns false when they are not known or
 * incomplete. */
bool fold_in(const clv_graph *g, const clv_node *n, uint32_t i, known *k);
/* Returns true when all inputs from number `from` on are there and known. */
bool fold_ready(const clv_graph *g, const clv_node *n, uint32_t from);

static inline double known_float(const known *k, uint32_t i)
{
    if (k->ints && k->v && k->v->dtype == CLV_UINT64)
        return (double)(uint64_t)k->ints[i];
    return k->ints ? (double)k->ints[i] : k->floats[i];
}

/* Makes room for the contents of output `o`, in *ints or *floats by its type.
 * Both are NULL when it is too large or of a type that is not folded. */
typedef struct room {
    int64_t *ints;
    double *floats;
    uint32_t n;
} room;
CLV_MUST clv_status fold_out(clv_graph *g, const clv_node *n, uint32_t o,
                             room *r, clv_err *e);
static inline bool room_none(const room *r)
{
    return !r->ints && !r->floats;
}
/* Sets element i to element j of k, converted. */
void fold_copy(const room *r, uint32_t i, const known *k, uint32_t j);

/* Walks the indices of a shape: at[] counts up like an odometer. */
void fold_step(const clv_value *v, int64_t *at);

#endif

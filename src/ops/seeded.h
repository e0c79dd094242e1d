/* seeded.h - numbers for weights that no file holds.
 *
 * A zoo model has shapes but no training. To run or export it, its weights are
 * drawn from a seed: element i of a weight depends on the seed, the weight's
 * name and i alone, so the same seed gives the same model on every machine and
 * in any order. The scale follows the operator that reads the weight, so that
 * activations neither vanish nor overflow in a deep network. */
#ifndef CLV_SEEDED_H
#define CLV_SEEDED_H

#include "ops/ops.h"

/* Fills n elements of weight v, starting at `first`, in its own type. Integer
 * and bool weights are zero. Contents the graph already knows (v's payload)
 * are written as they are. */
void clv__weight_fill(const clv_graph *g, uint32_t v, uint64_t seed,
                      int64_t first, int64_t n, void *out);

#endif

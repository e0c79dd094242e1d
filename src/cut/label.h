/* label.h - the fewest blocks on two devices, proven, in linear time.
 *
 * A partition into blocks of one device each is acyclic exactly when the blocks
 * can be numbered so that no edge goes to a lower number. Neighbours on the
 * same device then merge, so devices alternate. Labels 0 .. n-1 are these
 * numbers: an even label is on the device `first`, an odd one on the other
 * device. */
#ifndef CLV_LABEL_H
#define CLV_LABEL_H

#include "cleave/backend.h"
#include "cut/dag.h"

typedef struct labels {
    uint32_t *of; /* per node */
    uint32_t n;   /* 1 + the highest; 0 for no nodes */
    uint8_t first;
} labels;

static inline uint8_t label_side(const labels *l, uint32_t label)
{
    return label & 1 ? (uint8_t)(l->first ^ CLV_SIDE_EITHER) : l->first;
}

/* Computes the lowest labels for both first devices: out[0] begins with the
 * CPU, out[1] with the accelerator. side[i] is where node i may run (clv_side).
 * No labelling with the same first device gives any node a lower label. */
bool clv__label(arena *a, const dag *d, const uint8_t *side, labels out[2]);

/* Returns which of the two has fewer blocks, or fewer on the accelerator if
 * `accelerator`. Returns 0, the CPU first, when they are equal. */
uint32_t clv__label_best(const labels l[2], bool accelerator);
uint32_t clv__label_accelerator(const labels *l);

/* Writes the witness of the highest label to `out`, which has room for l->n
 * nodes. Each node reaches the next one, devices alternate, and there is one
 * node per label. Label 0 has none when no path to the top has a node that must
 * be there. Returns the number of nodes, or CLV_NONE when memory ran out. l
 * must be as clv__label left it. */
uint32_t clv__label_witness(arena *a, const dag *d, const uint8_t *side,
                            const labels *l, uint32_t *out);

/* Moves nodes to other labels that their devices and edges allow, as long as
 * that lowers the bytes that cross blocks. Never raises those bytes nor the
 * highest label. Needs d->succ. Returns false when memory ran out. */
bool clv__label_sweep(const clv_graph *g, const dag *d, const uint8_t *side,
                      labels *l);

/* Returns the bytes of activations that go from block to block. A tensor counts
 * once for each block, other than its maker's, that reads it. of[i] is the
 * block of node i. Returns -1 when memory ran out. */
int64_t clv__crossing_bytes(const clv_graph *g, const uint32_t *of, uint32_t n);

#endif

/* label.h - the fewest blocks of two devices, proven, in linear time.
 *
 * A partition into blocks of one device each is acyclic exactly when blocks
 * can be numbered so that no edge goes to a lower number; neighbours of the
 * same device then merge, so devices alternate. Labels 0 .. n-1 are those
 * numbers: an even label is on the device `first`, an odd one on the other. */
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

/* The least labels for both starts: out[0] begins with the CPU, out[1] with
 * the accelerator. side[i] is where node i may run (clv_side). No labelling
 * with the same start gives any node a lower label. */
bool clv__label(arena *a, const dag *d, const uint8_t *side, labels out[2]);

/* Which start has fewer blocks in all (or fewer on the accelerator first, if
 * `accelerator`); the CPU's where both are the same. */
uint32_t clv__label_best(const labels l[2], bool accelerator);
uint32_t clv__label_accelerator(const labels *l);

/* The witness of the highest label: nodes n[0], n[1], ... each of which
 * reaches the next, with devices that alternate, one per label; without one for
 * label 0 when no path to the top has a node that must be there. `out` has room
 * for l->n. Returns how many, CLV_NONE when memory ran out. l must be as
 * clv__label left it. */
uint32_t clv__label_witness(arena *a, const dag *d, const uint8_t *side,
                            const labels *l, uint32_t *out);

/* Moves nodes between labels, as far as devices and edges allow, while that
 * lowers the bytes that cross blocks; never raises them. The highest label
 * stays. Needs d->succ. False when memory ran out. */
bool clv__label_sweep(const clv_graph *g, const dag *d, const uint8_t *side,
                      labels *l);

/* Bytes of activations that go from block to block: each tensor once per
 * block, other than its maker's, that reads it. of is a block per node.
 * Returns -1 when memory ran out. */
int64_t clv__crossing_bytes(const clv_graph *g, const uint32_t *of, uint32_t n);

#endif

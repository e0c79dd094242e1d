/* blocks.h - a device partition on its way to becoming a cut. */
#ifndef CLV_BLOCKS_H
#define CLV_BLOCKS_H

#include "cut/cut.h"
#include "cut/label.h"

/* Each node belongs to one block; each block is on one device. */
typedef struct blocks {
    uint32_t *of;  /* per node */
    uint8_t *side; /* per block: CLV_SIDE_CPU or CLV_SIDE_ACCELERATOR */
    uint32_t n;
    const clv_order *order; /* pairs of nodes that the cut keeps in order */
    uint32_t n_order;
} blocks;

/* Makes one block per label in use. Neighbouring labels on one device become
 * one block. */
bool clv__blocks_of(arena *a, const labels *l, uint32_t n_nodes, blocks *out);

/* Splits blocks into connected ones, then merges neighbours on one device again
 * where that makes no cycle. Never yields more blocks than there are
 * components. */
bool clv__blocks_connect(arena *a, const dag *d, const blocks *in, blocks *out);

/* Makes the cut and names the devices ("cpu" and `device`). */
CLV_MUST clv_status clv__blocks_cut(const clv_profile *p, const char *strategy,
                                    const blocks *b, const char *device,
                                    clv_cut **out, clv_err *e);

/* Returns, per subgraph, the most activation bytes alive at once while it runs.
 * A view counts as its source, weights do not count. The array is in the cut's
 * arena. Returns NULL when memory ran out. */
const int64_t *clv__cut_peaks(clv_cut *c);

#endif

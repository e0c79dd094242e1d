/* blocks.h - a device partition on its way to becoming a cut. */
#ifndef CLV_BLOCKS_H
#define CLV_BLOCKS_H

#include "cut/cut.h"
#include "cut/label.h"

/* Every node in a block of one device. */
typedef struct blocks {
    uint32_t *of;  /* per node */
    uint8_t *side; /* per block: CLV_SIDE_CPU or CLV_SIDE_ACCELERATOR */
    uint32_t n;
    const clv_order *order; /* pairs of nodes that the cut keeps in order */
    uint32_t n_order;
} blocks;

/* One block per label in use; neighbours of one device are one block. */
bool clv__blocks_of(arena *a, const labels *l, uint32_t n_nodes, blocks *out);

/* Splits blocks into connected ones, then merges neighbours of one device
 * again wherever that makes no cycle. Never more blocks than components. */
bool clv__blocks_connect(arena *a, const dag *d, const blocks *in, blocks *out);

/* Makes the cut and names the devices ("cpu" and `device`). */
CLV_MUST clv_status clv__blocks_cut(const clv_profile *p, const char *strategy,
                                    const blocks *b, const char *device,
                                    clv_cut **out, clv_err *e);

/* Most activation bytes alive at once while each subgraph runs, views as
 * their source, weights left out; in the cut's arena. NULL: no memory. */
const int64_t *clv__cut_peaks(clv_cut *c);

#endif

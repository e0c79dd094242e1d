/* memory.h - memory analysis as the library sees it. */
#ifndef CLV_MEMORY_H
#define CLV_MEMORY_H

#include "analysis/liveness.h"
#include "cut/cut.h"

struct clv_memory {
    arena mem;
    const clv_cut *c;
    clv_memory_info totals;
    uint32_t *order; /* subgraph at each step */
    int64_t *live;   /* bytes at each step */
    clv_buffer *buffers;
    uint32_t n_buffers;
    uint32_t *buffer_of; /* per value */
};

/* An order of the subgraphs with a lower peak, if a greedy search finds one;
 * order holds a valid one on entry. False when memory ran out. */
bool clv__reorder(const clv_cut *c, bool inplace, uint32_t *order);

/* The peak of running the subgraphs in `order`; CLV_SAT: out of memory. */
int64_t clv__peak_of(const clv_cut *c, bool inplace, const uint32_t *order);

#endif

/* memory.h - says when each tensor is alive, how many bytes that makes, and
 * where to put it in one block of memory.
 *
 * Threads: a result never changes after it is made. Any number of threads may
 * read it, and may make other results from the same input. */
#ifndef CLEAVE_MEMORY_H
#define CLEAVE_MEMORY_H

#include "cleave/cut.h"

typedef struct clv_memory_opts {
    size_t size;     /* sizeof(clv_memory_opts) */
    bool no_inplace; /* elementwise results never overwrite their input */
    bool reorder;    /* look for an order of subgraphs with a lower peak */
    int64_t align;   /* of offsets in the arena; 0: 64 bytes */
    int64_t budget;  /* bytes for weights and peak together; 0: none */
} clv_memory_opts;

/* One tensor's storage. Views share it; so does the result of an elementwise
 * operator that may overwrite its input. */
typedef struct clv_buffer {
    uint32_t value;       /* the first value kept in it */
    uint32_t first, last; /* steps at which it is alive, both included */
    int64_t bytes;
    int64_t offset; /* in the arena */
} clv_buffer;

typedef struct clv_memory_info {
    size_t size;         /* sizeof(clv_memory_info) */
    uint32_t steps;      /* subgraphs */
    int64_t weights;     /* stored parameters, buffers and constants */
    int64_t peak;        /* most activation bytes alive at one step */
    uint32_t peak_step;  /* the first such step */
    int64_t total;       /* weights and peak */
    int64_t budget;      /* as given */
    int64_t over_budget; /* bytes by which the total exceeds it; 0: it fits */
    int64_t simple;      /* weights + the largest single input and output */
    int64_t arena;       /* size of the block the plan needs */
    int64_t arena_bound; /* no plan can need less: the peak, aligned */
    const char *planner; /* which of the planners won */
    int64_t order_peak;  /* the peak before reordering */
    int64_t planned;     /* block that the interpreter of a TFLite file plans,
                          * scratch of its kernels included; 0: no such file */
} clv_memory_info;

typedef struct clv_memory clv_memory;

/* Finds when each tensor is alive while the subgraphs of a cut run in order,
 * and plans the memory. Tensors that stay inside a subgraph are not counted.
 * Graph inputs live until their last use, outputs to the end. Borrows c;
 * returns a plan (caller frees with clv_memory_free). */
CLV_API CLV_MUST clv_status clv_memory_new(const clv_cut *c,
                                           const clv_memory_opts *opts,
                                           clv_memory **out, clv_err *err);
CLV_API void clv_memory_free(clv_memory *m);

CLV_API const clv_cut *clv_memory_cut(const clv_memory *m);
CLV_API const clv_memory_info *clv_memory_get(const clv_memory *m);
/* The subgraph that runs at each step. */
CLV_API const uint32_t *clv_memory_order(const clv_memory *m);
/* Bytes alive at each step. */
CLV_API const int64_t *clv_memory_timeline(const clv_memory *m);
CLV_API const clv_buffer *clv_memory_buffers(const clv_memory *m,
                                             uint32_t *count);
/* Returns the buffer that holds a value; CLV_NONE for weights, and for values
 * that stay inside a subgraph. */
CLV_API uint32_t clv_memory_buffer_of(const clv_memory *m, uint32_t value);

#endif

/* liveness.h - when storage is alive, how much that is, and where to put it.
 *
 *   steps that read and write values      clv__live_touch, _span, _keep
 *   values that share a storage           clv__live_alias
 *     -> an interval of steps per storage
 *     -> the bytes alive at each step     clv__live_bytes
 *     -> an offset for each in one block  clv__arena_plan
 *
 * A value is a number; what it stands for is the caller's business: a tensor of
 * a graph whose steps are subgraphs (plan/memory.c), or whose steps are nodes
 * (run/plan.c, cut/blocks.c), or a buffer between the primitives of a backend
 * (backend/onednn). A storage goes by the name of one of its values, its root.
 * It is alive from the first step that touches a value in it to the last, both
 * included. */
#ifndef CLV_LIVENESS_H
#define CLV_LIVENESS_H

#include "cleave/memory.h"
#include "core/core.h"

/* A root has its first and last step, CLV_NONE while nothing touched it. Any
 * other value has LIVE_ALIAS and, as `last`, a value nearer to its root. */
typedef struct live_value {
    uint32_t first, last;
} live_value;

#define LIVE_ALIAS (CLV_NONE - 1)

typedef struct liveness {
    uint32_t n_values, n_steps;
    live_value *of; /* per value */
} liveness;

/* Every value is its own root, and none is touched. The list is in a. False:
 * out of memory. */
bool clv__live_start(liveness *l, arena *a, uint32_t n_values,
                     uint32_t n_steps);
/* Forgets who touched the storage of a value; aliases stay. */
void clv__live_forget(liveness *l, uint32_t value);
/* From now on `value` is kept in the storage of `of`, which is then alive
 * whenever either was. `value` must be its own root. */
void clv__live_alias(liveness *l, uint32_t value, uint32_t of);
/* The root of the storage that a value is kept in. */
static inline uint32_t clv__live_root(const liveness *l, uint32_t value)
{
    live_value *of = l->of;
    while (of[value].first == LIVE_ALIAS) {
        uint32_t up = of[value].last;
        if (of[up].first == LIVE_ALIAS)
            of[value].last = of[up].last; /* halves the way */
        value = up;
    }
    return value;
}

/* A value is read or written at both steps, `from` not after `to`. */
static inline void clv__live_span(liveness *l, uint32_t value, uint32_t from,
                                  uint32_t to)
{
    live_value *r = &l->of[clv__live_root(l, value)];
    bool fresh = r->first == CLV_NONE;
    r->first = fresh || from < r->first ? from : r->first;
    r->last = fresh || to > r->last ? to : r->last;
}

/* A step reads or writes a value. */
static inline void clv__live_touch(liveness *l, uint32_t value, uint32_t step)
{
    clv__live_span(l, value, step, step);
}

/* A value is read after the last step. */
void clv__live_keep(liveness *l, uint32_t value);

/* The storage of a value, which was touched, as a buffer without an offset. */
clv_buffer clv__live_buffer(const liveness *l, uint32_t value, int64_t bytes);

/* Bytes alive at each step, every buffer rounded up to a multiple of align;
 * `live` has room for one more than n_steps, which becomes 0. Returns the most;
 * CLV_SAT when all buffers together do not fit 64 bits: `live` is then not
 * filled. */
int64_t clv__live_bytes(const clv_buffer *b, uint32_t n, int64_t align,
                        int64_t *live, uint32_t n_steps);

/* A plan of one block of memory. */
typedef struct arena_layout {
    int64_t size;
    int64_t bound;       /* no plan is smaller: the most that is alive */
    const char *planner; /* whose plan it is */
} arena_layout;

/* Gives every buffer an offset, a multiple of align, so that no two that are
 * alive at the same step overlap. Tries planners until one needs no more than
 * the bound, and keeps the smallest plan. Fails with CLV_OVERFLOW when the
 * buffers together do not fit 64 bits. */
CLV_MUST clv_status clv__arena_plan(clv_buffer *b, uint32_t n, int64_t align,
                                    uint32_t n_steps, arena_layout *out,
                                    clv_err *e);

#endif

/* einsum.h - an einsum's equation, read: for its cost here and elsewhere. */
#ifndef CLV_EINSUM_H
#define CLV_EINSUM_H

#include "ops/ops.h"

enum {
    EINSUM_LETTERS = 52,
    EINSUM_AXES = EINSUM_LETTERS + CLV_MAX_RANK,
    EINSUM_OPERANDS = 64
};

/* Sets of axes are bits: 0..51 letters, then the axes of "...". */
typedef struct axis_set {
    uint64_t letters;
    uint32_t dots;
} axis_set;

typedef struct einsum {
    const char *term; /* what is still to be read */
    int64_t size[EINSUM_AXES];
    axis_set all, result; /* axes of any operand, and of the result */
    axis_set own[EINSUM_OPERANDS];
    uint32_t count[EINSUM_LETTERS];
} einsum;

/* False when the equation does not fit the operands, or has too many. */
bool einsum_read(const clv_graph *g, const clv_node *n, einsum *s);
/* Product of the sizes of the axes in a. */
int64_t einsum_volume(const einsum *s, axis_set a);

static inline bool is_empty(axis_set a)
{
    return a.letters == 0 && a.dots == 0;
}

static inline axis_set both(axis_set a, axis_set b)
{
    return (axis_set){a.letters | b.letters, a.dots | b.dots};
}

static inline axis_set without(axis_set a, axis_set b)
{
    return (axis_set){a.letters & ~b.letters, a.dots & ~b.dots};
}

static inline axis_set common(axis_set a, axis_set b)
{
    return (axis_set){a.letters & b.letters, a.dots & b.dots};
}

#endif

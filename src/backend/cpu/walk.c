/* walk.c - several tensors walked together, in as few axes as will do. */
#include "backend/cpu/cpu.h"

#include <string.h>

/* Whether all operands walk axes a and a + 1 as one. */
static bool walk_joins(const cpu_walk *w, uint32_t a)
{
    for (uint32_t o = 0; o < w->operands; o++)
        if (w->strides[o][a] != w->strides[o][a + 1] * w->dims[a + 1])
            return false;
    return true;
}

static void walk_remove(cpu_walk *w, uint32_t axis)
{
    uint32_t more = w->rank - axis - 1;
    memmove(&w->dims[axis], &w->dims[axis + 1], more * sizeof *w->dims);
    for (uint32_t o = 0; o < w->operands; o++)
        memmove(&w->strides[o][axis], &w->strides[o][axis + 1],
                more * sizeof *w->dims);
    w->rank--;
}

void clv__cpu_collapse(cpu_walk *w)
{
    for (uint32_t a = w->rank; a-- > 0;)
        if (w->dims[a] == 1)
            walk_remove(w, a);
    for (uint32_t a = w->rank; a-- > 1;)
        if (walk_joins(w, a - 1)) {
            w->dims[a] *= w->dims[a - 1];
            walk_remove(w, a - 1);
        }
    if (w->rank == 0) {
        w->rank = 1;
        w->dims[0] = 1;
        for (uint32_t o = 0; o < w->operands; o++)
            w->strides[o][0] = 1;
    }
}

/* Every axis of t is as long as that of y, or 1. */
static bool walk_fits(const clv_tensor *t, const clv_tensor *y)
{
    if (t->rank > y->rank)
        return false;
    for (uint32_t i = 1; i <= t->rank; i++)
        if (t->dims[t->rank - i] != 1 &&
            t->dims[t->rank - i] != y->dims[y->rank - i])
            return false;
    return true;
}

bool clv__cpu_broadcast(const clv_tensor *y, const clv_tensor *const *in,
                        uint32_t operands, cpu_walk *w)
{
    for (uint32_t o = 0; o < operands; o++)
        if (!walk_fits(in[o], y))
            return false;
    w->rank = y->rank;
    w->operands = operands;
    memcpy(w->dims, y->dims, y->rank * sizeof *w->dims);
    for (uint32_t o = 0; o < operands; o++)
        broadcast_strides(in[o], y->rank, w->strides[o]);
    clv__cpu_collapse(w);
    return true;
}

void clv__cpu_seek(const cpu_walk *w, int64_t i, int64_t *idx, int64_t *at)
{
    for (uint32_t o = 0; o < w->operands; o++)
        at[o] = 0;
    for (uint32_t a = w->rank; a-- > 0;) {
        idx[a] = i % w->dims[a];
        i /= w->dims[a];
        for (uint32_t o = 0; o < w->operands; o++)
            at[o] += idx[a] * w->strides[o][a];
    }
}

void clv__cpu_step(const cpu_walk *w, int64_t run, int64_t *idx, int64_t *at)
{
    uint32_t a = w->rank - 1;
    idx[a] += run;
    for (uint32_t o = 0; o < w->operands; o++)
        at[o] += run * w->strides[o][a];
    while (idx[a] >= w->dims[a] && a > 0) {
        for (uint32_t o = 0; o < w->operands; o++)
            at[o] += w->strides[o][a - 1] - w->dims[a] * w->strides[o][a];
        idx[a] = 0;
        idx[--a]++;
    }
}

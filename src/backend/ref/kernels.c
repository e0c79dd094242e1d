/* kernels.c - the table of plain C kernels. */
#include "backend/kernel.h"

static clv_kernel_fn *const kernels[CLV_OP_COUNT] = {
#define KERNEL(op, fn) [CLV_OP_##op] = fn,
#include "backend/kernels.def"
};

/* Which of them do more than compute numbers. */
enum { MOVES_TEXTS = 1, MAKES_OUTPUTS = 2 };

static const uint8_t abilities[CLV_OP_COUNT] = {
#define KERNEL(op, fn)
#define MOVES(op, fn) [CLV_OP_##op] = MOVES_TEXTS,
#define MAKES(op, fn) [CLV_OP_##op] = MOVES_TEXTS | MAKES_OUTPUTS,
#include "backend/kernels.def"
};

clv_kernel_fn *clv__kernel_of(clv_op op)
{
    return kernels[op];
}

bool clv__kernel_moves(clv_op op)
{
    return abilities[op] & MOVES_TEXTS;
}

bool clv__kernel_makes(clv_op op)
{
    return abilities[op] & MAKES_OUTPUTS;
}

/* kernels.c - the table of plain C kernels. */
#include "backend/kernel.h"

static clv_kernel_fn *const kernels[CLV_OP_COUNT] = {
#define KERNEL(op, fn) [CLV_OP_##op] = fn,
#include "backend/kernels.def"
#undef KERNEL
};

clv_kernel_fn *clv__kernel_of(clv_op op)
{
    return kernels[op];
}

/* kernels.c - the tables of fast kernels of this level. */
#include "backend/cpu/half.h"

static cpu_fn *const level_kernels[CLV_OP_COUNT] = {
#define CPU(op, fn) [CLV_OP_##op] = CPU_NAME(fn),
#include "backend/cpu/kernels.def"
#undef CPU
};

static cpu_ready_fn *const level_readiers[CLV_OP_COUNT] = {
#define CPU(op, fn)
#define CPU_READY(op, fn, ready) [CLV_OP_##op] = CPU_NAME(ready),
#include "backend/cpu/kernels.def"
};

extern const cpu_level CPU_NAME(clv__cpu_level);
const cpu_level CPU_NAME(clv__cpu_level) = {
    .kernels = level_kernels,
    .readiers = level_readiers,
    .half_run = CPU_NAME(clv__half_run),
    .half_ready = CPU_NAME(clv__half_ready),
};

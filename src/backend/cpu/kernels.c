/* kernels.c - the tables of fast kernels of this level. */
#include "backend/cpu/cpu.h"

extern cpu_fn *const CPU_NAME(clv__cpu_kernels)[CLV_OP_COUNT];
cpu_fn *const CPU_NAME(clv__cpu_kernels)[CLV_OP_COUNT] = {
#define CPU(op, fn) [CLV_OP_##op] = CPU_NAME(fn),
#include "backend/cpu/kernels.def"
#undef CPU
};

extern cpu_ready_fn *const CPU_NAME(clv__cpu_readiers)[CLV_OP_COUNT];
cpu_ready_fn *const CPU_NAME(clv__cpu_readiers)[CLV_OP_COUNT] = {
#define CPU(op, fn)
#define CPU_READY(op, fn, ready) [CLV_OP_##op] = CPU_NAME(ready),
#include "backend/cpu/kernels.def"
};

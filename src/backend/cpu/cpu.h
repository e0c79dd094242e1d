/* cpu.h - the fast kernels: typed loops, several threads, wide vectors.
 *
 * Each file of this folder is compiled once per level of the processor's vector
 * instructions (CPU_LEVEL), and the best level that the processor has is chosen
 * while running. What a fast kernel does not take, by its types or its form,
 * the plain C kernel of kernels.def computes: a fast one says so before it has
 * done anything that counts, and never fails. */
#ifndef CLV_CPU_H
#define CLV_CPU_H

#include "backend/kernel.h"
#include "core/parallel.h"

/* Computes the node of k; false: the plain C kernel has to. */
typedef bool cpu_fn(kernel *k);
/* Makes, in mem, what the kernel of k wants of its weights every time: packed
 * matrices. Inputs that are no weights have no data yet. NULL: nothing. */
typedef const void *cpu_ready_fn(kernel *k, arena *mem);

/* Bytes of a vector at this level. */
#if defined(__AVX512F__)
enum { CPU_VECTOR = 64 };
#elif defined(__AVX__)
enum { CPU_VECTOR = 32 };
#else
enum { CPU_VECTOR = 16 };
#endif

#ifdef CPU_LEVEL
#define CPU_JOIN_(a, b) a##_##b
#define CPU_JOIN(a, b)  CPU_JOIN_(a, b)
#define CPU_NAME(name)  CPU_JOIN(name, CPU_LEVEL)
#define CPU(op, fn)     cpu_fn CPU_NAME(fn);
#define CPU_READY(op, fn, ready) \
    CPU(op, fn) \
    cpu_ready_fn CPU_NAME(ready);
#include "backend/cpu/kernels.def"
#undef CPU
cpu_fn CPU_NAME(cpu_attention_past); /* what cpu_attention hands on */
/* Turns the first 2 * half numbers of a head of `width` by their angles, in
 * pairs of neighbours or of halves, and copies the rest (rotary.c). */
void CPU_NAME(clv__cpu_turn)(const float *x, const float *cos, const float *sin,
                             int64_t half, int64_t width, bool pairs, float *y);
/* y[idx] = x[base + idx . strides] over y's shape; false: a place lies outside
 * of x, or the types differ (move.c). */
bool CPU_NAME(clv__cpu_move)(const kernel *k, clv_tensor *y,
                             const clv_tensor *x, int64_t base,
                             const int64_t *strides);
#endif

enum { CPU_GRAIN = 16384 }; /* elements that are worth a thread */

/* -- walking (walk.c) -----------------------------------------------------*/

enum { CPU_OPERANDS = 4 };

/* The elements of an output in order, and where those of its operands lie: as
 * few axes as will do, the last the innermost. Strides are in elements. */
typedef struct cpu_walk {
    uint32_t rank, operands;
    int64_t dims[CLV_MAX_RANK];
    int64_t strides[CPU_OPERANDS][CLV_MAX_RANK];
} cpu_walk;

/* Joins axes that all operands walk as one, and drops those of one element. */
void clv__cpu_collapse(cpu_walk *w);
/* A walk over y, to which the operands are broadcast; false: they do not fit.
 */
bool clv__cpu_broadcast(const clv_tensor *y, const clv_tensor *const *in,
                        uint32_t operands, cpu_walk *w);
/* Where element i of the output lies: its index, and the operands' places. */
void clv__cpu_seek(const cpu_walk *w, int64_t i, int64_t *idx, int64_t *at);
/* The same for the element after a run of `run` that ended its innermost
 * axis, or did not. */
void clv__cpu_step(const cpu_walk *w, int64_t run, int64_t *idx, int64_t *at);

/* What is different at each level of vector instructions (kernels.c). */
typedef struct cpu_level {
    cpu_fn *const *kernels;        /* per operator; NULL: there is none */
    cpu_ready_fn *const *readiers; /* the same */
    bool (*half_run)(kernel *k, cpu_fn *fn); /* half.h */
    const void *(*half_ready)(kernel *k, cpu_ready_fn *fn, arena *mem);
} cpu_level;

/* -- choosing (cpu.c) -----------------------------------------------------*/

/* Takes the level so far below the best that the processor has, for the whole
 * process; false, and nothing changes, when there is none. Without this call
 * the best is taken. For tests, between runs. */
bool clv__cpu_choose(uint32_t below);
/* Whether an operator has a fast kernel. */
bool clv__cpu_has(clv_op op);
/* Whether the fast kernel of op takes its input i at any address: it was packed
 * (`ready`) and is not read, or its bytes are only moved. */
bool clv__cpu_any_address(clv_op op, uint32_t i, bool ready);
/* Computes the node of k; false: the plain C kernel has to. */
bool clv__cpu_run(kernel *k);
/* Whether the fast kernel of op may pack weights. */
bool clv__cpu_packs(clv_op op);
/* What the fast kernel of k's node makes of its weights; see cpu_ready_fn. */
const void *clv__cpu_prepare(kernel *k, arena *mem);

#endif

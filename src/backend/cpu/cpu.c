/* cpu.c - which level of vector instructions the processor has, and the fast
 * kernels of that level; the backend that stands for them. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/features.h"

#include "backend/backend.h"

#define LEVEL(name, feature) extern const cpu_level clv__cpu_level_##name;
#include "backend/cpu/levels.def"

enum { MOST_LEVELS = 8 };

/* The levels that the processor has, the best first; the last needs nothing. */
static uint32_t cpu_levels(const cpu_level **list)
{
    uint32_t n = 0;
#define LEVEL(name, feature) \
    if (feature) \
        list[n++] = &clv__cpu_level_##name;
#include "backend/cpu/levels.def"
    return n;
}

static const cpu_level *_Atomic cpu_chosen;

bool clv__cpu_choose(uint32_t below)
{
    const cpu_level *list[MOST_LEVELS];
    uint32_t n = cpu_levels(list);
    if (below < n)
        cpu_chosen = list[below];
    return below < n;
}

static const cpu_level *cpu_tables(void)
{
    if (!cpu_chosen)
        (void)clv__cpu_choose(0);
    return cpu_chosen;
}

static cpu_fn *cpu_kernel_of(clv_op op)
{
    const cpu_level *level = cpu_tables();
    return level ? level->kernels[op] : NULL;
}

bool clv__cpu_has(clv_op op)
{
    return cpu_kernel_of(op) != NULL;
}

/* Whether typed loops may read or write t: it is there, is no list, and lies
 * where its type wants, unless it may lie anywhere; a file may hold weights at
 * any address. Several numbers to a byte are for `packed` alone. */
static bool cpu_takes(const clv_tensor *t, bool packed, bool anywhere)
{
    size_t size = clv__element_bytes(t);
    return t->data && t->form == CLV_FORM_TENSOR && (size > 0 || packed) &&
           t->dtype != CLV_STRING &&
           (size == 0 || anywhere || (uintptr_t)t->data % size == 0);
}

bool clv__cpu_any_address(clv_op op, uint32_t i, bool ready)
{
    bool recurs = op == CLV_OP_LSTM || op == CLV_OP_GRU || op == CLV_OP_RNN;
    if (ready)
        return i == 1 || (i == 2 && recurs);
    return i == 0 && (op == CLV_OP_EMBEDDING || op == CLV_OP_INDEX_SELECT ||
                      op == CLV_OP_GATHER_ND);
}

/* All that has data may be read. */
static bool cpu_takes_inputs(const kernel *k)
{
    bool packed = k->n->op == CLV_OP_MATMUL_NBITS;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && numel(k->in[i]) && k->in[i]->data &&
            !cpu_takes(k->in[i], packed,
                       clv__cpu_any_address((clv_op)k->n->op, i, k->ready)))
            return false;
    return true;
}

/* Some output is wanted, and those that are can be written. */
static bool cpu_takes_outputs(const kernel *k)
{
    bool any = false;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        if (k->out[o].data &&
            (!cpu_takes(&k->out[o], false, false) || !numel(&k->out[o])))
            return false;
        any = any || k->out[o].data;
    }
    return any;
}

bool clv__cpu_packs(clv_op op)
{
    const cpu_level *level = cpu_tables();
    return level && level->readiers[op];
}

const void *clv__cpu_prepare(kernel *k, arena *mem)
{
    const cpu_level *level = cpu_tables();
    cpu_ready_fn *fn = level ? level->readiers[k->n->op] : NULL;
    if (!fn || !cpu_takes_inputs(k))
        return NULL;
    kernel own = *k;
    own.e = NULL;
    const void *ready = fn(&own, mem);
    return ready ? ready : level->half_ready(&own, fn, mem);
}

bool clv__cpu_run(kernel *k)
{
    const cpu_level *level = cpu_tables();
    cpu_fn *fn = cpu_kernel_of((clv_op)k->n->op);
    if (!fn || !k->n->n_out || !k->n->n_in || !k->in[0] || !numel(k->in[0]))
        return false;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && numel(k->in[i]) && !k->in[i]->data)
            return false;
    if (!cpu_takes_inputs(k) || !cpu_takes_outputs(k))
        return false;
    kernel own = *k;
    own.e = NULL; /* what is wrong, the plain C kernel says */
    return fn(&own) || level->half_run(&own, fn);
}

static clv_answer cpu_supports(clv_backend *b, const clv_graph *g,
                               uint32_t node, clv_why *why)
{
    return clv__ref_type.supports(b, g, node, why);
}

const clv_backend_type clv__cpu_type = {
    .name = "cpu",
    .about = "fast C kernels, and plain ones where there is none",
    .supports = cpu_supports,
};

/* cpu.c - which level of vector instructions the processor has, and the fast
 * kernels of that level; the backend that stands for them. */
#include "backend/cpu/cpu.h"

#include "backend/backend.h"

#define LEVEL(name, feature) extern const cpu_level clv__cpu_level_##name;
#include "backend/cpu/levels.def"

/* The best level first; the last needs nothing. */
static const cpu_level *cpu_best(void)
{
#define LEVEL(name, feature) \
    if (feature) \
        return &clv__cpu_level_##name;
#include "backend/cpu/levels.def"
    return NULL;
}

static const cpu_level *cpu_tables(void)
{
    static const cpu_level *_Atomic level;
    if (!level)
        level = cpu_best();
    return level;
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
 * where its type wants; a file may hold weights at any address. Several numbers
 * to a byte are for `packed` alone. */
static bool cpu_takes(const clv_tensor *t, bool packed)
{
    size_t size = clv__element_bytes(t);
    return t->data && t->form == CLV_FORM_TENSOR && (size > 0 || packed) &&
           t->dtype != CLV_STRING &&
           (size == 0 || (uintptr_t)t->data % size == 0);
}

/* All that has data may be read. */
static bool cpu_takes_inputs(const kernel *k)
{
    bool packed = k->n->op == CLV_OP_MATMUL_NBITS;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && numel(k->in[i]) && k->in[i]->data &&
            !cpu_takes(k->in[i], packed))
            return false;
    return true;
}

/* Some output is wanted, and those that are can be written. */
static bool cpu_takes_outputs(const kernel *k)
{
    bool any = false;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        if (k->out[o].data &&
            (!cpu_takes(&k->out[o], false) || !numel(&k->out[o])))
            return false;
        any = any || k->out[o].data;
    }
    return any;
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

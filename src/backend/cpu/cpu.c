/* cpu.c - which level of vector instructions the processor has, and the fast
 * kernels of that level; the backend that stands for them. */
#include "backend/cpu/cpu.h"

#include "backend/backend.h"

typedef cpu_fn *const cpu_table[CLV_OP_COUNT];
typedef cpu_ready_fn *const cpu_ready_table[CLV_OP_COUNT];

#define LEVEL(name, feature) \
    extern cpu_table clv__cpu_kernels_##name; \
    extern cpu_ready_table clv__cpu_readiers_##name;
#include "backend/cpu/levels.def"

/* The tables of one level. */
typedef struct cpu_level {
    cpu_fn *const *kernels;
    cpu_ready_fn *const *readiers;
} cpu_level;

/* The best level first; the last needs nothing. */
static const cpu_level *cpu_best(void)
{
#define LEVEL(name, feature) \
    if (feature) { \
        static const cpu_level level_##name = {clv__cpu_kernels_##name, \
                                               clv__cpu_readiers_##name}; \
        return &level_##name; \
    }
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
 * where its type wants; a file may hold weights at any address. */
static bool cpu_takes(const clv_tensor *t)
{
    size_t size = clv__element_bytes(t);
    return t->data && t->form == CLV_FORM_TENSOR && size > 0 &&
           t->dtype != CLV_STRING && (uintptr_t)t->data % size == 0;
}

const void *clv__cpu_prepare(kernel *k, arena *mem)
{
    const cpu_level *level = cpu_tables();
    cpu_ready_fn *fn = level ? level->readiers[k->n->op] : NULL;
    if (!fn)
        return NULL;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && k->in[i]->data &&
            (!cpu_takes(k->in[i]) || !numel(k->in[i])))
            return NULL;
    kernel own = *k;
    own.e = NULL;
    return fn(&own, mem);
}

bool clv__cpu_run(kernel *k)
{
    cpu_fn *fn = cpu_kernel_of((clv_op)k->n->op);
    if (!fn || !k->n->n_out || !k->n->n_in || !k->in[0] || !numel(k->in[0]))
        return false;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (k->in[i] && numel(k->in[i]) && !cpu_takes(k->in[i]))
            return false;
    bool any = false;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        if (k->out[o].data && (!cpu_takes(&k->out[o]) || !numel(&k->out[o])))
            return false;
        any = any || k->out[o].data;
    }
    kernel own = *k;
    own.e = NULL; /* what is wrong, the plain C kernel says */
    return any && fn(&own);
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

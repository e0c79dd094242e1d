/* cpu.c - which level of vector instructions the processor has, and the fast
 * kernels of that level; the backend that stands for them. */
#include "backend/cpu/cpu.h"

#include "backend/backend.h"

typedef cpu_fn *const cpu_table[CLV_OP_COUNT];

#define LEVEL(name, feature) extern cpu_table clv__cpu_kernels_##name;
#include "backend/cpu/levels.def"

enum { MOST_LEVELS = 8 };

/* The levels that the processor has, the best first; the last needs nothing. */
static uint32_t cpu_levels(cpu_fn *const **list)
{
    uint32_t n = 0;
#define LEVEL(name, feature) \
    if (feature) \
        list[n++] = clv__cpu_kernels_##name;
#include "backend/cpu/levels.def"
    return n;
}

static cpu_fn *const *_Atomic cpu_chosen;

bool clv__cpu_choose(uint32_t below)
{
    cpu_fn *const *list[MOST_LEVELS];
    uint32_t n = cpu_levels(list);
    if (below < n)
        cpu_chosen = list[below];
    return below < n;
}

static cpu_fn *cpu_kernel_of(clv_op op)
{
    if (!cpu_chosen)
        (void)clv__cpu_choose(0);
    return cpu_chosen ? cpu_chosen[op] : NULL;
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

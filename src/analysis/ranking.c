/* ranking.c - which layers and types of operators count the most FLOPs. */
#include "analysis/profile.h"

#include <stdlib.h>

static int ranking_by_flops(int64_t x, int64_t y)
{
    return x < y ? 1 : x > y ? -1 : 0;
}

static int layer_by_flops(const void *a, const void *b)
{
    const clv_layer *x = *(const clv_layer *const *)a;
    const clv_layer *y = *(const clv_layer *const *)b;
    int c = ranking_by_flops(x->cost.flops, y->cost.flops);
    return c ? c : (x->node > y->node) - (x->node < y->node);
}

/* Twice as many as asked for are collected before they are sorted and half of
 * them go, so that a large graph is not sorted for ten rows. */
const clv_layer **clv__profile_top(const clv_profile *p, uint32_t top)
{
    const clv_layer **best = clv__alloc((2 * (size_t)top + 1) * sizeof *best);
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    size_t m = 0;
    bool full = false;
    for (uint32_t i = 0; best && i < n; i++) {
        const clv_layer *l = &layers[i];
        if (full && l->cost.flops <= best[top - 1]->cost.flops)
            continue;
        best[m++] = l;
        if (m < 2 * (size_t)top)
            continue;
        qsort(best, m, sizeof *best, layer_by_flops);
        m = top;
        full = true;
    }
    if (best)
        qsort(best, m, sizeof *best, layer_by_flops);
    return best;
}

static int type_by_flops(const void *a, const void *b)
{
    const clv_type_total *x = *(const clv_type_total *const *)a;
    const clv_type_total *y = *(const clv_type_total *const *)b;
    int c = ranking_by_flops(x->flops, y->flops);
    return c ? c : (x > y) - (x < y); /* then as they come */
}

const clv_type_total **clv__profile_top_types(const clv_profile *p, uint32_t *n)
{
    const clv_type_total *types = clv_profile_types(p, n);
    const clv_type_total **sorted =
        clv__alloc(((size_t)*n + 1) * sizeof *sorted);
    for (uint32_t i = 0; sorted && i < *n; i++)
        sorted[i] = &types[i];
    if (sorted)
        qsort(sorted, *n, sizeof *sorted, type_by_flops);
    return sorted;
}

/* dag.c - makes a DAG of a graph: two passes, count and fill. */
#include "cut/dag.h"

#include <string.h>

bool clv__dag_make(arena *a, const clv_graph *g, dag *d)
{
    uint32_t last = CLV_NONE, at = 0;
    *d = (dag){.n = g->n_nodes};
    d->pred_first = arena_array(a, (size_t)d->n + 1, sizeof *d->pred_first);
    d->pred = arena_array(a, (size_t)g->n_edges + d->n + 1, sizeof *d->pred);
    if (!d->pred_first || !d->pred)
        return false;
    for (uint32_t i = 0; i < d->n; i++) {
        const clv_node *n = &g->nodes[i];
        const uint32_t *in = node_ins(g, n);
        d->pred_first[i] = at;
        for (uint32_t k = 0; k < n->n_in; k++) {
            uint32_t maker =
                in[k] == CLV_NONE ? CLV_NONE : g->values[in[k]].producer;
            if (maker != CLV_NONE)
                d->pred[at++] = maker;
        }
        if (n->flags & CLV_N_STATEFUL) {
            if (last != CLV_NONE)
                d->pred[at++] = last;
            last = i;
        }
    }
    d->pred_first[d->n] = at;
    return true;
}

bool clv__dag_add(arena *a, dag *d, const clv_order *order, uint32_t n)
{
    uint32_t old = d->pred_first[d->n];
    uint32_t *first = arena_zalloc(a, ((size_t)d->n + 2) * sizeof *first);
    uint32_t *pred = arena_array(a, (size_t)old + n + 1, sizeof *pred);
    if (!first || !pred)
        return false;
    uint32_t *end = first + 1; /* of i: ends as the start of i + 1 */
    for (uint32_t k = 0; k < n; k++)
        end[order[k].after + 1]++;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t own = d->pred_first[i + 1] - d->pred_first[i];
        uint32_t asked = end[i + 1];
        memcpy(pred + end[i], d->pred + d->pred_first[i], own * sizeof *pred);
        end[i + 1] = end[i] + own + asked;
        end[i] += own;
    }
    for (uint32_t k = 0; k < n; k++)
        pred[end[order[k].after]++] = order[k].before;
    d->pred_first = first;
    d->pred = pred;
    return true;
}

bool clv__dag_succ(arena *a, dag *d)
{
    uint32_t edges = d->pred_first[d->n];
    uint32_t *first = arena_zalloc(a, ((size_t)d->n + 2) * sizeof *first);
    d->succ = arena_array(a, (size_t)edges + 1, sizeof *d->succ);
    if (!first || !d->succ)
        return false;
    d->succ_first = first;
    uint32_t *end = first + 1;
    for (uint32_t k = 0; k < edges; k++)
        end[d->pred[k] + 1]++;
    for (uint32_t i = 0; i < d->n; i++)
        end[i + 1] += end[i];
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            d->succ[end[d->pred[k]]++] = i;
    return true;
}

bool clv__dag_order(arena *a, const dag *d, uint32_t *seq, dag_way way)
{
    uint32_t *missing = arena_array(a, (size_t)d->n + 1, sizeof *missing);
    uint32_t *list = arena_array(a, (size_t)d->n + 1, sizeof *list);
    uint32_t from = 0, to = 0, n = 0;
    if (!missing || !list)
        return false;
    for (uint32_t i = 0; way == DAG_AS_GIVEN && i < d->n; i++)
        seq[i] = i;
    if (way == DAG_AS_GIVEN)
        return true;
    bool depth = way == DAG_DEPTH_FIRST;
    for (uint32_t k = 0; k < d->n; k++) { /* depth first takes the last */
        uint32_t i = depth ? d->n - 1 - k : k;
        missing[i] = d->pred_first[i + 1] - d->pred_first[i];
        if (!missing[i])
            list[to++] = i;
    }
    while (from < to) {
        uint32_t i = depth ? list[--to] : list[from++];
        seq[n++] = i;
        for (uint32_t k = d->succ_first[i]; k < d->succ_first[i + 1]; k++)
            if (--missing[d->succ[k]] == 0)
                list[to++] = d->succ[k];
    }
    return true;
}

/* reorder.c - an order of the subgraphs in which less memory is alive.
 *
 * Greedy: of the subgraphs that are ready, run the one after which the least
 * is alive (what it makes, less the buffers that die with it). Ties go to the
 * earlier one, or to the one that became ready last (depth first). Both rules
 * are tried; the result is kept only if its peak, measured by the liveness
 * analysis itself, is lower than the given order's. */
#include "plan/memory.h"

#include <string.h>

typedef struct search {
    const clv_cut *c;
    uint32_t *readers;           /* per storage: subgraphs still to read it */
    uint32_t *missing;           /* per subgraph: dependencies not yet run */
    uint32_t *next_first, *next; /* CSR: who depends on a subgraph */
    uint32_t *ready;
    uint32_t n_ready;
    uint32_t *seen; /* per storage: stamp */
    uint32_t stamp;
} search;

/* Distinct storages that subgraph k reads: calls for each, with its size. */
static int64_t for_inputs(search *s, uint32_t k, int delta)
{
    const clv_graph *g = s->c->p->g;
    const clv_subgraph *sub = &s->c->subs[k];
    int64_t freed = 0;
    s->stamp++;
    for (uint32_t i = 0; i < sub->n_inputs; i++) {
        uint32_t r = clv__storage(g, sub->inputs[i]);
        if (s->seen[r] == s->stamp || value_is_weight(&g->values[r]))
            continue;
        s->seen[r] = s->stamp;
        s->readers[r] += (uint32_t)delta;
        bool last = delta == 0 ? s->readers[r] == 1 : s->readers[r] == 0;
        if (last && !(g->values[r].flags & CLV_V_OUTPUT))
            freed = sat_add(freed, clv__bytes(&g->values[r]));
    }
    return freed;
}

static int64_t growth(search *s, uint32_t k)
{
    const clv_graph *g = s->c->p->g;
    const clv_subgraph *sub = &s->c->subs[k];
    int64_t made = 0;
    for (uint32_t i = 0; i < sub->n_outputs; i++)
        if (g->values[sub->outputs[i]].view_of == CLV_NONE)
            made = sat_add(made, clv__bytes(&g->values[sub->outputs[i]]));
    return made - for_inputs(s, k, 0);
}

static bool prepare(search *s, arena *a)
{
    const clv_graph *g = s->c->p->g;
    size_t n = (size_t)s->c->n_subs + 2, nv = (size_t)g->n_values + 1,
           edges = 0;
    for (uint32_t k = 0; k < s->c->n_subs; k++)
        edges += s->c->subs[k].n_depends_on;
    s->readers = arena_zalloc(a, nv * sizeof *s->readers);
    s->seen = arena_zalloc(a, nv * sizeof *s->seen);
    s->missing = arena_zalloc(a, n * sizeof *s->missing);
    s->next_first = arena_zalloc(a, n * sizeof *s->next_first);
    s->next = arena_array(a, edges + 1, sizeof *s->next);
    s->ready = arena_array(a, n, sizeof *s->ready);
    if (!s->readers || !s->seen || !s->missing || !s->next_first || !s->next ||
        !s->ready)
        return false;
    uint32_t *end = s->next_first + 1;
    for (uint32_t k = 0; k < s->c->n_subs; k++) {
        const clv_subgraph *sub = &s->c->subs[k];
        s->missing[k] = sub->n_depends_on;
        for (uint32_t i = 0; i < sub->n_depends_on; i++)
            if (sub->depends_on[i] + 1 < s->c->n_subs + 1)
                end[sub->depends_on[i] + 1]++;
        for_inputs(s, k, 1);
    }
    for (uint32_t k = 0; k < s->c->n_subs; k++)
        end[k + 1] += end[k];
    for (uint32_t k = 0; k < s->c->n_subs; k++)
        for (uint32_t i = 0; i < s->c->subs[k].n_depends_on; i++)
            s->next[end[s->c->subs[k].depends_on[i]]++] = k;
    return true;
}

static uint32_t choose(search *s, bool depth_first)
{
    uint32_t best = 0;
    int64_t least = CLV_SAT;
    for (uint32_t i = 0; i < s->n_ready; i++) {
        int64_t d = growth(s, s->ready[i]);
        bool tie = d == least && (depth_first || s->ready[i] < s->ready[best]);
        if (d < least || tie) {
            least = d;
            best = i;
        }
    }
    uint32_t k = s->ready[best];
    memmove(&s->ready[best], &s->ready[best + 1],
            (s->n_ready - best - 1) * sizeof *s->ready);
    s->n_ready--;
    return k;
}

static bool greedy_order(const clv_cut *c, bool depth_first, uint32_t *order)
{
    arena a = {0};
    search s = {.c = c};
    bool ok = prepare(&s, &a);
    for (uint32_t k = 0; ok && k < c->n_subs; k++)
        if (s.missing[k] == 0)
            s.ready[s.n_ready++] = k;
    for (uint32_t step = 0; ok && step < c->n_subs; step++) {
        uint32_t k = choose(&s, depth_first);
        order[step] = k;
        for_inputs(&s, k, -1);
        for (uint32_t i = s.next_first[k]; i < s.next_first[k + 1]; i++)
            if (--s.missing[s.next[i]] == 0)
                s.ready[s.n_ready++] = s.next[i];
    }
    arena_free(&a);
    return ok;
}

bool clv__reorder(const clv_cut *c, bool inplace, uint32_t *order)
{
    uint32_t *trial = clv__alloc(((size_t)c->n_subs + 1) * sizeof *trial);
    if (!trial)
        return false;
    int64_t best = clv__peak_of(c, inplace, order);
    bool ok = best != CLV_SAT;
    for (int rule = 0; ok && rule < 2; rule++) {
        ok = greedy_order(c, rule == 1, trial);
        int64_t peak = ok ? clv__peak_of(c, inplace, trial) : CLV_SAT;
        if (peak < best) {
            best = peak;
            memcpy(order, trial, c->n_subs * sizeof *order);
        }
    }
    clv__free(trial);
    return ok;
}

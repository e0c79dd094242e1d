/* reorder.c - looks for an order of the subgraphs in which less memory is
 * alive.
 *
 * Rule: of the subgraphs that are ready, run the one after which the least is
 * alive (what it makes, less the buffers that die with it). Ties go to the
 * earlier subgraph, or to the one that became ready last (depth first). Both
 * are tried. The result is kept only if its peak, measured by the liveness
 * analysis itself, is lower than that of the given order.
 *
 * What a ready subgraph adds changes only when it becomes the last reader of a
 * buffer: then it adds less. It is pushed into the heap once more with the new
 * key. Old entries have larger keys and come out later, when it is already
 * done. So the first entry that comes out is right, in O(n log n). */
#include "plan/memory.h"

#include <string.h>

typedef struct entry {
    int64_t growth;
    uint32_t tie, sub;
} entry;

/* A storage: how many subgraphs have yet to read it, and the exclusive or of
 * their numbers. When one is left, that is its number. */
typedef struct store {
    int64_t bytes; /* 0 for a graph output, which never dies */
    uint32_t readers, mix;
} store;

typedef struct search {
    const clv_cut *c;
    bool depth_first;
    store *stores;               /* per value */
    uint32_t *missing;           /* per subgraph: dependencies not yet run */
    bool *done;                  /* per subgraph */
    bool *stateful;              /* per subgraph */
    uint32_t *next_first, *next; /* CSR: who waits for a subgraph */
    entry *heap;
    uint32_t n_heap, pushed;
    size_t cap_heap;
    uint32_t *seen; /* per value: stamp */
    uint32_t stamp;
} search;

/* -- the heap -------------------------------------------------------------*/

static bool reorder_before(const entry *a, const entry *b)
{
    if (a->growth != b->growth)
        return a->growth < b->growth;
    return a->tie < b->tie;
}

static bool reorder_heap_push(search *s, entry x)
{
    if (!CLV_GROW(s->heap, s->n_heap, s->cap_heap))
        return false;
    uint32_t i = s->n_heap++;
    while (i > 0 && reorder_before(&x, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = x;
    return true;
}

static entry reorder_heap_pop(search *s)
{
    entry top = s->heap[0], x = s->heap[--s->n_heap];
    uint32_t i = 0;
    for (uint32_t c; (c = 2 * i + 1) < s->n_heap; i = c) {
        if (c + 1 < s->n_heap && reorder_before(&s->heap[c + 1], &s->heap[c]))
            c++;
        if (!reorder_before(&s->heap[c], &x))
            break;
        s->heap[i] = s->heap[c];
    }
    s->heap[i] = x;
    return top;
}

/* -- what a subgraph reads ------------------------------------------------*/

/* Returns the next distinct storage that k reads, from input *i on, or CLV_NONE
 * after the last. */
static uint32_t next_read(search *s, uint32_t k, uint32_t *i)
{
    const clv_graph *g = s->c->p->g;
    const clv_subgraph *sub = &s->c->subs[k];
    if (*i == 0)
        s->stamp++;
    while (*i < sub->n_inputs) {
        uint32_t r = clv__storage(g, sub->inputs[(*i)++]);
        if (s->seen[r] == s->stamp || value_is_weight(&g->values[r]))
            continue;
        s->seen[r] = s->stamp;
        return r;
    }
    return CLV_NONE;
}

/* Returns the bytes alive after k, less those alive before. */
static int64_t reorder_growth(search *s, uint32_t k)
{
    const clv_graph *g = s->c->p->g;
    const clv_subgraph *sub = &s->c->subs[k];
    int64_t made = 0, freed = 0;
    for (uint32_t i = 0; i < sub->n_outputs; i++)
        if (g->values[sub->outputs[i]].view_of == CLV_NONE)
            made = sat_add(made, clv__held_bytes(&g->values[sub->outputs[i]]));
    for (uint32_t i = 0, r; (r = next_read(s, k, &i)) != CLV_NONE;)
        if (s->stores[r].readers == 1)
            freed = sat_add(freed, s->stores[r].bytes);
    return made - freed;
}

static bool reorder_offer(search *s, uint32_t k)
{
    uint32_t tie = s->depth_first ? UINT32_MAX - s->pushed++ : k;
    return reorder_heap_push(s, (entry){reorder_growth(s, k), tie, k});
}

/* -- the search -----------------------------------------------------------*/

/* Lists the subgraphs that wait for k: its readers, and the next stateful
 * one. */
static void add_waiting(search *s, uint32_t from, uint32_t to, uint32_t *end)
{
    if (s->next) {
        s->next[end[from]++] = to;
        return;
    }
    end[from + 1]++;
    s->missing[to]++;
}

static void each_waiting(search *s, uint32_t *end)
{
    uint32_t last = CLV_NONE; /* stateful one */
    for (uint32_t k = 0; k < s->c->n_subs; k++) {
        const clv_subgraph *sub = &s->c->subs[k];
        for (uint32_t i = 0; i < sub->n_depends_on; i++)
            add_waiting(s, sub->depends_on[i], k, end);
        if (s->stateful[k] && last != CLV_NONE)
            add_waiting(s, last, k, end);
        last = s->stateful[k] ? k : last;
    }
}

/* What a storage holds, and who reads it. */
static void reorder_fill_stores(search *s)
{
    const clv_graph *g = s->c->p->g;
    for (uint32_t k = 0; k < s->c->n_subs; k++)
        for (uint32_t i = 0, r; (r = next_read(s, k, &i)) != CLV_NONE;) {
            store *t = &s->stores[r];
            if (t->readers++ == 0)
                t->bytes = clv__held_bytes(&g->values[r]);
            t->mix ^= k;
        }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        s->stores[clv__storage(g, g->outputs[i])].bytes = 0;
}

static bool reorder_prepare(search *s, arena *a)
{
    const clv_graph *g = s->c->p->g;
    size_t n = (size_t)s->c->n_subs + 2, nv = (size_t)g->n_values + 1;
    s->stores = arena_zalloc(a, nv * sizeof *s->stores);
    s->seen = arena_zalloc(a, nv * sizeof *s->seen);
    s->missing = arena_zalloc(a, n * sizeof *s->missing);
    s->done = arena_zalloc(a, n * sizeof *s->done);
    s->stateful = arena_zalloc(a, n * sizeof *s->stateful);
    s->next_first = arena_zalloc(a, n * sizeof *s->next_first);
    if (!s->stores || !s->seen || !s->missing || !s->done || !s->stateful ||
        !s->next_first)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].flags & CLV_N_STATEFUL)
            s->stateful[s->c->of[i]] = true;
    uint32_t *end = s->next_first + 1;
    each_waiting(s, end);
    for (uint32_t k = 0; k < s->c->n_subs; k++)
        end[k + 1] += end[k];
    s->next = arena_array(a, (size_t)end[s->c->n_subs] + 1, sizeof *s->next);
    if (!s->next)
        return false;
    each_waiting(s, end);
    reorder_fill_stores(s);
    return true;
}

/* Runs k: its inputs have one reader less, those who wait one worry less. */
static bool reorder_run(search *s, uint32_t k)
{
    const clv_subgraph *sub = &s->c->subs[k];
    const clv_graph *g = s->c->p->g;
    s->done[k] = true;
    for (uint32_t i = 0, r; (r = next_read(s, k, &i)) != CLV_NONE;) {
        s->stores[r].readers--;
        s->stores[r].mix ^= k;
    }
    for (uint32_t i = 0; i < sub->n_inputs; i++) {
        const store *t = &s->stores[clv__storage(g, sub->inputs[i])];
        if (t->readers == 1 && !s->done[t->mix] && s->missing[t->mix] == 0 &&
            !reorder_offer(s, t->mix))
            return false;
    }
    for (uint32_t i = s->next_first[k]; i < s->next_first[k + 1]; i++)
        if (--s->missing[s->next[i]] == 0 && !reorder_offer(s, s->next[i]))
            return false;
    return true;
}

/* Finds an order by one rule. Uses up what s knows of storages and of what is
 * missing. */
static bool greedy_order(search *s, bool depth_first, uint32_t *order)
{
    uint32_t n = s->c->n_subs;
    bool ok = true;
    s->depth_first = depth_first;
    s->n_heap = s->pushed = 0;
    memset(s->done, 0, n * sizeof *s->done);
    for (uint32_t k = 0; ok && k < n; k++)
        if (s->missing[k] == 0)
            ok = reorder_offer(s, k);
    for (uint32_t step = 0; ok && step < n;) {
        uint32_t k = reorder_heap_pop(s).sub;
        if (s->done[k])
            continue;
        order[step++] = k;
        ok = reorder_run(s, k);
    }
    return ok;
}

/* Both rules, from the same start. */
static bool greedy_orders(const clv_cut *c, uint32_t *first, uint32_t *second)
{
    arena a = {0};
    search s = {.c = c};
    bool ok = reorder_prepare(&s, &a);
    size_t nv = c->p->g->n_values, n = c->n_subs;
    store *stores = arena_array(&a, nv + 1, sizeof *stores);
    uint32_t *missing = arena_array(&a, n + 1, sizeof *missing);
    ok = ok && stores && missing;
    if (ok) {
        memcpy(stores, s.stores, nv * sizeof *stores);
        memcpy(missing, s.missing, n * sizeof *missing);
        ok = greedy_order(&s, false, first);
    }
    if (ok) {
        s.stores = stores;
        s.missing = missing;
        ok = greedy_order(&s, true, second);
    }
    clv__free(s.heap);
    arena_free(&a);
    return ok;
}

bool clv__reorder(const clv_cut *c, bool inplace, uint32_t *order)
{
    size_t n = c->n_subs;
    uint32_t *trials = clv__alloc((2 * n + 1) * sizeof *trials);
    if (!trials)
        return false;
    int64_t best = clv__peak_of(c, inplace, order);
    bool ok = best != CLV_SAT && greedy_orders(c, trials, trials + n);
    for (int rule = 0; ok && rule < 2; rule++) {
        const uint32_t *trial = trials + (size_t)rule * n;
        int64_t peak = clv__peak_of(c, inplace, trial);
        ok = peak != CLV_SAT;
        if (peak < best) {
            best = peak;
            memcpy(order, trial, n * sizeof *order);
        }
    }
    clv__free(trials);
    return ok;
}

/* frontier.c - finds the least cost with at most k blocks, exactly, in a graph
 * that is narrow enough.
 *
 * Rule: the nodes are decided in order, each on the CPU or on the accelerator.
 * The sides of the nodes determine the fewest labels (label.c), so the search
 * is over sides alone. A state is one way to decide the first i nodes:
 *
 *    decided | undecided    The frontier of a state is all that the undecided
 *     a ---- | ---> d       nodes can see of it: the label of each decided node
 *     b -> c | ---> e       that one of them waits for (a and c, not b), and
 *            |              whether each tensor yet to be read has moved.
 *
 * Reason: two states with the same frontier have the same future. Only the
 * cheaper one is kept, so the number of states depends on the width of the
 * graph, not on its length. A state is also dropped when it needs more than k
 * labels, and when it cannot beat a known answer even if all undecided nodes
 * cost their minimum.
 *
 * Invariant: before node i is decided, `now` holds one state per reachable
 * frontier, the cheapest one that can still lead to a better answer.
 *
 *     slot   one byte of the frontier: a label, or "this tensor has moved". A
 *            slot is used again once the last node that needs it is decided.
 *     way    how a state came about: the state before it and the side taken
 *
 * Networks are chains of narrow blocks, so states stay few. If a graph needs
 * more than SLOTS slots, STATES_MAX states or WAYS_MAX ways, the search gives
 * up and says so: the answer is then not proven to be the best. */
#include "cut/frontier.h"

#include <math.h>
#include <string.h>

enum { SLOTS = 112, STATES_MAX = 1 << 15, WAYS_MAX = 1 << 20 };

/* Sums in another order differ by rounding: only what is below this share of a
 * known cost is better. */
static const double BETTER = 1 - 1e-12;

typedef struct state {
    double cost;
    uint32_t way; /* index into ways */
    uint8_t slot[SLOTS];
} state;

typedef struct search {
    const clv_graph *g;
    const dag *d;
    const placement_costs *c;
    uint32_t k;
    uint8_t first;
    double best;        /* cost of the best answer known */
    double *rest;       /* per node: the least cost of it and all later nodes */
    uint8_t *node_slot; /* per node; SLOTS: no later node waits for it */
    uint8_t *value_slot;  /* per value; SLOTS: it has at most one reader */
    uint32_t *node_last;  /* per node: the last node that waits for it */
    uint32_t *value_last; /* per value: its last reader */
    state *now, *next;    /* states before and after the node being decided */
    uint32_t n_now, n_next;
    uint32_t *table; /* hash table: frontier -> index into next, plus one */
    uint32_t *ways, n_ways; /* way before << 1 | node is on the accelerator */
} search;

/* -- slots ----------------------------------------------------------------*/

static bool has_slot(const search *s, uint32_t v)
{
    const clv_graph *g = s->g;
    return g->values[v].producer != CLV_NONE && s->c->move[v] > 0 &&
           g->user_first[v + 1] - g->user_first[v] > 1;
}

static void find_last(search *s)
{
    const clv_graph *g = s->g;
    memset(s->node_last, 0xff, g->n_nodes * sizeof *s->node_last);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t p = s->d->pred_first[i]; p < s->d->pred_first[i + 1]; p++)
            s->node_last[s->d->pred[p]] = i;
    for (uint32_t v = 0; v < g->n_values; v++) {
        s->value_last[v] = 0;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            if (g->users[u] > s->value_last[v])
                s->value_last[v] = g->users[u];
    }
}

/* Runs the statement that follows for each slot x that node i is the last to
 * need. A slot may come more than once. */
#define EACH_LAST(s, i, x) \
    for (uint32_t k_ = 0, n_ = (s)->d->pred_first[(i) + 1] - \
                               (s)->d->pred_first[i] + (s)->g->nodes[i].n_in; \
         k_ < n_; k_++) \
        if (((x) = last_slot(s, i, k_)) != SLOTS)

static uint8_t last_slot(const search *s, uint32_t i, uint32_t k)
{
    uint32_t preds = s->d->pred_first[i + 1] - s->d->pred_first[i];
    if (k < preds) {
        uint32_t p = s->d->pred[s->d->pred_first[i] + k];
        return s->node_last[p] == i ? s->node_slot[p] : SLOTS;
    }
    uint32_t v = node_ins(s->g, &s->g->nodes[i])[k - preds];
    return v != CLV_NONE && s->value_last[v] == i ? s->value_slot[v] : SLOTS;
}

/* Gives a slot to every node and tensor that needs one. Returns false when the
 * graph is too wide. */
static bool give_slots(search *s)
{
    const clv_graph *g = s->g;
    bool used[SLOTS + 1] = {false};
    uint8_t x;
    memset(s->node_slot, SLOTS, g->n_nodes);
    memset(s->value_slot, SLOTS, g->n_values);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node *n = &g->nodes[i];
        EACH_LAST(s, i, x)
        used[x] = false;
        for (uint32_t o = 0; o <= n->n_out; o++) {
            uint32_t v = o ? node_outs(g, n)[o - 1] : CLV_NONE;
            if (o ? !has_slot(s, v) : s->node_last[i] == CLV_NONE)
                continue;
            for (x = 0; x < SLOTS && used[x];)
                x++;
            if (x == SLOTS)
                return false;
            used[x] = true;
            *(o ? &s->value_slot[v] : &s->node_slot[i]) = x;
        }
    }
    return true;
}

/* -- states ---------------------------------------------------------------*/

static uint64_t frontier_hash_of(const uint8_t *slot)
{
    uint64_t h = 0, word;
    for (int i = 0; i < SLOTS; i += 8) {
        memcpy(&word, slot + i, 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

/* Adds the state t to next, or lowers the cost of the state with the same
 * frontier. Returns false when there is no room. */
static bool frontier_keep(search *s, const state *t, uint32_t before,
                          bool there)
{
    uint32_t mask = 2 * STATES_MAX - 1;
    uint32_t at = (uint32_t)frontier_hash_of(t->slot) & mask;
    for (; s->table[at]; at = (at + 1) & mask) {
        state *old = &s->next[s->table[at] - 1];
        if (memcmp(old->slot, t->slot, SLOTS) != 0)
            continue;
        if (t->cost < old->cost) {
            old->cost = t->cost;
            s->ways[old->way] = before << 1 | there;
        }
        return true;
    }
    if (s->n_next == STATES_MAX || s->n_ways == WAYS_MAX)
        return false;
    s->ways[s->n_ways] = before << 1 | there;
    s->next[s->n_next] = *t;
    s->next[s->n_next++].way = s->n_ways++;
    s->table[at] = s->n_next;
    return true;
}

/* Returns what node i pays to move its inputs to its side, and marks in t the
 * tensors that have moved. */
static double frontier_moves(const search *s, uint32_t i, bool there, state *t)
{
    const clv_graph *g = s->g;
    double sum = 0;
    for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
        uint32_t v = node_ins(g, &g->nodes[i])[k];
        uint32_t maker = v == CLV_NONE ? CLV_NONE : g->values[v].producer;
        if (maker == CLV_NONE)
            continue;
        bool starts_there = s->first == CLV_SIDE_ACCELERATOR;
        bool odd = t->slot[s->node_slot[maker]] & 1;
        uint8_t x = s->value_slot[v];
        if ((odd != starts_there) == there || (x != SLOTS && t->slot[x]))
            continue;
        if (x != SLOTS)
            t->slot[x] = 1;
        sum += s->c->move[v];
    }
    return sum;
}

/* Extends the state `from`: puts node i on one side. Drops the result when it
 * cannot become the answer. Returns false when there is no room for it. */
static bool frontier_decide(search *s, const state *from, uint32_t i,
                            bool there)
{
    state t = *from;
    double cost = there ? s->c->accelerator[i] : s->c->cpu[i];
    uint32_t label = 0;
    uint8_t x;
    for (uint32_t p = s->d->pred_first[i]; p < s->d->pred_first[i + 1]; p++) {
        uint8_t l = t.slot[s->node_slot[s->d->pred[p]]];
        label = l > label ? l : label;
    }
    bool odd = there != (s->first == CLV_SIDE_ACCELERATOR);
    label += (label & 1) != odd;
    t.cost += cost + frontier_moves(s, i, there, &t);
    if (label >= s->k || !(t.cost + s->rest[i + 1] < s->best))
        return true;
    EACH_LAST(s, i, x)
    t.slot[x] = 0;
    if (s->node_slot[i] != SLOTS)
        t.slot[s->node_slot[i]] = (uint8_t)label;
    for (uint32_t o = 0; o < s->g->nodes[i].n_out; o++)
        if ((x = s->value_slot[node_outs(s->g, &s->g->nodes[i])[o]]) != SLOTS)
            t.slot[x] = 0;
    return frontier_keep(s, &t, from->way, there);
}

static bool frontier_step(search *s, uint32_t i)
{
    memset(s->table, 0, 2 * STATES_MAX * sizeof *s->table);
    s->n_next = 0;
    for (uint32_t k = 0; k < s->n_now; k++)
        if (!frontier_decide(s, &s->now[k], i, false) ||
            !frontier_decide(s, &s->now[k], i, true))
            return false;
    state *t = s->now;
    s->now = s->next;
    s->next = t;
    s->n_now = s->n_next;
    return true;
}

/* -- the search -----------------------------------------------------------*/

static bool frontier_prepare(search *s, arena *a)
{
    size_t n = (size_t)s->g->n_nodes + 1, v = (size_t)s->g->n_values + 1;
    s->rest = arena_array(a, n, sizeof *s->rest);
    s->node_slot = arena_alloc(a, n);
    s->value_slot = arena_alloc(a, v);
    s->node_last = arena_array(a, n, sizeof *s->node_last);
    s->value_last = arena_array(a, v, sizeof *s->value_last);
    s->now = arena_array(a, STATES_MAX, sizeof *s->now);
    s->next = arena_array(a, STATES_MAX, sizeof *s->next);
    s->table = arena_array(a, 2 * STATES_MAX, sizeof *s->table);
    s->ways = arena_array(a, WAYS_MAX, sizeof *s->ways);
    if (!s->rest || !s->node_slot || !s->value_slot || !s->node_last ||
        !s->value_last || !s->now || !s->next || !s->table || !s->ways)
        return false;
    s->rest[s->g->n_nodes] = 0;
    for (uint32_t i = s->g->n_nodes; i-- > 0;)
        s->rest[i] = s->rest[i + 1] + fmin(s->c->cpu[i], s->c->accelerator[i]);
    return true;
}

/* Searches with `first` as the device of label 0. Returns true when the search
 * was complete. Then `side` and s->best are replaced if there is a better
 * answer. */
static bool search_from(search *s, uint8_t first, uint8_t *side)
{
    s->first = first;
    s->n_ways = 1;
    s->n_now = 1;
    s->now[0] = (state){0};
    for (uint32_t i = 0; i < s->g->n_nodes; i++)
        if (!frontier_step(s, i))
            return false;
    if (!s->n_now)
        return true; /* no slot is in use at the end, so at most one state is
                      * left */
    s->best = s->now[0].cost;
    uint32_t way = s->now[0].way;
    for (uint32_t i = s->g->n_nodes; i-- > 0;) {
        side[i] = s->ways[way] & 1 ? CLV_SIDE_ACCELERATOR : CLV_SIDE_CPU;
        way = s->ways[way] >> 1;
    }
    return true;
}

frontier_end clv__place_frontier(arena *a, const clv_graph *g, const dag *d,
                                 const placement_costs *c, uint32_t k,
                                 uint8_t *side, double *cost)
{
    search s = {.g = g, .d = d, .c = c, .k = k};
    arena_mark mark = arena_save(a);
    if (k > 255 || g->n_nodes > WAYS_MAX)
        return FRONTIER_TOO_WIDE;
    if (!frontier_prepare(&s, a))
        return FRONTIER_NOMEM;
    s.best = *cost * BETTER;
    find_last(&s);
    bool done = give_slots(&s) && search_from(&s, CLV_SIDE_CPU, side) &&
                search_from(&s, CLV_SIDE_ACCELERATOR, side);
    *cost = s.best < *cost * BETTER ? s.best : *cost;
    arena_rewind(a, mark);
    return done ? FRONTIER_DONE : FRONTIER_TOO_WIDE;
}

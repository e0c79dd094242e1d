/* arena.c - offsets for buffers in one block of memory.
 *
 * Placing buffers with lifetimes in the least memory is NP-hard; five planners
 * are tried, the smallest plan wins:
 *
 *   by_time   a run of malloc and free: at each step dead buffers return to a
 *             tree of holes, new ones take the lowest hole that fits; n log n,
 *             so it is the one used for huge graphs
 *   by_size   largest first; each takes the lowest gap among the placed
 *             buffers that live at the same time (Pisarchyk & Lee, 2020)
 *   by_span   the same, but longest-lived first
 *   by_blame  largest first, again and again: the buffers that ended on top
 *             go first in the next round
 *   by_blame_span  the same, but longest-lived first
 *
 * All but the first compare with every placed buffer that overlaps in time;
 * they are left out above GREEDY_MAX buffers, the rounds above BLAME_MAX. */
#include "analysis/liveness.h"

#include <stdlib.h>
#include <string.h>

enum {
    GREEDY_MAX = 20000,
    BLAME_MAX = 2000,
    FEWEST_ROUNDS = 60,
    MOST_ROUNDS = 300,
    BLAME_PAIRS = 200000000 /* compared in all rounds, about */
};

typedef struct item {
    uint32_t first, last, id;
    uint32_t blame; /* rounds it ended on top */
    int64_t bytes, offset;
} item;

/* -- greedy: one buffer after the other -----------------------------------*/

static int64_t item_span(const item *x)
{
    return (int64_t)x->last - x->first;
}

static int compare_sizes(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int larger_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = compare_sizes(y->bytes, x->bytes);
    return c ? c : compare_sizes(x->id, y->id);
}

static int longer_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = compare_sizes(item_span(y), item_span(x));
    return c ? c : larger_first(a, b);
}

static int lower_first(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    int c = compare_sizes((*x)->offset, (*y)->offset);
    return c ? c : compare_sizes((*x)->id, (*y)->id);
}

/* The best gap below or above the placed buffers that live with x. `placed`
 * is sorted by offset. */
static int64_t best_gap(const item *x, item *const *placed, uint32_t n)
{
    int64_t end = 0, best = -1, slack = CLV_SAT;
    for (uint32_t i = 0; i < n; i++) {
        const item *y = placed[i];
        if (y->last < x->first || y->first > x->last)
            continue;
        int64_t gap = y->offset - end;
        if (gap >= x->bytes && gap - x->bytes < slack) {
            best = end;
            slack = gap - x->bytes;
        }
        if (y->offset + y->bytes > end)
            end = y->offset + y->bytes;
    }
    return best >= 0 ? best : end;
}

static int64_t place_greedy(item *x, uint32_t n,
                            int (*order)(const void *, const void *))
{
    item **placed = clv__alloc(((size_t)n + 1) * sizeof *placed);
    if (!placed)
        return CLV_SAT;
    int64_t size = 0;
    qsort(x, n, sizeof *x, order);
    for (uint32_t i = 0; i < n; i++) {
        x[i].offset = best_gap(&x[i], placed, i);
        if (x[i].offset + x[i].bytes > size)
            size = x[i].offset + x[i].bytes;
        uint32_t at = i; /* insertion keeps `placed` sorted */
        item *self = &x[i];
        while (at > 0 && lower_first(&self, &placed[at - 1]) < 0) {
            placed[at] = placed[at - 1];
            at--;
        }
        placed[at] = self;
    }
    clv__free(placed);
    return size;
}

static int64_t by_size(item *x, uint32_t n)
{
    return n <= GREEDY_MAX ? place_greedy(x, n, larger_first) : CLV_SAT;
}

static int64_t by_span(item *x, uint32_t n)
{
    return n <= GREEDY_MAX ? place_greedy(x, n, longer_first) : CLV_SAT;
}

static int blamed_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = compare_sizes(y->blame, x->blame);
    return c ? c : larger_first(a, b);
}

static int blamed_and_longer_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = compare_sizes(y->blame, x->blame);
    return c ? c : longer_first(a, b);
}

/* Rounds of a greedy plan; the best one stays. */
static int64_t blame_rounds(item *x, uint32_t n,
                            int (*order)(const void *, const void *))
{
    if (n > BLAME_MAX)
        return CLV_SAT;
    int64_t *best = clv__alloc(((size_t)n + 1) * sizeof *best);
    int64_t least = CLV_SAT, rounds = BLAME_PAIRS / ((int64_t)n * n + 1);
    rounds = rounds < FEWEST_ROUNDS ? FEWEST_ROUNDS
             : rounds > MOST_ROUNDS ? MOST_ROUNDS
                                    : rounds;
    for (int64_t round = 0; best && round < rounds; round++) {
        int64_t size = place_greedy(x, n, order);
        if (size == CLV_SAT)
            break;
        for (uint32_t i = 0; i < n; i++) {
            if (size < least)
                best[x[i].id] = x[i].offset;
            x[i].blame += x[i].offset + x[i].bytes == size;
        }
        if (size < least)
            least = size;
    }
    for (uint32_t i = 0; least != CLV_SAT && i < n; i++)
        x[i].offset = best[x[i].id];
    clv__free(best);
    return least;
}

static int64_t by_blame(item *x, uint32_t n)
{
    return blame_rounds(x, n, blamed_first);
}

static int64_t by_blame_span(item *x, uint32_t n)
{
    return blame_rounds(x, n, blamed_and_longer_first);
}

/* -- by time: malloc and free ---------------------------------------------*/

/* Holes by address in a treap: a search tree whose priorities, a hash of the
 * slot, form a heap. `most` is the largest hole below a node, so the lowest
 * hole that is large enough is found by going down once. 0 is no hole. */
typedef struct hole {
    int64_t offset, bytes, most;
    uint32_t left, right;
} hole;

typedef struct holes {
    hole *at;
    size_t n, cap;
    uint32_t root, spare; /* spare: slots to use again, linked by left */
    int64_t top;          /* end of the block so far */
} holes;

static uint32_t hole_priority(uint32_t slot)
{
    slot *= 0x9e3779b9u;
    slot ^= slot >> 16;
    return slot * 0x85ebca6bu;
}

static void hole_update(holes *h, uint32_t t)
{
    hole *x = &h->at[t];
    x->most = x->bytes;
    if (x->left && h->at[x->left].most > x->most)
        x->most = h->at[x->left].most;
    if (x->right && h->at[x->right].most > x->most)
        x->most = h->at[x->right].most;
}

/* All of a lies below all of b. */
static uint32_t holes_merge(holes *h, uint32_t a, uint32_t b)
{
    if (!a || !b)
        return a ? a : b;
    if (hole_priority(a) > hole_priority(b)) {
        h->at[a].right = holes_merge(h, h->at[a].right, b);
        hole_update(h, a);
        return a;
    }
    h->at[b].left = holes_merge(h, a, h->at[b].left);
    hole_update(h, b);
    return b;
}

/* Parts t into the holes that start below offset and the others. */
static void holes_split(holes *h, uint32_t t, int64_t offset, uint32_t *below,
                        uint32_t *above)
{
    if (!t) {
        *below = *above = 0;
        return;
    }
    if (h->at[t].offset < offset) {
        holes_split(h, h->at[t].right, offset, &h->at[t].right, above);
        *below = t;
    } else {
        holes_split(h, h->at[t].left, offset, below, &h->at[t].left);
        *above = t;
    }
    hole_update(h, t);
}

static void hole_drop(holes *h, uint32_t t)
{
    h->at[t].left = h->spare;
    h->spare = t;
}

static uint32_t new_hole(holes *h, int64_t offset, int64_t bytes)
{
    uint32_t t = h->spare;
    if (t) {
        h->spare = h->at[t].left;
    } else {
        h->n += h->n == 0; /* slot 0 is no hole */
        if (!CLV_GROW(h->at, h->n, h->cap))
            return 0;
        t = (uint32_t)h->n++;
    }
    h->at[t] = (hole){offset, bytes, bytes, 0, 0};
    return t;
}

/* Takes the hole at the low (or high) end of *t away if it touches offset;
 * returns its size. */
static int64_t hole_absorb(holes *h, uint32_t *t, bool low, int64_t offset)
{
    uint32_t end = *t, rest;
    while (end && (low ? h->at[end].left : h->at[end].right))
        end = low ? h->at[end].left : h->at[end].right;
    if (!end)
        return 0;
    hole x = h->at[end];
    if (low ? x.offset != offset : x.offset + x.bytes != offset)
        return 0;
    holes_split(h, *t, low ? x.offset + 1 : x.offset, low ? &rest : t,
                low ? t : &rest);
    hole_drop(h, rest);
    return x.bytes;
}

/* Gives [offset, offset + bytes) back, joined with its neighbours. */
static bool holes_give(holes *h, int64_t offset, int64_t bytes)
{
    uint32_t below, above;
    holes_split(h, h->root, offset, &below, &above);
    int64_t before = hole_absorb(h, &below, false, offset);
    int64_t after = hole_absorb(h, &above, true, offset + bytes);
    uint32_t t = new_hole(h, offset - before, before + bytes + after);
    h->root = holes_merge(h, holes_merge(h, below, t), above);
    return t != 0;
}

/* Takes bytes from the lowest hole of t that has them; returns what is left
 * of t. */
static uint32_t hole_carve(holes *h, uint32_t t, int64_t bytes, int64_t *offset)
{
    hole *x = &h->at[t];
    if (x->left && h->at[x->left].most >= bytes) {
        x->left = hole_carve(h, x->left, bytes, offset);
    } else if (x->bytes >= bytes) {
        *offset = x->offset;
        x->offset += bytes;
        x->bytes -= bytes;
        if (x->bytes == 0) {
            uint32_t rest = holes_merge(h, x->left, x->right);
            hole_drop(h, t);
            return rest;
        }
    } else {
        x->right = hole_carve(h, x->right, bytes, offset);
    }
    hole_update(h, t);
    return t;
}

/* The lowest hole that fits; else the one at the top grows, or new room. */
static int64_t arena_take_place(holes *h, int64_t bytes)
{
    int64_t offset;
    if (h->root && h->at[h->root].most >= bytes) {
        h->root = hole_carve(h, h->root, bytes, &offset);
        return offset;
    }
    offset = h->top - hole_absorb(h, &h->root, false, h->top);
    h->top = offset + bytes;
    return offset;
}

static int earlier_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = compare_sizes(x->first, y->first);
    return c ? c : larger_first(a, b);
}

static int ends_first(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    int c = compare_sizes((*x)->last, (*y)->last);
    return c ? c : compare_sizes((*x)->id, (*y)->id);
}

static int64_t by_time(item *x, uint32_t n)
{
    holes h = {0};
    item **dying = clv__alloc(((size_t)n + 1) * sizeof *dying);
    bool ok = dying != NULL;
    qsort(x, n, sizeof *x, earlier_first);
    for (uint32_t i = 0; ok && i < n; i++)
        dying[i] = &x[i];
    if (ok)
        qsort(dying, n, sizeof *dying, ends_first);
    for (uint32_t i = 0, dead = 0; ok && i < n; i++) {
        while (ok && dying[dead]->last < x[i].first) {
            ok = holes_give(&h, dying[dead]->offset, dying[dead]->bytes);
            dead++;
        }
        x[i].offset = arena_take_place(&h, x[i].bytes);
    }
    clv__free(dying);
    clv__free(h.at);
    return ok ? h.top : CLV_SAT;
}

/* -- the portfolio --------------------------------------------------------*/

static const struct {
    const char *name;
    int64_t (*plan)(item *x, uint32_t n);
} planners[] = {
    {"by_size", by_size},
    {"by_span", by_span},
    {"by_blame", by_blame},
    {"by_time", by_time},
    {"by_blame_span", by_blame_span},
};

enum { N_PLANNERS = sizeof planners / sizeof *planners };

/* The smallest plan that the planners find; CLV_SAT: out of memory. */
static int64_t arena_best(clv_buffer *b, uint32_t n, int64_t align,
                          int64_t bound, const char **planner)
{
    item *x = clv__alloc(((size_t)n + 1) * sizeof *x);
    int64_t best = CLV_SAT;
    for (size_t k = 0; x && k < N_PLANNERS && best > bound; k++) {
        for (uint32_t i = 0; i < n; i++)
            x[i] = (item){b[i].first,
                          b[i].last,
                          i,
                          0,
                          (b[i].bytes + align - 1) / align * align,
                          0};
        int64_t size = planners[k].plan(x, n);
        if (size >= best)
            continue;
        best = size;
        *planner = planners[k].name;
        for (uint32_t i = 0; i < n; i++)
            b[x[i].id].offset = x[i].offset;
    }
    clv__free(x);
    return best;
}

clv_status clv__arena_plan(clv_buffer *b, uint32_t n, int64_t align,
                           uint32_t n_steps, arena_layout *out, clv_err *e)
{
    int64_t *live = clv__alloc(((size_t)n_steps + 1) * sizeof *live);
    *out = (arena_layout){.planner = "none"};
    if (!live)
        return clv__nomem(e);
    out->bound = clv__live_bytes(b, n, align, live, n_steps);
    clv__free(live);
    if (out->bound == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "activations do not fit 64 bits");
    if (n > 0)
        out->size = arena_best(b, n, align, out->bound, &out->planner);
    return out->size == CLV_SAT ? clv__nomem(e) : CLV_OK;
}

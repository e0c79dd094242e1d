/* arena.c - offsets for buffers in one block of memory.
 *
 * Placing buffers with lifetimes in the least memory is NP-hard; four planners
 * are tried, the smallest plan wins:
 *
 *   by_time   a run of malloc and free: at each step dead buffers return to a
 *             free list ordered by address, new ones take the best fit;
 *             n log n on real graphs, so it is the one used for huge ones
 *   by_size   largest first; each takes the lowest gap among the placed
 *             buffers that live at the same time (Pisarchyk & Lee, 2020)
 *   by_span   the same, but longest-lived first
 *   by_blame  largest first, again and again: the buffers that ended on top
 *             go first in the next round
 *
 * The last three compare with every placed buffer that overlaps in time; they
 * are left out above GREEDY_MAX buffers, the rounds above BLAME_MAX. */
#include "plan/memory.h"

#include <stdlib.h>
#include <string.h>

enum { GREEDY_MAX = 20000, BLAME_MAX = 2000, BLAME_ROUNDS = 60 };

typedef struct item {
    uint32_t first, last, id;
    uint32_t blame; /* rounds it ended on top */
    int64_t bytes, offset;
} item;

/* -- greedy: one buffer after the other -----------------------------------*/

static int64_t span(const item *x)
{
    return (int64_t)x->last - x->first;
}

static int cmp(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int larger_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = cmp(y->bytes, x->bytes);
    return c ? c : cmp(x->id, y->id);
}

static int longer_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = cmp(span(y), span(x));
    return c ? c : larger_first(a, b);
}

static int lower_first(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    int c = cmp((*x)->offset, (*y)->offset);
    return c ? c : cmp((*x)->id, (*y)->id);
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

static int64_t greedy(item *x, uint32_t n,
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
    return n <= GREEDY_MAX ? greedy(x, n, larger_first) : CLV_SAT;
}

static int64_t by_span(item *x, uint32_t n)
{
    return n <= GREEDY_MAX ? greedy(x, n, longer_first) : CLV_SAT;
}

static int blamed_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = cmp(y->blame, x->blame);
    return c ? c : larger_first(a, b);
}

static int64_t by_blame(item *x, uint32_t n)
{
    if (n > BLAME_MAX)
        return CLV_SAT;
    int64_t *best = clv__alloc(((size_t)n + 1) * sizeof *best);
    int64_t least = CLV_SAT;
    for (int round = 0; best && round < BLAME_ROUNDS; round++) {
        int64_t size = greedy(x, n, blamed_first);
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

/* -- by time: malloc and free ---------------------------------------------*/

typedef struct hole {
    int64_t offset, bytes;
} hole;

typedef struct holes {
    hole *at;
    uint32_t n;
    size_t cap;
    int64_t top; /* end of the block so far */
} holes;

/* The number of holes that start below offset. */
static uint32_t holes_below(const holes *h, int64_t offset)
{
    uint32_t lo = 0, hi = h->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (h->at[mid].offset < offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void remove_hole(holes *h, uint32_t i)
{
    memmove(&h->at[i], &h->at[i + 1], (h->n - i - 1) * sizeof *h->at);
    h->n--;
}

/* Gives [offset, offset + bytes) back, joined with its neighbours. */
static bool give(holes *h, int64_t offset, int64_t bytes)
{
    uint32_t i = holes_below(h, offset);
    bool left = i > 0 && h->at[i - 1].offset + h->at[i - 1].bytes == offset;
    bool right = i < h->n && offset + bytes == h->at[i].offset;
    if (left)
        h->at[i - 1].bytes += bytes;
    if (left && right) {
        h->at[i - 1].bytes += h->at[i].bytes;
        remove_hole(h, i);
    } else if (right) {
        h->at[i].offset -= bytes;
        h->at[i].bytes += bytes;
    } else if (!left) {
        if (!CLV_GROW(h->at, h->n, h->cap))
            return false;
        memmove(&h->at[i + 1], &h->at[i], (h->n - i) * sizeof *h->at);
        h->at[i] = (hole){offset, bytes};
        h->n++;
    }
    return true;
}

/* The tightest hole; else the one at the top grows, or new room above it. */
static int64_t take(holes *h, int64_t bytes)
{
    uint32_t best = CLV_NONE;
    for (uint32_t i = 0; i < h->n; i++)
        if (h->at[i].bytes >= bytes &&
            (best == CLV_NONE || h->at[i].bytes < h->at[best].bytes))
            best = i;
    if (best == CLV_NONE) {
        const hole *end = h->n ? &h->at[h->n - 1] : NULL;
        int64_t offset = h->top;
        if (end && end->offset + end->bytes == h->top) {
            offset = end->offset;
            h->n--;
        }
        h->top = sat_add(offset, bytes);
        return offset;
    }
    int64_t offset = h->at[best].offset;
    h->at[best].offset += bytes;
    h->at[best].bytes -= bytes;
    if (h->at[best].bytes == 0)
        remove_hole(h, best);
    return offset;
}

static int earlier_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = cmp(x->first, y->first);
    return c ? c : larger_first(a, b);
}

static int ends_first(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    int c = cmp((*x)->last, (*y)->last);
    return c ? c : cmp((*x)->id, (*y)->id);
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
            ok = give(&h, dying[dead]->offset, dying[dead]->bytes);
            dead++;
        }
        x[i].offset = take(&h, x[i].bytes);
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
};

enum { N_PLANNERS = sizeof planners / sizeof *planners };

int64_t clv__arena_plan(clv_buffer *b, uint32_t n, int64_t align, int64_t bound,
                        const char **planner)
{
    item *x = clv__alloc(((size_t)n + 1) * sizeof *x);
    int64_t best = CLV_SAT;
    *planner = "none";
    if (n == 0 || !x) {
        clv__free(x);
        return x ? 0 : CLV_SAT;
    }
    for (size_t k = 0; k < N_PLANNERS && best > bound; k++) {
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

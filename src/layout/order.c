/* order.c - orders every layer so that few lines cross.
 *
 * Sweeps down and up move each vertex to the median (or, in every other pair
 * of sweeps, the mean) of its neighbours in the layer before; then neighbours
 * that cross less the other way round are swapped. Sweeps cannot bring a whole
 * branch to the other side of another, so many starts are tried: two searches
 * in depth, then searches that turn the branches of some forks around, of the
 * graph or of the best order so far. The best order of each is sifted (sift.c),
 * and the best order seen is kept. */
#include "layout/layered.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SWEEPS = 24,
    LEAST_SWEEPS = 4,
    SWEEP_WORK = 6000000, /* vertices and lines that all sweeps may visit */
    MOST_STARTS = 128,
    START_WORK = 8000000, /* the same, for starts after the second */
    START_CROSSINGS = 64, /* with more, FEW_STARTS are tried: others gain
                             too little for their time */
    FEW_STARTS = 8,
    MOST_CROSSINGS = 400, /* with more, there are two starts and no sifting */
    SIFT_WORK = 4000000,  /* pairs that sifting may compare */
    START_SEED = 12345,
    PATIENCE = 9, /* sweeps without a gain before it stops */
    SWAP_ROUNDS = 10,
    SORT_BY_HAND = 24 /* layers up to this wide are sorted by insertion */
};

typedef struct sort_item {
    double key;
    uint32_t pos, vertex;
} sort_item;

typedef struct orderer {
    ranked *r;
    uint32_t *fill, *tree, *best, *stack;
    sort_item *items;
    uint32_t random; /* state of the generator */
} orderer;

/* The xorshift generator: the same numbers in every run. */
static uint32_t order_random(orderer *o)
{
    o->random ^= o->random << 13;
    o->random ^= o->random >> 17;
    o->random ^= o->random << 5;
    return o->random;
}

void clv__ranked_sort_up(const ranked *r, uint32_t layer, uint32_t *fill)
{
    for (uint32_t k = r->first[layer]; k < r->first[layer + 1]; k++)
        fill[r->at[k]] = r->up_first[r->at[k]];
    for (uint32_t k = r->first[layer - 1]; k < r->first[layer]; k++) {
        uint32_t v = r->at[k];
        for (uint32_t d = r->down_first[v]; d < r->down_first[v + 1]; d++)
            r->up[fill[r->down[d]]++] = v;
    }
}

void clv__ranked_sort_down(const ranked *r, uint32_t layer, uint32_t *fill)
{
    for (uint32_t k = r->first[layer]; k < r->first[layer + 1]; k++)
        fill[r->at[k]] = r->down_first[r->at[k]];
    for (uint32_t k = r->first[layer + 1]; k < r->first[layer + 2]; k++) {
        uint32_t v = r->at[k];
        for (uint32_t u = r->up_first[v]; u < r->up_first[v + 1]; u++)
            r->down[fill[r->up[u]]++] = v;
    }
}

/* After the order of a layer changed. */
static void sort_around(const orderer *o, uint32_t layer)
{
    if (layer > 0)
        clv__ranked_sort_down(o->r, layer - 1, o->fill);
    if (layer + 1 < o->r->n_ranks)
        clv__ranked_sort_up(o->r, layer + 1, o->fill);
}

static void sort_everywhere(const orderer *o)
{
    for (uint32_t i = 0; i < o->r->n_ranks; i++)
        sort_around(o, i);
}

/* Pairs of lines between `layer` and the one above that cross: inversions,
 * counted in a Fenwick tree. */
static int64_t count_layer(const orderer *o, uint32_t layer)
{
    const ranked *r = o->r;
    uint32_t wide = r->first[layer] - r->first[layer - 1];
    int64_t crossings = 0, seen = 0;
    memset(o->tree, 0, ((size_t)wide + 1) * sizeof *o->tree);
    for (uint32_t k = r->first[layer]; k < r->first[layer + 1]; k++) {
        uint32_t v = r->at[k];
        for (uint32_t u = r->up_first[v]; u < r->up_first[v + 1]; u++) {
            int64_t left = 0;
            for (uint32_t i = r->pos[r->up[u]] + 1; i > 0; i &= i - 1)
                left += o->tree[i];
            crossings += seen - left;
        }
        for (uint32_t u = r->up_first[v]; u < r->up_first[v + 1]; u++) {
            for (uint32_t i = r->pos[r->up[u]] + 1; i <= wide; i += i & -i)
                o->tree[i]++;
            seen++;
        }
    }
    return crossings;
}

static int64_t count_crossings(const orderer *o)
{
    int64_t n = 0;
    for (uint32_t i = 1; i < o->r->n_ranks; i++)
        n += count_layer(o, i);
    return n;
}

/* -- the first order ------------------------------------------------------*/

/* Visits the neighbours `list` of one vertex: pushes those that are new, the
 * first of them last. `turned` reverses them. */
static uint32_t start_push(const orderer *o, const uint32_t *list, uint32_t m,
                           bool turned, uint32_t n)
{
    for (uint32_t k = 0; k < m; k++) {
        uint32_t v = list[turned ? k : m - 1 - k];
        if (!o->tree[v]) {
            o->tree[v] = 1;
            o->stack[n++] = v;
        }
    }
    return n;
}

/* Vertices in the order of a search in depth from one end of the graph. `turn`
 * reverses the branches of every other vertex, by chance. */
static void start_order(orderer *o, bool from_top, bool turn)
{
    ranked *r = o->r;
    uint32_t *next = o->fill, *seen = o->tree;
    memset(seen, 0, ((size_t)r->n + 1) * sizeof *seen);
    for (uint32_t i = 0; i < r->n_ranks; i++)
        next[i] = r->first[i];
    for (uint32_t s = 0; s < r->n; s++) {
        uint32_t root = from_top ? s : r->n - 1 - s, n = 0;
        const uint32_t *back = from_top ? r->up_first : r->down_first;
        if (back[root] != back[root + 1] || seen[root])
            continue;
        o->stack[n++] = root;
        seen[root] = 1;
        while (n) {
            uint32_t v = o->stack[--n], i = next[r->rank[v]]++;
            const uint32_t *first = from_top ? r->down_first : r->up_first;
            const uint32_t *list = from_top ? r->down : r->up;
            r->at[i] = v;
            r->pos[v] = i - r->first[r->rank[v]];
            n = start_push(o, list + first[v], first[v + 1] - first[v],
                           turn && order_random(o) % 2 == 0, n);
        }
    }
}

/* -- sweeps ---------------------------------------------------------------*/

static int order_by_key(const void *x, const void *y)
{
    const sort_item *a = x, *b = y;
    return a->key != b->key   ? (a->key < b->key ? -1 : 1)
           : a->pos != b->pos ? (a->pos < b->pos ? -1 : 1)
                              : 0;
}

static void sort_items(sort_item *items, uint32_t n)
{
    if (n > SORT_BY_HAND) {
        qsort(items, n, sizeof *items, order_by_key);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        sort_item x = items[i];
        uint32_t k = i;
        for (; k > 0 && order_by_key(&x, &items[k - 1]) < 0; k--)
            items[k] = items[k - 1];
        items[k] = x;
    }
}

/* Median as Gansner et al. weigh it: of an even number of neighbours the
 * middle two, nearer to the side where they lie closer together. */
static double median_of(const ranked *r, const uint32_t *list, uint32_t n)
{
    uint32_t m = n / 2;
    if (n % 2)
        return r->pos[list[m]];
    if (n == 2)
        return (r->pos[list[0]] + r->pos[list[1]]) / 2.0;
    double left = r->pos[list[m - 1]] - (double)r->pos[list[0]];
    double right = r->pos[list[n - 1]] - (double)r->pos[list[m]];
    if (left + right <= 0)
        return r->pos[list[m]];
    return (r->pos[list[m - 1]] * right + r->pos[list[m]] * left) /
           (left + right);
}

static double mean_of(const ranked *r, const uint32_t *list, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += r->pos[list[i]];
    return sum / n;
}

/* How a sweep goes. */
typedef struct sweep {
    bool down; /* layers are sorted by the one above */
    bool mean; /* by the mean of neighbours, not the median */
    bool turn; /* those with equal keys change their order, which brings whole
                  branches to the other side */
} sweep;

/* Sorts one layer by its neighbours above or below. Vertices without any keep
 * their places. */
static void sweep_layer(const orderer *o, uint32_t layer, sweep s)
{
    ranked *r = o->r;
    const uint32_t *first = s.down ? r->up_first : r->down_first;
    const uint32_t *list = s.down ? r->up : r->down;
    uint32_t from = r->first[layer], to = r->first[layer + 1], n = 0;
    for (uint32_t k = from; k < to; k++) {
        uint32_t v = r->at[k], m = first[v + 1] - first[v];
        if (m)
            o->items[n++] =
                (sort_item){s.mean ? mean_of(r, list + first[v], m)
                                   : median_of(r, list + first[v], m),
                            s.turn ? to - k : k - from, v};
    }
    sort_items(o->items, n);
    n = 0;
    for (uint32_t k = from; k < to; k++) {
        uint32_t v = r->at[k];
        if (first[v + 1] != first[v])
            r->at[k] = o->items[n++].vertex;
    }
    for (uint32_t k = from; k < to; k++)
        r->pos[r->at[k]] = k - from;
    sort_around(o, layer);
}

/* Crossings between the lines of a and b when a is left of b, less those when
 * it is right. Both lists are sorted by place. */
static int64_t swap_gain(const uint32_t *pos, const uint32_t *a, uint32_t na,
                         const uint32_t *b, uint32_t nb)
{
    int64_t left = 0, right = 0;
    for (uint32_t i = 0, lo = 0, hi = 0; i < na; i++) {
        while (lo < nb && pos[b[lo]] < pos[a[i]])
            lo++;
        while (hi < nb && pos[b[hi]] <= pos[a[i]])
            hi++;
        left += lo;
        right += nb - hi;
    }
    return left - right;
}

/* Swaps neighbours where that helps; `even` also where it does no harm, which
 * gets out of some dead ends. Returns the crossings saved. */
static int64_t swap_layer(const orderer *o, uint32_t layer, bool even)
{
    ranked *r = o->r;
    int64_t saved = 0;
    bool changed = false;
    for (uint32_t k = r->first[layer]; k + 1 < r->first[layer + 1]; k++) {
        uint32_t a = r->at[k], b = r->at[k + 1];
        int64_t gain = swap_gain(r->pos, r->up + r->up_first[a],
                                 r->up_first[a + 1] - r->up_first[a],
                                 r->up + r->up_first[b],
                                 r->up_first[b + 1] - r->up_first[b]) +
                       swap_gain(r->pos, r->down + r->down_first[a],
                                 r->down_first[a + 1] - r->down_first[a],
                                 r->down + r->down_first[b],
                                 r->down_first[b + 1] - r->down_first[b]);
        if (gain < 0 || (gain == 0 && !even))
            continue;
        r->at[k] = b;
        r->at[k + 1] = a;
        saved += gain;
        changed = true;
    }
    if (!changed)
        return 0;
    for (uint32_t k = r->first[layer]; k < r->first[layer + 1]; k++)
        r->pos[r->at[k]] = k - r->first[layer];
    sort_around(o, layer);
    return saved;
}

static void swap_all(const orderer *o, bool even)
{
    int64_t saved = 1;
    for (int round = 0; saved > 0 && round < SWAP_ROUNDS; round++) {
        saved = 0;
        for (uint32_t i = 0; i < o->r->n_ranks; i++)
            saved += swap_layer(o, i, even && round == 0);
    }
}

/* Sweeps from the present order; keeps the best in o->best. */
static void sweep_from(const orderer *o, int most, int64_t *least)
{
    ranked *r = o->r;
    size_t bytes = r->n * sizeof *r->at;
    int idle = 0;
    for (int i = 0; i < most && idle < PATIENCE && *least != 0; i++, idle++) {
        const sweep s = {i % 2 == 0, i / 2 % 2, i / 4 % 2};
        for (uint32_t k = 1; i > 0 && k < r->n_ranks; k++)
            sweep_layer(o, s.down ? k : r->n_ranks - 1 - k, s);
        swap_all(o, i / 8 % 2);
        int64_t now = count_crossings(o);
        if (*least < 0 || now < *least) {
            *least = now;
            memcpy(o->best, r->at, bytes);
            idle = 0;
        }
    }
}

/* After r->at changed. */
static void order_settle(const orderer *o)
{
    ranked *r = o->r;
    for (uint32_t i = 0; i < r->n_ranks; i++)
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++)
            r->pos[r->at[k]] = k - r->first[i];
    sort_everywhere(o);
}

/* Takes the best order so far. */
static void order_take_best(const orderer *o)
{
    if (o->r->n)
        memcpy(o->r->at, o->best, o->r->n * sizeof *o->best);
    order_settle(o);
}

/* Sifts the best order so far. */
static bool sift_best(arena *a, const orderer *o, int64_t *work, int64_t *least)
{
    ranked *r = o->r;
    if (*work <= 0 || *least == 0)
        return true;
    order_take_best(o);
    if (!clv__ranked_sift(a, r, work))
        return false;
    order_settle(o);
    swap_all(o, false);
    int64_t now = count_crossings(o);
    if (now < *least) {
        *least = now;
        memcpy(o->best, r->at, r->n * sizeof *r->at);
    }
    return true;
}

/* How many starts the work of one leaves time for. */
static int order_starts(uint32_t work, int sweeps)
{
    int64_t more = START_WORK / ((int64_t)work * sweeps);
    return more > MOST_STARTS - 2 ? MOST_STARTS : (int)more + 2;
}

int64_t clv__ranked_order(arena *a, ranked *r)
{
    size_t n = (size_t)r->n + r->n_ranks + 2;
    orderer o = {r,
                 arena_array(a, n, sizeof *o.fill),
                 arena_array(a, n, sizeof *o.tree),
                 arena_array(a, n, sizeof *o.best),
                 arena_array(a, n, sizeof *o.stack),
                 arena_array(a, n, sizeof *o.items),
                 START_SEED};
    if (!o.fill || !o.tree || !o.best || !o.stack || !o.items)
        return -1;
    uint32_t work = r->n + r->up_first[r->n] + 1;
    int most = (int)(SWEEP_WORK / work);
    most = most > MOST_SWEEPS    ? MOST_SWEEPS
           : most < LEAST_SWEEPS ? LEAST_SWEEPS
                                 : most;
    int64_t least = -1;
    int starts = order_starts(work, most);
    int64_t sift_work = SIFT_WORK;
    for (int start = 0; start < starts && least != 0; start++) {
        if ((start == 2 && least > MOST_CROSSINGS) ||
            (start == FEW_STARTS && least > START_CROSSINGS))
            break;
        if (start % 4 >= 2)
            order_take_best(&o);
        start_order(&o, start % 2 == 0, start >= 2);
        sort_everywhere(&o);
        int64_t before = least;
        sweep_from(&o, most, &least);
        if (least != before && least <= MOST_CROSSINGS &&
            !sift_best(a, &o, &sift_work, &least))
            return -1;
    }
    order_take_best(&o);
    return least < 0 ? 0 : least;
}

/* cluster_sets.c - closed sets, and what remains after each of them costs at
 * least.
 *
 * Sets are found by adding one ready node at a time. The bound on the rest
 * knows times and devices, and nothing of links and memory:
 *
 *     least[I][left] = min over J that hold I, devices g of left, of
 *                      max(time of J - I on g, least[J][left - g]) */
#include "plan/cluster_sets.h"

#include <math.h>
#include <string.h>

enum { SETS_STATES = 1024 }; /* ways in which devices can be left */

typedef struct set_table {
    uint32_t *slots; /* numbers of sets, CLV_NONE: free */
    uint32_t cap;    /* a power of two */
} set_table;

static uint64_t set_hash(const uint64_t *bits, uint32_t words)
{
    uint64_t h = 1469598103934665603u;
    for (uint32_t i = 0; i < words; i++) {
        h = (h ^ bits[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

/* Adds the set that is written behind the last one, unless it is known. */
static void set_keep(closed_sets *s, set_table *t, uint32_t size)
{
    const uint64_t *bits = s->bits + (size_t)s->n * s->words;
    uint32_t i = (uint32_t)set_hash(bits, s->words) & (t->cap - 1);
    for (; t->slots[i] != CLV_NONE; i = (i + 1) & (t->cap - 1))
        if (!memcmp(s->bits + (size_t)t->slots[i] * s->words, bits,
                    s->words * sizeof *bits))
            return;
    t->slots[i] = s->n;
    s->size[s->n++] = size;
}

static bool set_ready(const closed_sets *s, const dag *d, uint32_t set,
                      uint32_t node)
{
    if (sets_has(s, set, node))
        return false;
    for (uint32_t k = d->pred_first[node]; k < d->pred_first[node + 1]; k++)
        if (!sets_has(s, set, d->pred[k]))
            return false;
    return true;
}

/* False when there are too many. */
static bool sets_find(closed_sets *s, const dag *d, set_table *t)
{
    memset(s->bits, 0, s->words * sizeof *s->bits);
    set_keep(s, t, 0);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t x = 0; x < d->n; x++) {
            if (!set_ready(s, d, i, x))
                continue;
            if (s->n == EXACT_SETS)
                return false;
            uint64_t *next = s->bits + (size_t)s->n * s->words;
            memcpy(next, s->bits + (size_t)i * s->words,
                   s->words * sizeof *next);
            next[x / 64] |= UINT64_C(1) << x % 64;
            set_keep(s, t, s->size[i] + 1);
        }
    return true;
}

static bool set_holds(const closed_sets *s, uint32_t big, uint32_t small)
{
    const uint64_t *b = s->bits + (size_t)big * s->words;
    const uint64_t *a = s->bits + (size_t)small * s->words;
    for (uint32_t i = 0; i < s->words; i++)
        if (a[i] & ~b[i])
            return false;
    return true;
}

static exact_state sets_pairs(closed_sets *s)
{
    uint32_t n = 0, cap = s->n * (s->n - 1) / 2 + 1;
    cap = cap < EXACT_PAIRS ? cap : EXACT_PAIRS;
    s->first = arena_array(&s->mem, (size_t)s->n + 1, sizeof *s->first);
    s->out = arena_array(&s->mem, cap, sizeof *s->out);
    if (!s->first || !s->out)
        return EXACT_NO_MEMORY;
    for (uint32_t i = 0; i < s->n; i++) {
        s->first[i] = n;
        for (uint32_t k = i + 1; k < s->n; k++)
            if (s->size[k] > s->size[i] && set_holds(s, k, i)) {
                if (n == cap)
                    return EXACT_TOO_LARGE;
                s->out[n++] = k;
            }
    }
    s->first[s->n] = n;
    return EXACT_READY;
}

/* Devices that cannot run every node are left to the other search. */
static exact_state sets_times(const cluster_job *j, closed_sets *s)
{
    s->done = arena_array(&s->mem, j->n_kinds, sizeof *s->done);
    for (uint32_t k = 0; s->done && k < j->n_kinds; k++) {
        s->done[k] = arena_array(&s->mem, s->n, sizeof **s->done);
        if (!s->done[k])
            return EXACT_NO_MEMORY;
        for (uint32_t i = 0; i < s->n; i++) {
            s->done[k][i] = 0;
            for (uint32_t x = 0; x < j->d.n; x++)
                if (sets_has(s, i, x))
                    s->done[k][i] += j->cost[k][x];
        }
        if (!isfinite(s->done[k][s->n - 1]))
            return EXACT_TOO_LARGE;
    }
    return s->done ? EXACT_READY : EXACT_NO_MEMORY;
}

/* False when there are too many. */
static bool sets_classes(const cluster_job *j, closed_sets *s)
{
    uint32_t count[SETS_CLASSES] = {0};
    for (uint32_t d = 0; d < j->n_devices; d++) {
        uint32_t e = 0;
        while (e < d && (j->kind[e] != j->kind[d] ||
                         j->c->devices[e].memory != j->c->devices[d].memory))
            e++;
        if (e == d && s->n_classes == SETS_CLASSES)
            return false;
        s->class_of[d] = e < d ? s->class_of[e] : s->n_classes++;
        s->kind_of[s->class_of[d]] = j->kind[d];
        count[s->class_of[d]]++;
    }
    s->digit[0] = 1;
    for (uint32_t c = 0; c < s->n_classes; c++)
        s->digit[c + 1] = s->digit[c] * (count[c] + 1);
    return s->digit[s->n_classes] <= SETS_STATES;
}

/* -- the least that the rest takes ----------------------------------------*/

/* Some devices of those that are left. */
typedef struct set_split {
    uint32_t from, to; /* what is left before and after */
    uint32_t devices;
    uint32_t classes; /* a bit per class */
} set_split;

static uint32_t split_digit(const closed_sets *s, uint32_t left, uint32_t c)
{
    return left % s->digit[c + 1] / s->digit[c];
}

/* All ways to take devices of `left`, into out if it is not NULL. */
static uint32_t sets_splits(const closed_sets *s, uint32_t most, set_split *out)
{
    uint32_t n = 0, all = s->digit[s->n_classes];
    for (uint32_t from = 0; from < all; from++)
        for (uint32_t take = 1; take <= from; take++) {
            set_split x = {.from = from, .to = from - take};
            bool fits = true;
            for (uint32_t c = 0; c < s->n_classes; c++) {
                uint32_t k = split_digit(s, take, c);
                fits = fits && k <= split_digit(s, from, c);
                x.devices += k;
                x.classes |= k ? 1u << c : 0;
            }
            if (!fits || x.devices > most)
                continue;
            if (out)
                out[n] = x;
            n++;
        }
    return n;
}

static void least_of_pair(closed_sets *s, uint32_t i, uint32_t k,
                          const set_split *splits, uint32_t n)
{
    double own[1 << SETS_CLASSES];
    double *mine = sets_least(s, i), *theirs = sets_least(s, k);
    own[0] = 0;
    for (uint32_t c = 0; c < s->n_classes; c++) {
        const double *done = s->done[s->kind_of[c]];
        double t = done[k] - done[i];
        for (uint32_t m = 0; m < 1u << c; m++)
            own[m | 1u << c] = fmax(own[m], t);
    }
    for (uint32_t x = 0; x < n; x++) {
        double t = own[splits[x].classes] / splits[x].devices;
        double rest = theirs[splits[x].to];
        t = t > rest ? t : rest;
        if (t < mine[splits[x].from])
            mine[splits[x].from] = t;
    }
}

static exact_state sets_bound(const cluster_job *j, closed_sets *s)
{
    uint32_t most = j->o.replicas ? j->o.replicas : SETS_DEVICES;
    uint32_t n = sets_splits(s, most, NULL), all = s->digit[s->n_classes];
    if ((uint64_t)n * s->first[s->n] > EXACT_WORK)
        return EXACT_TOO_LARGE;
    set_split *splits = arena_array(&s->mem, (size_t)n + 1, sizeof *splits);
    s->least = arena_array(&s->mem, (size_t)s->n * all, sizeof *s->least);
    if (!splits || !s->least)
        return EXACT_NO_MEMORY;
    (void)sets_splits(s, most, splits);
    for (uint32_t i = s->n; i-- > 0;) {
        for (uint32_t x = 0; x < all; x++)
            sets_least(s, i)[x] = i + 1 == s->n ? 0 : INFINITY;
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
            least_of_pair(s, i, s->out[k], splits, n);
    }
    return EXACT_READY;
}

exact_state clv__sets_make(const cluster_job *j, closed_sets *s)
{
    set_table t = {.cap = 8192};
    *s = (closed_sets){.words = j->d.n / 64 + 1};
    if (j->n_devices > SETS_DEVICES || j->d.n >= EXACT_SETS)
        return EXACT_TOO_LARGE;
    size_t bits = ((size_t)EXACT_SETS + 1) * s->words;
    s->bits = arena_array(&s->mem, bits, sizeof *s->bits);
    s->size = arena_array(&s->mem, EXACT_SETS + 1, sizeof *s->size);
    t.slots = arena_array(&s->mem, t.cap, sizeof *t.slots);
    if (!s->bits || !s->size || !t.slots)
        return EXACT_NO_MEMORY;
    memset(t.slots, 0xff, t.cap * sizeof *t.slots);
    if (!sets_find(s, &j->d, &t))
        return EXACT_TOO_LARGE;
    exact_state st = sets_pairs(s);
    if (st == EXACT_READY)
        st = sets_times(j, s);
    if (st == EXACT_READY && !sets_classes(j, s))
        st = EXACT_TOO_LARGE;
    if (st != EXACT_READY)
        return st;
    return j->o.objective == CLV_CLUSTER_LATENCY ? EXACT_READY
                                                 : sets_bound(j, s);
}

/* -- the plan that reaches it ---------------------------------------------*/

/* Finds a next stage, and the devices it takes, with which the least is
 * reached. */
static bool offer_step(const closed_sets *s, uint32_t i, uint32_t left,
                       uint32_t most, uint32_t *to, uint32_t *take)
{
    double least = sets_least(s, i)[left];
    for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
        for (*take = 1; *take <= left; ++*take) {
            double own = 0;
            uint32_t n = 0;
            bool fits = true;
            *to = s->out[k];
            if (sets_least(s, *to)[left - *take] > least)
                continue;
            for (uint32_t c = 0; c < s->n_classes; c++) {
                const double *done = s->done[s->kind_of[c]];
                uint32_t x = split_digit(s, *take, c);
                fits = fits && x <= split_digit(s, left, c);
                n += x;
                own = x ? fmax(own, done[*to] - done[i]) : own;
            }
            if (fits && n <= most && own / n <= least)
                return true;
        }
    return false;
}

/* Gives the stage the first free devices of each class. */
static void offer_devices(const cluster_job *j, const closed_sets *s,
                          uint32_t take, bool *used, cluster_draft *d)
{
    uint32_t *end = &d->first[d->n_stages + 1];
    *end = d->first[d->n_stages];
    for (uint32_t c = 0; c < s->n_classes; c++) {
        uint32_t x = split_digit(s, take, c);
        for (uint32_t i = 0; i < j->n_devices && x; i++) {
            if (used[i] || s->class_of[i] != c)
                continue;
            used[i] = true;
            d->devices[(*end)++] = i;
            x--;
        }
    }
}

bool clv__sets_offer(cluster_job *j, const closed_sets *s)
{
    arena a = {0};
    bool used[SETS_DEVICES] = {false};
    uint32_t most = j->o.replicas ? j->o.replicas : SETS_DEVICES;
    uint32_t left = s->digit[s->n_classes] - 1, set = 0, to, take;
    cluster_draft d = {
        .of = arena_array(&a, (size_t)j->d.n + 1, sizeof *d.of),
        .first = arena_zalloc(&a, (SETS_DEVICES + 2) * sizeof *d.first),
        .devices = arena_array(&a, SETS_DEVICES + 1, sizeof *d.devices)};
    bool ok = d.of && d.first && d.devices;
    while (ok && set + 1 < s->n && offer_step(s, set, left, most, &to, &take)) {
        for (uint32_t x = 0; x < j->d.n; x++)
            if (!sets_has(s, set, x) && sets_has(s, to, x))
                d.of[x] = d.n_stages;
        offer_devices(j, s, take, used, &d);
        d.n_stages++;
        set = to;
        left -= take;
    }
    bool within = !j->o.stages || d.n_stages <= j->o.stages;
    if (ok && set + 1 == s->n && within)
        ok = clv__cluster_offer(j, &d);
    arena_free(&a);
    return ok;
}

void clv__sets_free(closed_sets *s)
{
    arena_free(&s->mem);
}

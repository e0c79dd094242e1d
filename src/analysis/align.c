/* align.c - pairs the nodes of two graphs.
 *
 * Rounds go from sure to likely. Each gives every node a label (structure.h):
 * first all that a node depends on and all that depends on it, then less and
 * less of its surroundings, and shapes only as long as that helps. Nodes that
 * were paired divide the two orders into gaps,
 *
 *     A   a b c | x y | f g        what lies between the same two pairs may be
 *     B   a b c | x z y | f g      paired; a longest common run of labels is
 *
 * and what is left is paired along links: the reader of a pair's first node
 * with the reader of its second. Arithmetic alone comes first, since exporters
 * differ in how they move data, then all nodes.
 *
 * Names count where they tell something. One that ends in a number and does not
 * begin with its module ("node_conv2d_5") is a count, and shifts when something
 * is put before it. */
#include "analysis/align.h"

#include "analysis/structure.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* Differences of two lists that are looked for; lists that differ in more are
 * divided at labels that both have once. */
enum { MOST_DIFFERENCES = 500 };

typedef struct aligner {
    const clv_graph *g[2];
    structure s[2];
    uint64_t *label[2];
    alignment *out;
    arena scratch; /* of one round */
} aligner;

/* Places of both that may be paired, in order. */
typedef struct align_gap {
    const uint32_t *a, *b;
    uint32_t n, m;
} align_gap;

static void align_pair(aligner *x, uint32_t i, uint32_t j)
{
    x->out->to[i] = j;
    x->out->from[j] = i;
    x->out->pairs++;
}

static void pair_places(aligner *x, uint32_t p, uint32_t q)
{
    align_pair(x, x->s[0].node[p], x->s[1].node[q]);
}

static bool align_free_place(const aligner *x, int side, uint32_t p)
{
    const uint32_t *partner = side ? x->out->from : x->out->to;
    return partner[x->s[side].node[p]] == CLV_NONE;
}

/* -- by label, wherever they are ------------------------------------------*/

typedef struct labelled {
    uint64_t label;
    uint32_t place;
} labelled;

static int by_label(const void *a, const void *b)
{
    const labelled *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static labelled *sorted_labels(aligner *x, int side, uint32_t *n)
{
    const structure *s = &x->s[side];
    labelled *list = arena_array(&x->scratch, (size_t)s->n + 1, sizeof *list);
    *n = 0;
    for (uint32_t p = 0; list && p < s->n; p++)
        if (align_free_place(x, side, p))
            list[(*n)++] = (labelled){x->label[side][p], p};
    if (list)
        qsort(list, *n, sizeof *list, by_label);
    return list;
}

/* Pairs nodes whose whole surroundings are the same, if as many in one graph
 * as in the other have them. */
static bool pair_classes(aligner *x)
{
    uint32_t n, m, i = 0, j = 0;
    labelled *a = sorted_labels(x, 0, &n), *b = sorted_labels(x, 1, &m);
    if (!a || !b)
        return false;
    while (i < n && j < m) {
        uint64_t label = a[i].label < b[j].label ? a[i].label : b[j].label;
        uint32_t k = i, l = j;
        while (k < n && a[k].label == label)
            k++;
        while (l < m && b[l].label == label)
            l++;
        for (uint32_t t = 0; k - i == l - j && t < k - i; t++)
            pair_places(x, a[i + t].place, b[j + t].place);
        i = k;
        j = l;
    }
    return true;
}

/* -- by label, in order ---------------------------------------------------*/

/* Keeps of keys[0..n), a list of different numbers, a longest increasing part:
 * marks it in keep[]. tail and back have room for n. */
static void longest_increasing(const uint32_t *keys, uint32_t n, uint8_t *keep,
                               uint32_t *tail, uint32_t *back)
{
    uint32_t len = 0;
    memset(keep, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lo = 0, hi = len;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (keys[tail[mid]] < keys[i])
                lo = mid + 1;
            else
                hi = mid;
        }
        back[i] = lo ? tail[lo - 1] : CLV_NONE;
        tail[lo] = i;
        len += lo == len;
    }
    for (uint32_t i = len ? tail[len - 1] : CLV_NONE; i != CLV_NONE;
         i = back[i])
        keep[i] = 1;
}

/* Myers' O(ND): reach[k] is how far d differences lead on diagonal k, rows[d]
 * what it was before the d-th, so that the way can be walked back. */
typedef struct shortest {
    int *reach, **rows;
    int d, k; /* differences in all, and the diagonal of the end */
} shortest;

static int step_from(const int *reach, int d, int k)
{
    return k == -d || (k != d && reach[k - 1] < reach[k + 1]) ? k + 1 : k - 1;
}

static int step_start(const int *reach, int d, int k)
{
    int from = step_from(reach, d, k);
    return from > k ? reach[from] : reach[from] + 1;
}

/* Takes one more difference; true when it leads to the end of both. */
static bool shortest_step(const aligner *x, align_gap t, shortest *y)
{
    const uint64_t *la = x->label[0], *lb = x->label[1];
    int n = (int)t.n, m = (int)t.m;
    for (y->k = -y->d; y->k <= y->d; y->k += 2) {
        int i = step_start(y->rows[y->d], y->d, y->k), k = y->k;
        while (i < n && i - k < m && la[t.a[i]] == lb[t.b[i - k]])
            i++;
        y->reach[k] = i;
        if (i >= n && i - k >= m)
            return true;
    }
    return false;
}

static void shortest_back(aligner *x, align_gap t, const shortest *y)
{
    int i = (int)t.n, k = y->k;
    for (int d = y->d; d >= 0; d--) {
        const int *row = y->rows[d];
        int start = d ? step_start(row, d, k) : 0, from = step_from(row, d, k);
        for (; i > start; i--)
            pair_places(x, t.a[i - 1], t.b[i - 1 - k]);
        i = row[from];
        k = from;
    }
}

/* Pairs along a shortest list of differences; *found: there is one. */
static bool pair_shortest(aligner *x, align_gap t, bool *found)
{
    size_t all = (size_t)t.n + t.m;
    int most = all < MOST_DIFFERENCES ? (int)all : MOST_DIFFERENCES;
    size_t width = (size_t)most * 2 + 3;
    int *reach = arena_zalloc(&x->scratch, width * sizeof *reach);
    shortest y = {
        .rows = arena_array(&x->scratch, (size_t)most + 1, sizeof *y.rows)};
    *found = false;
    if (!reach || !y.rows)
        return false;
    y.reach = reach + most + 1;
    for (; !*found && y.d <= most; y.d++) {
        size_t row = (size_t)y.d * 2 + 3;
        int *copy = arena_array(&x->scratch, row, sizeof *copy);
        if (!copy)
            return false;
        memcpy(copy, y.reach - y.d - 1, row * sizeof *copy);
        y.rows[y.d] = copy + y.d + 1;
        *found = shortest_step(x, t, &y);
        y.d -= *found; /* it stays that of the end */
    }
    if (*found)
        shortest_back(x, t, &y);
    return true;
}

/* Pairs labels that both lists have once, as far as they are in one order. */
static bool pair_unique(aligner *x, align_gap t)
{
    size_t room = t.n < t.m ? t.n : t.m;
    labelled *a = arena_array(&x->scratch, (size_t)t.n + 1, sizeof *a);
    labelled *b = arena_array(&x->scratch, (size_t)t.m + 1, sizeof *b);
    uint32_t *at = arena_array(&x->scratch, (size_t)t.n + 1, sizeof *at);
    uint32_t *keys = arena_array(&x->scratch, 3 * room + 3, sizeof *keys);
    uint32_t *mine = arena_array(&x->scratch, room + 1, sizeof *mine);
    uint8_t *keep = arena_alloc(&x->scratch, room + 1);
    uint32_t n = 0;
    if (!a || !b || !at || !keys || !mine || !keep)
        return false;
    for (uint32_t i = 0; i < t.n; i++)
        a[i] = (labelled){x->label[0][t.a[i]], i};
    for (uint32_t i = 0; i < t.m; i++)
        b[i] = (labelled){x->label[1][t.b[i]], i};
    qsort(a, t.n, sizeof *a, by_label);
    qsort(b, t.m, sizeof *b, by_label);
    memset(at, 0xff, ((size_t)t.n + 1) * sizeof *at);
    for (uint32_t i = 0, j = 0; i < t.n && j < t.m;) {
        uint32_t k = i, l = j;
        uint64_t label = a[i].label < b[j].label ? a[i].label : b[j].label;
        while (k < t.n && a[k].label == label)
            k++;
        while (l < t.m && b[l].label == label)
            l++;
        if (k - i == 1 && l - j == 1)
            at[a[i].place] = b[j].place;
        i = k;
        j = l;
    }
    for (uint32_t i = 0; i < t.n; i++)
        if (at[i] != CLV_NONE) {
            mine[n] = i;
            keys[n++] = at[i];
        }
    longest_increasing(keys, n, keep, keys + room + 1, keys + 2 * room + 2);
    for (uint32_t i = 0; i < n; i++)
        if (keep[i])
            pair_places(x, t.a[mine[i]], t.b[keys[i]]);
    return true;
}

static bool pair_gap(aligner *x, align_gap t, bool *again)
{
    const uint64_t *la = x->label[0], *lb = x->label[1];
    bool found = true;
    while (t.n && t.m && la[t.a[0]] == lb[t.b[0]]) {
        pair_places(x, *t.a++, *t.b++);
        t.n--;
        t.m--;
    }
    while (t.n && t.m && la[t.a[t.n - 1]] == lb[t.b[t.m - 1]])
        pair_places(x, t.a[--t.n], t.b[--t.m]);
    if (!t.n || !t.m)
        return true;
    arena_mark mark = arena_save(&x->scratch);
    uint32_t before = x->out->pairs;
    bool ok = pair_shortest(x, t, &found) && (found || pair_unique(x, t));
    *again = *again || (!found && x->out->pairs > before);
    arena_rewind(&x->scratch, mark);
    return ok;
}

/* Nodes that are paired, in the order of the first graph: a longest part of
 * them that is in the order of the second too divides both. */
static bool find_anchors(aligner *x, uint32_t **first, uint32_t **second,
                         uint32_t *n)
{
    const structure *s = &x->s[0], *t = &x->s[1];
    size_t room = (size_t)s->n + 1;
    uint32_t *p = arena_array(&x->scratch, room, sizeof *p);
    uint32_t *q = arena_array(&x->scratch, room, sizeof *q);
    uint32_t *rest = arena_array(&x->scratch, 2 * room, sizeof *rest);
    uint8_t *keep = arena_alloc(&x->scratch, room);
    uint32_t count = 0;
    if (!p || !q || !rest || !keep)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t partner = x->out->to[s->node[i]];
        if (partner == CLV_NONE || t->place[partner] == CLV_NONE)
            continue;
        p[count] = i;
        q[count++] = t->place[partner];
    }
    longest_increasing(q, count, keep, rest, rest + room);
    *n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (keep[i]) {
            p[*n] = p[i];
            q[(*n)++] = q[i];
        }
    *first = p;
    *second = q;
    return true;
}

static bool pair_gaps(aligner *x, bool *again)
{
    uint32_t *p, *q, n;
    uint32_t *a = arena_array(&x->scratch, (size_t)x->s[0].n + 1, sizeof *a);
    uint32_t *b = arena_array(&x->scratch, (size_t)x->s[1].n + 1, sizeof *b);
    if (!a || !b || !find_anchors(x, &p, &q, &n))
        return false;
    for (uint32_t i = 0, from = 0, start = 0; i <= n; i++) {
        uint32_t end = i < n ? p[i] : x->s[0].n;
        uint32_t stop = i < n ? q[i] : x->s[1].n;
        align_gap t = {.a = a, .b = b};
        for (; from < end; from++)
            if (align_free_place(x, 0, from))
                a[t.n++] = from;
        for (; start < stop; start++)
            if (align_free_place(x, 1, start))
                b[t.m++] = start;
        if (t.n && t.m && !pair_gap(x, t, again))
            return false;
        from = end + 1;
        start = stop + 1;
    }
    return true;
}

typedef struct align_round {
    structure_grain grain;
    structure_context context;
    uint32_t radius;
    bool sure;
} align_round;

/* Two ways down, since neither is always best: surroundings keep blocks that
 * repeat in step when much was changed, single operators when little was. What
 * keeps more as it was is taken. */
static const align_round align_around[] = {
    {STRUCTURE_EXACT, STRUCTURE_BOTH, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_UP, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_DOWN, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_NEAR, 3, true},
    {STRUCTURE_FORM, STRUCTURE_UP, 0, true},
    {STRUCTURE_FORM, STRUCTURE_DOWN, 0, true},
    {STRUCTURE_FORM, STRUCTURE_NEAR, 3, true},
    {STRUCTURE_EXACT, STRUCTURE_NEAR, 1, false},
    {STRUCTURE_FORM, STRUCTURE_NEAR, 1, false},
    {STRUCTURE_KIND, STRUCTURE_NEAR, 2, false},
    {STRUCTURE_EXACT, STRUCTURE_NEAR, 0, false},
    {STRUCTURE_FORM, STRUCTURE_NEAR, 0, false},
    {STRUCTURE_KIND, STRUCTURE_NEAR, 0, false},
};

static const align_round align_single[] = {
    {STRUCTURE_EXACT, STRUCTURE_BOTH, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_UP, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_DOWN, 0, true},
    {STRUCTURE_EXACT, STRUCTURE_NEAR, 0, true},
    {STRUCTURE_FORM, STRUCTURE_NEAR, 0, false},
    {STRUCTURE_KIND, STRUCTURE_NEAR, 0, false},
};

typedef struct align_way {
    const align_round *rounds;
    size_t n;
} align_way;

static const align_way align_ways[] = {
    {align_around, sizeof align_around / sizeof *align_around},
    {align_single, sizeof align_single / sizeof *align_single},
};

enum { N_WAYS = sizeof align_ways / sizeof *align_ways, MOST_REPEATS = 8 };

static bool run_round(aligner *x, const align_round *r)
{
    arena_mark mark = arena_save(&x->scratch);
    uint32_t before = x->out->pairs;
    bool ok = true, again = true;
    for (int i = 0; ok && i < 2; i++) {
        x->label[i] = clv__structure_labels(&x->scratch, &x->s[i], r->grain,
                                            r->context, r->radius);
        ok = x->label[i] != NULL;
    }
    if (ok && r->context == STRUCTURE_BOTH)
        ok = pair_classes(x);
    for (int i = 0; ok && again && i < MOST_REPEATS; i++) {
        arena_mark inner = arena_save(&x->scratch);
        again = false;
        ok = pair_gaps(x, &again);
        arena_rewind(&x->scratch, inner);
    }
    x->out->sure += r->sure ? x->out->pairs - before : 0;
    arena_rewind(&x->scratch, mark);
    return ok;
}

/* -- along links ----------------------------------------------------------*/

/* How well places p and q fit, given that they meet at a pair; 0: not at all.
 * Two operators that do different things fit only if pairs lie on both sides:
 * then one was put in the place of the other. */
static uint32_t align_fit(const aligner *x, uint32_t p, uint32_t q)
{
    const structure *s = &x->s[0], *t = &x->s[1];
    uint32_t before = 0, after = 0;
    for (uint32_t i = s->in_first[p]; i < s->in_first[p + 1]; i++)
        for (uint32_t k = t->in_first[q]; k < t->in_first[q + 1]; k++) {
            uint32_t u = s->in[i].place, v = t->in[k].place;
            before += u != CLV_NONE && v != CLV_NONE &&
                      x->out->to[s->node[u]] == t->node[v];
        }
    for (uint32_t i = s->out_first[p]; i < s->out_first[p + 1]; i++)
        for (uint32_t k = t->out_first[q]; k < t->out_first[q + 1]; k++)
            after += x->out->to[s->node[s->out[i].place]] ==
                     t->node[t->out[k].place];
    bool same = s->g->nodes[s->node[p]].op == t->g->nodes[t->node[q]].op;
    bool ends = s->out_first[p] == s->out_first[p + 1] &&
                t->out_first[q] == t->out_first[q + 1];
    bool fits = same ? before || after : before && (after || ends);
    return fits ? (same ? 5U : 1U) + (before > 0) + (after > 0) : 0;
}

/* Neighbours of a node with more links than this are not looked at. */
enum { MOST_LINKS = 64 };

static uint32_t best_reader(const aligner *x, uint32_t p, uint32_t from,
                            uint32_t best, uint32_t *score)
{
    const structure *t = &x->s[1];
    if (t->out_first[from + 1] - t->out_first[from] > MOST_LINKS)
        return best;
    for (uint32_t k = t->out_first[from]; k < t->out_first[from + 1]; k++) {
        uint32_t q = t->out[k].place, f;
        if (align_free_place(x, 1, q) && (f = align_fit(x, p, q)) > *score) {
            *score = f;
            best = q;
        }
    }
    return best;
}

static uint32_t best_source(const aligner *x, uint32_t p, uint32_t reader,
                            uint32_t best, uint32_t *score)
{
    const structure *t = &x->s[1];
    if (t->in_first[reader + 1] - t->in_first[reader] > MOST_LINKS)
        return best;
    for (uint32_t k = t->in_first[reader]; k < t->in_first[reader + 1]; k++) {
        uint32_t q = t->in[k].place, f;
        if (q != CLV_NONE && align_free_place(x, 1, q) &&
            (f = align_fit(x, p, q)) > *score) {
            *score = f;
            best = q;
        }
    }
    return best;
}

/* The free node of the second graph that fits p best, next to its partners. */
static uint32_t best_near(const aligner *x, uint32_t p)
{
    const structure *s = &x->s[0], *t = &x->s[1];
    uint32_t best = CLV_NONE, score = 0, y;
    uint32_t ins = s->in_first[p + 1] - s->in_first[p];
    uint32_t outs = s->out_first[p + 1] - s->out_first[p];
    if (ins > MOST_LINKS || outs > MOST_LINKS)
        return CLV_NONE;
    for (uint32_t i = s->in_first[p]; i < s->in_first[p + 1]; i++)
        if (s->in[i].place != CLV_NONE &&
            (y = x->out->to[s->node[s->in[i].place]]) != CLV_NONE &&
            t->place[y] != CLV_NONE)
            best = best_reader(x, p, t->place[y], best, &score);
    for (uint32_t i = s->out_first[p]; i < s->out_first[p + 1]; i++)
        if ((y = x->out->to[s->node[s->out[i].place]]) != CLV_NONE &&
            t->place[y] != CLV_NONE)
            best = best_source(x, p, t->place[y], best, &score);
    return best;
}

static void pair_neighbours(aligner *x)
{
    for (uint32_t before = CLV_NONE, i = 0;
         before != x->out->pairs && i < MOST_REPEATS; i++) {
        before = x->out->pairs;
        for (uint32_t k = 0; k < x->s[0].n; k++) {
            uint32_t p = i % 2 ? x->s[0].n - 1 - k : k, q;
            if (align_free_place(x, 0, p) && (q = best_near(x, p)) != CLV_NONE)
                pair_places(x, p, q);
        }
    }
}

static bool align_structures(aligner *x, const align_way *way,
                             bool arithmetic_only)
{
    arena_mark mark = arena_save(&x->scratch);
    bool ok = true;
    for (int i = 0; ok && i < 2; i++)
        ok =
            clv__structure_new(&x->scratch, x->g[i], arithmetic_only, &x->s[i]);
    for (size_t i = 0; ok && i < way->n; i++)
        ok = run_round(x, &way->rounds[i]);
    if (ok)
        pair_neighbours(x);
    arena_rewind(&x->scratch, mark);
    return ok;
}

/* -- by name --------------------------------------------------------------*/

static bool name_telling(const clv_graph *g, const clv_node *n)
{
    const char *path = g->scopes[n->scope].path;
    size_t len = strlen(n->name), own = strlen(path);
    return len && (!clv__is_digit(n->name[len - 1]) ||
                   (own && !strncmp(n->name, path, own)));
}

/* Pairs nodes of one telling name; with `same`, only if the operator is the
 * same too. */
static bool pair_names(aligner *x, bool same)
{
    const clv_graph *a = x->g[0], *b = x->g[1];
    strmap names = {0};
    bool ok = true;
    for (uint32_t j = 0; ok && j < b->n_nodes; j++) {
        const clv_node *n = &b->nodes[j];
        if (x->out->from[j] == CLV_NONE && name_telling(b, n))
            ok = strmap_put(&names, n->name, strlen(n->name), j);
    }
    for (uint32_t i = 0; ok && i < a->n_nodes; i++) {
        const clv_node *n = &a->nodes[i];
        if (x->out->to[i] != CLV_NONE || !name_telling(a, n))
            continue;
        uint32_t j = strmap_get(&names, n->name, strlen(n->name));
        if (j != CLV_NONE && x->out->from[j] == CLV_NONE &&
            (!same || b->nodes[j].op == n->op))
            align_pair(x, i, j);
    }
    strmap_free(&names);
    return ok;
}

/* Numbers the operators of each type in each module: "layer1.0 conv2d", 2. The
 * keys are shared by both graphs. */
static bool count_in_modules(aligner *x, int side, strmap *keys,
                             uint32_t *counts, uint32_t *key, uint32_t *nth)
{
    const clv_graph *g = x->g[side];
    const uint32_t *partner = side ? x->out->from : x->out->to;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node *n = &g->nodes[i];
        key[i] = CLV_NONE;
        if (partner[i] != CLV_NONE || n->scope == 0)
            continue;
        char *text =
            arena_printf(&x->scratch, "%s %s", g->scopes[n->scope].path,
                         clv__op_name((clv_op)n->op));
        uint32_t next = keys->n;
        bool added;
        uint32_t *row =
            text ? strmap_add(keys, text, strlen(text), next, &added) : NULL;
        if (!row)
            return false;
        key[i] = *row;
        nth[i] = counts[*row]++;
    }
    return true;
}

/* Pairs the k-th operator of a type in a module with its like, where both
 * modules have as many. */
static bool pair_modules(aligner *x)
{
    size_t n = x->g[0]->n_nodes, m = x->g[1]->n_nodes, all = n + m + 1;
    uint32_t *key = arena_array(&x->scratch, all, sizeof *key);
    uint32_t *nth = arena_array(&x->scratch, all, sizeof *nth);
    uint32_t *counts = arena_zalloc(&x->scratch, 3 * all * sizeof *counts);
    uint32_t *list = arena_array(&x->scratch, all, sizeof *list);
    strmap keys = {0};
    bool ok = key && nth && counts && list &&
              count_in_modules(x, 0, &keys, counts, key, nth) &&
              count_in_modules(x, 1, &keys, counts + all, key + n, nth + n);
    uint32_t *first = counts + 2 * all; /* of each key, in the list */
    for (uint32_t k = 0, sum = 0; ok && k < keys.n; k++) {
        first[k] = sum;
        sum += counts[k];
    }
    for (uint32_t i = 0; ok && i < n; i++)
        if (key[i] != CLV_NONE)
            list[first[key[i]] + nth[i]] = i;
    for (uint32_t j = 0; ok && j < m; j++) {
        uint32_t k = key[n + j];
        if (k != CLV_NONE && counts[k] == counts[all + k])
            align_pair(x, list[first[k] + nth[n + j]], j);
    }
    strmap_free(&keys);
    return ok;
}

/* Names decide if they are those of most nodes. */
static bool align_names(aligner *x)
{
    size_t n = x->g[0]->n_nodes, m = x->g[1]->n_nodes;
    arena_mark mark = arena_save(&x->scratch);
    bool ok = pair_names(x, true) && pair_modules(x);
    arena_rewind(&x->scratch, mark);
    if (ok && 2 * (uint64_t)x->out->pairs < (n < m ? n : m)) {
        memset(x->out->to, 0xff, (n + 1) * sizeof *x->out->to);
        memset(x->out->from, 0xff, (m + 1) * sizeof *x->out->from);
        x->out->pairs = 0;
    }
    x->out->sure = x->out->pairs;
    return ok;
}

/* -- all ------------------------------------------------------------------*/

/* How much of the first graph an alignment keeps: nodes that are exactly the
 * same, and links between pairs. */
static bool align_score(aligner *x, uint64_t *score)
{
    arena_mark mark = arena_save(&x->scratch);
    const uint32_t *to = x->out->to;
    structure s, t;
    uint64_t *a = NULL, *b = NULL;
    *score = 0;
    if (clv__structure_new(&x->scratch, x->g[0], false, &s) &&
        clv__structure_new(&x->scratch, x->g[1], false, &t)) {
        a = clv__structure_labels(&x->scratch, &s, STRUCTURE_EXACT,
                                  STRUCTURE_NEAR, 0);
        b = clv__structure_labels(&x->scratch, &t, STRUCTURE_EXACT,
                                  STRUCTURE_NEAR, 0);
    }
    for (uint32_t p = 0; a && b && p < s.n; p++) {
        uint32_t y = to[s.node[p]], q = y == CLV_NONE ? CLV_NONE : t.place[y];
        if (q == CLV_NONE)
            continue;
        *score += a[p] == b[q];
        uint32_t n = s.in_first[p + 1] - s.in_first[p];
        uint32_t m = t.in_first[q + 1] - t.in_first[q];
        for (uint32_t i = 0; i < n && i < m; i++) {
            uint32_t u = s.in[s.in_first[p] + i].place;
            uint32_t v = t.in[t.in_first[q] + i].place;
            *score +=
                u != CLV_NONE && v != CLV_NONE && to[s.node[u]] == t.node[v];
        }
    }
    arena_rewind(&x->scratch, mark);
    return a && b;
}

static bool align_one_way(aligner *x, const align_way *way, bool names)
{
    alignment *out = x->out;
    size_t n = (size_t)x->g[0]->n_nodes + 1, m = (size_t)x->g[1]->n_nodes + 1;
    out->to = arena_array(&out->mem, n, sizeof *out->to);
    out->from = arena_array(&out->mem, m, sizeof *out->from);
    if (!out->to || !out->from)
        return false;
    memset(out->to, 0xff, n * sizeof *out->to);
    memset(out->from, 0xff, m * sizeof *out->from);
    return (!names || align_names(x)) && align_structures(x, way, true) &&
           align_structures(x, way, false) && (!names || pair_names(x, false));
}

clv_status clv__align(const clv_graph *a, const clv_graph *b, bool names,
                      alignment *out, clv_err *e)
{
    aligner x = {.g = {a, b}};
    uint64_t best = 0;
    bool ok = true;
    *out = (alignment){0};
    for (int i = 0; ok && i < N_WAYS; i++) {
        alignment one = {0};
        uint64_t score;
        x.out = &one;
        ok =
            align_one_way(&x, &align_ways[i], names) && align_score(&x, &score);
        bool better = ok && (i == 0 || score > best);
        if (better) {
            clv__align_free(out);
            *out = one;
            best = score;
        } else
            clv__align_free(&one);
    }
    arena_free(&x.scratch);
    if (!ok)
        clv__align_free(out);
    return ok ? CLV_OK : clv__nomem(e);
}

void clv__align_free(alignment *x)
{
    arena_free(&x->mem);
    *x = (alignment){0};
}

/* test_label.c - the fewest blocks: brute force over every small DAG, and the
 * methods of others on large ones.
 *
 * The brute force knows nothing of labels. Blocks that can run one after
 * another are a chain of sets of nodes, each closed under predecessors; over
 * all such chains it takes the one with the fewest steps that each have a
 * device all their nodes may run on. Up to five nodes it is itself compared
 * with every partition into sets whose quotient has no cycle. */
#include "check.h"
#include "cut/blocks.h"
#include "random_graph.h"

#include <stdlib.h>

enum { SMALL = 7, SETS = 1 << SMALL, PARTITIONS_MAX = 52 /* Bell(5) */ };

/* Sanitizers make all of this twenty times slower: there, a sample. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { EVERY = 61 };
#else
enum { EVERY = 1 };
#endif

static arena mem;

/* -- every DAG of n nodes -------------------------------------------------*/

typedef struct small {
    uint32_t edges;
    int n;
    uint8_t pred[SMALL];   /* sets of nodes as bits */
    uint8_t before[SMALL]; /* all that reach it */
    uint8_t closed[SETS];  /* sets that hold all predecessors, ascending */
    int n_closed;
    uint32_t first[SMALL + 1], list[SMALL * SMALL];
    dag d;
} small;

/* Edges are a bit per pair i < j, in order of j and then i. */
static void small_of(uint32_t edges, int n, small *s)
{
    uint8_t need[SETS] = {0};
    uint32_t at = 0;
    s->edges = edges;
    s->n = n;
    for (int j = 0; j < n; j++) {
        s->pred[j] = (uint8_t)(edges >> (j * (j - 1) / 2) & ((1u << j) - 1));
        s->before[j] = s->pred[j];
        s->first[j] = at;
        for (uint32_t i = 0; i < (uint32_t)j; i++)
            if (s->pred[j] >> i & 1) {
                s->before[j] |= s->before[i];
                s->list[at++] = i;
            }
    }
    s->first[n] = at;
    s->d = (dag){.n = (uint32_t)n, .pred_first = s->first, .pred = s->list};
    s->closed[0] = 0;
    s->n_closed = 1;
    for (int last = 0; last < n; last++)
        for (int rest = 0; rest < 1 << last; rest++) {
            int set = rest | 1 << last;
            need[set] = need[rest] | s->pred[last];
            if (!(need[set] & ~set))
                s->closed[s->n_closed++] = (uint8_t)set;
        }
}

/* The least number of blocks, and of blocks that the CPU cannot run. */
typedef struct least {
    uint8_t all, there;
} least;

static least fewest(const small *s, const uint8_t *side)
{
    uint8_t common[SETS] = {CLV_SIDE_EITHER};
    least best[SETS] = {{0, 0}};
    for (int last = 0; last < s->n; last++)
        for (int rest = 0; rest < 1 << last; rest++)
            common[rest | 1 << last] = common[rest] & side[last];
    for (int k = 1; k < s->n_closed; k++) {
        uint8_t to = s->closed[k];
        least b = {SMALL + 1, SMALL + 1};
        for (int i = 0; i < k; i++) {
            uint8_t from = s->closed[i], both = common[to & ~from];
            if (from & ~to || !both)
                continue;
            least x = best[from];
            x.all++;
            x.there = (uint8_t)(x.there + !(both & CLV_SIDE_CPU));
            b.all = x.all < b.all ? x.all : b.all;
            b.there = x.there < b.there ? x.there : b.there;
        }
        best[to] = b;
    }
    return best[s->closed[s->n_closed - 1]];
}

/* -- every partition of n nodes -------------------------------------------*/

typedef struct partition {
    uint8_t of[SMALL];
    uint8_t n;
} partition;

static partition parts[PARTITIONS_MAX];
static int n_parts;

static void enumerate(partition p, int at, int n)
{
    if (at == n) {
        parts[n_parts++] = p;
        return;
    }
    for (uint8_t b = 0; b <= p.n; b++) {
        partition q = p;
        q.of[at] = b;
        q.n = b == p.n ? (uint8_t)(p.n + 1) : p.n;
        enumerate(q, at + 1, n);
    }
}

static bool quotient_acyclic(const partition *p, const small *s)
{
    bool reach[SMALL][SMALL] = {{false}};
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < j; i++)
            if (s->pred[j] >> i & 1 && p->of[i] != p->of[j])
                reach[p->of[i]][p->of[j]] = true;
    for (int k = 0; k < p->n; k++)
        for (int i = 0; i < p->n; i++)
            for (int j = 0; j < p->n; j++)
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
    for (int i = 0; i < p->n; i++)
        if (reach[i][i])
            return false;
    return true;
}

/* Blocks of p if each has a device, else a number too large. */
static int blocks_if_allowed(const partition *p, const uint8_t *side, int n)
{
    uint8_t left[SMALL];
    memset(left, CLV_SIDE_EITHER, sizeof left);
    for (int i = 0; i < n; i++)
        left[p->of[i]] &= side[i];
    for (int b = 0; b < p->n; b++)
        if (!left[b])
            return SMALL + 1;
    return p->n;
}

static int fewest_of_partitions(const small *s, const uint8_t *side,
                                const bool *acyclic)
{
    int least_n = SMALL + 1;
    for (int p = 0; p < n_parts; p++)
        if (acyclic[p] && parts[p].n < least_n) {
            int b = blocks_if_allowed(&parts[p], side, s->n);
            least_n = b < least_n ? b : least_n;
        }
    return least_n;
}

/* -- ours -----------------------------------------------------------------*/

/* Labels never fall along an edge, and lie on an allowed device. */
static bool valid(const dag *d, const uint8_t *side, const labels *l)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (l->of[i] >= l->n || !(side[i] & label_side(l, l->of[i])))
            return false;
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            if (l->of[d->pred[k]] > l->of[i])
                return false;
    }
    return true;
}

/* A path of nodes that are each for one device only, devices alternating. */
static bool alternates(const small *s, const uint8_t *side,
                       const uint32_t *path, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (side[path[i]] == CLV_SIDE_EITHER)
            return false;
        if (i && (side[path[i]] == side[path[i - 1]] ||
                  !(s->before[path[i]] >> path[i - 1] & 1)))
            return false;
    }
    return true;
}

/* Whether the witnesses of both starts prove that k is the least. */
static bool proves(const small *s, const uint8_t *side, const labels l[2],
                   uint32_t k)
{
    uint32_t path[2][SMALL + 1], n[2], best = clv__label_best(l, false);
    for (int b = 0; b < 2; b++) {
        n[b] = clv__label_witness(&mem, &s->d, side, &l[b ? !best : best],
                                  path[b]);
        if (!alternates(s, side, path[b], n[b]))
            return false;
        if (n[b] >= k)
            return n[b] == k;
    }
    return k <= 1 || (n[0] == k - 1 && n[1] == k - 1 &&
                      side[path[0][0]] != side[path[1][0]]);
}

static long checked;

static void check_one(const small *s, const uint8_t *side)
{
    arena_mark m = arena_save(&mem);
    labels l[2];
    least want = fewest(s, side);
    bool ok = clv__label(&mem, &s->d, side, l);
    uint32_t k = l[clv__label_best(l, false)].n;
    uint32_t a = clv__label_accelerator(&l[clv__label_best(l, true)]);
    if (!ok || k != want.all || a != want.there || !valid(&s->d, side, &l[0]) ||
        !valid(&s->d, side, &l[1]) || !proves(s, side, l, k))
        check_that(0, __FILE__, __LINE__,
                   "n %d edges %#x sides %u%u%u%u%u%u%u: %u, want %d; on the "
                   "accelerator %u, want %d",
                   s->n, s->edges, side[0], side[1], side[2], side[3], side[4],
                   side[5], side[6], k, want.all, a, want.there);
    checked++;
    arena_rewind(&mem, m);
}

/* Colours as digits of base 3: one device, the other, either. */
static void colour(uint32_t code, int n, uint8_t *side)
{
    for (int i = 0; i < n; i++, code /= 3)
        side[i] = (uint8_t)(code % 3 + 1);
}

static uint32_t power(uint32_t base, int n)
{
    return n ? base * power(base, n - 1) : 1;
}

static void every_colour(int n)
{
    small s;
    bool acyclic[PARTITIONS_MAX];
    uint8_t side[SMALL] = {0};
    n_parts = 0;
    enumerate((partition){{0}, 0}, 0, n);
    for (uint32_t edges = 0; edges < 1u << (n * (n - 1) / 2); edges++) {
        small_of(edges, n, &s);
        for (int p = 0; p < n_parts; p++)
            acyclic[p] = quotient_acyclic(&parts[p], &s);
        for (uint32_t code = 0; code < power(3, n); code++) {
            colour(code, n, side);
            if (fewest(&s, side).all != fewest_of_partitions(&s, side, acyclic))
                check_that(0, __FILE__, __LINE__, "edges %#x: brute forces",
                           edges);
            check_one(&s, side);
        }
    }
}

static void every_dag_and_colour_to_5(void)
{
    checked = 0;
    for (int n = 1; n <= 5; n++)
        every_colour(n);
    CHECK_EQ_INT(checked, 3 + 2 * 9 + 8 * 27 + 64 * 81 + 1024 * 243);
}

/* Every DAG, each with so many random colourings. */
static void every_dag(int n, int colours)
{
    uint32_t dags = 1u << (n * (n - 1) / 2);
    rng r = {(uint64_t)n};
    small s;
    uint8_t side[SMALL] = {0};
    checked = 0;
    for (uint32_t edges = 0; edges < dags; edges += EVERY) {
        small_of(edges, n, &s);
        for (int k = 0; k < colours; k++) {
            colour((uint32_t)(rng_next(&r) % power(3, n)), n, side);
            check_one(&s, side);
        }
    }
    CHECK_EQ_INT(checked, (long)((dags - 1) / EVERY + 1) * colours);
    if (EVERY > 1)
        printf("a sample: every %dth of %u DAGs\n", EVERY, dags);
}

static void every_dag_of_6(void)
{
    every_dag(6, 20);
}

static void every_dag_of_7(void)
{
    every_dag(7, 1);
}

/* -- the methods of others, on large graphs -------------------------------*/

/* In-degree up to 3, from the last `reach` nodes. */
static dag random_dag(rng *r, uint32_t n, uint32_t reach)
{
    dag d = {.n = n};
    d.pred_first = arena_array(&mem, (size_t)n + 1, sizeof *d.pred_first);
    d.pred = arena_array(&mem, 3 * (size_t)n + 1, sizeof *d.pred);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        d.pred_first[i] = at;
        for (uint32_t k = rng_below(r, 4); i && k > 0; k--)
            d.pred[at++] = i - 1 - rng_below(r, i < reach ? i : reach);
    }
    d.pred_first[n] = at;
    clv__dag_succ(&mem, &d);
    return d;
}

/* Runs of one device in the order of the trace. */
static uint32_t run_lengths(const dag *d, const uint8_t *side)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++)
        n += i == 0 || side[i] != side[i - 1];
    return n;
}

/* ONNX Runtime's waves: nodes are drained as they become ready; an unsupported
 * one that reads the current group waits for the next. Returns groups. */
static uint32_t waves(const dag *d, const uint8_t *side)
{
    uint32_t *missing = calloc(d->n + 1, sizeof *missing);
    uint32_t *now = calloc(d->n + 1, sizeof *now), n_now = 0;
    uint32_t *later = calloc(d->n + 1, sizeof *later), n_later = 0;
    uint8_t *border = calloc(d->n + 1, 1);
    uint32_t groups = 0, group_size = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        missing[i] = d->pred_first[i + 1] - d->pred_first[i];
        if (!missing[i])
            now[n_now++] = i;
    }
    for (uint32_t at = 0; at < n_now || n_later;) {
        if (at == n_now) { /* close the group */
            groups += group_size > 0;
            group_size = 0;
            memset(border, 0, d->n);
            memcpy(now, later, n_later * sizeof *now);
            n_now = n_later;
            n_later = at = 0;
            continue;
        }
        uint32_t i = now[at++];
        bool supported = side[i] == CLV_SIDE_ACCELERATOR;
        if (!supported && border[i]) {
            later[n_later++] = i;
            continue;
        }
        group_size += supported;
        for (uint32_t k = d->succ_first[i]; k < d->succ_first[i + 1]; k++) {
            uint32_t to = d->succ[k];
            if (supported)
                border[to] = 1;
            if (--missing[to] == 0) {
                if (n_now == d->n) { /* room: drop what is done */
                    memmove(now, now + at, (n_now - at) * sizeof *now);
                    n_now -= at;
                    at = 0;
                }
                now[n_now++] = to;
            }
        }
    }
    groups += group_size > 0;
    free(missing);
    free(now);
    free(later);
    free(border);
    return groups;
}

static void never_more_than_others(void)
{
    rng r = {42};
    for (int t = 0; t < 300; t++) {
        arena_mark m = arena_save(&mem);
        uint32_t n = t < 280 ? 2 + rng_below(&r, 400) : 10000;
        dag d = random_dag(&r, n, 1 + rng_below(&r, 60));
        uint8_t *side = arena_alloc(&mem, n + 1);
        uint32_t per_cent = 1 + rng_below(&r, 60);
        for (uint32_t i = 0; i < n; i++)
            side[i] = rng_below(&r, 100) < per_cent ? CLV_SIDE_CPU
                                                    : CLV_SIDE_ACCELERATOR;
        labels l[2];
        CHECK(clv__label(&mem, &d, side, l));
        CHECK(valid(&d, side, &l[0]) && valid(&d, side, &l[1]));
        CHECK(l[clv__label_best(l, false)].n <= run_lengths(&d, side));
        uint32_t ours = clv__label_accelerator(&l[clv__label_best(l, true)]);
        CHECK(ours <= waves(&d, side));
        arena_rewind(&mem, m);
    }
}

/* -- connected blocks -----------------------------------------------------*/

static bool is_connected(const dag *d, const blocks *b)
{
    uint32_t *up = calloc(d->n + 1, sizeof *up), pieces = 0;
    for (uint32_t i = 0; i < d->n; i++)
        up[i] = i;
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            if (b->of[d->pred[k]] == b->of[i]) {
                uint32_t x = d->pred[k], y = i;
                while (up[x] != x)
                    x = up[x];
                while (up[y] != y)
                    y = up[y];
                up[x] = y;
            }
    for (uint32_t i = 0; i < d->n; i++)
        pieces += up[i] == i;
    free(up);
    return pieces == b->n;
}

/* Blocks run in the order of their numbers and are of one device each. */
static bool runs_in_order(const dag *d, const uint8_t *side, const blocks *b)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (!(side[i] & b->side[b->of[i]]))
            return false;
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            if (b->of[d->pred[k]] > b->of[i])
                return false;
    }
    return true;
}

static void connected_blocks(void)
{
    rng r = {9};
    for (int t = 0; t < 400; t++) {
        arena_mark m = arena_save(&mem);
        uint32_t n = 2 + rng_below(&r, 150);
        dag d = random_dag(&r, n, 1 + rng_below(&r, 30));
        uint8_t *side = arena_alloc(&mem, n + 1);
        for (uint32_t i = 0; i < n; i++)
            side[i] = (uint8_t)(1 + rng_below(&r, 3));
        labels l[2];
        blocks b, c;
        CHECK(clv__label(&mem, &d, side, l));
        uint32_t best = clv__label_best(l, false);
        CHECK(clv__blocks_of(&mem, &l[best], n, &b));
        CHECK_EQ_INT(b.n, l[best].n);
        CHECK(clv__blocks_connect(&mem, &d, &b, &c));
        CHECK(runs_in_order(&d, side, &b) && runs_in_order(&d, side, &c));
        CHECK(is_connected(&d, &c));
        CHECK(c.n >= b.n);
        arena_rewind(&mem, m);
    }
}

/* Supported 0 1 4 5, edges 0>2 0>4 1>3 1>5 2>5 3>4: merging neighbours without
 * looking at paths makes {0,4},{1,5}, which wait for each other. */
static void crossed_pair(void)
{
    enum { A = CLV_SIDE_ACCELERATOR, C = CLV_SIDE_CPU };
    const uint8_t side[] = {A, A, C, C, A, A};
    uint32_t first[] = {0, 0, 0, 1, 2, 4, 6}, pred[] = {0, 1, 0, 3, 1, 2};
    dag d = {6, first, pred, NULL, NULL};
    labels l[2];
    blocks b, c;
    CHECK(clv__dag_succ(&mem, &d));
    CHECK(clv__label(&mem, &d, side, l));
    const labels *best = &l[clv__label_best(l, false)];
    CHECK_EQ_INT(best->n, 3);
    CHECK_EQ_INT(clv__label_accelerator(best), 2);
    CHECK(best->of[0] == best->of[1] && best->of[4] == best->of[5]);
    CHECK(clv__blocks_of(&mem, best, 6, &b));
    CHECK(clv__blocks_connect(&mem, &d, &b, &c));
    CHECK(runs_in_order(&d, side, &c) && is_connected(&d, &c));
    uint32_t accelerator = 0;
    for (uint32_t k = 0; k < c.n; k++)
        accelerator += c.side[k] == A;
    CHECK_EQ_INT(accelerator, 3);
}

static const check_case cases[] = {
    {"every_dag_and_colour_to_5", every_dag_and_colour_to_5},
    {"every_dag_of_6", every_dag_of_6},
    {"every_dag_of_7", every_dag_of_7},
    {"never_more_than_others", never_more_than_others},
    {"connected_blocks", connected_blocks},
    {"crossed_pair", crossed_pair},
};
CHECK_MAIN(cases)

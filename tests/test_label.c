/* test_label.c - the fewest blocks: brute force over every small DAG, and the
 * methods of others on large ones.
 *
 * The brute force knows nothing of labels: it tries every partition of the
 * nodes into sets, keeps those whose quotient has no cycle, and takes the one
 * with the fewest sets that each have a device all its nodes may run on. */
#include "check.h"
#include "cut/blocks.h"
#include "random_graph.h"

#include <stdlib.h>

enum { SMALL = 7, PARTITIONS_MAX = 877 /* Bell(7) */, WORDS = 14 };

static arena mem;

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

/* Edges as a bit per pair (i < j), numbered row by row. */
static bool has_edge(uint32_t edges, int n, int i, int j)
{
    int bit = i * n - i * (i + 1) / 2 + (j - i - 1);
    return edges >> bit & 1;
}

static bool quotient_acyclic(const partition *p, uint32_t edges, int n)
{
    bool reach[SMALL][SMALL] = {{false}};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (has_edge(edges, n, i, j) && p->of[i] != p->of[j])
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

/* -- ours -----------------------------------------------------------------*/

static dag dag_of(uint32_t edges, int n)
{
    dag d = {.n = (uint32_t)n};
    d.pred_first = arena_array(&mem, (size_t)n + 1, sizeof *d.pred_first);
    d.pred = arena_array(&mem, SMALL * SMALL, sizeof *d.pred);
    uint32_t at = 0;
    for (int j = 0; j < n; j++) {
        d.pred_first[j] = at;
        for (int i = 0; i < j; i++)
            if (has_edge(edges, n, i, j))
                d.pred[at++] = (uint32_t)i;
    }
    d.pred_first[n] = at;
    return d;
}

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

static bool reaches(const dag *d, uint32_t from, uint32_t to)
{
    uint8_t *seen = calloc(d->n + 1, 1);
    seen[from] = 1;
    for (uint32_t i = from + 1; i <= to && i < d->n; i++)
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            seen[i] |= seen[d->pred[k]];
    bool yes = from < to && seen[to];
    free(seen);
    return yes;
}

/* A path of nodes that are each for one device only, devices alternating. */
static bool alternates(const dag *d, const uint8_t *side, const uint32_t *path,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (side[path[i]] == CLV_SIDE_EITHER)
            return false;
        if (i && (side[path[i]] == side[path[i - 1]] ||
                  !reaches(d, path[i - 1], path[i])))
            return false;
    }
    return true;
}

/* Whether the witnesses of both starts prove that k is the least. */
static bool proves(const dag *d, const uint8_t *side, const labels l[2],
                   uint32_t k)
{
    uint32_t path[2][64], n[2], best = clv__label_best(l, false);
    for (int s = 0; s < 2; s++) {
        n[s] = clv__label_witness(&mem, d, side, &l[s ? !best : best], path[s]);
        if (!alternates(d, side, path[s], n[s]))
            return false;
        if (n[s] >= k)
            return n[s] == k;
    }
    return k <= 1 || (n[0] == k - 1 && n[1] == k - 1 &&
                      side[path[0][0]] != side[path[1][0]]);
}

static long checked;

static void check_one(const dag *d, uint32_t edges, int n, const uint8_t *side,
                      const uint64_t *acyclic)
{
    arena_mark m = arena_save(&mem);
    labels l[2];
    int least = SMALL + 1;
    for (int p = 0; p < n_parts; p++)
        if (parts[p].n < least && acyclic[p / 64] >> (p % 64) & 1) {
            int b = blocks_if_allowed(&parts[p], side, n);
            least = b < least ? b : least;
        }
    bool ok = clv__label(&mem, d, side, l);
    uint32_t best = clv__label_best(l, false), k = l[best].n;
    if (!ok || (int)k != least || !valid(d, side, &l[0]) ||
        !valid(d, side, &l[1]) || !proves(d, side, l, k))
        check_that(0, __FILE__, __LINE__,
                   "n %d edges %#x sides %u%u%u%u%u%u%u: %u, want %d", n, edges,
                   side[0], side[1], side[2], side[3], side[4], side[5],
                   side[6], k, least);
    checked++;
    arena_rewind(&mem, m);
}

static void mark_acyclic(uint32_t edges, int n, uint64_t *acyclic)
{
    memset(acyclic, 0, WORDS * sizeof *acyclic);
    for (int p = 0; p < n_parts; p++)
        if (quotient_acyclic(&parts[p], edges, n))
            acyclic[p / 64] |= (uint64_t)1 << (p % 64);
}

/* Colours as digits: of base 2 (one device each) or 3 (either as well). */
static void colour(uint32_t code, uint32_t base, int n, uint8_t *side)
{
    for (int i = 0; i < n; i++, code /= base)
        side[i] = (uint8_t)(code % base + 1);
}

static uint32_t power(uint32_t base, int n)
{
    return n ? base * power(base, n - 1) : 1;
}

static void every_dag(int n, uint32_t base)
{
    n_parts = 0;
    enumerate((partition){{0}, 0}, 0, n);
    for (uint32_t edges = 0; edges < 1u << (n * (n - 1) / 2); edges++) {
        uint64_t acyclic[WORDS];
        uint8_t side[SMALL] = {0};
        arena_mark m = arena_save(&mem);
        dag d = dag_of(edges, n);
        mark_acyclic(edges, n, acyclic);
        for (uint32_t code = 0; code < power(base, n); code++) {
            colour(code, base, n, side);
            check_one(&d, edges, n, side, acyclic);
        }
        arena_rewind(&mem, m);
    }
}

static void every_dag_to_5(void)
{
    checked = 0;
    for (int n = 1; n <= 5; n++)
        every_dag(n, 3);
    CHECK_EQ_INT(checked, 3 + 2 * 9 + 8 * 27 + 64 * 81 + 1024 * 243);
}

static void every_dag_of_6(void)
{
    checked = 0;
    every_dag(6, 2);
    CHECK_EQ_INT(checked, 32768 * 64);
}

static void many_dags(int n, int dags, int colours, uint64_t seed)
{
    rng r = {seed};
    n_parts = 0;
    enumerate((partition){{0}, 0}, 0, n);
    for (int t = 0; t < dags; t++) {
        uint32_t edges = (uint32_t)rng_next(&r);
        if (t & 1)
            edges &= (uint32_t)rng_next(&r); /* sparse ones too */
        edges &= (1u << (n * (n - 1) / 2)) - 1;
        uint64_t acyclic[WORDS];
        uint8_t side[SMALL] = {0};
        arena_mark m = arena_save(&mem);
        dag d = dag_of(edges, n);
        mark_acyclic(edges, n, acyclic);
        for (int k = 0; k < colours; k++) {
            colour((uint32_t)(rng_next(&r) % power(3, n)), 3, n, side);
            check_one(&d, edges, n, side, acyclic);
        }
        arena_rewind(&mem, m);
    }
}

static void sampled_with_either_side(void)
{
    many_dags(6, 8000, 30, 6);
    many_dags(7, 10000, 20, 7);
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
    {"every_dag_to_5", every_dag_to_5},
    {"every_dag_of_6", every_dag_of_6},
    {"sampled_with_either_side", sampled_with_either_side},
    {"never_more_than_others", never_more_than_others},
    {"connected_blocks", connected_blocks},
    {"crossed_pair", crossed_pair},
};
CHECK_MAIN(cases)

/* test_liveness.c - intervals and bytes against a table of every step. */
#include "analysis/liveness.h"
#include "check.h"
#include "random_graph.h"

#include <string.h>

enum { VALUES = 12, STEPS = 9, ALIGN = 16 };

/* What a table knows: which step touched which value, and who shares. */
typedef struct table {
    bool touched[VALUES][STEPS];
    uint32_t home[VALUES]; /* equal numbers: one storage */
} table;

static void share(table *t, uint32_t a, uint32_t b)
{
    uint32_t from = t->home[a], to = t->home[b];
    for (uint32_t v = 0; v < VALUES; v++)
        if (t->home[v] == from)
            t->home[v] = to;
}

/* Bytes alive at a step: of every storage touched before or now, and now or
 * later. */
static int64_t alive(const table *t, const int64_t *bytes, uint32_t step)
{
    int64_t sum = 0;
    for (uint32_t h = 0; h < VALUES; h++) {
        bool before = false, after = false;
        for (uint32_t v = 0; v < VALUES; v++)
            for (uint32_t k = 0; k < STEPS && t->home[v] == h; k++) {
                before = before || (t->touched[v][k] && k <= step);
                after = after || (t->touched[v][k] && k >= step);
            }
        if (before && after)
            sum += (bytes[h] + ALIGN - 1) / ALIGN * ALIGN;
    }
    return sum;
}

/* One random run: touches and aliases in any order. */
static void one_run(rng *r, liveness *l, table *t, int64_t *bytes)
{
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t v = rng_below(r, VALUES), w = rng_below(r, VALUES);
        uint32_t k = rng_below(r, STEPS);
        if (rng_below(r, 4) == 0) {
            if (t->home[v] != t->home[w] && clv__live_root(l, v) == v) {
                clv__live_alias(l, v, w);
                share(t, v, w);
            }
            continue;
        }
        clv__live_touch(l, v, k);
        t->touched[v][k] = true;
    }
    clv__live_keep(l, 0);
    t->touched[0][STEPS - 1] = true;
    for (uint32_t v = 0; v < VALUES; v++)
        bytes[v] = 1 + rng_below(r, 100);
}

static void compare(const liveness *l, const table *t, const int64_t *bytes)
{
    clv_buffer b[VALUES];
    int64_t live[STEPS + 1], most = 0;
    uint32_t n = 0;
    for (uint32_t v = 0; v < VALUES; v++)
        if (clv__live_root(l, v) == v && l->of[v].first != CLV_NONE)
            b[n++] = clv__live_buffer(l, v, bytes[t->home[v]]);
    int64_t peak = clv__live_bytes(b, n, ALIGN, live, STEPS);
    for (uint32_t k = 0; k < STEPS; k++) {
        CHECK_EQ_INT(live[k], alive(t, bytes, k));
        most = live[k] > most ? live[k] : most;
    }
    CHECK_EQ_INT(peak, most);
    CHECK_EQ_INT(live[STEPS], 0);
}

static void random_runs(void)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        rng r = {seed};
        arena a = {0};
        liveness l;
        int64_t bytes[VALUES];
        table t = {0};
        for (uint32_t v = 0; v < VALUES; v++)
            t.home[v] = v;
        CHECK_OR_RETURN(clv__live_start(&l, &a, VALUES, STEPS));
        for (int again = 0; again < 2; again++) { /* aliases stay */
            memset(t.touched, 0, sizeof t.touched);
            for (uint32_t v = 0; v < VALUES; v++)
                clv__live_forget(&l, v);
            one_run(&r, &l, &t, bytes);
            compare(&l, &t, bytes);
        }
        arena_free(&a);
    }
}

/* More than 64 bits hold: said, not computed. */
static void too_many_bytes(void)
{
    clv_buffer b[] = {{0, 0, 0, INT64_MAX - 8, 0}, {1, 1, 1, 64, 0}};
    int64_t live[3];
    arena_layout plan;
    clv_err e = {0};
    CHECK_EQ_INT(clv__live_bytes(b, 2, 1, live, 2), CLV_SAT);
    CHECK_EQ_INT(clv__live_bytes(b, 1, 64, live, 2), CLV_SAT);
    CHECK(clv__arena_plan(b, 2, 64, 2, &plan, &e) == CLV_OVERFLOW);
    CHECK(clv__arena_plan(b, 0, 64, 0, &plan, &e) == CLV_OK);
    CHECK_EQ_INT(plan.size, 0);
}

static const check_case cases[] = {
    {"random_runs", random_runs},
    {"too_many_bytes", too_many_bytes},
};
CHECK_MAIN(cases)

/* test_place.c - minimum cuts against scipy, placements against brute force. */
#include "check.h"
#include "cut/maxflow.h"
#include "cut/place.h"
#include "random_graph.h"

#include <float.h>

static arena mem;

/* -- networks of tests/data/maxflow.txt -----------------------------------*/

/* Capacity of the arcs that leave the source side. */
static int64_t capacity(const flow *f)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < f->m; k++) {
        const flow_edge *e = &f->edge[k];
        if (f->source_side[e->from] && !f->source_side[e->to])
            sum += e->cap;
        if (f->source_side[e->to] && !f->source_side[e->from])
            sum += e->back;
    }
    return sum;
}

/* One network: "NODES ARCS FLOW", then "FROM TO CAPACITY" per arc; the source
 * is 0, the sink the last node. */
static void networks_of_scipy(void)
{
    unsigned n, m, count = 0;
    long long want;
    FILE *file = fopen("tests/data/maxflow.txt", "r");
    CHECK_OR_RETURN(file != NULL);
    while (fscanf(file, "%u %u %lld", &n, &m, &want) == 3) {
        char name[40];
        flow f;
        snprintf(name, sizeof name, "network %u", count++);
        check_row(name);
        if (!CHECK(flow_init(&f, &mem, n, m)))
            break;
        for (unsigned k = 0; k < m; k++) {
            unsigned u, v;
            long long c;
            CHECK(fscanf(file, "%u %u %lld", &u, &v, &c) == 3);
            flow_arc(&f, u, v, c, 0);
        }
        CHECK_EQ_INT(flow_cut(&f, 0, n - 1), want);
        CHECK_EQ_INT(capacity(&f), want);
        CHECK(f.source_side[0] && !f.source_side[n - 1]);
        arena_free(&mem);
    }
    fclose(file);
    CHECK(count >= 200);
}

/* -- placements -----------------------------------------------------------*/

/* Integer costs on a random graph, some nodes for the CPU only. */
static placement_costs random_costs(rng *r, const clv_graph *g)
{
    placement_costs c;
    CHECK(clv__place_costs(&mem, g, &c));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        c.cpu[i] = rng_below(r, 30);
        c.accelerator[i] =
            rng_below(r, 5) ? (double)rng_below(r, 10) : INFINITY;
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        c.move[v] = g->values[v].producer == CLV_NONE ? 0 : rng_below(r, 12);
    return c;
}

static double cost_of(const clv_graph *g, const placement_costs *c,
                      const uint8_t *side)
{
    placement_sum s = clv__place_sum(g, c, side);
    return s.cpu + s.accelerator + s.transfer;
}

static void two_devices(void)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        clv_graph *g = random_graph(seed, 3 + (uint32_t)(seed % 9));
        rng r = {seed};
        uint8_t side[64], best_side[64];
        CHECK_OR_RETURN(g && g->n_nodes <= 20);
        placement_costs c = random_costs(&r, g);
        double least = DBL_MAX;
        for (uint32_t code = 0; code < 1u << g->n_nodes; code++) {
            for (uint32_t i = 0; i < g->n_nodes; i++)
                side[i] = (uint8_t)(1 + (code >> i & 1));
            double x = cost_of(g, &c, side);
            least = x < least ? x : least;
        }
        CHECK_EQ_INT(clv__place(&mem, g, &c, best_side, NULL), CLV_OK);
        CHECK_NEAR(cost_of(g, &c, best_side), least, 1e-6);
        arena_free(&mem);
        clv_graph_free(g);
    }
}

/* All sides of at most k blocks; test_label proves the count of blocks. */
static void least_by_count(const clv_graph *g, const dag *d,
                           const placement_costs *c, double *least, uint32_t n)
{
    uint8_t side[16];
    for (uint32_t k = 0; k <= n; k++)
        least[k] = INFINITY;
    for (uint32_t code = 0; code < 1u << g->n_nodes; code++) {
        labels l[2];
        arena_mark m = arena_save(&mem);
        for (uint32_t i = 0; i < g->n_nodes; i++)
            side[i] = (uint8_t)(1 + (code >> i & 1));
        CHECK(clv__label(&mem, d, side, l));
        uint32_t blocks = l[clv__label_best(l, false)].n;
        double x = cost_of(g, c, side);
        for (uint32_t k = blocks; k <= n; k++)
            least[k] = x < least[k] ? x : least[k];
        arena_rewind(&mem, m);
    }
}

static void at_most_k(void)
{
    enum { BLOCKS = 6 };
    for (uint64_t seed = 1; seed <= 250; seed++) {
        clv_graph *g = random_graph(seed * 7, 3 + (uint32_t)(seed % 8));
        rng r = {seed};
        dag d;
        double least[BLOCKS + 1];
        CHECK_OR_RETURN(g && g->n_nodes <= 14);
        for (uint32_t i = 0; i < g->n_nodes && seed % 3 == 0; i += 2)
            g->nodes[i].flags |= CLV_N_STATEFUL; /* these wait in turn */
        CHECK(clv__dag_make(&mem, g, &d));
        placement_costs c = random_costs(&r, g);
        least_by_count(g, &d, &c, least, BLOCKS);
        for (uint32_t k = 1; k <= BLOCKS; k++) {
            uint8_t side[16];
            block_placement best;
            CHECK_EQ_INT(clv__place_k(&mem, g, &d, &c, k, &best, NULL), CLV_OK);
            CHECK(best.proven && best.l.n <= k);
            CHECK_NEAR(best.cost, least[k], 1e-6);
            for (uint32_t i = 0; i < g->n_nodes; i++)
                side[i] = label_side(&best.l, best.l.of[i]);
            CHECK_NEAR(cost_of(g, &c, side), least[k], 1e-6);
        }
        arena_free(&mem);
        clv_graph_free(g);
    }
}

/* Wide graphs: an answer within the limit, said not to be proven. */
static void too_wide(void)
{
    clv_graph *g = random_graph(5, 3000);
    rng r = {5};
    dag d;
    block_placement best;
    CHECK_OR_RETURN(g && clv__dag_make(&mem, g, &d));
    placement_costs c = random_costs(&r, g);
    CHECK_EQ_INT(clv__place_k(&mem, g, &d, &c, 4, &best, NULL), CLV_OK);
    CHECK(best.l.n <= 4);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t p = d.pred_first[i]; p < d.pred_first[i + 1]; p++)
            CHECK(best.l.of[d.pred[p]] <= best.l.of[i]);
    arena_free(&mem);
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"networks_of_scipy", networks_of_scipy},
    {"two_devices", two_devices},
    {"at_most_k", at_most_k},
    {"too_wide", too_wide},
};
CHECK_MAIN(cases)

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

/* Labels as digits of base k: compute, and each move at every border up to the
 * farthest reader. */
static double ladder_cost(const clv_graph *g, const placement_costs *c,
                          const uint32_t *label, uint8_t first)
{
    double sum = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool cpu = (first == CLV_SIDE_CPU) == !(label[i] & 1);
        sum += cpu ? c->cpu[i] : c->accelerator[i];
    }
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t far = 0, maker = g->values[v].producer;
        if (maker == CLV_NONE)
            continue;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t at = label[g->users[u]];
            if (at < label[maker])
                return INFINITY;
            far = at - label[maker] > far ? at - label[maker] : far;
        }
        sum += far * c->move[v];
    }
    return sum;
}

static void at_most_k(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        clv_graph *g = random_graph(seed * 7, 3 + (uint32_t)(seed % 4));
        rng r = {seed};
        dag d;
        uint32_t label[32];
        double before = INFINITY;
        CHECK_OR_RETURN(g && g->n_nodes <= 12 && clv__dag_make(&mem, g, &d));
        placement_costs c = random_costs(&r, g);
        for (uint32_t k = 1; k <= 3; k++) {
            double least = INFINITY, got;
            uint32_t codes = 1;
            labels l;
            for (uint32_t i = 0; i < g->n_nodes; i++)
                codes *= k;
            for (uint32_t code = 0; code < codes; code++)
                for (uint8_t first = 1; first <= 2; first++) {
                    uint32_t rest = code;
                    for (uint32_t i = 0; i < g->n_nodes; i++, rest /= k)
                        label[i] = rest % k;
                    double x = ladder_cost(g, &c, label, first);
                    least = x < least ? x : least;
                }
            CHECK_EQ_INT(clv__place_k(&mem, g, &d, &c, k, &l, &got, NULL),
                         CLV_OK);
            CHECK_NEAR(got, least, 1e-6);
            CHECK_NEAR(ladder_cost(g, &c, l.of, l.first), least, 1e-6);
            CHECK(got <= before);
            before = got;
        }
        arena_free(&mem);
        clv_graph_free(g);
    }
}

static const check_case cases[] = {
    {"networks_of_scipy", networks_of_scipy},
    {"two_devices", two_devices},
    {"at_most_k", at_most_k},
};
CHECK_MAIN(cases)

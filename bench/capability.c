/* capability.c - how long the fewest subgraphs, their proof and the least cut
 * take on random graphs.
 *
 *   capability          1,000,000 nodes labelled, a 50,000-node minimum cut
 *   capability N        the N-node graph of bench/capability_fx.py:
 * microseconds and accelerator subgraphs, for that script to read
 *
 * Labelling is timed from the finished graph to the certificate. Its bound is
 * a ratio: forty times what it takes to read every edge once. */
#include "cut/label.h"
#include "cut/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOW = 20, PER_CENT = 10, RUNS = 5 };

static uint64_t state;

/* The generator of the Python script, so that both see the same graph. */
static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* Node i adds two of the WINDOW values before it. */
static clv_graph *make_graph(uint32_t n, uint8_t *side)
{
    const int64_t dims[] = {4};
    clv_graph *g;
    state = 1;
    if (clv_graph_new("random", &g, NULL) != CLV_OK)
        return NULL;
    uint32_t input = clv__value_add(g, "x", CLV_VALUE_INPUT, CLV_FLOAT32);
    uint32_t *made = malloc((n + 1) * sizeof *made);
    bool ok = made && clv__value_set_shape(g, input, 1, dims);
    made[0] = input;
    for (uint32_t i = 0; ok && i < n; i++) {
        uint32_t room = i + 1 < WINDOW ? i + 1 : WINDOW;
        uint32_t a = below(room), b = below(room);
        const uint32_t in[] = {made[i - a], made[i - b]};
        uint32_t id = clv__node_add(g, CLV_OP_ADD, "add", 0, in, 2, NULL, 1);
        ok = id != CLV_NONE;
        made[i + 1] = ok ? node_outs(g, &g->nodes[id])[0] : CLV_NONE;
        side[i] = below(100) < PER_CENT ? CLV_SIDE_CPU : CLV_SIDE_ACCELERATOR;
    }
    ok = ok && clv_graph_add_output(g, made[n], NULL) == CLV_OK &&
         clv_graph_infer(g, NULL) == CLV_OK;
    free(made);
    if (ok)
        return g;
    clv_graph_free(g);
    return NULL;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef struct result {
    double seconds;
    uint32_t total, accelerator, witness;
} result;

/* Best of several: edges, labels of both starts, certificate. */
static result label(const clv_graph *g, const uint8_t *side)
{
    result best = {1e9, 0, 0, 0};
    for (int k = 0; k < RUNS; k++) {
        arena a = {0};
        dag d;
        labels l[2];
        double start = now();
        if (!clv__dag_make(&a, g, &d) || !clv__label(&a, &d, side, l))
            exit(4);
        const labels *b = &l[clv__label_best(l, false)];
        uint32_t *path = arena_array(&a, (size_t)b->n + 1, sizeof *path);
        if (!path)
            exit(4);
        uint32_t n = clv__label_witness(&a, &d, side, b, path);
        double t = now() - start;
        if (t < best.seconds)
            best = (result){
                t, b->n, clv__label_accelerator(&l[clv__label_best(l, true)]),
                n};
        arena_free(&a);
    }
    return best;
}

static volatile uint64_t sink; /* keeps the reading from being optimised away */

/* Reading every edge of the graph once, as any method must. */
static double read_edges(const clv_graph *g)
{
    double best = 1e9;
    for (int k = 0; k < RUNS; k++) {
        double start = now();
        uint64_t sum = 0;
        for (uint32_t i = 0; i < g->n_nodes; i++)
            for (uint32_t e = 0; e < g->nodes[i].n_in; e++)
                sum += g->values[node_ins(g, &g->nodes[i])[e]].producer;
        sink = sum;
        double t = now() - start;
        best = t < best ? t : best;
    }
    return best;
}

/* Random costs; transfer costs as much as a step of work does. */
static double min_cut(const clv_graph *g, const uint8_t *side, uint8_t *out)
{
    arena a = {0};
    placement_costs c;
    if (!clv__place_costs(&a, g, &c))
        exit(4);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        c.cpu[i] = 50 + below(100);
        c.accelerator[i] =
            side[i] == CLV_SIDE_CPU ? 1e9 : (double)(1 + below(20));
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        c.move[v] = g->values[v].producer == CLV_NONE ? 0 : 1 + below(60);
    double start = now();
    if (clv__place(&a, g, &c, out, NULL) != CLV_OK)
        exit(4);
    double t = now() - start;
    arena_free(&a);
    return t;
}

static clv_graph *need(uint32_t n, uint8_t *side)
{
    clv_graph *g = side ? make_graph(n, side) : NULL;
    if (!g)
        exit(4);
    return g;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    uint8_t *side = malloc(n + 1), *out = malloc(n + 1);
    bool missed = false;
    if (!out || n == 0)
        return 4;
    clv_graph *g = need(n, side);
    result r = label(g, side);
    if (argc > 1) {
        printf("%.3f %u\n", r.seconds * 1e6, r.accelerator);
    } else {
        double times = r.seconds / read_edges(g);
        printf("label: %.1f ms for %u nodes, %u subgraphs, certificate of %u\n",
               r.seconds * 1e3, n, r.total, r.witness);
        printf("label: %.1f x reading the edges (at most 40)\n", times);
        clv_graph_free(g);
        g = need(50000, side);
        printf("min-cut: %.0f ms for 50000 nodes\n",
               min_cut(g, side, out) * 1e3);
        missed = times > 40;
    }
    clv_graph_free(g);
    free(side);
    free(out);
    return missed;
}

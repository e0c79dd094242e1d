/* cut.c - cuts and their analysis on graphs of 100,000 and 1,000,000 nodes:
 * each step takes less than a second on the larger, and grows with the nodes.
 *
 *   cut            the benchmark
 *   cut FILE       reads a DAG ("n m", n weights, m edges "u v") and prints the
 *                  seconds of stages, slack and critical path, and the results;
 *                  bench/networkx.py compares them */
#include "bench.h"

enum { SMALL = 100 * 1000, FACTOR = 10 };

static clv_err err;

static void must(clv_status s)
{
    must_of("cut", s, &err);
}

static uint32_t value(clv_graph *g, clv_value_kind kind, uint32_t rank,
                      const int64_t *dims)
{
    uint32_t v;
    const clv_value_arg arg = {
        .size = sizeof arg, NULL, kind, CLV_FLOAT32, rank, dims};
    must(clv_graph_add_value(g, &arg, &v, &err));
    return v;
}

static uint32_t node(clv_graph *g, const char *op, const uint32_t *in,
                     uint32_t n)
{
    uint32_t y;
    const clv_node_arg arg = {
        .size = sizeof arg, .op = op, .inputs = in, .n_inputs = n};
    must(clv_graph_add_node(g, &arg, &y, &err));
    return y;
}

/* Blocks of two branches: conv, norm, activation; conv, norm; add, relu. */
static clv_graph *build(uint32_t nodes)
{
    static const int64_t image[] = {1, 8, 14, 14}, kernel[] = {8, 8, 1, 1};
    clv_graph *g;
    must(clv_graph_new("cut", &g, &err));
    uint32_t x = value(g, CLV_VALUE_INPUT, 4, image);
    uint32_t w = value(g, CLV_VALUE_PARAM, 4, kernel);
    uint32_t scale = value(g, CLV_VALUE_PARAM, 1, kernel);
    for (uint32_t i = 0; i < nodes / 10; i++) {
        uint32_t y = node(g, "conv2d", (uint32_t[]){x, w}, 2);
        y = node(g, "batch_norm", (uint32_t[]){y, scale}, 2);
        y = node(g, "relu", &y, 1);
        y = node(g, "conv2d", (uint32_t[]){y, w}, 2);
        y = node(g, "batch_norm", (uint32_t[]){y, scale}, 2);
        uint32_t z = node(g, "conv2d", (uint32_t[]){x, w}, 2);
        z = node(g, "batch_norm", (uint32_t[]){z, scale}, 2);
        z = node(g, "dropout", &z, 1);
        y = node(g, "add", (uint32_t[]){y, z}, 2);
        x = node(g, "relu", &y, 1);
    }
    must(clv_graph_add_output(g, x, &err));
    must(clv_graph_infer(g, &err));
    return g;
}

typedef struct times {
    double op, fusion, analysis, schedule, verify;
} times;

static times run(uint32_t nodes)
{
    clv_graph *g = build(nodes);
    clv_profile *p;
    clv_cut *op, *fused;
    clv_concurrency *a;
    clv_schedule *s;
    must(clv_profile_new(g, NULL, &p, &err));
    double t0 = now();
    must(clv_cut_op(p, &op, &err));
    double t1 = now();
    must(clv_cut_fusion(p, NULL, &fused, &err));
    double t2 = now();
    must(clv_concurrency_new(op, NULL, &a, &err));
    double t3 = now();
    must(clv_schedule_new(a, 4, &s, &err));
    double t4 = now();
    must(clv_cut_verify(fused, &err));
    double t5 = now();
    printf("cut: %u nodes: op cut %.0f ms, fusion %.0f ms, stages and critical "
           "path %.0f ms, 4 streams %.0f ms, verify %.0f ms\n",
           nodes, 1e3 * (t1 - t0), 1e3 * (t2 - t1), 1e3 * (t3 - t2),
           1e3 * (t4 - t3), 1e3 * (t5 - t4));
    clv_schedule_free(s);
    clv_concurrency_free(a);
    clv_cut_free(fused);
    clv_cut_free(op);
    clv_profile_free(p);
    clv_graph_free(g);
    return (times){t1 - t0, t2 - t1, t3 - t2, t4 - t3, t5 - t4};
}

static bool bound(const char *what, double small, double large)
{
    printf("cut: %s of %d nodes: %.2f s (below 1), %.1f times those of %d "
           "(below %d)\n",
           what, SMALL * FACTOR, large, large / small, SMALL, 2 * FACTOR);
    return large < 1 && large < 2 * FACTOR * small;
}

/* -- a DAG from a file ----------------------------------------------------*/

static uint32_t number(FILE *f)
{
    unsigned n;
    if (fscanf(f, "%u", &n) != 1)
        exit(1);
    return n;
}

/* Every node adds up what it reads: its predecessors, or the input. */
static clv_graph *graph_of(FILE *f, uint32_t n, uint32_t m)
{
    static const int64_t one[] = {1};
    clv_graph *g;
    uint32_t *out = calloc(n + 1, sizeof *out), *in = calloc(m + 1, sizeof *in);
    uint32_t *to = calloc(m + 1, sizeof *to), *from = calloc(m + 1, sizeof *in);
    must(clv_graph_new("dag", &g, &err));
    uint32_t x = value(g, CLV_VALUE_INPUT, 1, one);
    for (uint32_t i = 0; i < m; i++) { /* ordered by head */
        from[i] = number(f);
        to[i] = number(f);
    }
    for (uint32_t v = 0, i = 0; v < n; v++) {
        uint32_t k = 0;
        for (; i < m && to[i] == v; i++)
            in[k++] = out[from[i]];
        if (k == 0)
            in[k++] = x;
        out[v] = node(g, "add_n", in, k);
    }
    free(from);
    free(to);
    free(in);
    free(out);
    must(clv_graph_infer(g, &err));
    return g;
}

static int measure(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return 1;
    uint32_t n = number(f), m = number(f);
    double *weights = calloc(n + 1, sizeof *weights), best = 1e9;
    clv_profile *p;
    clv_cut *c;
    for (uint32_t i = 0; i < n; i++)
        weights[i] = number(f);
    clv_graph *g = graph_of(f, n, m);
    must(clv_profile_new(g, NULL, &p, &err));
    must(clv_cut_op(p, &c, &err));
    for (int i = 0; i < 5; i++) {
        const clv_concurrency_opts o = {
            .size = sizeof o, .weights = weights, .unit = "t"};
        clv_concurrency *a;
        double t = now();
        must(clv_concurrency_new(c, &o, &a, &err));
        t = now() - t;
        best = t < best ? t : best;
        if (i == 4)
            printf("%.9f %u %.0f\n", best, clv_concurrency_get(a)->n_stages,
                   clv_concurrency_get(a)->span);
        clv_concurrency_free(a);
    }
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
    free(weights);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return measure(argv[1]);
    times a = run(SMALL), b = run(SMALL * FACTOR);
    bool ok = bound("op cut", a.op, b.op);
    ok = bound("fusion", a.fusion, b.fusion) && ok;
    ok = bound("stages and critical path", a.analysis, b.analysis) && ok;
    return ok ? 0 : 1;
}

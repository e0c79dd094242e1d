/* memory.c - live tensors, arena plans and orders on graphs of 100,000 and
 * 1,000,000 nodes, deep and wide: liveness takes less than a second on the
 * larger, and nothing grows faster than n log n. Then everything about
 * resnet50, in one process: profile, fusion, stages, memory and roofline. */
#include "plan/memory.h"
#include "bench.h"

#include <math.h>

enum { SMALL = 100 * 1000, FACTOR = 10, ROUNDS = 50, FAN = 1000 };

static clv_err err;

static void must(clv_status s)
{
    must_of("memory", s, &err);
}

static uint32_t node(clv_graph *g, const char *op, uint32_t a, uint32_t b)
{
    const uint32_t in[] = {a, b};
    uint32_t y;
    const clv_node_arg arg = {.size = sizeof arg,
                              .op = op,
                              .inputs = in,
                              .n_inputs = b == CLV_NONE ? 1 : 2};
    must(clv_graph_add_node(g, &arg, &y, &err));
    return y;
}

static clv_graph *start(const char *name, uint32_t *x)
{
    static const int64_t dims[] = {8, 16};
    const clv_value_arg in = {
        .size = sizeof in, NULL, CLV_VALUE_INPUT, CLV_FLOAT32, 2, dims};
    clv_graph *g;
    must(clv_graph_new(name, &g, &err));
    must(clv_graph_add_value(g, &in, x, &err));
    return g;
}

static clv_graph *finish(clv_graph *g, uint32_t x)
{
    must(clv_graph_add_output(g, x, &err));
    must(clv_graph_infer(g, &err));
    return g;
}

/* Residual blocks, one after the other. */
static clv_graph *deep(uint32_t nodes)
{
    uint32_t x;
    clv_graph *g = start("deep", &x);
    for (uint32_t i = 0; i < nodes / 5; i++) {
        uint32_t y = node(g, "softmax", x, CLV_NONE);
        y = node(g, "relu", y, CLV_NONE);
        y = node(g, "softmax", y, CLV_NONE);
        y = node(g, "gelu", y, CLV_NONE);
        x = node(g, "add", x, y);
    }
    return finish(g, x);
}

/* Fans of FAN branches: whole rows of tensors live at the same time, and die
 * one by one. */
static clv_graph *wide(uint32_t nodes)
{
    static uint32_t branch[FAN];
    uint32_t x;
    clv_graph *g = start("wide", &x);
    for (uint32_t i = 0; i < nodes / (2 * FAN); i++) {
        for (uint32_t k = 0; k < FAN; k++)
            branch[k] = node(g, k % 3 ? "softmax" : "sum", x, CLV_NONE);
        for (uint32_t k = 0; k < FAN; k++)
            x = node(g, "add", x, branch[k * 7 % FAN]);
    }
    return finish(g, x);
}

typedef struct times {
    double live, whole, reorder;
} times;

static times run(clv_graph *g)
{
    clv_profile *p;
    clv_cut *c;
    clv_memory *m;
    times t;
    must(clv_profile_new(g, NULL, &p, &err));
    must(clv_cut_op(p, &c, &err));
    uint32_t *order = calloc(c->n_subs, sizeof *order);
    for (uint32_t k = 0; k < c->n_subs; k++)
        order[k] = k;
    double t0 = now();
    int64_t peak = clv__peak_of(c, true, order);
    double t1 = now();
    must(clv_memory_new(c, NULL, &m, &err));
    double t2 = now();
    const clv_memory_info *all = clv_memory_get(m);
    if (!clv__reorder(c, true, order) || peak != all->peak)
        exit(1);
    double t3 = now();
    t = (times){t1 - t0, t2 - t1, t3 - t2};
    printf("memory: %s, %u nodes: liveness %.0f ms, with the arena %.0f ms "
           "(%s, %.3f of the bound), reorder %.0f ms\n",
           clv_graph_name(g), c->n_subs, 1e3 * t.live, 1e3 * t.whole,
           all->planner, (double)all->arena / (double)all->arena_bound,
           1e3 * t.reorder);
    free(order);
    clv_memory_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
    return t;
}

/* n log n, and as much again for memory that no longer fits the caches. */
static bool bound(const char *what, double small, double large, double most)
{
    double limit = 2.5 * FACTOR * log2(SMALL * FACTOR) / log2(SMALL);
    printf("memory: %s of %d nodes: %.2f s (below %g), %.1f times those of %d "
           "(below %.0f)\n",
           what, SMALL * FACTOR, large, most, large / small, SMALL, limit);
    return large < most && large < limit * small;
}

static bool compare(clv_graph *(*build)(uint32_t))
{
    times a = run(build(SMALL)), b = run(build(SMALL * FACTOR));
    bool ok = bound("liveness", a.live, b.live, 1);
    ok = bound("liveness and arena", a.whole, b.whole, 5) && ok;
    return bound("reordering", a.reorder, b.reorder, 10) && ok;
}

/* -- resnet50, all of it --------------------------------------------------*/

static void analyse(const clv_device *d)
{
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_concurrency *a;
    clv_memory *m;
    clv_map *map;
    must(clv_graph_open("resnet50", NULL, &g, &err));
    must(clv_profile_new(g, NULL, &p, &err));
    must(clv_cut_fusion(p, NULL, &c, &err));
    must(clv_concurrency_new(c, NULL, &a, &err));
    must(clv_memory_new(c, NULL, &m, &err));
    must(clv_map_new(c, d, &map, &err));
    clv_map_free(map);
    clv_memory_free(m);
    clv_concurrency_free(a);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static bool resnet50(void)
{
    const clv_device *d;
    double best = 1e9;
    must(clv_device_find("h100", &d, &err));
    for (int i = 0; i < ROUNDS; i++) {
        double t = now();
        analyse(d);
        t = now() - t;
        best = t < best ? t : best;
    }
    printf("memory: resnet50 opened, profiled, fused, staged, planned and "
           "mapped: %.2f ms (below 2)\n",
           1e3 * best);
    return best < 2e-3;
}

int main(void)
{
    bool ok = compare(deep);
    ok = compare(wide) && ok;
    return resnet50() && ok ? 0 : 1;
}

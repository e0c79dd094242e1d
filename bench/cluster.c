/* cluster.c - a plan for 100,000 nodes over 16 devices, and the schedule of
 * 10,000 devices with 100 micro-batches: each in under a second. */
#include "bench.h"

#include <string.h>

enum { NODES = 100 * 1000, DEVICES = 10 * 1000, MICRO_BATCHES = 100 };

static clv_err err;

static void must(clv_status s)
{
    must_of("cluster", s, &err);
}

static uint32_t value(clv_graph *g, clv_value_kind kind, const int64_t *dims)
{
    uint32_t v;
    const clv_value_arg arg = {
        .size = sizeof arg, NULL, kind, CLV_FLOAT32, 4, dims};
    must(clv_graph_add_value(g, &arg, &v, &err));
    return v;
}

static uint32_t node(clv_graph *g, const char *op, uint32_t a, uint32_t b)
{
    uint32_t y;
    const uint32_t in[] = {a, b};
    const clv_node_arg arg = {.size = sizeof arg,
                              .op = op,
                              .inputs = in,
                              .n_inputs = b == CLV_NONE ? 1 : 2};
    must(clv_graph_add_node(g, &arg, &y, &err));
    return y;
}

/* Blocks with a shortcut: conv, relu, conv, add. */
static clv_graph *build(void)
{
    static const int64_t image[] = {1, 8, 14, 14}, kernel[] = {8, 8, 1, 1};
    clv_graph *g;
    must(clv_graph_new("cluster", &g, &err));
    uint32_t x = value(g, CLV_VALUE_INPUT, image);
    uint32_t w = value(g, CLV_VALUE_PARAM, kernel);
    for (uint32_t i = 0; i < NODES / 4; i++) {
        uint32_t y = node(g, "conv2d", x, w);
        y = node(g, "relu", y, CLV_NONE);
        y = node(g, "conv2d", y, w);
        x = node(g, "add", x, y);
    }
    must(clv_graph_add_output(g, x, &err));
    must(clv_graph_infer(g, &err));
    return g;
}

static void plan(void)
{
    static const char text[] =
        "{\"hosts\":[{\"name\":\"a\",\"devices\":[{\"name\":\"d\",\"count\":8,"
        "\"hardware\":\"a100-40\",\"to_host\":{\"bandwidth\":3e11}}]},"
        "{\"name\":\"b\",\"devices\":[{\"name\":\"d\",\"count\":8,"
        "\"hardware\":\"t4\",\"to_host\":{\"bandwidth\":3e10}}]}],"
        "\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e10}]}";
    clv_cluster *k;
    clv_profile *p;
    clv_cut *c;
    clv_graph *g = build();
    must(clv_profile_new(g, NULL, &p, &err));
    must(clv_cluster_parse(text, strlen(text), &k, &err));
    for (uint32_t replicas = 0; replicas < 2; replicas++) {
        const clv_cluster_opts o = {
            .size = sizeof o, .cluster = k, .replicas = replicas};
        double begun = now();
        must(clv_cut_cluster(p, &o, &c, &err));
        printf("%d nodes over 16 devices, replicas %s: %.3f s, at most %.2f %% "
               "away\n",
               NODES, replicas ? "1" : "any", now() - begun,
               100 * clv_cut_cluster_plan(c)->gap);
        clv_cut_free(c);
    }
    clv_cluster_free(k);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void simulate(void)
{
    clv_sim_stage *stages = calloc(DEVICES, sizeof *stages);
    clv_sim_link *links = calloc(DEVICES, sizeof *links);
    clv_sim *s;
    for (uint32_t k = 0; stages && links && k < DEVICES; k++) {
        stages[k] = (clv_sim_stage){.seconds = 1 + k % 7, .device = k};
        links[k] = (clv_sim_link){.from = k, .to = k + 1, .seconds = 0.5};
    }
    const clv_sim_opts o = {.size = sizeof o,
                            .stages = stages,
                            .links = links,
                            .n_stages = DEVICES,
                            .n_links = DEVICES - 1,
                            .n_devices = DEVICES,
                            .micro_batches = MICRO_BATCHES,
                            .spans = true};
    double begun = now();
    must(clv_sim_new(&o, &s, &err));
    printf("%d devices, %d micro-batches: %.3f s\n", DEVICES, MICRO_BATCHES,
           now() - begun);
    clv_sim_free(s);
    free(stages);
    free(links);
}

int main(void)
{
    plan();
    simulate();
    return 0;
}

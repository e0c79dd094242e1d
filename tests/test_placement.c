/* test_placement.c - placements and pipelines of real graphs: costs from files,
 * plans in order, stages against every slicing of a chain. */
#include "analysis/profile.h"
#include "check.h"
#include "cleave.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static clv_graph *g;
static clv_profile *p;

static void open_model(const char *name)
{
    clv_profile_free(p);
    clv_graph_free(g);
    p = NULL;
    CHECK(clv_graph_open(name, NULL, &g, NULL) == CLV_OK);
    CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
}

static const clv_device *device(const char *name)
{
    const clv_device *d = NULL;
    CHECK(clv_device_find(name, &d, NULL) == CLV_OK);
    return d;
}

/* -- placement ------------------------------------------------------------*/

static void plans_are_in_order(void)
{
    static const char *const models[] = {"alexnet", "resnet18", "mobilenet_v2"};
    static const char *const backends[] = {"null", "all-but:relu",
                                           "all-but:add,max_pool2d"};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 3; k++) {
            clv_backend *b;
            clv_support *s;
            clv_cut *c;
            check_row(backends[k]);
            open_model(models[m]);
            CHECK(clv_backend_open(backends[k], NULL, &b, NULL) == CLV_OK);
            CHECK(clv_support_new(b, g, &s, NULL) == CLV_OK);
            clv_placement_opts o = {.size = sizeof o,
                                    .host = device("i7-12700k"),
                                    .accelerator = device("t4"),
                                    .support = clv_support_get(s),
                                    .curve = 4};
            CHECK_OR_RETURN(clv_cut_placement(p, &o, &c, NULL) == CLV_OK);
            CHECK(clv_cut_verify(c, NULL) == CLV_OK);
            const clv_placement_info *i = clv_cut_placement_info(c);
            CHECK(i->optimum.total <= i->greedy.total * (1 + 1e-9));
            CHECK(i->optimum.total <= i->all_cpu.total * (1 + 1e-9));
            CHECK_NEAR(i->chosen.total, i->optimum.total, 1e-12);
            CHECK_EQ_INT(i->all_cpu.subgraphs, 1);
            for (uint32_t n = 0; n < i->n_curve; n++) {
                CHECK(i->curve[n].subgraphs <= i->curve[n].limit);
                double slack = 1e-9 * i->curve[n].total;
                CHECK(n == 0 ||
                      i->curve[n].total <= i->curve[n - 1].total + slack);
                CHECK(i->curve[n].total >= i->optimum.total - slack);
            }
            clv_cut_free(c);
            o.max_subgraph_count = 2;
            CHECK_OR_RETURN(clv_cut_placement(p, &o, &c, NULL) == CLV_OK);
            uint32_t subs;
            clv_cut_subgraphs(c, &subs);
            CHECK(subs <= 2);
            clv_cut_free(c);
            clv_support_free(s);
            clv_backend_free(b);
        }
}

static char path[] = "/tmp/cleave-costs-XXXXXX";

static clv_status place_with(const char *text, clv_cut **c, clv_err *e)
{
    const clv_placement_opts o = {
        .size = sizeof o, .costs = path, .link = 1e12, .latency = 1e-3};
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
    }
    return clv_cut_placement(p, &o, c, e);
}

static void costs_from_files(void)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{\"nope\": {\"cpu\": 1}}", "line 1: no node is called 'nope'"},
        {"{\"avgpool\": {\"accelerator\": 1}}", "'avgpool' needs seconds"},
        {"{\"avgpool\": {\"cpu\": -1}}", "'avgpool' needs seconds"},
        {"[1]", "line 1"},
        {"node,cpu,accelerator\navgpool,1\n", "line 2: expected node,cpu"},
        {"node,cpu,accelerator\navgpool,x,1\n", "'avgpool' needs seconds"},
        {"avgpool,1,1z\n", "'avgpool' needs seconds"},
    };
    clv_cut *c;
    clv_err e = {0};
    open_model("alexnet");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_row(bad[i].text);
        CHECK(place_with(bad[i].text, &c, &e) != CLV_OK);
        CHECK(c == NULL);
        CHECK_HAS(e.msg, bad[i].message);
    }
    check_row("a folder");
    const clv_placement_opts folder = {.size = sizeof folder, .costs = "/"};
    CHECK_EQ_INT(clv_cut_placement(p, &folder, &c, &e), CLV_IO);
    CHECK_HAS(e.msg, "is a folder");
    check_row("one node is worth the transfer");
    CHECK_OR_RETURN(place_with("{\"features.3\": {\"cpu\": 1, \"accelerator\": "
                               "0.001}, \"avgpool\": {\"cpu\": 0}}",
                               &c, &e) == CLV_OK);
    const clv_placement_info *i = clv_cut_placement_info(c);
    CHECK_NEAR(i->all_cpu.total, 1, 1e-9);
    CHECK(i->optimum.total < 0.005 && i->optimum.nodes >= 1);
    clv_cut_free(c);
    check_row("and here it is not");
    CHECK_OR_RETURN(place_with("features.3,0.001,0.0009\n", &c, &e) == CLV_OK);
    CHECK_EQ_INT(clv_cut_placement_info(c)->optimum.nodes, 0);
    clv_cut_free(c);
    const clv_placement_opts none = {.size = sizeof none};
    CHECK_EQ_INT(clv_cut_placement(p, &none, &c, &e), CLV_USAGE);
}

/* -- pipeline -------------------------------------------------------------*/

/* The least bottleneck of a chain over all ways to cut it into k slices. */
static double best_slices(const double *cost, uint32_t n, uint32_t k)
{
    double sum = 0, best = INFINITY;
    if (k == 1) {
        for (uint32_t i = 0; i < n; i++)
            sum += cost[i];
        return sum;
    }
    for (uint32_t first = 1; first < n; first++) {
        sum += cost[first - 1];
        double rest = best_slices(cost + first, n - first, k - 1);
        double worst = sum > rest ? sum : rest;
        best = worst < best ? worst : best;
    }
    return best;
}

static void slices_of_a_chain(void)
{
    double cost[64];
    open_model("alexnet"); /* a chain: every order is the same */
    for (uint32_t i = 0; i < g->n_nodes; i++)
        cost[i] = (double)p->layers[i].cost.flops;
    for (uint32_t k = 1; k <= 5; k++) {
        clv_pipeline_opts o = {.size = sizeof o, .stages = k};
        clv_cut *c;
        CHECK_OR_RETURN(clv_cut_pipeline(p, &o, &c, NULL) == CLV_OK);
        CHECK(clv_cut_verify(c, NULL) == CLV_OK);
        const clv_pipeline_info *i = clv_cut_pipeline_info(c);
        CHECK_NEAR(i->bottleneck, best_slices(cost, g->n_nodes, k), 0.5);
        CHECK(i->bottleneck >= i->bound && i->n_stages <= k);
        clv_cut_free(c);
    }
}

static void stages_of_models(void)
{
    static const char *const models[] = {"resnet50", "googlenet",
                                         "densenet121"};
    for (int m = 0; m < 3; m++) {
        check_row(models[m]);
        open_model(models[m]);
        double before = INFINITY;
        for (uint32_t k = 1; k <= 8; k *= 2) {
            clv_pipeline_opts o = {
                .size = sizeof o, .stages = k, .device = device("a100")};
            clv_cut *c;
            clv_err e;
            CHECK_OR_RETURN(clv_cut_pipeline(p, &o, &c, &e) == CLV_OK);
            CHECK(clv_cut_verify(c, NULL) == CLV_OK);
            const clv_pipeline_info *i = clv_cut_pipeline_info(c);
            CHECK(i->n_stages >= 1 && i->n_stages <= k);
            CHECK(i->bottleneck >= i->bound * (1 - 1e-9));
            CHECK(i->bottleneck <= before * (1 + 1e-9));
            before = i->bottleneck;
            clv_cut_free(c);
        }
    }
}

static void memory_of_stages(void)
{
    clv_pipeline_opts o = {.size = sizeof o, .stages = 4, .memory = 1000};
    clv_cut *c;
    clv_err e;
    open_model("resnet50");
    CHECK_EQ_INT(clv_cut_pipeline(p, &o, &c, &e), CLV_LIMIT);
    CHECK_HAS(e.msg, "no cut into 4 stages keeps each within 1000 bytes");
    o.memory = 45 << 20;
    CHECK_OR_RETURN(clv_cut_pipeline(p, &o, &c, &e) == CLV_OK);
    const clv_pipeline_info *i = clv_cut_pipeline_info(c);
    for (uint32_t k = 0; k < i->n_stages; k++)
        CHECK(i->stages[k].memory <= o.memory);
    clv_cut_free(c);
    o.stages = 0;
    CHECK_EQ_INT(clv_cut_pipeline(p, &o, &c, &e), CLV_USAGE);
}

static const check_case cases[] = {
    {"plans_are_in_order", plans_are_in_order},
    {"costs_from_files", costs_from_files},
    {"slices_of_a_chain", slices_of_a_chain},
    {"stages_of_models", stages_of_models},
    {"memory_of_stages", memory_of_stages},
};

int main(int argc, char **argv)
{
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    int rc = check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    unlink(path);
    clv_profile_free(p);
    clv_graph_free(g);
    return rc;
}

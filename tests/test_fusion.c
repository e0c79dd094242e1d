/* test_fusion.c - fusion: valid cuts, never more traffic, the patterns people
 * expect, limits kept. */
#include "check.h"
#include "cut/fusion.h"
#include "random_graph.h"

#include <glob.h>

static int64_t moved(const clv_subgraph *s)
{
    return s->cost.bytes_in + s->cost.bytes_weights + s->cost.bytes_out;
}

static uint32_t operators(const clv_graph *g, const clv_subgraph *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        n += !node_is_view(&g->nodes[s->nodes[i]]);
    return n;
}

/* A subgraph of several operators keeps the limits. */
static void check_limits(const clv_cut *c, const clv_fusion_opts *o)
{
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_subgraph *s = &c->subs[k];
        if (operators(c->p->g, s) < 2)
            continue;
        CHECK(!o->max_ops || operators(c->p->g, s) <= o->max_ops);
        CHECK(!o->max_bytes || moved(s) <= o->max_bytes);
        CHECK(!o->max_flops || s->cost.flops <= o->max_flops);
    }
}

static void check_fused(const clv_graph *g, const clv_fusion_opts *o)
{
    clv_err e;
    clv_profile *p;
    clv_cut *c;
    clv_summary *s;
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    if (CHECK(clv_cut_fusion(p, o, &c, &e) == CLV_OK)) {
        CHECK_STR(clv_cut_verify(c, &e) == CLV_OK ? "" : e.msg, "");
        if (CHECK(clv_summary_new(c, &s, &e) == CLV_OK)) {
            const clv_summary_info *t = clv_summary_get(s);
            const clv_totals *all = clv_profile_totals(p);
            CHECK_EQ_INT(t->bytes_unfused, all->memory);
            CHECK(t->bytes_external <= all->memory);
            CHECK_EQ_INT(t->flops, all->flops);
            CHECK_EQ_INT(t->operators, all->operators);
            clv_summary_free(s);
        }
        if (o)
            check_limits(c, o);
        clv_cut_free(c);
    }
    clv_profile_free(p);
}

static const clv_fusion_opts limits[] = {
    {.size = sizeof *limits, .max_ops = 1},
    {.size = sizeof *limits, .max_ops = 2},
    {.size = sizeof *limits, .max_bytes = 3000},
    {.size = sizeof *limits, .max_flops = 2000},
    {.size = sizeof *limits,
     .max_ops = 5,
     .max_bytes = 100000,
     .max_flops = 1000000},
};

static void zoo_models(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)) != NULL; i++) {
        clv_graph *g;
        clv_err e;
        check_row(m->name);
        if (!CHECK(clv_graph_open(m->name, NULL, &g, &e) == CLV_OK))
            continue;
        check_fused(g, NULL);
        check_fused(g, &limits[i % 5]);
        clv_graph_free(g);
    }
}

static void onnx_files(void)
{
    glob_t found;
    CHECK_OR_RETURN(glob("tests/data/onnx/*.onnx", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        clv_graph *g;
        check_row(found.gl_pathv[i]);
        if (clv_graph_open(found.gl_pathv[i], NULL, &g, NULL) != CLV_OK) {
            check_skip("this build cannot read it");
            continue;
        }
        check_fused(g, NULL);
        clv_graph_free(g);
    }
    globfree(&found);
}

static void random_graphs(void)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        clv_graph *g = random_graph(seed, 2 + (uint32_t)(seed % 90));
        CHECK_OR_RETURN(g != NULL);
        for (uint32_t i = 3; seed % 3 == 0 && i < g->n_nodes; i += 7)
            g->nodes[i].flags |= CLV_N_STATEFUL;
        check_fused(g, NULL);
        check_fused(g, &limits[seed % 5]);
        clv_graph_free(g);
    }
}

/* How often a pattern occurs. The numbers follow from the architectures: one
 * subgraph per convolution or product (He et al. table 1: 53 convolutions in
 * resnet50, 16 of them before an add, 4 projections), 1 gate per block of
 * efficientnet_b0 (16), 1 attention per layer of vit_b_32 (12). */
static void known_patterns(void)
{
    static const struct {
        const char *model, *pattern;
        uint32_t count, subgraphs;
    } rows[] = {
        {"resnet50", "Conv_BN_ReLU", 33, 56},
        {"resnet50", "Conv_BN_Add_ReLU", 16, 56},
        {"resnet50", "Conv_BN", 4, 56},
        {"resnet18", "Conv_BN_Add_ReLU", 8, 23},
        {"mobilenet_v2", "Conv_BN_ReLU6", 35, 54},
        {"mobilenet_v2", "Conv_BN_Add", 10, 54},
        {"efficientnet_b0", "SqueezeExcite", 16, 67},
        {"vit_b_32", "Attention", 12, 0},
        {"vit_b_32", "Linear_GELU", 12, 0},
        {"convnext_tiny", "Linear_GELU", 18, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        clv_graph *g;
        clv_profile *p;
        clv_cut *c;
        clv_err e;
        check_row(rows[i].model);
        CHECK_OR_RETURN(clv_graph_open(rows[i].model, NULL, &g, &e) == CLV_OK);
        CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
        CHECK_OR_RETURN(clv_cut_fusion(p, NULL, &c, &e) == CLV_OK);
        uint32_t n = 0;
        for (uint32_t k = 0; k < c->n_subs; k++)
            n += strcmp(c->subs[k].pattern, rows[i].pattern) == 0;
        CHECK_EQ_INT(n, rows[i].count);
        if (rows[i].subgraphs)
            CHECK_EQ_INT(c->n_subs, rows[i].subgraphs);
        clv_cut_free(c);
        clv_profile_free(p);
        clv_graph_free(g);
    }
}

/* Between the convolutions of a quantised model bytes move, not floats. Each of
 * the 52 convolutions and the classifier is a subgraph. */
static void quantised(void)
{
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_err e;
    const char *path = "tests/data/onnx/mobilenet_v2-qdq.onnx";
    CHECK_OR_RETURN(clv_graph_open(path, NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_cut_fusion(p, NULL, &c, &e) == CLV_OK);
    uint32_t anchors = 0;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        uint32_t here = 0;
        for (uint32_t i = 0; i < c->subs[k].n_nodes; i++)
            here += clv__ops[g->nodes[c->subs[k].nodes[i]].op].fuse ==
                    CLV_FUSE_ANCHOR;
        CHECK(here <= 1);
        anchors += here;
        for (uint32_t i = 0; here && i < c->subs[k].n_inputs; i++) {
            uint32_t x = c->subs[k].inputs[i];
            const clv_value *v = &g->values[x];
            if (v->producer != CLV_NONE)
                CHECK_EQ_INT(clv__held_bytes(v), clv__numel(v));
        }
    }
    CHECK_EQ_INT(anchors, 53);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* Every allocation fails once; nothing leaks or crashes. */
static struct {
    long left, live;
} budget;

static void *stingy(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size == 0) {
        budget.live -= p != NULL;
        free(p);
        return NULL;
    }
    if (budget.left-- <= 0)
        return NULL;
    budget.live += p == NULL;
    return realloc(p, size);
}

static void out_of_memory(void)
{
    const clv_allocator a = {stingy, NULL};
    clv_graph *g;
    clv_profile *p;
    clv_err e;
    budget.left = 1 << 30;
    budget.live = 0;
    clv_set_allocator(&a);
    CHECK_OR_RETURN(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    long before = budget.live, n = 0;
    clv_status s = CLV_NOMEM;
    for (; s != CLV_OK && n < 1000; n++) {
        clv_cut *c = NULL, *op = NULL;
        clv_summary *sum = NULL;
        budget.left = n;
        s = clv_cut_fusion(p, NULL, &c, &e);
        if (s == CLV_OK)
            s = clv_cut_op(p, &op, &e);
        if (s == CLV_OK)
            s = clv_summary_new(c, &sum, &e);
        if (s == CLV_OK)
            s = clv_cut_verify(c, &e);
        CHECK(s == CLV_OK || s == CLV_NOMEM);
        clv_summary_free(sum);
        clv_cut_free(op);
        clv_cut_free(c);
        CHECK_EQ_INT(budget.live, before);
    }
    CHECK(s == CLV_OK && n > 5);
    clv_profile_free(p);
    clv_graph_free(g);
    clv_set_allocator(NULL);
}

static const check_case cases[] = {
    {"zoo_models", zoo_models},       {"onnx_files", onnx_files},
    {"random_graphs", random_graphs}, {"known_patterns", known_patterns},
    {"quantised", quantised},         {"out_of_memory", out_of_memory},
};
CHECK_MAIN(cases)

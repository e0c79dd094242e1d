/* test_cut.c - cuts: what clv__cut_make builds, and that clv_cut_verify would
 * notice if it were wrong. */
#include "check.h"
#include "cut/cut.h"
#include "random_graph.h"

/* Labels: contiguous runs of execution order never make a cycle. */
static uint32_t random_runs(rng *r, uint32_t n, uint32_t *label)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        label[i] = k;
        k += rng_below(r, 3) == 0 || i + 1 == n;
    }
    return n ? label[n - 1] + 1 : 0;
}

static int64_t moved(const clv_subgraph *s)
{
    return s->cost.bytes_in + s->cost.bytes_weights + s->cost.bytes_out;
}

/* Verifies, and checks what a whole cut must add up to. */
static void check_cut(const clv_cut *c)
{
    clv_err e;
    CHECK_STR(clv_cut_verify(c, &e) == CLV_OK ? "" : e.msg, "");
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    int64_t outside = 0, inside = 0, flops = 0, nodes = 0;
    for (uint32_t k = 0; k < n; k++) {
        outside += moved(&subs[k]);
        inside += subs[k].bytes_internal;
        flops += subs[k].cost.flops;
        nodes += subs[k].n_nodes;
        if (subs[k].n_nodes == 1)
            CHECK_EQ_INT(subs[k].bytes_internal, 0);
    }
    const clv_totals *t = clv_profile_totals(clv_cut_profile(c));
    CHECK_EQ_INT(outside + inside, t->memory);
    CHECK_EQ_INT(flops, t->flops);
    CHECK_EQ_INT(nodes, t->operators);
}

static void cut_graph(const clv_graph *g, uint64_t seed)
{
    clv_err e;
    clv_profile *p;
    clv_cut *c;
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    if (CHECK(clv_cut_op(p, &c, &e) == CLV_OK)) {
        check_cut(c);
        CHECK_EQ_INT(c->n_subs, g->n_nodes);
        for (uint32_t k = 0; k < c->n_subs; k++)
            CHECK_EQ_INT(c->subs[k].nodes[0], k);
        clv_cut_free(c);
    }
    for (uint32_t depth = 1; depth <= 3; depth++)
        if (CHECK(clv_cut_modules(p, depth, &c, &e) == CLV_OK)) {
            check_cut(c);
            clv_cut_free(c);
        }
    rng r = {seed};
    uint32_t *label = malloc((g->n_nodes + 1) * sizeof *label);
    uint32_t n = random_runs(&r, g->n_nodes, label);
    const cut_labels l = {.of = label, .n = n};
    if (CHECK(clv__cut_make(p, "runs", &l, &c, &e) == CLV_OK)) {
        check_cut(c);
        CHECK_EQ_INT(c->n_subs, n);
        clv_cut_free(c);
    }
    free(label);
    clv_profile_free(p);
}

static void zoo_models(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)) != NULL; i++) {
        clv_graph *g;
        clv_err e;
        check_row(m->name);
        if (!CHECK(clv_graph_open(m->name, NULL, &g, &e) == CLV_OK))
            continue;
        cut_graph(g, i);
        clv_graph_free(g);
    }
}

static void random_graphs(void)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        clv_graph *g = random_graph(seed, 2 + (uint32_t)(seed % 60));
        CHECK_OR_RETURN(g != NULL);
        for (uint32_t i = 3; seed % 3 == 0 && i < g->n_nodes; i += 7)
            g->nodes[i].flags |= CLV_N_STATEFUL;
        cut_graph(g, seed);
        clv_graph_free(g);
    }
}

/* Two labels that take turns along a chain depend on each other. */
static void cycles_are_refused(void)
{
    clv_err e;
    clv_profile *p;
    clv_cut *c;
    clv_graph *g;
    CHECK_OR_RETURN(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    uint32_t *label = malloc(g->n_nodes * sizeof *label);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        label[i] = i % 2;
    const cut_labels l = {.of = label, .n = 2};
    CHECK(clv__cut_make(p, "bad", &l, &c, &e) == CLV_INTERNAL);
    CHECK(c == NULL);
    CHECK_HAS(e.msg, "cycle");
    free(label);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- the verifier notices ------------------------------------------------- */

static void break_cover(clv_cut *c)
{
    c->of[3] = 7;
}

static void break_order(clv_cut *c)
{
    uint32_t *nodes = (uint32_t *)(uintptr_t)c->subs[1].nodes;
    uint32_t a = nodes[0], b = c->subs[2].nodes[0];
    nodes[0] = b;
    *(uint32_t *)(uintptr_t)c->subs[2].nodes = a;
    c->of[a] = 2;
    c->of[b] = 1;
}

static void break_inputs(clv_cut *c)
{
    c->subs[4].n_inputs--;
}

static void break_outputs(clv_cut *c)
{
    c->subs[4].n_outputs = 0;
}

static void break_depends(clv_cut *c)
{
    c->subs[5].n_depends_on = 0;
}

static void break_bytes(clv_cut *c)
{
    c->subs[6].cost.bytes_out++;
}

static void break_inside(clv_cut *c)
{
    c->subs[6].bytes_internal = 4;
}

static void verify_notices(void)
{
    static const struct {
        const char *name, *says;
        void (*damage)(clv_cut *c);
    } rows[] = {
        {"cover", "node 3", break_cover},
        {"order", "before its input", break_order},
        {"inputs", "is missing", break_inputs},
        {"outputs", "output value", break_outputs},
        {"depends", "dependency", break_depends},
        {"bytes", "bytes in/weights/out", break_bytes},
        {"inside", "bytes inside", break_inside},
    };
    clv_err e;
    clv_graph *g;
    clv_profile *p;
    CHECK_OR_RETURN(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        clv_cut *c;
        check_row(rows[i].name);
        CHECK_OR_RETURN(clv_cut_op(p, &c, &e) == CLV_OK);
        rows[i].damage(c);
        CHECK(clv_cut_verify(c, &e) == CLV_INTERNAL);
        CHECK_HAS(e.msg, rows[i].says);
        clv_cut_free(c);
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

/* resnet50 below its children: stem, 16 blocks, pool, flatten, classifier. */
static void modules(void)
{
    static const struct {
        uint32_t depth, subgraphs;
    } rows[] = {{1, 11}, {2, 23}};
    clv_err e;
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    CHECK_OR_RETURN(clv_graph_open("resnet50", NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OR_RETURN(clv_cut_modules(p, rows[i].depth, &c, &e) == CLV_OK);
        CHECK_EQ_INT(c->n_subs, rows[i].subgraphs);
        CHECK_STR(c->subs[4].detail, i ? "layer1.0" : "layer1");
        clv_cut_free(c);
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

static void empty_graph(void)
{
    clv_err e;
    clv_graph *g;
    CHECK_OR_RETURN(clv_graph_new("empty", &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_graph_infer(g, &e) == CLV_OK);
    cut_graph(g, 0);
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"zoo_models", zoo_models},
    {"random_graphs", random_graphs},
    {"cycles_are_refused", cycles_are_refused},
    {"verify_notices", verify_notices},
    {"modules", modules},
    {"empty_graph", empty_graph},
};
CHECK_MAIN(cases)

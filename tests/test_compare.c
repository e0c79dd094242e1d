/* test_compare.c - side by side, aligned, and checks with both their
 * numbers; and what happens when memory runs out in any of them. */
#include "starve.h"

#include <stdlib.h>

/* A chain of layers with names; a name that starts with '2' has two inputs'
 * worth of channels. */
static clv_graph *chain(const char *const *names, uint32_t n)
{
    clv_graph *g = NULL;
    uint32_t x;
    const clv_value_arg in = {.size = sizeof in,
                              "x",
                              CLV_VALUE_INPUT,
                              CLV_FLOAT32,
                              2,
                              (const int64_t[]){1, 8}};
    if (clv_graph_new("chain", &g, NULL) != CLV_OK ||
        clv_graph_add_value(g, &in, &x, NULL) != CLV_OK)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        bool gelu = names[i][0] == '2';
        const clv_node_arg arg = {.size = sizeof arg,
                                  .op = gelu ? "gelu" : "relu",
                                  .name = names[i] + gelu,
                                  .module = names[i] + gelu,
                                  .inputs = &x,
                                  .n_inputs = 1};
        if (clv_graph_add_node(g, &arg, &x, NULL) != CLV_OK)
            return NULL;
    }
    if (clv_graph_add_output(g, x, NULL) != CLV_OK ||
        clv_graph_infer(g, NULL) != CLV_OK)
        return NULL;
    return g;
}

static void aligned(void)
{
    static const char *const before[] = {"a", "b", "c", "d"};
    static const char *const after[] = {"a", "x", "2c", "d", "e"};
    static const struct {
        const char *name;
        bool before, after;
    } want[] = {{"c", true, true}, {"e", false, true}};
    clv_graph *g[] = {chain(before, 4), chain(after, 5)};
    clv_profile *p[2] = {0};
    clv_compare *c;
    CHECK_OR_RETURN(g[0] && g[1]);
    for (int i = 0; i < 2; i++)
        CHECK_OR_RETURN(clv_profile_new(g[i], NULL, &p[i], NULL) == CLV_OK);
    CHECK_OR_RETURN(
        clv_compare_new((const clv_profile *const *)p, 2, &c, NULL) == CLV_OK);
    const clv_compare_info *info = clv_compare_get(c);
    CHECK(info->aligned);
    CHECK_EQ_INT(info->same, 3); /* b has another name, x, and is the same */
    CHECK_EQ_INT(info->changed, 1);
    CHECK_EQ_INT(info->added, 1);
    CHECK_EQ_INT(info->removed, 0);
    CHECK_EQ_INT(info->n_changes, 2);
    for (uint32_t i = 0; i < 2 && i < info->n_changes; i++) {
        CHECK_STR(info->changes[i].name, want[i].name);
        CHECK_EQ_INT(info->changes[i].before != CLV_NONE, want[i].before);
        CHECK_EQ_INT(info->changes[i].after != CLV_NONE, want[i].after);
    }
    CHECK(info->changes[0].what & CLV_CHANGED_TYPE);
    CHECK(!(info->changes[0].what & CLV_CHANGED_SHAPE));
    clv_compare_free(c);
    for (int i = 0; i < 2; i++) {
        clv_profile_free(p[i]);
        clv_graph_free(g[i]);
    }
}

/* One graph has each layer of both once, in an order that runs, and every link
 * of the second model. */
static void check_merged(const clv_compare *c)
{
    const clv_compare_info *info = clv_compare_get(c);
    const clv_graph *b = clv_profile_graph(info->profiles[1]);
    clv_merged *m;
    CHECK_OR_RETURN(clv_merged_new(c, &m, NULL) == CLV_OK);
    const clv_graph *g = clv_merged_graph(m);
    const uint32_t *before = clv_merged_before(m), *after = clv_merged_after(m);
    uint32_t n = clv_graph_num_nodes(g), removed = 0, added = 0, second = 0;
    CHECK(clv_graph_verify(g, NULL) == CLV_OK);
    CHECK_EQ_INT(n, info->same + info->changed + info->added + info->removed);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(before[i] != CLV_NONE || after[i] != CLV_NONE);
        removed += after[i] == CLV_NONE;
        added += before[i] == CLV_NONE;
        if (after[i] == CLV_NONE)
            continue;
        second++;
        CHECK(before[i] == info->partners[after[i]]);
        CHECK_STR(clv_graph_node(g, i).op, clv_graph_node(b, after[i]).op);
        CHECK(clv_graph_node(g, i).n_inputs >=
              clv_graph_node(b, after[i]).n_inputs);
    }
    CHECK_EQ_INT(removed, info->removed);
    CHECK_EQ_INT(added, info->added);
    CHECK_EQ_INT(second, clv_graph_num_nodes(b));
    clv_merged_free(m);
}

static void merged(void)
{
    static const char *const pairs[][2] = {
        {"resnet18", "resnet34"},
        {"resnet50", "vgg11"},
        {"googlenet", "tests/data/onnx/googlenet.dynamo.onnx"},
        {"tests/data/onnx/bert_tiny.legacy.onnx",
         "tests/data/onnx/bert_tiny.dynamo.onnx"},
        {"tests/data/onnx/vit_b_16.dynamo.onnx",
         "tests/data/onnx/vit_b_16.legacy.onnx"},
        {"swin_t", "tests/data/onnx/gpt2_tiny.dynamo.onnx"},
        {"tests/data/onnx/shufflenet_v2_x1_0.legacy.onnx", "densenet121"},
        {"tests/data/onnx/control_flow.onnx", "alexnet"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        clv_graph *g[2] = {0};
        clv_profile *p[2] = {0};
        clv_compare *c = NULL;
        check_row(pairs[i][0]);
        for (int k = 0; k < 2; k++)
            if (CHECK(clv_graph_open(pairs[i][k], NULL, &g[k], NULL) == CLV_OK))
                CHECK(clv_profile_new(g[k], NULL, &p[k], NULL) == CLV_OK);
        if (CHECK(clv_compare_new((const clv_profile *const *)p, 2, &c, NULL) ==
                  CLV_OK))
            check_merged(c);
        clv_compare_free(c);
        for (int k = 0; k < 2; k++) {
            clv_profile_free(p[k]);
            clv_graph_free(g[k]);
        }
    }
}

/* Sums over types and modules are the totals, in every column. */
static void columns_add_up(void)
{
    static const char *const models[] = {"resnet18", "vgg11", "mobilenet_v2"};
    clv_graph *g[3] = {0};
    clv_profile *p[3] = {0};
    clv_compare *c;
    for (int i = 0; i < 3; i++)
        CHECK_OR_RETURN(clv_graph_open(models[i], NULL, &g[i], NULL) ==
                            CLV_OK &&
                        clv_profile_new(g[i], NULL, &p[i], NULL) == CLV_OK);
    CHECK_OR_RETURN(
        clv_compare_new((const clv_profile *const *)p, 3, &c, NULL) == CLV_OK);
    const clv_compare_info *info = clv_compare_get(c);
    CHECK(!info->aligned && info->n_changes == 0);
    for (uint32_t m = 0; m < 3; m++) {
        const clv_totals *t = clv_profile_totals(p[m]);
        int64_t flops = 0, count = 0, macs = 0;
        for (uint32_t i = 0; i < info->n_types; i++) {
            flops += info->types[i].flops[m];
            macs += info->types[i].macs[m];
            count += info->types[i].count[m];
        }
        CHECK_EQ_INT(flops, t->flops);
        CHECK_EQ_INT(macs, t->macs);
        CHECK_EQ_INT(count, t->operators);
        CHECK(info->peaks[m] > 0);
        macs = 0;
        for (uint32_t i = 0; i < info->n_modules; i++)
            macs += info->modules[i].depth == 1 ? info->modules[i].macs[m] : 0;
        CHECK_EQ_INT(macs, t->macs);
    }
    clv_compare_free(c);
    for (int i = 0; i < 3; i++) {
        clv_profile_free(p[i]);
        clv_graph_free(g[i]);
    }
}

/* -- checks ---------------------------------------------------------------*/

typedef struct opened {
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
} opened;

static bool open_cut(const char *model, int64_t batch, opened *o)
{
    *o = (opened){0};
    return CHECK(clv_graph_open(model,
                                &(clv_open_opts){.size = sizeof(clv_open_opts),
                                                 .batch = batch},
                                &o->g, NULL) == CLV_OK) &&
           CHECK(clv_profile_new(o->g, NULL, &o->p, NULL) == CLV_OK) &&
           CHECK(clv_cut_op(o->p, &o->c, NULL) == CLV_OK);
}

static void drop(opened *o)
{
    clv_cut_free(o->c);
    clv_profile_free(o->p);
    clv_graph_free(o->g);
}

/* A limit equal to the number passes, one less fails; for every key. */
static void budgets_are_exact(void)
{
    const clv_device *d;
    opened o;
    CHECK_OR_RETURN(clv_device_find("h100", &d, NULL) == CLV_OK);
    if (!open_cut("resnet18", 1, &o)) {
        drop(&o);
        return;
    }
    for (uint32_t k = 0; k < CLV_BUDGET_COUNT; k++) {
        clv_budget b = {(clv_budget_key)k, 1e30};
        clv_check_opts opts = {
            .size = sizeof opts, .device = d, .budgets = &b, .n_budgets = 1};
        clv_check *c;
        uint32_t n;
        check_row(clv_budget_at(k)->key);
        for (int round = 0; round < 3; round++) {
            CHECK_OR_RETURN(clv_check_new(o.c, &opts, &c, NULL) == CLV_OK);
            const clv_check_item *x = clv_check_items(c, &n);
            x = &x[n - 1];
            CHECK_STR(x->key, clv_budget_at(k)->key);
            CHECK(x->is_budget && x->passed == (round < 2));
            double next = x->actual;
            b.limit = round == 0                                   ? next
                      : clv_budget_at(k)->unit == CLV_UNIT_SECONDS ? next / 2
                                                                   : next - 1;
            clv_check_free(c);
        }
    }
    drop(&o);
}

/* The check of the tutorial: an edge device and a GPU. */
static void suitability(void)
{
    const clv_check_opts edge = {.size = sizeof edge,
                                 .compute_units = 4,
                                 .memory = 256e6,
                                 .min_intensity = 5};
    const clv_check_opts gpu = {.size = sizeof gpu,
                                .compute_units = 132,
                                .memory = 80e9,
                                .min_intensity = 10};
    const clv_check_opts tiny = {.size = sizeof tiny, .memory = 40e6};
    const clv_check_opts none = {.size = sizeof none};
    const clv_budget latency = {CLV_BUDGET_LATENCY, 1};
    const clv_check_opts no_device = {
        .size = sizeof no_device, .budgets = &latency, .n_budgets = 1};
    opened one, many;
    clv_check *c;
    clv_err err;
    if (open_cut("resnet18", 1, &one) && open_cut("resnet18", 64, &many)) {
        CHECK(clv_check_new(one.c, &edge, &c, NULL) == CLV_OK);
        CHECK_EQ_INT(clv_check_failed(c), 0);
        clv_check_free(c);
        CHECK(clv_check_new(one.c, &gpu, &c, NULL) == CLV_OK);
        CHECK_EQ_INT(clv_check_failed(c), 1);
        clv_check_free(c);
        CHECK(clv_check_new(many.c, &gpu, &c, NULL) == CLV_OK);
        CHECK_EQ_INT(clv_check_failed(c), 0);
        clv_check_free(c);
        CHECK(clv_check_new(one.c, &tiny, &c, NULL) == CLV_OK);
        CHECK_EQ_INT(clv_check_failed(c), 1);
        clv_check_free(c);
        CHECK(clv_check_new(one.c, &none, &c, &err) == CLV_USAGE);
        CHECK(clv_check_new(one.c, &no_device, &c, &err) == CLV_USAGE);
    }
    drop(&one);
    drop(&many);
}

/* -- memory runs out ------------------------------------------------------*/

static clv_status all_of(void *ctx, clv_err *err)
{
    const opened *o = ctx;
    static const int64_t values[] = {1, 2};
    const clv_vary v = {
        .kind = CLV_VARY_BATCH, .name = "batch", .values = values, .n = 2};
    const clv_budget b = {CLV_BUDGET_PEAK, 1};
    const clv_check_opts opts = {
        .size = sizeof opts, .memory = 1, .budgets = &b, .n_budgets = 1};
    const clv_profile *p[] = {o->p, o->p};
    clv_check *k = NULL;
    clv_compare *c = NULL;
    clv_sweep *w = NULL;
    clv_merged *m = NULL;
    clv_scaling *x = NULL;
    const clv_scaling_type type = {.at = {o->p}};
    clv_status s = clv_check_new(o->c, &opts, &k, err);
    if (s == CLV_OK)
        s = clv_compare_new(p, 2, &c, err);
    if (s == CLV_OK)
        s = clv_merged_new(c, &m, err);
    if (s == CLV_OK)
        s = clv_scaling_new(&type, 1, &x, err);
    if (s == CLV_OK)
        s = clv_sweep_new("alexnet", NULL, &v, 1, false, &w, err);
    clv_sweep_free(w);
    clv_scaling_free(x);
    clv_merged_free(m);
    clv_compare_free(c);
    clv_check_free(k);
    return s;
}

static void out_of_memory(void)
{
    opened o;
    if (open_cut("alexnet", 1, &o))
        CHECK(starve(all_of, &o, 1) > 20);
    drop(&o);
}

static const check_case cases[] = {
    {"aligned", aligned},
    {"merged", merged},
    {"columns_add_up", columns_add_up},
    {"budgets_are_exact", budgets_are_exact},
    {"suitability", suitability},
    {"out_of_memory", out_of_memory},
};
CHECK_MAIN(cases)

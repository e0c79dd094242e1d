/* test_export.c - what we write, we read back as the same model.
 *
 * Every model of the zoo is written as ONNX without weights and opened again:
 * its profile must be the same, operator for operator. A few are written at
 * every opset. Other readers' word is in tests/py/export_onnx.py. */
#include "graph/graph.h"
#include "starve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64] = "/tmp/cleave-export-XXXXXX";

static void same_layer(const clv_profile *a, const clv_profile *b, uint32_t i)
{
    uint32_t n;
    const clv_layer *x = &clv_profile_layers(a, &n)[i];
    const clv_layer *y = &clv_profile_layers(b, &n)[i];
    clv_node_info p = clv_graph_node(clv_profile_graph(a), i);
    clv_node_info q = clv_graph_node(clv_profile_graph(b), i);
    CHECK_STR(q.name, p.name);
    CHECK_STR(q.op, p.op);
    CHECK_STR(q.module, p.module);
    CHECK_EQ_INT(y->cost.macs, x->cost.macs);
    CHECK_EQ_INT(y->cost.flops, x->cost.flops);
    /* ONNX has no word for a batch norm whose weights are not learned. */
    bool frozen = !strcmp(p.op, "batch_norm") && x->cost.params == 0;
    if (!frozen)
        CHECK_EQ_INT(y->cost.params, x->cost.params);
    CHECK_EQ_INT(y->cost.bytes_in, x->cost.bytes_in);
    CHECK_EQ_INT(y->cost.bytes_weights, x->cost.bytes_weights);
    CHECK_EQ_INT(y->cost.bytes_out, x->cost.bytes_out);
}

static void round_trip(const char *model, int64_t opset)
{
    clv_err err = {0};
    clv_graph *g = NULL, *back = NULL;
    clv_profile *a = NULL, *b = NULL;
    clv_onnx_opts opts = {
        .size = sizeof opts, .opset = opset, .weights = CLV_WEIGHTS_NONE};
    bool ok = clv_graph_open(model, NULL, &g, &err) == CLV_OK &&
              clv_profile_new(g, NULL, &a, &err) == CLV_OK &&
              clv_export_onnx(g, path, &opts, &err) == CLV_OK &&
              clv_graph_open(path, NULL, &back, &err) == CLV_OK &&
              clv_profile_new(back, NULL, &b, &err) == CLV_OK;
    CHECK_STR(err.msg, "");
    if (ok) {
        uint32_t n = clv_graph_num_nodes(g);
        CHECK_EQ_INT(clv_graph_num_nodes(back), n);
        for (uint32_t i = 0; i < n && clv_graph_num_nodes(back) == n; i++)
            same_layer(a, b, i);
        CHECK_EQ_INT(clv_profile_totals(b)->macs, clv_profile_totals(a)->macs);
    }
    clv_profile_free(b);
    clv_profile_free(a);
    clv_graph_free(back);
    clv_graph_free(g);
}

static void zoo(void)
{
    for (uint32_t i = 0; clv_zoo_at(i); i++) {
        check_row(clv_zoo_at(i)->name);
        round_trip(clv_zoo_at(i)->name, 0);
    }
}

static void opsets(void)
{
    static const char *const models[] = {"vit_b_16", "swin_v2_t", "s3d",
                                         "mobilenet_v3_small"};
    for (int64_t opset = 17; opset <= 22; opset++)
        for (size_t i = 0; i < 4; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s at opset %d", models[i],
                     (int)opset);
            check_row(name);
            round_trip(models[i], opset);
        }
}

static void refusals(void)
{
    clv_err err;
    clv_graph *g = NULL;
    clv_onnx_opts old = {.size = sizeof old, .opset = 5};
    CHECK(clv_graph_open("alexnet", NULL, &g, &err) == CLV_OK);
    CHECK(clv_export_onnx(g, path, &old, &err) == CLV_USAGE);
    CHECK(clv_export_onnx(g, "/nowhere/x.onnx", NULL, &err) == CLV_IO);
    clv_graph_free(g);
}

/* A file read from ONNX is written as it was. */
static void copies(void)
{
    const char *from = "tests/data/onnx/resnet18.legacy.onnx";
    char command[256];
    clv_err err;
    clv_graph *g = NULL;
    if (clv_graph_open(from, NULL, &g, &err) != CLV_OK) {
        CHECK_STR(err.msg, "");
        return;
    }
    CHECK(clv_export_onnx(g, path, NULL, &err) == CLV_OK);
    snprintf(command, sizeof command, "cmp -s %s %s", from, path);
    CHECK_EQ_INT(system(command), 0);
    clv_graph_free(g);
}

static clv_totals totals_of(const char *file)
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err err = {0};
    clv_totals t = {.macs = -1};
    if (clv_graph_open(file, NULL, &g, &err) == CLV_OK &&
        clv_profile_new(g, NULL, &p, &err) == CLV_OK)
        t = *clv_profile_totals(p);
    CHECK_STR(err.msg, "");
    clv_profile_free(p);
    clv_graph_free(g);
    return t;
}

/* A file read from ONNX, written at another opset, is the same model: only
 * what its shape arithmetic comes to is no longer computed. */
static void other_opset(void)
{
    static const char *const files[] = {
        "resnet18.legacy",
        "mobilenet_v3_small.legacy",
        "vit_b_16.legacy",
        "densenet121.dynamo",
        "swin_t.dynamo",
        "yolov8n.legacy",
        "bert_tiny.legacy",
        "efficientnet_b0.legacy",
        "mobilenet_v2-qdq",
        "control_flow",
        "lstm",
        "gru",
        "rnn",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[256];
        clv_err err = {0};
        clv_graph *g = NULL;
        clv_onnx_opts other = {
            .size = sizeof other, .opset = 18, .weights = CLV_WEIGHTS_NONE};
        snprintf(from, sizeof from, "tests/data/onnx/%s.onnx", files[i]);
        if (clv_graph_open(from, NULL, &g, &err) == CLV_OK)
            CHECK(clv_export_onnx(g, path, &other, &err) == CLV_OK);
        CHECK_STR(err.msg, "");
        clv_graph_free(g);
        if (err.code != CLV_OK)
            continue;
        clv_totals a = totals_of(from), b = totals_of(path);
        CHECK_EQ_INT(a.params, b.params);
        CHECK_EQ_INT(a.macs, b.macs);
        CHECK_NEAR((double)a.flops, (double)b.flops, 100);
        CHECK_EQ_INT(a.trust[CLV_TRUST_EXACT], b.trust[CLV_TRUST_EXACT]);
    }
}

/* What cannot be said is named. */
static void no_form(void)
{
    clv_err err = {0};
    clv_graph *g = NULL;
    clv_onnx_opts other = {
        .size = sizeof other, .opset = 18, .weights = CLV_WEIGHTS_NONE};
    CHECK(clv_graph_open("tests/data/onnx/bert_tiny-fused.onnx", NULL, &g,
                         &err) == CLV_OK);
    CHECK(clv_export_onnx(g, path, &other, &err) == CLV_UNSUPPORTED);
    CHECK(strstr(err.msg, "has no form in ONNX opset 18: attention") != NULL);
    clv_graph_free(g);
}

/* A hundred parts of a split, and names of a thousand letters that differ in
 * the last: all come back. */
static void long_lists_and_names(void)
{
    enum { PARTS = 100, LETTERS = 1000 };
    static const int64_t dims[2] = {2, PARTS};
    char name[LETTERS + 1];
    uint32_t x, id;
    clv_graph *g = NULL;
    clv_err err = {0};
    clv_onnx_opts opts = {.size = sizeof opts, .weights = CLV_WEIGHTS_NONE};
    memset(name, 'n', LETTERS);
    name[LETTERS] = '\0';
    CHECK_OR_RETURN(clv_graph_new("split", &g, &err) == CLV_OK);
    name[LETTERS - 1] = 'x';
    x = clv__value_add(g, arena_strndup(&g->mem, name, LETTERS),
                       CLV_VALUE_INPUT, CLV_FLOAT32);
    CHECK(clv__value_set_shape(g, x, 2, dims));
    name[LETTERS - 1] = 's';
    id = clv__node_add(g, CLV_OP_CHUNK, name, 0, &x, 1, NULL, PARTS);
    static const clv_attr attrs[] = {
        {.name = "axis", .key = CLV_A_AXIS, .type = CLV_ATTR_INT, .u.i = 1},
        {.name = "sections",
         .key = CLV_A_SECTIONS,
         .type = CLV_ATTR_INT,
         .u.i = PARTS}};
    g->nodes[id].attrs = attrs;
    g->nodes[id].n_attrs = 2;
    for (uint32_t i = 0; i < PARTS; i++)
        CHECK(clv__graph_output(g, node_outs(g, &g->nodes[id])[i]));
    if (CHECK(clv_graph_infer(g, &err) == CLV_OK))
        CHECK(clv_export_onnx(g, path, &opts, &err) == CLV_OK);
    CHECK_STR(err.msg, "");
    clv_graph_free(g);
    if (check_that(clv_graph_open(path, NULL, &g, &err) == CLV_OK, __FILE__,
                   __LINE__, "%s", err.msg)) {
        CHECK_EQ_INT(g->n_outputs, PARTS);
        CHECK_EQ_INT(strlen(g->values[g->inputs[0]].name), LETTERS);
    }
    clv_graph_free(g);
}

/* -- allocation failure ---------------------------------------------------*/

static clv_status write_once(void *g, clv_err *err)
{
    clv_onnx_opts opts = {.size = sizeof opts, .weights = CLV_WEIGHTS_NONE};
    return clv_export_onnx(g, path, &opts, err);
}

static clv_status write_anew(void *g, clv_err *err)
{
    clv_onnx_opts opts = {
        .size = sizeof opts, .weights = CLV_WEIGHTS_NONE, .opset = 18};
    return clv_export_onnx(g, path, &opts, err);
}

static void no_memory(void)
{
    clv_graph *g = NULL;
    CHECK(clv_graph_open("tests/data/onnx/control_flow.onnx", NULL, &g, NULL) ==
          CLV_OK);
    CHECK(starve(write_anew, g, 1) > 10);
    clv_graph_free(g);
    CHECK(clv_graph_open("squeezenet1_1", NULL, &g, NULL) == CLV_OK);
    CHECK(starve(write_once, g, 7) > 10);
    clv_graph_free(g);
}

static void clean(void)
{
    unlink(path);
}

static const check_case cases[] = {
    {"zoo", zoo},
    {"opsets", opsets},
    {"refusals", refusals},
    {"copies", copies},
    {"other opset", other_opset},
    {"no form", no_form},
    {"long lists and names", long_lists_and_names},
    {"no memory", no_memory},
    {"clean", clean},
};

int main(int argc, char **argv)
{
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}

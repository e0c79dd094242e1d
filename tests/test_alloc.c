/* test_alloc.c - what a model goes through while memory runs out. */
#include "starve.h"

/* Opens and profiles; on failure *err says why. */
static clv_status profile(void *model, clv_err *err)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_status s = clv_graph_open(model, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_profile_new(
            g,
            &(clv_profile_opts){.size = sizeof(clv_profile_opts),
                                .convention = CLV_CONVENTION_FVCORE},
            &p, err);
    if (s != CLV_OK)
        CHECK(p == NULL);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

/* Validates and diagnoses; err is of the first that failed. */
static clv_status judge(void *model, clv_err *err)
{
    clv_graph *g;
    clv_validation *v = NULL;
    clv_diagnosis *d = NULL;
    clv_status s = clv_graph_open(model, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_validation_new(g, &v, err);
    if (s == CLV_OK)
        s = clv_diagnosis_new(g, INT64_C(8981133312), &d, err);
    if (s != CLV_OK)
        CHECK(d == NULL);
    clv_diagnosis_free(d);
    clv_validation_free(v);
    clv_graph_free(g);
    return s;
}

/* A graph through the API: names, scopes, attributes, and nodes to sort. */
static clv_status build(void *unused, clv_err *err)
{
    (void)unused;
    clv_graph *g;
    clv_profile *p = NULL;
    uint32_t x, i = 0;
    clv_value_arg input = {.size = sizeof input,
                           "x",
                           CLV_VALUE_INPUT,
                           CLV_FLOAT32,
                           1,
                           (int64_t[]){8}};
    clv_attr_arg attr = {.name = "custom", .type = CLV_ATTR_STRING, .u.s = "v"};
    clv_status s = clv_graph_new("test", &g, err);
    if (s == CLV_OK)
        s = clv_graph_add_value(g, &input, &x, err);
    for (; s == CLV_OK && i < 100; i++)
        s = clv_graph_add_node(g,
                               &(clv_node_arg){.size = sizeof(clv_node_arg),
                                               .op = "my_op",
                                               .module = i % 2 ? "a.b" : "c",
                                               .origin = "Relu",
                                               .inputs = &x,
                                               .n_inputs = 1,
                                               .attrs = &attr,
                                               .n_attrs = 1},
                               &x, err);
    if (s == CLV_OK)
        s = clv_graph_add_output(g, x, err);
    if (s == CLV_OK)
        s = clv_graph_infer(g, err);
    if (s == CLV_OK)
        s = clv_profile_new(g, NULL, &p, err);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

/* Cuts over devices: support, capability, placement, pipeline. */
static clv_status devices(void *model, clv_err *err)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_backend *b = NULL;
    clv_support *sup = NULL;
    clv_cut *c = NULL;
    clv_capability_opts o = {
        .size = sizeof o, .max_subgraph_count = 3, .demote = true};
    clv_placement_opts place = {.size = sizeof place, .curve = 2};
    clv_pipeline_opts pipe = {.size = sizeof pipe, .stages = 3};
    clv_status s = clv_graph_open(model, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK)
        s = clv_backend_open("nvidia-dla", NULL, &b, err);
    if (s == CLV_OK)
        s = clv_support_new(b, g, &sup, err);
    if (s == CLV_OK)
        s = clv_cut_capability(p, clv_support_get(sup), &o, &c, err);
    clv_cut_free(c);
    c = NULL;
    o = (clv_capability_opts){.size = sizeof(clv_capability_opts),
                              .connected = true};
    if (s == CLV_OK)
        s = clv_cut_capability(p, clv_support_get(sup), &o, &c, err);
    clv_cut_free(c);
    c = NULL;
    if (s == CLV_OK)
        s = clv_device_find("i7-12700k", &place.host, err);
    if (s == CLV_OK)
        s = clv_device_find("t4", &place.accelerator, err);
    if (s == CLV_OK)
        s = clv_cut_placement(p, &place, &c, err);
    clv_cut_free(c);
    c = NULL;
    if (s == CLV_OK)
        s = clv_cut_pipeline(p, &pipe, &c, err);
    clv_cut_free(c);
    clv_support_free(sup);
    clv_backend_free(b);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

static void sweep(clv_status (*work)(void *, clv_err *), char *model)
{
    CHECK(starve(work, model, 1) > 20);
}

static void zoo(void)
{
    sweep(profile, "squeezenet1_1");
}

static void judged(void)
{
    sweep(judge, "swin_t");
}

static void over_devices(void)
{
    sweep(devices, "alexnet");
}

static void onnx(void)
{
    sweep(profile, "tests/data/onnx/functions.onnx");
    sweep(profile, "tests/data/onnx/control_flow.onnx");
    sweep(profile, "tests/data/onnx/gru.onnx");
    sweep(profile, "tests/data/onnx/bert_tiny-fused.onnx");
    sweep(profile, "tests/data/onnx/mobilenet_v2-qdq.onnx");
}

static void api(void)
{
    sweep(build, NULL);
}

static clv_status fill(void *unused, clv_err *err)
{
    (void)unused;
    clv_buf b = {0};
    for (int i = 0; i < 1000; i++)
        clv_buf_printf(&b, "%d,", i);
    clv_buf_add(&b, "x", 1);
    clv_status s = b.failed ? CLV_NOMEM : CLV_OK;
    *err = (clv_err){.code = s, .msg = "out of memory"};
    clv_buf_free(&b);
    return s;
}

static void buffer(void)
{
    CHECK(starve(fill, NULL, 1) > 2);
}

static const check_case cases[] = {
    {"zoo", zoo},   {"judged", judged}, {"over_devices", over_devices},
    {"onnx", onnx}, {"api", api},       {"buffer", buffer},
};
CHECK_MAIN(cases)

/* test_alloc.c - memory runs out at every possible moment.
 *
 * An allocator that fails its n-th request, for every n until all succeeds:
 * each time the library must say CLV_NOMEM, hand out nothing, and give back
 * every block it took. */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>

static struct {
    long requests; /* so far */
    long fail_at;  /* this one fails; 0: none */
    long live;     /* blocks not yet freed */
} heap;

static void *failing_realloc(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size == 0) {
        heap.live -= p != NULL;
        free(p);
        return NULL;
    }
    if (++heap.requests == heap.fail_at)
        return NULL;
    void *q = realloc(p, size);
    heap.live += p == NULL && q;
    return q;
}

/* Opens and profiles; on failure *err says why. */
static clv_status profile(const char *model, clv_err *err)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_status s = clv_graph_open(model, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_profile_new(
            g, &(clv_profile_opts){.convention = CLV_COUNT_FVCORE}, &p, err);
    if (s != CLV_OK)
        CHECK(p == NULL);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

/* Validates and diagnoses; err is of the first that failed. */
static clv_status judge(const char *model, clv_err *err)
{
    clv_graph *g;
    clv_validation *v = NULL;
    clv_diagnosis *d = NULL;
    clv_status s = clv_graph_open(model, NULL, &g, err);
    if (s == CLV_OK)
        s = clv_validate_new(g, &v, err);
    if (s == CLV_OK)
        s = clv_diagnose_new(g, INT64_C(8981133312), &d, err);
    if (s != CLV_OK)
        CHECK(d == NULL);
    clv_diagnose_free(d);
    clv_validate_free(v);
    clv_graph_free(g);
    return s;
}

/* A graph through the API: names, scopes, attributes, and nodes to sort. */
static clv_status build(const char *unused, clv_err *err)
{
    (void)unused;
    clv_graph *g;
    clv_profile *p = NULL;
    uint32_t x, i = 0;
    clv_value_arg input = {"x", CLV_INPUT, CLV_FLOAT32, 1, (int64_t[]){8}};
    clv_attr_arg attr = {.name = "custom", .type = CLV_STRING_ATTR, .u.s = "v"};
    clv_status s = clv_graph_new("test", &g, err);
    if (s == CLV_OK)
        s = clv_graph_add_value(g, &input, &x, err);
    for (; s == CLV_OK && i < 100; i++)
        s = clv_graph_add_node(g,
                               &(clv_node_arg){.op = "relu",
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
static clv_status devices(const char *model, clv_err *err)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_backend *b = NULL;
    clv_support *sup = NULL;
    clv_cut *c = NULL;
    clv_capability_opts o = {.max_subgraph_count = 3, .demote = true};
    clv_placement_opts place = {.curve = 2};
    clv_pipeline_opts pipe = {.stages = 3};
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
    o = (clv_capability_opts){.connected = true};
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

/* A request that only serves a cache may fail unnoticed; any other may not. */
static void sweep(clv_status (*run)(const char *, clv_err *), const char *model)
{
    clv_set_allocator(&(clv_allocator){failing_realloc, NULL});
    long failures = 0;
    heap.fail_at = heap.requests = 0;
    while (heap.requests >= heap.fail_at++) {
        clv_err err = {CLV_OK, ""};
        heap.requests = heap.live = 0;
        clv_status s = run(model, &err);
        CHECK_EQ_INT(heap.live, 0);
        CHECK_EQ_INT(err.code, s);
        if (s == CLV_OK)
            continue;
        failures++;
        CHECK_EQ_INT(s, CLV_NOMEM);
        CHECK_STR(err.msg, "out of memory");
    }
    CHECK(failures > 20 && failures >= heap.requests - 1);
    clv_set_allocator(NULL);
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

static void buffer(void)
{
    clv_set_allocator(&(clv_allocator){failing_realloc, NULL});
    heap.requests = 0;
    heap.fail_at = 2;
    clv_buf b = {0};
    for (int i = 0; i < 1000; i++)
        clv_buf_printf(&b, "%d,", i);
    clv_buf_add(&b, "x", 1);
    CHECK(b.failed);
    clv_buf_free(&b);
    CHECK_EQ_INT(heap.live, 0);
    clv_set_allocator(NULL);
}

static const check_case cases[] = {
    {"zoo", zoo},   {"judged", judged}, {"over_devices", over_devices},
    {"onnx", onnx}, {"api", api},       {"buffer", buffer},
};
CHECK_MAIN(cases)

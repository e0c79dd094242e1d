/* test_alloc.c - what a model goes through while memory runs out. */
#include "starve.h"
#include "tensor/tensor.h"

#include <dirent.h>
#include <string.h>

/* How many requests of one piece of work fail in turn: most work makes fewer,
 * and then each of them does. */
enum { TRIES = 1000 };

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

/* -- cuts and their reports -----------------------------------------------*/

typedef clv_status cutter(const clv_profile *p, clv_cut **out, clv_err *err);

static clv_status cut_modules(const clv_profile *p, clv_cut **out, clv_err *err)
{
    return clv_cut_modules(p, 1, out, err);
}

static clv_status cut_fusion(const clv_profile *p, clv_cut **out, clv_err *err)
{
    return clv_cut_fusion(p, NULL, out, err);
}

static clv_status capability(const clv_profile *p, const clv_capability_opts *o,
                             clv_cut **out, clv_err *err)
{
    clv_backend *b;
    clv_support *support = NULL;
    clv_status s = clv_backend_open("nvidia-dla", NULL, &b, err);
    if (s == CLV_OK)
        s = clv_support_new(b, clv_profile_graph(p), &support, err);
    if (s == CLV_OK)
        s = clv_cut_capability(p, clv_support_get(support), o, out, err);
    clv_support_free(support);
    clv_backend_free(b);
    return s;
}

static clv_status cut_demoted(const clv_profile *p, clv_cut **out, clv_err *err)
{
    const clv_capability_opts o = {
        .size = sizeof o, .max_subgraph_count = 3, .demote = true};
    return capability(p, &o, out, err);
}

static clv_status cut_connected(const clv_profile *p, clv_cut **out,
                                clv_err *err)
{
    const clv_capability_opts o = {.size = sizeof o, .connected = true};
    return capability(p, &o, out, err);
}

static clv_status cut_placement(const clv_profile *p, clv_cut **out,
                                clv_err *err)
{
    clv_placement_opts o = {.size = sizeof o, .curve = 2};
    clv_status s = clv_device_find("i7-12700k", &o.host, err);
    if (s == CLV_OK)
        s = clv_device_find("t4", &o.accelerator, err);
    return s == CLV_OK ? clv_cut_placement(p, &o, out, err) : s;
}

static clv_status cut_pipeline(const clv_profile *p, clv_cut **out,
                               clv_err *err)
{
    const clv_pipeline_opts o = {.size = sizeof o, .stages = 3};
    return clv_cut_pipeline(p, &o, out, err);
}

static const clv_report_opts json = {.size = sizeof json,
                                     .format = CLV_REPORT_JSON};

/* A report says by its buffer that memory ran out. */
static clv_status reported(clv_buf *out, clv_status s, clv_err *err)
{
    if (s == CLV_OK && out->failed)
        *err = (clv_err){.code = s = CLV_NOMEM, .msg = "out of memory"};
    clv_buf_free(out);
    return s;
}

typedef struct cut_work {
    const clv_profile *p;
    cutter *cut;
} cut_work;

/* Cuts, verifies, adds up and reports. */
static clv_status cut_and_report(void *ctx, clv_err *err)
{
    const cut_work *w = ctx;
    clv_cut *c = NULL;
    clv_summary *sum = NULL;
    clv_buf out = {0};
    clv_status s = w->cut(w->p, &c, err);
    if (s == CLV_OK)
        s = clv_cut_verify(c, err);
    if (s == CLV_OK)
        s = clv_summary_new(c, &sum, err);
    if (s == CLV_OK)
        clv_report_partition(c, sum, &json, &out);
    clv_summary_free(sum);
    clv_cut_free(c);
    return reported(&out, s, err);
}

static void every_cut(void)
{
    static cutter *const all[] = {clv_cut_op,  cut_modules,   cut_fusion,
                                  cut_demoted, cut_connected, cut_placement,
                                  cut_pipeline};
    clv_graph *g;
    clv_profile *p;
    CHECK_OR_RETURN(clv_graph_open("alexnet", NULL, &g, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(starve_spread(cut_and_report, &(cut_work){p, all[i]}, TRIES) > 5);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- results of a cut -----------------------------------------------------*/

typedef clv_status result_fn(const clv_cut *c, const clv_device *d,
                             clv_buf *out, clv_err *err);

static clv_status result_memory(const clv_cut *c, const clv_device *d,
                                clv_buf *out, clv_err *err)
{
    const clv_memory_opts o = {.size = sizeof o, .reorder = true};
    clv_memory *m;
    (void)d;
    clv_status s = clv_memory_new(c, &o, &m, err);
    if (s == CLV_OK)
        clv_report_memory(m, &json, out);
    clv_memory_free(m);
    return s;
}

static clv_status result_map(const clv_cut *c, const clv_device *d,
                             clv_buf *out, clv_err *err)
{
    clv_map *m;
    clv_status s = clv_map_new(c, d, &m, err);
    if (s == CLV_OK)
        clv_report_maps((const clv_map *const[]){m}, 1, &json, out);
    clv_map_free(m);
    return s;
}

static clv_status result_concurrency(const clv_cut *c, const clv_device *d,
                                     clv_buf *out, clv_err *err)
{
    const clv_concurrency_opts o = {.size = sizeof o, .device = d};
    clv_concurrency *a;
    clv_schedule *sched = NULL;
    clv_status s = clv_concurrency_new(c, &o, &a, err);
    if (s == CLV_OK)
        s = clv_schedule_new(a, 2, &sched, err);
    const clv_concurrency_report r = {
        .analysis = a, .schedule = sched, .device = d};
    if (s == CLV_OK)
        clv_report_concurrency(&r, 1, &json, out);
    clv_schedule_free(sched);
    clv_concurrency_free(a);
    return s;
}

static clv_status result_check(const clv_cut *c, const clv_device *d,
                               clv_buf *out, clv_err *err)
{
    const clv_check_opts o = {.size = sizeof o, .device = d};
    clv_check *k;
    clv_status s = clv_check_new(c, &o, &k, err);
    if (s == CLV_OK)
        clv_report_check(k, &json, out);
    clv_check_free(k);
    return s;
}

static clv_status result_compare(const clv_cut *c, const clv_device *d,
                                 clv_buf *out, clv_err *err)
{
    const clv_profile *p[] = {clv_cut_profile(c), clv_cut_profile(c)};
    clv_compare *k;
    (void)d;
    clv_status s = clv_compare_new(p, 2, &k, err);
    if (s == CLV_OK)
        clv_report_compare(k, &json, out);
    clv_compare_free(k);
    return s;
}

static clv_status result_sweep(const clv_cut *c, const clv_device *d,
                               clv_buf *out, clv_err *err)
{
    static const int64_t sizes[] = {1, 2};
    const clv_vary v = {
        .kind = CLV_VARY_BATCH, .name = "batch", .values = sizes, .n = 2};
    clv_sweep *w;
    (void)c, (void)d;
    clv_status s = clv_sweep_new("alexnet", NULL, &v, 1, true, &w, err);
    if (s == CLV_OK)
        clv_report_sweep(w, &json, out);
    clv_sweep_free(w);
    return s;
}

static clv_status result_operators(const clv_cut *c, const clv_device *d,
                                   clv_buf *out, clv_err *err)
{
    clv_registry *r;
    (void)c, (void)d;
    clv_status s = clv_registry_new(&r, err);
    for (uint32_t i = 0; s == CLV_OK && clv_registry_at(r, i); i++) {
        const clv_operator_info *one = clv_registry_at(r, i);
        clv_report_operators(&one, 1, &json, out);
    }
    clv_registry_free(r);
    return s;
}

static clv_status result_page(const clv_cut *c, const clv_device *d,
                              clv_buf *out, clv_err *err)
{
    const clv_profile *p = clv_cut_profile(c);
    clv_layout *l;
    (void)d;
    clv_status s = clv_layout_new(clv_profile_graph(p), &l, err);
    const clv_html_model m = {.profile = p, .layout = l};
    const clv_html h = {.size = sizeof h, .models = &m, .n_models = 1};
    if (s == CLV_OK)
        clv_report_html(&h, out);
    clv_layout_free(l);
    return s;
}

static clv_status result_folded(const clv_cut *c, const clv_device *d,
                                clv_buf *out, clv_err *err)
{
    const clv_profile *p = clv_cut_profile(c);
    clv_summary *sum = NULL;
    clv_layout *l;
    (void)d;
    clv_status s = clv_layout_folded(clv_profile_graph(p), 20, &l, err);
    if (s == CLV_OK)
        s = clv_summary_new(c, &sum, err);
    const clv_html_model m = {
        .profile = p, .layout = l, .fusion = c, .fusion_summary = sum};
    const clv_html h = {.size = sizeof h, .models = &m, .n_models = 1};
    if (s == CLV_OK)
        clv_report_html(&h, out);
    clv_summary_free(sum);
    clv_layout_free(l);
    return s;
}

static clv_status result_others(const clv_cut *c, const clv_device *d,
                                clv_buf *out, clv_err *err)
{
    (void)err;
    clv_report_graph(clv_profile_graph(clv_cut_profile(c)), out);
    clv_report_netron(clv_cut_profile(c), out);
    clv_report_devices(&d, 1, &json, out);
    return CLV_OK;
}

typedef struct result_work {
    const clv_cut *c;
    const clv_device *d;
    result_fn *fn;
} result_work;

static clv_status result_once(void *ctx, clv_err *err)
{
    const result_work *w = ctx;
    clv_buf out = {0};
    clv_status s = w->fn(w->c, w->d, &out, err);
    return reported(&out, s, err);
}

static void every_result(void)
{
    static result_fn *const all[] = {
        result_memory,  result_map,   result_concurrency, result_check,
        result_compare, result_sweep, result_operators,   result_page,
        result_folded,  result_others};
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    const clv_device *d;
    CHECK_OR_RETURN(clv_graph_open("alexnet", NULL, &g, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_cut_fusion(p, NULL, &c, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_device_find("h100", &d, NULL) == CLV_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(starve_spread(result_once, &(result_work){c, d, all[i]}, TRIES) >
              2);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- compiling and running ------------------------------------------------*/

enum { MOST = 16 }; /* inputs, outputs */

typedef struct run_work {
    const char *model, *backend; /* NULL: plain C */
    const clv_open_opts *opts;
} run_work;

/* Gives input i seeded numbers, kept in *t. */
static clv_status feed(clv_context *c, const clv_graph *g, uint32_t i,
                       clv_tensor *t, clv_err *err)
{
    uint32_t n;
    clv_value_info v = clv_graph_value(g, clv_graph_inputs(g, &n)[i]);
    *t = (clv_tensor){.dtype = v.dtype, .rank = v.rank};
    memcpy(t->dims, v.dims, v.rank * sizeof *v.dims);
    clv_status s = clv_tensor_alloc(t, err);
    if (s != CLV_OK)
        return s;
    if (v.dtype == CLV_FLOAT32)
        clv_tensor_random(t, i);
    else /* a length, a position or an index that every model takes */
        for (int64_t k = 0; k < clv_tensor_numel(t); k++)
            put_i(t, k, 1);
    return clv_context_set(c, i, t, err);
}

static clv_status run_model(const clv_graph *g, clv_backend *b, clv_buf *out,
                            clv_err *err)
{
    const clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 1};
    uint32_t n, n_out;
    clv_graph_inputs(g, &n);
    clv_graph_outputs(g, &n_out);
    clv_tensor in[MOST] = {{0}};
    const clv_tensor_stats stats[MOST] = {{0}};
    clv_model *m;
    clv_context *c = NULL;
    CHECK(n <= MOST && n_out <= MOST);
    clv_status s = clv_model_new(g, &o, &m, err);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, err);
    for (uint32_t i = 0; s == CLV_OK && i < n; i++)
        s = feed(c, g, i, &in[i], err);
    if (s == CLV_OK)
        s = clv_context_run(c, err);
    const clv_run_result r = {.size = sizeof r,
                              .g = g,
                              .m = m,
                              .c = c,
                              .backend = "b",
                              .outputs = stats};
    if (s == CLV_OK)
        clv_report_run(&r, &json, out);
    clv_context_free(c);
    clv_model_free(m);
    for (uint32_t i = 0; i < n; i++)
        clv_tensor_free(&in[i]);
    return s;
}

/* Opens a model, compiles it, runs it once and reports. */
static clv_status open_and_run(void *ctx, clv_err *err)
{
    const run_work *w = ctx;
    clv_graph *g;
    clv_backend *b = NULL;
    clv_buf out = {0};
    clv_status s = clv_graph_open(w->model, w->opts, &g, err);
    if (s == CLV_OK && w->backend)
        s = clv_backend_open(w->backend, NULL, &b, err);
    if (s == CLV_OK)
        s = run_model(g, b, &out, err);
    clv_backend_free(b);
    clv_graph_free(g);
    return reported(&out, s, err);
}

static bool has_onednn(void)
{
    clv_backend *b = NULL;
    bool has = clv_backend_open("onednn", NULL, &b, NULL) == CLV_OK;
    clv_backend_free(b);
    return has;
}

/* By plain C, and by oneDNN where it is: what that takes for itself does not
 * come from our allocator. */
static void run_both(run_work w)
{
    check_row(w.model);
    CHECK(starve_spread(open_and_run, &w, TRIES) > 10);
    w.backend = "onednn";
    if (has_onednn())
        CHECK(starve_spread(open_and_run, &w, TRIES) > 10);
}

/* Functions, a Loop, weights in a file of their own, convolutions. */
static void every_run(void)
{
    static const int64_t dims[] = {1, 3, 64, 64};
    static const clv_shape_arg shape = {NULL, dims, 4};
    static const clv_open_opts small = {
        .size = sizeof small, .shapes = &shape, .n_shapes = 1};
    static const run_work all[] = {
        {"tests/data/onnx/functions.onnx", NULL, NULL},
        {"tests/data/onnx/tf_while.onnx", NULL, NULL},
        {"tests/data/onnx_external/model.onnx", NULL, NULL},
        {"tests/data/onnx_capability/branches.onnx", NULL, NULL},
        {"tests/data/onnx_capability/exchange.onnx", NULL, NULL},
        {"squeezenet1_1", NULL, &small},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        run_both(all[i]);
}

static int is_model(const struct dirent *e)
{
    return strstr(e->d_name, ".onnx") != NULL;
}

/* One model per case of a kernel or of a rule of the reader. */
static void every_operator(void)
{
    struct dirent **entries = NULL;
    int n = scandir("tests/data/ort", &entries, is_model, alphasort);
    CHECK(n > 5);
    for (int i = 0; i < n; i++) {
        char path[300];
        snprintf(path, sizeof path, "tests/data/ort/%s", entries[i]->d_name);
        run_both((run_work){path, NULL, NULL});
        free(entries[i]);
    }
    free(entries);
}

/* -- the sweeps -----------------------------------------------------------*/

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
    {"zoo", zoo},
    {"judged", judged},
    {"onnx", onnx},
    {"api", api},
    {"buffer", buffer},
    {"every_cut", every_cut},
    {"every_result", every_result},
    {"every_run", every_run},
    {"every_operator", every_operator},
};
CHECK_MAIN(cases)

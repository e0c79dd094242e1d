/* test_backend_ort.c - the backend `ort`, with a library that misbehaves and,
 * if there is one, with ONNX Runtime.
 *
 * The library is the one that CLEAVE_ORT or the folder CLEAVE_VENV names, else
 * that of build/venv; CLEAVE_ORT_OPENVINO names one with that provider. Where
 * there is none, the tests that need it are skipped by name. */
#include "check.h"
#include "cleave.h"
#include "run/run.h"

#include <stdlib.h>
#include <unistd.h>

/* timeout: 600 */

static char fake[1100]; /* "ort:lib=FILE" */

/* -- graphs ---------------------------------------------------------------*/

/* x, then one operator after the other. */
static clv_graph *chain(const char *const *ops, uint32_t n)
{
    static const int64_t dims[] = {2, 3};
    const clv_value_arg value = {.size = sizeof value,
                                 .name = "x",
                                 .kind = CLV_VALUE_INPUT,
                                 .dtype = CLV_FLOAT32,
                                 .dims = dims,
                                 .rank = 2};
    clv_graph *g;
    uint32_t v;
    if (clv_graph_new("chain", &g, NULL) != CLV_OK)
        return NULL;
    bool ok = clv_graph_add_value(g, &value, &v, NULL) == CLV_OK;
    for (uint32_t i = 0; ok && i < n; i++) {
        const clv_node_arg node = {
            .size = sizeof node, .op = ops[i], .inputs = &v, .n_inputs = 1};
        uint32_t y = 0;
        ok = clv_graph_add_node(g, &node, &y, NULL) == CLV_OK;
        v = y;
    }
    ok = ok && clv_graph_add_output(g, v, NULL) == CLV_OK &&
         clv_graph_infer(g, NULL) == CLV_OK;
    CHECK(ok);
    return g;
}

static void fill_inputs(const clv_graph *g, clv_context *c, clv_tensor *held)
{
    clv_err e = {0};
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const clv_value *v = &g->values[g->inputs[i]];
        held[i] = (clv_tensor){.dtype = (clv_dtype)v->dtype, .rank = v->rank};
        memcpy(held[i].dims, v->dims, v->rank * sizeof *v->dims);
        CHECK_OR_RETURN(clv_tensor_alloc(&held[i], &e) == CLV_OK);
        clv_tensor_random(&held[i], 7 + i);
        CHECK(clv_context_set(c, i, &held[i], &e) == CLV_OK);
    }
}

/* Runs g on `spec`, or plain C for "ref"; returns its first output, whose data
 * the caller frees, and the number of notes. */
static clv_tensor run_on(const clv_graph *g, const char *spec, uint32_t *notes)
{
    enum { INPUTS = 8 };
    clv_tensor held[INPUTS] = {{0}}, out = {0};
    clv_backend *b = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_err e = {0};
    clv_status s = clv_backend_open(spec, NULL, &b, &e);
    clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 2};
    if (s == CLV_OK)
        s = clv_model_new(g, &o, &m, &e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &e);
    if (s == CLV_OK && g->n_inputs <= INPUTS) {
        fill_inputs(g, c, held);
        s = clv_context_run(c, &e);
    }
    check_that(s == CLV_OK, __FILE__, __LINE__, "%s: %s", spec, e.msg);
    if (s == CLV_OK) {
        out = *clv_context_output(c, 0);
        void *data = out.data;
        CHECK(clv_tensor_alloc(&out, &e) == CLV_OK);
        memcpy(out.data, data, (size_t)clv_tensor_bytes(&out));
        *notes = clv_model_get(m)->n_notes;
    }
    for (uint32_t i = 0; i < INPUTS; i++)
        clv_tensor_free(&held[i]);
    clv_context_free(c);
    clv_model_free(m);
    clv_backend_free(b);
    return out;
}

/* -- the library that misbehaves ------------------------------------------*/

static void reasons_are_the_engines(void)
{
    static const char *const ops[] = {"relu", "tanh", "sigmoid", "erf", "relu"};
    static const char *const want[] = {
        "", "the fake has no Tanh",
        "the engine died of signal 6 while compiling: fake: out of registers",
        "the engine ended while compiling (exit code 7)", ""};
    clv_backend *b;
    clv_support *s;
    clv_err e = {0};
    clv_graph *g = chain(ops, 5);
    CHECK_OR_RETURN(g && clv_backend_open(fake, NULL, &b, &e) == CLV_OK);
    CHECK_STR(clv_backend_about(b), "ONNX Runtime 0.0-fake, provider CPU");
    CHECK_OR_RETURN(clv_support_new(b, g, &s, &e) == CLV_OK);
    const clv_support_info *info = clv_support_get(s);
    CHECK_EQ_INT(info->supported, 2);
    CHECK_EQ_INT(info->total, 5);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_STR(info->nodes[i].reason, want[i]);
    clv_support_free(s);
    clv_backend_free(b);
    clv_graph_free(g);
}

static void what_does_not_run_is_an_error(void)
{
    static const char *const ops[] = {"relu"};
    clv_graph *g = chain(ops, 1);
    clv_backend *b;
    clv_model *m;
    clv_context *c;
    clv_tensor held[1] = {{0}};
    clv_err e = {0};
    CHECK_OR_RETURN(g && clv_backend_open(fake, NULL, &b, &e) == CLV_OK);
    clv_model_opts o = {.size = sizeof o, .backend = b};
    CHECK_OR_RETURN(clv_model_new(g, &o, &m, &e) == CLV_OK &&
                    clv_context_new(m, &c, &e) == CLV_OK);
    fill_inputs(g, c, held);
    CHECK(clv_context_run(c, &e) != CLV_OK);
    CHECK_STR(e.msg, "the fake runs nothing");
    clv_tensor_free(held);
    clv_context_free(c);
    clv_model_free(m);
    clv_backend_free(b);
    clv_graph_free(g);
}

static void options_are_checked(void)
{
    static const struct {
        const char *more;
        const char *message;
    } rows[] = {
        {",provider=nothing", "has no provider 'nothing' (it has Odd, CPU)"},
        {",odd", "ort: 'odd' is not KEY=VALUE"},
        {",=3", "ort: '=3' is not KEY=VALUE"},
        {",device=0", "'device' is an option of a provider"},
        {",provider=cpu", NULL},
        {",provider=ODD,device=0", NULL},
        {",lib=/nowhere/lib.so", "can be loaded from '/nowhere/lib.so'"},
        {",lib=/dev/null", "can be loaded from '/dev/null'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char spec[1400];
        clv_backend *b = NULL;
        clv_err e = {0};
        check_row(rows[i].more);
        snprintf(spec, sizeof spec, "%s%s", fake, rows[i].more);
        clv_status s = clv_backend_open(spec, NULL, &b, &e);
        if (rows[i].message)
            CHECK_HAS(e.msg, rows[i].message);
        else
            CHECK_EQ_INT(s, CLV_OK);
        clv_backend_free(b);
    }
}

/* -- ONNX Runtime ---------------------------------------------------------*/

/* "ort" if a library is found, after CLEAVE_VENV has had its say. */
static const char *real(void)
{
    static char spec[1200];
    const char *venv = getenv("CLEAVE_VENV");
    clv_backend *b;
    clv_err e = {0};
    if (!getenv("CLEAVE_ORT"))
        setenv("VIRTUAL_ENV", venv && *venv ? venv : "build/venv", 1);
    snprintf(spec, sizeof spec, "ort");
    if (clv_backend_open(spec, NULL, &b, &e) == CLV_OK) {
        clv_backend_free(b);
        return spec;
    }
    printf("%s\n", e.msg);
    check_skip("no libonnxruntime is found");
    return NULL;
}

static void runs_the_zoo(const char *spec, const char *const *models, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        clv_graph *g;
        clv_err e = {0};
        uint32_t notes = 0, none = 0;
        double absolute, relative;
        check_row(models[i]);
        CHECK_OR_RETURN(clv_graph_open(models[i], NULL, &g, &e) == CLV_OK);
        clv_tensor want = run_on(g, "cpu", &none);
        clv_tensor got = run_on(g, spec, &notes);
        CHECK_EQ_INT(notes, 0);
        if (CHECK(want.data && got.data)) {
            clv_tensor_diff(&got, &want, &absolute, &relative);
            CHECK(relative < 1e-4);
        }
        clv_tensor_free(&want);
        clv_tensor_free(&got);
        clv_graph_free(g);
    }
}

static void cpu_provider(void)
{
    static const char *const models[] = {"squeezenet1_1", "shufflenet_v2_x0_5",
                                         "mobilenet_v3_small"};
    const char *spec = real();
    if (spec)
        runs_the_zoo(spec, models, sizeof models / sizeof *models);
}

static void openvino_provider(void)
{
    static const char *const models[] = {"squeezenet1_1", "mobilenet_v3_small"};
    const char *lib = getenv("CLEAVE_ORT_OPENVINO");
    char spec[1200];
    if (!lib) {
        check_skip("CLEAVE_ORT_OPENVINO names no library");
        return;
    }
    snprintf(spec, sizeof spec,
             "ort:provider=openvino,device_type=CPU,lib=%.1000s", lib);
    runs_the_zoo(spec, models, sizeof models / sizeof *models);
}

static const check_case cases[] = {
    {"reasons are the engine's", reasons_are_the_engines},
    {"what does not run is an error", what_does_not_run_is_an_error},
    {"options are checked", options_are_checked},
    {"ONNX Runtime, CPU", cpu_provider},
    {"ONNX Runtime, OpenVINO", openvino_provider},
};

int main(int argc, char **argv)
{
    char self[1000];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(fake, sizeof fake, "ort:lib=%.*s/libfake_ort.so",
             slash ? (int)(slash - self) : 1, slash ? self : ".");
    return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}

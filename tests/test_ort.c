/* test_ort.c - small models against ONNX Runtime.
 *
 * tests/data/ort, ort_forms, ort_ml and search*, written by
 * tests/gen/ort_cases.py, ort_forms.py, ort_ml.py and search_cases.py, have one
 * model per case and all inputs and outputs in cases.npz, as CASE.VALUE. Each
 * case is run by plain C kernels and again with oneDNN. Numbers agree within
 * 1e-3 of their size or 1e-5; those of 8 bits, which are rounded, within one
 * step. */
#include "check.h"
#include "cleave.h"

#include <dirent.h>
#include <stdlib.h>

static const char *const folders[] = {"tests/data/ort",
                                      "tests/data/ort_forms",
                                      "tests/data/ort_ml",
                                      "tests/data/search",
                                      "tests/data/search_encoder",
                                      "tests/data/search_first"};
static const char *folder; /* the one that is run now */
static clv_backend *backend;

static void compare(const clv_tensor *got, const clv_tensor *want)
{
    CHECK_OR_RETURN(got->data != NULL);
    CHECK(got->dtype == want->dtype);
    CHECK_EQ_INT(got->rank, want->rank);
    CHECK_OR_RETURN(
        got->rank == want->rank &&
        !memcmp(got->dims, want->dims, got->rank * sizeof *got->dims));
    bool byte = want->dtype == CLV_UINT8 || want->dtype == CLV_INT8;
    for (int64_t i = 0, n = clv_tensor_numel(want); i < n; i++) {
        double x = clv_tensor_get(got, i), y = clv_tensor_get(want, i);
        if (isnan(y) ? isnan(x) : x == y)
            continue;
        if (!CHECK_NEAR(x, y, byte ? 1 : 1e-5 + 1e-3 * fabs(y)))
            return;
    }
}

/* The tensor of a value of the case. */
static clv_status read_value(const char *name, const clv_graph *g, uint32_t id,
                             clv_tensor *t, clv_err *e)
{
    char path[100], entry[300];
    snprintf(path, sizeof path, "%s/cases.npz", folder);
    snprintf(entry, sizeof entry, "%s.%s", name, clv_graph_value(g, id).name);
    return clv_tensor_read(path, entry, t, e);
}

static clv_status run(const char *name, const clv_graph *g, clv_context *c,
                      clv_err *e)
{
    clv_tensor in[16] = {{0}}, want;
    clv_status s = CLV_OK;
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(g, &n);
    for (uint32_t i = 0; i < n && i < 16 && s == CLV_OK; i++) {
        s = read_value(name, g, ids[i], &in[i], e);
        if (s == CLV_OK)
            s = clv_context_set(c, i, &in[i], e);
    }
    if (s == CLV_OK)
        s = clv_context_run(c, e);
    ids = clv_graph_outputs(g, &n);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        s = read_value(name, g, ids[i], &want, e);
        if (s != CLV_OK)
            break;
        compare(clv_context_output(c, i), &want);
        clv_tensor_free(&want);
    }
    for (uint32_t i = 0; i < 16; i++)
        clv_tensor_free(&in[i]);
    return s;
}

static void one_case(const char *file)
{
    static char name[100];
    char path[300];
    clv_graph *g = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_err e = {0};
    clv_model_opts opts = {
        .size = sizeof opts, .backend = backend, .threads = 1};
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 5), file);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    check_row(name);
    clv_status s = clv_graph_open(path, NULL, &g, &e);
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m, &e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &e);
    if (s == CLV_OK)
        s = run(name, g, c, &e);
    CHECK_STR(s == CLV_OK ? "" : e.msg, "");
    clv_context_free(c);
    clv_model_free(m);
    clv_graph_free(g);
}

static void all_in_folder(void)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    const char *only = getenv("CLEAVE_CASE");
    CHECK(n > 5);
    for (int i = 0; i < n; i++) {
        if (strstr(entries[i]->d_name, ".onnx") &&
            (!only || strstr(entries[i]->d_name, only)))
            one_case(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void all_cases(void)
{
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        folder = folders[i];
        all_in_folder();
    }
}

static void own(const char *name)
{
    CHECK_OR_RETURN(clv_backend_open(name, NULL, &backend, NULL) == CLV_OK);
    all_cases();
    clv_backend_free(backend);
}

static void plain_c(void)
{
    own("ref");
}

static void cpu(void)
{
    own("cpu");
}

static void onednn(void)
{
    if (clv_backend_open("onednn", NULL, &backend, NULL) != CLV_OK) {
        check_skip("oneDNN is not installed");
        return;
    }
    all_cases();
    clv_backend_free(backend);
}

static const check_case cases[] = {
    {"plain_c", plain_c}, {"cpu", cpu}, {"onednn", onednn}};
CHECK_MAIN(cases)

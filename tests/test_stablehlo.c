/* test_stablehlo.c - StableHLO texts against jax (tests/gen/stablehlo.py):
 * values, parameters and multiplications; written as ONNX they count the same.
 * Texts that are wrong are refused in one line that says where. */
#include "check.h"
#include "cleave.h"
#include "csv.h"

#include <stdlib.h>
#include <unistd.h>

#define FOLDER "tests/data/stablehlo/"
#define CLOSE  1e-4

static clv_graph *open_text(const char *name, const char *params, int64_t batch,
                            clv_err *e)
{
    char path[200];
    clv_graph *g = NULL;
    clv_dim_arg dim = {"batch", batch}; /* of the text with an open size */
    clv_open_opts opts = {.size = sizeof opts,
                          .params = params,
                          .dims = &dim,
                          .n_dims = batch ? 1 : 0};
    snprintf(path, sizeof path, FOLDER "%s.mlir", name);
    if (clv_graph_open(path, &opts, &g, e) != CLV_OK)
        check_that(0, __FILE__, __LINE__, "%s: %s", name, e->msg);
    return g;
}

/* -- values ---------------------------------------------------------------*/

static clv_status give(const char *npz, uint32_t n, clv_tensor *in,
                       clv_context *c, clv_err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        char entry[24];
        snprintf(entry, sizeof entry, "in%u", i);
        clv_status s = clv_tensor_read(npz, entry, &in[i], e);
        if (s == CLV_OK)
            s = clv_context_set(c, i, &in[i], e);
        if (s != CLV_OK)
            return s;
    }
    return clv_context_run(c, e);
}

static void compare(const char *name, const char *npz, const clv_graph *g,
                    const clv_context *c)
{
    uint32_t n;
    clv_graph_outputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        char entry[24];
        clv_tensor want = {0};
        clv_err e = {0};
        snprintf(entry, sizeof entry, "out%u", i);
        if (clv_tensor_read(npz, entry, &want, &e) != CLV_OK)
            check_that(0, __FILE__, __LINE__, "%s: %s", entry, e.msg);
        else if (!clv_tensor_close(clv_context_output(c, i), &want, CLOSE))
            check_that(0, __FILE__, __LINE__,
                       "%s: result %u differs from jax's", name, i);
        clv_tensor_free(&want);
    }
}

static void values_of(const char *name)
{
    enum { MOST = 64 };
    char npz[200];
    clv_err e = {0};
    clv_tensor in[MOST] = {{0}};
    clv_model *m = NULL;
    clv_context *c = NULL;
    uint32_t n = 0;
    snprintf(npz, sizeof npz, FOLDER "%s.npz", name);
    int64_t batch = strcmp(name, "mlp_exported") ? 0 : 4;
    clv_graph *g = open_text(name, "none", batch, &e);
    if (!g)
        return;
    clv_graph_inputs(g, &n);
    clv_status s = n > MOST ? CLV_UNSUPPORTED : clv_model_new(g, NULL, &m, &e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &e);
    if (s == CLV_OK)
        s = give(npz, n, in, c, &e);
    if (s == CLV_OK)
        compare(name, npz, g, c);
    else
        check_that(0, __FILE__, __LINE__, "%s: %s", name, e.msg);
    for (uint32_t i = 0; i < n && i < MOST; i++)
        clv_tensor_free(&in[i]);
    clv_context_free(c);
    clv_model_free(m);
    clv_graph_free(g);
}

static void values(void)
{
    csv t;
    if (csv_open(&t, FOLDER "truth.csv"))
        while (csv_next(&t)) {
            check_row(csv_get(&t, "name"));
            values_of(csv_get(&t, "name"));
        }
}

/* -- counts ---------------------------------------------------------------*/

static void count_one(const char *name, const clv_graph *g, const char *params,
                      int64_t macs)
{
    clv_profile *p = NULL;
    clv_err e = {0};
    if (clv_profile_new(g, NULL, &p, &e) != CLV_OK) {
        check_that(0, __FILE__, __LINE__, "%s: %s", name, e.msg);
        return;
    }
    const clv_totals *t = clv_profile_totals(p);
    if (t->macs != macs)
        check_that(0, __FILE__, __LINE__, "%s: %lld MACs, not %lld", name,
                   (long long)t->macs, (long long)macs);
    if (strcmp(params, "0") && t->params != atoll(params))
        check_that(0, __FILE__, __LINE__, "%s: %lld parameters, not %s", name,
                   (long long)t->params, params);
    clv_profile_free(p);
}

static void counts(void)
{
    csv t;
    if (!csv_open(&t, FOLDER "truth.csv"))
        return;
    while (csv_next(&t)) {
        clv_err e = {0};
        const char *name = csv_get(&t, "name");
        int64_t batch = strcmp(name, "mlp_exported") ? 0 : 4;
        clv_graph *g = open_text(name, NULL, batch, &e);
        if (g)
            count_one(name, g, csv_get(&t, "params"),
                      atoll(csv_get(&t, "macs")));
        clv_graph_free(g);
    }
}

/* -- wrong texts ----------------------------------------------------------*/

#define MAIN "func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"

static const struct {
    const char *text, *says;
} wrong[] = {
    {"module @m {\n", "line 2, column 1 (byte 12)"},
    {"module @m {\n  func.func @main(%a: tensor<2xq>) {\n", "line 3, column 1"},
    {MAIN "  return %b : tensor<2x3xf32>\n}\n", "%b is not defined"},
    {MAIN "  %0 = stablehlo.add %a, %a : tensor<2x4xf32>\n  return %0 : "
          "tensor<2x4xf32>\n}\n",
     "line 2, column 8 (byte 65): stablehlo.add makes [2, 3], its type says "
     "[2, 4]"},
    {MAIN "  %0 = stablehlo.constant dense<[1.0]> : tensor<2x3xf32>\n  return "
          "%0 : tensor<2x3xf32>\n}\n",
     "whose numbers do not fit its type"},
    {MAIN "  %0 = stablehlo.transpose %a, dims = [0, 7] : (tensor<2x3xf32>) -> "
          "tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n}\n",
     "line 2, column 8"},
    {MAIN "  %0 = call @main(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  "
          "return %0 : tensor<2x3xf32>\n}\n",
     "calls in each other"},
    {MAIN "  %0 = call @none(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  "
          "return %0 : tensor<2x3xf32>\n}\n",
     "there is no function @none"},
    {MAIN "  return %a : tensor<2x3xf32>\n^bb1:\n  return %a : "
          "tensor<2x3xf32>\n}\n",
     "several blocks"},
    {MAIN "  %0 = stablehlo.constant dense<1.0 : tensor<2x3xf32>\n",
     "line 2, column 8 (byte 65)"},
};

/* A file with this text; false when none can be written. */
static bool write_text(char *path, const char *text, size_t n)
{
    int fd = mkstemp(path);
    bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return ok;
}

static void refused(const char *text, size_t n, const char *says)
{
    char path[] = "/tmp/cleave-hlo.XXXXXX";
    clv_graph *g = NULL;
    clv_err e = {0};
    if (!write_text(path, text, n))
        check_that(0, __FILE__, __LINE__, "no file to write to");
    clv_status s = clv_graph_open(path, NULL, &g, &e);
    if (s == CLV_OK || !strstr(e.msg, says))
        check_that(0, __FILE__, __LINE__, "'%s' does not say '%s'", e.msg,
                   says);
    clv_graph_free(g);
    unlink(path);
}

static void wrong_texts(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i].text, strlen(wrong[i].text), wrong[i].says);
}

/* Brackets and regions in each other, without end. */
static void deep_texts(void)
{
    static const struct {
        const char *before, *each;
    } rows[] = {
        {"module {\n#a = ", "["},
        {"module {\n#a = ", "{a = "},
        {"module {\n#loc = loc(", "callsite("},
        {"#loc1 = loc(\"a\")\nmodule {\nfunc.func @f() {\n",
         "\"stablehlo.case\"() ({\n"},
        {"module {\nfunc.func @f(%a: ", "tuple<"},
        {"module {\n%0 = x.y ", "("},
    };
    enum { TIMES = 100000 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t head = strlen(rows[i].before), n = strlen(rows[i].each);
        char *text = malloc(head + n * TIMES + 1);
        memcpy(text, rows[i].before, head);
        for (size_t k = 0; k < TIMES; k++)
            memcpy(text + head + k * n, rows[i].each, n);
        refused(text, head + n * TIMES, "byte");
        free(text);
    }
}

/* Functions that call two others: the calls are more than any file has. */
static void call_bomb(void)
{
    enum { FUNCTIONS = 40 };
    char *text = malloc(FUNCTIONS * 400);
    size_t n = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        n += (size_t)sprintf(
            text + n,
            "func.func %s @%s%d(%%a: tensor<f32>) -> tensor<f32> {\n"
            "%%0 = call @f%d(%%a) : (tensor<f32>) -> tensor<f32>\n"
            "%%1 = call @f%d(%%0) : (tensor<f32>) -> tensor<f32>\n"
            "return %%1 : tensor<f32>\n}\n",
            i ? "private" : "public", "f", i, i + 1, i + 1);
    n += (size_t)sprintf(text + n,
                         "func.func private @f%d(%%a: tensor<f32>) -> "
                         "tensor<f32> {\nreturn %%a : tensor<f32>\n}\n",
                         FUNCTIONS);
    refused(text, n, "operations with all calls done");
    free(text);
}

static const check_case cases[] = {
    {"values", values},           {"counts", counts},
    {"wrong_texts", wrong_texts}, {"deep_texts", deep_texts},
    {"call_bomb", call_bomb},
};
CHECK_MAIN(cases)

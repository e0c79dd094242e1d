/* test_run.c - models run: inputs, contexts, threads, memory that runs out. */
#include "backend/backend.h"
#include "starve.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* -- a small network ------------------------------------------------------*/

/* x (2,3,8,8): conv 3x3 -> relu -> mean-pooled -> linear, and a residual. */
static clv_graph *small(void)
{
    clv_err e;
    clv_graph *g = NULL;
    static const int64_t x[] = {2, 3, 8, 8}, w[] = {3, 3, 3, 3}, b[] = {3};
    static const int64_t one[] = {1, 1};
    const clv_value_arg values[] = {
        {sizeof *values, "x", CLV_VALUE_INPUT, CLV_FLOAT32, 4, x},
        {sizeof *values, "w", CLV_VALUE_PARAM, CLV_FLOAT32, 4, w},
        {sizeof *values, "b", CLV_VALUE_PARAM, CLV_FLOAT32, 1, b},
    };
    const clv_attr_arg pad = {
        .name = "padding", .type = CLV_ATTR_INTS, .n = 2, .u.ints = one};
    uint32_t v[3] = {0}, c = 0, r = 0, y = 0;
    bool ok = clv_graph_new("small", &g, &e) == CLV_OK;
    for (int i = 0; i < 3 && ok; i++)
        ok = clv_graph_add_value(g, &values[i], &v[i], &e) == CLV_OK;
    const clv_node_arg conv = {.size = sizeof conv,
                               .op = "conv2d",
                               .inputs = v,
                               .n_inputs = 3,
                               .attrs = &pad,
                               .n_attrs = 1};
    ok = ok && clv_graph_add_node(g, &conv, &c, &e) == CLV_OK;
    const clv_node_arg relu = {
        .size = sizeof relu, .op = "relu", .inputs = &c, .n_inputs = 1};
    ok = ok && clv_graph_add_node(g, &relu, &r, &e) == CLV_OK;
    const uint32_t both[] = {r, v[0]};
    const clv_node_arg add = {
        .size = sizeof add, .op = "add", .inputs = both, .n_inputs = 2};
    ok = ok && clv_graph_add_node(g, &add, &y, &e) == CLV_OK &&
         clv_graph_add_output(g, y, &e) == CLV_OK &&
         clv_graph_infer(g, &e) == CLV_OK;
    if (ok)
        return g;
    clv_graph_free(g);
    return NULL;
}

static clv_tensor image(uint64_t seed)
{
    clv_tensor t = {.dtype = CLV_FLOAT32, .rank = 4, .dims = {2, 3, 8, 8}};
    if (clv_tensor_alloc(&t, NULL) == CLV_OK)
        clv_tensor_random(&t, seed);
    return t;
}

static clv_status run_once(const clv_graph *g, const clv_model_opts *o,
                           const clv_tensor *in, clv_tensor *out, clv_err *e)
{
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_status s = clv_model_new(g, o, &m, e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, e);
    if (s == CLV_OK)
        s = clv_context_set(c, 0, in, e);
    if (s == CLV_OK)
        s = clv_context_run(c, e);
    if (s == CLV_OK && out) {
        const clv_tensor *y = clv_context_output(c, 0);
        *out = *y;
        s = clv_tensor_alloc(out, e);
        if (s == CLV_OK)
            memcpy(out->data, y->data, (size_t)clv_tensor_bytes(y));
    }
    clv_context_free(c);
    clv_model_free(m);
    return s;
}

/* -- threads --------------------------------------------------------------*/

typedef struct worker {
    const clv_model *m;
    const clv_tensor *in;
    clv_context *c;
    clv_status s;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    w->s = clv_context_new(w->m, &w->c, NULL);
    for (int i = 0; i < 20 && w->s == CLV_OK; i++) {
        w->s = clv_context_set(w->c, 0, w->in, NULL);
        if (w->s == CLV_OK)
            w->s = clv_context_run(w->c, NULL);
    }
    return NULL;
}

static void same_bits(const clv_model_opts *o)
{
    clv_err e;
    clv_model *m = NULL;
    clv_graph *g = small();
    CHECK_OR_RETURN(g != NULL);
    clv_tensor in = image(1), alone = {0};
    CHECK(run_once(g, o, &in, &alone, &e) == CLV_OK);
    if (CHECK(clv_model_new(g, o, &m, &e) == CLV_OK)) {
        pthread_t id[2];
        worker w[2] = {{m, &in, NULL, CLV_OK}, {m, &in, NULL, CLV_OK}};
        for (int i = 0; i < 2; i++)
            pthread_create(&id[i], NULL, work, &w[i]);
        for (int i = 0; i < 2; i++) {
            pthread_join(id[i], NULL);
            CHECK(w[i].s == CLV_OK);
            if (w[i].s == CLV_OK)
                CHECK(!memcmp(clv_context_output(w[i].c, 0)->data, alone.data,
                              (size_t)clv_tensor_bytes(&alone)));
            clv_context_free(w[i].c);
        }
    }
    clv_model_free(m);
    clv_tensor_free(&alone);
    clv_tensor_free(&in);
    clv_graph_free(g);
}

static void two_threads_same_bits(void)
{
    same_bits(NULL);
}

static void onednn_equals_ref(void)
{
    clv_err e;
    clv_backend *b = NULL;
    if (clv_backend_open("onednn", NULL, &b, &e) != CLV_OK) {
        check_skip("oneDNN is not installed");
        return;
    }
    clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 1};
    clv_graph *g = small();
    clv_tensor in = image(2), ref = {0}, fast = {0};
    double absolute, relative;
    same_bits(&o);
    if (CHECK(run_once(g, NULL, &in, &ref, &e) == CLV_OK) &&
        CHECK(run_once(g, &o, &in, &fast, &e) == CLV_OK)) {
        clv_tensor_diff(&fast, &ref, &absolute, &relative);
        CHECK(relative < 1e-5);
    }
    clv_tensor_free(&ref);
    clv_tensor_free(&fast);
    clv_tensor_free(&in);
    clv_graph_free(g);
    clv_backend_free(b);
}

/* -- NaN that arises inside a part ----------------------------------------*/

/* x (2,3,64,64): y = last(first(x)) or last(first(x, x)). */
static clv_graph *two_nodes(const char *first, uint32_t n_in, const char *last)
{
    clv_err e;
    clv_graph *g = NULL;
    static const int64_t dims[] = {2, 3, 64, 64};
    const clv_value_arg x = {sizeof x,    "x", CLV_VALUE_INPUT,
                             CLV_FLOAT32, 4,   dims};
    uint32_t in[2] = {0}, a = 0, y = 0;
    bool ok = clv_graph_new(first, &g, &e) == CLV_OK &&
              clv_graph_add_value(g, &x, &in[0], &e) == CLV_OK;
    in[1] = in[0];
    const clv_node_arg one = {
        .size = sizeof one, .op = first, .inputs = in, .n_inputs = n_in};
    ok = ok && clv_graph_add_node(g, &one, &a, &e) == CLV_OK;
    const clv_node_arg two = {
        .size = sizeof two, .op = last, .inputs = &a, .n_inputs = 1};
    ok = ok && clv_graph_add_node(g, &two, &y, &e) == CLV_OK &&
         clv_graph_add_output(g, y, &e) == CLV_OK &&
         clv_graph_infer(g, &e) == CLV_OK;
    CHECK(ok);
    return g;
}

/* Of finite and infinite numbers, a NaN where IEEE 754 has one: oneDNN's relu
 * and exp would make a number of it. */
static void nan_arises(clv_backend *b, uint32_t threads)
{
    static const struct {
        const char *first, *last;
        uint32_t n_in;
        float odd; /* one element in seven of the last quarter, which the last
                      thread computes; the others are 2 */
    } rows[] = {{"sqrt", "relu", 1, -1},
                {"sqrt", "exp", 1, -1},
                {"div", "relu", 2, 0},
                {"div", "exp", 2, INFINITY},
                {"sub", "relu", 2, -INFINITY}};
    clv_model_opts o = {.size = sizeof o, .backend = b, .threads = threads};
    clv_tensor in = {.dtype = CLV_FLOAT32, .rank = 4, .dims = {2, 3, 64, 64}};
    CHECK_OR_RETURN(clv_tensor_alloc(&in, NULL) == CLV_OK);
    float *x = in.data;
    for (size_t r = 0; r < 2 * sizeof rows / sizeof *rows; r++) {
        clv_err e;
        clv_tensor out = {0};
        clv_graph *g =
            two_nodes(rows[r / 2].first, rows[r / 2].n_in, rows[r / 2].last);
        int64_t n = clv_tensor_numel(&in), wrong = 0;
        int64_t from = r % 2 ? n : n - n / 4; /* none is odd: no NaN either */
        for (int64_t i = 0; i < n; i++)
            x[i] = i % 7 || i < from ? 2 : rows[r / 2].odd;
        if (CHECK(run_once(g, &o, &in, &out, &e) == CLV_OK))
            for (int64_t i = 0; i < n; i++)
                wrong +=
                    (bool)isnan(((float *)out.data)[i]) == (i % 7 || i < from);
        CHECK_EQ_INT(wrong, 0);
        clv_tensor_free(&out);
        clv_graph_free(g);
    }
    clv_tensor_free(&in);
}

/* y = relu(a + conv(a)), a = relu(x): the convolution of each channel by itself
 * reads what is added. */
static clv_graph *own_residual(void)
{
    static const int64_t dims[] = {2, 8, 16, 16}, taps[] = {8, 1, 3, 3};
    const clv_value_arg x = {sizeof x,    "x", CLV_VALUE_INPUT,
                             CLV_FLOAT32, 4,   dims};
    const clv_value_arg w = {sizeof w,    "w", CLV_VALUE_PARAM,
                             CLV_FLOAT32, 4,   taps};
    const clv_attr_arg attrs[] = {
        {.name = "groups", .type = CLV_ATTR_INT, .u.i = 8},
        {.name = "padding", .type = CLV_ATTR_INT, .u.i = 1}};
    clv_graph *g = NULL;
    uint32_t in[2] = {0}, conv[2] = {0}, sum[2] = {0}, y = 0;
    clv_err e;
    bool ok = clv_graph_new("own_residual", &g, &e) == CLV_OK &&
              clv_graph_add_value(g, &x, &in[0], &e) == CLV_OK &&
              clv_graph_add_value(g, &w, &conv[1], &e) == CLV_OK;
    clv_node_arg n = {
        .size = sizeof n, .op = "relu", .inputs = in, .n_inputs = 1};
    ok = ok && clv_graph_add_node(g, &n, &conv[0], &e) == CLV_OK;
    sum[0] = conv[0];
    n = (clv_node_arg){.size = sizeof n,
                       .op = "conv2d",
                       .inputs = conv,
                       .n_inputs = 2,
                       .attrs = attrs,
                       .n_attrs = 2};
    ok = ok && clv_graph_add_node(g, &n, &sum[1], &e) == CLV_OK;
    n = (clv_node_arg){
        .size = sizeof n, .op = "add", .inputs = sum, .n_inputs = 2};
    ok = ok && clv_graph_add_node(g, &n, &y, &e) == CLV_OK;
    n = (clv_node_arg){
        .size = sizeof n, .op = "relu", .inputs = &y, .n_inputs = 1};
    ok = ok && clv_graph_add_node(g, &n, &in[1], &e) == CLV_OK &&
         clv_graph_add_output(g, in[1], &e) == CLV_OK &&
         clv_graph_infer(g, &e) == CLV_OK;
    CHECK(ok);
    return g;
}

/* Runs g, which it takes, on oneDNN and in plain C on the same input. */
static void agrees_with_plain(clv_graph *g, bool as_is, clv_tensor in,
                              double bound)
{
    clv_err e;
    clv_backend *fast = NULL, *plain = NULL;
    clv_tensor got = {0}, want = {0};
    double absolute = 1, relative = 1;
    if (clv_backend_open("onednn", NULL, &fast, &e) != CLV_OK) {
        check_skip("oneDNN is not installed");
        clv_graph_free(g);
        return;
    }
    CHECK(clv_backend_open("ref", NULL, &plain, &e) == CLV_OK &&
          clv_tensor_alloc(&in, &e) == CLV_OK);
    clv_tensor_random(&in, 3);
    clv_model_opts o = {
        .size = sizeof o, .backend = fast, .seed = 4, .as_is = as_is};
    CHECK(run_once(g, &o, &in, &got, &e) == CLV_OK);
    o.backend = plain;
    CHECK(run_once(g, &o, &in, &want, &e) == CLV_OK);
    clv_tensor_diff(&got, &want, &absolute, &relative);
    CHECK(relative < bound);
    clv_tensor_free(&in);
    clv_tensor_free(&got);
    clv_tensor_free(&want);
    clv_graph_free(g);
    clv_backend_free(plain);
    clv_backend_free(fast);
}

static void onednn_own_residual(void)
{
    const clv_tensor in = {
        .dtype = CLV_FLOAT32, .rank = 4, .dims = {2, 8, 16, 16}};
    agrees_with_plain(own_residual(), true, in, 1e-5);
}

/* A mean over planes behind a convolution, of a batch. */
static void onednn_means_of_a_batch(void)
{
    static const int64_t dims[] = {2, 3, 160, 160};
    const clv_shape_arg shape = {NULL, dims, 4};
    const clv_open_opts open = {
        .size = sizeof open, .shapes = &shape, .n_shapes = 1};
    const clv_tensor in = {
        .dtype = CLV_FLOAT32, .rank = 4, .dims = {2, 3, 160, 160}};
    clv_graph *g = NULL;
    CHECK_OR_RETURN(clv_graph_open("shufflenet_v2_x0_5", &open, &g, NULL) ==
                    CLV_OK);
    agrees_with_plain(g, false, in, 1e-4);
}

/* The mean of the squares of a large image, by operator `op`. */
static clv_graph *large_mean(const char *op, const clv_attr_arg *attr)
{
    static const int64_t dims[] = {1, 8, 240, 240};
    const clv_value_arg x = {sizeof x,    "x", CLV_VALUE_INPUT,
                             CLV_FLOAT32, 4,   dims};
    clv_graph *g = NULL;
    uint32_t in[2] = {0}, square = 0, y = 0;
    clv_err e;
    bool ok = clv_graph_new("large_mean", &g, &e) == CLV_OK &&
              clv_graph_add_value(g, &x, &in[0], &e) == CLV_OK;
    in[1] = in[0];
    clv_node_arg n = {
        .size = sizeof n, .op = "mul", .inputs = in, .n_inputs = 2};
    ok = ok && clv_graph_add_node(g, &n, &square, &e) == CLV_OK;
    n = (clv_node_arg){.size = sizeof n,
                       .op = op,
                       .inputs = &square,
                       .n_inputs = 1,
                       .attrs = attr,
                       .n_attrs = 1};
    ok = ok && clv_graph_add_node(g, &n, &y, &e) == CLV_OK &&
         clv_graph_add_output(g, y, &e) == CLV_OK &&
         clv_graph_infer(g, &e) == CLV_OK;
    CHECK_STR(ok ? "" : e.msg, "");
    return g;
}

/* 57,600 floats that are added one after another lose the fifth digit. */
static void onednn_means_of_many(void)
{
    static const int64_t axes[] = {2, 3}, one[] = {1, 1};
    const clv_attr_arg over = {
        .name = "axes", .type = CLV_ATTR_INTS, .n = 2, .u.ints = axes};
    const clv_attr_arg size = {
        .name = "output_size", .type = CLV_ATTR_INTS, .n = 2, .u.ints = one};
    const clv_tensor in = {
        .dtype = CLV_FLOAT32, .rank = 4, .dims = {1, 8, 240, 240}};
    agrees_with_plain(large_mean("mean", &over), false, in, 2e-6);
    agrees_with_plain(large_mean("adaptive_avg_pool2d", &size), false, in,
                      2e-6);
}

static void onednn_keeps_nan(void)
{
    clv_backend *b = NULL;
    if (clv_backend_open("onednn", NULL, &b, NULL) != CLV_OK) {
        check_skip("oneDNN is not installed");
        return;
    }
    nan_arises(b, 1);
    nan_arises(b, 2);
    clv_backend_free(b);
}

/* -- operands that are attributes -----------------------------------------*/

/* max(((x + 2) * 3 - 1) / 4, 0.5) + 5, each number an attribute. */
static clv_graph *numbers(void)
{
    static const struct {
        const char *op;
        double number;
    } steps[] = {{"add", 2}, {"mul", 3},       {"sub", 1},
                 {"div", 4}, {"maximum", 0.5}, {"add", 5}};
    static const int64_t dims[] = {2, 3};
    const clv_value_arg x = {sizeof x,    "x", CLV_VALUE_INPUT,
                             CLV_FLOAT32, 2,   dims};
    clv_graph *g = NULL;
    uint32_t at = 0;
    clv_err e;
    bool ok = clv_graph_new("numbers", &g, &e) == CLV_OK &&
              clv_graph_add_value(g, &x, &at, &e) == CLV_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const clv_attr_arg a = {
            .name = "value", .type = CLV_ATTR_FLOAT, .u.f = steps[i].number};
        const uint32_t from = at;
        const clv_node_arg n = {.size = sizeof n,
                                .op = steps[i].op,
                                .inputs = &from,
                                .n_inputs = 1,
                                .attrs = &a,
                                .n_attrs = 1};
        ok = ok && clv_graph_add_node(g, &n, &at, &e) == CLV_OK;
    }
    ok = ok && clv_graph_add_output(g, at, &e) == CLV_OK &&
         clv_graph_infer(g, &e) == CLV_OK;
    CHECK_STR(ok ? "" : e.msg, "");
    return g;
}

/* They are in the file that is written: it computes the same. */
static void numbers_are_written(void)
{
    char path[] = "/tmp/cleave-numbers-XXXXXX";
    int fd = mkstemp(path);
    clv_graph *g = numbers(), *read = NULL;
    clv_tensor in = {.dtype = CLV_FLOAT32, .rank = 2, .dims = {2, 3}};
    clv_tensor got = {0}, want = {0};
    const clv_model_opts o = {.size = sizeof o};
    clv_err e;
    if (CHECK(fd >= 0 && clv_tensor_alloc(&in, &e) == CLV_OK)) {
        close(fd);
        clv_tensor_random(&in, 3);
        CHECK(clv_export_onnx(g, path, NULL, &e) == CLV_OK);
        CHECK(clv_graph_open(path, NULL, &read, &e) == CLV_OK);
        CHECK(run_once(g, &o, &in, &want, &e) == CLV_OK);
        CHECK(run_once(read, &o, &in, &got, &e) == CLV_OK);
        CHECK(clv_tensor_close(&got, &want, 1e-6));
        double x = (double)((const float *)in.data)[0];
        CHECK_NEAR((double)((const float *)want.data)[0],
                   fmax(((x + 2) * 3 - 1) / 4, 0.5) + 5, 1e-5);
        remove(path);
    }
    clv_tensor_free(&in);
    clv_tensor_free(&got);
    clv_tensor_free(&want);
    clv_graph_free(read);
    clv_graph_free(g);
}

/* -- refusals -------------------------------------------------------------*/

static void bad_inputs(void)
{
    clv_err e;
    clv_graph *g = small();
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_tensor in = image(3), wrong = in;
    clv_model_opts tiny = {.size = sizeof tiny, .memory = 64};
    CHECK(clv_model_new(g, &tiny, &m, &e) == CLV_UNSUPPORTED);
    CHECK_HAS(e.msg, "activations");
    CHECK_OR_RETURN(clv_model_new(g, NULL, &m, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_context_new(m, &c, &e) == CLV_OK);
    CHECK(clv_context_run(c, &e) == CLV_USAGE);
    CHECK_HAS(e.msg, "'x' is missing");
    wrong.dims[2] = 9;
    CHECK(clv_context_set(c, 0, &wrong, &e) == CLV_SHAPE);
    CHECK_HAS(e.msg, "[2, 3, 9, 8]");
    wrong = in;
    wrong.dtype = CLV_INT32;
    CHECK(clv_context_set(c, 0, &wrong, &e) == CLV_SHAPE);
    CHECK(clv_context_set(c, 1, &in, &e) == CLV_USAGE);
    clv_context_free(c);
    clv_model_free(m);
    clv_tensor_free(&in);
    clv_graph_free(g);
}

static void unknown_operators_are_named(void)
{
    clv_err e;
    clv_graph *g = NULL;
    clv_model *m;
    static const int64_t x[] = {4};
    const clv_value_arg value = {
        .size = sizeof value, "x", CLV_VALUE_INPUT, CLV_FLOAT32, 1, x};
    uint32_t v, y;
    CHECK_OR_RETURN(clv_graph_new("odd", &g, &e) == CLV_OK);
    CHECK(clv_graph_add_value(g, &value, &v, &e) == CLV_OK);
    const clv_node_arg odd = {.size = sizeof odd,
                              .op = "frobnicate",
                              .name = "here",
                              .inputs = &v,
                              .n_inputs = 1};
    CHECK(clv_graph_add_node(g, &odd, &y, &e) == CLV_OK);
    CHECK(clv_graph_add_output(g, y, &e) == CLV_OK);
    CHECK(clv_graph_infer(g, &e) == CLV_OK);
    CHECK(clv_model_new(g, NULL, &m, &e) == CLV_UNSUPPORTED);
    CHECK_HAS(e.msg, "'here'");
    clv_graph_free(g);
}

/* -- the zoo --------------------------------------------------------------*/

static void zoo_runs_and_seeds_matter(void)
{
    static const int64_t dims[] = {1, 3, 32, 32};
    const clv_shape_arg shape = {NULL, dims, 4};
    const clv_open_opts open = {
        .size = sizeof open, .shapes = &shape, .n_shapes = 1};
    clv_err e;
    clv_graph *g = NULL;
    CHECK_OR_RETURN(clv_graph_open("resnet18", &open, &g, &e) == CLV_OK);
    clv_tensor in = {.dtype = CLV_FLOAT32, .rank = 4, .dims = {1, 3, 32, 32}};
    clv_tensor a = {0}, b = {0}, c = {0};
    CHECK(clv_tensor_alloc(&in, &e) == CLV_OK);
    clv_tensor_random(&in, 0);
    clv_model_opts one = {.size = sizeof one, .seed = 1},
                   two = {.size = sizeof two, .seed = 2};
    CHECK(run_once(g, &one, &in, &a, &e) == CLV_OK);
    CHECK(run_once(g, &one, &in, &b, &e) == CLV_OK);
    CHECK(run_once(g, &two, &in, &c, &e) == CLV_OK);
    CHECK_EQ_INT(clv_tensor_numel(&a), 1000);
    CHECK(!memcmp(a.data, b.data, 4000));
    CHECK(memcmp(a.data, c.data, 4000) != 0);
    clv_tensor_free(&in);
    clv_tensor_free(&a);
    clv_tensor_free(&b);
    clv_tensor_free(&c);
    clv_graph_free(g);
}

/* -- files ----------------------------------------------------------------*/

static void npy_round_trip(void)
{
    static const clv_dtype types[] = {CLV_FLOAT32, CLV_FLOAT16, CLV_INT64,
                                      CLV_UINT8, CLV_BOOL};
    clv_err e;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        clv_tensor t = {.dtype = types[i], .rank = 3, .dims = {2, 1, 5}}, u;
        clv_buf text = {0};
        CHECK(clv_tensor_alloc(&t, &e) == CLV_OK);
        clv_tensor_random(&t, i);
        CHECK(clv_tensor_npy(&t, &text, &e) == CLV_OK);
        CHECK(clv_tensor_parse("npy", text.text, text.len, NULL, &u, &e) ==
              CLV_OK);
        CHECK(u.dtype == t.dtype && u.rank == 3 &&
              !memcmp(u.data, t.data, (size_t)clv_tensor_bytes(&t)));
        clv_tensor_free(&u);
        for (size_t n = 0; n < text.len; n++) /* cut anywhere: refused */
            CHECK(clv_tensor_parse("npy", text.text, n, NULL, &u, &e) !=
                  CLV_OK);
        clv_tensor_free(&t);
        clv_buf_free(&text);
    }
}

/* Both archives hold the same arrays; NumPy packed one of them. */
static void packed_archives(void)
{
    static const char *const names[] = {"ramp",  "noise", "few",
                                        "zeros", "words", "none"};
    clv_err e;
    clv_tensor a, b;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_row(names[i]);
        CHECK(clv_tensor_read("tests/data/plain.npz", names[i], &a, &e) ==
              CLV_OK);
        CHECK(clv_tensor_read("tests/data/packed.npz", names[i], &b, &e) ==
              CLV_OK);
        CHECK(a.dtype == b.dtype && a.rank == b.rank &&
              !memcmp(a.dims, b.dims, a.rank * sizeof *a.dims) &&
              !memcmp(a.data, b.data, (size_t)clv_tensor_bytes(&a)));
        clv_tensor_free(&a);
        clv_tensor_free(&b);
    }
    CHECK(clv_tensor_read("tests/data/packed.npz", NULL, &a, &e) == CLV_USAGE);
    CHECK(clv_tensor_read("tests/data/packed.npz", "x", &a, &e) ==
          CLV_NOT_FOUND);
}

/* A seed of the fuzzer with one byte changed, anywhere: read or refused. */
static void spoilt_archives(void)
{
    static const char *const seeds[] = {"stored", "fixed", "dynamic"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char path[80];
        static unsigned char data[4096];
        snprintf(path, sizeof path, "fuzz/corpus/npy/%s.npz", seeds[i]);
        FILE *f = fopen(path, "rb");
        CHECK_OR_RETURN(f != NULL);
        size_t n = fread(data, 1, sizeof data, f);
        fclose(f);
        clv_tensor t;
        CHECK(clv_tensor_parse("npz", data, n, "x", &t, NULL) == CLV_OK);
        clv_tensor_free(&t);
        for (size_t k = 0; k < 8 * n; k++) {
            data[k / 8] ^= (unsigned char)(1u << k % 8);
            if (clv_tensor_parse("npz", data, n, "x", &t, NULL) == CLV_OK)
                clv_tensor_free(&t);
            data[k / 8] ^= (unsigned char)(1u << k % 8);
        }
    }
}

/* -- cuts that are given --------------------------------------------------*/

/* A backend that computes nothing and counts what it is asked. */
static uint32_t questions, compiled;

static clv_answer count_question(clv_backend *b, const clv_graph *g,
                                 uint32_t node, clv_why *why)
{
    (void)b, (void)g, (void)node, (void)why;
    questions++;
    return CLV_YES;
}

static clv_status count_subgraph(clv_backend *b, const clv_subject *s,
                                 clv_exec **out, clv_err *e)
{
    (void)b, (void)s, (void)e;
    compiled++;
    *out = clv__zalloc(sizeof **out);
    return CLV_OK;
}

static clv_status run_nothing(clv_exec *x, const clv_tensor *tensor,
                              void *workspace, clv_err *e)
{
    (void)x, (void)tensor, (void)workspace, (void)e;
    return CLV_OK;
}

static void release_nothing(clv_exec *x)
{
    clv__free(x);
}

static const clv_backend_type counting = {.name = "counting",
                                          .about = "",
                                          .supports = count_question,
                                          .compile = count_subgraph,
                                          .run = run_nothing,
                                          .release = release_nothing};

/* Each subgraph of a cut is compiled as it is; a backend that has answered once
 * for the graph is not asked again, nor for the views in it. */
static void cut_is_compiled_as_it_is(void)
{
    clv_err e;
    clv_backend b = {.type = &counting, .name = "counting", .about = ""};
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_support *s = NULL;
    clv_model *m = NULL;
    CHECK_OR_RETURN(clv_graph_open("squeezenet1_1", NULL, &g, &e) == CLV_OK);
    CHECK(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    CHECK(clv_cut_fusion(p, NULL, &c, &e) == CLV_OK);
    questions = compiled = 0;
    CHECK(clv_support_new(&b, g, &s, &e) == CLV_OK);
    CHECK(questions == clv_support_get(s)->n_configs);
    const clv_model_opts o = {
        .size = sizeof o, .backend = &b, .support = s, .cut = c};
    if (CHECK(clv_model_new(g, &o, &m, &e) == CLV_OK)) {
        uint32_t n;
        clv_cut_subgraphs(c, &n);
        CHECK(clv_model_cut(m) == c);
        CHECK(clv_model_get(m)->n_parts == n && compiled == n);
        CHECK(questions == clv_support_get(s)->n_configs);
    }
    clv_graph *other = small();
    clv_model *none;
    CHECK(clv_model_new(other, &o, &none, &e) == CLV_USAGE);
    CHECK_HAS(e.msg, "the cut is of another graph");
    clv_graph_free(other);
    clv_model_free(m);
    clv_support_free(s);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- statistics -----------------------------------------------------------*/

/* As numpy.percentile([5, 1, 4, 2, 3], [50, 95]) and nanmin, nanmean, nanmax
 * and argsort say. */
static void statistics(void)
{
    double seconds[] = {5, 1, 4, 2, 3}, one[] = {7};
    clv_time_stats t = clv_time_stats_of(seconds, 5);
    CHECK_EQ_INT(t.runs, 5);
    CHECK_NEAR(t.median, 3, 1e-12);
    CHECK_NEAR(t.p95, 4.8, 1e-12);
    CHECK_NEAR(clv_time_stats_of(one, 1).p95, 7, 0);
    float x[] = {3, NAN, -1, 8, 8, 0, 2, 9, 4, 6, 1};
    const clv_tensor row = {
        .dtype = CLV_FLOAT32, .rank = 2, .dims = {1, 11}, .data = x};
    const int64_t top[] = {7, 3, 4, 9, 8};
    clv_tensor_stats s = clv_tensor_stats_of(&row);
    CHECK(s.min == -1 && s.max == 9 && s.nans == 1);
    CHECK_NEAR(s.mean, 4, 1e-12);
    CHECK(s.n_top == 5 && !memcmp(s.top, top, sizeof top));
    const clv_tensor few = {
        .dtype = CLV_FLOAT32, .rank = 2, .dims = {1, 3}, .data = x};
    CHECK_EQ_INT(clv_tensor_stats_of(&few).n_top, 0);
    const clv_tensor none = {
        .dtype = CLV_FLOAT32, .rank = 1, .dims = {0}, .data = x};
    CHECK(isnan(clv_tensor_stats_of(&none).mean));
}

/* -- memory that runs out -------------------------------------------------*/

typedef struct {
    const clv_graph *g;
    const clv_tensor *in;
    const clv_model_opts *o;
} hungry;

static clv_status run_starved(void *ctx, clv_err *e)
{
    const hungry *h = ctx;
    return run_once(h->g, h->o, h->in, NULL, e);
}

static void out_of_memory(void)
{
    clv_graph *g = small();
    clv_tensor in = image(4);
    clv_backend *b = NULL;
    CHECK(starve(run_starved, &(hungry){g, &in, NULL}, 1) > 10);
    if (clv_backend_open("onednn", NULL, &b, NULL) == CLV_OK) {
        const clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 1};
        CHECK(starve(run_starved, &(hungry){g, &in, &o}, 1) > 10);
    }
    clv_backend_free(b);
    clv_tensor_free(&in);
    clv_graph_free(g);
}

/* -- another batch --------------------------------------------------------*/

static clv_graph *resnet_at(int64_t batch)
{
    const int64_t dims[] = {batch, 3, 32, 32};
    const clv_shape_arg shape = {NULL, dims, 4};
    const clv_open_opts open = {
        .size = sizeof open, .shapes = &shape, .n_shapes = 1};
    clv_graph *g = NULL;
    CHECK(clv_graph_open("resnet18", &open, &g, NULL) == CLV_OK);
    return g;
}

/* A model planned for another batch takes the weights of the first, and
 * computes what one made from scratch computes. */
static void planned_again(const char *name)
{
    clv_err e;
    clv_backend *b = NULL;
    if (name && clv_backend_open(name, NULL, &b, &e) != CLV_OK) {
        check_skip("oneDNN is not installed");
        return;
    }
    clv_graph *one = resnet_at(1), *three = resnet_at(3);
    clv_tensor in = {.dtype = CLV_FLOAT32, .rank = 4, .dims = {3, 3, 32, 32}};
    clv_tensor fresh = {0}, shared = {0};
    clv_model *first = NULL, *second = NULL;
    double absolute = 1, relative = 1;
    CHECK(clv_tensor_alloc(&in, &e) == CLV_OK);
    clv_tensor_random(&in, 5);
    clv_model_opts o = {
        .size = sizeof o, .backend = b, .threads = 1, .seed = 9};
    CHECK(run_once(three, &o, &in, &fresh, &e) == CLV_OK);
    if (CHECK(clv_model_new(one, &o, &first, &e) == CLV_OK)) {
        o.like = first;
        CHECK(run_once(three, &o, &in, &shared, &e) == CLV_OK);
        clv_tensor_diff(&shared, &fresh, &absolute, &relative);
        CHECK(clv_model_new(three, &o, &second, &e) == CLV_OK);
        CHECK(clv_model_get(first)->weight_bytes > 40000000);
        CHECK(clv_model_get(second)->weight_bytes < 1000000);
    }
    CHECK(relative == 0);
    clv_model_free(second);
    clv_model_free(first);
    clv_tensor_free(&in);
    clv_tensor_free(&fresh);
    clv_tensor_free(&shared);
    clv_graph_free(one);
    clv_graph_free(three);
    clv_backend_free(b);
}

static void another_batch(void)
{
    planned_again(NULL);
}

static void another_batch_onednn(void)
{
    planned_again("onednn");
}

static const check_case cases[] = {
    {"two_threads_same_bits", two_threads_same_bits},
    {"onednn_equals_ref", onednn_equals_ref},
    {"onednn_own_residual", onednn_own_residual},
    {"onednn_means_of_a_batch", onednn_means_of_a_batch},
    {"onednn_means_of_many", onednn_means_of_many},
    {"numbers_are_written", numbers_are_written},
    {"onednn_keeps_nan", onednn_keeps_nan},
    {"bad_inputs", bad_inputs},
    {"unknown_operators_are_named", unknown_operators_are_named},
    {"zoo_runs_and_seeds_matter", zoo_runs_and_seeds_matter},
    {"npy_round_trip", npy_round_trip},
    {"packed_archives", packed_archives},
    {"spoilt_archives", spoilt_archives},
    {"cut_is_compiled_as_it_is", cut_is_compiled_as_it_is},
    {"statistics", statistics},
    {"out_of_memory", out_of_memory},
    {"another_batch", another_batch},
    {"another_batch_onednn", another_batch_onednn},
};
CHECK_MAIN(cases)

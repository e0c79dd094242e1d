/* test_service.c - limits of loading, cutting, running and reporting; files
 * that shrink; what a signal leaves behind. */
#include "check.h"
#include "cleave.h"
#include "random_inputs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void limit(clv_limits l)
{
    l.size = sizeof l;
    CHECK(clv_limits_set(&l, NULL) == CLV_OK);
}

static void no_limit(void)
{
    CHECK(clv_limits_set(NULL, NULL) == CLV_OK);
}

static void exceeded(clv_status s, const clv_err *e, const char *which)
{
    CHECK_EQ_INT(s, CLV_EXCEEDED);
    CHECK_EQ_INT(clv_status_exit(s), 3);
    CHECK_EQ_INT(e->about, CLV_SUBJECT_LIMIT);
    CHECK(!strcmp(e->subject, which));
    CHECK_HAS(e->msg, "which is the limit");
}

static void loading(void)
{
    clv_graph *g;
    clv_err e;
    limit((clv_limits){.max_nodes = 20});
    exceeded(clv_graph_open("resnet18", NULL, &g, &e), &e, "nodes");
    limit((clv_limits){.max_nodes = 100});
    CHECK(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    clv_graph_free(g);
    limit((clv_limits){.max_memory = 20000});
    exceeded(clv_graph_open("resnet18", NULL, &g, &e), &e, "memory");
    CHECK(g == NULL);
    limit((clv_limits){.max_seconds = 1e-9});
    exceeded(clv_graph_open("resnet18", NULL, &g, &e), &e, "seconds");
    limit((clv_limits){.max_memory = 20000});
    exceeded(
        clv_graph_open("tests/data/onnx/resnet18.legacy.onnx", NULL, &g, &e),
        &e, "memory");
    no_limit();
    CHECK(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    clv_graph_free(g);
}

/* Memory that was freed may be taken again. */
static void memory_comes_back(void)
{
    clv_graph *g;
    limit((clv_limits){.max_memory = 1 << 20});
    for (int i = 0; i < 50; i++) {
        CHECK(clv_graph_open("resnet18", NULL, &g, NULL) == CLV_OK);
        clv_graph_free(g);
    }
    no_limit();
}

static void cutting_and_reporting(void)
{
    clv_graph *g;
    clv_profile *p, *q;
    clv_cut *c;
    clv_err e;
    CHECK(clv_graph_open("resnet18", NULL, &g, &e) == CLV_OK);
    CHECK(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    limit((clv_limits){.max_seconds = 1e-9});
    exceeded(clv_profile_new(g, NULL, &q, &e), &e, "seconds");
    exceeded(clv_cut_op(p, &c, &e), &e, "seconds");
    limit((clv_limits){.max_memory = 2000});
    exceeded(clv_cut_op(p, &c, &e), &e, "memory");
    clv_buf text = {0};
    clv_report_opts o = {.size = sizeof o, .format = CLV_REPORT_JSON};
    clv_report_profile(p, &o, &text);
    exceeded(clv_buf_check(&text, &e), &e, "memory");
    clv_buf_free(&text);
    no_limit();
    clv_profile_free(p);
    clv_graph_free(g);
}

static clv_status run_once(const clv_graph *g, clv_err *e)
{
    clv_model *m = NULL;
    clv_context *c = NULL;
    static float x[3 * 224 * 224];
    clv_tensor t = {
        .dtype = CLV_FLOAT32, .rank = 4, .dims = {1, 3, 224, 224}, .data = x};
    clv_status s = clv_model_new(g, NULL, &m, e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, e);
    if (s == CLV_OK)
        s = clv_context_set(c, 0, &t, e);
    if (s == CLV_OK)
        s = clv_context_run(c, e);
    clv_context_free(c);
    clv_model_free(m);
    return s;
}

static void running(void)
{
    clv_graph *g;
    clv_err e;
    CHECK(clv_graph_open("squeezenet1_1", NULL, &g, &e) == CLV_OK);
    limit((clv_limits){.max_memory = 1 << 20});
    exceeded(run_once(g, &e), &e, "memory");
    limit((clv_limits){.max_seconds = 1e-3});
    exceeded(run_once(g, &e), &e, "seconds");
    no_limit();
    clv_graph_free(g);
}

/* -- one long kernel ------------------------------------------------------*/

/* Operators that take seconds of one thread, at these sizes. */
static const struct long_op {
    const char *op;
    clv_dtype dtype;
    int64_t dims[2][4];
    uint32_t rank[2];
} long_ops[] = {
    {"matmul", CLV_FLOAT32, {{4000, 4000}, {4000, 4000}}, {2, 2}},
    {"matmul", CLV_INT64, {{2500, 2500}, {2500, 2500}}, {2, 2}},
    {"matmul", CLV_FLOAT32, {{4, 2500, 2500}, {4, 2500, 2500}}, {3, 3}},
    {"conv2d", CLV_FLOAT32, {{1, 32, 600, 600}, {32, 32, 41, 41}}, {4, 4}},
    {"conv2d", CLV_FLOAT64, {{1, 8, 400, 400}, {8, 8, 41, 41}}, {4, 4}},
    {"cdist", CLV_FLOAT32, {{3000, 1000}, {3000, 1000}}, {2, 2}},
    {"det", CLV_FLOAT32, {{4000, 4000}}, {2, 0}},
};

static clv_graph *long_graph(const struct long_op *row)
{
    clv_graph *g = NULL;
    clv_err e = {0};
    uint32_t in[2], y;
    clv_status s = clv_graph_new("long", &g, &e);
    clv_node_arg node = {.size = sizeof node, .op = row->op, .inputs = in};
    for (; s == CLV_OK && node.n_inputs < 2 && row->rank[node.n_inputs];
         node.n_inputs++) {
        clv_value_arg arg = {.size = sizeof arg,
                             .kind = CLV_VALUE_INPUT,
                             .dtype = row->dtype,
                             .rank = row->rank[node.n_inputs],
                             .dims = row->dims[node.n_inputs]};
        s = clv_graph_add_value(g, &arg, &in[node.n_inputs], &e);
    }
    if (s == CLV_OK)
        s = clv_graph_add_node(g, &node, &y, &e);
    if (s == CLV_OK)
        s = clv_graph_add_output(g, y, &e);
    if (s == CLV_OK)
        s = clv_graph_infer(g, &e);
    check_that(s == CLV_OK, __FILE__, __LINE__, "%s: %s", row->op, e.msg);
    return g;
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A kernel leaves its loops when time is up, and so soon that a second more of
 * the processor is far too much. */
static void check_long(const struct long_op *row, clv_backend *by)
{
    clv_graph *g = long_graph(row);
    clv_model *m = NULL;
    clv_context *c = NULL;
    random_inputs inputs = {0};
    clv_err e = {0};
    clv_model_opts opts = {.size = sizeof opts, .backend = by, .threads = 1};
    CHECK(clv_model_new(g, &opts, &m, &e) == CLV_OK);
    CHECK(clv_context_new(m, &c, &e) == CLV_OK);
    CHECK(random_inputs_give(&inputs, g, c) == CLV_OK);
    const double most = 0.2;
    limit((clv_limits){.max_seconds = most});
    double before = thread_seconds();
    exceeded(clv_context_run(c, &e), &e, "seconds");
    check_that(thread_seconds() - before < most + 1, __FILE__, __LINE__,
               "%s by %s took %.2f s", row->op, by ? "plain C" : "fast kernels",
               thread_seconds() - before);
    no_limit();
    clv_context_free(c);
    clv_model_free(m);
    random_inputs_free(&inputs);
    clv_graph_free(g);
}

static void long_kernels(void)
{
    clv_backend *plain = NULL;
    CHECK_OR_RETURN(clv_backend_open("ref", NULL, &plain, NULL) == CLV_OK);
    for (size_t i = 0; i < sizeof long_ops / sizeof *long_ops; i++) {
        check_row(long_ops[i].op);
        check_long(&long_ops[i], plain);
        check_long(&long_ops[i], NULL);
    }
    clv_backend_free(plain);
}

static void bad_limits(void)
{
    clv_limits l = {.size = sizeof l, .max_nodes = -1};
    CHECK(clv_limits_set(&l, NULL) == CLV_USAGE);
    l = (clv_limits){.size = 0};
    CHECK(clv_limits_set(&l, NULL) == CLV_USAGE);
}

/* -- files that shrink ----------------------------------------------------*/

static void shrinking(void)
{
    clv_graph *g;
    clv_err e;
    char path[] = "/tmp/cleave-test-XXXXXX.onnx";
    int fd = mkstemps(path, 5);
    CHECK_OR_RETURN(fd >= 0);
    close(fd);
    clv_guard_files();
    clv_guard_files(); /* twice is once */
    CHECK(clv_graph_open("squeezenet1_1", NULL, &g, &e) == CLV_OK);
    CHECK(clv_export_onnx(g, path, NULL, &e) == CLV_OK);
    clv_graph_free(g);
    CHECK(clv_graph_open(path, NULL, &g, &e) == CLV_OK);
    CHECK(run_once(g, &e) == CLV_OK);
    CHECK(clv_files_intact(&e) == CLV_OK);
    CHECK(truncate(path, 100000) == 0);
    CHECK_EQ_INT(run_once(g, &e), CLV_IO);
    CHECK_HAS(e.msg, "became shorter");
    CHECK(clv_files_intact(&e) == CLV_IO);
    CHECK(clv_files_intact(&e) == CLV_OK);
    clv_graph_free(g);
    unlink(path);
}

/* A fault elsewhere is still one. */
static void other_faults(void)
{
    pid_t child = fork();
    if (child == 0) {
        clv_guard_files();
        raise(SIGBUS);
        raise(SIGBUS);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    /* A sanitizer has a word of its own for the signal. */
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS
                              : WEXITSTATUS(status) != 0);
}

/* -- what a signal leaves behind ------------------------------------------*/

static void cleaning(void)
{
    char folder[] = "/tmp/cleave-test-XXXXXX", file[64], kept[64];
    CHECK_OR_RETURN(mkdtemp(folder));
    snprintf(kept, sizeof kept, "%s/kept", folder);
    snprintf(file, sizeof file, "%s/part", folder);
    fclose(fopen(kept, "w"));
    clv_unfinished(file);
    clv_unfinished(kept);
    fclose(fopen(file, "w"));
    clv_finished(kept);
    clv_cleanup();
    CHECK(access(file, F_OK) != 0);
    CHECK(access(kept, F_OK) == 0);
    clv_finished(file);
    clv_unfinished(folder);
    clv_cleanup();
    CHECK(access(folder, F_OK) != 0);
    clv_finished(folder);
}

static const check_case cases[] = {
    {"loading", loading},
    {"memory_comes_back", memory_comes_back},
    {"cutting_and_reporting", cutting_and_reporting},
    {"running", running},
    {"long_kernels", long_kernels},
    {"bad_limits", bad_limits},
    {"shrinking", shrinking},
    {"other_faults", other_faults},
    {"cleaning", cleaning},
};
CHECK_MAIN(cases)

/* test_run_command.c - what `cleave run` writes is what PyTorch computes.
 *
 * The examples of a partitioner's application note:
 * tests/gen/capability_onnx.py exported each model from PyTorch with an input
 * and the output. The command runs them with the options of the note, on either
 * backend, from every kind of tensor file. */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>
#include <unistd.h>

#define MODELS "tests/data/onnx_capability/"

static const struct {
    const char *model, *flags;
    int exit;
} rows[] = {
    {"sort_end", "", 0},
    {"sort_end", "--backend ref", 0},
    {"sort_end", "--backend onednn", 0},
    {"sort_end", "--backend onednn --min-support 0.8 --cpu-ops log_softmax", 0},
    {"sort_end", "--backend onednn --strategy op", 0},
    {"sort_end", "--backend onednn --strategy fusion --threads 1", 0},
    {"sort_end", "--backend onednn --strategy pipeline --stages 2", 0},
    {"sort_middle", "--backend onednn --max-subgraph-count 2", 1},
    {"sort_middle", "--backend onednn --max-subgraph-count 3", 0},
    {"sort_middle", "--strategy fusion", 0},
    {"branches", "--backend onednn", 0},
    {"branches", "--backend onednn --cpu-nodes '*a1*'", 0},
    {"branches", "--backend onednn --connected --verify", 0},
};

static bool has_onednn(void)
{
    clv_backend *b = NULL;
    bool found = clv_backend_open("onednn", NULL, &b, NULL) == CLV_OK;
    clv_backend_free(b);
    return found;
}

/* The only file of the folder, read and removed with it. */
static clv_status read_output(const char *folder, clv_tensor *t, clv_err *e)
{
    char command[400], path[300] = "";
    snprintf(command, sizeof command, "ls %s/*.npy", folder);
    FILE *p = popen(command, "r");
    if (!p || !fgets(path, sizeof path, p))
        path[0] = '\0';
    if (p)
        pclose(p);
    path[strcspn(path, "\n")] = '\0';
    return clv_tensor_read(path, NULL, t, e);
}

static void outputs(void)
{
    const char *build = getenv("CLEAVE_BUILD");
    char folder[] = "/tmp/cleave-run.XXXXXX", command[800], path[150];
    bool onednn = has_onednn();
    CHECK_OR_RETURN(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_err e = {0};
        clv_tensor got = {0}, want = {0};
        double absolute = 1, relative = 1;
        snprintf(path, sizeof path, "%s %s", rows[i].model, rows[i].flags);
        check_row(path);
        /* the search for leaks crashes on threads of OpenMP */
        bool with_threads = strstr(rows[i].flags, "onednn") != NULL;
        if (with_threads && !onednn) {
            check_skip("oneDNN is not installed");
            continue;
        }
        snprintf(command, sizeof command,
                 "rm -rf %s; %s %s/cli/cleave run " MODELS "%s.onnx --quiet "
                 "--input " MODELS "%s.x.npy --output %s %s >/dev/null 2>&1",
                 folder, with_threads ? "ASAN_OPTIONS=detect_leaks=0" : "",
                 build ? build : "build", rows[i].model, rows[i].model, folder,
                 rows[i].flags);
        int rc = system(command);
        if (!CHECK_EQ_INT(rc == -1 ? -1 : rc >> 8, rows[i].exit) || rc)
            continue;
        snprintf(path, sizeof path, MODELS "%s.y.npy", rows[i].model);
        if (CHECK(read_output(folder, &got, &e) == CLV_OK) &&
            CHECK(clv_tensor_read(path, NULL, &want, &e) == CLV_OK) &&
            CHECK(clv_tensor_numel(&got) == clv_tensor_numel(&want)))
            clv_tensor_diff(&got, &want, &absolute, &relative);
        CHECK(relative < 1e-5);
        clv_tensor_free(&got);
        clv_tensor_free(&want);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

static const check_case cases[] = {{"outputs", outputs}};
CHECK_MAIN(cases)

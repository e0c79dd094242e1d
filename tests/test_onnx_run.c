/* test_onnx_run.c - the test suite of ONNX, executed.
 *
 * timeout: 900
 *
 * Each case of libonnx-testdata is a model with inputs and expected outputs.
 * It is run with its inputs as the files give them, by plain C kernels, and
 * again by oneDNN where that supports the node. Outputs must be the expected
 * ones within the suite's own tolerance (rtol 1e-3, atol 1e-7). What does not
 * agree is listed by name, kind and reason in docs/onnx-run.md, which this test
 * writes when CLEAVE_UPDATE is set and else compares. CLEAVE_CASE selects. */
#include "check.h"
#include "cleave.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char root[] = "/usr/share/libonnx-testdata/data";
static const char *const groups[] = {"node", "simple", "pytorch-converted",
                                     "pytorch-operator"};
enum { PATH = 600, INPUTS = 64 };

static clv_buf rest; /* lines of the document */
static long cases_run, cases_agree, cases_on_backend;
static clv_backend *backend;

/* -- comparing ------------------------------------------------------------*/

static bool near(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= 1e-7 + 1e-3 * fabs(b);
}

static bool same_type(clv_dtype got, clv_dtype want)
{
    return got == want || (got == CLV_BFLOAT16 && want == CLV_UINT16);
}

/* Why got is not what was expected; "" when it is. */
static void compare(const clv_tensor *got, const clv_tensor *want, char *why,
                    size_t size)
{
    clv_tensor g = *got;
    *why = '\0';
    if (!got->data) {
        snprintf(why, size, "was not computed");
        return;
    }
    if (!same_type(got->dtype, want->dtype)) {
        snprintf(why, size, "type %s, expected %s", clv_dtype_name(got->dtype),
                 clv_dtype_name(want->dtype));
        return;
    }
    g.dtype = want->dtype; /* the suite keeps bfloat16 as its bits */
    if (g.rank != want->rank ||
        memcmp(g.dims, want->dims, g.rank * sizeof *g.dims)) {
        snprintf(why, size, "rank %u of %lld elements, expected %u of %lld",
                 g.rank, (long long)clv_tensor_numel(&g), want->rank,
                 (long long)clv_tensor_numel(want));
        return;
    }
    int64_t n = clv_tensor_numel(want);
    for (int64_t i = 0; i < n; i++)
        if (!near(clv_tensor_get(&g, i), clv_tensor_get(want, i))) {
            snprintf(why, size, "element %lld is %.6g, expected %.6g",
                     (long long)i, clv_tensor_get(&g, i),
                     clv_tensor_get(want, i));
            return;
        }
}

/* -- one case -------------------------------------------------------------*/

typedef struct job {
    char folder[PATH];
    clv_graph *g;
    clv_model *m;
    clv_context *c;
    clv_tensor in[INPUTS];
    clv_shape_arg shape[INPUTS];
    uint32_t n_in;
    clv_err e;
} job;

static clv_status read_inputs(job *j)
{
    char path[PATH + 60];
    struct stat st;
    for (j->n_in = 0; j->n_in < INPUTS; j->n_in++) {
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%u.pb", j->folder,
                 j->n_in);
        if (stat(path, &st) != 0)
            return CLV_OK;
        clv_status s = clv_tensor_read(path, NULL, &j->in[j->n_in], &j->e);
        if (s != CLV_OK)
            return s;
    }
    return CLV_OK;
}

/* Opened twice: the names of the inputs first, then with their shapes. */
static clv_status open_case(job *j)
{
    char path[PATH + 60];
    const uint32_t *ids;
    snprintf(path, sizeof path, "%s/model.onnx", j->folder);
    clv_status s = clv_graph_open(path, NULL, &j->g, &j->e);
    if (s != CLV_OK)
        return s;
    uint32_t n;
    ids = clv_graph_inputs(j->g, &n);
    static char names[INPUTS][200];
    clv_open_opts opts = {.size = sizeof opts, .shapes = j->shape};
    for (uint32_t i = 0; i < n && i < j->n_in; i++) {
        clv_value_info v = clv_graph_value(j->g, ids[i]);
        if (v.rank == CLV_NONE)
            continue;
        if (v.dtype == CLV_BFLOAT16 && j->in[i].dtype == CLV_UINT16)
            j->in[i].dtype = CLV_BFLOAT16; /* the suite has its bits */
        snprintf(names[i], sizeof names[i], "%s", v.name);
        j->shape[opts.n_shapes++] =
            (clv_shape_arg){names[i], j->in[i].dims, j->in[i].rank};
    }
    clv_graph_free(j->g);
    return clv_graph_open(path, &opts, &j->g, &j->e);
}

static clv_status run_model(job *j)
{
    clv_model_opts opts = {
        .size = sizeof opts, .backend = backend, .threads = 1};
    clv_status s = clv_model_new(j->g, &opts, &j->m, &j->e);
    if (s == CLV_OK)
        s = clv_context_new(j->m, &j->c, &j->e);
    uint32_t n;
    clv_graph_inputs(j->g, &n);
    for (uint32_t i = 0; i < n && i < j->n_in && s == CLV_OK; i++)
        s = clv_context_set(j->c, i, &j->in[i], &j->e);
    return s == CLV_OK ? clv_context_run(j->c, &j->e) : s;
}

static void check_outputs(job *j, char *why, size_t size)
{
    char path[PATH + 60];
    struct stat st;
    uint32_t n;
    clv_graph_outputs(j->g, &n);
    for (uint32_t i = 0; i < n && !*why; i++) {
        clv_tensor want;
        snprintf(path, sizeof path, "%s/test_data_set_0/output_%u.pb",
                 j->folder, i);
        if (stat(path, &st) != 0)
            return;
        if (clv_tensor_read(path, NULL, &want, &j->e) != CLV_OK) {
            snprintf(why, size, "%s", strrchr(j->e.msg, ':') + 2);
            return;
        }
        char text[200];
        compare(clv_context_output(j->c, i), &want, text, sizeof text);
        if (*text)
            snprintf(why, size, "output %u: %s", i, text);
        clv_tensor_free(&want);
    }
}

static bool on_backend(const job *j)
{
    const clv_model_info *info = j->m ? clv_model_get(j->m) : NULL;
    for (uint32_t i = 0; info && i < info->n_parts; i++)
        if (strcmp(info->parts[i].device, "cpu") != 0)
            return true;
    return false;
}

/* Writes why it does not agree; true when the backend ran a part of it. */
static bool one_case(const char *group, const char *name, char *why,
                     size_t size)
{
    static job j;
    memset(&j, 0, sizeof j);
    snprintf(j.folder, sizeof j.folder, "%s/%s/%s", root, group, name);
    clv_status s = read_inputs(&j);
    if (s == CLV_OK)
        s = open_case(&j);
    if (s == CLV_OK)
        s = run_model(&j);
    if (s != CLV_OK) {
        const char *msg = strstr(j.e.msg, ".pb: ");
        snprintf(why, size, "%s", msg ? msg + 5 : j.e.msg);
    } else {
        check_outputs(&j, why, size);
    }
    bool used = on_backend(&j);
    for (uint32_t i = 0; i < INPUTS; i++)
        clv_tensor_free(&j.in[i]);
    clv_context_free(j.c);
    clv_model_free(j.m);
    clv_graph_free(j.g);
    return used;
}

/* What stands in the way, told by the name. */
static const char *kind_of(const char *name)
{
    static const struct {
        const char *part, *kind;
    } kinds[] = {
        {"seq", "sequence"},      {"opt", "optional"},
        {"STRING", "string"},     {"str", "string"},
        {"bernoulli", "random"},  {"dropout", "random"},
        {"gradient", "training"}, {"adam", "file"},
        {"BFLOAT16", "file"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].part))
            return kinds[i].kind;
    return "other";
}

/* In a process of its own, so that a case that crashes is named. The first
 * byte it sends says whether the backend ran a part. */
static void run_case(const char *group, const char *name)
{
    char why[700] = "-";
    int end[2];
    fflush(stdout);
    if (pipe(end) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        why[0] = one_case(group, name, why + 1, sizeof why - 1) ? '+' : '-';
        ssize_t sent = write(end[1], why, strlen(why));
        _exit(sent == (ssize_t)strlen(why) ? 0 : 1);
    }
    close(end[1]);
    ssize_t n = read(end[0], why, sizeof why - 1);
    close(end[0]);
    why[n > 0 ? n : 0] = '\0';
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || n < 1)
        snprintf(why, sizeof why, "-crashes");
    cases_run++;
    cases_on_backend += why[0] == '+';
    if (why[1])
        clv_buf_printf(&rest, "| %s/%s | %s | %s |\n", group, name,
                       kind_of(name), why + 1);
    else
        cases_agree++;
}

static void run_group(const char *group)
{
    char path[PATH];
    struct dirent **entries = NULL;
    snprintf(path, sizeof path, "%s/%s", root, group);
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *only = getenv("CLEAVE_CASE");
        if (entries[i]->d_name[0] != '.' &&
            (!only || strstr(entries[i]->d_name, only)))
            run_case(group, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* -- the document ---------------------------------------------------------*/

static bool same_text(const char *path, const clv_buf *text)
{
    FILE *f = fopen(path, "rb");
    size_t at = 0;
    int c = EOF;
    while (f && (c = fgetc(f)) != EOF && at < text->len &&
           (unsigned char)text->text[at] == (unsigned char)c)
        at++;
    if (f)
        fclose(f);
    return f && c == EOF && at == text->len;
}

static void check_document(void)
{
    static const char path[] = "docs/onnx-run.md";
    clv_buf doc = {0};
    clv_buf_printf(&doc,
                   "# ONNX test suite, executed\n\n"
                   "Of the %ld cases of libonnx-testdata 1.12.0, plain C "
                   "kernels give the expected\noutputs (rtol 1e-3, atol 1e-7) "
                   "for %ld, %.1f %%, and so does oneDNN where it supports the "
                   "node.\nThe rest, by name, kind and reason:\n\n"
                   "| case | kind | reason |\n|---|---|---|\n",
                   cases_run, cases_agree,
                   100.0 * (double)cases_agree / (double)cases_run);
    clv_buf_add(&doc, rest.text ? rest.text : "", rest.len);
    check_row("docs/onnx-run.md is what this run says");
    if (!same_text(path, &doc) && getenv("CLEAVE_UPDATE")) {
        FILE *f = fopen(path, "wb");
        if (CHECK(f != NULL)) {
            fwrite(doc.text, 1, doc.len, f);
            fclose(f);
        }
    } else {
        CHECK(same_text(path, &doc));
    }
    clv_buf_free(&doc);
}

static void run_groups(void)
{
    cases_run = cases_agree = cases_on_backend = 0;
    rest.len = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        run_group(groups[i]);
    if (getenv("CLEAVE_CASE"))
        printf("%s%ld of %ld agree\n", rest.text ? rest.text : "", cases_agree,
               cases_run);
}

static void plain_c(void)
{
    struct stat st;
    if (stat(root, &st) != 0) {
        check_skip("libonnx-testdata is not installed");
        return;
    }
    run_groups();
    if (getenv("CLEAVE_CASE"))
        return;
    CHECK(cases_run >= 1000);
    check_row("at least 92 % agree");
    CHECK(cases_agree * 100 >= cases_run * 92);
    check_document();
}

/* The same cases agree, and oneDNN has a part in many of them. */
static void onednn(void)
{
    struct stat st;
    long agree = cases_agree;
    if (stat(root, &st) != 0 ||
        clv_backend_open("onednn", NULL, &backend, NULL) != CLV_OK) {
        check_skip("libonnx-testdata or oneDNN is not installed");
        return;
    }
    run_groups();
    printf("oneDNN has a part in %ld of %ld cases\n", cases_on_backend,
           cases_run);
    if (!getenv("CLEAVE_CASE"))
        CHECK(cases_on_backend >= 150);
    CHECK_EQ_INT(cases_agree, agree);
    clv_backend_free(backend);
    clv_buf_free(&rest);
}

static const check_case cases[] = {{"plain_c", plain_c}, {"onednn", onednn}};
CHECK_MAIN(cases)

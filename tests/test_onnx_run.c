/* test_onnx_run.c - the test suite of ONNX, executed.
 *
 * timeout: 900
 *
 * Each case is a model with sets of inputs and expected outputs. It is run with
 * its inputs as the files give them, by plain C kernels, and again by oneDNN
 * where that supports the node. Outputs must be of the expected type and shape,
 * and within the suite's own tolerance (rtol 1e-3, atol 1e-7, or what a file
 * `tolerance` says). What does not agree is listed by name, kind and reason in
 * a document, which this test writes when CLEAVE_UPDATE is set and else
 * compares. An output outside the tolerance counts as explained, not as wrong,
 * where a file has the exact one and none of its elements is farther from that
 * than the worst of the expected output is; or where a row below says why.
 *
 * The suite is Debian's libonnx-testdata, or the one in the folder that
 * CLEAVE_SUITE names (tests/gen/onnx_suite.py writes it; tests/py/suite.py
 * runs this test on it). CLEAVE_CASE selects cases. */
#include "check.h"
#include "cleave.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const groups[] = {"node", "simple", "pytorch-converted",
                                     "pytorch-operator", "real"};
enum { PATH = 600, INPUTS = 64 };

/* A suite, and the document that says how it went. */
static struct suite {
    const char *root, *title, *document;
    long least, passing, on_backend; /* cases, per cent, cases */
} suite = {"/usr/share/libonnx-testdata/data",
           "libonnx-testdata 1.12.0",
           "docs/onnx-run.md",
           1000,
           92,
           150};

/* How a case ended. */
typedef enum ending {
    AGREES,
    REFUSED,   /* with a status and one line */
    DRAWN,     /* ran; the numbers are drawn, here as there */
    EXPLAINED, /* differs, and the expected output is what is less right */
    DIFFERS,
    CRASHED,
    ENDINGS
} ending;

static const char *const endings[ENDINGS] = {"passed",    "refused", "random",
                                             "explained", "wrong",   "crashed"};

static clv_buf rest; /* lines of the document */
static long cases_run, cases_on_backend, ended[ENDINGS];
static clv_backend *backend;
static double rel_tol, abs_tol; /* of the case under way */

/* -- comparing ------------------------------------------------------------*/

static bool near(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= abs_tol + rel_tol * fabs(b);
}

static bool same_type(clv_dtype got, clv_dtype want)
{
    return got == want || (got == CLV_BFLOAT16 && want == CLV_UINT16);
}

static void compare(const clv_tensor *got, const clv_tensor *want, char *why,
                    size_t size);

/* The same of texts, and of what lists hold. */
static void compare_others(const clv_tensor *got, const clv_tensor *want,
                           char *why, size_t size)
{
    int64_t n = clv_tensor_numel(want);
    for (int64_t i = 0; i < n && !*why; i++) {
        clv_text a = clv_tensor_text(got, i), b = clv_tensor_text(want, i);
        if (want->form != CLV_FORM_TENSOR)
            compare(clv_tensor_item(got, i), clv_tensor_item(want, i), why,
                    size);
        else if (a.n != b.n || (a.n && memcmp(a.s, b.s, a.n) != 0))
            snprintf(why, size, "element %lld is '%.*s', expected '%.*s'",
                     (long long)i, (int)a.n, a.s, (int)b.n, b.s);
    }
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
    if (got->form != want->form ||
        (want->form && clv_tensor_numel(got) != clv_tensor_numel(want))) {
        snprintf(why, size, "%lld tensors, expected %lld",
                 (long long)clv_tensor_numel(got),
                 (long long)clv_tensor_numel(want));
        return;
    }
    if (want->form) {
        compare_others(got, want, why, size);
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
    if (want->dtype == CLV_STRING)
        compare_others(got, want, why, size);
    for (int64_t i = 0; i < n && want->dtype != CLV_STRING; i++)
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
    int set; /* of inputs and outputs */
    clv_graph *g;
    clv_model *m;
    clv_context *c;
    clv_tensor in[INPUTS];
    clv_data_arg data[INPUTS];
    uint32_t n_in;
    clv_err e;
} job;

static const char *file_of(const job *j, const char *kind, uint32_t i)
{
    static char path[PATH + 60];
    struct stat st;
    snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%u.pb", j->folder,
             j->set, kind, i);
    return stat(path, &st) == 0 ? path : NULL;
}

static clv_form form_of(clv_value_info v)
{
    return v.optional   ? CLV_FORM_OPTIONAL
           : v.sequence ? CLV_FORM_SEQUENCE
                        : CLV_FORM_TENSOR;
}

/* Reads all that are tensors; the others are read again when it is known what
 * they are. */
static void read_inputs(job *j)
{
    const char *path;
    for (j->n_in = 0; j->n_in < INPUTS && (path = file_of(j, "input", j->n_in));
         j->n_in++) {
        clv_tensor *t = &j->in[j->n_in];
        if (clv_tensor_read(path, NULL, t, &j->e) != CLV_OK)
            *t = (clv_tensor){0};
        j->data[j->n_in] =
            (clv_data_arg){.dims = t->dims, .rank = t->rank, .place = j->n_in};
    }
}

static clv_status open_case(job *j)
{
    char path[PATH + 60];
    clv_open_opts opts = {
        .size = sizeof opts, .data = j->data, .n_data = j->n_in};
    snprintf(path, sizeof path, "%s/model.onnx", j->folder);
    clv_status s = clv_graph_open(path, &opts, &j->g, &j->e);
    uint32_t n;
    const uint32_t *ids = s == CLV_OK ? clv_graph_inputs(j->g, &n) : NULL;
    for (uint32_t i = 0; s == CLV_OK && i < n && i < j->n_in; i++) {
        clv_value_info v = clv_graph_value(j->g, ids[i]);
        if (v.dtype == CLV_BFLOAT16 && j->in[i].dtype == CLV_UINT16)
            j->in[i].dtype = CLV_BFLOAT16; /* the suite has its bits */
        if (form_of(v) == CLV_FORM_TENSOR && j->in[i].data)
            continue;
        clv_tensor_free(&j->in[i]);
        s = clv_tensor_read_as(file_of(j, "input", i), NULL, form_of(v),
                               &j->in[i], &j->e);
    }
    return s;
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

/* The largest distance between elements of t and of `exact`. */
static double distance(const clv_tensor *t, const clv_tensor *exact)
{
    double most = 0;
    for (int64_t i = 0, n = clv_tensor_numel(exact); i < n; i++) {
        double d = fabs(clv_tensor_get(t, i) - clv_tensor_get(exact, i));
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

/* Whether the exact output is known, and got is no farther from it than want,
 * which is of the same type and shape. Then writes both distances. */
static bool is_nearer(job *j, uint32_t i, const clv_tensor *got,
                      const clv_tensor *want, char *text, size_t size)
{
    clv_tensor exact, g = *got;
    const char *path = file_of(j, "exact", i);
    if (!path || got->form != want->form ||
        !same_type(got->dtype, want->dtype) ||
        clv_tensor_numel(got) != clv_tensor_numel(want) ||
        clv_tensor_read(path, NULL, &exact, &j->e) != CLV_OK)
        return false;
    g.dtype = want->dtype;
    double ours = NAN, theirs = NAN;
    if (clv_tensor_numel(&exact) == clv_tensor_numel(want)) {
        ours = distance(&g, &exact);
        theirs = distance(want, &exact);
    }
    clv_tensor_free(&exact);
    bool nearer = ours <= theirs;
    if (nearer)
        snprintf(text, size, "%.2g from the exact one, expected %.2g", ours,
                 theirs);
    return nearer;
}

static ending check_outputs(job *j, char *why, size_t size)
{
    ending end = AGREES;
    uint32_t n;
    const uint32_t *ids = clv_graph_outputs(j->g, &n);
    for (uint32_t i = 0; i < n && end != DIFFERS; i++) {
        clv_tensor want;
        const clv_tensor *got = clv_context_output(j->c, i);
        const char *path = file_of(j, "output", i);
        if (!path)
            return end;
        clv_form form = form_of(clv_graph_value(j->g, ids[i]));
        if (clv_tensor_read_as(path, NULL, form, &want, &j->e) != CLV_OK) {
            snprintf(why, size, "%s", strrchr(j->e.msg, ':') + 2);
            return DIFFERS;
        }
        char text[200];
        compare(got, &want, text, sizeof text);
        if (*text) {
            end = is_nearer(j, i, got, &want, text, sizeof text) ? EXPLAINED
                                                                 : DIFFERS;
            snprintf(why, size, "output %u: %s", i, text);
        }
        clv_tensor_free(&want);
    }
    return end;
}

static bool on_backend(const job *j)
{
    const clv_model_info *info = j->m ? clv_model_get(j->m) : NULL;
    for (uint32_t i = 0; info && i < info->n_parts; i++)
        if (strcmp(info->parts[i].device, "cpu") != 0)
            return true;
    return false;
}

/* One set of data; writes why it does not agree. */
static ending one_set(job *j, char *why, size_t size)
{
    ending end = REFUSED;
    read_inputs(j);
    clv_status s = open_case(j);
    if (s == CLV_OK)
        s = run_model(j);
    if (s == CLV_OK)
        end = check_outputs(j, why, size);
    else
        snprintf(why, size, "%s", j->e.msg);
    for (char *at; (at = strstr(why, suite.root)) && strstr(at, "/model.onnx");)
        memmove(at, strstr(at, "model.onnx"),
                strlen(strstr(at, "model.onnx")) + 1);
    return end;
}

static void end_set(job *j)
{
    for (uint32_t i = 0; i < INPUTS; i++)
        clv_tensor_free(&j->in[i]);
    clv_context_free(j->c);
    clv_model_free(j->m);
    clv_graph_free(j->g);
}

static void read_tolerance(const char *folder)
{
    char path[PATH + 60];
    snprintf(path, sizeof path, "%s/tolerance", folder);
    FILE *f = fopen(path, "r");
    rel_tol = 1e-3;
    abs_tol = 1e-7;
    if (f && fscanf(f, "%lf %lf", &rel_tol, &abs_tol) != 2)
        check_that(false, __FILE__, __LINE__, "%s: no two numbers", path);
    if (f)
        fclose(f);
}

/* All sets of a case; `used` says whether the backend ran a part of it. */
static ending one_case(const char *group, const char *name, bool *used,
                       char *why, size_t size)
{
    static job j;
    char folder[PATH];
    ending end = AGREES;
    *why = '\0';
    *used = false;
    snprintf(folder, sizeof folder, "%s/%s/%s", suite.root, group, name);
    read_tolerance(folder);
    for (int set = 0; end == AGREES; set++) {
        memset(&j, 0, sizeof j);
        memcpy(j.folder, folder, sizeof folder);
        j.set = set;
        if (set && !file_of(&j, "output", 0))
            break;
        end = one_set(&j, why, size);
        *used |= on_backend(&j);
        end_set(&j);
    }
    return end;
}

/* Numbers that are drawn are other ones here; the name tells. */
static bool is_drawn(const char *name)
{
    return strstr(name, "bernoulli") || strstr(name, "training_dropout");
}

/* Cases whose expected outputs are not those of their model. */
static const struct explanation {
    const char *name, *why;
} explanations[] = {
    {"test_adam_multiple",
     "the expected outputs are those of epsilon 0.01, which is the default 0 "
     "in the model; newer suites state it"},
};

static const char *explanation_of(const char *name)
{
    for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++)
        if (strcmp(name, explanations[i].name) == 0)
            return explanations[i].why;
    return NULL;
}

/* In a process of its own, so that a case that crashes is named. The first
 * byte it sends says whether the backend ran a part, the second how it ended.
 */
static void run_case(const char *group, const char *name)
{
    char why[700] = "";
    int end[2];
    fflush(stdout);
    if (pipe(end) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        bool used;
        setrlimit(RLIMIT_CPU, &(struct rlimit){60, 60});
        ending how = one_case(group, name, &used, why + 2, sizeof why - 2);
        why[0] = used ? '+' : '-';
        why[1] = (char)('0' + how);
        size_t all = 2 + strlen(why + 2);
        _exit(write(end[1], why, all) == (ssize_t)all ? 0 : 1);
    }
    close(end[1]);
    ssize_t n = read(end[0], why, sizeof why - 1);
    close(end[0]);
    why[n > 0 ? n : 0] = '\0';
    int status = 0;
    waitpid(child, &status, 0);
    bool lost = status != 0 || n < 2;
    ending how = lost ? CRASHED : (ending)(why[1] - '0');
    if (how == DIFFERS && is_drawn(name))
        how = DRAWN;
    if (how == DIFFERS && explanation_of(name)) {
        how = EXPLAINED;
        snprintf(why + 2, sizeof why - 2, "%s", explanation_of(name));
    }
    cases_run++;
    cases_on_backend += !lost && why[0] == '+';
    ended[how]++;
    if (how != AGREES)
        clv_buf_printf(&rest, "| %s/%s | %s | %s |\n", group, name,
                       endings[how], lost ? "" : why + 2);
}

static void run_group(const char *group)
{
    char path[PATH];
    struct dirent **entries = NULL;
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", suite.root, group);
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *only = getenv("CLEAVE_CASE");
        snprintf(path, sizeof path, "%s/%s/%.200s/model.onnx", suite.root,
                 group, entries[i]->d_name);
        if (stat(path, &st) == 0 && (!only || strstr(entries[i]->d_name, only)))
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

static double per_cent(long n)
{
    return 100.0 * (double)n / (double)(cases_run ? cases_run : 1);
}

static void check_document(void)
{
    clv_buf doc = {0};
    clv_buf_printf(&doc,
                   "# ONNX test suite, executed\n\n"
                   "Of the %ld cases of %s, plain C "
                   "kernels give the expected\noutputs within the suite's "
                   "tolerance for %ld, %.1f %%, and so does oneDNN where it "
                   "supports the node.\n%ld are refused by name, %ld draw "
                   "random numbers, %ld differ and are explained, %ld are "
                   "wrong, %ld crash.\nThe exact output is that of onnx's "
                   "reference implementation in float64; expected\n"
                   "outputs are rounded at every step.\n\n"
                   "| case | ending | reason |\n|---|---|---|\n",
                   cases_run, suite.title, ended[AGREES],
                   per_cent(ended[AGREES]), ended[REFUSED], ended[DRAWN],
                   ended[EXPLAINED], ended[DIFFERS], ended[CRASHED]);
    clv_buf_add(&doc, rest.text ? rest.text : "", rest.len);
    char row[100];
    snprintf(row, sizeof row, "%s is what this run says", suite.document);
    check_row(row);
    if (!same_text(suite.document, &doc) && getenv("CLEAVE_UPDATE")) {
        FILE *f = fopen(suite.document, "wb");
        if (CHECK(f != NULL)) {
            fwrite(doc.text, 1, doc.len, f);
            fclose(f);
        }
    } else {
        CHECK(same_text(suite.document, &doc));
    }
    clv_buf_free(&doc);
}

static void run_groups(void)
{
    cases_run = cases_on_backend = 0;
    memset(ended, 0, sizeof ended);
    rest.len = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        run_group(groups[i]);
    if (getenv("CLEAVE_CASE"))
        printf("%s", rest.text ? rest.text : "");
    for (int i = 0; i < ENDINGS; i++)
        printf("%ld %s%s", ended[i], endings[i], i + 1 < ENDINGS ? ", " : "\n");
}

static bool find_suite(void)
{
    static const struct suite newest = {
        NULL, "onnx 1.23.2", "docs/onnx-suite.md", 2000, 97, 300};
    struct stat st;
    if (getenv("CLEAVE_SUITE")) {
        suite = newest;
        suite.root = getenv("CLEAVE_SUITE");
    }
    return stat(suite.root, &st) == 0;
}

static void plain_c(void)
{
    if (!find_suite()) {
        check_skip("libonnx-testdata is not installed");
        return;
    }
    CHECK_OR_RETURN(clv_backend_open("ref", NULL, &backend, NULL) == CLV_OK);
    run_groups();
    clv_backend_free(backend);
    if (getenv("CLEAVE_CASE"))
        return;
    CHECK(cases_run >= suite.least);
    check_row("enough agree, none is wrong, none crashes");
    CHECK(ended[AGREES] * 100 >= cases_run * suite.passing);
    CHECK_EQ_INT(ended[DIFFERS], 0);
    CHECK_EQ_INT(ended[CRASHED], 0);
    check_document();
}

/* No fewer agree than with the backend before: values of half precision are
 * rounded less often. */
static void no_fewer(long agree)
{
    CHECK(ended[AGREES] >= agree);
    CHECK_EQ_INT(ended[DIFFERS], 0);
    CHECK_EQ_INT(ended[CRASHED], 0);
}

static void cpu(void)
{
    long agree = ended[AGREES];
    if (!find_suite())
        return;
    CHECK_OR_RETURN(clv_backend_open("cpu", NULL, &backend, NULL) == CLV_OK);
    run_groups();
    no_fewer(agree);
    clv_backend_free(backend);
}

/* oneDNN has a part in many cases. */
static void onednn(void)
{
    long agree = ended[AGREES];
    if (!find_suite() ||
        clv_backend_open("onednn", NULL, &backend, NULL) != CLV_OK) {
        check_skip("libonnx-testdata or oneDNN is not installed");
        return;
    }
    run_groups();
    printf("oneDNN has a part in %ld of %ld cases\n", cases_on_backend,
           cases_run);
    if (!getenv("CLEAVE_CASE"))
        CHECK(cases_on_backend >= suite.on_backend);
    no_fewer(agree);
    clv_backend_free(backend);
    clv_buf_free(&rest);
}

static const check_case cases[] = {
    {"plain_c", plain_c}, {"cpu", cpu}, {"onednn", onednn}};
CHECK_MAIN(cases)

/* test_poison.c - every element of every output is written.
 *
 * timeout: 600
 *
 * Each model runs twice on the same inputs. All memory that the library takes,
 * and the arena of the run, is first filled with one byte, then with another.
 * An output that shows the difference was not written, or was computed from
 * something that was not. Models are those of the tests, the seeds of the
 * fuzzer, the files that once broke something, and ONNX's own suite where it is
 * installed; by plain C, and by oneDNN where that is. */
#include "check.h"
#include "cleave.h"
#include "random_inputs.h"
#include "run/run.h"

#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OUTPUTS = 32, PATH = 600, LARGEST = 2 << 20 };

static int poison;
static long runs, compared;

static void *poisoned(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    size_t had = p ? malloc_usable_size(p) : 0;
    char *q = realloc(p, size);
    size_t has = q ? malloc_usable_size(q) : 0;
    if (q && has > had)
        memset(q + had, poison, has - had);
    return q;
}

/* What one run gave: copies of the outputs. */
typedef struct result {
    clv_status status;
    uint32_t n;
    clv_tensor out[OUTPUTS];
} result;

static void keep(const clv_context *c, const clv_graph *g, result *r)
{
    clv_graph_outputs(g, &r->n);
    r->n = r->n < OUTPUTS ? r->n : OUTPUTS;
    for (uint32_t i = 0; i < r->n; i++) {
        const clv_tensor *t = clv_context_output(c, i);
        int64_t bytes = t ? clv_tensor_bytes(t) : -1;
        r->out[i] = t ? *t : (clv_tensor){0};
        r->out[i].data = NULL;
        if (bytes > 0 && t->data && t->dtype != CLV_STRING &&
            t->form == CLV_FORM_TENSOR) {
            r->out[i].data = malloc((size_t)bytes);
            memcpy(r->out[i].data, t->data, (size_t)bytes);
        }
    }
}

static void run_poisoned(const char *path, const char *by, int byte, result *r)
{
    clv_graph *g = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_backend *b = NULL;
    random_inputs inputs = {0};
    *r = (result){0};
    poison = byte;
    clv__arena_fill = (uint8_t)byte;
    clv_limits l = {.size = sizeof l, .max_seconds = 5};
    clv_status s = clv_limits_set(&l, NULL);
    if (s == CLV_OK)
        s = clv_graph_open(path, NULL, &g, NULL);
    if (s == CLV_OK && by)
        s = clv_backend_open(by, NULL, &b, NULL);
    clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 1};
    if (s == CLV_OK)
        s = clv_model_new(g, &o, &m, NULL);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, NULL);
    if (s == CLV_OK)
        s = random_inputs_give(&inputs, g, c);
    if (s == CLV_OK)
        s = clv_context_run(c, NULL);
    if (s == CLV_OK)
        keep(c, g, r);
    r->status = s;
    random_inputs_free(&inputs);
    clv_context_free(c);
    clv_model_free(m);
    clv_backend_free(b);
    clv_graph_free(g);
    CHECK(clv_limits_set(NULL, NULL) == CLV_OK);
}

/* All bytes; the last one of packed types as far as it holds elements. */
static bool same_elements(const clv_tensor *x, const clv_tensor *y)
{
    size_t bytes = (size_t)clv_tensor_bytes(x), whole = bytes;
    int64_t n = clv_tensor_numel(x);
    while (whole &&
           clv_dtype_bytes(x->dtype, n) == clv_dtype_bytes(x->dtype, n + 1)) {
        whole = bytes - 1;
        n++;
    }
    for (int64_t i = 0; whole < bytes && i < clv_tensor_numel(x); i++)
        if (clv_tensor_get(x, i) != clv_tensor_get(y, i))
            return false;
    return !memcmp(x->data, y->data, whole);
}

static void compare(const char *path, const result *a, const result *b)
{
    runs++;
    if (a->status == CLV_EXCEEDED || b->status == CLV_EXCEEDED)
        return;
    check_that(a->status == b->status, __FILE__, __LINE__,
               "%s: ends with %d and %d", path, a->status, b->status);
    for (uint32_t i = 0; a->status == CLV_OK && i < a->n; i++) {
        const clv_tensor *x = &a->out[i], *y = &b->out[i];
        compared++;
        check_that(x->rank == y->rank && x->dtype == y->dtype &&
                       !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims),
                   __FILE__, __LINE__, "%s: output %u has two shapes", path, i);
        if (x->data && y->data && x->rank == y->rank &&
            !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims))
            check_that(same_elements(x, y), __FILE__, __LINE__,
                       "%s: output %u shows memory that was not written", path,
                       i);
    }
}

static void both(const char *path, const char *by)
{
    result a, b;
    run_poisoned(path, by, 0x00, &a);
    run_poisoned(path, by, 0xff, &b);
    compare(path, &a, &b);
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        free(a.out[i].data);
        free(b.out[i].data);
    }
}

static bool is_model(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, ".onnx");
}

/* Models in `folder`, and in its folders down to `depth`. */
static void walk(const char *folder, int depth, const char *by)
{
    struct dirent **list;
    struct stat st;
    int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode) && depth > 0)
                walk(path, depth - 1, by);
            else if (is_model(path) && st.st_size < LARGEST)
                both(path, by);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static void all_by(const char *by)
{
    runs = compared = 0;
    clv_set_allocator(&(clv_allocator){poisoned, NULL});
    walk("tests/data/crashes", 0, by);
    walk("tests/data/ort", 0, by);
    walk("tests/data/run_io", 0, by);
    walk("fuzz/corpus/run", 0, by);
    walk("fuzz/corpus/onnx", 0, by);
    walk("/usr/share/libonnx-testdata/data/node", 1, by);
    clv_set_allocator(NULL);
    printf("# %ld models, %ld outputs\n", runs, compared);
    CHECK(runs > 60 && compared > 20);
}

static void plain(void)
{
    all_by("ref");
}

static void cpu(void)
{
    all_by("cpu");
}

static void onednn(void)
{
    clv_backend *b;
    if (clv_backend_open("onednn", NULL, &b, NULL) != CLV_OK) {
        printf("SKIP oneDNN is not installed\n");
        return;
    }
    clv_backend_free(b);
    all_by("onednn");
}

static const check_case cases[] = {
    {"plain", plain},
    {"cpu", cpu},
    {"onednn", onednn},
};
CHECK_MAIN(cases)

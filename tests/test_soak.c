/* test_soak.c - many files, by many threads of one process, again and again.
 *
 * Every thread takes the next file and does with it what the commands do: open,
 * profile, cut, plan memory, report, write as ONNX, compile and run. A file
 * that comes again must give the same bits, and when all files have come
 * several times, the process must hold no more memory than after they came
 * first. Half of the files are mutated. `make soak` takes 2,500 files four
 * times; `make test` some of them twice.
 *
 * timeout: 3000 */
#include "check.h"
#include "cleave.h"
#include "mutate_onnx.h"
#include "random_inputs.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    THREADS = 24,
    MOST_FILES = 20000,
    LARGEST = 64 << 10, /* bytes of a file */
    LARGE = 1 << 20,    /* numbers of a run, and operations on them */
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static struct {
    char *path[MOST_FILES];
    _Atomic uint64_t sum[MOST_FILES]; /* of all results; 0: not yet known */
    uint32_t n;
    atomic_uint next, drifted, ran, failed;
    char folder[40];
} all;

/* -- sums -----------------------------------------------------------------*/

static void add_bytes(uint64_t *sum, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ p[i]) * UINT64_C(1099511628211);
}

static void add_status(uint64_t *sum, clv_status s, const clv_err *e)
{
    add_bytes(sum, &s, sizeof s);
    if (s != CLV_OK)
        add_bytes(sum, e->msg, strlen(e->msg));
    atomic_fetch_add(&all.failed, s != CLV_OK);
}

static void add_text(uint64_t *sum, clv_buf *text)
{
    if (text->text)
        add_bytes(sum, text->text, text->len);
    clv_buf_free(text);
}

/* -- what is done with a file ---------------------------------------------*/

static const clv_report_opts json = {.size = sizeof json,
                                     .format = CLV_REPORT_JSON};

static clv_status cut_one(const clv_profile *p, uint32_t which, clv_cut **c,
                          clv_err *e)
{
    const clv_pipeline_opts stages = {.size = sizeof stages, .stages = 3};
    clv_placement_opts place = {.size = sizeof place};
    clv_status s = CLV_OK;
    switch (which % 5) {
    case 0:
        return clv_cut_op(p, c, e);
    case 1:
        return clv_cut_fusion(p, NULL, c, e);
    case 2:
        return clv_cut_modules(p, 1, c, e);
    case 3:
        return clv_cut_pipeline(p, &stages, c, e);
    default:
        s = clv_device_find("i7-12700k", &place.host, e);
        if (s == CLV_OK)
            s = clv_device_find("t4", &place.accelerator, e);
        return s == CLV_OK ? clv_cut_placement(p, &place, c, e) : s;
    }
}

static void do_cut(const clv_profile *p, uint32_t which, uint64_t *sum)
{
    clv_cut *c = NULL;
    clv_memory *m = NULL;
    clv_summary *total = NULL;
    clv_buf text = {0};
    clv_err e = {0};
    clv_status s = cut_one(p, which, &c, &e);
    add_status(sum, s, &e);
    if (s == CLV_OK && clv_summary_new(c, &total, &e) == CLV_OK)
        clv_report_partition(c, total, &json, &text);
    if (s == CLV_OK && clv_memory_new(c, NULL, &m, &e) == CLV_OK)
        clv_report_memory(m, &json, &text);
    add_text(sum, &text);
    clv_memory_free(m);
    clv_summary_free(total);
    clv_cut_free(c);
}

/* Whether a run takes little time and memory. */
static bool is_small(const clv_graph *g, const clv_profile *p)
{
    const clv_totals *t = clv_profile_totals(p);
    bool small = t->flops < LARGE && t->memory < LARGE;
    for (uint32_t v = 0; v < clv_graph_num_values(g) && small; v++) {
        clv_value_info value = clv_graph_value(g, v);
        int64_t n = 1;
        for (uint32_t i = 0; value.dims && i < value.rank && n < LARGE; i++)
            n = value.dims[i] < LARGE ? n * value.dims[i] : LARGE;
        small = n < LARGE;
    }
    return small;
}

/* Are the numbers of a node drawn at random? */
static bool draws(const clv_graph *g)
{
    for (uint32_t i = 0; i < clv_graph_num_nodes(g); i++) {
        const char *op = clv_graph_node(g, i).op;
        if (strstr(op, "random") || strstr(op, "dropout") ||
            strstr(op, "bernoulli") || strstr(op, "multinomial"))
            return true;
    }
    return false;
}

static void do_run(const clv_graph *g, const char *backend, uint64_t *sum)
{
    clv_backend *b = NULL;
    clv_model_opts o = {.size = sizeof o, .threads = 1, .memory = 64 << 20};
    random_inputs in = {0};
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_err e = {0};
    uint32_t n;
    clv_status s = backend ? clv_backend_open(backend, NULL, &b, &e) : CLV_OK;
    o.backend = b;
    if (s == CLV_OK)
        s = clv_model_new(g, &o, &m, &e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &e);
    if (s == CLV_OK)
        s = random_inputs_give(&in, g, c);
    if (s == CLV_OK)
        s = clv_context_run(c, &e);
    clv_graph_outputs(g, &n);
    for (uint32_t i = 0; s == CLV_OK && i < n; i++) {
        const clv_tensor *t = clv_context_output(c, i);
        if (t->form == CLV_FORM_TENSOR && t->dtype != CLV_STRING && t->data)
            add_bytes(sum, t->data,
                      (size_t)clv_dtype_bytes(t->dtype, clv_tensor_numel(t)));
    }
    atomic_fetch_add(&all.ran, s == CLV_OK);
    add_status(sum, s, &e);
    clv_context_free(c);
    clv_model_free(m);
    clv_backend_free(b);
    random_inputs_free(&in);
}

static void do_export(const clv_graph *g, uint32_t turn, uint64_t *sum)
{
    char path[100];
    clv_err e = {0};
    clv_graph *again = NULL;
    snprintf(path, sizeof path, "%s/%u.onnx", all.folder, turn);
    clv_status s = clv_export_onnx(g, path, NULL, &e);
    if (s == CLV_OK)
        s = clv_graph_open(path, NULL, &again, NULL);
    add_bytes(sum, &s, sizeof s);
    clv_graph_free(again);
    unlink(path);
}

static uint64_t do_file(uint32_t i, uint32_t turn)
{
    const clv_limits limits = {.size = sizeof limits,
                               .max_memory = 256 << 20,
                               .max_trips = 200,
                               .max_growth = 1 << 20};
    uint64_t sum = UINT64_C(1469598103934665603);
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_buf text = {0};
    clv_err e = {0};
    if (clv_limits_set(&limits, &e) != CLV_OK)
        return 0;
    clv_status s = clv_graph_open(all.path[i], NULL, &g, &e);
    add_status(&sum, s, &e);
    if (s == CLV_OK) {
        s = clv_profile_new(g, NULL, &p, &e);
        add_status(&sum, s, &e);
    }
    if (s == CLV_OK) {
        clv_report_profile(p, &json, &text);
        add_text(&sum, &text);
        do_cut(p, i, &sum);
        do_export(g, turn, &sum);
        if (is_small(g, p) && !draws(g)) {
            do_run(g, NULL, &sum);
            if (!SANITIZED)
                do_run(g, "onednn", &sum);
        }
    }
    clv_profile_free(p);
    clv_graph_free(g);
    (void)!clv_limits_set(NULL, NULL);
    return sum ? sum : 1;
}

static void *work(void *unused)
{
    (void)unused;
    for (uint32_t k; (k = atomic_fetch_add(&all.next, 1)) < all.n;) {
        uint64_t before = 0, sum = do_file(k, k);
        if (!atomic_compare_exchange_strong(&all.sum[k], &before, sum) &&
            before != sum) {
            atomic_fetch_add(&all.drifted, 1);
            printf("FAIL %s: other results than before\n", all.path[k]);
        }
    }
    return NULL;
}

/* -- files ----------------------------------------------------------------*/

static void add_files(const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                add_files(path);
            else if (strstr(path, ".onnx") && st.st_size <= LARGEST &&
                     all.n < MOST_FILES)
                all.path[all.n++] = strdup(path);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Keeps so many of the files, evenly spread. */
static void keep_some(uint32_t most)
{
    uint32_t n = all.n, kept = n < most ? n : most, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if ((uint64_t)i * kept / n == at && at < kept)
            all.path[at++] = all.path[i];
        else
            free(all.path[i]);
    }
    all.n = at;
}

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, LARGEST, f) : 0;
    if (f)
        fclose(f);
    return n;
}

/* Mutated copies of the first n files, until there are `most`. */
static void add_mutated(uint32_t n, uint32_t most)
{
    static uint8_t a[LARGEST], b[LARGEST], out[2 * LARGEST];
    for (uint32_t i = 0; all.n < most; i++) {
        char path[100];
        uint32_t from = i % n, other = (uint32_t)((i * 7919u + 13) % n);
        size_t size = read_file(all.path[from], a);
        size_t more = read_file(all.path[other], b);
        size_t got = onnx_mutate(a, size, b, more, out, sizeof out, i);
        snprintf(path, sizeof path, "%s/m%u.onnx", all.folder, i);
        FILE *f = fopen(path, "wb");
        CHECK_OR_RETURN(f && fwrite(out, 1, got, f) == got);
        fclose(f);
        all.path[all.n++] = strdup(path);
    }
}

/* -- memory ---------------------------------------------------------------*/

typedef struct held {
    double heap, resident; /* MB */
} held;

static held memory_held(void)
{
    long pages = 0, total = 0;
    malloc_trim(0);
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    size_t heap = 0;
#else
    struct mallinfo2 m = mallinfo2();
    size_t heap = m.uordblks + m.hblkhd;
#endif
    return (held){(double)heap / (1 << 20),
                  (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20)};
}

static held one_round(void)
{
    pthread_t threads[THREADS];
    uint32_t n = 0;
    atomic_store(&all.next, 0);
    while (n < THREADS && pthread_create(&threads[n], NULL, work, NULL) == 0)
        n++;
    CHECK(n == THREADS);
    for (uint32_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return memory_held();
}

static void soak(void)
{
    mallopt(M_ARENA_MAX, 2); /* gaps in those of 24 threads are no growth */
    const char *wish = getenv("CLEAVE_SOAK"); /* files,rounds */
    long files = 300, rounds = 3;
    if (wish && sscanf(wish, "%ld,%ld", &files, &rounds) < 1)
        files = 300;
    CHECK_OR_RETURN(files > 1 && files <= MOST_FILES);
    snprintf(all.folder, sizeof all.folder, "/tmp/cleave-soak-XXXXXX");
    CHECK_OR_RETURN(mkdtemp(all.folder) != NULL);
    add_files("tests/data");
    CHECK_OR_RETURN(all.n > 0);
    keep_some((uint32_t)files / 2);
    uint32_t plain = all.n;
    add_mutated(plain, (uint32_t)files);
    held first = {0}, last = {0};
    for (long r = 0; r < rounds; r++) {
        last = one_round();
        if (r == 1)
            first = last; /* the first fills caches and arenas of threads */
        printf("round %ld: heap %.2f MB, resident %.1f MB\n", r + 1, last.heap,
               last.resident);
        fflush(stdout);
    }
    printf("%u files (%u of them mutated) %ld times by %d threads: %u runs, %u "
           "refusals, %u drifted\n",
           all.n, all.n - plain, rounds, THREADS, all.ran, all.failed,
           all.drifted);
    CHECK_EQ_INT(all.drifted, 0);
    CHECK(all.ran > all.n / 10);
    if (rounds > 2 && !SANITIZED) {
        CHECK(last.heap < first.heap + 0.5);
        CHECK(last.resident < first.resident * 1.05 + 4);
    }
    char line[100];
    snprintf(line, sizeof line, "rm -rf %s", all.folder);
    CHECK(system(line) == 0);
    for (uint32_t i = 0; i < all.n; i++)
        free(all.path[i]);
}

static const check_case cases[] = {{"soak", soak}};
CHECK_MAIN(cases)

/* test_run_soak.c - the same models again and again in one process: no growth,
 * and no bit that drifts.
 *
 * Models of the zoo, at small sizes, are opened, compiled, run some times and
 * freed, in rounds, by our own kernels and by oneDNN. What a model gives must
 * have the same bits in each run and each round, and the process must not hold
 * more after the last round than after the second. `make test` takes a few;
 * CLEAVE_RUN_SOAK=RUNS takes all that are small enough, for so many runs.
 *
 * timeout: 3000
 * builds: plain: what sanitizers keep back looks like growth */
#include "check.h"
#include "cleave.h"
#include "random_inputs.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST = 600, /* models */
    RUNS = 3,
    LONG_RUNS = 15,  /* in the long form */
    CONTEXTS = 1000, /* made and freed */
    SLACK = 8 << 20, /* bytes that a process may vary by */
    FEW = 6,         /* models in the short form, all small */
    SHORT_ROUNDS = 3,
};

static double largest_params = 12e6, largest_macs = 300e6;
static const double SHORT_PARAMS = 3e6;

typedef struct entry {
    const char *name, *backend; /* NULL: our own kernels */
    int64_t size;               /* of an image; 0: the model's own input */
    uint64_t sum;               /* of its outputs; 0: not yet known */
} entry;

static entry all[MOST];
static uint32_t n_all, n_runs, n_drifted;
static int runs_each = RUNS; /* of a model in a round */

/* -- one model ------------------------------------------------------------*/

static clv_status soak_open(const entry *m, clv_graph **g)
{
    const int64_t dims[] = {1, 3, m->size, m->size};
    const clv_shape_arg shape = {.dims = dims, .rank = 4};
    const clv_open_opts o = {
        .size = sizeof o, .shapes = &shape, .n_shapes = m->size ? 1 : 0};
    return clv_graph_open(m->name, &o, g, NULL);
}

static uint64_t soak_sum(const clv_context *c, const clv_graph *g)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    uint32_t n;
    (void)clv_graph_outputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        const clv_tensor *t = clv_context_output(c, i);
        const uint8_t *p = t->data;
        for (int64_t k = 0, bytes = clv_tensor_bytes(t); k < bytes; k++)
            sum = (sum ^ p[k]) * UINT64_C(1099511628211);
    }
    return sum | 1;
}

static void soak_run(entry *m, const clv_graph *g, clv_context *c)
{
    for (int i = 0; i < runs_each; i++) {
        if (!CHECK(clv_context_run(c, NULL) == CLV_OK))
            return;
        uint64_t sum = soak_sum(c, g);
        m->sum = m->sum ? m->sum : sum;
        n_runs++;
        if (m->sum == sum)
            continue;
        n_drifted++;
        check_that(0, __FILE__, __LINE__, "%s %s: other bits in run %u",
                   m->name, m->backend ? m->backend : "cpu", n_runs);
    }
}

static void soak_one(entry *m)
{
    clv_graph *g = NULL;
    clv_backend *b = NULL;
    clv_model *model = NULL;
    clv_context *c = NULL;
    random_inputs in = {0};
    clv_err e = {0};
    clv_model_opts o = {.size = sizeof o, .threads = 2};
    if (m->backend && clv_backend_open(m->backend, NULL, &b, &e) != CLV_OK)
        return;
    o.backend = b;
    bool ok = soak_open(m, &g) == CLV_OK &&
              clv_model_new(g, &o, &model, &e) == CLV_OK &&
              clv_context_new(model, &c, &e) == CLV_OK &&
              random_inputs_give(&in, g, c) == CLV_OK;
    if (check_that(ok, __FILE__, __LINE__, "%s: %s", m->name, e.msg))
        soak_run(m, g, c);
    random_inputs_free(&in);
    clv_context_free(c);
    clv_model_free(model);
    clv_backend_free(b);
    clv_graph_free(g);
}

/* -- which ----------------------------------------------------------------*/

static void soak_add(const char *name, int64_t size, bool onednn)
{
    entry m = {.name = name, .size = size};
    clv_graph *g;
    clv_profile *p = NULL;
    if (soak_open(&m, &g) != CLV_OK)
        return; /* too small an image for it */
    if (clv_profile_new(g, NULL, &p, NULL) == CLV_OK) {
        const clv_totals *t = clv_profile_totals(p);
        if ((double)t->params < largest_params &&
            (double)t->macs < largest_macs && n_all + 2 <= MOST) {
            all[n_all++] = m;
            m.backend = "onednn";
            if (onednn)
                all[n_all++] = m;
        }
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

static void soak_choose(bool whole)
{
    static const int64_t sizes[] = {64, 96, 128, 0};
    const clv_zoo_model *m;
    clv_backend *b = NULL;
    bool onednn = clv_backend_open("onednn", NULL, &b, NULL) == CLV_OK;
    clv_backend_free(b);
    if (!onednn)
        printf("SKIP oneDNN is not installed\n");
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            if (whole || (k == 0 && n_all < FEW))
                soak_add(m->name, sizes[k], onednn);
}

/* -- memory ---------------------------------------------------------------*/

static int64_t soak_held(void)
{
    long pages = 0;
    malloc_trim(0);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void rounds(void)
{
    const char *wish = getenv("CLEAVE_RUN_SOAK");
    uint32_t runs = wish ? (uint32_t)strtoul(wish, NULL, 10) : 0;
    int64_t second = 0, last = 0;
    largest_params = runs ? largest_params : SHORT_PARAMS;
    runs_each = runs ? LONG_RUNS : RUNS;
    soak_choose(runs > 0);
    CHECK_OR_RETURN(n_all > 0);
    uint32_t turns = runs ? runs / (n_all * LONG_RUNS) + 1 : SHORT_ROUNDS;
    for (uint32_t r = 0; r < turns; r++) {
        for (uint32_t i = 0; i < n_all; i++)
            soak_one(&all[i]);
        last = soak_held();
        second = r == 1 ? last : second;
        if (runs)
            printf("# round %u of %u: %u runs of %u models, %.1f MB held\n",
                   r + 1, turns, n_runs, n_all, (double)last / 1e6),
                fflush(stdout);
    }
    CHECK_EQ_INT(n_drifted, 0);
    if (second)
        CHECK(last <= second + SLACK);
}

static void contexts(void)
{
    entry m = {.name = "mobilenet_v3_small", .size = 64};
    clv_graph *g = NULL;
    clv_model *model = NULL;
    int64_t early = 0;
    clv_model_opts o = {.size = sizeof o, .threads = 2};
    CHECK_OR_RETURN(soak_open(&m, &g) == CLV_OK &&
                    clv_model_new(g, &o, &model, NULL) == CLV_OK);
    for (int i = 0; i < CONTEXTS; i++) {
        clv_context *c = NULL;
        random_inputs in = {0};
        if (CHECK(clv_context_new(model, &c, NULL) == CLV_OK &&
                  random_inputs_give(&in, g, c) == CLV_OK) &&
            i % 100 == 0)
            CHECK(clv_context_run(c, NULL) == CLV_OK);
        random_inputs_free(&in);
        clv_context_free(c);
        early = i == CONTEXTS / 10 ? soak_held() : early;
    }
    CHECK(soak_held() <= early + SLACK / 4);
    clv_model_free(model);
    clv_graph_free(g);
}

static const check_case cases[] = {{"rounds of models", rounds},
                                   {"a thousand contexts", contexts}};
CHECK_MAIN(cases)

/* test_support.c - what a backend says it supports is what it runs.
 *
 * Every operator configuration (operator, types, shapes, attributes) of every
 * model of the zoo becomes a graph of one node. A backend that says yes must
 * compile and run it, on the device and without a note; one that says no must
 * fail to compile it, for the reason it gave. oneDNN is asked at full size.
 * Plain C is slow: there, configurations that differ in shape only are one, and
 * the cheapest stands for them.
 *
 * The zoo has tens of thousands of configurations: a sample is spread evenly
 * over them, and the largest products are left out. CLEAVE_TEST_ALL runs all.
 */
#include "check.h"
#include "cleave.h"
#include "cut/cut.h"
#include "run/run.h"

#include <stdlib.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { SAMPLE = 200 };
#else
enum { SAMPLE = 1200 };
#endif

enum { MODELS_MAX = 2048, CONFIGS_MAX = 1 << 18 };
#define SLOW_MACS_PLAIN  100000000LL
#define SLOW_MACS_ONEDNN 2000000000LL

/* -- the configurations of the zoo ----------------------------------------*/

typedef struct config {
    uint32_t model, node;
    int64_t macs;
} config;

static struct zoo {
    clv_graph *g[MODELS_MAX];
    clv_profile *p[MODELS_MAX];
    clv_cut *cut[MODELS_MAX]; /* each operator by itself */
    uint32_t n;
} zoo;

static void open_zoo(void)
{
    const clv_zoo_model *m;
    CHECK_OR_RETURN(!clv_zoo_at(MODELS_MAX));
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++, zoo.n++)
        CHECK_OR_RETURN(
            clv_graph_open(m->name, NULL, &zoo.g[i], NULL) == CLV_OK &&
            clv_profile_new(zoo.g[i], NULL, &zoo.p[i], NULL) == CLV_OK &&
            clv_cut_op(zoo.p[i], &zoo.cut[i], NULL) == CLV_OK);
}

static void close_zoo(void)
{
    for (uint32_t i = 0; i < zoo.n; i++) {
        clv_cut_free(zoo.cut[i]);
        clv_profile_free(zoo.p[i]);
        clv_graph_free(zoo.g[i]);
    }
    memset(&zoo, 0, sizeof zoo);
}

/* The question as a key; without shapes, only their ranks are left of them. */
static void key_of(const clv_graph *g, uint32_t node, bool shapes, clv_buf *key)
{
    bool inside = false;
    size_t n = 0;
    key->len = 0;
    clv__query(g, node, key);
    for (size_t i = 0; i < key->len && !shapes; i++) {
        char c = key->text[i];
        if (c == '[')
            inside = n > 8 && !memcmp(key->text + n - 8, "\"shape\":", 8);
        inside = inside && c != ']';
        if (!inside || c < '0' || c > '9')
            key->text[n++] = c;
    }
    key->len = shapes ? key->len : n;
    key->text[key->len] = '\0';
}

/* One of each configuration, the cheapest; returns how many. */
static uint32_t collect(bool shapes, config *out)
{
    strmap seen = {0};
    arena names = {0};
    clv_buf key = {0};
    uint32_t n = 0;
    for (uint32_t m = 0; m < zoo.n; m++)
        for (uint32_t i = 0; i < zoo.g[m]->n_nodes && n < CONFIGS_MAX; i++) {
            const config c = {m, i, zoo.p[m]->layers[i].cost.macs};
            key_of(zoo.g[m], i, shapes, &key);
            uint32_t at = strmap_get(&seen, key.text, key.len);
            if (at == CLV_NONE) {
                const char *own = arena_strndup(&names, key.text, key.len);
                CHECK(own && strmap_put(&seen, own, key.len, n));
                out[n++] = c;
            } else if (c.macs < out[at].macs) {
                out[at] = c;
            }
        }
    clv_buf_free(&key);
    strmap_free(&seen);
    arena_free(&names);
    return n;
}

/* -- one node -------------------------------------------------------------*/

/* Runs it once, on inputs of zeros. *away: the part ran, or was noted, as one
 * for the CPU. */
static clv_status run_node(const clv_graph *g, clv_backend *b, bool *away,
                           clv_err *e)
{
    clv_tensor in[64] = {{0}};
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_support *all = NULL; /* views too: they may run on either side */
    clv_model_opts o = {.size = sizeof o, .backend = b, .threads = 1};
    clv_status s = CLV_OK;
    if (b && (s = clv_support_new(b, g, &all, e)) == CLV_OK)
        s = clv_support_force_nodes(all, "*", CLV_SIDE_ACCELERATOR, e);
    o.support = all;
    if (s == CLV_OK)
        s = clv_model_new(g, &o, &m, e);
    if (s == CLV_OK && b) {
        const clv_model_info *i = clv_model_get(m);
        *away = i->n_notes || i->n_parts != 1 ||
                strcmp(i->parts[0].device, clv_backend_name(b)) != 0;
        s = clv_context_new(m, &c, e);
    }
    for (uint32_t i = 0; i < g->n_inputs && i < 64 && s == CLV_OK; i++) {
        const clv_value *v = &g->values[g->inputs[i]];
        in[i] = (clv_tensor){.dtype = (clv_dtype)v->dtype, .rank = v->rank};
        memcpy(in[i].dims, v->dims, v->rank * sizeof *in[i].dims);
        s = clv_tensor_alloc(&in[i], e);
        if (s == CLV_OK)
            s = clv_context_set(c, i, &in[i], e);
    }
    if (s == CLV_OK)
        s = clv_context_run(c, e);
    for (uint32_t i = 0; i < g->n_inputs && i < 64; i++)
        clv_tensor_free(&in[i]);
    clv_context_free(c);
    clv_model_free(m);
    clv_support_free(all);
    return s;
}

/* Compiling it alone, past the question. */
static clv_status compile_node(const clv_graph *g, clv_backend *b, clv_err *e)
{
    weight_store *w = NULL;
    clv_exec *x = NULL;
    const uint32_t node = 0;
    const clv_model_opts opts = {.size = sizeof opts, .seed = 1};
    CLV_TRY(clv__weights_new(g, &opts, NULL, &w, e));
    const clv_subject s = {.g = g,
                           .nodes = &node,
                           .outputs = g->outputs,
                           .n_nodes = 1,
                           .n_outputs = g->n_outputs,
                           .tensor = clv__weights_of(w, g)};
    clv_status st = b->type->compile(b, &s, &x, e);
    if (x)
        b->type->release(x);
    clv__weights_free(w);
    return st;
}

static struct {
    uint32_t yes, no, idle, slow;
} count;

static bool nothing_to_do(const clv_graph *g)
{
    const clv_node *n = &g->nodes[0];
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_payload *d = node_out(g, n, i)->data;
        if (!d || (!d->ints && !d->floats))
            return false;
    }
    return true;
}

static void check_config(const config *at, clv_backend *b)
{
    clv_graph *g = NULL;
    clv_err e = {0};
    clv_why why = {""};
    bool away = false;
    CHECK_OR_RETURN(clv__cut_extract(zoo.cut[at->model],
                                     zoo.cut[at->model]->of[at->node], &g,
                                     &e) == CLV_OK);
    const char *model = clv_graph_name(g), *node = g->nodes[0].name;
    if (nothing_to_do(g)) {
        count.idle++;
    } else if (b->type->supports(b, g, 0, &why) == CLV_YES) {
        count.yes++;
        clv_status s = run_node(g, b, &away, &e);
        check_that(s == CLV_OK && (!away || !b->type->compile), __FILE__,
                   __LINE__, "%s '%s' is supported, but: %s", model, node,
                   s == CLV_OK ? "it ran on the CPU" : e.msg);
    } else {
        count.no++;
        check_that(*why.text, __FILE__, __LINE__, "%s '%s': no reason", model,
                   node);
        clv_status s = b->type->compile ? compile_node(g, b, &e)
                                        : run_node(g, NULL, &away, &e);
        bool slow = strstr(why.text, "no code for this machine");
        check_that(slow || (s != CLV_OK && strstr(e.msg, why.text)), __FILE__,
                   __LINE__, "%s '%s' is refused (%s), but: %s", model, node,
                   why.text, s == CLV_OK ? "it compiles" : e.msg);
    }
    clv_graph_free(g);
}

/* -- backends -------------------------------------------------------------*/

static void check_backend(const char *name, bool shapes)
{
    config *list = calloc(CONFIGS_MAX, sizeof *list);
    clv_backend *b = NULL;
    clv_err e;
    if (clv_backend_open(name, NULL, &b, &e) != CLV_OK) {
        check_skip("the backend is not installed");
        free(list);
        return;
    }
    open_zoo();
    uint32_t n = collect(shapes, list);
    memset(&count, 0, sizeof count);
    bool all = getenv("CLEAVE_TEST_ALL");
    uint32_t every = all || n <= SAMPLE ? 1 : n / SAMPLE;
    int64_t slow = b->type->compile ? SLOW_MACS_ONEDNN : SLOW_MACS_PLAIN;
    for (uint32_t i = 0; i < n; i += every)
        if (all || list[i].macs <= slow)
            check_config(&list[i], b);
        else
            count.slow++;
    printf("%s: every %u of %u configurations of %u models: %u run, %u "
           "refused, %u known without running, %u too slow for a test\n",
           name, every, n, zoo.n, count.yes, count.no, count.idle, count.slow);
    CHECK(count.yes > 0);
    close_zoo();
    clv_backend_free(b);
    free(list);
}

static void onednn_runs_what_it_says(void)
{
    check_backend("onednn", true);
}

static void ref_runs_what_it_says(void)
{
    check_backend("ref", false);
}

static const check_case cases[] = {
    {"onednn_runs_what_it_says", onednn_runs_what_it_says},
    {"ref_runs_what_it_says", ref_runs_what_it_says},
};
CHECK_MAIN(cases)

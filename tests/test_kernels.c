/* test_kernels.c - plain C kernels, and oneDNN, against PyTorch.
 *
 * tests/data/kernels.txt, written by tests/gen/kernel_cases.py, has one block
 * per case: an operator, inputs with contents, and what PyTorch gives. A number
 * agrees within 1e-4 of its size, or 1e-5; an integer agrees exactly. Cases of
 * integers that no double holds are in kernels_int64.txt (kernel_int64.py);
 * what inference already knows of their results is compared too. Each kernel
 * runs again while memory runs out. */
#include "backend/kernel.h"
#include "cleave.h"
#include "ops_case.h"
#include "starve.h"

/* The tensor that a value's contents make; data from the graph's memory. */
static clv_tensor tensor_of(const clv_value *v)
{
    clv_tensor t = {.dtype = (clv_dtype)v->dtype, .rank = v->rank};
    if (v->rank)
        memcpy(t.dims, v->dims, v->rank * sizeof *t.dims);
    t.data = arena_array(&graph->mem, (size_t)clv_tensor_bytes(&t) + 8, 1);
    for (uint32_t i = 0; v->data && i < v->data->n; i++)
        if (v->data->floats && is_float8(t.dtype))
            put_float8(&t, i, v->data->floats[i], false);
        else if (v->data->floats)
            put_f(&t, i, v->data->floats[i]);
        else
            put_i(&t, i, v->data->ints[i]);
    return t;
}

static void compare(const clv_tensor *got, const clv_tensor *want)
{
    int64_t n = clv_tensor_numel(want);
    CHECK(got->dtype == want->dtype);
    if (!CHECK(got->rank == want->rank) ||
        !CHECK(!memcmp(got->dims, want->dims, got->rank * sizeof *got->dims)))
        return;
    for (int64_t i = 0; i < n; i++) {
        double a = get_f(got, i), b = get_f(want, i);
        if (dtype_is_integral(want->dtype) &&
            !CHECK_EQ_INT(get_i(got, i), get_i(want, i)))
            return;
        bool same = isnan(b) ? isnan(a) : a == b;
        if (!CHECK(same || fabs(a - b) <= 1e-5 + 1e-4 * fabs(b)))
            return;
    }
}

/* The kernel once more, with scratch of its own. */
static clv_status run_again(void *ctx, clv_err *e)
{
    kernel k = *(const kernel *)ctx;
    arena scratch = {0};
    k.scratch = &scratch;
    k.e = e;
    clv_status s = clv__kernel_of((clv_op)k.n->op)(&k);
    arena_free(&scratch);
    return s;
}

static void run_node(block *b, arena *scratch)
{
    clv_err e = {0};
    const clv_node *n = &graph->nodes[0];
    clv_tensor in[MOST], out[MOST], want[MOST], folded[MOST];
    const clv_tensor *ins[MOST];
    clv_kernel_fn *fn = clv__kernel_of((clv_op)n->op);
    CHECK_OR_RETURN(fn != NULL);
    CHECK_OR_RETURN(clv__infer_node(graph, 0, &e) == CLV_OK);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(graph, n, i);
        if (v)
            in[i] = tensor_of(v);
        ins[i] = v ? &in[i] : NULL;
    }
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *v = node_out(graph, n, o);
        out[o] = tensor_of(v);
        folded[o] = (clv_tensor){0};
        if (v->data && v->data->n)
            folded[o] = tensor_of(v);
    }
    kernel k = {.g = graph,
                .n = n,
                .in = ins,
                .out = out,
                .scratch = scratch,
                .e = &e,
                .kept = scratch,
                .threads = 1};
    CHECK_OR_RETURN(fn(&k) == CLV_OK);
    const char *s = b->out;
    for (uint32_t o = 0; o < k.n->n_out; o++, s += *s == ' ') {
        uint32_t v = read_value(&s); /* the nodes stay where they are */
        CHECK_OR_RETURN(v != CLV_NONE);
        want[o] = tensor_of(&graph->values[v]);
        compare(&out[o], &want[o]);
        if (folded[o].data)
            compare(&folded[o], &want[o]);
    }
    starve(run_again, &k, 1);
}

static void one_case(block *b)
{
    static char name[120];
    arena scratch = {0};
    snprintf(name, sizeof name, "%.110s", b->op);
    check_row(name);
    CHECK_OR_RETURN(clv_graph_new("case", &graph, NULL) == CLV_OK);
    if (build(b))
        run_node(b, &scratch);
    arena_free(&scratch);
    clv_graph_free(graph);
}

/* -- the same through a backend -------------------------------------------*/

static clv_backend *backend;

/* The case as a model of one node that the backend may take. What comes out
 * must be what PyTorch gives, whoever ran it. */
static void run_model(block *b)
{
    clv_model_opts o = {.size = sizeof o, .backend = backend, .threads = 1};
    clv_model *m = NULL;
    clv_context *c = NULL;
    const clv_node *n = &graph->nodes[0];
    uint32_t n_in = n->n_in, n_out = n->n_out;
    clv_tensor in[MOST];
    for (uint32_t i = 0; i < n_in; i++)
        if (node_in(graph, n, i)) {
            in[i] = tensor_of(node_in(graph, n, i));
            node_in(graph, n, i)->data = NULL; /* nothing is folded away */
        }
    for (uint32_t i = graph->n_outputs; i < n_out; i++)
        CHECK(clv_graph_add_output(graph, node_outs(graph, n)[i], NULL) ==
              CLV_OK);
    if (clv_graph_infer(graph, NULL) != CLV_OK)
        return; /* needs the contents of an input */
    if (clv_model_new(graph, &o, &m, NULL) != CLV_OK)
        return; /* its shape depends on data, or a type is not run */
    bool ok = CHECK(clv_context_new(m, &c, NULL) == CLV_OK);
    n = &graph->nodes[0];
    for (uint32_t i = 0, k = 0; ok && i < n_in; i++)
        if (node_in(graph, n, i))
            ok = CHECK(clv_context_set(c, k++, &in[i], NULL) == CLV_OK);
    if (ok && clv_context_run(c, NULL) == CLV_OK) {
        const char *s = b->out;
        clv_graph *whole = graph;
        CHECK(clv_graph_new("wanted", &graph, NULL) == CLV_OK);
        for (uint32_t o_at = 0; o_at < n_out; o_at++, s += *s == ' ') {
            uint32_t v = read_value(&s);
            clv_tensor want = tensor_of(&graph->values[v]);
            compare(clv_context_output(c, o_at), &want);
        }
        clv_graph_free(graph);
        graph = whole;
    }
    clv_context_free(c);
    clv_model_free(m);
}

static void backend_case(block *b)
{
    static char name[120];
    snprintf(name, sizeof name, "%.90s on %s", b->op,
             clv_backend_name(backend));
    check_row(name);
    CHECK_OR_RETURN(clv_graph_new("case", &graph, NULL) == CLV_OK);
    if (build(b))
        run_model(b);
    clv_graph_free(graph);
}

static void onednn(void)
{
    if (clv_backend_open("onednn", NULL, &backend, NULL) != CLV_OK) {
        check_skip("oneDNN is not installed");
        return;
    }
    for_each_case("tests/data/kernels.txt", backend_case);
    clv_backend_free(backend);
}

static void cpu(void)
{
    CHECK_OR_RETURN(clv_backend_open("cpu", NULL, &backend, NULL) == CLV_OK);
    for_each_case("tests/data/kernels.txt", backend_case);
    for_each_case("tests/data/kernels_int64.txt", backend_case);
    clv_backend_free(backend);
}

static void pytorch(void)
{
    for_each_case("tests/data/kernels.txt", one_case);
}

static void wide_integers(void)
{
    for_each_case("tests/data/kernels_int64.txt", one_case);
}

static void small_floats(void)
{
    for_each_case("tests/data/kernels_casts.txt", one_case);
}

static const check_case cases[] = {{"pytorch", pytorch},
                                   {"onednn", onednn},
                                   {"cpu", cpu},
                                   {"integers beyond 2^53", wide_integers},
                                   {"floats of 8 bits", small_floats}};
CHECK_MAIN(cases)

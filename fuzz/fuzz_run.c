/* fuzz_run.c - any bytes as an ONNX model that is run by the plain C kernels,
 * on seeded inputs. What is large, or may loop without end, is left out. */
#include "cleave.h"
#include "formats/formats.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers in all values together, and operations on them. */
enum { LARGE = 1 << 20 };

static bool is_small(const clv_graph *g)
{
    clv_profile *p = NULL;
    if (clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return false;
    const clv_totals *t = clv_profile_totals(p);
    bool small = t->flops < LARGE && t->memory < LARGE;
    clv_profile_free(p);
    for (uint32_t i = 0; i < clv_graph_num_nodes(g) && small; i++)
        small = strcmp(clv_graph_node(g, i).op, "loop") != 0;
    for (uint32_t v = 0; v < clv_graph_num_values(g) && small; v++) {
        clv_value_info value = clv_graph_value(g, v);
        int64_t n = 1;
        for (uint32_t i = 0; value.dims && i < value.rank && n < LARGE; i++)
            n = value.dims[i] < LARGE ? n * value.dims[i] : LARGE;
        small = n < LARGE;
    }
    return small;
}

static clv_status give(const clv_graph *g, clv_context *c, clv_tensor *inputs,
                       uint32_t n)
{
    const uint32_t *ids = clv_graph_inputs(g, NULL);
    for (uint32_t i = 0; i < n; i++) {
        clv_value_info v = clv_graph_value(g, ids[i]);
        clv_tensor *t = &inputs[i];
        t->dtype = v.dtype;
        t->rank = v.rank;
        if (v.rank > CLV_MAX_RANK)
            return CLV_SHAPE;
        if (v.rank)
            memcpy(t->dims, v.dims, v.rank * sizeof *t->dims);
        clv_status s = clv_tensor_alloc(t, NULL);
        if (s != CLV_OK)
            return s;
        clv_tensor_random(t, i);
        s = clv_context_set(c, i, t, NULL);
        if (s != CLV_OK)
            return s;
    }
    return CLV_OK;
}

static void run(const clv_graph *g)
{
    enum { INPUTS = 16 };
    const clv_model_opts opts = {
        .size = sizeof opts, .threads = 1, .memory = 64 << 20};
    clv_tensor inputs[INPUTS] = {0};
    clv_model *m = NULL;
    clv_context *c = NULL;
    uint32_t n;
    clv_graph_inputs(g, &n);
    if (n <= INPUTS && clv_model_new(g, &opts, &m, NULL) == CLV_OK &&
        clv_context_new(m, &c, NULL) == CLV_OK &&
        give(g, c, inputs, n) == CLV_OK && clv_context_run(c, NULL) != CLV_OK)
        n = INPUTS; /* a failure is as good */
    for (uint32_t i = 0; i < INPUTS; i++)
        clv_tensor_free(&inputs[i]);
    clv_context_free(c);
    clv_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    clv_graph *g;
    if (clv__onnx_load(map, "fuzz.onnx", NULL, &g, NULL) != CLV_OK)
        return 0;
    if (is_small(g))
        run(g);
    clv_graph_free(g);
    return 0;
}

/* fuzz_onednn.c - any bytes as an ONNX model that oneDNN is asked about and
 * compiles. Tensors may be of any size that fits into memory, but weights,
 * which are laid out anew, are few. It is not run. */
#include "fuzz.h"

static bool has_few_weights(const clv_graph *g)
{
    clv_profile *p;
    if (clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return false;
    bool few = clv_profile_totals(p)->weight_bytes < 1 << 20;
    clv_profile_free(p);
    return few;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const clv_limits limits = {
        .size = sizeof limits, .max_seconds = 4, .max_memory = 256 << 20};
    clv_graph *g = fuzz_load(data, size);
    clv_model_opts opts = {.size = sizeof opts,
                           .backend = fuzz_onednn(),
                           .threads = 1,
                           .memory = 64 << 20};
    clv_model *m = NULL;
    if (g && opts.backend && has_few_weights(g) &&
        clv_limits_set(&limits, NULL) == CLV_OK &&
        clv_model_new(g, &opts, &m, NULL) == CLV_OK)
        clv_model_free(m);
    (void)!clv_limits_set(NULL, NULL);
    clv_graph_free(g);
    return 0;
}

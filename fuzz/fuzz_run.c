/* fuzz_run.c - any bytes as an ONNX model that is run by the plain C kernels,
 * on seeded inputs, loops included. What is large is left out. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_graph *g = fuzz_load(data, size);
    if (!g)
        return 0;
    if (fuzz_is_small(g)) {
        fuzz_run r = {0};
        (void)!fuzz_run_start(&r, g, NULL);
        fuzz_run_free(&r);
    }
    clv_graph_free(g);
    return 0;
}

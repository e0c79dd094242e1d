/* fuzz_differential.c - any bytes as an ONNX model that plain C and oneDNN run
 * on the same inputs. Both must say yes or both no, and where both run, give
 * the same numbers. */
#include "compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_graph *g = fuzz_load(data, size);
    if (!g)
        return 0;
    if (fuzz_onednn() && fuzz_is_small(g) && !compare_jumps(g, false)) {
        fuzz_run plain = {0}, fast = {0};
        clv_status a = fuzz_run_start(&plain, g, fuzz_plain());
        clv_status b = fuzz_run_start(&fast, g, fuzz_onednn());
        compare_runs(g, &(compared){&plain, a, "plain C", false},
                     &(compared){&fast, b, "oneDNN", true});
        fuzz_run_free(&plain);
        fuzz_run_free(&fast);
    }
    clv_graph_free(g);
    return 0;
}

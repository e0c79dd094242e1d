/* fuzz_kernels.c - any bytes as an ONNX model that plain C and the fast kernels
 * run on the same inputs, the latter once for each level of vector instructions
 * that the processor has. All must say yes or all no, and give the same
 * numbers, NaN included. */
#include "compare.h"

#include "backend/cpu/cpu.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_graph *g = fuzz_load(data, size);
    if (!g)
        return 0;
    if (fuzz_is_small(g) && !compare_jumps(g, true)) {
        fuzz_run plain = {0};
        clv_status a = fuzz_run_start(&plain, g, fuzz_plain());
        for (uint32_t below = 0; clv__cpu_choose(below); below++) {
            char name[40];
            fuzz_run fast = {0};
            snprintf(name, sizeof name, "level %u below the best", below);
            clv_status b = fuzz_run_start(&fast, g, NULL);
            compare_runs(g, &(compared){&plain, a, "plain C", false},
                         &(compared){&fast, b, name, false});
            fuzz_run_free(&fast);
        }
        fuzz_run_free(&plain);
    }
    clv_graph_free(g);
    return 0;
}

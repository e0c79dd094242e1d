/* fuzz_differential.c - any bytes as an ONNX model that plain C and oneDNN run
 * on the same inputs. Both must say yes or both no, and where both run, give
 * the same numbers. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums come in another order: so far apart may results be, over the largest
 * magnitude. */
static const double tolerance = 1e-3;

/* False for numbers so large that the order of sums decides what becomes of
 * them, and for a NaN, which oneDNN is known to drop in relu (docs/run.md). */
static bool comparable(const clv_tensor *t)
{
    for (int64_t i = 0; i < clv_tensor_numel(t); i++)
        if (!(fabs(clv_tensor_get(t, i)) < 1e6))
            return false;
    return true;
}

/* Operators that draw numbers, and those whose result jumps where their operand
 * hardly moves: the last digit, or a NaN, decides. */
static bool has_jumps(const clv_graph *g)
{
    static const char *const ops[] = {
        "random",  "random_like", "bernoulli", "multinomial", "dropout",
        "cast",    "cast_like",   "round",     "floor",       "ceil",
        "trunc",   "sign",        "argmax",    "argmin",      "topk",
        "sort",    "unique",      "nonzero",   "fmod",        "remainder",
        "hardmax", "nms",         "one_hot",   "isnan",       "isinf"};
    for (uint32_t i = 0; i < clv_graph_num_nodes(g); i++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
            if (!strcmp(clv_graph_node(g, i).op, ops[k]))
                return true;
    return false;
}

static void compare(const clv_graph *g, const fuzz_run *plain,
                    const fuzz_run *fast)
{
    uint32_t n;
    clv_graph_outputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        const clv_tensor *a = clv_context_output(fast->context, i);
        const clv_tensor *b = clv_context_output(plain->context, i);
        if (!a || !b || a->form != CLV_FORM_TENSOR || a->dtype == CLV_STRING ||
            !comparable(b))
            continue;
        if (!clv_tensor_close(a, b, tolerance)) {
            fprintf(stderr, "output %u differs\n", i);
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_graph *g = fuzz_load(data, size);
    if (!g)
        return 0;
    if (fuzz_onednn() && fuzz_is_small(g) && !has_jumps(g)) {
        fuzz_run plain = {0}, fast = {0};
        clv_status a = fuzz_run_start(&plain, g, NULL);
        clv_status b = fuzz_run_start(&fast, g, fuzz_onednn());
        if (a == CLV_OK && b == CLV_OK)
            compare(g, &plain, &fast);
        else if (a != b && a != CLV_EXCEEDED && b != CLV_EXCEEDED) {
            fprintf(stderr, "plain C ends with %d, oneDNN with %d\n", a, b);
            abort();
        }
        fuzz_run_free(&plain);
        fuzz_run_free(&fast);
    }
    clv_graph_free(g);
    return 0;
}

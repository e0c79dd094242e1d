/* compare.c - see compare.h. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LARGEST = 1e6;

/* Sums come in another order: so far apart may results be, over the largest
 * magnitude. Types of few digits may differ by two units of the last. */
static double tolerance_of(clv_dtype t)
{
    switch (t) {
    case CLV_FLOAT32:
    case CLV_FLOAT64:
        return 1e-3;
    case CLV_FLOAT16:
        return 4e-3;
    case CLV_BFLOAT16:
        return 2e-2;
    default:
        return 0.3;
    }
}

static bool comparable(const clv_tensor *t, bool drops_nan)
{
    for (int64_t i = 0; i < clv_tensor_numel(t); i++) {
        double x = clv_tensor_get(t, i);
        if (fabs(x) > LARGEST || (drops_nan && isnan(x)))
            return false;
    }
    return true;
}

static const char *const draws[] = {"random", "random_like", "bernoulli",
                                    "multinomial", "dropout"};
static const char *const jumps[] = {
    "cast",
    "cast_like",
    "round",
    "floor",
    "ceil",
    "trunc",
    "sign",
    "argmax",
    "argmin",
    "argsort",
    "topk",
    "sort",
    "unique",
    "nonzero",
    "count_nonzero",
    "fmod",
    "remainder",
    "floor_divide",
    "hardmax",
    "nms",
    "one_hot",
    "isnan",
    "isinf",
    "isfinite",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "bitcast",
    "bucketize",
    "hardshrink",
    "shrink",
    "threshold",
    "quantize_linear",
    "dynamic_quantize_linear",
    "fake_quantize",
    "qlinear_conv",
    "qlinear_matmul",
    "tree_scores",
    "roi_align",
    "max_roi_pool",
    "interpolate",
    "grid_sample",
};

static bool named(const char *op, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(op, list[i]))
            return true;
    return false;
}

#define NAMED(op, list) named(op, list, sizeof(list) / sizeof *(list))

static bool reads_computed(const clv_graph *g, const clv_node_info *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CLV_NONE &&
            clv_graph_value(g, n->inputs[i]).kind == CLV_VALUE_ACTIVATION)
            return true;
    return false;
}

bool compare_jumps(const clv_graph *g, bool computed)
{
    for (uint32_t i = 0; i < clv_graph_num_nodes(g); i++) {
        clv_node_info n = clv_graph_node(g, i);
        if (NAMED(n.op, draws) ||
            (NAMED(n.op, jumps) && (!computed || reads_computed(g, &n))))
            return true;
    }
    return false;
}

static void compare_output(const clv_tensor *a, const clv_tensor *b, uint32_t i,
                           const compared *other)
{
    if (!a || !b || a->form != CLV_FORM_TENSOR || b->dtype == CLV_STRING ||
        !comparable(b, other->drops_nan))
        return;
    if (!clv_tensor_close(a, b, tolerance_of(b->dtype))) {
        fprintf(stderr, "output %u differs on %s\n", i, other->name);
        abort();
    }
}

void compare_runs(const clv_graph *g, const compared *plain,
                  const compared *other)
{
    uint32_t n;
    clv_status a = plain->status, b = other->status;
    if (a == CLV_EXCEEDED || b == CLV_EXCEEDED)
        return;
    if ((a == CLV_OK) != (b == CLV_OK)) {
        fprintf(stderr, "plain C ends with %d, %s with %d\n", a, other->name,
                b);
        abort();
    }
    clv_graph_outputs(g, &n);
    for (uint32_t i = 0; i < n && a == CLV_OK; i++)
        compare_output(clv_context_output(other->run->context, i),
                       clv_context_output(plain->run->context, i), i, other);
}

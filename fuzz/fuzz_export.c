/* fuzz_export.c - any bytes as an ONNX model that is written at another opset
 * and read again: the same operators, parameters, MACs and FLOPs, and outputs
 * of the same shape. */
#include "formats/onnx/write.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

/* Says what a round trip changed, and ends the process. */
static void changed(const char *what, int64_t before, int64_t after)
{
    fprintf(stderr, "%s: %lld, after the round trip %lld\n", what,
            (long long)before, (long long)after);
    abort();
}

/* Whether a size is only a bound, as data decides it (the file then leaves it
 * open, and a reader guesses), or a node's result is known (then the file has a
 * constant for it, which costs nothing). */
static bool has_guesses(const clv_graph *g)
{
    for (uint32_t i = 0; i < g->n_values; i++) {
        const clv_value *v = &g->values[i];
        if (v->flags & CLV_V_BOUND ||
            (v->producer != CLV_NONE && writer_folded(g, i)))
            return true;
    }
    return false;
}

static void same_outputs(const clv_graph *g, const clv_graph *h)
{
    uint32_t n, m;
    const uint32_t *a = clv_graph_outputs(g, &n);
    const uint32_t *b = clv_graph_outputs(h, &m);
    if (n != m)
        changed("outputs", n, m);
    for (uint32_t i = 0; i < n; i++) {
        clv_value_info v = clv_graph_value(g, a[i]);
        clv_value_info w = clv_graph_value(h, b[i]);
        if (v.rank == CLV_NONE || !v.dims || !w.dims)
            continue;
        if (v.rank != w.rank)
            changed("rank", v.rank, w.rank);
        for (uint32_t k = 0; k < v.rank; k++)
            if (v.dims[k] != w.dims[k])
                changed("size", v.dims[k], w.dims[k]);
    }
}

static void same_costs(const clv_graph *g, const clv_graph *h)
{
    clv_profile *p, *q;
    if (clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return;
    if (clv_profile_new(h, NULL, &q, NULL) == CLV_OK) {
        const clv_totals *a = clv_profile_totals(p);
        const clv_totals *b = clv_profile_totals(q);
        if (a->macs != b->macs)
            changed("MACs", a->macs, b->macs);
        if (a->params != b->params)
            changed("parameters", a->params, b->params);
        if (a->flops != b->flops)
            changed("FLOPs", a->flops, b->flops);
        clv_profile_free(q);
    }
    clv_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_hash hash;
    fuzz_choices c = fuzz_hashed(&hash, data, size);
    const clv_onnx_opts o = {.size = sizeof o,
                             .opset = 13 + fuzz_below(&c, 10)};
    clv_graph *g = fuzz_load(data, size), *h;
    clv_err err;
    if (!g)
        return 0;
    const char *path = fuzz_file("out.onnx", NULL, 0);
    if (fuzz_is_small(g) && clv_export_onnx(g, path, &o, NULL) == CLV_OK) {
        if (clv_graph_open(path, NULL, &h, &err) != CLV_OK) {
            fprintf(stderr, "what was written cannot be read: %s\n", err.msg);
            abort();
        }
        if (!has_guesses(g)) {
            same_outputs(g, h);
            same_costs(g, h);
        }
        clv_graph_free(h);
    }
    fuzz_clear();
    clv_graph_free(g);
    return 0;
}

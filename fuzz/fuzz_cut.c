/* fuzz_cut.c - any bytes as an ONNX model that is cut by one of the strategies,
 * with options that follow from the bytes. The cut must hold, and so must what
 * is computed and written from it. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static clv_status by_support(const clv_profile *p, fuzz_choices *c,
                             clv_cut **out)
{
    static const char *const backends[] = {"null", "ref", "edgetpu",
                                           "ethos-u55", "all-but:relu,conv2d"};
    const clv_capability_opts o = {.size = sizeof o,
                                   .min_support =
                                       fuzz_below(c, 4) == 0 ? 0.3 : 0,
                                   .some_support = fuzz_below(c, 4) == 0,
                                   .min_subgraph_size = fuzz_below(c, 4),
                                   .max_subgraph_count = fuzz_below(c, 4),
                                   .objective = (clv_objective)fuzz_below(c, 2),
                                   .connected = fuzz_below(c, 3) == 0,
                                   .demote = fuzz_below(c, 2) == 0};
    clv_backend *b;
    clv_support *s;
    clv_status status =
        clv_backend_open(backends[fuzz_below(c, 5)], NULL, &b, NULL);
    if (status != CLV_OK)
        return status;
    status = clv_support_new(b, clv_profile_graph(p), &s, NULL);
    if (status == CLV_OK) {
        status = clv_cut_capability(p, clv_support_get(s), &o, out, NULL);
        clv_support_free(s);
    }
    clv_backend_free(b);
    return status;
}

static clv_status cut_by(uint32_t strategy, const clv_profile *p,
                         fuzz_choices *c, clv_cut **out)
{
    clv_fusion_opts fusion = {.size = sizeof fusion};
    clv_placement_opts placement = {.size = sizeof placement};
    clv_pipeline_opts pipeline = {.size = sizeof pipeline};
    switch (strategy) {
    case 0:
        return clv_cut_op(p, out, NULL);
    case 1:
        return clv_cut_modules(p, fuzz_below(c, 4), out, NULL);
    case 2:
        fusion.max_ops = fuzz_below(c, 5);
        fusion.max_bytes = fuzz_below(c, 2) ? 0 : 1 + fuzz_below(c, 5000);
        fusion.max_flops = fuzz_below(c, 2) ? 0 : 1 + fuzz_below(c, 5000);
        return clv_cut_fusion(p, &fusion, out, NULL);
    case 3:
        placement.host = clv_device_at(fuzz_below(c, 8));
        placement.accelerator = clv_device_at(fuzz_below(c, 8));
        placement.max_subgraph_count = fuzz_below(c, 5);
        placement.curve = fuzz_below(c, 6);
        return clv_cut_placement(p, &placement, out, NULL);
    case 4:
        pipeline.stages = 1 + fuzz_below(c, 6);
        pipeline.device = clv_device_at(fuzz_below(c, 8));
        pipeline.memory = fuzz_below(c, 2) ? 0 : 1 + fuzz_below(c, 50000);
        return clv_cut_pipeline(p, &pipeline, out, NULL);
    default:
        return by_support(p, c, out);
    }
}

static void use(const clv_cut *cut, fuzz_choices *c)
{
    const clv_memory_opts o = {.size = sizeof o,
                               .reorder = fuzz_below(c, 2) == 0};
    clv_memory *m;
    clv_concurrency *a;
    clv_map *d;
    clv_err err;
    if (clv_cut_verify(cut, &err) != CLV_OK) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    if (clv_memory_new(cut, &o, &m, NULL) == CLV_OK)
        clv_memory_free(m);
    if (clv_concurrency_new(cut, NULL, &a, NULL) == CLV_OK)
        clv_concurrency_free(a);
    if (clv_map_new(cut, clv_device_at(fuzz_below(c, 8)), &d, NULL) == CLV_OK)
        clv_map_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { STRATEGIES = 6 };
    fuzz_hash hash;
    fuzz_choices c = fuzz_hashed(&hash, data, size);
    clv_graph *g = fuzz_load(data, size);
    clv_profile *p = NULL;
    clv_cut *cut;
    if (g && clv_profile_new(g, NULL, &p, NULL) == CLV_OK &&
        cut_by(fuzz_below(&c, STRATEGIES), p, &c, &cut) == CLV_OK) {
        use(cut, &c);
        clv_cut_free(cut);
    }
    clv_profile_free(p);
    clv_graph_free(g);
    return 0;
}

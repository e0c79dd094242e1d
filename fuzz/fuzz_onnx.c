/* fuzz_onnx.c - any bytes as an ONNX model: load, infer, profile. */
#include "cleave.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_map map = {.data = data, .size = size, .borrowed = true};
    clv_err e = {CLV_OK, ""};
    clv_graph *g;
    clv_profile *p;
    if (clv__onnx_load(map, "fuzz.onnx", NULL, &g, &e) != CLV_OK)
        return 0;
    if (clv_profile_new(g, NULL, &p, &e) == CLV_OK)
        clv_profile_free(p);
    clv_graph_free(g);
    return 0;
}

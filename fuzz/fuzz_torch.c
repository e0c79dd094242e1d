/* fuzz_torch.c - any bytes as a file of PyTorch: a torch.export archive, a
 * checkpoint, TorchScript. What loads is profiled. */
#include "cleave.h"
#include "formats/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef clv_status load_fn(clv_mapping map, const char *path,
                           const clv_open_opts *opts, clv_graph **out,
                           clv_err *e);

static void load(load_fn *fn, const uint8_t *data, size_t size)
{
    static const int64_t dims[] = {1, 3, 32, 32};
    const clv_shape_arg shape = {NULL, dims, 4};
    const clv_open_opts opts = {
        .size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    clv_graph *g;
    clv_profile *p = NULL;
    clv_err err = {0};
    if (fn(map, "fuzz.pt", &opts, &g, &err) != CLV_OK) {
        if (!err.msg[0])
            abort(); /* a failure says why */
        return;
    }
    if (clv_profile_new(g, NULL, &p, &err) == CLV_OK &&
        clv_profile_totals(p)->params < 0)
        abort();
    clv_profile_free(p);
    clv_graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(clv__pt2_load, data, size);
    load(clv__checkpoint_load, data, size);
    load(clv__torchscript_load, data, size);
    return 0;
}

/* fuzz_torch.c - any bytes as a file of PyTorch: a checkpoint, a TorchScript
 * module or an exported program. Their archives are stored, not packed, so
 * that bytes of pickles, JSON and code change where they lie. What opens is
 * profiled. */
#include "fuzz.h"

#include "formats/formats.h"

static const struct torch_format {
    bool (*knows)(const clv_mapping *map, const char *path);
    clv_status (*load)(clv_mapping map, const char *path,
                       const clv_open_opts *opts, clv_graph **out, clv_err *e);
} formats[] = {
    {clv__pt2_knows, clv__pt2_load},
    {clv__torchscript_knows, clv__torchscript_load},
    {clv__checkpoint_knows, clv__checkpoint_load},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t dims[] = {1, 4};
    const clv_shape_arg shape = {NULL, dims, 2};
    const clv_open_opts opts = {
        .size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    const clv_limits limits = {
        .size = sizeof limits, .max_seconds = 5, .max_memory = 500 << 20};
    const clv_mapping map = {.data = data, .size = size, .borrowed = true};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        clv_graph *g = NULL;
        clv_profile *p = NULL;
        if (!formats[i].knows(&map, "fuzz.pt"))
            continue;
        (void)!clv_limits_set(&limits, NULL);
        bool sized = size % 2; /* at a size, or at the file's own */
        if (formats[i].load(map, "fuzz.pt", sized ? &opts : NULL, &g, NULL) ==
                CLV_OK &&
            clv_profile_new(g, NULL, &p, NULL) == CLV_OK)
            clv_profile_free(p);
        clv_graph_free(g);
        (void)!clv_limits_set(NULL, NULL);
    }
    return 0;
}

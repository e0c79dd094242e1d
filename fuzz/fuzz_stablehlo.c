/* fuzz_stablehlo.c - any bytes as StableHLO text. Memory stays in proportion to
 * the text, and what is refused is refused in words. */
#include "cleave.h"
#include "formats/formats.h"
#include "formats/stablehlo/mlir.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_PER_BYTE = 512, BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    mlir_module m;
    clv_err err = {0};
    clv_status s = mlir_parse(&mem, (const char *)data, size, &m, &err);
    if (mem.total > BYTES + size * BYTES_PER_BYTE ||
        (s != CLV_OK && !err.msg[0]))
        abort();
    mlir_free(&m);
    arena_free(&mem);

    clv_graph *g = NULL;
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    clv_limits limits = {.size = sizeof limits,
                         .max_seconds = 5,
                         .max_nodes = 20000,
                         .max_memory = INT64_C(1) << 30};
    clv_err own = {0};
    if (clv_limits_set(&limits, &own) != CLV_OK)
        abort();
    s = clv__stablehlo_load(map, "fuzz.mlir", NULL, &g, &own);
    if (s != CLV_OK && !own.msg[0])
        abort();
    clv_profile *p = NULL;
    if (s == CLV_OK && clv_profile_new(g, NULL, &p, &own) != CLV_OK &&
        !own.msg[0])
        abort();
    clv_profile_free(p);
    clv_graph_free(g);
    if (clv_limits_set(NULL, NULL) != CLV_OK)
        abort();
    return 0;
}

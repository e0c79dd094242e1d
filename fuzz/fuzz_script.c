/* fuzz_script.c - any bytes as the code of a TorchScript module. */
#include "formats/torchscript/script.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_PER_BYTE = 512, BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    ts_node *root;
    clv_err err = {0};
    clv_status s =
        ts_parse(&mem, "fuzz.py", (const char *)data, size, &root, &err);
    if (mem.total > BYTES + size * BYTES_PER_BYTE ||
        (s != CLV_OK && !err.msg[0]))
        abort();
    arena_free(&mem);
    return 0;
}

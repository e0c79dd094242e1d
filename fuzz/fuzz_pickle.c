/* fuzz_pickle.c - any bytes as a pickle: memory in proportion, and nodes that
 * whoever reads them can read. */
#include "formats/pickle/pickle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_PER_BYTE = 256, BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    const pickle_node *root;
    size_t used;
    clv_err err = {0};
    clv_status s = pickle_run(&mem, data, size, 0, &root, &used, &err);
    if (mem.total > BYTES + size * BYTES_PER_BYTE || used > size ||
        (s != CLV_OK) != (root == NULL))
        abort();
    if (s == CLV_OK) {
        pickle_file file = {.bytes = data, .size = size};
        torch_tensor t;
        uint32_t n;
        pickle_tensor(&file, root, &t);
        pickle_get(root, "model");
        pickle_pairs(root, &n);
        pickle_class(root);
    }
    arena_free(&mem);
    return 0;
}

/* fuzz_npy.c - any bytes as .npy, .npz and TensorProto; what is accepted is
 * written as .npy and must read back the same. */
#include "cleave.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_kind(const char *kind, const uint8_t *data, size_t size)
{
    clv_tensor t, u;
    clv_buf text = {0};
    if (clv_tensor_parse(kind, data, size, NULL, &t, NULL) != CLV_OK)
        return;
    if (clv_tensor_npy(&t, &text, NULL) == CLV_OK) {
        clv_status s =
            clv_tensor_parse("npy", text.text, text.len, NULL, &u, NULL);
        assert(s == CLV_OK && u.dtype == t.dtype && u.rank == t.rank);
        assert(!memcmp(u.data, t.data, (size_t)clv_tensor_bytes(&t)));
        (void)s;
        clv_tensor_free(&u);
    }
    clv_buf_free(&text);
    clv_tensor_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_kind("npy", data, size);
    try_kind("npz", data, size);
    try_kind("pb", data, size);
    return 0;
}

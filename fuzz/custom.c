/* custom.c - lets libFuzzer change models by mutate_onnx.c; now and then by
 * bytes, as it would itself. */
#include "mutate_onnx.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t room, unsigned seed);

enum { BY_BYTES = 16 }; /* one of so many changes */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed)
{
    uint8_t *out = malloc(room);
    size_t n = 0;
    if (out && seed % BY_BYTES)
        n = onnx_mutate(data, size, NULL, 0, out, room, seed);
    if (n)
        memcpy(data, out, n);
    free(out);
    return n ? n : LLVMFuzzerMutate(data, size, room);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t room, unsigned seed)
{
    return onnx_mutate(data, size, other, other_size, out, room, seed);
}

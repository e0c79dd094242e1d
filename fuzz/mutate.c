/* mutate.c - writes changed copies of ONNX models.
 *
 *   mutate SEED COUNT FOLDER FILE...
 *
 * Makes COUNT files FOLDER/m<SEED>_<i>.onnx, each from one of the FILEs with
 * nodes of another at times. The same arguments give the same files. */
#include "mutate_onnx.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 20 };

static size_t load(const char *path, uint8_t *room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(room, 1, LARGEST, f) : 0;
    if (f)
        fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    static uint8_t model[LARGEST], other[LARGEST], out[LARGEST];
    if (argc < 5) {
        fprintf(stderr, "usage: mutate SEED COUNT FOLDER FILE...\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    long count = strtol(argv[2], NULL, 10), made = 0;
    uint64_t n = (uint64_t)argc - 4;
    for (long i = 0; i < count; i++) {
        uint64_t mixed = seed * 1000003 + (uint64_t)i;
        char path[4096];
        size_t size = load(argv[4 + (uint64_t)i % n], model);
        size_t more = load(argv[4 + mixed * 7919 % n], other);
        size = onnx_mutate(model, size, other, more, out, sizeof out, mixed);
        snprintf(path, sizeof path, "%s/m%llu_%06ld.onnx", argv[3],
                 (unsigned long long)seed, i);
        FILE *f = size ? fopen(path, "wb") : NULL;
        made += f && fwrite(out, 1, size, f) == size;
        if (f)
            fclose(f);
    }
    printf("%ld files\n", made);
    return 0;
}

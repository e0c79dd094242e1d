/* fuzz_onnx.c - any bytes as an ONNX model: load, infer, profile.
 *
 * Twice: from memory, and as a file, whose field heads are peeked at. Both must
 * give the same. */
#define _GNU_SOURCE
#include "cleave.h"
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    clv_status status;
    int64_t macs, params;
    clv_err err;
} outcome;

static outcome load(clv_mapping map)
{
    outcome o = {0};
    clv_graph *g;
    clv_profile *p = NULL;
    o.status = clv__onnx_load(map, "fuzz.onnx", NULL, &g, &o.err);
    if (o.status != CLV_OK)
        return o;
    o.status = clv_profile_new(g, NULL, &p, &o.err);
    if (o.status == CLV_OK) {
        o.macs = clv_profile_totals(p)->macs;
        o.params = clv_profile_totals(p)->params;
    }
    clv_profile_free(p);
    clv_graph_free(g);
    return o;
}

static int file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("model", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) != (ssize_t)size)
        abort();
    return fd > 0 ? fd : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    outcome memory = load(map);
    map.file = file_of(data, size);
    outcome file = load(map);
    if (memory.status != file.status || strcmp(memory.err.msg, file.err.msg) ||
        memory.macs != file.macs || memory.params != file.params)
        abort();
    return 0;
}

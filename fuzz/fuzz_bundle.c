/* fuzz_bundle.c - any bytes as a folder that `verify` reads: files one after
 * the other, each a line with its name and then its contents, up to a line of
 * `----`. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <string.h>

static const char separator[] = "\n----\n";

/* Only files of a folder that a cut is written to. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static void unpack(const char *at, const char *end)
{
    while (at < end) {
        char name[64];
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((line ? line : end) - at);
        if (!line || n >= sizeof name)
            return;
        memcpy(name, at, n);
        name[n] = '\0';
        at = line + 1;
        const char *stop =
            memmem(at, (size_t)(end - at), separator, sizeof separator - 1);
        if (is_plain(name))
            fuzz_file(name, at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + sizeof separator - 1 : end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_bundle_info info = {.size = sizeof info};
    fuzz_folder();
    unpack((const char *)data, (const char *)data + size);
    (void)!clv_bundle_verify(fuzz_folder(), &info, NULL);
    fuzz_clear();
    return 0;
}

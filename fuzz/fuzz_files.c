/* fuzz_files.c - any text as one of the small files that a user gives: costs of
 * operators, measured seconds, a device, or the manifest of a cut. The first
 * byte says which. */
#include "cleave.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/cleave-fuzz-XXXXXX", path[64];

static void files_remove(void)
{
    unlink(path);
    rmdir(folder);
}

static bool files_write(const uint8_t *data, size_t size)
{
    if (!*path) {
        if (!mkdtemp(folder))
            return false;
        snprintf(path, sizeof path, "%s/manifest.json", folder);
        atexit(files_remove);
    }
    FILE *f = fopen(path, "wb");
    bool ok = f && (!size || fwrite(data, 1, size, f) == size);
    return f && fclose(f) == 0 && ok;
}

static void as_operators(void)
{
    clv_open_opts o = {.size = sizeof o, .ops_file = path};
    clv_graph *g;
    if (clv_graph_open("alexnet", &o, &g, NULL) == CLV_OK)
        clv_graph_free(g);
}

static void as_seconds(void)
{
    clv_placement_opts o = {.size = sizeof o, .costs = path};
    clv_graph *g;
    clv_profile *p = NULL;
    clv_cut *c;
    if (clv_graph_open("alexnet", NULL, &g, NULL) != CLV_OK)
        return;
    if (clv_profile_new(g, NULL, &p, NULL) == CLV_OK &&
        clv_cut_placement(p, &o, &c, NULL) == CLV_OK)
        clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void as_device(void)
{
    clv_device *d;
    if (clv_device_load(path, &d, NULL) == CLV_OK)
        clv_device_free(d);
}

static void as_manifest(void)
{
    clv_status s = clv_bundle_verify(folder, NULL, NULL);
    (void)s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(void) = {as_operators, as_seconds, as_device,
                                            as_manifest};
    if (size && files_write(data + 1, size - 1))
        readers[data[0] % 4]();
    return 0;
}

/* fuzz_files.c - any text as one of the small files that a user gives: costs of
 * operators, measured seconds, a device, the manifest of a cut, or sides that
 * are forced. The first byte says which. What is read is used once. */
#include "fuzz.h"

static void as_operators(const char *path)
{
    clv_open_opts o = {.size = sizeof o, .ops_file = path};
    clv_graph *g;
    clv_profile *p;
    if (clv_graph_open(fuzz_tiny_file(), &o, &g, NULL) != CLV_OK)
        return;
    if (clv_profile_new(g, NULL, &p, NULL) == CLV_OK)
        clv_profile_free(p);
    clv_graph_free(g);
}

static void as_seconds(const char *path)
{
    clv_placement_opts o = {.size = sizeof o, .costs = path, .curve = 3};
    clv_profile *p;
    clv_cut *c;
    if (clv_profile_new(fuzz_tiny(), NULL, &p, NULL) != CLV_OK)
        return;
    if (clv_cut_placement(p, &o, &c, NULL) == CLV_OK)
        clv_cut_free(c);
    clv_profile_free(p);
}

static void map_on(const clv_device *d)
{
    const clv_report_opts as_json = {.size = sizeof as_json,
                                     .format = CLV_REPORT_JSON};
    clv_buf text = {0};
    clv_profile *p;
    clv_cut *c;
    clv_map *m;
    if (clv_profile_new(fuzz_tiny(), NULL, &p, NULL) != CLV_OK)
        return;
    if (clv_cut_op(p, &c, NULL) == CLV_OK) {
        if (clv_map_new(c, d, &m, NULL) == CLV_OK) {
            clv_report_maps((const clv_map *const *)&m, 1, &as_json, &text);
            clv_map_free(m);
        }
        clv_cut_free(c);
    }
    clv_report_devices(&d, 1, &as_json, &text);
    clv_buf_free(&text);
    clv_profile_free(p);
}

static void as_device(const char *path)
{
    clv_device *d;
    if (clv_device_load(path, &d, NULL) != CLV_OK)
        return;
    map_on(d);
    clv_device_free(d);
}

static void as_manifest(const char *path)
{
    (void)path;
    (void)!clv_bundle_verify(fuzz_folder(), NULL, NULL);
}

static void as_overrides(const char *path)
{
    clv_backend *b;
    clv_support *s;
    if (clv_backend_open("null", NULL, &b, NULL) != CLV_OK)
        return;
    if (clv_support_new(b, fuzz_tiny(), &s, NULL) == CLV_OK) {
        (void)!clv_support_overrides(s, path, NULL);
        clv_support_free(s);
    }
    clv_backend_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *) = {
        as_operators, as_seconds, as_device, as_manifest, as_overrides};
    enum { READERS = sizeof readers / sizeof *readers };
    if (size)
        readers[data[0] % READERS](
            fuzz_file("manifest.json", data + 1, size - 1));
    return 0;
}

/* formats.c - the file formats, and the way from a path to a graph.
 *
 * Formats are told apart by their contents; the first that knows the file
 * loads it. Whatever fails says which file it was. */
#include "formats/formats.h"

static const clv_importer formats[] = {
    {"onnx", "ONNX", clv__onnx_knows, clv__onnx_load},
};

clv_status clv__import(const char *path, const clv_open_opts *opts,
                       clv_graph **out, clv_err *e)
{
    clv_mapping map;
    *out = NULL;
    CLV_TRY(clv__mapping_open(path, &map, e));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].knows(&map, path))
            continue;
        clv_status s = formats[i].load(map, path, opts, out, e);
        if (s != CLV_OK)
            clv__err_prefix(e, "%s", path);
        return s;
    }
    clv__mapping_close(&map);
    return clv__fail(e, CLV_FORMAT,
                     "%s: not a model file that is understood here", path);
}

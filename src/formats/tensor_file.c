/* tensor_file.c - tensors in files, by the kind that the name ends in: NumPy's
 * .npy and .npz, ONNX's .pb. */
#include "cleave/tensor.h"
#include "core/mapping.h"
#include "formats/onnx/tensor_pb.h"
#include "tensor/npy.h"

#include <string.h>

static clv_status parse_npy(const void *data, size_t size, const char *name,
                            clv_tensor *out, clv_err *e)
{
    (void)name;
    return clv__npy_parse(data, size, out, e);
}

static clv_status parse_pb(const void *data, size_t size, const char *name,
                           clv_tensor *out, clv_err *e)
{
    (void)name;
    return clv__tensor_pb(data, size, out, e);
}

typedef clv_status parse_fn(const void *data, size_t size, const char *name,
                            clv_tensor *out, clv_err *e);

static const struct tensor_kind {
    const char *kind;
    parse_fn *parse;
} kinds[] = {{"npy", parse_npy}, {"npz", clv__npz_parse}, {"pb", parse_pb}};

static parse_fn *parser_of(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].kind, kind))
            return kinds[i].parse;
    return NULL;
}

clv_status clv_tensor_parse(const char *kind, const void *data, size_t size,
                            const char *name, clv_tensor *out, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(kind, err);
    CLV_NEED(data, err);
    CLV_NEED(out, err);
    parse_fn *parse = parser_of(kind);
    *out = (clv_tensor){0};
    if (!parse)
        return clv__fail(err, CLV_USAGE, "no kind of tensor file '%s'", kind);
    return parse(data, size, name, out, err);
}

clv_status clv_tensor_read(const char *path, const char *name, clv_tensor *out,
                           clv_err *err)
{
    clv_mapping map;
    clv__err_clear(err);
    CLV_NEED(path, err);
    CLV_NEED(out, err);
    const char *dot = strrchr(path, '.');
    *out = (clv_tensor){0};
    if (!dot || !parser_of(dot + 1))
        return clv__fail(err, CLV_USAGE,
                         "%.300s: tensors are read from .npy, .npz and .pb",
                         path);
    CLV_TRY(clv__mapping_open(path, &map, err));
    clv_status s = clv_tensor_parse(
        dot + 1, map.data ? (const void *)map.data : (const void *)"", map.size,
        name, out, err);
    clv__mapping_close(&map);
    if (s != CLV_OK)
        clv__err_prefix(err, "%.300s", path);
    return s;
}

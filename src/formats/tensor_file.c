/* tensor_file.c - tensors in files, by the kind that the name ends in: NumPy's
 * .npy, ONNX's .pb, and .npz, an archive of both. */
#include "core/mapping.h"
#include "formats/onnx/tensor_pb.h"
#include "tensor/npy.h"
#include "tensor/tensor.h"
#include "tensor/zip.h"

#include <stdio.h>
#include <string.h>

typedef struct source {
    const void *data;
    size_t size;
    const char *name; /* of the entry; NULL: the only one */
    clv_form form;
} source;

/* -- kinds ----------------------------------------------------------------*/

/* NumPy's file is a tensor, or what an optional holds. */
static clv_status parse_npy(const source *s, clv_tensor *out, clv_err *e)
{
    if (s->form == CLV_FORM_SEQUENCE)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "npy: one array is no sequence; a .pb file can be");
    CLV_TRY(clv__npy_parse(s->data, s->size, out, e));
    if (s->form == CLV_FORM_TENSOR)
        return CLV_OK;
    clv_tensor one = *out;
    clv_tensor all = {.form = s->form, .rank = 1, .dims = {1}, .data = &one};
    all.dtype = one.dtype;
    clv_status status = clv__tensor_pack(&all, out, e);
    clv__free(one.data);
    return status;
}

static clv_status parse_pb(const source *s, clv_tensor *out, clv_err *e)
{
    return s->form == CLV_FORM_TENSOR
               ? clv__tensor_pb(s->data, s->size, out, e)
               : clv__list_pb(s->data, s->size, s->form, out, e);
}

typedef clv_status parse_fn(const source *s, clv_tensor *out, clv_err *e);
static parse_fn parse_npz;

static const struct tensor_kind {
    const char *kind;
    parse_fn *parse;
    bool entry; /* may lie in an archive */
} kinds[] = {{"npy", parse_npy, true},
             {"npz", parse_npz, false},
             {"pb", parse_pb, true}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

static parse_fn *parser_of(const char *kind)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (!strcmp(kinds[i].kind, kind))
            return kinds[i].parse;
    return NULL;
}

/* -- archives -------------------------------------------------------------*/

/* The kind of an entry by its ending, and the length of its name without it;
 * one without an ending is an .npy. */
static const struct tensor_kind *entry_kind(const zip_entry *x, size_t *len)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t n = strlen(kinds[i].kind);
        *len = x->name_size - n - 1;
        if (kinds[i].entry && x->name_size > n && x->name[*len] == '.' &&
            !memcmp(x->name + *len + 1, kinds[i].kind, n))
            return &kinds[i];
    }
    *len = x->name_size;
    return &kinds[0];
}

static bool is_named(const zip_entry *x, const char *name)
{
    size_t n = strlen(name), len;
    entry_kind(x, &len);
    return (len == n || x->name_size == n) && !memcmp(x->name, name, n);
}

/* The entry called `name`, or the only one. */
static clv_status find_array(zip *z, const char *name, zip_entry *found,
                             clv_err *e)
{
    uint32_t matches = 0;
    zip_entry x;
    while (z->next < z->count) {
        CLV_TRY(clv__zip_next(z, &x, e));
        if (!name || is_named(&x, name)) {
            *found = x;
            matches++;
        }
    }
    if (matches > 1)
        return clv__fail(e, CLV_USAGE, "%u entries; which one?", matches);
    return matches ? CLV_OK
                   : clv__fail(e, CLV_NOT_FOUND,
                               "none of %u entries is called that", z->count);
}

static clv_status parse_npz(const source *in, clv_tensor *out, clv_err *e)
{
    zip z;
    zip_entry x;
    const uint8_t *bytes;
    uint8_t *block = NULL;
    size_t len;
    clv_status s = clv__zip_open(in->data, in->size, &z, e);
    if (s == CLV_OK)
        s = find_array(&z, in->name, &x, e);
    if (s == CLV_OK)
        s = clv__zip_unpack(&x, &bytes, &block, e);
    if (s != CLV_OK) {
        clv__err_prefix(e, "npz");
    } else {
        source entry = {bytes, (size_t)x.size, NULL, in->form};
        s = entry_kind(&x, &len)->parse(&entry, out, e);
    }
    clv__free(block);
    return s;
}

static clv_status entry_name(const clv_mapping *map, uint32_t i, char *name,
                             size_t size, clv_err *e)
{
    zip z;
    zip_entry x;
    size_t len;
    CLV_TRY(clv__zip_open(map->data, map->size, &z, e));
    if (i >= z.count)
        return clv__fail(e, CLV_NOT_FOUND, "%u entries", z.count);
    for (uint32_t k = 0; k <= i; k++)
        CLV_TRY(clv__zip_next(&z, &x, e));
    entry_kind(&x, &len);
    snprintf(name, size, "%.*s", (int)len, x.name);
    return CLV_OK;
}

clv_status clv_tensor_entry(const char *path, uint32_t i, char *name,
                            size_t size, clv_err *err)
{
    clv_mapping map;
    clv__err_clear(err);
    CLV_NEED(path, err);
    CLV_NEED(name, err);
    CLV_TRY(clv__mapping_open(path, &map, err));
    clv_status s = entry_name(&map, i, name, size, err);
    clv__mapping_close(&map);
    if (s != CLV_OK)
        clv__err_prefix(err, "%.300s", path);
    return s;
}

/* -- reading --------------------------------------------------------------*/

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
    return parse(&(source){data, size, name, CLV_FORM_TENSOR}, out, err);
}

clv_status clv_tensor_read_as(const char *path, const char *name, clv_form form,
                              clv_tensor *out, clv_err *err)
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
    source in = {map.data ? (const void *)map.data : (const void *)"", map.size,
                 name, form};
    clv_status s = parser_of(dot + 1)(&in, out, err);
    clv__mapping_close(&map);
    if (s != CLV_OK)
        clv__err_prefix(err, "%.300s", path);
    return s;
}

clv_status clv_tensor_read(const char *path, const char *name, clv_tensor *out,
                           clv_err *err)
{
    return clv_tensor_read_as(path, name, CLV_FORM_TENSOR, out, err);
}

/* -- writing archives -----------------------------------------------------*/

static clv_status npz_add(zip_out *z, const clv_tensor *t, const char *name,
                          clv_err *e)
{
    clv_buf file = {0}, entry = {0};
    bool npy = clv_tensor_fits_npy(t);
    clv_status s =
        npy ? clv_tensor_npy(t, &file, e) : clv_tensor_pb(t, name, &file, e);
    clv_buf_printf(&entry, "%s.%s", name, npy ? "npy" : "pb");
    if (s == CLV_OK && entry.failed)
        s = clv__nomem(e);
    if (s == CLV_OK)
        s = clv__zip_add(z, entry.text, file.text, file.len, e);
    clv_buf_free(&file);
    clv_buf_free(&entry);
    return s;
}

clv_status clv_tensor_npz(const clv_tensor *const *t, const char *const *names,
                          uint32_t n, clv_buf *out, clv_err *err)
{
    zip_out z = {0};
    clv_buf none = {0};
    clv_status s = CLV_OK;
    clv__err_clear(err);
    CLV_NEED(out, err);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = npz_add(&z, t[i], names[i], err);
    clv_status end = clv__zip_finish(&z, s == CLV_OK ? out : &none,
                                     s == CLV_OK ? err : NULL);
    clv_buf_free(&none);
    return s == CLV_OK ? end : s;
}

/* npy.c - tensors in files: NumPy's .npy and .npz, ONNX's .pb.
 *
 * An .npy file is a magic, a header that is a Python dictionary in ASCII, and
 * the elements. An .npz is a zip archive of them, stored or deflated. Files are
 * hostile: every length is checked before memory is taken, and what is taken is
 * no more than the file can hold. */
#include "core/inflate.h"
#include "core/mapping.h"
#include "formats/onnx/tensor_pb.h"
#include "run/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const uint8_t *p;
    size_t n;
} span;

static uint32_t u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

/* -- memory ---------------------------------------------------------------*/

clv_status clv_tensor_alloc(clv_tensor *t, clv_err *err)
{
    int64_t bytes = clv_tensor_bytes(t);
    t->data = NULL;
    if (bytes < 0)
        return clv__fail(err, CLV_OVERFLOW, "a tensor that does not fit");
    t->data = clv__zalloc((size_t)bytes + 1);
    return t->data ? CLV_OK : clv__nomem(err);
}

void clv_tensor_free(clv_tensor *t)
{
    clv__free(t->data);
    t->data = NULL;
}

void clv_tensor_random(clv_tensor *t, uint64_t seed)
{
    int64_t n = clv_tensor_numel(t);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i;
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        if (is_float(t->dtype))
            put_f(t, i, (double)(x >> 40) * 0x1p-23 - 1);
        else
            put_i(t, i, (int64_t)(x >> 60 & (t->dtype == CLV_BOOL ? 1 : 7)));
    }
}

void clv_tensor_diff(const clv_tensor *a, const clv_tensor *b, double *absolute,
                     double *relative)
{
    double most = 0, scale = 0;
    int64_t n = clv_tensor_numel(b);
    if (n != clv_tensor_numel(a))
        most = (double)INFINITY;
    for (int64_t i = 0; i < n && most < (double)INFINITY; i++) {
        double x = get_f(a, i), y = get_f(b, i), d = fabs(x - y);
        if (isnan(x) && isnan(y))
            continue;
        if (isnan(d))
            d = x < y || y < x || isnan(x) || isnan(y) ? (double)INFINITY : 0;
        if (d > most)
            most = d;
        if (fabs(y) > scale && !isinf(y))
            scale = fabs(y);
    }
    *absolute = most;
    *relative = most > 0 ? most / (scale > 0 ? scale : 1) : 0;
}

/* -- npy ------------------------------------------------------------------*/

/* NumPy's letter and size. bfloat16 has none. */
static const struct descr {
    const char *text;
    clv_dtype dtype;
} descrs[] = {
    {"f4", CLV_FLOAT32},   {"f2", CLV_FLOAT16},     {"f8", CLV_FLOAT64},
    {"i1", CLV_INT8},      {"u1", CLV_UINT8},       {"i2", CLV_INT16},
    {"u2", CLV_UINT16},    {"i4", CLV_INT32},       {"u4", CLV_UINT32},
    {"i8", CLV_INT64},     {"u8", CLV_UINT64},      {"b1", CLV_BOOL},
    {"c8", CLV_COMPLEX64}, {"c16", CLV_COMPLEX128},
};

enum { N_DESCRS = sizeof descrs / sizeof *descrs };

static clv_status read_descr(const char *text, clv_tensor *t, clv_err *e)
{
    char quote = *text++;
    char order = *text++;
    size_t n = strcspn(text, "'\"");
    if ((quote != '\'' && quote != '"') || text[n] != quote)
        return clv__fail(e, CLV_FORMAT, "npy: 'descr' is not a string");
    if (order == '>' && n && text[n - 1] != '1')
        return clv__fail(e, CLV_UNSUPPORTED, "npy: big-endian data");
    for (int i = 0; i < N_DESCRS; i++)
        if (strlen(descrs[i].text) == n && !memcmp(descrs[i].text, text, n)) {
            t->dtype = descrs[i].dtype;
            return CLV_OK;
        }
    return clv__fail(e, CLV_UNSUPPORTED, "npy: type '%c%.*s'", order,
                     n > 20 ? 20 : (int)n, text);
}

static clv_status read_shape(const char *text, clv_tensor *t, clv_err *e)
{
    if (*text++ != '(')
        return clv__fail(e, CLV_FORMAT, "npy: 'shape' is not a tuple");
    for (;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            return CLV_OK;
        char *end;
        if (*text < '0' || *text > '9')
            return clv__fail(e, CLV_FORMAT, "npy: a malformed shape");
        errno = 0;
        long long d = strtoll(text, &end, 10);
        if (errno == ERANGE || t->rank == CLV_MAX_RANK)
            return clv__fail(e, CLV_FORMAT, "npy: the shape is too large");
        t->dims[t->rank++] = d;
        text = end;
    }
}

/* What stands after 'key': in the header, or NULL. */
static const char *after(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " ");
}

static clv_status read_header(const char *header, clv_tensor *t, clv_err *e)
{
    const char *descr = after(header, "descr");
    const char *order = after(header, "fortran_order");
    const char *shape = after(header, "shape");
    if (!descr || !order || !shape || !descr[0] || !descr[1])
        return clv__fail(e, CLV_FORMAT,
                         "npy: the header lacks descr, fortran_order or shape");
    if (strncmp(order, "False", 5) != 0)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "npy: Fortran order; numpy.ascontiguousarray(x) "
                         "helps");
    CLV_TRY(read_descr(descr, t, e));
    return read_shape(shape, t, e);
}

static clv_status parse_npy(span in, clv_tensor *t, clv_err *e)
{
    enum { HEADER_MAX = 1 << 16 };
    if (in.n < 10 || memcmp(in.p, "\x93NUMPY", 6) != 0)
        return clv__fail(e, CLV_FORMAT, "npy: not such a file");
    bool wide = in.p[6] >= 2;
    size_t skip = wide ? 12 : 10;
    if (in.n < skip)
        return clv__fail(e, CLV_FORMAT, "npy: the header is cut off");
    size_t len = wide ? u32(in.p + 8) : u16(in.p + 8);
    if (len > in.n - skip || len >= HEADER_MAX)
        return clv__fail(e, CLV_FORMAT, "npy: the header is cut off");
    char *header = clv__alloc(len + 1);
    if (!header)
        return clv__nomem(e);
    memcpy(header, in.p + skip, len);
    header[len] = '\0';
    clv_status s = read_header(header, t, e);
    clv__free(header);
    CLV_TRY(s);
    int64_t want = clv_tensor_bytes(t);
    size_t have = in.n - skip - len;
    if (want < 0 || (uint64_t)want != have)
        return clv__fail(e, CLV_FORMAT,
                         "npy: %zu bytes of data, its shape needs %lld", have,
                         (long long)want);
    CLV_TRY(clv_tensor_alloc(t, e));
    if (have)
        memcpy(t->data, in.p + skip + len, have);
    return CLV_OK;
}

/* -- npz ------------------------------------------------------------------*/

typedef struct entry {
    span name, data;
    uint32_t method, size; /* 0: stored, 8: deflated; bytes when unpacked */
} entry;

/* The end record, which comes last but for a comment. */
static const uint8_t *end_record(span in)
{
    for (size_t back = 22; back <= in.n && back < 22 + 65536; back++)
        if (!memcmp(in.p + in.n - back, "PK\5\6", 4))
            return in.p + in.n - back;
    return NULL;
}

/* The entry at *at of the central directory; moves on. */
static bool next_entry(span in, size_t *at, entry *x)
{
    if (*at > in.n || in.n - *at < 46 || memcmp(in.p + *at, "PK\1\2", 4) != 0)
        return false;
    const uint8_t *p = in.p + *at;
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    size_t size = u32(p + 20), local = u32(p + 42);
    if (in.n - *at - 46 < name || local > in.n || in.n - local < 30)
        return false;
    size_t skip = 30 + u16(in.p + local + 26) + u16(in.p + local + 28);
    if (in.n - local < skip || in.n - local - skip < size)
        return false;
    *x = (entry){
        {p + 46, name}, {in.p + local + skip, size}, u16(p + 10), u32(p + 24)};
    *at += 46 + name + extra + comment;
    return true;
}

static bool is_named(const entry *x, const char *name)
{
    size_t n = strlen(name);
    return x->name.n >= n && !memcmp(x->name.p, name, n) &&
           (x->name.n == n ||
            (x->name.n == n + 4 && !memcmp(x->name.p + n, ".npy", 4)));
}

/* As numpy.savez_compressed writes it. */
static clv_status parse_packed(const entry *x, clv_tensor *t, clv_err *e)
{
    if (x->method != 8)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "npz: packed by method %u; numpy.savez_compressed "
                         "deflates",
                         x->method);
    if (x->size > clv__inflate_most(x->data.n))
        return clv__fail(e, CLV_FORMAT, "npz: %zu bytes cannot unpack to %u",
                         x->data.n, x->size);
    uint8_t *plain = clv__alloc((size_t)x->size + 1);
    if (!plain)
        return clv__nomem(e);
    clv_status s = clv__inflate(x->data.p, x->data.n, plain, x->size, e);
    if (s == CLV_OK)
        s = parse_npy((span){plain, x->size}, t, e);
    clv__free(plain);
    return s;
}

static clv_status parse_npz(span in, const char *name, clv_tensor *t,
                            clv_err *e)
{
    const uint8_t *end = end_record(in);
    if (!end)
        return clv__fail(e, CLV_FORMAT, "npz: not a zip archive");
    size_t at = u32(end + 16);
    uint32_t count = u16(end + 10), matches = 0;
    entry x, found = {.method = 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!next_entry(in, &at, &x))
            return clv__fail(e, CLV_FORMAT, "npz: entry %u is malformed", i);
        if (!name || is_named(&x, name)) {
            found = x;
            matches++;
        }
    }
    if (matches != 1)
        return clv__fail(e, matches ? CLV_USAGE : CLV_NOT_FOUND,
                         matches ? "npz: %u entries; which one?"
                                 : "npz: none of %u entries is called that",
                         matches ? matches : count);
    return found.method ? parse_packed(&found, t, e)
                        : parse_npy(found.data, t, e);
}

/* -- the way in -----------------------------------------------------------*/

clv_status clv_tensor_parse(const char *kind, const void *data, size_t size,
                            const char *name, clv_tensor *out, clv_err *err)
{
    span in = {data, size};
    *out = (clv_tensor){0};
    clv__err_clear(err);
    if (!strcmp(kind, "npy"))
        return parse_npy(in, out, err);
    if (!strcmp(kind, "npz"))
        return parse_npz(in, name, out, err);
    if (!strcmp(kind, "pb"))
        return clv__tensor_pb(data, size, out, err);
    return clv__fail(err, CLV_USAGE, "no kind of tensor file '%s'", kind);
}

clv_status clv_tensor_read(const char *path, const char *name, clv_tensor *out,
                           clv_err *err)
{
    clv_mapping map;
    const char *dot = strrchr(path, '.');
    *out = (clv_tensor){0};
    clv__err_clear(err);
    if (!dot ||
        (strcmp(dot, ".npy") && strcmp(dot, ".npz") && strcmp(dot, ".pb")))
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

clv_status clv_tensor_npy(const clv_tensor *t, clv_buf *out, clv_err *err)
{
    const char *descr = NULL;
    char text[512];
    for (int i = 0; i < N_DESCRS; i++)
        if (descrs[i].dtype == t->dtype)
            descr = descrs[i].text;
    if (!descr)
        return clv__fail(err, CLV_UNSUPPORTED, "NumPy has no type for %s",
                         clv_dtype_name(t->dtype));
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         clv_dtype_bytes(t->dtype, 1) == 1 ? '|' : '<', descr);
    for (uint32_t i = 0; i < t->rank; i++)
        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%lld,%s",
                             (long long)t->dims[i], i + 1 < t->rank ? " " : "");
    n += (size_t)snprintf(text + n, sizeof text - n, "), }");
    while ((10 + n + 1) % 64)
        text[n++] = ' ';
    text[n++] = '\n';
    const char head[10] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(n & 255), (char)(n >> 8)};
    clv_buf_add(out, head, sizeof head);
    clv_buf_add(out, text, n);
    clv_buf_add(out, t->data, (size_t)clv_tensor_bytes(t));
    return out->failed ? clv__nomem(err) : CLV_OK;
}

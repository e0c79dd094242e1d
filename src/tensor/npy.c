/* npy.c - tensors in NumPy's .npy files.
 *
 * An .npy file is a magic, a header that is a Python dictionary in ASCII, and
 * the elements. Files are hostile: every length is checked before memory is
 * taken, and what is taken is no more than the file can hold. */
#include "tensor/npy.h"

#include "tensor/tensor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Reads type and shape; *at is where the elements begin. */
static clv_status parse_head(const uint8_t *in, size_t size, clv_tensor *t,
                             size_t *at, clv_err *e)
{
    enum { HEADER_MAX = 1 << 16 };
    if (size < 10 || memcmp(in, "\x93NUMPY", 6) != 0)
        return clv__fail(e, CLV_FORMAT, "npy: not such a file");
    bool wide = in[6] >= 2; /* four bytes of length, not two */
    size_t skip = wide ? 12 : 10;
    if (size < skip)
        return clv__fail(e, CLV_FORMAT, "npy: the header is cut off");
    size_t len = in[8] | (size_t)in[9] << 8;
    if (wide)
        len |= (size_t)in[10] << 16 | (size_t)in[11] << 24;
    if (len > size - skip || len >= HEADER_MAX)
        return clv__fail(e, CLV_FORMAT, "npy: the header is cut off");
    char *header = clv__alloc(len + 1);
    if (!header)
        return clv__nomem(e);
    memcpy(header, in + skip, len);
    header[len] = '\0';
    clv_status s = read_header(header, t, e);
    clv__free(header);
    *at = skip + len;
    return s;
}

clv_status clv__npy_parse(const void *data, size_t size, clv_tensor *out,
                          clv_err *e)
{
    size_t at = 0;
    *out = (clv_tensor){0};
    CLV_TRY(parse_head(data, size, out, &at, e));
    int64_t want = clv_tensor_bytes(out);
    size_t have = size - at;
    if (want < 0 || (uint64_t)want != have)
        return clv__fail(e, CLV_FORMAT,
                         "npy: %zu bytes of data, its shape needs %lld", have,
                         (long long)want);
    CLV_TRY(clv_tensor_alloc(out, e));
    if (have)
        memcpy(out->data, (const char *)data + at, have);
    return CLV_OK;
}

/* -- writing --------------------------------------------------------------*/

static const char *descr_of(const clv_tensor *t)
{
    for (int i = 0; i < N_DESCRS; i++)
        if (descrs[i].dtype == t->dtype && t->form == CLV_FORM_TENSOR)
            return descrs[i].text;
    return NULL;
}

bool clv_tensor_fits_npy(const clv_tensor *t)
{
    return descr_of(t) != NULL;
}

clv_status clv_tensor_npy(const clv_tensor *t, clv_buf *out, clv_err *err)
{
    char text[512];
    clv__err_clear(err);
    CLV_NEED(t, err);
    CLV_NEED(out, err);
    const char *descr = descr_of(t);
    if (!descr)
        return clv__fail(err, CLV_UNSUPPORTED, "NumPy has no type for %s",
                         t->form == CLV_FORM_TENSOR ? clv_dtype_name(t->dtype)
                                                    : "lists of tensors");
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         clv_dtype_bytes(t->dtype, 1) == 1 ? '|' : '<', descr);
    for (uint32_t i = 0; i < t->rank; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%lld%s",
                              (long long)t->dims[i],
                              i + 1 < t->rank ? ", "
                              : t->rank == 1  ? ","
                                              : "");
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

/* tensor_pb.c - a TensorProto with all its numbers, as dense memory.
 *
 * Numbers come as raw little-endian bytes, or one by one in the field of their
 * type; halves and small integers travel as int32. Nothing is allocated before
 * the file is seen to hold that many numbers. */
#include "formats/onnx/tensor_pb.h"

#include "formats/onnx/read.h"

#include <string.h>

typedef struct pb_tensor {
    uint32_t rank;
    int64_t dims[CLV_MAX_RANK];
    clv_dtype dtype;
    wire raw, all;
    bool has_raw, external;
} pb_tensor;

static clv_status tensor_field(const wire *w, const wire_field *f, pb_tensor *t,
                               clv_err *e)
{
    size_t n = t->rank;
    switch (f->number) {
    case PB_TENSOR_DIMS:
        CLV_TRY(wire_ints(f, t->dims, CLV_MAX_RANK, &n, e));
        if (n > CLV_MAX_RANK)
            return wire_fail(w, e, "a tensor of more than 16 axes");
        t->rank = (uint32_t)n;
        return CLV_OK;
    case PB_TENSOR_DATA_TYPE:
        t->dtype = onnx_dtype(f->value);
        return CLV_OK;
    case PB_TENSOR_RAW_DATA:
        t->raw = f->bytes;
        t->has_raw = true;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_TENSOR_DATA_LOCATION:
        t->external = f->value == PB_LOCATION_EXTERNAL;
        return CLV_OK;
    default:
        return CLV_OK;
    }
}

static clv_status tensor_head(wire w, pb_tensor *t, clv_err *e)
{
    *t = (pb_tensor){.all = w};
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        CLV_TRY(tensor_field(&w, &f, t, e));
    }
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0)
            return clv__fail(e, CLV_FORMAT, "a tensor with dimension %lld",
                             (long long)t->dims[i]);
    if (t->external)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "the tensor's data lies in another file");
    if (t->dtype == CLV_NODTYPE || t->dtype == CLV_STRING)
        return clv__fail(e, CLV_UNSUPPORTED, "a tensor of %s",
                         t->dtype == CLV_STRING ? "strings" : "no known type");
    return CLV_OK;
}

/* -- numbers one by one ---------------------------------------------------*/

typedef struct sink {
    clv_tensor *out;
    int64_t size, at, n; /* bytes of one number, how many there are */
} sink;

static void sink_bits(sink *s, uint64_t bits)
{
    if (s->at < s->n) /* little-endian, as the files are */
        memcpy((char *)s->out->data + s->at * s->size, &bits, (size_t)s->size);
    s->at++;
}

static clv_status tensor_one_by_one(sink *s, const wire_field *f, bool real,
                                    int width, clv_err *e)
{
    if (f->type != WIRE_BYTES) {
        sink_bits(s, f->value);
        return CLV_OK;
    }
    for (wire w = f->bytes; wire_left(&w);) {
        uint64_t bits = 0;
        if (!real) {
            CLV_TRY(wire_varint(&w, &bits, e));
        } else {
            if (wire_left(&w) < (size_t)width)
                return wire_fail(&w, e, "a number is cut off");
            memcpy(&bits, w.cur, (size_t)width);
            w.cur += width;
        }
        sink_bits(s, bits);
    }
    return CLV_OK;
}

/* A complex number is two floats; elements of few bits come a byte at a time.
 */
static clv_status tensor_typed(const pb_tensor *t, clv_tensor *out, clv_err *e)
{
    bool complex = t->dtype == CLV_COMPLEX64 || t->dtype == CLV_COMPLEX128;
    int64_t elements = clv_tensor_numel(out) * (complex ? 2 : 1);
    int64_t size = clv_dtype_bytes(t->dtype, 8) / (complex ? 16 : 8);
    sink s = {out, size ? size : 1, 0, size ? elements : clv_tensor_bytes(out)};
    for (wire w = t->all; wire_left(&w);) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        switch (f.number) {
        case PB_TENSOR_FLOAT_DATA:
            CLV_TRY(tensor_one_by_one(&s, &f, true, sizeof(float), e));
            break;
        case PB_TENSOR_DOUBLE_DATA:
            CLV_TRY(tensor_one_by_one(&s, &f, true, sizeof(double), e));
            break;
        case PB_TENSOR_INT32_DATA:
        case PB_TENSOR_INT64_DATA:
        case PB_TENSOR_UINT64_DATA:
            CLV_TRY(tensor_one_by_one(&s, &f, false, 0, e));
        }
    }
    if (s.at != s.n && s.at != elements)
        return clv__fail(e, CLV_FORMAT, "%lld numbers for %lld elements",
                         (long long)s.at, (long long)s.n);
    return CLV_OK;
}

/* Each number takes at least a byte of the file, or half of one. */
static clv_status tensor_allocate(const pb_tensor *t, clv_tensor *out,
                                  clv_err *e)
{
    int64_t bytes = clv_tensor_bytes(out), n = clv_tensor_numel(out);
    if (bytes < 0)
        return clv__fail(e, CLV_OVERFLOW, "the tensor does not fit 64 bits");
    if (t->has_raw && (int64_t)wire_left(&t->raw) != bytes)
        return clv__fail(e, CLV_FORMAT,
                         "%zu bytes of data, its shape needs %lld",
                         wire_left(&t->raw), (long long)bytes);
    if (!t->has_raw && n / 8 > (int64_t)wire_left(&t->all))
        return clv__fail(e, CLV_FORMAT, "%zu bytes cannot hold %lld elements",
                         wire_left(&t->all), (long long)n);
    out->data = clv__zalloc((size_t)bytes + 1);
    return out->data ? CLV_OK : clv__nomem(e);
}

clv_status clv__tensor_pb(const void *data, size_t size, clv_tensor *out,
                          clv_err *e)
{
    pb_tensor t;
    *out = (clv_tensor){0};
    CLV_TRY(tensor_head(wire_over(data, size), &t, e));
    out->dtype = t.dtype;
    out->rank = t.rank;
    memcpy(out->dims, t.dims, sizeof out->dims);
    CLV_TRY(tensor_allocate(&t, out, e));
    if (!t.has_raw) {
        clv_status s = tensor_typed(&t, out, e);
        if (s != CLV_OK)
            clv__free(out->data), out->data = NULL;
        return s;
    }
    if (wire_left(&t.raw))
        memcpy(out->data, t.raw.cur, wire_left(&t.raw));
    return CLV_OK;
}

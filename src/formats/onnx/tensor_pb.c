/* tensor_pb.c - a TensorProto with all its numbers, as dense memory; sequences
 * and optionals of them; and the same written.
 *
 * Numbers come as raw little-endian bytes, or one by one in the field of their
 * type; halves and small integers travel as int32. Nothing is allocated before
 * the file is seen to hold that many numbers. */
#include "formats/onnx/tensor_pb.h"

#include "formats/onnx/proto.h"
#include "formats/onnx/read.h"
#include "formats/onnx/types.h"
#include "tensor/tensor.h"

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
    if (t->dtype == CLV_NODTYPE)
        return clv__fail(e, CLV_UNSUPPORTED, "a tensor of no known type");
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

/* Texts lie in the file one by one; *out gets them in a block of its own. */
static clv_status tensor_texts(const pb_tensor *t, clv_tensor *out, clv_err *e)
{
    int64_t n = clv_tensor_numel(out), at = 0;
    if (n < 0 || n > (int64_t)wire_left(&t->all))
        return clv__fail(e, CLV_FORMAT, "%zu bytes cannot hold %lld texts",
                         wire_left(&t->all), (long long)n);
    clv_text *texts = clv__alloc(((size_t)n + 1) * sizeof *texts);
    if (!texts)
        return clv__nomem(e);
    clv_status s = CLV_OK;
    for (wire w = t->all; wire_left(&w) && s == CLV_OK;) {
        wire_field f;
        s = wire_next(&w, &f, e);
        if (s != CLV_OK || f.number != PB_TENSOR_STRING_DATA)
            continue;
        if (f.type == WIRE_BYTES && at < n)
            texts[at] =
                (clv_text){(const char *)f.bytes.cur, wire_left(&f.bytes)};
        at++;
    }
    if (s == CLV_OK && at != n)
        s = clv__fail(e, CLV_FORMAT, "%lld texts for %lld elements",
                      (long long)at, (long long)n);
    clv_tensor all = *out;
    all.data = texts;
    if (s == CLV_OK)
        s = clv__tensor_pack(&all, out, e);
    clv__free(texts);
    return s;
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
    if (t.dtype == CLV_STRING)
        return tensor_texts(&t, out, e);
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

/* -- sparse tensors -------------------------------------------------------*/

/* values (N), and the place of each: indices (N) in the flat tensor, or (N,R)
 * along its axes */
typedef struct pb_sparse {
    clv_tensor values, indices;
} pb_sparse;

static clv_status sparse_parts(wire w, pb_sparse *s, clv_tensor *dense,
                               clv_err *e)
{
    size_t rank = 0;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        clv_tensor *part = f.number == PB_SPARSE_VALUES    ? &s->values
                           : f.number == PB_SPARSE_INDICES ? &s->indices
                                                           : NULL;
        if (f.number == PB_SPARSE_DIMS)
            CLV_TRY(wire_ints(&f, dense->dims, CLV_MAX_RANK, &rank, e));
        if (!part || f.type != WIRE_BYTES)
            continue;
        if (part->data)
            return clv__fail(e, CLV_FORMAT, "a sparse tensor given twice");
        CLV_TRY(clv__tensor_pb(f.bytes.cur, wire_left(&f.bytes), part, e));
    }
    if (rank > CLV_MAX_RANK)
        return clv__fail(e, CLV_FORMAT, "a tensor of more than 16 axes");
    dense->rank = (uint32_t)rank;
    dense->dtype = s->values.dtype;
    return CLV_OK;
}

static clv_status sparse_check(const pb_sparse *s, const clv_tensor *dense,
                               clv_err *e)
{
    const clv_tensor *i = &s->indices;
    bool flat = i->rank == 1, along = i->rank == 2 && i->dims[1] == dense->rank;
    for (uint32_t d = 0; d < dense->rank; d++)
        if (dense->dims[d] < 0)
            return clv__fail(e, CLV_FORMAT, "a tensor with dimension %lld",
                             (long long)dense->dims[d]);
    if (!s->values.data || dense->dtype == CLV_STRING || s->values.rank != 1)
        return clv__fail(e, CLV_FORMAT, "a sparse tensor without values");
    if (s->values.dims[0] &&
        (!i->data || i->dtype != CLV_INT64 || (!flat && !along) ||
         i->dims[0] != s->values.dims[0]))
        return clv__fail(e, CLV_FORMAT,
                         "a sparse tensor whose indices do not fit");
    return clv_tensor_bytes(dense) < 0
               ? clv__fail(e, CLV_OVERFLOW, "the tensor does not fit 64 bits")
               : CLV_OK;
}

/* The place of value v; -1: outside. */
static int64_t sparse_place(const pb_sparse *s, const clv_tensor *dense,
                            int64_t v)
{
    int64_t at = 0;
    if (s->indices.rank == 1) {
        at = get_i(&s->indices, v);
        return at < clv_tensor_numel(dense) ? at : -1;
    }
    for (uint32_t d = 0; d < dense->rank; d++) {
        int64_t i = get_i(&s->indices, v * dense->rank + d);
        if (i < 0 || i >= dense->dims[d])
            return -1;
        at = at * dense->dims[d] + i;
    }
    return at;
}

static clv_status sparse_spread(const pb_sparse *s, clv_tensor *dense,
                                clv_err *e)
{
    CLV_TRY(sparse_check(s, dense, e));
    dense->data = clv__zalloc((size_t)clv_tensor_bytes(dense) + 1);
    if (!dense->data)
        return clv__nomem(e);
    for (int64_t v = 0; v < s->values.dims[0]; v++) {
        int64_t at = sparse_place(s, dense, v);
        if (at < 0)
            return clv__fail(e, CLV_FORMAT,
                             "value %lld of a sparse tensor lies outside it",
                             (long long)v);
        copy_run(dense, at, &s->values, v, 1);
    }
    return CLV_OK;
}

clv_status clv__sparse_pb(const void *data, size_t size, clv_tensor *out,
                          clv_err *e)
{
    pb_sparse s = {0};
    *out = (clv_tensor){0};
    clv_status st = sparse_parts(wire_over(data, size), &s, out, e);
    if (st == CLV_OK)
        st = sparse_spread(&s, out, e);
    clv__free(s.values.data);
    clv__free(s.indices.data);
    if (st != CLV_OK)
        clv__free(out->data), out->data = NULL;
    return st;
}

/* -- sequences and optionals ----------------------------------------------*/

/* How many tensors and sequences the list holds; its element type. */
static clv_status list_head(wire w, int64_t *count, uint64_t *type, clv_err *e)
{
    *count = 0;
    *type = 0;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_LIST_ELEM_TYPE && f.type == WIRE_VARINT)
            *type = f.value;
        *count += f.type == WIRE_BYTES &&
                  (f.number == PB_LIST_TENSOR || f.number == PB_LIST_SEQUENCE);
    }
    if (*type > PB_LIST_OF_TENSORS && *type != PB_LIST_OF_SEQUENCES)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "a list of sparse tensors, maps or optionals");
    return CLV_OK;
}

static clv_status list_items(wire w, clv_form form, clv_tensor *items,
                             clv_err *e)
{
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.type != WIRE_BYTES)
            continue;
        if (f.number == PB_LIST_SEQUENCE && form != CLV_FORM_OPTIONAL)
            return clv__fail(e, CLV_UNSUPPORTED, "a sequence of sequences");
        if (f.number == PB_LIST_SEQUENCE)
            CLV_TRY(clv__list_pb(f.bytes.cur, wire_left(&f.bytes),
                                 CLV_FORM_SEQUENCE, items++, e));
        if (f.number == PB_LIST_TENSOR)
            CLV_TRY(
                clv__tensor_pb(f.bytes.cur, wire_left(&f.bytes), items++, e));
    }
    return CLV_OK;
}

clv_status clv__list_pb(const void *data, size_t size, clv_form form,
                        clv_tensor *out, clv_err *e)
{
    wire w = wire_over(data, size);
    int64_t n;
    uint64_t type;
    *out = (clv_tensor){0};
    CLV_TRY(list_head(w, &n, &type, e));
    if (form == CLV_FORM_OPTIONAL && n > 1)
        return clv__fail(e, CLV_FORMAT, "an optional of %lld values",
                         (long long)n);
    clv_tensor *items = clv__zalloc(((size_t)n + 1) * sizeof *items);
    if (!items)
        return clv__nomem(e);
    clv_status s = list_items(w, form, items, e);
    clv_tensor all = {.form = form, .rank = 1, .dims = {n}, .data = items};
    all.dtype = n ? items[0].dtype : CLV_NODTYPE;
    if (s == CLV_OK)
        s = clv__tensor_pack(&all, out, e);
    for (int64_t i = 0; i < n; i++)
        clv__free(items[i].data);
    clv__free(items);
    return s;
}

/* -- writing --------------------------------------------------------------*/

static clv_status write_tensor(const clv_tensor *t, const char *name,
                               clv_buf *out, clv_err *e)
{
    int type = onnx_dtype_number(t->dtype);
    int64_t bytes = clv_tensor_bytes(t);
    if (!type || bytes < 0)
        return clv__fail(e, CLV_UNSUPPORTED, "ONNX has no type for %s",
                         clv_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++)
        pb_uint(out, PB_TENSOR_DIMS, (uint64_t)t->dims[i]);
    pb_uint(out, PB_TENSOR_DATA_TYPE, (uint64_t)type);
    if (t->dtype == CLV_STRING)
        for (int64_t i = 0, n = numel(t); i < n; i++) {
            clv_text x = clv_tensor_text(t, i);
            pb_bytes(out, PB_TENSOR_STRING_DATA, x.n ? x.s : "", x.n);
        }
    else
        pb_bytes(out, PB_TENSOR_RAW_DATA, t->data, (size_t)bytes);
    if (name)
        pb_text(out, PB_TENSOR_NAME, name);
    return CLV_OK;
}

static clv_status write_list(const clv_tensor *t, const char *name,
                             clv_buf *out, clv_err *e)
{
    const clv_tensor *x = clv_tensor_item(t, 0);
    bool nested = x && x->form != CLV_FORM_TENSOR;
    if (name)
        pb_text(out, PB_LIST_NAME, name);
    pb_uint(out, PB_LIST_ELEM_TYPE,
            nested ? PB_LIST_OF_SEQUENCES : PB_LIST_OF_TENSORS);
    for (int64_t i = 0; (x = clv_tensor_item(t, i)); i++) {
        clv_buf one = {0};
        clv_status s = nested ? write_list(x, NULL, &one, e)
                              : write_tensor(x, NULL, &one, e);
        pb_message(out, nested ? PB_LIST_SEQUENCE : PB_LIST_TENSOR, &one);
        if (s != CLV_OK)
            return s;
    }
    return CLV_OK;
}

clv_status clv_tensor_pb(const clv_tensor *t, const char *name, clv_buf *out,
                         clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(t, err);
    CLV_NEED(out, err);
    CLV_TRY(t->form == CLV_FORM_TENSOR ? write_tensor(t, name, out, err)
                                       : write_list(t, name, out, err));
    return out->failed ? clv__nomem(err) : CLV_OK;
}

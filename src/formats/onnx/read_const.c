/* read_const.c - TensorProto: initializers, Constant nodes, tensor attributes.
 *
 * A tensor becomes a value with its type and shape; its bytes are pointed at
 * where they lie in the file, or named where external data has them, and are
 * not read. Only small integers are (at most ONNX_MAX_LISTS: shapes, axes,
 * indices), single numbers, and what stands in a Constant node, because shape
 * arithmetic needs them. */
#include "formats/onnx/proto.h"
#include "formats/onnx/read.h"
#include "formats/onnx/tensor_pb.h"
#include "formats/onnx/types.h"
#include "tensor/small_float.h"
#include "tensor/tensor.h"

#include <string.h>

static bool const_is_float(clv_dtype t)
{
    return t == CLV_FLOAT32 || t == CLV_FLOAT16 || t == CLV_BFLOAT16 ||
           t == CLV_FLOAT64;
}

clv_dtype onnx_counted(const reader *r, clv_dtype t)
{
    return clv__build_dtype(r->opts, t);
}

typedef struct tensor {
    text name, location, offset, length;
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    clv_dtype dtype;
    bool external, has_raw;
    bool fixed;     /* our writer's word that it is not a parameter */
    bool learned;   /* and that it is one */
    uint32_t typed; /* number of the field that holds typed data, or 0 */
    wire raw, all;
} tensor;

/* -- reading --------------------------------------------------------------*/

clv_status onnx_entry(wire w, text *key, text *value, clv_err *e)
{
    *key = *value = (text){"", 0};
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.type == WIRE_BYTES && f.number == PB_ENTRY_KEY)
            *key = text_of(f.bytes);
        else if (f.type == WIRE_BYTES && f.number == PB_ENTRY_VALUE)
            *value = text_of(f.bytes);
    }
    return CLV_OK;
}

static clv_status const_external(wire w, tensor *t, clv_err *e)
{
    text key, value;
    CLV_TRY(onnx_entry(w, &key, &value, e));
    if (text_is(key, "location"))
        t->location = value;
    else if (text_is(key, "offset"))
        t->offset = value;
    else if (text_is(key, "length"))
        t->length = value;
    return CLV_OK;
}

static clv_status const_dims(const wire *w, const wire_field *f, tensor *t,
                             clv_err *e)
{
    size_t n = t->rank;
    CLV_TRY(wire_ints(f, t->dims, CLV_MAX_RANK, &n, e));
    if (n > CLV_MAX_RANK)
        return wire_fail(w, e, "a tensor of more than 16 axes");
    t->rank = (uint32_t)n;
    return CLV_OK;
}

static clv_status const_field(const wire *w, const wire_field *f, tensor *t,
                              clv_err *e)
{
    switch (f->number) {
    case PB_TENSOR_DIMS:
        return const_dims(w, f, t, e);
    case PB_TENSOR_DATA_TYPE:
        t->dtype = onnx_dtype(f->value);
        return wire_expect(w, f, WIRE_VARINT, e);
    case PB_TENSOR_FLOAT_DATA:
    case PB_TENSOR_INT32_DATA:
    case PB_TENSOR_STRING_DATA:
    case PB_TENSOR_INT64_DATA:
    case PB_TENSOR_DOUBLE_DATA:
    case PB_TENSOR_UINT64_DATA:
        t->typed = f->number;
        return CLV_OK;
    case PB_TENSOR_NAME:
        t->name = text_of(f->bytes);
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_TENSOR_RAW_DATA:
        t->raw = f->bytes;
        t->has_raw = true;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_TENSOR_DOC:
        t->fixed =
            f->type == WIRE_BYTES && text_is(text_of(f->bytes), PB_NOT_LEARNED);
        t->learned =
            f->type == WIRE_BYTES && text_is(text_of(f->bytes), PB_LEARNED);
        return CLV_OK;
    case PB_TENSOR_EXTERNAL_DATA:
        CLV_TRY(wire_expect(w, f, WIRE_BYTES, e));
        return const_external(f->bytes, t, e);
    case PB_TENSOR_DATA_LOCATION:
        t->external = f->value == PB_LOCATION_EXTERNAL;
        return wire_expect(w, f, WIRE_VARINT, e);
    default:
        return CLV_OK;
    }
}

static clv_status const_check(const wire *start, const tensor *t, clv_err *e)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: tensor '%.*s' has dimension %lld",
                             (size_t)(start->cur - start->file), TEXT(t->name),
                             (long long)t->dims[i]);
    if (t->dtype == CLV_NODTYPE)
        return clv__fail(e, CLV_FORMAT,
                         "byte %zu: tensor '%.*s' has no known type",
                         (size_t)(start->cur - start->file), TEXT(t->name));
    return CLV_OK;
}

static clv_status const_read(wire w, tensor *t, clv_err *e)
{
    wire start = w;
    *t = (tensor){.all = w};
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        CLV_TRY(const_field(&w, &f, t, e));
    }
    return const_check(&start, t, e);
}

/* The fields before the raw bytes, from a copy of the tensor's head; false
 * where anything follows those, or the copy shows less. */
static bool const_peek(reader *r, wire w, tensor *t)
{
    enum { RAW_DATA = PB_TENSOR_RAW_DATA << 3 | WIRE_BYTES };
    wire head = onnx_peek(r, w);
    const uint8_t *begin = head.cur;
    while (wire_left(&head)) {
        wire at = head;
        wire_field f;
        uint64_t key, size;
        if (wire_varint(&at, &key, NULL) != CLV_OK ||
            wire_varint(&at, &size, NULL) != CLV_OK)
            return false;
        if (key == RAW_DATA &&
            size == wire_left(&w) - (size_t)(at.cur - begin)) {
            t->raw = (wire){w.end - size, w.end, w.file};
            return t->has_raw = true;
        }
        if (wire_next(&head, &f, NULL) != CLV_OK ||
            const_field(&head, &f, t, NULL) != CLV_OK)
            return false;
    }
    return false;
}

/* A stored tensor: what it holds lies between its head and the next one's. */
static clv_status const_read_stored(reader *r, wire w, tensor *t, clv_err *e)
{
    *t = (tensor){.all = w};
    if (!const_peek(r, w, t))
        return const_read(w, t, e);
    t->name.s = arena_strndup(&r->mem, t->name.s, t->name.n);
    return t->name.s ? const_check(&w, t, e) : clv__nomem(e);
}

/* -- contents -------------------------------------------------------------*/

static double const_double(clv_dtype t, uint64_t bits)
{
    if (t == CLV_FLOAT64) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (t == CLV_FLOAT32) {
        float x;
        uint32_t low = (uint32_t)bits;
        memcpy(&x, &low, sizeof x);
        return (double)x;
    }
    return clv__small_decode(t, (uint32_t)bits & 0xffff);
}

static int64_t const_int(clv_dtype t, uint64_t bits)
{
    switch (t) {
    case CLV_INT8:
        return (int8_t)bits;
    case CLV_INT16:
        return (int16_t)bits;
    case CLV_INT32:
        return (int32_t)bits;
    case CLV_BOOL:
        return bits != 0;
    default:
        return (int64_t)bits;
    }
}

/* Element i of little-endian bytes. */
static uint64_t const_bits(const uint8_t *p, size_t size, size_t i)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < size; k++)
        bits |= (uint64_t)p[i * size + k] << (8 * k);
    return bits;
}

static bool const_whole_bytes(clv_dtype t)
{
    return const_is_float(t) || t == CLV_BOOL ||
           (t >= CLV_INT8 && t <= CLV_UINT64);
}

static clv_status const_decode_raw(clv_graph *g, clv_value *v, const uint8_t *p,
                                   uint32_t n, clv_err *e)
{
    clv_dtype t = (clv_dtype)v->dtype;
    size_t size = (size_t)clv_dtype_bytes(t, 1);
    void *list = arena_array(&g->mem, n, sizeof(int64_t));
    if (!list)
        return clv__nomem(e);
    int64_t *ints = list;
    double *floats = list;
    for (uint32_t i = 0; i < n; i++) {
        if (const_is_float(t))
            floats[i] = const_double(t, const_bits(p, size, i));
        else
            ints[i] = const_int(t, const_bits(p, size, i));
    }
    v->data->n = n;
    if (const_is_float(t))
        v->data->floats = floats;
    else
        v->data->ints = ints;
    return CLV_OK;
}

/* Typed data: one number per element; half floats come as their bits. */
static clv_status const_decode_typed(clv_graph *g, clv_value *v,
                                     const tensor *t, uint32_t n, clv_err *e)
{
    bool wide =
        t->typed == PB_TENSOR_FLOAT_DATA || t->typed == PB_TENSOR_DOUBLE_DATA;
    void *list = arena_array(&g->mem, n, sizeof(int64_t));
    if (!list)
        return clv__nomem(e);
    int64_t *ints = list;
    double *floats = list;
    size_t got = 0;
    for (wire w = t->all; wire_left(&w);) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number != t->typed)
            continue;
        CLV_TRY(f.number == PB_TENSOR_FLOAT_DATA
                    ? wire_floats(&f, floats, n, &got, e)
                : f.number == PB_TENSOR_DOUBLE_DATA
                    ? wire_doubles(&f, floats, n, &got, e)
                    : wire_ints(&f, ints, n, &got, e));
    }
    if (got != n)
        return clv__fail(e, CLV_FORMAT,
                         "tensor '%.*s' has %zu numbers for %u elements",
                         TEXT(t->name), got, n);
    for (uint32_t i = 0; !wide && i < n; i++) {
        uint64_t bits = (uint64_t)ints[i];
        if (const_is_float(t->dtype))
            floats[i] = const_double(t->dtype, bits);
        else
            ints[i] = const_int(t->dtype, bits);
    }
    if (wide != const_is_float(t->dtype) && wide)
        return CLV_OK; /* complex numbers come as pairs of floats */
    v->data->n = n;
    if (const_is_float(t->dtype))
        v->data->floats = floats;
    else
        v->data->ints = ints;
    return CLV_OK;
}

clv_status onnx_contents(clv_graph *g, uint32_t id, clv_err *e)
{
    clv_value *v = &g->values[id];
    const clv_payload *data = v->data;
    int64_t n = data ? clv__numel(v) : 0;
    tensor t;
    if (!data || data->ints || data->floats || n > ONNX_MAX_LISTS ||
        !const_whole_bytes((clv_dtype)v->dtype))
        return CLV_OK;
    if (data->bytes)
        return const_decode_raw(g, v, data->bytes, (uint32_t)n, e);
    if (!data->proto)
        return CLV_OK;
    CLV_TRY(
        const_read(wire_over(data->proto, (size_t)data->proto_size), &t, e));
    return t.typed ? const_decode_typed(g, v, &t, (uint32_t)n, e) : CLV_OK;
}

/* -- external data --------------------------------------------------------*/

/* Relative, and no step out of the model's folder. */
static bool const_stays_inside(text path)
{
    if (path.n == 0 || path.s[0] == '/' || memchr(path.s, 0, path.n) ||
        memchr(path.s, '\\', path.n))
        return false;
    for (size_t i = 0; i < path.n;) {
        size_t part = i;
        while (i < path.n && path.s[i] != '/')
            i++;
        if (i - part == 2 && !memcmp(path.s + part, "..", 2))
            return false;
        i++;
    }
    return true;
}

static bool const_decimal(text t, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9' || *out > UINT64_MAX / 10 - 1)
            return false;
        *out = *out * 10 + (uint64_t)(t.s[i] - '0');
    }
    return true;
}

static clv_status const_locate(clv_graph *g, const tensor *t, clv_payload *data,
                               clv_err *e)
{
    if (!const_stays_inside(t->location))
        return clv__fail(e, CLV_FORMAT,
                         "tensor '%.*s': its data '%.*s' would lie outside "
                         "the model's folder",
                         TEXT(t->name), TEXT(t->location));
    if (!const_decimal(t->offset, &data->offset) ||
        !const_decimal(t->length, &data->size))
        return clv__fail(e, CLV_FORMAT,
                         "tensor '%.*s': external offset '%.*s', length "
                         "'%.*s'",
                         TEXT(t->name), TEXT(t->offset), TEXT(t->length));
    data->file = arena_strndup(&g->mem, t->location.s, t->location.n);
    return data->file ? CLV_OK : clv__nomem(e);
}

/* -- values ---------------------------------------------------------------*/

/* Raw bytes must be as many as type and shape say. */
static clv_status const_point_at(const tensor *t, clv_value *v, clv_err *e)
{
    int64_t want = clv__bytes(v);
    if (t->dtype != CLV_STRING && (int64_t)wire_left(&t->raw) != want)
        return clv__fail(e, CLV_FORMAT,
                         "byte %zu: tensor '%.*s' has %zu bytes of data, its "
                         "shape needs %lld",
                         (size_t)(t->raw.cur - t->raw.file), TEXT(t->name),
                         wire_left(&t->raw), (long long)want);
    v->data->bytes = t->raw.cur;
    v->data->size = wire_left(&t->raw);
    return CLV_OK;
}

static bool const_worth_reading(const tensor *t, int64_t n, bool initializer)
{
    if (n > ONNX_MAX_LISTS || !const_whole_bytes(t->dtype))
        return false;
    return !const_is_float(t->dtype) || n <= 1 || !initializer;
}

static clv_status const_fill(clv_graph *g, const tensor *t, uint32_t id,
                             bool initializer, clv_err *e)
{
    clv_value *v = &g->values[id];
    int64_t n = clv__numel(v);
    if (!t->external && !t->has_raw && !t->typed && n > 0)
        return CLV_OK; /* weights left out: a shape is all we need */
    clv_payload *data = clv__value_data(g, id);
    if (!data)
        return clv__nomem(e);
    if (t->external)
        return const_locate(g, t, data, e);
    if (t->has_raw && !t->typed)
        CLV_TRY(const_point_at(t, v, e));
    else {
        data->proto = t->all.cur;
        data->proto_size = wire_left(&t->all);
    }
    if (!const_worth_reading(t, n, initializer))
        return CLV_OK;
    if (t->has_raw && !t->typed)
        return const_decode_raw(g, v, t->raw.cur, (uint32_t)n, e);
    return const_decode_typed(g, v, t, (uint32_t)n, e);
}

static clv_status const_add(reader *r, unit *u, const tensor *t, text name,
                            bool initializer, uint32_t *out, clv_err *e)
{
    clv_graph *g = u->g;
    char *own = name.n ? onnx_name(&g->mem, name) : NULL;
    uint32_t v = own || !name.n
                     ? clv__value_add(g, own, CLV_VALUE_CONST, t->dtype)
                     : CLV_NONE;
    if (v == CLV_NONE || !clv__value_set_shape(g, v, t->rank, t->dims))
        return clv__nomem(e);
    int64_t n = clv__numel(&g->values[v]);
    if (n == CLV_SAT || clv__bytes(&g->values[v]) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "tensor '%.*s': its size does not fit 64 bits",
                         TEXT(name));
    CLV_TRY(const_fill(g, t, v, initializer, e));
    if (initializer && (n > 1 || t->learned) && !t->fixed &&
        (const_is_float(t->dtype) || t->dtype >= CLV_FLOAT8E4M3))
        g->values[v].kind = clv__import_is_buffer(name.s, name.n)
                                ? CLV_VALUE_BUFFER
                                : CLV_VALUE_PARAM;
    clv_dtype counted = onnx_counted(r, t->dtype);
    if (counted != t->dtype && g->values[v].data)
        g->values[v].data->bytes = g->values[v].data->proto =
            NULL; /* they are of the other type */
    g->values[v].dtype = (uint8_t)counted;
    *out = v;
    return CLV_OK;
}

clv_status onnx_tensor(reader *r, unit *u, wire w, text *name, bool initializer,
                       uint32_t *value, clv_err *e)
{
    tensor t;
    CLV_TRY(initializer ? const_read_stored(r, w, &t, e)
                        : const_read(w, &t, e));
    if (initializer)
        *name = t.name;
    u->stores |= initializer;
    CLV_TRY(const_add(r, u, &t, *name, initializer, value, e));
    return initializer || onnx_set_role(u, *value, ONNX_IN_NODE)
               ? CLV_OK
               : clv__nomem(e);
}

bool onnx_is_even(const clv_value *v)
{
    const clv_payload *data = v->data;
    int64_t n = clv__numel(v);
    if (!data || !data->bytes || n < 1 || data->size / (uint64_t)n < 1)
        return false;
    const char *bytes = data->bytes;
    size_t one = (size_t)(data->size / (uint64_t)n);
    return !memcmp(bytes, bytes + one, (size_t)data->size - one);
}

/* What shape arithmetic may need of a sparse tensor: all its numbers. */
static clv_status const_list_sparse(clv_graph *g, uint32_t id, clv_err *e)
{
    clv_payload *data = g->values[id].data;
    clv_tensor t;
    CLV_TRY(clv__sparse_pb(data->proto, (size_t)data->proto_size, &t, e));
    uint32_t n = (uint32_t)clv_tensor_numel(&t);
    void *list = arena_array(&g->mem, n, sizeof(int64_t));
    bool real = const_is_float(t.dtype);
    int64_t *ints = list;
    double *floats = list;
    for (uint32_t i = 0; list && i < n; i++)
        if (real)
            floats[i] = get_f(&t, i);
        else
            ints[i] = get_i(&t, i);
    clv__free(t.data);
    data->n = n;
    data->floats = real ? floats : NULL;
    data->ints = real ? NULL : ints;
    return list ? CLV_OK : clv__nomem(e);
}

/* SparseTensorProto: the name and type of its values, dense dims. */
clv_status onnx_sparse(reader *r, unit *u, wire w, text *name, uint32_t *value,
                       clv_err *e)
{
    tensor dense = {0}, values = {0};
    const wire all = w;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_SPARSE_VALUES && f.type == WIRE_BYTES)
            CLV_TRY(const_read(f.bytes, &values, e));
        else if (f.number == PB_SPARSE_DIMS)
            CLV_TRY(const_dims(&w, &f, &dense, e));
    }
    for (uint32_t i = 0; i < dense.rank; i++)
        if (dense.dims[i] < 0)
            return wire_fail(&w, e, "a sparse tensor of negative size");
    dense.dtype = values.dtype;
    if (!name->n)
        *name = values.name;
    CLV_TRY(const_add(r, u, &dense, *name, true, value, e));
    clv_payload *data = clv__value_data(u->g, *value);
    if (!data)
        return clv__nomem(e);
    data->proto = all.cur;
    data->proto_size = wire_left(&all);
    data->sparse = true;
    return const_worth_reading(&dense, clv__numel(&u->g->values[*value]), true)
               ? const_list_sparse(u->g, *value, e)
               : CLV_OK;
}

clv_status onnx_const_ints(clv_graph *g, uint32_t v, uint32_t rank,
                           const int64_t *ints, uint32_t n, clv_err *e)
{
    int64_t dim = n, *own = arena_array(&g->mem, n, sizeof *own);
    clv_payload *data = clv__value_data(g, v);
    if (!own || !data || !clv__value_set_shape(g, v, rank, &dim))
        return clv__nomem(e);
    if (n)
        memcpy(own, ints, n * sizeof *own);
    data->ints = own;
    data->n = n;
    g->values[v].dtype = CLV_INT64;
    return CLV_OK;
}

/* -- Constant nodes without a tensor --------------------------------------*/

static clv_status const_floats(clv_graph *g, uint32_t v, uint32_t rank,
                               const double *floats, uint32_t n, clv_err *e)
{
    int64_t dim = n;
    double *own = arena_array(&g->mem, n, sizeof *own);
    clv_payload *data = clv__value_data(g, v);
    if (!own || !data || !clv__value_set_shape(g, v, rank, &dim))
        return clv__nomem(e);
    if (n)
        memcpy(own, floats, n * sizeof *own);
    data->floats = own;
    data->n = n;
    g->values[v].dtype = CLV_FLOAT32;
    return CLV_OK;
}

/* Texts are held as the TensorProto that a file would have. */
static clv_status const_texts(clv_graph *g, uint32_t v, uint32_t rank,
                              const char *const *texts, uint32_t n, clv_err *e)
{
    int64_t dim = n;
    clv_buf b = {0};
    clv_payload *data = clv__value_data(g, v);
    if (rank)
        pb_uint(&b, PB_TENSOR_DIMS, n);
    pb_uint(&b, PB_TENSOR_DATA_TYPE, (uint64_t)onnx_dtype_number(CLV_STRING));
    for (uint32_t i = 0; i < n; i++)
        pb_text(&b, PB_TENSOR_STRING_DATA, texts[i]);
    char *own = b.failed ? NULL : arena_strndup(&g->mem, b.text, b.len);
    if (data && own) {
        data->proto = own;
        data->proto_size = b.len;
    }
    clv_buf_free(&b);
    return data && own && clv__value_set_shape(g, v, rank, &dim)
               ? CLV_OK
               : clv__nomem(e);
}

clv_status onnx_const_attr(clv_graph *g, const clv_attr *attrs, uint32_t n,
                           uint32_t *value, clv_err *e)
{
    *value = CLV_NONE;
    if (n == 0)
        return CLV_OK;
    const clv_attr *a = &attrs[0];
    uint32_t v = clv__value_add(g, NULL, CLV_VALUE_CONST, CLV_STRING);
    if (v == CLV_NONE)
        return clv__nomem(e);
    *value = v;
    switch (a->type) {
    case CLV_ATTR_INT:
        return onnx_const_ints(g, v, 0, &a->u.i, 1, e);
    case CLV_ATTR_INTS:
        return onnx_const_ints(g, v, 1, a->u.ints, a->n, e);
    case CLV_ATTR_FLOAT:
        return const_floats(g, v, 0, &a->u.f, 1, e);
    case CLV_ATTR_FLOATS:
        return const_floats(g, v, 1, a->u.floats, a->n, e);
    case CLV_ATTR_STRING:
        return const_texts(g, v, 0, &a->u.s, 1, e);
    case CLV_ATTR_STRINGS:
        return const_texts(g, v, 1, a->u.strings, a->n, e);
    default:
        return clv__fail(e, CLV_FORMAT, "attribute '%s' is no constant",
                         a->name);
    }
}

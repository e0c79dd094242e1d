/* tensor.c - tensors of a subgraph become values of a graph.
 *
 * A stored tensor points at its bytes in the file, which are not read: inside
 * the FlatBuffer, behind it (files over 2 GB), or in a file beside the model.
 * Only small lists of integers are, and single numbers, because shapes depend
 * on them. */
#include "formats/tflite/tflite.h"

#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

/* Fields of the tables, by number. */
enum {
    TENSOR_SHAPE = 0,
    TENSOR_TYPE = 1,
    TENSOR_BUFFER = 2,
    TENSOR_NAME = 3,
    TENSOR_QUANTIZATION = 4,
    TENSOR_IS_VARIABLE = 5,
    TENSOR_SPARSITY = 6,
    TENSOR_SIGNATURE = 7,
    TENSOR_HAS_RANK = 8,
    TENSOR_EXTERNAL = 10,
    QUANT_SCALE = 2,
    QUANT_ZERO = 3,
    QUANT_DETAILS_TYPE = 4,
    QUANT_DETAILS = 5,
    QUANT_AXIS = 6,
    DETAILS_BLOCKWISE = 2,
    BLOCK_SCALES = 0,
    BLOCK_ZEROS = 1,
    BLOCK_SIZE = 2,
    BUFFER_DATA = 0,
    BUFFER_OFFSET = 1,
    BUFFER_SIZE = 2,
    EXTERNAL_ID = 0,
    EXTERNAL_GROUP = 1,
    EXTERNAL_OFFSET = 2,
    EXTERNAL_LENGTH = 3,
    GROUP_NAME = 0
};

clv_dtype tfl_dtype(int64_t code)
{
    static const uint8_t types[] = {
        [0] = CLV_FLOAT32, [1] = CLV_FLOAT16,     [2] = CLV_INT32,
        [3] = CLV_UINT8,   [4] = CLV_INT64,       [5] = CLV_STRING,
        [6] = CLV_BOOL,    [7] = CLV_INT16,       [8] = CLV_COMPLEX64,
        [9] = CLV_INT8,    [10] = CLV_FLOAT64,    [11] = CLV_COMPLEX128,
        [12] = CLV_UINT64, [15] = CLV_UINT32,     [16] = CLV_UINT16,
        [17] = CLV_INT4,   [18] = CLV_BFLOAT16,   [19] = CLV_INT2,
        [20] = CLV_UINT4,  [21] = CLV_FLOAT8E4M3, [22] = CLV_FLOAT8E5M2};
    return code >= 0 && code < (int64_t)sizeof types ? (clv_dtype)types[code]
                                                     : CLV_NODTYPE;
}

/* -- what the file says ---------------------------------------------------*/

static bool tensor_sizes(tfl_scope *s, tfl_tensor *t)
{
    flat *f = &s->m->f;
    flat_vector shape = flat_list(f, t->is, TENSOR_SHAPE, 4);
    flat_vector open = flat_list(f, t->is, TENSOR_SIGNATURE, 4);
    if (shape.n > CLV_MAX_RANK) {
        flat_fail(f, shape.at, "tensor '%s' has %u axes, at most %d", t->name,
                  shape.n, CLV_MAX_RANK);
        return false;
    }
    t->rank = shape.n;
    for (uint32_t i = 0; i < shape.n; i++) {
        t->dims[i] = flat_i32_at(f, shape, i);
        if (t->dims[i] < 0) {
            flat_fail(f, shape.at, "tensor '%s' has dimension %lld", t->name,
                      (long long)t->dims[i]);
            return false;
        }
    }
    /* No shape at all: a scalar, or a rank that only running tells. */
    if (!shape.n && !t->stored && !flat_i8(f, t->is, TENSOR_HAS_RANK, 0) &&
        open.n == 0 && !shape.at)
        t->rank = CLV_NO_RANK;
    return f->status == CLV_OK;
}

static bool tensor_read(tfl_scope *s, flat_vector all, uint32_t i)
{
    flat *f = &s->m->f;
    tfl_tensor *t = &s->tensors[i];
    *t = (tfl_tensor){.value = CLV_NONE,
                      .first = CLV_NONE,
                      .real = CLV_NONE,
                      .real_first = CLV_NONE};
    t->is = flat_item(f, all, i);
    flat_text name = flat_string(f, t->is, TENSOR_NAME);
    char *own = name.n ? arena_strndup(&s->m->g->mem, name.s, name.n)
                       : arena_printf(&s->m->g->mem, "tensor_%u", i);
    if (!own)
        return tfl_nomem(s->m);
    clv__import_scrub(own, strlen(own));
    t->name = own;
    t->dtype = tfl_dtype(flat_i8(f, t->is, TENSOR_TYPE, 0));
    t->variable = flat_i8(f, t->is, TENSOR_IS_VARIABLE, 0) != 0;
    return tensor_sizes(s, t);
}

clv_status tfl_tensors(tfl_scope *s)
{
    flat *f = &s->m->f;
    flat_vector all = flat_list(f, s->is, 0, 4);
    s->n_tensors = all.n;
    s->tensors = arena_array(&s->m->mem, all.n + 1u, sizeof *s->tensors);
    if (!s->tensors)
        return f->status = clv__nomem(f->e);
    for (uint32_t i = 0; i < all.n; i++)
        if (!tensor_read(s, all, i))
            return f->status;
    return f->status;
}

/* -- stored bytes ---------------------------------------------------------*/

typedef struct tensor_bytes {
    const uint8_t *data;
    uint64_t size;
    const char *file; /* or at `offset` of a file beside the model */
    uint64_t offset;
} tensor_bytes;

/* The external buffer that the tensor names by its id. */
static bool tensor_external(tfl_model *m, const tfl_tensor *t,
                            tensor_bytes *out)
{
    flat *f = &m->f;
    uint32_t id = flat_u32(f, t->is, TENSOR_EXTERNAL);
    for (uint32_t i = 0; id && i < m->external.n && f->status == CLV_OK; i++) {
        flat_table x = flat_item(f, m->external, i);
        if (flat_u32(f, x, EXTERNAL_ID) != id)
            continue;
        uint32_t group = flat_u32(f, x, EXTERNAL_GROUP);
        flat_table g = flat_item(f, m->groups, group);
        flat_text name = flat_string(f, g, GROUP_NAME);
        out->file = arena_strndup(&m->g->mem, name.s, name.n);
        out->offset = (uint64_t)flat_i64(f, x, EXTERNAL_OFFSET, 0);
        out->size = (uint64_t)flat_i64(f, x, EXTERNAL_LENGTH, 0);
        return out->file ? name.n > 0 : tfl_nomem(m);
    }
    return false;
}

/* Where the contents of a tensor lie; false when the file holds none. */
static bool tensor_find(tfl_model *m, const tfl_tensor *t, tensor_bytes *out)
{
    flat *f = &m->f;
    uint32_t at = flat_u32(f, t->is, TENSOR_BUFFER);
    *out = (tensor_bytes){0};
    if (tensor_external(m, t, out))
        return true;
    if (at >= m->buffers.n) {
        if (at)
            flat_fail(f, t->is.at, "tensor '%s' names buffer %u of %u", t->name,
                      at, m->buffers.n);
        return false;
    }
    flat_table b = flat_item_alone(f, m->buffers, at);
    flat_vector data = flat_list(f, b, BUFFER_DATA, 1);
    uint64_t offset = (uint64_t)flat_i64(f, b, BUFFER_OFFSET, 0);
    uint64_t size = (uint64_t)flat_i64(f, b, BUFFER_SIZE, 0);
    if (data.n) {
        *out = (tensor_bytes){.data = f->data + data.at, .size = data.n};
    } else if (offset > 1 && size) {
        if (offset > f->size || size > f->size - offset) {
            flat_fail(f, b.at, "buffer %u lies at bytes %llu to %llu of %zu",
                      at, (unsigned long long)offset,
                      (unsigned long long)(offset + size), f->size);
            return false;
        }
        *out = (tensor_bytes){.data = f->data + offset, .size = size};
    }
    return out->data != NULL;
}

/* Reads a short list of numbers that shapes may depend on. */
static bool tensor_contents(tfl_model *m, clv_graph *g, uint32_t v)
{
    clv_value *value = &g->values[v];
    clv_payload *data = value->data;
    int64_t n = clv__numel(value);
    clv_dtype t = (clv_dtype)value->dtype;
    bool real = t == CLV_FLOAT32 || t == CLV_FLOAT16 || t == CLV_BFLOAT16 ||
                t == CLV_FLOAT64;
    bool whole = t == CLV_BOOL || (t >= CLV_INT8 && t <= CLV_UINT64);
    if (!data->bytes || n < 1 || (!real && !whole) ||
        n > (real ? 16 : TFL_MAX_LIST))
        return true;
    clv_tensor all = {.dtype = t, .rank = 1, .dims = {n}};
    all.data = (void *)(uintptr_t)data->bytes;
    int64_t *ints = arena_array(&g->mem, (size_t)n, sizeof *ints);
    double *floats = (double *)ints;
    if (!ints)
        return tfl_nomem(m);
    for (int64_t i = 0; i < n; i++) {
        if (real)
            floats[i] = get_f(&all, i);
        else
            ints[i] = get_i(&all, i);
    }
    data->n = (uint32_t)n;
    data->floats = real ? floats : NULL;
    data->ints = real ? NULL : ints;
    return true;
}

/* -- values ---------------------------------------------------------------*/

/* What a stored tensor is: numbers that were learned are parameters; lists of
 * integers and single numbers are constants. */
static clv_value_kind tensor_kind(tfl_scope *s, uint32_t i, int64_t n)
{
    const tfl_tensor *t = &s->tensors[i];
    bool real = dtype_class_of(t->dtype) == CLASS_FLOAT;
    return n > 1 && (real || tfl_quantised(s, i)) ? CLV_VALUE_PARAM
                                                  : CLV_VALUE_CONST;
}

/* Says, once, why a model with weights that leave their zeros out cannot run.
 */
static bool tensor_say_sparse(tfl_scope *s, const tfl_tensor *t)
{
    if (s->m->sparse)
        return true;
    s->m->sparse = true;
    return clv__graph_warn(s->g,
                           "weights are stored sparse, '%s' first: they count "
                           "with their zeros, and their values are not read",
                           t->name) ||
           tfl_nomem(s->m);
}

static bool tensor_fill(tfl_scope *s, uint32_t i, uint32_t v,
                        const tensor_bytes *bytes)
{
    tfl_model *m = s->m;
    const tfl_tensor *t = &s->tensors[i];
    int64_t n = clv__numel(&s->g->values[v]);
    int64_t need = n == CLV_SAT ? -1 : clv_dtype_bytes(t->dtype, n);
    bool sparse = flat_sub(&m->f, t->is, TENSOR_SPARSITY).at != 0;
    if (need < 0) {
        flat_fail(&m->f, t->is.at,
                  "the size of tensor '%s' does not fit 64 "
                  "bits",
                  t->name);
        return false;
    }
    if (sparse)
        return tensor_say_sparse(s, t);
    if (t->dtype == CLV_STRING || s->g->values[v].dtype != t->dtype)
        return true;
    if ((uint64_t)need > bytes->size) {
        flat_fail(&m->f, t->is.at,
                  "tensor '%s' needs %lld bytes, its buffer has %llu", t->name,
                  (long long)need, (unsigned long long)bytes->size);
        return false;
    }
    clv_payload *data = clv__value_data(s->g, v);
    if (!data)
        return tfl_nomem(m);
    data->bytes = bytes->data;
    data->size = (uint64_t)need;
    data->file = bytes->file;
    data->offset = bytes->offset;
    return tensor_contents(m, s->g, v);
}

/* Tensors of a graph that share a buffer, type and shape are one weight. */
typedef struct tensor_key {
    const clv_graph *g;
    const uint8_t *data;
    uint64_t offset, dtype;
    int64_t dims[CLV_MAX_RANK];
} tensor_key;

static size_t tensor_key_of(const tfl_scope *s, const tfl_tensor *t,
                            const tensor_bytes *bytes, tensor_key *key)
{
    size_t dims = t->rank * sizeof *t->dims;
    key->g = s->g;
    key->data = bytes->data;
    key->offset = bytes->offset;
    key->dtype = t->dtype;
    memcpy(key->dims, t->dims, dims);
    return offsetof(tensor_key, dims) + dims;
}

static uint32_t tensor_stored(tfl_scope *s, uint32_t i,
                              const tensor_bytes *bytes)
{
    tfl_model *m = s->m;
    const tfl_tensor *t = &s->tensors[i];
    tensor_key key;
    size_t len = tensor_key_of(s, t, bytes, &key);
    const char *as_text = (const char *)&key;
    uint32_t v = bytes->file ? CLV_NONE : strmap_get(&m->known, as_text, len);
    if (v != CLV_NONE)
        return v;
    clv_dtype counted = clv__build_dtype(m->opts, t->dtype);
    v = clv__value_add(s->g, t->name, CLV_VALUE_CONST, counted);
    char *own = arena_alloc(&m->mem, len);
    if (own)
        memcpy(own, &key, len);
    if (v == CLV_NONE || !own ||
        !clv__value_set_shape(s->g, v, t->rank, t->dims) ||
        !strmap_put(&m->known, own, len, v)) {
        tfl_nomem(m);
        return CLV_NONE;
    }
    if (!tensor_fill(s, i, v, bytes))
        return CLV_NONE;
    s->g->values[v].kind =
        (uint8_t)tensor_kind(s, i, clv__numel(&s->g->values[v]));
    return v;
}

/* A list of nothing, such as the shape of a scalar, has no bytes. */
static bool tensor_is_empty(const tfl_tensor *t)
{
    for (uint32_t i = 0; t->rank != CLV_NO_RANK && i < t->rank; i++)
        if (t->dims[i] == 0)
            return true;
    return false;
}

/* A variable of the interpreter starts as zeros. */
static uint32_t tensor_zeros(tfl_scope *s, uint32_t i)
{
    static const double zero = 0;
    const tfl_tensor *t = &s->tensors[i];
    uint32_t v = clv__value_add(s->g, t->name, CLV_VALUE_BUFFER,
                                clv__build_dtype(s->m->opts, t->dtype));
    clv_payload *data = v == CLV_NONE ? NULL : clv__value_data(s->g, v);
    if (!data || !clv__value_set_shape(s->g, v, t->rank, t->dims)) {
        tfl_nomem(s->m);
        return CLV_NONE;
    }
    data->fill = &zero;
    return v;
}

/* -- order of axes --------------------------------------------------------*/

static const int64_t to_first[] = {0, 3, 1, 2}, to_last[] = {0, 2, 3, 1};

static tfl_call tensor_call(tfl_scope *s, const tfl_tensor *t)
{
    return (tfl_call){.s = s,
                      .m = s->m,
                      .g = s->g,
                      .name = t->name,
                      .origin = NULL,
                      .scope = 0};
}

uint32_t tfl_value(tfl_scope *s, uint32_t i)
{
    tensor_bytes bytes;
    if (tfl_failed(s->m) || i >= s->n_tensors)
        return CLV_NONE;
    tfl_tensor *t = &s->tensors[i];
    if (t->value != CLV_NONE)
        return t->value;
    if (t->first != CLV_NONE) {
        tfl_call c = tensor_call(s, t);
        return t->value = tfl_permute(&c, t->first, to_last, 4);
    }
    if (tensor_find(s->m, t, &bytes)) {
        t->stored = true;
        if (t->rank == CLV_NO_RANK) /* contents without a shape: one number */
            t->rank = 0;
        return t->value = tensor_stored(s, i, &bytes);
    }
    if (tfl_failed(s->m))
        return CLV_NONE;
    if ((t->variable || tensor_is_empty(t)) && t->rank != CLV_NO_RANK)
        return t->value = tensor_zeros(s, i);
    flat_fail(&s->m->f, t->is.at, "tensor '%s' is read before it is made",
              t->name);
    return CLV_NONE;
}

uint32_t tfl_first(tfl_scope *s, uint32_t i)
{
    if (tfl_failed(s->m) || i >= s->n_tensors)
        return CLV_NONE;
    tfl_tensor *t = &s->tensors[i];
    uint32_t v = t->first;
    if (v != CLV_NONE)
        return v;
    tfl_call c = tensor_call(s, t);
    v = tfl_value(s, i);
    return t->first = tfl_permute(&c, v, to_first, 4);
}

/* -- real numbers ---------------------------------------------------------*/

static flat_table tensor_quant(tfl_scope *s, uint32_t i)
{
    return flat_sub(&s->m->f, s->tensors[i].is, TENSOR_QUANTIZATION);
}

static bool tensor_has_codes(clv_dtype t)
{
    return t == CLV_INT8 || t == CLV_UINT8 || t == CLV_INT16 ||
           t == CLV_INT32 || t == CLV_INT4 || t == CLV_UINT4 || t == CLV_INT2 ||
           t == CLV_INT64;
}

/* The table of a quantisation by blocks; not there for others. */
static flat_table tensor_blocks(tfl_scope *s, flat_table q)
{
    flat *f = &s->m->f;
    return flat_i8(f, q, QUANT_DETAILS_TYPE, 0) == DETAILS_BLOCKWISE
               ? flat_sub(f, q, QUANT_DETAILS)
               : (flat_table){0};
}

bool tfl_quantised(tfl_scope *s, uint32_t i)
{
    flat *f = &s->m->f;
    if (i >= s->n_tensors || !tensor_has_codes(s->tensors[i].dtype))
        return false;
    flat_table q = tensor_quant(s, i);
    flat_vector scale = flat_list(f, q, QUANT_SCALE, 4);
    if (tensor_blocks(s, q).at)
        return true;
    return f->status == CLV_OK && scale.n && flat_f32_at(f, scale, 0) > 0;
}

bool tfl_scale(tfl_scope *s, uint32_t i, double *scale, int64_t *zero)
{
    flat *f = &s->m->f;
    flat_table q = tensor_quant(s, i);
    flat_vector scales = flat_list(f, q, QUANT_SCALE, 4);
    flat_vector zeros = flat_list(f, q, QUANT_ZERO, 8);
    if (!tfl_quantised(s, i) || scales.n != 1)
        return false;
    *scale = (double)flat_f32_at(f, scales, 0);
    *zero = zeros.n ? flat_i64_at(f, zeros, 0) : 0;
    return true;
}

int64_t tfl_scale_axis(tfl_scope *s, uint32_t i)
{
    flat *f = &s->m->f;
    flat_table q = tensor_quant(s, i);
    flat_vector scales = flat_list(f, q, QUANT_SCALE, 4);
    return scales.n > 1 ? flat_i32(f, q, QUANT_AXIS, 0) : -1;
}

/* Scale and zero point of tensor i as constants of the graph; zero is CLV_NONE
 * where all are 0 and `always` is false. */
static bool tensor_constants(tfl_scope *s, uint32_t i, bool always,
                             uint32_t ins[2])
{
    tfl_model *m = s->m;
    flat *f = &m->f;
    const tfl_tensor *t = &s->tensors[i];
    flat_table q = tensor_quant(s, i);
    flat_vector scale = flat_list(f, q, QUANT_SCALE, 4);
    flat_vector zero = flat_list(f, q, QUANT_ZERO, 8);
    if (f->status != CLV_OK || scale.n == 0)
        return false;
    double *scales = arena_array(&m->mem, scale.n, sizeof *scales);
    int64_t *zeros = arena_array(&m->mem, scale.n, sizeof *zeros);
    if (!scales || !zeros)
        return tfl_nomem(m);
    bool any = always;
    for (uint32_t k = 0; k < scale.n; k++) {
        scales[k] = (double)flat_f32_at(f, scale, k);
        zeros[k] = k < zero.n ? flat_i64_at(f, zero, k)
                   : zero.n   ? flat_i64_at(f, zero, 0)
                              : 0;
        any |= zeros[k] != 0;
    }
    int64_t n = scale.n;
    uint32_t rank = scale.n > 1;
    char name[64];
    snprintf(name, sizeof name, "scale");
    ins[0] = tfl_const(m, s->g, name, CLV_FLOAT32, rank, &n, NULL, scales);
    ins[1] = any ? tfl_const(m, s->g, "zero", t->dtype, rank, &n, zeros, NULL)
                 : CLV_NONE;
    return ins[0] != CLV_NONE && (!any || ins[1] != CLV_NONE);
}

/* Weights with a scale per block of their last axis. */
static uint32_t tensor_unblock(tfl_scope *s, uint32_t i, uint32_t v,
                               flat_table blocks)
{
    flat *f = &s->m->f;
    tfl_call c = tensor_call(s, &s->tensors[i]);
    int64_t size = flat_i32(f, blocks, BLOCK_SIZE, 0);
    int64_t scales = flat_i32(f, blocks, BLOCK_SCALES, -1);
    uint32_t rank = tfl_rank(&c, v);
    if (size < 1 || scales < 0 || scales >= s->n_tensors || !rank) {
        flat_fail(f, blocks.at, "blocks of %lld with the scales of tensor %lld",
                  (long long)size, (long long)scales);
        return CLV_NONE;
    }
    uint32_t ins[3] = {v, tfl_value(s, (uint32_t)scales), CLV_NONE};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, rank - 1);
    tfl_int(&a, CLV_A_BLOCK, size);
    tfl_int(&a, CLV_A_DTYPE, clv__build_dtype(s->m->opts, CLV_FLOAT32));
    return tfl_node(&c, CLV_OP_DEQUANTIZE_LINEAR, ins, 2, 1, &a);
}

uint32_t tfl_dequantise(tfl_scope *s, uint32_t i, uint32_t v, int64_t axis)
{
    if (tfl_failed(s->m) || v == CLV_NONE || !tfl_quantised(s, i))
        return v;
    flat_table blocks = tensor_blocks(s, tensor_quant(s, i));
    if (blocks.at)
        return tensor_unblock(s, i, v, blocks);
    uint32_t ins[3] = {v};
    if (!tensor_constants(s, i, false, ins + 1))
        return CLV_NONE;
    tfl_call c = tensor_call(s, &s->tensors[i]);
    tfl_attrs a = {0};
    if (axis >= 0)
        tfl_int(&a, CLV_A_AXIS, axis);
    return tfl_node(&c, CLV_OP_DEQUANTIZE_LINEAR, ins,
                    ins[2] == CLV_NONE ? 2 : 3, 1, &a);
}

uint32_t tfl_quantise(tfl_scope *s, uint32_t i, uint32_t v)
{
    uint32_t ins[3] = {v};
    if (tfl_failed(s->m) || v == CLV_NONE || !tfl_quantised(s, i))
        return v;
    if (!tensor_constants(s, i, true, ins + 1))
        return CLV_NONE;
    tfl_call c = tensor_call(s, &s->tensors[i]);
    tfl_attrs a = {0};
    int64_t axis = tfl_scale_axis(s, i);
    if (axis >= 0)
        tfl_int(&a, CLV_A_AXIS, axis);
    return tfl_node(&c, CLV_OP_QUANTIZE_LINEAR, ins, 3, 1, &a);
}

uint32_t tfl_real(tfl_scope *s, uint32_t i)
{
    if (i >= s->n_tensors)
        return CLV_NONE;
    tfl_tensor *t = &s->tensors[i];
    if (t->real == CLV_NONE)
        t->real = tfl_dequantise(s, i, tfl_value(s, i), tfl_scale_axis(s, i));
    return t->real;
}

uint32_t tfl_real_first(tfl_scope *s, uint32_t i)
{
    if (i >= s->n_tensors)
        return CLV_NONE;
    tfl_tensor *t = &s->tensors[i];
    int64_t axis = tfl_scale_axis(s, i);
    if (t->real_first == CLV_NONE)
        t->real_first = tfl_dequantise(s, i, tfl_first(s, i),
                                       axis < 0 ? axis : tfl_axis_first(axis));
    return t->real_first;
}

/* -- constants ------------------------------------------------------------*/

uint32_t tfl_const(tfl_model *m, clv_graph *g, const char *name, clv_dtype t,
                   uint32_t rank, const int64_t *dims, const int64_t *ints,
                   const double *floats)
{
    clv_dtype counted = clv__build_dtype(m->opts, t);
    char *own = arena_strndup(&g->mem, name, strlen(name));
    uint32_t v =
        own ? clv__value_add(g, own, CLV_VALUE_CONST, counted) : CLV_NONE;
    clv_payload *data = v == CLV_NONE ? NULL : clv__value_data(g, v);
    if (!data || !clv__value_set_shape(g, v, rank, dims)) {
        tfl_nomem(m);
        return CLV_NONE;
    }
    int64_t n = clv__numel(&g->values[v]);
    clv_tensor all = {.dtype = counted, .rank = 1, .dims = {n}};
    size_t bytes = (size_t)clv_dtype_bytes(counted, n);
    void *list = arena_array(&g->mem, (size_t)n + 1, sizeof(int64_t));
    all.data = arena_alloc(&g->mem, bytes + 1);
    if (!list || !all.data) {
        tfl_nomem(m);
        return CLV_NONE;
    }
    for (int64_t i = 0; i < n; i++) {
        if (ints)
            put_i(&all, i, ints[i]);
        else
            put_f(&all, i, floats[i]);
    }
    memcpy(list, ints ? (const void *)ints : (const void *)floats,
           (size_t)n * sizeof(int64_t));
    data->bytes = all.data;
    data->size = bytes;
    if (n <= TFL_MAX_LIST && ints)
        data->ints = list;
    else if (n <= 16 && floats)
        data->floats = list;
    data->n = data->ints || data->floats ? (uint32_t)n : 0;
    return v;
}

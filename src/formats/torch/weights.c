/* weights.c - see weights.h. */
#include "formats/torch/weights.h"

#include "ops/build.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

clv_dtype clv__torch_dtype(int64_t code)
{
    static const uint8_t types[] = {
        [0] = CLV_UINT8,         [1] = CLV_INT8,        [2] = CLV_INT16,
        [3] = CLV_INT32,         [4] = CLV_INT64,       [5] = CLV_FLOAT16,
        [6] = CLV_FLOAT32,       [7] = CLV_FLOAT64,     [9] = CLV_COMPLEX64,
        [10] = CLV_COMPLEX128,   [11] = CLV_BOOL,       [12] = CLV_INT8,
        [13] = CLV_UINT8,        [14] = CLV_INT32,      [15] = CLV_BFLOAT16,
        [23] = CLV_FLOAT8E5M2,   [24] = CLV_FLOAT8E4M3, [25] = CLV_FLOAT8E5M2UZ,
        [26] = CLV_FLOAT8E4M3UZ, [27] = CLV_UINT16,     [28] = CLV_UINT32,
        [29] = CLV_UINT64,       [44] = CLV_FLOAT8E8M0};
    return code >= 0 && code < (int64_t)sizeof types ? (clv_dtype)types[code]
                                                     : CLV_NODTYPE;
}

void clv__torch_dense(torch_tensor *t)
{
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        t->strides[i] = step;
        step = sat_mul(step, t->dims[i]);
    }
}

clv_status clv__torch_numel(const torch_tensor *t, int64_t *n, clv_err *e)
{
    *n = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return clv__fail(e, CLV_FORMAT, "axis %u has size %lld", i,
                             (long long)t->dims[i]);
        *n = t->dims[i] ? sat_mul(*n, t->dims[i]) : 0;
    }
    if (*n == CLV_SAT || clv_dtype_bytes(t->dtype, *n) < 0)
        return clv__fail(e, CLV_OVERFLOW, "its size does not fit 64 bits");
    return CLV_OK;
}

/* Axes of one element may have any stride. */
static bool weights_is_dense(const torch_tensor *t)
{
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->dims[i] != 1 && t->strides[i] != step)
            return false;
        step = sat_mul(step, t->dims[i]);
    }
    return true;
}

/* The view must not reach beyond its storage, at either end. */
static clv_status weights_check(const torch_tensor *t, int64_t n, clv_err *e)
{
    int64_t last = t->offset;
    for (uint32_t i = 0; i < t->rank && n; i++) {
        if (t->strides[i] < 0)
            return clv__fail(e, CLV_FORMAT, "stride %lld",
                             (long long)t->strides[i]);
        last = sat_add(last, sat_mul(t->dims[i] - 1, t->strides[i]));
    }
    int64_t need = last == CLV_SAT ? -1 : clv_dtype_bytes(t->dtype, last + 1);
    if (t->offset < 0 || need < 0 || (n && (uint64_t)need > t->size))
        return clv__fail(e, CLV_FORMAT,
                         "element %lld lies beyond its storage of %zu bytes",
                         (long long)last, t->size);
    return CLV_OK;
}

static clv_status weights_copy(torch_weights *w, const torch_tensor *t,
                               int64_t n, clv_payload *data, clv_err *e)
{
    size_t bytes = (size_t)clv_dtype_bytes(t->dtype, n);
    size_t each = (size_t)clv_dtype_bytes(t->dtype, 1);
    if (bytes > w->allowed - w->copied)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "views that repeat their storage come to more bytes "
                         "than the file has");
    uint8_t *own = arena_alloc(&w->g->mem, bytes + 1);
    if (!own)
        return clv__nomem(e);
    int64_t idx[CLV_MAX_RANK] = {0};
    for (size_t i = 0; i < (size_t)n; i++) {
        int64_t at = t->offset + offset_of(idx, t->strides, t->rank);
        memcpy(own + i * each, t->bytes + (size_t)at * each, each);
        next_index(idx, t->dims, t->rank);
    }
    w->copied += bytes;
    data->bytes = own;
    data->size = bytes;
    return CLV_OK;
}

static clv_status weights_fill(torch_weights *w, uint32_t v,
                               const torch_tensor *t, int64_t n, clv_err *e)
{
    clv_payload *data = clv__value_data(w->g, v);
    if (!data)
        return clv__nomem(e);
    if (!weights_is_dense(t))
        return weights_copy(w, t, n, data, e);
    data->bytes = t->bytes + clv_dtype_bytes(t->dtype, t->offset);
    data->size = (uint64_t)clv_dtype_bytes(t->dtype, n);
    return CLV_OK;
}

enum { WEIGHTS_KEY = 64 + CLV_MAX_RANK * 44 };

/* What tells one view of one storage from all others; its length. */
static size_t weights_key(const torch_tensor *t, char text[WEIGHTS_KEY])
{
    int n = snprintf(text, WEIGHTS_KEY, "%p %d %lld", (const void *)t->bytes,
                     (int)t->dtype, (long long)t->offset);
    for (uint32_t i = 0; i < t->rank; i++)
        n += snprintf(text + n, WEIGHTS_KEY - (size_t)n, " %lld:%lld",
                      (long long)t->dims[i], (long long)t->strides[i]);
    return (size_t)n;
}

bool clv__torch_known(const torch_weights *w, const torch_tensor *t)
{
    char key[WEIGHTS_KEY];
    size_t n = weights_key(t, key);
    return t->bytes && strmap_get(&w->known, key, n) != CLV_NONE;
}

/* Small tables of integers take part in shape arithmetic: what they hold is
 * read at once. Parameters are never touched. */
static clv_status weights_read_ints(torch_weights *w, uint32_t v,
                                    const torch_tensor *t, int64_t n,
                                    clv_err *e)
{
    enum { INTS_READ = 64 };
    if (n < 1 || n > INTS_READ || !dtype_is_integral(t->dtype) ||
        w->g->values[v].kind != CLV_VALUE_CONST)
        return CLV_OK;
    clv_payload *data = w->g->values[v].data;
    int64_t *ints = arena_array(&w->g->mem, (size_t)n, sizeof *ints);
    if (!ints)
        return clv__nomem(e);
    for (int64_t i = 0; i < n; i++)
        if (!clv__torch_int_at(t, i, &ints[i]))
            return CLV_OK;
    data->ints = ints;
    data->n = (uint32_t)n;
    return CLV_OK;
}

static clv_status weights_add(torch_weights *w, const char *name,
                              clv_value_kind kind, const torch_tensor *t,
                              uint32_t *value, clv_err *e)
{
    int64_t n;
    clv_dtype counted = clv__build_dtype(w->opts, t->dtype);
    CLV_TRY(clv__torch_numel(t, &n, e));
    if (t->bytes)
        CLV_TRY(weights_check(t, n, e));
    char *own = arena_strndup(&w->g->mem, name, strlen(name));
    uint32_t v = own ? clv__value_add(w->g, own, kind, counted) : CLV_NONE;
    if (v == CLV_NONE || !clv__value_set_shape(w->g, v, t->rank, t->dims))
        return clv__nomem(e);
    *value = v;
    if (!t->bytes || counted != t->dtype)
        return CLV_OK;
    CLV_TRY(weights_fill(w, v, t, n, e));
    return weights_read_ints(w, v, t, n, e);
}

clv_status clv__torch_weight(torch_weights *w, const char *name,
                             clv_value_kind kind, const torch_tensor *t,
                             uint32_t *value, clv_err *e)
{
    char storage[WEIGHTS_KEY]; /* a tensor without one is told by its name */
    const char *key = t->bytes ? storage : name;
    size_t n = t->bytes ? weights_key(t, storage) : strlen(name);
    *value = strmap_get(&w->known, key, n);
    if (*value != CLV_NONE)
        return CLV_OK;
    clv_status s = weights_add(w, name, kind, t, value, e);
    if (s != CLV_OK) {
        clv__err_prefix(e, "tensor '%s'", name);
        return s;
    }
    char *own = arena_strndup(&w->g->mem, key, n);
    return own && strmap_put(&w->known, own, n, *value) ? CLV_OK
                                                        : clv__nomem(e);
}

bool clv__torch_int_at(const torch_tensor *t, int64_t i, int64_t *out)
{
    clv_tensor all = {.dtype = t->dtype, .rank = 1};
    int64_t n;
    if (!t->bytes || !dtype_is_integral(t->dtype) ||
        clv__torch_numel(t, &n, NULL) != CLV_OK || i < 0 || i >= n ||
        weights_check(t, n, NULL) != CLV_OK || !weights_is_dense(t))
        return false;
    all.dims[0] = n;
    all.data =
        (void *)(uintptr_t)(t->bytes + clv_dtype_bytes(t->dtype, t->offset));
    *out = get_i(&all, i);
    return true;
}

void clv__torch_weights_free(torch_weights *w)
{
    strmap_free(&w->known);
}

/* tensor.c - size, memory and comparison of tensors. */
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

int64_t clv_tensor_numel(const clv_tensor *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n = sat_mul(n, t->dims[i]);
    return n == CLV_SAT ? -1 : n;
}

int64_t numel(const clv_tensor *t)
{
    return clv_tensor_numel(t);
}

int64_t clv_tensor_bytes(const clv_tensor *t)
{
    int64_t n = clv_tensor_numel(t);
    return n < 0 ? -1 : clv_dtype_bytes(t->dtype, n);
}

double clv_tensor_get(const clv_tensor *t, int64_t i)
{
    return get_f(t, i);
}

clv_status clv_tensor_alloc(clv_tensor *t, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(t, err);
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

clv_status clv__tensor_copy(const clv_tensor *t, clv_tensor *out, clv_err *e)
{
    int64_t bytes = clv_tensor_bytes(t);
    *out = *t;
    out->data = bytes < 0 ? NULL : clv__alloc((size_t)bytes + 1);
    if (!out->data)
        return clv__nomem(e);
    if (bytes)
        memcpy(out->data, t->data, (size_t)bytes);
    return CLV_OK;
}

/* How far x and y are apart; of integers, exactly whether they are. */
static double distance(element x, element y)
{
    if (is_float(x.t->dtype) || is_float(y.t->dtype))
        return fabs(get_f(x.t, x.i) - get_f(y.t, y.i));
    uint64_t a = (uint64_t)get_i(x.t, x.i), b = (uint64_t)get_i(y.t, y.i);
    return (double)(less_than(x, y) ? b - a : a - b);
}

void clv_tensor_diff(const clv_tensor *a, const clv_tensor *b, double *absolute,
                     double *relative)
{
    double most = 0, scale = 0;
    int64_t n = clv_tensor_numel(b);
    if (n != clv_tensor_numel(a))
        most = (double)INFINITY;
    for (int64_t i = 0; i < n && most < (double)INFINITY; i++) {
        double x = get_f(a, i), y = get_f(b, i);
        double d = distance((element){a, i}, (element){b, i});
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

bool clv_tensor_close(const clv_tensor *a, const clv_tensor *b,
                      double tolerance)
{
    double absolute, relative;
    int64_t bytes = clv_tensor_bytes(a);
    if (a->dtype != b->dtype || a->rank != b->rank || bytes < 0 ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
        return false;
    if (!is_float(a->dtype))
        return bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0;
    clv_tensor_diff(a, b, &absolute, &relative);
    return absolute <= tolerance || relative <= tolerance;
}

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

size_t clv__element_bytes(const clv_tensor *t)
{
    if (t->form != CLV_FORM_TENSOR)
        return sizeof(clv_tensor);
    if (t->dtype == CLV_STRING)
        return sizeof(clv_text);
    return (size_t)clv_dtype_bytes(t->dtype, 8) / 8;
}

int64_t clv_tensor_bytes(const clv_tensor *t)
{
    int64_t n = clv_tensor_numel(t);
    if (n >= 0 && (t->form != CLV_FORM_TENSOR || t->dtype == CLV_STRING)) {
        int64_t bytes = sat_mul(n, (int64_t)clv__element_bytes(t));
        return bytes == CLV_SAT ? -1 : bytes;
    }
    return n < 0 ? -1 : clv_dtype_bytes(t->dtype, n);
}

double clv_tensor_get(const clv_tensor *t, int64_t i)
{
    return t->form == CLV_FORM_TENSOR ? get_f(t, i) : 0;
}

clv_text clv_tensor_text(const clv_tensor *t, int64_t i)
{
    bool has = t->form == CLV_FORM_TENSOR && t->dtype == CLV_STRING &&
               t->data && i >= 0 && i < clv_tensor_numel(t);
    return has ? ((const clv_text *)t->data)[i] : (clv_text){NULL, 0};
}

const clv_tensor *clv_tensor_item(const clv_tensor *t, int64_t i)
{
    bool has = t->form != CLV_FORM_TENSOR && t->data && i >= 0 &&
               i < clv_tensor_numel(t);
    return has ? &((const clv_tensor *)t->data)[i] : NULL;
}

bool clv__text_equal(clv_text a, clv_text b)
{
    return a.n == b.n && (a.n == 0 || !memcmp(a.s, b.s, a.n));
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

/* -- one block ------------------------------------------------------------*/

/* A block of memory that is measured first, while `at` is NULL, and filled in a
 * second walk over the same tensors. */
typedef struct packer {
    char *at;
    int64_t used;
} packer;

static void *pack_take(packer *p, int64_t size)
{
    enum { ALIGN = 16 };
    void *from = p->at ? p->at + p->used : NULL;
    p->used = sat_add(p->used, size);
    if (p->used < CLV_SAT - ALIGN)
        p->used += -p->used & (ALIGN - 1);
    return from;
}

static void pack_texts(packer *p, clv_text *to, const clv_tensor *t)
{
    for (int64_t i = 0, n = numel(t); i < n; i++) {
        clv_text from = clv_tensor_text(t, i);
        char *s = pack_take(p, sat_add((int64_t)from.n, 1));
        if (!s)
            continue;
        if (from.n)
            memcpy(s, from.s, from.n);
        s[from.n] = '\0';
        to[i] = (clv_text){s, from.n};
    }
}

/* Lists nest no deeper than an optional sequence of tensors. */
static void pack(packer *p, clv_tensor *to, const clv_tensor *t)
{
    int64_t bytes = clv_tensor_bytes(t);
    char *data = pack_take(p, bytes < 0 ? CLV_SAT : bytes);
    if (to) {
        *to = *t;
        to->data = data;
    }
    if (t->form == CLV_FORM_TENSOR && t->dtype == CLV_STRING)
        pack_texts(p, (clv_text *)(void *)data, t);
    else if (t->form == CLV_FORM_TENSOR && data && bytes)
        memcpy(data, t->data, (size_t)bytes);
    for (int64_t i = 0; clv_tensor_item(t, i); i++)
        pack(p, data ? (clv_tensor *)(void *)data + i : NULL,
             clv_tensor_item(t, i));
}

clv_status clv__tensor_pack(const clv_tensor *t, clv_tensor *out, clv_err *e)
{
    packer p = {0};
    pack(&p, NULL, t);
    out->data = NULL;
    if (p.used >= CLV_SAT - 1)
        return clv__fail(e, CLV_OVERFLOW, "a tensor that does not fit");
    p.at = clv__alloc((size_t)p.used + 1);
    if (!p.at)
        return clv__nomem(e);
    p.used = 0;
    pack(&p, out, t);
    return CLV_OK;
}

/* -- comparison -----------------------------------------------------------*/

/* How far x and y are apart; of integers, exactly whether they are. */
static double distance(element x, element y)
{
    if (is_float(x.t->dtype) || is_float(y.t->dtype))
        return fabs(get_f(x.t, x.i) - get_f(y.t, y.i));
    uint64_t a = (uint64_t)get_i(x.t, x.i), b = (uint64_t)get_i(y.t, y.i);
    return (double)(less_than(x, y) ? b - a : a - b);
}

static bool same_texts(const clv_tensor *a, const clv_tensor *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!clv__text_equal(clv_tensor_text(a, i), clv_tensor_text(b, i)))
            return false;
    return true;
}

/* The largest relative difference of two lists' tensors. */
static double diff_items(const clv_tensor *a, const clv_tensor *b, int64_t n)
{
    double most = 0, absolute, relative;
    for (int64_t i = 0; i < n; i++) {
        clv_tensor_diff(clv_tensor_item(a, i), clv_tensor_item(b, i), &absolute,
                        &relative);
        most = relative > most ? relative : most;
    }
    return most;
}

void clv_tensor_diff(const clv_tensor *a, const clv_tensor *b, double *absolute,
                     double *relative)
{
    double most = 0, scale = 0;
    int64_t n = clv_tensor_numel(b);
    if (n != clv_tensor_numel(a) || a->form != b->form)
        most = (double)INFINITY;
    else if (b->form != CLV_FORM_TENSOR)
        most = diff_items(a, b, n);
    else if (b->dtype == CLV_STRING)
        most = same_texts(a, b, n) ? 0 : (double)INFINITY;
    if (b->form != CLV_FORM_TENSOR || b->dtype == CLV_STRING)
        n = 0;
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
        a->form != b->form ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
        return false;
    if (a->form != CLV_FORM_TENSOR) {
        for (int64_t i = 0; clv_tensor_item(a, i); i++)
            if (!clv_tensor_close(clv_tensor_item(a, i), clv_tensor_item(b, i),
                                  tolerance))
                return false;
        return true;
    }
    if (a->dtype == CLV_STRING)
        return same_texts(a, b, clv_tensor_numel(a));
    if (!is_float(a->dtype))
        return bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0;
    clv_tensor_diff(a, b, &absolute, &relative);
    return absolute <= tolerance || relative <= tolerance;
}

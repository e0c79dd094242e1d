/* tensor.c - elements of any type, strides, and the strided copy. */
#include "backend/kernel.h"
#include "ops/seeded.h"

#include <math.h>
#include <string.h>

int64_t clv_tensor_numel(const clv_tensor *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n = sat_mul(n, t->dims[i]);
    return n == CLV_SAT ? -1 : n;
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

int64_t numel(const clv_tensor *t)
{
    return clv_tensor_numel(t);
}

/* -- elements -------------------------------------------------------------*/

bool is_float(clv_dtype t)
{
    switch (t) {
    case CLV_FLOAT32:
    case CLV_FLOAT16:
    case CLV_BFLOAT16:
    case CLV_FLOAT64:
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
        return true;
    default:
        return false;
    }
}

bool is_signed(clv_dtype t)
{
    return t == CLV_INT8 || t == CLV_INT16 || t == CLV_INT32 ||
           t == CLV_INT64 || t == CLV_INT4 || t == CLV_INT2 || is_float(t);
}

static float from_bfloat16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Integers narrower than a byte, the first in the low bits. */
static int64_t get_packed(const clv_tensor *t, int64_t i, int bits)
{
    int per = 8 / bits, shift = (int)(i % per) * bits, mask = (1 << bits) - 1;
    int x = ((const uint8_t *)t->data)[i / per] >> shift & mask;
    bool negative = is_signed(t->dtype) && x >> (bits - 1);
    return negative ? x - (1 << bits) : x;
}

static void put_packed(clv_tensor *t, int64_t i, int bits, int64_t x)
{
    int per = 8 / bits, shift = (int)(i % per) * bits, mask = (1 << bits) - 1;
    uint8_t *b = &((uint8_t *)t->data)[i / per];
    *b = (uint8_t)((*b & ~(mask << shift)) | ((int)x & mask) << shift);
}

/* A kernel that reads by sizes no shape rule has compared asks for elements
 * that a tensor does not have. */
static bool outside(const clv_tensor *t, int64_t i)
{
    uint64_t n = 1;
    for (uint32_t a = 0; a < t->rank; a++)
        n *= (uint64_t)t->dims[a];
    return (uint64_t)i >= n;
}

int64_t get_i(const clv_tensor *t, int64_t i)
{
    const void *p = t->data;
    if (outside(t, i))
        return 0;
    switch (t->dtype) {
    case CLV_INT64:
    case CLV_UINT64:
        return ((const int64_t *)p)[i];
    case CLV_INT32:
        return ((const int32_t *)p)[i];
    case CLV_UINT32:
        return ((const uint32_t *)p)[i];
    case CLV_INT16:
        return ((const int16_t *)p)[i];
    case CLV_UINT16:
        return ((const uint16_t *)p)[i];
    case CLV_INT8:
        return ((const int8_t *)p)[i];
    case CLV_UINT8:
    case CLV_BOOL:
        return ((const uint8_t *)p)[i];
    case CLV_INT4:
    case CLV_UINT4:
        return get_packed(t, i, 4);
    case CLV_INT2:
    case CLV_UINT2:
        return get_packed(t, i, 2);
    default: {
        double x = get_f(t, i);
        if (!(x > -0x1p63))
            return INT64_MIN;
        return x >= 0x1p63 ? INT64_MAX : (int64_t)x;
    }
    }
}

double get_f(const clv_tensor *t, int64_t i)
{
    if (outside(t, i))
        return 0;
    switch (t->dtype) {
    case CLV_FLOAT32:
        return (double)((const float *)t->data)[i];
    case CLV_FLOAT64:
        return ((const double *)t->data)[i];
    case CLV_FLOAT16:
        return (double)clv__from_half(((const uint16_t *)t->data)[i]);
    case CLV_BFLOAT16:
        return (double)from_bfloat16(((const uint16_t *)t->data)[i]);
    case CLV_UINT64:
        return (double)((const uint64_t *)t->data)[i];
    case CLV_NODTYPE:
    case CLV_STRING:
    case CLV_COMPLEX64:
    case CLV_COMPLEX128:
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
    case CLV_FLOAT8E8M0:
    case CLV_FLOAT4E2M1:
        return 0; /* no kernel takes these: supports says no */
    default:
        return (double)get_i(t, i);
    }
}

void put_i(clv_tensor *t, int64_t i, int64_t x)
{
    void *p = t->data;
    if (outside(t, i))
        return;
    switch (t->dtype) {
    case CLV_INT64:
    case CLV_UINT64:
        ((int64_t *)p)[i] = x;
        break;
    case CLV_INT32:
    case CLV_UINT32:
        ((uint32_t *)p)[i] = (uint32_t)x;
        break;
    case CLV_INT16:
    case CLV_UINT16:
        ((uint16_t *)p)[i] = (uint16_t)x;
        break;
    case CLV_INT8:
    case CLV_UINT8:
        ((uint8_t *)p)[i] = (uint8_t)x;
        break;
    case CLV_BOOL:
        ((uint8_t *)p)[i] = x != 0;
        break;
    case CLV_INT4:
    case CLV_UINT4:
        put_packed(t, i, 4, x);
        break;
    case CLV_INT2:
    case CLV_UINT2:
        put_packed(t, i, 2, x);
        break;
    default:
        put_f(t, i, (double)x);
    }
}

/* To an integer as a cast does: towards zero; out of range sticks. */
static int64_t to_int(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

void put_f(clv_tensor *t, int64_t i, double x)
{
    if (outside(t, i))
        return;
    switch (t->dtype) {
    case CLV_FLOAT32:
        ((float *)t->data)[i] = (float)x;
        break;
    case CLV_FLOAT64:
        ((double *)t->data)[i] = x;
        break;
    case CLV_FLOAT16:
        ((uint16_t *)t->data)[i] = clv__to_half((float)x);
        break;
    case CLV_BFLOAT16:
        ((uint16_t *)t->data)[i] = clv__to_bfloat16((float)x);
        break;
    case CLV_BOOL:
        ((uint8_t *)t->data)[i] = x != 0;
        break;
    case CLV_UINT64:
        ((uint64_t *)t->data)[i] = x > 0 ? (uint64_t)x : 0;
        break;
    case CLV_INT8:
    case CLV_UINT8:
    case CLV_INT16:
    case CLV_UINT16:
    case CLV_INT32:
    case CLV_UINT32:
    case CLV_INT64:
    case CLV_INT4:
    case CLV_UINT4:
    case CLV_INT2:
    case CLV_UINT2:
        put_i(t, i, to_int(x));
        break;
    default:
        break;
    }
}

/* -- shapes ---------------------------------------------------------------*/

void strides_of(const clv_tensor *t, int64_t *strides)
{
    int64_t s = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        strides[i] = s;
        s *= t->dims[i];
    }
}

void broadcast_strides(const clv_tensor *t, uint32_t rank, int64_t *strides)
{
    int64_t own[CLV_MAX_RANK];
    strides_of(t, own);
    uint32_t lead = rank - t->rank;
    for (uint32_t i = 0; i < rank; i++)
        strides[i] = i < lead || t->dims[i - lead] == 1 ? 0 : own[i - lead];
}

bool next_index(int64_t *idx, const int64_t *dims, uint32_t rank)
{
    for (uint32_t i = rank; i-- > 0;) {
        if (++idx[i] < dims[i])
            return true;
        idx[i] = 0;
    }
    return false;
}

int64_t offset_of(const int64_t *idx, const int64_t *strides, uint32_t rank)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < rank; i++)
        at += idx[i] * strides[i];
    return at;
}

void copy_strided(clv_tensor *out, const clv_tensor *in, int64_t base,
                  const int64_t *strides)
{
    int64_t idx[CLV_MAX_RANK] = {0}, n = numel(out), inside = numel(in);
    int64_t size = clv_dtype_bytes(out->dtype, 8) / 8;
    bool plain = size > 0 && in->dtype == out->dtype;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = base + offset_of(idx, strides, out->rank);
        if (!plain)
            copy_run(out, i, in, at, 1);
        else if (at >= 0 && at < inside)
            memcpy((char *)out->data + i * size,
                   (const char *)in->data + at * size, (size_t)size);
        next_index(idx, out->dims, out->rank);
    }
}

lane lanes(const clv_tensor *x, uint32_t axis)
{
    lane l = {x->rank ? x->dims[axis] : 1, 1, 1};
    for (uint32_t i = axis + 1; i < x->rank; i++)
        l.step *= x->dims[i];
    for (uint32_t i = 0; i < axis; i++)
        l.rows *= x->dims[i];
    return l;
}

int64_t lane_first(const lane *l, int64_t row)
{
    return row / l->step * l->n * l->step + row % l->step;
}

/* -- arguments ------------------------------------------------------------*/

clv_status axis_of(const kernel *k, int64_t otherwise, uint32_t *axis)
{
    uint32_t rank = k->in[0]->rank;
    return norm_axis(attr_int(k->n, CLV_A_AXIS, otherwise), rank ? rank : 1,
                     axis, k->e);
}

clv_status list_of(kernel *k, clv_attr_key key, uint32_t i, int_list *list)
{
    *list = (int_list){0};
    list->v = attr_ints(k->n, key, &list->n);
    list->found = attr_get(k->n, key) != NULL;
    if (list->found || i >= k->n->n_in || !k->in[i])
        return CLV_OK;
    int64_t n = numel(k->in[i]);
    int64_t *v = arena_array(k->scratch, (size_t)n + 1, sizeof *v);
    if (!v || n > UINT32_MAX)
        return clv__nomem(k->e);
    for (int64_t j = 0; j < n; j++)
        v[j] = get_i(k->in[i], j);
    *list = (int_list){v, (uint32_t)n, true};
    return CLV_OK;
}

double number_of(const kernel *k, clv_attr_key key, uint32_t i,
                 double otherwise)
{
    if (attr_get(k->n, key))
        return attr_float(k->n, key, otherwise);
    if (i < k->n->n_in && k->in[i] && numel(k->in[i]) > 0)
        return get_f(k->in[i], 0);
    return otherwise;
}

const clv_tensor *input_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_in ? k->in[i] : NULL;
}

clv_tensor *output_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_out && k->out[i].data ? &k->out[i] : NULL;
}

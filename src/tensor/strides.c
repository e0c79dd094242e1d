/* strides.c - walking over dense tensors: strides, indices, rows along an
 * axis, and the strided copy. */
#include "tensor/tensor.h"

#include <string.h>

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
    int64_t size = (int64_t)clv__element_bytes(out);
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

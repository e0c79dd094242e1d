/* gather.c - elements and slices taken by index. */
#include "backend/kernel.h"

clv_status take_slices(kernel *k, const clv_tensor *x, const clv_tensor *index,
                       uint32_t axis)
{
    clv_tensor *y = &k->out[0];
    int64_t rows = dims_product(x->dims, 0, axis),
            run = dims_product(x->dims, axis + 1, x->rank);
    int64_t size = x->dims[axis], n = numel(index);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) {
            int64_t at;
            CLV_TRY(checked(k, get_i(index, i), size, &at));
            copy_run(y, (r * n + i) * run, x, (r * size + at) * run, run);
        }
    return CLV_OK;
}

clv_status kernel_index_select(kernel *k)
{
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    return take_slices(k, k->in[0], k->in[1], axis);
}

/* y[i][j] = x[index[i][j]][j] for axis 0, and so on. */
clv_status kernel_gather(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    clv_tensor *y = &k->out[0];
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    strides_of(x, own);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t at = 0, from;
        CLV_TRY(checked(k, get_i(index, i), x->rank ? x->dims[axis] : 1, &at));
        from = offset_of(idx, own, x->rank) +
               (x->rank ? (at - idx[axis]) * own[axis] : 0);
        copy_run(y, i, x, from, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

clv_status nd_offset(const kernel *k, const clv_tensor *x,
                     const clv_tensor *index, int64_t at, int64_t depth,
                     uint32_t batch, int64_t *out)
{
    int64_t own[CLV_MAX_RANK];
    strides_of(x, own);
    *out = 0;
    for (int64_t d = 0; d < depth; d++) {
        int64_t i;
        uint32_t axis = batch + (uint32_t)d;
        CLV_TRY(checked(k, get_i(index, at + d), x->dims[axis], &i));
        *out += i * own[axis];
    }
    return CLV_OK;
}

clv_status kernel_gather_nd(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    uint32_t batch = (uint32_t)attr_int(k->n, CLV_A_BATCH_DIMS);
    int64_t depth = index->dims[index->rank - 1];
    int64_t run = dims_product(x->dims, batch + (uint32_t)depth, x->rank);
    int64_t batches = dims_product(x->dims, 0, batch);
    int64_t each = dims_product(index->dims, batch, index->rank - 1);
    int64_t block = dims_product(x->dims, batch, x->rank);
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < each; i++) {
            int64_t at;
            CLV_TRY(nd_offset(k, x, index, (b * each + i) * depth, depth, batch,
                              &at));
            copy_run(&k->out[0], (b * each + i) * run, x, b * block + at, run);
        }
    return CLV_OK;
}

/* Elements of the flattened tensor. */
clv_status kernel_take(kernel *k)
{
    const clv_tensor *x = k->in[0];
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++) {
        int64_t at;
        CLV_TRY(checked(k, get_i(k->in[1], i), numel(x), &at));
        copy_run(&k->out[0], i, x, at, 1);
    }
    return CLV_OK;
}

/* As gather, with all axes but one broadcast; without an axis, take. */
clv_status kernel_take_along(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    clv_tensor *y = &k->out[0];
    int64_t sx[CLV_MAX_RANK], si[CLV_MAX_RANK], own[CLV_MAX_RANK];
    int64_t idx[CLV_MAX_RANK] = {0};
    uint32_t axis;
    if (!attr_get(k->n, CLV_A_AXIS))
        return kernel_take(k);
    CLV_TRY(axis_of(k, &axis));
    strides_of(x, own);
    broadcast_strides(x, y->rank, sx);
    broadcast_strides(index, y->rank, si);
    sx[axis] = 0;
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t at, which = get_i(index, offset_of(idx, si, y->rank));
        CLV_TRY(checked(k, which, x->dims[axis], &at));
        copy_run(y, i, x, offset_of(idx, sx, y->rank) + at * own[axis], 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

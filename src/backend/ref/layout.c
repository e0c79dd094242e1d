/* layout.c - the same elements elsewhere: permutations, slices, joins, pads.
 *
 * A rearrangement is a strided copy wherever the source index is linear in the
 * output's; cat and split copy whole rows. */
#include "backend/kernel.h"

#include <string.h>

clv_status kernel_permute(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    uint32_t n, axis;
    const int64_t *perm = attr_ints(k->n, CLV_A_PERM, &n);
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++) {
        axis = x->rank - 1 - i;
        if (perm)
            CLV_TRY(norm_axis(perm[i], x->rank, &axis, k->e));
        strides[i] = own[axis];
    }
    copy_strided(&k->out[0], x, 0, strides);
    return CLV_OK;
}

clv_status kernel_transpose(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK];
    uint32_t n, a, b;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &n);
    CLV_TRY(norm_axis(axes[0], x->rank, &a, k->e));
    CLV_TRY(norm_axis(axes[1], x->rank, &b, k->e));
    strides_of(x, strides);
    int64_t t = strides[a];
    strides[a] = strides[b];
    strides[b] = t;
    copy_strided(&k->out[0], x, 0, strides);
    return CLV_OK;
}

clv_status kernel_expand(kernel *k)
{
    int64_t strides[CLV_MAX_RANK];
    broadcast_strides(k->in[0], k->out[0].rank, strides);
    copy_strided(&k->out[0], k->in[0], 0, strides);
    return CLV_OK;
}

clv_status kernel_slice(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK], base = 0;
    int_list start, axes, step;
    CLV_TRY(list_of(k, CLV_A_START, 1, &start));
    CLV_TRY(list_of(k, CLV_A_AXES, 3, &axes));
    CLV_TRY(list_of(k, CLV_A_STEP, 4, &step));
    strides_of(x, strides);
    for (uint32_t i = 0; i < start.n; i++) {
        uint32_t a;
        int64_t by = list_at(step.v, step.n, i);
        CLV_TRY(norm_axis(axes.n ? axes.v[i] : (int64_t)i, x->rank, &a, k->e));
        base += slice_start(x->dims[a], start.v[i], by) * strides[a];
        /* may wrap where one element alone is taken: it is not used then */
        strides[a] = (int64_t)((uint64_t)strides[a] * (uint64_t)by);
    }
    copy_strided(&k->out[0], x, base, strides);
    return CLV_OK;
}

clv_status kernel_select(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    int64_t index = attr_int(k->n, CLV_A_INDEX);
    uint32_t axis, to = 0;
    CLV_TRY(axis_of(k, &axis));
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            strides[to++] = own[i];
    if (index < 0)
        index += x->dims[axis];
    copy_strided(&k->out[0], x, index * own[axis], strides);
    return CLV_OK;
}

/* Of two axes, `offset` above the main diagonal: the last axis. */
clv_status kernel_diagonal(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t n, a, b, rank = 0;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &n);
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    int64_t offset = attr_int(k->n, CLV_A_OFFSET);
    CLV_TRY(norm_axis(n == 2 ? axes[0] : 0, x->rank, &a, k->e));
    CLV_TRY(norm_axis(n == 2 ? axes[1] : 1, x->rank, &b, k->e));
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != a && i != b)
            strides[rank++] = own[i];
    strides[rank] = own[a] + own[b];
    if (numel(&k->out[0]))
        copy_strided(&k->out[0], x,
                     offset > 0 ? offset * own[b] : -offset * own[a], strides);
    return CLV_OK;
}

clv_status kernel_copy(kernel *k)
{
    if (clv_tensor_bytes(k->in[0]) < clv_tensor_bytes(&k->out[0]))
        return clv__fail(k->e, CLV_SHAPE, "a copy longer than its source");
    memcpy(k->out[0].data, k->in[0]->data,
           (size_t)clv_tensor_bytes(&k->out[0]));
    return CLV_OK;
}

/* -- joining and splitting ------------------------------------------------*/

/* What lies before an axis: how many rows. */
static int64_t rows_before(const clv_tensor *t, uint32_t axis)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < axis; i++)
        n *= t->dims[i];
    return n;
}

clv_status kernel_cat(kernel *k)
{
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank ? y->rank : 1, &axis,
                      k->e));
    int64_t rows = rows_before(y, axis), at = 0;
    int64_t row = rows ? numel(y) / rows : 0;
    for (uint32_t i = 0; i < k->n->n_in && row > 0; i++) {
        const clv_tensor *x = k->in[i];
        int64_t run = x ? numel(x) / rows : 0;
        for (int64_t r = 0; r < rows && run > 0; r++)
            copy_run(y, r * row + at, x, r * run, run);
        at += run;
    }
    return CLV_OK;
}

/* Equal shapes along a new axis. */
clv_status kernel_stack(kernel *k)
{
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, k->e));
    int64_t run = dims_product(y->dims, axis + 1, y->rank),
            many = y->dims[axis];
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++)
        copy_run(y, i, k->in[i / run % many], i / (run * many) * run + i % run,
                 1);
    return CLV_OK;
}

/* Outputs are consecutive parts of the input along the axis; unbind and split
 * differ only in the shape of their outputs. */
clv_status kernel_split(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    int64_t rows = rows_before(x, axis), at = 0;
    int64_t row = rows ? numel(x) / rows : 0;
    for (uint32_t i = 0; i < k->n->n_out && row > 0; i++) {
        clv_tensor *y = &k->out[i];
        int64_t run = numel(y) / rows;
        for (int64_t r = 0; y->data && r < rows; r++)
            copy_run(y, r * run, x, r * row + at, run);
        at += run;
    }
    return CLV_OK;
}

/* -- other orders ---------------------------------------------------------*/

clv_status kernel_flip(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK], base = 0;
    int_list axes;
    CLV_TRY(list_of(k, CLV_A_AXES, 1, &axes));
    strides_of(x, strides);
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank, &a, k->e));
        base += (x->dims[a] - 1) * strides[a];
        strides[a] = -strides[a];
    }
    copy_strided(&k->out[0], x, base, strides);
    return CLV_OK;
}

/* Shifted along `axes`, wrapping; without axes, as one long row. */
clv_status kernel_roll(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int_list shifts, axes;
    CLV_TRY(list_of(k, CLV_A_SHIFTS, 1, &shifts));
    CLV_TRY(list_of(k, CLV_A_AXES, 2, &axes));
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    int64_t by[CLV_MAX_RANK] = {0}, n = numel(y);
    strides_of(x, own);
    for (uint32_t i = 0; i < axes.n && i < shifts.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank, &a, k->e));
        by[a] += x->dims[a] ? shifts.v[i] % x->dims[a] : 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (uint32_t a = 0; a < x->rank; a++)
            at += ((idx[a] - by[a]) % x->dims[a] + x->dims[a]) % x->dims[a] *
                  own[a];
        if (axes.n == 0 && shifts.n)
            at = ((i - shifts.v[0] % n) % n + n) % n;
        copy_run(y, i, x, at, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* The first length[b] steps of batch b backwards, the rest as they are. */
clv_status kernel_reverse_sequence(kernel *k)
{
    const clv_tensor *x = k->in[0], *length = k->in[1];
    uint32_t time, batch;
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_TIME_AXIS), x->rank, &time, k->e));
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_BATCH_AXIS), x->rank, &batch, k->e));
    strides_of(x, own);
    if (numel(length) < x->dims[batch])
        return clv__fail(k->e, CLV_SHAPE, "%lld lengths for %lld sequences",
                         (long long)numel(length), (long long)x->dims[batch]);
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t len = get_i(length, idx[batch]), t = idx[time], from = i;
        if (len > x->dims[time])
            return clv__fail(k->e, CLV_SHAPE, "a length of %lld of %lld",
                             (long long)len, (long long)x->dims[time]);
        if (t < len)
            from += (len - 1 - 2 * t) * own[time];
        copy_run(&k->out[0], i, x, from, 1);
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

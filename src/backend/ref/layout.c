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

/* Where a slice begins, as Python clamps it. */
static int64_t slice_start(int64_t start, int64_t size, int64_t step)
{
    int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? size - 1 : size;
    if (start < 0)
        start = start < -size ? lo : start + size;
    return start < lo ? lo : start > hi ? hi : start;
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
        base += slice_start(start.v[i], x->dims[a], by) * strides[a];
        strides[a] *= by;
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

/* -- elements by a computed index -----------------------------------------*/

/* Index modulo the axis: repeat, tile. */
clv_status kernel_repeat(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    uint32_t lead = y->rank - x->rank;
    strides_of(x, own);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t at = 0;
        for (uint32_t a = 0; a < x->rank; a++)
            at += idx[lead + a] % x->dims[a] * own[a];
        copy_run(y, i, x, at, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

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

/* Where index p of a padded axis comes from; -1: the constant. */
static int64_t pad_source(int64_t p, int64_t size, const char *mode)
{
    if (p >= 0 && p < size)
        return p;
    if (!strcmp(mode, "reflect")) {
        int64_t period = size > 1 ? 2 * (size - 1) : 1;
        p = (p % period + period) % period;
        return p < size ? p : period - p;
    }
    if (!strcmp(mode, "edge") || !strcmp(mode, "replicate"))
        return p < 0 ? 0 : size - 1;
    if (!strcmp(mode, "wrap") || !strcmp(mode, "circular"))
        return (p % size + size) % size;
    return -1;
}

clv_status kernel_pad(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int_list pads, axes;
    CLV_TRY(list_of(k, CLV_A_PADDING, 1, &pads));
    CLV_TRY(list_of(k, CLV_A_AXES, 3, &axes));
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    int64_t before[CLV_MAX_RANK] = {0};
    const char *mode = attr_str(k->n, CLV_A_MODE);
    scalar_arg fill;
    (void)scalar_at(k, CLV_A_VALUE, 2, &fill);
    strides_of(x, own);
    for (uint32_t i = 0; i < pads.n / 2; i++) {
        uint32_t a;
        CLV_TRY(
            norm_axis(axes.found ? axes.v[i] : (int64_t)i, x->rank, &a, k->e));
        before[a] = pads.v[i];
    }
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t at = 0;
        bool inside = true;
        for (uint32_t a = 0; a < x->rank; a++) {
            int64_t p = pad_source(idx[a] - before[a], x->dims[a], mode);
            inside = inside && p >= 0;
            at += p * own[a];
        }
        if (inside)
            copy_run(y, i, x, at, 1);
        else
            copy_run(y, i, &fill.t, 0, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

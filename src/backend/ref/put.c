/* put.c - copies of a tensor with some of it replaced, and elements taken one
 * by one: indices along an axis, masks, slices. */
#include "backend/kernel.h"

#include <string.h>

static void start_from(kernel *k)
{
    copy_run(&k->out[0], 0, k->in[0], 0, numel(k->in[0]));
}

/* x, index (n), updates: whole slices are added. */
clv_status kernel_index_add(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = k->in[2];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(x, axis);
    int64_t n = numel(index);
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    start_from(k);
    for (int64_t i = 0; i < l.rows * n * l.step; i++) {
        int64_t r = i / (n * l.step), s = i % l.step, at;
        CLV_TRY(checked(k, get_i(index, i / l.step % n), l.n, &at));
        at = (r * l.n + at) * l.step + s;
        if (is_float(x->dtype))
            put_f(&k->out[0], at, get_f(&k->out[0], at) + alpha * get_f(u, i));
        else
            put_i(&k->out[0], at,
                  (int64_t)((uint64_t)get_i(&k->out[0], at) +
                            (uint64_t)(int64_t)alpha * (uint64_t)get_i(u, i)));
    }
    return CLV_OK;
}

/* Where the mask (broadcast) is true, the next element of input 2. */
clv_status kernel_masked_scatter(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1], *source = k->in[2];
    clv_tensor *y = &k->out[0];
    int64_t idx[CLV_MAX_RANK] = {0}, sx[CLV_MAX_RANK], sm[CLV_MAX_RANK];
    int64_t used = 0;
    broadcast_strides(x, y->rank, sx);
    broadcast_strides(mask, y->rank, sm);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        bool on = get_i(mask, offset_of(idx, sm, y->rank)) != 0;
        if (on && used >= numel(source))
            return clv__fail(k->e, CLV_SHAPE,
                             "more places than the %lld elements",
                             (long long)numel(source));
        if (on)
            copy_run(y, i, source, used++, 1);
        else
            copy_run(y, i, x, offset_of(idx, sx, y->rank), 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* One index of an axis replaced. */
clv_status kernel_select_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1];
    uint32_t axis;
    int64_t at;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    CLV_TRY(checked(k, attr_int(k->n, CLV_A_INDEX), l.n, &at));
    if (numel(u) != l.rows * l.step)
        return clv__fail(k->e, CLV_SHAPE, "the slice has another shape");
    start_from(k);
    for (int64_t r = 0; r < l.rows; r++)
        copy_run(&k->out[0], (r * l.n + at) * l.step, u, r * l.step, l.step);
    return CLV_OK;
}

/* start, start + step, .. of an axis replaced. */
clv_status kernel_slice_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    int64_t from = attr_int(k->n, CLV_A_START);
    int64_t step = attr_int(k->n, CLV_A_STEP);
    int64_t n = u->rank > axis ? u->dims[axis] : 0;
    from = from < 0 ? from + l.n : from;
    if (u->rank != k->in[0]->rank || from < 0 || step < 1 ||
        (n && from + (n - 1) * step >= l.n) || numel(u) != l.rows * n * l.step)
        return clv__fail(k->e, CLV_SHAPE, "the slice has another shape");
    start_from(k);
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t i = 0; i < n; i++)
            copy_run(&k->out[0], (r * l.n + from + i * step) * l.step, u,
                     (r * n + i) * l.step, l.step);
    return CLV_OK;
}

/* cache, update, where it begins for each of the batch; mode "circular" goes on
 * at the front when the end is reached. */
clv_status kernel_tensor_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1], *at = input_of(k, 2);
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    int64_t n = u->dims[axis], batch = k->in[0]->dims[0];
    bool circular = attr_is(k->n, CLV_A_MODE, "circular");
    start_from(k);
    for (int64_t i = 0; i < l.rows * n; i++) {
        int64_t to = at ? get_i(at, i / n / (l.rows / batch)) : 0;
        CLV_TRY(checked(k, circular && to > 0 ? to % l.n : to, l.n, &to));
        to += i % n;
        CLV_TRY(checked(k, circular ? to % l.n : to, l.n, &to));
        copy_run(&k->out[0], (i / n * l.n + to) * l.step, u, i * l.step,
                 l.step);
    }
    return CLV_OK;
}

/* -- taking ---------------------------------------------------------------*/

/* Elements of the flattened tensor. */
clv_status kernel_take(kernel *k)
{
    const clv_tensor *x = k->in[0];
    for (int64_t i = 0, n = numel(&k->out[0]); i < n; i++) {
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
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t at, which = get_i(index, offset_of(idx, si, y->rank));
        CLV_TRY(checked(k, which, x->dims[axis], &at));
        copy_run(y, i, x, offset_of(idx, sx, y->rank) + at * own[axis], 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* weight (V,D), indices (B,L) or (N) with offsets (B), weights per sample */
clv_status kernel_embedding_bag(kernel *k)
{
    const clv_tensor *w = k->in[0], *index = k->in[1];
    const clv_tensor *offsets = input_of(k, 2), *scale = input_of(k, 3);
    const char *mode = attr_str(k->n, CLV_A_MODE);
    clv_tensor *y = &k->out[0];
    int64_t bags = y->dims[0], width = w->dims[1], n = numel(index);
    for (int64_t b = 0; b < bags; b++) {
        int64_t from = offsets ? get_i(offsets, b) : b * (n / bags);
        int64_t to = !offsets       ? from + n / bags
                     : b + 1 < bags ? get_i(offsets, b + 1)
                                    : n;
        if (from < 0 || to > n || from > to)
            return clv__fail(k->e, CLV_SHAPE, "bag %lld ends before it begins",
                             (long long)b);
        for (int64_t c = 0; c < width; c++) {
            double sum = 0;
            for (int64_t i = from; i < to; i++) {
                int64_t row;
                CLV_TRY(checked(k, get_i(index, i), w->dims[0], &row));
                double v = get_f(w, row * width + c);
                v *= scale ? get_f(scale, i) : 1;
                if (mode[0] == 'm' && mode[1] == 'a')
                    sum = i == from || v > sum ? v : sum;
                else
                    sum += v;
            }
            bool mean = mode[0] == 'm' && mode[1] == 'e';
            put_f(y, b * width + c,
                  mean && to > from ? sum / (double)(to - from) : sum);
        }
    }
    return CLV_OK;
}

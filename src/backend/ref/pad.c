/* pad.c - more elements at the edges, or fewer. */
#include "backend/kernel.h"

#include <string.h>

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
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
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

/* Each axis cut or filled with zeros about its centre. */
clv_status kernel_center_crop_pad(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    strides_of(x, own);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t from = 0;
        bool inside = true;
        for (uint32_t a = 0; a < x->rank; a++) {
            int64_t more = x->dims[a] - y->dims[a];
            int64_t at = idx[a] + (more > 0 ? more / 2 : -(-more / 2));
            inside = inside && at >= 0 && at < x->dims[a];
            from += at * own[a];
        }
        if (inside)
            copy_run(y, i, x, from, 1);
        else
            put_i(y, i, 0);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

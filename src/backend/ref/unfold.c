/* unfold.c - the windows of an image as columns, and back; windows that slide
 * along an axis. */
#include "backend/kernel.h"

#include <string.h>

/* An image (N,C,H,W) beside its windows, (N, C*kh*kw, places). */
typedef struct windows {
    uint32_t nd;
    int64_t image[CLV_MAX_RANK], across[CLV_MAX_RANK]; /* pixels, windows */
    int64_t places, taps;
    window w[CLV_MAX_RANK];
} windows;

static clv_status unfold_windows_of(kernel *k, const clv_tensor *image,
                                    const clv_tensor *columns, windows *w)
{
    uint32_t first = columns->rank - 1;
    int_list size;
    CLV_TRY(list_of(k, CLV_A_KERNEL, 2, &size));
    w->nd = image->rank - first;
    w->places = columns->dims[first];
    w->taps = 1;
    for (uint32_t i = 0; i < w->nd; i++) {
        w->image[i] = image->dims[first + i];
        CLV_TRY(get_window(k->n, i, w->nd, w->image[i],
                           list_at(size.v, size.n, i), &w->w[i], k->e));
        CLV_TRY(window_out(&w->w[i], w->image[i], false, &w->across[i], k->e));
        w->taps *= w->w[i].kernel;
    }
    return CLV_OK;
}

/* Where element i of the windows is in the image; -1: outside of it. */
static int64_t pixel_of(const windows *w, int64_t i)
{
    int64_t place = i % w->places, tap = i / w->places % w->taps;
    int64_t at = 0, step = 1;
    for (uint32_t a = w->nd; a-- > 0;) {
        const window *v = &w->w[a];
        int64_t p = place % w->across[a] * v->stride - v->before +
                    tap % v->kernel * v->dilation;
        if (p < 0 || p >= w->image[a])
            return -1;
        at += p * step;
        step *= w->image[a];
        place /= w->across[a];
        tap /= v->kernel;
    }
    return i / w->places / w->taps * step + at;
}

/* Outside the image is 0. */
clv_status kernel_unfold(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    windows w;
    CLV_TRY(unfold_windows_of(k, x, y, &w));
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t from = pixel_of(&w, i);
        if (from >= 0)
            copy_run(y, i, x, from, 1);
        else
            put_f(y, i, 0);
    }
    return CLV_OK;
}

/* The reverse: windows that overlap are added. */
clv_status kernel_fold(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    windows w;
    CLV_TRY(unfold_windows_of(k, y, x, &w));
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t to = pixel_of(&w, i);
        if (to >= 0)
            put_arith(clv__arith(CLV_OP_ADD), y, to, (element){y, to},
                      (element){x, i});
    }
    return CLV_OK;
}

/* Windows of `size` every `step` along an axis, as a new last axis. */
clv_status kernel_sliding_window(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK + 1];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    strides_of(x, strides);
    strides[x->rank] = strides[axis];
    strides[axis] *= attr_int(k->n, CLV_A_STEP);
    copy_strided(&k->out[0], x, 0, strides);
    return CLV_OK;
}

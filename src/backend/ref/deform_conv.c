/* deform_conv.c - convolution whose taps are moved by offsets. */
#include "backend/kernel.h"

#include <math.h>

typedef struct deform {
    const clv_tensor *x, *w, *offset, *mask;
    int64_t out_h, out_w, taps, sets; /* sets of offsets share the channels */
    window v, h;
} deform;

/* Between four pixels; outside the image is 0. */
static double deform_pixel(const clv_tensor *x, int64_t plane, double row,
                           double col)
{
    int64_t rows = x->dims[2], cols = x->dims[3];
    double r0 = floor(row), c0 = floor(col), sum = 0;
    for (int i = 0; i < 4; i++) {
        double r = r0 + i / 2, c = c0 + i % 2;
        if (!(r >= 0 && r < (double)rows && c >= 0 && c < (double)cols))
            continue;
        double share = (1 - fabs(row - r)) * (1 - fabs(col - c));
        sum +=
            share * get_f(x, (plane * rows + (int64_t)r) * cols + (int64_t)c);
    }
    return sum;
}

/* Tap t of channel c at pixel (oy, ox) of image b, moved by its offset. */
static double deform_moved(const deform *d, int64_t b, int64_t c, int64_t t,
                           int64_t oy, int64_t ox)
{
    int64_t set = c / (d->x->dims[1] / d->sets), kw = d->w->dims[3];
    int64_t area = d->out_h * d->out_w, at = oy * d->out_w + ox;
    int64_t o = (b * d->sets + set) * d->taps + t;
    double row =
        (double)(oy * d->v.stride - d->v.before + t / kw * d->v.dilation) +
        get_f(d->offset, 2 * o * area + at);
    double col =
        (double)(ox * d->h.stride - d->h.before + t % kw * d->h.dilation) +
        get_f(d->offset, (2 * o + 1) * area + at);
    double m = d->mask ? get_f(d->mask, o * area + at) : 1;
    return m * deform_pixel(d->x, b * d->x->dims[1] + c, row, col);
}

/* x (N,C,H,W), w (M,C/g,R,S), offset (N,2*D*R*S,P,Q), bias, mask */
clv_status kernel_deform_conv(kernel *k)
{
    const clv_tensor *bias = input_of(k, 3);
    clv_tensor *y = &k->out[0];
    deform d = {.x = k->in[0],
                .w = k->in[1],
                .offset = k->in[2],
                .mask = input_of(k, 4),
                .out_h = y->dims[2],
                .out_w = y->dims[3]};
    d.taps = d.w->dims[2] * d.w->dims[3];
    d.sets = d.offset->dims[1] / (2 * d.taps);
    int64_t m = d.w->dims[0], each = d.w->dims[1];
    int64_t groups = each ? d.x->dims[1] / each : 1;
    if (d.sets < 1 || d.x->dims[1] % d.sets || m % groups ||
        (d.mask && d.mask->dims[1] != d.sets * d.taps))
        return clv__fail(k->e, CLV_SHAPE, "offsets do not fit the channels");
    CLV_TRY(get_window(k->n, 0, 2, d.x->dims[2], d.w->dims[2], &d.v, k->e));
    CLV_TRY(get_window(k->n, 1, 2, d.x->dims[3], d.w->dims[3], &d.h, k->e));
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(each * d.taps);
         i++) {
        int64_t ox = i % d.out_w, oy = i / d.out_w % d.out_h;
        int64_t o = i / (d.out_w * d.out_h) % m,
                b = i / (d.out_w * d.out_h) / m;
        double sum = bias ? get_f(bias, o) : 0;
        for (int64_t c = 0; c < each; c++)
            for (int64_t t = 0; t < d.taps; t++)
                sum +=
                    get_f(d.w, (o * each + c) * d.taps + t) *
                    deform_moved(&d, b, o / (m / groups) * each + c, t, oy, ox);
        put_f(y, i, sum);
    }
    return CLV_OK;
}

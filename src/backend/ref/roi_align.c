/* roi_align.c - regions of an image as bins of a fixed number. */
#include "backend/sampling.h"

#include <math.h>

/* Between four elements; 0 more than one beyond the edge. `most`: the largest
 * of the four with their weights, not the sum. */
static double roi_between(const clv_tensor *x, int64_t plane, double v,
                          double h, bool most)
{
    int64_t rows = x->dims[2], cols = x->dims[3];
    if (!(v >= -1 && v <= (double)rows && h >= -1 && h <= (double)cols))
        return 0;
    v = v < 0 ? 0 : v > (double)rows - 1 ? (double)rows - 1 : v;
    h = h < 0 ? 0 : h > (double)cols - 1 ? (double)cols - 1 : h;
    int64_t y0 = (int64_t)v, x0 = (int64_t)h;
    int64_t y1 = y0 + 1 < rows ? y0 + 1 : y0, x1 = x0 + 1 < cols ? x0 + 1 : x0;
    double fy = v - (double)y0, fx = h - (double)x0;
    int64_t base = plane * rows * cols;
    double a = (1 - fy) * (1 - fx) * get_f(x, base + y0 * cols + x0);
    double b = (1 - fy) * fx * get_f(x, base + y0 * cols + x1);
    double c = fy * (1 - fx) * get_f(x, base + y1 * cols + x0);
    double d = fy * fx * get_f(x, base + y1 * cols + x1);
    return most ? fmax(fmax(a, b), fmax(c, d)) : a + b + c + d;
}

static double bin_of(const clv_tensor *x, const region *r, int64_t plane,
                     const int64_t *cell, bool most)
{
    double sum = 0, top = -INFINITY;
    for (int64_t i = 0; i < r->samples_y; i++)
        for (int64_t j = 0; j < r->samples_x && clv__in_time(1); j++) {
            double fy = ((double)i + 0.5) / (double)r->samples_y;
            double fx = ((double)j + 0.5) / (double)r->samples_x;
            double v =
                roi_between(x, plane, r->y + ((double)cell[0] + fy) * r->bin_y,
                            r->x + ((double)cell[1] + fx) * r->bin_x, most);
            sum += v;
            top = v > top ? v : top;
        }
    if (r->samples_y < 1 || r->samples_x < 1)
        return 0;
    return most ? top : sum / (double)(r->samples_y * r->samples_x);
}

clv_status clv__region_of(const kernel *k, int64_t i, region *r)
{
    const clv_tensor *boxes = k->in[1], *batch = input_of(k, 2);
    const clv_tensor *y = &k->out[0];
    int64_t width = boxes->dims[1], at = i * width + (width == 5);
    double scale = attr_float(k->n, CLV_A_SPATIAL_SCALE);
    bool aligned = attr_int(k->n, CLV_A_ALIGNED);
    double shift = aligned ? 0.5 : 0;
    int64_t ratio = attr_int(k->n, CLV_A_SAMPLING);
    r->batch = width == 5 ? get_i(boxes, at - 1) : batch ? get_i(batch, i) : 0;
    if (r->batch < 0 || r->batch >= k->in[0]->dims[0])
        return clv__fail(k->e, CLV_SHAPE, "a box of image %lld of %lld",
                         (long long)r->batch, (long long)k->in[0]->dims[0]);
    r->x = get_f(boxes, at) * scale - shift;
    r->y = get_f(boxes, at + 1) * scale - shift;
    double w = get_f(boxes, at + 2) * scale - shift - r->x;
    double h = get_f(boxes, at + 3) * scale - shift - r->y;
    if (!aligned) {
        w = w > 1 ? w : 1;
        h = h > 1 ? h : 1;
    }
    r->bin_x = w / (double)y->dims[3];
    r->bin_y = h / (double)y->dims[2];
    if (!(fabs(r->bin_x) < 1e6 && fabs(r->bin_y) < 1e6))
        return clv__fail(k->e, CLV_SHAPE, "box %lld is no box", (long long)i);
    r->samples_x = ratio > 0 ? ratio : (int64_t)ceil(r->bin_x);
    r->samples_y = ratio > 0 ? ratio : (int64_t)ceil(r->bin_y);
    return CLV_OK;
}

/* The mean (or the largest) of samples in each bin of each box. */
clv_status kernel_roi_align(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool most = attr_is(k->n, CLV_A_MODE, "max");
    int64_t channels = x->dims[1], bins = y->dims[2] * y->dims[3];
    for (int64_t i = 0; i < y->dims[0]; i++) {
        region r = {0};
        CLV_TRY(clv__region_of(k, i, &r));
        for (int64_t c = 0; c < channels; c++) {
            int64_t cell[2] = {0, 0};
            for (int64_t b = 0; b < bins; b++) {
                put_f(y, (i * channels + c) * bins + b,
                      bin_of(x, &r, r.batch * channels + c, cell, most));
                next_index(cell, y->dims + 2, 2);
            }
        }
    }
    return CLV_OK;
}

/* First and last-plus-one element of bin i of n over [from, from + size). */
static void bin_range(double from, double size, int64_t i, int64_t n,
                      int64_t limit, int64_t *range)
{
    double step = size / (double)n, end = (double)limit;
    double lo = floor((double)i * step) + from;
    double hi = ceil((double)(i + 1) * step) + from;
    range[0] = (int64_t)(lo < 0 ? 0 : lo > end ? end : lo);
    range[1] = (int64_t)(hi < 0 ? 0 : hi > end ? end : hi);
}

static double largest_in(const clv_tensor *x, int64_t plane, const int64_t *v,
                         const int64_t *h)
{
    double most = -INFINITY;
    for (int64_t i = v[0]; i < v[1]; i++)
        for (int64_t j = h[0]; j < h[1] && clv__in_time(1); j++) {
            double e = get_f(x, (plane * x->dims[2] + i) * x->dims[3] + j);
            most = e > most ? e : most;
        }
    return isinf(most) && (v[0] >= v[1] || h[0] >= h[1]) ? 0 : most;
}

/* The largest element of each bin; boxes (R,5) of whole elements. */
clv_status kernel_max_roi_pool(kernel *k)
{
    const clv_tensor *x = k->in[0], *boxes = k->in[1];
    clv_tensor *y = &k->out[0];
    double scale = attr_float(k->n, CLV_A_SPATIAL_SCALE), box[4];
    int64_t channels = x->dims[1], rows = y->dims[2], cols = y->dims[3];
    if (boxes->dims[1] != 5)
        return clv__fail(k->e, CLV_SHAPE, "boxes of %lld numbers, not 5",
                         (long long)boxes->dims[1]);
    for (int64_t i = 0; i < numel(y); i++) {
        int64_t b = i / (channels * rows * cols), v[2], h[2];
        int64_t image = get_i(boxes, b * 5);
        if (image < 0 || image >= x->dims[0])
            return clv__fail(k->e, CLV_SHAPE, "a box of image %lld of %lld",
                             (long long)image, (long long)x->dims[0]);
        for (int j = 0; j < 4; j++)
            box[j] = round(get_f(boxes, b * 5 + 1 + j) * scale);
        bin_range(box[1], fmax(box[3] - box[1] + 1, 1), i / cols % rows, rows,
                  x->dims[2], v);
        bin_range(box[0], fmax(box[2] - box[0] + 1, 1), i % cols, cols,
                  x->dims[3], h);
        int64_t plane = image * channels + i / (rows * cols) % channels;
        put_f(y, i, largest_in(x, plane, v, h));
    }
    return CLV_OK;
}

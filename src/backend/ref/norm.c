/* norm.c - normalisations and softmax: statistics over a set of elements, then
 * one pass that applies them. */
#include "backend/kernel.h"

#include <math.h>

static double at_or(const clv_tensor *t, int64_t i, double otherwise)
{
    return t ? get_f(t, i) : otherwise;
}

/* Mean and variance of n elements from `first`, `step` apart. */
static void norm_moments(const clv_tensor *x, int64_t first, int64_t n,
                         double *mean, double *var)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        sum += get_f(x, first + i);
    *mean = n ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++) {
        double d = get_f(x, first + i) - *mean;
        square += d * d;
    }
    *var = n ? square / (double)n : 0;
}

/* The running statistic moves towards the batch's. */
static void norm_blend(clv_tensor *out, const clv_tensor *old, int64_t c,
                       double now, double momentum)
{
    if (out && old)
        put_f(out, c, momentum * get_f(old, c) + (1 - momentum) * now);
}

/* Normalised by what the batch itself has, as in training. */
static clv_status batch_statistics(kernel *k, int64_t plane)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *w = input_of(k, 1), *b = input_of(k, 2);
    double eps = attr_float(k->n, CLV_A_EPSILON);
    double momentum = attr_float(k->n, CLV_A_MOMENTUM);
    int64_t batch = x->dims[0], channels = x->dims[1];
    double count = (double)(batch * plane);
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0, var = 0;
        for (int pass = 0; pass < 3; pass++) {
            double scale = at_or(w, c, 1) / sqrt(var / count + eps);
            for (int64_t i = 0; i < batch * plane; i++) {
                int64_t at = (i / plane * channels + c) * plane + i % plane;
                double d = get_f(x, at) - mean / count;
                if (pass == 2)
                    put_f(&k->out[0], at, d * scale + at_or(b, c, 0));
                else if (pass == 1)
                    var += d * d;
            }
            for (int64_t i = 0; pass == 0 && i < batch * plane; i++)
                mean +=
                    get_f(x, (i / plane * channels + c) * plane + i % plane);
        }
        norm_blend(output_of(k, 1), input_of(k, 3), c, mean / count, momentum);
        norm_blend(output_of(k, 2), input_of(k, 4), c, var / count, momentum);
    }
    return CLV_OK;
}

/* x (N,C,..), then weight, bias, mean, variance, one per channel. */
clv_status kernel_batch_norm(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *w = input_of(k, 1), *b = input_of(k, 2);
    const clv_tensor *mean = input_of(k, 3), *var = input_of(k, 4);
    clv_tensor *y = &k->out[0];
    double eps = attr_float(k->n, CLV_A_EPSILON);
    int64_t channels = x->dims[1], n = numel(x);
    int64_t plane = channels && x->dims[0] ? n / (channels * x->dims[0]) : 0;
    if (!mean || !var || attr_int(k->n, CLV_A_TRAINING))
        return batch_statistics(k, plane);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i / plane % channels;
        double scale = at_or(w, c, 1) / sqrt(get_f(var, c) + eps);
        put_f(y, i, (get_f(x, i) - get_f(mean, c)) * scale + at_or(b, c, 0));
    }
    return CLV_OK;
}

/* Over the last axes, from `axis` or as many as `shape` has; weight and bias
 * are broadcast to x. With center off it is a root mean square. */
static clv_status last_axes_norm(kernel *k, bool center)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *w = input_of(k, 1), *b = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(get_norm_axis(k->n, x->rank, &axis, k->e));
    double eps = attr_float(k->n, CLV_A_EPSILON);
    int64_t run = 1;
    for (uint32_t i = axis; i < x->rank; i++)
        run *= x->dims[i];
    int64_t sw[CLV_MAX_RANK] = {0}, sb[CLV_MAX_RANK] = {0};
    int64_t idx[CLV_MAX_RANK] = {0};
    if (w)
        broadcast_strides(w, x->rank, sw);
    if (b)
        broadcast_strides(b, x->rank, sb);
    for (int64_t r = 0, n = run ? numel(x) / run : 0; r < n && clv__in_time(1);
         r++) {
        double mean, var, scale;
        norm_moments(x, r * run, run, &mean, &var);
        if (!center) {
            var += mean * mean;
            mean = 0;
        }
        scale = 1 / sqrt(var + eps);
        for (int64_t i = r * run; i < (r + 1) * run; i++) {
            double v = (get_f(x, i) - mean) * scale;
            v *= w ? get_f(w, offset_of(idx, sw, x->rank)) : 1;
            v += b ? get_f(b, offset_of(idx, sb, x->rank)) : 0;
            put_f(y, i, v);
            next_index(idx, x->dims, x->rank);
        }
        if (k->n->n_out > 1 && k->out[1].data)
            put_f(&k->out[1], r, center ? mean : scale);
        if (k->n->n_out > 2 && k->out[2].data)
            put_f(&k->out[2], r, scale);
    }
    return CLV_OK;
}

clv_status kernel_layer_norm(kernel *k)
{
    return last_axes_norm(k, true);
}

clv_status kernel_rms_norm(kernel *k)
{
    return last_axes_norm(k, false);
}

/* Over `groups` of channels of each image; instance norm has one channel per
 * group. */
clv_status kernel_group_norm(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *w = input_of(k, 1), *b = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    int64_t channels = x->dims[1], n = numel(x);
    int64_t groups = k->n->op == CLV_OP_INSTANCE_NORM
                         ? channels
                         : attr_int(k->n, CLV_A_GROUPS);
    double eps = attr_float(k->n, CLV_A_EPSILON);
    if (n == 0)
        return CLV_OK;
    int64_t plane = n / (x->dims[0] * channels);
    int64_t run = plane * (channels / groups);
    for (int64_t r = 0; r < n / run; r++) {
        double mean, var;
        norm_moments(x, r * run, run, &mean, &var);
        double scale = 1 / sqrt(var + eps);
        for (int64_t i = r * run; i < (r + 1) * run; i++) {
            int64_t c = i / plane % channels;
            put_f(y, i,
                  (get_f(x, i) - mean) * scale * at_or(w, c, 1) +
                      at_or(b, c, 0));
        }
    }
    return CLV_OK;
}

/* -- other norms ----------------------------------------------------------*/

/* x / (k + alpha * mean of squares over `size` channels)^beta. Half of them lie
 * before x; of an even size one less, or with `ceil` one more than behind. */
clv_status kernel_lrn(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t size = attr_int(k->n, CLV_A_SIZE), c = x->dims[1];
    int64_t before = (attr_int(k->n, CLV_A_CEIL) ? size : size - 1) / 2;
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    double bias = attr_float(k->n, CLV_A_K);
    int64_t plane = c && x->dims[0] ? numel(x) / (c * x->dims[0]) : 0;
    if (x->rank < 2)
        return clv__fail(k->e, CLV_SHAPE, "no channels in rank %u", x->rank);
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t ch = i / plane % c, base = i - ch * plane;
        int64_t from = ch - before, to = from + size;
        double sum = 0;
        for (int64_t j = from < 0 ? 0 : from;
             j < to && j < c && clv__in_time(1); j++)
            sum += get_f(x, base + j * plane) * get_f(x, base + j * plane);
        put_f(&k->out[0], i,
              get_f(x, i) / pow(bias + alpha / (double)size * sum, beta));
    }
    return CLV_OK;
}

/* x over its p-norm, which is kept at `epsilon` or above. */
clv_status kernel_lp_norm(kernel *k)
{
    lane l;
    double p = attr_float(k->n, CLV_A_P);
    double least = attr_float(k->n, CLV_A_EPSILON);
    CLV_TRY(lane_of(k, &l));
    for (int64_t r = 0; r < l.rows; r++) {
        int64_t first = lane_first(&l, r);
        double sum = 0;
        for (int64_t i = 0; i < l.n; i++)
            sum += pow(fabs(get_f(k->in[0], first + i * l.step)), p);
        double norm = pow(sum, 1 / p);
        if (norm < least)
            norm = least;
        if (norm <= 0)
            norm = 1; /* zeros stay zeros */
        for (int64_t i = 0; i < l.n; i++)
            put_f(&k->out[0], first + i * l.step,
                  get_f(k->in[0], first + i * l.step) / norm);
    }
    return CLV_OK;
}

/* conv.c - convolutions as plain loops: float32 in float32, a kernel tap at a
 * time; other floats in double, integers in 64 bits, where they wrap. */
#include "backend/kernel.h"

#include <string.h>

enum { SPATIAL = 3 };

/* A convolution of up to three axes; missing ones have size 1. */
typedef struct conv {
    int64_t batch, groups, cin, cout; /* channels per group */
    int64_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    int64_t stride[SPATIAL], dilation[SPATIAL], pad[SPATIAL];
} conv;

static clv_status conv_of(const kernel *k, const clv_tensor *x,
                          const clv_tensor *w, const clv_tensor *y, conv *c)
{
    const int64_t *x_dims = x->dims, *y_dims = y->dims;
    uint32_t nd = w->rank - 2, channel = x->rank == w->rank; /* or no batch */
    *c = (conv){.batch = channel ? x->dims[0] : 1,
                .groups = attr_int(k->n, CLV_A_GROUPS)};
    c->cin = x->dims[channel] / c->groups;
    c->cout = y->dims[channel] / c->groups;
    x_dims += channel + 1;
    y_dims += channel + 1;
    if (nd < 1 || nd > SPATIAL)
        return clv__fail(k->e, CLV_UNSUPPORTED, "convolution over %u axes", nd);
    for (uint32_t i = 0; i < SPATIAL; i++) {
        c->in[i] = c->out[i] = c->kernel[i] = c->stride[i] = c->dilation[i] = 1;
        if (i < SPATIAL - nd)
            continue;
        uint32_t a = i - (SPATIAL - nd);
        window win;
        CLV_TRY(get_window(k->n, a, nd, x_dims[a], w->dims[2 + a], &win, k->e));
        c->in[i] = x_dims[a];
        c->out[i] = y_dims[a];
        c->kernel[i] = w->dims[2 + a];
        c->stride[i] = win.stride;
        c->dilation[i] = win.dilation;
        c->pad[i] = win.before;
    }
    return CLV_OK;
}

/* The sum over one kernel window of one group's channels. */
static dot_sum window_sum(const conv *c, const clv_tensor *x, int64_t x0,
                          const clv_tensor *w, int64_t w0, const int64_t *at)
{
    dot_sum sum = {0, 0};
    bool real = is_float(x->dtype) || is_float(w->dtype);
    int64_t plane = c->in[0] * c->in[1] * c->in[2];
    for (int64_t ch = 0; ch < c->cin; ch++)
        for (int64_t i = 0; i < c->kernel[0]; i++)
            for (int64_t j = 0; j < c->kernel[1]; j++)
                for (int64_t l = 0; l < c->kernel[2]; l++, w0++) {
                    int64_t d =
                        at[0] * c->stride[0] - c->pad[0] + i * c->dilation[0];
                    int64_t h =
                        at[1] * c->stride[1] - c->pad[1] + j * c->dilation[1];
                    int64_t v =
                        at[2] * c->stride[2] - c->pad[2] + l * c->dilation[2];
                    if (d < 0 || d >= c->in[0] || h < 0 || h >= c->in[1] ||
                        v < 0 || v >= c->in[2])
                        continue;
                    int64_t from =
                        x0 + ch * plane + (d * c->in[1] + h) * c->in[2] + v;
                    add_product(&sum, real, (element){x, from},
                                (element){w, w0});
                }
    return sum;
}

/* The same over a whole output plane in float32, one kernel tap at a time. */
static void plane_f32(const conv *c, const float *x, const float *w, float bias,
                      float *y)
{
    int64_t in_plane = c->in[0] * c->in[1] * c->in[2];
    int64_t out_plane = c->out[0] * c->out[1] * c->out[2];
    for (int64_t i = 0; i < out_plane; i++)
        y[i] = bias;
    for (int64_t ch = 0; ch < c->cin; ch++, x += in_plane)
        for (int64_t a = 0; a < c->kernel[0]; a++)
            for (int64_t b = 0; b < c->kernel[1]; b++)
                for (int64_t t = 0; t < c->kernel[2]; t++, w++)
                    for (int64_t d = 0; d < c->out[0]; d++) {
                        int64_t id =
                            d * c->stride[0] - c->pad[0] + a * c->dilation[0];
                        if (id < 0 || id >= c->in[0])
                            continue;
                        for (int64_t h = 0;
                             h < c->out[1] && clv__in_time(c->out[2]); h++) {
                            int64_t ih = h * c->stride[1] - c->pad[1] +
                                         b * c->dilation[1];
                            if (ih < 0 || ih >= c->in[1])
                                continue;
                            const float *row =
                                x + (id * c->in[1] + ih) * c->in[2];
                            float *to = y + (d * c->out[1] + h) * c->out[2];
                            int64_t shift = t * c->dilation[2] - c->pad[2];
                            for (int64_t v = 0; v < c->out[2]; v++) {
                                int64_t iv = v * c->stride[2] + shift;
                                if (iv >= 0 && iv < c->in[2])
                                    to[v] += row[iv] * *w;
                            }
                        }
                    }
}

clv_status kernel_conv(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = k->in[1];
    const clv_tensor *bias = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    conv c;
    CLV_TRY(conv_of(k, x, w, y, &c));
    int64_t in_plane = c.in[0] * c.in[1] * c.in[2];
    int64_t out_plane = c.out[0] * c.out[1] * c.out[2];
    int64_t taps = c.cin * c.kernel[0] * c.kernel[1] * c.kernel[2];
    bool fast = all_float32(k);
    for (int64_t n = 0; n < c.batch; n++)
        for (int64_t m = 0; m < c.groups * c.cout; m++) {
            int64_t x0 = (n * c.groups + m / c.cout) * c.cin * in_plane;
            int64_t y0 = (n * c.groups * c.cout + m) * out_plane;
            if (fast) {
                plane_f32(&c, (const float *)x->data + x0,
                          (const float *)w->data + m * taps,
                          bias ? ((const float *)bias->data)[m] : 0,
                          (float *)y->data + y0);
                continue;
            }
            int64_t at[SPATIAL] = {0};
            for (int64_t i = 0; i < out_plane && clv__in_time(taps); i++) {
                put_sum(y, y0 + i, window_sum(&c, x, x0, w, m * taps, at),
                        (element){bias, m});
                next_index(at, c.out, SPATIAL);
            }
        }
    return CLV_OK;
}

/* Padding of a transposed convolution whose size is given, or is `in * stride`
 * by padding "same": what is cut off, the smaller half of it in front where the
 * mode is "same" and behind elsewhere. */
static void cut_pads(const kernel *k, uint32_t nd, conv *c)
{
    uint32_t given, count;
    const char *mode = attr_str(k->n, CLV_A_AUTO_PAD);
    const int64_t *more = attr_ints(k->n, CLV_A_OUTPUT_PADDING, &count);
    (void)attr_ints(k->n, CLV_A_OUTPUT_SIZE, &given);
    if (*mode != 's' && !given)
        return;
    for (uint32_t a = 0, i = SPATIAL - nd; a < nd; a++, i++) {
        int64_t whole = (c->in[i] - 1) * c->stride[i] +
                        (c->kernel[i] - 1) * c->dilation[i] + 1 +
                        list_at(more, count, a);
        int64_t cut = whole > c->out[i] ? whole - c->out[i] : 0;
        c->pad[i] = strcmp(mode, "same") ? cut - cut / 2 : cut / 2;
    }
}

/* Transposed: every input element is spread over the kernel's window. */
clv_status kernel_convt(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = k->in[1];
    const clv_tensor *bias = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    conv c;
    CLV_TRY(conv_of(k, x, w, y, &c));
    cut_pads(k, w->rank - 2, &c);
    int64_t in_plane = c.in[0] * c.in[1] * c.in[2];
    int64_t out_plane = c.out[0] * c.out[1] * c.out[2];
    int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
    bool real = is_float(x->dtype) || is_float(w->dtype);
    dot_sum *sum = arena_array(k->scratch, (size_t)out_plane + 1, sizeof *sum);
    if (!sum)
        return clv__nomem(k->e);
    for (int64_t nm = 0; nm < c.batch * c.groups * c.cout; nm++) {
        int64_t n = nm / (c.groups * c.cout), m = nm % (c.groups * c.cout);
        int64_t grp = m / c.cout;
        for (int64_t i = 0; i < out_plane; i++)
            sum[i] = (dot_sum){0, 0};
        for (int64_t ch = 0; ch < c.cin; ch++) {
            int64_t x0 = ((n * c.groups + grp) * c.cin + ch) * in_plane;
            int64_t w0 = ((grp * c.cin + ch) * c.cout + m % c.cout) * taps;
            int64_t at[SPATIAL] = {0};
            for (int64_t i = 0; i < in_plane && clv__in_time(taps); i++) {
                int64_t tap[SPATIAL] = {0};
                for (int64_t t = 0; t < taps; t++) {
                    int64_t to = 0;
                    bool inside = true;
                    for (int s = 0; s < SPATIAL; s++) {
                        int64_t p = at[s] * c.stride[s] - c.pad[s] +
                                    tap[s] * c.dilation[s];
                        inside = inside && p >= 0 && p < c.out[s];
                        to = to * c.out[s] + p;
                    }
                    if (inside)
                        add_product(&sum[to], real, (element){x, x0 + i},
                                    (element){w, w0 + t});
                    next_index(tap, c.kernel, SPATIAL);
                }
                next_index(at, c.in, SPATIAL);
            }
        }
        for (int64_t i = 0; i < out_plane; i++)
            put_sum(y, nm * out_plane + i, sum[i], (element){bias, m});
    }
    return CLV_OK;
}

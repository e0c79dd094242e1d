/* products.c - convolutions and matrix products as plain loops.
 *
 * float32 operands are multiplied in float32 and summed in float32 along the
 * innermost axis, as every fast backend does; other types go through double or
 * int64, exactly. */
#include "backend/kernel.h"

#include <string.h>

dot_sum dot(strip a, strip b, int64_t n)
{
    dot_sum s = {0, 0};
    bool real = is_float(a.t->dtype) || is_float(b.t->dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t ia = a.at + i * a.step, ib = b.at + i * b.step;
        if (real)
            s.real += get_f(a.t, ia) * get_f(b.t, ib);
        else
            s.whole += (uint64_t)get_i(a.t, ia) * (uint64_t)get_i(b.t, ib);
    }
    return s;
}

void put_affine(clv_tensor *y, int64_t at, dot_sum sum, const double *scales,
                element c)
{
    if (is_float(y->dtype)) {
        double x = scales[0] * (sum.real + (double)(int64_t)sum.whole);
        put_f(y, at, c.t ? x + scales[1] * get_f(c.t, c.i) : x);
        return;
    }
    uint64_t x = (uint64_t)(int64_t)scales[0] * sum.whole;
    if (c.t)
        x += (uint64_t)(int64_t)scales[1] * (uint64_t)get_i(c.t, c.i);
    put_i(y, at, (int64_t)x);
}

static const double unscaled[2] = {1, 1};

/* -- matrix products ------------------------------------------------------*/

/* c (m,n) = a (m,k) b, with b (k,n) or, transposed, (n,k); all contiguous. */
static void matmul_f32(const float *a, const float *b, const float *bias,
                       float *c, int64_t m, int64_t k, int64_t n, bool bt)
{
    for (int64_t i = 0; i < m; i++) {
        float *row = c + i * n;
        for (int64_t j = 0; j < n; j++)
            row[j] = bias ? bias[j] : 0;
        if (bt) {
            for (int64_t j = 0; j < n; j++) {
                float sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += a[i * k + p] * b[j * k + p];
                row[j] += sum;
            }
            continue;
        }
        for (int64_t p = 0; p < k; p++) {
            float x = a[i * k + p];
            for (int64_t j = 0; j < n; j++)
                row[j] += x * b[p * n + j];
        }
    }
}

/* Loops over floats need all of them to be. */
static bool all_f32(const kernel *k)
{
    bool all = k->out[0].dtype == CLV_FLOAT32;
    for (uint32_t i = 0; i < k->n->n_in && all; i++)
        all = !k->in[i] || k->in[i]->dtype == CLV_FLOAT32;
    return all;
}

/* x (..,K), w (M,K) or (K), bias (M) -> (..,M) */
clv_status kernel_linear(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = k->in[1];
    const clv_tensor *bias = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    int64_t depth = x->dims[x->rank - 1];
    int64_t cols = w->rank == 2 ? w->dims[0] : 1;
    int64_t rows = depth ? numel(x) / depth : 0;
    if (all_f32(k)) {
        matmul_f32(x->data, w->data, bias ? bias->data : NULL, y->data, rows,
                   depth, cols, true);
        return CLV_OK;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            put_affine(
                y, i * cols + j,
                dot((strip){x, i * depth, 1}, (strip){w, j * depth, 1}, depth),
                unscaled, (element){bias, j});
    return CLV_OK;
}

/* a (..,M,K) @ b (..,K,N); leading axes broadcast, vectors are promoted. */
clv_status kernel_matmul(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1];
    clv_tensor *y = &k->out[0];
    int64_t m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    int64_t depth = a->dims[a->rank - 1];
    int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    uint32_t lead = y->rank - (a->rank > 1) - (b->rank > 1);

    /* Batch axes only, with the strides of whole matrices. */
    clv_tensor ba = *a, bb = *b;
    ba.rank = a->rank > 2 ? a->rank - 2 : 0;
    bb.rank = b->rank > 2 ? b->rank - 2 : 0;
    int64_t sa[CLV_MAX_RANK], sb[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    broadcast_strides(&ba, lead, sa);
    broadcast_strides(&bb, lead, sb);
    int64_t batches = 1;
    for (uint32_t i = 0; i < lead; i++)
        batches *= y->dims[i];
    bool fast = all_f32(k);
    for (int64_t t = 0; t < batches; t++) {
        int64_t ia = offset_of(idx, sa, lead) * m * depth;
        int64_t ib = offset_of(idx, sb, lead) * depth * n;
        if (fast)
            matmul_f32((const float *)a->data + ia, (const float *)b->data + ib,
                       NULL, (float *)y->data + t * m * n, m, depth, n, false);
        for (int64_t i = 0; !fast && i < m; i++)
            for (int64_t j = 0; j < n; j++)
                put_affine(y, (t * m + i) * n + j,
                           dot((strip){a, ia + i * depth, 1},
                               (strip){b, ib + j, n}, depth),
                           unscaled, (element){NULL, 0});
        next_index(idx, y->dims, lead);
    }
    return CLV_OK;
}

/* -- convolution ----------------------------------------------------------*/

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
static double window_sum(const conv *c, const clv_tensor *x, int64_t x0,
                         const clv_tensor *w, int64_t w0, const int64_t *at)
{
    double sum = 0;
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
                    sum += get_f(x, from) * get_f(w, w0);
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
                        for (int64_t h = 0; h < c->out[1]; h++) {
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
    bool fast = all_f32(k);
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
            for (int64_t i = 0; i < out_plane; i++) {
                double b = bias ? get_f(bias, m) : 0;
                put_f(y, y0 + i, b + window_sum(&c, x, x0, w, m * taps, at));
                next_index(at, c.out, SPATIAL);
            }
        }
    return CLV_OK;
}

/* Padding "same" of a transposed convolution: what the result, `in * stride`
 * long, cuts off; the smaller half in front unless the mode says lower. */
static void same_pads(const kernel *k, conv *c)
{
    const char *mode = attr_str(k->n, CLV_A_AUTO_PAD);
    for (int i = 0; *mode == 's' && i < SPATIAL; i++) {
        int64_t whole = (c->in[i] - 1) * c->stride[i] +
                        (c->kernel[i] - 1) * c->dilation[i] + 1;
        int64_t cut = whole > c->out[i] ? whole - c->out[i] : 0;
        c->pad[i] = !strcmp(mode, "same_lower") ? cut - cut / 2 : cut / 2;
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
    same_pads(k, &c);
    int64_t in_plane = c.in[0] * c.in[1] * c.in[2];
    int64_t out_plane = c.out[0] * c.out[1] * c.out[2];
    int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
    double *sum = arena_array(k->scratch, (size_t)out_plane + 1, sizeof *sum);
    if (!sum)
        return clv__nomem(k->e);
    for (int64_t nm = 0; nm < c.batch * c.groups * c.cout; nm++) {
        int64_t n = nm / (c.groups * c.cout), m = nm % (c.groups * c.cout);
        int64_t grp = m / c.cout;
        for (int64_t i = 0; i < out_plane; i++)
            sum[i] = bias ? get_f(bias, m) : 0;
        for (int64_t ch = 0; ch < c.cin; ch++) {
            int64_t x0 = ((n * c.groups + grp) * c.cin + ch) * in_plane;
            int64_t w0 = ((grp * c.cin + ch) * c.cout + m % c.cout) * taps;
            int64_t at[SPATIAL] = {0};
            for (int64_t i = 0; i < in_plane; i++) {
                double v = get_f(x, x0 + i);
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
                        sum[to] += v * get_f(w, w0 + t);
                    next_index(tap, c.kernel, SPATIAL);
                }
                next_index(at, c.in, SPATIAL);
            }
        }
        for (int64_t i = 0; i < out_plane; i++)
            put_f(y, nm * out_plane + i, sum[i]);
    }
    return CLV_OK;
}

/* -- plain copies ---------------------------------------------------------*/

clv_status kernel_copy(kernel *k)
{
    if (clv_tensor_bytes(k->in[0]) < clv_tensor_bytes(&k->out[0]))
        return clv__fail(k->e, CLV_SHAPE, "a copy longer than its source");
    memcpy(k->out[0].data, k->in[0]->data,
           (size_t)clv_tensor_bytes(&k->out[0]));
    return CLV_OK;
}

/* convt.c - transposed convolutions as products.
 *
 * Every point of the image times the weights gives what it adds to each tap and
 * output channel: a product of (points, channels) and (channels, taps * STRIP)
 * for each strip of output channels. An output point then gathers the taps that
 * reach it, a vector of channels at a time. */
#include "backend/cpu/conv.h"

#include <string.h>

enum { STRIP = 32, BLOCK = 16 }; /* channels; output points */

typedef struct convt_job {
    conv_job c;
    const float *made; /* (in_plane, taps, strip) */
    const float *bias; /* of the strip, or NULL */
    float *y;          /* the strip's first plane */
    int64_t strip;
} convt_job;

static int64_t convt_strips(const conv_job *c)
{
    return (c->cout + STRIP - 1) / STRIP;
}

static int64_t convt_strip(const conv_job *c, int64_t s)
{
    return c->cout - s * STRIP < STRIP ? c->cout - s * STRIP : STRIP;
}

/* -- weights --------------------------------------------------------------*/

/* Packs w (C, M, taps) of every group: a matrix (C, taps * strip) per strip. */
static cpu_packed *convt_pack(kernel *k, arena *mem, const conv_job *c,
                              const float *w)
{
    int64_t strips = convt_strips(c), row = c->cout * c->taps;
    cpu_packed *p = arena_array(mem, (size_t)(c->groups * strips), sizeof *p);
    float *turned = arena_array(k->scratch, (size_t)(c->cin * c->taps * STRIP),
                                sizeof *turned);
    for (int64_t i = 0; p && turned && i < c->groups * strips; i++) {
        int64_t s = i % strips, n = convt_strip(c, s);
        const float *from = w + i / strips * c->cin * row + s * STRIP * c->taps;
        float *to = turned;
        for (int64_t ch = 0; ch < c->cin; ch++, from += row)
            for (int64_t t = 0; t < c->taps; t++)
                for (int64_t m = 0; m < n; m++)
                    *to++ = from[m * c->taps + t];
        if (!CPU_NAME(clv__gemm_pack)(k, mem, c->taps * n, c->cin,
                                      (cpu_matrix){turned, c->taps * n, 1},
                                      &p[i]))
            return NULL;
    }
    return turned ? p : NULL;
}

/* -- gathering ------------------------------------------------------------*/

/* The input index along an axis that tap t spreads to output o; -1: none. */
static int64_t convt_source(const conv_job *c, int axis, int64_t o, int64_t t)
{
    int64_t at = o + c->pad[axis] - t * c->dilation[axis];
    if (at < 0 || at % c->stride[axis])
        return -1;
    at /= c->stride[axis];
    return at < c->in[axis] ? at : -1;
}

/* Adds to sum what one line of taps gives to output column ow. */
static void convt_line(const convt_job *j, int64_t line, int64_t tap,
                       int64_t ow, float *restrict sum)
{
    const conv_job *c = &j->c;
    for (int64_t l = 0; l < c->kernel[2]; l++) {
        int64_t iw = convt_source(c, 2, ow, l);
        if (iw < 0)
            continue;
        const float *x =
            j->made + ((line * c->in[2] + iw) * c->taps + tap + l) * j->strip;
        for (int64_t m = 0; m < j->strip; m++)
            sum[m] += x[m];
    }
}

/* The strip of one output point. */
static void convt_point(const convt_job *j, int64_t o, float *sum)
{
    const conv_job *c = &j->c;
    int64_t ow = o % c->out[2], oh = o / c->out[2] % c->out[1];
    int64_t od = o / (c->out[2] * c->out[1]);
    for (int64_t m = 0; m < j->strip; m++)
        sum[m] = j->bias ? j->bias[m] : 0;
    for (int64_t a = 0; a < c->kernel[0]; a++) {
        int64_t id = convt_source(c, 0, od, a);
        for (int64_t b = 0; id >= 0 && b < c->kernel[1]; b++) {
            int64_t ih = convt_source(c, 1, oh, b);
            if (ih >= 0)
                convt_line(j, id * c->in[1] + ih,
                           (a * c->kernel[1] + b) * c->kernel[2], ow, sum);
        }
    }
}

/* Items are blocks of output points. */
static void convt_part(void *ctx, int64_t from, int64_t to)
{
    const convt_job *j = ctx;
    float sums[BLOCK][STRIP];
    for (int64_t item = from; item < to; item++) {
        int64_t first = item * BLOCK, left = j->c.out_plane - first;
        int64_t n = left < BLOCK ? left : BLOCK;
        for (int64_t i = 0; i < n; i++)
            convt_point(j, first + i, sums[i]);
        for (int64_t m = 0; m < j->strip; m++)
            for (int64_t i = 0; i < n; i++)
                j->y[m * j->c.out_plane + first + i] = sums[i][m];
    }
}

/* -- all of it ------------------------------------------------------------*/

/* Padding where the output's size is given, or is `in * stride` by padding
 * "same": what is cut off, the smaller half of it in front where the mode is
 * "same" and behind elsewhere. */
static void convt_pads(const kernel *k, uint32_t nd, conv_job *c)
{
    uint32_t given, count;
    const char *mode = attr_str(k->n, CLV_A_AUTO_PAD);
    const int64_t *more = attr_ints(k->n, CLV_A_OUTPUT_PADDING, &count);
    (void)attr_ints(k->n, CLV_A_OUTPUT_SIZE, &given);
    if (*mode != 's' && !given)
        return;
    for (uint32_t a = 0, i = CONV_AXES - nd; a < nd; a++, i++) {
        int64_t whole = (c->in[i] - 1) * c->stride[i] +
                        (c->kernel[i] - 1) * c->dilation[i] + 1 +
                        list_at(more, count, a);
        int64_t cut = whole > c->out[i] ? whole - c->out[i] : 0;
        c->pad[i] = strcmp(mode, "same") ? cut - cut / 2 : cut / 2;
    }
}

static bool convt_shape(const kernel *k, const clv_tensor *y, conv_job *c)
{
    const clv_tensor *x = k->in[0], *w = input_of(k, 1), *b = input_of(k, 2);
    if (x->dtype != CLV_FLOAT32 || !w || w->dtype != CLV_FLOAT32 ||
        (b && b->dtype != CLV_FLOAT32) ||
        !CPU_NAME(clv__conv_shape)(k, x, w, y, c) ||
        (b && numel(b) != c->groups * c->cout))
        return false;
    convt_pads(k, w->rank - 2, c);
    return true;
}

const void *CPU_NAME(cpu_ready_convt)(kernel *k, arena *mem)
{
    const clv_tensor *w = input_of(k, 1);
    const clv_value *v = node_out(k->g, k->n, 0);
    clv_tensor y = {.dtype = (clv_dtype)v->dtype, .rank = v->rank};
    conv_job c = {.batch = 0};
    if (!w || !w->data || v->rank == CLV_NO_RANK || v->rank > CLV_MAX_RANK)
        return NULL;
    if (v->rank)
        memcpy(y.dims, v->dims, v->rank * sizeof *y.dims);
    return convt_shape(k, &y, &c) ? convt_pack(k, mem, &c, w->data) : NULL;
}

/* One strip of the output channels of one image and group. */
static bool convt_run(kernel *k, convt_job *j, const float *x,
                      const cpu_packed *w, float *made)
{
    const conv_job *c = &j->c;
    arena_mark mark = arena_save(k->scratch);
    bool done = CPU_NAME(clv__gemm_ready)(
        k, c->in_plane, (cpu_matrix){x, 1, c->in_plane}, w, NULL, made, w->n);
    arena_rewind(k->scratch, mark);
    j->made = made;
    if (done)
        clv__parallel(k->threads, (c->out_plane + BLOCK - 1) / BLOCK,
                      1 + CPU_GRAIN / (BLOCK * STRIP * 4), convt_part, j);
    return done;
}

bool CPU_NAME(cpu_convt)(kernel *k)
{
    const clv_tensor *b = input_of(k, 2);
    convt_job j = {.bias = NULL};
    conv_job *c = &j.c;
    if (!all_float32(k) || !convt_shape(k, &k->out[0], c))
        return false;
    const cpu_packed *w =
        k->ready ? k->ready : convt_pack(k, k->scratch, c, k->in[1]->data);
    int64_t strips = convt_strips(c);
    float *made = arena_array(
        k->scratch, (size_t)(c->in_plane * c->taps * STRIP), sizeof *made);
    if (!w || !made)
        return false;
    for (int64_t i = 0; i < c->batch * c->groups * strips; i++) {
        int64_t s = i % strips, ng = i / strips, group = ng % c->groups;
        int64_t channel = group * c->cout + s * STRIP;
        j.strip = convt_strip(c, s);
        j.bias = b ? (const float *)b->data + channel : NULL;
        j.y =
            (float *)k->out[0].data + (ng * c->cout + s * STRIP) * c->out_plane;
        if (!convt_run(k, &j,
                       (const float *)k->in[0]->data +
                           ng * c->cin * c->in_plane,
                       &w[group * strips + s], made))
            return false;
    }
    return true;
}

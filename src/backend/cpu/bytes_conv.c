/* bytes_conv.c - convolutions of bytes: the columns of a block of points are
 * packed in panels and multiplied by rows of weights (bytes.c). */
#include "backend/cpu/bytes.h"

#include <string.h>

#if defined(__AVX512BW__) && defined(__x86_64__)

enum {
    POINTS = 128, /* of a convolution at a time */
    LINE = 64
};

/* The weights as signed rows (M, deep), a row of ones behind them. */
typedef struct conv_weights {
    const uint8_t *rows;
    const int32_t *zero, *sum; /* per output channel */
    bool zeros;                /* some zero is not 0 */
} conv_weights;

typedef struct bytes_conv {
    const conv_job *j;
    const uint8_t *x;
    const conv_weights *w;
    uint8_t flip, fill;
    int64_t deep, blocks, items, parts, room_each;
    int32_t x_zero;
    uint8_t *room;
    const requant *q;
} bytes_conv;

/* Row (a, b, l) of the columns: n points from `first` on, of one channel. */
static void bytes_tap(const bytes_conv *v, const uint8_t *x, const int64_t *tap,
                      int64_t first, int64_t n, uint8_t *to)
{
    const conv_job *j = v->j;
    while (n > 0) {
        int64_t ow = first % j->out[2], oh = first / j->out[2] % j->out[1];
        int64_t od = first / (j->out[1] * j->out[2]);
        int64_t run = j->out[2] - ow < n ? j->out[2] - ow : n;
        int64_t id = od * j->stride[0] - j->pad[0] + tap[0] * j->dilation[0];
        int64_t ih = oh * j->stride[1] - j->pad[1] + tap[1] * j->dilation[1];
        int64_t iw = ow * j->stride[2] - j->pad[2] + tap[2] * j->dilation[2];
        if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1]) {
            memset(to, v->fill, (size_t)run);
        } else {
            const uint8_t *row = x + (id * j->in[1] + ih) * j->in[2];
            int64_t step = j->stride[2];
            if (step == 1 && iw >= 0 && iw + run <= j->in[2])
                memcpy(to, row + iw, (size_t)run);
            else
                for (int64_t i = 0; i < run; i++, iw += step)
                    to[i] = iw >= 0 && iw < j->in[2] ? row[iw] : v->fill;
        }
        to += run;
        first += run;
        n -= run;
    }
}

static void bytes_columns(const bytes_conv *v, const uint8_t *x, int64_t first,
                          int64_t n, uint8_t *to)
{
    const conv_job *j = v->j;
    for (int64_t ch = 0; ch < j->cin; ch++, x += j->in_plane)
        for (int64_t t = 0; t < j->taps; t++, to += POINTS) {
            const int64_t tap[CONV_AXES] = {t / (j->kernel[2] * j->kernel[1]),
                                            t / j->kernel[2] % j->kernel[1],
                                            t % j->kernel[2]};
            bytes_tap(v, x, tap, first, n, to);
        }
}

/* Takes zero points off the sums of one channel; x_sum is per point. */
static void conv_centre(const bytes_conv *v, int64_t channel,
                        const int32_t *x_sum, int32_t *sum, int64_t n)
{
    int32_t less = v->x_zero * v->w->sum[channel], z = v->w->zero[channel];
    int32_t depth = (int32_t)v->j->depth * v->x_zero;
    if (!z)
        for (int64_t i = 0; i < n; i++)
            sum[i] -= less;
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] -= less + z * (x_sum[i] - depth);
}

/* A block of points of one image and group. */
static void bytes_conv_block(const bytes_conv *v, int64_t item, uint8_t *room)
{
    const conv_job *j = v->j;
    int64_t ng = item / v->blocks, first = item % v->blocks * POINTS;
    int64_t n = j->out_plane - first < POINTS ? j->out_plane - first : POINTS;
    int64_t group = ng % j->groups, panels = (n + BYTES_WIDE - 1) / BYTES_WIDE;
    const uint8_t *x = v->x + ng * j->cin * j->in_plane;
    uint8_t *packed = room, *rest = room + v->deep * POINTS;
    int32_t *x_sum = (int32_t *)(void *)rest, *sum = x_sum + POINTS;
    uint8_t *rows = (uint8_t *)(sum + j->cout * POINTS);
    if (j->point) {
        CPU_NAME(clv__bytes_panels)
        (x + first, j->in_plane, n, j->depth, v->flip, packed);
    } else {
        bytes_columns(v, x, first, n, rows);
        CPU_NAME(clv__bytes_panels)(rows, POINTS, n, j->depth, v->flip, packed);
    }
    const uint8_t *w = v->w->rows + group * j->cout * v->deep;
    CPU_NAME(clv__bytes_signed)
    (j->cout, w, v->deep, packed, panels, v->deep / BYTES_STEP, sum, POINTS);
    if (v->w->zeros)
        CPU_NAME(clv__bytes_signed)
        (1, v->w->rows + j->groups * j->cout * v->deep, v->deep, packed, panels,
         v->deep / BYTES_STEP, x_sum, POINTS);
    for (int64_t c = 0; c < j->cout; c++) {
        int64_t channel = group * j->cout + c;
        conv_centre(v, channel, x_sum, sum + c * POINTS, n);
        CPU_NAME(clv__bytes_put)
        (v->q, channel, (ng * j->cout + c) * j->out_plane + first,
         sum + c * POINTS, n);
    }
}

static void bytes_conv_part(void *ctx, int64_t from, int64_t to)
{
    const bytes_conv *v = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = v->items * p / v->parts;
             i < v->items * (p + 1) / v->parts; i++)
            bytes_conv_block(v, i, v->room + p * v->room_each);
}

const void *CPU_NAME(clv__bytes_conv_ready)(const clv_tensor *w,
                                            const clv_tensor *zero, arena *mem)
{
    if (!w || !w->data || !bytes_are(w) || w->rank < 3 || !numel(w) ||
        w->dims[1] == 1 || (zero && !zero->data) ||
        !bytes_zeros_fit(w, zero, w->dims[0]) || !CPU_NAME(clv__bytes_fast)())
        return NULL;
    int64_t rows = w->dims[0], depth = numel(w) / rows;
    int64_t deep = bytes_up(depth, BYTES_STEP);
    conv_weights *to = arena_zalloc(mem, sizeof *to);
    uint8_t *all = CPU_NAME(clv__bytes_array)(mem, (rows + 1) * deep);
    int32_t *sum = arena_array(mem, (size_t)(2 * rows), sizeof *sum);
    if (!to || !all || !sum)
        return NULL;
    CPU_NAME(clv__bytes_rows)
    (w->data, rows, depth, deep, bytes_flip(w, true), all);
    memset(all + rows * deep, 1, (size_t)deep);
    for (int64_t r = 0; r < rows; r++) {
        const int8_t *row = (const int8_t *)all + r * deep;
        sum[r] = 0;
        for (int64_t i = 0; i < deep; i++)
            sum[r] += row[i];
        sum[rows + r] = bytes_zero(w, zero, r, true);
        to->zeros |= sum[rows + r] != 0;
    }
    to->rows = all;
    to->sum = sum;
    to->zero = sum + rows;
    return to;
}

bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q)
{
    bytes_conv v = {.j = j, .x = x->data, .q = q, .w = k->ready};
    if (!CPU_NAME(clv__bytes_fast)() || !bytes_are(x) || !bytes_are(w) ||
        !bytes_zeros_fit(x, x_zero, 1) ||
        !bytes_zeros_fit(w, w_zero, j->groups * j->cout))
        return false;
    if (!v.w)
        v.w = CPU_NAME(clv__bytes_conv_ready)(w, w_zero, k->scratch);
    v.deep = bytes_up(j->depth, BYTES_STEP);
    v.flip = bytes_flip(x, false);
    v.x_zero = bytes_zero(x, x_zero, 0, false);
    v.fill = (uint8_t)(x_zero ? get_i(x_zero, 0) : 0);
    v.blocks = (j->out_plane + POINTS - 1) / POINTS;
    v.items = j->batch * j->groups * v.blocks;
    v.parts =
        4 * (int64_t)k->threads < v.items ? 4 * (int64_t)k->threads : v.items;
    v.room_each = bytes_up(v.deep * POINTS * (j->point ? 1 : 2) +
                               (j->cout + 1) * POINTS * 4,
                           LINE);
    v.room = CPU_NAME(clv__bytes_array)(k->scratch, v.parts * v.room_each);
    if (!v.room || !v.w)
        return false;
    clv__parallel(k->threads, v.parts, 1, bytes_conv_part, &v);
    return true;
}

#else

bool CPU_NAME(clv__bytes_conv)(kernel *k, const conv_job *j,
                               const clv_tensor *x, const clv_tensor *x_zero,
                               const clv_tensor *w, const clv_tensor *w_zero,
                               const requant *q)
{
    (void)k, (void)j, (void)x, (void)x_zero, (void)w, (void)w_zero, (void)q;
    return false;
}

const void *CPU_NAME(clv__bytes_conv_ready)(const clv_tensor *w,
                                            const clv_tensor *zero, arena *mem)
{
    (void)w, (void)zero, (void)mem;
    return NULL;
}
#endif

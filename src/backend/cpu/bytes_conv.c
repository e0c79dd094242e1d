/* bytes_conv.c - convolutions of bytes: the columns of a block of points are
 * packed in panels and multiplied by rows of weights (bytes.c).
 *
 * Images are copied with their padding around them first, so that the points of
 * an output row are bytes side by side, or every other one, for each tap. They
 * are copied in whole vectors: what is too much is written over by what follows
 * it, and there is room behind the last.
 *
 * With one channel per group, 16 points of a row are summed at a time: their
 * windows of four bytes are picked out of one vector. */
#include "backend/cpu/bytes.h"
#include "backend/cpu/features.h"

#include <string.h>

#if defined(__AVX512BW__) && defined(__x86_64__)
#include <immintrin.h>

enum {
    POINTS = 128, /* of a convolution at a time */
    LINE = 64,
    SLACK = 2 * LINE /* bytes that may be read or written too far */
};

/* -- images with their padding --------------------------------------------*/

typedef struct conv_image {
    int64_t wide[CONV_AXES], plane; /* sizes with padding */
    uint8_t flip, fill;             /* fill: after it is flipped */
} conv_image;

/* Padding that cuts off instead is left to other kernels. */
static bool image_may(const conv_job *j)
{
    return j->pad[0] >= 0 && j->pad[1] >= 0 && j->pad[2] >= 0;
}

static conv_image image_of(const conv_job *j, uint8_t flip, uint8_t fill)
{
    conv_image m = {.plane = 1, .flip = flip, .fill = fill};
    for (int a = 0; a < CONV_AXES; a++) {
        m.wide[a] = (j->out[a] - 1) * j->stride[a] +
                    (j->kernel[a] - 1) * j->dilation[a] + 1;
        m.plane *= m.wide[a];
    }
    return m;
}

/* One plane of an image, with its padding around it. */
static void image_plane(const conv_job *j, const conv_image *m,
                        const uint8_t *x, uint8_t *to)
{
    int64_t left = j->pad[2] < m->wide[2] ? j->pad[2] : m->wide[2];
    int64_t inside =
        j->in[2] < m->wide[2] - left ? j->in[2] : m->wide[2] - left;
    for (int64_t d = 0; d < m->wide[0]; d++)
        for (int64_t h = 0; h < m->wide[1]; h++, to += m->wide[2]) {
            int64_t id = d - j->pad[0], ih = h - j->pad[1];
            memset(to, m->fill, (size_t)m->wide[2]);
            if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1])
                continue;
            const uint8_t *row = x + (id * j->in[1] + ih) * j->in[2];
            if (!m->flip)
                memcpy(to + left, row, (size_t)inside);
            else
                for (int64_t i = 0; i < inside; i++)
                    to[left + i] = row[i] ^ m->flip;
        }
}

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
    conv_image image;
    uint8_t *padded; /* images; NULL: x is read as it lies */
    int64_t deep, blocks, items, parts, room_each;
    int32_t x_zero;
    uint8_t *room;
    const requant *q;
} bytes_conv;

/* Points of one output row. */
typedef struct conv_run {
    int64_t from, n; /* from: of the first tap, in a padded plane */
} conv_run;

/* n points from `first` on, row by row; returns how many runs. */
static int64_t conv_runs(const bytes_conv *v, int64_t first, int64_t n,
                         conv_run *runs)
{
    const conv_job *j = v->j;
    const int64_t *wide = v->image.wide;
    int64_t count = 0;
    for (; n > 0; count++) {
        int64_t ow = first % j->out[2], oh = first / j->out[2] % j->out[1];
        int64_t od = first / (j->out[1] * j->out[2]);
        int64_t run = j->out[2] - ow < n ? j->out[2] - ow : n;
        int64_t at =
            (od * j->stride[0] * wide[1] + oh * j->stride[1]) * wide[2] +
            ow * j->stride[2];
        runs[count] = (conv_run){at, run};
        first += run;
        n -= run;
    }
    return count;
}

/* n bytes, `step` apart; some more may be read and written. */
static void copy_points(const uint8_t *from, int64_t step, int64_t n,
                        uint8_t *to)
{
    if (step == 1 && n <= LINE / 4) {
        _mm_storeu_si128((void *)to, _mm_loadu_si128((const void *)from));
    } else if (step == 1) {
        for (int64_t i = 0; i < n; i += LINE / 2)
            _mm256_storeu_si256((void *)(to + i),
                                _mm256_loadu_si256((const void *)(from + i)));
    } else if (step == 2) {
        for (int64_t i = 0; i < n; i += LINE / 2)
            _mm256_storeu_si256(
                (void *)(to + i),
                _mm512_cvtepi16_epi8(_mm512_loadu_si512(from + 2 * i)));
    } else {
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i * step];
    }
}

/* Rows (channel, tap) of the columns of n points. */
static void bytes_columns(const bytes_conv *v, const uint8_t *x, int64_t first,
                          int64_t n, uint8_t *to)
{
    const conv_job *j = v->j;
    const conv_image *m = &v->image;
    conv_run runs[POINTS];
    int64_t count = conv_runs(v, first, n, runs);
    for (int64_t ch = 0; ch < j->cin; ch++, x += m->plane)
        for (int64_t a = 0; a < j->kernel[0]; a++)
            for (int64_t b = 0; b < j->kernel[1]; b++)
                for (int64_t l = 0; l < j->kernel[2]; l++, to += POINTS) {
                    const uint8_t *tap =
                        x +
                        (a * j->dilation[0] * m->wide[1] + b * j->dilation[1]) *
                            m->wide[2] +
                        l * j->dilation[2];
                    uint8_t *at = to;
                    for (int64_t i = 0; i < count; at += runs[i++].n)
                        copy_points(tap + runs[i].from, j->stride[2], runs[i].n,
                                    at);
                }
}

/* Items are planes of the images. */
static void conv_pad_part(void *ctx, int64_t from, int64_t to)
{
    const bytes_conv *v = ctx;
    for (int64_t p = from; p < to; p++)
        image_plane(v->j, &v->image, v->x + p * v->j->in_plane,
                    v->padded + p * v->image.plane);
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
    uint8_t *packed = room, *rest = room + v->deep * POINTS;
    int32_t *x_sum = (int32_t *)(void *)rest, *sum = x_sum + POINTS;
    uint8_t *rows = (uint8_t *)(sum + j->cout * POINTS);
    if (j->point) {
        CPU_NAME(clv__bytes_panels)
        (v->x + ng * j->cin * j->in_plane + first, j->in_plane, n, j->depth,
         v->image.flip, packed);
    } else {
        bytes_columns(v, v->padded + ng * j->cin * v->image.plane, first, n,
                      rows);
        CPU_NAME(clv__bytes_panels)(rows, POINTS, n, j->depth, 0, packed);
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
    if (!image_may(j) || !CPU_NAME(clv__bytes_fast)() || !bytes_are(x) ||
        !bytes_are(w) || !bytes_zeros_fit(x, x_zero, 1) ||
        !bytes_zeros_fit(w, w_zero, j->groups * j->cout))
        return false;
    if (!v.w)
        v.w = CPU_NAME(clv__bytes_conv_ready)(w, w_zero, k->scratch);
    v.deep = bytes_up(j->depth, BYTES_STEP);
    v.x_zero = bytes_zero(x, x_zero, 0, false);
    v.image = image_of(j, bytes_flip(x, false), (uint8_t)v.x_zero);
    if (!j->point) {
        int64_t planes = j->batch * j->groups * j->cin;
        v.padded = CPU_NAME(clv__bytes_array)(k->scratch,
                                              planes * v.image.plane + SLACK);
        if (!v.padded)
            return false;
        clv__parallel(k->threads, planes, 1 + CPU_GRAIN / v.image.plane,
                      conv_pad_part, &v);
    }
    v.blocks = (j->out_plane + POINTS - 1) / POINTS;
    v.items = j->batch * j->groups * v.blocks;
    v.parts =
        4 * (int64_t)k->threads < v.items ? 4 * (int64_t)k->threads : v.items;
    v.room_each = bytes_up(v.deep * POINTS * (j->point ? 1 : 2) +
                               (j->cout + 1) * POINTS * 4 + SLACK,
                           LINE);
    v.room = CPU_NAME(clv__bytes_array)(k->scratch, v.parts * v.room_each);
    if (!v.room || !v.w)
        return false;
    clv__parallel(k->threads, v.parts, 1, bytes_conv_part, &v);
    return true;
}

/* -- one channel per group ------------------------------------------------*/

enum { LANES = 16, WORD = 4, MOST_WORDS = 64 }; /* words of a kernel */

typedef struct depth_conv {
    const conv_job *j;
    const uint8_t *x, *w;
    uint8_t w_flip;
    conv_image image;
    int64_t words; /* of a row of the kernel */
    uint8_t *room; /* a padded plane, then its sums, for each part */
    int64_t sums, room_each, parts;
    int32_t x_zero;
    const requant *q;
} depth_conv;

/* n sums of windows that begin `step` bytes apart, 1 or 2, from x on; rows of
 * the image lie `apart` bytes apart. */
static __attribute__((target("avx512vnni,avx512vbmi"))) void
depth_row(const depth_conv *v, const uint8_t *x, int64_t apart,
          const int32_t *w, int64_t n, int32_t *sum)
{
    const int64_t step = v->j->stride[2], rows = v->j->kernel[1];
    uint8_t picks[LINE];
    for (int i = 0; i < LINE; i++)
        picks[i] = (uint8_t)(i / WORD * step + i % WORD);
    const __m512i pick = _mm512_loadu_si512(picks);
    for (int64_t i = 0; i < n; i += LANES) {
        __m512i s = _mm512_setzero_si512();
        const uint8_t *at = x + i * step;
        const int32_t *word = w;
        for (int64_t a = 0; a < rows; a++, at += apart)
            for (int64_t q = 0; q < v->words; q++) {
                __m512i windows = _mm512_permutexvar_epi8(
                    pick, _mm512_loadu_si512(at + q * WORD));
                s = _mm512_dpbusd_epi32(s, windows, _mm512_set1_epi32(*word++));
            }
        _mm512_storeu_si512(sum + i, s);
    }
}

/* The sums of one output plane, side by side. Rows of stride 1 are summed as if
 * they were one, and what lies between them is left out after that. */
static void depth_plane(const depth_conv *v, const uint8_t *x, const int32_t *w,
                        int32_t *sum)
{
    const conv_job *j = v->j;
    int64_t wide = v->image.wide[2], apart = wide * j->dilation[1];
    int64_t n = j->out[2];
    if (j->stride[1] == 1 && j->stride[2] == 1) {
        depth_row(v, x, apart, w, (j->out[1] - 1) * wide + n, sum);
        for (int64_t h = 1; h < j->out[1]; h++)
            memmove(sum + h * n, sum + h * wide, (size_t)n * sizeof *sum);
        return;
    }
    for (int64_t h = 0; h < j->out[1]; h++)
        depth_row(v, x + h * j->stride[1] * wide, apart, w, n, sum + h * n);
}

/* The words of one channel's kernel; returns the sum of its weights. */
static int32_t depth_words(const depth_conv *v, int64_t channel, int32_t *words)
{
    const conv_job *j = v->j;
    const uint8_t *w = v->w + channel * j->taps;
    int8_t *to = (int8_t *)words;
    int32_t sum = 0;
    for (int64_t a = 0; a < j->kernel[1]; a++)
        for (int64_t l = 0; l < v->words * WORD; l++, to++) {
            *to = (int8_t)(l < j->kernel[2] ? *w++ ^ v->w_flip : 0);
            sum += *to;
        }
    return sum;
}

/* One channel of an image. */
static void depth_channel(const depth_conv *v, int64_t p, uint8_t *plane)
{
    const conv_job *j = v->j;
    int32_t words[MOST_WORDS];
    int32_t *sum = (int32_t *)(void *)(plane + v->sums);
    image_plane(j, &v->image, v->x + p * j->in_plane, plane);
    for (int64_t c = 0; c < j->cout; c++) {
        int64_t channel = p % j->groups * j->cout + c;
        int32_t less = v->x_zero * depth_words(v, channel, words);
        depth_plane(v, plane, words, sum);
        for (int64_t i = 0; i < j->out_plane; i++)
            sum[i] -= less;
        CPU_NAME(clv__bytes_put)
        (v->q, channel, (p * j->cout + c) * j->out_plane, sum, j->out_plane);
    }
}

static void depth_part(void *ctx, int64_t from, int64_t to)
{
    const depth_conv *v = ctx;
    int64_t planes = v->j->batch * v->j->groups;
    for (int64_t part = from; part < to; part++)
        for (int64_t p = planes * part / v->parts;
             p < planes * (part + 1) / v->parts && !clv__late(); p++)
            depth_channel(v, p, v->room + part * v->room_each);
}

bool CPU_NAME(clv__bytes_depthwise)(kernel *k, const conv_job *j,
                                    const clv_tensor *x,
                                    const clv_tensor *x_zero,
                                    const clv_tensor *w,
                                    const clv_tensor *w_zero, const requant *q)
{
    depth_conv v = {.j = j, .x = x->data, .w = w->data, .q = q};
    v.words = (j->kernel[2] + WORD - 1) / WORD;
    if (!image_may(j) || !CPU_NAME(clv__bytes_fast)() ||
        !CPU_HAS(AVX512_VBMI, "avx512vbmi") || !bytes_are(x) || !bytes_are(w) ||
        !bytes_zeros_fit(x, x_zero, 1) ||
        !bytes_zeros_fit(w, w_zero, j->groups * j->cout) || j->cin != 1 ||
        j->kernel[0] != 1 || j->in[0] != 1 || j->pad[0] || j->out[0] != 1 ||
        j->dilation[2] != 1 || j->stride[2] > 2 ||
        v.words * j->kernel[1] > MOST_WORDS)
        return false;
    for (int64_t c = 0; c < j->groups * j->cout; c++)
        if (bytes_zero(w, w_zero, c, true))
            return false;
    v.w_flip = bytes_flip(w, true);
    v.x_zero = bytes_zero(x, x_zero, 0, false);
    v.image = image_of(j, bytes_flip(x, false), (uint8_t)v.x_zero);
    v.sums = bytes_up(v.image.plane + SLACK, LINE);
    int64_t sums = j->out[1] * v.image.wide[2] + j->out_plane + LINE;
    v.room_each = bytes_up(v.sums + sums * (int64_t)sizeof(int32_t), LINE);
    int64_t planes = j->batch * j->groups;
    v.parts =
        4 * (int64_t)k->threads < planes ? 4 * (int64_t)k->threads : planes;
    v.room = CPU_NAME(clv__bytes_array)(k->scratch, v.parts * v.room_each);
    if (!v.room)
        return false;
    clv__parallel(k->threads, v.parts,
                  1 + CPU_GRAIN * v.parts / (planes * j->out_plane * j->taps),
                  depth_part, &v);
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

bool CPU_NAME(clv__bytes_depthwise)(kernel *k, const conv_job *j,
                                    const clv_tensor *x,
                                    const clv_tensor *x_zero,
                                    const clv_tensor *w,
                                    const clv_tensor *w_zero, const requant *q)
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

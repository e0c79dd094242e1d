/* conv.c - convolutions as products, float and integer.
 *
 * The columns of a block of output points (what each kernel tap reads there)
 * are laid out as a matrix and multiplied by the weights; a kernel of one point
 * reads the image itself. With one channel per group, and one or two outputs,
 * there is nothing to multiply: taps are added plane by plane.
 *
 * Bytes are multiplied as floats, which are exact: a product of two differences
 * of bytes is at most 255 * 255, and a sum of DEPTH of them stays below 2^24.
 * Longer sums are integers of 32 bits, as the standard has it. */
#include "backend/cpu/bytes.h"
#include "backend/cpu/vmath.h"

#include <string.h>

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)

enum {
    POINTS = 256,
    DEPTH = 256,
    VECTOR = CPU_VECTOR / 4,
    WIDEST = 8,    /* stride that planes are taken apart for */
    MOST_ALIKE = 2 /* outputs of one channel that are summed plane by plane */
};

/* -- columns --------------------------------------------------------------*/

/* n points of one output row from ow, as tap l reads the image's row x. */
static void column_row(const conv_job *j, const float *x, int64_t ow, int64_t n,
                       int64_t l, float *to)
{
    int64_t step = j->stride[2], shift = l * j->dilation[2] - j->pad[2];
    int64_t width = j->in[2], i = 0;
    for (; i < n && (ow + i) * step + shift < 0; i++)
        to[i] = 0;
    int64_t end = n;
    while (end > i && (ow + end - 1) * step + shift >= width)
        to[--end] = 0;
    const float *from = x + ow * step + shift;
    if (step == 1)
        memcpy(to + i, from + i, (size_t)(end - i) * sizeof *to);
    else
        for (; i < end; i++)
            to[i] = from[i * step];
}

/* Row (ch, a, b, l) of the columns: points first to first + n. */
static void column_tap(const conv_job *j, const float *x, int64_t a, int64_t b,
                       int64_t l, int64_t first, int64_t n, float *to)
{
    while (n > 0) {
        int64_t ow = first % j->out[2], oh = first / j->out[2] % j->out[1];
        int64_t od = first / (j->out[1] * j->out[2]);
        int64_t run = j->out[2] - ow < n ? j->out[2] - ow : n;
        int64_t id = od * j->stride[0] - j->pad[0] + a * j->dilation[0];
        int64_t ih = oh * j->stride[1] - j->pad[1] + b * j->dilation[1];
        if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1])
            memset(to, 0, (size_t)run * sizeof *to);
        else
            column_row(j, x + (id * j->in[1] + ih) * j->in[2], ow, run, l, to);
        to += run;
        first += run;
        n -= run;
    }
}

static void columns(const conv_job *j, const float *x, int64_t first, int64_t n,
                    float *to)
{
    for (int64_t ch = 0; ch < j->cin; ch++, x += j->in_plane)
        for (int64_t a = 0; a < j->kernel[0]; a++)
            for (int64_t b = 0; b < j->kernel[1]; b++)
                for (int64_t l = 0; l < j->kernel[2]; l++, to += n)
                    column_tap(j, x, a, b, l, first, n, to);
}

/* -- integer sums ---------------------------------------------------------*/

void CPU_NAME(clv__bytes_put)(const requant *q, int64_t channel, int64_t at,
                              const int32_t *sum, int64_t n)
{
    int64_t add = q->bias ? ((const int32_t *)q->bias->data)[channel] : 0;
    if (!q->factor) {
        int32_t *y = (int32_t *)q->y->data + at;
        for (int64_t i = 0; i < n; i++)
            y[i] = sum[i];
        return;
    }
    const float by = q->factor[channel];
    const int32_t more = (int32_t)add;
    if (q->y->dtype == CLV_FLOAT32) {
        float *y = (float *)q->y->data + at;
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)(int32_t)((uint32_t)sum[i] + (uint32_t)more) * by;
        return;
    }
    uint8_t *y = (uint8_t *)q->y->data + at;
    const float low = q->low - q->zero, high = q->high - q->zero;
    const int32_t zero = (int32_t)q->zero;
    for (int64_t i = 0; i < n; i++) {
        int32_t v = (int32_t)((uint32_t)sum[i] + (uint32_t)more);
        y[i] = (uint8_t)(v_nearest((float)v * by, low, high) + zero);
    }
}

/* The exact product of integers held as floats, DEPTH at a time. */
static void whole_product(int64_t m, int64_t n, int64_t k, cpu_matrix a,
                          cpu_matrix b, int32_t *sum, float *part, float *room)
{
    memset(sum, 0, (size_t)(m * n) * sizeof *sum);
    for (int64_t d = 0; d < k && clv__in_time(m * n); d += DEPTH) {
        gemm(m, n, k - d < DEPTH ? k - d : DEPTH,
             (cpu_matrix){a.p + d * a.col, a.row, a.col},
             (cpu_matrix){b.p + d * b.row, b.row, b.col}, part, n, false, room);
        for (int64_t i = 0; i < m * n; i++)
            sum[i] += (int32_t)part[i];
    }
}

/* -- one block of points --------------------------------------------------*/

static void conv_block(const conv_job *j, int64_t item, float *room)
{
    int64_t ng = item / j->blocks, first = item % j->blocks * POINTS;
    int64_t n = j->out_plane - first < POINTS ? j->out_plane - first : POINTS;
    int64_t group = ng % j->groups;
    const float *x = j->x + ng * j->cin * j->in_plane;
    const float *w = j->w + group * j->cout * j->depth;
    cpu_matrix weights = {w, j->depth, 1}, image = {x + first, j->in_plane, 1};
    if (!j->point) {
        columns(j, x, first, n, room);
        image = (cpu_matrix){room, n, 1};
        room += j->depth * POINTS;
    }
    int64_t at = ng * j->cout * j->out_plane + first;
    if (j->q) {
        int32_t *sum = (int32_t *)(void *)room;
        float *part = room + j->cout * POINTS;
        whole_product(j->cout, n, j->depth, weights, image, sum, part,
                      part + j->cout * POINTS);
        for (int64_t c = 0; c < j->cout; c++)
            CPU_NAME(clv__bytes_put)
        (j->q, group * j->cout + c, at + c * j->out_plane, sum + c * n, n);
        return;
    }
    float *y = j->y + at;
    for (int64_t c = 0; j->bias && c < j->cout; c++)
        for (int64_t i = 0; i < n; i++)
            y[c * j->out_plane + i] = j->bias[group * j->cout + c];
    gemm(j->cout, n, j->depth, weights, image, y, j->out_plane, j->bias != NULL,
         room);
}

static void conv_part(void *ctx, int64_t from, int64_t to)
{
    const conv_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts &&
             clv__in_time(j->depth * POINTS);
             i++)
            conv_block(j, i, j->room + p * j->room_each);
}

/* -- one channel per group ------------------------------------------------*/

/* A plane of the image is copied once, its rows padded and, with a stride of s,
 * taken apart into s rows of every s-th number: tap t of output i is number
 * i + t / s of row t % s, so all that is read for an output row lies side by
 * side. Output columns are then summed a few vectors at a time, in registers,
 * over all taps. */
typedef float vec __attribute__((vector_size(VECTOR * 4), aligned(4)));

enum { VECS = 4 }; /* vectors of a block of columns */

/* Taps of an output row that lie in the image. */
typedef struct plane_taps {
    const float *at[DEPTH];
    float w[DEPTH];
    int64_t n;
} plane_taps;

static inline __attribute__((always_inline)) void
plane_columns(const plane_taps *t, int64_t from, float bias, int vecs, float *y,
              int64_t n)
{
    vec sum[VECS];
    float tail[VECS * VECTOR];
    for (int v = 0; v < vecs; v++)
        sum[v] = (vec){0} + bias;
    for (int64_t i = 0; i < t->n; i++) {
        const float *x = t->at[i] + from;
        for (int v = 0; v < vecs; v++)
            sum[v] += t->w[i] * *(const vec *)(const void *)(x + v * VECTOR);
    }
    float *to = n < vecs * VECTOR ? tail : y;
    for (int v = 0; v < vecs; v++)
        *(vec *)(void *)(to + v * VECTOR) = sum[v];
    if (n < vecs * VECTOR)
        memcpy(y, tail, (size_t)n * sizeof *y);
}

static void plane_row(const plane_taps *t, float bias, float *y, int64_t n)
{
    int64_t i = 0;
    for (; n - i > 2 * VECTOR; i += VECS * VECTOR)
        plane_columns(t, i, bias, VECS, y + i,
                      n - i < VECS * VECTOR ? n - i : VECS * VECTOR);
    if (n - i > VECTOR)
        plane_columns(t, i, bias, 2, y + i, n - i);
    else if (n > i)
        plane_columns(t, i, bias, 1, y + i, n - i);
}

/* Numbers of one of the rows that a padded row is taken apart into. */
static int64_t plane_phase(const conv_job *j)
{
    int64_t reach = (j->kernel[2] - 1) * j->dilation[2] / j->stride[2] + 1;
    return j->out[2] + reach + VECS * VECTOR;
}

/* Copies a row of the image to `stride` rows of `phase` numbers. */
static void plane_spread(const conv_job *j, const float *x, int64_t phase,
                         float *to)
{
    int64_t s = j->stride[2], pad = j->pad[2], n = j->in[2];
    for (int64_t p = 0; p < s; p++, to += phase) {
        int64_t first = pad > p ? (pad - p + s - 1) / s : 0; /* in the image */
        int64_t count = (n + pad - p + s - 1) / s;
        count = count < phase ? count : phase;
        first = first < phase ? first : phase;
        memset(to, 0, (size_t)phase * sizeof *to);
        if (s == 1 && count > first)
            memcpy(to + first, x + first - pad,
                   (size_t)(count - first) * sizeof *to);
        else if (s == 2)
            for (int64_t i = first; i < count; i++)
                to[i] = x[2 * i + p - pad];
        else
            for (int64_t i = first; i < count; i++)
                to[i] = x[i * s + p - pad];
    }
}

/* The taps of one output row that lie in the image; `across` is where a tap
 * along the last axis reads. */
static void plane_list(const conv_job *j, const float *x, const float *w,
                       const int64_t *across, int64_t od, int64_t oh,
                       plane_taps *t)
{
    int64_t row = plane_phase(j) * j->stride[2];
    t->n = 0;
    for (int64_t a = 0; a < j->kernel[0]; a++)
        for (int64_t b = 0; b < j->kernel[1]; b++, w += j->kernel[2]) {
            int64_t id = od * j->stride[0] - j->pad[0] + a * j->dilation[0];
            int64_t ih = oh * j->stride[1] - j->pad[1] + b * j->dilation[1];
            if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1])
                continue;
            const float *from = x + (id * j->in[1] + ih) * row;
            for (int64_t l = 0; l < j->kernel[2]; l++) {
                t->at[t->n] = from + across[l];
                t->w[t->n++] = w[l];
            }
        }
}

static void plane_all(const conv_job *j, const float *x, const float *w,
                      float bias, float *y)
{
    int64_t phase = plane_phase(j), across[DEPTH];
    plane_taps t;
    for (int64_t l = 0; l < j->kernel[2]; l++) {
        int64_t at = l * j->dilation[2];
        across[l] = at % j->stride[2] * phase + at / j->stride[2];
    }
    for (int64_t od = 0; od < j->out[0]; od++)
        for (int64_t oh = 0;
             oh < j->out[1] && clv__in_time(j->taps * j->out[2]);
             oh++, y += j->out[2]) {
            plane_list(j, x, w, across, od, oh, &t);
            plane_row(&t, bias, y, j->out[2]);
        }
}

/* Output plane p. Its sums of bytes are exact as they are: a kernel of more
 * than DEPTH taps does not come here. */
static void plane_one(const conv_job *j, int64_t p, const float *image)
{
    int64_t m = p % (j->groups * j->cout);
    float *y = j->y + p * j->out_plane;
    plane_all(j, image, j->w + m * j->taps, j->bias ? j->bias[m] : 0, y);
    if (!j->q)
        return;
    int32_t *sum = (int32_t *)(void *)y;
    for (int64_t i = 0; i < j->out_plane; i++) {
        float v = y[i];
        sum[i] = (int32_t)v;
    }
    CPU_NAME(clv__bytes_put)(j->q, m, p * j->out_plane, sum, j->out_plane);
}

/* Items are parts of the image's planes, each with room for one. */
static void plane_part(void *ctx, int64_t from, int64_t to)
{
    const conv_job *j = ctx;
    int64_t planes = j->batch * j->groups, phase = plane_phase(j);
    int64_t rows = j->in[0] * j->in[1], row = phase * j->stride[2];
    for (int64_t part = from; part < to; part++) {
        float *image = j->room + part * j->room_each;
        int64_t last = planes * (part + 1) / j->parts;
        for (int64_t g = planes * part / j->parts; g < last; g++) {
            for (int64_t r = 0; r < rows && clv__in_time(row); r++)
                plane_spread(j, j->x + g * j->in_plane + r * j->in[2], phase,
                             image + r * row);
            for (int64_t c = 0; c < j->cout; c++)
                plane_one(j, g * j->cout + c, image);
        }
    }
}

static bool plane_run(kernel *k, conv_job *j)
{
    int64_t planes = j->batch * j->groups;
    j->parts =
        4 * (int64_t)k->threads < planes ? 4 * (int64_t)k->threads : planes;
    j->room_each = j->in[0] * j->in[1] * plane_phase(j) * j->stride[2];
    j->room = arena_array(k->scratch, (size_t)(j->parts * j->room_each),
                          sizeof *j->room);
    if (!j->room ||
        (j->q && !(j->y = arena_array(k->scratch, (size_t)numel(&k->out[0]) + 1,
                                      sizeof *j->y))))
        return false;
    clv__parallel(k->threads, j->parts,
                  1 + CPU_GRAIN / (j->cout * j->out_plane * j->taps) *
                          j->parts / planes,
                  plane_part, j);
    return true;
}

/* -- all of it ------------------------------------------------------------*/

bool CPU_NAME(clv__conv_shape)(const kernel *k, const clv_tensor *x,
                               const clv_tensor *w, const clv_tensor *y,
                               conv_job *j)
{
    uint32_t nd = w->rank - 2, channel = x->rank == w->rank;
    if (w->rank < 3 || nd > CONV_AXES || x->rank + 1 < w->rank ||
        x->rank > w->rank || y->rank != x->rank)
        return false;
    const int64_t *x_dims = x->dims + channel, *y_dims = y->dims + channel;
    j->batch = channel ? x->dims[0] : 1;
    j->groups = attr_int(k->n, CLV_A_GROUPS);
    if (j->groups < 1 || x_dims[0] % j->groups || y_dims[0] % j->groups)
        return false;
    j->cin = x_dims[0] / j->groups;
    j->cout = y_dims[0] / j->groups;
    bool back = k->n->op == CLV_OP_CONVT1D || k->n->op == CLV_OP_CONVT2D ||
                k->n->op == CLV_OP_CONVT3D; /* transposed */
    if (back ? w->dims[0] != x_dims[0] || w->dims[1] != j->cout
             : w->dims[0] != y_dims[0] || w->dims[1] != j->cin)
        return false;
    j->point = true;
    for (uint32_t i = 0; i < CONV_AXES; i++) {
        j->in[i] = j->out[i] = j->kernel[i] = j->stride[i] = j->dilation[i] = 1;
        if (i < CONV_AXES - nd)
            continue;
        uint32_t a = i - (CONV_AXES - nd);
        window win;
        if (get_window(k->n, a, nd, x_dims[1 + a], w->dims[2 + a], &win,
                       NULL) != CLV_OK)
            return false;
        j->in[i] = x_dims[1 + a];
        j->out[i] = y_dims[1 + a];
        j->kernel[i] = w->dims[2 + a];
        j->stride[i] = win.stride;
        j->dilation[i] = win.dilation;
        j->pad[i] = win.before;
        j->point = j->point && j->kernel[i] == 1 && win.stride == 1 &&
                   win.before == 0 && j->out[i] == j->in[i];
    }
    j->in_plane = j->in[0] * j->in[1] * j->in[2];
    j->out_plane = j->out[0] * j->out[1] * j->out[2];
    j->taps = j->kernel[0] * j->kernel[1] * j->kernel[2];
    j->depth = j->cin * j->taps;
    return true;
}

/* Are all weights finite? Padding is multiplied as zeros, which makes NaN of an
 * infinite one. Asked where there is one channel per group, whose weights are
 * few; elsewhere the look at all of them would take up to a third of the time.
 */
static bool conv_finite(const float *w, int64_t n)
{
    enum { EXPONENT = 0x7f800000 };
    uint32_t odd = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &w[i], sizeof bits);
        odd |= (bits & EXPONENT) == EXPONENT;
    }
    return !odd;
}

static bool conv_run(kernel *k, conv_job *j)
{
    if (j->cin == 1 && j->cout <= MOST_ALIKE && j->taps <= DEPTH &&
        j->pad[2] >= 0 && j->stride[2] <= WIDEST)
        return plane_run(k, j);
    j->blocks = (j->out_plane + POINTS - 1) / POINTS;
    j->items = j->batch * j->groups * j->blocks;
    j->parts =
        4 * (int64_t)k->threads < j->items ? 4 * (int64_t)k->threads : j->items;
    int64_t depth = j->q && j->depth > DEPTH ? DEPTH : j->depth;
    j->room_each = (j->point ? 0 : j->depth * POINTS) +
                   (j->q ? 2 * j->cout * POINTS : 0) +
                   gemm_room(j->cout, POINTS, depth);
    j->room = arena_array(k->scratch, (size_t)(j->parts * j->room_each),
                          sizeof *j->room);
    if (!j->room)
        return false;
    clv__parallel(k->threads, j->parts, 1, conv_part, j);
    return true;
}

bool CPU_NAME(cpu_conv)(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = input_of(k, 1), *b = input_of(k, 2);
    conv_job j = {.x = x->data};
    if (!all_float32(k) || !w ||
        !CPU_NAME(clv__conv_shape)(k, x, w, &k->out[0], &j) ||
        (b && numel(b) != j.groups * j.cout))
        return false;
    if (j.cin == 1 && !conv_finite(w->data, numel(w)))
        return false;
    j.w = w->data;
    j.bias = b ? b->data : NULL;
    j.y = k->out[0].data;
    return conv_run(k, &j);
}

/* -- bytes ----------------------------------------------------------------*/

typedef struct centre_job {
    const clv_tensor *t, *zero;
    float *to;
    int64_t run, many; /* elements with one zero point; zero points */
} centre_job;

static void centre_part(void *ctx, int64_t from, int64_t to)
{
    const centre_job *j = ctx;
    for (int64_t i = from; i < to;) {
        int64_t which = j->many > 1 ? i / j->run % j->many : 0;
        int64_t end = j->many > 1 ? (i / j->run + 1) * j->run : to;
        float z = j->zero ? (float)get_i(j->zero, which) : 0;
        end = end < to ? end : to;
        if (j->t->dtype == CLV_UINT8)
            for (; i < end; i++)
                j->to[i] = (float)((const uint8_t *)j->t->data)[i] - z;
        else
            for (; i < end; i++)
                j->to[i] = (float)((const int8_t *)j->t->data)[i] - z;
    }
}

/* t less its zero point, one for all or one per slice of `axis`, as floats. */
static const float *cpu_centred(kernel *k, const clv_tensor *t,
                                const clv_tensor *zero, uint32_t axis)
{
    centre_job j = {.t = t, .zero = zero, .many = zero ? numel(zero) : 1};
    if ((t->dtype != CLV_UINT8 && t->dtype != CLV_INT8) ||
        (zero && zero->dtype != t->dtype) ||
        (j.many > 1 && (axis >= t->rank || t->dims[axis] != j.many)))
        return NULL;
    j.run = dims_product(t->dims, axis + 1, t->rank);
    j.to = arena_array(k->scratch, (size_t)numel(t) + 1, sizeof *j.to);
    if (j.to)
        clv__parallel(k->threads, numel(t), CPU_GRAIN, centre_part, &j);
    return j.to;
}

/* The factors of an output's channels, from the scales of x, w and y. */
static bool requant_of(kernel *k, const clv_tensor *y, int64_t channels,
                       requant *q)
{
    for (uint32_t i = 1; i < 8; i++)
        if (!input_of(k, i))
            return false;
    int64_t many = numel(k->in[4]);
    float *factor =
        arena_array(k->scratch, (size_t)channels + 1, sizeof *factor);
    if (!factor || (many != 1 && many != channels) || numel(k->in[1]) != 1 ||
        numel(k->in[6]) != 1 || numel(k->in[7]) != 1 ||
        (y->dtype != CLV_UINT8 && y->dtype != CLV_INT8))
        return false;
    for (int64_t c = 0; c < channels; c++)
        factor[c] =
            (float)(get_f(k->in[1], 0) * get_f(k->in[4], many > 1 ? c : 0) /
                    get_f(k->in[6], 0));
    bool sign = y->dtype == CLV_INT8;
    *q = (requant){.factor = factor,
                   .zero = (float)get_f(k->in[7], 0),
                   .low = sign ? -128 : 0,
                   .high = sign ? 127 : 255,
                   .y = &k->out[0]};
    return true;
}

/* Convolves bytes as such; false: they have to be floats. */
static bool bytes_any(kernel *k, const conv_job *j, const clv_tensor *x,
                      const clv_tensor *x_zero, const clv_tensor *w,
                      const clv_tensor *w_zero, const requant *q)
{
    return j->cin > 1
               ? CPU_NAME(clv__bytes_conv)(k, j, x, x_zero, w, w_zero, q)
               : CPU_NAME(clv__bytes_depthwise)(k, j, x, x_zero, w, w_zero, q);
}

const void *CPU_NAME(cpu_ready_qlinear_conv)(kernel *k, arena *mem)
{
    return CPU_NAME(clv__bytes_conv_ready)(input_of(k, 3), input_of(k, 5), mem);
}

const void *CPU_NAME(cpu_ready_conv_integer)(kernel *k, arena *mem)
{
    return CPU_NAME(clv__bytes_conv_ready)(input_of(k, 1), input_of(k, 3), mem);
}

/* x, scale, zero; w, scale, zero; scale and zero of y; bias */
bool CPU_NAME(cpu_qlinear_conv)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    conv_job j = {.batch = 0};
    requant q;
    if (k->n->n_in < 8 || !k->in[3] ||
        !CPU_NAME(clv__conv_shape)(k, k->in[0], k->in[3], y, &j) ||
        !requant_of(k, y, j.groups * j.cout, &q))
        return false;
    q.bias = input_of(k, 8);
    if (q.bias &&
        (q.bias->dtype != CLV_INT32 || numel(q.bias) != j.groups * j.cout))
        return false;
    if (bytes_any(k, &j, k->in[0], k->in[2], k->in[3], k->in[5], &q))
        return true;
    j.q = &q;
    j.x = cpu_centred(k, k->in[0], k->in[2], 1);
    j.w = cpu_centred(k, k->in[3], k->in[5], 0);
    return j.x && j.w && conv_run(k, &j);
}

/* x, w, zero of x, zero of w */
bool CPU_NAME(cpu_conv_integer)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    conv_job j = {.batch = 0};
    requant q = {.y = y};
    if (y->dtype != CLV_INT32 || !input_of(k, 1) ||
        !CPU_NAME(clv__conv_shape)(k, k->in[0], k->in[1], y, &j))
        return false;
    if (bytes_any(k, &j, k->in[0], input_of(k, 2), k->in[1], input_of(k, 3),
                  &q))
        return true;
    j.q = &q;
    j.x = cpu_centred(k, k->in[0], input_of(k, 2), 1);
    j.w = cpu_centred(k, k->in[1], input_of(k, 3), 0);
    return j.x && j.w && conv_run(k, &j);
}

/* -- products of bytes ----------------------------------------------------*/

enum { ROWS = 64 }; /* of a product at a time */

typedef struct whole_job {
    int64_t m, n, k, items, parts, room_each;
    const float *a, *b;
    float *room;
    const requant *q;
} whole_job;

static void whole_rows(const whole_job *j, int64_t item, float *room)
{
    int64_t first = item * ROWS;
    int64_t rows = j->m - first < ROWS ? j->m - first : ROWS;
    int32_t *sum = (int32_t *)(void *)room;
    float *part = room + ROWS * j->n;
    whole_product(rows, j->n, j->k, (cpu_matrix){j->a + first * j->k, j->k, 1},
                  (cpu_matrix){j->b, j->n, 1}, sum, part, part + ROWS * j->n);
    if (!j->q->factor) {
        memcpy((int32_t *)j->q->y->data + first * j->n, sum,
               (size_t)(rows * j->n) * sizeof *sum);
        return;
    }
    const requant *q = j->q;
    const int32_t *add = q->bias ? q->bias->data : NULL;
    uint8_t *y = (uint8_t *)j->q->y->data + first * j->n;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < j->n; c++) {
            uint32_t v = (uint32_t)sum[r * j->n + c];
            v += add ? (uint32_t)add[c] : 0;
            y[r * j->n + c] =
                (uint8_t)(v_nearest((float)(int32_t)v * q->factor[c],
                                    q->low - q->zero, q->high - q->zero) +
                          (int32_t)q->zero);
        }
}

static void whole_part(void *ctx, int64_t from, int64_t to)
{
    const whole_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts && !clv__late(); i++)
            whole_rows(j, i, j->room + p * j->room_each);
}

/* a (..,M,K) and b (K,N), whose products have no batches. */
static bool whole_matmul(kernel *k, const clv_tensor *a, const clv_tensor *az,
                         const clv_tensor *b, const clv_tensor *bz,
                         const requant *q)
{
    whole_job j = {.q = q};
    if (CPU_NAME(clv__bytes_matmul)(k, a, az, b, bz, q))
        return true;
    if (a->rank < 2 || b->rank != 2 || (az && numel(az) != 1))
        return false;
    j.k = a->dims[a->rank - 1];
    j.m = numel(a) / j.k;
    j.n = b->dims[1];
    if (b->dims[0] != j.k || numel(q->y) != j.m * j.n)
        return false;
    j.a = cpu_centred(k, a, az, 0);
    j.b = cpu_centred(k, b, bz, 1);
    j.items = (j.m + ROWS - 1) / ROWS;
    j.parts =
        4 * (int64_t)k->threads < j.items ? 4 * (int64_t)k->threads : j.items;
    j.room_each =
        2 * ROWS * j.n + gemm_room(ROWS, j.n, j.k < DEPTH ? j.k : DEPTH);
    j.room = arena_array(k->scratch, (size_t)(j.parts * j.room_each),
                         sizeof *j.room);
    if (!j.a || !j.b || !j.room)
        return false;
    clv__parallel(k->threads, j.parts, 1, whole_part, &j);
    return true;
}

const void *CPU_NAME(cpu_ready_matmul_integer)(kernel *k, arena *mem)
{
    return CPU_NAME(clv__bytes_ready)(k, input_of(k, 1), mem);
}

const void *CPU_NAME(cpu_ready_qlinear_matmul)(kernel *k, arena *mem)
{
    return CPU_NAME(clv__bytes_ready)(k, input_of(k, 3), mem);
}

bool CPU_NAME(cpu_matmul_integer)(kernel *k)
{
    requant q = {.y = &k->out[0]};
    return k->out[0].dtype == CLV_INT32 && input_of(k, 1) &&
           whole_matmul(k, k->in[0], input_of(k, 2), k->in[1], input_of(k, 3),
                        &q);
}

bool CPU_NAME(cpu_qlinear_matmul)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    requant q;
    if (k->n->n_in < 8 || !k->in[3] || !y->rank ||
        !requant_of(k, y, y->dims[y->rank - 1], &q))
        return false;
    q.bias = input_of(k, 8);
    return (!q.bias || (q.bias->dtype == CLV_INT32 &&
                        numel(q.bias) == y->dims[y->rank - 1])) &&
           whole_matmul(k, k->in[0], k->in[2], k->in[3], k->in[5], &q);
}

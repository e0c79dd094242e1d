/* pool.c - windows that take the largest or the mean, a row of them at a time.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

#include <string.h>

enum { AXES = 3, LANES = 16 };

typedef struct pool_job {
    const float *x;
    float *y;
    int64_t in[AXES], out[AXES], in_plane, out_plane;
    window win[AXES];
    bool largest, count_pad;
    const void *bytes_x; /* of the largest of bytes */
    void *bytes_y;
    void *room; /* a row with its padding for each part of the planes, or two */
    float *across; /* taps of each column that count for its mean */
    int64_t row, planes, parts;
} pool_job;

/* Taps of the window at `at` along an axis that lie in the image, or in it and
 * its padding. */
static int64_t pool_count(const pool_job *j, int axis, int64_t at, bool padded)
{
    const window *w = &j->win[axis];
    int64_t start = at * w->stride - w->before, n = 0;
    int64_t low = padded ? start : 0;
    int64_t high = j->in[axis] + (padded ? w->after : 0);
    for (int64_t t = 0; t < w->kernel; t++) {
        int64_t p = start + t * w->dilation;
        n += p >= low && p < high;
    }
    return n;
}

/* Joins n numbers of x to y; the largest of a NaN is a NaN. */
static void pool_join(bool largest, const float *restrict x, float *restrict y,
                      int64_t n)
{
    if (largest)
        for (int64_t i = 0; i < n; i++) {
            float v = x[i], was = y[i];
            y[i] = v > was || v != v ? v : was;
        }
    else
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i];
}

/* Takes a row apart into `stride` rows of every stride-th number. */
static const float *pool_spread(const pool_job *j, const float *restrict row,
                                float *restrict to)
{
    int64_t s = j->win[2].stride, n = j->row / s;
    if (s == 1)
        return row;
    for (int64_t p = 0; p < s; p++, to += n)
        if (s == 2)
            for (int64_t i = 0; i < n; i++)
                to[i] = row[2 * i + p];
        else
            for (int64_t i = 0; i < n; i++)
                to[i] = row[s * i + p];
    return to - s * n;
}

/* Joins the rows of a window, in a row whose padding is there already, then
 * what lies beside each other in it. */
static void pool_row(const pool_job *j, const float *x, int64_t od, int64_t oh,
                     float *row, float *y)
{
    const window *d = &j->win[0], *h = &j->win[1], *w = &j->win[2];
    float *in = row + w->before;
    bool first = true;
    for (int64_t a = 0; a < d->kernel; a++)
        for (int64_t b = 0; b < h->kernel && clv__in_time(j->row); b++) {
            int64_t id = od * d->stride - d->before + a * d->dilation;
            int64_t ih = oh * h->stride - h->before + b * h->dilation;
            if (id < 0 || id >= j->in[0] || ih < 0 || ih >= j->in[1])
                continue;
            const float *from = x + (id * j->in[1] + ih) * j->in[2];
            if (first)
                memcpy(in, from, (size_t)j->in[2] * sizeof *in);
            else
                pool_join(j->largest, from, in, j->in[2]);
            first = false;
        }
    for (int64_t i = 0; first && i < j->in[2]; i++)
        in[i] = j->largest ? -INFINITY : 0;
    const float *parts = pool_spread(j, row, row + j->row);
    for (int64_t t = 0; t < w->kernel; t++) {
        int64_t at = t * w->dilation;
        const float *from =
            parts + at % w->stride * (j->row / w->stride) + at / w->stride;
        if (t)
            pool_join(j->largest, from, y, j->out[2]);
        else
            memcpy(y, from, (size_t)j->out[2] * sizeof *y);
    }
    if (j->largest)
        return;
    int64_t high =
        pool_count(j, 0, od, j->count_pad) * pool_count(j, 1, oh, j->count_pad);
    for (int64_t i = 0; i < j->out[2]; i++) {
        float taps = (float)high * j->across[i];
        y[i] /= taps > 0 ? taps : 1; /* the mean of none is 0 */
    }
}

/* Items are parts of the planes, each with room for two rows. */
static void pool_planes(void *ctx, int64_t from, int64_t to)
{
    const pool_job *j = ctx;
    for (int64_t part = from; part < to; part++) {
        float *row = (float *)j->room + part * 2 * j->row;
        int64_t last = j->planes * (part + 1) / j->parts;
        for (int64_t i = 0; i < j->row; i++)
            row[i] = j->largest ? -INFINITY : 0;
        for (int64_t p = j->planes * part / j->parts; p < last; p++) {
            float *y = j->y + p * j->out_plane;
            for (int64_t od = 0; od < j->out[0]; od++)
                for (int64_t oh = 0; oh < j->out[1] && clv__in_time(j->out[2]);
                     oh++, y += j->out[2])
                    pool_row(j, j->x + p * j->in_plane, od, oh, row, y);
        }
    }
}

/* Cuts the planes into parts, and makes room for `rows` padded rows of `size`
 * bytes in each. */
static bool pool_make_room(kernel *k, pool_job *j, int64_t rows, size_t size)
{
    const window *w = &j->win[2];
    int64_t most = INT64_MAX / 64 / (j->in[2] + j->out[2] + 1);
    if (w->before < 0 || w->after < 0 || w->stride > most ||
        w->dilation > most / 8)
        return false;
    j->row = w->before + j->in[2] + w->after + (w->kernel - 1) * w->dilation +
             j->out[2] * w->stride + 1;
    j->row = (j->row + w->stride - 1) / w->stride * w->stride;
    j->parts = 4 * (int64_t)k->threads;
    j->parts = j->parts < j->planes ? j->parts : j->planes;
    if (j->row > INT32_MAX)
        return false;
    j->room = arena_array(k->scratch, (size_t)(j->parts * rows * j->row), size);
    return j->room != NULL;
}

static bool pool_floats(kernel *k, pool_job *j, int64_t taps)
{
    j->across = arena_array(k->scratch, (size_t)j->out[2], sizeof *j->across);
    if (!j->across || !pool_make_room(k, j, 2, sizeof(float)))
        return false;
    for (int64_t i = 0; !j->largest && i < j->out[2]; i++)
        j->across[i] = (float)pool_count(j, 2, i, j->count_pad);
    clv__parallel(k->threads, j->parts,
                  1 + CPU_GRAIN * j->parts / (j->planes * j->out_plane * taps),
                  pool_planes, j);
    return true;
}

/* -- bytes ----------------------------------------------------------------*/

/* The first of two bytes, read together: every other byte of a row is half of
 * its words. */
static inline uint8_t pool_even(const void *x)
{
    const uint16_t one = 1;
    uint16_t two;
    uint8_t low;
    memcpy(&two, x, sizeof two);
    memcpy(&low, &one, sizeof low);
    return (uint8_t)(low ? two : two >> 8);
}

/* The largest of bytes: rows of a window first, into one row with its padding
 * around it, then along that. */
#define POOL_BYTES(name, T, LEAST) \
    static inline void name##_some(T *restrict y, const T *restrict x, \
                                   int64_t step, const int64_t n) \
    { \
        if (step == 1) \
            for (int64_t i = 0; i < n; i++) \
                y[i] = x[i] > y[i] ? x[i] : y[i]; \
        else if (step == 2) \
            for (int64_t i = 0; i < n; i++) { \
                T v = (T)pool_even(x + 2 * i); \
                y[i] = v > y[i] ? v : y[i]; \
            } \
        else \
            for (int64_t i = 0; i < n; i++) \
                y[i] = x[step * i] > y[i] ? x[step * i] : y[i]; \
    } \
    /* Some may be joined twice, which changes nothing. */ \
    static void name##_join(T *y, const T *x, int64_t step, int64_t n) \
    { \
        int64_t i = 0; \
        for (; i + LANES <= n; i += LANES) \
            name##_some(y + i, x + i * step, step, LANES); \
        if (i < n && n >= LANES) \
            name##_some(y + n - LANES, x + (n - LANES) * step, step, LANES); \
        else \
            name##_some(y + i, x + i * step, step, n - i); \
    } \
    static void name##_row(const pool_job *j, const T *x, int64_t od, \
                           int64_t oh, T *row, T *y) \
    { \
        const window *d = &j->win[0], *h = &j->win[1], *w = &j->win[2]; \
        T *in = row + w->before; \
        memset(in, LEAST, (size_t)j->in[2]); \
        for (int64_t a = 0; a < d->kernel; a++) \
            for (int64_t b = 0; b < h->kernel; b++) { \
                int64_t id = od * d->stride - d->before + a * d->dilation; \
                int64_t ih = oh * h->stride - h->before + b * h->dilation; \
                if (id >= 0 && id < j->in[0] && ih >= 0 && ih < j->in[1]) \
                    name##_join(in, x + (id * j->in[1] + ih) * j->in[2], 1, \
                                j->in[2]); \
            } \
        memset(y, LEAST, (size_t)j->out[2]); \
        for (int64_t t = 0; t < w->kernel; t++) \
            name##_join(y, row + t * w->dilation, w->stride, j->out[2]); \
    } \
    static void name(void *ctx, int64_t from, int64_t to) \
    { \
        const pool_job *j = ctx; \
        for (int64_t part = from; part < to; part++) { \
            T *row = (T *)j->room + part * j->row; \
            for (int64_t i = 0; i < j->row; i++) \
                row[i] = LEAST; \
            int64_t last = j->planes * (part + 1) / j->parts; \
            for (int64_t p = j->planes * part / j->parts; p < last; p++) { \
                const T *x = (const T *)j->bytes_x + p * j->in_plane; \
                T *y = (T *)j->bytes_y + p * j->out_plane; \
                for (int64_t od = 0; od < j->out[0]; od++) \
                    for (int64_t oh = 0; oh < j->out[1] && !clv__late(); \
                         oh++, y += j->out[2]) \
                        name##_row(j, x, od, oh, row, y); \
            } \
        } \
    }
POOL_BYTES(pool_u8, uint8_t, 0)
POOL_BYTES(pool_i8, int8_t, INT8_MIN)

/* Whether every window has a tap in the image; one of padding alone is left to
 * the plain kernel. */
static bool pool_all_inside(const pool_job *j)
{
    for (int a = 0; a < AXES; a++)
        for (int64_t i = 0; i < j->out[a]; i++)
            if (!pool_count(j, a, i, false))
                return false;
    return true;
}

static bool pool_bytes(kernel *k, pool_job *j)
{
    bool plain = k->in[0]->dtype == CLV_UINT8;
    if (!pool_all_inside(j) || !pool_make_room(k, j, 1, 1))
        return false;
    j->bytes_x = k->in[0]->data;
    j->bytes_y = k->out[0].data;
    clv__parallel(k->threads, j->parts,
                  1 + CPU_GRAIN * j->parts / (j->planes * j->in_plane),
                  plain ? pool_u8 : pool_i8, j);
    return true;
}

bool CPU_NAME(cpu_pool)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    clv_op op = (clv_op)k->n->op;
    uint32_t nd = pooled_axes(k->n), nk;
    const int64_t *size = attr_ints(k->n, CLV_A_KERNEL, &nk);
    pool_job j = {.x = x->data,
                  .y = y->data,
                  .largest = op == CLV_OP_MAX_POOL1D ||
                             op == CLV_OP_MAX_POOL2D ||
                             op == CLV_OP_MAX_POOL3D};
    bool bytes = j.largest && (x->dtype == CLV_UINT8 || x->dtype == CLV_INT8);
    if ((x->dtype != CLV_FLOAT32 && !bytes) || y->dtype != x->dtype ||
        !y->data || output_of(k, 1) || nd > AXES || x->rank < nd ||
        y->rank != x->rank)
        return false;
    j.count_pad = !j.largest && attr_int(k->n, CLV_A_COUNT_INCLUDE_PAD);
    int64_t taps = 1;
    j.planes = 1;
    for (uint32_t a = 0; a < x->rank - nd; a++) {
        if (x->dims[a] != y->dims[a])
            return false;
        j.planes *= x->dims[a];
    }
    for (uint32_t i = 0; i < AXES; i++) {
        j.in[i] = j.out[i] = 1;
        j.win[i] = (window){.kernel = 1, .stride = 1, .dilation = 1};
        if (i < AXES - nd)
            continue;
        uint32_t a = i - (AXES - nd), axis = x->rank - nd + a;
        j.in[i] = x->dims[axis];
        j.out[i] = y->dims[axis];
        if (get_window(k->n, a, nd, j.in[i], list_at(size, nk, a), &j.win[i],
                       NULL) != CLV_OK ||
            j.win[i].kernel > 4 * j.in[i] + 4)
            return false; /* such a window would be walked for nothing */
        taps *= j.win[i].kernel;
    }
    j.in_plane = j.in[0] * j.in[1] * j.in[2];
    j.out_plane = j.out[0] * j.out[1] * j.out[2];
    return bytes ? pool_bytes(k, &j) : pool_floats(k, &j, taps);
}

/* -- adaptive -------------------------------------------------------------*/

static void mean_planes(void *ctx, int64_t from, int64_t to)
{
    const pool_job *j = ctx;
    for (int64_t p = from; p < to; p++) {
        const float *x = j->x + p * j->in_plane;
        double sum[LANES] = {0};
        int64_t i = 0;
        for (; i + LANES <= j->in_plane; i += LANES)
            for (int l = 0; l < LANES; l++)
                sum[l] += (double)x[i + l];
        for (; i < j->in_plane; i++)
            sum[0] += (double)x[i];
        for (int l = 1; l < LANES; l++)
            sum[0] += sum[l];
        j->y[p] = (float)(sum[0] / (double)j->in_plane);
    }
}

static void most_planes(void *ctx, int64_t from, int64_t to)
{
    const pool_job *j = ctx;
    for (int64_t p = from; p < to; p++) {
        const float *x = j->x + p * j->in_plane;
        float most[LANES];
        int64_t i = 0;
        for (int l = 0; l < LANES; l++)
            most[l] = x[0];
        for (; i + LANES <= j->in_plane; i += LANES)
            pool_join(true, x + i, most, LANES);
        pool_join(true, x + i, most, j->in_plane - i);
        for (int l = 1; l < LANES; l++)
            pool_join(true, most + l, most, 1);
        j->y[p] = most[0];
    }
}

/* The mean or the largest of whole planes; others are left to the plain
 * kernel. */
bool CPU_NAME(cpu_adaptive_pool)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t nd = pooled_axes(k->n);
    clv_op op = (clv_op)k->n->op;
    bool largest = op == CLV_OP_ADAPTIVE_MAX_POOL1D ||
                   op == CLV_OP_ADAPTIVE_MAX_POOL2D ||
                   op == CLV_OP_ADAPTIVE_MAX_POOL3D;
    pool_job j = {.x = x->data, .y = k->out[0].data};
    if (!all_float32(k) || x->rank < nd || output_of(k, 1) || !j.y)
        return false;
    j.in_plane = dims_product(x->dims, x->rank - nd, x->rank);
    if (numel(&k->out[0]) * j.in_plane != numel(x))
        return false;
    clv__parallel(k->threads, numel(&k->out[0]), 1 + CPU_GRAIN / j.in_plane,
                  largest ? most_planes : mean_planes, &j);
    return true;
}

/* sample.c - images read between their elements: grid_sample of two axes, and
 * roi_align.
 *
 * Where an output reads and with which weights is the same for all channels, so
 * it is worked out once, a list per tap; then each channel is a sum of lists. A
 * tap that lies outside has the place -1. */
#include "backend/cpu/cpu.h"
#include "backend/sampling.h"

#include <math.h>

enum {
    PLACES = 256,      /* of a grid that are worked on together */
    MOST_SAMPLES = 64, /* of a bin */
    CORNERS = 4
};

/* Lists of n places and weights; list t begins at t * n. */
typedef struct tap_lists {
    int32_t *at;
    float *w;
    int64_t n, lists;
} tap_lists;

static bool tap_room(kernel *k, int64_t n, int64_t lists, tap_lists *t)
{
    *t = (tap_lists){.n = n, .lists = lists};
    t->at = arena_array(k->scratch, (size_t)(n * lists), sizeof *t->at);
    t->w = arena_array(k->scratch, (size_t)(n * lists), sizeof *t->w);
    return t->at && t->w;
}

/* Adds a list to the sums of n outputs. */
static void tap_add(const float *restrict x, const int32_t *restrict at,
                    const float *restrict w, float *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float v = at[i] < 0 ? 0 : x[at[i]] * w[i];
        y[i] += v;
    }
}

/* -- grids ----------------------------------------------------------------*/

typedef struct grid_job {
    grid g;
    const float *x, *where;
    float *y;
    int64_t channels, rows, cols, places;
    tap_lists *room; /* one per part */
    int64_t parts, items;
} grid_job;

/* The lists of n places of a grid. */
static void grid_lists(const grid_job *j, const float *where, int64_t n,
                       tap_lists *t)
{
    int taps = j->g.taps;
    for (int64_t p = 0; p < n; p++) {
        int64_t row[GRID_TAPS], col[GRID_TAPS];
        double wr[GRID_TAPS], wc[GRID_TAPS];
        clv__grid_taps(&j->g, (double)where[2 * p + 1], j->rows, row, wr);
        clv__grid_taps(&j->g, (double)where[2 * p], j->cols, col, wc);
        for (int a = 0; a < taps; a++)
            for (int b = 0; b < taps; b++) {
                int64_t to = (a * taps + b) * t->n + p;
                bool in = row[a] >= 0 && col[b] >= 0;
                t->at[to] = in ? (int32_t)(row[a] * j->cols + col[b]) : -1;
                t->w[to] = (float)(wr[a] * wc[b]);
            }
    }
}

/* Items are blocks of places of one image. */
static void grid_part(void *ctx, int64_t from, int64_t to)
{
    const grid_job *j = ctx;
    int64_t blocks = (j->places + PLACES - 1) / PLACES;
    for (int64_t part = from; part < to; part++) {
        tap_lists *t = &j->room[part];
        int64_t last = j->items * (part + 1) / j->parts;
        for (int64_t i = j->items * part / j->parts; i < last; i++) {
            int64_t b = i / blocks, first = i % blocks * PLACES;
            int64_t n = j->places - first < PLACES ? j->places - first : PLACES;
            grid_lists(j, j->where + 2 * (b * j->places + first), n, t);
            for (int64_t c = 0; c < j->channels && clv__in_time(n * t->lists);
                 c++) {
                const float *x =
                    j->x + (b * j->channels + c) * j->rows * j->cols;
                float *y = j->y + (b * j->channels + c) * j->places + first;
                for (int64_t p = 0; p < n; p++)
                    y[p] = 0;
                for (int64_t l = 0; l < t->lists; l++)
                    tap_add(x, t->at + l * t->n, t->w + l * t->n, y, n);
            }
        }
    }
}

bool CPU_NAME(cpu_grid_sample)(kernel *k)
{
    const clv_tensor *x = k->in[0], *where = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    grid_job j = {.x = x->data, .y = y->data};
    if (!all_float32(k) || !where || x->rank != 4 || y->rank != 4 ||
        where->rank != 4 || clv__grid_read(k, &j.g) != CLV_OK)
        return false;
    j.where = where->data;
    j.channels = x->dims[1];
    j.rows = x->dims[2];
    j.cols = x->dims[3];
    j.places = y->dims[2] * y->dims[3];
    if (j.rows * j.cols > INT32_MAX || y->dims[0] != x->dims[0] ||
        y->dims[1] != j.channels || numel(where) != 2 * j.places * x->dims[0])
        return false;
    j.items = x->dims[0] * ((j.places + PLACES - 1) / PLACES);
    j.parts = 4 * (int64_t)k->threads;
    j.parts = j.parts < j.items ? j.parts : j.items;
    j.room = arena_array(k->scratch, (size_t)j.parts, sizeof *j.room);
    for (int64_t p = 0; j.room && p < j.parts; p++)
        if (!tap_room(k, PLACES, j.g.taps * j.g.taps, &j.room[p]))
            return false;
    if (!j.room)
        return false;
    clv__parallel(k->threads, j.parts, 1, grid_part, &j);
    return true;
}

/* -- regions --------------------------------------------------------------*/

typedef struct roi_job {
    const float *x; /* the image of this region */
    float *y;
    int64_t rows, cols, bins, samples;
    tap_lists lists; /* CORNERS per sample */
    bool most;
} roi_job;

/* The four elements around (v, h), and their weights. */
static void roi_corners(const roi_job *j, double v, double h, int32_t *at,
                        float *w)
{
    double rows = (double)j->rows, cols = (double)j->cols;
    int64_t n = j->lists.n;
    if (!(v >= -1 && v <= rows && h >= -1 && h <= cols)) {
        for (int c = 0; c < CORNERS; c++)
            at[c * n] = -1;
        return;
    }
    v = v < 0 ? 0 : v > rows - 1 ? rows - 1 : v;
    h = h < 0 ? 0 : h > cols - 1 ? cols - 1 : h;
    int64_t y0 = (int64_t)v, x0 = (int64_t)h;
    double fy = v - (double)y0, fx = h - (double)x0;
    for (int c = 0; c < CORNERS; c++) {
        int64_t r = y0 + c / 2, q = x0 + c % 2;
        r = r < j->rows ? r : j->rows - 1;
        q = q < j->cols ? q : j->cols - 1;
        at[c * n] = (int32_t)(r * j->cols + q);
        w[c * n] = (float)((c / 2 ? fy : 1 - fy) * (c % 2 ? fx : 1 - fx));
    }
}

static void roi_lists(const roi_job *j, const region *r, int64_t across)
{
    const tap_lists *t = &j->lists;
    for (int64_t s = 0; s < j->samples; s++) {
        double fy = ((double)(s / r->samples_x) + 0.5) / (double)r->samples_y;
        double fx = ((double)(s % r->samples_x) + 0.5) / (double)r->samples_x;
        for (int64_t b = 0; b < j->bins; b++)
            roi_corners(j, r->y + ((double)(b / across) + fy) * r->bin_y,
                        r->x + ((double)(b % across) + fx) * r->bin_x,
                        t->at + s * CORNERS * t->n + b,
                        t->w + s * CORNERS * t->n + b);
    }
}

/* The largest corner with its weight of each sample joins the results. */
static void roi_most(const roi_job *j, const float *x, float *y)
{
    const tap_lists *t = &j->lists;
    for (int64_t b = 0; b < j->bins; b++)
        y[b] = -INFINITY;
    for (int64_t s = 0; s < j->samples; s++)
        for (int64_t b = 0; b < j->bins; b++) {
            const int32_t *at = t->at + s * CORNERS * t->n + b;
            const float *w = t->w + s * CORNERS * t->n + b;
            float v = 0;
            if (at[0] >= 0) {
                v = x[at[0]] * w[0];
                for (int c = 1; c < CORNERS; c++)
                    v = fmaxf(v, x[at[c * t->n]] * w[c * t->n]);
            }
            y[b] = v > y[b] ? v : y[b];
        }
}

/* Items are channels. */
static void roi_part(void *ctx, int64_t from, int64_t to)
{
    const roi_job *j = ctx;
    const tap_lists *t = &j->lists;
    for (int64_t c = from; c < to && clv__in_time(t->n * t->lists); c++) {
        const float *x = j->x + c * j->rows * j->cols;
        float *y = j->y + c * j->bins, by = 1 / (float)j->samples;
        if (j->most) {
            roi_most(j, x, y);
            continue;
        }
        for (int64_t b = 0; b < j->bins; b++)
            y[b] = 0;
        for (int64_t l = 0; l < t->lists; l++)
            tap_add(x, t->at + l * t->n, t->w + l * t->n, y, j->bins);
        for (int64_t b = 0; b < j->bins; b++)
            y[b] *= by;
    }
}

bool CPU_NAME(cpu_roi_align)(kernel *k)
{
    const clv_tensor *x = k->in[0], *boxes = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    if (x->dtype != CLV_FLOAT32 || y->dtype != CLV_FLOAT32 || !boxes ||
        boxes->dtype != CLV_FLOAT32 || x->rank != 4 || y->rank != 4 ||
        boxes->rank != 2 || boxes->dims[0] != y->dims[0] ||
        boxes->dims[1] < 4 || x->dims[2] * x->dims[3] > INT32_MAX ||
        y->dims[1] != x->dims[1])
        return false;
    roi_job j = {.rows = x->dims[2],
                 .cols = x->dims[3],
                 .bins = y->dims[2] * y->dims[3],
                 .most = attr_is(k->n, CLV_A_MODE, "max")};
    int64_t channels = x->dims[1];
    for (int64_t i = 0; i < y->dims[0]; i++) {
        region r = {0};
        if (clv__region_of(k, i, &r) != CLV_OK || r.samples_y < 1 ||
            r.samples_x < 1 || r.samples_y > MOST_SAMPLES ||
            r.samples_x > MOST_SAMPLES / r.samples_y)
            return false;
        arena_mark mark = arena_save(k->scratch);
        j.samples = r.samples_y * r.samples_x;
        if (!tap_room(k, j.bins, j.samples * CORNERS, &j.lists))
            return false;
        roi_lists(&j, &r, y->dims[3]);
        j.x = (const float *)x->data + r.batch * channels * j.rows * j.cols;
        j.y = (float *)y->data + i * channels * j.bins;
        clv__parallel(k->threads, channels,
                      1 + CPU_GRAIN / (j.bins * j.lists.lists), roi_part, &j);
        arena_rewind(k->scratch, mark);
    }
    return true;
}

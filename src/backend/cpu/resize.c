/* resize.c - interpolate over the last two axes, by the tables of the plain
 * kernel: rows first, then the elements of the blended row. */
#include "backend/resize.h"
#include "backend/cpu/cpu.h"

typedef struct resize_job {
    const float *x;
    float *y, *room; /* room: a row of x per part */
    const taps *high, *wide;
    int64_t in_h, in_w, out_h, out_w, rows, parts;
    bool nearest;
} resize_job;

/* Every output is the input of its own index. */
static bool resize_keeps(const taps *t, int64_t in, int64_t out)
{
    for (int64_t i = 0; i < out; i++) {
        double weight = 0;
        if (t[i].outside)
            return false;
        for (int64_t j = 0; j < t[i].n; j++)
            weight += t[i].at[j] == i ? t[i].weight[j] : 0;
        if (weight < 1 || weight > 1)
            return false;
    }
    return in == out;
}

static bool resize_inside(const taps *t, int64_t out)
{
    for (int64_t i = 0; i < out; i++)
        if (t[i].outside)
            return false;
    return true;
}

/* Row r of all planes; `row` has room for a row of x. */
static void resize_row(const resize_job *j, int64_t r, float *row)
{
    const taps *h = &j->high[r % j->out_h];
    const float *x = j->x + r / j->out_h * j->in_h * j->in_w;
    float *y = j->y + r * j->out_w;
    if (j->nearest) {
        x += h->at[0] * j->in_w;
        for (int64_t i = 0; i < j->out_w; i++)
            y[i] = x[j->wide[i].at[0]];
        return;
    }
    for (int64_t t = 0; t < h->n; t++) {
        const float *from = x + h->at[t] * j->in_w;
        float weight = (float)h->weight[t];
        for (int64_t i = 0; i < j->in_w; i++)
            row[i] = from[i] * weight + (t ? row[i] : 0);
    }
    for (int64_t i = 0; i < j->out_w; i++) {
        const taps *w = &j->wide[i];
        float sum = 0;
        for (int64_t t = 0; t < w->n; t++)
            sum += row[w->at[t]] * (float)w->weight[t];
        y[i] = sum;
    }
}

static void resize_part(void *ctx, int64_t from, int64_t to)
{
    const resize_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t r = j->rows * p / j->parts;
             r < j->rows * (p + 1) / j->parts; r++)
            resize_row(j, r, j->room + p * j->in_w);
}

bool CPU_NAME(cpu_resize)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    taps *table[CLV_MAX_RANK];
    resize_job j = {.x = x->data, .y = y->data};
    if (x->dtype != CLV_FLOAT32 || y->dtype != CLV_FLOAT32 || x->rank < 3 ||
        y->rank != x->rank ||
        clv__resize_tables(k, table, &j.nearest) != CLV_OK)
        return false;
    uint32_t h = x->rank - 2, w = x->rank - 1;
    for (uint32_t a = 0; a < h; a++)
        if (!resize_keeps(table[a], x->dims[a], y->dims[a]))
            return false;
    if (!resize_inside(table[h], y->dims[h]) ||
        !resize_inside(table[w], y->dims[w]))
        return false;
    j.high = table[h];
    j.wide = table[w];
    j.in_h = x->dims[h];
    j.in_w = x->dims[w];
    j.out_h = y->dims[h];
    j.out_w = y->dims[w];
    j.rows = numel(y) / j.out_w;
    j.parts =
        4 * (int64_t)k->threads < j.rows ? 4 * (int64_t)k->threads : j.rows;
    j.room =
        arena_array(k->scratch, (size_t)(j.parts * j.in_w) + 1, sizeof *j.room);
    if (!j.room)
        return false;
    clv__parallel(numel(y) < CPU_GRAIN ? 1 : k->threads, j.parts, 1,
                  resize_part, &j);
    return true;
}

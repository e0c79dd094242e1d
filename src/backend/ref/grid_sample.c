/* grid_sample.c - an image read between its elements at the places of a grid,
 * and the grid of an affine map. */
#include "backend/sampling.h"

#include <math.h>
#include <string.h>

clv_status clv__grid_read(const kernel *k, grid *g)
{
    const char *mode = attr_str(k->n, CLV_A_MODE);
    const char *pad = attr_str(k->n, CLV_A_PADDING_MODE);
    *g = (grid){.align = attr_int(k->n, CLV_A_ALIGN_CORNERS) != 0,
                .border = !strcmp(pad, "border"),
                .reflect = !strcmp(pad, "reflection"),
                .taps = strstr(mode, "cubic")    ? 4
                        : strstr(mode, "linear") ? 2
                                                 : 1};
    g->first = g->taps == 1 && attr_is(k->n, CLV_A_ROUNDING, "first");
    if (g->taps == 1 && strcmp(mode, "nearest"))
        return clv__fail(k->e, CLV_UNSUPPORTED, "grid of mode %s", mode);
    return CLV_OK;
}

/* x mirrored into [low, high]. */
static double grid_mirrored(double x, double low, double high)
{
    double span = high - low;
    if (span <= 0)
        return 0;
    x = fmod(fabs(x - low), 2 * span);
    return low + (x > span ? 2 * span - x : x);
}

/* A place brought inside as the padding says; zeros leave it outside. */
static double grid_padded(const grid *g, double x, int64_t size)
{
    double last = (double)size - 1;
    if (g->reflect)
        x = g->align ? grid_mirrored(x, 0, last)
                     : grid_mirrored(x, -0.5, last + 0.5);
    if (g->reflect || g->border)
        x = x < 0 ? 0 : x > last ? last : x;
    return x;
}

static double grid_keys(double t)
{
    const double a = -0.75;
    t = fabs(t);
    if (t <= 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

void clv__grid_taps(const grid *g, double c, int64_t size, int64_t *at,
                    double *weight)
{
    double n = (double)size;
    double x = g->align ? (c + 1) / 2 * (n - 1) : ((c + 1) * n - 1) / 2;
    if (g->first)
        x = nearbyint(x);
    if (g->taps < 4)
        x = grid_padded(g, x, size);
    double base = g->taps == 1 ? nearbyint(x) : floor(x);
    for (int j = 0; j < g->taps; j++) {
        double p = base + j - (g->taps == 4);
        weight[j] = g->taps == 1   ? 1
                    : g->taps == 2 ? 1 - fabs(x - p)
                                   : grid_keys(x - p);
        p = grid_padded(g, p, size);
        at[j] = p >= 0 && p <= n - 1 ? (int64_t)p : -1;
    }
}

/* The axes below `axis` are chosen; base is their offset. */
static double grid_sum(const clv_tensor *x, uint32_t axis, int64_t base,
                       int taps, int64_t (*at)[4], double (*weight)[4])
{
    if (axis == x->rank)
        return get_f(x, base);
    double sum = 0;
    for (int j = 0; j < taps; j++)
        if (at[axis - 2][j] >= 0)
            sum += weight[axis - 2][j] *
                   grid_sum(x, axis + 1, base * x->dims[axis] + at[axis - 2][j],
                            taps, at, weight);
    return sum;
}

/* The element that one tap per axis names, or 0 outside of x. */
static void put_nearest(clv_tensor *y, int64_t to, const clv_tensor *x,
                        int64_t base, int64_t (*at)[4])
{
    bool inside = true;
    for (uint32_t a = 2; a < x->rank; a++) {
        inside = inside && at[a - 2][0] >= 0;
        base = base * x->dims[a] + at[a - 2][0];
    }
    if (inside)
        copy_run(y, to, x, base, 1);
    else
        put_i(y, to, 0);
}

/* x (N,C,spatial), grid (N,places,nd): the last coordinate is the first axis
 * from the end. */
clv_status kernel_grid_sample(kernel *k)
{
    const clv_tensor *x = k->in[0], *where = k->in[1];
    clv_tensor *y = &k->out[0];
    uint32_t nd = x->rank - 2;
    grid g;
    int64_t at[3][4];
    double weight[3][4];
    CLV_TRY(clv__grid_read(k, &g));
    if (nd < 1 || nd > 3)
        return clv__fail(k->e, CLV_UNSUPPORTED, "a grid over %u axes", nd);
    int64_t channels = x->dims[1], places = 1;
    for (uint32_t i = 2; i < y->rank; i++)
        places *= y->dims[i];
    for (int64_t b = 0; b < x->dims[0]; b++)
        for (int64_t p = 0; p < places && clv__in_time(channels); p++) {
            for (uint32_t a = 0; a < nd; a++)
                clv__grid_taps(&g,
                               get_f(where, (b * places + p) * nd + nd - 1 - a),
                               x->dims[2 + a], at[a], weight[a]);
            for (int64_t c = 0; c < channels; c++)
                if (g.taps == 1)
                    put_nearest(y, (b * channels + c) * places + p, x,
                                b * channels + c, at);
                else
                    put_f(y, (b * channels + c) * places + p,
                          grid_sum(x, 2, b * channels + c, g.taps, at, weight));
        }
    return CLV_OK;
}

/* theta (N,d,d+1) -> (N,..,d): the corners, or the pixels' centres, run from
 * -1 to 1. The last axis of the image is the first coordinate. */
clv_status kernel_affine_grid(kernel *k)
{
    const clv_tensor *theta = k->in[0];
    clv_tensor *y = &k->out[0];
    bool corners = attr_int(k->n, CLV_A_ALIGN_CORNERS) != 0;
    uint32_t nd = y->rank - 2u;
    int64_t idx[CLV_MAX_RANK] = {0};
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t row = (idx[0] * nd + idx[nd + 1]) * (nd + 1);
        double sum = get_f(theta, row + nd);
        for (uint32_t a = 0; a < nd; a++) {
            double size = (double)y->dims[nd - a], at = (double)idx[nd - a];
            double c = corners ? (size > 1 ? 2 * at / (size - 1) - 1 : 0)
                               : (2 * at + 1) / size - 1;
            sum += c * get_f(theta, row + a);
        }
        put_f(y, i, sum);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

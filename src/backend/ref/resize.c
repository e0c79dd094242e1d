/* resize.c - interpolate: along every axis an output lies between some inputs.
 *
 * Per axis a table says, for each output place, which inputs are read (taps)
 * and with what weight; an output is the sum over the product of the tables.
 * Attribute `coordinates` says how a place is found, `rounding` which input is
 * nearest to it. */
#include "backend/resize.h"
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

typedef enum coords {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL,
    TF_CROP,
    SYMMETRIC
} coords;

typedef enum rounding {
    PREFER_FLOOR,
    PREFER_CEIL,
    TO_FLOOR,
    TO_CEIL,
    CEIL_IF_SMALLER /* ceil along an axis that shrinks, else floor */
} rounding;

typedef enum method { NEAREST, LINEAR, CUBIC } method;

typedef struct resize {
    coords coords;
    rounding rounding;
    method method;
    bool exclude; /* taps outside are left out, not moved to the edge */
    bool smooth;  /* an axis that shrinks reads all inputs on its way */
    bool scaled;  /* the width is the scaled one, not rounded */
    double cubic, fill;
} resize;

/* An axis of `in` elements, resized by `scale`, or to part of it. */
typedef struct axis_map {
    int64_t in, out;
    double scale, begin, end;
} axis_map;

/* -- options --------------------------------------------------------------*/

static int name_index(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

/* Where an output lies among the inputs, when the node does not say. */
static const char *usual_place(const clv_node *n, method m)
{
    if (attr_get(n, CLV_A_COORDINATES))
        return attr_str(n, CLV_A_COORDINATES);
    if (attr_is(n, CLV_A_MODE, "nearest-exact"))
        return "tf_half_pixel_for_nn";
    return m == NEAREST ? "asymmetric" : "half_pixel";
}

static clv_status read_options(const kernel *k, resize *r)
{
    static const char *const places[] = {
        "half_pixel",          "pytorch_half_pixel",   "align_corners",
        "asymmetric",          "tf_half_pixel_for_nn", "tf_crop_and_resize",
        "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor",
                                         "round_prefer_ceil", "floor", "ceil",
                                         "ceil_if_smaller"};
    const char *mode = attr_str(k->n, CLV_A_MODE);
    *r = (resize){.method = strstr(mode, "cubic")    ? CUBIC
                            : strstr(mode, "linear") ? LINEAR
                                                     : NEAREST,
                  .exclude = attr_int(k->n, CLV_A_EXCLUDE_OUTSIDE),
                  .smooth = attr_int(k->n, CLV_A_ANTIALIAS),
                  .scaled = attr_int(k->n, CLV_A_SCALED_WIDTH),
                  .fill = attr_float(k->n, CLV_A_EXTRAPOLATION),
                  .cubic = attr_float(k->n, CLV_A_CUBIC)};
    const char *place = usual_place(k->n, r->method);
    const char *round = attr_str(k->n, CLV_A_ROUNDING);
    int c = name_index(places, 7, place), d = name_index(rounds, 5, round);
    if (c < 0 || d < 0 || !strcmp(mode, "area"))
        return clv__fail(k->e, CLV_UNSUPPORTED, "resize of mode %s by %s", mode,
                         place);
    r->coords = (coords)c;
    r->rounding = (rounding)d;
    return CLV_OK;
}

/* -- one axis -------------------------------------------------------------*/

/* Where output i lies among the inputs. */
static double resize_place_of(const resize *r, const axis_map *m, int64_t i)
{
    double x = (double)i, last = (double)m->in - 1;
    double width = r->scaled ? m->scale * (double)m->in : (double)m->out;
    switch (r->coords) {
    case ALIGN_CORNERS:
        return width == 1 ? 0 : x * last / (width - 1);
    case ASYMMETRIC:
        return x / m->scale;
    case TF_HALF_PIXEL:
        return (x + 0.5) / m->scale;
    case TF_CROP:
        if (m->out == 1)
            return (m->begin + m->end) * last / 2;
        return m->begin * last +
               x * (m->end - m->begin) * last / ((double)m->out - 1);
    case PYTORCH_HALF_PIXEL:
        if (m->out == 1)
            return 0;
        break;
    case SYMMETRIC: /* what the size was rounded by is shared by both ends */
        return (double)m->in / 2 *
                   (1 - (double)m->out / (m->scale * (double)m->in)) +
               (x + 0.5) / m->scale - 0.5;
    case HALF_PIXEL:
        break;
    }
    return (x + 0.5) / m->scale - 0.5;
}

static double resize_rounded(rounding r, double scale, double x)
{
    switch (r) {
    case PREFER_FLOOR:
        return ceil(x - 0.5);
    case PREFER_CEIL:
        return floor(x + 0.5);
    case TO_CEIL:
        return ceil(x);
    case CEIL_IF_SMALLER:
        return scale < 1 ? ceil(x) : floor(x);
    case TO_FLOOR:
        break;
    }
    return floor(x);
}

/* Keys' kernel at distance t, with parameter a. */
static double cubic_weight(double t, double a)
{
    t = fabs(t);
    if (t <= 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static int64_t resize_clamped(double x, int64_t size)
{
    if (!(x > 0))
        return 0;
    return x > (double)(size - 1) ? size - 1 : (int64_t)x;
}

/* The weight of an input at distance d from the place. */
static double tap_weight(const resize *r, double d)
{
    if (r->method == CUBIC)
        return cubic_weight(d, r->cubic);
    return fabs(d) < 1 ? 1 - fabs(d) : 0;
}

/* Inputs between the first and the last that are less than `reach` away from
 * x; a filter that is `wide` times as wide reaches as much further. */
static clv_status taps_around(kernel *k, const resize *r, const axis_map *m,
                              double x, taps *t)
{
    double wide = r->smooth && m->scale < 1 ? 1 / m->scale : 1;
    double reach = (r->method == CUBIC ? 2 : 1) * wide, sum = 0;
    double first = floor(x - reach) + 1;
    if (!(reach <= 2 * (double)m->in + 2))
        return clv__fail(k->e, CLV_SHAPE, "a scale of %g", m->scale);
    t->n = (int64_t)(ceil(x + reach) - first);
    t->at = arena_array(k->scratch, (size_t)t->n + 1, sizeof *t->at);
    t->weight = arena_array(k->scratch, (size_t)t->n + 1, sizeof *t->weight);
    if (!t->at || !t->weight)
        return clv__nomem(k->e);
    for (int64_t j = 0; j < t->n; j++) {
        double at = first + (double)j;
        bool inside = at >= 0 && at <= (double)m->in - 1;
        t->weight[j] =
            r->exclude && !inside ? 0 : tap_weight(r, (x - at) / wide);
        t->at[j] = resize_clamped(at, m->in);
        sum += t->weight[j];
    }
    for (int64_t j = 0; (r->exclude || r->smooth) && sum != 0 && j < t->n; j++)
        t->weight[j] /= sum;
    return CLV_OK;
}

static clv_status taps_of(kernel *k, const resize *r, const axis_map *m,
                          int64_t i, taps *t)
{
    double x = resize_place_of(r, m, i);
    *t = (taps){.outside =
                    r->coords == TF_CROP && (x < 0 || x > (double)m->in - 1)};
    if (t->outside)
        return CLV_OK;
    if (r->method != NEAREST)
        return taps_around(k, r, m, x, t);
    t->n = 1;
    t->at = arena_array(k->scratch, 1, sizeof *t->at);
    t->weight = arena_array(k->scratch, 1, sizeof *t->weight);
    if (!t->at || !t->weight)
        return clv__nomem(k->e);
    t->at[0] = resize_clamped(resize_rounded(r->rounding, m->scale, x), m->in);
    t->weight[0] = 1;
    return CLV_OK;
}

/* -- all of them ----------------------------------------------------------*/

typedef struct sampler {
    const clv_tensor *x;
    taps *table[CLV_MAX_RANK];
    int64_t strides[CLV_MAX_RANK], idx[CLV_MAX_RANK];
    bool integers;
    int64_t from; /* an integer near those that are blended */
} sampler;

/* An element; of integers, what it is above s->from. */
static double resize_read(const sampler *s, int64_t at)
{
    if (!s->integers)
        return get_f(s->x, at);
    return (double)(int64_t)((uint64_t)get_i(s->x, at) - (uint64_t)s->from);
}

static double resize_blend(const sampler *s, uint32_t axis, int64_t base)
{
    if (axis == s->x->rank)
        return resize_read(s, base);
    const taps *t = &s->table[axis][s->idx[axis]];
    double sum = 0;
    for (int64_t j = 0; j < t->n; j++)
        if (t->weight[j] != 0)
            sum +=
                t->weight[j] *
                resize_blend(s, axis + 1, base + t->at[j] * s->strides[axis]);
    return sum;
}

/* The one element that a nearest place reads. */
static int64_t resize_nearest(const sampler *s)
{
    int64_t at = 0;
    for (uint32_t a = 0; a < s->x->rank; a++)
        at += s->table[a][s->idx[a]].at[0] * s->strides[a];
    return at;
}

/* A blend of integers, cut towards zero. It is `s->from` and a small number:
 * both together may be more than a double holds. */
static void put_blend(clv_tensor *y, int64_t i, sampler *s)
{
    if (!s->integers) {
        put_f(y, i, resize_blend(s, 0, 0));
        return;
    }
    s->from = get_i(s->x, resize_nearest(s));
    double above = resize_blend(s, 0, 0), whole = floor(above);
    int64_t sum = (int64_t)((uint64_t)s->from + (uint64_t)to_int64(whole));
    bool negative = is_signed(y->dtype) && sum < 0;
    put_i(y, i, sum + (negative && above > whole));
}

/* One scale for all axes that have a size, where the node asks for that. */
static clv_status keep_aspect(const kernel *k, double *scale)
{
    const clv_tensor *x = k->in[0];
    clv_value shape = {.dims = (int64_t *)x->dims, .rank = (uint8_t)x->rank};
    int_list size;
    if (!attr_get(k->n, CLV_A_ASPECT))
        return CLV_OK;
    CLV_TRY(get_ints(k->g, k->n, CLV_A_SIZE, 1, &size, k->e));
    double s = clv__aspect_scale(k->n, &shape, size.v, size.n);
    for (uint32_t i = 0; s > 0 && i < x->rank; i++)
        if (k->out[0].dims[i] != x->dims[i])
            scale[i] = s;
    return CLV_OK;
}

/* The scale of each axis: given, or what the sizes say. */
static clv_status read_scales(const kernel *k, double *scale)
{
    const clv_tensor *x = k->in[0], *y = &k->out[0], *in = input_of(k, 2);
    const clv_tensor *size = input_of(k, 1);
    double given[CLV_MAX_RANK];
    uint32_t n = 0, named;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &named);
    for (uint32_t i = 0; i < x->rank; i++)
        scale[i] = (double)y->dims[i] / (double)x->dims[i];
    if (attr_get(k->n, CLV_A_SIZE) || (size && numel(size) > 0))
        return keep_aspect(k, scale);
    if (attr_get(k->n, CLV_A_SCALES))
        CLV_TRY(get_floats(k->g, k->n, CLV_A_SCALES, UINT32_MAX, given,
                           CLV_MAX_RANK, &n, k->e));
    for (int64_t i = 0; !n && in && i < numel(in) && i < CLV_MAX_RANK; i++)
        given[i] = get_f(in, i);
    if (!n && in)
        n = (uint32_t)(numel(in) < CLV_MAX_RANK ? numel(in) : CLV_MAX_RANK);
    for (uint32_t i = 0; i < x->rank && n; i++) {
        if (named == n && n < x->rank)
            break;
        if (n == x->rank)
            scale[i] = given[i];
        else if (i >= 2)
            scale[i] = n == 1 ? given[0] : i - 2 < n ? given[i - 2] : 1;
    }
    for (uint32_t i = 0; named == n && n < x->rank && i < n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes[i], x->rank, &a, k->e));
        scale[a] = given[i];
    }
    return CLV_OK;
}

/* Sets the part of each axis that is resized: where it begins for all axes or
 * those of `axes`, then where it ends. */
static clv_status read_region(const kernel *k, axis_map *m)
{
    const clv_tensor *roi = input_of(k, 3);
    uint32_t rank = k->in[0]->rank, named, a;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &named);
    uint32_t n = named ? named : rank;
    if (!roi || numel(roi) == 0)
        return CLV_OK;
    if (numel(roi) != 2 * (int64_t)n)
        return clv__fail(k->e, CLV_SHAPE,
                         "a region of %lld numbers for %u axes",
                         (long long)numel(roi), n);
    for (uint32_t i = 0; i < n; i++) {
        CLV_TRY(norm_axis(named ? axes[i] : i, rank, &a, k->e));
        m[a].begin = get_f(roi, i);
        m[a].end = get_f(roi, i + n);
    }
    return CLV_OK;
}

static clv_status make_table(kernel *k, const resize *r, sampler *s)
{
    const clv_tensor *y = &k->out[0];
    uint32_t rank = s->x->rank;
    double scale[CLV_MAX_RANK];
    axis_map maps[CLV_MAX_RANK];
    CLV_TRY(read_scales(k, scale));
    for (uint32_t a = 0; a < rank; a++)
        maps[a] = (axis_map){s->x->dims[a], y->dims[a], scale[a], 0, 1};
    CLV_TRY(read_region(k, maps));
    for (uint32_t a = 0; a < rank; a++) {
        axis_map m = maps[a];
        if (!(m.scale > 0))
            return clv__fail(k->e, CLV_SHAPE, "a scale of %g", m.scale);
        s->table[a] = arena_array(k->scratch, (size_t)m.out + 1, sizeof(taps));
        if (!s->table[a])
            return clv__nomem(k->e);
        for (int64_t i = 0; i < m.out; i++)
            CLV_TRY(taps_of(k, r, &m, i, &s->table[a][i]));
    }
    return CLV_OK;
}

clv_status clv__resize_tables(kernel *k, taps **table, bool *nearest)
{
    resize r;
    sampler s = {.x = k->in[0]};
    CLV_TRY(read_options(k, &r));
    CLV_TRY(make_table(k, &r, &s));
    memcpy(table, s.table, sizeof s.table);
    *nearest = r.method == NEAREST;
    return CLV_OK;
}

clv_status kernel_interpolate(kernel *k)
{
    clv_tensor *y = &k->out[0];
    resize r;
    sampler s = {.x = k->in[0],
                 .integers = dtype_is_integral(k->in[0]->dtype) &&
                             dtype_is_integral(y->dtype)};
    if (numel(y) == 0)
        return CLV_OK;
    CLV_TRY(read_options(k, &r));
    CLV_TRY(make_table(k, &r, &s));
    strides_of(s.x, s.strides);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        bool outside = false;
        for (uint32_t a = 0; a < y->rank; a++)
            outside = outside || s.table[a][s.idx[a]].outside;
        if (r.method == NEAREST && !outside)
            copy_run(y, i, s.x, resize_nearest(&s), 1);
        else if (outside)
            put_f(y, i, r.fill);
        else
            put_blend(y, i, &s);
        next_index(s.idx, y->dims, y->rank);
    }
    return CLV_OK;
}

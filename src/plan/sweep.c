/* sweep.c - totals at many points, and the polynomials through them.
 *
 *   1. rows: open, profile and cut the model at each point
 *   2. exponents: the slope of log(total) over log(value)
 *   3. formulas: forward differences over a grid of SIDE points per variable,
 *      starting at the first value with the step of the values (1, 2, 3, ...
 *      for the batch):
 *
 *         P(x0 + s*step, y0 + t*step') = sum D[i][j] * C(s,i) * C(t,j)
 *
 *      is expanded into powers of x and y over one denominator; all numbers
 *      are whole and checked for overflow, nothing is rounded
 *   4. the formula must give the totals at points outside of the grid */
#include "cleave/sweep.h"
#include "core/limits.h"
#include "plan/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { SIDE = CLV_DEGREE_MAX + 2, N_EXTRA = 4 };

/* Where formulas are verified, in steps from the first value. */
static const int64_t extra[N_EXTRA][CLV_VARY_MAX] = {
    {7, 6}, {6, 11}, {13, 8}, {31, 29}};

struct clv_sweep {
    arena mem;
    const char *model;
    clv_open_opts base;
    clv_sweep_info info;
    clv_sweep_row *rows;
    clv_formula *formulas;
};

static const struct {
    const char *key, *name;
} metrics[] = {
#define CLV_X(code, key, name) {key, name},
    CLV_METRIC_TABLE(CLV_X)
#undef CLV_X
};

const char *clv_metric_key(clv_metric m)
{
    return (unsigned)m < CLV_METRIC_COUNT ? metrics[m].key : "?";
}

const char *clv_metric_name(clv_metric m)
{
    return (unsigned)m < CLV_METRIC_COUNT ? metrics[m].name : "?";
}

/* -- one point ------------------------------------------------------------*/

static clv_status sweep_count(const clv_graph *g, clv_sweep_row *row,
                              clv_err *e)
{
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    uint32_t *order = NULL;
    clv_status s = clv_profile_new(g, NULL, &p, e);
    if (s == CLV_OK)
        s = clv_cut_op(p, &c, e);
    if (s == CLV_OK) {
        const clv_totals *t = &p->totals;
        int64_t *total = row->total;
        order = clv__alloc(((size_t)c->n_subs + 1) * sizeof *order);
        for (uint32_t k = 0; order && k < c->n_subs; k++)
            order[k] = k;
        total[CLV_METRIC_PARAMS] = t->params;
        total[CLV_METRIC_MACS] = t->macs;
        total[CLV_METRIC_FLOPS] = t->flops;
        total[CLV_METRIC_MEMORY] = t->memory;
        total[CLV_METRIC_PEAK] = order ? clv__peak_of(c, true, order) : CLV_SAT;
        row->intensity = t->intensity;
        if (total[CLV_METRIC_PEAK] == CLV_SAT)
            s = clv__nomem(e);
    }
    clv__free(order);
    clv_cut_free(c);
    clv_profile_free(p);
    return s;
}

/* The options of `base`, with the variables set to row->at. */
typedef struct opening {
    clv_open_opts opts;
    clv_shape_arg *shapes;
    clv_dim_arg *dims;
    int64_t axes[CLV_VARY_MAX][CLV_MAX_RANK];
} opening;

static void set_variable(opening *o, const clv_vary *v, uint32_t i, int64_t x)
{
    if (v->kind == CLV_VARY_BATCH)
        o->opts.batch = x;
    if (v->kind == CLV_VARY_DIM)
        o->dims[o->opts.n_dims++] = (clv_dim_arg){v->name, x};
    if (v->kind != CLV_VARY_SHAPE)
        return;
    clv_shape_arg *shape = &o->shapes[v->shape];
    for (uint32_t k = 0; k < shape->rank; k++)
        o->axes[i][k] = v->axes >> k & 1 ? x : shape->dims[k];
    shape->dims = o->axes[i];
}

/* Returns the i-th name among the dimensions of all inputs: "" for a dimension
 * without a name, NULL past the last one. */
static const char *dim_name(const clv_graph *g, uint32_t i)
{
    for (uint32_t k = 0; k < g->n_inputs; k++) {
        const clv_value *v = &g->values[g->inputs[k]];
        uint32_t rank = v->rank == CLV_NO_RANK ? 0 : v->rank;
        if (i >= rank) {
            i -= rank;
            continue;
        }
        bool named = v->data && v->data->dim_names && v->data->dim_names[i];
        return named ? v->data->dim_names[i] : "";
    }
    return NULL;
}

static const char *dim_name_at(const void *g, uint32_t i)
{
    return dim_name(g, i);
}

/* Refuses to vary a dimension that the model does not have. */
static clv_status check_dims(const clv_sweep *s, const clv_graph *g, clv_err *e)
{
    for (uint32_t i = 0; i < s->info.n_vary; i++) {
        const char *want = s->info.vary[i].name, *name;
        uint32_t n = 0;
        bool found = s->info.vary[i].kind != CLV_VARY_DIM;
        for (; (name = dim_name(g, n)); n++)
            found = found || !strcmp(name, want);
        if (found)
            continue;
        uint32_t near = clv__closest(want, n, dim_name_at, g);
        if (near != CLV_NONE)
            return clv__fail(
                e, CLV_USAGE,
                "no input has a dimension '%s'; did you mean '%s'?", want,
                dim_name(g, near));
        return clv__fail(e, CLV_USAGE, "no input has a dimension '%s'", want);
    }
    return CLV_OK;
}

static clv_status open_at(const clv_sweep *s, const int64_t *at, clv_graph **g,
                          clv_err *e)
{
    const clv_open_opts *base = &s->base;
    arena a = {0};
    opening o = {.opts = *base};
    o.shapes = arena_array(&a, base->n_shapes + 1, sizeof *o.shapes);
    o.dims = arena_array(&a, base->n_dims + CLV_VARY_MAX + 1, sizeof *o.dims);
    if (!o.shapes || !o.dims) {
        arena_free(&a);
        return clv__nomem(e);
    }
    if (base->n_shapes)
        memcpy(o.shapes, base->shapes, base->n_shapes * sizeof *o.shapes);
    if (base->n_dims)
        memcpy(o.dims, base->dims, base->n_dims * sizeof *o.dims);
    for (uint32_t i = 0; i < s->info.n_vary; i++)
        set_variable(&o, &s->info.vary[i], i, at[i]);
    o.opts.shapes = o.shapes;
    o.opts.dims = o.dims;
    clv_status st = clv_graph_open(s->model, &o.opts, g, e);
    arena_free(&a);
    return st;
}

static clv_status sweep_evaluate(const clv_sweep *s, const int64_t *at,
                                 clv_sweep_row *row, clv_err *e)
{
    clv_graph *g = NULL;
    memcpy(row->at, at, sizeof row->at);
    clv_status st = open_at(s, at, &g, e);
    if (st == CLV_OK)
        st = check_dims(s, g, e);
    if (st == CLV_OK)
        st = sweep_count(g, row, e);
    clv_graph_free(g);
    if (st != CLV_OK && !clv__is_final(st) && st != CLV_USAGE)
        clv__err_prefix(e, "at %s %lld", s->info.vary[0].name,
                        (long long)at[0]);
    return st;
}

/* -- rows and exponents ---------------------------------------------------*/

static clv_status fill_rows(clv_sweep *s, clv_err *e)
{
    const clv_vary *v = s->info.vary;
    uint32_t inner = s->info.n_vary > 1 ? v[1].n : 1;
    size_t n = (size_t)v[0].n * inner;
    s->rows = arena_array(&s->mem, n + 1, sizeof *s->rows);
    if (!s->rows || n > UINT32_MAX)
        return clv__nomem(e);
    for (uint32_t k = 0; k < n; k++) {
        const int64_t at[CLV_VARY_MAX] = {
            v[0].values[k / inner],
            s->info.n_vary > 1 ? v[1].values[k % inner] : 0};
        CLV_TRY(sweep_evaluate(s, at, &s->rows[k], e));
    }
    s->info.rows = s->rows;
    s->info.n_rows = (uint32_t)n;
    return CLV_OK;
}

/* Returns the slope, rounded to six digits, because logarithms are not
 * exact. */
static double sweep_slope(const clv_sweep *s, clv_metric m)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = s->info.n_rows;
    if (s->info.n_vary != 1)
        return NAN;
    for (uint32_t k = 0; k < s->info.n_rows; k++) {
        if (s->rows[k].total[m] <= 0)
            return 0;
        double x = log((double)s->rows[k].at[0]);
        double y = log((double)s->rows[k].total[m]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    double spread = n * sxx - sx * sx;
    if (spread <= 1e-12)
        return NAN;
    return round((n * sxy - sx * sy) / spread * 1e6) / 1e6;
}

/* -- polynomials ----------------------------------------------------------*/

/* Coefficients of x^i y^j over one denominator. */
typedef struct poly {
    wide c[CLV_DEGREE_MAX + 1][CLV_DEGREE_MAX + 1];
    wide den;
} poly;

typedef struct grid {
    int64_t first[CLV_VARY_MAX], step[CLV_VARY_MAX];
    uint32_t side[CLV_VARY_MAX]; /* points along each variable */
    clv_sweep_row at[SIDE][SIDE], extra[N_EXTRA];
    uint32_t n_extra;
} grid;

static int64_t sweep_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static wide wide_gcd(wide a, wide b)
{
    a = a < 0 ? -a : a;
    while (b) {
        wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Chooses the grid. Any batch is valid. Sizes may have to be multiples of
 * something, so they use the step of the given values. */
static clv_status fill_grid(const clv_sweep *s, grid *g, clv_err *e)
{
    for (uint32_t i = 0; i < CLV_VARY_MAX; i++) {
        bool used = i < s->info.n_vary;
        const clv_vary *v = &s->info.vary[used ? i : 0];
        bool steps = used && v->kind != CLV_VARY_BATCH;
        g->first[i] = steps ? v->values[0] : used;
        g->side[i] = used ? SIDE : 1;
        for (uint32_t k = 1; steps && k < v->n; k++)
            g->step[i] = sweep_gcd(v->values[k] - v->values[0], g->step[i]);
        g->step[i] = g->step[i] > 0 ? g->step[i] : 1;
    }
    for (uint32_t i = 0; i < g->side[0]; i++)
        for (uint32_t j = 0; j < g->side[1]; j++) {
            const int64_t at[] = {g->first[0] + i * g->step[0],
                                  g->first[1] + j * g->step[1]};
            CLV_TRY(sweep_evaluate(s, at, &g->at[i][j], e));
        }
    for (g->n_extra = 0; g->n_extra < N_EXTRA; g->n_extra++) {
        const int64_t *steps = extra[g->n_extra];
        const int64_t at[] = {
            g->first[0] + steps[0] * g->step[0],
            g->side[1] > 1 ? g->first[1] + steps[1] * g->step[1] : 0};
        CLV_TRY(sweep_evaluate(s, at, &g->extra[g->n_extra], e));
    }
    return CLV_OK;
}

/* Computes D[i][j], the forward differences of orders i and j at the first
 * point. */
static void sweep_differences(const grid *g, clv_metric m, wide d[SIDE][SIDE])
{
    for (uint32_t i = 0; i < g->side[0]; i++)
        for (uint32_t j = 0; j < g->side[1]; j++)
            d[i][j] = g->at[i][j].total[m];
    for (uint32_t j = 0; j < g->side[1]; j++)
        for (uint32_t order = 1; order < g->side[0]; order++)
            for (uint32_t i = g->side[0] - 1; i >= order; i--)
                d[i][j] -= d[i - 1][j];
    for (uint32_t i = 0; i < g->side[0]; i++)
        for (uint32_t order = 1; order < g->side[1]; order++)
            for (uint32_t j = g->side[1] - 1; j >= order; j--)
                d[i][j] -= d[i][j - 1];
}

/* Finds the highest order with a difference that is not 0. */
static void sweep_degrees(const grid *g, wide d[SIDE][SIDE],
                          uint32_t degree[CLV_VARY_MAX])
{
    degree[0] = degree[1] = 0;
    for (uint32_t i = 0; i < g->side[0]; i++)
        for (uint32_t j = 0; j < g->side[1]; j++)
            if (d[i][j]) {
                degree[0] = i > degree[0] ? i : degree[0];
                degree[1] = j > degree[1] ? j : degree[1];
            }
}

/* Fills out[k] with the coefficients, by power of x, of the product of the
 * first k factors (x-x0)(x-x0-step)(x-x0-2*step)... */
static bool sweep_falling(int64_t x0, int64_t step,
                          wide out[CLV_DEGREE_MAX + 1][CLV_DEGREE_MAX + 1])
{
    memset(out, 0, sizeof(wide[CLV_DEGREE_MAX + 1][CLV_DEGREE_MAX + 1]));
    out[0][0] = 1;
    for (int k = 0; k < CLV_DEGREE_MAX; k++) {
        wide root = (wide)x0 + (wide)k * step;
        for (int i = 0; i <= k; i++) {
            wide part;
            if (__builtin_mul_overflow(out[k][i], root, &part))
                return false;
            out[k + 1][i + 1] += out[k][i];
            out[k + 1][i] -= part;
        }
    }
    return true;
}

/* Computes degree! * step^degree. Returns false when it does not fit. */
static bool sweep_scale_of(uint32_t degree, int64_t step, wide *out)
{
    *out = 1;
    for (uint32_t k = 1; k <= degree; k++)
        if (__builtin_mul_overflow(*out, (wide)k * step, out))
            return false;
    return true;
}

/* Expands the Newton form into powers. Returns false when a number does not
 * fit. */
static bool sweep_expand(const grid *g, wide d[SIDE][SIDE],
                         const uint32_t *degree, poly *p)
{
    wide x[CLV_DEGREE_MAX + 1][CLV_DEGREE_MAX + 1];
    wide y[CLV_DEGREE_MAX + 1][CLV_DEGREE_MAX + 1], dx, dy, si, sj;
    memset(p, 0, sizeof *p);
    if (!sweep_falling(g->first[0], g->step[0], x) ||
        !sweep_falling(g->first[1], g->step[1], y) ||
        !sweep_scale_of(degree[0], g->step[0], &dx) ||
        !sweep_scale_of(degree[1], g->step[1], &dy) ||
        __builtin_mul_overflow(dx, dy, &p->den))
        return false;
    for (uint32_t i = 0; i <= degree[0]; i++)
        for (uint32_t j = 0; j <= degree[1]; j++) {
            wide weight, part;
            if (!sweep_scale_of(i, g->step[0], &si) ||
                !sweep_scale_of(j, g->step[1], &sj) ||
                __builtin_mul_overflow(d[i][j], p->den / si / sj, &weight))
                return false;
            for (uint32_t a = 0; a <= i; a++)
                for (uint32_t b = 0; b <= j; b++)
                    if (__builtin_mul_overflow(weight, x[i][a], &part) ||
                        __builtin_mul_overflow(part, y[j][b], &part) ||
                        __builtin_add_overflow(p->c[a][b], part, &p->c[a][b]))
                        return false;
        }
    return true;
}

/* Lists the terms, reduced, with the highest total power first. */
static bool to_terms(const poly *p, clv_formula *f)
{
    for (int power = 2 * CLV_DEGREE_MAX; power >= 0; power--)
        for (int a = power < CLV_DEGREE_MAX ? power : CLV_DEGREE_MAX; a >= 0;
             a--) {
            int b = power - a;
            if (b > CLV_DEGREE_MAX || !p->c[a][b])
                continue;
            wide common = wide_gcd(p->c[a][b], p->den);
            wide num = p->c[a][b] / common, den = p->den / common;
            if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX)
                return false;
            f->terms[f->n++] = (clv_term){
                (int64_t)num, (int64_t)den, {(uint8_t)a, (uint8_t)b}};
        }
    return true;
}

bool clv_formula_at(const clv_formula *f, const int64_t *at, uint32_t n_vary,
                    int64_t *out)
{
    wide den = 1, sum = 0;
    for (uint32_t i = 0; i < f->n; i++) { /* the least common denominator */
        wide d = f->terms[i].den;
        if (__builtin_mul_overflow(den / wide_gcd(den, d), d, &den))
            return false;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        const clv_term *t = &f->terms[i];
        wide x = (wide)t->num;
        if (__builtin_mul_overflow(x, den / t->den, &x))
            return false;
        for (uint32_t v = 0; v < n_vary; v++)
            for (int k = 0; k < t->exponent[v]; k++)
                if (__builtin_mul_overflow(x, (wide)at[v], &x))
                    return false;
        if (__builtin_add_overflow(sum, x, &sum))
            return false;
    }
    if (sum % den || sum / den > INT64_MAX || sum / den < INT64_MIN)
        return false;
    *out = (int64_t)(sum / den);
    return true;
}

/* "seq 31", or "batch 8, seq 31" */
static const char *sweep_where(const clv_sweep *s, const int64_t *at, char *buf,
                               size_t size)
{
    if (s->info.n_vary == 1)
        snprintf(buf, size, "%s %lld", s->info.vary[0].name, (long long)at[0]);
    else
        snprintf(buf, size, "%s %lld, %s %lld", s->info.vary[0].name,
                 (long long)at[0], s->info.vary[1].name, (long long)at[1]);
    return buf;
}

static void find_formula(const clv_sweep *s, const grid *g, clv_metric m,
                         clv_formula *f)
{
    wide d[SIDE][SIDE] = {{0}};
    uint32_t degree[CLV_VARY_MAX];
    char point[64];
    poly p;
    *f = (clv_formula){0};
    sweep_differences(g, m, d);
    sweep_degrees(g, d, degree);
    if (degree[0] > CLV_DEGREE_MAX || degree[1] > CLV_DEGREE_MAX) {
        snprintf(f->why, sizeof f->why,
                 "no polynomial of degree %d or less passes through the points "
                 "from %s on",
                 CLV_DEGREE_MAX, sweep_where(s, g->first, point, sizeof point));
        return;
    }
    if (!sweep_expand(g, d, degree, &p) || !to_terms(&p, f)) {
        snprintf(f->why, sizeof f->why, "its coefficients do not fit 64 bits");
        return;
    }
    for (uint32_t k = 0; k < g->n_extra; k++) {
        const clv_sweep_row *row = &g->extra[k];
        int64_t got;
        if (clv_formula_at(f, row->at, s->info.n_vary, &got) &&
            got == row->total[m])
            continue;
        snprintf(f->why, sizeof f->why,
                 "at %s it is %lld, not what the polynomial through the first "
                 "points gives",
                 sweep_where(s, row->at, point, sizeof point),
                 (long long)row->total[m]);
        return;
    }
    f->exact = true;
}

static clv_status fill_formulas(clv_sweep *s, clv_err *e)
{
    grid *g = arena_zalloc(&s->mem, sizeof *g);
    s->formulas = arena_array(&s->mem, CLV_METRIC_COUNT, sizeof *s->formulas);
    if (!g || !s->formulas)
        return clv__nomem(e);
    CLV_TRY(fill_grid(s, g, e));
    for (int m = 0; m < CLV_METRIC_COUNT; m++)
        find_formula(s, g, (clv_metric)m, &s->formulas[m]);
    s->info.formulas = s->formulas;
    s->info.checked = g->n_extra;
    memcpy(s->info.first, g->first, sizeof g->first);
    memcpy(s->info.step, g->step, sizeof g->step);
    return CLV_OK;
}

/* -- the whole ------------------------------------------------------------*/

static clv_status check_vary(const clv_open_opts *base, const clv_vary *v,
                             uint32_t n, clv_err *e)
{
    if (n < 1 || n > CLV_VARY_MAX)
        return clv__fail(e, CLV_USAGE, "a sweep has one or two variables");
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].n)
            return clv__fail(e, CLV_USAGE, "'%s' has no values", v[i].name);
        for (uint32_t k = 0; k < v[i].n; k++)
            if (v[i].values[k] < 1 || v[i].values[k] > INT32_MAX ||
                (k && v[i].values[k] <= v[i].values[k - 1]))
                return clv__fail(e, CLV_USAGE,
                                 "values of '%s' must ascend and be from 1 to "
                                 "2^31",
                                 v[i].name);
        if (v[i].kind == CLV_VARY_SHAPE &&
            (v[i].shape >= base->n_shapes ||
             base->shapes[v[i].shape].rank > CLV_MAX_RANK))
            return clv__fail(e, CLV_USAGE, "'%s': no such input shape",
                             v[i].name);
    }
    return CLV_OK;
}

static clv_status sweep_fill(clv_sweep *s, bool formula, clv_err *e)
{
    CLV_TRY(fill_rows(s, e));
    for (int m = 0; m < CLV_METRIC_COUNT; m++)
        s->info.exponent[m] = sweep_slope(s, (clv_metric)m);
    return formula ? fill_formulas(s, e) : CLV_OK;
}

clv_status clv_sweep_new(const char *model, const clv_open_opts *base,
                         const clv_vary *vary, uint32_t n_vary, bool formula,
                         clv_sweep **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(model, err);
    clv_open_opts own;
    CLV_READ(clv_open_opts, base, &own, err);
    CLV_TRY(check_vary(&own, vary, n_vary, err));
    clv_sweep *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->model = model;
    s->base = own;
    s->info.size = sizeof s->info;
    s->info.model = model;
    s->info.vary = vary;
    s->info.n_vary = n_vary;
    clv_status st = sweep_fill(s, formula, err);
    if (st != CLV_OK) {
        clv_sweep_free(s);
        return st;
    }
    *out = s;
    return CLV_OK;
}

void clv_sweep_free(clv_sweep *s)
{
    if (!s)
        return;
    arena_free(&s->mem);
    clv__free(s);
}

const clv_sweep_info *clv_sweep_get(const clv_sweep *s)
{
    return &s->info;
}

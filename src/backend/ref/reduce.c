/* reduce.c - sums and their kin over axes, the largest of an axis, running
 * totals along one. */
#include "backend/kernel.h"

#include <math.h>

/* What is known of the elements that one result reduces. Integers that become
 * an integer are summed in `whole`, exactly; all others in `real`. */
typedef struct tally {
    bool integers;
    double real, power; /* power: the order of a norm */
    uint64_t whole;
    int64_t n, best, key; /* best: where the element sought for lies */
} tally;

typedef void see_fn(tally *t, element x);
typedef void put_fn(const kernel *k, const tally *t, int64_t at);

static void see_sum(tally *t, element x)
{
    if (t->integers)
        t->whole += (uint64_t)get_i(x.t, x.i);
    else
        t->real += get_f(x.t, x.i);
}

static void see_product(tally *t, element x)
{
    if (t->integers)
        t->whole *= (uint64_t)get_i(x.t, x.i);
    else
        t->real *= get_f(x.t, x.i);
}

static void see_square(tally *t, element x)
{
    double v = get_f(x.t, x.i);
    uint64_t whole = t->integers ? (uint64_t)get_i(x.t, x.i) : 0;
    t->real += v * v;
    t->whole += whole * whole;
}

static void see_power(tally *t, element x)
{
    double v = fabs(get_f(x.t, x.i)), p = t->power;
    int64_t i = t->integers ? get_i(x.t, x.i) : 0;
    bool minus = i < 0 && x.t->dtype != CLV_UINT64;
    t->real += p == 2 ? v * v : p == 1 ? v : pow(v, p);
    t->whole += minus ? 0 - (uint64_t)i : (uint64_t)i;
}

static void see_nonzero(tally *t, element x)
{
    t->whole += get_f(x.t, x.i) != 0;
}

static void reduce_seek(tally *t, element x, bool least)
{
    int64_t key = search_key(x.t, x.i, least);
    if (t->n == 0 || key > t->key) {
        t->key = key;
        t->best = x.i;
    }
}

static void see_most(tally *t, element x)
{
    reduce_seek(t, x, false);
}

static void see_least(tally *t, element x)
{
    reduce_seek(t, x, true);
}

static void put_total(const kernel *k, const tally *t, int64_t at)
{
    if (t->integers)
        put_i(&k->out[0], at, (int64_t)t->whole);
    else
        put_f(&k->out[0], at, t->real);
}

void put_mean(clv_tensor *y, int64_t at, const clv_tensor *x, dot_sum sum,
              int64_t n)
{
    clv_dtype unit = x->dtype == CLV_UINT64 ? CLV_UINT64 : CLV_INT64;
    if (dtype_is_integral(x->dtype) && dtype_is_integral(y->dtype))
        put_i(y, at,
              clv__arith_int(clv__arith(CLV_OP_DIV), unit)((int64_t)sum.whole,
                                                           n));
    else
        put_f(y, at, (sum.real + (double)(int64_t)sum.whole) / (double)n);
}

static void put_mean_of(const kernel *k, const tally *t, int64_t at)
{
    put_mean(&k->out[0], at, k->in[0], (dot_sum){t->real, t->whole}, t->n);
}

static void put_log(const kernel *k, const tally *t, int64_t at)
{
    put_f(&k->out[0], at,
          log(t->integers ? (double)(int64_t)t->whole : t->real));
}

static void put_root(const kernel *k, const tally *t, int64_t at)
{
    if (t->power == 1)
        put_total(k, t, at);
    else
        put_f(&k->out[0], at, pow(t->real, 1 / t->power));
}

static void put_count(const kernel *k, const tally *t, int64_t at)
{
    put_i(&k->out[0], at, (int64_t)t->whole);
}

static void put_any(const kernel *k, const tally *t, int64_t at)
{
    put_i(&k->out[0], at, t->whole > 0);
}

static void put_all(const kernel *k, const tally *t, int64_t at)
{
    put_i(&k->out[0], at, t->whole == (uint64_t)t->n);
}

/* The least number of the type of y, or the largest: what a maximum or minimum
 * of nothing is. */
static void put_extreme(clv_tensor *y, int64_t at, bool largest)
{
    int64_t bits = clv_dtype_bytes(y->dtype, 8);
    uint64_t top = UINT64_MAX >> (64 - (bits > 0 && bits <= 64 ? bits : 64));
    if (is_float(y->dtype))
        put_f(y, at, largest ? INFINITY : -INFINITY);
    else if (y->dtype == CLV_BOOL)
        put_i(y, at, largest);
    else if (is_signed(y->dtype))
        put_i(y, at, largest ? (int64_t)(top >> 1) : ~(int64_t)(top >> 1));
    else
        put_i(y, at, largest ? (int64_t)top : 0);
}

static void put_best(const kernel *k, const tally *t, int64_t at)
{
    if (t->n)
        copy_run(&k->out[0], at, k->in[0], t->best, 1);
    else
        put_extreme(&k->out[0], at, k->n->op == CLV_OP_MIN);
}

static const struct reduction {
    clv_op op;
    see_fn *see;
    put_fn *put;
} reductions[] = {
    {CLV_OP_SUM, see_sum, put_total},
    {CLV_OP_PROD, see_product, put_total},
    {CLV_OP_MAX, see_most, put_best},
    {CLV_OP_MIN, see_least, put_best},
    {CLV_OP_MEAN, see_sum, put_mean_of},
    {CLV_OP_SUM_SQUARE, see_square, put_total},
    {CLV_OP_LOG_SUM, see_sum, put_log},
    {CLV_OP_COUNT_NONZERO, see_nonzero, put_count},
    {CLV_OP_ANY, see_nonzero, put_any},
    {CLV_OP_ALL, see_nonzero, put_all},
    {CLV_OP_NORM, see_power, put_root},
};

static const struct reduction *reduction_of(clv_op op)
{
    const struct reduction *r = reductions;
    while (r->op != op)
        r++;
    return r;
}

/* Axes that go, from attribute or input 1; none: all of them. */
static clv_status gone_axes(kernel *k, bool *gone)
{
    const clv_tensor *x = k->in[0];
    int_list axes;
    CLV_TRY(list_of(k, CLV_A_AXES, 1, &axes));
    for (uint32_t i = 0; i < CLV_MAX_RANK; i++)
        gone[i] = axes.n == 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank ? x->rank : 1, &a, k->e));
        gone[a] = true;
    }
    return CLV_OK;
}

/* Splits x into kept axes and reduced ones, each with its strides. */
typedef struct split {
    int64_t kept[CLV_MAX_RANK], kept_strides[CLV_MAX_RANK];
    int64_t gone[CLV_MAX_RANK], gone_strides[CLV_MAX_RANK];
    uint32_t n_kept, n_gone;
} split;

static split split_axes(const clv_tensor *x, const bool *gone)
{
    split s = {.n_kept = 0};
    int64_t own[CLV_MAX_RANK];
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (gone[i]) {
            s.gone[s.n_gone] = x->dims[i];
            s.gone_strides[s.n_gone++] = own[i];
        } else {
            s.kept[s.n_kept] = x->dims[i];
            s.kept_strides[s.n_kept++] = own[i];
        }
    }
    return s;
}

/* The largest and the smallest have a second output: where they lie along the
 * one axis that goes. */
static clv_status check_places(const kernel *k, const split *s)
{
    bool best = k->n->op == CLV_OP_MAX || k->n->op == CLV_OP_MIN;
    if (!output_of(k, 1) || (best && s->n_gone == 1))
        return CLV_OK;
    return clv__fail(k->e, CLV_UNSUPPORTED, "places along %u axes",
                     best ? s->n_gone : 0);
}

clv_status kernel_reduce(kernel *k)
{
    const clv_tensor *x = k->in[0];
    bool gone[CLV_MAX_RANK];
    CLV_TRY(gone_axes(k, gone));
    split s = split_axes(x, gone);
    const struct reduction *r = reduction_of((clv_op)k->n->op);
    bool product = k->n->op == CLV_OP_PROD;
    bool integers =
        dtype_is_integral(x->dtype) && dtype_is_integral(k->out[0].dtype);
    double p = k->n->op == CLV_OP_NORM ? attr_float(k->n, CLV_A_P) : 0;
    int64_t at[CLV_MAX_RANK] = {0}, size = 1;
    for (uint32_t i = 0; i < s.n_gone; i++)
        size *= s.gone[i];
    CLV_TRY(check_places(k, &s));
    clv_tensor *places = output_of(k, 1);
    for (int64_t o = 0, n = numel(&k->out[0]); o < n && clv__in_time(1); o++) {
        int64_t base = offset_of(at, s.kept_strides, s.n_kept);
        int64_t idx[CLV_MAX_RANK] = {0};
        tally t = {.integers = integers,
                   .power = p,
                   .real = product,
                   .whole = product};
        for (int64_t i = 0; i < size && clv__in_time(1); i++, t.n++) {
            int64_t from = base + offset_of(idx, s.gone_strides, s.n_gone);
            r->see(&t, (element){x, from});
            next_index(idx, s.gone, s.n_gone);
        }
        r->put(k, &t, o);
        if (places)
            put_i(places, o, t.n ? (t.best - base) / s.gone_strides[0] : 0);
        next_index(at, s.kept, s.n_kept);
    }
    return CLV_OK;
}

/* Variance or deviation about the mean, with Bessel's correction. */
clv_status kernel_variance(kernel *k)
{
    const clv_tensor *x = k->in[0];
    bool gone[CLV_MAX_RANK];
    CLV_TRY(gone_axes(k, gone));
    split s = split_axes(x, gone);
    double less = attr_float(k->n, CLV_A_CORRECTION);
    int64_t at[CLV_MAX_RANK] = {0}, size = 1;
    for (uint32_t i = 0; i < s.n_gone; i++)
        size *= s.gone[i];
    for (int64_t o = 0, n = numel(&k->out[0]); o < n && clv__in_time(1); o++) {
        int64_t base = offset_of(at, s.kept_strides, s.n_kept);
        double sum = 0, square = 0;
        for (int pass = 0; pass < 2; pass++) {
            int64_t idx[CLV_MAX_RANK] = {0};
            double mean = pass ? sum / (double)size : 0;
            for (int64_t i = 0; i < size && clv__in_time(1); i++) {
                double d =
                    get_f(x, base + offset_of(idx, s.gone_strides, s.n_gone)) -
                    mean;
                if (pass)
                    square += d * d;
                else
                    sum += d;
                next_index(idx, s.gone, s.n_gone);
            }
        }
        double var = square / fmax((double)size - less, 0);
        put_f(&k->out[0], o, k->n->op == CLV_OP_STD ? sqrt(var) : var);
        next_index(at, s.kept, s.n_kept);
    }
    return CLV_OK;
}

/* The pass-th of three over one set: sum, squares about the mean, result. */
static void mvn_pass(const kernel *k, const split *s, int64_t base,
                     int64_t size, int pass, double *sum, double *square)
{
    double n = (double)size, mean = pass ? *sum / n : 0;
    int64_t idx[CLV_MAX_RANK] = {0};
    for (int64_t i = 0; i < size && clv__in_time(1); i++) {
        int64_t at = base + offset_of(idx, s->gone_strides, s->n_gone);
        double d = get_f(k->in[0], at) - mean;
        if (pass == 0)
            *sum += d;
        else if (pass == 1)
            *square += d * d;
        else
            put_f(&k->out[0], at, d / (sqrt(*square / n) + 1e-9));
        next_index(idx, s->gone, s->n_gone);
    }
}

/* (x - mean) / deviation over axes, 0, 2 and 3 unless given. */
clv_status kernel_mean_variance_norm(kernel *k)
{
    bool gone[CLV_MAX_RANK];
    CLV_TRY(gone_axes(k, gone));
    if (!attr_get(k->n, CLV_A_AXES))
        gone[1] = false;
    split s = split_axes(k->in[0], gone);
    int64_t at[CLV_MAX_RANK] = {0}, size = 1, rows = 1;
    for (uint32_t i = 0; i < s.n_gone; i++)
        size *= s.gone[i];
    for (uint32_t i = 0; i < s.n_kept; i++)
        rows *= s.kept[i];
    for (int64_t o = 0; o < rows; o++) {
        int64_t base = offset_of(at, s.kept_strides, s.n_kept);
        double sum = 0, square = 0;
        for (int pass = 0; pass < 3; pass++)
            mvn_pass(k, &s, base, size, pass, &sum, &square);
        next_index(at, s.kept, s.n_kept);
    }
    return CLV_OK;
}

/* log(sum(exp(x))), steady for large x. */
clv_status kernel_logsumexp(kernel *k)
{
    const clv_tensor *x = k->in[0];
    bool gone[CLV_MAX_RANK];
    CLV_TRY(gone_axes(k, gone));
    split s = split_axes(x, gone);
    int64_t at[CLV_MAX_RANK] = {0}, size = 1;
    for (uint32_t i = 0; i < s.n_gone; i++)
        size *= s.gone[i];
    for (int64_t o = 0, n = numel(&k->out[0]); o < n && clv__in_time(1); o++) {
        int64_t base = offset_of(at, s.kept_strides, s.n_kept);
        double most = -INFINITY, sum = 0;
        for (int pass = 0; pass < 2; pass++) {
            int64_t idx[CLV_MAX_RANK] = {0};
            for (int64_t i = 0; i < size && clv__in_time(1); i++) {
                double v =
                    get_f(x, base + offset_of(idx, s.gone_strides, s.n_gone));
                if (pass == 0)
                    most = v > most ? v : most;
                else
                    sum += isinf(most) ? exp(v) : exp(v - most);
                next_index(idx, s.gone, s.n_gone);
            }
        }
        put_f(&k->out[0], o, isinf(most) ? log(sum) : most + log(sum));
        next_index(at, s.kept, s.n_kept);
    }
    return CLV_OK;
}

/* -- the place of the largest ---------------------------------------------*/

/* The index of the largest or smallest; `last` takes the last of equals. */
clv_status kernel_argmax(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis = 0;
    bool all = !attr_get(k->n, CLV_A_AXIS);
    if (!all)
        CLV_TRY(axis_of(k, &axis));
    lane l = all ? (lane){numel(x), 1, 1} : lanes(x, axis);
    bool least = k->n->op == CLV_OP_ARGMIN;
    bool last = attr_int(k->n, CLV_A_SELECT_LAST) != 0;
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t s = 0; s < l.step; s++) {
            int64_t best = 0, first = r * l.n * l.step + s;
            for (int64_t i = 1; i < l.n && clv__in_time(1); i++) {
                int64_t v = search_key(x, first + i * l.step, least);
                int64_t b = search_key(x, first + best * l.step, least);
                if (v > b || (last && v == b))
                    best = i;
            }
            put_i(&k->out[0], r * l.step + s, best);
        }
    return CLV_OK;
}

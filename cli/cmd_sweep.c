/* cmd_sweep.c - how cost grows.
 *
 * A variable is what is given several values: --batch 1,2,4, --dim seq=64,128,
 * or several --input-shape of one input, which may differ in one number (on one
 * axis or on several, as the side of an image). Without any it is the batch. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct plan {
    clv_open_opts base;
    clv_vary vary[CLV_VARY_MAX];
    uint32_t n;
    clv_shape_arg *shapes; /* one per input */
    clv_dim_arg *dims;     /* those with one value */
    options memory;        /* lists that live as long as the command */
} plan;

static void sweep_report(const void *s, const clv_report_opts *o, clv_buf *out)
{
    clv_report_sweep(s, o, out);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Sorts the values, drops those that occur twice, adds the variable. */
static clv_status add_variable(plan *p, clv_vary v, int64_t *values, size_t n,
                               clv_err *err)
{
    if (p->n == CLV_VARY_MAX)
        return fail(err, CLV_USAGE,
                    "sweep takes two variables at most; '%s' is one more",
                    v.name);
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || values[i] != values[i - 1])
            values[v.n++] = values[i];
    v.values = values;
    p->vary[p->n++] = v;
    return CLV_OK;
}

static int64_t *new_values(plan *p, size_t n)
{
    return options_alloc(&p->memory, n + 1, sizeof(int64_t));
}

static clv_status take_batch(const options *o, plan *p, clv_err *err)
{
    int64_t *values = new_values(p, o->batch.n);
    if (!values)
        return fail(err, CLV_NOMEM, "out of memory");
    if (o->batch.n == 1 && !o->formula)
        p->base.batch = o->batch.items[0];
    if (o->batch.n == 0 || (o->batch.n == 1 && !o->formula))
        return CLV_OK;
    memcpy(values, o->batch.items, o->batch.n * sizeof *values);
    return add_variable(p, (clv_vary){CLV_VARY_BATCH, "batch", 0, 0, NULL, 0},
                        values, o->batch.n, err);
}

/* -- dimensions -----------------------------------------------------------*/

static clv_status take_dims(const options *o, plan *p, clv_err *err)
{
    p->dims = options_alloc(&p->memory, o->dim.n + 1, sizeof *p->dims);
    for (size_t i = 0; p->dims && i < o->dim.n; i++) {
        const char *name = o->dim.items[i].name;
        int64_t *values = new_values(p, o->dim.n);
        size_t n = 0;
        bool seen = false;
        for (size_t k = 0; values && k < o->dim.n; k++) {
            if (strcmp(o->dim.items[k].name, name))
                continue;
            seen = seen || k < i;
            values[n++] = o->dim.items[k].value;
        }
        if (!values)
            return fail(err, CLV_NOMEM, "out of memory");
        if (seen)
            continue;
        if (n == 1) {
            p->dims[p->base.n_dims++] = o->dim.items[i];
            continue;
        }
        clv_status s = add_variable(
            p, (clv_vary){CLV_VARY_DIM, name, 0, 0, NULL, 0}, values, n, err);
        if (s != CLV_OK)
            return s;
    }
    p->base.dims = p->dims;
    return p->dims ? CLV_OK : fail(err, CLV_NOMEM, "out of memory");
}

/* -- shapes ---------------------------------------------------------------*/

static bool same_name(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Finds the axes on which the n shapes differ. Returns false unless each shape
 * has one number there. */
static bool sweep_varying(const clv_shape_arg *const *s, size_t n,
                          uint32_t *axes, int64_t *values)
{
    *axes = 0;
    for (size_t k = 1; k < n; k++) {
        if (s[k]->rank != s[0]->rank)
            return false;
        for (uint32_t a = 0; a < s[0]->rank; a++)
            if (s[k]->dims[a] != s[0]->dims[a])
                *axes |= 1u << a;
    }
    for (size_t k = 0; k < n; k++) {
        values[k] = 0;
        for (uint32_t a = 0; a < s[0]->rank; a++) {
            if (!(*axes >> a & 1))
                continue;
            if (values[k] && values[k] != s[k]->dims[a])
                return false;
            values[k] = s[k]->dims[a];
        }
    }
    return *axes != 0;
}

static const char *axes_name(uint32_t axes)
{
    static const char *const one[] = {"dim0", "dim1", "dim2",
                                      "dim3", "dim4", "dim5"};
    for (uint32_t a = 0; a < 6; a++)
        if (axes == 1u << a)
            return one[a];
    return "side";
}

static clv_status take_shape(const options *o, plan *p, size_t first,
                             clv_err *err)
{
    const clv_shape_arg *all = o->input_shape.items;
    size_t total = o->input_shape.n, n = 0;
    const clv_shape_arg **same =
        options_alloc(&p->memory, total + 1, sizeof *same);
    int64_t *values = new_values(p, total);
    uint32_t axes, at = (uint32_t)p->base.n_shapes;
    if (!same || !values)
        return fail(err, CLV_NOMEM, "out of memory");
    for (size_t k = 0; k < total; k++)
        if (same_name(all[k].name, all[first].name)) {
            if (k < first)
                return CLV_OK; /* taken already */
            same[n++] = &all[k];
        }
    p->shapes[p->base.n_shapes++] = all[first];
    if (n == 1)
        return CLV_OK;
    if (!sweep_varying(same, n, &axes, values))
        return fail(err, CLV_USAGE,
                    "sweep: the shapes given must differ in one number, which "
                    "may stand on several axes");
    return add_variable(
        p, (clv_vary){CLV_VARY_SHAPE, axes_name(axes), at, axes, NULL, 0},
        values, n, err);
}

static clv_status take_shapes(const options *o, plan *p, clv_err *err)
{
    clv_status s = CLV_OK;
    p->shapes =
        options_alloc(&p->memory, o->input_shape.n + 1, sizeof *p->shapes);
    if (!p->shapes)
        return fail(err, CLV_NOMEM, "out of memory");
    for (size_t i = 0; s == CLV_OK && i < o->input_shape.n; i++)
        s = take_shape(o, p, i, err);
    p->base.shapes = p->shapes;
    return s;
}

static clv_status take_default(const options *o, plan *p, clv_err *err)
{
    static const int64_t usual[] = {1, 2, 4, 8, 16, 32};
    int64_t *values = new_values(p, 6);
    if (p->n)
        return CLV_OK;
    if (o->batch.n == 1)
        return fail(err, CLV_USAGE,
                    "sweep needs something to vary: --batch 1,2,4, --dim "
                    "NAME=64,128, or several --input-shape");
    if (!values)
        return fail(err, CLV_NOMEM, "out of memory");
    memcpy(values, usual, sizeof usual);
    return add_variable(p, (clv_vary){CLV_VARY_BATCH, "batch", 0, 0, NULL, 0},
                        values, 6, err);
}

clv_status cmd_sweep(const options *o, clv_err *err)
{
    clv_sweep *sweep = NULL;
    plan p = {.base = {.size = sizeof p.base,
                       .dtype = o->dtype,
                       .loop = o->loop,
                       .params = o->params,
                       .signature = o->signature,
                       .ops_file = o->ops,
                       .args = o->arg.items,
                       .n_args = o->arg.n}};
    clv_status s = take_batch(o, &p, err);
    if (s == CLV_OK)
        s = take_dims(o, &p, err);
    if (s == CLV_OK)
        s = take_shapes(o, &p, err);
    if (s == CLV_OK)
        s = take_default(o, &p, err);
    if (s == CLV_OK)
        s = clv_sweep_new(o->args.items[0], &p.base, p.vary, p.n, o->formula,
                          &sweep, err);
    if (s == CLV_OK)
        s = emit(o, sweep_report, sweep, err);
    clv_sweep_free(sweep);
    options_free(&p.memory);
    return s;
}

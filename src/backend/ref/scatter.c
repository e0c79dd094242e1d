/* scatter.c - copies of a tensor with some of it replaced or added to: by
 * index, by mask, by slice. */
#include "backend/kernel.h"

#include <string.h>

/* What an update is combined by; NULL: it replaces what was there. */
static const clv_arith *scatter_reducer(const char *name)
{
    static const struct {
        const char *name;
        clv_op op;
    } table[] = {{"max", CLV_OP_MAXIMUM},
                 {"min", CLV_OP_MINIMUM},
                 {"mul", CLV_OP_MUL},
                 {"prod", CLV_OP_MUL}};
    if (!strcmp(name, "none"))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return clv__arith(table[i].op);
    return clv__arith(CLV_OP_ADD);
}

/* y[at] = y[at] (op) u[i]; op is the attribute reduction. */
static void scatter_combine(clv_tensor *y, int64_t at, const clv_tensor *u,
                            int64_t i, const char *op)
{
    const clv_arith *row = scatter_reducer(op);
    if (row)
        put_arith(row, y, at, (element){y, at}, (element){u, i});
    else
        copy_run(y, at, u, i, 1);
}

static const char *scatter_reduction(const kernel *k)
{
    if (k->n->op == CLV_OP_SCATTER_ADD)
        return "add";
    return attr_str(k->n, CLV_A_REDUCTION);
}

/* x, indices, updates, element by element along `axis`. */
clv_status kernel_scatter(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    const clv_tensor *u = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    scalar_arg value;
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    int64_t own[CLV_MAX_RANK], us[CLV_MAX_RANK] = {0}, idx[CLV_MAX_RANK] = {0};
    strides_of(x, own);
    if (u)
        strides_of(u, us);
    (void)scalar_at(k, CLV_A_VALUE, UINT32_MAX, &value);
    copy_run(y, 0, x, 0, numel(x));
    for (int64_t i = 0, n = numel(index); i < n && clv__in_time(1); i++) {
        int64_t at, to;
        CLV_TRY(checked(k, get_i(index, i), x->rank ? x->dims[axis] : 1, &at));
        to = offset_of(idx, own, x->rank) +
             (x->rank ? (at - idx[axis]) * own[axis] : 0);
        if (u)
            scatter_combine(y, to, u, offset_of(idx, us, u->rank),
                            scatter_reduction(k));
        else
            copy_run(y, to, &value.t, 0, 1);
        next_index(idx, index->dims, index->rank);
    }
    return CLV_OK;
}

/* Whether coordinates lie outside of x, where such updates are left out. There
 * negative ones do not count from the end. */
static bool scatter_skips(const kernel *k, const clv_tensor *x,
                          const clv_tensor *index, int64_t at, int64_t depth)
{
    if (!attr_is(k->n, CLV_A_OUTSIDE, "skip"))
        return false;
    for (int64_t d = 0; d < depth; d++)
        if (get_i(index, at + d) < 0 || get_i(index, at + d) >= x->dims[d])
            return true;
    return false;
}

/* x, coordinates (..,depth), updates: slices. */
clv_status kernel_scatter_nd(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = k->in[2];
    clv_tensor *y = &k->out[0];
    int64_t depth = index->dims[index->rank - 1];
    int64_t run = dims_product(x->dims, (uint32_t)depth, x->rank);
    int64_t n = dims_product(index->dims, 0, index->rank - 1);
    if (numel(u) != n * run)
        return clv__fail(k->e, CLV_SHAPE, "%lld updates, not %lld",
                         (long long)numel(u), (long long)(n * run));
    copy_run(y, 0, x, 0, numel(x));
    for (int64_t i = 0; i < n && clv__in_time(run); i++) {
        int64_t at;
        if (scatter_skips(k, x, index, i * depth, depth))
            continue;
        CLV_TRY(nd_offset(k, x, index, i * depth, depth, 0, &at));
        for (int64_t r = 0; r < run; r++)
            scatter_combine(y, at + r, u, i * run + r, scatter_reduction(k));
    }
    return CLV_OK;
}

/* -- slices and masks -----------------------------------------------------*/

static void start_from(kernel *k)
{
    copy_run(&k->out[0], 0, k->in[0], 0, numel(k->in[0]));
}

/* x, index (n), updates: whole slices are added. */
clv_status kernel_index_add(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = k->in[2];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(x, axis);
    int64_t n = numel(index);
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    start_from(k);
    for (int64_t i = 0; i < l.rows * n * l.step; i++) {
        int64_t r = i / (n * l.step), s = i % l.step, at;
        CLV_TRY(checked(k, get_i(index, i / l.step % n), l.n, &at));
        at = (r * l.n + at) * l.step + s;
        if (is_float(x->dtype))
            put_f(&k->out[0], at, get_f(&k->out[0], at) + alpha * get_f(u, i));
        else
            put_i(&k->out[0], at,
                  (int64_t)((uint64_t)get_i(&k->out[0], at) +
                            (uint64_t)to_int64(alpha) * (uint64_t)get_i(u, i)));
    }
    return CLV_OK;
}

/* Where the mask (broadcast) is true, the next element of input 2. */
clv_status kernel_masked_scatter(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1], *source = k->in[2];
    clv_tensor *y = &k->out[0];
    int64_t idx[CLV_MAX_RANK] = {0}, sx[CLV_MAX_RANK], sm[CLV_MAX_RANK];
    int64_t used = 0;
    broadcast_strides(x, y->rank, sx);
    broadcast_strides(mask, y->rank, sm);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        bool on = get_i(mask, offset_of(idx, sm, y->rank)) != 0;
        if (on && used >= numel(source))
            return clv__fail(k->e, CLV_SHAPE,
                             "more places than the %lld elements",
                             (long long)numel(source));
        if (on)
            copy_run(y, i, source, used++, 1);
        else
            copy_run(y, i, x, offset_of(idx, sx, y->rank), 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* One index of an axis replaced. */
clv_status kernel_select_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1];
    uint32_t axis;
    int64_t at;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    CLV_TRY(checked(k, attr_int(k->n, CLV_A_INDEX), l.n, &at));
    if (numel(u) != l.rows * l.step)
        return clv__fail(k->e, CLV_SHAPE, "the slice has another shape");
    start_from(k);
    for (int64_t r = 0; r < l.rows; r++)
        copy_run(&k->out[0], (r * l.n + at) * l.step, u, r * l.step, l.step);
    return CLV_OK;
}

/* start, start + step, .. of an axis replaced. */
clv_status kernel_slice_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1];
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    int64_t from = attr_int(k->n, CLV_A_START);
    int64_t step = attr_int(k->n, CLV_A_STEP);
    int64_t n = u->rank > axis ? u->dims[axis] : 0;
    from = from < 0 ? from + l.n : from;
    if (u->rank != k->in[0]->rank || from < 0 || step < 1 ||
        (n && from + (n - 1) * step >= l.n) || numel(u) != l.rows * n * l.step)
        return clv__fail(k->e, CLV_SHAPE, "the slice has another shape");
    start_from(k);
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t i = 0; i < n; i++)
            copy_run(&k->out[0], (r * l.n + from + i * step) * l.step, u,
                     (r * n + i) * l.step, l.step);
    return CLV_OK;
}

/* cache, update, where it begins for each of the batch; mode "circular" goes on
 * at the front when the end is reached. */
clv_status kernel_tensor_scatter(kernel *k)
{
    const clv_tensor *u = k->in[1], *at = input_of(k, 2);
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    lane l = lanes(k->in[0], axis);
    int64_t n = u->dims[axis], batch = k->in[0]->dims[0];
    bool circular = attr_is(k->n, CLV_A_MODE, "circular");
    start_from(k);
    for (int64_t i = 0; i < l.rows * n; i++) {
        int64_t to = at ? get_i(at, i / n / (l.rows / batch)) : 0;
        CLV_TRY(checked(k, circular && to > 0 ? to % l.n : to, l.n, &to));
        to += i % n;
        CLV_TRY(checked(k, circular ? to % l.n : to, l.n, &to));
        copy_run(&k->out[0], (i / n * l.n + to) * l.step, u, i * l.step,
                 l.step);
    }
    return CLV_OK;
}

/* fold_layout.c - folds operators that only move elements: views, slices,
 * joins, gathers, scatters. Most are one walk over the output with a stride per
 * axis of the source. */
#include "ops/fold.h"

#include "tensor/tensor.h"

#include <string.h>

/* out[at] = x[offset + sum(at * stride)] */
typedef struct strided {
    int64_t stride[CLV_MAX_RANK], offset;
} strided;

/* Computes the strides of v. They are 0 for a tensor without elements, whose
 * axes may be huge. */
static void fold_strides(const clv_value *v, int64_t *stride)
{
    int64_t step = clv__numel(v) ? 1 : 0;
    for (uint32_t i = v->rank; i-- > 0;) {
        stride[i] = step;
        step = sat_mul(step, v->dims[i]);
    }
}

static clv_status fold_strided(clv_graph *g, const clv_node *n, uint32_t o,
                               const known *x, const strided *s, clv_err *e)
{
    room r;
    CLV_TRY(fold_out(g, n, o, &r, e));
    if (room_none(&r))
        return CLV_OK;
    const clv_value *y = node_out(g, n, o);
    int64_t at[CLV_MAX_RANK] = {0};
    for (uint32_t i = 0; i < r.n; i++, fold_step(y, at)) {
        int64_t j = s->offset;
        for (uint32_t k = 0; k < y->rank; k++)
            j += at[k] * s->stride[k];
        if (j >= 0 && j < x->n)
            fold_copy(&r, i, x, (uint32_t)j);
    }
    return CLV_OK;
}

/* Gives the output the contents of x. */
static clv_status fold_layout_share(clv_graph *g, uint32_t out, const known *x,
                                    clv_err *e)
{
    clv_payload *data = clv__value_data(g, out);
    if (!data)
        return clv__nomem(e);
    data->ints = x->ints;
    data->floats = x->floats;
    data->n = x->n;
    return CLV_OK;
}

/* Element j of k as type t holds it: rounded, or wrapped. */
static void fold_as(const room *r, uint32_t i, const known *k, uint32_t j,
                    clv_dtype t)
{
    uint64_t cell = 0;
    clv_tensor one = {.dtype = t, .data = &cell};
    if (k->ints && r->ints)
        put_i(&one, 0, k->ints[j]);
    else
        put_f(&one, 0, known_float(k, j));
    if (r->ints)
        r->ints[i] = get_i(&one, 0);
    else
        r->floats[i] = get_f(&one, 0);
}

/* The same elements in the same order: reshape, squeeze, cast, identity. */
clv_status fold_same(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    room r;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    const clv_value *y = node_out(g, n, 0);
    clv_dtype t = (clv_dtype)y->dtype;
    if (y->dtype == x.v->dtype && y->rank != CLV_NO_RANK &&
        clv__numel(y) == x.n)
        return fold_layout_share(g, node_outs(g, n)[0], &x, e);
    if (is_float8(t)) /* attributes say how it rounds; no shape needs it */
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    for (uint32_t i = 0; !room_none(&r) && i < r.n && i < x.n; i++)
        fold_as(&r, i, &x, i, t);
    return CLV_OK;
}

clv_status fold_permute(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    int64_t from[CLV_MAX_RANK];
    fold_strides(x.v, from);
    strided s = {.offset = 0};
    uint32_t count, rank = x.v->rank;
    const int64_t *perm = attr_ints(n, CLV_A_PERM, &count);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t a = rank - 1u - i;
        if (perm && i < count)
            CLV_TRY(norm_axis(perm[i], rank, &a, e));
        s.stride[i] = from[a];
    }
    return fold_strided(g, n, 0, &x, &s, e);
}

/* Broadcast to the output's shape. */
clv_status fold_expand(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    const clv_value *y = node_out(g, n, 0);
    int64_t from[CLV_MAX_RANK];
    fold_strides(x.v, from);
    strided s = {.offset = 0};
    for (uint32_t i = 0; i < x.v->rank; i++)
        if (x.v->dims[i] != 1)
            s.stride[y->rank - x.v->rank + i] = from[i];
    return fold_strided(g, n, 0, &x, &s, e);
}

/* -- slices ---------------------------------------------------------------*/

clv_status fold_slice(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    int_list start, axes, step;
    if (!fold_in(g, n, 0, &x) ||
        get_ints(g, n, CLV_A_START, 1, &start, NULL) != CLV_OK ||
        get_ints(g, n, CLV_A_AXES, 3, &axes, NULL) != CLV_OK ||
        get_ints(g, n, CLV_A_STEP, 4, &step, NULL) != CLV_OK)
        return CLV_OK;
    strided s = {.offset = 0};
    int64_t from[CLV_MAX_RANK];
    fold_strides(x.v, from);
    memcpy(s.stride, from, sizeof from[0] * x.v->rank);
    for (uint32_t i = 0; i < start.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.n ? axes.v[i] : (int64_t)i, x.v->rank, &a, e));
        int64_t by = list_at(step.v, step.n, i);
        int64_t limit = by > 0 ? by : -by;
        if (limit > FOLD_MAX) /* at most one element: the stride is not used */
            by = 1;
        s.offset += slice_start(x.v->dims[a], start.v[i], by) * from[a];
        s.stride[a] = from[a] * by;
    }
    return fold_strided(g, n, 0, &x, &s, e);
}

clv_status fold_select(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    uint32_t axis;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x.v->rank, &axis, e));
    int64_t from[CLV_MAX_RANK] = {0}, at = attr_int(n, CLV_A_INDEX);
    fold_strides(x.v, from);
    strided s = {.offset = (at < 0 ? at + x.v->dims[axis] : at) * from[axis]};
    for (uint32_t i = 0, k = 0; i < x.v->rank; i++)
        if (i != axis)
            s.stride[k++] = from[i];
    return fold_strided(g, n, 0, &x, &s, e);
}

/* Folds a split: the parts follow each other along an axis. */
clv_status fold_split(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    uint32_t axis;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x.v->rank, &axis, e));
    strided s = {.offset = 0};
    fold_strides(x.v, s.stride);
    for (uint32_t o = 0; o < n->n_out; o++) {
        CLV_TRY(fold_strided(g, n, o, &x, &s, e));
        if (node_outs(g, n)[o] != CLV_NONE)
            s.offset += node_out(g, n, o)->dims[axis] * s.stride[axis];
    }
    return CLV_OK;
}

/* -- joins ----------------------------------------------------------------*/

/* Folds a concat along `axis`: element k of the output comes from the block of
 * one input. */
clv_status fold_cat(clv_graph *g, clv_node *n, clv_err *e)
{
    room r;
    uint32_t axis;
    if (!fold_ready(g, n, 0))
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    const clv_value *y = node_out(g, n, 0);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), y->rank, &axis, e));
    int64_t outer = dims_product(y->dims, 0, axis), at = 0;
    int64_t row = dims_product(y->dims, axis, y->rank);
    for (uint32_t i = 0; r.n && i < n->n_in; i++) {
        known x;
        (void)fold_in(g, n, i, &x);
        int64_t block = outer ? x.n / outer : 0;
        for (int64_t o = 0; o < outer; o++)
            for (int64_t k = 0; k < block; k++)
                if (o * row + at + k < r.n)
                    fold_copy(&r, (uint32_t)(o * row + at + k), &x,
                              (uint32_t)(o * block + k));
        at += block;
    }
    return CLV_OK;
}

/* -- by index -------------------------------------------------------------*/

/* x (A,S,B) by index (I) along the middle: (A,I,B) */
clv_status fold_index_select(clv_graph *g, clv_node *n, clv_err *e)
{
    known x, index;
    room r;
    uint32_t axis;
    if (!fold_in(g, n, 0, &x) || !fold_in(g, n, 1, &index) || !index.ints)
        return CLV_OK;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x.v->rank, &axis, e));
    CLV_TRY(fold_out(g, n, 0, &r, e));
    int64_t size = x.v->dims[axis];
    int64_t after = dims_product(x.v->dims, axis + 1, x.v->rank);
    for (uint32_t i = 0; !room_none(&r) && i < r.n && after > 0 && index.n;
         i++) {
        int64_t b = i % after, k = i / after % index.n;
        int64_t a = i / after / index.n, at = index.ints[k];
        at = at < 0 ? at + size : at;
        int64_t j = (a * size + at) * after + b;
        if (at >= 0 && at < size && j < x.n)
            fold_copy(&r, i, &x, (uint32_t)j);
    }
    return CLV_OK;
}

/* Each row of the index holds coordinates into x; slices of `inner` elements
 * come along. */
clv_status fold_gather_nd(clv_graph *g, clv_node *n, clv_err *e)
{
    known x, index;
    room r;
    if (!fold_in(g, n, 0, &x) || !fold_in(g, n, 1, &index) || !index.ints ||
        attr_int(n, CLV_A_BATCH_DIMS) || index.v->rank == 0)
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    int64_t depth = index.v->dims[index.v->rank - 1], from[CLV_MAX_RANK];
    int64_t inner = dims_product(x.v->dims, (uint32_t)depth, x.v->rank);
    fold_strides(x.v, from);
    for (uint32_t i = 0; !room_none(&r) && i < r.n && inner > 0; i++) {
        int64_t j = i % inner, row = i / inner;
        for (int64_t k = 0; k < depth && row * depth + k < index.n; k++) {
            int64_t at = index.ints[row * depth + k];
            int64_t size = x.v->dims[k];
            at = at < 0 ? at + size : at;
            j += (at < 0 || at >= size ? 0 : at) * from[k];
        }
        if (j < x.n)
            fold_copy(&r, i, &x, (uint32_t)j);
    }
    return CLV_OK;
}

clv_status fold_scatter_nd(clv_graph *g, clv_node *n, clv_err *e)
{
    known x, index, from;
    room r;
    if (!fold_in(g, n, 0, &x) || !fold_in(g, n, 1, &index) ||
        !fold_in(g, n, 2, &from) || !index.ints || index.v->rank == 0 ||
        attr_get(n, CLV_A_REDUCTION))
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    int64_t depth = index.v->dims[index.v->rank - 1], step[CLV_MAX_RANK];
    bool skips = attr_is(n, CLV_A_OUTSIDE, "skip");
    if (r.n == 0 || depth < 1 || depth > x.v->rank)
        return CLV_OK;
    int64_t inner = dims_product(x.v->dims, (uint32_t)depth, x.v->rank);
    fold_strides(x.v, step);
    for (uint32_t i = 0; i < r.n && i < x.n; i++)
        fold_copy(&r, i, &x, i);
    for (int64_t row = 0; row < index.n / depth; row++) {
        int64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t j = index.ints[row * depth + k], size = x.v->dims[k];
            j = j < 0 && !skips ? j + size : j;
            at += j < 0 || j >= size ? r.n : j * step[k]; /* r.n: nowhere */
        }
        for (int64_t k = 0; k < inner; k++)
            if (at + k < r.n && row * inner + k < from.n)
                fold_copy(&r, (uint32_t)(at + k), &from,
                          (uint32_t)(row * inner + k));
    }
    return CLV_OK;
}

/* Puts whole copies side by side along each axis. */
clv_status fold_repeat(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    room r;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    const clv_value *y = node_out(g, n, 0);
    int64_t at[CLV_MAX_RANK] = {0}, from[CLV_MAX_RANK];
    fold_strides(x.v, from);
    for (uint32_t i = 0; !room_none(&r) && i < r.n; i++, fold_step(y, at)) {
        int64_t j = 0;
        for (uint32_t k = 0; k < x.v->rank; k++)
            j += at[y->rank - x.v->rank + k] % x.v->dims[k] * from[k];
        fold_copy(&r, i, &x, (uint32_t)j);
    }
    return CLV_OK;
}

/* -- nonzero --------------------------------------------------------------*/

/* Folds nonzero. For known contents the shape is exact too. */
clv_status fold_nonzero(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    if (!fold_in(g, n, 0, &x))
        return CLV_OK;
    int64_t count = 0, rank = x.v->rank;
    for (uint32_t i = 0; i < x.n; i++)
        count += known_float(&x, i) != 0;
    bool across = attr_int(n, CLV_A_BY_AXIS);
    int64_t dims[2] = {across ? rank : count, across ? count : rank};
    CLV_TRY(out_shape(g, n, 0, CLV_INT64, 2, dims, e));
    node_out(g, n, 0)->flags &= (uint8_t)~CLV_V_BOUND;
    room r;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    int64_t at[CLV_MAX_RANK] = {0}, found = 0;
    for (uint32_t i = 0; r.ints && i < x.n; i++, fold_step(x.v, at)) {
        if (known_float(&x, i) == 0)
            continue;
        for (int64_t k = 0; k < rank; k++)
            r.ints[across ? k * count + found : found * rank + k] = at[k];
        found++;
    }
    return CLV_OK;
}

/* Folds compress. For a known mask at least the shape is exact. */
clv_status fold_compress(clv_graph *g, clv_node *n, clv_err *e)
{
    known mask;
    uint32_t axis = 0;
    if (!fold_in(g, n, 1, &mask))
        return CLV_OK;
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    int64_t dims[CLV_MAX_RANK], count = 0;
    bool flat = !attr_get(n, CLV_A_AXIS);
    if (!flat)
        CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    int64_t size = flat ? clv__numel(x) : x->dims[axis];
    memcpy(dims, y->dims, y->rank * sizeof *dims);
    for (uint32_t i = 0; i < mask.n && i < size; i++)
        count += known_float(&mask, i) != 0;
    dims[axis] = count;
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, y->rank, dims, e));
    node_out(g, n, 0)->flags &= (uint8_t)~CLV_V_BOUND;
    return CLV_OK;
}

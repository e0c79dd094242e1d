/* index.c - slices at places that are computed, gather, scatter.
 *
 * A gather picks windows of x: for each position of the batch an index vector
 * says where one starts. Its common form, whole rows along one axis, is an
 * index_select. Any other one is a gather_nd of x with the axes that have an
 * index in front, and one index per element of the window along these:
 *
 *     x (D.., rest..)   indices (batch.., window.., D)  ->
 *                                          (batch.., window.., rest..)
 *
 * A scatter puts windows the same way. Starts are clamped so that windows lie
 * inside, as StableHLO wants it of all but scatters, where windows outside do
 * nothing; here they are an error when the model runs. */
#include "formats/stablehlo/hlo.h"

#include <string.h>

/* -- computed slices ------------------------------------------------------*/

/* start, clamped to 0 .. most. Known starts give a known result. */
static clv_status index_clamp(hlo_scope *s, uint32_t start, int64_t most,
                              uint32_t *y, clv_err *e)
{
    uint32_t n, ins[3] = {start};
    const int64_t *known = hlo_known(s, start, &n);
    bool inside = known != NULL;
    for (uint32_t i = 0; inside && i < n; i++)
        inside = known[i] >= 0 && known[i] <= most;
    *y = start;
    if (inside)
        return CLV_OK;
    clv_dtype t = (clv_dtype)hlo_value(s, start)->dtype;
    CLV_TRY(hlo_const_int(s, t, 0, &ins[1], e));
    CLV_TRY(hlo_const_int(s, t, most, &ins[2], e));
    return hlo_emit(s, "clamp", CLV_OP_CLAMP, ins, 3, NULL, 0, y, 1, e);
}

/* start .. start + size - 1 as a list */
static clv_status index_run(hlo_scope *s, uint32_t start, int64_t size,
                            uint32_t *y, clv_err *e)
{
    int64_t one = 1;
    uint32_t range;
    if (size == 1)
        return hlo_reshape(s, start, &one, 1, y, e);
    CLV_TRY(
        hlo_range(s, size, (clv_dtype)hlo_value(s, start)->dtype, &range, e));
    return hlo_binary(s, "places", CLV_OP_ADD, start, range, y, e);
}

/* x along one axis from `start` on. */
static clv_status index_slice(hlo_scope *s, uint32_t x, uint32_t axis,
                              uint32_t start, int64_t size, uint32_t *y,
                              clv_err *e)
{
    int64_t dim = hlo_value(s, x)->dims[axis];
    uint32_t n;
    *y = x;
    if (size == dim)
        return CLV_OK;
    if (size < 0 || size > dim)
        return hlo_fail(s, e, "a slice of %lld of %lld", (long long)size,
                        (long long)dim);
    const int64_t *known = hlo_known(s, start, &n);
    if (known && n == 1) {
        int64_t from = known[0] < 0            ? 0
                       : known[0] > dim - size ? dim - size
                                               : known[0];
        return hlo_slice(s, x, axis, from, from + size, y, e);
    }
    uint32_t ins[2] = {x};
    CLV_TRY(index_clamp(s, start, dim - size, &start, e));
    CLV_TRY(index_run(s, start, size, &ins[1], e));
    clv_attr a = hlo_int(CLV_A_AXIS, axis);
    return hlo_emit(s, "", CLV_OP_INDEX_SELECT, ins, 2, &a, 1, y, 1, e);
}

clv_status hlo_map_dynamic_slice(hlo_scope *s, const hlo_row *row,
                                 const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x, start, n;
    int64_t sizes[CLV_MAX_RANK];
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    uint32_t rank = hlo_value(s, x)->rank;
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "slice_sizes", "sizes"), sizes,
                     CLV_MAX_RANK, &n, e));
    if (n != rank || op->n_ins != rank + 1)
        return hlo_fail(s, e, "%u sizes and %u starts for %u axes", n,
                        op->n_ins - 1, rank);
    for (uint32_t i = 0; i < rank; i++) {
        CLV_TRY(hlo_in(s, i + 1, &start, e));
        CLV_TRY(index_slice(s, x, i, start, sizes[i], &x, e));
    }
    *outs = x;
    return CLV_OK;
}

/* x with u in its place along one axis, from `start` on. */
static clv_status index_put_axis(hlo_scope *s, uint32_t x, uint32_t u,
                                 uint32_t axis, uint32_t start, uint32_t *y,
                                 clv_err *e)
{
    const clv_value v = *hlo_value(s, x);
    int64_t size = hlo_value(s, u)->dims[axis], dim = v.dims[axis];
    uint32_t n, ins[3];
    const int64_t *known = hlo_known(s, start, &n);
    if (known && n == 1) {
        int64_t from = known[0] < 0            ? 0
                       : known[0] > dim - size ? dim - size
                                               : known[0];
        ins[0] = x;
        ins[1] = u;
        clv_attr a[3] = {hlo_int(CLV_A_AXIS, axis), hlo_int(CLV_A_START, from),
                         hlo_int(CLV_A_END, from + size)};
        return hlo_emit(s, "", CLV_OP_SLICE_SCATTER, ins, 2, a, 3, y, 1, e);
    }
    int64_t perm[CLV_MAX_RANK], back[CLV_MAX_RANK], places[2] = {size, 1};
    perm[0] = axis;
    for (uint32_t i = 0, k = 1; i < v.rank; i++)
        if (i != axis)
            perm[k++] = i;
    for (uint32_t i = 0; i < v.rank; i++)
        back[perm[i]] = i;
    CLV_TRY(index_clamp(s, start, dim - size, &start, e));
    CLV_TRY(hlo_permute(s, x, perm, &ins[0], e));
    CLV_TRY(index_run(s, start, size, &ins[1], e));
    CLV_TRY(hlo_reshape(s, ins[1], places, 2, &ins[1], e));
    CLV_TRY(hlo_cast(s, ins[1], CLV_INT64, &ins[1], e));
    CLV_TRY(hlo_permute(s, u, perm, &ins[2], e));
    CLV_TRY(hlo_emit(s, "", CLV_OP_SCATTER_ND, ins, 3, NULL, 0, y, 1, e));
    return hlo_permute(s, *y, back, y, e);
}

/* Along several axes: u is put into the slice of x along the first of them,
 * then that into x. */
static clv_status index_update(hlo_scope *s, uint32_t x, uint32_t u,
                               uint32_t axis, uint32_t *y, clv_err *e)
{
    uint32_t rank = hlo_value(s, x)->rank, start, inner;
    while (axis < rank &&
           hlo_value(s, u)->dims[axis] == hlo_value(s, x)->dims[axis])
        axis++;
    *y = u;
    if (axis == rank)
        return CLV_OK;
    int64_t size = hlo_value(s, u)->dims[axis];
    if (size > hlo_value(s, x)->dims[axis])
        return hlo_fail(s, e, "an update larger than what it is put into");
    CLV_TRY(hlo_in(s, 2 + axis, &start, e));
    uint32_t next = axis + 1;
    while (next < rank &&
           hlo_value(s, u)->dims[next] == hlo_value(s, x)->dims[next])
        next++;
    inner = u;
    if (next < rank) {
        CLV_TRY(index_slice(s, x, axis, start, size, &inner, e));
        CLV_TRY(index_update(s, inner, u, next, &inner, e));
    }
    return index_put_axis(s, x, inner, axis, start, y, e);
}

clv_status hlo_map_dynamic_update_slice(hlo_scope *s, const hlo_row *row,
                                        const mlir_op *op, uint32_t *outs,
                                        clv_err *e)
{
    uint32_t x, u;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_in(s, 1, &u, e));
    uint32_t rank = hlo_value(s, x)->rank;
    if (hlo_value(s, u)->rank != rank || op->n_ins != rank + 2)
        return hlo_fail(s, e, "%u starts for %u axes", op->n_ins - 2, rank);
    return index_update(s, x, u, 0, outs, e);
}

/* -- windows --------------------------------------------------------------*/

enum { INDEX_NONE = -1 };

/* What a gather or a scatter says of the axes of x. */
typedef struct picks {
    uint32_t rank, n_batch;
    int64_t window[CLV_MAX_RANK]; /* its size along each axis */
    int component[CLV_MAX_RANK];  /* of the index vector, or INDEX_NONE */
    int batch[CLV_MAX_RANK];      /* axis of the batch, or INDEX_NONE */
    bool dropped[CLV_MAX_RANK];   /* the window has no such axis */
    bool listed[CLV_MAX_RANK];    /* it needs an index */
    int64_t sizes[CLV_MAX_RANK];  /* of the batch */
    uint32_t indices;             /* (batch.., components) */
} picks;

/* A member of the dimension numbers. */
static clv_status picks_list(hlo_scope *s, const mlir_attr *dims,
                             const char *name, int64_t *out, uint32_t *n,
                             clv_err *e)
{
    return hlo_list(s, mlir_attr_of(dims->items, name, NULL), out, CLV_MAX_RANK,
                    n, e);
}

static clv_status picks_mark(hlo_scope *s, const picks *p,
                             const mlir_attr *dims, const char *name,
                             bool *marks, clv_err *e)
{
    int64_t list[CLV_MAX_RANK];
    uint32_t n;
    CLV_TRY(picks_list(s, dims, name, list, &n, e));
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] >= p->rank)
            return hlo_fail(s, e, "%s: axis %lld of %u", name,
                            (long long)list[i], p->rank);
        marks[list[i]] = true;
    }
    return CLV_OK;
}

/* Puts the index vectors last, and notes the sizes of the batch. */
static clv_status picks_indices(hlo_scope *s, picks *p, const mlir_attr *dims,
                                uint32_t indices, int64_t *vector, clv_err *e)
{
    const mlir_attr *at = mlir_attr_of(dims->items, "index_vector_dim", NULL);
    const clv_value v = *hlo_value(s, indices);
    int64_t perm[CLV_MAX_RANK], one[CLV_MAX_RANK];
    *vector = at ? at->i : 0;
    if (*vector < 0 || *vector > v.rank || v.rank == CLV_MAX_RANK)
        return hlo_fail(s, e, "indices of %u axes, the vector is axis %lld",
                        v.rank, (long long)*vector);
    p->n_batch = 0;
    for (uint32_t i = 0; i < v.rank; i++)
        if ((int64_t)i != *vector) {
            perm[p->n_batch] = i;
            p->sizes[p->n_batch++] = v.dims[i];
        }
    if (*vector == v.rank) {
        memcpy(one, v.dims, v.rank * sizeof *one);
        one[v.rank] = 1;
        return hlo_reshape(s, indices, one, v.rank + 1u, &p->indices, e);
    }
    perm[v.rank - 1u] = *vector;
    return hlo_permute(s, indices, perm, &p->indices, e);
}

/* Axes of x that go with axes of the indices. */
static clv_status picks_batches(hlo_scope *s, picks *p, const mlir_attr *dims,
                                const char *of_x, const char *of_indices,
                                int64_t vector, clv_err *e)
{
    int64_t a[CLV_MAX_RANK], b[CLV_MAX_RANK];
    uint32_t n, m;
    CLV_TRY(picks_list(s, dims, of_x, a, &n, e));
    CLV_TRY(picks_list(s, dims, of_indices, b, &m, e));
    if (n != m)
        return hlo_fail(s, e, "%u batching axes of x, %u of the indices", n, m);
    for (uint32_t i = 0; i < n; i++) {
        int64_t k = b[i] > vector ? b[i] - 1 : b[i];
        if (a[i] < 0 || a[i] >= p->rank || k < 0 || k >= p->n_batch)
            return hlo_fail(s, e, "a batching axis that is not there");
        p->batch[a[i]] = (int)k;
        p->dropped[a[i]] = true;
    }
    return CLV_OK;
}

static clv_status picks_components(hlo_scope *s, picks *p,
                                   const mlir_attr *dims, const char *name,
                                   clv_err *e)
{
    int64_t list[CLV_MAX_RANK];
    uint32_t n;
    CLV_TRY(picks_list(s, dims, name, list, &n, e));
    if ((int64_t)n != hlo_value(s, p->indices)->dims[p->n_batch])
        return hlo_fail(s, e, "index vectors of another length than %u", n);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] >= p->rank)
            return hlo_fail(s, e, "%s: axis %lld of %u", name,
                            (long long)list[i], p->rank);
        p->component[list[i]] = (int)i;
    }
    return CLV_OK;
}

static void picks_start(picks *p, uint32_t rank)
{
    *p = (picks){.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        p->component[i] = p->batch[i] = INDEX_NONE;
}

/* Which axes need an index; false where a window does not fit. */
static bool picks_finish(const hlo_scope *s, picks *p, uint32_t x)
{
    const clv_value *v = hlo_value(s, x);
    for (uint32_t i = 0; i < p->rank; i++) {
        if (p->window[i] < 0 || p->window[i] > v->dims[i] ||
            (p->dropped[i] && p->window[i] > 1))
            return false;
        p->listed[i] = p->component[i] >= 0 || p->batch[i] >= 0 ||
                       p->dropped[i] || p->window[i] < v->dims[i];
    }
    return true;
}

/* Whether axis i has an index and an axis in the window. */
static bool picks_opens(const picks *p, uint32_t i)
{
    return p->listed[i] && !p->dropped[i];
}

/* v, a tensor along axis `at` of (batch.., window..), in that many axes. */
static clv_status picks_along(hlo_scope *s, uint32_t v, uint32_t at,
                              uint32_t rank, uint32_t *y, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == at ? hlo_value(s, v)->dims[0] : 1;
    return hlo_reshape(s, v, dims, rank, y, e);
}

/* The index along axis i for each element of (batch.., window..). */
static clv_status picks_index(hlo_scope *s, const picks *p, uint32_t i,
                              uint32_t opened, const int64_t *all,
                              uint32_t rank, int64_t most, bool clamp,
                              uint32_t *y, clv_err *e)
{
    clv_dtype t = (clv_dtype)hlo_value(s, p->indices)->dtype;
    int64_t dims[CLV_MAX_RANK], last[CLV_MAX_RANK];
    uint32_t base, run;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = d < p->n_batch ? p->sizes[d] : 1;
    if (p->component[i] >= 0) {
        CLV_TRY(hlo_slice(s, p->indices, p->n_batch, p->component[i],
                          p->component[i] + 1, &base, e));
        if (clamp)
            CLV_TRY(index_clamp(s, base, most, &base, e));
        CLV_TRY(hlo_reshape(s, base, dims, rank, &base, e));
    } else if (p->batch[i] >= 0) {
        CLV_TRY(hlo_range(s, p->sizes[p->batch[i]], t, &base, e));
        CLV_TRY(picks_along(s, base, (uint32_t)p->batch[i], rank, &base, e));
    } else {
        CLV_TRY(hlo_const_int(s, t, 0, &base, e));
    }
    if (picks_opens(p, i) && p->window[i] > 1) {
        CLV_TRY(hlo_range(s, p->window[i], t, &run, e));
        CLV_TRY(picks_along(s, run, opened, rank, &run, e));
        CLV_TRY(hlo_binary(s, "places", CLV_OP_ADD, base, run, &base, e));
    }
    CLV_TRY(hlo_expand(s, base, all, rank, &base, e));
    memcpy(last, all, rank * sizeof *last);
    last[rank] = 1;
    return hlo_reshape(s, base, last, rank + 1, y, e);
}

/* Indices (batch.., window.., listed axes). */
static clv_status picks_all(hlo_scope *s, const picks *p, uint32_t x,
                            bool clamp, uint32_t *y, clv_err *e)
{
    int64_t all[CLV_MAX_RANK];
    uint32_t rank = p->n_batch, parts[CLV_MAX_RANK] = {0}, n = 0;
    uint32_t opened;
    memcpy(all, p->sizes, rank * sizeof *all);
    for (uint32_t i = 0; i < p->rank; i++)
        if (picks_opens(p, i)) {
            if (rank + 1 >= CLV_MAX_RANK)
                return hlo_fail(s, e, "indices of %u axes", rank);
            all[rank++] = p->window[i];
        }
    opened = p->n_batch;
    for (uint32_t i = 0; i < p->rank; i++) {
        if (!p->listed[i])
            continue;
        int64_t most = hlo_value(s, x)->dims[i] - p->window[i];
        CLV_TRY(picks_index(s, p, i, opened, all, rank, most, clamp,
                            &parts[n++], e));
        opened += picks_opens(p, i);
    }
    *y = parts[0];
    clv_attr a = hlo_int(CLV_A_AXIS, rank);
    if (n > 1)
        CLV_TRY(hlo_emit(s, "indices", CLV_OP_CAT, parts, n, &a, 1, y, 1, e));
    return hlo_cast(s, *y, CLV_INT64, y, e);
}

/* Axes with an index in front. */
static void picks_order(const picks *p, int64_t *perm)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->listed[i])
            perm[k++] = i;
    for (uint32_t i = 0; i < p->rank; i++)
        if (!p->listed[i])
            perm[k++] = i;
}

/* Where each axis of a whole result (or of updates) is in (batch.., window..,
 * rest..): `offsets` are the axes of the window in it. */
static clv_status picks_layout(hlo_scope *s, const picks *p,
                               const int64_t *offsets, uint32_t n_offsets,
                               uint32_t rank, int64_t *at, clv_err *e)
{
    int64_t shown[CLV_MAX_RANK];
    uint32_t n = 0, next = p->n_batch, batch = 0, k = 0;
    bool is_window[CLV_MAX_RANK] = {false};
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < p->rank; i++)
            if (!p->dropped[i] && p->listed[i] == (pass == 0))
                shown[i] = next++;
    for (uint32_t i = 0; i < n_offsets; i++) {
        if (offsets[i] < 0 || offsets[i] >= rank || is_window[offsets[i]])
            return hlo_fail(s, e, "axis %lld of %u", (long long)offsets[i],
                            rank);
        is_window[offsets[i]] = true;
    }
    for (uint32_t i = 0; i < p->rank; i++)
        if (!p->dropped[i])
            shown[n++] = shown[i];
    if (n != n_offsets || n + p->n_batch != rank)
        return hlo_fail(s, e, "%u axes of windows and %u of the batch for %u",
                        n, p->n_batch, rank);
    for (uint32_t i = 0; i < rank; i++)
        at[i] = is_window[i] ? shown[k++] : (int64_t)batch++;
    return CLV_OK;
}

/* -- gather ---------------------------------------------------------------*/

/* Whole rows along one axis: the axis, or CLV_NONE. */
static uint32_t gather_axis(const hlo_scope *s, const picks *p, uint32_t x)
{
    uint32_t axis = CLV_NONE;
    for (uint32_t i = 0; i < p->rank; i++) {
        if (!p->listed[i])
            continue;
        if (axis != CLV_NONE || p->component[i] < 0 || !p->dropped[i])
            return CLV_NONE;
        axis = i;
    }
    return hlo_value(s, p->indices)->dims[p->n_batch] == 1 &&
                   hlo_value(s, x)->rank + p->n_batch <= CLV_MAX_RANK
               ? axis
               : CLV_NONE;
}

static clv_status gather_rows(hlo_scope *s, const picks *p, uint32_t x,
                              uint32_t axis, uint32_t *y, clv_err *e)
{
    uint32_t ins[2] = {x};
    const clv_value v = *hlo_value(s, x);
    int64_t perm[CLV_MAX_RANK];
    CLV_TRY(hlo_reshape(s, p->indices, p->sizes, p->n_batch, &ins[1], e));
    CLV_TRY(index_clamp(s, ins[1], v.dims[axis] - 1, &ins[1], e));
    bool table = axis == 0 && v.rank == 2 && value_is_fixed(&v);
    clv_attr a = hlo_int(CLV_A_AXIS, axis);
    CLV_TRY(hlo_emit(s, "", table ? CLV_OP_EMBEDDING : CLV_OP_INDEX_SELECT, ins,
                     2, &a, table ? 0 : 1, y, 1, e));
    for (uint32_t i = 0; i < p->n_batch; i++) /* the batch comes first */
        perm[i] = axis + i;
    for (uint32_t i = 0, k = p->n_batch; i + 1 < v.rank; i++)
        perm[k++] = i < axis ? i : i + p->n_batch;
    return hlo_permute(s, *y, perm, y, e);
}

static clv_status gather_read(hlo_scope *s, const mlir_op *op, picks *p,
                              uint32_t x, const mlir_attr *dims, clv_err *e)
{
    uint32_t indices, sizes, n;
    int64_t vector;
    CLV_TRY(hlo_in(s, 1, &indices, e));
    picks_start(p, hlo_value(s, x)->rank);
    if (op->n_ins > 2) { /* of a dynamic one */
        CLV_TRY(hlo_in(s, 2, &sizes, e));
        const int64_t *known = hlo_known(s, sizes, &n);
        if (known && n == p->rank && n)
            memcpy(p->window, known, n * sizeof *known);
    } else {
        CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "slice_sizes", NULL),
                         p->window, CLV_MAX_RANK, &n, e));
    }
    if (n != p->rank)
        return hlo_fail(s, e, "%u slice sizes for %u axes", n, p->rank);
    CLV_TRY(picks_indices(s, p, dims, indices, &vector, e));
    CLV_TRY(picks_mark(s, p, dims, "collapsed_slice_dims", p->dropped, e));
    CLV_TRY(picks_batches(s, p, dims, "operand_batching_dims",
                          "start_indices_batching_dims", vector, e));
    return picks_components(s, p, dims, "start_index_map", e);
}

clv_status hlo_map_gather(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                          uint32_t *outs, clv_err *e)
{
    const mlir_attr *dims = mlir_attr_of(op->attrs, "dimension_numbers", NULL);
    int64_t offsets[CLV_MAX_RANK], at[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    picks p;
    uint32_t x, n, y, ins[2];
    CLV_TRY(hlo_in(s, 0, &x, e));
    if (!dims || dims->kind != MLIR_DICT || !hlo_type(op, 0))
        return hlo_fail(s, e, "no dimension numbers");
    CLV_TRY(gather_read(s, op, &p, x, dims, e));
    CLV_TRY(picks_list(s, dims, "offset_dims", offsets, &n, e));
    if (!picks_finish(s, &p, x))
        return hlo_fail(s, e, "slices larger than what they are of");
    uint32_t axis = gather_axis(s, &p, x);
    bool any = false;
    for (uint32_t i = 0; i < p.rank; i++)
        any |= p.listed[i];
    if (!any) { /* all of it, everywhere the same */
        return CLV_OK;
    }
    CLV_TRY(picks_layout(s, &p, offsets, n, hlo_type(op, 0)->rank, at, e));
    if (axis != CLV_NONE) {
        CLV_TRY(gather_rows(s, &p, x, axis, &y, e));
    } else {
        picks_order(&p, perm);
        CLV_TRY(picks_all(s, &p, x, true, &ins[1], e));
        CLV_TRY(hlo_permute(s, x, perm, &ins[0], e));
        CLV_TRY(hlo_emit(s, "", row->op, ins, 2, NULL, 0, &y, 1, e));
    }
    return hlo_permute(s, y, at, outs, e);
}

/* -- scatter --------------------------------------------------------------*/

/* What the region does with an old and a new element. */
static const char *scatter_how(const hlo_scope *s, const mlir_region *region,
                               clv_dtype t)
{
    const mlir_op *end = region->ops;
    if (region->n_args == 2 && end && !end->next && end->n_ins == 1 &&
        mlir_same(end->ins[0].name, region->args->next->name))
        return "none";
    switch (hlo_region_op(s, region, t)) {
    case CLV_OP_ADD:
        return "add";
    case CLV_OP_MUL:
        return "mul";
    case CLV_OP_MAXIMUM:
        return "max";
    case CLV_OP_MINIMUM:
        return "min";
    default:
        return NULL;
    }
}

/* The window is as large as the updates say. */
static clv_status scatter_windows(hlo_scope *s, picks *p, uint32_t updates,
                                  const int64_t *axes, uint32_t n, clv_err *e)
{
    const clv_value *u = hlo_value(s, updates);
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->rank; i++) {
        p->window[i] = 1;
        if (p->dropped[i])
            continue;
        if (k == n || axes[k] < 0 || axes[k] >= u->rank)
            return hlo_fail(s, e, "updates without an axis of the window");
        p->window[i] = u->dims[axes[k++]];
    }
    return CLV_OK;
}

clv_status hlo_map_scatter(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    const mlir_attr *dims =
        mlir_attr_of(op->attrs, "scatter_dimension_numbers", NULL);
    int64_t axes[CLV_MAX_RANK], at[CLV_MAX_RANK], perm[CLV_MAX_RANK], vector;
    int64_t back[CLV_MAX_RANK], inverse[CLV_MAX_RANK];
    picks p;
    uint32_t x, indices, updates, n, y, ins[3];
    if (op->n_ins != 3 || op->n_regions != 1)
        return CLV_OK; /* of several tensors at once */
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_in(s, 1, &indices, e));
    CLV_TRY(hlo_in(s, 2, &updates, e));
    const char *how =
        scatter_how(s, op->regions, (clv_dtype)hlo_value(s, x)->dtype);
    if (!how)
        return CLV_OK;
    if (!dims || dims->kind != MLIR_DICT)
        return hlo_fail(s, e, "no dimension numbers");
    picks_start(&p, hlo_value(s, x)->rank);
    CLV_TRY(picks_indices(s, &p, dims, indices, &vector, e));
    CLV_TRY(picks_mark(s, &p, dims, "inserted_window_dims", p.dropped, e));
    CLV_TRY(picks_batches(s, &p, dims, "input_batching_dims",
                          "scatter_indices_batching_dims", vector, e));
    CLV_TRY(picks_components(s, &p, dims, "scatter_dims_to_operand_dims", e));
    CLV_TRY(picks_list(s, dims, "update_window_dims", axes, &n, e));
    CLV_TRY(scatter_windows(s, &p, updates, axes, n, e));
    if (!picks_finish(s, &p, x))
        return hlo_fail(s, e, "updates larger than what they are put into");
    bool any = false;
    for (uint32_t i = 0; i < p.rank; i++)
        any |= p.listed[i];
    if (!any)
        return CLV_OK;
    uint32_t rank = hlo_value(s, updates)->rank;
    CLV_TRY(picks_layout(s, &p, axes, n, rank, at, e));
    for (uint32_t i = 0; i < rank; i++)
        inverse[at[i]] = i;
    picks_order(&p, perm);
    for (uint32_t i = 0; i < p.rank; i++)
        back[perm[i]] = i;
    CLV_TRY(hlo_permute(s, x, perm, &ins[0], e));
    CLV_TRY(picks_all(s, &p, x, false, &ins[1], e));
    CLV_TRY(hlo_permute(s, updates, inverse, &ins[2], e));
    clv_attr a[2] = {hlo_str(CLV_A_OUTSIDE, "skip"),
                     hlo_str(CLV_A_REDUCTION, how)};
    CLV_TRY(hlo_emit(s, "", row->op, ins, 3, a, strcmp(how, "none") ? 2 : 1, &y,
                     1, e));
    return hlo_permute(s, y, back, outs, e);
}

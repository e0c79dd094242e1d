/* shape.c - operations that move elements, or make them of nothing.
 *
 * Sizes that the text leaves open (?) are those of the operands, or contents
 * of an operand that says them; those are known, as sizes of inputs are. */
#include "formats/stablehlo/hlo.h"

#include <string.h>

/* The sizes of result 0: as its type has them, and where it leaves them open
 * those that operand `i` lists (CLV_NONE: there is none). */
static clv_status shape_sizes(hlo_scope *s, const mlir_op *op, uint32_t i,
                              int64_t *dims, uint32_t *rank, clv_err *e)
{
    const mlir_type *t = hlo_type(op, 0);
    const int64_t *known = NULL;
    uint32_t v, n = 0;
    if (!t || t->kind != MLIR_TENSOR)
        return hlo_fail(s, e, "a result that is no tensor");
    if (i != CLV_NONE) {
        CLV_TRY(hlo_in(s, i, &v, e));
        known = hlo_known(s, v, &n);
    }
    *rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++) {
        dims[d] = t->dims[d] >= 0 ? t->dims[d] : -1;
        if (known && n == t->rank)
            dims[d] = known[d];
        else if (dims[d] < 0 && t->bounds && t->bounds[d] >= 0)
            dims[d] = t->bounds[d];
        if (dims[d] < 0)
            return hlo_fail(s, e, "size %u of the result is not known", d);
    }
    return CLV_OK;
}

/* -- views ----------------------------------------------------------------*/

clv_status hlo_map_reshape(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    const mlir_type *t = hlo_type(op, 0);
    uint32_t x, rank, open = 0;
    int64_t dims[CLV_MAX_RANK];
    CLV_TRY(hlo_in(s, 0, &x, e));
    for (uint32_t i = 0; t && i < t->rank; i++)
        open += t->dims[i] < 0;
    if (t && op->n_ins == 1 && open == 1) { /* follows from the others */
        rank = t->rank;
        memcpy(dims, t->dims, rank * sizeof *dims);
    } else {
        CLV_TRY(
            shape_sizes(s, op, op->n_ins > 1 ? 1 : CLV_NONE, dims, &rank, e));
    }
    clv_attr a[2] = {hlo_ints(CLV_A_SHAPE, dims, rank),
                     hlo_int(CLV_A_ALLOWZERO, open != 1)};
    return hlo_emit(s, "", row->op, &x, 1, a, 2, outs, 1, e);
}

/* x with axis i at axis at[i] of the result, and its sizes repeated. */
static clv_status shape_broadcast(hlo_scope *s, uint32_t x, const int64_t *at,
                                  const int64_t *dims, uint32_t rank,
                                  uint32_t *y, clv_err *e)
{
    uint32_t n = hlo_value(s, x)->rank;
    int64_t perm[CLV_MAX_RANK] = {0}, ones[CLV_MAX_RANK];
    bool used[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] >= rank || used[at[i]])
            return hlo_fail(s, e, "axis %lld of %u", (long long)at[i], rank);
        used[at[i]] = true;
    }
    for (uint32_t d = 0, k = 0; d < rank; d++)
        for (uint32_t i = 0; i < n; i++)
            if (at[i] == (int64_t)d)
                perm[k++] = i;
    CLV_TRY(hlo_permute(s, x, perm, &x, e));
    const clv_value *v = hlo_value(s, x);
    for (uint32_t d = 0, k = 0; d < rank; d++)
        ones[d] = used[d] ? v->dims[k++] : 1;
    if (n && n != rank)
        CLV_TRY(hlo_reshape(s, x, ones, rank, &x, e));
    return hlo_expand(s, x, dims, rank, y, e);
}

clv_status hlo_map_broadcast_in_dim(hlo_scope *s, const hlo_row *row,
                                    const mlir_op *op, uint32_t *outs,
                                    clv_err *e)
{
    uint32_t x, rank, n;
    int64_t dims[CLV_MAX_RANK], at[CLV_MAX_RANK];
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "broadcast_dimensions", "dims"),
                     at, CLV_MAX_RANK, &n, e));
    CLV_TRY(shape_sizes(s, op, op->n_ins > 1 ? 1 : CLV_NONE, dims, &rank, e));
    if (n != hlo_value(s, x)->rank)
        return hlo_fail(s, e, "%u axes for a tensor of %u", n,
                        hlo_value(s, x)->rank);
    return shape_broadcast(s, x, at, dims, rank, outs, e);
}

/* Axes in front. */
clv_status hlo_map_broadcast(hlo_scope *s, const hlo_row *row,
                             const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x, rank;
    int64_t dims[CLV_MAX_RANK];
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(shape_sizes(s, op, CLV_NONE, dims, &rank, e));
    return hlo_expand(s, x, dims, rank, outs, e);
}

clv_status hlo_map_transpose(hlo_scope *s, const hlo_row *row,
                             const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x, n;
    int64_t perm[CLV_MAX_RANK];
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "permutation", "dims"), perm,
                     CLV_MAX_RANK, &n, e));
    clv_attr a = hlo_ints(CLV_A_PERM, perm, n);
    *outs = x;
    return hlo_value(s, x)->rank
               ? hlo_emit(s, "", row->op, &x, 1, &a, 1, outs, 1, e)
               : CLV_OK;
}

clv_status hlo_map_slice(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    uint32_t x, n[3];
    int64_t from[CLV_MAX_RANK], to[CLV_MAX_RANK], step[CLV_MAX_RANK];
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "start_indices", NULL), from,
                     CLV_MAX_RANK, &n[0], e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "limit_indices", NULL), to,
                     CLV_MAX_RANK, &n[1], e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "strides", NULL), step,
                     CLV_MAX_RANK, &n[2], e));
    *outs = x;
    if (n[0] != n[1] || n[0] != n[2])
        return hlo_fail(s, e, "%u starts, %u limits, %u strides", n[0], n[1],
                        n[2]);
    clv_attr a[3] = {hlo_ints(CLV_A_START, from, n[0]),
                     hlo_ints(CLV_A_END, to, n[1]),
                     hlo_ints(CLV_A_STEP, step, n[2])};
    return n[0] ? hlo_emit(s, "", row->op, &x, 1, a, 3, outs, 1, e) : CLV_OK;
}

/* x, starts, limits, strides; all known, or it is not mapped. */
clv_status hlo_map_real_dynamic_slice(hlo_scope *s, const hlo_row *row,
                                      const mlir_op *op, uint32_t *outs,
                                      clv_err *e)
{
    uint32_t ins[4], n[4];
    const int64_t *lists[4];
    (void)op;
    for (uint32_t i = 0; i < 4; i++) {
        CLV_TRY(hlo_in(s, i, &ins[i], e));
        lists[i] = i ? hlo_known(s, ins[i], &n[i]) : NULL;
        if (i && !lists[i])
            return CLV_OK;
    }
    clv_attr a[3] = {hlo_ints(CLV_A_START, lists[1], n[1]),
                     hlo_ints(CLV_A_END, lists[2], n[2]),
                     hlo_ints(CLV_A_STEP, lists[3], n[3])};
    return hlo_emit(s, "", row->op, ins, 1, a, 3, outs, 1, e);
}

/* -- copies ---------------------------------------------------------------*/

clv_status hlo_map_concatenate(hlo_scope *s, const hlo_row *row,
                               const mlir_op *op, uint32_t *outs, clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "dimension", "dim");
    uint32_t *ins = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_in(s, i, &ins[i], e));
    clv_attr a = hlo_int(CLV_A_AXIS, axis ? axis->i : 0);
    return hlo_emit(s, "", row->op, ins, op->n_ins, &a, 1, outs, 1, e);
}

clv_status hlo_map_reverse(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    uint32_t x, n;
    int64_t axes[CLV_MAX_RANK];
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "dimensions", "dims"), axes,
                     CLV_MAX_RANK, &n, e));
    clv_attr a = hlo_ints(CLV_A_AXES, axes, n);
    *outs = x;
    return n ? hlo_emit(s, "", row->op, &x, 1, &a, 1, outs, 1, e) : CLV_OK;
}

/* `inside` elements between neighbours of an axis: a second axis of one
 * element is padded, and both become one. */
clv_status hlo_spread(hlo_scope *s, uint32_t *x, uint32_t value, uint32_t axis,
                      int64_t inside, clv_err *e)
{
    const clv_value *v = hlo_value(s, *x);
    uint32_t rank = v->rank;
    int64_t n = v->dims[axis], dims[CLV_MAX_RANK];
    int64_t pads[2 * CLV_MAX_RANK] = {0};
    if (inside == 0 || n < 2)
        return CLV_OK;
    if (rank == CLV_MAX_RANK)
        return hlo_fail(s, e, "interior padding of %u axes", rank);
    for (uint32_t i = 0, k = 0; i < rank; i++) {
        dims[k++] = v->dims[i];
        if (i == axis)
            dims[k++] = 1;
    }
    pads[rank + 1 + axis + 1] = inside;
    CLV_TRY(hlo_reshape(s, *x, dims, rank + 1, x, e));
    uint32_t ins[3] = {*x, CLV_NONE, value};
    clv_attr a = hlo_ints(CLV_A_PADDING, pads, 2 * (rank + 1));
    CLV_TRY(hlo_emit(s, "spread", CLV_OP_PAD, ins, value == CLV_NONE ? 1 : 3,
                     &a, 1, x, 1, e));
    int64_t wide = sat_mul(n, inside + 1);
    for (uint32_t i = axis + 1; i < rank; i++)
        dims[i] = dims[i + 1];
    dims[axis] = wide;
    CLV_TRY(hlo_reshape(s, *x, dims, rank, x, e));
    return hlo_slice(s, *x, axis, 0, wide - inside, x, e);
}

/* x, value; the paddings as attributes, or as operands whose contents are
 * known. */
clv_status hlo_map_pad(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                       uint32_t *outs, clv_err *e)
{
    static const char *const names[3][2] = {{"edge_padding_low", "low"},
                                            {"edge_padding_high", "high"},
                                            {"interior_padding", "interior"}};
    int64_t pads[3][CLV_MAX_RANK] = {{0}}, all[2 * CLV_MAX_RANK];
    uint32_t ins[3] = {0, CLV_NONE, 0}, n, v;
    CLV_TRY(hlo_in(s, 0, &ins[0], e));
    CLV_TRY(hlo_in(s, 1, &ins[2], e));
    uint32_t rank = hlo_value(s, ins[0])->rank;
    for (uint32_t i = 0; i < 3; i++) {
        if (op->n_ins > 2) {
            CLV_TRY(hlo_in(s, 2 + i, &v, e));
            const int64_t *known = hlo_known(s, v, &n);
            if (!known)
                return CLV_OK;
            if (n == rank && n)
                memcpy(pads[i], known, n * sizeof *known);
        } else {
            CLV_TRY(hlo_list(s,
                             mlir_attr_of(op->attrs, names[i][0], names[i][1]),
                             pads[i], CLV_MAX_RANK, &n, e));
        }
        if (n != rank)
            return hlo_fail(s, e, "%u paddings for %u axes", n, rank);
    }
    bool any = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (pads[2][i] < 0 || pads[2][i] > INT32_MAX)
            return hlo_fail(s, e, "interior padding of %lld",
                            (long long)pads[2][i]);
        CLV_TRY(hlo_spread(s, &ins[0], ins[2], i, pads[2][i], e));
        all[i] = pads[0][i];
        all[rank + i] = pads[1][i];
        any |= pads[0][i] || pads[1][i];
    }
    *outs = ins[0];
    clv_attr a = hlo_ints(CLV_A_PADDING, all, 2 * rank);
    return any ? hlo_emit(s, "", row->op, ins, 3, &a, 1, outs, 1, e) : CLV_OK;
}

/* -- made -----------------------------------------------------------------*/

clv_status hlo_map_iota(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                        uint32_t *outs, clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "iota_dimension", "dim");
    const mlir_type *t = hlo_type(op, 0);
    uint32_t rank, x;
    int64_t dims[CLV_MAX_RANK], at;
    (void)row;
    CLV_TRY(shape_sizes(s, op, op->n_ins ? 0 : CLV_NONE, dims, &rank, e));
    if (!axis || axis->i < 0 || axis->i >= rank)
        return hlo_fail(s, e, "no axis to count along");
    at = axis->i;
    CLV_TRY(
        hlo_range(s, dims[at], clv__build_dtype(s->r->opts, t->dtype), &x, e));
    return shape_broadcast(s, x, &at, dims, rank, outs, e);
}

clv_status hlo_map_constant(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                            uint32_t *outs, clv_err *e)
{
    (void)row;
    if (!op->outs)
        return CLV_OK;
    return hlo_constant(s, mlir_attr_of(op->attrs, "value", NULL), op->types,
                        op->outs->name, outs, e);
}

clv_status hlo_map_dimension_size(hlo_scope *s, const hlo_row *row,
                                  const mlir_op *op, uint32_t *outs, clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "dimension", "dim");
    uint32_t x;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    const clv_value *v = hlo_value(s, x);
    if (!axis || axis->i < 0 || axis->i >= v->rank)
        return hlo_fail(s, e, "the size of an axis that is not there");
    return hlo_const_int(s, CLV_INT32, v->dims[axis->i], outs, e);
}

/* Where the size is the one that the axis has. */
clv_status hlo_map_set_dimension_size(hlo_scope *s, const hlo_row *row,
                                      const mlir_op *op, uint32_t *outs,
                                      clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "dimension", "dim");
    uint32_t x, size, n;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_in(s, 1, &size, e));
    const int64_t *known = hlo_known(s, size, &n);
    const clv_value *v = hlo_value(s, x);
    bool whole = axis && axis->i >= 0 && axis->i < v->rank &&
                 (!known || known[0] == v->dims[axis->i]);
    if (whole)
        *outs = x; /* the bound is what is counted with */
    return CLV_OK;
}

clv_status hlo_map_rng(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                       uint32_t *outs, clv_err *e)
{
    const mlir_attr *how =
        mlir_attr_of(op->attrs, "rng_distribution", "distribution");
    const mlir_type *t = hlo_type(op, 0);
    uint32_t a, b, rank;
    int64_t dims[CLV_MAX_RANK];
    double low, high;
    CLV_TRY(hlo_in(s, 0, &a, e));
    CLV_TRY(hlo_in(s, 1, &b, e));
    if (!how || !hlo_known_number(s, a, &low) || !hlo_known_number(s, b, &high))
        return CLV_OK;
    CLV_TRY(shape_sizes(s, op, 2, dims, &rank, e));
    bool normal = mlir_is(how->text, "NORMAL");
    clv_attr first = hlo_int(normal ? CLV_A_MEAN : CLV_A_LOW, 0);
    clv_attr second = hlo_int(normal ? CLV_A_SCALE : CLV_A_HIGH, 0);
    first.type = second.type = CLV_ATTR_FLOAT;
    first.u.f = low;
    second.u.f = high;
    clv_attr attrs[5] = {
        hlo_ints(CLV_A_SHAPE, dims, rank), first, second,
        hlo_str(CLV_A_DISTRIBUTION, normal ? "normal" : "uniform"),
        hlo_dtype(CLV_A_DTYPE, clv__build_dtype(s->r->opts, t->dtype))};
    return hlo_emit(s, "", row->op, NULL, 0, attrs, 5, outs, 1, e);
}

/* Over the last axes; the result's type says what it is of. */
clv_status hlo_map_fft(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                       uint32_t *outs, clv_err *e)
{
    uint32_t x, rank, n;
    int64_t dims[CLV_MAX_RANK], length[CLV_MAX_RANK], axes[CLV_MAX_RANK];
    const mlir_type *t = hlo_type(op, 0);
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "fft_length", "length"), length,
                     CLV_MAX_RANK, &n, e));
    CLV_TRY(shape_sizes(s, op, CLV_NONE, dims, &rank, e));
    if (n > rank || n == 0)
        return hlo_fail(s, e, "a transform over %u of %u axes", n, rank);
    for (uint32_t i = 0; i < n; i++)
        axes[i] = rank - n + i;
    clv_attr a[2] = {hlo_ints(CLV_A_AXES, axes, n),
                     hlo_ints(CLV_A_SHAPE, dims, rank)};
    CLV_TRY(hlo_emit(s, "", row->op, &x, 1, a, 2, outs, 1, e));
    s->g->values[*outs].dtype = (uint8_t)t->dtype;
    return CLV_OK;
}

/* -- nothing at all -------------------------------------------------------*/

clv_status hlo_map_same(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                        uint32_t *outs, clv_err *e)
{
    (void)row;
    for (uint32_t i = 0; i < op->n_results && i < op->n_ins; i++)
        CLV_TRY(hlo_find(s, &op->ins[i], &outs[i], e));
    return CLV_OK;
}

clv_status hlo_map_token(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    (void)s;
    (void)row;
    (void)op;
    (void)e;
    *outs = CLV_NONE;
    return CLV_OK;
}

/* The name of a tuple stands for all its values. */
clv_status hlo_map_tuple(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    uint32_t *values = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *values);
    (void)row;
    (void)outs;
    if (!values)
        return clv__nomem(e);
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_find(s, &op->ins[i], &values[i], e));
    return op->outs ? hlo_bind(s, op->outs->name, values, op->n_ins, e)
                    : CLV_OK;
}

clv_status hlo_map_tuple_element(hlo_scope *s, const hlo_row *row,
                                 const mlir_op *op, uint32_t *outs, clv_err *e)
{
    const mlir_attr *index = mlir_attr_of(op->attrs, "index", NULL);
    const uint32_t *values;
    uint32_t n;
    (void)row;
    if (op->n_ins != 1 || !index)
        return hlo_fail(s, e, "an element of no tuple");
    CLV_TRY(hlo_find_all(s, &op->ins[0], &values, &n, e));
    if (index->i < 0 || index->i >= n)
        return hlo_fail(s, e, "element %lld of a tuple of %u",
                        (long long)index->i, n);
    *outs = values[index->i];
    return op->outs ? hlo_bind(s, op->outs->name, outs, 1, e) : CLV_OK;
}

/* layout.c - shape without arithmetic: reshape, permute, slice, cat, ... */
#include "ops/moving.h"
#include "ops/ops.h"

#include <string.h>

/* One entry may be -1 (what is left); 0 copies the input's axis unless
 * allowzero. */
clv_status infer_reshape(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list shape;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 1, &shape, e));
    if (shape.n > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "reshape to rank %u", shape.n);
    int64_t dims[CLV_MAX_RANK], known = 1, total = clv__numel(x);
    uint32_t hole = CLV_NONE;
    bool zero = attr_int(n, CLV_A_ALLOWZERO) != 0;
    for (uint32_t i = 0; i < shape.n; i++) {
        dims[i] = shape.v[i];
        if (dims[i] == 0 && !zero && i < x->rank)
            dims[i] = x->dims[i];
        if (dims[i] == -1 && hole == CLV_NONE)
            hole = i;
        else if (dims[i] < 0)
            return clv__fail(e, CLV_SHAPE, "reshape to dimension %lld",
                             (long long)dims[i]);
        else
            known = sat_mul(known, dims[i]);
    }
    if (hole != CLV_NONE)
        dims[hole] = known ? total / known : 0;
    if (hole != CLV_NONE ? known && total % known : known != total)
        return clv__fail(e, CLV_SHAPE,
                         "%lld elements do not fit a shape of %lld",
                         (long long)total, (long long)known);
    return out_shape(g, n, 0, (clv_dtype)x->dtype, shape.n, dims, e);
}

/* A matrix: the axes of x before `axis`, and those from it on. */
static clv_status infer_matrix(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t axis = attr_int(n, CLV_A_AXIS);
    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank)
        return clv__fail(e, CLV_SHAPE, "axis %lld of a rank-%u tensor",
                         (long long)attr_int(n, CLV_A_AXIS), x->rank);
    int64_t dims[2] = {dims_product(x->dims, 0, (uint32_t)axis),
                       dims_product(x->dims, (uint32_t)axis, x->rank)};
    return out_shape(g, n, 0, (clv_dtype)x->dtype, 2, dims, e);
}

/* Axes start..end (inclusive) become one. */
clv_status infer_flatten(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t one = 1;
    if (attr_get(n, CLV_A_AXIS))
        return infer_matrix(g, n, e);
    if (x->rank == 0)
        return out_shape(g, n, 0, (clv_dtype)x->dtype, 1, &one, e);
    uint32_t from, to, rank = 0;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_START), x->rank, &from, e));
    CLV_TRY(norm_axis(attr_int(n, CLV_A_END), x->rank, &to, e));
    if (from > to)
        return clv__fail(e, CLV_SHAPE, "flatten from axis %u to %u", from, to);
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < from; i++)
        dims[rank++] = x->dims[i];
    dims[rank++] = dims_product(x->dims, from, to + 1);
    for (uint32_t i = to + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* Axis `axis` becomes the axes of `shape`, one of which may be -1. */
clv_status infer_unflatten(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis, count, rank = 0, hole = CLV_NONE;
    const int64_t *shape = attr_ints(n, CLV_A_SHAPE, &count);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    if (count == 0 || count > CLV_MAX_RANK + 1u - x->rank)
        return clv__fail(e, CLV_SHAPE, "unflatten to %u axes", count);
    int64_t dims[CLV_MAX_RANK], known = 1, size = x->dims[axis];
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < count; i++) {
        if (shape[i] == -1 && hole == CLV_NONE)
            hole = rank;
        else
            known = shape[i] < 0 ? -1 : sat_mul(known, shape[i]);
        if (known < 0)
            return clv__fail(e, CLV_SHAPE, "unflatten to dimension %lld",
                             (long long)shape[i]);
        dims[rank++] = shape[i];
    }
    if (hole != CLV_NONE)
        dims[hole] = known ? size / known : 0;
    if (hole != CLV_NONE ? known == 0 || size % known : known != size)
        return clv__fail(e, CLV_SHAPE, "%lld does not unflatten to %lld",
                         (long long)size, (long long)known);
    for (uint32_t i = axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

clv_status infer_permute(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t count;
    const int64_t *perm = attr_ints(n, CLV_A_PERM, &count);
    if (perm && count != x->rank)
        return clv__fail(e, CLV_SHAPE, "%u axes for a rank-%u tensor", count,
                         x->rank);
    int64_t dims[CLV_MAX_RANK];
    bool seen[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t a = x->rank - 1u - i; /* no perm: reversed */
        if (perm)
            CLV_TRY(claim_axis(perm[i], x->rank, seen, &a, e));
        dims[i] = x->dims[a];
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Swaps the two axes of attribute `axes`. */
clv_status infer_transpose(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t count, a, b;
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &count);
    CLV_TRY(norm_axis(axes[0], x->rank, &a, e));
    CLV_TRY(norm_axis(axes[1], x->rank, &b, e));
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[a] = x->dims[b];
    dims[b] = x->dims[a];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Aligned on the right; -1 keeps an axis. */
clv_status infer_expand(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list shape;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 1, &shape, e));
    if (shape.n > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "expand to rank %u", shape.n);
    int64_t want[CLV_MAX_RANK], dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < shape.n; i++)
        want[i] = shape.v[i] == -1 ? 1 : shape.v[i];
    clv_value target = {.dims = want, .rank = (uint8_t)shape.n};
    uint32_t rank;
    CLV_TRY(broadcast(x, &target, dims, &rank, e));
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* -- slices ---------------------------------------------------------------*/

int64_t slice_start(int64_t size, int64_t start, int64_t step)
{
    int64_t hi = step < 0 ? size - 1 : size;
    if (start < 0)
        start = start < -size ? 0 : start + size;
    return start > hi ? hi : start;
}

/* How many elements start:end:step takes of `size`. */
static int64_t slice_count(int64_t size, int64_t start, int64_t end,
                           int64_t step)
{
    int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? size - 1 : size;
    start = slice_start(size, start, step);
    if (end < 0)
        end = end < -size ? lo : end + size;
    end = end < lo ? lo : end > hi ? hi : end;
    if (step > 0)
        return end > start ? (end - start - 1) / step + 1 : 0;
    return start > end ? (start - end - 1) / -step + 1 : 0;
}

/* starts, ends, axes, steps: attributes, or inputs 1 to 4. */
clv_status infer_slice(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list start, end, axes, step;
    bool moving;
    CLV_TRY(clv__slice_moving(g, n, &moving, e));
    if (moving)
        return CLV_OK;
    CLV_TRY(get_ints(g, n, CLV_A_START, 1, &start, e));
    CLV_TRY(get_ints(g, n, CLV_A_END, 2, &end, e));
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 3, &axes, e));
    CLV_TRY(get_ints(g, n, CLV_A_STEP, 4, &step, e));
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (start.n != end.n || (axes.n && axes.n != start.n) ||
        (step.n > 1 && step.n != start.n))
        return clv__fail(e, CLV_SHAPE, "%u starts, %u ends, %u axes, %u steps",
                         start.n, end.n, axes.n, step.n);
    bool seen[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < start.n; i++) {
        uint32_t a;
        CLV_TRY(
            claim_axis(axes.n ? axes.v[i] : (int64_t)i, x->rank, seen, &a, e));
        int64_t by = list_at(step.v, step.n, i);
        if (by == 0 || by == INT64_MIN)
            return clv__fail(e, CLV_SHAPE, "slice step %lld", (long long)by);
        dims[a] = slice_count(x->dims[a], start.v[i], end.v[i], by);
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Takes one index of an axis, which disappears. */
clv_status infer_select(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t a, at;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &a, e));
    CLV_TRY(norm_axis(attr_int(n, CLV_A_INDEX),
                      (uint32_t)(x->dims[a] < CLV_NONE ? x->dims[a] : CLV_NONE),
                      &at, e));
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != a)
            dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* Windows of `size` every `step` along an axis: a new last axis. */
clv_status infer_sliding_window(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    int64_t size = attr_int(n, CLV_A_SIZE), step = attr_int(n, CLV_A_STEP);
    if (size < 0 || step < 1 || size > x->dims[axis] || x->rank == CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "windows of %lld every %lld over %lld",
                         (long long)size, (long long)step,
                         (long long)x->dims[axis]);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = sat_add((x->dims[axis] - size) / step, 1);
    dims[x->rank] = size;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank + 1u, dims, e);
}

/* Of the two `axes` (0 and 1), `offset` above the main diagonal: last axis. */
clv_status infer_diagonal(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t count, a, b, rank = 0;
    const int64_t *axes = attr_ints(n, CLV_A_AXES, &count);
    CLV_TRY(norm_axis(count == 2 ? axes[0] : 0, x->rank, &a, e));
    CLV_TRY(norm_axis(count == 2 ? axes[1] : 1, x->rank, &b, e));
    if (a == b)
        return clv__fail(e, CLV_SHAPE, "diagonal of axis %u and itself", a);
    int64_t offset = attr_int(n, CLV_A_OFFSET), dims[CLV_MAX_RANK];
    int64_t rows = x->dims[a], columns = x->dims[b];
    if (offset > 0)
        columns = columns > offset ? columns - offset : 0;
    else
        rows = rows > -(offset + 1) ? rows + offset : 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != a && i != b)
            dims[rank++] = x->dims[i];
    dims[rank] = rows < columns ? rows : columns;
    if (dims[rank] < 0)
        dims[rank] = 0;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank + 1, dims, e);
}

/* -- one-sized axes -------------------------------------------------------*/

/* Without axes, every axis of size one goes. */
clv_status infer_squeeze(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list axes;
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 1, &axes, e));
    bool drop[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank, &a, e));
        drop[a] = x->dims[a] == 1;
    }
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes.found ? !drop[i] : x->dims[i] != 1)
            dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

clv_status infer_unsqueeze(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list axes;
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 1, &axes, e));
    if (axes.n > CLV_MAX_RANK - (uint32_t)x->rank)
        return clv__fail(e, CLV_SHAPE, "unsqueeze of rank %u by %u axes",
                         x->rank, axes.n);
    uint32_t rank = x->rank + axes.n;
    bool added[CLV_MAX_RANK] = {false};
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(claim_axis(axes.v[i], rank, added, &a, e));
    }
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0, k = 0; i < rank; i++)
        dims[i] = added[i] ? 1 : x->dims[k++];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* -- joining and splitting ------------------------------------------------*/

static clv_dtype joined_type(const clv_graph *g, const clv_node *n)
{
    clv_dtype t = CLV_NODTYPE;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (node_in(g, n, i))
            t = promote((clv_dtype)node_in(g, n, i)->dtype, t);
    return t;
}

/* An empty vector joins anything: PyTorch lets it stand for "nothing yet". */
static bool is_nothing(const clv_value *v)
{
    return v && v->rank == 1 && v->dims[0] == 0;
}

clv_status infer_cat(clv_graph *g, clv_node *n, clv_err *e)
{
    uint32_t axis, first = 0;
    while (first + 1 < n->n_in && is_nothing(node_in(g, n, first)))
        first++;
    const clv_value *x = node_in(g, n, first);
    if (!x)
        return clv__fail(e, CLV_SHAPE, "input %u is missing", first);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t k = first + 1; k < n->n_in; k++) {
        const clv_value *y = node_in(g, n, k);
        if (is_nothing(y))
            continue;
        if (!y || y->rank != x->rank)
            return clv__fail(e, CLV_SHAPE, "input %u has another rank", k);
        for (uint32_t i = 0; i < x->rank; i++)
            if (i != axis && y->dims[i] != x->dims[i])
                return clv__fail(e, CLV_SHAPE,
                                 "input %u is %lld along axis %u, input %u "
                                 "is %lld",
                                 k, (long long)y->dims[i], i, first,
                                 (long long)x->dims[i]);
        dims[axis] = sat_add(dims[axis], y->dims[axis]);
    }
    return out_shape(g, n, 0, joined_type(g, n), x->rank, dims, e);
}

/* Equal shapes along a new axis. */
clv_status infer_stack(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    if (x->rank == CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "stack to rank %u", x->rank + 1u);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank + 1u, &axis, e));
    for (uint32_t k = 1; k < n->n_in; k++) {
        const clv_value *y = node_in(g, n, k);
        if (!y || y->rank != x->rank ||
            memcmp(y->dims, x->dims, x->rank * sizeof *x->dims))
            return clv__fail(e, CLV_SHAPE, "input %u has another shape", k);
    }
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0, k = 0; i <= x->rank; i++)
        dims[i] = i == axis ? n->n_in : x->dims[k++];
    return out_shape(g, n, 0, joined_type(g, n), x->rank + 1u, dims, e);
}

/* `sections` equal parts of ceil(size / sections), the last one smaller. */
clv_status infer_chunk(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    bool told = n->op == CLV_OP_CHUNK && attr_get(n, CLV_A_SECTIONS);
    int64_t parts = told ? attr_int(n, CLV_A_SECTIONS) : n->n_out;
    int64_t left = x->dims[axis];
    if (parts < 1)
        return clv__fail(e, CLV_SHAPE, "%lld chunks", (long long)parts);
    int64_t each = left / parts + (left % parts != 0);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < n->n_out; i++) {
        dims[axis] = each < left ? each : left;
        left -= dims[axis];
        CLV_TRY(out_shape(g, n, i, (clv_dtype)x->dtype, x->rank, dims, e));
    }
    return CLV_OK;
}

/* Parts of the sizes listed in `sections` (or input 1); one number is the size
 * of every part, the last may be smaller; none: as many parts as outputs. */
clv_status infer_split(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list sizes;
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    CLV_TRY(get_ints(g, n, CLV_A_SECTIONS, 1, &sizes, e));
    if (!sizes.found)
        return infer_chunk(g, n, e);
    int64_t dims[CLV_MAX_RANK], left = x->dims[axis];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (sizes.n > 1 && sizes.n != n->n_out)
        return clv__fail(e, CLV_SHAPE, "%u sizes for %u parts", sizes.n,
                         n->n_out);
    for (uint32_t i = 0; i < n->n_out; i++) {
        int64_t size = list_at(sizes.v, sizes.n, i);
        if (size < 0 || (sizes.n > 1 && size > left))
            return clv__fail(e, CLV_SHAPE, "part %u of %lld, %lld are left", i,
                             (long long)size, (long long)left);
        dims[axis] = size < left ? size : left;
        left -= dims[axis];
        CLV_TRY(out_shape(g, n, i, (clv_dtype)x->dtype, x->rank, dims, e));
    }
    if (left)
        return clv__fail(e, CLV_SHAPE, "%lld of %lld are in no part",
                         (long long)left, (long long)x->dims[axis]);
    return CLV_OK;
}

/* One output per index of an axis, which disappears. */
clv_status infer_unbind(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis, rank = 0;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    if (x->dims[axis] != n->n_out)
        return clv__fail(e, CLV_SHAPE, "%u outputs for an axis of %lld",
                         n->n_out, (long long)x->dims[axis]);
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < n->n_out; i++)
        CLV_TRY(out_shape(g, n, i, (clv_dtype)x->dtype, rank, dims, e));
    return CLV_OK;
}

/* index.c - taking and putting elements by index.
 *
 * What is taken is read, not the whole source: an embedding of a million rows
 * costs the rows that are looked up. Where the number of results depends on
 * the data (masks, nonzero), the shape is the upper bound and says so. */
#include "ops/ops.h"

#include <string.h>

/* -- taking ---------------------------------------------------------------*/

/* out[i][j] = x[index[i][j]][j]: index has the rank of x, and no axis of it but
 * `axis` is larger. */
clv_status infer_gather(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    if (index->rank != x->rank)
        return clv__fail(e, CLV_SHAPE, "indices of rank %u into rank %u",
                         index->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis && index->dims[i] > x->dims[i])
            return clv__fail(e, CLV_SHAPE, "%lld indices along axis %u of %lld",
                             (long long)index->dims[i], i,
                             (long long)x->dims[i]);
    return out_shape(g, n, 0, (clv_dtype)x->dtype, index->rank, index->dims, e);
}

/* As gather, but all axes save `axis` broadcast; without it, of the flattened
 * tensor. */
clv_status infer_take_along(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    clv_dtype t = (clv_dtype)x->dtype;
    if (!attr_get(n, CLV_A_AXIS)) {
        int64_t count = clv__numel(index);
        return out_shape(g, n, 0, t, 1, &count, e);
    }
    uint32_t axis, rank;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    if (index->rank != x->rank)
        return clv__fail(e, CLV_SHAPE, "indices of rank %u into rank %u",
                         index->rank, x->rank);
    int64_t a[CLV_MAX_RANK], b[CLV_MAX_RANK], dims[CLV_MAX_RANK];
    memcpy(a, x->dims, x->rank * sizeof *a);
    memcpy(b, index->dims, x->rank * sizeof *b);
    a[axis] = b[axis];
    CLV_TRY(broadcast(&(clv_value){.dims = a, .rank = x->rank},
                      &(clv_value){.dims = b, .rank = x->rank}, dims, &rank,
                      e));
    return out_shape(g, n, 0, t, rank, dims, e);
}

/* The axes of index stand where `axis` of x was. */
clv_status infer_index_select(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    uint32_t axis, rank = 0;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    if (x->rank - 1 + index->rank > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "result of rank %u",
                         x->rank - 1u + index->rank);
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < index->rank; i++)
        dims[rank++] = index->dims[i];
    for (uint32_t i = axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* Of the flattened tensor. */
clv_status infer_take(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    return out_shape(g, n, 0, (clv_dtype)x->dtype, index->rank, index->dims, e);
}

/* The last axis of index holds coordinates of the axes of x after the first
 * `batch_dims`; the rest of x comes along. */
clv_status infer_gather_nd(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    int64_t batch = attr_int(n, CLV_A_BATCH_DIMS);
    int64_t depth = index->rank ? index->dims[index->rank - 1] : -1;
    if (batch < 0 || batch > x->rank || depth < 0 || depth > x->rank - batch ||
        batch >= index->rank)
        return clv__fail(e, CLV_SHAPE,
                         "%lld coordinates into rank %u, %lld batch axes",
                         (long long)depth, x->rank, (long long)batch);
    uint32_t from = (uint32_t)(batch + depth), rank = index->rank - 1u;
    if (rank + (x->rank - from) > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "result of rank %u",
                         rank + x->rank - from);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, index->dims, rank * sizeof *dims);
    for (uint32_t i = from; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* Reads as many elements of x as it writes, and the indices. */
void cost_gather(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    reads_only(g, n, 0, clv__held_bytes(node_out(g, n, 0)), c);
}

/* -- x[i, :, mask] --------------------------------------------------------*/

/* The indices seen so far: the shape they broadcast to, and where they
 * stand. */
typedef struct indexed {
    int64_t dims[CLV_MAX_RANK], kept[CLV_MAX_RANK];
    uint32_t rank, n_kept, axis, last; /* next axis; end of the last index */
    uint32_t before;                   /* kept axes before the first index */
    bool any, apart, bound;
} indexed;

/* Adds one index. A mask over k axes is k vectors of equal, unknown length. */
static clv_status add_index(indexed *s, const clv_value *x, const clv_value *v,
                            clv_err *e)
{
    bool mask = v->dtype == CLV_BOOL;
    uint32_t takes = mask ? v->rank : 1;
    if (s->axis + takes > x->rank)
        return clv__fail(e, CLV_SHAPE, "more indices than %u axes", x->rank);
    for (uint32_t i = 0; mask && i < takes; i++)
        if (v->dims[i] != x->dims[s->axis + i])
            return clv__fail(e, CLV_SHAPE, "mask of %lld over an axis of %lld",
                             (long long)v->dims[i],
                             (long long)x->dims[s->axis + i]);
    int64_t count = clv__numel(v), so_far[CLV_MAX_RANK];
    clv_value hits = {.dims = &count, .rank = 1};
    memcpy(so_far, s->dims, s->rank * sizeof *so_far);
    clv_value old = {.dims = so_far, .rank = (uint8_t)s->rank};
    if (s->any && s->axis != s->last)
        s->apart = true;
    if (!s->any)
        s->before = s->n_kept;
    s->any = true;
    s->bound = s->bound || mask;
    s->axis += takes;
    s->last = s->axis;
    return broadcast(&old, mask ? &hits : v, s->dims, &s->rank, e);
}

/* x, then one index per axis; an absent one (or past the last) keeps its axis.
 * The result's index axes stand where the indices were if those are
 * neighbours, else in front. */
clv_status infer_index(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    indexed s = {0};
    for (uint32_t i = 1; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v) {
            CLV_TRY(add_index(&s, x, v, e));
            continue;
        }
        if (s.axis >= x->rank)
            return clv__fail(e, CLV_SHAPE, "more indices than %u axes",
                             x->rank);
        s.kept[s.n_kept++] = x->dims[s.axis++];
    }
    while (s.axis < x->rank)
        s.kept[s.n_kept++] = x->dims[s.axis++];
    if (s.rank + s.n_kept > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "result of rank %u", s.rank + s.n_kept);
    int64_t dims[CLV_MAX_RANK];
    uint32_t before = s.apart ? 0 : s.before, rank = 0;
    for (uint32_t i = 0; i < before; i++)
        dims[rank++] = s.kept[i];
    for (uint32_t i = 0; i < s.rank; i++)
        dims[rank++] = s.dims[i];
    for (uint32_t i = before; i < s.n_kept; i++)
        dims[rank++] = s.kept[i];
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e));
    if (s.bound)
        out_bound(g, n, 0);
    return CLV_OK;
}

/* -- putting --------------------------------------------------------------*/

/* A copy of x with some elements replaced. Element by element, the indices
 * have the rank of x and no more of them than updates. */
clv_status infer_scatter(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    const clv_value *updates = node_in(g, n, 2);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    if (index->rank != x->rank || (updates && updates->rank != x->rank))
        return clv__fail(e, CLV_SHAPE, "indices of rank %u into rank %u",
                         index->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        if ((i != axis && index->dims[i] > x->dims[i]) ||
            (updates && index->dims[i] > updates->dims[i]))
            return clv__fail(e, CLV_SHAPE, "%lld indices along axis %u of %lld",
                             (long long)index->dims[i], i,
                             (long long)x->dims[i]);
    return out_like(g, n, 0, x, e);
}

/* x, coordinates (..,depth), updates: a slice of x for each of them. */
clv_status infer_scatter_nd(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    const clv_value *updates = node_in(g, n, 2);
    int64_t depth = index->rank ? index->dims[index->rank - 1] : -1, want = 1;
    if (depth < 0 || depth > x->rank)
        return clv__fail(e, CLV_SHAPE, "%lld coordinates into rank %u",
                         (long long)depth, x->rank);
    for (uint32_t i = 0; i + 1u < index->rank; i++)
        want = sat_mul(want, index->dims[i]);
    for (uint32_t i = (uint32_t)depth; i < x->rank; i++)
        want = sat_mul(want, x->dims[i]);
    bool bound = (index->flags | updates->flags | x->flags) & CLV_V_BOUND;
    if (!bound && clv__numel(updates) != want)
        return clv__fail(e, CLV_SHAPE, "%lld updates, not %lld",
                         (long long)clv__numel(updates), (long long)want);
    return out_like(g, n, 0, x, e);
}

/* Adds one number per index. */
void cost_scatter_add(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = clv__numel(node_in(g, n, 1));
}

/* x, indices along `axis`, updates: whole slices are added. */
clv_status infer_index_add(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *index = node_in(g, n, 1);
    const clv_value *updates = node_in(g, n, 2);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    if (updates->rank != x->rank || index->rank > 1)
        return clv__fail(e, CLV_SHAPE, "updates of rank %u into rank %u",
                         updates->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t want = i == axis ? clv__numel(index) : x->dims[i];
        if (updates->dims[i] != want)
            return clv__fail(e, CLV_SHAPE,
                             "updates of %lld along axis %u, not "
                             "%lld",
                             (long long)updates->dims[i], i, (long long)want);
    }
    return out_like(g, n, 0, x, e);
}

void cost_index_add(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = clv__numel(node_in(g, n, 2));
}

/* -- by mask --------------------------------------------------------------*/

/* At most every element. */
clv_status infer_masked_select(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(x, node_in(g, n, 1), dims, &rank, e));
    int64_t count =
        clv__numel(&(clv_value){.dims = dims, .rank = (uint8_t)rank});
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, 1, &count, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

/* Slices of an axis (or elements, without one) where the vector is true. */
clv_status infer_compress(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *mask = node_in(g, n, 1);
    int64_t dims[CLV_MAX_RANK] = {clv__numel(x)}, most = clv__numel(mask);
    uint32_t rank = 1, axis = 0;
    if (attr_get(n, CLV_A_AXIS)) {
        CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
        memcpy(dims, x->dims, x->rank * sizeof *dims);
        rank = x->rank;
    }
    if (most < dims[axis])
        dims[axis] = most;
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

/* Coordinates of what is not zero: (points, rank), or with axis 1 the other way
 * round. */
clv_status infer_nonzero(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t points = clv__numel(x);
    int64_t down[2] = {points, x->rank}, across[2] = {x->rank, points};
    bool turned = attr_int(n, CLV_A_BY_AXIS);
    CLV_TRY(out_shape(g, n, 0, CLV_INT64, 2, turned ? across : down, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

/* -- tables ---------------------------------------------------------------*/

/* weight (V,D), indices (..) -> (..,D) */
clv_status infer_embedding(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *w = node_in(g, n, 0), *index = node_in(g, n, 1);
    if (w->rank != 2 || index->rank == CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "weight of rank %u", w->rank);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, index->dims, index->rank * sizeof *dims);
    dims[index->rank] = w->dims[1];
    return out_shape(g, n, 0, (clv_dtype)w->dtype, index->rank + 1u, dims, e);
}

/* weight (V,D), indices (B,L), or a vector with offsets (B) -> (B,D) */
clv_status infer_embedding_bag(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *w = node_in(g, n, 0), *index = node_in(g, n, 1);
    const clv_value *offsets = node_in(g, n, 2);
    if (w->rank != 2 || index->rank != (offsets ? 1 : 2) ||
        (offsets && offsets->rank != 1))
        return clv__fail(e, CLV_SHAPE, "weight of rank %u, indices of rank %u",
                         w->rank, index->rank);
    int64_t dims[2] = {(offsets ? offsets : index)->dims[0], w->dims[1]};
    return out_shape(g, n, 0, (clv_dtype)w->dtype, 2, dims, e);
}

/* The rows looked up are added or compared, a mean divides once per bag, and
 * weights per sample (input 3) multiply. */
void cost_embedding_bag(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *w = node_in(g, n, 0);
    int64_t looked = sat_mul(clv__numel(node_in(g, n, 1)), w->dims[1]);
    c->flops = sat_mul(looked, node_in(g, n, 3) ? 2 : 1);
    if (attr_is(n, CLV_A_MODE, "mean"))
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
    int64_t bytes =
        looked == CLV_SAT ? -1 : clv_dtype_bytes((clv_dtype)w->dtype, looked);
    if (bytes >= 0)
        reads_only(g, n, 0, bytes, c);
}

/* indices (..) -> (..,depth) with the new axis at `axis`; depth as attribute or
 * input 1; input 2 holds the values for off and on. */
clv_status infer_one_hot(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *values = node_in(g, n, 2);
    int64_t dims[CLV_MAX_RANK];
    uint32_t axis, count;
    double depth = -1; /* of any type */
    CLV_TRY(get_floats(g, n, CLV_A_DEPTH, 1, &depth, 1, &count, e));
    if (!(depth >= 0 && depth < 9e18))
        return clv__fail(e, CLV_SHAPE, "a depth of %g", depth);
    if (x->rank == CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "result of rank %u", x->rank + 1u);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank + 1u, &axis, e));
    for (uint32_t i = 0, k = 0; i <= x->rank; i++)
        dims[i] = i == axis ? (int64_t)depth : x->dims[k++];
    clv_dtype t = values ? (clv_dtype)values->dtype : CLV_INT64;
    return out_shape(g, n, 0, t, x->rank + 1u, dims, e);
}

/* x and sorted boundaries: the bucket of every element. */
clv_status infer_bucketize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (node_in(g, n, 1)->rank < 1)
        return clv__fail(e, CLV_SHAPE, "boundaries of rank 0");
    return out_shape(g, n, 0, CLV_INT64, x->rank, x->dims, e);
}

/* How many elements of x lie in each of `bins` equal parts of [min, max]; of
 * the range of x where both are the same. */
clv_status infer_histogram(clv_graph *g, clv_node *n, clv_err *e)
{
    const int64_t bins = attr_int(n, CLV_A_BINS);
    return out_shape(g, n, 0, (clv_dtype)node_in(g, n, 0)->dtype, 1, &bins, e);
}

void cost_histogram(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(clv__ops[n->op].unit, clv__numel(node_in(g, n, 0)));
}

/* A binary search per element. */
void cost_bucketize(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *bounds = node_in(g, n, 1);
    int64_t steps = log2_ceil(sat_add(bounds->dims[bounds->rank - 1], 1));
    c->flops = sat_mul(steps, clv__numel(x));
}

/* cache (B,..,S,..), update (B,..,L,..) written into it from where input 2
 * says for each of the batch -> the cache */
clv_status infer_tensor_scatter(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *u = node_in(g, n, 1);
    const clv_value *at = node_in(g, n, 2);
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    bool fit =
        u->rank == x->rank && axis > 0 && (!at || clv__numel(at) == x->dims[0]);
    for (uint32_t i = 0; fit && i < x->rank; i++)
        fit = i == axis ? u->dims[i] <= x->dims[i] : u->dims[i] == x->dims[i];
    if (!fit)
        return clv__fail(e, CLV_SHAPE, "the update does not fit the cache");
    return out_like(g, n, 0, x, e);
}

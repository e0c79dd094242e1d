/* sort.c - order: sort, topk, unique, non-maximum suppression.
 *
 * How many comparisons a sort makes depends on the data and the method; n log n
 * is taken (n log k for the k largest) and called an estimate. */
#include "ops/ops.h"

#include <string.h>

/* Counts the comparisons for all elements of x, each going down `depth`
 * levels. */
static void sort_comparisons(const clv_value *x, int64_t depth, clv_cost *c)
{
    c->trust = CLV_TRUST_ESTIMATED;
    c->flops = sat_mul(clv__numel(x), depth);
}

/* Values and where they were. */
clv_status infer_sort(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    CLV_TRY(out_like(g, n, 0, x, e));
    return out_shape(g, n, 1, CLV_INT64, x->rank, x->dims, e);
}

clv_status infer_argsort(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    return out_shape(g, n, 0, CLV_INT64, x->rank, x->dims, e);
}

/* Along `axis`, or of all elements where the operator has none. */
void cost_sort(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    bool all = n->op == CLV_OP_UNIQUE || n->op == CLV_OP_MEDIAN;
    uint32_t axis = 0;
    int64_t size = clv__numel(x);
    if (x->rank && (!all || attr_get(n, CLV_A_AXIS)) &&
        get_axis(n, x->rank, &axis, NULL) == CLV_OK)
        size = x->dims[axis];
    sort_comparisons(x, log2_ceil(size), c);
}

/* The k (attribute or input 1) largest along an axis, and where they were. */
clv_status infer_topk(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    int64_t k, dims[CLV_MAX_RANK];
    CLV_TRY(get_int(g, n, CLV_A_K, 1, &k, e));
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    int64_t size = x->rank ? x->dims[axis] : 1;
    if (k < 0 || k > size)
        return clv__fail(e, CLV_SHAPE, "the largest %lld of %lld", (long long)k,
                         (long long)size);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (x->rank)
        dims[axis] = k;
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e));
    return out_shape(g, n, 1, CLV_INT64, x->rank, dims, e);
}

void cost_topk(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    uint32_t axis = 0;
    int64_t k = 1;
    if (x->rank && get_axis(n, x->rank, &axis, NULL) == CLV_OK)
        k = y->dims[axis];
    sort_comparisons(x, log2_ceil(sat_add(k, 1)), c);
}

/* At most all: slices of `axis`, or elements. Further outputs are vectors of
 * positions, of inverse positions and of counts. */
clv_status infer_unique(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t count = clv__numel(x);
    uint32_t axis;
    if (attr_get(n, CLV_A_AXIS)) {
        CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
        count = x->dims[axis];
        CLV_TRY(out_like(g, n, 0, x, e));
    } else {
        CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, 1, &count, e));
    }
    out_bound(g, n, 0);
    for (uint32_t i = 1; i < n->n_out; i++) {
        CLV_TRY(out_shape(g, n, i, CLV_INT64, 1, &count, e));
        out_bound(g, n, i);
    }
    return CLV_OK;
}

/* -- boxes ----------------------------------------------------------------*/

/* boxes (N,4), scores (N) -> at most (N); or boxes (B,N,4), scores (B,C,N) ->
 * at most (B*C*N, 3), N cut to attribute `max` or input 2. */
clv_status infer_nms(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *boxes = node_in(g, n, 0), *scores = node_in(g, n, 1);
    uint32_t r = boxes->rank;
    if (r < 2 || r > 3 || boxes->dims[r - 1] != 4 ||
        scores->rank != (r == 2 ? 1 : 3) ||
        scores->dims[scores->rank - 1] != boxes->dims[r - 2])
        return clv__fail(e, CLV_SHAPE, "boxes of rank %u, scores of rank %u", r,
                         scores->rank);
    int_list most;
    CLV_TRY(get_ints(g, n, CLV_A_MAX, 2, &most, e));
    int64_t each = boxes->dims[r - 2];
    if (most.n && most.v[0] >= 0 && most.v[0] < each)
        each = most.v[0];
    int64_t dims[2] = {each, 3};
    if (r == 3)
        dims[0] = sat_mul(each, dims_product(scores->dims, 0, 2));
    CLV_TRY(out_shape(g, n, 0, CLV_INT64, r - 1u, dims, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

/* At most every pair is compared: overlap takes 4 comparisons, 4 subtractions
 * and clamps, a product, a sum, a difference, a quotient, a comparison: 13. */
void cost_nms(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *scores = node_in(g, n, 1);
    int64_t boxes = scores->dims[scores->rank - 1];
    int64_t pairs = sat_mul(clv__numel(scores), boxes > 0 ? boxes - 1 : 0);
    c->trust = CLV_TRUST_ESTIMATED;
    c->flops = pairs == CLV_SAT ? pairs : sat_mul(13, pairs / 2);
}

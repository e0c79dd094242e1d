/* ml.c - the operators of ai.onnx.ml: linear models, support vectors, trees,
 * and what prepares their features; counts of n-grams.
 *
 * What such a model has learned lies in lists of the node; the importer makes
 * them inputs, so that they count as parameters. All take x (N,C), or (C) as
 * one row. A classifier (attribute `dtype`: the type of its labels) gives a
 * label per row and then the scores (N,scores); a regressor the scores alone.
 */
#include "ops/ops.h"

/* Rows of x, and the features of each. */
static int64_t rows_of(const clv_value *x)
{
    return x->rank > 1 ? x->dims[0] : 1;
}

static int64_t features_of(const clv_value *x)
{
    return x->rank ? x->dims[x->rank - 1] : 1;
}

clv_status infer_scores(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t dims[2] = {rows_of(x), attr_int(n, CLV_A_SCORES)};
    uint32_t scores = attr_get(n, CLV_A_DTYPE) ? 1 : 0;
    clv_dtype t = n->op == CLV_OP_TREE_SCORES ? attr_dtype(n, CLV_A_SCORE_DTYPE)
                                              : CLV_FLOAT32;
    if (t == CLV_NODTYPE)
        t = CLV_FLOAT32;
    if (x->rank < 1 || x->rank > 2 || dims[1] < 1)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, %lld scores", x->rank,
                         (long long)dims[1]);
    if (scores)
        CLV_TRY(out_shape(g, n, 0, asked_type(n, CLV_INT64), 1, dims, e));
    return out_shape(g, n, scores, t, 2, dims, e);
}

/* x (N,C), coefficients (k*C), intercepts (k) */
void cost_linear_scores(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    c->macs = sat_mul(rows_of(x), w ? clv__numel(w) : 0);
    c->flops = sat_mul(2, c->macs);
    if (node_in(g, n, 2))
        c->flops = sat_add(c->flops,
                           sat_mul(rows_of(x), clv__numel(node_in(g, n, 2))));
}

/* x (N,C), support vectors (V*C), coefficients, offsets. A kernel of x and
 * each vector, then a sum of the kernels by each row of coefficients; without
 * vectors it is a linear model. */
void cost_vector_scores(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 2);
    const clv_value *vectors = node_in(g, n, 1);
    int64_t kernels = vectors ? clv__numel(vectors) : 0;
    c->macs = sat_mul(rows_of(x), sat_add(kernels, w ? clv__numel(w) : 0));
    c->flops = sat_mul(2, c->macs);
}

/* x (N,C), thresholds, weights of leaves: one comparison per level and one sum
 * per tree, down to the deepest leaf of each (attribute `depth`, in all). */
void cost_tree_scores(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t steps = sat_add(attr_int(n, CLV_A_DEPTH), attr_int(n, CLV_A_TREES));
    c->flops = sat_mul(rows_of(node_in(g, n, 0)), steps);
    c->trust = CLV_TRUST_ESTIMATED;
}

/* x (..) -> for each element the value whose key it is, or `otherwise`: keys
 * and values (n), otherwise () or (1). Without it every element has a key. */
clv_status infer_lookup(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *keys = node_in(g, n, 1);
    const clv_value *values = node_in(g, n, 2), *otherwise = node_in(g, n, 3);
    if (keys->rank != 1 || values->rank != 1 ||
        keys->dims[0] != values->dims[0])
        return clv__fail(e, CLV_SHAPE, "as many keys as values, in lists");
    clv_dtype other = (clv_dtype)(otherwise ? otherwise : values)->dtype;
    if (otherwise && clv__numel(otherwise) < 1)
        return clv__fail(e, CLV_SHAPE, "nothing for elements without a key");
    if (keys->dtype != x->dtype || other != (clv_dtype)values->dtype)
        return clv__fail(
            e, CLV_SHAPE, "keys of %s, x of %s; values of %s and %s",
            clv_dtype_name((clv_dtype)keys->dtype),
            clv_dtype_name((clv_dtype)x->dtype),
            clv_dtype_name((clv_dtype)values->dtype), clv_dtype_name(other));
    return out_shape(g, n, 0, (clv_dtype)values->dtype, x->rank, x->dims, e);
}

/* x (N,C) -> the same numbers: in row i those of map i, in column j those whose
 * key is label j. */
clv_status infer_zip_map(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    const clv_attr *texts = attr_get(n, CLV_A_LABEL_TEXTS);
    const clv_attr *labels = texts ? texts : attr_get(n, CLV_A_LABELS);
    if (x->rank == CLV_NO_RANK)
        return CLV_OK;
    if (x->rank < 1 || x->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    if (labels && features_of(x) >= 0 && labels->n != features_of(x))
        return clv__fail(e, CLV_SHAPE, "%u labels for %lld scores", labels->n,
                         (long long)features_of(x));
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, x->dims, e);
}

/* -- n-grams --------------------------------------------------------------*/

/* x (..,T) -> (..,size): how often each n-gram occurs */
clv_status infer_tfidf(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t dims[2] = {0, 0}, size = attr_int(n, CLV_A_SIZE);
    if (x->rank < 1 || x->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    dims[0] = x->dims[0];
    dims[x->rank - 1] = size;
    return out_shape(g, n, 0, CLV_FLOAT32, x->rank, dims, e);
}

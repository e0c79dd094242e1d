/* matmul.c - matrix products, and determinants. Every output element of a
 * product is a dot product; its length times the number of outputs is the
 * MACs. */
#include "ops/ops.h"

#include <string.h>

static clv_status inner_differ(int64_t a, int64_t b, clv_err *e)
{
    return clv__fail(e, CLV_SHAPE, "inner dims %lld and %lld differ",
                     (long long)a, (long long)b);
}

static clv_status need_ranks(const clv_value *a, const clv_value *b,
                             uint32_t ra, uint32_t rb, clv_err *e)
{
    if (a->rank == ra && b->rank == rb)
        return CLV_OK;
    return clv__fail(e, CLV_SHAPE, "ranks %u and %u, takes %u and %u", a->rank,
                     b->rank, ra, rb);
}

/* `outputs` dot products of length k, and a bias added to each output. */
static void dot_products(clv_cost *c, int64_t outputs, int64_t k, bool bias)
{
    c->macs = sat_mul(outputs, k);
    c->flops = sat_mul(2, c->macs);
    if (bias)
        c->flops = sat_add(c->flops, outputs);
}

/* -- linear ---------------------------------------------------------------*/

/* x (..,K), w (M,K), bias (M) -> y (..,M); a w of rank 1 makes M vanish */
clv_status infer_linear(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    const clv_value *bias = node_in(g, n, 2);
    if (x->rank < 1 || w->rank < 1 || w->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, weight of rank %u",
                         x->rank, w->rank);
    if (x->dims[x->rank - 1] != w->dims[w->rank - 1])
        return inner_differ(x->dims[x->rank - 1], w->dims[w->rank - 1], e);
    int64_t dims[CLV_MAX_RANK], out = w->rank == 2 ? w->dims[0] : 1;
    if (bias && clv__numel(bias) != out)
        return clv__fail(e, CLV_SHAPE, "bias of %lld for %lld outputs",
                         (long long)clv__numel(bias), (long long)out);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = out;
    uint32_t rank = w->rank == 2 ? x->rank : x->rank - 1u;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

void cost_linear(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *w = node_in(g, n, 1);
    dot_products(c, clv__numel(node_out(g, n, 0)), w->dims[w->rank - 1],
                 node_in(g, n, 2));
}

/* -- products of two tensors ----------------------------------------------*/

/* a (..,M,K), b (..,K,N) -> (..,M,N), batch axes broadcast; a vector on
 * either side is a matrix with one row or column that is dropped again. */
static clv_status matmul_shape(clv_graph *g, clv_node *n, const clv_value *a,
                               const clv_value *b, clv_dtype dtype, clv_err *e)
{
    if (a->rank < 1 || b->rank < 1)
        return clv__fail(e, CLV_SHAPE, "ranks %u and %u", a->rank, b->rank);
    int64_t k = a->dims[a->rank - 1];
    int64_t kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (k != kb)
        return inner_differ(k, kb, e);
    clv_value batch_a = {.dims = a->dims,
                         .rank = a->rank > 2 ? a->rank - 2 : 0};
    clv_value batch_b = {.dims = b->dims,
                         .rank = b->rank > 2 ? b->rank - 2 : 0};
    int64_t dims[CLV_MAX_RANK + 2];
    uint32_t rank;
    CLV_TRY(broadcast(&batch_a, &batch_b, dims, &rank, e));
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        dims[rank++] = b->dims[b->rank - 1];
    return out_shape(g, n, 0, dtype, rank, dims, e);
}

clv_status infer_matmul(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0);
    return matmul_shape(g, n, a, node_in(g, n, 1), (clv_dtype)a->dtype, e);
}

/* Batches of matrices; nothing broadcasts. */
clv_status infer_bmm(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    CLV_TRY(need_ranks(a, b, 3, 3, e));
    if (a->dims[0] != b->dims[0])
        return clv__fail(e, CLV_SHAPE, "batches of %lld and %lld",
                         (long long)a->dims[0], (long long)b->dims[0]);
    return infer_matmul(g, n, e);
}

clv_status infer_mv(clv_graph *g, clv_node *n, clv_err *e)
{
    CLV_TRY(need_ranks(node_in(g, n, 0), node_in(g, n, 1), 2, 1, e));
    return infer_matmul(g, n, e);
}

clv_status infer_dot(clv_graph *g, clv_node *n, clv_err *e)
{
    CLV_TRY(need_ranks(node_in(g, n, 0), node_in(g, n, 1), 1, 1, e));
    return infer_matmul(g, n, e);
}

/* a, b, zero points of both -> int32 */
clv_status infer_matmul_integer(clv_graph *g, clv_node *n, clv_err *e)
{
    return matmul_shape(g, n, node_in(g, n, 0), node_in(g, n, 1), CLV_INT32, e);
}

/* a, scale, zero; b, scale, zero; scale and zero of y */
clv_status infer_qlinear_matmul(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 7)->dtype;
    return matmul_shape(g, n, node_in(g, n, 0), node_in(g, n, 3), t, e);
}

void cost_matmul(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0);
    dot_products(c, clv__numel(node_out(g, n, 0)), a->dims[a->rank - 1], false);
}

/* A product, then scale, round and shift of each output: 3 more. */
void cost_qlinear_matmul(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    cost_matmul(g, n, c);
    c->flops = sat_add(c->flops, sat_mul(3, clv__numel(node_out(g, n, 0))));
}

/* -- a product and a sum --------------------------------------------------*/

/* c + a @ b, with a (M,K), b (K,N) or batches of both; c broadcasts. */
static clv_status addmm_shape(clv_graph *g, clv_node *n, uint32_t rank,
                              clv_err *e)
{
    const clv_value *a = node_in(g, n, 1), *b = node_in(g, n, 2);
    CLV_TRY(need_ranks(a, b, rank, rank, e));
    if (rank == 3 && a->dims[0] != b->dims[0])
        return clv__fail(e, CLV_SHAPE, "batches of %lld and %lld",
                         (long long)a->dims[0], (long long)b->dims[0]);
    CLV_TRY(matmul_shape(g, n, a, b, (clv_dtype)a->dtype, e));
    return fits(node_out(g, n, 0), node_in(g, n, 0), e);
}

clv_status infer_addmm(clv_graph *g, clv_node *n, clv_err *e)
{
    return addmm_shape(g, n, 2, e);
}

clv_status infer_baddbmm(clv_graph *g, clv_node *n, clv_err *e)
{
    return addmm_shape(g, n, 3, e);
}

void cost_addmm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 1);
    dot_products(c, clv__numel(node_out(g, n, 0)), a->dims[a->rank - 1], true);
}

/* a (M,K) or with trans_a (K,M); b (K,N) or with trans_b (N,K); c broadcasts */
clv_status infer_gemm(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    CLV_TRY(need_ranks(a, b, 2, 2, e));
    int ta = attr_int(n, CLV_A_TRANS_A) != 0;
    int tb = attr_int(n, CLV_A_TRANS_B) != 0;
    if (a->dims[!ta] != b->dims[tb])
        return inner_differ(a->dims[!ta], b->dims[tb], e);
    int64_t dims[2] = {a->dims[ta], b->dims[!tb]};
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)a->dtype, 2, dims, e));
    const clv_value *bias = node_in(g, n, 2);
    return bias ? fits(node_out(g, n, 0), bias, e) : CLV_OK;
}

void cost_gemm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0);
    int64_t k = a->dims[attr_int(n, CLV_A_TRANS_A) != 0 ? 0 : 1];
    dot_products(c, clv__numel(node_out(g, n, 0)), k, node_in(g, n, 2));
}

/* -- forms and distances --------------------------------------------------*/

/* x (..,I), y (..,J), w (O,I,J), bias (O) -> (..,O): x W_o y for every o */
clv_status infer_bilinear(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *y = node_in(g, n, 1);
    const clv_value *w = node_in(g, n, 2), *bias = node_in(g, n, 3);
    if (x->rank < 1 || x->rank != y->rank || w->rank != 3)
        return clv__fail(e, CLV_SHAPE, "ranks %u, %u and %u", x->rank, y->rank,
                         w->rank);
    uint32_t last = x->rank - 1u;
    if (memcmp(x->dims, y->dims, last * sizeof *x->dims))
        return clv__fail(e, CLV_SHAPE, "the batches differ");
    if (x->dims[last] != w->dims[1])
        return inner_differ(x->dims[last], w->dims[1], e);
    if (y->dims[last] != w->dims[2])
        return inner_differ(y->dims[last], w->dims[2], e);
    if (bias && clv__numel(bias) != w->dims[0])
        return clv__fail(e, CLV_SHAPE, "bias of %lld for %lld outputs",
                         (long long)clv__numel(bias), (long long)w->dims[0]);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[last] = w->dims[0];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* x W_o takes I*J, its product with y another J. */
void cost_bilinear(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *w = node_in(g, n, 2);
    dot_products(c, clv__numel(node_out(g, n, 0)),
                 sat_mul(sat_add(w->dims[1], 1), w->dims[2]), node_in(g, n, 3));
}

/* a (..,P,M), b (..,R,M) -> (..,P,R) */
clv_status infer_cdist(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    if (a->rank < 2 || b->rank < 2)
        return clv__fail(e, CLV_SHAPE, "ranks %u and %u", a->rank, b->rank);
    if (a->dims[a->rank - 1] != b->dims[b->rank - 1])
        return inner_differ(a->dims[a->rank - 1], b->dims[b->rank - 1], e);
    clv_value batch_a = {.dims = a->dims, .rank = a->rank - 2};
    clv_value batch_b = {.dims = b->dims, .rank = b->rank - 2};
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(&batch_a, &batch_b, dims, &rank, e));
    dims[rank++] = a->dims[a->rank - 2];
    dims[rank++] = b->dims[b->rank - 2];
    return out_shape(g, n, 0, (clv_dtype)a->dtype, rank, dims, e);
}

/* Products in groups. Group g of the axis that is cut ends at ends[g]:
 *
 *   a (M,K), b (G,K,N)   -> (M,N)     rows of a; each group its own b
 *   a (G,M,K), b (K,N)   -> (M,N)     columns of b; each group its own a
 *   a (M,K), b (K,N)     -> (G,M,N)   the inner axis; a product per group
 *   a (G,M,K), b (G,K,N) -> (G,M,N)   nothing is cut, and there are no ends */
clv_status infer_grouped_matmul(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    const clv_value *ends = node_in(g, n, 2);
    uint32_t ra = a->rank, rb = b->rank;
    if (ra < 2 || ra > 3 || rb < 2 || rb > 3)
        return clv__fail(e, CLV_SHAPE, "ranks %u and %u", ra, rb);
    if (a->dims[ra - 1] != b->dims[rb - 2])
        return inner_differ(a->dims[ra - 1], b->dims[rb - 2], e);
    bool cut = ra == 2 || rb == 2;
    if (cut != (ends != NULL) || (ends && ends->rank != 1))
        return clv__fail(e, CLV_SHAPE,
                         cut ? "needs the ends of its groups"
                             : "takes no ends of groups");
    int64_t groups = ra == 3   ? a->dims[0]
                     : rb == 3 ? b->dims[0]
                               : ends->dims[0];
    if ((rb == 3 && b->dims[0] != groups) || (ends && ends->dims[0] != groups))
        return clv__fail(e, CLV_SHAPE, "%lld groups, others have %lld",
                         (long long)groups,
                         (long long)(ends ? ends->dims[0] : b->dims[0]));
    int64_t dims[3] = {groups, a->dims[ra - 2], b->dims[rb - 1]};
    return ra == rb ? out_shape(g, n, 0, (clv_dtype)a->dtype, 3, dims, e)
                    : out_shape(g, n, 0, (clv_dtype)a->dtype, 2, dims + 1, e);
}

/* M*K*N, however the groups lie; G times that where nothing is cut. */
void cost_grouped_matmul(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    int64_t outputs = sat_mul(a->dims[a->rank - 2], b->dims[b->rank - 1]);
    if (!node_in(g, n, 2))
        outputs = sat_mul(outputs, a->dims[0]);
    dot_products(c, outputs, a->dims[a->rank - 1], false);
}

/* Per coordinate subtract, power, add: `unit`; per pair one root. */
void cost_cdist(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0);
    int64_t each = sat_mul(clv__ops[n->op].unit, a->dims[a->rank - 1]);
    c->flops = sat_mul(clv__numel(node_out(g, n, 0)), sat_add(each, 1));
}

void par_matmul(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    const clv_value *y = node_out(g, n, 0);
    uint32_t r = y->rank;
    p->batch = r > 1 ? dims_product(y->dims, 0, r > 2 ? r - 2u : 1u) : 1;
    p->spatial = r > 2 ? y->dims[r - 2] : 1;
    p->channels = r ? y->dims[r - 1] : 1;
    p->can_split_batch = p->batch > 1;
    p->can_split_spatial = p->spatial > 1;
    p->can_split_channels = p->channels > 1;
    p->vectorizable_dim = "channels";
}

/* -- packed weights -------------------------------------------------------*/

/* x (..,K), packed weight (N,K) of few bits, its rows padded to whole blocks,
 * scales, zero points, order, bias -> (..,N) */
clv_status infer_linear_nbits(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    int64_t depth = x->rank ? x->dims[x->rank - 1] : 0;
    if (x->rank < 1 || w->rank != 2 || depth > w->dims[1] ||
        w->dims[1] - depth >= attr_int(n, CLV_A_BLOCK))
        return clv__fail(e, CLV_SHAPE, "input and packed weight do not fit");
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = w->dims[0];
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* The product, and a scale and shift of each weight to unpack it. */
void cost_linear_nbits(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    c->macs = sat_mul(clv__numel(x), w->dims[0]);
    c->flops = sat_add(sat_mul(2, c->macs), sat_mul(2, clv__numel(w)));
    if (node_in(g, n, 5))
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
}

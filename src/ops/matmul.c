/* matmul.c - matrix products: linear, matmul, bmm, addmm, attention. */
#include "ops/ops.h"

#include <string.h>

static clv_status inner_differ(int64_t a, int64_t b, clv_err *e)
{
    return clv__fail(e, CLV_SHAPE, "inner dims %lld and %lld differ",
                     (long long)a, (long long)b);
}

/* x (..,K), w (M,K) -> y (..,M) */
clv_status infer_linear(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    if (x->rank < 1 || w->rank < 1 || w->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, weight of rank %u",
                         x->rank, w->rank);
    if (x->dims[x->rank - 1] != w->dims[w->rank - 1])
        return inner_differ(x->dims[x->rank - 1], w->dims[w->rank - 1], e);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = w->dims[0];
    uint32_t rank = w->rank == 2 ? x->rank : x->rank - 1u;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

void cost_linear(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    c->macs = sat_mul(clv__numel(x), w->rank == 2 ? w->dims[0] : 1);
    c->flops = sat_mul(2, c->macs);
    if (node_in(g, n, 2))
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
}

/* a (..,M,K), b (..,K,N) -> (..,M,N), batch axes broadcast; a vector on
 * either side is a matrix with one row or column that is dropped again. */
clv_status infer_matmul(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
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
    return out_shape(g, n, 0, (clv_dtype)a->dtype, rank, dims, e);
}

/* Every output element is a dot product of length K. */
void cost_matmul(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0);
    c->macs = sat_mul(clv__numel(node_out(g, n, 0)), a->dims[a->rank - 1]);
    c->flops = sat_mul(2, c->macs);
}

/* beta * c + alpha * a @ b, with a (M,K), b (K,N), c broadcast to (M,N) */
clv_status infer_addmm(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 1), *b = node_in(g, n, 2);
    if (a->rank != b->rank || a->rank < 2 || a->rank > 3)
        return clv__fail(e, CLV_SHAPE, "ranks %u and %u", a->rank, b->rank);
    uint32_t r = a->rank;
    if (a->dims[r - 1] != b->dims[r - 2])
        return inner_differ(a->dims[r - 1], b->dims[r - 2], e);
    int64_t dims[3] = {a->dims[0], a->dims[r - 2], b->dims[r - 1]};
    return out_shape(g, n, 0, (clv_dtype)a->dtype, r, dims + (3 - r), e);
}

void cost_addmm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 1);
    int64_t out = clv__numel(node_out(g, n, 0));
    c->macs = sat_mul(out, a->dims[a->rank - 1]);
    c->flops = sat_add(sat_mul(2, c->macs), out);
}

/* q (..,S,D), k (..,T,D), v (..,T,E) -> (..,S,E) */
clv_status infer_sdpa(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *q = node_in(g, n, 0), *k = node_in(g, n, 1);
    const clv_value *v = node_in(g, n, 2);
    uint32_t r = q->rank;
    if (r < 2 || k->rank != r || v->rank != r)
        return clv__fail(e, CLV_SHAPE, "ranks %u, %u and %u", r, k->rank,
                         v->rank);
    if (q->dims[r - 1] != k->dims[r - 1])
        return inner_differ(q->dims[r - 1], k->dims[r - 1], e);
    if (k->dims[r - 2] != v->dims[r - 2])
        return clv__fail(e, CLV_SHAPE, "%lld keys for %lld values",
                         (long long)k->dims[r - 2], (long long)v->dims[r - 2]);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, q->dims, r * sizeof *dims);
    dims[r - 1] = v->dims[r - 1];
    return out_shape(g, n, 0, (clv_dtype)q->dtype, r, dims, e);
}

/* Two products, and per score: scale 1, softmax 5. */
void cost_sdpa(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *q = node_in(g, n, 0), *v = node_in(g, n, 2);
    uint32_t r = q->rank;
    int64_t scores = sat_mul(dims_product(q->dims, 0, r - 1), v->dims[r - 2]);
    c->macs = sat_mul(scores, sat_add(q->dims[r - 1], v->dims[r - 1]));
    c->flops = sat_add(sat_mul(2, c->macs), sat_mul(6, scores));
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

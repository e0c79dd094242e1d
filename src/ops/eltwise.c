/* eltwise.c - one output element per input element: activations, arithmetic
 * with broadcasting, norms; and the rules for views and plain moves. */
#include "ops/ops.h"

#include <string.h>

clv_status infer_unknown(clv_graph *g, clv_node *n, clv_err *e)
{
    (void)g, (void)n, (void)e; /* outputs stay as the builder declared them */
    return CLV_OK;
}

void cost_unknown(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    (void)g, (void)n;
    c->trust = CLV_UNKNOWN;
}

clv_status infer_same(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_like(g, n, 0, node_in(g, n, 0), e);
}

/* The wider kind wins (bool < int < float), as in PyTorch; a zero-dim tensor
 * of the same kind does not widen. */
static clv_dtype promote(const clv_value *a, const clv_value *b)
{
    static const uint8_t kind[CLV_DTYPE_COUNT] = {
#define NONE                                0
#define BOOL                                1
#define UINT                                2
#define INT                                 2
#define FLOAT                               3
#define COMPLEX                             4
#define CLV_X(code, name, alias, bits, cls) [CLV_##code] = cls,
        CLV_DTYPE_TABLE(CLV_X)
#undef CLV_X
#undef NONE
#undef BOOL
#undef UINT
#undef INT
#undef FLOAT
#undef COMPLEX
    };
    if (a->dtype == b->dtype)
        return (clv_dtype)a->dtype;
    if (kind[a->dtype] != kind[b->dtype])
        return (clv_dtype)(kind[a->dtype] > kind[b->dtype] ? a : b)->dtype;
    if (!a->rank != !b->rank)
        return (clv_dtype)(a->rank ? a : b)->dtype;
    int64_t wa = clv_dtype_bytes(a->dtype, 8),
            wb = clv_dtype_bytes(b->dtype, 8);
    if (wa == wb && kind[a->dtype] == 3)
        return CLV_FLOAT32; /* float16 with bfloat16 */
    return (clv_dtype)(wa >= wb ? a : b)->dtype;
}

clv_status infer_broadcast(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    if (!b)
        return out_like(g, n, 0, a, e);
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(a, b, dims, &rank, e));
    return out_shape(g, n, 0, promote(a, b), rank, dims, e);
}

/* `unit` FLOPs per output element. */
void cost_eltwise(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(clv__ops[n->op].unit, clv__numel(node_out(g, n, 0)));
}

void cost_free(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    (void)g, (void)n;
    c->trust = CLV_FREE;
}

/* Moves bytes, computes nothing. */
void cost_move(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    (void)g, (void)n, (void)c;
}

/* -- norms ----------------------------------------------------------------*/

/* In evaluation the statistics are constants: y = x*a + b, two per element. */
void cost_batch_norm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    cost_eltwise(g, n, c);
}

/* `unit` for the statistics and the normalisation, then a multiply for the
 * weight and an add for the bias where there is one. */
void cost_norm(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t unit = clv__ops[n->op].unit;
    unit += node_in(g, n, 1) != NULL;
    unit += node_in(g, n, 2) != NULL;
    c->flops = sat_mul(unit, clv__numel(node_out(g, n, 0)));
}

/* -- parallelism ----------------------------------------------------------*/

void par_none(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    (void)g, (void)n, (void)p;
}

/* (N,C,..): every element on its own. */
void par_eltwise(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    if (n->n_out == 0 || node_out(g, n, 0)->rank == CLV_NO_RANK)
        return;
    const clv_value *y = node_out(g, n, 0);
    p->batch = y->rank > 0 ? y->dims[0] : 1;
    p->channels = y->rank > 1 ? y->dims[1] : 1;
    p->spatial = y->rank > 2 ? dims_product(y->dims, 2, y->rank) : 1;
    p->can_split_batch = p->batch > 1;
    p->can_split_channels = p->channels > 1;
    p->can_split_spatial = p->spatial > 1;
    p->vectorizable_dim = p->spatial > 1 ? "spatial" : "channels";
}

/* As elementwise, but the axis that is summed over cannot be split freely. */
void par_norm(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    par_eltwise(g, n, p);
    if (p->spatial > 1)
        p->can_split_spatial = false;
    else
        p->can_split_channels = false;
}

/* eltwise.c - one output element per input element: activations, arithmetic
 * with broadcasting, comparison; and the rules for views and plain moves. */
#include "ops/custom.h"
#include "ops/ops.h"

#include <string.h>

/* Outputs stay as the builder declared them, unless the user described it. */
clv_status infer_unknown(clv_graph *g, clv_node *n, clv_err *e)
{
    return clv__custom_infer(g, n, e);
}

void cost_unknown(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    if (!clv__custom_cost(g, n, c))
        c->trust = CLV_TRUST_UNKNOWN;
}

/* -- functions of one input -----------------------------------------------*/

static clv_status out_typed(clv_graph *g, clv_node *n, clv_dtype dtype,
                            clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    return out_shape(g, n, 0, dtype, x->rank, x->dims, e);
}

clv_status infer_same(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_like(g, n, 0, node_in(g, n, 0), e);
}

/* Output 1, where there is one, is the mask. */
clv_status infer_dropout(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    CLV_TRY(out_shape(g, n, 1, asked_type(n, CLV_BOOL), x->rank, x->dims, e));
    return out_like(g, n, 0, x, e);
}

/* exp, sqrt, ...: of integers they are floating, unless `dtype` says more. */
clv_status infer_float(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_typed(g, n, kept_type(g, n, to_float(node_in(g, n, 0)->dtype)),
                     e);
}

/* A question to each element. */
clv_status infer_test(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_typed(g, n, CLV_BOOL, e);
}

clv_status infer_cast(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = asked_type(n, CLV_NODTYPE);
    if (t == CLV_NODTYPE)
        return clv__fail(e, CLV_SHAPE, "cast to no known type");
    return out_typed(g, n, t, e);
}

clv_status infer_cast_like(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    return out_shape(g, n, 0, (clv_dtype)node_in(g, n, 1)->dtype, x->rank,
                     x->dims, e);
}

/* The same bytes as another type, of as many bits. */
clv_status infer_bitcast(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    clv_dtype t = asked_type(n, CLV_NODTYPE);
    if (clv_dtype_bytes(t, 8) != clv_dtype_bytes((clv_dtype)x->dtype, 8))
        return clv__fail(e, CLV_SHAPE, "%s taken as %s",
                         clv_dtype_name((clv_dtype)x->dtype),
                         clv_dtype_name(t));
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* The size of a complex number is real. */
clv_status infer_abs(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    if (dtype_class_of(t) == CLASS_COMPLEX)
        t = t == CLV_COMPLEX128 ? CLV_FLOAT64 : CLV_FLOAT32;
    return out_typed(g, n, t, e);
}

/* As x to the power of the integer 2, which makes an integer of a bool. */
clv_status infer_square(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return out_typed(g, n, t == CLV_BOOL ? CLV_INT64 : t, e);
}

/* x and a slope for all, for each index of an axis, or of a shape that fits */
clv_status infer_prelu(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *slope = node_in(g, n, 1);
    uint32_t axis;
    if (clv__numel(slope) == 1)
        return infer_same(g, n, e);
    if (attr_get(n, CLV_A_AXIS)) {
        CLV_TRY(get_axis(n, x->rank, &axis, e));
        if (slope->rank != 1 || slope->dims[0] != x->dims[axis])
            return clv__fail(e, CLV_SHAPE, "no slope for each of the %lld",
                             (long long)x->dims[axis]);
    } else {
        CLV_TRY(fits(x, slope, e));
    }
    return infer_same(g, n, e);
}

/* Halves an axis: one half gates the other. */
clv_status infer_glu(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    if (x->dims[axis] % 2)
        return clv__fail(e, CLV_SHAPE, "axis of odd size %lld cannot be halved",
                         (long long)x->dims[axis]);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] /= 2;
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

clv_status infer_softmax(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    CLV_TRY(get_axis(n, x->rank, &axis, e));
    return out_typed(g, n, asked_type(n, (clv_dtype)x->dtype), e);
}

/* -- functions of several -------------------------------------------------*/

static clv_status out_broadcast(clv_graph *g, clv_node *n, clv_dtype dtype,
                                clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast_from(g, n, 0, dims, &rank, e));
    const clv_value *x = node_in(g, n, 0);
    if (x && rank && x->rank == rank &&
        !memcmp(x->dims, dims, rank * sizeof *dims)) {
        clv_value y = *x;
        y.dtype = (uint8_t)dtype;
        return out_like(g, n, 0, &y, e);
    }
    return out_shape(g, n, 0, dtype, rank, dims, e);
}

clv_status infer_broadcast(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_broadcast(g, n, result_type(g, n, 0), e);
}

/* True division: of integers it is floating, unless `mode` rounds, or keeps
 * ("typed") the type. */
clv_status infer_divide(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = result_type(g, n, 0);
    bool rounds = n->op == CLV_OP_DIV && !attr_is(n, CLV_A_MODE, "none");
    return out_broadcast(g, n, rounds ? t : to_float(t), e);
}

clv_status infer_compare(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_broadcast(g, n, CLV_BOOL, e);
}

clv_status infer_bits(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = result_type(g, n, 0);
    if (t != CLV_NODTYPE && !dtype_is_integral(t))
        return clv__fail(e, CLV_SHAPE, "bits of %s", clv_dtype_name(t));
    return out_broadcast(g, n, t, e);
}

/* condition, then, else */
clv_status infer_where(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_broadcast(g, n, result_type(g, n, 1), e);
}

/* x, mask, and what to put: the type stays that of x. */
clv_status infer_masked_fill(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *mask = node_in(g, n, 1);
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(x, mask, dims, &rank, e));
    return out_shape(g, n, 0, (clv_dtype)x->dtype, rank, dims, e);
}

/* -- cost -----------------------------------------------------------------*/

/* `unit` FLOPs per output element. */
void cost_eltwise(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(clv__ops[n->op].unit, clv__numel(node_out(g, n, 0)));
}

/* x * (1 + erf(x / sqrt 2)) / 2 is 5; with tanh of a cubic it is 9. */
void cost_gelu(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    bool tanh = attr_is(n, CLV_A_APPROXIMATE, "tanh");
    int64_t unit = tanh ? 9 : clv__ops[n->op].unit;
    c->flops = sat_mul(unit, clv__numel(node_out(g, n, 0)));
}

/* `unit` for each operand after the first. */
void cost_nary(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    cost_eltwise(g, n, c);
    if (n->n_in > 2)
        c->flops = sat_mul(c->flops, n->n_in - 1);
}

/* n - 1 additions and a division. */
void cost_mean_n(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(n->n_in, clv__numel(node_out(g, n, 0)));
}

/* A comparison for each bound that is there. */
void cost_clamp(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    bool low = node_in(g, n, 1) || attr_get(n, CLV_A_MIN);
    bool high = node_in(g, n, 2) || attr_get(n, CLV_A_MAX);
    c->flops = sat_mul(low + high, clv__numel(node_out(g, n, 0)));
}

void cost_free(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    (void)g, (void)n;
    c->trust = CLV_TRUST_FREE;
}

/* Moves bytes, computes nothing. */
void cost_move(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    (void)g, (void)n, (void)c;
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

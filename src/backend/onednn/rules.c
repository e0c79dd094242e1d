/* rules.c - how each operator becomes a primitive: one row, one function. */
#include "backend/onednn/onednn.h"

#include <math.h>
#include <string.h>

static clv_status one_to_one(lowering *l, dnnl_primitive_desc_t pd,
                             uint32_t src, uint32_t node)
{
    uint32_t slots[2] = {src, 0};
    const int args[] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    const dnnl_memory_desc_t md = *dnn_query(pd, dnnl_query_dst_md, 0);
    clv_status s = dnn_new(l, dnn_out(l, node), &md, &slots[1]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_op(l, pd, args, slots, 2);
}

/* -- elementwise ----------------------------------------------------------*/

/* The bounds of a clamp: attributes, or inputs 1 and 2. */
static bool bounds(const lowering *l, uint32_t node, float *lo, float *hi)
{
    const clv_node *n = &l->g->nodes[node];
    bool clamp = n->op == CLV_OP_CLAMP; /* which may have one bound alone */
    *lo = clamp && !attr_get(n, CLV_A_MIN) ? -INFINITY
                                           : (float)attr_float(n, CLV_A_MIN);
    *hi = clamp && !attr_get(n, CLV_A_MAX) ? INFINITY
                                           : (float)attr_float(n, CLV_A_MAX);
    uint32_t a = dnn_in(l, node, 1), b = dnn_in(l, node, 2);
    return (a == CLV_NONE || dnn_scalar(l, a, lo)) &&
           (b == CLV_NONE || dnn_scalar(l, b, hi));
}

/* y = alpha x + beta, of arithmetic with one constant. */
static bool linear(const lowering *l, uint32_t node, float *alpha, float *beta)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t a = dnn_in(l, node, 0), b = dnn_in(l, node, 1);
    float c = attr_get(n, CLV_A_VALUE) ? (float)attr_float(n, CLV_A_VALUE) : 0;
    bool first = false;
    if (n->n_in == 2) {
        if (clv__numel(dnn_value(l, b)) == 1 && dnn_scalar(l, b, &c))
            first = true;
        else if (!dnn_scalar(l, a, &c) || n->op == CLV_OP_DIV ||
                 n->op == CLV_OP_SUB)
            return false;
    } else if (n->n_in != 1 || !attr_get(n, CLV_A_VALUE)) {
        return false;
    } else {
        first = true;
    }
    const clv_value *x = dnn_value(l, first ? a : b);
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * 8))
        return false;
    if (n->op == CLV_OP_DIV && fabsf(c) > 0 && !isfinite(1 / c))
        return false;
    *alpha = n->op == CLV_OP_MUL ? c : n->op == CLV_OP_DIV ? 1 / c : 1;
    *beta = n->op == CLV_OP_ADD ? c : n->op == CLV_OP_SUB ? -c : 0;
    return n->op == CLV_OP_MUL || n->op == CLV_OP_DIV || n->op == CLV_OP_ADD ||
           n->op == CLV_OP_SUB;
}

/* Functions of one element: oneDNN's algorithm, and its two parameters as
 * numbers, or `key` as the first of them. */
static const struct eltwise_row {
    clv_op op;
    dnnl_alg_kind_t alg;
    clv_attr_key key; /* CLV_A_OTHER: none */
    float alpha, beta;
} eltwise_rows[] = {
    {CLV_OP_RELU, dnnl_eltwise_relu, CLV_A_OTHER, 0, 0},
    {CLV_OP_LEAKY_RELU, dnnl_eltwise_relu, CLV_A_ALPHA, 0, 0},
    {CLV_OP_RELU6, dnnl_eltwise_clip_v2, CLV_A_OTHER, 0, 6},
    {CLV_OP_SIGMOID, dnnl_eltwise_logistic, CLV_A_OTHER, 0, 0},
    {CLV_OP_TANH, dnnl_eltwise_tanh, CLV_A_OTHER, 0, 0},
    {CLV_OP_SILU, dnnl_eltwise_swish, CLV_A_ALPHA, 0, 0},
    {CLV_OP_HARDSWISH, dnnl_eltwise_hardswish, CLV_A_OTHER, 0, 0},
    {CLV_OP_GELU, dnnl_eltwise_gelu_erf, CLV_A_OTHER, 0, 0},
    {CLV_OP_ELU, dnnl_eltwise_elu, CLV_A_ALPHA, 0, 0},
    {CLV_OP_EXP, dnnl_eltwise_exp, CLV_A_OTHER, 0, 0},
    {CLV_OP_SQRT, dnnl_eltwise_sqrt, CLV_A_OTHER, 0, 0},
    {CLV_OP_ABS, dnnl_eltwise_abs, CLV_A_OTHER, 0, 0},
    {CLV_OP_SQUARE, dnnl_eltwise_square, CLV_A_OTHER, 0, 0},
    {CLV_OP_MISH, dnnl_eltwise_mish, CLV_A_OTHER, 0, 0},
    {CLV_OP_NEG, dnnl_eltwise_linear, CLV_A_OTHER, -1, 0},
};

bool dnn_eltwise(const lowering *l, uint32_t node, dnnl_alg_kind_t *alg,
                 float *alpha, float *beta)
{
    const clv_node *n = &l->g->nodes[node];
    *alpha = *beta = 0;
    for (size_t i = 0; i < sizeof eltwise_rows / sizeof *eltwise_rows; i++) {
        const struct eltwise_row *r = &eltwise_rows[i];
        if (r->op != n->op)
            continue;
        bool tanh =
            n->op == CLV_OP_GELU && attr_is(n, CLV_A_APPROXIMATE, "tanh");
        *alg = tanh ? dnnl_eltwise_gelu_tanh : r->alg;
        *alpha =
            r->key == CLV_A_OTHER ? r->alpha : (float)attr_float(n, r->key);
        *beta = r->beta;
        /* of slope 0, an infinity becomes NaN, which oneDNN's relu lacks */
        return n->op != CLV_OP_LEAKY_RELU || fabsf(*alpha) > 0;
    }
    *alg = dnnl_eltwise_clip_v2;
    if (n->op == CLV_OP_CLAMP)
        return bounds(l, node, alpha, beta);
    *alg = dnnl_eltwise_linear;
    return linear(l, node, alpha, beta);
}

static clv_status lower_eltwise(lowering *l, uint32_t node)
{
    dnnl_alg_kind_t alg;
    float alpha, beta, c;
    uint32_t src, x = dnn_in(l, node, 0);
    dnnl_eltwise_desc_t d;
    dnnl_primitive_desc_t pd;
    if (!dnn_eltwise(l, node, &alg, &alpha, &beta))
        return dnn_no(l, "no such elementwise function");
    if (l->g->nodes[node].n_in > 1 && dnn_scalar(l, x, &c) &&
        alg == dnnl_eltwise_linear && dnn_in(l, node, 1) != CLV_NONE)
        x = dnn_in(l, node, 1);
    CLV_TRY(dnn_dense(l, x, &src));
    DNN(l, dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference, alg,
                                          &l->x->slots[src].md, alpha, beta));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    return one_to_one(l, pd, src, node);
}

/* A line, then a clip, in place. */
static clv_status lower_hardsigmoid(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t slots[2];
    const int args[] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    const float alpha[] = {(float)attr_float(n, CLV_A_ALPHA), 0};
    const float beta[] = {(float)attr_float(n, CLV_A_BETA), 1};
    const dnnl_alg_kind_t alg[] = {dnnl_eltwise_linear, dnnl_eltwise_clip_v2};
    CLV_TRY(dnn_dense(l, dnn_in(l, node, 0), &slots[0]));
    const dnnl_memory_desc_t md = l->x->slots[slots[0]].md;
    CLV_TRY(dnn_new(l, dnn_out(l, node), &md, &slots[1]));
    for (int i = 0; i < 2; i++) {
        dnnl_eltwise_desc_t d;
        dnnl_primitive_desc_t pd;
        DNN(l, dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference,
                                              alg[i], &md, alpha[i], beta[i]));
        DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
        CLV_TRY(dnn_op(l, pd, args, slots, 2));
        slots[0] = slots[1];
    }
    return CLV_OK;
}

/* -- two operands ---------------------------------------------------------*/

/* v with ones in front, so that it has the axes of the result. */
static clv_status spread(lowering *l, uint32_t v, const clv_value *like,
                         uint32_t *slot)
{
    const clv_value *x = dnn_value(l, v);
    int64_t dims[CLV_MAX_RANK];
    if (x->rank == like->rank)
        return dnn_dense(l, v, slot);
    for (uint32_t i = 0; i < like->rank; i++)
        dims[i] = i < (uint32_t)(like->rank - x->rank)
                      ? 1
                      : x->dims[i - (like->rank - x->rank)];
    return dnn_view(l, v, dims, like->rank, slot);
}

static clv_status binary_pd(lowering *l, dnnl_alg_kind_t alg,
                            const dnnl_memory_desc_t *a,
                            const dnnl_memory_desc_t *b, const clv_value *y,
                            dnnl_primitive_desc_t *pd)
{
    dnnl_binary_desc_t d;
    dnnl_memory_desc_t any;
    dnn_any(&any, y->dims, y->rank);
    DNN(l, dnnl_binary_desc_init(&d, alg, a, b, &any));
    DNN(l, dnnl_primitive_desc_create(pd, &d, l->attr, l->engine, NULL));
    return CLV_OK;
}

/* Operand a lies in blocks of channels and b is broadcast: oneDNN 2.6 has no
 * code for many such pairs but loops that decode every index, which take a
 * hundred times as long. A copy of a in plain order costs less. */
static clv_status binary_plain(lowering *l, dnnl_alg_kind_t alg, uint32_t a,
                               const clv_value *y, uint32_t *slots,
                               dnnl_primitive_desc_t *pd)
{
    dnnl_memory_desc_t plain;
    dnnl_primitive_desc_t other = NULL;
    dnn_plain(&plain, y->dims, y->rank);
    if (dnn_is_jit(*pd))
        return CLV_OK;
    clv_status s =
        binary_pd(l, alg, &plain, &l->x->slots[slots[1]].md, y, &other);
    if (s == CLV_OK && dnn_is_jit(other)) {
        dnnl_primitive_desc_t slow = *pd;
        *pd = other;
        other = slow;
        s = dnn_want(l, a, &plain, &slots[0]);
    }
    if (other)
        dnnl_primitive_desc_destroy(other);
    if (s != CLV_OK)
        dnnl_primitive_desc_destroy(*pd);
    return s;
}

/* oneDNN takes operands for equal whose steps along axes of one element differ,
 * as those of a concatenation and a constant may, and then computes with the
 * wrong elements; and later ones find that kernel in its cache. So both are
 * said to lie as the first one does, with the steps that those axes have in
 * order. */
static clv_status lower_binary(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    dnnl_alg_kind_t alg = dnnl_binary_add, kind;
    float alpha, beta;
    uint32_t a = dnn_in(l, node, 0), b = dnn_in(l, node, 1), slots[3];
    dnnl_primitive_desc_t pd;
    dnnl_memory_desc_t md;
    if (dnn_eltwise(l, node, &kind, &alpha, &beta))
        return lower_eltwise(l, node);
    if (n->n_in != 2 || b == CLV_NONE)
        return dnn_no(l, "not two operands");
    if (dnn_value(l, b)->dtype != CLV_FLOAT32)
        return dnn_no(l, "operands of two types");
    alg = n->op == CLV_OP_MUL       ? dnnl_binary_mul
          : n->op == CLV_OP_SUB     ? dnnl_binary_sub
          : n->op == CLV_OP_DIV     ? dnnl_binary_div
          : n->op == CLV_OP_MAXIMUM ? dnnl_binary_max
          : n->op == CLV_OP_MINIMUM ? dnnl_binary_min
                                    : dnnl_binary_add;
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    if (!dnn_same_dims(dnn_value(l, a), y)) {
        bool swaps = n->op != CLV_OP_SUB && n->op != CLV_OP_DIV;
        if (!swaps || !dnn_same_dims(dnn_value(l, b), y))
            return dnn_no(l, "both operands are broadcast");
        uint32_t t = a;
        a = b;
        b = t;
    }
    CLV_TRY(dnn_dense(l, a, &slots[0]));
    CLV_TRY(spread(l, b, y, &slots[1]));
    bool same = dnn_same_dims(dnn_value(l, b), y);
    if (same) {
        md = l->x->slots[slots[0]].md;
        CLV_TRY(dnn_want(l, b, &md, &slots[1]));
    }
    dnnl_memory_desc_t first = l->x->slots[slots[0]].md;
    dnn_tidy(&first);
    CLV_TRY(binary_pd(l, alg, &first, same ? &first : &l->x->slots[slots[1]].md,
                      y, &pd));
    if (!same)
        CLV_TRY(binary_plain(l, alg, a, y, slots, &pd));
    md = *dnn_query(pd, dnnl_query_dst_md, 0);
    clv_status s = dnn_new(l, dnn_out(l, node), &md, &slots[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    const int args[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST};
    return dnn_op(l, pd, args, slots, 3);
}

/* A slope for all, for each channel or for each element. */
static clv_status lower_prelu(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t slope = dnn_in(l, node, 1), slots[3], axis;
    int64_t dims[CLV_MAX_RANK];
    static const int args[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_prelu_desc_t d;
    dnnl_primitive_desc_t pd;
    if (y->rank > 5)
        return dnn_no(l, "a prelu of this rank");
    CLV_TRY(dnn_dense(l, dnn_in(l, node, 0), &slots[0]));
    if (attr_get(n, CLV_A_AXIS) && clv__numel(dnn_value(l, slope)) != 1) {
        CLV_TRY(get_axis(n, y->rank, &axis, l->e));
        for (uint32_t i = 0; i < y->rank; i++)
            dims[i] = i == axis ? y->dims[axis] : 1;
        CLV_TRY(dnn_view(l, slope, dims, y->rank, &slots[1]));
    } else {
        CLV_TRY(spread(l, slope, y, &slots[1]));
    }
    DNN(l, dnnl_prelu_forward_desc_init(&d, dnnl_forward_inference,
                                        &l->x->slots[slots[0]].md,
                                        &l->x->slots[slots[1]].md));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    const dnnl_memory_desc_t md = l->x->slots[slots[0]].md;
    if (dnn_is_slow(pd))
        return dnnl_primitive_desc_destroy(pd), dnn_no(l, "a slow prelu");
    clv_status s = dnn_new(l, dnn_out(l, node), &md, &slots[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_op(l, pd, args, slots, 3);
}

/* -- norms ----------------------------------------------------------------*/

/* In the layout that its input has, or row-major, if oneDNN is slow with it. */
static clv_status softmax(lowering *l, uint32_t node, bool plain)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t src, axis;
    dnnl_memory_desc_t rows;
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    dnnl_softmax_v2_desc_t d;
    dnnl_primitive_desc_t pd;
    CLV_TRY(get_axis(n, x->rank, &axis, l->e));
    if (n->op == CLV_OP_LOG_SOFTMAX && x->dims[axis] == 1)
        return dnn_no(l, "a log_softmax of one number, which is not exactly 0");
    dnn_plain(&rows, x->dims, x->rank);
    if (plain)
        CLV_TRY(dnn_want(l, dnn_in(l, node, 0), &rows, &src));
    else
        CLV_TRY(dnn_dense(l, dnn_in(l, node, 0), &src));
    const dnnl_memory_desc_t *md = &l->x->slots[src].md;
    DNN(l, dnnl_softmax_v2_forward_desc_init(&d, dnnl_forward_inference,
                                             n->op == CLV_OP_LOG_SOFTMAX
                                                 ? dnnl_softmax_log
                                                 : dnnl_softmax_accurate,
                                             md, md, (int)axis));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    if (!plain && dnn_is_slow(pd)) {
        dnnl_primitive_desc_destroy(pd);
        return softmax(l, node, true);
    }
    return one_to_one(l, pd, src, node);
}

static clv_status lower_softmax(lowering *l, uint32_t node)
{
    return softmax(l, node, false);
}

/* Over the last axis, with weight and bias. */
static clv_status lower_layer_norm(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    uint32_t w = dnn_in(l, node, 1), b = dnn_in(l, node, 2), slots[4],
             count = 2;
    int args[4] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    dnnl_memory_desc_t md, y;
    dnnl_layer_normalization_desc_t d;
    dnnl_primitive_desc_t pd;
    unsigned flags = 0;
    uint32_t axis;
    CLV_TRY(get_norm_axis(n, x->rank, &axis, l->e));
    if (axis != x->rank - 1u || (w != CLV_NONE && dnn_value(l, w)->rank != 1))
        return dnn_no(l, "layer_norm over several axes");
    if ((w != CLV_NONE && clv__numel(dnn_value(l, w)) != x->dims[axis]) ||
        (b != CLV_NONE && clv__numel(dnn_value(l, b)) != x->dims[axis]))
        return dnn_no(l, "layer_norm with a weight or bias that is broadcast");
    dnn_plain(&md, x->dims, x->rank);
    CLV_TRY(dnn_want(l, dnn_in(l, node, 0), &md, &slots[0]));
    if (w != CLV_NONE) {
        flags |= dnnl_use_scale;
        CLV_TRY(dnn_slot(l, w, &slots[count]));
        args[count++] = DNNL_ARG_SCALE;
    }
    if (b != CLV_NONE) {
        flags |= dnnl_use_shift;
        CLV_TRY(dnn_slot(l, b, &slots[count]));
        args[count++] = DNNL_ARG_SHIFT;
    }
    DNN(l, dnnl_layer_normalization_forward_desc_init(
               &d, dnnl_forward_inference, &md, NULL,
               (float)attr_float(n, CLV_A_EPSILON), flags));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    y = *dnn_query(pd, dnnl_query_dst_md, 0);
    clv_status s = dnn_new(l, dnn_out(l, node), &y, &slots[1]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_op(l, pd, args, slots, count);
}

/* x, weight, bias, mean, variance */
clv_status dnn_norm(lowering *l, uint32_t node, bool relu, uint32_t v)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t slots[6], x = dnn_in(l, node, 0);
    unsigned flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift;
    dnnl_batch_normalization_desc_t d;
    dnnl_primitive_desc_t pd;
    static const int args[] = {DNNL_ARG_SRC,  DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                               DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DST};
    for (uint32_t i = 1; i < 5; i++)
        if (dnn_in(l, node, i) == CLV_NONE ||
            clv__numel(dnn_value(l, dnn_in(l, node, i))) !=
                dnn_value(l, x)->dims[1])
            return dnn_no(l, "batch_norm without its statistics");
    /* a norm alone would turn the image there and back */
    CLV_TRY((l->s->n_nodes > 2 ? dnn_dense_last : dnn_dense)(l, x, &slots[0]));
    for (uint32_t i = 1; i < 5; i++)
        CLV_TRY(dnn_dense(l, dnn_in(l, node, i), &slots[i]));
    DNN(l, dnnl_batch_normalization_forward_desc_init(
               &d, dnnl_forward_inference, &l->x->slots[slots[0]].md,
               (float)attr_float(n, CLV_A_EPSILON),
               relu ? flags | dnnl_fuse_norm_relu : flags));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    const dnnl_memory_desc_t md = *dnn_query(pd, dnnl_query_dst_md, 0);
    clv_status s = dnn_new(l, v, &md, &slots[5]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_op(l, pd, args, slots, 6);
}

static clv_status lower_batch_norm(lowering *l, uint32_t node)
{
    return dnn_norm(l, node, false, dnn_out(l, node));
}

/* -- pools ----------------------------------------------------------------*/

typedef struct frame {
    dnnl_dims_t kernel, stride, dilation, before, after;
} frame;

/* oneDNN adds up floats one after another, and n of them lose up to n / 2^24 of
 * their sum. A mean of more than this is left to kernels that add in parts. */
enum { SUMMED_MOST = 1 << 14 };

static clv_status sums_too_many(lowering *l)
{
    return dnn_no(l, "a mean of more than 16384 numbers");
}

static clv_status pool(lowering *l, uint32_t node, dnnl_alg_kind_t alg,
                       const frame *f)
{
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t src;
    dnnl_memory_desc_t md;
    dnnl_pooling_v2_desc_t d;
    dnnl_primitive_desc_t pd;
    CLV_TRY(dnn_dense_last(l, dnn_in(l, node, 0), &src));
    dnn_any(&md, y->dims, y->rank);
    DNN(l, dnnl_pooling_v2_forward_desc_init(
               &d, dnnl_forward_inference, alg, &l->x->slots[src].md, &md,
               f->stride, f->kernel, f->dilation, f->before, f->after));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    return one_to_one(l, pd, src, node);
}

static bool is_max(clv_op kind)
{
    return kind == CLV_OP_MAX_POOL1D || kind == CLV_OP_MAX_POOL2D ||
           kind == CLV_OP_MAX_POOL3D;
}

enum { POOL_LARGE = 64 }; /* oneDNN looks at every tap, also in the padding */

static clv_status lower_pool(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t nd = x->rank - 2u, count;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &count);
    bool max = is_max((clv_op)n->op);
    bool with_pad = attr_exists(n, CLV_A_COUNT_INCLUDE_PAD) &&
                    attr_int(n, CLV_A_COUNT_INCLUDE_PAD);
    frame f = {{0}, {0}, {0}, {0}, {0}};
    bool beyond = false, padded = false;
    int64_t taps = 1;
    if (x->rank != pooled_axes(n) + 2 || x->rank != y->rank)
        return dnn_no(l, "a pool without a batch");
    for (uint32_t i = 0; i < nd; i++) {
        window w;
        CLV_TRY(get_window(n, i, nd, x->dims[2 + i], list_at(kernel, count, i),
                           &w, l->e));
        int64_t reach =
            (y->dims[2 + i] - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
        f.kernel[i] = w.kernel;
        taps = sat_mul(taps, w.kernel);
        f.stride[i] = w.stride;
        f.dilation[i] = w.dilation - 1;
        f.before[i] = w.before;
        f.after[i] = reach - x->dims[2 + i] - w.before;
        beyond |= f.after[i] > w.after;
        padded |= w.before > 0 || w.after > 0;
        if (f.after[i] < 0)
            f.after[i] = 0;
        if (w.before >= w.kernel || f.after[i] >= w.kernel)
            return dnn_no(l, "a window in the padding alone");
        if (w.kernel > POOL_LARGE && w.kernel / 4 > x->dims[2 + i])
            return dnn_no(l, "a window much larger than the image");
    }
    if (!max && taps > SUMMED_MOST)
        return sums_too_many(l);
    if (!max && beyond && with_pad && padded)
        return dnn_no(l, "an average over a window beyond the padding");
    return pool(l, node,
                max                   ? dnnl_pooling_max
                : with_pad && !beyond ? dnnl_pooling_avg_include_padding
                                      : dnnl_pooling_avg_exclude_padding,
                &f);
}

/* Windows of one size, side by side. */
static clv_status lower_adaptive(lowering *l, uint32_t node)
{
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    frame f = {{0}, {0}, {0}, {0}, {0}};
    int64_t taps = 1;
    if (x->rank != pooled_axes(&l->g->nodes[node]) + 2)
        return dnn_no(l, "a pool without a batch");
    for (uint32_t i = 0; i + 2u < x->rank; i++) {
        if (y->dims[2 + i] < 1 || x->dims[2 + i] % y->dims[2 + i])
            return dnn_no(l, "adaptive windows of different sizes");
        f.kernel[i] = f.stride[i] = x->dims[2 + i] / y->dims[2 + i];
        taps = sat_mul(taps, f.kernel[i]);
    }
    if (taps > SUMMED_MOST)
        return sums_too_many(l);
    return pool(l, node, dnnl_pooling_avg_exclude_padding, &f);
}

/* Runs pd, which it takes, from slot src into layout md, and names the result
 * as the node's output, whose axes of one element may be gone. */
static clv_status mean_by(lowering *l, uint32_t node, dnnl_primitive_desc_t pd,
                          uint32_t src, const dnnl_memory_desc_t *md)
{
    static const int args[] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t slots[2] = {src, CLV_NONE}, view;
    dnnl_memory_desc_t plain;
    clv_status s = dnn_new(l, CLV_NONE, md, &slots[1]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    CLV_TRY(dnn_op(l, pd, args, slots, 2));
    dnn_plain(&plain, y->dims, y->rank);
    return dnn_alias(l, slots[1], dnn_out(l, node), &plain, &view);
}

enum { PLANE_POINTS = 16 }; /* of a mean that is worth a pool */

/* The mean over all axes but the first two, of an image whose channels are
 * last, as a pool: oneDNN has only a loop for the reduction. */
static clv_status mean_of_planes(lowering *l, uint32_t node, uint32_t src)
{
    const dnnl_memory_desc_t x = l->x->slots[src].md;
    dnnl_dims_t kernel = {0}, one = {0}, none = {0};
    int64_t dims[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    dnnl_memory_desc_t md;
    dnnl_pooling_v2_desc_t d;
    dnnl_primitive_desc_t pd;
    for (int i = 0; i < x.ndims; i++) {
        dims[i] = i < 2 ? x.dims[i] : 1;
        strides[i] = i == 1 ? 1 : x.dims[1];
        if (i >= 2) {
            kernel[i - 2] = x.dims[i];
            one[i - 2] = 1;
        }
    }
    DNN(l, dnnl_memory_desc_init_by_strides(&md, x.ndims, dims, dnnl_f32,
                                            strides));
    DNN(l, dnnl_pooling_v2_forward_desc_init(
               &d, dnnl_forward_inference, dnnl_pooling_avg_include_padding, &x,
               &md, one, kernel, none, none, none));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    return mean_by(l, node, pd, src, &md);
}

static clv_status lower_mean(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t v = dnn_in(l, node, 0), src;
    const clv_value *x = dnn_value(l, v);
    int64_t dims[CLV_MAX_RANK];
    int_list axes;
    dnnl_memory_desc_t md;
    dnnl_reduction_desc_t d;
    dnnl_primitive_desc_t pd;
    CLV_TRY(get_ints(l->g, n, CLV_A_AXES, 1, &axes, l->e));
    if (!axes.found || !axes.n)
        return dnn_no(l, "a mean of everything");
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    int64_t summed = 1;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        CLV_TRY(norm_axis(axes.v[i], x->rank, &a, l->e));
        summed = sat_mul(summed, dims[a]);
        dims[a] = 1;
    }
    if (summed > SUMMED_MOST)
        return sums_too_many(l);
    CLV_TRY(dnn_dense(l, v, &src));
    bool planes = x->rank >= 3 && x->rank <= 5 && dims[0] == x->dims[0] &&
                  dims[1] == x->dims[1];
    int64_t points = 1;
    for (uint32_t i = 2; i < x->rank; i++) {
        planes = planes && dims[i] == 1;
        points *= x->dims[i];
    }
    if (planes && points >= PLANE_POINTS &&
        dnn_channels_last(&l->x->slots[src].md))
        return mean_of_planes(l, node, src);
    dnn_plain(&md, dims, x->rank);
    DNN(l, dnnl_reduction_desc_init(&d, dnnl_reduction_mean,
                                    &l->x->slots[src].md, &md, 0, 0));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, l->attr, l->engine, NULL));
    return mean_by(l, node, pd, src, &md);
}

/* A third input says whether this is training. */
static clv_status lower_dropout(lowering *l, uint32_t node)
{
    if (l->g->nodes[node].n_in > 2)
        return dnn_no(l, "dropout that may be in training");
    return dnn_lower_view(l, node);
}

/* -- the table ------------------------------------------------------------*/

static dnn_rule *const lowering_rules[CLV_OP_COUNT] = {
#define PRIMITIVE(op, rule) [CLV_OP_##op] = rule,
#include "backend/onednn/primitives.def"
#undef PRIMITIVE
};

/* Rules whose operator has inputs that say how, not what: shapes, axes, whether
 * it trains. The binary one looks at the type of a constant itself. */
static bool takes_settings(dnn_rule *rule)
{
    return rule == dnn_lower_view || rule == lower_mean ||
           rule == lower_dropout || rule == lower_binary;
}

/* The data inputs and the output are float32 of known, small rank. */
static clv_status check_types(lowering *l, uint32_t node, dnn_rule *rule)
{
    const clv_node *n = &l->g->nodes[node];
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(l->g, n)[i];
        if (v == CLV_NONE || (i > n->n_in))
            continue;
        const clv_value *x = dnn_value(l, v);
        if (x->flags & CLV_V_BOUND || x->rank == CLV_NO_RANK)
            return dnn_no(l, "a shape that depends on data");
        if (i > 0 && i < n->n_in && dtype_is_integral(x->dtype) &&
            dnn_const(l, v) && takes_settings(rule))
            continue;
        if (x->dtype != CLV_FLOAT32)
            return dnn_no(l, "not float32");
        if (x->rank > 12 || clv__numel(x) == 0)
            return dnn_no(l, "an empty tensor, or too many axes");
    }
    return CLV_OK;
}

/* Primitives make one result; only views show several parts of their input. */
static clv_status check_outputs(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    for (uint32_t i = 1; i < n->n_out; i++)
        if (clv__is_read(l->g, node_outs(l->g, n)[i]))
            return dnn_no(l, "a second output, which is read");
    return CLV_OK;
}

clv_status dnn_node(lowering *l, uint32_t node)
{
    dnn_rule *rule = lowering_rules[l->g->nodes[node].op];
    if (!rule)
        return dnn_no(l, "no primitive for this operator");
    CLV_TRY(check_types(l, node, rule));
    if (rule != dnn_lower_view)
        CLV_TRY(check_outputs(l, node));
    return rule(l, node);
}

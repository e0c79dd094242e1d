/* products.c - matrix products as primitives, with their chains.
 *
 * A product with constant weights is a convolution of one point over its rows,
 * channels last: oneDNN packs those weights once, and a product's each time. */
#include "backend/onednn/onednn.h"

#include <math.h>

/* x (rows,K) times constant weights (N,K), plus bias. */
typedef struct product {
    int64_t rows, depth, cols;
    bool transposed; /* the weights are (N,K) in memory, else (K,N) */
    uint32_t bias;   /* value, or CLV_NONE */
} product;

static bool is_one(double x)
{
    return x >= 1 && x <= 1; /* a NaN is not */
}

static bool product_of(const lowering *l, uint32_t node, product *p)
{
    const clv_node *nd = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *w = dnn_value(l, dnn_in(l, node, 1));
    if (w->rank != 2 || x->rank < 2 || !dnn_const(l, dnn_in(l, node, 1)))
        return false;
    *p = (product){.bias = dnn_in(l, node, 2)};
    p->transposed = nd->op == CLV_OP_LINEAR;
    if (nd->op == CLV_OP_GEMM) {
        p->transposed = attr_int(nd, CLV_A_TRANS_B) != 0;
        if (attr_int(nd, CLV_A_TRANS_A) ||
            !is_one(attr_float(nd, CLV_A_ALPHA)) ||
            !is_one(attr_float(nd, CLV_A_BETA)))
            return false;
    }
    p->depth = x->dims[x->rank - 1];
    p->cols = w->dims[p->transposed ? 0 : 1];
    p->rows = clv__numel(x) / p->depth;
    if (p->bias == CLV_NONE)
        return true;
    const clv_value *b = dnn_value(l, p->bias);
    return clv__numel(b) == p->cols && b->dims[b->rank - 1] == p->cols;
}

enum { FEW_ROWS = 8 }; /* fewer read the weights once: nothing to pack for */

/* As a convolution of one point over a row of pixels: x (1,K,1,rows) */
static bool point_pd(lowering *l, const product *p, bool bias,
                     const_dnnl_primitive_attr_t attr,
                     dnnl_primitive_desc_t *pd)
{
    const dnnl_dims_t xd = {1, p->depth, 1, p->rows},
                      wd = {p->cols, p->depth, 1, 1},
                      yd = {1, p->cols, 1, p->rows}, one = {1, 1}, none = {0};
    dnnl_memory_desc_t src, w, b, dst;
    dnnl_convolution_desc_t d;
    dnnl_memory_desc_init_by_tag(&src, 4, xd, dnnl_f32, dnnl_nhwc);
    dnnl_memory_desc_init_by_tag(&dst, 4, yd, dnnl_f32, dnnl_nhwc);
    dnn_any(&w, wd, 4);
    dnn_plain(&b, &p->cols, 1);
    if (p->rows < FEW_ROWS ||
        dnnl_dilated_convolution_forward_desc_init(
            &d, dnnl_forward_inference, dnnl_convolution_direct, &src, &w,
            bias ? &b : NULL, &dst, one, none, none, none) != dnnl_success ||
        dnnl_primitive_desc_create(pd, &d, attr, l->engine, NULL) !=
            dnnl_success)
        return false;
    if (dnn_is_jit(*pd))
        return true;
    dnnl_primitive_desc_destroy(*pd);
    return false;
}

static clv_status rows_pd(lowering *l, const product *p, bool bias,
                          const_dnnl_primitive_attr_t attr,
                          dnnl_primitive_desc_t *pd)
{
    const int64_t xd[] = {p->rows, p->depth}, wd[] = {p->cols, p->depth},
                  yd[] = {p->rows, p->cols};
    dnnl_memory_desc_t src, w, b, dst;
    dnnl_inner_product_desc_t d;
    dnn_plain(&src, xd, 2);
    dnn_plain(&dst, yd, 2);
    dnn_plain(&b, &p->cols, 1);
    dnn_any(&w, wd, 2);
    DNN(l, dnnl_inner_product_forward_desc_init(
               &d, dnnl_forward_inference, &src, &w, bias ? &b : NULL, &dst));
    DNN(l, dnnl_primitive_desc_create(pd, &d, attr, l->engine, NULL));
    return CLV_OK;
}

/* The layout of the result, row-major at first, as links 0..n-1 see it. */
static bool seen(const lowering *l, const chain *c, uint32_t n,
                 dnnl_memory_desc_t *md)
{
    const clv_value *y = dnn_value(l, dnn_out(l, c->anchor));
    dnn_plain(md, y->dims, y->rank);
    for (uint32_t i = 0; i < n; i++) {
        dnnl_memory_desc_t from = *md;
        int64_t at;
        if (c->link[i].kind == LINK_VIEW &&
            !dnn_look(l, c->link[i].node, 0, &from, md, &at))
            return false;
    }
    return true;
}

/* Where the residual lies in the layout of the result, it may be overwritten;
 * so may a copy in that layout, unless the product reads the same value. */
static bool fits_onto(const lowering *l, uint32_t anchor, const link *add,
                      const dnnl_memory_desc_t *md)
{
    uint32_t s = dnn_found(l, add->other, md);
    if (s != CLV_NONE)
        return dnn_may_overwrite(l, anchor, add, s);
    for (uint32_t i = 0; i < l->g->nodes[anchor].n_in; i++)
        if (dnn_in(l, anchor, i) == add->other)
            return false;
    return true;
}

/* The primitive, and the layout of the weights as they are. */
static clv_status product_pd(lowering *l, const product *p, bool bias,
                             const dnn_epilogue *e, dnnl_primitive_desc_t *pd,
                             dnnl_memory_desc_t *w)
{
    const dnnl_dims_t dims = {p->cols, p->depth, 1, 1};
    const dnnl_dims_t strides = {p->transposed ? p->depth : 1,
                                 p->transposed ? 1 : p->cols, 1, 1};
    bool point = point_pd(l, p, bias, e->attr, pd);
    if (!point && e->add && !e->onto)
        return dnn_no(l, "a sum behind this product");
    if (!point)
        CLV_TRY(rows_pd(l, p, bias, e->attr, pd));
    dnnl_memory_desc_init_by_strides(w, point ? 4 : 2, dims, dnnl_f32, strides);
    dnn_tidy(w);
    return CLV_OK;
}

static clv_status product_operands(lowering *l, uint32_t node,
                                   const dnn_affine *a,
                                   const dnnl_memory_desc_t *w,
                                   const_dnnl_primitive_desc_t pd,
                                   dnn_operands *o)
{
    const dnnl_memory_desc_t *x = dnn_query(pd, dnnl_query_src_md, 0);
    CLV_TRY(dnn_over(l, dnn_in(l, node, 0), x, &o->src));
    return dnn_fetch(l, dnn_in(l, node, 1), a, w, 1, pd, o);
}

static clv_status make_product(lowering *l, const chain *c, uint32_t n,
                               const product *p)
{
    uint32_t v = dnn_result(l, c, n), slot;
    const link *add = dnn_find_add(c, n);
    const dnnl_dims_t dims = {1, p->cols, 1, p->rows};
    dnnl_memory_desc_t residual, operand, w, last;
    dnn_operands o = {CLV_NONE, CLV_NONE, CLV_NONE, CLV_NONE};
    dnn_epilogue e;
    dnn_affine a;
    dnnl_primitive_desc_t pd;
    if (!seen(l, c, n, &last) ||
        (add && !seen(l, c, (uint32_t)(add - c->link), &residual)))
        return dnn_no(l, "these views");
    CLV_TRY(dnn_affine_of(l, c, n, p->cols, p->bias, &a));
    if (add)
        CLV_TRY(dnn_slot(l, add->other, &slot));
    dnnl_memory_desc_init_by_tag(&operand, 4, dims, dnnl_f32, dnnl_nhwc);
    clv_status s = dnn_epilogue_of(
        l, c, n, &operand, add && fits_onto(l, c->anchor, add, &residual), &e);
    if (s == CLV_OK)
        s = product_pd(l, p, dnn_has_bias(&a), &e, &pd, &w);
    dnnl_primitive_attr_destroy(e.attr);
    CLV_TRY(s);
    s = product_operands(l, c->anchor, &a, &w, pd, &o);
    if (s == CLV_OK && add)
        s = dnn_want(l, add->other, &residual, &o.residual);
    if (s == CLV_OK && add && !e.onto)
        s = dnn_alias(l, o.residual, CLV_NONE, &operand, &o.residual);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    CLV_TRY(dnn_finish(l, pd, &o, &e, v));
    return dnn_name(l, l->slot_of[v], v, &last);
}

/* -- products of two computed matrices ------------------------------------*/

static clv_status matmul_pd(lowering *l, const uint32_t *slots,
                            const dnnl_memory_desc_t *dst,
                            const_dnnl_primitive_attr_t attr,
                            dnnl_primitive_desc_t *pd)
{
    dnnl_matmul_desc_t d;
    DNN(l, dnnl_matmul_desc_init(&d, &l->x->slots[slots[0]].md,
                                 &l->x->slots[slots[1]].md, NULL, dst));
    DNN(l, dnnl_primitive_desc_create(pd, &d, attr, l->engine, NULL));
    return CLV_OK;
}

/* Operand v with as many axes as y, ones in front; row-major if asked. */
static clv_status matrix(lowering *l, uint32_t v, const clv_value *y,
                         bool plain, uint32_t *slot)
{
    const clv_value *x = dnn_value(l, v);
    int64_t dims[CLV_MAX_RANK];
    if (x->rank < 2 || x->rank > y->rank || y->rank > 6)
        return dnn_no(l, "a product of this rank");
    if (x->rank == y->rank && !plain)
        return dnn_slot(l, v, slot);
    for (uint32_t k = 0, lead = y->rank - x->rank; k < y->rank; k++)
        dims[k] = k < lead ? 1 : x->dims[k - lead];
    return dnn_view(l, v, dims, y->rank, slot);
}

/* Many products of a matrix and a column read every number once: nothing is won
 * by the copies that oneDNN makes of them. */
enum { COLUMN_LEAST = 1 << 18 };

static bool is_large_column(lowering *l, uint32_t node, const clv_value *y)
{
    const clv_value *a = dnn_value(l, dnn_in(l, node, 0));
    return y->dims[y->rank - 1] == 1 && a->rank == y->rank &&
           y->dims[y->rank - 2] > 1 && clv__numel(a) >= COLUMN_LEAST;
}

/* a (..,M,K) @ b (..,K,N), both computed; leading axes broadcast. Strided
 * operands are taken as they are where oneDNN is fast with them. */
static clv_status make_matmul(lowering *l, const chain *c, uint32_t n)
{
    uint32_t node = c->anchor, slots[2], v = dnn_result(l, c, n);
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    dnnl_memory_desc_t dst, last;
    dnnl_primitive_desc_t pd = NULL;
    dnn_epilogue e;
    if (l->g->nodes[node].n_in > 2 || !seen(l, c, n, &last))
        return dnn_no(l, "a product of this rank");
    if (is_large_column(l, node, y))
        return dnn_no(l, "a product with columns, which reads once");
    if (dnn_find_add(c, n))
        return dnn_no(l, "a sum behind this product");
    CLV_TRY(dnn_epilogue_of(l, c, n, NULL, false, &e));
    clv_status s = CLV_OK;
    dnn_plain(&dst, y->dims, y->rank);
    for (int plain = 0; plain < 2 && s == CLV_OK && !pd; plain++) {
        for (uint32_t i = 0; i < 2 && s == CLV_OK; i++)
            s = matrix(l, dnn_in(l, node, i), y, plain, &slots[i]);
        if (s == CLV_OK)
            s = matmul_pd(l, slots, &dst, e.attr, &pd);
        if (s == CLV_OK && !plain && dnn_is_slow(pd)) {
            dnnl_primitive_desc_destroy(pd);
            pd = NULL;
        }
    }
    dnnl_primitive_attr_destroy(e.attr);
    CLV_TRY(s);
    const dnn_operands o = {slots[0], slots[1], CLV_NONE, CLV_NONE};
    CLV_TRY(dnn_finish(l, pd, &o, &e, v));
    return dnn_name(l, l->slot_of[v], v, &last);
}

/* -- anchors --------------------------------------------------------------*/

clv_status dnn_anchor(lowering *l, const chain *c, uint32_t n)
{
    clv_op kind = (clv_op)l->g->nodes[c->anchor].op;
    product p;
    if (kind == CLV_OP_BATCH_NORM)
        return dnn_norm(l, c->anchor, n > 0, dnn_result(l, c, n));
    if (dnn_is_conv(kind))
        return dnn_conv(l, c, n);
    if (product_of(l, c->anchor, &p))
        return make_product(l, c, n, &p);
    for (uint32_t i = 0; i < n; i++)
        if (dnn_is_affine(&c->link[i]))
            return dnn_no(l, "constants behind this product");
    if (kind == CLV_OP_LINEAR || kind == CLV_OP_GEMM)
        return dnn_no(l, "this product");
    return make_matmul(l, c, n);
}

clv_status dnn_lower_anchor(lowering *l, uint32_t node)
{
    const chain alone = {.anchor = node};
    return dnn_anchor(l, &alone, 0);
}

/* products.c - convolutions and products as primitives, with their chains.
 *
 * What a chain does per channel (a batch norm, a constant that is added or
 * multiplied) goes into weights and bias; functions and a residual sum become
 * post-ops; views only change how the result is described.
 *
 * A product with constant weights is a convolution of one point over its rows,
 * channels last: oneDNN packs those weights once, and a product's each time. */
#include "backend/onednn/onednn.h"

#include <math.h>

static float number(const lowering *l, uint32_t v, int64_t i)
{
    float x; /* weights in a file may not be aligned */
    memcpy(&x, (const char *)l->s->tensor[v].data + i * 4, sizeof x);
    return x;
}

static uint32_t result_of(const lowering *l, const chain *c, uint32_t n)
{
    return n ? c->link[n - 1].out : dnn_out(l, c->anchor);
}

/* -- constants per channel ------------------------------------------------*/

/* y = (w x) scale + shift, one of each per output channel */
typedef struct affine {
    float *scale, *shift; /* NULL: ones, or none */
    uint32_t bias;        /* a value that is the shift as it is; CLV_NONE */
    int64_t n;
} affine;

/* scale' = scale g, shift' = (shift - mean) g + bias, of a batch norm with
 * g = weight / sqrt(variance + eps) */
static void apply_norm(const lowering *l, uint32_t bn, affine *a, int64_t i)
{
    double eps = attr_float(&l->g->nodes[bn], CLV_A_EPSILON, 1e-5);
    double mean = number(l, dnn_in(l, bn, 3), i);
    double g = (double)number(l, dnn_in(l, bn, 1), i) /
               sqrt((double)number(l, dnn_in(l, bn, 4), i) + eps);
    a->scale[i] = (float)(a->scale[i] * g);
    a->shift[i] = (float)((a->shift[i] - mean) * g +
                          (double)number(l, dnn_in(l, bn, 2), i));
}

static void apply_link(const lowering *l, const link *k, affine *a)
{
    for (int64_t i = 0; i < a->n; i++) {
        if (k->kind == LINK_BN)
            apply_norm(l, k->node, a, i);
        if (k->kind == LINK_BIAS)
            a->shift[i] += number(l, k->other, i);
        if (k->kind == LINK_SCALE) {
            a->scale[i] *= number(l, k->other, i);
            a->shift[i] *= number(l, k->other, i);
        }
    }
}

static bool is_affine(const link *k)
{
    return k->kind == LINK_BN || k->kind == LINK_BIAS || k->kind == LINK_SCALE;
}

static clv_status affine_of(lowering *l, const chain *c, uint32_t n,
                            int64_t channels, uint32_t bias, affine *a)
{
    uint32_t links = 0, scales = 0;
    *a = (affine){.bias = bias, .n = channels};
    for (uint32_t i = 0; i < n; i++) {
        links += is_affine(&c->link[i]);
        scales += is_affine(&c->link[i]) && c->link[i].kind != LINK_BIAS;
    }
    if (!links)
        return CLV_OK;
    a->bias = CLV_NONE;
    a->scale = arena_array(&l->mem, (size_t)channels, sizeof *a->scale);
    a->shift = arena_array(&l->mem, (size_t)channels, sizeof *a->shift);
    if (!a->scale || !a->shift)
        return clv__nomem(l->e);
    for (int64_t i = 0; i < channels; i++) {
        a->scale[i] = 1;
        a->shift[i] = bias == CLV_NONE ? 0 : number(l, bias, i);
    }
    for (uint32_t i = 0; i < n; i++)
        apply_link(l, &c->link[i], a);
    if (!scales)
        a->scale = NULL;
    return CLV_OK;
}

static bool has_bias(const affine *a)
{
    return a->shift || a->bias != CLV_NONE;
}

static clv_status bias_slot(lowering *l, const affine *a, uint32_t *slot)
{
    dnnl_memory_desc_t md;
    dnn_plain(&md, &a->n, 1);
    if (a->shift)
        return dnn_constant(l, a->shift, &md, &md, NULL, slot);
    return dnn_over(l, a->bias, &md, slot);
}

/* Weights in the layout that pd wants; `md` describes them as they are, with
 * `lead` axes for the output channels. */
static clv_status weight_slot(lowering *l, uint32_t w, const affine *a,
                              const dnnl_memory_desc_t *md, int lead,
                              const_dnnl_primitive_desc_t pd, uint32_t *slot)
{
    const dnnl_memory_desc_t *want = dnn_query(pd, dnnl_query_weights_md, 0);
    const dnn_scales scales = {a->scale, a->n, (1 << lead) - 1};
    uint32_t from;
    CLV_TRY(dnn_slot(l, w, &from));
    const buffer *b = &l->x->buffers[l->x->slots[from].buffer];
    if (!a->scale && dnnl_memory_desc_equal(md, want))
        return dnn_alias(l, from, CLV_NONE, md, slot);
    if (!b->data)
        return dnn_no(l, "weights that are computed");
    return dnn_constant(l, b->data, md, want, a->scale ? &scales : NULL, slot);
}

/* -- post-ops -------------------------------------------------------------*/

/* The links that run behind the product. */
typedef struct epilogue {
    dnnl_primitive_attr_t attr;
    const link *add; /* the residual sum, or NULL */
    bool onto;       /* the result overwrites it; else a binary post-op */
    int arg;
} epilogue;

/* The residual may be overwritten: nobody reads it again. */
static bool may_overwrite(const lowering *l, const link *add, uint32_t s)
{
    const buffer *b = &l->x->buffers[l->x->slots[s].buffer];
    uint32_t v = add->other;
    if (l->leaves[v] || b->value != CLV_NONE || b->data || b->shared)
        return false;
    for (uint32_t i = l->g->user_first[v]; i < l->g->user_first[v + 1]; i++)
        if (l->g->users[i] > add->node)
            return false;
    return true;
}

static clv_status append(lowering *l, const link *k, dnnl_post_ops_t post,
                         const dnnl_memory_desc_t *operand, epilogue *e)
{
    int at = dnnl_post_ops_len(post);
    if (k->kind == LINK_ELTWISE)
        DNN(l,
            dnnl_post_ops_append_eltwise(post, 1, k->alg, k->alpha, k->beta));
    if (k->kind != LINK_ADD)
        return CLV_OK;
    e->add = k;
    e->onto = e->onto && at == 0;
    e->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1;
    if (e->onto)
        DNN(l, dnnl_post_ops_append_sum(post, 1));
    else
        DNN(l, dnnl_post_ops_append_binary(post, dnnl_binary_add, operand));
    return CLV_OK;
}

/* `operand` is the layout of what is added, as the primitive sees it; `onto`
 * says that it may be overwritten. */
static clv_status make_epilogue(lowering *l, const chain *c, uint32_t n,
                                const dnnl_memory_desc_t *operand, bool onto,
                                epilogue *e)
{
    dnnl_post_ops_t post = NULL;
    clv_status s = CLV_OK;
    *e = (epilogue){.onto = onto};
    DNN(l, dnnl_primitive_attr_clone(&e->attr, l->attr));
    if (dnnl_post_ops_create(&post) != dnnl_success)
        s = clv__nomem(l->e);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = append(l, &c->link[i], post, operand, e);
    if (s == CLV_OK &&
        dnnl_primitive_attr_set_post_ops(e->attr, post) != dnnl_success)
        s = dnn_fail(l, "post-ops", dnnl_unimplemented);
    dnnl_post_ops_destroy(post);
    return s;
}

static const link *find_add(const chain *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->link[i].kind == LINK_ADD)
            return &c->link[i];
    return NULL;
}

/* -- one primitive --------------------------------------------------------*/

/* The slots a primitive works on; CLV_NONE: there is none. */
typedef struct operands {
    uint32_t src, weight, bias, residual;
} operands;

static clv_status fetch_constants(lowering *l, uint32_t w, const affine *a,
                                  const dnnl_memory_desc_t *md, int lead,
                                  const_dnnl_primitive_desc_t pd, operands *o)
{
    CLV_TRY(weight_slot(l, w, a, md, lead, pd, &o->weight));
    return has_bias(a) ? bias_slot(l, a, &o->bias) : CLV_OK;
}

/* Runs pd, which it takes: the destination is fresh, or over the residual (in
 * the same layout), and becomes value v. */
static clv_status finish(lowering *l, dnnl_primitive_desc_t pd,
                         const operands *o, const epilogue *e, uint32_t v)
{
    const dnnl_memory_desc_t md = *dnn_query(pd, dnnl_query_dst_md, 0);
    int arg[5] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    uint32_t slot[5] = {o->src, o->weight}, n = 3;
    bool onto = e->add && e->onto;
    if (onto) /* it is gone from here on */
        l->x->slots[o->residual].value = CLV_NONE;
    clv_status s = onto ? dnn_alias(l, o->residual, CLV_NONE, &md, &slot[2])
                        : dnn_new(l, v, &md, &slot[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    if (o->bias != CLV_NONE) {
        arg[n] = DNNL_ARG_BIAS;
        slot[n++] = o->bias;
    }
    if (e->add && !e->onto) {
        arg[n] = e->arg;
        slot[n++] = o->residual;
    }
    CLV_TRY(dnn_op(l, pd, arg, slot, n));
    return dnn_name(l, slot[2], v, &md);
}

/* -- convolution ----------------------------------------------------------*/

typedef struct conv {
    dnnl_dims_t stride, dilation, before, after;
    dnnl_memory_desc_t plain, any; /* of the weights, groups in front */
} conv;

static clv_status conv_of(lowering *l, uint32_t node, conv *c)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *w = dnn_value(l, dnn_in(l, node, 1));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t nd = x->rank - 2u, at_dim = 0;
    int64_t groups = attr_int(n, CLV_A_GROUPS, 1), dims[CLV_MAX_RANK];
    if (x->rank < 3 || x->rank > 5)
        return dnn_no(l, "a convolution of this rank");
    for (uint32_t i = 0; i < nd; i++) {
        window win;
        CLV_TRY(
            get_window(n, i, nd, x->dims[2 + i], w->dims[2 + i], &win, l->e));
        c->stride[i] = win.stride;
        c->dilation[i] = win.dilation - 1;
        c->before[i] = win.before;
        c->after[i] = (y->dims[2 + i] - 1) * win.stride +
                      (win.kernel - 1) * win.dilation + 1 - x->dims[2 + i] -
                      win.before;
    }
    if (groups > 1) {
        dims[at_dim++] = groups;
        dims[at_dim++] = w->dims[0] / groups;
    } else {
        dims[at_dim++] = w->dims[0];
    }
    for (uint32_t i = 1; i < w->rank; i++)
        dims[at_dim++] = w->dims[i];
    dnn_plain(&c->plain, dims, at_dim);
    dnn_any(&c->any, dims, at_dim);
    return CLV_OK;
}

static bool is_jit(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return name && (!strncmp(name, "jit", 3) || !strncmp(name, "brg", 3));
}

static void channels_last(dnnl_memory_desc_t *md, const clv_value *v)
{
    dnnl_dims_t dims, strides;
    int64_t step = v->dims[1];
    for (uint32_t i = v->rank; i-- > 2;) {
        strides[i] = step;
        step *= v->dims[i];
    }
    strides[0] = step;
    strides[1] = 1;
    memcpy(dims, v->dims, v->rank * sizeof *dims);
    dnnl_memory_desc_init_by_strides(md, v->rank, dims, dnnl_f32, strides);
}

static dnnl_status_t conv_create(lowering *l, uint32_t node, const conv *c,
                                 bool bias, bool last,
                                 const_dnnl_primitive_attr_t attr,
                                 dnnl_primitive_desc_t *pd)
{
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    dnnl_memory_desc_t src, dst, b;
    dnnl_convolution_desc_t d;
    dnn_any(&src, x->dims, x->rank);
    dnn_any(&dst, y->dims, y->rank);
    if (last) {
        channels_last(&src, x);
        channels_last(&dst, y);
    }
    dnn_plain(&b, &y->dims[1], 1);
    dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_inference, dnnl_convolution_direct, &src, &c->any,
        bias ? &b : NULL, &dst, c->stride, c->dilation, c->before, c->after);
    return s == dnnl_success
               ? dnnl_primitive_desc_create(pd, &d, attr, l->engine, NULL)
               : s;
}

/* Channels stay last where they are and oneDNN is fast with it. */
static clv_status conv_pd(lowering *l, uint32_t node, const conv *c, bool bias,
                          const_dnnl_primitive_attr_t attr,
                          dnnl_primitive_desc_t *pd)
{
    uint32_t s;
    CLV_TRY(dnn_slot(l, dnn_in(l, node, 0), &s));
    const dnnl_memory_desc_t *md = &l->x->slots[s].md;
    if (dnn_channels_last(md) && md->dims[1] > 1 &&
        conv_create(l, node, c, bias, true, attr, pd) == dnnl_success) {
        if (is_jit(*pd))
            return CLV_OK;
        dnnl_primitive_desc_destroy(*pd);
    }
    DNN(l, conv_create(l, node, c, bias, false, attr, pd));
    return CLV_OK;
}

static clv_status make_conv(lowering *l, const chain *c, uint32_t n)
{
    uint32_t node = c->anchor;
    const link *add = find_add(c, n);
    const dnnl_memory_desc_t *operand = NULL;
    operands o = {CLV_NONE, CLV_NONE, CLV_NONE, CLV_NONE};
    epilogue e;
    affine a;
    conv v;
    dnnl_primitive_desc_t pd;
    CLV_TRY(conv_of(l, node, &v));
    CLV_TRY(affine_of(l, c, n, dnn_value(l, dnn_out(l, node))->dims[1],
                      dnn_in(l, node, 2), &a));
    if (add) {
        CLV_TRY(dnn_dense(l, add->other, &o.residual));
        operand = &l->x->slots[o.residual].md;
    }
    bool onto = add && may_overwrite(l, add, o.residual);
    clv_status s = make_epilogue(l, c, n, operand, onto, &e);
    if (s == CLV_OK)
        s = conv_pd(l, node, &v, has_bias(&a), e.attr, &pd);
    dnnl_primitive_attr_destroy(e.attr);
    CLV_TRY(s);
    const dnnl_memory_desc_t x = *dnn_query(pd, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t y = *dnn_query(pd, dnnl_query_dst_md, 0);
    s = dnn_want(l, dnn_in(l, node, 0), &x, &o.src);
    if (s == CLV_OK)
        s = fetch_constants(l, dnn_in(l, node, 1), &a, &v.plain,
                            v.plain.ndims - x.ndims + 1, pd, &o);
    if (s == CLV_OK && add && e.onto)
        s = dnn_want(l, add->other, &y, &o.residual);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return finish(l, pd, &o, &e, result_of(l, c, n));
}

/* -- products -------------------------------------------------------------*/

/* x (rows,K) times constant weights (N,K), plus bias. */
typedef struct product {
    int64_t rows, depth, cols;
    bool transposed; /* the weights are (N,K) in memory, else (K,N) */
    uint32_t bias;   /* value, or CLV_NONE */
} product;

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
        p->transposed = attr_int(nd, CLV_A_TRANS_B, 0) != 0;
        if (attr_int(nd, CLV_A_TRANS_A, 0) ||
            fabs(attr_float(nd, CLV_A_ALPHA, 1) - 1) > 0 ||
            fabs(attr_float(nd, CLV_A_BETA, 1) - 1) > 0)
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
    if (is_jit(*pd))
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
 * a copy in that layout always may. */
static bool fits_onto(const lowering *l, const link *add,
                      const dnnl_memory_desc_t *md)
{
    uint32_t s = dnn_found(l, add->other, md);
    return s == CLV_NONE || may_overwrite(l, add, s);
}

/* The primitive, and the layout of the weights as they are. */
static clv_status product_pd(lowering *l, const product *p, bool bias,
                             const epilogue *e, dnnl_primitive_desc_t *pd,
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

static clv_status product_operands(lowering *l, uint32_t node, const affine *a,
                                   const dnnl_memory_desc_t *w,
                                   const_dnnl_primitive_desc_t pd, operands *o)
{
    const dnnl_memory_desc_t *x = dnn_query(pd, dnnl_query_src_md, 0);
    CLV_TRY(dnn_over(l, dnn_in(l, node, 0), x, &o->src));
    return fetch_constants(l, dnn_in(l, node, 1), a, w, 1, pd, o);
}

static clv_status make_product(lowering *l, const chain *c, uint32_t n,
                               const product *p)
{
    uint32_t v = result_of(l, c, n), slot;
    const link *add = find_add(c, n);
    const dnnl_dims_t dims = {1, p->cols, 1, p->rows};
    dnnl_memory_desc_t residual, operand, w, last;
    operands o = {CLV_NONE, CLV_NONE, CLV_NONE, CLV_NONE};
    epilogue e;
    affine a;
    dnnl_primitive_desc_t pd;
    if (!seen(l, c, n, &last) ||
        (add && !seen(l, c, (uint32_t)(add - c->link), &residual)))
        return dnn_no(l, "these views");
    CLV_TRY(affine_of(l, c, n, p->cols, p->bias, &a));
    if (add)
        CLV_TRY(dnn_slot(l, add->other, &slot));
    dnnl_memory_desc_init_by_tag(&operand, 4, dims, dnnl_f32, dnnl_nhwc);
    clv_status s = make_epilogue(l, c, n, &operand,
                                 add && fits_onto(l, add, &residual), &e);
    if (s == CLV_OK)
        s = product_pd(l, p, has_bias(&a), &e, &pd, &w);
    dnnl_primitive_attr_destroy(e.attr);
    CLV_TRY(s);
    s = product_operands(l, c->anchor, &a, &w, pd, &o);
    if (s == CLV_OK && add)
        s = dnn_want(l, add->other, &residual, &o.residual);
    if (s == CLV_OK && add && !e.onto)
        s = dnn_alias(l, o.residual, CLV_NONE, &operand, &o.residual);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    CLV_TRY(finish(l, pd, &o, &e, v));
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

/* a (..,M,K) @ b (..,K,N), both computed; leading axes broadcast. Strided
 * operands are taken as they are where oneDNN is fast with them. */
static clv_status make_matmul(lowering *l, const chain *c, uint32_t n)
{
    uint32_t node = c->anchor, slots[2], v = result_of(l, c, n);
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    dnnl_memory_desc_t dst, last;
    dnnl_primitive_desc_t pd = NULL;
    epilogue e;
    if (l->g->nodes[node].n_in > 2 || !seen(l, c, n, &last))
        return dnn_no(l, "a product of this rank");
    if (find_add(c, n))
        return dnn_no(l, "a sum behind this product");
    CLV_TRY(make_epilogue(l, c, n, NULL, false, &e));
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
    const operands o = {slots[0], slots[1], CLV_NONE, CLV_NONE};
    CLV_TRY(finish(l, pd, &o, &e, v));
    return dnn_name(l, l->slot_of[v], v, &last);
}

/* -- anchors --------------------------------------------------------------*/

clv_status dnn_anchor(lowering *l, const chain *c, uint32_t n)
{
    clv_op kind = (clv_op)l->g->nodes[c->anchor].op;
    product p;
    if (kind == CLV_OP_BATCH_NORM)
        return dnn_norm(l, c->anchor, n > 0, result_of(l, c, n));
    if (dnn_is_conv(kind))
        return make_conv(l, c, n);
    if (product_of(l, c->anchor, &p))
        return make_product(l, c, n, &p);
    for (uint32_t i = 0; i < n; i++)
        if (is_affine(&c->link[i]))
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

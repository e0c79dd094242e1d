/* fuse.c - convolutions and products, with what follows them.
 *
 * A chain is what can be computed while the result is still in registers:
 *
 *     conv -> batch_norm -> relu            the norm is folded into weights
 *     conv -> batch_norm -> add -> relu     the sum is done in place
 *     matmul -> add bias -> gelu
 *
 * Each link's value has one reader, so nobody misses it. The group is made
 * where its last node stands: by then every operand is there. Where oneDNN
 * refuses the whole chain, shorter ones are tried; the rest stands alone. */
#include "backend/onednn/onednn.h"

#include <math.h>
#include <string.h>

static uint32_t in(const lowering *l, uint32_t node, uint32_t i)
{
    const clv_node *n = &l->g->nodes[node];
    return i < n->n_in ? node_ins(l->g, n)[i] : CLV_NONE;
}

static uint32_t out(const lowering *l, uint32_t node)
{
    return node_outs(l->g, &l->g->nodes[node])[0];
}

static bool is_conv(clv_op kind)
{
    return kind == CLV_OP_CONV1D || kind == CLV_OP_CONV2D ||
           kind == CLV_OP_CONV3D;
}

bool dnn_is_anchor(const lowering *l, uint32_t node)
{
    clv_op o = (clv_op)l->g->nodes[node].op;
    return is_conv(o) || o == CLV_OP_LINEAR || o == CLV_OP_MATMUL ||
           o == CLV_OP_BMM || o == CLV_OP_GEMM;
}

static bool same_dims(const clv_value *a, const clv_value *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * 8);
}

/* -- finding chains -------------------------------------------------------*/

static uint32_t readers(const lowering *l, uint32_t v)
{
    return l->leaves[v] ? 99 : l->g->user_first[v + 1] - l->g->user_first[v];
}

static uint32_t reader(const lowering *l, uint32_t v, uint32_t i)
{
    return l->g->users[l->g->user_first[v] + i];
}

/* A node that may join: ours, and not in another chain. */
static bool is_free(const lowering *l, uint32_t node)
{
    return l->inside[node] && l->chain_of[node] == CLV_NONE &&
           !dnn_is_anchor(l, node);
}

static uint32_t other_of(const lowering *l, uint32_t node, uint32_t v)
{
    return in(l, node, 0) == v ? in(l, node, 1) : in(l, node, 0);
}

static bool add_nodes(link *k, const uint32_t *nodes, uint32_t n)
{
    memcpy(k->nodes, nodes, n * sizeof *nodes);
    k->n_nodes = n;
    return true;
}

/* x * sigmoid(x), x * hardsigmoid(x) */
static bool gated(const lowering *l, uint32_t v, link *k)
{
    if (readers(l, v) != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t s = reader(l, v, i), m = reader(l, v, 1 - i);
        const clv_node *a = &l->g->nodes[s];
        bool hard =
            a->op == CLV_OP_HARDSIGMOID &&
            fabs(attr_float(a, CLV_A_ALPHA, 1.0 / 6) - 1.0 / 6) < 1e-6 &&
            fabs(attr_float(a, CLV_A_BETA, 0.5) - 0.5) < 1e-6;
        if ((a->op != CLV_OP_SIGMOID && !hard) || !is_free(l, s) ||
            !is_free(l, m) || l->g->nodes[m].op != CLV_OP_MUL ||
            l->g->nodes[m].n_in != 2 || readers(l, out(l, s)) != 1 ||
            other_of(l, m, v) != out(l, s))
            continue;
        *k = (link){.kind = LINK_ELTWISE,
                    .alg = hard ? dnnl_eltwise_hardswish : dnnl_eltwise_swish,
                    .alpha = hard ? 0 : 1,
                    .out = out(l, m)};
        return add_nodes(k, (uint32_t[]){s, m}, 2);
    }
    return false;
}

static bool scalar_node(const lowering *l, uint32_t node, clv_op kind,
                        uint32_t v, float *c)
{
    const clv_node *n = &l->g->nodes[node];
    return n->op == kind && n->n_in == 2 && is_free(l, node) &&
           (in(l, node, 0) == v || in(l, node, 1) == v) &&
           dnn_scalar(l, other_of(l, node, v), c);
}

/* 0.5 x (1 + erf(x / sqrt 2)), as exporters write it. */
static bool erf_gelu(const lowering *l, uint32_t v, link *k)
{
    float c;
    if (readers(l, v) != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t d = reader(l, v, i), m = reader(l, v, 1 - i), e, a, h;
        bool scaled = (scalar_node(l, d, CLV_OP_DIV, v, &c) &&
                       in(l, d, 0) == v && fabsf(c - 1.41421356f) < 1e-4f) ||
                      (scalar_node(l, d, CLV_OP_MUL, v, &c) &&
                       fabsf(c - 0.70710678f) < 1e-4f);
        if (!scaled || readers(l, out(l, d)) != 1)
            continue;
        e = reader(l, out(l, d), 0);
        if (l->g->nodes[e].op != CLV_OP_ERF || !is_free(l, e) ||
            readers(l, out(l, e)) != 1)
            continue;
        a = reader(l, out(l, e), 0);
        if (!scalar_node(l, a, CLV_OP_ADD, out(l, e), &c) ||
            fabsf(c - 1) > 1e-6f || readers(l, out(l, a)) != 1 ||
            reader(l, out(l, a), 0) != m || !is_free(l, m) ||
            l->g->nodes[m].op != CLV_OP_MUL || readers(l, out(l, m)) != 1)
            continue;
        h = reader(l, out(l, m), 0);
        if (!scalar_node(l, h, CLV_OP_MUL, out(l, m), &c) ||
            fabsf(c - 0.5f) > 1e-6f)
            continue;
        *k = (link){.kind = LINK_ELTWISE,
                    .alg = dnnl_eltwise_gelu_erf,
                    .out = out(l, h)};
        return add_nodes(k, (uint32_t[]){d, e, a, m, h}, 5);
    }
    return false;
}

static bool foldable(const lowering *l, uint32_t bn)
{
    for (uint32_t i = 1; i < 5; i++)
        if (in(l, bn, i) == CLV_NONE || !dnn_const(l, in(l, bn, i)) ||
            dnn_value(l, in(l, bn, i))->dtype != CLV_FLOAT32)
            return false;
    return true;
}

/* The link after value v, of a chain with `n` links already. */
static bool next_link(const lowering *l, uint32_t anchor, uint32_t v,
                      const link *chain, uint32_t n, link *k)
{
    clv_op kind = (clv_op)l->g->nodes[anchor].op;
    if (gated(l, v, k) || erf_gelu(l, v, k))
        return true;
    if (readers(l, v) != 1)
        return false;
    uint32_t u = reader(l, v, 0);
    const clv_node *node = &l->g->nodes[u];
    if (!is_free(l, u))
        return false;
    *k = (link){.node = u, .out = out(l, u)};
    add_nodes(k, &u, 1);
    if (node->op == CLV_OP_BATCH_NORM) {
        k->kind = LINK_BN;
        return is_conv(kind) && n == 0 && dnn_const(l, in(l, anchor, 1)) &&
               foldable(l, u);
    }
    if (dnn_eltwise(l, u, &k->alg, &k->alpha, &k->beta) &&
        same_dims(dnn_value(l, v), dnn_value(l, k->out))) {
        k->kind = LINK_ELTWISE;
        return true;
    }
    if (node->op != CLV_OP_ADD || node->n_in != 2 || in(l, u, 0) == in(l, u, 1))
        return false;
    k->other = other_of(l, u, v);
    const clv_value *a = dnn_value(l, k->other), *y = dnn_value(l, v);
    if (a->dtype != CLV_FLOAT32 || !same_dims(y, dnn_value(l, k->out)))
        return false;
    if (dnn_const(l, k->other)) {
        k->kind = LINK_BIAS;
        return !is_conv(kind) && n == 0 && a->rank == 1 &&
               a->dims[0] == y->dims[y->rank - 1] &&
               (l->g->nodes[anchor].n_in < 3 || kind == CLV_OP_MATMUL);
    }
    for (uint32_t i = 0; i < n; i++)
        if (chain[i].kind == LINK_ADD)
            return false;
    k->kind = LINK_ADD;
    return same_dims(a, y);
}

static uint32_t find_chain(const lowering *l, uint32_t anchor, link *chain)
{
    uint32_t v = out(l, anchor), n = 0;
    while (n < CHAIN_MAX && next_link(l, anchor, v, chain, n, &chain[n]))
        v = chain[n++].out;
    return n;
}

void dnn_find_chains(lowering *l)
{
    link chain[CHAIN_MAX];
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        uint32_t anchor = l->s->nodes[i], last = anchor;
        if (!dnn_is_anchor(l, anchor))
            continue;
        uint32_t n = find_chain(l, anchor, chain);
        l->chain_of[anchor] = anchor;
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t j = 0; j < chain[k].n_nodes; j++) {
                l->chain_of[chain[k].nodes[j]] = anchor;
                if (chain[k].nodes[j] > last)
                    last = chain[k].nodes[j];
            }
        l->emit[last] = anchor;
    }
}

/* The same chain again: its nodes are those that point to the anchor. */
static uint32_t chain_again(lowering *l, uint32_t anchor, link *chain)
{
    uint32_t v = out(l, anchor), n = 0;
    for (uint32_t i = 0; i < l->s->n_nodes; i++)
        if (l->chain_of[l->s->nodes[i]] == anchor && l->s->nodes[i] != anchor)
            l->chain_of[l->s->nodes[i]] = CLV_NONE;
    while (n < CHAIN_MAX && next_link(l, anchor, v, chain, n, &chain[n])) {
        v = chain[n].out;
        n++;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < chain[k].n_nodes; j++)
            l->chain_of[chain[k].nodes[j]] = anchor;
    return n;
}

clv_status dnn_group(lowering *l, uint32_t anchor)
{
    link chain[CHAIN_MAX];
    uint32_t n = chain_again(l, anchor, chain), used = n;
    clv_err *e = l->e, first = {CLV_OK, ""};
    l->e = &first;
    clv_status s = dnn_anchor(l, anchor, chain, used);
    while (s == CLV_UNSUPPORTED && used > 0) {
        clv__err_clear(&first);
        s = dnn_anchor(l, anchor, chain, --used);
    }
    l->e = e;
    if (s != CLV_OK)
        return clv__fail(e, s, "%s", first.msg);
    for (uint32_t k = used; k < n; k++)
        for (uint32_t j = 0; j < chain[k].n_nodes; j++)
            CLV_TRY(dnn_node(l, chain[k].nodes[j]));
    return CLV_OK;
}

/* -- weights with a batch norm folded in ----------------------------------*/

static const float *floats(const lowering *l, uint32_t v)
{
    return l->s->tensor[v].data;
}

static float at(const float *p, int64_t i)
{
    float x; /* weights in a file may not be aligned */
    memcpy(&x, (const char *)p + i * 4, sizeof x);
    return x;
}

/* scale = weight / sqrt(variance + eps);  w' = w scale
 * b' = (b - mean) scale + bias */
static clv_status fold(lowering *l, uint32_t anchor, uint32_t bn,
                       float **weight, float **bias)
{
    const clv_node *n = &l->g->nodes[bn];
    uint32_t w = in(l, anchor, 1), b = in(l, anchor, 2);
    int64_t outs = dnn_value(l, w)->dims[0];
    int64_t total = clv__numel(dnn_value(l, w)), each = total / outs;
    double eps = attr_float(n, CLV_A_EPSILON, 1e-5);
    *weight = clv__alloc((size_t)total * sizeof **weight);
    *bias = clv__alloc((size_t)outs * sizeof **bias);
    if (!*weight || !*bias)
        return clv__nomem(l->e);
    for (int64_t o = 0; o < outs && !l->dry; o++) {
        double scale = (double)at(floats(l, in(l, bn, 1)), o) /
                       sqrt((double)at(floats(l, in(l, bn, 4)), o) + eps);
        double base = b == CLV_NONE ? 0 : (double)at(floats(l, b), o);
        (*bias)[o] =
            (float)((base - (double)at(floats(l, in(l, bn, 3)), o)) * scale +
                    (double)at(floats(l, in(l, bn, 2)), o));
        for (int64_t i = 0; i < each; i++)
            (*weight)[o * each + i] =
                (float)((double)at(floats(l, w), o * each + i) * scale);
    }
    return CLV_OK;
}

/* -- attributes of a chain ------------------------------------------------*/

typedef struct extras {
    dnnl_primitive_attr_t attr;
    int arg[CHAIN_MAX];
    uint32_t slot[CHAIN_MAX], n; /* operands of binary post-ops */
    uint32_t onto;               /* slot that the sum overwrites, CLV_NONE */
    int64_t dims[CLV_MAX_RANK];  /* the result as the primitive sees it */
    uint32_t rank;
} extras;

/* The residual may be overwritten: nobody reads it again. */
static bool may_overwrite(const lowering *l, uint32_t v, uint32_t add,
                          uint32_t s)
{
    const buffer *b = &l->x->buffers[l->x->slots[s].buffer];
    if (l->leaves[v] || b->value != CLV_NONE || b->data || b->shared)
        return false;
    for (uint32_t i = l->g->user_first[v]; i < l->g->user_first[v + 1]; i++)
        if (l->g->users[i] > add)
            return false;
    return true;
}

static clv_status append_add(lowering *l, const link *k, dnnl_post_ops_t post,
                             int at_link, extras *x)
{
    uint32_t s;
    bool flat = x->rank != dnn_value(l, k->other)->rank;
    if (flat)
        CLV_TRY(dnn_view(l, k->other, x->dims, x->rank, &s));
    else
        CLV_TRY(dnn_slot(l, k->other, &s));
    if (at_link == 0 && may_overwrite(l, k->other, k->node, s)) {
        DNN(l, dnnl_post_ops_append_sum(post, 1));
        x->onto = s;
        return CLV_OK;
    }
    DNN(l,
        dnnl_post_ops_append_binary(post, dnnl_binary_add, &l->x->slots[s].md));
    x->arg[x->n] = DNNL_ARG_ATTR_MULTIPLE_POST_OP(at_link) | DNNL_ARG_SRC_1;
    x->slot[x->n++] = s;
    return CLV_OK;
}

static clv_status append_all(lowering *l, const link *chain, uint32_t n,
                             dnnl_post_ops_t post, extras *x)
{
    int at_link = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (chain[i].kind == LINK_BN || chain[i].kind == LINK_BIAS)
            continue;
        if (chain[i].kind == LINK_ELTWISE)
            DNN(l, dnnl_post_ops_append_eltwise(post, 1, chain[i].alg,
                                                chain[i].alpha, chain[i].beta));
        else
            CLV_TRY(append_add(l, &chain[i], post, at_link, x));
        at_link++;
    }
    return CLV_OK;
}

static clv_status make_extras(lowering *l, const link *chain, uint32_t n,
                              extras *x)
{
    dnnl_post_ops_t post;
    x->onto = CLV_NONE;
    DNN(l, dnnl_primitive_attr_clone(&x->attr, l->attr));
    DNN(l, dnnl_post_ops_create(&post));
    clv_status s = append_all(l, chain, n, post, x);
    if (s == CLV_OK &&
        dnnl_primitive_attr_set_post_ops(x->attr, post) != dnnl_success)
        s = dnn_fail(l, "post-ops", dnnl_unimplemented);
    dnnl_post_ops_destroy(post);
    return s;
}

static const link *find_link(const link *chain, uint32_t n, link_kind kind)
{
    for (uint32_t i = 0; i < n; i++)
        if (chain[i].kind == kind)
            return &chain[i];
    return NULL;
}

/* The destination of a product: fresh, or over the residual. */
static clv_status make_dst(lowering *l, const extras *x, uint32_t v,
                           const dnnl_memory_desc_t *md, uint32_t *slot)
{
    if (x->onto == CLV_NONE)
        return dnn_new(l, v, md, slot);
    CLV_TRY(dnn_alias(l, x->onto, v, md, slot));
    if (v != CLV_NONE) /* the value before is dead: only one looks at it */
        l->x->buffers[l->x->slots[*slot].buffer].shared = false;
    return CLV_OK;
}

/* -- convolution ----------------------------------------------------------*/

typedef struct conv {
    dnnl_dims_t stride, dilation, before, after;
    dnnl_memory_desc_t plain, any; /* of the weights, groups in front */
} conv;

static clv_status conv_of(lowering *l, uint32_t node, conv *c)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, in(l, node, 0));
    const clv_value *w = dnn_value(l, in(l, node, 1));
    const clv_value *y = dnn_value(l, out(l, node));
    uint32_t nd = x->rank - 2u, at_dim = 0;
    int64_t groups = attr_int(n, CLV_A_GROUPS, 1), dims[CLV_MAX_RANK];
    if (x->rank < 3 || x->rank > 5)
        return clv__fail(l->e, CLV_UNSUPPORTED,
                         "oneDNN: a convolution of "
                         "this rank");
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

static clv_status conv_pd(lowering *l, uint32_t node, const conv *c,
                          const extras *x, bool bias, dnnl_primitive_desc_t *pd)
{
    const clv_value *a = dnn_value(l, in(l, node, 0));
    const clv_value *y = dnn_value(l, out(l, node));
    dnnl_memory_desc_t src, dst, b;
    dnnl_convolution_desc_t d;
    dnn_any(&src, a->dims, a->rank);
    dnn_any(&dst, y->dims, y->rank);
    if (x->onto != CLV_NONE)
        dst = l->x->slots[x->onto].md;
    dnn_plain(&b, &y->dims[1], 1);
    DNN(l, dnnl_dilated_convolution_forward_desc_init(
               &d, dnnl_forward_inference, dnnl_convolution_direct, &src,
               &c->any, bias ? &b : NULL, &dst, c->stride, c->dilation,
               c->before, c->after));
    DNN(l, dnnl_primitive_desc_create(pd, &d, x->attr, l->engine, NULL));
    return CLV_OK;
}

/* Weights and bias in their slots, a batch norm folded in if there is one. */
static clv_status conv_weights(lowering *l, uint32_t node, const link *bn,
                               const conv *c, const dnnl_memory_desc_t *want,
                               uint32_t *weight, uint32_t *bias)
{
    uint32_t w = in(l, node, 1), b = in(l, node, 2), from;
    const clv_value *y = dnn_value(l, out(l, node));
    dnnl_memory_desc_t flat;
    dnn_plain(&flat, &y->dims[1], 1);
    if (bn) {
        float *fw = NULL, *fb = NULL;
        clv_status s = fold(l, node, bn->node, &fw, &fb);
        if (s != CLV_OK)
            return clv__free(fw), clv__free(fb), s;
        s = dnn_constant(l, fw, &c->plain, want, weight);
        if (s != CLV_OK)
            return clv__free(fb), s;
        return dnn_constant(l, fb, &flat, &flat, bias);
    }
    if (b != CLV_NONE)
        CLV_TRY(dnn_slot(l, b, bias));
    CLV_TRY(dnn_slot(l, w, &from));
    uint32_t view = from;
    if (l->x->slots[from].md.ndims != c->plain.ndims)
        CLV_TRY(dnn_alias(l, from, CLV_NONE, &c->plain, &view));
    /* dnn_want looks slots up by value: a view has none of its own. */
    if (dnnl_memory_desc_equal(&l->x->slots[view].md, want)) {
        *weight = view;
        return CLV_OK;
    }
    const buffer *data = &l->x->buffers[l->x->slots[from].buffer];
    if (!data->data)
        return clv__fail(l->e, CLV_UNSUPPORTED,
                         "oneDNN: weights that are computed");
    float *copy = NULL;
    if (!l->dry) {
        size_t size = (size_t)clv__bytes(dnn_value(l, w));
        if (!(copy = clv__alloc(size + 1)))
            return clv__nomem(l->e);
        memcpy(copy, data->data, size);
    }
    return dnn_constant(l, copy, &c->plain, want, weight);
}

static clv_status make_conv(lowering *l, uint32_t node, const link *chain,
                            uint32_t n, extras *x)
{
    conv c;
    dnnl_primitive_desc_t pd;
    const link *bn = find_link(chain, n, LINK_BN);
    bool bias = bn || in(l, node, 2) != CLV_NONE;
    uint32_t slots[4 + CHAIN_MAX], count = 0;
    int args[4 + CHAIN_MAX];
    CLV_TRY(conv_of(l, node, &c));
    CLV_TRY(conv_pd(l, node, &c, x, bias, &pd));
    const dnnl_memory_desc_t src = *dnn_query(pd, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t want = *dnn_query(pd, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t dst = *dnn_query(pd, dnnl_query_dst_md, 0);
    uint32_t y = n ? chain[n - 1].out : out(l, node);
    clv_status s = dnn_want(l, in(l, node, 0), &src, &slots[0]);
    if (s == CLV_OK)
        s = conv_weights(l, node, bn, &c, &want, &slots[1], &slots[3]);
    if (s == CLV_OK)
        s = make_dst(l, x, y, &dst, &slots[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    args[count++] = DNNL_ARG_SRC;
    args[count++] = DNNL_ARG_WEIGHTS;
    args[count++] = DNNL_ARG_DST;
    if (bias)
        args[count++] = DNNL_ARG_BIAS;
    for (uint32_t i = 0; i < x->n; i++) {
        args[count] = x->arg[i];
        slots[count++] = x->slot[i];
    }
    return dnn_op(l, pd, args, slots, count);
}

/* -- products -------------------------------------------------------------*/

/* x (rows,K) times weights given as (N,K) by strides, plus bias. */
typedef struct product {
    int64_t rows, depth, cols;
    bool transposed; /* the weights are (N,K) in memory, else (K,N) */
    uint32_t bias;   /* value, or CLV_NONE */
} product;

static bool product_of(const lowering *l, uint32_t node, const link *chain,
                       uint32_t n, product *p)
{
    const clv_node *nd = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, in(l, node, 0));
    const clv_value *w = dnn_value(l, in(l, node, 1));
    const link *bias = find_link(chain, n, LINK_BIAS);
    if (w->rank != 2 || x->rank < 2 || !dnn_const(l, in(l, node, 1)))
        return false;
    *p = (product){.bias = bias ? bias->other : in(l, node, 2)};
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

static clv_status make_product(lowering *l, uint32_t node, const product *p,
                               const link *chain, uint32_t n, extras *x)
{
    const int64_t xd[] = {p->rows, p->depth}, yd[] = {p->rows, p->cols};
    const dnnl_dims_t wd = {p->cols, p->depth};
    const dnnl_dims_t strides = {p->transposed ? p->depth : 1,
                                 p->transposed ? 1 : p->cols};
    dnnl_memory_desc_t src, w, any, b, dst;
    dnnl_inner_product_desc_t d;
    dnnl_primitive_desc_t pd;
    uint32_t slots[4 + CHAIN_MAX], count = 0, from, result;
    int args[4 + CHAIN_MAX];
    dnn_plain(&src, xd, 2);
    dnn_plain(&dst, yd, 2);
    dnn_plain(&b, &p->cols, 1);
    dnn_any(&any, wd, 2);
    DNN(l, dnnl_memory_desc_init_by_strides(&w, 2, wd, dnnl_f32, strides));
    DNN(l, dnnl_inner_product_forward_desc_init(
               &d, dnnl_forward_inference, &src, &any,
               p->bias != CLV_NONE ? &b : NULL, &dst));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, x->attr, l->engine, NULL));
    const dnnl_memory_desc_t want = *dnn_query(pd, dnnl_query_weights_md, 0);
    clv_status s = dnn_view(l, in(l, node, 0), xd, 2, &slots[0]);
    if (s == CLV_OK)
        s = dnn_slot(l, in(l, node, 1), &from);
    if (s == CLV_OK)
        s = dnn_alias(l, from, CLV_NONE, &w, &slots[1]);
    if (s == CLV_OK && !dnnl_memory_desc_equal(&w, &want)) {
        float *copy = NULL;
        size_t size = (size_t)(p->cols * p->depth) * 4;
        if (!l->dry && (copy = clv__alloc(size + 1)))
            memcpy(copy, l->x->buffers[l->x->slots[from].buffer].data, size);
        s = copy || l->dry ? dnn_constant(l, copy, &w, &want, &slots[1])
                           : clv__nomem(l->e);
    }
    uint32_t y = n ? chain[n - 1].out : out(l, node);
    if (s == CLV_OK)
        s = make_dst(l, x, CLV_NONE, &dst, &slots[2]);
    if (s == CLV_OK && p->bias != CLV_NONE)
        s = dnn_view(l, p->bias, &p->cols, 1, &slots[3]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    args[count++] = DNNL_ARG_SRC;
    args[count++] = DNNL_ARG_WEIGHTS;
    args[count++] = DNNL_ARG_DST;
    if (p->bias != CLV_NONE)
        args[count++] = DNNL_ARG_BIAS;
    for (uint32_t i = 0; i < x->n; i++) {
        args[count] = x->arg[i];
        slots[count++] = x->slot[i];
    }
    CLV_TRY(dnn_op(l, pd, args, slots, count));
    dnn_plain(&dst, dnn_value(l, y)->dims, dnn_value(l, y)->rank);
    CLV_TRY(dnn_alias(l, slots[2], y, &dst, &result));
    l->x->buffers[l->x->slots[result].buffer].shared = false;
    return CLV_OK;
}

/* a (..,M,K) @ b (..,K,N), both computed; leading axes broadcast. */
static clv_status make_matmul(lowering *l, uint32_t node, const link *chain,
                              uint32_t n, extras *x)
{
    const clv_value *y = dnn_value(l, out(l, node));
    uint32_t slots[3 + CHAIN_MAX], count = 3;
    int args[3 + CHAIN_MAX] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_memory_desc_t dst;
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    for (uint32_t i = 0; i < 2; i++) {
        const clv_value *v = dnn_value(l, in(l, node, i));
        int64_t dims[CLV_MAX_RANK];
        if (v->rank < 2 || v->rank > y->rank || y->rank > 6 ||
            l->g->nodes[node].n_in > 2)
            return clv__fail(l->e, CLV_UNSUPPORTED,
                             "oneDNN: a product of this rank");
        for (uint32_t k = 0; k < y->rank; k++)
            dims[k] = k < (uint32_t)(y->rank - v->rank)
                          ? 1
                          : v->dims[k - (uint32_t)(y->rank - v->rank)];
        CLV_TRY(dnn_view(l, in(l, node, i), dims, y->rank, &slots[i]));
    }
    dnn_plain(&dst, y->dims, y->rank);
    DNN(l, dnnl_matmul_desc_init(&d, &l->x->slots[slots[0]].md,
                                 &l->x->slots[slots[1]].md, NULL, &dst));
    DNN(l, dnnl_primitive_desc_create(&pd, &d, x->attr, l->engine, NULL));
    clv_status s =
        make_dst(l, x, n ? chain[n - 1].out : out(l, node), &dst, &slots[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    for (uint32_t i = 0; i < x->n; i++) {
        args[count] = x->arg[i];
        slots[count++] = x->slot[i];
    }
    return dnn_op(l, pd, args, slots, count);
}

clv_status dnn_anchor(lowering *l, uint32_t node, const link *chain, uint32_t n)
{
    const clv_value *y = dnn_value(l, out(l, node));
    bool is_c = is_conv((clv_op)l->g->nodes[node].op);
    product p;
    bool flat = !is_c && product_of(l, node, chain, n, &p);
    extras x = {.rank = y->rank};
    memcpy(x.dims, y->dims, y->rank * sizeof *x.dims);
    if (!is_c && !flat &&
        (find_link(chain, n, LINK_BIAS) ||
         l->g->nodes[node].op == CLV_OP_LINEAR ||
         l->g->nodes[node].op == CLV_OP_GEMM))
        return clv__fail(l->e, CLV_UNSUPPORTED, "oneDNN: this product");
    if (flat) {
        x.rank = 2;
        x.dims[0] = p.rows;
        x.dims[1] = p.cols;
    }
    clv_status s = make_extras(l, chain, n, &x);
    if (s == CLV_OK)
        s = is_c   ? make_conv(l, node, chain, n, &x)
            : flat ? make_product(l, node, &p, chain, n, &x)
                   : make_matmul(l, node, chain, n, &x);
    dnnl_primitive_attr_destroy(x.attr);
    return s;
}

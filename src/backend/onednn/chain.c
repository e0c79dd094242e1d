/* chain.c - convolutions, products and norms, with what follows them.
 *
 * A chain is what can be computed while the result is still in registers:
 *
 *     conv -> batch_norm -> relu            the norm is folded into weights
 *     conv -> batch_norm -> add -> relu     the sum is done in place
 *     matmul -> add bias -> gelu
 *     linear -> permute -> mul -> add       a constant scale is folded too
 *     batch_norm -> relu
 *
 * Each link's value has one reader, so nobody misses it. The chain is made
 * where its last node stands: by then every operand is there. Where oneDNN
 * refuses the whole chain, shorter ones are tried; the rest stands alone. */
#include "backend/onednn/onednn.h"

#include <math.h>

bool dnn_is_conv(clv_op kind)
{
    return kind == CLV_OP_CONV1D || kind == CLV_OP_CONV2D ||
           kind == CLV_OP_CONV3D;
}

static bool is_product(clv_op kind)
{
    return dnn_is_conv(kind) || kind == CLV_OP_LINEAR ||
           kind == CLV_OP_MATMUL || kind == CLV_OP_BMM || kind == CLV_OP_GEMM;
}

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
    return l->inside[node] && !l->taken[node] &&
           !is_product((clv_op)l->g->nodes[node].op);
}

static uint32_t other_of(const lowering *l, uint32_t node, uint32_t v)
{
    return dnn_in(l, node, 0) == v ? dnn_in(l, node, 1) : dnn_in(l, node, 0);
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
        bool hard = a->op == CLV_OP_HARDSIGMOID &&
                    fabs(attr_float(a, CLV_A_ALPHA) - 1.0 / 6) < 1e-6 &&
                    fabs(attr_float(a, CLV_A_BETA) - 0.5) < 1e-6;
        if ((a->op != CLV_OP_SIGMOID && !hard) || !is_free(l, s) ||
            !is_free(l, m) || l->g->nodes[m].op != CLV_OP_MUL ||
            l->g->nodes[m].n_in != 2 || readers(l, dnn_out(l, s)) != 1 ||
            other_of(l, m, v) != dnn_out(l, s))
            continue;
        *k = (link){.kind = LINK_ELTWISE,
                    .alg = hard ? dnnl_eltwise_hardswish : dnnl_eltwise_swish,
                    .alpha = hard ? 0 : 1,
                    .out = dnn_out(l, m)};
        return add_nodes(k, (uint32_t[]){s, m}, 2);
    }
    return false;
}

static bool scalar_node(const lowering *l, uint32_t node, clv_op kind,
                        uint32_t v, float *c)
{
    const clv_node *n = &l->g->nodes[node];
    return n->op == kind && n->n_in == 2 && is_free(l, node) &&
           (dnn_in(l, node, 0) == v || dnn_in(l, node, 1) == v) &&
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
        bool scaled =
            (scalar_node(l, d, CLV_OP_DIV, v, &c) && dnn_in(l, d, 0) == v &&
             fabsf(c - 1.41421356f) < 1e-4f) ||
            (scalar_node(l, d, CLV_OP_MUL, v, &c) &&
             fabsf(c - 0.70710678f) < 1e-4f);
        if (!scaled || readers(l, dnn_out(l, d)) != 1)
            continue;
        e = reader(l, dnn_out(l, d), 0);
        if (l->g->nodes[e].op != CLV_OP_ERF || !is_free(l, e) ||
            readers(l, dnn_out(l, e)) != 1)
            continue;
        a = reader(l, dnn_out(l, e), 0);
        if (!scalar_node(l, a, CLV_OP_ADD, dnn_out(l, e), &c) ||
            fabsf(c - 1) > 1e-6f || readers(l, dnn_out(l, a)) != 1 ||
            reader(l, dnn_out(l, a), 0) != m || !is_free(l, m) ||
            l->g->nodes[m].op != CLV_OP_MUL || readers(l, dnn_out(l, m)) != 1)
            continue;
        h = reader(l, dnn_out(l, m), 0);
        if (!scalar_node(l, h, CLV_OP_MUL, dnn_out(l, m), &c) ||
            fabsf(c - 0.5f) > 1e-6f)
            continue;
        *k = (link){.kind = LINK_ELTWISE,
                    .alg = dnnl_eltwise_gelu_erf,
                    .out = dnn_out(l, h)};
        return add_nodes(k, (uint32_t[]){d, e, a, m, h}, 5);
    }
    return false;
}

static bool foldable(const lowering *l, uint32_t bn)
{
    for (uint32_t i = 1; i < 5; i++)
        if (dnn_in(l, bn, i) == CLV_NONE || !dnn_const(l, dnn_in(l, bn, i)) ||
            dnn_value(l, dnn_in(l, bn, i))->dtype != CLV_FLOAT32)
            return false;
    return true;
}

/* -- the links ------------------------------------------------------------*/

/* The end of a chain while it is found. */
typedef struct chain_end {
    uint32_t v;
    bool affine;           /* so far only constants per channel */
    bool added;            /* one operand is enough */
    dnnl_memory_desc_t md; /* of a product: its layout after the views */
    bool is_conv;
    int64_t channels; /* columns that the product makes */
    int channel;      /* axis of the output channels; -1: none */
} chain_end;

static void find_channel(chain_end *t)
{
    t->channel = t->is_conv ? 1 : -1;
    for (int i = 0; i < t->md.ndims && !t->is_conv; i++)
        if (t->md.dims[i] > 1 && t->md.dims[i] == t->channels &&
            t->md.format_desc.blocking.strides[i] == 1)
            t->channel = i;
}

/* Columns of the product y. A matrix times a vector makes one. */
static int64_t product_channels(const lowering *l, uint32_t node,
                                const clv_value *y)
{
    bool vector = dnn_value(l, dnn_in(l, node, 1))->rank < 2;
    return y->rank && !vector ? y->dims[y->rank - 1] : 1;
}

/* Weights and bias are known, so that constants can be folded into them. */
static bool is_stored(const lowering *l, uint32_t node)
{
    uint32_t w = dnn_in(l, node, 1);
    uint32_t bias = l->g->nodes[node].n_in > 2 ? dnn_in(l, node, 2) : CLV_NONE;
    return w != CLV_NONE && dnn_const(l, w) &&
           (bias == CLV_NONE || dnn_const(l, bias));
}

/* A constant with one number per channel of y. */
static bool per_channel(const lowering *l, const chain_end *t, uint32_t c,
                        const clv_value *y)
{
    const clv_value *x = dnn_value(l, c);
    if (t->channel < 0 || !dnn_const(l, c) || x->dtype != CLV_FLOAT32 ||
        x->rank > y->rank)
        return false;
    uint32_t lead = (uint32_t)(y->rank - x->rank), axis = (uint32_t)t->channel;
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != (lead + i == axis ? y->dims[axis] : 1))
            return false;
    return axis >= lead;
}

static bool view_link(const lowering *l, chain_end *t, link *k)
{
    dnnl_memory_desc_t y;
    int64_t at;
    k->kind = LINK_VIEW;
    if (!dnn_is_view(l, k->node))
        return false;
    if (t->is_conv)
        return dnn_same_dims(dnn_value(l, t->v), dnn_value(l, k->out)) &&
               l->g->nodes[k->node].op != CLV_OP_PERMUTE &&
               l->g->nodes[k->node].op != CLV_OP_TRANSPOSE;
    if (!dnn_look(l, k->node, 0, &t->md, &y, &at))
        return false;
    t->md = y;
    find_channel(t);
    return true;
}

static bool bn_link(const lowering *l, chain_end *t, link *k)
{
    k->kind = LINK_BN;
    return l->g->nodes[k->node].op == CLV_OP_BATCH_NORM && t->is_conv &&
           t->affine && foldable(l, k->node);
}

/* The function is in the chain already. oneDNN keeps one pair of parameters
 * per algorithm: the second would run with those of the first. */
static bool repeats(const chain *c, const link *k)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->link[i].kind == LINK_ELTWISE && c->link[i].alg == k->alg)
            return true;
    return false;
}

static bool eltwise_link(const lowering *l, chain_end *t, link *k)
{
    k->kind = LINK_ELTWISE;
    if (!dnn_eltwise(l, k->node, &k->alg, &k->alpha, &k->beta) ||
        !dnn_same_dims(dnn_value(l, t->v), dnn_value(l, k->out)))
        return false;
    t->affine = false;
    return true;
}

/* Makes one line of two: a2 (a1 x + b1) + b2. Returns false where that is not
 * the same, because the product leaves the range of floats. */
static bool join_lines(link *last, const link *k)
{
    float a = k->alpha * last->alpha, b = k->alpha * last->beta + k->beta;
    const uint32_t room = sizeof last->nodes / sizeof *last->nodes;
    if (last->kind != LINK_ELTWISE || last->alg != dnnl_eltwise_linear ||
        k->kind != LINK_ELTWISE || k->alg != dnnl_eltwise_linear ||
        !isnormal(a) || !isfinite(b) || last->n_nodes == room)
        return false;
    last->alpha = a;
    last->beta = b;
    last->out = k->out;
    last->nodes[last->n_nodes++] = k->node;
    return true;
}

/* + or * of a constant per channel, or + of a value that is there by then */
static bool operand_link(const lowering *l, chain_end *t, link *k)
{
    const clv_node *n = &l->g->nodes[k->node];
    const clv_value *y = dnn_value(l, t->v);
    bool add = n->op == CLV_OP_ADD;
    if ((!add && n->op != CLV_OP_MUL) || n->n_in != 2 ||
        dnn_in(l, k->node, 0) == dnn_in(l, k->node, 1) ||
        !dnn_same_dims(y, dnn_value(l, k->out)))
        return false;
    k->other = other_of(l, k->node, t->v);
    if (dnn_const(l, k->other)) {
        k->kind = add ? LINK_BIAS : LINK_SCALE;
        return t->affine && per_channel(l, t, k->other, y);
    }
    const clv_value *a = dnn_value(l, k->other);
    k->kind = LINK_ADD;
    if (!add || t->added || a->dtype != CLV_FLOAT32 || !dnn_same_dims(a, y))
        return false;
    t->affine = false;
    return t->added = true;
}

typedef bool link_fn(const lowering *l, chain_end *t, link *k);
static link_fn *const link_rules[] = {bn_link, eltwise_link, operand_link,
                                      view_link};

static bool next_link(const lowering *l, chain_end *t, link *k)
{
    if (gated(l, t->v, k) || erf_gelu(l, t->v, k)) {
        t->affine = false;
        return true;
    }
    if (readers(l, t->v) != 1 || !is_free(l, reader(l, t->v, 0)))
        return false;
    uint32_t node = reader(l, t->v, 0);
    for (size_t i = 0; i < sizeof link_rules / sizeof *link_rules; i++) {
        *k = (link){.node = node, .out = dnn_out(l, node)};
        add_nodes(k, &node, 1);
        if (link_rules[i](l, t, k))
            return true;
    }
    return false;
}

static void find_links(const lowering *l, chain *c)
{
    clv_op kind = (clv_op)l->g->nodes[c->anchor].op;
    chain_end t = {.v = dnn_out(l, c->anchor), .is_conv = dnn_is_conv(kind)};
    const clv_value *y = dnn_value(l, t.v);
    t.affine = is_stored(l, c->anchor);
    t.channels = product_channels(l, c->anchor, y);
    dnn_plain(&t.md, y->dims, y->rank);
    find_channel(&t);
    while (c->n < CHAIN_MAX && next_link(l, &t, &c->link[c->n])) {
        link *k = &c->link[c->n];
        t.v = k->out;
        if (c->n && join_lines(k - 1, k))
            continue;
        if (k->kind == LINK_ELTWISE && repeats(c, k))
            return;
        c->n++;
    }
}

/* A norm takes a relu, no more. */
static void find_relu(const lowering *l, chain *c)
{
    uint32_t v = dnn_out(l, c->anchor);
    if (readers(l, v) != 1 || !is_free(l, reader(l, v, 0)) ||
        l->g->nodes[reader(l, v, 0)].op != CLV_OP_RELU)
        return;
    uint32_t node = reader(l, v, 0);
    c->link[0] = (link){.kind = LINK_ELTWISE,
                        .alg = dnnl_eltwise_relu,
                        .node = node,
                        .out = dnn_out(l, node)};
    c->n = add_nodes(&c->link[0], &node, 1);
}

clv_status dnn_find_chains(lowering *l)
{
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        uint32_t node = l->s->nodes[i], last = node;
        clv_op kind = (clv_op)l->g->nodes[node].op;
        bool norm = kind == CLV_OP_BATCH_NORM;
        if ((!is_product(kind) && !norm) || !l->inside[node] || l->taken[node])
            continue;
        chain *c = arena_zalloc(&l->mem, sizeof *c);
        if (!c)
            return clv__nomem(l->e);
        c->anchor = node;
        (norm ? find_relu : find_links)(l, c);
        l->taken[node] = 1;
        for (uint32_t k = 0; k < c->n; k++)
            for (uint32_t j = 0; j < c->link[k].n_nodes; j++) {
                l->taken[c->link[k].nodes[j]] = 1;
                if (c->link[k].nodes[j] > last)
                    last = c->link[k].nodes[j];
            }
        l->emit[last] = c;
    }
    return CLV_OK;
}

clv_status dnn_emit(lowering *l, const chain *c)
{
    bool is_conv = dnn_is_conv((clv_op)l->g->nodes[c->anchor].op);
    uint32_t used = is_conv ? dnn_conv_links(l, c) : c->n;
    clv_err *e = l->e, first = {0};
    l->e = &first;
    clv_status s = dnn_anchor(l, c, used);
    while (s == CLV_UNSUPPORTED && used > 0) {
        clv__err_clear(&first);
        s = dnn_anchor(l, c, --used);
    }
    l->e = e;
    if (s != CLV_OK)
        return clv__fail(e, s, "%s", first.msg);
    for (uint32_t k = used; k < c->n; k++)
        for (uint32_t j = 0; j < c->link[k].n_nodes; j++)
            CLV_TRY(dnn_node(l, c->link[k].nodes[j]));
    return CLV_OK;
}

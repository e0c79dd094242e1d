/* rewrite_clean.c - what computes nothing, what is computed twice, and what can
 * be computed once: dead nodes, identities, repeated nodes, constants. */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

/* -- nodes that nobody reads ----------------------------------------------*/

bool rewrite_dead(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    for (uint32_t o = 0; o < n->n_out; o++)
        if (r->uses[node_outs(r->g, n)[o]])
            return false;
    rw_kill(r, id);
    if (id < r->from->n_nodes)
        r->home[id] = CLV_NONE;
    return true;
}

/* -- identities -----------------------------------------------------------*/

/* Arithmetic with the number that changes nothing. */
static bool adds_nothing(const rewriter *r, uint32_t id, uint32_t *x)
{
    clv_op op = rw_op(r, id);
    double neutral = op == CLV_OP_ADD || op == CLV_OP_SUB ? 0 : 1, c;
    if (op != CLV_OP_ADD && op != CLV_OP_SUB && op != CLV_OP_MUL &&
        op != CLV_OP_DIV && op != CLV_OP_POW)
        return false;
    if (op == CLV_OP_DIV && !attr_is(rw_node(r, id), CLV_A_MODE, "none"))
        return false;
    if (rw_with_number(r, id, x, &c))
        return c == neutral;
    uint32_t a = rw_in(r, id, 0), b = rw_in(r, id, 1), y = rw_out(r, id);
    if (rw_node(r, id)->n_in != 2 || a == CLV_NONE || b == CLV_NONE)
        return false;
    *x = a;
    if (rw_all(r, b, neutral) && rw_same_shape(r, a, y) &&
        rw_same_type(r, a, y))
        return true;
    *x = b;
    return (op == CLV_OP_ADD || op == CLV_OP_MUL) && rw_all(r, a, neutral) &&
           rw_same_shape(r, b, y) && rw_same_type(r, b, y);
}

/* A dropout that is not told to train. */
static bool drops_nothing(const rewriter *r, uint32_t id)
{
    double training = 0;
    uint32_t v = rw_in(r, id, 2);
    return v == CLV_NONE || (rw_number(r, v, &training) && training == 0);
}

/* A slice of everything, forwards. */
static bool slices_all(const rewriter *r, uint32_t id)
{
    uint32_t v = rw_in(r, id, 4), n;
    const int64_t *by = attr_ints(rw_node(r, id), CLV_A_STEP, &n);
    if (v != CLV_NONE)
        return rw_all(r, v, 1);
    for (uint32_t i = 0; i < n; i++)
        if (by[i] != 1)
            return false;
    return true;
}

/* A pad of nothing on every side. */
static bool pads_nothing(const rewriter *r, uint32_t id)
{
    int_list pads;
    if (get_ints(r->g, rw_node(r, id), CLV_A_PADDING, 1, &pads, NULL) != CLV_OK)
        return false;
    for (uint32_t i = 0; i < pads.n; i++)
        if (pads.v[i] != 0)
            return false;
    return pads.found;
}

/* The result of node id is its first input. */
static bool hands_on(const rewriter *r, uint32_t id)
{
    uint32_t perm[CLV_MAX_RANK];
    const clv_node *n = rw_node(r, id);
    switch (rw_op(r, id)) {
    case CLV_OP_IDENTITY:
    case CLV_OP_CONTIGUOUS:
    case CLV_OP_STOCHASTIC_DEPTH:
    case CLV_OP_RESHAPE:
    case CLV_OP_FLATTEN:
    case CLV_OP_UNFLATTEN:
    case CLV_OP_SQUEEZE:
    case CLV_OP_UNSQUEEZE:
    case CLV_OP_EXPAND:
    case CLV_OP_CAST:
    case CLV_OP_CAST_LIKE:
        return true;
    case CLV_OP_CAT:
        return n->n_in == 1;
    case CLV_OP_DROPOUT:
        return drops_nothing(r, id);
    case CLV_OP_PAD:
        return pads_nothing(r, id);
    case CLV_OP_SLICE:
        return slices_all(r, id);
    case CLV_OP_PERMUTE:
    case CLV_OP_TRANSPOSE:
        if (!rw_perm(r, id, perm))
            return false;
        for (uint32_t i = 0; i < rw_rank(r, rw_out(r, id)); i++)
            if (perm[i] != i)
                return false;
        return true;
    default:
        return false;
    }
}

bool rewrite_identity(rewriter *r, uint32_t id)
{
    uint32_t x = rw_in(r, id, 0), y;
    if (!rw_node(r, id)->n_out || !rw_node(r, id)->n_in || x == CLV_NONE)
        return false;
    y = rw_out(r, id);
    if (!rw_is_static(r, y) || !rw_is_static(r, x))
        return false;
    if (adds_nothing(r, id, &x))
        return rw_forward(r, id, x);
    return rw_same_shape(r, x, y) && rw_same_type(r, x, y) && hands_on(r, id) &&
           rw_forward(r, id, x);
}

/* -- nodes that compute the same ------------------------------------------*/

static bool same_attr(const clv_attr *a, const clv_attr *b)
{
    if (a->key != b->key || a->type != b->type || a->n != b->n ||
        a->key == CLV_A_OTHER)
        return false;
    switch ((clv_attr_type)a->type) {
    case CLV_ATTR_INT:
        return a->u.i == b->u.i;
    case CLV_ATTR_FLOAT:
        return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
    case CLV_ATTR_STRING:
        return !strcmp(a->u.s, b->u.s);
    case CLV_ATTR_INTS:
        return !a->n || !memcmp(a->u.ints, b->u.ints, a->n * sizeof(int64_t));
    case CLV_ATTR_FLOATS:
        return !a->n ||
               !memcmp(a->u.floats, b->u.floats, a->n * sizeof(double));
    default:
        return false;
    }
}

/* One value, or the same number in two constants. */
static bool same_operand(const rewriter *r, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    const clv_tensor *x = rw_known(r, a), *y = rw_known(r, b);
    return x && y && x->dtype == y->dtype && x->dtype != CLV_STRING &&
           x->rank == y->rank && clv_tensor_numel(x) == 1 &&
           clv_tensor_numel(y) == 1 &&
           !memcmp(x->data, y->data, (size_t)clv_tensor_bytes(x));
}

static bool computes_same(const rewriter *r, uint32_t a, uint32_t b)
{
    const clv_node *x = rw_node(r, a), *y = rw_node(r, b);
    if (x->op != y->op || x->n_in != y->n_in || x->n_attrs != y->n_attrs)
        return false;
    for (uint32_t i = 0; i < x->n_in; i++)
        if (!same_operand(r, rw_in(r, a, i), rw_in(r, b, i)))
            return false;
    for (uint32_t i = 0; i < x->n_attrs; i++)
        if (!same_attr(&x->attrs[i], &y->attrs[i]))
            return false;
    return rw_same_shape(r, rw_out(r, a), rw_out(r, b)) &&
           rw_same_type(r, rw_out(r, a), rw_out(r, b));
}

static uint64_t hash_mix(uint64_t h, uint64_t key)
{
    h = (h ^ key) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 29;
}

static uint64_t hash_attr(uint64_t h, const clv_attr *a)
{
    uint64_t key = a->key;
    if (a->type == CLV_ATTR_INT)
        key ^= (uint64_t)a->u.i << 8;
    for (uint32_t i = 0; a->type == CLV_ATTR_INTS && i < a->n; i++)
        key = hash_mix(key, (uint64_t)a->u.ints[i]);
    return hash_mix(h, key);
}

static uint64_t node_hash(const rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    uint64_t h = n->op * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = rw_in(r, id, i);
        const clv_tensor *t = rw_known(r, v);
        uint64_t key = v;
        if (t && clv_tensor_numel(t) == 1 && clv_tensor_bytes(t) <= 8) {
            key = 0; /* equal numbers in two constants are one */
            memcpy(&key, t->data, (size_t)clv_tensor_bytes(t));
        }
        h = hash_mix(h, key);
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        h = hash_attr(h, &n->attrs[i]);
    return h;
}

static bool may_share(const clv_node *n)
{
    const clv_op_info *op = &clv__ops[n->op];
    return n->n_out == 1 && n->n_in && n->op != CLV_OP_UNKNOWN &&
           op->cls != CLV_CLASS_DRAW && op->category != CLV_CAT_CONTROL &&
           op->category != CLV_CAT_SEQUENCE && n->op != CLV_OP_DROPOUT &&
           n->op != CLV_OP_RRELU && !n->counted_only;
}

bool rewrite_repeated(rewriter *r, uint32_t id)
{
    if (!may_share(rw_node(r, id)))
        return false;
    size_t at = (size_t)node_hash(r, id) & (r->n_seen - 1);
    for (; r->seen[at] != CLV_NONE; at = (at + 1) & (r->n_seen - 1)) {
        uint32_t other = r->seen[at];
        if (other != id && !r->dead[other] && computes_same(r, id, other))
            return rw_forward(r, id, rw_out(r, other));
        if (other == id)
            return false;
    }
    r->seen[at] = id;
    return false;
}

/* -- constants ------------------------------------------------------------*/

/* What a constant may take: as much as what it is made of, or a little. */
enum { FOLD_SMALL = 1 << 20, FOLD_LARGE = 64 << 20 };

static bool may_fold(const rewriter *r, const clv_node *n)
{
    const clv_op_info *op = &clv__ops[n->op];
    if (n->op == CLV_OP_UNKNOWN || n->counted_only || !n->n_out ||
        op->cls == CLV_CLASS_DRAW || op->category == CLV_CAT_CONTROL ||
        op->category == CLV_CAT_SEQUENCE || op->category == CLV_CAT_QUANT ||
        n->op == CLV_OP_DROPOUT || n->op == CLV_OP_RRELU ||
        clv__kernel_makes((clv_op)n->op) || !clv__kernel_of((clv_op)n->op))
        return false;
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *v = node_out(r->g, n, o);
        if (!rw_is_static(r, node_outs(r->g, n)[o]) ||
            v->flags & CLV_V_OUTPUT || v->dtype == CLV_STRING)
            return false;
    }
    return true;
}

static bool fold_fits(const rewriter *r, const clv_node *n)
{
    int64_t in = 0, out = 0;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (node_in(r->g, n, i))
            in = sat_add(in, clv__bytes(node_in(r->g, n, i)));
    for (uint32_t o = 0; o < n->n_out; o++)
        out = sat_add(out, clv__bytes(node_out(r->g, n, o)));
    return out <= FOLD_SMALL || (out <= FOLD_LARGE && out <= sat_mul(2, in));
}

/* A constant in another shape shares its memory. */
static bool fold_view(rewriter *r, uint32_t id)
{
    uint32_t x = rw_in(r, id, 0), y = rw_out(r, id);
    if (clv__kernel_of(rw_op(r, id)) != kernel_copy ||
        rw_node(r, id)->n_out != 1 || !rw_same_type(r, x, y) ||
        clv__bytes(&r->g->values[x]) != clv__bytes(&r->g->values[y]))
        return false;
    rw_settle(r, id, 0, r->tensor[x].data);
    return true;
}

/* A file may hold weights at any address; kernels read them where their type
 * wants. */
static bool fold_align(rewriter *r, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(r->g, n)[i];
        if (v != CLV_NONE && r->tensor[v].data &&
            clv__weight_align(r->weights, &r->tensor[v], NULL) != CLV_OK) {
            r->failed = true;
            return false;
        }
    }
    return true;
}

static bool fold_compute(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    clv_err untold = {0};
    if (!fold_align(r, n))
        return false;
    for (uint32_t o = 0; o < n->n_out; o++)
        if (clv__weight_own(r->weights, &r->tensor[node_outs(r->g, n)[o]],
                            NULL) != CLV_OK) {
            r->failed = true;
            return false;
        }
    if (clv__run_node(r->g, id, NULL, r->tensor, &r->mem, &untold) == CLV_OK) {
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t v = node_outs(r->g, n)[o];
            rw_settle(r, id, o, r->tensor[v].data);
        }
        for (uint32_t i = 0; i < n->n_in; i++)
            if (rw_in(r, id, i) != CLV_NONE)
                clv__weight_drop(r->weights, r->from,
                                 &r->tensor[rw_in(r, id, i)]);
        return true;
    }
    for (uint32_t o = 0; o < n->n_out; o++) /* the run says what is wrong */
        r->tensor[node_outs(r->g, n)[o]].data = NULL;
    return false;
}

static bool fold_done(rewriter *r, uint32_t id)
{
    rw_kill(r, id);
    if (id < r->from->n_nodes)
        r->home[id] = CLV_NONE;
    return true;
}

bool rw_fold(rewriter *r, uint32_t id)
{
    return fold_compute(r, id) && fold_done(r, id);
}

/* Inference knew all results that are read. */
bool rewrite_known(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    for (uint32_t o = 0; o < n->n_out; o++) {
        uint32_t v = node_outs(r->g, n)[o];
        if ((r->uses[v] && !rw_known(r, v)) || !rw_is_static(r, v) ||
            r->g->values[v].flags & CLV_V_OUTPUT)
            return false;
    }
    for (uint32_t o = 0; o < n->n_out; o++)
        if (rw_known(r, node_outs(r->g, n)[o]))
            rw_settle(r, id, o, r->tensor[node_outs(r->g, n)[o]].data);
    return n->n_out && fold_done(r, id);
}

bool rewrite_constant(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    if (!may_fold(r, n) || !fold_fits(r, n))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (node_ins(r->g, n)[i] != CLV_NONE && !rw_known(r, rw_in(r, id, i)))
            return false;
    if (!(n->n_in && fold_view(r, id)) && !fold_compute(r, id))
        return false;
    return fold_done(r, id);
}

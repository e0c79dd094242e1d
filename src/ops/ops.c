/* ops.c - holds the operator table and runs its rules over a graph.
 *
 * Inference visits the nodes once, in topological order. For each node:
 *
 *   1. check inputs and attributes against the schema (graph/schema.h)
 *   2. if an input has no rank, leave the outputs as the builder declared them
 *   3. run the shape rule, which sets the type and shape of each output
 *   4. run the fold rule, which computes the contents of small outputs, so that
 *      shapes that depend on them (Reshape) are known too
 *   5. pass on two marks from inputs to outputs:
 *
 *        BOUND   the shape is an upper bound     if any input has it
 *        FIXED   computed from weights alone     if all inputs have it
 *
 * Reason for BOUND: a cost that rests on a bound is an estimate, and must say
 * so. Reason for FIXED: such a node runs once, when the model is loaded, so it
 * costs nothing per run, and its weights count for the node that reads its
 * result (owner.c).
 *
 * Invariant: when a node is visited, the type, the shape and the marks of all
 * its inputs are final. A rule that cannot tell a shape (CLV_UNSUPPORTED) is
 * not an error: the node is marked as unshaped, its cost is unknown, and a
 * warning says so. When all nodes are done, the graph becomes read-only
 * (build.c). */
#include "ops/ops.h"
#include "core/limits.h"
#include "graph/schema.h"
#include "ops/custom.h"

#include <string.h>

const clv_op_info clv__ops[CLV_OP_COUNT] = {
#define OP(kind, name, cat, cls, fuse, schema, unit, infer, cost, par, fold) \
    [CLV_OP_##kind] = {name, \
                       CLV_CAT_##cat, \
                       CLV_CLASS_##cls, \
                       CLV_FUSE_##fuse, \
                       unit, \
                       infer, \
                       cost, \
                       par, \
                       fold},
#include "ops/ops.def"
#undef OP
};

/* -- shape inference ------------------------------------------------------*/

/* What the inputs of a node have in common, from one look at each. */
typedef struct inputs_seen {
    bool rankless;  /* a tensor has no rank */
    bool bounded;   /* a shape is a bound */
    bool all_fixed; /* all are weights or made of weights */
    uint32_t form;  /* the first sequence or optional, or CLV_NONE */
} inputs_seen;

static inputs_seen ops_look(const clv_graph *g, const clv_node *n)
{
    inputs_seen s = {.all_fixed = n->n_in > 0, .form = CLV_NONE};
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v)
            continue;
        s.bounded |= (v->flags & CLV_V_BOUND) != 0;
        s.all_fixed &= value_is_fixed(v);
        if (v->flags & CLV_V_FORM)
            s.form = s.form == CLV_NONE ? i : s.form;
        else
            s.rankless |= v->rank == CLV_NO_RANK;
    }
    return s;
}

/* Returns true for operators that pass sequences on or are made for them. All
 * other rules may rely on tensors. */
static bool takes_sequences(clv_op op)
{
    clv_category c = clv__ops[op].category;
    return c == CLV_CAT_SEQUENCE || c == CLV_CAT_CONTROL ||
           op == CLV_OP_IDENTITY || op == CLV_OP_UNKNOWN;
}

/* Returns false for nodes whose result differs from run to run, and for nodes
 * of which we know nothing. */
static bool ops_repeatable(const clv_node *n)
{
    return n->op != CLV_OP_UNKNOWN && n->op != CLV_OP_RANDOM_LIKE &&
           n->op != CLV_OP_BERNOULLI && n->op != CLV_OP_MULTINOMIAL &&
           clv__ops[n->op].category != CLV_CAT_CONTROL &&
           clv__ops[n->op].category != CLV_CAT_SEQUENCE;
}

/* Passes the marks of the inputs on to the outputs. An output is a bound if any
 * input is one; the rule of a tensor picked from a sequence knows better. An
 * output is fixed if all inputs are weights or fixed. */
static void pass_on(clv_graph *g, const clv_node *n, const inputs_seen *in)
{
    uint8_t bound =
        in->bounded && n->op != CLV_OP_SEQUENCE_AT ? CLV_V_BOUND : 0;
    uint8_t fixed = in->all_fixed && ops_repeatable(n) ? CLV_V_FIXED : 0;
    g->has_fixed |= fixed != 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        clv_value *v = node_out(g, n, i);
        v->flags |= bound | fixed;
        if (clv__ops[n->op].cls == CLV_CLASS_VIEW && node_in(g, n, 0)) {
            uint32_t src = node_ins(g, n)[0];
            uint32_t root = g->values[src].view_of;
            v->view_of = root == CLV_NONE ? src : root;
        }
    }
}

enum {
    WARNINGS_SAID = 20
}; /* warnings shown per graph; the others are counted */

/* Leaves the outputs of n as their builder declared them, and warns: their
 * shape depends on data, or on a bound that does not fit. */
static clv_status not_known(clv_graph *g, clv_node *n, clv_err *e)
{
    n->flags |= CLV_N_UNSHAPED;
    const clv_err why = *e;
    clv__err_clear(e);
    for (uint32_t i = 0; i < n->n_out; i++)
        out_bound(g, n, i);
    if (g->n_warnings >= WARNINGS_SAID) {
        g->n_unsaid++;
        return CLV_OK;
    }
    return clv__graph_warn(g, "node '%s' (%s): %s", n->name,
                           clv__ops[n->op].name, why.msg)
               ? CLV_OK
               : clv__nomem(e);
}

static clv_status infer_node(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_op_info *op = &clv__ops[n->op];
    CLV_TRY(clv__within(g->n_nodes, e));
    CLV_TRY(clv__schema_check(g, n, e));
    if (op->cls == CLV_CLASS_DRAW)
        n->flags |= CLV_N_STATEFUL;
    const inputs_seen in = ops_look(g, n);
    if (in.rankless && op->category != CLV_CAT_CONTROL &&
        op->category != CLV_CAT_SEQUENCE && n->op != CLV_OP_UNKNOWN)
        return CLV_OK;
    for (uint32_t i = 0; i < n->n_out && n->op != CLV_OP_UNKNOWN; i++)
        if (node_outs(g, n)[i] != CLV_NONE) /* set with the declared shape */
            node_out(g, n, i)->flags &= (uint8_t)~CLV_V_BOUND;
    clv_status s;
    if (in.form != CLV_NONE && !takes_sequences((clv_op)n->op))
        s = clv__fail(e, CLV_UNSUPPORTED,
                      "input %u is a sequence or an optional", in.form);
    else
        s = op->infer(g, n, e);
    if (s == CLV_UNSUPPORTED || (s == CLV_SHAPE && in.bounded))
        return not_known(g, n, e);
    CLV_TRY(s);
    if (op->fold)
        CLV_TRY(op->fold(g, n, e));
    pass_on(g, n, &in);
    return CLV_OK;
}

clv_status clv__infer_node(clv_graph *g, uint32_t id, clv_err *e)
{
    clv_node *n = &g->nodes[id];
    clv_err own;
    clv__err_clear(&own);
    if (!e) /* a warning says why, whether or not the caller asks */
        e = &own;
    clv_status s = infer_node(g, n, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "node '%s' (%s)", n->name, clv__op_shown(n));
    return s;
}

clv_dtype clv__compute_type(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0);
    const clv_value *y = n->n_out ? node_out(g, n, 0) : x;
    bool integers =
        n->flags & CLV_N_INTEGER || clv__ops[n->op].category == CLV_CAT_QUANT;
    if (x && (integers || dtype_class_of((clv_dtype)x->dtype) == CLASS_FLOAT))
        return value_held(x);
    return y && y->dtype != CLV_NODTYPE ? (clv_dtype)y->dtype : CLV_FLOAT32;
}

/* -- cost -----------------------------------------------------------------*/

bool clv__node_is_fixed(const clv_graph *g, const clv_node *n)
{
    return n->n_out && node_outs(g, n)[0] != CLV_NONE &&
           node_out(g, n, 0)->flags & CLV_V_FIXED;
}

/* Adds the bytes that n moves: it reads each distinct input once and writes
 * each output once. */
static void ops_traffic(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || v->rank == CLV_NO_RANK || input_repeats(g, n, i))
            continue;
        int64_t *bytes = value_is_fixed(v) ? &c->bytes_weights : &c->bytes_in;
        *bytes = sat_add(*bytes, clv__stored_bytes(g, v));
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (node_out(g, n, i)->rank != CLV_NO_RANK)
            c->bytes_out =
                sat_add(c->bytes_out, clv__held_bytes(node_out(g, n, i)));
}

/* Returns true when all outputs were computed from known contents, as in shape
 * arithmetic. */
static bool known_result(const clv_graph *g, const clv_node *n)
{
    bool from_known = false;
    for (uint32_t i = 0; i < n->n_in && !from_known; i++) {
        const clv_value *v = node_in(g, n, i);
        from_known = v && v->data && (v->data->ints || v->data->floats);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_payload *d =
            node_outs(g, n)[i] == CLV_NONE ? NULL : node_out(g, n, i)->data;
        if (!d || (!d->ints && !d->floats))
            return false;
    }
    return n->n_out > 0 && from_known;
}

/* Returns true for a sequence of unknown length. */
static bool any_number(const clv_value *v)
{
    return v->flags & CLV_V_SEQUENCE && v->count == CLV_NONE;
}

static clv_trust trust_of(const clv_graph *g, const clv_node *n)
{
    if (clv__ops[n->op].cls == CLV_CLASS_VIEW)
        return CLV_TRUST_FREE;
    if (clv__node_is_fixed(g, n) || known_result(g, n))
        return CLV_TRUST_FREE; /* done once, when the model is loaded */
    if (clv__in_quantised(n))
        return CLV_TRUST_FREE; /* done by the node that it wraps */
    if (n->flags & CLV_N_UNSHAPED)
        return CLV_TRUST_UNKNOWN; /* a cost rule relies on what the shape rule
                                   * checked */
    clv_trust t = CLV_TRUST_EXACT;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v == CLV_NONE)
            continue;
        if (g->values[v].rank == CLV_NO_RANK && clv__numel(&g->values[v]))
            return CLV_TRUST_UNKNOWN;
        if (g->values[v].flags & CLV_V_BOUND || any_number(&g->values[v]))
            t = CLV_TRUST_ESTIMATED;
    }
    return t;
}

/* A node of a body costs what it does each time. */
static void cost_repeat(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t times = clv__node_times(g, n);
    c->macs = sat_mul(c->macs, times);
    c->flops = sat_mul(c->flops, times);
    c->bytes_in = sat_mul(c->bytes_in, times);
    c->bytes_weights = sat_mul(c->bytes_weights, times);
    c->bytes_out = sat_mul(c->bytes_out, times);
    if (c->trust == CLV_TRUST_EXACT && n->flags & CLV_N_GUESSED)
        c->trust = CLV_TRUST_ESTIMATED;
}

clv_status clv__cost_node(const clv_graph *g, uint32_t id, clv_cost *c,
                          clv_err *e)
{
    const clv_node *n = &g->nodes[id];
    *c = (clv_cost){.trust = trust_of(g, n)};
    if (g->params) /* a graph in the making has none yet */
        c->params = g->params[id];
    if (c->trust != CLV_TRUST_FREE)
        ops_traffic(g, n, c);
    if (c->trust != CLV_TRUST_UNKNOWN) {
        clv__ops[n->op].cost(g, n, c);
        clv__cost_rounding(g, n, c);
    }
    if (c->trust == CLV_TRUST_FREE)
        c->bytes_in = c->bytes_weights = c->bytes_out = 0;
    if (clv__in_quantised(n))
        c->flops = 0;
    const clv_given *given = clv__given(g, n);
    if (given) {
        c->trust = CLV_TRUST_GIVEN;
        c->macs = given->macs;
        c->flops = given->flops;
    }
    if (n->times || n->flags & CLV_N_GUESSED)
        cost_repeat(g, n, c);
    int64_t all = sat_add(sat_add(c->bytes_in, c->bytes_weights), c->bytes_out);
    if (c->macs == CLV_SAT || c->flops == CLV_SAT || all == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "node '%s' (%s): its cost does not fit 64 bits",
                         n->name, clv__ops[n->op].name);
    return CLV_OK;
}

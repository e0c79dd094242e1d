/* chain.c - matches runs of nodes that are worth fusing as a whole.
 *
 *   Attention       (scale) -> q.k -> scale, mask -> softmax -> drop -> .v
 *   SqueezeExcite   x -> mean -> conv -> act -> conv -> sigmoid -> * x
 *                    \____________________________________________/
 *
 * Each node must be the only reader of the one before, so no tensor between
 * them is seen from outside. The gate (* x) also reads the tensor that the
 * chain began with. `act` may be two nodes: x * sigmoid(x). */
#include "cut/fusion.h"

typedef enum step {
    END,
    MAPS,  /* any number of views and elementwise operators */
    SCALE, /* elementwise, at the beginning */
    PRODUCT,
    SOFTMAX,
    WEIGHTED, /* a product with the chain on its left */
    SQUEEZE,
    ANCHOR,
    GATE
} step;

static const struct {
    const char *name;
    step steps[8];
} chains[] = {
    {"Attention", {PRODUCT, MAPS, SOFTMAX, MAPS, WEIGHTED, END}},
    {"Attention", {SCALE, MAPS, PRODUCT, MAPS, SOFTMAX, MAPS, WEIGHTED, END}},
    {"SqueezeExcite", {SQUEEZE, MAPS, ANCHOR, MAPS, ANCHOR, MAPS, GATE, END}},
    {"SqueezeExcite", {SQUEEZE, MAPS, ANCHOR, MAPS, GATE, END}},
};

static bool chain_is_product(const clv_node *n)
{
    return n->op == CLV_OP_MATMUL || n->op == CLV_OP_BMM ||
           n->op == CLV_OP_BADDBMM;
}

static bool is_mean(const clv_graph *g, const clv_node *n)
{
    clv_category cat = clv__ops[n->op].category;
    const clv_value *x = node_in(g, n, 0);
    if (clv__ops[n->op].fuse != CLV_FUSE_REDUCE || !x || n->n_out != 1 ||
        (cat != CLV_CAT_POOL && cat != CLV_CAT_REDUCE))
        return false;
    return x->rank != CLV_NO_RANK && x->rank >= 3 &&
           node_out(g, n, 0)->rank != CLV_NO_RANK &&
           clv__numel(node_out(g, n, 0)) == sat_mul(x->dims[0], x->dims[1]);
}

/* Returns true for a softmax over the last axis: rows of scores fit on chip. */
static bool is_row_softmax(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0);
    if (n->op != CLV_OP_SOFTMAX || !x || x->rank == CLV_NO_RANK)
        return false;
    int64_t axis = attr_int(n, CLV_A_AXIS);
    return axis == -1 || axis == (int64_t)x->rank - 1;
}

/* Returns true when n works element by element and keeps the number of
 * elements. */
static bool is_map(const clv_graph *g, const clv_node *n, uint32_t v)
{
    if (!node_is_view(n) && clv__ops[n->op].fuse != CLV_FUSE_ELTWISE)
        return false;
    return n->n_out == 1 &&
           clv__numel(node_out(g, n, 0)) == clv__numel(&g->values[v]);
}

/* Returns true when n multiplies v, the value that came along the chain, with
 * the value that the chain began with. */
static bool is_gate(const clv_graph *g, const clv_node *n, const chain *c,
                    uint32_t v)
{
    if (n->op != CLV_OP_MUL || n->n_in != 2)
        return false;
    const uint32_t *in = node_ins(g, n);
    uint32_t other = in[0] == v ? in[1] : in[0];
    uint32_t began = node_ins(g, &g->nodes[c->node[0]])[0];
    return other != v && other != CLV_NONE &&
           clv__storage(g, other) == clv__storage(g, began);
}

static bool step_fits(const clv_graph *g, const clv_node *n, step s,
                      const chain *c, uint32_t v)
{
    switch (s) {
    case MAPS:
        return is_map(g, n, v);
    case SCALE:
        return clv__ops[n->op].fuse == CLV_FUSE_ELTWISE && n->n_out == 1;
    case PRODUCT:
        return chain_is_product(n);
    case SOFTMAX:
        return is_row_softmax(g, n);
    case WEIGHTED:
        return chain_is_product(n) && node_ins(g, n)[0] == v;
    case SQUEEZE:
        return is_mean(g, n);
    case ANCHOR:
        return clv__ops[n->op].fuse == CLV_FUSE_ANCHOR &&
               node_ins(g, n)[0] == v;
    case GATE:
        return is_gate(g, n, c, v);
    case END:
        break;
    }
    return false;
}

/* Returns the node that reads v. If two nodes read it, as in x * f(x), the
 * first is stored in *extra. Returns CLV_NONE when v is read in any other
 * way. */
static uint32_t next_node(const clv_graph *g, uint32_t v, uint32_t *extra)
{
    uint32_t n = g->user_first[v + 1] - g->user_first[v];
    const uint32_t *users = g->users + g->user_first[v];
    *extra = CLV_NONE;
    if (n == 0 || n > 2 || (g->values[v].flags & CLV_V_OUTPUT))
        return CLV_NONE;
    if (n == 1 || users[0] == users[1])
        return users[0];
    const clv_node *f = &g->nodes[users[0]];
    if (f->n_in != 1 || f->n_out != 1 || (f->flags & CLV_N_STATEFUL) ||
        !is_map(g, f, v))
        return CLV_NONE;
    uint32_t fx = node_outs(g, f)[0];
    if (g->user_first[fx + 1] - g->user_first[fx] != 1 ||
        g->users[g->user_first[fx]] != users[1] ||
        (g->values[fx].flags & CLV_V_OUTPUT))
        return CLV_NONE;
    *extra = users[0];
    return users[1];
}

/* Extends the chain c, whose first step is matched, until END. Returns false
 * when a step does not match. */
static bool chain_follow(const clv_graph *g, const step *s, chain *c)
{
    uint32_t v = node_outs(g, &g->nodes[c->node[0]])[0];
    for (s++; *s != END;) {
        uint32_t extra, id = next_node(g, v, &extra);
        if (id == CLV_NONE || c->n + 2 > CHAIN_MAX)
            return false;
        const clv_node *n = &g->nodes[id];
        if (n->flags & CLV_N_STATEFUL)
            return false;
        const step *wanted = *s == MAPS ? s + 1 : s;
        if (extra == CLV_NONE && step_fits(g, n, *wanted, c, v))
            s = wanted + 1;
        else if (*s != MAPS || !is_map(g, n, v))
            return false;
        if (extra != CLV_NONE)
            c->node[c->n++] = extra;
        c->node[c->n++] = id;
        v = node_outs(g, n)[0];
    }
    return true;
}

bool clv__chain_match(const clv_profile *p, uint32_t id, chain *out)
{
    const clv_graph *g = p->g;
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        *out = (chain){.name = chains[i].name, .node = {id}, .n = 1};
        if (step_fits(g, &g->nodes[id], chains[i].steps[0], out, CLV_NONE) &&
            chain_follow(g, chains[i].steps, out))
            return true;
    }
    return false;
}

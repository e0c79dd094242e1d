/* moe.c - a mixture of experts: each token goes through `k` small networks of
 * many, those its router gives the highest scores.
 *
 *   x (..,H), router (T,E), w1 (E,F,H), b1 (E,F), w2 (E,H,I), b2 (E,H),
 *   w3 (E,I,H), b3 (E,I), mix (T,E) -> (..,H)
 *
 * A token's result is the sum over its experts e of
 *   weight_e * (w2_e act(w1_e x + b1_e) + b2_e)
 * where the weights are a softmax of the router's scores, or `mix`. F is I, or
 * 2 I where w1 holds both halves of a gated unit; else w3 is its other half. */
#include "ops/ops.h"

#include <string.h>

typedef struct experts {
    int64_t tokens, hidden, n, k, rows, inner; /* rows: F */
} experts;

static bool is_expert(const clv_value *w, int64_t n, int64_t rows, int64_t cols)
{
    return w->rank == 3 && w->dims[0] == n && w->dims[1] == rows &&
           w->dims[2] == cols;
}

/* A bias or the mix, where there is one. */
static bool is_table(const clv_value *v, int64_t rows, int64_t cols)
{
    return !v || (v->rank == 2 && v->dims[0] == rows && v->dims[1] == cols);
}

static clv_status get_experts(const clv_graph *g, const clv_node *n, experts *m,
                              clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *router = node_in(g, n, 1);
    const clv_value *w1 = node_in(g, n, 2), *w2 = node_in(g, n, 4);
    const clv_value *w3 = node_in(g, n, 6);
    if (x->rank < 2 || router->rank != 2 || !w2 || w1->rank != 3 ||
        w2->rank != 3)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, router of rank %u",
                         x->rank, router->rank);
    *m = (experts){.tokens = dims_product(x->dims, 0, x->rank - 1u),
                   .hidden = x->dims[x->rank - 1],
                   .n = router->dims[1],
                   .rows = w1->dims[1],
                   .inner = w2->dims[2]};
    m->k = attr_int(n, CLV_A_EXPERTS);
    bool fit = is_expert(w1, m->n, m->rows, m->hidden) &&
               is_expert(w2, m->n, m->hidden, m->inner) &&
               (m->rows == m->inner || m->rows == sat_mul(2, m->inner)) &&
               (!w3 || is_expert(w3, m->n, m->inner, m->hidden)) &&
               is_table(node_in(g, n, 3), m->n, m->rows) &&
               is_table(node_in(g, n, 5), m->n, m->hidden) &&
               is_table(node_in(g, n, 7), m->n, m->inner) &&
               is_table(node_in(g, n, 8), m->tokens, m->n);
    if (!fit || router->dims[0] != m->tokens || m->k < 1 || m->k > m->n)
        return clv__fail(
            e, CLV_SHAPE, "%lld of %lld experts for %lld tokens do not fit",
            (long long)m->k, (long long)m->n, (long long)m->tokens);
    return CLV_OK;
}

clv_status infer_moe(clv_graph *g, clv_node *n, clv_err *e)
{
    experts m;
    CLV_TRY(get_experts(g, n, &m, e));
    return out_like(g, n, 0, node_in(g, n, 0), e);
}

/* FLOPs per element of the inner activation. */
static int64_t act_flops(const char *act)
{
    if (!strcmp(act, "swiglu"))
        return 7; /* silu, plus one, times the other half */
    if (!strcmp(act, "gelu") || !strcmp(act, "silu"))
        return 5;
    return !strcmp(act, "relu");
}

/* Products of k experts for every token; of the router a softmax, and of the
 * results a weighted sum. No more experts are read than tokens choose; which,
 * and so how many, depends on the data. */
void cost_moe(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    experts m;
    if (get_experts(g, n, &m, NULL) != CLV_OK)
        return;
    int64_t pairs = sat_mul(m.tokens, m.k), bias = 0;
    int64_t used = pairs < m.n ? pairs : m.n;
    for (uint32_t i = 2; i < 8; i++) {
        const clv_value *w = node_in(g, n, i);
        if (!w || m.n < 1)
            continue;
        int64_t each = clv__numel(w) / m.n, bytes = clv__bytes(w) / m.n;
        if (i % 2)
            bias = sat_add(bias, each);
        else
            c->macs = sat_add(c->macs, sat_mul(pairs, each));
        reads_only(g, n, i, sat_mul(bytes, used), c);
    }
    int64_t act = act_flops(attr_str(n, CLV_A_ACTIVATION));
    int64_t inner = sat_add(sat_mul(act, m.inner), sat_mul(2, m.hidden));
    c->flops =
        sat_add(sat_mul(2, c->macs), sat_mul(pairs, sat_add(bias, inner)));
    c->flops = sat_add(c->flops, sat_mul(5, clv__numel(node_in(g, n, 1))));
    if (m.tokens > 1 && m.k < m.n)
        c->trust = CLV_TRUST_ESTIMATED;
}

/* attention.c - scaled dot products: bare, with projections, with a cache.
 *
 * Scores are queries times keys, scaled, masked, and through a softmax; then
 * scores times values. A causal mask saves nothing here: kernels that skip the
 * masked half are the exception, and other counters do not halve either. */
#include "ops/ops.h"

#include <string.h>

/* Adds the cost of `scores` scores with head size d that mix values of size dv:
 * two products, and per score a scale, a softmax of 5 and the mask. */
static void attention_cost(clv_cost *c, int64_t scores, int64_t d, int64_t dv,
                           bool mask)
{
    c->macs = sat_mul(scores, sat_add(d, dv));
    c->flops = sat_add(sat_mul(2, c->macs), sat_mul(6 + mask, scores));
}

static void attention_project_cost(clv_cost *c, int64_t rows, int64_t in,
                                   int64_t out, bool bias)
{
    int64_t macs = sat_mul(rows, sat_mul(in, out));
    c->macs = sat_add(c->macs, macs);
    c->flops = sat_add(c->flops, sat_mul(2, macs));
    if (bias)
        c->flops = sat_add(c->flops, sat_mul(rows, out));
}

/* -- bare -----------------------------------------------------------------*/

/* Checks the leading axes: they are equal or one. A group of query heads may
 * share a head of keys, so the last of them may also divide. */
static clv_status attention_batch(const clv_value *q, const clv_value *k,
                                  int64_t *dims, clv_err *e)
{
    uint32_t r = q->rank;
    for (uint32_t i = 0; i + 2 < r; i++) {
        int64_t a = q->dims[i], b = k->dims[i];
        bool grouped = i + 3 == r && b > 0 && a % b == 0;
        if (a != b && a != 1 && b != 1 && !grouped)
            return clv__fail(e, CLV_SHAPE, "%lld query and %lld key heads",
                             (long long)a, (long long)b);
        dims[i] = a == 1 ? b : a;
    }
    return CLV_OK;
}

/* q (..,S,D), k (..,T,D), v (..,T,E) -> (..,S,E) */
clv_status infer_sdpa(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *q = node_in(g, n, 0), *k = node_in(g, n, 1);
    const clv_value *v = node_in(g, n, 2), *mask = node_in(g, n, 3);
    uint32_t r = q->rank;
    if (r < 2 || k->rank != r || v->rank != r)
        return clv__fail(e, CLV_SHAPE, "ranks %u, %u and %u", r, k->rank,
                         v->rank);
    if (q->dims[r - 1] != k->dims[r - 1])
        return clv__fail(e, CLV_SHAPE, "inner dims %lld and %lld differ",
                         (long long)q->dims[r - 1], (long long)k->dims[r - 1]);
    if (k->dims[r - 2] != v->dims[r - 2])
        return clv__fail(e, CLV_SHAPE, "%lld keys for %lld values",
                         (long long)k->dims[r - 2], (long long)v->dims[r - 2]);
    int64_t dims[CLV_MAX_RANK];
    CLV_TRY(attention_batch(q, v, dims, e));
    CLV_TRY(attention_batch(q, k, dims, e));
    dims[r - 2] = q->dims[r - 2];
    dims[r - 1] = k->dims[r - 2];
    clv_value scores = {.dims = dims, .rank = (uint8_t)r};
    if (mask)
        CLV_TRY(fits(&scores, mask, e));
    dims[r - 1] = v->dims[r - 1];
    return out_shape(g, n, 0, (clv_dtype)q->dtype, r, dims, e);
}

void cost_sdpa(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *q = node_in(g, n, 0), *v = node_in(g, n, 2);
    const clv_value *y = node_out(g, n, 0);
    uint32_t r = q->rank;
    int64_t scores = sat_mul(dims_product(y->dims, 0, r - 1), v->dims[r - 2]);
    attention_cost(c, scores, q->dims[r - 1], v->dims[r - 1], node_in(g, n, 3));
}

/* -- with projections -----------------------------------------------------*/

/* q (L,N,E), k (S,N,K), v (S,N,V); layout "batch" puts N first; rank 2 has no
 * N. Then in_proj weight and bias, out_proj weight and bias, mask, and the
 * separate weights of q, k and v where there is no common one. */
typedef struct mha {
    const clv_value *q, *k, *v;
    int64_t batch, queries, keys, embed, heads;
} mha;

static clv_status get_mha(const clv_graph *g, const clv_node *n, mha *m,
                          clv_err *e)
{
    *m = (mha){
        .q = node_in(g, n, 0), .k = node_in(g, n, 1), .v = node_in(g, n, 2)};
    uint32_t r = m->q->rank;
    if (r < 2 || r > 3 || m->k->rank != r || m->v->rank != r)
        return clv__fail(e, CLV_SHAPE, "ranks %u, %u and %u", r, m->k->rank,
                         m->v->rank);
    bool first = r == 3 && attr_is(n, CLV_A_LAYOUT, "batch");
    uint32_t at = first ? 1 : 0, nb = first ? 0 : 1;
    m->batch = r == 3 ? m->q->dims[nb] : 1;
    m->queries = m->q->dims[at];
    m->keys = m->k->dims[at];
    m->embed = m->q->dims[r - 1];
    m->heads = attr_int(n, CLV_A_HEADS);
    if (m->heads < 1 || m->embed % m->heads)
        return clv__fail(e, CLV_SHAPE, "%lld features for %lld heads",
                         (long long)m->embed, (long long)m->heads);
    if (m->v->dims[at] != m->keys ||
        (r == 3 && (m->k->dims[nb] != m->batch || m->v->dims[nb] != m->batch)))
        return clv__fail(e, CLV_SHAPE, "keys and values do not fit the query");
    return CLV_OK;
}

/* Output 1: the scores, averaged over heads, (N,L,S). */
clv_status infer_mha(clv_graph *g, clv_node *n, clv_err *e)
{
    mha m;
    CLV_TRY(get_mha(g, n, &m, e));
    const clv_value *in = node_in(g, n, 3), *out = node_in(g, n, 5);
    if (in && (in->rank != 2 || in->dims[0] != sat_mul(3, m.embed) ||
               in->dims[1] != m.embed))
        return clv__fail(e, CLV_SHAPE, "in_proj is not (3*%lld, %lld)",
                         (long long)m.embed, (long long)m.embed);
    if (out && (out->rank != 2 || out->dims[1] != m.embed))
        return clv__fail(e, CLV_SHAPE, "out_proj does not take %lld features",
                         (long long)m.embed);
    int64_t scores[3] = {m.batch, m.queries, m.keys};
    CLV_TRY(out_shape(g, n, 1, (clv_dtype)m.q->dtype, m.q->rank,
                      scores + (3 - m.q->rank), e));
    return out_like(g, n, 0, m.q, e);
}

/* Attention between E-wide rows, and the projections of q, k, v and output. */
void cost_mha(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    mha m;
    if (get_mha(g, n, &m, NULL) != CLV_OK)
        return;
    bool in = node_in(g, n, 4), out = node_in(g, n, 6);
    int64_t q_rows = sat_mul(m.batch, m.queries);
    int64_t k_rows = sat_mul(m.batch, m.keys), head = m.embed / m.heads;
    int64_t scores = sat_mul(sat_mul(q_rows, m.keys), m.heads);
    attention_cost(c, scores, head, head, node_in(g, n, 7));
    attention_project_cost(c, q_rows, m.embed, m.embed, in);
    attention_project_cost(c, k_rows, m.k->dims[m.k->rank - 1], m.embed, in);
    attention_project_cost(c, k_rows, m.v->dims[m.v->rank - 1], m.embed, in);
    attention_project_cost(c, q_rows, m.embed, m.embed, out);
}

/* -- with a cache ---------------------------------------------------------*/

/* q, k, v as (B,H,S,D) or, with attributes heads and kv_heads, (B,S,H*D);
 * mask; past keys and values (B,H,P,D), which come before the new ones; which
 * keys count; cos and sin, by which queries and new keys are turned. With an
 * attribute `size` the cache has that much room, or as much as the past. */
typedef struct cached {
    int64_t batch, heads, kv_heads, queries, keys, d, dv;
} cached;

static clv_status split_heads(const clv_value *v, int64_t heads, int64_t *dims,
                              clv_err *e)
{
    if (v->rank == 4) {
        memcpy(dims, v->dims, 4 * sizeof *dims);
        return CLV_OK;
    }
    if (v->rank != 3 || heads < 1 || v->dims[2] % heads)
        return clv__fail(e, CLV_SHAPE, "input of rank %u in %lld heads",
                         v->rank, (long long)heads);
    dims[0] = v->dims[0];
    dims[1] = heads;
    dims[2] = v->dims[1];
    dims[3] = v->dims[2] / heads;
    return CLV_OK;
}

/* Reads the sizes of q, k and v, and checks that they fit. */
static clv_status get_heads(const clv_graph *g, const clv_node *n, cached *a,
                            clv_err *e)
{
    int64_t q[4], k[4], v[4], heads = attr_int(n, CLV_A_HEADS);
    int64_t kv_heads = attr_int(n, CLV_A_KV_HEADS);
    CLV_TRY(split_heads(node_in(g, n, 0), heads, q, e));
    CLV_TRY(split_heads(node_in(g, n, 1), kv_heads, k, e));
    CLV_TRY(split_heads(node_in(g, n, 2), kv_heads, v, e));
    *a = (cached){q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
    if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] ||
        q[3] != k[3] || k[1] < 1 || q[1] % k[1])
        return clv__fail(e, CLV_SHAPE, "query, key and value do not fit");
    return CLV_OK;
}

static clv_status get_cached(const clv_graph *g, const clv_node *n, cached *a,
                             clv_err *e)
{
    CLV_TRY(get_heads(g, n, a, e));
    const clv_value *past = node_in(g, n, 4);
    if (past && (past->rank != 4 || past->dims[3] != a->d))
        return clv__fail(e, CLV_SHAPE, "the past keys do not fit");
    if (past)
        a->keys = sat_add(a->keys, past->dims[2]);
    int64_t room = attr_int(n, CLV_A_SIZE);
    if (room > 0)
        a->keys = past && past->dims[2] > room ? past->dims[2] : room;
    return CLV_OK;
}

/* Outputs: y; keys and values with the past; the scores. */
clv_status infer_attention(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *q = node_in(g, n, 0);
    clv_dtype t = (clv_dtype)q->dtype;
    cached a;
    CLV_TRY(get_cached(g, n, &a, e));
    int64_t y4[4] = {a.batch, a.heads, a.queries, a.dv};
    int64_t y3[3] = {a.batch, a.queries, sat_mul(a.heads, a.dv)};
    int64_t k[4] = {a.batch, a.kv_heads, a.keys, a.d};
    int64_t v[4] = {a.batch, a.kv_heads, a.keys, a.dv};
    int64_t scores[4] = {a.batch, a.heads, a.queries, a.keys};
    CLV_TRY(out_shape(g, n, 0, t, q->rank, q->rank == 4 ? y4 : y3, e));
    CLV_TRY(out_shape(g, n, 1, t, 4, k, e));
    CLV_TRY(out_shape(g, n, 2, t, 4, v, e));
    return out_shape(g, n, 3, t, 4, scores, e);
}

void cost_attention(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    cached a;
    if (get_cached(g, n, &a, NULL) != CLV_OK)
        return;
    int64_t rows = sat_mul(a.batch, sat_mul(a.heads, a.queries));
    attention_cost(c, sat_mul(rows, a.keys), a.d, a.dv, node_in(g, n, 3));
}

/* -- with a state ---------------------------------------------------------*/

/* q (B,T,Hq*D), k (B,T,H*D), v (B,T,H*E), state (B,H,D,E), decay, beta ->
 * y (B,T,Hq*E), state. Step by step, after `mode`:
 *   linear  S += k (x) v;  y = q S       gated: S is scaled first
 *   delta   v is first lessened by k S, times beta */
clv_status infer_linear_attention(clv_graph *g, clv_node *n, clv_err *e)
{
    cached a;
    const clv_value *q = node_in(g, n, 0);
    CLV_TRY(get_heads(g, n, &a, e));
    if (q->rank != 3 || a.queries != a.keys)
        return clv__fail(e, CLV_SHAPE, "a query of rank %u, %lld steps of %lld",
                         q->rank, (long long)a.queries, (long long)a.keys);
    int64_t y[3] = {a.batch, a.queries, sat_mul(a.heads, a.dv)};
    int64_t state[4] = {a.batch, a.kv_heads, a.d, a.dv};
    const clv_value *past = node_in(g, n, 3);
    clv_dtype held = (clv_dtype)(past ? past->dtype : q->dtype);
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)q->dtype, 3, y, e));
    return out_shape(g, n, 1, held, 4, state, e);
}

/* Per step and head D*E products to update the state, as many per query head
 * to read it, and for delta as many to see what it holds for the key. A scale
 * of the state is one FLOP per element. */
void cost_linear_attention(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    cached a;
    if (get_heads(g, n, &a, NULL) != CLV_OK)
        return;
    const char *rule = attr_str(n, CLV_A_RULE);
    int64_t steps = sat_mul(sat_mul(a.batch, a.queries), sat_mul(a.d, a.dv));
    int64_t passes = a.heads + a.kv_heads * (strstr(rule, "delta") ? 2 : 1);
    c->macs = sat_mul(steps, passes);
    c->flops = sat_mul(2, c->macs);
    if (strstr(rule, "gated"))
        c->flops = sat_add(c->flops, sat_mul(steps, a.kv_heads));
}

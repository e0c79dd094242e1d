/* search.c - beam search: a decoder run token by token.
 *
 * The body is one step of a decoder. It takes the new tokens, their positions,
 * a mask of all tokens so far and one past of keys and values per layer, and
 * gives the logits and the pasts grown by the new tokens:
 *
 *     tokens (N, S), positions (N, S), mask (N, P + S), past (2, N, H, P, D)
 * ...
 *  -> logits (N, S, V), past (2, N, H, P + S, D) ...
 *
 * N is the batch times the beams. What the body captures follows the ten inputs
 * of the node. Its cost is that of the body at half the way, times the tokens
 * that are made at most (the first step takes the whole prompt; a search may
 * end before): an estimate. */
#include "ops/control.h"
#include "ops/fold.h"

/* Input i of the node if it is known, else `otherwise`. */
static int64_t search_number(const clv_graph *g, const clv_node *n, uint32_t i,
                             int64_t otherwise)
{
    known k;
    if (!fold_in(g, n, i, &k) || k.n != 1 || !k.ints ||
        k.v->flags & CLV_V_BOUND)
        return otherwise;
    return k.ints[0];
}

static int64_t search_max_length(const clv_graph *g, const clv_node *n)
{
    int64_t now = node_in(g, n, 0)->dims[1];
    int64_t most = search_number(g, n, SEARCH_MAX_LENGTH, sat_add(now, 1));
    return most > now ? most : now;
}

static clv_status search_bind(clv_graph *body, uint32_t i, uint32_t rank,
                              const int64_t *dims, clv_dtype t, clv_err *e)
{
    uint32_t v = body->inputs[i];
    if (body->values[v].dtype == CLV_NODTYPE)
        body->values[v].dtype = (uint8_t)t;
    return clv__value_set_shape(body, v, rank, dims) ? CLV_OK : clv__nomem(e);
}

/* Gives the body the shapes of a step behind `past` tokens. */
static clv_status search_shapes(clv_graph *body, uint32_t formal, int64_t rows,
                                int64_t past, clv_err *e)
{
    int64_t now[2] = {rows, 1}, all[2] = {rows, sat_add(past, 1)};
    CLV_TRY(search_bind(body, 0, 2, now, CLV_INT32, e));
    CLV_TRY(search_bind(body, 1, 2, now, CLV_INT32, e));
    CLV_TRY(search_bind(body, 2, 2, all, CLV_INT32, e));
    for (uint32_t i = SEARCH_PAST; i < formal; i++) {
        const clv_value *v = &body->values[body->inputs[i]];
        if (v->rank != 5)
            return clv__fail(e, CLV_SHAPE,
                             "past %u of the body is not "
                             "declared with 5 axes",
                             i - SEARCH_PAST);
        int64_t dims[5] = {2, rows, v->dims[2], past, v->dims[4]};
        CLV_TRY(search_bind(body, i, 5, dims, CLV_FLOAT32, e));
    }
    return CLV_OK;
}

static clv_status search_body(clv_graph *g, clv_node *n, clv_graph *body,
                              int64_t rows, clv_err *e)
{
    uint32_t captured = n->n_in > SEARCH_INPUTS ? n->n_in - SEARCH_INPUTS : 0u;
    uint32_t formal = body->n_inputs - captured;
    int64_t now = node_in(g, n, 0)->dims[1], most = search_max_length(g, n);
    if (body->n_inputs < captured + SEARCH_PAST + 1 ||
        body->n_outputs != formal - SEARCH_PAST + 1)
        return clv__fail(e, CLV_FORMAT,
                         "the body takes %u inputs and gives %u outputs: not "
                         "tokens, positions, mask, pasts and logits, pasts",
                         body->n_inputs, body->n_outputs);
    for (uint32_t i = 0; i < captured; i++)
        clv__body_bind(body, formal + i, node_in(g, n, SEARCH_INPUTS + i));
    CLV_TRY(search_shapes(body, formal, rows, now + (most - now) / 2, e));
    return clv__body_infer(g, n, body, e);
}

/* Sequences (batch, returned, max_length), their scores (batch, returned), and
 * the scores of all tokens (steps, batch, beams, V). A greedy search gives one
 * sequence (batch, max_length). */
clv_status infer_beam_search(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_attr *a = attr_get(n, CLV_A_BODY);
    const clv_value *x = node_in(g, n, 0);
    if (!a || a->type != CLV_ATTR_GRAPH)
        return clv__fail(e, CLV_FORMAT, "the body is missing");
    if (x->rank != 2)
        return clv__fail(e, CLV_SHAPE, "tokens of rank %u, not 2", x->rank);
    bool greedy = attr_int(n, CLV_A_GREEDY) != 0;
    int64_t beams = greedy ? 1 : search_number(g, n, SEARCH_BEAMS, 1);
    int64_t kept = search_number(g, n, SEARCH_RETURNED, 1);
    int64_t batch = x->dims[0], now = x->dims[1],
            most = search_max_length(g, n);
    clv_graph *body = a->u.body;
    CLV_TRY(search_body(g, n, body, sat_mul(batch, beams), e));
    const clv_value *logits = &body->values[body->outputs[0]];
    if (logits->rank != 3)
        return clv__fail(e, CLV_SHAPE, "logits of rank %u, not 3",
                         logits->rank);
    int64_t one[2] = {batch, most}, all[3] = {batch, kept, most};
    int64_t each[4] = {most - now, batch, beams, logits->dims[2]};
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, greedy ? 2 : 3,
                      greedy ? one : all, e));
    if (n->n_out > 1)
        CLV_TRY(out_shape(g, n, 1, CLV_FLOAT32, 2, all, e));
    if (n->n_out > 2)
        CLV_TRY(out_shape(g, n, 2, CLV_FLOAT32, 4, each, e));
    bool told = search_number(g, n, SEARCH_MAX_LENGTH, -1) >= 0 &&
                (greedy || search_number(g, n, SEARCH_BEAMS, -1) >= 0);
    for (uint32_t o = 0; !told && o < n->n_out; o++)
        out_bound(g, n, o);
    return CLV_OK;
}

void cost_beam_search(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t now = node_in(g, n, 0)->dims[1];
    clv__body_cost(attr_get(n, CLV_A_BODY)->u.body,
                   search_max_length(g, n) - now, c);
    if (c->trust == CLV_TRUST_EXACT)
        c->trust = CLV_TRUST_ESTIMATED;
}

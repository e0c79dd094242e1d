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
 * N is the batch times the beams. Another body of that form may make the first
 * step. Behind an encoder the sequence is a new one, of a token to start with:
 *
 *     tokens (B, L), mask (B, L), start (B, 1)
 *  -> logits (B, 1, V), states (B, L, W), own pasts (B, H, 1, D) ...,
 *     pasts (B, H, L, D) ... of what was encoded
 *
 * is the encoder, and the body takes
 *
 *     token (N, 1) or all so far (N, S), mask (N, L), states (N, L, W) perhaps,
 *     own pasts (N, H, P, D) ..., those of what was encoded (N, H, L, D) ...
 *  -> logits (N, S, V), own pasts (N, H, P + 1, D) ...
 *
 * What bodies capture follows the ten inputs of the node, in the order of the
 * attributes. The cost is that of the body at half the way, times the tokens
 * that are made at most (the first step takes the whole prompt; a search may
 * end before), and of the encoder: an estimate. */
#include "ops/control.h"
#include "ops/fold.h"

#include <string.h>

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

/* How long the sequence is at the beginning. */
static int64_t search_begin_length(const clv_graph *g, const clv_node *n)
{
    return attr_get(n, CLV_A_ENCODER) ? 1 : node_in(g, n, 0)->dims[1];
}

static int64_t search_max_length(const clv_graph *g, const clv_node *n)
{
    int64_t now = search_begin_length(g, n);
    int64_t most = search_number(g, n, SEARCH_MAX_LENGTH, sat_add(now, 1));
    return most > now ? most : now;
}

/* -- bodies ---------------------------------------------------------------*/

static clv_graph *search_graph(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    return a && a->type == CLV_ATTR_GRAPH ? a->u.body : NULL;
}

/* How many inputs the bodies take, by how many outputs they give. */
static void search_formal(search_form *f)
{
    enum { ENCODER_INPUTS = 3, DECODER_FIXED = 2, PAST_RANK = 4 };
    const clv_graph *body = f->body.g;
    f->n_past = body->n_outputs - 1;
    f->body.formal = f->first.formal = SEARCH_PAST + f->n_past;
    if (!f->encoder.g)
        return;
    const clv_value *third = body->n_inputs > DECODER_FIXED
                                 ? &body->values[body->inputs[DECODER_FIXED]]
                                 : NULL;
    f->hidden = third && third->rank == PAST_RANK - 1;
    f->whole = body->n_inputs && body->values[body->inputs[0]].rank == 2 &&
               body->values[body->inputs[0]].dims[1] != 1;
    f->encoder.formal = ENCODER_INPUTS;
    f->body.formal = DECODER_FIXED + f->hidden + 2 * f->n_past;
}

/* Whether a body gives `outs` results and takes its formal inputs at least. */
static clv_status search_fits(const search_body *b, uint32_t outs, clv_err *e)
{
    if (!b->g || (b->g->n_inputs >= b->formal && b->g->n_outputs == outs))
        return CLV_OK;
    return clv__fail(e, CLV_FORMAT,
                     "a body takes %u inputs and gives %u outputs, not %u at "
                     "least and %u",
                     b->g->n_inputs, b->g->n_outputs, b->formal, outs);
}

clv_status clv__search_form(const clv_node *n, search_form *f, clv_err *e)
{
    uint32_t at = SEARCH_INPUTS;
    *f = (search_form){.body.g = search_graph(n, CLV_A_BODY),
                       .first.g = search_graph(n, CLV_A_FIRST),
                       .encoder.g = search_graph(n, CLV_A_ENCODER)};
    if (!f->body.g || f->body.g->n_outputs < 2)
        return clv__fail(e, CLV_FORMAT, "the body is missing or gives no past");
    search_formal(f);
    CLV_TRY(search_fits(&f->body, f->n_past + 1, e));
    CLV_TRY(search_fits(&f->first, f->n_past + 1, e));
    CLV_TRY(search_fits(&f->encoder, 2 * f->n_past + 2, e));
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        clv_attr_key key = (clv_attr_key)n->attrs[i].key;
        search_body *b = key == CLV_A_BODY      ? &f->body
                         : key == CLV_A_FIRST   ? &f->first
                         : key == CLV_A_ENCODER ? &f->encoder
                                                : NULL;
        if (b && b->g) {
            b->captured = at;
            at += b->g->n_inputs - b->formal;
        }
    }
    if (at > SEARCH_INPUTS && at != n->n_in)
        return clv__fail(e, CLV_FORMAT, "%u inputs, not %u", n->n_in, at);
    return CLV_OK;
}

/* -- shapes ---------------------------------------------------------------*/

static clv_status search_bind(clv_graph *body, uint32_t i, uint32_t rank,
                              const int64_t *dims, clv_dtype t, clv_err *e)
{
    uint32_t v = body->inputs[i];
    if (body->values[v].dtype == CLV_NODTYPE)
        body->values[v].dtype = (uint8_t)t;
    return clv__value_set_shape(body, v, rank, dims) ? CLV_OK : clv__nomem(e);
}

/* Infers a body whose formal inputs have their shapes. */
static clv_status search_infer(clv_graph *g, const clv_node *n,
                               const search_body *b, clv_err *e)
{
    for (uint32_t i = b->formal; i < b->g->n_inputs; i++)
        clv__body_bind(b->g, i, node_in(g, n, b->captured + i - b->formal));
    return clv__body_infer(g, n, b->g, e);
}

/* Gives a decoder the shapes of a step of `tokens` behind `past` tokens. */
static clv_status search_shapes(const search_body *b, int64_t rows,
                                int64_t tokens, int64_t past, clv_err *e)
{
    int64_t now[2] = {rows, tokens}, all[2] = {rows, sat_add(past, tokens)};
    CLV_TRY(search_bind(b->g, 0, 2, now, CLV_INT32, e));
    CLV_TRY(search_bind(b->g, 1, 2, now, CLV_INT32, e));
    CLV_TRY(search_bind(b->g, 2, 2, all, CLV_INT32, e));
    for (uint32_t i = SEARCH_PAST; i < b->formal; i++) {
        const clv_value *v = &b->g->values[b->g->inputs[i]];
        if (v->rank != 5 || !v->dims[2] || !v->dims[4])
            return clv__fail(e, CLV_SHAPE,
                             "past %u of the body is not declared with 5 axes, "
                             "heads and their size",
                             i - SEARCH_PAST);
        int64_t dims[5] = {2, rows, v->dims[2], past, v->dims[4]};
        CLV_TRY(search_bind(b->g, i, 5, dims, CLV_FLOAT32, e));
    }
    return CLV_OK;
}

static clv_status search_encode(clv_graph *g, const clv_node *n,
                                const search_form *f, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t start[2] = {x->dims[0], 1};
    CLV_TRY(search_bind(f->encoder.g, 0, 2, x->dims, CLV_INT32, e));
    CLV_TRY(search_bind(f->encoder.g, 1, 2, x->dims, CLV_INT32, e));
    CLV_TRY(search_bind(f->encoder.g, 2, 2, start, CLV_INT32, e));
    return search_infer(g, n, &f->encoder, e);
}

/* Gives the body behind an encoder the shapes of a step behind `past` tokens:
 * those of the encoder's results, for every beam. */
static clv_status search_decode(const clv_graph *g, const clv_node *n,
                                const search_form *f, int64_t rows,
                                int64_t past, clv_err *e)
{
    enum { ENCODED = 2 }; /* logits and states come before the pasts */
    int64_t ids[2] = {rows, f->whole ? sat_add(past, 1) : 1};
    int64_t mask[2] = {rows, node_in(g, n, 0)->dims[1]};
    clv_graph *body = f->body.g;
    const clv_graph *encoder = f->encoder.g;
    CLV_TRY(search_bind(body, 0, 2, ids, CLV_INT32, e));
    CLV_TRY(search_bind(body, 1, 2, mask, CLV_INT32, e));
    for (uint32_t i = 2; i < f->body.formal; i++) {
        uint32_t from = i + (f->hidden ? 0 : 1) - 1;
        const clv_value *v = &encoder->values[encoder->outputs[from]];
        int64_t dims[4];
        if (v->rank < 3 || v->rank > 4)
            return clv__fail(e, CLV_SHAPE, "output %u of the encoder", from);
        memcpy(dims, v->dims, v->rank * sizeof *dims);
        dims[0] = rows;
        if (from >= ENCODED && from < ENCODED + f->n_past)
            dims[2] = past;
        CLV_TRY(search_bind(body, i, v->rank, dims, (clv_dtype)v->dtype, e));
    }
    return CLV_OK;
}

static clv_status search_bodies(clv_graph *g, const clv_node *n,
                                const search_form *f, int64_t rows, clv_err *e)
{
    int64_t now = search_begin_length(g, n), most = search_max_length(g, n);
    int64_t half = now + (most - now) / 2;
    if (f->first.g) {
        CLV_TRY(search_shapes(&f->first, rows, now, 0, e));
        CLV_TRY(search_infer(g, n, &f->first, e));
    }
    if (f->encoder.g) {
        CLV_TRY(search_encode(g, n, f, e));
        CLV_TRY(search_decode(g, n, f, rows, half, e));
    } else {
        CLV_TRY(search_shapes(&f->body, rows, 1, half, e));
    }
    return search_infer(g, n, &f->body, e);
}

/* Sequences (batch, returned, max_length), their scores (batch, returned), and
 * the scores of all tokens (steps, batch, beams, V). A greedy search gives one
 * sequence (batch, max_length). */
clv_status infer_beam_search(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    search_form f;
    CLV_TRY(clv__search_form(n, &f, e));
    if (x->rank != 2)
        return clv__fail(e, CLV_SHAPE, "tokens of rank %u, not 2", x->rank);
    bool greedy = attr_int(n, CLV_A_GREEDY) != 0;
    int64_t beams = greedy ? 1 : search_number(g, n, SEARCH_BEAMS, 1);
    int64_t kept = search_number(g, n, SEARCH_RETURNED, 1);
    int64_t batch = x->dims[0], now = search_begin_length(g, n),
            most = search_max_length(g, n);
    CLV_TRY(search_bodies(g, n, &f, sat_mul(batch, beams), e));
    const clv_value *logits = &f.body.g->values[f.body.g->outputs[0]];
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

/* Adds the cost of so many runs of a body. */
static void search_add(clv_cost *c, const clv_graph *body, int64_t trips)
{
    clv_cost one = {.trust = CLV_TRUST_EXACT};
    if (!body)
        return;
    clv__body_cost(body, trips, &one);
    c->macs = sat_add(c->macs, one.macs);
    c->flops = sat_add(c->flops, one.flops);
    c->bytes_in = sat_add(c->bytes_in, one.bytes_in);
    c->bytes_weights = sat_add(c->bytes_weights, one.bytes_weights);
    c->bytes_out = sat_add(c->bytes_out, one.bytes_out);
    c->params = sat_add(c->params, one.params);
    if (one.trust != CLV_TRUST_EXACT)
        c->trust = one.trust;
}

void cost_beam_search(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_graph *first = search_graph(n, CLV_A_FIRST);
    const clv_graph *encoder = search_graph(n, CLV_A_ENCODER);
    int64_t steps = search_max_length(g, n) - search_begin_length(g, n);
    bool fewer = (first || encoder) && steps > 0;
    clv__body_cost(search_graph(n, CLV_A_BODY), fewer ? steps - 1 : steps, c);
    search_add(c, first, 1);
    search_add(c, encoder, 1);
    if (c->trust == CLV_TRUST_EXACT)
        c->trust = CLV_TRUST_ESTIMATED;
}

/* map_ms_attention.c - the attention operators of com.microsoft.
 *
 * All become one node `attention`, with the products and splits before it as
 * nodes of their own. Its inputs here:
 *
 *     0-2 q, k, v    3 added to scores    4-5 past keys and values
 *     6 what keys count: lengths (B), ends and begins (2B), or 0 and 1 per key
 *       (B,T), (B,S,T); with `cache` the last key's index (B)
 *     7-8 cos and sin, by which queries and new keys are turned */
#include "formats/onnx/map_ms.h"

#include <string.h>

enum { Q, K, V, BIAS, PAST_K, PAST_V, KEEP, COS, SIN, INPUTS };

/* The attention and its outputs; those of the caches are one tensor if
 * `present` names it. */
static clv_status ms_attend(draft *d, const uint32_t ins[INPUTS],
                            uint32_t present, clv_err *e)
{
    uint32_t outs[4], n = INPUTS, n_out = d->n_out < 4 ? d->n_out : 4;
    int64_t local = draft_other_int(d, "local_window_size", -1);
    d->done = true;
    if (local > 0)
        draft_set_int(d, CLV_A_LOCAL_WINDOW, local);
    memcpy(outs, d->outs, n_out * sizeof *outs);
    if (present != CLV_NONE) {
        n_out = 3;
        for (uint32_t i = 1; i < n_out; i++) {
            outs[i] =
                clv__value_add(d->g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
            if (outs[i] == CLV_NONE)
                return clv__nomem(e);
        }
    }
    while (n && ins[n - 1] == CLV_NONE)
        n--;
    CLV_TRY(draft_emit(d, CLV_OP_ATTENTION, "", ins, n, d->attrs, d->n_attrs,
                       outs, n_out, NULL, e));
    if (present == CLV_NONE)
        return CLV_OK;
    clv_attr axis = INT(AXIS, 0);
    axis.name = clv__attr_name(CLV_A_AXIS);
    return draft_emit(d, CLV_OP_STACK, "present", outs + 1, 2, &axis, 1,
                      &present, 1, NULL, e);
}

/* One of the two halves of a cache (2,B,H,P,D). */
static clv_status half(draft *d, uint32_t past, int64_t i, uint32_t *out,
                       clv_err *e)
{
    *out = CLV_NONE;
    if (past == CLV_NONE)
        return CLV_OK;
    clv_attr attrs[2] = {INT(AXIS, 0), INT(INDEX, i)};
    return ms_emit(d, CLV_OP_SELECT, i ? "past_value" : "past_key", IN(past),
                   attrs, 2, out, e);
}

/* Three parts of the last axis: equal, or of the sizes given. */
static clv_status split3(draft *d, const char *suffix, uint32_t x,
                         const int64_t *sizes, uint32_t out[3], clv_err *e)
{
    int64_t *own = arena_array(&d->g->mem, 3, sizeof *own);
    if (!own)
        return clv__nomem(e);
    clv_attr attrs[2] = {INT(AXIS, -1), INT(SECTIONS, 3)};
    if (sizes) {
        memcpy(own, sizes, 3 * sizeof *own);
        attrs[1].type = CLV_ATTR_INTS;
        attrs[1].n = 3;
        attrs[1].u.ints = own;
    }
    return ms_emit_many(d, sizes ? CLV_OP_SPLIT : CLV_OP_CHUNK, suffix, x,
                        attrs, 2, out, 3, e);
}

/* x W, both integers: less their zero points, times both scales. */
static clv_status integer_qkv(draft *d, uint32_t *qkv, clv_err *e)
{
    uint32_t scale;
    CLV_TRY(ms_emit(
        d, CLV_OP_MATMUL_INTEGER, "qkv",
        IN(ms_input(d, 0), ms_input(d, 1), ms_input(d, 6), ms_input(d, 7)),
        NULL, 0, qkv, e));
    CLV_TRY(ms_emit(d, CLV_OP_MUL, "scale", IN(ms_input(d, 3), ms_input(d, 4)),
                    NULL, 0, &scale, e));
    return ms_emit(d, CLV_OP_MUL, "scaled", IN(*qkv, scale), NULL, 0, qkv, e);
}

/* x (B,S,I), weights (I,3H), bias (3H), mask, past, bias of scores. The
 * quantised form has its scales and zero points between. */
clv_status map_ms_attention(draft *d, clv_err *e)
{
    bool quantised = text_is(d->p->op, "QAttention");
    uint32_t past = ms_input(d, quantised ? 8 : 4), qkv, ins[INPUTS];
    const clv_attr *sizes = draft_other(d, "qkv_hidden_sizes");
    bool uneven = sizes && sizes->type == CLV_ATTR_INTS && sizes->n == 3;
    if (draft_other_int(d, "do_rotary", 0))
        ms_count_only(d, "rotary positions without tables");
    memset(ins, 0xff, sizeof ins);
    if (quantised)
        CLV_TRY(integer_qkv(d, &qkv, e));
    else
        CLV_TRY(ms_emit(d, CLV_OP_MATMUL, "qkv",
                        IN(ms_input(d, 0), ms_input(d, 1)), NULL, 0, &qkv, e));
    CLV_TRY(ms_add(d, "bias", qkv, ms_input(d, 2), &qkv, e));
    CLV_TRY(split3(d, "split", qkv, uneven ? sizes->u.ints : NULL, ins, e));
    ins[BIAS] = quantised ? CLV_NONE : ms_input(d, 5);
    ins[KEEP] = ms_input(d, quantised ? 5 : 3);
    CLV_TRY(half(d, past, 0, &ins[PAST_K], e));
    CLV_TRY(half(d, past, 1, &ins[PAST_V], e));
    return ms_attend(d, ins, ms_wanted(d, 1) ? d->outs[1] : CLV_NONE, e);
}

/* Part i of (B,S,N,parts,D), as (B,S,N*D). */
static clv_status ms_unpack_heads(draft *d, uint32_t x, int64_t i,
                                  uint32_t *out, clv_err *e)
{
    static const char *const names[3] = {"part_0", "part_1", "part_2"};
    clv_attr pick[2] = {INT(AXIS, 3), INT(INDEX, i)};
    clv_attr join[2] = {INT(START, 2), INT(END, 3)};
    CLV_TRY(ms_emit(d, CLV_OP_SELECT, names[i], IN(x), pick, 2, out, e));
    return ms_emit(d, CLV_OP_FLATTEN, "join", IN(*out), join, 2, out, e);
}

/* Numbers of all heads: the last axis, or (B,H,S,D). */
static int64_t width(const draft *d, uint32_t v)
{
    const clv_value *x = &d->g->values[v];
    if (x->rank == 4)
        return sat_mul(x->dims[1], x->dims[3]);
    return x->rank == CLV_NO_RANK || !x->rank ? 0 : x->dims[x->rank - 1];
}

/* Queries, keys and values are given, or packed in one or two tensors. */
static clv_status unpack_mha(draft *d, uint32_t ins[3], clv_err *e)
{
    uint32_t q = ins[Q], kv = ins[K];
    if (ins[V] != CLV_NONE)
        return CLV_OK;
    bool all = kv == CLV_NONE;
    if (all)
        CLV_TRY(ms_unpack_heads(d, q, 0, &ins[Q], e));
    CLV_TRY(ms_unpack_heads(d, all ? q : kv, all ? 1 : 0, &ins[K], e));
    return ms_unpack_heads(d, all ? q : kv, all ? 2 : 1, &ins[V], e);
}

/* A number for each entry of the batch: that of `x`, of one element, and more.
 */
static clv_status mha_each(draft *d, uint32_t x, int64_t more, int64_t batch,
                           uint32_t *out, clv_err *e)
{
    clv_attr add[1] = {INT(VALUE, more)}, all[1], one[1];
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, &batch, 1, all, e));
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, &(int64_t){1}, 1, one, e));
    CLV_TRY(ms_emit(d, CLV_OP_ADD, "last", IN(x), add, 1, out, e));
    CLV_TRY(ms_emit(d, CLV_OP_RESHAPE, "last_one", IN(*out), one, 1, out, e));
    return ms_emit(d, CLV_OP_EXPAND, "last_each", IN(*out), all, 1, out, e);
}

/* The past (B*W,H,M,D) of W beams as each beam has it: key t of beam w is that
 * of the beam which `beams` (B,W,M) names. Behind the past it names anything.
 */
static clv_status mha_gather(draft *d, uint32_t beams, uint32_t *past,
                             clv_err *e)
{
    const int64_t *b = d->g->values[beams].dims;
    const int64_t *p = d->g->values[*past].dims;
    const int64_t flat[4] = {p[0], p[1], p[2], p[3]};
    const int64_t split[5] = {b[0], b[1], p[1], p[2], p[3]};
    const int64_t thin[5] = {b[0], b[1], 1, p[2], 1};
    clv_attr range[2] = {INT(MIN, 0), INT(MAX, b[1] - 1)};
    clv_attr axis[1] = {INT(AXIS, 1)}, shape[1];
    uint32_t which, x;
    CLV_TRY(ms_emit(d, CLV_OP_CLAMP, "beams", IN(beams), range, 2, &which, e));
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, thin, 5, shape, e));
    CLV_TRY(ms_emit(d, CLV_OP_RESHAPE, "beams_thin", IN(which), shape, 1,
                    &which, e));
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, split, 5, shape, e));
    CLV_TRY(
        ms_emit(d, CLV_OP_EXPAND, "beams_all", IN(which), shape, 1, &which, e));
    CLV_TRY(
        ms_emit(d, CLV_OP_RESHAPE, "past_by_beam", IN(*past), shape, 1, &x, e));
    CLV_TRY(ms_emit(d, CLV_OP_GATHER_ELEMENTS, "past_of_beam", IN(x, which),
                    axis, 1, &x, e));
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, flat, 4, shape, e));
    return ms_emit(d, CLV_OP_RESHAPE, "past", IN(x), shape, 1, past, e);
}

/* Output i: the past with new keys (B,S,H*D) behind the first `at`. */
static clv_status mha_present(draft *d, uint32_t i, uint32_t past, uint32_t x,
                              uint32_t at, clv_err *e)
{
    static const int64_t perm[4] = {0, 2, 1, 3};
    const int64_t *p = d->g->values[past].dims;
    const int64_t heads[4] = {p[0], d->g->values[x].dims[1], p[1], p[3]};
    clv_attr shape[1], axis = INT(AXIS, 2);
    uint32_t ins[3] = {past, CLV_NONE, at};
    if (!ms_wanted(d, i))
        return CLV_OK;
    axis.name = clv__attr_name(CLV_A_AXIS);
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, heads, 4, shape, e));
    CLV_TRY(ms_emit(d, CLV_OP_RESHAPE, "heads", IN(x), shape, 1, &x, e));
    CLV_TRY(ms_permute(d, "heads_first", x, perm, 4, &ins[1], e));
    return draft_emit(d, CLV_OP_TENSOR_SCATTER, "present", ins, 3, &axis, 1,
                      &d->outs[i], 1, NULL, e);
}

/* Is the table of beams one for this past? */
static bool mha_has_beams(const draft *d, uint32_t beams, const uint32_t *ins)
{
    const clv_value *b = &d->g->values[beams], *p = &d->g->values[ins[PAST_K]];
    const clv_value *v = &d->g->values[ins[PAST_V]];
    return b->rank == 3 && v->rank == 4 && v->dims[0] == p->dims[0] &&
           v->dims[2] == p->dims[2] && b->dims[1] > 0 &&
           sat_mul(b->dims[0], b->dims[1]) == p->dims[0] &&
           b->dims[2] == p->dims[2];
}

/* The past is a buffer, longer than what it holds, and so is the present, which
 * keeps what lies behind the new keys: `held` says how many keys of it count.
 * The attention gets the last key's index of each batch entry instead. With
 * beams it reads keys of others. */
static clv_status mha_buffer(draft *d, uint32_t ins[INPUTS], uint32_t held,
                             uint32_t beams, clv_err *e)
{
    const clv_value *past = &d->g->values[ins[PAST_K]];
    const clv_value *key = &d->g->values[ins[K]];
    if (held == CLV_NONE || ins[PAST_V] == CLV_NONE || past->rank != 4 ||
        key->rank != 3 || d->g->values[ins[V]].rank != 3 ||
        ins[KEEP] != CLV_NONE ||
        (beams != CLV_NONE && !mha_has_beams(d, beams, ins))) {
        ms_count_only(d, "a shared past that is masked");
        return CLV_OK;
    }
    uint32_t at;
    int64_t batch = key->dims[0], room = past->dims[2];
    CLV_TRY(mha_each(d, held, key->dims[1] - 1, batch, &ins[KEEP], e));
    CLV_TRY(mha_each(d, held, 0, batch, &at, e));
    for (uint32_t i = 0; i < 2; i++) {
        CLV_TRY(mha_present(d, 1 + i, ins[PAST_K + i], ins[K + i], at, e));
        if (beams != CLV_NONE)
            CLV_TRY(mha_gather(d, beams, &ins[PAST_K + i], e));
    }
    d->n_out = 1;
    draft_set_int(d, CLV_A_SIZE, room);
    draft_set_int(d, CLV_A_CACHE, 1);
    return CLV_OK;
}

/* Adds the parts of one bias to queries, keys and values; keys and values by
 * heads have theirs. */
static clv_status mha_bias(draft *d, uint32_t of_all, uint32_t ins[3],
                           clv_err *e)
{
    uint32_t bias[3];
    int64_t sizes[3] = {width(d, ins[Q]), width(d, ins[K]), width(d, ins[V])};
    bool even = sizes[0] == sizes[1] && sizes[0] == sizes[2];
    if (of_all == CLV_NONE)
        return CLV_OK;
    CLV_TRY(split3(d, "split_bias", of_all, even ? NULL : sizes, bias, e));
    for (int i = 0; i < 3; i++)
        if (d->g->values[ins[i]].rank != 4)
            CLV_TRY(ms_add(d, "bias", ins[i], bias[i], &ins[i], e));
    return CLV_OK;
}

/* q, k, v, bias (of all three), mask, bias of scores, past key and value, how
 * much of the past counts, which beam each key of it is of. Without a past the
 * last two say nothing. */
clv_status map_ms_mha(draft *d, clv_err *e)
{
    uint32_t ins[INPUTS] = {ms_input(d, 0), ms_input(d, 1), ms_input(d, 2),
                            ms_input(d, 5), ms_input(d, 6), ms_input(d, 7),
                            ms_input(d, 4), CLV_NONE,       CLV_NONE};
    uint32_t held = ms_input(d, 8), beams = ms_input(d, 9);
    const clv_value *q = draft_in(d, 0);
    if (!q || (ins[K] == CLV_NONE && (ins[V] != CLV_NONE || q->rank != 5))) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    CLV_TRY(unpack_mha(d, ins, e));
    CLV_TRY(mha_bias(d, ms_input(d, 3), ins, e));
    if (ins[PAST_K] != CLV_NONE && (held != CLV_NONE || beams != CLV_NONE))
        CLV_TRY(mha_buffer(d, ins, held, beams, e));
    return ms_attend(d, ins, CLV_NONE, e);
}

/* The same for one new key, its inputs in another order: mask, bias of scores,
 * past, how much of it counts, number of beams, which beam, bias of all. Keys
 * given by heads are those of another sequence and have no past. */
clv_status map_ms_decoder_mha(draft *d, clv_err *e)
{
    uint32_t ins[INPUTS] = {ms_input(d, 0), ms_input(d, 1), ms_input(d, 2),
                            ms_input(d, 4), ms_input(d, 5), ms_input(d, 6),
                            ms_input(d, 3), CLV_NONE,       CLV_NONE};
    const clv_value *q = draft_in(d, 0), *k = draft_in(d, 1);
    if (!q || !k || !draft_in(d, 2)) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    bool shared = draft_other_int(d, "past_present_share_buffer", 0) != 0;
    CLV_TRY(mha_bias(d, ms_input(d, 10), ins, e));
    if (k->rank == 4)
        ins[PAST_K] = ins[PAST_V] = CLV_NONE;
    else if (shared && ins[PAST_K] != CLV_NONE)
        CLV_TRY(mha_buffer(d, ins, ms_input(d, 7), ms_input(d, 9), e));
    else if (ms_input(d, 9) != CLV_NONE)
        ms_count_only(d, "a past by beams that is not shared");
    return ms_attend(d, ins, CLV_NONE, e);
}

/* q holds all three: so many heads of queries, and fewer of keys, values. */
static clv_status split_gqa(draft *d, uint32_t ins[3], clv_err *e)
{
    const clv_value *q = draft_in(d, 0);
    int64_t heads = draft_int(d, CLV_A_HEADS, 1);
    int64_t kv = draft_int(d, CLV_A_KV_HEADS, heads);
    if (!q || q->rank != 3 || heads < 1 || kv < 1 || heads > q->dims[2] ||
        kv > q->dims[2]) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    int64_t size = q->dims[2] / (heads + 2 * kv);
    int64_t sizes[3] = {heads * size, kv * size, kv * size};
    return split3(d, "split", ins[Q], sizes, ins, e);
}

/* q, k, v, past key and value, last keys, how many keys there are at most, cos
 * and sin, positions, bias of scores, sinks. */
clv_status map_ms_gqa(draft *d, clv_err *e)
{
    bool turn = draft_other_int(d, "do_rotary", 0) != 0;
    uint32_t ins[INPUTS] = {ms_input(d, 0),
                            ms_input(d, 1),
                            ms_input(d, 2),
                            ms_input(d, 10),
                            ms_input(d, 3),
                            ms_input(d, 4),
                            ms_input(d, 5),
                            turn ? ms_input(d, 7) : CLV_NONE,
                            turn ? ms_input(d, 8) : CLV_NONE};
    const int64_t *total;
    uint32_t n;
    if (ins[K] == CLV_NONE)
        CLV_TRY(split_gqa(d, ins, e));
    if (d->op == CLV_OP_UNKNOWN)
        return CLV_OK;
    if (draft_ints(d, 6, &total, &n) && n == 1)
        draft_set_int(d, CLV_A_SIZE, *total);
    draft_set_int(d, CLV_A_CAUSAL, 1);
    draft_set_int(d, CLV_A_CACHE, 1);
    if (draft_in(d, 9) || draft_in(d, 11))
        ms_count_only(d, "positions or sinks of its own");
    return ms_attend(d, ins, CLV_NONE, e);
}

clv_status map_ms_rotary(draft *d, clv_err *e)
{
    static const uint32_t order[4] = {0, 2, 3, 1};
    (void)e;
    draft_keep(d, order, 4);
    return CLV_OK;
}

/* map_fused.c - newer operators of ai.onnx that are several of ours, so
 * that their cost and their kernels follow from rules that are there. */
#include "formats/onnx/map_ms.h"

#include <math.h>
#include <string.h>

/* Keys beyond nonpad_kv_seqlen never count; without a past, causal queries are
 * the last of those that do. The scores are shown after one of four steps. */
clv_status map_attention(draft *d, clv_err *e)
{
    static const char *const stages[] = {"product", "capped", "masked",
                                         "softmax"};
    (void)e;
    const clv_value *mask = draft_in(d, 3), *key = draft_in(d, 1);
    int64_t stage = draft_other_int(d, "qk_matmul_output_mode", 0);
    draft_set_str(d, CLV_A_STAGE, stages[stage < 0 || stage > 3 ? 0 : stage]);
    draft_set_float(d, CLV_A_MASK_VALUE, -INFINITY);
    if (draft_in(d, 6) && !draft_in(d, 4))
        draft_set_int(d, CLV_A_ALIGNED, 1);
    if (mask && mask->rank != CLV_NO_RANK && mask->rank &&
        mask->dims[mask->rank - 1] == 1 && key &&
        (key->rank == 3 || key->rank == 4) &&
        key->dims[key->rank == 4 ? 2 : 1] != 1)
        d->counted_only = "a mask of one column";
    return CLV_OK;
}

/* gate, x -> gate * sigmoid(alpha * gate) * x */
clv_status map_swiglu(draft *d, clv_err *e)
{
    uint32_t gate = ms_input(d, 0), x = ms_input(d, 1);
    CLV_TRY(ms_emit(d, CLV_OP_SILU, "gate", &gate, 1, d->attrs, d->n_attrs,
                    &gate, e));
    d->n_attrs = 0;
    return ms_finish(d, CLV_OP_MUL, IN(gate, x), e);
}

/* x (N,C,L) behind the k-1 columns of the state, or of zeros. */
static clv_status with_past(draft *d, int64_t past, uint32_t *all, clv_err *e)
{
    clv_attr axis = INT(AXIS, 2), pads;
    int64_t before[6] = {0, 0, past, 0, 0, 0};
    uint32_t x = ms_input(d, 0), state = ms_input(d, 3);
    if (state != CLV_NONE)
        return ms_emit(d, CLV_OP_CAT, "state", IN(state, x), &axis, 1, all, e);
    CLV_TRY(ms_ints(d, CLV_A_PADDING, before, 6, &pads, e));
    return ms_emit(d, CLV_OP_PAD, "state", &x, 1, &pads, 1, all, e);
}

/* The last `past` columns, which are the next state: output 1. */
static clv_status next_state(draft *d, int64_t past, uint32_t all, clv_err *e)
{
    clv_attr at[3] = {INT(START, past > 0 ? -past : INT64_MAX),
                      INT(END, INT64_MAX), INT(AXES, 2)};
    for (uint32_t i = 0; i < 3; i++)
        at[i].name = clv__attr_name((clv_attr_key)at[i].key);
    return draft_emit(d, CLV_OP_SLICE, "present", &all, 1, at, 3, &d->outs[1],
                      1, NULL, e);
}

/* A convolution of each channel (weight (C,1,k)) over what came before it. */
clv_status map_causal_conv(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0), *w = draft_in(d, 1);
    const clv_attr *act = draft_other(d, "activation");
    bool silu = act && act->type == CLV_ATTR_STRING && strcmp(act->u.s, "none");
    uint32_t all;
    if (!x || !w || x->rank != 3 || w->rank != 3) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    clv_attr groups = INT(GROUPS, x->dims[1]);
    int64_t past = w->dims[2] - 1;
    CLV_TRY(with_past(d, past, &all, e));
    if (ms_wanted(d, 1))
        CLV_TRY(next_state(d, past, all, e));
    d->n_attrs = 0;
    if (!silu) {
        draft_set_int(d, CLV_A_GROUPS, groups.u.i);
        return ms_finish(d, CLV_OP_CONV1D,
                         IN(all, ms_input(d, 1), ms_input(d, 2)), e);
    }
    CLV_TRY(ms_emit(d, CLV_OP_CONV1D, "conv",
                    IN(all, ms_input(d, 1), ms_input(d, 2)), &groups, 1, &all,
                    e));
    return ms_finish(d, CLV_OP_SILU, IN(all), e);
}

/* -- attention with graphs between its steps ------------------------------*/

/* x (B,H,S,D) as (B,groups,H/groups,S,D). */
static clv_status flex_grouped(draft *d, const char *suffix, uint32_t x,
                               int64_t groups, uint32_t *out, clv_err *e)
{
    const int64_t *in = d->g->values[x].dims;
    int64_t dims[5] = {in[0], groups, in[1] / groups, in[2], in[3]};
    clv_attr shape;
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, dims, 5, &shape, e));
    return ms_emit(d, CLV_OP_RESHAPE, suffix, &x, 1, &shape, 1, out, e);
}

/* And back: heads (B,H,S,D). */
static clv_status flex_joined(draft *d, const char *suffix, uint32_t x,
                              int64_t heads, uint32_t *out, clv_err *e)
{
    int64_t dims[4] = {0, heads, 0, -1};
    clv_attr shape[1];
    const clv_value *v = &d->g->values[x];
    dims[0] = v->dims[0];
    dims[2] = v->dims[3];
    CLV_TRY(ms_ints(d, CLV_A_SHAPE, dims, 4, shape, e));
    return ms_emit(d, CLV_OP_RESHAPE, suffix, &x, 1, shape, 1, out, e);
}

static clv_status flex_cast(draft *d, const char *suffix, uint32_t *x,
                            int64_t type, clv_err *e)
{
    clv_attr to[1] = {INT(DTYPE, type)};
    if (d->g->values[*x].dtype == type)
        return CLV_OK;
    return ms_emit(d, CLV_OP_CAST, suffix, x, 1, to, 1, x, e);
}

/* softmax(score_mod(q k^T * scale)), prob_mod of it, times v: q (B,H,L,E), k
 * (B,G,S,E), v (B,G,S,V) with G a divisor of H. Products are of the type of q,
 * after both were multiplied by the scale's root; what follows is of type
 * `softmax_precision`. */
clv_status map_flex_attention(draft *d, clv_err *e)
{
    static const int64_t turned[5] = {0, 1, 2, 4, 3};
    const clv_value *q = draft_in(d, 0), *k = draft_in(d, 1),
                    *v = draft_in(d, 2);
    if (!q || !k || !v || q->rank != 4 || k->rank != 4 || v->rank != 4 ||
        k->dims[1] < 1 || q->dims[1] % k->dims[1] || k->dims[1] != v->dims[1]) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    int64_t heads = q->dims[1], groups = k->dims[1], own = q->dtype;
    int64_t type = draft_other_int(d, "softmax_precision", 0);
    const clv_attr *given = draft_attr(d, CLV_A_SCALE);
    double scale = given && given->type == CLV_ATTR_FLOAT
                       ? given->u.f
                       : 1 / sqrt((double)q->dims[3]);
    type = type                 ? (int64_t)onnx_dtype((uint64_t)type)
           : own == CLV_FLOAT64 ? CLV_FLOAT64
                                : CLV_FLOAT32;
    clv_attr root[1] = {FLOAT(VALUE, (double)sqrtf((float)scale))};
    clv_attr last[1] = {INT(AXIS, -1)};
    uint32_t queries = d->ins[0], keys = d->ins[1], values = d->ins[2], scores;
    CLV_TRY(ms_emit(d, CLV_OP_MUL, "q", &queries, 1, root, 1, &queries, e));
    CLV_TRY(ms_emit(d, CLV_OP_MUL, "k", &keys, 1, root, 1, &keys, e));
    CLV_TRY(flex_grouped(d, "q_groups", queries, groups, &queries, e));
    CLV_TRY(flex_grouped(d, "k_groups", keys, groups, &keys, e));
    CLV_TRY(flex_grouped(d, "v_groups", values, groups, &values, e));
    CLV_TRY(ms_permute(d, "k_turned", keys, turned, 5, &keys, e));
    CLV_TRY(ms_emit(d, CLV_OP_MATMUL, "scores", IN(queries, keys), NULL, 0,
                    &scores, e));
    CLV_TRY(flex_joined(d, "scores_heads", scores, heads, &scores, e));
    CLV_TRY(flex_cast(d, "scores_cast", &scores, type, e));
    CLV_TRY(draft_inline(d, "score_mod", &scores, e));
    CLV_TRY(
        ms_emit(d, CLV_OP_SOFTMAX, "softmax", &scores, 1, last, 1, &scores, e));
    CLV_TRY(draft_inline(d, "prob_mod", &scores, e));
    CLV_TRY(flex_cast(d, "v_cast", &values, type, e));
    CLV_TRY(flex_grouped(d, "groups", scores, groups, &scores, e));
    CLV_TRY(ms_emit(d, CLV_OP_MATMUL, "mixed", IN(scores, values), NULL, 0,
                    &scores, e));
    CLV_TRY(flex_joined(d, "heads", scores, heads, &scores, e));
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_DTYPE, own);
    return ms_finish(d, CLV_OP_CAST, IN(scores), e);
}

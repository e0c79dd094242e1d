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

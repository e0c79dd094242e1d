/* map_ms_more.c - mixtures of experts and other operators of com.microsoft
 * that are one or a few of ours. */
#include "formats/onnx/map_ms.h"
#include "ops/control.h"

#include <string.h>

/* -- experts --------------------------------------------------------------*/

/* Input i, packed bytes of few bits, as what they are: its last axis longer. */
static clv_status ms_unpack_weight(draft *d, uint32_t i, int64_t bits,
                                   clv_err *e)
{
    const clv_value *v = draft_in(d, i);
    int64_t dims[CLV_MAX_RANK];
    if (bits != 2 && bits != 4 && bits != 8)
        return clv__fail(e, CLV_SHAPE, "weights of %lld bits", (long long)bits);
    if (!v || v->dtype != CLV_UINT8 || bits == 8)
        return CLV_OK;
    if (!value_is_weight(v) || v->rank < 1 || v->rank == CLV_NO_RANK)
        return clv__fail(e, CLV_UNSUPPORTED, "weights that are not stored");
    memcpy(dims, v->dims, v->rank * sizeof *dims);
    dims[v->rank - 1] = sat_mul(dims[v->rank - 1], 8 / bits);
    if (dims_product(dims, 0, v->rank) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "the weight's size does not fit");
    d->g->values[d->ins[i]].dtype = bits == 2 ? CLV_UINT2 : CLV_UINT4;
    if (!clv__value_set_shape(d->g, d->ins[i], v->rank, dims))
        return clv__nomem(e);
    return CLV_OK;
}

/* Scales and zero points (E,N) as (E,N,1): one block is a whole row. */
static clv_status by_rows(draft *d, uint32_t i, clv_err *e)
{
    const clv_value *v = draft_in(d, i);
    clv_attr axes = INT(AXES, -1);
    if (!v || v->rank != 2)
        return CLV_OK;
    return ms_emit(d, CLV_OP_UNSQUEEZE, "rows", IN(d->ins[i]), &axes, 1,
                   &d->ins[i], e);
}

/* Weight w (E,N,K), its scales and zero points per block of K or per row. */
static clv_status expert_weight(draft *d, uint32_t w, uint32_t scale,
                                uint32_t zero, const char *bits_name,
                                clv_err *e)
{
    int64_t bits = draft_other_int(d, bits_name,
                                   draft_other_int(d, "expert_weight_bits", 4));
    if (!draft_in(d, w) || !draft_in(d, scale))
        return CLV_OK;
    CLV_TRY(ms_unpack_weight(d, w, bits, e));
    CLV_TRY(ms_unpack_weight(d, zero, bits, e));
    const clv_value *v = draft_in(d, w);
    int64_t row = v->rank == 3 ? v->dims[2] : 1;
    int64_t block = draft_int(d, CLV_A_BLOCK, 0);
    clv_attr attrs[3] = {INT(AXIS, 2), INT(BLOCK, block > 0 ? block : row),
                         INT(OFFSET, INT64_C(1) << (bits - 1))};
    CLV_TRY(by_rows(d, scale, e));
    CLV_TRY(by_rows(d, zero, e));
    return ms_emit(d, CLV_OP_DEQUANTIZE_LINEAR, "weight",
                   IN(d->ins[w], d->ins[scale], ms_input(d, zero)), attrs, 3,
                   &d->ins[w], e);
}

/* A token goes to the k experts that its router scores highest. */
clv_status map_ms_moe(draft *d, clv_err *e)
{
    (void)e;
    draft_set_int(d, CLV_A_EXPERTS, draft_int(d, CLV_A_K, 1));
    draft_set_float(d, CLV_A_ALPHA, ms_float(d, "activation_alpha", 1));
    draft_set_float(d, CLV_A_BETA, ms_float(d, "activation_beta", 0));
    return CLV_OK;
}

/* Weights of few bits are first made floats; then as MoE. */
clv_status map_ms_qmoe(draft *d, clv_err *e)
{
    static const uint32_t order[9] = {0, 1, 2, 4, 5, 7, 8, 10, 14};
    const clv_attr *type = draft_other(d, "quant_type");
    if (type && type->type == CLV_ATTR_STRING && strcmp(type->u.s, "int"))
        ms_count_only(d, "experts quantised to floats are counted, not run");
    CLV_TRY(expert_weight(d, 2, 3, 11, "fc1_expert_weight_bits", e));
    CLV_TRY(expert_weight(d, 5, 6, 12, "fc2_expert_weight_bits", e));
    CLV_TRY(expert_weight(d, 8, 9, 13, "fc3_expert_weight_bits", e));
    draft_drop(d, CLV_A_BLOCK);
    draft_keep(d, order, 9);
    return map_ms_moe(d, e);
}

/* -- a bias before --------------------------------------------------------*/

/* x + bias through a softmax over the axes from `axis` on. */
clv_status map_ms_bias_softmax(draft *d, clv_err *e)
{
    uint32_t x;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, 1);
    CLV_TRY(ms_add(d, "bias", ms_input(d, 0), ms_input(d, 1), &x, e));
    return ms_finish(d, CLV_OP_SOFTMAX, IN(x), e);
}

/* dropout(x + bias) + residual; without training a copy of the sum. */
clv_status map_ms_bias_dropout(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(ms_add(d, "bias", ms_input(d, 0), ms_input(d, 1), &x, e));
    CLV_TRY(ms_add(d, "residual", x, ms_input(d, 2), &x, e));
    d->done = true;
    return draft_emit(d, CLV_OP_DROPOUT, "", &x, 1, NULL, 0, d->outs, d->n_out,
                      NULL, e);
}

/* x w, then as FastGelu. */
clv_status map_ms_gemm_gelu(draft *d, clv_err *e)
{
    uint32_t y;
    CLV_TRY(ms_emit(d, CLV_OP_MATMUL, "product",
                    IN(ms_input(d, 0), ms_input(d, 1)), NULL, 0, &y, e));
    CLV_TRY(ms_add(d, "bias", y, ms_input(d, 2), &y, e));
    draft_set_str(d, CLV_A_APPROXIMATE, "tanh");
    return ms_finish(d, CLV_OP_GELU, IN(y), e);
}

/* -- under another name ---------------------------------------------------*/

/* The axis is input 1. */
clv_status map_ms_expand_dims(draft *d, clv_err *e)
{
    const int64_t *axis;
    uint32_t n;
    if (!draft_ints(d, 1, &axis, &n) || n != 1)
        return clv__fail(e, CLV_UNSUPPORTED, "axis is computed from data");
    d->n_in = 1;
    return draft_set_ints(d, CLV_A_AXES, axis, 1, e);
}

/* x, weight, pads, bias: the pads are an attribute here. */
clv_status map_ms_convt(draft *d, clv_err *e)
{
    static const uint32_t order[3] = {0, 1, 3};
    const int64_t *pads;
    uint32_t n;
    if (draft_ints(d, 2, &pads, &n))
        CLV_TRY(draft_set_ints(d, CLV_A_PADDING, pads, n, e));
    draft_keep(d, order, 3);
    return map_conv_transpose(d, e);
}

/* The mask only says which windows count. */
clv_status map_ms_masked_pool(draft *d, clv_err *e)
{
    d->n_in = d->n_in ? 1 : 0;
    ms_count_only(d, "a masked pool is counted, not run");
    return map_pool(d, e);
}

/* Rows of a table; of its other inputs none changes the result. */
clv_status map_ms_embedding(draft *d, clv_err *e)
{
    d->n_in = d->n_in < 2 ? d->n_in : 2;
    d->n_attrs = 0;
    return map_axis0(d, e);
}

/* Windows of `size` every `step` along `dim`, as a new last axis. */
clv_status map_ms_unfold(draft *d, clv_err *e)
{
    (void)e;
    draft_set_int(d, CLV_A_AXIS, draft_other_int(d, "dim", -1));
    if (!draft_attr(d, CLV_A_STEP))
        draft_set_int(d, CLV_A_STEP, draft_other_int(d, "step", 1));
    return CLV_OK;
}

/* -- rows of a packed table -------------------------------------------------*/

/* table, indices, scales, zero points: rows are taken, and scaled by block. */
clv_status map_ms_gather_blocks(draft *d, clv_err *e)
{
    int64_t axis = draft_other_int(d, "gather_axis", 0), bits;
    uint32_t rows, scales, zeros = CLV_NONE;
    bits = draft_int(d, CLV_A_BITS, 4);
    clv_attr on = INT(AXIS, axis);
    CLV_TRY(ms_unpack_weight(d, 0, bits, e));
    CLV_TRY(ms_unpack_weight(d, 3, bits, e));
    CLV_TRY(ms_emit(d, CLV_OP_INDEX_SELECT, "rows",
                    IN(ms_input(d, 0), ms_input(d, 1)), &on, 1, &rows, e));
    CLV_TRY(ms_emit(d, CLV_OP_INDEX_SELECT, "scales",
                    IN(ms_input(d, 2), ms_input(d, 1)), &on, 1, &scales, e));
    if (ms_input(d, 3) != CLV_NONE)
        CLV_TRY(ms_emit(d, CLV_OP_INDEX_SELECT, "zeros",
                        IN(ms_input(d, 3), ms_input(d, 1)), &on, 1, &zeros, e));
    const clv_value *t = draft_in(d, 0);
    bool is_signed = t && dtype_class_of((clv_dtype)t->dtype) == CLASS_INT;
    int64_t block = draft_int(d, CLV_A_BLOCK, 128);
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_AXIS, -1);
    draft_set_int(d, CLV_A_BLOCK, block);
    if (!is_signed)
        draft_set_int(d, CLV_A_OFFSET, INT64_C(1) << (bits - 1));
    return ms_finish(d, CLV_OP_DEQUANTIZE_LINEAR, IN(rows, scales, zeros), e);
}

/* -- searches -------------------------------------------------------------*/

static bool has_graph(const draft *d, const char *name, clv_err *e)
{
    for (uint32_t i = 0; i < d->p->n_attrs; i++) {
        onnx_attr a;
        if (onnx_attr_read(d->p->attrs[i], &a, e) == CLV_OK &&
            text_is(a.name, name))
            return true;
    }
    return false;
}

/* The inputs of the node in the order of ops/search.c (`from[i]` is the one
 * that input i comes from), then what the body captures. */
static clv_status search_inputs(draft *d, const uint8_t *from, clv_err *e)
{
    uint32_t own = d->p->n_in, captured = d->n_in > own ? d->n_in - own : 0;
    uint32_t n = SEARCH_INPUTS + captured;
    uint32_t *ins = arena_array(&d->r->mem, n + ONNX_MORE_INS, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    for (uint32_t i = 0; i < SEARCH_INPUTS; i++)
        ins[i] = from[i] < own ? d->ins[from[i]] : CLV_NONE;
    for (uint32_t i = 0; i < captured; i++)
        ins[SEARCH_INPUTS + i] = d->ins[own + i];
    d->ins = ins;
    d->n_in = n;
    return CLV_OK;
}

static clv_status map_search(draft *d, const uint8_t *from, clv_err *e)
{
    int64_t type = draft_other_int(d, "model_type", 0);
    int64_t start = draft_other_int(d, "decoder_start_token_id", -1);
    bool encoder = has_graph(d, "encoder", e);
    if (type < 0 || type > 1)
        ms_count_only(d, "a search of a speech model is counted, not run");
    else if (encoder != (type == 1))
        ms_count_only(d, "an encoder and a model type that has none, or the "
                         "other way round: counted, not run");
    else if (encoder && (start < 0 || has_graph(d, "init_decoder", e)))
        ms_count_only(d, "an encoder that does not make the first step is "
                         "counted, not run");
    if (start >= 0)
        draft_set_int(d, CLV_A_START_TOKEN, start);
    draft_set_int(d, CLV_A_END_TOKEN, draft_other_int(d, "eos_token_id", 0));
    draft_set_int(d, CLV_A_PAD_TOKEN, draft_other_int(d, "pad_token_id", 0));
    draft_set_int(d, CLV_A_NO_REPEAT,
                  draft_other_int(d, "no_repeat_ngram_size", 0));
    return search_inputs(d, from, e);
}

/* A processor of logits (input 11) is for speech models, which have encoders.
 */
clv_status map_ms_beam_search(draft *d, clv_err *e)
{
    static const uint8_t same[SEARCH_INPUTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    draft_set_int(d, CLV_A_EARLY, draft_other_int(d, "early_stopping", 0));
    return map_search(d, same, e);
}

clv_status map_ms_greedy_search(draft *d, clv_err *e)
{
    enum { NONE = 255 };
    static const uint8_t fewer[SEARCH_INPUTS] = {0,    1, 2, NONE, NONE,
                                                 NONE, 3, 4, 5,    6};
    draft_set_int(d, CLV_A_GREEDY, 1);
    return map_search(d, fewer, e);
}

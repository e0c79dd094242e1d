/* map_ms.c - the operators of com.microsoft, which ONNX Runtime's
 * optimiser writes. A fused operator becomes the nodes it was fused from, so
 * that its cost and its kernels follow from rules that are there already. */
#include "formats/onnx/map_ms.h"

#include <string.h>

/* -- nodes ----------------------------------------------------------------*/

/* Attributes of a literal get our names; foreign ones keep theirs. */
static void ms_name_attrs(clv_attr *attrs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (attrs[i].key != CLV_A_OTHER)
            attrs[i].name = clv__attr_name((clv_attr_key)attrs[i].key);
}

clv_status ms_emit(draft *d, clv_op op, const char *suffix, const uint32_t *ins,
                   uint32_t n_in, clv_attr *attrs, uint32_t n_attrs,
                   uint32_t *out, clv_err *e)
{
    while (n_in && ins[n_in - 1] == CLV_NONE)
        n_in--;
    ms_name_attrs(attrs, n_attrs);
    return draft_emit(d, op, suffix, ins, n_in, attrs, n_attrs, NULL, 1, out,
                      e);
}

clv_status ms_emit_many(draft *d, clv_op op, const char *suffix, uint32_t x,
                        clv_attr *attrs, uint32_t n_attrs, uint32_t *outs,
                        uint32_t n, clv_err *e)
{
    ms_name_attrs(attrs, n_attrs);
    for (uint32_t i = 0; i < n; i++) {
        outs[i] = clv__value_add(d->g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
        if (outs[i] == CLV_NONE)
            return clv__nomem(e);
    }
    return draft_emit(d, op, suffix, &x, 1, attrs, n_attrs, outs, n, NULL, e);
}

uint32_t ms_input(const draft *d, uint32_t i)
{
    return i < d->n_in ? d->ins[i] : CLV_NONE;
}

bool ms_wanted(const draft *d, uint32_t out)
{
    return out < d->p->n_out && d->p->outs[out].n > 0;
}

double ms_float(const draft *d, const char *name, double otherwise)
{
    const clv_attr *a = draft_other(d, name);
    return a && a->type == CLV_ATTR_FLOAT ? a->u.f : otherwise;
}

void ms_count_only(draft *d, const char *reason)
{
    d->counted_only = reason;
}

clv_status ms_finish(draft *d, clv_op op, const uint32_t *ins, uint32_t n_in,
                     clv_err *e)
{
    d->done = true;
    while (n_in && ins[n_in - 1] == CLV_NONE)
        n_in--;
    return draft_emit(d, op, "", ins, n_in, d->attrs, d->n_attrs, d->outs,
                      d->n_out ? 1 : 0, NULL, e);
}

clv_status ms_add(draft *d, const char *suffix, uint32_t a, uint32_t b,
                  uint32_t *out, clv_err *e)
{
    if (b == CLV_NONE) {
        *out = a;
        return CLV_OK;
    }
    return ms_emit(d, CLV_OP_ADD, suffix, IN(a, b), NULL, 0, out, e);
}

clv_status ms_ints(draft *d, clv_attr_key key, const int64_t *v, uint32_t n,
                   clv_attr *a, clv_err *e)
{
    int64_t *own = arena_array(&d->g->mem, n, sizeof *own);
    if (!own)
        return clv__nomem(e);
    memcpy(own, v, n * sizeof *own);
    *a = (clv_attr){.name = clv__attr_name(key),
                    .key = (uint8_t)key,
                    .type = CLV_ATTR_INTS,
                    .n = n,
                    .u.ints = own};
    return CLV_OK;
}

clv_status ms_permute(draft *d, const char *suffix, uint32_t x,
                      const int64_t *perm, uint32_t n, uint32_t *out,
                      clv_err *e)
{
    clv_attr a;
    CLV_TRY(ms_ints(d, CLV_A_PERM, perm, n, &a, e));
    return ms_emit(d, CLV_OP_PERMUTE, suffix, &x, 1, &a, 1, out, e);
}

const int64_t ms_to_nchw[4] = {0, 3, 1, 2}, ms_to_nhwc[4] = {0, 2, 3, 1};

/* -- an operator and what was fused into it -------------------------------*/

/* An activation named by an attribute, and what its parameters are here. */
typedef struct fused_act {
    const char *name;
    clv_op op;
    clv_attr_key key[2]; /* CLV_A_OTHER: none */
    double otherwise[2];
} fused_act;

#define NONE CLV_A_OTHER
static const fused_act acts[] = {
    {"Relu", CLV_OP_RELU, {NONE, NONE}, {0, 0}},
    {"LeakyRelu", CLV_OP_LEAKY_RELU, {CLV_A_ALPHA, NONE}, {0.01, 0}},
    {"Tanh", CLV_OP_TANH, {NONE, NONE}, {0, 0}},
    {"Sigmoid", CLV_OP_SIGMOID, {NONE, NONE}, {0, 0}},
    {"Clip", CLV_OP_HARDTANH, {CLV_A_MIN, CLV_A_MAX}, {-3.4e38, 3.4e38}},
    {"HardSigmoid", CLV_OP_HARDSIGMOID, {CLV_A_ALPHA, CLV_A_BETA}, {0.2, 0.5}},
    {"HardSwish", CLV_OP_HARDSWISH, {NONE, NONE}, {0, 0}},
    {"Softplus", CLV_OP_SOFTPLUS, {NONE, NONE}, {0, 0}},
    {"QuickGelu", CLV_OP_SILU, {CLV_A_ALPHA, NONE}, {1.702, 0}},
    {"SiLU", CLV_OP_SILU, {NONE, NONE}, {0, 0}},
};
#undef NONE

/* The row of attribute `activation`; NULL for none. */
static const fused_act *activation(const draft *d)
{
    const clv_attr *a = draft_other(d, "activation");
    for (size_t i = 0; a && i < sizeof acts / sizeof *acts; i++)
        if (a->type == CLV_ATTR_STRING && !strcmp(a->u.s, acts[i].name))
            return &acts[i];
    return NULL;
}

/* The draft's attributes become those of its activation: the convolution has
 * a list of parameters, the products have one attribute each. */
static void keep_activation(draft *d, const fused_act *act)
{
    static const char *const names[2] = {"activation_alpha", "activation_beta"};
    const clv_attr *list = draft_other(d, "activation_params");
    double value[2];
    for (uint32_t i = 0; i < 2; i++) {
        bool listed = list && list->type == CLV_ATTR_FLOATS && i < list->n;
        value[i] = listed ? list->u.floats[i]
                          : ms_float(d, names[i], act->otherwise[i]);
    }
    d->n_attrs = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (act->key[i] != CLV_A_OTHER)
            draft_set_float(d, act->key[i], value[i]);
}

/* d->op on `ins`, times `scale`, then the sum with z, then the activation. */
static clv_status with_epilogue(draft *d, const uint32_t *ins, uint32_t n_in,
                                double scale, uint32_t z, clv_err *e)
{
    const fused_act *act = activation(d);
    uint32_t y;
    while (n_in && ins[n_in - 1] == CLV_NONE)
        n_in--;
    if (z == CLV_NONE && !act && scale == 1)
        return ms_finish(d, d->op, ins, n_in, e);
    CLV_TRY(draft_emit(d, d->op, "product", ins, n_in, d->attrs, d->n_attrs,
                       NULL, 1, &y, e));
    if (scale != 1 && !act) {
        d->n_attrs = 0;
        draft_set_float(d, CLV_A_VALUE, scale);
        return ms_finish(d, CLV_OP_MUL, IN(y), e);
    }
    if (scale != 1) {
        clv_attr by = FLOAT(VALUE, scale);
        CLV_TRY(ms_emit(d, CLV_OP_MUL, "scale", IN(y), &by, 1, &y, e));
    }
    if (!act) {
        d->n_attrs = 0;
        return ms_finish(d, CLV_OP_ADD, IN(y, z), e);
    }
    keep_activation(d, act);
    CLV_TRY(ms_add(d, "sum", y, z, &y, e));
    return ms_finish(d, act->op, IN(y), e);
}

clv_status map_ms_fused_conv(draft *d, clv_err *e)
{
    CLV_TRY(map_conv(d, e));
    return with_epilogue(d, IN(ms_input(d, 0), ms_input(d, 1), ms_input(d, 2)),
                         1, ms_input(d, 3), e);
}

/* Channels last on both sides: the layout costs nothing here. The weight is
 * (M,R,S,C), but of the fused form (M,C,R,S). */
clv_status map_ms_nhwc_conv(draft *d, clv_err *e)
{
    uint32_t x, w = ms_input(d, 1), y, z = ms_input(d, 3);
    const fused_act *act = activation(d);
    if (text_is(d->p->op, "NhwcConv"))
        CLV_TRY(ms_permute(d, "weight", w, ms_to_nchw, 4, &w, e));
    CLV_TRY(ms_permute(d, "nchw", ms_input(d, 0), ms_to_nchw, 4, &x, e));
    if (w != CLV_NONE && d->n_in > 1)
        d->ins[1] = w; /* the kernel's shape is read from it */
    CLV_TRY(map_conv(d, e));
    CLV_TRY(draft_emit(d, d->op, "product", (uint32_t[]){x, w, ms_input(d, 2)},
                       ms_input(d, 2) == CLV_NONE ? 2 : 3, d->attrs, d->n_attrs,
                       NULL, 1, &y, e));
    if (z != CLV_NONE) {
        CLV_TRY(ms_permute(d, "other", z, ms_to_nchw, 4, &z, e));
        CLV_TRY(ms_add(d, "sum", y, z, &y, e));
    }
    if (act) {
        keep_activation(d, act);
        CLV_TRY(ms_emit(d, act->op, "activation", IN(y), d->attrs, d->n_attrs,
                        &y, e));
    }
    d->n_attrs = 0;
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, ms_to_nhwc, 4, e));
    return ms_finish(d, CLV_OP_PERMUTE, IN(y), e);
}

/* Channels come in blocks of 8 or 16, the last one filled up; the weight says
 * how many there are then. It is stored in an order that depends on the blocks,
 * which the file does not tell. */
clv_status map_ms_nchwc_conv(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0), *w = draft_in(d, 1);
    int64_t pads[8] = {0};
    clv_attr fill;
    if (x && w && x->rank == 4 && w->rank == 4)
        pads[5] =
            sat_mul(w->dims[1], draft_int(d, CLV_A_GROUPS, 1)) - x->dims[1];
    CLV_TRY(ms_ints(d, CLV_A_PADDING, pads, 8, &fill, e));
    if (pads[5] > 0 && pads[5] < 16)
        CLV_TRY(
            ms_emit(d, CLV_OP_PAD, "blocks", d->ins, 1, &fill, 1, d->ins, e));
    ms_count_only(d, "the order of its weight depends on the machine");
    return map_ms_fused_conv(d, e);
}

/* From blocks of channels, whose last one may be padded, to `channels` of them,
 * last if it is asked for; and back, where the padding is left out. */
clv_status map_ms_reorder(draft *d, clv_err *e)
{
    uint32_t x = ms_input(d, 0);
    bool last = draft_other_int(d, "channels_last", 0) != 0;
    int64_t channels = draft_other_int(d, "channels", 0);
    clv_attr cut[3] = {INT(START, 0), INT(END, channels), INT(AXES, 1)};
    bool out = text_is(d->p->op, "ReorderOutput");
    if (x == CLV_NONE)
        return CLV_OK;
    if (out && channels > 0)
        CLV_TRY(ms_emit(d, CLV_OP_SLICE, "channels", &x, 1, cut, 3, &x, e));
    if (last)
        CLV_TRY(ms_permute(d, "layout", x, out ? ms_to_nhwc : ms_to_nchw, 4, &x,
                           e));
    d->n_attrs = 0;
    return ms_finish(d, CLV_OP_CONTIGUOUS, IN(x), e);
}

/* Whole scales, as a list of ints over all four axes. */
clv_status map_ms_nchwc_upsample(draft *d, clv_err *e)
{
    clv_attr *a = draft_attr(d, CLV_A_SCALES);
    if (!a || a->type != CLV_ATTR_INTS)
        return clv__fail(e, CLV_FORMAT, "no scales");
    double *scales = arena_array(&d->g->mem, a->n, sizeof *scales);
    if (!scales)
        return clv__nomem(e);
    for (uint32_t i = 0; i < a->n; i++)
        scales[i] = (double)a->u.ints[i];
    a->type = CLV_ATTR_FLOATS;
    a->u.floats = scales;
    draft_sampling(d, true);
    return CLV_OK;
}

clv_status map_ms_fused_gemm(draft *d, clv_err *e)
{
    CLV_TRY(map_gemm(d, e));
    return with_epilogue(d, IN(ms_input(d, 0), ms_input(d, 1), ms_input(d, 2)),
                         1, CLV_NONE, e);
}

/* (M, batch .., K) becomes (batch .., M, K). */
static clv_status batch_to_front(draft *d, const char *suffix, uint32_t *x,
                                 clv_err *e)
{
    const clv_value *v = *x == CLV_NONE ? NULL : &d->g->values[*x];
    int64_t perm[CLV_MAX_RANK];
    if (!v || v->rank == CLV_NO_RANK || v->rank < 3)
        return CLV_OK;
    for (uint32_t i = 0; i + 1 < v->rank; i++)
        perm[i] = i + 2u == v->rank ? 0 : i + 1;
    perm[v->rank - 1] = v->rank - 1;
    return ms_permute(d, suffix, *x, perm, v->rank, x, e);
}

clv_status map_ms_fused_matmul(draft *d, clv_err *e)
{
    uint32_t ins[2] = {ms_input(d, 0), ms_input(d, 1)};
    const clv_attr *scale = draft_attr(d, CLV_A_ALPHA);
    double alpha = scale && scale->type == CLV_ATTR_FLOAT ? scale->u.f : 1;
    for (int i = 0; i < 2; i++) {
        static const clv_attr_key keys[2] = {CLV_A_TRANS_A, CLV_A_TRANS_B};
        static const int64_t last[2] = {-2, -1};
        if (draft_other_int(d, i ? "transBatchB" : "transBatchA", 0))
            CLV_TRY(batch_to_front(d, i ? "b_batch" : "a_batch", &ins[i], e));
        if (!draft_int(d, keys[i], 0))
            continue;
        clv_attr a = {
            .key = CLV_A_AXES, .type = CLV_ATTR_INTS, .n = 2, .u.ints = last};
        CLV_TRY(ms_emit(d, CLV_OP_TRANSPOSE, i ? "b" : "a", &ins[i], 1, &a, 1,
                        &ins[i], e));
    }
    draft_drop(d, CLV_A_TRANS_A);
    draft_drop(d, CLV_A_TRANS_B);
    draft_drop(d, CLV_A_ALPHA);
    return with_epilogue(d, ins, 2, alpha, CLV_NONE, e);
}

/* With the error function, or, as FastGelu, with tanh. */
clv_status map_ms_bias_gelu(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(ms_add(d, "bias", ms_input(d, 0), ms_input(d, 1), &x, e));
    if (text_is(d->p->op, "FastGelu"))
        draft_set_str(d, CLV_A_APPROXIMATE, "tanh");
    return ms_finish(d, CLV_OP_GELU, IN(x), e);
}

clv_status map_ms_quick_gelu(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_ALPHA))
        draft_set_float(d, CLV_A_ALPHA, 1.702);
    return CLV_OK;
}

/* The first half times the gelu of the second. */
clv_status map_ms_bias_split_gelu(draft *d, clv_err *e)
{
    uint32_t x, halves[2];
    clv_attr attrs[2] = {INT(AXIS, -1), INT(SECTIONS, 2)};
    CLV_TRY(ms_add(d, "bias", ms_input(d, 0), ms_input(d, 1), &x, e));
    CLV_TRY(ms_emit_many(d, CLV_OP_CHUNK, "halves", x, attrs, 2, halves, 2, e));
    CLV_TRY(
        ms_emit(d, CLV_OP_GELU, "gelu", IN(halves[1]), NULL, 0, &halves[1], e));
    return ms_finish(d, CLV_OP_MUL, IN(halves[0], halves[1]), e);
}

clv_status map_ms_bias_add(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(ms_add(d, "bias", ms_input(d, 0), ms_input(d, 1), &x, e));
    return ms_finish(d, CLV_OP_ADD, IN(x, ms_input(d, 2)), e);
}

/* -- norms ----------------------------------------------------------------*/

/* Over the last axis; these norms have an epsilon of their own. */
static clv_status last_axis(draft *d, clv_err *e)
{
    if (!draft_attr(d, CLV_A_EPSILON))
        draft_set_float(d, CLV_A_EPSILON, 1e-12);
    return map_layer_norm(d, e);
}

/* input + skip (+ bias), which output 3 may ask for, then the norm. The
 * simplified norm has no beta, so its bias comes one place earlier. */
clv_status map_ms_skip_norm(draft *d, clv_err *e)
{
    bool simple = d->op == CLV_OP_RMS_NORM;
    uint32_t bias = ms_input(d, simple ? 3 : 4), x = ms_input(d, 0);
    if (bias != CLV_NONE)
        CLV_TRY(ms_add(d, "bias", x, bias, &x, e));
    uint32_t pair[2] = {x, ms_input(d, 1)}, sum;
    CLV_TRY(draft_emit(d, CLV_OP_ADD, "skip", pair, 2, NULL, 0,
                       ms_wanted(d, 3) ? &d->outs[3] : NULL, 1, &sum, e));
    CLV_TRY(last_axis(d, e));
    return ms_finish(
        d, d->op, IN(sum, ms_input(d, 2), simple ? CLV_NONE : ms_input(d, 3)),
        e);
}

/* x, gamma, beta, then for the skip form: skip, bias; output 1 is their sum.
 * Channels are last unless the attribute says otherwise. */
clv_status map_ms_group_norm(draft *d, clv_err *e)
{
    uint32_t x = ms_input(d, 0), y;
    bool last = draft_other_int(d, "channels_last", 1) != 0;
    bool silu = draft_other_int(d, "activation", 0) == 1;
    CLV_TRY(ms_add(d, "bias", x, ms_input(d, 4), &x, e));
    if (ms_input(d, 3) != CLV_NONE)
        CLV_TRY(draft_emit(d, CLV_OP_ADD, "skip",
                           (uint32_t[]){x, ms_input(d, 3)}, 2, NULL, 0,
                           ms_wanted(d, 1) ? &d->outs[1] : NULL, 1, &x, e));
    if (last)
        CLV_TRY(ms_permute(d, "nchw", x, ms_to_nchw, 4, &x, e));
    if (!last && !silu)
        return ms_finish(d, d->op, IN(x, ms_input(d, 1), ms_input(d, 2)), e);
    CLV_TRY(draft_emit(d, d->op, "norm",
                       (uint32_t[]){x, ms_input(d, 1), ms_input(d, 2)}, 3,
                       d->attrs, d->n_attrs, NULL, 1, &y, e));
    d->n_attrs = 0;
    if (!last)
        return ms_finish(d, CLV_OP_SILU, IN(y), e);
    if (silu)
        CLV_TRY(ms_emit(d, CLV_OP_SILU, "activation", IN(y), NULL, 0, &y, e));
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, ms_to_nhwc, 4, e));
    return ms_finish(d, CLV_OP_PERMUTE, IN(y), e);
}

/* -- embeddings -----------------------------------------------------------*/

/* Rows of the position table: those of `places`, else one per token. */
static clv_status position_rows(draft *d, uint32_t ids, uint32_t places,
                                uint32_t table, uint32_t *out, clv_err *e)
{
    const clv_value *v = ids == CLV_NONE ? NULL : &d->g->values[ids];
    clv_attr attrs[3] = {INT(START, 0),
                         INT(END, v && v->rank == 2 ? v->dims[1] : INT64_MAX),
                         INT(AXES, 0)};
    clv_attr axis = INT(AXIS, 0);
    if (places != CLV_NONE)
        return ms_emit(d, CLV_OP_INDEX_SELECT, "positions", IN(table, places),
                       &axis, 1, out, e);
    return ms_emit(d, CLV_OP_SLICE, "positions", IN(table), attrs, 3, out, e);
}

/* How many tokens of each sequence count; none without a mask. */
static clv_status token_counts(draft *d, uint32_t ids, uint32_t mask,
                               clv_err *e)
{
    clv_attr attrs[2] = {INT(AXES, 1), INT(DTYPE, CLV_INT32)};
    clv_attr none[1] = {INT(VALUE, 0)};
    uint32_t of = mask;
    if (mask == CLV_NONE)
        CLV_TRY(
            ms_emit(d, CLV_OP_FULL_LIKE, "no_mask", IN(ids), none, 1, &of, e));
    attrs[0].name = clv__attr_name(CLV_A_AXES);
    attrs[1].name = clv__attr_name(CLV_A_DTYPE);
    return draft_emit(d, CLV_OP_SUM, "mask", &of, 1, attrs, 2, &d->outs[1], 1,
                      NULL, e);
}

/* ids, segments, word, position and segment tables, gamma, beta, mask,
 * positions -> the norm, tokens that count, the sum before the norm */
clv_status map_ms_embed(draft *d, clv_err *e)
{
    uint32_t sum, rows, ids = ms_input(d, 0), mask = ms_input(d, 7);
    bool segments = ms_input(d, 1) != CLV_NONE && ms_input(d, 4) != CLV_NONE;
    uint32_t *all = ms_wanted(d, 2) ? &d->outs[2] : NULL;
    clv_attr axis = INT(AXIS, 0);
    CLV_TRY(ms_emit(d, CLV_OP_INDEX_SELECT, "word", IN(ms_input(d, 2), ids),
                    &axis, 1, &sum, e));
    CLV_TRY(position_rows(d, ids, ms_input(d, 8), ms_input(d, 3), &rows, e));
    CLV_TRY(draft_emit(d, CLV_OP_ADD, "add_position", (uint32_t[]){sum, rows},
                       2, NULL, 0, segments ? NULL : all, 1, &sum, e));
    if (segments) {
        CLV_TRY(ms_emit(d, CLV_OP_INDEX_SELECT, "segment",
                        IN(ms_input(d, 4), ms_input(d, 1)), &axis, 1, &rows,
                        e));
        CLV_TRY(draft_emit(d, CLV_OP_ADD, "add_segment",
                           (uint32_t[]){sum, rows}, 2, NULL, 0, all, 1, &sum,
                           e));
    }
    if (ms_wanted(d, 1))
        CLV_TRY(token_counts(d, ids, mask, e));
    CLV_TRY(last_axis(d, e));
    return ms_finish(d, CLV_OP_LAYER_NORM,
                     IN(sum, ms_input(d, 5), ms_input(d, 6)), e);
}

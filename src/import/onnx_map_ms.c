/* onnx_map_ms.c - the operators of com.microsoft, which ONNX Runtime's
 * optimiser and quantiser write. A fused operator becomes the nodes it was
 * fused from, so that its cost follows from rules that are there already. */
#include "import/onnx_map.h"

#include <string.h>

#define INT(k, v) \
    { \
        .name = #k, .key = CLV_A_##k, .type = CLV_INT_ATTR, .u.i = (v) \
    }

/* Attribute lists here are literals; their names are set when they are used. */
static clv_status emit(draft *d, clv_op op, const char *suffix,
                       const uint32_t *ins, uint32_t n_in, clv_attr *attrs,
                       uint32_t n_attrs, uint32_t *out, clv_err *e)
{
    for (uint32_t i = 0; i < n_attrs; i++)
        attrs[i].name = clv__attr_name((clv_attr_key)attrs[i].key);
    return draft_emit(d, op, suffix, ins, n_in, attrs, n_attrs, NULL, 1, out,
                      e);
}

#define IN(...) (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

static uint32_t input(const draft *d, uint32_t i)
{
    return i < d->n_in ? d->ins[i] : CLV_NONE;
}

static bool wanted(const draft *d, uint32_t out)
{
    return out < d->p->n_out && d->p->outs[out].n > 0;
}

/* The last node: it makes the first output under the node's own name. */
static clv_status finish(draft *d, clv_op op, const uint32_t *ins,
                         uint32_t n_in, clv_err *e)
{
    d->done = true;
    while (n_in && ins[n_in - 1] == CLV_NONE)
        n_in--;
    return draft_emit(d, op, "", ins, n_in, d->attrs, d->n_attrs, d->outs,
                      d->n_out ? 1 : 0, NULL, e);
}

static clv_status add(draft *d, const char *suffix, uint32_t a, uint32_t b,
                      uint32_t *out, clv_err *e)
{
    if (b == CLV_NONE) {
        *out = a;
        return CLV_OK;
    }
    return emit(d, CLV_OP_ADD, suffix, IN(a, b), NULL, 0, out, e);
}

static clv_status permute(draft *d, const char *suffix, uint32_t x,
                          const int64_t *perm, uint32_t n, uint32_t *out,
                          clv_err *e)
{
    int64_t *own = arena_array(&d->g->mem, n, sizeof *own);
    if (!own)
        return clv__nomem(e);
    memcpy(own, perm, n * sizeof *own);
    clv_attr a = {
        .key = CLV_A_PERM, .type = CLV_INTS_ATTR, .n = n, .u.ints = own};
    return emit(d, CLV_OP_PERMUTE, suffix, &x, 1, &a, 1, out, e);
}

/* -- an operator and what was fused into it -------------------------------*/

/* The activation named by attribute `activation`; CLV_OP_UNKNOWN for none. */
static clv_op activation(const draft *d)
{
    static const struct {
        const char *name;
        clv_op op;
    } table[] = {
        {"Relu", CLV_OP_RELU},           {"LeakyRelu", CLV_OP_LEAKY_RELU},
        {"Tanh", CLV_OP_TANH},           {"Sigmoid", CLV_OP_SIGMOID},
        {"Clip", CLV_OP_HARDTANH},       {"HardSigmoid", CLV_OP_HARDSIGMOID},
        {"HardSwish", CLV_OP_HARDSWISH}, {"Softplus", CLV_OP_SOFTPLUS},
        {"QuickGelu", CLV_OP_SILU},      {"SiLU", CLV_OP_SILU}};
    const clv_attr *a = draft_other(d, "activation");
    for (size_t i = 0; a && i < sizeof table / sizeof *table; i++)
        if (a->type == CLV_STRING_ATTR && !strcmp(a->u.s, table[i].name))
            return table[i].op;
    return CLV_OP_UNKNOWN;
}

/* d->op on `ins`, then the sum with z, then the activation. */
static clv_status with_epilogue(draft *d, const uint32_t *ins, uint32_t n_in,
                                uint32_t z, clv_err *e)
{
    clv_op act = activation(d);
    while (n_in && ins[n_in - 1] == CLV_NONE)
        n_in--;
    if (z == CLV_NONE && act == CLV_OP_UNKNOWN)
        return finish(d, d->op, ins, n_in, e);
    uint32_t y;
    CLV_TRY(draft_emit(d, d->op, "product", ins, n_in, d->attrs, d->n_attrs,
                       NULL, 1, &y, e));
    d->n_attrs = 0;
    if (act == CLV_OP_UNKNOWN)
        return finish(d, CLV_OP_ADD, IN(y, z), e);
    CLV_TRY(add(d, "sum", y, z, &y, e));
    return finish(d, act, IN(y), e);
}

clv_status map_ms_fused_conv(draft *d, clv_err *e)
{
    CLV_TRY(map_conv(d, e));
    return with_epilogue(d, IN(input(d, 0), input(d, 1), input(d, 2)),
                         input(d, 3), e);
}

/* Channels last on both sides: the layout costs nothing here. */
clv_status map_ms_nhwc_conv(draft *d, clv_err *e)
{
    static const int64_t in[4] = {0, 3, 1, 2}, back[4] = {0, 2, 3, 1};
    uint32_t x, w, y;
    CLV_TRY(map_conv(d, e));
    CLV_TRY(permute(d, "nchw", input(d, 0), in, 4, &x, e));
    CLV_TRY(permute(d, "weight", input(d, 1), in, 4, &w, e));
    CLV_TRY(draft_emit(d, d->op, "product", (uint32_t[]){x, w, input(d, 2)},
                       input(d, 2) == CLV_NONE ? 2 : 3, d->attrs, d->n_attrs,
                       NULL, 1, &y, e));
    d->n_attrs = 0;
    if (activation(d) != CLV_OP_UNKNOWN)
        CLV_TRY(emit(d, activation(d), "activation", IN(y), NULL, 0, &y, e));
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, back, 4, e));
    return finish(d, CLV_OP_PERMUTE, IN(y), e);
}

/* Whole scales, as a list of ints over all four axes. */
clv_status map_ms_nchwc_upsample(draft *d, clv_err *e)
{
    clv_attr *a = draft_attr(d, CLV_A_SCALES);
    if (!a || a->type != CLV_INTS_ATTR)
        return clv__fail(e, CLV_FORMAT, "no scales");
    double *scales = arena_array(&d->g->mem, a->n, sizeof *scales);
    if (!scales)
        return clv__nomem(e);
    for (uint32_t i = 0; i < a->n; i++)
        scales[i] = (double)a->u.ints[i];
    a->type = CLV_FLOATS_ATTR;
    a->u.floats = scales;
    return CLV_OK;
}

clv_status map_ms_fused_gemm(draft *d, clv_err *e)
{
    CLV_TRY(map_gemm(d, e));
    return with_epilogue(d, IN(input(d, 0), input(d, 1), input(d, 2)), CLV_NONE,
                         e);
}

clv_status map_ms_fused_matmul(draft *d, clv_err *e)
{
    uint32_t ins[2] = {input(d, 0), input(d, 1)};
    for (int i = 0; i < 2; i++) {
        static const clv_attr_key keys[2] = {CLV_A_TRANS_A, CLV_A_TRANS_B};
        static const int64_t last[2] = {-2, -1};
        if (!draft_int(d, keys[i], 0))
            continue;
        clv_attr a = {
            .key = CLV_A_AXES, .type = CLV_INTS_ATTR, .n = 2, .u.ints = last};
        CLV_TRY(emit(d, CLV_OP_TRANSPOSE, i ? "b" : "a", &ins[i], 1, &a, 1,
                     &ins[i], e));
    }
    draft_drop(d, CLV_A_TRANS_A);
    draft_drop(d, CLV_A_TRANS_B);
    return with_epilogue(d, ins, 2, CLV_NONE, e);
}

clv_status map_ms_bias_gelu(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(add(d, "bias", input(d, 0), input(d, 1), &x, e));
    return finish(d, CLV_OP_GELU, IN(x), e);
}

clv_status map_ms_bias_split_gelu(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(add(d, "bias", input(d, 0), input(d, 1), &x, e));
    draft_set_int(d, CLV_A_AXIS, -1);
    return finish(d, CLV_OP_GLU, IN(x), e);
}

clv_status map_ms_bias_add(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(add(d, "bias", input(d, 0), input(d, 1), &x, e));
    return finish(d, CLV_OP_ADD, IN(x, input(d, 2)), e);
}

/* -- norms ----------------------------------------------------------------*/

/* input + skip (+ bias), which output 3 may ask for, then the norm. The
 * simplified norm has no beta, so its bias comes one place earlier. */
clv_status map_ms_skip_norm(draft *d, clv_err *e)
{
    bool simple = d->op == CLV_OP_RMS_NORM;
    uint32_t bias = input(d, simple ? 3 : 4), x = input(d, 0);
    if (bias != CLV_NONE)
        CLV_TRY(add(d, "bias", x, bias, &x, e));
    uint32_t pair[2] = {x, input(d, 1)}, sum;
    CLV_TRY(draft_emit(d, CLV_OP_ADD, "skip", pair, 2, NULL, 0,
                       wanted(d, 3) ? &d->outs[3] : NULL, 1, &sum, e));
    CLV_TRY(map_layer_norm(d, e));
    return finish(d, d->op,
                  IN(sum, input(d, 2), simple ? CLV_NONE : input(d, 3)), e);
}

/* x, gamma, beta, then for the skip form: skip, bias. Channels are last
 * unless the attribute says otherwise. */
clv_status map_ms_group_norm(draft *d, clv_err *e)
{
    static const int64_t in[4] = {0, 3, 1, 2}, back[4] = {0, 2, 3, 1};
    uint32_t x = input(d, 0), y;
    CLV_TRY(add(d, "bias", x, input(d, 4), &x, e));
    CLV_TRY(add(d, "skip", x, input(d, 3), &x, e));
    uint32_t ins[3] = {x, input(d, 1), input(d, 2)};
    if (!draft_other_int(d, "channels_last", 1))
        return finish(d, d->op, ins, 3, e);
    CLV_TRY(permute(d, "nchw", x, in, 4, &ins[0], e));
    CLV_TRY(draft_emit(d, d->op, "norm", ins, 3, d->attrs, d->n_attrs, NULL, 1,
                       &y, e));
    bool silu = draft_other_int(d, "activation", 0) == 1;
    d->n_attrs = 0;
    if (silu)
        CLV_TRY(emit(d, CLV_OP_SILU, "activation", IN(y), NULL, 0, &y, e));
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, back, 4, e));
    return finish(d, CLV_OP_PERMUTE, IN(y), e);
}

/* Rows of the position table that a sequence of `ids` uses. */
static clv_status position_rows(draft *d, uint32_t ids, uint32_t table,
                                uint32_t *out, clv_err *e)
{
    const clv_value *v = &d->g->values[ids];
    clv_attr attrs[3] = {INT(START, 0),
                         INT(END, v->rank == 2 ? v->dims[1] : INT64_MAX),
                         INT(AXES, 0)};
    return emit(d, CLV_OP_SLICE, "positions", IN(table), attrs, 3, out, e);
}

/* ids, segments, word, position and segment tables, gamma, beta, mask. */
clv_status map_ms_embed(draft *d, clv_err *e)
{
    uint32_t sum, rows, ids = input(d, 0), mask = input(d, 7);
    clv_attr axis = INT(AXIS, 0);
    CLV_TRY(emit(d, CLV_OP_INDEX_SELECT, "word", IN(input(d, 2), ids), &axis, 1,
                 &sum, e));
    CLV_TRY(position_rows(d, ids, input(d, 3), &rows, e));
    CLV_TRY(add(d, "add_position", sum, rows, &sum, e));
    if (input(d, 1) != CLV_NONE && input(d, 4) != CLV_NONE) {
        CLV_TRY(emit(d, CLV_OP_INDEX_SELECT, "segment",
                     IN(input(d, 4), input(d, 1)), &axis, 1, &rows, e));
        CLV_TRY(add(d, "add_segment", sum, rows, &sum, e));
    }
    if (wanted(d, 1)) { /* how many tokens of each sequence count */
        clv_attr attrs[2] = {INT(AXES, 1), INT(DTYPE, CLV_INT32)};
        attrs[0].name = clv__attr_name(CLV_A_AXES);
        attrs[1].name = clv__attr_name(CLV_A_DTYPE);
        uint32_t of = mask == CLV_NONE ? ids : mask;
        CLV_TRY(draft_emit(d, CLV_OP_SUM, "mask", &of, 1, attrs, 2, &d->outs[1],
                           1, NULL, e));
    }
    CLV_TRY(map_layer_norm(d, e));
    return finish(d, CLV_OP_LAYER_NORM, IN(sum, input(d, 5), input(d, 6)), e);
}

/* -- attention ------------------------------------------------------------*/

/* One of the two halves of a cache (2,B,H,P,D). */
static clv_status half(draft *d, uint32_t past, int64_t i, uint32_t *out,
                       clv_err *e)
{
    *out = CLV_NONE;
    if (past == CLV_NONE)
        return CLV_OK;
    clv_attr attrs[2] = {INT(AXIS, 0), INT(INDEX, i)};
    return emit(d, CLV_OP_SELECT, i ? "past_value" : "past_key", IN(past),
                attrs, 2, out, e);
}

/* q, k, v, mask, past key, past value -> y, and the cache as one tensor. */
static clv_status attend(draft *d, const uint32_t ins[6], uint32_t present,
                         clv_err *e)
{
    uint32_t outs[3] = {d->outs[0], CLV_NONE, CLV_NONE}, n = 6;
    uint32_t n_out = present == CLV_NONE ? 1 : 3;
    d->done = true;
    for (uint32_t i = 1; i < n_out; i++) {
        outs[i] = clv__value_add(d->g, NULL, CLV_ACTIVATION, CLV_NODTYPE);
        if (outs[i] == CLV_NONE)
            return clv__nomem(e);
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

/* Three parts of the last axis: equal, or of the sizes given. */
static clv_status split3(draft *d, const char *suffix, uint32_t x,
                         const int64_t *sizes, uint32_t out[3], clv_err *e)
{
    int64_t *own = arena_array(&d->g->mem, 3, sizeof *own);
    if (!own)
        return clv__nomem(e);
    if (sizes)
        memcpy(own, sizes, 3 * sizeof *own);
    clv_attr attrs[2] = {INT(AXIS, -1), INT(SECTIONS, 3)};
    attrs[0].name = clv__attr_name(CLV_A_AXIS);
    attrs[1].name = clv__attr_name(CLV_A_SECTIONS);
    if (sizes) {
        attrs[1].type = CLV_INTS_ATTR;
        attrs[1].n = 3;
        attrs[1].u.ints = own;
    }
    for (int i = 0; i < 3; i++) {
        out[i] = clv__value_add(d->g, NULL, CLV_ACTIVATION, CLV_NODTYPE);
        if (out[i] == CLV_NONE)
            return clv__nomem(e);
    }
    return draft_emit(d, sizes ? CLV_OP_SPLIT : CLV_OP_CHUNK, suffix, &x, 1,
                      attrs, 2, out, 3, NULL, e);
}

/* x (B,S,I), weights (I,3H), bias (3H), mask, past, bias of scores. The
 * quantised form has its scales between. */
clv_status map_ms_attention(draft *d, clv_err *e)
{
    bool quantised = text_is(d->p->op, "QAttention");
    uint32_t past = input(d, quantised ? 8 : 4), qkv, ins[6];
    const clv_attr *sizes = draft_other(d, "qkv_hidden_sizes");
    bool uneven = sizes && sizes->type == CLV_INTS_ATTR && sizes->n == 3;
    CLV_TRY(emit(d, quantised ? CLV_OP_MATMUL_INTEGER : CLV_OP_MATMUL, "qkv",
                 IN(input(d, 0), input(d, 1)), NULL, 0, &qkv, e));
    CLV_TRY(add(d, "bias", qkv, input(d, 2), &qkv, e));
    CLV_TRY(split3(d, "split", qkv, uneven ? sizes->u.ints : NULL, ins, e));
    ins[3] = quantised ? CLV_NONE : input(d, 5);
    CLV_TRY(half(d, past, 0, &ins[4], e));
    CLV_TRY(half(d, past, 1, &ins[5], e));
    return attend(d, ins, wanted(d, 1) ? d->outs[1] : CLV_NONE, e);
}

/* q, k, v, bias (of all three), mask, bias of scores, past key and value. */
clv_status map_ms_mha(draft *d, clv_err *e)
{
    uint32_t ins[6] = {input(d, 0), input(d, 1), input(d, 2),
                       input(d, 5), input(d, 6), input(d, 7)};
    if (ins[1] == CLV_NONE || ins[2] == CLV_NONE) {
        d->op = CLV_OP_UNKNOWN; /* packed forms */
        return CLV_OK;
    }
    uint32_t bias[3];
    if (input(d, 3) != CLV_NONE) {
        CLV_TRY(split3(d, "split_bias", input(d, 3), NULL, bias, e));
        for (int i = 0; i < 3; i++)
            CLV_TRY(add(d, "bias", ins[i], bias[i], &ins[i], e));
    }
    uint32_t n = 6;
    while (ins[n - 1] == CLV_NONE)
        n--;
    d->done = true;
    return draft_emit(d, CLV_OP_ATTENTION, "", ins, n, d->attrs, d->n_attrs,
                      d->outs, d->n_out, NULL, e);
}

/* q, k, v, past key and value; packed, q holds all three. */
clv_status map_ms_gqa(draft *d, clv_err *e)
{
    uint32_t ins[6] = {input(d, 0), input(d, 1), input(d, 2),
                       CLV_NONE,    input(d, 3), input(d, 4)};
    int64_t heads = draft_int(d, CLV_A_HEADS, 1);
    int64_t kv = draft_int(d, CLV_A_KV_HEADS, heads);
    const clv_value *q = draft_in(d, 0);
    if (ins[1] == CLV_NONE) {
        if (!q || q->rank != 3 || heads < 1 || kv < 1 || heads > q->dims[2] ||
            kv > q->dims[2]) {
            d->op = CLV_OP_UNKNOWN;
            return CLV_OK;
        }
        int64_t size = q->dims[2] / (heads + 2 * kv);
        int64_t sizes[3] = {heads * size, kv * size, kv * size};
        CLV_TRY(split3(d, "split", ins[0], sizes, ins, e));
    }
    uint32_t n = 6;
    while (ins[n - 1] == CLV_NONE)
        n--;
    d->done = true;
    return draft_emit(d, CLV_OP_ATTENTION, "", ins, n, d->attrs, d->n_attrs,
                      d->outs, d->n_out, NULL, e);
}

clv_status map_ms_rotary(draft *d, clv_err *e)
{
    static const uint32_t order[4] = {0, 2, 3, 1};
    (void)e;
    draft_keep(d, order, 4);
    return CLV_OK;
}

/* -- quantised ------------------------------------------------------------*/

/* Few bits per weight: the packed bytes are a matrix (N,K) of that type. */
clv_status map_ms_nbits(draft *d, clv_err *e)
{
    int64_t k = draft_other_int(d, "K", 0), n = draft_other_int(d, "N", 0);
    int64_t bits = draft_int(d, CLV_A_BITS, 4);
    int64_t shape[2] = {n, k};
    const clv_value *b = draft_in(d, 1);
    clv_dtype t = bits == 2 ? CLV_UINT2 : bits == 8 ? CLV_UINT8 : CLV_UINT4;
    if (!b || !value_is_weight(b) || n < 1 || k < 1)
        return clv__fail(e, CLV_SHAPE, "a weight of %lld by %lld", (long long)n,
                         (long long)k);
    if (sat_mul(n, k) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "the weight's size does not fit");
    d->g->values[d->ins[1]].dtype = (uint8_t)t;
    if (!clv__value_set_shape(d->g, d->ins[1], 2, shape))
        return clv__nomem(e);
    return CLV_OK;
}

/* A float product with a quantised weight, and a bias at the end. */
clv_status map_ms_quant_matmul(draft *d, clv_err *e)
{
    bool integers = text_is(d->p->op, "MatMulIntegerToFloat");
    uint32_t bias = input(d, integers ? 6 : 4), y;
    uint32_t ins[2] = {input(d, 0), input(d, 1)};
    if (!integers && bias == CLV_NONE)
        return finish(d, CLV_OP_MATMUL, ins, 2, e);
    CLV_TRY(emit(d, integers ? CLV_OP_MATMUL_INTEGER : CLV_OP_MATMUL, "product",
                 ins, 2, NULL, 0, &y, e));
    if (bias == CLV_NONE)
        return finish(d, CLV_OP_MUL, IN(y, input(d, 2)), e);
    CLV_TRY(emit(d, CLV_OP_MUL, "scale", IN(y, input(d, 2)), NULL, 0, &y, e));
    return finish(d, CLV_OP_ADD, IN(y, bias), e);
}

clv_status map_ms_qgemm(draft *d, clv_err *e)
{
    static const uint32_t order[3] = {0, 3, 6};
    (void)e;
    draft_keep(d, order, 3);
    return CLV_OK;
}

clv_status map_ms_qlinear1(draft *d, clv_err *e)
{
    (void)e;
    d->n_in = d->n_in ? 1 : 0;
    return CLV_OK;
}

clv_status map_ms_qlinear2(draft *d, clv_err *e)
{
    static const uint32_t order[2] = {0, 3};
    (void)e;
    draft_keep(d, order, 2);
    return CLV_OK;
}

clv_status map_ms_qwhere(draft *d, clv_err *e)
{
    static const uint32_t order[3] = {0, 1, 4};
    (void)e;
    draft_keep(d, order, 3);
    return CLV_OK;
}

/* Scale and zero of the result, then x, scale, zero of each input. */
clv_status map_ms_qconcat(draft *d, clv_err *e)
{
    uint32_t n = 0;
    for (uint32_t i = 2; i < d->n_in; i += 3)
        d->ins[n++] = d->ins[i];
    d->n_in = n;
    return map_concat(d, e);
}

clv_status map_ms_qpool(draft *d, clv_err *e)
{
    d->n_in = d->n_in ? 1 : 0;
    return d->op == CLV_OP_AVG_POOL2D ? map_pool(d, e) : map_global_pool(d, e);
}

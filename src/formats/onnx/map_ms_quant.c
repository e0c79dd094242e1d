/* map_ms_quant.c - the quantised operators of com.microsoft.
 *
 * One that works on quantised numbers becomes what it stands for: its inputs
 * dequantised, the operator, its result quantised. Products stay products of
 * integers, scaled after. */
#include "formats/onnx/map_ms.h"

/* Few bits per weight: the packed bytes are a matrix (N,K) of that type. Rows
 * are whole blocks, but for those of bitsandbytes, which run on. */
clv_status map_ms_nbits(draft *d, clv_err *e)
{
    int64_t k = draft_other_int(d, "K", 0), n = draft_other_int(d, "N", 0);
    int64_t bits = draft_int(d, CLV_A_BITS, 4);
    int64_t block = draft_int(d, CLV_A_BLOCK, 1);
    bool whole = text_is(d->p->op, "MatMulNBits") && block > 1;
    int64_t pad = whole && k > 0 && k % block ? block - k % block : 0;
    int64_t shape[2] = {n, sat_add(k, pad)};
    if (text_is(d->p->op, "MatMulBnb4"))
        draft_set_str(d, CLV_A_CODES,
                      draft_other_int(d, "quant_type", 1) ? "nf4" : "fp4");
    const clv_value *b = draft_in(d, 1);
    clv_dtype t = bits == 2 ? CLV_UINT2 : bits == 8 ? CLV_UINT8 : CLV_UINT4;
    if (!b || !value_is_weight(b) || n < 1 || k < 1)
        return clv__fail(e, CLV_SHAPE, "a weight of %lld by %lld", (long long)n,
                         (long long)k);
    if (sat_mul(n, shape[1]) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "the weight's size does not fit");
    d->g->values[d->ins[1]].dtype = (uint8_t)t;
    if (!clv__value_set_shape(d->g, d->ins[1], 2, shape))
        return clv__nomem(e);
    return CLV_OK;
}

/* -- between integers and floats ------------------------------------------*/

/* Input i less its zero point i+2, times its scale i+1. */
static clv_status dequantized(draft *d, const char *suffix, uint32_t i,
                              uint32_t *out, clv_err *e)
{
    return ms_emit(d, CLV_OP_DEQUANTIZE_LINEAR, suffix,
                   IN(ms_input(d, i), ms_input(d, i + 1), ms_input(d, i + 2)),
                   NULL, 0, out, e);
}

/* d->op on floats; its result has scale `scale` and zero point `scale` + 1. */
static clv_status requantized(draft *d, const uint32_t *ins, uint32_t n_in,
                              uint32_t scale, clv_err *e)
{
    uint32_t y, zero = ms_input(d, scale + 1);
    CLV_TRY(draft_emit(d, d->op, "float", ins, n_in, d->attrs, d->n_attrs, NULL,
                       1, &y, e));
    d->n_attrs = 0;
    if (zero == CLV_NONE && draft_in(d, 0))
        draft_set_int(d, CLV_A_DTYPE, draft_in(d, 0)->dtype);
    return ms_finish(d, CLV_OP_QUANTIZE_LINEAR, IN(y, ms_input(d, scale), zero),
                     e);
}

/* x, scale, zero point; those of y */
clv_status map_ms_qlinear1(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(dequantized(d, "x", 0, &x, e));
    return requantized(d, IN(x), 3, e);
}

/* As the standard operator of that version. */
clv_status map_ms_qsoftmax(draft *d, clv_err *e)
{
    int32_t opset = d->opset;
    d->opset = (int32_t)draft_other_int(d, "opset", 13);
    CLV_TRY(map_softmax(d, e));
    d->opset = opset;
    return map_ms_qlinear1(d, e);
}

/* a and b, each with scale and zero point; those of y */
clv_status map_ms_qlinear2(draft *d, clv_err *e)
{
    uint32_t a, b;
    CLV_TRY(dequantized(d, "a", 0, &a, e));
    CLV_TRY(dequantized(d, "b", 3, &b, e));
    return requantized(d, IN(a, b), 6, e);
}

/* The condition, then as above. */
clv_status map_ms_qwhere(draft *d, clv_err *e)
{
    uint32_t a, b;
    CLV_TRY(dequantized(d, "a", 1, &a, e));
    CLV_TRY(dequantized(d, "b", 4, &b, e));
    return requantized(d, IN(ms_input(d, 0), a, b), 7, e);
}

/* Scale and zero of the result, then x, scale, zero of each input. */
clv_status map_ms_qconcat(draft *d, clv_err *e)
{
    uint32_t n = d->n_in > 2 ? (d->n_in - 2) / 3 : 0;
    uint32_t *ins = arena_array(&d->r->mem, n + 1u, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        CLV_TRY(dequantized(d, "x", 2 + 3 * i, &ins[i], e));
    CLV_TRY(map_concat(d, e));
    return requantized(d, ins, n, 0, e);
}

static clv_status qpool(draft *d, clv_err *e)
{
    uint32_t x;
    CLV_TRY(dequantized(d, "x", 0, &x, e));
    CLV_TRY(d->op == CLV_OP_AVG_POOL2D ? map_pool(d, e)
                                       : map_global_pool(d, e));
    return requantized(d, IN(x), 3, e);
}

/* Channels that come last are moved to the front and back, as integers. */
clv_status map_ms_qpool(draft *d, clv_err *e)
{
    const clv_value *v = draft_in(d, 0);
    int64_t first[CLV_MAX_RANK] = {0}, last[CLV_MAX_RANK] = {0};
    if (!draft_other_int(d, "channels_last", 0) || !v ||
        v->rank == CLV_NO_RANK || v->rank < 3 || d->n_out == 0)
        return qpool(d, e);
    uint32_t rank = v->rank, y = d->outs[0];
    for (uint32_t i = 1; i < rank; i++) {
        first[i] = i == 1 ? rank - 1 : i - 1;
        last[i] = i + 1 == rank ? 1 : i + 1;
    }
    CLV_TRY(ms_permute(d, "first", d->ins[0], first, rank, &d->ins[0], e));
    const char *own = arena_printf(&d->g->mem, "%s/pooled", d->name);
    d->outs[0] =
        own ? clv__value_add(d->g, own, CLV_VALUE_ACTIVATION, CLV_NODTYPE)
            : CLV_NONE;
    if (d->outs[0] == CLV_NONE)
        return clv__nomem(e);
    CLV_TRY(qpool(d, e));
    uint32_t pooled = d->outs[0];
    d->outs[0] = y;
    d->n_attrs = 0;
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, last, rank, e));
    return ms_finish(d, CLV_OP_PERMUTE, IN(pooled), e);
}

/* -- products -------------------------------------------------------------*/

/* a b + bias, of integers less their zero points, times both scales. */
typedef struct product {
    uint32_t a, b, zero_a, zero_b, scale_a, scale_b, bias;
} product;

static clv_status finish_product(draft *d, const product *p, clv_err *e)
{
    uint32_t y, scale;
    CLV_TRY(ms_emit(d, CLV_OP_MATMUL_INTEGER, "product",
                    IN(p->a, p->b, p->zero_a, p->zero_b), NULL, 0, &y, e));
    CLV_TRY(ms_emit(d, CLV_OP_MUL, "scale", IN(p->scale_a, p->scale_b), NULL, 0,
                    &scale, e));
    d->n_attrs = 0;
    if (p->bias == CLV_NONE)
        return ms_finish(d, CLV_OP_MUL, IN(y, scale), e);
    CLV_TRY(ms_emit(d, CLV_OP_MUL, "scaled", IN(y, scale), NULL, 0, &y, e));
    return ms_finish(d, CLV_OP_ADD, IN(y, p->bias), e);
}

/* a, b, their scales, their zero points, bias */
clv_status map_ms_integer_to_float(draft *d, clv_err *e)
{
    product p = {ms_input(d, 0), ms_input(d, 1), ms_input(d, 4), ms_input(d, 5),
                 ms_input(d, 2), ms_input(d, 3), ms_input(d, 6)};
    return finish_product(d, &p, e);
}

/* a of floats, which is quantised first; b, its scale and zero point, bias */
clv_status map_ms_dynamic_matmul(draft *d, clv_err *e)
{
    uint32_t a[3];
    CLV_TRY(ms_emit_many(d, CLV_OP_DYNAMIC_QUANTIZE_LINEAR, "quantize",
                         ms_input(d, 0), NULL, 0, a, 3, e));
    product p = {a[0], ms_input(d, 1), a[2],          ms_input(d, 3),
                 a[1], ms_input(d, 2), ms_input(d, 4)};
    return finish_product(d, &p, e);
}

/* a, b with scale and zero point each, c in units of both scales; those of y,
 * without which the result is float */
clv_status map_ms_qgemm(draft *d, clv_err *e)
{
    uint32_t ins[3] = {CLV_NONE, CLV_NONE, CLV_NONE}, scale;
    const clv_value *columns = draft_in(d, 4);
    clv_attr axis = INT(AXIS, draft_int(d, CLV_A_TRANS_B, 0) ? 0 : 1);
    bool each = columns && columns->rank == 1 && columns->dims[0] > 1;
    CLV_TRY(map_gemm(d, e));
    CLV_TRY(dequantized(d, "a", 0, &ins[0], e));
    CLV_TRY(ms_emit(d, CLV_OP_DEQUANTIZE_LINEAR, "b",
                    IN(ms_input(d, 3), ms_input(d, 4), ms_input(d, 5)), &axis,
                    each, &ins[1], e));
    if (ms_input(d, 6) != CLV_NONE) {
        clv_attr to = INT(DTYPE, CLV_FLOAT32);
        CLV_TRY(ms_emit(d, CLV_OP_MUL, "scale",
                        IN(ms_input(d, 1), ms_input(d, 4)), NULL, 0, &scale,
                        e));
        CLV_TRY(ms_emit(d, CLV_OP_CAST, "c", IN(ms_input(d, 6)), &to, 1,
                        &ins[2], e));
        CLV_TRY(ms_emit(d, CLV_OP_MUL, "c_scaled", IN(ins[2], scale), NULL, 0,
                        &ins[2], e));
        const clv_attr *alpha = draft_attr(d, CLV_A_ALPHA);
        clv_attr by = FLOAT(VALUE, alpha ? alpha->u.f : 1);
        if (by.u.f != 1) /* the scale of c is alpha times those of a and b */
            CLV_TRY(ms_emit(d, CLV_OP_MUL, "c_alpha", IN(ins[2]), &by, 1,
                            &ins[2], e));
    }
    uint32_t n = ins[2] == CLV_NONE ? 2 : 3;
    if (ms_input(d, 7) == CLV_NONE)
        return ms_finish(d, CLV_OP_GEMM, ins, n, e);
    return requantized(d, ins, n, 7, e);
}

/* -- recurrent layers and convolutions ------------------------------------*/

/* A stored matrix (D,I,N) of integers as the (D,N,I) that it stands for. */
static clv_status unpacked(draft *d, const char *suffix, uint32_t i,
                           uint32_t scale, uint32_t *out, clv_err *e)
{
    static const int64_t turned[3] = {0, 2, 1};
    clv_attr axis[1] = {INT(AXIS, 0)};
    uint32_t v;
    CLV_TRY(
        ms_emit(d, CLV_OP_DEQUANTIZE_LINEAR, suffix,
                IN(ms_input(d, i), ms_input(d, scale), ms_input(d, scale + 1)),
                axis, 1, &v, e));
    return ms_permute(d, suffix, v, turned, 3, out, e);
}

/* x, W, R, bias, lengths, states, peepholes, then scales and zero points. */
clv_status map_ms_dynamic_lstm(draft *d, clv_err *e)
{
    uint32_t w, r;
    const clv_value *scale = draft_in(d, 8);
    bool columns = scale && scale->rank == 2;
    if (d->n_in < 12)
        return clv__fail(e, CLV_FORMAT, "%u inputs, 12 are needed", d->n_in);
    CLV_TRY(unpacked(d, "W", 1, 8, &w, e));
    CLV_TRY(unpacked(d, "R", 2, 10, &r, e));
    d->ins[1] = w;
    d->ins[2] = r;
    d->n_in = 8;
    while (d->ins[d->n_in - 1] == CLV_NONE)
        d->n_in--;
    draft_set_int(d, CLV_A_QUANTIZED, 1);
    if (columns)
        ms_count_only(d, "DynamicQuantizeLSTM with a scale per column");
    return map_rnn(d, e);
}

/* The operator between channels that come last, on both sides. */
static clv_status channels_inside(draft *d, clv_err *e)
{
    uint32_t y;
    CLV_TRY(ms_permute(d, "nchw", d->ins[0], ms_to_nchw, 4, &d->ins[0], e));
    CLV_TRY(draft_emit(d, d->op, "nhwc", d->ins, d->n_in, d->attrs, d->n_attrs,
                       NULL, 1, &y, e));
    d->n_attrs = 0;
    CLV_TRY(draft_set_ints(d, CLV_A_PERM, ms_to_nhwc, 4, e));
    return ms_finish(d, CLV_OP_PERMUTE, IN(y), e);
}

/* As ONNX has it, or with channels last. */
clv_status map_ms_qconv(draft *d, clv_err *e)
{
    bool last = draft_other_int(d, "channels_last", 0) != 0;
    CLV_TRY(map_window_attrs(d, e));
    return last && draft_in(d, 0) ? channels_inside(d, e) : CLV_OK;
}

clv_status map_ms_nhwc_pool(draft *d, clv_err *e)
{
    CLV_TRY(map_pool(d, e));
    return draft_in(d, 0) ? channels_inside(d, e) : CLV_OK;
}

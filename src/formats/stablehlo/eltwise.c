/* eltwise.c - operations on one element at a time. */
#include "formats/stablehlo/hlo.h"

#include "tensor/dtype.h"

#include <string.h>

clv_status hlo_map_unary(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    (void)op;
    uint32_t x;
    CLV_TRY(hlo_in(s, 0, &x, e));
    return hlo_unary(s, "", row->op, x, outs, e);
}

/* Integers divide towards zero; bits of bools are their logic. */
clv_status hlo_map_binary(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                          uint32_t *outs, clv_err *e)
{
    uint32_t ins[2];
    CLV_TRY(hlo_in(s, 0, &ins[0], e));
    CLV_TRY(hlo_in(s, 1, &ins[1], e));
    clv_dtype t = (clv_dtype)hlo_value(s, ins[0])->dtype;
    clv_op as = hlo_binary_op(op->name, t);
    clv_attr trunc = hlo_str(CLV_A_MODE, "trunc");
    bool whole = row->op == CLV_OP_DIV && dtype_is_integral(t);
    return hlo_emit(s, "", as, ins, 2, &trunc, whole ? 1 : 0, outs, 1, e);
}

clv_status hlo_map_not(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                       uint32_t *outs, clv_err *e)
{
    uint32_t x;
    (void)op;
    CLV_TRY(hlo_in(s, 0, &x, e));
    bool logic = hlo_value(s, x)->dtype == CLV_BOOL;
    return hlo_unary(s, "", logic ? CLV_OP_LOGICAL_NOT : row->op, x, outs, e);
}

/* Bits move in as zeros: those of an unsigned number do. */
clv_status hlo_map_shift_logical(hlo_scope *s, const hlo_row *row,
                                 const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t a, b, y;
    (void)op;
    CLV_TRY(hlo_in(s, 0, &a, e));
    CLV_TRY(hlo_in(s, 1, &b, e));
    clv_dtype t = (clv_dtype)hlo_value(s, a)->dtype;
    clv_dtype as = t == CLV_INT8    ? CLV_UINT8
                   : t == CLV_INT16 ? CLV_UINT16
                   : t == CLV_INT32 ? CLV_UINT32
                   : t == CLV_INT64 ? CLV_UINT64
                                    : t;
    CLV_TRY(hlo_cast(s, a, as, &a, e));
    CLV_TRY(hlo_cast(s, b, as, &b, e));
    CLV_TRY(hlo_binary(s, "", row->op, a, b, &y, e));
    return hlo_cast(s, y, t, outs, e);
}

clv_status hlo_map_select(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                          uint32_t *outs, clv_err *e)
{
    uint32_t ins[3];
    (void)op;
    for (uint32_t i = 0; i < 3; i++)
        CLV_TRY(hlo_in(s, i, &ins[i], e));
    return hlo_emit(s, "", row->op, ins, 3, NULL, 0, outs, 1, e);
}

/* min, x, max */
clv_status hlo_map_clamp(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    uint32_t ins[3];
    (void)op;
    CLV_TRY(hlo_in(s, 1, &ins[0], e));
    CLV_TRY(hlo_in(s, 0, &ins[1], e));
    CLV_TRY(hlo_in(s, 2, &ins[2], e));
    return hlo_emit(s, "", row->op, ins, 3, NULL, 0, outs, 1, e);
}

/* The direction is a word before the operands, or an attribute. */
clv_status hlo_map_compare(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    static const struct {
        const char *name;
        clv_op op;
    } ways[] = {{"EQ", CLV_OP_EQ}, {"NE", CLV_OP_NE}, {"LT", CLV_OP_LT},
                {"LE", CLV_OP_LE}, {"GT", CLV_OP_GT}, {"GE", CLV_OP_GE}};
    uint32_t a, b;
    (void)row;
    const mlir_attr *way = mlir_attr_of(op->attrs, "comparison_direction", "");
    CLV_TRY(hlo_in(s, 0, &a, e));
    CLV_TRY(hlo_in(s, 1, &b, e));
    for (size_t i = 0; way && i < sizeof ways / sizeof *ways; i++)
        if (mlir_is(way->text, ways[i].name))
            return hlo_binary(s, "", ways[i].op, a, b, outs, e);
    return hlo_fail(s, e, "a comparison without a direction");
}

clv_status hlo_map_convert(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    uint32_t x;
    const mlir_type *t = hlo_type(op, 0);
    CLV_TRY(hlo_in(s, 0, &x, e));
    if (!t || t->dtype == CLV_NODTYPE || t->quantised)
        return CLV_OK;
    clv_dtype to = clv__build_dtype(s->r->opts, t->dtype);
    *outs = x;
    if (hlo_value(s, x)->dtype == to)
        return CLV_OK;
    clv_attr a = hlo_dtype(CLV_A_DTYPE, to);
    return hlo_emit(s, "", row->op, &x, 1, &a, 1, outs, 1, e);
}

/* Where the size of an element stays. */
clv_status hlo_map_bitcast(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                           uint32_t *outs, clv_err *e)
{
    uint32_t x;
    const mlir_type *t = hlo_type(op, 0);
    CLV_TRY(hlo_in(s, 0, &x, e));
    clv_dtype from = (clv_dtype)hlo_value(s, x)->dtype;
    if (!t || t->dtype == CLV_NODTYPE ||
        clv_dtype_bytes(t->dtype, 8) != clv_dtype_bytes(from, 8))
        return CLV_OK;
    clv_attr a = hlo_dtype(CLV_A_DTYPE, t->dtype);
    return hlo_emit(s, "", row->op, &x, 1, &a, 1, outs, 1, e);
}

/* sign(x) * |x|^(1/3) */
clv_status hlo_map_cbrt(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                        uint32_t *outs, clv_err *e)
{
    uint32_t x, sign, size, third, root;
    (void)op;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_unary(s, "sign", CLV_OP_SIGN, x, &sign, e));
    CLV_TRY(hlo_unary(s, "abs", CLV_OP_ABS, x, &size, e));
    CLV_TRY(hlo_const_float(s, (clv_dtype)hlo_value(s, x)->dtype, 1.0 / 3,
                            &third, e));
    CLV_TRY(hlo_binary(s, "", row->op, size, third, &root, e));
    return hlo_binary(s, "mul", CLV_OP_MUL, sign, root, outs, e);
}

/* Halves away from zero: sign(x) * floor(|x| + 1/2) */
clv_status hlo_map_round_away(hlo_scope *s, const hlo_row *row,
                              const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x, sign, size, half, up, whole;
    (void)op;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_unary(s, "sign", CLV_OP_SIGN, x, &sign, e));
    CLV_TRY(hlo_unary(s, "abs", CLV_OP_ABS, x, &size, e));
    CLV_TRY(
        hlo_const_float(s, (clv_dtype)hlo_value(s, x)->dtype, 0.5, &half, e));
    CLV_TRY(hlo_binary(s, "add", CLV_OP_ADD, size, half, &up, e));
    CLV_TRY(hlo_unary(s, "", row->op, up, &whole, e));
    return hlo_binary(s, "mul", CLV_OP_MUL, sign, whole, outs, e);
}

clv_status hlo_map_signed_inf(hlo_scope *s, const hlo_row *row,
                              const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x;
    bool plus = mlir_is(op->name, "chlo.is_pos_inf");
    CLV_TRY(hlo_in(s, 0, &x, e));
    clv_attr a[2] = {hlo_int(CLV_A_DETECT_POSITIVE, plus),
                     hlo_int(CLV_A_DETECT_NEGATIVE, !plus)};
    return hlo_emit(s, "", row->op, &x, 1, a, 2, outs, 1, e);
}

/* Through the narrow type and back, where there is such a type. */
clv_status hlo_map_reduce_precision(hlo_scope *s, const hlo_row *row,
                                    const mlir_op *op, uint32_t *outs,
                                    clv_err *e)
{
    const mlir_attr *format = mlir_attr_of(op->attrs, "format", NULL),
                    *exponent = mlir_attr_of(op->attrs, "exponent_bits", NULL),
                    *mantissa = mlir_attr_of(op->attrs, "mantissa_bits", NULL);
    uint32_t x, narrow;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    bool half =
        format ? mlir_is(format->text, "e5m10")
               : exponent && mantissa && exponent->i == 5 && mantissa->i == 10;
    bool brain =
        format ? mlir_is(format->text, "e8m7")
               : exponent && mantissa && exponent->i == 8 && mantissa->i == 7;
    bool same =
        format ? mlir_is(format->text, "e8m23")
               : exponent && mantissa && exponent->i == 8 && mantissa->i == 23;
    clv_dtype t = (clv_dtype)hlo_value(s, x)->dtype;
    if (same && t == CLV_FLOAT32)
        *outs = x;
    if (!half && !brain)
        return CLV_OK;
    CLV_TRY(hlo_cast(s, x, half ? CLV_FLOAT16 : CLV_BFLOAT16, &narrow, e));
    return hlo_cast(s, narrow, t, outs, e);
}

/* x, scale, offset, mean, variance; the axis of channels becomes the second. */
clv_status hlo_map_batch_norm(hlo_scope *s, const hlo_row *row,
                              const mlir_op *op, uint32_t *outs, clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "feature_index", NULL),
                    *epsilon = mlir_attr_of(op->attrs, "epsilon", NULL);
    uint32_t ins[5], y;
    for (uint32_t i = 0; i < 5; i++)
        CLV_TRY(hlo_in(s, i, &ins[i], e));
    const clv_value *x = hlo_value(s, ins[0]);
    uint32_t rank = x->rank;
    int64_t perm[CLV_MAX_RANK], back[CLV_MAX_RANK];
    if (!axis || axis->i < 0 || axis->i >= rank || rank < 2)
        return hlo_fail(s, e, "no axis of features");
    perm[0] = axis->i == 0 ? 1 : 0;
    perm[1] = axis->i;
    for (uint32_t i = 0, k = 2; i < rank; i++)
        if ((int64_t)i != perm[0] && (int64_t)i != axis->i)
            perm[k++] = i;
    for (uint32_t i = 0; i < rank; i++)
        back[perm[i]] = i;
    CLV_TRY(hlo_permute(s, ins[0], perm, &ins[0], e));
    clv_attr a = hlo_int(CLV_A_EPSILON, 0);
    a.type = CLV_ATTR_FLOAT;
    a.u.f = epsilon ? epsilon->f : 0;
    CLV_TRY(hlo_emit(s, "", row->op, ins, 5, &a, 1, &y, 1, e));
    return hlo_permute(s, y, back, outs, e);
}

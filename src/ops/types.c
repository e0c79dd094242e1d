/* types.c - what type the result of an operator has.
 *
 * The rules are PyTorch's: bool < integer < floating < complex; within one
 * kind the wider type wins. A tensor with axes outranks a zero-dim tensor,
 * which outranks a plain number: those only matter when they are of a higher
 * kind, so half * 2.0 stays half, but int * 2.0 is float. */
#include "ops/ops.h"

#include <string.h>

/* The order of kinds; signed and unsigned integers are one kind. */
static int types_kind_of(clv_dtype t)
{
    static const int order[] = {
        [CLASS_NONE] = 0, [CLASS_BOOL] = 1,  [CLASS_UINT] = 2,
        [CLASS_INT] = 2,  [CLASS_FLOAT] = 3, [CLASS_COMPLEX] = 4};
    return order[dtype_class_of(t)];
}

static int64_t bits_of(clv_dtype t)
{
    return clv_dtype_bytes(t, 8);
}

/* Returns a signed type that holds both, for a mix of signed and unsigned. */
static clv_dtype promote_mixed(clv_dtype i, clv_dtype u)
{
    if (bits_of(i) > bits_of(u))
        return i;
    int64_t bits = bits_of(u);
    return bits <= 8 ? CLV_INT16 : bits == 16 ? CLV_INT32 : CLV_INT64;
}

clv_dtype promote(clv_dtype a, clv_dtype b)
{
    if (a == b || b == CLV_NODTYPE || types_kind_of(b) == 0)
        return a;
    if (types_kind_of(a) != types_kind_of(b)) {
        clv_dtype high = types_kind_of(a) > types_kind_of(b) ? a : b;
        clv_dtype low = high == a ? b : a;
        return high == CLV_COMPLEX64 && low == CLV_FLOAT64 ? CLV_COMPLEX128
                                                           : high;
    }
    if (dtype_class_of(a) == CLASS_INT && dtype_class_of(b) == CLASS_UINT)
        return promote_mixed(a, b);
    if (dtype_class_of(a) == CLASS_UINT && dtype_class_of(b) == CLASS_INT)
        return promote_mixed(b, a);
    if (bits_of(a) == bits_of(b))
        return CLV_FLOAT32; /* float16 with bfloat16 */
    return bits_of(a) > bits_of(b) ? a : b;
}

/* Combines two types; `low` counts only if it is of a higher kind. */
static clv_dtype types_outrank(clv_dtype high, clv_dtype low)
{
    if (high == low || low == CLV_NODTYPE)
        return high;
    if (types_kind_of(high) == 3 && types_kind_of(low) == 4)
        return bits_of(high) == 64 ? CLV_COMPLEX128 : CLV_COMPLEX64;
    return types_kind_of(low) > types_kind_of(high) ? promote(high, low) : high;
}

clv_dtype common_type(const clv_graph *g, const uint32_t *ins, uint32_t n)
{
    clv_dtype axes = CLV_NODTYPE, zero = CLV_NODTYPE;
    for (uint32_t i = 0; i < n; i++) {
        const clv_value *v = ins[i] == CLV_NONE ? NULL : &g->values[ins[i]];
        if (v && v->rank)
            axes = promote((clv_dtype)v->dtype, axes);
        else if (v)
            zero = promote((clv_dtype)v->dtype, zero);
    }
    return types_outrank(axes, zero);
}

clv_dtype result_type(const clv_graph *g, const clv_node *n, uint32_t from)
{
    static const clv_attr_key scalars[] = {CLV_A_VALUE, CLV_A_MIN, CLV_A_MAX};
    clv_dtype plain = CLV_NODTYPE;
    clv_dtype tensors =
        n->n_in > from ? common_type(g, node_ins(g, n) + from, n->n_in - from)
                       : CLV_NODTYPE;
    for (size_t i = 0; n->n_attrs && i < sizeof scalars / sizeof *scalars;
         i++) {
        const clv_attr *a = attr_get(n, scalars[i]);
        if (a && a->type == CLV_ATTR_FLOAT)
            plain = CLV_FLOAT32;
        else if (a && plain == CLV_NODTYPE)
            plain = CLV_INT64;
    }
    return types_outrank(tensors, plain);
}

clv_dtype to_float(clv_dtype t)
{
    return dtype_is_integral(t) ? CLV_FLOAT32 : t;
}

clv_dtype kept_type(const clv_graph *g, const clv_node *n, clv_dtype natural)
{
    return attr_is_own(attr_get(n, CLV_A_DTYPE))
               ? (clv_dtype)node_in(g, n, 0)->dtype
               : asked_type(n, natural);
}

clv_dtype asked_type(const clv_node *n, clv_dtype natural)
{
    bool has = attr_exists(n, CLV_A_DTYPE);
    clv_dtype t = has ? attr_dtype(n, CLV_A_DTYPE) : CLV_NODTYPE;
    return t == CLV_NODTYPE ? natural : t;
}

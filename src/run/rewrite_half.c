/* rewrite_half.c - numbers of 16 bits are computed with as floats, and stay
 * floats from one operator to the next.
 *
 *      x16 -> conv -> y16 -> relu -> z16
 *      x16 -> cast -> conv -> relu -> cast -> z16
 *
 * Each node is put between casts; a cast to 16 bits and back that came of that
 * is dropped, with its rounding, as ONNX Runtime does. Casts of the model's own
 * stay, and round. Constants become floats once. */
#include "run/rewrite.h"

static bool half_type(const rewriter *r, uint32_t v)
{
    clv_dtype t = (clv_dtype)r->g->values[v].dtype;
    return t == CLV_FLOAT16 || t == CLV_BFLOAT16;
}

/* The floats that v, numbers of 16 bits, was rounded of by a rule. CLV_NONE: by
 * no rule. */
static uint32_t half_rounded_of(const rewriter *r, uint32_t v)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_CAST);
    if (id == CLV_NONE || id >= r->from->n_nodes ||
        r->from->nodes[id].op == CLV_OP_CAST ||
        !rw_is_float(r, rw_in(r, id, 0)))
        return CLV_NONE;
    return rw_in(r, id, 0);
}

bool rewrite_half_pair(rewriter *r, uint32_t id)
{
    uint32_t y = rw_out(r, id), x = half_rounded_of(r, rw_in(r, id, 0));
    return x != CLV_NONE && rw_is_float(r, y) && rw_same_shape(r, x, y) &&
           rw_forward(r, id, x);
}

/* Operators that choose their type by an attribute, keep bodies or lists, or
 * have no result of numbers are left alone. */
static bool half_may(const rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    const clv_op_info *op = &clv__ops[n->op];
    if (!n->n_in || n->n_in > RW_INPUTS || n->n_attrs > RW_ATTRS || !n->n_out ||
        n->counted_only || n->op == CLV_OP_UNKNOWN || n->op == CLV_OP_CAST ||
        n->op == CLV_OP_CAST_LIKE || n->op == CLV_OP_BITCAST ||
        n->op == CLV_OP_QUANTIZE_LINEAR || n->op == CLV_OP_DEQUANTIZE_LINEAR ||
        op->cls == CLV_CLASS_DRAW || op->category == CLV_CAT_CONTROL ||
        op->category == CLV_CAT_SEQUENCE || attr_get(n, CLV_A_DTYPE) ||
        clv__kernel_makes((clv_op)n->op) || !clv__kernel_of((clv_op)n->op))
        return false;
    for (uint32_t o = 1; o < n->n_out; o++)
        if (r->uses[node_outs(r->g, n)[o]])
            return false;
    uint32_t x = rw_in(r, id, 0);
    bool computes = op->cls == CLV_CLASS_COMPUTE;
    return rw_is_static(r, rw_out(r, id)) &&
           (computes || (x != CLV_NONE && half_rounded_of(r, x) != CLV_NONE));
}

/* v as floats; CLV_NONE: it cannot be, or is a constant that is too large. */
static uint32_t half_float(rewriter *r, uint32_t v)
{
    enum { MOST = 32 << 20 }; /* bytes of a constant of 16 bits */
    uint32_t x = half_rounded_of(r, v);
    if (x != CLV_NONE)
        return x;
    if (!rw_is_static(r, v) ||
        (rw_known(r, v) && clv__bytes(&r->g->values[v]) > MOST))
        return CLV_NONE;
    rw_form f = {.op = CLV_OP_CAST};
    rw_form_input(&f, v);
    rw_form_int(&f, CLV_A_DTYPE, CLV_FLOAT32);
    return rw_add(r, &f);
}

bool rewrite_half(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    clv_dtype type = (clv_dtype)r->g->values[rw_out(r, id)].dtype;
    bool any = false;
    if (!half_may(r, id))
        return false;
    rw_form f = {.op = (clv_op)n->op};
    for (uint32_t i = 0; i < n->n_attrs; i++)
        f.attr[f.n_attr++] = n->attrs[i];
    for (uint32_t i = 0, count = n->n_in; i < count; i++) {
        uint32_t v = rw_in(r, id, i);
        if (v != CLV_NONE && half_type(r, v)) {
            v = half_float(r, v);
            any = true;
            if (v == CLV_NONE)
                return false;
        }
        rw_form_input(&f, v);
    }
    if (!any)
        return false;
    if (type != CLV_FLOAT16 && type != CLV_BFLOAT16)
        return rw_become(r, id, &f);
    uint32_t y = rw_add(r, &f);
    if (y == CLV_NONE || !rw_is_float(r, y))
        return false;
    rw_form back = {.op = CLV_OP_CAST};
    rw_form_input(&back, y);
    rw_form_int(&back, CLV_A_DTYPE, type);
    return rw_become(r, id, &back);
}

/* promote.c - operands that PyTorch brings to one type before it computes.
 *
 * A comparison, a remainder or a rounded quotient of tensors of two types is
 * taken in their common type, in which a tensor of no axes counts only by its
 * kind: of bytes and a 64-bit number of no axes, the number becomes a byte.
 * Where that changes numbers, the operand goes through a cast here. Elsewhere
 * kernels compute with the numbers as they are. */
#include "formats/aten/row.h"
#include "tensor/dtype.h"

#include <string.h>

/* Bits of a float that a whole number fits into. */
static int64_t promote_mantissa(clv_dtype t)
{
    return t == CLV_FLOAT16    ? 11
           : t == CLV_BFLOAT16 ? 8
           : t == CLV_FLOAT32  ? 24
           : t == CLV_FLOAT64  ? 53
                               : 0;
}

/* Whether every number of type `from` is one of type `to`. */
static bool promote_is_exact(clv_dtype from, clv_dtype to)
{
    dtype_class a = dtype_class_of(from), b = dtype_class_of(to);
    int64_t bits = clv_dtype_bytes(from, 8), room = clv_dtype_bytes(to, 8);
    if (from == to || a == CLASS_BOOL || from == CLV_NODTYPE)
        return true;
    if (a == CLASS_UINT || a == CLASS_INT) {
        if (b == CLASS_FLOAT)
            return bits <= promote_mantissa(to);
        return a == b ? bits <= room : a == CLASS_UINT && bits < room;
    }
    return a == b && bits < room;
}

/* A plain number of the call, which args.c made a constant without a name. */
static bool promote_is_number(const clv_value *v)
{
    return v->kind == CLV_VALUE_CONST && !v->name && v->data && v->data->n == 1;
}

/* Whether converting value v to type `to` may change it. */
static bool promote_changes(const clv_value *v, clv_dtype to)
{
    int64_t most = INT64_C(1) << promote_mantissa(to);
    if (!promote_is_number(v))
        return !promote_is_exact((clv_dtype)v->dtype, to);
    return v->data->ints && is_float(to) &&
           (v->data->ints[0] > most || v->data->ints[0] < -most);
}

/* Adds the cast of value v. CLV_NONE when memory ran out. */
static uint32_t promote_cast(const aten_reading *r, uint32_t v, clv_dtype to)
{
    clv_graph *g = r->b->g;
    const aten_call *c = r->call;
    clv_attr a = {.name = clv__attr_name(CLV_A_DTYPE),
                  .key = CLV_A_DTYPE,
                  .type = CLV_ATTR_INT,
                  .u.i = to};
    uint32_t scope = clv__scope_path(g, c->path ? c->path : "");
    const char *name = arena_printf(&g->mem, "%s.cast", c->name);
    uint32_t id =
        scope == CLV_NONE || !name
            ? CLV_NONE
            : clv__node_add(g, CLV_OP_CAST, name, scope, &v, 1, NULL, 1);
    if (id == CLV_NONE)
        return CLV_NONE;
    clv_node *n = &g->nodes[id];
    n->origin = arena_strndup(&g->mem, c->target, strlen(c->target));
    uint32_t y = node_outs(g, n)[0];
    value_like(&g->values[y], &g->values[v]);
    g->values[y].dtype = (uint8_t)to;
    return n->origin && clv__aten_set_attrs(g, n, &a, 1, "") ? y : CLV_NONE;
}

/* A plain number has the digits of a double where a tensor has. With halves
 * PyTorch takes it for a float, but for a half in comparisons and remainders.
 */
static void promote_number(const aten_reading *r, clv_value *x, clv_dtype to)
{
    bool same = r->common && r->op != CLV_OP_FLOOR_DIVIDE;
    if (promote_is_number(x) && x->data->floats &&
        (to == CLV_FLOAT64 || (same && is_float(to))))
        x->dtype = (uint8_t)to;
}

void clv__aten_promote(aten_reading *r)
{
    clv_graph *g = r->b->g;
    clv_dtype to = common_type(g, r->ins, r->n_ins);
    for (uint32_t i = 0; i < r->n_ins && to != CLV_NODTYPE; i++) {
        clv_value *x = r->ins[i] == CLV_NONE ? NULL : &g->values[r->ins[i]];
        if (x)
            promote_number(r, x, to);
        if (!x || !r->common || !promote_changes(x, to))
            continue;
        uint32_t v = promote_cast(r, r->ins[i], to);
        r->no_memory |= v == CLV_NONE;
        if (v != CLV_NONE)
            r->ins[i] = v;
    }
}

/* emit.c - words to add nodes with. See hlo.h. */
#include "formats/stablehlo/hlo.h"

#include <string.h>

/* -- attributes -----------------------------------------------------------*/

static clv_attr emit_attr(clv_attr_key key, clv_attr_type type)
{
    return (clv_attr){.name = clv__attr_name(key),
                      .key = (uint8_t)key,
                      .type = (uint8_t)type};
}

clv_attr hlo_int(clv_attr_key key, int64_t i)
{
    clv_attr a = emit_attr(key, CLV_ATTR_INT);
    a.u.i = i;
    return a;
}

clv_attr hlo_str(clv_attr_key key, const char *text)
{
    clv_attr a = emit_attr(key, CLV_ATTR_STRING);
    a.u.s = text;
    return a;
}

clv_attr hlo_dtype(clv_attr_key key, clv_dtype t)
{
    return hlo_str(key, clv_dtype_name(t));
}

clv_attr hlo_body(clv_attr_key key, clv_graph *body)
{
    clv_attr a = emit_attr(key, CLV_ATTR_GRAPH);
    a.u.body = body;
    return a;
}

clv_attr hlo_ints(clv_attr_key key, const int64_t *list, uint32_t n)
{
    clv_attr a = emit_attr(key, CLV_ATTR_INTS);
    a.u.ints = list;
    a.n = n;
    return a;
}

static clv_status emit_attrs(hlo_scope *s, clv_node *n, const clv_attr *attrs,
                             uint32_t n_attrs, clv_err *e)
{
    clv_attr *own = arena_array(&s->g->mem, n_attrs + 1u, sizeof *own);
    if (!own)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n_attrs; i++) {
        own[i] = attrs[i];
        if (own[i].type != CLV_ATTR_INTS)
            continue;
        int64_t *list = arena_array(&s->g->mem, own[i].n + 1u, sizeof *list);
        if (!list)
            return clv__nomem(e);
        if (own[i].n)
            memcpy(list, attrs[i].u.ints, own[i].n * sizeof *list);
        own[i].u.ints = list;
    }
    n->attrs = own;
    n->n_attrs = (uint8_t)n_attrs;
    return CLV_OK;
}

/* -- nodes ----------------------------------------------------------------*/

clv_status hlo_emit(hlo_scope *s, const char *part, clv_op op,
                    const uint32_t *ins, uint32_t n_in, const clv_attr *attrs,
                    uint32_t n_attrs, uint32_t *outs, uint32_t n_out,
                    clv_err *e)
{
    clv_graph *g = s->g;
    const char *name = *part ? arena_printf(&g->mem, "%s.%s", s->name, part)
                             : arena_strndup(&g->mem, s->name, strlen(s->name));
    uint32_t id =
        name ? clv__node_add(g, op, name, s->at, ins, n_in, NULL, n_out)
             : CLV_NONE;
    if (id == CLV_NONE)
        return clv__nomem(e);
    g->nodes[id].origin = s->origin;
    g->nodes[id].source = s->source;
    CLV_TRY(emit_attrs(s, &g->nodes[id], attrs, n_attrs, e));
    clv_err why = {0};
    clv_status st = clv__infer_node(g, id, &why);
    if (st != CLV_OK)
        return hlo_fail(s, e, "%s", why.msg);
    for (uint32_t i = 0; i < n_out; i++)
        outs[i] = node_outs(g, &g->nodes[id])[i];
    return CLV_OK;
}

clv_status hlo_unary(hlo_scope *s, const char *part, clv_op op, uint32_t x,
                     uint32_t *y, clv_err *e)
{
    return hlo_emit(s, part, op, &x, 1, NULL, 0, y, 1, e);
}

clv_status hlo_binary(hlo_scope *s, const char *part, clv_op op, uint32_t a,
                      uint32_t b, uint32_t *y, clv_err *e)
{
    uint32_t ins[2] = {a, b};
    return hlo_emit(s, part, op, ins, 2, NULL, 0, y, 1, e);
}

clv_status hlo_permute(hlo_scope *s, uint32_t x, const int64_t *perm,
                       uint32_t *y, clv_err *e)
{
    uint32_t rank = hlo_value(s, x)->rank;
    bool same = true;
    for (uint32_t i = 0; i < rank; i++)
        same = same && perm[i] == (int64_t)i;
    *y = x;
    if (same)
        return CLV_OK;
    clv_attr a = hlo_ints(CLV_A_PERM, perm, rank);
    return hlo_emit(s, "permute", CLV_OP_PERMUTE, &x, 1, &a, 1, y, 1, e);
}

static bool emit_has_shape(const clv_value *v, const int64_t *dims,
                           uint32_t rank)
{
    return v->rank == rank &&
           (rank == 0 || !memcmp(v->dims, dims, rank * sizeof *dims));
}

clv_status hlo_reshape(hlo_scope *s, uint32_t x, const int64_t *dims,
                       uint32_t rank, uint32_t *y, clv_err *e)
{
    *y = x;
    if (emit_has_shape(hlo_value(s, x), dims, rank))
        return CLV_OK;
    clv_attr a[2] = {hlo_ints(CLV_A_SHAPE, dims, rank),
                     hlo_int(CLV_A_ALLOWZERO, 1)};
    return hlo_emit(s, "reshape", CLV_OP_RESHAPE, &x, 1, a, 2, y, 1, e);
}

clv_status hlo_expand(hlo_scope *s, uint32_t x, const int64_t *dims,
                      uint32_t rank, uint32_t *y, clv_err *e)
{
    *y = x;
    if (emit_has_shape(hlo_value(s, x), dims, rank))
        return CLV_OK;
    clv_attr a = hlo_ints(CLV_A_SHAPE, dims, rank);
    return hlo_emit(s, "expand", CLV_OP_EXPAND, &x, 1, &a, 1, y, 1, e);
}

clv_status hlo_cast(hlo_scope *s, uint32_t x, clv_dtype t, uint32_t *y,
                    clv_err *e)
{
    *y = x;
    if (t == CLV_NODTYPE || hlo_value(s, x)->dtype == t)
        return CLV_OK;
    clv_attr a = hlo_dtype(CLV_A_DTYPE, t);
    return hlo_emit(s, "cast", CLV_OP_CAST, &x, 1, &a, 1, y, 1, e);
}

clv_status hlo_slice(hlo_scope *s, uint32_t x, uint32_t axis, int64_t start,
                     int64_t end, uint32_t *y, clv_err *e)
{
    int64_t a = axis;
    *y = x;
    if (start == 0 && end == hlo_value(s, x)->dims[axis])
        return CLV_OK;
    clv_attr attrs[3] = {hlo_ints(CLV_A_START, &start, 1),
                         hlo_ints(CLV_A_END, &end, 1),
                         hlo_ints(CLV_A_AXES, &a, 1)};
    return hlo_emit(s, "slice", CLV_OP_SLICE, &x, 1, attrs, 3, y, 1, e);
}

clv_status hlo_range(hlo_scope *s, int64_t n, clv_dtype t, uint32_t *y,
                     clv_err *e)
{
    clv_attr a[3] = {hlo_int(CLV_A_START, 0), hlo_int(CLV_A_END, n),
                     hlo_dtype(CLV_A_DTYPE, t)};
    return hlo_emit(s, "range", CLV_OP_RANGE, NULL, 0, a, 3, y, 1, e);
}

/* -- constants ------------------------------------------------------------*/

clv_status hlo_const_ints(hlo_scope *s, clv_dtype t, const int64_t *list,
                          const int64_t *dims, uint32_t rank, uint32_t *v,
                          clv_err *e)
{
    clv_graph *g = s->g;
    *v = clv__value_add(g, NULL, CLV_VALUE_CONST, t);
    if (*v == CLV_NONE || !clv__value_set_shape(g, *v, rank, dims))
        return clv__nomem(e);
    int64_t n = clv__numel(&g->values[*v]);
    int64_t *own = arena_array(&g->mem, (size_t)n + 1, sizeof *own);
    clv_payload *data = clv__value_data(g, *v);
    if (!own || !data)
        return clv__nomem(e);
    memcpy(own, list, (size_t)n * sizeof *own);
    data->ints = own;
    data->n = (uint32_t)n;
    return CLV_OK;
}

clv_status hlo_const_int(hlo_scope *s, clv_dtype t, int64_t i, uint32_t *v,
                         clv_err *e)
{
    return hlo_const_ints(s, t, &i, NULL, 0, v, e);
}

clv_status hlo_const_float(hlo_scope *s, clv_dtype t, double f, uint32_t *v,
                           clv_err *e)
{
    clv_graph *g = s->g;
    *v = clv__value_add(g, NULL, CLV_VALUE_CONST, t);
    if (*v == CLV_NONE || !clv__value_set_shape(g, *v, 0, NULL))
        return clv__nomem(e);
    double *own = arena_alloc(&g->mem, sizeof *own);
    clv_payload *data = clv__value_data(g, *v);
    if (!own || !data)
        return clv__nomem(e);
    *own = f;
    data->floats = own;
    data->n = 1;
    return CLV_OK;
}

const int64_t *hlo_known(const hlo_scope *s, uint32_t v, uint32_t *n)
{
    const clv_value *x = hlo_value(s, v);
    const clv_payload *d = x->data;
    bool known = d && d->ints && !(x->flags & CLV_V_BOUND) &&
                 (int64_t)d->n == clv__numel(x);
    *n = known ? d->n : 0;
    return known ? d->ints : NULL;
}

bool hlo_known_number(const hlo_scope *s, uint32_t v, double *x)
{
    const clv_value *value = hlo_value(s, v);
    const clv_payload *d = value->data;
    if (!d || value->flags & CLV_V_BOUND)
        return false;
    if (d->fill)
        *x = *d->fill;
    else if (d->n == 1 && d->ints)
        *x = (double)d->ints[0];
    else if (d->n == 1 && d->floats)
        *x = d->floats[0];
    else
        return false;
    return true;
}

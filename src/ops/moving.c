/* moving.c - x[i:i+n] of a number i that only running tells, such as the
 * counter of a loop: it has n elements wherever it is. */
#include "ops/moving.h"

#include "ops/fold.h"

#include <string.h>

/* Follows value v, one integer, back through views and constants that are added
 * to it: v = *base + *offset. */
static void slice_base(const clv_graph *g, uint32_t v, uint32_t *base,
                       int64_t *offset)
{
    enum { STEPS = 16 };
    *offset = 0;
    for (int i = 0; i < STEPS && g->values[v].producer != CLV_NONE; i++) {
        const clv_node *n = &g->nodes[g->values[v].producer];
        const uint32_t *ins = node_ins(g, n);
        uint32_t next = n->n_in ? ins[0] : CLV_NONE;
        known c;
        if (n->op == CLV_OP_ADD && n->n_in == 2) {
            bool first = fold_in(g, n, 0, &c);
            if ((!first && !fold_in(g, n, 1, &c)) || !c.ints || c.n != 1)
                break;
            next = ins[first ? 1 : 0];
            *offset = sat_add(*offset, c.ints[0]);
        } else if (n->op == CLV_OP_ADD && attr_get(n, CLV_A_VALUE)) {
            *offset = sat_add(*offset, (int64_t)attr_float(n, CLV_A_VALUE));
        } else if (n->op != CLV_OP_UNSQUEEZE && n->op != CLV_OP_SQUEEZE &&
                   n->op != CLV_OP_RESHAPE && n->op != CLV_OP_CAST &&
                   n->op != CLV_OP_IDENTITY) {
            break;
        }
        if (next == CLV_NONE)
            break;
        v = next;
    }
    *base = v;
}

clv_status clv__slice_moving(clv_graph *g, clv_node *n, bool *done, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t at[2], dims[CLV_MAX_RANK];
    uint32_t base[2], axis = 0;
    int_list axes, step;
    known c;
    *done = false;
    if (n->n_in < 3 || fold_in(g, n, 1, &c) || fold_in(g, n, 2, &c))
        return CLV_OK;
    for (uint32_t i = 0; i < 2; i++) {
        const clv_value *v = node_in(g, n, i + 1);
        if (!v || v->rank > 1 || clv__numel(v) != 1)
            return CLV_OK;
        slice_base(g, node_ins(g, n)[i + 1], &base[i], &at[i]);
    }
    if (base[0] != base[1] || at[1] <= at[0])
        return CLV_OK;
    CLV_TRY(get_ints(g, n, CLV_A_AXES, 3, &axes, e));
    CLV_TRY(get_ints(g, n, CLV_A_STEP, 4, &step, e));
    if (axes.n > 1 || step.n > 1 || (step.n && step.v[0] != 1))
        return CLV_OK;
    CLV_TRY(norm_axis(axes.n ? axes.v[0] : 0, x->rank, &axis, e));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (dims[axis] > at[1] - at[0])
        dims[axis] = at[1] - at[0];
    *done = true;
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

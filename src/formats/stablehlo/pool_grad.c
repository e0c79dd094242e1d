/* pool_grad.c - select_and_scatter, which is the gradient of a maximum pool.
 *
 * x is seen through windows; the largest of each, the first among equals, gets
 * the element of `source` for that window, and those that meet are added. Here
 * a pool gives the places, and a scatter adds to zeros:
 *
 *     x (A..,H,W) -> (1,A,H,W) -> places (1,A,P,Q) in the plane H*W
 *     zeros (1,A,H*W) [places] += source (1,A,P*Q)                       */
#include "formats/stablehlo/hlo.h"

#include <string.h>

typedef struct pool_grad {
    uint32_t rank, nd, fixed; /* nd axes move, `fixed` do not */
    int64_t size[3], stride[3], perm[CLV_MAX_RANK], back[CLV_MAX_RANK];
    int64_t still; /* elements of the axes that do not move */
    int64_t plane; /* of those that do */
} pool_grad;

/* Whether the regions compare with GE (GT) and add. */
static bool pool_grad_is(const hlo_scope *s, const mlir_op *op, clv_dtype t)
{
    const mlir_region *select = op->regions;
    const mlir_op *by = select ? select->ops : NULL;
    const hlo_row *row = by ? hlo_row_of(by->name) : NULL;
    const mlir_attr *way =
        by ? mlir_attr_of(by->attrs, "comparison_direction", "") : NULL;
    return op->n_ins == 3 && op->n_regions == 2 && row &&
           row->map == hlo_map_compare && by->n_ins == 2 && way &&
           mlir_is(way->text, "GE") && select->n_args == 2 &&
           mlir_same(by->ins[0].name, select->args->name) &&
           hlo_region_op(s, select->next, t) == CLV_OP_ADD;
}

/* Reads the windows. Returns false for those that reach beyond x, and for
 * more than three axes that move. */
static clv_status pool_grad_read(hlo_scope *s, const mlir_op *op,
                                 const clv_value *x, pool_grad *p, bool *fits,
                                 clv_err *e)
{
    int64_t size[CLV_MAX_RANK], stride[CLV_MAX_RANK], pads[2 * CLV_MAX_RANK];
    const mlir_attr *a = mlir_attr_of(op->attrs, "window_dimensions", NULL);
    uint32_t n, m, k;
    *fits = false;
    CLV_TRY(hlo_list(s, a, size, CLV_MAX_RANK, &n, e));
    a = mlir_attr_of(op->attrs, "window_strides", NULL);
    CLV_TRY(hlo_list(s, a, stride, CLV_MAX_RANK, &m, e));
    a = mlir_attr_of(op->attrs, "padding", NULL);
    CLV_TRY(hlo_list(s, a, pads, 2 * CLV_MAX_RANK, &k, e));
    *p = (pool_grad){.rank = x->rank, .still = 1, .plane = 1};
    for (uint32_t i = 0; i < k; i++)
        if (pads[i])
            return CLV_OK;
    if (n != x->rank || (m && m != n))
        return CLV_OK;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++) {
            int64_t step = m ? stride[i] : 1;
            bool moves = size[i] != 1 || step != 1;
            if (moves != (pass == 1))
                continue;
            if (size[i] < 1 || step < 1 || (moves && p->nd == 3))
                return CLV_OK;
            p->perm[p->fixed + p->nd] = i;
            int64_t *all = moves ? &p->plane : &p->still;
            *all = sat_mul(*all, x->dims[i]);
            if (moves) {
                p->size[p->nd] = size[i];
                p->stride[p->nd++] = step;
            } else {
                p->fixed++;
            }
        }
    for (uint32_t i = 0; i < n; i++)
        p->back[p->perm[i]] = i;
    *fits = p->nd > 0;
    return CLV_OK;
}

/* The places of the largest of each window, (1,A,P*Q). */
static clv_status pool_grad_places(hlo_scope *s, const pool_grad *p, uint32_t x,
                                   uint32_t *places, clv_err *e)
{
    static const clv_op pools[] = {CLV_OP_MAX_POOL1D, CLV_OP_MAX_POOL2D,
                                   CLV_OP_MAX_POOL3D};
    const clv_value v = *hlo_value(s, x);
    int64_t dims[5] = {1, p->still};
    uint32_t two[2];
    clv_attr a[2] = {hlo_ints(CLV_A_KERNEL, p->size, p->nd),
                     hlo_ints(CLV_A_STRIDE, p->stride, p->nd)};
    for (uint32_t i = 0; i < p->nd; i++)
        dims[2 + i] = v.dims[p->perm[p->fixed + i]];
    CLV_TRY(hlo_permute(s, x, p->perm, &x, e));
    CLV_TRY(hlo_reshape(s, x, dims, p->nd + 2, &x, e));
    CLV_TRY(hlo_emit(s, "pool", pools[p->nd - 1], &x, 1, a, 2, two, 2, e));
    dims[2] = clv__numel(hlo_value(s, two[1])) / (p->still ? p->still : 1);
    return hlo_reshape(s, two[1], dims, 3, places, e);
}

clv_status hlo_map_select_and_scatter(hlo_scope *s, const hlo_row *row,
                                      const mlir_op *op, uint32_t *outs,
                                      clv_err *e)
{
    uint32_t x, source, init, ins[3];
    pool_grad p;
    bool fits;
    CLV_TRY(hlo_in(s, 0, &x, e));
    const clv_value v = *hlo_value(s, x);
    if (!pool_grad_is(s, op, (clv_dtype)v.dtype))
        return CLV_OK;
    CLV_TRY(hlo_in(s, 1, &source, e));
    CLV_TRY(hlo_in(s, 2, &init, e));
    CLV_TRY(pool_grad_read(s, op, &v, &p, &fits, e));
    if (!fits || v.rank == CLV_NO_RANK || hlo_value(s, source)->rank != v.rank)
        return CLV_OK;
    int64_t dims[CLV_MAX_RANK] = {1, p.still, p.plane};
    int64_t updates[3] = {1, p.still, 0};
    CLV_TRY(pool_grad_places(s, &p, x, &ins[1], e));
    CLV_TRY(hlo_expand(s, init, dims, 3, &ins[0], e));
    updates[2] = hlo_value(s, ins[1])->dims[2];
    CLV_TRY(hlo_permute(s, source, p.perm, &ins[2], e));
    CLV_TRY(hlo_reshape(s, ins[2], updates, 3, &ins[2], e));
    clv_attr a = hlo_int(CLV_A_AXIS, 2);
    CLV_TRY(hlo_emit(s, "", row->op, ins, 3, &a, 1, outs, 1, e));
    for (uint32_t i = 0; i < v.rank; i++)
        dims[i] = v.dims[p.perm[i]];
    CLV_TRY(hlo_reshape(s, *outs, dims, v.rank, outs, e));
    return hlo_permute(s, *outs, p.back, outs, e);
}

/* mask.c - where elements are not zero, what a mask keeps of an axis, one-hot
 * rows, triangles. */
#include "backend/kernel.h"

#include <string.h>

/* Coordinates of what is not zero; the shape shrinks to their number. */
clv_status kernel_nonzero(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool turned = attr_int(k->n, CLV_A_BY_AXIS);
    int64_t n = numel(x), points = 0, found = 0;
    for (int64_t i = 0; i < n; i++)
        points += get_f(x, i) != 0;
    y->dims[turned ? 1 : 0] = points;
    int64_t idx[CLV_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        if (get_f(x, i) != 0) {
            for (uint32_t a = 0; a < x->rank; a++)
                put_i(y, turned ? a * points + found : found * x->rank + a,
                      idx[a]);
            found++;
        }
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

/* Slices of an axis, or elements, where the vector is true. */
clv_status kernel_compress(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1];
    clv_tensor *y = &k->out[0];
    uint32_t axis = 0;
    bool flat = !attr_get(k->n, CLV_A_AXIS);
    if (!flat)
        CLV_TRY(axis_of(k, &axis));
    int64_t size = flat ? numel(x) : x->dims[axis];
    int64_t rows = flat ? 1 : dims_product(x->dims, 0, axis);
    int64_t run = flat ? 1 : dims_product(x->dims, axis + 1, x->rank);
    int64_t n = numel(mask) < size ? numel(mask) : size, kept = 0, to = 0;
    for (int64_t i = 0; i < n; i++)
        kept += get_i(mask, i) != 0;
    y->dims[axis] = kept;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            if (get_i(mask, i)) {
                copy_run(y, to, x, (r * size + i) * run, run);
                to += run;
            }
    return CLV_OK;
}

clv_status kernel_one_hot(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *values = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, k->e));
    int64_t depth = y->dims[axis], idx[CLV_MAX_RANK] = {0};
    int64_t run = dims_product(y->dims, axis + 1, y->rank);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t from = i / (run * depth) * run + i % run;
        int64_t hot = get_i(x, from);
        bool on = (hot < 0 ? hot + depth : hot) == idx[axis];
        if (values)
            copy_run(y, i, values, on ? 1 : 0, 1);
        else
            put_i(y, i, on);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* Keeps the triangle below (tril) or above (triu) diagonal `k`. */
clv_status kernel_triangle(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool upper = k->n->op == CLV_OP_TRIU;
    int64_t diagonal = whole_of(k, CLV_A_DIAGONAL, 1);
    if (x->rank < 2)
        return clv__fail(k->e, CLV_SHAPE, "a triangle of rank %u", x->rank);
    int64_t cols = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t c = i % cols, r = i / cols % rows;
        if (upper ? c - r >= diagonal : c - r <= diagonal)
            copy_run(y, i, x, i, 1);
    }
    return CLV_OK;
}

/* repeat.c - elements more than once: tiles, repeats, grids of vectors. */
#include "backend/kernel.h"

#include <string.h>

/* Index modulo the axis: repeat, tile. */
clv_status kernel_repeat(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    uint32_t lead = y->rank - x->rank;
    strides_of(x, own);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t at = 0;
        for (uint32_t a = 0; a < x->rank; a++)
            at += idx[lead + a] % x->dims[a] * own[a];
        copy_run(y, i, x, at, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* Each slice of an axis as often as `repeats` says. */
clv_status kernel_repeat_interleave(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int_list times;
    uint32_t axis = 0;
    bool flat = !attr_get(k->n, CLV_A_AXIS) || !x->rank;
    CLV_TRY(list_of(k, CLV_A_REPEATS, 1, &times));
    if (!flat)
        CLV_TRY(axis_of(k, &axis));
    int64_t size = flat ? numel(x) : x->dims[axis], to = 0;
    int64_t run = flat ? 1 : dims_product(x->dims, axis + 1, x->rank);
    int64_t rows = flat ? 1 : dims_product(x->dims, 0, axis), room = numel(y);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < size; i++) {
            int64_t many = list_at(times.v, times.n, (uint32_t)i);
            for (int64_t t = 0; t < many; t++)
                for (int64_t j = 0; j < run && to < room; j++)
                    copy_run(y, to++, x, (r * size + i) * run + j, 1);
        }
    return CLV_OK;
}

/* Vectors, each repeated along the axes of the others. */
clv_status kernel_meshgrid(kernel *k)
{
    bool xy = k->n->n_in > 1 && attr_is(k->n, CLV_A_MODE, "xy");
    for (uint32_t o = 0; o < k->n->n_out && o < k->n->n_in; o++) {
        clv_tensor *y = output_of(k, o);
        uint32_t axis = xy && o < 2 ? 1 - o : o;
        for (int64_t i = 0; y && i < numel(y); i++)
            copy_run(y, i, k->in[o],
                     i / dims_product(y->dims, axis + 1, y->rank) %
                         y->dims[axis],
                     1);
    }
    return CLV_OK;
}

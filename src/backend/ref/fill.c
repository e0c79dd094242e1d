/* fill.c - tensors made from a few numbers, or from a shape. */
#include "backend/kernel.h"

clv_status kernel_range(kernel *k)
{
    double start = number_of(k, CLV_A_START, 0);
    double step = number_of(k, CLV_A_STEP, 2);
    scalar_arg first, by;
    bool whole = dtype_is_integral(k->out[0].dtype);
    (void)scalar_at(k, CLV_A_START, 0, &first);
    (void)scalar_at(k, CLV_A_STEP, 2, &by);
    uint64_t from = (uint64_t)get_i(&first.t, 0);
    uint64_t each = (uint64_t)get_i(&by.t, 0);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++)
        if (whole)
            put_i(&k->out[0], i, (int64_t)(from + each * (uint64_t)i));
        else
            put_f(&k->out[0], i, start + step * (double)i);
    return CLV_OK;
}

clv_status kernel_linspace(kernel *k)
{
    double start = attr_float(k->n, CLV_A_START);
    double end = attr_float(k->n, CLV_A_END);
    int64_t n = numel(&k->out[0]);
    for (int64_t i = 0; i < n; i++)
        put_f(&k->out[0], i,
              n == 1 ? start
                     : start + (end - start) * (double)i / (double)(n - 1));
    return CLV_OK;
}

/* The number of attribute value (a tensor's first element), or input 1. */
clv_status kernel_fill(kernel *k)
{
    scalar_arg v;
    if (!scalar_at(k, CLV_A_VALUE, 1, &v))
        put_f(&v.t, 0, k->n->op == CLV_OP_ONES);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++)
        copy_run(&k->out[0], i, &v.t, 0, 1);
    return CLV_OK;
}

/* Ones on one diagonal. */
clv_status kernel_eye(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t diagonal = attr_int(k->n, CLV_A_DIAGONAL), cols = y->dims[1];
    for (int64_t i = 0, n = y->rank == 2 ? numel(y) : 0;
         i < n && clv__in_time(1); i++)
        put_f(y, i, i % cols - i / cols == diagonal);
    return CLV_OK;
}

/* -- questions about shapes -----------------------------------------------*/

clv_status kernel_shape(kernel *k)
{
    int64_t rank = k->in[0]->rank, from = attr_int(k->n, CLV_A_START);
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++)
        put_i(&k->out[0], i, k->in[0]->dims[from + i]);
    return CLV_OK;
}

clv_status kernel_size(kernel *k)
{
    put_i(&k->out[0], 0, numel(k->in[0]));
    return CLV_OK;
}

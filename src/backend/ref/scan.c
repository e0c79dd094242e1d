/* scan.c - along one axis: the largest so far and where, sums of exponentials;
 * and the bucket of an element. */
#include "backend/kernel.h"

#include <math.h>

/* The later of two equals counts, and NaN above all, as in PyTorch. */
clv_status kernel_cummax(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = output_of(k, 0), *places = output_of(k, 1);
    bool least = k->n->op == CLV_OP_CUMMIN;
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    lane l = lanes(x, axis);
    for (int64_t r = 0; r < l.rows * l.step; r++) {
        int64_t first = lane_first(&l, r), best = 0;
        for (int64_t i = 0; i < l.n; i++) {
            if (search_key(x, first + i * l.step, least) >=
                search_key(x, first + best * l.step, least))
                best = i;
            if (y)
                copy_run(y, first + i * l.step, x, first + best * l.step, 1);
            if (places)
                put_i(places, first + i * l.step, best);
        }
    }
    return CLV_OK;
}

clv_status kernel_logcumsumexp(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    lane l = lanes(x, axis);
    for (int64_t r = 0; r < l.rows * l.step; r++) {
        int64_t first = lane_first(&l, r);
        double most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < l.n; i++) {
            double v = get_f(x, first + i * l.step);
            double top = v > most ? v : most;
            sum = isinf(top) ? 0 : sum * exp(most - top) + exp(v - top);
            most = top;
            put_f(&k->out[0], first + i * l.step,
                  isinf(top) ? top : most + log(sum));
        }
    }
    return CLV_OK;
}

/* Whether a boundary lies below x; each does where one of them is NaN. */
static bool lies_below(element edge, element x)
{
    if (is_float(edge.t->dtype) || is_float(x.t->dtype))
        return !(get_f(edge.t, edge.i) >= get_f(x.t, x.i));
    return less_than(edge, x);
}

/* x, sorted boundaries (..,n), one row for all or one per row of x: how many
 * lie below each element. NaN lies above all, as in PyTorch. */
clv_status kernel_bucketize(kernel *k)
{
    const clv_tensor *x = k->in[0], *edges = k->in[1];
    int64_t n = edges->dims[edges->rank - 1];
    int64_t each = x->rank ? x->dims[x->rank - 1] : 1;
    for (int64_t i = 0, count = numel(x); i < count; i++) {
        int64_t base = edges->rank > 1 ? i / each * n : 0, at = 0;
        while (at < n &&
               lies_below((element){edges, base + at}, (element){x, i}))
            at++;
        put_i(&k->out[0], i, at);
    }
    return CLV_OK;
}

/* cumulative.c - running totals along an axis: sums, products, the largest so
 * far and where, sums of exponentials. */
#include "backend/kernel.h"

#include <math.h>

/* Running sums or products; exclusive leaves the element itself out. */
clv_status kernel_cumulate(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int_list given;
    uint32_t axis;
    CLV_TRY(list_of(k, CLV_A_AXIS, 1, &given));
    CLV_TRY(norm_axis(given.n ? given.v[0] : 0, x->rank ? x->rank : 1, &axis,
                      k->e));
    lane l = lanes(x, axis);
    bool product = k->n->op == CLV_OP_CUMPROD;
    bool back = attr_int(k->n, CLV_A_REVERSE) != 0;
    bool exclusive = attr_int(k->n, CLV_A_EXCLUSIVE) != 0;
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t s = 0; s < l.step && clv__in_time(l.n); s++) {
            double sum = product ? 1 : 0;
            uint64_t whole = product ? 1 : 0;
            for (int64_t i = 0; i < l.n; i++) {
                int64_t at = (r * l.n + (back ? l.n - 1 - i : i)) * l.step + s;
                double was = sum;
                uint64_t whole_was = whole, v = (uint64_t)get_i(x, at);
                sum = product ? sum * get_f(x, at) : sum + get_f(x, at);
                whole = product ? whole * v : whole + v;
                if (is_float(y->dtype))
                    put_f(y, at, exclusive ? was : sum);
                else
                    put_i(y, at, (int64_t)(exclusive ? whole_was : whole));
            }
        }
    return CLV_OK;
}

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

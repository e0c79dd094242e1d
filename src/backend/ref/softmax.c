/* softmax.c - softmax and its kin along an axis: softmin, hardmax, and gates
 * (glu). */
#include "backend/kernel.h"

#include <math.h>

/* One row of n elements, `step` apart: exp(x - max) over their sum. */
static void softmax_row(const clv_tensor *x, clv_tensor *y, int64_t first,
                        int64_t n, int64_t step, bool logs)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = get_f(x, first + i * step);
        most = v > most || isnan(v) ? v : most;
    }
    for (int64_t i = 0; i < n; i++)
        sum += exp(get_f(x, first + i * step) - most);
    for (int64_t i = 0; i < n; i++) {
        double v = get_f(x, first + i * step) - most;
        put_f(y, first + i * step, logs ? v - log(sum) : exp(v) / sum);
    }
}

clv_status kernel_softmax(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis = 0;
    int64_t step = 1, n = 1;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    for (uint32_t i = axis; i < x->rank; i++)
        (i == axis ? (n = x->dims[i]) : (step *= x->dims[i]));
    int64_t rows = n > 0 && step > 0 ? numel(x) / (n * step) : 0;
    bool logs = k->n->op == CLV_OP_LOG_SOFTMAX;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t s = 0; s < step && clv__in_time(n); s++)
            softmax_row(x, &k->out[0], r * n * step + s, n, step, logs);
    return CLV_OK;
}

/* softmax(-x) */
clv_status kernel_softmin(kernel *k)
{
    lane l;
    CLV_TRY(lane_of(k, &l));
    for (int64_t r = 0; r < l.rows; r++) {
        int64_t first = lane_first(&l, r);
        double least = INFINITY, sum = 0;
        for (int64_t i = 0; i < l.n; i++)
            least = fmin(least, get_f(k->in[0], first + i * l.step));
        for (int64_t i = 0; i < l.n; i++)
            sum += exp(least - get_f(k->in[0], first + i * l.step));
        for (int64_t i = 0; i < l.n; i++)
            put_f(&k->out[0], first + i * l.step,
                  exp(least - get_f(k->in[0], first + i * l.step)) / sum);
    }
    return CLV_OK;
}

/* 1 at the first largest of each row, 0 elsewhere. */
clv_status kernel_hardmax(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    int64_t step = 1;
    CLV_TRY(axis_of(k, &axis));
    for (uint32_t i = axis + 1; i < x->rank; i++)
        step *= x->dims[i];
    int64_t n = x->dims[axis], rows = n ? numel(x) / n : 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t first = r / step * n * step + r % step, best = 0;
        for (int64_t i = 1; i < n; i++)
            if (search_key(x, first + i * step, false) >
                search_key(x, first + best * step, false))
                best = i;
        for (int64_t i = 0; i < n; i++)
            put_f(&k->out[0], first + i * step, i == best);
    }
    return CLV_OK;
}

/* The first half times the sigmoid of the second. */
clv_status kernel_glu(kernel *k)
{
    lane l;
    CLV_TRY(lane_of(k, &l));
    int64_t half = l.n / 2;
    for (int64_t r = 0; r < l.rows; r++)
        for (int64_t i = 0; i < half; i++) {
            int64_t at = lane_first(&l, r) + i * l.step;
            double gate = get_f(k->in[0], at + half * l.step);
            int64_t to = (r / l.step * half + i) * l.step + r % l.step;
            put_f(&k->out[0], to, get_f(k->in[0], at) / (1 + exp(-gate)));
        }
    return CLV_OK;
}

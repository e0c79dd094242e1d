/* sort.c - the largest k, sorted rows (pairs of key and place in order), and
 * the bucket of an element. */
#include "backend/kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    int64_t key, place; /* the key is as order_key says */
} entry;

/* NaN counts as the largest, as in PyTorch; equal values keep their order. */
static int sort_rising(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int sort_falling(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* topk, sort, argsort: the first elements of each sorted row. */
clv_status kernel_sort(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_op op = (clv_op)k->n->op;
    bool places_only = op == CLV_OP_ARGSORT;
    clv_tensor *values = places_only ? NULL : &k->out[0];
    clv_tensor *places = places_only       ? &k->out[0]
                         : k->n->n_out > 1 ? &k->out[1]
                                           : NULL;
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    int64_t n = x->rank ? x->dims[axis] : 1, step = 1, rows = 1;
    for (uint32_t i = axis + 1; i < x->rank; i++)
        step *= x->dims[i];
    for (uint32_t i = 0; i < axis; i++)
        rows *= x->dims[i];
    int64_t take = k->out[0].rank ? k->out[0].dims[axis] : 1;
    bool down = attr_int(k->n, CLV_A_LARGEST) != 0;
    entry *row = arena_array(k->scratch, (size_t)n + 1, sizeof *row);
    if (!row)
        return clv__nomem(k->e);
    for (int64_t rs = 0; rs < rows * step; rs++) {
        int64_t r = rs / step, s = rs % step;
        for (int64_t i = 0; i < n; i++)
            row[i] = (entry){order_key(x, (r * n + i) * step + s), i};
        qsort(row, (size_t)n, sizeof *row, down ? sort_falling : sort_rising);
        for (int64_t i = 0; i < take; i++) {
            int64_t to = (r * take + i) * step + s;
            int64_t from = (r * n + row[i].place) * step + s;
            if (values && values->data)
                copy_run(values, to, x, from, 1);
            if (places && places->data)
                put_i(places, to, row[i].place);
        }
    }
    return CLV_OK;
}

/* -- one of them ----------------------------------------------------------*/

/* Which element of a sorted row of n: a median with NaNs is NaN. */
static int64_t sort_wanted(const kernel *k, const entry *row, int64_t n)
{
    if (k->n->op == CLV_OP_KTHVALUE)
        return attr_int(k->n, CLV_A_K) - 1;
    bool nan = is_float(k->in[0]->dtype) && row[n - 1].key == INT64_MAX;
    return nan ? n - 1 : (n - 1) / 2;
}

/* kthvalue and median: values, and where they were. */
clv_status kernel_kth(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = output_of(k, 0), *places = output_of(k, 1);
    bool all = k->n->op == CLV_OP_MEDIAN && !attr_get(k->n, CLV_A_AXIS);
    uint32_t axis = 0;
    if (x->rank && !all)
        CLV_TRY(axis_of(k, &axis));
    lane l = all ? (lane){numel(x), 1, 1} : lanes(x, axis);
    entry *row = arena_array(k->scratch, (size_t)l.n + 1, sizeof *row);
    if (!row)
        return clv__nomem(k->e);
    if (l.n < 1)
        return clv__fail(k->e, CLV_SHAPE, "no element of none");
    for (int64_t r = 0; r < l.rows * l.step; r++) {
        int64_t first = lane_first(&l, r);
        for (int64_t i = 0; i < l.n; i++)
            row[i] = (entry){order_key(x, first + i * l.step), i};
        qsort(row, (size_t)l.n, sizeof *row, sort_rising);
        int64_t at = row[sort_wanted(k, row, l.n)].place;
        if (y)
            copy_run(y, r, x, first + at * l.step, 1);
        if (places)
            put_i(places, r, at);
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

/* The range that a histogram is over: what its attributes say, or that of x. A
 * range of one number becomes one to each side, as torch has it. */
static void histogram_range(const kernel *k, double *low, double *high)
{
    const clv_tensor *x = k->in[0];
    *low = attr_float(k->n, CLV_A_MIN);
    *high = attr_float(k->n, CLV_A_MAX);
    if (*low == *high && numel(x)) {
        *low = *high = get_f(x, 0);
        for (int64_t i = 1, n = numel(x); i < n; i++) {
            double v = get_f(x, i);
            *low = v < *low ? v : *low;
            *high = v > *high ? v : *high;
        }
    }
    if (*low == *high) {
        *low -= 1;
        *high += 1;
    }
}

/* Equal parts of [low, high], the last one closed; elements outside are not
 * counted. */
clv_status kernel_histogram(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int64_t bins = attr_int(k->n, CLV_A_BINS);
    double low, high;
    histogram_range(k, &low, &high);
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        double v = get_f(x, i);
        if (!(v >= low && v <= high))
            continue;
        int64_t at = (int64_t)((v - low) * (double)bins / (high - low));
        at = at < bins ? at : bins - 1;
        put_f(y, at, get_f(y, at) + 1);
    }
    return CLV_OK;
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

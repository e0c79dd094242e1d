/* stats.c - what came out of a run in figures: outputs and times. */
#include "cleave/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 10 }; /* fewer are no classifier's scores */

static bool is_scores(const clv_tensor *t)
{
    return t->rank == 2 && t->dims[0] == 1 && t->dims[1] >= CLASSES &&
           (t->dtype == CLV_FLOAT32 || t->dtype == CLV_FLOAT16 ||
            t->dtype == CLV_FLOAT64 || t->dtype == CLV_BFLOAT16);
}

static void find_top(const clv_tensor *t, clv_tensor_stats *s)
{
    int64_t *best = s->top;
    for (int64_t i = 0; i < t->dims[1]; i++) {
        double x = clv_tensor_get(t, i);
        uint32_t at = s->n_top;
        while (at > 0 && x > clv_tensor_get(t, best[at - 1]))
            at--;
        if (at >= CLV_TOP_SCORES || isnan(x))
            continue;
        if (s->n_top < CLV_TOP_SCORES)
            s->n_top++;
        memmove(best + at + 1, best + at, (s->n_top - at - 1) * sizeof *best);
        best[at] = i;
    }
}

clv_tensor_stats clv_tensor_stats_of(const clv_tensor *t)
{
    clv_tensor_stats s = {.min = (double)INFINITY, .max = -(double)INFINITY};
    bool numbers = t->form == CLV_FORM_TENSOR && t->dtype != CLV_STRING;
    int64_t n = numbers ? clv_tensor_numel(t) : 0, seen = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = clv_tensor_get(t, i);
        if (isnan(x)) {
            s.nans++;
            continue;
        }
        s.min = x < s.min ? x : s.min;
        s.max = x > s.max ? x : s.max;
        s.mean += (x - s.mean) / (double)++seen;
    }
    if (seen == 0)
        s.min = s.max = s.mean = (double)NAN;
    if (is_scores(t))
        find_top(t, &s);
    return s;
}

static int shorter_first(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The value below which `share` of the ascending times lie, between two of them
 * as numpy.percentile interpolates. */
static double percentile(const double *seconds, uint32_t n, double share)
{
    double at = share * (double)(n - 1);
    uint32_t i = (uint32_t)at;
    double rest = at - (double)i;
    if (i + 1 >= n)
        return seconds[n - 1];
    return seconds[i] * (1 - rest) + seconds[i + 1] * rest;
}

clv_time_stats clv_time_stats_of(double *seconds, uint32_t n)
{
    qsort(seconds, n, sizeof *seconds, shorter_first);
    return (clv_time_stats){.runs = n,
                            .median = percentile(seconds, n, 0.5),
                            .p95 = percentile(seconds, n, 0.95)};
}

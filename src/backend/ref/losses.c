/* losses.c - negative log likelihood, and with the softmax before it. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

typedef struct loss {
    const clv_tensor *x, *labels, *weight; /* x: log probabilities (N,C,..) */
    int64_t batch, classes, places;
    int64_t ignored;
    bool any_ignored;
} loss;

/* One label: its weight, and the weighted loss; ignored ones are 0. */
static clv_status loss_one(const kernel *k, const loss *l, int64_t n, int64_t p,
                           double *w, double *value)
{
    int64_t label = get_i(l->labels, n * l->places + p);
    *w = *value = 0;
    if (l->any_ignored && label == l->ignored)
        return CLV_OK;
    if (label < 0 || label >= l->classes)
        return clv__fail(k->e, CLV_SHAPE, "label %lld of %lld classes",
                         (long long)label, (long long)l->classes);
    *w = l->weight ? get_f(l->weight, label) : 1;
    *value = -*w * get_f(l->x, (n * l->classes + label) * l->places + p);
    return CLV_OK;
}

static clv_status loss_reduce(kernel *k, const loss *l)
{
    const char *how = attr_str(k->n, CLV_A_REDUCTION);
    double total = 0, weights = 0, w, v;
    for (int64_t n = 0; n < l->batch; n++)
        for (int64_t p = 0; p < l->places; p++) {
            CLV_TRY(loss_one(k, l, n, p, &w, &v));
            total += v;
            weights += w;
            if (!strcmp(how, "none"))
                put_f(&k->out[0], n * l->places + p, v);
        }
    if (!strcmp(how, "sum"))
        put_f(&k->out[0], 0, total);
    else if (strcmp(how, "none") != 0)
        put_f(&k->out[0], 0, total / weights);
    return CLV_OK;
}

static loss loss_of(const kernel *k, const clv_tensor *x)
{
    loss l = {.x = x,
              .labels = k->in[1],
              .weight = k->n->n_in > 2 ? k->in[2] : NULL,
              .batch = x->dims[0],
              .classes = x->rank > 1 ? x->dims[1] : 1,
              .places = 1};
    for (uint32_t i = 2; i < x->rank; i++)
        l.places *= x->dims[i];
    l.any_ignored = attr_get(k->n, CLV_A_IGNORE_INDEX) != NULL;
    if (l.any_ignored)
        l.ignored = attr_int(k->n, CLV_A_IGNORE_INDEX);
    return l;
}

clv_status kernel_nll_loss(kernel *k)
{
    loss l = loss_of(k, k->in[0]);
    return loss_reduce(k, &l);
}

/* The log softmax over axis 1 first; it is also output 1. */
clv_status kernel_cross_entropy(kernel *k)
{
    clv_tensor logs = *k->in[0];
    loss l = loss_of(k, &logs);
    if (k->n->n_out > 1 && k->out[1].data)
        logs.data = k->out[1].data;
    else
        logs.data = arena_alloc(k->scratch, (size_t)clv_tensor_bytes(&logs));
    if (!logs.data)
        return clv__nomem(k->e);
    for (int64_t n = 0; n < l.batch; n++)
        for (int64_t p = 0; p < l.places; p++) {
            int64_t first = n * l.classes * l.places + p;
            double most = -INFINITY, sum = 0;
            for (int64_t c = 0; c < l.classes; c++)
                most = fmax(most, get_f(k->in[0], first + c * l.places));
            for (int64_t c = 0; c < l.classes; c++)
                sum += exp(get_f(k->in[0], first + c * l.places) - most);
            for (int64_t c = 0; c < l.classes; c++)
                put_f(&logs, first + c * l.places,
                      get_f(k->in[0], first + c * l.places) - most - log(sum));
        }
    return loss_reduce(k, &l);
}

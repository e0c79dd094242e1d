/* optimizer.c - steps of optimisers: what only training does. */
#include "backend/kernel.h"

#include <math.h>

typedef struct step {
    double rate, count, alpha, beta, epsilon, norm, post;
    bool nesterov;
} step;

/* The tensors of one weight, as many as the optimiser keeps. */
typedef struct state {
    const clv_tensor *x, *g, *v, *h;
    clv_tensor *new_x, *new_v, *new_h;
} state;

typedef void step_fn(const step *p, const state *s, int64_t i);

static double optimizer_slope(const step *p, const state *s, int64_t i)
{
    return get_f(s->g, i) + p->norm * get_f(s->x, i);
}

static void optimizer_put(clv_tensor *t, int64_t i, double x)
{
    if (t && t->data)
        put_f(t, i, x);
}

static void optimizer_adagrad(const step *p, const state *s, int64_t i)
{
    double g = optimizer_slope(p, s, i), h = get_f(s->v, i) + g * g;
    optimizer_put(s->new_v, i, h);
    optimizer_put(s->new_x, i,
                  get_f(s->x, i) - p->rate * g / (sqrt(h) + p->epsilon));
}

static void optimizer_momentum(const step *p, const state *s, int64_t i)
{
    double g = optimizer_slope(p, s, i);
    double v = p->alpha * get_f(s->v, i) + (p->count > 0 ? p->beta : 1) * g;
    optimizer_put(s->new_v, i, v);
    optimizer_put(s->new_x, i,
                  get_f(s->x, i) -
                      p->rate * (p->nesterov ? g + p->alpha * v : v));
}

static void optimizer_adam(const step *p, const state *s, int64_t i)
{
    double g = optimizer_slope(p, s, i), rate = p->rate;
    double v = p->alpha * get_f(s->v, i) + (1 - p->alpha) * g;
    double h = p->beta * get_f(s->h, i) + (1 - p->beta) * g * g;
    if (p->count > 0)
        rate *=
            sqrt(1 - pow(p->beta, p->count)) / (1 - pow(p->alpha, p->count));
    optimizer_put(s->new_v, i, v);
    optimizer_put(s->new_h, i, h);
    optimizer_put(s->new_x, i,
                  (1 - p->post) *
                      (get_f(s->x, i) - rate * v / (sqrt(h) + p->epsilon)));
}

/* rate, count, then groups: weights, gradients, first and second moments; the
 * results are the groups but the gradients. */
clv_status kernel_optimizer(kernel *k)
{
    bool is_adam = attr_is(k->n, CLV_A_RULE, "adam");
    bool is_adagrad = attr_is(k->n, CLV_A_RULE, "adagrad");
    step_fn *fn = is_adam      ? optimizer_adam
                  : is_adagrad ? optimizer_adagrad
                               : optimizer_momentum;
    uint32_t groups = is_adam ? 4 : 3, each = (k->n->n_in - 2) / groups;
    step p = {.rate = get_f(k->in[0], 0),
              .count = get_f(k->in[1], 0),
              .alpha = attr_float(k->n, CLV_A_ALPHA),
              .beta = attr_float(k->n, CLV_A_BETA),
              .epsilon = attr_float(k->n, CLV_A_EPSILON),
              .norm = attr_float(k->n, CLV_A_NORM_COEFFICIENT),
              .post = attr_float(k->n, CLV_A_NORM_COEFFICIENT_POST),
              .nesterov = attr_is(k->n, CLV_A_RULE, "nesterov")};
    if (is_adagrad)
        p.rate /= 1 + p.count * attr_float(k->n, CLV_A_DECAY);
    if (k->n->n_out < each * (groups - 1))
        return clv__fail(k->e, CLV_SHAPE, "%u outputs of %u weights",
                         k->n->n_out, each);
    for (uint32_t w = 0; w < each; w++) {
        const clv_tensor *const *in = k->in + 2 + w;
        state s = {.x = in[0],
                   .g = in[each],
                   .v = in[2 * each],
                   .new_x = &k->out[w],
                   .new_v = &k->out[each + w]};
        if (is_adam) {
            s.h = in[3 * each];
            s.new_h = &k->out[2 * each + w];
        }
        for (int64_t i = 0, n = numel(s.x); i < n && clv__in_time(1); i++)
            fn(&p, &s, i);
    }
    return CLV_OK;
}

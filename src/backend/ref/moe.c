/* moe.c - a mixture of experts (src/ops/moe.c has the shapes). */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

typedef struct mixture {
    const clv_tensor *x, *router, *w1, *b1, *w2, *b2, *w3, *b3, *mix;
    int64_t hidden, experts, k, rows, inner;
    const char *act;
    double alpha, beta, limit;
    int fusion; /* where w1 holds two halves: 1 in turn, 2 one after the other
                 */
    double *first, *second, *mid; /* rows, inner and inner numbers */
    double *weight;               /* per expert */
} mixture;

/* Row r of expert e's weight times the vector v, plus its bias. */
static double moe_row_of(const clv_tensor *w, const clv_tensor *b, int64_t e,
                         int64_t r, const double *v)
{
    int64_t rows = w->dims[1], cols = w->dims[2], at = (e * rows + r) * cols;
    double sum = b ? get_f(b, e * rows + r) : 0;
    clv__budget.work += cols;
    for (int64_t i = 0; i < cols; i++)
        sum += get_f(w, at + i) * v[i];
    return sum;
}

static double moe_silu(double x, double alpha)
{
    return x / (1 + exp(-alpha * x));
}

static double plain_act(const char *act, double x)
{
    if (!strcmp(act, "relu"))
        return x > 0 ? x : 0;
    if (!strcmp(act, "silu"))
        return moe_silu(x, 1);
    if (!strcmp(act, "gelu"))
        return x / 2 *
               (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

/* The i-th inner number. */
static double moe_activate(const mixture *m, int64_t i)
{
    if (strcmp(m->act, "swiglu") != 0)
        return plain_act(m->act, m->first[i]) * (m->w3 ? m->second[i] : 1);
    double gate = m->first[m->fusion == 1 ? 2 * i : i];
    double line = m->fusion == 1   ? m->first[2 * i + 1]
                  : m->fusion == 2 ? m->first[m->inner + i]
                                   : m->second[i];
    gate = fmin(gate, m->limit);
    line = fmax(fmin(line, m->limit), -m->limit);
    return moe_silu(gate, m->alpha) * (line + m->beta);
}

/* A softmax over all experts of token t. */
static void moe_weigh(mixture *m, int64_t t, const clv_tensor *scores,
                      bool plain)
{
    double most = -INFINITY, sum = 0;
    for (int64_t e = 0; e < m->experts; e++)
        most = fmax(most, get_f(scores, t * m->experts + e));
    for (int64_t e = 0; e < m->experts; e++) {
        double s = get_f(scores, t * m->experts + e);
        m->weight[e] = plain ? s : exp(s - most);
        sum += m->weight[e];
    }
    for (int64_t e = 0; e < m->experts && !plain; e++)
        m->weight[e] /= sum;
}

/* The k highest scores of token t keep their weights; the rest get none. */
static void moe_choose(const kernel *k, mixture *m, int64_t t, double *order)
{
    double sum = 0;
    for (int64_t e = 0; e < m->experts; e++)
        order[e] = get_f(m->router, t * m->experts + e);
    moe_weigh(m, t, m->mix ? m->mix : m->router, m->mix != NULL);
    for (int64_t e = 0; e < m->experts; e++) {
        int64_t before = 0;
        for (int64_t o = 0; o < m->experts; o++)
            before += order[o] > order[e] || (order[o] == order[e] && o < e);
        if (before >= m->k)
            m->weight[e] = 0;
        sum += m->weight[e];
    }
    bool scale = attr_int(k->n, CLV_A_NORMALIZE) != 0;
    for (int64_t e = 0; scale && sum > 0 && e < m->experts; e++)
        m->weight[e] /= sum;
}

static void one_expert(const mixture *m, int64_t e, const double *v, double *y)
{
    for (int64_t r = 0; r < m->rows && clv__in_time(1); r++)
        m->first[r] = moe_row_of(m->w1, m->b1, e, r, v);
    for (int64_t r = 0; m->w3 && r < m->inner && clv__in_time(1); r++)
        m->second[r] = moe_row_of(m->w3, m->b3, e, r, v);
    for (int64_t i = 0; i < m->inner; i++)
        m->mid[i] = moe_activate(m, i);
    for (int64_t h = 0; h < m->hidden && clv__in_time(1); h++)
        y[h] += m->weight[e] * moe_row_of(m->w2, m->b2, e, h, m->mid);
}

static mixture mixture_of(const kernel *k)
{
    mixture m = {.x = k->in[0],
                 .router = k->in[1],
                 .w1 = k->in[2],
                 .b1 = input_of(k, 3),
                 .w2 = k->in[4],
                 .b2 = input_of(k, 5),
                 .w3 = input_of(k, 6),
                 .b3 = input_of(k, 7),
                 .mix = input_of(k, 8),
                 .k = attr_int(k->n, CLV_A_EXPERTS)};
    m.hidden = m.w2->dims[1];
    m.inner = m.w2->dims[2];
    m.rows = m.w1->dims[1];
    m.experts = m.w1->dims[0];
    m.act = attr_str(k->n, CLV_A_ACTIVATION);
    m.alpha = attr_float(k->n, CLV_A_ALPHA);
    m.beta = attr_float(k->n, CLV_A_BETA);
    m.limit = attr_get(k->n, CLV_A_LIMIT) ? attr_float(k->n, CLV_A_LIMIT)
                                          : (double)INFINITY;
    m.fusion = (int)attr_int(k->n, CLV_A_FUSION);
    return m;
}

clv_status kernel_moe(kernel *k)
{
    mixture m = mixture_of(k);
    int64_t room = m.rows + 2 * m.inner + 2 * m.experts + 2 * m.hidden;
    double *v = arena_array(k->scratch, (size_t)room + 1, sizeof *v);
    bool gated = !strcmp(m.act, "swiglu");
    if (!v)
        return clv__nomem(k->e);
    if (gated && (m.fusion ? m.rows != 2 * m.inner : !m.w3))
        return clv__fail(k->e, CLV_SHAPE, "no second half of the gated unit");
    double *y = v + m.hidden, *order = y + m.hidden;
    m.weight = order + m.experts;
    m.first = m.weight + m.experts;
    m.second = m.first + m.rows;
    m.mid = m.second + m.inner;
    for (int64_t t = 0; t < m.router->dims[0]; t++) {
        for (int64_t h = 0; h < m.hidden; h++) {
            v[h] = get_f(m.x, t * m.hidden + h);
            y[h] = 0;
        }
        moe_choose(k, &m, t, order);
        for (int64_t e = 0; e < m.experts; e++)
            if (m.weight[e] != 0)
                one_expert(&m, e, v, y);
        for (int64_t h = 0; h < m.hidden; h++)
            put_f(&k->out[0], t * m.hidden + h, y[h]);
    }
    return CLV_OK;
}

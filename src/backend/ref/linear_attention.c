/* linear_attention.c - attention over a state that is updated step by step. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

/* q (B,T,Hq*D), k (B,T,H*D), v (B,T,H*E); the state S (D,E) of one head */
typedef struct recurrence {
    const clv_tensor *q, *k, *v, *decay, *beta;
    int64_t steps, q_heads, kv_heads, d, e;
    bool gated, delta;
    double scale, *state, *value; /* value: E of them */
} recurrence;

static clv_status recurrence_of(kernel *k, recurrence *r)
{
    const clv_tensor *q = k->in[0];
    const char *rule = attr_str(k->n, CLV_A_RULE);
    *r = (recurrence){.q = q,
                      .k = k->in[1],
                      .v = k->in[2],
                      .decay = input_of(k, 4),
                      .beta = input_of(k, 5),
                      .steps = q->dims[1],
                      .q_heads = attr_int(k->n, CLV_A_HEADS),
                      .kv_heads = attr_int(k->n, CLV_A_KV_HEADS),
                      .gated = strstr(rule, "gated") != NULL,
                      .delta = strstr(rule, "delta") != NULL};
    r->d = q->dims[2] / r->q_heads;
    r->e = r->v->dims[2] / r->kv_heads;
    r->scale = attr_get(k->n, CLV_A_SCALE) ? attr_float(k->n, CLV_A_SCALE) : 0;
    if (fabs(r->scale) <= 0)
        r->scale = 1 / sqrt((double)r->d);
    r->state =
        arena_array(k->scratch, (size_t)(r->d * r->e) + 1, sizeof *r->state);
    r->value = arena_array(k->scratch, (size_t)r->e + 1, sizeof *r->value);
    return r->state && r->value ? CLV_OK : clv__nomem(k->e);
}

/* Decay has one number per head, or one per head and row of the state; beta
 * one per head, or one for all. */
static clv_status recurrence_check(const kernel *k, const recurrence *r)
{
    int64_t b = r->q->dims[0], t = r->steps, h = r->kv_heads;
    const clv_tensor *g = r->decay;
    CLV_TRY(sized(k, 3, 4, DIMS(b, h, r->d, r->e)));
    if ((r->gated && !g) || (r->delta && !r->beta))
        return clv__fail(k->e, CLV_SHAPE, "rule %s without its %s",
                         attr_str(k->n, CLV_A_RULE),
                         r->gated && !g ? "decay" : "beta");
    if (r->gated)
        CLV_TRY(
            sized(k, 4, 3,
                  DIMS(b, t, g->rank == 3 && g->dims[2] == h ? h : h * r->d)));
    if (r->delta)
        CLV_TRY(sized(
            k, 5, 3,
            DIMS(b, t, r->beta->rank == 3 && r->beta->dims[2] == 1 ? 1 : h)));
    return CLV_OK;
}

/* The state lessened by the decay of a step; `row` counts steps of all. */
static void recurrence_decay(const recurrence *r, int64_t row, int64_t head)
{
    bool each = r->decay->dims[2] != r->kv_heads || r->d == 1;
    for (int64_t i = 0; i < r->d * r->e; i++) {
        int64_t at = each ? (row * r->kv_heads + head) * r->d + i / r->e
                          : row * r->kv_heads + head;
        r->state[i] *= exp(get_f(r->decay, at));
    }
}

/* S += k (x) v, where v may first be lessened by what S holds for k. */
static void recurrence_write(const recurrence *r, int64_t row, int64_t head)
{
    int64_t k0 = (row * r->kv_heads + head) * r->d;
    int64_t v0 = (row * r->kv_heads + head) * r->e;
    for (int64_t m = 0; m < r->e; m++) {
        r->value[m] = get_f(r->v, v0 + m);
        if (!r->delta)
            continue;
        double held = 0;
        for (int64_t i = 0; i < r->d; i++)
            held += r->state[i * r->e + m] * get_f(r->k, k0 + i);
        int64_t wide = r->beta->dims[2];
        r->value[m] = (r->value[m] - held) *
                      get_f(r->beta, row * wide + (wide == 1 ? 0 : head));
    }
    for (int64_t i = 0; i < r->d * r->e; i++)
        r->state[i] += get_f(r->k, k0 + i / r->e) * r->value[i % r->e];
}

/* y = scale q S, for each query head of the group. */
static void recurrence_read(const recurrence *r, int64_t row, int64_t head,
                            clv_tensor *y)
{
    int64_t group = r->q_heads / r->kv_heads;
    for (int64_t h = head * group; h < (head + 1) * group; h++)
        for (int64_t m = 0; m < r->e; m++) {
            double sum = 0;
            for (int64_t i = 0; i < r->d; i++)
                sum += get_f(r->q, (row * r->q_heads + h) * r->d + i) *
                       r->state[i * r->e + m];
            put_f(y, (row * r->q_heads + h) * r->e + m, sum * r->scale);
        }
}

/* q, k, v, state, decay, beta -> y, state */
clv_status kernel_linear_attention(kernel *k)
{
    const clv_tensor *past = input_of(k, 3);
    clv_tensor *y = output_of(k, 0), *present = output_of(k, 1);
    recurrence r;
    CLV_TRY(recurrence_of(k, &r));
    CLV_TRY(recurrence_check(k, &r));
    int64_t size = r.d * r.e;
    for (int64_t i = 0; i < r.q->dims[0] * r.kv_heads; i++) {
        int64_t batch = i / r.kv_heads, head = i % r.kv_heads;
        for (int64_t j = 0; j < size; j++)
            r.state[j] = past ? get_f(past, i * size + j) : 0;
        for (int64_t t = 0; t < r.steps && clv__in_time(size); t++) {
            int64_t row = batch * r.steps + t;
            if (r.gated)
                recurrence_decay(&r, row, head);
            recurrence_write(&r, row, head);
            if (y)
                recurrence_read(&r, row, head, y);
        }
        for (int64_t j = 0; present && j < size; j++)
            put_f(present, i * size + j, r.state[j]);
    }
    return CLV_OK;
}

/* attention_past.c - attention with a past, as a language model decodes: few
 * new tokens and many keys that are there already.
 *
 * The present is made first, in the outputs if they are asked for: what counts
 * of the past and the new keys behind it, turned by their positions. Then each
 * query takes its products with the keys that it sees, their softmax, and the
 * sum of the values. Several heads of queries share keys and values. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

#include <math.h>
#include <string.h>

enum { PAST_KEY = 4, PAST_VALUE, PAST_LAST, PAST_COS, PAST_SIN };

typedef struct past_job {
    const clv_tensor *last;     /* the last key's index by entry, or NULL */
    const float *cos, *sin;     /* NULL: nothing is turned */
    float *q, *key, *value, *y; /* q turned (B,S,H,D); (B,H,room,D) */
    float *scores, scale;
    int64_t *before; /* keys of the past that count, by entry */
    int64_t batch, heads, kv_heads, queries, length, room, d, dv;
    int64_t half, rows, parts;
    bool causal, pairs;
} past_job;

/* One head turned by row `row` of the tables. */
static void past_turn(const past_job *j, const float *x, int64_t row, float *y)
{
    CPU_NAME(clv__cpu_turn)
    (x, j->cos + row * j->half, j->sin + row * j->half, j->half, j->d, j->pairs,
     y);
}

/* What counts of the past, then x (B,S,H*d), to `to` (B,H,room,d). */
static void past_join(const past_job *j, const clv_tensor *past, const float *x,
                      int64_t d, bool turn, float *to)
{
    for (int64_t i = 0; i < j->batch * j->kv_heads; i++) {
        int64_t b = i / j->kv_heads, h = i % j->kv_heads;
        int64_t before = j->before[b];
        float *at = to + i * j->room * d;
        if (past && before)
            memcpy(at, (const float *)past->data + i * j->length * d,
                   (size_t)(before * d) * sizeof *at);
        for (int64_t s = 0; s < j->queries; s++) {
            const float *from =
                x + ((b * j->queries + s) * j->kv_heads + h) * d;
            if (turn && j->cos)
                past_turn(j, from, before + s, at + (before + s) * d);
            else
                memcpy(at + (before + s) * d, from, (size_t)d * sizeof *at);
        }
        before += j->queries;
        memset(at + before * d, 0,
               (size_t)((j->room - before) * d) * sizeof *at);
    }
}

/* Products of x with n rows of d numbers. */
static void past_products(const float *restrict x, const float *restrict rows,
                          int64_t n, int64_t d, float scale, float *restrict to)
{
    enum { LANES = 16 };
    for (int64_t i = 0; i < n; i++, rows += d) {
        float lanes[LANES] = {0}, sum = 0;
        int64_t c = 0;
        for (; c + LANES <= d; c += LANES)
            for (int l = 0; l < LANES; l++)
                lanes[l] += x[c + l] * rows[c + l];
        for (; c < d; c++)
            sum += x[c] * rows[c];
        for (int l = 0; l < LANES; l++)
            sum += lanes[l];
        to[i] = sum * scale;
    }
}

static void past_query(const past_job *j, int64_t b, int64_t s, int64_t h,
                       float *scores)
{
    int64_t kv = b * j->kv_heads + h / (j->heads / j->kv_heads);
    int64_t n = j->before[b] + (j->causal ? s + 1 : j->queries);
    int64_t at = (b * j->queries + s) * j->heads + h;
    const float *values = j->value + kv * j->room * j->dv;
    float *y = j->y + at * j->dv, most = -INFINITY, sum = 0;
    if (j->last && get_i(j->last, b) + 1 < n)
        n = get_i(j->last, b) + 1;
    past_products(j->q + at * j->d, j->key + kv * j->room * j->d, n, j->d,
                  j->scale, scores);
    for (int64_t i = 0; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (int64_t i = 0; i < n; i++)
        scores[i] = v_exp(scores[i] - most);
    for (int64_t i = 0; i < n; i++)
        sum += scores[i];
    memset(y, 0, (size_t)j->dv * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < j->dv; c++)
            y[c] += scores[i] * values[i * j->dv + c];
    for (int64_t c = 0; c < j->dv; c++)
        y[c] /= sum;
}

static void past_part(void *ctx, int64_t from, int64_t to)
{
    const past_job *j = ctx;
    int64_t items = j->batch * j->queries * j->heads;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = items * p / j->parts; i < items * (p + 1) / j->parts;
             i++)
            past_query(j, i / (j->queries * j->heads),
                       i / j->heads % j->queries, i % j->heads,
                       j->scores + p * j->room);
}

/* Rows of all heads, a past of the same heads or none, in float32, and nothing
 * that only the plain kernel knows. */
static bool past_is_usual(const kernel *k)
{
    const clv_node *n = k->n;
    for (uint32_t i = 0; i < 3; i++)
        if (!input_of(k, i) || k->in[i]->rank != 3 ||
            k->in[i]->dtype != CLV_FLOAT32)
            return false;
    const clv_tensor *pk = input_of(k, PAST_KEY), *pv = input_of(k, PAST_VALUE);
    if (!pk || !pv || pk->rank != 4 || pv->rank != 4 ||
        pk->dtype != CLV_FLOAT32 || pv->dtype != CLV_FLOAT32 ||
        input_of(k, 3) || output_of(k, 3) || k->out[0].dtype != CLV_FLOAT32)
        return false;
    bool cached = attr_int(n, CLV_A_CACHE) != 0;
    return (cached || !input_of(k, PAST_LAST)) && !attr_int(n, CLV_A_ALIGNED) &&
           attr_float(n, CLV_A_SOFTCAP) == 0 &&
           !attr_int(n, CLV_A_SMOOTH_SOFTMAX) &&
           attr_int(n, CLV_A_LOCAL_WINDOW) <= 0 &&
           attr_int(n, CLV_A_LEFT_WINDOW) < 0 &&
           attr_int(n, CLV_A_RIGHT_WINDOW) < 0;
}

/* Sizes that fit each other, as the plain kernel asks for them. */
static bool past_sizes(const kernel *k, past_job *j)
{
    const clv_tensor *q = k->in[0], *key = k->in[1], *v = k->in[2];
    const clv_tensor *pk = k->in[PAST_KEY], *pv = k->in[PAST_VALUE];
    j->heads = attr_int(k->n, CLV_A_HEADS);
    j->kv_heads = attr_int(k->n, CLV_A_KV_HEADS);
    if (j->heads < 1 || j->kv_heads < 1 || j->heads % j->kv_heads ||
        q->dims[2] % j->heads || key->dims[2] % j->kv_heads ||
        v->dims[2] % j->kv_heads)
        return false;
    j->batch = q->dims[0];
    j->queries = q->dims[1];
    j->d = q->dims[2] / j->heads;
    j->dv = v->dims[2] / j->kv_heads;
    j->length = pk->dims[2];
    int64_t room = attr_int(k->n, CLV_A_SIZE);
    j->room = room <= 0          ? j->length + j->queries
              : room > j->length ? room
                                 : j->length;
    int64_t kd[4] = {j->batch, j->kv_heads, j->length, j->d};
    int64_t vd[4] = {j->batch, j->kv_heads, j->length, j->dv};
    return key->dims[0] == j->batch && key->dims[1] == j->queries &&
           v->dims[0] == j->batch && v->dims[1] == j->queries &&
           key->dims[2] == j->kv_heads * j->d &&
           !memcmp(pk->dims, kd, sizeof kd) &&
           !memcmp(pv->dims, vd, sizeof vd) &&
           numel(&k->out[0]) == j->batch * j->queries * j->heads * j->dv;
}

/* Where new keys go; false where the plain kernel refuses or knows better. */
static bool past_places(kernel *k, past_job *j)
{
    j->last = attr_int(k->n, CLV_A_CACHE) ? input_of(k, PAST_LAST) : NULL;
    j->before =
        arena_array(k->scratch, (size_t)j->batch + 1, sizeof *j->before);
    if (!j->before || (j->last && numel(j->last) < j->batch))
        return false;
    for (int64_t b = 0; b < j->batch; b++) {
        int64_t at = j->last ? get_i(j->last, b) + 1 - j->queries : j->length;
        if (at < 0 || at > j->room - j->queries || at > j->length ||
            (j->cos && at + j->queries > j->rows))
            return false;
        j->before[b] = at;
    }
    return true;
}

static bool past_tables(const kernel *k, past_job *j)
{
    const clv_tensor *c = input_of(k, PAST_COS), *s = input_of(k, PAST_SIN);
    if (!c || !s)
        return true;
    j->half = c->rank == 2 ? c->dims[1] : 0;
    if (j->half < 1 || 2 * j->half > j->d || numel(c) != numel(s) ||
        c->dtype != CLV_FLOAT32 || s->dtype != CLV_FLOAT32)
        return false;
    j->rows = numel(c) / j->half;
    j->cos = c->data;
    j->sin = s->data;
    j->pairs = attr_int(k->n, CLV_A_INTERLEAVED) != 0;
    return true;
}

/* The present, in output o if it is asked for and has that size. */
static float *past_present(kernel *k, uint32_t o, int64_t n)
{
    clv_tensor *y = output_of(k, o);
    if (y)
        return y->dtype == CLV_FLOAT32 && numel(y) == n ? y->data : NULL;
    return arena_array(k->scratch, (size_t)n + 1, sizeof(float));
}

bool CPU_NAME(cpu_attention_past)(kernel *k)
{
    past_job j = {0};
    if (!past_is_usual(k) || !past_sizes(k, &j) || !past_tables(k, &j) ||
        !past_places(k, &j))
        return false;
    int64_t items = j.batch * j.queries * j.heads;
    int64_t rows = j.batch * j.kv_heads * j.room;
    double scale =
        attr_get(k->n, CLV_A_SCALE) ? attr_float(k->n, CLV_A_SCALE) : 0;
    j.scale = (float)(scale != 0 ? scale : 1 / sqrt((double)j.d));
    j.causal = attr_int(k->n, CLV_A_CAUSAL) != 0;
    j.parts = 4 * (int64_t)k->threads < items ? 4 * (int64_t)k->threads : items;
    j.q = k->in[0]->data;
    j.y = k->out[0].data;
    j.key = past_present(k, 1, rows * j.d);
    j.value = past_present(k, 2, rows * j.dv);
    j.scores =
        arena_array(k->scratch, (size_t)(j.parts * j.room), sizeof *j.scores);
    float *turned =
        j.cos ? arena_array(k->scratch, (size_t)(items * j.d), sizeof *turned)
              : j.q;
    if (!j.key || !j.value || !j.scores || !turned)
        return false;
    for (int64_t i = 0; j.cos && i < items; i++) {
        int64_t token = i / j.heads, b = token / j.queries;
        past_turn(&j, j.q + i * j.d, j.before[b] + token % j.queries,
                  turned + i * j.d);
    }
    j.q = turned;
    past_join(&j, k->in[PAST_KEY], k->in[1]->data, j.d, true, j.key);
    past_join(&j, k->in[PAST_VALUE], k->in[2]->data, j.dv, false, j.value);
    clv__parallel(items * j.room * j.d < CPU_GRAIN ? 1 : k->threads, j.parts, 1,
                  past_part, &j);
    return true;
}

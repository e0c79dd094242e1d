/* rnn.c - recurrent layers in ONNX's form, one step after the other:
 * x (L,N,I), W (D,G*H,I), R (D,G*H,H), B (D,2*G*H), then lengths, h0, c0, P. A
 * quantised LSTM may have bytes W (D,I,G*H) and R (D,H,G*H) with their scales
 * and zero points as inputs 8 to 11. */
#include "backend/rnn_layers.h"

#include <math.h>
#include <string.h>

typedef struct act_params {
    double a, b;
} act_params;

typedef double act_fn(double x, act_params p);

enum {
    RNN_SCALES = 8 /* scale and zero point of W, then of R, where those are
                    * bytes */
};
enum { ACTS = 3 }; /* of an LSTM: for its gates, the new state, the result */

typedef struct cell {
    const clv_tensor *x, *w, *r, *b, *lengths, *peep;
    int64_t length, batch, input, hidden, gates, way;
    bool back, reset_after; /* GRU: linear_before_reset */
    bool coupled;           /* LSTM: what is not let in is forgotten */
    bool quantized;         /* x and states are rounded to 8 bits */
    double clip;            /* of what functions get; 0: no limit */
    act_fn *act[2][ACTS];   /* per direction */
    act_params params[2][ACTS];
} cell;

/* -- functions ------------------------------------------------------------*/

#define ACT(name, expr) \
    static double name(double x, act_params p) \
    { \
        (void)p; \
        return expr; \
    }

ACT(act_sigmoid, 1 / (1 + exp(-x)))
ACT(act_tanh, tanh(x))
ACT(act_relu, x > 0 ? x : 0)
ACT(act_affine, p.a *x + p.b)
ACT(act_leaky, x >= 0 ? x : p.a * x)
ACT(act_thresholded, x > p.a ? x : 0)
ACT(act_scaled_tanh, p.a *tanh(p.b *x))
ACT(act_hard_sigmoid, fmin(fmax(p.a *x + p.b, 0), 1))
ACT(act_elu, x >= 0 ? x : p.a * expm1(x))
ACT(act_softsign, x / (1 + fabs(x)))
ACT(act_softplus, x > 30 ? x : log1p(exp(x)))

/* How many parameters each takes, and what they are when left out: as ONNX's
 * operator of the name has them; NaN where it has no default. */
static const struct act_row {
    const char *name;
    act_fn *fn;
    int params;
    act_params usual;
} act_rows[] = {
    {"Sigmoid", act_sigmoid, 0, {0, 0}},
    {"Tanh", act_tanh, 0, {0, 0}},
    {"Relu", act_relu, 0, {0, 0}},
    {"Affine", act_affine, 2, {1, 0}},
    {"LeakyRelu", act_leaky, 1, {0.01, 0}},
    {"ThresholdedRelu", act_thresholded, 1, {1, 0}},
    {"ScaledTanh", act_scaled_tanh, 2, {NAN, NAN}},
    {"HardSigmoid", act_hard_sigmoid, 2, {0.2, 0.5}},
    {"Elu", act_elu, 1, {1, 0}},
    {"Softsign", act_softsign, 0, {0, 0}},
    {"Softplus", act_softplus, 0, {0, 0}},
};

/* ONNX tells the names of activations without regard to case. */
static const struct act_row *act_named(const char *name)
{
    for (size_t i = 0; i < sizeof act_rows / sizeof *act_rows; i++)
        if (clv__same_word(act_rows[i].name, name))
            return &act_rows[i];
    return NULL;
}

/* The next number of a list of them that functions share, in their order. */
static double act_next(const clv_attr *list, uint32_t *at, double otherwise)
{
    if (!list || list->type != CLV_ATTR_FLOATS || *at >= list->n)
        return otherwise;
    return list->u.floats[(*at)++];
}

static clv_status act_read(const kernel *k, int64_t ways, uint32_t each,
                           cell *c)
{
    static const char *const usual[ACTS] = {"Sigmoid", "Tanh", "Tanh"};
    const clv_attr *names = attr_get(k->n, CLV_A_ACTIVATIONS);
    const clv_attr *alphas = attr_get(k->n, CLV_A_ALPHAS);
    const clv_attr *betas = attr_get(k->n, CLV_A_BETAS);
    uint32_t a = 0, b = 0;
    if (names && names->n != each * (uint32_t)ways)
        return clv__fail(k->e, CLV_SHAPE, "%u activations, not %u", names->n,
                         each * (uint32_t)ways);
    for (uint32_t i = 0; i < each * (uint32_t)ways; i++) {
        const char *name = usual[(each == 1) + i % each];
        if (names)
            name = names->u.strings[i];
        const struct act_row *row = act_named(name);
        if (!row)
            return clv__fail(k->e, CLV_UNSUPPORTED, "activation '%s'", name);
        act_params *p = &c->params[i / each][i % each];
        c->act[i / each][i % each] = row->fn;
        *p = row->usual;
        if (row->params > 0)
            p->a = act_next(alphas, &a, p->a);
        if (row->params > 1)
            p->b = act_next(betas, &b, p->b);
        if (isnan(p->a) || isnan(p->b))
            return clv__fail(k->e, CLV_UNSUPPORTED,
                             "activation '%s' without its parameters", name);
    }
    return CLV_OK;
}

/* Function f of this direction. */
static double act_plain(const cell *c, int f, double v)
{
    return c->act[c->way][f](v, c->params[c->way][f]);
}

/* The same of a sum that may be limited. */
static double act_at(const cell *c, int f, double v)
{
    if (c->clip > 0)
        v = fmin(fmax(v, -c->clip), c->clip);
    return act_plain(c, f, v);
}

/* -- 8 bits ---------------------------------------------------------------*/

/* Rounds n numbers to 255 steps of their range, with 0 in it, in float32 as
 * com.microsoft.DynamicQuantizeLSTM does. */
static void rnn_round(const double *x, int64_t n, double *out)
{
    float lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        lo = fminf(lo, (float)x[i]);
        hi = fmaxf(hi, (float)x[i]);
    }
    float scale = hi > lo ? (hi - lo) / 255 : 1;
    float zero = nearbyintf(fminf(fmaxf(-lo / scale, 0), 255));
    for (int64_t i = 0; i < n; i++) {
        float step = nearbyintf((float)x[i] / scale) + zero;
        out[i] = (double)(fminf(fmaxf(step, 0), 255) - zero) * (double)scale;
    }
}

/* The whole of x is rounded at once. */
static clv_status rnn_round_input(kernel *k, cell *c, clv_tensor *rounded)
{
    int64_t n = numel(c->x);
    *rounded = *c->x;
    rounded->dtype = CLV_FLOAT64;
    double *all = arena_array(k->scratch, (size_t)n + 1, sizeof *all);
    rounded->data = all;
    if (!all)
        return clv__nomem(k->e);
    for (int64_t i = 0; i < n; i++)
        all[i] = get_f(c->x, i);
    rnn_round(all, n, all);
    c->x = rounded;
    return CLV_OK;
}

/* Makes of a matrix of bytes (D,K,N), whose scale and zero point are inputs i
 * and i + 1, the (D,N,K) of numbers that it stands for. */
static clv_status rnn_unpack(kernel *k, const clv_tensor *t, uint32_t i,
                             const clv_tensor **to)
{
    const clv_tensor *s = k->in[i], *z = k->in[i + 1];
    clv_tensor *out = arena_alloc(k->scratch, sizeof *out);
    if (t->rank != 3 || (numel(s) != 1 && numel(s) != t->dims[0]) ||
        (numel(z) != 1 && numel(z) != t->dims[0]))
        return clv__fail(k->e, CLV_SHAPE, "scales of a recurrent layer");
    double *all = arena_array(k->scratch, (size_t)numel(t) + 1, sizeof *all);
    if (!out || !all)
        return clv__nomem(k->e);
    int64_t depth = t->dims[1], n = t->dims[2];
    *out = (clv_tensor){.dtype = CLV_FLOAT64, .rank = 3, .data = all};
    out->dims[0] = t->dims[0];
    out->dims[1] = n;
    out->dims[2] = depth;
    for (int64_t at = 0; at < numel(t); at++) {
        int64_t way = at / (depth * n), d = at / n % depth, c = at % n;
        double v = get_f(t, at) - get_f(z, numel(z) > 1 ? way : 0);
        all[(way * n + c) * depth + d] = v * get_f(s, numel(s) > 1 ? way : 0);
    }
    *to = out;
    return CLV_OK;
}

/* -- steps ----------------------------------------------------------------*/

/* Gate g, unit u of W x + bias; and of R h + bias. */
static double from_input(const cell *c, int64_t t, int64_t n, int64_t row)
{
    int64_t rows = c->gates * c->hidden;
    double sum = c->b ? get_f(c->b, c->way * 2 * rows + row) : 0;
    clv__budget.work += c->input + c->hidden; /* of both functions */
    for (int64_t i = 0; i < c->input; i++)
        sum += get_f(c->x, (t * c->batch + n) * c->input + i) *
               get_f(c->w, (c->way * rows + row) * c->input + i);
    return sum;
}

static double from_state(const cell *c, const double *h, int64_t row)
{
    int64_t rows = c->gates * c->hidden;
    double sum = c->b ? get_f(c->b, c->way * 2 * rows + rows + row) : 0;
    for (int64_t i = 0; i < c->hidden; i++)
        sum += h[i] * get_f(c->r, (c->way * rows + row) * c->hidden + i);
    return sum;
}

static double rnn_peephole(const cell *c, int64_t gate, int64_t u)
{
    return c->peep ? get_f(c->peep, (c->way * 3 + gate) * c->hidden + u) : 0;
}

/* Gates i, o, f, c; `seen` is what products see of h. */
static void lstm_step(const cell *c, int64_t t, int64_t n, double *h,
                      const double *seen, double *state, double *next)
{
    int64_t hid = c->hidden;
    for (int64_t u = 0; u < hid; u++) {
        double g[4];
        for (int64_t q = 0; q < 4; q++)
            g[q] = from_input(c, t, n, q * hid + u) +
                   from_state(c, seen, q * hid + u);
        double i = act_at(c, 0, g[0] + rnn_peephole(c, 0, u) * state[u]);
        double f = act_at(c, 0, g[2] + rnn_peephole(c, 2, u) * state[u]);
        if (c->coupled)
            f = 1 - i;
        double s = f * state[u] + i * act_at(c, 1, g[3]);
        double out = act_at(c, 0, g[1] + rnn_peephole(c, 1, u) * s);
        next[u] = out * act_plain(c, 2, s);
        state[u] = s;
    }
    memcpy(h, next, (size_t)hid * sizeof *h);
}

/* Gates z, r, h */
static void gru_step(const cell *c, int64_t t, int64_t n, double *h,
                     double *reset, double *next)
{
    int64_t hid = c->hidden, rows = 3 * hid;
    for (int64_t u = 0; u < hid; u++)
        reset[u] = act_at(
            c, 0, from_input(c, t, n, hid + u) + from_state(c, h, hid + u));
    for (int64_t u = 0; u < hid; u++) {
        double z = act_at(c, 0, from_input(c, t, n, u) + from_state(c, h, u));
        double again;
        if (c->reset_after) {
            again = reset[u] * from_state(c, h, 2 * hid + u);
        } else {
            again =
                c->b ? get_f(c->b, c->way * 2 * rows + rows + 2 * hid + u) : 0;
            for (int64_t i = 0; i < hid; i++)
                again += reset[i] * h[i] *
                         get_f(c->r, (c->way * rows + 2 * hid + u) * hid + i);
        }
        double g = act_at(c, 1, from_input(c, t, n, 2 * hid + u) + again);
        next[u] = (1 - z) * g + z * h[u];
    }
    memcpy(h, next, (size_t)hid * sizeof *h);
}

static void rnn_step(const cell *c, int64_t t, int64_t n, double *h,
                     double *next)
{
    for (int64_t u = 0; u < c->hidden; u++)
        next[u] = act_at(c, 0, from_input(c, t, n, u) + from_state(c, h, u));
    memcpy(h, next, (size_t)c->hidden * sizeof *h);
}

/* States of all sequences of one direction, batch by hidden each. */
typedef struct rnn_states {
    double *h, *seen, *state; /* state: the LSTM's cell, or room for a GRU */
    double *next;             /* of one sequence */
} rnn_states;

static void rnn_one(const kernel *k, const cell *c, int64_t t, int64_t n,
                    const rnn_states *r)
{
    int64_t at = n * c->hidden;
    if (k->n->op == CLV_OP_LSTM)
        lstm_step(c, t, n, r->h + at, r->seen + at, r->state + at, r->next);
    else if (k->n->op == CLV_OP_GRU)
        gru_step(c, t, n, r->h + at, r->state + at, r->next);
    else
        rnn_step(c, t, n, r->h + at, r->next);
}

/* One direction, all sequences step by step. */
static void rnn_direction(kernel *k, const cell *c, int64_t ways,
                          const rnn_states *r)
{
    clv_tensor *y = &k->out[0];
    for (int64_t s = 0; s < c->length; s++) {
        if (c->quantized)
            rnn_round(r->h, c->batch * c->hidden, r->seen);
        for (int64_t n = 0; n < c->batch && clv__in_time(1); n++) {
            int64_t length = c->lengths ? get_i(c->lengths, n) : c->length;
            int64_t t = c->back ? length - 1 - s : s;
            if (s >= length || t >= c->length)
                continue;
            rnn_one(k, c, t, n, r);
            int64_t at = ((t * ways + c->way) * c->batch + n) * c->hidden;
            for (int64_t u = 0; y->data && u < c->hidden; u++)
                put_f(y, at + u, r->h[n * c->hidden + u]);
        }
    }
}

/* Weights and states as the sizes of x, W and R demand. */
static clv_status check_sizes(const kernel *k, const cell *c, int64_t ways)
{
    int64_t hidden = c->hidden, rows = c->gates * hidden;
    if (input_of(k, RNN_SCALES)) {
        CLV_TRY(sized(k, 1, 3, DIMS(ways, c->input, rows)));
        CLV_TRY(sized(k, 2, 3, DIMS(ways, hidden, rows)));
    } else {
        CLV_TRY(sized(k, 1, 3, DIMS(ways, rows, c->input)));
        CLV_TRY(sized(k, 2, 3, DIMS(ways, rows, hidden)));
    }
    CLV_TRY(sized(k, 3, 2, DIMS(ways, 2 * rows)));
    CLV_TRY(sized(k, 4, 1, DIMS(c->batch)));
    CLV_TRY(sized(k, 5, 3, DIMS(ways, c->batch, hidden)));
    if (k->n->op != CLV_OP_LSTM)
        return CLV_OK;
    CLV_TRY(sized(k, 6, 3, DIMS(ways, c->batch, hidden)));
    return sized(k, 7, 2, DIMS(ways, 3 * hidden));
}

clv_status kernel_rnn(kernel *k)
{
    const clv_tensor *h0 = input_of(k, 5), *c0 = input_of(k, 6);
    bool lstm = k->n->op == CLV_OP_LSTM, gru = k->n->op == CLV_OP_GRU;
    const char *direction = attr_str(k->n, CLV_A_DIRECTION);
    clv_tensor rounded;
    cell c = {.x = k->in[0],
              .w = input_of(k, 1),
              .r = input_of(k, 2),
              .b = input_of(k, 3),
              .lengths = input_of(k, 4),
              .peep = lstm ? input_of(k, 7) : NULL,
              .gates = lstm  ? 4
                       : gru ? 3
                             : 1};
    if (strcmp(attr_str(k->n, CLV_A_LAYOUT), "onnx") != 0)
        return clv__rnn_layers(k, kernel_rnn);
    c.reset_after = gru && attr_int(k->n, CLV_A_LINEAR_BEFORE_RESET);
    c.length = c.x->dims[0];
    c.batch = c.x->dims[1];
    c.input = c.x->dims[2];
    c.hidden = attr_int(k->n, CLV_A_HIDDEN);
    int64_t ways = !strcmp(direction, "bidirectional") ? 2 : 1;
    if (!c.w || !c.r)
        return clv__fail(k->e, CLV_SHAPE, "a recurrent layer without weights");
    CLV_TRY(check_sizes(k, &c, ways));
    if (k->n->n_in == RNN_SCALES + 4 && input_of(k, RNN_SCALES)) {
        CLV_TRY(rnn_unpack(k, c.w, RNN_SCALES, &c.w));
        CLV_TRY(rnn_unpack(k, c.r, RNN_SCALES + 2, &c.r));
    }
    CLV_TRY(act_read(k, ways, lstm ? 3 : gru ? 2 : 1, &c));
    c.coupled = lstm && attr_int(k->n, CLV_A_INPUT_FORGET);
    if (attr_get(k->n, CLV_A_CLIP))
        c.clip = attr_float(k->n, CLV_A_CLIP);
    c.quantized = lstm && attr_int(k->n, CLV_A_QUANTIZED);
    if (c.quantized)
        CLV_TRY(rnn_round_input(k, &c, &rounded));
    int64_t each = c.batch * c.hidden;
    double *room = arena_array(
        k->scratch, 3 * (size_t)each + (size_t)c.hidden + 1, sizeof *room);
    if (!room)
        return clv__nomem(k->e);
    rnn_states r = {room, c.quantized ? room + each : room, room + 2 * each,
                    room + 3 * each};
    if (k->out[0].data)
        memset(k->out[0].data, 0, (size_t)clv_tensor_bytes(&k->out[0]));
    for (c.way = 0; c.way < ways; c.way++) {
        c.back = c.way == 1 || !strcmp(direction, "reverse");
        for (int64_t i = 0, at = c.way * each; i < each; i++) {
            r.h[i] = h0 ? get_f(h0, at + i) : 0;
            r.state[i] = lstm && c0 ? get_f(c0, at + i) : 0;
        }
        rnn_direction(k, &c, ways, &r);
        for (int64_t i = 0, at = c.way * each; i < each; i++) {
            if (output_of(k, 1))
                put_f(output_of(k, 1), at + i, r.h[i]);
            if (output_of(k, 2))
                put_f(output_of(k, 2), at + i, r.state[i]);
        }
    }
    return CLV_OK;
}

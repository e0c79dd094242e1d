/* rnn.c - recurrent layers in ONNX's form: x (L,N,I), W (D,G*H,I), R (D,G*H,H),
 * B (D,2*G*H), then lengths, h0, c0.
 *
 * What the inputs give to the gates is one product for all steps; each step
 * then adds what the state gives and applies the functions, a row of the batch
 * at a time. Both ways of a layer run at the same time. Only the usual
 * functions, and all sequences of one length. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/vmath.h"

#include <string.h>

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)
#define gemm_all  CPU_NAME(clv__gemm_all)

enum { STEP_WORK = 300000 }; /* products of a step that are worth threads */

typedef struct rnn_job {
    clv_op op;
    int64_t length, batch, hidden, gates, ways, way;
    uint32_t threads;             /* of one step */
    bool back;                    /* from the last step to the first */
    const float *r, *b2;          /* of this way */
    const cpu_packed *w, *packed; /* of this way: W and R; or NULL */
    float *x; /* (L,N,G*H): what the inputs give, biases added */
    float *h, *c, *gate, *y, *room; /* y may be NULL */
} rnn_job;

/* Gates i, o, f, c of one batch entry. */
static void lstm_cell(float *restrict g, float *restrict c, float *restrict h,
                      int64_t n)
{
    for (int64_t u = 0; u < n; u++) {
        float i = v_sigmoid(g[u]), o = v_sigmoid(g[n + u]);
        float f = v_sigmoid(g[2 * n + u]), t = v_tanh(g[3 * n + u]);
        float s = f * c[u] + i * t;
        c[u] = s;
        h[u] = o * v_tanh(s);
    }
}

/* Gates z, r, h: x has what inputs give, g what the state gives. */
static void gru_cell(const float *restrict x, const float *restrict g,
                     float *restrict h, int64_t n)
{
    for (int64_t u = 0; u < n; u++) {
        float z = v_sigmoid(x[u] + g[u]);
        float r = v_sigmoid(x[n + u] + g[n + u]);
        float t = v_tanh(x[2 * n + u] + r * g[2 * n + u]);
        h[u] = (1 - z) * t + z * h[u];
    }
}

/* A range of panels of what the state gives, added to `to`. */
typedef struct rnn_state {
    const rnn_job *j;
    float *to;
} rnn_state;

static void rnn_panels(void *ctx, int64_t from, int64_t to)
{
    const rnn_state *s = ctx;
    const rnn_job *j = s->j;
    int64_t rows = j->gates * j->hidden, first = from * j->packed->wide;
    int64_t last = to * j->packed->wide < rows ? to * j->packed->wide : rows;
    CPU_NAME(clv__gemm_onto)
    (j->batch, (cpu_matrix){j->h, j->hidden, 1}, j->packed, first, last - first,
     s->to, rows);
}

/* Adds h R' to `to`. */
static void rnn_add_state(const rnn_job *j, float *to)
{
    int64_t rows = j->gates * j->hidden;
    rnn_state s = {j, to};
    if (!j->packed) {
        gemm(j->batch, rows, j->hidden, (cpu_matrix){j->h, j->hidden, 1},
             (cpu_matrix){j->r, 1, j->hidden}, to, rows, true, j->room);
        return;
    }
    int64_t panels = (rows + j->packed->wide - 1) / j->packed->wide;
    clv__parallel(j->threads, panels, (panels + j->threads - 1) / j->threads,
                  rnn_panels, &s);
}

/* One step over the whole batch. */
static void cpu_rnn_step(const rnn_job *j, int64_t t)
{
    int64_t hid = j->hidden, rows = j->gates * hid;
    float *x = j->x + t * j->batch * rows, *to = x;
    if (j->op == CLV_OP_GRU) {
        to = j->gate;
        for (int64_t n = 0; n < j->batch; n++)
            for (int64_t i = 0; i < rows; i++)
                to[n * rows + i] = j->b2 ? j->b2[i] : 0;
    }
    rnn_add_state(j, to);
    for (int64_t n = 0; n < j->batch; n++) {
        float *g = x + n * rows, *state = j->h + n * hid;
        if (j->op == CLV_OP_LSTM)
            lstm_cell(g, j->c + n * hid, state, hid);
        else if (j->op == CLV_OP_GRU)
            gru_cell(g, j->gate + n * rows, state, hid);
        else
            for (int64_t u = 0; u < hid; u++)
                state[u] = v_tanh(g[u]);
    }
    if (j->y)
        memcpy(j->y + (t * j->ways + j->way) * j->batch * hid, j->h,
               (size_t)(j->batch * hid) * sizeof *j->h);
}

/* Items are ways. */
static void rnn_ways(void *ctx, int64_t from, int64_t to)
{
    const rnn_job *jobs = ctx;
    for (int64_t w = from; w < to; w++) {
        const rnn_job *j = &jobs[w];
        int64_t work = j->batch * j->hidden * j->hidden;
        for (int64_t s = 0; s < j->length && clv__in_time(work); s++)
            cpu_rnn_step(j, j->back ? j->length - 1 - s : s);
    }
}

/* The first `count` states from `from`, or zeros. */
static void rnn_begin(float *state, const clv_tensor *from, int64_t way,
                      int64_t count)
{
    if (from)
        memcpy(state, (const float *)from->data + way * count,
               (size_t)count * sizeof *state);
    else
        memset(state, 0, (size_t)count * sizeof *state);
}

/* Whether input i is left out or is what the plain kernel takes. */
static bool rnn_sized(const kernel *k, uint32_t i, uint32_t rank,
                      const int64_t *dims)
{
    const clv_tensor *t = input_of(k, i);
    return (!t || t->dtype == CLV_FLOAT32) && sized(k, i, rank, dims) == CLV_OK;
}

/* All sequences are as long as the longest. */
static bool rnn_full(const clv_tensor *lengths, int64_t length, int64_t batch)
{
    for (int64_t n = 0; lengths && n < batch; n++)
        if (lengths->rank != 1 || numel(lengths) != batch ||
            get_i(lengths, n) != length)
            return false;
    return true;
}

static bool rnn_usual(const kernel *k, bool gru)
{
    return k->in[0]->dtype == CLV_FLOAT32 && k->in[0]->rank == 3 &&
           input_of(k, 1) && input_of(k, 2) && !input_of(k, 7) &&
           attr_is(k->n, CLV_A_LAYOUT, "onnx") &&
           !attr_get(k->n, CLV_A_ACTIVATIONS) && !attr_get(k->n, CLV_A_CLIP) &&
           (gru ? attr_int(k->n, CLV_A_LINEAR_BEFORE_RESET) != 0
                : k->n->op != CLV_OP_LSTM ||
                      (attr_int(k->n, CLV_A_INPUT_FORGET) == 0 &&
                       attr_int(k->n, CLV_A_QUANTIZED) == 0));
}

/* What the inputs give to the gates of all steps, both biases added but for the
 * part of a GRU's that its reset gate scales. */
static bool rnn_inputs(kernel *k, rnn_job *j, const float *w, const float *b)
{
    int64_t rows = j->gates * j->hidden, in = k->in[0]->dims[2];
    float *bias = NULL;
    if (b) {
        bias = arena_array(k->scratch, (size_t)rows, sizeof *bias);
        for (int64_t i = 0; bias && i < rows; i++)
            bias[i] = b[i] + (j->op == CLV_OP_GRU ? 0 : b[rows + i]);
        if (!bias)
            return false;
    }
    j->b2 = b ? b + rows : NULL;
    if (j->w)
        return CPU_NAME(clv__gemm_ready)(k, j->length * j->batch,
                                         (cpu_matrix){k->in[0]->data, in, 1},
                                         j->w, bias, j->x, rows);
    return gemm_all(k, j->length * j->batch, rows, in,
                    (cpu_matrix){k->in[0]->data, in, 1}, (cpu_matrix){w, 1, in},
                    bias, j->x, rows);
}

static void rnn_give(const kernel *k, uint32_t o, const float *state,
                     int64_t way, int64_t count)
{
    clv_tensor *y = output_of(k, o);
    if (y)
        memcpy((float *)y->data + way * count, state,
               (size_t)count * sizeof *state);
}

static bool rnn_outputs(const kernel *k, const rnn_job *j)
{
    int64_t states = j->ways * j->batch * j->hidden;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        const clv_tensor *y = output_of(k, o);
        if (y && (y->dtype != CLV_FLOAT32 ||
                  numel(y) != (o ? states : states * j->length)))
            return false;
    }
    return true;
}

/* W and R of each way, packed. */
const void *CPU_NAME(cpu_ready_rnn)(kernel *k, arena *mem)
{
    const clv_tensor *w = input_of(k, 1), *r = input_of(k, 2);
    if (!w || !r || !w->data || !r->data || w->dtype != CLV_FLOAT32 ||
        r->dtype != CLV_FLOAT32 || w->rank != 3 || r->rank != 3 ||
        w->dims[0] != r->dims[0] || !attr_is(k->n, CLV_A_LAYOUT, "onnx"))
        return NULL;
    int64_t ways = w->dims[0];
    cpu_packed *p = arena_array(mem, (size_t)(2 * ways), sizeof *p);
    for (int64_t i = 0; p && i < 2 * ways; i++) {
        const clv_tensor *t = i % 2 ? r : w;
        int64_t n = t->dims[1], depth = t->dims[2];
        cpu_matrix b = {(const float *)t->data + i / 2 * n * depth, 1, depth};
        if (!CPU_NAME(clv__gemm_pack)(k, mem, n, depth, b, &p[i]))
            return NULL;
    }
    return p;
}

/* Memory of one way. */
static bool rnn_make_room(kernel *k, rnn_job *j)
{
    int64_t rows = j->gates * j->hidden, states = j->batch * j->hidden;
    j->x = arena_array(k->scratch, (size_t)(j->length * j->batch * rows),
                       sizeof(float));
    j->h = arena_array(k->scratch, (size_t)(2 * states + j->batch * rows),
                       sizeof(float));
    j->room =
        arena_array(k->scratch, (size_t)gemm_room(j->batch, rows, j->hidden),
                    sizeof(float));
    if (!j->x || !j->h || !j->room)
        return false;
    j->c = j->h + states;
    j->gate = j->c + states;
    return true;
}

bool CPU_NAME(cpu_rnn)(kernel *k)
{
    bool lstm = k->n->op == CLV_OP_LSTM, gru = k->n->op == CLV_OP_GRU;
    const clv_tensor *x = k->in[0];
    if (!rnn_usual(k, gru))
        return false;
    const char *direction = attr_str(k->n, CLV_A_DIRECTION);
    rnn_job j = {.op = (clv_op)k->n->op,
                 .length = x->dims[0],
                 .batch = x->dims[1],
                 .hidden = attr_int(k->n, CLV_A_HIDDEN),
                 .gates = lstm  ? 4
                          : gru ? 3
                                : 1,
                 .ways = strcmp(direction, "bidirectional") ? 1 : 2,
                 .y = k->out[0].data};
    int64_t rows = j.gates * j.hidden, in = x->dims[2];
    int64_t states = j.batch * j.hidden;
    if (j.hidden < 1 || !rnn_sized(k, 1, 3, DIMS(j.ways, rows, in)) ||
        !rnn_sized(k, 2, 3, DIMS(j.ways, rows, j.hidden)) ||
        !rnn_sized(k, 3, 2, DIMS(j.ways, 2 * rows)) ||
        !rnn_sized(k, 5, 3, DIMS(j.ways, j.batch, j.hidden)) ||
        (lstm && !rnn_sized(k, 6, 3, DIMS(j.ways, j.batch, j.hidden))) ||
        !rnn_full(input_of(k, 4), j.length, j.batch) || !rnn_outputs(k, &j))
        return false;
    const clv_tensor *b = input_of(k, 3);
    rnn_job jobs[2];
    for (j.way = 0; j.way < j.ways; j.way++) {
        if (!rnn_make_room(k, &j))
            return false;
        const cpu_packed *packed = k->ready;
        j.w = packed ? &packed[2 * j.way] : NULL;
        j.packed = packed ? &packed[2 * j.way + 1] : NULL;
        j.back = j.way == 1 || !strcmp(direction, "reverse");
        j.r = (const float *)k->in[2]->data + j.way * rows * j.hidden;
        if (!rnn_inputs(k, &j,
                        (const float *)k->in[1]->data + j.way * rows * in,
                        b ? (const float *)b->data + j.way * 2 * rows : NULL))
            return false;
        rnn_begin(j.h, input_of(k, 5), j.way, states);
        rnn_begin(j.c, lstm ? input_of(k, 6) : NULL, j.way, states);
        jobs[j.way] = j;
    }
    int64_t work = states * rows;
    for (int64_t w = 0; w < j.ways; w++)
        jobs[w].threads = j.ways == 1 && work >= STEP_WORK ? k->threads : 1;
    clv__parallel(k->threads, j.ways, work * j.length < CPU_GRAIN ? 2 : 1,
                  rnn_ways, jobs);
    for (int64_t w = 0; w < j.ways; w++) {
        rnn_give(k, 1, jobs[w].h, w, states);
        if (lstm)
            rnn_give(k, 2, jobs[w].c, w, states);
    }
    return true;
}

/* rnn.c - recurrent layers in ONNX's form: x (L,N,I), W (D,G*H,I), R (D,G*H,H),
 * B (D,2*G*H), then lengths, h0, c0.
 *
 * What the inputs give to the gates is one product for all steps; each step
 * then adds what the state gives and applies the functions, a row of the batch
 * at a time. Both ways of a layer run at the same time. Only the usual
 * functions, and all sequences of one length.
 *
 * A quantised LSTM has bytes W (D,I,G*H) and R (D,H,G*H), then their scales and
 * zero points as inputs 8 to 11. All of x is rounded to 255 steps of its range,
 * and so is the state before each step; products are of bytes where the
 * processor has them, else of what the bytes stand for. */
#include "backend/cpu/bytes.h"
#include "backend/cpu/vmath.h"
#include "backend/rnn_layers.h"

#include <string.h>

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)
#define gemm_all  CPU_NAME(clv__gemm_all)

enum {
    STEP_WORK = 300000, /* products of a step that are worth threads */
    W_SCALE = 8,        /* inputs of a quantised LSTM */
    BLOCK = 48          /* rows of bytes that are multiplied at a time */
};

/* W or R of one way, packed. */
typedef struct rnn_packed {
    cpu_packed floats;
    cpu_packed last; /* R of a GRU whose reset comes first: its last gate, and
                      * `floats` are the other two */
    const bytes_packed *bytes; /* NULL: floats have it */
    float scale;               /* of the bytes */
    int32_t zero;
} rnn_packed;

typedef struct rnn_job {
    clv_op op;
    int64_t length, batch, hidden, gates, ways, way;
    uint32_t threads;             /* of one step */
    bool back;                    /* from the last step to the first */
    bool reset_first;             /* GRU: the state is reset, then multiplied */
    const float *r, *b2;          /* of this way */
    const rnn_packed *w, *packed; /* of this way: W and R; or NULL */
    uint8_t *codes;               /* of a state that is rounded; or NULL */
    int32_t *sums;                /* of products with them */
    float *x; /* (L,N,G*H): what the inputs give, biases added */
    float *h, *c, *gate, *y, *room; /* y may be NULL */
    float *seen;                    /* room for a rounded state; or NULL */
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

/* What a state is reset to: x has the gates z and r. */
static void gru_reset(float *restrict x, const float *restrict h,
                      float *restrict to, int64_t n)
{
    for (int64_t u = 0; u < n; u++) {
        x[u] = v_sigmoid(x[u]);
        to[u] = v_sigmoid(x[n + u]) * h[u];
    }
}

static void gru_end(const float *restrict x, float *restrict h, int64_t n)
{
    for (int64_t u = 0; u < n; u++)
        h[u] = (1 - x[u]) * v_tanh(x[2 * n + u]) + x[u] * h[u];
}

/* -- 8 bits ---------------------------------------------------------------*/

/* The step and the zero of n numbers' range, with 0 in it, over 255 steps. */
static float rnn_range(const float *x, int64_t n, float *zero)
{
    float lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    float scale = hi > lo ? (hi - lo) / 255 : 1, z = -lo / scale;
    *zero = nearbyintf(z > 255 ? 255 : z);
    return scale;
}

static inline float rnn_code(float x, float scale, float zero)
{
    float v = nearbyintf(x / scale) + zero;
    v = v > 0 ? v : 0;
    return v < 255 ? v : 255;
}

static void rnn_snap(float *x, int64_t n)
{
    float zero, scale = rnn_range(x, n, &zero);
    for (int64_t i = 0; i < n; i++)
        x[i] = (rnn_code(x[i], scale, zero) - zero) * scale;
}

/* Rows of k numbers as rows of `deep` codes. */
static void rnn_codes(const float *x, int64_t rows, const bytes_packed *b,
                      float scale, float zero, uint8_t *to)
{
    for (int64_t r = 0; r < rows; r++, x += b->k, to += b->deep) {
        for (int64_t i = 0; i < b->k; i++)
            to[i] = (uint8_t)(int32_t)rnn_code(x[i], scale, zero);
        memset(to + b->k, 0, (size_t)(b->deep - b->k));
    }
}

/* Adds (codes - zero) b to rows of c, which lie n apart. */
static void rnn_add_bytes(const rnn_packed *p, int64_t rows,
                          const uint8_t *codes, float scale, int32_t zero,
                          int32_t *sums, float *c)
{
    const bytes_packed *b = p->bytes;
    int64_t ld = CPU_NAME(clv__bytes_columns)(b->n);
    float by = scale * p->scale;
    CPU_NAME(clv__bytes_sums)(rows, codes, b, sums, ld);
    for (int64_t r = 0; r < rows; r++, sums += ld, c += b->n) {
        int32_t less = 0;
        for (int64_t i = 0; p->zero && i < b->k; i++)
            less += codes[r * b->deep + i] - zero;
        less *= p->zero;
        for (int64_t i = 0; i < b->n; i++)
            c[i] += (float)(sums[i] - zero * b->sums[i] - less) * by;
    }
}

/* What all of x gives, in blocks of rows. */
typedef struct rnn_whole {
    const rnn_packed *p;
    const uint8_t *codes;
    const float *bias;
    float *to, scale;
    int32_t *sums, zero;
    int64_t rows;
} rnn_whole;

static void rnn_whole_part(void *ctx, int64_t from, int64_t to)
{
    const rnn_whole *w = ctx;
    const bytes_packed *b = w->p->bytes;
    for (int64_t i = from; i < to; i++) {
        int64_t at = i * BLOCK, n = w->rows - at < BLOCK ? w->rows - at : BLOCK;
        float *c = w->to + at * b->n;
        for (int64_t r = 0; r < n; r++)
            for (int64_t u = 0; u < b->n; u++)
                c[r * b->n + u] = w->bias ? w->bias[u] : 0;
        rnn_add_bytes(w->p, n, w->codes + at * b->deep, w->scale, w->zero,
                      w->sums + at * CPU_NAME(clv__bytes_columns)(b->n), c);
    }
}

static bool rnn_bytes_inputs(kernel *k, rnn_job *j, const float *bias)
{
    const bytes_packed *b = j->w->bytes;
    int64_t rows = j->length * j->batch;
    int64_t ld = CPU_NAME(clv__bytes_columns)(b->n);
    const float *x = k->in[0]->data;
    uint8_t *codes =
        arena_array(k->scratch, (size_t)(rows * b->deep), sizeof *codes);
    int32_t *sums = arena_array(k->scratch, (size_t)(rows * ld), sizeof *sums);
    if (!codes || !sums)
        return false;
    float zero, scale = rnn_range(x, rows * b->k, &zero);
    rnn_codes(x, rows, b, scale, zero, codes);
    rnn_whole w = {j->w, codes, bias, j->x, scale, sums, (int32_t)zero, rows};
    clv__parallel(k->threads, (rows + BLOCK - 1) / BLOCK, 1, rnn_whole_part,
                  &w);
    return true;
}

/* Adds what the rounded state gives. */
static void rnn_bytes_state(const rnn_job *j, float *to)
{
    float zero, scale = rnn_range(j->h, j->batch * j->hidden, &zero);
    rnn_codes(j->h, j->batch, j->packed->bytes, scale, zero, j->codes);
    rnn_add_bytes(j->packed, j->batch, j->codes, scale, (int32_t)zero, j->sums,
                  to);
}

/* -- steps ----------------------------------------------------------------*/

/* A range of panels of what the state gives, added to `to`. */
typedef struct rnn_state {
    const rnn_job *j;
    const cpu_packed *r;
    const float *h;
    float *to;
} rnn_state;

static void rnn_panels(void *ctx, int64_t from, int64_t to)
{
    const rnn_state *s = ctx;
    const rnn_job *j = s->j;
    const cpu_packed *p = s->r;
    int64_t rows = j->gates * j->hidden, first = from * p->wide;
    int64_t last = to * p->wide < p->n ? to * p->wide : p->n;
    CPU_NAME(clv__gemm_onto)
    (j->batch, (cpu_matrix){s->h, j->hidden, 1}, p, first, last - first, s->to,
     rows);
}

static void rnn_add_packed(rnn_state s)
{
    uint32_t threads = s.j->threads;
    int64_t panels = (s.r->n + s.r->wide - 1) / s.r->wide;
    clv__parallel(threads, panels, (panels + threads - 1) / threads, rnn_panels,
                  &s);
}

/* Adds h R' to `to`. */
static void rnn_add_state(const rnn_job *j, float *to)
{
    int64_t rows = j->gates * j->hidden, states = j->batch * j->hidden;
    rnn_state s = {j, NULL, j->h, to};
    if (j->packed && j->packed->bytes) {
        rnn_bytes_state(j, to);
        return;
    }
    if (j->seen) { /* bytes, multiplied as floats */
        memcpy(j->seen, j->h, (size_t)states * sizeof *j->h);
        rnn_snap(j->seen, states);
        s.h = j->seen;
    }
    if (!j->packed) {
        gemm(j->batch, rows, j->hidden, (cpu_matrix){j->h, j->hidden, 1},
             (cpu_matrix){j->r, 1, j->hidden}, to, rows, true, j->room);
        return;
    }
    s.r = &j->packed->floats;
    rnn_add_packed(s);
}

/* Adds to the gates of x from `first` on what a state h gives to them. */
static void gru_add(const rnn_job *j, const float *h, int64_t first,
                    int64_t gates, float *x)
{
    int64_t hid = j->hidden;
    float *to = x + first * hid;
    if (j->packed) {
        rnn_add_packed((rnn_state){
            j, first ? &j->packed->last : &j->packed->floats, h, to});
        return;
    }
    gemm(j->batch, gates * hid, hid, (cpu_matrix){h, hid, 1},
         (cpu_matrix){j->r + first * hid * hid, 1, hid}, to, 3 * hid, true,
         j->room);
}

/* One step of a GRU whose reset comes before the product. */
static void gru_reset_first(const rnn_job *j, float *x)
{
    int64_t hid = j->hidden;
    gru_add(j, j->h, 0, 2, x);
    for (int64_t n = 0; n < j->batch; n++)
        gru_reset(x + n * 3 * hid, j->h + n * hid, j->gate + n * hid, hid);
    gru_add(j, j->gate, 2, 1, x);
    for (int64_t n = 0; n < j->batch; n++)
        gru_end(x + n * 3 * hid, j->h + n * hid, hid);
}

static void rnn_cells(const rnn_job *j, float *x)
{
    int64_t hid = j->hidden, rows = j->gates * hid;
    float *to = x;
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
}

/* One step over the whole batch. */
static void cpu_rnn_step(const rnn_job *j, int64_t t)
{
    int64_t hid = j->hidden;
    float *x = j->x + t * j->batch * j->gates * hid;
    if (j->reset_first)
        gru_reset_first(j, x);
    else
        rnn_cells(j, x);
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

/* W and R are bytes, with scales. */
static bool rnn_is_bytes(const kernel *k)
{
    for (uint32_t i = 0; i < 4; i++)
        if (!input_of(k, W_SCALE + i))
            return false;
    return k->n->op == CLV_OP_LSTM;
}

static bool gru_resets_first(const kernel *k)
{
    return k->n->op == CLV_OP_GRU && !attr_int(k->n, CLV_A_LINEAR_BEFORE_RESET);
}

static bool rnn_usual(const kernel *k)
{
    return k->in[0]->dtype == CLV_FLOAT32 && k->in[0]->rank == 3 &&
           input_of(k, 1) && input_of(k, 2) && !input_of(k, 7) &&
           attr_is(k->n, CLV_A_LAYOUT, "onnx") &&
           !attr_get(k->n, CLV_A_ACTIVATIONS) && !attr_get(k->n, CLV_A_CLIP) &&
           (k->n->op != CLV_OP_LSTM ||
            (attr_int(k->n, CLV_A_INPUT_FORGET) == 0 &&
             (attr_int(k->n, CLV_A_QUANTIZED) == 0 ||
              (rnn_is_bytes(k) && k->ready))));
}

/* What the inputs give to the gates of all steps, both biases added but for the
 * part that a GRU's reset gate scales. */
static bool rnn_inputs(kernel *k, rnn_job *j, const float *w, const float *b)
{
    int64_t rows = j->gates * j->hidden, in = k->in[0]->dims[2];
    float *bias = NULL;
    if (b) {
        bias = arena_array(k->scratch, (size_t)rows, sizeof *bias);
        for (int64_t i = 0; bias && i < rows; i++)
            bias[i] =
                b[i] +
                (j->op == CLV_OP_GRU && !j->reset_first ? 0 : b[rows + i]);
        if (!bias)
            return false;
    }
    j->b2 = b ? b + rows : NULL;
    if (j->w && j->w->bytes)
        return rnn_bytes_inputs(k, j, bias);
    const float *x = k->in[0]->data;
    if (j->seen) {
        int64_t n = numel(k->in[0]);
        float *near = arena_array(k->scratch, (size_t)n + 1, sizeof *near);
        if (!near)
            return false;
        memcpy(near, x, (size_t)n * sizeof *near);
        rnn_snap(near, n);
        x = near;
    }
    if (j->w)
        return CPU_NAME(clv__gemm_ready)(k, j->length * j->batch,
                                         (cpu_matrix){x, in, 1}, &j->w->floats,
                                         bias, j->x, rows);
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

/* Packs one way of a matrix of bytes (D,K,N). */
static bool rnn_pack_bytes(kernel *k, arena *mem, const clv_tensor *t,
                           uint32_t scale, int64_t way, rnn_packed *to)
{
    int64_t depth = t->dims[1], n = t->dims[2];
    const clv_tensor *s = k->in[scale], *z = k->in[scale + 1];
    const uint8_t *from = (const uint8_t *)t->data + way * depth * n;
    to->scale = (float)get_f(s, numel(s) > 1 ? way : 0);
    to->zero = (int32_t)get_i(z, numel(z) > 1 ? way : 0);
    to->bytes = CPU_NAME(clv__bytes_pack)(from, t->dtype, depth, n, mem);
    if (to->bytes) {
        to->zero -= t->dtype == CLV_UINT8 ? 128 : 0;
        return true;
    }
    float *plain = arena_array(k->scratch, (size_t)(depth * n), sizeof *plain);
    for (int64_t i = 0; plain && i < depth * n; i++)
        plain[i] = (float)((t->dtype == CLV_INT8 ? (int8_t)from[i] : from[i]) -
                           to->zero) *
                   to->scale;
    return plain &&
           CPU_NAME(clv__gemm_pack)(k, mem, n, depth, (cpu_matrix){plain, n, 1},
                                    &to->floats);
}

/* What a quantised LSTM packs must fit together before it runs. */
static bool rnn_bytes_fit(const kernel *k, uint32_t i)
{
    const clv_tensor *t = input_of(k, i), *r = input_of(k, 2);
    const clv_tensor *s = input_of(k, W_SCALE + 2 * (i - 1));
    const clv_tensor *z = input_of(k, W_SCALE + 2 * (i - 1) + 1);
    int64_t hidden = attr_int(k->n, CLV_A_HIDDEN);
    return t && t->data && (t->dtype == CLV_INT8 || t->dtype == CLV_UINT8) &&
           t->rank == 3 && r && r->rank == 3 && t->dims[0] == r->dims[0] &&
           t->dims[2] == 4 * hidden && r->dims[1] == hidden && s && s->data &&
           s->dtype == CLV_FLOAT32 && z && z->data && z->dtype == t->dtype &&
           (numel(s) == 1 || numel(s) == t->dims[0]) &&
           (numel(z) == 1 || numel(z) == t->dims[0]);
}

static bool rnn_floats_fit(const kernel *k)
{
    const clv_tensor *w = input_of(k, 1), *r = input_of(k, 2);
    return w && r && w->data && r->data && w->dtype == CLV_FLOAT32 &&
           r->dtype == CLV_FLOAT32 && w->rank == 3 && r->rank == 3 &&
           w->dims[0] == r->dims[0];
}

static bool rnn_pack_floats(kernel *k, arena *mem, const float *w, int64_t n,
                            int64_t depth, cpu_packed *to)
{
    return CPU_NAME(clv__gemm_pack)(k, mem, n, depth, (cpu_matrix){w, 1, depth},
                                    to);
}

/* Packs one way of a matrix of floats (D,N,K). */
static bool rnn_pack_way(kernel *k, arena *mem, uint32_t i, int64_t way,
                         rnn_packed *to)
{
    const clv_tensor *t = k->in[i];
    int64_t n = t->dims[1], depth = t->dims[2];
    const float *w = (const float *)t->data + way * n * depth;
    int64_t first = i == 2 && gru_resets_first(k) ? n / 3 * 2 : n;
    return rnn_pack_floats(k, mem, w, first, depth, &to->floats) &&
           (first == n || rnn_pack_floats(k, mem, w + first * depth, n - first,
                                          depth, &to->last));
}

/* W and R of each way, packed. */
const void *CPU_NAME(cpu_ready_rnn)(kernel *k, arena *mem)
{
    bool bytes = rnn_is_bytes(k);
    if (!attr_is(k->n, CLV_A_LAYOUT, "onnx") ||
        !(bytes ? rnn_bytes_fit(k, 1) && rnn_bytes_fit(k, 2)
                : rnn_floats_fit(k)))
        return NULL;
    int64_t ways = k->in[1]->dims[0];
    rnn_packed *p = arena_zalloc(mem, (size_t)(2 * ways) * sizeof *p);
    for (int64_t i = 0; p && i < 2 * ways; i++) {
        uint32_t which = (uint32_t)(1 + i % 2);
        if (bytes
                ? !rnn_pack_bytes(k, mem, k->in[which],
                                  (uint32_t)(W_SCALE + i % 2 * 2), i / 2, &p[i])
                : !rnn_pack_way(k, mem, which, i / 2, &p[i]))
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
    if (!j->packed || !rnn_is_bytes(k))
        return true;
    const bytes_packed *b = j->packed->bytes;
    j->seen = arena_array(k->scratch, (size_t)states, sizeof(float));
    if (b) {
        int64_t ld = CPU_NAME(clv__bytes_columns)(b->n);
        j->codes = arena_array(k->scratch, (size_t)(j->batch * b->deep), 1);
        j->sums = arena_array(k->scratch, (size_t)(j->batch * ld), 4);
    }
    return j->seen && (!b || (j->codes && j->sums));
}

/* One layer of several, by the fast kernel where it can. */
static clv_status rnn_any_layer(kernel *k)
{
    return CPU_NAME(cpu_rnn)(k) ? CLV_OK : kernel_rnn(k);
}

bool CPU_NAME(cpu_rnn)(kernel *k)
{
    bool lstm = k->n->op == CLV_OP_LSTM, gru = k->n->op == CLV_OP_GRU;
    const clv_tensor *x = k->in[0];
    if (!attr_is(k->n, CLV_A_LAYOUT, "onnx"))
        return clv__rnn_layers(k, rnn_any_layer) == CLV_OK;
    if (!rnn_usual(k))
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
                 .reset_first = gru_resets_first(k),
                 .y = k->out[0].data};
    int64_t rows = j.gates * j.hidden, in = x->dims[2];
    int64_t states = j.batch * j.hidden;
    bool bytes = rnn_is_bytes(k);
    if (j.hidden < 1 ||
        (bytes ? sized(k, 1, 3, DIMS(j.ways, in, rows)) != CLV_OK ||
                     sized(k, 2, 3, DIMS(j.ways, j.hidden, rows)) != CLV_OK
               : !rnn_sized(k, 1, 3, DIMS(j.ways, rows, in)) ||
                     !rnn_sized(k, 2, 3, DIMS(j.ways, rows, j.hidden))) ||
        !rnn_sized(k, 3, 2, DIMS(j.ways, 2 * rows)) ||
        !rnn_sized(k, 5, 3, DIMS(j.ways, j.batch, j.hidden)) ||
        (lstm && !rnn_sized(k, 6, 3, DIMS(j.ways, j.batch, j.hidden))) ||
        !rnn_full(input_of(k, 4), j.length, j.batch) || !rnn_outputs(k, &j))
        return false;
    const clv_tensor *b = input_of(k, 3);
    rnn_job jobs[2];
    for (j.way = 0; j.way < j.ways; j.way++) {
        const rnn_packed *packed = k->ready;
        j.w = packed ? &packed[2 * j.way] : NULL;
        j.packed = packed ? &packed[2 * j.way + 1] : NULL;
        if (!rnn_make_room(k, &j))
            return false;
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

/* map_rnn.c - recurrent layers.
 *
 * TFLite keeps the weights of the gates apart (input, forget, cell, output);
 * our recurrent operators take them as one matrix. In the form of ONNX, which
 * the kernels know, the gates stand in the order input, output, forget, cell:
 *
 *     x (L,N,I), W (1,4H,I), R (1,4H,H), B (1,8H), -, h0 (1,N,H), c0 (1,N,H)
 *     -> (L,1,N,H) */
#include "formats/tflite/tflite.h"

#include <string.h>

enum { GATE_INPUT, GATE_FORGET, GATE_CELL, GATE_OUTPUT, GATES };

/* Where the operands of one direction stand. */
typedef struct rnn_place {
    uint32_t w, r, peephole, bias, proj, proj_bias, h0, c0, norm;
} rnn_place;

static uint32_t rnn_front(tfl_call *c, uint32_t x, int64_t axis)
{
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, &axis, 1);
    return tfl_1(c, CLV_OP_UNSQUEEZE, x, &a);
}

/* The four parts from operand `from` on, joined in ONNX's order, with an axis
 * in front. */
static uint32_t rnn_join(tfl_call *c, uint32_t from)
{
    uint32_t parts[GATES] = {
        tfl_in(c, from + GATE_INPUT), tfl_in(c, from + GATE_OUTPUT),
        tfl_in(c, from + GATE_FORGET), tfl_in(c, from + GATE_CELL)};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, 0);
    return rnn_front(c, tfl_node(c, CLV_OP_CAT, parts, GATES, 1, &a), 0);
}

static uint32_t rnn_zeros(tfl_call *c, int64_t n)
{
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_SHAPE, &n, 1);
    tfl_int(&a, CLV_A_DTYPE, clv__build_dtype(c->m->opts, CLV_FLOAT32));
    return tfl_node(c, CLV_OP_ZEROS, NULL, 0, 1, &a);
}

/* Biases of what is read, then as many zeros for what is fed back. */
static uint32_t rnn_bias(tfl_call *c, uint32_t bias)
{
    uint32_t parts[2] = {bias, rnn_zeros(c, tfl_dim(c, bias, -1))};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, 0);
    return rnn_front(c, tfl_node(c, CLV_OP_CAT, parts, 2, 1, &a), 0);
}

/* x as (L,N,I). */
static uint32_t rnn_steps(tfl_call *c, uint32_t x, bool time_major)
{
    static const int64_t turn[] = {1, 0, 2};
    if (tfl_rank(c, x) == 2)
        return rnn_front(c, x, 0);
    return time_major ? x : tfl_permute(c, x, turn, 3);
}

/* (L,1,N,H) as the file has its results. */
static uint32_t rnn_back(tfl_call *c, uint32_t y, uint32_t rank,
                         bool time_major)
{
    static const int64_t turn[] = {1, 0, 2};
    int64_t way[2] = {1, 0};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, way, rank == 2 ? 2 : 1);
    y = tfl_1(c, CLV_OP_SQUEEZE, y, &a);
    return rank == 2 || time_major ? y : tfl_permute(c, y, turn, 3);
}

static uint32_t rnn_flip(tfl_call *c, uint32_t x, bool back)
{
    int64_t time = 0;
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, &time, 1);
    return back ? tfl_1(c, CLV_OP_FLIP, x, &a) : x;
}

/* -- LSTM -----------------------------------------------------------------*/

static const rnn_place lstm_forward = {1, 5, 9, 12, 16, 17, 18, 19, 20};

/* What our operator does not say of this layer; NULL: nothing. */
static const char *lstm_why(tfl_call *c, const rnn_place *p)
{
    flat *f = &c->m->f;
    bool peeps = tfl_has(c, p->peephole) || tfl_has(c, p->peephole + 1) ||
                 tfl_has(c, p->peephole + 2);
    if (peeps)
        return "it has peepholes";
    if (tfl_has(c, p->proj))
        return "its output is projected";
    if (p->norm && tfl_has(c, p->norm + 1))
        return "its gates are normalised";
    if (flat_f32(f, c->opts, 1, 0) > 0 || flat_f32(f, c->opts, 2, 0) > 0)
        return "its states are clipped";
    return flat_i8(f, c->opts, 0, 0) == 4 ? NULL : "its activation is no tanh";
}

static uint32_t lstm_run(tfl_call *c, uint32_t x, const rnn_place *p, bool back)
{
    c->why = lstm_why(c, p);
    uint32_t w = rnn_join(c, p->w), r = rnn_join(c, p->r);
    uint32_t parts[GATES] = {
        tfl_in(c, p->bias + GATE_INPUT), tfl_in(c, p->bias + GATE_OUTPUT),
        tfl_in(c, p->bias + GATE_FORGET), tfl_in(c, p->bias + GATE_CELL)};
    tfl_attrs join = {0}, a = {0};
    tfl_int(&join, CLV_A_AXIS, 0);
    uint32_t b = rnn_bias(c, tfl_node(c, CLV_OP_CAT, parts, GATES, 1, &join));
    uint32_t h = rnn_front(c, tfl_in(c, p->h0), 0);
    uint32_t cell = rnn_front(c, tfl_in(c, p->c0), 0);
    uint32_t ins[7] = {rnn_flip(c, x, back), w, r, b, CLV_NONE, h, cell};
    tfl_int(&a, CLV_A_HIDDEN, tfl_dim(c, cell, -1));
    if (tfl_has(c, p->proj))
        tfl_int(&a, CLV_A_PROJ, tfl_dim(c, h, -1));
    tfl_str(&a, CLV_A_LAYOUT, "onnx");
    uint32_t y = tfl_node(c, CLV_OP_LSTM, ins, 7, 3, &a);
    return rnn_flip(c, y, back);
}

/* A cell of one matrix: x and the last output side by side. Gates stand in the
 * order input, new, forget, output. */
static void lstm_basic(tfl_call *c)
{
    uint32_t both[2] = {tfl_in(c, 0), tfl_in(c, 1)};
    tfl_attrs a = {0}, s = {0};
    tfl_int(&a, CLV_A_AXIS, 1);
    tfl_int(&s, CLV_A_AXIS, 1);
    uint32_t xh = tfl_node(c, CLV_OP_CAT, both, 2, 1, &a);
    uint32_t ins[3] = {xh, tfl_in(c, 2), tfl_in(c, 3)};
    uint32_t z = tfl_node(c, CLV_OP_LINEAR, ins, 3, 1, NULL);
    uint32_t g = tfl_node(c, CLV_OP_SPLIT, &z, 1, GATES, &s);
    if (tfl_failed(c->m))
        return;
    uint32_t in = tfl_1(c, CLV_OP_SIGMOID, g, NULL);
    uint32_t new = tfl_1(c, CLV_OP_TANH, g + 1, NULL);
    uint32_t keep = tfl_1(c, CLV_OP_SIGMOID, g + 2, NULL);
    uint32_t cell = tfl_2(c, CLV_OP_ADD, tfl_2(c, CLV_OP_MUL, in, new),
                          tfl_2(c, CLV_OP_MUL, keep, tfl_in(c, 4)));
    uint32_t out = tfl_1(c, CLV_OP_SIGMOID, g + 3, NULL);
    uint32_t h = tfl_2(c, CLV_OP_MUL, out, tfl_1(c, CLV_OP_TANH, cell, NULL));
    tfl_give(c, 0, h, false);
    tfl_give(c, 1, cell, false);
    tfl_give(c, 2, xh, false);
    tfl_give(c, 3, z, false);
}

/* arg 0: one step; 1: a sequence. */
void lite_lstm(tfl_call *c)
{
    enum { KERNEL_TYPE = 3, BASIC = 1, TIME_MAJOR = 3 };
    flat *f = &c->m->f;
    bool one = !c->row->arg;
    if (one && flat_i8(f, c->opts, KERNEL_TYPE, 0) == BASIC) {
        lstm_basic(c);
        return;
    }
    bool major = !one && flat_i8(f, c->opts, TIME_MAJOR, 0);
    if (!tfl_has(c, lstm_forward.w) || !tfl_has(c, lstm_forward.h0)) {
        tfl_unknown(c); /* its input and forget gates are one */
        return;
    }
    uint32_t x = tfl_in(c, 0), rank = tfl_rank(c, x);
    uint32_t y = lstm_run(c, rnn_steps(c, x, major), &lstm_forward, false);
    tfl_give(c, 0, rnn_back(c, y, rank, major), false);
}

/* Gives both directions, side by side or apart. */
static void rnn_give_both(tfl_call *c, uint32_t y, uint32_t back, bool merge)
{
    uint32_t both[2] = {y, back};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, -1);
    if (merge) {
        tfl_give(c, 0, tfl_node(c, CLV_OP_CAT, both, 2, 1, &a), false);
        return;
    }
    tfl_give(c, 0, y, false);
    tfl_give(c, 1, back, false);
}

void lite_bilstm(tfl_call *c)
{
    enum { MERGE = 3, TIME_MAJOR = 4, AUXILIARY = 39 };
    static const rnn_place forward = {1, 5, 9, 12, 16, 17, 35, 36, 0};
    static const rnn_place backward = {18, 22, 26, 29, 33, 34, 37, 38, 0};
    flat *f = &c->m->f;
    bool major = flat_i8(f, c->opts, TIME_MAJOR, 1) != 0;
    if (!tfl_has(c, forward.w) || !tfl_has(c, backward.w) ||
        tfl_has(c, AUXILIARY)) {
        tfl_unknown(c);
        return;
    }
    uint32_t x = rnn_steps(c, tfl_in(c, 0), major);
    uint32_t y = rnn_back(c, lstm_run(c, x, &forward, false), 3, major);
    uint32_t z = rnn_back(c, lstm_run(c, x, &backward, true), 3, major);
    rnn_give_both(c, y, z, flat_i8(f, c->opts, MERGE, 0) != 0);
}

/* -- plain ----------------------------------------------------------------*/

/* Operands from `from` on: weights, recurrent weights, bias, state. */
static uint32_t rnn_run(tfl_call *c, uint32_t x, uint32_t from, int64_t act,
                        bool back)
{
    static const char *const tanh_[] = {"Tanh"}, *const relu[] = {"Relu"};
    if (act != 4 && act != 1)
        c->why = "its activation is neither tanh nor relu";
    uint32_t h = rnn_front(c, tfl_in(c, from + 3), 0);
    uint32_t ins[6] = {rnn_flip(c, x, back),
                       rnn_front(c, tfl_in(c, from), 0),
                       rnn_front(c, tfl_in(c, from + 1), 0),
                       rnn_bias(c, tfl_in(c, from + 2)),
                       CLV_NONE,
                       h};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_HIDDEN, tfl_dim(c, h, -1));
    tfl_str(&a, CLV_A_LAYOUT, "onnx");
    tfl_strs(&a, CLV_A_ACTIVATIONS, act == 1 ? relu : tanh_, 1);
    uint32_t y = tfl_node(c, CLV_OP_RNN, ins, 6, 2, &a);
    return rnn_flip(c, y, back);
}

void lite_rnn_cell(tfl_call *c)
{
    uint32_t x = rnn_steps(c, tfl_in(c, 0), true);
    uint32_t y = rnn_run(c, x, 1, flat_i8(&c->m->f, c->opts, 0, 0), false);
    tfl_give(c, 0, rnn_back(c, y, 2, true), false);
}

void lite_rnn(tfl_call *c)
{
    flat *f = &c->m->f;
    bool major = flat_i8(f, c->opts, 0, 0) != 0;
    uint32_t x = rnn_steps(c, tfl_in(c, 0), major);
    uint32_t y = rnn_run(c, x, 1, flat_i8(f, c->opts, 1, 0), false);
    tfl_give(c, 0, rnn_back(c, y, 3, major), false);
}

void lite_birnn(tfl_call *c)
{
    enum { AUXILIARY = 9 };
    flat *f = &c->m->f;
    bool major = flat_i8(f, c->opts, 0, 0) != 0;
    int64_t act = flat_i8(f, c->opts, 1, 0);
    if (tfl_has(c, AUXILIARY)) {
        tfl_unknown(c);
        return;
    }
    uint32_t x = rnn_steps(c, tfl_in(c, 0), major);
    uint32_t y = rnn_back(c, rnn_run(c, x, 1, act, false), 3, major);
    uint32_t z = rnn_back(c, rnn_run(c, x, 5, act, true), 3, major);
    rnn_give_both(c, y, z, flat_i8(f, c->opts, 2, 0) != 0);
}

/* -- SVDF -----------------------------------------------------------------*/

/* A layer of rank r split in two: features of x (N,I) by (F,I), which enter a
 * memory of M steps, weighed by time (F,M); r features make one unit. */
void lite_svdf(tfl_call *c)
{
    uint32_t two[2] = {tfl_in(c, 0), tfl_in(c, 1)};
    uint32_t time = tfl_in(c, 2), state = tfl_in(c, 4);
    int64_t rank = flat_i32(&c->m->f, c->opts, 0, 1), last = -1;
    uint32_t f = tfl_node(c, CLV_OP_LINEAR, two, 2, 1, NULL);
    if (tfl_failed(c->m))
        return;
    int64_t memory[3] = {tfl_dim(c, f, 0), tfl_dim(c, time, 0),
                         tfl_dim(c, time, 1)};
    int64_t units[3] = {memory[0], rank > 0 ? memory[1] / rank : 0, rank};
    tfl_attrs join = {0}, sum = {0};
    tfl_int(&join, CLV_A_AXIS, 2);
    tfl_ints(&sum, CLV_A_AXES, &last, 1);
    state = tfl_slice(c, tfl_reshape(c, state, memory, 3), 2, 1, memory[2], 1);
    uint32_t parts[2] = {state, rnn_front(c, f, -1)};
    state = tfl_node(c, CLV_OP_CAT, parts, 2, 1, &join);
    uint32_t y = tfl_2(c, CLV_OP_MUL, state, time);
    y = tfl_1(c, CLV_OP_SUM, y, &sum);
    y = tfl_1(c, CLV_OP_SUM, tfl_reshape(c, y, units, 3), &sum);
    if (tfl_has(c, 3))
        y = tfl_2(c, CLV_OP_ADD, y, tfl_in(c, 3));
    tfl_give_act(c, 0, y, false, flat_i8(&c->m->f, c->opts, 1, 0));
}

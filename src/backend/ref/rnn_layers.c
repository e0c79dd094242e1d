/* rnn_layers.c - recurrent layers as PyTorch has them, in terms of one layer
 * in ONNX's form.
 *
 * Inputs: x (L,N,I), or (N,L,I) with layout "batch", or (L,I); then none or all
 * of the first states, (layers*D,N,H) each; then for every layer and direction
 * W (G*H,I), R (G*H,H) and, with `bias`, two lists of G*H. PyTorch's gates are
 * i, f, c, o of an LSTM and r, z, n of a GRU; ONNX's are i, o, f, c and
 * z, r, h. */
#include "backend/rnn_layers.h"

#include <string.h>

enum { LAYER_INS = 7, LAYER_OUTS = 3, LAYER_ATTRS = 4 };

typedef struct layers {
    kernel *k;
    clv_kernel_fn *layer;
    const clv_tensor *const *states; /* h0 and c0, or none */
    const clv_tensor *const *params;
    int64_t length, batch, hidden, ways, gates, each; /* each: params of one */
    bool lstm, bias, batch_first, has_states;
} layers;

static clv_status layers_tensor(layers *s, uint32_t rank, const int64_t *dims,
                                clv_tensor *t)
{
    *t = (clv_tensor){.dtype = s->k->in[0]->dtype, .rank = (uint8_t)rank};
    memcpy(t->dims, dims, rank * sizeof *dims);
    size_t bytes = (size_t)numel(t) * clv__element_bytes(t);
    t->data = arena_alloc(s->k->scratch, bytes + 1);
    return t->data ? CLV_OK : clv__nomem(s->k->e);
}

/* Part i of n along the first axis, where the data lie. */
static clv_tensor layers_part(const clv_tensor *t, int64_t i, int64_t n)
{
    clv_tensor part = *t;
    part.dims[0] = t->dims[0] / n;
    size_t bytes = (size_t)numel(&part) * clv__element_bytes(t);
    if (t->data)
        part.data = (char *)t->data + (size_t)i * bytes;
    return part;
}

/* Which of PyTorch's gates is gate g of ONNX's. */
static int64_t layers_gate(const layers *s, int64_t g)
{
    static const int64_t lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2};
    return s->gates == 4 ? lstm[g] : s->gates == 3 ? gru[g] : g;
}

/* Copies the gates of a matrix (G*H,width) or a list, from element `at` on. */
static clv_status layers_copy(layers *s, const clv_tensor *from, int64_t width,
                              clv_tensor *to, int64_t at)
{
    int64_t run = s->hidden * width;
    if (!from || numel(from) != s->gates * run)
        return clv__fail(s->k->e, CLV_SHAPE, "weights of a recurrent layer");
    for (int64_t g = 0; g < s->gates; g++)
        copy_run(to, at + g * run, from, layers_gate(s, g) * run, run);
    return CLV_OK;
}

/* W (D,G*H,I), R (D,G*H,H) and B (D,2*G*H) of layer i. */
static clv_status layers_weights(layers *s, int64_t i, int64_t input,
                                 clv_tensor wrb[3])
{
    int64_t rows = s->gates * s->hidden;
    CLV_TRY(layers_tensor(s, 3, DIMS(s->ways, rows, input), &wrb[0]));
    CLV_TRY(layers_tensor(s, 3, DIMS(s->ways, rows, s->hidden), &wrb[1]));
    CLV_TRY(layers_tensor(s, 2, DIMS(s->ways, 2 * rows), &wrb[2]));
    for (int64_t d = 0; d < s->ways; d++) {
        const clv_tensor *const *p = s->params + (i * s->ways + d) * s->each;
        CLV_TRY(layers_copy(s, p[0], input, &wrb[0], d * rows * input));
        CLV_TRY(layers_copy(s, p[1], s->hidden, &wrb[1], d * rows * s->hidden));
        if (!s->bias)
            continue;
        CLV_TRY(layers_copy(s, p[2], 1, &wrb[2], d * 2 * rows));
        CLV_TRY(layers_copy(s, p[3], 1, &wrb[2], (d * 2 + 1) * rows));
    }
    return CLV_OK;
}

/* Swaps the first two axes of (A,B,C). */
static void layers_swap(const clv_tensor *from, int64_t a, int64_t b, int64_t c,
                        clv_tensor *to)
{
    for (int64_t i = 0; i < a; i++)
        for (int64_t j = 0; j < b; j++)
            copy_run(to, (j * a + i) * c, from, (i * b + j) * c, c);
}

/* Runs layer i on x (L,N,I); y becomes (L,D,N,H). */
static clv_status layers_one(layers *s, int64_t i, const clv_tensor *x,
                             clv_tensor *y)
{
    kernel one = *s->k;
    clv_node n = *s->k->n;
    int64_t count = attr_int(&n, CLV_A_LAYERS);
    clv_tensor wrb[3], first[2], outs[LAYER_OUTS] = {{0}};
    const clv_tensor *ins[LAYER_INS] = {x, &wrb[0], &wrb[1]};
    clv_attr attrs[LAYER_ATTRS] = {
        {.key = CLV_A_HIDDEN, .type = CLV_ATTR_INT, .u.i = s->hidden},
        {.key = CLV_A_DIRECTION, .type = CLV_ATTR_STRING},
        {.key = CLV_A_LAYOUT, .type = CLV_ATTR_STRING, .u.s = "onnx"},
        {.key = CLV_A_LINEAR_BEFORE_RESET, .type = CLV_ATTR_INT, .u.i = 1}};
    attrs[1].u.s = s->ways == 2 ? "bidirectional" : "forward";
    CLV_TRY(layers_weights(s, i, x->dims[2], wrb));
    ins[3] = s->bias ? &wrb[2] : NULL;
    for (uint32_t o = 0; o < (s->lstm ? 2u : 1u); o++) {
        if (s->has_states) {
            first[o] = layers_part(s->states[o], i, count);
            first[o].rank = 3; /* of an x without a batch too */
            first[o].dims[1] = s->batch;
            first[o].dims[2] = s->hidden;
            ins[5 + o] = &first[o];
        }
        if (s->k->n->n_out > o + 1)
            outs[o + 1] = layers_part(&s->k->out[o + 1], i, count);
    }
    CLV_TRY(
        layers_tensor(s, 4, DIMS(s->length, s->ways, s->batch, s->hidden), y));
    outs[0] = *y;
    n.attrs = attrs;
    n.n_attrs = LAYER_ATTRS;
    n.n_in = LAYER_INS;
    one.n = &n;
    one.in = ins;
    one.out = outs;
    one.ready = NULL;
    return s->layer(&one);
}

static clv_status layers_run(layers *s)
{
    const clv_tensor *x = s->k->in[0];
    int64_t input = x->dims[x->rank - 1], wide = s->ways * s->hidden;
    int64_t count = attr_int(s->k->n, CLV_A_LAYERS);
    clv_tensor now, y;
    CLV_TRY(layers_tensor(s, 3, DIMS(s->length, s->batch, input), &now));
    if (s->batch_first)
        layers_swap(x, s->batch, s->length, input, &now);
    else
        copy_run(&now, 0, x, 0, numel(x));
    for (int64_t i = 0; i < count; i++) {
        CLV_TRY(layers_one(s, i, &now, &y));
        CLV_TRY(layers_tensor(s, 3, DIMS(s->length, s->batch, wide), &now));
        for (int64_t t = 0; t < s->length; t++) {
            clv_tensor step = layers_part(&y, t, s->length);
            clv_tensor to = layers_part(&now, t, s->length);
            layers_swap(&step, s->ways, s->batch, s->hidden, &to);
        }
    }
    if (s->k->out[0].data && s->batch_first)
        layers_swap(&now, s->length, s->batch, wide, &s->k->out[0]);
    else if (s->k->out[0].data)
        copy_run(&s->k->out[0], 0, &now, 0, numel(&now));
    return CLV_OK;
}

clv_status clv__rnn_layers(kernel *k, clv_kernel_fn *layer)
{
    const clv_tensor *x = k->in[0];
    bool lstm = k->n->op == CLV_OP_LSTM, gru = k->n->op == CLV_OP_GRU;
    layers s = {.k = k, .layer = layer, .lstm = lstm};
    s.batch_first = x->rank == 3 && attr_is(k->n, CLV_A_LAYOUT, "batch");
    s.length = x->dims[s.batch_first ? 1 : 0];
    s.batch = x->rank == 3 ? x->dims[s.batch_first ? 0 : 1] : 1;
    s.hidden = attr_int(k->n, CLV_A_HIDDEN);
    s.ways = attr_int(k->n, CLV_A_BIDIRECTIONAL) ? 2 : 1;
    s.gates = lstm ? 4 : gru ? 3 : 1;
    s.bias = attr_int(k->n, CLV_A_BIAS) != 0;
    s.each = s.bias ? 4 : 2;
    int64_t count = attr_int(k->n, CLV_A_LAYERS) * s.ways;
    int64_t states = (int64_t)k->n->n_in - 1 - count * s.each;
    s.has_states = states == (lstm ? 2 : 1);
    if (attr_int(k->n, CLV_A_PROJ) || (!s.has_states && states != 0))
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "a recurrent layer with %u inputs", k->n->n_in);
    s.states = k->in + 1;
    s.params = k->in + 1 + states;
    for (int64_t i = 0; i < states; i++)
        if (!s.states[i] || numel(s.states[i]) != count * s.batch * s.hidden)
            return clv__fail(k->e, CLV_SHAPE, "states of a recurrent layer");
    return layers_run(&s);
}

/* rnn.c - recurrent layers: LSTM, GRU and the plain one.
 *
 * A step of one direction multiplies the input (I) and the last output (R) by
 * G gates of H units: G*H*(I+R) MACs; a projection of the LSTM's output to R
 * adds H*R. Then 2 biases per gate, and `unit` FLOPs per hidden unit:
 *
 *   lstm 18   3 sigmoids (4 each), 2 tanh; c = f*c + i*g, h = o*tanh(c): 4
 *   gru  15   2 sigmoids, a tanh; r*hn + in: 2; (1-z)*n + z*h: 4
 *   rnn   1   a tanh or relu
 *
 * Input 0 is x; initial states and weights follow in any order and only their
 * bytes count. Attributes: hidden, layers, bidirectional (or direction), proj,
 * bias, and layout: "seq" (L,N,I), "batch" (N,L,I), or "onnx", which is (L,N,I)
 * with the directions as an axis of the output, (L,D,N,H). */
#include "ops/ops.h"

#include <string.h>

typedef struct rnn {
    int64_t length, batch, input;         /* of x */
    int64_t hidden, output, layers, ways; /* output: projected or hidden */
    bool batch_first, batched, onnx;
} rnn;

static clv_status get_rnn(const clv_graph *g, const clv_node *n, rnn *r,
                          clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    const char *layout = attr_str(n, CLV_A_LAYOUT);
    bool both = attr_int(n, CLV_A_BIDIRECTIONAL) != 0 ||
                attr_is(n, CLV_A_DIRECTION, "bidirectional");
    *r = (rnn){.hidden = attr_int(n, CLV_A_HIDDEN),
               .layers = attr_int(n, CLV_A_LAYERS),
               .output = attr_int(n, CLV_A_PROJ),
               .ways = both ? 2 : 1,
               .batched = x->rank == 3,
               .batch_first = x->rank == 3 && !strcmp(layout, "batch"),
               .onnx = !strcmp(layout, "onnx")};
    if (x->rank < 2 || x->rank > 3 || (r->onnx && x->rank != 3))
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    if (r->hidden < 1 || r->layers < 1 || r->output < 0 ||
        r->output > r->hidden || r->hidden > INT32_MAX || r->layers > INT32_MAX)
        return clv__fail(e, CLV_SHAPE, "%lld hidden units in %lld layers",
                         (long long)r->hidden, (long long)r->layers);
    if (r->output == 0)
        r->output = r->hidden;
    r->length = x->dims[r->batch_first ? 1 : 0];
    r->batch = r->batched ? x->dims[r->batch_first ? 0 : 1] : 1;
    r->input = x->dims[x->rank - 1];
    return CLV_OK;
}

/* Outputs: all steps; the last of every layer and direction; LSTM: its cell. */
clv_status infer_rnn(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    rnn r;
    CLV_TRY(get_rnn(g, n, &r, e));
    int64_t wide = r.ways * r.output, deep = r.ways * r.layers;
    int64_t seq[3] = {r.length, r.batch, wide};
    int64_t batch[3] = {r.batch, r.length, wide};
    int64_t flat[2] = {r.length, wide};
    int64_t onnx[4] = {r.length, r.ways, r.batch, r.output};
    uint32_t rank = r.onnx ? 4 : r.batched ? 3 : 2;
    const int64_t *dims = r.onnx          ? onnx
                          : !r.batched    ? flat
                          : r.batch_first ? batch
                                          : seq;
    CLV_TRY(out_shape(g, n, 0, t, rank, dims, e));
    for (uint32_t i = 1; i <= 2; i++) {
        int64_t size = i == 1 ? r.output : r.hidden;
        int64_t state[3] = {deep, r.batched ? r.batch : size, size};
        CLV_TRY(out_shape(g, n, i, t, r.batched ? 3 : 2, state, e));
    }
    return CLV_OK;
}

void cost_rnn(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    rnn r;
    if (get_rnn(g, n, &r, NULL) != CLV_OK)
        return;
    int64_t gates = n->op == CLV_OP_LSTM ? 4 : n->op == CLV_OP_GRU ? 3 : 1;
    int64_t steps = sat_mul(sat_mul(r.length, r.batch), r.ways);
    int64_t rows = sat_mul(gates, r.hidden);
    int64_t again = r.output == r.hidden ? 0 : sat_mul(r.hidden, r.output);
    int64_t first = sat_mul(rows, sat_add(r.input, r.output));
    int64_t later = sat_mul(rows, r.output * (r.ways + 1));
    int64_t each = sat_add(sat_add(first, sat_mul(r.layers - 1, later)),
                           sat_mul(r.layers, again));
    int64_t bias = attr_int(n, CLV_A_BIAS) ? 2 * gates : 0;
    int64_t units =
        sat_mul(clv__ops[n->op].unit + bias, sat_mul(r.layers, r.hidden));
    c->macs = sat_mul(steps, each);
    c->flops = sat_add(sat_mul(2, c->macs), sat_mul(steps, units));
}

/* Steps follow each other; batch and hidden units are free. */
void par_rnn(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    rnn r;
    if (node_in(g, n, 0)->rank == CLV_NO_RANK ||
        get_rnn(g, n, &r, NULL) != CLV_OK)
        return;
    p->batch = r.batch;
    p->channels = r.ways * r.hidden;
    p->spatial = 1;
    p->can_split_batch = p->batch > 1;
    p->can_split_channels = p->channels > 1;
    p->vectorizable_dim = "channels";
}

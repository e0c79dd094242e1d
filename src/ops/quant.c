/* quant.c - to and from integers with a scale and a zero point: x, scale, zero.
 * The quantised products are with their floating kin in conv.c and matmul.c.
 *
 * Quantised models are often written with floating operators between the two:
 *
 *     x8 -> dequantize -> conv -> quantize -> y8       w8 -> dequantize -^
 *
 * which a runtime makes one convolution of integers. Such a node is marked
 * CLV_N_INTEGER when all it reads comes from dequantize and what it makes goes
 * to one quantize and nowhere else (a matrix product may also give floats). The
 * quantize and dequantize around it cost nothing then, what lies between is
 * held as integers, and shares the storage of x8 and y8. A dequantize that some
 * other node reads too is done for that one, and costs. */
#include "ops/ops.h"

/* Rounds x / scale + zero; the type is that of the zero point. */
clv_status infer_quantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *zero = node_in(g, n, 2);
    clv_dtype t = zero ? (clv_dtype)zero->dtype : asked_type(n, CLV_UINT8);
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* (x - zero) * scale; the type is that of the scale. */
clv_status infer_dequantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    clv_dtype t = asked_type(n, (clv_dtype)node_in(g, n, 1)->dtype);
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* Finds the range of x, then quantises: x as uint8, scale, zero point. */
clv_status infer_dynamic_quantize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    CLV_TRY(out_shape(g, n, 1, CLV_FLOAT32, 0, NULL, e));
    CLV_TRY(out_shape(g, n, 2, CLV_UINT8, 0, NULL, e));
    return out_shape(g, n, 0, CLV_UINT8, x->rank, x->dims, e);
}

/* The sum or product of a and b, each with scale and zero point; those of y. */
clv_status infer_qlinear_two(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(node_in(g, n, 0), node_in(g, n, 3), dims, &rank, e));
    return out_shape(g, n, 0, (clv_dtype)node_in(g, n, 7)->dtype, rank, dims,
                     e);
}

/* Element x of a table, for bytes x; the first is of the least number. Of
 * several tables, each is for one index of axis 1. */
clv_status infer_byte_table(clv_graph *g, clv_node *n, clv_err *e)
{
    enum { CODES = 256 };
    const clv_value *x = node_in(g, n, 0), *table = node_in(g, n, 1);
    bool bytes = x->dtype == CLV_UINT8 || x->dtype == CLV_INT8;
    bool one = table->rank == 1 && table->dims[0] == CODES;
    bool many = table->rank == 2 && table->dims[1] == CODES && x->rank > 1 &&
                table->dims[0] == x->dims[1];
    if (!bytes || (!one && !many))
        return clv__fail(e, CLV_SHAPE, "bytes and a table of %d are needed",
                         CODES);
    return out_shape(g, n, 0, (clv_dtype)table->dtype, x->rank, x->dims, e);
}

/* -- integers around a floating operator ----------------------------------*/

/* The categories of operators that runtimes have on integers. A product needs a
 * quantised weight too. */
static const struct {
    bool integers, product, floats_out;
} forms[CLV_CAT_OTHER + 1] = {
    [CLV_CAT_CONV] = {true, true, false},
    [CLV_CAT_MATMUL] = {true, true, true},
    [CLV_CAT_POOL] = {true, false, false},
    [CLV_CAT_ELTWISE] = {true, false, false},
    [CLV_CAT_ACT] = {true, false, false},
    [CLV_CAT_LAYOUT] = {true, false, false},
    [CLV_CAT_INDEX] = {true, false, false},
    [CLV_CAT_RESIZE] = {true, false, false},
};

static bool made_by(const clv_graph *g, const clv_value *v, clv_op op)
{
    return v->producer != CLV_NONE && g->nodes[v->producer].op == op;
}

/* Returns true when every floating input that varies, and every operand of a
 * product, comes from a dequantize. A bias, the third input, may be stored as
 * it is. */
static bool reads_integers(const clv_graph *g, const clv_node *n)
{
    bool any = false, product = forms[clv__ops[n->op].category].product;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || dtype_class_of((clv_dtype)v->dtype) != CLASS_FLOAT)
            continue;
        bool from = made_by(g, v, CLV_OP_DEQUANTIZE_LINEAR);
        if (!from && (!value_is_fixed(v) || (product && i < 2)))
            return false;
        any |= from;
    }
    return any;
}

/* Returns the quantize that is the only reader of value v, or CLV_NONE. */
static uint32_t only_quantize(const clv_graph *g, uint32_t v)
{
    uint32_t first = g->user_first[v];
    if (g->values[v].flags & CLV_V_OUTPUT || g->user_first[v + 1] - first != 1)
        return CLV_NONE;
    uint32_t id = g->users[first];
    bool whole = g->nodes[id].op == CLV_OP_QUANTIZE_LINEAR &&
                 node_ins(g, &g->nodes[id])[0] == v;
    return whole ? id : CLV_NONE;
}

static bool runs_on_integers(const clv_graph *g, const clv_node *n)
{
    clv_category cat = clv__ops[n->op].category;
    if (!forms[cat].integers || n->n_out == 0 || !reads_integers(g, n))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t v = node_outs(g, n)[i];
        if (!forms[cat].floats_out && only_quantize(g, v) == CLV_NONE)
            return false;
    }
    return true;
}

/* Returns true when v has readers and all of them run on integers. */
static bool read_as_integers(const clv_graph *g, uint32_t v)
{
    uint32_t first = g->user_first[v], end = g->user_first[v + 1];
    for (uint32_t u = first; u < end; u++)
        if (!(g->nodes[g->users[u]].flags & CLV_N_INTEGER))
            return false;
    return first < end && !(g->values[v].flags & CLV_V_OUTPUT);
}

static clv_status quant_hold(clv_graph *g, uint32_t v, clv_dtype t, clv_err *e)
{
    clv_payload *data = clv__value_data(g, v);
    if (!data)
        return clv__nomem(e);
    data->held = (uint8_t)t;
    return CLV_OK;
}

/* Lets the output share the storage of the input. */
static void quant_share(clv_graph *g, clv_node *n)
{
    uint32_t from = node_ins(g, n)[0], root = g->values[from].view_of;
    node_out(g, n, 0)->view_of = root == CLV_NONE ? from : root;
    n->flags |= CLV_N_INTEGER;
}

/* Makes n part of a quantised group: what it makes is held as integers. */
static clv_status quant_join(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (n->op == CLV_OP_DEQUANTIZE_LINEAR &&
        read_as_integers(g, node_outs(g, n)[0])) {
        quant_share(g, n);
        return quant_hold(g, node_outs(g, n)[0], (clv_dtype)x->dtype, e);
    }
    if (n->op == CLV_OP_QUANTIZE_LINEAR && x->producer != CLV_NONE &&
        g->nodes[x->producer].op != CLV_OP_DEQUANTIZE_LINEAR &&
        g->nodes[x->producer].flags & CLV_N_INTEGER &&
        only_quantize(g, node_ins(g, n)[0]) != CLV_NONE)
        quant_share(g, n);
    if (!clv__in_quantised(n) && n->flags & CLV_N_INTEGER)
        for (uint32_t i = 0; i < n->n_out; i++) {
            uint32_t v = node_outs(g, n)[i], q = only_quantize(g, v);
            if (q != CLV_NONE)
                CLV_TRY(quant_hold(
                    g, v, (clv_dtype)node_out(g, &g->nodes[q], 0)->dtype, e));
        }
    return CLV_OK;
}

clv_status clv__join_quantised(clv_graph *g, clv_err *e)
{
    bool any = false;
    for (uint32_t id = 0; id < g->n_nodes && !any; id++)
        any = g->nodes[id].op == CLV_OP_DEQUANTIZE_LINEAR;
    for (uint32_t id = 0; id < g->n_nodes && any; id++)
        if (runs_on_integers(g, &g->nodes[id]))
            g->nodes[id].flags |= CLV_N_INTEGER;
    for (uint32_t id = 0; id < g->n_nodes && any; id++)
        CLV_TRY(quant_join(g, &g->nodes[id], e));
    /* What was viewed may be a view itself now: views name the storage. */
    for (uint32_t v = 0; v < g->n_values && any; v++)
        while (g->values[v].view_of != CLV_NONE &&
               g->values[g->values[v].view_of].view_of != CLV_NONE)
            g->values[v].view_of = g->values[g->values[v].view_of].view_of;
    return CLV_OK;
}

bool clv__in_quantised(const clv_node *n)
{
    return n->flags & CLV_N_INTEGER && (n->op == CLV_OP_QUANTIZE_LINEAR ||
                                        n->op == CLV_OP_DEQUANTIZE_LINEAR);
}

/* Adds the scale, round and shift of each output, as the quantised products
 * have. */
void clv__cost_rounding(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    if (!(n->flags & CLV_N_INTEGER) || clv__in_quantised(n) ||
        !forms[clv__ops[n->op].category].product)
        return;
    const clv_value *y = node_out(g, n, 0);
    if (value_held(y) != y->dtype)
        c->flops = sat_add(c->flops, sat_mul(3, clv__numel(y)));
}

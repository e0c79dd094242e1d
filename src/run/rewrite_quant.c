/* rewrite_quant.c - numbers of 8 bits stay such: what an exporter wrote as
 * dequantize, arithmetic on floats, quantize becomes arithmetic on bytes.
 *
 *      x8 -> dequantize -> conv -> relu -> quantize -> y8
 *      x8 -> qlinear_conv -> y8
 *
 * Moves go before dequantize, so that products find it right before them. Any
 * function of one byte is a table of 256, which the nodes themselves compute
 * when the model is made. Only tensors of one scale and zero point; weights may
 * have one per output channel. */
#include "run/rewrite_quant.h"

#include <math.h>
#include <string.h>

enum { CODES = 256 };

static rw_form form_dequantize(const quant_of *q, uint32_t x)
{
    rw_form f = {.op = CLV_OP_DEQUANTIZE_LINEAR};
    rw_form_input(&f, x);
    rw_form_input(&f, q->scale);
    if (q->zero != CLV_NONE)
        rw_form_input(&f, q->zero);
    return f;
}

/* -- recurrent layers -----------------------------------------------------*/

/* v is permute(dequantize(bytes)) with the last two axes turned. */
static bool quant_turned(const rewriter *r, uint32_t v, quant_of *q)
{
    uint32_t perm[CLV_MAX_RANK], id = rw_made_by(r, v, CLV_OP_PERMUTE);
    return id != CLV_NONE && rw_rank(r, v) == 3 && rw_perm(r, id, perm) &&
           perm[0] == 0 && perm[1] == 2 && rwq_made(r, rw_in(r, id, 0), q) &&
           rwq_is_bytes(r, q->x) && rw_known(r, q->x) &&
           (q->many == 1 || q->axis == 0) && q->zero != CLV_NONE;
}

bool rewrite_quant_lstm(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    enum { INPUTS = 8 }; /* of an LSTM of floats */
    quant_of w, u;
    if (!attr_int(n, CLV_A_QUANTIZED) || n->n_in < 3 || n->n_in > INPUTS ||
        !quant_turned(r, rw_in(r, id, 1), &w) ||
        !quant_turned(r, rw_in(r, id, 2), &u))
        return false;
    rw_form f = {.op = CLV_OP_LSTM};
    for (uint32_t i = 0; i < INPUTS; i++)
        rw_form_input(&f, i < n->n_in ? rw_in(r, id, i) : CLV_NONE);
    f.in[1] = w.x;
    f.in[2] = u.x;
    rw_form_input(&f, w.scale);
    rw_form_input(&f, w.zero);
    rw_form_input(&f, u.scale);
    rw_form_input(&f, u.zero);
    return rw_reads(r, id, &f);
}

/* -- moves ----------------------------------------------------------------*/

/* Operators whose result has elements of the first input alone. The largest of
 * some is one of them, whatever the scale. */
static bool quant_moves(clv_op op)
{
    static const clv_op moves[] = {
        CLV_OP_RESHAPE,
        CLV_OP_FLATTEN,
        CLV_OP_UNFLATTEN,
        CLV_OP_SQUEEZE,
        CLV_OP_UNSQUEEZE,
        CLV_OP_PERMUTE,
        CLV_OP_TRANSPOSE,
        CLV_OP_SLICE,
        CLV_OP_SELECT,
        CLV_OP_INDEX_SELECT,
        CLV_OP_FLIP,
        CLV_OP_ROLL,
        CLV_OP_DEPTH_TO_SPACE,
        CLV_OP_SPACE_TO_DEPTH,
        CLV_OP_PIXEL_SHUFFLE,
        CLV_OP_PIXEL_UNSHUFFLE,
        CLV_OP_CHANNEL_SHUFFLE,
        CLV_OP_MAX_POOL1D,
        CLV_OP_MAX_POOL2D,
        CLV_OP_MAX_POOL3D,
    };
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i] == op)
            return true;
    return false;
}

/* All inputs of a cat are bytes of one scale. */
static bool quant_cat_alike(rewriter *r, uint32_t id, quant_of *q, rw_form *f)
{
    quant_of one;
    for (uint32_t i = 0; i < rw_node(r, id)->n_in; i++) {
        if (!rwq_made_bytes(r, rw_in(r, id, i), &one) ||
            (i && !rwq_alike(r, q, &one)))
            return false;
        if (!i && (*q = one, !rwq_form_again(r, id, one.x, f)))
            return false;
        f->in[i] = one.x;
    }
    return true;
}

bool rewrite_quant_move(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    quant_of q;
    rw_form f;
    if (!n->n_in || !n->n_out || !rw_is_static(r, rw_out(r, id)) ||
        (r->g->values[rw_out(r, id)].flags & CLV_V_OUTPUT))
        return false;
    for (uint32_t o = 1; o < n->n_out; o++)
        if (r->uses[node_outs(r->g, n)[o]])
            return false;
    if (n->op == CLV_OP_CAT) {
        if (!quant_cat_alike(r, id, &q, &f))
            return false;
    } else if (!quant_moves((clv_op)n->op) ||
               !rwq_made_bytes(r, rw_in(r, id, 0), &q) ||
               !rwq_form_again(r, id, q.x, &f)) {
        return false;
    }
    uint32_t moved = rw_add(r, &f);
    if (moved == CLV_NONE)
        return false;
    f = form_dequantize(&q, moved);
    return rw_become(r, id, &f);
}

/* Parts of a split are slices of the bytes. */
bool rewrite_quant_parts(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    uint32_t axis, count = n->n_out;
    quant_of q;
    if ((n->op != CLV_OP_SPLIT && n->op != CLV_OP_CHUNK) ||
        !rwq_made_bytes(r, rw_in(r, id, 0), &q) ||
        get_axis(n, rw_rank(r, q.x), &axis, NULL) != CLV_OK)
        return false;
    int64_t from = 0, along = axis;
    for (uint32_t o = 0; o < count; o++) {
        uint32_t v = node_outs(r->g, rw_node(r, id))[o];
        if (r->g->values[v].flags & CLV_V_OUTPUT || !rw_is_static(r, v))
            return false;
    }
    for (uint32_t o = 0; o < count; o++) {
        uint32_t v = node_outs(r->g, rw_node(r, id))[o];
        int64_t to = from + rw_dim(r, v, (int)axis);
        rw_form f = {.op = CLV_OP_SLICE};
        rw_form_input(&f, q.x);
        rw_form_ints(r, &f, CLV_A_START, &from, 1);
        rw_form_ints(r, &f, CLV_A_END, &to, 1);
        rw_form_ints(r, &f, CLV_A_AXES, &along, 1);
        uint32_t part = r->uses[v] ? rw_add(r, &f) : CLV_NONE;
        from = to;
        if (part == CLV_NONE)
            continue;
        f = form_dequantize(&q, part);
        part = rw_add(r, &f);
        if (part == CLV_NONE || !rw_same_shape(r, part, v))
            return false;
        rw_forward_value(r, v, part);
    }
    return true;
}

/* Each part of a cat is quantised for itself: bytes by a table. */
bool rewrite_quant_cat(rewriter *r, uint32_t id)
{
    quant_of y, one;
    uint32_t v = rw_in(r, id, 0), cat = rw_made_by(r, v, CLV_OP_CAT);
    rw_form f;
    uint32_t bytes = 0;
    if (cat == CLV_NONE || !rw_once(r, v) || !rwq_gives_bytes(r, id, &y) ||
        !rwq_form_again(r, cat, rw_in(r, cat, 0), &f))
        return false;
    for (uint32_t i = 0; i < f.n_in; i++)
        bytes += rwq_made_bytes(r, f.in[i], &one);
    if (2 * bytes < f.n_in)
        return false;
    for (uint32_t i = 0; i < f.n_in; i++) {
        if (rwq_made_bytes(r, f.in[i], &one) && rwq_alike(r, &one, &y)) {
            f.in[i] = one.x;
            continue;
        }
        rw_form part;
        if (!rwq_form_again(r, id, f.in[i], &part))
            return false;
        f.in[i] = rw_add(r, &part);
        if (f.in[i] == CLV_NONE)
            return false;
    }
    return rw_become(r, id, &f);
}

/* -- tables ---------------------------------------------------------------*/

/* The nodes between a byte and what is made of it. */
typedef struct table_search {
    uint32_t root; /* the bytes; CLV_NONE: none was found yet */
    int left;      /* nodes that may still be looked at */
} table_search;

static bool table_node(const rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    const clv_op_info *op = &clv__ops[n->op];
    bool each = op->fuse == CLV_FUSE_ELTWISE || n->op == CLV_OP_BYTE_TABLE;
    return each && op->cls == CLV_CLASS_COMPUTE && n->n_out == 1 && n->n_in &&
           n->op != CLV_OP_DROPOUT && n->op != CLV_OP_RRELU &&
           clv__kernel_of((clv_op)n->op);
}

/* Input i of a node of a table may be any constant. */
static bool table_constant(const rewriter *r, uint32_t id, uint32_t i)
{
    const clv_tensor *t = rw_known(r, rw_in(r, id, i));
    return t && (clv_tensor_numel(t) == 1 ||
                 (rw_op(r, id) == CLV_OP_BYTE_TABLE && i == 1));
}

/* v is a function of one byte tensor, elementwise. */
static bool table_finds(const rewriter *r, uint32_t v, table_search *s)
{
    uint32_t id = rw_maker(r, v);
    if (s->left-- <= 0 || !rw_is_static(r, v))
        return false;
    if (rwq_is_bytes(r, v) &&
        (id == CLV_NONE || rw_op(r, id) != CLV_OP_BYTE_TABLE)) {
        if (rw_known(r, v) || (s->root != CLV_NONE && s->root != v))
            return false;
        s->root = v;
        return true;
    }
    if (id == CLV_NONE || !table_node(r, id))
        return false;
    bool any = false;
    for (uint32_t i = 0; i < rw_node(r, id)->n_in; i++) {
        uint32_t x = rw_in(r, id, i);
        if (x == CLV_NONE || table_constant(r, id, i))
            continue;
        if (rw_known(r, x) || !table_finds(r, x, s))
            return false;
        any = true;
    }
    return any && rw_same_shape(r, v, s->root);
}

static uint32_t table_codes(rewriter *r, clv_dtype type)
{
    clv_tensor t;
    int64_t n = CODES;
    uint32_t v = rw_const(r, type, 1, &n, &t);
    for (int64_t i = 0; v != CLV_NONE && i < CODES; i++)
        put_i(&t, i, type == CLV_INT8 ? i + INT8_MIN : i);
    return v;
}

/* What v is for each code of the root: a constant of 256; CLV_NONE: that cannot
 * be computed. */
static uint32_t table_of(rewriter *r, uint32_t v, uint32_t root)
{
    uint32_t id = rw_maker(r, v);
    rw_form f;
    if (v == root)
        return table_codes(r, rwq_type(r, root));
    if (!rwq_form_again(r, id, rw_in(r, id, 0), &f))
        return CLV_NONE;
    for (uint32_t i = 0; i < f.n_in; i++) {
        if (f.in[i] == CLV_NONE)
            continue;
        bool number =
            rw_known(r, f.in[i]) && clv_tensor_numel(rw_known(r, f.in[i])) == 1;
        if (number)
            f.in[i] = rw_const_view(r, f.in[i], 0, NULL);
        else if (!rw_known(r, f.in[i]))
            f.in[i] = table_of(r, f.in[i], root);
        if (f.in[i] == CLV_NONE)
            return CLV_NONE;
    }
    uint32_t y = rw_add(r, &f);
    return y != CLV_NONE && rw_fold(r, rw_maker(r, y)) ? y : CLV_NONE;
}

/* The table changes nothing. */
static bool table_is_identity(const rewriter *r, uint32_t table, uint32_t x)
{
    const clv_tensor *t = rw_known(r, table);
    int64_t least = rwq_type(r, x) == CLV_INT8 ? INT8_MIN : 0;
    if (t->dtype != rwq_type(r, x))
        return false;
    for (int64_t i = 0; i < CODES; i++)
        if (get_i(t, i) != i + least)
            return false;
    return true;
}

bool rewrite_quant_table(rewriter *r, uint32_t id)
{
    enum { MOST = 24 }; /* nodes in one table */
    table_search s = {CLV_NONE, MOST};
    quant_of y;
    if (!rwq_gives_bytes(r, id, &y) || !table_finds(r, rw_in(r, id, 0), &s) ||
        s.root == CLV_NONE || !rw_same_shape(r, s.root, y.x))
        return false;
    rw_form f;
    uint32_t values = table_of(r, rw_in(r, id, 0), s.root);
    if (values == CLV_NONE || !rwq_form_again(r, id, values, &f))
        return false;
    if (y.zero != CLV_NONE)
        f.in[2] = rw_const_view(r, y.zero, 0, NULL);
    f.in[1] = rw_const_view(r, y.scale, 0, NULL);
    uint32_t table = rw_add(r, &f);
    if (table == CLV_NONE || !rw_fold(r, rw_maker(r, table)))
        return false;
    if (table_is_identity(r, table, s.root))
        return rw_forward(r, id, s.root);
    f = (rw_form){.op = CLV_OP_BYTE_TABLE};
    rw_form_input(&f, s.root);
    rw_form_input(&f, table);
    return rw_become(r, id, &f);
}

/* -- constants that are computed with as floats ---------------------------*/

bool rewrite_quant_constant(rewriter *r, uint32_t id)
{
    enum { MOST = 64 << 20 }; /* bytes of floats */
    uint32_t y = rw_out(r, id);
    for (uint32_t i = 0; i < rw_node(r, id)->n_in; i++)
        if (rw_in(r, id, i) != CLV_NONE && !rw_known(r, rw_in(r, id, i)))
            return false;
    return rw_is_static(r, y) && clv__bytes(&r->g->values[y]) <= MOST &&
           !(r->g->values[y].flags & CLV_V_OUTPUT) && rw_fold(r, id);
}

/* -- a table per channel --------------------------------------------------*/

/* Finds the batch norm that is quantised, right away or after a relu. */
static uint32_t channels_norm(const rewriter *r, uint32_t v, bool *relu)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_RELU);
    *relu = id != CLV_NONE;
    if (*relu && !rw_once(r, v))
        return CLV_NONE;
    v = *relu ? rw_in(r, id, 0) : v;
    id = rw_made_by(r, v, CLV_OP_BATCH_NORM);
    if (id == CLV_NONE || !rw_once(r, v) || rw_node(r, id)->n_in != 5 ||
        attr_int(rw_node(r, id), CLV_A_TRAINING) || rw_rank(r, v) < 2)
        return CLV_NONE;
    return id;
}

/* The numbers of the norm are known, one per channel; those that are constants
 * of bytes are dequantised now. */
static bool channels_known(rewriter *r, uint32_t norm)
{
    for (uint32_t i = 1; i < 5; i++) {
        uint32_t v = rw_in(r, norm, i);
        uint32_t maker = rw_made_by(r, v, CLV_OP_DEQUANTIZE_LINEAR);
        if (maker != CLV_NONE && rw_known(r, rw_in(r, maker, 0)) &&
            rw_fold(r, maker))
            v = rw_in(r, norm, i);
        const clv_tensor *t = rw_known(r, v);
        int64_t n = rw_dim(r, rw_out(r, norm), 1);
        if (!t || t->dtype != CLV_FLOAT32 || clv_tensor_numel(t) != n)
            return false;
        for (int64_t c = 0; c < n; c++)
            if (!isfinite(get_f(t, c)) || (i == 4 && get_f(t, c) < 0))
                return false;
    }
    return true;
}

/* y = (x - mean) scale + bias of one channel, from steps to steps. */
typedef struct channel_line {
    double scale, mean, bias;
    double x_zero, x_step, y_zero;
    float y_step, least; /* of y before it is quantised */
    int64_t x_first, y_first;
} channel_line;

/* The nearest whole number, of two the even one. */
static float channel_round(float x)
{
    const float far = 4194304, magic = 12582912; /* 2^22, 1.5 * 2^23 */
    x = x < -far ? -far : x > far ? far : x;
    volatile float sum = x + magic;
    return sum - magic;
}

static void channel_fill(const channel_line *l, uint8_t *table)
{
    double lo = (double)l->y_first, hi = lo + CODES - 1;
    for (int64_t i = 0; i < CODES; i++) {
        float in = (float)(((double)(i + l->x_first) - l->x_zero) * l->x_step);
        float out = (float)(((double)in - l->mean) * l->scale + l->bias);
        out = out < l->least ? l->least : out;
        double code = (double)channel_round(out / l->y_step) + l->y_zero;
        code = code < lo ? lo : code > hi ? hi : code;
        table[i] = (uint8_t)(int64_t)code;
    }
}

static void channels_fill(const rewriter *r, uint32_t norm, bool relu,
                          const quant_of *x, const quant_of *y, uint8_t *table)
{
    const clv_tensor *number[5];
    for (uint32_t i = 1; i < 5; i++)
        number[i] = rw_known(r, rw_in(r, norm, i));
    double eps = attr_float(rw_node(r, norm), CLV_A_EPSILON);
    channel_line l = {
        .x_zero = rwq_zero(r, x),
        .x_step = rwq_scale(r, x, 0),
        .y_zero = rwq_zero(r, y),
        .y_step = (float)rwq_scale(r, y, 0),
        .least = relu ? 0 : -INFINITY,
        .x_first = rwq_type(r, x->x) == CLV_INT8 ? INT8_MIN : 0,
        .y_first = rwq_type(r, y->x) == CLV_INT8 ? INT8_MIN : 0,
    };
    for (int64_t c = 0; c < clv_tensor_numel(number[1]); c++) {
        l.scale = get_f(number[1], c) / sqrt(get_f(number[4], c) + eps);
        l.bias = get_f(number[2], c);
        l.mean = get_f(number[3], c);
        channel_fill(&l, table + c * CODES);
    }
}

bool rewrite_quant_channels(rewriter *r, uint32_t id)
{
    quant_of x, y;
    bool relu;
    clv_tensor table;
    if (!rwq_gives_bytes(r, id, &y))
        return false;
    uint32_t norm = channels_norm(r, rw_in(r, id, 0), &relu);
    if (norm == CLV_NONE || !rwq_made_bytes(r, rw_in(r, norm, 0), &x) ||
        !channels_known(r, norm))
        return false;
    const int64_t dims[2] = {rw_dim(r, x.x, 1), CODES};
    uint32_t v = rw_const(r, rwq_type(r, y.x), 2, dims, &table);
    if (v == CLV_NONE)
        return false;
    channels_fill(r, norm, relu, &x, &y, table.data);
    rw_form f = {.op = CLV_OP_BYTE_TABLE};
    rw_form_input(&f, x.x);
    rw_form_input(&f, v);
    return rw_become(r, id, &f);
}

/* map_hlo.c - StableHLO operators inside of a TFLite model. Their options are
 * lists of eight-byte integers; nothing has its channels anywhere. */
#include "formats/tflite/tflite.h"

#include "tensor/dtype.h"

#include <string.h>

/* The list in option `field`; more than max are cut off, and n is 0. */
static uint32_t hlo_list(tfl_call *c, uint32_t field, int64_t *out,
                         uint32_t max)
{
    flat *f = &c->m->f;
    flat_vector v = flat_list(f, c->opts, field, 8);
    uint32_t n = v.n <= max ? v.n : 0;
    for (uint32_t i = 0; i < n; i++)
        out[i] = flat_i64_at(f, v, i);
    return n;
}

void lite_hlo_clamp(tfl_call *c)
{
    uint32_t ins[3] = {tfl_in(c, 1), tfl_in(c, 0), tfl_in(c, 2)};
    tfl_give(c, 0, tfl_node(c, CLV_OP_CLAMP, ins, 3, 1, NULL), false);
}

/* arg 0: and, 1: or; of truth values or of bits. */
void lite_hlo_logic(tfl_call *c)
{
    uint32_t x = tfl_codes(c, 0), y = tfl_codes(c, 1);
    bool truth = tfl_type(c, x) == CLV_BOOL;
    clv_op op = !truth        ? c->row->op
                : c->row->arg ? CLV_OP_LOGICAL_OR
                              : CLV_OP_LOGICAL_AND;
    tfl_give(c, 0, tfl_2(c, op, x, y), false);
}

void lite_hlo_compare(tfl_call *c)
{
    static const clv_op ops[] = {CLV_OP_EQ, CLV_OP_NE, CLV_OP_GE,
                                 CLV_OP_GT, CLV_OP_LE, CLV_OP_LT};
    uint32_t way = flat_u32(&c->m->f, c->opts, 0);
    if (way >= sizeof ops / sizeof *ops) {
        tfl_unknown(c);
        return;
    }
    tfl_give(c, 0, tfl_2(c, ops[way], tfl_in(c, 0), tfl_in(c, 1)), false);
}

/* Axis i of x becomes axis dims[i] of the result. */
void lite_hlo_broadcast(tfl_call *c)
{
    int64_t dims[CLV_MAX_RANK], shape[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, 0, dims, CLV_MAX_RANK), x = tfl_codes(c, 0);
    uint32_t at = tfl_out(c, 0);
    if (tfl_failed(c->m) || at >= c->s->n_tensors)
        return;
    const tfl_tensor *t = &c->s->tensors[at];
    if (t->rank == CLV_NO_RANK || n != tfl_rank(c, x)) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < t->rank; i++)
        shape[i] = 1;
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] >= 0 && dims[i] < t->rank)
            shape[dims[i]] = tfl_dim(c, x, i);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_SHAPE, t->dims, t->rank);
    x = tfl_reshape(c, x, shape, t->rank);
    tfl_give_codes(c, 0, tfl_1(c, CLV_OP_EXPAND, x, &a), false);
}

void lite_hlo_slice(tfl_call *c)
{
    int64_t from[CLV_MAX_RANK], to[CLV_MAX_RANK], step[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, 0, from, CLV_MAX_RANK);
    uint32_t m = hlo_list(c, 1, to, CLV_MAX_RANK);
    uint32_t k = hlo_list(c, 2, step, CLV_MAX_RANK);
    if (n != m || n != k) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_START, from, n);
    tfl_ints(&a, CLV_A_END, to, n);
    tfl_ints(&a, CLV_A_STEP, step, n);
    tfl_give_codes(c, 0, tfl_1(c, CLV_OP_SLICE, tfl_codes(c, 0), &a), false);
}

/* Along each axis that is cut, the elements start, start + 1, .. */
void lite_hlo_dynamic_slice(tfl_call *c)
{
    int64_t sizes[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, 0, sizes, CLV_MAX_RANK), x = tfl_codes(c, 0);
    if (n != tfl_rank(c, x)) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++) {
        int64_t room = tfl_dim(c, x, i) - sizes[i];
        if (room <= 0)
            continue;
        tfl_attrs clamp = {0}, range = {0}, by = {0};
        tfl_int(&clamp, CLV_A_MIN, 0);
        tfl_int(&clamp, CLV_A_MAX, room);
        tfl_int(&range, CLV_A_END, sizes[i]);
        tfl_int(&range, CLV_A_DTYPE, CLV_INT64);
        tfl_int(&by, CLV_A_AXIS, i);
        uint32_t start = tfl_cast(c, tfl_codes(c, 1 + i), CLV_INT64);
        start = tfl_1(c, CLV_OP_CLAMP, start, &clamp);
        uint32_t ins[2] = {x, tfl_node(c, CLV_OP_RANGE, NULL, 0, 1, &range)};
        ins[1] = tfl_2(c, CLV_OP_ADD, ins[1], start);
        x = tfl_node(c, CLV_OP_INDEX_SELECT, ins, 2, 1, &by);
    }
    tfl_give_codes(c, 0, x, false);
}

void lite_hlo_pad(tfl_call *c)
{
    int64_t pads[2 * CLV_MAX_RANK], inner[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, 0, pads, CLV_MAX_RANK);
    uint32_t m = hlo_list(c, 1, pads + n, CLV_MAX_RANK);
    uint32_t k = hlo_list(c, 2, inner, CLV_MAX_RANK);
    bool dilated = false;
    for (uint32_t i = 0; i < k; i++)
        dilated |= inner[i] != 0;
    if (n != m || dilated) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_PADDING, pads, 2 * n);
    uint32_t ins[3] = {tfl_codes(c, 0), CLV_NONE, tfl_codes(c, 1)};
    tfl_give_codes(c, 0, tfl_node(c, CLV_OP_PAD, ins, 3, 1, &a), false);
}

void lite_hlo_iota(tfl_call *c)
{
    uint32_t at = tfl_out(c, 0);
    int64_t axis = flat_i64(&c->m->f, c->opts, 0, 0), shape[CLV_MAX_RANK];
    if (at >= c->s->n_tensors)
        return;
    const tfl_tensor *t = &c->s->tensors[at];
    if (t->rank == CLV_NO_RANK || axis < 0 || axis >= t->rank) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < t->rank; i++)
        shape[i] = i == axis ? t->dims[i] : 1;
    tfl_attrs a = {0}, b = {0};
    tfl_int(&a, CLV_A_END, t->dims[axis]);
    tfl_int(&a, CLV_A_DTYPE, CLV_INT64);
    uint32_t x = tfl_node(c, CLV_OP_RANGE, NULL, 0, 1, &a);
    tfl_ints(&b, CLV_A_SHAPE, t->dims, t->rank);
    x = tfl_1(c, CLV_OP_EXPAND, tfl_reshape(c, x, shape, t->rank), &b);
    tfl_give(c, 0, x, false);
}

/* -- products -------------------------------------------------------------*/

/* Letters for the axes of both sides: those of a batch and those summed over
 * are shared. Writes "abc,abd->acd". */
static bool dot_equation(tfl_call *c, uint32_t x, uint32_t y, char *out,
                         size_t size)
{
    int64_t lists[4][CLV_MAX_RANK];
    uint32_t n[4];
    for (uint32_t i = 0; i < 4; i++)
        n[i] = hlo_list(c, i, lists[i], CLV_MAX_RANK);
    uint32_t rx = tfl_rank(c, x), ry = tfl_rank(c, y);
    char left[CLV_MAX_RANK] = {0}, right[CLV_MAX_RANK] = {0}, next = 'a';
    size_t len = 0;
    if (n[0] != n[1] || n[2] != n[3] || size < 4 * CLV_MAX_RANK)
        return false;
    for (uint32_t k = 0; k < 4; k += 2)
        for (uint32_t i = 0; i < n[k]; i++) {
            if (lists[k][i] < 0 || lists[k][i] >= rx || lists[k + 1][i] < 0 ||
                lists[k + 1][i] >= ry)
                return false;
            left[lists[k][i]] = right[lists[k + 1][i]] = next++;
        }
    uint32_t shared = (uint32_t)(next - 'a');
    for (uint32_t i = 0; i < rx + ry; i++) {
        char *at = i < rx ? &left[i] : &right[i - rx];
        *at = *at ? *at : next++;
    }
    for (uint32_t i = 0; i < rx; i++)
        out[len++] = left[i];
    out[len++] = ',';
    for (uint32_t i = 0; i < ry; i++)
        out[len++] = right[i];
    out[len++] = '-';
    out[len++] = '>';
    for (uint32_t i = 0; i < n[0]; i++)
        out[len++] = (char)('a' + i);
    for (char l = (char)('a' + shared); l < next; l++)
        out[len++] = l;
    out[len] = '\0';
    return next <= 'z';
}

void lite_hlo_dot(tfl_call *c)
{
    char text[5 * CLV_MAX_RANK];
    uint32_t ins[2] = {tfl_in(c, 0), tfl_in(c, 1)};
    if (tfl_failed(c->m))
        return;
    if (!dot_equation(c, ins[0], ins[1], text, sizeof text)) {
        tfl_unknown(c);
        return;
    }
    char *own = arena_strndup(&c->g->mem, text, strlen(text));
    tfl_attrs a = {0};
    if (!own) {
        tfl_nomem(c->m);
        return;
    }
    tfl_str(&a, CLV_A_EQUATION, own);
    tfl_give(c, 0, tfl_node(c, CLV_OP_EINSUM, ins, 2, 1, &a), false);
}

enum {
    HLO_STRIDES = 0,
    HLO_PADDING = 1,
    HLO_X_DILATION = 2,
    HLO_W_DILATION = 3,
    HLO_X_BATCH = 5,
    HLO_X_CHANNEL = 6,
    HLO_X_SPACE = 7,
    HLO_W_IN = 8,
    HLO_W_OUT = 9,
    HLO_W_SPACE = 10,
    HLO_Y_BATCH = 11,
    HLO_Y_CHANNEL = 12,
    HLO_Y_SPACE = 13,
    HLO_GROUPS = 14,
    HLO_BATCH_GROUPS = 15
};

/* The permutation that puts axes a, b, and those of a list first to last. */
static uint32_t hlo_order(tfl_call *c, uint32_t a, uint32_t b, uint32_t space,
                          int64_t *perm)
{
    perm[0] = flat_i64(&c->m->f, c->opts, a, 0);
    perm[1] = flat_i64(&c->m->f, c->opts, b, 0);
    return 2 + hlo_list(c, space, perm + 2, CLV_MAX_RANK - 2);
}

static bool hlo_all_one(tfl_call *c, uint32_t field)
{
    int64_t list[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, field, list, CLV_MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != 1)
            return false;
    return true;
}

void lite_hlo_conv(tfl_call *c)
{
    static const clv_op ops[] = {CLV_OP_UNKNOWN, CLV_OP_CONV1D, CLV_OP_CONV2D,
                                 CLV_OP_CONV3D};
    int64_t px[CLV_MAX_RANK], pw[CLV_MAX_RANK], py[CLV_MAX_RANK],
        back[CLV_MAX_RANK], stride[CLV_MAX_RANK], dilation[CLV_MAX_RANK],
        pairs[2 * CLV_MAX_RANK] = {0}, pads[2 * CLV_MAX_RANK];
    uint32_t n = hlo_order(c, HLO_X_BATCH, HLO_X_CHANNEL, HLO_X_SPACE, px);
    uint32_t m = hlo_order(c, HLO_W_OUT, HLO_W_IN, HLO_W_SPACE, pw);
    uint32_t k = hlo_order(c, HLO_Y_BATCH, HLO_Y_CHANNEL, HLO_Y_SPACE, py);
    uint32_t nd = n - 2, n_stride = hlo_list(c, HLO_STRIDES, stride, 3);
    uint32_t n_dilation = hlo_list(c, HLO_W_DILATION, dilation, 3);
    uint32_t n_pad = hlo_list(c, HLO_PADDING, pairs, 2 * CLV_MAX_RANK);
    if (n != m || n != k || nd < 1 || nd > 3 ||
        flat_i64(&c->m->f, c->opts, HLO_BATCH_GROUPS, 1) != 1 ||
        !hlo_all_one(c, HLO_X_DILATION)) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (py[i] >= 0 && py[i] < n)
            back[py[i]] = i;
    for (uint32_t i = 0; i < nd; i++) {
        pads[i] = n_pad ? pairs[2 * i] : 0;
        pads[nd + i] = n_pad ? pairs[2 * i + 1] : 0;
    }
    uint32_t ins[2] = {tfl_permute(c, tfl_in(c, 0), px, n),
                       tfl_permute(c, tfl_in(c, 1), pw, n)};
    tfl_attrs a = {0};
    if (n_stride)
        tfl_ints(&a, CLV_A_STRIDE, stride, n_stride);
    if (n_dilation)
        tfl_ints(&a, CLV_A_DILATION, dilation, n_dilation);
    tfl_ints(&a, CLV_A_PADDING, pads, 2 * nd);
    tfl_int(&a, CLV_A_GROUPS, flat_i64(&c->m->f, c->opts, HLO_GROUPS, 1));
    uint32_t y = tfl_node(c, ops[nd], ins, 2, 1, &a);
    tfl_give(c, 0, tfl_permute(c, y, back, n), false);
}

/* -- reductions -----------------------------------------------------------*/

/* The reduction that a body of one operator says; UNKNOWN for any other. */
static clv_op hlo_reduction(tfl_call *c, int64_t index)
{
    static const struct {
        clv_op of, is;
    } ways[] = {
        {CLV_OP_ADD, CLV_OP_SUM},         {CLV_OP_MUL, CLV_OP_PROD},
        {CLV_OP_MAXIMUM, CLV_OP_MAX},     {CLV_OP_MINIMUM, CLV_OP_MIN},
        {CLV_OP_LOGICAL_AND, CLV_OP_ALL}, {CLV_OP_BITWISE_AND, CLV_OP_ALL},
        {CLV_OP_LOGICAL_OR, CLV_OP_ANY},  {CLV_OP_BITWISE_OR, CLV_OP_ANY}};
    flat *f = &c->m->f;
    if (index < 0 || index >= c->m->subgraphs.n)
        return CLV_OP_UNKNOWN;
    flat_table sub = flat_item(f, c->m->subgraphs, (uint32_t)index);
    flat_vector ops = flat_list(f, sub, 3, 4);
    flat_table code =
        ops.n == 1
            ? flat_item(f, c->m->codes, flat_u32(f, flat_item(f, ops, 0), 0))
            : (flat_table){0};
    int64_t id = flat_i32(f, code, 3, 0), old = flat_i8(f, code, 0, 0);
    const tfl_row *row = tfl_row_of(id > old ? id : old);
    for (size_t i = 0; row && code.at && i < sizeof ways / sizeof *ways; i++)
        if (ways[i].of == row->op)
            return ways[i].is;
    return CLV_OP_UNKNOWN;
}

/* What a reduction starts from is taken to change nothing. */
void lite_hlo_reduce(tfl_call *c)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t n = hlo_list(c, 0, axes, CLV_MAX_RANK);
    clv_op op = hlo_reduction(c, flat_i32(&c->m->f, c->opts, 1, 0));
    if (op == CLV_OP_UNKNOWN || c->ins.n != 2) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, axes, n);
    tfl_give(c, 0, tfl_1(c, op, tfl_in(c, 0), &a), false);
}

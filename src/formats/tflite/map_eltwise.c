/* map_eltwise.c - what works on each element alone, or along one axis; numbers
 * made from nothing. */
#include "formats/tflite/tflite.h"

#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

/* -- one operand ----------------------------------------------------------*/

void lite_unary(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    tfl_give(c, 0, tfl_1(c, c->row->op, x, NULL), first);
}

void lite_act(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    tfl_give(c, 0, tfl_activate(c, x, c->row->arg), first);
}

void lite_leaky_relu(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    tfl_attrs a = {0};
    tfl_float(&a, CLV_A_ALPHA, flat_f32(&c->m->f, c->opts, 0, 0));
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    tfl_give(c, 0, tfl_1(c, c->row->op, x, &a), first);
}

void lite_gelu(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    tfl_attrs a = {0};
    tfl_str(&a, CLV_A_APPROXIMATE,
            flat_i8(&c->m->f, c->opts, 0, 0) ? "tanh" : "none");
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    tfl_give(c, 0, tfl_1(c, c->row->op, x, &a), first);
}

void lite_cast(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    uint32_t at = tfl_out(c, 0);
    if (tfl_failed(c->m) || at >= c->s->n_tensors)
        return;
    clv_dtype to = clv__build_dtype(c->m->opts, c->s->tensors[at].dtype);
    uint32_t y = to == tfl_type(c, x) ? tfl_1(c, CLV_OP_IDENTITY, x, NULL)
                                      : tfl_cast(c, x, to);
    tfl_give(c, 0, y, first);
}

void lite_identity(tfl_call *c)
{
    tfl_give_codes(c, 0, tfl_1(c, CLV_OP_IDENTITY, tfl_codes(c, 0), NULL),
                   false);
}

void lite_unknown(tfl_call *c)
{
    tfl_unknown(c);
}

/* The cube root keeps the sign. */
void lite_cbrt(tfl_call *c)
{
    uint32_t x = tfl_in(c, 0), size = tfl_1(c, CLV_OP_ABS, x, NULL);
    tfl_attrs a = {0};
    tfl_float(&a, CLV_A_VALUE, 1.0 / 3);
    size = tfl_1(c, CLV_OP_POW, size, &a);
    tfl_give(c, 0, tfl_2(c, CLV_OP_MUL, size, tfl_1(c, CLV_OP_SIGN, x, NULL)),
             false);
}

void lite_bitcast(tfl_call *c)
{
    uint32_t at = tfl_out(c, 0);
    tfl_attrs a = {0};
    if (at >= c->s->n_tensors)
        return;
    tfl_int(&a, CLV_A_DTYPE, c->s->tensors[at].dtype);
    tfl_give_codes(c, 0, tfl_1(c, CLV_OP_BITCAST, tfl_codes(c, 0), &a), false);
}

/* -- several operands -----------------------------------------------------*/

/* Whether operand i holds no more than one number or is stored: such a one can
 * be had in any order of axes. */
static bool eltwise_anyhow(tfl_call *c, uint32_t i, uint32_t *v)
{
    *v = tfl_in(c, i);
    if (tfl_failed(c->m) || *v == CLV_NONE)
        return false;
    const clv_value *x = &c->g->values[*v];
    return x->rank != CLV_NO_RANK && x->rank <= TFL_CHANNELS_LAST &&
           (clv__numel(x) == 1 || value_is_fixed(x));
}

/* v, of at most four axes, with its channels second. */
static uint32_t eltwise_turn(tfl_call *c, uint32_t v)
{
    static const int64_t turn[] = {0, 3, 1, 2};
    int64_t dims[4] = {1, 1, 1, 1};
    uint32_t rank = tfl_rank(c, v);
    if (clv__numel(&c->g->values[v]) == 1 && rank == 0)
        return v;
    for (uint32_t i = 0; i < rank; i++)
        dims[4 - rank + i] = tfl_dim(c, v, i);
    if (dims[0] == 1 && dims[1] == 1 && dims[2] == 1) {
        int64_t plane[4] = {1, dims[3], 1, 1};
        return tfl_reshape(c, v, plane, 4);
    }
    if (rank != 4)
        v = tfl_reshape(c, v, dims, 4);
    return tfl_permute(c, v, turn, 4);
}

/* The operands from number `from` on in one order of axes: channels second
 * when some have it and the others can be had so. */
static bool eltwise_operands(tfl_call *c, uint32_t from, uint32_t n,
                             uint32_t *out)
{
    bool any = false, all = true, have[4];
    uint32_t v;
    for (uint32_t i = 0; i < n; i++) {
        have[i] = tfl_is_first(c, from + i);
        any |= have[i];
    }
    for (uint32_t i = 0; i < n && any && all; i++)
        all = have[i] || eltwise_anyhow(c, from + i, &v);
    bool first = any && all;
    for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++) {
        if (!first)
            out[i] = tfl_in(c, from + i);
        else if (have[i])
            out[i] = tfl_in_first(c, from + i);
        else
            out[i] = eltwise_turn(c, tfl_in(c, from + i));
    }
    return first;
}

/* Integers are divided towards zero. */
static uint32_t eltwise_divide(tfl_call *c, const uint32_t *ins)
{
    tfl_attrs a = {0};
    if (dtype_class_of(tfl_type(c, ins[0])) != CLASS_FLOAT)
        tfl_str(&a, CLV_A_MODE, "trunc");
    return tfl_node(c, CLV_OP_DIV, ins, 2, 1, &a);
}

/* arg 0: with a fused activation as its first option. */
void lite_binary(tfl_call *c)
{
    uint32_t ins[2] = {CLV_NONE, CLV_NONE};
    bool first = eltwise_operands(c, 0, 2, ins);
    uint32_t y = c->row->op == CLV_OP_DIV
                     ? eltwise_divide(c, ins)
                     : tfl_node(c, c->row->op, ins, 2, 1, NULL);
    int64_t act = c->row->arg ? 0 : flat_i8(&c->m->f, c->opts, 0, 0);
    tfl_give_act(c, 0, y, first, act);
}

void lite_squared_difference(tfl_call *c)
{
    uint32_t ins[2] = {CLV_NONE, CLV_NONE};
    bool first = eltwise_operands(c, 0, 2, ins);
    uint32_t y = tfl_node(c, CLV_OP_SUB, ins, 2, 1, NULL);
    tfl_give(c, 0, tfl_1(c, CLV_OP_SQUARE, y, NULL), first);
}

void lite_prelu(tfl_call *c)
{
    uint32_t ins[2] = {CLV_NONE, CLV_NONE};
    bool first = eltwise_operands(c, 0, 2, ins);
    tfl_give(c, 0, tfl_node(c, CLV_OP_PRELU, ins, 2, 1, NULL), first);
}

void lite_add_n(tfl_call *c)
{
    uint32_t *ins = arena_array(&c->m->mem, c->ins.n + 1u, sizeof *ins);
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    for (uint32_t i = 0; i < c->ins.n; i++)
        ins[i] = tfl_in(c, i);
    tfl_give(c, 0, tfl_node(c, CLV_OP_ADD_N, ins, c->ins.n, 1, NULL), false);
}

/* arg 0: a condition of one axis chooses whole rows. */
void lite_select(tfl_call *c)
{
    uint32_t ins[3] = {CLV_NONE, CLV_NONE, CLV_NONE};
    bool first = eltwise_operands(c, 0, 3, ins);
    uint32_t rank = tfl_rank(c, ins[1]);
    if (!c->row->arg && !first && tfl_rank(c, ins[0]) == 1 && rank > 1) {
        int64_t dims[CLV_MAX_RANK];
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = i ? 1 : tfl_dim(c, ins[0], 0);
        ins[0] = tfl_reshape(c, ins[0], dims, rank);
    }
    tfl_give(c, 0, tfl_node(c, CLV_OP_WHERE, ins, 3, 1, NULL), first);
}

/* -- to and from codes ----------------------------------------------------*/

void lite_requantise(tfl_call *c)
{
    bool first = tfl_is_first(c, 0);
    uint32_t x = first ? tfl_in_first(c, 0) : tfl_in(c, 0);
    uint32_t at = tfl_at(c, 0), to = tfl_out(c, 0);
    if (tfl_failed(c->m) || at == CLV_NONE || to >= c->s->n_tensors)
        return;
    clv_dtype told = clv__build_dtype(c->m->opts, c->s->tensors[to].dtype);
    if (told == tfl_type(c, x) && !tfl_quantised(c->s, to) &&
        !tfl_quantised(c->s, at))
        x = tfl_1(c, CLV_OP_IDENTITY, x, NULL);
    tfl_give(c, 0, x, first);
}

/* Rounds to 2^bits levels between min and max, moved so that one of them is
 * zero. */
void lite_fake_quant(tfl_call *c)
{
    flat *f = &c->m->f;
    double min = flat_f32(f, c->opts, 0, 0), max = flat_f32(f, c->opts, 1, 0);
    int64_t bits = flat_i32(f, c->opts, 2, 0);
    int64_t low = flat_i8(f, c->opts, 3, 0) ? 1 : 0;
    if (bits < 2 || bits > 16 || !(max > min)) {
        tfl_unknown(c);
        return;
    }
    int64_t high = (1 << bits) - 1;
    double scale = (max - min) / (double)(high - low);
    double zero = nearbyint((double)low - min / scale);
    zero = zero < (double)low ? (double)low : zero;
    zero = zero > (double)high ? (double)high : zero;
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_MIN, low);
    tfl_int(&a, CLV_A_MAX, high);
    tfl_float(&a, CLV_A_SCALE, scale);
    tfl_int(&a, CLV_A_ZERO_POINT, (int64_t)zero);
    tfl_give(c, 0, tfl_1(c, CLV_OP_FAKE_QUANTIZE, tfl_in(c, 0), &a), false);
}

/* -- along axes -----------------------------------------------------------*/

/* arg 0: with an exponent `beta`. */
void lite_softmax(tfl_call *c)
{
    double beta = c->row->arg ? 1 : flat_f32(&c->m->f, c->opts, 0, 0);
    uint32_t x = tfl_in(c, 0);
    tfl_attrs a = {0}, by = {0};
    tfl_float(&by, CLV_A_VALUE, beta);
    if (beta != 1)
        x = tfl_1(c, CLV_OP_MUL, x, &by);
    tfl_int(&a, CLV_A_AXIS, -1);
    tfl_give(c, 0, tfl_1(c, c->row->op, x, &a), false);
}

void lite_l2_norm(tfl_call *c)
{
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_P, 2);
    tfl_int(&a, CLV_A_AXIS, -1);
    tfl_float(&a, CLV_A_EPSILON, 1e-6);
    uint32_t y = tfl_1(c, CLV_OP_LP_NORM, tfl_in(c, 0), &a);
    tfl_give_act(c, 0, y, false, flat_i8(&c->m->f, c->opts, 0, 0));
}

/* Axes counted from the end are counted from the start. */
static void reduce_axes(int64_t *axes, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++)
        if (axes[i] < 0)
            axes[i] += rank;
}

/* Whether what is left of a tensor whose channels come second has the order
 * that the file says: all axes are kept, or height and width go. */
static bool reduce_fits(const int64_t *axes, uint32_t n, bool keep)
{
    return keep || (n == 2 && axes[0] + axes[1] == 3 && axes[0] * axes[1] == 2);
}

void lite_reduce(tfl_call *c)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t n;
    bool keep = flat_i8(&c->m->f, c->opts, 0, 0) != 0;
    bool known = tfl_list(c, 1, axes, &n, CLV_MAX_RANK);
    if (tfl_is_first(c, 0))
        reduce_axes(axes, n, TFL_CHANNELS_LAST);
    bool first = known && tfl_is_first(c, 0) && reduce_fits(axes, n, keep);
    for (uint32_t i = 0; first && i < n; i++)
        axes[i] = tfl_axis_first(axes[i]);
    uint32_t ins[2] = {first ? tfl_in_first(c, 0) : tfl_in(c, 0),
                       known ? CLV_NONE : tfl_codes(c, 1)};
    if (known && n == 0) {
        tfl_give(c, 0, tfl_1(c, CLV_OP_IDENTITY, ins[0], NULL), first);
        return;
    }
    tfl_attrs a = {0};
    if (known)
        tfl_ints(&a, CLV_A_AXES, axes, n);
    tfl_int(&a, CLV_A_KEEPDIM, keep);
    uint32_t y = tfl_node(c, c->row->op, ins, known ? 1 : 2, 1, &a);
    tfl_give(c, 0, y, first && keep);
}

void lite_arg(tfl_call *c)
{
    int64_t axis = 0;
    uint32_t n;
    uint32_t x = tfl_same_codes(c, 0, 0) ? tfl_codes(c, 0) : tfl_in(c, 0);
    if (!tfl_list(c, 1, &axis, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    tfl_give(c, 0, tfl_1(c, c->row->op, x, &a), false);
}

void lite_cumsum(tfl_call *c)
{
    int64_t axis = 0;
    uint32_t n;
    flat *f = &c->m->f;
    if (!tfl_list(c, 1, &axis, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    tfl_int(&a, CLV_A_EXCLUSIVE, flat_i8(f, c->opts, 0, 0));
    tfl_int(&a, CLV_A_REVERSE, flat_i8(f, c->opts, 1, 0));
    tfl_give(c, 0, tfl_1(c, CLV_OP_CUMSUM, tfl_in(c, 0), &a), false);
}

void lite_topk(tfl_call *c)
{
    int64_t k = 0;
    uint32_t n;
    if (!tfl_list(c, 1, &k, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    bool codes = tfl_same_codes(c, 0, 0);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_K, k);
    tfl_int(&a, CLV_A_AXIS, -1);
    uint32_t x = codes ? tfl_codes(c, 0) : tfl_in(c, 0);
    uint32_t y = tfl_node(c, CLV_OP_TOPK, &x, 1, 2, &a);
    if (tfl_failed(c->m))
        return;
    if (codes)
        tfl_give_codes(c, 0, y, false);
    else
        tfl_give(c, 0, y, false);
    tfl_give(c, 1, y + 1, false);
}

/* Values in the order in which they come, and where each element's is. */
void lite_unique(tfl_call *c)
{
    uint32_t x = tfl_codes(c, 0);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_SORTED, 0);
    uint32_t y = tfl_node(c, CLV_OP_UNIQUE, &x, 1, 3, &a);
    if (tfl_failed(c->m))
        return;
    tfl_give_codes(c, 0, y, false);
    tfl_give(c, 1, y + 2, false);
}

/* How many boundaries are at most x. */
void lite_bucketize(tfl_call *c)
{
    flat *f = &c->m->f;
    flat_vector edges = flat_list(f, c->opts, 0, 4);
    uint32_t x = tfl_in(c, 0);
    double *list = arena_array(&c->m->mem, edges.n + 1u, sizeof *list);
    int64_t n = edges.n, last = -1;
    if (tfl_failed(c->m) || !list) {
        tfl_nomem(c->m);
        return;
    }
    for (uint32_t i = 0; i < edges.n; i++)
        list[i] = (double)flat_f32_at(f, edges, i);
    tfl_attrs a = {0}, by = {0};
    tfl_ints(&a, CLV_A_AXES, &last, 1);
    uint32_t wide = tfl_1(c, CLV_OP_UNSQUEEZE, tfl_cast(c, x, CLV_FLOAT32), &a);
    uint32_t all =
        tfl_const(c->m, c->g, "boundaries", CLV_FLOAT32, 1, &n, NULL, list);
    uint32_t above = tfl_2(c, CLV_OP_GE, wide, all);
    tfl_ints(&by, CLV_A_AXES, &last, 1);
    tfl_give(c, 0, tfl_1(c, CLV_OP_SUM, tfl_cast(c, above, CLV_INT32), &by),
             false);
}

/* -- made -----------------------------------------------------------------*/

void lite_zeros_like(tfl_call *c)
{
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_VALUE, 0);
    tfl_give_codes(c, 0, tfl_1(c, CLV_OP_FULL_LIKE, tfl_codes(c, 0), &a),
                   false);
}

void lite_fill(tfl_call *c)
{
    uint32_t ins[2] = {tfl_codes(c, 0), tfl_codes(c, 1)};
    tfl_give_codes(c, 0, tfl_node(c, CLV_OP_FULL, ins, 2, 1, NULL), false);
}

void lite_range(tfl_call *c)
{
    uint32_t ins[3] = {tfl_codes(c, 0), tfl_codes(c, 1), tfl_codes(c, 2)};
    tfl_give(c, 0, tfl_node(c, CLV_OP_RANGE, ins, 3, 1, NULL), false);
}

/* arg 1: normal, else uniform in [0, 1). */
void lite_random(tfl_call *c)
{
    uint32_t shape = tfl_codes(c, 0);
    int64_t seed = flat_i64(&c->m->f, c->opts, 0, 0);
    tfl_attrs a = {0};
    tfl_str(&a, CLV_A_DISTRIBUTION, c->row->arg ? "normal" : "uniform");
    if (seed)
        tfl_float(&a, CLV_A_SEED, (double)seed);
    tfl_give(c, 0, tfl_node(c, CLV_OP_RANDOM, &shape, 1, 1, &a), false);
}

void lite_multinomial(tfl_call *c)
{
    int64_t samples = 1;
    uint32_t n;
    if (!tfl_list(c, 1, &samples, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_SAMPLES, samples);
    tfl_int(&a, CLV_A_LOGITS, 1);
    tfl_give(c, 0, tfl_1(c, CLV_OP_MULTINOMIAL, tfl_in(c, 0), &a), false);
}

void lite_one_hot(tfl_call *c)
{
    int64_t depth = 0;
    uint32_t n, off_on[2] = {tfl_codes(c, 3), tfl_codes(c, 2)};
    if (!tfl_list(c, 1, &depth, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0}, stack = {0};
    tfl_int(&stack, CLV_A_AXIS, 0);
    tfl_int(&a, CLV_A_DEPTH, depth);
    tfl_int(&a, CLV_A_AXIS, flat_i32(&c->m->f, c->opts, 0, 0));
    uint32_t ins[3] = {tfl_codes(c, 0), CLV_NONE,
                       tfl_node(c, CLV_OP_STACK, off_on, 2, 1, &stack)};
    tfl_give_codes(c, 0, tfl_node(c, CLV_OP_ONE_HOT, ins, 3, 1, &a), false);
}

/* 1 on the diagonal of an n by n matrix. */
static uint32_t made_eye(tfl_call *c, int64_t rows, int64_t columns,
                         clv_dtype t)
{
    int64_t dims[2] = {rows, columns};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_SHAPE, dims, 2);
    tfl_int(&a, CLV_A_DTYPE, t);
    return tfl_node(c, CLV_OP_EYE, NULL, 0, 1, &a);
}

/* arg 0: a matrix of zeros with x as its diagonal; 1: x with another one. */
void lite_matrix_diag(tfl_call *c)
{
    bool set = c->row->arg == 1;
    uint32_t x = tfl_in(c, 0), d = set ? tfl_in(c, 1) : x;
    int64_t last = -1, columns = tfl_dim(c, x, -1);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, &last, 1);
    uint32_t wide = tfl_1(c, CLV_OP_UNSQUEEZE, d, &a);
    uint32_t eye = made_eye(c, set ? tfl_dim(c, x, -2) : columns, columns,
                            set ? CLV_FLOAT32 : tfl_type(c, x));
    if (!set) {
        tfl_give(c, 0, tfl_2(c, CLV_OP_MUL, wide, eye), false);
        return;
    }
    uint32_t ins[3] = {tfl_cast(c, eye, CLV_BOOL), wide, x};
    tfl_give(c, 0, tfl_node(c, CLV_OP_WHERE, ins, 3, 1, NULL), false);
}

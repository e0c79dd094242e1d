/* map_shape.c - what moves elements: reshapes, slices, joins, gathers.
 *
 * These keep the codes of a quantised tensor, as long as result and operand
 * have the same ones. */
#include "formats/tflite/tflite.h"

#include <string.h>

/* Operand i as codes where result 0 has the same ones, else in real numbers;
 * `first`: with its channels second. */
static uint32_t shape_in(tfl_call *c, uint32_t i, bool first)
{
    bool same = tfl_same_codes(c, i, 0);
    if (first)
        return same ? tfl_codes_first(c, i) : tfl_in_first(c, i);
    return same ? tfl_codes(c, i) : tfl_in(c, i);
}

static void shape_give(tfl_call *c, uint32_t i, uint32_t v, bool first)
{
    tfl_give(c, i, v, first);
}

/* -- views ----------------------------------------------------------------*/

/* The sizes that the file states for result 0; false when it has none. */
static bool shape_told(tfl_call *c, int64_t *dims, uint32_t *n)
{
    uint32_t at = tfl_out(c, 0);
    if (at >= c->s->n_tensors || c->s->tensors[at].rank == CLV_NO_RANK)
        return false;
    *n = c->s->tensors[at].rank;
    memcpy(dims, c->s->tensors[at].dims, *n * sizeof *dims);
    return true;
}

/* arg 1: to the shape of the result. */
void lite_reshape(tfl_call *c)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t n = 0, x = shape_in(c, 0, false);
    flat_vector own = flat_list(&c->m->f, c->opts, 0, 4);
    bool known = !c->row->arg && tfl_list(c, 1, dims, &n, CLV_MAX_RANK);
    if (!known && !c->row->arg && tfl_has(c, 1)) {
        uint32_t ins[2] = {x, tfl_codes(c, 1)};
        tfl_attrs a = {0};
        tfl_int(&a, CLV_A_ALLOWZERO, 1);
        shape_give(c, 0, tfl_node(c, CLV_OP_RESHAPE, ins, 2, 1, &a), false);
        return;
    }
    if (!known && !c->row->arg && own.n && own.n <= CLV_MAX_RANK) {
        for (n = 0; n < own.n; n++)
            dims[n] = flat_i32_at(&c->m->f, own, n);
        known = true;
    }
    if (!known && !shape_told(c, dims, &n)) {
        tfl_unknown(c);
        return;
    }
    shape_give(c, 0, tfl_reshape(c, x, dims, n), false);
}

void lite_squeeze(tfl_call *c)
{
    flat *f = &c->m->f;
    flat_vector own = flat_list(f, c->opts, 0, 4);
    int64_t axes[CLV_MAX_RANK];
    uint32_t n = own.n <= CLV_MAX_RANK ? own.n : CLV_MAX_RANK;
    tfl_attrs a = {0};
    for (uint32_t i = 0; i < n; i++)
        axes[i] = flat_i32_at(f, own, i);
    if (n)
        tfl_ints(&a, CLV_A_AXES, axes, n);
    shape_give(c, 0, tfl_1(c, CLV_OP_SQUEEZE, shape_in(c, 0, false), &a),
               false);
}

void lite_expand_dims(tfl_call *c)
{
    int64_t axis = 0;
    uint32_t n;
    if (!tfl_list(c, 1, &axis, &n, 1) || n != 1) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, &axis, 1);
    shape_give(c, 0, tfl_1(c, CLV_OP_UNSQUEEZE, shape_in(c, 0, false), &a),
               false);
}

/* The permutation from (N,H,W,C) to the order that our operators have. A
 * tensor that is known so becomes its own transpose. */
static bool transpose_is_first(const int64_t *perm, uint32_t n)
{
    return n == 4 && perm[0] == 0 && perm[1] == 3 && perm[2] == 1 &&
           perm[3] == 2;
}

/* arg 1: the permutation is an option. */
void lite_transpose(tfl_call *c)
{
    int64_t perm[CLV_MAX_RANK];
    uint32_t n = 0;
    flat_vector own = {0};
    if (c->row->arg)
        own = flat_list(&c->m->f, c->opts, 0, 8);
    bool known = c->row->arg ? own.n <= CLV_MAX_RANK
                             : tfl_list(c, 1, perm, &n, CLV_MAX_RANK);
    for (uint32_t i = 0; known && c->row->arg && i < own.n; i++, n++)
        perm[i] = flat_i64_at(&c->m->f, own, i);
    if (!known) {
        tfl_unknown(c);
        return;
    }
    if (transpose_is_first(perm, n) && tfl_is_first(c, 0)) {
        uint32_t x = shape_in(c, 0, true);
        shape_give(c, 0, tfl_1(c, CLV_OP_IDENTITY, x, NULL), false);
        return;
    }
    shape_give(c, 0, tfl_permute(c, shape_in(c, 0, false), perm, n), false);
}

void lite_broadcast_to(tfl_call *c)
{
    uint32_t ins[2] = {shape_in(c, 0, false), tfl_codes(c, 1)};
    shape_give(c, 0, tfl_node(c, CLV_OP_EXPAND, ins, 2, 1, NULL), false);
}

/* Two lists of sizes: the larger of each pair, counted from the end. */
void lite_broadcast_args(tfl_call *c)
{
    int64_t a[CLV_MAX_RANK], b[CLV_MAX_RANK], all[CLV_MAX_RANK];
    uint32_t na, nb;
    if (!tfl_list(c, 0, a, &na, CLV_MAX_RANK) ||
        !tfl_list(c, 1, b, &nb, CLV_MAX_RANK)) {
        tfl_unknown(c);
        return;
    }
    uint32_t rank = na > nb ? na : nb;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t x = i + na < rank ? 1 : a[i + na - rank];
        int64_t y = i + nb < rank ? 1 : b[i + nb - rank];
        all[i] = x == 1 ? y : x;
    }
    int64_t n = rank;
    uint32_t v = tfl_const(c->m, c->g, c->name, CLV_INT32, 1, &n, all, NULL);
    tfl_give(c, 0, tfl_1(c, CLV_OP_IDENTITY, v, NULL), false);
}

void lite_shape(tfl_call *c)
{
    tfl_give(c, 0, tfl_1(c, CLV_OP_SHAPE, tfl_codes(c, 0), NULL), false);
}

/* The rank is the size of the shape. */
void lite_rank(tfl_call *c)
{
    uint32_t x = tfl_1(c, CLV_OP_SHAPE, tfl_codes(c, 0), NULL);
    tfl_give(c, 0, tfl_1(c, CLV_OP_SIZE, x, NULL), false);
}

/* -- slices ---------------------------------------------------------------*/

typedef struct cuts {
    int64_t start[CLV_MAX_RANK], end[CLV_MAX_RANK], step[CLV_MAX_RANK];
    int64_t axes[CLV_MAX_RANK];
    uint32_t n;
} cuts;

static uint32_t slice_add(tfl_call *c, uint32_t x, cuts *k, bool first)
{
    for (uint32_t i = 0; i < k->n; i++)
        k->axes[i] = first ? tfl_axis_first(i) : i;
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_START, k->start, k->n);
    tfl_ints(&a, CLV_A_END, k->end, k->n);
    tfl_ints(&a, CLV_A_AXES, k->axes, k->n);
    tfl_ints(&a, CLV_A_STEP, k->step, k->n);
    return k->n ? tfl_1(c, CLV_OP_SLICE, x, &a) : x;
}

/* Begin and size as values: the end is their sum, or that of the axis where the
 * size is -1. No part is larger than the whole. */
static void slice_dynamic(tfl_call *c)
{
    uint32_t begin = tfl_codes(c, 1), size = tfl_codes(c, 2);
    uint32_t x = shape_in(c, 0, false), y;
    if (tfl_failed(c->m))
        return;
    tfl_attrs zero = {0};
    tfl_int(&zero, CLV_A_VALUE, 0);
    uint32_t all[3] = {tfl_1(c, CLV_OP_LT, size, &zero),
                       tfl_scalar(c, tfl_type(c, size), INT32_MAX),
                       tfl_2(c, CLV_OP_ADD, begin, size)};
    uint32_t ins[3] = {x, begin, tfl_node(c, CLV_OP_WHERE, all, 3, 1, NULL)};
    y = tfl_node(c, CLV_OP_SLICE, ins, 3, 1, NULL);
    if (!tfl_failed(c->m) && c->g->values[y].rank == CLV_NO_RANK) {
        value_like(&c->g->values[y], &c->g->values[x]);
        c->g->values[y].flags |= CLV_V_BOUND;
    }
    shape_give(c, 0, y, false);
}

void lite_slice(tfl_call *c)
{
    cuts k = {0};
    int64_t size[CLV_MAX_RANK];
    uint32_t n;
    if (!tfl_list(c, 1, k.start, &k.n, CLV_MAX_RANK) ||
        !tfl_list(c, 2, size, &n, CLV_MAX_RANK) || n != k.n) {
        slice_dynamic(c);
        return;
    }
    bool first = tfl_is_first(c, 0) && n == TFL_CHANNELS_LAST;
    for (uint32_t i = 0; i < n; i++) {
        k.end[i] = size[i] < 0 ? INT64_MAX : sat_add(k.start[i], size[i]);
        k.step[i] = 1;
    }
    shape_give(c, 0, slice_add(c, shape_in(c, 0, first), &k, first), first);
}

enum {
    MASK_BEGIN = 0,
    MASK_END = 1,
    MASK_ELLIPSIS = 2,
    MASK_NEW_AXIS = 3,
    MASK_SHRINK = 4,
    SLICE_OFFSET = 5
};

/* What x[spec] of NumPy says, taken apart: which axes are cut, which go, and
 * where new ones stand in the result. */
typedef struct strided {
    cuts k;
    int64_t gone[CLV_MAX_RANK], added[CLV_MAX_RANK];
    uint32_t n_gone, n_added;
} strided;

/* One entry of the spec, for axis `axis` of x. */
static void strided_cut(tfl_call *c, strided *s, uint32_t i, int64_t begin,
                        int64_t end, int64_t step)
{
    flat *f = &c->m->f;
    int64_t begins = flat_i32(f, c->opts, MASK_BEGIN, 0);
    int64_t ends = flat_i32(f, c->opts, MASK_END, 0);
    int64_t shrink = flat_i32(f, c->opts, MASK_SHRINK, 0);
    uint32_t at = s->k.n++;
    bool back = step < 0, one = shrink >> i & 1;
    if (flat_i8(f, c->opts, SLICE_OFFSET, 0))
        end = sat_add(begin, end);
    if (begins >> i & 1)
        begin = back ? INT64_MAX : 0;
    if (ends >> i & 1)
        end = back ? INT64_MIN + 1 : INT64_MAX;
    if (one) {
        s->gone[s->n_gone++] = at;
        step = 1;
        end = begin == -1 ? INT64_MAX : begin + 1;
    }
    s->k.start[at] = begin;
    s->k.end[at] = end;
    s->k.step[at] = step;
}

static bool strided_read(tfl_call *c, uint32_t rank, strided *s)
{
    int64_t begin[CLV_MAX_RANK], end[CLV_MAX_RANK], step[CLV_MAX_RANK];
    uint32_t n, n_end, n_step, used = 0, made = 0;
    flat *f = &c->m->f;
    int64_t dots = flat_i32(f, c->opts, MASK_ELLIPSIS, 0);
    int64_t fresh = flat_i32(f, c->opts, MASK_NEW_AXIS, 0);
    int64_t shrink = flat_i32(f, c->opts, MASK_SHRINK, 0);
    if (!tfl_list(c, 1, begin, &n, CLV_MAX_RANK) ||
        !tfl_list(c, 2, end, &n_end, CLV_MAX_RANK) ||
        !tfl_list(c, 3, step, &n_step, CLV_MAX_RANK) || n != n_end ||
        n != n_step)
        return false;
    for (uint32_t i = 0; i < n; i++)
        used += !(dots >> i & 1) && !(fresh >> i & 1);
    if (used > rank)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t whole = dots >> i & 1 ? rank - used : 0;
        for (uint32_t k = 0; k < whole; k++, made++) {
            s->k.start[s->k.n] = 0;
            s->k.end[s->k.n] = INT64_MAX;
            s->k.step[s->k.n++] = 1;
        }
        if (dots >> i & 1)
            continue;
        if (fresh >> i & 1) {
            s->added[s->n_added++] = made++;
            continue;
        }
        if (step[i] == 0)
            return false;
        strided_cut(c, s, i, begin[i], end[i], step[i]);
        made += !(shrink >> i & 1);
    }
    return true;
}

/* Bounds that only running tells: each axis is cut by values, where no axis
 * comes or goes but by shrinking. */
static void strided_dynamic(tfl_call *c)
{
    flat *f = &c->m->f;
    int64_t masks = flat_i32(f, c->opts, MASK_BEGIN, 0) |
                    flat_i32(f, c->opts, MASK_END, 0) |
                    flat_i32(f, c->opts, MASK_ELLIPSIS, 0) |
                    flat_i32(f, c->opts, MASK_NEW_AXIS, 0) |
                    flat_i32(f, c->opts, MASK_SHRINK, 0) |
                    flat_i8(f, c->opts, SLICE_OFFSET, 0);
    int64_t step[CLV_MAX_RANK];
    uint32_t n;
    if (masks || !tfl_list(c, 3, step, &n, CLV_MAX_RANK)) {
        tfl_unknown(c);
        return;
    }
    uint32_t ins[5] = {shape_in(c, 0, false), tfl_codes(c, 1), tfl_codes(c, 2),
                       CLV_NONE, CLV_NONE};
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_STEP, step, n);
    shape_give(c, 0, tfl_node(c, CLV_OP_SLICE, ins, 3, 1, &a), false);
}

void lite_strided_slice(tfl_call *c)
{
    strided s = {0};
    uint32_t at = tfl_at(c, 0);
    if (at == CLV_NONE || at >= c->s->n_tensors)
        return;
    bool first = tfl_is_first(c, 0);
    uint32_t rank = first ? TFL_CHANNELS_LAST : tfl_rank(c, tfl_codes(c, 0));
    if (tfl_failed(c->m))
        return;
    if (!strided_read(c, rank, &s)) {
        strided_dynamic(c);
        return;
    }
    first = first && !s.n_gone && !s.n_added;
    uint32_t x = slice_add(c, shape_in(c, 0, first), &s.k, first);
    if (s.n_gone) {
        tfl_attrs a = {0};
        tfl_ints(&a, CLV_A_AXES, s.gone, s.n_gone);
        x = tfl_1(c, CLV_OP_SQUEEZE, x, &a);
    }
    if (s.n_added) {
        tfl_attrs a = {0};
        tfl_ints(&a, CLV_A_AXES, s.added, s.n_added);
        x = tfl_1(c, CLV_OP_UNSQUEEZE, x, &a);
    }
    shape_give(c, 0, x, first);
}

/* -- joins and parts ------------------------------------------------------*/

/* arg 1: the axis is an option of eight bytes, and there is no activation. */
void lite_concat(tfl_call *c)
{
    flat *f = &c->m->f;
    uint32_t n = c->ins.n, *ins = arena_array(&c->m->mem, n + 1u, sizeof *ins);
    int64_t axis =
        c->row->arg ? flat_i64(f, c->opts, 0, 0) : flat_i32(f, c->opts, 0, 0);
    bool first = n > 0, same = true;
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        first = first && tfl_is_first(c, i);
        same = same && tfl_same_codes(c, i, 0);
    }
    for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++)
        ins[i] = same && first ? tfl_codes_first(c, i)
                 : same        ? tfl_codes(c, i)
                 : first       ? tfl_in_first(c, i)
                               : tfl_in(c, i);
    if (first)
        axis = tfl_axis_first(axis < 0 ? axis + TFL_CHANNELS_LAST : axis);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    uint32_t y = n == 1 ? tfl_1(c, CLV_OP_IDENTITY, ins[0], NULL)
                        : tfl_node(c, CLV_OP_CAT, ins, n, 1, &a);
    int64_t act = c->row->arg ? 0 : flat_i8(f, c->opts, 1, 0);
    if (same && !act)
        tfl_give_codes(c, 0, y, first);
    else
        tfl_give_act(c, 0, y, first, act);
}

void lite_pack(tfl_call *c)
{
    uint32_t n = c->ins.n, *ins = arena_array(&c->m->mem, n + 1u, sizeof *ins);
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    bool same = true;
    for (uint32_t i = 0; i < n; i++)
        same = same && tfl_same_codes(c, i, 0);
    for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++)
        ins[i] = same ? tfl_codes(c, i) : tfl_in(c, i);
    tfl_attrs a = {0};
    bool numbers = n > 0;
    for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++)
        numbers = numbers && tfl_rank(c, ins[i]) == 0;
    if (numbers && !tfl_failed(c->m)) { /* sizes, which are computed at once */
        int64_t first = 0;
        tfl_attrs one = {0};
        tfl_ints(&one, CLV_A_AXES, &first, 1);
        for (uint32_t i = 0; i < n && !tfl_failed(c->m); i++)
            ins[i] = tfl_1(c, CLV_OP_UNSQUEEZE, ins[i], &one);
        tfl_int(&a, CLV_A_AXIS, 0);
        shape_give(c, 0, tfl_node(c, CLV_OP_CAT, ins, n, 1, &a), false);
        return;
    }
    tfl_int(&a, CLV_A_AXIS, flat_i32(&c->m->f, c->opts, 1, 0));
    shape_give(c, 0, tfl_node(c, CLV_OP_STACK, ins, n, 1, &a), false);
}

void lite_unpack(tfl_call *c)
{
    uint32_t x = shape_in(c, 0, false);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, flat_i32(&c->m->f, c->opts, 1, 0));
    uint32_t y = tfl_node(c, CLV_OP_UNBIND, &x, 1, c->outs.n, &a);
    for (uint32_t i = 0; i < c->outs.n && !tfl_failed(c->m); i++)
        shape_give(c, i, y + i, false);
}

/* arg 0: axis, x, equal parts; 1: x, sizes, axis. */
void lite_split(tfl_call *c)
{
    uint32_t of = c->row->arg ? 0 : 1, by = c->row->arg ? 2 : 0, n, parts = 0;
    int64_t axis = 0, sizes[TFL_MAX_LIST];
    bool same = true;
    if (!tfl_list(c, by, &axis, &n, 1) || n != 1 ||
        (c->row->arg && !tfl_list(c, 1, sizes, &parts, TFL_MAX_LIST))) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < c->outs.n; i++)
        same = same && tfl_same_codes(c, of, i);
    bool first = tfl_is_first(c, of);
    uint32_t x = first && same ? tfl_codes_first(c, of)
                 : first       ? tfl_in_first(c, of)
                 : same        ? tfl_codes(c, of)
                               : tfl_in(c, of);
    if (first)
        axis = tfl_axis_first(axis < 0 ? axis + TFL_CHANNELS_LAST : axis);
    if (tfl_failed(c->m))
        return;
    int64_t rest = tfl_dim(c, x, axis);
    for (uint32_t i = 0; i < parts; i++)
        rest -= sizes[i] > 0 ? sizes[i] : 0;
    for (uint32_t i = 0; i < parts; i++)
        sizes[i] = sizes[i] < 0 ? rest : sizes[i];
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    if (parts)
        tfl_ints(&a, CLV_A_SECTIONS, sizes, parts);
    uint32_t y = tfl_node(c, CLV_OP_SPLIT, &x, 1, c->outs.n, &a);
    for (uint32_t i = 0; i < c->outs.n && !tfl_failed(c->m); i++)
        shape_give(c, i, y + i, first);
}

void lite_tile(tfl_call *c)
{
    uint32_t ins[2] = {shape_in(c, 0, false), tfl_codes(c, 1)};
    shape_give(c, 0, tfl_node(c, CLV_OP_REPEAT, ins, 2, 1, NULL), false);
}

void lite_reverse(tfl_call *c)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t n;
    if (!tfl_list(c, 1, axes, &n, CLV_MAX_RANK)) {
        tfl_unknown(c);
        return;
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, axes, n);
    shape_give(c, 0, tfl_1(c, CLV_OP_FLIP, shape_in(c, 0, false), &a), false);
}

void lite_reverse_sequence(tfl_call *c)
{
    uint32_t ins[2] = {shape_in(c, 0, false), tfl_codes(c, 1)};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_TIME_AXIS, flat_i32(&c->m->f, c->opts, 0, 0));
    tfl_int(&a, CLV_A_BATCH_AXIS, flat_i32(&c->m->f, c->opts, 1, 0));
    shape_give(c, 0, tfl_node(c, c->row->op, ins, 2, 1, &a), false);
}

/* -- padding --------------------------------------------------------------*/

/* Pairs of before and after become all before, then all after, in our order of
 * axes. */
static void pad_turn(const int64_t *pairs, uint32_t rank, bool first,
                     int64_t *out)
{
    for (uint32_t i = 0; i < rank; i++) {
        int64_t to = first ? tfl_axis_first(i) : i;
        out[to] = pairs[2 * i];
        out[rank + (uint32_t)to] = pairs[2 * i + 1];
    }
}

/* What an operand is filled up with, as a code of x. */
static double pad_value(tfl_call *c)
{
    double value = 0, scale;
    int64_t zero;
    if (c->row->arg && tfl_has(c, 2) && !tfl_number(c, 2, &value)) {
        int64_t code = 0;
        uint32_t n;
        if (tfl_list(c, 2, &code, &n, 1) && n)
            return (double)code;
        c->why = "what it fills with is computed";
    }
    if (tfl_scale(c->s, tfl_at(c, 0), &scale, &zero))
        return value / scale + (double)zero;
    return value;
}

/* arg 1: with the number to fill with. */
void lite_pad(tfl_call *c)
{
    int64_t pairs[2 * CLV_MAX_RANK], pads[2 * CLV_MAX_RANK];
    uint32_t n, rank;
    if (!tfl_has(c, 0) || !tfl_list(c, 1, pairs, &n, 2 * CLV_MAX_RANK) ||
        n % 2) {
        tfl_unknown(c);
        return;
    }
    rank = n / 2;
    bool first = tfl_is_first(c, 0) && rank == TFL_CHANNELS_LAST;
    pad_turn(pairs, rank, first, pads);
    uint32_t x = first ? tfl_codes_first(c, 0) : tfl_codes(c, 0);
    double value = pad_value(c);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_PADDING, pads, n);
    if (dtype_class_of(tfl_type(c, x)) == CLASS_FLOAT)
        tfl_float(&a, CLV_A_VALUE, value);
    else
        tfl_int(&a, CLV_A_VALUE, (int64_t)value);
    uint32_t y = tfl_1(c, CLV_OP_PAD, x, &a);
    if (!tfl_same_codes(c, 0, 0) && !tfl_failed(c->m))
        y = tfl_dequantise(c->s, tfl_at(c, 0), y, -1);
    shape_give(c, 0, y, first);
}

/* The first or last `n` of an axis, turned around. */
static uint32_t pad_mirror(tfl_call *c, uint32_t x, int64_t axis, int64_t n,
                           bool before)
{
    int64_t size = tfl_dim(c, x, axis);
    tfl_attrs a = {0};
    uint32_t part =
        tfl_slice(c, x, axis, before ? 0 : size - n, before ? n : size, 1);
    tfl_ints(&a, CLV_A_AXES, &axis, 1);
    return tfl_1(c, CLV_OP_FLIP, part, &a);
}

/* Reflection that repeats the border, one axis after the other. */
static uint32_t pad_symmetric(tfl_call *c, uint32_t x, const int64_t *pairs,
                              uint32_t rank)
{
    for (uint32_t i = 0; i < rank && !tfl_failed(c->m); i++) {
        uint32_t parts[3], n = 0;
        if (pairs[2 * i] > 0)
            parts[n++] = pad_mirror(c, x, i, pairs[2 * i], true);
        parts[n++] = x;
        if (pairs[2 * i + 1] > 0)
            parts[n++] = pad_mirror(c, x, i, pairs[2 * i + 1], false);
        tfl_attrs a = {0};
        tfl_int(&a, CLV_A_AXIS, i);
        if (n > 1)
            x = tfl_node(c, CLV_OP_CAT, parts, n, 1, &a);
    }
    return x;
}

void lite_mirror_pad(tfl_call *c)
{
    enum { SYMMETRIC = 1 };
    int64_t pairs[2 * CLV_MAX_RANK], pads[2 * CLV_MAX_RANK];
    uint32_t n;
    if (!tfl_list(c, 1, pairs, &n, 2 * CLV_MAX_RANK) || n % 2) {
        tfl_unknown(c);
        return;
    }
    uint32_t x = shape_in(c, 0, false);
    if (flat_i8(&c->m->f, c->opts, 0, 0) == SYMMETRIC) {
        shape_give(c, 0, pad_symmetric(c, x, pairs, n / 2), false);
        return;
    }
    pad_turn(pairs, n / 2, false, pads);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_PADDING, pads, n);
    tfl_str(&a, CLV_A_MODE, "reflect");
    shape_give(c, 0, tfl_1(c, CLV_OP_PAD, x, &a), false);
}

/* -- blocks of a batch ----------------------------------------------------*/

/* (N, H, W, ..) with blocks b and crops: (b0, b1, N', H, W, ..) turned to
 * (N', H, b0, W, b1, ..), joined, and cut. */
void lite_batch_to_space(tfl_call *c)
{
    int64_t b[CLV_MAX_RANK], crops[2 * CLV_MAX_RANK], dims[CLV_MAX_RANK],
        perm[CLV_MAX_RANK];
    uint32_t n, m, x = shape_in(c, 0, false), rank = tfl_rank(c, x), k = 0;
    if (!tfl_list(c, 1, b, &n, 4) || !tfl_list(c, 2, crops, &m, 8) ||
        m != 2 * n || rank <= n) {
        tfl_unknown(c);
        return;
    }
    int64_t batch = tfl_dim(c, x, 0);
    for (uint32_t i = 0; i < n; i++) {
        dims[k++] = b[i];
        batch = b[i] > 0 ? batch / b[i] : batch;
    }
    dims[k++] = batch;
    for (uint32_t i = 1; i < rank; i++)
        dims[k++] = tfl_dim(c, x, i);
    x = tfl_reshape(c, x, dims, k);
    uint32_t p = 0;
    perm[p++] = n;
    for (uint32_t i = 0; i < n; i++) {
        perm[p++] = n + 1 + i;
        perm[p++] = i;
    }
    for (uint32_t i = 2 * n + 1; i < k; i++)
        perm[p++] = i;
    x = tfl_permute(c, x, perm, k);
    int64_t out[CLV_MAX_RANK] = {batch};
    for (uint32_t i = 1; i < rank; i++)
        out[i] = i <= n ? sat_mul(dims[n + i], b[i - 1]) : dims[n + i];
    x = tfl_reshape(c, x, out, rank);
    for (uint32_t i = 0; i < n; i++)
        if (crops[2 * i] || crops[2 * i + 1])
            x = tfl_slice(c, x, i + 1, crops[2 * i],
                          out[i + 1] - crops[2 * i + 1], 1);
    shape_give(c, 0, x, false);
}

/* The other way around: padded, (N, H', b0, W', b1, ..) turned to
 * (b0, b1, N, H', W', ..). Codes are filled up with their zero. */
void lite_space_to_batch(tfl_call *c)
{
    int64_t b[CLV_MAX_RANK], pairs[2 * CLV_MAX_RANK] = {0},
                                       pads[2 * CLV_MAX_RANK],
                                       dims[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    uint32_t n, m, x = tfl_codes(c, 0), rank = tfl_rank(c, x), k = 0;
    if (!tfl_list(c, 1, b, &n, 4) || !tfl_list(c, 2, pairs + 2, &m, 8) ||
        m != 2 * n || rank <= n || rank + n > CLV_MAX_RANK) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 2 * n + 2; i < 2 * rank; i++)
        pairs[i] = 0;
    pad_turn(pairs, rank, false, pads);
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_PADDING, pads, 2 * rank);
    double value = pad_value(c);
    if (dtype_class_of(tfl_type(c, x)) == CLASS_FLOAT)
        tfl_float(&a, CLV_A_VALUE, value);
    else
        tfl_int(&a, CLV_A_VALUE, (int64_t)value);
    x = tfl_1(c, CLV_OP_PAD, x, &a);
    int64_t out[CLV_MAX_RANK] = {tfl_dim(c, x, 0)};
    uint32_t p = 0;
    dims[k++] = tfl_dim(c, x, 0);
    for (uint32_t i = 1; i < rank; i++) {
        int64_t size = tfl_dim(c, x, i);
        bool cut = i <= n && b[i - 1] > 0;
        dims[k++] = cut ? size / b[i - 1] : size;
        out[i] = dims[k - 1];
        if (cut)
            dims[k++] = b[i - 1];
        if (cut)
            out[0] = sat_mul(out[0], b[i - 1]);
    }
    if (k != rank + n) {
        tfl_unknown(c);
        return;
    }
    x = tfl_reshape(c, x, dims, k);
    for (uint32_t i = 0; i < n; i++)
        perm[p++] = 2 + 2 * i;
    perm[p++] = 0;
    for (uint32_t i = 0; i < n; i++)
        perm[p++] = 1 + 2 * i;
    for (uint32_t i = 2 * n + 1; i < k; i++)
        perm[p++] = i;
    x = tfl_reshape(c, tfl_permute(c, x, perm, k), out, rank);
    if (!tfl_same_codes(c, 0, 0) && !tfl_failed(c->m))
        x = tfl_dequantise(c->s, tfl_at(c, 0), x, -1);
    shape_give(c, 0, x, false);
}

/* sequence.c - sequences of tensors, optionals, and text.
 *
 * A sequence is one value: the type of its tensors, their shape where it is
 * the same for all, and how many there are. Where sizes differ, the shape is
 * the least that holds each (an upper bound, marked so); where ranks differ,
 * or a tensor's shape is not known, there is none. An optional has the type of
 * what it may hold. Strings have no size that a file could tell: operators on
 * them move no bytes that are counted. */
#include "ops/fold.h"

#include <string.h>

/* The type and shape that all tensors seen so far have in common. */
typedef struct item {
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    clv_dtype dtype;
    bool any, bound;
} item;

static void item_widen(item *t, const clv_value *v)
{
    if (t->rank == CLV_NO_RANK || v->rank != t->rank) {
        t->rank = CLV_NO_RANK;
        return;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        t->bound |= t->dims[i] != v->dims[i];
        t->dims[i] = v->dims[i] > t->dims[i] ? v->dims[i] : t->dims[i];
    }
}

/* Adds v. A sequence that is known to be empty adds its type only. */
static void item_add(item *t, const clv_value *v)
{
    if (t->dtype == CLV_NODTYPE)
        t->dtype = (clv_dtype)v->dtype;
    if (v->flags & CLV_V_SEQUENCE && v->count == 0)
        return;
    t->bound |= (v->flags & CLV_V_BOUND) != 0;
    if (t->any) {
        item_widen(t, v);
        return;
    }
    t->any = true;
    t->rank = v->rank;
    if (v->rank && v->rank != CLV_NO_RANK)
        memcpy(t->dims, v->dims, v->rank * sizeof *t->dims);
}

static clv_status out_item(clv_graph *g, clv_node *n, uint32_t o, const item *t,
                           clv_err *e)
{
    if (t->any && t->rank != CLV_NO_RANK) {
        CLV_TRY(out_shape(g, n, o, t->dtype, t->rank, t->dims, e));
    } else if (o < n->n_out && node_outs(g, n)[o] != CLV_NONE) {
        clv_value *out = node_out(g, n, o);
        out->dtype = (uint8_t)t->dtype;
        out->rank = CLV_NO_RANK;
        out->flags &= (uint8_t)~CLV_V_FORM;
    }
    if (t->bound)
        out_bound(g, n, o);
    return CLV_OK;
}

static clv_status out_sequence(clv_graph *g, clv_node *n, uint32_t o,
                               const item *t, uint32_t count, clv_err *e)
{
    CLV_TRY(out_item(g, n, o, t, e));
    if (o >= n->n_out || node_outs(g, n)[o] == CLV_NONE)
        return CLV_OK;
    clv_value *out = node_out(g, n, o);
    out->flags |= CLV_V_SEQUENCE;
    out->count = count;
    if (out->rank != CLV_NO_RANK && clv__numel(out) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "the sequence's size does not fit 64 bits");
    return CLV_OK;
}

clv_status out_either(clv_graph *g, clv_node *n, uint32_t i, const clv_value *a,
                      const clv_value *b, uint32_t count, clv_err *e)
{
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, a);
    item_add(&t, b);
    CLV_TRY(b->flags & CLV_V_SEQUENCE ? out_sequence(g, n, i, &t, count, e)
                                      : out_item(g, n, i, &t, e));
    if (i < n->n_out && node_outs(g, n)[i] != CLV_NONE)
        node_out(g, n, i)->flags |= b->flags & CLV_V_OPTIONAL;
    return CLV_OK;
}

/* Gets the first input, which must be a sequence. */
static clv_status sequence_of(const clv_graph *g, const clv_node *n,
                              const clv_value **v, clv_err *e)
{
    *v = node_in(g, n, 0);
    if ((*v)->flags & CLV_V_SEQUENCE)
        return CLV_OK;
    return clv__fail(e, CLV_UNSUPPORTED, "input 0 is not known as a sequence");
}

/* -- making and changing --------------------------------------------------*/

clv_status infer_sequence_construct(clv_graph *g, clv_node *n, clv_err *e)
{
    item t = {.dtype = CLV_NODTYPE};
    for (uint32_t i = 0; i < n->n_in; i++)
        if (node_in(g, n, i))
            item_add(&t, node_in(g, n, i));
    return out_sequence(g, n, 0, &t, n->n_in, e);
}

clv_status infer_sequence_empty(clv_graph *g, clv_node *n, clv_err *e)
{
    item t = {.dtype = asked_type(n, CLV_FLOAT32)};
    return out_sequence(g, n, 0, &t, 0, e);
}

/* sequence, tensor, position */
clv_status infer_sequence_insert(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *s;
    CLV_TRY(sequence_of(g, n, &s, e));
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, s);
    item_add(&t, node_in(g, n, 1));
    return out_sequence(g, n, 0, &t,
                        s->count < CLV_NONE - 1 ? s->count + 1 : CLV_NONE, e);
}

/* sequence, position */
clv_status infer_sequence_erase(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *s;
    CLV_TRY(sequence_of(g, n, &s, e));
    if (s->count == 0)
        return clv__fail(e, CLV_SHAPE, "an empty sequence has none to erase");
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, s);
    return out_sequence(g, n, 0, &t,
                        s->count == CLV_NONE ? CLV_NONE : s->count - 1, e);
}

/* -- one tensor of a sequence ---------------------------------------------*/

/* Finds the size of part `place` where an axis of `size` is split by `by`. */
static bool split_part_size(const clv_graph *g, const clv_node *by,
                            int64_t size, int64_t place, int64_t *out)
{
    int_list list;
    const clv_value *given = node_in(g, by, 1);
    if (get_ints(g, by, CLV_A_SECTIONS, 1, &list, NULL) != CLV_OK ||
        !list.found)
        return false;
    bool each = given ? given->rank == 1 : list.n > 1;
    if (each) {
        *out = place < list.n ? list.v[place] : 0;
        return place < list.n;
    }
    if (list.n != 1 || list.v[0] < 1 || place > size / list.v[0])
        return false;
    int64_t left = size - place * list.v[0];
    *out = left < list.v[0] ? left : list.v[0];
    return left > 0;
}

/* The shape of part `place` of what `by` splits, where the parts differ. */
static void item_of_split(const clv_graph *g, const clv_node *by, int64_t place,
                          item *t)
{
    const clv_value *x = node_in(g, by, 0);
    uint32_t axis;
    int64_t size;
    if (x->rank != CLV_NO_RANK && x->rank == t->rank &&
        norm_axis(attr_int(by, CLV_A_AXIS), x->rank, &axis, NULL) == CLV_OK &&
        split_part_size(g, by, x->dims[axis], place, &size)) {
        t->dims[axis] = size;
        t->bound = (x->flags & CLV_V_BOUND) != 0;
    }
}

/* Narrows t, the shape that holds every tensor of sequence s, to that of the
 * tensor at `place` where the node that made s tells. */
static void item_at(const clv_graph *g, const clv_value *s, int64_t place,
                    item *t)
{
    if (!t->bound || s->producer == CLV_NONE || s->count == CLV_NONE)
        return;
    const clv_node *by = &g->nodes[s->producer];
    place += place < 0 ? s->count : 0;
    if (place < 0 || place >= s->count)
        return;
    if (by->op == CLV_OP_SPLIT_TO_SEQUENCE) {
        item_of_split(g, by, place, t);
    } else if (by->op == CLV_OP_SEQUENCE_CONSTRUCT &&
               node_in(g, by, (uint32_t)place)) {
        *t = (item){.dtype = t->dtype};
        item_add(t, node_in(g, by, (uint32_t)place));
    }
}

/* sequence, position -> tensor */
clv_status infer_sequence_at(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *s, *place = node_in(g, n, 1);
    CLV_TRY(sequence_of(g, n, &s, e));
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, s);
    if (place && place->data && place->data->ints && place->data->n == 1)
        item_at(g, s, place->data->ints[0], &t);
    return out_item(g, n, 0, &t, e);
}

void cost_sequence_at(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    reads_only(g, n, 0, clv__held_bytes(node_out(g, n, 0)), c);
}

clv_status infer_sequence_length(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_shape(g, n, 0, CLV_INT64, 0, NULL, e);
}

clv_status fold_sequence_length(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *s = node_in(g, n, 0);
    room r;
    if (!(s->flags & CLV_V_SEQUENCE) || s->count == CLV_NONE)
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    if (r.ints)
        r.ints[0] = s->count;
    return CLV_OK;
}

/* -- to and from tensors --------------------------------------------------*/

/* Computes the sizes that an axis of `size` is split into: a list, one size for
 * all (the last may be smaller), or ones. */
static clv_status split_sizes(const clv_graph *g, const clv_node *n,
                              int64_t size, int64_t *most, int64_t *count,
                              bool *same, clv_err *e)
{
    int_list list;
    const clv_value *given = node_in(g, n, 1);
    CLV_TRY(get_ints(g, n, CLV_A_SECTIONS, 1, &list, e));
    *same = true;
    *most = 1;
    *count = size;
    if (!list.found)
        return CLV_OK;
    bool each = given ? given->rank == 1 : list.n > 1;
    if (!each && (list.n != 1 || list.v[0] < 1))
        return clv__fail(e, CLV_SHAPE, "parts of no size");
    if (!each) {
        *most = list.v[0] < size ? list.v[0] : size;
        *count = size / list.v[0] + (size % list.v[0] != 0);
        *same = size % list.v[0] == 0 || *count < 2;
        return CLV_OK;
    }
    *count = list.n;
    for (uint32_t i = 0; i < list.n; i++) {
        *same = *same && list.v[i] == list.v[0];
        *most = i && *most > list.v[i] ? *most : list.v[i];
    }
    return CLV_OK;
}

/* x, sizes along `axis`; without sizes every slice, and its axis kept only
 * where `keepdim` says so */
clv_status infer_split_to_sequence(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t axis;
    int64_t most, count;
    bool same;
    if (x->rank == CLV_NO_RANK)
        return clv__fail(e, CLV_UNSUPPORTED, "input 0 has no known shape");
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), x->rank, &axis, e));
    CLV_TRY(split_sizes(g, n, x->dims[axis], &most, &count, &same, e));
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, x);
    t.dims[axis] = most;
    t.bound |= !same;
    if (!node_in(g, n, 1) && !attr_int(n, CLV_A_KEEPDIM)) {
        t.rank--;
        memmove(t.dims + axis, t.dims + axis + 1,
                (t.rank - axis) * sizeof *t.dims);
    }
    return out_sequence(g, n, 0, &t,
                        count < CLV_NONE ? (uint32_t)count : CLV_NONE, e);
}

/* Joined along `axis`, or stacked along a new one (`keepdim`). */
clv_status infer_concat_from_sequence(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *s;
    uint32_t axis;
    CLV_TRY(sequence_of(g, n, &s, e));
    item t = {.dtype = CLV_NODTYPE};
    item_add(&t, s);
    bool stack = attr_int(n, CLV_A_NEW_AXIS) != 0;
    if (!t.any || t.rank == CLV_NO_RANK || t.rank + stack > CLV_MAX_RANK)
        return out_item(g, n, 0, &(item){.dtype = t.dtype}, e);
    CLV_TRY(norm_axis(attr_int(n, CLV_A_AXIS), t.rank + stack, &axis, e));
    int64_t count = s->count == CLV_NONE ? 1 : s->count;
    t.bound |= s->count == CLV_NONE;
    if (stack) {
        memmove(t.dims + axis + 1, t.dims + axis,
                (t.rank - axis) * sizeof *t.dims);
        t.dims[axis] = count;
        t.rank++;
    } else {
        t.dims[axis] = sat_mul(t.dims[axis], count);
    }
    return out_item(g, n, 0, &t, e);
}

/* -- optionals ------------------------------------------------------------*/

/* Without an input the type is the one that the output was declared with. */
clv_status infer_optional(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *v = node_in(g, n, 0);
    if (v)
        CLV_TRY(out_like(g, n, 0, v, e));
    node_out(g, n, 0)->flags |= CLV_V_OPTIONAL;
    return CLV_OK;
}

clv_status infer_optional_get(clv_graph *g, clv_node *n, clv_err *e)
{
    CLV_TRY(out_like(g, n, 0, node_in(g, n, 0), e));
    node_out(g, n, 0)->flags &= (uint8_t)~CLV_V_OPTIONAL;
    return CLV_OK;
}

clv_status infer_optional_has(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_shape(g, n, 0, CLV_BOOL, 0, NULL, e);
}

/* -- text -----------------------------------------------------------------*/

/* Refuses a first input that is known to be no text. */
static clv_status need_text(const clv_graph *g, const clv_node *n, clv_err *e)
{
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return t == CLV_STRING || t == CLV_NODTYPE
               ? CLV_OK
               : clv__fail(e, CLV_SHAPE, "x is %s, must be texts",
                           clv_dtype_name(t));
}

/* x (C) or (1,C): words change case, and stopwords are taken out */
clv_status infer_string_normalize(clv_graph *g, clv_node *n, clv_err *e)
{
    CLV_TRY(need_text(g, n, e));
    CLV_TRY(out_like(g, n, 0, node_in(g, n, 0), e));
    const clv_attr *words = attr_get(n, CLV_A_STOPWORDS);
    if (words && words->n > 0)
        out_bound(g, n, 0);
    return CLV_OK;
}

clv_status infer_string_concat(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(need_text(g, n, e));
    CLV_TRY(broadcast_from(g, n, 0, dims, &rank, e));
    return out_shape(g, n, 0, CLV_STRING, rank, dims, e);
}

/* x (..) -> (..,parts) and how many there are: at most `k` splits */
clv_status infer_string_split(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t dims[CLV_MAX_RANK], splits = attr_int(n, CLV_A_MAX_SPLITS);
    CLV_TRY(need_text(g, n, e));
    CLV_TRY(out_shape(g, n, 1, CLV_INT64, x->rank, x->dims, e));
    if (n->n_out && node_outs(g, n)[0] != CLV_NONE)
        node_out(g, n, 0)->dtype = CLV_STRING;
    if (splits < 0 || splits == INT64_MAX || x->rank == CLV_MAX_RANK)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "how many parts there are depends on the text");
    if (x->rank)
        memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank] = splits + 1;
    CLV_TRY(out_shape(g, n, 0, CLV_STRING, x->rank + 1u, dims, e));
    out_bound(g, n, 0);
    return CLV_OK;
}

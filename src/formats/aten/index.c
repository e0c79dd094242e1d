/* index.c - x[...] of a tensor becomes one operator.
 *
 *   x[1:, ::2]        slice      every item is a slice
 *   x[:, 3]           select     one number, the rest whole
 *   x[:, None]        unsqueeze  new axes alone
 *   x[:, i, mask]     index      tensors, the rest whole
 *
 * Anything else is several of these at once: it counts as a slice, and torch
 * runs it. */
#include "formats/aten/row.h"

#include <string.h>

/* What the items of an index say. The last two count axes: those of x that the
 * items have taken, and those of the result that they have made. */
typedef struct index_items {
    int64_t start[CLV_MAX_RANK], end[CLV_MAX_RANK], step[CLV_MAX_RANK];
    int64_t axes[CLV_MAX_RANK], fresh[CLV_MAX_RANK];
    uint32_t n_slices, n_fresh;
    uint32_t tensors[CLV_MAX_RANK]; /* by axis, CLV_NONE where there is none */
    uint32_t n_numbers, n_tensors;
    int64_t number, number_axis;
    bool odd; /* an item that we do not know */
    uint32_t axis, made;
} index_items;

/* A bound of a slice: an integer, or `otherwise` when it is None. */
static bool index_bound(const aten_arg *arg, int64_t otherwise, int64_t *out)
{
    *out = arg->kind == ATEN_INT ? arg->u.i : otherwise;
    return arg->kind == ATEN_INT || arg->kind == ATEN_NONE;
}

static void index_add_slice(index_items *it, const aten_arg *slice)
{
    uint32_t i = it->n_slices;
    if (slice->n != 3 || !index_bound(&slice->u.items[0], 0, &it->start[i]) ||
        !index_bound(&slice->u.items[1], INT64_MAX, &it->end[i]) ||
        !index_bound(&slice->u.items[2], 1, &it->step[i]) || it->step[i] < 1) {
        it->odd = true;
        return;
    }
    it->axes[i] = it->axis++;
    it->made++;
    if (it->start[i] != 0 || it->end[i] != INT64_MAX || it->step[i] != 1)
        it->n_slices++;
}

/* Axes of x that an item takes: a mask as many as it has, None and ... none. */
static uint32_t index_width(aten_reading *r, const aten_arg *item)
{
    if (item->kind == ATEN_NONE || item->kind == ATEN_ELLIPSIS)
        return 0;
    if (item->kind != ATEN_TENSOR)
        return 1;
    const clv_value *v =
        &r->b->g->values[clv__aten_latest(r->b, item->u.value)];
    return v->dtype == CLV_BOOL ? v->rank : 1;
}

static void index_add_tensor(aten_reading *r, index_items *it,
                             const aten_arg *item, uint32_t rank)
{
    uint32_t takes = index_width(r, item);
    if (it->axis >= rank || takes > rank - it->axis || !takes) {
        it->odd = true;
        return;
    }
    it->tensors[it->axis] = clv__aten_latest(r->b, item->u.value);
    it->n_tensors++;
    it->axis += takes;
    it->made++;
}

/* Adds one item of the index; rank is that of x. */
static void index_add(aten_reading *r, index_items *it, const aten_arg *item,
                      uint32_t rank)
{
    if (it->axis > rank || it->made >= CLV_MAX_RANK) {
        it->odd = true;
    } else if (item->kind == ATEN_NONE) {
        it->fresh[it->n_fresh++] = it->made++;
    } else if (item->kind == ATEN_TENSOR) {
        index_add_tensor(r, it, item, rank);
    } else if (it->axis == rank) {
        it->odd = true;
    } else if (item->kind == ATEN_SLICE) {
        index_add_slice(it, item);
    } else if (item->kind == ATEN_INT) {
        it->number = item->u.i;
        it->number_axis = it->axis++;
        it->n_numbers++;
    } else {
        it->odd = true;
    }
}

static void index_read(aten_reading *r, const aten_arg *index, uint32_t rank,
                       index_items *it)
{
    uint32_t width = 0;
    memset(it->tensors, 0xff, sizeof it->tensors);
    for (uint32_t i = 0; i < index->n; i++)
        width += index_width(r, &index->u.items[i]);
    for (uint32_t i = 0; i < index->n && !it->odd; i++) {
        const aten_arg *item = &index->u.items[i];
        if (item->kind == ATEN_ELLIPSIS && width <= rank) {
            it->axis += rank - width;
            it->made += rank - width;
        } else {
            index_add(r, it, item, rank);
        }
    }
}

static void index_put_tensors(aten_reading *r, const index_items *it)
{
    uint32_t last = 0;
    for (uint32_t a = 0; a < CLV_MAX_RANK; a++)
        if (it->tensors[a] != CLV_NONE)
            last = a;
    for (uint32_t a = 0; a <= last; a++)
        clv__aten_put_input(r, it->tensors[a]);
}

static void index_put(aten_reading *r, const index_items *it)
{
    int kinds = (it->n_slices > 0) + (it->n_numbers > 0) + (it->n_fresh > 0) +
                (it->n_tensors > 0);
    r->op = CLV_OP_SLICE;
    if (it->odd || kinds > 1 || it->n_numbers > 1) {
        clv__aten_counted(r, "several ways to index at once");
    } else if (it->n_tensors) {
        r->op = CLV_OP_INDEX;
        index_put_tensors(r, it);
    } else if (it->n_numbers) {
        r->op = CLV_OP_SELECT;
        clv__aten_put_int(r, CLV_A_AXIS, it->number_axis);
        clv__aten_put_int(r, CLV_A_INDEX, it->number);
    } else if (it->n_fresh) {
        r->op = CLV_OP_UNSQUEEZE;
        clv__aten_put_ints(r, CLV_A_AXES, it->fresh, it->n_fresh);
    } else if (it->n_slices) {
        clv__aten_put_ints(r, CLV_A_START, it->start, it->n_slices);
        clv__aten_put_ints(r, CLV_A_END, it->end, it->n_slices);
        clv__aten_put_ints(r, CLV_A_STEP, it->step, it->n_slices);
        clv__aten_put_ints(r, CLV_A_AXES, it->axes, it->n_slices);
    } else {
        r->op = CLV_OP_IDENTITY; /* x[:] */
    }
}

void clv__aten_read_index(aten_reading *r)
{
    const aten_call *c = r->call;
    uint32_t v = c->n_args && c->args[0].kind == ATEN_TENSOR
                     ? clv__aten_latest(r->b, c->args[0].u.value)
                     : CLV_NONE;
    uint32_t rank = v == CLV_NONE ? CLV_NO_RANK : r->b->g->values[v].rank;
    index_items it = {.odd = rank > CLV_MAX_RANK || c->n_args != 2 ||
                             c->args[1].kind != ATEN_LIST};
    clv__aten_put_input(r, v);
    if (!it.odd)
        index_read(r, &c->args[1], rank, &it);
    index_put(r, &it);
}

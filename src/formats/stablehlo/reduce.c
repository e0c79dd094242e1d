/* reduce.c - reductions, windows, orders: operations with a region that says
 * what to do with two elements.
 *
 * A region of one operation names a reduction that we have. One that compares
 * elements and picks the larger's place is an argmax. Any other region of
 * elementwise operations becomes the body of a scan along the axis: on whole
 * slices, where the text has single elements. */
#include "formats/stablehlo/hlo.h"

#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

/* -- regions --------------------------------------------------------------*/

static const mlir_op *region_maker(const mlir_region *r, mlir_text name)
{
    for (const mlir_op *op = r->ops; op; op = op->next)
        if (op->n_outs == 1 && mlir_same(op->outs->name, name))
            return op;
    return NULL;
}

static const mlir_op *region_return(const mlir_region *r)
{
    const mlir_op *op = r->ops;
    while (op && op->next)
        op = op->next;
    return op;
}

static int region_arg(const mlir_region *r, mlir_text name)
{
    int i = 0;
    for (const mlir_arg *a = r->args; a; a = a->next, i++)
        if (mlir_same(a->name, name))
            return i;
    return -1;
}

/* A bit per argument that a value is made of by choosing; what is compared to
 * choose does not count. */
static uint64_t region_sources(const mlir_region *r, mlir_text name, int depth)
{
    int arg = region_arg(r, name);
    if (arg >= 0)
        return arg < 64 ? UINT64_C(1) << arg : ~UINT64_C(0);
    const mlir_op *op = region_maker(r, name);
    if (!op || depth == 0)
        return 0;
    const hlo_row *row = hlo_row_of(op->name);
    uint64_t all = 0;
    bool choice = row && row->map == hlo_map_select;
    for (uint32_t i = choice ? 1 : 0; i < op->n_ins; i++)
        all |= region_sources(r, op->ins[i].name, depth - 1);
    return all;
}

static bool region_is_elementwise(const mlir_region *r)
{
    for (const mlir_op *op = r->ops; op && op->next; op = op->next) {
        const hlo_row *row = hlo_row_of(op->name);
        if (!row || op->n_results != 1 ||
            (row->map != hlo_map_unary && row->map != hlo_map_binary &&
             row->map != hlo_map_select && row->map != hlo_map_compare &&
             row->map != hlo_map_convert && row->map != hlo_map_clamp &&
             row->map != hlo_map_not && row->map != hlo_map_constant &&
             row->map != hlo_map_cbrt && row->map != hlo_map_round_away))
            return false;
    }
    return r->ops != NULL;
}

/* The direction of a comparison: 1 for GT and GE, -1 for LT and LE, else 0. */
static int region_direction(const mlir_op *op)
{
    const hlo_row *row = hlo_row_of(op->name);
    const mlir_attr *way = mlir_attr_of(op->attrs, "comparison_direction", "");
    if (!row || row->map != hlo_map_compare || !way || op->n_ins != 2)
        return 0;
    if (mlir_is(way->text, "GT") || mlir_is(way->text, "GE"))
        return 1;
    return mlir_is(way->text, "LT") || mlir_is(way->text, "LE") ? -1 : 0;
}

/* Whether somebody behind op reads its result i. */
static bool region_reads(const mlir_op *ops, mlir_text name, uint32_t i)
{
    for (const mlir_op *op = ops; op; op = op->next) {
        for (uint32_t k = 0; k < op->n_ins; k++)
            if (op->ins[k].index == i && mlir_same(op->ins[k].name, name))
                return true;
        for (const mlir_region *r = op->regions; r; r = r->next)
            if (region_reads(r->ops, name, i))
                return true;
    }
    return false;
}

/* -- reductions that we have ----------------------------------------------*/

typedef struct fold_kind {
    clv_op element, reduction, running;
    double neutral;
} fold_kind;

static const fold_kind fold_kinds[] = {
    {CLV_OP_ADD, CLV_OP_SUM, CLV_OP_CUMSUM, 0},
    {CLV_OP_MUL, CLV_OP_PROD, CLV_OP_CUMPROD, 1},
    {CLV_OP_MAXIMUM, CLV_OP_MAX, CLV_OP_CUMMAX, -INFINITY},
    {CLV_OP_MINIMUM, CLV_OP_MIN, CLV_OP_CUMMIN, INFINITY},
    {CLV_OP_LOGICAL_OR, CLV_OP_ANY, CLV_OP_UNKNOWN, 0},
    {CLV_OP_LOGICAL_AND, CLV_OP_ALL, CLV_OP_UNKNOWN, 1},
};

static const fold_kind *reduce_kind(hlo_scope *s, const mlir_op *op,
                                    clv_dtype t)
{
    const mlir_attr *applies = mlir_attr_of(op->attrs, "applies", NULL);
    clv_op as = applies       ? hlo_binary_op(applies->text, t)
                : op->regions ? hlo_region_op(s, op->regions, t)
                              : CLV_OP_UNKNOWN;
    for (size_t i = 0; i < sizeof fold_kinds / sizeof *fold_kinds; i++)
        if (fold_kinds[i].element == as)
            return &fold_kinds[i];
    return NULL;
}

/* Whether the first value changes nothing: the largest or smallest number of
 * an integer type does as infinity does. */
static bool reduce_is_neutral(const hlo_scope *s, uint32_t init,
                              const fold_kind *k)
{
    double x;
    if (!hlo_known_number(s, init, &x))
        return false;
    clv_dtype t = (clv_dtype)hlo_value(s, init)->dtype;
    if (isinf(k->neutral) && dtype_is_integral(t)) {
        int64_t bits = clv_dtype_bytes(t, 1) * 8;
        bool is_signed =
            t == CLV_INT8 || t == CLV_INT16 || t == CLV_INT32 || t == CLV_INT64;
        double top = ldexp(1, (int)(is_signed ? bits - 1 : bits));
        return k->neutral > 0 ? x >= top - 1 : x <= (is_signed ? -top : 0);
    }
    return x == k->neutral;
}

static clv_status reduce_by(hlo_scope *s, const fold_kind *k, uint32_t x,
                            uint32_t init, const int64_t *axes, uint32_t n,
                            uint32_t *y, clv_err *e)
{
    clv_attr a[2] = {hlo_ints(CLV_A_AXES, axes, n),
                     hlo_str(CLV_A_DTYPE, "own")};
    *y = x;
    if (n)
        CLV_TRY(hlo_emit(s, "", k->reduction, &x, 1, a, 2, y, 1, e));
    return reduce_is_neutral(s, init, k)
               ? CLV_OK
               : hlo_binary(s, "init", k->element, *y, init, y, e);
}

/* -- argmax ---------------------------------------------------------------*/

/* Whether v counts along the axis: a range, in the axis's place. */
static bool reduce_counts(const hlo_scope *s, uint32_t v, uint32_t axis)
{
    const clv_graph *g = s->g;
    uint32_t at = axis;
    for (int i = 0; i < 6; i++) {
        const clv_value *x = &g->values[v];
        if (x->producer == CLV_NONE)
            return false;
        const clv_node *n = &g->nodes[x->producer];
        if (n->op == CLV_OP_RANGE)
            return x->rank == 1;
        if (n->op != CLV_OP_EXPAND && n->op != CLV_OP_RESHAPE &&
            n->op != CLV_OP_CAST)
            return false;
        v = node_ins(g, n)[0];
        const clv_value *from = &g->values[v];
        if (n->op == CLV_OP_RESHAPE) { /* a list among axes of one element */
            if (from->rank != 1 || at >= x->rank ||
                x->dims[at] != from->dims[0])
                return false;
            at = 0;
        } else if (n->op == CLV_OP_EXPAND) {
            uint32_t lead = (uint32_t)x->rank - from->rank;
            if (at < lead || from->dims[at - lead] != x->dims[at])
                return false;
            at -= lead;
        }
    }
    return false;
}

/* 1: the region picks the larger of two with its place; -1: the smaller. */
static int reduce_picks(const mlir_region *r)
{
    const mlir_op *end = region_return(r);
    if (r->n_args != 4 || !end || end->n_ins != 2 ||
        region_sources(r, end->ins[0].name, 16) != 0x5 ||
        region_sources(r, end->ins[1].name, 16) != 0xa)
        return 0;
    for (const mlir_op *op = r->ops; op; op = op->next) {
        int way = region_direction(op);
        int a = way ? region_arg(r, op->ins[0].name) : -1;
        int b = way ? region_arg(r, op->ins[1].name) : -1;
        if (a == 0 && b == 2)
            return way;
        if (a == 2 && b == 0)
            return -way;
    }
    return 0;
}

static clv_status reduce_place(hlo_scope *s, const mlir_op *op, int way,
                               uint32_t x, int64_t axis, uint32_t *outs,
                               clv_err *e)
{
    bool shared = op->n_outs == 1;
    mlir_text name = op->outs->name;
    bool values = region_reads(op->next, name, 0);
    clv_attr place = hlo_int(CLV_A_AXIS, axis);
    clv_attr axes = hlo_ints(CLV_A_AXES, &axis, 1);
    CLV_TRY(hlo_emit(s, "", way > 0 ? CLV_OP_ARGMAX : CLV_OP_ARGMIN, &x, 1,
                     &place, 1, &outs[1], 1, e));
    outs[0] = outs[1]; /* nobody reads it */
    if (!values && shared)
        return CLV_OK;
    return hlo_emit(s, "value", way > 0 ? CLV_OP_MAX : CLV_OP_MIN, &x, 1, &axes,
                    1, &outs[0], 1, e);
}

/* -- any other region -----------------------------------------------------*/

/* Reads the region into the body of a scan. */
static clv_status reduce_fill_body(hlo_scope *in, const mlir_region *r,
                                   const uint32_t *states, uint32_t n,
                                   clv_err *e)
{
    uint32_t i = 0, *outs, n_outs;
    clv_graph *g = in->g;
    for (const mlir_arg *a = r->args; a; a = a->next, i++) {
        const clv_value *like = &in->parent->g->values[states[i % n]];
        char *name = arena_strndup(&g->mem, a->name.s, a->name.n);
        uint32_t v = name ? clv__value_add(g, name, CLV_VALUE_INPUT,
                                           (clv_dtype)like->dtype)
                          : CLV_NONE;
        if (v == CLV_NONE ||
            !clv__value_set_shape(g, v, like->rank, like->dims))
            return clv__nomem(e);
        CLV_TRY(hlo_bind(in, a->name, &v, 1, e));
    }
    CLV_TRY(hlo_walk(in, r, &outs, &n_outs, e));
    if (n_outs != n)
        return hlo_fail(in, e, "%u results of %u", n_outs, n);
    for (i = 0; i < n; i++) {
        const clv_value *like = &in->parent->g->values[states[i]];
        CLV_TRY(hlo_expand(in, outs[i], like->dims, like->rank, &outs[i], e));
        if (!clv__graph_output(g, outs[i]))
            return clv__nomem(e);
    }
    return clv__build_finish(g, CLV_BUILT_INFERRED, e);
}

/* x with the reduced axes in front, as one. */
static clv_status reduce_front(hlo_scope *s, uint32_t x, const bool *gone,
                               uint32_t *y, clv_err *e)
{
    const clv_value v = *hlo_value(s, x);
    int64_t perm[CLV_MAX_RANK], dims[CLV_MAX_RANK] = {1};
    uint32_t k = 0, rank = 1;
    for (uint32_t i = 0; i < v.rank; i++)
        if (gone[i]) {
            perm[k++] = i;
            dims[0] = sat_mul(dims[0], v.dims[i]);
        }
    for (uint32_t i = 0; i < v.rank; i++)
        if (!gone[i]) {
            perm[k++] = i;
            dims[rank++] = v.dims[i];
        }
    if (rank > CLV_MAX_RANK)
        return hlo_fail(s, e, "a reduction of no axis");
    CLV_TRY(hlo_permute(s, x, perm, &x, e));
    return hlo_reshape(s, x, dims, rank, y, e);
}

static clv_status reduce_scan(hlo_scope *s, const mlir_op *op,
                              const uint32_t *xs, const uint32_t *inits,
                              uint32_t n, const bool *gone, uint32_t *outs,
                              clv_err *e)
{
    uint32_t *ins = arena_array(&s->r->mem, 2u * n + 1u, sizeof *ins);
    clv_graph *body;
    if (!ins)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        CLV_TRY(reduce_front(s, xs[i], gone, &ins[n + i], e));
        const clv_value x = *hlo_value(s, ins[n + i]);
        CLV_TRY(hlo_expand(s, inits[i], x.dims + 1, x.rank - 1u, &ins[i], e));
    }
    CLV_TRY(clv__build_body(s->g, "reduce", &body, e));
    hlo_scope in;
    hlo_scope_open(&in, s->r, body, s, s);
    in.lifted = true;
    clv_status st = in.depth > HLO_MAX_DEPTH
                        ? hlo_fail(s, e, "too many regions in each other")
                        : reduce_fill_body(&in, op->regions, ins, n, e);
    uint32_t all = 2 * n + in.n_captured;
    uint32_t *own = arena_array(&s->r->mem, all + 1u, sizeof *own);
    if (st == CLV_OK && !own)
        st = clv__nomem(e);
    if (st == CLV_OK) {
        memcpy(own, ins, 2 * n * sizeof *own);
        if (in.n_captured)
            memcpy(own + 2 * n, in.captured, in.n_captured * sizeof *own);
    }
    hlo_scope_close(&in);
    CLV_TRY(st);
    clv_attr a[3] = {hlo_body(CLV_A_BODY, body), hlo_int(CLV_A_STATES, n),
                     hlo_int(CLV_A_SCANS, n)};
    return hlo_emit(s, "", CLV_OP_SCAN, own, all, a, 3, outs, n, e);
}

clv_status hlo_map_reduce(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                          uint32_t *outs, clv_err *e)
{
    int64_t axes[CLV_MAX_RANK];
    bool gone[CLV_MAX_RANK] = {false};
    uint32_t n = op->n_ins / 2, n_axes;
    uint32_t *xs = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *xs);
    (void)row;
    if (!xs)
        return clv__nomem(e);
    if (n == 0 || op->n_ins != 2 * n || op->n_results != n)
        return hlo_fail(s, e, "%u operands, %u results", op->n_ins,
                        op->n_results);
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_in(s, i, &xs[i], e));
    const clv_value *x = hlo_value(s, xs[0]);
    CLV_TRY(hlo_list(s, mlir_attr_of(op->attrs, "dimensions", NULL), axes,
                     CLV_MAX_RANK, &n_axes, e));
    for (uint32_t i = 0; i < n_axes; i++) {
        if (axes[i] < 0 || axes[i] >= x->rank || gone[axes[i]])
            return hlo_fail(s, e, "axis %lld of %u", (long long)axes[i],
                            x->rank);
        gone[axes[i]] = true;
    }
    const fold_kind *k =
        n == 1 ? reduce_kind(s, op, (clv_dtype)x->dtype) : NULL;
    if (k)
        return reduce_by(s, k, xs[0], xs[1], axes, n_axes, outs, e);
    if (!op->regions)
        return CLV_OK;
    int way = n == 2 && n_axes == 1 ? reduce_picks(op->regions) : 0;
    if (way && op->n_outs && reduce_counts(s, xs[1], (uint32_t)axes[0]))
        return reduce_place(s, op, way, xs[0], axes[0], outs, e);
    if (!region_is_elementwise(op->regions) || op->regions->n_args != 2 * n)
        return CLV_OK;
    return reduce_scan(s, op, xs, xs + n, n, gone, outs, e);
}

/* The region on whole tensors. */
clv_status hlo_map_map(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                       uint32_t *outs, clv_err *e)
{
    uint32_t *ins = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *ins);
    uint32_t *results, n;
    (void)row;
    if (!ins)
        return clv__nomem(e);
    if (!op->regions || !region_is_elementwise(op->regions))
        return CLV_OK;
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_in(s, i, &ins[i], e));
    bool lifted = s->lifted;
    s->lifted = true;
    clv_status st = hlo_inline(s, op->regions, ins, op->n_ins, &results, &n, e);
    s->lifted = lifted;
    CLV_TRY(st);
    s->op = op;
    if (n == 1 && hlo_type(op, 0) && op->n_ins) {
        const clv_value x = *hlo_value(s, ins[0]);
        return hlo_expand(s, results[0], x.dims, x.rank, outs, e);
    }
    return hlo_fail(s, e, "%u results of a map", n);
}

/* -- windows --------------------------------------------------------------*/

typedef struct windows {
    uint32_t rank, n_moving;
    int64_t size[CLV_MAX_RANK], stride[CLV_MAX_RANK], spread[CLV_MAX_RANK];
    int64_t dilation[CLV_MAX_RANK], pads[2 * CLV_MAX_RANK];
    bool moves[CLV_MAX_RANK];
} windows;

static clv_status window_list(hlo_scope *s, const mlir_op *op, const char *name,
                              uint32_t n, int64_t otherwise, int64_t *out,
                              clv_err *e)
{
    const mlir_attr *a = mlir_attr_of(op->attrs, name, NULL);
    uint32_t count;
    for (uint32_t i = 0; i < n; i++)
        out[i] = otherwise;
    if (!a)
        return CLV_OK;
    CLV_TRY(hlo_list(s, a, out, n, &count, e));
    return count == n
               ? CLV_OK
               : hlo_fail(s, e, "%s of %u numbers for %u", name, count, n);
}

static clv_status window_read(hlo_scope *s, const mlir_op *op, windows *w,
                              clv_err *e)
{
    uint32_t n = w->rank;
    CLV_TRY(window_list(s, op, "window_dimensions", n, 1, w->size, e));
    CLV_TRY(window_list(s, op, "window_strides", n, 1, w->stride, e));
    CLV_TRY(window_list(s, op, "base_dilations", n, 1, w->spread, e));
    CLV_TRY(window_list(s, op, "window_dilations", n, 1, w->dilation, e));
    CLV_TRY(window_list(s, op, "padding", 2 * n, 0, w->pads, e));
    for (uint32_t i = 0; i < n; i++) {
        const int64_t all[] = {w->size[i], w->stride[i], w->spread[i],
                               w->dilation[i]};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k] < 1 || all[k] > INT32_MAX)
                return hlo_fail(s, e, "a window out of range");
        if (w->pads[2 * i] < -INT32_MAX || w->pads[2 * i] > INT32_MAX ||
            w->pads[2 * i + 1] < -INT32_MAX || w->pads[2 * i + 1] > INT32_MAX)
            return hlo_fail(s, e, "a window out of range");
        w->moves[i] = w->size[i] != 1 || w->stride[i] != 1 || w->pads[2 * i] ||
                      w->pads[2 * i + 1];
        w->n_moving += w->moves[i];
    }
    return CLV_OK;
}

/* All elements up to each one: a running sum. Sets *axis; 1 forwards, -1
 * backwards, 0 for anything else. */
static int window_runs(const hlo_scope *s, const windows *w, uint32_t x,
                       uint32_t *axis)
{
    if (w->n_moving != 1)
        return 0;
    for (*axis = 0; !w->moves[*axis];)
        ++*axis;
    int64_t n = hlo_value(s, x)->dims[*axis];
    bool whole = w->size[*axis] == n && w->stride[*axis] == 1 &&
                 w->dilation[*axis] == 1 && n > 1;
    int64_t before = w->pads[2 * *axis], after = w->pads[2 * *axis + 1];
    return whole && before == n - 1 && after == 0   ? 1
           : whole && before == 0 && after == n - 1 ? -1
                                                    : 0;
}

static clv_status window_running(hlo_scope *s, const fold_kind *k, uint32_t x,
                                 uint32_t axis, bool back, uint32_t *y,
                                 clv_err *e)
{
    bool sums = k->running == CLV_OP_CUMSUM || k->running == CLV_OP_CUMPROD;
    int64_t at = axis;
    clv_attr flip = hlo_ints(CLV_A_AXES, &at, 1);
    clv_dtype t = (clv_dtype)hlo_value(s, x)->dtype;
    clv_attr a[3] = {hlo_int(CLV_A_AXIS, axis), hlo_int(CLV_A_REVERSE, back),
                     hlo_dtype(CLV_A_DTYPE, t)};
    if (sums)
        return hlo_emit(s, "", k->running, &x, 1, a, 3, y, 1, e);
    if (back)
        CLV_TRY(hlo_emit(s, "flip", CLV_OP_FLIP, &x, 1, &flip, 1, &x, 1, e));
    CLV_TRY(hlo_emit(s, "", k->running, &x, 1, a, 1, y, 1, e));
    return back ? hlo_emit(s, "flip", CLV_OP_FLIP, y, 1, &flip, 1, y, 1, e)
                : CLV_OK;
}

/* A pool over the axes that move, which become the last; sums are averages
 * times their number. */
static clv_status window_pool(hlo_scope *s, const fold_kind *k,
                              const windows *w, uint32_t x, uint32_t *y,
                              clv_err *e)
{
    static const clv_op max[] = {CLV_OP_MAX_POOL1D, CLV_OP_MAX_POOL2D,
                                 CLV_OP_MAX_POOL3D};
    static const clv_op avg[] = {CLV_OP_AVG_POOL1D, CLV_OP_AVG_POOL2D,
                                 CLV_OP_AVG_POOL3D};
    const clv_value v = *hlo_value(s, x);
    uint32_t nd = w->n_moving, fixed = 0, at = 0;
    int64_t perm[CLV_MAX_RANK], back[CLV_MAX_RANK], dims[CLV_MAX_RANK];
    int64_t size[3], stride[3], dilation[3], pads[6], still = 1, taps = 1;
    for (uint32_t i = 0; i < w->rank; i++)
        if (!w->moves[i]) {
            perm[fixed++] = i;
            still = sat_mul(still, v.dims[i]);
        }
    for (uint32_t i = 0; i < w->rank; i++)
        if (w->moves[i]) {
            perm[fixed + at] = i;
            size[at] = w->size[i];
            stride[at] = w->stride[i];
            dilation[at] = w->dilation[i];
            pads[at] = w->pads[2 * i];
            pads[nd + at] = w->pads[2 * i + 1];
            taps = sat_mul(taps, w->size[i]);
            at++;
        }
    for (uint32_t i = 0; i < w->rank; i++)
        back[perm[i]] = i;
    CLV_TRY(hlo_permute(s, x, perm, &x, e));
    dims[0] = 1;
    dims[1] = still;
    for (uint32_t i = 0; i < nd; i++)
        dims[2 + i] = v.dims[perm[fixed + i]];
    if (fixed != 2)
        CLV_TRY(hlo_reshape(s, x, dims, nd + 2, &x, e));
    bool sum = k->element == CLV_OP_ADD, least = k->element == CLV_OP_MINIMUM;
    if (least)
        CLV_TRY(hlo_unary(s, "neg", CLV_OP_NEG, x, &x, e));
    clv_attr a[5] = {hlo_ints(CLV_A_KERNEL, size, nd),
                     hlo_ints(CLV_A_STRIDE, stride, nd),
                     hlo_ints(CLV_A_PADDING, pads, 2 * nd),
                     hlo_ints(CLV_A_DILATION, dilation, nd),
                     hlo_int(CLV_A_COUNT_INCLUDE_PAD, 1)};
    CLV_TRY(hlo_emit(s, "", sum ? avg[nd - 1] : max[nd - 1], &x, 1, a,
                     sum ? 5 : 4, y, 1, e));
    if (least)
        CLV_TRY(hlo_unary(s, "neg", CLV_OP_NEG, *y, y, e));
    if (sum && taps > 1) {
        uint32_t count;
        CLV_TRY(
            hlo_const_float(s, (clv_dtype)v.dtype, (double)taps, &count, e));
        CLV_TRY(hlo_binary(s, "mul", CLV_OP_MUL, *y, count, y, e));
    }
    if (fixed != 2) {
        const clv_value out = *hlo_value(s, *y);
        for (uint32_t i = 0; i < w->rank; i++)
            dims[i] = i < fixed ? v.dims[perm[i]] : out.dims[2 + i - fixed];
        CLV_TRY(hlo_reshape(s, *y, dims, w->rank, y, e));
    }
    return hlo_permute(s, *y, back, y, e);
}

/* Any number of axes, and any type: windows as views, then the reduction. */
static clv_status window_views(hlo_scope *s, const fold_kind *k,
                               const windows *w, uint32_t x, uint32_t init,
                               uint32_t *y, clv_err *e)
{
    int64_t pads[2 * CLV_MAX_RANK], axes[CLV_MAX_RANK];
    uint32_t ins[3] = {x, CLV_NONE, init}, n = 0;
    bool padded = false;
    for (uint32_t i = 0; i < w->rank; i++) {
        pads[i] = w->pads[2 * i];
        pads[w->rank + i] = w->pads[2 * i + 1];
        padded |= pads[i] || pads[w->rank + i];
    }
    clv_attr pad = hlo_ints(CLV_A_PADDING, pads, 2 * w->rank);
    if (padded)
        CLV_TRY(hlo_emit(s, "pad", CLV_OP_PAD, ins, 3, &pad, 1, &x, 1, e));
    for (uint32_t i = 0; i < w->rank; i++) {
        if (!w->moves[i])
            continue;
        int64_t reach = (w->size[i] - 1) * w->dilation[i] + 1;
        clv_attr a[3] = {hlo_int(CLV_A_AXIS, i), hlo_int(CLV_A_SIZE, reach),
                         hlo_int(CLV_A_STEP, w->stride[i])};
        if (w->rank + n == CLV_MAX_RANK)
            return hlo_fail(s, e, "windows over %u axes", w->n_moving);
        CLV_TRY(hlo_emit(s, "windows", CLV_OP_SLIDING_WINDOW, &x, 1, a, 3, &x,
                         1, e));
        axes[n] = w->rank + n;
        int64_t from = 0, to = reach;
        clv_attr step[4] = {hlo_ints(CLV_A_START, &from, 1),
                            hlo_ints(CLV_A_END, &to, 1),
                            hlo_ints(CLV_A_AXES, &axes[n], 1),
                            hlo_ints(CLV_A_STEP, &w->dilation[i], 1)};
        if (w->dilation[i] != 1)
            CLV_TRY(
                hlo_emit(s, "step", CLV_OP_SLICE, &x, 1, step, 4, &x, 1, e));
        n++;
    }
    return reduce_by(s, k, x, init, axes, n, y, e);
}

clv_status hlo_map_reduce_window(hlo_scope *s, const hlo_row *row,
                                 const mlir_op *op, uint32_t *outs, clv_err *e)
{
    uint32_t x, init, axis;
    (void)row;
    if (op->n_ins != 2)
        return CLV_OK; /* of several tensors at once */
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_in(s, 1, &init, e));
    windows w = {.rank = hlo_value(s, x)->rank};
    clv_dtype t = (clv_dtype)hlo_value(s, x)->dtype;
    const fold_kind *k = reduce_kind(s, op, t);
    if (!k)
        return CLV_OK;
    CLV_TRY(window_read(s, op, &w, e));
    for (uint32_t i = 0; i < w.rank; i++)
        CLV_TRY(hlo_spread(s, &x, init, i, w.spread[i] - 1, e));
    bool neutral = reduce_is_neutral(s, init, k), cut = false;
    int way = window_runs(s, &w, x, &axis);
    if (way && neutral && k->running != CLV_OP_UNKNOWN)
        return window_running(s, k, x, axis, way < 0, outs, e);
    for (uint32_t i = 0; i < w.rank; i++)
        cut |= w.pads[2 * i] < 0 || w.pads[2 * i + 1] < 0 ||
               w.pads[2 * i] >= w.size[i] || w.pads[2 * i + 1] >= w.size[i];
    bool pools = k->element == CLV_OP_ADD || k->element == CLV_OP_MAXIMUM ||
                 k->element == CLV_OP_MINIMUM;
    if (pools && neutral && !cut && !dtype_is_integral(t) && w.n_moving >= 1 &&
        w.n_moving <= 3)
        return window_pool(s, k, &w, x, outs, e);
    return window_views(s, k, &w, x, init, outs, e);
}

/* -- order ----------------------------------------------------------------*/

enum { SORT_KEYS = 8 };

/* What a sort looks at first, second ..: operands, and 1 where the largest
 * comes first, -1 where the smallest does. */
typedef struct sort_keys {
    uint32_t at[SORT_KEYS], n;
    int way[SORT_KEYS];
} sort_keys;

/* The operand that both sides of a comparison are of. Returns 1 when the first
 * side is of the earlier element, -1 when the second is, else 0. */
static int sort_sides(const mlir_region *r, const mlir_op *by, uint32_t *key)
{
    uint64_t a = region_sources(r, by->ins[0].name, 16);
    uint64_t b = region_sources(r, by->ins[1].name, 16);
    for (uint32_t i = 0; i < 32 && 2 * i + 1 < r->n_args; i++) {
        uint64_t bit = UINT64_C(1) << 2 * i;
        *key = i;
        if (a == bit && b == bit << 1)
            return 1;
        if (b == bit && a == bit << 1)
            return -1;
    }
    return 0;
}

/* a < b: adds its key. */
static bool sort_one(const mlir_region *r, const mlir_op *by, sort_keys *k)
{
    int way = by ? region_direction(by) : 0;
    if (!way || k->n == SORT_KEYS)
        return false;
    int side = sort_sides(r, by, &k->at[k->n]);
    k->way[k->n++] = way * side;
    return side != 0;
}

/* The other operand of `op` than the one that `is` holds for; NULL when it
 * holds for none. */
static const mlir_op *sort_other(const mlir_region *r, const mlir_op *op,
                                 bool is(const mlir_op *),
                                 const mlir_op **other)
{
    for (uint32_t i = 0; i < 2; i++) {
        const mlir_op *one = region_maker(r, op->ins[i].name);
        *other = region_maker(r, op->ins[1 - i].name);
        if (one && is(one))
            return one;
    }
    return NULL;
}

static bool sort_is_order(const mlir_op *op)
{
    return region_direction(op) != 0;
}

static bool sort_is_equal(const mlir_op *op)
{
    const hlo_row *row = hlo_row_of(op->name);
    const mlir_attr *way = mlir_attr_of(op->attrs, "comparison_direction", "");
    return row && row->map == hlo_map_compare && op->n_ins == 2 && way &&
           mlir_is(way->text, "EQ");
}

static bool sort_is(const mlir_op *op, clv_op what)
{
    const hlo_row *row = op && op->n_ins == 2 ? hlo_row_of(op->name) : NULL;
    return row && row->op == what;
}

/* a < b, or a < b || (a == b && the rest). */
static bool sort_by(const mlir_region *r, const mlir_op *op, sort_keys *k)
{
    const mlir_op *rest, *next;
    uint32_t same;
    while (sort_is(op, CLV_OP_BITWISE_OR)) {
        const mlir_op *less = sort_other(r, op, sort_is_order, &rest);
        if (!sort_one(r, less, k) || !sort_is(rest, CLV_OP_BITWISE_AND))
            return false;
        const mlir_op *equal = sort_other(r, rest, sort_is_equal, &next);
        if (!equal || !sort_sides(r, equal, &same) || same != k->at[k->n - 1])
            return false;
        op = next;
    }
    return sort_one(r, op, k);
}

/* The places of the sorted elements: by the last key first, the others keep
 * what is equal to them in order. *first is the first key, sorted. */
static clv_status sort_places(hlo_scope *s, const hlo_row *row,
                              const sort_keys *k, int64_t axis, uint32_t *first,
                              uint32_t *places, clv_err *e)
{
    uint32_t sorted[2];
    *places = CLV_NONE;
    for (uint32_t i = k->n; i-- > 0;) {
        uint32_t ins[2];
        clv_attr a[2] = {hlo_int(CLV_A_AXIS, axis),
                         hlo_int(CLV_A_LARGEST, k->way[i] > 0)};
        CLV_TRY(hlo_in(s, k->at[i], &ins[0], e));
        ins[1] = *places;
        if (*places != CLV_NONE)
            CLV_TRY(hlo_emit(s, "order", CLV_OP_GATHER_ELEMENTS, ins, 2, a, 1,
                             &ins[0], 1, e));
        CLV_TRY(
            hlo_emit(s, i ? "key" : "", row->op, ins, 1, a, 2, sorted, 2, e));
        ins[0] = *places;
        ins[1] = *places = sorted[1];
        if (ins[0] != CLV_NONE)
            CLV_TRY(hlo_emit(s, "order", CLV_OP_GATHER_ELEMENTS, ins, 2, a, 1,
                             places, 1, e));
    }
    *first = sorted[0];
    return CLV_OK;
}

clv_status hlo_map_sort(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                        uint32_t *outs, clv_err *e)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "dimension", NULL);
    const mlir_op *end = op->regions ? region_return(op->regions) : NULL;
    sort_keys k = {.n = 0};
    uint32_t x, first, places;
    if (!end || end->n_ins != 1 || op->n_results != op->n_ins ||
        !sort_by(op->regions, region_maker(op->regions, end->ins[0].name), &k))
        return CLV_OK;
    for (uint32_t i = 0; i < k.n; i++)
        if (k.at[i] >= op->n_ins)
            return CLV_OK;
    CLV_TRY(hlo_in(s, k.at[0], &x, e));
    int64_t rank = hlo_value(s, x)->rank, at = axis ? axis->i : -1;
    at += at < 0 ? rank : 0;
    if (at < 0 || at >= rank)
        return hlo_fail(s, e, "axis %lld of %lld", (long long)at,
                        (long long)rank);
    CLV_TRY(sort_places(s, row, &k, at, &first, &places, e));
    clv_attr a = hlo_int(CLV_A_AXIS, at);
    for (uint32_t i = 0; i < op->n_ins; i++) {
        uint32_t ins[2] = {0, places};
        CLV_TRY(hlo_in(s, i, &ins[0], e));
        outs[i] = i == k.at[0] ? first : places;
        if (i == k.at[0] || reduce_counts(s, ins[0], (uint32_t)at))
            continue;
        CLV_TRY(hlo_emit(s, "order", CLV_OP_GATHER_ELEMENTS, ins, 2, &a, 1,
                         &outs[i], 1, e));
    }
    return CLV_OK;
}

clv_status hlo_map_top_k(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    const mlir_attr *k = mlir_attr_of(op->attrs, "k", NULL);
    uint32_t x;
    CLV_TRY(hlo_in(s, 0, &x, e));
    if (!k || op->n_results != 2)
        return hlo_fail(s, e, "no number of elements");
    clv_attr a = hlo_int(CLV_A_K, k->i);
    return hlo_emit(s, "", row->op, &x, 1, &a, 1, outs, 2, e);
}

/* product.c - dot_general and convolution.
 *
 * A product is a matmul of (batch.., rows, inner) and (batch.., inner,
 * columns): both operands are permuted so, and several axes of one kind become
 * one.
 *
 * A convolution takes (N, C, ..) and (O, I, ..). One whose input is dilated is
 * the transposed convolution that it was: with stride for dilation, the kernel
 * turned around and its channels exchanged, and of the padding what is left.
 * Where that does not fit, zeros are put between the elements. */
#include "formats/stablehlo/hlo.h"

#include <string.h>

/* -- products -------------------------------------------------------------*/

/* The axes of one operand: batch, contracted, and the others. */
typedef struct dot_side {
    int64_t batch[CLV_MAX_RANK], inner[CLV_MAX_RANK], outer[CLV_MAX_RANK];
    uint32_t n_batch, n_inner, n_outer;
} dot_side;

static clv_status dot_list(hlo_scope *s, const mlir_op *op, const char *pretty,
                           const char *member, uint32_t side, int64_t *out,
                           uint32_t *n, clv_err *e)
{
    const mlir_attr *a = mlir_attr_of(op->attrs, pretty, NULL);
    const mlir_attr *dims =
        mlir_attr_of(op->attrs, "dot_dimension_numbers", NULL);
    *n = 0;
    if (dims)
        return hlo_list(s, mlir_attr_of(dims->items, member, NULL), out,
                        CLV_MAX_RANK, n, e);
    if (!a || a->kind != MLIR_LIST || a->n != 2)
        return CLV_OK;
    return hlo_list(s, side ? a->items->next : a->items, out, CLV_MAX_RANK, n,
                    e);
}

static clv_status dot_axes(hlo_scope *s, const mlir_op *op, uint32_t side,
                           uint32_t x, dot_side *d, clv_err *e)
{
    static const char *const batch[] = {"lhs_batching_dimensions",
                                        "rhs_batching_dimensions"};
    static const char *const inner[] = {"lhs_contracting_dimensions",
                                        "rhs_contracting_dimensions"};
    uint32_t rank = hlo_value(s, x)->rank;
    bool used[CLV_MAX_RANK] = {false};
    CLV_TRY(dot_list(s, op, "batching_dims", batch[side], side, d->batch,
                     &d->n_batch, e));
    CLV_TRY(dot_list(s, op, "contracting_dims", inner[side], side, d->inner,
                     &d->n_inner, e));
    if (mlir_is(op->name, "stablehlo.dot") || mlir_is(op->name, "mhlo.dot")) {
        d->n_inner = 1;
        d->inner[0] = side ? 0 : (int64_t)rank - 1;
    }
    for (uint32_t i = 0; i < d->n_batch + d->n_inner; i++) {
        int64_t a = i < d->n_batch ? d->batch[i] : d->inner[i - d->n_batch];
        if (a < 0 || a >= rank || used[a])
            return hlo_fail(s, e, "axis %lld of a tensor of %u", (long long)a,
                            rank);
        used[a] = true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!used[i])
            d->outer[d->n_outer++] = i;
    return CLV_OK;
}

static int64_t dot_size(const clv_value *v, const int64_t *axes, uint32_t n)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < n; i++)
        size = sat_mul(size, v->dims[axes[i]]);
    return size;
}

/* Permutes an operand to batch, then `a`, then `b`, each of the latter one
 * axis. With `many`, the axes of `a` may stay apart (there is no batch). */
static clv_status dot_form(hlo_scope *s, uint32_t x, const dot_side *d,
                           bool left, bool many, uint32_t *y, clv_err *e)
{
    const int64_t *a = left ? d->outer : d->inner;
    const int64_t *b = left ? d->inner : d->outer;
    uint32_t n_a = left ? d->n_outer : d->n_inner;
    uint32_t n_b = left ? d->n_inner : d->n_outer, rank = 0, k = 0;
    const clv_value v = *hlo_value(s, x);
    int64_t perm[CLV_MAX_RANK], dims[CLV_MAX_RANK + 2];
    for (uint32_t i = 0; i < d->n_batch; i++) {
        perm[k++] = d->batch[i];
        dims[rank++] = v.dims[d->batch[i]];
    }
    for (uint32_t i = 0; i < n_a; i++)
        perm[k++] = a[i];
    for (uint32_t i = 0; i < n_b; i++)
        perm[k++] = b[i];
    if (many)
        for (uint32_t i = 0; i < n_a; i++)
            dims[rank++] = v.dims[a[i]];
    else
        dims[rank++] = dot_size(&v, a, n_a);
    dims[rank++] = dot_size(&v, b, n_b);
    if (rank > CLV_MAX_RANK)
        return hlo_fail(s, e, "a product of %u axes", rank);
    CLV_TRY(hlo_permute(s, x, perm, &x, e));
    return hlo_reshape(s, x, dims, rank, y, e);
}

/* Both in the type of the result: narrow ones are summed up in it. */
static clv_status dot_types(hlo_scope *s, const mlir_op *op, uint32_t *a,
                            uint32_t *b, clv_err *e)
{
    const mlir_type *t = hlo_type(op, 0);
    if (!t || t->dtype == CLV_NODTYPE)
        return CLV_OK;
    clv_dtype to = clv__build_dtype(s->r->opts, t->dtype);
    CLV_TRY(hlo_cast(s, *a, to, a, e));
    return hlo_cast(s, *b, to, b, e);
}

clv_status hlo_map_dot_general(hlo_scope *s, const hlo_row *row,
                               const mlir_op *op, uint32_t *outs, clv_err *e)
{
    dot_side l = {0}, r = {0};
    uint32_t a, b, y, rank = 0;
    int64_t dims[2 * CLV_MAX_RANK];
    CLV_TRY(hlo_in(s, 0, &a, e));
    CLV_TRY(hlo_in(s, 1, &b, e));
    if (hlo_type(op, 0) && hlo_type(op, 0)->quantised)
        return CLV_OK;
    CLV_TRY(dot_axes(s, op, 0, a, &l, e));
    CLV_TRY(dot_axes(s, op, 1, b, &r, e));
    if (l.n_batch != r.n_batch || l.n_inner != r.n_inner)
        return hlo_fail(s, e, "axes of the operands differ in number");
    const clv_value va = *hlo_value(s, a), vb = *hlo_value(s, b);
    for (uint32_t i = 0; i < l.n_batch; i++)
        dims[rank++] = va.dims[l.batch[i]];
    for (uint32_t i = 0; i < l.n_outer; i++)
        dims[rank++] = va.dims[l.outer[i]];
    for (uint32_t i = 0; i < r.n_outer; i++)
        dims[rank++] = vb.dims[r.outer[i]];
    if (rank > CLV_MAX_RANK)
        return hlo_fail(s, e, "a product of %u axes", rank);
    bool many = l.n_batch == 0 && l.n_outer > 0;
    CLV_TRY(dot_types(s, op, &a, &b, e));
    CLV_TRY(dot_form(s, a, &l, true, many, &a, e));
    CLV_TRY(dot_form(s, b, &r, false, false, &b, e));
    CLV_TRY(hlo_binary(s, "", row->op, a, b, &y, e));
    return hlo_reshape(s, y, dims, rank, outs, e);
}

/* -- convolutions ---------------------------------------------------------*/

enum { CONV_SPATIAL = 3 };

typedef struct conv_plan {
    uint32_t nd;
    int64_t x[CLV_MAX_RANK], w[CLV_MAX_RANK], y[CLV_MAX_RANK]; /* permutes */
    int64_t stride[CONV_SPATIAL], before[CONV_SPATIAL], after[CONV_SPATIAL];
    int64_t spread[CONV_SPATIAL], dilation[CONV_SPATIAL];
    bool reverse[CONV_SPATIAL];
    int64_t groups, batch_groups;
    bool spreads;
} conv_plan;

/* [b, 0, 1, f] as a permute to the order first, second, 0, 1. */
static bool conv_axes(const mlir_attr *list, const char *first,
                      const char *second, uint32_t rank, int64_t *perm)
{
    uint32_t at = 0, found = 0;
    if (!list || list->n != rank)
        return false;
    for (const mlir_attr *a = list->items; a; a = a->next, at++) {
        bool axis =
            a->kind == MLIR_INT && a->i >= 0 && a->i < (int64_t)rank - 2;
        uint32_t to = axis                       ? (uint32_t)a->i + 2
                      : mlir_is(a->text, first)  ? 0
                      : mlir_is(a->text, second) ? 1
                                                 : CLV_NONE;
        if (to == CLV_NONE || (found >> to & 1))
            return false;
        found |= 1u << to;
        perm[to] = at;
    }
    return true;
}

/* A list of the window, or `otherwise` for each axis. */
static clv_status conv_list(hlo_scope *s, const mlir_op *op, const char *name,
                            const char *pretty, uint32_t nd, int64_t otherwise,
                            int64_t *out, clv_err *e)
{
    const mlir_attr *all = mlir_attr_of(op->attrs, "window", NULL);
    const mlir_attr *a = mlir_attr_of(op->attrs, name, NULL);
    uint32_t n;
    if (!a && all)
        a = mlir_attr_of(all->items, pretty, NULL);
    for (uint32_t i = 0; i < nd; i++)
        out[i] = otherwise;
    if (!a)
        return CLV_OK;
    CLV_TRY(hlo_list(s, a, out, nd, &n, e));
    return n == nd ? CLV_OK
                   : hlo_fail(s, e, "%s of %u numbers for %u", name, n, nd);
}

static clv_status conv_window(hlo_scope *s, const mlir_op *op, conv_plan *c,
                              clv_err *e)
{
    int64_t pads[2 * CONV_SPATIAL] = {0}, reverse[CONV_SPATIAL];
    const mlir_attr *groups =
        mlir_attr_of(op->attrs, "feature_group_count", NULL);
    const mlir_attr *batches =
        mlir_attr_of(op->attrs, "batch_group_count", NULL);
    uint32_t v, n;
    CLV_TRY(
        conv_list(s, op, "window_strides", "stride", c->nd, 1, c->stride, e));
    CLV_TRY(conv_list(s, op, "padding", "pad", 2 * c->nd, 0, pads, e));
    CLV_TRY(
        conv_list(s, op, "lhs_dilation", "lhs_dilate", c->nd, 1, c->spread, e));
    CLV_TRY(conv_list(s, op, "rhs_dilation", "rhs_dilate", c->nd, 1,
                      c->dilation, e));
    CLV_TRY(
        conv_list(s, op, "window_reversal", "reverse", c->nd, 0, reverse, e));
    if (op->n_ins > 2) { /* a dynamic one has its padding as an operand */
        CLV_TRY(hlo_in(s, 2, &v, e));
        const int64_t *known = hlo_known(s, v, &n);
        if (!known || n != 2 * c->nd)
            return hlo_fail(s, e, "padding that is not known");
        memcpy(pads, known, n * sizeof *pads);
    }
    c->groups = groups ? groups->i : 1;
    c->batch_groups = batches ? batches->i : 1;
    if (c->groups < 1 || c->batch_groups < 1)
        return hlo_fail(s, e, "%lld groups", (long long)c->groups);
    for (uint32_t i = 0; i < c->nd; i++) {
        c->before[i] = pads[2 * i];
        c->after[i] = pads[2 * i + 1];
        c->reverse[i] = reverse[i] != 0;
        c->spreads |= c->spread[i] != 1;
        if (c->stride[i] < 1 || c->spread[i] < 1 || c->dilation[i] < 1 ||
            c->stride[i] > INT32_MAX || c->spread[i] > INT32_MAX ||
            c->dilation[i] > INT32_MAX || pads[2 * i] > INT32_MAX ||
            pads[2 * i] < INT32_MIN || pads[2 * i + 1] > INT32_MAX ||
            pads[2 * i + 1] < INT32_MIN)
            return hlo_fail(s, e, "a window out of range");
    }
    return CLV_OK;
}

/* Turns the kernel around where `reverse` says so; `otherwise`: where it does
 * not. */
static clv_status conv_turn(hlo_scope *s, const conv_plan *c, bool otherwise,
                            uint32_t *w, clv_err *e)
{
    int64_t axes[CONV_SPATIAL] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nd; i++)
        if (c->reverse[i] != otherwise && hlo_value(s, *w)->dims[2 + i] != 1)
            axes[n++] = 2 + i;
    clv_attr a = hlo_ints(CLV_A_AXES, axes, n);
    return n ? hlo_emit(s, "flip", CLV_OP_FLIP, w, 1, &a, 1, w, 1, e) : CLV_OK;
}

/* Batches in groups, each with kernels of its own: (B, C) becomes
 * (B / groups, groups * C). */
static clv_status conv_batches(hlo_scope *s, conv_plan *c, uint32_t *x,
                               clv_err *e)
{
    const clv_value v = *hlo_value(s, *x);
    int64_t n = c->batch_groups, dims[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    if (n == 1)
        return CLV_OK;
    if (v.dims[0] % n || c->groups != 1)
        return hlo_fail(s, e, "a batch of %lld in %lld groups",
                        (long long)v.dims[0], (long long)n);
    dims[0] = n;
    dims[1] = v.dims[0] / n;
    memcpy(dims + 2, v.dims + 1, (v.rank - 1u) * sizeof *dims);
    for (uint32_t i = 0; i <= v.rank; i++)
        perm[i] = i;
    perm[0] = 1;
    perm[1] = 0;
    CLV_TRY(hlo_reshape(s, *x, dims, v.rank + 1u, x, e));
    CLV_TRY(hlo_permute(s, *x, perm, x, e));
    memcpy(dims, v.dims, v.rank * sizeof *dims);
    dims[0] = v.dims[0] / n;
    dims[1] = sat_mul(v.dims[1], n);
    c->groups = n;
    return hlo_reshape(s, *x, dims, v.rank, x, e);
}

/* Zeros between the elements, so that it is an ordinary one. */
static clv_status conv_spread(hlo_scope *s, const conv_plan *c, uint32_t *x,
                              clv_err *e)
{
    for (uint32_t i = 0; i < c->nd; i++)
        CLV_TRY(hlo_spread(s, x, CLV_NONE, 2 + i, c->spread[i] - 1, e));
    return CLV_OK;
}

/* Whether it is a transposed one as PyTorch and ONNX have it. */
static bool conv_is_transposed(const hlo_scope *s, const conv_plan *c,
                               uint32_t w)
{
    bool fits = c->spreads;
    for (uint32_t i = 0; fits && i < c->nd; i++) {
        int64_t reach = (hlo_value(s, w)->dims[2 + i] - 1) * c->dilation[i];
        int64_t more = c->after[i] - reach;
        fits = c->stride[i] == 1 && c->before[i] <= reach &&
               more < (c->spread[i] > c->dilation[i] ? c->spread[i]
                                                     : c->dilation[i]);
    }
    return fits;
}

/* (O, I / groups, ..) becomes (I, O / groups, ..). */
static clv_status conv_exchange(hlo_scope *s, const conv_plan *c, uint32_t *w,
                                clv_err *e)
{
    const clv_value v = *hlo_value(s, *w);
    int64_t dims[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    if (v.dims[0] % c->groups)
        return hlo_fail(s, e, "%lld channels in %lld groups",
                        (long long)v.dims[0], (long long)c->groups);
    dims[0] = c->groups;
    dims[1] = v.dims[0] / c->groups;
    memcpy(dims + 2, v.dims + 1, (v.rank - 1u) * sizeof *dims);
    for (uint32_t i = 0; i <= v.rank; i++)
        perm[i] = i;
    perm[1] = 2;
    perm[2] = 1;
    CLV_TRY(hlo_reshape(s, *w, dims, v.rank + 1u, w, e));
    CLV_TRY(hlo_permute(s, *w, perm, w, e));
    memcpy(dims, v.dims, v.rank * sizeof *dims);
    dims[0] = sat_mul(v.dims[1], c->groups);
    dims[1] = v.dims[0] / c->groups;
    return hlo_reshape(s, *w, dims, v.rank, w, e);
}

static clv_status conv_transposed(hlo_scope *s, const conv_plan *c, uint32_t x,
                                  uint32_t w, uint32_t *y, clv_err *e)
{
    static const clv_op ops[] = {CLV_OP_CONVT1D, CLV_OP_CONVT2D,
                                 CLV_OP_CONVT3D};
    int64_t pads[2 * CONV_SPATIAL], more[CONV_SPATIAL];
    for (uint32_t i = 0; i < c->nd; i++) {
        int64_t reach = (hlo_value(s, w)->dims[2 + i] - 1) * c->dilation[i];
        int64_t after = reach - c->after[i];
        pads[i] = reach - c->before[i];
        pads[c->nd + i] = after > 0 ? after : 0;
        more[i] = after < 0 ? -after : 0;
    }
    CLV_TRY(conv_turn(s, c, true, &w, e));
    CLV_TRY(conv_exchange(s, c, &w, e));
    uint32_t ins[2] = {x, w};
    clv_attr a[5] = {hlo_ints(CLV_A_STRIDE, c->spread, c->nd),
                     hlo_ints(CLV_A_PADDING, pads, 2 * c->nd),
                     hlo_ints(CLV_A_DILATION, c->dilation, c->nd),
                     hlo_int(CLV_A_GROUPS, c->groups),
                     hlo_ints(CLV_A_OUTPUT_PADDING, more, c->nd)};
    return hlo_emit(s, "", ops[c->nd - 1], ins, 2, a, 5, y, 1, e);
}

static clv_status conv_ordinary(hlo_scope *s, const conv_plan *c, uint32_t x,
                                uint32_t w, uint32_t *y, clv_err *e)
{
    static const clv_op ops[] = {CLV_OP_CONV1D, CLV_OP_CONV2D, CLV_OP_CONV3D};
    int64_t pads[2 * CONV_SPATIAL], outer[2 * CLV_MAX_RANK] = {0};
    bool negative = false;
    for (uint32_t i = 0; i < c->nd; i++) {
        outer[2 + i] = pads[i] = c->before[i];
        outer[4 + c->nd + i] = pads[c->nd + i] = c->after[i];
        negative |= c->before[i] < 0 || c->after[i] < 0;
    }
    if (negative) { /* elements at the edge are left out */
        clv_attr a = hlo_ints(CLV_A_PADDING, outer, 2 * (c->nd + 2));
        CLV_TRY(hlo_emit(s, "pad", CLV_OP_PAD, &x, 1, &a, 1, &x, 1, e));
        memset(pads, 0, sizeof pads);
    }
    CLV_TRY(conv_turn(s, c, false, &w, e));
    uint32_t ins[2] = {x, w};
    clv_attr a[4] = {hlo_ints(CLV_A_STRIDE, c->stride, c->nd),
                     hlo_ints(CLV_A_PADDING, pads, 2 * c->nd),
                     hlo_ints(CLV_A_DILATION, c->dilation, c->nd),
                     hlo_int(CLV_A_GROUPS, c->groups)};
    return hlo_emit(s, "", ops[c->nd - 1], ins, 2, a, 4, y, 1, e);
}

clv_status hlo_map_convolution(hlo_scope *s, const hlo_row *row,
                               const mlir_op *op, uint32_t *outs, clv_err *e)
{
    conv_plan c = {0};
    uint32_t x, w, y;
    int64_t back[CLV_MAX_RANK];
    (void)row;
    CLV_TRY(hlo_in(s, 0, &x, e));
    CLV_TRY(hlo_in(s, 1, &w, e));
    uint32_t rank = hlo_value(s, x)->rank;
    const mlir_attr *axes =
        mlir_attr_of(op->attrs, "dimension_numbers", "dim_numbers");
    if (rank < 3 || rank > CONV_SPATIAL + 2 || hlo_type(op, 0)->quantised)
        return CLV_OK; /* stays unknown */
    c.nd = rank - 2;
    if (!axes || axes->kind != MLIR_LIST || axes->n != 3 ||
        hlo_value(s, w)->rank != rank ||
        !conv_axes(axes->items, "b", "f", rank, c.x) ||
        !conv_axes(axes->items->next, "o", "i", rank, c.w) ||
        !conv_axes(axes->items->next->next, "b", "f", rank, c.y))
        return hlo_fail(s, e, "the axes of a convolution are not all there");
    CLV_TRY(conv_window(s, op, &c, e));
    CLV_TRY(dot_types(s, op, &x, &w, e));
    CLV_TRY(hlo_permute(s, x, c.x, &x, e));
    CLV_TRY(hlo_permute(s, w, c.w, &w, e));
    CLV_TRY(conv_batches(s, &c, &x, e));
    bool transposed = conv_is_transposed(s, &c, w);
    if (!transposed)
        CLV_TRY(conv_spread(s, &c, &x, e));
    CLV_TRY(transposed ? conv_transposed(s, &c, x, w, &y, e)
                       : conv_ordinary(s, &c, x, w, &y, e));
    for (uint32_t i = 0; i < rank; i++)
        back[c.y[i]] = i;
    return hlo_permute(s, y, back, outs, e);
}

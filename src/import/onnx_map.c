/* onnx_map.c - what a change of names cannot map, for the ai.onnx domain. */
#include "import/onnx_map.h"

#include <string.h>

void draft_keep(draft *d, const uint32_t *which, uint32_t n)
{
    uint32_t kept[16];
    for (uint32_t i = 0; i < n; i++)
        kept[i] = which[i] < d->n_in ? d->ins[which[i]] : CLV_NONE;
    while (n && kept[n - 1] == CLV_NONE)
        n--;
    for (uint32_t i = 0; i < n; i++)
        d->ins[i] = kept[i]; /* never more than the operator had */
    d->n_in = n;
}

bool draft_ints(const draft *d, uint32_t i, const int64_t **v, uint32_t *n)
{
    const clv_value *x = draft_in(d, i);
    if (!x || !x->data || !x->data->ints)
        return false;
    *v = x->data->ints;
    *n = x->data->n;
    return true;
}

bool draft_float(const draft *d, uint32_t i, double *x)
{
    const clv_value *v = draft_in(d, i);
    if (!v || !v->data || v->data->n != 1)
        return false;
    if (v->data->floats)
        *x = v->data->floats[0];
    else if (v->data->ints)
        *x = (double)v->data->ints[0];
    else
        return false;
    return true;
}

/* Rank of input i, `otherwise` when it is not known. */
static uint32_t rank_of(const draft *d, uint32_t i, uint32_t otherwise)
{
    const clv_value *v = draft_in(d, i);
    return v && v->rank != CLV_NO_RANK ? v->rank : otherwise;
}

/* The n-dimensional sibling (1, 2 or 3) of a row's operator, which is the
 * two-dimensional one; siblings are neighbours in ops.def. */
static clv_op sibling(clv_op two, uint32_t n)
{
    return (clv_op)((int)two + (n <= 1 ? -1 : n == 2 ? 0 : 1));
}

/* -- windows --------------------------------------------------------------*/

clv_status map_window_attrs(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *a = draft_attr(d, CLV_A_AUTO_PAD);
    const char *mode = a && a->type == CLV_STRING_ATTR ? a->u.s : "NOTSET";
    draft_drop(d, CLV_A_AUTO_PAD);
    if (!strcmp(mode, "NOTSET"))
        return CLV_OK;
    draft_drop(d, CLV_A_PADDING);
    if (!strcmp(mode, "SAME_UPPER"))
        draft_set_str(d, CLV_A_AUTO_PAD, "same");
    else if (!strcmp(mode, "SAME_LOWER"))
        draft_set_str(d, CLV_A_AUTO_PAD, "same_lower");
    return CLV_OK;
}

static uint32_t spatial_axes(const draft *d, uint32_t weight)
{
    const clv_attr *k = draft_attr(d, CLV_A_KERNEL);
    if (k && k->type == CLV_INTS_ATTR)
        return k->n;
    uint32_t rank = rank_of(d, weight, rank_of(d, 0, 4));
    return rank > 2 ? rank - 2 : 1;
}

clv_status map_conv(draft *d, clv_err *e)
{
    d->op = sibling(CLV_OP_CONV2D, spatial_axes(d, 1));
    return map_window_attrs(d, e);
}

clv_status map_conv_transpose(draft *d, clv_err *e)
{
    d->op = sibling(CLV_OP_CONVT2D, spatial_axes(d, 1));
    const clv_attr *shape = draft_other(d, "output_shape");
    if (shape && shape->type == CLV_INTS_ATTR)
        CLV_TRY(
            draft_set_ints(d, CLV_A_OUTPUT_SIZE, shape->u.ints, shape->n, e));
    return map_window_attrs(d, e);
}

/* Strides are 1 where ONNX has none; ours would be the kernel. */
clv_status map_pool(draft *d, clv_err *e)
{
    uint32_t n = spatial_axes(d, 0);
    d->op = sibling(d->op, n);
    int64_t one = 1;
    if (!draft_attr(d, CLV_A_STRIDE))
        CLV_TRY(draft_set_ints(d, CLV_A_STRIDE, &one, 1, e));
    if (!draft_attr(d, CLV_A_COUNT_INCLUDE_PAD))
        draft_set_int(d, CLV_A_COUNT_INCLUDE_PAD, 0);
    return map_window_attrs(d, e);
}

clv_status map_global_pool(draft *d, clv_err *e)
{
    static const int64_t ones[3] = {1, 1, 1};
    uint32_t rank = rank_of(d, 0, 4), n = rank > 2 ? rank - 2 : 1;
    bool max = d->op == CLV_OP_ADAPTIVE_MAX_POOL2D;
    if (n > 3) {
        d->op = max ? CLV_OP_MAX : CLV_OP_MEAN;
        return map_global_norm(d, e);
    }
    d->op = sibling(d->op, n);
    return draft_set_ints(d, CLV_A_OUTPUT_SIZE, ones, n, e);
}

/* A reduction over every axis but the first two. */
clv_status map_global_norm(draft *d, clv_err *e)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t rank = rank_of(d, 0, 4), n = 0;
    for (uint32_t i = 2; i < rank; i++)
        axes[n++] = i;
    draft_set_int(d, CLV_A_KEEPDIM, 1);
    return draft_set_ints(d, CLV_A_AXES, axes, n, e);
}

clv_status map_unpool(draft *d, clv_err *e)
{
    const int64_t *shape;
    uint32_t n;
    if (draft_ints(d, 2, &shape, &n)) {
        CLV_TRY(draft_set_ints(d, CLV_A_OUTPUT_SIZE, shape, n, e));
        d->n_in = 2;
    }
    int64_t one = 1;
    if (!draft_attr(d, CLV_A_STRIDE))
        CLV_TRY(draft_set_ints(d, CLV_A_STRIDE, &one, 1, e));
    return CLV_OK;
}

clv_status map_col2im(draft *d, clv_err *e)
{
    const int64_t *v;
    uint32_t n;
    if (draft_ints(d, 1, &v, &n))
        CLV_TRY(draft_set_ints(d, CLV_A_OUTPUT_SIZE, v, n, e));
    if (draft_ints(d, 2, &v, &n))
        CLV_TRY(draft_set_ints(d, CLV_A_KERNEL, v, n, e));
    d->n_in = d->n_in ? 1 : 0;
    return CLV_OK;
}

static clv_status output_size(draft *d, int64_t h, int64_t w, clv_err *e)
{
    int64_t size[2] = {h, w};
    return draft_set_ints(d, CLV_A_OUTPUT_SIZE, size, 2, e);
}

clv_status map_roi_align(draft *d, clv_err *e)
{
    return output_size(d, draft_other_int(d, "output_height", 1),
                       draft_other_int(d, "output_width", 1), e);
}

clv_status map_roi_pool(draft *d, clv_err *e)
{
    const clv_attr *a = draft_other(d, "pooled_shape");
    if (a && a->type == CLV_INTS_ATTR && a->n == 2)
        return output_size(d, a->u.ints[0], a->u.ints[1], e);
    return CLV_OK;
}

/* -- products -------------------------------------------------------------*/

/* x times a stored (out, in) weight is a linear layer. */
clv_status map_gemm(draft *d, clv_err *e)
{
    (void)e;
    const clv_value *w = draft_in(d, 1), *bias = draft_in(d, 2);
    const clv_attr *alpha = draft_attr(d, CLV_A_ALPHA);
    const clv_attr *beta = draft_attr(d, CLV_A_BETA);
    draft_drop(d, CLV_A_AXIS);
    bool plain = draft_int(d, CLV_A_TRANS_A, 0) == 0 &&
                 draft_int(d, CLV_A_TRANS_B, 0) == 1 &&
                 !(alpha && alpha->u.f != 1.0) && !(beta && beta->u.f != 1.0);
    if (plain && w && value_is_weight(w) && w->rank == 2 &&
        (!bias || (bias->rank == 1 && bias->dims[0] == w->dims[0]))) {
        d->op = CLV_OP_LINEAR;
        d->n_attrs = 0;
    }
    return CLV_OK;
}

/* -- arithmetic -----------------------------------------------------------*/

/* Before opset 7 the second operand could be laid along the first's axes
 * from `axis` on: ones behind it make that plain broadcasting. */
clv_status map_arithmetic(draft *d, clv_err *e)
{
    int64_t axis = draft_int(d, CLV_A_AXIS, -1);
    draft_drop(d, CLV_A_AXIS);
    uint32_t ra = rank_of(d, 0, CLV_NO_RANK), rb = rank_of(d, 1, CLV_NO_RANK);
    if (d->opset >= 7 || axis < 0 || ra == CLV_NO_RANK || rb == CLV_NO_RANK ||
        axis + rb >= ra)
        return CLV_OK;
    int64_t axes[CLV_MAX_RANK];
    uint32_t n = 0;
    for (int64_t i = axis + rb; i < ra; i++, n++)
        axes[n] = rb + n;
    int64_t *own = arena_array(&d->g->mem, n, sizeof *own);
    if (!own)
        return clv__nomem(e);
    memcpy(own, axes, n * sizeof *own);
    clv_attr a = {.name = clv__attr_name(CLV_A_AXES),
                  .key = CLV_A_AXES,
                  .type = CLV_INTS_ATTR,
                  .n = n,
                  .u.ints = own};
    return draft_emit(d, CLV_OP_UNSQUEEZE, "axis", &d->ins[1], 1, &a, 1, NULL,
                      1, &d->ins[1], e);
}

clv_status map_sum(draft *d, clv_err *e)
{
    (void)e;
    if (d->n_in == 2)
        d->op = CLV_OP_ADD;
    return CLV_OK;
}

clv_status map_mod(draft *d, clv_err *e)
{
    (void)e;
    if (draft_other_int(d, "fmod", 0))
        d->op = CLV_OP_FMOD;
    return CLV_OK;
}

clv_status map_shift(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *a = draft_attr(d, CLV_A_DIRECTION);
    if (a && a->type == CLV_STRING_ATTR && !strcmp(a->u.s, "RIGHT"))
        d->op = CLV_OP_SHIFT_RIGHT;
    return CLV_OK;
}

/* A clip to 0..6 is what PyTorch calls relu6. */
clv_status map_clip(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *lo = draft_attr(d, CLV_A_MIN),
                   *hi = draft_attr(d, CLV_A_MAX);
    double min = 1, max = 0;
    bool known =
        (lo && hi) || (draft_float(d, 1, &min) && draft_float(d, 2, &max));
    if (lo && hi) {
        min = lo->u.f;
        max = hi->u.f;
    }
    if (known && min == 0 && max == 6) {
        d->op = CLV_OP_RELU6;
        d->n_in = 1;
        d->n_attrs = 0;
    }
    return CLV_OK;
}

clv_status map_trilu(draft *d, clv_err *e)
{
    (void)e;
    if (draft_int(d, CLV_A_UPPER, 1) == 0)
        d->op = CLV_OP_TRIL;
    draft_drop(d, CLV_A_UPPER);
    return CLV_OK;
}

/* -- norms, activations ---------------------------------------------------*/

/* Outputs beyond the first are those of training, or of old versions. */
clv_status map_batch_norm(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_other_int(d, "training_mode", 0))
        d->n_out = d->n_out ? 1 : 0;
    return CLV_OK;
}

clv_status map_layer_norm(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, -1);
    return CLV_OK;
}

clv_status map_softmax(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, d->opset < 13 ? 1 : -1);
    return CLV_OK;
}

clv_status map_dropout(draft *d, clv_err *e)
{
    (void)e;
    draft_drop(d, CLV_A_AXIS);
    return CLV_OK;
}

/* Steps first, or batches first: then the steps are moved to the front and
 * the results back, which costs nothing. */
static clv_status batch_first(draft *d, clv_err *e)
{
    static const int64_t swap[3] = {1, 0, 2}, back[4] = {2, 0, 1, 3};
    clv_attr perm = {.name = clv__attr_name(CLV_A_PERM),
                     .key = CLV_A_PERM,
                     .type = CLV_INTS_ATTR,
                     .n = 3,
                     .u.ints = swap};
    uint32_t outs[3], n_out = d->n_out < 3 ? d->n_out : 3;
    CLV_TRY(draft_emit(d, CLV_OP_PERMUTE, "steps", &d->ins[0], 1, &perm, 1,
                       NULL, 1, &d->ins[0], e));
    for (uint32_t i = 0; i < n_out; i++) {
        outs[i] = clv__value_add(d->g, NULL, CLV_ACTIVATION, CLV_NODTYPE);
        if (outs[i] == CLV_NONE)
            return clv__nomem(e);
    }
    CLV_TRY(draft_emit(d, d->op, "", d->ins, d->n_in, d->attrs, d->n_attrs,
                       outs, n_out, NULL, e));
    for (uint32_t i = 0; i < n_out; i++) {
        perm.n = i ? 3 : 4;
        perm.u.ints = i ? swap : back;
        CLV_TRY(draft_emit(d, CLV_OP_PERMUTE, "batch", &outs[i], 1, &perm, 1,
                           &d->outs[i], 1, NULL, e));
    }
    d->done = true;
    return CLV_OK;
}

clv_status map_rnn(draft *d, clv_err *e)
{
    const clv_value *r = draft_in(d, 2);
    bool batch = draft_int(d, CLV_A_LAYOUT, 0) == 1;
    draft_set_str(d, CLV_A_LAYOUT, "onnx");
    if (!draft_attr(d, CLV_A_HIDDEN) && r && r->rank == 3)
        draft_set_int(d, CLV_A_HIDDEN, r->dims[2]);
    draft_set_int(d, CLV_A_BIAS, draft_in(d, 3) != NULL);
    return batch && d->n_in ? batch_first(d, e) : CLV_OK;
}

clv_status map_rotary(draft *d, clv_err *e)
{
    (void)e, (void)d;
    return CLV_OK;
}

/* -- reductions -----------------------------------------------------------*/

/* Without axes: all, unless noop_with_empty_axes. */
clv_status map_reduce(draft *d, clv_err *e)
{
    (void)e;
    const int64_t *axes;
    uint32_t n = 0;
    bool empty = !draft_attr(d, CLV_A_AXES) &&
                 (!draft_in(d, 1) || (draft_ints(d, 1, &axes, &n) && n == 0));
    if (empty && draft_other_int(d, "noop_with_empty_axes", 0)) {
        d->op = CLV_OP_IDENTITY;
        d->n_in = 1;
        d->n_attrs = 0;
        return CLV_OK;
    }
    if (d->op == CLV_OP_NORM)
        draft_set_int(d, CLV_A_P, text_is(d->p->op, "ReduceL1") ? 1 : 2);
    if (!draft_attr(d, CLV_A_KEEPDIM))
        draft_set_int(d, CLV_A_KEEPDIM, 1);
    const clv_value *x = draft_in(d, 0);
    if (x && x->dtype != CLV_NODTYPE)
        draft_set_int(d, CLV_A_DTYPE, x->dtype);
    return CLV_OK;
}

clv_status map_argmax(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_KEEPDIM))
        draft_set_int(d, CLV_A_KEEPDIM, 1);
    return map_axis0(d, e);
}

clv_status map_axis0(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, 0);
    return CLV_OK;
}

clv_status map_cumsum(draft *d, clv_err *e)
{
    (void)e;
    const clv_value *x = draft_in(d, 0);
    if (x && x->dtype != CLV_NODTYPE)
        draft_set_int(d, CLV_A_DTYPE, x->dtype);
    return CLV_OK;
}

/* -- layout ---------------------------------------------------------------*/

clv_status map_concat(draft *d, clv_err *e)
{
    (void)e;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, 1); /* the default before opset 4 */
    return CLV_OK;
}

/* To a matrix: the axes before `axis`, and those from it on. */
clv_status map_flatten(draft *d, clv_err *e)
{
    int64_t axis = draft_int(d, CLV_A_AXIS, 1);
    const clv_value *x = draft_in(d, 0);
    d->n_attrs = 0;
    bool known = x && x->rank != CLV_NO_RANK;
    if (!known || (axis == 1 && x->rank > 1)) {
        draft_set_int(d, CLV_A_START, axis);
        return CLV_OK;
    }
    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank)
        return clv__fail(e, CLV_SHAPE, "axis %lld of a rank-%u tensor",
                         (long long)axis, x->rank);
    int64_t shape[2] = {dims_product(x->dims, 0, (uint32_t)axis),
                        dims_product(x->dims, (uint32_t)axis, x->rank)};
    d->op = CLV_OP_RESHAPE;
    draft_set_int(d, CLV_A_ALLOWZERO, 1);
    return draft_set_ints(d, CLV_A_SHAPE, shape, 2, e);
}

/* Sizes come as attribute or input; without them the parts are equal. */
clv_status map_split(draft *d, clv_err *e)
{
    const clv_attr *sizes = draft_other(d, "split");
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, 0);
    if (sizes && sizes->type == CLV_INTS_ATTR)
        return draft_set_ints(d, CLV_A_SECTIONS, sizes->u.ints, sizes->n, e);
    if (draft_in(d, 1))
        return CLV_OK;
    d->op = CLV_OP_CHUNK;
    d->n_in = 1;
    draft_set_int(d, CLV_A_SECTIONS, d->n_out);
    return CLV_OK;
}

/* Resize has roi, scales, sizes; version 10 and Upsample only scales. Ours
 * takes sizes, then scales. */
clv_status map_resize(draft *d, clv_err *e)
{
    static const uint32_t old[3] = {0, CLV_NONE, 1}, now[3] = {0, 3, 2};
    bool short_form = d->opset < 11 || text_is(d->p->op, "Upsample");
    const clv_value *scales = draft_in(d, 2);
    if (!short_form && scales && scales->rank == 1 && scales->dims[0] == 0)
        d->ins[2] = CLV_NONE; /* an empty list stands for none */
    draft_keep(d, short_form ? old : now, 3);
    const clv_attr *a = draft_attr(d, CLV_A_SCALES);
    if (a && a->type == CLV_FLOATS_ATTR)
        return CLV_OK;
    const clv_value *known = draft_in(d, 2);
    if (known && known->data && known->data->floats) {
        clv_attr *s = &d->attrs[d->n_attrs++];
        *s = (clv_attr){.name = clv__attr_name(CLV_A_SCALES),
                        .key = CLV_A_SCALES,
                        .type = CLV_FLOATS_ATTR,
                        .n = known->data->n,
                        .u.floats = known->data->floats};
        d->n_in = 2;
        while (d->n_in && d->ins[d->n_in - 1] == CLV_NONE)
            d->n_in--;
    }
    (void)e;
    return CLV_OK;
}

/* -- types and made tensors -----------------------------------------------*/

/* The type as ours; a name before opset 6, else a number of ONNX. */
clv_status map_dtype(draft *d, clv_err *e)
{
    const clv_attr *a = draft_attr(d, CLV_A_DTYPE);
    if (!a)
        return CLV_OK;
    clv_dtype t = CLV_NODTYPE;
    if (a->type == CLV_INT_ATTR && a->u.i > 0)
        t = onnx_dtype((uint64_t)a->u.i);
    static const struct {
        const char *name;
        clv_dtype t;
    } old[] = {{"FLOAT", CLV_FLOAT32},   {"DOUBLE", CLV_FLOAT64},
               {"FLOAT16", CLV_FLOAT16}, {"INT64", CLV_INT64},
               {"INT32", CLV_INT32},     {"INT16", CLV_INT16},
               {"INT8", CLV_INT8},       {"UINT8", CLV_UINT8},
               {"UINT16", CLV_UINT16},   {"UINT32", CLV_UINT32},
               {"UINT64", CLV_UINT64},   {"BOOL", CLV_BOOL},
               {"STRING", CLV_STRING}};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (a->type == CLV_STRING_ATTR && !strcmp(a->u.s, old[i].name))
            t = old[i].t;
    if (t == CLV_NODTYPE)
        return clv__fail(e, CLV_FORMAT, "a type that ONNX does not have");
    draft_set_int(d, CLV_A_DTYPE, onnx_counted(d->r, t));
    return CLV_OK;
}

/* The type of the zero point, or attribute output_dtype, or uint8. */
clv_status map_quantize(draft *d, clv_err *e)
{
    (void)e;
    int64_t t = draft_other_int(d, "output_dtype", 0);
    const clv_value *zero = draft_in(d, 2);
    if (zero)
        draft_set_int(d, CLV_A_DTYPE, zero->dtype);
    else if (t > 0)
        draft_set_int(d, CLV_A_DTYPE, onnx_dtype((uint64_t)t));
    else
        draft_set_int(d, CLV_A_DTYPE, CLV_UINT8);
    return CLV_OK;
}

/* float32 unless the attribute says otherwise. */
clv_status map_random(draft *d, clv_err *e)
{
    if (!draft_attr(d, CLV_A_DTYPE))
        draft_set_int(d, CLV_A_DTYPE, 1);
    return map_dtype(d, e);
}

clv_status map_multinomial(draft *d, clv_err *e)
{
    draft_set_int(d, CLV_A_K, draft_other_int(d, "sample_size", 1));
    if (!draft_attr(d, CLV_A_DTYPE))
        draft_set_int(d, CLV_A_DTYPE, 6);
    return map_dtype(d, e);
}

clv_status map_eye_like(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    if (!x || x->rank != 2)
        return CLV_OK;
    if (draft_attr(d, CLV_A_DTYPE))
        CLV_TRY(map_dtype(d, e));
    else
        draft_set_int(d, CLV_A_DTYPE, x->dtype);
    d->n_in = 0;
    return draft_set_ints(d, CLV_A_SHAPE, x->dims, 2, e);
}

/* The value's type and its one element. */
clv_status map_constant_of_shape(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *a = draft_attr(d, CLV_A_VALUE);
    if (!a || a->type != CLV_TENSOR_ATTR) {
        draft_set_int(d, CLV_A_DTYPE, onnx_counted(d->r, CLV_FLOAT32));
        draft_set_float(d, CLV_A_VALUE, 0);
        return CLV_OK;
    }
    const clv_value *v = &d->g->values[a->u.value];
    clv_dtype t = (clv_dtype)v->dtype;
    if (v->data && v->data->n == 1 && v->data->ints)
        draft_set_int(d, CLV_A_VALUE, v->data->ints[0]);
    else if (v->data && v->data->n == 1 && v->data->floats)
        draft_set_float(d, CLV_A_VALUE, v->data->floats[0]);
    else
        draft_drop(d, CLV_A_VALUE);
    draft_set_int(d, CLV_A_DTYPE, t);
    return CLV_OK;
}

/* Windows of signal processing and mel weights: output_datatype. */
clv_status map_window(draft *d, clv_err *e)
{
    draft_set_int(d, CLV_A_DTYPE, draft_other_int(d, "output_datatype", 1));
    return map_dtype(d, e);
}

/* -- signals --------------------------------------------------------------*/

clv_status map_dft(draft *d, clv_err *e)
{
    (void)e;
    bool frames = text_is(d->p->op, "STFT");
    draft_set_int(d, CLV_A_START, draft_other_int(d, "onesided", frames));
    return CLV_OK;
}

/* -- bodies ---------------------------------------------------------------*/

/* `k` is how many inputs the loop itself has; captured ones follow. */
clv_status map_loop(draft *d, clv_err *e)
{
    (void)e;
    uint32_t formal = d->p->n_in < 2 ? 2 : d->p->n_in;
    draft_set_int(d, CLV_A_K, formal);
    if (d->r->opts->loop > 0)
        draft_set_int(d, CLV_A_TRIPS, d->r->opts->loop);
    return CLV_OK;
}

static clv_status rename_list(draft *d, const char *from, clv_attr_key to,
                              clv_err *e)
{
    const clv_attr *a = draft_other(d, from);
    if (!a || a->type != CLV_INTS_ATTR)
        return CLV_OK;
    return draft_set_ints(d, to, a->u.ints, a->n, e);
}

clv_status map_scan(draft *d, clv_err *e)
{
    int64_t scans = draft_other_int(d, "num_scan_inputs", 1);
    uint32_t formal = d->p->n_in - (d->opset < 9 && d->p->n_in ? 1 : 0);
    if (scans < 0 || scans > formal)
        return clv__fail(e, CLV_FORMAT, "%lld scanned inputs of %u",
                         (long long)scans, formal);
    if (d->opset < 9)
        draft_set_int(d, CLV_A_BATCH_DIMS, 1);
    draft_set_int(d, CLV_A_K, scans);
    draft_set_int(d, CLV_A_HIDDEN, formal - scans);
    CLV_TRY(rename_list(d, "scan_input_axes", CLV_A_AXES, e));
    return rename_list(d, "scan_output_axes", CLV_A_PERM, e);
}

/* Indices go across, one row per axis. */
clv_status map_nonzero(draft *d, clv_err *e)
{
    (void)e;
    draft_set_int(d, CLV_A_AXIS, 1);
    return CLV_OK;
}

/* The result has the type of the base. */
clv_status map_pow(draft *d, clv_err *e)
{
    CLV_TRY(map_arithmetic(d, e));
    const clv_value *a = draft_in(d, 0), *b = draft_in(d, 1);
    if (!a || !b || a->dtype == b->dtype || a->dtype == CLV_NODTYPE)
        return CLV_OK;
    clv_attr to = {.name = clv__attr_name(CLV_A_DTYPE),
                   .key = CLV_A_DTYPE,
                   .type = CLV_INT_ATTR,
                   .u.i = a->dtype};
    return draft_emit(d, CLV_OP_CAST, "exponent", &d->ins[1], 1, &to, 1, NULL,
                      1, &d->ins[1], e);
}

/* A depth given as a floating number. */
clv_status map_one_hot(draft *d, clv_err *e)
{
    (void)e;
    double depth;
    if (draft_float(d, 1, &depth) && depth >= 0 && depth < 1e15)
        draft_set_int(d, CLV_A_DEPTH, (int64_t)depth);
    return CLV_OK;
}

/* How many weights are updated, and the vectors that come back of each. */
clv_status map_optimizer(draft *d, clv_err *e)
{
    (void)e;
    bool adam = text_is(d->p->op, "Adam");
    draft_set_int(d, CLV_A_K, adam ? 3 : 2);
    draft_set_int(d, CLV_A_LAYERS, adam ? 4 : 3);
    return CLV_OK;
}

/* As long as the largest position that an n-gram is counted at. */
clv_status map_tfidf(draft *d, clv_err *e)
{
    const clv_attr *a = draft_other(d, "ngram_indexes");
    int64_t most = -1;
    if (!a || a->type != CLV_INTS_ATTR)
        return clv__fail(e, CLV_FORMAT, "no ngram_indexes");
    for (uint32_t i = 0; i < a->n; i++)
        most = a->u.ints[i] > most ? a->u.ints[i] : most;
    if (most < 0 || most == INT64_MAX)
        return clv__fail(e, CLV_FORMAT, "ngram_indexes up to %lld",
                         (long long)most);
    draft_set_int(d, CLV_A_SIZE, most + 1);
    return CLV_OK;
}

/* Integers stay integers. */
clv_status map_div(draft *d, clv_err *e)
{
    CLV_TRY(map_arithmetic(d, e));
    const clv_value *a = draft_in(d, 0);
    if (a && a->dtype != CLV_NODTYPE && dtype_is_integral((clv_dtype)a->dtype))
        draft_set_str(d, CLV_A_MODE, "trunc");
    return CLV_OK;
}

/* map.c - what a change of names cannot map, for the ai.onnx domain. */
#include "formats/onnx/map.h"
#include "graph/schema.h"

#include <assert.h>
#include <string.h>

void draft_keep(draft *d, const uint32_t *which, uint32_t n)
{
    uint32_t kept[DRAFT_KEPT];
    assert(n <= DRAFT_KEPT);
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

/* The same for what cannot be mapped without: `otherwise` is for the count
 * alone, and the node is not run. */
static uint32_t needed_rank(draft *d, uint32_t i, uint32_t otherwise)
{
    uint32_t rank = rank_of(d, i, CLV_NO_RANK);
    if (rank != CLV_NO_RANK)
        return rank;
    d->counted_only = "the number of its input's axes is not known";
    return otherwise;
}

/* The n-dimensional sibling (1, 2 or 3) of a row's operator, which is the
 * two-dimensional one; siblings are neighbours in ops.def. */
static clv_op sibling(clv_op two, uint32_t n)
{
    return (clv_op)((int)two + (n <= 1 ? -1 : n == 2 ? 0 : 1));
}

/* -- windows --------------------------------------------------------------*/

/* The list `key` must have `n` entries, if the node has it. */
static clv_status window_has(const draft *d, clv_attr_key key, uint32_t n,
                             clv_err *e)
{
    const clv_attr *a = draft_attr(d, key);
    if (!a || a->type != CLV_ATTR_INTS || a->n == n)
        return CLV_OK;
    return clv__fail(e, CLV_SHAPE, "%s has %u entries, must have %u", a->name,
                     a->n, n);
}

/* ONNX has one entry for each axis behind batch and channels, and two of
 * padding. The axes are those of the weight, and of x, and the kernel's. */
static clv_status check_window(const draft *d, clv_err *e)
{
    const clv_attr *k = draft_attr(d, CLV_A_KERNEL);
    bool pool = clv__attr_spec(d->op, CLV_A_KERNEL) != NULL;
    const clv_value *w =
        pool ? NULL : draft_in(d, d->op == CLV_OP_QLINEAR_CONV ? 3 : 1);
    bool shaped = w && w->rank != CLV_NO_RANK;
    uint32_t rank = shaped ? w->rank : rank_of(d, 0, 0);
    if (shaped && rank_of(d, 0, rank) != rank)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, weight of rank %u",
                         rank_of(d, 0, rank), rank);
    if (rank && rank < 3)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", rank);
    uint32_t n = rank ? rank - 2 : k && k->type == CLV_ATTR_INTS ? k->n : 0;
    if (!n)
        return CLV_OK;
    CLV_TRY(window_has(d, CLV_A_KERNEL, n, e));
    CLV_TRY(window_has(d, CLV_A_STRIDE, n, e));
    CLV_TRY(window_has(d, CLV_A_DILATION, n, e));
    CLV_TRY(window_has(d, CLV_A_OUTPUT_PADDING, n, e));
    CLV_TRY(window_has(d, CLV_A_PADDING, 2 * n, e));
    for (uint32_t i = 0; shaped && k && k->type == CLV_ATTR_INTS && i < n; i++)
        if (k->u.ints[i] != w->dims[2 + i])
            return clv__fail(
                e, CLV_SHAPE, "entry %u of %s is %lld, the weight has %lld", i,
                k->name, (long long)k->u.ints[i], (long long)w->dims[2 + i]);
    return CLV_OK;
}

clv_status map_window_attrs(draft *d, clv_err *e)
{
    CLV_TRY(check_window(d, e));
    const clv_attr *a = draft_attr(d, CLV_A_AUTO_PAD);
    const char *mode = a && a->type == CLV_ATTR_STRING ? a->u.s : "NOTSET";
    draft_drop(d, CLV_A_AUTO_PAD);
    if (!strcmp(mode, "NOTSET"))
        return CLV_OK;
    draft_drop(d, CLV_A_PADDING);
    if (!strcmp(mode, "SAME_UPPER"))
        draft_set_str(d, CLV_A_AUTO_PAD, "same");
    else if (!strcmp(mode, "SAME_LOWER"))
        draft_set_str(d, CLV_A_AUTO_PAD, "same_lower");
    else if (strcmp(mode, "VALID"))
        return clv__fail(e, CLV_FORMAT, "auto_pad is '%.40s'", mode);
    return CLV_OK;
}

static uint32_t spatial_axes(draft *d, uint32_t weight)
{
    const clv_attr *k = draft_attr(d, CLV_A_KERNEL);
    if (k && k->type == CLV_ATTR_INTS)
        return k->n;
    uint32_t rank = rank_of(d, weight, CLV_NO_RANK);
    if (rank == CLV_NO_RANK)
        rank = needed_rank(d, 0, 4);
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
    if (shape && shape->type == CLV_ATTR_INTS)
        CLV_TRY(
            draft_set_ints(d, CLV_A_OUTPUT_SIZE, shape->u.ints, shape->n, e));
    return map_window_attrs(d, e);
}

/* Strides are 1 where ONNX has none; ours would be the kernel. Places of the
 * largest elements are counted in the whole tensor. */
clv_status map_pool(draft *d, clv_err *e)
{
    uint32_t n = spatial_axes(d, 0);
    CLV_TRY(map_window_attrs(d, e));
    if (d->op == CLV_OP_MAX_POOL2D)
        draft_set_str(d, CLV_A_INDICES,
                      draft_other_int(d, "storage_order", 0)
                          ? "tensor_by_columns"
                          : "tensor");
    d->op = sibling(d->op, n);
    int64_t one = 1;
    if (!draft_attr(d, CLV_A_STRIDE))
        CLV_TRY(draft_set_ints(d, CLV_A_STRIDE, &one, 1, e));
    if (clv__attr_spec(d->op, CLV_A_COUNT_INCLUDE_PAD) &&
        !draft_attr(d, CLV_A_COUNT_INCLUDE_PAD))
        draft_set_int(d, CLV_A_COUNT_INCLUDE_PAD, 0);
    return CLV_OK;
}

clv_status map_global_pool(draft *d, clv_err *e)
{
    static const int64_t ones[3] = {1, 1, 1};
    uint32_t rank = needed_rank(d, 0, 4), n = rank > 2 ? rank - 2 : 1;
    bool max = d->op == CLV_OP_ADAPTIVE_MAX_POOL2D;
    if (n > 3) {
        d->op = max ? CLV_OP_MAX : CLV_OP_MEAN;
        return map_global_norm(d, e);
    }
    d->op = sibling(d->op, n);
    return draft_set_ints(d, CLV_A_OUTPUT_SIZE, ones, n, e);
}

/* The nearest pixel is found before the grid is reflected into the image;
 * PyTorch reflects first, which differs halfway between two. */
clv_status map_grid_sample(draft *d, clv_err *e)
{
    (void)e;
    draft_set_str(d, CLV_A_ROUNDING, "first");
    return CLV_OK;
}

/* A reduction over every axis but the first two. */
clv_status map_global_norm(draft *d, clv_err *e)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t rank = needed_rank(d, 0, 4), n = 0;
    for (uint32_t i = 2; i < rank; i++)
        axes[n++] = i;
    draft_set_int(d, CLV_A_KEEPDIM, 1);
    return draft_set_ints(d, CLV_A_AXES, axes, n, e);
}

clv_status map_unpool(draft *d, clv_err *e)
{
    const int64_t *shape;
    uint32_t n;
    CLV_TRY(check_window(d, e));
    if (draft_ints(d, 2, &shape, &n)) {
        CLV_TRY(draft_set_ints(d, CLV_A_OUTPUT_SIZE, shape, n, e));
        d->n_in = 2;
    }
    draft_set_str(d, CLV_A_INDICES, "tensor");
    int64_t one = 1;
    if (!draft_attr(d, CLV_A_STRIDE))
        CLV_TRY(draft_set_ints(d, CLV_A_STRIDE, &one, 1, e));
    return CLV_OK;
}

clv_status map_col2im(draft *d, clv_err *e)
{
    const int64_t *v;
    uint32_t n;
    if (draft_ints(d, 1, &v, &n)) {
        CLV_TRY(draft_set_ints(d, CLV_A_OUTPUT_SIZE, v, n, e));
        d->ins[1] = CLV_NONE;
    }
    if (draft_ints(d, 2, &v, &n)) {
        CLV_TRY(draft_set_ints(d, CLV_A_KERNEL, v, n, e));
        d->ins[2] = CLV_NONE;
    }
    while (d->n_in && d->ins[d->n_in - 1] == CLV_NONE)
        d->n_in--;
    return CLV_OK;
}

static clv_status output_size(draft *d, int64_t h, int64_t w, clv_err *e)
{
    int64_t size[2] = {h, w};
    return draft_set_ints(d, CLV_A_OUTPUT_SIZE, size, 2, e);
}

/* Before opset 16 pixels were taken by their corners. */
clv_status map_roi_align(draft *d, clv_err *e)
{
    const clv_attr *mode = draft_other(d, "coordinate_transformation_mode");
    bool half = mode && mode->type == CLV_ATTR_STRING
                    ? !strcmp(mode->u.s, "half_pixel")
                    : d->opset >= 16;
    draft_set_int(d, CLV_A_ALIGNED, half);
    return output_size(d, draft_other_int(d, "output_height", 1),
                       draft_other_int(d, "output_width", 1), e);
}

clv_status map_roi_pool(draft *d, clv_err *e)
{
    const clv_attr *a = draft_other(d, "pooled_shape");
    if (a && a->type == CLV_ATTR_INTS && a->n == 2)
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
        static const clv_attr_key gone[] = {CLV_A_ALPHA, CLV_A_BETA,
                                            CLV_A_TRANS_A, CLV_A_TRANS_B};
        d->op = CLV_OP_LINEAR;
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
            draft_drop(d, gone[i]); /* an activation that is fused stays */
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
    if (d->opset >= 7 || axis < 0)
        return CLV_OK;
    uint32_t ra = needed_rank(d, 0, 0), rb = needed_rank(d, 1, 0);
    if (axis >= (int64_t)ra - rb)
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
                  .type = CLV_ATTR_INTS,
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
    if (a && a->type == CLV_ATTR_STRING && !strcmp(a->u.s, "RIGHT"))
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
    if (draft_other_int(d, "upper", 1) == 0)
        d->op = CLV_OP_TRIL;
    return CLV_OK;
}

/* -- norms, activations ---------------------------------------------------*/

/* The result has the type of the scale, where that differs from x. */
clv_status map_layer_norm(draft *d, clv_err *e)
{
    (void)e;
    const clv_value *x = draft_in(d, 0), *scale = draft_in(d, 1);
    if (x && scale && x->dtype != CLV_NODTYPE && scale->dtype != CLV_NODTYPE &&
        x->dtype != scale->dtype)
        draft_set_int(d, CLV_A_DTYPE, scale->dtype);
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, -1);
    return CLV_OK;
}

/* Before opset 7 there was a slope per channel, not a shape that broadcasts. */
clv_status map_prelu(draft *d, clv_err *e)
{
    (void)e;
    if (d->opset < 7 && rank_of(d, 1, 1) == 1)
        draft_set_int(d, CLV_A_AXIS, 1);
    return CLV_OK;
}

/* Before opset 13 all axes from `axis` on are one. Without a known shape x is
 * made a matrix, and gets its own shape again. */
static clv_status matrix_softmax(draft *d, clv_err *e)
{
    uint32_t back[2], y;
    int64_t axis = draft_int(d, CLV_A_AXIS, 1);
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_AXIS, axis);
    CLV_TRY(draft_emit(d, CLV_OP_FLATTEN, "flat", d->ins, 1, d->attrs, 1, NULL,
                       1, &y, e));
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_AXIS, -1);
    CLV_TRY(draft_emit(d, d->op, "", &y, 1, d->attrs, 1, NULL, 1, &back[0], e));
    d->n_attrs = 0;
    CLV_TRY(draft_emit(d, CLV_OP_SHAPE, "shape", d->ins, 1, NULL, 0, NULL, 1,
                       &back[1], e));
    draft_set_int(d, CLV_A_ALLOWZERO, 1);
    d->done = true;
    return draft_emit(d, CLV_OP_RESHAPE, "back", back, 2, d->attrs, 1, d->outs,
                      1, NULL, e);
}

static clv_status flat_softmax(draft *d, const clv_value *x, uint32_t axis,
                               clv_err *e)
{
    int64_t flat[2] = {dims_product(x->dims, 0, axis),
                       dims_product(x->dims, axis, x->rank)};
    uint32_t y, rank = x->rank;
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, rank * sizeof *dims);
    d->n_attrs = 0;
    CLV_TRY(draft_set_ints(d, CLV_A_SHAPE, flat, 2, e));
    CLV_TRY(draft_emit(d, CLV_OP_RESHAPE, "flat", d->ins, 1, d->attrs, 1, NULL,
                       1, &y, e));
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_AXIS, -1);
    CLV_TRY(draft_emit(d, d->op, "", &y, 1, d->attrs, 1, NULL, 1, &y, e));
    d->n_attrs = 0;
    CLV_TRY(draft_set_ints(d, CLV_A_SHAPE, dims, rank, e));
    d->done = true;
    return draft_emit(d, CLV_OP_RESHAPE, "back", &y, 1, d->attrs, 1, d->outs, 1,
                      NULL, e);
}

clv_status map_softmax(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    uint32_t axis;
    if (!draft_attr(d, CLV_A_AXIS))
        draft_set_int(d, CLV_A_AXIS, d->opset < 13 ? 1 : -1);
    if (d->opset >= 13 || !x || d->n_out == 0)
        return CLV_OK;
    if (x->rank == CLV_NO_RANK || x->flags & CLV_V_BOUND)
        return matrix_softmax(d, e);
    if (norm_axis(draft_int(d, CLV_A_AXIS, 1), x->rank, &axis, NULL) != CLV_OK)
        return CLV_OK;
    bool one = dims_product(x->dims, axis + 1, x->rank) == 1;
    return one || clv__numel(x) == 0 ? CLV_OK : flat_softmax(d, x, axis, e);
}

/* Parameters by our names, with the defaults of ONNX where ours differ. */
clv_status map_activation(draft *d, clv_err *e)
{
    static const struct {
        const char *op, *name;
        clv_attr_key key;
        double otherwise;
    } rows[] = {{"HardSigmoid", "alpha", CLV_A_ALPHA, 0.2},
                {"Selu", "gamma", CLV_A_GAMMA, 1.05070102214813232421875},
                {"Shrink", "lambd", CLV_A_LAMBD, 0.5},
                {"Shrink", "bias", CLV_A_SHIFT, 0},
                {"LRN", "bias", CLV_A_K, 1},
                {"ThresholdedRelu", "alpha", CLV_A_THRESHOLD, 1}};
    (void)e;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!text_is(d->p->op, rows[i].op) || draft_attr(d, rows[i].key))
            continue;
        const clv_attr *a = draft_named(d, rows[i].name);
        bool given = a && a->type == CLV_ATTR_FLOAT;
        draft_set_float(d, rows[i].key, given ? a->u.f : rows[i].otherwise);
    }
    return CLV_OK;
}

/* Input 2 says whether this is training. The mask was of x's type once. */
clv_status map_dropout(draft *d, clv_err *e)
{
    const int64_t *train;
    uint32_t n;
    (void)e;
    draft_drop(d, CLV_A_AXIS);
    if (d->opset < 10 && d->n_out > 1 && draft_in(d, 0))
        draft_set_int(d, CLV_A_DTYPE, draft_in(d, 0)->dtype);
    if (draft_ints(d, 2, &train, &n) && n == 1 && !*train)
        d->n_in = 2;
    return CLV_OK;
}

/* Steps first, or batches first: then the steps are moved to the front and
 * the results back, which costs nothing. */
static clv_status batch_first(draft *d, clv_err *e)
{
    static const int64_t swap[3] = {1, 0, 2}, back[4] = {2, 0, 1, 3};
    clv_attr perm = {.name = clv__attr_name(CLV_A_PERM),
                     .key = CLV_A_PERM,
                     .type = CLV_ATTR_INTS,
                     .n = 3,
                     .u.ints = swap};
    uint32_t outs[3], n_out = d->n_out < 3 ? d->n_out : 3;
    CLV_TRY(draft_emit(d, CLV_OP_PERMUTE, "steps", &d->ins[0], 1, &perm, 1,
                       NULL, 1, &d->ins[0], e));
    for (uint32_t i = 0; i < n_out; i++) {
        outs[i] = clv__value_add(d->g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
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

/* The activations that a recurrent layer has when it names none, in turn for
 * every direction. */
static bool usual_activations(const draft *d, const clv_attr *a)
{
    static const char *const gates[3] = {"Sigmoid", "Tanh", "Tanh"};
    uint32_t each = d->op == CLV_OP_LSTM ? 3 : d->op == CLV_OP_GRU ? 2 : 1;
    const char *const *want = gates + (each == 1); /* a plain one has tanh */
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->u.strings[i], want[i % each]))
            return false;
    return a->n % each == 0;
}

clv_status map_rnn(draft *d, clv_err *e)
{
    const clv_value *r = draft_in(d, 2);
    const clv_attr *activations = draft_attr(d, CLV_A_ACTIVATIONS);
    if (activations && activations->type == CLV_ATTR_STRINGS &&
        usual_activations(d, activations))
        draft_drop(d, CLV_A_ACTIVATIONS);
    bool batch = draft_int(d, CLV_A_LAYOUT, 0) == 1;
    draft_set_str(d, CLV_A_LAYOUT, "onnx");
    if (!draft_attr(d, CLV_A_HIDDEN) && r && r->rank == 3)
        draft_set_int(d, CLV_A_HIDDEN, r->dims[2]);
    draft_set_int(d, CLV_A_BIAS, draft_in(d, 3) != NULL);
    return batch && d->n_in ? batch_first(d, e) : CLV_OK;
}

/* ONNX divides by whatever the norm is. */
clv_status map_lp_norm(draft *d, clv_err *e)
{
    (void)e;
    draft_set_float(d, CLV_A_EPSILON, 0);
    return CLV_OK;
}

/* -- reductions -----------------------------------------------------------*/

/* What a reduction over nothing makes of each element. */
static clv_op of_one(clv_op reduction)
{
    switch (reduction) {
    case CLV_OP_NORM:
        return CLV_OP_ABS;
    case CLV_OP_SUM_SQUARE:
        return CLV_OP_SQUARE;
    case CLV_OP_LOG_SUM:
        return CLV_OP_LOG;
    default:
        return CLV_OP_IDENTITY;
    }
}

/* Without axes: all, unless noop_with_empty_axes. */
clv_status map_reduce(draft *d, clv_err *e)
{
    (void)e;
    const int64_t *axes;
    uint32_t n = 0;
    bool empty = !draft_attr(d, CLV_A_AXES) &&
                 (!draft_in(d, 1) || (draft_ints(d, 1, &axes, &n) && n == 0));
    const clv_value *given = draft_in(d, 1);
    if (given && given->rank == 1 && given->dims[0] == 0)
        empty = true;
    if (empty && draft_other_int(d, "noop_with_empty_axes", 0)) {
        d->op = of_one(d->op);
        d->n_in = 1;
        d->n_attrs = 0;
        return CLV_OK;
    }
    if (d->op == CLV_OP_NORM)
        draft_set_int(d, CLV_A_P, text_is(d->p->op, "ReduceL1") ? 1 : 2);
    if (!draft_attr(d, CLV_A_KEEPDIM))
        draft_set_int(d, CLV_A_KEEPDIM, 1);
    return map_own_type(d, e);
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

/* ONNX keeps the type where others widen integers, also one that is not known
 * yet. */
clv_status map_own_type(draft *d, clv_err *e)
{
    (void)e;
    const clv_value *x = draft_in(d, 0);
    if (x && x->dtype == CLV_NODTYPE)
        draft_set_str(d, CLV_A_DTYPE, "own");
    else if (x && dtype_is_integral((clv_dtype)x->dtype))
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
    if (x && x->rank != CLV_NO_RANK && x->rank > 1 && axis == 1) {
        draft_set_int(d, CLV_A_START, axis);
        return CLV_OK;
    }
    if (!x || x->rank == CLV_NO_RANK || x->flags & CLV_V_BOUND) {
        draft_set_int(d, CLV_A_AXIS, axis);
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
    if (sizes && sizes->type == CLV_ATTR_INTS)
        return draft_set_ints(d, CLV_A_SECTIONS, sizes->u.ints, sizes->n, e);
    if (draft_in(d, 1))
        return CLV_OK;
    d->op = CLV_OP_CHUNK;
    d->n_in = 1;
    draft_set_int(d, CLV_A_SECTIONS, d->n_out);
    return CLV_OK;
}

void draft_sampling(draft *d, bool short_form)
{
    const clv_attr *place = draft_other(d, "coordinate_transformation_mode");
    const clv_attr *round = draft_other(d, "nearest_mode");
    const char *where = place && place->type == CLV_ATTR_STRING ? place->u.s
                        : short_form                            ? "asymmetric"
                                                                : "half_pixel";
    const char *to = round && round->type == CLV_ATTR_STRING ? round->u.s
                     : short_form                            ? "floor"
                                  : "round_prefer_floor";
    draft_set_str(d, CLV_A_COORDINATES, where);
    draft_set_str(d, CLV_A_ROUNDING, to);
    draft_set_int(d, CLV_A_SCALED_WIDTH, 1);
}

/* Resize has roi, scales, sizes; version 10 and Upsample only scales. Ours
 * takes sizes, then scales, then roi where the mode reads it. */
clv_status map_resize(draft *d, clv_err *e)
{
    (void)e;
    static const uint32_t old[3] = {0, CLV_NONE, 1}, now[4] = {0, 3, 2, 1};
    const clv_attr *mode = draft_other(d, "coordinate_transformation_mode");
    bool crop = mode && mode->type == CLV_ATTR_STRING &&
                !strcmp(mode->u.s, "tf_crop_and_resize");
    bool short_form = d->opset < 11 || text_is(d->p->op, "Upsample");
    const clv_value *scales = draft_in(d, 2);
    if (!short_form && scales && scales->rank == 1 && scales->dims[0] == 0)
        d->ins[2] = CLV_NONE; /* an empty list stands for none */
    draft_keep(d, short_form ? old : now, crop && !short_form ? 4 : 3);
    draft_sampling(d, short_form);
    if (draft_in(d, 1)) /* sizes, which a policy may have rounded */
        draft_set_int(d, CLV_A_SCALED_WIDTH, 0);
    /* Version 10 says nothing of rounding: this is what ONNX Runtime does. */
    if (short_form && text_is(d->p->op, "Resize"))
        draft_set_str(d, CLV_A_ROUNDING, "ceil_if_smaller");
    const clv_attr *a = draft_attr(d, CLV_A_SCALES);
    if (a && a->type == CLV_ATTR_FLOATS)
        return CLV_OK;
    const clv_value *known = draft_in(d, 2);
    if (known && known->data && known->data->floats && d->n_in == 3) {
        clv_attr *s = &d->attrs[d->n_attrs++];
        *s = (clv_attr){.name = clv__attr_name(CLV_A_SCALES),
                        .key = CLV_A_SCALES,
                        .type = CLV_ATTR_FLOATS,
                        .n = known->data->n,
                        .u.floats = known->data->floats};
        d->n_in = 2;
        while (d->n_in && d->ins[d->n_in - 1] == CLV_NONE)
            d->n_in--;
    }
    return CLV_OK;
}

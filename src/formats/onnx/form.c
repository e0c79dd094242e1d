/* form.c - the form of each operator in ONNX: the name of those ONNX has,
 * bodies of those it has not. */
#include "formats/onnx/form_words.h"

#include <math.h>
#include <string.h>

/* -- bodies of operators that it has not ----------------------------------*/

static void body_identity(body *b)
{
    node1(b, "Identity", in(0), out(0));
}

/* x @ w' + bias; bias has its own Add */
static void body_linear(body *b)
{
    static const int64_t swap[2] = {1, 0};
    name t = fresh(b), y = b->n->n_in > 2 ? fresh(b) : out(0);
    onnx_out o;
    out_start(&o, "Transpose", "", "");
    out_input(&o, in(1).s);
    out_output(&o, t.s);
    out_ints(&o, "perm", swap, 2);
    out_finish(b, &o);
    node2(b, "MatMul", in(0), t, y);
    if (b->n->n_in > 2)
        node2(b, "Add", y, in(2), out(0));
}

static void body_matmul(body *b)
{
    node2(b, "MatMul", in(0), in(1), out(0));
}

/* x * sigmoid(alpha * x) */
static void body_silu(body *b)
{
    double alpha = attr_float(b->n, CLV_A_ALPHA, 1);
    name s = fresh(b), x = in(0);
    if (alpha != 1) {
        x = fresh(b);
        node2(b, "Mul", in(0), number_like(b, alpha), x);
    }
    node1(b, "Sigmoid", x, s);
    node2(b, "Mul", in(0), s, out(0));
}

/* x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2 */
static void tanh_gelu(body *b)
{
    name c = fresh(b), k = fresh(b), s = fresh(b), m = fresh(b), t = fresh(b);
    name u = fresh(b), v = fresh(b);
    node2(b, "Pow", in(0), number_like(b, 3), c);
    node2(b, "Mul", c, number_like(b, 0.044715), k);
    node2(b, "Add", in(0), k, s);
    node2(b, "Mul", s, number_like(b, 0.7978845608028654), m);
    node1(b, "Tanh", m, t);
    node2(b, "Add", t, number_like(b, 1), u);
    node2(b, "Mul", in(0), u, v);
    node2(b, "Mul", v, number_like(b, 0.5), out(0));
}

/* x * (1 + erf(x / sqrt 2)) / 2 */
static void body_gelu(body *b)
{
    if (!strcmp(attr_str(b->n, CLV_A_APPROXIMATE, "none"), "tanh")) {
        tanh_gelu(b);
        return;
    }
    name d = fresh(b), e = fresh(b), s = fresh(b), m = fresh(b);
    node2(b, "Div", in(0), number_like(b, 1.4142135623730951), d);
    node1(b, "Erf", d, e);
    node2(b, "Add", e, number_like(b, 1), s);
    node2(b, "Mul", in(0), s, m);
    node2(b, "Mul", m, number_like(b, 0.5), out(0));
}

static void body_relu6(body *b)
{
    node3(b, "Clip", in(0), number_like(b, 0), number_like(b, 6), out(0));
}

static void body_clamp(body *b)
{
    name lo = none, hi = none;
    if (attr_get(b->n, CLV_A_MIN))
        lo = number_like(b, attr_float(b->n, CLV_A_MIN, 0));
    if (attr_get(b->n, CLV_A_MAX))
        hi = number_like(b, attr_float(b->n, CLV_A_MAX, 0));
    node3(b, "Clip", in(0), lo, hi, out(0));
}

/* Any view that keeps the order of elements. */
static void body_reshape(body *b)
{
    const clv_value *y = form_out(b);
    bool empty = dims_product(y->dims, 0, y->rank) == 0;
    name dims = ints(b, y->dims, y->rank);
    onnx_out o;
    b->unable = (empty && b->opset < 14) || (y->flags & CLV_V_BOUND);
    out_start(&o, "Reshape", "", "");
    out_input(&o, in(0).s);
    out_input(&o, dims.s);
    out_output(&o, out(0).s);
    if (empty) /* else a 0 stands for the size that was */
        out_int(&o, "allowzero", 1);
    out_finish(b, &o);
}

static void body_expand(body *b)
{
    const clv_value *y = form_out(b);
    b->unable = y->flags & CLV_V_BOUND; /* data decides on its size */
    node2(b, "Expand", in(0), ints(b, y->dims, y->rank), out(0));
}

static void body_transpose(body *b)
{
    int64_t perm[CLV_MAX_RANK];
    uint32_t n, p, q, r = form_in(b, 0)->rank;
    const int64_t *axes = attr_ints(b->n, CLV_A_AXES, &n);
    b->unable = n != 2 || norm_axis(axes[0], r, &p, NULL) ||
                norm_axis(axes[1], r, &q, NULL);
    if (b->unable)
        return;
    for (uint32_t i = 0; i < r; i++)
        perm[i] = i == p ? q : i == q ? p : i;
    onnx_out o;
    out_start(&o, "Transpose", "", "");
    out_input(&o, in(0).s);
    out_output(&o, out(0).s);
    out_ints(&o, "perm", perm, r);
    out_finish(b, &o);
}

static void gather_on(body *b, name data, name index, int64_t on)
{
    onnx_out o;
    out_start(&o, "Gather", "", "");
    out_input(&o, data.s);
    out_input(&o, index.s);
    out_output(&o, out(0).s);
    out_int(&o, "axis", on);
    out_finish(b, &o);
}

/* One index of an axis: a gather by a scalar. */
static void body_select(body *b)
{
    name index = fresh(b);
    onnx_out o;
    out_start(&o, "Constant", "", "");
    out_output(&o, index.s);
    out_int(&o, "value_int", attr_int(b->n, CLV_A_INDEX, 0));
    out_finish(b, &o);
    gather_on(b, in(0), index, axis(b, 0));
}

/* x[i] of one index tensor: rows of a table. */
static void body_index(body *b)
{
    b->unable = b->n->n_in != 2;
    gather_on(b, in(0), in(1), 0);
}

static void body_split(body *b)
{
    int64_t sizes[64];
    uint32_t a = axis(b, 0), n = b->n->n_out;
    b->unable = n > 64;
    for (uint32_t i = 0; !b->unable && i < n; i++)
        sizes[i] = node_out(b->g, b->n, i)->dims[a];
    if (b->unable)
        return;
    name parts = ints(b, sizes, n);
    onnx_out o;
    out_start(&o, "Split", "", "");
    out_input(&o, in(0).s);
    out_input(&o, parts.s);
    for (uint32_t i = 0; i < n; i++)
        out_output(&o, out((int)i).s);
    out_int(&o, "axis", a);
    out_finish(b, &o);
}

void reduce(body *b, const char *op, name x, const int64_t *axes, uint32_t n,
            bool keep, name to)
{
    bool by_input = b->opset >= 18 || !strcmp(op, "ReduceSum");
    name list = by_input && n ? ints(b, axes, n) : none;
    onnx_out o;
    out_start(&o, op, "", "");
    out_input(&o, x.s);
    if (*list.s)
        out_input(&o, list.s);
    out_output(&o, to.s);
    if (!by_input && n)
        out_ints(&o, "axes", axes, n);
    out_int(&o, "keepdims", keep);
    out_finish(b, &o);
}

/* What reduces, by our operator; NORM is one of two. */
static const char *reduction(const clv_node *n)
{
    switch (n->op) {
    case CLV_OP_SUM:
        return "ReduceSum";
    case CLV_OP_MAX:
        return "ReduceMax";
    case CLV_OP_MIN:
        return "ReduceMin";
    case CLV_OP_PROD:
        return "ReduceProd";
    case CLV_OP_SUM_SQUARE:
        return "ReduceSumSquare";
    case CLV_OP_LOGSUMEXP:
        return "ReduceLogSumExp";
    case CLV_OP_LOG_SUM:
        return "ReduceLogSum";
    case CLV_OP_NORM:
        return attr_float(n, CLV_A_P, 2) == 1 ? "ReduceL1" : "ReduceL2";
    default:
        return "ReduceMean";
    }
}

/* The axes are an attribute, or what an input is known to hold. */
static void body_reduce(body *b)
{
    int_list axes = {0};
    double p = attr_float(b->n, CLV_A_P, 2);
    b->unable = get_ints(b->g, b->n, CLV_A_AXES, 1, &axes, NULL) != CLV_OK ||
                b->n->n_out != 1 || (p != 1 && p != 2);
    if (!b->unable)
        reduce(b, reduction(b->n), in(0), axes.v, axes.n,
               attr_int(b->n, CLV_A_KEEPDIM, 0) != 0, out(0));
}

/* One number everywhere. */
static void body_full(body *b)
{
    const clv_value *y = form_out(b);
    const clv_attr *v = attr_get(b->n, CLV_A_VALUE);
    int to = onnx_dtype_number((clv_dtype)y->dtype);
    double x = b->n->op == CLV_OP_ONES ? 1 : attr_float(b->n, CLV_A_VALUE, 0);
    if (v && v->type == CLV_INT_ATTR)
        x = (double)v->u.i;
    b->unable = to == 0 || (!v && b->n->op == CLV_OP_CONSTANT_OF_SHAPE) ||
                (!isinf(x) && (double)(float)x != x);
    if (b->unable)
        return;
    name one = number(b, x), cast = fresh(b);
    onnx_out o;
    out_start(&o, "Cast", "", "");
    out_input(&o, one.s);
    out_output(&o, cast.s);
    out_int(&o, "to", to);
    out_finish(b, &o);
    node2(b, "Expand", cast, ints(b, y->dims, y->rank), out(0));
}

/* Equal windows only: in divides by out along every axis. */
static void body_adaptive(body *b)
{
    const clv_value *x = form_in(b, 0), *y = form_out(b);
    uint32_t nd = x->rank - 2u;
    int64_t size[3] = {1, 1, 1};
    for (uint32_t i = 0; i < nd && i < 3; i++) {
        int64_t to = y->dims[2 + i], from = x->dims[2 + i];
        b->unable = b->unable || to < 1 || from % to;
        size[i] = to > 0 ? from / to : 1;
    }
    onnx_out o;
    out_start(&o, "AveragePool", "", "");
    out_input(&o, in(0).s);
    out_output(&o, out(0).s);
    out_ints(&o, "kernel_shape", size, nd);
    out_ints(&o, "strides", size, nd);
    out_finish(b, &o);
}

static void body_slice(body *b)
{
    uint32_t ns, ne, na, nt;
    const int64_t *start = attr_ints(b->n, CLV_A_START, &ns);
    const int64_t *end = attr_ints(b->n, CLV_A_END, &ne);
    const int64_t *axes = attr_ints(b->n, CLV_A_AXES, &na);
    const int64_t *step = attr_ints(b->n, CLV_A_STEP, &nt);
    int64_t order[CLV_MAX_RANK], ones[CLV_MAX_RANK];
    b->unable = b->n->n_in > 1 || ns == 0 || ns > CLV_MAX_RANK;
    for (uint32_t i = 0; !b->unable && i < ns; i++) {
        order[i] = na ? axes[i] : (int64_t)i;
        ones[i] = list_at(step, nt, i, 1);
    }
    if (b->unable)
        return;
    name s = ints(b, start, ns), e = ints(b, end, ne);
    name a = ints(b, order, ns), t = ints(b, ones, ns);
    onnx_out o;
    out_start(&o, "Slice", "", "");
    out_input(&o, in(0).s);
    out_input(&o, s.s);
    out_input(&o, e.s);
    out_input(&o, a.s);
    out_input(&o, t.s);
    out_output(&o, out(0).s);
    out_finish(b, &o);
}

/* Per axis: the tail, then the head. */
static void body_roll(body *b)
{
    const clv_value *x = form_in(b, 0);
    uint32_t ns, na;
    const int64_t *shifts = attr_ints(b->n, CLV_A_SHIFTS, &ns);
    const int64_t *axes = attr_ints(b->n, CLV_A_AXES, &na);
    name from = in(0);
    b->unable = ns == 0 || ns != na;
    for (uint32_t i = 0; !b->unable && i < ns; i++) {
        uint32_t a;
        if (norm_axis(axes[i], x->rank, &a, NULL) != CLV_OK)
            break;
        int64_t n = x->dims[a], s = n ? ((shifts[i] % n) + n) % n : 0;
        name tail = part(b, from, n - s, n, a),
             head = part(b, from, 0, n - s, a);
        name to = i + 1 == ns ? out(0) : fresh(b);
        joined(b, tail, head, a, to);
        from = to;
    }
}

static void body_pad(body *b)
{
    uint32_t n;
    const int64_t *pads = attr_ints(b->n, CLV_A_PADDING, &n);
    const char *mode = attr_str(b->n, CLV_A_MODE, "constant");
    b->unable =
        n == 0 || n != 2u * form_in(b, 0)->rank || attr_get(b->n, CLV_A_AXES);
    if (b->unable)
        return;
    name list = ints(b, pads, n);
    name value = number_like(b, attr_float(b->n, CLV_A_VALUE, 0));
    onnx_out o;
    out_start(&o, "Pad", "", "");
    out_input(&o, in(0).s);
    out_input(&o, list.s);
    if (!strcmp(mode, "constant"))
        out_input(&o, value.s);
    out_output(&o, out(0).s);
    out_string(&o, "mode", !strcmp(mode, "replicate") ? "edge" : mode);
    out_finish(b, &o);
}

static bool imported(const body *b)
{
    return !strcmp(b->g->format, "onnx");
}

/* The scales that a resize was given, one per axis; "" where it was sizes. */
static name given_scales(body *b)
{
    const clv_value *x = form_in(b, 0);
    const clv_attr *a = attr_get(b->n, CLV_A_SCALES);
    uint32_t named;
    const int64_t *axes = attr_ints(b->n, CLV_A_AXES, &named);
    double all[CLV_MAX_RANK];
    if (!imported(b) || !a || a->type != CLV_FLOATS_ATTR)
        return none;
    for (uint32_t i = 0; i < x->rank; i++)
        all[i] = a->n == x->rank ? a->u.floats[i] : 1;
    for (uint32_t i = 0; a->n != x->rank && i < a->n; i++) {
        uint32_t on = i + 2;
        b->unable = b->unable || (named ? norm_axis(axes[i], x->rank, &on, NULL)
                                        : on >= x->rank);
        if (!b->unable)
            all[on] = a->u.floats[i];
    }
    name to = fresh(b);
    onnx_out o;
    out_start(&o, "Constant", "", "");
    out_output(&o, to.s);
    out_floats(&o, "value_floats", all, x->rank);
    out_finish(b, &o);
    return to;
}

/* How a resize samples, in ONNX's words; half pixels unless corners are
 * aligned. Smoothing came with opset 18. */
static void resize_attrs(body *b, onnx_out *o, const char *mode)
{
    bool nearest = !strcmp(mode, "nearest");
    bool cubic = !strcmp(mode, "bicubic") || !strcmp(mode, "cubic");
    bool corners = attr_int(b->n, CLV_A_ALIGN_CORNERS, 0) != 0;
    out_string(o, "mode", nearest ? "nearest" : cubic ? "cubic" : "linear");
    out_string(o, "coordinate_transformation_mode",
               other_str(b->n, "coordinate_transformation_mode",
                         imported(b) ? "half_pixel"
                         : corners   ? "align_corners"
                         : nearest   ? "asymmetric"
                                     : "half_pixel"));
    if (nearest)
        out_string(o, "nearest_mode",
                   other_str(b->n, "nearest_mode",
                             imported(b) ? "round_prefer_floor" : "floor"));
    if (cubic)
        out_float(o, "cubic_coeff_a", attr_float(b->n, CLV_A_CUBIC, -0.75));
    for (uint32_t i = 0; i < b->n->n_attrs; i++) {
        const clv_attr *a = &b->n->attrs[i];
        if (a->key != CLV_A_OTHER || strstr(a->name, "mode"))
            continue;
        b->unable |= !strcmp(a->name, "antialias") && b->opset < 18;
        out_attr(o, a);
    }
}

/* By the scales it was given, or to the sizes of the result. */
static void body_interpolate(body *b)
{
    const clv_value *y = form_out(b);
    const char *aspect = attr_str(b->n, CLV_A_ASPECT, "stretch");
    b->unable = b->n->n_in > 3 || strcmp(aspect, "stretch"); /* or a region */
    name scales = given_scales(b);
    name sizes = *scales.s ? none : ints(b, y->dims, y->rank);
    onnx_out o;
    out_start(&o, "Resize", "", "");
    out_input(&o, in(0).s);
    out_input(&o, "");
    out_input(&o, scales.s);
    if (*sizes.s)
        out_input(&o, sizes.s);
    out_output(&o, out(0).s);
    resize_attrs(b, &o, attr_str(b->n, CLV_A_MODE, "nearest"));
    out_finish(b, &o);
}

/* x / max(|x|, eps) along the axis */
static void body_lp_norm(body *b)
{
    int64_t on = axis(b, -1);
    name n = fresh(b), m = fresh(b);
    double eps = attr_float(b->n, CLV_A_EPSILON, 1e-12);
    b->unable = attr_float(b->n, CLV_A_P, 2) != 2;
    reduce(b, "ReduceL2", in(0), &on, 1, true, n);
    node2(b, "Max", n, number_like(b, eps), m);
    node2(b, "Div", in(0), m, out(0));
}

/* -- the table ------------------------------------------------------------*/

#define DIRECT(op, onnx, attrs)       [CLV_OP_##op] = {onnx, attrs, NULL, 0}
#define SINCE(op, onnx, attrs, opset) [CLV_OP_##op] = {onnx, attrs, NULL, opset}
#define BODY(op, fn)                  [CLV_OP_##op] = {NULL, NULL, fn, 0}
#define ELSE(op, onnx, attrs, opset, fn) \
    [CLV_OP_##op] = {onnx, attrs, fn, opset}

static const onnx_form forms[CLV_OP_COUNT] = {
    DIRECT(CONV1D, "Conv", conv_attrs),
    DIRECT(CONV2D, "Conv", conv_attrs),
    DIRECT(CONV3D, "Conv", conv_attrs),
    DIRECT(CONVT1D, "ConvTranspose", conv_attrs),
    DIRECT(CONVT2D, "ConvTranspose", conv_attrs),
    DIRECT(CONVT3D, "ConvTranspose", conv_attrs),
    BODY(LINEAR, body_linear),
    DIRECT(MATMUL, "MatMul", NULL),
    BODY(BMM, body_matmul),
    DIRECT(GEMM, "Gemm", gemm_attrs),
    DIRECT(EINSUM, "Einsum", equation_attr),

    DIRECT(BATCH_NORM, "BatchNormalization", batch_norm_attrs),
    ELSE(LAYER_NORM, "LayerNormalization", layer_norm_attrs, 17,
         body_layer_norm),
    BODY(RMS_NORM, body_rms_norm),
    ELSE(GROUP_NORM, "GroupNormalization", group_norm_attrs, 21,
         body_group_norm),
    BODY(ATTENTION, body_attention),
    BODY(ROTARY_EMBEDDING, body_rotary),
    DIRECT(INSTANCE_NORM, "InstanceNormalization", epsilon_attr),
    BODY(LP_NORM, body_lp_norm),

    DIRECT(RELU, "Relu", NULL),
    BODY(RELU6, body_relu6),
    DIRECT(LEAKY_RELU, "LeakyRelu", alpha_attr),
    DIRECT(ELU, "Elu", alpha_attr),
    BODY(GELU, body_gelu),
    BODY(SILU, body_silu),
    DIRECT(SIGMOID, "Sigmoid", NULL),
    DIRECT(TANH, "Tanh", NULL),
    ELSE(HARDSWISH, "HardSwish", NULL, 14, body_hardswish),
    ELSE(MISH, "Mish", NULL, 18, body_mish),
    DIRECT(HARDSIGMOID, "HardSigmoid", hardsigmoid_attrs),
    DIRECT(SOFTMAX, "Softmax", axis_attr),
    DIRECT(LOG_SOFTMAX, "LogSoftmax", axis_attr),
    BODY(CLAMP, body_clamp),

    DIRECT(ADD, "Add", NULL),
    DIRECT(SUB, "Sub", NULL),
    DIRECT(MUL, "Mul", NULL),
    DIRECT(DIV, "Div", div_attrs),
    DIRECT(REMAINDER, "Mod", mod_attrs),
    DIRECT(FMOD, "Mod", mod_attrs),
    DIRECT(EXP, "Exp", NULL),
    DIRECT(LOG, "Log", NULL),
    DIRECT(SQRT, "Sqrt", NULL),
    DIRECT(ERF, "Erf", NULL),
    DIRECT(NEG, "Neg", NULL),
    DIRECT(ABS, "Abs", NULL),
    DIRECT(POW, "Pow", NULL),
    DIRECT(MAXIMUM, "Max", NULL),
    DIRECT(MINIMUM, "Min", NULL),
    DIRECT(ADD_N, "Sum", NULL),
    DIRECT(MEAN_N, "Mean", NULL),
    DIRECT(RECIPROCAL, "Reciprocal", NULL),
    DIRECT(FLOOR, "Floor", NULL),
    DIRECT(CEIL, "Ceil", NULL),
    DIRECT(ROUND, "Round", NULL),
    DIRECT(SIGN, "Sign", NULL),
    DIRECT(SIN, "Sin", NULL),
    DIRECT(COS, "Cos", NULL),
    DIRECT(TAN, "Tan", NULL),
    DIRECT(ASIN, "Asin", NULL),
    DIRECT(ACOS, "Acos", NULL),
    DIRECT(ATAN, "Atan", NULL),
    DIRECT(SINH, "Sinh", NULL),
    DIRECT(COSH, "Cosh", NULL),
    DIRECT(ASINH, "Asinh", NULL),
    DIRECT(ACOSH, "Acosh", NULL),
    DIRECT(ATANH, "Atanh", NULL),
    DIRECT(WHERE, "Where", NULL),
    DIRECT(EQ, "Equal", NULL),
    DIRECT(LT, "Less", NULL),
    DIRECT(LE, "LessOrEqual", NULL),
    DIRECT(GT, "Greater", NULL),
    DIRECT(GE, "GreaterOrEqual", NULL),
    DIRECT(LOGICAL_AND, "And", NULL),
    DIRECT(LOGICAL_OR, "Or", NULL),
    DIRECT(LOGICAL_XOR, "Xor", NULL),
    DIRECT(LOGICAL_NOT, "Not", NULL),
    DIRECT(ISNAN, "IsNaN", NULL),
    DIRECT(SOFTPLUS, "Softplus", NULL),
    DIRECT(SOFTSIGN, "Softsign", NULL),
    DIRECT(PRELU, "PRelu", NULL),
    DIRECT(CUMSUM, "CumSum", cumsum_attrs),
    SINCE(TRIU, "Trilu", trilu_attrs, 14),
    SINCE(TRIL, "Trilu", trilu_attrs, 14),
    DIRECT(LOCAL_RESPONSE_NORM, "LRN", lrn_attrs),
    DIRECT(CAST, "Cast", cast_attrs),

    DIRECT(MAX_POOL1D, "MaxPool", pool_attrs),
    DIRECT(MAX_POOL2D, "MaxPool", pool_attrs),
    DIRECT(MAX_POOL3D, "MaxPool", pool_attrs),
    DIRECT(AVG_POOL1D, "AveragePool", avg_pool_attrs),
    DIRECT(AVG_POOL2D, "AveragePool", avg_pool_attrs),
    DIRECT(AVG_POOL3D, "AveragePool", avg_pool_attrs),
    DIRECT(LP_POOL1D, "LpPool", lp_pool_attrs),
    DIRECT(LP_POOL2D, "LpPool", lp_pool_attrs),
    DIRECT(LP_POOL3D, "LpPool", lp_pool_attrs),
    BODY(ADAPTIVE_AVG_POOL1D, body_adaptive),
    BODY(ADAPTIVE_AVG_POOL2D, body_adaptive),
    BODY(ADAPTIVE_AVG_POOL3D, body_adaptive),
    BODY(MEAN, body_reduce),
    BODY(SUM, body_reduce),
    BODY(MAX, body_reduce),
    BODY(MIN, body_reduce),
    BODY(PROD, body_reduce),
    BODY(NORM, body_reduce),
    BODY(SUM_SQUARE, body_reduce),
    BODY(LOGSUMEXP, body_reduce),
    BODY(LOG_SUM, body_reduce),
    DIRECT(ARGMAX, "ArgMax", arg_attrs),
    DIRECT(ARGMIN, "ArgMin", arg_attrs),
    DIRECT(TOPK, "TopK", topk_attrs),

    DIRECT(LSTM, "LSTM", rnn_attrs),
    DIRECT(GRU, "GRU", rnn_attrs),
    DIRECT(RNN, "RNN", rnn_attrs),

    SINCE(DEFORM_CONV2D, "DeformConv", deform_attrs, 19),
    SINCE(GRID_SAMPLE, "GridSample", grid_attrs, 16),

    DIRECT(CAT, "Concat", axis_attr),
    BODY(CHUNK, body_split),
    BODY(SPLIT, body_split),
    BODY(SLICE, body_slice),
    BODY(SELECT, body_select),
    BODY(INDEX, body_index),
    DIRECT(INDEX_SELECT, "Gather", axis0_attr),
    DIRECT(GATHER_ELEMENTS, "GatherElements", axis0_attr),
    DIRECT(GATHER_ND, "GatherND", batch_dims_attr),
    DIRECT(SCATTER_ND, "ScatterND", reduction_attr),
    DIRECT(SCATTER_ELEMENTS, "ScatterElements", scatter_attrs),
    DIRECT(NONZERO, "NonZero", nonzero_attrs),
    DIRECT(ONE_HOT, "OneHot", one_hot_attrs),
    DIRECT(RANGE, "Range", range_attrs),
    DIRECT(REVERSE_SEQUENCE, "ReverseSequence", other_attrs),
    DIRECT(NMS, "NonMaxSuppression", other_attrs),
    SINCE(DFT, "DFT", dft_attrs, 17),
    SINCE(STFT, "STFT", stft_attrs, 17),
    DIRECT(DEPTH_TO_SPACE, "DepthToSpace", block_attrs),
    DIRECT(SPACE_TO_DEPTH, "SpaceToDepth", block_attrs),
    DIRECT(CONV_INTEGER, "ConvInteger", conv_attrs),
    DIRECT(QLINEAR_CONV, "QLinearConv", conv_attrs),
    DIRECT(MATMUL_INTEGER, "MatMulInteger", NULL),
    DIRECT(QLINEAR_MATMUL, "QLinearMatMul", NULL),
    DIRECT(DYNAMIC_QUANTIZE_LINEAR, "DynamicQuantizeLinear", NULL),
    DIRECT(QUANTIZE_LINEAR, "QuantizeLinear", quant_attrs),
    DIRECT(DEQUANTIZE_LINEAR, "DequantizeLinear", quant_attrs),
    BODY(RESHAPE, body_reshape),
    BODY(FLATTEN, body_reshape),
    BODY(UNFLATTEN, body_reshape),
    BODY(SQUEEZE, body_reshape),
    BODY(UNSQUEEZE, body_reshape),
    BODY(EXPAND, body_expand),
    BODY(CONSTANT_OF_SHAPE, body_full),
    DIRECT(PERMUTE, "Transpose", perm_attr),
    BODY(TRANSPOSE, body_transpose),
    BODY(ROLL, body_roll),
    BODY(PAD, body_pad),
    BODY(INTERPOLATE, body_interpolate),
    DIRECT(IDENTITY, "Identity", NULL),
    DIRECT(DROPOUT, "Dropout", dropout_attrs),
    BODY(STOCHASTIC_DEPTH, body_identity),
    BODY(CONTIGUOUS, body_identity),
};

/* Padding from a given size, batches without an axis, weights without bias:
 * what a direct form cannot say goes by its body. */
onnx_form onnx_form_of(const clv_graph *g, const clv_node *n, int64_t opset)
{
    /* views whose size data decides on: what computes it stays */
    static const char *const by_input[CLV_OP_COUNT] = {
        [CLV_OP_RESHAPE] = "Reshape",
        [CLV_OP_EXPAND] = "Expand",
        [CLV_OP_SQUEEZE] = "Squeeze",
        [CLV_OP_UNSQUEEZE] = "Unsqueeze",
    };
    onnx_form f = forms[n->op];
    const clv_value *x = node_in(g, n, 0),
                    *y = n->n_out ? node_out(g, n, 0) : 0;
    static const onnx_form global = {"GlobalAveragePool", no_attrs, NULL, 0};
    static const onnx_form highest = {"GlobalMaxPool", no_attrs, NULL, 0};
    static const onnx_form flat = {"Flatten", flatten_attrs, NULL, 0};
    static const onnx_form erf_gelu = {"Gelu", NULL, NULL, 0};
    static const onnx_form clip = {"Clip", NULL, NULL, 0};
    static const onnx_form slice = {"Slice", NULL, NULL, 0};
    static const onnx_form tile = {"Tile", NULL, NULL, 0};
    static const onnx_form pad = {"Pad", pad_attrs, NULL, 0};
    bool adaptive = n->op == CLV_OP_ADAPTIVE_AVG_POOL1D ||
                    n->op == CLV_OP_ADAPTIVE_AVG_POOL2D ||
                    n->op == CLV_OP_ADAPTIVE_AVG_POOL3D;
    bool maximum = n->op == CLV_OP_ADAPTIVE_MAX_POOL1D ||
                   n->op == CLV_OP_ADAPTIVE_MAX_POOL2D ||
                   n->op == CLV_OP_ADAPTIVE_MAX_POOL3D;
    if ((adaptive || maximum) && y && y->rank != CLV_NO_RANK && n->n_out == 1 &&
        dims_product(y->dims, 2, y->rank) == 1)
        return maximum ? highest : global;
    if (n->op == CLV_OP_FLATTEN && x && x->rank > 1 && y && y->rank == 2 &&
        attr_int(n, CLV_A_START, 0) == 1)
        return flat;
    if (n->op == CLV_OP_GELU && opset >= 20 && !attr_get(n, CLV_A_APPROXIMATE))
        return erf_gelu;
    if (n->n_in > 1 && n->op == CLV_OP_CLAMP)
        return clip;
    if (n->n_in > 1 && n->op == CLV_OP_SLICE)
        return slice;
    if (n->n_in > 1 && n->op == CLV_OP_PAD)
        return pad;
    if (n->n_in > 1 && n->op == CLV_OP_REPEAT)
        return tile;
    if (n->n_in > 1 && y && y->flags & CLV_V_BOUND && by_input[n->op] &&
        !attr_int(n, CLV_A_ALLOWZERO, 0))
        return (onnx_form){by_input[n->op], no_attrs, NULL, 0};
    if (f.since > opset) /* by its body, if there is one */
        f.name = NULL;
    return f.name || f.body ? f : onnx_same_of(g, n, opset);
}

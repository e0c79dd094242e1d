/* form.c - the form of each operator in ONNX: the name of those ONNX has,
 * bodies of those it has not. */
#include "formats/formats.h"
#include "formats/onnx/form_words.h"
#include "formats/onnx/read.h"

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
    double alpha = attr_float(b->n, CLV_A_ALPHA);
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
    if (attr_is(b->n, CLV_A_APPROXIMATE, "tanh")) {
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
        lo = number_like(b, attr_float(b->n, CLV_A_MIN));
    if (attr_get(b->n, CLV_A_MAX))
        hi = number_like(b, attr_float(b->n, CLV_A_MAX));
    node3(b, "Clip", in(0), lo, hi, out(0));
}

/* Slopes along an axis, in a shape that is broadcast to x. */
static void body_prelu(body *b)
{
    const clv_value *x = form_in(b, 0);
    int64_t dims[CLV_MAX_RANK];
    uint32_t at = axis(b), n = x->rank - at;
    for (uint32_t i = 0; i < n; i++)
        dims[i] = i ? 1 : x->dims[at];
    node2(b, "PRelu", in(0), shaped(b, in(1), dims, n), out(0));
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
    out_int(&o, "value_int", attr_int(b->n, CLV_A_INDEX));
    out_finish(b, &o);
    gather_on(b, in(0), index, axis(b));
}

/* x[i] of one index tensor: rows of a table. */
static void body_index(body *b)
{
    b->unable = b->n->n_in != 2;
    gather_on(b, in(0), in(1), 0);
}

static void body_split(body *b)
{
    uint32_t a = axis(b), n = b->n->n_out;
    int64_t *sizes = clv__alloc(n * sizeof *sizes);
    b->nodes.failed = b->nodes.failed || !sizes;
    for (uint32_t i = 0; sizes && i < n; i++)
        sizes[i] = node_out(b->g, b->n, i)->dims[a];
    name parts = ints(b, sizes, sizes ? n : 0);
    clv__free(sizes);
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

/* The operator of ONNX that is read as n's; NORM is one of two. */
static const char *reduction(const clv_node *n)
{
    if (n->op == CLV_OP_NORM)
        return attr_float(n, CLV_A_P) == 1 ? "ReduceL1" : "ReduceL2";
    for (size_t i = 0; onnx_op_row(i); i++)
        if (onnx_op_row(i)->op == n->op)
            return onnx_op_row(i)->name;
    return "";
}

/* The axes are an attribute, or what an input is known to hold. */
static void body_reduce(body *b)
{
    int_list axes = {0};
    double p = b->n->op == CLV_OP_NORM ? attr_float(b->n, CLV_A_P) : 2;
    b->unable = get_ints(b->g, b->n, CLV_A_AXES, 1, &axes, NULL) != CLV_OK ||
                b->n->n_out != 1 || (p != 1 && p != 2);
    clv_dtype from = (clv_dtype)form_in(b, 0)->dtype;
    clv_dtype to = (clv_dtype)form_out(b)->dtype;
    b->unable = b->unable || (from != to && !attr_get(b->n, CLV_A_DTYPE) &&
                              !(dtype_is_integral(from) && to == CLV_INT64));
    if (!b->unable) /* a result of another type is computed in it */
        reduce(b, reduction(b->n), from != to ? cast_to(b, in(0), to) : in(0),
               axes.v, form_in(b, 0)->rank ? axes.n : 0,
               attr_int(b->n, CLV_A_KEEPDIM) != 0, out(0));
}

/* One number everywhere. */
static void body_full(body *b)
{
    const clv_value *y = form_out(b);
    const clv_attr *v = attr_get(b->n, CLV_A_VALUE);
    int to = onnx_dtype_number((clv_dtype)y->dtype);
    bool stated = b->n->op != CLV_OP_ONES && b->n->op != CLV_OP_ZEROS;
    double x = stated ? attr_float(b->n, CLV_A_VALUE)
                      : (double)(b->n->op == CLV_OP_ONES);
    if (v && v->type == CLV_ATTR_INT)
        x = (double)v->u.i;
    b->unable =
        to == 0 || (!v && stated) || (!isinf(x) && (double)(float)x != x);
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
    uint32_t nd = b->n->op - CLV_OP_ADAPTIVE_AVG_POOL1D + 1u;
    int64_t size[3] = {1, 1, 1};
    b->unable = x->rank != nd + 2; /* no batch */
    if (b->unable)
        return;
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
        ones[i] = list_at(step, nt, i);
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
    const char *mode = attr_str(b->n, CLV_A_MODE);
    b->unable =
        n == 0 || n != 2u * form_in(b, 0)->rank || attr_get(b->n, CLV_A_AXES);
    if (b->unable)
        return;
    bool around = !strcmp(mode, "circular") || !strcmp(mode, "wrap");
    b->unable = around && b->opset < 19;
    name list = ints(b, pads, n);
    name value = b->n->n_in > 2 && form_in(b, 2)
                     ? in(2)
                     : number_like(b, attr_float(b->n, CLV_A_VALUE));
    onnx_out o;
    out_start(&o, "Pad", "", "");
    out_input(&o, in(0).s);
    out_input(&o, list.s);
    if (!strcmp(mode, "constant"))
        out_input(&o, value.s);
    out_output(&o, out(0).s);
    out_string(&o, "mode",
               around                       ? "wrap"
               : !strcmp(mode, "replicate") ? "edge"
                                            : mode);
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
    bool by_size = attr_get(b->n, CLV_A_SIZE) ||
                   attr_is(b->n, CLV_A_COORDINATES, "align_corners");
    if (!a || (a->type != CLV_ATTR_FLOATS && a->type != CLV_ATTR_FLOAT) ||
        (by_size && !imported(b)))
        return none;
    const double *v = a->type == CLV_ATTR_FLOAT ? &a->u.f : a->u.floats;
    uint32_t n = a->type == CLV_ATTR_FLOAT ? 1 : a->n;
    bool one = n == 1 && !named; /* for all axes but the first two */
    for (uint32_t i = 0; i < x->rank; i++)
        all[i] = n == x->rank ? v[i] : one && i > 1 ? v[0] : 1;
    for (uint32_t i = 0; n != x->rank && !one && i < n; i++) {
        uint32_t on = i + 2;
        b->unable = b->unable || (named ? norm_axis(axes[i], x->rank, &on, NULL)
                                        : on >= x->rank);
        if (!b->unable)
            all[on] = v[i];
    }
    name to = fresh(b);
    onnx_out o;
    out_start(&o, "Constant", "", "");
    out_output(&o, to.s);
    out_floats(&o, "value_floats", all, x->rank);
    out_finish(b, &o);
    return to;
}

/* The rounding of version 10 depends on the axis, which later ones cannot say:
 * every axis must shrink, or none. */
static const char *resize_rounding(body *b)
{
    const clv_value *x = form_in(b, 0), *y = form_out(b);
    bool smaller = false, larger = false;
    if (!attr_is(b->n, CLV_A_ROUNDING, "ceil_if_smaller"))
        return attr_str(b->n, CLV_A_ROUNDING);
    for (uint32_t i = 0; i < x->rank; i++) {
        smaller |= y->dims[i] < x->dims[i];
        larger |= y->dims[i] > x->dims[i];
    }
    b->unable = b->unable || (smaller && larger);
    return smaller ? "ceil" : "floor";
}

/* How a resize samples, in ONNX's words. Smoothing came with opset 18. */
static void resize_attrs(body *b, onnx_out *o, const char *mode)
{
    bool exact = !strcmp(mode, "nearest-exact"); /* floor((i + 1/2) / scale) */
    bool nearest = exact || !strcmp(mode, "nearest");
    bool cubic = !strcmp(mode, "bicubic") || !strcmp(mode, "cubic");
    const clv_attr *place = attr_get(b->n, CLV_A_COORDINATES);
    bool antialias = attr_int(b->n, CLV_A_ANTIALIAS);
    double fill = attr_float(b->n, CLV_A_EXTRAPOLATION);
    b->unable = b->unable || (antialias && b->opset < 18);
    out_string(o, "mode", nearest ? "nearest" : cubic ? "cubic" : "linear");
    out_string(o, "coordinate_transformation_mode",
               place               ? place->u.s
               : nearest && !exact ? "asymmetric"
                                   : "half_pixel");
    if (nearest)
        out_string(o, "nearest_mode",
                   exact ? "round_prefer_ceil" : resize_rounding(b));
    if (cubic)
        out_float(o, "cubic_coeff_a", attr_float(b->n, CLV_A_CUBIC));
    if (attr_int(b->n, CLV_A_EXCLUDE_OUTSIDE))
        out_int(o, "exclude_outside", 1);
    if (fill != 0)
        out_float(o, "extrapolation_value", fill);
    if (antialias)
        out_int(o, "antialias", 1);
}

/* By the scales it was given, or to the sizes of the result. */
static void body_interpolate(body *b)
{
    const clv_value *y = form_out(b);
    const char *aspect = attr_str(b->n, CLV_A_ASPECT);
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
    resize_attrs(b, &o, attr_str(b->n, CLV_A_MODE));
    out_finish(b, &o);
}

/* x / max(|x|, eps) along the axis */
static void body_lp_norm(body *b)
{
    int64_t on = axis(b);
    name n = fresh(b), m = fresh(b);
    double eps = attr_float(b->n, CLV_A_EPSILON);
    b->unable = attr_float(b->n, CLV_A_P) != 2;
    reduce(b, "ReduceL2", in(0), &on, 1, true, n);
    node2(b, "Max", n, number_like(b, eps), m);
    node2(b, "Div", in(0), m, out(0));
}

/* -- operands of other types ----------------------------------------------*/

static bool form_is_logical(const clv_node *n)
{
    return n->op >= CLV_OP_LOGICAL_AND && n->op <= CLV_OP_LOGICAL_NOT;
}

/* The type in which ONNX computes an operator of one element: that of the
 * result; of a yes or no, one that holds what is compared. */
static clv_dtype form_type(const clv_graph *g, const clv_node *n)
{
    const clv_value *y = node_out(g, n, 0);
    clv_dtype t = CLV_NODTYPE;
    if (y->dtype != CLV_BOOL || form_is_logical(n))
        return (clv_dtype)y->dtype;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *x = node_in(g, n, i);
        clv_dtype is = x ? (clv_dtype)x->dtype : t;
        if (t == CLV_NODTYPE || is == t)
            t = is;
        else if (!dtype_is_integral(is) || !dtype_is_integral(t))
            t = is == CLV_FLOAT64 || t == CLV_FLOAT64 ? CLV_FLOAT64
                                                      : CLV_FLOAT32;
        else
            t = CLV_INT64;
    }
    return t;
}

/* A condition, and the exponent of a power, have types of their own. */
static bool form_is_cast(const clv_graph *g, const clv_node *n, uint32_t i)
{
    const clv_value *x = node_in(g, n, i);
    bool own = (n->op == CLV_OP_WHERE && i == 0) ||
               n->op == CLV_OP_MASKED_FILL || n->op == CLV_OP_CAST ||
               n->op == CLV_OP_CAST_LIKE;
    return !own && x && x->dtype != CLV_NODTYPE &&
           (clv_dtype)x->dtype != form_type(g, n);
}

/* Operand i in the type that the node computes in. */
static name form_input(body *b, uint32_t i)
{
    return form_is_cast(b->g, b->n, i)
               ? cast_to(b, in((int)i), form_type(b->g, b->n))
               : in((int)i);
}

static void body_not_equal(body *b)
{
    name same = fresh(b);
    b->unable = b->n->n_in != 2 || !form_in(b, 1);
    if (b->unable)
        return;
    name x = form_input(b, 0), y = form_input(b, 1);
    node2(b, "Equal", x, y, same);
    node1(b, "Not", same, out(0));
}

/* The attribute that stands for the second operand, as 2 does in x + 2. */
static const clv_attr *form_number(const clv_graph *g, const clv_node *n)
{
    bool both = n->n_in > 1 && node_in(g, n, 1);
    return both ? NULL : attr_get(n, CLV_A_VALUE);
}

/* Writes that number in type t. A function of one constant, which is a float,
 * cannot say others. */
static name form_operand(body *b, const clv_attr *a, clv_dtype t)
{
    double x = a->type == CLV_ATTR_INT ? (double)a->u.i : a->u.f;
    bool rounds = t == CLV_FLOAT32 || t == CLV_FLOAT16 || t == CLV_BFLOAT16;
    if ((!rounds && (double)(float)x != x) ||
        (dtype_is_integral(t) && x != floor(x)))
        b->unable = true;
    name one = number(b, x);
    return t == CLV_FLOAT32 ? one : cast_to(b, one, t);
}

/* The quotient rounded down. Of integers: x - x mod y is a multiple of y. */
void body_floor_divide(body *b)
{
    clv_dtype t = form_type(b->g, b->n);
    const clv_attr *given = form_number(b->g, b->n);
    b->unable = !given && (b->n->n_in < 2 || !form_in(b, 1));
    if (b->unable)
        return;
    name x = form_input(b, 0);
    name by = given ? form_operand(b, given, t) : form_input(b, 1);
    name rest = fresh(b), y = fresh(b);
    if (dtype_is_integral(t)) {
        node2(b, "Mod", x, by, rest);
        node2(b, "Sub", x, rest, y);
        node2(b, "Div", y, by, out(0));
    } else {
        node2(b, "Div", x, by, y);
        node1(b, "Floor", y, out(0));
    }
}

bool onnx_form_casts(const clv_graph *g, const clv_node *n)
{
    clv_category c = clv__ops[n->op].category;
    const clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    if (c != CLV_CAT_ELTWISE || !y || y->dtype == CLV_NODTYPE)
        return false;
    if (form_number(g, n))
        return true;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (form_is_cast(g, n, i))
            return true;
    return false;
}

void body_cast(body *b, const onnx_form *f)
{
    clv_dtype t = form_type(b->g, b->n);
    onnx_out o;
    /* Of single numbers nobody can tell which one decides the type. */
    b->unable = b->n->n_out != 1 || (form_out(b)->rank == 0 && b->n->n_in > 1);
    out_start(&o, f->name, "", "");
    for (uint32_t i = 0; i < b->n->n_in; i++)
        out_input(&o, form_in(b, i) ? form_input(b, i).s : "");
    const clv_attr *a = form_number(b->g, b->n);
    if (a)
        out_input(&o, form_operand(b, a, t).s);
    out_output(&o, out(0).s);
    if (f->attrs)
        f->attrs(b, &o);
    out_finish(b, &o);
}

/* -- rows that are for some nodes only ------------------------------------*/

/* A pool over all of each channel. */
static bool form_is_global(const clv_graph *g, const clv_node *n)
{
    const clv_value *y = n->n_out == 1 ? node_out(g, n, 0) : NULL;
    uint32_t axes = (n->op >= CLV_OP_ADAPTIVE_MAX_POOL1D
                         ? n->op - CLV_OP_ADAPTIVE_MAX_POOL1D
                         : n->op - CLV_OP_ADAPTIVE_AVG_POOL1D) +
                    1u;
    return y && y->rank == axes + 2 && dims_product(y->dims, 2, y->rank) == 1;
}

/* Batch and the rest, as ONNX's Flatten makes them. */
static bool form_is_flat(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0);
    const clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    return attr_get(n, CLV_A_AXIS) || (x && x->rank > 1 && y && y->rank == 2 &&
                                       attr_int(n, CLV_A_START) == 1);
}

/* A norm with a weight: ONNX's has one. */
static bool form_is_weighed(const clv_graph *g, const clv_node *n)
{
    return n->n_in > 1 && node_in(g, n, 1) != NULL;
}

/* And with a bias. */
static bool form_is_shifted(const clv_graph *g, const clv_node *n)
{
    return form_is_weighed(g, n) && n->n_in > 2 && node_in(g, n, 2) != NULL;
}

/* log(1 + exp(x)), as far as float32 can tell. */
static bool form_is_softplus(const clv_graph *g, const clv_node *n)
{
    (void)g;
    return attr_float(n, CLV_A_BETA) == 1 &&
           attr_float(n, CLV_A_THRESHOLD) >= 20;
}

/* Slopes that are not counted along an axis. */
static bool form_broadcasts(const clv_graph *g, const clv_node *n)
{
    const clv_value *slope = node_in(g, n, 1);
    return !attr_get(n, CLV_A_AXIS) || (slope && clv__numel(slope) == 1);
}

/* What might be an attribute is given as an input. */
static bool form_by_input(const clv_graph *g, const clv_node *n)
{
    (void)g;
    return n->n_in > 1;
}

/* Pads as an input; the value may be one where they are not. */
static bool form_by_pads(const clv_graph *g, const clv_node *n)
{
    return n->n_in > 1 && node_in(g, n, 1);
}

/* A scatter of a tensor, not of one number. */
static bool form_by_updates(const clv_graph *g, const clv_node *n)
{
    (void)g;
    return n->n_in > 2;
}

/* A view whose size depends on data: what computes it stays. */
static bool form_by_data(const clv_graph *g, const clv_node *n)
{
    const clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    return n->n_in > 1 && y && y->flags & CLV_V_BOUND &&
           !(n->op == CLV_OP_RESHAPE && attr_int(n, CLV_A_ALLOWZERO));
}

/* A node that ONNX's operator of that name says, and that is of another file.
 */
static bool form_is_foreign(const clv_graph *g, const clv_node *n)
{
    return strcmp(g->format, "onnx") != 0 && n->n_attrs == 0;
}

static bool form_by_three(const clv_graph *g, const clv_node *n)
{
    (void)g;
    return n->n_in == 3;
}

/* -- lookup ---------------------------------------------------------------*/

/* The writer's columns of onnx.def; bodies come last. */
static const struct {
    uint16_t op;
    uint8_t since;
    when_fn *when;
    onnx_form form;
} form_rows[] = {
#define ONNX(domain, name, op, roles, map, since, when, attrs) \
    WRITE(name, op, since, when, attrs)
#define WRITE(name, op, since, when, attrs) \
    {CLV_OP_##op, since, when, {name, attrs, NULL}},
#define BODY(op, body) {CLV_OP_##op, 0, NULL, {NULL, NULL, body}},
#define READ(domain, name, op, roles, map)
#define KEPT(domain, name, op, roles, map, since, names)
#define ALSO(domain, name, op)
#include "formats/onnx/onnx.def"
#undef ALSO
#undef ONNX
#undef WRITE
#undef BODY
#undef READ
#undef KEPT
};

const char *clv__onnx_written(clv_op op)
{
    const char *how = "";
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++) {
        if (form_rows[i].op == op && form_rows[i].form.name)
            return "operator";
        if (form_rows[i].op == op)
            how = "function";
    }
    for (size_t i = 0; !*how && onnx_op_row(i); i++)
        if (onnx_op_row(i)->op == op && onnx_op_row(i)->kept)
            how = "as read";
    return how;
}

onnx_form onnx_form_of(const clv_graph *g, const clv_node *n, int64_t opset)
{
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++)
        if (form_rows[i].op == n->op && form_rows[i].since <= opset &&
            (!form_rows[i].when || form_rows[i].when(g, n)))
            return form_rows[i].form;
    return onnx_same_of(g, n, opset);
}

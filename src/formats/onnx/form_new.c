/* form_new.c - operators that newer opsets have, said in older ones.
 *
 * Shapes are known when a file is written, so a body may use them as
 * constants. */
#include "formats/onnx/form_words.h"

#include <math.h>
#include <string.h>

/* -- activations ----------------------------------------------------------*/

/* x * hardsigmoid(x) */
void body_hardswish(body *b)
{
    name h = fresh(b);
    onnx_out o;
    begin(&o, "HardSigmoid", in(0), h);
    out_float(&o, "alpha", 1.0 / 6);
    out_float(&o, "beta", 0.5);
    out_finish(b, &o);
    node2(b, "Mul", in(0), h, out(0));
}

/* x * tanh(softplus(x)) */
void body_mish(body *b)
{
    name s = fresh(b), t = fresh(b);
    node1(b, "Softplus", in(0), s);
    node1(b, "Tanh", s, t);
    node2(b, "Mul", in(0), t, out(0));
}

/* Functions of one number, in others: fn(x before by) after of. */
void body_unary(body *b)
{
    static const struct {
        clv_op op;
        const char *before;
        double by;
        const char *fn, *after;
        double of;
    } rows[] = {
        {CLV_OP_RSQRT, NULL, 0, "Sqrt", "Pow", -1},
        {CLV_OP_SQUARE, "Pow", 2, NULL, NULL, 0},
        {CLV_OP_EXP2, "Mul", 0.6931471805599453, "Exp", NULL, 0},
        {CLV_OP_EXPM1, NULL, 0, "Exp", "Sub", 1},
        {CLV_OP_LOG2, NULL, 0, "Log", "Mul", 1.4426950408889634},
        {CLV_OP_LOG10, NULL, 0, "Log", "Mul", 0.4342944819032518},
        {CLV_OP_LOG1P, "Add", 1, "Log", NULL, 0},
        {CLV_OP_ERFC, "Mul", -1, "Erf", "Add", 1},
        {CLV_OP_LOGSIGMOID, "Mul", -1, "Softplus", "Mul", -1},
    };
    size_t i = 0;
    while (i + 1 < sizeof rows / sizeof *rows && rows[i].op != b->n->op)
        i++;
    name x = in(0), y = out(0);
    b->unable = form_in(b, 0)->dtype != form_out(b)->dtype;
    if (rows[i].before) {
        y = rows[i].fn ? fresh(b) : out(0);
        node2(b, rows[i].before, x, number_like(b, rows[i].by), y);
        x = y;
    }
    if (rows[i].fn) {
        y = rows[i].after ? fresh(b) : out(0);
        node1(b, rows[i].fn, x, y);
    }
    if (rows[i].after)
        node2(b, rows[i].after, y, number_like(b, rows[i].of), out(0));
}

/* Not infinite, and a number. */
void body_isfinite(body *b)
{
    clv_dtype t = (clv_dtype)form_in(b, 0)->dtype;
    name i = fresh(b), n = fresh(b), either = fresh(b);
    b->unable = t != CLV_FLOAT32 && t != CLV_FLOAT64;
    node1(b, "IsInf", in(0), i);
    node1(b, "IsNaN", in(0), n);
    node2(b, "Or", i, n, either);
    node1(b, "Not", either, out(0));
}

/* A slice from the last element to the first along each axis. */
void body_flip(body *b)
{
    int64_t last[CLV_MAX_RANK], end[CLV_MAX_RANK], step[CLV_MAX_RANK];
    uint32_t n;
    const int64_t *axes = attr_ints(b->n, CLV_A_AXES, &n);
    b->unable = n == 0 || n > CLV_MAX_RANK;
    for (uint32_t i = 0; !b->unable && i < n; i++) {
        last[i] = step[i] = -1;
        end[i] = INT64_MIN + 1;
    }
    if (b->unable)
        return;
    name parts[] = {in(0), ints(b, last, n), ints(b, end, n), ints(b, axes, n),
                    ints(b, step, n)};
    onnx_out o;
    out_start(&o, "Slice", "", "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        out_input(&o, parts[i].s);
    out_output(&o, out(0).s);
    out_finish(b, &o);
}

/* Whole numbers that the node states; floats hold them exactly. */
void body_range(body *b)
{
    enum { EXACT = 1 << 24 };
    static const clv_attr_key keys[] = {CLV_A_START, CLV_A_END, CLV_A_STEP};
    clv_dtype t = (clv_dtype)form_out(b)->dtype;
    bool known = t == CLV_FLOAT32 || t == CLV_INT32 || t == CLV_INT64;
    name at[3] = {none, none, none};
    b->unable = b->n->n_in != 0;
    for (int i = 0; !b->unable && i < 3; i++) {
        double v = i == 1 || attr_get(b->n, keys[i]) ? attr_float(b->n, keys[i])
                                                     : (double)(i == 2);
        b->unable = v != floor(v) || fabs(v) > EXACT;
        at[i] = cast_to(b, number(b, v), known ? t : CLV_INT64);
    }
    name y = known ? out(0) : fresh(b);
    node3(b, "Range", at[0], at[1], at[2], y);
    if (!known) {
        onnx_out o;
        begin(&o, "Cast", y, out(0));
        out_int(&o, "to", onnx_dtype_number(t));
        out_finish(b, &o);
    }
}

/* -- norms ----------------------------------------------------------------*/

/* x / sqrt(mean(x^2) + epsilon) over the axes. */
static name scaled_down(body *b, name x, const int64_t *axes, uint32_t n)
{
    name square = fresh(b), mean = fresh(b), sum = fresh(b), root = fresh(b);
    name y = fresh(b);
    double eps = attr_float(b->n, CLV_A_EPSILON);
    node2(b, "Mul", x, x, square);
    reduce(b, "ReduceMean", square, axes, n, true, mean);
    node2(b, "Add", mean, number_like(b, eps), sum);
    node1(b, "Sqrt", sum, root);
    node2(b, "Div", x, root, y);
    return y;
}

static name centred(body *b, name x, const int64_t *axes, uint32_t n)
{
    name mean = fresh(b), y = fresh(b);
    reduce(b, "ReduceMean", x, axes, n, true, mean);
    node2(b, "Sub", x, mean, y);
    return y;
}

/* y * weight + bias, where the node has them. */
static void affine(body *b, name y, name weight, name bias)
{
    if (*weight.s) {
        name to = *bias.s ? fresh(b) : out(0);
        node2(b, "Mul", y, weight, to);
        y = to;
    }
    if (*bias.s)
        node2(b, "Add", y, bias, out(0));
    else if (!*weight.s)
        node1(b, "Identity", y, out(0));
}

static name input_or_none(body *b, uint32_t i)
{
    return form_in(b, i) ? in((int)i) : none;
}

/* The axes that the norm is over: from `axis` on. */
static uint32_t last_axes(body *b, int64_t *axes)
{
    uint32_t first = axis(b), n = 0;
    for (uint32_t a = first; a < form_in(b, 0)->rank; a++)
        axes[n++] = a;
    return n;
}

void body_layer_norm(body *b)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t n = last_axes(b, axes);
    b->unable = b->n->n_out > 1 || attr_get(b->n, CLV_A_SHAPE);
    name y = scaled_down(b, centred(b, in(0), axes, n), axes, n);
    affine(b, y, input_or_none(b, 1), input_or_none(b, 2));
}

void body_rms_norm(body *b)
{
    int64_t axes[CLV_MAX_RANK];
    uint32_t n = last_axes(b, axes);
    b->unable = b->n->n_out > 1 || attr_get(b->n, CLV_A_SHAPE);
    affine(b, scaled_down(b, in(0), axes, n), input_or_none(b, 1), none);
}

/* x (N,C,..) as (N,G,C/G*..), normed there; weight and bias per channel. */
void body_group_norm(body *b)
{
    const clv_value *x = form_in(b, 0);
    bool each = b->n->op == CLV_OP_INSTANCE_NORM; /* channel is a group */
    int64_t groups[3] = {x->dims[0],
                         each ? x->dims[1] : attr_int(b->n, CLV_A_GROUPS), -1};
    int64_t column[CLV_MAX_RANK], last = 2;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        column[i] = i ? 1 : x->dims[1];
    name rows = shaped(b, in(0), groups, 3);
    name y = scaled_down(b, centred(b, rows, &last, 1), &last, 1);
    y = shaped(b, y, x->dims, x->rank);
    name w = input_or_none(b, 1), c = input_or_none(b, 2);
    if (*w.s)
        w = shaped(b, w, column, x->rank - 1u);
    if (*c.s)
        c = shaped(b, c, column, x->rank - 1u);
    affine(b, y, w, c);
}

/* -- windows --------------------------------------------------------------*/

/* x grown by p at all four sides. */
static name padded_image(body *b, name x, int64_t p)
{
    const int64_t by[8] = {0, 0, p, p, 0, 0, p, p};
    name to = fresh(b);
    node2(b, "Pad", x, ints(b, by, 8), to);
    return p ? to : x;
}

/* (N,C,H,W) -> (N,C*k*k,H*W) for windows that keep the size of the image: one
 * moved image for each place of the window, then channels before places. */
void body_unfold(body *b)
{
    const clv_value *x = form_in(b, 0), *y = form_out(b);
    uint32_t n;
    const int64_t *k = attr_ints(b->n, CLV_A_KERNEL, &n);
    int64_t side = n ? k[0] : 0, h = x->rank == 4 ? x->dims[2] : 0,
            w = x->rank == 4 ? x->dims[3] : 0;
    b->unable = !h || side % 2 == 0 || k[n - 1] != side ||
                y->dims[1] != x->dims[1] * side * side || y->dims[2] != h * w;
    if (b->unable)
        return;
    name all = none, from = padded_image(b, in(0), side / 2);
    const int64_t one[] = {x->dims[0], x->dims[1], 1, h * w};
    for (int64_t i = 0; i < side * side; i++) {
        name row = part(b, from, i / side, i / side + h, 2);
        name to = fresh(b);
        name moved = shaped(b, part(b, row, i % side, i % side + w, 3), one, 4);
        if (i)
            joined(b, all, moved, 2, to);
        all = i ? to : moved;
    }
    node2(b, "Reshape", all, ints(b, y->dims, 3), out(0));
}

/* -- rotary positions -----------------------------------------------------*/

/* Rows of a table by position, or as they are: (B,1,S,half) of (B,S,half). */
static name table_rows(body *b, int i, int64_t half)
{
    const clv_value *t = form_in(b, (uint32_t)i);
    name rows = in(i), cut = none;
    int64_t axes = 1;
    if (form_in(b, 3)) {
        rows = fresh(b);
        node2(b, "Gather", in(i), in(3), rows);
    }
    cut = t->dims[t->rank - 1] == half ? rows : part(b, rows, 0, half, -1);
    name to = fresh(b);
    node2(b, "Unsqueeze", cut, ints(b, &axes, 1), to);
    return to;
}

/* Pairs (x1,x2) turned: x1 cos - x2 sin, x1 sin + x2 cos. */
static void turn(body *b, name x1, name x2, name cosine, name sine, name *y)
{
    name p[4] = {fresh(b), fresh(b), fresh(b), fresh(b)};
    node2(b, "Mul", x1, cosine, p[0]);
    node2(b, "Mul", x2, sine, p[1]);
    node2(b, "Mul", x1, sine, p[2]);
    node2(b, "Mul", x2, cosine, p[3]);
    y[0] = fresh(b);
    y[1] = fresh(b);
    node2(b, "Sub", p[0], p[1], y[0]);
    node2(b, "Add", p[2], p[3], y[1]);
}

/* Heads (B,H,S,D): the first `dim` of D are turned, by halves or by
 * neighbours. */
static name turned(body *b, name x, const int64_t *dims, int64_t dim)
{
    bool pairs = attr_int(b->n, CLV_A_INTERLEAVED) != 0;
    int64_t half = dim / 2, five[5] = {dims[0], dims[1], dims[2], half, 2};
    int64_t four[4] = {dims[0], dims[1], dims[2], half};
    name cosine = table_rows(b, 1, half), sine = table_rows(b, 2, half);
    name first = dim == dims[3] ? x : part(b, x, 0, dim, 3), y[2];
    name split = pairs ? shaped(b, first, five, 5) : first;
    name x1 = part(b, split, 0, pairs ? 1 : half, pairs ? 4 : 3);
    name x2 = part(b, split, pairs ? 1 : half, pairs ? 2 : dim, pairs ? 4 : 3);
    if (pairs) {
        x1 = shaped(b, x1, four, 4);
        x2 = shaped(b, x2, four, 4);
    }
    turn(b, x1, x2, cosine, sine, y);
    name both = fresh(b);
    if (pairs) {
        int64_t one[5] = {dims[0], dims[1], dims[2], half, 1};
        joined(b, shaped(b, y[0], one, 5), shaped(b, y[1], one, 5), 4, both);
        four[3] = dim;
        both = shaped(b, both, four, 4);
    } else {
        joined(b, y[0], y[1], 3, both);
    }
    if (dim == dims[3])
        return both;
    name whole = fresh(b);
    joined(b, both, part(b, x, dim, dims[3], 3), 3, whole);
    return whole;
}

static const int64_t swap[4] = {0, 2, 1, 3}, last_two[4] = {0, 1, 3, 2};

/* (B,S,H*D) as heads (B,H,S,D), whose sizes go to dims; those already so as
 * they are. */
static name as_heads(body *b, name x, const clv_value *v, int64_t heads,
                     int64_t *dims)
{
    if (v->rank == 4) {
        memcpy(dims, v->dims, 4 * sizeof *dims);
        return x;
    }
    b->unable = b->unable || v->rank != 3 || heads < 1 || v->dims[2] % heads;
    if (b->unable)
        return x;
    int64_t split[4] = {v->dims[0], v->dims[1], heads, v->dims[2] / heads};
    for (int i = 0; i < 4; i++)
        dims[i] = split[swap[i]];
    return permuted(b, shaped(b, x, split, 4), swap, 4);
}

void body_rotary(body *b)
{
    const clv_value *x = form_in(b, 0), *table = form_in(b, 1);
    int64_t dims[4] = {0}, half = table->dims[table->rank - 1];
    int64_t dim = attr_int(b->n, CLV_A_ROTARY_DIM);
    int64_t heads = attr_int(b->n, CLV_A_HEADS);
    const char *from = b->n->origin ? b->n->origin : "";
    dim = dim ? dim : 2 * half;
    b->unable = strcmp(from, "RotaryEmbedding") || dim > 2 * half || dim % 2;
    name h = as_heads(b, in(0), x, heads, dims);
    if (b->unable || dim > dims[3]) {
        b->unable = true;
        return;
    }
    name y = turned(b, h, dims, dim);
    if (x->rank == 3)
        y = shaped(b, permuted(b, y, swap, 4), x->dims, 3);
    node1(b, "Identity", y, out(0));
}

/* -- attention ------------------------------------------------------------*/

typedef struct scores {
    int64_t q[4], k[4], v[4]; /* (B,H,S,D) each; k and v with the past */
    int64_t before;           /* keys of the past */
} scores;

/* Keys or values behind those of the past, which are an output as well. */
static name form_with_past(body *b, name x, int past, int o, int64_t *dims)
{
    const clv_value *p = form_in(b, (uint32_t)past);
    bool wanted =
        (uint32_t)o < b->n->n_out && node_outs(b->g, b->n)[o] != CLV_NONE;
    name all = x;
    if (p) {
        all = fresh(b);
        joined(b, in(past), x, 2, all);
        dims[2] += p->dims[2];
    }
    if (wanted)
        node1(b, "Identity", all, out(o));
    return all;
}

/* (B,Hkv,T,D) with each head `times` times: groups of queries share one. */
static name repeated(body *b, name x, const int64_t *dims, int64_t times)
{
    int64_t one[5] = {dims[0], dims[1], 1, dims[2], dims[3]};
    int64_t many[5] = {dims[0], dims[1], times, dims[2], dims[3]};
    int64_t flat[4] = {dims[0], dims[1] * times, dims[2], dims[3]};
    if (times == 1)
        return x;
    name wide = fresh(b);
    node2(b, "Expand", shaped(b, x, one, 5), ints(b, many, 5), wide);
    return shaped(b, wide, flat, 4);
}

/* Query i sees keys up to before + i: a number to add, -infinity beyond. */
static name causal(body *b, const scores *s, name x)
{
    int64_t rows = s->q[2], keys = s->k[2], column[2] = {rows, 1};
    int64_t line[2] = {1, keys}, ends[2] = {rows, keys}, zero = 0, one = 1;
    name scalar[3], list[2], seen = fresh(b), bias = fresh(b), y = fresh(b);
    for (int i = 0; i < 2; i++) {
        list[i] = fresh(b);
        scalar[0] = shaped(b, ints(b, &zero, 1), NULL, 0);
        scalar[1] = shaped(b, ints(b, &ends[i], 1), NULL, 0);
        scalar[2] = shaped(b, ints(b, &one, 1), NULL, 0);
        node3(b, "Range", scalar[0], scalar[1], scalar[2], list[i]);
    }
    name last = fresh(b);
    node2(b, "Add", shaped(b, list[0], column, 2), ints(b, &s->before, 1),
          last);
    node2(b, "LessOrEqual", shaped(b, list[1], line, 2), last, seen);
    node3(b, "Where", seen, number_like(b, 0), number_like(b, -INFINITY), bias);
    node2(b, "Add", x, bias, y);
    return y;
}

/* A mask of numbers is added; one of bools keeps or drops. */
static name masked(body *b, name x)
{
    const clv_value *m = form_in(b, 3);
    name bias = in(3), y = fresh(b);
    if (!m)
        return x;
    if (m->dtype == CLV_BOOL) {
        bias = fresh(b);
        node3(b, "Where", in(3), number_like(b, 0), number_like(b, -INFINITY),
              bias);
    }
    node2(b, "Add", x, bias, y);
    return y;
}

static name capped(body *b, name x, double cap)
{
    if (!(cap > 0))
        return x;
    name d = fresh(b), t = fresh(b), y = fresh(b);
    node2(b, "Div", x, number_like(b, cap), d);
    node1(b, "Tanh", d, t);
    node2(b, "Mul", t, number_like(b, cap), y);
    return y;
}

/* softmax(q k' scale, capped, masked) v, with the numbers as heads. */
static name mixed(body *b, const scores *s, name q, name k, name v)
{
    const clv_attr *given = attr_get(b->n, CLV_A_SCALE);
    double scale = given ? attr_float(b->n, CLV_A_SCALE) : 0;
    scale = scale != 0 ? scale : 1 / sqrt((double)s->q[3]);
    name dot = fresh(b), x = fresh(b), soft = fresh(b), y = fresh(b);
    node2(b, "MatMul", q, permuted(b, k, last_two, 4), dot);
    node2(b, "Mul", dot, number_like(b, scale), x);
    if (b->n->op == CLV_OP_ATTENTION)
        x = capped(b, x, attr_float(b->n, CLV_A_SOFTCAP));
    if (attr_int(b->n, CLV_A_CAUSAL))
        x = causal(b, s, x);
    x = masked(b, x);
    onnx_out o;
    begin(&o, "Softmax", x, soft);
    out_int(&o, "axis", -1);
    out_finish(b, &o);
    node2(b, "MatMul", soft, v, y);
    return y;
}

/* No scores as a result, keys that do not count, turned heads, room for more
 * keys, windows, or a key without a value. */
static bool is_plain(const body *b)
{
    return b->n->n_out <= 3 && !form_in(b, 6) && !form_in(b, 7) &&
           !attr_get(b->n, CLV_A_SIZE) &&
           attr_int(b->n, CLV_A_LOCAL_WINDOW) <= 0 &&
           attr_int(b->n, CLV_A_LEFT_WINDOW) < 0 &&
           attr_int(b->n, CLV_A_RIGHT_WINDOW) < 0 &&
           !attr_int(b->n, CLV_A_SMOOTH_SOFTMAX);
}

void body_attention(body *b)
{
    scores s = {.before = 0};
    const clv_value *q = form_in(b, 0), *past = form_in(b, 4);
    int64_t heads = attr_int(b->n, CLV_A_HEADS);
    int64_t kv = attr_int(b->n, CLV_A_KV_HEADS);
    b->unable = !is_plain(b);
    name qh = as_heads(b, in(0), q, heads, s.q);
    name kh = as_heads(b, in(1), form_in(b, 1), kv, s.k);
    name vh = as_heads(b, in(2), form_in(b, 2), kv, s.v);
    if (b->unable)
        return;
    s.before = past ? past->dims[2] : 0;
    const clv_value *mask = form_in(b, 3);
    int64_t wide = mask && mask->rank ? mask->dims[mask->rank - 1] : 1;
    if (wide != 1 && wide < s.k[2] + s.before) { /* which pads it */
        b->unable = true;
        return;
    }
    kh = repeated(b, form_with_past(b, kh, 4, 1, s.k), s.k, s.q[1] / s.k[1]);
    vh = repeated(b, form_with_past(b, vh, 5, 2, s.v), s.v, s.q[1] / s.v[1]);
    name y = mixed(b, &s, qh, kh, vh);
    if (q->rank == 3)
        y = shaped(b, permuted(b, y, swap, 4), form_out(b)->dims, 3);
    node1(b, "Identity", y, out(0));
}

/* Heads (B,H,S,D) that are there already; fewer heads of keys are repeated. */
void body_sdpa(body *b)
{
    scores s = {.before = 0};
    int64_t *dims[3] = {s.q, s.k, s.v};
    b->unable = b->n->n_out != 1;
    for (uint32_t i = 0; i < 3; i++) {
        const clv_value *v = form_in(b, i);
        if (v->rank != 4)
            b->unable = true;
        else
            memcpy(dims[i], v->dims, sizeof s.q);
    }
    if (b->unable || s.k[1] < 1 || s.v[1] < 1) {
        b->unable = true;
        return;
    }
    name k = repeated(b, in(1), s.k, s.q[1] / s.k[1]);
    name v = repeated(b, in(2), s.v, s.q[1] / s.v[1]);
    node1(b, "Identity", mixed(b, &s, in(0), k, v), out(0));
}

/* The three equal parts of a projection's weight or bias. */
static void mha_thirds(body *b, name x, int64_t e, name to[3])
{
    onnx_out o;
    name sizes = ints(b, (const int64_t[]){e, e, e}, 3);
    out_start(&o, "Split", "", "");
    out_input(&o, x.s);
    out_input(&o, sizes.s);
    for (int i = 0; i < 3; i++) {
        to[i] = fresh(b);
        out_output(&o, to[i].s);
    }
    out_int(&o, "axis", 0);
    out_finish(b, &o);
}

/* x w' + bias */
static name mha_project(body *b, name x, name w, name bias)
{
    static const int64_t turned[2] = {1, 0};
    name y = fresh(b), z = fresh(b);
    node2(b, "MatMul", x, permuted(b, w, turned, 2), y);
    node2(b, "Add", y, bias, z);
    return z;
}

/* All four projections, no mask, and keys and values as wide as queries. */
static bool mha_is_plain(const body *b)
{
    const clv_value *q = form_in(b, 0);
    bool plain =
        q->rank == 3 && b->n->n_out <= 2 && !attr_int(b->n, CLV_A_CAUSAL);
    for (uint32_t i = 1; i < 3; i++)
        plain = plain && form_in(b, i)->dims[2] == q->dims[2];
    for (uint32_t i = 3; i < 11; i++)
        plain = plain && !form_in(b, i) == (i > 6);
    return plain;
}

/* torch's module: projections, attention, projection. Result 1 is the mean of
 * the scores of all heads. */
void body_mha(body *b)
{
    static const int64_t rows[3] = {1, 0, 2}, second = 1;
    int64_t heads = attr_int(b->n, CLV_A_HEADS);
    bool batch = attr_is(b->n, CLV_A_LAYOUT, "batch");
    b->unable = !mha_is_plain(b) || heads < 1;
    if (b->unable)
        return;
    int64_t e = form_in(b, 0)->dims[2], n = form_in(b, 0)->dims[batch ? 0 : 1];
    name w[3], bias[3], x[3], dot = fresh(b), scaled = fresh(b);
    name soft = fresh(b), y = fresh(b);
    mha_thirds(b, in(3), e, w);
    mha_thirds(b, in(4), e, bias);
    for (int i = 0; i < 3; i++) {
        int64_t s = form_in(b, (uint32_t)i)->dims[batch ? 1 : 0];
        x[i] = batch ? in(i) : permuted(b, in(i), rows, 3);
        x[i] = mha_project(b, x[i], w[i], bias[i]);
        x[i] = shaped(b, x[i], (const int64_t[]){n, s, heads, e / heads}, 4);
        x[i] = permuted(b, x[i], swap, 4);
    }
    node2(b, "MatMul", x[0], permuted(b, x[1], last_two, 4), dot);
    node2(b, "Mul", dot, number_like(b, 1 / sqrt((double)(e / heads))), scaled);
    onnx_out o;
    begin(&o, "Softmax", scaled, soft);
    out_int(&o, "axis", -1);
    out_finish(b, &o);
    node2(b, "MatMul", soft, x[2], y);
    int64_t l = form_in(b, 0)->dims[batch ? 1 : 0];
    y = shaped(b, permuted(b, y, swap, 4), (const int64_t[]){n, l, e}, 3);
    y = mha_project(b, y, in(5), in(6));
    node1(b, "Identity", batch ? y : permuted(b, y, rows, 3), out(0));
    if (b->n->n_out > 1)
        reduce(b, "ReduceMean", soft, &second, 1, false, out(1));
}

/* The k largest, k as an attribute; ONNX has it as an input. */
void body_topk(body *b)
{
    onnx_out o;
    int64_t k = attr_int(b->n, CLV_A_K);
    b->unable = b->n->n_in != 1 || b->n->n_out != 2;
    if (b->unable)
        return;
    name count = ints(b, &k, 1);
    out_start(&o, "TopK", "", "");
    out_input(&o, in(0).s);
    out_input(&o, count.s);
    out_output(&o, out(0).s);
    out_output(&o, out(1).s);
    out_int(&o, "axis", attr_int(b->n, CLV_A_AXIS));
    out_int(&o, "largest", attr_int(b->n, CLV_A_LARGEST));
    out_int(&o, "sorted", attr_int(b->n, CLV_A_SORTED));
    out_finish(b, &o);
}

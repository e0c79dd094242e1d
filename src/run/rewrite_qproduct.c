/* rewrite_qproduct.c - convolutions, products, sums of dequantised bytes whose
 * results are quantised: one operator on bytes each.
 *
 * Between a product and quantize there may be a bias and bounds (relu, clamp).
 * Bounds hold of codes as well as of what they stand for, so they follow as a
 * table, or are the ends of the codes anyway. */
#include "run/rewrite_quant.h"

#include <math.h>
#include <string.h>

/* -- looking and building -------------------------------------------------*/

clv_dtype rwq_type(const rewriter *r, uint32_t v)
{
    return (clv_dtype)r->g->values[v].dtype;
}

bool rwq_is_bytes(const rewriter *r, uint32_t v)
{
    clv_dtype t = rwq_type(r, v);
    return t == CLV_INT8 || t == CLV_UINT8;
}

/* Reads scale and zero point of node id, which are known, and of floats of 32
 * bits on the other side. */
static bool rwq_read(const rewriter *r, uint32_t id, uint32_t x, quant_of *q)
{
    const clv_node *n = rw_node(r, id);
    *q = (quant_of){x, rw_in(r, id, 1), rw_in(r, id, 2), 1, 0};
    const clv_tensor *scale = rw_known(r, q->scale);
    const clv_tensor *zero = rw_known(r, q->zero);
    if (!rw_is_static(r, x) || !scale || scale->dtype != CLV_FLOAT32 ||
        (q->zero != CLV_NONE && !zero) || attr_int(n, CLV_A_BLOCK) > 0)
        return false;
    q->many = clv_tensor_numel(scale);
    if (q->many != 1 && norm_axis(attr_int(n, CLV_A_AXIS), rw_rank(r, x),
                                  &q->axis, NULL) != CLV_OK)
        return false;
    for (int64_t i = 0; i < q->many; i++)
        if (!(get_f(scale, i) > 0) || !isfinite(get_f(scale, i)))
            return false;
    return !zero ||
           (clv_tensor_numel(zero) == q->many && zero->dtype == rwq_type(r, x));
}

bool rwq_made(const rewriter *r, uint32_t v, quant_of *q)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_DEQUANTIZE_LINEAR);
    return id != CLV_NONE && rw_is_float(r, v) &&
           attr_float(rw_node(r, id), CLV_A_OFFSET) == 0 &&
           rwq_read(r, id, rw_in(r, id, 0), q);
}

bool rwq_made_bytes(const rewriter *r, uint32_t v, quant_of *q)
{
    return v != CLV_NONE && rwq_made(r, v, q) && rwq_is_bytes(r, q->x) &&
           q->many == 1;
}

bool rwq_gives_bytes(const rewriter *r, uint32_t id, quant_of *q)
{
    uint32_t x = rw_in(r, id, 0);
    return x != CLV_NONE && rw_is_float(r, x) &&
           rwq_read(r, id, rw_out(r, id), q) && rwq_is_bytes(r, q->x) &&
           q->many == 1;
}

double rwq_scale(const rewriter *r, const quant_of *q, int64_t i)
{
    return get_f(rw_known(r, q->scale), q->many > 1 ? i : 0);
}

double rwq_zero(const rewriter *r, const quant_of *q)
{
    return q->zero == CLV_NONE ? 0 : get_f(rw_known(r, q->zero), 0);
}

bool rwq_alike(const rewriter *r, const quant_of *a, const quant_of *b)
{
    return rwq_type(r, a->x) == rwq_type(r, b->x) &&
           rwq_scale(r, a, 0) == rwq_scale(r, b, 0) &&
           rwq_zero(r, a) == rwq_zero(r, b);
}

uint32_t rwq_zero_value(rewriter *r, const quant_of *q)
{
    clv_tensor t;
    return q->zero != CLV_NONE ? q->zero
                               : rw_const(r, rwq_type(r, q->x), 0, NULL, &t);
}

void rwq_form(rewriter *r, rw_form *f, const quant_of *q)
{
    rw_form_input(f, q->x);
    rw_form_input(f, q->scale);
    rw_form_input(f, rwq_zero_value(r, q));
}

bool rwq_form_again(const rewriter *r, uint32_t id, uint32_t x, rw_form *f)
{
    const clv_node *n = rw_node(r, id);
    *f = (rw_form){.op = (clv_op)n->op};
    if (n->n_in > RW_INPUTS || n->n_attrs > RW_ATTRS)
        return false;
    rw_form_input(f, x);
    for (uint32_t i = 1; i < n->n_in; i++)
        rw_form_input(f, rw_in(r, id, i));
    for (uint32_t i = 0; i < n->n_attrs; i++)
        f->attr[f->n_attr++] = n->attrs[i];
    return true;
}

/* -- between a product and quantize ---------------------------------------*/

/* What a quantize node does with a product. */
typedef struct qproduct_end {
    quant_of y;
    double low, high; /* bounds before it is quantised; infinite: none */
    uint32_t product; /* the value that is bounded */
} qproduct_end;

/* Node id quantises a value that nobody else reads, or its bounded form. */
static bool qproduct_end_of(const rewriter *r, uint32_t id, qproduct_end *e)
{
    e->low = -INFINITY;
    e->high = INFINITY;
    e->product = rw_in(r, id, 0);
    if (!rwq_gives_bytes(r, id, &e->y) || !rw_once(r, e->product))
        return false;
    uint32_t bound = rw_maker(r, e->product);
    if (bound != CLV_NONE && rw_node(r, bound)->n_out == 1 &&
        rw_bounds(r, bound, &e->low, &e->high)) {
        e->product = rw_in(r, bound, 0);
        return e->product != CLV_NONE && rw_once(r, e->product) &&
               !isnan(e->low) && !isnan(e->high);
    }
    return true;
}

/* The code that a bound becomes. */
static int64_t qproduct_code(const rewriter *r, const quant_of *y, double x)
{
    int64_t least = rwq_type(r, y->x) == CLV_INT8 ? INT8_MIN : 0;
    double v = nearbyint(x / rwq_scale(r, y, 0)) + rwq_zero(r, y);
    return v < (double)least         ? least
           : v > (double)least + 255 ? least + 255
                                     : (int64_t)v;
}

/* Node id becomes f, bounded as e says. */
static bool qproduct_become(rewriter *r, uint32_t id, const qproduct_end *e,
                            const rw_form *f)
{
    enum { CODES = 256 };
    clv_dtype type = rwq_type(r, e->y.x);
    int64_t least = type == CLV_INT8 ? INT8_MIN : 0, n = CODES;
    int64_t low = qproduct_code(r, &e->y, e->low);
    int64_t high = qproduct_code(r, &e->y, e->high);
    clv_tensor t;
    if (r->failed)
        return false;
    if (low == least && high == least + CODES - 1)
        return rw_become(r, id, f);
    uint32_t free = rw_add(r, f), table = rw_const(r, type, 1, &n, &t);
    if (free == CLV_NONE || table == CLV_NONE)
        return false;
    for (int64_t i = 0; i < CODES; i++) {
        int64_t v = i + least;
        put_i(&t, i, v < low ? low : v > high ? high : v);
    }
    rw_form bounded = {.op = CLV_OP_BYTE_TABLE};
    rw_form_input(&bounded, free);
    rw_form_input(&bounded, table);
    return rw_become(r, id, &bounded);
}

/* Numbers that are known, or that dequantize makes of what is. The tensor is a
 * copy: the rewriter's own move when a constant is added. */
typedef struct qproduct_numbers {
    clv_tensor t;
    quant_of q; /* if `codes` */
    bool codes;
} qproduct_numbers;

static bool qproduct_read(const rewriter *r, uint32_t v, qproduct_numbers *b)
{
    const clv_tensor *t = rw_known(r, v);
    b->codes = !t;
    if (b->codes && rwq_made(r, v, &b->q))
        t = rw_known(r, b->q.x);
    if (t)
        b->t = *t;
    return t && (b->codes || t->dtype == CLV_FLOAT32);
}

static double qproduct_number(const rewriter *r, const qproduct_numbers *b,
                              int64_t i)
{
    double v = get_f(&b->t, i);
    if (!b->codes)
        return v;
    if (b->q.zero != CLV_NONE)
        v -= get_f(rw_known(r, b->q.zero), b->q.many > 1 ? i : 0);
    return v * rwq_scale(r, &b->q, i);
}

/* A bias of n channels in units of the product's steps; CLV_NONE: it is not
 * known, or does not fit. */
static uint32_t qproduct_bias(rewriter *r, uint32_t v, int64_t n,
                              const quant_of *x, const quant_of *w)
{
    const double most = 1 << 30;
    qproduct_numbers from;
    clv_tensor t;
    if (clv__numel(&r->g->values[v]) != n || rw_dim(r, v, -1) != n ||
        !qproduct_read(r, v, &from))
        return CLV_NONE;
    uint32_t c = rw_const(r, CLV_INT32, 1, &n, &t);
    for (int64_t i = 0; c != CLV_NONE && i < n; i++) {
        double b = nearbyint(qproduct_number(r, &from, i) /
                             (rwq_scale(r, x, 0) * rwq_scale(r, w, i)));
        if (!(fabs(b) <= most))
            return CLV_NONE;
        put_i(&t, i, (int64_t)b);
    }
    return c;
}

/* -- convolutions ---------------------------------------------------------*/

/* The weight of a product: bytes, with a scale for all or each of `axis`. */
static bool qproduct_weight(const rewriter *r, uint32_t v, uint32_t axis,
                            quant_of *w)
{
    return v != CLV_NONE && rwq_made(r, v, w) && rwq_is_bytes(r, w->x) &&
           (w->many == 1 ||
            (w->axis == axis && w->many == rw_dim(r, w->x, (int)axis)));
}

static bool is_conv(clv_op op)
{
    return op == CLV_OP_CONV1D || op == CLV_OP_CONV2D || op == CLV_OP_CONV3D;
}

bool rewrite_quant_conv(rewriter *r, uint32_t id)
{
    static const clv_attr_key windows[] = {CLV_A_STRIDE, CLV_A_PADDING,
                                           CLV_A_DILATION, CLV_A_AUTO_PAD,
                                           CLV_A_GROUPS};
    qproduct_end e;
    quant_of x, w;
    if (!qproduct_end_of(r, id, &e))
        return false;
    uint32_t conv = rw_maker(r, e.product);
    if (conv == CLV_NONE || !is_conv(rw_op(r, conv)) ||
        !rwq_made_bytes(r, rw_in(r, conv, 0), &x) ||
        rw_rank(r, x.x) != rw_rank(r, rw_in(r, conv, 1)) ||
        !qproduct_weight(r, rw_in(r, conv, 1), 0, &w))
        return false;
    rw_form f = {.op = CLV_OP_QLINEAR_CONV};
    rwq_form(r, &f, &x);
    rwq_form(r, &f, &w);
    rw_form_input(&f, e.y.scale);
    rw_form_input(&f, rwq_zero_value(r, &e.y));
    uint32_t bias = rw_in(r, conv, 2);
    if (bias != CLV_NONE) {
        bias = qproduct_bias(r, bias, rw_dim(r, w.x, 0), &x, &w);
        if (bias == CLV_NONE)
            return false;
        rw_form_input(&f, bias);
    }
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        rw_form_attr(r, &f, conv, windows[i]);
    return qproduct_become(r, id, &e, &f);
}

/* -- matrices -------------------------------------------------------------*/

/* y = a b + bias, b (..,K,N) or, turned, a weight (N,K). */
typedef struct qproduct {
    uint32_t a, b, bias; /* values of floats; bias: CLV_NONE if there is none */
    bool turned;
} qproduct;

static bool qproduct_of(const rewriter *r, uint32_t v, qproduct *p)
{
    uint32_t id = rw_maker(r, v);
    if (id == CLV_NONE)
        return false;
    const clv_node *n = rw_node(r, id);
    *p = (qproduct){rw_in(r, id, 0), rw_in(r, id, 1), rw_in(r, id, 2), false};
    switch ((clv_op)n->op) {
    case CLV_OP_LINEAR:
        p->turned = true;
        return true;
    case CLV_OP_GEMM:
        p->turned = attr_int(n, CLV_A_TRANS_B) != 0;
        return !attr_int(n, CLV_A_TRANS_A) && attr_float(n, CLV_A_ALPHA) == 1 &&
               (p->bias == CLV_NONE || attr_float(n, CLV_A_BETA) == 1);
    case CLV_OP_MATMUL:
    case CLV_OP_BMM:
        p->bias = CLV_NONE;
        return rw_rank(r, p->a) >= 2 && rw_rank(r, p->b) >= 2;
    default:
        return false;
    }
}

/* The same, with a bias that is added behind it. */
static bool qproduct_sum(const rewriter *r, uint32_t v, qproduct *p)
{
    uint32_t add = rw_made_by(r, v, CLV_OP_ADD);
    if (qproduct_of(r, v, p))
        return true;
    if (add == CLV_NONE || rw_node(r, add)->n_in != 2 ||
        rw_node(r, add)->n_attrs)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t y = rw_in(r, add, i);
        if (qproduct_of(r, y, p) && p->bias == CLV_NONE && rw_once(r, y) &&
            rw_same_shape(r, y, v)) {
            p->bias = rw_in(r, add, 1 - i);
            return true;
        }
    }
    return false;
}

/* A known matrix of bytes, turned. */
static uint32_t qproduct_turn(rewriter *r, uint32_t v)
{
    const clv_tensor *from = rw_known(r, v);
    clv_tensor t;
    if (!from || from->rank != 2)
        return CLV_NONE;
    int64_t rows = from->dims[0], columns = from->dims[1];
    const uint8_t *x = from->data;
    uint32_t c = rw_const(r, from->dtype, 2, (int64_t[]){columns, rows}, &t);
    uint8_t *y = c == CLV_NONE ? NULL : t.data;
    for (int64_t i = 0; y && i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            y[j * rows + i] = x[i * columns + j];
    return c;
}

bool rewrite_quant_product(rewriter *r, uint32_t id)
{
    qproduct_end e;
    qproduct p;
    quant_of a, b;
    if (!qproduct_end_of(r, id, &e) || !qproduct_sum(r, e.product, &p) ||
        !rwq_made_bytes(r, p.a, &a))
        return false;
    uint32_t rank = rw_rank(r, p.b), axis = p.turned ? 0 : rank - 1;
    if (!qproduct_weight(r, p.b, axis, &b) ||
        (p.turned && (rank != 2 || !rw_known(r, b.x))))
        return false;
    int64_t n = rw_dim(r, b.x, (int)axis);
    bool biased = p.bias != CLV_NONE;
    if (biased)
        p.bias = qproduct_bias(r, p.bias, n, &a, &b);
    if (biased && p.bias == CLV_NONE)
        return false;
    rw_form f = {.op = CLV_OP_QLINEAR_MATMUL};
    rwq_form(r, &f, &a);
    if (p.turned)
        b.x = qproduct_turn(r, b.x);
    if (b.x == CLV_NONE)
        return false;
    rwq_form(r, &f, &b);
    rw_form_input(&f, e.y.scale);
    rw_form_input(&f, rwq_zero_value(r, &e.y));
    if (biased)
        rw_form_input(&f, p.bias);
    return qproduct_become(r, id, &e, &f);
}

/* -- sums and products of elements ----------------------------------------*/

bool rewrite_quant_two(rewriter *r, uint32_t id)
{
    qproduct_end e;
    quant_of a, b;
    if (!qproduct_end_of(r, id, &e))
        return false;
    uint32_t two = rw_maker(r, e.product);
    if (two == CLV_NONE ||
        (rw_op(r, two) != CLV_OP_ADD && rw_op(r, two) != CLV_OP_MUL) ||
        rw_node(r, two)->n_in != 2 || rw_node(r, two)->n_attrs ||
        !rwq_made_bytes(r, rw_in(r, two, 0), &a) ||
        !rwq_made_bytes(r, rw_in(r, two, 1), &b))
        return false;
    rw_form f = {.op = rw_op(r, two) == CLV_OP_ADD ? CLV_OP_QLINEAR_ADD
                                                   : CLV_OP_QLINEAR_MUL};
    rwq_form(r, &f, &a);
    rwq_form(r, &f, &b);
    rw_form_input(&f, e.y.scale);
    rw_form_input(&f, rwq_zero_value(r, &e.y));
    return qproduct_become(r, id, &e, &f);
}

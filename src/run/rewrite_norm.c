/* rewrite_norm.c - norms that an exporter took apart.
 *
 *   layer norm   d = x - mean(x);  d / sqrt(mean(d^2) + eps)
 *   RMS norm     x / sqrt(mean(x^2) + eps)
 *   group norm   an instance norm of x as (N, G, rest), back in x's shape
 *
 * The core is found first, without weight and bias. A product with a constant
 * behind it then becomes its weight, and a sum its bias. */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

/* -- cores ----------------------------------------------------------------*/

/* Node id is the mean over the last axes, from *axis on, which are kept. */
static bool mean_of_last(const rewriter *r, uint32_t id, uint32_t *axis)
{
    const clv_node *n = rw_node(r, id);
    uint32_t x = rw_in(r, id, 0), rank = rw_rank(r, x), a;
    bool over[CLV_MAX_RANK] = {false};
    int_list axes;
    if (!attr_int(n, CLV_A_KEEPDIM) || !rank ||
        get_ints(r->g, n, CLV_A_AXES, 1, &axes, NULL) != CLV_OK || !axes.n)
        return false;
    for (uint32_t i = 0; i < axes.n; i++) {
        if (norm_axis(axes.v[i], rank, &a, NULL) != CLV_OK)
            return false;
        over[a] = true;
    }
    *axis = rank;
    while (*axis > 0 && over[*axis - 1])
        --*axis;
    for (uint32_t i = 0; i < *axis; i++)
        if (over[i])
            return false;
    return *axis < rank;
}

/* What is squared in sqrt(mean(b^2) + eps). */
typedef struct deviation {
    uint32_t b, axis;
    double eps;
} deviation;

static bool deviation_of(const rewriter *r, uint32_t v, deviation *d)
{
    uint32_t root = rw_made_by(r, v, CLV_OP_SQRT), sum, mean, sq;
    if (root == CLV_NONE)
        return false;
    d->eps = 0;
    sum = rw_in(r, root, 0);
    if (!rw_made_with(r, sum, CLV_OP_ADD, &mean, &d->eps))
        mean = sum;
    uint32_t id = rw_made_by(r, mean, CLV_OP_MEAN);
    if (id == CLV_NONE || !mean_of_last(r, id, &d->axis))
        return false;
    sq = rw_maker(r, rw_in(r, id, 0));
    return sq != CLV_NONE && rw_is_square(r, sq, &d->b);
}

/* v is 1 / sqrt(mean(b^2) + eps). */
static bool inverse_of(const rewriter *r, uint32_t v, deviation *d)
{
    uint32_t id = rw_maker(r, v), x;
    double c;
    if (id == CLV_NONE)
        return false;
    if (rw_op(r, id) == CLV_OP_RECIPROCAL)
        return deviation_of(r, rw_in(r, id, 0), d);
    if (rw_op(r, id) == CLV_OP_DIV)
        return rw_number(r, rw_in(r, id, 0), &c) && c == 1 &&
               deviation_of(r, rw_in(r, id, 1), d);
    bool power = rw_op(r, id) == CLV_OP_POW && rw_with_number(r, id, &x, &c) &&
                 c == -0.5;
    if (rw_op(r, id) != CLV_OP_RSQRT && !power)
        return false;
    uint32_t sum = rw_in(r, id, 0), mean;
    d->eps = 0;
    if (!rw_made_with(r, sum, CLV_OP_ADD, &mean, &d->eps))
        mean = sum;
    uint32_t m = rw_made_by(r, mean, CLV_OP_MEAN);
    if (m == CLV_NONE || !mean_of_last(r, m, &d->axis))
        return false;
    uint32_t sq = rw_maker(r, rw_in(r, m, 0));
    return sq != CLV_NONE && rw_is_square(r, sq, &d->b);
}

/* v is x less its mean over the axes from `axis` on. */
static bool is_centred(const rewriter *r, uint32_t v, uint32_t axis,
                       uint32_t *x)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_SUB), a;
    if (id == CLV_NONE || rw_node(r, id)->n_in != 2)
        return false;
    *x = rw_in(r, id, 0);
    uint32_t m = rw_made_by(r, rw_in(r, id, 1), CLV_OP_MEAN);
    return m != CLV_NONE && rw_in(r, m, 0) == *x && mean_of_last(r, m, &a) &&
           a == axis;
}

/* Node id is num times the inverse of a deviation. */
static bool normalised(const rewriter *r, uint32_t id, uint32_t *num,
                       deviation *d)
{
    uint32_t a = rw_in(r, id, 0), b = rw_in(r, id, 1);
    if (rw_node(r, id)->n_in != 2)
        return false;
    *num = a;
    if (rw_op(r, id) == CLV_OP_DIV)
        return attr_is(rw_node(r, id), CLV_A_MODE, "none") &&
               deviation_of(r, b, d);
    if (inverse_of(r, b, d))
        return true;
    *num = b;
    return inverse_of(r, a, d);
}

bool rewrite_norm_core(rewriter *r, uint32_t id)
{
    uint32_t num, x, other;
    deviation d;
    if (!rw_is_float(r, rw_out(r, id)) || !normalised(r, id, &num, &d) ||
        !rw_same_shape(r, num, rw_out(r, id)) || !rw_is_float(r, num))
        return false;
    bool layer = is_centred(r, d.b, d.axis, &x);
    if (layer && num != d.b)
        layer = is_centred(r, num, d.axis, &other) && other == x;
    if (!layer && num != d.b)
        return false;
    rw_form f = {.op = layer ? CLV_OP_LAYER_NORM : CLV_OP_RMS_NORM};
    rw_form_input(&f, layer ? x : num);
    rw_form_int(&f, CLV_A_AXIS, d.axis);
    rw_form_float(&f, CLV_A_EPSILON, d.eps);
    return rw_become(r, id, &f);
}

/* -- weights --------------------------------------------------------------*/

/* c as a constant of the axes of x from `axis` on; CLV_NONE: it is none. */
static uint32_t trailing(rewriter *r, uint32_t c, uint32_t x, uint32_t axis)
{
    const clv_value *v = &r->g->values[c], *y = &r->g->values[x];
    uint32_t rank = y->rank - axis, lead = v->rank - rank;
    if (!rw_known(r, c) || v->dtype != CLV_FLOAT32 || v->rank < rank)
        return CLV_NONE;
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->dims[i] != (i < lead ? 1 : y->dims[axis + i - lead]))
            return CLV_NONE;
    return lead ? rw_const_view(r, c, rank, y->dims + axis) : c;
}

/* The axis that the norm of node id begins at. */
static bool row_norm_axis(const rewriter *r, uint32_t id, uint32_t *axis)
{
    const clv_node *n = rw_node(r, id);
    return (n->op == CLV_OP_LAYER_NORM || n->op == CLV_OP_RMS_NORM) &&
           get_norm_axis(n, rw_rank(r, rw_in(r, id, 0)), axis, NULL) == CLV_OK;
}

/* The norm that operand i of id is, and nobody else reads; CLV_NONE. */
static uint32_t norm_operand(const rewriter *r, uint32_t id, uint32_t i)
{
    uint32_t v = rw_in(r, id, i), m = rw_maker(r, v);
    if (m == CLV_NONE || !rw_once(r, v) || rw_node(r, m)->n_out != 1 ||
        !rw_is_float(r, v) || !rw_same_shape(r, v, rw_out(r, id)))
        return CLV_NONE;
    return m;
}

/* Norm m with one more input at place `at`, instead of node id. */
static bool norm_extend(rewriter *r, uint32_t id, uint32_t m, uint32_t at,
                        uint32_t v)
{
    rw_form f = {.op = rw_op(r, m)};
    for (uint32_t i = 0; i < at; i++)
        rw_form_input(&f, rw_in(r, m, i));
    rw_form_input(&f, v);
    if (at == 1 && rw_in(r, m, 2) != CLV_NONE)
        return false;
    rw_form_attr(r, &f, m, CLV_A_AXIS);
    rw_form_attr(r, &f, m, CLV_A_SHAPE);
    rw_form_attr(r, &f, m, CLV_A_GROUPS);
    rw_form_attr(r, &f, m, CLV_A_EPSILON);
    return rw_become(r, id, &f);
}

/* norm(x) * w, norm(x) + b: place 1 or 2 of a layer or RMS norm */
static bool row_norm_affine(rewriter *r, uint32_t id, uint32_t at)
{
    for (uint32_t i = 0; i < 2 && rw_node(r, id)->n_in == 2; i++) {
        uint32_t m = norm_operand(r, id, i), axis;
        if (m == CLV_NONE || !row_norm_axis(r, m, &axis) ||
            rw_in(r, m, at) != CLV_NONE ||
            attr_get(rw_node(r, m), CLV_A_DTYPE) ||
            (at == 2 && rw_op(r, m) == CLV_OP_RMS_NORM))
            continue;
        uint32_t w = trailing(r, rw_in(r, id, !i), rw_out(r, m), axis);
        if (w != CLV_NONE && norm_extend(r, id, m, at, w))
            return true;
    }
    return false;
}

bool rewrite_norm_weight(rewriter *r, uint32_t id)
{
    return row_norm_affine(r, id, 1);
}

bool rewrite_norm_bias(rewriter *r, uint32_t id)
{
    return row_norm_affine(r, id, 2);
}

/* -- group norm -----------------------------------------------------------*/

/* reshape(instance_norm(reshape(x, (N, G, ..)), 1, 0), x's shape) */
bool rewrite_group_norm(rewriter *r, uint32_t id)
{
    uint32_t y = rw_out(r, id), v = rw_in(r, id, 0);
    uint32_t norm = rw_made_by(r, v, CLV_OP_INSTANCE_NORM);
    if (norm == CLV_NONE || !rw_is_float(r, y) || rw_rank(r, y) < 3)
        return false;
    uint32_t in = rw_in(r, norm, 0), x = rw_flat_root(r, in);
    uint32_t w = rw_in(r, norm, 1), b = rw_in(r, norm, 2);
    while (x != in && !rw_same_shape(r, x, y)) /* one of the views is y's */
        in = rw_in(r, rw_maker(r, in), 0), x = in;
    if (!rw_same_shape(r, x, y) || rw_rank(r, rw_in(r, norm, 0)) < 3 ||
        rw_dim(r, rw_in(r, norm, 0), 0) != rw_dim(r, x, 0) ||
        (w != CLV_NONE && !rw_all(r, w, 1)) ||
        (b != CLV_NONE && !rw_all(r, b, 0)) || rw_node(r, norm)->n_in > 3)
        return false;
    int64_t groups = rw_dim(r, rw_in(r, norm, 0), 1);
    if (groups < 1 || rw_dim(r, x, 1) % groups)
        return false;
    rw_form f = {.op = CLV_OP_GROUP_NORM};
    rw_form_input(&f, x);
    rw_form_int(&f, CLV_A_GROUPS, groups);
    rw_form_float(&f, CLV_A_EPSILON,
                  attr_float(rw_node(r, norm), CLV_A_EPSILON));
    return rw_become(r, id, &f);
}

/* A constant with one number per channel of x (N, C, ..), as a vector. */
static uint32_t channel_vector(rewriter *r, uint32_t c, uint32_t x)
{
    const clv_value *v = &r->g->values[c], *y = &r->g->values[x];
    if (!rw_known(r, c) || v->dtype != CLV_FLOAT32 || v->rank > y->rank ||
        v->rank + 1u < y->rank)
        return CLV_NONE;
    uint32_t lead = (uint32_t)(y->rank - v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->dims[i] != (lead + i == 1 ? y->dims[1] : 1))
            return CLV_NONE;
    return rw_const_view(r, c, 1, y->dims + 1);
}

static bool group_norm_affine(rewriter *r, uint32_t id, uint32_t at)
{
    for (uint32_t i = 0; i < 2 && rw_node(r, id)->n_in == 2; i++) {
        uint32_t m = norm_operand(r, id, i);
        if (m == CLV_NONE || rw_op(r, m) != CLV_OP_GROUP_NORM ||
            rw_in(r, m, at) != CLV_NONE)
            continue;
        uint32_t w = channel_vector(r, rw_in(r, id, !i), rw_out(r, m));
        if (w != CLV_NONE && norm_extend(r, id, m, at, w))
            return true;
    }
    return false;
}

bool rewrite_group_weight(rewriter *r, uint32_t id)
{
    return group_norm_affine(r, id, 1);
}

bool rewrite_group_bias(rewriter *r, uint32_t id)
{
    return group_norm_affine(r, id, 2);
}

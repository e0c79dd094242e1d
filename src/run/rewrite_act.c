/* rewrite_act.c - activations that an exporter wrote as products.
 *
 * A product is looked at as a number and a few factors, however it was nested:
 * 0.5 * x * (1 + erf(x / sqrt 2)) is {0.5; x, 1 + erf(..)}. Which of the
 * factors is the argument is tried both ways. */
#include "run/rewrite.h"

#include <math.h>

enum { FACTORS = 4 };

typedef struct product {
    double c;
    uint32_t factor[FACTORS], n;
} product;

/* Products within products that are looked through. */
enum { FACTOR_DEPTH = 8 };

/* Takes v apart, whose shape is that of the whole product; depth 0 is that
 * itself. */
static bool factors_take(const rewriter *r, uint32_t v, int depth, product *p)
{
    uint32_t id = rw_maker(r, v), x;
    double c;
    bool mul = id != CLV_NONE && rw_op(r, id) == CLV_OP_MUL;
    bool div = id != CLV_NONE && rw_op(r, id) == CLV_OP_DIV &&
               attr_is(rw_node(r, id), CLV_A_MODE, "none");
    if ((mul || div) && depth < FACTOR_DEPTH && (!depth || rw_once(r, v))) {
        if (rw_with_number(r, id, &x, &c)) {
            p->c = mul ? p->c * c : p->c / c;
            return factors_take(r, x, depth + 1, p);
        }
        uint32_t a = rw_in(r, id, 0), b = rw_in(r, id, 1);
        if (mul && rw_node(r, id)->n_in == 2 && rw_same_shape(r, a, v) &&
            rw_same_shape(r, b, v))
            return factors_take(r, a, depth + 1, p) &&
                   factors_take(r, b, depth + 1, p);
    }
    if (p->n == FACTORS)
        return false;
    p->factor[p->n++] = v;
    return true;
}

static bool factors_of(const rewriter *r, uint32_t id, product *p)
{
    uint32_t y = rw_out(r, id);
    *p = (product){.c = 1};
    return rw_is_float(r, y) && factors_take(r, y, 0, p) && isfinite(p->c);
}

bool rw_bounds(const rewriter *r, uint32_t id, double *lo, double *hi)
{
    const clv_node *n = rw_node(r, id);
    *lo = -INFINITY;
    *hi = INFINITY;
    if (n->op == CLV_OP_RELU || n->op == CLV_OP_RELU6) {
        *lo = 0;
        *hi = n->op == CLV_OP_RELU6 ? 6 : INFINITY;
        return true;
    }
    if (n->op == CLV_OP_HARDTANH) {
        *lo = attr_float(n, CLV_A_MIN);
        *hi = attr_float(n, CLV_A_MAX);
        return true;
    }
    if (n->op != CLV_OP_CLAMP)
        return false;
    if (attr_get(n, CLV_A_MIN))
        *lo = attr_float(n, CLV_A_MIN);
    if (attr_get(n, CLV_A_MAX))
        *hi = attr_float(n, CLV_A_MAX);
    uint32_t a = rw_in(r, id, 1), b = rw_in(r, id, 2);
    return (a == CLV_NONE || rw_number(r, a, lo)) &&
           (b == CLV_NONE || rw_number(r, b, hi));
}

static bool become_unary(rewriter *r, uint32_t id, clv_op op, uint32_t x)
{
    rw_form f = {.op = op};
    rw_form_input(&f, x);
    return rw_become(r, id, &f);
}

/* -- one factor is a function of the other --------------------------------*/

/* e is k (1 + f(u)) or k + k f(u), f being `op`; *k and *u are set. */
static bool one_plus(const rewriter *r, uint32_t e, clv_op op, double *k,
                     uint32_t *u)
{
    uint32_t t, inner;
    double c;
    if (!rw_made_with(r, e, CLV_OP_ADD, &t, &c))
        return false;
    *k = rw_scaled(r, t, &inner);
    uint32_t id = rw_made_by(r, inner, op);
    if (id == CLV_NONE || !rw_near(c, *k))
        return false;
    *u = rw_in(r, id, 0);
    return true;
}

/* v is x cubed. */
static bool is_cube(const rewriter *r, uint32_t v, uint32_t x)
{
    uint32_t base;
    double c;
    if (rw_made_with(r, v, CLV_OP_POW, &base, &c))
        return base == x && c == 3;
    uint32_t id = rw_made_by(r, v, CLV_OP_MUL);
    for (uint32_t i = 0; id != CLV_NONE && i < 2; i++) {
        uint32_t sq = rw_maker(r, rw_in(r, id, i));
        if (rw_in(r, id, !i) == x && sq != CLV_NONE &&
            rw_is_square(r, sq, &base) && base == x)
            return true;
    }
    return false;
}

bool rw_is_square(const rewriter *r, uint32_t id, uint32_t *x)
{
    double c;
    *x = rw_in(r, id, 0);
    if (rw_op(r, id) == CLV_OP_SQUARE)
        return true;
    if (rw_op(r, id) == CLV_OP_MUL)
        return rw_node(r, id)->n_in == 2 && *x == rw_in(r, id, 1);
    return rw_op(r, id) == CLV_OP_POW && rw_with_number(r, id, x, &c) && c == 2;
}

static const double ROOT_HALF = 0.70710678118654752440;
static const double ROOT_2_PI = 0.79788456080286535588; /* sqrt(2 / pi) */
static const double CUBIC = 0.044715;

/* u is sqrt(2/pi) (x + 0.044715 x^3), of the approximation by tanh. */
static bool is_tanh_argument(const rewriter *r, uint32_t u, uint32_t x)
{
    uint32_t sum, a, b, base;
    double s = rw_scaled(r, u, &sum), c;
    uint32_t id = rw_made_by(r, sum, CLV_OP_ADD);
    for (uint32_t i = 0; id != CLV_NONE && i < 2; i++) {
        c = rw_scaled(r, rw_in(r, id, i), &a);
        if (rw_in(r, id, !i) == x && is_cube(r, a, x))
            return rw_near(c, CUBIC) && rw_near(s, ROOT_2_PI);
    }
    id = rw_made_by(r, sum, CLV_OP_MUL); /* x (1 + 0.044715 x^2) */
    for (uint32_t i = 0; id != CLV_NONE && i < 2; i++) {
        double k = rw_scaled(r, rw_in(r, id, i), &a), one;
        if (rw_in(r, id, !i) != x || !rw_made_with(r, a, CLV_OP_ADD, &b, &one))
            continue;
        c = rw_scaled(r, b, &base);
        uint32_t sq = rw_maker(r, base);
        if (sq != CLV_NONE && rw_is_square(r, sq, &base) && base == x)
            return rw_near(one * k * s, ROOT_2_PI) &&
                   rw_near(c * k * s, CUBIC * ROOT_2_PI);
    }
    return false;
}

/* 0.5 x (1 + erf(x / sqrt 2)), or with the tanh that approximates it */
static bool find_gelu(rewriter *r, uint32_t id, double c, uint32_t x,
                      uint32_t e)
{
    double k, s;
    uint32_t u, base;
    rw_form f = {.op = CLV_OP_GELU};
    rw_form_input(&f, x);
    if (one_plus(r, e, CLV_OP_ERF, &k, &u)) {
        s = rw_scaled(r, u, &base);
        return base == x && rw_near(s, ROOT_HALF) && rw_near(c * k, 0.5) &&
               rw_become(r, id, &f);
    }
    if (!one_plus(r, e, CLV_OP_TANH, &k, &u) || !rw_near(c * k, 0.5) ||
        !is_tanh_argument(r, u, x))
        return false;
    rw_form_str(&f, CLV_A_APPROXIMATE, "tanh");
    return rw_become(r, id, &f);
}

/* x sigmoid(a x) */
static bool find_silu(rewriter *r, uint32_t id, double c, uint32_t x,
                      uint32_t e)
{
    uint32_t s = rw_made_by(r, e, CLV_OP_SIGMOID), base;
    if (s == CLV_NONE || c != 1)
        return false;
    double a = 1;
    if (rw_in(r, s, 0) != x)
        a = rw_scaled(r, rw_in(r, s, 0), &base);
    else
        base = x;
    if (base != x)
        return false;
    rw_form f = {.op = CLV_OP_SILU};
    rw_form_input(&f, x);
    if (a != 1)
        rw_form_float(&f, CLV_A_ALPHA, a);
    return rw_become(r, id, &f);
}

/* v is clamp(x + 3, 0, 6). */
static bool is_hard_gate(const rewriter *r, uint32_t v, uint32_t *x)
{
    uint32_t id = rw_maker(r, v);
    double lo, hi, c;
    return id != CLV_NONE && rw_bounds(r, id, &lo, &hi) && lo == 0 && hi == 6 &&
           rw_made_with(r, rw_in(r, id, 0), CLV_OP_ADD, x, &c) && c == 3;
}

static bool find_hardswish(rewriter *r, uint32_t id, double c, uint32_t x,
                           uint32_t e)
{
    uint32_t base, h = rw_made_by(r, e, CLV_OP_HARDSIGMOID);
    if (h != CLV_NONE)
        return c == 1 && rw_in(r, h, 0) == x &&
               rw_near(attr_float(rw_node(r, h), CLV_A_ALPHA), 1.0 / 6) &&
               attr_float(rw_node(r, h), CLV_A_BETA) == 0.5 &&
               become_unary(r, id, CLV_OP_HARDSWISH, x);
    return rw_near(c, 1.0 / 6) && is_hard_gate(r, e, &base) && base == x &&
           become_unary(r, id, CLV_OP_HARDSWISH, x);
}

/* x tanh(softplus(x)) */
static bool find_mish(rewriter *r, uint32_t id, double c, uint32_t x,
                      uint32_t e)
{
    uint32_t t = rw_made_by(r, e, CLV_OP_TANH);
    uint32_t s =
        t == CLV_NONE ? t : rw_made_by(r, rw_in(r, t, 0), CLV_OP_SOFTPLUS);
    return s != CLV_NONE && c == 1 && rw_in(r, s, 0) == x &&
           attr_float(rw_node(r, s), CLV_A_BETA) == 1 &&
           become_unary(r, id, CLV_OP_MISH, x);
}

typedef bool gate_fn(rewriter *r, uint32_t id, double c, uint32_t x,
                     uint32_t e);

static bool find_gate(rewriter *r, uint32_t id, gate_fn *fn)
{
    product p;
    if (!factors_of(r, id, &p) || p.n != 2)
        return false;
    return fn(r, id, p.c, p.factor[0], p.factor[1]) ||
           fn(r, id, p.c, p.factor[1], p.factor[0]);
}

bool rewrite_gelu(rewriter *r, uint32_t id)
{
    return find_gate(r, id, find_gelu);
}

bool rewrite_silu(rewriter *r, uint32_t id)
{
    return find_gate(r, id, find_silu);
}

bool rewrite_hardswish(rewriter *r, uint32_t id)
{
    return find_gate(r, id, find_hardswish);
}

bool rewrite_mish(rewriter *r, uint32_t id)
{
    return find_gate(r, id, find_mish);
}

/* -- without a gate -------------------------------------------------------*/

/* clamp(x + 3, 0, 6) / 6, whose product has one factor */
bool rewrite_hardsigmoid(rewriter *r, uint32_t id)
{
    product p;
    uint32_t x;
    return factors_of(r, id, &p) && p.n == 1 && rw_near(p.c, 1.0 / 6) &&
           is_hard_gate(r, p.factor[0], &x) &&
           become_unary(r, id, CLV_OP_HARDSIGMOID, x);
}

/* prelu with one slope for all; a slope of 0 makes NaN of an infinity, which a
 * backend's relu may not. */
bool rewrite_prelu(rewriter *r, uint32_t id)
{
    const clv_tensor *slope = rw_known(r, rw_in(r, id, 1));
    if (!slope || slope->dtype != CLV_FLOAT32 || !clv_tensor_numel(slope))
        return false;
    double alpha = get_f(slope, 0);
    if (alpha == 0 || !isfinite(alpha) || !rw_all(r, rw_in(r, id, 1), alpha))
        return false;
    rw_form f = {.op = CLV_OP_LEAKY_RELU};
    rw_form_input(&f, rw_in(r, id, 0));
    rw_form_float(&f, CLV_A_ALPHA, alpha);
    return rw_become(r, id, &f);
}

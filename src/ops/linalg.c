/* linalg.c - determinants, factorisations of matrices, linear systems.
 *
 * A factorisation or a solution costs FLOPs and no MACs, as a Fourier transform
 * does: the counters of torch and fvcore have no formula for them. The formulas
 * are the leading terms of Golub and Van Loan, Matrix Computations (4th ed.),
 * for dense real matrices; docs/counting.md has the section of each. For a
 * matrix of m by n they are written in q = max(m, n) and p = min(m, n). */
#include "ops/ops.h"

#include <string.h>

/* -- determinants ---------------------------------------------------------*/

/* x (..,M,M) -> (..) */
clv_status infer_det(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return clv__fail(e, CLV_SHAPE, "not a square matrix");
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank - 2u, x->dims, e);
}

/* -- factorisations -------------------------------------------------------*/

/* (wide q p^2 + cube p^3) / 3 FLOPs */
typedef struct linalg_terms {
    int64_t wide, cube;
} linalg_terms;

typedef struct linalg_method {
    const char *name;
    linalg_terms terms;
    linalg_terms other; /* a second way, for matrices that are nearly square;
                         * the cheaper one counts; 0, 0: there is none */
    bool square;        /* takes square matrices alone */
    bool estimated;     /* iterates until the numbers are good enough */
    bool forms_q;       /* writes result 0 out from reflectors */
} linalg_method;

static const linalg_terms linalg_lu = {3, -1};

static const linalg_method linalg_methods[] = {
    {.name = "cholesky", .terms = {0, 1}, .square = true},
    {.name = "lu", .terms = {3, -1}},
    {.name = "inverse", .terms = {0, 6}, .square = true},
    {.name = "cholesky_inverse", .terms = {0, 2}, .square = true},
    {.name = "qr", .terms = {6, -2}, .forms_q = true},
    {.name = "householder", .terms = {6, -2}}, /* R, or Q of its reflectors */
    {.name = "eigh", .terms = {0, 27}, .square = true, .estimated = true},
    {.name = "eigvalsh", .terms = {0, 4}, .square = true, .estimated = true},
    {.name = "eig", .terms = {0, 75}, .square = true, .estimated = true},
    {.name = "eigvals", .terms = {0, 30}, .square = true, .estimated = true},
    {.name = "svd", .terms = {18, 60}, .other = {42, 24}, .estimated = true},
    {.name = "svdvals", .terms = {6, 6}, .other = {12, -4}, .estimated = true},
    /* Pade's approximation of degree 13: 6 products and a solution */
    {.name = "exp", .terms = {0, 44}, .square = true, .estimated = true},
};

static const linalg_method *linalg_of(const clv_node *n)
{
    const char *name = attr_str(n, CLV_A_METHOD);
    size_t i = 0, last = sizeof linalg_methods / sizeof *linalg_methods - 1;
    while (i < last && strcmp(name, linalg_methods[i].name))
        i++;
    return &linalg_methods[i];
}

/* Gives result 0 the shape that the node says. */
static clv_status linalg_told(clv_graph *g, clv_node *n, clv_err *e)
{
    int_list shape;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 2, &shape, e));
    return out_shape(g, n, 0, (clv_dtype)node_in(g, n, 0)->dtype, shape.n,
                     shape.v, e);
}

/* x (..,M,N) -> factors, of which `shape` is the first one's. */
clv_status infer_factorize(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 2)
        return clv__fail(e, CLV_SHAPE, "no matrix: rank %u", x->rank);
    if (linalg_of(n)->square && x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return clv__fail(e, CLV_SHAPE, "not a square matrix");
    return linalg_told(g, n, e);
}

/* (wide q p^2 + cube p^3) / 3, where it fits; a negative cube is at most a
 * third of wide, and p at most q. */
static int64_t linalg_flops(linalg_terms t, int64_t m, int64_t n)
{
    int64_t p = m < n ? m : n, q = m < n ? n : m;
    int64_t wide = sat_mul(t.wide, sat_mul(q, sat_mul(p, p)));
    int64_t cube = sat_mul(p, sat_mul(p, p));
    if (t.cube >= 0)
        wide = sat_add(wide, sat_mul(t.cube, cube));
    else if (wide != CLV_SAT)
        wide -= -t.cube * cube;
    return wide == CLV_SAT ? wide : wide / 3;
}

/* The first c columns of Q (m,m) from k reflectors, k <= c <= m:
 * 4 m c k - 2 (m + c) k^2 + 4/3 k^3. */
static int64_t linalg_q_flops(int64_t m, int64_t c, int64_t k)
{
    int64_t all = sat_mul(12, sat_mul(m, sat_mul(c, k)));
    if (all == CLV_SAT || c < k || m < c)
        return all;
    return (all - 6 * (m + c) * k * k + 4 * k * k * k) / 3;
}

static int64_t linalg_matrices(const clv_value *x)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 2 < x->rank; i++)
        count = sat_mul(count, x->dims[i]);
    return count;
}

/* FLOPs of one matrix of m by n, result 0 of which is `first`. */
static int64_t linalg_flops_of(const linalg_method *how, int64_t m, int64_t n,
                               const clv_value *first)
{
    int64_t flops = linalg_flops(how->terms, m, n);
    if (how->other.wide) {
        int64_t other = linalg_flops(how->other, m, n);
        flops = other < flops ? other : flops;
    }
    /* Q is an empty vector where R alone is asked for */
    if (how->forms_q && first->rank >= 2)
        flops = sat_add(flops, linalg_q_flops(m, first->dims[first->rank - 1],
                                              m < n ? m : n));
    return flops;
}

void cost_factorize(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    const linalg_method *how = linalg_of(n);
    c->flops =
        sat_mul(linalg_matrices(x),
                linalg_flops_of(how, x->dims[x->rank - 2], x->dims[x->rank - 1],
                                node_out(g, n, 0)));
    if (how->estimated)
        c->trust = CLV_TRUST_ESTIMATED;
}

/* By elimination. */
void cost_det(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t m = x->dims[x->rank - 1];
    c->flops =
        sat_mul(clv__numel(node_out(g, n, 0)), linalg_flops(linalg_lu, m, m));
}

/* -- systems --------------------------------------------------------------*/

/* a (..,M,M), b (..,M,K), or a vector, or from the right (..,K,M) -> that of
 * `shape`, which has as many numbers as there are unknowns. */
clv_status infer_solve(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *a = node_in(g, n, 0);
    if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2])
        return clv__fail(e, CLV_SHAPE, "not a square matrix");
    return linalg_told(g, n, e);
}

/* One triangle takes M^2 FLOPs per column, that is M per unknown; two take as
 * much again, and finding them 2/3 M^3 per matrix. */
void cost_solve(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *a = node_in(g, n, 0);
    const char *method = attr_str(n, CLV_A_METHOD);
    int64_t m = a->dims[a->rank - 1];
    bool one = !strcmp(method, "triangular");
    c->flops = sat_mul(one ? 1 : 2, sat_mul(m, clv__numel(node_out(g, n, 0))));
    if (!strcmp(method, "general"))
        c->flops = sat_add(c->flops, sat_mul(linalg_matrices(a),
                                             linalg_flops(linalg_lu, m, m)));
}

/* linalg.c - determinants, factorisations of matrices, linear systems.
 *
 * A factorisation or a solution costs FLOPs and no MACs, as a Fourier transform
 * does: the counters of torch and fvcore have no formula for them. The formulas
 * are the leading terms of Golub and Van Loan, Matrix Computations, for dense
 * real matrices; for a matrix of m by n they are written in q = max(m, n) and
 * p = min(m, n). */
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

/* By elimination: M^3 / 3 multiply-adds. */
void cost_det(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t m = x->dims[x->rank - 1];
    int64_t cube = sat_mul(m, sat_mul(m, m));
    cube = cube == CLV_SAT ? cube : cube / 3;
    c->flops = sat_mul(2, sat_mul(clv__numel(node_out(g, n, 0)), cube));
}

/* -- factorisations -------------------------------------------------------*/

/* FLOPs of a matrix are (wide q p^2 + cube p^3) / 3. */
typedef struct linalg_method {
    const char *name;
    int64_t wide, cube;
    bool square;    /* takes square matrices alone */
    bool estimated; /* iterates until the numbers are good enough */
} linalg_method;

static const linalg_method linalg_methods[] = {
    {"cholesky", 0, 1, true, false},
    {"lu", 3, -1, false, false},
    {"inverse", 0, 6, true, false},
    {"cholesky_inverse", 0, 2, true, false},
    {"qr", 12, -4, false, false},         /* R, and Q written out */
    {"householder", 6, -2, false, false}, /* one of the two */
    {"eigh", 0, 27, true, true},
    {"eigvalsh", 0, 4, true, true},
    {"eig", 0, 75, true, true},
    {"eigvals", 0, 30, true, true},
    {"svd", 18, 60, false, true},
    {"svdvals", 6, 6, false, true},
    {"exp", 0, 44, true, true}, /* Pade's of degree 13: 6 products, a solution
                                 */
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
static int64_t linalg_flops(const linalg_method *how, int64_t m, int64_t n)
{
    int64_t p = m < n ? m : n, q = m < n ? n : m;
    int64_t wide = sat_mul(how->wide, sat_mul(q, sat_mul(p, p)));
    int64_t cube = sat_mul(p, sat_mul(p, p));
    if (how->cube >= 0)
        wide = sat_add(wide, sat_mul(how->cube, cube));
    else if (wide != CLV_SAT)
        wide -= -how->cube * cube;
    return wide == CLV_SAT ? wide : wide / 3;
}

static int64_t linalg_matrices(const clv_value *x)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 2 < x->rank; i++)
        count = sat_mul(count, x->dims[i]);
    return count;
}

void cost_factorize(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0);
    const linalg_method *how = linalg_of(n);
    c->flops =
        sat_mul(linalg_matrices(x),
                linalg_flops(how, x->dims[x->rank - 2], x->dims[x->rank - 1]));
    if (how->estimated)
        c->trust = CLV_TRUST_ESTIMATED;
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
    if (!strcmp(method, "general")) {
        static const linalg_method lu = {"lu", 3, -1, false, false};
        c->flops = sat_add(
            c->flops, sat_mul(linalg_matrices(a), linalg_flops(&lu, m, m)));
    }
}

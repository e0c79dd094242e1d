/* fold.c - folds arithmetic, comparisons and questions about shapes. */
#include "ops/fold.h"

#include "ops/arith.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

bool fold_in(const clv_graph *g, const clv_node *n, uint32_t i, known *k)
{
    const clv_value *v = node_in(g, n, i);
    if (!v || !v->data || (!v->data->ints && !v->data->floats) ||
        clv__numel(v) != v->data->n || v->data->n > FOLD_MAX)
        return false;
    *k = (known){v, v->data->ints, v->data->floats, v->data->n};
    return true;
}

bool fold_ready(const clv_graph *g, const clv_node *n, uint32_t from)
{
    known k;
    for (uint32_t i = from; i < n->n_in; i++)
        if (!fold_in(g, n, i, &k))
            return false;
    return n->n_in > from;
}

clv_status fold_out(clv_graph *g, const clv_node *n, uint32_t o, room *r,
                    clv_err *e)
{
    *r = (room){0};
    uint32_t id = o < n->n_out ? node_outs(g, n)[o] : CLV_NONE;
    if (id == CLV_NONE || g->values[id].rank == CLV_NO_RANK)
        return CLV_OK;
    int64_t count = clv__numel(&g->values[id]);
    dtype_class cls = dtype_class_of((clv_dtype)g->values[id].dtype);
    int64_t most = cls == CLASS_FLOAT ? FOLD_MAX_FLOATS : FOLD_MAX;
    if (count > most || cls == CLASS_NONE || cls == CLASS_COMPLEX)
        return CLV_OK;
    void *list = arena_zalloc(&g->mem, (size_t)count * 8 + 8);
    clv_payload *data = clv__value_data(g, id);
    if (!list || !data)
        return clv__nomem(e);
    r->n = data->n = (uint32_t)count;
    data->ints = NULL;
    data->floats = NULL;
    if (cls == CLASS_FLOAT)
        data->floats = r->floats = list;
    else
        data->ints = r->ints = list;
    return CLV_OK;
}

void fold_copy(const room *r, uint32_t i, const known *k, uint32_t j)
{
    if (r->ints)
        r->ints[i] = k->ints ? k->ints[j] : to_int64(k->floats[j]);
    else
        r->floats[i] = known_float(k, j);
}

void fold_step(const clv_value *v, int64_t *at)
{
    for (uint32_t i = v->rank; i-- > 0;) {
        if (++at[i] < v->dims[i])
            return;
        at[i] = 0;
    }
}

/* Returns the element of v that broadcasting puts at index `at` of shape y. */
static uint32_t broadcast_at(const clv_value *y, const clv_value *v,
                             const int64_t *at)
{
    int64_t k = 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t j = at[y->rank - v->rank + i];
        k = k * v->dims[i] + (v->dims[i] == 1 ? 0 : j);
    }
    return (uint32_t)k;
}

/* -- one number from one or two -------------------------------------------*/

/* Wraps an integer, as tensors do. */
static int64_t fold_wrap(uint64_t x)
{
    return (int64_t)x;
}

/* Functions of one number that shape arithmetic uses; a number of type uint64
 * is never negative. */
static bool int_op(clv_op op, int64_t a, clv_dtype t, int64_t *y)
{
    if (t == CLV_UINT64 && a < 0 && op != CLV_OP_NEG) {
        *y = op == CLV_OP_SIGN ? 1 : op == CLV_OP_LOGICAL_NOT ? 0 : a;
        return op == CLV_OP_SIGN || op == CLV_OP_LOGICAL_NOT ||
               op == CLV_OP_ABS || op == CLV_OP_RELU;
    }
    switch (op) {
    case CLV_OP_NEG:
        *y = fold_wrap(0 - (uint64_t)a);
        return true;
    case CLV_OP_ABS:
        *y = a < 0 ? fold_wrap(0 - (uint64_t)a) : a;
        return true;
    case CLV_OP_SIGN:
        *y = (a > 0) - (a < 0);
        return true;
    case CLV_OP_LOGICAL_NOT:
        *y = !a;
        return true;
    case CLV_OP_FLOOR:
    case CLV_OP_CEIL:
    case CLV_OP_ROUND:
    case CLV_OP_RELU:
        *y = op == CLV_OP_RELU && a < 0 ? 0 : a;
        return true;
    default:
        return false;
    }
}

static bool float_op(clv_op op, double a, double *y)
{
    switch (op) {
    case CLV_OP_NEG:
        *y = -a;
        return true;
    case CLV_OP_ABS:
        *y = fabs(a);
        return true;
    case CLV_OP_FLOOR:
        *y = floor(a);
        return true;
    case CLV_OP_CEIL:
        *y = ceil(a);
        return true;
    case CLV_OP_ROUND:
        *y = rint(a);
        return true;
    case CLV_OP_SQRT:
        *y = sqrt(a);
        return true;
    case CLV_OP_EXP:
        *y = exp(a);
        return true;
    case CLV_OP_LOG:
        *y = log(a);
        return true;
    case CLV_OP_RECIPROCAL:
        *y = 1 / a;
        return true;
    case CLV_OP_RELU:
        *y = a > 0 ? a : 0;
        return true;
    default:
        return false;
    }
}

static bool fold_pair(clv_op op, const known *a, uint32_t i, const known *b,
                      uint32_t j, const room *r, uint32_t k)
{
    const clv_arith *two = clv__arith(op);
    if (a->ints && b->ints) {
        int64_t y = 0;
        clv_dtype t = (clv_dtype)a->v->dtype;
        if (two ? !two->i : !int_op(op, a->ints[i], t, &y))
            return false;
        if (two)
            y = clv__arith_int(two, t)(a->ints[i], b->ints[j]);
        if (r->ints)
            r->ints[k] = y;
        else /* a quotient of integers may be floating */
            r->floats[k] = op == CLV_OP_DIV && b->ints[j]
                               ? (double)a->ints[i] / (double)b->ints[j]
                               : (double)y;
        return true;
    }
    double y = 0, x = known_float(a, i);
    if (two ? !two->f : !float_op(op, x, &y))
        return false;
    if (two)
        y = two->f(x, known_float(b, j));
    if (r->ints)
        r->ints[k] = to_int64(y);
    else
        r->floats[k] = y;
    return true;
}

/* Forgets the contents of output 0, because the rule cannot fold it after
 * all. */
static void fold_forget(clv_graph *g, const clv_node *n)
{
    clv_value *v = node_out(g, n, 0);
    v->data->ints = NULL;
    v->data->floats = NULL;
    v->data->n = 0;
}

/* Applies the operator to all inputs one after the other, as Sum and Max have
 * many. */
clv_status fold_eltwise(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_op op = (clv_op)n->op == CLV_OP_ADD_N ? CLV_OP_ADD : (clv_op)n->op;
    known a, b;
    room r;
    if (!fold_ready(g, n, 0) || attr_get(n, CLV_A_VALUE) ||
        attr_get(n, CLV_A_ALPHA))
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    if (room_none(&r))
        return CLV_OK;
    const clv_value *y = node_out(g, n, 0);
    (void)fold_in(g, n, 0, &a);
    uint32_t last = n->n_in > 1 ? n->n_in : 2;
    for (uint32_t i = 1; i < last; i++) {
        bool unary = n->n_in == 1;
        if (unary)
            b = a;
        else
            (void)fold_in(g, n, i, &b);
        int64_t at[CLV_MAX_RANK] = {0};
        for (uint32_t k = 0; k < r.n; k++, fold_step(y, at)) {
            uint32_t ia = i == 1 ? broadcast_at(y, a.v, at) : k;
            uint32_t ib = unary ? ia : broadcast_at(y, b.v, at);
            if (!fold_pair(op, &a, ia, &b, ib, &r, k)) {
                fold_forget(g, n);
                return CLV_OK;
            }
        }
        a = (known){y, r.ints, r.floats, r.n};
    }
    return CLV_OK;
}

/* condition, x, y */
clv_status fold_where(clv_graph *g, clv_node *n, clv_err *e)
{
    known c, a, b;
    room r;
    if (!fold_in(g, n, 0, &c) || !fold_in(g, n, 1, &a) ||
        !fold_in(g, n, 2, &b) || !c.ints)
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    const clv_value *y = node_out(g, n, 0);
    int64_t at[CLV_MAX_RANK] = {0};
    for (uint32_t k = 0; !room_none(&r) && k < r.n; k++, fold_step(y, at)) {
        const known *from = c.ints[broadcast_at(y, c.v, at)] ? &a : &b;
        fold_copy(&r, k, from, broadcast_at(y, from->v, at));
    }
    return CLV_OK;
}

/* Whether a[i] < b[j], exactly for integers. */
static bool known_below(const known *a, uint32_t i, const known *b, uint32_t j)
{
    if (!a->ints || !b->ints)
        return known_float(a, i) < known_float(b, j);
    return clv__arith_int(clv__arith(CLV_OP_LT),
                          (clv_dtype)a->v->dtype)(a->ints[i], b->ints[j]);
}

clv_status fold_clamp(clv_graph *g, clv_node *n, clv_err *e)
{
    known x, lo = {0}, hi = {0};
    room r;
    if (!fold_in(g, n, 0, &x) || attr_get(n, CLV_A_MIN) ||
        attr_get(n, CLV_A_MAX) ||
        (node_in(g, n, 1) && (!fold_in(g, n, 1, &lo) || lo.n != 1)) ||
        (node_in(g, n, 2) && (!fold_in(g, n, 2, &hi) || hi.n != 1)))
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    for (uint32_t i = 0; !room_none(&r) && i < r.n; i++) {
        const known *from = &x;
        if (lo.n && known_below(&x, i, &lo, 0))
            from = &lo;
        if (hi.n && known_below(&hi, 0, from, from == &x ? i : 0))
            from = &hi;
        fold_copy(&r, i, from, from == &x ? i : 0);
    }
    return CLV_OK;
}

/* -- questions about shapes, and made tensors -----------------------------*/

clv_status fold_shape(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    room r;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    int64_t rank = x->rank, from = attr_int(n, CLV_A_START);
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    for (uint32_t i = 0; r.ints && i < r.n; i++)
        r.ints[i] = x->dims[from + i];
    return CLV_OK;
}

clv_status fold_size(clv_graph *g, clv_node *n, clv_err *e)
{
    room r;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    if (r.ints)
        r.ints[0] = clv__numel(node_in(g, n, 0));
    return CLV_OK;
}

/* Fills the output with one number: attribute `value`, or input 1. */
clv_status fold_full(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_attr *a = attr_get(n, CLV_A_VALUE);
    known given;
    bool input = fold_in(g, n, 1, &given) && given.n == 1;
    room r;
    if (!input && !a && (n->op == CLV_OP_FULL || node_in(g, n, 1)))
        return CLV_OK;
    if (a && a->type != CLV_ATTR_INT && a->type != CLV_ATTR_FLOAT)
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    double x = n->op == CLV_OP_ONES ? 1 : 0;
    if (a)
        x = attr_float(n, CLV_A_VALUE);
    for (uint32_t i = 0; !room_none(&r) && i < r.n; i++) {
        if (input)
            fold_copy(&r, i, &given, 0);
        else if (r.ints)
            r.ints[i] = a && a->type == CLV_ATTR_INT ? a->u.i : to_int64(x);
        else
            r.floats[i] = x;
    }
    return CLV_OK;
}

clv_status fold_range(clv_graph *g, clv_node *n, clv_err *e)
{
    known start, step;
    room r;
    if (n->n_in < 3 || !fold_in(g, n, 0, &start) || !fold_in(g, n, 2, &step) ||
        start.n != 1 || step.n != 1)
        return CLV_OK;
    CLV_TRY(fold_out(g, n, 0, &r, e));
    for (uint32_t i = 0; !room_none(&r) && i < r.n; i++) {
        if (r.ints && start.ints && step.ints)
            r.ints[i] =
                fold_wrap((uint64_t)start.ints[0] + (uint64_t)step.ints[0] * i);
        else if (r.floats)
            r.floats[i] = known_float(&start, 0) + i * known_float(&step, 0);
    }
    return CLV_OK;
}

/* -- reductions -----------------------------------------------------------*/

static clv_op fold_reduction(clv_op op)
{
    switch (op) {
    case CLV_OP_SUM:
    case CLV_OP_MEAN:
        return CLV_OP_ADD;
    case CLV_OP_PROD:
        return CLV_OP_MUL;
    case CLV_OP_MAX:
        return CLV_OP_MAXIMUM;
    default:
        return CLV_OP_MINIMUM;
    }
}

/* Returns where element `at` of x goes. Reduced axes are left out. */
static uint32_t reduced_at(const clv_value *x, const bool *gone,
                           const int64_t *at)
{
    int64_t k = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[i])
            k = k * x->dims[i] + at[i];
    return (uint32_t)k;
}

clv_status fold_reduce(clv_graph *g, clv_node *n, clv_err *e)
{
    known x;
    int_list axes;
    room r;
    if (!fold_in(g, n, 0, &x) || x.n == 0 ||
        get_ints(g, n, CLV_A_AXES, 1, &axes, NULL) != CLV_OK)
        return CLV_OK;
    bool gone[CLV_MAX_RANK], seen[FOLD_MAX] = {false};
    for (uint32_t i = 0; i < x.v->rank; i++)
        gone[i] = axes.n == 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        if (norm_axis(axes.v[i], x.v->rank, &a, NULL) == CLV_OK)
            gone[a] = true;
    }
    CLV_TRY(fold_out(g, n, 0, &r, e));
    if (room_none(&r))
        return CLV_OK;
    clv_op op = fold_reduction((clv_op)n->op);
    known sum = {node_out(g, n, 0), r.ints, r.floats, r.n};
    int64_t at[CLV_MAX_RANK] = {0};
    for (uint32_t i = 0; i < x.n; i++, fold_step(x.v, at)) {
        uint32_t k = reduced_at(x.v, gone, at);
        if (k >= r.n)
            continue;
        if (seen[k])
            (void)fold_pair(op, &sum, k, &x, i, &r, k);
        else
            fold_copy(&r, k, &x, i);
        seen[k] = true;
    }
    double each = r.n ? (double)(x.n / r.n) : 1;
    for (uint32_t i = 0; n->op == CLV_OP_MEAN && i < r.n; i++) {
        if (r.floats)
            r.floats[i] /= each;
        else
            r.ints[i] = clv__arith(CLV_OP_DIV)->i(r.ints[i], (int64_t)each);
    }
    return CLV_OK;
}

/* fill.c - tensors made from attributes, shapes or small inputs alone. */
#include "ops/ops.h"

#include <math.h>

/* -- questions about shapes -----------------------------------------------*/

/* The axes start..end of x as a vector. */
clv_status infer_shape(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t rank = node_in(g, n, 0)->rank;
    int64_t from = attr_int(n, CLV_A_START);
    int64_t to = attr_get(n, CLV_A_END) ? attr_int(n, CLV_A_END) : rank;
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    to = to < -rank ? 0 : to < 0 ? to + rank : to > rank ? rank : to;
    int64_t count = to > from ? to - from : 0;
    return out_shape(g, n, 0, CLV_INT64, 1, &count, e);
}

clv_status infer_size(clv_graph *g, clv_node *n, clv_err *e)
{
    return out_shape(g, n, 0, CLV_INT64, 0, NULL, e);
}

/* -- filled ---------------------------------------------------------------*/

/* Returns the type of the number in attribute `value`. */
static clv_dtype value_type(const clv_graph *g, const clv_node *n,
                            clv_dtype otherwise)
{
    const clv_attr *a = attr_get(n, CLV_A_VALUE);
    if (!a)
        return otherwise;
    if (a->type == CLV_ATTR_TENSOR && a->u.value < g->n_values)
        return (clv_dtype)g->values[a->u.value].dtype;
    return a->type == CLV_ATTR_INT ? CLV_INT64 : otherwise;
}

/* Of attribute `shape`, or the shape that input 0 holds; input 1, if there, is
 * the value. */
clv_status infer_full(clv_graph *g, clv_node *n, clv_err *e)
{
    int_list shape;
    CLV_TRY(get_ints(g, n, CLV_A_SHAPE, 0, &shape, e));
    if (shape.n > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "shape of rank %u", shape.n);
    clv_dtype t = value_type(g, n, CLV_FLOAT32);
    if (node_in(g, n, 1))
        t = (clv_dtype)node_in(g, n, 1)->dtype;
    return out_shape(g, n, 0, asked_type(n, t), shape.n, shape.v, e);
}

clv_status infer_full_like(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    clv_dtype t = asked_type(n, (clv_dtype)x->dtype);
    return out_shape(g, n, 0, t, x->rank, x->dims, e);
}

/* Only the shape of the inputs is read; `unit` FLOPs per element made. */
void cost_make(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->bytes_in = c->bytes_weights = 0;
    cost_eltwise(g, n, c);
}

/* -- progressions ---------------------------------------------------------*/

/* A number of a progression; `whole` counts if all three are integers. */
typedef struct term {
    double real;
    int64_t whole;
} term;

/* Reads one number from an input or an attribute, and whether it is an
 * integer. */
static clv_status get_number(const clv_graph *g, const clv_node *n,
                             clv_attr_key key, uint32_t i, term *out,
                             clv_dtype *type, clv_err *e)
{
    const clv_attr *a = attr_get(n, key);
    const clv_value *v = node_in(g, n, i);
    uint32_t count;
    CLV_TRY(get_floats(g, n, key, i, &out->real, 1, &count, e));
    if (count && a && a->type == CLV_ATTR_INT)
        out->whole = a->u.i;
    else if (count && !a && v && v->data && v->data->ints)
        out->whole = v->data->ints[0];
    if (count && a)
        *type =
            promote(*type, a->type == CLV_ATTR_INT ? CLV_INT64 : CLV_FLOAT32);
    else if (count && v)
        *type = promote(*type, (clv_dtype)v->dtype);
    return CLV_OK;
}

/* How many of start, start + step, .. lie before end: exact for integers. */
static double steps_between(const term *start, const term *end,
                            const term *step, bool integers)
{
    bool up = step->whole > 0;
    uint64_t from = (uint64_t)(up ? start : end)->whole;
    uint64_t to = (uint64_t)(up ? end : start)->whole;
    uint64_t by = up ? (uint64_t)step->whole : 0 - (uint64_t)step->whole;
    if (!integers || step->whole == 0)
        return step->real == 0 ? (double)NAN
                               : ceil((end->real - start->real) / step->real);
    return (int64_t)from < (int64_t)to ? (double)((to - from - 1) / by + 1) : 0;
}

/* start, start + step, ... before end */
clv_status infer_range(clv_graph *g, clv_node *n, clv_err *e)
{
    term start = {0, 0}, end = {0, 0}, step = {1, 1};
    clv_dtype t = CLV_NODTYPE;
    CLV_TRY(get_number(g, n, CLV_A_START, 0, &start, &t, e));
    CLV_TRY(get_number(g, n, CLV_A_END, 1, &end, &t, e));
    CLV_TRY(get_number(g, n, CLV_A_STEP, 2, &step, &t, e));
    double count = steps_between(&start, &end, &step, dtype_is_integral(t));
    if (!(fabs(count) < 9e18))
        return clv__fail(e, CLV_SHAPE, "range from %g to %g by %g", start.real,
                         end.real, step.real);
    int64_t size = count > 0 ? (int64_t)count : 0;
    t = asked_type(n, t == CLV_NODTYPE ? CLV_INT64 : t);
    return out_shape(g, n, 0, t, 1, &size, e);
}

/* `size` numbers from start to end */
clv_status infer_linspace(clv_graph *g, clv_node *n, clv_err *e)
{
    int64_t size = attr_int(n, CLV_A_SIZE);
    return out_shape(g, n, 0, asked_type(n, CLV_FLOAT32), 1, &size, e);
}

/* -- random ---------------------------------------------------------------*/

/* weights (N,C) or (C) -> `samples` draws each */
clv_status infer_multinomial(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    if (x->rank < 1 || x->rank > 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    int64_t draws = attr_int(n, CLV_A_SAMPLES), dims[2] = {x->dims[0]};
    dims[x->rank - 1] = draws;
    return out_shape(g, n, 0, asked_type(n, CLV_INT64), x->rank, dims, e);
}

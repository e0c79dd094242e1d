/* pool.c - pooling windows and adaptive pools. */
#include "graph/schema.h"
#include "ops/ops.h"

#include <string.h>

uint32_t pooled_axes(const clv_node *n)
{
    return clv__named_axes((clv_op)n->op);
}

/* The window over spatial axis i. */
static clv_status pool_window(const clv_node *n, const clv_value *x, uint32_t i,
                              uint32_t nd, window *w, clv_err *e)
{
    uint32_t nk;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    int64_t k = list_at(kernel, nk, i);
    return get_window(n, i, nd, x->dims[x->rank - nd + i], k, w, e);
}

clv_status infer_pool(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t nd = pooled_axes(n);
    if (x->rank < nd + 1 || x->rank > nd + 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    bool ceil = attr_int(n, CLV_A_CEIL) != 0;
    for (uint32_t i = 0; i < nd; i++) {
        window w;
        uint32_t axis = x->rank - nd + i;
        CLV_TRY(pool_window(n, x, i, nd, &w, e));
        CLV_TRY(window_out(&w, x->dims[axis], ceil, &dims[axis], e));
    }
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e));
    return out_shape(g, n, 1, CLV_INT64, x->rank, dims, e);
}

static int64_t window_size(const clv_node *n)
{
    uint32_t nd = pooled_axes(n), nk;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    int64_t size = 1;
    for (uint32_t i = 0; i < nd; i++)
        size = sat_mul(size, list_at(kernel, nk, i));
    return size;
}

/* k comparisons less one per output. */
void cost_max_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(window_size(n) - 1, clv__numel(node_out(g, n, 0)));
}

/* k-1 additions and a division per output. */
void cost_avg_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(window_size(n), clv__numel(node_out(g, n, 0)));
}

/* Each tap to the power p, k-1 additions, and the root. */
void cost_lp_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops =
        sat_mul(sat_mul(2, window_size(n)), clv__numel(node_out(g, n, 0)));
}

/* x and indices of its shape; each axis grows to (in-1)*stride + kernel less
 * the padding, or to what attribute output_size or input 2 says. */
clv_status infer_unpool(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    int_list size;
    CLV_TRY(get_ints(g, n, CLV_A_OUTPUT_SIZE, 2, &size, e));
    CLV_TRY(fits(x, node_in(g, n, 1), e));
    if (x->rank < 3 || (size.n && size.n < x->rank - 2u))
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    uint32_t nd = x->rank - 2u;
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < nd; i++) {
        window w;
        int64_t *out = &dims[2 + i];
        CLV_TRY(pool_window(n, x, i, nd, &w, e));
        *out =
            sat_add(sat_mul(*out - 1, w.stride), w.kernel - w.before - w.after);
        if (size.n)
            *out = size.v[size.n - nd + i];
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* -- adaptive -------------------------------------------------------------*/

/* output_size entries of 0 or -1 keep the axis. */
clv_status infer_adaptive(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t ns, nd = pooled_axes(n);
    const int64_t *size = attr_ints(n, CLV_A_OUTPUT_SIZE, &ns);
    if (x->rank < nd + 1 || x->rank > nd + 2 || ns == 0)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, %u output sizes",
                         x->rank, ns);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < nd; i++) {
        int64_t s = list_at(size, ns, i);
        if (s != 0 && s != -1)
            dims[x->rank - nd + i] = s;
    }
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e));
    return out_shape(g, n, 1, CLV_INT64, x->rank, dims, e);
}

static int64_t pool_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* Window i of an adaptive pool covers [floor(i*in/out), ceil((i+1)*in/out)).
 * Neighbours share one element wherever a border is not a whole number, which
 * is at out - gcd(in, out) borders, so the windows along one axis sum to: */
static int64_t adaptive_reads(int64_t in, int64_t out)
{
    return out ? sat_add(in, out - pool_gcd(in, out)) : 0;
}

static int64_t all_reads(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    uint32_t lead = x->rank - pooled_axes(n);
    int64_t reads = dims_product(x->dims, 0, lead);
    for (uint32_t i = lead; i < x->rank; i++)
        reads = sat_mul(reads, adaptive_reads(x->dims[i], y->dims[i]));
    return reads;
}

/* k-1 additions and a division per window of k. */
void cost_adaptive(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = all_reads(g, n);
}

/* k-1 comparisons per window of k. */
void cost_adaptive_max(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    int64_t reads = all_reads(g, n), outputs = clv__numel(node_out(g, n, 0));
    c->flops = reads == CLV_SAT || reads < outputs ? reads : reads - outputs;
}

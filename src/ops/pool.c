/* pool.c - pooling windows and adaptive pools. */
#include "ops/ops.h"

#include <string.h>

/* x (N,C,..) or (C,..): the last nd axes are pooled. */
static uint32_t pooled_axes(const clv_node *n, const clv_value *x)
{
    switch (n->op) {
    case CLV_OP_MAX_POOL1D:
    case CLV_OP_AVG_POOL1D:
        return 1;
    case CLV_OP_MAX_POOL3D:
    case CLV_OP_AVG_POOL3D:
        return 3;
    default:
        return x->rank < 2 ? 0 : 2;
    }
}

/* The window over spatial axis i; stride is the kernel unless given. */
static clv_status pool_window(const clv_node *n, const clv_value *x, uint32_t i,
                              uint32_t nd, window *w, clv_err *e)
{
    uint32_t nk;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    int64_t k = list_at(kernel, nk, i, 0);
    CLV_TRY(get_window(n, i, nd, x->dims[x->rank - nd + i], k, w, e));
    if (!attr_get(n, CLV_A_STRIDE))
        w->stride = k;
    return CLV_OK;
}

clv_status infer_pool(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t nd = pooled_axes(n, x);
    if (nd == 0 || x->rank < nd + 1)
        return clv__fail(e, CLV_SHAPE, "input of rank %u", x->rank);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    bool ceil = attr_int(n, CLV_A_CEIL, 0) != 0;
    for (uint32_t i = 0; i < nd; i++) {
        window w;
        uint32_t axis = x->rank - nd + i;
        CLV_TRY(pool_window(n, x, i, nd, &w, e));
        CLV_TRY(window_out(&w, x->dims[axis], ceil, &dims[axis], e));
    }
    CLV_TRY(out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e));
    return out_shape(g, n, 1, CLV_INT64, x->rank, dims, e);
}

static int64_t window_size(const clv_graph *g, const clv_node *n)
{
    uint32_t nd = pooled_axes(n, node_in(g, n, 0)), nk;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    int64_t size = 1;
    for (uint32_t i = 0; i < nd; i++)
        size = sat_mul(size, list_at(kernel, nk, i, 1));
    return size;
}

/* k comparisons less one per output. */
void cost_max_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(window_size(g, n) - 1, clv__numel(node_out(g, n, 0)));
}

/* k-1 additions and a division per output. */
void cost_avg_pool(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    c->flops = sat_mul(window_size(g, n), clv__numel(node_out(g, n, 0)));
}

/* output_size entries of 0 keep the axis. */
clv_status infer_adaptive(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    uint32_t ns, nd = pooled_axes(n, x);
    const int64_t *size = attr_ints(n, CLV_A_OUTPUT_SIZE, &ns);
    if (nd == 0 || x->rank < nd + 1 || ns == 0)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, %u output sizes",
                         x->rank, ns);
    int64_t dims[CLV_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < nd; i++) {
        int64_t s = list_at(size, ns, i, 0);
        if (s)
            dims[x->rank - nd + i] = s;
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Window i of an adaptive pool covers [floor(i*in/out), ceil((i+1)*in/out)):
 * the sum of the window sizes along one axis. */
static int64_t adaptive_reads(int64_t in, int64_t out)
{
    int64_t sum = 0;
    if (out > 0 && in % out == 0)
        return in;
    for (int64_t i = 0; i < out; i++)
        sum += ((i + 1) * in + out - 1) / out - i * in / out;
    return sum;
}

/* Every element of every window is added, and one division per output. */
void cost_adaptive(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    uint32_t nd = pooled_axes(n, x), lead = x->rank - nd;
    int64_t reads = dims_product(x->dims, 0, lead);
    for (uint32_t i = lead; i < x->rank; i++)
        reads = sat_mul(reads, adaptive_reads(x->dims[i], y->dims[i]));
    c->flops = reads; /* k-1 adds and a division each */
}

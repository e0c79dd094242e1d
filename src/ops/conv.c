/* conv.c - convolution and its transpose, in one to three dimensions. */
#include "ops/ops.h"

static clv_status check_conv(const clv_value *x, const clv_value *w,
                             const clv_value *bias, int64_t cin, int64_t cout,
                             int64_t groups, clv_err *e)
{
    if (x->rank < 3 || x->rank != w->rank)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, weight of rank %u",
                         x->rank, w->rank);
    if (groups < 1 || cin % groups || cout % groups)
        return clv__fail(e, CLV_SHAPE,
                         "%lld input and %lld output channels in %lld groups",
                         (long long)cin, (long long)cout, (long long)groups);
    if (x->dims[1] != cin)
        return clv__fail(e, CLV_SHAPE,
                         "input has %lld channels, weight expects %lld",
                         (long long)x->dims[1], (long long)cin);
    if (bias && clv__numel(bias) != cout)
        return clv__fail(e, CLV_SHAPE, "bias of %lld for %lld channels",
                         (long long)clv__numel(bias), (long long)cout);
    return CLV_OK;
}

/* x (N,C,..), w (M,C/g,k..) -> y (N,M,..) */
clv_status infer_conv(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    int64_t groups = attr_int(n, CLV_A_GROUPS, 1);
    if (w->rank < 3)
        return clv__fail(e, CLV_SHAPE, "weight of rank %u", w->rank);
    CLV_TRY(check_conv(x, w, node_in(g, n, 2), sat_mul(w->dims[1], groups),
                       w->dims[0], groups, e));
    int64_t dims[CLV_MAX_RANK] = {x->dims[0], w->dims[0]};
    uint32_t nd = x->rank - 2u;
    for (uint32_t i = 0; i < nd; i++) {
        window win;
        CLV_TRY(get_window(n, i, nd, x->dims[2 + i], w->dims[2 + i], &win, e));
        CLV_TRY(window_out(&win, x->dims[2 + i], false, &dims[2 + i], e));
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* x (N,C,..), w (C,M/g,k..) -> y (N,M,..)
 * out = (in-1)*stride - before - after + dilation*(k-1) + output_padding + 1 */
clv_status infer_convt(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    int64_t groups = attr_int(n, CLV_A_GROUPS, 1);
    if (w->rank < 3)
        return clv__fail(e, CLV_SHAPE, "weight of rank %u", w->rank);
    int64_t cout = sat_mul(w->dims[1], groups);
    CLV_TRY(check_conv(x, w, node_in(g, n, 2), w->dims[0], cout, groups, e));
    int64_t dims[CLV_MAX_RANK] = {x->dims[0], cout};
    uint32_t nd = x->rank - 2u, no, nsize;
    const int64_t *extra = attr_ints(n, CLV_A_OUTPUT_PADDING, &no);
    const int64_t *size = attr_ints(n, CLV_A_OUTPUT_SIZE, &nsize);
    for (uint32_t i = 0; i < nd; i++) {
        window win;
        CLV_TRY(get_window(n, i, nd, x->dims[2 + i], w->dims[2 + i], &win, e));
        if (attr_get(n, CLV_A_AUTO_PAD))
            win.before = win.after = 0;
        int64_t full = sat_mul(x->dims[2 + i] - 1, win.stride) +
                       (win.kernel - 1) * win.dilation + 1 +
                       list_at(extra, no, i, 0);
        dims[2 + i] = full - win.before - win.after;
        if (attr_get(n, CLV_A_AUTO_PAD))
            dims[2 + i] = sat_mul(x->dims[2 + i], win.stride);
        if (nsize >= nd)
            dims[2 + i] = size[nsize - nd + i];
    }
    return out_shape(g, n, 0, (clv_dtype)x->dtype, x->rank, dims, e);
}

/* Each output element is a dot product of C/g * prod(k) taps:
 *   MACs = N * prod(w) * prod(out spatial); a bias adds 1 per output. */
static void conv_cost(const clv_graph *g, const clv_node *n, clv_cost *c,
                      const clv_value *at)
{
    const clv_value *w = node_in(g, n, 1);
    int64_t places = sat_mul(at->dims[0], dims_product(at->dims, 2, at->rank));
    c->macs = sat_mul(places, clv__numel(w));
    c->flops = sat_mul(2, c->macs);
    if (node_in(g, n, 2))
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
}

void cost_conv(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_out(g, n, 0));
}

/* Transposed: each input element is spread over the kernel. */
void cost_convt(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_in(g, n, 0));
}

void par_conv(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    int64_t groups = attr_int(n, CLV_A_GROUPS, 1);
    p->batch = y->dims[0];
    p->channels = y->dims[1];
    p->spatial = dims_product(y->dims, 2, y->rank);
    p->num_groups = groups;
    p->is_grouped = groups > 1;
    p->is_depthwise = groups > 1 && groups == x->dims[1];
    p->can_split_batch = p->batch > 1;
    p->can_split_spatial = p->spatial > 1;
    /* A depthwise channel has no sum to split: its channels are the groups. */
    p->can_split_channels = !p->is_depthwise && p->channels > 1;
    p->vectorizable_dim = p->is_depthwise ? "spatial" : "channels";
}

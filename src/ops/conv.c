/* conv.c - convolution and its transpose, in one to three dimensions.
 *
 * The weight's rank says how many axes are spatial; an input with one axis
 * less than the weight has no batch. */
#include "graph/schema.h"
#include "ops/ops.h"

#include <string.h>

typedef struct conv {
    const clv_value *x, *w, *bias;
    uint32_t nd, channel; /* spatial axes; the axis of channels, 0 or 1 */
    int64_t cin, cout, groups;
} conv;

static const clv_value *weight_of(const clv_graph *g, const clv_node *n)
{
    return node_in(g, n, n->op == CLV_OP_QLINEAR_CONV ? 3 : 1);
}

static clv_status check_ranks(const clv_node *n, conv *c, clv_err *e)
{
    uint32_t named = clv__named_axes((clv_op)n->op);
    c->nd = c->w->rank < 3 ? 0 : c->w->rank - 2u;
    if (c->nd == 0 || c->nd > 3 || (named && c->nd != named) ||
        c->x->rank < c->nd + 1 || c->x->rank > c->nd + 2)
        return clv__fail(e, CLV_SHAPE, "input of rank %u, weight of rank %u",
                         c->x->rank, c->w->rank);
    c->channel = c->x->rank - c->nd - 1;
    return CLV_OK;
}

static clv_status check_channels(const conv *c, clv_err *e)
{
    if (c->groups < 1 || c->cin % c->groups || c->cout % c->groups)
        return clv__fail(
            e, CLV_SHAPE, "%lld input and %lld output channels in %lld groups",
            (long long)c->cin, (long long)c->cout, (long long)c->groups);
    if (c->x->dims[c->channel] != c->cin)
        return clv__fail(e, CLV_SHAPE,
                         "input has %lld channels, weight expects %lld",
                         (long long)c->x->dims[c->channel], (long long)c->cin);
    if (c->bias && clv__numel(c->bias) != c->cout)
        return clv__fail(e, CLV_SHAPE, "bias of %lld for %lld channels",
                         (long long)clv__numel(c->bias), (long long)c->cout);
    return CLV_OK;
}

/* x (N,C,..), w (M,C/g,k..) -> y (N,M,..) */
static clv_status conv_shape(clv_graph *g, clv_node *n, conv *c,
                             clv_dtype dtype, clv_err *e)
{
    CLV_TRY(check_ranks(n, c, e));
    c->groups = attr_int(n, CLV_A_GROUPS);
    c->cin = sat_mul(c->w->dims[1], c->groups);
    c->cout = c->w->dims[0];
    CLV_TRY(check_channels(c, e));
    int64_t dims[CLV_MAX_RANK] = {c->x->dims[0]};
    dims[c->channel] = c->cout;
    window_attrs attrs;
    get_window_attrs(n, &attrs);
    for (uint32_t i = 0; i < c->nd; i++) {
        window win;
        uint32_t at = c->channel + 1 + i;
        CLV_TRY(window_at(&attrs, i, c->nd, c->x->dims[at], c->w->dims[2 + i],
                          &win, e));
        CLV_TRY(window_out(&win, c->x->dims[at], false, &dims[at], e));
    }
    return out_shape(g, n, 0, dtype, c->x->rank, dims, e);
}

clv_status infer_conv(clv_graph *g, clv_node *n, clv_err *e)
{
    conv c = {
        .x = node_in(g, n, 0), .w = node_in(g, n, 1), .bias = node_in(g, n, 2)};
    return conv_shape(g, n, &c, (clv_dtype)c.x->dtype, e);
}

/* x, w, zero points of both -> int32 */
clv_status infer_conv_integer(clv_graph *g, clv_node *n, clv_err *e)
{
    conv c = {.x = node_in(g, n, 0), .w = node_in(g, n, 1)};
    return conv_shape(g, n, &c, CLV_INT32, e);
}

/* x, scale, zero; w, scale, zero; scale and zero of y; bias */
clv_status infer_qlinear_conv(clv_graph *g, clv_node *n, clv_err *e)
{
    conv c = {
        .x = node_in(g, n, 0), .w = node_in(g, n, 3), .bias = node_in(g, n, 8)};
    return conv_shape(g, n, &c, (clv_dtype)node_in(g, n, 7)->dtype, e);
}

/* x, weight, offset (N, 2*D*kh*kw, ..), bias, mask (N, D*kh*kw, ..): D sets of
 * offsets, each for C/D channels. */
clv_status infer_deform_conv(clv_graph *g, clv_node *n, clv_err *e)
{
    conv c = {
        .x = node_in(g, n, 0), .w = node_in(g, n, 1), .bias = node_in(g, n, 3)};
    CLV_TRY(conv_shape(g, n, &c, (clv_dtype)c.x->dtype, e));
    const clv_value *offset = node_in(g, n, 2), *y = node_out(g, n, 0);
    int64_t taps = sat_mul(2, dims_product(c.w->dims, 2, 4));
    if (c.x->rank != 4 || offset->rank != 4 || taps == 0 ||
        offset->dims[1] % taps || offset->dims[2] != y->dims[2] ||
        offset->dims[3] != y->dims[3])
        return clv__fail(e, CLV_SHAPE, "the offsets do not fit the kernel");
    return CLV_OK;
}

/* out = (in-1)*stride - before - after + dilation*(k-1) + output_padding + 1 */
static clv_status convt_axis(const clv_node *n, const conv *c, uint32_t i,
                             int64_t *out, clv_err *e)
{
    window w;
    uint32_t count;
    const int64_t *more = attr_ints(n, CLV_A_OUTPUT_PADDING, &count);
    int64_t in = c->x->dims[c->channel + 1 + i];
    int64_t extra = list_at(more, count, i);
    CLV_TRY(get_window(n, i, c->nd, in, c->w->dims[2 + i], &w, e));
    if (extra < 0 || (extra >= w.stride && extra >= w.dilation))
        return clv__fail(
            e, CLV_SHAPE, "output padding %lld with stride %lld, dilation %lld",
            (long long)extra, (long long)w.stride, (long long)w.dilation);
    *out = sat_add(sat_mul(in - 1, w.stride),
                   (w.kernel - 1) * w.dilation + 1 + extra);
    if (*attr_str(n, CLV_A_AUTO_PAD) == 's') {
        int64_t same = sat_mul(in, w.stride);
        *out = same < *out ? same : *out; /* padding is never negative */
        return CLV_OK;
    }
    *out = sat_add(*out, -w.before - w.after);
    return CLV_OK;
}

/* x (N,C,..), w (C,M/g,k..) -> y (N,M,..) */
clv_status infer_convt(clv_graph *g, clv_node *n, clv_err *e)
{
    conv c = {
        .x = node_in(g, n, 0), .w = node_in(g, n, 1), .bias = node_in(g, n, 2)};
    CLV_TRY(check_ranks(n, &c, e));
    c.groups = attr_int(n, CLV_A_GROUPS);
    c.cin = c.w->dims[0];
    c.cout = sat_mul(c.w->dims[1], c.groups);
    CLV_TRY(check_channels(&c, e));
    uint32_t given;
    const int64_t *size = attr_ints(n, CLV_A_OUTPUT_SIZE, &given);
    if (given && given != c.nd && given != c.nd + 2)
        return clv__fail(e, CLV_SHAPE, "output_size has %u entries for %u axes",
                         given, c.nd);
    int64_t dims[CLV_MAX_RANK] = {c.x->dims[0]};
    dims[c.channel] = c.cout;
    for (uint32_t i = 0; i < c.nd; i++) {
        CLV_TRY(convt_axis(n, &c, i, &dims[c.channel + 1 + i], e));
        if (given)
            dims[c.channel + 1 + i] = size[given - c.nd + i];
    }
    return out_shape(g, n, 0, (clv_dtype)c.x->dtype, c.x->rank, dims, e);
}

/* -- cost -----------------------------------------------------------------*/

/* Each output element is a dot product of C/g * prod(k) taps:
 *   MACs = N * prod(w) * prod(out spatial); a bias adds 1 per output. */
static void conv_cost(const clv_graph *g, const clv_node *n, clv_cost *c,
                      const clv_value *at, const clv_value *bias)
{
    const clv_value *w = weight_of(g, n);
    uint32_t nd = w->rank - 2u;
    int64_t places = dims_product(at->dims, at->rank - nd, at->rank);
    if (at->rank == w->rank)
        places = sat_mul(places, at->dims[0]);
    c->macs = sat_mul(places, clv__numel(w));
    c->flops = sat_mul(2, c->macs);
    if (bias)
        c->flops = sat_add(c->flops, clv__numel(node_out(g, n, 0)));
}

void cost_conv(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_out(g, n, 0), node_in(g, n, 2));
}

/* Transposed: each input element is spread over the kernel. */
void cost_convt(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_in(g, n, 0), node_in(g, n, 2));
}

/* Zero points are folded into the sums; no bias. */
void cost_conv_integer(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_out(g, n, 0), NULL);
}

/* A convolution, then scale, round and shift of each output: 3 more. */
void cost_qlinear_conv(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    conv_cost(g, n, c, node_out(g, n, 0), node_in(g, n, 8));
    c->flops = sat_add(c->flops, sat_mul(3, clv__numel(node_out(g, n, 0))));
}

/* A convolution over samples, each between 4 elements: 4 multiplications and 3
 * additions, and one more multiplication with a mask. */
void cost_deform_conv(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const clv_value *x = node_in(g, n, 0), *w = node_in(g, n, 1);
    const clv_value *y = node_out(g, n, 0);
    conv_cost(g, n, c, y, node_in(g, n, 3));
    int64_t samples = sat_mul(
        sat_mul(x->dims[0], x->dims[1]),
        sat_mul(dims_product(w->dims, 2, 4), dims_product(y->dims, 2, 4)));
    int64_t each = node_in(g, n, 4) ? 8 : 7;
    c->flops = sat_add(c->flops, sat_mul(each, samples));
}

void par_conv(const clv_graph *g, const clv_node *n, clv_parallel *p)
{
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    const clv_value *w = weight_of(g, n);
    if (w->rank < 3 || x->rank != y->rank || y->rank + 1 < w->rank)
        return; /* only the output's shape is known */
    uint32_t channel = y->rank + 1u - w->rank;
    int64_t groups = attr_int(n, CLV_A_GROUPS);
    p->batch = channel ? y->dims[0] : 1;
    p->channels = y->dims[channel];
    p->spatial = dims_product(y->dims, channel + 1, y->rank);
    p->num_groups = groups;
    p->is_grouped = groups > 1;
    p->is_depthwise = groups > 1 && groups == x->dims[channel];
    p->can_split_batch = p->batch > 1;
    p->can_split_spatial = p->spatial > 1;
    /* A depthwise channel has no sum to split: its channels are the groups. */
    p->can_split_channels = !p->is_depthwise && p->channels > 1;
    p->vectorizable_dim = p->is_depthwise ? "spatial" : "channels";
}

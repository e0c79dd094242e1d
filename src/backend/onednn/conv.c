/* conv.c - convolutions as primitives, with their chains.
 *
 * Layouts are left to oneDNN, apart from channels that are last already. On
 * AVX2 the 3x3 windows are ours (winograd.h), in oneDNN's layout. */
#include "backend/onednn/onednn.h"

#include <math.h>

typedef struct conv {
    dnnl_dims_t stride, dilation, before, after;
    dnnl_memory_desc_t plain, any; /* of the weights, groups in front */
    bool hollow;                   /* some window lies in the padding alone */
} conv;

static clv_status dnn_conv_of(lowering *l, uint32_t node, conv *c)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *w = dnn_value(l, dnn_in(l, node, 1));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t nd = x->rank - 2u, at_dim = 0;
    int64_t groups = attr_int(n, CLV_A_GROUPS), dims[CLV_MAX_RANK];
    c->hollow = false;
    if (x->rank < 3 || x->rank > 5 || x->rank != w->rank) /* or no batch */
        return dnn_no(l, "a convolution of this rank");
    for (uint32_t i = 0; i < nd; i++) {
        window win;
        CLV_TRY(
            get_window(n, i, nd, x->dims[2 + i], w->dims[2 + i], &win, l->e));
        c->stride[i] = win.stride;
        c->dilation[i] = win.dilation - 1;
        c->before[i] = win.before;
        c->after[i] = (y->dims[2 + i] - 1) * win.stride +
                      (win.kernel - 1) * win.dilation + 1 - x->dims[2 + i] -
                      win.before;
        int64_t reach = (win.kernel - 1) * win.dilation;
        c->hollow |= win.before > reach || c->after[i] > reach;
    }
    if (groups > 1) {
        dims[at_dim++] = groups;
        dims[at_dim++] = w->dims[0] / groups;
    } else {
        dims[at_dim++] = w->dims[0];
    }
    for (uint32_t i = 1; i < w->rank; i++)
        dims[at_dim++] = w->dims[i];
    dnn_plain(&c->plain, dims, at_dim);
    dnn_any(&c->any, dims, at_dim);
    return CLV_OK;
}

bool dnn_is_jit(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return name && (!strncmp(name, "jit", 3) || !strncmp(name, "brg", 3));
}

enum { LONG_LINE = 64, WIDE_BLOCK = 16 };

/* A 1-d convolution of which oneDNN 2.6 would make products of each length that
 * a tap reaches in a line whose channels are last: compiling these takes ten
 * times as long as the line takes to run, and a hundred megabytes. */
static bool conv_is_line(const clv_value *x, const clv_value *y, const conv *c)
{
    return x->rank == 3 && c->plain.ndims == 3 && c->plain.dims[2] > 1 &&
           y->dims[2] > LONG_LINE && dnn_works_last();
}

/* The layouts in which a line is computed at once: blocks of channels, or plain
 * where they are few. */
static void conv_line_layouts(const clv_value *x, const clv_value *y,
                              dnnl_memory_desc_t *src, dnnl_memory_desc_t *dst)
{
    bool few = x->dims[1] < WIDE_BLOCK;
    dnnl_memory_desc_init_by_tag(src, 3, x->dims, dnnl_f32,
                                 few ? dnnl_ncw : dnnl_nCw16c);
    dnnl_memory_desc_init_by_tag(dst, 3, y->dims, dnnl_f32, dnnl_nCw16c);
}

/* In which layouts the image comes and goes. */
typedef enum conv_layout { LAYOUT_ANY, LAYOUT_LAST, LAYOUT_LINE } conv_layout;

static dnnl_status_t conv_create(lowering *l, uint32_t node, const conv *c,
                                 bool bias, conv_layout layout,
                                 const_dnnl_primitive_attr_t attr,
                                 dnnl_primitive_desc_t *pd)
{
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    dnnl_memory_desc_t src, dst, b;
    dnnl_convolution_desc_t d;
    dnn_any(&src, x->dims, x->rank);
    dnn_any(&dst, y->dims, y->rank);
    if (layout == LAYOUT_LAST) {
        dnn_last(&src, x);
        dnn_last(&dst, y);
    } else if (layout == LAYOUT_LINE) {
        conv_line_layouts(x, y, &src, &dst);
    }
    dnn_plain(&b, &y->dims[1], 1);
    dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_inference, dnnl_convolution_direct, &src, &c->any,
        bias ? &b : NULL, &dst, c->stride, c->dilation, c->before, c->after);
    return s == dnnl_success
               ? dnnl_primitive_desc_create(pd, &d, attr, l->engine, NULL)
               : s;
}

/* Whether it has code for the convolution in this layout. */
static bool conv_compiles(lowering *l, uint32_t node, const conv *c, bool bias,
                          conv_layout layout, const_dnnl_primitive_attr_t attr,
                          dnnl_primitive_desc_t *pd)
{
    if (conv_create(l, node, c, bias, layout, attr, pd) != dnnl_success)
        return false;
    if (dnn_is_jit(*pd))
        return true;
    dnnl_primitive_desc_destroy(*pd);
    return false;
}

/* Channels stay last where they are and oneDNN is fast with it. */
static clv_status conv_pd(lowering *l, uint32_t node, const conv *c, bool bias,
                          const_dnnl_primitive_attr_t attr,
                          dnnl_primitive_desc_t *pd)
{
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    uint32_t s;
    CLV_TRY(dnn_slot(l, dnn_in(l, node, 0), &s));
    const dnnl_memory_desc_t *md = &l->x->slots[s].md;
    if (conv_is_line(x, dnn_value(l, dnn_out(l, node)), c) &&
        conv_compiles(l, node, c, bias, LAYOUT_LINE, attr, pd))
        return CLV_OK;
    if (dnn_channels_last(md) && md->dims[1] > 1 &&
        conv_compiles(l, node, c, bias, LAYOUT_LAST, attr, pd))
        return CLV_OK;
    DNN(l, conv_create(l, node, c, bias, LAYOUT_ANY, attr, pd));
    return CLV_OK;
}

/* Lays out columns of the image and multiplies: several times slower than what
 * is compiled for the shape. */
static bool conv_by_columns(const_dnnl_primitive_desc_t pd)
{
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "gemm") != NULL;
}

/* oneDNN adds a residual in any layout only where it computes by columns. Takes
 * another *pd and *e in their place, if one that adds it with channels last is
 * compiled for the shape; *residual becomes the slot of that layout. */
static clv_status conv_with_residual(lowering *l, const chain *c, uint32_t n,
                                     const conv *v, bool bias, dnn_epilogue *e,
                                     dnnl_primitive_desc_t *pd,
                                     uint32_t *residual)
{
    const link *add = dnn_find_add(c, n);
    const clv_value *y = dnn_value(l, dnn_out(l, c->anchor));
    dnnl_memory_desc_t md;
    dnn_epilogue other;
    dnnl_primitive_desc_t last;
    if (!conv_by_columns(*pd) || y->rank < 3 || y->dims[1] < 2 ||
        !dnn_same_dims(dnn_value(l, add->other), y))
        return CLV_OK;
    dnn_last(&md, y);
    CLV_TRY(dnn_epilogue_of(l, c, n, &md, false, &other));
    dnnl_status_t s =
        conv_create(l, c->anchor, v, bias, LAYOUT_LAST, other.attr, &last);
    dnnl_primitive_attr_destroy(other.attr);
    if (s != dnnl_success)
        return CLV_OK;
    clv_status made = CLV_OK;
    bool better = !conv_by_columns(last) && dnn_is_jit(last);
    if (better)
        made = dnn_want(l, add->other, &md, residual);
    dnnl_primitive_desc_destroy(better && made == CLV_OK ? *pd : last);
    if (better && made == CLV_OK) {
        *pd = last;
        *e = other;
    }
    return made;
}

/* -- of our own -----------------------------------------------------------*/

/* What follows the constants: a sum, then bounds, then nothing. */
static bool simple_end(const chain *c, uint32_t n, float *low, float *high)
{
    uint32_t i = 0;
    *low = -INFINITY;
    *high = INFINITY;
    while (i < n && dnn_is_affine(&c->link[i]))
        i++;
    if (i < n && c->link[i].kind == LINK_ADD)
        i++;
    if (i < n && c->link[i].kind == LINK_ELTWISE) {
        const link *k = &c->link[i++];
        bool relu = k->alg == dnnl_eltwise_relu && fabsf(k->alpha) <= 0;
        if (!relu && k->alg != dnnl_eltwise_clip)
            return false;
        *low = relu ? 0 : k->alpha;
        *high = relu ? INFINITY : k->beta;
    }
    return i == n;
}

static bool has_avx2(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) ==
           dnnl_cpu_isa_avx2;
}

/* Channels are last in our own convolution: where its input is so already, and
 * wherever oneDNN works so, which it does with vectors wider than AVX2's. */
static bool own_last(const lowering *l, uint32_t x)
{
    uint32_t s = l->slot_of[x];
    return dnn_works_last() ||
           (s != CLV_NONE && dnn_channels_last(&l->x->slots[s].md));
}

/* Fewer pixels share too little of our weights, which are larger than plain
 * ones, and fewer outputs too little of the turned inputs, to be faster than
 * oneDNN with wide vectors. */
enum { OWN_PIXELS = 1000, OWN_OUT = 64 };

/* The 3x3 convolutions that Winograd's way is better for. */
static bool fits_own(const lowering *l, const chain *c, uint32_t n,
                     const conv *v, winograd *k)
{
    const clv_value *x = dnn_value(l, dnn_in(l, c->anchor, 0));
    const clv_value *w = dnn_value(l, dnn_in(l, c->anchor, 1));
    const clv_value *y = dnn_value(l, dnn_out(l, c->anchor));
    if (x->rank != 4 || v->plain.ndims != 4 || w->dims[2] != 3 ||
        w->dims[3] != 3 || !dnn_const(l, dnn_in(l, c->anchor, 1)))
        return false;
    for (int i = 0; i < 2; i++)
        if (v->stride[i] != 1 || v->dilation[i] != 0)
            return false;
    *k = (winograd){.batch = x->dims[0],
                    .in = x->dims[1],
                    .out = y->dims[1],
                    .h = x->dims[2],
                    .w = x->dims[3],
                    .oh = y->dims[2],
                    .ow = y->dims[3],
                    .pad_y = v->before[0],
                    .pad_x = v->before[1],
                    .last = own_last(l, dnn_in(l, c->anchor, 0))};
    bool wide = dnn_works_last();
    int64_t pixels = y->dims[0] * y->dims[2] * y->dims[3];
    return !l->dry && simple_end(c, n, &k->low, &k->high) && has_avx2() &&
           (!wide || (pixels >= OWN_PIXELS && k->out >= OWN_OUT)) &&
           winograd_choose(k);
}

static clv_status own_weights(lowering *l, uint32_t w, const dnn_affine *a,
                              const winograd *k, uint32_t *slot)
{
    const char *plain = l->s->tensor[w].data;
    size_t bytes = winograd_weights(k);
    dnn_source s = {.data = plain,
                    .tile = k->tile,
                    .scale = a->scale,
                    .n = a->scale ? a->n : 0};
    void *packed = dnn_is_shared(l, w) ? dnn_packs_find(l->x->packs, &s) : NULL;
    if (!packed) {
        if (!(packed = dnn_packs_room(l->x->packs, bytes)))
            return clv__nomem(l->e);
        winograd_pack(k, plain, a->scale, packed);
        dnn_drop(l, plain, (size_t)clv__bytes(dnn_value(l, w)));
        if (dnn_is_shared(l, w) && !dnn_packs_add(l->x->packs, &s, packed))
            return clv__nomem(l->e);
    }
    return dnn_room(l, bytes, packed, slot);
}

static clv_status make_own(lowering *l, const chain *c, uint32_t n,
                           const dnn_affine *a, const winograd *k)
{
    uint32_t node = c->anchor, v = dnn_result(l, c, n), n_args = 3, onto;
    const dnnl_dims_t xd = {k->batch, k->in, k->h, k->w},
                      yd = {k->batch, k->out, k->oh, k->ow};
    const link *add = dnn_find_add(c, n);
    int arg[5] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    uint32_t slot[5];
    dnnl_memory_desc_t x, y;
    dnnl_format_tag_t tag = k->last ? dnnl_nhwc : dnnl_nChw8c;
    dnnl_memory_desc_init_by_tag(&x, 4, xd, dnnl_f32, tag);
    dnnl_memory_desc_init_by_tag(&y, 4, yd, dnnl_f32, tag);
    CLV_TRY(dnn_want(l, dnn_in(l, node, 0), &x, &slot[0]));
    CLV_TRY(own_weights(l, dnn_in(l, node, 1), a, k, &slot[1]));
    if (dnn_has_bias(a)) {
        arg[n_args] = DNNL_ARG_BIAS;
        CLV_TRY(dnn_bias(l, a, &slot[n_args++]));
    }
    onto = CLV_NONE;
    if (add) {
        arg[n_args] = DNNL_ARG_SRC_1;
        CLV_TRY(dnn_want(l, add->other, &y, &slot[n_args]));
        if (dnn_may_overwrite(l, node, add, slot[n_args]))
            onto = slot[n_args];
        n_args++;
    }
    CLV_TRY(dnn_target(l, &y, onto, v, &slot[2]));
    CLV_TRY(dnn_own(l, k, arg, slot, n_args));
    return dnn_name(l, slot[2], v, &y);
}

/* -- anchors --------------------------------------------------------------*/

/* How many links of its chain a convolution of our own takes, if it is one;
 * else all of them. What follows is worth a pass of its own. */
uint32_t dnn_conv_links(lowering *l, const chain *c)
{
    clv_err untold = {0}, *e = l->e;
    winograd own;
    conv v;
    l->e = &untold;
    bool known = dnn_conv_of(l, c->anchor, &v) == CLV_OK;
    l->e = e;
    for (uint32_t n = c->n; known && n != CLV_NONE; n--)
        if (fits_own(l, c, n, &v, &own))
            return n;
    return c->n;
}

clv_status dnn_conv(lowering *l, const chain *c, uint32_t n)
{
    uint32_t node = c->anchor;
    const link *add = dnn_find_add(c, n);
    const dnnl_memory_desc_t *operand = NULL;
    dnn_operands o = {CLV_NONE, CLV_NONE, CLV_NONE, CLV_NONE};
    dnn_epilogue e;
    dnn_affine a;
    conv v;
    winograd own;
    dnnl_primitive_desc_t pd;
    CLV_TRY(dnn_conv_of(l, node, &v));
    CLV_TRY(dnn_affine_of(l, c, n, dnn_value(l, dnn_out(l, node))->dims[1],
                          dnn_in(l, node, 2), &a));
    if (fits_own(l, c, n, &v, &own))
        return make_own(l, c, n, &a, &own);
    if (add) {
        CLV_TRY(dnn_dense(l, add->other, &o.residual));
        operand = &l->x->slots[o.residual].md;
    }
    /* oneDNN 2.6 reads a wrong address behind a sum over hollow windows */
    bool onto = add && !v.hollow && dnn_may_overwrite(l, node, add, o.residual);
    clv_status s = dnn_epilogue_of(l, c, n, operand, onto, &e);
    if (s == CLV_OK)
        s = conv_pd(l, node, &v, dnn_has_bias(&a), e.attr, &pd);
    dnnl_primitive_attr_destroy(e.attr);
    CLV_TRY(s);
    if (add && !onto)
        s = conv_with_residual(l, c, n, &v, dnn_has_bias(&a), &e, &pd,
                               &o.residual);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    const dnnl_memory_desc_t x = *dnn_query(pd, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t y = *dnn_query(pd, dnnl_query_dst_md, 0);
    s = dnn_want(l, dnn_in(l, node, 0), &x, &o.src);
    if (s == CLV_OK)
        s = dnn_fetch(l, dnn_in(l, node, 1), &a, &v.plain,
                      v.plain.ndims - x.ndims + 1, pd, &o);
    if (s == CLV_OK && add && e.onto)
        s = dnn_want(l, add->other, &y, &o.residual);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_finish(l, pd, &o, &e, dnn_result(l, c, n));
}

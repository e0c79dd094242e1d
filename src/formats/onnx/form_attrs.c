/* form_attrs.c - the attributes of operators that ONNX has too: one
 * function per set of them, named in onnx.def. */
#include "formats/onnx/read.h"
#include "formats/onnx/writer.h"
#include "graph/schema.h"

#include <string.h>

/* Of a transposed convolution whose result has a size of its own: what is cut
 * off, or added behind (`more`). The larger half comes first unless padding is
 * "same". */
static void sized_pads(const body *b, uint32_t i, uint32_t nd, window *w,
                       int64_t *more)
{
    const clv_value *x = form_in(b, 0), *y = form_out(b);
    const char *mode = attr_str(b->n, CLV_A_AUTO_PAD);
    if (*mode != 's' && !attr_get(b->n, CLV_A_OUTPUT_SIZE))
        return;
    int64_t whole = (x->dims[x->rank - nd + i] - 1) * w->stride +
                    (w->kernel - 1) * w->dilation + 1 + *more;
    int64_t cut = whole - y->dims[y->rank - nd + i];
    *more += cut < 0 ? -cut : 0;
    cut = cut < 0 ? 0 : cut;
    w->before = !strcmp(mode, "same") ? cut / 2 : cut - cut / 2;
    w->after = cut - w->before;
}

/* `weight` is the input that the kernel's size is that of; 0: an attribute. */
static void windows(const body *b, onnx_out *o, uint32_t nd, uint32_t weight)
{
    bool kernel = weight == 0;
    int64_t strides[3], dilations[3], pads[6], sizes[3], more[3] = {0};
    bool back = b->n->op >= CLV_OP_CONVT1D && b->n->op <= CLV_OP_CONVT3D;
    uint32_t n_more = 0, nk = 0;
    const int64_t *extra =
        back ? attr_ints(b->n, CLV_A_OUTPUT_PADDING, &n_more) : NULL;
    const clv_value *x = form_in(b, 0);
    const int64_t *k = kernel ? attr_ints(b->n, CLV_A_KERNEL, &nk) : NULL;
    for (uint32_t i = 0; i < nd; i++) {
        window w = {0};
        sizes[i] = kernel ? list_at(k, nk, i) : form_in(b, weight)->dims[2 + i];
        if (get_window(b->n, i, nd, x->dims[x->rank - nd + i], sizes[i], &w,
                       NULL) != CLV_OK)
            continue;
        more[i] = list_at(extra, n_more, i);
        if (back)
            sized_pads(b, i, nd, &w, &more[i]);
        strides[i] = w.stride;
        dilations[i] = w.dilation;
        pads[i] = w.before;
        pads[nd + i] = w.after;
    }
    if (kernel)
        out_ints(o, "kernel_shape", sizes, nd);
    out_ints(o, "strides", strides, nd);
    out_ints(o, "pads", pads, 2 * nd);
    if (more[0] || more[1] || more[2])
        out_ints(o, "output_padding", more, nd);
    bool average =
        b->n->op >= CLV_OP_AVG_POOL1D && b->n->op <= CLV_OP_AVG_POOL3D;
    bool norm = b->n->op >= CLV_OP_LP_POOL1D && b->n->op <= CLV_OP_LP_POOL3D;
    if (b->opset >= (average ? 19 : norm ? 18 : 0))
        out_ints(o, "dilations", dilations, nd);
}

/* What ONNX alone knows, and what only some operators have. */
void other_attrs(body *b, onnx_out *o)
{
    for (uint32_t i = 0; i < b->n->n_attrs; i++) {
        clv_attr own = b->n->attrs[i];
        own.name = onnx_attr_name(&own);
        if (own.name)
            out_attr(o, &own);
    }
}

/* ONNX has no convolution without a batch. */
void conv_attrs(body *b, onnx_out *o)
{
    bool scaled = b->n->op == CLV_OP_QLINEAR_CONV;
    b->unable = form_in(b, 0)->rank != form_in(b, scaled ? 3 : 1)->rank;
    if (b->unable)
        return;
    windows(b, o, form_in(b, 0)->rank - 2u, scaled ? 3 : 1);
    out_int(o, "group", attr_int(b->n, CLV_A_GROUPS));
}

/* An offset has two numbers per tap of the kernel and group of channels. */
void deform_attrs(body *b, onnx_out *o)
{
    const clv_value *w = form_in(b, 1), *offset = form_in(b, 2);
    int64_t taps = 2 * w->dims[2] * w->dims[3];
    conv_attrs(b, o);
    out_int(o, "offset_group", taps > 0 ? offset->dims[1] / taps : 1);
}

/* Opset 20 renamed the modes. */
void grid_attrs(body *b, onnx_out *o)
{
    const char *mode = attr_str(b->n, CLV_A_MODE);
    bool old = b->opset < 20, cubic = strstr(mode, "cubic") != NULL;
    if (strcmp(mode, "nearest") != 0)
        mode = cubic ? (old ? "bicubic" : "cubic")
               : old ? "bilinear"
                     : "linear";
    bool halfway = !strcmp(mode, "nearest") &&
                   attr_is(b->n, CLV_A_PADDING_MODE, "reflection") &&
                   !attr_is(b->n, CLV_A_ROUNDING, "first");
    b->unable = halfway || (old && form_in(b, 0)->rank != 4);
    out_string(o, "mode", mode);
    out_int(o, "align_corners", attr_int(b->n, CLV_A_ALIGN_CORNERS));
    out_string(o, "padding_mode", attr_str(b->n, CLV_A_PADDING_MODE));
}

void group_norm_attrs(body *b, onnx_out *o)
{
    epsilon_attr(b, o);
    out_int(o, "num_groups", attr_int(b->n, CLV_A_GROUPS));
}

/* Axes of the windows, by the operator: 1d, 2d, 3d are in a row. */
static uint32_t pooled(const body *b)
{
    static const clv_op first[] = {CLV_OP_MAX_POOL1D, CLV_OP_AVG_POOL1D,
                                   CLV_OP_LP_POOL1D};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (b->n->op >= first[i] && b->n->op < first[i] + 3u)
            return b->n->op - first[i] + 1u;
    return 0;
}

/* ONNX has no pool without a batch. */
void pool_attrs(body *b, onnx_out *o)
{
    b->unable = b->unable || form_in(b, 0)->rank != pooled(b) + 2;
    if (b->unable)
        return;
    windows(b, o, form_in(b, 0)->rank - 2u, 0);
    out_int(o, "ceil_mode", attr_int(b->n, CLV_A_CEIL));
    if (clv__attr_spec((clv_op)b->n->op, CLV_A_INDICES) &&
        attr_is(b->n, CLV_A_INDICES, "tensor_by_columns"))
        out_int(o, "storage_order", 1);
}

/* Dilated since opset 19. */
void avg_pool_attrs(body *b, onnx_out *o)
{
    uint32_t n;
    const int64_t *by = attr_ints(b->n, CLV_A_DILATION, &n);
    for (uint32_t i = 0; i < n && b->opset < 19; i++)
        b->unable = b->unable || by[i] != 1;
    pool_attrs(b, o);
    out_int(o, "count_include_pad", attr_int(b->n, CLV_A_COUNT_INCLUDE_PAD));
}

/* In training, batch norm is another thing. */
void batch_norm_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_out > 1;
    epsilon_attr(b, o);
}

void epsilon_attr(body *b, onnx_out *o)
{
    out_float(o, "epsilon", attr_float(b->n, CLV_A_EPSILON));
}

void layer_norm_attrs(body *b, onnx_out *o)
{
    uint32_t n;
    attr_ints(b->n, CLV_A_SHAPE, &n);
    epsilon_attr(b, o);
    out_int(o, "axis",
            attr_get(b->n, CLV_A_SHAPE) ? -(int64_t)n
                                        : attr_int(b->n, CLV_A_AXIS));
}

/* The norm's power; ceil and dilations came at opset 18. */
void lp_pool_attrs(body *b, onnx_out *o)
{
    uint32_t n;
    const int64_t *by = attr_ints(b->n, CLV_A_DILATION, &n);
    bool plain = !attr_int(b->n, CLV_A_CEIL);
    for (uint32_t i = 0; i < n; i++)
        plain = plain && by[i] == 1;
    b->unable = b->opset < 18 && !plain;
    windows(b, o, form_in(b, 0)->rank - 2u, 0);
    if (b->opset >= 18)
        out_int(o, "ceil_mode", attr_int(b->n, CLV_A_CEIL));
    out_int(o, "p", (int64_t)attr_float(b->n, CLV_A_P));
}

void hardsigmoid_attrs(body *b, onnx_out *o)
{
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA));
}

void approximate_attr(body *b, onnx_out *o)
{
    out_string(o, "approximate", attr_str(b->n, CLV_A_APPROXIMATE));
}

void alpha_attr(body *b, onnx_out *o)
{
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA));
}

void axis_attr(body *b, onnx_out *o)
{
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS));
}

void flatten_attrs(body *b, onnx_out *o)
{
    const clv_attr *axis = attr_get(b->n, CLV_A_AXIS);
    out_int(o, "axis", axis ? axis->u.i : attr_int(b->n, CLV_A_START));
}

void perm_attr(body *b, onnx_out *o)
{
    uint32_t n;
    const int64_t *perm = attr_ints(b->n, CLV_A_PERM, &n);
    int64_t v[CLV_MAX_RANK];
    for (uint32_t i = 0; i < n && i < CLV_MAX_RANK; i++)
        v[i] = perm[i] < 0 ? perm[i] + n : perm[i];
    if (n)
        out_ints(o, "perm", v, n);
}

/* Its attributes only say what its shape says. */
void no_attrs(body *b, onnx_out *o)
{
    (void)b;
    (void)o;
}

void axis0_attr(body *b, onnx_out *o)
{
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS));
}

static void axis1_attr(body *b, onnx_out *o)
{
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS));
}

static bool is_narrow(const clv_value *v)
{
    return v->dtype != CLV_INT16 && v->dtype != CLV_UINT16;
}

/* Quantise and dequantise: blocks, and integers of 16 bits, since opset 21;
 * scales of other types than float32 since 19. */
void quant_attrs(body *b, onnx_out *o)
{
    const clv_value *x = form_in(b, 0), *scale = form_in(b, 1);
    const clv_value *y = form_out(b), *zero = form_in(b, 2);
    bool back = b->n->op == CLV_OP_DEQUANTIZE_LINEAR;
    int64_t block = attr_int(b->n, CLV_A_BLOCK);
    bool plain = !block && is_narrow(back ? x : y) &&
                 (back || zero || y->dtype == CLV_UINT8);
    b->unable = (b->opset < 21 && !plain) ||
                (b->opset < 19 && scale->dtype != CLV_FLOAT32) ||
                (back && y->dtype != scale->dtype) ||
                attr_get(b->n, CLV_A_OFFSET);
    axis1_attr(b, o);
    if (block)
        out_int(o, "block_size", block);
    if (!back && !zero && y->dtype != CLV_UINT8)
        out_int(o, "output_dtype", onnx_dtype_number((clv_dtype)y->dtype));
}

void batch_dims_attr(body *b, onnx_out *o)
{
    out_int(o, "batch_dims", attr_int(b->n, CLV_A_BATCH_DIMS));
}

/* Without an axis it is over all elements, which ONNX cannot say. */
void arg_attrs(body *b, onnx_out *o)
{
    b->unable = !attr_get(b->n, CLV_A_AXIS) && form_in(b, 0)->rank > 1;
    axis0_attr(b, o);
    other_attrs(b, o);
    out_int(o, "keepdims", attr_int(b->n, CLV_A_KEEPDIM));
}

void topk_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 2;
    axis_attr(b, o);
    out_int(o, "largest", attr_int(b->n, CLV_A_LARGEST));
    out_int(o, "sorted", attr_int(b->n, CLV_A_SORTED));
}

void gemm_attrs(body *b, onnx_out *o)
{
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA));
    out_int(o, "transA", attr_int(b->n, CLV_A_TRANS_A));
    out_int(o, "transB", attr_int(b->n, CLV_A_TRANS_B));
}

void reduction_attr(body *b, onnx_out *o)
{
    const char *how = attr_str(b->n, CLV_A_REDUCTION);
    b->unable = strcmp(how, "none") && b->opset < 18;
    if (b->opset >= 16)
        out_string(o, "reduction", how);
}

void cast_attrs(body *b, onnx_out *o)
{
    int to = onnx_dtype_number((clv_dtype)form_out(b)->dtype);
    b->unable = to == 0;
    out_int(o, "to", to);
    if (attr_get(b->n, CLV_A_SATURATE))
        out_int(o, "saturate", attr_int(b->n, CLV_A_SATURATE));
    if (attr_get(b->n, CLV_A_ROUNDING))
        out_string(o, "round_mode", attr_str(b->n, CLV_A_ROUNDING));
}

void pad_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in > 3 && b->opset < 18;
    out_string(o, "mode", attr_str(b->n, CLV_A_MODE));
}

void block_attrs(body *b, onnx_out *o)
{
    out_int(o, "blocksize", attr_int(b->n, CLV_A_BLOCK));
    if (b->n->op == CLV_OP_DEPTH_TO_SPACE)
        out_string(o, "mode", attr_str(b->n, CLV_A_MODE));
}

void equation_attr(body *b, onnx_out *o)
{
    out_string(o, "equation", attr_str(b->n, CLV_A_EQUATION));
}

void cumsum_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 2;
    out_int(o, "exclusive", attr_int(b->n, CLV_A_EXCLUSIVE));
    out_int(o, "reverse", attr_int(b->n, CLV_A_REVERSE));
}

/* Since opset 20 the axis is an input. */
void dft_attrs(body *b, onnx_out *o)
{
    b->unable = b->opset >= 20 || b->n->n_in > 2;
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS));
    stft_attrs(b, o);
}

void stft_attrs(body *b, onnx_out *o)
{
    out_int(o, "onesided", attr_int(b->n, CLV_A_ONESIDED));
    if (b->n->op == CLV_OP_DFT && attr_int(b->n, CLV_A_INVERSE))
        out_int(o, "inverse", 1);
}

/* ONNX rounds integers towards zero, and nothing else. */
void div_attrs(body *b, onnx_out *o)
{
    const char *mode = attr_str(b->n, CLV_A_MODE);
    bool whole = dtype_is_integral((clv_dtype)form_out(b)->dtype);
    bool two = b->n->n_in == 2 || attr_get(b->n, CLV_A_VALUE);
    (void)o;
    if (!two || (strcmp(mode, "none") && strcmp(mode, "typed") &&
                 (!whole || strcmp(mode, "trunc"))))
        b->unable = true;
}

/* Nothing is dropped when a model runs; the mask had another type once. */
void dropout_attrs(body *b, onnx_out *o)
{
    (void)o;
    b->unable = b->n->n_in > 2;
}

void scatter_attrs(body *b, onnx_out *o)
{
    axis0_attr(b, o);
    reduction_attr(b, o);
}

void lrn_attrs(body *b, onnx_out *o)
{
    b->unable =
        attr_int(b->n, CLV_A_CEIL) && attr_int(b->n, CLV_A_SIZE) % 2 == 0;
    out_int(o, "size", attr_int(b->n, CLV_A_SIZE));
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA));
    out_float(o, "bias", attr_float(b->n, CLV_A_K));
}

void mod_attrs(body *b, onnx_out *o)
{
    bool whole = dtype_is_integral((clv_dtype)form_out(b)->dtype);
    b->unable = b->n->n_in != 2 || (!whole && b->n->op != CLV_OP_FMOD);
    out_int(o, "fmod", b->n->op == CLV_OP_FMOD);
}

/* Boxes (n,4) with the image of each as an input of its own. */
void roi_align_attrs(body *b, onnx_out *o)
{
    uint32_t n;
    const int64_t *size = attr_ints(b->n, CLV_A_OUTPUT_SIZE, &n);
    b->unable = b->n->n_in != 3 || n == 0;
    if (b->unable)
        return;
    out_string(o, "mode", attr_str(b->n, CLV_A_MODE));
    out_int(o, "output_height", size[0]);
    out_int(o, "output_width", size[n - 1]);
    out_int(o, "sampling_ratio", attr_int(b->n, CLV_A_SAMPLING));
    out_float(o, "spatial_scale", attr_float(b->n, CLV_A_SPATIAL_SCALE));
    out_string(o, "coordinate_transformation_mode",
               attr_int(b->n, CLV_A_ALIGNED) ? "half_pixel"
                                             : "output_half_pixel");
}

/* ONNX has one row of indices per axis. */
void nonzero_attrs(body *b, onnx_out *o)
{
    (void)o;
    b->unable = !attr_int(b->n, CLV_A_BY_AXIS);
}

void one_hot_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 3;
    axis_attr(b, o);
}

void trilu_attrs(body *b, onnx_out *o)
{
    b->unable = attr_get(b->n, CLV_A_DIAGONAL) != NULL;
    out_int(o, "upper", b->n->op == CLV_OP_TRIU);
}

/* Activations and clip, among others, are ONNX's own. */
void rnn_attrs(body *b, onnx_out *o)
{
    b->unable = strcmp(attr_str(b->n, CLV_A_LAYOUT), "onnx") != 0;
    out_int(o, "hidden_size", attr_int(b->n, CLV_A_HIDDEN));
    out_string(o, "direction", attr_str(b->n, CLV_A_DIRECTION));
    other_attrs(b, o);
}

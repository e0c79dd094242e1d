/* onnx_form_attrs.c - the attributes of operators that ONNX has too: one
 * function per set of them, named in the table of onnx_form.c. */
#include "export/onnx.h"

#include <string.h>

/* Kernel sizes are an attribute, or those of the weight. */
static void windows(const body *b, onnx_out *o, uint32_t nd, bool kernel)
{
    const clv_value *weight =
        form_in(b, b->n->op == CLV_OP_QLINEAR_CONV ? 3 : 1);
    int64_t strides[3], dilations[3], pads[6], sizes[3];
    uint32_t nk;
    const clv_value *x = form_in(b, 0);
    const int64_t *k = attr_ints(b->n, CLV_A_KERNEL, &nk);
    for (uint32_t i = 0; i < nd; i++) {
        window w = {0};
        sizes[i] = kernel ? list_at(k, nk, i, 1) : weight->dims[2 + i];
        if (get_window(b->n, i, nd, x->dims[x->rank - nd + i], sizes[i], &w,
                       NULL) != CLV_OK)
            continue;
        strides[i] =
            kernel && !attr_get(b->n, CLV_A_STRIDE) ? sizes[i] : w.stride;
        dilations[i] = w.dilation;
        pads[i] = w.before;
        pads[nd + i] = w.after;
    }
    if (kernel)
        out_ints(o, "kernel_shape", sizes, nd);
    out_ints(o, "strides", strides, nd);
    out_ints(o, "pads", pads, 2 * nd);
    bool average = b->n->op == CLV_OP_AVG_POOL1D ||
                   b->n->op == CLV_OP_AVG_POOL2D ||
                   b->n->op == CLV_OP_AVG_POOL3D;
    if (!average)
        out_ints(o, "dilations", dilations, nd);
}

/* What ONNX alone knows was kept as it came. */
void other_attrs(body *b, onnx_out *o)
{
    for (uint32_t i = 0; i < b->n->n_attrs; i++)
        if (b->n->attrs[i].key == CLV_A_OTHER)
            out_attr(o, &b->n->attrs[i]);
}

void conv_attrs(body *b, onnx_out *o)
{
    windows(b, o, form_in(b, 0)->rank - 2u, false);
    out_int(o, "group", attr_int(b->n, CLV_A_GROUPS, 1));
}

void pool_attrs(body *b, onnx_out *o)
{
    windows(b, o, form_in(b, 0)->rank - 2u, true);
    out_int(o, "ceil_mode", attr_int(b->n, CLV_A_CEIL, 0));
}

void avg_pool_attrs(body *b, onnx_out *o)
{
    pool_attrs(b, o);
    out_int(o, "count_include_pad", attr_int(b->n, CLV_A_COUNT_INCLUDE_PAD, 0));
}

void epsilon_attr(body *b, onnx_out *o)
{
    out_float(o, "epsilon", attr_float(b->n, CLV_A_EPSILON, 1e-5));
}

void layer_norm_attrs(body *b, onnx_out *o)
{
    epsilon_attr(b, o);
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS, -1));
}

void hardsigmoid_attrs(body *b, onnx_out *o)
{
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA, 1.0 / 6));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA, 0.5));
}

void alpha_attr(body *b, onnx_out *o)
{
    double otherwise = b->n->op == CLV_OP_LEAKY_RELU ? 0.01 : 1;
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA, otherwise));
}

void axis_attr(body *b, onnx_out *o)
{
    int64_t otherwise = b->n->op == CLV_OP_CAT ? 0 : -1;
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS, otherwise));
}

void flatten_attrs(body *b, onnx_out *o)
{
    out_int(o, "axis", attr_int(b->n, CLV_A_START, 1));
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
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS, 0));
}

void axis1_attr(body *b, onnx_out *o)
{
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS, 1));
}

void batch_dims_attr(body *b, onnx_out *o)
{
    out_int(o, "batch_dims", attr_int(b->n, CLV_A_BATCH_DIMS, 0));
}

void arg_attrs(body *b, onnx_out *o)
{
    axis0_attr(b, o);
    out_int(o, "keepdims", attr_int(b->n, CLV_A_KEEPDIM, 0));
    other_attrs(b, o); /* select_last_index */
}

void topk_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 2;
    axis_attr(b, o);
    out_int(o, "largest", attr_int(b->n, CLV_A_LARGEST, 1));
    out_int(o, "sorted", attr_int(b->n, CLV_A_SORTED, 1));
}

void gemm_attrs(body *b, onnx_out *o)
{
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA, 1));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA, 1));
    out_int(o, "transA", attr_int(b->n, CLV_A_TRANS_A, 0));
    out_int(o, "transB", attr_int(b->n, CLV_A_TRANS_B, 0));
}

void reduction_attr(body *b, onnx_out *o)
{
    const char *how = attr_str(b->n, CLV_A_REDUCTION, "none");
    b->unable = strcmp(how, "none") && b->opset < 18;
    if (b->opset >= 16)
        out_string(o, "reduction", how);
}

void cast_attrs(body *b, onnx_out *o)
{
    int to = onnx_type((clv_dtype)form_out(b)->dtype);
    b->unable = to == 0;
    out_int(o, "to", to);
}

void pad_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in > 3 && b->opset < 18;
    out_string(o, "mode", attr_str(b->n, CLV_A_MODE, "constant"));
}

void block_attrs(body *b, onnx_out *o)
{
    out_int(o, "blocksize", attr_int(b->n, CLV_A_BLOCK, 1));
    if (b->n->op == CLV_OP_DEPTH_TO_SPACE)
        out_string(o, "mode", attr_str(b->n, CLV_A_MODE, "DCR"));
}

void equation_attr(body *b, onnx_out *o)
{
    out_string(o, "equation", attr_str(b->n, CLV_A_EQUATION, ""));
}

void cumsum_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 2;
    out_int(o, "exclusive", attr_int(b->n, CLV_A_EXCLUSIVE, 0));
    out_int(o, "reverse", attr_int(b->n, CLV_A_REVERSE, 0));
}

/* Since opset 20 the axis is an input. */
void dft_attrs(body *b, onnx_out *o)
{
    b->unable = b->opset >= 20 || b->n->n_in > 2;
    out_int(o, "axis", attr_int(b->n, CLV_A_AXIS, 1));
    stft_attrs(b, o);
}

void stft_attrs(body *b, onnx_out *o)
{
    out_int(o, "onesided", attr_int(b->n, CLV_A_START, 0));
    for (uint32_t i = 0; i < b->n->n_attrs; i++)
        if (!strcmp(b->n->attrs[i].name, "inverse"))
            out_attr(o, &b->n->attrs[i]);
}

/* ONNX rounds integers towards zero, and nothing else. */
void div_attrs(body *b, onnx_out *o)
{
    const char *mode = attr_str(b->n, CLV_A_MODE, "");
    bool whole = dtype_is_integral((clv_dtype)form_out(b)->dtype);
    (void)o;
    b->unable = b->n->n_in != 2 || (*mode && (!whole || strcmp(mode, "trunc")));
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
    out_int(o, "size", attr_int(b->n, CLV_A_SIZE, 1));
    out_float(o, "alpha", attr_float(b->n, CLV_A_ALPHA, 1e-4));
    out_float(o, "beta", attr_float(b->n, CLV_A_BETA, 0.75));
    if (attr_get(b->n, CLV_A_K))
        out_float(o, "bias", attr_float(b->n, CLV_A_K, 1));
    other_attrs(b, o);
}

void mod_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 2;
    out_int(o, "fmod", b->n->op == CLV_OP_FMOD);
}

/* ONNX has one row of indices per axis. */
void nonzero_attrs(body *b, onnx_out *o)
{
    (void)o;
    b->unable = attr_int(b->n, CLV_A_AXIS, 0) != 1;
}

void one_hot_attrs(body *b, onnx_out *o)
{
    b->unable = b->n->n_in != 3;
    axis_attr(b, o);
}

void range_attrs(body *b, onnx_out *o)
{
    (void)o;
    b->unable = b->n->n_in != 3;
}

void trilu_attrs(body *b, onnx_out *o)
{
    b->unable = attr_get(b->n, CLV_A_K) != NULL;
    out_int(o, "upper", b->n->op == CLV_OP_TRIU);
}

/* Activations and clip, among others, are ONNX's own. */
void rnn_attrs(body *b, onnx_out *o)
{
    b->unable = strcmp(attr_str(b->n, CLV_A_LAYOUT, ""), "onnx") != 0;
    out_int(o, "hidden_size", attr_int(b->n, CLV_A_HIDDEN, 1));
    out_string(o, "direction", attr_str(b->n, CLV_A_DIRECTION, "forward"));
    other_attrs(b, o);
}

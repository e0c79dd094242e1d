/* map.h - the mapping functions of the operator table. Each edits a
 * draft: the operator, its inputs in our order, its attributes; those for
 * fused operators add several nodes and set `done`. */
#ifndef CLV_ONNX_MAP_H
#define CLV_ONNX_MAP_H

#include "formats/onnx/read.h"

onnx_map_fn map_activation, map_argmax, map_arithmetic, map_attention,
    map_axis0, map_causal_conv, map_swiglu, map_clip, map_col2im, map_concat,
    map_constant_of_shape, map_conv, map_conv_transpose, map_dequantize,
    map_own_type, map_dft, map_div, map_dropout, map_dtype, map_eye_like,
    map_flatten, map_flex_attention, map_gemm, map_global_norm, map_global_pool,
    map_grid_sample, map_layer_norm, map_loop, map_lp_norm, map_mod, map_nms,
    map_multinomial, map_nonzero, map_one_hot, map_optimizer, map_optional,
    map_pow, map_prelu, map_tfidf, map_pool, map_quantize, map_random,
    map_random_like, map_reduce, map_resize, map_rnn, map_roi_align,
    map_roi_pool, map_scan, map_sequence, map_sequence_map, map_shift,
    map_softmax, map_split, map_string, map_sum, map_trilu, map_unpool,
    map_window, map_window_attrs;

onnx_map_fn map_ml_binarizer, map_ml_imputer, map_ml_linear, map_ml_lookup,
    map_ml_normalizer, map_ml_one_hot, map_ml_pick, map_ml_scaler, map_ml_svm,
    map_ml_trees, map_ml_vectorize, map_ml_zip_map;

onnx_map_fn map_ms_attention, map_ms_bias_add, map_ms_bias_dropout,
    map_ms_beam_search, map_ms_bias_gelu, map_ms_bias_softmax, map_ms_convt,
    map_ms_embedding, map_ms_greedy_search, map_ms_expand_dims,
    map_ms_gather_blocks, map_ms_gemm_gelu, map_ms_masked_pool, map_ms_moe,
    map_ms_qmoe, map_ms_unfold, map_ms_bias_split_gelu, map_ms_dynamic_lstm,
    map_ms_dynamic_matmul, map_ms_nchwc_conv, map_ms_nhwc_pool, map_ms_qconv,
    map_ms_reorder, map_ms_embed, map_ms_fused_conv, map_ms_fused_gemm,
    map_ms_fused_matmul, map_ms_gqa, map_ms_group_norm, map_ms_integer_to_float,
    map_ms_decoder_mha, map_ms_mha, map_ms_nbits, map_ms_nchwc_upsample,
    map_ms_nhwc_conv, map_ms_qconcat, map_ms_qgemm, map_ms_qlinear1,
    map_ms_qlinear2, map_ms_qpool, map_ms_qsoftmax, map_ms_quick_gelu,
    map_ms_qwhere, map_ms_rotary, map_ms_skip_norm;

/* Input i of the draft, NULL when it is absent. */
static inline const clv_value *draft_in(const draft *d, uint32_t i)
{
    return i < d->n_in && d->ins[i] != CLV_NONE ? &d->g->values[d->ins[i]]
                                                : NULL;
}

/* How a resize finds places and rounds them; `short_form`: as before opset 11,
 * by the corner and rounded down. */
void draft_sampling(draft *d, bool short_form);
/* Keeps the inputs listed, at most DRAFT_KEPT, in that order; CLV_NONE entries
 * stay absent. */
enum { DRAFT_KEPT = 16 };
void draft_keep(draft *d, const uint32_t *which, uint32_t n);
/* The known contents of input i; false when there are none. */
bool draft_ints(const draft *d, uint32_t i, const int64_t **v, uint32_t *n);
bool draft_float(const draft *d, uint32_t i, double *x);

#endif

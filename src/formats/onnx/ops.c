/* ops.c - the operators of ONNX, one row each: what they are here, what
 * their stored inputs are, and the function that maps what a change of names
 * cannot (map.c, map_ms.c).
 *
 * Versions need no rows of their own: the canonical rules take a list from an
 * attribute or an input, wherever an opset has put it, and mapping functions
 * see the opset for what changed its meaning. */
#include "formats/onnx/map.h"
#include "formats/onnx/read.h"

#include <string.h>

#define ROW(name, op, roles, map) \
    { \
        name, CLV_OP_##op, roles, map \
    }

static const onnx_op ai_onnx[] = {
    ROW("Abs", ABS, "", 0),
    ROW("Acos", ACOS, "", 0),
    ROW("Acosh", ACOSH, "", 0),
    ROW("Add", ADD, "", map_arithmetic),
    ROW("AffineGrid", AFFINE_GRID, "xc", 0),
    ROW("And", LOGICAL_AND, "", map_arithmetic),
    ROW("ArgMax", ARGMAX, "", map_argmax),
    ROW("ArgMin", ARGMIN, "", map_argmax),
    ROW("Asin", ASIN, "", 0),
    ROW("Asinh", ASINH, "", 0),
    ROW("Atan", ATAN, "", 0),
    ROW("Atanh", ATANH, "", 0),
    ROW("Attention", ATTENTION, "", 0),
    ROW("AveragePool", AVG_POOL2D, "", map_pool),
    ROW("BatchNormalization", BATCH_NORM, "xppbb", 0),
    ROW("Bernoulli", BERNOULLI, "", map_dtype),
    ROW("BitCast", BITCAST, "", map_dtype),
    ROW("BitShift", SHIFT_LEFT, "", map_shift),
    ROW("BitwiseAnd", BITWISE_AND, "", 0),
    ROW("BitwiseNot", BITWISE_NOT, "", 0),
    ROW("BitwiseOr", BITWISE_OR, "", 0),
    ROW("BitwiseXor", BITWISE_XOR, "", 0),
    ROW("BlackmanWindow", WINDOW, "c", map_window),
    ROW("Cast", CAST, "", map_dtype),
    ROW("CastLike", CAST_LIKE, "", 0),
    ROW("CausalConvWithState", CONV1D, "xppx", map_causal_conv),
    ROW("Ceil", CEIL, "", 0),
    ROW("Celu", CELU, "", 0),
    ROW("CenterCropPad", CENTER_CROP_PAD, "xc", 0),
    ROW("Clip", CLAMP, "xc", map_clip),
    ROW("Col2Im", FOLD, "xc", map_col2im),
    ROW("Compress", COMPRESS, "xc", 0),
    ROW("Concat", CAT, "", map_concat),
    ROW("ConcatFromSequence", CONCAT_FROM_SEQUENCE, "", map_sequence),
    ROW("ConstantOfShape", CONSTANT_OF_SHAPE, "c", map_constant_of_shape),
    ROW("Conv", CONV2D, "xpp", map_conv),
    ROW("ConvInteger", CONV_INTEGER, "xpb", map_window_attrs),
    ROW("ConvTranspose", CONVT2D, "xpp", map_conv_transpose),
    ROW("Cos", COS, "", 0),
    ROW("Cosh", COSH, "", 0),
    ROW("CumProd", CUMPROD, "xc", 0),
    ROW("CumSum", CUMSUM, "xc", map_own_type),
    ROW("DFT", DFT, "xc", map_dft),
    ROW("DeformConv", DEFORM_CONV2D, "xpxpx", map_window_attrs),
    ROW("DepthToSpace", DEPTH_TO_SPACE, "", 0),
    ROW("DequantizeLinear", DEQUANTIZE_LINEAR, "qb", map_dequantize),
    ROW("Det", DET, "", 0),
    ROW("Div", DIV, "", map_div),
    ROW("Dropout", DROPOUT, "xc", map_dropout),
    ROW("DynamicQuantizeLinear", DYNAMIC_QUANTIZE_LINEAR, "", 0),
    ROW("Einsum", EINSUM, "", 0),
    ROW("Elu", ELU, "", 0),
    ROW("Equal", EQ, "", map_arithmetic),
    ROW("Erf", ERF, "", map_own_type),
    ROW("Exp", EXP, "", 0),
    ROW("Expand", EXPAND, "xc", 0),
    ROW("EyeLike", EYE, "", map_eye_like),
    ROW("Flatten", FLATTEN, "", map_flatten),
    ROW("Floor", FLOOR, "", 0),
    ROW("GRU", GRU, "xpppcxx", map_rnn),
    ROW("Gather", INDEX_SELECT, "", map_axis0),
    ROW("GatherElements", GATHER_ELEMENTS, "", map_axis0),
    ROW("GatherND", GATHER_ND, "", 0),
    ROW("Gelu", GELU, "", 0),
    ROW("Gemm", GEMM, "xpp", map_gemm),
    ROW("GlobalAveragePool", ADAPTIVE_AVG_POOL2D, "", map_global_pool),
    ROW("GlobalLpPool", NORM, "", map_global_norm),
    ROW("GlobalMaxPool", ADAPTIVE_MAX_POOL2D, "", map_global_pool),
    ROW("Greater", GT, "", map_arithmetic),
    ROW("GreaterOrEqual", GE, "", 0),
    ROW("GridSample", GRID_SAMPLE, "", 0),
    ROW("GroupNormalization", GROUP_NORM, "xpp", 0),
    ROW("HammingWindow", WINDOW, "c", map_window),
    ROW("HannWindow", WINDOW, "c", map_window),
    ROW("HardSigmoid", HARDSIGMOID, "", map_activation),
    ROW("HardSwish", HARDSWISH, "", 0),
    ROW("Hardmax", HARDMAX, "", map_softmax),
    ROW("Identity", IDENTITY, "", 0),
    ROW("If", IF, "cx", 0),
    ROW("InstanceNormalization", INSTANCE_NORM, "xpp", 0),
    ROW("IsInf", ISINF, "", 0),
    ROW("IsNaN", ISNAN, "", 0),
    ROW("LRN", LOCAL_RESPONSE_NORM, "", 0),
    ROW("LSTM", LSTM, "xpppcxxp", map_rnn),
    ROW("LayerNormalization", LAYER_NORM, "xpp", map_layer_norm),
    ROW("LeakyRelu", LEAKY_RELU, "", 0),
    ROW("Less", LT, "", map_arithmetic),
    ROW("LessOrEqual", LE, "", 0),
    ROW("LinearAttention", LINEAR_ATTENTION, "", 0),
    ROW("Log", LOG, "", 0),
    ROW("LogSoftmax", LOG_SOFTMAX, "", map_softmax),
    ROW("Loop", LOOP, "ccx", map_loop),
    ROW("LpNormalization", LP_NORM, "", 0),
    ROW("LpPool", LP_POOL2D, "", map_pool),
    ROW("MatMul", MATMUL, "", 0),
    ROW("MatMulInteger", MATMUL_INTEGER, "xpb", 0),
    ROW("Max", MAXIMUM, "", 0),
    ROW("MaxPool", MAX_POOL2D, "", map_pool),
    ROW("MaxRoiPool", MAX_ROI_POOL, "", map_roi_pool),
    ROW("MaxUnpool", MAX_UNPOOL, "xxc", map_unpool),
    ROW("Mean", MEAN_N, "", 0),
    ROW("MeanVarianceNormalization", MEAN_VARIANCE_NORM, "", 0),
    ROW("MelWeightMatrix", MEL_WEIGHT_MATRIX, "c", map_window),
    ROW("Min", MINIMUM, "", 0),
    ROW("Mish", MISH, "", 0),
    ROW("Mod", REMAINDER, "", map_mod),
    ROW("Mul", MUL, "", map_arithmetic),
    ROW("Multinomial", MULTINOMIAL, "", map_multinomial),
    ROW("Neg", NEG, "", 0),
    ROW("NegativeLogLikelihoodLoss", NLL_LOSS, "xxb", 0),
    ROW("NonMaxSuppression", NMS, "xxc", 0),
    ROW("NonZero", NONZERO, "", map_nonzero),
    ROW("Not", LOGICAL_NOT, "", 0),
    ROW("OneHot", ONE_HOT, "xcc", map_one_hot),
    ROW("Optional", OPTIONAL, "", map_optional),
    ROW("OptionalGetElement", OPTIONAL_GET, "", 0),
    ROW("OptionalHasElement", OPTIONAL_HAS, "", 0),
    ROW("Or", LOGICAL_OR, "", map_arithmetic),
    ROW("PRelu", PRELU, "xp", 0),
    ROW("Pad", PAD, "xccc", 0),
    ROW("Pow", POW, "", map_pow),
    ROW("QLinearConv", QLINEAR_CONV, "xbbpbbbbp", map_window_attrs),
    ROW("QLinearMatMul", QLINEAR_MATMUL, "xbbpbb", 0),
    ROW("QuantizeLinear", QUANTIZE_LINEAR, "xb", map_quantize),
    ROW("RMSNormalization", RMS_NORM, "xp", map_layer_norm),
    ROW("RNN", RNN, "xpppcx", map_rnn),
    ROW("RandomNormal", RANDOM, "", map_random),
    ROW("RandomNormalLike", RANDOM_LIKE, "", map_dtype),
    ROW("RandomUniform", RANDOM, "", map_random),
    ROW("RandomUniformLike", RANDOM_LIKE, "", map_dtype),
    ROW("Range", RANGE, "c", 0),
    ROW("Reciprocal", RECIPROCAL, "", 0),
    ROW("ReduceL1", NORM, "xc", map_reduce),
    ROW("ReduceL2", NORM, "xc", map_reduce),
    ROW("ReduceLogSum", LOG_SUM, "xc", map_reduce),
    ROW("ReduceLogSumExp", LOGSUMEXP, "xc", map_reduce),
    ROW("ReduceMax", MAX, "xc", map_reduce),
    ROW("ReduceMean", MEAN, "xc", map_reduce),
    ROW("ReduceMin", MIN, "xc", map_reduce),
    ROW("ReduceProd", PROD, "xc", map_reduce),
    ROW("ReduceSum", SUM, "xc", map_reduce),
    ROW("ReduceSumSquare", SUM_SQUARE, "xc", map_reduce),
    ROW("RegexFullMatch", REGEX_MATCH, "", 0),
    ROW("Relu", RELU, "", 0),
    ROW("Reshape", RESHAPE, "xc", 0),
    ROW("Resize", INTERPOLATE, "xccc", map_resize),
    ROW("ReverseSequence", REVERSE_SEQUENCE, "xc", 0),
    ROW("RoiAlign", ROI_ALIGN, "", map_roi_align),
    ROW("RotaryEmbedding", ROTARY_EMBEDDING, "xbb", 0),
    ROW("Round", ROUND, "", 0),
    ROW("STFT", STFT, "xcbc", map_dft),
    ROW("Scan", SCAN, "", map_scan),
    ROW("Scatter", SCATTER_ELEMENTS, "", map_axis0),
    ROW("ScatterElements", SCATTER_ELEMENTS, "", map_axis0),
    ROW("ScatterND", SCATTER_ND, "xxb", 0),
    ROW("Selu", SELU, "", map_activation),
    ROW("SequenceAt", SEQUENCE_AT, "xc", 0),
    ROW("SequenceConstruct", SEQUENCE_CONSTRUCT, "", 0),
    ROW("SequenceEmpty", SEQUENCE_EMPTY, "", map_random),
    ROW("SequenceErase", SEQUENCE_ERASE, "xc", 0),
    ROW("SequenceInsert", SEQUENCE_INSERT, "xxc", 0),
    ROW("SequenceLength", SEQUENCE_LENGTH, "", 0),
    ROW("SequenceMap", SEQUENCE_MAP, "", map_sequence_map),
    ROW("Shape", SHAPE, "", 0),
    ROW("Shrink", SHRINK, "", map_activation),
    ROW("Sigmoid", SIGMOID, "", 0),
    ROW("Sign", SIGN, "", 0),
    ROW("SimplifiedLayerNormalization", RMS_NORM, "xp", map_layer_norm),
    ROW("Sin", SIN, "", 0),
    ROW("Sinh", SINH, "", 0),
    ROW("Size", SIZE, "", 0),
    ROW("Slice", SLICE, "xcccc", 0),
    ROW("Softmax", SOFTMAX, "", map_softmax),
    ROW("SoftmaxCrossEntropyLoss", CROSS_ENTROPY_LOSS, "xxb", 0),
    ROW("Softplus", SOFTPLUS, "", 0),
    ROW("Softsign", SOFTSIGN, "", 0),
    ROW("SpaceToDepth", SPACE_TO_DEPTH, "", 0),
    ROW("Split", SPLIT, "xc", map_split),
    ROW("SplitToSequence", SPLIT_TO_SEQUENCE, "xc", map_axis0),
    ROW("Sqrt", SQRT, "", 0),
    ROW("Squeeze", SQUEEZE, "xc", 0),
    ROW("StringConcat", STRING_CONCAT, "", 0),
    ROW("StringNormalizer", STRING_NORMALIZE, "", map_string),
    ROW("StringSplit", STRING_SPLIT, "", map_string),
    ROW("Sub", SUB, "", map_arithmetic),
    ROW("Sum", ADD_N, "", map_sum),
    ROW("SwiGLU", MUL, "", map_swiglu),
    ROW("Swish", SILU, "", 0),
    ROW("Tan", TAN, "", 0),
    ROW("Tanh", TANH, "", 0),
    ROW("TensorScatter", TENSOR_SCATTER, "xxc", 0),
    ROW("TfIdfVectorizer", TFIDF, "", map_tfidf),
    ROW("ThresholdedRelu", THRESHOLD, "", map_activation),
    ROW("Tile", REPEAT, "xc", 0),
    ROW("TopK", TOPK, "xc", 0),
    ROW("Transpose", PERMUTE, "", 0),
    ROW("Trilu", TRIU, "xc", map_trilu),
    ROW("Unique", UNIQUE, "", 0),
    ROW("Unsqueeze", UNSQUEEZE, "xc", 0),
    ROW("Upsample", INTERPOLATE, "xc", map_resize),
    ROW("Where", WHERE, "", 0),
    ROW("Xor", LOGICAL_XOR, "", map_arithmetic),
};

static const onnx_op microsoft[] = {
    ROW("Attention", ATTENTION, "xppxxx", map_ms_attention),
    ROW("BiasAdd", ADD, "xpx", map_ms_bias_add),
    ROW("BiasDropout", DROPOUT, "xpx", map_ms_bias_dropout),
    ROW("BiasGelu", GELU, "xp", map_ms_bias_gelu),
    ROW("BiasSoftmax", SOFTMAX, "", map_ms_bias_softmax),
    ROW("BiasSplitGelu", GLU, "xp", map_ms_bias_split_gelu),
    ROW("CausalConvWithState", CONV1D, "xppx", map_causal_conv),
    ROW("ConvTransposeWithDynamicPads", CONVT2D, "xpcp", map_ms_convt),
    ROW("DequantizeLinear", DEQUANTIZE_LINEAR, "qb", 0),
    ROW("DynamicQuantizeLSTM", LSTM, "xqqpcxxpbbbb", map_ms_dynamic_lstm),
    ROW("DynamicQuantizeMatMul", MATMUL, "xpbbp", map_ms_dynamic_matmul),
    ROW("EmbedLayerNormalization", LAYER_NORM, "xxpppppxx", map_ms_embed),
    ROW("ExpandDims", UNSQUEEZE, "xc", map_ms_expand_dims),
    ROW("FastGelu", GELU, "xp", map_ms_bias_gelu),
    ROW("FusedConv", CONV2D, "xppx", map_ms_fused_conv),
    ROW("FusedGemm", GEMM, "xpp", map_ms_fused_gemm),
    ROW("FusedMatMul", MATMUL, "", map_ms_fused_matmul),
    ROW("FusedMatMulActivation", MATMUL, "", map_ms_fused_matmul),
    ROW("GatherBlockQuantized", DEQUANTIZE_LINEAR, "pxbb",
        map_ms_gather_blocks),
    ROW("GatherND", GATHER_ND, "", 0),
    ROW("Gelu", GELU, "", 0),
    ROW("GemmFastGelu", GELU, "xpp", map_ms_gemm_gelu),
    ROW("GridSample", GRID_SAMPLE, "", 0),
    ROW("GroupNorm", GROUP_NORM, "xpp", map_ms_group_norm),
    ROW("GroupQueryAttention", ATTENTION, "xxxxxbbbb", map_ms_gqa),
    ROW("LinearAttention", LINEAR_ATTENTION, "", 0),
    ROW("MatMulBnb4", MATMUL_NBITS, "xpb", map_ms_nbits),
    ROW("MatMulInteger16", MATMUL_INTEGER, "xp", 0),
    ROW("MatMulIntegerToFloat", MATMUL, "xpbbbbp", map_ms_integer_to_float),
    ROW("MatMulNBits", MATMUL_NBITS, "xpbb", map_ms_nbits),
    ROW("MaxpoolWithMask", MAX_POOL2D, "", map_ms_masked_pool),
    ROW("MoE", MOE, "xxpppppp", 0),
    ROW("MultiHeadAttention", ATTENTION, "xxxpxx", map_ms_mha),
    ROW("NhwcConv", CONV2D, "xpp", map_ms_nhwc_conv),
    ROW("NhwcFusedConv", CONV2D, "xppx", map_ms_nhwc_conv),
    ROW("NhwcMaxPool", MAX_POOL2D, "", map_ms_nhwc_pool),
    ROW("Pad", PAD, "xcc", 0),
    ROW("QAttention", ATTENTION, "xppbbxbbx", map_ms_attention),
    ROW("QGemm", GEMM, "xbbpbbpbb", map_ms_qgemm),
    ROW("QLinearAdd", ADD, "qbbqbb", map_ms_qlinear2),
    ROW("QLinearAveragePool", AVG_POOL2D, "xb", map_ms_qpool),
    ROW("QLinearConcat", CAT, "", map_ms_qconcat),
    ROW("QLinearConv", QLINEAR_CONV, "xbbpbbbbp", map_ms_qconv),
    ROW("QLinearGlobalAveragePool", ADAPTIVE_AVG_POOL2D, "xb", map_ms_qpool),
    ROW("QLinearLeakyRelu", LEAKY_RELU, "xb", map_ms_qlinear1),
    ROW("QLinearMul", MUL, "qbbqbb", map_ms_qlinear2),
    ROW("QLinearSigmoid", SIGMOID, "xb", map_ms_qlinear1),
    ROW("QLinearSoftmax", SOFTMAX, "xb", map_ms_qsoftmax),
    ROW("QLinearWhere", WHERE, "xxbbxbb", map_ms_qwhere),
    ROW("QMoE", MOE, "xxpbppbppbpbbbxb", map_ms_qmoe),
    ROW("QuantizeLinear", QUANTIZE_LINEAR, "xb", map_quantize),
    ROW("QuickGelu", SILU, "", map_ms_quick_gelu),
    ROW("Range", RANGE, "c", 0),
    ROW("RotaryEmbedding", ROTARY_EMBEDDING, "xxbb", map_ms_rotary),
    ROW("SimplifiedLayerNormalization", RMS_NORM, "xp", map_layer_norm),
    ROW("SkipGroupNorm", GROUP_NORM, "xppxp", map_ms_group_norm),
    ROW("SkipLayerNormalization", LAYER_NORM, "xxppp", map_ms_skip_norm),
    ROW("SkipSimplifiedLayerNormalization", RMS_NORM, "xxpp", map_ms_skip_norm),
    ROW("TorchEmbedding", INDEX_SELECT, "pxc", map_ms_embedding),
    ROW("TransposeMatMul", MATMUL, "", map_ms_fused_matmul),
    ROW("Trilu", TRIU, "xc", map_trilu),
    ROW("UnfoldTensor", SLIDING_WINDOW, "", map_ms_unfold),
};

static const onnx_op classical[] = {
    ROW("ArrayFeatureExtractor", INDEX_SELECT, "xc", map_ml_pick),
    ROW("Binarizer", ENCODE, "", map_ml_encode),
    ROW("CategoryMapper", ENCODE, "", map_ml_encode),
    ROW("FeatureVectorizer", CAT, "", map_ml_vectorize),
    ROW("Imputer", ENCODE, "", map_ml_encode),
    ROW("LabelEncoder", ENCODE, "", map_ml_encode),
    ROW("LinearClassifier", LINEAR_SCORES, "", map_ml_linear),
    ROW("LinearRegressor", LINEAR_SCORES, "", map_ml_linear),
    ROW("Normalizer", LP_NORM, "", map_ml_normalizer),
    ROW("OneHotEncoder", ONE_HOT, "", map_ml_one_hot),
    ROW("SVMClassifier", VECTOR_SCORES, "", map_ml_svm),
    ROW("SVMRegressor", VECTOR_SCORES, "", map_ml_svm),
    ROW("Scaler", MUL, "", map_ml_scaler),
    ROW("TreeEnsemble", TREE_SCORES, "", map_ml_trees),
    ROW("TreeEnsembleClassifier", TREE_SCORES, "", map_ml_trees),
    ROW("TreeEnsembleRegressor", TREE_SCORES, "", map_ml_trees),
    ROW("ZipMap", ZIP_MAP, "", 0),
};

static const onnx_op preview[] = {
    ROW("Adagrad", OPTIMIZER_STEP, "cc", map_optimizer),
    ROW("Adam", OPTIMIZER_STEP, "cc", map_optimizer),
    ROW("Gradient", GRADIENT, "", 0),
    ROW("Momentum", OPTIMIZER_STEP, "cc", map_optimizer),
};

static const onnx_op nchwc[] = {
    ROW("AveragePool", AVG_POOL2D, "", map_pool),
    ROW("Conv", CONV2D, "xppx", map_ms_nchwc_conv),
    ROW("GlobalAveragePool", ADAPTIVE_AVG_POOL2D, "", map_global_pool),
    ROW("GlobalMaxPool", ADAPTIVE_MAX_POOL2D, "", map_global_pool),
    ROW("MaxPool", MAX_POOL2D, "", map_pool),
    ROW("ReorderInput", CONTIGUOUS, "", map_ms_reorder),
    ROW("ReorderOutput", CONTIGUOUS, "", map_ms_reorder),
    ROW("Upsample", INTERPOLATE, "", map_ms_nchwc_upsample),
};

/* -- lookup ---------------------------------------------------------------*/

#define TABLE(rows) \
    { \
        rows, sizeof rows / sizeof *rows \
    }

static const struct {
    const onnx_op *rows; /* in order of their names */
    size_t n;
} tables[ONNX_DOMAINS] = {
    [ONNX_AI] = TABLE(ai_onnx),          [ONNX_ML] = TABLE(classical),
    [ONNX_MICROSOFT] = TABLE(microsoft), [ONNX_PREVIEW] = TABLE(preview),
    [ONNX_NCHWC] = TABLE(nchwc),
};

onnx_domain onnx_domain_of(text name)
{
    if (name.n == 0 || text_is(name, "ai.onnx"))
        return ONNX_AI;
    if (text_is(name, "com.microsoft") || text_is(name, "com.microsoft.nhwc"))
        return ONNX_MICROSOFT;
    if (text_is(name, "com.microsoft.nchwc"))
        return ONNX_NCHWC;
    if (text_is(name, "ai.onnx.ml"))
        return ONNX_ML;
    if (text_is(name, "cleave"))
        return ONNX_CLEAVE;
    if (name.n >= 15 && !memcmp(name.s, "ai.onnx.preview", 15))
        return ONNX_PREVIEW;
    return ONNX_OTHER;
}

/* Functions that our writer made are the operators they are named after:
 * "linear_2" is the third function for what ONNX has no single operator for. */
static const onnx_op own[CLV_OP_COUNT] = {
#define OP(kind, name, ...) [CLV_OP_##kind] = {name, CLV_OP_##kind, "", 0},
#include "ops/ops.def"
#undef OP
};

static const onnx_op *own_op(text name)
{
    char plain[64];
    size_t n = name.n;
    while (n > 0 && name.s[n - 1] >= '0' && name.s[n - 1] <= '9')
        n--;
    if (n < 2 || n == name.n || name.s[n - 1] != '_' || n > sizeof plain)
        return NULL;
    memcpy(plain, name.s, n - 1);
    plain[n - 1] = '\0';
    clv_op op = clv__op_find(plain);
    return op == CLV_OP_UNKNOWN ? NULL : &own[op];
}

/* Below, at or above 0: how the name compares with that of a row. */
static int compare(text name, const char *row)
{
    size_t n = strlen(row);
    int order = memcmp(name.s, row, name.n < n ? name.n : n);
    return order ? order : (name.n > n) - (name.n < n);
}

const onnx_op *onnx_op_find(text domain, text name)
{
    onnx_domain d = onnx_domain_of(domain);
    if (d == ONNX_CLEAVE)
        return own_op(name);
    size_t from = 0, to = tables[d].n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = compare(name, tables[d].rows[mid].name);
        if (order == 0)
            return &tables[d].rows[mid];
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const onnx_op *onnx_op_of(reader *r, const proto *p)
{
    const unsigned char *s = (const unsigned char *)p->op.s;
    if (onnx_domain_of(p->domain) != ONNX_AI)
        return onnx_op_find(p->domain, p->op);
    const onnx_op **slot =
        &r->recent[(p->op.n + 5u * s[0] + 3u * s[p->op.n / 2]) % 64];
    if (!*slot || !text_is(p->op, (*slot)->name))
        *slot = onnx_op_find(p->domain, p->op);
    return *slot;
}

char onnx_role(const onnx_op *row, uint32_t i)
{
    size_t n = strlen(row->roles);
    if (n == 0)
        return 'x';
    return row->roles[i < n ? i : n - 1];
}

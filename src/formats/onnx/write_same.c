/* write_same.c - operators that the opsets we write have in one form.
 *
 * A node read from ONNX goes back under its own name when the reader has only
 * renamed its attributes: here is each such operator, the first opset of the
 * form that we hold, and the attributes that have names of ours. Attributes
 * that only ONNX knows were kept as they came, and are written as they are. */
#include "formats/onnx/writer.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4 };
typedef struct same {
    const char *name;
    int since;
    struct {
        const char *name;
        uint8_t key;
    } attrs[MOST];
} same;

/* In order of their names. */
static const same rows[] = {
    {"AffineGrid", 20, {{"align_corners", CLV_A_ALIGN_CORNERS}}},
    {"Bernoulli", 15, {{"dtype", CLV_A_DTYPE}}},
    {"BitShift", 11, {{"direction", CLV_A_DIRECTION}}},
    {"BitwiseAnd", 18, {{0}}},
    {"BitwiseNot", 18, {{0}}},
    {"BitwiseOr", 18, {{0}}},
    {"BitwiseXor", 18, {{0}}},
    {"BlackmanWindow", 17, {{0}}},
    {"CastLike", 15, {{0}}},
    {"Celu", 12, {{"alpha", CLV_A_ALPHA}}},
    {"CenterCropPad", 18, {{"axes", CLV_A_AXES}}},
    {"Compress", 11, {{"axis", CLV_A_AXIS}}},
    {"ConcatFromSequence", 11, {{"axis", CLV_A_AXIS}}},
    {"Det", 11, {{0}}},
    {"HammingWindow", 17, {{0}}},
    {"HannWindow", 17, {{0}}},
    {"Hardmax", 13, {{"axis", CLV_A_AXIS}}},
    {"IsInf", 10, {{0}}},
    {"MeanVarianceNormalization", 13, {{"axes", CLV_A_AXES}}},
    {"MelWeightMatrix", 17, {{0}}},
    {"Multinomial", 7, {{"dtype", CLV_A_DTYPE}}},
    {"NegativeLogLikelihoodLoss", 13, {{"reduction", CLV_A_REDUCTION}}},
    {"OptionalGetElement", 18, {{0}}},
    {"OptionalHasElement", 18, {{0}}},
    {"RandomNormal",
     1,
     {{"dtype", CLV_A_DTYPE}, {"shape", CLV_A_SHAPE}, {"scale", CLV_A_SCALE}}},
    {"RandomNormalLike", 1, {{"dtype", CLV_A_DTYPE}, {"scale", CLV_A_SCALE}}},
    {"RandomUniform", 1, {{"dtype", CLV_A_DTYPE}, {"shape", CLV_A_SHAPE}}},
    {"RandomUniformLike", 1, {{"dtype", CLV_A_DTYPE}}},
    {"RegexFullMatch", 20, {{0}}},
    {"RoiAlign", 16, {{"mode", CLV_A_MODE}}},
    {"Selu", 6, {{"alpha", CLV_A_ALPHA}}},
    {"SequenceAt", 11, {{0}}},
    {"SequenceConstruct", 11, {{0}}},
    {"SequenceEmpty", 11, {{"dtype", CLV_A_DTYPE}}},
    {"SequenceErase", 11, {{0}}},
    {"SequenceInsert", 11, {{0}}},
    {"SequenceLength", 11, {{0}}},
    {"Shape", 1, {{"start", CLV_A_START}, {"end", CLV_A_END}}},
    {"Shrink", 9, {{0}}},
    {"Size", 1, {{0}}},
    {"SoftmaxCrossEntropyLoss", 13, {{"reduction", CLV_A_REDUCTION}}},
    {"SplitToSequence",
     11,
     {{"axis", CLV_A_AXIS}, {"keepdims", CLV_A_KEEPDIM}}},
    {"StringConcat", 20, {{0}}},
    {"StringNormalizer", 10, {{0}}},
    {"StringSplit", 20, {{0}}},
    {"TfIdfVectorizer", 9, {{"mode", CLV_A_MODE}}},
    {"ThresholdedRelu", 10, {{"alpha", CLV_A_ALPHA}}},
    {"Unique", 11, {{"axis", CLV_A_AXIS}, {"sorted", CLV_A_SORTED}}},
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const same *)row)->name);
}

static const same *find(const clv_node *n)
{
    return n->origin ? bsearch(n->origin, rows, sizeof rows / sizeof *rows,
                               sizeof *rows, by_name)
                     : NULL;
}

/* A list or a number, whatever our attribute is; a type by ONNX's number. */
static void put_renamed(body *b, onnx_out *o, const clv_attr *a,
                        const char *name)
{
    clv_attr own = *a;
    own.name = name;
    if (a->key != CLV_A_DTYPE) {
        out_attr(o, &own);
        return;
    }
    int t = onnx_dtype_number(attr_dtype(b->n, CLV_NODTYPE));
    b->unable = b->unable || t == 0;
    out_int(o, name, t);
}

/* Where a shape may begin came later. */
static bool is_later(const body *b, const clv_attr *a)
{
    bool part = a->key == CLV_A_START || a->key == CLV_A_END;
    return part && b->opset < 15;
}

static void same_attrs(body *b, onnx_out *o)
{
    const same *row = find(b->n);
    for (uint32_t i = 0; i < b->n->n_attrs; i++) {
        const clv_attr *a = &b->n->attrs[i];
        if (a->key == CLV_A_OTHER)
            out_attr(o, a);
        for (int k = 0; k < MOST && row->attrs[k].name; k++)
            if (row->attrs[k].key == a->key) {
                b->unable = b->unable || is_later(b, a);
                put_renamed(b, o, a, row->attrs[k].name);
            }
    }
}

onnx_form onnx_same_of(const clv_graph *g, const clv_node *n, int64_t opset)
{
    const same *row = strcmp(g->format, "onnx") ? NULL : find(n);
    if (!row || row->since > opset)
        return (onnx_form){0};
    return (onnx_form){row->name, same_attrs, NULL, row->since};
}

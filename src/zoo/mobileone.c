/* mobileone.c - MobileOne: An Improved One Millisecond Mobile Backbone (Vasu et
 * al., 2022), as timm trains it.
 *
 * A depthwise and a pointwise layer by turns. Each adds up one or four
 * convolutions of the same size, a 1x1 convolution beside a 3x3, and where the
 * shape stays the same a batch norm of its input. (For use they become one
 * convolution: `cleave run` does that itself.) */
#include "zoo/zoo.h"

enum { MOBILEONE_STAGES = 4 };

typedef struct mobileone {
    double width[MOBILEONE_STAGES]; /* of 64, 128, 256 and 512 channels */
    int64_t stem;
    int branches;
    int excited[MOBILEONE_STAGES]; /* last pairs with squeeze-and-excitation */
} mobileone;

tensor one_block(builder *b, tensor x, const one_layer *l)
{
    bool same = l->conv.stride == 1 && dim(b, x, 1) == l->conv.out;
    tensor y = same ? batch_norm(b, "identity", x) : CLV_NONE;
    if (l->conv.kernel > 1 && !l->no_scale) {
        conv_args small = l->conv;
        small.kernel = 1;
        tensor z = zoo_timm_conv(b, "conv_scale", x, CLV_OP_IDENTITY, small);
        y = same ? add(b, z, y) : z;
    }
    if (l->branches)
        enter(b, "conv_kxk");
    for (int i = 0; i < l->branches; i++) {
        tensor z = zoo_timm_conv(b, nth(i), x, CLV_OP_IDENTITY, l->conv);
        y = y == CLV_NONE ? z : add(b, y, z);
    }
    if (l->branches)
        leave(b);
    if (l->se)
        y = timm_excite(b, l->se_name, y, l->se);
    return l->act == CLV_OP_IDENTITY
               ? y
               : zoo_module(b, l->act, "act", y, NO_ATTRS);
}

static tensor mobileone_block(builder *b, tensor x, conv_args conv,
                              int branches, bool excite)
{
    timm_se se = {
        "fc1",       "fc2",          make_divisible((double)conv.out / 16, 8),
        CLV_OP_RELU, CLV_OP_SIGMOID, NULL};
    one_layer layer = {.conv = conv,
                       .branches = branches,
                       .act = CLV_OP_RELU,
                       .se_name = "attn",
                       .se = excite ? &se : NULL};
    return one_block(b, x, &layer);
}

static tensor mobileone_stage(builder *b, const mobileone *v, int stage,
                              tensor x)
{
    static const int depth[MOBILEONE_STAGES] = {2, 8, 10, 1};
    int64_t out = (int64_t)((double)(64 << stage) * v->width[stage]);
    for (int i = 0; i < depth[stage]; i++) {
        int64_t c = dim(b, x, 1);
        bool excite = i >= depth[stage] - v->excited[stage];
        conv_args deep = {
            .out = c, .kernel = 3, .stride = i ? 1 : 2, .groups = c};
        conv_args point = {.out = out, .kernel = 1, .stride = 1};
        enter(b, "%d", 2 * i);
        x = mobileone_block(b, x, deep, v->branches, excite);
        leave(b);
        enter(b, "%d", 2 * i + 1);
        x = mobileone_block(b, x, point, v->branches, excite);
        leave(b);
    }
    return x;
}

static void mobileone_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    const mobileone *v = variant;
    conv_args stem = {.out = v->stem, .kernel = 3, .stride = 2};
    tensor x = input(b, "x", in);
    enter(b, "stem");
    x = mobileone_block(b, x, stem, 1, false);
    leave(b);
    enter(b, "stages");
    for (int stage = 0; stage < MOBILEONE_STAGES; stage++) {
        enter(b, "%d", stage);
        x = mobileone_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    output(b, timm_head(b, x));
}

const zoo_knobs clv__knobs_mobileone =
    ZOO_KNOBS(mobileone_build, mobileone,
              KNOB("width1", ZOO_DOUBLE, mobileone, width[0], 0.05, 20),
              KNOB("width2", ZOO_DOUBLE, mobileone, width[1], 0.05, 20),
              KNOB("width3", ZOO_DOUBLE, mobileone, width[2], 0.05, 20),
              KNOB("width4", ZOO_DOUBLE, mobileone, width[3], 0.05, 20),
              KNOB("branches", ZOO_INT, mobileone, branches, 1, 16));

#define MOBILEONE(name, ...) \
    { \
        {name, "mobileone", IMAGE(224), TIMM("classification", 2022)}, \
            mobileone_build, &(const mobileone) \
        { \
            __VA_ARGS__ \
        } \
    }

/* widths, stem, branches, pairs with squeeze-and-excitation */
const zoo_model clv__zoo_mobileone[] = {
    MOBILEONE("mobileone_s0", {0.75, 1, 1, 2}, 48, 4, {0}),
    MOBILEONE("mobileone_s1", {1.5, 1.5, 2, 2.5}, 64, 1, {0}),
    MOBILEONE("mobileone_s2", {1.5, 2, 2.5, 4}, 64, 1, {0}),
    MOBILEONE("mobileone_s3", {2, 2.5, 3, 4}, 64, 1, {0}),
    MOBILEONE("mobileone_s4", {3, 3.5, 3.5, 4}, 64, 1, {0, 0, 5, 1}),
    ZOO_END,
};

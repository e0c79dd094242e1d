/* repvgg.c - RepVGG (Ding et al., 2021), as timm trains it.
 *
 * Every layer adds up a 3x3 and a 1x1 convolution, and where the shape stays
 * the same a batch norm of its input; a ReLU follows. (For use the three become
 * one convolution: `cleave run` does that itself.) */
#include "zoo/zoo.h"

typedef struct repvgg {
    int depth[4];
    double width[4]; /* of 64, 128, 256 and 512 channels */
} repvgg;

static tensor repvgg_branch(builder *b, const char *name, tensor x, conv_args a)
{
    a.no_bias = true;
    a.padding = a.kernel / 2;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "conv", x, a);
    x = batch_norm(b, "bn", x);
    leave(b);
    return x;
}

static tensor repvgg_layer(builder *b, tensor x, int64_t out, int64_t stride)
{
    bool same = stride == 1 && dim(b, x, 1) == out;
    tensor shortcut = same ? batch_norm(b, "identity", x) : CLV_NONE;
    conv_args small = {.out = out, .kernel = 1, .stride = stride};
    conv_args large = {.out = out, .kernel = 3, .stride = stride};
    tensor y = add(b, repvgg_branch(b, "conv_1x1", x, small),
                   repvgg_branch(b, "conv_kxk", x, large));
    if (same)
        y = add(b, y, shortcut);
    return relu(b, "act", y);
}

static int64_t repvgg_width(const repvgg *v, int stage)
{
    return (int64_t)((double)(64 << stage) * v->width[stage]);
}

static void repvgg_build(builder *b, const zoo_input *in, const void *variant)
{
    const repvgg *v = variant;
    int64_t first = repvgg_width(v, 0);
    tensor x = input(b, "x", in);
    enter(b, "stem");
    x = repvgg_layer(b, x, first < 64 ? first : 64, 2);
    leave(b);
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            x = repvgg_layer(b, x, repvgg_width(v, stage), i ? 1 : 2);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    output(b, timm_head(b, x));
}

#define REPVGG(name, ...) \
    { \
        {name, "repvgg", IMAGE(224), TIMM("classification", 2021)}, \
            repvgg_build, &(const repvgg) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_repvgg[] = {
    REPVGG("repvgg_a0", {2, 4, 14, 1}, {0.75, 0.75, 0.75, 2.5}),
    REPVGG("repvgg_a1", {2, 4, 14, 1}, {1, 1, 1, 2.5}),
    REPVGG("repvgg_a2", {2, 4, 14, 1}, {1.5, 1.5, 1.5, 2.75}),
    REPVGG("repvgg_b0", {4, 6, 16, 1}, {1, 1, 1, 2.5}),
    REPVGG("repvgg_b1", {4, 6, 16, 1}, {2, 2, 2, 4}),
    REPVGG("repvgg_b2", {4, 6, 16, 1}, {2.5, 2.5, 2.5, 5}),
    REPVGG("repvgg_b3", {4, 6, 16, 1}, {3, 3, 3, 5}),
    ZOO_END,
};

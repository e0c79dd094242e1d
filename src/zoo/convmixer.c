/* convmixer.c - Patches Are All You Need? (Trockman & Kolter, 2022), as timm
 * has it.
 *
 * Patches, then blocks that keep the size: a depthwise convolution around a
 * shortcut, then one of 1x1. Each convolution is followed by its activation and
 * a batch norm. */
#include "zoo/zoo.h"

typedef struct convmixer {
    int64_t width;
    int layers;
    int64_t kernel, patch;
    clv_op act;
} convmixer;

static tensor convmixer_block(builder *b, const convmixer *v, tensor x)
{
    enter(b, "0");
    enter(b, "fn");
    tensor y = conv2d(b, "0", x, v->width, .kernel = v->kernel,
                      .padding = v->kernel / 2, .groups = v->width);
    y = zoo_module(b, v->act, "1", y, NO_ATTRS);
    y = batch_norm(b, "2", y);
    leave(b);
    x = add(b, y, x);
    leave(b);
    x = conv2d(b, "1", x, v->width);
    x = zoo_module(b, v->act, "2", x, NO_ATTRS);
    return batch_norm(b, "3", x);
}

static void convmixer_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    const convmixer *v = variant;
    tensor x = input(b, "x", in);
    enter(b, "stem");
    x = conv2d(b, "0", x, v->width, .kernel = v->patch, .stride = v->patch);
    x = zoo_module(b, v->act, "1", x, NO_ATTRS);
    x = batch_norm(b, "2", x);
    leave(b);
    enter(b, "blocks");
    for (int i = 0; i < v->layers; i++) {
        enter(b, "%d", i);
        x = convmixer_block(b, v, x);
        leave(b);
    }
    leave(b);
    x = flatten(b, timm_pool(b, x), 1);
    output(b, linear(b, "head", x, 1000));
}

const zoo_knobs clv__knobs_convmixer =
    ZOO_KNOBS(convmixer_build, convmixer,
              KNOB("dim", ZOO_INT64, convmixer, width, 1, 16384),
              KNOB("depth", ZOO_INT, convmixer, layers, 1, 1000),
              KNOB("kernel", ZOO_INT64, convmixer, kernel, 1, 63),
              KNOB("patch", ZOO_INT64, convmixer, patch, 1, 512));

#define CONVMIXER(name, ...) \
    { \
        {name, "convmixer", IMAGE(224), TIMM("classification", 2022)}, \
            convmixer_build, &(const convmixer) \
        { \
            __VA_ARGS__ \
        } \
    }

/* width, layers, kernel, patch, activation */
const zoo_model clv__zoo_convmixer[] = {
    CONVMIXER("convmixer_768_32", 768, 32, 7, 7, CLV_OP_RELU),
    CONVMIXER("convmixer_1024_20_ks9_p14", 1024, 20, 9, 14, CLV_OP_GELU),
    CONVMIXER("convmixer_1536_20", 1536, 20, 9, 7, CLV_OP_GELU),
    ZOO_END,
};

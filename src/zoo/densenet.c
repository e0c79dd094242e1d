/* densenet.c - Densely Connected Convolutional Networks (Huang et al., 2016).
 *
 * Each layer of a block reads the outputs of all layers before it, joined, and
 * adds `growth` channels; a transition halves channels and image. */
#include "zoo/zoo.h"

enum { MAX_LAYERS = 48 };

typedef struct densenet {
    int64_t stem, growth;
    int depth[4];
} densenet;

static tensor densenet_dense_layer(builder *b, const tensor *before, uint32_t n,
                                   int64_t growth)
{
    tensor x = cat(b, before, n, 1);
    x = batch_norm(b, "norm1", x);
    x = relu(b, "relu1", x);
    x = conv2d(b, "conv1", x, 4 * growth, .no_bias = true);
    x = batch_norm(b, "norm2", x);
    x = relu(b, "relu2", x);
    return conv2d(b, "conv2", x, growth, .kernel = 3, .padding = 1,
                  .no_bias = true);
}

static tensor densenet_dense_block(builder *b, tensor x, int depth,
                                   int64_t growth)
{
    tensor all[1 + MAX_LAYERS] = {x};
    uint32_t n = 1;
    for (int i = 0; i < depth; i++) {
        enter(b, "denselayer%d", i + 1);
        all[n] = densenet_dense_layer(b, all, n, growth);
        n++;
        leave(b);
    }
    return cat(b, all, n, 1);
}

static tensor densenet_transition(builder *b, tensor x)
{
    x = batch_norm(b, "norm", x);
    x = relu(b, "relu", x);
    x = conv2d(b, "conv", x, dim(b, x, 1) / 2, .no_bias = true);
    return avg_pool2d(b, "pool", x, .kernel = 2);
}

static void densenet_build(builder *b, const zoo_input *in, const void *variant)
{
    const densenet *d = variant;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = conv2d(b, "conv0", x, d->stem, .kernel = 7, .stride = 2, .padding = 3,
               .no_bias = true);
    x = batch_norm(b, "norm0", x);
    x = relu(b, "relu0", x);
    x = max_pool2d(b, "pool0", x, .kernel = 3, .stride = 2, .padding = 1);
    for (int i = 0; i < 4; i++) {
        enter(b, "denseblock%d", i + 1);
        x = densenet_dense_block(b, x, d->depth[i], d->growth);
        leave(b);
        if (i == 3)
            break;
        enter(b, "transition%d", i + 1);
        x = densenet_transition(b, x);
        leave(b);
    }
    x = batch_norm(b, "norm5", x);
    leave(b);
    x = relu(b, NULL, x);
    x = adaptive_avg_pool2d(b, NULL, x, 1);
    x = flatten(b, x, 1);
    output(b, linear(b, "classifier", x, 1000));
}

const zoo_knobs clv__knobs_densenet =
    ZOO_KNOBS(densenet_build, densenet,
              KNOB("growth", ZOO_INT64, densenet, growth, 1, 65536),
              KNOB("stem", ZOO_INT64, densenet, stem, 2, 65536),
              KNOB("block1", ZOO_INT, densenet, depth[0], 1, MAX_LAYERS),
              KNOB("block2", ZOO_INT, densenet, depth[1], 1, MAX_LAYERS),
              KNOB("block3", ZOO_INT, densenet, depth[2], 1, MAX_LAYERS),
              KNOB("block4", ZOO_INT, densenet, depth[3], 1, MAX_LAYERS));

#define DENSENET(name, ...) \
    { \
        {name, "densenet", IMAGE(224), TORCHVISION("classification", 2016)}, \
            densenet_build, &(const densenet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_densenet[] = {
    DENSENET("densenet121", 64, 32, {6, 12, 24, 16}),
    DENSENET("densenet161", 96, 48, {6, 12, 36, 24}),
    DENSENET("densenet169", 64, 32, {6, 12, 32, 32}),
    DENSENET("densenet201", 64, 32, {6, 12, 48, 32}),
    ZOO_END,
};

/* squeezenet.c - SqueezeNet: AlexNet-level accuracy with 50x fewer parameters
 * (Iandola et al., 2016).
 *
 * A fire module squeezes with 1x1 convolutions and expands with 1x1 and 3x3
 * ones side by side, each to four times the squeezed channels. */
#include "zoo/zoo.h"

typedef struct squeezenet {
    int64_t stem, kernel;
    int64_t squeeze[11]; /* features.2 to features.12; 0 is a pool */
} squeezenet;

static tensor squeezenet_fire(builder *b, const char *name, tensor x,
                              int64_t squeeze)
{
    enter(b, "%s", name);
    x = conv2d(b, "squeeze", x, squeeze);
    x = relu(b, "squeeze_activation", x);
    tensor one = conv2d(b, "expand1x1", x, 4 * squeeze);
    one = relu(b, "expand1x1_activation", one);
    tensor three =
        conv2d(b, "expand3x3", x, 4 * squeeze, .kernel = 3, .padding = 1);
    three = relu(b, "expand3x3_activation", three);
    x = cat_of(b, 1, one, three);
    leave(b);
    return x;
}

static void squeezenet_build(builder *b, const zoo_input *in,
                             const void *variant)
{
    const squeezenet *s = variant;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = conv2d(b, "0", x, s->stem, .kernel = s->kernel, .stride = 2);
    x = relu(b, "1", x);
    for (int i = 0; i < 11; i++)
        x = s->squeeze[i] ? squeezenet_fire(b, nth(2 + i), x, s->squeeze[i])
                          : max_pool2d(b, nth(2 + i), x, .kernel = 3,
                                       .stride = 2, .ceil = true);
    leave(b);
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = conv2d(b, "1", x, 1000);
    x = relu(b, "2", x);
    x = adaptive_avg_pool2d(b, "3", x, 1);
    leave(b);
    output(b, flatten(b, x, 1));
}

#define SQUEEZENET(name, ...) \
    { \
        {name, "squeezenet", IMAGE(224), TORCHVISION("classification", 2016)}, \
            squeezenet_build, &(const squeezenet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_squeezenet[] = {
    SQUEEZENET("squeezenet1_0", 96, 7,
               {0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64}),
    SQUEEZENET("squeezenet1_1", 64, 3,
               {0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64}),
    ZOO_END,
};

/* shufflenet.c - ShuffleNet V2: Practical Guidelines for Efficient CNN
 * Architecture Design (Ma et al., 2018).
 *
 * A unit leaves half of the channels alone and filters the other half; the
 * shuffle then interleaves the two halves. The first unit of a stage filters
 * everything in both branches and halves the image. */
#include "zoo/zoo.h"

typedef struct shufflenet {
    int64_t width[5]; /* stem, three stages, head */
} shufflenet;

static tensor shufflenet_depthwise(builder *b, const char *name, tensor x,
                                   int64_t stride)
{
    int64_t c = dim(b, x, 1);
    return conv2d(b, name, x, c, .kernel = 3, .stride = stride, .padding = 1,
                  .groups = c, .no_bias = true);
}

static tensor shufflenet_branch1(builder *b, tensor x, int64_t out)
{
    enter(b, "branch1");
    x = shufflenet_depthwise(b, "0", x, 2);
    x = batch_norm(b, "1", x);
    x = conv2d(b, "2", x, out, .no_bias = true);
    x = batch_norm(b, "3", x);
    x = relu(b, "4", x);
    leave(b);
    return x;
}

static tensor shufflenet_branch2(builder *b, tensor x, int64_t out,
                                 int64_t stride)
{
    enter(b, "branch2");
    x = conv2d(b, "0", x, out, .no_bias = true);
    x = batch_norm(b, "1", x);
    x = relu(b, "2", x);
    x = shufflenet_depthwise(b, "3", x, stride);
    x = batch_norm(b, "4", x);
    x = conv2d(b, "5", x, out, .no_bias = true);
    x = batch_norm(b, "6", x);
    x = relu(b, "7", x);
    leave(b);
    return x;
}

/* (N, 2*C, H, W): channel g*C + c becomes channel c*2 + g. */
static tensor shufflenet_channel_shuffle(builder *b, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1), h = dim(b, x, 2),
            w = dim(b, x, 3);
    x = zoo_call(b, CLV_OP_RESHAPE, "view", TENSORS(x),
                 ATTRS(INTS(SHAPE, n, 2, c / 2, h, w)));
    x = zoo_call(b, CLV_OP_TRANSPOSE, "transpose", TENSORS(x),
                 ATTRS(INTS(AXES, 1, 2)));
    x = zoo_call(b, CLV_OP_CONTIGUOUS, "contiguous", TENSORS(x), NO_ATTRS);
    return zoo_call(b, CLV_OP_RESHAPE, "view", TENSORS(x),
                    ATTRS(INTS(SHAPE, n, c, h, w)));
}

static tensor shufflenet_unit(builder *b, tensor x, int64_t out, bool first)
{
    tensor half[2] = {x, x};
    if (first) {
        half[0] = shufflenet_branch1(b, x, out / 2);
        half[1] = shufflenet_branch2(b, x, out / 2, 2);
    } else {
        zoo_calls(b, CLV_OP_CHUNK, "chunk", TENSORS(x),
                  ATTRS(INT(SECTIONS, 2), INT(AXIS, 1)), half, 2);
        half[1] = shufflenet_branch2(b, half[1], out / 2, 1);
    }
    return shufflenet_channel_shuffle(b, cat_as(b, "cat", half, 2, 1));
}

static void shufflenet_build(builder *b, const zoo_input *in,
                             const void *variant)
{
    static const int depth[3] = {4, 8, 4};
    const shufflenet *s = variant;
    tensor x = input(b, "x", in);
    x = conv_norm_act(b, "conv1", x, CLV_OP_RELU, s->width[0], .kernel = 3,
                      .stride = 2);
    x = max_pool2d(b, "maxpool", x, .kernel = 3, .stride = 2, .padding = 1);
    for (int stage = 0; stage < 3; stage++) {
        enter(b, "stage%d", stage + 2);
        for (int i = 0; i < depth[stage]; i++) {
            enter(b, "%d", i);
            x = shufflenet_unit(b, x, s->width[1 + stage], i == 0);
            leave(b);
        }
        leave(b);
    }
    x = conv_norm_act(b, "conv5", x, CLV_OP_RELU, s->width[4]);
    x = spatial_mean(b, x);
    output(b, linear(b, "fc", x, 1000));
}

#define SHUFFLENET(name, ...) \
    { \
        {name, "shufflenet", IMAGE(224), TORCHVISION("classification", 2018)}, \
            shufflenet_build, &(const shufflenet) \
        { \
            { \
                __VA_ARGS__ \
            } \
        } \
    }

const zoo_model clv__zoo_shufflenet[] = {
    SHUFFLENET("shufflenet_v2_x0_5", 24, 48, 96, 192, 1024),
    SHUFFLENET("shufflenet_v2_x1_0", 24, 116, 232, 464, 1024),
    SHUFFLENET("shufflenet_v2_x1_5", 24, 176, 352, 704, 1024),
    SHUFFLENET("shufflenet_v2_x2_0", 24, 244, 488, 976, 2048),
    ZOO_END,
};

/* mnasnet.c - MnasNet: Platform-Aware Neural Architecture Search for Mobile
 * (Tan et al., 2018), the B1 network, at four widths. */
#include "zoo/zoo.h"

typedef struct mnasnet {
    double width;
} mnasnet;

static const struct {
    int64_t out, kernel, stride, expand;
    int depth;
} stages[] = {
    {24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
    {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1},
};

static tensor mnasnet_inverted_residual(builder *b, tensor x, int64_t out,
                                        int64_t kernel, int64_t stride,
                                        int64_t expand)
{
    int64_t in = dim(b, x, 1), mid = in * expand;
    enter(b, "layers");
    tensor y = conv2d(b, "0", x, mid, .no_bias = true);
    y = batch_norm(b, "1", y);
    y = relu(b, "2", y);
    y = conv2d(b, "3", y, mid, .kernel = kernel, .stride = stride,
               .padding = kernel / 2, .groups = mid, .no_bias = true);
    y = batch_norm(b, "4", y);
    y = relu(b, "5", y);
    y = conv2d(b, "6", y, out, .no_bias = true);
    y = batch_norm(b, "7", y);
    leave(b);
    return stride == 1 && in == out ? add(b, y, x) : y;
}

static tensor mnasnet_stack(builder *b, size_t s, tensor x, double width)
{
    int64_t out = make_divisible((double)stages[s].out * width, 8);
    for (int i = 0; i < stages[s].depth; i++) {
        enter(b, "%d", i);
        x = mnasnet_inverted_residual(b, x, out, stages[s].kernel,
                                      i ? 1 : stages[s].stride,
                                      stages[s].expand);
        leave(b);
    }
    return x;
}

static void mnasnet_build(builder *b, const zoo_input *in, const void *variant)
{
    double width = ((const mnasnet *)variant)->width;
    int64_t stem = make_divisible(32 * width, 8);
    tensor x = input(b, "x", in);
    enter(b, "layers");
    x = conv2d(b, "0", x, stem, .kernel = 3, .stride = 2, .padding = 1,
               .no_bias = true);
    x = batch_norm(b, "1", x);
    x = relu(b, "2", x);
    x = conv2d(b, "3", x, stem, .kernel = 3, .padding = 1, .groups = stem,
               .no_bias = true);
    x = batch_norm(b, "4", x);
    x = relu(b, "5", x);
    x = conv2d(b, "6", x, make_divisible(16 * width, 8), .no_bias = true);
    x = batch_norm(b, "7", x);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        enter(b, "%d", 8 + (int)s);
        x = mnasnet_stack(b, s, x, width);
        leave(b);
    }
    x = conv2d(b, "14", x, 1280, .no_bias = true);
    x = batch_norm(b, "15", x);
    x = relu(b, "16", x);
    leave(b);
    x = spatial_mean(b, x);
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = linear(b, "1", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_mnasnet =
    ZOO_KNOBS(mnasnet_build, mnasnet,
              KNOB("width", ZOO_DOUBLE, mnasnet, width, 0.05, 20));

#define MNASNET(name, ...) \
    { \
        {name, "mnasnet", IMAGE(224), TORCHVISION("classification", 2018)}, \
            mnasnet_build, &(const mnasnet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_mnasnet[] = {
    MNASNET("mnasnet0_5", 0.5),
    MNASNET("mnasnet0_75", 0.75),
    MNASNET("mnasnet1_0", 1.0),
    MNASNET("mnasnet1_3", 1.3),
    ZOO_END,
};

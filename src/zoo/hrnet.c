/* hrnet.c - Deep High-Resolution Representation Learning (Wang et al., 2019),
 * as timm has it for classification.
 *
 *   stage1  stage2  stage3  stage4     1/4 of the image throughout; each stage
 *   =====---=====---=====---=====      adds a branch of half the resolution.
 *        \--=====---=====---=====      After each module every branch becomes
 *                \--=====---=====      the sum of all, brought to its size.
 *                        \--===== */
#include "zoo/zoo.h"

enum { HR_BRANCHES = 4 };

typedef struct hrnet {
    int64_t width;          /* of the first branch; each next has twice that */
    int64_t first;          /* of the bottlenecks in stage 1 */
    int first_depth, depth; /* blocks: of stage 1, of a branch */
    int modules[3];         /* of stages 2 to 4 */
    bool no_bias;           /* in the head */
} hrnet;

/* A convolution with batch norm and, unless it is the last, a ReLU: "0", "1",
 * "2". */
static tensor hr_conv(builder *b, tensor x, bool act, conv_args a)
{
    a.padding = a.kernel / 2;
    x = zoo_conv(b, CLV_OP_CONV2D, "0", x, a);
    x = batch_norm(b, "1", x);
    return act ? relu(b, "2", x) : x;
}

static tensor hr_norm_conv(builder *b, int i, tensor x, int64_t out,
                           int64_t kernel)
{
    char conv[] = "conv ", norm[] = "bn ";
    conv[4] = norm[2] = (char)('0' + i);
    x = conv2d(b, conv, x, out, .kernel = kernel, .padding = kernel / 2,
               .no_bias = true);
    return batch_norm(b, norm, x);
}

static tensor hr_basic(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    tensor y = relu(b, "act1", hr_norm_conv(b, 1, x, c, 3));
    y = hr_norm_conv(b, 2, y, c, 3);
    return relu(b, "act2", add(b, y, x));
}

/* A bottleneck of 4 * width channels. */
static tensor hr_bottleneck(builder *b, tensor x, int64_t width)
{
    tensor y = relu(b, "act1", hr_norm_conv(b, 1, x, width, 1));
    y = relu(b, "act2", hr_norm_conv(b, 2, y, width, 3));
    y = hr_norm_conv(b, 3, y, 4 * width, 1);
    if (dim(b, x, 1) != 4 * width) {
        enter(b, "downsample");
        x = hr_conv(
            b, x, false,
            (conv_args){.out = 4 * width, .kernel = 1, .no_bias = true});
        leave(b);
    }
    return relu(b, "act3", add(b, y, x));
}

/* -- fusion ---------------------------------------------------------------*/

/* Down: strided convolutions, of which the last changes the width. */
static tensor hr_down(builder *b, tensor x, int64_t out, int steps)
{
    for (int k = 0; k < steps; k++) {
        bool last = k == steps - 1;
        conv_args a = {.out = last ? out : dim(b, x, 1),
                       .kernel = 3,
                       .stride = 2,
                       .no_bias = true};
        enter(b, "%d", k);
        x = hr_conv(b, x, !last, a);
        leave(b);
    }
    return x;
}

static tensor hr_up(builder *b, tensor x, tensor like)
{
    x = hr_conv(
        b, x, false,
        (conv_args){.out = dim(b, like, 1), .kernel = 1, .no_bias = true});
    return zoo_module(b, CLV_OP_INTERPOLATE, "2", x,
                      ATTRS(INTS(SIZE, dim(b, like, 2), dim(b, like, 3)),
                            STRING(MODE, "nearest")));
}

/* Branch i as the sum of all n. */
static tensor hr_fuse(builder *b, const tensor *xs, int n, int i)
{
    tensor y = CLV_NONE;
    enter(b, "fuse_layers");
    enter(b, "%d", i);
    for (int j = 0; j < n; j++) {
        enter(b, "%d", j);
        tensor z = j > i   ? hr_up(b, xs[j], xs[i])
                   : j < i ? hr_down(b, xs[j], dim(b, xs[i], 1), i - j)
                           : xs[i];
        leave(b);
        y = j ? add(b, y, z) : z;
    }
    leave(b);
    leave(b);
    return relu(b, "fuse_act", y);
}

static void hr_module(builder *b, const hrnet *v, tensor *xs, int n)
{
    tensor fused[HR_BRANCHES];
    enter(b, "branches");
    for (int i = 0; i < n; i++) {
        enter(b, "%d", i);
        for (int k = 0; k < v->depth; k++) {
            enter(b, "%d", k);
            xs[i] = hr_basic(b, xs[i]);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    for (int i = 0; i < n; i++)
        fused[i] = hr_fuse(b, xs, n, i);
    for (int i = 0; i < n; i++)
        xs[i] = fused[i];
}

/* -- the network ----------------------------------------------------------*/

static tensor hr_stem(builder *b, tensor x)
{
    x = conv2d(b, "conv1", x, 64, .kernel = 3, .stride = 2, .padding = 1,
               .no_bias = true);
    x = relu(b, "act1", batch_norm(b, "bn1", x));
    x = conv2d(b, "conv2", x, 64, .kernel = 3, .stride = 2, .padding = 1,
               .no_bias = true);
    return relu(b, "act2", batch_norm(b, "bn2", x));
}

static tensor hr_first(builder *b, const hrnet *v, tensor x)
{
    enter(b, "layer1");
    for (int i = 0; i < v->first_depth; i++) {
        enter(b, "%d", i);
        x = hr_bottleneck(b, x, v->first);
        leave(b);
    }
    leave(b);
    return x;
}

/* Stage n + 1 has one more branch than the one before it, made of the last. */
static void hr_transition(builder *b, const hrnet *v, tensor *xs, int n)
{
    tensor last = xs[n - 1];
    enter(b, "transition%d", n);
    if (n == 1) {
        enter(b, "0");
        xs[0] =
            hr_conv(b, last, true,
                    (conv_args){.out = v->width, .kernel = 3, .no_bias = true});
        leave(b);
    }
    enter(b, "%d", n);
    enter(b, "0");
    xs[n] = hr_conv(
        b, last, true,
        (conv_args){
            .out = v->width << n, .kernel = 3, .stride = 2, .no_bias = true});
    leave(b);
    leave(b);
    leave(b);
}

static tensor hr_head(builder *b, const hrnet *v, const tensor *xs)
{
    tensor y = CLV_NONE;
    for (int i = 0; i < HR_BRANCHES; i++) {
        enter(b, "incre_modules");
        enter(b, "%d", i);
        enter(b, "0");
        tensor z = hr_bottleneck(b, xs[i], INT64_C(32) << i);
        leave(b);
        leave(b);
        leave(b);
        if (i) {
            enter(b, "downsamp_modules");
            enter(b, "%d", i - 1);
            y = hr_conv(b, y, true,
                        (conv_args){.out = INT64_C(128) << i,
                                    .kernel = 3,
                                    .stride = 2,
                                    .no_bias = v->no_bias});
            leave(b);
            leave(b);
            z = add(b, z, y);
        }
        y = z;
    }
    enter(b, "final_layer");
    y = hr_conv(b, y, true,
                (conv_args){.out = 2048, .kernel = 1, .no_bias = v->no_bias});
    leave(b);
    y = flatten(b, timm_pool(b, y), 1);
    return linear(b, "classifier", y, 1000);
}

static void hrnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const hrnet *v = variant;
    tensor xs[HR_BRANCHES] = {hr_first(b, v, hr_stem(b, input(b, "x", in)))};
    int64_t h = dim(b, xs[0], 2), w = dim(b, xs[0], 3);
    int64_t most = INT64_C(1) << (HR_BRANCHES - 1);
    if (b->status == CLV_OK && (h % most || w % most))
        refuse(b,
               "a feature map of %lldx%lld cannot be halved %d times: its "
               "branches are at 1 to 1/%lld of it",
               (long long)h, (long long)w, HR_BRANCHES - 1, (long long)most);
    for (int n = 1; n < HR_BRANCHES; n++) {
        hr_transition(b, v, xs, n);
        enter(b, "stage%d", n + 1);
        for (int i = 0; i < v->modules[n - 1]; i++) {
            enter(b, "%d", i);
            hr_module(b, v, xs, n + 1);
            leave(b);
        }
        leave(b);
    }
    output(b, hr_head(b, v, xs));
}

const zoo_knobs clv__knobs_hrnet = ZOO_KNOBS(
    hrnet_build, hrnet, KNOB("width", ZOO_INT64, hrnet, width, 1, 4096),
    KNOB("depth", ZOO_INT, hrnet, depth, 1, 100),
    KNOB("stage2", ZOO_INT, hrnet, modules[0], 1, 50),
    KNOB("stage3", ZOO_INT, hrnet, modules[1], 1, 50),
    KNOB("stage4", ZOO_INT, hrnet, modules[2], 1, 50));

#define HRNET(name, ...) \
    { \
        {name, "hrnet", IMAGE(224), TIMM("classification", 2019)}, \
            hrnet_build, &(const hrnet) \
        { \
            __VA_ARGS__ \
        } \
    }

/* width, of stage 1, depth of stage 1, of a branch, modules */
const zoo_model clv__zoo_hrnet[] = {
    HRNET("hrnet_w18_small", 16, 32, 1, 2, {1, 1, 1}, false),
    HRNET("hrnet_w18_small_v2", 18, 64, 2, 2, {1, 3, 2}, false),
    HRNET("hrnet_w18", 18, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w30", 30, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w32", 32, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w40", 40, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w44", 44, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w48", 48, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w64", 64, 64, 4, 4, {1, 4, 3}, false),
    HRNET("hrnet_w18_ssld", 18, 64, 4, 4, {1, 4, 3}, true),
    HRNET("hrnet_w48_ssld", 48, 64, 4, 4, {1, 4, 3}, true),
    ZOO_END,
};

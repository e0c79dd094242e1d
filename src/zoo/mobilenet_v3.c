/* mobilenet_v3.c - Searching for MobileNetV3 (Howard et al., 2019).
 *
 * The inverted residuals of MobileNetV2, some with squeeze-and-excitation, and
 * hard-swish in the deeper half; each row below is a row of tables 1 and 2. */
#include "zoo/zoo.h"

enum { RE = CLV_OP_RELU, HS = CLV_OP_HARDSWISH };

typedef struct row {
    int64_t kernel, expand, out;
    bool squeeze;
    int act;
    int64_t stride;
} row;

typedef struct mobilenet_v3 {
    const row *rows;
    int depth;
    int64_t head;
} mobilenet_v3;

static const row large[] = {
    {3, 16, 16, false, RE, 1},  {3, 64, 24, false, RE, 2},
    {3, 72, 24, false, RE, 1},  {5, 72, 40, true, RE, 2},
    {5, 120, 40, true, RE, 1},  {5, 120, 40, true, RE, 1},
    {3, 240, 80, false, HS, 2}, {3, 200, 80, false, HS, 1},
    {3, 184, 80, false, HS, 1}, {3, 184, 80, false, HS, 1},
    {3, 480, 112, true, HS, 1}, {3, 672, 112, true, HS, 1},
    {5, 672, 160, true, HS, 2}, {5, 960, 160, true, HS, 1},
    {5, 960, 160, true, HS, 1},
};

static const row small[] = {
    {3, 16, 16, true, RE, 2},  {3, 72, 24, false, RE, 2},
    {3, 88, 24, false, RE, 1}, {5, 96, 40, true, HS, 2},
    {5, 240, 40, true, HS, 1}, {5, 240, 40, true, HS, 1},
    {5, 120, 48, true, HS, 1}, {5, 144, 48, true, HS, 1},
    {5, 288, 96, true, HS, 2}, {5, 576, 96, true, HS, 1},
    {5, 576, 96, true, HS, 1},
};

/* What follows the expansion: children `at` and on of a block. */
static tensor mobilenet_v3_reduce(builder *b, const row *r, tensor y, int at,
                                  int64_t dilation)
{
    clv_op act = (clv_op)r->act;
    int64_t stride = dilation > 1 ? 1 : r->stride;
    y = conv_norm_act(b, nth(at++), y, act, r->expand, .kernel = r->kernel,
                      .stride = stride, .dilation = dilation,
                      .groups = r->expand);
    if (r->squeeze)
        y = squeeze_excite(b, nth(at++), y,
                           make_divisible((double)r->expand / 4, 8),
                           CLV_OP_RELU, CLV_OP_HARDSIGMOID);
    return conv_norm_act(b, nth(at), y, CLV_OP_IDENTITY, r->out);
}

static tensor mobilenet_v3_bottleneck(builder *b, const row *r, tensor x,
                                      int64_t dilation)
{
    int64_t in = dim(b, x, 1), stride = dilation > 1 ? 1 : r->stride;
    bool expands = r->expand != in;
    tensor y = x;
    enter(b, "block");
    if (expands)
        y = conv_norm_act(b, "0", y, (clv_op)r->act, r->expand);
    y = mobilenet_v3_reduce(b, r, y, expands, dilation);
    leave(b);
    if (stride == 1 && in == r->out)
        return add_as(b, "skip_add", y, x);
    idle(b, "skip_add");
    return y;
}

/* Builds the features. From block `dilated` on the size stays and the kernel is
 * dilated. If `each` is not NULL, it receives the output of every block. */
static tensor mobilenet_v3_features(builder *b, const mobilenet_v3 *m, tensor x,
                                    int dilated, tensor *each)
{
    b->norm_eps = b->frozen ? 0 : 0.001;
    x = conv_norm_act(b, "0", x, CLV_OP_HARDSWISH, 16, .kernel = 3,
                      .stride = 2);
    for (int i = 0; i < m->depth; i++) {
        enter(b, "%d", i + 1);
        x = mobilenet_v3_bottleneck(b, &m->rows[i], x, i < dilated ? 1 : 2);
        leave(b);
        if (each)
            each[i] = x;
    }
    return conv_norm_act(b, nth(m->depth + 1), x, CLV_OP_HARDSWISH,
                         6 * dim(b, x, 1));
}

static void mobilenet_v3_build(builder *b, const zoo_input *in,
                               const void *variant)
{
    const mobilenet_v3 *m = variant;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = mobilenet_v3_features(b, m, x, m->depth, NULL);
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = flatten(b, x, 1);
    enter(b, "classifier");
    x = linear(b, "0", x, m->head);
    x = hardswish(b, "1", x);
    x = dropout(b, "2", x);
    x = linear(b, "3", x, 1000);
    leave(b);
    output(b, x);
}

tensor mobilenet_v3_backbone(builder *b, tensor x, tensor *low)
{
    const mobilenet_v3 m = {large, 15, 0};
    tensor each[15];
    x = mobilenet_v3_features(b, &m, x, 12, each);
    *low = each[3];
    b->norm_eps = 0;
    return x;
}

void mobilenet_v3_pyramid(builder *b, tensor x, tensor out[2])
{
    const mobilenet_v3 m = {large, 15, 0};
    tensor each[15];
    out[1] = mobilenet_v3_features(b, &m, x, m.depth, each);
    out[0] = each[12];
    b->norm_eps = 0;
}

void mobilenet_v3_lite(builder *b, tensor x, tensor out[2])
{
    row tail[] = {large[12], large[13], large[14]};
    tail[0].out = tail[1].out = tail[2].out = 80;
    tail[1].expand = tail[2].expand = 480;
    enter(b, "0");
    x = conv_norm_act(b, "0", x, CLV_OP_HARDSWISH, 16, .kernel = 3,
                      .stride = 2);
    for (int i = 0; i < 12; i++) {
        enter(b, "%d", i + 1);
        x = mobilenet_v3_bottleneck(b, &large[i], x, 1);
        leave(b);
    }
    x = conv_norm_act(b, "13", x, CLV_OP_HARDSWISH, tail[0].expand);
    leave(b);
    out[0] = x;
    enter(b, "1");
    enter(b, "0");
    x = mobilenet_v3_reduce(b, &tail[0], x, 1, 1);
    leave(b);
    for (int i = 1; i < 3; i++) {
        enter(b, "%d", i);
        x = mobilenet_v3_bottleneck(b, &tail[i], x, 1);
        leave(b);
    }
    out[1] = conv_norm_act(b, "3", x, CLV_OP_HARDSWISH, 480);
    leave(b);
}

#define MOBILENET_V3(name, ...) \
    { \
        {name, "mobilenet", IMAGE(224), TORCHVISION("classification", 2019)}, \
            mobilenet_v3_build, &(const mobilenet_v3) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_mobilenet_v3[] = {
    MOBILENET_V3("mobilenet_v3_large", large, 15, 1280),
    MOBILENET_V3("mobilenet_v3_small", small, 11, 1024),
    ZOO_END,
};

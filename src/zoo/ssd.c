/* ssd.c - SSD: Single Shot MultiBox Detector (Liu et al., 2016) on VGG-16, and
 * SSDlite (Sandler et al., 2018) on MobileNetV3.
 *
 * Six feature maps, each half the size of the one before; every place of each
 * scores four or six boxes for every class. For each class the best 400 (300)
 * are candidates. What is left of them (at most 200, 300 in all) depends on the
 * image and is a bound. */
#include "zoo/detect.h"

#include <math.h>

enum { SSD_LEVELS = 6 };

typedef struct ssd {
    bool lite;
    detect_frame frame;
    int64_t candidates;
    detect_rule rule;
} ssd;

/* -- backbones ------------------------------------------------------------*/

static tensor ssd_conv_relu(builder *b, int at, tensor x, int64_t out)
{
    x = conv2d(b, nth(at), x, out, .kernel = 3, .padding = 1);
    return relu(b, nth(at + 1), x);
}

/* Up to the tenth convolution of VGG-16. The third pool rounds up. */
static tensor ssd_vgg_features(builder *b, tensor x)
{
    static const int depth[] = {2, 2, 3, 3};
    int at = 0;
    enter(b, "features");
    for (int stage = 0; stage < 4; stage++) {
        if (stage)
            x = max_pool2d(b, nth(at++), x, .kernel = 2, .ceil = stage == 3);
        for (int i = 0; i < depth[stage]; i++, at += 2)
            x = ssd_conv_relu(b, at, x, stage < 3 ? INT64_C(64) << stage : 512);
    }
    leave(b);
    return x;
}

/* The rest of VGG-16, and its dense layers as convolutions. */
static tensor ssd_vgg_tail(builder *b, tensor x)
{
    enter(b, "0");
    x = max_pool2d(b, "0", x, .kernel = 2);
    for (int i = 0; i < 3; i++)
        x = ssd_conv_relu(b, 1 + 2 * i, x, 512);
    enter(b, "7");
    x = max_pool2d(b, "0", x, .kernel = 3, .stride = 1, .padding = 1);
    x = conv2d(b, "1", x, 1024, .kernel = 3, .padding = 6, .dilation = 6);
    x = relu(b, "2", x);
    x = conv2d(b, "3", x, 1024);
    x = relu(b, "4", x);
    leave(b);
    leave(b);
    return x;
}

static tensor ssd_extra(builder *b, int i, tensor x)
{
    int64_t out = i == 1 ? 512 : 256;
    bool halves = i < 3;
    enter(b, "%d", i);
    x = relu(b, "1", conv2d(b, "0", x, out / 2));
    x = conv2d(b, "2", x, out, .kernel = 3, .stride = halves ? 2 : 1,
               .padding = halves);
    x = relu(b, "3", x);
    leave(b);
    return x;
}

static void ssd_vgg(builder *b, tensor x, tensor *level)
{
    tensor by = parameter(b, "scale_weight", 512);
    x = ssd_vgg_features(b, x);
    tensor unit = zoo_call(b, CLV_OP_LP_NORM, "normalize", TENSORS(x),
                           ATTRS(INT(AXIS, 1), INT(P, 2)));
    level[0] = mul(b, reshape(b, by, 1, 512, 1, 1), unit);
    enter(b, "extra");
    level[1] = ssd_vgg_tail(b, x);
    for (int i = 2; i < SSD_LEVELS; i++)
        level[i] = ssd_extra(b, i - 1, level[i - 1]);
    leave(b);
}

static tensor ssd_lite_extra(builder *b, int i, tensor x, int64_t out)
{
    enter(b, "%d", i);
    x = conv_norm_act(b, "0", x, CLV_OP_RELU6, out / 2);
    x = conv_norm_act(b, "1", x, CLV_OP_RELU6, out / 2, .kernel = 3,
                      .stride = 2, .groups = out / 2);
    x = conv_norm_act(b, "2", x, CLV_OP_RELU6, out);
    leave(b);
    return x;
}

static void ssd_mobilenet(builder *b, tensor x, tensor *level)
{
    static const int64_t width[] = {512, 256, 256, 128};
    enter(b, "features");
    mobilenet_v3_lite(b, x, level);
    leave(b);
    enter(b, "extra");
    for (int i = 0; i < 4; i++)
        level[i + 2] = ssd_lite_extra(b, i, level[i + 1], width[i]);
    leave(b);
}

/* -- default boxes --------------------------------------------------------*/

/* SSD300: sides of the boxes of each map as parts of the image's, and the
 * pixels between its places. SSDlite spaces sides evenly from 0.2 to 0.95. */
static const double ssd_sides[] = {0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05};
static const double ssd_steps[] = {8, 16, 32, 64, 100, 300};

static double ssd_side(const ssd *v, int level)
{
    if (!v->lite)
        return ssd_sides[level];
    return level < SSD_LEVELS ? 0.2 + 0.75 * level / 5 : 1;
}

static int ssd_boxes(const ssd *v, int level)
{
    return v->lite || (level > 0 && level < 4) ? 6 : 4;
}

/* A square, a larger one, and boxes of ratios 2 and 3 both ways. */
static tensor ssd_grid(builder *b, const ssd *v, int level, tensor x)
{
    double image = (double)v->frame.fixed, side = ssd_side(v, level), cell[24];
    double next = sqrt(side * ssd_side(v, level + 1));
    int count = ssd_boxes(v, level);
    for (int i = 0; i < count; i++) {
        double root = sqrt(i < 4 ? 2 : 3);
        double w = i == 0   ? side
                   : i == 1 ? next
                   : i % 2  ? side / root
                            : side * root;
        double h = i < 2 ? w : side * side / w;
        const double half[] = {fmin(w, 1) * image / 2, fmin(h, 1) * image / 2};
        for (int k = 0; k < 4; k++)
            cell[4 * i + k] = k < 2 ? -half[k] : half[k - 2];
    }
    const double step[] = {
        v->lite ? image / (double)dim(b, x, 2) : ssd_steps[level],
        v->lite ? image / (double)dim(b, x, 3) : ssd_steps[level]};
    return detect_spread(b, x, cell, count, step, 0.5);
}

/* -- heads ----------------------------------------------------------------*/

static tensor ssd_predict(builder *b, const ssd *v, int i, tensor x,
                          int64_t out)
{
    if (!v->lite)
        return conv2d(b, nth(i), x, out, .kernel = 3, .padding = 1);
    enter(b, "%d", i);
    x = conv_norm_act(b, "0", x, CLV_OP_RELU6, dim(b, x, 1), .kernel = 3,
                      .groups = dim(b, x, 1));
    x = conv2d(b, "1", x, out);
    leave(b);
    return x;
}

/* (N,boxes,k) of all levels. */
static tensor ssd_head(builder *b, const ssd *v, const char *name,
                       const tensor *level, int64_t k)
{
    tensor part[SSD_LEVELS];
    enter(b, "%s", name);
    enter(b, "module_list");
    for (int i = 0; i < SSD_LEVELS; i++)
        part[i] = detect_rows(
            b, ssd_predict(b, v, i, level[i], k * ssd_boxes(v, i)), k);
    leave(b);
    tensor all = cat(b, part, SSD_LEVELS, 1);
    leave(b);
    return all;
}

/* Boxes (n,4) and scores (n,classes) of one image. The candidates of a class
 * are its best; all classes are looked at in one go. */
static void ssd_image(builder *b, const ssd *v, tensor boxes, tensor scores)
{
    int64_t classes = DETECT_CLASSES - 1;
    tensor rows, best, found = slice(b, scores, 1, 1, DETECT_CLASSES);
    detect_top(b, transpose(b, found, 0, 1), v->candidates, &best, &rows);
    int64_t n = classes * dim(b, best, 1), one[] = {classes, 1};
    tensor label = weight(b, "labels", CLV_VALUE_CONST, 2, one);
    int64_t *at = arena_array(&b->g->mem, (size_t)classes, sizeof *at);
    for (int64_t i = 0; at && i < classes; i++)
        at[i] = i + 1;
    if (at)
        constant_ints(b, label, at, (uint32_t)classes);
    label = zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(label),
                     ATTRS(INTS(SHAPE, classes, n / classes)));
    detect_found all = {detect_take(b, boxes, reshape(b, rows, n)),
                        reshape(b, best, n), reshape(b, label, n)};
    detect_found f = detect_choose(b, all, &v->rule);
    detect_output(b, &f);
}

static void ssd_build(builder *b, const zoo_input *in, const void *variant)
{
    static const double factor[] = {10, 5};
    const ssd *v = variant;
    tensor level[SSD_LEVELS], grid[SSD_LEVELS];
    detect_size size;
    b->norm_eps = 0.001;
    tensor x = detect_transform(b, &v->frame, input(b, "x", in), &size);
    int64_t images = dim(b, x, 0);
    enter(b, "backbone");
    if (v->lite)
        ssd_mobilenet(b, x, level);
    else
        ssd_vgg(b, x, level);
    leave(b);
    enter(b, "head");
    tensor scores =
        ssd_head(b, v, "classification_head", level, DETECT_CLASSES);
    tensor deltas = ssd_head(b, v, "regression_head", level, 4);
    leave(b);
    for (int i = 0; i < SSD_LEVELS; i++)
        grid[i] = ssd_grid(b, v, i, level[i]);
    tensor boxes =
        detect_decode(b, deltas, cat(b, grid, SSD_LEVELS, 0), factor);
    boxes = detect_clip(b, boxes, size);
    scores = softmax(b, scores);
    for (int64_t i = 0; i < images; i++)
        ssd_image(b, v, select_at(b, boxes, 0, i), select_at(b, scores, 0, i));
}

#define SSD(name, side, year, ...) \
    { \
        {name, "ssd", IMAGE(side), TORCHVISION("detection", year)}, ssd_build, \
            &(const ssd) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_ssd[] = {
    SSD("ssd300_vgg16", 300, 2016, false,
        {.fixed = 300,
         .mean = {0.48235, 0.45882, 0.40784},
         .deviation = {1. / 255, 1. / 255, 1. / 255}},
        400, {0.01, 0.45, 200}),
    SSD("ssdlite320_mobilenet_v3_large", 320, 2018, true,
        {.fixed = 320, .mean = {0.5, 0.5, 0.5}, .deviation = {0.5, 0.5, 0.5}},
        300, {0.001, 0.55, 300}),
    ZOO_END,
};

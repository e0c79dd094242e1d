/* rcnn.c - Faster R-CNN (Ren et al., 2015) on a feature pyramid (Lin et al.,
 * 2017), Mask R-CNN (He et al., 2017) and Keypoint R-CNN, as torchvision trains
 * them.
 *
 *     image -> body -> pyramid -> proposals -> 7x7 features of each -> class,
 *     box -> (the best: 14x14 features of each -> mask or keypoints)
 *
 * How many proposals remain depends on the image. All shapes and costs behind
 * them are bounds: as many proposals as the network keeps at most (1000 for an
 * image, 150 in the small one) and as many detections (100). Masks and
 * keypoints are given as the network makes them, for 28x28 and 56x56 pixels of
 * a box; they are not drawn into the image. */
#include "zoo/detect.h"

#include <math.h>
#include <string.h>

typedef struct rcnn {
    bool mobilenet, v2;
    enum { BOXES, MASKS, KEYPOINTS } gives;
    int64_t proposals;
    detect_frame frame;
} rcnn;

/* The pyramid, the size of the images, and the boxes proposed in them. */
typedef struct rcnn_state {
    const rcnn *v;
    tensor level[DETECT_MAX_LEVELS];
    int n_levels;     /* the last one is for proposals only */
    int64_t image[2]; /* with padding */
    detect_size size; /* without */
    tensor rois;      /* (n,5): image, corners */
} rcnn_state;

/* -- body and pyramid -----------------------------------------------------*/

static void rcnn_backbone(builder *b, rcnn_state *s, tensor x)
{
    int n = s->n_levels = s->v->mobilenet ? 2 : 4;
    enter(b, "backbone");
    b->frozen = !s->v->v2;
    enter(b, "body");
    if (s->v->mobilenet)
        mobilenet_v3_pyramid(b, x, s->level);
    else
        resnet_pyramid(b, x, s->level);
    leave(b);
    b->frozen = false;
    enter(b, "fpn");
    detect_fpn(b, s->level, n, s->v->v2);
    s->level[n] =
        max_pool2d(b, NULL, s->level[n - 1], .kernel = 1, .stride = 2);
    s->n_levels++;
    leave(b);
    leave(b);
}

/* -- proposals ------------------------------------------------------------*/

static const double rcnn_sizes[] = {32, 64, 128, 256, 512};
static const double rcnn_ratios[] = {0.5, 1, 2};

static detect_anchors rcnn_anchors(const rcnn *v, int level)
{
    if (v->mobilenet)
        return (detect_anchors){rcnn_sizes, rcnn_ratios, 5, 3};
    return (detect_anchors){rcnn_sizes + level, rcnn_ratios, 1, 3};
}

/* The same head for every level: its weights are shared. */
static void rcnn_rpn_head(builder *b, const rcnn *v, tensor x, tensor *objects,
                          tensor *deltas)
{
    int64_t anchors = v->mobilenet ? 15 : 3;
    enter(b, "head");
    enter(b, "conv");
    for (int i = 0; i < (v->v2 ? 2 : 1); i++) {
        enter(b, "%d", i);
        x = conv2d(b, "0", x, 256, .kernel = 3, .padding = 1);
        x = relu(b, "1", x);
        leave(b);
    }
    leave(b);
    *objects = detect_rows(b, conv2d(b, "cls_logits", x, anchors), 1);
    *deltas = detect_rows(b, conv2d(b, "bbox_pred", x, 4 * anchors), 4);
    leave(b);
}

/* (n,5): the number of the image before each box. */
static tensor rcnn_of_image(builder *b, tensor boxes, int64_t image)
{
    tensor none = scale(b, slice(b, boxes, 1, 0, 1), 0);
    return cat_of(b, 1, shift(b, none, (double)image), boxes);
}

/* The level of each of the boxes that are taken from all levels. */
static tensor rcnn_levels(builder *b, const rcnn_state *s, const tensor *rows)
{
    int64_t n = 0;
    for (int i = 0; i < s->n_levels; i++)
        n += dim(b, rows[i], 0);
    tensor t = weight(b, "levels", CLV_VALUE_CONST, 1, &n);
    double *at = constant_floats(b, t, (uint32_t)n);
    for (int i = 0; at && i < s->n_levels; i++)
        for (int64_t k = 0; k < dim(b, rows[i], 0); k++)
            *at++ = i;
    return t;
}

/* The most promising boxes of each level of one image, without overlaps. */
static tensor rcnn_propose_image(builder *b, const rcnn_state *s,
                                 const tensor *objects, const tensor *boxes,
                                 int64_t image)
{
    static const double overlap = 0.7;
    uint32_t n = (uint32_t)s->n_levels;
    tensor all[DETECT_MAX_LEVELS], scores[DETECT_MAX_LEVELS], rows;
    for (int i = 0; i < s->n_levels; i++) {
        tensor flat = flatten(b, select_at(b, objects[i], 0, image), 0);
        detect_top(b, flat, s->v->proposals, &scores[i], &rows);
        all[i] = detect_take(b, select_at(b, boxes[i], 0, image), rows);
    }
    tensor best = sigmoid(b, NULL, cat(b, scores, n, 0));
    tensor every = detect_clip(b, cat(b, all, n, 0), s->size);
    rows = detect_suppress(b, every, best, rcnn_levels(b, s, scores), overlap,
                           s->v->proposals);
    return rcnn_of_image(b, detect_take(b, every, rows), image);
}

static tensor rcnn_join(builder *b, tensor all, tensor next, int64_t i)
{
    return i ? cat_of(b, 0, all, next) : next;
}

static void rcnn_propose(builder *b, rcnn_state *s)
{
    static const double factor[] = {1, 1};
    tensor objects[DETECT_MAX_LEVELS], boxes[DETECT_MAX_LEVELS];
    enter(b, "rpn");
    b->shared = true;
    for (int i = 0; i < s->n_levels; i++)
        rcnn_rpn_head(b, s->v, s->level[i], &objects[i], &boxes[i]);
    b->shared = false;
    for (int i = 0; i < s->n_levels; i++) {
        detect_anchors a = rcnn_anchors(s->v, i);
        enter(b, "anchor_generator");
        tensor grid = detect_grid(b, s->level[i], &a, s->image);
        leave(b);
        boxes[i] = detect_decode(b, boxes[i], grid, factor);
    }
    int64_t images = dim(b, s->level[0], 0);
    s->rois = CLV_NONE;
    for (int64_t i = 0; i < images; i++)
        s->rois = rcnn_join(b, s->rois,
                            rcnn_propose_image(b, s, objects, boxes, i), i);
    leave(b);
}

/* -- features of boxes ----------------------------------------------------*/

/* The level whose boxes of 224x224 pixels look like this one: 4 + log2(side /
 * 224), within the levels there are. */
static tensor rcnn_level_of(builder *b, tensor rois, int low, int high)
{
    tensor size = sub(b, slice(b, rois, 1, 3, 5), slice(b, rois, 1, 1, 3));
    tensor area = mul(b, select_at(b, size, 1, 0), select_at(b, size, 1, 1));
    tensor side = scale(b, unary(b, CLV_OP_SQRT, area), 1. / 224);
    tensor level = scale(b, unary(b, CLV_OP_LOG, side), 1 / log(2));
    level = shift(b, level, 4 + 1e-6);
    return zoo_call(b, CLV_OP_CLAMP, "clamp",
                    TENSORS(unary(b, CLV_OP_FLOOR, level)),
                    ATTRS(FLOAT(MIN, low), FLOAT(MAX, high)));
}

static tensor rcnn_zeros(builder *b, const int64_t dims[4])
{
    return zoo_call(b, CLV_OP_CONSTANT_OF_SHAPE, "zeros",
                    TENSORS(whole_numbers(b, dims, 4)),
                    ATTRS(FLOAT(VALUE, 0), INT(DTYPE, b->dtype)));
}

/* Samples each box from its level. Any level may have all of the boxes, so that
 * is its bound. */
static tensor rcnn_pool(builder *b, const rcnn_state *s, const char *name,
                        tensor rois, int64_t side)
{
    int n = s->v->mobilenet ? 1 : 4, low = s->v->mobilenet ? 5 : 2;
    int64_t dims[] = {dim(b, rois, 0), 256, side, side};
    enter(b, "%s", name);
    tensor level = rcnn_level_of(b, rois, low, low + n - 1);
    tensor boxes = slice(b, rois, 1, 1, 5), all = rcnn_zeros(b, dims);
    tensor image =
        zoo_call(b, CLV_OP_CAST, "to", TENSORS(select_at(b, rois, 1, 0)),
                 ATTRS(INT(DTYPE, CLV_INT64)));
    for (int i = 0; i < n; i++) {
        tensor rows = detect_where(b, CLV_OP_EQ, level, low + i);
        tensor own =
            zoo_call(b, CLV_OP_ROI_ALIGN, "roi_align",
                     TENSORS(s->level[i], detect_take(b, boxes, rows),
                             detect_take(b, image, rows)),
                     ATTRS(INTS(OUTPUT_SIZE, side, side), INT(SAMPLING, 2),
                           FLOAT(SPATIAL_SCALE, 1. / (1 << (low + i)))));
        all =
            zoo_call(b, CLV_OP_SCATTER_ND, "index_put",
                     TENSORS(all, reshape_open(b, rows, -1, 1), own), NO_ATTRS);
    }
    leave(b);
    return all;
}

/* -- what is in a box -----------------------------------------------------*/

static tensor rcnn_conv_block(builder *b, int i, tensor x, bool norm)
{
    enter(b, "%d", i);
    x = conv2d(b, "0", x, 256, .kernel = 3, .padding = 1, .no_bias = norm);
    if (norm)
        x = batch_norm(b, "1", x);
    x = relu(b, norm ? "2" : "1", x);
    leave(b);
    return x;
}

static tensor rcnn_box_head(builder *b, const rcnn *v, tensor x)
{
    enter(b, "box_head");
    for (int i = 0; v->v2 && i < 4; i++)
        x = rcnn_conv_block(b, i, x, true);
    if (v->v2) {
        x = zoo_module(b, CLV_OP_FLATTEN, "4", x, ATTRS(INT(START, 1)));
        x = relu(b, "6", linear(b, "5", x, 1024));
    } else {
        x = relu(b, NULL, linear(b, "fc6", flatten(b, x, 1), 1024));
        x = relu(b, NULL, linear(b, "fc7", x, 1024));
    }
    leave(b);
    return x;
}

/* All classes but the background: (n,classes - 1) scores and as many boxes. */
static void rcnn_predict(builder *b, const rcnn_state *s, tensor x,
                         tensor *scores, tensor *boxes)
{
    static const double factor[] = {10, 5};
    int64_t classes = s->v->gives == KEYPOINTS ? 2 : DETECT_CLASSES;
    enter(b, "box_predictor");
    tensor logits = linear(b, "cls_score", x, classes);
    tensor deltas = linear(b, "bbox_pred", x, 4 * classes);
    leave(b);
    deltas = reshape_open(b, deltas, -1, classes, 4);
    tensor from = reshape_open(b, slice(b, s->rois, 1, 1, 5), -1, 1, 4);
    *boxes = detect_clip(b, detect_decode(b, deltas, from, factor), s->size);
    *boxes = slice(b, *boxes, 1, 1, classes);
    *scores = slice(b, softmax(b, logits), 1, 1, classes);
}

/* Scores of a box add up to 1, so that at most 19 classes have more than 0.05:
 * only the best 19 are looked at. */
static detect_found rcnn_choose(builder *b, tensor scores, tensor boxes)
{
    enum { CANDIDATES = 19 };
    static const detect_rule rule = {0.05, 0.5, 100};
    int64_t n = dim(b, scores, 0), classes = dim(b, scores, 1);
    tensor best, labels;
    detect_top(b, scores, CANDIDATES, &best, &labels);
    int64_t first[] = {n, 1};
    tensor start = weight(b, "first_box", CLV_VALUE_CONST, 2, first);
    int64_t *at = arena_array(&b->g->mem, (size_t)n, sizeof *at);
    for (int64_t i = 0; at && i < n; i++)
        at[i] = i * classes;
    if (at)
        constant_ints(b, start, at, (uint32_t)n);
    tensor rows = reshape_open(b, add(b, labels, start), -1);
    detect_found all = {detect_take(b, reshape_open(b, boxes, -1, 4), rows),
                        reshape_open(b, best, -1), reshape_open(b, labels, -1)};
    detect_found f = detect_choose(b, all, &rule);
    f.labels = add(b, f.labels, whole_number(b, 1));
    return f;
}

/* -- masks and keypoints --------------------------------------------------*/

static void rcnn_masks(builder *b, const rcnn_state *s, tensor rois,
                       tensor labels)
{
    tensor x = rcnn_pool(b, s, "mask_roi_pool", rois, 14);
    enter(b, "mask_head");
    for (int i = 0; i < 4; i++)
        x = rcnn_conv_block(b, i, x, s->v->v2);
    leave(b);
    enter(b, "mask_predictor");
    x = conv_transpose2d(b, "conv5_mask", x, 256, .kernel = 2, .stride = 2);
    x = conv2d(b, "mask_fcn_logits", relu(b, "relu", x), DETECT_CLASSES);
    leave(b);
    int64_t side = dim(b, x, 2), like[] = {1, 1, side, side};
    x = sigmoid(b, NULL, x);
    tensor index = zoo_call(b, CLV_OP_EXPAND, "expand",
                            TENSORS(reshape_open(b, labels, -1, 1, 1, 1),
                                    whole_numbers(b, like, 4)),
                            NO_ATTRS);
    output(b, zoo_call(b, CLV_OP_GATHER_ELEMENTS, "gather", TENSORS(x, index),
                       ATTRS(INT(AXIS, 1))));
}

static void rcnn_keypoints(builder *b, const rcnn_state *s, tensor rois)
{
    enum { POINTS = 17 };
    tensor x = rcnn_pool(b, s, "keypoint_roi_pool", rois, 14);
    enter(b, "keypoint_head");
    for (int i = 0; i < 8; i++) {
        x = conv2d(b, nth(2 * i), x, 512, .kernel = 3, .padding = 1);
        x = relu(b, nth(2 * i + 1), x);
    }
    leave(b);
    enter(b, "keypoint_predictor");
    x = conv_transpose2d(b, "kps_score_lowres", x, POINTS, .kernel = 4,
                         .stride = 2, .padding = 1);
    x = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                 ATTRS(INTS(SIZE, 2 * dim(b, x, 2), 2 * dim(b, x, 3)),
                       STRING(MODE, "bilinear")));
    leave(b);
    output(b, x);
}

/* -- the network ----------------------------------------------------------*/

static void rcnn_roi_heads(builder *b, const rcnn_state *s)
{
    int64_t images = dim(b, s->level[0], 0), n = dim(b, s->rois, 0) / images;
    tensor scores, boxes, rois = CLV_NONE, labels = CLV_NONE;
    enter(b, "roi_heads");
    tensor x = rcnn_pool(b, s, "box_roi_pool", s->rois, 7);
    rcnn_predict(b, s, rcnn_box_head(b, s->v, x), &scores, &boxes);
    for (int64_t i = 0; i < images; i++) {
        detect_found f = rcnn_choose(b, slice(b, scores, 0, i * n, (i + 1) * n),
                                     slice(b, boxes, 0, i * n, (i + 1) * n));
        detect_output(b, &f);
        if (s->v->gives == BOXES)
            continue;
        rois = rcnn_join(b, rois, rcnn_of_image(b, f.boxes, i), i);
        labels = rcnn_join(b, labels, f.labels, i);
    }
    if (s->v->gives == MASKS)
        rcnn_masks(b, s, rois, labels);
    if (s->v->gives == KEYPOINTS)
        rcnn_keypoints(b, s, rois);
    leave(b);
}

static void rcnn_build(builder *b, const zoo_input *in, const void *variant)
{
    rcnn_state s = {.v = variant};
    tensor x = input(b, "x", in);
    x = detect_transform(b, &s.v->frame, x, &s.size);
    s.image[0] = dim(b, x, 2);
    s.image[1] = dim(b, x, 3);
    rcnn_backbone(b, &s, x);
    rcnn_propose(b, &s);
    rcnn_roi_heads(b, &s);
}

#define RCNN(name, side, year, ...) \
    { \
        {name, "rcnn", IMAGE(side), TORCHVISION("detection", year)}, \
            rcnn_build, &(const rcnn) \
        { \
            __VA_ARGS__ \
        } \
    }
#define RCNN_LARGE \
    { \
        800, 1333, 0, DETECT_IMAGENET \
    }
#define RCNN_SMALL \
    { \
        320, 640, 0, DETECT_IMAGENET \
    }

const zoo_model clv__zoo_rcnn[] = {
    RCNN("fasterrcnn_resnet50_fpn", 800, 2015, false, false, BOXES, 1000,
         RCNN_LARGE),
    RCNN("fasterrcnn_resnet50_fpn_v2", 800, 2021, false, true, BOXES, 1000,
         RCNN_LARGE),
    RCNN("fasterrcnn_mobilenet_v3_large_fpn", 800, 2019, true, false, BOXES,
         1000, RCNN_LARGE),
    RCNN("fasterrcnn_mobilenet_v3_large_320_fpn", 320, 2019, true, false, BOXES,
         150, RCNN_SMALL),
    RCNN("maskrcnn_resnet50_fpn", 800, 2017, false, false, MASKS, 1000,
         RCNN_LARGE),
    RCNN("maskrcnn_resnet50_fpn_v2", 800, 2021, false, true, MASKS, 1000,
         RCNN_LARGE),
    RCNN("keypointrcnn_resnet50_fpn", 1333, 2017, false, false, KEYPOINTS, 1000,
         RCNN_LARGE),
    ZOO_END,
};

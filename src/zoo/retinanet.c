/* retinanet.c - detectors with one dense head for all levels of a pyramid:
 * RetinaNet (Lin et al., 2017), its second version (Zhang et al., 2020) and
 * FCOS (Tian et al., 2019).
 *
 * RetinaNet scores nine boxes at each place, FCOS the place itself and how near
 * it lies to the centre of its box. The best 1000 of each level are candidates;
 * what is left of them (at most 300, 100) depends on the image and is a bound.
 */
#include "zoo/detect.h"

#include <string.h>

typedef struct retinanet {
    bool fcos, v2; /* v2: group norms in the head, batch norms in the body */
    detect_rule rule;
} retinanet;

enum { RETINA_LEVELS = 5, RETINA_CANDIDATES = 1000, RETINA_GROUPS = 32 };

static const detect_frame retina_frame = {800, 1333, 0, DETECT_IMAGENET};

/* -- pyramid and heads ----------------------------------------------------*/

static void retina_backbone(builder *b, const retinanet *v, tensor x,
                            tensor *level)
{
    tensor stages[4];
    enter(b, "backbone");
    b->frozen = !v->v2;
    enter(b, "body");
    resnet_pyramid(b, x, stages);
    leave(b);
    b->frozen = false;
    memcpy(level, stages + 1, 3 * sizeof *level);
    enter(b, "fpn");
    detect_fpn(b, level, 3, false);
    detect_p6_p7(b, v->v2 ? stages[3] : level[2], level + 3);
    leave(b);
    leave(b);
}

/* Four convolutions. In FCOS they and their norms are children of one
 * Sequential; in RetinaNet each pair is one. */
static tensor retina_tower(builder *b, const retinanet *v, tensor x)
{
    enter(b, "conv");
    for (int i = 0; i < 4; i++) {
        int at = v->fcos ? 3 * i : 0;
        if (!v->fcos)
            enter(b, "%d", i);
        x = conv2d(b, nth(at++), x, 256, .kernel = 3, .padding = 1,
                   .no_bias = v->v2);
        if (v->fcos || v->v2)
            x = group_norm(b, nth(at++), x, RETINA_GROUPS);
        x = relu(b, nth(at), x);
        if (!v->fcos)
            leave(b);
    }
    leave(b);
    return x;
}

static tensor retina_conv(builder *b, const char *name, tensor x, int64_t out)
{
    return conv2d(b, name, x, out, .kernel = 3, .padding = 1);
}

typedef struct retina_level {
    tensor logits, deltas, centre; /* (N,places * boxes,classes|4|1) */
} retina_level;

static retina_level retina_head(builder *b, const retinanet *v, tensor x)
{
    int64_t boxes = v->fcos ? 1 : 9;
    retina_level r = {.centre = CLV_NONE};
    enter(b, "classification_head");
    tensor y = retina_tower(b, v, x);
    y = retina_conv(b, "cls_logits", y, boxes * DETECT_CLASSES);
    r.logits = detect_rows(b, y, DETECT_CLASSES);
    leave(b);
    enter(b, "regression_head");
    x = retina_tower(b, v, x);
    y = retina_conv(b, "bbox_reg", x, boxes * 4);
    r.deltas = detect_rows(b, v->fcos ? relu(b, NULL, y) : y, 4);
    if (v->fcos)
        r.centre = detect_rows(b, retina_conv(b, "bbox_ctrness", x, 1), 1);
    leave(b);
    return r;
}

/* -- boxes ----------------------------------------------------------------*/

static const double retina_ratios[] = {0.5, 1, 2};

/* Sizes of the boxes of a level: 32 to 512 pixels, each also times 2^(1/3) and
 * 2^(2/3), rounded down. */
static const double retina_sizes[RETINA_LEVELS][3] = {
    {32, 40, 50},    {64, 80, 101},   {128, 161, 203},
    {256, 322, 406}, {512, 645, 812},
};

static tensor retina_grid(builder *b, const retinanet *v, int level, tensor x,
                          const int64_t image[2])
{
    const double one = 1, side = 8 << level;
    detect_anchors a = {retina_sizes[level], retina_ratios, 3, 3};
    if (v->fcos)
        a = (detect_anchors){&side, &one, 1, 1};
    enter(b, "anchor_generator");
    tensor grid = detect_grid(b, x, &a, image);
    leave(b);
    return grid;
}

/* FCOS: how far the sides are from the centre of the place, in its sizes. */
static tensor fcos_decode(builder *b, tensor deltas, tensor boxes)
{
    tensor low = slice(b, boxes, -1, 0, 2), high = slice(b, boxes, -1, 2, 4);
    tensor size = sub(b, high, low), centre = scale(b, add(b, low, high), 0.5);
    tensor before = mul(b, slice(b, deltas, -1, 0, 2), size);
    tensor after = mul(b, slice(b, deltas, -1, 2, 4), size);
    return cat_of(b, -1, sub(b, centre, before), add(b, centre, after));
}

/* The scores of one image at one level, a vector. */
static tensor retina_scores(builder *b, const retina_level *r, int64_t image)
{
    tensor s = sigmoid(b, NULL, select_at(b, r->logits, 0, image));
    if (r->centre != CLV_NONE) {
        tensor c = sigmoid(b, NULL, select_at(b, r->centre, 0, image));
        s = unary(b, CLV_OP_SQRT, mul(b, s, c));
    }
    return flatten(b, s, 0);
}

static detect_found retina_candidates(builder *b, const retinanet *v,
                                      const retina_level *r, tensor grid,
                                      int64_t image)
{
    static const double factor[] = {1, 1};
    detect_found f;
    tensor rows;
    detect_top(b, retina_scores(b, r, image), RETINA_CANDIDATES, &f.scores,
               &rows);
    tensor classes = whole_number(b, DETECT_CLASSES);
    f.labels = zoo_call(b, CLV_OP_REMAINDER, "remainder",
                        TENSORS(rows, classes), NO_ATTRS);
    rows = zoo_call(b, CLV_OP_DIV, "div", TENSORS(rows, classes),
                    ATTRS(STRING(MODE, "typed")));
    tensor deltas = detect_take(b, select_at(b, r->deltas, 0, image), rows);
    tensor boxes = detect_take(b, grid, rows);
    f.boxes = v->fcos ? fcos_decode(b, deltas, boxes)
                      : detect_decode(b, deltas, boxes, factor);
    return f;
}

static void retina_image(builder *b, const retinanet *v, const retina_level *r,
                         const tensor *grid, int64_t image, detect_size size)
{
    tensor boxes[RETINA_LEVELS], scores[RETINA_LEVELS], labels[RETINA_LEVELS];
    for (int i = 0; i < RETINA_LEVELS; i++) {
        detect_found f = retina_candidates(b, v, &r[i], grid[i], image);
        boxes[i] = f.boxes;
        scores[i] = f.scores;
        labels[i] = f.labels;
    }
    detect_found all = {detect_clip(b, cat(b, boxes, RETINA_LEVELS, 0), size),
                        cat(b, scores, RETINA_LEVELS, 0),
                        cat(b, labels, RETINA_LEVELS, 0)};
    detect_found f = detect_choose(b, all, &v->rule);
    detect_output(b, &f);
}

static void retina_build(builder *b, const zoo_input *in, const void *variant)
{
    const retinanet *v = variant;
    tensor level[RETINA_LEVELS], grid[RETINA_LEVELS];
    retina_level r[RETINA_LEVELS];
    detect_size size;
    tensor x = detect_transform(b, &retina_frame, input(b, "x", in), &size);
    const int64_t image[] = {dim(b, x, 2), dim(b, x, 3)};
    retina_backbone(b, v, x, level);
    enter(b, "head");
    b->shared = true;
    for (int i = 0; i < RETINA_LEVELS; i++)
        r[i] = retina_head(b, v, level[i]);
    b->shared = false;
    leave(b);
    for (int i = 0; i < RETINA_LEVELS; i++)
        grid[i] = retina_grid(b, v, i, level[i], image);
    for (int64_t i = 0; i < dim(b, x, 0); i++)
        retina_image(b, v, r, grid, i, size);
}

#define RETINANET(name, year, ...) \
    { \
        {name, "retinanet", IMAGE(800), TORCHVISION("detection", year)}, \
            retina_build, &(const retinanet) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_retinanet[] = {
    RETINANET("fcos_resnet50_fpn", 2019, true, false, {0.2, 0.6, 100}),
    RETINANET("retinanet_resnet50_fpn", 2017, false, false, {0.05, 0.5, 300}),
    RETINANET("retinanet_resnet50_fpn_v2", 2020, false, true, {0.05, 0.5, 300}),
    ZOO_END,
};

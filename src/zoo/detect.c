/* detect.c - the words of detect.h. */
#include "zoo/detect.h"

#include <math.h>

/* -- the image ------------------------------------------------------------*/

/* (3,1,1) */
static tensor detect_channels(builder *b, const char *name, const double *v)
{
    int64_t dims[] = {3, 1, 1};
    tensor t = weight(b, name, CLV_VALUE_CONST, 3, dims);
    double *at = constant_floats(b, t, 3);
    for (int i = 0; at && i < 3; i++)
        at[i] = v[i];
    return t;
}

static detect_size detect_resized(const detect_frame *f, int64_t h, int64_t w)
{
    if (f->fixed)
        return (detect_size){f->fixed, f->fixed};
    double low = (double)(h < w ? h : w), high = (double)(h < w ? w : h);
    double by = fmin((double)f->shorter / low, (double)f->longer / high);
    return (detect_size){(int64_t)floor((double)h * by),
                         (int64_t)floor((double)w * by)};
}

tensor detect_transform(builder *b, const detect_frame *f, tensor x,
                        detect_size *size)
{
    enum { MULTIPLE = 32 };
    enter(b, "transform");
    x = sub(b, x, detect_channels(b, "image_mean", f->mean));
    x = zoo_call(b, CLV_OP_DIV, "div",
                 TENSORS(x, detect_channels(b, "image_std", f->deviation)),
                 NO_ATTRS);
    *size = detect_resized(f, dim(b, x, 2), dim(b, x, 3));
    if (size->h < 1 || size->w < 1)
        refuse(b, "an image of %lldx%lld is too narrow: a side becomes 0",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3));
    x = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                 ATTRS(INTS(SIZE, size->h, size->w), STRING(MODE, "bilinear")));
    int64_t down = -size->h & (MULTIPLE - 1), right = -size->w & (MULTIPLE - 1);
    if (!f->fixed && (down || right))
        x = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                     ATTRS(INTS(PADDING, 0, 0, 0, 0, 0, 0, down, right)));
    leave(b);
    return x;
}

/* -- feature pyramids -----------------------------------------------------*/

static tensor detect_lateral(builder *b, int i, tensor x, bool norm,
                             int64_t kernel)
{
    enter(b, "%d", i);
    x = conv2d(b, "0", x, 256, .kernel = kernel, .padding = kernel / 2,
               .no_bias = norm);
    if (norm)
        x = batch_norm(b, "1", x);
    leave(b);
    return x;
}

static tensor detect_enlarge(builder *b, tensor x, tensor like)
{
    return zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                    ATTRS(INTS(SIZE, dim(b, like, 2), dim(b, like, 3)),
                          STRING(MODE, "nearest")));
}

void detect_fpn(builder *b, tensor *levels, int n, bool norm)
{
    tensor inner[DETECT_MAX_LEVELS];
    enter(b, "inner_blocks");
    for (int i = n - 1; i >= 0; i--)
        inner[i] = detect_lateral(b, i, levels[i], norm, 1);
    leave(b);
    for (int i = n - 2; i >= 0; i--)
        inner[i] = add(b, inner[i], detect_enlarge(b, inner[i + 1], inner[i]));
    enter(b, "layer_blocks");
    for (int i = 0; i < n; i++)
        levels[i] = detect_lateral(b, i, inner[i], norm, 3);
    leave(b);
}

void detect_p6_p7(builder *b, tensor from, tensor out[2])
{
    enter(b, "extra_blocks");
    out[0] = conv2d(b, "p6", from, 256, .kernel = 3, .stride = 2, .padding = 1);
    out[1] = conv2d(b, "p7", relu(b, NULL, out[0]), 256, .kernel = 3,
                    .stride = 2, .padding = 1);
    leave(b);
}

/* -- boxes on a grid ------------------------------------------------------*/

/* Positions along one axis: (rows,cols,1,4) with `axis` and axis + 2 set. */
static tensor detect_positions(builder *b, const char *name, int axis,
                               int64_t n, double first, double step)
{
    int64_t dims[] = {axis ? n : 1, axis ? 1 : n, 1, 4};
    tensor t = weight(b, name, CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, t, (uint32_t)(4 * n));
    for (int64_t i = 0; at && i < 4 * n; i++)
        at[i] = i % 2 == axis ? ((double)(i / 4) + first) * step : 0;
    return t;
}

tensor detect_spread(builder *b, tensor x, const double *cell, int count,
                     const double step[2], double first)
{
    int64_t dims[] = {1, 1, count, 4}, h = dim(b, x, 2), w = dim(b, x, 3);
    tensor t = weight(b, "cell_anchors", CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, t, 4 * (uint32_t)count);
    for (int i = 0; at && i < 4 * count; i++)
        at[i] = cell[i];
    t = add(b, detect_positions(b, "shifts_x", 0, w, first, step[1]), t);
    t = add(b, detect_positions(b, "shifts_y", 1, h, first, step[0]), t);
    return reshape(b, t, h * w * count, 4);
}

tensor detect_grid(builder *b, tensor x, const detect_anchors *a,
                   const int64_t image[2])
{
    double cell[4 * 16];
    int n = 0;
    for (int r = 0; r < a->n_ratios; r++)
        for (int s = 0; s < a->n_sizes; s++, n++) {
            double root = sqrt(a->ratios[r]);
            double w = a->sizes[s] / root / 2, h = a->sizes[s] * root / 2;
            const double side[] = {-w, -h, w, h};
            for (int k = 0; k < 4; k++)
                cell[4 * n + k] = nearbyint(side[k]);
        }
    const double step[] = {(double)(image[0] / dim(b, x, 2)),
                           (double)(image[1] / dim(b, x, 3))};
    return detect_spread(b, x, cell, n, step, 0);
}

tensor detect_rows(builder *b, tensor x, int64_t k)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1), h = dim(b, x, 2),
            w = dim(b, x, 3);
    x = reshape(b, x, n, c / k, k, h, w);
    x = permute(b, NULL, x, 0, 3, 4, 1, 2);
    return reshape(b, x, n, h * w * (c / k), k);
}

tensor detect_decode(builder *b, tensor deltas, tensor boxes,
                     const double factor[2])
{
    const double most = log(1000. / 16);
    tensor low = slice(b, boxes, -1, 0, 2), high = slice(b, boxes, -1, 2, 4);
    tensor size = sub(b, high, low);
    tensor centre = add(b, low, scale(b, size, 0.5));
    tensor move = slice(b, deltas, -1, 0, 2), grow = slice(b, deltas, -1, 2, 4);
    if (factor[0] > 1) {
        move = scale(b, move, 1 / factor[0]);
        grow = scale(b, grow, 1 / factor[1]);
    }
    grow = zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(grow),
                    ATTRS(FLOAT(MAX, most)));
    centre = add(b, mul(b, move, size), centre);
    tensor half = scale(b, mul(b, unary(b, CLV_OP_EXP, grow), size), 0.5);
    return cat_of(b, -1, sub(b, centre, half), add(b, centre, half));
}

tensor detect_clip(builder *b, tensor boxes, detect_size size)
{
    int64_t four = 4;
    tensor limit = weight(b, "limit", CLV_VALUE_CONST, 1, &four);
    double *at = constant_floats(b, limit, 4);
    for (int i = 0; at && i < 4; i++)
        at[i] = (double)(i % 2 ? size.h : size.w);
    boxes = zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(boxes),
                     ATTRS(FLOAT(MIN, 0)));
    return zoo_call(b, CLV_OP_MINIMUM, "minimum", TENSORS(boxes, limit),
                    NO_ATTRS);
}

/* -- choices --------------------------------------------------------------*/

tensor detect_take(builder *b, tensor x, tensor rows)
{
    return zoo_call(b, CLV_OP_INDEX_SELECT, "index_select", TENSORS(x, rows),
                    ATTRS(INT(AXIS, 0)));
}

void detect_top(builder *b, tensor scores, int64_t k, tensor *values,
                tensor *rows)
{
    tensor outs[2];
    int64_t n = dim(b, scores, -1);
    zoo_calls(b, CLV_OP_TOPK, "topk",
              TENSORS(scores, whole_number(b, k < n ? k : n)),
              ATTRS(INT(AXIS, -1)), outs, 2);
    *values = outs[0];
    *rows = outs[1];
}

tensor detect_where(builder *b, clv_op is, tensor x, double value)
{
    tensor yes = zoo_call(b, is, clv__op_name(is), TENSORS(x, number(b, value)),
                          NO_ATTRS);
    tensor rows = zoo_call(b, CLV_OP_NONZERO, "nonzero", TENSORS(yes),
                           ATTRS(INT(BY_AXIS, 1)));
    return reshape_open(b, rows, -1);
}

tensor detect_above(builder *b, tensor scores, double threshold)
{
    return detect_where(b, CLV_OP_GT, scores, threshold);
}

/* Moves the boxes of each class to a place of their own, so that those of
 * different classes never overlap. */
static tensor detect_apart(builder *b, tensor boxes, tensor labels)
{
    tensor side = zoo_call(b, CLV_OP_MAX, "max", TENSORS(boxes),
                           ATTRS(INTS(AXES, 0, 1), INT(KEEPDIM, 1)));
    labels = zoo_call(b, CLV_OP_CAST, "to", TENSORS(labels),
                      ATTRS(INT(DTYPE, b->dtype)));
    labels = reshape_open(b, labels, -1, 1);
    return add(b, boxes, mul(b, labels, shift(b, side, 1)));
}

tensor detect_suppress(builder *b, tensor boxes, tensor scores, tensor labels,
                       double overlap, int64_t most)
{
    boxes = detect_apart(b, boxes, labels);
    tensor all[] = {reshape_open(b, boxes, 1, -1, 4),
                    reshape_open(b, scores, 1, 1, -1), whole_number(b, most),
                    number(b, overlap)};
    tensor kept = zoo_call(b, CLV_OP_NMS, "nms", all, 4, NO_ATTRS);
    return select_at(b, kept, 1, 2);
}

detect_found detect_choose(builder *b, detect_found all, const detect_rule *r)
{
    tensor rows = detect_above(b, all.scores, r->score);
    detect_found f = {detect_take(b, all.boxes, rows),
                      detect_take(b, all.scores, rows),
                      detect_take(b, all.labels, rows)};
    rows = detect_suppress(b, f.boxes, f.scores, f.labels, r->overlap, r->most);
    return (detect_found){detect_take(b, f.boxes, rows),
                          detect_take(b, f.scores, rows),
                          detect_take(b, f.labels, rows)};
}

void detect_output(builder *b, const detect_found *f)
{
    output(b, f->boxes);
    output(b, f->scores);
    output(b, f->labels);
}

/* detect.h - words that the detectors share: the image is resized, boxes lie on
 * a grid, and what is found is chosen by score and overlap.
 *
 * How many boxes are found depends on the image. Shapes then say how many there
 * can be at most, and costs are those of that many. */
#ifndef CLV_ZOO_DETECT_H
#define CLV_ZOO_DETECT_H

#include "zoo/zoo.h"

enum { DETECT_CLASSES = 91, DETECT_MAX_LEVELS = 6 };

/* How an image is resized: to a square of side `fixed`, or so that its shorter
 * side becomes `shorter` unless its longer one would exceed `longer`. */
typedef struct detect_frame {
    int64_t shorter, longer, fixed;
    double mean[3], deviation[3];
} detect_frame;

#define DETECT_IMAGENET \
    {0.485, 0.456, 0.406}, \
    { \
        0.229, 0.224, 0.225 \
    }

/* Of one image after resizing, before it is padded to a multiple of 32. */
typedef struct detect_size {
    int64_t h, w;
} detect_size;

/* Normalises, resizes and pads. *size is that of the resized image. */
tensor detect_transform(builder *b, const detect_frame *f, tensor x,
                        detect_size *size);

/* What a level of a feature pyramid goes through, by what stands in its place
 * in torchvision: a convolution alone, or one with a batch norm. */
void detect_fpn(builder *b, tensor *levels, int n, bool norm);
/* Two further levels, each half the size of the one before. */
void detect_p6_p7(builder *b, tensor from, tensor out[2]);

/* Boxes around each place of x, (places * count, 4), as corners in pixels. The
 * `count` boxes of a place come from sizes and ratios, ratios first. */
typedef struct detect_anchors {
    const double *sizes, *ratios;
    int n_sizes, n_ratios;
} detect_anchors;
tensor detect_grid(builder *b, tensor x, const detect_anchors *a,
                   const int64_t image[2]);
/* The same boxes moved by pairs (x, y) and given as (count, 4) corners. */
tensor detect_spread(builder *b, tensor x, const double *cell, int count,
                     const double step[2], double first);

/* (N, A*K, H, W) -> (N, H*W*A, K) */
tensor detect_rows(builder *b, tensor x, int64_t k);
/* Boxes moved and grown by deltas (.., 4); the factors divide the deltas. */
tensor detect_decode(builder *b, tensor deltas, tensor boxes,
                     const double factor[2]);
/* Corners that lie outside of the image move to its border. */
tensor detect_clip(builder *b, tensor boxes, detect_size size);

/* Rows of x. */
tensor detect_take(builder *b, tensor x, tensor rows);
/* The k largest of a vector, or all when it has fewer. */
void detect_top(builder *b, tensor scores, int64_t k, tensor *values,
                tensor *rows);
/* Rows of a vector that are larger than (CLV_OP_GT) or equal to (CLV_OP_EQ) a
 * value: at most all. */
tensor detect_where(builder *b, clv_op is, tensor x, double value);
/* Rows whose score is above the threshold: at most all. */
tensor detect_above(builder *b, tensor scores, double threshold);
/* Rows that remain when of two boxes of one class that overlap by more than
 * `overlap` the lower is dropped: at most `most`, best first. */
tensor detect_suppress(builder *b, tensor boxes, tensor scores, tensor labels,
                       double overlap, int64_t most);

/* What was found in an image, and the choice of what is given back. */
typedef struct detect_found {
    tensor boxes, scores, labels;
} detect_found;
typedef struct detect_rule {
    double score, overlap;
    int64_t most;
} detect_rule;
detect_found detect_choose(builder *b, detect_found all, const detect_rule *r);
void detect_output(builder *b, const detect_found *f);

#endif

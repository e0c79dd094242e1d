/* sampling.h - where grid_sample and roi_align read an image. */
#ifndef CLV_SAMPLING_H
#define CLV_SAMPLING_H

#include "backend/kernel.h"

enum { GRID_TAPS = 4 }; /* at most, along one axis */

typedef struct grid {
    bool align, border, reflect;
    bool first; /* places are rounded before the padding */
    int taps;   /* 1 nearest, 2 linear, 4 cubic */
} grid;

CLV_MUST clv_status clv__grid_read(const kernel *k, grid *g);
/* The taps along one axis for a coordinate of [-1, 1]; -1: outside. */
void clv__grid_taps(const grid *g, double c, int64_t size, int64_t *at,
                    double *weight);

typedef struct region {
    int64_t batch, samples_y, samples_x;
    double y, x, bin_y, bin_x;
} region;

/* The image of a region, its corner and bins, from a row of boxes: x1, y1, x2,
 * y2, led by the image's number where there are five. */
CLV_MUST clv_status clv__region_of(const kernel *k, int64_t i, region *r);

#endif

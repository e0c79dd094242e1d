/* swin.h - windows over an image of tokens (N,H,W,C), rolled and not, that
 * the Swin of torchvision and that of transformers share (swin.c). */
#ifndef CLV_ZOO_SWIN_H
#define CLV_ZOO_SWIN_H

#include "zoo/zoo.h"

/* The size of the padded image, and how far it is rolled. */
typedef struct swin_plan {
    int64_t h, w, window, shift_y, shift_x;
} swin_plan;

/* The smallest multiple of `by` that is not below x. */
int64_t swin_round_up(int64_t x, int64_t by);
/* (windows,1,n,n): 0 between tokens of one region, -100 between others. */
tensor swin_shift_mask(builder *b, const swin_plan *p);
/* Pads, rolls and cuts the image into windows: (N,H,W,C) -> (N*windows,n,C). */
tensor swin_cut(builder *b, const swin_plan *p, tensor x);
/* Undoes all three; the image is h x w again. */
tensor swin_join(builder *b, const swin_plan *p, tensor x, int64_t h,
                 int64_t w);
/* Joins 2x2 tokens into one: (N,H,W,C) -> (N,H/2,W/2,4C). */
tensor swin_corners(builder *b, tensor x);

#endif

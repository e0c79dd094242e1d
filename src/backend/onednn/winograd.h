/* winograd.h - 3x3 convolutions with fewer products.
 *
 * oneDNN computes 3x3 windows directly: nine products per output and input
 * channel. Winograd's algorithm takes 4 (tiles of 2x2 outputs) or 2.25 (4x4).
 * Values are in a layout that oneDNN uses too, so that a convolution of ours
 * stands among its primitives: nChw8c or, if `last`, nhwc.
 *
 *     (n, c, y, x) lies at (((n C/8 + c/8) H + y) W + x) 8 + c%8
 *                  or   at ((n H + y) W + x) C + c */
#ifndef CLV_ONEDNN_WINOGRAD_H
#define CLV_ONEDNN_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct winograd {
    int64_t batch, in, out; /* channels: multiples of 8 and of 16 */
    int64_t h, w, oh, ow;   /* pixels of input and output */
    int64_t pad_y, pad_x;   /* rows above, columns before */
    int64_t tile;           /* outputs are tile x tile: 2 or 4 */
    int64_t chunk;          /* tiles at a time */
    float low, high;        /* results are kept between these */
    bool last;              /* channels are last */
} winograd;

/* Memory of one call; bias and residual may be NULL. Floats need not be
 * aligned. The residual may be dst. */
typedef struct winograd_args {
    const char *src, *weights, *bias, *residual;
    char *dst, *scratch;
} winograd_args;

/* Sets tile and chunk; false where the direct way is as good. */
bool winograd_choose(winograd *k);
/* Bytes of packed weights, and of scratch memory. */
size_t winograd_weights(const winograd *k);
size_t winograd_scratch(const winograd *k);
/* Packs plain weights (out, in, 3, 3), each output channel times its scale
 * (NULL: as they are). */
void winograd_pack(const winograd *k, const char *plain, const float *scale,
                   char *packed);
void winograd_run(const winograd *k, const winograd_args *a);

#endif

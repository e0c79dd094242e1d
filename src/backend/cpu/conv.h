/* conv.h - the shape of a convolution, as its kernels see it. */
#ifndef CLV_CONV_H
#define CLV_CONV_H

#include "backend/cpu/gemm.h"

enum { CONV_AXES = 3 };

typedef struct conv_job {
    int64_t batch, groups, cin, cout; /* channels per group */
    int64_t in[CONV_AXES], out[CONV_AXES], kernel[CONV_AXES];
    int64_t stride[CONV_AXES], dilation[CONV_AXES], pad[CONV_AXES];
    int64_t in_plane, out_plane, taps, depth; /* depth: cin * taps */
    int64_t blocks, items, parts, room_each;
    const float *x, *w, *bias;
    float *y, *room;
    const struct requant *q; /* NULL: floats */
    bool point;              /* a kernel that reads the image as it lies */
} conv_job;

#ifdef CPU_LEVEL
/* Fills in the shape of j, up to `depth` and `point`; false: x, w and y do not
 * fit, or have too many axes. A transposed convolution's weights have its input
 * channels first. */
bool CPU_NAME(clv__conv_shape)(const kernel *k, const clv_tensor *x,
                               const clv_tensor *w, const clv_tensor *y,
                               conv_job *j);
#endif

#endif

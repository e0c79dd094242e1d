/* tensor.h - numbers in memory: dense, row-major. */
#ifndef CLEAVE_TENSOR_H
#define CLEAVE_TENSOR_H

#include "cleave/base.h"

typedef struct clv_tensor {
    clv_dtype dtype;
    uint32_t rank;
    int64_t dims[CLV_MAX_RANK];
    void *data;
} clv_tensor;

/* Elements; -1 when the product does not fit. */
CLV_API int64_t clv_tensor_numel(const clv_tensor *t);
/* Bytes of its data, packed types rounded up; -1 on overflow. */
CLV_API int64_t clv_tensor_bytes(const clv_tensor *t);

/* Element i as a number, whatever the type; 0 for types that are none. */
CLV_API double clv_tensor_get(const clv_tensor *t, int64_t i);

#endif

/* tensor.h - numbers in memory: dense, row-major.
 *
 * Threads: a tensor is plain data: several may read it, or one writes it. */
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

/* The largest difference of two tensors of one shape, and that over the largest
 * magnitude in b. Infinite where one has a NaN and the other has not. */
CLV_API void clv_tensor_diff(const clv_tensor *a, const clv_tensor *b,
                             double *absolute, double *relative);
/* Are a and b the same, of one type and shape? Integers must be equal; floats
 * may be off by `tolerance` times the largest magnitude in b, or times one
 * where that is less. A NaN equals a NaN. */
CLV_API bool clv_tensor_close(const clv_tensor *a, const clv_tensor *b,
                              double tolerance);
/* Room for type and shape; data is zeroed. */
CLV_API CLV_MUST clv_status clv_tensor_alloc(clv_tensor *t, clv_err *err);
CLV_API void clv_tensor_free(clv_tensor *t);
/* Seeded numbers, the same everywhere: floats uniform in [-1, 1), integers
 * small and non-negative. */
CLV_API void clv_tensor_random(clv_tensor *t, uint64_t seed);

/* -- in files -------------------------------------------------------------*/

/* Reads one tensor of an .npy file, an .npz archive (`name` picks the entry;
 * NULL: the only one), or an ONNX TensorProto (.pb). The caller frees its data
 * with clv_tensor_free. */
CLV_API CLV_MUST clv_status clv_tensor_read(const char *path, const char *name,
                                            clv_tensor *out, clv_err *err);
/* The same from memory; `kind` is "npy", "npz" or "pb". */
CLV_API CLV_MUST clv_status clv_tensor_parse(const char *kind, const void *data,
                                             size_t size, const char *name,
                                             clv_tensor *out, clv_err *err);
/* An .npy file, appended to `out`. */
CLV_API CLV_MUST clv_status clv_tensor_npy(const clv_tensor *t, clv_buf *out,
                                           clv_err *err);

#endif

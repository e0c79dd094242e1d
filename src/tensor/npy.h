/* npy.h - tensors in NumPy's files. */
#ifndef CLV_NPY_H
#define CLV_NPY_H

#include "cleave/tensor.h"
#include "core/core.h"

/* Reads an .npy file in memory. The caller frees out with clv_tensor_free. */
CLV_MUST clv_status clv__npy_parse(const void *data, size_t size,
                                   clv_tensor *out, clv_err *e);

#endif

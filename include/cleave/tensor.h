/* tensor.h - numbers in memory: dense, row-major; texts; and lists of tensors.
 *
 * Threads: a tensor is plain data. Several threads may read it, or one may
 * write it. */
#ifndef CLEAVE_TENSOR_H
#define CLEAVE_TENSOR_H

#include "cleave/base.h"

/* What a clv_tensor is: elements, or tensors in a list. */
typedef enum clv_form {
    CLV_FORM_TENSOR,
    CLV_FORM_SEQUENCE, /* any number of tensors of one type */
    CLV_FORM_OPTIONAL  /* one tensor or sequence, or nothing */
} clv_form;

/* The data of a plain tensor are its elements; those of a tensor of strings are
 * clv_texts. A sequence or optional has rank 1, as many elements as it holds,
 * and clv_tensors for data; dtype is the type of those. Texts and listed
 * tensors are borrowed: what the library returns keeps them in the same block
 * or in the context that made them. */
typedef struct clv_tensor {
    clv_dtype dtype;
    uint32_t rank;
    int64_t dims[CLV_MAX_RANK];
    void *data;
    clv_form form;
} clv_tensor;

/* n bytes of text, which may be anything; s may be NULL where n is 0. */
typedef struct clv_text {
    const char *s;
    size_t n;
} clv_text;

/* Element i of a tensor of strings; {NULL, 0} when it has none. */
CLV_API clv_text clv_tensor_text(const clv_tensor *t, int64_t i);
/* Element i of a sequence or optional; NULL when it has none. */
CLV_API const clv_tensor *clv_tensor_item(const clv_tensor *t, int64_t i);

/* Elements; -1 when the product does not fit. */
CLV_API int64_t clv_tensor_numel(const clv_tensor *t);
/* Bytes of its data, packed types rounded up; -1 on overflow. */
CLV_API int64_t clv_tensor_bytes(const clv_tensor *t);

/* Element i as a number, whatever the type; 0 for what is no number. */
CLV_API double clv_tensor_get(const clv_tensor *t, int64_t i);

/* Sets *absolute to the largest difference of two tensors of one shape, and
 * *relative to that divided by the largest magnitude in b. Both are infinite if
 * only one of the tensors has a NaN at some place. */
CLV_API void clv_tensor_diff(const clv_tensor *a, const clv_tensor *b,
                             double *absolute, double *relative);
/* Returns true if a and b have the same form, type and shape, and their
 * elements agree. Texts and integers must be equal. Floats may differ by
 * `tolerance` times the largest magnitude in b, or times 1 if that is less
 * than 1. A NaN equals a NaN. */
CLV_API bool clv_tensor_close(const clv_tensor *a, const clv_tensor *b,
                              double tolerance);
/* Allocates t->data for its type and shape, and zeroes it. */
CLV_API CLV_MUST clv_status clv_tensor_alloc(clv_tensor *t, clv_err *err);
CLV_API void clv_tensor_free(clv_tensor *t);
/* Fills t with numbers that depend on the seed alone: floats are uniform in
 * [-1, 1), integers small and non-negative. */
CLV_API void clv_tensor_random(clv_tensor *t, uint64_t seed);

/* -- in files -------------------------------------------------------------*/

/* Reads one tensor of an .npy file, an .npz archive (`name` picks the entry;
 * NULL: the only one), or an ONNX TensorProto (.pb). The caller frees its data
 * with clv_tensor_free. */
CLV_API CLV_MUST clv_status clv_tensor_read(const char *path, const char *name,
                                            clv_tensor *out, clv_err *err);
/* The same for any form: an ONNX SequenceProto or OptionalProto, which do not
 * say of themselves which they are. An .npy file is an optional that holds it.
 */
CLV_API CLV_MUST clv_status clv_tensor_read_as(const char *path,
                                               const char *name, clv_form form,
                                               clv_tensor *out, clv_err *err);
/* A tensor from memory; `kind` is "npy", "npz" or "pb". */
CLV_API CLV_MUST clv_status clv_tensor_parse(const char *kind, const void *data,
                                             size_t size, const char *name,
                                             clv_tensor *out, clv_err *err);
/* The name of entry i of an .npz archive, without its ending, into `name`.
 * CLV_NOT_FOUND after the last. */
CLV_API CLV_MUST clv_status clv_tensor_entry(const char *path, uint32_t i,
                                             char *name, size_t size,
                                             clv_err *err);

/* Returns true if an .npy file can hold t. NumPy has no bfloat16, no 8-bit
 * floats, no 4-bit integers and no lists, and would cut texts at their last
 * zero byte. */
CLV_API bool clv_tensor_fits_npy(const clv_tensor *t);
/* An .npy file, appended to `out`. */
CLV_API CLV_MUST clv_status clv_tensor_npy(const clv_tensor *t, clv_buf *out,
                                           clv_err *err);
/* A TensorProto, SequenceProto or OptionalProto of ONNX, appended to `out`. It
 * is called `name` unless that is NULL. */
CLV_API CLV_MUST clv_status clv_tensor_pb(const clv_tensor *t, const char *name,
                                          clv_buf *out, clv_err *err);
/* An .npz archive of n tensors, appended to `out`: the entry of names[i] is an
 * .npy file, or a .pb file where that cannot hold it. */
CLV_API CLV_MUST clv_status clv_tensor_npz(const clv_tensor *const *t,
                                           const char *const *names, uint32_t n,
                                           clv_buf *out, clv_err *err);

#endif

/* weights.h - tensors in PyTorch's files become weights of a graph.
 *
 * A tensor is a view of a storage: sizes, strides and an offset. One that is
 * dense is read where it lies in the file, never copied; its pages are touched
 * when a model runs. Tensors that are the same view of one storage are tied,
 * and become one value. */
#ifndef CLV_TORCH_WEIGHTS_H
#define CLV_TORCH_WEIGHTS_H

#include "graph/graph.h"

typedef struct torch_tensor {
    clv_dtype dtype;
    uint32_t rank;
    int64_t dims[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    int64_t offset;       /* of the first element, in elements */
    const uint8_t *bytes; /* the storage; NULL: the file does not hold it */
    size_t size;
} torch_tensor;

/* Weights of one graph so far. Starts as {.g = g, .opts = opts}. */
typedef struct torch_weights {
    clv_graph *g;
    const clv_open_opts *opts;
    strmap known;   /* by storage and view: the value */
    size_t copied;  /* bytes of tensors that were not dense */
    size_t allowed; /* bytes that may be copied: as many as the file has */
} torch_weights;

/* Adds the weight called name, or finds the one that it is tied to. name is
 * copied. Fails with CLV_FORMAT when the view leaves its storage. */
CLV_MUST clv_status clv__torch_weight(torch_weights *w, const char *name,
                                      clv_value_kind kind,
                                      const torch_tensor *t, uint32_t *value,
                                      clv_err *e);
/* Whether a tensor is tied to one that was added. */
bool clv__torch_known(const torch_weights *w, const torch_tensor *t);
/* Elements of a tensor; fails when they do not fit 64 bits. */
CLV_MUST clv_status clv__torch_numel(const torch_tensor *t, int64_t *n,
                                     clv_err *e);
/* Gives t the strides of a dense tensor of its dims. */
void clv__torch_dense(torch_tensor *t);
/* Reads element i of a dense tensor as an integer; false when t is not of an
 * integer type or does not hold it. */
bool clv__torch_int_at(const torch_tensor *t, int64_t i, int64_t *out);
void clv__torch_weights_free(torch_weights *w);

/* The type with this number in torch (c10::ScalarType: float32 is 6), by which
 * pickles and TorchScript name them; CLV_NODTYPE when we have none. */
clv_dtype clv__torch_dtype(int64_t code);

#endif

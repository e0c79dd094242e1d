/* tensor_pb.h - ONNX TensorProto messages with all their numbers. */
#ifndef CLV_TENSOR_PB_H
#define CLV_TENSOR_PB_H

#include "cleave/tensor.h"
#include "core/core.h"

/* Reads a TensorProto; out->data is the caller's, freed with clv__free. */
CLV_MUST clv_status clv__tensor_pb(const void *data, size_t size,
                                   clv_tensor *out, clv_err *e);
/* The same of a SparseTensorProto: all numbers, most of them 0. */
CLV_MUST clv_status clv__sparse_pb(const void *data, size_t size,
                                   clv_tensor *out, clv_err *e);
/* Reads a SequenceProto or an OptionalProto, as `form` says. */
CLV_MUST clv_status clv__list_pb(const void *data, size_t size, clv_form form,
                                 clv_tensor *out, clv_err *e);

#endif

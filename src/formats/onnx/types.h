/* types.h - the numbers ONNX gives to data types (TensorProto.DataType), read
 * and written by one table. */
#ifndef CLV_ONNX_TYPES_H
#define CLV_ONNX_TYPES_H

#include "graph/graph.h"

/* The data type that has the number; CLV_NODTYPE when we know none. */
clv_dtype onnx_dtype(uint64_t number);
/* The number of a data type; 0 when ONNX has none. */
int onnx_dtype_number(clv_dtype t);
/* The first opset that we write whose operators take the type; INT_MAX when
 * ONNX has no such type. */
int onnx_dtype_since(clv_dtype t);

#endif

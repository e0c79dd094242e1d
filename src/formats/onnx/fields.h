/* fields.h - the field numbers of ONNX's messages (onnx.proto), for the reader
 * and the writer. The names are those of onnx.proto, without "Proto". */
#ifndef CLV_ONNX_FIELDS_H
#define CLV_ONNX_FIELDS_H

enum {
    PB_MODEL_IR_VERSION = 1,
    PB_MODEL_PRODUCER_NAME = 2,
    PB_MODEL_PRODUCER_VERSION = 3,
    PB_MODEL_GRAPH = 7,
    PB_MODEL_OPSET_IMPORT = 8,
    PB_MODEL_METADATA = 14,
    PB_MODEL_FUNCTIONS = 25,
    PB_MODEL_LAST = 26, /* no field of a model has a higher number */
};

enum {
    PB_OPSET_DOMAIN = 1,
    PB_OPSET_VERSION = 2,
};

enum {
    PB_GRAPH_NODE = 1,
    PB_GRAPH_NAME = 2,
    PB_GRAPH_INITIALIZER = 5,
    PB_GRAPH_INPUT = 11,
    PB_GRAPH_OUTPUT = 12,
    PB_GRAPH_VALUE_INFO = 13,
    PB_GRAPH_SPARSE_INITIALIZER = 15,
    PB_GRAPH_METADATA = 16,
    PB_GRAPH_END = 17, /* one above the highest number that is looked at */
};

enum {
    PB_FUNCTION_NAME = 1,
    PB_FUNCTION_INPUT = 4,
    PB_FUNCTION_OUTPUT = 5,
    PB_FUNCTION_ATTRIBUTE = 6,
    PB_FUNCTION_NODE = 7,
    PB_FUNCTION_OPSET_IMPORT = 9,
    PB_FUNCTION_DOMAIN = 10,
    PB_FUNCTION_ATTRIBUTE_PROTO = 11,
    PB_FUNCTION_OVERLOAD = 13,
};

enum {
    PB_NODE_INPUT = 1,
    PB_NODE_OUTPUT = 2,
    PB_NODE_NAME = 3,
    PB_NODE_OP_TYPE = 4,
    PB_NODE_ATTRIBUTE = 5,
    PB_NODE_DOMAIN = 7,
    PB_NODE_OVERLOAD = 8,
    PB_NODE_METADATA = 9,
    PB_NODE_LAST = 9, /* fields above it are no texts and not looked at */
};

enum {
    PB_ATTR_NAME = 1,
    PB_ATTR_F = 2,
    PB_ATTR_I = 3,
    PB_ATTR_S = 4,
    PB_ATTR_T = 5,
    PB_ATTR_G = 6,
    PB_ATTR_FLOATS = 7,
    PB_ATTR_INTS = 8,
    PB_ATTR_STRINGS = 9,
    PB_ATTR_TP = 14,
    PB_ATTR_TYPE = 20,
    PB_ATTR_REF = 21,
    PB_ATTR_SPARSE = 22,
};

enum { /* AttributeProto.AttributeType: values of PB_ATTR_TYPE */
       PB_TYPE_FLOAT = 1,
       PB_TYPE_INT = 2,
       PB_TYPE_STRING = 3,
       PB_TYPE_TENSOR = 4,
       PB_TYPE_GRAPH = 5,
       PB_TYPE_FLOATS = 6,
       PB_TYPE_INTS = 7,
       PB_TYPE_STRINGS = 8,
};

enum {
    PB_TENSOR_DIMS = 1,
    PB_TENSOR_DATA_TYPE = 2,
    PB_TENSOR_FLOAT_DATA = 4,
    PB_TENSOR_INT32_DATA = 5,
    PB_TENSOR_STRING_DATA = 6,
    PB_TENSOR_INT64_DATA = 7,
    PB_TENSOR_NAME = 8,
    PB_TENSOR_RAW_DATA = 9,
    PB_TENSOR_DOUBLE_DATA = 10,
    PB_TENSOR_UINT64_DATA = 11,
    PB_TENSOR_DOC = 12,
    PB_TENSOR_EXTERNAL_DATA = 13,
    PB_TENSOR_DATA_LOCATION = 14,
};

enum { /* SequenceProto and OptionalProto */
       PB_LIST_NAME = 1,
       PB_LIST_ELEM_TYPE = 2,
       PB_LIST_TENSOR = 3,
       PB_LIST_SEQUENCE = 5,
};

enum { /* values of PB_LIST_ELEM_TYPE */
       PB_LIST_OF_TENSORS = 1,
       PB_LIST_OF_SEQUENCES = 3,
};

enum { PB_LOCATION_EXTERNAL = 1 }; /* a value of PB_TENSOR_DATA_LOCATION */

enum {
    PB_SPARSE_VALUES = 1,
    PB_SPARSE_INDICES = 2,
    PB_SPARSE_DIMS = 3,
};

enum { /* StringStringEntryProto */
       PB_ENTRY_KEY = 1,
       PB_ENTRY_VALUE = 2,
};

enum {
    PB_VALUE_INFO_NAME = 1,
    PB_VALUE_INFO_TYPE = 2,
};

enum { /* TypeProto: which kind of type it is */
       PB_TYPE_OF_TENSOR = 1,
       PB_TYPE_OF_SEQUENCE = 4,
       PB_TYPE_OF_SPARSE = 8,
       PB_TYPE_OF_OPTIONAL = 9,
};

enum { /* TypeProto.Tensor, TypeProto.SparseTensor */
       PB_TENSOR_TYPE_ELEM = 1,
       PB_TENSOR_TYPE_SHAPE = 2,
};

enum { PB_ELEM_TYPE = 1 }; /* TypeProto.Sequence, TypeProto.Optional */
enum { PB_SHAPE_DIM = 1 };

enum {
    PB_DIM_VALUE = 1,
    PB_DIM_PARAM = 2,
};

#define PB_SIGNATURE "pkg.torch.export.ExportedProgram.graph_signature"
/* What our writer marks stored tensors with that are no parameters (the
 * tensor's documentation, which no other reader minds). */
#define PB_NOT_LEARNED "cleave: not learned"
/* The same for a parameter of one element, which looks like a constant. */
#define PB_LEARNED "cleave: learned"
/* The key under which torch's exporter writes a node's modules. */
#define PB_NAME_SCOPES "pkg.torch.onnx.name_scopes"

#endif

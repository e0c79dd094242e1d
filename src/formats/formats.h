/* formats.h - model files of every format, told apart by their contents. */
#ifndef CLV_FORMATS_H
#define CLV_FORMATS_H

#include "cleave/tensor.h"
#include "core/mapping.h"
#include "graph/graph.h"

/* One file format. `knows` looks at the first bytes and the name; `load` takes
 * the mapping over (and closes it when it fails) and returns an inferred
 * graph. */
typedef struct clv_importer {
    const char *name; /* "onnx" */
    const char *text; /* for messages: "ONNX model" */
    bool (*knows)(const clv_mapping *map, const char *path);
    clv_status (*load)(clv_mapping map, const char *path,
                       const clv_open_opts *opts, clv_graph **out, clv_err *e);
} clv_importer;

/* Loads the model file at path. CLV_NOT_FOUND when there is no such file. */
CLV_MUST clv_status clv__import(const char *path, const clv_open_opts *opts,
                                clv_graph **out, clv_err *e);

/* How the ONNX writer says an operator: "operator", "function" (of operators
 * that ONNX has), "as read" (only where it came from ONNX), or "" for not at
 * all. */
const char *clv__onnx_written(clv_op op);
/* The i-th row of ONNX's table: its name, with the domain where it is not the
 * default one, and the operator it leads to. False past the last. */
bool clv__onnx_row(size_t i, const char **domain, const char **name,
                   clv_op *op);
/* The i-th name of an attribute that ONNX's operators have, and the key it is
 * read under; CLV_A_OTHER for one that is translated by the operator. False
 * past the last. */
bool clv__onnx_attr_row(size_t i, const char **name, clv_attr_key *key);

/* Appends g as an ONNX model to out. Weights are tensor[v] where that has data;
 * else as the file of g has them, or drawn. `tensor` may be NULL. Fails with
 * CLV_UNSUPPORTED, naming the node, when an operator has no form in ONNX, and
 * for weights of more than 1 GB. */
CLV_MUST clv_status clv__onnx_bytes(const clv_graph *g,
                                    const clv_tensor *tensor, int64_t opset,
                                    clv_buf *out, clv_err *e);

bool clv__onnx_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__onnx_load(clv_mapping map, const char *path,
                                   const clv_open_opts *opts, clv_graph **out,
                                   clv_err *e);

#endif

/* formats.h - model files of every format, told apart by their contents. */
#ifndef CLV_FORMATS_H
#define CLV_FORMATS_H

#include "cleave/files.h"
#include "cleave/tensor.h"
#include "core/mapping.h"
#include "graph/graph.h"

/* One file format. `knows` looks at the first bytes and the name; `load` takes
 * the mapping over (and closes it when it fails) and returns an inferred
 * graph. */
typedef struct clv_importer {
    clv_file_kind is;
    bool told; /* the bytes alone tell it from every other kind of file */
    bool (*knows)(const clv_mapping *map, const char *path);
    clv_status (*load)(clv_mapping map, const char *path,
                       const clv_open_opts *opts, clv_graph **out, clv_err *e);
} clv_importer;

/* Begins a graph for the file at path: named after it, with `map` as what its
 * weights are borrowed from. Closes the mapping when it fails. */
CLV_MUST clv_status clv__import_begin(clv_mapping map, const char *path,
                                      const char *format,
                                      const clv_open_opts *opts, clv_graph **g,
                                      clv_err *e);
/* Ends it: with a status other than CLV_OK the graph is freed and the message
 * made fit to print, else *out is the graph and pages that were read leave
 * memory. Returns the status. */
CLV_MUST clv_status clv__import_end(clv_graph *g, clv_status s, clv_graph **out,
                                    clv_err *e);
/* Whether a stored tensor whose name of n bytes ends so is a statistic or a
 * table by custom, not learned; many files do not tell. */
bool clv__import_is_buffer(const char *name, size_t n);
/* Replaces the control characters of a text that a file wrote. */
void clv__import_scrub(char *text, size_t n);

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

bool clv__pt2_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__pt2_load(clv_mapping map, const char *path,
                                  const clv_open_opts *opts, clv_graph **out,
                                  clv_err *e);

bool clv__checkpoint_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__checkpoint_load(clv_mapping map, const char *path,
                                         const clv_open_opts *opts,
                                         clv_graph **out, clv_err *e);

bool clv__torchscript_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__torchscript_load(clv_mapping map, const char *path,
                                          const clv_open_opts *opts,
                                          clv_graph **out, clv_err *e);

bool clv__tflite_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__tflite_load(clv_mapping map, const char *path,
                                     const clv_open_opts *opts, clv_graph **out,
                                     clv_err *e);
/* The i-th builtin operator: its name and the operator it leads to. False past
 * the last. */
bool clv__tflite_row(size_t i, const char **name, clv_op *op);

bool clv__stablehlo_knows(const clv_mapping *map, const char *path);
CLV_MUST clv_status clv__stablehlo_load(clv_mapping map, const char *path,
                                        const clv_open_opts *opts,
                                        clv_graph **out, clv_err *e);
/* The i-th row of StableHLO's table, as clv__onnx_row. */
bool clv__stablehlo_row(size_t i, const char **name, clv_op *op);

bool clv__onnx_knows(const clv_mapping *map, const char *path);

/* Do the first bytes alone say that it is ONNX and nothing else? */
bool clv__onnx_begins(const clv_mapping *map);
CLV_MUST clv_status clv__onnx_load(clv_mapping map, const char *path,
                                   const clv_open_opts *opts, clv_graph **out,
                                   clv_err *e);

#endif

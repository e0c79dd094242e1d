/* bundle.h - a cut as a folder: one file per subgraph and a manifest.
 *
 * Threads: calls for different folders may run at the same time. */
#ifndef CLEAVE_BUNDLE_H
#define CLEAVE_BUNDLE_H

#include "cleave/cut.h"
#include "cleave/tensor.h"

/* Writes DIR/manifest.json (order, devices, inputs, outputs, costs, reasons)
 * and, for each subgraph, its graph as partition_NNN.json and, where its
 * operators have a form there, as partition_NNN.onnx. Everything goes to a
 * folder beside it that is renamed at the end: on failure nothing is left.
 * Fails with CLV_IO when dir is there and not empty. */
CLV_API CLV_MUST clv_status clv_bundle_write(const clv_cut *c, const char *dir,
                                             clv_err *err);

/* The same in the words of an engine that is to run the cut: "ort", "triton",
 * "torch", "deepspeed", "vllm", "llama.cpp", "hf", "genai" or "openvino"; NULL:
 * the parts and the manifest alone. README.md says what is predicted and how to
 * check it. Fails with CLV_USAGE for another name, with CLV_UNSUPPORTED when
 * the engine cannot take this cut. */
CLV_API CLV_MUST clv_status clv_bundle_write_for(const clv_cut *c,
                                                 const char *dir,
                                                 const char *engine,
                                                 clv_err *err);

typedef struct clv_bundle_info {
    size_t size; /* sizeof(clv_bundle_info) */
    uint32_t partitions, nodes;
} clv_bundle_info;

/* Reads a folder that clv_bundle_write made and checks it from the files
 * alone: every node is there once, each partition reads only what partitions
 * before it made, stated inputs, outputs and dependencies are exactly those of
 * the nodes, stateful ones run in their order, no node is on a device that does
 * not support it, and the ONNX files hold the same. CLV_LIMIT says what is
 * wrong; CLV_FORMAT that a file is malformed. totals may be NULL. */
CLV_API CLV_MUST clv_status clv_bundle_verify(const char *dir,
                                              clv_bundle_info *totals,
                                              clv_err *err);

/* -- reading it -----------------------------------------------------------*/

/* A tensor that a partition takes or gives. */
typedef struct clv_bundle_value {
    const char *name;
    clv_tensor type; /* type and shape; no data. A rank of CLV_NONE: its shape
                      * is not known before it runs */
    uint32_t maker;  /* partition that makes it; CLV_NONE: an input */
} clv_bundle_value;

typedef struct clv_bundle_part {
    const char *onnx;   /* its file, relative to the folder; NULL: none */
    const char *device; /* "" when the cut is not about devices */
    /* Indices of values, in the order of the file's inputs and outputs. */
    const uint32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    double seconds; /* that the planner predicts; 0: it has no device */
    int64_t flops, weight_bytes;
    int64_t file_bytes; /* of the ONNX file */
    uint32_t crc;       /* CRC-32 of the ONNX file */
} clv_bundle_part;

typedef struct clv_bundle_plan {
    size_t size; /* sizeof(clv_bundle_plan) */
    const char *model, *strategy;
    const char *version; /* of the cleave that wrote it */
    uint32_t crc;        /* of the manifest: the same for the same cut */
    const clv_bundle_value *values;
    const clv_bundle_part *parts;     /* in an order in which they can run */
    const uint32_t *inputs, *outputs; /* of the whole model */
    uint32_t n_values, n_parts, n_inputs, n_outputs;
} clv_bundle_plan;

typedef struct clv_bundle clv_bundle;

/* Reads DIR/manifest.json alone. Returns the plan (caller frees with
 * clv_bundle_free). Fails with CLV_NOT_FOUND or CLV_IO when there is none, with
 * CLV_FORMAT when it is malformed or lacks what running it needs. */
CLV_API CLV_MUST clv_status clv_bundle_open(const char *dir, clv_bundle **out,
                                            clv_err *err);
CLV_API void clv_bundle_free(clv_bundle *b);
CLV_API const clv_bundle_plan *clv_bundle_get(const clv_bundle *b);
/* Opens the ONNX file of partition k as a graph (caller frees with
 * clv_graph_free), after checking that it is the file that was written with
 * this manifest and that its inputs and outputs are those stated there. */
CLV_API CLV_MUST clv_status clv_bundle_part_open(const clv_bundle *b,
                                                 uint32_t k, clv_graph **out,
                                                 clv_err *err);

#endif

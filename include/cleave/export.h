/* export.h - writes graphs in formats that others read.
 *
 * Threads: calls for different paths may run at the same time. */
#ifndef CLEAVE_EXPORT_H
#define CLEAVE_EXPORT_H

#include "cleave/graph.h"

typedef enum clv_weights {
    CLV_WEIGHTS_RANDOM, /* from a seed, at the scale of an initialisation */
    CLV_WEIGHTS_ZEROS,
    CLV_WEIGHTS_NONE /* shapes only: data in a file that is not written */
} clv_weights;

/* All else zero means: opset 17, random weights of seed 0. */
typedef struct clv_onnx_opts {
    size_t size;   /* sizeof(clv_onnx_opts) */
    int64_t opset; /* 13 to 22 */
    clv_weights weights;
    uint64_t seed;
    bool draw_weights; /* draw the weights that a model's file lacks */
} clv_onnx_opts;

/* Writes g as ONNX to `path`, whole or not at all; weights beyond 1 GB go to
 * path + ".data". A graph read from ONNX is written as its file was, byte for
 * byte; data that lies in other files stays where it is. Fails with
 * CLV_UNSUPPORTED, naming the node, when an operator has no form in ONNX; with
 * CLV_NOT_FOUND when g came from a file that lacks a weight. */
CLV_API CLV_MUST clv_status clv_export_onnx(const clv_graph *g,
                                            const char *path,
                                            const clv_onnx_opts *opts,
                                            clv_err *err);

#endif

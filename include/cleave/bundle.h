/* bundle.h - a cut as a folder: one file per subgraph and a manifest.
 *
 * Threads: calls for different folders may run at the same time. */
#ifndef CLEAVE_BUNDLE_H
#define CLEAVE_BUNDLE_H

#include "cleave/cut.h"

/* Writes DIR/manifest.json (order, devices, inputs, outputs, costs, reasons)
 * and, for each subgraph, its graph as partition_NNN.json and, where its
 * operators have a form there, as partition_NNN.onnx. Everything goes to a
 * folder beside it that is renamed at the end: on failure nothing is left.
 * Fails with CLV_IO when dir is there and not empty. */
CLV_API CLV_MUST clv_status clv_bundle_write(const clv_cut *c, const char *dir,
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

#endif

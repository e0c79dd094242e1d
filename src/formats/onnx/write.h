/* write.h - the writer of ONNX files: onnx.c writes graphs, write_weights.c
 * what they store, write_body.c the nodes that hold some. */
#ifndef CLV_ONNX_WRITE_H
#define CLV_ONNX_WRITE_H

#include "cleave/tensor.h"
#include "formats/external.h"
#include "formats/onnx/writer.h"

#include <stdio.h>

/* One graph being written: the model's, or a body's. */
typedef struct writer {
    const clv_graph *g;
    const clv_onnx_opts *opts;
    int64_t opset;
    clv_buf nodes;     /* GraphProto fields: the nodes */
    clv_buf functions; /* ModelProto fields */
    clv_buf tail;      /* GraphProto fields: inputs, outputs */
    clv_buf heads;     /* of weights, one after the other */
    size_t *head_end;  /* per weight, in heads */
    uint32_t *weights; /* values */
    uint32_t n_weights;
    strmap bodies; /* text of a function to its number */
    strmap names;  /* name to the value that has it in the file */
    bool *read;    /* per value: a written node reads it, or it is an output */
    external_files files;
    arena mem;
    const clv_tensor *tensor; /* per value: contents that count, NULL: none */
    bool external;
    FILE *file, *data;
    struct writer *root;  /* the model's: functions are its */
    struct writer *outer; /* the enclosing graph's, NULL for the model */
    uint32_t *captured;   /* per value: the enclosing graph's, or CLV_NONE */
    uint32_t n_formal;    /* inputs that are written; captured ones follow */
    const char *prefix;   /* of values without a name; NULL: none */
} writer;

/* The name of value v in the file; "" for CLV_NONE, and when memory ran out,
 * which the buffer of nodes remembers. */
const char *writer_name(writer *w, uint32_t v);
/* Why node n ends the writing. */
clv_status writer_cannot(const writer *w, const clv_node *n, clv_err *e);
/* A value of an imported graph that folding has found: a constant here. */
bool writer_folded(const clv_graph *g, uint32_t v);
/* Lists the weights that written nodes read, and writes their heads. */
CLV_MUST clv_status writer_weights(writer *w, const char *data_name,
                                   clv_err *e);
/* Bytes that the weights take in the graph. */
uint64_t writer_weight_size(const writer *w);
/* Writes the weights to the file, or to the one beside it. */
CLV_MUST clv_status writer_stream(writer *w, clv_err *e);
/* Appends the GraphProto of w, a body, to out. */
CLV_MUST clv_status writer_graph(writer *w, clv_buf *out, clv_err *e);
/* A node with bodies, up to its edges: attributes of o. */
CLV_MUST clv_status writer_bodies(writer *w, const clv_node *n, onnx_out *o,
                                  clv_err *e);
/* Whether n is an operator with bodies. */
bool writer_has_bodies(const clv_node *n);
/* Inputs of a node that are written: of one with bodies, not what they
 * capture. */
uint32_t writer_formal(const clv_node *n);

/* A new file beside its place, `path` ending in XXXXXX; NULL: it failed. */
FILE *writer_open(char *path, clv_err *e);
/* Closes and puts in its place, or removes; f may be NULL. */
CLV_MUST clv_status writer_settle(FILE *f, const char *temporary,
                                  const char *path, clv_status s, clv_err *e);
/* The file as it is mapped; its external data, unless it lies there already. */
CLV_MUST clv_status writer_copy(const clv_graph *g, const char *path,
                                clv_err *e);

#endif

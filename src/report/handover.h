/* handover.h - what a cut becomes in the words of an engine that runs it. */
#ifndef CLV_HANDOVER_H
#define CLV_HANDOVER_H

#include "cut/cut.h"

/* A folder that is being filled for one engine. */
typedef struct handover {
    const clv_cut *c;
    const clv_graph *g;
    const char *dir;
    arena mem;
    const char *model; /* its name, in plain letters */
} handover;

typedef clv_status handover_fn(handover *h, clv_err *e);

typedef struct handover_engine {
    const char *name;   /* of --for */
    const char *check;  /* how to check what was written */
    bool parts;         /* it loads the parts; others load the model */
    handover_fn *write; /* the engine's own words */
} handover_engine;

/* NULL and a suggestion in e when there is no such engine. */
const handover_engine *clv__handover_find(const char *name, clv_err *e);
/* Fills the folder: the engine's files, and README.md with what is predicted
 * and how to check it. */
CLV_MUST clv_status clv__handover_write(const handover_engine *engine,
                                        const clv_cut *c, const char *dir,
                                        clv_err *e);

/* Writes a file of the folder; makes its folders. */
CLV_MUST clv_status clv__handover_save(const handover *h, const char *name,
                                       const clv_buf *text, clv_err *e);

/* Layers that repeat, "model.layers.0" to "model.layers.31", and how many of
 * them each subgraph has; a layer belongs where most of its FLOPs are. */
typedef struct handover_layers {
    const char *prefix; /* "model.layers." */
    uint32_t n;
    uint32_t *of;     /* per layer: its subgraph */
    uint32_t *counts; /* per subgraph */
} handover_layers;

/* Fails with CLV_UNSUPPORTED when the model has no such layers, or when they
 * are not in the order of the subgraphs. */
CLV_MUST clv_status clv__handover_layers(handover *h, handover_layers *out,
                                         clv_err *e);

/* The rows of the table that take whole layers or modules
 * (handover_layers.c). */
handover_fn handover_deepspeed, handover_vllm, handover_llama_cpp, handover_hf,
    handover_torch;

#endif

/* onednn.h - a subgraph as oneDNN primitives.
 *
 *   buffer   bytes in the workspace, alive from one operation to another; or
 *            the memory of a value at the subgraph's border; or a constant
 *   slot     a tensor: a memory descriptor (dims, layout) over a buffer
 *   op       a primitive and the slots it reads and writes
 *
 * Lowering walks the nodes in order. Each value has the slot it was made in;
 * an op that wants another layout gets a reorder, made once per value and
 * layout. Constants are reordered while compiling. */
#ifndef CLV_ONEDNN_H
#define CLV_ONEDNN_H

#include "backend/backend.h"

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>

enum { OP_ARGS = 34, CHAIN_MAX = 8 };

typedef struct buffer {
    int64_t bytes, offset; /* in the workspace */
    uint32_t first, last;  /* ops, both included */
    uint32_t value;        /* memory of this value instead; or CLV_NONE */
    void *data;            /* a constant */
    bool owned;            /* data is ours */
    bool shared;           /* several values look at it */
} buffer;

typedef struct dnn_place {
    dnnl_memory_desc_t md;
    uint32_t buffer, value;
} dnn_place;

typedef struct dnn_step {
    dnnl_primitive_t primitive;
    int arg[OP_ARGS];
    uint32_t slot[OP_ARGS];
    uint32_t n_args;
} dnn_step;

/* The memory objects of one run; several may run at once. */
typedef struct memories {
    struct memories *next;
    dnnl_stream_t stream;
    dnnl_memory_t *of; /* per slot */
    dnnl_memory_t scratchpad;
    void *workspace;
} memories;

typedef struct onednn_exec {
    clv_exec base;
    dnnl_engine_t engine;
    buffer *buffers;
    dnn_place *slots;
    dnn_step *ops;
    size_t n_buffers, cap_buffers, n_slots, cap_slots, n_ops, cap_ops;
    int64_t scratchpad, scratchpad_offset;
    uint32_t threads;
    pthread_mutex_t lock;
    memories *idle;
} onednn_exec;

typedef struct lowering {
    const clv_subject *s;
    const clv_graph *g;
    onednn_exec *x;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr; /* scratchpads are ours */
    bool dry;                   /* only asks whether it could be made */
    uint32_t *slot_of;          /* per value; CLV_NONE: not made yet */
    uint32_t *uses;             /* per value: nodes that still read it */
    uint8_t *inside;            /* per node: part of the subgraph */
    uint8_t *leaves;            /* per value: read outside */
    uint32_t *chain_of;         /* per node: its anchor, or CLV_NONE */
    uint32_t *emit; /* per node: the anchor made when it is reached */
    arena mem;
    clv_err *e;
} lowering;

/* What follows an anchor in the same primitive. */
typedef enum link_kind { LINK_BN, LINK_BIAS, LINK_ELTWISE, LINK_ADD } link_kind;

typedef struct link {
    link_kind kind;
    dnnl_alg_kind_t alg; /* of an eltwise */
    float alpha, beta;
    uint32_t other; /* value added, or the bias */
    uint32_t node;  /* batch norm */
    uint32_t out;   /* the value after this link */
    uint32_t nodes[6], n_nodes;
} link;

/* -- memory (memory.c) ----------------------------------------------------*/

clv_status dnn_fail(lowering *l, const char *what, dnnl_status_t s);
#define DNN(l, call) \
    do { \
        dnnl_status_t dnn_status = (call); \
        if (dnn_status != dnnl_success) \
            return dnn_fail((l), #call, dnn_status); \
    } while (0)

bool dnn_const(const lowering *l, uint32_t v);
const clv_value *dnn_value(const lowering *l, uint32_t v);
/* Dense, row-major. */
void dnn_plain(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank);
void dnn_any(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank);
bool dnn_is_plain(const dnnl_memory_desc_t *md);
/* The slot value v is in now; a constant gets a plain one. */
CLV_MUST clv_status dnn_slot(lowering *l, uint32_t v, uint32_t *slot);
/* Value v in layout md; a reorder if it must be. */
CLV_MUST clv_status dnn_want(lowering *l, uint32_t v,
                             const dnnl_memory_desc_t *md, uint32_t *slot);
/* Value v, dense and row-major, looked at with other dims. */
CLV_MUST clv_status dnn_view(lowering *l, uint32_t v, const int64_t *dims,
                             uint32_t rank, uint32_t *slot);
/* A fresh slot for value v (CLV_NONE: a temporary). */
CLV_MUST clv_status dnn_new(lowering *l, uint32_t v,
                            const dnnl_memory_desc_t *md, uint32_t *slot);
/* A slot over the same buffer. */
CLV_MUST clv_status dnn_alias(lowering *l, uint32_t from, uint32_t v,
                              const dnnl_memory_desc_t *md, uint32_t *slot);
/* A constant of our own: takes data (clv__alloc), described by md, in the
 * layout `want`. */
CLV_MUST clv_status dnn_constant(lowering *l, void *data,
                                 const dnnl_memory_desc_t *md,
                                 const dnnl_memory_desc_t *want,
                                 uint32_t *slot);
/* Takes pd; the arguments are pairs of DNNL_ARG and slot. */
CLV_MUST clv_status dnn_op(lowering *l, dnnl_primitive_desc_t pd,
                           const int *args, const uint32_t *slots, uint32_t n);
const dnnl_memory_desc_t *dnn_query(const_dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int i);

/* -- rules (rules.c), products and their chains (fuse.c) ------------------*/

CLV_MUST clv_status dnn_node(lowering *l, uint32_t node);
bool dnn_is_anchor(const lowering *l, uint32_t node);
/* Finds the chains of all anchors. */
void dnn_find_chains(lowering *l);
CLV_MUST clv_status dnn_anchor(lowering *l, uint32_t node, const link *chain,
                               uint32_t n);
/* An anchor with as much of its chain as oneDNN takes, and the rest. */
CLV_MUST clv_status dnn_group(lowering *l, uint32_t anchor);
/* The algorithm of an elementwise node; false when there is none. */
bool dnn_eltwise(const lowering *l, uint32_t node, dnnl_alg_kind_t *alg,
                 float *alpha, float *beta);
/* Value v is a constant of one element. */
bool dnn_scalar(const lowering *l, uint32_t v, float *x);

/* -- this machine (measure.c) ---------------------------------------------*/

CLV_MUST clv_status dnn_product(clv_backend *b, clv_dtype t, int64_t n,
                                uint32_t threads, double *seconds, clv_err *e);

#endif

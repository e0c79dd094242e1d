/* onednn.h - a subgraph as oneDNN primitives.
 *
 *   buffer   bytes in the workspace, alive from one operation to another; or
 *            the memory of a value at the subgraph's border; or a constant
 *   slot     a tensor: a memory descriptor (dims, layout) over a buffer, from
 *            a byte of it on
 *   op       a primitive, or a convolution of our own, and the slots it reads
 *            and writes
 *
 * Lowering walks the nodes in order. Each value has the slot it was made in,
 * a view of another value one over the same buffer; an op that wants another
 * layout gets a reorder, made once per value and layout. Constants are
 * reordered while compiling. */
#ifndef CLV_ONEDNN_H
#define CLV_ONEDNN_H

#include "backend/backend.h"
#include "backend/onednn/winograd.h"

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <string.h>

enum { OP_ARGS = 34, CHAIN_MAX = 8 };

typedef struct buffer {
    int64_t bytes, offset; /* in the workspace */
    uint32_t value;        /* memory of this value instead; or CLV_NONE */
    void *data;            /* a constant: in a slab, or borrowed */
    bool shared;           /* several values look at it */
    bool used;             /* some op reads or writes it */
} buffer;

typedef struct dnn_place {
    dnnl_memory_desc_t md;
    uint32_t buffer, value;
    int64_t at; /* byte of the buffer where it begins */
} dnn_place;

typedef struct dnn_step {
    dnnl_primitive_desc_t pd;   /* until the primitive is made of it */
    dnnl_primitive_t primitive; /* NULL: */
    winograd own;               /* is run instead */
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

typedef struct dnn_packs dnn_packs; /* packs.c */

typedef struct onednn_exec {
    clv_exec base;
    dnnl_engine_t engine;
    buffer *buffers;
    dnn_place *slots;
    dnn_step *ops;
    size_t n_buffers, cap_buffers, n_slots, cap_slots, n_ops, cap_ops;
    int64_t scratchpad, scratchpad_offset;
    dnn_packs *packs; /* memory of constants; NULL in a dry run */
    uint32_t threads;
    pthread_mutex_t lock;
    memories *idle;
} onednn_exec;

/* What follows an anchor in the same primitive. */
typedef enum link_kind {
    LINK_BN,
    LINK_BIAS,  /* a constant per channel is added */
    LINK_SCALE, /* a constant per channel is multiplied */
    LINK_ELTWISE,
    LINK_ADD,
    LINK_VIEW /* the same memory seen in another way */
} link_kind;

typedef struct link {
    link_kind kind;
    dnnl_alg_kind_t alg; /* of an eltwise */
    float alpha, beta;
    uint32_t other; /* value added or multiplied */
    uint32_t node;  /* of all kinds but an eltwise of several nodes */
    uint32_t out;   /* the value after this link */
    uint32_t nodes[6], n_nodes;
} link;

typedef struct chain {
    uint32_t anchor, n;
    link link[CHAIN_MAX];
} chain;

/* Where a part of a concatenation is to be made. */
typedef struct dnn_home {
    uint32_t of; /* the concatenation's result; CLV_NONE: anywhere */
    int64_t at;  /* byte of it */
} dnn_home;

typedef struct lowering {
    const clv_subject *s;
    const clv_graph *g;
    onednn_exec *x;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr; /* scratchpads are ours */
    bool dry;                   /* only asks whether it could be made */
    uint32_t *slot_of;          /* per value; CLV_NONE: not made yet */
    uint8_t *inside;            /* per node: part of the subgraph */
    uint8_t *leaves;            /* per value: read outside */
    uint8_t *taken;             /* per node: part of a chain */
    dnn_home *home;             /* per value, or NULL */
    uint32_t *home_buffer;      /* per value: of a concatenation */
    chain **emit; /* per node: the chain that is made when it is reached */
    arena mem;
    clv_err *e;
} lowering;

static inline uint32_t dnn_in(const lowering *l, uint32_t node, uint32_t i)
{
    const clv_node *n = &l->g->nodes[node];
    return i < n->n_in ? node_ins(l->g, n)[i] : CLV_NONE;
}

static inline uint32_t dnn_out(const lowering *l, uint32_t node)
{
    return node_outs(l->g, &l->g->nodes[node])[0];
}

static inline const clv_value *dnn_value(const lowering *l, uint32_t v)
{
    return &l->g->values[v];
}

static inline bool dnn_same_dims(const clv_value *a, const clv_value *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * 8);
}

/* -- memory (memory.c) ----------------------------------------------------*/

clv_status dnn_fail(lowering *l, const char *what, dnnl_status_t s);
#define DNN(l, call) \
    do { \
        dnnl_status_t dnn_status = (call); \
        if (dnn_status != dnnl_success) \
            return dnn_fail((l), #call, dnn_status); \
    } while (0)

clv_status dnn_no(lowering *l, const char *why);
/* Primitives are made for a number of threads and are wrong with fewer, so it
 * is one that the caller's thread will get. 0: as many as there may be. */
void dnn_use_threads(uint32_t n);
/* Is there address space for libdnnl to make `primitives`, and for the stacks
 * of its threads? It does not survive a lack of memory: it throws, and OpenMP
 * exits. */
bool dnn_has_room(uint32_t primitives);
/* dnnl_primitive_create, unless there is no room for its code: libdnnl writes
 * that where it could not map memory, too (cli/reserve.c). */
dnnl_status_t dnn_primitive(dnnl_primitive_t *p,
                            const_dnnl_primitive_desc_t pd);
bool dnn_const(const lowering *l, uint32_t v);
/* Dense, row-major. */
void dnn_plain(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank);
void dnn_any(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank);
/* Axis 1 innermost, as in NHWC. */
bool dnn_channels_last(const dnnl_memory_desc_t *md);
/* Whether oneDNN computes images with channels last here: with vectors wider
 * than AVX2's. */
bool dnn_works_last(void);
/* The value v with channels last where they are in rows and oneDNN works so;
 * else as dnn_dense. */
CLV_MUST clv_status dnn_dense_last(lowering *l, uint32_t v, uint32_t *id);
/* The same for a value's dims, of which there are at least 3. */
void dnn_last(dnnl_memory_desc_t *md, const clv_value *v);
/* Axes of one element get the strides that oneDNN would give them. */
void dnn_tidy(dnnl_memory_desc_t *md);
/* The slot value v is in now, whatever its strides; a constant gets a plain
 * one. */
CLV_MUST clv_status dnn_slot(lowering *l, uint32_t v, uint32_t *slot);
/* Value v in layout md; a reorder if it must be. */
CLV_MUST clv_status dnn_want(lowering *l, uint32_t v,
                             const dnnl_memory_desc_t *md, uint32_t *slot);
/* Value v without gaps: row-major, channels last, or blocked by channels. */
CLV_MUST clv_status dnn_dense(lowering *l, uint32_t v, uint32_t *slot);
/* The slot where v is in layout md already, or CLV_NONE. */
uint32_t dnn_found(const lowering *l, uint32_t v, const dnnl_memory_desc_t *md);
/* Value v, dense and row-major, looked at with other dims. */
CLV_MUST clv_status dnn_view(lowering *l, uint32_t v, const int64_t *dims,
                             uint32_t rank, uint32_t *slot);
/* Value v, dense and row-major, described by md. */
CLV_MUST clv_status dnn_over(lowering *l, uint32_t v,
                             const dnnl_memory_desc_t *md, uint32_t *slot);
/* A fresh slot for value v (CLV_NONE: a temporary); the first one of a value
 * that has a home lies there. */
CLV_MUST clv_status dnn_new(lowering *l, uint32_t v,
                            const dnnl_memory_desc_t *md, uint32_t *slot);
/* The slot of value v is another description of this one, made for it. */
CLV_MUST clv_status dnn_name(lowering *l, uint32_t from, uint32_t v,
                             const dnnl_memory_desc_t *md);
/* A slot over the same buffer, from the same byte on. */
CLV_MUST clv_status dnn_alias(lowering *l, uint32_t from, uint32_t v,
                              const dnnl_memory_desc_t *md, uint32_t *slot);
/* A constant of our own in layout `want`: `data`, borrowed and described by
 * md, times scale[i] for index i of the first axes (NULL: as it is). */
typedef struct dnn_scales {
    const float *scale;
    int64_t n;
    int mask;
} dnn_scales;
CLV_MUST clv_status dnn_constant(lowering *l, void *data,
                                 const dnnl_memory_desc_t *md,
                                 const dnnl_memory_desc_t *want,
                                 const dnn_scales *scales, uint32_t *slot);
/* The same of weight w, which models may share. */
CLV_MUST clv_status dnn_weight(lowering *l, uint32_t w, void *data,
                               const dnnl_memory_desc_t *md,
                               const dnnl_memory_desc_t *want,
                               const dnn_scales *scales, uint32_t *slot);
/* The data of value v is shared with other models. */
bool dnn_is_shared(const lowering *l, uint32_t v);
/* A constant of `bytes` over data that is there. */
CLV_MUST clv_status dnn_room(lowering *l, size_t bytes, void *data,
                             uint32_t *slot);
/* Bytes of the file that were packed and are not read again. */
void dnn_drop(const lowering *l, const void *data, size_t bytes);
/* Takes pd, of which the primitive is made later; the arguments are pairs of
 * DNNL_ARG and slot. */
CLV_MUST clv_status dnn_op(lowering *l, dnnl_primitive_desc_t pd,
                           const int *args, const uint32_t *slots, uint32_t n);
/* Makes all primitives, on all threads. */
CLV_MUST clv_status dnn_create(lowering *l);
/* The same as dnn_op for a convolution of ours, whose residual is
 * DNNL_ARG_SRC_1. */
CLV_MUST clv_status dnn_own(lowering *l, const winograd *own, const int *args,
                            const uint32_t *slots, uint32_t n);
const dnnl_memory_desc_t *dnn_query(const_dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int i);

/* A primitive that computes element by element, in no hurry. */
bool dnn_is_slow(const_dnnl_primitive_desc_t pd);

/* -- constants that models share (packs.c) --------------------------------*/

/* What a constant is made of: data, a weight that is shared, as md describes
 * it; in layout `want`, or of a convolution of ours with such tiles; times
 * scale, as in dnn_scales. */
typedef struct dnn_source {
    const void *data;
    dnnl_memory_desc_t md, want;
    int64_t tile;
    const float *scale;
    int64_t n;
    int mask;
} dnn_source;

/* The packs of a family, for one executable more; NULL: no memory. */
dnn_packs *dnn_packs_take(const void *family);
void dnn_packs_give(dnn_packs *p);
/* One executable at a time is made of a family. */
void dnn_packs_lock(dnn_packs *p);
void dnn_packs_unlock(dnn_packs *p);
/* Room for a constant that lives as long as the family. */
void *dnn_packs_room(dnn_packs *p, size_t size);
/* The constant that was made of s, or NULL. */
void *dnn_packs_find(const dnn_packs *p, const dnn_source *s);
/* Notes that data was made of s; false: no memory. */
bool dnn_packs_add(dnn_packs *p, const dnn_source *s, void *data);

/* -- rules (rules.c) ------------------------------------------------------*/

typedef clv_status dnn_rule(lowering *l, uint32_t node);

CLV_MUST clv_status dnn_node(lowering *l, uint32_t node);
/* The algorithm of an elementwise node; false when there is none. */
bool dnn_eltwise(const lowering *l, uint32_t node, dnnl_alg_kind_t *alg,
                 float *alpha, float *beta);
/* Value v is a constant of one element. */
bool dnn_scalar(const lowering *l, uint32_t v, float *x);

/* -- views (views.c) ------------------------------------------------------*/

/* Output o of a view, given the layout of its input: the layout, and the byte
 * it begins at. False: no layout expresses it. */
bool dnn_look(const lowering *l, uint32_t node, uint32_t o,
              const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y, int64_t *at);
/* A node that only looks at all of its input: reshapes, permutes, copies. */
bool dnn_is_view(const lowering *l, uint32_t node);
/* Where parts of concatenations are to be made. */
CLV_MUST clv_status dnn_find_homes(lowering *l);
dnn_rule dnn_lower_view, dnn_lower_cat;

/* -- what a chain does behind its anchor (links.c) ------------------------*/

/* y = (w x) scale + shift, one of each per output channel */
typedef struct dnn_affine {
    float *scale, *shift; /* NULL: ones, or none */
    uint32_t bias;        /* a value that is the shift as it is; CLV_NONE */
    int64_t n;
} dnn_affine;

/* The links that run behind the product. */
typedef struct dnn_epilogue {
    dnnl_primitive_attr_t attr;
    const link *add; /* the residual sum, or NULL */
    bool onto;       /* the result overwrites it; else a binary post-op */
    int arg;
} dnn_epilogue;

/* The slots a primitive works on; CLV_NONE: there is none. */
typedef struct dnn_operands {
    uint32_t src, weight, bias, residual;
} dnn_operands;

/* The value behind the first n links. */
uint32_t dnn_result(const lowering *l, const chain *c, uint32_t n);
bool dnn_is_affine(const link *k);
/* The first n links' constants per channel, with the anchor's own bias. */
CLV_MUST clv_status dnn_affine_of(lowering *l, const chain *c, uint32_t n,
                                  int64_t channels, uint32_t bias,
                                  dnn_affine *a);
bool dnn_has_bias(const dnn_affine *a);
CLV_MUST clv_status dnn_bias(lowering *l, const dnn_affine *a, uint32_t *slot);
/* The residual sum among the first n links, or NULL. */
const link *dnn_find_add(const chain *c, uint32_t n);
/* The residual, in slot s, may be overwritten: nobody reads it again, nor does
 * the anchor while it runs. */
bool dnn_may_overwrite(const lowering *l, uint32_t anchor, const link *add,
                       uint32_t s);
/* `operand` is the layout of what is added, as the primitive sees it; `onto`
 * says that it may be overwritten. */
CLV_MUST clv_status dnn_epilogue_of(lowering *l, const chain *c, uint32_t n,
                                    const dnnl_memory_desc_t *operand,
                                    bool onto, dnn_epilogue *e);
/* Weights and bias as pd wants them; md describes the weights as they are,
 * with `lead` axes for the output channels. */
CLV_MUST clv_status dnn_fetch(lowering *l, uint32_t w, const dnn_affine *a,
                              const dnnl_memory_desc_t *md, int lead,
                              const_dnnl_primitive_desc_t pd, dnn_operands *o);
/* Where a result goes: over slot `onto` in the same layout, or (CLV_NONE)
 * afresh. */
CLV_MUST clv_status dnn_target(lowering *l, const dnnl_memory_desc_t *md,
                               uint32_t onto, uint32_t v, uint32_t *slot);
/* Runs pd, which it takes; the result becomes value v. */
CLV_MUST clv_status dnn_finish(lowering *l, dnnl_primitive_desc_t pd,
                               const dnn_operands *o, const dnn_epilogue *e,
                               uint32_t v);

/* -- chains (chain.c) and their anchors (conv.c, products.c) --------------*/

/* Finds the chains of all anchors. */
CLV_MUST clv_status dnn_find_chains(lowering *l);
/* An anchor with as much of its chain as oneDNN takes, and the rest. */
CLV_MUST clv_status dnn_emit(lowering *l, const chain *c);
/* The anchor with the first n links of its chain. */
CLV_MUST clv_status dnn_anchor(lowering *l, const chain *c, uint32_t n);
CLV_MUST clv_status dnn_conv(lowering *l, const chain *c, uint32_t n);
/* How many links of its chain a convolution takes at most. */
uint32_t dnn_conv_links(lowering *l, const chain *c);
bool dnn_is_conv(clv_op kind);
/* Compiled for its shape, not one of the general ways. */
bool dnn_is_jit(const_dnnl_primitive_desc_t pd);
dnn_rule dnn_lower_anchor;
/* A batch norm, and a relu behind it if v is not the norm's own output. */
CLV_MUST clv_status dnn_norm(lowering *l, uint32_t node, bool relu, uint32_t v);

/* -- this machine (measure.c) ---------------------------------------------*/

CLV_MUST clv_status dnn_product(clv_backend *b, clv_dtype t, int64_t n,
                                uint32_t threads, double *seconds, clv_err *e);

#endif

/* writer.h - how an operator of ours is written in ONNX.
 *
 * Where ONNX has the same operator, a node is one node (emit_direct). Where it
 * has not, a node calls a function of the file: `linear_2` in the domain
 * "cleave", whose body says in plain ONNX what it does. Any reader runs the
 * body; ours knows the name and gets back the very operator, so that a model
 * survives a round trip node for node. */
#ifndef CLV_ONNX_WRITER_H
#define CLV_ONNX_WRITER_H

#include "cleave/export.h"
#include "formats/onnx/fields.h"
#include "formats/onnx/proto.h"
#include "formats/onnx/types.h"
#include "ops/ops.h"

/* Nodes being written: of the graph, or of a function's body. */
typedef struct body {
    const clv_graph *g;
    const clv_node *n;
    int64_t opset;
    clv_buf nodes; /* NodeProto fields */
    int field;     /* number of the field that holds a node */
    int made;      /* names made up so far */
    bool unable;   /* ONNX cannot say it */
} body;

/* A NodeProto under construction. */
typedef struct onnx_out {
    clv_buf b;
} onnx_out;

void out_start(onnx_out *o, const char *op, const char *domain,
               const char *name);
void out_input(onnx_out *o, const char *name);
void out_output(onnx_out *o, const char *name);
void out_int(onnx_out *o, const char *name, int64_t v);
void out_float(onnx_out *o, const char *name, double v);
void out_string(onnx_out *o, const char *name, const char *s);
void out_ints(onnx_out *o, const char *name, const int64_t *v, uint32_t n);
void out_floats(onnx_out *o, const char *name, const double *v, uint32_t n);
void out_strings(onnx_out *o, const char *name, const char *const *v,
                 uint32_t n);
/* An attribute as it is, but for tensors and graphs. */
void out_attr(onnx_out *o, const clv_attr *a);
void out_finish(body *b, onnx_out *o);

/* Attributes of an operator that ONNX has under `name`: writes them. */
typedef void direct_fn(body *b, onnx_out *o);
/* A body: reads i0, i1, ... and writes o0, o1, ... */
typedef void body_fn(body *b);

/* Whether a row is for node n. */
typedef bool when_fn(const clv_graph *g, const clv_node *n);

typedef struct onnx_form {
    const char *name; /* NULL: by body */
    direct_fn *attrs; /* NULL: none */
    body_fn *body;
} onnx_form;

/* The i-th input and the result of the node being written. */
static inline const clv_value *form_in(const body *b, uint32_t i)
{
    return node_in(b->g, b->n, i);
}

static inline const clv_value *form_out(const body *b)
{
    return node_out(b->g, b->n, 0);
}

/* Attributes of operators that ONNX has (form_attrs.c). */
direct_fn conv_attrs, pool_attrs, avg_pool_attrs, epsilon_attr,
    layer_norm_attrs, hardsigmoid_attrs, alpha_attr, axis_attr, flatten_attrs,
    perm_attr, no_attrs, axis0_attr, batch_dims_attr, arg_attrs, topk_attrs,
    gemm_attrs, reduction_attr, cast_attrs, pad_attrs, block_attrs,
    equation_attr, rnn_attrs, cumsum_attrs, dft_attrs, div_attrs, dropout_attrs,
    scatter_attrs, lrn_attrs, mod_attrs, nonzero_attrs, one_hot_attrs,
    other_attrs, approximate_attr, stft_attrs, trilu_attrs, batch_norm_attrs,
    lp_pool_attrs, quant_attrs, deform_attrs, grid_attrs, group_norm_attrs,
    roi_align_attrs;
/* Bodies for opsets that lack a newer operator (form_new.c). */
body_fn body_layer_norm, body_rms_norm, body_group_norm, body_attention,
    body_sdpa, body_mha, body_topk, body_floor_divide, body_rotary,
    body_hardswish, body_mish, body_unary, body_unfold, body_range, body_flip,
    body_isfinite;

/* A node that was read from ONNX and is the same at this opset: its name, and
 * how its attributes are written back (write_same.c). */
onnx_form onnx_same_of(const clv_graph *g, const clv_node *n, int64_t opset);

/* Whether operands of n have another type than ONNX computes it in. */
bool onnx_form_casts(const clv_graph *g, const clv_node *n);
/* The body of a function that is n's operator of ONNX with operands cast. */
void body_cast(body *b, const onnx_form *f);

/* How node n is written at this opset; both NULL if it cannot be. */
onnx_form onnx_form_of(const clv_graph *g, const clv_node *n, int64_t opset);

#endif

/* operators.h - the operators that cleave knows, and what is known of each.
 *
 * Threads: a registry is read-only once made; any number of threads may read
 * it. */
#ifndef CLEAVE_OPERATORS_H
#define CLEAVE_OPERATORS_H

#include "cleave/profile.h"

typedef struct clv_operator_input {
    const char *name;
    bool required;
    bool many; /* any number of them */
} clv_operator_input;

typedef struct clv_operator_attr {
    const char *name;
    const char *type;    /* "integer", "ints", "text", ... */
    const char *value;   /* when it is left out; "" for none */
    const char *absent;  /* what leaving it out means where it has no value */
    const char *choices; /* of a text: "a|b|c"; "": any */
    bool required;
    bool bounded; /* a number must lie in [least, most] */
    int64_t least, most;
} clv_operator_attr;

typedef struct clv_operator_info {
    size_t size; /* sizeof(clv_operator_info) */
    const char *name, *category;
    const char *kind;  /* "view", "move", "compute" or "draw" */
    const char *flops; /* per node, as a formula */
    const clv_operator_input *inputs;
    const clv_operator_attr *attrs;
    const char *const *onnx;   /* names of ONNX that lead here */
    const char *const *torch;  /* names of torch that lead here */
    const char *const *tflite; /* builtin operators of TFLite that lead here */
    uint32_t n_inputs, n_attrs, n_onnx, n_torch, n_tflite;
    bool kernel;         /* plain C runs it */
    bool onednn;         /* the oneDNN backend takes it, in some form */
    const char *written; /* to ONNX: "operator", "function", "as read" or "" */
    const char *counted[CLV_CONVENTION_COUNT]; /* as the tool names it, or "" */
    const char *fused; /* its part of a fused subgraph's name */
    bool cpu;          /* it has a fast kernel in C, for some types */
    const char *const *stablehlo; /* names of StableHLO that lead here */
    uint32_t n_stablehlo;
} clv_operator_info;

typedef struct clv_registry clv_registry;

/* Returns what is known of every operator (caller frees with
 * clv_registry_free). Fails with CLV_NOMEM alone. */
CLV_API CLV_MUST clv_status clv_registry_new(clv_registry **out, clv_err *err);
CLV_API void clv_registry_free(clv_registry *r);
/* The i-th operator, NULL past the last. */
CLV_API const clv_operator_info *clv_registry_at(const clv_registry *r,
                                                 uint32_t i);

#endif

/* backend.h - asks a device, operator by operator, what it can run.
 *
 * A backend answers yes, or no with a reason, once per operator configuration
 * (operator, types, shapes, attributes). A clv_support holds the answers for a
 * whole graph. The user may override them.
 *
 * Threads: only one thread at a time may use a backend. Several threads may
 * read a support, but not while one of them forces sides. */
#ifndef CLEAVE_BACKEND_H
#define CLEAVE_BACKEND_H

#include "cleave/graph.h"

typedef struct clv_backend clv_backend;

/* All else zero means: the defaults. */
typedef struct clv_backend_opts {
    size_t size;    /* sizeof(clv_backend_opts) */
    double timeout; /* seconds an external command may be silent; 0: 10 */
} clv_backend_opts;

/* Opens the backend that `spec` names:
 *     null                  supports everything
 *     ref                   what the plain C kernels run
 *     onednn                what oneDNN runs, where it is installed
 *     ort                   ONNX Runtime, where it is installed
 *     ort:provider=NAME,..  with one of its execution providers
 *     all-but:sort,topk     everything but these operators
 *     NAME, NAME:ARGUMENT   the plugin libcleave-NAME.so (docs/backends.md)
 *     edgetpu, ethos-u55..  a built-in rules profile (clv_backend_at)
 *     rules.json            a rules file (docs/capability.md)
 *     cmd:compiler --query  an external command, without a shell
 * Returns a backend (caller frees with clv_backend_free). Fails with
 * CLV_NOT_FOUND for an unknown name. Fails with CLV_FORMAT for malformed rules
 * (the message names line and key) and for a plugin of another version. */
CLV_API CLV_MUST clv_status clv_backend_open(const char *spec,
                                             const clv_backend_opts *opts,
                                             clv_backend **out, clv_err *err);
CLV_API void clv_backend_free(clv_backend *b);
/* What reports call the device: "edgetpu". */
CLV_API const char *clv_backend_name(const clv_backend *b);
/* One line on what it is. */
CLV_API const char *clv_backend_about(const clv_backend *b);

/* Returns the name of the i-th backend or rules profile, NULL past the last. */
CLV_API const char *clv_backend_at(uint32_t i);

/* Returns true if this program can load backends that are shared objects, such
 * as onednn. A program that is linked statically cannot. */
CLV_API bool clv_backend_loads(void);

/* Where a node may run. */
typedef enum clv_side {
    CLV_SIDE_CPU = 1,
    CLV_SIDE_ACCELERATOR = 2,
    CLV_SIDE_EITHER = 3 /* views, shape arithmetic, constants: no work */
} clv_side;

typedef struct clv_node_support {
    clv_side side;      /* after what the user forced */
    bool arithmetic;    /* it does work: no view, no shape arithmetic */
    bool supported;     /* the backend's own answer */
    bool forced;        /* the user chose the side, not the backend */
    uint32_t config;    /* index of its configuration */
    const char *reason; /* why it is not for the accelerator, "" if it is */
} clv_node_support;

typedef struct clv_support_info {
    size_t size;        /* sizeof(clv_support_info) */
    const char *device; /* name of the backend */
    const clv_node_support *nodes;
    uint32_t n_nodes, n_configs;
    uint32_t supported, total; /* arithmetic nodes, by the backend's answer */
    double percentage;         /* 100 when there are none */
} clv_support_info;

typedef struct clv_support clv_support;

/* Asks b about every configuration in g, which must be inferred. Borrows b for
 * the call, and g for as long as the support lives. If an external command
 * hangs, dies or answers nonsense, the answer is "no" with that reason; the
 * call does not fail. Returns a support (caller frees with clv_support_free).
 */
CLV_API CLV_MUST clv_status clv_support_new(clv_backend *b, const clv_graph *g,
                                            clv_support **out, clv_err *err);
CLV_API void clv_support_free(clv_support *s);
CLV_API const clv_support_info *clv_support_get(const clv_support *s);

/* Sends every node of an operator to `side`, whatever the backend says. The
 * name may be ours ("log_softmax"), ONNX's ("LogSoftmax") or ATen's
 * ("aten::log_softmax"). Fails with CLV_USAGE for a name nobody knows. */
CLV_API CLV_MUST clv_status clv_support_force_op(clv_support *s,
                                                 const char *name,
                                                 clv_side side, clv_err *err);
/* The same for nodes whose name or module path matches a shell pattern; a
 * module stands for all below it. Fails with CLV_NOT_FOUND if none does. */
CLV_API CLV_MUST clv_status clv_support_force_nodes(clv_support *s,
                                                    const char *pattern,
                                                    clv_side side,
                                                    clv_err *err);
/* Reads such choices from a file; a later line overrides an earlier one:
 * {"ops": {"sort": "cpu"}, "nodes": {"head.*": "accelerator"}} */
CLV_API CLV_MUST clv_status clv_support_overrides(clv_support *s,
                                                  const char *path,
                                                  clv_err *err);

#endif

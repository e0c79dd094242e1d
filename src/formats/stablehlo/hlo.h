/* hlo.h - StableHLO: what the files that give the tree a meaning share.
 *
 *   read.c      the way in: arguments, which of them are weights, results
 *   scope.c     names, values that a body takes from outside, places
 *   emit.c      words to add nodes with
 *   constant.c  dense constants
 *   walk.c      operations one after the other; calls and regions in place
 *   rows.c      stablehlo.def: what each operation is here
 *   eltwise.c, shape.c, product.c, index.c, reduce.c, control.c   and how
 *
 * Every node is inferred when it is added, so sizes are known while the next
 * one is mapped, whatever the text leaves open; what the text does say is
 * compared with them. An operation is translated whole or stays `unknown`. */
#ifndef CLV_HLO_H
#define CLV_HLO_H

#include "formats/stablehlo/mlir.h"
#include "ops/build.h"

enum {
    HLO_MAX_DEPTH = 64,       /* calls and regions in each other */
    HLO_MAX_OPS = 1000 * 1000 /* with functions in place of their calls */
};

typedef struct hlo_reader {
    clv_graph *g;
    const clv_open_opts *opts;
    const char *text;
    size_t size;
    arena mem;
    mlir_module module;
    strmap funcs; /* by name: places in func_list */
    const mlir_func **func_list;
    uint32_t done; /* operations mapped so far */
} hlo_reader;

/* Where names have values: a function or a region, in the graph of a body or in
 * that of whoever is around it. */
typedef struct hlo_scope {
    hlo_reader *r;
    clv_graph *g;
    struct hlo_scope *parent; /* names that are not here are there, or NULL */
    strmap names;             /* places in `entries` */
    struct hlo_entry {
        uint32_t first, n;
    } * entries;
    uint32_t *values;
    uint32_t n_entries, n_values;
    size_t cap_entries, cap_values;
    uint32_t *captured, *captured_as; /* of the parent's graph; of this one */
    uint32_t n_captured;
    size_t cap_captured, cap_captured_as;
    const char *path; /* of the module that is called */
    int depth;
    bool lifted; /* scalars of the text are tensors here */
    /* the operation that is mapped */
    const mlir_op *op;
    const char *name, *origin, *source;
    uint32_t at; /* scope of the graph */
} hlo_scope;

/* -- scope.c --------------------------------------------------------------*/

void hlo_scope_open(hlo_scope *s, hlo_reader *r, clv_graph *g,
                    hlo_scope *parent, const hlo_scope *caller);
void hlo_scope_close(hlo_scope *s);
CLV_MUST clv_status hlo_bind(hlo_scope *s, mlir_text name,
                             const uint32_t *values, uint32_t n, clv_err *e);
/* The value of a use; CLV_NONE for a token. Fails when it has none. */
CLV_MUST clv_status hlo_find(hlo_scope *s, const mlir_use *use, uint32_t *v,
                             clv_err *e);
/* All values of a name: those of a tuple. */
CLV_MUST clv_status hlo_find_all(hlo_scope *s, const mlir_use *use,
                                 const uint32_t **values, uint32_t *n,
                                 clv_err *e);
/* Value i of the operation's operands. */
CLV_MUST clv_status hlo_in(hlo_scope *s, uint32_t i, uint32_t *v, clv_err *e);
/* Sets name, origin, source and place of the nodes to come. */
CLV_MUST clv_status hlo_place(hlo_scope *s, const mlir_op *op, clv_err *e);
/* The name that a location gives; "" for none. */
mlir_text hlo_loc_name(const mlir_module *m, const mlir_loc *loc);
/* Fails at the operation that is mapped. */
CLV_MUST clv_status hlo_fail(const hlo_scope *s, clv_err *e, const char *fmt,
                             ...) CLV_PRINTF(3, 4);

/* -- emit.c ---------------------------------------------------------------*/

static inline clv_value *hlo_value(const hlo_scope *s, uint32_t v)
{
    return &s->g->values[v];
}

clv_attr hlo_int(clv_attr_key key, int64_t i);
clv_attr hlo_str(clv_attr_key key, const char *text);
clv_attr hlo_dtype(clv_attr_key key, clv_dtype t);
clv_attr hlo_body(clv_attr_key key, clv_graph *body);
/* A list; copied when the node is added. */
clv_attr hlo_ints(clv_attr_key key, const int64_t *list, uint32_t n);

/* A node, inferred; outs receives its n_out results. `part` says what it is of
 * the operation, "" for the operation itself. */
CLV_MUST clv_status hlo_emit(hlo_scope *s, const char *part, clv_op op,
                             const uint32_t *ins, uint32_t n_in,
                             const clv_attr *attrs, uint32_t n_attrs,
                             uint32_t *outs, uint32_t n_out, clv_err *e);
/* With one input or two, and one result. */
CLV_MUST clv_status hlo_unary(hlo_scope *s, const char *part, clv_op op,
                              uint32_t x, uint32_t *y, clv_err *e);
CLV_MUST clv_status hlo_binary(hlo_scope *s, const char *part, clv_op op,
                               uint32_t a, uint32_t b, uint32_t *y, clv_err *e);
/* Nothing is added where nothing would change. */
CLV_MUST clv_status hlo_permute(hlo_scope *s, uint32_t x, const int64_t *perm,
                                uint32_t *y, clv_err *e);
CLV_MUST clv_status hlo_reshape(hlo_scope *s, uint32_t x, const int64_t *dims,
                                uint32_t rank, uint32_t *y, clv_err *e);
CLV_MUST clv_status hlo_expand(hlo_scope *s, uint32_t x, const int64_t *dims,
                               uint32_t rank, uint32_t *y, clv_err *e);
CLV_MUST clv_status hlo_cast(hlo_scope *s, uint32_t x, clv_dtype t, uint32_t *y,
                             clv_err *e);
CLV_MUST clv_status hlo_slice(hlo_scope *s, uint32_t x, uint32_t axis,
                              int64_t start, int64_t end, uint32_t *y,
                              clv_err *e);
/* Puts `inside` elements between neighbours along an axis: zeros, or `value`
 * if that is not CLV_NONE. */
CLV_MUST clv_status hlo_spread(hlo_scope *s, uint32_t *x, uint32_t value,
                               uint32_t axis, int64_t inside, clv_err *e);
/* 0, 1, ... n - 1 */
CLV_MUST clv_status hlo_range(hlo_scope *s, int64_t n, clv_dtype t, uint32_t *y,
                              clv_err *e);
/* Constants. */
CLV_MUST clv_status hlo_const_ints(hlo_scope *s, clv_dtype t,
                                   const int64_t *list, const int64_t *dims,
                                   uint32_t rank, uint32_t *v, clv_err *e);
CLV_MUST clv_status hlo_const_int(hlo_scope *s, clv_dtype t, int64_t i,
                                  uint32_t *v, clv_err *e);
CLV_MUST clv_status hlo_const_float(hlo_scope *s, clv_dtype t, double f,
                                    uint32_t *v, clv_err *e);
/* The contents of a value, where they are known: integers, or one number. */
const int64_t *hlo_known(const hlo_scope *s, uint32_t v, uint32_t *n);
bool hlo_known_number(const hlo_scope *s, uint32_t v, double *x);

/* -- constant.c -----------------------------------------------------------*/

/* The value of a dense attribute of this type. */
CLV_MUST clv_status hlo_constant(hlo_scope *s, const mlir_attr *a,
                                 const mlir_type *type, mlir_text name,
                                 uint32_t *v, clv_err *e);
/* Attributes that are lists of integers: [1, 2], array<i64: 1, 2>, dense<..>,
 * nested ones flattened. *n is at most max, or it fails. None: *n = 0. */
CLV_MUST clv_status hlo_list(hlo_scope *s, const mlir_attr *a, int64_t *out,
                             uint32_t max, uint32_t *n, clv_err *e);

/* -- walk.c ---------------------------------------------------------------*/

/* Maps the operations of a region up to its return, whose operands are *outs
 * (in r->mem). */
CLV_MUST clv_status hlo_walk(hlo_scope *s, const mlir_region *region,
                             uint32_t **outs, uint32_t *n_outs, clv_err *e);
/* The same in a scope of its own, with arguments bound to values. */
CLV_MUST clv_status hlo_inline(hlo_scope *s, const mlir_region *region,
                               const uint32_t *args, uint32_t n_args,
                               uint32_t **outs, uint32_t *n_outs, clv_err *e);
/* Calls the function: the scope sees nothing of the caller's names. */
CLV_MUST clv_status hlo_call(hlo_scope *s, mlir_text callee,
                             const uint32_t *args, uint32_t n_args,
                             uint32_t **outs, uint32_t *n_outs, clv_err *e);
/* A node that is not known here, with the types that the text gives. */
CLV_MUST clv_status hlo_unknown(hlo_scope *s, const mlir_op *op, uint32_t *outs,
                                clv_err *e);
/* The i-th type of the results. */
const mlir_type *hlo_type(const mlir_op *op, uint32_t i);

/* -- rows.c ---------------------------------------------------------------*/

struct hlo_row;
/* Maps an operation: outs has a place for each result. A mapper leaves the
 * first CLV_NONE when it cannot say what the operation means, and has added
 * nothing then. */
typedef clv_status hlo_map_fn(hlo_scope *s, const struct hlo_row *row,
                              const mlir_op *op, uint32_t *outs, clv_err *e);
typedef struct hlo_row {
    const char *name, *origin;
    clv_op op;
    hlo_map_fn *map;
} hlo_row;

/* NULL when there is none. */
const hlo_row *hlo_row_of(mlir_text name);
#define HLO(name, op, map)  hlo_map_fn map;
#define CHLO(name, op, map) hlo_map_fn map;
#include "formats/stablehlo/stablehlo.def"
#undef HLO
#undef CHLO

/* What a region of two arguments per result computes: one operation on both,
 * CLV_OP_UNKNOWN if it is something else. */
clv_op hlo_region_op(const hlo_scope *s, const mlir_region *region,
                     clv_dtype t);
/* The operator of an operation on two elements of this type. */
clv_op hlo_binary_op(mlir_text name, clv_dtype t);

#endif

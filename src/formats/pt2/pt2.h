/* pt2.h - torch.export archives: what the files of this folder share.
 *
 *   read.c     the archive, the signature, weights; the way in
 *   symbol.c   symbols of sizes, their values and expressions over them
 *   meta.c     types of tensors, arguments, module paths
 *   graph.c    nodes of a graph; subgraphs that are inlined
 *   body.c     subgraphs that become bodies: cond, while_loop, scan
 *
 * An archive holds the exported program as JSON and the weights as they are in
 * memory. Every tensor of the program has a type and a shape, whose sizes may
 * be expressions over symbols; so nothing need be inferred. Calls go to
 * formats/aten, as those of the live bridge do. */
#ifndef CLV_PT2_H
#define CLV_PT2_H

#include "core/json.h"
#include "formats/aten/aten.h"
#include "formats/torch/archive.h"
#include "formats/torch/weights.h"
#include "ops/build.h"

enum { PT2_MAX_DEPTH = 16 }; /* graphs in graphs */

/* -- symbol.c -------------------------------------------------------------*/

typedef struct pt2_symbol {
    const char *name; /* "s0"; "u0" where only data tells the size */
    int64_t value, min, max;
    bool known; /* it has a value */
    bool given; /* by the user */
} pt2_symbol;

/* What a program computes beside tensors: sizes, truths, numbers. */
typedef enum pt2_kind { PT2_INT, PT2_BOOL, PT2_FLOAT, PT2_KINDS } pt2_kind;

typedef struct pt2_symbols {
    pt2_symbol *list;
    uint32_t n;
    size_t cap;
    strmap names;
    bool moved; /* some symbol has another value than at export */
} pt2_symbols;

/* The symbol called name, made if it is new; CLV_NONE when memory ran out. The
 * name is borrowed. */
uint32_t pt2_symbol_at(pt2_symbols *s, const char *name, size_t len);
/* The name in an expression that is one symbol and nothing else; false for any
 * other. */
bool pt2_symbol_alone(const char *expr, const char **name, size_t *len);
/* The value of an expression. False when a symbol in it has none, or when it
 * has a form that is not read. What holds is 1, else 0. */
bool pt2_symbol_number(const pt2_symbols *s, const char *expr, double *out);
/* The same of a size: false also when the value is not whole. */
bool pt2_symbol_eval(const pt2_symbols *s, const char *expr, int64_t *out);
/* Finds the value for the one unknown symbol of expr that makes it `want`, and
 * sets it. False when there is none. */
bool pt2_symbol_solve(pt2_symbols *s, const char *expr, int64_t want);
void pt2_symbols_free(pt2_symbols *s);

/* -- meta.c ---------------------------------------------------------------*/

struct pt2_weight; /* of read.c */

typedef struct pt2_reader {
    clv_graph *g;
    const clv_open_opts *opts;
    torch_archive zip;
    arena mem; /* the document and what is made of it */
    const json *program;
    torch_weights weights;
    strmap params; /* by argument: its place in `specs` */
    struct pt2_weight *specs;
    uint32_t n_specs;
    pt2_symbols symbols;
    bool unbacked; /* a size that only data tells was taken as 1 */
} pt2_reader;

/* A graph of the program while it is read. */
typedef struct pt2_scope {
    pt2_reader *r;
    aten_builder *b; /* nodes go here */
    const json *graph;
    strmap metas; /* by name: places in meta_list */
    const json **meta_list;
    strmap syms[PT2_KINDS]; /* the same of sizes, truths and numbers */
    const json **sym_list[PT2_KINDS];
    strmap values; /* by name: value of the graph */
    bool top;      /* weights may be named */
    int depth;
} pt2_scope;

CLV_MUST clv_status pt2_scope_open(pt2_scope *s, pt2_reader *r, aten_builder *b,
                                   const json *graph, int depth, clv_err *e);
void pt2_scope_close(pt2_scope *s);

/* Makes the members of an object findable: names leads to places in *list,
 * which is in mem. object may be NULL. False when memory ran out. */
bool pt2_index(arena *mem, const json *object, strmap *names,
               const json ***list);
/* The first member of a union that is set. */
const json *pt2_union(const json *u);
/* A size: a number, or an expression by the symbols' values; false when it has
 * no value. */
bool pt2_size(pt2_reader *r, const json *size, int64_t *out);
/* Type and shape that TensorMeta tells. */
CLV_MUST clv_status pt2_type(pt2_reader *r, const json *meta, const char *name,
                             torch_tensor *out, clv_err *e);
/* The same for the tensor called name, as a result of a call. */
CLV_MUST clv_status pt2_result(pt2_scope *s, const char *name, aten_type *out,
                               clv_err *e);
/* An argument of a call; what it is made of goes to r->mem. */
CLV_MUST clv_status pt2_arg(pt2_scope *s, const json *arg, aten_arg *out,
                            clv_err *e);
/* The value that a name of the scope stands for; CLV_NONE when there is none.
 * Adds weights when they are first asked for. */
CLV_MUST clv_status pt2_value(pt2_scope *s, const char *name, uint32_t *v,
                              clv_err *e);
/* Where a node stands: module path, class and source line. */
CLV_MUST clv_status pt2_place(pt2_reader *r, const json *node, aten_call *call,
                              clv_err *e);

/* -- graph.c --------------------------------------------------------------*/

/* Reads the nodes of the scope's graph. */
CLV_MUST clv_status pt2_nodes(pt2_scope *s, clv_err *e);
/* The tensors among the outputs of a graph or of a node, as names. */
CLV_MUST clv_status pt2_outputs(pt2_reader *r, const json *outputs,
                                const char ***names, uint32_t *n, clv_err *e);
/* Reads a graph into the builder of s, its inputs bound to `args`, and binds
 * the names `outs` of s to what it returns. */
CLV_MUST clv_status pt2_inline(pt2_scope *s, const json *graph,
                               const aten_arg *args, uint32_t n_args,
                               const char **outs, uint32_t n_outs, clv_err *e);

/* -- body.c ---------------------------------------------------------------*/

/* A node whose target is a higher-order operator. False in *known when there
 * is no body or inlining for it: it is left to be an unknown call. */
CLV_MUST clv_status pt2_higher_order(pt2_scope *s, const json *node,
                                     const char *target, bool *known,
                                     clv_err *e);

/* -- read.c ---------------------------------------------------------------*/

/* The weight that argument `name` of the program is; CLV_NONE when it is
 * none. */
CLV_MUST clv_status pt2_weight_of(pt2_reader *r, const char *name, uint32_t *v,
                                  clv_err *e);

#endif

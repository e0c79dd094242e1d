/* build.h - what all builders of graphs do alike: the zoo, readers of files,
 * the live bridge, copies of parts, and programs.
 *
 *   begin     a graph that knows the operators which the options describe
 *   options   the types and the input shapes that they ask for
 *   finish    one way from added nodes to an inferred, read-only graph */
#ifndef CLV_BUILD_H
#define CLV_BUILD_H

#include "ops/ops.h"

/* A graph for a model of this format. It borrows `format` and what the options
 * (which may be NULL) describe by functions. */
CLV_MUST clv_status clv__build_new(const char *name, const char *format,
                                   const clv_open_opts *opts, clv_graph **out,
                                   clv_err *e);
/* A graph for the body of one of g's nodes, which g frees. */
CLV_MUST clv_status clv__build_body(clv_graph *g, const char *name,
                                    clv_graph **body, clv_err *e);
/* A graph for a part of g, from which it borrows. */
CLV_MUST clv_status clv__build_part(const clv_graph *g, clv_graph **part,
                                    clv_err *e);

/* Options that contradict themselves fail with CLV_USAGE. */
CLV_MUST clv_status clv__build_check(const clv_open_opts *opts, clv_err *e);
/* The type that a value of type t is counted with: the options' type replaces
 * the common floating types. */
clv_dtype clv__build_dtype(const clv_open_opts *opts, clv_dtype t);

/* An input as its model declares it. */
typedef struct clv_build_input {
    const char *name;
    size_t name_len;
    bool first;    /* a shape without a name is its */
    uint32_t rank; /* CLV_NO_RANK: any */
    int64_t dims[CLV_MAX_RANK];
} clv_build_input;

/* Gives the input the shape that the options have for it, then their batch on
 * its first axis. Fails with CLV_SHAPE when the ranks differ. */
CLV_MUST clv_status clv__build_shape(const clv_open_opts *opts,
                                     clv_build_input *in, clv_err *e);

/* How much of a graph is there when its builder is done. */
typedef enum clv_built {
    CLV_BUILT_BARE,     /* no rule has run */
    CLV_BUILT_INFERRED, /* the rule of each node ran when it was added */
    CLV_BUILT_COPIED,   /* all is as it was in another, inferred graph */
} clv_built;

/* Puts the nodes in order, verifies the graph, indexes it, infers what is not
 * inferred, finds the groups that run on integers and the node that counts each
 * weight. The graph is read-only from then on. */
CLV_MUST clv_status clv__build_finish(clv_graph *g, clv_built how, clv_err *e);

/* The same for a builder that settles each node, in order, in its own way. */
typedef clv_status clv_settle_fn(clv_graph *g, uint32_t id, void *ctx,
                                 clv_err *e);
CLV_MUST clv_status clv__build_finish_by(clv_graph *g, clv_settle_fn *settle,
                                         void *ctx, clv_err *e);

#endif

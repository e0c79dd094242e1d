/* backend.h - a backend as the library sees it: one small vtable.
 *
 * A backend type is a row of clv__backends. It implements `supports`, asked
 * once per operator configuration, or `ask`, which gets all of them at once.
 * One that can also run what it supports implements `compile`, `run` and
 * `release`; docs/backends.md shows a whole one in one file. */
#ifndef CLV_BACKEND_H
#define CLV_BACKEND_H

#include "cleave/backend.h"
#include "cleave/tensor.h"
#include "core/jsonw.h"
#include "ops/ops.h"

typedef enum clv_answer {
    CLV_NO,
    CLV_YES,
    CLV_UNNAMED,  /* a no by default: nothing was said of this operator */
    CLV_NO_ANSWER /* of `supports`: memory ran out */
} clv_answer;

/* Where a backend writes why it says no. */
typedef struct clv_why {
    char text[240];
} clv_why;

/* What a backend compiles: nodes of g in execution order, all of which it
 * supports. tensor[v] has type and shape of value v, and the data of weights;
 * all are dense and row-major. `outputs` are the values read elsewhere. */
/* Is shown a weight before a backend packs it; false: it cannot be compiled. */
typedef bool clv_look_fn(void *ctx, const clv_tensor *weight);

typedef struct clv_subject {
    const clv_graph *g;
    const uint32_t *nodes, *outputs;
    uint32_t n_nodes, n_outputs;
    const clv_tensor *tensor;
    uint32_t threads;                   /* 0: one per core */
    const struct external_files *files; /* that hold weights; NULL: none do */
    const void *family; /* models of one network share it, and the weights that
                         * `shared` says: their data stays where it is as long
                         * as any of them lives. NULL: nothing is shared */
    const bool *shared; /* per value below n_shared; NULL: all are */
    uint32_t n_shared;
    clv_look_fn *look; /* at each weight of a node, right before it is packed:
                        * its pages are fetched one weight at a time. NULL:
                        * nobody looks */
    void *looker;      /* its ctx */
} clv_subject;

/* A compiled subgraph; a backend's own struct begins with it. Read-only once
 * made: several threads may run it, each with a workspace of its own. */
typedef struct clv_exec {
    int64_t workspace; /* bytes it needs while it runs, 64-byte aligned */
} clv_exec;

/* Whether a backend is written NAME:ARGUMENT. */
typedef enum clv_argument {
    CLV_ARGUMENT_NONE,
    CLV_ARGUMENT_MUST,
    CLV_ARGUMENT_MAY
} clv_argument;

typedef struct clv_backend_type {
    const char *name, *about;
    clv_argument argument;
    clv_status (*open)(clv_backend *b, const char *argument, clv_err *e);
    clv_answer (*supports)(clv_backend *b, const clv_graph *g, uint32_t node,
                           clv_why *why);
    /* Instead of supports: query[i] is configuration i as a line of JSON. */
    clv_status (*ask)(clv_backend *b, const char *const *query, uint32_t n,
                      clv_answer *answer, clv_why *why, clv_err *e);
    /* Compiles a subgraph; weights may be borrowed from s->tensor. */
    clv_status (*compile)(clv_backend *b, const clv_subject *s, clv_exec **out,
                          clv_err *e);
    /* Reads and writes the data of tensor[v] for values at the border. */
    clv_status (*run)(clv_exec *x, const clv_tensor *tensor, void *workspace,
                      clv_err *e);
    /* Given by a backend that takes NaN for a number: it gets none to read,
     * and run is followed by this. True if, since it was asked last, this
     * thread or one that works for it may have made a NaN of numbers. */
    bool (*made_nan)(const clv_exec *x);
    void (*release)(clv_exec *x);
    /* Seconds of one n x n x n product in type t, the best of several; fails
     * with CLV_UNSUPPORTED where the processor has no fast way. May be NULL. */
    clv_status (*product)(clv_backend *b, clv_dtype t, int64_t n,
                          uint32_t threads, double *seconds, clv_err *e);
    void (*close)(clv_backend *b);
    /* Calls work(ctx) on threads of its own, as parallel_team of
     * core/parallel.h; the library's loops then run on them too. NULL: it has
     * none, or they sleep while it does not run. */
    void (*team)(uint32_t threads, void (*work)(void *ctx), void *ctx);
} clv_backend_type;

struct clv_backend {
    const clv_backend_type *type;
    arena mem;
    const char *name, *about;
    double timeout;
    void *state; /* of the type; in mem, or released by close */
};

extern const clv_backend_type clv__rules_type, clv__command_type, clv__ref_type,
    clv__cpu_type;

/* Whether plain C can run node id, its bodies aside; why not is written to
 * `why`. */
bool clv__ref_supports(const clv_graph *g, uint32_t id, clv_why *why);

/* Some node reads v, or it leaves the graph. */
static inline bool clv__is_read(const clv_graph *g, uint32_t v)
{
    return g->user_first[v] != g->user_first[v + 1] ||
           g->values[v].flags & CLV_V_OUTPUT;
}

/* What the backend said of a node when it was asked, and why; what the user
 * forces does not change it. The text lives as long as s. */
clv_answer clv__support_answer(const clv_support *s, uint32_t node,
                               const char **why);

/* Sends one node to the CPU, whatever was said before; `why` is copied. */
CLV_MUST clv_status clv__support_demote(clv_support *s, uint32_t node,
                                        const char *why, clv_err *e);

/* -- names ----------------------------------------------------------------*/

/* "aten::log_softmax.int", "LogSoftmax" and "log_softmax" become the same
 * text: no namespace, overload, case or underscores. */
const char *clv__plain_name(const char *name, char *buf, size_t size);
/* Whether `name`, in any of the three spellings, means the operator of n. */
bool clv__names_node(const char *name, const clv_node *n);
/* Whether it means any operator we know of. */
bool clv__names_operator(const char *name);
/* Fails with `code`, suggesting a name that is close. */
clv_status clv__unknown_operator(const char *name, clv_status code, clv_err *e);

/* -- profiles -------------------------------------------------------------*/

typedef struct clv_profile_file {
    const char *name, *text;
    size_t size;
} clv_profile_file;

extern const clv_profile_file clv__backend_profiles[]; /* ends with NULL */

/* A backend that follows the rules in `text`; errors name `where`. */
CLV_MUST clv_status clv__rules_open(clv_backend *b, const char *where,
                                    const char *text, size_t len, clv_err *e);

/* -- queries --------------------------------------------------------------*/

/* The configuration of a node as one line of JSON: the question that an
 * external command gets, and the key under which an answer is kept. */
void clv__query(const clv_graph *g, uint32_t node, clv_buf *out);

/* One attribute as a member of an object. */
void clv__json_attr(jsonw *w, const clv_attr *a);

/* Reads a whole file of at most 16 MB into a. */
CLV_MUST clv_status clv__read_text(arena *a, const char *path,
                                   const char **text, size_t *len, clv_err *e);

#endif

/* run.h - a graph that runs: compile it, give it inputs, read its outputs.
 *
 *     clv_model *m; clv_context *c;
 *     clv_model_new(g, NULL, &m, &err);      // weights, plan, kernels
 *     clv_context_new(m, &c, &err);          // memory of one run
 *     clv_context_set(c, 0, &image, &err);
 *     clv_context_run(c, &err);
 *     const clv_tensor *scores = clv_context_output(c, 0);
 *
 * Threads: a model is read-only once made. Any number of threads may run it at
 * the same time, each with a context of its own. */
#ifndef CLEAVE_RUN_H
#define CLEAVE_RUN_H

#include "cleave/capability.h"
#include "cleave/hardware.h"
#include "cleave/tensor.h"

typedef struct clv_model clv_model;
typedef struct clv_context clv_context;

/* Is called for each node that neither a backend nor a kernel can run, as the
 * error names only the first few. `op` is the operator's name at its source;
 * `reason` may be "". */
typedef void clv_refuse_fn(void *ctx, const char *op, const char *node,
                           const char *reason);

/* All else zero means: our own fast kernels, seed 0, as many threads as cores.
 * The backend "ref" runs the plain C kernels alone, the oracle. */
typedef struct clv_model_opts {
    size_t size;          /* sizeof(clv_model_opts) */
    clv_backend *backend; /* what runs the nodes it supports */
    clv_support *support; /* its answers; NULL: it is asked */
    const clv_cut *cut;   /* a cut of g: each subgraph is compiled as it is;
                           * NULL: g is cut by what the backend supports */
    const clv_capability_opts *limits; /* of that cut by support */
    uint64_t seed;                     /* of weights that no file holds */
    uint32_t threads;                  /* 0: one per core */
    int64_t memory;        /* bytes a run may take; 0: what is free */
    const clv_model *like; /* shares the weights of this one */
    clv_refuse_fn *refuse; /* called before clv_model_new fails */
    void *refuser;         /* its ctx */
    bool draw_weights;     /* draw the weights that a model's file lacks */
    bool as_is;            /* run the graph as it is, without rewriting it */
} clv_model_opts;

/* One partition of a model: a subgraph compiled by a backend, or a row of
 * nodes that our own kernels run. */
typedef struct clv_part {
    const char *device; /* "cpu": our own kernels */
    const uint32_t *nodes;
    uint32_t n_nodes;
} clv_part;

/* A rule by which the graph was rewritten, and how often. */
typedef struct clv_rewrite_count {
    const char *name, *pattern;
    uint32_t count;
} clv_rewrite_count;

/* One step of a run: a compiled part, or a node that a kernel computes. */
typedef struct clv_step {
    const char *device; /* "cpu": our own kernels */
    const char *op;     /* operator of the node, after rewriting; "" for a part
                         * of several */
    uint32_t node;      /* of the user's graph: the first that it stands for */
    uint32_t operators; /* of the user's graph, whose work it does */
    const char *why;    /* why it is not for the backend; "" */
    bool dynamic;       /* its shapes are found while running */
} clv_step;

typedef struct clv_model_info {
    size_t size;           /* sizeof(clv_model_info) */
    const clv_part *parts; /* in the order they run */
    uint32_t n_parts;
    int64_t weight_bytes;     /* that the model holds; mapped files are not */
    int64_t arena_bytes;      /* one context: all activations */
    const char *const *notes; /* what was demoted, and why */
    uint32_t n_notes;
    const clv_step *steps; /* in the order they run */
    uint32_t n_steps;
    const clv_rewrite_count *rewrites; /* rules that changed something */
    uint32_t n_rewrites;
    uint32_t nodes_before, nodes_after; /* of the graph, by rewriting */
} clv_model_info;

/* Compiles g, which must be inferred and outlive the model, as do the backend,
 * `cut` and `like`. A subgraph of `cut` runs on the backend if its device is
 * not "cpu" and the backend supports all of it, else on the CPU. Fails with
 * CLV_USAGE when `cut` is of another graph; with CLV_UNSUPPORTED when nodes
 * have neither kernel nor backend, or the plan needs more memory than there is;
 * with CLV_IO or CLV_FORMAT when weights are absent or too short: only a graph
 * that came from no file has its weights drawn, and others by draw_weights.
 * What runs is a faster graph made of g (docs/run.md), unless the backend is
 * "ref", `cut` is given, `support` has a side that was forced, or as_is is set.
 * Returns a model (caller frees with clv_model_free). */
CLV_API CLV_MUST clv_status clv_model_new(const clv_graph *g,
                                          const clv_model_opts *opts,
                                          clv_model **out, clv_err *err);
CLV_API void clv_model_free(clv_model *m);
/* Names the backend that runs g, which must be inferred, fastest on this
 * machine: "onednn" for a large model where that is installed, else "cpu". */
CLV_API const char *clv_model_usual(const clv_graph *g);
CLV_API const clv_model_info *clv_model_get(const clv_model *m);
/* The cut whose subgraphs are the parts, in their order; NULL when the model is
 * one part, or its graph was rewritten. Good as long as the model. */
CLV_API const clv_cut *clv_model_cut(const clv_model *m);

/* Memory for one run at a time. Borrows m; returns (caller frees with
 * clv_context_free). */
CLV_API CLV_MUST clv_status clv_context_new(const clv_model *m,
                                            clv_context **out, clv_err *err);
CLV_API void clv_context_free(clv_context *c);
/* Gives the i-th input. Borrows the data, which must stay as it is until the
 * last run that reads it. Fails with CLV_SHAPE when type or shape differ. */
CLV_API CLV_MUST clv_status clv_context_set(clv_context *c, uint32_t i,
                                            const clv_tensor *t, clv_err *err);
/* Runs. Fails when an input was not given. */
CLV_API CLV_MUST clv_status clv_context_run(clv_context *c, clv_err *err);
/* Calls fn(ctx, done, total) after each step of a run; fn may be NULL. */
typedef void clv_watch_fn(void *ctx, uint32_t done, uint32_t total);
CLV_API void clv_context_watch(clv_context *c, clv_watch_fn *fn, void *ctx);
/* Lets runs write the i-th output to `data`, which has room for it as it is
 * planned and is borrowed until the next call; NULL: into the context again.
 * False when it is no result of a kernel of its own (an input or weight handed
 * on, another output's memory, a shape found while running). */
CLV_API bool clv_context_place(clv_context *c, uint32_t i, void *data);
/* The i-th output of the last run, good until the next. */
CLV_API const clv_tensor *clv_context_output(const clv_context *c, uint32_t i);
/* Seconds each part took in the last run. */
CLV_API const double *clv_context_times(const clv_context *c);
/* Seconds that step i took in the last run, and whether a plain C kernel had to
 * compute it because no fast one takes its types or its form. */
CLV_API double clv_context_step(const clv_context *c, uint32_t i, bool *plain);

/* -- any shapes -----------------------------------------------------------*/

/* A model file at whatever shapes its inputs come in. A plan is made when
 * shapes are first met: it shares the weights of the first plan, and what was
 * packed of them. The last 16 are kept. One thread at a time. */
typedef struct clv_session clv_session;

/* All else zero means: the usual backend, as many threads as cores. */
typedef struct clv_session_opts {
    size_t size;         /* sizeof(clv_session_opts) */
    const char *backend; /* its name; NULL: clv_model_usual for the first
                          * shapes */
    uint32_t threads;    /* 0: one per core */
    uint64_t seed;       /* of weights that no file holds */
    bool draw_weights;   /* draw the weights that the file lacks */
} clv_session_opts;

/* Returns a session of `model`, a path or a name of the zoo, which is opened
 * when it runs first (caller frees with clv_session_free). */
CLV_API CLV_MUST clv_status clv_session_new(const char *model,
                                            const clv_session_opts *opts,
                                            clv_session **out, clv_err *err);
CLV_API void clv_session_free(clv_session *s);
/* Runs on the n inputs of the model, whose shapes set the sizes that it leaves
 * open. Borrows their data until it returns. Fails as clv_graph_open,
 * clv_model_new and clv_context_run do, with CLV_SHAPE where n or a type is
 * another; the session can be used again. */
CLV_API CLV_MUST clv_status clv_session_run(clv_session *s,
                                            const clv_tensor *in, uint32_t n,
                                            clv_err *err);
/* The i-th output of the last run, good until the next; NULL before one. */
CLV_API const clv_tensor *clv_session_output(const clv_session *s, uint32_t i);
/* How many plans were made so far. */
CLV_API uint64_t clv_session_plans(const clv_session *s);

/* -- what came out --------------------------------------------------------*/

enum { CLV_TOP_SCORES = 5 };

/* The numbers of a tensor, NaNs left out. min, max and mean are NaN when there
 * is no number. */
typedef struct clv_tensor_stats {
    double min, max, mean;
    int64_t nans;
    /* Of a classifier's scores (one row of at least ten), the indices of the
     * largest, largest first; none for other tensors. */
    int64_t top[CLV_TOP_SCORES];
    uint32_t n_top;
} clv_tensor_stats;

CLV_API clv_tensor_stats clv_tensor_stats_of(const clv_tensor *t);

/* Times of several runs. */
typedef struct clv_time_stats {
    uint32_t runs;
    double median, p95; /* seconds */
} clv_time_stats;

/* Sorts the n seconds; n is not 0. */
CLV_API clv_time_stats clv_time_stats_of(double *seconds, uint32_t n);

/* -- this machine ---------------------------------------------------------*/

typedef struct clv_measure_opts {
    size_t size;          /* sizeof(clv_measure_opts) */
    clv_backend *backend; /* whose products are timed; needed */
    uint32_t threads;     /* 0: one per core */
    /* Told before each of `total` measurements; may be NULL. */
    void (*progress)(void *ctx, const char *what, uint32_t done,
                     uint32_t total);
    void *ctx;
} clv_measure_opts;

/* Measures this machine as the device `host`: peak operations per second of
 * every type the backend multiplies in, copy bandwidth by cache level, the time
 * to start a primitive. Takes some ten seconds. Returns it (caller frees with
 * clv_device_free). */
CLV_API CLV_MUST clv_status clv_device_measure(const clv_measure_opts *opts,
                                               clv_device **out, clv_err *err);

#endif

/* run.h - compiled models and their contexts, as the library sees them.
 *
 * A model runs in steps: a node with a plain C kernel, or a subgraph that a
 * backend compiled. Every value has its place before anything runs:
 *
 *     a weight        in the mapped file, or in the weight store
 *     a graph input   the caller's memory
 *     an activation   at an offset of the context's arena
 *     an alias        where the value it is a view of lies
 *     dynamic         allocated while running: its shape depends on data */
#ifndef CLV_RUN_H
#define CLV_RUN_H

#include "backend/backend.h"
#include "backend/kernel.h"
#include "cleave/run.h"
#include "formats/external.h"

#include <stdatomic.h>

/* -- weights (weights.c) --------------------------------------------------*/

/* The weights of a graph and of the bodies in it, one table each. Shared by
 * models of the same network at other shapes. */
typedef struct weight_table {
    const clv_graph *g;
    clv_tensor *t; /* per value; data is NULL where nothing is known */
} weight_table;

typedef struct weight_store {
    atomic_int users;
    arena mem;
    weight_table *tables; /* 0 is the graph itself */
    bool *borrowed; /* per value of it: the data is that of the first store
                     * that others are like; NULL: this is the first */
    strmap likes;   /* values of the graph of `like`, by name */
    external_files files;      /* external data, mapped */
    struct weight_store *like; /* whose memory is used again */
    struct weight_pack {
        const void *data; /* of the weight that was packed */
        const void *ready;
        uint16_t op;
        bool turned; /* as attribute trans_b says */
    } * packs;       /* what fast kernels made of weights, to be used again */
    size_t n_packs, cap_packs;
    strmap names; /* tensors in memory of our own */
    clv_tensor *own;
    uint64_t seed;
    bool draw;     /* what a file lacks */
    int64_t bytes; /* of `own` */
    size_t n_tables, cap_tables, n_own, cap_own;
} weight_store;

/* Finds every weight, constant and folded value of g and its bodies. Weights
 * that no file holds are drawn from the seed, unless g came from a file and its
 * weights are not to be drawn. `like` may be NULL. */
CLV_MUST clv_status clv__weights_new(const clv_graph *g,
                                     const clv_model_opts *o,
                                     weight_store *like, weight_store **out,
                                     clv_err *e);
void clv__weights_free(weight_store *w); /* one user less */
/* The table of g or of one of its bodies. */
const clv_tensor *clv__weights_of(const weight_store *w, const clv_graph *g);
/* Gives t zeroed memory that lives as long as w. */
CLV_MUST clv_status clv__weight_own(weight_store *w, clv_tensor *t, clv_err *e);
/* Gives the pages of files that hold t back, after what it is needed for soon:
 * they come again when it is read. Returns its bytes, 0 where they are few. */
int64_t clv__weight_drop(const weight_store *w, const clv_graph *g,
                         const clv_tensor *t);
/* Whether t lies where its type wants. */
bool clv__weight_is_aligned(const clv_tensor *t);
/* Moves a weight of the table that is not aligned for its type. */
CLV_MUST clv_status clv__weight_align(weight_store *w, clv_tensor *t,
                                      clv_err *e);

/* -- models (model.c) -----------------------------------------------------*/

typedef enum place {
    PLACE_NONE, /* no step reads or writes it */
    PLACE_WEIGHT,
    PLACE_INPUT,
    PLACE_ARENA,
    PLACE_ALIAS,
    PLACE_DYNAMIC,
} place;

typedef struct step {
    clv_exec *exec; /* NULL: the plain C kernel of `node` */
    uint32_t node, part;
    int64_t offset;    /* of the exec's workspace in the arena */
    const void *ready; /* what the node's fast kernel packed; or NULL */
    bool dynamic;      /* shapes are found while running */
} step;

struct clv_model {
    arena mem;
    const clv_graph *user; /* that was given */
    const clv_graph *g;    /* that runs: the same, or made of it by rewriting */
    struct rewritten *rewritten; /* NULL: it is the same */
    clv_backend *backend;
    weight_store *weights;
    uint64_t seed;
    uint32_t threads;
    bool plain; /* what no backend takes runs in plain C: it is the oracle */
    step *steps;
    uint32_t n_steps;
    uint8_t *place;     /* per value */
    int64_t *offset;    /* per value, in the arena */
    uint32_t *root;     /* per value: whose storage it shares, or itself */
    clv_tensor *tensor; /* per value: type, shape, data if fixed */
    clv_profile *profile;
    const clv_cut *cut; /* whose subgraphs are the parts; NULL: one part */
    clv_cut *own_cut;
    clv_exec **execs; /* per part; NULL: plain C */
    clv_part *parts;
    const char **why; /* per node: why it is not for the backend; or NULL */
    const char **notes;
    size_t cap_notes;
    clv_model_info info;
    clv_refuse_fn *refuse; /* as in clv_model_opts */
    void *refuser;
};

/* Memory of a run: of one node, and of all results. */
typedef struct run_memory {
    struct arena scratch; /* rewound after each node */
    struct arena kept;    /* what texts and lists refer to */
    uint32_t threads;     /* that kernels may use */
    bool plain;           /* plain C kernels alone */
    bool used_plain;      /* the last node was computed by one */
} run_memory;

/* What the arena of a run is filled with when it is made: zeros, or what a test
 * of unwritten memory sets. */
extern uint8_t clv__arena_fill;

struct clv_context {
    const clv_model *m;
    void *block; /* of the arena; `arena` is its aligned beginning */
    char *arena;
    clv_tensor *tensor; /* per value */
    double *times;      /* per part, then per step */
    bool *by_plain;     /* per step: a plain C kernel computed it */
    clv_watch_fn *watch;
    void *watcher;
    run_memory mem;
};

/* Fills what clv_model_get says of steps and rewrites (explain.c). */
CLV_MUST clv_status clv__run_explain(clv_model *m, clv_err *e);

/* Makes the steps and gives every value its place; see plan.c. */
CLV_MUST clv_status clv__run_plan(clv_model *m, int64_t memory, clv_err *e);
/* All its outputs are known without running it, or nobody reads them. */
bool clv__run_needless(const clv_model *m, uint32_t node);

/* -- what a backend must not see (nan.c) ----------------------------------*/

/* Sets *(bool *)found, and returns false, when t holds a NaN; clv_look_fn. */
bool clv__run_look_for_nan(void *found, const clv_tensor *t);
/* Runs the part of s by a backend that takes NaN for a number, or by plain C
 * kernels where there is one. */
CLV_MUST clv_status clv__run_without_nan(clv_context *c, const step *s,
                                         clv_err *e);

/* -- nodes (node.c) -------------------------------------------------------*/

/* Runs a node whose outputs have their places; `ready` is what
 * clv__run_prepare made of it, or NULL. */
CLV_MUST clv_status clv__run_node(const clv_graph *g, uint32_t id,
                                  const void *ready, clv_tensor *tensor,
                                  run_memory *mem, clv_err *e);
/* Packs the weights of the steps that fast kernels run and gives back the pages
 * of files that they came from. Returns how many bytes were packed. */
int64_t clv__run_prepare(clv_model *m);
/* Runs a node of any shapes: infers it again with what its inputs hold now and
 * allocates its outputs (the caller frees their data with clv__free). */
CLV_MUST clv_status clv__run_dynamic(const clv_graph *g, uint32_t id,
                                     clv_tensor *tensor, const weight_store *w,
                                     run_memory *mem, clv_err *e);
/* Runs an operator with bodies; see control.c. */
CLV_MUST clv_status clv__run_control(const clv_graph *g, uint32_t id,
                                     clv_tensor *tensor, const weight_store *w,
                                     run_memory *mem, clv_err *e);

#endif

/* report.h - results as text for people, JSON for programs, CSV for
 * spreadsheets. One function per result; the format is an option, and NULL
 * means all defaults. Reports are appended to a buffer, whose `failed` tells of
 * a lack of memory, or of options without their size.
 *
 * Threads: reports only read their results; a buffer belongs to one thread. */
#ifndef CLEAVE_REPORT_H
#define CLEAVE_REPORT_H

#include "cleave/check.h"
#include "cleave/compare.h"
#include "cleave/concurrency.h"
#include "cleave/cut.h"
#include "cleave/diagnose.h"
#include "cleave/layout.h"
#include "cleave/load.h"
#include "cleave/map.h"
#include "cleave/memory.h"
#include "cleave/operators.h"
#include "cleave/profile.h"
#include "cleave/run.h"
#include "cleave/simulate.h"
#include "cleave/sweep.h"
#include "cleave/validate.h"
#include "cleave/whatif.h"

typedef enum clv_report_format {
    CLV_REPORT_TEXT,
    CLV_REPORT_JSON,
    CLV_REPORT_CSV,
    CLV_REPORT_MARKDOWN /* the text with headings and tables of Markdown */
} clv_report_format;

/* All else zero means: the defaults. */
typedef struct clv_report_opts {
    size_t size; /* sizeof(clv_report_opts) */
    clv_report_format format;
    uint32_t width;   /* columns that text may take; 0: no limit */
    bool color;       /* text with terminal colours */
    bool verbose;     /* text: every layer, not only the largest */
    bool shapes;      /* text: a column with output shapes */
    uint32_t top;     /* text: rows of ranked lists; 0: 10 */
    uint32_t depth;   /* text: fold modules below this depth; 0: none */
    const char *more; /* text: what shows rows left out ("--all"), or NULL */
    bool brief;       /* JSON of a profile: layers without "parallelism" */
    /* JSON: rows of a folded layout in place of operators, with what they cost
     * in sum, and subgraphs and tensors of what is drawn. Totals are those of
     * the whole. NULL: everything. */
    const clv_layout *fold;
} clv_report_opts;

CLV_API void clv_report_profile(const clv_profile *p,
                                const clv_report_opts *opts, clv_buf *out);

/* A model of the zoo and what it costs at its default input. */
typedef struct clv_model_cost {
    const clv_zoo_model *info;
    int64_t params, macs;
} clv_model_cost;

CLV_API void clv_report_models(const clv_model_cost *models, uint32_t n,
                               const clv_report_opts *opts, clv_buf *out);

CLV_API void clv_report_formats(const clv_report_opts *opts, clv_buf *out);

/* Operators as a matrix; one alone in detail. */
CLV_API void clv_report_operators(const clv_operator_info *const *ops,
                                  uint32_t n, const clv_report_opts *opts,
                                  clv_buf *out);
/* The same as the table of docs/operators.md. */
CLV_API void clv_report_operators_page(const clv_operator_info *const *ops,
                                       uint32_t n, clv_buf *out);

/* `names[i]` is the model behind `all[i]`. */
CLV_API void clv_report_validation(const clv_validation *const *all,
                                   const char *const *names, uint32_t n,
                                   const clv_report_opts *opts, clv_buf *out);

CLV_API void clv_report_diagnosis(const char *model,
                                  const clv_diagnosis_info *d,
                                  const clv_report_opts *opts, clv_buf *out);

/* A cut, with the summary made of it. */
CLV_API void clv_report_partition(const clv_cut *c, const clv_summary *s,
                                  const clv_report_opts *opts, clv_buf *out);

CLV_API void clv_report_memory(const clv_memory *m, const clv_report_opts *opts,
                               clv_buf *out);

/* What `cleave run` found out. Lists may be NULL. */
typedef struct clv_run_result {
    size_t size; /* sizeof(clv_run_result) */
    const clv_graph *g;
    const clv_model *m;
    const clv_context *c;
    const char *backend;
    double compiled; /* seconds to compile */
    clv_time_stats times;
    const clv_tensor_stats *outputs;     /* per output; never NULL */
    const double *abs_error, *rel_error; /* per output, against ref */
    /* Per part, and their sum: measured seconds, those of the roofline of
     * `device`, and by how much these are off (0.1: 10 % too long). */
    const double *part, *estimate, *error;
    const clv_device *device;
    bool explain; /* show what was rewritten, and every step */
} clv_run_result;

CLV_API void clv_report_run(const clv_run_result *r,
                            const clv_report_opts *opts, clv_buf *out);

/* Bytes alive over time with the peak marked, and the plan of the arena below:
 * a box per tensor, from its first step to its last. */
CLV_API void clv_report_memory_svg(const clv_memory *m, clv_buf *out);

/* One device in detail, with its sources, or several in a table. */
CLV_API void clv_report_devices(const clv_device *const *devices, uint32_t n,
                                const clv_report_opts *opts, clv_buf *out);
/* One map in detail, or several of one model side by side; n is not 0. */
CLV_API void clv_report_maps(const clv_map *const *maps, uint32_t n,
                             const clv_report_opts *opts, clv_buf *out);

/* The roofline of one device: a point per subgraph, both axes logarithmic. */
CLV_API void clv_report_map_svg(const clv_map *m, clv_buf *out);

CLV_API void clv_report_check(const clv_check *k, const clv_report_opts *opts,
                              clv_buf *out);

CLV_API void clv_report_compare(const clv_compare *c,
                                const clv_report_opts *opts, clv_buf *out);
CLV_API void clv_report_sweep(const clv_sweep *s, const clv_report_opts *opts,
                              clv_buf *out);

/* What a model costs, and what it would. */
typedef struct clv_whatif_report {
    const clv_graph *graph;
    const clv_whatif *before, *after;
    int64_t batch_before, batch_after;
    const char *dtype;               /* asked for; "": as it is */
    const clv_device *device, *host; /* NULL: no times */
} clv_whatif_report;
CLV_API void clv_report_whatif(const clv_whatif_report *r,
                               const clv_report_opts *opts, clv_buf *out);

/* A concurrency analysis and what goes with it. */
typedef struct clv_concurrency_report {
    const clv_concurrency *analysis;
    const clv_schedule *schedule; /* NULL: none */
    const clv_device *device;     /* NULL: none */
    const clv_load *load;         /* of the schedule; NULL: none */
    const int64_t *batches;       /* rows of the batch table */
    uint32_t n_batches;
} clv_concurrency_report;

/* One model in full; several as a comparison (in text) or a list. */
CLV_API void clv_report_concurrency(const clv_concurrency_report *r, uint32_t n,
                                    const clv_report_opts *opts, clv_buf *out);
/* The schedule as a Chrome trace (chrome://tracing, Perfetto): one row per
 * stream, and with a load counters of live bytes and, of times on a device, of
 * FLOPs and bytes per second. Seconds are shown as such; a million FLOPs as a
 * microsecond. */
CLV_API void clv_report_trace(const clv_concurrency_report *r, clv_buf *out);

/* The schedule of a pipeline (clv_cut_simulate): a timeline in text, who ran
 * when in JSON and CSV; as a Chrome trace; as a picture of at most 200
 * devices. */
CLV_API void clv_report_simulation(const clv_cut *c, const clv_sim *sim,
                                   const clv_report_opts *opts, clv_buf *out);
CLV_API void clv_report_simulation_trace(const clv_cut *c, const clv_sim *sim,
                                         clv_buf *out);
CLV_API void clv_report_simulation_svg(const clv_cut *c, const clv_sim *sim,
                                       clv_buf *out);

/* The schedule as a picture: a lane per stream, a bar per subgraph. */
CLV_API void clv_report_schedule_svg(const clv_concurrency_report *r,
                                     clv_buf *out);
/* The subgraphs of an analysed cut as a Graphviz graph: colour by bottleneck,
 * the critical path thick, stages as ranks. In a cut along modules, equal
 * modules that follow each other are drawn once, with how often. */
CLV_API void clv_report_dot(const clv_concurrency *a, clv_buf *out);

/* What a page needs to answer "what if" by itself. */
typedef struct clv_html_whatif {
    const clv_scaling *scaling;
    const char *const *dtypes; /* of each of its types; "": as it is */
    int64_t batch;             /* the model's own; 0: it has none */
    bool batches;              /* the scaling holds for all batches */
    const char *why;           /* why it does not, or "" */
    const clv_device *const *devices;
    uint32_t n_devices;
    const clv_device *host;
    double link, latency;
    const char *flags; /* of the command line, besides batch and type */
} clv_html_whatif;

/* What a page shows of one model. Only the first two must be there. */
typedef struct clv_html_model {
    const clv_profile *profile;
    const clv_layout *layout;
    const clv_cut *fusion, *capability;
    const clv_summary *fusion_summary, *capability_summary;
    const clv_memory *memory;
    const clv_concurrency_report *concurrency;
    const clv_map *const *maps; /* of the fusion cut */
    uint32_t n_maps;
    const clv_html_whatif *whatif; /* NULL: none */
    const clv_cut *placement, *pipeline;
    const clv_summary *placement_summary, *pipeline_summary;
} clv_html_model;

typedef struct clv_html {
    size_t size; /* sizeof(clv_html) */
    const clv_html_model *models;
    uint32_t n_models;          /* 1, or 2 */
    const clv_compare *compare; /* of two models; NULL: none */
    const char *command;        /* the command line that makes it, or NULL */
    const char *const *notes;   /* what could not be analysed, and why */
    uint32_t n_notes;
    const clv_merged *merged;        /* of two models; NULL: none */
    const clv_layout *merged_layout; /* of its graph */
} clv_html;

/* Everything in one page that needs no network: summary, graph, table,
 * roofline, timeline, memory, cuts (docs/report.md). All numbers in it are
 * those of the JSON reports. */
CLV_API void clv_report_html(const clv_html *h, clv_buf *out);

/* The whole graph as JSON: nodes, values, attributes (docs/graph-json.md). */
CLV_API void clv_report_graph(const clv_graph *g, clv_buf *out);
/* MACs, FLOPs and bytes per node, as an attachment for Netron. */
CLV_API void clv_report_netron(const clv_profile *p, clv_buf *out);
/* FLOPs per node, by the names of their outputs, as node data for Model
 * Explorer. */
CLV_API void clv_report_explorer(const clv_profile *p, clv_buf *out);

#endif

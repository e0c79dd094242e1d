/* rank.h - one rank of an MPI job that runs the parts of an exported cut.
 *
 *     source (rank 0) ->  part 0 -> part 1 -> part 2  -> sink (rank 0)
 *                             \_______________/            skip links
 *
 * A part takes micro-batches in order. Its replicas take turns: micro-batch i
 * is for replica i mod R. Every tensor that passes between ranks has a ring of
 * buffers at its reader, whose receives are posted ahead, and two at its maker:
 * while one is sent the next is computed. Nothing but MPI-3 calls that do not
 * block is used, so that a rank that waits still shows that it lives. */
#ifndef MPI_RANK_H
#define MPI_RANK_H

#include "cleave.h"

#include <mpi.h>

#ifndef RANK_VERSION
#define RANK_VERSION CLV_VERSION
#endif

/* -- options (options.c) --------------------------------------------------*/

/* Tags below it are those of tensors; every MPI has tags up to 32767. */
enum { RANK_TAG_PING = 32000, RANK_TAG_ALIVE };

enum { RANK_LIST_MAX = 256 };

typedef struct rank_options {
    const char *dir;
    const char *input[RANK_LIST_MAX];
    const char *backend[RANK_LIST_MAX];
    uint32_t n_input, n_backend;
    const char *replicas, *output, *random, *verify, *schedule;
    int64_t micro_batches, repeat, warmup, threads;
    double timeout;
    bool json, quiet, help, version;
    uint32_t crc; /* of all words: they are the same for every rank */
} rank_options;

CLV_MUST clv_status rank_options_parse(int argc, char **argv, rank_options *o,
                                       clv_err *err);
const char *rank_help(void);

/* -- the minder (minder.c) ------------------------------------------------*/

enum { RANK_NEAR_MAX = 256 };

/* Shared with the process that looks after this one. */
typedef struct rank_pulse {
    _Atomic uint64_t beat;  /* counts on while the rank lives */
    _Atomic int rank;       /* -1: not known yet */
    _Atomic int state;      /* rank_state */
    _Atomic double timeout; /* seconds without a beat that are too many */
    char unfinished[1200];  /* to be removed if the rank dies; "": nothing */
    int near[RANK_NEAR_MAX], n_near; /* processes of the ranks here */
} rank_pulse;

enum rank_state { RANK_IN_MPI, RANK_RUNNING, RANK_STOPPING };

/* Starts a process that says so when this one dies or hangs. Returns what they
 * share; a rank that cannot be minded runs all the same. */
rank_pulse *rank_mind(int argc, char **argv);
/* Ends MPI, or the process with this code when MPI does not end. */
void rank_leave(int code);
/* Tells the minder the processes of the ranks on this machine. */
void rank_meet(rank_pulse *p, const int *pids, int n);

/* -- the job (world.c) ----------------------------------------------------*/

/* Where a part runs: `replicas` ranks from `rank` on. */
typedef struct rank_seat {
    int rank;
    uint32_t replicas;
} rank_seat;

/* All tensors from one part to another. */
typedef struct rank_link {
    uint32_t from, to; /* parts; CLV_NONE: the source, or the sink */
    int64_t bytes;     /* of a micro-batch */
    double seconds;    /* one way, measured alone before the run */
    double wait;       /* that the reader waited for it, in the run */
} rank_link;

typedef struct rank_world {
    rank_options o;
    rank_pulse *pulse;
    int rank, ranks, here; /* here: ranks on this machine */
    char host[256];
    clv_bundle *bundle;
    const clv_bundle_plan *plan;
    rank_seat *seat; /* per part */
    rank_link *links;
    uint32_t n_links;
    uint32_t micro, window; /* micro-batches of a batch; under way at a time */
    uint32_t batches;       /* warm-up included */
    uint32_t threads;
    double limit;     /* seconds to wait for others */
    uint32_t crowded; /* rests to come that are sleep: others use the cores */
} rank_world;

double rank_now(void);
/* Records a failure, unless there is one already; returns the code kept. */
clv_status rank_fail(clv_err *err, clv_status code, const char *fmt, ...)
    CLV_PRINTF(3, 4);
/* One line on standard error that names this rank. */
void rank_say(const rank_world *w, const char *text);
/* Ends all ranks at once, after one line. Does not return. */
void rank_abort(const rank_world *w, const clv_err *err);
/* Shows the minder that this rank lives. */
void rank_beat(rank_world *w);
/* Waits without taking the processor from others. `turn` counts the calls since
 * something happened. */
void rank_rest(rank_world *w, uint32_t turn);
/* Waits until the request is done; ends all ranks when that takes longer than
 * the limit. `what` says what was awaited. */
void rank_wait(rank_world *w, MPI_Request *req, const char *what);
/* The same status on every rank: the lowest rank that failed says why, in one
 * line. */
CLV_MUST clv_status rank_agree(rank_world *w, clv_status s, const clv_err *err);
/* Are version, manifest and arguments of all ranks the same? */
CLV_MUST clv_status rank_same(rank_world *w, clv_err *err);
/* Gives every part its ranks, and lists the links. */
CLV_MUST clv_status rank_seats(rank_world *w, clv_err *err);
uint32_t rank_find_link(const rank_world *w, uint32_t from, uint32_t to);
int rank_of(const rank_world *w, uint32_t part, uint64_t micro);
bool rank_has(const rank_world *w, uint32_t part);
int64_t rank_value_bytes(const rank_world *w, uint32_t value);

/* -- data (data.c) --------------------------------------------------------*/

/* The batch that rank 0 feeds and the one that it gathers. */
typedef struct rank_data {
    clv_tensor *in, *out; /* per input and output of the model, all m joined */
    bool *fed_again;      /* per input: every micro-batch is the same data */
} rank_data;

CLV_MUST clv_status rank_data_read(const rank_world *w, rank_data *d,
                                   clv_err *err);
void rank_data_free(const rank_world *w, rank_data *d);
/* Micro-batch b of input i, or of output i. */
void *rank_data_slice(const rank_world *w, clv_tensor *t, uint32_t value,
                      uint32_t b, bool again);
CLV_MUST clv_status rank_data_write(rank_world *w, const rank_data *d,
                                    clv_err *err);

/* -- parts (part.c) -------------------------------------------------------*/

typedef struct rank_part {
    clv_graph *g;
    clv_backend *backend;
    clv_model *model;
    clv_context *context;
    const char *name; /* of the backend */
} rank_part;

CLV_MUST clv_status rank_part_open(const rank_world *w, uint32_t k,
                                   rank_part *p, clv_err *err);
void rank_part_close(rank_part *p);

/* -- the run (worker.c) ---------------------------------------------------*/

/* What was measured. Per part; complete on rank 0 after rank_gather. */
typedef struct rank_stats {
    double *stage; /* mean seconds of a micro-batch, per part */
    double *least; /* the fastest of them */
    double *slow;  /* 95 of 100 are faster */
    double *look;  /* mean of its longest step: messages wait for that */
    double *batch; /* seconds of each batch that counts; rank 0 */
    double idle;   /* seconds without work while a batch was under way */
    uint32_t alive;
} rank_stats;

CLV_MUST clv_status rank_run(rank_world *w, rank_data *d, rank_stats *s,
                             clv_err *err);
/* Measures every link alone, one after another. */
CLV_MUST clv_status rank_measure_links(rank_world *w, clv_err *err);
CLV_MUST clv_status rank_gather(rank_world *w, rank_stats *s, clv_err *err);

/* -- after it (verify.c, show.c) ------------------------------------------*/

typedef struct rank_verdict {
    bool done, equal;
    double alone;   /* seconds of the same batch in one process */
    double largest; /* relative difference from the model of --verify=MODEL */
    const char *against;
} rank_verdict;

CLV_MUST clv_status rank_verify(rank_world *w, rank_data *d, rank_verdict *v,
                                clv_err *err);
CLV_MUST clv_status rank_show(const rank_world *w, const rank_stats *s,
                              const rank_verdict *v, clv_err *err);

#endif

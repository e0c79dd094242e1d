/* ort.h - the backend `ort`, as its files see it.
 *
 * A subgraph is written as an ONNX model to memory (part.c), tried in a process
 * of its own, which an engine may crash (trial.c), and compiled and run here
 * (ort.c) with the execution provider that the user named. */
#ifndef CLV_ORT_H
#define CLV_ORT_H

#include "backend/backend.h"
#include "backend/ort/api.h"

#include <sys/types.h>

enum { ORT_MAX_OPTIONS = 16 };

/* A process that compiles on trial. */
typedef struct ort_trial {
    pid_t pid; /* 0: none is running */
    int fd;    /* a socket, both directions */
    int log;   /* its standard error, a file in memory; -1: none */
} ort_trial;

/* State of the backend. */
typedef struct ort_engine {
    ort_api api;
    const char *provider; /* as ONNX Runtime calls it: "OpenVINO"; NULL: CPU */
    const char *key[ORT_MAX_OPTIONS], *value[ORT_MAX_OPTIONS];
    size_t n_options; /* of the provider */
    ort_env *env;     /* NULL until something is compiled */
    ort_memory *memory;
    ort_trial trial;
    double patience; /* seconds that a trial may take */
} ort_engine;

/* -- part.c ---------------------------------------------------------------*/

/* A subgraph as bytes, and its border: numbers of values in the whole graph,
 * and the names that they have in the bytes. */
typedef struct ort_part {
    arena mem;
    clv_buf bytes;
    uint32_t *inputs, *outputs;
    const char **input_names, **output_names;
    uint32_t n_inputs, n_outputs;
} ort_part;

CLV_MUST clv_status ort_part_make(const clv_subject *s, ort_part *p,
                                  clv_err *e);
void ort_part_free(ort_part *p);

/* -- ort.c ----------------------------------------------------------------*/

/* Compiles bytes of an ONNX model with the engine's provider. A node that the
 * provider would leave to the CPU is an error. */
CLV_MUST clv_status ort_session_new(ort_engine *g, const void *bytes,
                                    size_t size, uint32_t threads,
                                    ort_session **out, clv_err *e);

/* -- trial.c --------------------------------------------------------------*/

/* Compiles in a process of its own. Fails with CLV_UNSUPPORTED and the engine's
 * message when it cannot, when the process dies, and when it takes too long. */
CLV_MUST clv_status ort_trial_run(ort_engine *g, const clv_buf *bytes,
                                  uint32_t threads, clv_err *e);
void ort_trial_end(ort_trial *t);

#endif

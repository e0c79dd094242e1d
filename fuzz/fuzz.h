/* fuzz.h - what fuzz targets share: choices, models, files, runs. */
#ifndef FUZZ_H
#define FUZZ_H

#include "cleave.h"
#include "random_inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* -- choices --------------------------------------------------------------*/

/* Bytes that decide what a target does; zeros when they have run out. */
typedef struct fuzz_choices {
    const uint8_t *p;
    size_t n;
} fuzz_choices;

/* 0 to n - 1; n is at most 65536. */
uint32_t fuzz_below(fuzz_choices *c, uint32_t n);
/* A whole number, mostly small, at times one of the largest. */
int64_t fuzz_number(fuzz_choices *c);
double fuzz_real(fuzz_choices *c);
/* Up to `most` bytes as text, NUL-terminated, into buf of most + 1. */
const char *fuzz_text(fuzz_choices *c, char *buf, size_t most);
/* Choices that follow from all bytes of an input: for targets whose input is a
 * model. The buffer is the caller's. */
typedef struct fuzz_hash {
    uint8_t bytes[64];
} fuzz_hash;
fuzz_choices fuzz_hashed(fuzz_hash *h, const uint8_t *data, size_t size);

/* -- models ---------------------------------------------------------------*/

/* The bytes as an ONNX model; NULL when they are none. */
clv_graph *fuzz_load(const uint8_t *data, size_t size);
/* A model of four operators, one of them ("Fancy") not known: a file of the
 * folder, and open. Beside it lies one in which all are known. */
#define FUZZ_TINY  "tiny.onnx"
#define FUZZ_PLAIN "plain.onnx"
const char *fuzz_tiny_file(void);
const clv_graph *fuzz_tiny(void);
/* Whether a run takes little time and memory. */
bool fuzz_is_small(const clv_graph *g);

/* A run of a model on seeded inputs. Starts as {0}. */
typedef struct fuzz_run {
    clv_model *model;
    clv_context *context;
    random_inputs inputs;
} fuzz_run;

/* Runs g by the backend (NULL: our own kernels) within limits of time, memory
 * and trips. fuzz_run_free releases it, whatever came out. */
CLV_MUST clv_status fuzz_run_start(fuzz_run *r, const clv_graph *g,
                                   clv_backend *by);
void fuzz_run_free(fuzz_run *r);
/* The plain C kernels alone. Shared. */
clv_backend *fuzz_plain(void);
/* oneDNN, linked into the target; NULL where it has no engine. Shared. */
clv_backend *fuzz_onednn(void);

/* -- files ----------------------------------------------------------------*/

/* A folder of this process, empty at first, removed at its end. */
const char *fuzz_folder(void);
/* Writes a file of the folder; returns its path, in a buffer that the next call
 * uses again. */
const char *fuzz_file(const char *name, const void *data, size_t size);
/* Removes all files of the folder but those two models. */
void fuzz_clear(void);
/* Makes the folder the one that relative paths start from, and back. */
void fuzz_enter(void);
void fuzz_leave(void);

#endif

/* files.h - the kinds of model files that clv_graph_open reads.
 *
 * Files are told apart by what is in them, not by their names.
 *
 * Threads: the list never changes, and any number may read it. */
#ifndef CLEAVE_FILES_H
#define CLEAVE_FILES_H

#include "cleave/base.h"

typedef struct clv_file_kind {
    const char *name;    /* "onnx", as reports name it */
    const char *text;    /* "ONNX" */
    const char *endings; /* what files of this kind are usually called */
    const char *holds;   /* what is read from it */
    bool written;        /* export writes it */
} clv_file_kind;

/* The i-th kind, NULL past the last. */
CLV_API const clv_file_kind *clv_file_kind_at(uint32_t i);

#endif

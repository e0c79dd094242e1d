/* external.h - weights that lie in files beside the model.
 *
 * A file is opened inside the model's folder, one part of its path at a time
 * and without following links, and mapped once; lengths are checked. */
#ifndef CLV_EXTERNAL_H
#define CLV_EXTERNAL_H

#include "graph/graph.h"

/* Files mapped so far. Starts as {0}. */
typedef struct external_files {
    struct external_file *first;
    arena mem;
} external_files;

/* Where the `bytes` of p lie, borrowed until x is closed. */
CLV_MUST clv_status clv__external_at(external_files *x, const char *folder,
                                     const clv_payload *p, int64_t bytes,
                                     const void **out, clv_err *e);
/* The whole file called `name`. CLV_NOT_FOUND when there is none. */
CLV_MUST clv_status clv__external_file(external_files *x, const char *folder,
                                       const char *name, const void **out,
                                       size_t *size, clv_err *e);
/* Bytes of one of the files that are not needed soon; as clv__mapping_drop. */
void clv__external_drop(const external_files *x, const void *bytes, size_t n);
void clv__external_close(external_files *x);

#endif

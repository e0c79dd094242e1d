/* zip.h - the entries of a zip archive in memory, stored or deflated; those of
 * more than 4 GB (zip64) too. */
#ifndef CLV_ZIP_H
#define CLV_ZIP_H

#include "core/core.h"

typedef struct zip_entry {
    const char *name; /* not terminated */
    const uint8_t *data;
    size_t name_size, packed; /* bytes of the name, and of the data as it is */
    uint64_t size;            /* bytes when unpacked */
    uint32_t method;          /* 0: stored, 8: deflated */
} zip_entry;

/* A walk over the central directory. Borrows the archive. */
typedef struct zip {
    const uint8_t *bytes;
    size_t size, at;
    uint32_t count, next; /* entries, and the number of the next one */
} zip;

/* Finds the directory. Fails with CLV_FORMAT when there is none. */
CLV_MUST clv_status clv__zip_open(const void *bytes, size_t size, zip *z,
                                  clv_err *e);
/* The next of z->count entries; checks that all of it lies in the archive. */
CLV_MUST clv_status clv__zip_next(zip *z, zip_entry *x, clv_err *e);
/* The same from the directory alone: x->data is NULL, and no page of the entry
 * is touched. */
CLV_MUST clv_status clv__zip_list(zip *z, zip_entry *x, clv_err *e);
/* The x->size bytes of an entry. Those of a stored one are borrowed, and *block
 * is NULL; others are unpacked into *block (the caller frees it with
 * clv__free), which takes no more memory than the packed bytes can fill. */
CLV_MUST clv_status clv__zip_unpack(const zip_entry *x, const uint8_t **bytes,
                                    uint8_t **block, clv_err *e);

/* -- writing --------------------------------------------------------------*/

/* An archive of stored entries under way; starts as {0}. */
typedef struct zip_out {
    clv_buf all, directory;
    uint32_t count;
} zip_out;

/* Adds an entry. Fails with CLV_OVERFLOW beyond what zip's 32 bits can say. */
CLV_MUST clv_status clv__zip_add(zip_out *z, const char *name, const void *data,
                                 size_t size, clv_err *e);
/* Appends the archive to `out` and frees z. */
CLV_MUST clv_status clv__zip_finish(zip_out *z, clv_buf *out, clv_err *e);

#endif

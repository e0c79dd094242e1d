/* mapping.h - a file as memory: mapped read-only, never copied. */
#ifndef CLV_MAPPING_H
#define CLV_MAPPING_H

#include "core/core.h"

typedef struct clv_mapping {
    const uint8_t *data; /* NULL when the file is empty */
    size_t size;
    bool borrowed; /* the caller's memory, not a mapping: never released */
    int file; /* descriptor of the file while clv__mapping_peek may use it, else
               * 0 */
} clv_mapping;

/* Maps the regular file at `path`; pages are read when touched. Fails with
 * CLV_NOT_FOUND when there is none, CLV_IO when it cannot be read or is not a
 * regular file. Release with clv__mapping_close. */
CLV_MUST clv_status clv__mapping_open(const char *path, clv_mapping *map,
                                      clv_err *e);
void clv__mapping_close(clv_mapping *map);
/* Copies up to n bytes at offset `at` without touching their page: to read a
 * few bytes here and there, a call costs an eighth of a page fault. Returns how
 * many bytes were copied, or 0 when the caller must read them in place. */
size_t clv__mapping_peek(const clv_mapping *map, size_t at, void *bytes,
                         size_t n);
/* Ends peeking: a mapping may live long, and descriptors are few. */
void clv__mapping_unpeek(clv_mapping *map);
/* Tells the system that the whole file will be read soon, front to back. */
void clv__mapping_fetch(const void *file, size_t size);
/* Tells the system that these bytes were read and are not needed soon. Pages
 * that hold nothing else leave memory and come back when touched. Does nothing
 * unless all bytes are inside file[0..size). */
void clv__mapping_drop(const void *file, size_t size, const void *bytes,
                       size_t n);

#endif

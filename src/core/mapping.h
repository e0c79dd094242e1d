/* mapping.h - a file as memory: mapped read-only, never copied. */
#ifndef CLV_MAPPING_H
#define CLV_MAPPING_H

#include "core/core.h"

typedef struct clv_mapping {
    const uint8_t *data; /* NULL when the file is empty */
    size_t size;
    bool borrowed; /* the caller's memory, not a mapping: never released */
    int file; /* its descriptor while clv__mapping_peek may be asked, else 0 */
} clv_mapping;

/* Maps the regular file at `path`; pages are read when touched. Fails with
 * CLV_NOT_FOUND when there is none, CLV_IO when it cannot be read or is not a
 * regular file. Release with clv__mapping_close. */
CLV_MUST clv_status clv__mapping_open(const char *path, clv_mapping *map,
                                      clv_err *e);
void clv__mapping_close(clv_mapping *map);
/* Copies up to n bytes that lie at `at` without touching their page: for a few
 * bytes between many, a call costs an eighth of a page fault. Returns how many
 * were copied; 0 when they have to be read where they lie. */
size_t clv__mapping_peek(const clv_mapping *map, size_t at, void *bytes,
                         size_t n);
/* No more peeks: a mapping may live long, and descriptors are few. */
void clv__mapping_unpeek(clv_mapping *map);
/* All of it will be read soon, from the beginning to the end. */
void clv__mapping_fetch(const void *file, size_t size);
/* Bytes of a mapping that were read and are not needed soon: the pages that
 * hold nothing else leave memory, and come back when touched. Does nothing
 * where they are not all inside file[0..size). */
void clv__mapping_drop(const void *file, size_t size, const void *bytes,
                       size_t n);

#endif

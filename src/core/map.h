/* map.h - a file as memory: mapped read-only, never copied. */
#ifndef CLV_MAP_H
#define CLV_MAP_H

#include "core/core.h"

typedef struct clv_map {
    const uint8_t *data; /* NULL when the file is empty */
    size_t size;
    bool borrowed; /* the caller's memory, not a mapping: never released */
    int file;      /* its descriptor while clv__map_peek may be asked, else 0 */
} clv_map;

/* Maps the regular file at `path`; pages are read when touched. Fails with
 * CLV_NOT_FOUND when there is none, CLV_IO when it cannot be read or is not a
 * regular file. Release with clv__map_close. */
CLV_MUST clv_status clv__map_open(const char *path, clv_map *map, clv_err *e);
void clv__map_close(clv_map *map);
/* Copies up to n bytes that lie at `at` without touching their page: for a few
 * bytes between many, a call costs an eighth of a page fault. Returns how many
 * were copied; 0 when they have to be read where they lie. */
size_t clv__map_peek(const clv_map *map, size_t at, void *bytes, size_t n);
/* No more peeks: a mapping may live long, and descriptors are few. */
void clv__map_unpeek(clv_map *map);
/* All of it will be read soon, from the beginning to the end. */
void clv__map_fetch(const void *file, size_t size);
/* Bytes of a mapping that were read and are not needed soon: the pages that
 * hold nothing else leave memory, and come back when touched. Does nothing
 * where they are not all inside file[0..size). */
void clv__map_drop(const void *file, size_t size, const void *bytes, size_t n);

#endif

/* archive.c - see archive.h. */
#include "formats/torch/archive.h"

#include <string.h>

/* What may be unpacked from an archive in all: code and small tables are
 * deflated, never weights. Entries may share their bytes, so a bound per entry
 * would not do. */
enum { ARCHIVE_UNPACKED = 64 << 20, ARCHIVE_UNPACKED_PER_BYTE = 32 };

/* Length of the folder that all entries lie in, with its slash; 0: none. */
static size_t archive_folder(const torch_archive *a)
{
    const zip_entry *first = a->entries;
    const char *slash =
        a->n ? memchr(first->name, '/', first->name_size) : NULL;
    size_t n = slash ? (size_t)(slash - first->name) + 1 : 0;
    for (uint32_t i = 1; n && i < a->n; i++)
        if (a->entries[i].name_size < n ||
            memcmp(a->entries[i].name, first->name, n) != 0)
            return 0;
    return n;
}

/* Takes the folder off all names and makes them findable. Of two entries with
 * one name the last counts, as in Python. */
static bool archive_index(torch_archive *a)
{
    size_t folder = archive_folder(a);
    if (!strmap_reserve(&a->names, a->n))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        zip_entry *x = &a->entries[i];
        x->name += folder;
        x->name_size -= folder;
        if (!strmap_put(&a->names, x->name, x->name_size, i))
            return false;
    }
    return true;
}

clv_status clv__archive_open(const void *bytes, size_t size, torch_archive *a,
                             clv_err *e)
{
    zip z;
    *a = (torch_archive){.bytes = bytes, .size = size};
    a->budget = ARCHIVE_UNPACKED + (uint64_t)size * ARCHIVE_UNPACKED_PER_BYTE;
    CLV_TRY(clv__zip_open(bytes, size, &z, e));
    while (z.next < z.count) {
        if (!CLV_GROW(a->entries, a->n, a->cap))
            return clv__nomem(e);
        CLV_TRY(clv__zip_next(&z, &a->entries[a->n], e));
        a->n++;
    }
    return archive_index(a) ? CLV_OK : clv__nomem(e);
}

void clv__archive_close(torch_archive *a)
{
    strmap_free(&a->names);
    clv__free(a->entries);
    *a = (torch_archive){0};
}

const zip_entry *clv__archive_find(const torch_archive *a, const char *name)
{
    uint32_t i = strmap_get(&a->names, name, strlen(name));
    return i == CLV_NONE ? NULL : &a->entries[i];
}

const char *clv__archive_name(const torch_archive *a, uint32_t i, size_t *len)
{
    *len = a->entries[i].name_size;
    return a->entries[i].name;
}

clv_status clv__archive_read(torch_archive *a, const zip_entry *x, arena *mem,
                             const uint8_t **bytes, size_t *n, clv_err *e)
{
    uint8_t *block = NULL;
    size_t at = (size_t)(x->data - a->bytes);
    *n = 0;
    if (x->method && x->size > a->budget)
        return clv__fail(e, CLV_FORMAT,
                         "byte %zu: '%.*s' unpacks to %llu bytes, out of "
                         "proportion to the file",
                         at, (int)x->name_size, x->name,
                         (unsigned long long)x->size);
    clv_status s = clv__zip_unpack(x, bytes, &block, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "byte %zu: '%.*s'", at, (int)x->name_size, x->name);
    if (s == CLV_OK && block) {
        a->budget -= x->size;
        *bytes = (const uint8_t *)arena_strndup(mem, (const char *)block,
                                                (size_t)x->size);
        s = *bytes ? CLV_OK : clv__nomem(e);
    }
    *n = s == CLV_OK ? (size_t)x->size : 0;
    clv__free(block);
    return s;
}

bool clv__archive_has(const void *bytes, size_t size, const char *end)
{
    zip z;
    zip_entry x;
    size_t n = strlen(end);
    if (size < 4 || memcmp(bytes, "PK\3\4", 4) != 0 ||
        clv__zip_open(bytes, size, &z, NULL) != CLV_OK)
        return false;
    while (z.next < z.count) {
        if (clv__zip_list(&z, &x, NULL) != CLV_OK)
            return false;
        size_t folder = x.name_size - n; /* what stands before the ending */
        if (x.name_size >= n && !memcmp(x.name + folder, end, n) &&
            (folder == 0 || x.name[folder - 1] == '/'))
            return true;
    }
    return false;
}

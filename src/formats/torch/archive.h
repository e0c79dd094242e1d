/* archive.h - the zip archives that PyTorch writes.
 *
 * torch.save, torch.jit.save and torch.export.save put all entries under one
 * folder, named after the file; older export archives have none. Names are
 * asked for without that folder. Storages lie in the archive as they are, so
 * tensors can be read where they are. */
#ifndef CLV_TORCH_ARCHIVE_H
#define CLV_TORCH_ARCHIVE_H

#include "tensor/zip.h"

/* Starts as {0}. Borrows the bytes. */
typedef struct torch_archive {
    const uint8_t *bytes;
    size_t size;
    size_t at; /* of the archive in its file, for messages */
    zip_entry *entries;
    uint32_t n;
    size_t cap;
    strmap names;    /* of entries, without the folder */
    uint64_t budget; /* bytes that may still be unpacked */
} torch_archive;

/* Reads the directory. Fails with CLV_FORMAT. Close it in any case. */
CLV_MUST clv_status clv__archive_open(const void *bytes, size_t size,
                                      torch_archive *a, clv_err *e);
void clv__archive_close(torch_archive *a);
/* The entry called name; NULL when there is none. */
const zip_entry *clv__archive_find(const torch_archive *a, const char *name);
/* The name of entry i without the folder. Not terminated. */
const char *clv__archive_name(const torch_archive *a, uint32_t i, size_t *len);
/* The bytes of an entry. Those of a deflated one are unpacked to mem; all that
 * is unpacked from an archive is bounded by its size. */
CLV_MUST clv_status clv__archive_read(torch_archive *a, const zip_entry *x,
                                      arena *mem, const uint8_t **bytes,
                                      size_t *n, clv_err *e);
/* Whether the archive of these bytes has an entry whose name ends so, behind
 * its folder or in it. Looks at the directory alone. */
bool clv__archive_has(const void *bytes, size_t size, const char *end);

#endif

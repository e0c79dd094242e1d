/* files.c - core/mapping.h for the page: a file is mapped once and for good, as
 * a command may open its model many times, and is read by paging.c. */
#include "core/guard.h"
#include "core/limits.h"
#include "core/mapping.h"
#include "paging.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that were opened, newest first. */
typedef struct opened_file {
    struct opened_file *next;
    const uint8_t *data;
    size_t size;
    char path[];
} opened_file;

static opened_file *opened;

static clv_status file_refused(const char *path, clv_err *e)
{
    return clv__fail(e, errno == ENOENT ? CLV_NOT_FOUND : CLV_IO, "%s: %s",
                     path, strerror(errno));
}

static clv_status file_map(int fd, opened_file *f, clv_err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_refused(f->path, e);
    if (!S_ISREG(st.st_mode))
        return clv__fail(e, CLV_IO, "%s: %s", f->path,
                         S_ISDIR(st.st_mode) ? "is a folder"
                                             : "is not a regular file");
    if (st.st_size == 0)
        return CLV_OK;
    if ((uint64_t)st.st_size < UINT32_MAX)
        f->data = engine_page_in(fd, (size_t)st.st_size);
    if (!f->data)
        return clv__fail(e, CLV_IO,
                         "%s: %lld bytes; a browser's engine holds 4 GB at "
                         "most, the command reads it",
                         f->path, (long long)st.st_size);
    f->size = (size_t)st.st_size;
    return CLV_OK;
}

static clv_status file_open(const char *path, opened_file **out, clv_err *e)
{
    size_t n = strlen(path) + 1;
    opened_file *f = clv__zalloc(sizeof *f + n);
    if (!f)
        return clv__nomem(e);
    memcpy(f->path, path, n);
    int fd = open(path, O_RDONLY);
    clv_status s = fd < 0 ? file_refused(path, e) : file_map(fd, f, e);
    if (fd >= 0 && !f->data)
        close(fd);
    if (s != CLV_OK) {
        clv__free(f);
        return s;
    }
    f->next = opened;
    *out = opened = f;
    return CLV_OK;
}

clv_status clv__mapping_open(const char *path, clv_mapping *map, clv_err *e)
{
    *map = (clv_mapping){0};
    opened_file *f = opened;
    while (f && strcmp(f->path, path) != 0)
        f = f->next;
    if (!f)
        CLV_TRY(file_open(path, &f, e));
    *map = (clv_mapping){.data = f->data, .size = f->size};
    clv__budget_file(f->size);
    return CLV_OK;
}

void clv__mapping_close(clv_mapping *map)
{
    *map = (clv_mapping){0};
}

/* Reading in place takes no page fault here. */
size_t clv__mapping_peek(const clv_mapping *map, size_t at, void *bytes,
                         size_t n)
{
    (void)map, (void)at, (void)bytes, (void)n;
    return 0;
}

void clv__mapping_unpeek(clv_mapping *map)
{
    (void)map;
}

void clv__mapping_fetch(const void *file, size_t size)
{
    (void)file, (void)size;
}

void clv__mapping_drop(const void *file, size_t size, const void *bytes,
                       size_t n)
{
    (void)file, (void)size, (void)bytes, (void)n;
}

/* -- core/guard.h: a file that changes while it is read --------------------*/

static clv_status file_check(clv_err *e)
{
    return engine_page_failed()
               ? clv__fail(e, CLV_IO, "a file became shorter while it was read")
               : CLV_OK;
}

void clv__guard_add(const void *data, size_t size)
{
    (void)data, (void)size;
}

void clv__guard_remove(const void *data)
{
    (void)data;
}

clv_status clv__guard_check(const void *data, clv_err *e)
{
    (void)data;
    return file_check(e);
}

clv_status clv_files_intact(clv_err *err)
{
    clv__err_clear(err);
    return file_check(err);
}

void clv_guard_files(void)
{
}

void clv_unfinished(const char *path)
{
    (void)path;
}

void clv_finished(const char *path)
{
    (void)path;
}

void clv_cleanup(void)
{
}

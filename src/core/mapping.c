/* mapping.c - read-only file mappings.
 *
 * The kernel is told that access is random: a model file is a little graph
 * between a lot of weights, and reading ahead would fetch the weights. */
#include "core/mapping.h"
#include "core/guard.h"
#include "core/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static clv_status mapping_refused(const char *path, clv_err *e)
{
    return clv__fail(e, errno == ENOENT ? CLV_NOT_FOUND : CLV_IO, "%s: %s",
                     path, strerror(errno));
}

static clv_status map_file(int fd, const char *path, clv_mapping *map,
                           clv_err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return mapping_refused(path, e);
    if (!S_ISREG(st.st_mode))
        return clv__fail(e, CLV_IO, "%s: %s", path,
                         S_ISDIR(st.st_mode) ? "is a folder"
                                             : "is not a regular file");
    if (st.st_size == 0)
        return CLV_OK;
    if ((uint64_t)st.st_size > SIZE_MAX)
        return clv__fail(e, CLV_IO, "%s: too large to map", path);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return mapping_refused(path, e);
    madvise(p, (size_t)st.st_size, MADV_RANDOM);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    *map = (clv_mapping){.data = p, .size = (size_t)st.st_size};
    clv__guard_add(p, map->size);
    clv__budget_file(map->size);
    return CLV_OK;
}

clv_status clv__mapping_open(const char *path, clv_mapping *map, clv_err *e)
{
    *map = (clv_mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mapping_refused(path, e);
    clv_status s = map_file(fd, path, map, e);
    if (s == CLV_OK && fd > 0)
        map->file = fd;
    else
        close(fd);
    return s;
}

size_t clv__mapping_peek(const clv_mapping *map, size_t at, void *bytes,
                         size_t n)
{
    ssize_t got = map->file > 0 ? pread(map->file, bytes, n, (off_t)at) : 0;
    return got > 0 ? (size_t)got : 0;
}

void clv__mapping_unpeek(clv_mapping *map)
{
    if (map->file > 0)
        close(map->file);
    map->file = 0;
}

void clv__mapping_close(clv_mapping *map)
{
    clv__mapping_unpeek(map);
    if (map->data && !map->borrowed) {
        clv__guard_remove(map->data);
        munmap((void *)(uintptr_t)map->data, map->size);
    }
    *map = (clv_mapping){0};
}

void clv__mapping_fetch(const void *file, size_t size)
{
    if (!file)
        return;
    madvise((void *)(uintptr_t)file, size, MADV_NORMAL);
    madvise((void *)(uintptr_t)file, size, MADV_WILLNEED);
}

void clv__mapping_drop(const void *file, size_t size, const void *bytes,
                       size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)file, at = (uintptr_t)bytes;
    if (!file || at < from || n > size || at - from > size - n)
        return;
    uintptr_t begin = (at + page - 1) / page * page;
    uintptr_t end = (at + n) / page * page;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

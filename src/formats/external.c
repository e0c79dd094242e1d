/* external.c - weights that lie beside the model; see external.h. */
#include "formats/external.h"

#include "core/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct external_file {
    struct external_file *next;
    const char *name;
    void *data;
    size_t size;
} external_file;

static clv_status refused(const char *name, clv_err *e)
{
    return clv__fail(e, errno == ENOENT ? CLV_NOT_FOUND : CLV_IO,
                     "external data '%s': %s", name,
                     errno == ELOOP ? "is a link" : strerror(errno));
}

/* Opens name below folder, one part of the path at a time, so that no link
 * leads out of it. */
static clv_status open_inside(const char *folder, const char *name, int *fd,
                              clv_err *e)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *part = name; at >= 0 && *part;) {
        char buf[256];
        size_t n = strcspn(part, "/");
        bool last = part[n] == '\0';
        if (n >= sizeof buf || (n == 2 && !memcmp(part, "..", 2))) {
            close(at);
            return clv__fail(e, CLV_FORMAT,
                             "external data '%.200s' is no path inside the "
                             "model's folder",
                             name);
        }
        memcpy(buf, part, n);
        buf[n] = '\0';
        int next = n ? openat(at, buf,
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                                  (last ? 0 : O_DIRECTORY))
                     : dup(at);
        int why = errno;
        close(at);
        errno = why;
        at = next;
        part += n + !last;
    }
    *fd = at;
    return at < 0 ? refused(name, e) : CLV_OK;
}

static clv_status map_fd(int fd, external_file *f, clv_err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return refused(f->name, e);
    if (!S_ISREG(st.st_mode))
        return clv__fail(e, CLV_IO, "external data '%s' is no regular file",
                         f->name);
    if (st.st_size == 0)
        return CLV_OK;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return refused(f->name, e);
    f->data = p;
    f->size = (size_t)st.st_size;
    return CLV_OK;
}

static clv_status find_file(external_files *x, const char *folder,
                            const char *name, external_file **out, clv_err *e)
{
    for (external_file *f = x->first; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return *out = f, CLV_OK;
    if (!folder)
        return clv__fail(e, CLV_NOT_FOUND,
                         "external data '%s': the model has no folder", name);
    external_file *f = arena_zalloc(&x->mem, sizeof *f);
    int fd = -1;
    if (!f || !(f->name = arena_strndup(&x->mem, name, strlen(name))))
        return clv__nomem(e);
    CLV_TRY(open_inside(folder, name, &fd, e));
    clv_status s = map_fd(fd, f, e);
    close(fd);
    CLV_TRY(s);
    f->next = x->first;
    *out = x->first = f;
    return CLV_OK;
}

clv_status clv__external_file(external_files *x, const char *folder,
                              const char *name, const void **out, size_t *size,
                              clv_err *e)
{
    external_file *f = NULL;
    *out = NULL;
    CLV_TRY(find_file(x, folder, name, &f, e));
    *out = f->data;
    *size = f->size;
    return CLV_OK;
}

clv_status clv__external_at(external_files *x, const char *folder,
                            const clv_payload *p, int64_t bytes,
                            const void **out, clv_err *e)
{
    external_file *f = NULL;
    *out = NULL;
    CLV_TRY(find_file(x, folder, p->file, &f, e));
    if (bytes < 0 || p->offset > f->size ||
        (uint64_t)bytes > f->size - p->offset ||
        (p->size && p->size != (uint64_t)bytes))
        return clv__fail(e, CLV_FORMAT,
                         "external data '%s' has %zu bytes; %lld are needed "
                         "from byte %llu",
                         p->file, f->size, (long long)bytes,
                         (unsigned long long)p->offset);
    *out = bytes ? (const char *)f->data + p->offset : f->data;
    return CLV_OK;
}

void clv__external_drop(const external_files *x, const void *bytes, size_t n)
{
    for (const external_file *f = x->first; f; f = f->next)
        clv__mapping_drop(f->data, f->size, bytes, n);
}

void clv__external_close(external_files *x)
{
    for (external_file *f = x->first; f; f = f->next)
        if (f->data)
            munmap(f->data, f->size);
    arena_free(&x->mem);
    *x = (external_files){0};
}

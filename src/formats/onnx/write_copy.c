/* write_copy.c - a graph that came from ONNX, copied as it is: the mapped file,
 * and the files of its external data. Files are written under another name and
 * put in their place when they are whole. */
#include "cleave/service.h"
#include "core/mapping.h"
#include "formats/onnx/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *writer_open(char *path, clv_err *e)
{
    int fd = mkstemp(path); /* which only its owner may read */
    mode_t mask = umask(0);
    umask(mask);
    if (fd >= 0) {
        clv_unfinished(path);
        (void)!fchmod(fd, 0666 & ~mask);
    }
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f)
        clv__fail(e, CLV_IO, "cannot write '%s': %s", path, strerror(errno));
    if (!f && fd >= 0) {
        close(fd);
        unlink(path);
        clv_finished(path);
    }
    return f;
}

clv_status writer_settle(FILE *f, const char *temporary, const char *path,
                         clv_status s, clv_err *e)
{
    if (!f)
        return s;
    bool closed = fclose(f) == 0;
    if (s == CLV_OK && (!closed || rename(temporary, path) != 0))
        s = clv__fail(e, CLV_IO, "cannot write '%s': %s", path,
                      strerror(errno));
    if (s != CLV_OK)
        unlink(temporary);
    clv_finished(temporary);
    return s;
}

static clv_status copy_bytes(const void *data, size_t size, const char *path,
                             clv_err *e)
{
    arena mem = {0};
    char *temporary = arena_printf(&mem, "%s.XXXXXX", path);
    FILE *f = temporary ? writer_open(temporary, e) : NULL;
    clv_status s = f ? CLV_OK : temporary ? CLV_IO : clv__nomem(e);
    if (f && size && fwrite(data, 1, size, f) != size)
        s = clv__fail(e, CLV_IO, "cannot write '%s': %s", path,
                      strerror(errno));
    s = writer_settle(f, temporary, path, s, e);
    arena_free(&mem);
    return s;
}

/* Where a copy goes, and what has gone there. */
typedef struct copying {
    const clv_graph *g;
    char *folder; /* with its slash */
    strmap done;
    external_files files;
    arena mem;
} copying;

/* A file that is not there is no failure: models are passed on without it. */
static clv_status copy_external(copying *c, const char *name, clv_err *e)
{
    bool added;
    if (!strmap_add(&c->done, name, strlen(name), 0, &added))
        return clv__nomem(e);
    const void *data;
    size_t size;
    clv_err missing = {0};
    char *path = arena_printf(&c->mem, "%s%s", c->folder, name);
    clv_status s = !added ? CLV_NOT_FOUND
                          : clv__external_file(&c->files, c->g->folder, name,
                                               &data, &size, &missing);
    if (s == CLV_NOT_FOUND)
        return CLV_OK;
    if (s != CLV_OK || !path)
        return clv__fail(e, path ? s : CLV_NOMEM, "%s", missing.msg);
    return copy_bytes(data, size, path, e);
}

static clv_status copy_externals(copying *c, const clv_graph *g, clv_err *e)
{
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].data && g->values[v].data->file)
            CLV_TRY(copy_external(c, g->values[v].data->file, e));
    for (uint32_t i = 0; i < g->n_bodies; i++)
        CLV_TRY(copy_externals(c, g->bodies[i], e));
    return CLV_OK;
}

static bool copy_same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

clv_status writer_copy(const clv_graph *g, const char *path, clv_err *e)
{
    const clv_mapping *map = g->owner;
    const char *slash = strrchr(path, '/');
    copying c = {.g = g};
    c.folder = slash ? arena_strndup(&c.mem, path, (size_t)(slash - path) + 1)
                     : arena_strndup(&c.mem, "./", 2);
    clv_status s = c.folder ? CLV_OK : clv__nomem(e);
    if (s == CLV_OK && !copy_same_folder(c.folder, g->folder))
        s = copy_externals(&c, g, e);
    if (s == CLV_OK)
        s = copy_bytes(map->data, map->size, path, e);
    strmap_free(&c.done);
    clv__external_close(&c.files);
    arena_free(&c.mem);
    return s;
}

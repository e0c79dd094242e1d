/* plugin.c - finds and loads a backend's shared object when it is asked for. */
#define _GNU_SOURCE
#include "backend/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CLV_LIBDIR
#define CLV_LIBDIR      "/usr/local/lib"
#define CLV_LIBDIR_NAME "lib" /* below the prefix; Debian: lib/<machine> */
#endif

bool clv__plugin_is_safe(const char *path)
{
    char folder[1200];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    return stat(slash ? folder : ".", &st) == 0 &&
           (st.st_uid == 0 || st.st_uid == geteuid()) &&
           !(st.st_mode & S_IWOTH);
}

/* NULL, and `*why`, when the file is there and cannot be loaded; "" when it is
 * not there. */
static void *try_open(const char *folder, const char *below, const char *name,
                      const char **why)
{
    char path[1200];
    snprintf(path, sizeof path, "%s%slibcleave-%s.so", folder, below, name);
    if (access(path, F_OK) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            *why = strerror(errno);
        return NULL;
    }
    if (!clv__plugin_is_safe(path)) {
        *why = "others may write to its folder";
        return NULL;
    }
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so && !(*why = dlerror()))
        *why = "out of memory";
    return so;
}

/* The file that holds this code, as the system says: a program's own word for
 * it (argv[0]) may be anything. */
static bool own_file(char *buf, size_t size)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[1400];
    uintptr_t at = (uintptr_t)&clv__onednn_type;
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        const char *path = strchr(line, '/');
        if (!path || sscanf(line, "%lx-%lx", &from, &to) != 2 || at < from ||
            at >= to)
            continue;
        snprintf(buf, size, "%.*s", (int)strcspn(path, "\n"), path);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* The folder of the program or library that this code is part of. */
static void own_folder(char *buf, size_t size)
{
    Dl_info info;
    if (!own_file(buf, size)) {
        bool told =
            dladdr((const void *)&clv__onednn_type, &info) && info.dli_fname;
        snprintf(buf, size, "%s", told ? info.dli_fname : "");
    }
    char *slash = strrchr(buf, '/');
    if (slash)
        slash[1] = '\0';
    else
        snprintf(buf, size, "./");
}

/* The Python package lies two folders below the build's. */
static const char *const below_own[] = {"", "../", "../../",
                                        "../" CLV_LIBDIR_NAME "/", "../lib/"};

static void *find_plugin(const char *name, const char **why)
{
    char folder[1024];
    void *so = NULL;
    own_folder(folder, sizeof folder);
    for (size_t i = 0; !so && i < sizeof below_own / sizeof *below_own; i++)
        so = try_open(folder, below_own[i], name, why);
    return so ? so : try_open(CLV_LIBDIR, "/", name, why);
}

static clv_status check_plugin(const clv_plugin *p, const char *name,
                               clv_err *e)
{
    if (!p)
        return clv__fail(e, CLV_FORMAT,
                         "libcleave-%s.so has no %s: it is no plugin, or an "
                         "old one",
                         name, CLV_PLUGIN_SYMBOL);
    if (p->abi != CLV_PLUGIN_ABI)
        return clv__fail(e, CLV_FORMAT,
                         "libcleave-%s.so has plugin ABI %u, this is cleave %s "
                         "with ABI %u",
                         name, p->abi, CLV_VERSION, CLV_PLUGIN_ABI);
    if (p->layout != CLV_PLUGIN_LAYOUT || p->n_ops != CLV_OP_COUNT)
        return clv__fail(e, CLV_FORMAT,
                         "libcleave-%s.so is of another build of cleave", name);
    return CLV_OK;
}

clv_status clv__plugin_open(clv_backend *b, const char *name, const char *rest,
                            clv_err *e)
{
    const char *why = NULL;
    if (strchr(name, '/'))
        return CLV_OK; /* a name, not a way to one */
    void *so = find_plugin(name, &why);
    if (!so && why)
        return clv__fail(e, CLV_FORMAT, "backend '%s' cannot be loaded: %.300s",
                         name, why);
    if (!so)
        return CLV_OK;
    const clv_plugin *p = dlsym(so, CLV_PLUGIN_SYMBOL);
    CLV_TRY(check_plugin(p, name, e));
    p->memory_from(clv__memory());
    p->limits_from(clv__limits_own);
    b->type = p->type; /* the object stays loaded: its threads may live on */
    b->name = p->type->name;
    b->about = p->type->about;
    return clv__backend_start(b, rest, e);
}

static clv_status plugin_start(clv_backend *b, const char *argument, clv_err *e)
{
    const char *name = b->type->name;
    char *rest = arena_printf(&b->mem, "%s%s", *argument ? ":" : "", argument);
    if (!rest)
        return clv__nomem(e);
    b->type = NULL;
    CLV_TRY(clv__plugin_open(b, name, rest, e));
    if (b->type)
        return CLV_OK;
    return clv__about(e,
                      clv__fail(e, CLV_NOT_FOUND,
                                "backend '%s' is not installed: no "
                                "libcleave-%s.so beside the program",
                                name, name),
                      CLV_SUBJECT_PLUGIN, name);
}

bool clv_backend_loads(void)
{
    return true;
}

const clv_backend_type clv__onednn_type = {
    .name = "onednn",
    .about = "oneDNN, where it is installed: runs what it supports",
    .open = plugin_start,
};

const clv_backend_type clv__ort_type = {
    .name = "ort",
    .about = "ONNX Runtime, where it is installed, with any provider",
    .argument = CLV_ARGUMENT_MAY,
    .open = plugin_start,
};

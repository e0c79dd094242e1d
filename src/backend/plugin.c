/* plugin.c - finds and loads a backend's shared object when it is asked for. */
#define _GNU_SOURCE
#include "backend/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef CLV_LIBDIR
#define CLV_LIBDIR "/usr/local/lib"
#endif

static void *try_open(const char *folder, const char *below, const char *name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s%slibcleave-%s.so", folder, below, name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The folder of the program or library that this code is part of. A program
 * found along PATH is known by its bare name; Linux knows the rest. */
static void own_folder(char *buf, size_t size)
{
    Dl_info info;
    *buf = '\0';
    if (dladdr((const void *)&clv__onednn_type, &info) && info.dli_fname)
        snprintf(buf, size, "%s", info.dli_fname);
    if (!strchr(buf, '/')) {
        ssize_t n = readlink("/proc/self/exe", buf, size - 1);
        buf[n > 0 ? n : 0] = '\0';
    }
    char *slash = strrchr(buf, '/');
    if (slash)
        slash[1] = '\0';
    else
        snprintf(buf, size, "./");
}

static void *find_plugin(const char *name)
{
    char folder[1024];
    own_folder(folder, sizeof folder);
    void *so = try_open(folder, "", name);
    if (!so)
        so = try_open(folder, "../", name);
    if (!so) /* the Python package lies two folders below the build's */
        so = try_open(folder, "../../", name);
    if (!so)
        so = try_open(folder, "../lib/", name);
    return so ? so : try_open(CLV_LIBDIR, "/", name);
}

static clv_status open_plugin(clv_backend *b, const char *argument, clv_err *e)
{
    void *so = find_plugin(b->type->name);
    if (!so)
        return clv__about(e,
                          clv__fail(e, CLV_NOT_FOUND,
                                    "backend '%s' is not installed: no "
                                    "libcleave-%s.so beside the program",
                                    b->type->name, b->type->name),
                          CLV_SUBJECT_PLUGIN, b->type->name);
    const clv_backend_type *type = dlsym(so, CLV_PLUGIN_SYMBOL);
    if (!type)
        return clv__fail(e, CLV_FORMAT, "libcleave-%s.so has no backend",
                         b->type->name);
    if (type->n_ops != CLV_OP_COUNT)
        return clv__fail(e, CLV_FORMAT,
                         "libcleave-%s.so is of another build of cleave",
                         b->type->name);
    if (type->memory_from)
        type->memory_from(clv__memory());
    b->type = type; /* the object stays loaded: its threads may live on */
    b->about = type->about;
    return type->open ? type->open(b, argument, e) : CLV_OK;
}

bool clv_backend_loads(void)
{
    return true;
}

const clv_backend_type clv__onednn_type = {
    .name = "onednn",
    .about = "oneDNN, where it is installed: runs what it supports",
    .open = open_plugin,
};

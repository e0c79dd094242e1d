/* api.c - finds ONNX Runtime's shared library and takes functions out of its
 * table. */
#include "backend/ort/api.h"
#include "backend/plugin.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { API_VERSION = 12 }; /* the oldest that has all of api.def */

/* What the library exports, as ONNX Runtime documents it. */
typedef struct api_base {
    const void *(*table)(uint32_t version);
    const char *(*version)(void);
} api_base;

static clv_status api_take(void *so, ort_api *api, clv_err *e)
{
    const api_base *(*entry)(void) = NULL;
    void *symbol = dlsym(so, "OrtGetApiBase");
    memcpy(&entry, &symbol, sizeof entry);
    const api_base *base = symbol ? entry() : NULL;
    if (!base)
        return clv__fail(e, CLV_FORMAT, "%.300s is not ONNX Runtime",
                         api->path);
    api->version = base->version();
    const char *table = base->table(API_VERSION);
    if (!table)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "ONNX Runtime %.40s is older than 1.%d", api->version,
                         API_VERSION);
#define ORT(place, result, name, arguments) \
    memcpy(&api->name, table + (place) * sizeof(void *), sizeof(void *));
#include "backend/ort/api.def"
#undef ORT
    return CLV_OK;
}

static void *api_open(ort_api *api, const char *path)
{
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (so)
        snprintf(api->path, sizeof api->path, "%s", path);
    return so;
}

/* The first library that matches the pattern. A file found by looking is loaded
 * only from a folder that others cannot write to. */
static void *api_search(ort_api *api, const char *pattern)
{
    glob_t found;
    void *so = NULL;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; !so && i < found.gl_pathc; i++)
        if (clv__plugin_is_safe(found.gl_pathv[i]))
            so = api_open(api, found.gl_pathv[i]);
    globfree(&found);
    return so;
}

/* Below a folder that holds Pythons' libraries. */
static void *api_search_python(ort_api *api, const char *root)
{
    static const char *const below[] = {
        "lib/python3*/site-packages", "lib/python3*/dist-packages",
        "lib/python3/dist-packages", "local/lib/python3*/dist-packages"};
    char pattern[1200];
    void *so = NULL;
    for (size_t i = 0; !so && i < sizeof below / sizeof *below; i++) {
        snprintf(pattern, sizeof pattern,
                 "%.900s/%s/onnxruntime/capi/libonnxruntime.so*", root,
                 below[i]);
        so = api_search(api, pattern);
    }
    return so;
}

/* The folders above those of PATH that hold a python3, the first few. */
static void *api_search_path(ort_api *api)
{
    const char *path = getenv("PATH");
    void *so = NULL;
    while (path && *path && !so) {
        size_t n = strcspn(path, ":");
        char file[1100], root[1000];
        struct stat st;
        snprintf(file, sizeof file, "%.*s/python3", (int)(n < 900 ? n : 900),
                 path);
        if (n && stat(file, &st) == 0) {
            snprintf(root, sizeof root, "%.*s/..", (int)(n < 900 ? n : 900),
                     path);
            so = api_search_python(api, root);
        }
        path += n + (path[n] == ':');
    }
    return so;
}

static void *api_find(ort_api *api)
{
    const char *active = getenv("VIRTUAL_ENV"), *home = getenv("HOME");
    char own[1000];
    void *so = api_open(api, "libonnxruntime.so.1");
    if (!so)
        so = api_open(api, "libonnxruntime.so");
    if (!so && active)
        so = api_search_python(api, active);
    if (!so && home) {
        snprintf(own, sizeof own, "%.900s/.local", home);
        so = api_search_python(api, own);
    }
    return so ? so : api_search_path(api);
}

/* A file, or the library in a folder: that of the package, or its own. */
static void *api_open_named(ort_api *api, const char *path)
{
    static const char *const below[] = {"", "capi/", "onnxruntime/capi/"};
    struct stat st;
    char pattern[1200];
    void *so = NULL;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return api_open(api, path);
    for (size_t i = 0; !so && i < sizeof below / sizeof *below; i++) {
        snprintf(pattern, sizeof pattern, "%.1000s/%slibonnxruntime.so*", path,
                 below[i]);
        so = api_search(api, pattern);
    }
    return so;
}

clv_status ort_load(const char *path, ort_api *api, clv_err *e)
{
    const char *named = *path ? path : getenv("CLEAVE_ORT");
    *api = (ort_api){0};
    void *so = named && *named ? api_open_named(api, named) : api_find(api);
    if (so)
        return api_take(so, api, e);
    const char *why = named && *named ? dlerror() : NULL;
    if (named && *named)
        return clv__fail(e, CLV_NOT_FOUND,
                         "no ONNX Runtime can be loaded from '%.200s'%s%.200s",
                         named, why ? ": " : "", why ? why : "");
    return clv__fail(e, CLV_NOT_FOUND,
                     "no libonnxruntime is installed: 'pip install "
                     "onnxruntime', or name one by ort:lib=FILE or CLEAVE_ORT");
}

clv_status ort_check(const ort_api *api, ort_status *s, clv_err *e)
{
    if (!s)
        return CLV_OK;
    const char *text = api->GetErrorMessage(s);
    clv_status st =
        clv__fail(e, CLV_UNSUPPORTED, "%.*s", (int)strcspn(text, "\n"), text);
    api->ReleaseStatus(s);
    return st;
}

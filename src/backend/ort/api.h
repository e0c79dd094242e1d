/* api.h - ONNX Runtime as a library that is found at run time. */
#ifndef CLV_ORT_API_H
#define CLV_ORT_API_H

#include "core/core.h"

typedef struct ort_status ort_status; /* NULL means that all went well */
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_options ort_options;
typedef struct ort_memory ort_memory;
typedef struct ort_value ort_value;
typedef struct ort_allocator ort_allocator;

enum { ORT_LOG_ERROR = 3, ORT_LOG_FATAL = 4 };            /* of CreateEnv */
enum { ORT_ARENA_ALLOCATOR = 1, ORT_MEMORY_DEFAULT = 0 }; /* of memory infos */

/* The functions of api.def, each under its name. */
typedef struct ort_api {
#define ORT(place, result, name, arguments) result(*name) arguments;
#include "backend/ort/api.def"
#undef ORT
    const char *version; /* "1.31.1" */
    char path[1024];     /* of the library */
} ort_api;

/* Loads the library: `path` if it is not empty, else what the environment
 * variable CLEAVE_ORT names (a file or its folder), else libonnxruntime where
 * the system looks for libraries, else that of the Python package `onnxruntime`
 * of the active or the first Python. It stays loaded. Fails with CLV_NOT_FOUND
 * when there is none. */
CLV_MUST clv_status ort_load(const char *path, ort_api *api, clv_err *e);

/* CLV_OK if s is NULL. Else fails with the first line of its message, and
 * releases it. */
CLV_MUST clv_status ort_check(const ort_api *api, ort_status *s, clv_err *e);

#endif

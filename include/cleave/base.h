/* base.h - status codes, errors, data types, text buffers, memory.
 *
 * Threads: every function may be called from any thread, but clv_set_allocator
 * only before all others. A clv_buf belongs to one thread at a time. */
#ifndef CLEAVE_BASE_H
#define CLEAVE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CLV_C extern "C"
#else
#define CLV_C
#endif

#if defined(__GNUC__)
#define CLV_API               CLV_C __attribute__((visibility("default")))
#define CLV_MUST              __attribute__((warn_unused_result))
#define CLV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CLV_API CLV_C
#define CLV_MUST
#define CLV_PRINTF(fmt, args)
#endif

/* The version of this header; clv_version and clv_version_number give that of
 * the library a program runs with. 0.1.0 is 100. */
#define CLV_VERSION       "0.1.0"
#define CLV_VERSION_MAJOR 0
#define CLV_VERSION_MINOR 1
#define CLV_VERSION_PATCH 0
#define CLV_VERSION_NUMBER \
    (CLV_VERSION_MAJOR * 10000 + CLV_VERSION_MINOR * 100 + CLV_VERSION_PATCH)

/* "no node", "no value", "no module" */
#define CLV_NONE UINT32_MAX

/* More axes than this is an error on load. */
#define CLV_MAX_RANK 16

/*      code         exit  what went wrong */
#define CLV_STATUS_TABLE(X) \
    X(OK, 0, "done") \
    X(LIMIT, 1, "a check or constraint failed") \
    X(USAGE, 2, "wrong arguments") \
    X(NOT_FOUND, 3, "no such model, file, device or node") \
    X(IO, 3, "the operating system refused") \
    X(FORMAT, 3, "malformed or hostile file") \
    X(SHAPE, 3, "shapes or types do not fit") \
    X(OVERFLOW, 3, "a size does not fit 64 bits") \
    X(UNSUPPORTED, 3, "understood, but not possible here") \
    X(NOMEM, 3, "out of memory") \
    X(INTERNAL, 4, "a bug in cleave") \
    X(EXCEEDED, 3, "a limit was reached (clv_limits_set)")

typedef enum clv_status {
#define CLV_X(code, exit, text) CLV_##code,
    CLV_STATUS_TABLE(CLV_X)
#undef CLV_X
} clv_status;

/* What a failure or a warning is about, for programs that add advice of their
 * own. `subject` is the name in brackets. */
typedef enum clv_subject_kind {
    CLV_SUBJECT_NONE,
    CLV_SUBJECT_MODEL,   /* there is no such model (its name) */
    CLV_SUBJECT_DIM,     /* a symbolic dimension (its name) */
    CLV_SUBJECT_SIZES,   /* sizes that a file leaves open (the input) */
    CLV_SUBJECT_INPUT,   /* data that does not fit (the input) */
    CLV_SUBJECT_LOOP,    /* trips that are not known (the node) */
    CLV_SUBJECT_DTYPE,   /* a type that a device has no rate for (its name) */
    CLV_SUBJECT_OPSET,   /* a model that cannot be written at another opset */
    CLV_SUBJECT_MEMORY,  /* a run takes more than there is (the model) */
    CLV_SUBJECT_DEVICE,  /* there is no such device (its name) */
    CLV_SUBJECT_BACKEND, /* there is no such backend (its name) */
    CLV_SUBJECT_PLUGIN,  /* the backend's plugin is not installed (its name) */
    CLV_SUBJECT_LIMIT,   /* a limit ("memory", "seconds", "nodes") */
    CLV_SUBJECT_WEIGHTS  /* a weight without data (its name), or which are
                            weights */
} clv_subject_kind;

/* One clear line about the first failure, and what it is about. Belongs to the
 * caller, who need not initialise it; every function that takes one accepts
 * NULL. Its size is fixed. */
typedef struct clv_err {
    clv_status code;
    char msg[512];
    clv_subject_kind about;
    char subject[64]; /* its name: "batch"; "" when there is none */
} clv_err;

/* The process exit code that fits a status (0..4). */
CLV_API int clv_status_exit(clv_status s);

/*      code        name          alias     bits  class */
#define CLV_DTYPE_TABLE(X) \
    X(NODTYPE, "?", "", 0, NONE) \
    X(FLOAT32, "float32", "fp32", 32, FLOAT) \
    X(FLOAT16, "float16", "fp16", 16, FLOAT) \
    X(BFLOAT16, "bfloat16", "bf16", 16, FLOAT) \
    X(FLOAT64, "float64", "fp64", 64, FLOAT) \
    X(INT8, "int8", "i8", 8, INT) \
    X(UINT8, "uint8", "u8", 8, UINT) \
    X(INT16, "int16", "i16", 16, INT) \
    X(UINT16, "uint16", "u16", 16, UINT) \
    X(INT32, "int32", "i32", 32, INT) \
    X(UINT32, "uint32", "u32", 32, UINT) \
    X(INT64, "int64", "i64", 64, INT) \
    X(UINT64, "uint64", "u64", 64, UINT) \
    X(BOOL, "bool", "b8", 8, BOOL) \
    X(COMPLEX64, "complex64", "c64", 64, COMPLEX) \
    X(COMPLEX128, "complex128", "c128", 128, COMPLEX) \
    X(FLOAT8E4M3, "float8e4m3", "fp8", 8, FLOAT) \
    X(FLOAT8E4M3UZ, "float8e4m3uz", "", 8, FLOAT) \
    X(FLOAT8E5M2, "float8e5m2", "", 8, FLOAT) \
    X(FLOAT8E5M2UZ, "float8e5m2uz", "", 8, FLOAT) \
    X(FLOAT8E8M0, "float8e8m0", "", 8, FLOAT) \
    X(INT4, "int4", "i4", 4, INT) \
    X(UINT4, "uint4", "u4", 4, UINT) \
    X(FLOAT4E2M1, "float4e2m1", "fp4", 4, FLOAT) \
    X(INT2, "int2", "i2", 2, INT) \
    X(UINT2, "uint2", "u2", 2, UINT) \
    X(STRING, "string", "", 0, NONE)

typedef enum clv_dtype {
#define CLV_X(code, name, alias, bits, cls) CLV_##code,
    CLV_DTYPE_TABLE(CLV_X)
#undef CLV_X
        CLV_DTYPE_COUNT
} clv_dtype;

CLV_API const char *clv_dtype_name(clv_dtype t);
/* By name or alias; CLV_NODTYPE when there is none. */
CLV_API clv_dtype clv_dtype_find(const char *name);
/* Bytes of n elements, packed types rounded up; -1 on overflow. */
CLV_API int64_t clv_dtype_bytes(clv_dtype t, int64_t n);

/* A growing text buffer; all reports are written into one. Starts as
 * {0}. A failed allocation is remembered in `failed` and later writes do
 * nothing, so a caller checks once at the end. */
typedef struct clv_buf {
    char *text; /* NUL-terminated when not NULL */
    size_t len, cap;
    bool failed;
} clv_buf;

CLV_API void clv_buf_add(clv_buf *b, const char *text, size_t len);
CLV_API void clv_buf_printf(clv_buf *b, const char *fmt, ...) CLV_PRINTF(2, 3);
CLV_API void clv_buf_free(clv_buf *b);
/* Fails when a write into b did: memory ran out, or its limit was reached. */
CLV_API CLV_MUST clv_status clv_buf_check(const clv_buf *b, clv_err *err);

/* snprintf, vsnprintf and strtod as in the C locale: the point is '.', whatever
 * the process has set. */
CLV_API int clv_format(char *buf, size_t size, const char *fmt, ...)
    CLV_PRINTF(3, 4);
CLV_API int clv_vformat(char *buf, size_t size, const char *fmt, va_list ap)
    CLV_PRINTF(3, 0);
CLV_API double clv_text_double(const char *text, char **end);

/* Makes a line of text safe to show, in place: control characters, line ends,
 * characters that turn the direction of writing or are not seen, and what is no
 * UTF-8 become '?'. Every message of the library is such a line. */
CLV_API void clv_clean_text(char *text);

/* All memory comes from here. The default is malloc; `ctx` is handed to each
 * call. Not thread-safe: set it before the first other call. NULL restores the
 * default. */
typedef struct clv_allocator {
    void *(*realloc)(void *ctx, void *p, size_t size); /* size 0 frees */
    void *ctx;
} clv_allocator;

CLV_API void clv_set_allocator(const clv_allocator *a);

/* Names close to a misspelt word, at most three: "'a', 'b' or 'c'" into buf.
 * False, and "", when none is close. */
CLV_API bool clv_suggest(const char *word, const char *const *names, size_t n,
                         char *buf, size_t size);

CLV_API const char *clv_version(void);
CLV_API int clv_version_number(void);

#endif

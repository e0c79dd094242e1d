/* plugin.h - backends in shared objects of their own.
 *
 * libcleave-NAME.so exports one symbol, `clv_plugin_entry`, and is opened as
 * the backend NAME. It is looked for beside the program or the library, in the
 * folder above, and where libraries are installed. A plugin sees the library's
 * own headers, so it must be built with the same ones: what it was built with
 * is in its entry, and any other is refused. */
#ifndef CLV_PLUGIN_H
#define CLV_PLUGIN_H

#include "backend/backend.h"
#include "core/limits.h"

#define CLV_PLUGIN_SYMBOL "clv_plugin_entry"

/* The version of what a plugin relies on: clv_backend_type, the graph, tensors.
 * It goes up with every change of them. */
enum { CLV_PLUGIN_ABI = 4 };

/* The number of bytes in the structs a plugin reads: catches a change that
 * forgot to raise the version. */
#define CLV_PLUGIN_LAYOUT \
    (uint32_t)(sizeof(clv_graph) + sizeof(clv_node) + sizeof(clv_value) + \
               sizeof(clv_attr) + sizeof(clv_backend_type))

typedef struct clv_plugin {
    uint32_t abi; /* first, for all time */
    uint32_t layout;
    uint32_t n_ops; /* operators it was built with */
    const clv_backend_type *type;
    /* Makes it take memory where the library does, as either may free what the
     * other took. */
    void (*memory_from)(clv_allocator *a);
    /* Makes it see the limits of the thread that calls it. */
    void (*limits_from)(limits_fn *library);
} clv_plugin;

/* A plugin says CLV_PLUGIN(type) once, outside of functions. */
#define CLV_PLUGIN(backend_type) \
    CLV_API const clv_plugin clv_plugin_entry; \
    const clv_plugin clv_plugin_entry = {CLV_PLUGIN_ABI,   CLV_PLUGIN_LAYOUT, \
                                         CLV_OP_COUNT,     &(backend_type), \
                                         clv__memory_from, clv__limits_from}

/* Rows that stand for the plugins of the library until they are opened. */
extern const clv_backend_type clv__onednn_type, clv__ort_type;

/* Opens the plugin called `name`, which is short and has no '/'; `rest` is what
 * follows the name: "" or ":ARGUMENT". b->type stays NULL when there is no file
 * of that name. Fails with CLV_FORMAT when the file is no plugin, or one of
 * another version. */
CLV_MUST clv_status clv__plugin_open(clv_backend *b, const char *name,
                                     const char *rest, clv_err *e);

/* Code is loaded from a folder only if nobody but its owner, root or we, may
 * write to it. True if that holds for the file at `path`. */
bool clv__plugin_is_safe(const char *path);

/* Opens b, whose type is set, with what follows its name. */
CLV_MUST clv_status clv__backend_start(clv_backend *b, const char *rest,
                                       clv_err *e);

#endif

/* noplugin.c - stands in for plugin.c in a static program. It defines all that
 * plugin.c does, so that the linker leaves that one, and dlopen, in the
 * archive.
 */
#include "backend/plugin.h"

/* There are none: b->type stays NULL. */
clv_status clv__plugin_open(clv_backend *b, const char *name, const char *rest,
                            clv_err *e)
{
    (void)b, (void)name, (void)rest, (void)e;
    return CLV_OK;
}

bool clv__plugin_is_safe(const char *path)
{
    (void)path;
    return false;
}

static clv_status open_plugin(clv_backend *b, const char *argument, clv_err *e)
{
    (void)argument;
    return clv__fail(e, CLV_NOT_FOUND,
                     "backend '%s' is not installed: a static program needs "
                     "cleave-plugins beside it",
                     b->type->name);
}

bool clv_backend_loads(void)
{
    return false;
}

const clv_backend_type clv__onednn_type = {
    .name = "onednn",
    .about = "oneDNN, where it is installed: runs what it supports",
    .open = open_plugin,
};

const clv_backend_type clv__ort_type = {
    .name = "ort",
    .about = "ONNX Runtime, where it is installed, with any provider",
    .argument = CLV_ARGUMENT_MAY,
    .open = open_plugin,
};

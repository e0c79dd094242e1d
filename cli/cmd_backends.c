/* cmd_backends.c - what can be asked for support. */
#include "cli.h"

clv_status cmd_backends(const options *o, clv_err *err)
{
    clv_buf out = {0};
    clv_status s = CLV_OK;
    const char *name;
    for (uint32_t i = 0; (name = clv_backend_at(i)) && s == CLV_OK; i++) {
        char spec[80];
        clv_backend *b;
        if (o->names) {
            clv_buf_printf(&out, "%s\n", name);
            continue;
        }
        /* Those that take an argument open with any. */
        snprintf(spec, sizeof spec, "%s:relu", name);
        if (clv_backend_open(spec, NULL, &b, NULL) != CLV_OK)
            s = clv_backend_open(name, NULL, &b, err);
        if (s == CLV_NOT_FOUND) { /* a plugin that is not here */
            clv_buf_printf(&out, "%-12s %s\n", name, err->msg);
            s = CLV_OK;
        } else if (s == CLV_OK) {
            clv_buf_printf(&out, "%-12s %s\n", name, clv_backend_about(b));
        }
        clv_backend_free(b);
    }
    if (s == CLV_OK)
        s = emit_text(o, &out, err);
    clv_buf_free(&out);
    return s;
}

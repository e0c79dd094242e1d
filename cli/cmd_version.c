/* cmd_version.c - the version. */
#include "cli.h"

clv_status cmd_version(const options *o, clv_err *err)
{
    clv_buf text = {0};
    clv_buf_printf(&text, "cleave %s\n", clv_version());
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}

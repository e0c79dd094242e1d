/* cmd_verify.c - checks the folder of an exported cut. */
#include "cli.h"

clv_status cmd_verify(const options *o, clv_err *err)
{
    clv_bundle_info t = {.size = sizeof t};
    clv_buf out = {0};
    clv_status s = clv_bundle_verify(o->args.items[0], &t, err);
    if (s != CLV_OK)
        return s;
    clv_buf_printf(&out,
                   "%s: %u partitions, %u operators: each once, in order, "
                   "interfaces exact\n",
                   o->args.items[0], t.partitions, t.nodes);
    s = emit_text(o, &out, err);
    clv_buf_free(&out);
    return s;
}

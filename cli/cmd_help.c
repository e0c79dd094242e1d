/* cmd_help.c - the commands, or the flags of one. */
#include "cli.h"

clv_status cmd_help(const options *o, clv_err *err)
{
    clv_buf text = {0};
    const command *c = NULL;
    if (o->args.n && !(c = command_find(o->args.items[0], err)))
        return err->code;
    if (c)
        help_command(c, &text);
    else if (o->completion)
        help_completion(&text);
    else if (o->man)
        help_man(&text);
    else
        help_overview(&text);
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}

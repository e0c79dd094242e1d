/* cmd_formats.c - the kinds of model files that are read and written. */
#include "cli.h"

static void formats_report(const void *result, const clv_report_opts *o,
                           clv_buf *out)
{
    (void)result;
    clv_report_formats(o, out);
}

clv_status cmd_formats(const options *o, clv_err *err)
{
    return emit(o, formats_report, NULL, err);
}

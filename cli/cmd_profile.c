/* cmd_profile.c - what a model costs. */
#include "cli.h"

static void profile_report(const void *result, const clv_report_opts *o,
                           clv_buf *out)
{
    clv_report_profile(result, o, out);
}

clv_status cmd_profile(const options *o, clv_err *err)
{
    clv_graph *g;
    clv_profile *p;
    clv_status s = open_profile(o, &g, &p, err);
    if (s == CLV_OK)
        s = emit(o, profile_report, p, err);
    if (s == CLV_OK)
        s = check_strict(o, p, err);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

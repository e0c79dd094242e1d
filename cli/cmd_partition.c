/* cmd_partition.c - cuts a model into subgraphs. */
#include "strategy.h"

typedef struct partition {
    clv_cut *cut;
    clv_summary *summary;
} partition;

static void report(const void *result, const clv_report_opts *o, clv_buf *out)
{
    const partition *p = result;
    clv_report_partition(p->cut, p->summary, o, out);
}

clv_status cmd_partition(const options *o, clv_err *err)
{
    clv_graph *g;
    clv_profile *p;
    partition r = {0};
    clv_status s = open_profile(o, &g, &p, err);
    if (s == CLV_OK)
        s = make_cut(o, "op", p, &r.cut, err);
    if (s == CLV_OK)
        s = clv_cut_verify(r.cut, err);
    if (s == CLV_OK)
        s = clv_summary_new(r.cut, &r.summary, err);
    if (s == CLV_OK)
        s = emit(o, report, &r, err);
    if (s == CLV_OK)
        s = check_strict(o, p, err);
    clv_summary_free(r.summary);
    clv_cut_free(r.cut);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

/* cmd_partition.c - cuts a model into subgraphs. */
#include "strategy.h"

#include <string.h>
#include <sys/stat.h>

typedef struct partition {
    clv_cut *cut;
    clv_summary *summary;
} partition;

static void partition_report(const void *result, const clv_report_opts *o,
                             clv_buf *out)
{
    const partition *p = result;
    clv_report_partition(p->cut, p->summary, o, out);
}

/* --output names a folder: of --for, one that is there, or a name without an
 * ending. */
static bool to_folder(const options *o)
{
    struct stat st;
    if (!o->output || strcmp(o->output, "-") == 0)
        return false;
    if (o->engine)
        return true;
    if (stat(o->output, &st) == 0)
        return S_ISDIR(st.st_mode);
    const char *slash = strrchr(o->output, '/');
    return (slash && !slash[1]) || !strchr(slash ? slash + 1 : o->output, '.');
}

/* Writes the folder, and to standard output the report that it would print
 * without --output. */
static clv_status export_cut(const options *o, const partition *r, clv_err *err)
{
    options rest = *o;
    rest.output = NULL;
    clv_status s = clv_bundle_write_for(r->cut, o->output, o->engine, err);
    return s == CLV_OK ? emit(&rest, partition_report, r, err) : s;
}

clv_status cmd_partition(const options *o, clv_err *err)
{
    clv_graph *g;
    clv_profile *p;
    partition r = {0};
    options own = *o;
    own.folded = to_folder(o); /* parts that can be run */
    if (o->engine && !own.folded)
        return fail(err, CLV_USAGE, "--for needs a folder: --output DIR");
    clv_status s = open_profile(&own, &g, &p, err);
    if (s == CLV_OK)
        s = make_cut(o, "op", p, &r.cut, err);
    if (s == CLV_OK)
        s = clv_cut_verify(r.cut, err);
    if (s == CLV_OK)
        s = clv_summary_new(r.cut, &r.summary, err);
    if (s == CLV_OK)
        s = to_folder(o) ? export_cut(o, &r, err)
                         : emit(o, partition_report, &r, err);
    if (s == CLV_OK)
        s = check_strict(o, p, err);
    clv_summary_free(r.summary);
    clv_cut_free(r.cut);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

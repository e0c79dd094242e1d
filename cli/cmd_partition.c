/* cmd_partition.c - cuts a model into subgraphs. */
#include "strategy.h"

#include <string.h>
#include <sys/stat.h>

typedef struct partition {
    clv_cut *cut;
    clv_summary *summary;
    clv_sim *sim; /* NULL: none */
} partition;

static void partition_report(const void *result, const clv_report_opts *o,
                             clv_buf *out)
{
    const partition *p = result;
    if (p->sim)
        clv_report_simulation(p->cut, p->sim, o, out);
    else
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

typedef void draw_sim(const clv_cut *c, const clv_sim *sim, clv_buf *out);

static clv_status partition_draw(const char *path, draw_sim *draw,
                                 const partition *r, clv_err *err)
{
    clv_buf text = {0};
    if (!path)
        return CLV_OK;
    draw(r->cut, r->sim, &text);
    clv_status s = write_file(path, &text, err);
    clv_buf_free(&text);
    return s;
}

/* --simulate: runs the schedule and writes its pictures. */
static clv_status partition_simulate(const options *o, partition *r,
                                     clv_err *err)
{
    uint32_t stages;
    bool eager = !o->schedule || strcmp(o->schedule, "1f1b") != 0;
    (void)clv_cut_subgraphs(r->cut, &stages);
    const clv_cut_sim_opts opts = {.size = sizeof opts,
                                   .micro_batches = o->simulate > UINT32_MAX
                                                        ? UINT32_MAX
                                                        : (uint32_t)o->simulate,
                                   .window = eager ? 0 : stages};
    if (!o->simulate)
        return o->schedule || o->svg || o->trace
                   ? fail(err, CLV_USAGE,
                          "--schedule, --svg and --trace are for --simulate N")
                   : CLV_OK;
    if (o->engine || to_folder(o))
        return fail(
            err, CLV_USAGE,
            "--simulate writes no parts: leave it out, or --output DIR");
    clv_status s = clv_cut_simulate(r->cut, &opts, &r->sim, err);
    if (s == CLV_OK)
        s = partition_draw(o->trace, clv_report_simulation_trace, r, err);
    if (s == CLV_OK)
        s = partition_draw(o->svg, clv_report_simulation_svg, r, err);
    return s;
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
        s = partition_simulate(o, &r, err);
    if (s == CLV_OK)
        s = to_folder(o) ? export_cut(o, &r, err)
                         : emit(o, partition_report, &r, err);
    if (s == CLV_OK)
        s = check_strict(o, p, err);
    clv_summary_free(r.summary);
    clv_sim_free(r.sim);
    clv_cut_free(r.cut);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

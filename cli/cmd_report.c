/* cmd_report.c - one page with everything that can be said of a model, or of
 * two and their difference.
 *
 * What cannot be analysed (a device without a rate for the type, a shape that
 * is not known) is left out, and the page says so. */
#include "report_whatif.h"
#include "strategy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A model of more operators than this is told by what repeats in it, and about
 * as many operators as FOLD_MOST are drawn. */
enum { FOLD_ABOVE = 50000, FOLD_MOST = 12000 };

/* Without --hardware: a server, an embedded device and a desktop. Without
 * --backend: an accelerator whose rules are built in. */
static const char *const usual_devices[] = {"h100-sxm", "jetson-agx-orin",
                                            "i7-12700k"};
enum { USUAL_DEVICES = sizeof usual_devices / sizeof *usual_devices };
static const char USUAL_BACKEND[] = "nvidia-dla";

enum { MOST_MODELS = 2, MOST_DEVICES = 8, MOST_NOTES = 32 };
enum { STREAMS = 4, STAGES = 4 };

typedef struct shown {
    clv_graph *g;
    clv_profile *p;
    clv_layout *layout;
    clv_cut *op, *fusion, *capability, *placement, *pipeline;
    clv_summary *fusion_summary, *capability_summary, *placement_summary,
        *pipeline_summary;
    clv_memory *memory;
    clv_concurrency *concurrency;
    clv_schedule *schedule;
    clv_concurrency_report timeline;
    clv_map *maps[MOST_DEVICES];
    uint32_t n_maps;
    report_whatif whatif;
    clv_html_whatif whatif_page;
} shown;

typedef struct report {
    const options *o;
    const clv_device *devices[MOST_DEVICES];
    uint32_t n_devices;
    shown models[MOST_MODELS];
    uint32_t n;
    clv_compare *compare;
    clv_merged *merged;
    clv_layout *merged_layout;
    char notes[MOST_NOTES][600];
    uint32_t n_notes;
} report;

/* Keeps why a part is left out. A file that cannot be read, and running out of
 * memory or of a limit, are still failures. */
static clv_status report_without(report *r, const char *part, clv_status s,
                                 clv_err *err)
{
    if (s == CLV_OK || s == CLV_NOMEM || s == CLV_EXCEEDED || s == CLV_IO ||
        s == CLV_INTERNAL || s == CLV_USAGE)
        return s;
    if (r->n_notes < MOST_NOTES)
        snprintf(r->notes[r->n_notes++], sizeof *r->notes, "%s: %s", part,
                 err->msg);
    memset(err, 0, sizeof *err);
    return CLV_OK;
}

static clv_status report_devices(report *r, clv_err *err)
{
    const options *o = r->o;
    size_t n = o->hardware.n ? o->hardware.n : USUAL_DEVICES;
    clv_status s = CLV_OK;
    if (n > MOST_DEVICES)
        return fail(err, CLV_USAGE, "report takes up to %d devices, not %zu",
                    MOST_DEVICES, n);
    for (size_t i = 0; s == CLV_OK && i < n; i++)
        s = find_device(o,
                        o->hardware.n ? o->hardware.items[i] : usual_devices[i],
                        &r->devices[r->n_devices++], err);
    return s;
}

static clv_status report_maps(report *r, shown *m, clv_err *err)
{
    clv_status s = CLV_OK;
    for (uint32_t i = 0; s == CLV_OK && i < r->n_devices; i++) {
        clv_map *map;
        s = clv_map_new(m->fusion, r->devices[i], &map, err);
        if (s == CLV_OK)
            m->maps[m->n_maps++] = map;
        s = report_without(r, r->devices[i]->name, s, err);
    }
    return s;
}

/* Weighs by seconds on the first device, or else by FLOPs. */
static clv_status report_timeline(report *r, shown *m, clv_err *err)
{
    static const int64_t batches[] = {1, 2, 4, 8, 16, 32};
    clv_concurrency_opts opts = {
        .size = sizeof opts, .dtype = r->o->dtype, .device = r->devices[0]};
    uint32_t streams = r->o->streams > 0 && r->o->streams < 1000
                           ? (uint32_t)r->o->streams
                           : STREAMS;
    clv_status s = clv_concurrency_new(m->fusion, &opts, &m->concurrency, err);
    if (s == CLV_UNSUPPORTED) {
        s = report_without(r, "timeline", s, err);
        opts.device = NULL;
        s = clv_concurrency_new(m->fusion, &opts, &m->concurrency, err);
    }
    if (s == CLV_OK)
        s = clv_schedule_new(m->concurrency, streams, &m->schedule, err);
    m->timeline = (clv_concurrency_report){
        .analysis = m->concurrency,
        .schedule = m->schedule,
        .device = opts.device,
        .batches = batches,
        .n_batches = sizeof batches / sizeof *batches,
    };
    return s;
}

static clv_status report_fusion(report *r, shown *m, clv_err *err)
{
    options plain = *r->o; /* --backend is for the other cut */
    plain.backend = NULL;
    plain.timeout = 0;
    clv_status s = make_cut(&plain, "fusion", m->p, &m->fusion, err);
    if (s == CLV_OK)
        s = clv_summary_new(m->fusion, &m->fusion_summary, err);
    if (s == CLV_OK)
        s = report_maps(r, m, err);
    if (s == CLV_OK)
        s = report_without(r, "timeline", report_timeline(r, m, err), err);
    return s;
}

static clv_status report_memory(report *r, shown *m, clv_err *err)
{
    clv_status s = clv_cut_op(m->p, &m->op, err);
    if (s == CLV_OK)
        s = clv_memory_new(m->op, NULL, &m->memory, err);
    return report_without(r, "memory", s, err);
}

static clv_status report_capability(report *r, shown *m, clv_err *err)
{
    options asked = *r->o;
    if (!asked.backend)
        asked.backend = USUAL_BACKEND;
    clv_status s = cut_capability(&asked, m->p, NULL, &m->capability, err);
    if (s == CLV_OK)
        s = clv_summary_new(m->capability, &m->capability_summary, err);
    return r->o->backend ? s : report_without(r, asked.backend, s, err);
}

/* One cut by one of the strategies that weigh devices. */
static clv_status report_cut(const options *o, strategy_fn *make, shown *m,
                             clv_cut **cut, clv_summary **summary, clv_err *err)
{
    clv_status s = make(o, m->p, NULL, cut, err);
    return s == CLV_OK ? clv_summary_new(*cut, summary, err) : s;
}

/* On the first device: placed on it and the CPU beside it, and in stages. */
static clv_status report_placed(report *r, shown *m, clv_err *err)
{
    const char *device[] = {r->devices[0]->name};
    options asked = *r->o;
    asked.backend = NULL; /* any operator may run on either */
    asked.stages = STAGES;
    asked.hardware.items = device;
    asked.hardware.n = 1;
    if (clv_layout_get(m->layout)->n_rows)
        return report_without(
            r, "placement and pipeline",
            fail(err, CLV_UNSUPPORTED,
                 "left out of a folded report; `cleave partition` answers"),
            err);
    clv_status s = report_cut(&asked, cut_placement, m, &m->placement,
                              &m->placement_summary, err);
    s = report_without(r, "placement", s, err);
    if (s == CLV_OK)
        s = report_without(r, "pipeline",
                           report_cut(&asked, cut_pipeline, m, &m->pipeline,
                                      &m->pipeline_summary, err),
                           err);
    return s;
}

static clv_status report_scenarios(report *r, shown *m, const char *name,
                                   clv_err *err)
{
    report_whatif *w = &m->whatif;
    if (clv_layout_get(m->layout)->n_rows)
        return report_without(
            r, "what if",
            fail(err, CLV_UNSUPPORTED,
                 "left out of a folded report; `cleave whatif` answers"),
            err);
    if (r->o->session->lent)
        return report_without(
            r, "what if",
            fail(err, CLV_UNSUPPORTED,
                 "left out of a graph in memory: `cleave report` opens a file "
                 "at other batches and types"),
            err);
    clv_status s = report_whatif_new(r->o, name, m->g, w, err);
    m->whatif_page = (clv_html_whatif){
        .scaling = w->scaling,
        .dtypes = w->dtypes,
        .batch = w->batch,
        .batches = w->batches,
        .why = w->why,
        .devices = r->devices,
        .n_devices = r->n_devices,
        .host = w->host,
        .link = r->o->link * 1e9,
        .latency = r->o->latency * 1e-6,
        .flags = w->words.text,
    };
    return report_without(r, "what if", s, err);
}

static clv_status report_layout(shown *m, clv_err *err)
{
    return clv_graph_num_nodes(m->g) > FOLD_ABOVE
               ? clv_layout_folded(m->g, FOLD_MOST, &m->layout, err)
               : clv_layout_new(m->g, &m->layout, err);
}

static clv_status report_model(report *r, shown *m, const char *name,
                               clv_err *err)
{
    clv_profile_opts opts = {.size = sizeof opts,
                             .ai_threshold = r->o->ai_threshold};
    if (r->o->count)
        opts.convention = clv_convention_find(r->o->count);
    clv_status s = open_model(r->o, name, &m->g, err);
    if (s == CLV_OK)
        s = clv_profile_new(m->g, &opts, &m->p, err);
    if (s == CLV_OK)
        s = report_layout(m, err);
    if (s == CLV_OK)
        s = report_without(r, "fusion", report_fusion(r, m, err), err);
    if (s == CLV_OK)
        s = report_memory(r, m, err);
    if (s == CLV_OK)
        s = report_capability(r, m, err);
    if (s == CLV_OK)
        s = report_placed(r, m, err);
    if (s == CLV_OK)
        s = report_scenarios(r, m, name, err);
    return s;
}

static clv_status report_compare(report *r, clv_err *err)
{
    const clv_profile *both[] = {r->models[0].p, r->models[1].p};
    if (r->n != 2)
        return CLV_OK;
    clv_status s = clv_compare_new(both, 2, &r->compare, err);
    if (s == CLV_OK && (clv_layout_get(r->models[0].layout)->n_rows ||
                        clv_layout_get(r->models[1].layout)->n_rows))
        return report_without(
            r, "both as one graph",
            fail(err, CLV_UNSUPPORTED, "left out, as a model is folded"), err);
    if (s == CLV_OK)
        s = clv_merged_new(r->compare, &r->merged, err);
    return s == CLV_OK ? clv_layout_new(clv_merged_graph(r->merged),
                                        &r->merged_layout, err)
                       : s;
}

/* The command line again, as far as it says what is shown. */
static void report_command(const report *r, clv_buf *out)
{
    const options *o = r->o;
    clv_buf_printf(out, "cleave report");
    for (size_t i = 0; i < o->args.n; i++)
        clv_buf_printf(out, " %s",
                       o->session->lent ? clv_graph_name(r->models[i].g)
                                        : o->args.items[i]);
    if (o->batch.n)
        clv_buf_printf(out, " --batch %lld", (long long)o->batch.items[0]);
    if (o->dtype != CLV_NODTYPE)
        clv_buf_printf(out, " --dtype %s", clv_dtype_name(o->dtype));
    if (o->count)
        clv_buf_printf(out, " --count %s", o->count);
    for (size_t i = 0; i < o->hardware.n; i++)
        clv_buf_printf(out, "%s%s", i ? "," : " --hardware ",
                       o->hardware.items[i]);
    if (o->backend)
        clv_buf_printf(out, " --backend %s", o->backend);
}

static void report_fill(const shown *m, clv_html_model *out)
{
    *out = (clv_html_model){
        .profile = m->p,
        .layout = m->layout,
        .fusion = m->fusion,
        .fusion_summary = m->fusion_summary,
        .capability = m->capability,
        .capability_summary = m->capability_summary,
        .memory = m->memory,
        .concurrency = m->schedule ? &m->timeline : NULL,
        .maps = (const clv_map *const *)m->maps,
        .n_maps = m->n_maps,
        .whatif = m->whatif.scaling ? &m->whatif_page : NULL,
        .placement = m->placement,
        .placement_summary = m->placement_summary,
        .pipeline = m->pipeline,
        .pipeline_summary = m->pipeline_summary,
    };
}

static clv_status report_write(report *r, clv_err *err)
{
    clv_html_model models[MOST_MODELS];
    const char *notes[MOST_NOTES];
    clv_buf line = {0}, page = {0};
    for (uint32_t i = 0; i < r->n; i++)
        report_fill(&r->models[i], &models[i]);
    for (uint32_t i = 0; i < r->n_notes; i++)
        notes[i] = r->notes[i];
    report_command(r, &line);
    const clv_html h = {.size = sizeof h,
                        .models = models,
                        .n_models = r->n,
                        .compare = r->compare,
                        .command = line.text,
                        .notes = notes,
                        .n_notes = r->n_notes,
                        .merged = r->merged,
                        .merged_layout = r->merged_layout};
    clv_report_html(&h, &page);
    clv_status s = clv_buf_check(&page, err);
    if (s == CLV_OK && !r->o->page && r->o->session->out)
        s = emit_text(r->o, &page, err);
    else if (s == CLV_OK)
        s = write_file(r->o->page ? r->o->page : "report.html", &page, err);
    clv_buf_free(&line);
    clv_buf_free(&page);
    return s;
}

/* Starts the program that shows web pages here, and leaves it alone. What it
 * says of the browsers it looked for is dropped: we say it in one line. */
static clv_status report_open(const char *path, clv_err *err)
{
    enum { NO_BROWSER = 127 };
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int drop = open("/dev/null", O_WRONLY);
        if (drop >= 0)
            dup2(drop, STDERR_FILENO);
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        execlp("open", "open", path, (char *)NULL);
        _exit(NO_BROWSER);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLV_OK;
    return fail(err, CLV_UNSUPPORTED,
                "'%s' is written, but nothing here opens it (xdg-open)", path);
}

static void report_free(report *r)
{
    clv_layout_free(r->merged_layout);
    clv_merged_free(r->merged);
    clv_compare_free(r->compare);
    for (uint32_t i = 0; i < r->n; i++) {
        shown *m = &r->models[i];
        for (uint32_t k = 0; k < m->n_maps; k++)
            clv_map_free(m->maps[k]);
        report_whatif_free(&m->whatif);
        clv_schedule_free(m->schedule);
        clv_concurrency_free(m->concurrency);
        clv_memory_free(m->memory);
        clv_summary_free(m->fusion_summary);
        clv_summary_free(m->capability_summary);
        clv_summary_free(m->placement_summary);
        clv_summary_free(m->pipeline_summary);
        clv_cut_free(m->op);
        clv_cut_free(m->fusion);
        clv_cut_free(m->capability);
        clv_cut_free(m->placement);
        clv_cut_free(m->pipeline);
        clv_layout_free(m->layout);
        clv_profile_free(m->p);
        clv_graph_free(m->g);
    }
    free(r);
}

clv_status cmd_report(const options *o, clv_err *err)
{
    report *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, CLV_NOMEM, "out of memory");
    r->o = o;
    r->n = (uint32_t)o->args.n;
    clv_status s = report_devices(r, err);
    for (uint32_t i = 0; s == CLV_OK && i < r->n; i++)
        s = report_model(r, &r->models[i], o->args.items[i], err);
    if (s == CLV_OK)
        s = report_compare(r, err);
    if (s == CLV_OK)
        s = report_write(r, err);
    report_free(r);
    if (s == CLV_OK && o->open)
        s = report_open(o->page ? o->page : "report.html", err);
    return s;
}
